// What tests build with: a clock that only moves when told, ids that count, a store on a real file, an app on top.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { pino } from 'pino'
import { validate as isUuid } from 'uuid'
import type { Test } from 'tap'
import { z } from 'zod'
import { isAapPath } from '../src/aap/problem.js'
import type { Role } from '../src/access/role.js'
import { buildApp, type Holdpoint } from '../src/app.js'
import type { Clock } from '../src/clock.js'
import type { Config } from '../src/config/schemas.js'
import { readInvocation } from '../src/invocation.js'
import { sha256 } from '../src/core/digest.js'
import type { Pace } from '../src/mcp/acts.js'
import type { Chat } from '../src/notify/chat.js'
import { readRules } from '../src/policy/file.js'
import { createShares, type ShareLimits, shareLimits, type Shares } from '../src/routes/shares.js'
import * as answers from '../src/routes/answers.js'
import { aapError } from '../src/routes/aap-bodies.js'
import {
  aapFormOf,
  beforeRoutes,
  extrasOf,
  headersOf,
  type ProblemCode,
  problemCodes,
  problems,
} from '../src/routes/errors.js'
import { isOnConfirmation, problemsOf } from '../src/routes/openapi.js'
import type { LoadedRules } from '../src/service/service.js'
import { openSqliteStore } from '../src/store/sqlite/sqlite.js'
import type { Store } from '../src/store/store.js'
import { onThisThread, type OpenWriting } from '../src/store/sqlite/writing.js'
import { locally } from './actors.js'

/** 2026-01-01T00:00:00Z, where every test clock starts. */
export const t0 = Date.UTC(2026, 0, 1)

export interface ManualClock extends Clock {
  /** Moves on, ringing what falls due on the way, and each time waits until what that started has come to rest. */
  advance(ms: number): Promise<void>
  /** Whose work is waited for: the stores of the apps on this clock. */
  stores: Set<Activity>
}

/** What is asked of a store. */
export interface Activity {
  /** How much was asked and answered so far. */
  count: number
  /** How much is asked and not yet answered. */
  underWay: number
}

export function manualClock(start = t0): ManualClock {
  let time = start
  let sleepersChanged = 0
  const stores: ManualClock['stores'] = new Set()
  const sum = (of: keyof Activity) => [...stores].reduce((total, one) => total + one[of], 0)

  /** Until for a whole turn of the event loop nothing was asked of a store, answered by it, put to sleep or queued. */
  const rest = async () => {
    const end = performance.now() + 20_000
    for (let isAtWork = true; isAtWork;) {
      if (performance.now() > end) throw new Error('what fell due is still at work after 20 s')
      const [asked, changed] = [sum('count'), sleepersChanged]
      await new Promise((resolve) => setImmediate(resolve))
      const isQueued = process.getActiveResourcesInfo().includes('Immediate')
      isAtWork = isQueued || sum('underWay') > 0 || sum('count') !== asked || sleepersChanged !== changed
    }
  }

  const sleepers = new Set<{ at: number; run: () => void }>()
  const wake = (at: number, run: () => void) => {
    const sleeper = { at, run }
    sleepers.add(sleeper)
    sleepersChanged += 1
    // What is due already rings in the next turn, as a real timer would.
    if (at <= time) setImmediate(() => sleepers.delete(sleeper) && run())
    return () => sleepers.delete(sleeper)
  }
  return {
    now: () => time,
    wake,
    after: (ms, run) => wake(time + ms, run),
    async advance(ms) {
      const end = time + ms
      for (;;) {
        await rest()
        const next = [...sleepers].sort((a, b) => a.at - b.at)[0]
        if (next === undefined || next.at > end) break
        sleepers.delete(next)
        time = Math.max(time, next.at)
        next.run()
      }
      time = end
      await rest()
    },
    stores,
  }
}

