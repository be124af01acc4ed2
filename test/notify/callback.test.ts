// One callback: what is sent and how it is signed, how every answer is understood, and what an agent that chooses the
// URL, the name server and the receiver cannot reach with it.
import { execFile } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, Socket } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { type CallbackSettings, createCallback } from '../../src/notify/callback.js'
import type { Lookup } from '../../src/notify/names.js'
import { problemWithSecret } from '../../src/notify/signature.js'
import { t0, temporaryFolder, until } from '../support.js'
import { certificate, key } from './certificate.js'

const secretOf = (bytes: number, fill = 7) => `whsec_${Buffer.alloc(bytes, fill).toString('base64')}`
const secret = secretOf(32)
const id = 'msg_0198c0de'
const body = '{"id":"0198c0de","status":"approved","description":"naïve ✓"}'
const go = new AbortController().signal
const publicAddress = '93.184.215.14'
const refusal = { kind: 'refused', fault: 'message', error: 'this address may not be called' }
const nowhere = { kind: 'failed', error: 'the name leads to no address that may be called' }

/** Calls back with these settings; 127.0.0.1 is allowed unless they say otherwise. */
function send(url: string, settings: Partial<CallbackSettings> = {}, { stop = go, at = t0 } = {}) {
  const usual = { secrets: [secret], allowedHosts: ['127.0.0.1'], version: '1.2.3', timeoutMs: 5000 }
  const callback = createCallback({ ...usual, ...settings })
  return callback.send({ url, id, body, at }, stop)
}

async function listen(t: Test, server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket) => open.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

interface Call {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A receiver that takes each call whole and answers it so. */
async function startReceiver(t: Test, answer: RequestListener = (_request, response) => response.end()) {
  const calls: Call[] = []
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      calls.push({ method: method!, path: url!, headers, body: Buffer.concat(chunks).toString() })
      answer(request, response)
    })
  })
  const port = await listen(t, server)
  return { port, url: `http://127.0.0.1:${port}`, calls }
}

