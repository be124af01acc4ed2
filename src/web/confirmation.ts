// The page of one confirmation: what was asked, in full, and then the form, or why there is none, or how it ended.
import { cut } from '../core/cut.js'
import type { Confirmation } from '../core/model.js'
import { visibleLine } from '../core/visible.js'
import { type DecisionForm, decisionForm, keptAs, type FormProblem } from './decision.js'
import { detailsTree } from './details.js'
import { facts } from './facts.js'
import { type Frame, page } from './frame.js'
import { html, type Markup, type Part, written, writtenLine } from './html.js'
import { notice, noticeToRead } from './notice.js'
import { riskChip } from './risk.js'
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
          : statusBox(confirmation)
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
