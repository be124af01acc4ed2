// kill -9 in the middle of the bench's own load, again and again: is all that was acknowledged there, once, and is the history
// whole? Whoever got no answer asks again with the same Idempotency-Key.
import { askedOf } from './asked.js'
import Database from '../src/store/sqlite/driver.js'
import { pause, end, withBench } from './servers.js'
import { httpRequest, open } from './wire.js'

const rounds = Number(process.env.BENCH_ROUNDS ?? 20)
const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
/** Every second decision is a denial: with the breaker, sessions would have to wait after some in a row. */
const rules =
  "sessions: { max_messages: 0 }\nrules: [{ action: '*', breaker: { warn: 0, wait: 0, suspend: 0, fixation: 0 } }]\n"
/** Somewhere in here. */
const killedAfterMs = { least: 300, most: 1500 }

interface Asked {
  n: number
  /** Once its 202 came. */
  id: string | null
  /** Once the 200 of the decision came. */
  verdict: 'approve' | 'deny' | null
  /** After a kill: it may be there. */
  isAgain: boolean
}

/** By number; what is half done is gone on with in the next round. */
const all: Asked[] = []
const unfinished: Asked[] = []
let repeated = 0

await withBench(async (bench) => {
  const dbPath = bench.path('bench.db')
  for (let round = 0; round < rounds; round++) {
    const { process, port } = await bench.startHoldpoint(dbPath, { rules })
    const clients = Array.from({ length: connections }, () => work(port))
    const { least, most } = killedAfterMs
    await pause(least + Math.random() * (most - least))
    await end(process)
    await Promise.all(clients)
  }
  // Once more to its end, so that nobody is left who does not know.
  const { process, port } = await bench.startHoldpoint(dbPath, { rules })
  await Promise.all(Array.from({ length: connections }, () => work(port, true)))
  await end(process)
  check(dbPath)
})

/** Until the connection breaks; `isLast`: until nothing is unfinished. */
async function work(port: number, isLast = false): Promise<void> {
  let current: Asked | undefined
  const socket = await open(port, ({ status, body }) => {
    if (current!.id === null) {
      if (status !== 202) throw new Error(`a submission was answered with ${status} ${body}`)
      current!.id = /"id":"([^"]+)"/.exec(body)![1]!
      // Half are decided at once.
      if (current!.n % 2 === 0) current = undefined
    } else {
      const stands = current!.isAgain && status === 409
      if (status !== 200 && !stands) throw new Error(`a decision was answered with ${status} ${body}`)
      current!.verdict = verdictOf(current!)
      current = undefined
    }
    go()
  }).catch(() => null)
  if (socket === null) return

  function go(): void {
    current ??= take(isLast)
    if (current === undefined) return void socket!.destroy()
    socket!.write(requestOf(current))
  }

  await new Promise((resolve) => {
    socket.once('close', resolve)
    go()
  })
  if (current !== undefined) unfinished.push(current)
}

function take(isLast: boolean): Asked | undefined {
  const known = unfinished.pop()
  if (known !== undefined) {
    repeated += 1
    known.isAgain = true
  }
  if (known !== undefined || isLast) return known
  const asked: Asked = { n: all.length, id: null, verdict: null, isAgain: false }
  all.push(asked)
  return asked
}

function requestOf(asked: Asked): Buffer {
  const { n, id } = asked
  if (id !== null) return httpRequest('POST', `/confirm/${id}/${verdictOf(asked)}`, '{}')
  return httpRequest('POST', '/confirm', JSON.stringify(askedOf(n)), undefined, `Idempotency-Key: ${n}\r\n`)
}

function verdictOf({ n }: Asked): 'approve' | 'deny' {
  return n % 4 === 1 ? 'approve' : 'deny'
}

/** Every sentence is one that must not be said. */
function check(dbPath: string): void {
  const db = new Database(dbPath)
  const one = (text: string) => db.prepare(text).pluck().get() as number | string | null
  const found = new Map<number, { id: string; status: string }[]>()
  for (const row of db
    .prepare("SELECT json_extract(details, '$.build') AS n, id, status FROM confirmations")
    .iterate()) {
    const { n, ...stored } = row as { n: number; id: string; status: string }
    found.set(n, [...(found.get(n) ?? []), stored])
  }
  const wrong: string[] = []
  for (const { n, id, verdict } of all) {
    const stored = found.get(n) ?? []
    const expected = verdict === null ? 'pending' : verdict === 'approve' ? 'approved' : 'denied'
    if (stored.length !== 1) wrong.push(`submission ${n} is there ${stored.length} times`)
    else if (stored[0]!.id !== id) wrong.push(`submission ${n} was answered with the id ${id} and has ${stored[0]!.id}`)
    else if (stored[0]!.status !== expected) wrong.push(`${id} is ${stored[0]!.status}, not ${expected}`)
  }
  const isWhole = one('SELECT count(*) = max(seq) AND min(seq) = 1 FROM events') === 1
  if (!isWhole) wrong.push('the numbers of the events have a gap')
  const told = one(`SELECT count(*) FROM confirmations AS c WHERE 1 <> (SELECT count(*) FROM events
    WHERE confirmation_id = c.id AND type = 'submitted') OR (c.status <> 'pending') <> (SELECT count(*) FROM events
    WHERE confirmation_id = c.id AND type IN ('approved', 'denied', 'expired', 'cancelled'))`)
  if (told !== 0) wrong.push(`${told} confirmations do not have the events that they should`)
  if (found.size !== all.length) wrong.push(`${all.length} were submitted, and ${found.size} are there`)
  const integrity = one('PRAGMA integrity_check')
  if (integrity !== 'ok') wrong.push(`SQLite says: ${integrity}`)
  const decided = all.filter(({ verdict }) => verdict !== null).length
  console.log(
    `${rounds} times kill -9: ${all.length} submissions and ${decided} decisions were acknowledged, ${repeated} asked again; ` +
      `${one('SELECT count(*) FROM events')} events`,
  )
  db.close()
  for (const sentence of wrong.slice(0, 20)) console.log(sentence)
  console.log(wrong.length === 0 ? 'nothing lost, nothing doubled, the history is whole' : `${wrong.length} are WRONG`)
  if (wrong.length > 0) process.exitCode = 1
}
