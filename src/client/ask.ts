// What is asked for: from what the program says to what is sent, with details that nobody can change any more.
import type { SessionState } from './api.js'
import { digestOf } from './digest.js'
import { Invalid } from './errors.js'
import { frozenCopy, type JsonObject } from './json.js'

/** What the function gets, and what was approved: the details, frozen all the way down. */
export type Frozen<T> = T extends (...args: never[]) => unknown
  ? never
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

export interface AskOptions {
  /** Which session it belongs to. */
  sessionKey?: string | undefined
  /** Who asks, in open mode. With a key that is its owner, and another name no more than a comment. */
  requester?: string | undefined
  /** For whom the agent says it acts: its word, and part of the digest. */
  onBehalfOf?: string | undefined
  /** How long a person has to answer; the service has its own bounds and its own idea of what is usual. */
  timeoutSeconds?: number | undefined
  /** Where the resolved record is sent. */
  callbackUrl?: string | undefined
  /**
   * Asked again with the same key, it is the same request: best the id of the tool call. Left out: one from chance, which is
   * kept while this call is tried again.
   */
  idempotencyKey?: string | undefined
  /** How long it is tried, and waited for; the request's own time, unless it is said. */
  deadlineMs?: number | undefined
  signal?: AbortSignal | undefined
}

export interface Ask<D extends object = object> extends AskOptions {
  action: string
  /** What a person reads to decide. */
  description: string
  /** What must not change: plain data, as JSON carries it. */
  details?: D | undefined
}

/** What was asked for, to wait for and to act on: plain data, which may be kept and read again by another process. */
export interface ApprovalRequest<D extends object = object> {
  readonly id: string
  readonly action: string
  readonly details: Frozen<D>
  readonly requester: string
  readonly onBehalfOf: string | null
  readonly sessionKey: string
  readonly digest: string
  readonly status: 'pending' | 'auto_approved'
  /** Epoch milliseconds. */
  readonly expiresAt: number
  /** How its session stands; `notice` and `warning` are for the agent's prompt. */
  readonly session?: SessionState
}

export interface ReadAsk {
  /** What is sent. */
  body: object
  details: JsonObject
  /** All the digest is over, once the requester is known. */
  digestFor(requester: string): string
  action: string
  onBehalfOf: string | null
  sessionKey: string
}

/** Of an Idempotency-Key. */
const keyForm = /^[!-~]{1,255}$/

export function readAsk(ask: Ask): ReadAsk {
  const action = text(ask.action, 'action').trim()
  const description = text(ask.description, 'description').trim()
  if (action === '') throw new Invalid('action must not be blank.')
  if (description === '') throw new Invalid('description must not be blank: a person decides by it.')
  const sessionKey = text(ask.sessionKey ?? '', 'sessionKey')
  const onBehalfOf = text(ask.onBehalfOf ?? '', 'onBehalfOf').trim() || null
  const details = frozenCopy(ask.details ?? {}, 'details')
  if (ask.idempotencyKey !== undefined && !keyForm.test(text(ask.idempotencyKey, 'idempotencyKey'))) {
    throw new Invalid('idempotencyKey must be 1 to 255 visible ASCII characters.')
  }
  const fields = {
    action,
    description,
    session_key: sessionKey,
    ...(ask.requester === undefined ? {} : { requester: text(ask.requester, 'requester') }),
    ...(onBehalfOf === null ? {} : { on_behalf_of: onBehalfOf }),
    ...(ask.timeoutSeconds === undefined ? {} : { timeout_seconds: duration(ask.timeoutSeconds, 'timeoutSeconds') }),
    ...(ask.callbackUrl === undefined ? {} : { callback_url: text(ask.callbackUrl, 'callbackUrl') }),
  }
  if (ask.deadlineMs !== undefined) duration(ask.deadlineMs, 'deadlineMs')
  return {
    body: { ...fields, details },
    details,
    digestFor: (requester) => digestOf({ action, details, onBehalfOf, requester, sessionKey }),
    action,
    onBehalfOf,
    sessionKey,
  }
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Invalid(`${name} must be a string.`)
  if (!value.isWellFormed() || value.includes('\0')) throw new Invalid(`${name} must be valid text.`)
  return value
}

export function duration(value: unknown, name: string): number {
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) {
    throw new Invalid(`${name} must be a number above 0.`)
  }
  return value
}
