// Every error answer is one row of one table, as RFC 9457 problem details with the contract's `error` sentence.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ZodError } from 'zod'
import { inProtocol, isAapPath, paramIn } from '../aap/problem.js'
import { stringifyInert } from '../core/json.js'
import { denyBecause } from '../hooks/claude-code.js'
import { isRefusal, type Refusal, type RefusalCode } from '../core/refusal.js'
import { type ResponseHeader, responseHeaderNames } from './response-headers.js'
import { OutcomeUnknown, StoreDisplaced, StoreUnavailable } from '../store/store.js'

type HttpCode =
  | 'not_json'
  | 'ambiguous_json'
  | 'unknown_field'
  | 'unknown_parameter'
  | 'invalid_request'
  | 'unsupported_delivery_type'
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

/** What an answer may hold beside what every problem has. `status` is then the state of the confirmation, not the number. */
type Extra =
  | 'status'
  | 'share'
  | 'id'
  | 'reason'
  | 'resolved_by'
  | 'resolved_at'
  | 'claim_expires_at'
  | 'claimed_at'
  | 'outcome'
  | 'digest'
  | 'max'
  | 'remaining'
  | 'window_seconds'
  | 'retry_after_seconds'
  | 'open_limit'
  | 'requesters'
  | 'ids'

interface ProblemRow {
  status: number
  title: string
  /** For the documents, and for openapi.yaml: plain sentences in which backquotes mark code. */
  meaning: string
  /** With a question mark: not in every answer with this code. */
  extra?: readonly (Extra | `${Extra}?`)[]
  /** Beside Retry-After, which follows from the rest. */
  headers?: readonly ResponseHeader[]
}

