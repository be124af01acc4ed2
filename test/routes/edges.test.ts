// What stands around the routes: health, metrics, the flood limit, content types, origins, unknown paths.
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import Fastify from 'fastify'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { anyone, type Caller } from '../../src/access/role.js'
import { listen } from '../../src/listen.js'
import type { Api } from '../../src/routes/api.js'
import { createErrorHandler } from '../../src/routes/errors.js'
import { limitAnswers, reserveRoom } from '../../src/routes/answer-room.js'
import { agent, person } from '../actors.js'
import { build, configFor, giveKeys, sharesFor, until, withKey } from '../support.js'

t.test('health counts what is pending now, not what ever was', async (t) => {
  const { submit, call, clock } = await build(t)
  for (let i = 0; i < 3; i++) await submit()
  await call('POST', '/confirm/id-0001/approve')
  const { status, body } = await call('GET', '/health')
  t.equal(status, 200)
  t.match(body, { status: 'ok', pending_count: 2, timestamp: clock.now() / 1000 })
  await clock.advance(300_000)
  t.equal((await call('GET', '/health')).body.pending_count, 0)
})

t.test('ready means that the database takes a write', async (t) => {
  const { call, store } = await build(t)
  t.match(await call('GET', '/ready'), { status: 200, body: { status: 'ready' } })
  await store.close()
  t.match(await call('GET', '/ready'), { status: 503, body: { code: 'storage_unavailable' } })
})

t.test('metrics count submissions, decisions, latency, deliveries and refusals', async (t) => {
  const { submit, call, clock } = await build(t, { config: { rateLimit: 3 } })
  for (let i = 0; i < 4; i++) await submit()
  await clock.advance(7000)
  await call('POST', '/confirm/id-0001/approve')
  await call('POST', '/confirm/id-0002/deny')
  await call('POST', '/whitelist', { action: 'ping' })
  await submit({ action: 'ping' })
  const { body, headers } = await call('GET', '/metrics')
  t.match(headers['content-type'], /^text\/plain/)
  for (const line of [
    'holdpoint_submissions_total{outcome="pending"} 3',
    'holdpoint_submissions_total{outcome="rate_limited"} 1',
    'holdpoint_submissions_total{outcome="auto_approved"} 1',
    'holdpoint_decisions_total{outcome="approved",channel="http"} 1',
    'holdpoint_decisions_total{outcome="denied",channel="http"} 1',
    'holdpoint_decisions_total{outcome="auto_approved",channel="whitelist"} 1',
    'holdpoint_pending 1',
    'holdpoint_oldest_pending_age_seconds 7',
    'holdpoint_decision_latency_seconds_bucket{le="5",outcome="approved"} 0',
    'holdpoint_decision_latency_seconds_bucket{le="10",outcome="approved"} 1',
    'holdpoint_deliveries_total{channel="log",outcome="sent"} 3',
    'holdpoint_limiter_refusals_total{limiter="action"} 1',
  ]) {
    t.ok((body as string).split('\n').includes(line), line)
  }
  t.notMatch(body, /send_mail/, "agents' words never become labels")
})

t.test('the flood limit refuses an address that asks too much, and lets it in again later', async (t) => {
  const { call, clock, events } = await build(t, { config: { floodLimit: 3 } })
  for (let i = 0; i < 3; i++) t.equal((await call('GET', '/audit')).status, 200)
  await clock.advance(15_000)
  for (const [method, url] of [
    ['GET', '/audit'],
    ['POST', '/confirm'],
    ['GET', '/nowhere'],
  ] as const) {
    const { status, body, headers } = await call(
      method,
      url,
      method === 'POST' ? { action: 'a', description: 'b' } : undefined,
    )
    t.equal(status, 429, url)
    t.match(body, { code: 'flood_limited', remaining: 0, window_seconds: 60 })
    t.equal(headers['retry-after'], '45')
  }
  for (const url of ['/health', '/ready', '/metrics']) t.equal((await call('GET', url)).status, 200, url)
  t.match((await call('GET', '/metrics')).body, /limiter_refusals_total\{limiter="address"\} 3/)
  await clock.advance(45_000)
  t.same(await events(), [], 'and nothing had happened')
})

