// Thousands of clients that wait, each for its own decision on its own socket, beside a bare server that only holds
// them: memory for each waiter, and the time from a decision to the answer of whoever waited for it. Both in one run.
// It needs as many open files as waiters, here and in the server: see ulimit -n.
import { type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quantile } from './numbers.js'
import { end, listening, type Name, names, ports, startBare, startHoldpoint } from './servers.js'
import { type Answer, createCaller, httpRequest, open } from './wire.js'

const waiters = Number(process.env.BENCH_WAITERS ?? 10_000)
const deciders = 4
const maxKbEach = 20
/** Long enough for garbage to be collected and for V8 to give back what it grew by. */
const settleMs = 5000
/** Nobody is woken this long after the last decision: whoever still waits was missed. */
const patienceMs = 10_000

interface Kind {
  /** Before the start: what there is to wait for. */
  prepare(): Promise<string[]>
  start(): ChildProcess
  wait(id: string): Buffer
  decide(id: string): Buffer
}

interface Waiter {
  id: string
  socket: Socket
  answer: Answer | null
  decidedAt: number
  decisionAnsweredAt: number
}

interface Result {
  idleKb: number
  waitingKb: number
  kbEach: number
  fromDecision: number[]
  fromItsAnswer: number[]
  woken: number
}

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'))
const dbPath = join(folder, 'bench.db')
const kinds: Record<Name, Kind> = {
  bare: {
    prepare: async () => Array.from({ length: waiters }, (_, index) => `hold-${index}`),
    start: () => startBare('bare-hold.js'),
    wait: (id) => httpRequest('GET', `/hold/${id}`),
    decide: (id) => httpRequest('POST', `/release/${id}`),
  },
  holdpoint: {
    prepare: submitAll,
    start: () => startHoldpoint(dbPath),
    wait: (id) => httpRequest('GET', `/confirm/${id}?wait=300`),
    decide: (id) => httpRequest('POST', `/confirm/${id}/approve`),
  },
}

