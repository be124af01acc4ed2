// The pages: one confirmation, the list of those that wait, signing in, and a message. Each is a whole document.
import { shortDigest } from '../core/digest.js'
import { type Confirmation, defaultTerms, type Terms } from '../core/model.js'
import { cut, visibleLine } from '../core/text.js'
import { approvalsGiven } from '../core/vote.js'
import { type DecisionForm, decisionForm, keptAs, type Problem } from './decision.js'
import { detailsTree } from './details.js'
import { excerpt, html, type Markup, named, type Part, verbatim, written, writtenLine } from './html.js'
import { notice, noticeToRead } from './notice.js'
import { outcome, standing, statusWords, votesList } from './standing.js'
import { countdown, moment } from './time.js'

export type { DecisionForm, Problem } from './decision.js'

/** What is around every page. */
export interface Frame {
  /** No key exists: everyone on this machine may decide. */
  isOpen: boolean
  /** Who is signed in or named by the link; null: nobody. */
  viewer: string | null
  /** Shows a form to sign out. */
  signOut: { action: string; csrf: string } | null
}

export interface ConfirmationPage extends Frame {
  /** As of `now`. */
  confirmation: Confirmation
  now: number
  /** The form, or why there is none (a sentence), or null when it is resolved. */
  decision: { form: DecisionForm } | { why: string } | null
  /** What just happened: a word of success, said above everything, or a problem, said at the form or where it was. */
  message: Problem | { kind: 'done'; text: string } | null
  /** What was written into a form that is gone. */
  draft?: { reason: string; typed: string }
  /** Asked by the script with ?version=N&wait=60, answers JSON {version}; another version renews the page. */
  stateUrl: string | null
  /** Where whoever cannot approve here can sign in for it; null: they are, or nobody needs to. */
  signInUrl: string | null
  /** The list, if whoever sees this may see it. */
  backUrl: string | null
}

export function confirmationPage(view: ConfirmationPage): string {
  const { confirmation, now, decision, message, draft, stateUrl, signInUrl, backUrl } = view
  const { id, version, action, description, details, deadline, terms, status } = confirmation
  const form = decision !== null && 'form' in decision ? decision.form : null
  const why = decision !== null && 'why' in decision ? decision.why : null
  const problem = message?.kind === 'problem' ? message : null
  const main = html`${backUrl === null ? null : html`<nav class="back" aria-label="Back"><a href="${backUrl}">All that wait</a></nav>`}
    ${message?.kind === 'done' ? notice('done', message.text) : null}
    <article data-confirmation="${id}" data-version="${version}" data-state="${stateUrl ?? ''}">
      <p class="chips">
        ${
          status === 'pending'
            ? html`<span class="chip pending"
                ><span class="mark" aria-hidden="true">●</span> ${statusWords.pending}</span
              >`
            : null
        }
        ${riskChip(terms)}
      </p>
      <h1 translate="no">${writtenLine(action)}</h1>
      ${
        status === 'pending'
          ? html`<p class="deadline">
              ${countdown(deadline, now)} <span class="quiet">to decide, until ${moment(deadline)}</span>
            </p>`
          : standing(confirmation)
      }
      <section aria-labelledby="description-title">
        <h2 id="description-title">Description</h2>
        <p class="hint">In the words of whoever asks. What is approved is the action with the details below.</p>
        <div class="description">${written(description)}</div>
      </section>
      <section aria-labelledby="details-title">
        <h2 id="details-title">Details</h2>
        ${detailsTree(details)}
      </section>
      ${facts(confirmation)} ${votesList(confirmation)}
      ${
        form === null
          ? html`<section class="decision" id="decision" tabindex="-1" aria-labelledby="decision-title">
              <h2 id="decision-title">${why === null ? 'Outcome' : 'Your decision'}</h2>
              ${problem === null ? null : noticeToRead(problem.text)}
              ${why === null ? outcome(confirmation) : html`<p>${written(why)}</p>`}
              ${why === null ? null : signInLink(signInUrl)} ${draft === undefined ? null : keptDraft(draft)}
            </section>`
          : decisionForm(confirmation, form, now, signInLink(signInUrl), problem)
      }
    </article>
    <noscript
      ><p class="quiet">
        This page is as of ${moment(now)} and does not renew itself. Reload it to see what has changed.
      </p></noscript
    >`
  const title = `${statusWords[status]}: ${cut(visibleLine(action), 80)}`
  return page(view, title, main, form === null ? null : { href: '#decision', text: 'Skip to the decision' })
}

