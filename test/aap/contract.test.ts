// The Agent Approval Protocol's contract: every operation with every status, and each answer in the shape that it promises.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { StoreUnavailable, type Store } from '../../src/store/store.js'
import { type Answer, build, type CallAs, until, withKey } from '../support.js'
import {
  base,
  newKey,
  type Operation,
  operations,
  problemWith,
  propose,
  provider,
  provision,
  read,
  readInstance,
  remove,
  rename,
  withdraw,
} from './wire.js'

/** Each operation as it succeeds; the ids are of what is there. */
const asking: Record<Operation, (as: CallAs, ids: { request: string; instance: string }) => Promise<Answer>> = {
  provisionInstance: (as) => provision(as),
  getInstance: (as, { instance }) => readInstance(as, instance),
  updateInstance: (as, { instance }) => rename(as, instance, { instance_name: 'desk' }),
  deleteInstance: (as, { instance }) => remove(as, instance),
  createApprovalRequest: (as) => propose(as),
  getApprovalRequest: (as, { request }) => read(as, request),
  cancelApprovalRequest: (as, { request }) => withdraw(as, request),
}
const all = Object.keys(operations) as Operation[]
const onInstances = (one: Operation) => /Instance$/.test(one)
const unknown = { request: '01a1f5bf-0000-7000-8000-000000000000', instance: '01a1f5bf-0000-7000-8000-000000000001' }

t.test('every operation answers every status that it may, each in its shape', async (t) => {
  let fails: Error | null = null
  const failing = <T extends object>(noun: T, ...methods: (keyof T)[]): T => {
    const wrapped = { ...noun }
    for (const method of methods) {
      const own = noun[method] as (...args: unknown[]) => Promise<unknown>
      wrapped[method] = ((...args: unknown[]) => (fails === null ? own(...args) : Promise.reject(fails))) as never
    }
    return wrapped
  }
  const wrapStore = (store: Store): Store => ({
    ...store,
    ...failing({ commit: store.commit }, 'commit'),
    confirmations: failing(store.confirmations, 'get', 'brief'),
    instances: failing(store.instances, 'get'),
    idempotency: failing(store.idempotency, 'get'),
  })
  const built = await provider(t, { wrapStore, config: { floodLimit: 20, rateLimit: 100 } })
  const { platform, bot, other, alice, clock, call } = built
  const seen = new Map<Operation, Set<number>>(all.map((one) => [one, new Set()]))
  const check = async (operation: Operation, wanted: number, answer: Promise<Answer>, code?: string) => {
    const found = await answer
    t.equal(found.status, wanted, `${operation} ${JSON.stringify(found.body)}`)
    t.equal(problemWith(operation, found), null, `${operation} ${wanted}`)
    if (code !== undefined) t.equal(found.body.error.code, code)
    seen.get(operation)!.add(found.status)
    return found.body
  }
  const ids = async () => ({
    request: (await propose(bot)).body.id as string,
    instance: (await provision(platform)).body.instance.id as string,
  })

  // Successes.
  const key = newKey()
  const { instance } = await check('provisionInstance', 201, provision(platform, {}, key))
  await check('provisionInstance', 200, provision(platform, {}, key))
  await check('getInstance', 200, readInstance(platform, instance.id))
  await check('updateInstance', 200, rename(platform, instance.id, { delivery: null }))
  await check('deleteInstance', 204, remove(platform, instance.id))
  const request = await check('createApprovalRequest', 201, propose(bot, { agent_reasoning: 'r', context: {} }, key))
  await check('createApprovalRequest', 200, propose(bot, { agent_reasoning: 'r', context: {} }, key))
  await check('getApprovalRequest', 200, read(bot, request.id))
  await check('cancelApprovalRequest', 200, withdraw(bot, request.id))
  await clock.advance(60_000)

  // What is wrong with the request.
  await check(
    'provisionInstance',
    400,
    provision(platform, { delivery: { type: 'webhook' } }),
    'unsupported_delivery_type',
  )
  await check('updateInstance', 400, rename(platform, (await ids()).instance, {}))
  await check('createApprovalRequest', 400, propose(bot, { timeout: '0m' }))
  await check('getApprovalRequest', 400, read(bot, request.id, '?wait=soon'))

  // Who asks.
  const nobody = withKey(call, `hpk_${'0'.repeat(12)}_${'0'.repeat(64)}`)
  for (const operation of all) {
    await clock.advance(60_000)
    await check(operation, 401, asking[operation](nobody, unknown))
    await check(operation, 401, asking[operation](call as CallAs, unknown))
    await check(operation, 403, asking[operation](onInstances(operation) ? bot : platform, unknown), 'forbidden')
    await check(operation, 403, asking[operation](alice, unknown), 'forbidden')
  }

  // What is not there, or somebody else's.
  await clock.advance(60_000)
  const there = await ids()
  for (const operation of all.filter((one) => !['provisionInstance', 'createApprovalRequest'].includes(one))) {
    await check(operation, 404, asking[operation](onInstances(operation) ? platform : bot, unknown), 'not_found')
    const stranger = onInstances(operation) ? built.root : other
    await check(operation, 404, asking[operation](stranger, there), 'not_found')
  }

  // What stands against it.
  await check('provisionInstance', 409, provision(platform, { instance_name: 'x' }, key), 'idempotency_conflict')
  await check('provisionInstance', 409, provision(platform, {}, key), 'instance_deleted')
  await rename(platform, there.instance, { instance_name: 'one' }, key)
  await check(
    'updateInstance',
    409,
    rename(platform, there.instance, { instance_name: 'two' }, key),
    'idempotency_conflict',
  )
  await check('createApprovalRequest', 409, propose(bot, { tool: 'another' }, key), 'idempotency_conflict')
  await alice('POST', `/confirm/${there.request}/deny`)
  await check('cancelApprovalRequest', 409, withdraw(bot, there.request), 'already_terminal')

  // What is wrong here.
  for (const operation of all) {
    await clock.advance(60_000)
    const { request, instance } = await ids()
    for (const [error, status] of [
      [new StoreUnavailable('full'), 503],
      [new Error('a bug'), 500],
    ] as const) {
      fails = error
      await check(operation, status, asking[operation](onInstances(operation) ? platform : bot, { request, instance }))
      fails = null
    }
  }

  // Too much of it.
  for (const operation of all) {
    await clock.advance(60_000)
    const ids = { request: there.request, instance: there.instance }
    const as = onInstances(operation) ? platform : bot
    for (let count = 0; count < 20; count++)
      await asking[onInstances(operation) ? 'getInstance' : 'getApprovalRequest'](as, unknown)
    const answer = await asking[operation](as, ids)
    t.match(answer.headers['retry-after'], /^[1-9]\d*$/, operation)
    await check(operation, 429, Promise.resolve(answer), 'flood_limited')
  }

  for (const operation of all) {
    const { good, bad } = operations[operation]
    t.same([...seen.get(operation)!].sort(), [...Object.keys(good).map(Number), ...bad].sort(), operation)
  }
})

