// The pages to sign in on: with a key, and by a link.
import { page } from './frame.js'
import { html, named } from './html.js'
import { notice } from './notice.js'
import { moment } from './time.js'

export interface SignInPage {
  csrf: string
  /** Where to go then: a path of ours, which the caller has seen to. */
  next: string
  problem: string | null
  isOpen: boolean
}

export function signInPage({ csrf, next, problem, isOpen }: SignInPage): string {
  // A browser that is signed in already goes on at once, unless there is something to read.
  const goOn = problem === null ? html` data-go-on="${next}"` : null
  const main = html`<h1>Sign in</h1>
    ${problem === null ? null : notice('problem', problem)}
    <form method="post" action="/login" class="sign-in" ${goOn}>
      <input type="hidden" name="csrf" value="${csrf}" />
      <input type="hidden" name="next" value="${next}" />
      <div class="field">
        <label for="key">Key</label>
        <p class="hint" id="key-hint">Your own key, as it was shown when it was made.</p>
        <input
          type="password"
          id="key"
          name="key"
          required
          autocomplete="current-password"
          aria-describedby="key-hint"
          autocapitalize="none"
          autocorrect="off"
          spellcheck="false"
        />
      </div>
      <button type="submit">Sign in</button>
    </form>`
  return page({ isOpen, viewer: null, signOut: null }, 'Sign in', main, null)
}

export interface SignInLinkPage {
  /** Where the form is sent: the page's own address. */
  action: string
  csrf: string
  /** Whose key it is, and what it allows. */
  name: string
  role: string
  endsAt: number
}

export function signInLinkPage({ action, csrf, name, role, endsAt }: SignInLinkPage): string {
  const main = html`<h1>Sign in</h1>
    <p>
      This link signs this browser in as ${named(name)}, ${role}. It is good once, until ${moment(endsAt)}. If you are
      somebody else, or did not ask for it, close this page.
    </p>
    <form method="post" action="${action}" class="sign-in">
      <input type="hidden" name="csrf" value="${csrf}" />
      <button type="submit">Sign in</button>
    </form>`
  return page({ isOpen: false, viewer: null, signOut: null }, 'Sign in', main, null)
}
