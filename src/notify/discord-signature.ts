// Discord's signature over a request to us: Ed25519, over the time and the body as it came.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Incoming } from './chat.js'

/** The time is signed, too: so an old request is none. */
export const maxAgeMs = 5 * 60_000
/** Our own clock may be a little behind. */
export const maxAheadMs = 60_000

/** Discord gives the key alone, in hexadecimal digits; what stands before it says that it is one for Ed25519. */
export function publicKeyOf(hex: string): KeyObject {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(hex, 'hex')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

export function isSigned({ headers, body }: Incoming, key: KeyObject, now: number): boolean {
  const { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp } = headers
  if (typeof signature !== 'string' || !/^[0-9a-f]{128}$/i.test(signature)) return false
  if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false
  const age = now - Number(timestamp) * 1000
  if (age > maxAgeMs || age < -maxAheadMs) return false
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'hex'))
}

/** A signature that anybody can write. It fits one message in eight, or more, of the few keys for which it fits any. */
const forged = Buffer.from(`01${'00'.repeat(63)}`, 'hex')

export function problemWithPublicKey(hex: string): string | null {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return 'must be 64 hexadecimal digits'
  const key = publicKeyOf(hex)
  const isWeak = Array.from({ length: 256 }, (_, n) => Buffer.from([n])).some((one) => verify(null, one, key, forged))
  return isWeak ? 'must be the key of an application: this one lets everybody sign' : null
}
