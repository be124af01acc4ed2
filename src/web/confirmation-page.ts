// The page of one confirmation: what was asked, in full, and by whom; then the form, or why there is none, or how it ended;
// and below that, folded, what else is known of it.
import { cut } from '../core/cut.js'
import type { Confirmation } from '../core/model.js'
import { visibleLine } from '../core/visible.js'
import { cautionNotice } from './caution-badge.js'
import { type DecisionForm, decisionForm, keptAs, type FormProblem } from './decision-form.js'
import { detailsTree } from './details.js'
import { asked, conditions, moreFacts } from './facts.js'
import { type Frame, page } from './frame.js'
import { excerpt, html, type Markup, type Part, verbatim, written, writtenLine } from './html.js'
import { notice, noticeToRead } from './notice.js'
import { riskChip } from './risk-badge.js'
import { outcome, statusBox, statusWords, votesList } from './status.js'
import { countdown, moment } from './time.js'

export interface ConfirmationPage extends Frame {
  /** As of `now`. */
  confirmation: Confirmation
  now: number
  /** The form, or why there is none (a sentence), or null when it is resolved. */
  decision: { form: DecisionForm } | { why: string } | null
  /** What just happened: a word of success, said above everything, or a problem, said at the form or where it was. */
  message: FormProblem | { kind: 'done'; text: string } | null
  /** What was written into a form that is gone. */
  draft?: { reason: string; typed: string }
  /** Asked by the script with ?version=N&wait=60, answers JSON {version}; another version renews the page. */
  stateUrl: string | null
  /** Where a reader who cannot approve here can sign in to do so; null: they are signed in, or nobody needs to. */
  signInUrl: string | null
  /** The list, if the reader may see it. */
  backUrl: string | null
  /** What to look at when this one is done with; null: the reader may not know. */
  next: Next | null
}

/** The next confirmation that waits for the reader; or that none does. */
export type Next = { action: string; requester: string; url: string } | 'nothing'

/** Of what is named on the way to its own page, in characters. */
const longestName = 60

export function confirmationPage(view: ConfirmationPage): string {
  const { confirmation, now, decision, message, draft, stateUrl, signInUrl, backUrl } = view
  const { id, version, action, description, details, deadline, terms, caution, status } = confirmation
  const form = decision !== null && 'form' in decision ? decision.form : null
  const why = decision !== null && 'why' in decision ? decision.why : null
  const problem = message?.kind === 'problem' ? message : null
  const next = form === null ? view.next : null
  const main = html`${backUrl === null ? null : html`<nav class="back" aria-label="Back"><a href="${backUrl}">All that wait</a></nav>`}
    ${message?.kind === 'done' ? notice('done', message.text) : null}
    <article data-confirmation="${id}" data-version="${version}" data-state="${stateUrl ?? ''}">
      <div class="request">
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
            : statusBox(confirmation)
        }
        ${next === null ? null : html`<nav aria-label="Next">${nextStep(next)}</nav>`} ${cautionNotice(caution)}
        ${asked(confirmation)}
        <section aria-labelledby="description-title">
          <h2 id="description-title">Description</h2>
          <p class="hint">In the words of whoever asks.</p>
          <div class="description">${written(description)}</div>
        </section>
        <section aria-labelledby="details-title">
          <h2 id="details-title">Details</h2>
          <p class="hint">What is approved, with the action.</p>
          ${detailsTree(details)}
        </section>
        ${conditions(terms)} ${votesList(confirmation)}
        ${form === null ? null : html`<p class="to-decision"><a href="#decision">Decide</a></p>`}
      </div>
      ${
        form === null
          ? html`<section class="decision" id="decision" tabindex="-1" aria-labelledby="decision-title">
              <h2 id="decision-title">${why === null ? 'Outcome' : 'Your decision'}</h2>
              ${problem === null ? null : noticeToRead(problem.text)}
              ${why === null ? outcome(confirmation) : html`<p>${written(why)}</p>`}
              ${why === null ? null : signInLink(signInUrl)} ${draft === undefined ? null : keptDraft(draft)}
              ${next === null ? null : nextStep(next)}
            </section>`
          : decisionForm(confirmation, form, now, signInLink(signInUrl), problem)
      }
      ${moreFacts(confirmation, form !== null)}
    </article>
    <noscript
      ><p class="quiet">
        This page is as of ${moment(now)} and does not renew itself. Reload it to see what has changed.
      </p></noscript
    >`
  const title = `${statusWords[status]}: ${cut(visibleLine(action), 80)}`
  return page(view, title, main, form === null ? null : { href: '#decision', text: 'Skip to the decision' })
}

/** Where a person goes on who has nothing to decide here. */
function nextStep(next: Next): Markup {
  if (next === 'nothing') return html`<p class="next quiet">Nothing else waits for you.</p>`
  const { action, requester, url } = next
  return html`<p class="next more">
    <a href="${url}"
      ><span
        >Next: <code translate="no">${excerpt(action, longestName)}</code>, asked by
        ${verbatim(excerpt(requester, longestName))}</span
      ></a
    >
  </p>`
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
  return url === null
    ? null
    : html`<p class="more sign-in-instead"><a href="${url}">Sign in with a key of your own</a></p>`
}
