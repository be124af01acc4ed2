// A button of a message in a chat. What a press sends is a verb and a token, of which only the hash is kept.
import type { DeliveryKey } from '../core/model.js'

/**
 * `approve` and `session` ask once more: then `yes` and `yes_session` approve, the latter what follows in the session, too, and
 * `back` asks no more.
 */
export const verbs = ['approve', 'session', 'yes', 'yes_session', 'back', 'deny'] as const
export type ButtonVerb = (typeof verbs)[number]

export interface Button {
  hash: string
  /** In whose message it is: so it is bound to a confirmation, and to the chat. */
  of: DeliveryKey
  verb: ButtonVerb
  /** Who alone may press it, by the chat's id; null: whoever may decide. */
  presser: string | null
  createdAt: number
}

/** What a press sends: at most 64 bytes, which is what Telegram takes. */
export function writePress(verb: ButtonVerb, token: string): string {
  return `${verb}:${token}`
}

/** Tokens have 256 bits of chance. */
const pressPattern = /^([a-z_]{1,12}):([A-Za-z0-9_-]{43})$/

/** What may have been sent by a button; others can send whatever they like. */
export function readPress(data: string): { verb: ButtonVerb; token: string } | null {
  const [, verb, token] = pressPattern.exec(data) ?? []
  const known = verbs.find((one) => one === verb)
  return known === undefined || token === undefined ? null : { verb: known, token }
}
