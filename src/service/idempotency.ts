// Idempotency-Keys: who used one, and what was sent with it before.
import { type Refusal, refuse } from '../core/refusal.js'

/** Who an idempotency record is of. No proven name begins like one that was only given, so nobody can use up another's keys. */
export function idempotencyCaller(requester: string, isProven: boolean): string {
  return isProven ? requester : `?${requester}`
}

/** `id` is that of the confirmation which the key belongs to. */
export function keyReused(id: string): Refusal {
  const sentence = 'This Idempotency-Key was used for another request. Use a new key, or send the same payload.'
  return refuse('key_reused', sentence, { id })
}
