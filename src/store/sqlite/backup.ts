// A copy of a database, made while it is in use: as of one moment, checked, for its owner alone, and whole or not there.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from './driver.js'
import { syncFolder } from './marker.js'
import { applicationId, migrations } from './migrations.js'
import { StoreRefused } from '../store.js'

export interface Copied {
  bytes: number
  events: number
  lastSeq: number
}

/** Told how far it is, from 0 to 1. */
export type Progress = (done: number) => void

/** Enough to be quick, few enough to say now and then how far it is. */
const pagesPerStep = 2000

/** Writes a new file. What stands there already is never overwritten. */
export async function backUp(path: string, target: string, progress: Progress): Promise<Copied> {
  if (!existsSync(path)) throw new StoreRefused(`There is no database ${path}; say --db-path as the service does.`)
  if (existsSync(target)) throw new StoreRefused(`${target} exists, and is not overwritten. Choose another name.`)
  const unfinished = `${target}.${process.pid}.partial`
  try {
    const copied = await copyDatabase(path, unfinished, progress)
    publish(unfinished, target)
    return copied
  } catch (error) {
    throw explain(error, `Cannot back up to ${target}`)
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${unfinished}${end}`, { force: true })
  }
}

/** Copies to a file that is not there yet, and looks at the copy: it is whole, it is ours, and it is on disk. */
export async function copyDatabase(path: string, target: string, progress: Progress): Promise<Copied> {
  const source = open(path)
  try {
    assertOurs(source)
    closeSync(openSync(target, 'wx', 0o600))
    // One moment for the whole copy, however long it takes and whatever is written meanwhile.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    await source.backup(target, {
      progress({ totalPages, remainingPages }) {
        progress(totalPages === 0 ? 0 : 1 - remainingPages / totalPages)
        return pagesPerStep
      },
    })
  } finally {
    source.close()
  }
  return check(target, path)
}

/** For reading. A database that is in use stays in use. */
function open(path: string): Database.Database {
  return new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 })
}

export function assertOurs(db: Database.Database): void {
  if (db.pragma('application_id', { simple: true }) !== applicationId) {
    throw new StoreRefused(`${db.name} is not a database of Holdpoint.`)
  }
  const version = db.pragma('user_version', { simple: true }) as number
  if (version > migrations.length) {
    throw new StoreRefused(
      `${db.name} was written by a newer Holdpoint (schema ${version}; this one knows ${migrations.length}). Upgrade Holdpoint.`,
    )
  }
}

function check(copy: string, path: string): Copied {
  const db = new Database(copy)
  let copied: Copied
  try {
    // A file that is complete without another beside it.
    db.pragma('journal_mode = DELETE')
    assertOurs(db)
    const damage = damageOf(db)
    if (damage !== null) throw new StoreRefused(`${path} is damaged (${damage}): its copy cannot be relied on.`)
    const [events, lastSeq] = db.prepare('SELECT count(*), coalesce(max(seq), 0) FROM events').raw().get() as number[]
    copied = { bytes: statSync(copy).size, events: events!, lastSeq: lastSeq! }
  } finally {
    db.close()
  }
  syncFile(copy)
  return copied
}

/** What is wrong inside, or null. */
export function damageOf(db: Database.Database): string | null {
  const found = db.pragma('integrity_check(1)', { simple: true })
  return found === 'ok' ? null : String(found)
}

export function syncFile(file: string): void {
  const descriptor = openSync(file, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Gives the finished file its name, unless somebody has taken that meanwhile. */
function publish(file: string, target: string): void {
  try {
    linkSync(file, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Some file systems know no second name.
    if (code === 'EEXIST' || existsSync(target)) throw error
    renameSync(file, target)
  }
  rmSync(file, { force: true })
  syncFolder(dirname(resolve(target)))
}

export function explain(error: unknown, what: string): unknown {
  if (error instanceof StoreRefused) return error
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || (syscall === undefined && !code.startsWith('SQLITE_'))) return error
  const advice =
    code === 'EEXIST'
      ? 'It exists, and is not overwritten; choose another name.'
      : code.startsWith('SQLITE_NOTADB')
        ? 'It is not a SQLite database.'
        : code.startsWith('SQLITE_CORRUPT')
          ? 'The database is damaged.'
          : 'Check that the folder exists, is writable and has room.'
  return new StoreRefused(`${what}: ${message}. ${advice}`)
}
