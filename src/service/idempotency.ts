// Idempotency-Keys that come again with something else.
import { type Refusal, refuse } from '../core/refusal.js'

/** `id` is that of the confirmation which the key belongs to. */
export function keyReused(id: string): Refusal {
  const sentence = 'This Idempotency-Key was used for another request. Use a new key, or send the same payload.'
  return refuse('key_reused', sentence, { id })
}
