// What writes: a group of changes is one transaction and one fsync. Each of them stands or conflicts by itself.
import Database from './driver.js'
import { isMarked, mark } from './marker.js'
import { Outage, watchPlace } from './place.js'
import type {
  ConfirmationRow,
  DeliveryRow,
  EventRow,
  GrantRow,
  KeyedRow,
  KeyRow,
  LinkRow,
  PersonRow,
  StandingRow,
} from './rows.js'

/** A write with its expectation, packed for the way to this thread. */
export type PackedWrite =
  | ['insertConfirmation', ConfirmationRow]
  | ['updateConfirmation', expect: number, id: string, StandingRow]
  | ['insertDelivery', DeliveryRow]
  | ['updateDelivery', expect: number, DeliveryRow]
  | ['putGrant', expect: number | 'absent', GrantRow]
  | ['useGrant', id: string, count: number]
  | ['insertKeyed', KeyedRow]
  | ['insertPerson', PersonRow]
  | ['updatePerson', expect: number, PersonRow]
  | ['insertKey', KeyRow]
  | ['updateKey', expect: number, KeyRow]
  | ['insertLink', LinkRow]
  | ['updateLink', expect: number, LinkRow]
  | ['probe']

export interface PackedChange {
  writes: PackedWrite[]
  events: EventRow[]
}

