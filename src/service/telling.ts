// Who is told of what: as a rule or the settings say, and as far as there are chats and people with an id there.
import { idIn } from '../access/person.js'
import {
  type Audience,
  type ChatName,
  chatTitles,
  isAlarm,
  type Occasion,
  personalChats,
  type Subject,
  type Terms,
} from '../core/model.js'
import { visibleLine } from '../core/visible.js'
import { decidersOf, type Line, linesFor, type Place, type Reach } from '../notify/lines.js'
import type { Rule } from '../policy/policy.js'
import { audienceOf, type Groups, isNamed, type Target, unknownGroupsIn } from '../policy/telling.js'
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
  /** Who is to be told and cannot be, in sentences: nobody is left untold, but others are told. */
  problems(rules: readonly Rule[], nameCommand: (command: string) => string): string[]
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
    problems(rules, nameCommand) {
      const said = new Set<string>()
      const name = 'CONFIRMATION_NOTIFY'
      for (const group of unknownGroupsIn(targets, groups())) {
        said.add(`${name} tells group:${visibleLine(group)}, and the rules have no such group: nobody of it is told`)
      }
      const look = (who: string, audience: Audience | null, terms: Terms | null) => {
        if (audience === null || !isNamed(audience)) return
        for (const chat of audience.chats.filter((one) => !names.includes(one))) {
          said.add(`${who} tells ${chatTitles[chat]}, which is not set up`)
        }
        const deciders = audience.deciders && terms !== null ? decidersOf({ terms, requester: '' }) : []
        for (const person of new Set([...audience.people, ...deciders])) {
          const problem = problemWith(person, nameCommand)
          const others = names.length === 0 ? 'The log is' : 'The chats are'
          if (problem !== null)
            said.add(`${who} tells ${visibleLine(person)} alone, ${problem}. ${others} told instead`)
        }
      }
      look(name, usual(), null)
      for (const { terms } of rules) {
        const who = `the rule "${visibleLine(terms.rule)}"`
        look(who, terms.telling?.notify ?? null, terms)
        look(who, terms.telling?.escalation?.to ?? null, terms)
        // Whom the settings mean by it, each rule says.
        if (terms.telling?.notify == null && isNamed(usual())) look(who, onlyDeciders(usual()), terms)
      }
      return [...said]
    },
  }

  /** Why they cannot be told by themselves, or null. */
  function problemWith(name: string, nameCommand: (command: string) => string): string | null {
    if (placesOf(name).length > 0) return null
    if (people.find(name) !== undefined && !people.mayDecide(name))
      return 'who has no key any more that lets them decide'
    const channel = personalChats.find((one) => names.includes(one))
    if (channel === undefined) return 'and no chat is set up that can tell one person'
    const how = nameCommand(`people set --name ${/^[\w.@+-]+$/.test(name) ? name : 'NAME'} --${channel} ID`)
    return `whose id no chat knows: ${how}`
  }
}

function onlyDeciders(audience: Audience): Audience {
  return isNamed(audience) ? { chats: [], people: [], deciders: audience.deciders } : audience
}
