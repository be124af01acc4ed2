// What the Agent Approval Protocol promises on the wire, in words of our own: every operation with its statuses, and the shape
// of every answer. And what its tests build.
import { randomUUID } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import { type Answer, build, type Built, type BuildOptions, type CallAs, giveKeys, withKey } from '../support.js'

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
ajv.addFormat('uuid', uuidForm)
ajv.addFormat(
  'utc-time',
  (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text)),
)

const id = { type: 'string', format: 'uuid' }
const time = { type: 'string', format: 'utc-time' }
const name = { type: 'string', minLength: 1 }
const free = { type: 'object' }
const duration = { type: 'string', pattern: '^[1-9][0-9]*(s|m|h)$' }

/** Nothing that is not named, and all that is not optional. */
const closed = (properties: Record<string, object>, optional: string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required: Object.keys(properties).filter((one) => !optional.includes(one)),
})

const call = {
  id,
  tool: name,
  server: name,
  arguments: free,
  timeout: duration,
  agent_reasoning: { type: 'string' },
  context: free,
}
const callOptional = ['server', 'agent_reasoning', 'context']
const times = { created_at: time, deadline_at: time }
const pending = closed({ ...call, status: { const: 'pending' }, ...times }, callOptional)
const approved = closed(
  {
    ...call,
    status: { const: 'approved' },
    ...times,
    decision: closed({ status: { const: 'approved' }, note: { type: 'string' }, decided_at: time, expires_at: time }, [
      'note',
    ]),
  },
  callOptional,
)
const ended = (status: string) =>
  closed(
    {
      ...call,
      status: { const: status },
      ...times,
      decision: closed({ status: { const: status }, note: { type: 'string' }, decided_at: time }, ['note']),
    },
    callOptional,
  )
const request = { oneOf: [pending, approved, ended('denied'), ended('expired'), ended('cancelled')] }
const instance = closed({ id, name })
const provisioned = closed({ instance, credential: closed({ token: name, expires_at: time }, ['expires_at']) })

const types: Record<number, string> = {
  400: 'invalid_request',
  401: 'authentication',
  403: 'authorization',
  404: 'not_found',
  409: 'conflict',
  429: 'rate_limit',
  500: 'internal',
  503: 'dependency',
}
/** A status that the protocol does not know is about a request that is wrong in another way. */
const errorWith = (status: number) =>
  closed({
    error: closed(
      {
        type: { const: types[status] ?? 'invalid_request' },
        code: { type: 'string', pattern: '^[a-z][a-z0-9]*(_[a-z0-9]+)*$' },
        message: name,
        param: name,
        request_id: id,
      },
      ['param'],
    ),
  })

/** Each operation with its successes, and what else it may answer. Webhooks that cannot be verified are of another mode. */
export const operations = {
  provisionInstance: { good: { 201: provisioned, 200: provisioned }, bad: [400, 401, 403, 409, 429, 500, 503] },
  getInstance: { good: { 200: instance }, bad: [401, 403, 404, 429, 500, 503] },
  updateInstance: { good: { 200: instance }, bad: [400, 401, 403, 404, 409, 429, 500, 503] },
  deleteInstance: { good: { 204: null }, bad: [401, 403, 404, 429, 500, 503] },
  createApprovalRequest: { good: { 201: request, 200: request }, bad: [400, 401, 403, 409, 429, 500, 503] },
  getApprovalRequest: { good: { 200: request }, bad: [400, 401, 403, 404, 429, 500, 503] },
  cancelApprovalRequest: { good: { 200: ended('cancelled') }, bad: [401, 403, 404, 409, 429, 500, 503] },
} as const
export type Operation = keyof typeof operations

const compiled = new Map<object, ValidateFunction>()
function validatorOf(schema: object): ValidateFunction {
  const known = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, known)
  return known
}
const errorSchemas = new Map<number, object>()
function errorSchema(status: number): object {
  const known = errorSchemas.get(status) ?? errorWith(status)
  errorSchemas.set(status, known)
  return known
}