/** The same store, and what is asked of it. */
function watched(store: Store): { store: Store; activity: Activity } {
  const activity = { count: 0, underWay: 0 }
  const note = (by: 1 | -1) => {
    activity.count += 1
    activity.underWay += by
  }
  const call = (method: (...args: unknown[]) => unknown, args: unknown[]) => {
    const answer = method(...args)
    if (!(answer instanceof Promise)) return answer
    note(1)
    const noteEnd = () => note(-1)
    answer.then(noteEnd, noteEnd)
    return answer
  }
  const methods = Object.entries(store).map(([name, value]) => [
    name,
    typeof value === 'function' ? (...args: unknown[]) => call(value as () => unknown, args) : (value as unknown),
  ])
  return { store: Object.fromEntries(methods) as Store, activity }
}

/** Long enough for commits on the writer's thread to come back. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Waits until it is true; fails with its last answer after five seconds. */
export async function until(condition: () => unknown): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`still not true after 5 s: ${condition.toString()}`)
}

/** A store that lets something else happen right before the next commit: what `interfere` is told, once. */
export function interleaving(): {
  wrapStore: (store: Store) => Store
  interfere: (other: () => Promise<unknown>) => void
} {
  let next: (() => Promise<unknown>) | null = null
  return {
    wrapStore: (store) => ({
      ...store,
      async commit(change) {
        const other = next
        next = null
        await other?.()
        return store.commit(change)
      },
    }),
    interfere: (other) => void (next = other),
  }
}

export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function counter(prefix = 'id'): () => string {
  let count = 0
  return () => `${prefix}-${String((count += 1)).padStart(4, '0')}`
}

export function configFor(dbPath: string, overrides: Partial<Config> = {}): Config {
  const invocation = readInvocation(['--db-path', dbPath], {})
  if (invocation.command !== 'serve') throw new Error('unreachable')
  return { ...invocation.config, ...overrides }
}

export interface Built extends Holdpoint {
  store: Store
  clock: ManualClock
  dbPath: string
  /** Parsed lines of the log. */
  logged: Record<string, unknown>[]
  call(
    method: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH',
    url: string,
    body?: unknown,
    headers?: Headers,
  ): Promise<Answer>
  submit(fields?: Record<string, unknown>, headers?: Headers): Promise<Answer>
  events(): Promise<any[]>
  /** Ends this one as SIGTERM would; the database stays. */
  stop(): Promise<void>
}

type Headers = Record<string, string>

export interface Answer {
  status: number
  headers: Record<string, string | number | string[] | undefined>
  body: any
}

export interface BuildOptions {
  config?: Partial<Config>
  dbPath?: string
  clock?: ManualClock
  newId?: () => string
  newSessionId?: () => string
  baseUrl?: string
  wrapStore?: (store: Store) => Store
  openWriting?: OpenWriting
  /** The text of a rules file. */
  rules?: string
  /** The machine's. */
  timeZone?: string
  /** Others than the usual, which are hard to reach. */
  shareLimits?: Partial<ShareLimits>
  /** How long tools of MCP wait. */
  mcpPace?: Partial<Pace>
  /** In place of those of the settings. */
  chats?: Chat[]
  /** What is to be added before the app is ready, after which nothing can be. */
  prepare?: (app: Holdpoint['app']) => void
}

/** A restart gives other ids, as it truly would. */
const newSessionId = counter('session')

