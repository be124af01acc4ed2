// Every error answer is one row of one table, as RFC 9457 problem details with the contract's `error` sentence.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ZodError } from 'zod'
import { stringifyInert } from '../core/json.js'
import { isRefusal, type Refusal, type RefusalCode } from '../core/refusal.js'
import { OutcomeUnknown, StoreDisplaced, StoreUnavailable } from '../store/store.js'

type HttpCode =
  | 'not_json'
  | 'ambiguous_json'
  | 'unknown_field'
  | 'unknown_parameter'
  | 'invalid_request'
  | 'no_such_route'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'cross_origin'
  | 'unknown_host'
  | 'flood_limited'
  | 'headers_too_large'
  | 'request_timeout'
  | 'internal_error'
  | 'outcome_unknown'
  | 'storage_unavailable'
  | 'shutting_down'

export type ProblemCode = RefusalCode | HttpCode

export const problems = {
  not_json: { status: 400, title: 'Not JSON' },
  ambiguous_json: { status: 400, title: 'Ambiguous JSON' },
  unknown_field: { status: 400, title: 'Unknown field' },
  unknown_parameter: { status: 400, title: 'Unknown parameter' },
  invalid_request: { status: 400, title: 'Invalid request' },
  invalid_cursor: { status: 400, title: 'Invalid cursor' },
  callback_refused: { status: 400, title: 'Callback refused' },
  unclear_action: { status: 400, title: 'Unclear action' },
  details_too_long: { status: 400, title: 'Details too long' },
  no_session: { status: 400, title: 'No session' },
  no_requester: { status: 400, title: 'No requester' },
  invalid_choice: { status: 400, title: 'Nothing chosen' },
  reason_required: { status: 400, title: 'Reason required' },
  typing_required: { status: 400, title: 'Typed confirmation required' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  not_yours: { status: 403, title: 'Not yours' },
  own_request: { status: 403, title: 'Own request' },
  not_a_decider: { status: 403, title: 'Not a decider' },
  not_whitelistable: { status: 403, title: 'Not whitelistable' },
  high_risk: { status: 403, title: 'High-risk action' },
  cross_origin: { status: 403, title: 'Cross-origin request' },
  not_found: { status: 404, title: 'Not found' },
  no_such_route: { status: 404, title: 'No such route' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'Request timeout' },
  already_resolved: { status: 409, title: 'Already resolved' },
  already_voted: { status: 409, title: 'Already voted' },
  link_used: { status: 409, title: 'Link used' },
  denied_before: { status: 409, title: 'Denied before' },
  whitelist_full: { status: 409, title: 'Whitelist full' },
  name_taken: { status: 409, title: 'Name taken' },
  key_not_live: { status: 409, title: 'Key not live' },
  not_approved: { status: 409, title: 'Not approved' },
  approval_expired: { status: 409, title: 'Approval expired' },
  digest_mismatch: { status: 409, title: 'Not what was approved' },
  digest_required: { status: 409, title: 'Digest required' },
  already_claimed: { status: 409, title: 'Already claimed' },
  not_claimed: { status: 409, title: 'Not claimed' },
  already_reported: { status: 409, title: 'Already reported' },
  body_too_large: { status: 413, title: 'Body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  expectation_failed: { status: 417, title: 'Expectation failed' },
  unknown_host: { status: 421, title: 'Unknown host' },
  key_reused: { status: 422, title: 'Idempotency-Key reused' },
  rate_limited: { status: 429, title: 'Too many confirmations' },
  too_many_open: { status: 429, title: 'Too many open' },
  guess_limited: { status: 429, title: 'Too many refused' },
  flood_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'Headers too large' },
  internal_error: { status: 500, title: 'Internal error' },
  contended: { status: 503, title: 'Contended' },
  outcome_unknown: { status: 503, title: 'Outcome unknown' },
  storage_unavailable: { status: 503, title: 'Storage unavailable' },
  shutting_down: { status: 503, title: 'Shutting down' },
} as const satisfies Record<ProblemCode, { status: number; title: string }>

/** What a route throws to answer with a problem. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ProblemCode
  readonly extra: Record<string, unknown>

  constructor(code: ProblemCode, sentence: string, extra: Record<string, unknown> = {}) {
    super(sentence)
    this.code = code
    this.extra = extra
  }
}

/** The value, or the refusal as a problem. */
export function granted<T extends object>(result: T | Refusal): T {
  if (isRefusal(result)) throw problemOf(result)
  return result
}

export function problemOf({ refused, sentence, extra }: Refusal): Problem {
  return new Problem(refused, sentence, extra)
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const { status } = problems[problem.code]
  const retryAfter = problem.extra.retry_after_seconds ?? (status === 503 ? 1 : undefined)
  if (typeof retryAfter === 'number') void reply.header('retry-after', retryAfter)
  // Also where the guard was never asked.
  void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  if (status === 401) void reply.header('www-authenticate', 'Bearer realm="holdpoint"')
  const body = `${stringifyInert(problemBody(problem, reply.request.id))}\n`
  return reply.code(status).type('application/problem+json').send(body)
}

/** A result among many: the answer it would have been alone. */
export function problemResult(problem: Problem, requestId: string) {
  return { status_code: problems[problem.code].status as number, body: problemBody(problem, requestId) }
}

/** `status` is the contract's in a 409: the state that stands. Everywhere else it is the number. */
export function problemBody({ code, message, extra }: Problem, requestId: string): Record<string, unknown> {
  const { status, title } = problems[code]
  return {
    type: `urn:holdpoint:problem:${code}`,
    title,
    status,
    detail: message,
    error: message,
    code,
    request_id: requestId,
    ...extra,
  }
}

interface ErrorLog {
  error(fields: object, message: string): void
}

/** The one error handler. What went wrong inside is logged and never sent. */
export function createErrorHandler(log: ErrorLog) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = toProblem(error)
    if (problems[problem.code].status >= 500) {
      const { id, method, routeOptions } = request
      log.error({ request_id: id, method, route: routeOptions?.url, err: error }, problem.code)
    }
    // Fastify would close on a client that is still sending, which resets the connection: the answer would be lost. What
    // is left of the body is read and dropped instead, until the request times out.
    if (problem.code === 'body_too_large') void reply.removeHeader('connection')
    void sendProblem(reply, problem)
  }
}

