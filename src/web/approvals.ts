// How far the approvals are: what is still needed, whose would help, and what to tell somebody who has given theirs.
import type { Confirmation } from '../core/model.js'
import { emptySeats } from '../core/seats.js'
import { approvalsGiven } from '../core/vote.js'

/** From which groups approvals are still needed; null where the rule names none, or all have come. */
export function stillNeeded({ terms: { seats }, votes }: Pick<Confirmation, 'terms' | 'votes'>): string | null {
  const approvers = votes.filter(({ verdict }) => verdict === 'approve').map(({ by }) => by)
  const empty = emptySeats(seats, (person) => approvers.includes(person))
  if (empty.length === 0) return null
  // A person in several groups may take another seat yet, so one more of either group would do.
  const helpful = seats.filter(({ group }) => {
    const withOneMore = seats.map((seat) => (seat.group === group ? { ...seat, members: [...seat.members, ''] } : seat))
    return emptySeats(withOneMore, (person) => person === '' || approvers.includes(person)).length < empty.length
  })
  if (helpful.some(({ group }) => !empty.includes(group))) {
    return `Still needed: ${empty.length} from ${helpful.map(({ group }) => group).join(' or ')}.`
  }
  const counts = helpful.map(({ group }) => `${empty.filter((one) => one === group).length} from ${group}`)
  return `Still needed: ${counts.join(', ')}.`
}

/** Whether an approval of theirs would fill a seat. */
export function bringsFurther({ terms, votes }: Confirmation, by: string): boolean {
  if (terms.seats.length === 0) return true
  const approvers = votes.filter(({ verdict }) => verdict === 'approve').map((vote) => vote.by)
  const left = (people: string[]) => emptySeats(terms.seats, (person) => people.includes(person)).length
  return left([...approvers, by]) < left(approvers)
}

/** What somebody is told whose approval stands while more are needed; null for everyone else. */
export function recordedApproval(confirmation: Confirmation, by: string, isVerified: boolean): string | null {
  const { votes, resolution, terms } = confirmation
  if (resolution !== null || !votes.some((vote) => vote.by === by && vote.verdict === 'approve')) return null
  const given = approvalsGiven(confirmation)
  const whose = isVerified ? 'Your approval' : 'An approval from this page'
  const others = terms.approvals - given === 1 ? 'Somebody else' : `${terms.approvals - given} others`
  const next = stillNeeded(confirmation) ?? `${others} must approve too.`
  return `${whose} is recorded: ${given} of ${terms.approvals}. ${next}`
}
