// Sessions: reading them, and what the writer does to their runs.
import { afterAsking, type Fixation, type PastRun, type Session } from '../../sessions/session.js'
import { runs, sessions as table } from '../records.js'
import type { Counting, Cursor, Page, SessionFilter, Sessions } from '../store.js'
import type { SqlValue } from '../table.js'
import { readIdle } from './collect.js'
import type Database from './driver.js'
import { type AssertKnown, read, readNow } from './reading.js'
import type { SessionCache, Standing } from './session-cache.js'

/** Bounds how many rows one listing reads when its filters match few of them: many may ask. */
const maxRowsRead = 2000

/**
 * How long a session may have been active since it was listed: an index that is written with each message costs as much as
 * the message. A listing reads so much further, to be exact.
 */
const listedLagMs = 5 * 60_000

/** The most that is counted: counting takes as long as there are rows. */
const maxCounted = 10_000

/** What stands for a session among the records that may be in doubt. No name holds a NUL. */
export function sessionName(requester: string, key: string): string {
  return `session ${requester}\0${key}`
}

type Place = Pick<Session, 'requester' | 'key'>
type Reading = Omit<Sessions, 'count' | 'setBack' | 'setReset' | 'collect'>

export function readSessions(db: Database.Database, assertKnown: AssertKnown, cache: SessionCache): Reading {
  const rows = (text: string) => db.prepare(text).raw()
  const columns = table.columns()
  const listed = (condition: string, by: 'listed_at' | 'last_active_at') =>
    rows(`SELECT ${by}, last_active_at, arrival, ${columns} FROM sessions
      WHERE ${condition} AND ${by} <= @until AND ${by} >= @since ORDER BY ${by} DESC, arrival DESC`)
  const after = (condition: string) =>
    rows(`SELECT ${columns} FROM sessions WHERE ${condition} AND (requester, session_key) > (?, ?)
      ORDER BY requester, session_key LIMIT ?`)
  const counted = (condition: string) =>
    `SELECT count(*) FROM (SELECT 1 FROM sessions WHERE ${condition} LIMIT ${maxCounted})`
  const sql = {
    get: rows(`SELECT ${columns} FROM sessions WHERE ${table.whereKey}`),
    ofKey: rows(`SELECT ${columns} FROM sessions WHERE session_key = ? ORDER BY requester LIMIT ?`),
    all: listed('run_id IS NOT NULL', 'listed_at'),
    own: listed('requester = @requester AND run_id IS NOT NULL', 'listed_at'),
    suspended: listed('suspended_at IS NOT NULL AND run_id IS NOT NULL', 'last_active_at'),
    countRuns: db.prepare(`SELECT (${counted('run_id IS NOT NULL AND listed_at >= 0')}) AS "all",
      (${counted('suspended_at IS NOT NULL AND last_active_at >= 0')}) AS suspended`),
    past: rows(`SELECT ${runs.columns()} FROM session_runs WHERE requester = ? AND session_key = ?
      ORDER BY ended_at DESC LIMIT ?`),
    pastRun: rows(`SELECT ${runs.columns()} FROM session_runs WHERE ${runs.whereKey}`),
    due: rows(`SELECT ${columns} FROM sessions WHERE reset_at <= ? ORDER BY reset_at LIMIT ?`),
    nextDue: db.prepare('SELECT reset_at FROM sessions WHERE reset_at IS NOT NULL ORDER BY reset_at LIMIT 1').pluck(),
    held: after('due_at IS NOT NULL'),
    walk: after('messages > 0'),
  }

  function listing({ requester, isSuspended }: SessionFilter) {
    if (requester !== undefined) return sql.own
    return isSuspended === true ? sql.suspended : sql.all
  }

  function get(requester: string, key: string): Session | undefined {
    const row = sql.get.get(requester, key) as SqlValue[] | undefined
    return row && table.read(row)
  }

  return {
    get: read((requester: string, key: string) => {
      assertKnown(sessionName(requester, key))
      return get(requester, key)
    }),

    peek: readNow((requester: string, key: string) => {
      assertKnown(sessionName(requester, key))
      const known = cache.get(requester, key)
      if (known !== undefined) return known ?? undefined
      const found = get(requester, key)
      cache.keep(requester, key, found ?? null)
      return found
    }),

    ofKey: read((key: string, limit: number) => all(sql.ofKey.all(key, limit))),

    list: read((filter: SessionFilter, limit: number, from: Cursor | null): Page<Session> => {
      const place = from ?? [Number.MAX_SAFE_INTEGER, 0]
      const since = filter.activeSince ?? 0
      const own = filter.requester === undefined ? {} : { requester: filter.requester }
      const values = { until: place[0], since: since - listedLagMs, ...own }
      /** The latest active so far, and one more to tell that there is a next page. */
      const latest: ListedRow[] = []
      let count = 0
      for (const row of listing(filter).iterate(values) as IterableIterator<ListedRow>) {
        // Whatever follows was last active then, or before.
        const bound = row[0] + listedLagMs
        const last = latest[limit]
        if (last !== undefined && last[1] > bound) break
        if (count >= maxRowsRead && bound < place[0])
          return pageOf(
            latest.filter((one) => one[1] > bound),
            limit,
            bound,
          )
        count += 1
        if (row[1] >= since && isBefore(row, place) && matches(row, filter)) insert(latest, row, limit)
      }
      return pageOf(latest, limit, null)
    }),

    countRuns: read(() => sql.countRuns.get() as Record<'all' | 'suspended', number>),
    past: read((requester: string, key: string, limit: number) =>
      (sql.past.all(requester, key, limit) as SqlValue[][]).map((row): PastRun => runs.read(row)),
    ),
    pastRun: read((id: string) => {
      const row = sql.pastRun.get(id) as SqlValue[] | undefined
      return row && runs.read(row)
    }),
    due: read((now: number, limit: number) => all(sql.due.all(now, limit))),
    nextDue: read(() => sql.nextDue.get() as number | undefined),
    held: read((place: Place | null, limit: number) => all(sql.held.all(...placeOf(place), limit))),
    walk: read((place: Place | null, limit: number) => all(sql.walk.all(...placeOf(place), limit))),
    ...readIdle(db),
  }
}

