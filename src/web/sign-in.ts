// The page to sign in on.
import { page } from './frame.js'
import { html } from './html.js'
import { notice } from './notice.js'

export interface SignInPage {
  csrf: string
  /** Where to go then: a path of ours, which the caller has seen to. */
  next: string
  problem: string | null
  isOpen: boolean
}

export function signInPage({ csrf, next, problem, isOpen }: SignInPage): string {
  const main = html`<h1>Sign in</h1>
    ${problem === null ? null : notice('problem', problem)}
    <form method="post" action="/login" class="sign-in">
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