/** An app over a store on a real file. Every answer it gives is checked against what its route declares. */
export async function build(t: Test, options: BuildOptions = {}): Promise<Built> {
  const dbPath = options.dbPath ?? join(temporaryFolder(t), 'test.db')
  const clock = options.clock ?? manualClock()
  const logged: Record<string, unknown>[] = []
  const log = pino({ level: 'debug' }, { write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) })
  const { store: opened, activity } = watched(openSqliteStore(dbPath, options.openWriting ?? onThisThread, clock.now))
  const store = options.wrapStore?.(opened) ?? opened
  const holdpoint = await buildApp(configFor(dbPath, options.config), {
    store,
    log,
    clock,
    newId: options.newId ?? counter(),
    newSessionId: options.newSessionId ?? newSessionId,
    random: () => 1,
    rules: options.rules === undefined ? null : rulesFrom(options.rules),
    timeZone: options.timeZone ?? 'UTC',
    shareLimits: options.shareLimits ?? {},
    mcpPace: options.mcpPace ?? {},
    ...(options.chats === undefined ? {} : { chats: options.chats }),
  })
  const { app, service } = holdpoint
  checkAnswers(t, holdpoint)
  options.prepare?.(app)
  await service.start()
  await app.ready()
  const baseUrl = options.baseUrl ?? 'http://127.0.0.1:6000'
  holdpoint.startSending(baseUrl, baseUrl)

  clock.stores.add(activity)
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    clock.stores.delete(activity)
    await app.close()
    await service.stop()
    await holdpoint.stopSending(0)
    await opened.close()
  }
  t.teardown(stop)

  const call: Built['call'] = async (method, url, body, headers = {}) => {
    const request: InjectOptions = { method, url, headers }
    if (body !== undefined) {
      request.payload = typeof body === 'string' ? body : JSON.stringify(body)
      request.headers = { 'content-type': 'application/json', ...headers }
    }
    const response = await app.inject(request)
    return {
      status: response.statusCode,
      headers: response.headers,
      body: response.headers['content-type']?.toString().includes('json') ? response.json() : response.body,
    }
  }
  return {
    ...holdpoint,
    store,
    clock,
    dbPath,
    logged,
    call,
    submit: (fields = {}, headers) =>
      call('POST', '/confirm', { action: 'send_mail', description: 'Send the newsletter', ...fields }, headers),
    events: async () => (await call('GET', '/audit/events?limit=500')).body.events,
    stop,
  }
}

export function rulesFrom(text: string): LoadedRules {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return { rules: read.rules, groups: read.groups, sessions: read.sessions, sha256: sha256(text) }
}

/** For a route by itself, in open mode. */
export function sharesFor(limits: Partial<ShareLimits> = {}): Shares {
  return createShares(
    () => true,
    () => {},
    { ...shareLimits, ...limits },
  )
}

/** Calls with somebody's key. */
export type CallAs = Built['call'] & { key: string; keyId: string }

/** Makes a key for each of these names; from then on the service asks for one. */
export async function giveKeys<T extends Record<string, Role>>(
  { call, service }: Built,
  roles: T,
): Promise<{ [K in keyof T]: CallAs }> {
  const made: Record<string, CallAs> = {}
  for (const [name, role] of Object.entries<Role>(roles)) {
    const answer = await service.people.addKey({ name, role, expiresInMs: null }, locally)
    if ('refused' in answer) throw new Error(answer.sentence)
    made[name] = withKey(call, answer.secret, answer.key.id)
  }
  return made as { [K in keyof T]: CallAs }
}

export function withKey(call: Built['call'], key: string, keyId = ''): CallAs {
  const calling: Built['call'] = (method, url, body, headers = {}) =>
    call(method, url, body, { authorization: `Bearer ${key}`, ...headers })
  return Object.assign(calling, { key, keyId })
}

/** Fails the test for an answer that its route does not describe: another status, problem or field. */
function checkAnswers(t: Test, { app }: Holdpoint): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    done(null, payload)
    const found = problemWithAnswer(request, reply, payload)
    if (found !== null) t.fail(`${request.method} ${request.url} answered ${reply.statusCode}: ${found}`)
  })
}

