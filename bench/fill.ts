// Makes databases that hold much, without a service: by the pure rules and the tables' own descriptions, in one transaction.
// What the service counts beside them, slots of quotas and bytes of disk, is not there.
import type { NewEvent } from '../src/audit/event.js'
import * as audit from '../src/audit/event.js'
import { systemTimeZone } from '../src/clock.js'
import { hold } from '../src/core/confirmation.js'
import type { Pending } from '../src/core/model.js'
import { announce } from '../src/notify/notices.js'
import { defaultResetRule } from '../src/policy/reset.js'
import { resetDue } from '../src/sessions/reset.js'
import { type Session, unknownSession } from '../src/sessions/session.js'
import { events, tables } from '../src/store/records.js'
import Database from '../src/store/sqlite/driver.js'
import { markEvents } from '../src/store/sqlite/event-marks.js'
import { fileConfirmations } from '../src/store/sqlite/filing.js'
import { openSqliteStore } from '../src/store/sqlite/sqlite.js'
import { onThisThread } from '../src/store/sqlite/writing.js'
import type { Write } from '../src/store/store.js'
import { askedOf, sessionCount, sessionOf } from './asked.js'
import { idOf } from './ids.js'

/** Records as they stand at last, each added once. */
export interface Part {
  writes: Write[]
  events: NewEvent[]
}

export type Add = (part: Part) => void

/** `then` goes on where the pure rules would take too long. */
export async function fill(
  dbPath: string,
  work: (add: Add) => void,
  then: (db: Database.Database) => void = () => {},
): Promise<void> {
  await openSqliteStore(dbPath, onThisThread).close()
  const db = new Database(dbPath)
  // Nobody minds if it is lost half-way.
  db.pragma('journal_mode = DELETE')
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  const inserts = Object.fromEntries(Object.entries(tables).map(([kind, { insert }]) => [kind, db.prepare(insert)]))
  const insertEvent = db.prepare(events.insert)
  let seq = db.prepare('SELECT coalesce(max(seq), 0) FROM events').pluck().get() as number
  db.exec('BEGIN')
  work(({ writes, events: told }) => {
    for (const write of writes) {
      if (!('record' in write)) throw new Error(`${write.kind} is no record`)
      // Each kind goes with its own record, which the type of the table cannot know.
      const table = tables[write.kind] as { insertValues(record: unknown): unknown[] }
      inserts[write.kind]!.run(table.insertValues(write.record))
    }
    for (const event of told) insertEvent.run([...events.insertValues(event), (seq += 1)])
  })
  db.exec('COMMIT')
  then(db)
  // As a service has done by and by that has run for so long.
  db.exec('BEGIN')
  const mark = markEvents(db)
  while (mark());
  for (const file of fileConfirmations(db)) while (file() > 0);
  db.exec('COMMIT')
  db.pragma('journal_mode = WAL')
  db.close()
}

export interface Waiting {
  count: number
  /** The number of the first, from which its id comes. */
  from?: number
  createdAt: number
  timeoutSeconds: number
  /** They are queued for a chat that could not be reached; the log was told meanwhile. Left out: there is no chat. */
  chat?: 'telegram'
}

/** Requests that wait for an answer, as they are in open mode, and the sessions that they are in. */
export function addWaiting(add: Add, waiting: Waiting): void {
  const { count, from = 0, createdAt, timeoutSeconds, chat } = waiting
  const each = Math.ceil(count / sessionCount)
  for (let n = 0; n < sessionCount; n++) {
    add({
      writes: [{ kind: 'session', expect: 'absent', record: liveSession(sessionOf(n), createdAt, each) }],
      events: [],
    })
  }
  for (let n = from; n < from + count; n++) {
    const held = heldOf(n, createdAt, timeoutSeconds)
    const by = { kind: 'anyone' as const, name: held.requester }
    const told = chat === undefined ? announce(held, [], createdAt) : afterLog(held, chat)
    add({
      writes: [{ kind: 'confirmation', expect: 'absent', record: held }, ...told.writes],
      events: [audit.submitted(held, by, 'http'), ...told.events],
    })
  }
}

function heldOf(n: number, createdAt: number, timeoutSeconds: number): Pending {
  const { details, session_key: sessionKey, ...asked } = askedOf(n)
  const nobody = { callbackUrl: null, requestedAs: null, onBehalfOf: null, aap: null }
  const submission = { ...asked, ...nobody, details: JSON.stringify(details), sessionKey, timeoutSeconds }
  return { ...hold(submission, idOf(n), createdAt), sessionId: runOf(sessionKey) }
}

/** The chat is to be told, and the log was, when it was time. */
function afterLog(held: Pending, chat: 'telegram'): Part {
  const { writes } = announce(
    held,
    [{ places: [{ channel: chat, destination: '' }], isPersonal: false }],
    held.createdAt,
  )
  return writes.reduce<Part>(
    (part, write) => {
      if (write.kind !== 'delivery' || write.record.channel !== 'log')
        return { ...part, writes: [...part.writes, write] }
      const told = { state: 'sent', attempts: 1, updatedAt: write.record.nextAt!, nextAt: null } as const
      const record = { ...write.record, ...told, version: 2 }
      return { writes: [...part.writes, { ...write, record }], events: [audit.notified(record, held)] }
    },
    { writes: [], events: [] },
  )
}

function liveSession(key: string, at: number, messages: number): Session {
  const rule = { ...defaultResetRule, timeZone: systemTimeZone() }
  const run = { id: runOf(key), createdAt: at, lastActiveAt: at, messages, submissions: messages }
  return { ...unknownSession('', key), version: 1, run, resetAt: resetDue(rule, at)!.at }
}

function runOf(sessionKey: string): string {
  return idOf(2 ** 40 + Number(/(\d+):1$/.exec(sessionKey)![1]))
}
