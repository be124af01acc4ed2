// The store on SQLite: this thread reads, the writer's thread commits. Changes that arrive together share one fsync.
import { systemClock } from '../../clock.js'
import type { Key } from '../../access/key.js'
import type { Link } from '../../access/link.js'
import type { Actor } from '../../core/actor.js'
import { events, idempotency, idempotencyOwner, keys, links, tables } from '../records.js'
import { type Change, type Committed, OutcomeUnknown, type Store, StoreUnavailable, type Write } from '../store.js'
import type { SqlValue, Table } from '../table.js'
import { readConfirmations } from './confirmations.js'
import { openDatabase } from './database.js'
import { readDeliveries } from './deliveries.js'
import type Database from './driver.js'
import { readEvents } from './events.js'
import { readGrants } from './grants.js'
import { readPeople } from './people.js'
import { anyConfirmation, anyGrant, type AssertKnown, read, toError } from './reading.js'
import type { PackedChange, PackedOutcome, PackedWrite } from './writer.js'
import { onThread, type OpenWriting } from './writing.js'

/** Sent at once when the writer is idle: enough to share an fsync, few enough to leave work for meanwhile. */
const worthSending = 12
/** Bounds one transaction, and with it how long its first change waits for its last. */
const maxGroup = 1000
/** How long after a failed commit the next one is tried that settles what came of it. */
const settleRetryMs = 1000

interface Waiting {
  change: Change | 'probe'
  packed: PackedChange
  done(outcome: Committed | 'conflict'): void
  fail(error: Error): void
}

/** `now` is the service's clock, by which deadlines of changes are judged. */
export function openSqliteStore(
  path: string,
  openWriting: OpenWriting = onThread,
  now: () => number = systemClock().now,
): Store {
  /** Records of which a failed commit may have written another state than can be read here. */
  const unknown = new Set<string>()
  const { file, prepared: reading, hadKeys, release } = openDatabase(path, (db) => prepare(db, assertKnown))
  const { grants, ...nouns } = reading
  const writer = openWriting(file, settleGroup, failAll)
  const listeners = new Set<(committed: Committed) => void>()
  let queue: Waiting[] = []
  let writing: Waiting[] = []
  /** When the group that is being written was sent, and whoever waits for its end. */
  let began = 0
  let whenOver: (() => void)[] = []
  let closing: (() => void) | null = null
  let settling: NodeJS.Timeout | null = null

  function settleGroup(outcomes: PackedOutcome[]): void {
    const group = writing
    const waiting = whenOver
    writing = []
    whenOver = []
    noteUnknown(group, outcomes)
    // The next group is on its way before this one's callers are told.
    send()
    group.forEach((one, index) => settle(one, outcomes[index]!))
    waiting.forEach((go) => go())
    closeIfDone()
  }

  function closeIfDone(): void {
    if (closing !== null && queue.length === 0 && writing.length === 0) closing()
  }

  /** A commit that is on disk has taken the place of the one that failed before it. */
  function noteUnknown(group: Waiting[], outcomes: PackedOutcome[]): void {
    if (outcomes.some((outcome) => typeof outcome === 'number')) unknown.clear()
    const failed = group.filter((_, index) => isUnknown(outcomes[index]!))
    for (const { change } of failed) {
      if (change !== 'probe') for (const record of change.writes.flatMap(recordsOf)) unknown.add(record)
    }
    if (unknown.size > 0) settleSoon()
  }

  /** Tries a commit, again and again until there is one. */
  function settleSoon(): void {
    settling ??= setTimeout(() => {
      settling = null
      if (unknown.size > 0 && closing === null) enqueue('probe').catch(settleSoon)
    }, settleRetryMs).unref()
  }

  function assertKnown(record: string): void {
    if (unknown.has(record)) throw new OutcomeUnknown(`a failed commit may have changed ${record}`)
  }

  /** A writer that dies without a word leaves nobody waiting; the process goes down with it. */
  function failAll(error: Error): void {
    for (const one of writing) one.fail(new OutcomeUnknown(error.message))
    for (const one of queue) one.fail(error)
    throw error
  }

  function enqueue(change: Change | 'probe'): Promise<Committed | 'conflict'> {
    if (closing !== null) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((done, fail) => {
      queue.push({ change, packed: pack(change), done, fail })
      // What the same turn of the event loop brings joins the group, unless there is enough to keep the writer busy
      // while this thread takes in the rest.
      if (queue.length === 1) setImmediate(send)
      else if (queue.length >= worthSending) send()
    })
  }

  /** The writer is idle, so this is when the transaction begins: what comes too late for its deadline stays out. */
  function send(): void {
    if (writing.length > 0 || queue.length === 0) return
    began = now()
    const group = queue.slice(0, maxGroup)
    queue = queue.slice(maxGroup)
    writing = group.filter(({ change }) => !isLate(change, began))
    for (const { change, done } of group) if (isLate(change, began)) done('conflict')
    if (writing.length > 0) writer.start(writing.map(({ packed }) => packed))
    else if (queue.length > 0) send()
    else closeIfDone()
  }

  function settle({ change, done, fail }: Waiting, outcome: PackedOutcome): void {
    if (outcome === 'conflict') return done('conflict')
    if (typeof outcome === 'object') return fail(toError(outcome))
    if (change === 'probe') return done({ writes: [], events: [] })
    const events = change.events.map((event, index) => ({ seq: outcome + index, ...event }))
    const committed = { writes: change.writes, events }
    for (const write of change.writes) if (write.kind === 'grant') grants.noteGrant(write.record)
    listeners.forEach((listener) => listener(committed))
    done(committed)
  }

  return {
    hadKeys,

    commit: enqueue,

    settledBefore: (at) =>
      writing.length > 0 && began < at ? new Promise((go) => void whenOver.push(go)) : Promise.resolve(),

    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    ...nouns,
    grants,

    async probe() {
      await enqueue('probe')
    },

    async close() {
      if (closing !== null) return
      await new Promise<void>((resolve) => {
        closing = resolve
        closeIfDone()
      })
      await writer.close()
      release()
    },
  }
}