/** A server below HTTP: what arrived on each connection, and what it does with one. */
async function startSocketServer(t: Test, serve: (socket: Socket) => void = () => {}) {
  const connections: { received: string; isClosed: boolean }[] = []
  const server = createTcpServer((socket) => {
    const connection = { received: '', isClosed: false }
    connections.push(connection)
    socket.on('data', (chunk) => (connection.received += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => (connection.isClosed = true))
    serve(socket)
  })
  const port = await listen(t, server)
  const areClosed = () => connections.length > 0 && connections.every(({ isClosed }) => isClosed)
  return { port, url: `http://127.0.0.1:${port}`, connections, areClosed }
}

/** In place of the network: notes which addresses are asked for and reaches none of them. */
function deadEnd() {
  const asked: unknown[] = []
  const open: CallbackSettings['connect'] = (options) => {
    options.lookup!(options.host!, { all: true }, (_error, found) => asked.push(found))
    const socket = new Socket()
    socket.destroy(Object.assign(new Error('played'), { code: 'ECONNREFUSED' }))
    return socket
  }
  return { asked, connect: open }
}

t.test('the record is posted as it is, with its id, its time and the name of the sender', async (t) => {
  const { url, calls } = await startReceiver(t)
  t.same(await send(`${url}/hooks/1?a=b%20c#part`, {}, { at: t0 + 1999 }), { kind: 'sent' })
  t.match(calls, [{ method: 'POST', path: '/hooks/1?a=b%20c', body }])
  t.match(calls[0]!.headers, {
    host: new URL(url).host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'Holdpoint/1.2.3',
    'webhook-id': id,
    'webhook-timestamp': String(t0 / 1000 + 1),
    'webhook-signature': /^v1,[\w+/]{43}=$/,
    connection: 'close',
  })
})

t.test('a receiver that knows the secret accepts the signature, and nothing that was changed on the way', async (t) => {
  const { url, calls } = await startReceiver(t)
  await send(url, {}, { at: Date.now() })
  const headers = calls[0]!.headers as Record<string, string>
  const receiver = new Webhook(secret)
  t.same(receiver.verify(calls[0]!.body, headers), JSON.parse(body))
  t.throws(() => receiver.verify(body.replace('approved', 'denied'), headers), { message: /signature/ }, 'the body')
  t.throws(() => receiver.verify(body, { ...headers, 'webhook-id': 'msg_2' }), { message: /signature/ }, 'the id')
  const later = String(Number(headers['webhook-timestamp']) + 1)
  t.throws(
    () => receiver.verify(body, { ...headers, 'webhook-timestamp': later }),
    { message: /signature/ },
    'the time',
  )
  t.throws(() => new Webhook(secretOf(32, 8)).verify(body, headers), { message: /signature/ }, 'another secret')
})

t.test('during rotation receivers accept that know only the new secret or only the old one', async (t) => {
  const { url, calls } = await startReceiver(t)
  const [fresh, old] = [secretOf(64, 1), secretOf(24, 2)]
  await send(url, { secrets: [fresh, old] }, { at: Date.now() })
  const headers = calls[0]!.headers as Record<string, string>
  t.match(headers['webhook-signature'], /^v1,\S{44} v1,\S{44}$/)
  for (const known of [fresh, old]) t.same(new Webhook(known).verify(calls[0]!.body, headers), JSON.parse(body))
  t.throws(() => new Webhook(secret).verify(body, headers), { message: /signature/ }, 'a third does not fit')
})

t.test('a secret is whsec_ and the base64 of 24 to 64 bytes', async (t) => {
  for (const bytes of [24, 25, 26, 32, 64]) t.equal(problemWithSecret(secretOf(bytes)), null, `${bytes} bytes`)
  const wrong: [text: string, flaw: string][] = [
    ['', "must begin with 'whsec_'"],
    [secret.slice(6), "must begin with 'whsec_'"],
    [secret.replace('whsec', 'WHSEC'), "must begin with 'whsec_'"],
    [` ${secret}`, "must begin with 'whsec_'"],
    [`${secret}\n`, "must be base64 after 'whsec_'"],
    [secret.replace('=', ''), "must be base64 after 'whsec_'"],
    [`whsec_${'-_'.repeat(16)}`, "must be base64 after 'whsec_'"],
    ['whsec_correct horse battery staple!!', "must be base64 after 'whsec_'"],
    ['whsec_', 'must hold 24 to 64 bytes'],
    [secretOf(23), 'must hold 24 to 64 bytes'],
    [secretOf(65), 'must hold 24 to 64 bytes'],
  ]
  for (const [text, flaw] of wrong) t.equal(problemWithSecret(text), flaw, JSON.stringify(text))
})

t.test('without a secret, or with a wrong one, there is no callback', async (t) => {
  const settings = { allowedHosts: [], version: '1.2.3' }
  t.throws(() => createCallback({ ...settings, secrets: [] }), { message: /needs a secret/ })
  t.throws(() => createCallback({ ...settings, secrets: [secret, 'whsec_c2hvcnQ='] }), {
    message: 'a secret for callbacks must hold 24 to 64 bytes',
  })
})

/** A number is the status of an answer. */
const failed = (error: string) => ({ kind: 'failed', error, ...(/^\d+$/.test(error) ? { answered: true } : {}) })
const busy = (error: string, retryAfterMs: number) => ({ kind: 'busy', error, retryAfterMs })
const dateAfter = (ms: number) => new Date(t0 + ms).toUTCString()
const answers: [status: number, headers: Record<string, string | string[]>, outcome: object][] = [
  [200, {}, { kind: 'sent' }],
  [202, {}, { kind: 'sent' }],
  [204, {}, { kind: 'sent' }],
  [299, { 'retry-after': '5' }, { kind: 'sent' }],
  [300, {}, failed('300')],
  [304, {}, failed('304')],
  [400, {}, failed('400')],
  [401, {}, failed('401')],
  [404, {}, failed('404')],
  [409, { 'retry-after': '5' }, failed('409')],
  [410, {}, { kind: 'refused', fault: 'gone', error: '410' }],
  [429, {}, failed('429')],
  [500, { 'retry-after': '5' }, failed('500')],
  [503, {}, failed('503')],
  [599, {}, failed('599')],
  [429, { 'retry-after': '7' }, busy('429', 7000)],
  [503, { 'retry-after': '7' }, busy('503', 7000)],
  [503, { 'retry-after': '0' }, busy('503', 1000)],
  [503, { 'retry-after': '86400' }, busy('503', 86_400_000)],
  [503, { 'retry-after': '86401' }, busy('503', 86_400_000)],
  [503, { 'retry-after': '9'.repeat(400) }, busy('503', 86_400_000)],
  [429, { 'retry-after': dateAfter(90_000) }, busy('429', 90_000)],
  [429, { 'retry-after': dateAfter(-90_000) }, busy('429', 1000)],
  [429, { 'retry-after': dateAfter(1e12) }, busy('429', 86_400_000)],
  [429, { 'retry-after': '-5' }, failed('429')],
  [429, { 'retry-after': '1e3' }, failed('429')],
  [429, { 'retry-after': 'soon' }, failed('429')],
  [429, { 'retry-after': '' }, failed('429')],
  [429, { 'retry-after': 'Wed, 99 Foo 2026 00:00:00 GMT' }, failed('429')],
  [429, { 'retry-after': ['5', '6'] }, failed('429')],
]
t.test('every answer is understood by its status alone, and nothing it says is repeated', async (t) => {
  let next = 0
  const { url, calls } = await startReceiver(t, (_request, response) => {
    const [status, headers] = answers[next]!
    response.writeHead(status, 'Own Words', headers as Record<string, string>).end('{"error":"own words"}')
  })
  for (; next < answers.length; next++) {
    const [status, headers, outcome] = answers[next]!
    t.same(await send(url), outcome, `${status} ${JSON.stringify(headers).slice(0, 60)}`)
  }
  t.equal(calls.length, answers.length, 'each was asked once')
})

t.test('a redirect is not followed', async (t) => {
  const elsewhere = await startReceiver(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const { url, calls } = await startReceiver(t, (_request, response) => {
      response.writeHead(status, { location: elsewhere.url }).end()
    })
    t.same(await send(url), failed(String(status)))
    t.equal(calls.length, 1)
  }
  t.same(elsewhere.calls, [])
})

t.test('an address inside is not called, by number or by name, unless the settings name it', async (t) => {
  const { port, connections } = await startSocketServer(t)
  const hosts = ['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost', 'agent.localhost', '0.0.0.0', '10.0.0.1']
  for (const host of hosts) t.same(await send(`http://${host}:${port}/`, { allowedHosts: [] }), refusal, host)
  t.same(await send(`http://127.0.0.1:${port}/`, { allowedHosts: [`127.0.0.1:${port + 1}`] }), refusal, 'another port')
  t.same(connections, [])
})

t.test('what cannot be a callback at all is refused in the same words', async (t) => {
  for (const url of ['', 'nonsense', 'ftp://example.com/', 'https://me:secret@example.com/']) {
    t.same(await send(url), refusal, url)
  }
})

t.test('a name that leads inside is not called, also if only one of its addresses does', async (t) => {
  const { port, connections } = await startSocketServer(t)
  const answers = [
    ['127.0.0.1'],
    [publicAddress, '127.0.0.1'],
    ['127.0.0.1', publicAddress],
    ['169.254.169.254'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['2606:4700::1', 'fe80::1%lo'],
    [...Array<string>(20).fill(publicAddress), '10.0.0.1'],
    ['not an address'],
  ]
  for (const addresses of answers) {
    const { asked, connect } = deadEnd()
    const outcome = await send(`http://agent.example:${port}/`, { lookup: async () => addresses, connect })
    t.same(outcome, nowhere, addresses.join())
    t.same(asked, [], 'no connection is tried')
  }
  t.same(connections, [])
})

t.test('a name is resolved once, and only what was checked is connected', async (t) => {
  const { port, connections } = await startSocketServer(t)
  const { asked, connect } = deadEnd()
  const turns = [[publicAddress, '2606:4700::1'], ['127.0.0.1']]
  const lookup = async () => turns.shift()!
  const url = `http://rebinding.example:${port}/`
  t.same(await send(url, { lookup, connect }), failed('network error (ECONNREFUSED)'))
  const checked = [
    { address: publicAddress, family: 4 },
    { address: '2606:4700::1', family: 6 },
  ]
  t.same(asked, [checked])
  t.equal(turns.length, 1, 'the second answer was not asked for')
  t.same(await send(url, { lookup, connect }), nowhere, 'the next attempt checks anew')
  t.equal(asked.length, 1)
  t.same(connections, [])
})

t.test('of a name with very many addresses only a few are tried', async (t) => {
  const { asked, connect } = deadEnd()
  await send('http://many.example/', { lookup: async () => Array<string>(4000).fill(publicAddress), connect })
  t.equal((asked[0] as unknown[]).length, 8)
})

t.test('a connection that ends up inside all the same is cut before a byte is sent', async (t) => {
  for (const protocol of ['http', 'https']) {
    const { port, connections, areClosed } = await startSocketServer(t)
    const outcome = await send(`${protocol}://lying.example:${port}/`, {
      lookup: async () => [publicAddress],
      connect: () => connect(port, '127.0.0.1'),
    })
    t.same(outcome, nowhere, protocol)
    await until(areClosed)
    t.same(connections, [{ received: '', isClosed: true }])
  }
})

t.test('a host that the settings name may be inside, under its name too', async (t) => {
  const { port, calls } = await startReceiver(t)
  const lookup = async () => ['127.0.0.1']
  t.same(await send(`http://hooks.corp:${port}/`, { allowedHosts: ['hooks.corp'], lookup }), { kind: 'sent' })
  t.equal(calls[0]!.headers.host, `hooks.corp:${port}`)
  t.same(await send(`http://hooks.corp.:${port}/`, { allowedHosts: ['hooks.corp'], lookup }), nowhere, 'not beside it')
  t.same(await send(`http://localhost:${port}/`, { allowedHosts: [`localhost:${port}`] }), { kind: 'sent' })
  t.equal(calls.length, 2)
})

t.test('a name inside and a name that nobody knows have failed alike, and may lead outside later', async (t) => {
  t.match(await send('http://nobody.invalid/', { timeoutMs: 300 }), nowhere)
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error('nobody.example'), { code }))
  const lookups: Record<string, Lookup> = {
    inside: async () => ['10.1.2.3'],
    'no address': async () => [],
    'not found': failing('ENOTFOUND'),
    'a server that fails': failing('ESERVFAIL'),
    'a server that is silent': () => new Promise(() => {}),
  }
  for (const [what, lookup] of Object.entries(lookups)) {
    t.same(await send('http://some.corp/', { lookup, timeoutMs: 50 }), nowhere, what)
  }
  const allowed = { allowedHosts: ['some.corp'], timeoutMs: 50 }
  t.same(
    await send('http://some.corp/', { ...allowed, lookup: failing('ENOTFOUND') }),
    failed('network error (ENOTFOUND)'),
    'what the settings name is told why',
  )
})

