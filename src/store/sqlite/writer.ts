// What writes: a group of changes is one transaction and one fsync. Each of them stands or conflicts by itself.
import { collectRuns, type PackedRun } from './collect.js'
import { chargeDisk, readDisk } from './disk.js'
import Database from './driver.js'
import { markEvents } from './event-marks.js'
import { countUnfiled, fileConfirmations } from './filing.js'
import { isMarked, mark } from './marker.js'
import { Outage, watchPlace } from './place.js'
import { takeSlots, type Usage } from './quotas.js'
import { countRuns, packStanding, type PackedCounting, type ResetRow } from './sessions.js'
import type { ChatIdentity } from '../../access/person.js'
import { addedOnly, buttons, deliveries, events, keyUses, signIns, tables } from '../records.js'
import type { SqlValue } from '../table.js'

type Kind = keyof typeof tables

/** A write with its expectation, packed for the way to this thread: the values are in the order of the table's statements. */
export type PackedWrite =
  | ['insert', Kind, SqlValue[]]
  | ['update', Kind, expect: number, SqlValue[]]
  | ['use', grantId: string, count: number]
  | ['identities', person: string, ChatIdentity[]]
  | ['voters', confirmationId: string, voters: string[]]
  | ['run_back', id: string]

export type PackedRequirement =
  | ['before', at: number]
  | ['key_live', keyId: string]
  | ['no_keys']
  | ['slot', quota: string, max: number, windowMs: number, count: number]
  | ['disk', share: string, max: number, bytes: number]
  | ['fewer_open', requester: string, below: number]
  | ['nothing_alike', requester: string, digest: string, description: string]
  | ['count', counting: PackedCounting]
  | ['counted', requester: string, sessionKey: string, messages: number, submissions: number]
  | ['not_suspended' | 'not_waiting', requester: string, sessionKey: string]

/** Of a delivery. */
export type PackedKey = [subjectId: string, channel: string, destination: string, occasion: string]

export type Job = PackedChange | Task

export interface PackedChange {
  writes: PackedWrite[]
  requires: PackedRequirement[]
  events: SqlValue[][]
}

/** What is written beside the history. `rows` of its outcome are what it answers with. */
export type Task =
  | ['probe']
  | ['claim', leaseMs: number, deliveries: PackedKey[]]
  | ['release', leases: [...PackedKey, version: number][]]
  | ['drop', lease: [...PackedKey, version: number]]
  | ['slot', quota: string, max: number, windowMs: number]
  | ['show', shown: number | null, PackedKey]
  | ['buttons', values: SqlValue[][]]
  | ['own_buttons', PackedKey]
  | ['inbox', channel: string, cursor: string]
  | ['sign_in', values: SqlValue[], place: string, keyId: string, maxPerKey: number]
  | ['sign_out', place: string]
  | ['key_uses', values: SqlValue[][]]
  | ['count', counting: PackedCounting]
  | ['set_reset', all: ResetRow[]]
  | ['set_back', now: number]
  | ['collect', runs: PackedRun[]]
  | ['mark_events']

/**
 * The number of the change's first event, and behind it `remaining` and `resetMs` of each quota it took from and how each session
 * stands that it counted in; or why there is none: the place of the first requirement that was not met, or an error. `isUnknown`: it may be there after a crash.
 */
export type PackedOutcome =
  | number
  | number[]
  | 'conflict'
  | { unmet: number; quota: Usage['quota'] | null }
  | { rows: SqlValue[][] }
  | { error: string; code: string; isUnknown?: boolean }

/** Slots that a change is about to take. */
interface Taken {
  quota: string
  windowMs: number
  lastN: number
  count: number
  remaining: number
  resetMs: number
}

type Statement = ReturnType<Database.Database['prepare']>

/** What was sent together, and when: by that time its deadlines are judged. */
export type Packet = [jobs: Job[], sentAt: number]

export interface Writer {
  /** What came of each, in order, in one transaction. Never throws. */
  write(packets: Packet[]): PackedOutcome[]
  /** Between two transactions, once the first one's callers are told: files what came, a part at a time, and keeps the log short. */
  tidy(): void
  close(): void
}

/**
 * So many confirmations, and then the next kind of file has its turn: pages of each have several of those that came since its
 * last one, and looking through them takes half a millisecond.
 */