t.test('the flood limit counts each good key for itself, and whoever has none by address', async (t) => {
  const built = await build(t, { config: { floodLimit: 3 } })
  const { call } = built
  const { bot, other, olga } = await giveKeys(built, { bot: 'agent', other: 'agent', olga: 'operator' })
  for (let i = 0; i < 3; i++) t.equal((await bot('GET', '/confirm')).status, 200)
  for (const url of ['/confirm', '/nowhere']) {
    t.match(await bot('GET', url), { status: 429, body: { code: 'flood_limited', error: /with this key/ } }, url)
  }
  for (const one of [other, olga]) t.equal((await one('GET', '/confirm')).status, 200)
  const wrong = withKey(call, `${olga.key}0`)
  for (let i = 0; i < 3; i++) t.equal((await wrong('GET', '/login')).status, 200)
  t.match(await wrong('GET', '/login'), { status: 429, body: /from this address/ })
  t.equal((await bot('GET', '/login')).status, 429, 'a page does not ask for a key')
  t.equal((await olga('GET', '/confirm')).status, 200)
})

t.test('a batch counts as its items; one that is larger than what is left is refused whole', async (t) => {
  const built = await build(t, { config: { floodLimit: 10, rateLimit: 100 } })
  const { bot, olga } = await giveKeys(built, { bot: 'agent', olga: 'operator' })
  const items = Array.from({ length: 6 }, (_, index) => ({ action: `a${index}`, description: 'd' }))
  const first = await bot('POST', '/confirm/batch', { items })
  t.equal(first.status, 200)
  const before = await built.store.events.lastSeq()
  const refused = await bot('POST', '/confirm/batch', { items })
  t.match(refused, {
    status: 429,
    body: { code: 'flood_limited', remaining: 3, window_seconds: 60, error: /3 are left, and each item counts/ },
  })
  t.equal(refused.headers['retry-after'], '60')
  t.equal(await built.store.events.lastSeq(), before, 'nothing was done')
  t.equal(
    (await bot('POST', '/confirm/batch', { items: items.slice(0, 4) })).status,
    429,
    'which was one request itself',
  )
  t.equal((await bot('POST', '/confirm/batch', { items: items.slice(0, 2) })).status, 200)
  t.equal((await bot('GET', '/confirm')).status, 429)
  const decisions = first.body.results.map(({ body }: any) => ({ id: body.id, verdict: 'deny' }))
  t.match(await olga('POST', '/decisions', { decisions: [...decisions, ...decisions] }), { status: 429 })
  t.match((await built.store.confirmations.get(decisions[0].id))!, { resolution: null })
  t.match(await olga('POST', '/decisions', { decisions }), { status: 200, body: { count: 6 } })
  await built.clock.advance(60_000)
  t.equal((await bot('POST', '/confirm/batch', { items })).status, 200)
})

t.test('without a flood limit nobody is refused', async (t) => {
  const { call } = await build(t, { config: { floodLimit: 0 } })
  for (let i = 0; i < 50; i++) t.equal((await call('GET', '/audit')).status, 200)
})

t.test('only JSON is taken as JSON', async (t) => {
  const { app, events } = await build(t)
  const payload = JSON.stringify({ action: 'a', description: 'b' })
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'multipart/form-data; boundary=x',
    'nonsense',
  ]) {
    const response = await app.inject({ method: 'POST', url: '/confirm', headers: { 'content-type': type }, payload })
    t.equal(response.statusCode, 415, type)
    t.match(response.json(), { code: 'unsupported_media_type', error: /Content-Type: application\/json/ })
  }
  const utf8 = await app.inject({
    method: 'POST',
    url: '/confirm',
    headers: { 'content-type': 'application/json' },
    payload: Buffer.concat([
      Buffer.from('{"action":"a","description":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]),
  })
  t.equal(utf8.statusCode, 400)
  t.match(utf8.json(), { code: 'not_json', error: /UTF-8/ })
  t.same(await events(), [])
  const fine = await app.inject({
    method: 'POST',
    url: '/confirm',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    payload,
  })
  t.equal(fine.statusCode, 202)
})

t.test('a page of another site can change nothing', async (t) => {
  const { app, submit, call } = await build(t)
  await submit()
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const response = await app.inject({ method: 'POST', url: '/confirm/id-0001/approve', headers })
    t.equal(response.statusCode, 403, JSON.stringify(headers))
    t.equal(response.json().code, 'cross_origin')
  }
  t.equal((await call('GET', '/confirm/id-0001')).body.status, 'pending')
  const own = { host: 'localhost:6001', origin: 'http://localhost:6001', 'sec-fetch-site': 'same-origin' }
  t.equal((await app.inject({ method: 'POST', url: '/confirm/id-0001/approve', headers: own })).statusCode, 200)
})