export interface ListPage extends Frame {
  items: { confirmation: Confirmation; url: string }[]
  now: number
  /** Where the list goes on; null: it ends here. */
  moreUrl: string | null
  /** Where it begins; null: here. */
  startUrl: string | null
}

export function listPage(view: ListPage): string {
  const { now, moreUrl, startUrl } = view
  const none = startUrl === null ? 'Nothing waits for a person right now.' : 'Nothing more waits right now.'
  const items = view.items.toSorted((a, b) => a.confirmation.deadline - b.confirmation.deadline)
  const main = html`${startUrl === null ? null : html`<nav class="back" aria-label="Back"><a href="${startUrl}">From the start</a></nav>`}
    <h1>Waiting for a decision</h1>
    <p class="quiet">
      ${items.length === 0 ? null : 'Next deadline first. '}As of ${moment(now)}. Reload to see what is new.
    </p>
    ${
      items.length === 0
        ? html`<p class="empty">${none}</p>`
        : html`<ul class="waiting" role="list">
            ${items.map(({ confirmation, url }) => listItem(confirmation, url, now))}
          </ul>`
    }
    ${moreUrl === null ? null : html`<nav class="more" aria-label="More"><a href="${moreUrl}">More that wait</a></nav>`}`
  return page(
    view,
    items.length === 0 ? 'Nothing waits' : `${items.length}${moreUrl === null ? '' : ' and more'} waiting`,
    main,
    null,
  )
}

function listItem(confirmation: Confirmation, url: string, now: number) {
  const { action, description, requester, onBehalfOf, terms, deadline } = confirmation
  const behalf =
    onBehalfOf === null
      ? null
      : html` <span class="claim">on behalf of ${verbatim(named(onBehalfOf))}, not verified</span>`
  const need = terms.approvals === 1 ? null : html` · ${approvalsGiven(confirmation)} of ${terms.approvals} approvals`
  return html`<li>
    <h2><a href="${url}" translate="no">${writtenLine(action)}</a></h2>
    ${
      description === ''
        ? html`<p class="quiet">A long description, which its page shows.</p>`
        : html`<p class="excerpt">${excerpt(description, 160)}</p>`
    }
    <p class="quiet">
      ${riskChip(terms)} ${countdown(deadline, now)} · asked by ${verbatim(named(requester))}${behalf}${need}
    </p>
  </li>`
}

