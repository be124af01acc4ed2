// The store on SQLite: this thread reads, the writer's thread commits. Changes that arrive together share one fsync.
import { systemClock } from '../clock.js'
import { statusOf } from '../core/confirmation.js'
import { canonical } from '../core/json.js'
import type { ChannelName, Confirmation } from '../core/model.js'
import type { Grant, Scope } from '../whitelist/grant.js'
import Database from './driver.js'
import { openDatabase } from './open.js'
import { displaced } from './place.js'
import {
  briefColumns,
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
  fromKey,
  fromKeyed,
  fromLink,
  fromPerson,
  fromScope,
  fromStanding,
  grantColumns,
  type GrantRow,
  hashOfDetails,
  keyColumns,
  keyedColumns,
  type KeyedRow,
  type KeyRow,
  lastTime,
  linkColumns,
  type LinkRow,
  personColumns,
  type PersonRow,
  toConfirmation,
  toDelivery,
  toEvent,
  toGrant,
  toKey,
  toKeyed,
  toLink,
  toPerson,
} from './rows.js'
import {
  type Change,
  type Committed,
  type ConfirmationFilter,
  type Cursor,
  type Due,
  type EventFilter,
  type EventPage,
  OutcomeUnknown,
  type Page,
  type Store,
  StoreDisplaced,
  StoreDamaged,
  StoreUnavailable,
  type Write,
} from './store.js'
import type { PackedChange, PackedOutcome, PackedWrite } from './writer.js'
import { onThread, type OpenWriting } from './writing.js'

/** Sent at once when the writer is idle: enough to share an fsync, few enough to leave work for meanwhile. */
const worthSending = 12
/** Bounds one transaction, and with it how long its first change waits for its last. */
const maxGroup = 1000
/** Bounds what one listing reads and answers with in one piece: as much as one request may hold. */
const maxPageBytes = 1024 * 1024
/** Bounds how many rows one listing reads when its filters match few of them, and one page of events: many may ask. */
const maxRowsRead = 5000
const maxEventsRead = 1000
/** How long after a failed commit the next one is tried that settles what came of it. */
const settleRetryMs = 1000

interface Waiting {
  change: Change | 'probe'
  packed: PackedChange
  done(outcome: Committed | 'conflict'): void
  fail(error: Error): void
}

