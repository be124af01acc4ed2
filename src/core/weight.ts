// How much of the disk a submission takes, for what a requester may fill in a day.
import type { Submission } from './model.js'

/** What rows, indexes and the events that follow take beside the texts; measured, and rounded up. */
const flatBytes = 2048

/** The texts as they are kept: in the record and in the event that tells of it, and names in indexes, too. */
export function bytesOf({ description, details, ...names }: Submission): number {
  let bytes = flatBytes + size(description) + size(JSON.stringify(description)) + 2 * size(details)
  for (const name of Object.values(names)) if (typeof name === 'string') bytes += 3 * size(name)
  return bytes
}

function size(text: string): number {
  return Buffer.byteLength(text)
}
