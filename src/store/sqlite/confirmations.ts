// Reading confirmations: one, those that are due, and listings by the index that narrows them down best.
import type { Confirmation, Resolved, Status } from '../../core/model.js'
import { briefly, confirmations as table, inPassing } from '../records.js'
import type { ConfirmationFilter, Confirmations, Cursor, Page } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { filedUpTo, idEnd, idsTogether } from './filing.js'
import { findPlaces, isPending, type Order } from './listing.js'
import { anyConfirmation, type AssertKnown, maxPageBytes, read, takeSome } from './reading.js'

/** The other states in which time changes a confirmation. */
const isUnclaimed = "execution = 'unclaimed'"
const isClaimed = "execution = 'claimed'"

/** What was pending, and is no more. */
const waysToEnd: Status[] = ['approved', 'denied', 'expired', 'cancelled']

export function readConfirmations(db: Database.Database, assertKnown: AssertKnown): Confirmations {
  const sql = prepare(db)
  const placesOf = findPlaces(db)

  function* rowsAt(places: Cursor[]) {
    for (const [, arrival] of places) yield sql.atPlace.get(arrival)
  }

  /** As of one moment: what is found is read as it was found. */
  const list = db.transaction((maxBytes: number, ...asked: Parameters<typeof placesOf>) => {
    const { found, next } = placesOf(...asked)
    const { items, isAll } = takeSome(rowsAt(found), sizeOf, undefined, maxBytes)
    return { items: items.map(toRecord), next: isAll ? next : found[items.length - 1]! }
  })

  return {
    get: read((id: string) => {
      assertKnown(id)
      return first(sql.get.get(id))
    }),

    idsEndingIn: read((end: string, since: number, requester: string | null, limit: number) => {
      assertKnown(anyConfirmation)
      return sql.endingIn.all({ end, since, requester, limit }) as string[]
    }),

    brief: read((id: string) => {
      assertKnown(id)
      const row = sql.brief.get(id) as BriefRow | undefined
      if (row === undefined) return undefined
      const { status, ...brief } = row
      return { ...brief, isResolved: status !== 'pending' }
    }),

    list: read(
      (
        filter: ConfirmationFilter,
        order: Order,
        limit: number,
        after: Cursor | null,
        now: number,
        maxBytes = maxPageBytes,
      ) => {
        // Whether one in doubt belongs into it is in doubt too.
        assertKnown(anyConfirmation)
        return list(maxBytes, filter, order, limit, after, now)
      },
    ),
    placeOf: read((id: string) => sql.placeOf.get(id) as Cursor | undefined),
    lastArrival: read(() => sql.lastArrival.get() as number),

    listPending: read((limit: number, after: Cursor | null, now: number) => {
      assertKnown(anyConfirmation)
      return collect(sql.pendingBriefly.iterate(notDue(after, now)), limit)
    }),

    listEnded: read((since: number, limit: number, now: number) => {
      assertKnown(anyConfirmation)
      const overdue = sql.overdue.all(now, since, limit) as SqlValue[][]
      const ended = waysToEnd.flatMap((status) => sql.ended.all(status, since, limit) as SqlValue[][])
      return [...overdue, ...ended].map(toRecord)
    }),

    due: read((now: number, limit: number, after: Cursor | null = null) =>
      collect(sql.due.iterate({ now, ...behind(after) }), limit),
    ),
    nextDue: read(() => (sql.nextDue.get() as number | null) ?? undefined),
    ahead: read((now: number, limit: number, after: Cursor | null = null) =>
      collect(sql.ahead.iterate({ now, ...behind(after) }), limit),
    ),

    countPending: read((now: number) => sql.countPending.get({ now }) as number),
    oldestPending: read((now: number) => sql.oldestPending.get({ now }) as number | undefined),
    countExecutions: read(() => sql.countExecutions.get() as Record<'unclaimed' | 'claimed' | 'unreported', number>),
    alike: read((requester: string, digest: string, description: string, now: number) =>
      first(sql.alike.get(requester, digest, description, now)),
    ),
    soonestDeadline: read((requester: string) => sql.soonestDeadline.get(requester) as number | undefined),
    unclaimedAlike: read((requester: string, digest: string, description: string, now: number) => {
      const found = first(sql.unclaimedAlike.get(requester, digest, description, now))
      return found?.status === 'approved' ? found : undefined
    }),
    pendingIn: read((share: string, sessionKey: string, limit: number) => {
      assertKnown(anyConfirmation)
      return (sql.pendingIn.all(share, sessionKey, limit) as SqlValue[][]).map(toRecord)
    }),
    endedIn: read((share: string, sessionKey: string, limit: number) => {
      assertKnown(anyConfirmation)
      return (sql.endedIn.all(share, sessionKey, limit) as SqlValue[][]).map((row) => toRecord(row) as Resolved)
    }),
    isHolding: read((share: string, sessionKey: string, at: number, now: number) => {
      assertKnown(anyConfirmation)
      return sql.holding.get({ share, sessionKey, at, now }) !== undefined
    }),
    lastDenied: read((digest: string, since: number) => {
      const found = first(sql.lastDenied.get(digest, since))
      return found?.status === 'denied' ? found : undefined
    }),
  }
}