t.test('a receiver that cannot be reached or makes no sense has failed, in a few words', async (t) => {
  const closed = createTcpServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  t.same(await send(`http://127.0.0.1:${port}/`), failed('network error (ECONNREFUSED)'))

  const habits: [name: string, serve: (socket: Socket) => void, error: RegExp][] = [
    ['hangs up at once', (socket) => socket.destroy(), /^network error \(\w+\)$/],
    ['resets', (socket) => void socket.once('data', () => socket.resetAndDestroy()), /^network error \(\w+\)$/],
    ['is no HTTP', (socket) => void socket.end('220 mail.example ESMTP\r\n'), /^network error \(HTTPParserError\)$/],
    ['ends in its headers', (socket) => void socket.end('HTTP/1.1 200 OK\r\nA: '), /^network error \(\w+\)$/],
    [
      'has endless headers',
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${'a: own words\r\n'.repeat(4000)}`),
      /^network error \(UND_ERR_HEADERS_OVERFLOW\)$/,
    ],
    [
      'switches protocols',
      (socket) => void socket.write('HTTP/1.1 101 Own Words\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      /^network error \(\w+\)$/,
    ],
  ]
  for (const [name, serve, error] of habits) {
    const { url, connections, areClosed } = await startSocketServer(t, serve)
    t.match(await send(`${url}/s3cret`), { kind: 'failed', error }, name)
    await until(areClosed)
    t.equal(connections.length, 1, 'and is not called twice')
  }
})

t.test('a connection that is gone before it is used is not opened again', async (t) => {
  const { port, url, connections } = await startSocketServer(t)
  const outcome = await send(url, {
    connect: () => {
      const socket = connect(port, '127.0.0.1')
      return socket.once('connect', () => socket.destroy())
    },
  })
  t.match(outcome, failed('network error (ECONNRESET)'))
  t.ok(connections.length <= 1)
})

t.test('a receiver that does not answer in time has failed, at whatever point it stops', async (t) => {
  const tooLate = failed('no answer in time')
  const silent = await startSocketServer(t)
  t.same(await send(silent.url, { timeoutMs: 50 }), tooLate, 'after the request')
  t.same(await send(silent.url.replace('http', 'https'), { timeoutMs: 50 }), tooLate, 'in the handshake of TLS')
  const dripping = await startSocketServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('a: b\r\n'), 5)
    socket.on('close', () => clearInterval(timer))
  })
  t.same(await send(dripping.url, { timeoutMs: 50 }), tooLate, 'in its headers')
  for (const { areClosed } of [silent, dripping]) await until(areClosed)
  const lookup = () => new Promise<string[]>(() => {})
  const allowedHosts = ['slow.example']
  t.same(await send('http://slow.example/', { timeoutMs: 50, lookup, allowedHosts }), tooLate, 'in the name')
  const opened: Socket[] = []
  const connect = () => (opened.push(new Socket()), opened.at(-1)!)
  t.same(await send(`http://${publicAddress}/`, { timeoutMs: 50, connect }), tooLate, 'before the connection')
  t.ok(opened[0]!.destroyed)
})

t.test('an answer that never ends is cut, and its status counts', async (t) => {
  for (const [status, outcome] of [
    [200, { kind: 'sent' }],
    [500, failed('500')],
  ] as const) {
    const { url, areClosed } = await startSocketServer(t, (socket) => {
      socket.write(`HTTP/1.1 ${status} X\r\ncontent-length: 5000\r\n\r\n`)
      const timer = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(timer))
    })
    t.same(await send(url, { timeoutMs: 100 }), outcome)
    await until(areClosed)
  }
})

t.test('an answer of 100 MB is not read', async (t) => {
  const size = 100 * 1024 * 1024
  for (const headers of [{ 'content-length': size }, { 'transfer-encoding': 'chunked' }]) {
    let sent = 0
    let isClosed = false
    const { url } = await startReceiver(t, (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024)
      response.writeHead(200, headers).on('close', () => (isClosed = true))
      const pump = () => {
        while (!isClosed && sent < size) {
          sent += chunk.length
          if (!response.write(chunk)) return response.once('drain', pump)
        }
        return response.end()
      }
      pump()
    })
    t.same(await send(url), { kind: 'sent' })
    await until(() => isClosed)
    t.ok(sent < size, JSON.stringify(headers))
  }
})

