// How much each share has written in a day, in bins of an hour: a few rows for each, whatever was written.
import type { Quota } from '../../policy/window.js'
import type Database from './driver.js'

const hourMs = 3_600_000
/** A day and the hour that is not over, so that no day has more than the limit. */
const bins = 25

type Bin = [hour: number, bytes: number]

/** How many bytes are left, and until so many are; where they never fit, until all are. */
export function readDisk(db: Database.Database) {
  const select = db.prepare('SELECT hour, bytes FROM disk_use WHERE share = ? AND hour > ? ORDER BY hour').raw()
  return (share: string, now: number, max: number, bytes: number): Quota => {
    const rows = select.all(share, hourOf(now) - bins) as Bin[]
    let used = 0
    for (const [, some] of rows) used += some
    let missing = used + bytes - max
    let resetMs = 0
    for (const [hour, some] of rows) {
      if (missing <= 0) break
      missing -= some
      resetMs = (Math.min(hour, hourOf(now)) + bins) * hourMs - now
    }
    return { remaining: Math.max(0, max - used), resetMs }
  }
}

/** For the writer, inside a transaction. */
export function chargeDisk(db: Database.Database) {
  const add = db.prepare('UPDATE disk_use SET bytes = bytes + ? WHERE share = ? AND hour = ?')
  const insert = db.prepare('INSERT INTO disk_use (share, hour, bytes) VALUES (?, ?, ?)')
  const clean = db.prepare('DELETE FROM disk_use WHERE share = ? AND hour <= ?')
  return (share: string, now: number, bytes: number): void => {
    const hour = hourOf(now)
    if (add.run(bytes, share, hour).changes > 0) return
    insert.run(share, hour, bytes)
    clean.run(share, hour - bins)
  }
}

function hourOf(time: number): number {
  return Math.floor(time / hourMs)
}