interface BriefRow {
  version: number
  requester: string
  share: string
  sessionKey: string
  status: Status
  createdAt: number
  deadline: number
  size: number
}

function prepare(db: Database.Database) {
  const rows = (text: string) => db.prepare(text).raw()
  const columns = table.columns()
  // Left to itself, the planner takes the index on status and sorts everything that is pending.
  const fromDue = 'FROM confirmations INDEXED BY confirmations_due'
  const fromPending = `${fromDue} WHERE ${isPending}`
  // Each in two parts, because a comparison of pairs looks through all that have the same time.
  const byTime = (read: string, states: string[], condition: string) =>
    rows(
      `${states
        .flatMap((state) =>
          ['due_at = @at AND arrival > @arrival', 'due_at > @at'].map((after) => `${state} AND ${after}`),
        )
        .map((where) => `SELECT due_at, arrival, ${read} ${fromDue} WHERE ${where} AND ${condition}`)
        .join(' UNION ALL ')} ORDER BY due_at, arrival`,
    )
  const byDeadline = (read: string) => byTime(read, [isPending], 'true')
  const byDue = (condition: string) => byTime(columns, [isPending, isUnclaimed, isClaimed], condition)
  return {
    get: rows(`SELECT ${columns} FROM confirmations WHERE ${table.whereKey}`),
    endingIn: db
      .prepare(
        // What was filed together is gone through from the latest down to that of the first since then.
        `WITH RECURSIVE files (n) AS (
          SELECT ${filedUpTo(idEnd)} / ${idsTogether}
          UNION ALL SELECT n - 1 FROM files WHERE n > (SELECT arrival FROM confirmations
            WHERE created_at >= @since ORDER BY created_at LIMIT 1) / ${idsTogether})
        SELECT id FROM (
          SELECT arrival FROM files CROSS JOIN filed
          WHERE facet = ${idEnd} AND value = n || ':' || substr(@end, -6) AND created_at >= @since
          UNION ALL SELECT arrival FROM confirmations NOT INDEXED
          WHERE arrival > ${filedUpTo(idEnd)} AND substr(id, -6) = substr(@end, -6) AND created_at >= @since)
        CROSS JOIN confirmations USING (arrival)
        WHERE substr(id, -length(@end)) = @end AND (@requester IS NULL OR requester = @requester)
        ORDER BY arrival DESC LIMIT @limit`,
      )
      .pluck(),
    brief:
      db.prepare(`SELECT version, requester, share, session_key AS sessionKey, status, created_at AS createdAt, deadline,
      octet_length(description) + octet_length(details) + coalesce(octet_length(aap), 0) AS size FROM confirmations WHERE ${table.whereKey}`),
    placeOf: rows('SELECT created_at, arrival FROM confirmations WHERE id = ?'),
    lastArrival: db.prepare('SELECT coalesce(max(arrival), 0) FROM confirmations').pluck(),
    atPlace: rows(`SELECT ${columns} FROM confirmations WHERE arrival = ?`),
    pendingBriefly: byDeadline(table.columns(briefly)),
    ended: rows(`SELECT ${table.columns(inPassing)} FROM confirmations INDEXED BY confirmations_ended
      WHERE status = ? AND status <> 'auto_approved' AND resolved_at > ?
      ORDER BY resolved_at DESC, arrival DESC LIMIT ?`),
    overdue: rows(`SELECT ${table.columns(inPassing)} ${fromPending}
      AND due_at <= ? AND due_at > ? ORDER BY due_at DESC, arrival DESC LIMIT ?`),
    due: byDue('due_at <= @now'),
    nextDue: db
      .prepare(
        `SELECT min(due_at) FROM (${[isPending, isUnclaimed, isClaimed]
          .map((state) => `SELECT min(due_at) AS due_at ${fromDue} WHERE ${state} AND due_at IS NOT NULL`)
          .join(' UNION ALL ')})`,
      )
      .pluck(),
    ahead: byDue('coalesce(resolved_at, created_at) > @now'),
    countPending: db
      .prepare(
        `SELECT (SELECT count(*) ${fromPending} AND due_at > @now) -
        (SELECT count(*) FROM confirmations WHERE status = 'pending' AND created_at > @now)`,
      )
      .pluck(),
    oldestPending: db
      .prepare(
        `SELECT created_at FROM confirmations WHERE status = 'pending' AND created_at <= @now AND deadline > @now
        ORDER BY created_at LIMIT 1`,
      )
      .pluck(),
    countExecutions: db.prepare(`SELECT
      (SELECT count(*) ${fromDue} WHERE ${isUnclaimed} AND due_at IS NOT NULL) AS unclaimed,
      (SELECT count(*) ${fromDue} WHERE ${isClaimed} AND due_at IS NOT NULL) AS claimed,
      (SELECT count(*) FROM (SELECT 1 FROM confirmations WHERE execution = 'unreported' LIMIT 1000)) AS unreported`),
    alike: rows(`SELECT ${columns} FROM confirmations INDEXED BY confirmations_alike
      WHERE status = 'pending' AND joins = 1 AND requester = ? AND digest = ? AND description = ? AND deadline > ?
      ORDER BY arrival LIMIT 1`),
    unclaimedAlike: rows(`SELECT ${columns} FROM confirmations INDEXED BY confirmations_unclaimed_alike
      WHERE status = 'approved' AND execution = 'unclaimed' AND joins = 1 AND requester = ? AND digest = ? AND description = ?
        AND claim_by > ? ORDER BY arrival LIMIT 1`),
    soonestDeadline: db
      .prepare(
        `SELECT due_at FROM (SELECT due_at, requester ${fromPending} AND due_at IS NOT NULL ORDER BY due_at LIMIT 1000)
        WHERE requester = ? LIMIT 1`,
      )
      .pluck(),
    pendingIn: rows(`SELECT ${table.columns(briefly)} FROM confirmations INDEXED BY confirmations_session_open
      WHERE share = ? AND session_key = ? AND due_at IS NOT NULL AND session_key <> ''
        AND status = 'pending' ORDER BY created_at LIMIT ?`),
    endedIn: rows(`SELECT ${table.columns({ ...inPassing, description: briefly.description, reason: 'reason' })}
      FROM confirmations INDEXED BY confirmations_session_ended
      WHERE share = ? AND session_key = ? AND resolved_at IS NOT NULL AND session_key <> ''
      ORDER BY resolved_at DESC LIMIT ?`),
    holding: db
      .prepare(
        `SELECT 1 FROM confirmations INDEXED BY confirmations_session_open
        WHERE share = @share AND session_key = @sessionKey AND session_key <> '' AND due_at > @now AND created_at < @at
          AND (status = 'pending' OR (execution = 'claimed' AND claimed_at < @at)) LIMIT 1`,
      )
      .pluck(),
    lastDenied: rows(`SELECT ${columns} FROM confirmations
      WHERE status = 'denied' AND digest = ? AND resolved_at > ? ORDER BY resolved_at DESC LIMIT 1`),
  }
}

