// The end of the history, read once for all who follow it. What was read of it stays true, so whoever comes to the same place
// gets the same page.
import type { RecordedEvent } from '../audit/event.js'
import type { EventFilter, EventPage, Store } from '../store/store.js'

export interface Tail {
  /** Unfiltered events after this number, near the end of the history; null: further back, for everyone to read alone. */
  read(after: number): Promise<EventPage> | null
  /** The number of the last event that anybody was told of. */
  last(): number
}

/** What is given at once. Pages end at multiples of this, so that all who follow are soon at the same places. */
const eventsInPage = 64
/** Whoever is further behind reads alone, and takes no room from what the others need. */
const nearEnd = 1000
/** Bounds what is kept of all pages. */
const maxBytes = 1024 * 1024

/** A page has no more than `maxPageBytes`, but for its first event. */
export function createTail(store: Pick<Store, 'events' | 'follow'>, maxPageBytes: number): Tail {
  const pages = new Map<number, Promise<EventPage>>()
  const sizes = new Map<number, number>()
  let bytes = 0
  let last = 0

  store.follow(({ lastSeq }) => (last = lastSeq))

  async function readPage(after: number): Promise<EventPage> {
    try {
      const page = await store.events.list(after, eventsInPage - (after % eventsInPage), {}, maxPageBytes)
      if (page.events.length === 0) pages.delete(after)
      else keep(after, page)
      return page
    } catch (error) {
      pages.delete(after)
      throw error
    }
  }

  function keep(after: number, { events }: EventPage): void {
    let size = 0
    for (const { data } of events) size += data.length
    sizes.set(after, size)
    bytes += size
    for (const [place, gone] of sizes) {
      if (bytes <= maxBytes) return
      bytes -= gone
      sizes.delete(place)
      pages.delete(place)
    }
  }

  return {
    read(after) {
      // Before anything is told of, nobody knows where the end is.
      if (last === 0 || after < last - nearEnd) return null
      let page = pages.get(after)
      if (page === undefined) pages.set(after, (page = readPage(after)))
      return page
    },
    last: () => last,
  }
}

/** Whether an event passes, where the event alone tells. Null: it takes the confirmation that the event is about. */
export function judge(filter: EventFilter): ((event: RecordedEvent) => boolean) | null {
  const { confirmationId, types, actor, channel, action, requester, sessionKey, since, until } = filter
  if (action !== undefined || requester !== undefined || sessionKey !== undefined) return null
  return (event) =>
    (types === undefined || types.includes(event.type)) &&
    (confirmationId === undefined || event.confirmationId === confirmationId) &&
    (actor === undefined || event.actor === actor) &&
    (channel === undefined || event.via === channel) &&
    (since === undefined || event.at >= since) &&
    (until === undefined || event.at < until)
}
