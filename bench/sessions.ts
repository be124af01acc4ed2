// What many sessions cost: submissions beside 100,000 sessions and beside 100, in turn; and submissions while 90,000 session
// ids are removed, beside those before it.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemTimeZone } from '../src/clock.js'
import { defaultResetRule } from '../src/policy/reset.js'
import { runs, sessions as table } from '../src/store/records.js'
import { resetDue } from '../src/sessions/reset.js'
import { type PastRun, type Run, type Session, unknownSession } from '../src/sessions/session.js'
import Database from '../src/store/sqlite/driver.js'
import { openSqliteStore } from '../src/store/sqlite/sqlite.js'
import { onThisThread } from '../src/store/sqlite/writing.js'
import type { Load, LoadResult } from './load.js'
import { quantile } from './numbers.js'
import { end, here, listening, ports, startHoldpoint } from './servers.js'
import { createCaller, httpRequest } from './wire.js'

const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const connections = Number(process.env.BENCH_CONNECTIONS ?? 32)
const few = 100
const many = 100_000
/** Sessions that nobody came back to: each has an empty id since it rotated, and a short one before that. */
const forgotten = 45_000
const [mostTimes, mostP99Times] = [1.2, 2]

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const now = Date.now()
const keyOf = (n: number | '#') => `agent:main:telegram:group:${n}:1`
const body = JSON.stringify({
  action: 'deploy_service',
  description: 'Deploy build 4711 of the billing service to the production cluster eu-1',
  details: { build: 4711, cluster: 'eu-1', services: ['api', 'worker'] },
  requester: 'ci-agent',
  session_key: keyOf('#'),
})

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'))
const rules = join(folder, 'rules.yaml')
// Rotating is another matter, and few sessions would do it often.
writeFileSync(rules, 'sessions: { max_messages: 0 }\nrules: []\n')
const servers: ChildProcess[] = []

try {
  await compareCounts()
  await compareCollecting()
} finally {
  await Promise.all(servers.map(end))
  rmSync(folder, { recursive: true, force: true })
}

async function compareCounts(): Promise<void> {
  const sides = [
    { count: few, port: ports.holdpoint },
    { count: many, port: ports.other },
  ]
  for (const { count, port } of sides) await startOn(`sessions-${count}.db`, port, (add) => addLive(add, count))
  for (const { count, port } of sides) await measure({ port, connections, seconds: 2, body, below: count })
  const results = sides.map((): LoadResult[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [side, { count, port }] of sides.entries()) {
      results[side]!.push(await measure({ port, connections, seconds, body, below: count }))
    }
  }
  console.log(`${rounds} rounds of ${seconds} s each, ${connections} connections; median of the rounds\n`)
  console.log('sessions   per second   p50 ms   p99 ms')
  for (const [side, { count }] of sides.entries()) print(String(count), results[side]!)
  // Neighbouring rounds share the machine's mood, so each pair is compared by itself.
  const times = quantile(
    results[0]!.map((one, round) => one.perSecond / results[1]![round]!.perSecond),
    0.5,
  )
  console.log(`a submission beside ${many} sessions costs ${times.toFixed(2)} times what it costs beside ${few}`)
  console.log(`at most ${mostTimes} times: ${times <= mostTimes ? 'yes' : 'NO'}\n`)
  await Promise.all(servers.splice(0).map(end))
}

async function compareCollecting(): Promise<void> {
  const live = many - 2 * forgotten
  const port = ports.holdpoint
  await startOn('forgotten.db', port, (add) => {
    addLive(add, live)
    for (let n = 0; n < forgotten; n++) addForgotten(add, live + n)
  })
  const load = { port, connections, body, below: live }
  await measure({ ...load, seconds: 2 })
  const before = await measure({ ...load, seconds: rounds * seconds })
  const during = startLoad({ ...load, seconds: 600 })
  const { call, close } = await createCaller(port)
  const began = performance.now()
  const { status, body: answer } = await call(httpRequest('POST', '/sessions/gc', '{}'))
  const took = (performance.now() - began) / 1000
  close()
  during.stop()
  const result = await during.result
  const after = await measure({ ...load, seconds: rounds * seconds })
  if (status !== 200) throw new Error(`the answer was ${status} ${answer}`)
  console.log(`${answer}\nin ${took.toFixed(1)} s\n`)
  console.log('while      per second   p50 ms   p99 ms')
  print('before', [before])
  print('removing', [result])
  print('after', [after])
  const times = result.p99Ms / before.p99Ms
  console.log(`the p99 while ${2 * forgotten} session ids are removed is ${times.toFixed(2)} times what it was before`)
  console.log(`at most ${mostP99Times} times: ${times <= mostP99Times ? 'yes' : 'NO'}`)
}

