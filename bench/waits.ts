// Thousands of clients that wait, each for its own decision on its own socket, beside a bare server that only holds them: the
// time from a decision to the answer of whoever waited for it, and memory for each. It needs as many open files as waiters, here
// and in the server: see ulimit -n.
import type { Socket } from 'node:net'
import { askedBodies } from './asked.js'
import { addWaiting, fill } from './fill.js'
import { idOf } from './ids.js'
import { quantile } from './numbers.js'
import { ms, ratio, type Row } from './rows.js'
import { type Bench, end, pause, residentMb, type Served, withBench } from './servers.js'
import type { Size } from './size.js'
import { type Answer, createCaller, httpRequest, open } from './wire.js'

const deciders = 4
const mostTimes = 1.5
const mostKbEach = 20
/** Nobody is woken this long after the last decision: whoever still waits was missed. */
const patienceMs = 10_000

interface Kind {
  start(bench: Bench): Promise<Served>
  wait(id: string): Buffer
  decide(id: string): Buffer
  /** Sent before each decision on the same connection. */
  between(): Buffer | null
}

interface Waiter {
  id: string
  socket: Socket
  answer: Answer | null
  decidedAt: number
}

interface Result {
  kbEach: number
  /** From each decision to the answer of whoever waited for it. */
  waits: number[]
  /** What was sent between them took so long. */
  commits: number[]
  missed: number
}

const submissions = askedBodies().map((body) => httpRequest('POST', '/confirm', body))
const kinds: Record<'bare' | 'holdpoint', Kind> = {
  bare: {
    start: (bench) => bench.startBare('bare-hold.js'),
    wait: (id) => httpRequest('GET', `/hold/${id}`),
    decide: (id) => httpRequest('POST', `/release/${id}`),
    between: () => null,
  },
  holdpoint: {
    start: (bench) => bench.startHoldpoint(bench.path('bench.db')),
    wait: (id) => httpRequest('GET', `/confirm/${id}?wait=300`),
    decide: (id) => httpRequest('POST', `/confirm/${id}/approve`),
    between: () => submissions[Math.floor(Math.random() * submissions.length)]!,
  },
}

export function waits(size: Size): Promise<Row[]> {
  return withBench(async (bench) => {
    const count = size.isShort ? 1000 : 10_000
    // Long enough for garbage to be collected and for V8 to give back what it grew by.
    const settleMs = size.isShort ? 500 : 5000
    const waiting = { count, createdAt: Date.now(), timeoutSeconds: 3600 }
    await fill(bench.path('bench.db'), (add) => addWaiting(add, waiting))
    const ids = Array.from({ length: count }, (_, n) => idOf(n))
    const bare = await measure(bench, kinds.bare, ids, settleMs)
    const own = await measure(bench, kinds.holdpoint, ids, settleMs)
    const [wait, wake, commit] = [own.waits, bare.waits, own.commits].map((times) => quantile(times, 0.99)) as [
      number,
      number,
      number,
    ]
    const beside = `bare wake-up ${ms(wake)} + submission ${ms(commit)}`
    const what = `${count} waiters`
    const rows = [
      ratio(`${what}: decision to its answer, p99`, ms(wait), beside, wait / (wake + commit), { atMost: mostTimes }),
      ratio(`${what}: not woken`, String(own.missed), `bare ${bare.missed}`, own.missed, { atMost: 0 }),
    ]
    // Beside what a process takes anyway, a thousand cannot be told.
    if (size.isShort) size.leftOut.push('the memory of waiters takes 10000 of them, and is left out in the short form')
    if (size.isShort || Number.isNaN(own.kbEach)) return rows
    const memory = ratio(
      `${what}: memory for each`,
      `${own.kbEach.toFixed(1)} KB`,
      `bare ${bare.kbEach.toFixed(1)} KB`,
      own.kbEach,
      {
        atMost: mostKbEach,
      },
    )
    return [...rows, { ...memory, unit: ' KB' }]
  })
}

async function measure(bench: Bench, kind: Kind, ids: string[], settleMs: number): Promise<Result> {
  const { process: server, port } = await kind.start(bench)
  const waiting: Waiter[] = []
  try {
    await pause(settleMs)
    const idleMb = residentMb(server)
    // Not all at once: the queue of a listening socket is shorter than that.
    const openNext = async (id: string) => void waiting.push(await openWaiter(port, id, kind.wait(id)))
    await shareOut(
      ids,
      Array.from({ length: 100 }, () => openNext),
    )
    await pause(settleMs)
    const kbEach = ((residentMb(server) - idleMb) * 1024) / ids.length
    const early = waiting.find(({ answer }) => answer !== null)
    if (early !== undefined) throw new Error(`answered before anybody decided: ${early.answer!.body}`)
    const commits = await decideAll(port, kind, waiting)
    const woken = waiting.filter(isWoken)
    const waits = woken.map(({ answer, decidedAt }) => answer!.at - decidedAt)
    return { kbEach, waits, commits, missed: ids.length - woken.length }
  } finally {
    await end(server)
    waiting.forEach(({ socket }) => socket.destroy())
  }
}

async function openWaiter(port: number, id: string, request: Buffer): Promise<Waiter> {
  const waiter = { id, answer: null as Answer | null, decidedAt: 0 }
  const socket = await open(port, (answer) => (waiter.answer = answer))
  socket.write(request)
  return Object.assign(waiter, { socket })
}

/** In any order. Answers how long each of those between took. */
async function decideAll(port: number, kind: Kind, waiting: Waiter[]): Promise<number[]> {
  const between: number[] = []
  const callers = await Promise.all(Array.from({ length: deciders }, () => createCaller(port)))
  const workers = callers.map(({ call }) => async (waiter: Waiter) => {
    const other = kind.between()
    if (other !== null) {
      const began = performance.now()
      const { status, body, at } = await call(other)
      if (status !== 202) throw new Error(`a submission was refused: ${body}`)
      between.push(at - began)
    }
    const request = kind.decide(waiter.id)
    waiter.decidedAt = performance.now()
    const { status, body } = await call(request)
    if (status !== 200) throw new Error(`a decision was refused: ${body}`)
  })
  await shareOut(shuffle(waiting), workers)
  callers.forEach(({ close }) => close())
  const givenUpAt = performance.now() + patienceMs
  while (waiting.some(({ answer }) => answer === null) && performance.now() < givenUpAt) await pause(50)
  return between
}

function isWoken({ id, answer }: Waiter): boolean {
  if (answer?.status !== 200) return false
  const record = JSON.parse(answer.body) as { id: string; status: string }
  return record.id === id && record.status === 'approved'
}

/** Each worker takes the next item when it is done with its last. */
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
