// The agent's side: ask, wait, claim, act once, report. A function runs only after an accepted claim of exactly the details
// that it is given.
import { randomUUID } from 'node:crypto'
import { types } from 'node:util'
import type { Confirmation, DecidedConfirmation, HeldConfirmation, SettledConfirmation, Status } from './api.js'
import { type ApprovalRequest, type Ask, type AskOptions, type Frozen, duration, type ReadAsk, readAsk } from './ask.js'
import { digestOf } from './digest.js'
import * as errors from './errors.js'
import { type Fake, type FakeOptions, createFake } from './fake.js'
import type { Http } from './http.js'
import { frozenCopy, type JsonObject } from './json.js'
import { Operator, type OperatorOptions, pathOf, withoutUndefined } from './operator.js'
import { atMost, mayHaveHappened, mayPass, orAborted, pause, pauseBefore } from './pause.js'

/** What every request of this client has that says nothing else. */
type Usual = Pick<AskOptions, 'sessionKey' | 'requester' | 'onBehalfOf' | 'timeoutSeconds' | 'deadlineMs'>

export interface HoldpointOptions extends OperatorOptions, Usual {
  /** The longest pause between two tries; 10 s unless it is said. */
  maxPauseMs?: number | undefined
  /** How long one request may be held that waits; 50 s unless it is said, which most proxies bear. */
  holdSeconds?: number | undefined
  /** How long a claim is repeated whose answer was lost, before it is uncertain; 30 s unless it is said. */
  claimMs?: number | undefined
  /** An act is done, and its report was not taken. Nothing else tells of that. */
  onReportFailed?: ((error: unknown, request: ApprovalRequest) => void) | undefined
}

export interface GuardOptions<D extends object> extends Usual, Pick<AskOptions, 'callbackUrl'> {
  /** What a person reads to decide, made from the details. */
  describe: (details: D) => string
}

/** For one call of a guarded function. */
export type CallOptions = Pick<AskOptions, 'idempotencyKey' | 'sessionKey' | 'onBehalfOf' | 'deadlineMs' | 'signal'>

/** What a function gets beside its details. */
export interface ActContext {
  /** Of the confirmation. */
  readonly id: string
  /** It is the function's own business now whether it heeds it. */
  readonly signal: AbortSignal | undefined
}

/** The details are frozen, through and through; their type stays the function's own. */
export type Act<D extends object, R> = (details: D, context: ActContext) => R | Promise<R>

/** An approval that is used up: the act may happen now, once, and how it went is to be told. */
export interface Claimed<D extends object = object> {
  readonly request: ApprovalRequest<D>
  /** Exactly what was approved. */
  readonly details: Frozen<D>
  /** Never throws: what it could say comes too late for the act. */
  report(outcome: 'succeeded' | 'failed', message?: string): Promise<void>
}

interface Abortable {
  signal?: AbortSignal | undefined
}

const statuses: readonly Status[] = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'auto_approved']
const usualHoldSeconds = 50
const usualTimeoutMs = 30_000
/** The last try before a deadline has this long. */
const minTimeoutMs = 50
/** Beyond a request's own time, for its end to be written and told. */
const graceMs = 10_000
/** Where neither the program says it nor yet the service. */
const usualTimeoutSeconds = 300
const usualClaimMs = 30_000
/** Nobody is kept waiting for longer behind an act; the report is tried on, until nobody expects it any more. */
const reportMs = 10_000
const maxReportMs = 3_600_000
/** Nor behind an abort. */
const cancelMs = 5000
const maxMessage = 500
const notDone = 'Nothing was done'
/** With NaN, nothing would ever be over. */
const durations = ['timeoutSeconds', 'deadlineMs', 'timeoutMs', 'holdSeconds', 'claimMs', 'maxPauseMs'] as const

/** As many milliseconds as are wanted, from now on; the clock on the wall may be set. */
const clock = () => performance.now()
const randomKey = () => randomUUID()

export class Holdpoint extends Operator {
  readonly #options: HoldpointOptions