t.test('a page that was rebound to this address under its own name can neither read nor change', async (t) => {
  const { app, submit, call } = await build(t)
  await submit()
  for (const host of [
    'evil.example',
    'evil.example:6001',
    '127.0.0.1.evil.example',
    '192.168.1.5:6001',
    'localhost.evil',
  ]) {
    for (const [method, url, more] of [
      ['POST', '/confirm/id-0001/approve', { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }],
      ['POST', '/confirm/id-0001/approve', { origin: `http://${host}` }],
      ['GET', '/audit', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' }],
    ] as const) {
      const headers = { host, ...more }
      const response = await app.inject({ method, url, headers })
      t.equal(response.statusCode, 421, `${method} ${host}`)
      t.equal(response.json().code, 'unknown_host')
    }
  }
  t.equal((await call('GET', '/confirm/id-0001')).body.status, 'pending')
  for (const host of ['localhost', 'localhost:6001', '127.0.0.1:6000', '[::1]:6000']) {
    t.equal((await app.inject({ method: 'GET', url: '/audit', headers: { host } })).statusCode, 200, host)
  }
  t.equal((await app.inject({ method: 'GET', url: '/audit', headers: { host: 'x' } })).statusCode, 200, 'no browser')
  const elsewhere = { host: 'holdpoint.example', origin: 'http://holdpoint.example' }
  const named = await build(t, { config: { publicUrl: 'https://holdpoint.example' } })
  t.equal((await named.call('GET', '/audit', undefined, elsewhere)).status, 200, 'the name that people were given')
  const keyed = await build(t)
  const { body } = await keyed.call('POST', '/keys', { name: 'root', role: 'admin' })
  const withKey = { ...elsewhere, authorization: `Bearer ${body.key}` }
  t.equal((await keyed.call('GET', '/audit', undefined, withKey)).status, 200, 'a key is no matter of names')
  t.equal((await keyed.call('GET', '/audit', undefined, elsewhere)).status, 401)
})

t.test('paths and methods that fit nothing get a clear answer', async (t) => {
  const { call, app } = await build(t)
  t.match(await call('GET', '/nowhere'), { status: 404, body: { code: 'no_such_route', error: /openapi/ } })
  t.match(await call('GET', '/confirm/'), { status: 404 })
  const wrong = await call('PUT', '/confirm/x/approve')
  t.match(wrong, { status: 405, body: { code: 'method_not_allowed', error: /POST/ } })
  t.equal(wrong.headers.allow, 'POST')
  const spelt = await call('PUT', '/confirm/batch')
  t.match(spelt, { status: 405, body: { code: 'method_not_allowed', error: 'This path takes POST.' } })
  t.equal(spelt.headers.allow, 'POST', 'and not what takes an id in that place')
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
  t.match(await call('GET', '/confirm/%zz'), { status: 400, headers, body: { code: 'invalid_request' } })
  t.equal((await app.inject({ method: 'HEAD', url: '/health' })).statusCode, 200)
})

t.test('every answer may not be cached or sniffed', async (t) => {
  const { call } = await build(t)
  for (const url of ['/health', '/audit', '/nowhere', '/confirm/x']) {
    const { headers } = await call('GET', url)
    t.match(headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }, url)
  }
})

t.test('the description of the API is served', async (t) => {
  const { call, openapi } = await build(t)
  const { status, body, headers } = await call('GET', '/openapi.yaml')
  t.equal(status, 200)
  t.equal(body, openapi())
  t.match(headers['content-type'], /yaml/)
})

