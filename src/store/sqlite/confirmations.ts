// Reading confirmations: one, those that are due, and listings by the index that narrows them down best.
import type { Confirmation, Resolved, Status } from '../../core/model.js'
import { briefly, confirmations as table, inPassing } from '../records.js'
import type { ConfirmationFilter, Confirmations, Cursor, Page } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { findPlaces, type Order } from './listing.js'
import { anyConfirmation, type AssertKnown, read, takeSome } from './reading.js'

/** What was pending, and is no more. */
const waysToEnd: Status[] = ['approved', 'denied', 'expired', 'cancelled']

export function readConfirmations(db: Database.Database, assertKnown: AssertKnown): Confirmations {
  const sql = prepare(db)
  const placesOf = findPlaces(db)

  function* rowsAt(places: Cursor[]) {
    for (const [, arrival] of places) yield sql.atPlace.get(arrival)
  }

  /** As of one moment: what is found is read as it was found. */
  const list = db.transaction((filter: ConfirmationFilter, order: Order, limit: number, after: Cursor | null) => {
    const { found, next } = placesOf(filter, order, limit, after)
    const { items, isAll } = takeSome(rowsAt(found), sizeOf)
    return { items: items.map(toRecord), next: isAll ? next : found[items.length - 1]! }
  })

  return {
    get: read((id: string) => {
      assertKnown(id)
      return first(sql.get.get(id))
    }),

    brief: read((id: string) => {
      assertKnown(id)
      const row = sql.brief.get(id) as BriefRow | undefined
      if (row === undefined) return undefined
      const { status, ...brief } = row
      return { ...brief, isResolved: status !== 'pending' }
    }),

    list: read((filter: ConfirmationFilter, order: Order, limit: number, after: Cursor | null) => {
      // Whether one in doubt belongs into it is in doubt too.
      assertKnown(anyConfirmation)
      return list(filter, order, limit, after)
    }),

    listPending: read((limit: number, after: Cursor | null) => {
      assertKnown(anyConfirmation)
      return collect(sql.pendingBriefly.iterate(...(after ?? [-1, -1])), limit)
    }),

    listEnded: read((since: number, limit: number) => {
      assertKnown(anyConfirmation)
      const ended = waysToEnd.flatMap((status) => sql.ended.all(status, since, limit) as SqlValue[][])
      return ended.map((row) => toRecord(row) as Resolved).sort((a, b) => b.resolution.at - a.resolution.at)
    }),

    due: read((now: number, limit: number) => takeSome(sql.due.iterate(now, limit), sizeOf).items.map(toRecord)),
    nextDue: read(() => sql.nextDue.get() as number | undefined),
    ahead: read((now: number, limit: number) => takeSome(sql.ahead.iterate(now, limit), sizeOf).items.map(toRecord)),

    countPending: read(
      (now: number) => sql.countPending.get({ now }) as { count: number; oldestCreatedAt: number | null },
    ),
    countExecutions: read(() => sql.countExecutions.get() as Record<'unclaimed' | 'claimed' | 'unreported', number>),
    alike: read((requester: string, digest: string, description: string, now: number) =>
      first(sql.alike.get(requester, digest, description, now)),
    ),
    soonestDeadline: read((requester: string) => (sql.soonestDeadline.get(requester) as number | null) ?? undefined),
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
  const fromPending = 'FROM confirmations INDEXED BY confirmations_pending'
  return {
    get: rows(`SELECT ${columns} FROM confirmations WHERE ${table.whereKey}`),
    brief: db.prepare(`SELECT requester, share, session_key AS sessionKey, status, created_at AS createdAt, deadline,
      octet_length(description) + octet_length(details) AS size FROM confirmations WHERE ${table.whereKey}`),
    atPlace: rows(`SELECT ${columns} FROM confirmations WHERE arrival = ?`),
    pendingBriefly: rows(`SELECT deadline, arrival, ${table.columns(briefly)} ${fromPending}
      WHERE status = 'pending' AND (deadline, arrival) > (?, ?) ORDER BY deadline, arrival`),
    ended: rows(`SELECT ${table.columns(inPassing)} FROM confirmations INDEXED BY confirmations_ended
      WHERE status = ? AND status <> 'auto_approved' AND resolved_at > ? ORDER BY resolved_at DESC LIMIT ?`),
    due: rows(`SELECT ${columns} FROM confirmations WHERE due_at <= ? ORDER BY due_at LIMIT ?`),
    nextDue: db.prepare('SELECT due_at FROM confirmations WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1').pluck(),
    ahead: rows(`SELECT ${columns} FROM confirmations
      WHERE due_at IS NOT NULL AND coalesce(resolved_at, created_at) > ? LIMIT ?`),
    countPending: db.prepare(`SELECT
      (SELECT count(*) ${fromPending} WHERE status = 'pending' AND deadline > @now) -
      (SELECT count(*) FROM confirmations WHERE status = 'pending' AND created_at > @now) AS count,
      (SELECT created_at FROM confirmations WHERE status = 'pending' AND created_at <= @now AND deadline > @now
        ORDER BY created_at LIMIT 1) AS oldestCreatedAt`),
    countExecutions: db.prepare(`SELECT
      (SELECT count(*) FROM confirmations WHERE execution = 'unclaimed') AS unclaimed,
      (SELECT count(*) FROM confirmations WHERE execution = 'claimed') AS claimed,
      (SELECT count(*) FROM (SELECT 1 FROM confirmations WHERE execution = 'unreported' LIMIT 1000)) AS unreported`),
    alike: rows(`SELECT ${columns} FROM confirmations INDEXED BY confirmations_alike
      WHERE status = 'pending' AND requester = ? AND digest = ? AND description = ? AND deadline > ?
      ORDER BY arrival LIMIT 1`),
    soonestDeadline: db
      .prepare(
        `SELECT min(deadline) FROM (SELECT deadline FROM confirmations INDEXED BY confirmations_alike
          WHERE status = 'pending' AND requester = ? LIMIT 100)`,
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

/** Rows begin with their place in the listing. */
function collect(rows: IterableIterator<unknown>, limit: number): Page<Confirmation> {
  const { items, isAll } = takeSome(rows, (row: [...Cursor, ...SqlValue[]]) => sizeOf(row), limit)
  const [key, arrival] = items.at(-1) ?? [0, 0]
  return { items: items.map((row) => table.read(row, 2)), next: isAll ? null : [key, arrival] }
}

/** Somewhat more than it takes in an answer: escapes are counted. */
function sizeOf(row: SqlValue[]): number {
  return JSON.stringify(row).length
}