  constructor(options: HoldpointOptions = {}, http?: Http) {
    super(options, http)
    for (const name of durations) {
      if (options[name] !== undefined) duration(options[name], name)
    }
    this.#options = options
  }

  /** For tests of agents: the same class, whose answers the test gives. Nothing but this call makes one. */
  static fake(options: FakeOptions & Omit<HoldpointOptions, keyof OperatorOptions> = {}): Holdpoint & Fake {
    const { http, asked } = createFake(options)
    return Object.assign(new Holdpoint({ key: null, ...options }, http), { asked })
  }

  /** The same function, which now runs only when a person has approved its details. */
  guard<D extends object, R>(action: string, act: Act<D, R>, { describe, ...options }: GuardOptions<D>) {
    if (types.isGeneratorFunction(act)) throw new errors.Invalid('A generator acts later than it is called.')
    return async (details: D, call: CallOptions = {}): Promise<R> => {
      // Before it is described, so that what is described is what is done.
      const frozen = frozenCopy(details, 'details') as unknown as D
      const ask = { ...options, ...withoutUndefined(call), action, description: describe(frozen), details: frozen }
      return this.run<D, R>(ask, act)
    }
  }

  /** Asks, waits, claims, acts and reports. What is thrown before the act means that there was none. */
  async run<D extends object, R>(ask: Ask<D>, act: Act<D, R>): Promise<R> {
    return done(await this.obtain(ask), act, ask.signal)
  }

