// The client's HTTP: what it sends, what it takes for an answer, and how everything else ends.
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { createHttp, type HttpLimits, type Place } from '../../src/client/http.js'
import { Aborted, Invalid, Refused, Unreachable } from '../../src/client/errors.js'
import { temporaryFolder } from '../support.js'
import { certificate, key as certificateKey } from '../notify/certificate.js'
import { play, sendJson } from './played-server.js'

const key = 'hpk_secret_0123456789'

/** Closed with the test. */
function httpTo(t: Test, place: Place, limits: HttpLimits = {}) {
  const http = createHttp(place, limits)
  t.teardown(() => http.close())
  return http
}

t.test('a request has its key, its query and its body, and connections are kept', async (t) => {
  const server = await play(t, (_, response) => sendJson(response, { fine: 'yes' }, 201, { 'x-one': '1' }))
  const http = httpTo(t, { url: `${server.url}/behind/`, key })
  const query = { q: 'a b&c=d', n: 1, left: undefined, out: null }
  const answer = await http.call('POST', '/confirm', { query, body: { é: 1 }, headers: { 'idempotency-key': 'k' } })
  t.match(answer, { status: 201, headers: { 'x-one': '1' }, body: { fine: 'yes' } })
  const [request] = server.requests
  t.match(request, { method: 'POST', path: '/behind/confirm?q=a+b%26c%3Dd&n=1', body: '{"é":1}' })
  t.match(request?.headers, {
    authorization: `Bearer ${key}`,
    'idempotency-key': 'k',
    accept: 'application/json',
    'content-type': 'application/json',
    'content-length': '8',
  })
  for (let i = 0; i < 3; i++) await http.call('GET', '/health')
  t.equal(server.connections(), 1)
  t.notOk('content-type' in server.requests.at(-1)!.headers, 'without a body none is announced')
})

t.test('a Unix socket is as good as a port', async (t) => {
  const socketPath = join(temporaryFolder(t), 'socket')
  await play(t, (_, response) => sendJson(response, { at: 'home' }), socketPath)
  t.match(await httpTo(t, { socketPath }).call('GET', '/keys'), { body: { at: 'home' } })
  const missing = httpTo(t, { socketPath: `${socketPath}-not` }).call('GET', '/keys')
  await t.rejects(missing, { code: 'unreachable', mayHaveArrived: false, mayPass: true })
})