/** `now` is the service's clock, by which deadlines of changes are judged. */
export function openSqliteStore(
  path: string,
  openWriting: OpenWriting = onThread,
  now: () => number = systemClock().now,
): Store {
  const { file, prepared, hadKeys, release } = openDatabase(path, (db) => {
    const sql = prepare(db)
    // The end of the history is where the writer begins: damage there is found here.
    sql.lastTime.get()
    return { sql, actions: sql.grantedActions.all() as string[] }
  })
  const { sql } = prepared
  const writer = openWriting(file, settleGroup, failAll)
  const listeners = new Set<(committed: Committed) => void>()
  // Few actions ever have a grant, and every submission asks: the others are not looked up.
  const granted = new Set(prepared.actions)
  let queue: Waiting[] = []
  let writing: Waiting[] = []
  /** When the group that is being written was sent, and whoever waits for its end. */
  let began = 0
  let whenOver: (() => void)[] = []
  let closing: (() => void) | null = null
  /** Records of which a failed commit may have written another state than can be read here. */
  const unknown = new Set<string>()
  let settling: NodeJS.Timeout | null = null

  function settleGroup(outcomes: PackedOutcome[]): void {
    const group = writing
    const waiting = whenOver
    writing = []
    whenOver = []
    noteUnknown(group, outcomes)
    // The next group is on its way before this one's callers are told.
    send()
    group.forEach((one, index) => settle(one, outcomes[index]!))
    waiting.forEach((go) => go())
    closeIfDone()
  }

  function closeIfDone(): void {
    if (closing !== null && queue.length === 0 && writing.length === 0) closing()
  }

  /** A commit that is on disk has taken the place of the one that failed before it. */
  function noteUnknown(group: Waiting[], outcomes: PackedOutcome[]): void {
    if (outcomes.some((outcome) => typeof outcome === 'number')) unknown.clear()
    const failed = group.filter((_, index) => isUnknown(outcomes[index]!))
    for (const { change } of failed) {
      if (change !== 'probe') for (const record of change.writes.flatMap(recordsOf)) unknown.add(record)
    }
    if (unknown.size > 0) settleSoon()
  }

  /** Tries a commit, again and again until there is one. */
  function settleSoon(): void {
    settling ??= setTimeout(() => {
      settling = null
      if (unknown.size > 0 && closing === null) enqueue('probe').catch(settleSoon)
    }, settleRetryMs).unref()
  }

  function assertKnown(record: string): void {
    if (unknown.has(record)) throw new OutcomeUnknown(`a failed commit may have changed ${record}`)
  }

  /** A writer that dies without a word leaves nobody waiting; the process goes down with it. */
  function failAll(error: Error): void {
    for (const one of writing) one.fail(new OutcomeUnknown(error.message))
    for (const one of queue) one.fail(error)
    throw error
  }

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

  /** The writer is idle, so this is when the transaction begins: what comes too late for its deadline stays out. */
  function send(): void {
    if (writing.length > 0 || queue.length === 0) return
    began = now()
    const group = queue.slice(0, maxGroup)
    queue = queue.slice(maxGroup)
    writing = group.filter(({ change }) => !isLate(change, began))
    for (const { change, done } of group) if (isLate(change, began)) done('conflict')
    if (writing.length > 0) writer.start(writing.map(({ packed }) => packed))
    else if (queue.length > 0) send()
    else closeIfDone()
  }

  function settle({ change, done, fail }: Waiting, outcome: PackedOutcome): void {
    if (outcome === 'conflict') return done('conflict')
    if (typeof outcome === 'object') return fail(toError(outcome))
    if (change === 'probe') return done({ writes: [], events: [] })
    const events = change.events.map((event, index) => ({ seq: outcome + index, ...event }))
    const committed = { writes: change.writes, events }
    for (const write of change.writes) if (write.kind === 'grant') granted.add(write.record.action)
    listeners.forEach((listener) => listener(committed))
    done(committed)
  }

  return {
    hadKeys,

    commit: enqueue,

    settledBefore: (at) =>
      writing.length > 0 && began < at ? new Promise((go) => void whenOver.push(go)) : Promise.resolve(),

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    confirmation: read((id: string) => {
      assertKnown(id)
      const row = sql.confirmation.get(id) as ConfirmationRow | undefined
      return row && toConfirmation(row)
    }),

    standing: read((id: string) => {
      assertKnown(id)
      const row = sql.standing.get(id) as [string, number, number, number, string] | undefined
      if (row === undefined) return undefined
      const [status, createdAt, deadline, size, requester] = row
      return { requester, isResolved: status !== 'pending', createdAt, deadline, size }
    }),

    confirmations: read(
      (filter: ConfirmationFilter, order: 'deadline' | 'newest', limit: number, after: Cursor | null) => {
        // Whether one in doubt belongs into it is in doubt too.
        assertKnown(anyConfirmation)
        return order === 'deadline'
          ? collect(sql.byDeadline.iterate(...(after ?? [-1, -1])), filter, limit)
          : collect(newest(filter, after), filter, limit)
      },
    ),

    waiting: read((limit: number, after: Cursor | null) => {
      assertKnown(anyConfirmation)
      return collect(sql.waiting.iterate(...(after ?? [-1, -1])), {}, limit)
    }),

    lapsed: read((now: number, limit: number) =>
      takeSome(sql.lapsed.iterate({ now, limit }), sizeOf).items.map(toConfirmation),
    ),

    ahead: read((now: number, limit: number) =>
      takeSome(sql.ahead.iterate({ now, limit }), sizeOf).items.map(toConfirmation),
    ),

    nextDue: read(() => {
      const times = [sql.nextDeadline.get(), sql.nextClaimBy.get(), sql.nextReportBy.get()] as (number | undefined)[]
      const next = Math.min(...times.map((time) => time ?? Infinity))
      return next === Infinity ? undefined : next
    }),

    pending: read((now: number) => sql.pending.get({ now }) as { count: number; oldestCreatedAt: number | null }),

    executions: read(() => sql.executions.get() as Record<'unclaimed' | 'claimed' | 'unreported', number>),

    open: read(() => sql.open.all() as { id: string; requester: string; digest: string }[]),

    denied: read((digest: string, since: number) => {
      const row = sql.denied.get(digest, since) as ConfirmationRow | undefined
      return row && toConfirmation(row)
    }),

    keyed: read((caller: string, key: string) => {
      const row = sql.keyed.get(caller, key) as KeyedRow | undefined
      return row && toKeyed(row)
    }),

    asked: read((since: number) => sql.asked.all(since) as { action: string; at: number }[]),

    grantsFor: read((action: string, sessionKey: string, details: string | null, now: number) => {
      if (!granted.has(action)) return []
      const hash = details === null ? '' : hashOfDetails(canonical(JSON.parse(details)))
      return (sql.grantsFor.all({ action, sessionKey, hash, now }) as GrantRow[]).map(toGrant)
    }),

    grantOf: read((scope: Scope) => {
      const row = sql.grantOf.get(...fromScope(scope)) as GrantRow | undefined
      return row && toGrant(row)
    }),

    grant: read((id: string) => {
      const row = sql.grant.get(id) as GrantRow | undefined
      return row && toGrant(row)
    }),

    grants: read((now: number, limit: number, after: Cursor | null): Page<Grant> => {
      assertKnown(anyGrant)
      const [createdAt, arrival] = after ?? [Number.MAX_SAFE_INTEGER, 0]
      const rows = sql.liveGrants.all({ now, createdAt, arrival, limit: limit + 1 }) as [...Cursor, ...GrantRow][]
      const last = rows[limit - 1]
      return {
        items: rows.slice(0, limit).map(([, , ...row]) => toGrant(row)),
        next: rows.length > limit && last !== undefined ? [last[0], last[1]] : null,
      }
    }),

    people: read(() => (sql.people.all() as PersonRow[]).map(toPerson)),

    keys: read(() => (sql.keys.all() as KeyRow[]).map(toKey)),

    link: read((hash: string) => {
      const row = sql.link.get(hash) as LinkRow | undefined
      return row && toLink(row)
    }),

    deliveries: read((id: string) => (sql.deliveries.all(id) as DeliveryRow[]).map(toDelivery)),

    dueDeliveries: read(
      (channel: ChannelName, now: number, limit: number, except: string[]) =>
        sql.dueDeliveries.all(channel, now, JSON.stringify(except), limit) as Due[],
    ),

    nextDelivery: read((channel: ChannelName, now: number) => sql.nextDelivery.get(channel, now) as number | undefined),

    unsent: read(() => sql.unsent.get() as number),

    events: read((after: number, limit: number, filter: EventFilter = {}, maxBytes = maxPageBytes): EventPage => {
      const last = sql.lastSeq.get() as number
      const { confirmationId } = filter
      if (confirmationId !== undefined) assertKnown(confirmationId)
      // A range of numbers bounds how many rows are looked at. It begins with the next there is: a restore leaves a gap.
      const next = (sql.nextSeq.get(after) as number | undefined) ?? last
      const end = confirmationId === undefined ? Math.min(last, next + maxEventsRead - 1) : last
      const values = { after, end, limit: limit + 1, ...filterValues(filter) }
      const statement = confirmationId === undefined ? sql.eventsInRange : sql.eventsOfConfirmation
      const rows = takeSome(
        statement.iterate(values),
        (row: [...EventRow, seq: number]) => row[5].length,
        limit,
        maxBytes,
      )
      const upTo = rows.isAll ? Math.max(after, end) : rows.items.at(-1)![6]
      return { events: rows.items.map(toEvent), upTo, more: upTo < last }
    }),

    lastSeq: read(() => sql.lastSeq.get() as number),

    lastTime: read(() => sql.lastTime.get() as number),
    secret: read(() => sql.secret.get() as string),

    async probe() {
      await enqueue('probe')
    },

    async close() {
      if (closing !== null) return
      await new Promise<void>((resolve) => {
        closing = resolve
        closeIfDone()
      })
      await writer.close()
      release()
    },
  }

  /** The rows to look through for a filter, by the index that narrows it down best. */
  function newest(filter: ConfirmationFilter, after: Cursor | null): IterableIterator<unknown> {
    // Nobody resolved what is pending.
    const wanted = filter.resolvedBy === '' ? { ...filter, status: 'pending' as const, resolvedBy: undefined } : filter
    const key = [...sql.newest.keys()].find((column) => wanted[column] !== undefined)
    const until = filter.until ?? Number.MAX_SAFE_INTEGER
    const [createdAt, arrival] = after !== null && after[0] < until ? after : [until, 0]
    const bounds = { createdAt, arrival, since: filter.since ?? 0 }
    if (key === undefined) return sql.allNewest.iterate(bounds)
    return sql.newest.get(key)!.iterate({ ...bounds, value: wanted[key] })
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

/** At least one row, and no more than fit. */
function takeSome<T>(
  rows: IterableIterator<unknown>,
  size: (row: T) => number,
  limit = Infinity,
  maxBytes = maxPageBytes,
): { items: T[]; isAll: boolean } {
  const items: T[] = []
  let bytes = 0
  for (const row of rows as IterableIterator<T>) {
    bytes += size(row)
    if (items.length === limit || (bytes > maxBytes && items.length > 0)) return { items, isAll: false }
    items.push(row)
  }
  return { items, isAll: true }
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
  const byDeadline = (columns: string) =>
    rows(`SELECT deadline, arrival, ${columns} ${fromPending}
      WHERE status = 'pending' AND (deadline, arrival) > (?, ?) ORDER BY deadline, arrival`)
  const ofConfirmation = (column: string) => `coalesce(
    (SELECT ${column} FROM confirmations WHERE id = confirmation_id), json_extract(data, '$.${column}'))`
  const eventMatches = `(@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    AND (@actor IS NULL OR actor = @actor) AND (@channel IS NULL OR via = @channel)
    AND (@action IS NULL OR ${ofConfirmation('action')} = @action)
    AND (@requester IS NULL OR ${ofConfirmation('requester')} = @requester)
    AND (@sessionKey IS NULL OR ${ofConfirmation('session_key')} = @sessionKey)`
  return {
    confirmation: rows(`SELECT ${confirmationColumns} FROM confirmations WHERE id = ?`),
    standing: rows(`SELECT status, created_at, deadline, octet_length(description) + octet_length(details), requester
      FROM confirmations WHERE id = ?`),
    byDeadline: byDeadline(confirmationColumns),
    waiting: byDeadline(briefColumns),
    allNewest: newestWhere(''),
    newest: new Map(
      Object.entries(filterColumns).map(([key, column]) => [
        key as keyof typeof filterColumns,
        newestWhere(`${column} = @value AND ${column === 'resolved_by' ? 'resolved_at IS NOT NULL AND' : ''}`),
      ]),
    ),
    lapsed: rows(`SELECT ${confirmationColumns} ${fromPending} WHERE status = 'pending' AND deadline <= @now
      UNION ALL
      SELECT ${confirmationColumns} FROM confirmations WHERE execution = 'unclaimed' AND claim_by <= @now
      UNION ALL
      SELECT ${confirmationColumns} FROM confirmations WHERE execution = 'claimed' AND report_by <= @now
      LIMIT @limit`),
    ahead: rows(`SELECT ${confirmationColumns} FROM confirmations WHERE status = 'pending' AND created_at > @now
      UNION ALL
      SELECT ${confirmationColumns} FROM confirmations WHERE execution = 'unclaimed' AND resolved_at > @now
      UNION ALL
      SELECT ${confirmationColumns} FROM confirmations WHERE execution = 'claimed' AND resolved_at > @now
      LIMIT @limit`),
    nextDeadline: value(`SELECT deadline ${fromPending} WHERE status = 'pending' ORDER BY deadline LIMIT 1`),
    nextClaimBy: value("SELECT claim_by FROM confirmations WHERE execution = 'unclaimed' ORDER BY claim_by LIMIT 1"),
    nextReportBy: value("SELECT report_by FROM confirmations WHERE execution = 'claimed' ORDER BY report_by LIMIT 1"),
    executions: db.prepare(`SELECT
      (SELECT count(*) FROM confirmations WHERE execution = 'unclaimed') AS unclaimed,
      (SELECT count(*) FROM confirmations WHERE execution = 'claimed') AS claimed,
      (SELECT count(*) FROM (SELECT 1 FROM confirmations WHERE execution = 'unreported' LIMIT 1000)) AS unreported`),
    open: db.prepare(`SELECT id, requester, digest ${fromPending} WHERE status = 'pending'`),
    denied: rows(`SELECT ${confirmationColumns} FROM confirmations
      WHERE status = 'denied' AND digest = ? AND resolved_at > ? ORDER BY resolved_at DESC LIMIT 1`),
    people: rows(`SELECT ${personColumns} FROM people`),
    keys: rows(`SELECT ${keyColumns} FROM keys`),
    link: rows(`SELECT ${linkColumns} FROM links WHERE hash = ?`),
    keyed: rows(`SELECT ${keyedColumns} FROM idempotency_keys WHERE caller = ? AND key = ?`),
    pending: db.prepare(`SELECT
      (SELECT count(*) ${fromPending} WHERE status = 'pending' AND deadline > @now) -
      (SELECT count(*) FROM confirmations WHERE status = 'pending' AND created_at > @now) AS count,
      (SELECT created_at FROM confirmations WHERE status = 'pending' AND created_at <= @now AND deadline > @now
        ORDER BY created_at LIMIT 1) AS oldestCreatedAt`),
    asked: db.prepare(`SELECT action, created_at AS at FROM confirmations
      WHERE created_at > ? AND status <> 'auto_approved' ORDER BY created_at`),

    grantedActions: value('SELECT DISTINCT action FROM grants'),
    // In the words of the index on what is live, which is all that is read of what there ever was.
    grantsFor: rows(`SELECT ${grantColumns} FROM grants INDEXED BY grants_live
      WHERE action = @action AND session_key IN ('', @sessionKey) AND details_hash IN ('', @hash)
        AND coalesce(expires_at, 9007199254740991) > @now
        AND revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses)`),
    grantOf:
      rows(`SELECT ${grantColumns} FROM grants WHERE action = ? AND scope = ? AND session_key = ? AND requester = ?
      AND conditions = ? AND details_hash = ?`),
    grant: rows(`SELECT ${grantColumns} FROM grants WHERE id = ?`),
    liveGrants: rows(`SELECT created_at, arrival, ${grantColumns} FROM grants
      WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses) AND (expires_at IS NULL OR expires_at > @now)
        AND (created_at, arrival) < (@createdAt, @arrival)
      ORDER BY created_at DESC, arrival DESC LIMIT @limit`),

    deliveries: rows(`SELECT ${deliveryColumns} FROM deliveries WHERE confirmation_id = ?`),
    dueDeliveries: db.prepare(`SELECT confirmation_id AS confirmationId, destination, created_at AS createdAt
      FROM deliveries CROSS JOIN confirmations ON id = confirmation_id
      WHERE channel = ? AND next_at <= ? AND destination NOT IN (SELECT value FROM json_each(?))
      ORDER BY next_at LIMIT ?`),
    nextDelivery: value('SELECT next_at FROM deliveries WHERE channel = ? AND next_at > ? ORDER BY next_at LIMIT 1'),
    unsent: value('SELECT count(*) FROM deliveries WHERE next_at IS NOT NULL'),

    eventsInRange: rows(`SELECT ${eventColumns} FROM events
      WHERE seq > @after AND seq <= @end AND ${eventMatches} ORDER BY seq LIMIT @limit`),
    eventsOfConfirmation: rows(`SELECT ${eventColumns} FROM events
      WHERE confirmation_id = @confirmationId AND seq > @after AND seq <= @end AND ${eventMatches}
      ORDER BY seq LIMIT @limit`),
    lastSeq: value('SELECT coalesce(max(seq), 0) FROM events'),
    nextSeq: value('SELECT seq FROM events WHERE seq > ? ORDER BY seq LIMIT 1'),
    lastTime: value(lastTime),
    secret: value("SELECT value FROM secrets WHERE name = 'cursors'"),
  }
}

/** What a filter leaves open is null. */
function filterValues({ types, ...filter }: EventFilter): Record<string, string | null> {
  const open = { confirmationId: null, actor: null, channel: null, action: null, requester: null, sessionKey: null }
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  return { ...open, ...given, types: types === undefined ? null : JSON.stringify(types) }
}

/** What is read together: one that is in doubt stands for all. */
const anyGrant = 'the whitelist'
const anyConfirmation = 'a confirmation'

/** What a failed write leaves in doubt. */
function recordsOf(write: Write): string[] {
  if (write.kind === 'confirmation') return [write.record.id, anyConfirmation]
  return write.kind === 'grant' || write.kind === 'use' ? [anyGrant] : []
}

function isUnknown(outcome: PackedOutcome): boolean {
  return typeof outcome === 'object' && outcome.isUnknown === true
}

function isLate(change: Change | 'probe', now: number): boolean {
  return change !== 'probe' && change.before !== undefined && now >= change.before
}

function pack(change: Change | 'probe'): PackedChange {
  if (change === 'probe') return { writes: [['probe']], events: [] }
  return { writes: change.writes.map(packWrite), events: change.events.map(fromEvent) }
}

function packWrite(write: Write): PackedWrite {
  switch (write.kind) {
    case 'confirmation':
      if (write.expect === 'absent') return ['insertConfirmation', fromConfirmation(write.record)]
      return ['updateConfirmation', write.expect, write.record.id, fromStanding(write.record)]
    case 'delivery':
      if (write.expect === 'absent') return ['insertDelivery', fromDelivery(write.record)]
      return ['updateDelivery', write.expect, fromDelivery(write.record)]
    case 'grant':
      return ['putGrant', write.expect, fromGrant(write.record)]
    case 'use':
      return ['useGrant', write.grantId, write.count]
    case 'keyed':
      return ['insertKeyed', fromKeyed(write.record)]
    case 'person':
      if (write.expect === 'absent') return ['insertPerson', fromPerson(write.record)]
      return ['updatePerson', write.expect, fromPerson(write.record)]
    case 'key':
      if (write.expect === 'absent') return ['insertKey', fromKey(write.record)]
      return ['updateKey', write.expect, fromKey(write.record)]
    case 'link':
      if (write.expect === 'absent') return ['insertLink', fromLink(write.record)]
      return ['updateLink', write.expect, fromLink(write.record)]
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
function toError({ error, code, isUnknown = false }: { error: string; code: string; isUnknown?: boolean }): Error {
  if (isUnknown) return new OutcomeUnknown(`${error} (${code})`)
  if (code === '' || code.startsWith('SQLITE_CONSTRAINT')) return new Error(`${error} ${code}`.trim())
  if (code === displaced) return new StoreDisplaced(error)
  return new (code.startsWith('SQLITE_CORRUPT') ? StoreDamaged : StoreUnavailable)(`${error} (${code})`)
}