  /** Asks, waits and claims, for an act that is no function: it may happen once this is back, and has to be reported. */
  async obtain<D extends object>(ask: Ask<D>): Promise<Claimed<D>> {
    const { signal, deadlineMs = this.#options.deadlineMs } = ask
    const until = deadlineMs === undefined ? null : clock() + deadlineMs
    const request = await this.request(ask)
    if (request.status === 'pending') {
      try {
        await this.#untilResolved(request.id, request, { until, awayMs: null, signal, isLast: true })
      } catch (error) {
        const isOver = error instanceof errors.Denied || error instanceof errors.Cancelled
        // Where nobody waits for it any more, nobody has to decide it.
        if (!isOver) await this.#withdraw(request.id)
        throw error
      }
    }
    return this.claim(request, { signal })
  }

  /** Asks, and does not wait for the answer. Aborted meanwhile, it is withdrawn. */
  async request<D extends object>(ask: Ask<D>): Promise<ApprovalRequest<D>> {
    const { sessionKey, requester, onBehalfOf, timeoutSeconds, deadlineMs } = this.#options
    const usual = { sessionKey, requester, onBehalfOf, timeoutSeconds, deadlineMs }
    const whole = { ...withoutUndefined(usual), ...withoutUndefined(ask) } as Ask<D>
    const read = readAsk(whole)
    const { signal } = whole
    if (signal?.aborted === true) throw new errors.Aborted(signal.reason)
    const headers = { 'idempotency-key': whole.idempotencyKey ?? randomKey() }
    let mayExist = false
    const post = async (timeoutMs?: number) => {
      try {
        // Not the signal: whether it arrived has to be known, to withdraw it.
        const { body } = await this.call<unknown>('POST', '/confirm', { body: read.body, headers, timeoutMs })
        return this.#readHeld(body)
      } catch (error) {
        mayExist ||= mayHaveHappened(error)
        throw error
      }
    }
    const until = clock() + (whole.deadlineMs ?? (whole.timeoutSeconds ?? usualTimeoutSeconds) * 1000)
    const posted = this.#persist(post, until, signal)
    try {
      return await this.#accepted(read, await orAborted(posted, signal))
    } catch (error) {
      if (error instanceof errors.Aborted)
        await atMost(
          cancelMs,
          this.#withdrawPosted(posted, post, () => mayExist),
        )
      throw told(error)
    }
  }

  /**
   * Waits until somebody has approved it; everything else is thrown. Aborted, it stays as it is, to be waited for again.
   * `deadlineMs` is how long the service may be away.
   */
  async wait(request: ApprovalRequest | string, options: Abortable & Pick<AskOptions, 'deadlineMs'> = {}) {
    const id = typeof request === 'string' ? request : request.id
    const awayMs = options.deadlineMs === undefined ? null : duration(options.deadlineMs, 'deadlineMs')
    const known = typeof request === 'string' ? null : request
    return this.#untilResolved(id, known, { until: null, awayMs, signal: options.signal, isLast: false })
  }

  /** Claims it, runs the function with exactly what was approved, and reports. */
  async act<D extends object, R>(request: ApprovalRequest<D>, act: Act<D, R>, { signal }: Abortable = {}): Promise<R> {
    return done(await this.claim(request, { signal }), act, signal)
  }

  /** The last gate of what was waited for: the act may happen once this is back, and has to be reported. */
  async claim<D extends object>(request: ApprovalRequest<D>, { signal }: Abortable = {}): Promise<Claimed<D>> {
    const { id, action, onBehalfOf, requester, sessionKey } = request
    const details = frozenCopy(request.details, 'details')
    const digest = digestOf({ action, details, onBehalfOf, requester, sessionKey })
    if (digest !== request.digest) throw mismatch(id, 'This is not what was asked for: it was changed.')
    const refuseAborted = () => {
      if (signal?.aborted === true) throw new errors.Aborted(signal.reason)
    }
    refuseAborted()
    // Of this attempt alone: another one, here or elsewhere, is no repetition of it.
    const headers = { 'idempotency-key': randomKey() }
    let mayCount = false
    const post = async (timeoutMs: number) => {
      try {
        const { status, body } = await this.call<unknown>('POST', `${pathOf(id)}/claim`, {
          body: { digest },
          headers,
          timeoutMs,
        })
        const { id: claimed, digest: approved, execution } = asObject(body)
        if (status !== 200 || claimed !== id || approved !== digest || execution !== 'claimed')
          throw this.#odd('a claim')
      } catch (error) {
        mayCount ||= mayHaveHappened(error)
        throw error
      }
    }
    const report: Claimed['report'] = (outcome, message) => this.#report(request, outcome, message)
    const posted = this.#persist(post, clock() + (this.#options.claimMs ?? usualClaimMs), signal)
    try {
      await orAborted(posted, signal)
      refuseAborted()
    } catch (error) {
      if (error instanceof errors.Aborted) {
        // Whoever looks at the record is to find what became of it.
        void posted.then(() => report('failed', `${notDone}: aborted.`)).catch(() => {})
        throw error
      }
      if (error instanceof errors.Refused && error.status < 500 && error.status !== 429) throw claimRefusal(id, error)
      if (!mayCount) throw told(error)
      const uncertain = new errors.ClaimUncertain(id, error)
      const body = { outcome: 'failed', message: `${notDone}: ${uncertain.code}.` }
      void this.#tell(id, body, cancelMs).catch(() => {})
      throw uncertain
    }
    return { request, details: details as Frozen<D>, report }
  }

  /** Withdraws what is pending: nobody has to decide it any more. */
  async cancel(id: string, { reason, signal }: Abortable & { reason?: string } = {}): Promise<DecidedConfirmation> {
    const body = withoutUndefined({ reason })
    return (await this.call<DecidedConfirmation>('POST', `${pathOf(id)}/cancel`, { body, signal })).body
  }

  /**
   * Tries again, for as long as another try may go better, until the time is over, which may be said as how long after the
   * first failure. Each is told how long it may take.
   */
  async #persist<T>(
    attempt: (timeoutMs: number) => Promise<T>,
    end: number | { awayMs: number },
    signal?: AbortSignal,
    isIdle = () => false,
  ): Promise<T> {
    let until = typeof end === 'number' ? end : null
    const leftMs = () => (until === null ? (end as { awayMs: number }).awayMs : until - clock())
    for (let count = 0; ; count++) {
      try {
        return await attempt(Math.min(this.#options.timeoutMs ?? usualTimeoutMs, Math.max(minTimeoutMs, leftMs())))
      } catch (error) {
        if (!mayPass(error)) throw error
        const left = leftMs()
        until ??= clock() + left
        const asked = error instanceof errors.Refused ? (error.retryAfterMs ?? 0) : 0
        // That there will be room, and when, is an answer; to be sent away until the end is none.
        if (asked > Math.max(0, left)) throw error
        if (left <= 0) throw unanswered(error)
        const own = Math.min(pauseBefore(count, this.#options.maxPauseMs), left)
        await pause(Math.max(asked, own), signal, isIdle())
      }
    }
  }

  async #untilResolved(
    id: string,
    known: ApprovalRequest | null,
    { until, awayMs, signal, isLast }: Abortable & { until: number | null; awayMs: number | null; isLast: boolean },
  ): Promise<Confirmation> {
    const { holdSeconds = usualHoldSeconds } = this.#options
    let expiresAt = known?.expiresAt ?? Date.now() + usualTimeoutSeconds * 1000
    for (let count = 0; ; count++) {
      const began = clock()
      // While the service answers, it says when the time is over; this is for when it does not.
      const away = until ?? began + Math.max(0, expiresAt - Date.now()) + graceMs
      const left = isLast ? Math.floor((away - began) / 1000) : holdSeconds
      const seconds = Math.max(0, Math.min(holdSeconds, left))
      const get = async (timeoutMs: number) => {
        const call = { query: { wait: seconds }, signal, timeoutMs: seconds * 1000 + timeoutMs }
        const { body } = await this.call<Confirmation>('GET', pathOf(id), call)
        const { id: told, status, expires_at: expires } = asObject(body)
        const isTold = told === id && statuses.includes(status as Status) && typeof expires === 'number'
        if (!isTold) throw this.#odd('a question')
        return body
      }
      const record = await this.#persist(get, awayMs === null ? away : { awayMs }, signal).catch((error: unknown) => {
        throw told(error)
      })
      if (known !== null && record.digest !== known.digest)
        throw mismatch(id, 'The service knows it as something else.')
      const { status, resolved_by: by, reason } = record
      if (status === 'approved' || status === 'auto_approved') return record
      const who = { id, by: textOf(by) ?? '', reason: textOf(reason) }
      if (status === 'denied') throw new errors.Denied(who)
      if (status === 'cancelled') throw new errors.Cancelled(who)
      if (status === 'expired') throw new errors.Expired(id)
      if (until !== null && clock() >= until) throw new errors.Expired(id, 'Nobody answered before the deadline.')
      expiresAt = record.expires_at * 1000
      // A service that shuts down answers at once.
      if (clock() - began < 1000) await pause(pauseBefore(count, this.#options.maxPauseMs), signal)
    }
  }

  #readHeld(body: unknown): HeldConfirmation | SettledConfirmation {
    const { id, status, digest, requester, expires_at: expiresAt } = asObject(body)
    const isTold = [id, digest, requester].every((one) => typeof one === 'string') && typeof expiresAt === 'number'
    if (!isTold || id === '' || (status !== 'pending' && status !== 'auto_approved')) throw this.#odd('a request')
    return body as HeldConfirmation | SettledConfirmation
  }

  async #accepted<D extends object>(
    read: ReadAsk,
    { id, digest, requester, status, expires_at, session }: HeldConfirmation | SettledConfirmation,
  ): Promise<ApprovalRequest<D>> {
    const { action, details, onBehalfOf, sessionKey } = read
    if (digest !== read.digestFor(requester)) {
      await this.#withdraw(id)
      throw mismatch(id, 'The service understood something else than what was asked for.')
    }
    return Object.freeze({
      id,
      action,
      details: details as Frozen<D>,
      requester,
      onBehalfOf,
      sessionKey,
      digest,
      status: status as 'pending' | 'auto_approved',
      expiresAt: expires_at * 1000,
      ...(session === undefined ? {} : { session }),
    })
  }

  async #withdraw(id: string): Promise<void> {
    const cancel = () => this.cancel(id, { reason: 'The agent gave it up.' })
    await atMost(cancelMs, this.#persist(cancel, clock() + cancelMs))
  }

  /** What was on its way when it was aborted. */
  async #withdrawPosted(
    posted: Promise<{ id: string }>,
    post: (timeoutMs?: number) => Promise<{ id: string }>,
    mayExist: () => boolean,
  ): Promise<void> {
    const held = await posted.catch(() => (mayExist() ? post(cancelMs) : null))
    if (held !== null) await this.#withdraw(held.id)
  }

