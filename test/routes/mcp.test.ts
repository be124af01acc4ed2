// /mcp as a route: who may speak there, what each may use up, and that what a tool asks counts as its caller's own request.
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { build, type BuildOptions, type CallAs, giveKeys, until } from '../support.js'

const accept = { accept: 'application/json, text/event-stream' }
const act = { action: 'refund', details: { order: 4711 } }
const ask = { ...act, description: 'Refund an order' }
const held = { mcpPace: { holdMs: 20_000 } }

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const toolCall = (name: string, given: object) => message('tools/call', { name, arguments: given })

/** What came, as the last message says. */
function answerIn(body: unknown): any {
  const text = String(body)
  return JSON.parse(text.slice(text.lastIndexOf('data: ') + 6))
}

async function use(call: CallAs | Awaited<ReturnType<typeof build>>['call'], name: string, given: object) {
  const { status, body } = await call('POST', '/mcp', toolCall(name, given), accept)
  return status === 200 ? answerIn(body).result.structuredContent : { http: status, ...body }
}

async function withPeople(t: Test, options: BuildOptions = {}) {
  const built = await build(t, { ...held, ...options })
  return { ...built, ...(await giveKeys(built, { bot: 'agent', other: 'agent', ann: 'operator', root: 'admin' })) }
}

t.test('with keys, nobody speaks there without one that may ask, and the attempts are on record', async (t) => {
  const { call, ann, bot, root } = await withPeople(t)
  const list = message('tools/list')
  t.match(await call('POST', '/mcp', list, accept), {
    status: 401,
    headers: { 'www-authenticate': /Bearer/ },
    body: { code: 'unauthorized' },
  })
  t.match(await call('POST', '/mcp', list, { ...accept, authorization: 'Bearer hpk_no' }), { status: 401 })
  t.match(await ann('POST', '/mcp', list, accept), { status: 403, body: { code: 'forbidden' } })
  t.match(await bot('POST', '/mcp', list, accept), { status: 200 })
  const { body } = await root('GET', '/audit/events?type=rejected')
  t.equal(body.events.filter(({ data }: any) => data.route === '/mcp').length, 3)
})

t.test('no page of another site speaks there, nor under a name that is not ours', async (t) => {
  const { call } = await build(t)
  const list = message('tools/list')
  t.match(await call('POST', '/mcp', list, { ...accept, origin: 'https://evil.example' }), {
    status: 403,
    body: { code: 'cross_origin' },
  })
  t.match(await call('POST', '/mcp', list, { ...accept, host: 'evil.example', origin: 'http://evil.example' }), {
    status: 421,
    body: { code: 'unknown_host' },
  })
})

