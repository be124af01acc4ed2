// The status of a confirmation: how it was resolved, by whom, what became of it, and each vote on the way there.
import { type Actor, textOf } from '../core/actor.js'
import type { Confirmation, Execution, Outcome, Remembered, Resolution, Resolved, Status, Vote } from '../core/model.js'
import { approvalsGiven, approversOf } from '../core/vote.js'
import { covered } from './always.js'
import { stillNeeded } from './approvals.js'
import { html, type Markup, named, written, writtenLine } from './html.js'
import { moment } from './time.js'

export const statusWords: Record<Status, string> = {
  pending: 'Waiting for a decision',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  cancelled: 'Cancelled',
  auto_approved: 'Approved automatically',
}

/** A sign beside the word, so that colour is not the only difference. */
export const marks: Record<Outcome, string> = {
  approved: '✓',
  denied: '✕',
  expired: '–',
  cancelled: '–',
  auto_approved: '✓',
}

const channels = new Map([
  ['http', 'the API'],
  ['telegram', 'Telegram'],
  ['discord', 'Discord'],
  ['page', 'the page'],
  ['web', 'the page'],
  ['link', 'a link'],
  ['cli', 'the command line'],
])

function through(via: string): Markup {
  const channel = channels.get(via)
  return channel === undefined ? html`through ${writtenLine(via)}` : html`through ${channel}`
}

export function statusBox(confirmation: Confirmation): Markup | null {
  if (confirmation.status === 'pending') return null
  const { status, execution, votes } = confirmation
  return html`<div class="status ${status}">
    ${verdict(confirmation)} ${execution === null ? null : executionSentence(execution)}
    ${votes.map(({ by, remember }) => (remember === null ? null : alsoWhitelisted(confirmation, by, remember)))}
  </div>`
}

/** Where the form was: how it ended, in short. */
export function outcome(confirmation: Confirmation): Markup | null {
  if (confirmation.status === 'pending') return null
  return html`<div class="outcome ${confirmation.status}">${verdict(confirmation)}</div>`
}

function verdict({ status, resolution, votes, comments }: Resolved): Markup {
  return html`<p class="verdict">
      <span class="mark" aria-hidden="true">${marks[status]}</span> <b>${statusWords[status]}</b>
    </p>
    <p>${sentences[status](resolution, votes)}</p>
    ${reasonLine(resolution.reason)}
    ${comments.map(({ by, text }) => html`<p>${actorName(by)} said afterwards: ${written(text)}</p>`)}`
}

function reasonLine(reason: string | null): Markup | null {
  return reason === null || reason === '' ? null : html`<p>Reason: ${written(reason)}</p>`
}

function alsoWhitelisted(confirmation: Confirmation, by: Actor, remembered: Remembered): Markup {
  return html`<p>
    ${actorName(by)} also whitelisted ${covered(confirmation, remembered)}. To take that back:
    <code>GET /whitelist</code> lists the entry with its ID, <code>DELETE /whitelist/ID</code> revokes it.
  </p>`
}

const sentences: Record<Outcome, (resolution: Resolution, votes: Vote[]) => Markup> = {
  approved: ({ by, at, via }, votes) => {
    const approvers = approversOf(votes)
    const people = approvers.includes(textOf(by)) ? approvers : [textOf(by)]
    return html`By ${people.map((one, index) => html`${separator(index, people.length)}${named(one)}`)} at
    ${moment(at)}, ${through(via)}.`
  },
  denied: ({ by, at, via }) => html`By ${actorName(by)} at ${moment(at)}, ${through(via)}. It must not be done.`,
  expired: ({ at }) => html`At ${moment(at)}. No decision came in time, so it is not approved.`,
  cancelled: ({ by, at, via }) =>
    html`By ${actorName(by)} at ${moment(at)}, ${through(via)}. There is nothing left to decide.`,
  auto_approved: ({ by, at }) => html`By ${actorName(by)} at ${moment(at)}. Nobody was asked.`,
}

function actorName(actor: Actor): Markup {
  if (actor.kind === 'rule') return html`the rule ${named(actor.name)}`
  if (actor.kind !== 'grant') return named(textOf(actor))
  return html`the whitelist entry with the ID <code>${writtenLine(actor.id)}</code>`
}

function separator(index: number, count: number): string {
  if (index === 0) return ''
  return index === count - 1 ? ' and ' : ', '
}

function executionSentence(execution: Execution): Markup {
  const message = 'message' in execution ? execution.message : null
  return html`<p>
    ${executionWords(execution)}${message === null || message === '' ? null : html` ${written(message)}`}
  </p>`
}

function executionWords(execution: Execution): Markup {
  switch (execution.state) {
    case 'unclaimed':
      return html`Not begun yet. It may begin until ${moment(execution.claimBy)}.`
    case 'lapsed':
      return html`Never begun: the approval was good until ${moment(execution.claimBy)}.`
    case 'claimed':
      return html`Begun at ${moment(execution.claimedAt)}. A report is due by ${moment(execution.reportBy)}.`
    case 'unreported':
      return html`Begun at ${moment(execution.claimedAt)}; no report came by ${moment(execution.reportBy)}. Whether it
      was done is not known.`
    case 'succeeded':
      return html`Reported as done at ${moment(execution.reportedAt)}.`
    case 'failed':
      return html`Reported as failed at ${moment(execution.reportedAt)}.`
  }
}

/** Null where nobody has voted and one approval of anyone is enough. */
export function votesList(confirmation: Confirmation): Markup | null {
  const { votes, status, terms } = confirmation
  const { approvals } = terms
  if (votes.length === 0 && approvals === 1 && terms.seats.length === 0) return null
  const needed = status === 'pending' ? stillNeeded(confirmation) : null
  return html`<section aria-labelledby="votes-title">
    <h2 id="votes-title">${status === 'pending' ? 'Votes so far' : 'Votes'}</h2>
    <p>
      ${approvalsGiven(confirmation)} of ${approvals}
      ${approvals === 1 ? 'approval' : 'approvals'}.${votes.length === 0 ? ' Nobody has voted.' : null}
      ${needed === null ? null : written(needed)}
    </p>
    ${
      votes.length === 0
        ? null
        : html`<ul class="votes" role="list">
            ${votes.map(voteItem)}
          </ul>`
    }
  </section>`
}

function voteItem({ verdict, by, at, via, reason, comment }: Vote): Markup {
  const isDenial = verdict === 'deny'
  return html`<li class="${isDenial ? 'denied' : 'approved'}">
    <p>
      <span class="mark" aria-hidden="true">${isDenial ? '✕' : '✓'}</span> <b>${isDenial ? 'Denied' : 'Approved'}</b> by
      ${actorName(by)}${comment === null ? null : html` <span class="quiet">(gave the name ${named(comment)}, which is not proven)</span>`}
    </p>
    <p class="quiet">${moment(at)}, ${through(via)}</p>
    ${reasonLine(reason)}
  </li>`
}