  async #report(request: ApprovalRequest, outcome: 'succeeded' | 'failed', message?: string): Promise<void> {
    const body = withoutUndefined({ outcome, message: message === undefined ? undefined : cut(message) })
    const reported = this.#tell(request.id, body, maxReportMs, reportMs).catch((error: unknown) => {
      try {
        this.#options.onReportFailed?.(told(error), request)
      } catch {
        // What listens to it must not hide the result either.
      }
    })
    await atMost(reportMs, reported)
  }

  /** After `busyMs` it keeps no program alive. */
  async #tell(id: string, body: object, forMs: number, busyMs = 0): Promise<void> {
    const headers = { 'idempotency-key': randomKey() }
    const began = clock()
    const post = () => this.call('POST', `${pathOf(id)}/report`, { body, headers })
    await this.#persist(post, began + forMs, undefined, () => clock() - began >= busyMs)
  }

  #odd(what: string): errors.Unreachable {
    const message = `Holdpoint at ${this.place} answered ${what} with what is no answer to it.`
    return new errors.Unreachable(message, { mayHaveArrived: true, mayPass: true })
  }
}

/** The act itself, once it is claimed. */
async function done<D extends object, R>(
  { request: { id }, details, report }: Claimed<D>,
  act: Act<D, R>,
  signal: AbortSignal | undefined,
): Promise<R> {
  let result: R
  try {
    result = await act(details as unknown as D, { id, signal })
    // What it does would be done later, behind the report, or never.
    if (types.isGeneratorObject(result)) throw new TypeError('A generator acts later than it is called: return a list.')
  } catch (error) {
    await report('failed', sentenceOf(error))
    throw error
  }
  await report('succeeded')
  return result
}