const enoughToFile = 250

/** So many jobs: most pages are written once for many of them, and it is done in some ten milliseconds. */
const enoughToTidy = 1000

/** More events than a database can have that nobody can look into any more: a history that goes on starts above it. */
export const safeStep = 1_000_000_000

export function openWriter(file: string): Writer {
  const db = new Database(file, { timeout: 5000 })
  db.pragma('synchronous = FULL')
  db.pragma('fullfsync = ON')
  db.pragma('recursive_triggers = ON')
  // What one transaction writes beyond this is checkpointed in it; the rest in between, by `tidy`.
  db.pragma('wal_autocheckpoint = 10000')
  // After a burst the log shrinks back to this at the next checkpoint.
  db.pragma('journal_size_limit = 67108864')
  if (db.pragma('synchronous', { simple: true }) !== 2) throw new Error('synchronous=FULL did not take')

  const sql = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    checkpoint: db.prepare('PRAGMA wal_checkpoint(PASSIVE)'),
    rollback: db.prepare('ROLLBACK'),
    lastSeq: db.prepare('SELECT coalesce(max(seq), 0) FROM events').pluck(),
    probe: db.prepare('UPDATE probe SET count = count + 1'),
    grantUsable: db
      .prepare(
        'SELECT 1 FROM grants WHERE id = ? AND revoked_at IS NULL AND (max_uses IS NULL OR uses + ? <= max_uses)',
      )
      .pluck(),
    useGrant: db.prepare('UPDATE grants SET uses = uses + ? WHERE id = ?'),
    claim: db
      .prepare(
        `UPDATE deliveries SET leased_until = ?, version = version + 1
        WHERE ${deliveries.whereKey} AND (next_at <= ? OR state = 'collected') AND coalesce(leased_until, 0) <= ?
        RETURNING version`,
      )
      .pluck(),
    release: db.prepare(`UPDATE deliveries SET leased_until = NULL WHERE ${deliveries.whereKey} AND version = ?`),
    drop: db.prepare(
      `UPDATE deliveries SET state = 'dropped', next_at = NULL, leased_until = NULL, version = version + 1, updated_at = ?
      WHERE ${deliveries.whereKey} AND version = ?`,
    ),
    show: db.prepare(`UPDATE deliveries SET shown = ? WHERE ${deliveries.whereKey} AND shown IS NOT NULL`),
    insertButton: db.prepare(buttons.insert),
    removeButtons: db.prepare(`DELETE FROM buttons WHERE ${deliveries.whereKey}`),
    removeOwnButtons: db.prepare(`DELETE FROM buttons WHERE ${deliveries.whereKey} AND presser IS NOT NULL`),
    noteInbox: db.prepare('INSERT INTO inbox VALUES (?, ?) ON CONFLICT DO UPDATE SET cursor = excluded.cursor'),
    signIn: db.prepare(signIns.insert),
    signOut: db.prepare('DELETE FROM sign_ins WHERE place_hash = ?'),
    removeEnded: db.prepare('DELETE FROM sign_ins WHERE ends_at <= ?'),
    removeOldest: db.prepare(`DELETE FROM sign_ins WHERE key_id = @keyId AND place_hash NOT IN (
      SELECT place_hash FROM sign_ins WHERE key_id = @keyId ORDER BY place_hash = @place DESC, created_at DESC LIMIT @most)`),
    useKey: db.prepare(`${keyUses.insert} ON CONFLICT DO UPDATE SET used_at = max(used_at, excluded.used_at)`),
    anyKey: db.prepare('SELECT 1 FROM keys LIMIT 1').pluck(),
    keyLive: db
      .prepare('SELECT 1 FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)')
      .pluck(),
    countOpen: db.prepare('SELECT open FROM open_counts WHERE requester = ?').pluck(),
    alike: db
      .prepare(
        `SELECT 1 FROM confirmations INDEXED BY confirmations_alike
        WHERE status = 'pending' AND joins = 1 AND requester = ? AND digest = ? AND description = ? AND deadline > ? LIMIT 1`,
      )
      .pluck(),
    idempotency: db.prepare('SELECT 1 FROM idempotency_keys WHERE caller = ? AND key = ?').pluck(),
    insertEvent: db.prepare(events.insert),
    forgetIdentities: db.prepare('DELETE FROM chat_identities WHERE person = ?'),
    insertIdentity: db.prepare('INSERT INTO chat_identities (channel, id, person) VALUES (?, ?, ?)'),
    insertVoter: db.prepare(`INSERT OR IGNORE INTO voters (voter, created_at, arrival)
      SELECT ?, created_at, arrival FROM confirmations WHERE id = ?`),
  }
  const records = Object.fromEntries(
    Object.entries(tables).map(([kind, { name, insert, update, whereKey, keySize }]) => [
      kind,
      {
        insert: db.prepare(insert),
        ...(addedOnly.has(kind)
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

  const slots = takeSlots(db)
  const diskOf = readDisk(db)
  const charge = chargeDisk(db)
  const sessions = countRuns(db)
  const collect = collectRuns(db)
  const markNext = markEvents(db)

  // There were keys, so there were events, whose numbers are not used again.
  const step = sql.lastSeq.get() === 0 && isMarked(file) ? safeStep : 0
  const findLastSeq = () => Math.max(step, sql.lastSeq.get() as number)
  let lastSeq = findLastSeq()
  const place = watchPlace(file)
  let hasMarker = false
  /** By the last packet. */
  let now = 0
  /** How many were committed since the log was tidied. */
  let untidy = 0
  /** What is filed, each at its turn. */
  const files = [
    ...fileConfirmations(db).map((fileNext) => () => {
      while (fileNext() > 0);
    }),
    fileSlots,
  ]
  let turn = 0
  /** So many confirmations came since the last turn. */
  let unfiled = countUnfiled(db)
  /** What this transaction has looked up: null and nothing before it has. */
  let hasKeys: boolean | null = null
  const usages = new Map<string, { max: number; windowMs: number; usage: Usage }>()
  /** By share: how many bytes were left, by which limit, and what the transaction adds, which is written at its end. */
  const disks = new Map<string, { max: number; remaining: number; added: number }>()

  function writeAll(packets: Packet[]): PackedOutcome[] {
    try {
      return writeGroup(packets)
    } catch (error) {
      if (isOutage(error)) return packets.flatMap(([jobs]) => jobs.map(() => pack(error)))
      // One change that cannot be written, or expected something absent that is there, must not take the others down.
      return packets.flatMap(([jobs, sentAt]) => jobs.map((job) => writeOne(job, sentAt)))
    }
  }

  function writeOne(job: Job, sentAt: number): PackedOutcome {
    try {
      return writeGroup([[[job], sentAt]])[0]!
    } catch (error) {
      return isTaken(error) ? 'conflict' : pack(error)
    }
  }

  function writeGroup(packets: Packet[]): PackedOutcome[] {
    const before = lastSeq
    hasKeys = null
    usages.clear()
    disks.clear()
    sql.begin.run()
    try {
      const outcomes: PackedOutcome[] = []
      slots.recall()
      for (const [jobs, sentAt] of packets) {
        for (const job of jobs) outcomes.push(Array.isArray(job) ? doTask(job, sentAt) : writeChange(job, sentAt))
      }
      now = packets.at(-1)![1]
      for (const [share, { added }] of disks) if (added > 0) charge(share, now, added)
      commit()
      untidy += outcomes.length
      return outcomes
    } catch (error) {
      if (db.inTransaction) sql.rollback.run()
      slots.forget()
      // Somebody else may have appended: the next attempt counts from what is there.
      lastSeq = isOutage(error) ? before : findLastSeq()
      throw error
    }
  }

  function writeChange({ writes, requires, events }: PackedChange, now: number): PackedOutcome {
    if (!writes.every(holds)) return 'conflict'
    const taken: Taken[] = []
    for (const [place, requirement] of requires.entries()) {
      if (requirement[0] === 'slot') {
        const slot = findRoom(requirement, now, taken)
        if ('used' in slot) return { unmet: place, quota: slot.quota }
        taken.push(slot)
      } else if (requirement[0] === 'disk') {
        const quota = findDisk(requirement, now, requires)
        if (quota !== null) return { unmet: place, quota }
      } else if (!isMet(requirement, now)) return { unmet: place, quota: null }
    }
    writes.forEach(write)
    for (const one of requires) if (one[0] === 'disk') disks.get(one[1])!.added += one[3]
    const first = lastSeq + 1
    for (const event of events) sql.insertEvent.run(event, ++lastSeq)
    const standings: number[] = []
    for (const one of requires) {
      if (one[0] !== 'count') continue
      standings.push(...packStanding(sessions.count(one[1])))
    }
    if (taken.length === 0 && standings.length === 0) return first
    const outcome = [first]
    for (const { quota, windowMs, lastN, count, remaining, resetMs } of taken) {
      slots.take(quota, now, windowMs, lastN, count)
      addUse(quota, count)
      outcome.push(remaining, resetMs)
    }
    outcome.push(...standings)
    return outcome
  }

  function doTask(task: Task, now: number): { rows: SqlValue[][] } {
    switch (task[0]) {
      case 'probe':
        sql.probe.run()
        return { rows: [] }
      case 'claim': {
        const [, leaseMs, keys] = task
        const versions = keys.map((key) => sql.claim.get(now + leaseMs, ...key, now, now) as number | undefined)
        return { rows: versions.flatMap((version, place) => (version === undefined ? [] : [[place, version]])) }
      }
      case 'release':
        for (const lease of task[1]) sql.release.run(...lease)
        return { rows: [] }
      case 'slot': {
        const [, quota, max, windowMs] = task
        const room = findRoom(['slot', quota, max, windowMs, 1], now, [])
        if ('used' in room) return { rows: [] }
        slots.take(quota, now, windowMs, room.lastN, 1)
        addUse(quota, 1)
        return { rows: [[1]] }
      }
      case 'drop':
        sql.drop.run(now, ...task[1])
        return { rows: [] }
      case 'show':
        sql.show.run(task[1], ...task[2])
        if (task[1] === null) sql.removeButtons.run(...task[2])
        return { rows: [] }
      case 'buttons':
        for (const values of task[1]) sql.insertButton.run(values)
        return { rows: [] }
      case 'own_buttons':
        sql.removeOwnButtons.run(...task[1])
        return { rows: [] }
      case 'inbox':
        sql.noteInbox.run(task[1], task[2])
        return { rows: [] }
      case 'sign_in': {
        const [, values, place, keyId, most] = task
        sql.removeEnded.run(now)
        sql.signIn.run(values)
        sql.removeOldest.run({ keyId, place, most })
        return { rows: [] }
      }
      case 'sign_out':
        sql.signOut.run(task[1])
        return { rows: [] }
      case 'key_uses':
        for (const values of task[1]) sql.useKey.run(values)
        return { rows: [] }
      case 'count':
        return { rows: sessions.holds(task[1]) ? [packStanding(sessions.count(task[1]))] : [] }
      case 'set_reset':
        sessions.setReset(task[1])
        return { rows: [] }
      case 'set_back':
        sessions.setBack(task[1])
        return { rows: [] }
      case 'mark_events':
        return { rows: markNext() ? [[1]] : [] }
      case 'collect':
        return { rows: collect(task[1], now).map((place) => [place]) }
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
      // What must be absent is found by inserting it. Requests that are sent twice at once are usual, so these look first.
      case 'insert':
        if (write[1] === 'session') return !sessions.isKnown(write[2])
        return write[1] !== 'idempotency' || sql.idempotency.get(write[2].slice(0, 2)) === undefined
      case 'run_back':
        return sessions.isPast(write[1])
      case 'identities':
      case 'voters':
        return true
    }
  }

  function isMet(requirement: Exclude<PackedRequirement, ['slot' | 'disk', ...unknown[]]>, now: number): boolean {
    switch (requirement[0]) {
      case 'before':
        return now < requirement[1]
      case 'key_live':
        return sql.keyLive.get(requirement[1], now) !== undefined
      case 'no_keys':
        hasKeys ??= sql.anyKey.get() !== undefined
        return !hasKeys
      case 'fewer_open':
        return ((sql.countOpen.get(requirement[1]) as number | undefined) ?? 0) < requirement[2]
      case 'nothing_alike':
        return sql.alike.get(requirement[1], requirement[2], requirement[3], now) === undefined
      case 'count':
        return sessions.holds(requirement[1])
      case 'counted':
        return sessions.isCounted(requirement[1], requirement[2], requirement[3], requirement[4])
      case 'not_suspended':
        return !sessions.isSuspended(requirement[1], requirement[2])
      case 'not_waiting':
        return !sessions.isWaiting(requirement[1], requirement[2], now)
    }
  }

  /** Room for these slots beside those that the same change takes, or how the quota is used where there is none. */
  function findRoom(
    [, quota, max, windowMs, count]: Extract<PackedRequirement, ['slot', ...unknown[]]>,
    now: number,
    taken: Taken[],
  ): Taken | Usage {
    const usage = findUsage(quota, now, max, windowMs)
    let own = 0
    for (const one of taken) if (one.quota === quota) own += one.count
    const remaining = max - usage.used - own - count
    if (remaining < 0) return { ...usage, quota: { ...usage.quota } }
    return { quota, windowMs, lastN: usage.lastN + own, count, remaining, resetMs: usage.quota.resetMs || windowMs }
  }

  /** Null: there is room for what the change writes. Else how much is left. */
  function findDisk(
    [, share, max, bytes]: Extract<PackedRequirement, ['disk', ...unknown[]]>,
    now: number,
    requires: PackedRequirement[],
  ): Usage['quota'] | null {
    let known = disks.get(share)
    if (known?.max !== max) {
      // Another limit on the same share: what this transaction has added is not on disk yet.
      known = { max, remaining: diskOf(share, now, max, 0).remaining, added: known?.added ?? 0 }
      disks.set(share, known)
    }
    let wanted = 0
    for (const one of requires) if (one[0] === 'disk' && one[1] === share) wanted += one[3]
    const remaining = Math.max(0, known.remaining - known.added)
    return wanted <= remaining ? null : { remaining, resetMs: diskOf(share, now, max, known.added + bytes).resetMs }
  }

  function findUsage(quota: string, now: number, max: number, windowMs: number): Usage {
    const known = usages.get(quota)
    if (known?.max === max && known.windowMs === windowMs) return known.usage
    let usage = slots.usageOf(quota, now, { max, windowMs })
    if (usage.isAhead) {
      slots.clamp(quota, now)
      usage = slots.usageOf(quota, now, { max, windowMs })
    }
    usages.set(quota, { max, windowMs, usage })
    return usage
  }

  /** So that the next change of the group that wants a slot of it need not look again. */
  function addUse(quota: string, count: number): void {
    const { windowMs, usage } = usages.get(quota)!
    usage.used += count
    usage.lastN += count
    usage.quota.remaining = Math.max(0, usage.quota.remaining - count)
    usage.quota.resetMs ||= windowMs
  }

  function write(change: PackedWrite): void {
    switch (change[0]) {
      case 'insert':
        if (change[1] === 'key') hasKeys = true
        // Before the commit: a marker without a key keeps everyone out, a key without one might let everyone in later.
        if (change[1] === 'key' && !hasMarker) markClosed()
        records[change[1]].insert.run(change[2])
        if (change[1] === 'confirmation') unfiled += 1
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
      case 'voters':
        for (const voter of change[2]) sql.insertVoter.run(voter, change[1])
        return
      case 'run_back':
        sessions.bringBack(change[1])
        return
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

  /** One thing at a time: what comes meanwhile waits. After a failure there is as much to do as before, and the next time comes. */
  function tidy(): void {
    try {
      if (slots.hasEnough()) inTransaction(fileSlots)
      else if (unfiled >= enoughToFile) fileNext()
      else if (untidy >= enoughToTidy) checkpoint()
    } catch (error) {
      if (db.inTransaction) sql.rollback.run()
      slots.forget()
      if (!isOutage(error)) throw error
    }
  }

  function fileNext(): void {
    unfiled = 0
    inTransaction(files[turn]!)
    turn = (turn + 1) % files.length
  }

  function fileSlots(): void {
    slots.recall()
    slots.file(now)
  }

  function inTransaction(some: () => void): void {
    sql.begin.run()
    some()
    commit()
    untidy += 1
  }

  function checkpoint(): void {
    untidy = 0
    place.assertUntouched()
    sql.checkpoint.all()
    place.settle()
  }

  return { write: writeAll, tidy, close: () => db.close() }
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