t.test('a proxy that the environment names is not asked', async (t) => {
  const server = await play(t, (_, response) => sendJson(response, {}))
  const proxy = await play(t, (_, response) => sendJson(response, { stolen: true }))
  const before = { ...process.env }
  t.teardown(() => (process.env = before))
  for (const name of ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY']) process.env[name] = proxy.url
  process.env.NODE_USE_ENV_PROXY = '1'
  t.same((await httpTo(t, { url: server.url, key }).call('GET', '/confirm')).body, {})
  t.equal(proxy.requests.length, 0)
})

t.test('a problem is thrown with its code, its status and when to come back', async (t) => {
  const problem = { code: 'rate_limited', error: 'Too many.', status: 429, request_id: 'r-1', remaining: 0 }
  const server = await play(t, (_, response) => sendJson(response, problem, 429, { 'retry-after': '7' }))
  const error = await httpTo(t, { url: server.url })
    .call('POST', '/confirm')
    .catch((error: unknown) => error)
  t.ok(error instanceof Refused)
  t.match(error, {
    code: 'rate_limited',
    status: 429,
    message: 'Too many.',
    retryAfterMs: 7000,
    requestId: 'r-1',
    problem,
  })
})

t.test('the status of a problem is that of HTTP, also where the body has that of a confirmation', async (t) => {
  const problem = { code: 'already_resolved', error: 'Too late.', status: 'approved', retry_after_seconds: 3 }
  const server = await play(t, (_, response) => sendJson(response, problem, 409))
  const refused = httpTo(t, { url: server.url }).call('POST', '/confirm/1/approve')
  await t.rejects(refused, {
    code: 'already_resolved',
    status: 409,
    problem: { status: 'approved' },
    retryAfterMs: 3000,
  })
})

t.test('what is no answer of Holdpoint is none, and whether to try again is said', async (t) => {
  const answers: [name: string, status: number, headers: Record<string, string>, body: string, mayPass: boolean][] = [
    ['a redirect', 302, { location: 'http://127.0.0.1:1/' }, '', false],
    ['a page that was not found', 404, { 'content-type': 'text/html' }, '<h1>Not here</h1>', false],
    ['a proxy without what is behind it', 502, { 'content-type': 'text/html' }, '<h1>Bad</h1>', true],
    ['a proxy with too much to do', 429, { 'content-type': 'text/html' }, '<h1>Slower</h1>', true],
    ['a proxy that fails', 500, { 'content-type': 'text/html' }, '<h1>Oh</h1>', true],
    ['a problem without a code', 400, { 'content-type': 'application/problem+json' }, '{"title":"x"}', false],
    ['a problem that is no object', 503, { 'content-type': 'application/json' }, 'null', true],
    ['JSON that is none', 200, { 'content-type': 'application/json' }, '{"id":', true],
  ]
  for (const [name, status, headers, body, mayPass] of answers) {
    const server = await play(t, (_, response) => response.writeHead(status, headers).end(body))
    const http = httpTo(t, { url: server.url })
    await t.rejects(http.call('GET', '/confirm'), { code: 'unreachable', mayPass, mayHaveArrived: true }, name)
    t.equal(server.requests.length, 1, `${name}: once`)
  }
})

t.test('an answer that is cut, too late or too large is an error', async (t) => {
  const server = await play(t, (request, response) => {
    if (request.url === '/cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"id":')
      setImmediate(() => response.destroy())
    } else if (request.url === '/cut-chunks') {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":1}')
      setImmediate(() => response.destroy())
    } else if (request.url === '/large') sendJson(response, { text: 'x'.repeat(2000) })
    else if (request.url === '/drip') response.writeHead(200, { 'content-type': 'application/json' }).write('{')
  })
  const http = httpTo(t, { url: server.url }, { maxBytes: 1000 })
  const lost = { code: 'unreachable', mayHaveArrived: true }
  await t.rejects(http.call('GET', '/cut'), { ...lost, message: /broke off/ })
  await t.rejects(http.call('GET', '/cut-chunks'), { ...lost, message: /broke off/ }, 'although what came is JSON')
  await t.rejects(http.call('GET', '/large'), { ...lost, mayPass: false, message: /more than 1000 bytes/ })
  await t.rejects(http.call('GET', '/silent', { timeoutMs: 20 }), { ...lost, message: /not answered within 0.02 s/ })
  await t.rejects(http.call('GET', '/drip', { timeoutMs: 20 }), lost, 'a body that never ends')
})

t.test('a connection that is closed without an answer is told from one that never was', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const http = httpTo(t, { url: `http://127.0.0.1:${port}`, key })
  await t.rejects(http.call('GET', '/confirm'), { code: 'unreachable', mayHaveArrived: true })
  await new Promise((resolve) => server.close(resolve))
  await t.rejects(http.call('GET', '/confirm'), { code: 'unreachable', mayHaveArrived: false })
})

t.test('abort ends a request at once, before, during and within its answer', async (t) => {
  const server = await play(t, (request, response) => {
    if (request.url === '/begun') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': x\n\n')
  })
  const http = httpTo(t, { url: server.url })
  const aborted = AbortSignal.abort('enough')
  await t.rejects(http.call('GET', '/confirm', { signal: aborted }), { code: 'aborted', cause: 'enough' })
  t.equal(server.requests.length, 0)

  const during = new AbortController()
  const call = http.call('GET', '/silent', { signal: during.signal })
  setTimeout(() => during.abort(), 10)
  await t.rejects(call, Aborted)

  const within = new AbortController()
  const { body } = await http.stream('GET', '/begun', { signal: within.signal })
  const reading = (async () => {
    for await (const _ of body) within.abort()
  })()
  await t.rejects(reading, Aborted)
})

