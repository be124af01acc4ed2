// What a tool answers: one object, in which nothing but an accepted claim has `may_act: true`, and which says what to do next.
import * as errors from '../client/index.js'
import type { Confirmation } from '../client/index.js'
import { stringifyInert } from '../core/json.js'

export interface Said {
  status: string
  id?: string
  may_act: boolean
  [more: string]: unknown
  next: string
}

export interface Result {
  content: { type: 'text'; text: string }[]
  isError?: boolean
  [more: string]: unknown
}

export type SaidResult = Result & { structuredContent: Said }

/** As a text too: not every host shows a model the other. */
export function resultOf(said: Said, isError = false): SaidResult {
  const content = [{ type: 'text' as const, text: stringifyInert(said) }]
  return { content, structuredContent: said, ...(isError ? { isError } : {}) }
}

export function pending(id: string): Said {
  return {
    status: 'pending',
    id,
    may_act: false,
    next: 'Nobody has answered yet, and that is no yes: do not act. Call wait_for_decision with this id.',
  }
}

export function approved({ id, status, resolved_by, execution, claim_expires_at_iso }: Confirmation): Said {
  const isLeft = execution === 'unclaimed'
  return {
    status,
    id,
    may_act: false,
    resolved_by,
    ...(isLeft ? { claim_before: claim_expires_at_iso } : { execution }),
    next: isLeft
      ? 'Call claim_approval right before you act, with this id and exactly what was approved. Act only on its `may_act: true`.'
      : `This approval is ${execution} and cannot be claimed any more: do not act on it.`,
  }
}

export function claimed(id: string): Said {
  return {
    status: 'claimed',
    id,
    may_act: true,
    next: 'Do exactly this now, once, and then call report_outcome with this id.',
  }
}

export function done(id: string, status: 'reported' | 'cancelled'): Said {
  const next = status === 'reported' ? 'Nothing: it is on record.' : 'It is withdrawn: do not act on it.'
  return { status, id, may_act: false, next }
}

/** A no of a person, or what ended a request, is an answer as any other; what kept the tool from its work is an error. */
export function failed(error: unknown, id?: string, failing?: string): SaidResult {
  const known = error instanceof errors.HoldpointError ? error : null
  const own = id === undefined ? {} : { id }
  if (known instanceof errors.Denied || known instanceof errors.Cancelled) {
    const { code: status, by, reason } = known
    return resultOf({ status, ...own, may_act: false, resolved_by: by, reason, next: known.toModel() })
  }
  if (known instanceof errors.Expired) {
    return resultOf({ status: 'expired', ...own, may_act: false, next: known.toModel() })
  }
  if (known instanceof errors.Invalid) return misused(known.message)
  if (known === null) {
    const message = 'Something went wrong here that nobody foresaw.'
    return resultOf({ status: 'failed', ...own, may_act: false, code: 'internal_error', message, next: doNotAct }, true)
  }
  const code = known instanceof errors.ClaimRefused ? known.reason : known.code
  const isAway = known instanceof errors.Unreachable
  const mayPass = isAway || known instanceof errors.RateLimited
  const next = failing ?? (mayPass && id !== undefined ? askAgain : known.toModel())
  const status = isAway ? 'unreachable' : 'refused'
  return resultOf({ status, ...own, may_act: false, code, message: known.message, next }, true)
}

/** The request itself may be well. */
const askAgain =
  'The approval service has not said how this request stands: do not act. Call wait_for_decision with this id later, or tell ' +
  'the person you work for.'

const doNotAct = 'Do not act, and tell the person you work for.'

/** What is wrong with the call itself. */
export function misused(message: string): SaidResult {
  return resultOf(
    {
      status: 'refused',
      may_act: false,
      code: 'invalid',
      message,
      next: 'Nothing was asked of anybody: correct the call, and do not act.',
    },
    true,
  )
}