interface Adding {
  session(session: Session): void
  past(run: PastRun): void
}

/** A service on a database of its own that holds these sessions. */
async function startOn(name: string, port: number, fill: (add: Adding) => void): Promise<void> {
  const dbPath = join(folder, name)
  await openSqliteStore(dbPath, onThisThread).close()
  const db = new Database(dbPath)
  db.pragma('journal_mode = WAL')
  const [insert, insertRun] = [db.prepare(table.insert), db.prepare(runs.insert)]
  db.transaction(() =>
    fill({
      session: (session) => void insert.run(table.insertValues(session)),
      past: (run) => void insertRun.run(runs.insertValues(run)),
    }),
  )()
  db.close()
  servers.push(startHoldpoint(dbPath, port, ['--policy', rules, '--disk-limit', '0']))
  await listening(port)
}

function addLive(add: Adding, count: number): void {
  const rule = { ...defaultResetRule, timeZone: systemTimeZone() }
  for (const n of shuffled(count)) {
    const lastActiveAt = now - Math.floor(Math.random() * 60_000)
    const run = { id: idOf(n, 1), createdAt: lastActiveAt, lastActiveAt, messages: 10, submissions: 10 }
    add.session({ ...sessionOf(n, run), resetAt: resetDue(rule, lastActiveAt)!.at })
  }
}

function addForgotten(add: Adding, n: number): void {
  const usedAt = now - 8 * dayMs - Math.floor(Math.random() * 100 * dayMs)
  const rotatedAt = usedAt + dayMs
  const rotation = { at: rotatedAt, reason: 'idle' as const, previousId: idOf(n, 0), isTold: false }
  const run = { id: idOf(n, 1), createdAt: rotatedAt, lastActiveAt: rotatedAt, messages: 0, submissions: 0 }
  add.session({ ...sessionOf(n, run), trustedFrom: rotatedAt, rotation })
  const [createdAt, endedAt] = [usedAt - hourMs, rotatedAt]
  const ended = { id: idOf(n, 0), createdAt, lastActiveAt: usedAt, messages: 3, submissions: 1 }
  add.past({ ...ended, requester: '', key: keyOf(n), endedAt, reason: 'idle' })
}

function sessionOf(n: number, run: Run): Session {
  return { ...unknownSession('', keyOf(n)), version: 1, run }
}

/** As random as those of the service. */
function idOf(n: number, place: number): string {
  const number = (n * 2 + place).toString(16).padStart(12, '0')
  return `${Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}-0000-7000-8000-${number}`
}

function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, n) => [Math.random(), n] as const)
    .sort(([one], [other]) => one - other)
    .map(([, n]) => n)
}

function measure(load: Load): Promise<LoadResult> {
  return startLoad(load).result
}

function startLoad(load: Load): { result: Promise<LoadResult>; stop: () => void } {
  const child = fork(here('load.js'))
  const result = new Promise<LoadResult>((resolve, reject) => {
    child.once('message', (message) => resolve(message as LoadResult))
    child.once('exit', () => reject(new Error('the load ended without a result')))
  }).then((answer) => {
    if (answer.refused > 0) throw new Error(`${answer.refused} requests were not answered with 202`)
    return answer
  })
  child.send(load)
  return { result, stop: () => void child.send('stop') }
}

function print(name: string, results: LoadResult[]): void {
  const median = (of: keyof LoadResult) =>
    quantile(
      results.map((one) => one[of]),
      0.5,
    )
  const columns = [
    median('perSecond').toFixed(0).padStart(12),
    median('p50Ms').toFixed(1).padStart(8),
    median('p99Ms').toFixed(1).padStart(8),
  ]
  console.log(`${name.padEnd(8)} ${columns.join(' ')}`)
}
