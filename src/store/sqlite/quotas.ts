// Quotas: a row for each slot that was taken, numbered within its quota. So the first and the last row of a window tell how
// many it holds, however many that are.
import type { Quota, RateLimit } from '../../policy/window.js'
import type Database from './driver.js'

/** As long as the longest window that can be set, so that a longer one counts what was taken before it was set. */
const keptMs = 31_536_000_000
/** Every so many slots, up to twice as many old ones of the same quota are removed. */
const cleanEvery = 8

/** The windows of budgets are minutes, and a quota may be an address: nobody asks for these later. */
const budgetKeptMs = 3_600_000
/** Every so many slots, so many rows of whatever quotas come next are looked at, and removed if they are over. */
const lookedAt = 4 * cleanEvery

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

/** For the writer, inside a transaction. */
export function takeSlots(db: Database.Database) {
  const clamp = db.prepare('UPDATE quota_slots SET at = ? WHERE quota = ? AND at > ?')
  const insert = db.prepare('INSERT INTO quota_slots (quota, at, n) VALUES (?, ?, ?)')
  const clean = db.prepare(`DELETE FROM quota_slots WHERE quota = @quota AND (at, n) IN (
    SELECT at, n FROM quota_slots WHERE quota = @quota AND at <= @until ORDER BY at, n LIMIT ${2 * cleanEvery})`)
  const after = db
    .prepare(
      `SELECT quota, at, n FROM quota_slots WHERE (quota, at, n) > (?, ?, ?) ORDER BY quota, at, n LIMIT ${lookedAt}`,
    )
    .raw()
  const remove = db.prepare('DELETE FROM quota_slots WHERE quota = ? AND at = ? AND n = ?')
  let place: [quota: string, at: number, n: number] = ['', 0, 0]
  let taken = 0

  /** Goes round the table, a few rows at a time: a quota that nobody uses again leaves nothing behind. */
  function sweep(now: number): void {
    const rows = after.all(...place) as (typeof place)[]
    for (const row of rows) {
      const keptFor = /^(action|of) /.test(row[0]) ? keptMs : budgetKeptMs
      if (row[1] <= now - keptFor) remove.run(...row)
    }
    place = rows.length < lookedAt ? ['', 0, 0] : rows.at(-1)!
  }

  return {
    /** Numbers and times go up together, so what is ahead of the clock comes down to it. */
    clamp(quota: string, now: number): void {
      clamp.run(now, quota, now)
    },

    take(quota: string, now: number, lastN: number, count: number): void {
      for (let n = lastN + 1; n <= lastN + count; n++) {
        insert.run(quota, now, n)
        if (n % cleanEvery === 0) clean.run({ quota, until: now - keptMs })
        if (++taken % cleanEvery === 0) sweep(now)
      }
    },
  }
}
