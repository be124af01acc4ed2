// Makes a database with a long history. Two blocks of requests, each from asking to its end, are made by the pure rules and then
// taken many times over, each time later and with other ids.
import { join } from 'node:path'
import * as audit from '../src/audit/event.js'
import { type ActorOf, system } from '../src/core/actor.js'
import { claim, hold, overdueAt, report, resolve } from '../src/core/confirmation.js'
import type { Confirmation, Vote } from '../src/core/model.js'
import { isRefusal, type Refusal } from '../src/core/refusal.js'
import { castVote } from '../src/core/vote.js'
import { announce } from '../src/notify/notices.js'
import type Database from '../src/store/sqlite/driver.js'
import { askedOf } from './asked.js'
import { fill, type Part } from './fill.js'
import { idOf } from './ids.js'

/** One block is from the first half of the time and one from the second, in which others ask and decide. */
const casts = [
  { agent: 'old-agent', person: 'dora' },
  { agent: 'new-agent', person: 'erik' },
]

/** Pairs of filters that many fit, and hardly any both: in time, and throughout. */
export const apart = {
  '/audit': [
    ['requester=old-agent', 'resolved_by=erik'],
    ['resolved_by=alice', 'status=denied'],
  ],
  '/audit/events': [
    ['actor=dora', 'requester=new-agent'],
    ['actor=alice', 'type=denied'],
  ],
} as const
/** No event is of it. */
export const absentType = 'sessions_collected'

const eachMs = 15_000
const approvalMs = 900_000
const mostInBlock = 10_000
/** What a confirmation has in the mean. */
const eventsEach = 4.4

/** Answers how many events there are: at least so many. */
export async function makePast(
  dbPath: string,
  least: number,
  folder: string,
  progress: (text: string) => void,
): Promise<number> {
  const total = Math.ceil(least / eventsEach)
  const size = Math.min(mostInBlock, Math.ceil(total / casts.length))
  const copies = Math.ceil(total / size / casts.length)
  const blocks = casts.map((_, n) => join(folder, `block-${n}-of-${least}.db`))
  const from = Date.now() - size * copies * casts.length * eachMs
  for (const [n, cast] of casts.entries()) {
    await fill(blocks[n]!, (add) => {
      for (let place = 0; place < size; place++) add(pastOf(place, n * size, cast, from + place * eachMs))
    })
  }
  let made = 0
  await fill(
    dbPath,
    () => {},
    (db) => (made = multiply(db, blocks, copies, size * eachMs, progress)),
  )
  return made
}

type Cast = (typeof casts)[number]

/** Of twenty, fourteen are approved and done, three denied, two expire and one is withdrawn. */
function pastOf(place: number, before: number, cast: Cast, at: number): Part {
  const n = before + place
  const kind = place % 20
  const agent: ActorOf<'agent'> = {
    kind: 'agent',
    name: [...Array<string>(5).fill('ci-agent'), 'mail-agent', 'mail-agent', 'mail-agent', cast.agent, cast.agent][
      Math.floor(place / 20) % 10
    ]!,
  }
  const approver = kind % 5 === 0 ? cast.person : kind % 2 === 0 ? 'alice' : 'bob'
  const person: ActorOf<'person'> = { kind: 'person', name: kind < 14 ? approver : kind === 14 ? cast.person : 'bob' }
  const { details, session_key: sessionKey, ...asked } = askedOf(n)
  const nobody = { callbackUrl: null, requestedAs: null, onBehalfOf: null, aap: null }
  const submission = { ...asked, ...nobody, details: JSON.stringify(details), sessionKey, timeoutSeconds: 300 }
  const held = hold({ ...submission, requester: agent.name }, idOf(n), at, undefined, agent.name)
  const told = announce(held, [], at)
  const part: Part = { writes: told.writes, events: [audit.submitted(held, agent, 'http'), ...told.events] }
  const end = (record: Confirmation): Part => ({
    ...part,
    writes: [{ kind: 'confirmation', expect: 'absent', record }, ...part.writes],
  })
  if (kind >= 19) {
    const cancelled = passed(
      resolve(held, 'cancelled', { by: agent, at: at + 1000, via: 'http', reason: null }, approvalMs),
    )
    part.events.push(audit.cancelled(cancelled, at + 1000))
    return end(cancelled)
  }
  if (kind >= 17) {
    const expired = overdueAt({ ...held, deadline: at + 5000 }, at + 5000)!
    part.events.push(audit.overdue(expired, at + 5000, system('timeout')))
    return end(expired)
  }
  const verdict = kind < 14 ? 'approve' : 'deny'
  const vote: Vote = { verdict, by: person, at: at + 5000, via: 'http', reason: null, comment: null, remember: null }
  const decided = passed(castVote(held, { ...vote, typed: null }, approvalMs))
  part.events.push(audit.voted(decided, vote, at + 5000))
  if (verdict === 'deny') return end(decided)
  const claimed = passed(claim(decided, null, at + 6000, approvalMs))
  const done = passed(report(claimed, 'succeeded', null, at + 8000))
  part.events.push(
    audit.executed(claimed, { actor: agent, at: at + 6000, via: 'http' }),
    audit.executed(done, { actor: agent, at: at + 8000, via: 'http' }),
  )
  return end(done)
}

function passed<T extends object>(answer: T | Refusal): T {
  if (isRefusal(answer)) throw new Error(answer.sentence)
  return answer
}

/** Columns that are a time, and move with each copy. */
const times = /(_at|_by|deadline|^at)$/
const named = /^(resolved_by|created_by)$/

function multiply(
  db: Database.Database,
  blocks: string[],
  copies: number,
  lastsMs: number,
  progress: (text: string) => void,
): number {
  const value = (text: string) => db.prepare(text).pluck().get() as number
  blocks.forEach((file, n) => db.exec(`ATTACH '${file}' AS block_${n}`))
  // Made anew at the end, at once and in order: much faster than row by row.
  const indexes = db
    .prepare(
      `SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
      AND tbl_name IN ('confirmations', 'events', 'deliveries')`,
    )
    .all() as { name: string; sql: string }[]
  indexes.forEach(({ name }) => db.exec(`DROP INDEX ${name}`))
  db.exec('BEGIN')
  for (let copy = 0; copy < copies * blocks.length; copy++) {
    const block = `block_${Math.floor(copy / copies)}`
    for (const table of ['confirmations', 'deliveries', 'events']) {
      const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
      const read = columns.map((name) => {
        if (name === 'arrival') return 'NULL'
        if (name === 'seq') return `seq + ${value('SELECT coalesce(max(seq), 0) FROM main.events')}`
        if (name === 'id' || name === 'confirmation_id') return `printf('1%07x', ${copy}) || substr(${name}, 9)`
        return times.test(name) && !named.test(name) ? `${name} + ${copy * lastsMs}` : name
      })
      db.exec(`INSERT INTO main.${table} SELECT ${read.join(', ')} FROM ${block}.${table} ORDER BY 1`)
    }
    if (copy % 20 === 19) progress(`${value('SELECT max(seq) FROM main.events')} events made`)
  }
  db.exec('COMMIT')
  db.exec(`INSERT INTO main.voters SELECT resolved_by, created_at, arrival FROM main.confirmations
    WHERE votes IS NOT NULL ORDER BY resolved_by, created_at, arrival`)
  db.pragma('cache_size = -500000')
  for (const { name, sql } of indexes) {
    progress(`index ${name}`)
    db.exec(sql)
  }
  blocks.forEach((_, n) => db.exec(`DETACH block_${n}`))
  return value('SELECT max(seq) FROM events')
}