export const problems = {
  not_json: { status: 400, title: 'Not JSON', meaning: 'The body is no JSON object in UTF-8.' },
  ambiguous_json: {
    status: 400,
    title: 'Ambiguous JSON',
    meaning: 'A name stands twice, or a number does not survive being read; `error` says where. Send it as text.',
  },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    meaning: 'The body has a field that does not exist; `error` lists those that do.',
  },
  unknown_parameter: {
    status: 400,
    title: 'Unknown parameter',
    meaning: 'The query has a parameter that does not exist; `error` lists those that do.',
  },
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    meaning: 'A field, a parameter or the request itself is wrong; `error` says which and how.',
  },
  unsupported_delivery_type: {
    status: 400,
    title: 'Unsupported delivery type',
    meaning: 'An instance with `delivery`: there is only the synchronous mode, in which adapters poll.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    meaning:
      'The `cursor` did not come from here, belongs to another listing or to somebody else, or `after` is beyond the end.',
  },
  callback_refused: {
    status: 400,
    title: 'Callback refused',
    meaning: 'The `callback_url` cannot be called back; `error` says why.',
  },
  unclear_action: {
    status: 400,
    title: 'Unclear action',
    meaning: "There are rules, and the action's name is not plain nor spelt out by one.",
  },
  details_too_long: {
    status: 400,
    title: 'Details too long',
    meaning: 'A whitelist entry for exactly these details would be too long.',
  },
  no_session: {
    status: 400,
    title: 'No session',
    meaning: '`remember: "session"` for a request that has no `session_key`.',
  },
  no_requester: { status: 400, title: 'No requester', meaning: 'To remember it for a requester who gave no name.' },
  invalid_choice: {
    status: 400,
    title: 'Nothing chosen',
    meaning: 'A form on a page was sent without a choice, or with a reason that is no text.',
  },
  reason_required: { status: 400, title: 'Reason required', meaning: 'The rule wants a `reason` for this verdict.' },
  typing_required: {
    status: 400,
    title: 'Typed confirmation required',
    meaning: "The rule wants the action's name in `typed_action`.",
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'No key, or one that is not known or no longer good; or no such link.',
    headers: ['WWW-Authenticate'],
  },
  forbidden: { status: 403, title: 'Forbidden', meaning: "The key's role does not allow this." },
  not_yours: { status: 403, title: 'Not yours', meaning: 'Only whoever submitted it may cancel, claim and report it.' },
  own_request: { status: 403, title: 'Own request', meaning: 'Nobody decides what they submitted.' },
  not_a_decider: {
    status: 403,
    title: 'Not a decider',
    meaning: "The rule lets others decide this, or needs several people and this is a chat's link.",
  },
  not_whitelistable: {
    status: 403,
    title: 'Not whitelistable',
    meaning: 'The rules want a person for this action every time.',
  },
  high_risk: {
    status: 403,
    title: 'High-risk action',
    meaning: 'This action always needs a person and cannot be whitelisted.',
  },
  cross_origin: {
    status: 403,
    title: 'Cross-origin request',
    meaning: 'A web page of another site tried to change something.',
  },
  not_found: { status: 404, title: 'Not found', meaning: "There is nothing with this id, or it is another agent's." },
  no_such_route: { status: 404, title: 'No such route', meaning: 'There is nothing at this path.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path takes other methods; `Allow` lists them.',
    headers: ['Allow'],
  },
  request_timeout: { status: 408, title: 'Request timeout', meaning: 'The request took too long to arrive.' },
  already_resolved: {
    status: 409,
    title: 'Already resolved',
    meaning: 'Somebody was first, or it expired. `status` is the state that stands.',
    extra: ['status', 'resolved_by', 'resolved_at'],
  },
  already_voted: {
    status: 409,
    title: 'Already voted',
    meaning: 'One person has one vote. It is still pending.',
    extra: ['status'],
  },
  link_used: { status: 409, title: 'Link used', meaning: 'A link is good for one decision.', extra: ['status'] },
  denied_before: {
    status: 409,
    title: 'Denied before',
    meaning: 'The same was denied a short while ago; `id` and `reason` say by what and why.',
    extra: ['status', 'id', 'resolved_by', 'reason', 'retry_after_seconds'],
  },
  whitelist_full: {
    status: 409,
    title: 'Whitelist full',
    meaning: '100 entries differ in nothing but requester and conditions; revoke one.',
    extra: ['status?'],
  },
  ambiguous_session: {
    status: 409,
    title: 'Ambiguous session',
    meaning:
      'Several requesters have a session with this key; say whose with `?requester=`. `requesters` has the first 20.',
    extra: ['requesters'],
  },
  ambiguous_id: {
    status: 409,
    title: 'Ambiguous id',
    meaning: 'Several requests of the last week have an id with this end; say more of it. `ids` has the last 10.',
    extra: ['ids'],
  },
  name_taken: {
    status: 409,
    title: 'Name taken',
    meaning: 'Somebody has a name that looks like this, or this chat id.',
  },
  key_not_live: {
    status: 409,
    title: 'Key not live',
    meaning: 'A revoked or expired key cannot be rotated, and signs nobody in.',
  },
  instance_deleted: {
    status: 409,
    title: 'Instance deleted',
    meaning: 'The instance that was made with this `Idempotency-Key` was deleted, and does not come back.',
  },
  credential_lost: {
    status: 409,
    title: 'Credential lost',
    meaning:
      'The instance was made with another key of the same provisioner, and only with that its credential is told again.',
  },
  not_approved: {
    status: 409,
    title: 'Not approved',
    meaning: 'A claim for what is pending or was not approved. Do not act.',
    extra: ['status'],
  },
  approval_expired: {
    status: 409,
    title: 'Approval expired',
    meaning: 'A claim that came too late. Do not act; submit again.',
    extra: ['status', 'claim_expires_at'],
  },
  digest_mismatch: {
    status: 409,
    title: 'Not what was approved',
    meaning: 'A claim for something other than what was approved. Do not act.',
    extra: ['status', 'digest'],
  },
  digest_required: {
    status: 409,
    title: 'Digest required',
    meaning:
      'A claim that does not say what it is for, where it must. Do not act; compute the digest, and claim with it.',
    extra: ['status'],
  },
  already_claimed: {
    status: 409,
    title: 'Already claimed',
    meaning: 'An approval is good for one act. Do not act again.',
    extra: ['status', 'claimed_at'],
  },
  not_claimed: { status: 409, title: 'Not claimed', meaning: 'A report on what was never claimed.', extra: ['status'] },
  already_reported: {
    status: 409,
    title: 'Already reported',
    meaning: 'The first report stands.',
    extra: ['status', 'outcome'],
  },
  body_too_large: { status: 413, title: 'Body too large', meaning: 'More than 1 MiB.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'A body without `Content-Type: application/json`.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectation failed',
    meaning: 'An `Expect` header other than `100-continue`.',
  },
  unknown_host: { status: 421, title: 'Unknown host', meaning: "A browser came by a name that is not this machine's." },
  key_reused: {
    status: 422,
    title: 'Idempotency-Key reused',
    meaning: 'The `Idempotency-Key` stands for another request; the `id` of its confirmation is in the answer.',
    extra: ['id'],
  },
  session_suspended: {
    status: 423,
    title: 'Session suspended',
    meaning: 'Nothing is taken from this session until an operator resumes or resets it.',
    extra: ['reason'],
  },
  rate_limited: {
    status: 429,
    title: 'Too many confirmations',
    meaning: 'This action had its confirmations for now; see `Retry-After`.',
    extra: ['share', 'max', 'remaining', 'window_seconds', 'retry_after_seconds'],
    headers: ['RateLimit', 'RateLimit-Policy'],
  },
  too_many_open: {
    status: 429,
    title: 'Too many open',
    meaning: 'The requester has as many open as may be; see `Retry-After`.',
    extra: ['share', 'open_limit', 'retry_after_seconds'],
  },
  disk_limited: {
    status: 429,
    title: 'Too much written',
    meaning: 'The requester has written as much as may be in a day; see `Retry-After`.',
    extra: ['share', 'retry_after_seconds'],
  },
  circuit_open: {
    status: 429,
    title: 'Too many denied',
    meaning:
      'Too many requests in a row were denied or expired, of this session or of this requester; see `Retry-After`.',
    extra: ['share', 'retry_after_seconds'],
  },
  guess_limited: {
    status: 429,
    title: 'Too many refused',
    meaning: 'Too many refusals from this address or name; see `Retry-After`.',
    extra: ['share', 'retry_after_seconds'],
  },
  flood_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'Too much of what there is a share of for each requester; `share` says of what. See `Retry-After`.',
    extra: ['share', 'retry_after_seconds', 'remaining?', 'window_seconds?'],
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    meaning: 'More than 16 KiB of headers, or more than 100 of them.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'A bug. Nothing was approved; the log has the details.',
  },
  contended: {
    status: 503,
    title: 'Contended',
    meaning: 'Too many changed the same thing at once. Nothing was done; try again.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    meaning: 'The disk failed during the commit. It may stand or not: do not act, and look again until you are told.',
  },
  storage_unavailable: {
    status: 503,
    title: 'Storage unavailable',
    meaning: 'The database cannot be written or read, or was taken away; `error` says which. Nothing was changed.',
  },
  shutting_down: { status: 503, title: 'Shutting down', meaning: 'Try again in a moment.' },
} as const satisfies Record<ProblemCode, ProblemRow>

