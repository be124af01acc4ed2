// What a database holds and whether it is whole, for a report. It is only read, and nothing beside it changes.
import { constants, copyFileSync, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from './driver.js'
import { lastTime } from './events.js'
import { applicationId, migrations } from './migrations.js'
import { toldAt } from '../records.js'
import { StoreRefused } from '../store.js'

export interface Examination {
  /** Whose it is: `empty` has nothing in it yet. */
  owner: 'ours' | 'foreign' | 'empty'
  /** How many migrations it has seen; null where it is not ours. */
  schema: number | null
  /** What is wrong inside; empty if nothing is. */
  damage: string[]
  counts: Counts
  /** The latest time on record. */
  latestAt: number | null
}

/** How many there are, or by what; null where it could not be counted. */
export type Count = number | null | { [label: string]: Count }
export type Counts = Record<string, Count>

/** How many migrations this program knows. */
export const knownSchema = migrations.length

const dayMs = 86_400_000
const stuckMs = 600_000

/**
 * What is counted. Each answers rows of labels with a number behind them, or one number. A table that comes later is one
 * more line here.
 */
const counted: Record<string, string> = {
  confirmations: 'SELECT status, count(*) FROM confirmations GROUP BY status',
  overdue: "SELECT count(*) FROM confirmations WHERE status = 'pending' AND deadline <= @now",
  expired_untold_last_day: `SELECT count(*) FROM confirmations WHERE status = 'expired' AND resolved_at > @now - ${dayMs}
    AND ${toldAt} IS NULL`,
  events: 'SELECT count(*) FROM events',
  grants_live: `SELECT count(*) FROM grants WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses)
    AND (expires_at IS NULL OR expires_at > @now)`,
  sessions: 'SELECT count(*) FROM sessions WHERE run_id IS NOT NULL',
  sessions_suspended: 'SELECT count(*) FROM sessions WHERE suspended_at IS NOT NULL',
  earlier_session_ids: 'SELECT count(*) FROM session_runs',
  keys: `SELECT role, CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= @now THEN 'expired' ELSE 'live' END
    AS state, count(*) FROM keys GROUP BY role, state`,
  people: 'SELECT count(*) FROM people',
  undelivered: 'SELECT channel, count(*) FROM deliveries WHERE next_at IS NOT NULL GROUP BY channel',
  undelivered_for_10_minutes: `SELECT count(*) FROM deliveries JOIN confirmations ON id = confirmation_id
    WHERE next_at IS NOT NULL AND CASE WHEN channel = 'callback' THEN resolved_at <= @now - ${stuckMs}
      ELSE status = 'pending' AND created_at <= @now - ${stuckMs} END`,
  sign_ins: 'SELECT count(*) FROM sign_ins WHERE ends_at > @now',
}

/** What a test replaces. */
const disk = { copyFile: copyFileSync, statfs: statfsSync }

/**
 * `isInUse`: somebody has it open, and SQLite's files beside it are there. Throws a StoreRefused if it cannot be read.
 * `progress` is told what takes long.
 */
export function examineDatabase(
  file: string,
  isInUse: boolean,
  now: number,
  progress: (text: string) => void,
  { copyFile, statfs } = disk,
): Examination {
  const size = mebibytes(statSync(file).size)
  let db: Database.Database | undefined
  try {
    if (!isInUse) progress(`copying the database, ${size} …`)
    db = isInUse ? open(file) : openCopy(file, { copyFile, statfs })
    const owner = ownerOf(db)
    if (owner !== 'ours') return { owner, schema: null, damage: [], counts: {}, latestAt: null }
    const schema = db.pragma('user_version', { simple: true }) as number
    const counts = countAll(db, now)
    const latestAt = (count(db, lastTime, now) || null) as number | null
    progress(`checking the database, ${size} …`)
    return { owner, schema, damage: damageIn(db), counts, latestAt }
  } catch (error) {
    throw explain(error)
  } finally {
    db?.close()
  }
}

function open(file: string): Database.Database {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: 2000 })
}

/**
 * SQLite cannot read a database in WAL mode without files beside it, and leaves those of a connection that may only read.
 * So while nobody has it open, a copy is looked at, which is removed as soon as it is open.
 */
