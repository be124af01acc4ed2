// What runs under measurement, each in a process of its own on a port of its own, and how all of it ends.
import { type ChildProcess, fork as forkProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Load, LoadResult, Measured } from './load.js'
import { createCaller, httpRequest } from './wire.js'

/** A built file, seen from dist/bench. */
export const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

export interface Served {
  process: ChildProcess
  port: number
  /** From its start until it answered. */
  startMs: number
}

export interface Options {
  /** The rules file; left out: `usualRules`. */
  rules?: string
  /** The limits and the rules that there are without settings; left out: limits are looked at and never reached. */
  isAsShipped?: boolean
  env?: Record<string, string>
  heapMb?: number
}

const neverReached = {
  '--rate-limit': 1_000_000_000,
  '--flood-limit': 1_000_000_000,
  '--disk-limit': 1_000_000_000,
  '--open-limit': 1_000_000,
}

/**
 * A session ends after 200 messages. People send as many in days, a bench in a second; and one with something pending then
 * waits for that, so that a bench would measure such sessions and nothing else.
 */
export const usualRules = 'sessions: { max_messages: 0 }\nrules: []\n'

const children = new Set<ChildProcess>()
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')))
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

export type Bench = Awaited<ReturnType<typeof createBench>>

/** With a folder of its own; whatever was started is ended behind it. */
export async function withBench<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const bench = createBench()
  try {
    return await work(bench)
  } finally {
    await bench.endAll()
  }
}

function createBench() {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bench-'))
  const own = new Set<ChildProcess>()
  const known = <C extends ChildProcess>(child: C): C => {
    for (const set of [children, own]) set.add(child)
    child.once('exit', () => [children, own].forEach((set) => set.delete(child)))
    return child
  }
  const removeAtExit = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', removeAtExit)

  return {
    folder,
    path: (name: string) => join(folder, name),

    /** A yardstick: a built file that takes a port. */
    async startBare(file: string): Promise<Served> {
      const port = await freePort()
      return listening(known(spawn(process.execPath, [here(file), String(port)], { stdio: 'inherit' })), port)
    },

    async startHoldpoint(dbPath: string, options: Options = {}): Promise<Served> {
      const { rules = usualRules, isAsShipped = false, env = {}, heapMb } = options
      const port = await freePort()
      const policy = `${dbPath}.rules.yaml`
      writeFileSync(policy, rules)
      const limits = ['--policy', policy, ...Object.entries(neverReached).flat().map(String)]
      const args = [
        ...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]),
        ...[here('../src/server.js'), '--db-path', dbPath, '--port', String(port), '--web-port', 'off'],
        ...(isAsShipped ? [] : limits),
      ]
      // The default log level, as in production: a line for every submission and, without a chat, a warning.
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, ...env },
      })
      return listening(known(child), port)
    },

    /** A built file that talks. */
    fork: (file: string) => known(forkProcess(here(file))),

    startLoad(load: Load): { result: Promise<LoadResult>; stop: () => void } {
      const child = known(forkProcess(here('load.js')))
      const result = answerOf<LoadResult>(child)
      child.send(load)
      return { result, stop: () => void child.send('stop') }
    },

    /** Nothing may be refused. `server`: whose time on a processor is told. */
    async load(load: Load, server?: ChildProcess): Promise<Measured> {
      const before = server === undefined ? NaN : processorSeconds(server)
      const result = await this.startLoad(load).result
      const used = server === undefined ? NaN : processorSeconds(server) - before
      const expected = load.work.kind === 'submit' ? 202 : 200
      if (result.refused > 0) throw new Error(`${result.refused} requests were not answered with ${expected}`)
      return { ...result, usEach: (used * 1e6) / result.accepted }
    },

    /** What runs for the first time is slow, and the compiler takes a processor meanwhile. */
    async warm(port: number, work: Load['work']): Promise<void> {
      await this.load({ port, connections: 32, seconds: 10, most: 5000, work })
    },

    async endAll(): Promise<void> {
      await Promise.all([...own].map(end))
      process.off('exit', removeAtExit)
      removeAtExit()
    },
  }
}

/** The next thing it says. */
export function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('a process of the bench ended without a result'))
    child.once('exit', fail)
    child.once('message', (message) => {
      child.off('exit', fail)
      resolve(message as T)
    })
  })
}

/** kill -9, and until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

const patienceMs = 60_000

export async function listening(process: ChildProcess, port: number): Promise<Served> {
  const began = performance.now()
  while (performance.now() < began + patienceMs && process.exitCode === null && process.signalCode === null) {
    const startMs = performance.now() - began
    const caller = await createCaller(port).catch(() => null)
    if (caller !== null) {
      await caller.call(httpRequest('GET', '/health')).finally(caller.close)
      return { process, port, startMs }
    }
    await pause(5)
  }
  throw new Error(`nothing listens on port ${port}`)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** NaN where there is no /proc. */
export function readProcess({ pid }: ChildProcess, file: string, line: RegExp): number {
  const path = `/proc/${pid}/${file}`
  return existsSync(path) ? Number(line.exec(readFileSync(path, 'utf8'))?.[1] ?? NaN) : NaN
}

/** Of all its threads; Linux counts in hundredths. */
function processorSeconds(child: ChildProcess): number {
  const [user, system] = [14, 15].map((field) =>
    readProcess(child, 'stat', new RegExp(`^\\d+ \\(.*\\)(?: \\S+){${field - 3}} (\\d+)`)),
  ) as [number, number]
  return (user + system) / 100
}

export function residentMb(child: ChildProcess): number {
  return readProcess(child, 'status', /^VmRSS:\s+(\d+) kB$/m) / 1024
}