t.test('what is no message is refused, and there are no sessions', async (t) => {
  const { call } = await build(t)
  const wrong: [body: unknown, status: number, code: string][] = [
    ['[]', 400, 'not_json'],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400, 'ambiguous_json'],
    [{ id: 1, method: 'tools/list' }, 400, 'invalid_request'],
    [{ ...message('tools/list'), extra: 1 }, 400, 'unknown_field'],
    [{ ...message('tools/list'), params: [] }, 400, 'invalid_request'],
    [toolCall('request_approval', { ...ask, details: { text: 'x'.repeat(1024 * 1024) } }), 413, 'body_too_large'],
  ]
  for (const [body, status, code] of wrong) {
    t.match(await call('POST', '/mcp', body, accept), { status, body: { code } }, JSON.stringify(body).slice(0, 80))
  }
  for (const method of ['GET', 'DELETE'] as const) {
    t.match(await call(method, '/mcp', undefined, accept), { status: 405, headers: { allow: 'POST' } })
  }
  t.match(await call('POST', '/mcp', message('tools/list'), { accept: 'application/json' }), { status: 406 })
  t.match(await call('POST', '/mcp', message('resources/list'), accept), { status: 200, body: /-32601/ })
  t.same((await call('POST', '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, accept)).status, 202)
})

t.test('nothing is held that has nothing to say: there is nothing to subscribe to', async (t) => {
  const { call } = await build(t)
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const listen = message('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta })
  const headers = { ...accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
  t.match(await call('POST', '/mcp', listen, headers), { body: { error: { code: -32603, message: /limit/ } } })
})

t.test('a tool asks as its caller, with the same limits as any request', async (t) => {
  const { bot, other, root } = await withPeople(t, { config: { rateLimit: 1 }, mcpPace: { holdMs: 30 } })
  t.match(await use(bot, 'request_approval', ask), { status: 'pending' })
  t.match(await use(bot, 'request_approval', ask), { status: 'refused', code: 'rate_limited', may_act: false })
  t.match(await use(other, 'request_approval', ask), { status: 'pending' })
  const { confirmations } = (await root('GET', '/confirm?status=pending')).body
  t.same(confirmations.map(({ requester }: any) => requester).sort(), ['bot', 'other'])
})

t.test('what a tool is refused is on record as its caller’s', async (t) => {
  const { bot, root } = await withPeople(t, { mcpPace: { holdMs: 30 } })
  const { id } = await use(bot, 'request_approval', ask)
  await root('POST', `/confirm/${id}/approve`)
  t.match(await use(bot, 'claim_approval', { id, ...act, details: {} }), { code: 'digest_mismatch', may_act: false })
  const { events } = (await root('GET', '/audit/events?type=rejected')).body
  t.match(events, [{ actor: 'bot', confirmation_id: id, data: { code: 'digest_mismatch' } }])
})

t.test('a key that is revoked while a call is held gets no answer out of it', async (t) => {
  const { bot, root } = await withPeople(t)
  const asking = use(bot, 'request_approval', ask)
  let id = ''
  await until(async () => (id = (await root('GET', '/confirm?status=pending')).body.confirmations[0]?.id))
  await root('DELETE', `/keys/${bot.keyId}`)
  await root('POST', `/confirm/${id}/approve`)
  t.match(await asking, { status: 'refused', code: 'unauthorized', may_act: false })
})

t.test('calls are counted by their caller, and waits are waits', async (t) => {
  const shareLimits = { calls: { total: 4, each: 2 }, waits: { total: 4, each: 1 } }
  const { bot, other, root } = await withPeople(t, { shareLimits })
  const taken = async (share: string) =>
    new RegExp(`share_taken\\{share="${share}"\\} (\\d+)`).exec((await root('GET', '/metrics')).body)![1]
  const asking = use(bot, 'request_approval', ask)
  await until(async () => (await taken('waits')) === '1')
  const second = use(bot, 'request_approval', { ...ask, action: 'b' })
  await until(async () => (await taken('calls')) === '2')
  t.match(await use(bot, 'request_approval', ask), { http: 429, code: 'flood_limited', share: 'calls' })
  const third = use(other, 'request_approval', ask)
  await until(async () => (await taken('waits')) === '2')
  for (const { id } of (await root('GET', '/confirm?status=pending')).body.confirmations) {
    await root('POST', `/confirm/${id}/deny`)
  }
  t.match(await asking, { status: 'denied' })
  t.match(await third, { status: 'denied' })
  // There was no room for it to wait: it is told so, or of the answer that came while it tried again.
  const { status, next } = await second
  t.match(status, /^(refused|denied)$/)
  t.match(next, status === 'refused' ? /Call wait_for_decision with this id later/ : /denied by/)
  t.equal(await taken('calls'), '0')
  t.equal(await taken('waits'), '0')
})

t.test('what is large goes through whole, and is not kept while it waits', async (t) => {
  const { call } = await build(t, { ...held, config: { rateLimit: 10 } })
  const details = { text: 'ä'.repeat(200_000), list: Array.from({ length: 1000 }, (_, index) => index) }
  const pending = await use(call, 'request_approval', { ...ask, details })
  t.match(pending, { status: 'pending', may_act: false })
  const { id } = pending
  t.same((await call('GET', `/confirm/${id}`)).body.details, details)
  // Wherever in the message it is.
  const calls = [
    ['request_approval', ask, 'pending'],
    ['wait_for_decision', { id }, 'refused'],
  ] as const
  for (const [name, given, status] of calls) {
    const { params } = toolCall(name, given)
    const brought = message('tools/call', { ...params, _meta: { junk: 'x'.repeat(100_000) } })
    const { body } = await call('POST', '/mcp', brought, accept)
    t.match(answerIn(body).result.structuredContent, { status, may_act: false }, name)
  }
  await call('POST', `/confirm/${id}/approve`)
  t.match(await use(call, 'claim_approval', { id, ...act, details: { ...details, list: [] } }), {
    code: 'digest_mismatch',
  })
  t.match(await use(call, 'claim_approval', { id, ...act, details }), { may_act: true })
})

t.test('a connection that ends frees all that its call had taken, and the request stands', async (t) => {
  const { app, call } = await build(t, held)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const taken = async () => (await call('GET', '/metrics')).body.match(/share_taken\{share="(calls|waits)"\} \d+/g)
  const sent = request(`${url}/mcp`, { method: 'POST', headers: { ...accept, 'content-type': 'application/json' } })
  sent.on('error', () => {})
  sent.end(JSON.stringify(toolCall('request_approval', ask)))
  await until(async () => String(await taken()).match(/1,.*1$/))
  sent.destroy()
  await until(async () => String(await taken()).match(/0,.*0$/))
  t.equal((await call('GET', '/confirm?status=pending')).body.count, 1)
})

t.test('a service that closes answers what is held with what there is', async (t) => {
  const { call, stop } = await build(t, held)
  const asking = use(call, 'request_approval', ask)
  await until(async () => (await call('GET', '/confirm?status=pending')).body.count === 1)
  await stop()
  t.match(await asking, { status: 'pending', may_act: false })
})