function openCopy(file: string, { copyFile, statfs }: typeof disk): Database.Database {
  const parts = [file, `${file}-wal`].filter((one) => existsSync(one))
  const bytes = parts.reduce((sum, one) => sum + statSync(one).size, 0)
  const { bavail, bsize } = statfs(tmpdir())
  // As much again, for what SQLite puts beside the copy.
  if (bytes * 2 > bavail * bsize) {
    throw new StoreRefused(
      `a copy of ${mebibytes(bytes)} is looked at while no service runs, and that is too much for ${tmpdir()}; start the ` +
        'service, or set TMPDIR to a folder with room',
    )
  }
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-'))
  let db: Database.Database | undefined
  try {
    copyUnchanged(file, join(folder, 'copy.db'), copyFile)
    db = new Database(join(folder, 'copy.db'), { fileMustExist: true })
    db.pragma('query_only = ON')
    // Now its files are open, all of them.
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return db
  } catch (error) {
    db?.close()
    throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function copyUnchanged(file: string, target: string, copyFile: typeof copyFileSync): void {
  const describe = () =>
    ['', '-wal'].map((end) => {
      const found = statSync(`${file}${end}`, { bigint: true, throwIfNoEntry: false })
      return found === undefined ? '' : `${found.ino}:${found.size}:${found.mtimeNs}`
    })
  // Somebody may have begun to write to it: then once more.
  for (let tries = 0; tries < 2; tries++) {
    const before = describe()
    // Where the disk can, as a second name for the same blocks.
    copyFile(file, target, constants.COPYFILE_FICLONE)
    rmSync(`${target}-wal`, { force: true })
    if (before[1] !== '') copyFile(`${file}-wal`, `${target}-wal`)
    if (before.join() === describe().join()) return
  }
  throw new StoreRefused('it was written to while it was copied: a service has just been started; ask again')
}

function ownerOf(db: Database.Database): Examination['owner'] {
  if (db.pragma('application_id', { simple: true }) === applicationId) return 'ours'
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0 ? 'empty' : 'foreign'
}

function countAll(db: Database.Database, now: number): Counts {
  return Object.fromEntries(Object.keys(counted).map((name) => [name, count(db, counted[name]!, now)]))
}

/** An older schema lacks what is counted, and of a damaged table nothing is known. */
function count(db: Database.Database, sql: string, now: number): Count {
  try {
    const rows = db
      .prepare(sql)
      .raw()
      .all(...(sql.includes('@now') ? [{ now }] : [])) as (string | number)[][]
    return nest(rows)
  } catch (error) {
    if (error instanceof Database.SqliteError) return null
    throw error
  }
}

function nest(rows: (string | number)[][]): Count {
  if (rows[0]?.length === 1) return rows[0][0] as number
  const tree: Record<string, Count> = {}
  for (const row of rows) {
    const labels = row.slice(0, -1).map(labelOf)
    let place = tree
    for (const label of labels.slice(0, -1)) place = (place[label] ??= {}) as Record<string, Count>
    const label = labels.at(-1)!
    place[label] = ((place[label] as number | undefined) ?? 0) + (row.at(-1) as number)
  }
  return tree
}

/** Words of ours. Whatever else stands there, nobody repeats it. */
function labelOf(value: unknown): string {
  return typeof value === 'string' && /^[a-z_]{1,30}$/.test(value) ? value : 'other'
}

/** More of what is wrong says nothing more. */
const mostDamage = 5

/** Without comparing indexes with their tables, which takes far longer. */
function damageIn(db: Database.Database): string[] {
  try {
    const found = db.prepare(`PRAGMA quick_check(${mostDamage})`).pluck().all() as string[]
    return found.filter((one) => one !== 'ok')
  } catch (error) {
    if (error instanceof Database.SqliteError) return [error.message]
    throw error
  }
}

function explain(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (error instanceof StoreRefused || code === '') return error
  if (code.startsWith('SQLITE_CORRUPT')) return new StoreRefused(message, true)
  return new StoreRefused(code.startsWith('SQLITE_NOTADB') ? 'it is not a SQLite database' : `${message} (${code})`)
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`
}