function mismatch(id: string, message: string): errors.ClaimRefused {
  return new errors.ClaimRefused({ id, reason: 'digest_mismatch', message })
}

function claimRefusal(id: string, error: errors.Refused): errors.HoldpointError {
  if (error.status === 423) return new errors.Suspended(error)
  const { code: reason, message, problem } = error
  return new errors.ClaimRefused({ id, reason, message, problem })
}

/** What was tried until the end, whatever was answered last. */
function unanswered(error: errors.Unreachable | errors.Refused): errors.Unreachable {
  if (error instanceof errors.Unreachable) return error
  const mayHaveArrived = mayHaveHappened(error)
  return new errors.Unreachable(error.message, { mayHaveArrived, mayPass: true, cause: error })
}

/** What a refusal of the service is for an agent. */
function told(error: unknown): unknown {
  if (!(error instanceof errors.Refused)) return error
  const { status, code, problem } = error
  if (status === 429) return new errors.RateLimited(error)
  if (status === 423) return new errors.Suspended(error)
  if (status >= 500) return unanswered(error)
  if (code !== 'denied_before') return error
  return new errors.Denied({
    id: textOf(problem.id) ?? '',
    by: textOf(problem.resolved_by) ?? '',
    reason: textOf(problem.reason),
  })
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function asObject(body: unknown): JsonObject {
  return typeof body === 'object' && body !== null ? (body as JsonObject) : {}
}

/** What was thrown may be anything. */
function sentenceOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  } catch {
    return 'It failed.'
  }
}

/** As the service takes it. */
function cut(message: string): string {
  return message.slice(0, maxMessage).replaceAll('\0', '').toWellFormed()
}
