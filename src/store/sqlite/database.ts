// Opens the SQLite file: one process at a time, durable settings read back, schema brought up to date.
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from './driver.js'
import { lastTime } from './events.js'
import { isMarked, mark } from './marker.js'
import { applicationId, migrations } from './migrations.js'
import { StoreDamaged, StoreRefused } from '../store.js'

export interface OpenDatabase<T> {
  /** The file's real path. */
  file: string
  /** For reading. */
  db: Database.Database
  prepared: T
  hadKeys: boolean
  release(): void
}

/** `prepare` reads what is needed from the beginning. */
export function openDatabase<T>(path: string, prepare: (db: Database.Database) => T, now: number): OpenDatabase<T> {
  const file = locate(path)
  const lock = takeLock(file)
  let db: Database.Database | undefined
  let prepared: T
  let hadKeys: boolean
  try {
    refuseOtherNames(file)
    db = new Database(file, { timeout: 5000 })
    harden(db)
    migrate(db)
    // The lock says that nobody else is there to hold one.
    db.exec('UPDATE deliveries SET leased_until = NULL WHERE leased_until IS NOT NULL')
    followSetback(db, now)
    const hasKeys = (db.prepare('SELECT count(*) FROM keys').pluck().get() as number) > 0
    // Beside a link to the database as well: what is behind the link may be lost with its volume, marker and all.
    const names = [file, ...(isLink(path) ? [path] : [])]
    hadKeys = hasKeys || names.some(isMarked)
    if (hadKeys) names.filter((name) => !isMarked(name)).forEach((name) => (name === file ? mark : tryMark)(name))
    db.pragma('query_only = ON')
    prepared = prepare(db)
  } catch (error) {
    db?.close()
    lock.close()
    throw explain(error, file)
  }
  const opened = db
  return {
    file,
    db: opened,
    prepared,
    hadKeys,
    release() {
      opened.close()
      lock.close()
    },
  }
}

/** What is to be tried again after so long waits no longer for a clock that was set back meanwhile. */
function followSetback(db: Database.Database, now: number): void {
  const back = (db.prepare(lastTime).pluck().get() as number) - now
  if (back <= 0) return
  db.prepare('UPDATE deliveries SET next_at = max(@now, next_at - @back) WHERE next_at > @now').run({ now, back })
}

/** One name for one file, however it was spelled, so that the lock cannot be walked around. */
export function locate(path: string): string {
  try {
    makeFolder(dirname(path))
    // Made here if need be: a link to a file that is not there yet has no real path.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
    return realpathSync(path)
  } catch (error) {
    throw explain(error, path)
  }
}

/** A link may be where only others may write: then the marker beside the database has to do. */
function tryMark(path: string): void {
  try {
    mark(path)
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function isLink(path: string): boolean {
  return lstatSync(path).isSymbolicLink()
}

/** Level by level: Node's own recursion never ends where a folder exists that can hold no other, as in /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/**
 * An exclusive transaction on an empty file beside the database. The kernel drops it when the process ends, however
 * it ends, and the database itself stays readable to others.
 */
export function takeLock(file: string): Database.Database {
  let lock: Database.Database | undefined
  try {
    lock = new Database(`${file}.lock`, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock?.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new StoreRefused(
        `The database ${file} is in use by another Holdpoint. Stop that one first, or choose another file with --db-path.`,
      )
    }
    throw explain(error, file)
  }
}

/** By another name, another Holdpoint would find another lock. */
function refuseOtherNames(file: string): void {
  const found = statSync(file)
  if (!found.isFile() || found.nlink === 1) return
  throw new StoreRefused(
    `The database ${file} has ${found.nlink} names (hard links), and through another one a second Holdpoint could write to it. ` +
      'Remove the others, or make a copy with cp and use that.',
  )
}

function harden(db: Database.Database): void {
  // Before anything else touches the file: whose is it? A foreign database is left exactly as it was.
  const owner = db.pragma('application_id', { simple: true })
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
  if (owner !== applicationId && tables > 0) {
    throw new StoreRefused(
      `${db.name} is the database of another program (an earlier confirmation daemon, perhaps). It was left untouched: ` +
        'move it away, or choose another file with --db-path.',
    )
  }
  const version = db.pragma('user_version', { simple: true }) as number
  if (version > migrations.length) {
    throw new StoreRefused(
      `${db.name} was written by a newer Holdpoint (schema ${version}; this one knows ${migrations.length}). ` +
        'Upgrade Holdpoint, or choose another file with --db-path.',
    )
  }
  // Larger ones cost twice as many bytes: indexes that many actions and sessions share are written a leaf at a time. A new
  // database only.
  db.pragma('page_size = 4096')
  db.pragma('journal_mode = WAL')
  // better-sqlite3 is built with NORMAL for WAL, which a power cut can rob of acknowledged commits.
  db.pragma('synchronous = FULL')
  db.pragma('fullfsync = ON')
  const journal = db.pragma('journal_mode', { simple: true })
  const synchronous = db.pragma('synchronous', { simple: true })
  if (journal !== 'wal' || synchronous !== 2) {
    throw new StoreRefused(
      `${db.name} does not keep commits safely here (journal_mode=${String(journal)}, synchronous=${String(synchronous)}; ` +
        'wal and 2 are needed). Choose a file on a local disk with --db-path.',
    )
  }
}

/** The schema in full, as SQL. */
export function schemaOf(db: Database.Database): string {
  const parts = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').pluck().all()
  return `${parts.join(';\n\n')};\n`
}

/** Brings the schema up to date, or for tests to an earlier one. */
export function migrate(db: Database.Database, to = migrations.length): void {
  const seen = db.pragma('user_version', { simple: true }) as number
  db.transaction(() => {
    if (seen === 0) db.pragma(`application_id = ${applicationId}`)
    for (const migration of migrations.slice(seen, to)) {
      if (typeof migration === 'string') db.exec(migration)
      else migration(db)
    }
    db.pragma(`user_version = ${to}`)
  }).immediate()
}

function damaged(file: string, because: string): StoreRefused {
  return new StoreRefused(`The database ${file} is damaged (${because}).`, true)
}

/** For a start, which has nobody to say it to later. */
export function refuseDamaged(file: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof StoreDamaged ? damaged(file, error.message) : error
  }
}

function explain(error: unknown, file: string): StoreRefused {
  if (error instanceof StoreRefused) return error
  const code = (error as { code?: string }).code ?? ''
  const because = error instanceof Error ? error.message : String(error)
  if (code.startsWith('SQLITE_CORRUPT')) return damaged(file, because)
  const advice = code.startsWith('SQLITE_NOTADB')
    ? 'It is not a SQLite database; choose another file with --db-path.'
    : 'Check that the folder exists and is writable, or choose another file with --db-path.'
  return new StoreRefused(`Cannot open the database ${file}: ${because}. ${advice}`)
}