function problemWithAnswer(request: FastifyRequest, reply: FastifyReply, payload: unknown): string | null {
  const { routeOptions } = request
  if (isAapPath(request.url) && reply.statusCode >= 400) return problemWithAapError(request, reply, payload)
  const { schema } = routeOptions
  const type = String(reply.getHeader('content-type'))
  const isJson = type.includes('json')
  // Its errors are JSON-RPC's, and answers as any other.
  const isMcp = schema?.operationId === 'speakMcp' && !type.includes('problem')
  const isProblem = reply.statusCode >= 400 && isJson && !isMcp
  const problem = isProblem ? (JSON.parse(String(payload)) as { code: ProblemCode }) : null
  const found = problem === null ? null : problemWithRefusal(routeOptions, problem)
  if (found !== null) return found
  // Pages are checked by what they show.
  if (schema === undefined) return null
  const sends = problem === null ? (schema.sends ?? []) : headersOf(problem.code)
  const undeclared = problemWithHeaders(reply.getHeaders(), sends)
  if (undeclared !== null || problem !== null) return undeclared
  const answer = (schema.response as Record<number, z.ZodType>)[isMcp && isJson ? 200 : reply.statusCode]
  if (answer === undefined) return 'the schema does not know this status'
  return isJson && typeof payload === 'string' ? problemWithFields(answer, JSON.parse(payload)) : null
}

/** Likewise in the words of the Agent Approval Protocol: one shape, and the request's id in it and in the headers. */
function problemWithAapError(
  { routeOptions, id }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): string | null {
  const body = JSON.parse(String(payload)) as z.output<typeof aapError>
  const wrong = problemWithFields(aapError, body)
  if (wrong !== null) return wrong
  const { method, schema, config } = routeOptions
  const codes: ProblemCode[] = [
    ...beforeRoutes,
    ...(schema === undefined ? problemCodes : problemsOf({ method, schema, config })),
  ]
  const { type, code, request_id } = body.error
  const from = codes.find((one) => {
    const form = aapFormOf(one)
    return form.code === code && form.status === reply.statusCode && form.type === type
  })
  if (from === undefined) return `it does not declare ${reply.statusCode} ${type} ${code}`
  if (request_id !== id || reply.getHeader('x-request-id') !== id || !isUuid(id))
    return 'its X-Request-ID is another, or no UUID'
  return problemWithHeaders(reply.getHeaders(), ['X-Request-ID', ...headersOf(from)])
}

/** What goes with every answer, or is about the connection, or for what stands in between. */
const commonHeaders = [
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'trailer',
  'transfer-encoding',
  'x-accel-buffering',
  'x-content-type-options',
]

/** A header that is sent is declared, by the route for its answers and by the code for problems. */
export function problemWithHeaders(sent: object, declared: readonly string[]): string | null {
  const known = [...commonHeaders, ...declared.map((name) => name.toLowerCase())]
  const others = Object.keys(sent).filter((name) => !known.includes(name))
  return others.length === 0 ? null : `it does not declare the header ${others.join(', ')}`
}

/** Everything in a problem follows from its code: its extras, and whether its status is a state or the number. */
export function problemWithRefusal(route: FastifyRequest['routeOptions'], body: { code: ProblemCode }): string | null {
  const { code } = body
  if (!Object.hasOwn(problems, code)) return `there is no code ${code}`
  const { method, url = '', schema, config } = route
  // What has no schema is no operation: a path that leads nowhere, or a page.
  const declared: ProblemCode[] = [...beforeRoutes, ...problemsOf({ method, schema, config })]
  if (schema !== undefined && !declared.includes(code)) return `it does not declare the problem ${code}`
  const isState = answers.hasState(code, isOnConfirmation({ url }))
  const extras = extrasOf(code).flatMap(({ name, isSure }) => {
    if (name === 'status') return []
    return [[name, isSure ? answers.extraFields[name] : answers.extraFields[name].optional()]]
  })
  const shape = (isState ? answers.stateProblem : answers.problem).shape
  const { type, title, status, detail, error, request_id } = shape
  const number = status instanceof z.ZodEnum ? status : z.literal(problems[code].status)
  const known = { type, title, status: number, detail, error, request_id, code: z.literal(code) }
  return problemWithFields(z.strictObject({ ...known, ...Object.fromEntries(extras) }), body)
}

/** Also where the schema leaves room: a field that it does not name is not in what it reads. */
function problemWithFields(schema: z.ZodType, body: unknown): string | null {
  const fit = schema.safeParse(body)
  if (!fit.success) return fit.error.message
  return isDeepStrictEqual(fit.data, body) ? null : 'it holds a field that its schema does not name'
}
