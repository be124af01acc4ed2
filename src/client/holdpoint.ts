// The agent's side: ask, wait, claim, act once, report. A function runs only after an accepted claim of exactly the details
// that it is given.
import { randomUUID } from 'node:crypto'
import type { Confirmation, DecidedConfirmation, HeldConfirmation, SettledConfirmation } from './api.js'
import { type ApprovalRequest, type Ask, type AskOptions, type Frozen, type ReadAsk, readAsk } from './ask.js'
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
  describe: (details: Frozen<D>) => string
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

export type Act<D extends object, R> = (details: Frozen<D>, context: ActContext) => R | Promise<R>

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

const usualHoldSeconds = 50
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

/** As many milliseconds as are wanted, from now on; the clock on the wall may be set. */
const clock = () => performance.now()
const randomKey = () => randomUUID()

export class Holdpoint extends Operator {
  readonly #options: HoldpointOptions

  constructor(options: HoldpointOptions = {}, http?: Http) {
    super(options, http)
    this.#options = options
  }

  /** For tests of agents: the same class, whose answers the test gives. Nothing but this call makes one. */
  static fake(options: FakeOptions & Omit<HoldpointOptions, keyof OperatorOptions> = {}): Holdpoint & Fake {
    const { http, asked } = createFake(options)
    return Object.assign(new Holdpoint({ key: null, ...options }, http), { asked })
  }

  /** The same function, which now runs only when a person has approved its details. */
  guard<D extends object, R>(action: string, act: Act<D, R>, { describe, ...options }: GuardOptions<D>) {
    return async (details: D, call: CallOptions = {}): Promise<R> => {
      // Before it is described, so that what is described is what is done.
      const frozen = frozenCopy(details, 'details') as Frozen<D>
      const ask = { ...options, ...withoutUndefined(call), action, description: describe(frozen), details: frozen }
      return this.run<D, R>(ask as Ask<D>, act)
    }
  }