export const problemCodes = Object.keys(problems) as ProblemCode[]

/** What is wrong before a route is asked, or with asking for one: none of them declares it. */
export const beforeRoutes = [
  'no_such_route',
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
] as const satisfies ProblemCode[]

/** Which fields an answer with this code has beside what every problem has, and whether always. */
export function extrasOf(code: ProblemCode): { name: Extra; isSure: boolean }[] {
  const { extra = [] }: ProblemRow = problems[code]
  return extra.map((one) => ({ name: one.replace('?', '') as Extra, isSure: !one.endsWith('?') }))
}

/** Which headers an answer with this code may have, of those that not every answer has. */
export function headersOf(code: ProblemCode): ResponseHeader[] {
  const { status, headers = [] }: ProblemRow = problems[code]
  const isTimed = status === 503 || extrasOf(code).some(({ name }) => name === 'retry_after_seconds')
  return isTimed ? [...headers, 'Retry-After'] : [...headers]
}

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
  const { status, type, body } = written(problem, reply.request)
  const retryAfter = problem.extra.retry_after_seconds ?? (status === 503 ? 1 : undefined)
  if (typeof retryAfter === 'number') void reply.header('retry-after', retryAfter)
  // Also where beginAnswers was never asked.
  void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  if (isAapPath(reply.request.url)) void reply.header('x-request-id', reply.request.id)
  const own = headersOf(problem.code)
  if (own.includes('WWW-Authenticate')) void reply.header('www-authenticate', 'Bearer realm="holdpoint"')
  // What the route has said of the answer that it was about to give is not true of this one.
  for (const name of responseHeaderNames)
    if (!own.includes(name) && name !== 'X-Request-ID') void reply.removeHeader(name)
  return reply
    .code(status)
    .type(type)
    .send(`${stringifyInert(body)}\n`)
}

/** In the words of whom it is for. */
function written(problem: Problem, { id, url }: FastifyRequest) {
  if (!isAapPath(url)) {
    const { status } = problems[problem.code]
    return { status, type: 'application/problem+json', body: problemBody(problem, id) }
  }
  const { status, type, code } = aapFormOf(problem.code)
  const { message } = problem
  const param = paramIn(message)
  const error = { type, code, message, ...(param === null ? {} : { param }), request_id: id }
  return { status, type: 'application/json', body: { error } }
}

/** How the Agent Approval Protocol says it. */
export function aapFormOf(code: ProblemCode) {
  return inProtocol(code, problems[code].status)
}

/** Whoever asks here understands decisions alone: whatever goes wrong on the way to one is a no. */
export const hookPaths = '/hooks/'

export function isHookPath(url: string): boolean {
  return url.startsWith(hookPaths)
}

/** A call of a hook, which is a POST. */
export function isHookCall({ method, url }: FastifyRequest): boolean {
  return method === 'POST' && isHookPath(url)
}

export function denialOf({ code, message }: Problem): string {
  return `${stringifyInert(denyBecause(code, message))}\n`
}

function sendDenial(reply: FastifyReply, problem: Problem): FastifyReply {
  void reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  for (const name of responseHeaderNames) void reply.removeHeader(name)
  return reply.code(200).type('application/json; charset=utf-8').send(denialOf(problem))
}

/** A result among many: the answer it would have been alone. */
export function problemResult(problem: Problem, requestId: string) {
  return { status_code: problems[problem.code].status as number, body: problemBody(problem, requestId) }
}

/** The extras come last: where `status` is one of them it is the state that stands, and else the number. */
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
    if (problem.code === 'request_timeout') void reply.header('connection', 'close')
    void (isHookCall(request) ? sendDenial(reply, problem) : sendProblem(reply, problem))
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
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupported()
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'Nothing here has an id or a name that long.')
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_request', 'The URL is not properly encoded.')
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
