// A service that is none, for tests of agents: it answers as the test says, and keeps what it was asked.
import { randomUUID } from 'node:crypto'
import type { Confirmation, ProblemCode, Status } from './api.js'
import { digestOf } from './digest.js'
import { Invalid, Refused, Unreachable } from './errors.js'
import type { Answer, Call, Http } from './http.js'
import type { JsonObject } from './json.js'
import { orAborted } from './pause.js'

/** What becomes of a request: how it is resolved, or which error its caller gets. */
export type FakeOutcome =
  | 'approved'
  | 'auto_approved'
  | 'pending'
  | 'denied'
  | 'expired'
  | 'cancelled'
  | 'claim_refused'
  | 'claim_uncertain'
  | 'rate_limited'
  | 'suspended'
  | 'unreachable'

export type FakeAnswer = FakeOutcome | { outcome: FakeOutcome; by?: string; reason?: string }

export interface FakeOptions {
  /** For all requests, or made for each; pending, unless it is said: then the test approves or denies it. */
  answer?: FakeAnswer | ((asked: Confirmation) => FakeAnswer) | undefined
}

export interface Fake {
  /** All that was asked for, with what became of it: `execution` and `outcome` say whether it was done, and how that went. */
  readonly asked: readonly Confirmation[]
}

interface Kept {
  record: Confirmation
  outcome: FakeOutcome
  resolved: Promise<void>
  resolve(status: Status, by: string, reason: string | null): void
}

export function createFake({ answer = 'pending' }: FakeOptions): Fake & { http: Http } {
  const asked: Confirmation[] = []
  const kept = new Map<string, Kept>()
  const byKey = new Map<string, Kept>()

  function submit(body: JsonObject, key: string | undefined): Confirmation {
    const known = key === undefined ? undefined : byKey.get(key)
    if (known !== undefined) return firstAnswer(known)
    const one = keep(recordOf(body))
    const said = typeof answer === 'function' ? answer(one.record) : answer
    const { outcome, by = 'fake', reason = null } = typeof said === 'string' ? { outcome: said } : said
    one.outcome = outcome
    if (outcome === 'unreachable') throw away(false)
    if (outcome === 'rate_limited') throw refusal(429, 'rate_limited', 'Too many.', { retry_after_seconds: 86_400 })
    if (outcome === 'suspended') throw refusal(423, 'session_suspended', 'This session is suspended.', { reason })
    const isClaimed = outcome === 'claim_refused' || outcome === 'claim_uncertain'
    if (outcome !== 'pending') one.resolve(isClaimed ? 'approved' : outcome, by, reason)
    if (key !== undefined) byKey.set(key, one)
    return firstAnswer(one)
  }

  /** Whoever asks is told that it waits, also when it was resolved meanwhile. */
  function firstAnswer({ record, outcome }: Kept): Confirmation {
    return outcome === 'auto_approved' ? { ...record } : { ...record, status: 'pending' }
  }

  function keep(record: Confirmation): Kept {
    let tell = () => {}
    const resolved = new Promise<void>((resolve) => (tell = resolve))
    const resolve: Kept['resolve'] = (status, by, reason) => {
      if (record.status !== 'pending') throw state(record, 'already_resolved', `It is ${record.status} already.`)
      const isYes = status === 'approved' || status === 'auto_approved'
      Object.assign(record, { status, resolved_by: by, resolved_via: 'fake', reason, ...times('resolved', Date.now()) })
      if (isYes) Object.assign(record, { execution: 'unclaimed', ...times('claim_expires', Date.now() + 900_000) })
      tell()
    }
    const one: Kept = { record, outcome: 'pending', resolved, resolve }
    asked.push(record)
    kept.set(record.id, one)
    return one
  }

  function claim({ record, outcome }: Kept): void {
    if (outcome === 'claim_uncertain') throw away(true)
    if (outcome === 'claim_refused') throw state(record, 'approval_expired', 'This approval is no longer good.')
    if (record.execution === null) throw state(record, 'not_approved', `It is ${record.status}.`)
    if (record.execution !== 'unclaimed') throw state(record, 'already_claimed', 'It was claimed already.')
    Object.assign(record, { execution: 'claimed', ...times('claimed', Date.now()) })
  }

  function report({ record }: Kept, { outcome, message = null }: JsonObject): void {
    if (record.execution !== 'claimed')
      throw state(record, 'not_claimed', 'It was never claimed, or is reported already.')
    Object.assign(record, { execution: outcome, outcome, report_message: message, ...times('reported', Date.now()) })
  }

  async function answerTo(method: string, path: string, call: Call): Promise<unknown> {
    const body = (call.body ?? {}) as Record<string, string> & JsonObject
    if (method === 'POST' && path === '/confirm') return submit(body, call.headers?.['idempotency-key'])
    if (method === 'GET' && path === '/confirm') {
      const confirmations = asked.filter(({ status }) => status === 'pending')
      return { count: confirmations.length, confirmations, next_cursor: null }
    }
    const [, id, verb] = /^\/(?:confirm|short-ids)\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    const one = kept.get(id ?? '')
    if (one === undefined) throw refusal(404, 'not_found', `There is no confirmation ${id}.`)
    const reason = body.reason ?? null
    if (verb === 'approve') one.resolve('approved', body.approver ?? 'api', reason)
    else if (verb === 'deny') one.resolve('denied', body.denier ?? 'api', reason)
    else if (verb === 'cancel') one.resolve('cancelled', one.record.requester, reason)
    else if (verb === 'claim') claim(one)
    else if (verb === 'report') report(one, body)
    else if (Number(call.query?.wait ?? 0) > 0) await orAborted(one.resolved, call.signal)
    return { ...one.record, deliveries: [] }
  }

  const http: Http = {
    place: 'a fake',
    // Through JSON, as everything that is real: nobody can change what is kept.
    call: async <T>(method: string, path: string, call: Call = {}) => {
      const body = JSON.parse(JSON.stringify(await answerTo(method, path, call))) as T
      return { status: 200, headers: {}, body } satisfies Answer<T>
    },
    stream: () => Promise.reject(new Invalid('A fake has no streams.')),
    close: () => {},
  }
  return { http, asked }
}

