// One person's word on a confirmation: whether it counts under the terms, and whether it settles the matter.
import { isPersonal, isVerified, textOf } from './actor.js'
import { alreadyResolved, asOf, resolve } from './confirmation.js'
import type { Confirmation, Pending, Resolved, Vote } from './model.js'
import { type Refusal, refuse } from './refusal.js'
import { emptySeats } from './seats.js'

export interface Ballot extends Vote {
  /** The action's name, if it was typed out. */
  typed: string | null
}

/** The confirmation with this vote in it, resolved if that was the last one needed; one denial ends it. */
export function castVote(confirmation: Confirmation, ballot: Ballot, approvalMs: number): Pending | Resolved | Refusal {
  const { verdict, by, at, via, reason, comment, remember } = ballot
  const current = asOf(confirmation, at)
  if (current.status !== 'pending') return alreadyResolved(current)
  const refusal = judge(current, ballot)
  if (refusal !== null) return refusal
  const votes = [...current.votes, { verdict, by, at, via, reason, comment, remember }]
  if (verdict === 'approve' && approvalsGiven({ terms: current.terms, votes }) < current.terms.approvals) {
    return { ...current, version: current.version + 1, votes }
  }
  const status = verdict === 'approve' ? 'approved' : 'denied'
  return resolve({ ...current, votes }, status, { by, at, via, reason }, approvalMs)
}

/** Without the votes of those who have not shown who they are: these count in open mode alone. */
export function withVerifiedVotes(confirmation: Confirmation): Confirmation {
  const { status, votes } = confirmation
  if (status !== 'pending' || votes.every(({ by }) => isVerified(by))) return confirmation
  return { ...confirmation, votes: votes.filter(({ by }) => isVerified(by)) }
}

/** How many of the approvals that are needed have been given. One that fills no seat brings it no further. */
export function approvalsGiven({ terms: { approvals, seats }, votes }: Pick<Confirmation, 'terms' | 'votes'>): number {
  const approvers = approversOf(votes)
  return Math.min(approvers.length, approvals - emptySeats(seats, (person) => approvers.includes(person)).length)
}

/** The names of those who approved. */
export function approversOf(votes: Vote[]): string[] {
  return votes.filter(({ verdict }) => verdict === 'approve').map(({ by }) => textOf(by))
}

/** Why this vote is not allowed, because of who gives it; null if it is. */
export function problemWithVoter(
  { requester, terms, votes }: Pending,
  { by, verdict }: Pick<Ballot, 'by' | 'verdict'>,
): Refusal | null {
  const name = textOf(by)
  if (isVerified(by) && name === requester && !terms.allowsOwn) {
    return refuse('own_request', 'Nobody decides what they submitted themselves. Somebody else must.')
  }
  if (!isPersonal(by) && terms.approvals > 1) {
    const why =
      by.kind === 'user'
        ? `nobody knows ${name} by name. Have your id recorded: holdpoint people set`
        : 'this link goes to a chat that many may read. Decide with a key of your own'
    return refuse('not_a_decider', `This needs ${terms.approvals} different people, and ${why}.`)
  }
  const { seats } = terms
  if (by.kind === 'user' && (terms.deciders !== null || seats.length > 0)) {
    const sentence = `The rule '${terms.rule}' lets only certain people decide this, and nobody knows ${name} by name. Have your id recorded: holdpoint people set`
    return refuse('not_a_decider', `${sentence}.`)
  }
  if (terms.deciders !== null && !terms.deciders.includes(name)) {
    return refuse(
      'not_a_decider',
      `The rule '${terms.rule}' lets only certain people decide this, and ${name} is not one.`,
    )
  }
  if (verdict === 'approve' && seats.length > 0 && !seats.some(({ members }) => members.includes(name))) {
    const groups = seats.map(({ group }) => group).join(', ')
    return refuse(
      'not_a_decider',
      `The rule '${terms.rule}' needs approvals from ${groups}, and ${name} is in none of these.`,
    )
  }
  if (votes.some((vote) => textOf(vote.by) === name)) {
    return refuse('already_voted', `${name} has decided this already, and one person has one vote. Somebody else must.`)
  }
  return null
}

function judge(confirmation: Pending, ballot: Ballot): Refusal | null {
  const { action, terms } = confirmation
  const problem = problemWithVoter(confirmation, ballot)
  // In a 409 the status is the state that stands.
  if (problem?.refused === 'already_voted') return { ...problem, extra: { status: 'pending' } }
  if (problem !== null) return problem
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
