// Whom a message about a request reaches: from those who are to be told to lines of places. The places of a line are tried one
// after the other until one takes it; lines have nothing to do with each other (pure).
import { type Audience, type ChatName, type Confirmation, isAlarm, type Subject, type Terms } from '../core/model.js'
import { isNamed } from '../policy/telling.js'

/** A chat, or with somebody's id there, they alone. */
export interface Place {
  channel: ChatName
  destination: string
}

export interface Line {
  places: Place[]
  /** Somebody's own: whoever else was told does not stand for them. */
  isPersonal: boolean
}

/** Who can be reached, and where. */
export interface Reach {
  /** The chats of the settings, in the order in which they are tried. */
  chats: readonly ChatName[]
  /** Whether the place of the settings is one person's own. */
  isPrivate(chat: ChatName): boolean
  /** Where somebody can be told by themselves, the best first; none for who is not known. */
  placesOf(name: string): Place[]
}

/** An alarm goes to chats: it is nobody's own. */
export function linesFor(audience: Audience, subject: Subject, reach: Reach): Line[] {
  const homes = reach.chats.map(homeOf)
  const usual: Line = { places: homes, isPersonal: false }
  if (audience === 'all') return homes.map(lineOf)
  if (isAlarm(subject)) return isNamed(audience) ? orElse(chatsOf(audience.chats, reach), usual) : [usual]
  const { terms } = subject
  if (audience === 'first') return isEnoughFirst(terms, reach) ? [usual] : forSeveral(subject, homes, usual, reach)
  const chats = chatsOf(audience.chats, reach)
  const named = new Set([...audience.people, ...(audience.deciders ? decidersOf(subject) : [])])
  const lines = [...chats, ...[...named].map((name) => personal(name, homes, reach))]
  // Whoever they are, they are too few to decide it.
  return chats.length === 0 && named.size < terms.approvals ? [...lines, usual] : lines
}

/** Those whom the terms name, but for whoever must not decide it. */
export function decidersOf({ terms, requester }: Pick<Confirmation, 'terms' | 'requester'>): string[] {
  const named = terms.deciders ?? terms.seats.flatMap(({ members }) => members)
  return [...new Set(named)].filter((name) => terms.allowsOwn || name !== requester)
}

/** Where the first chat is one person's own, it takes others for what several must approve. */
function isEnoughFirst({ approvals }: Terms, { chats: [first], isPrivate }: Reach): boolean {
  return approvals === 1 || first === undefined || !isPrivate(first)
}

function forSeveral(confirmation: Confirmation, homes: Place[], usual: Line, reach: Reach): Line[] {
  const deciders = decidersOf(confirmation)
  if (deciders.length === 0) return homes.map(lineOf)
  return [usual, ...deciders.map((name) => personal(name, homes, reach))]
}

/** Where none of their own places takes it, it is told as usual. */
function personal(name: string, homes: Place[], { placesOf }: Reach): Line {
  return {
    places: [...placesOf(name), ...homes.filter((home) => !placesOf(name).some(isSame(home)))],
    isPersonal: true,
  }
}

function chatsOf(named: ChatName[], { chats }: Reach): Line[] {
  return chats.filter((chat) => named.includes(chat)).map((chat) => lineOf(homeOf(chat)))
}

function orElse(lines: Line[], usual: Line): Line[] {
  return lines.length === 0 ? [usual] : lines
}

function homeOf(channel: ChatName): Place {
  return { channel, destination: '' }
}

function lineOf(place: Place): Line {
  return { places: [place], isPersonal: false }
}

export function isSame(place: { channel: string; destination: string }) {
  return (other: { channel: string; destination: string }): boolean =>
    other.channel === place.channel && other.destination === place.destination
}