/** What is wrong with an answer, whatever it is to; null: nothing. */
export function problemWith(operation: Operation, { status, headers, body }: Answer): string | null {
  if (!uuidForm.test(String(headers['x-request-id']))) return 'X-Request-ID is no UUID'
  if (status === 204) return body === '' ? null : '204 has a body'
  if (!/^application\/json(;|$)/.test(String(headers['content-type'])))
    return `it is ${String(headers['content-type'])}`
  const good = (operations[operation].good as Record<number, object | null>)[status]
  const schema = good ?? errorSchema(status)
  if (good === undefined && body.error?.request_id !== headers['x-request-id'])
    return 'request_id is another than X-Request-ID'
  const fits = validatorOf(schema)
  return fits(body) ? null : ajv.errorsText(fits.errors)
}

// -- what tests build ----------------------------------------------------------------------------------------------------

export const base = '/aap/v1'
export const proposal = { tool: 'issue_refund', arguments: { payment: 'p1', amount: 4900 }, timeout: '30m' }

export interface Provider extends Built {
  platform: CallAs
  bot: CallAs
  other: CallAs
  alice: CallAs
  root: CallAs
}

/** An app with keys. Ids are UUIDs, as they truly are. */
export async function provider(t: Test, options: BuildOptions = {}): Promise<Provider> {
  const built = await build(t, { newId: randomUUID, ...options })
  const keys = await giveKeys(built, {
    root: 'admin',
    platform: 'provisioner',
    bot: 'agent',
    other: 'agent',
    alice: 'operator',
  })
  return { ...built, ...keys }
}

let attempts = 0
/** A key that nobody has used. */
export const newKey = () => `attempt-${(attempts += 1)}`

export const propose = (as: CallAs, fields: object = {}, key = newKey()): Promise<Answer> =>
  as('POST', `${base}/requests`, { ...proposal, ...fields }, { 'idempotency-key': key })
export const read = (as: CallAs, of: string, query = ''): Promise<Answer> => as('GET', `${base}/requests/${of}${query}`)
export const withdraw = (as: CallAs, of: string): Promise<Answer> => as('DELETE', `${base}/requests/${of}`)
export const provision = (as: CallAs, fields: object = {}, key = newKey()): Promise<Answer> =>
  as('POST', `${base}/instances`, fields, { 'idempotency-key': key })
export const rename = (as: CallAs, of: string, fields: object, key = newKey()): Promise<Answer> =>
  as('PATCH', `${base}/instances/${of}`, fields, { 'idempotency-key': key })
export const readInstance = (as: CallAs, of: string): Promise<Answer> => as('GET', `${base}/instances/${of}`)
export const remove = (as: CallAs, of: string): Promise<Answer> => as('DELETE', `${base}/instances/${of}`)

export const approve = ({ alice }: Provider, id: string, body?: object) => alice('POST', `/confirm/${id}/approve`, body)
export const deny = ({ alice }: Provider, id: string, body?: object) => alice('POST', `/confirm/${id}/deny`, body)
export const record = async ({ alice }: Provider, id: string) => (await alice('GET', `/confirm/${id}`)).body
export const history = async ({ root }: Provider, query: string) =>
  (await root('GET', `/audit/events?limit=500&${query}`)).body.events
export const typesOf = async (built: Provider, id: string) =>
  (await history(built, `confirmation_id=${id}`)).map(({ type }: { type: string }) => type)
export const credentialOf = ({ call }: Provider, { body }: Answer): CallAs => withKey(call, body.credential.token)

/** Refused, and nothing is on record that was not before, but for the attempt. */
export async function changesNothing(
  t: Test,
  built: Provider,
  act: () => Promise<Answer>,
  status: number,
  code: string,
) {
  const before = (await history(built, '')).length
  const answer = await act()
  t.equal(answer.status, status)
  t.equal(answer.body.error.code, code)
  t.same(
    (await history(built, '')).slice(before).filter(({ type }: { type: string }) => type !== 'rejected'),
    [],
  )
}