function toRecord(row: SqlValue[]): Confirmation {
  return table.read(row)
}

function first(row: unknown): Confirmation | undefined {
  return row === undefined ? undefined : toRecord(row as SqlValue[])
}

function behind(after: Cursor | null) {
  return { at: after?.[0] ?? -1, arrival: after?.[1] ?? -1 }
}

/** The same, where the deadline is not over at `now`. */
function notDue(after: Cursor | null, now: number) {
  return behind(after !== null && after[0] > now ? after : [now, Number.MAX_SAFE_INTEGER])
}

/** Rows begin with their place in the listing. */
function collect(rows: IterableIterator<unknown>, limit: number): Page<Confirmation> {
  const items: Confirmation[] = []
  let place: Cursor | null = null
  let bytes = 0
  for (const row of rows as IterableIterator<[...Cursor, ...SqlValue[]]>) {
    bytes += sizeOf(row)
    // The row that does not fit any more is the first of the next page.
    if (items.length === limit || (bytes > maxPageBytes && items.length > 0)) return { items, next: place }
    items.push(table.read(row, 2))
    place = [row[0], row[1]]
  }
  return { items, next: null }
}

/** Somewhat more than it takes in an answer: escapes are counted. */
function sizeOf(row: SqlValue[]): number {
  return JSON.stringify(row).length
}
