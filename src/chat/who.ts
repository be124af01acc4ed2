// Who somebody in a chat is to Holdpoint: a person on record, an id that the settings allow, or a stranger. Nothing but the id
// that the chat vouches for counts.
import { idIn } from '../access/person.js'
import { type ActorOf, textOf, unknownActor } from '../core/actor.js'
import type { Pending, PersonalChat, Verdict, Via } from '../core/model.js'
import { type Refusal, refuse } from '../core/refusal.js'
import { problemWithVoter } from '../core/vote.js'
import type { Somebody } from '../notify/chat.js'
import type { Service } from '../service/service.js'

/** Who may decide by their id alone. */
export type AllowedUsers = Record<PersonalChat, ReadonlySet<string>>

export type Known = ActorOf<'person' | 'user'>

export interface Who {
  /** Who this is, if they may decide; else null. */
  know(somebody: Somebody): Known | null
  /** Whether anybody may decide there. */
  isAnyKnown(channel: PersonalChat): boolean
  /** Records that a stranger tried something; whether there was room for it. */
  refuseStranger(somebody: Somebody, via: Via, id: string | null): Promise<boolean>
  /** Why their vote does not count, or null. It is on record then, as it is where somebody has decided. */
  problemWith(pending: Pending, by: Known, verdict: Verdict, via: Via): Promise<Refusal | null>
}

export function createWho({ people, recordRefusal }: Service, allowed: AllowedUsers): Who {
  function know({ channel, id, isNobody }: Somebody): Known | null {
    if (isNobody) return null
    const person = people.byIdentity({ channel, id })
    // Whoever is on record is that person, whatever else the settings say.
    if (person !== undefined) return people.mayDecide(person.name) ? { kind: 'person', name: person.name } : null
    return allowed[channel].has(id) ? { kind: 'user', channel, id } : null
  }

  return {
    know,
    isAnyKnown: (channel) =>
      allowed[channel].size > 0 || people.people().some((person) => idIn(channel, person) !== null),
    async refuseStranger({ channel, id: own, isNobody }, via, id) {
      const actor = isNobody ? unknownActor : ({ kind: 'user', channel, id: own } as const)
      const refusal = refuse('forbidden', 'Nobody has allowed this id to decide.')
      const room = await recordRefusal(refusal, { actor, via, id }, {}, `in ${channel}: ${isNobody ? 'nobody' : own}`)
      return room === null
    },
    async problemWith(pending, by, verdict, via) {
      const problem = problemWithVoter(pending, { by, verdict })
      if (problem === null) return null
      const { id, action, digest } = pending
      await recordRefusal(problem, { actor: by, via, id }, { action, digest, verdict }, `in ${via}: ${textOf(by)}`)
      return problem
    },
  }
}
