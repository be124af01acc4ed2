// How much of the disk requests take, for what a requester may fill in a day.
import type { Submission } from './model.js'

/** What rows, indexes and the events that follow take beside the texts; measured, and rounded up. */
const flatBytes = 2048
/** A name stands in the record, in its events, in indexes and in quotas; measured with the longest there are, and rounded up. */
const placesOfName = 8

/** The texts as they are kept: in the record and in the event that tells of it. `key` is the Idempotency-Key. */
export function bytesOf(submission: Submission, key: string | null): number {
  const { description, details, action, requester, sessionKey, callbackUrl, onBehalfOf, requestedAs, aap } = submission
  let names = size(action) + size(requester) + size(sessionKey)
  for (const name of [callbackUrl, onBehalfOf, requestedAs, key]) if (name !== null) names += size(name)
  const put = aap === null ? 0 : size(aap)
  return flatBytes + bytesOfText(description) + 2 * size(details) + put + placesOfName * names
}

/** A session that begins or rotates: its row, that of the run before it, and the event. */
export function bytesOfSession(key: string): number {
  return flatBytes + placesOfName * size(key)
}

/** One more text, in the record and in the event that tells of it. */
export function bytesOfText(text: string): number {
  return size(text) + size(JSON.stringify(text))
}

function size(text: string): number {
  return Buffer.byteLength(text)
}
