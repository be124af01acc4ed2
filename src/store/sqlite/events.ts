// Reading the history.
import { events as table } from '../records.js'
import type { EventFilter, EventPage, Events } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { type Budget, endOfThousand, facetOfEvent, seekMarks } from './event-marks.js'
import { seekTimes } from './event-times.js'
import { type AssertKnown, maxPageBytes, read, takeSome } from './reading.js'

/** Bounds how many thousands one page looks through, */
const maxThousands = 3
/** and how many marks it looks at to find out which: together two or three milliseconds. Many may ask. */
const maxMarks = 1000

/**
 * The latest time on record. Commits may overtake each other, by seconds; what is further ahead of the last one is from before
 * the clock was set back, and was dealt with then.
 */
export const lastTime = `SELECT coalesce(max(at), 0) FROM events WHERE seq > (SELECT max(seq) FROM events) - 100
  AND at <= (SELECT at FROM events WHERE seq = (SELECT max(seq) FROM events)) + 60000`

export function readEvents(db: Database.Database, assertKnown: AssertKnown): Events {
  const value = (text: string) => db.prepare(text).pluck()
  const matches = `(@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    AND (@actor IS NULL OR actor = @actor) AND (@channel IS NULL OR via = @channel)
    AND (@action IS NULL OR ${facetOfEvent('action')} = @action)
    AND (@requester IS NULL OR ${facetOfEvent('requester')} = @requester)
    AND (@sessionKey IS NULL OR ${facetOfEvent('session_key')} = @sessionKey)
    AND at >= @since AND at < @until`
  const select = (condition: string) =>
    db
      .prepare(
        `SELECT seq, length(data), ${table.columns()} FROM events
          WHERE ${condition} seq >= @first AND seq <= @end AND ${matches} ORDER BY seq LIMIT @limit`,
      )
      .raw()
  const sql = {
    inRange: select(''),
    ofConfirmation: select('confirmation_id = @confirmationId AND'),
    lastSeq: value('SELECT coalesce(max(seq), 0) FROM events'),
    nextSeq: value('SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT 1'),
    lastTime: value(lastTime),
  }
  const seekTime = seekTimes(db)
  const seekMarksOf = seekMarks(db)

  /** The first number after this one at which there may be something to find. A restore leaves a gap in the numbers. */
  function createSeek(filter: EventFilter, last: number, budget: Budget): (seq: number) => number | undefined {
    const { since, until } = filter
    const seekMark = seekMarksOf(filter)
    const seekBoth = (from: number) => {
      const place =
        since === undefined && until === undefined ? from : seekTime(from, last, since ?? -Infinity, until ?? Infinity)
      return place === undefined || seekMark === null ? place : seekMark(place, budget)
    }
    return (seq) => {
      let from = sql.nextSeq.get(seq) as number | undefined
      while (from !== undefined) {
        const place = seekBoth(from)
        if (place === from || budget.marks <= 0) return place
        from = place
      }
      return undefined
    }
  }

  // The end of the history is where the writer begins: damage there is found when the database is opened.
  sql.lastTime.get()

  return {
    list: read((after: number, limit: number, filter: EventFilter = {}, maxBytes = maxPageBytes): EventPage => {
      const last = sql.lastSeq.get() as number
      const { confirmationId } = filter
      if (confirmationId !== undefined) assertKnown(confirmationId)
      const values = { ...filterValues(filter), limit: limit + 1 }
      const isOfOne = confirmationId !== undefined
      const budget = { marks: maxMarks }
      const seek = createSeek(filter, last, budget)
      let place = isOfOne ? after + 1 : seek(after)

      function* rowsFromThere() {
        if (isOfOne) {
          yield* sql.ofConfirmation.iterate({ ...values, first: place, end: last })
          place = undefined
        }
        for (let n = 0; place !== undefined && n < maxThousands && (n === 0 || budget.marks > 0); n++) {
          const end: number = Math.min(last, endOfThousand(place))
          yield* sql.inRange.iterate({ ...values, first: place, end })
          place = seek(end)
        }
      }

      const rows = takeSome(rowsFromThere(), (row: EventRow) => row[1], limit, maxBytes)
      const next = rows.isAll ? place : rows.items.at(-1)![0] + 1
      const upTo = next === undefined ? Math.max(after, last) : next - 1
      return { events: rows.items.map((row) => ({ seq: row[0], ...table.read(row, 2) })), upTo, more: upTo < last }
    }),
    lastSeq: read(() => sql.lastSeq.get() as number),
    lastTime: read(() => sql.lastTime.get() as number),
  }
}

type EventRow = [seq: number, size: number, ...SqlValue[]]

/** What a filter leaves open is null, or all time. */
function filterValues({ types, ...filter }: EventFilter): Record<string, string | number | null> {
  const anyone = { confirmationId: null, actor: null, channel: null, action: null, requester: null, sessionKey: null }
  const open = { ...anyone, since: -Infinity, until: Infinity }
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  return { ...open, ...given, types: types === undefined ? null : JSON.stringify(types) }
}