t.test('an attempt can be called off, and nothing of it stays open', async (t) => {
  const { url, connections, areClosed } = await startSocketServer(t)
  const stop = new AbortController()
  const sending = send(url, {}, { stop: stop.signal })
  await until(() => connections[0]?.received.endsWith(Buffer.from(body).toString('latin1')))
  stop.abort()
  t.same(await sending, failed('called off'))
  await until(areClosed)
  t.same(await send(url, {}, { stop: stop.signal }), failed('called off'), 'also before it begins')
  t.equal(connections.length, 1)
})

t.test('an attempt can be called off while its name is resolved', async (t) => {
  const stop = new AbortController()
  const { asked, connect } = deadEnd()
  let answer: ((addresses: string[]) => void) | undefined
  const lookup = () => new Promise<string[]>((resolve) => (answer = resolve))
  const sending = send('http://slow.example/', { lookup, connect }, { stop: stop.signal })
  await until(() => answer)
  answer!([publicAddress])
  stop.abort()
  t.same(await sending, failed('called off'))
  t.ok(asked.length <= 1)
})

t.test('an attempt that is called off just as it connects leaves no connection', async (t) => {
  const stop = new AbortController()
  const socket = new Socket()
  const connect = () => {
    stop.abort()
    return socket
  }
  t.same(await send(`http://${publicAddress}/`, { connect }, { stop: stop.signal }), failed('called off'))
  t.ok(socket.destroyed)
})