t.test('each state of a request has its shape', async (t) => {
  const { bot, alice, clock } = await provider(t)
  const decided = async (verb: string, body?: object) => {
    const { id } = (await propose(bot)).body
    await alice('POST', `/confirm/${id}/${verb}`, body)
    return read(bot, id)
  }
  const states = [
    await propose(bot),
    await decided('approve'),
    await decided('approve', { reason: 'confirmed' }),
    await decided('deny', { reason: 'no' }),
    await withdraw(bot, (await propose(bot)).body.id),
  ]
  const late = (await propose(bot, { timeout: '40s' })).body.id
  await clock.advance(40_000)
  states.push(await read(bot, late))
  t.same(
    states.map(({ body }) => body.status),
    ['pending', 'approved', 'approved', 'denied', 'cancelled', 'expired'],
  )
  for (const state of states) t.equal(problemWith('createApprovalRequest', state), null)
})

t.test('every answer under the path has an X-Request-ID and the error shape, whatever was asked there', async (t) => {
  const built = await provider(t)
  const { bot, call, platform } = built
  const answers: [number, string, Answer][] = [
    [404, 'no_such_route', await bot('GET', `${base}/nothing`)],
    [401, 'unauthorized', await call('GET', `${base}/nothing`)],
    [403, 'forbidden', await platform('GET', `${base}/nothing`)],
    [404, 'no_such_route', await bot('GET', '/aap/')],
    [405, 'method_not_allowed', await bot('PUT', `${base}/requests`, {})],
    [400, 'not_json', await bot('POST', `${base}/requests`, '{oops')],
    [400, 'not_json', await bot('POST', `${base}/requests`, '[]')],
    [400, 'ambiguous_json', await bot('POST', `${base}/requests`, '{"tool":"a","tool":"b"}')],
    [400, 'unknown_field', await propose(bot, { delivery: {} })],
    [400, 'unknown_parameter', await read(bot, 'x', '?wiat=30s')],
    [413, 'body_too_large', await bot('POST', `${base}/requests`, `{"tool":"${'a'.repeat(1024 * 1024)}"}`)],
    [415, 'unsupported_media_type', await bot('POST', `${base}/requests`, '{}', { 'content-type': 'text/plain' })],
    [404, 'not_found', await bot('GET', `${base}/requests/${'x'.repeat(2000)}`)],
    [400, 'invalid_request', await bot('GET', `${base}/requests/%E0%A4%A`)],
    [404, 'not_found', await bot('GET', '/%61ap/v1/requests/x')],
    [404, 'no_such_route', await bot('GET', '/aap')],
    [417, 'expectation_failed', await bot('GET', `${base}/requests/x`, undefined, { expect: 'more' })],
  ]
  for (const [status, code, answer] of answers) {
    t.equal(answer.status, status, code)
    t.equal(answer.body.error?.code, code, JSON.stringify(answer.body))
    t.equal(problemWith('getApprovalRequest', answer), null, code)
  }
  t.equal((await bot('GET', '/confirm/x')).body.code, 'not_found', 'other paths have their own')
  t.equal((await bot('GET', '/confirm/x')).headers['x-request-id'], undefined)
})