type ListedRow = [listedAt: number, lastActiveAt: number, arrival: number, ...SqlValue[]]

const columnNames = table.columns().split(', ')
/** Where a column stands in such a row. */
const placeIn = (name: string) => 3 + columnNames.findIndex((column) => column.endsWith(`.${name}`))
const [platformAt, suspendedAt] = [placeIn('platform'), placeIn('suspended_at')]

function isBefore([, lastActiveAt, arrival]: ListedRow, place: Cursor): boolean {
  return lastActiveAt < place[0] || (lastActiveAt === place[0] && arrival < place[1])
}

/** Keeps them in order, and one more than fit on the page. */
function insert(latest: ListedRow[], row: ListedRow, limit: number): void {
  let at = latest.length
  while (at > 0 && isBefore(latest[at - 1]!, [row[1], row[2]])) at -= 1
  if (at <= limit) latest.splice(at, 0, row)
  if (latest.length > limit + 1) latest.pop()
}

/** `bound`: what was last active then, or before, is not looked at yet; null: there is nothing more. */
function pageOf(latest: ListedRow[], limit: number, bound: number | null): Page<Session> {
  const items = latest.slice(0, limit).map((row) => table.read(row, 3))
  const last = latest[limit - 1]
  if (latest.length > limit) return { items, next: [last![1], last![2]] }
  return { items, next: bound === null ? null : [bound + 1, 0] }
}

function all(rows: unknown[]): Session[] {
  return (rows as SqlValue[][]).map((row) => table.read(row))
}

function placeOf(place: Place | null): [requester: string, key: string] {
  return place === null ? ['', ''] : [place.requester, place.key]
}

function matches(row: ListedRow, { platform, isSuspended }: SessionFilter): boolean {
  return (
    (platform === undefined || row[platformAt] === platform) &&
    (isSuspended === undefined || (row[suspendedAt] !== null) === isSuspended)
  )
}

/** What goes on in a session, packed for the way to the writer's thread. */
export type PackedCounting = [
  requester: string,
  sessionKey: string,
  version: number | null,
  below: number,
  max: number,
  messages: number,
  submissions: number,
  at: number,
  resetAt: number | null,
  asks: [action: string, digest: string][],
]

export function packCounting(counting: Counting & { version: number | null }): PackedCounting {
  const { requester, sessionKey, version, below, max, messages, submissions, at, resetAt, asks } = counting
  const packed = asks.map(({ action, digest }): [string, string] => [action, digest])
  return [requester, sessionKey, version, below, max, messages, submissions, at, resetAt, packed]
}

export type ResetRow = [resetAt: number | null, requester: string, sessionKey: string, version: number]

/** So many numbers for each session that is counted in, on the way back from there. */
export const standingSize = 3

export function packStanding({ messages, submissions, repeats }: Standing): number[] {
  return [messages, submissions, repeats]
}

export function unpackStanding(numbers: number[], from: number): Standing {
  return { messages: numbers[from]!, submissions: numbers[from + 1]!, repeats: numbers[from + 2]! }
}

type StandingRow = [
  version: number,
  messages: number,
  submissions: number,
  lastActiveAt: number,
  listedAt: number,
  resetAt: number | null,
  arrival: number,
  fixedAction: string | null,
  fixedDigest: string | null,
  repeats: number | null,
]

