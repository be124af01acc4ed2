// What an approval is bound to: one hash over what will be done, by whom, for whom and in which session.
import { hash } from 'node:crypto'
import { canonical, CanonicalText, digestText } from './canonical.js'
import type { Submission } from './model.js'

/** SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string): string {
  return hash('sha256', text)
}

/** The RFC 8785 form of the details, which is the larger part of the work where they are large. */
export function canonicalOf({ details }: Pick<Submission, 'details'>): string {
  return canonical(JSON.parse(details))
}

/** SHA-256 of the `digestText` of a submission. `details` is its canonical form, where that is known already. */
export function digestOf(
  of: Pick<Submission, 'action' | 'details' | 'onBehalfOf' | 'requester' | 'sessionKey'>,
  details = canonicalOf(of),
): string {
  return sha256(digestText({ ...of, details }))
}

/** Tells one submission from another in everything that was asked for. */
export function fingerprintOf(of: Submission, details = canonicalOf(of)): string {
  const { onBehalfOf, aap, ...rest } = of
  const more = { ...(onBehalfOf === null ? {} : { onBehalfOf }), ...(aap === null ? {} : { aap }) }
  return sha256(canonical({ ...rest, ...more, details: new CanonicalText(details) }))
}

/** Tells what is done with a confirmation from everything else that is sent with a key. `body` is as it was understood. */
export function actFingerprint(verb: 'claim' | 'report', id: string, body: Record<string, string | null>): string {
  return sha256(canonical({ verb, id, ...body }))
}

/** Enough to compare by eye, in a message. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 16)
}