  /** Asks, waits, claims, acts and reports. What is thrown before the act means that there was none. */
  async run<D extends object, R>(ask: Ask<D>, act: Act<D, R>): Promise<R> {
    const { signal, deadlineMs = this.#options.deadlineMs } = ask
    const until = deadlineMs === undefined ? null : clock() + deadlineMs
    const request = await this.request(ask)
    if (request.status === 'pending') {
      try {
        await this.#untilResolved(request.id, request, { until, signal, isLast: true })
      } catch (error) {
        const isOver = error instanceof errors.Denied || error instanceof errors.Cancelled
        // Where nobody waits for it any more, nobody has to decide it.
        if (!isOver) await this.#withdraw(request.id)
        throw error
      }
    }
    return this.act(request, act, { signal })
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
    const post = async () => {
      try {
        // Not the signal: whether it arrived has to be known, to withdraw it.
        const { body } = await this.call<unknown>('POST', '/confirm', { body: read.body, headers })
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
    const until = options.deadlineMs === undefined ? null : clock() + options.deadlineMs
    const known = typeof request === 'string' ? null : request
    return this.#untilResolved(id, known, { until, signal: options.signal, isLast: false })
  }

  /** Claims it, runs the function with exactly what was approved, and reports. */
  async act<D extends object, R>(request: ApprovalRequest<D>, act: Act<D, R>, { signal }: Abortable = {}): Promise<R> {
    const { details, report } = await this.claim(request, { signal })
    let result: R
    try {
      result = await act(details, { id: request.id, signal })
    } catch (error) {
      await report('failed', sentenceOf(error))
      throw error
    }
    await report('succeeded')
    return result
  }

  /** The last gate, for an act that is no function: it may happen once this is back, and has to be reported. */
  async claim<D extends object>(request: ApprovalRequest<D>, { signal }: Abortable = {}): Promise<Claimed<D>> {
    const { id, action, onBehalfOf, requester, sessionKey } = request
    const details = frozenCopy(request.details, 'details')
    const digest = digestOf({ action, details, onBehalfOf, requester, sessionKey })
    if (digest !== request.digest) throw mismatch(id, 'This is not what was asked for: it was changed.')
    if (signal?.aborted === true) throw new errors.Aborted(signal.reason)
    // Of this attempt alone: another one, here or elsewhere, is no repetition of it.
    const headers = { 'idempotency-key': randomKey() }
    let mayCount = false
    const post = async () => {
      try {
        const { body } = await this.call<unknown>('POST', `${pathOf(id)}/claim`, { body: { digest }, headers })
        const { id: claimed, digest: approved, execution } = asObject(body)
        if (claimed !== id || approved !== digest || execution !== 'claimed') throw this.#odd('a claim')
      } catch (error) {
        mayCount ||= mayHaveHappened(error)
        throw error
      }
    }
    const report: Claimed['report'] = (outcome, message) => this.#report(request, outcome, message)
    const posted = this.#persist(post, clock() + (this.#options.claimMs ?? usualClaimMs), signal)
    try {
      await orAborted(posted, signal)
    } catch (error) {
      if (error instanceof errors.Aborted) {
        const unused = 'It was aborted before it began.'
        void posted.then(() => report('failed', unused)).catch(() => {})
        throw error
      }
      if (error instanceof errors.Refused && error.status < 500 && error.status !== 429) throw claimRefusal(id, error)
      if (!mayCount) throw told(error)
      // Whoever looks at the record is to find what became of it.
      const { code } = new errors.ClaimUncertain(id, error)
      void this.#tell(id, { outcome: 'failed', message: `Nothing was done: ${code}.` }, cancelMs).catch(() => {})
      throw new errors.ClaimUncertain(id, error)
    }
    return { request, details: details as Frozen<D>, report }
  }

  /** Withdraws what is pending: nobody has to decide it any more. */
  async cancel(id: string, { reason, signal }: Abortable & { reason?: string } = {}): Promise<DecidedConfirmation> {
    const body = withoutUndefined({ reason })
    return (await this.call<DecidedConfirmation>('POST', `${pathOf(id)}/cancel`, { body, signal })).body
  }

  /** Tries again, for as long as another try may go better, until the time is over. */
  async #persist<T>(attempt: () => Promise<T>, until: number, signal?: AbortSignal, isIdle = () => false): Promise<T> {
    for (let count = 0; ; count++) {
      try {
        return await attempt()
      } catch (error) {
        if (!mayPass(error)) throw error
        const left = until - clock()
        const asked = error instanceof errors.Refused ? (error.retryAfterMs ?? 0) : 0
        if (left <= 0 || asked > left) throw error
        const own = Math.min(pauseBefore(count, this.#options.maxPauseMs), left)
        await pause(Math.max(asked, own), signal, isIdle())
      }
    }
  }

  async #untilResolved(
    id: string,
    known: ApprovalRequest | null,
    { until, signal, isLast }: Abortable & { until: number | null; isLast: boolean },
  ): Promise<Confirmation> {
    const { holdSeconds = usualHoldSeconds, timeoutMs = 30_000 } = this.#options
    let expiresAt = known?.expiresAt ?? Date.now() + usualTimeoutSeconds * 1000
    for (let count = 0; ; count++) {
      const began = clock()
      // While the service answers, it says when the time is over; this is for when it does not.
      const away = until ?? began + Math.max(0, expiresAt - Date.now()) + graceMs
      const left = isLast ? Math.floor((away - began) / 1000) : holdSeconds
      const seconds = Math.max(0, Math.min(holdSeconds, left))
      const get = async () => {
        const call = { query: { wait: seconds }, signal, timeoutMs: seconds * 1000 + timeoutMs }
        const { body } = await this.call<Confirmation>('GET', pathOf(id), call)
        if (asObject(body).id !== id) throw this.#odd('a question')
        return body
      }
      const record = await this.#persist(get, away, signal).catch((error: unknown) => {
        throw told(error)
      })
      if (known !== null && record.digest !== known.digest)
        throw mismatch(id, 'The service knows it as something else.')
      const { status, resolved_by: by, reason } = record
      if (status === 'approved' || status === 'auto_approved') return record
      if (status === 'denied') throw new errors.Denied({ id, by, reason })
      if (status === 'cancelled') throw new errors.Cancelled({ id, by, reason })
      if (status === 'expired') throw new errors.Expired(id)
      if (until !== null && isLast && clock() >= until)
        throw new errors.Expired(id, 'Nobody answered before the deadline.')
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
    post: () => Promise<{ id: string }>,
    mayExist: () => boolean,
  ): Promise<void> {
    const held = await posted.catch(() => (mayExist() ? post() : null))
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

function mismatch(id: string, message: string): errors.ClaimRefused {
  return new errors.ClaimRefused({ id, reason: 'digest_mismatch', message })
}

function claimRefusal(id: string, error: errors.Refused): errors.HoldpointError {
  if (error.status === 423) return new errors.Suspended(error)
  const { code: reason, message, problem } = error
  return new errors.ClaimRefused({ id, reason, message, problem })
}

/** What a refusal of the service is for an agent. */
function told(error: unknown): unknown {
  if (!(error instanceof errors.Refused)) return error
  const { status, code, problem, message } = error
  if (status === 429) return new errors.RateLimited(error)
  if (status === 423) return new errors.Suspended(error)
  if (status === 503) return new errors.Unreachable(message, { mayHaveArrived: true, mayPass: true, cause: error })
  if (code !== 'denied_before') return error
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return new errors.Denied({
    id: text(problem.id) ?? '',
    by: text(problem.resolved_by) ?? '',
    reason: text(problem.reason),
  })
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
