// The store on SQLite: this thread reads, the writer's thread commits. Changes that arrive together share one fsync.
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { statusOf } from '../core/confirmation.js'
import type { ChannelName, Confirmation } from '../core/model.js'
import type { Grant } from '../whitelist/grant.js'
import { openDatabase } from './open.js'
import {
  confirmationColumns,
  type ConfirmationRow,
  deliveryColumns,
  type DeliveryRow,
  eventColumns,
  type EventRow,
  fromConfirmation,
  fromDelivery,
  fromEvent,
  fromGrant,
  fromResolution,
  grantColumns,
  type GrantRow,
  toConfirmation,
  toDelivery,
  toEvent,
  toGrant,
} from './rows.js'
import {
  type Change,
  type Committed,
  type ConfirmationFilter,
  type Cursor,
  type Due,
  type Page,
  type Store,
  StoreUnavailable,
  type Write,
} from './store.js'
import type { PackedChange, PackedOutcome, PackedWrite } from './writer.js'

/** Sent at once when the writer is idle: enough to share an fsync, few enough to leave work for meanwhile. */
const worthSending = 12
/** Bounds one transaction, and with it how long its first change waits for its last. */
const maxGroup = 1000
/** Bounds what one listing reads and answers with: 500 requests of 1 MiB each would not fit into a string. */
const maxPageBytes = 8 * 1024 * 1024
/** Bounds how many rows one listing reads when its filters match few of them. */
const maxRowsRead = 5000

interface Waiting {
  change: Change | 'probe'
  packed: PackedChange
  done(outcome: Committed | 'conflict'): void
  fail(error: Error): void
}

