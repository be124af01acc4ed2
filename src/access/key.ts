// Keys: what each lets its owner do, and for how long. Of the secret only the hash is kept.
import type { Actor } from '../core/actor.js'
import { sha256 } from '../core/digest.js'
import type { Role } from './role.js'

export interface Key {
  id: string
  version: number
  person: string
  role: Role
  hash: string
  createdBy: Actor
  createdAt: number
  expiresAt: number | null
  revokedAt: number | null
  /** The key in its place, where it was rotated. */
  replacedBy: string | null
}

/** When a key was used last. */
export interface KeyUse {
  keyId: string
  usedAt: number
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