/** For the writer, inside a transaction. */
export function countRuns(db: Database.Database) {
  const standing = db
    .prepare(
      `SELECT version, messages, submissions, last_active_at, listed_at, reset_at, arrival, fixed_action, fixed_digest, repeats
      FROM sessions WHERE requester = ? AND session_key = ?`,
    )
    .raw()
  const add = db.prepare(`UPDATE sessions SET messages = ?, submissions = ?, last_active_at = ?,
    fixed_action = ?, fixed_digest = ?, repeats = ? WHERE arrival = ?`)
  // By themselves, and only where they have to be: what an index holds costs another page each time it is written.
  const list = db.prepare('UPDATE sessions SET listed_at = last_active_at WHERE arrival = ?')
  const due = db.prepare('UPDATE sessions SET reset_at = ? WHERE arrival = ?')
  const suspended = db
    .prepare('SELECT 1 FROM sessions WHERE requester = ? AND session_key = ? AND suspended_at IS NOT NULL')
    .pluck()
  const waiting = db
    .prepare('SELECT 1 FROM sessions WHERE requester = ? AND session_key = ? AND waits_until > ?')
    .pluck()
  const reset = db.prepare('UPDATE sessions SET reset_at = ? WHERE requester = ? AND session_key = ? AND version = ?')
  const setBack = db.prepare(`UPDATE sessions SET version = version + 1,
    run_created_at = min(run_created_at, @now), last_active_at = min(last_active_at, @now), listed_at = min(listed_at, @now),
    trusted_from = min(trusted_from, @now), due_at = min(due_at, @now),
    rotated_at = min(rotated_at, @now), suspended_at = min(suspended_at, @now),
    waits_until = waits_until - max(0, stepped_at - @now), stepped_at = min(stepped_at, @now)
    WHERE max(coalesce(last_active_at, 0), trusted_from, coalesce(due_at, 0), coalesce(suspended_at, 0), stepped_at) > @now`)
  const back = db.prepare('DELETE FROM session_runs WHERE id = ?')
  const isThere = db.prepare('SELECT 1 FROM session_runs WHERE id = ?').pluck()
  const find = (requester: string, sessionKey: string) => standing.get(requester, sessionKey) as StandingRow | undefined

  return {
    /** `values` are those of an insert, which begin with the key. */
    isKnown: ([requester, sessionKey]: SqlValue[]) => standing.get(requester, sessionKey) !== undefined,
    /** Whether so many more may be counted. */
    holds([requester, sessionKey, version, below]: PackedCounting): boolean {
      if (version === null) return true
      const found = find(requester, sessionKey)
      return found?.[0] === version && found[1] < below
    },
    isCounted(requester: string, sessionKey: string, messages: number, submissions: number): boolean {
      const found = find(requester, sessionKey)
      return found?.[1] === messages && found[2] === submissions
    },
    isSuspended: (requester: string, sessionKey: string) => suspended.get(requester, sessionKey) !== undefined,
    isWaiting: (requester: string, sessionKey: string, now: number) =>
      waiting.get(requester, sessionKey, now) !== undefined,
    /** Answers how the session stands then. */
    count([requester, sessionKey, , , max, messages, submissions, at, resetAt, asks]: PackedCounting): Standing {
      const found = find(requester, sessionKey)!
      const [, before, submitted, activeBefore, listedAt, dueAt, arrival, action, digest, repeated] = found
      const standing: Standing = { messages: before + messages, submissions: submitted + submissions, repeats: 0 }
      const lastActiveAt = Math.max(activeBefore, at)
      let fixation: Fixation | null = action === null ? null : { action, digest: digest!, repeats: repeated! }
      for (const [askedFor, ofDigest] of asks) fixation = afterAsking(fixation, { action: askedFor, digest: ofDigest })
      standing.repeats = fixation?.repeats ?? 0
      const { messages: total } = standing
      add.run(
        total,
        standing.submissions,
        lastActiveAt,
        fixation?.action ?? null,
        fixation?.digest ?? null,
        fixation?.repeats ?? null,
        arrival,
      )
      if (lastActiveAt - listedAt > listedLagMs) list.run(arrival)
      // What is full is due at once. Whoever looks at one too soon sets it anew.
      const nextAt = max > 0 && total >= max ? at : resetAt
      const isSooner = nextAt === null ? dueAt !== null : dueAt === null || nextAt < dueAt
      if (isSooner) due.run(nextAt, arrival)
      return standing
    },
    setReset(all: ResetRow[]): void {
      for (const values of all) reset.run(...values)
    },
    setBack: (now: number) => void setBack.run({ now }),
    isPast: (id: string) => isThere.get(id) !== undefined,
    bringBack: (id: string) => void back.run(id),
  }
}
