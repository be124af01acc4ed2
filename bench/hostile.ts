// One hostile agent, attack by attack, and what another client notices: its /health, its submissions and its waits beside ten
// calm seconds of the same run; and the server's memory and what it writes. The service runs with keys and its default limits.
import { type ChildProcess, execFileSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Attack, attacks, type Target } from './attacks.js'
import { quantile } from './numbers.js'
import { type Bench, here, pause, readProcess, residentMb, type Served, withBench } from './servers.js'
import { type Answer, httpRequest, open } from './wire.js'

const seconds = Number(process.env.BENCH_SECONDS ?? 10)
const only = process.env.BENCH_ATTACKS?.split(',') ?? Object.keys(attacks)
/** What another client may notice: ten times its calm p99 or this, whichever is more. */
const unnoticedMs = 50
/** An answer that has not come by then counts as this long. */
const patienceMs = 10_000
const heapMb = 256
/** Receivers of callbacks, here and nowhere else, that take a connection and never answer. */
const deafReceivers = 50

interface Noticed {
  health: number[]
  submissions: number[]
  waits: number[]
  /** Requests of the calm client that were not answered as they should be. */
  failed: string[]
}

const server = here('../src/server.js')
/** Of the service under observation. */
let port = 0
let task = 0

console.log(`Each attack lasts ${seconds} s; p99 in ms of another client, and in brackets how many times the calm one.`)
console.log(`Aim: at most ten times, or ${unnoticedMs} ms. The heap of the server is limited to ${heapMb} MB.\n`)
console.log('attack             /health    submission          wait   failed   RSS MB   written MB/s')
const chat = await startChat()
const deaf = await Promise.all(Array.from({ length: deafReceivers }, startDeaf))
try {
  const calm = await observe(null)
  print('calm', calm, calm)
  let isKept = true
  for (const attack of only as Attack[]) isKept = print(attack, await observe(attack), calm) && isKept
  console.log(`\nevery figure is within its aim, and nothing failed: ${isKept ? 'yes' : 'NO'}`)
  if (!isKept) process.exitCode = 1
} finally {
  for (const server of [chat, ...deaf]) {
    server.close()
    server.closeAllConnections()
  }
}

type Observed = Noticed & { rssMb: number; writtenMb: number }

/** What the calm client notices while this goes on, on a service of its own. */
function observe(attack: Attack | null): Promise<Observed> {
  return withBench(async (bench) => {
    const dbPath = bench.path('bench.db')
    const keys = { hostile: addKey(dbPath, 'hostile'), calm: addKey(dbPath, 'calm'), alice: addKey(dbPath, 'alice') }
    const { process: holdpoint, port: own } = await startServer(bench, dbPath)
    port = own
    const noticed: Noticed = { health: [], submissions: [], waits: [], failed: [] }
    // What runs for the first time takes longer; and it takes a moment until all of an attack is under way.
    await askAndWait({ health: [], submissions: [], waits: [], failed: [] }, keys)
    const deafPorts = deaf.map((server) => (server.address() as AddressInfo).port)
    if (attack !== null) {
      const target = { attack, port, key: keys.hostile, deafPorts } satisfies Target & { attack: Attack }
      bench.fork('attacks.js').send(target)
    }
    await pause(1000)
    const before = readWritten(holdpoint)
    const until = performance.now() + seconds * 1000
    let rssMb = 0
    const repeat = async (pauseMs: number, work: () => Promise<void>) => {
      while (performance.now() < until) {
        await work()
        await pause(pauseMs)
      }
    }
    await Promise.all([
      repeat(20, async () => void noticed.health.push((await call(noticed, 200, 'GET', '/health')).ms)),
      repeat(100, () => askAndWait(noticed, keys)),
      repeat(200, async () => void (rssMb = Math.max(rssMb, residentMb(holdpoint)))),
    ])
    const writtenMb = (readWritten(holdpoint) - before) / 1e6 / seconds
    if (holdpoint.exitCode !== null || holdpoint.signalCode !== null) noticed.failed.push('the server ended')
    return { ...noticed, rssMb, writtenMb }
  })
}

