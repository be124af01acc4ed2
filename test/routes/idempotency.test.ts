// Idempotency-Key: whoever asks again with the same key gets the first answer again, and nothing happens twice.
import t, { type Test } from 'tap'
import { type Change, type Store, StoreUnavailable } from '../../src/store/store.js'
import { deliveries, untilStates, withTelegram } from '../notify/chats.js'
import { anyone } from '../actors.js'
import { type Built, build, type BuildOptions, counter, settled, until } from '../support.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const payload = { action: 'send_mail', description: 'Send the newsletter' }

interface Sent {
  status: number
  /** The body as it came. */
  text: string
  body: any
  headers: Record<string, unknown>
}

/** Submits with this key; text is sent as it is. */
async function send({ app }: Built, key: string, body: object | string = payload, query = ''): Promise<Sent> {
  const {
    statusCode,
    body: text,
    headers,
  } = await app.inject({
    method: 'POST',
    url: `/confirm${query}`,
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: statusCode, text, body: JSON.parse(text), headers }
}

const isReplay = ({ headers }: Sent) => headers['idempotency-replayed'] === 'true'
const count = async ({ events }: Built, type: string) => (await events()).filter((one) => one.type === type).length
const state = async ({ call, events }: Built) => [(await call('GET', '/audit?limit=500')).body, await events()]

/** The first answer again, byte by byte. */
function replays(t: Test, again: Sent, first: Sent): void {
  t.equal(again.status, first.status)
  t.equal(again.text, first.text)
  t.equal(again.headers['content-type'], first.headers['content-type'])
  t.ok(isReplay(again))
}

const restart = (t: Test, { dbPath, clock }: Built, options: BuildOptions = {}) =>
  build(t, { dbPath, clock, newId: counter('late'), ...options })

t.test('the same again gets the first answer again, and happens once', async (t) => {
  const built = await build(t)
  const first = await send(built, 'key-1')
  t.equal(first.status, 202)
  t.notOk(isReplay(first))
  const before = await state(built)
  for (let i = 0; i < 3; i++) {
    await built.clock.advance(10_000)
    replays(t, await send(built, 'key-1'), first)
  }
  t.same(await state(built), before)
  t.equal(await count(built, 'submitted'), 1)
})

t.test("an answer without a key is nobody else's first answer", async (t) => {
  const built = await build(t)
  await built.submit()
  const keyed = await send(built, 'key-1')
  t.equal(keyed.body.id, 'id-0002')
  t.equal((await built.submit()).body.id, 'id-0003')
  t.notOk('idempotency-replayed' in (await built.submit()).headers)
})

t.test('another key is another submission', async (t) => {
  const built = await build(t)
  const keys = ['key-1', 'key-2', 'KEY-1', 'key-1x', 'ke']
  const ids = []
  for (const key of keys) ids.push((await send(built, key)).body.id)
  t.equal(new Set(ids).size, keys.length)
})

t.test('a key is the same in quotes, as the draft writes it, and without', async (t) => {
  const built = await build(t)
  const first = await send(built, '"8e03978e-40d5-43dd-bc93-6894a57f9324"')
  replays(t, await send(built, '8e03978e-40d5-43dd-bc93-6894a57f9324'), first)
  replays(t, await send(built, '"8e03978e-40d5-43dd-bc93-6894a57f9324"'), first)
})

t.test('what is written in another way is the same payload', async (t) => {
  const built = await build(t)
  const first = await send(built, 'key-1', { ...payload, details: { a: 1, b: { c: [1, 2], d: 'é' } } })
  for (const text of [
    '{"details":{"b":{"d":"é","c":[1,2]},"a":1},"description":"Send the newsletter","action":"send_mail"}',
    ' { "action" : "send_mail",\n"description":"Send the newsletter","details":{"a":1,"b":{"c":[1,2],"d":"é"}} }\n',
    '{"action":"send\\u005fmail","description":"Send the newsletter","details":{"a":1.0,"b":{"c":[1,2e0],"d":"\\u00e9"}}}',
    '{"action":" send_mail ","description":"Send the newsletter\\n","details":{"a":1,"b":{"c":[1,2],"d":"é"}}}',
    '{"action":"send_mail","description":"Send the newsletter","details":{"a":1,"b":{"c":[1,2],"d":"é"}},"requester":"agent",' +
      '"session_key":"","timeout_seconds":300}',
  ]) {
    replays(t, await send(built, 'key-1', text), first)
  }
})

const otherPayloads: [name: string, fields: Record<string, unknown>][] = [
  ['action', { action: 'send_mails' }],
  ['description', { description: 'Send something else' }],
  ['details', { details: { to: 'all' } }],
  ['session_key', { session_key: 's1' }],
  ['timeout_seconds', { timeout_seconds: 301 }],
  ['callback_url', { callback_url: 'http://127.0.0.1:9/' }],
]
t.test('another payload with the same key is refused and changes nothing', async (t) => {
  const built = await build(t, { config: { callbackSecret: [secret], callbackAllow: ['127.0.0.1'], rateLimit: 2 } })
  const first = await send(built, 'key-1')
  const before = await state(built)
  for (const [name, fields] of otherPayloads) {
    const { status, body, headers } = await send(built, 'key-1', { ...payload, ...fields })
    t.equal(status, 422, `another ${name}`)
    t.match(body, { code: 'key_reused', status: 422, error: /Idempotency-Key/, id: first.body.id })
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
    t.notOk('idempotency-replayed' in headers)
  }
  t.same(await state(built), before)
  replays(t, await send(built, 'key-1'), first)
  t.equal((await built.submit()).status, 202, 'no slot was taken')
  t.equal((await built.submit()).status, 429)
})

t.test('another requester is another caller, whatever the two names look like together', async (t) => {
  const built = await build(t)
  const [one, other] = [await send(built, 'key-1', { ...payload, requester: 'a' }), await send(built, 'key-1')]
  t.not(one.body.id, other.body.id)
  t.notOk(isReplay(other))
  t.equal((await send(built, 'key-1', { ...payload, requester: 'A' })).status, 202)
  replays(t, await send(built, 'key-1', { ...payload, requester: 'a' }), one)
  replays(t, await send(built, 'key-1'), other)
  const ids = [
    (await send(built, 'c', { ...payload, requester: 'a b' })).body.id,
    (await send(built, 'bc', { ...payload, requester: 'a' })).body.id,
    (await send(built, 'c', { ...payload, requester: 'ab' })).body.id,
    (await send(built, 'c', { ...payload, requester: '' })).body.id,
  ]
  t.equal(new Set(ids).size, ids.length)
})

t.test('of fifty at once one is held, announced and counted, and all get its answer', async (t) => {
  const built = await withTelegram(t)
  const answers = await Promise.all(Array.from({ length: 50 }, () => send(built, 'key-1')))
  t.same(new Set(answers.map(({ status }) => status)), new Set([202]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  t.equal(answers.filter(isReplay).length, 49)
  t.equal(await count(built, 'submitted'), 1)
  t.equal((await built.call('GET', '/audit')).body.count, 1)
  await untilStates(built, { telegram: 'sent' })
  await settled()
  t.equal(built.telegram.messages.length, 1)
  t.match(await deliveries(built), { telegram: { attempts: 1 } })
  const more = []
  for (let i = 0; i < 10; i++) more.push((await built.submit()).status)
  t.same(more, [...Array<number>(9).fill(202), 429], 'one slot of ten was taken')
})

t.test('of two payloads that come at once with one key, one is refused every time', async (t) => {
  const built = await build(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => send(built, 'key-1', { ...payload, details: { odd: index % 2 } })),
  )
  t.equal(answers.filter(({ status }) => status === 202).length, 10)
  t.equal(answers.filter(({ status }) => status === 422).length, 10)
  t.equal(await count(built, 'submitted'), 1)
})

t.test('whoever writes the key first elsewhere wins, and no slot is lost over it', async (t) => {
  let isFirst = true
  const elsewhere = ({ writes, events }: Change): Change => ({
    writes: writes.map((write) => {
      if (write.kind === 'confirmation') return { ...write, record: { ...write.record, id: 'other' } }
      if (write.kind === 'idempotency' || write.kind === 'delivery')
        return { ...write, record: { ...write.record, confirmationId: 'other' } } as typeof write
      return write
    }),
    events: events.map((event) => ({ ...event, confirmationId: 'other' })) as Change['events'],
  })
  const wrapStore = (store: Store): Store => ({
    ...store,
    async commit(change) {
      if (isFirst) await store.commit(elsewhere(change))
      isFirst = false
      return store.commit(change)
    },
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 1 } })
  const answer = await send(built, 'key-1')
  t.equal(answer.status, 202)
  t.equal(answer.body.id, 'other')
  t.ok(isReplay(answer))
  t.equal((await built.call('GET', '/audit')).body.count, 1)
  t.equal((await built.submit()).status, 202, 'what the loser took was given back')
})

t.test('an agent that crashed finds its confirmation after a restart, also a day later', async (t) => {
  const first = await build(t)
  const held = await send(first, 'key-1')
  const granted = { ...payload, action: 'ping' }
  await first.call('POST', '/whitelist', { action: 'ping' })
  const passed = await send(first, 'key-2', granted)
  await first.stop()
  const second = await restart(t, first)
  replays(t, await send(second, 'key-1'), held)
  replays(t, await send(second, 'key-2', granted), passed)
  t.equal((await send(second, 'key-1', { ...payload, details: { x: 1 } })).status, 422)
  await second.clock.advance(86_400_000)
  replays(t, await send(second, 'key-1'), held)
  t.equal((await second.call('GET', `/confirm/${held.body.id}`)).body.status, 'expired')
  t.equal(await count(second, 'submitted'), 2)
})

t.test('the first answer is given again even if the rules have changed since', async (t) => {
  const config = { callbackSecret: [secret], callbackAllow: ['127.0.0.1'] }
  const first = await build(t, { config })
  const body = { ...payload, callback_url: 'http://127.0.0.1:9/' }
  const held = await send(first, 'key-1', body)
  t.equal(held.status, 202)
  await first.stop()
  const second = await restart(t, first)
  t.equal((await send(second, 'key-2', body)).body.code, 'callback_refused')
  replays(t, await send(second, 'key-1', body), held)
})

t.test('a full window does not stand in the way of a first answer', async (t) => {
  const built = await build(t, { config: { rateLimit: 1 } })
  const first = await send(built, 'key-1')
  t.equal((await built.submit()).status, 429)
  replays(t, await send(built, 'key-1'), first)
})

t.test('once it is decided, the first answer comes without wait, and the record with it', async (t) => {
  for (const [verb, status] of [
    ['approve', 'approved'],
    ['deny', 'denied'],
    ['cancel', 'cancelled'],
  ] as const) {
    const built = await build(t)
    const first = await send(built, 'key-1')
    await built.call('POST', `/confirm/id-0001/${verb}`)
    replays(t, await send(built, 'key-1'), first)
    const waited = await send(built, 'key-1', payload, '?wait=1')
    t.equal(waited.status, 200)
    t.ok(isReplay(waited))
    t.match(waited.body, { id: 'id-0001', status, message: String })
    t.equal(await count(built, 'submitted'), 1)
  }
})

t.test('whoever waits with a key that is being waited for is answered together with the first', async (t) => {
  const built = await build(t)
  const waiting = Array.from({ length: 5 }, () => send(built, 'key-1', payload, '?wait=60'))
  await until(() => built.service.countListeners().one === 5)
  await built.call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  const answers = await Promise.all(waiting)
  for (const { status, body } of answers) {
    t.equal(status, 200)
    t.match(body, { id: 'id-0001', status: 'approved', resolved_by: 'alice' })
  }
  t.equal(answers.filter(isReplay).length, 4)
  t.equal(await count(built, 'submitted'), 1)
})

t.test('a wait that ends without an answer gives the first answer', async (t) => {
  const built = await build(t)
  const first = await send(built, 'key-1')
  const waiting = send(built, 'key-1', payload, '?wait=10')
  await until(() => built.service.countListeners().one === 1)
  await built.clock.advance(10_000)
  replays(t, await waiting, first)
})

t.test('what a grant let pass is not counted again', async (t) => {
  const built = await build(t)
  await built.call('POST', '/whitelist', { action: 'send_mail', max_uses: 2 })
  const first = await send(built, 'key-1')
  t.equal(first.status, 200)
  t.equal(first.body.status, 'auto_approved')
  for (let i = 0; i < 3; i++) replays(t, await send(built, 'key-1'), first)
  t.equal((await built.call('GET', '/whitelist')).body.entries[0].uses, 1)
  t.equal(await count(built, 'auto_approved'), 1)
  t.equal((await send(built, 'key-2')).status, 200)
  t.equal((await send(built, 'key-3')).status, 202, 'used up')
  replays(t, await send(built, 'key-1'), first)
})

t.test('of fifty at once one is covered by the grant', async (t) => {
  const built = await build(t)
  await built.call('POST', '/whitelist', { action: 'send_mail', max_uses: 3 })
  const answers = await Promise.all(Array.from({ length: 50 }, () => send(built, 'key-1')))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  t.equal(answers[0]!.status, 200)
  t.equal((await built.call('GET', '/whitelist')).body.entries[0].uses, 1)
})

t.test('what a grant let pass has the same answer whatever was done with it since', async (t) => {
  const config = { callbackSecret: [secret], callbackAllow: ['127.0.0.1'] }
  const built = await build(t, { config })
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const body = { ...payload, callback_url: 'http://127.0.0.1:9/' }
  const first = await send(built, 'key-1')
  const called = await send(built, 'key-2', body)
  await built.call('POST', `/confirm/${first.body.id}/claim`)
  await untilStates(built, { callback: 'retrying' }, called.body.id)
  replays(t, await send(built, 'key-1'), first)
  replays(t, await send(built, 'key-2', body), called)
  t.equal((await send(built, 'key-1', payload, '?wait=1')).body.execution, 'claimed', 'but for whoever waits')
  await built.clock.advance(900_000)
  replays(t, await send(built, 'key-1'), first)
  replays(t, await send(built, 'key-2', body), called)
})

t.test('what was held before a grant came stays held', async (t) => {
  const built = await build(t)
  const first = await send(built, 'key-1')
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  replays(t, await send(built, 'key-1'), first)
})

t.test('a refusal is not remembered', async (t) => {
  const built = await build(t, { config: { rateLimit: 1, rateWindow: 60 } })
  await built.submit()
  t.equal((await send(built, 'key-1')).status, 429)
  t.equal((await send(built, 'key-1')).status, 429)
  t.equal((await send(built, 'key-2', { ...payload, description: '' })).status, 400)
  t.equal((await send(built, 'key-3', { ...payload, callback_url: 'http://10.0.0.1/' })).status, 400)
  await built.clock.advance(60_000)
  const held = await send(built, 'key-1')
  t.equal(held.status, 202)
  t.notOk(isReplay(held))
  await built.clock.advance(60_000)
  t.equal((await send(built, 'key-2')).status, 202)
  await built.clock.advance(60_000)
  t.equal((await send(built, 'key-3')).status, 202)
})

t.test('a key that could not be stored is not left behind, nor its slot taken', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 1 } })
  broken = true
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(built, 'key-1')))
  for (const { status, body } of answers) {
    t.equal(status, 503)
    t.equal(body.code, 'storage_unavailable')
  }
  broken = false
  t.equal(await built.store.idempotency.get(anyone('agent'), 'key-1'), undefined)
  const held = await send(built, 'key-1', { ...payload, details: { other: 'payload' } })
  t.equal(held.status, 202)
  t.notOk(isReplay(held))
  t.equal(await count(built, 'submitted'), 1)
  t.equal((await built.submit()).status, 429)
})

