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
    super(problem.error ?? `The service refused this with ${status}.`)
    this.status = status
    this.code = (problem.code ?? 'internal_error') as ProblemCode
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
    return `This cannot be put before a person for approval, so the action was not done: ${this.message}`
  }
}
