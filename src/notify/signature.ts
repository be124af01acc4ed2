// Signatures after Standard Webhooks, and the secrets they are made with.
import { createHmac } from 'node:crypto'

/** What is wrong with a secret ("must …"), or null. Never quotes it. */
export function problemWithSecret(text: string): string | null {
  const [, encoded] = /^whsec_(.*)$/s.exec(text) ?? []
  if (encoded === undefined) return "must begin with 'whsec_'"
  const key = Buffer.from(encoded, 'base64')
  if (key.toString('base64') !== encoded) return "must be base64 after 'whsec_'"
  // Standard Webhooks' bounds.
  if (key.length < 24 || key.length > 64) return 'must hold 24 to 64 bytes'
  return null
}

export function keyOf(secret: string): Buffer {
  const problem = problemWithSecret(secret)
  if (problem !== null) throw new Error(`a secret for callbacks ${problem}`)
  return Buffer.from(secret.slice('whsec_'.length), 'base64')
}

/** `v1`: HMAC-SHA256 over the id, the time in seconds and the body. */
export function sign(key: Buffer, id: string, timestamp: number, body: Buffer): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}