t.test('a stream is read no faster than it is taken, and leaving it ends the request', async (t) => {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  let closed = () => {}
  const isClosed = new Promise<void>((resolve) => (closed = resolve))
  const server = await play(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' })
    const write = () => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
      if (!response.destroyed) response.once('drain', write)
    }
    write()
    response.once('close', closed)
  })
  const { body, status } = await httpTo(t, { url: server.url }).stream('GET', '/audit/export')
  t.equal(status, 200)
  let taken = 0
  for await (const bytes of body) {
    taken += bytes.length
    // As slow readers do, once what is under way has come to rest.
    for (let before = -1; before !== written;) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    if (taken > 256 * 1024) break
  }
  t.ok(written < taken + 16 * 1024 * 1024, 'what is under way is bounded by the sockets')
  await isClosed
  t.pass('the server sees it go')
})

t.test('a stream that is silent for too long ends as unreachable; one that is read slowly does not', async (t) => {
  const server = await play(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n')
  })
  const http = httpTo(t, { url: server.url }, { silenceMs: 30 })
  const { body } = await http.stream('GET', '/events')
  let count = 0
  const reading = (async () => {
    for await (const _ of body) {
      count += 1
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
  })()
  await t.rejects(reading, { code: 'unreachable', message: /not answered within 0.03 s/ })
  t.equal(count, 1)
})

t.test('a stream that is refused says why, and one that is cut says so', async (t) => {
  const server = await play(t, (request, response) => {
    if (request.url === '/events') return sendJson(response, { code: 'forbidden', error: 'No.' }, 403)
    response.writeHead(200, { 'content-type': 'text/csv' }).write('a,b\n')
    setImmediate(() => response.destroy())
  })
  const http = httpTo(t, { url: server.url })
  await t.rejects(http.stream('GET', '/events'), { code: 'forbidden', status: 403 })
  const { body } = await http.stream('GET', '/export')
  const reading = (async () => {
    for await (const _ of body);
  })()
  await t.rejects(reading, Unreachable)
})

t.test('the key is in no error and in nothing that is printed', async (t) => {
  const http = createHttp({ url: 'http://127.0.0.1:1', key })
  const error = await http.call('GET', '/confirm').catch((error: unknown) => error)
  const answer = await play(t, (_, response) => response.writeHead(500).end())
  const other = await createHttp({ url: answer.url, key })
    .call('GET', '/confirm')
    .catch((error: unknown) => error)
  for (const one of [http, error, other]) t.notMatch(inspect(one, { depth: Infinity, showHidden: true }), /hpk_/)
  for (const wrong of ['hpk_secret\r\nX-Evil: 1', 'hpk_sécret', 'hpk_ secret']) {
    try {
      createHttp({ url: 'http://127.0.0.1:6000', key: wrong })
      t.fail('taken')
    } catch (error) {
      t.ok(error instanceof Invalid)
      t.notMatch(inspect(error), /hpk_/)
    }
  }
})

t.test('a place that is none is refused before anything is sent', async (t) => {
  for (const url of ['', 'localhost:6000', 'ftp://x/', 'http://u:p@x/', 'http://x/?a=1', 'http://x/#a', 'http://']) {
    t.throws(() => createHttp({ url }), Invalid, url)
  }
  const http = httpTo(t, { url: 'http://127.0.0.1:1' })
  for (const path of ['confirm', '//a b', '/a\r\nb', '/é', 'http://other/']) {
    await t.rejects(http.call('GET', path), Invalid, path)
  }
  await t.rejects(http.call('GET', '/', { headers: { 'x-a': 'a\r\nb' } }), Invalid)
})

t.test('a certificate that nobody vouches for is refused, whatever the environment says', async (t) => {
  const name = 'NODE_TLS_REJECT_UNAUTHORIZED'
  const before = process.env[name]
  process.env[name] = '0'
  t.teardown(() => (before === undefined ? delete process.env[name] : (process.env[name] = before)))
  let asked = 0
  const server = createTlsServer({ cert: certificate, key: certificateKey }, (_, response) => {
    asked += 1
    sendJson(response, {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const http = httpTo(t, { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, key })
  await t.rejects(http.call('GET', '/health'), { name: 'Unreachable' })
  t.equal(asked, 0, 'and no key was sent there')
})