export function openSqliteStore(path: string): Store {
  const { file, db, release } = openDatabase(path)
  const sql = prepare(db)
  const writer = new Worker(new URL('./writer.js', import.meta.url), { workerData: { file }, execArgv: [] })
  const listeners = new Set<(committed: Committed) => void>()
  let queue: Waiting[] = []
  let writing: Waiting[] = []
  let closing: (() => void) | null = null

  writer.on('message', (outcomes: PackedOutcome[]) => {
    const group = writing
    writing = []
    // The next group is on its way before this one's callers are told.
    send()
    group.forEach((one, index) => settle(one, outcomes[index]!))
    if (closing !== null && queue.length === 0 && writing.length === 0) closing()
  })
  // A writer that dies without a word leaves nobody waiting; the process goes down with it.
  writer.on('error', (error) => {
    for (const one of [...writing, ...queue]) one.fail(error)
    throw error
  })

  function enqueue(change: Change | 'probe'): Promise<Committed | 'conflict'> {
    if (closing !== null) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((done, fail) => {
      queue.push({ change, packed: pack(change), done, fail })
      // What the same turn of the event loop brings joins the group, unless there is enough to keep the writer busy
      // while this thread takes in the rest.
      if (queue.length === 1) setImmediate(send)
      else if (queue.length >= worthSending) send()
    })
  }

  function send(): void {
    if (writing.length > 0 || queue.length === 0) return
    writing = queue.slice(0, maxGroup)
    queue = queue.slice(maxGroup)
    writer.postMessage(writing.map(({ packed }) => packed))
  }

  function settle({ change, done, fail }: Waiting, outcome: PackedOutcome): void {
    if (outcome === 'conflict') return done('conflict')
    if (typeof outcome === 'object') return fail(toError(outcome))
    if (change === 'probe') return done({ writes: [], events: [] })
    const events = change.events.map((event, index) => ({ seq: outcome + index, ...event }))
    const committed = { writes: change.writes, events }
    listeners.forEach((listener) => listener(committed))
    done(committed)
  }

  return {
    commit: enqueue,

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    confirmation: read((id: string) => {
      const row = sql.confirmation.get(id) as ConfirmationRow | undefined
      return row && toConfirmation(row)
    }),

    confirmations: read(
      (filter: ConfirmationFilter, order: 'deadline' | 'newest', limit: number, after: Cursor | null) =>
        order === 'deadline'
          ? collect(sql.byDeadline.iterate(...(after ?? [-1, -1])), filter, limit)
          : collect(newest(filter, after), filter, limit),
    ),

    lapsed: read((now: number, limit: number) =>
      takeSome(sql.lapsed.iterate({ now, limit }), sizeOf).map(toConfirmation),
    ),

    nextDeadline: read(() => sql.nextDeadline.get() as number | undefined),

    pending: read((now: number) => sql.pending.get({ now }) as { count: number; oldestCreatedAt: number | null }),

    asked: read((since: number) => sql.asked.all(since) as { action: string; at: number }[]),

    grantsFor: read((action: string, sessionKey: string) =>
      [sql.grantByScope.get(action, 'global', ''), sql.grantByScope.get(action, 'session', sessionKey)]
        .filter((row) => row !== undefined)
        .map((row) => toGrant(row as GrantRow)),
    ),

    grant: read((id: string) => {
      const row = sql.grant.get(id) as GrantRow | undefined
      return row && toGrant(row)
    }),

    grants: read((now: number, limit: number, after: Cursor | null): Page<Grant> => {
      const [createdAt, arrival] = after ?? [Number.MAX_SAFE_INTEGER, 0]
      const rows = sql.liveGrants.all({ now, createdAt, arrival, limit: limit + 1 }) as [...Cursor, ...GrantRow][]
      const last = rows[limit - 1]
      return {
        items: rows.slice(0, limit).map(([, , ...row]) => toGrant(row)),
        next: rows.length > limit && last !== undefined ? [last[0], last[1]] : null,
      }
    }),

    deliveries: read((id: string) => (sql.deliveries.all(id) as DeliveryRow[]).map(toDelivery)),

    dueDeliveries: read((channel: ChannelName, now: number, limit: number) =>
      (sql.dueDeliveries.all(channel, now, limit) as [...DeliveryRow, ...ConfirmationRow][]).map((row): Due => ({
        delivery: toDelivery(row.slice(0, 8) as DeliveryRow),
        confirmation: toConfirmation(row.slice(8) as ConfirmationRow),
      })),
    ),

    nextDelivery: read((channel: ChannelName, now: number) => sql.nextDelivery.get(channel, now) as number | undefined),

    unsent: read(() => sql.unsent.get() as number),

    events: read((after: number, limit: number) =>
      takeSome(sql.events.iterate(after, limit), (row: [...EventRow, seq: number]) => row[5].length).map(toEvent),
    ),

    async probe() {
      await enqueue('probe')
    },

    async close() {
      if (closing !== null) return
      await new Promise<void>((resolve) => {
        closing = resolve
        if (queue.length === 0 && writing.length === 0) resolve()
      })
      const gone = new Promise((resolve) => writer.once('exit', resolve))
      writer.postMessage('close')
      await gone
      release()
    },
  }

  /** The rows to look through for a filter, by the index that narrows it down best. */
  function newest(filter: ConfirmationFilter, after: Cursor | null): IterableIterator<unknown> {
    const key = [...sql.newest.keys()].find((column) => filter[column] !== undefined)
    const until = filter.until ?? Number.MAX_SAFE_INTEGER
    const [createdAt, arrival] = after !== null && after[0] < until ? after : [until, 0]
    const bounds = { createdAt, arrival, since: filter.since ?? 0 }
    if (key === undefined) return sql.allNewest.iterate(bounds)
    return sql.newest.get(key)!.iterate({ ...bounds, value: filter[key] })
  }

  function collect(rows: IterableIterator<unknown>, filter: ConfirmationFilter, limit: number): Page<Confirmation> {
    const items: Confirmation[] = []
    let place: Cursor | null = null
    let bytes = 0
    let count = 0
    for (const [key, arrival, ...row] of rows as IterableIterator<[...Cursor, ...ConfirmationRow]>) {
      bytes += sizeOf(row)
      // The row that does not fit any more is the first of the next page.
      if (items.length === limit || count === maxRowsRead || (bytes > maxPageBytes && count > 0))
        return { items, next: place }
      const confirmation = toConfirmation(row)
      if (matches(confirmation, filter)) items.push(confirmation)
      count += 1
      place = [key, arrival]
    }
    return { items, next: null }
  }
}

/** At least one row, and no more than fit into a page. */
function takeSome<T>(rows: IterableIterator<unknown>, size: (row: T) => number): T[] {
  const taken: T[] = []
  let bytes = 0
  for (const row of rows as IterableIterator<T>) {
    bytes += size(row)
    if (bytes > maxPageBytes && taken.length > 0) break
    taken.push(row)
  }
  return taken
}

/** Somewhat more than it takes in an answer: escapes are counted. */
function sizeOf(row: ConfirmationRow): number {
  return JSON.stringify(row).length
}

function matches(confirmation: Confirmation, filter: ConfirmationFilter): boolean {
  return (
    (filter.status === undefined || statusOf(confirmation) === filter.status) &&
    (filter.action === undefined || confirmation.action === filter.action) &&
    (filter.requester === undefined || confirmation.requester === filter.requester) &&
    (filter.sessionKey === undefined || confirmation.sessionKey === filter.sessionKey) &&
    (filter.resolvedBy === undefined || (confirmation.resolution?.by ?? '') === filter.resolvedBy) &&
    (filter.since === undefined || confirmation.createdAt >= filter.since) &&
    (filter.until === undefined || confirmation.createdAt < filter.until)
  )
}

const filterColumns = {
  sessionKey: 'session_key',
  resolvedBy: 'resolved_by',
  requester: 'requester',
  action: 'action',
  status: 'status',
} as const