/** What can be read, by noun. */
function prepare(db: Database.Database, assertKnown: AssertKnown) {
  const one = <W, T>(table: Table<W, T>) => {
    const statement = db.prepare(`SELECT ${table.columns()} FROM ${table.name} WHERE ${table.whereKey}`).raw()
    return read((...key: string[]): T | undefined => {
      const row = statement.get(...key) as SqlValue[] | undefined
      return row && table.read(row)
    })
  }
  const all = <T>(table: Table<T>) => {
    const statement = db.prepare(`SELECT ${table.columns()} FROM ${table.name}`).raw()
    return read(() => (statement.all() as SqlValue[][]).map((row) => table.read(row)))
  }
  const secret = db.prepare("SELECT value FROM secrets WHERE name = 'cursors'").pluck()
  const sent = one(idempotency)
  return {
    confirmations: readConfirmations(db, assertKnown),
    grants: readGrants(db, assertKnown),
    deliveries: readDeliveries(db),
    events: readEvents(db, assertKnown),
    idempotency: { get: (caller: Actor, key: string) => sent(idempotencyOwner(caller), key) },
    people: readPeople(db),
    keys: { list: all<Key>(keys) },
    links: { get: one<Link, Link>(links) },
    secret: read(() => secret.get() as string),
  }
}

/** What a failed write leaves in doubt. */
function recordsOf(write: Write): string[] {
  if (write.kind === 'confirmation') return [write.record.id, anyConfirmation]
  return write.kind === 'grant' || write.kind === 'use' ? [anyGrant] : []
}

function isUnknown(outcome: PackedOutcome): boolean {
  return typeof outcome === 'object' && outcome.isUnknown === true
}

function isLate(change: Change | 'probe', now: number): boolean {
  return change !== 'probe' && change.before !== undefined && now >= change.before
}

function pack(change: Change | 'probe'): PackedChange {
  if (change === 'probe') return { writes: [['probe']], events: [] }
  const writes: PackedWrite[] = []
  for (const write of change.writes) {
    writes.push(packWrite(write))
    if (write.kind === 'person') writes.push(['identities', write.record.name, write.record.identities])
  }
  return { writes, events: change.events.map(events.insertValues) }
}

function packWrite(write: Write): PackedWrite {
  if (write.kind === 'use') return ['use', write.grantId, write.count]
  // The kinds and their tables go together, which the type of a union cannot say.
  const table = tables[write.kind] as Table<Write extends { record: infer R } ? R : never>
  const expect = write.kind === 'idempotency' ? 'absent' : write.expect
  if (expect === 'absent') return ['insert', write.kind, table.insertValues(write.record as never)]
  return ['update', write.kind, expect, table.updateValues(write.record as never)]
}