function addKey(dbPath: string, name: string): string {
  const role = name === 'alice' ? 'operator' : 'agent'
  const args = [server, 'keys', 'add', '--name', name, '--role', role, '--db-path', dbPath]
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

function startServer(bench: Bench, dbPath: string): Promise<Served> {
  const env = {
    TELEGRAM_BOT_TOKEN: '1:bench',
    TELEGRAM_HOME_CHANNEL: '-1',
    TELEGRAM_API_BASE: `http://127.0.0.1:${(chat.address() as AddressInfo).port}`,
    CONFIRMATION_CALLBACK_ALLOW: '127.0.0.1',
    CONFIRMATION_CALLBACK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  }
  return bench.startHoldpoint(dbPath, { isAsShipped: true, env, heapMb })
}

/** One request of the calm agent from asking to its answer: submitted, waited for, approved. */
async function askAndWait(noticed: Noticed, keys: Record<'calm' | 'alice', string>): Promise<void> {
  const body = JSON.stringify({ action: `calm_task_${(task += 1)}`, description: 'Send the newsletter' })
  const asked = await call(noticed, 202, 'POST', '/confirm', keys.calm, body)
  noticed.submissions.push(asked.ms)
  const id = /"id":"([^"]+)"/.exec(asked.body)?.[1]
  if (id === undefined) return
  const waiting = call(noticed, 200, 'GET', `/confirm/${id}?wait=60`, keys.calm)
  await pause(20)
  const from = performance.now()
  await call(noticed, 200, 'POST', `/confirm/${id}/approve`, keys.alice, '{}')
  const { at, body: answer } = await waiting
  if (!answer.includes('"approved"')) noticed.failed.push('a wait ended without the decision')
  noticed.waits.push(at - from)
}

/** On a connection of its own, as somebody who comes by. */
async function call(noticed: Noticed, expected: number, method: string, path: string, key?: string, body?: string) {
  const began = performance.now()
  const { promise, resolve } = answerOrNone(began)
  const socket = await open(port, resolve).catch(() => null)
  socket?.once('close', () => resolve(none(began)))
  if (socket === null) resolve(none(began))
  else socket.write(httpRequest(method, path, body, key))
  const answer = await promise
  socket?.destroy()
  if (answer.status !== expected)
    noticed.failed.push(`${method} ${path}: ${answer.status} ${answer.body.slice(0, 200)}`)
  return { ...answer, ms: answer.at - began }
}

function none(began: number): Answer {
  return { status: 0, body: '', at: began + patienceMs }
}

function answerOrNone(began: number) {
  let resolve = (_answer: Answer) => {}
  const promise = new Promise<Answer>((settle) => {
    const timer = setTimeout(() => settle(none(began)), 6 * patienceMs)
    resolve = (answer) => {
      clearTimeout(timer)
      settle(answer)
    }
  })
  return { promise, resolve }
}

/** A chat with Telegram's pace for a group: twenty a minute, and then 429 with the time to wait. */
function startChat(): Promise<Server> {
  const taken: number[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      const now = Date.now()
      while (taken.length > 0 && taken[0]! < now - 60_000) taken.shift()
      const isFull = taken.length >= 20
      if (!isFull) taken.push(now)
      const seconds = Math.ceil(((taken[0] ?? now) + 60_000 - now) / 1000)
      const answer = isFull
        ? { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: seconds } }
        : { ok: true, result: { message_id: taken.length } }
      response.writeHead(isFull ? 429 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function startDeaf(): Promise<Server> {
  const server = createServer(() => {})
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function readWritten(of: ChildProcess): number {
  return readProcess(of, 'io', /^write_bytes: (\d+)/m)
}

/** Whether it is within the aim. */
function print(name: string, noticed: Observed, calm: Observed): boolean {
  const figures = (['health', 'submissions', 'waits'] as const).map((kind) => {
    const [ms, calmMs] = [quantile(noticed[kind], 0.99), quantile(calm[kind], 0.99)]
    return { text: `${ms.toFixed(1)} (${(ms / calmMs).toFixed(1)})`, isKept: ms <= Math.max(10 * calmMs, unnoticedMs) }
  })
  const { failed, rssMb, writtenMb } = noticed
  const columns = [
    name.padEnd(12),
    ...figures.map(({ text }) => text.padStart(13)),
    String(failed.length).padStart(8),
    rssMb.toFixed(0).padStart(8),
    writtenMb.toFixed(1).padStart(14),
  ]
  console.log(columns.join(' '))
  for (const one of new Set(failed.slice(0, 3))) console.log(`             ${one}`)
  return failed.length === 0 && figures.every(({ isKept }) => isKept)
}