function recordOf(body: JsonObject): Confirmation {
  const text = (name: string, usual: string) => (typeof body[name] === 'string' ? body[name] : usual)
  const [action, requester, sessionKey] = [text('action', ''), text('requester', 'agent'), text('session_key', '')]
  const onBehalfOf = text('on_behalf_of', '') || null
  const details = JSON.parse(JSON.stringify(body.details)) as JsonObject
  const timeoutSeconds = typeof body.timeout_seconds === 'number' ? body.timeout_seconds : 300
  return {
    id: randomUUID(),
    action,
    description: text('description', ''),
    details,
    requester,
    requested_as: null,
    on_behalf_of: onBehalfOf,
    session_key: sessionKey,
    session_id: null,
    warnings: [],
    status: 'pending',
    resolved_by: '',
    resolved_via: null,
    reason: null,
    timeout_seconds: timeoutSeconds,
    digest: digestOf({ action, details, onBehalfOf, requester, sessionKey }),
    digest_required: false,
    callback_url: text('callback_url', '') || null,
    risk: 'normal',
    rule: 'default',
    approvals_needed: 1,
    approvals_given: 0,
    votes: [],
    comments: [],
    execution: null,
    outcome: null,
    report_message: null,
    ...times('created', Date.now()),
    ...times('expires', Date.now() + timeoutSeconds * 1000),
    ...times('resolved', null),
    ...times('told', null),
    ...times('claim_expires', null),
    ...times('claimed', null),
    ...times('reported', null),
  }
}

type Times<N extends string, V> = { [K in `${N}_at`]: V extends null ? null : number } & {
  [K in `${N}_at_iso`]: V extends null ? null : string
}

function times<N extends string, V extends number | null>(name: N, ms: V): Times<N, V> {
  const iso = ms === null ? null : new Date(ms).toISOString()
  return { [`${name}_at`]: ms === null ? null : ms / 1000, [`${name}_at_iso`]: iso } as Times<N, V>
}

function refusal(status: number, code: ProblemCode, error: string, more: object = {}): Refused {
  const problem = { code, error, status, ...more }
  return new Refused(status, problem, status === 429 ? 86_400_000 : null)
}

/** What is refused because of how it stands. */
function state({ status }: Confirmation, code: ProblemCode, error: string): Refused {
  return refusal(409, code, error, { status })
}

function away(mayHaveArrived: boolean): Unreachable {
  return new Unreachable('The fake is away.', { mayHaveArrived, mayPass: false })
}
