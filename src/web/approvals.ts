// How far the approvals are: what is still needed, whose would help, and what to tell somebody who has given theirs.
import { isVerified, textOf, type Voter } from '../core/actor.js'
import type { Confirmation } from '../core/model.js'
import { emptySeats } from '../core/seats.js'
import { approvalsGiven, approversOf } from '../core/vote.js'

/** From which groups approvals are still needed; null where the rule names none, or all have come. */
export function stillNeeded({ terms: { seats }, votes }: Pick<Confirmation, 'terms' | 'votes'>): string | null {
  const approvers = approversOf(votes)
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
export function bringsFurther({ terms, votes }: Confirmation, by: Voter): boolean {
  if (terms.seats.length === 0) return true
  const approvers = approversOf(votes)
  const left = (people: string[]) => emptySeats(terms.seats, (person) => people.includes(person)).length
  return left([...approvers, textOf(by)]) < left(approvers)
}

/** What somebody is told whose approval stands while more are needed; null for everyone else. */
export function recordedApproval(confirmation: Confirmation, by: Voter): string | null {
  const { votes, status, terms } = confirmation
  if (status !== 'pending' || !approversOf(votes).includes(textOf(by))) return null
  const given = approvalsGiven(confirmation)
  const whose = isVerified(by) ? 'Your approval' : 'An approval from this page'
  const others = terms.approvals - given === 1 ? 'Somebody else' : `${terms.approvals - given} others`
  const next = stillNeeded(confirmation) ?? `${others} must approve too.`
  return `${whose} is recorded: ${given} of ${terms.approvals}. ${next}`
}
