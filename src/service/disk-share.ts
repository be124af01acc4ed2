// What counts as written in the share of a requester, of which there is so much a day.
import type { Requirement } from '../store/store.js'

/** Whose bytes are counted together: those of the share of a confirmation, which is empty for all who came in open mode. */
export function diskShareOf(share: string): string {
  return share === '' ? 'all' : `of ${share}`
}

/** What a requester adds to its request. It is not refused for it; the next request is. */
export function charge(share: string, bytes: number): Requirement {
  return { kind: 'disk', share: diskShareOf(share), max: Number.MAX_SAFE_INTEGER, bytes }
}