t.test('one app answers on two ports, bad bytes get a problem on both, and closing frees both', async (t) => {
  const { app, connections, dbPath } = await build(t)
  const listening = await listen({ app, connections }, configFor(dbPath, { port: 0, webPort: 0 }))
  const urls = [listening.url, listening.webUrl!]
  for (const url of urls) {
    const { statusCode, body } = await request(`${url}/health`)
    t.equal(statusCode, 200)
    t.match(await body.json(), { status: 'ok' })
    const answer = await raw(Number(new URL(url).port), 'THIS IS NOT HTTP\r\n\r\n')
    t.match(answer, /^HTTP\/1\.1 400 /)
    t.match(JSON.parse(answer.split('\r\n\r\n')[1]!), { code: 'invalid_request', status: 400 })
    const large = await raw(Number(new URL(url).port), `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
    t.match(large, /^HTTP\/1\.1 431 /)
    t.match(JSON.parse(large.split('\r\n\r\n')[1]!), { code: 'headers_too_large' })
    for (const accept of ['Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n', '']) {
      const cookies = `${accept}Cookie: a=${'y'.repeat(20_000)}\r\n\r\n`
      const page = await raw(Number(new URL(url).port), `GET /view/x HTTP/1.1\r\nHost: x\r\n${cookies}`)
      t.match(page, /^HTTP\/1\.1 431 .*\r\ncontent-type: text\/html/is)
      t.match(page, /content-security-policy: default-src 'none'/i)
      t.match(page, /Clear the cookies of this site/)
      t.notMatch(page, /yyy/)
    }
  }
  await listening.close(1000)
  for (const url of urls) await t.rejects(request(`${url}/health`), { code: 'ECONNREFUSED' })
})

t.test('a connection may have 16 requests under way, and is cut off with the next, on both ports', async (t) => {
  const { app, connections, service, submit, call, dbPath } = await build(t)
  const listening = await listen({ app, connections }, configFor(dbPath, { port: 0, webPort: 0 }))
  t.teardown(() => listening.close(100))
  const { id } = (await submit()).body
  const wait = `GET /confirm/${id}?wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const body = JSON.stringify({ action: 'a', description: 'd' })
  const head = 'Host: localhost\r\nContent-Type: application/json\r\n'
  const late = `POST /confirm HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`
  const open = (port: number) => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    return socket.on('error', () => {})
  }
  for (const url of [listening.url, listening.webUrl!]) {
    const port = Number(new URL(url).port)
    for (const more of [late.repeat(3), 'GET /% HTTP/1.1\r\n\r\n', 'GET / HTTP/1.1\r\nExpect: x\r\n\r\n']) {
      const socket = open(port)
      socket.write(wait.repeat(16))
      await until(() => service.countListeners().one === 16)
      const closed = once(socket, 'close')
      socket.write(more)
      await closed
      await until(() => service.countListeners().one === 0)
    }
    const hasty = open(port)
    hasty.write(wait.repeat(500))
    await once(hasty, 'close')
    await until(() => service.countListeners().one === 0)
    // One after the other they may be as many as they like.
    const patient = open(port)
    let text = ''
    patient.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
    for (let i = 1; i <= 20; i++) {
      patient.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await until(() => text.split('HTTP/1.1 200').length === i + 1)
    }
  }
  t.equal((await call('GET', '/confirm')).body.count, 1, 'and nothing that came too late was done')
})

t.test('while it shuts down, a request on an open connection is refused as a problem', async (t) => {
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
  socket.write('POST /confirm HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
  await until(() => text.includes('shutting_down'))
  t.match(text, /^HTTP\/1\.1 503 /)
  release?.()
  await closing
})

/** Asks and reads nothing of the answer, which is there once this settles. */
async function ignore(t: Test, port: number, head: string, times = 1): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`GET ${head}\r\nHost: localhost\r\n\r\n`.repeat(times))
  await once(socket, 'readable')
  return socket
}

t.test('large answers one behind the other give their room back when the connection is gone', async (t) => {
  const app = Fastify() as unknown as Api
  t.teardown(() => app.close())
  app.setErrorHandler(createErrorHandler({ error: () => {} }))
  limitAnswers(app, sharesFor({ answers: { total: 50_000_000, each: 1 } }))
  app.get('/large', () => 'x'.repeat(10_000_000))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const ask = async () => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/large`)
    await body.dump()
    return statusCode
  }
  const socket = await ignore(t, port, '/large HTTP/1.1', 5)
  await until(async () => (await ask()) === 429)
  socket.destroy()
  await until(async () => (await ask()) === 200)
})

t.test('clients that do not read cannot make it hold more than a bounded amount', async (t) => {
  const app = Fastify() as unknown as Api
  t.teardown(() => app.close())
  app.setErrorHandler(createErrorHandler({ error: () => {} }))
  limitAnswers(app, sharesFor({ answers: { total: 50_000_000, each: 1 } }))
  app.get('/large', () => 'x'.repeat(20_000_000))
  app.get('/small', () => 'x')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const lazy = [await ignore(t, port, '/large HTTP/1.1'), await ignore(t, port, '/large HTTP/1.1')]
  const ask = async (path: string) => {
    const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}${path}`)
    return { statusCode, headers, body: await body.text() }
  }
  const refused = await ask('/large')
  t.match(JSON.parse(refused.body), { code: 'flood_limited', error: /waiting to be read/ })
  t.equal(refused.headers['retry-after'], '1')
  t.equal((await ask('/small')).statusCode, 200)
  for (const socket of lazy) socket.destroy()
  await until(async () => (await ask('/large')).statusCode === 200)
})

