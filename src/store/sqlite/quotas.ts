// Quotas: a row for each slot that was taken, numbered within its quota. So the first and the last row of a window tell how
// many it holds, however many that are. Slots are written as they come, all quotas in one place, and filed by quota many
// together: otherwise each would cost a page of its own.
import type { Quota, RateLimit } from '../../policy/window.js'
import type Database from './driver.js'

const hourMs = 3_600_000
/** As long as the longest window that can be set. */
const longestMs = 365 * 24 * hourMs
/** A slot is kept for so many of its windows, so that a longer one counts what was taken before it was set. */
const keptWindows = 24

/** So many slots are filed together: the pages that are written have several of them, and it takes some milliseconds. */
const together = 2000
/** For each slot that is filed so many others of whatever quotas come next are looked at, and removed if they are over. */
const lookedAt = 4

/** The most that is counted: counting takes as long as there are rows. */
const maxCounted = 10_000

type Slot = [at: number, n: number]

export interface Usage {
  used: number
  quota: Quota
  /** The last number that was given, whenever that was. */
  lastN: number
  /** Some were taken before the clock was set back. */
  isAhead: boolean
}

/** How much of a quota is used at this time. `unfiledOf`: its slots that are not filed yet, in order. */
export function readUsage(
  db: Database.Database,
  unfiledOf: (quota: string) => Slot[] = readUnfiled(db),
): (quota: string, now: number, limit: RateLimit) => Usage {
  const last = db.prepare('SELECT at, n FROM quota_slots WHERE quota = ? ORDER BY at DESC, n DESC LIMIT 1').raw()
  const first = db
    .prepare('SELECT at, n FROM quota_slots WHERE quota = ? AND at > ? ORDER BY at, n LIMIT 1 OFFSET ?')
    .raw()
  return (quota, now, { max, windowMs }) => {
    const unfiled = unfiledOf(quota)
    const [lastAt, lastN] = unfiled.at(-1) ?? (last.get(quota) as Slot | undefined) ?? [-Infinity, 0]
    const from = now - windowMs
    if (lastAt <= from) return { used: 0, quota: { remaining: max, resetMs: 0 }, lastN, isAhead: false }
    const [oldestAt, firstN] = (first.get(quota, from, 0) as Slot | undefined) ?? unfiled.find(([at]) => at > from)!
    const used = lastN - firstN + 1
    const tooMany = used - max
    // More than fit, where the limit was lowered: one is free when as many have left.
    const [leavesAt] =
      tooMany <= 0
        ? [oldestAt]
        : (unfiled.find(([, n]) => n === firstN + tooMany) ?? (first.get(quota, from, tooMany) as Slot))
    // What was taken before the clock was set back counts as taken now.
    const resetMs = Math.min(leavesAt, now) + windowMs - now
    return { used, quota: { remaining: Math.max(0, max - used), resetMs }, lastN, isAhead: lastAt > now }
  }
}

/** For a reader that asks now and then. */
function readUnfiled(db: Database.Database): (quota: string) => Slot[] {
  const unfiled = db.prepare('SELECT at, n FROM unfiled_slots WHERE quota = ? ORDER BY arrival').raw()
  return (quota) => unfiled.all(quota) as Slot[]
}

export function countSlots(db: Database.Database): () => number {
  const count = db
    .prepare(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM quota_slots WHERE quota > '' LIMIT ${maxCounted})) +
        (SELECT count(*) FROM unfiled_slots)`,
    )
    .pluck()
  return () => Math.min(maxCounted, count.get() as number)
}

/** For the writer, inside a transaction. It alone takes slots, so it remembers those that are not filed. */
export function takeSlots(db: Database.Database) {
  const sql = {
    unfiled: db.prepare('SELECT quota, at, n FROM unfiled_slots ORDER BY arrival').raw(),
    insert: db.prepare('INSERT INTO unfiled_slots (quota, at, n, kept_until) VALUES (?, ?, ?, ?)'),
    clamp: db.prepare('UPDATE quota_slots SET at = @now WHERE quota = @quota AND at > @now'),
    clampUnfiled: db.prepare('UPDATE unfiled_slots SET at = min(at, @now) WHERE quota = @quota'),
    file: db.prepare('INSERT INTO quota_slots SELECT quota, at, n, kept_until FROM unfiled_slots ORDER BY 1, 2, 3'),
    empty: db.prepare('DELETE FROM unfiled_slots'),
    after: db
      .prepare(
        `SELECT quota, at, n, kept_until FROM quota_slots WHERE (quota, at, n) > (?, ?, ?)
        ORDER BY quota, at, n LIMIT ?`,
      )
      .raw(),
    remove: db.prepare('DELETE FROM quota_slots WHERE quota = ? AND at = ? AND n = ?'),
  }
  const unfiled = new Map<string, Slot[]>()
  let count = 0
  let place: [quota: string, at: number, n: number] = ['', 0, 0]
  let isKnown = false
  const none: Slot[] = []

  function note(quota: string, slot: Slot): void {
    const known = unfiled.get(quota)
    if (known === undefined) unfiled.set(quota, [slot])
    else known.push(slot)
    count += 1
  }

  /** As they stand in the database: at first, and after a transaction that came to nothing. */
  function recall(): void {
    if (isKnown) return
    const slots = sql.unfiled.all() as [string, ...Slot][]
    unfiled.clear()
    count = 0
    for (const [quota, ...slot] of slots) note(quota, slot)
    isKnown = true
  }

  /** Goes round the table, a few rows at a time: a quota that nobody uses again leaves nothing behind. */
  function sweep(now: number, limit: number): void {
    const rows = sql.after.all(...place, limit) as [...typeof place, keptUntil: number][]
    for (const [quota, at, n, keptUntil] of rows) {
      place = [quota, at, n]
      if (keptUntil <= now) sql.remove.run(quota, at, n)
    }
    if (rows.length < limit) place = ['', 0, 0]
  }

  return {
    /** Each transaction begins with this. */
    recall,
    /** What a transaction did to them is undone. */
    forget(): void {
      isKnown = false
    },

    usageOf: readUsage(db, (quota) => unfiled.get(quota) ?? none),

    /** Numbers and times go up together, so what is ahead of the clock comes down to it. */
    clamp(quota: string, now: number): void {
      sql.clamp.run({ quota, now })
      sql.clampUnfiled.run({ quota, now })
      for (const slot of unfiled.get(quota) ?? none) slot[0] = Math.min(slot[0], now)
    },

    take(quota: string, now: number, windowMs: number, lastN: number, count: number): void {
      const keptUntil = now + Math.min(longestMs, Math.max(hourMs, keptWindows * windowMs))
      for (let n = lastN + 1; n <= lastN + count; n++) {
        sql.insert.run(quota, now, n, keptUntil)
        note(quota, [now, n])
      }
    },

    hasEnough: () => count >= together,

    file(now: number): void {
      sql.file.run()
      sql.empty.run()
      sweep(now, lookedAt * count)
      unfiled.clear()
      count = 0
    },
  }
}