function prepare(db: Database.Database) {
  const rows = (text: string) => db.prepare(text).raw()
  const value = (text: string) => db.prepare(text).pluck()
  // Left to itself, the planner takes the index on status and sorts everything that is pending.
  const fromPending = 'FROM confirmations INDEXED BY confirmations_pending'
  const newestWhere = (condition: string) =>
    rows(`SELECT created_at, arrival, ${confirmationColumns} FROM confirmations
      WHERE ${condition} created_at >= @since AND (created_at, arrival) < (@createdAt, @arrival)
      ORDER BY created_at DESC, arrival DESC`)
  return {
    confirmation: rows(`SELECT ${confirmationColumns} FROM confirmations WHERE id = ?`),
    byDeadline: rows(`SELECT deadline, arrival, ${confirmationColumns} ${fromPending}
      WHERE status = 'pending' AND (deadline, arrival) > (?, ?) ORDER BY deadline, arrival`),
    allNewest: newestWhere(''),
    newest: new Map(
      Object.entries(filterColumns).map(([key, column]) => [
        key as keyof typeof filterColumns,
        newestWhere(`${column} = @value AND`),
      ]),
    ),
    lapsed: rows(`SELECT ${confirmationColumns} ${fromPending} WHERE status = 'pending' AND deadline <= @now
      UNION ALL
      SELECT ${confirmationColumns} FROM confirmations WHERE status = 'pending' AND created_at > @now AND deadline > @now
      LIMIT @limit`),
    nextDeadline: value(`SELECT deadline ${fromPending} WHERE status = 'pending' ORDER BY deadline LIMIT 1`),
    pending: db.prepare(`SELECT
      (SELECT count(*) ${fromPending} WHERE status = 'pending' AND deadline > @now) -
      (SELECT count(*) FROM confirmations WHERE status = 'pending' AND created_at > @now) AS count,
      (SELECT created_at FROM confirmations WHERE status = 'pending' AND created_at <= @now AND deadline > @now
        ORDER BY created_at LIMIT 1) AS oldestCreatedAt`),
    asked: db.prepare(`SELECT action, created_at AS at FROM confirmations
      WHERE created_at > ? AND status <> 'auto_approved' ORDER BY created_at`),

    grantByScope: rows(`SELECT ${grantColumns} FROM grants WHERE action = ? AND scope = ? AND session_key = ?`),
    grant: rows(`SELECT ${grantColumns} FROM grants WHERE id = ?`),
    liveGrants: rows(`SELECT created_at, arrival, ${grantColumns} FROM grants
      WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses) AND (expires_at IS NULL OR expires_at > @now)
        AND (created_at, arrival) < (@createdAt, @arrival)
      ORDER BY created_at DESC, arrival DESC LIMIT @limit`),

    deliveries: rows(`SELECT ${deliveryColumns} FROM deliveries WHERE confirmation_id = ?`),
    dueDeliveries: rows(`SELECT ${deliveryColumns}, ${confirmationColumns}
      FROM deliveries JOIN confirmations ON id = confirmation_id
      WHERE channel = ? AND next_at <= ? ORDER BY next_at LIMIT ?`),
    nextDelivery: value('SELECT next_at FROM deliveries WHERE channel = ? AND next_at > ? ORDER BY next_at LIMIT 1'),
    unsent: value('SELECT count(*) FROM deliveries WHERE next_at IS NOT NULL'),

    events: rows(`SELECT ${eventColumns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`),
  }
}

function pack(change: Change | 'probe'): PackedChange {
  if (change === 'probe') return { writes: [['probe']], events: [] }
  return { writes: change.writes.map(packWrite), events: change.events.map(fromEvent) }
}

function packWrite(write: Write): PackedWrite {
  switch (write.kind) {
    case 'confirmation':
      if (write.expect === 'absent') return ['insertConfirmation', fromConfirmation(write.record)]
      return ['updateConfirmation', write.expect, write.record.id, fromResolution(write.record)]
    case 'delivery':
      if (write.expect === 'absent') return ['insertDelivery', fromDelivery(write.record)]
      return ['updateDelivery', write.expect, fromDelivery(write.record)]
    case 'grant':
      return ['putGrant', write.expect, fromGrant(write.record)]
    case 'use':
      return ['useGrant', write.grantId]
  }
}

/** Reads are synchronous underneath; a failing database is an outage, not a bug. */
function read<A extends unknown[], T>(query: (...args: A) => T): (...args: A) => Promise<T> {
  return async (...args) => {
    try {
      return query(...args)
    } catch (error) {
      if (error instanceof Database.SqliteError) throw toError({ error: error.message, code: error.code })
      throw error
    }
  }
}

/** What SQLite reports is the disk's or the file's fault; a broken constraint is ours. */
function toError({ error, code }: { error: string; code: string }): Error {
  if (code === '' || code.startsWith('SQLITE_CONSTRAINT')) return new Error(`${error} ${code}`.trim())
  return new StoreUnavailable(`${error} (${code})`)
}
