// Large bodies, which a thread reads: the same answers as for small ones, all of them answered, in turn.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { largeBody } from '../../src/routes/body.js'
import { build, type BuildOptions, giveKeys, until } from '../support.js'

const config = { rateLimit: 100_000, openLimit: 0, diskLimit: 0, floodLimit: 0 }
/** Means nothing in JSON. */
const padding = ' '.repeat(largeBody)

/** One body, sent as it is to one service and padded to another: what both answer, and what both keep. */
async function buildTwo(t: Test, options: BuildOptions = {}) {
  const small = await build(t, { config, ...options })
  const large = await build(t, { config, ...options })
  return async (path: string, text: string | Buffer, headers: Record<string, string> = {}) => {
    const whole = Buffer.from(text)
    const payloads = [whole, Buffer.concat([whole, Buffer.from(padding)])]
    const answers = await Promise.all(
      [small, large].map(async ({ app }, index) => {
        const all = { 'content-type': 'application/json', host: 'localhost', ...headers }
        const { statusCode, body } = await app.inject({
          method: 'POST',
          url: path,
          headers: all,
          body: payloads[index]!,
        })
        return { status: statusCode, body: plain(body) }
      }),
    )
    return { small: answers[0]!, large: answers[1]! }
  }
}

/** Without what is drawn by chance. */
function plain(text: string): unknown {
  return JSON.parse(text.replace(/"request_id":"[^"]*"/g, '"request_id":""').replace(/"session-\d+"/g, '""'))
}

const submission = (more: object = {}) => ({ action: 'act', description: 'Do it', details: { n: 1 }, ...more })

t.test('what is wrong with a large body is said as of a small one', async (t) => {
  const both = await buildTwo(t)
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const bodies: Record<string, string | Buffer> = {
    'well-formed': JSON.stringify(submission()),
    'with all there is': JSON.stringify(
      submission({ requester: 'bot', on_behalf_of: ' Ann ', session_key: 's', timeout_seconds: '60' }),
    ),
    'no JSON': '{"action": ',
    'no object': '[]',
    'a text': '"text"',
    'not UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    'half a character': '{"action":"a","description":"\\ud800"}',
    'a name twice': '{"action":"a","action":"b","description":"d"}',
    'a number that does not survive': '{"action":"a","description":"d","details":{"n":12345678901234567890}}',
    'a clamped number': '{"action":"a","description":"d","timeout_seconds":12345678901234567890}',
    'with __proto__': '{"action":"a","description":"d","details":{"__proto__":{"x":1}}}',
    'with constructor.prototype': '{"action":"a","description":"d","details":{"constructor":{"prototype":1}}}',
    'an escaped __proto__': '{"action":"a","description":"d","details":{"\\u005f_proto__":1}}',
    'too deep': `{"action":"a","description":"d","details":{"a":${nested(70)}}}`,
    'no fields': '{}',
    'another field': JSON.stringify(submission({ actoin: 1, detail: 2 })),
    'a field of another kind': JSON.stringify(submission({ details: 'text' })),
    "one of the service's own names": JSON.stringify(submission({ requester: 'system:x' })),
  }
  for (const [what, body] of Object.entries(bodies)) {
    const { small, large } = await both('/confirm', body)
    t.same(large, small, what)
  }
})

t.test('bad headers and queries are refused in the same order', async (t) => {
  const both = await buildTwo(t)
  for (const [path, body, headers] of [
    ['/confirm', submission(), { 'idempotency-key': 'ä'.repeat(3) }],
    ['/confirm', submission({ x: 1 }), { 'idempotency-key': 'ä' }],
    ['/confirm?wait=x', submission({ x: 1 }), {}],
    ['/confirm?wait=x', submission(), {}],
    ['/confirm/batch', { items: [submission()] }, { 'idempotency-key': 'ä' }],
    ['/confirm/none/claim', { digest: 'no' }, {}],
    ['/confirm/none/approve', { approver: 'ann', reason: 'r' }, {}],
    ['/confirm/none/approve', { remember: { scope: 'all' } }, {}],
    ['/decisions', { decisions: [{ id: 'none', verdict: 'approve' }, { id: 1 }, { x: 1 }] }, {}],
  ] as [string, object, Record<string, string>][]) {
    const { small, large } = await both(path, JSON.stringify(body), headers)
    t.same(large, small, path)
  }
})

t.test('a key sent again, small or large, gets the first answer', async (t) => {
  const { app, call } = await build(t, { config })
  const body = JSON.stringify(submission({ timeout_seconds: 90, on_behalf_of: 'Ann' }))
  const send = async (payload: string) => {
    const headers = { 'content-type': 'application/json', host: 'localhost', 'idempotency-key': 'k' }
    return app.inject({ method: 'POST', url: '/confirm', headers, body: payload })
  }
  const [first, again, other] = [
    await send(body),
    await send(body + padding),
    await send(`${body.slice(0, -1)},"x":1}`),
  ]
  t.equal(first.statusCode, 202)
  t.equal(again.statusCode, 202)
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.equal(plainId(again.body), plainId(first.body))
  t.equal(other.statusCode, 400)
  const changed = await send(JSON.stringify(submission({ timeout_seconds: 91, on_behalf_of: 'Ann' })) + padding)
  t.equal(changed.statusCode, 422)
  t.equal((await call('GET', '/confirm')).body.count, 1)
})

function plainId(text: string): unknown {
  return (JSON.parse(text) as { id: unknown }).id
}

/** Mostly what is sent, and what is nearly that. */
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', ' a ', 'system:x', 'deploy_production', '\u0000', '"\\\n', '\ud83d\ude00'),
)
const values = fc.jsonValue({ maxDepth: 4 })
const details = fc.dictionary(texts, values, { maxKeys: 5 })
const items = fc.record(
  {
    action: fc.oneof(fc.constantFrom('act', 'other'), texts),
    description: fc.oneof(fc.constant('Do it'), texts),
    details: fc.oneof(details, details, values),
    requester: texts,
    on_behalf_of: texts,
    session_key: fc.oneof(fc.constantFrom('', 's'), texts),
    timeout_seconds: fc.oneof(fc.integer(), fc.double(), texts),
    callback_url: fc.constant('http://127.0.0.1/'),
    unknown: fc.boolean(),
  },
  { requiredKeys: ['action', 'description'] },
)
const bodies = fc.oneof(
  fc.tuple(fc.constant('/confirm'), fc.oneof(items, items, items, values)),
  fc.tuple(
    fc.constant('/confirm/batch'),
    fc.record({ items: fc.oneof(fc.array(fc.oneof(items, values), { maxLength: 4 }), values) }),
  ),
  fc.tuple(
    fc.constant('/whitelist'),
    fc.record(
      { action: texts, details, when: details, max_uses: fc.integer(), reason: texts },
      { requiredKeys: ['action'] },
    ),
  ),
)
/** As it is, or damaged. */
const damage = fc.oneof(
  fc.constant(null),
  fc.constant(null),
  fc.record({
    at: fc.nat(),
    put: fc.constantFrom('', '"', '\\', ',', '{', '1e400', '12345678901234567890', '__proto__'),
  }),
)

