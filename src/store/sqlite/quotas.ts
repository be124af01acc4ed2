// Quotas: a row for each slot that was taken, numbered within its quota. So the first and the last row of a window tell how
// many it holds, however many that are.
import type { Quota, RateLimit } from '../../policy/window.js'
import type Database from './driver.js'

const hourMs = 3_600_000
/** As long as the longest window that can be set. */
const longestMs = 365 * 24 * hourMs
/** A slot is kept for so many of its windows, so that a longer one counts what was taken before it was set. */
const keptWindows = 24

/** Every so many slots, four times as many rows of whatever quotas come next are looked at, and removed if they are over. */
const sweepEvery = 8
const lookedAt = 4 * sweepEvery

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

/** How much of a quota is used at this time. */
export function readUsage(db: Database.Database): (quota: string, now: number, limit: RateLimit) => Usage {
  const last = db.prepare('SELECT at, n FROM quota_slots WHERE quota = ? ORDER BY at DESC, n DESC LIMIT 1').raw()
  const first = db
    .prepare('SELECT at, n FROM quota_slots WHERE quota = ? AND at > ? ORDER BY at, n LIMIT 1 OFFSET ?')
    .raw()
  return (quota, now, { max, windowMs }) => {
    const [lastAt, lastN] = (last.get(quota) as Slot | undefined) ?? [-Infinity, 0]
    const from = now - windowMs
    if (lastAt <= from) return { used: 0, quota: { remaining: max, resetMs: 0 }, lastN, isAhead: false }
    const [oldestAt, firstN] = first.get(quota, from, 0) as Slot
    const used = lastN - firstN + 1
    // More than fit, where the limit was lowered: one is free when as many have left.
    const [leavesAt] = used <= max ? [oldestAt] : (first.get(quota, from, used - max) as Slot)
    // What was taken before the clock was set back counts as taken now.
    const resetMs = Math.min(leavesAt, now) + windowMs - now
    return { used, quota: { remaining: Math.max(0, max - used), resetMs }, lastN, isAhead: lastAt > now }
  }
}

export function countSlots(db: Database.Database): () => number {
  const count = db
    .prepare(`SELECT count(*) FROM (SELECT 1 FROM quota_slots WHERE quota > '' LIMIT ${maxCounted})`)
    .pluck()
  return () => count.get() as number
}

/** For the writer, inside a transaction. */
export function takeSlots(db: Database.Database) {
  const clamp = db.prepare('UPDATE quota_slots SET at = ? WHERE quota = ? AND at > ?')
  const insert = db.prepare('INSERT INTO quota_slots (quota, at, n, kept_until) VALUES (?, ?, ?, ?)')
  const after = db
    .prepare(
      `SELECT quota, at, n, kept_until FROM quota_slots WHERE (quota, at, n) > (?, ?, ?)
      ORDER BY quota, at, n LIMIT ${lookedAt}`,
    )
    .raw()
  const remove = db.prepare('DELETE FROM quota_slots WHERE quota = ? AND at = ? AND n = ?')
  let place: [quota: string, at: number, n: number] = ['', 0, 0]
  let taken = 0

  /** Goes round the table, a few rows at a time: a quota that nobody uses again leaves nothing behind. */
  function sweep(now: number): void {
    const rows = after.all(...place) as [...typeof place, keptUntil: number][]
    for (const [quota, at, n, keptUntil] of rows) {
      place = [quota, at, n]
      if (keptUntil <= now) remove.run(quota, at, n)
    }
    if (rows.length < lookedAt) place = ['', 0, 0]
  }

  return {
    /** Numbers and times go up together, so what is ahead of the clock comes down to it. */
    clamp(quota: string, now: number): void {
      clamp.run(now, quota, now)
    },

    take(quota: string, now: number, windowMs: number, lastN: number, count: number): void {
      const keptUntil = now + Math.min(longestMs, Math.max(hourMs, keptWindows * windowMs))
      for (let n = lastN + 1; n <= lastN + count; n++) {
        insert.run(quota, now, n, keptUntil)
        if (++taken % sweepEvery === 0) sweep(now)
      }
    },
  }
}
