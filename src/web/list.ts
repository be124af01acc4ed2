// The page that lists the pending confirmations.
import type { Confirmation } from '../core/model.js'
import { approvalsGiven } from '../core/vote.js'
import { type Frame, page } from './frame.js'
import { excerpt, html, named, verbatim, writtenLine } from './html.js'
import { riskChip } from './risk.js'
import { countdown, moment } from './time.js'

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
        : html`<ul class="pending-list" role="list">
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