t.test('what an attempt hung on the signal that stops it goes with it', async (t) => {
  const { url } = await startReceiver(t)
  const { signal } = new AbortController()
  t.same(await send(url, {}, { stop: signal }), { kind: 'sent' })
  t.match(await send('http://nobody.example/', { lookup: async () => [] }, { stop: signal }), { kind: 'failed' })
  t.same(getEventListeners(signal, 'abort'), [])
})

t.test('over TLS a receiver is called whose certificate fits its name, and no other', async (t) => {
  const calls: unknown[] = []
  const server = createHttpsServer({ cert: certificate, key }, (request, response) => {
    const { servername } = request.socket as TLSSocket & { servername?: string | false }
    calls.push([request.headers['webhook-id'], servername])
    request.resume()
    response.end()
  })
  server.on('tlsClientError', () => {})
  const port = await listen(t, server)
  t.same(
    await send(`https://127.0.0.1:${port}/`),
    failed('network error (DEPTH_ZERO_SELF_SIGNED_CERT)'),
    'nobody vouches for it',
  )
  t.same(calls, [])

  // Whom Node trusts is settled when a process starts.
  const script = `
    import { createCallback } from ${JSON.stringify(new URL('../../src/notify/callback.js', import.meta.url))}
    const callback = createCallback({
      secrets: ['${secret}'],
      allowedHosts: ['127.0.0.1', 'localhost', 'localhost.', 'other.example'],
      version: '1.2.3',
      lookup: async () => ['127.0.0.1'],
    })
    const outcomes = []
    for (const host of ['127.0.0.1', 'localhost', 'localhost.', 'other.example']) {
      const message = { url: 'https://' + host + ':${port}/', id: host, body: '{}', at: 0 }
      outcomes.push(await callback.send(message, new AbortController().signal))
    }
    process.stdout.write(JSON.stringify(outcomes))`
  const trusted = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(trusted, certificate)
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { NODE_EXTRA_CA_CERTS: trusted },
  })
  const sent = { kind: 'sent' }
  t.same(JSON.parse(stdout), [sent, sent, sent, failed('network error (ERR_TLS_CERT_ALTNAME_INVALID)')])
  const asked = [
    ['127.0.0.1', false],
    ['localhost', 'localhost'],
    ['localhost.', 'localhost'],
  ]
  t.same(calls, asked, 'each was asked for by its name, if it has one')
})