/** The number of the change's first event, or why there is none; `isUnknown`: it may be there after a crash. */
export type PackedOutcome = number | 'conflict' | { error: string; code: string; isUnknown?: boolean }

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
    confirmationVersion: db.prepare('SELECT version FROM confirmations WHERE id = ?').pluck(),
    insertConfirmation: db.prepare(`INSERT INTO confirmations
      (id, action, description, details, requester, session_key, timeout_seconds, created_at, deadline, digest, callback_url,
       requested_as, on_behalf_of, terms, version, status, resolved_by, resolved_at, resolved_via, reason, votes,
       execution, claim_by, claimed_at, report_by, reported_at, report_message)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    updateConfirmation: db.prepare(`UPDATE confirmations
      SET version = ?, status = ?, resolved_by = ?, resolved_at = ?, resolved_via = ?, reason = ?, votes = ?,
        execution = ?, claim_by = ?, claimed_at = ?, report_by = ?, reported_at = ?, report_message = ? WHERE id = ?`),
    deliveryVersion: db.prepare('SELECT version FROM deliveries WHERE confirmation_id = ? AND channel = ?').pluck(),
    insertDelivery: db.prepare(`INSERT INTO deliveries
      (version, state, attempts, next_at, updated_at, error, confirmation_id, channel, destination)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    // Not an upsert: that opens a statement journal, which costs more than the update.
    updateDelivery: db.prepare(`UPDATE deliveries
      SET version = ?, state = ?, attempts = ?, next_at = ?, updated_at = ?, error = ?
      WHERE confirmation_id = ? AND channel = ?`),
    grantVersion: db
      .prepare(
        `SELECT version FROM grants WHERE action = ? AND scope = ? AND session_key = ? AND requester = ?
          AND conditions = ? AND details_hash = ?`,
      )
      .pluck(),
    putGrant: db.prepare(`INSERT INTO grants
      (action, scope, session_key, requester, conditions, details_hash, id, version, expires_at, max_uses, reason,
       granted_by, proven, created_at, revoked_at, uses, details)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (action, scope, session_key, requester, conditions, details_hash) DO UPDATE SET id = excluded.id, version = excluded.version,
        expires_at = excluded.expires_at, max_uses = excluded.max_uses, reason = excluded.reason,
        granted_by = excluded.granted_by, proven = excluded.proven, created_at = excluded.created_at, revoked_at = excluded.revoked_at,
        uses = CASE WHEN id = excluded.id THEN uses ELSE excluded.uses END`),
    grantUsable: db
      .prepare(
        'SELECT 1 FROM grants WHERE id = ? AND revoked_at IS NULL AND (max_uses IS NULL OR uses + ? <= max_uses)',
      )
      .pluck(),
    useGrant: db.prepare('UPDATE grants SET uses = uses + ? WHERE id = ?'),
    insertKeyed: db.prepare(
      'INSERT INTO idempotency_keys (caller, key, fingerprint, confirmation_id, created_at) VALUES (?, ?, ?, ?, ?)',
    ),
    insertPerson: db.prepare(
      'INSERT INTO people (name, version, telegram_id, discord_id, created_at) VALUES (?, ?, ?, ?, ?)',
    ),
    personVersion: db.prepare('SELECT version FROM people WHERE name = ?').pluck(),
    updatePerson: db.prepare('UPDATE people SET version = ?, telegram_id = ?, discord_id = ? WHERE name = ?'),
    insertKey: db.prepare(`INSERT INTO keys
      (id, version, person, role, hash, created_by, created_at, expires_at, revoked_at, replaced_by)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    keyVersion: db.prepare('SELECT version FROM keys WHERE id = ?').pluck(),
    updateKey: db.prepare('UPDATE keys SET version = ?, expires_at = ?, revoked_at = ?, replaced_by = ? WHERE id = ?'),
    insertLink: db.prepare(`INSERT INTO links
      (hash, version, confirmation_id, recipient, channel, created_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?)`),
    linkVersion: db.prepare('SELECT version FROM links WHERE hash = ?').pluck(),
    updateLink: db.prepare('UPDATE links SET version = ?, used_at = ? WHERE hash = ?'),
    insertEvent: db.prepare(
      'INSERT INTO events (at, type, actor, via, confirmation_id, data, seq) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
  }

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
        for (const event of events) sql.insertEvent.run(...event, ++seq)
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
      case 'updateConfirmation':
        return sql.confirmationVersion.get(write[2]) === write[1]
      case 'updateDelivery':
        return sql.deliveryVersion.get(...write[2].slice(6, 8)) === write[1]
      case 'putGrant':
        return (sql.grantVersion.get(...write[2].slice(0, 6)) ?? 'absent') === write[1]
      case 'useGrant':
        return sql.grantUsable.get(write[1], write[2]) !== undefined
      case 'updatePerson':
        return sql.personVersion.get(write[2][0]) === write[1]
      case 'updateKey':
        return sql.keyVersion.get(write[2][0]) === write[1]
      case 'updateLink':
        return sql.linkVersion.get(write[2][0]) === write[1]
      // What must be absent is found by inserting it.
      case 'insertConfirmation':
      case 'insertDelivery':
      case 'insertKeyed':
      case 'insertPerson':
      case 'insertKey':
      case 'insertLink':
      case 'probe':
        return true
    }
  }

  function write(change: PackedWrite): void {
    switch (change[0]) {
      case 'insertConfirmation':
        sql.insertConfirmation.run(...change[1])
        return
      case 'updateConfirmation':
        sql.updateConfirmation.run(...change[3], change[2])
        return
      case 'insertDelivery':
        sql.insertDelivery.run(...change[1])
        return
      case 'updateDelivery':
        sql.updateDelivery.run(...change[2].slice(0, 8))
        return
      case 'putGrant':
        sql.putGrant.run(...change[2])
        return
      case 'useGrant':
        sql.useGrant.run(change[2], change[1])
        return
      case 'insertKeyed':
        sql.insertKeyed.run(...change[1])
        return
      case 'insertPerson':
        sql.insertPerson.run(...change[1])
        return
      case 'updatePerson': {
        const [name, version, telegramId, discordId] = change[2]
        sql.updatePerson.run(version, telegramId, discordId, name)
        return
      }
      case 'insertKey':
        // Before the commit: a marker without a key keeps everyone out, a key without one might let everyone in later.
        if (!hasMarker) markClosed()
        sql.insertKey.run(...change[1])
        return
      case 'updateKey': {
        const [id, version, , , , , , expiresAt, revokedAt, replacedBy] = change[2]
        sql.updateKey.run(version, expiresAt, revokedAt, replacedBy, id)
        return
      }
      case 'insertLink':
        sql.insertLink.run(...change[1])
        return
      case 'updateLink': {
        const [hash, version, , , , , usedAt] = change[2]
        sql.updateLink.run(version, usedAt, hash)
        return
      }
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