t.test('one that loses every race leaves no key behind', async (t) => {
  let contended = true
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (contended ? Promise.resolve('conflict' as const) : store.commit(change)),
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 1 } })
  t.equal((await send(built, 'key-1')).body.code, 'contended')
  contended = false
  const held = await send(built, 'key-1')
  t.equal(held.status, 202)
  t.notOk(isReplay(held))
})

t.test('a store that cannot be read hands out nothing twice', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    idempotency: {
      get: (...args) => (broken ? Promise.reject(new StoreUnavailable('gone')) : store.idempotency.get(...args)),
    },
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 1 } })
  broken = true
  t.equal((await send(built, 'key-1')).status, 503)
  broken = false
  const first = await send(built, 'key-1')
  t.equal(first.status, 202)
  broken = true
  t.equal((await send(built, 'key-1')).status, 503)
  broken = false
  replays(t, await send(built, 'key-1'), first)
})

const badKeys: [name: string, key: string][] = [
  ['an empty key', ''],
  ['a blank key', '   '],
  ['empty quotes', '""'],
  ['a key with a space', 'a b'],
  ['quotes with a space', '"a b"'],
  ['a long key', 'x'.repeat(256)],
  ['a key with a tab', 'a\tb'],
  ['a key beyond ASCII', 'schlüssel'],
  ['a key with a control character', 'a\u0001'],
  ['a key with a null character', 'a\u0000b'],
  ['two keys', 'a, b'],
]
t.test('a malformed key is refused with a clear sentence and changes nothing', async (t) => {
  const built = await build(t)
  for (const [name, key] of badKeys) {
    const { status, body } = await send(built, key)
    t.equal(status, 400, name)
    t.equal(body.code, 'invalid_request')
    t.match(body.error, /^Header 'Idempotency-Key' must be 1 to 255 visible ASCII characters$/)
  }
  t.same(await built.events(), [])
})

t.test('a key may be as long as 255 characters, in quotes or not, and hold what is visible', async (t) => {
  const built = await build(t)
  const long = await send(built, 'x'.repeat(255))
  replays(t, await send(built, `"${'x'.repeat(255)}"`), long)
  for (const key of ['!', '~', "a/b?c=d&e'f;g\\h", '"', '{"a":1}', '__proto__', 'constructor']) {
    const first = await send(built, key)
    t.equal(first.status, 202, key)
    t.notOk(isReplay(first))
    replays(t, await send(built, key), first)
  }
})
