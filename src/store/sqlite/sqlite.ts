// The store on SQLite: this thread reads, the writer's thread commits. Changes that arrive together share one fsync.
import { systemClock } from '../../clock.js'
import type { Key, KeyUse } from '../../access/key.js'
import type { Instance } from '../../access/instance.js'
import type { Button } from '../../access/button.js'
import type { Link } from '../../access/link.js'
import type { SignIn, SignInLink } from '../../access/sign-in.js'
import type { AuditEvent } from '../../audit/event.js'
import type { Actor } from '../../core/actor.js'
import type { Alarm, ChannelName, DeliveryKey } from '../../core/model.js'
import type { Quota, RateLimit } from '../../policy/window.js'
import {
  alarms,
  buttons,
  events,
  idempotency,
  idempotencyOwner,
  instances,
  namedActs,
  keys,
  keyUses,
  links,
  signInLinks,
  signIns,
  tables,
  votersOf,
} from '../records.js'
import {
  type Change,
  type Claimed,
  type CommitOutcome,
  type Commits,
  type Committed,
  OutcomeUnknown,
  type Reference,
  type Requirement,
  type Store,
  StoreUnavailable,
  type Write,
} from '../store.js'
import type { SqlValue, Table } from '../table.js'
import { readConfirmations } from './confirmations.js'
import { packRun } from './collect.js'
import { openDatabase } from './database.js'
import { readDeliveries } from './deliveries.js'
import { readDisk } from './disk.js'
import type Database from './driver.js'
import { thousandOf } from './event-marks.js'
import { readEvents } from './events.js'
import { readGrants } from './grants.js'
import { readPeople } from './people.js'
import { countSlots, readUsage } from './quotas.js'
import { anyConfirmation, anyGrant, type AssertKnown, read, readNow, toError } from './reading.js'
import { createSessionCache, type SessionCache } from './session-cache.js'
import { packCounting, readSessions, type ResetRow, sessionName, standingSize, unpackStanding } from './sessions.js'
import type { Job, PackedChange, PackedKey, PackedOutcome, PackedRequirement, PackedWrite, Task } from './writer.js'
import { onThread, type OpenWriting } from './writing.js'

/** Sent before the turn of the event loop is over: enough to be worth a message to the writer, few enough not to keep it waiting. */
const worthSending = 16
/** How many times as long as marking events took nobody marks any. */
const restPart = 9
/** How long after a failed commit the next one is tried that settles what came of it. */
const settleRetryMs = 1000

interface Waiting {
  job: Job
  /** Null: a task. */
  change: Change | null
  done(answer: Answer): void
  fail(error: Error): void
}

/** Of a change, or of a task. */
type Answer = CommitOutcome | SqlValue[][]

/** What was sent to the writer together, and who waits for its end. */
interface Sent {
  group: Waiting[]
  sentAt: number
  whenOver: (() => void)[]
}

