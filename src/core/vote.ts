// One person's word on a confirmation: whether it counts under the terms, and whether it settles the matter.
import { alreadyResolved, asOf, resolve } from './confirmation.js'
import type { Confirmation, Vote } from './model.js'
import { type Refusal, refuse } from './refusal.js'
import { emptySeats } from './seats.js'

export interface Ballot extends Vote {
  /** The action's name, if it was typed out. */
  typed: string | null
  /** It is one person's, not that of a chat which many read. */
  isPersonal: boolean
}

/** The confirmation with this vote in it, resolved if that was the last one needed; one denial ends it. */
export function castVote(confirmation: Confirmation, ballot: Ballot, approvalMs: number): Confirmation | Refusal {
  const { verdict, by, at, via, reason, comment, isProven, remember } = ballot
  const current = asOf(confirmation, at)
  if (current.resolution !== null) return alreadyResolved(current)
  const refusal = judge(current, ballot)
  if (refusal !== null) return refusal
  const votes = [...current.votes, { verdict, by, at, via, reason, comment, isProven, remember }]
  if (verdict === 'approve' && approvalsGiven({ ...current, votes }) < current.terms.approvals) {
    return { ...current, version: current.version + 1, votes }
  }
  const status = verdict === 'approve' ? 'approved' : 'denied'
  return resolve({ ...current, votes }, { status, by, at, via, reason }, approvalMs)
}

/** Without the votes of those whose name nobody could prove: once names are proven, they count no more. */
export function withProvenVotes(confirmation: Confirmation): Confirmation {
  const { resolution, votes } = confirmation
  if (resolution !== null || votes.every(({ isProven }) => isProven)) return confirmation
  return { ...confirmation, votes: votes.filter(({ isProven }) => isProven) }
}

/** How many of the approvals that are needed have been given. One that fills no seat brings it no further. */
export function approvalsGiven({ terms: { approvals, seats }, votes }: Pick<Confirmation, 'terms' | 'votes'>): number {
  const approvers = votes.filter(({ verdict }) => verdict === 'approve').map(({ by }) => by)
  return Math.min(approvers.length, approvals - emptySeats(seats, (person) => approvers.includes(person)).length)
}

/** Whether this vote is not allowed, because of who gives it. */
export function flawOfVoter(
  { requester, terms, votes }: Confirmation,
  { by, verdict, isProven, isPersonal }: Pick<Ballot, 'by' | 'verdict' | 'isProven' | 'isPersonal'>,
): Refusal | null {
  if (isProven && by === requester && !terms.allowsOwn) {
    return refuse('own_request', 'Nobody decides what they submitted themselves. Somebody else must.')
  }
  if (!isPersonal && terms.approvals > 1) {
    const sentence = `This needs ${terms.approvals} different people, and this link goes to a chat that many may read. Decide with a key of your own.`
    return refuse('not_a_decider', sentence)
  }
  if (terms.deciders !== null && !terms.deciders.includes(by)) {
    return refuse(
      'not_a_decider',
      `The rule '${terms.rule}' lets only certain people decide this, and ${by} is not one.`,
    )
  }
  const { seats } = terms
  if (verdict === 'approve' && seats.length > 0 && !seats.some(({ members }) => members.includes(by))) {
    const groups = seats.map(({ group }) => group).join(', ')
    return refuse(
      'not_a_decider',
      `The rule '${terms.rule}' needs approvals from ${groups}, and ${by} is in none of these.`,
    )
  }
  if (votes.some((vote) => vote.by === by)) {
    return refuse('already_voted', `${by} has decided this already, and one person has one vote. Somebody else must.`)
  }
  return null
}

function judge(confirmation: Confirmation, ballot: Ballot): Refusal | null {
  const { action, terms } = confirmation
  const flaw = flawOfVoter(confirmation, ballot)
  // In a 409 the status is the state that stands.
  if (flaw !== null) return flaw.refused === 'already_voted' ? { ...flaw, extra: { status: 'pending' } } : flaw
  const { verdict, reason, typed } = ballot
  if (reason === null && terms.reasonFor.includes(verdict)) {
    return refuse(
      'reason_required',
      `The rule '${terms.rule}' wants a reason to ${verdict} this; give one (over the API: in 'reason').`,
    )
  }
  if (verdict === 'approve' && terms.mustType && typed?.trim() !== action) {
    const sentence = `The rule '${terms.rule}' wants the action's name typed out to approve it; type it exactly (over the API: in 'typed_action').`
    return refuse('typing_required', sentence)
  }
  return null
}