t.test('whatever is sent, a large body is answered and kept as a small one', async (t) => {
  const both = await buildTwo(t)
  await fc.assert(
    fc.asyncProperty(bodies, damage, fc.constantFrom('', 'k1', 'k 2'), async ([path, value], hurt, key) => {
      let text = JSON.stringify(value)
      if (hurt !== null)
        text = text.slice(0, hurt.at % text.length) + hurt.put + text.slice((hurt.at % text.length) + 1)
      const { small, large } = await both(path, text, key === '' ? {} : { 'idempotency-key': key })
      if (!isSame(small, large)) throw new Error(`${JSON.stringify(small)} and ${JSON.stringify(large)}`)
    }),
    { numRuns: 300 },
  )
})

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** So large that not all of them are worked on at once. */
const large = (action: string, size = 64 * 1024) =>
  JSON.stringify({ action, description: 'd', details: { text: 'é"\n'.repeat(size / 8) } })

t.test('what is kept of a large body, and its digest, are those of a small one', async (t) => {
  const { call } = await build(t, { config })
  const { body: held } = await call('POST', '/confirm', large('act'))
  const { body: read } = await call('GET', `/confirm/${held.id as string}`)
  t.same(read.details, (JSON.parse(large('act')) as { details: unknown }).details)
  const short = await call('POST', '/confirm', submission())
  const padded = await call('POST', '/confirm', JSON.stringify(submission()) + padding)
  t.equal(padded.body.digest, short.body.digest)
})

