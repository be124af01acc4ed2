// Idempotency-Keys: whose they are, and what was sent with one before.
import { type Refusal, refuse } from '../core/refusal.js'

/** Whose keys these are. No proven name begins like one that was only given, so nobody can use up another's. */
export function keyOwner(requester: string, isProven: boolean): string {
  return isProven ? requester : `?${requester}`
}

/** `id` is that of the confirmation which the key belongs to. */
export function keyReused(id: string): Refusal {
  const sentence = 'This Idempotency-Key was used for another request. Use a new key, or send the same payload.'
  return refuse('key_reused', sentence, { id })
}
