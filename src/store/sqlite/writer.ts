// What writes: a group of changes is one transaction and one fsync. Each of them stands or conflicts by itself.
import Database from './driver.js'
import { isMarked, mark } from './marker.js'
import { Outage, watchPlace } from './place.js'
import type { ChatIdentity } from '../../access/person.js'
import { events, tables } from '../records.js'
import type { SqlValue } from '../table.js'

type Kind = keyof typeof tables

/** A write with its expectation, packed for the way to this thread: the values are in the order of the table's statements. */
export type PackedWrite =
  | ['insert', Kind, SqlValue[]]
  | ['update', Kind, expect: number, SqlValue[]]
  | ['use', grantId: string, count: number]
  | ['identities', person: string, ChatIdentity[]]
  | ['probe']

export interface PackedChange {
  writes: PackedWrite[]
  events: SqlValue[][]
}

/** The number of the change's first event, or why there is none; `isUnknown`: it may be there after a crash. */
export type PackedOutcome = number | 'conflict' | { error: string; code: string; isUnknown?: boolean }

type Statement = ReturnType<Database.Database['prepare']>

export interface Writer {
  /** What came of each, in order. Never throws. */
  write(group: PackedChange[]): PackedOutcome[]
  close(): void
}

/** More events than a database can have that nobody can look into any more: a history that goes on starts above it. */
export const safeStep = 1_000_000_000

export function openWriter(file: string): Writer {
  const db = new Database(file, { timeout: 5000 })
  db.pragma('synchronous = FULL')
  db.pragma('fullfsync = ON')
  db.pragma('recursive_triggers = ON')
  // After a burst the log shrinks back to this at the next checkpoint.
  db.pragma('journal_size_limit = 67108864')
  if (db.pragma('synchronous', { simple: true }) !== 2) throw new Error('synchronous=FULL did not take')

  const sql = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    lastSeq: db.prepare('SELECT coalesce(max(seq), 0) FROM events').pluck(),
    probe: db.prepare('UPDATE probe SET count = count + 1'),
    grantUsable: db
      .prepare(
        'SELECT 1 FROM grants WHERE id = ? AND revoked_at IS NULL AND (max_uses IS NULL OR uses + ? <= max_uses)',
      )
      .pluck(),
    useGrant: db.prepare('UPDATE grants SET uses = uses + ? WHERE id = ?'),
    insertEvent: db.prepare(events.insert),
    forgetIdentities: db.prepare('DELETE FROM chat_identities WHERE person = ?'),
    insertIdentity: db.prepare('INSERT INTO chat_identities (channel, id, person) VALUES (?, ?, ?)'),
  }
  const records = Object.fromEntries(
    Object.entries(tables).map(([kind, { name, insert, update, whereKey, keySize }]) => [
      kind,
      {
        insert: db.prepare(insert),
        // What is only ever added has no version.
        ...(kind === 'idempotency'
          ? {}
          : {
              // Not an upsert: that opens a statement journal, which costs more than the update.
              update: db.prepare(update),
              version: db.prepare(`SELECT version FROM ${name} WHERE ${whereKey}`).pluck(),
            }),
        keySize,
      },
    ]),
  ) as Record<Kind, { insert: Statement; update: Statement; version: Statement; keySize: number }>

  // There were keys, so there were events, whose numbers are not used again.
  const step = sql.lastSeq.get() === 0 && isMarked(file) ? safeStep : 0
  const findLastSeq = () => Math.max(step, sql.lastSeq.get() as number)
  let lastSeq = findLastSeq()
  const place = watchPlace(file)
  let hasMarker = false

  function writeAll(group: PackedChange[]): PackedOutcome[] {
    try {
      return writeGroup(group)
    } catch (error) {
      if (isOutage(error)) return group.map(() => pack(error))
      // One change that cannot be written, or expected something absent that is there, must not take the others down.
      return group.map(writeOne)
    }
  }

  function writeOne(change: PackedChange): PackedOutcome {
    try {
      return writeGroup([change])[0]!
    } catch (error) {
      return isTaken(error) ? 'conflict' : pack(error)
    }
  }

  function writeGroup(group: PackedChange[]): PackedOutcome[] {
    let seq = lastSeq
    sql.begin.run()
    try {
      const outcomes = group.map(({ writes, events }) => {
        if (!writes.every(holds)) return 'conflict'
        writes.forEach(write)
        const first = seq + 1
        for (const event of events) sql.insertEvent.run(event, ++seq)
        return first
      })
      commit()
      lastSeq = seq
      return outcomes
    } catch (error) {
      if (db.inTransaction) sql.rollback.run()
      // Somebody else may have appended: the next attempt counts from what is there.
      if (!isOutage(error)) lastSeq = findLastSeq()
      throw error
    }
  }

  /**
   * What the disk did not confirm may be whole on it all the same, and be found after a crash. What went into a file that is
   * no longer in its place may come back with that file.
   */
  function commit(): void {
    place.assertUntouched()
    try {
      sql.commit.run()
      place.settle()
    } catch (error) {
      const { message, code } = error as Error & { code: string }
      if (error instanceof Outage || code.startsWith('SQLITE_IOERR')) throw new Outage(message, code, true)
      throw error
    }
  }

  /** Expectations of a version are checked before the first write; a conflict found later undoes what was written. */
  function holds(write: PackedWrite): boolean {
    switch (write[0]) {
      case 'update': {
        const [, kind, expect, values] = write
        const { version, keySize } = records[kind]
        return version.get(values.slice(-keySize)) === expect
      }
      case 'use':
        return sql.grantUsable.get(write[1], write[2]) !== undefined
      // What must be absent is found by inserting it.
      case 'insert':
      case 'identities':
      case 'probe':
        return true
    }
  }

  function write(change: PackedWrite): void {
    switch (change[0]) {
      case 'insert':
        // Before the commit: a marker without a key keeps everyone out, a key without one might let everyone in later.
        if (change[1] === 'key' && !hasMarker) markClosed()
        records[change[1]].insert.run(change[2])
        return
      case 'update':
        records[change[1]].update.run(change[3])
        return
      case 'use':
        sql.useGrant.run(change[2], change[1])
        return
      case 'identities':
        sql.forgetIdentities.run(change[1])
        for (const { channel, id } of change[2]) sql.insertIdentity.run(channel, id, change[1])
        return
      case 'probe':
        sql.probe.run()
    }
  }

  function markClosed(): void {
    try {
      mark(file)
      hasMarker = true
    } catch (error) {
      throw new Outage((error as Error).message, 'MARKER')
    }
  }

  return { write: writeAll, close: () => db.close() }
}

function isTaken(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(error.code)
}

function isOutage(error: unknown): boolean {
  if (error instanceof Outage) return true
  return error instanceof Database.SqliteError && !error.code.startsWith('SQLITE_CONSTRAINT')
}

function pack(error: unknown): PackedOutcome {
  const isCoded = error instanceof Database.SqliteError || error instanceof Outage
  const isUnknown = error instanceof Outage && error.isUnknown
  return { error: (error as Error).message, code: isCoded ? error.code : '', ...(isUnknown ? { isUnknown } : {}) }
}
