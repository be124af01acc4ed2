// The page that lists what waits, and what ended lately.
import { textOf } from '../core/actor.js'
import { shortQuotedLine } from '../core/cut.js'
import { shortDigest } from '../core/digest.js'
import { counted, numbered } from '../core/length.js'
import type { Confirmation, Resolved } from '../core/model.js'
import { approvalsGiven, approversOf } from '../core/vote.js'
import { iconFor } from './badge.js'
import { cautionChips } from './caution-badge.js'
import { type Frame, page } from './frame.js'
import { excerpt, html, type Markup, named, verbatim, writtenLine } from './html.js'
import { riskChip } from './risk-badge.js'
import { marks, statusWords } from './status.js'
import { age, countdown, moment } from './time.js'

export interface ListPage extends Frame {
  /** `details` may be the beginning of them; it is empty where they are large, and so is the description. */
  items: { confirmation: Confirmation; url: string }[]
  ended: { confirmation: Resolved; url: string }[]
  /** How many wait, on all pages of the list. */
  count: number
  now: number
  /** Where the list goes on; null: it ends here. */
  moreUrl: string | null
  /** Where it begins; null: here. */
  startUrl: string | null
  /** Where the script asks for another list than the one with this mark; null: it does not. */
  follow: { url: string; mark: string } | null
}

export function listPage(view: ListPage): string {
  const { count, now, ended, moreUrl, startUrl, follow } = view
  const none = startUrl === null ? 'Nothing waits for a person right now.' : 'Nothing more waits right now.'
  const items = view.items.toSorted((a, b) => a.confirmation.deadline - b.confirmation.deadline)
  const state = follow === null ? null : html` data-state="${follow.url}" data-mark="${follow.mark}"`
  const main = html`${startUrl === null ? null : html`<nav class="back" aria-label="Back"><a href="${startUrl}">From the start</a></nav>`}
    <h1>Waiting for a decision</h1>
    <div class="standing quiet">
      <p id="summary">
        <span
          >${count === 0 ? 'Nothing to decide' : `${numbered(count)} ${count === 1 ? 'waits' : 'wait'}, next deadline first`}.</span
        >
        ${expiredLately(ended, now)}
      </p>
      <p id="freshness">As of ${moment(now)}. Reload to see what is new.</p>
    </div>
    ${follow === null ? null : html`<div id="alerts"></div>`}
    <div id="list" data-count="${count}" ${state}>
      ${
        items.length === 0
          ? html`<p class="empty">${none}</p>`
          : html`<ul class="pending-list" role="list">
              ${items.map(({ confirmation, url }) => listItem(confirmation, url, now))}
            </ul>`
      }
      ${moreUrl === null ? null : html`<nav class="more" aria-label="More"><a href="${moreUrl}">More that wait</a></nav>`}
      ${
        ended.length === 0
          ? null
          : html`<section aria-labelledby="ended-title">
              <h2 id="ended-title">Ended lately</h2>
              <ul class="ended-list" role="list">
                ${ended.map(({ confirmation, url }) => endedItem(confirmation, url, now))}
              </ul>
            </section>`
      }
    </div>`
  return page(view, count === 0 ? 'Nothing waits' : `(${numbered(count)}) Waiting`, main, null, {
    icon: iconFor(count),
    scripts: ['/assets/list.js', '/assets/alerts.js'],
  })
}

/** How long it is said at the top that nobody decided in time; the script knows it too. */
const missedMs = 600_000

/** Of many, only the latest are here. */
function expiredLately(ended: ListPage['ended'], now: number): Markup | null {
  const missed = ended.filter(
    ({ confirmation: { status, resolution } }) => status === 'expired' && now - resolution.at < missedMs,
  )
  if (missed.length === 0) return null
  return html`<a href="#ended-title">${missed.length === 1 ? '1' : 'Several'} expired lately.</a>`
}

function listItem(confirmation: Confirmation, url: string, now: number): Markup {
  const { id, version, action, description, terms, caution, createdAt, deadline } = confirmation
  const need = terms.approvals === 1 ? null : html` · ${approvalsGiven(confirmation)} of ${terms.approvals} approvals`
  return html`<li id="item-${id}" data-version="${version}" ${plainWords(confirmation)}>
    <h2><a href="${url}" translate="no">${writtenLine(action)}</a></h2>
    ${
      description === ''
        ? html`<p class="quiet">A long description, which its page shows.</p>`
        : html`<p class="excerpt">${excerpt(description, 160)}</p>`
    }
    ${firstDetails(confirmation)}
    <p class="times">${countdown(deadline, now)} <span class="asked quiet">asked ${age(createdAt, now)}</span></p>
    <p class="quiet who">${riskChip(terms)} ${cautionChips(caution)}${asker(confirmation)}${need}</p>
  </li>`
}

/** For the script, which may say it where there is no markup: in a notification, or to a screen reader. */
function plainWords({ action, requester }: Confirmation): Markup {
  return html`data-action="${shortQuotedLine(action, 80)}" data-requester="${shortQuotedLine(requester, 80)}"`
}

/** Less than there is of long ones: so what is shown whole is whole. */
const detailsShown = 160

/** Where they are not whole, the digest tells them from any others that begin the same. */
function firstDetails({ details, digest }: Confirmation): Markup | null {
  if (details === '{}') return null
  const which = html`digest <code>${shortDigest(digest)}…</code>`
  if (details === '') return html`<p class="quiet">Large details, which its page shows; ${which}</p>`
  const beginning = Array.from(details).slice(0, detailsShown).join('')
  const isCut = beginning.length < details.length
  return html`<p class="first-details" translate="no">
    ${verbatim(writtenLine(beginning))}${isCut ? html` <span class="length">… and more; ${which}</span>` : null}
  </p>`
}

function asker({ requester, onBehalfOf, sessionKey }: Confirmation): Markup {
  const behalf =
    onBehalfOf === null
      ? null
      : html` <span class="claim">on behalf of ${verbatim(named(onBehalfOf))}, not verified</span>`
  const session = sessionKey === '' ? null : html` · session ${verbatim(writtenLine(sessionKey))}`
  return html`asked by ${verbatim(named(requester))}${behalf}${session}`
}

function endedItem(confirmation: Resolved, url: string, now: number): Markup {
  const { id, action, resolution } = confirmation
  return html`<li id="ended-${id}" class="${confirmation.status}" ${plainWords(confirmation)}>
    <p><a href="${url}" translate="no">${writtenLine(action)}</a></p>
    <p class="how">${howItEnded(confirmation)}</p>
    <p class="quiet who">ended ${age(resolution.at, now)} · ${asker(confirmation)}</p>
  </li>`
}

function howItEnded({ status, resolution: { by }, votes }: Resolved): Markup {
  const mark = html`<span class="mark" aria-hidden="true">${marks[status]}</span> <b>${statusWords[status]}</b>`
  if (status === 'expired') return html`${mark}: nobody decided in time`
  const others = status === 'approved' ? approversOf(votes).filter((one) => one !== textOf(by)) : []
  const more = others.length === 0 ? null : html` and ${counted(others.length, 'other')}`
  return html`${mark} by ${named(textOf(by))}${more}`
}
