// Keys, the people they belong to, and links: each a secret of which only the hash is kept.
import { sha256 } from '../core/digest.js'
import { skeleton } from '../core/skeleton.js'
import type { ChannelName } from '../core/model.js'
import type { Role } from './role.js'

/** A person, or an agent: whoever votes and asks under one name, by whatever channel. */
export interface Person {
  name: string
  version: number
  telegramId: string | null
  discordId: string | null
  createdAt: number
}

export interface Key {
  id: string
  version: number
  person: string
  role: Role
  hash: string
  createdBy: string
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
  /** The key in its place, where it was rotated. */
  replacedBy: string | null
}

/** Lets one recipient decide one confirmation, once. */
export interface Link {
  hash: string
  version: number
  confirmationId: string
  recipient: string
  channel: ChannelName
  createdAt: number
  usedAt: number | null
}

/** A key as its owner keeps it: a prefix that scanners for secrets know, the key's id, and 256 bits of chance. */
const keyPattern = /^hpk_([0-9a-f]{12})_[0-9a-f]{64}$/

/** `chance`: at least 76 hexadecimal digits. */
export function makeKeyText(chance: string): { id: string; text: string } {
  const id = chance.slice(0, 12)
  return { id, text: `hpk_${id}_${chance.slice(12, 76)}` }
}

/** The id of what has the form of a key. */
export function readKeyId(text: string): string | null {
  return keyPattern.exec(text)?.[1] ?? null
}

export function hashSecret(text: string): string {
  return sha256(text)
}

export type KeyState = 'live' | 'expired' | 'revoked'

export function stateOf({ expiresAt, revokedAt }: Pick<Key, 'expiresAt' | 'revokedAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && now >= expiresAt ? 'expired' : 'live'
}

/** Ten years, and a month: for how long a key may be made, and stay good beside the one in its place. */
export const maxExpirySeconds = 315_360_000
export const maxOverlapSeconds = 2_592_000

/** How chats write the ids of people; a group's has a minus. */
export const chatIdPattern = /^[0-9]{1,32}$/

/** Names that the service itself signs with, and that stand for nobody. */
const reserved = new Set(['system', 'whitelist', 'local', 'unknown', 'anonymous'].map(skeleton))
/** Drawn as nothing, some of them letters: two names could look the same, or like none. */
const unseen = /\p{DI}/u
const namePattern = /^[\p{L}\p{N}]([\p{L}\p{M}\p{N} ._@+-]{0,98}[\p{L}\p{M}\p{N}.])?$/u

/** The same for those who read, and for those who describe it as JSON Schema. */
export const nameRule =
  'must be 1 to 100 letters, digits, spaces and . _ @ + -, and begin and end with a letter or a digit'
export const nameForm = { maxLength: 100, pattern: namePattern.source }

/** Why nobody can be called that, or null. */
export function flawOfName(name: string): string | null {
  if (!namePattern.test(name) || unseen.test(name)) return nameRule
  return reserved.has(skeleton(name)) ? 'is reserved for the service itself' : null
}