t.test("an agent that does not read leaves room for everybody else's large answers", async (t) => {
  const app = Fastify({ forceCloseConnections: true }) as unknown as Api
  t.teardown(() => app.close())
  app.setErrorHandler(createErrorHandler({ error: () => {} }))
  const callers: Record<string, Caller> = {
    agent: { actor: agent('bot'), role: 'agent', keyId: 'k1' },
    other: { actor: agent('other'), role: 'agent', keyId: 'k3' },
    operator: { actor: person('olga'), role: 'operator', keyId: 'k2' },
    anyone,
  }
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => void (request.caller = callers[String(request.headers.as)]!))
  const shares = sharesFor({ answers: { total: 60_000_000, each: 40_000_000 } })
  limitAnswers(app, shares)
  app.get('/large', () => 'x'.repeat(20_000_000))
  app.get('/patient', async (_request, reply) => {
    await reserveRoom(shares, reply, 20_000_000)
    return 'x'.repeat(20_000_000)
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const ask = async (as: string, path = '/large') => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, { headers: { as } })
    await body.dump({ limit: Infinity })
    return statusCode
  }
  const ignoreAs = (as: string) => ignore(t, port, `/large HTTP/1.1\r\nAs: ${as}`)
  const lazy = [await ignoreAs('agent'), await ignoreAs('agent')]
  t.equal(await ask('agent'), 429)
  t.equal(await ask('other'), 200)
  t.equal(await ask('operator'), 200)
  t.equal(await ask('anyone'), 200, 'nobody is an agent while it is open')
  const queuing = ask('agent', '/patient')
  await until(() => shares.answers.queued() === 1)
  for (const as of ['other', 'operator']) t.equal(await ask(as, '/patient'), 200, 'nor does anybody wait behind it')
  lazy.forEach((socket) => socket.destroy())
  t.equal(await queuing, 200)
  t.equal(shares.answers.queued(), 0)
  for (const as of ['operator', 'operator']) await ignoreAs(as)
  t.equal(await ask('operator'), 429)
  t.equal(await ask('agent'), 200, 'and the other way round')
})

t.test('a connection that never sent anything does not hold up the end', async (t) => {
  const { app, connections, dbPath } = await build(t)
  const listening = await listen({ app, connections }, configFor(dbPath, { port: 0, webPort: 0 }))
  const idle = [listening.url, listening.webUrl!].map((url) => connect(Number(new URL(url).port), '127.0.0.1'))
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  for (const url of [listening.url, listening.webUrl!]) await (await request(`${url}/health`)).body.dump()
  const ended = idle.map((socket) => once(socket, 'close'))
  await listening.close(600_000)
  await Promise.all(ended)
  t.pass('closed long before the deadline')
})

t.test('a port that is taken is named in the refusal', async (t) => {
  const first = await build(t)
  const listening = await listen(first, configFor(first.dbPath, { port: 0, webPort: 'off' }))
  t.teardown(() => listening.close(100))
  t.equal(listening.webUrl, null)
  const port = Number(new URL(listening.url).port)
  const second = await build(t)
  await t.rejects(listen(second, configFor(second.dbPath, { port, webPort: 'off' })), {
    name: 'CannotListen',
    message: new RegExp(`Port ${port} .* is in use. Choose another with --port`),
  })
  const third = await build(t)
  await t.rejects(listen(third, configFor(third.dbPath, { port: 0, webPort: port })), {
    name: 'CannotListen',
    message: /--web-port off/,
  })
})

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