t.test('two hundred at once are all answered, none is refused, each in its turn', async (t) => {
  const { call } = await build(t, { config })
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => call('POST', '/confirm', large(`a${i}`))))
  t.same(new Set(answers.map(({ status }) => status)), new Set([202]))
  const ids = answers.map(({ body }) => body.id as string)
  t.same(ids, ids.toSorted(), 'in the order of arrival')
})

t.test("one requester's large bodies keep another's waiting for no more than a turn", async (t) => {
  const built = await build(t, { config })
  const { bot, other } = await giveKeys(built, { bot: 'agent', other: 'agent', root: 'admin' } as const)
  let answered = 0
  const many = Array.from({ length: 40 }, async (_, i) => {
    const { status } = await bot('POST', '/confirm', large(`a${i}`, 700_000))
    answered += 1
    return status
  })
  t.equal((await other('POST', '/confirm', large('b', 700_000))).status, 202)
  t.ok(answered < 40, `${answered} were answered before`)
  t.same(new Set(await Promise.all(many)), new Set([202]))
})

t.test('who has gone before the body is read has asked for nothing, and makes room', async (t) => {
  const { app, call } = await build(t, { config })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const sockets = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const body = large(`gone${i}`, 700_000)
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      const head = `POST /confirm HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
      socket.write(head + body)
      return socket
    }),
  )
  await new Promise((resolve) => setImmediate(resolve))
  sockets.forEach((socket) => socket.destroy())
  t.equal((await call('POST', '/confirm', large('after'))).status, 202)
  await until(async () => /^holdpoint_share_taken\{share="bodies"\} 0$/m.test((await call('GET', '/metrics')).body))
})

t.test('what is under way when the service closes is answered, and what is answered is kept', async (t) => {
  const { app, call, store } = await build(t, { config })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const body = large('act', 200_000)
  const rest = '}'
  const wires = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      await once(socket, 'connect')
      const head = `POST /confirm HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
      socket.write(head + body.slice(0, -1))
      return { socket, text: () => text }
    }),
  )
  const size = 5 * Buffer.byteLength(body)
  await until(async () =>
    (await call('GET', '/metrics')).body.includes(`holdpoint_share_taken{share="bodies"} ${size}\n`),
  )
  const closed = app.close()
  wires.forEach(({ socket }) => socket.write(rest))
  await until(() => wires.every(({ text }) => text() !== ''))
  wires.forEach(({ socket }) => socket.destroy())
  await closed
  t.same(
    wires.map(({ text }) => text().slice(9, 12)),
    ['202', '202', '202', '202', '202'],
  )
  for (const { text } of wires) {
    const id = /"id":"([^"]+)"/.exec(text())![1]!
    t.ok(await store.confirmations.get(id))
  }
})

t.test('a large body that is cut off, too large or holds too many values is refused', async (t) => {
  const { call } = await build(t, { config })
  const many = JSON.stringify(submission({ details: { list: Array.from({ length: 20_000 }, () => 1) } }))
  t.match(await call('POST', '/confirm', many), { status: 400, body: { error: /more than 10000 values/ } })
  t.match(await call('POST', '/confirm', large('a').slice(0, -1)), { status: 400, body: { code: 'not_json' } })
  t.match(await call('POST', '/confirm', large('a', 3_000_000)), { status: 413, body: { code: 'body_too_large' } })
})

t.test('large bodies of other routes are read as small ones', async (t) => {
  const { call } = await build(t, { config })
  const items = Array.from({ length: 60 }, (_, i) =>
    submission({ details: { text: 'x'.repeat(1000) }, action: `a${i}` }),
  )
  const { body } = await call('POST', '/confirm/batch', { items })
  t.same(new Set((body.results as { status_code: number }[]).map((one) => one.status_code)), new Set([202]))
  const ids = (body.results as { body: { id: string } }[]).map((one) => one.body.id)
  const decisions = ids.map((id) => ({ id, verdict: 'deny', reason: 'r'.repeat(1000) }))
  const decided = await call('POST', '/decisions', { decisions })
  t.same(new Set((decided.body.results as { status_code: number }[]).map((one) => one.status_code)), new Set([200]))
  const grant = { action: 'act', details: { text: 'x'.repeat(100_000) } }
  t.match(await call('POST', '/whitelist', grant), { body: { code: 'details_too_long' } })
})
