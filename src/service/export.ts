// All records, or all events, that fit: from the oldest on, in small helpings, up to what was there at the beginning.
import type { RecordedEvent } from '../audit/event.js'
import type { Confirmation } from '../core/model.js'
import type { ConfirmationFilter, Cursor, EventFilter, Store } from '../store/store.js'
import type { Read } from './read.js'

export interface Exports {
  /** Each is as of when it is read. A helping may be empty: only so much is looked through at once. */
  records(filter: ConfirmationFilter, after: Cursor | null, who: string | null): AsyncGenerator<Confirmation[]>
  events(filter: EventFilter, after: number, who: string | null): AsyncGenerator<RecordedEvent[]>
  /** The place to go on after; undefined: there is no such confirmation. */
  placeOf(id: string): Promise<Cursor | undefined>
}

/** To read and to write out so much takes two or three milliseconds. */
const helping = { records: 100, events: 250, bytes: 64 * 1024 }

export function createExports(store: Store, { list, turnstile }: Pick<Read, 'list' | 'turnstile'>): Exports {
  return {
    placeOf: (id) => store.confirmations.placeOf(id),

    async *records(filter, after, who) {
      // What is added meanwhile would let a slow reader never come to an end.
      const bounded = { ...filter, arrivedUpTo: await store.confirmations.lastArrival() }
      let place = after
      do {
        const page = await list(bounded, 'oldest', helping.records, place, { maxBytes: helping.bytes, who })
        yield page.items
        place = page.next
      } while (place !== null)
    },

    async *events(filter, after, who) {
      const last = await store.events.lastSeq()
      for (let place = after, more = true; more;) {
        const from = place
        const look = () => store.events.list(from, helping.events, filter, helping.bytes)
        const page = await turnstile.run(look, who)
        yield page.events.filter(({ seq }) => seq <= last)
        place = page.upTo
        more = page.more && place < last
      }
    },
  }
}