export interface SignInPage {
  csrf: string
  /** Where to go then: a path of ours, which whoever calls this has seen to. */
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

export interface MessagePage extends Frame {
  title: string
  text: string
  /** Where to go on from here. */
  link?: { url: string; text: string }
}

export function messagePage(view: MessagePage): string {
  const { title, text, link } = view
  const main = html`<h1>${writtenLine(title)}</h1>
    <p>${written(text)}</p>
    ${link === undefined ? null : html`<nav class="more" aria-label="Go on"><a href="${link.url}">${link.text}</a></nav>`}`
  return page(view, cut(visibleLine(title), 80), main, null)
}

/** What was written into a form that is gone, to be read and copied. */
function keptDraft({ reason, typed }: { reason: string; typed: string }): Part {
  return [
    reason.trim() === ''
      ? null
      : // The parser drops a line break right after the tag, so one is given to it.
        html`<div class="field">
          <label for="reason">${keptAs.reason}</label>
          <textarea id="reason" rows="3" readonly>${`\n${reason}`}</textarea>
        </div>`,
    typed.trim() === ''
      ? null
      : html`<div class="field">
          <label for="typed">${keptAs.typed}</label>
          <input type="text" id="typed" value="${typed}" readonly />
        </div>`,
  ]
}

function signInLink(url: string | null): Markup | null {
  return url === null ? null : html`<p class="more"><a href="${url}">Sign in with a key of your own</a></p>`
}

function riskChip({ rule, risk }: Terms): Markup {
  if (rule === defaultTerms.rule) return html`<span class="chip">Risk not assessed: no rule</span>`
  return html`<span class="chip risk-${risk}"
    >${risk === 'high' ? html`<span class="mark" aria-hidden="true">▲</span> ` : null}${riskWords[risk]}</span
  >`
}

const riskWords: Record<Terms['risk'], string> = { low: 'Low risk', normal: 'Normal risk', high: 'High risk' }

function facts({
  id,
  digest,
  requester,
  requestedAs,
  onBehalfOf,
  sessionKey,
  terms,
  createdAt,
  deadline,
  callbackUrl,
}: Confirmation) {
  const rows: [string, Part][] = [
    [
      'Requester',
      html`${verbatim(named(requester))}${requestedAs === null ? null : html`<br /><span class="claim">says it acts as ${verbatim(named(requestedAs))}, which is not verified</span>`}`,
    ],
    ...(onBehalfOf === null
      ? []
      : [
          [
            'On behalf of',
            html`${verbatim(named(onBehalfOf))}<br /><span class="claim"
                >as the requester says, which is not verified</span
              >`,
          ] as [string, Part],
        ]),
    ['Session', sessionKey === '' ? html`<span class="quiet">none</span>` : verbatim(writtenLine(sessionKey))],
    [
      'Rule',
      terms.rule === defaultTerms.rule
        ? html`none is about this action, so nobody has assessed its risk`
        : html`${writtenLine(terms.rule)}, ${riskWords[terms.risk].toLowerCase()}`,
    ],
    ['Approvals needed', approvalsNeeded(terms)],
    ['May decide', mayDecide(terms)],
    ['Asked', moment(createdAt)],
    ['Deadline', moment(deadline)],
    ...(callbackUrl === null ? [] : [['Outcome goes to', verbatim(writtenLine(callbackUrl))] as [string, Part]]),
    ['ID', html`<code>${writtenLine(id)}</code>`],
    [
      'Digest',
      html`<code class="digest" translate="no"
          ><b>${shortDigest(digest)}</b>${inSixteens(digest.slice(shortDigest(digest).length))}</code
        ><br /><span class="hint"
          >SHA-256 over action, details,${onBehalfOf === null ? '' : ' on whose behalf,'} requester and
          session.${terms.needsDigest ? ' Whoever acts must present it.' : ''} Messages show its first
          ${shortDigest(digest).length} digits.</span
        >`,
    ],
  ]
  return html`<section aria-labelledby="facts-title">
    <h2 id="facts-title">Request</h2>
    <dl>
      ${rows.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </section>`
}

function approvalsNeeded({ approvals, seats }: Terms): Markup {
  const people = approvals === 1 ? html`1` : html`${approvals}, from different people`
  if (seats.length === 0) return people
  return html`${people}
    <ul class="seats" role="list">
      ${seats.map(
        ({ group, count, members }) =>
          html`<li>${count} from ${writtenLine(group)} <span class="quiet">(${names(members)})</span></li>`,
      )}
    </ul>`
}

function mayDecide({ deciders, allowsOwn, seats }: Terms): Markup {
  const who = deciders === null ? html`anyone with the right to decide` : names(deciders)
  const groups = seats.map(({ group }, index) => html`${index === 0 ? '' : ', '}${writtenLine(group)}`)
  return html`${who}${allowsOwn ? null : html`, <span class="quiet">but not whoever asked</span>`}${groups.length === 0 ? null : html`; <span class="quiet">approvals come only from</span> ${groups}`}`
}

/** Digits that break between groups, where they must break, and are copied as one. */
function inSixteens(digits: string): Markup[] {
  return (digits.match(/.{1,16}/gsu) ?? []).map((group) => html`<wbr />${group}`)
}

function names(people: string[]): Markup {
  if (people.length === 0) return html`nobody`
  return html`${people.map((one, index) => html`${index === 0 ? '' : ', '}${named(one)}`)}`
}

function page(frame: Frame, title: string, main: Markup, skip: { href: string; text: string } | null): string {
  const { isOpen, viewer, signOut } = frame
  const { href, text } = skip ?? { href: '#main', text: 'Skip to the content' }
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="format-detection" content="telephone=no, date=no, address=no, email=no" />
        <title>${title} · Holdpoint</title>
        <link rel="icon" href="/assets/holdpoint.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/holdpoint.css" />
        <script src="/assets/holdpoint.js" defer></script>
      </head>
      <body>
        <header>
          <a class="skip" href="${href}">${text}</a>
          <div class="bar">
            <p class="brand"><img src="/assets/holdpoint.svg" alt="" width="24" height="24" /> Holdpoint</p>
            ${viewer === null ? null : html`<p class="viewer"><span class="quiet">You are</span> ${named(viewer)}</p>`}
            ${signOut === null ? null : html`<form method="post" action="${signOut.action}" class="sign-out"><input type="hidden" name="csrf" value="${signOut.csrf}" /><button type="submit" class="small">Sign out</button></form>`}
          </div>
          ${isOpen ? html`<p class="open"><b>This service is open.</b> No key exists yet, so everyone on this machine can see and decide everything here.</p>` : null}
        </header>
        <main id="main" tabindex="-1">${main}</main>
        <p class="spoken" id="spoken" role="status"></p>
      </body>
    </html> `.html
}
