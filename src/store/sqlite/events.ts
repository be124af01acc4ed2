// Reading the history.
import { events as table } from '../records.js'
import type { EventFilter, EventPage, Events } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { type AssertKnown, maxPageBytes, read, takeSome } from './reading.js'

/** Bounds how many events one page looks through: many may ask. */
const maxEventsRead = 1000

/**
 * The latest time on record. Commits may overtake each other, by seconds; what is further ahead of the last one is from before
 * the clock was set back, and was dealt with then.
 */
export const lastTime = `SELECT coalesce(max(at), 0) FROM events WHERE seq > (SELECT max(seq) FROM events) - 100
  AND at <= (SELECT at FROM events WHERE seq = (SELECT max(seq) FROM events)) + 60000`

export function readEvents(db: Database.Database, assertKnown: AssertKnown): Events {
  const value = (text: string) => db.prepare(text).pluck()
  const ofConfirmation = (column: string) => `coalesce(
    (SELECT ${column} FROM confirmations WHERE id = confirmation_id), json_extract(data, '$.${column}'))`
  const matches = `(@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    AND (@actor IS NULL OR actor = @actor) AND (@channel IS NULL OR via = @channel)
    AND (@action IS NULL OR ${ofConfirmation('action')} = @action)
    AND (@requester IS NULL OR ${ofConfirmation('requester')} = @requester)
    AND (@sessionKey IS NULL OR ${ofConfirmation('session_key')} = @sessionKey)`
  const select = (condition: string) =>
    db
      .prepare(
        `SELECT seq, length(data), ${table.columns()} FROM events
          WHERE ${condition} seq > @after AND seq <= @end AND ${matches} ORDER BY seq LIMIT @limit`,
      )
      .raw()
  const sql = {
    inRange: select(''),
    ofConfirmation: select('confirmation_id = @confirmationId AND'),
    lastSeq: value('SELECT coalesce(max(seq), 0) FROM events'),
    nextSeq: value('SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT 1'),
    lastTime: value(lastTime),
  }
  // The end of the history is where the writer begins: damage there is found when the database is opened.
  sql.lastTime.get()

  return {
    list: read((after: number, limit: number, filter: EventFilter = {}, maxBytes = maxPageBytes): EventPage => {
      const last = sql.lastSeq.get() as number
      const { confirmationId } = filter
      if (confirmationId !== undefined) assertKnown(confirmationId)
      // A range of numbers bounds how many rows are looked at. It begins with the next there is: a restore leaves a gap.
      const next = (sql.nextSeq.get(after) as number | undefined) ?? last
      const end = confirmationId === undefined ? Math.min(last, next + maxEventsRead - 1) : last
      const values = { after, end, limit: limit + 1, ...filterValues(filter) }
      const statement = confirmationId === undefined ? sql.inRange : sql.ofConfirmation
      const rows = takeSome(statement.iterate(values), (row: EventRow) => row[1], limit, maxBytes)
      const upTo = rows.isAll ? Math.max(after, end) : rows.items.at(-1)![0]
      return { events: rows.items.map((row) => ({ seq: row[0], ...table.read(row, 2) })), upTo, more: upTo < last }
    }),
    lastSeq: read(() => sql.lastSeq.get() as number),
    lastTime: read(() => sql.lastTime.get() as number),
  }
}

type EventRow = [seq: number, size: number, ...SqlValue[]]

/** What a filter leaves open is null. */
function filterValues({ types, ...filter }: EventFilter): Record<string, string | null> {
  const open = { confirmationId: null, actor: null, channel: null, action: null, requester: null, sessionKey: null }
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  return { ...open, ...given, types: types === undefined ? null : JSON.stringify(types) }
}
