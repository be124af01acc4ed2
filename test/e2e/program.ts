// The real program as a process of its own: started with flags, spoken to over sockets, ended by signals.
import { type ChildProcess, spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { Pool } from 'undici'
import { temporaryFolder } from '../support.js'

/** The repository, seen from dist/test/e2e. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))
export const serverFile = fileURLToPath(new URL('../../src/server.js', import.meta.url))

/** Generous: a loaded machine may take long to start a process, and a test that waits this long has failed. */
const patienceMs = 30_000

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Finished extends Exit {
  stdout: string
  stderr: string
}

export interface Running {
  child: ChildProcess
  exited: Promise<Exit>
  stdout(): string
  stderr(): string
  /** The log so far, one parsed line each. A line that is no JSON fails here. */
  logged(): Record<string, any>[]
  /** The first line of the log whose message fits, once it is there. */
  logLine(message: RegExp): Promise<Record<string, any>>
}

export interface Program extends Running {
  port: number
  /** Undefined when there is none. */
  webPort: number | undefined
  dbPath: string
  ready: Record<string, any>
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  submit(fields?: Record<string, unknown>): Promise<Answer>
  /** The whole history, read page by page. */
  events(after?: number): Promise<any[]>
  /** SIGTERM, and how it ended. */
  stop(): Promise<Exit>
  /** kill -9. */
  crash(): Promise<void>
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: any
}

export interface StartOptions {
  dbPath?: string
  flags?: string[]
  env?: Record<string, string>
  /** Instead of this repository's build: what an installed package offers. */
  file?: string
  /** The folder that it is started in; where the tests run, if there is none. */
  cwd?: string
}

/** Nothing of the environment that the tests run in, so that nobody's settings leak into them. */
function cleanEnv(home: string, more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: home, ...more }
}

export function launch(
  t: Test,
  args: string[],
  env: Record<string, string> = {},
  { file = serverFile, cwd }: Pick<StartOptions, 'file' | 'cwd'> = {},
): Running {
  const child = spawn(process.execPath, [file, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: cleanEnv(env.HOME ?? temporaryFolder(t), env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  let ended = false
  const exited = new Promise<Exit>((resolve) =>
    child.once('close', (code, signal) => {
      ended = true
      resolve({ code, signal })
    }),
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const logged = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, any>)
  return {
    child,
    exited,
    stdout: () => out,
    stderr: () => err,
    logged,
    async logLine(message) {
      const end = performance.now() + patienceMs
      for (;;) {
        const line = logged().find((one) => message.test(String(one.msg)))
        if (line !== undefined) return line
        if (ended || performance.now() > end)
          throw new Error(`no log line ${message.source}; the program said:\n${out}${err}`)
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 5)), exited])
      }
    },
  }
}

/** Runs it to its end. */
export async function run(t: Test, args: string[], env: Record<string, string> = {}): Promise<Finished> {
  const running = launch(t, args, env)
  const timer = setTimeout(() => running.child.kill('SIGKILL'), patienceMs)
  const exit = await running.exited
  clearTimeout(timer)
  return { ...exit, stdout: running.stdout(), stderr: running.stderr() }
}

export async function start(t: Test, options: StartOptions = {}): Promise<Program> {
  const dbPath = options.dbPath ?? join(temporaryFolder(t), 'test.db')
  const flags = options.flags ?? []
  const ports = [
    ...(flags.includes('--port') ? [] : ['--port', '0']),
    ...(flags.includes('--web-port') ? [] : ['--web-port', 'off']),
  ]
  const running = launch(t, [...ports, '--db-path', dbPath, ...flags], options.env, options)
  return attach(t, running, dbPath)
}

/** Waits until a launched one is ready, and talks to it. */
export async function attach(t: Test, running: Running, dbPath: string): Promise<Program> {
  const ready = await running.logLine(/ is ready: /)
  const port = Number(new URL(String(ready.url)).port)
  const call = caller(t, port)
  return {
    ...running,
    port,
    webPort: ready.web === undefined ? undefined : Number(new URL(String(ready.web)).port),
    dbPath,
    ready,
    call,
    submit: (fields = {}) =>
      call('POST', '/confirm', {
        action: 'send_mail',
        description: 'Send the newsletter',
        timeout_seconds: 3600,
        ...fields,
      }),
    async events(after = 0) {
      const all: any[] = []
      for (;;) {
        const { body } = await call('GET', `/audit/events?limit=500&after=${after}`)
        if (body.count === 0) return all
        all.push(...body.events)
        after = body.next_after
      }
    },
    async stop() {
      running.child.kill('SIGTERM')
      return running.exited
    },
    async crash() {
      running.child.kill('SIGKILL')
      await running.exited
    },
  }
}

/** A client with keep-alive. Not `fetch`, which refuses port 6000. */
export function caller(t: Test, port: number): Program['call'] {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 64, pipelining: 1 })
  t.teardown(() => pool.destroy())
  return async (method, path, body, headers = {}) => {
    const response = await pool.request({
      method: method,
      path,
      ...(body === undefined
        ? { headers }
        : {
            body: typeof body === 'string' ? body : JSON.stringify(body),
            headers: { 'content-type': 'application/json', ...headers },
          }),
    })
    const text = await response.body.text()
    const json = String(response.headers['content-type']).includes('json')
    return { status: response.statusCode, headers: response.headers, body: json ? JSON.parse(text) : text }
  }
}

// -- bare sockets ----------------------------------------------------------------------------------------------------

export interface Wire {
  socket: Socket
  /** The next answer, or null when the connection ends without one. */
  answer(method?: string): Promise<Answer | null>
  /** What arrived and was not yet taken by `answer`. */
  rest(): Buffer
  closed: Promise<void>
}

export function dial(t: Test, port: number): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const wire = wireOf(socket)
    t.teardown(() => socket.destroy())
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(wire)
    })
  })
}

export function wireOf(socket: Socket): Wire {
  let received = Buffer.alloc(0)
  let over = false
  let wake = () => {}
  const end = () => {
    over = true
    wake()
  }
  // After a reset, what had arrived before it still counts.
  socket.on('error', end)
  socket.on('end', end)
  const closed = new Promise<void>((resolve) =>
    socket.on('close', () => {
      end()
      resolve()
    }),
  )
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    wake()
  })
  return {
    socket,
    closed,
    rest: () => received,
    async answer(method = 'GET') {
      for (;;) {
        const parsed = parseAnswer(received, method)
        if (parsed !== null) {
          received = received.subarray(parsed.length)
          if (parsed.answer.status >= 200) return parsed.answer
          continue
        }
        if (over) return null
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

function parseAnswer(bytes: Buffer, method: string): { answer: Answer; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [first, ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first!)?.[1])
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const size = method === 'HEAD' || status < 200 || status === 204 ? 0 : Number(headers['content-length'] ?? 0)
  const length = headEnd + 4 + size
  if (bytes.length < length) return null
  const text = bytes.subarray(headEnd + 4, length).toString('utf8')
  const json = size > 0 && String(headers['content-type']).includes('json')
  return { answer: { status, headers, body: json ? JSON.parse(text) : text }, length }
}

/** A request as bytes. */
export function httpRequest(method: string, path: string, body?: unknown, headers: string[] = []): Buffer {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers]
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`)
}

/** Repeatable randomness: mulberry32. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    below: (limit: number) => Math.floor(next() * limit),
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!,
  }
}