export function toProblem(error: Error): Problem {
  if (error instanceof Problem) return error
  if (error instanceof ZodError) {
    return problemWith(error)
  }
  if (error instanceof OutcomeUnknown) {
    const sentence = 'The disk failed during the commit; nobody can say yet whether it stands. Do not act; look again.'
    return new Problem('outcome_unknown', sentence)
  }
  if (error instanceof StoreDisplaced) {
    return new Problem(
      'storage_unavailable',
      'The database was removed, replaced or overwritten while Holdpoint ran, so nothing more is taken. Put it back or restore a backup, and restart Holdpoint.',
    )
  }
  if (error instanceof StoreUnavailable) {
    return new Problem(
      'storage_unavailable',
      'The database cannot be written now; nothing was changed. Try again later.',
    )
  }
  const { code, statusCode } = error as Partial<FastifyError>
  switch (code) {
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return notJson()
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', 'The body is larger than 1 MiB; send less.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupported()
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'The body is not as long as Content-Length says.')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'Nothing here has an id that long.')
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_request', 'The URL is not properly encoded.')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new Problem('invalid_request', 'The body ended before it was complete.')
  }
  if (error instanceof SyntaxError) return notJson()
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new Problem('invalid_request', 'The request cannot be understood.')
  }
  return new Problem(
    'internal_error',
    'Something went wrong inside Holdpoint; nothing was approved. The log has the details.',
  )
}

/** What is missing comes first, then what does not exist, then what is wrong with the rest. */
function problemWith(error: ZodError): Problem {
  const { issues } = error
  const missing = issues.find(({ message }) => /^Field '\w+' is required$/.test(message))
  if (missing !== undefined) return new Problem('invalid_request', missing.message)
  const unknown = issues.flatMap(alternatives).find(({ code }) => code === 'unrecognized_keys')
  if (unknown !== undefined) {
    const isInQuery = (error as Partial<FastifyError>).validationContext === 'querystring'
    return new Problem(isInQuery ? 'unknown_parameter' : 'unknown_field', unknown.message)
  }
  // What is wrong with the whole and not with a field of it: there is no body.
  const [issue] = issues
  if (issue === undefined || issue.path.length === 0) return notJson()
  return new Problem('invalid_request', issue.message)
}

/** What may be one of several things is wrong in as many ways. */
function alternatives(issue: ZodError['issues'][number]): ZodError['issues'] {
  return issue.code === 'invalid_union' ? issue.errors.flat() : [issue]
}

export function notJson(): Problem {
  return new Problem('not_json', 'The body must be a JSON object.')
}

export function unsupported(): Problem {
  return new Problem(
    'unsupported_media_type',
    "Send the body as JSON, with the header 'Content-Type: application/json'.",
  )
}