t.test('what is shutting down says so in the same shape', async (t) => {
  let release: (() => void) | undefined
  const { app } = await build(t, {
    prepare: (app) => app.addHook('preClose', () => new Promise<void>((resolve) => (release = resolve))),
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const closing = app.close()
  await until(() => release)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  socket.write('GET /aap/v1/requests/x HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => text.includes('shutting_down'))
  release!()
  await closing
  const [head, json] = text.split('\r\n\r\n') as [string, string]
  const { error } = JSON.parse(json) as { error: { type: string; request_id: string } }
  t.match(head, /^HTTP\/1.1 503 /)
  t.equal(error.type, 'dependency')
  t.equal(/^x-request-id: (.*)$/m.exec(head)?.[1], error.request_id)
})

t.test('which field is wrong is said', async (t) => {
  const { bot, platform } = await provider(t)
  const param = async (answer: Promise<Answer>) => {
    const { status, body } = await answer
    t.equal(status, 400)
    return body.error.param
  }
  for (const [field, value] of [
    ['tool', ''],
    ['tool', ' x'],
    ['tool', 'x '],
    ['tool', 7],
    ['tool', undefined],
    ['tool', null],
    ['tool', 'x'.repeat(1000)],
    ['context', { mcp_server: 'a\0b' }],
    ['server', ''],
    ['arguments', []],
    ['arguments', 'x'],
    ['arguments', undefined],
    ['timeout', 30],
    ['timeout', '30'],
    ['timeout', '030s'],
    ['timeout', '-1s'],
    ['timeout', '1.5m'],
    ['timeout', '1d'],
    ['timeout', undefined],
    ['timeout', '9'.repeat(100) + 's'],
    ['agent_reasoning', null],
    ['agent_reasoning', 'a\0b'],
    ['context', null],
    ['context', 'x'],
  ] as const) {
    t.equal(await param(propose(bot, { [field]: value })), field, `${field} ${JSON.stringify(value)?.slice(0, 50)}`)
  }
  t.equal(await param(bot('POST', `${base}/requests`, { tool: 'x', arguments: {}, timeout: '1m' })), 'Idempotency-Key')
  t.equal(await param(provision(platform, { instance_name: 'a:b' })), 'instance_name')
  t.equal(await param(provision(platform, { instance_name: 'system' })), 'instance_name')
  t.equal(await param(provision(platform, { delivery: null })), 'delivery')
  t.equal(await param(provision(platform, { delivery: { type: 'webhook', url: 'https://127.0.0.1/' } })), 'delivery')
  t.equal(await param(read(bot, 'x', '?wait=0s')), 'wait')
})
