// Puts a backup in the place of a database. The new one is made ready beside the old one, which stays until it is replaced in
// one step; a copy of it is kept.
import {
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from './driver.js'
import type { Key } from '../../access/key.js'
import type { NewEvent } from '../../audit/event.js'
import { type Session, unknownSession } from '../../sessions/session.js'
import { type Copied, copyDatabase, explain, damageOf, type Progress, syncFile } from './backup.js'
import { isMarked, mark, markerOf, syncFolder } from './marker.js'
import { applicationId } from './migrations.js'
import { locate, makeFolder, migrate, takeLock } from './database.js'
import { events, keys, sessions } from '../records.js'
import type { SqlValue } from '../table.js'
import { lastTime } from './events.js'
import { openSqliteStore } from './sqlite.js'
import { type Store, StoreRefused } from '../store.js'
import { safeStep } from './writer.js'
import { onThisThread } from './writing.js'

/** What tells whether a key is still good. */
export type KeyEnd = Pick<Key, 'id' | 'expiresAt' | 'revokedAt' | 'replacedBy'>

/** In these words since the first schema with keys: what is replaced may be of any. */
const keyEnds = 'SELECT id, expires_at AS expiresAt, revoked_at AS revokedAt, replaced_by AS replacedBy FROM keys'

/** What keeps a session, or a requester over all of theirs, from going on; and how far it had come. */
export type Stopped = Pick<Session, 'requester' | 'key' | 'run' | 'suspension' | 'streak'>

/** Likewise since the first schema with sessions. */
const stoppedOnes = `SELECT requester, session_key AS key, run_id AS id, run_created_at AS createdAt,
  last_active_at AS lastActiveAt, messages, submissions, suspended_at AS suspendedAt, suspended_by AS suspendedBy,
  suspended_reason AS suspendedReason, failures, steps, stepped_at AS steppedAt, waits_until AS waitsUntil
  FROM sessions WHERE suspended_at IS NOT NULL OR failures > 0`

interface StoppedRow {
  requester: string
  key: string
  id: string | null
  createdAt: number
  lastActiveAt: number
  messages: number
  submissions: number
  suspendedAt: number | null
  suspendedBy: string
  suspendedReason: string | null
  failures: number
  steps: number
  steppedAt: number
  waitsUntil: number
}

function readStopped(row: StoppedRow): Stopped {
  const { requester, key, id, createdAt, lastActiveAt, messages, submissions } = row
  const { suspendedAt: at, suspendedBy: by, suspendedReason: reason, failures, steps, steppedAt, waitsUntil } = row
  return {
    requester,
    key,
    run: id === null ? null : { id, createdAt, lastActiveAt, messages, submissions },
    suspension: at === null ? null : { at, by, reason },
    streak: { failures, steps, steppedAt, waitsUntil },
  }
}

/** What is known of the database that is replaced. */
export interface Replaced {
  /** Null where that cannot be told: it is damaged or gone, or what is there is not what was there. */
  keys: KeyEnd[] | null
  /** The number of its last event; null where that cannot be told. */
  lastSeq: number | null
  /** The latest time on its record. */
  lastTime: number
  /** There were keys, or may have been. */
  hadKeys: boolean
  /** None where that cannot be told. */
  sessions: Stopped[]
}

/** How much of it there is to end. */
export interface Found {
  pending: number
  unclaimed: number
  grants: number
  links: number
  unsent: number
}

/** How much of it goes on that the backup knows nothing of. */
export interface Kept {
  suspended: number
  streaks: number
}

/** The backup as it will take the place. */
export interface Copy {
  /** The number of the backup's last event. */
  lastSeq: number
  keys: Key[]
  /**
   * Puts the event on record, with a number above all that the replaced database had, and ends what has no events of its
   * own: links, and messages that were still to be sent. (Callbacks that say no are sent: they make nobody act.) Streaks of
   * the replaced database go on where they are longer.
   */
  begin(describe: (found: Found & Kept) => NewEvent): Found & Kept
  /** For everything else that has to end. */
  open(): Store
}

export interface Restored extends Copied {
  /** The number with which the history goes on. */
  nextSeq: number
  /** Where the replaced database is kept, if there was one. */
  kept: string | null
}

export async function restoreDatabase(
  path: string,
  backup: string,
  settle: (copy: Copy, replaced: Replaced) => Promise<void>,
  progress: Progress,
): Promise<Restored> {
  if (!existsSync(backup)) throw new StoreRefused(`There is no file ${backup}.`)
  const file = placeOf(path)
  if (existsSync(file) && realpathSync(backup) === realpathSync(file)) {
    throw new StoreRefused(`${backup} is the database itself; say which backup should take its place.`)
  }
  const lock = takeLock(file)
  const folder = `${file}.restoring`
  try {
    const { seen, ...replaced } = look(file)
    // One that is left was not finished.
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
    const ready = join(folder, basename(file))
    const copied = await copyDatabase(backup, ready, progress)
    const known = Math.max(copied.lastSeq, seen)
    const nextSeq = replaced.lastSeq === null ? known + safeStep : known + 1
    await settle(prepare(ready, copied.lastSeq, nextSeq, replaced.sessions), replaced)
    syncFile(ready)
    // Before the keys are in place, or gone.
    if (replaced.hadKeys || isMarked(ready)) mark(file)
    const kept = keep(file, folder, replaced.keys !== null)
    for (const made of [ready, `${file}.lock`, markerOf(file)]) giveToOwner(file, made)
    renameSync(ready, file)
    syncFolder(dirname(file))
    return { ...copied, nextSeq, kept }
  } catch (error) {
    throw explain(error, `Cannot restore ${backup}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    lock.close()
  }
}

/** Where the database is, or would be. Unlike for a start, none is made. */
function placeOf(path: string): string {
  try {
    makeFolder(dirname(path))
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    return isLink || existsSync(path) ? locate(path) : join(realpathSync(dirname(path)), basename(path))
  } catch (error) {
    throw explain(error, `Cannot restore to ${path}`)
  }
}

/** What the database can still tell; `seen`: the last number found in it, be there others or not. Another program's is refused. */
function look(file: string): Replaced & { seen: number } {
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  const none = { keys: null, lastSeq: null, seen: 0, lastTime: 0, sessions: [] }
  const unknown = { ...none, hadKeys: isThere || isMarked(file) }
  if (!isThere) return unknown
  let db: Database.Database | undefined
  try {
    db = new Database(file, { fileMustExist: true, timeout: 5000 })
    const tables = db.prepare('SELECT name FROM sqlite_schema').pluck().all()
    if (tables.length === 0) return { ...unknown, hadKeys: isMarked(file) }
    if (db.pragma('application_id', { simple: true }) !== applicationId) {
      throw new StoreRefused(
        `${file} is the database of another program. It was left untouched: move it away, or choose another file with --db-path.`,
      )
    }
    if (damageOf(db) !== null) return unknown
    // The first schema had no keys.
    const keys = tables.includes('keys') ? (db.prepare(keyEnds).all() as KeyEnd[]) : []
    const value = (sql: string) => db!.prepare(sql).pluck().get() as number
    const lastSeq = value('SELECT coalesce(max(seq), 0) FROM events')
    // There were keys, and these are not they: what is there was begun anew, or has lost its log.
    if (keys.length === 0 && isMarked(file)) return { ...unknown, seen: lastSeq }
    const sessions = tables.includes('sessions') ? (db.prepare(stoppedOnes).all() as StoppedRow[]).map(readStopped) : []
    return { keys, lastSeq, seen: lastSeq, lastTime: value(lastTime), hadKeys: keys.length > 0, sessions }
  } catch (error) {
    if (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT|IOERR|ERROR)/.test(error.code)) return unknown
    throw error
  } finally {
    db?.close()
  }
}

function prepare(ready: string, lastSeq: number, nextSeq: number, stopped: Stopped[]): Copy {
  const using = <T>(use: (db: Database.Database) => T): T => {
    const db = new Database(ready)
    try {
      return use(db)
    } finally {
      db.close()
    }
  }
  using((db) => migrate(db))
  return {
    lastSeq,
    keys: using(readKeys),
    begin: (describe) => using((db) => db.transaction(() => begin(db, nextSeq, stopped, describe))()),
    open: () => openSqliteStore(ready, onThisThread),
  }
}

function readKeys(db: Database.Database): Key[] {
  const rows = db.prepare(`SELECT ${keys.columns()} FROM keys`).raw().all()
  return (rows as SqlValue[][]).map((row) => keys.read(row))
}

function begin(
  db: Database.Database,
  seq: number,
  stopped: Stopped[],
  describe: (found: Found & Kept) => NewEvent,
): Found & Kept {
  const count = (sql: string) => db.prepare(`SELECT count(*) FROM ${sql}`).pluck().get() as number
  const unsent = `next_at IS NOT NULL AND (channel <> 'callback' OR confirmation_id IN
    (SELECT id FROM confirmations WHERE status IN ('approved', 'auto_approved')))`
  const found: Found & Kept = {
    pending: count("confirmations WHERE status = 'pending'"),
    unclaimed: count("confirmations WHERE execution = 'unclaimed'"),
    grants: count('grants WHERE revoked_at IS NULL AND (max_uses IS NULL OR uses < max_uses)'),
    links: count('links WHERE used_at IS NULL'),
    unsent: count(`deliveries WHERE channel <> 'log' AND ${unsent}`),
    ...keepStreaks(db, stopped),
  }
  const event = describe(found)
  db.prepare(events.insert).run(events.insertValues(event), seq)
  db.prepare('UPDATE links SET version = version + 1, used_at = ? WHERE used_at IS NULL').run(event.at)
  db.prepare(
    `UPDATE deliveries SET version = version + 1, state = 'dropped', next_at = NULL, updated_at = ?,
      error = 'the database was restored from a backup' WHERE ${unsent}`,
  ).run(event.at)
  db.exec('DELETE FROM sign_ins; DELETE FROM sign_in_links')
  return found
}

function keepStreaks(db: Database.Database, stopped: Stopped[]): Kept {
  const longer =
    db.prepare(`${sessions.insert} ON CONFLICT (requester, session_key) DO UPDATE SET version = version + 1,
    failures = excluded.failures, steps = excluded.steps, stepped_at = excluded.stepped_at,
    waits_until = max(waits_until, excluded.waits_until) WHERE excluded.failures > failures`)
  const isSuspended = db.prepare(`SELECT 1 FROM sessions WHERE ${sessions.whereKey} AND suspended_at IS NOT NULL`)
  const kept: Kept = { suspended: 0, streaks: 0 }
  for (const { requester, key, suspension, streak } of stopped) {
    if (suspension !== null && isSuspended.get(requester, key) === undefined) kept.suspended += 1
    if (streak.failures === 0) continue
    const record: Session = { ...unknownSession(requester, key), version: 1, streak }
    kept.streaks += longer.run(sessions.insertValues(record)).changes
  }
  return kept
}

/**
 * Keeps a copy of what is replaced, and leaves nothing beside it that would be read into its successor. Until that is in its
 * place, the old one is in its own.
 */
function keep(file: string, folder: string, isWhole: boolean): string | null {
  const kept = `${file}.replaced-${new Date().toISOString().replace(/[-:.]/g, '')}`
  const isThere = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (isThere) {
    if (isWhole) takeInLog(file)
    const copy = join(folder, 'kept')
    copyFileSync(file, copy, constants.COPYFILE_FICLONE)
    giveToOwner(file, copy)
    syncFile(copy)
    renameSync(copy, kept)
  }
  // The log of one that is damaged belongs to what is kept.
  const beside = ['-wal', '-shm', '-journal'].filter((end) => existsSync(`${file}${end}`))
  for (const end of beside) renameSync(`${file}${end}`, `${kept}${end}`)
  syncFolder(dirname(file))
  return isThere || beside.length > 0 ? kept : null
}

/** One file, complete without another, that nobody has open. */
function takeInLog(file: string): void {
  let db: Database.Database | undefined
  try {
    db = new Database(file, { fileMustExist: true, timeout: 5000 })
    db.pragma('journal_mode = DELETE')
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new StoreRefused(`Another program has the database ${file} open. End that one first; nothing was changed.`)
    }
    throw error
  } finally {
    db?.close()
  }
}

/** Root may restore what belongs to the user who runs the service. */
function giveToOwner(file: string, made: string): void {
  if (process.getuid?.() !== 0 || !existsSync(made)) return
  const { uid, gid } = statSync(file, { throwIfNoEntry: false }) ?? statSync(dirname(file))
  chownSync(made, uid, gid)
}
