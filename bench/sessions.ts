// What many sessions cost: submissions beside 100,000 sessions and beside 100, in turn; and submissions while 90,000 session
// ids are removed, beside those before it.
import { systemTimeZone } from '../src/clock.js'
import { defaultResetRule } from '../src/policy/reset.js'
import { resetDue } from '../src/sessions/reset.js'
import { type PastRun, type Run, type Session, unknownSession } from '../src/sessions/session.js'
import { fill, type Part } from './fill.js'
import type { LoadResult } from './load.js'
import { median as medianOf, ratioOf } from './numbers.js'
import { type Bench, end, type Served, withBench } from './servers.js'
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

const work = (below: number) => ({ kind: 'submit' as const, bodies: [body], below })

await withBench(async (bench) => {
  await compareCounts(bench)
  await compareCollecting(bench)
})

async function compareCounts(bench: Bench): Promise<void> {
  const sides: (Served & { count: number })[] = []
  for (const count of [few, many]) {
    sides.push({ ...(await startOn(bench, `sessions-${count}.db`, (add) => addLive(add, count))), count })
  }
  for (const { count, port } of sides) await bench.load({ port, connections, seconds: 2, work: work(count) })
  const results = sides.map((): LoadResult[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [side, { count, port }] of sides.entries()) {
      results[side]!.push(await bench.load({ port, connections, seconds, work: work(count) }))
    }
  }
  console.log(`${rounds} rounds of ${seconds} s each, ${connections} connections; median of the rounds\n`)
  console.log('sessions   per second   p50 ms   p99 ms')
  for (const [side, { count }] of sides.entries()) print(String(count), results[side]!)
  const [beside, own] = results.map((all) => all.map(({ perSecond }) => perSecond)) as [number[], number[]]
  const times = ratioOf(beside, own)
  console.log(`a submission beside ${many} sessions costs ${times.toFixed(2)} times what it costs beside ${few}`)
  console.log(`at most ${mostTimes} times: ${times <= mostTimes ? 'yes' : 'NO'}\n`)
  for (const { process } of sides) await end(process)
}

async function compareCollecting(bench: Bench): Promise<void> {
  const live = many - 2 * forgotten
  const { port } = await startOn(bench, 'forgotten.db', (add) => {
    addLive(add, live)
    for (let n = 0; n < forgotten; n++) addForgotten(add, live + n)
  })
  const load = { port, connections, work: work(live) }
  await bench.load({ ...load, seconds: 2 })
  const before = await bench.load({ ...load, seconds: rounds * seconds })
  const during = bench.startLoad({ ...load, seconds: 600 })
  const { call, close } = await createCaller(port)
  const began = performance.now()
  const { status, body: answer } = await call(httpRequest('POST', '/sessions/gc', '{}'))
  const took = (performance.now() - began) / 1000
  close()
  during.stop()
  const result = await during.result
  const after = await bench.load({ ...load, seconds: rounds * seconds })
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

type Add = (part: Part) => void

/** A service on a database of its own that holds these sessions. */
async function startOn(bench: Bench, name: string, sessions: (add: Add) => void): Promise<Served> {
  const dbPath = bench.path(name)
  await fill(dbPath, sessions)
  return bench.startHoldpoint(dbPath)
}

function addLive(add: Add, count: number): void {
  const rule = { ...defaultResetRule, timeZone: systemTimeZone() }
  for (const n of shuffled(count)) {
    const lastActiveAt = now - Math.floor(Math.random() * 60_000)
    const run = { id: idOf(n, 1), createdAt: lastActiveAt, lastActiveAt, messages: 10, submissions: 10 }
    addSession(add, { ...sessionOf(n, run), resetAt: resetDue(rule, lastActiveAt)!.at })
  }
}

function addForgotten(add: Add, n: number): void {
  const usedAt = now - 8 * dayMs - Math.floor(Math.random() * 100 * dayMs)
  const rotatedAt = usedAt + dayMs
  const rotation = { at: rotatedAt, reason: 'idle' as const, previousId: idOf(n, 0), isTold: false }
  const run = { id: idOf(n, 1), createdAt: rotatedAt, lastActiveAt: rotatedAt, messages: 0, submissions: 0 }
  addSession(add, { ...sessionOf(n, run), trustedFrom: rotatedAt, rotation })
  const [createdAt, endedAt] = [usedAt - hourMs, rotatedAt]
  const ended = { id: idOf(n, 0), createdAt, lastActiveAt: usedAt, messages: 3, submissions: 1 }
  const record: PastRun = { ...ended, requester: '', key: keyOf(n), endedAt, reason: 'idle' }
  add({ writes: [{ kind: 'run', record }], events: [] })
}

function addSession(add: Add, record: Session): void {
  add({ writes: [{ kind: 'session', expect: 'absent', record }], events: [] })
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

function print(name: string, results: LoadResult[]): void {
  const median = (of: keyof LoadResult) => medianOf(results.map((one) => one[of]))
  const columns = [
    median('perSecond').toFixed(0).padStart(12),
    median('p50Ms').toFixed(1).padStart(8),
    median('p99Ms').toFixed(1).padStart(8),
  ]
  console.log(`${name.padEnd(8)} ${columns.join(' ')}`)
}
