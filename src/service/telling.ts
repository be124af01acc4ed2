// Who is told of what: as a rule or the settings say, and as far as there are chats and people with an id there.
import { idIn } from '../access/person.js'
import { type Audience, type ChatName, isAlarm, type Occasion, personalChats, type Subject } from '../core/model.js'
import { type Line, linesFor, type Place, type Reach } from '../notify/lines.js'
import { audienceOf, type Groups, type Target } from '../policy/telling.js'
import type { People } from './people.js'

/** A chat of the settings, as far as it matters who can be told there. */
export interface ChatReach {
  name: ChatName
  /** Whether one person alone reads what is sent there; '' is the place of the settings. */
  isPrivate(place: string): boolean
  /** Which id the place of the settings has; null where a chat has others for people. */
  home: string | null
}

export interface Tellings {
  linesFor(subject: Subject, occasion: Occasion): Line[]
  /** Whose own place this is; null: nobody's, or it is not known. */
  ownerOf(place: Place): string | null
  /** Where somebody can be told by themselves. */
  placesOf(name: string): Place[]
  /** What the settings say, with groups spelt out. */
  usual(): Audience
}

/** `groups` are those of the rules, as they are now. */
export function createTellings(
  people: Pick<People, 'find' | 'byIdentity' | 'mayDecide'>,
  chats: ChatReach[],
  targets: Target[],
  groups: () => Groups,
): Tellings {
  const names = chats.map(({ name }) => name)
  const reach: Reach = {
    chats: names,
    isPrivate: (name) => chats.find((chat) => chat.name === name)?.isPrivate('') ?? false,
    placesOf,
  }
  let known: { groups: Groups; audience: Audience } | null = null
  /** What most submissions need, and need not be made again for each. */
  const first: Line[] = linesFor('first', { kind: 'session_suspended' } as Subject, reach)

  function usual(): Audience {
    const current = groups()
    if (known?.groups !== current) known = { groups: current, audience: audienceOf(targets, current) }
    return known.audience
  }

  /** Whoever has lost what lets them decide is told nothing. */
  function placesOf(name: string): Place[] {
    const person = people.find(name)
    if (person === undefined || !people.mayDecide(name)) return []
    return chats.flatMap((chat) => {
      const channel = personalChats.find((one) => one === chat.name)
      const id = channel === undefined ? null : idIn(channel, person)
      if (id === null || !chat.isPrivate(id)) return []
      return [{ channel: chat.name, destination: id === chat.home ? '' : id }]
    })
  }

  return {
    linesFor(subject, occasion) {
      const telling = isAlarm(subject) ? null : subject.terms.telling
      const audience = (occasion === 'escalation' ? telling?.escalation?.to : telling?.notify) ?? usual()
      if (audience === 'first' && (isAlarm(subject) || subject.terms.approvals === 1)) return first
      return linesFor(audience, subject, reach)
    },
    ownerOf({ channel, destination }) {
      const personal = personalChats.find((one) => one === channel)
      return personal === undefined ? null : (people.byIdentity({ channel: personal, id: destination })?.name ?? null)
    },
    placesOf,
    usual,
  }
}