try {
  const memory = existsSync('/proc/self/status')
  console.log(`${waiters} waiters, each on its own socket; ${deciders} connections decide, in random order`)
  console.log(
    memory
      ? `memory is VmRSS of the server's process, ${settleMs / 1000} s after the last request\n`
      : 'memory is NOT MEASURED: there is no /proc here\n',
  )
  console.log('                    memory in MB    KB per   ms from decision  ms from its answer')
  console.log('server               idle    waiting    waiter       p50       p99       p50       p99    woken')
  const results: Partial<Record<Name, Result>> = {}
  for (const name of names) print(name, (results[name] = await measure(name)))
  const { bare, holdpoint } = results as Record<Name, Result>
  console.log(`${'ratio'.padEnd(36)} ${ratios(holdpoint, bare).join(' ')}\n`)

  const missed = 2 * waiters - bare.woken - holdpoint.woken
  console.log(missed === 0 ? 'everybody was woken with the decision' : `MISSED: ${missed}`)
  const fits = !memory || holdpoint.kbEach <= maxKbEach
  if (memory) console.log(`memory per waiter is at most ${maxKbEach} KB: ${fits ? 'yes' : 'NO'}`)
  if (missed > 0 || !fits) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measure(name: Name): Promise<Result> {
  const kind = kinds[name]
  const port = ports[name]
  const ids = await kind.prepare()
  const server = kind.start()
  const waiting: Waiter[] = []
  try {
    await listening(port)
    await settle()
    const idleKb = residentKb(server)
    // Not all at once: the queue of a listening socket is shorter than that.
    const openNext = async (id: string) => waiting.push(await openWaiter(port, id, kind.wait(id)))
    await shareOut(ids, Array.from({ length: 100 }).fill(openNext) as (typeof openNext)[])
    await settle()
    const waitingKb = residentKb(server)
    const early = waiting.find(({ answer }) => answer !== null)
    if (early !== undefined) throw new Error(`answered before anybody decided: ${early.answer!.body}`)
    await decideAll(port, kind, waiting)
    const woken = waiting.filter(isWoken)
    return {
      idleKb,
      waitingKb,
      kbEach: (waitingKb - idleKb) / waiters,
      fromDecision: woken.map(({ answer, decidedAt }) => answer!.at - decidedAt),
      fromItsAnswer: woken.map(({ answer, decisionAnsweredAt }) => answer!.at - decisionAnsweredAt),
      woken: woken.length,
    }
  } finally {
    await end(server)
    waiting.forEach(({ socket }) => socket.destroy())
  }
}

async function openWaiter(port: number, id: string, request: Buffer): Promise<Waiter> {
  const waiter = { id, answer: null as Answer | null, decidedAt: 0, decisionAnsweredAt: 0 }
  const socket = await open(port, (answer) => (waiter.answer = answer))
  socket.write(request)
  return Object.assign(waiter, { socket })
}

async function decideAll(port: number, kind: Kind, waiting: Waiter[]): Promise<void> {
  await withCallers(port, deciders, shuffle(waiting), async (waiter, call) => {
    const request = kind.decide(waiter.id)
    waiter.decidedAt = performance.now()
    const { status, body, at } = await call(request)
    if (status !== 200) throw new Error(`a decision was refused: ${body}`)
    waiter.decisionAnsweredAt = at
  })
  const givenUpAt = performance.now() + patienceMs
  while (waiting.some(({ answer }) => answer === null) && performance.now() < givenUpAt)
    await new Promise((resolve) => setTimeout(resolve, 100))
}

function isWoken({ id, answer }: Waiter): boolean {
  if (answer?.status !== 200) return false
  const record = JSON.parse(answer.body) as { id: string; status: string }
  return record.id === id && record.status === 'approved'
}

/** Into a server that ends then: the memory that it grew by would hide some of what waiting takes. */
async function submitAll(): Promise<string[]> {
  const ids: string[] = []
  const submission = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
  const request = httpRequest('POST', '/confirm', JSON.stringify(submission))
  const server = startHoldpoint(dbPath)
  try {
    await listening(ports.holdpoint)
    await withCallers(ports.holdpoint, 32, Array.from({ length: waiters }), async (_, call) => {
      const { status, body } = await call(request)
      if (status !== 202) throw new Error(`a submission was refused: ${body}`)
      ids.push((JSON.parse(body) as { id: string }).id)
    })
  } finally {
    await end(server)
  }
  return ids
}

/** Every connection takes the next item when it is done with its last. */
async function withCallers<T>(
  port: number,
  connections: number,
  items: readonly T[],
  work: (item: T, call: (request: Buffer) => Promise<Answer>) => Promise<unknown>,
): Promise<void> {
  const callers = await Promise.all(Array.from({ length: connections }, () => createCaller(port)))
  try {
    await shareOut(
      items,
      callers.map(
        ({ call }) =>
          (item: T) =>
            work(item, call),
      ),
    )
  } finally {
    callers.forEach(({ close }) => close())
  }
}

async function shareOut<T>(items: readonly T[], workers: ((item: T) => Promise<unknown>)[]): Promise<void> {
  const left = items.values()
  await Promise.all(
    workers.map(async (work) => {
      for (const item of left) await work(item)
    }),
  )
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}

function settle(): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, settleMs))
}

/** NaN where there is no /proc. */
function residentKb({ pid }: ChildProcess): number {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8'))?.[1]) : NaN
}

function figures({ kbEach, fromDecision, fromItsAnswer }: Result): number[] {
  return [kbEach, ...[fromDecision, fromItsAnswer].flatMap((times) => [quantile(times, 0.5), quantile(times, 0.99)])]
}

function print(name: string, result: Result): void {
  const megabytes = [result.idleKb, result.waitingKb].map((kb) => (kb / 1024).toFixed(0).padStart(10))
  const columns = [
    ...megabytes,
    ...figures(result).map((one) => one.toFixed(2).padStart(9)),
    String(result.woken).padStart(8),
  ]
  console.log(`${name.padEnd(14)} ${columns.join(' ')}`)
}

/** None where the yardstick is zero or below: a waiter's answer may overtake that of its decision. */
function ratios(one: Result, yardstick: Result): string[] {
  const below = figures(yardstick)
  return figures(one).map((figure, index) =>
    (below[index]! > 0 ? (figure / below[index]!).toFixed(2) : '-').padStart(9),
  )
}
