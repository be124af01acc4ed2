// Who did something, as a value, and the text that the API, the history and the log write for it.
import type { ChatName, PersonalChat } from './model.js'

/** The parts of the service that act by themselves. */
export type SystemPart = 'timeout' | 'outbox' | 'rules' | 'restore' | 'clock' | 'first-start' | 'sessions' | 'breaker'

export type Actor =
  /** Showed a key of their own. */
  | { kind: 'person'; name: string }
  | { kind: 'agent'; name: string }
  /** A whitelist entry. */
  | { kind: 'grant'; id: string }
  /** A rule of the file that lets an action pass. */
  | { kind: 'rule'; name: string }
  | { kind: 'system'; part: SystemPart }
  /** A chat, which many may read. */
  | { kind: 'chat'; channel: ChatName; id: string }
  /** Pressed or wrote in a chat, which knows them by this id; the settings let them decide, and nobody knows them by name. */
  | { kind: 'user'; channel: PersonalChat; id: string }
  /** Opened a link that was made for one recipient. */
  | { kind: 'link'; recipient: Recipient }
  /** Came in open mode, and gave this name. */
  | { kind: 'anyone'; name: string }
  /** Came through the database's own socket. */
  | { kind: 'local' }
  /** Showed nothing that is good. */
  | { kind: 'unknown' }

export type ActorKind = Actor['kind']
export type ActorOf<K extends ActorKind> = Extract<Actor, { kind: K }>

/** For whom a link is made. */
export type Recipient = ActorOf<'person' | 'chat'>
/** Who may vote and give grants. */
export type Voter = ActorOf<'person' | 'agent' | 'user' | 'local' | 'link' | 'anyone'>

/** No verified name holds a colon, so the texts of different verified actors differ. */
export function textOf(actor: Actor): string {
  switch (actor.kind) {
    case 'person':
    case 'agent':
    case 'anyone':
      return actor.name
    case 'grant':
      return `whitelist:${actor.id}`
    case 'rule':
      return `rule:${actor.name}`
    case 'system':
      return `system:${actor.part}`
    case 'chat':
    case 'user':
      return `${actor.channel}:${actor.id}`
    case 'link':
      return textOf(actor.recipient)
    case 'local':
    case 'unknown':
      return actor.kind
    default:
      return actor satisfies never
  }
}

/** The actor of this kind that has this text. */
export function readActor<K extends ActorKind>(kind: K, text: string): ActorOf<K>
export function readActor(kind: ActorKind, text: string): Actor {
  const rest = text.slice(text.indexOf(':') + 1)
  switch (kind) {
    case 'person':
    case 'agent':
    case 'anyone':
      return { kind, name: text }
    case 'grant':
      return { kind, id: rest }
    case 'rule':
      return { kind, name: rest }
    case 'system':
      return { kind, part: rest as SystemPart }
    case 'chat':
      return { kind, channel: text.slice(0, text.indexOf(':')) as ChatName, id: rest }
    case 'user':
      return { kind, channel: text.slice(0, text.indexOf(':')) as PersonalChat, id: rest }
    case 'link':
      return { kind, recipient: readActor(text.includes(':') ? 'chat' : 'person', text) }
    case 'local':
    case 'unknown':
      return { kind }
    default:
      return kind satisfies never
  }
}

/** Whether they have shown who they are: a name that was only given proves nothing. */
export function isVerified({ kind }: Actor): boolean {
  return kind !== 'anyone' && kind !== 'unknown'
}

/** In whose share of what all have in common something counts: the key's owner; in open mode all are one, which is ''. */
export function shareOf(actor: Actor): string {
  return isVerified(actor) ? textOf(actor) : ''
}

/** Whether it is one person who has a name, not a chat that many read, or an id in one. */
export function isPersonal(actor: Actor): boolean {
  const { kind } = actor.kind === 'link' ? actor.recipient : actor
  return kind !== 'chat' && kind !== 'user'
}

export function system(part: SystemPart): ActorOf<'system'> {
  return { kind: 'system', part }
}

export const unknownActor: ActorOf<'unknown'> = { kind: 'unknown' }
