// What an approval is bound to: one hash over what will be done, by whom and in which session.
import { hash } from 'node:crypto'
import { canonical } from './json.js'
import type { Submission } from './model.js'

/** SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string): string {
  return hash('sha256', text)
}

/**
 * SHA-256 over the RFC 8785 form of exactly these four. Names are the API's own, so that anybody can compute it from what
 * was submitted. `details` is JSON text.
 */
export function digestOf(of: Pick<Submission, 'action' | 'details' | 'requester' | 'sessionKey'>): string {
  return sha256(
    // In the order of RFC 8785: sorted by name.
    `{"action":${JSON.stringify(of.action)},"details":${canonical(JSON.parse(of.details))},` +
      `"requester":${JSON.stringify(of.requester)},"session_key":${JSON.stringify(of.sessionKey)}}`,
  )
}

/** Tells one submission from another in everything that was asked for. */
export function fingerprintOf({ details, ...rest }: Submission): string {
  return sha256(canonical({ ...rest, details: JSON.parse(details) as unknown }))
}

/** Enough to compare by eye, in a message. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 16)
}
