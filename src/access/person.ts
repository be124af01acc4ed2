// People, the ids by which chats know them, and what somebody can be called.
import type { PersonalChat } from '../core/model.js'
import { skeleton } from '../core/skeleton.js'

/** A person, or an agent: somebody who votes and asks under one name, by whatever channel. */
export interface Person {
  name: string
  version: number
  identities: ChatIdentity[]
  createdAt: number
}

/** By which id a chat knows somebody. It belongs to one person alone. */
export interface ChatIdentity {
  channel: PersonalChat
  id: string
}

/** Their id in this chat, if there is one. */
export function idIn(channel: PersonalChat, { identities }: Pick<Person, 'identities'>): string | null {
  return identities.find((one) => one.channel === channel)?.id ?? null
}

/** How chats write the ids of people; a group's has a minus. On Slack, whoever is of another workspace has its id in front. */
export const chatIdPatterns: Record<PersonalChat, RegExp> = {
  telegram: /^[0-9]{1,32}$/,
  discord: /^[0-9]{1,32}$/,
  slack: /^(T[A-Z0-9]{1,30}:)?[UW][A-Z0-9]{1,30}$/,
}

/** Names that the service itself signs with, and that stand for nobody. */
const reserved = new Set(['system', 'whitelist', 'rule', 'local', 'unknown', 'anonymous'].map(skeleton))
/** Drawn as nothing, some of them letters: two names could look the same, or like none. */
const unseen = /\p{DI}/u
const namePattern = /^[\p{L}\p{N}]([\p{L}\p{M}\p{N} ._@+-]{0,98}[\p{L}\p{M}\p{N}.])?$/u

/** The same for those who read, and for those who describe it as JSON Schema. */
export const nameRule =
  'must be 1 to 100 letters, digits, spaces and . _ @ + -, and begin and end with a letter or a digit'
export const nameForm = { maxLength: 100, pattern: namePattern.source }

/** Why nobody can be called that, or null. */
export function problemWithName(name: string): string | null {
  if (!namePattern.test(name) || unseen.test(name)) return nameRule
  return reserved.has(skeleton(name)) ? 'is reserved for the service itself' : null
}
