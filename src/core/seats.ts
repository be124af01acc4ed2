// Whether people can fill the seats that a rule keeps for groups: each takes one, whatever groups they are in.
import type { Seat } from './model.js'

/** The groups whose seats stay empty however the people are placed, one entry a seat; empty if all can be filled. */
export function emptySeats(seats: Seat[], isCandidate: (person: string) => boolean): string[] {
  const chairs = seats.flatMap(({ group, count, members }) =>
    Array.from({ length: count }, () => ({ group, members: members.filter(isCandidate) })),
  )
  const takenBy = new Map<string, number>()
  // A person who sits in the way moves on to another chair, if there is one.
  const place = (chair: number, asked: Set<string>): boolean =>
    chairs[chair]!.members.some((person) => {
      if (asked.has(person)) return false
      asked.add(person)
      const sitsOn = takenBy.get(person)
      if (sitsOn !== undefined && !place(sitsOn, asked)) return false
      takenBy.set(person, chair)
      return true
    })
  return chairs.flatMap(({ group }, chair) => (place(chair, new Set()) ? [] : [group]))
}
