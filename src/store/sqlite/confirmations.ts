// Reading confirmations: one, those that are due, and listings by the index that narrows them down best.
import { system, textOf } from '../../core/actor.js'
import { asOf } from '../../core/confirmation.js'
import type { Confirmation, Resolved, Status } from '../../core/model.js'
import { longestTimeoutSeconds } from '../../policy/risk.js'
import { briefly, confirmations as table, inPassing } from '../records.js'
import type { ConfirmationFilter, Confirmations, Cursor, Page } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'
import { anyConfirmation, type AssertKnown, maxPageBytes, read } from './reading.js'

/** Bounds how many rows one listing reads when its filters match few of them: many may ask. */
const maxRowsRead = 5000

const filterColumns = {
  sessionKey: 'session_key',
  resolvedBy: 'resolved_by',
  requester: 'requester',
  action: 'action',
  statuses: 'status',
} as const

/** By what each of these finds one that has expired. */
const expired: Partial<Record<keyof typeof filterColumns, string>> = {
  statuses: 'expired',
  resolvedBy: textOf(system('timeout')),
}

/** What was pending, and is no more. */
const waysToEnd: Status[] = ['approved', 'denied', 'expired', 'cancelled']

export function readConfirmations(db: Database.Database, assertKnown: AssertKnown): Confirmations {
  const sql = prepare(db)

  /** The rows to look through for a filter: what fits it as of `now` is among them. */
  function newest(filter: ConfirmationFilter, after: Cursor | null, now: number): IterableIterator<unknown> {
    // Nobody resolved what is pending.
    const wanted =
      filter.resolvedBy === '' ? { ...filter, statuses: ['pending' as const], resolvedBy: undefined } : filter
    const values = { ...wanted, statuses: wanted.statuses?.length === 1 ? wanted.statuses[0] : undefined }
    const key = [...sql.newest.keys()].find((column) => values[column] !== undefined)
    // Nothing is resolved before it is created, nor after its deadline.
    const until = Math.min(filter.until ?? Number.MAX_SAFE_INTEGER, filter.resolvedUntil ?? Number.MAX_SAFE_INTEGER)
    const since = Math.max(filter.since ?? 0, (filter.resolvedSince ?? 0) - longestTimeoutSeconds * 1000)
    const [createdAt, arrival] = after !== null && after[0] < until ? after : [until, 0]
    const bounds = { createdAt, arrival, since }
    // First of all: what is found by its voters need not be looked at for them.
    if (filter.votedBy !== undefined) return sql.votedBy.iterate({ ...bounds, value: filter.votedBy })
    if (key === undefined) return sql.allNewest.iterate(bounds)
    const value = values[key]
    // Some may have expired and not be written as that yet.
    const isAmongPending = value === expired[key] && sql.anyOverdue.get(now) !== undefined
    return (isAmongPending ? sql.orPending : sql.newest).get(key)!.iterate({ ...bounds, value })
  }

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

    list: read(
      (filter: ConfirmationFilter, order: 'deadline' | 'newest', limit: number, after: Cursor | null, now: number) => {
        // Whether one in doubt belongs into it is in doubt too.
        assertKnown(anyConfirmation)
        const rows = order === 'deadline' ? sql.byDeadline.iterate(notDue(after, now)) : newest(filter, after, now)
        return collect(rows, limit, (confirmation) => matches(asOf(confirmation, now), filter))
      },
    ),

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
    nextDue: read(() => sql.nextDue.get() as number | undefined),
    ahead: read((now: number, limit: number, after: Cursor | null = null) =>
      collect(sql.ahead.iterate({ now, ...behind(after) }), limit),
    ),

    countPending: read((now: number) => sql.countPending.get({ now }) as number),
    oldestPending: read((now: number) => sql.oldestPending.get({ now }) as number | undefined),
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
  const newestOf = (...sources: [from: string, condition: string][]) => {
    const parts = sources.map(
      ([from, condition]) => `SELECT created_at, arrival, ${columns} FROM ${from}
        WHERE ${condition} created_at >= @since AND (created_at, arrival) < (@createdAt, @arrival)`,
    )
    return rows(`${parts.join(' UNION ALL ')} ORDER BY created_at DESC, arrival DESC`)
  }
  const newestBy = (...more: [from: string, condition: string][]) =>
    new Map(
      Object.entries(filterColumns).map(([key, column]) => {
        const condition = `${column} = @value AND ${column === 'resolved_by' ? 'resolved_at IS NOT NULL AND' : ''}`
        return [key as keyof typeof filterColumns, newestOf(['confirmations', condition], ...more)]
      }),
    )
  // In two parts, because a comparison of pairs looks through all that have the same time.
  const byTime = (column: 'deadline' | 'due_at', read: string, from: string, condition: string) =>
    rows(`SELECT ${column}, arrival, ${read} ${from} WHERE ${condition} AND ${column} = @at AND arrival > @arrival
      UNION ALL SELECT ${column}, arrival, ${read} ${from} WHERE ${condition} AND ${column} > @at
      ORDER BY ${column}, arrival`)
  const byDeadline = (read: string) => byTime('deadline', read, fromPending, "status = 'pending'")
  const byDue = (condition: string) => byTime('due_at', columns, 'FROM confirmations', condition)
  return {
    get: rows(`SELECT ${columns} FROM confirmations WHERE ${table.whereKey}`),
    brief: db.prepare(`SELECT requester, share, session_key AS sessionKey, status, created_at AS createdAt, deadline,
      octet_length(description) + octet_length(details) AS size FROM confirmations WHERE ${table.whereKey}`),
    byDeadline: byDeadline(columns),
    pendingBriefly: byDeadline(table.columns(briefly)),
    ended: rows(`SELECT ${table.columns(inPassing)} FROM confirmations INDEXED BY confirmations_ended
      WHERE status = ? AND status <> 'auto_approved' AND resolved_at > ?
      ORDER BY resolved_at DESC, arrival DESC LIMIT ?`),
    allNewest: newestOf(['confirmations', '']),
    votedBy: newestOf(['voters CROSS JOIN confirmations USING (created_at, arrival)', 'voter = @value AND']),
    newest: newestBy(),
    orPending: newestBy(['confirmations', "status = 'pending' AND"]),
    anyOverdue: db.prepare(`SELECT 1 ${fromPending} WHERE status = 'pending' AND deadline <= ? LIMIT 1`).pluck(),
    overdue: rows(`SELECT ${table.columns(inPassing)} ${fromPending}
      WHERE status = 'pending' AND deadline <= ? AND deadline > ? ORDER BY deadline DESC, arrival DESC LIMIT ?`),
    due: byDue('due_at <= @now'),
    nextDue: db.prepare('SELECT due_at FROM confirmations WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1').pluck(),
    ahead: byDue('coalesce(resolved_at, created_at) > @now'),
    countPending: db
      .prepare(
        `SELECT (SELECT count(*) ${fromPending} WHERE status = 'pending' AND deadline > @now) -
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

function behind(after: Cursor | null) {
  return { at: after?.[0] ?? -1, arrival: after?.[1] ?? -1 }
}

/** The same, where the deadline is not over at `now`. */
function notDue(after: Cursor | null, now: number) {
  return behind(after !== null && after[0] > now ? after : [now, Number.MAX_SAFE_INTEGER])
}

/** Rows begin with their place in the listing. */
function collect(
  rows: IterableIterator<unknown>,
  limit: number,
  isWanted = (_: Confirmation): boolean => true,
): Page<Confirmation> {
  const items: Confirmation[] = []
  let place: Cursor | null = null
  let bytes = 0
  let count = 0
  for (const row of rows as IterableIterator<[...Cursor, ...SqlValue[]]>) {
    bytes += sizeOf(row)
    // The row that does not fit any more is the first of the next page.
    if (items.length === limit || count === maxRowsRead || (bytes > maxPageBytes && count > 0))
      return { items, next: place }
    const confirmation = table.read(row, 2)
    if (isWanted(confirmation)) items.push(confirmation)
    count += 1
    place = [row[0], row[1]]
  }
  return { items, next: null }
}

/** Somewhat more than it takes in an answer: escapes are counted. */
function sizeOf(row: SqlValue[]): number {
  return JSON.stringify(row).length
}

function matches(confirmation: Confirmation, filter: ConfirmationFilter): boolean {
  const resolvedAt = confirmation.resolution?.at
  return (
    (filter.statuses?.includes(confirmation.status) ?? true) &&
    (filter.action === undefined || confirmation.action === filter.action) &&
    (filter.requester === undefined || confirmation.requester === filter.requester) &&
    (filter.sessionKey === undefined || confirmation.sessionKey === filter.sessionKey) &&
    (filter.resolvedBy === undefined || resolverOf(confirmation) === filter.resolvedBy) &&
    (filter.since === undefined || confirmation.createdAt >= filter.since) &&
    (filter.until === undefined || confirmation.createdAt < filter.until) &&
    (filter.resolvedSince === undefined || (resolvedAt !== undefined && resolvedAt >= filter.resolvedSince)) &&
    (filter.resolvedUntil === undefined || (resolvedAt !== undefined && resolvedAt < filter.resolvedUntil))
  )
}

function resolverOf({ resolution }: Confirmation): string {
  return resolution === null ? '' : textOf(resolution.by)
}