/** `now` is the service's clock, by which deadlines of changes are judged. */
export function openSqliteStore(
  path: string,
  openWriting: OpenWriting = onThread,
  now: () => number = systemClock().now,
): Store {
  /** Records of which a failed commit may have written another state than can be read here. */
  const unknown = new Set<string>()
  const known = createSessionCache()
  const {
    file,
    prepared: reading,
    hadKeys,
    release,
  } = openDatabase(path, (db) => prepare(db, assertKnown, known), now())
  const { grants, deliveries, sessions, quotas, listKeyUses, signIn, button, cursor, ...nouns } = reading
  const writer = openWriting(file, settlePackets, failAll)
  const listeners = new Set<(committed: Committed) => void>()
  const followers = new Set<(commits: Commits) => void>()
  let queue: Waiting[] = []
  /** In the order in which they are written. */
  const underWay: Sent[] = []
  let closing: (() => void) | null = null
  let settling: NodeJS.Timeout | null = null
  /** The thousand of events up to which all should be marked by now. */
  let markedAt = 0
  let isMarking = false

  /** What came of the first packets that are under way: as many as went into one transaction. */
  function settlePackets(outcomes: PackedOutcome[]): void {
    let count = 0
    let size = 0
    for (; size < outcomes.length; count++) size += underWay[count]!.group.length
    const packets = underWay.splice(0, count)
    const group = packets.length === 1 ? packets[0]!.group : packets.flatMap((packet) => packet.group)
    noteUnknown(group, outcomes)
    noteSessions(group, outcomes)
    tellFollowers(group, outcomes)
    for (let index = 0; index < size; index++) settle(group[index]!, outcomes[index]!)
    for (const { whenOver } of packets) for (const go of whenOver) go()
    closeIfDone()
  }

  function closeIfDone(): void {
    if (closing !== null && queue.length === 0 && underWay.length === 0) closing()
  }

  /** A commit that is on disk has taken the place of the one that failed before it. */
  function noteUnknown(group: Waiting[], outcomes: PackedOutcome[]): void {
    if (outcomes.some((outcome) => isDone(outcome) || isTaskDone(outcome))) unknown.clear()
    const failed = group.filter((_, index) => isUnknown(outcomes[index]!))
    for (const { change } of failed) {
      for (const record of change?.writes.flatMap(recordsOf) ?? []) unknown.add(record)
    }
    if (unknown.size > 0) settleSoon()
  }

  /** Whoever was in conflict finds them as they stand. */
  function noteSessions(group: Waiting[], outcomes: PackedOutcome[]): void {
    for (const [index, { change }] of group.entries()) {
      if (change === null) continue
      const outcome = outcomes[index]!
      for (const write of change.writes)
        if (write.kind === 'session') known.forget(write.record.requester, write.record.key)
      if (change.requires === undefined) continue
      const numbers = Array.isArray(outcome) ? outcome : null
      let place = numbers === null ? 0 : numbers.length - countIn(change) * standingSize
      for (const one of change.requires) {
        if (one.kind === 'count' && numbers !== null) {
          known.count(one, unpackStanding(numbers, place))
          place += standingSize
        } else if ('sessionKey' in one && !isDone(outcome)) known.forget(one.requester, one.sessionKey)
      }
    }
  }

  /** What they read is as of this commit, or of a later one of which they are told next. */
  function tellFollowers(group: Waiting[], outcomes: PackedOutcome[]): void {
    const commits: Commits = { firstSeq: Infinity, lastSeq: 0, about: [], changed: [] }
    group.forEach(({ change }, index) => {
      const outcome = outcomes[index]!
      if (change === null || !isDone(outcome)) return
      const first = typeof outcome === 'number' ? outcome : outcome[0]!
      commits.firstSeq = Math.min(commits.firstSeq, first)
      commits.lastSeq = Math.max(commits.lastSeq, first + change.events.length - 1)
      for (const { confirmationId } of change.events) if (confirmationId !== null) commits.about.push(confirmationId)
      for (const write of change.writes) {
        if (write.kind === 'grant') grants.noteGrant(write.record)
        const reference = referenceTo(write)
        if (reference !== null) commits.changed.push(reference)
      }
    })
    if (commits.lastSeq === 0) return
    followers.forEach((listener) => listener(commits))
    markEvents(commits.lastSeq)
  }

  /** What is complete is marked a thousand events at a time, which takes some milliseconds; what came before this start, too. */
  function markEvents(lastSeq: number): void {
    const thousand = thousandOf(lastSeq)
    if (thousand === markedAt) return
    markedAt = thousand
    if (!isMarking) void markNext()
  }

  /** One after the other, where there are more, and each time with a rest: a long history is not in a hurry. */
  async function markNext(): Promise<void> {
    isMarking = true
    const began = performance.now()
    // What could not be written now is with the next thousand.
    const [isMarked] = await run(['mark_events']).catch((): SqlValue[][] => [])
    isMarking = isMarked !== undefined && closing === null
    if (isMarking) setTimeout(() => void markNext(), restPart * (performance.now() - began)).unref()
  }

  /** Tries a commit, again and again until there is one. */
  function settleSoon(): void {
    settling ??= setTimeout(() => {
      settling = null
      if (unknown.size > 0 && closing === null) run(['probe']).catch(settleSoon)
    }, settleRetryMs).unref()
  }

  function assertKnown(record: string): void {
    if (unknown.has(record)) throw new OutcomeUnknown(`a failed commit may have changed ${record}`)
  }

  /** A writer that dies without a word leaves nobody waiting; the process goes down with it. */
  function failAll(error: Error): void {
    for (const { group } of underWay) for (const one of group) one.fail(new OutcomeUnknown(error.message))
    for (const one of queue) one.fail(error)
    throw error
  }

  function enqueue(job: Job, change: Change | null): Promise<Answer> {
    if (closing !== null) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((done, fail) => {
      queue.push({ job, change, done, fail })
      // What the same turn of the event loop brings goes together, unless there is enough to keep the writer busy while this
      // thread takes in the rest.
      if (queue.length === 1) setImmediate(send)
      else if (queue.length >= worthSending) send()
    })
  }

  function run(task: Task): Promise<SqlValue[][]> {
    return enqueue(task, null) as Promise<SqlValue[][]>
  }

  /** Deadlines are judged by the time of this. What is sent while the writer is busy shares its next transaction. */
  function send(): void {
    if (queue.length === 0) return
    const packet: Sent = { group: queue, sentAt: now(), whenOver: [] }
    queue = []
    underWay.push(packet)
    writer.send([packet.group.map(({ job }) => job), packet.sentAt])
  }

  function settle({ change, done, fail }: Waiting, outcome: PackedOutcome): void {
    if (outcome === 'conflict') return done('conflict')
    if (!isDone(outcome)) {
      if ('error' in outcome) return fail(toError(outcome))
      if ('rows' in outcome) return done(outcome.rows)
      return done({ unmet: change!.requires![outcome.unmet]!, quota: outcome.quota })
    }
    const [first, ...numbers] = typeof outcome === 'number' ? [outcome] : outcome
    const events = change!.events.map(({ type, at, actor, via, confirmationId, data }, index) => {
      return { seq: first! + index, type, at, actor, via, confirmationId, data } as AuditEvent
    })
    const counted = numbers.length - countIn(change!) * standingSize
    const committed = {
      writes: change!.writes,
      events,
      quotas: quotasFrom(numbers.slice(0, counted)),
      counts: everyOf(numbers, counted, standingSize),
    }
    listeners.forEach((listener) => listener(committed))
    done(committed)
  }

  return {
    hadKeys,

    commit: (change) => enqueue(pack(change), change) as Promise<CommitOutcome>,

    settledBefore(at) {
      const last = underWay.findLast(({ sentAt }) => sentAt < at)
      return last === undefined ? Promise.resolve() : new Promise((go) => void last.whenOver.push(go))
    },

    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    follow(listener) {
      followers.add(listener)
      return () => followers.delete(listener)
    },

    ...nouns,
    grants,

    deliveries: {
      ...deliveries,
      async claim(keys, leaseMs) {
        const rows = (await run(['claim', leaseMs, keys.map(packKey)])) as [place: number, version: number][]
        return rows.map(([place, version]): Claimed => ({ ...keys[place]!, version }))
      },
      async release(claimed) {
        await run(['release', claimed.map((one): [...PackedKey, number] => [...packKey(one), one.version])])
      },
      async drop(one) {
        await run(['drop', [...packKey(one), one.version]])
      },
      async note(key, shown) {
        await run(['show', shown, packKey(key)])
      },
    },

    quotas: {
      ...quotas,
      async take(quota, { max, windowMs }) {
        return (await run(['slot', quota, max, windowMs])).length > 0
      },
    },

    buttons: {
      get: async (hash) => button(hash),
      async add(all) {
        await run(['buttons', all.map(buttons.insertValues)])
      },
      async removeOwn(of) {
        await run(['own_buttons', packKey(of)])
      },
    },

    inbox: {
      cursor,
      async note(channel, upTo) {
        await run(['inbox', channel, upTo])
      },
    },

    sessions: {
      ...sessions,
      async count(counting) {
        const [row] = (await run(['count', packCounting(counting)])) as [number[]] | []
        if (row === undefined) {
          known.forget(counting.requester, counting.sessionKey)
          return null
        }
        const standing = unpackStanding(row, 0)
        known.count(counting, standing)
        return standing.messages
      },
      async setBack(now) {
        await run(['set_back', now])
        known.forgetAll()
      },
      async setReset(all) {
        const rows = all.map(({ resetAt, requester, key, version }): ResetRow => [resetAt, requester, key, version])
        await run(['set_reset', rows])
        known.forgetAll()
      },
      async collect(runs) {
        const gone = await run(['collect', runs.map(packRun)])
        for (const { requester, key } of runs) known.forget(requester, key)
        return gone.map(([place]) => runs[place as number]!)
      },
    },

    keyUses: {
      list: listKeyUses,
      async note(uses) {
        await run(['key_uses', uses.map(keyUses.insertValues)])
      },
    },

    signIns: {
      get: async (placeHash) => signIn(placeHash),
      async add(record, maxPerKey) {
        await run(['sign_in', signIns.insertValues(record), record.placeHash, record.keyId, maxPerKey])
      },
      async remove(placeHash) {
        await run(['sign_out', placeHash])
      },
    },

    async probe() {
      await run(['probe'])
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
function prepare(db: Database.Database, assertKnown: AssertKnown, known: SessionCache) {
  const one = <W, T>(table: Table<W, T>) => {
    const statement = db.prepare(`SELECT ${table.columns()} FROM ${table.name} WHERE ${table.whereKey}`).raw()
    return readNow((...key: string[]): T | undefined => {
      const row = statement.get(...key) as SqlValue[] | undefined
      return row && table.read(row)
    })
  }
  const all = <T>(table: Table<T>) => {
    const statement = db.prepare(`SELECT ${table.columns()} FROM ${table.name}`).raw()
    return read(() => (statement.all() as SqlValue[][]).map((row) => table.read(row)))
  }
  const alarm = one<Alarm, Alarm>(alarms)
  const link = one<Link, Link>(links)
  const instance = one<Instance, Instance>(instances)
  const signInLink = one<SignInLink, SignInLink>(signInLinks)
  const usageOf = readUsage(db)
  const cursor = db.prepare('SELECT cursor FROM inbox WHERE channel = ?').pluck()
  const secret = db.prepare("SELECT value FROM secrets WHERE name = 'cursors'").pluck()
  const sent = one(idempotency)
  const act = one(namedActs)
  return {
    confirmations: readConfirmations(db, assertKnown),
    grants: readGrants(db, assertKnown),
    deliveries: readDeliveries(db),
    sessions: readSessions(db, assertKnown, known),
    alarms: { get: async (id: string) => alarm(id) },
    events: readEvents(db, assertKnown),
    idempotency: { get: async (caller: Actor, key: string) => sent(idempotencyOwner(caller), key) },
    namedActs: { get: async (requester: Actor, name: string) => act(idempotencyOwner(requester), name) },
    people: readPeople(db),
    keys: { list: all<Key>(keys), read: one<Key, Key>(keys) },
    listKeyUses: all<KeyUse>(keyUses),
    links: { get: async (hash: string) => link(hash) },
    instances: { get: async (id: string) => instance(id) },
    signInLinks: { get: async (hash: string) => signInLink(hash) },
    signIn: one<SignIn, SignIn>(signIns),
    button: one<Button, Button>(buttons),
    cursor: read((channel: ChannelName) => (cursor.get(channel) as string | undefined) ?? null),
    quotas: {
      peek: read((quota: string, now: number, limit: RateLimit) => usageOf(quota, now, limit).quota),
      count: read(countSlots(db)),
    },
    disk: { peek: read(readDisk(db)) },
    secret: read(() => secret.get() as string),
  }
}

/** What a failed write leaves in doubt. */
function recordsOf(write: Write): string[] {
  if (write.kind === 'confirmation') return [write.record.id, anyConfirmation]
  if (write.kind === 'session') return [sessionName(write.record.requester, write.record.key)]
  return write.kind === 'grant' || write.kind === 'use' ? [anyGrant] : []
}

function referenceTo(write: Write): Reference | null {
  switch (write.kind) {
    case 'confirmation':
    case 'grant':
    case 'key':
      return { kind: write.kind, id: write.record.id }
    case 'delivery':
      return { kind: 'delivery', id: write.record.subjectId, channel: write.record.channel }
    case 'person':
      return { kind: 'person', id: write.record.name }
    case 'link':
    case 'sign_in_link':
      return { kind: write.kind, id: write.record.hash }
    case 'use':
      return { kind: 'grant', id: write.grantId }
    case 'session':
      return { kind: 'session', id: write.record.key, requester: write.record.requester }
    // Nobody remembers that one was not there, or was.
    case 'instance':
    case 'idempotency':
    case 'named_act':
    case 'run':
    case 'run_back':
    case 'alarm':
      return null
  }
}

function isDone(outcome: PackedOutcome): outcome is number | number[] {
  return typeof outcome === 'number' || Array.isArray(outcome)
}

function isTaskDone(outcome: PackedOutcome): boolean {
  return typeof outcome === 'object' && 'rows' in outcome
}

function isUnknown(outcome: PackedOutcome): boolean {
  return typeof outcome === 'object' && 'isUnknown' in outcome && outcome.isUnknown === true
}

function countIn({ requires = [] }: Change): number {
  let count = 0
  for (const { kind } of requires) if (kind === 'count') count += 1
  return count
}

function quotasFrom(numbers: number[]): Quota[] {
  const quotas: Quota[] = []
  for (let index = 0; index < numbers.length; index += 2) {
    quotas.push({ remaining: numbers[index]!, resetMs: numbers[index + 1]! })
  }
  return quotas
}

/** The first of each so many. */
function everyOf(numbers: number[], from: number, size: number): number[] {
  const some: number[] = []
  for (let index = from; index < numbers.length; index += size) some.push(numbers[index]!)
  return some
}

function packKey({ subjectId, channel, destination, occasion }: DeliveryKey): PackedKey {
  return [subjectId, channel, destination, occasion]
}

function pack(change: Change): PackedChange {
  const writes: PackedWrite[] = []
  for (const write of change.writes) {
    writes.push(packWrite(write))
    if (write.kind === 'person') writes.push(['identities', write.record.name, write.record.identities])
    if (write.kind === 'confirmation' && write.record.votes.length > 0) {
      writes.push(['voters', write.record.id, votersOf(write.record)])
    }
  }
  return {
    writes,
    requires: (change.requires ?? []).map(packRequirement),
    events: change.events.map(events.insertValues),
  }
}

function packRequirement(requirement: Requirement): PackedRequirement {
  switch (requirement.kind) {
    case 'before':
      return ['before', requirement.at]
    case 'key_live':
      return ['key_live', requirement.keyId]
    case 'no_keys':
      return ['no_keys']
    case 'slot':
      return ['slot', requirement.quota, requirement.limit.max, requirement.limit.windowMs, requirement.count]
    case 'disk':
      return ['disk', requirement.share, requirement.max, requirement.bytes]
    case 'fewer_open':
      return ['fewer_open', requirement.requester, requirement.below]
    case 'nothing_alike':
      return ['nothing_alike', requirement.requester, requirement.digest, requirement.description]
    case 'count':
      return ['count', packCounting(requirement)]
    case 'counted':
      return ['counted', requirement.requester, requirement.sessionKey, requirement.messages, requirement.submissions]
    case 'not_suspended':
    case 'not_waiting':
      return [requirement.kind, requirement.requester, requirement.sessionKey]
  }
}

function packWrite(write: Write): PackedWrite {
  if (write.kind === 'use') return ['use', write.grantId, write.count]
  if (write.kind === 'run_back') return ['run_back', write.id]
  // The kinds and their tables go together, which the type of a union cannot say.
  const table = tables[write.kind] as Table<Write extends { record: infer R } ? R : never>
  const expect = 'expect' in write ? write.expect : 'absent'
  if (expect === 'absent') return ['insert', write.kind, table.insertValues(write.record as never)]
  return ['update', write.kind, expect, table.updateValues(write.record as never)]
}
