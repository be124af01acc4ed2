// What can go wrong, typed: each is told from the others by its `code`, and none of them means that something was approved.
import type { ProblemCode } from './api.js'

/** The body of a refusal (RFC 9457): what every one has, and what this one adds. */
export interface ProblemBody {
  readonly code?: string
  readonly error?: string
  readonly request_id?: string
  readonly [name: string]: unknown
}

export abstract class HoldpointError extends Error {
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }

  /** One sentence for a model: what became of its action. It does not invite another try. */
  abstract toModel(): string
}

const giveUp = 'do not try again, and tell the person you work for'

/** The service said no. `code` is the service's own, such as `not_found`. */
export class Refused extends HoldpointError {
  readonly code: ProblemCode
  /** Of HTTP. */
  readonly status: number
  /** As it came, with what this code adds. */
  readonly problem: ProblemBody
  /** When to come back, where that was said. */
  readonly retryAfterMs: number | null

  constructor(status: number, problem: ProblemBody, retryAfterMs: number | null) {
    super(typeof problem.error === 'string' ? problem.error : `The service refused this with ${status}.`)
    this.status = status
    // It stands in a sentence for the model without quotes.
    this.code = (/^[a-z0-9_]{1,64}$/.test(problem.code ?? '') ? problem.code : 'internal_error') as ProblemCode
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }

  /** The log of the service has it too. */
  get requestId(): string | null {
    return this.problem.request_id ?? null
  }

  toModel(): string {
    return `The approval service refused this request (${this.code}), so the action was not done: ${giveUp}.`
  }
}

export interface Lost {
  /** The service may have taken the request, although its answer did not come. */
  mayHaveArrived: boolean
  /** Another try may go better; false where somebody has to change a setting first. */
  mayPass: boolean
  cause?: unknown
}

/** No answer, or one that is not Holdpoint's. */
export class Unreachable extends HoldpointError {
  readonly code = 'unreachable'
  readonly mayHaveArrived: boolean
  readonly mayPass: boolean

  constructor(message: string, { mayHaveArrived, mayPass, cause }: Lost) {
    super(message, { cause })
    this.mayHaveArrived = mayHaveArrived
    this.mayPass = mayPass
  }

  toModel(): string {
    return `The approval service could not be reached, so the action was not done: ${giveUp}.`
  }
}

/** A person said no; or had said so to the same a short while ago. */
export class Denied extends HoldpointError {
  readonly code = 'denied'
  readonly id: string
  readonly by: string
  readonly reason: string | null

  constructor({ id, by, reason }: { id: string; by: string; reason: string | null }) {
    super(`Denied by ${by}${reason === null ? '.' : `: ${reason}`}`)
    this.id = id
    this.by = by
    this.reason = reason
  }

  toModel(): string {
    const why = this.reason === null ? '' : `, who said: ${quote(this.reason)}`
    return `This was denied by ${quote(this.by)}${why}; the action was not done, and must not be tried again in another way.`
  }
}

/** Nobody answered in time. */
export class Expired extends HoldpointError {
  readonly code = 'expired'
  readonly id: string

  constructor(id: string, message = 'Nobody answered in time.') {
    super(message)
    this.id = id
  }

  toModel(): string {
    return `Nobody approved this in time, so the action was not done: ${giveUp}.`
  }
}

/** It was withdrawn. */
export class Cancelled extends HoldpointError {
  readonly code = 'cancelled'
  readonly id: string
  readonly by: string
  readonly reason: string | null

  constructor({ id, by, reason }: { id: string; by: string; reason: string | null }) {
    super(`Cancelled by ${by}${reason === null ? '.' : `: ${reason}`}`)
    this.id = id
    this.by = by
    this.reason = reason
  }

  toModel(): string {
    return `The request to approve this was withdrawn, so the action was not done: ${giveUp}.`
  }
}

export interface NoClaim {
  id: string
  /** Of the refusal, such as `already_claimed`; `digest_mismatch` also where nothing was claimed because of it. */
  reason: ProblemCode
  message: string
  problem?: ProblemBody
}

/** The last gate was shut: approved or not, this act must not happen. */
export class ClaimRefused extends HoldpointError {
  readonly code = 'claim_refused'
  readonly id: string
  readonly reason: ProblemCode
  readonly problem: ProblemBody | null

  constructor({ id, reason, message, problem }: NoClaim) {
    super(message)
    this.id = id
    this.reason = reason
    this.problem = problem ?? null
  }

  toModel(): string {
    // By an attempt that was cut off, perhaps behind its act.
    if (this.reason === 'already_claimed') {
      return `This approval was used before, so the action was not done a second time: ${giveUp}.`
    }
    return `The approval cannot be used for this (${this.reason}), so the action was not done: ${giveUp}.`
  }
}

/** Nobody can tell whether the claim counted, because its answer was lost. So there was no act, and this approval is spent. */
export class ClaimUncertain extends HoldpointError {
  readonly code = 'claim_uncertain'
  readonly id: string

  constructor(id: string, cause: unknown) {
    super(`The answer to the claim of ${id} was lost, and so nothing was done.`, { cause })
    this.id = id
  }

  toModel(): string {
    return `The approval was lost on its way back, so the action was not done: ${giveUp}.`
  }
}

/** Too much was asked for. `problem.code` says what of. */
export class RateLimited extends HoldpointError {
  readonly code = 'rate_limited'
  readonly problem: ProblemBody
  readonly retryAfterMs: number | null

  constructor({ message, problem, retryAfterMs }: Refused) {
    super(message)
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }

  toModel(): string {
    return `Too much was put up for approval for now, so the action was not done: ${giveUp}.`
  }
}

/** Nothing is taken from this session until an operator says so. */
export class Suspended extends HoldpointError {
  readonly code = 'suspended'
  readonly reason: string | null
  readonly problem: ProblemBody

  constructor({ message, problem }: Refused) {
    super(message)
    this.problem = problem
    this.reason = typeof problem.reason === 'string' ? problem.reason : null
  }

  toModel(): string {
    return 'An operator has suspended this session, so the action was not done: stop here, and tell the person you work for.'
  }
}

/** Whoever asked gave up: the `signal` was aborted. Its reason is the `cause`. */
export class Aborted extends HoldpointError {
  readonly code = 'aborted'

  constructor(cause: unknown) {
    super('It was aborted.', { cause })
  }

  toModel(): string {
    return 'This was aborted before anybody approved it, so the action was not done: do not try again.'
  }
}

/** What was given cannot be used: a setting, an argument, a value that JSON cannot carry. Nothing was sent. */
export class Invalid extends HoldpointError {
  readonly code = 'invalid'

  toModel(): string {
    return `This cannot be put before a person for approval (${quote(this.message)}), so the action was not done: ${giveUp}.`
  }
}

/** Text of others in a sentence for a model: on one line, not long, and what cannot be seen is written out. */
function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const quoted = JSON.stringify(line.length > 500 ? `${line.slice(0, 500).toWellFormed()}…` : line)
  return quoted.replace(/\p{C}/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`)
}
