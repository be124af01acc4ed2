// A request by the end of its id, as people type it: the beginnings of ids are a clock, and stay alike for hours.
import { type Caller, nameOf } from '../access/role.js'
import type { Clock } from '../clock.js'
import { type Refusal, refuse } from '../core/refusal.js'
import type { Store } from '../store/store.js'
import type { Found, Read } from './read.js'

/** Of a million requests in a week, one in seventeen has an end like another's, and is told from that by more. */
const fewest = 6
const wholeId = 36
/** Older ones have to be named whole. */
const weekMs = 7 * 86_400_000
/** So many of those that are meant are named. */
const maxNamed = 10

export interface ShortIdDeps {
  store: Pick<Store, 'confirmations'>
  clock: Clock
  find: Read['find']
}

export function createShortId({ store, clock, find }: ShortIdDeps) {
  /**
   * The one request of the last week that the caller may read and whose id ends like this, whatever its state; a whole id is
   * any request's. Which one it is has to be shown before anything is decided on it.
   */
  async function findByShortId(text: string, caller: Caller): Promise<Found | Refusal> {
    const end = text.trim().toLowerCase()
    if (end.length < fewest) {
      return refuse('not_found', `Say the whole id, or at least the last ${fewest} characters of it.`)
    }
    if (end.length >= wholeId) return find(end, caller)
    const whose = caller.role === 'agent' ? nameOf(caller) : null
    const ids = await store.confirmations.idsEndingIn(end, clock.now() - weekMs, whose, maxNamed + 1)
    const [id, ...others] = ids
    if (id === undefined) {
      const sentence = `No request of the last week has an id that ends in '${end}'; older ones need the whole id.`
      return refuse('not_found', sentence)
    }
    return others.length === 0 ? find(id, caller) : ambiguous(end, ids)
  }

  return { findByShortId }
}

function ambiguous(end: string, ids: string[]): Refusal {
  const named = ids.slice(0, maxNamed)
  const most = ids.length > maxNamed ? `More than ${maxNamed}` : ids.length
  const sentence = `${most} requests of the last week have an id that ends in '${end}'; say more of it: ${tellApart(named).join(', ')}.`
  return refuse('ambiguous_id', sentence, { ids: named })
}

/** As much of their ends as tells them apart. */
function tellApart(ids: string[]): string[] {
  for (let length = fewest; length < wholeId; length++) {
    const ends = ids.map((id) => id.slice(-length))
    if (new Set(ends).size === ids.length) return ends
  }
  return ids
}
