// Many at once: each is judged by itself and answered as if it had come alone, and a batch of submissions is one commit.
import t, { type Test } from 'tap'
import { type Change, isCommitted, type Store, StoreUnavailable } from '../../src/store/store.js'
import { untilStates, withTelegram } from '../notify/chats.js'
import { anyone } from '../actors.js'
import { type Answer, type Built, build, type BuildOptions, counter, settled, interleaving } from '../support.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const item = (fields: Record<string, unknown> = {}) => ({ action: 'send_mail', description: 'Send it', ...fields })
const items = (count: number, fields: (index: number) => Record<string, unknown> = () => ({})) =>
  Array.from({ length: count }, (_, index) => item(fields(index)))

const submitAll = ({ call }: Built, all: unknown[], headers?: Record<string, string>) =>
  call('POST', '/confirm/batch', { items: all }, headers)
const decideAll = ({ call }: Built, decisions: unknown[], more: Record<string, unknown> = {}) =>
  call('POST', '/decisions', { decisions, ...more })

const codes = ({ body }: Answer) => body.results.map((one: { status_code: number }) => one.status_code)
const ids = ({ body }: Answer) => body.results.map((one: { body: { id?: string } }) => one.body.id)
const count = async ({ events }: Built, type: string) => (await events()).filter((one) => one.type === type).length
const metric = async ({ call }: Built, name: string) => {
  const lines = String((await call('GET', '/metrics')).body).split('\n')
  return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1])
}

/** A store whose commits are noted, and fail if the test says so. */
function watched() {
  const seen: Change[] = []
  const control = { isBroken: (_change: Change): boolean => false }
  const wrapStore = (store: Store): Store => ({
    ...store,
    async commit(change) {
      if (control.isBroken(change)) throw new StoreUnavailable('disk full')
      const outcome = await store.commit(change)
      if (isCommitted(outcome)) seen.push(change)
      return outcome
    },
  })
  return { seen, control, wrapStore }
}

// -- POST /confirm/batch -----------------------------------------------------------------------------------------------

const callbacks = { callbackSecret: [secret], callbackAllow: ['127.0.0.1:9'] }

/** Something of everything that can become of a submission. */
const mixture: unknown[] = [
  item({ details: { a: 1 }, idempotency_key: 'k1' }),
  item({ action: 'ping' }),
  item({ description: '' }),
  item({ requester: 'second' }),
  item({ requester: 'third' }),
  item({ details: { a: 1 }, idempotency_key: 'k1' }),
  item({ details: { a: 2 }, idempotency_key: 'k1' }),
  item({ action: 'ping' }),
  item({ action: 'deploy_production' }),
  item({ action: 'other', timeout_seconds: 'soon' }),
  item({ action: 'other', callback_url: 'http://10.0.0.1/' }),
  item({ action: 'other', callback_url: 'http://127.0.0.1:9/' }),
  item({ action: 'other', requester: 'system:timeout' }),
  item({ action: 'other', idempotency_key: 'a b' }),
  item({ action: 'other', idempotency_key: 5 }),
  item({ action: 'ping' }),
  item({ details: [] }),
  {},
]
const mixtureCodes = [202, 200, 400, 202, 429, 202, 422, 200, 202, 202, 400, 202, 400, 400, 400, 202, 400, 400]

async function withGrant(t: Test, options: BuildOptions = {}): Promise<Built> {
  const built = await build(t, { ...options, config: { ...callbacks, rateLimit: 2, ...options.config } })
  await built.call('POST', '/whitelist', { action: 'ping', max_uses: 2 })
  return built
}

t.test('each gets the answer it would have had alone, in the order of the request, out of one commit', async (t) => {
  const { seen, wrapStore } = watched()
  const [together, alone] = [await withGrant(t, { wrapStore }), await withGrant(t)]
  seen.length = 0
  const answer = await submitAll(together, mixture)
  t.equal(answer.status, 200)
  t.equal(answer.body.count, mixture.length)
  t.same(codes(answer), mixtureCodes)
  const beside = ['notify_failed', 'rate_limited']
  t.equal(seen.filter(({ events }) => !beside.includes(events[0].type)).length, 1)
  for (const [index, one] of mixture.entries()) {
    const { idempotency_key: key, ...fields } = one as Record<string, unknown>
    const header = typeof key === 'string' ? { 'idempotency-key': key } : {}
    if (key !== undefined && typeof key !== 'string') continue
    const { status, body } = await alone.call('POST', '/confirm', fields, header as Record<string, string>)
    const result = answer.body.results[index]
    t.equal(status, result.status_code, `item ${index}`)
    if (key === 'a b') continue
    t.same({ ...result.body, request_id: '' }, { ...body, request_id: '' }, `item ${index}`)
  }
  const history = async (built: Built) =>
    (await built.events())
      .filter(({ type }) => type !== 'notify_failed')
      // What is refused is recorded after the rest, within a budget.
      .toSorted((a, b) => Number(a.type === 'rate_limited') - Number(b.type === 'rate_limited'))
      .map(({ type, actor, confirmation_id, data }) => ({ type, actor, confirmation_id, data }))
  t.same(await history(together), await history(alone))
  t.same((await together.call('GET', '/whitelist')).body, (await alone.call('GET', '/whitelist')).body)
})

t.test('what is counted is the same for many at once as for one after the other', async (t) => {
  const built = await withGrant(t)
  await submitAll(built, mixture)
  const submissions = (outcome: string) => metric(built, `holdpoint_submissions_total{outcome="${outcome}"}`)
  t.equal(await submissions('auto_approved'), 2)
  t.equal(await submissions('pending'), mixtureCodes.filter((code) => code === 202).length - 1, 'but for the replay')
  t.equal(await submissions('rate_limited'), 1)
  t.equal(await metric(built, 'holdpoint_limiter_refusals_total{limiter="action"}'), 1)
})

t.test('a hundred are taken, each with its own record, notice and events', async (t) => {
  const { seen, wrapStore } = watched()
  const built = await build(t, { wrapStore, config: { rateLimit: 100 } })
  const answer = await submitAll(
    built,
    items(100, (n) => ({ details: { n } })),
  )
  t.equal(new Set(ids(answer)).size, 100)
  t.same(new Set(codes(answer)), new Set([202]))
  t.equal(seen.length, 1)
  t.equal((await built.call('GET', '/health')).body.pending_count, 100)
  for (const [n, id] of ids(answer).entries()) {
    if (n % 20 === 0) t.match((await built.call('GET', `/confirm/${id}`)).body, { details: { n }, status: 'pending' })
  }
  t.equal(await count(built, 'submitted'), 100)
  t.equal(await count(built, 'notified'), 100)
  t.equal(built.logged.filter(({ msg }) => /confirmation needed/.test(String(msg))).length, 100)
  t.equal((await built.submit()).status, 429, 'a hundred slots are taken')
})

t.test('each is announced in the chat, by one message', async (t) => {
  const built = await withTelegram(t)
  const answer = await submitAll(built, items(8))
  for (const id of ids(answer)) await untilStates(built, { telegram: 'sent' }, id)
  await settled()
  t.equal(built.telegram.messages.length, 8)
})

t.test('a batch of nothing but mistakes writes nothing', async (t) => {
  const { seen, wrapStore } = watched()
  const built = await build(t, { wrapStore })
  const answer = await submitAll(built, [{}, null, 5, 'x', [], [item()], item({ action: 5 }), true])
  t.same(codes(answer), Array(8).fill(400))
  for (const { body } of answer.body.results) t.match(body, { status: 400, error: String, code: String })
  t.same(seen, [])
  t.same(await built.events(), [])
})

t.test('the limit counts within the batch, by action, and a refusal takes no slot', async (t) => {
  const built = await build(t, { config: { rateLimit: 3, rateWindow: 60 } })
  await built.submit()
  const all = items(6, (n) => ({ action: n % 2 === 0 ? 'send_mail' : 'other' }))
  t.same(codes(await submitAll(built, all)), [202, 202, 202, 202, 429, 202])
  const { body } = (await submitAll(built, [item()])).body.results[0]
  t.match(body, { code: 'rate_limited', remaining: 0, window_seconds: 60, retry_after_seconds: 60 })
  t.equal(await count(built, 'rate_limited'), 2)
  await built.clock.advance(60_000)
  t.same(codes(await submitAll(built, items(4))), [202, 202, 202, 429])
})

t.test('a grant is used as often as it may be, within a batch and by batches at once', async (t) => {
  const built = await build(t, { config: { rateLimit: 1000 } })
  await built.call('POST', '/whitelist', { action: 'send_mail', max_uses: 3 })
  t.same(codes(await submitAll(built, items(5))), [200, 200, 200, 202, 202])
  await built.call('POST', '/whitelist', { action: 'other', max_uses: 25 })
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      submitAll(
        built,
        items(10, () => ({ action: 'other' })),
      ),
    ),
  )
  t.equal(answers.flatMap(codes).filter((code) => code === 200).length, 25)
  t.equal(await count(built, 'auto_approved'), 28)
  t.equal((await built.call('GET', '/health')).body.pending_count, 2 + 35)
})

t.test('the narrower grant is used first, then the wider one, then a person is asked', async (t) => {
  const built = await build(t)
  const wide = (await built.call('POST', '/whitelist', { action: 'send_mail', max_uses: 1 })).body.id
  const narrow = (await built.call('POST', '/whitelist', { action: 'send_mail', session_key: 's1', max_uses: 1 })).body
    .id
  const answer = await submitAll(
    built,
    items(3, () => ({ session_key: 's1' })),
  )
  t.same(
    answer.body.results.map((one: any) => one.body.resolved_by),
    [`whitelist:${narrow}`, `whitelist:${wide}`, undefined],
  )
})

t.test('a grant that is revoked while a batch is on its way covers nothing of it', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await build(t, { wrapStore, config: { rateLimit: 3 } })
  const { id } = (await built.call('POST', '/whitelist', { action: 'ping' })).body
  interfere(() => built.service.revoke(id, anyone('bob'), null, 'http'))
  const answer = await submitAll(built, [item(), item({ action: 'ping' }), item()])
  t.same(codes(answer), [202, 202, 202])
  t.equal(await count(built, 'auto_approved'), 0)
  t.equal(await count(built, 'submitted'), 3)
  t.same(codes(await submitAll(built, items(2))), [202, 429], 'what the lost round took was given back')
})

// -- keys ----------------------------------------------------------------------------------------------------------------

t.test('the same key twice in one batch is one submission', async (t) => {
  const built = await build(t, { config: { rateLimit: 2 } })
  const keyed = (fields = {}) => item({ idempotency_key: 'k', ...fields })
  const answer = await submitAll(built, [
    keyed(),
    keyed(),
    keyed({ details: { x: 1 } }),
    keyed({ requester: 'other' }),
    keyed(),
  ])
  t.same(codes(answer), [202, 202, 422, 202, 202])
  const [first, second, third, fourth, fifth] = answer.body.results.map((one: any) => one.body)
  t.same(second, first)
  t.same(fifth, first)
  t.match(third, { code: 'key_reused', id: first.id })
  t.not(fourth.id, first.id)
  t.equal(await count(built, 'submitted'), 2)
  t.same(codes(await submitAll(built, [keyed()])), [202])
})

t.test('the same key twice uses a grant once', async (t) => {
  const built = await build(t)
  await built.call('POST', '/whitelist', { action: 'send_mail', max_uses: 2 })
  const keyed = item({ idempotency_key: 'k' })
  t.same(codes(await submitAll(built, [keyed, keyed, item(), item()])), [200, 200, 200, 202])
})

t.test('a key in an item is the key of a header', async (t) => {
  const built = await build(t)
  const alone = await built.submit({}, { 'idempotency-key': 'k' })
  const together = await submitAll(built, [item({ description: 'Send the newsletter', idempotency_key: 'k' })])
  t.same(together.body.results[0].body, alone.body)
  await submitAll(built, [item({ idempotency_key: 'k2' })])
  t.equal((await built.submit({ description: 'Send it' }, { 'idempotency-key': 'k2' })).body.id, 'id-0002')
  t.equal(await count(built, 'submitted'), 2)
})

t.test('a batch that is sent again with its key gets its first answers, and creates nothing', async (t) => {
  const { seen, wrapStore } = watched()
  const first = await withGrant(t, { wrapStore })
  const key = { 'idempotency-key': 'batch-1' }
  const all = [item(), item({ action: 'ping' }), item({ description: '' }), item()]
  const answer = await submitAll(first, all, key)
  t.same(codes(answer), [202, 200, 400, 202])
  const before = seen.length
  const answers = async (built: Built, of = all) =>
    (await submitAll(built, of, key)).body.results.map((one: any) => ({ ...one.body, request_id: '' }))
  const wanted = answer.body.results.map((one: any) => ({ ...one.body, request_id: '' }))
  t.same(await answers(first), wanted)
  await first.clock.advance(60_000)
  t.same(await answers(first), wanted)
  t.equal(seen.length, before)
  await first.stop()
  const second = await build(t, { dbPath: first.dbPath, clock: first.clock, newId: counter('late') })
  t.same(await answers(second), wanted)
  t.equal(await count(second, 'submitted'), 3)
  const changed = await submitAll(second, [item(), item({ action: 'ping', details: { x: 1 } })], key)
  t.same(codes(changed), [202, 422])
  t.equal(await count(second, 'submitted'), 3)
})

t.test('what a batch was refused is judged anew when it is sent again', async (t) => {
  const built = await build(t, { config: { rateLimit: 2, rateWindow: 60 } })
  const key = { 'idempotency-key': '"batch-1"' }
  const first = await submitAll(built, items(3), key)
  t.same(codes(first), [202, 202, 429])
  await built.clock.advance(60_000)
  const second = await submitAll(built, items(3), { 'idempotency-key': 'batch-1' })
  t.same(codes(second), [202, 202, 202])
  t.same(ids(second).slice(0, 2), ids(first).slice(0, 2))
  t.equal(await count(built, 'submitted'), 3)
})

t.test("an item's own key goes before the key of its batch, and neither is taken for the other", async (t) => {
  const built = await build(t)
  const key = { 'idempotency-key': 'k' }
  const first = await submitAll(built, [item(), item({ idempotency_key: 'own' })], key)
  t.equal((await built.submit({ description: 'Send it' }, key)).body.id, 'id-0003')
  t.same(ids(await submitAll(built, [item({ idempotency_key: 'own' })])), [ids(first)[1]])
  t.same(codes(await submitAll(built, [item({ idempotency_key: 'k 0' })])), [400])
  t.same(codes(await submitAll(built, [item({ idempotency_key: '' })])), [400])
  t.same(codes(await submitAll(built, [item({ idempotency_key: 'x'.repeat(256) })])), [400])
  t.same(codes(await submitAll(built, [item({ idempotency_key: null })])), [400])
})

t.test('a malformed key of a batch is refused as a whole', async (t) => {
  const built = await build(t)
  for (const key of ['', 'a b', 'x'.repeat(256), '""']) {
    const { status, body } = await submitAll(built, [item()], { 'idempotency-key': key })
    t.equal(status, 400)
    t.match(body.error, /Idempotency-Key/)
  }
  t.same(await built.events(), [])
  t.same(codes(await submitAll(built, items(2), { 'idempotency-key': 'x'.repeat(255) })), [202, 202])
})

t.test('many batches at once with the same keys, in any order, create each once and block nobody', async (t) => {
  const built = await build(t, { config: { rateLimit: 5 } })
  const keyed = items(5, (n) => ({ details: { n }, idempotency_key: `k${n}` }))
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, (_, index) => submitAll(built, index % 2 === 0 ? keyed : [...keyed].reverse())),
    ...keyed.map(({ idempotency_key, ...fields }: any) => built.submit(fields, { 'idempotency-key': idempotency_key })),
  ])
  for (const answer of answers.slice(0, 10)) t.same(codes(answer), Array(5).fill(202))
  for (const { status } of answers.slice(10)) t.equal(status, 202)
  t.equal(await count(built, 'submitted'), 5)
})

// -- storage -------------------------------------------------------------------------------------------------------------

t.test('a batch that could not be stored leaves nothing: no slot taken, no key, no use', async (t) => {
  const { control, wrapStore } = watched()
  const built = await withGrant(t, { wrapStore })
  const all = [item({ idempotency_key: 'k' }), item({ action: 'ping' }), item(), item({ description: '' })]
  control.isBroken = () => true
  for (let i = 0; i < 3; i++) {
    const { status, body } = await submitAll(built, all, { 'idempotency-key': 'batch' })
    t.equal(status, 503)
    t.match(body, { code: 'storage_unavailable', error: /nothing was changed/ })
  }
  control.isBroken = () => false
  t.equal(await built.store.idempotency.get(anyone('agent'), 'k'), undefined)
  t.equal(await built.store.idempotency.get(anyone('agent'), 'batch 0'), undefined)
  t.equal((await built.call('GET', '/whitelist')).body.entries[0].uses, 0)
  t.equal(await count(built, 'submitted'), 0)
  t.same(codes(await submitAll(built, all, { 'idempotency-key': 'batch' })), [202, 200, 202, 400])
  t.same(codes(await submitAll(built, [item(), item({ action: 'ping' })])), [429, 200])
})

t.test('a database that fails in the middle of reading costs no slot either', async (t) => {
  let reads = 0
  const wrapStore = (store: Store): Store => ({
    ...store,
    grants: {
      ...store.grants,
      mayCover: () => true,
      covering: (...args) =>
        (reads += 1) === 3 ? Promise.reject(new StoreUnavailable('gone')) : store.grants.covering(...args),
    },
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 4 } })
  t.equal((await submitAll(built, items(4))).status, 503)
  t.same(await built.events(), [])
  t.same(codes(await submitAll(built, items(5))), [202, 202, 202, 202, 429])
})

t.test('a batch that loses every race is answered 503 and keeps nothing', async (t) => {
  let contended = true
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (contended ? Promise.resolve('conflict' as const) : store.commit(change)),
  })
  const built = await build(t, { wrapStore, config: { rateLimit: 2 } })
  const { status, body } = await submitAll(built, items(2))
  t.equal(status, 503)
  t.equal(body.code, 'contended')
  contended = false
  t.same(codes(await submitAll(built, items(3))), [202, 202, 429])
})

// -- what makes no sense -------------------------------------------------------------------------------------------------

const malformed: [name: string, url: string, body: string, error: RegExp][] = [
  ['no items', '/confirm/batch', '{"items":[]}', /^Field 'items' must be a list of 1 to 100$/],
  [
    'too many items',
    '/confirm/batch',
    JSON.stringify({ items: items(101) }),
    /^Field 'items' must be a list of 1 to 100$/,
  ],
  ['no list', '/confirm/batch', '{"items":{"0":{}}}', /^Field 'items' must be a list of 1 to 100$/],
  ['a text', '/confirm/batch', '{"items":"x"}', /^Field 'items' must be a list of 1 to 100$/],
  ['null', '/confirm/batch', '{"items":null}', /^Field 'items' must be a list of 1 to 100$/],
  ['no field', '/confirm/batch', '{}', /^Field 'items' must be a list of 1 to 100$/],
  ['a bare list', '/confirm/batch', '[{"action":"a","description":"b"}]', /JSON object/],
  ['nothing', '/confirm/batch', '', /JSON object/],
  ['broken JSON', '/confirm/batch', '{"items":[', /JSON object/],
  ['a prototype key', '/confirm/batch', '{"items":[{"__proto__":{}}]}', /must not hold the keys/],
  ['no decisions', '/decisions', '{"decisions":[]}', /^Field 'decisions' must be a list of 1 to 100$/],
  [
    'too many decisions',
    '/decisions',
    JSON.stringify({ decisions: Array(101).fill({ id: 'id-0001', verdict: 'approve' }) }),
    /^Field 'decisions' must be a list of 1 to 100$/,
  ],
  ['no list', '/decisions', '{"decisions":{"id":"id-0001","verdict":"approve"}}', /must be a list of 1 to 100/],
  ['no field', '/decisions', '{}', /must be a list of 1 to 100/],
  ['nothing', '/decisions', '', /JSON object/],
  ['a bare list', '/decisions', '[{"id":"id-0001","verdict":"approve"}]', /JSON object/],
  ['broken JSON', '/decisions', '{"decisions":', /JSON object/],
  ...['system:timeout', 'whitelist:1', ' System:outbox', 'ｓystem：timeout', '\u200bsystem:x'].map(
    (name): [string, string, string, RegExp] => [
      `the name ${name}`,
      '/decisions',
      JSON.stringify({ decisions: [{ id: 'id-0001', verdict: 'approve' }], decided_by: name }),
      /the service's own/,
    ],
  ),
  [
    'a number as name',
    '/decisions',
    '{"decisions":[{"id":"id-0001","verdict":"deny"}],"decided_by":5}',
    /must be a string/,
  ],
  [
    'an endless name',
    '/decisions',
    `{"decisions":[{"id":"id-0001","verdict":"deny"}],"decided_by":"${'x'.repeat(1001)}"}`,
    /at most 1000/,
  ],
]
t.test('what is malformed as a whole is refused as a whole and changes nothing', async (t) => {
  const built = await build(t)
  await built.submit()
  const before = await built.events()
  for (const [name, url, body, error] of malformed) {
    const answer = await built.call('POST', url, body)
    t.equal(answer.status, 400, `${url}: ${name}`)
    t.match(answer.body.error, error)
  }
  t.same(await built.events(), before)
  t.equal((await built.call('GET', '/confirm/id-0001')).body.status, 'pending')
})

t.test('a batch is no confirmation', async (t) => {
  const { call } = await build(t)
  t.equal((await call('GET', '/confirm/batch')).status, 404)
  t.equal((await call('GET', '/decisions')).status, 405)
  t.equal((await call('POST', '/confirm/batch/approve')).status, 404)
})

// -- POST /decisions -----------------------------------------------------------------------------------------------------

t.test('each decision gets the answer it would have had alone, in the order of the request', async (t) => {
  const built = await build(t)
  for (let i = 0; i < 5; i++) await built.submit({ timeout_seconds: i === 4 ? 30 : 300 })
  await built.call('POST', '/confirm/id-0003/deny', { denier: 'early' })
  await built.clock.advance(30_000)
  const answer = await decideAll(
    built,
    [
      { id: 'id-0001', verdict: 'approve' },
      { id: 'id-0002', verdict: 'deny', reason: 'not on a Friday' },
      { id: 'id-0003', verdict: 'approve' },
      { id: 'nope', verdict: 'approve' },
      { id: 'id-0004', verdict: 'maybe' },
      { id: 'id-0005', verdict: 'approve' },
      { verdict: 'approve' },
      { id: 5, verdict: 'approve' },
      { id: 'id-0004' },
      { id: 'id-0004', verdict: 'approve', reason: 5 },
      { id: 'id-0004', verdict: 'deny', reason: 'x'.repeat(10_001) },
      { id: 'id-0004', verdict: 'deny', reason: '\u0000' },
      null,
      'id-0004',
      ['id-0004', 'approve'],
    ],
    { decided_by: ' alice ' },
  )
  t.equal(answer.status, 200)
  t.same(codes(answer), [200, 200, 409, 404, 400, 409, 400, 400, 400, 400, 400, 400, 400, 400, 400])
  t.equal(answer.body.count, 15)
  t.match(answer.body.results.slice(0, 6), [
    { id: 'id-0001', body: { id: 'id-0001', status: 'approved', resolved_by: 'alice', action: 'send_mail' } },
    { id: 'id-0002', body: { status: 'denied', resolved_by: 'alice', reason: 'not on a Friday' } },
    { id: 'id-0003', body: { code: 'already_resolved', status: 'denied', resolved_by: 'early' } },
    { id: 'nope', body: { code: 'not_found', status: 404, error: /nope/ } },
    { body: { code: 'invalid_request', error: "Field 'verdict' must be 'approve' or 'deny'" } },
    { id: 'id-0005', body: { code: 'already_resolved', status: 'expired' } },
  ])
  t.match((await built.call('GET', '/confirm/id-0001')).body, { status: 'approved', execution: 'unclaimed' })
  t.equal((await built.call('GET', '/confirm/id-0002')).body.reason, 'not on a Friday')
  t.equal((await built.call('GET', '/confirm/id-0004')).body.status, 'pending')
  const decided = (await built.events()).filter(({ actor }) => actor === 'alice')
  t.same(decided.map(({ type }) => type).sort(), ['approved', 'denied'])
})

t.test('of two verdicts on one the first stands', async (t) => {
  const built = await build(t)
  await built.submit()
  await built.submit()
  const answer = await decideAll(built, [
    { id: 'id-0001', verdict: 'deny' },
    { id: 'id-0001', verdict: 'approve' },
    { id: 'id-0002', verdict: 'approve' },
    { id: 'id-0002', verdict: 'approve' },
  ])
  t.same(codes(answer), [200, 409, 200, 409])
  t.equal(answer.body.results[1].body.status, 'denied')
  t.equal((await built.call('GET', '/confirm/id-0001')).body.status, 'denied')
  t.equal((await count(built, 'approved')) + (await count(built, 'denied')), 2)
})

t.test('a hundred are decided at once, and a hundred verdicts on one decide it once', async (t) => {
  const built = await build(t, { config: { rateLimit: 1000 } })
  const held = ids(await submitAll(built, items(100)))
  const verdict = (n: number) => (n % 2 === 0 ? 'approve' : 'deny')
  const answer = await decideAll(
    built,
    held.map((id: string, n: number) => ({ id, verdict: verdict(n) })),
  )
  t.same(codes(answer), Array(100).fill(200))
  t.same(
    answer.body.results.map((one: any) => one.id),
    held,
  )
  t.same(
    answer.body.results.map((one: any) => one.body.status),
    held.map((_: string, n: number) => (n % 2 === 0 ? 'approved' : 'denied')),
  )
  t.equal((await built.call('GET', '/health')).body.pending_count, 0)
  const { id } = (await built.submit()).body
  const crowd = await decideAll(
    built,
    Array.from({ length: 100 }, (_, n) => ({ id, verdict: verdict(n) })),
  )
  t.equal(codes(crowd).filter((code: number) => code === 200).length, 1)
  t.equal(codes(crowd).filter((code: number) => code === 409).length, 99)
})

t.test('without a name it is "api", and a blank reason is none', async (t) => {
  const built = await build(t)
  for (const decided_by of [undefined, '', '  ']) {
    const { id } = (await built.submit()).body
    const answer = await decideAll(built, [{ id, verdict: 'deny', reason: ' ' }], { decided_by })
    t.match(answer.body.results, [{ id, status_code: 200, body: { resolved_by: 'api' } }])
    t.notOk('reason' in answer.body.results[0].body)
  }
})

t.test('an id that is hostile finds nothing', async (t) => {
  const built = await build(t)
  const hostile = [
    '',
    '\u0000',
    '\u00000',
    '\ud800',
    "'; DROP TABLE confirmations; --",
    '__proto__',
    'x'.repeat(10_000),
  ]
  const answer = await decideAll(
    built,
    hostile.map((id) => ({ id, verdict: 'approve' })),
  )
  t.same(
    codes(answer),
    hostile.map(() => 404),
  )
  t.same(
    answer.body.results.map((one: any) => one.id),
    hostile,
  )
})

t.test('when some decisions cannot be stored, the others stand and say so', async (t) => {
  const { control, wrapStore } = watched()
  const built = await build(t, { wrapStore })
  for (let i = 0; i < 3; i++) await built.submit()
  control.isBroken = ({ events }) => events[0].confirmationId === 'id-0002'
  const all = ['id-0001', 'id-0002', 'id-0003'].map((id) => ({ id, verdict: 'approve' }))
  const answer = await decideAll(built, all)
  t.equal(answer.status, 200)
  t.same(codes(answer), [200, 503, 200])
  t.match(answer.body.results[1], { id: 'id-0002', body: { code: 'storage_unavailable' } })
  t.notMatch(JSON.stringify(answer.body), /disk full/)
  t.equal((await built.call('GET', '/confirm/id-0002')).body.status, 'pending')
  control.isBroken = () => false
  t.same(codes(await decideAll(built, all)), [409, 200, 409])
})

t.test('when no decision can be stored, nothing is decided', async (t) => {
  const { control, wrapStore } = watched()
  const built = await build(t, { wrapStore })
  await built.submit()
  await built.submit()
  control.isBroken = () => true
  const all = ['id-0001', 'id-0002'].map((id) => ({ id, verdict: 'approve' }))
  t.match(await decideAll(built, all), { status: 503, body: { code: 'storage_unavailable' } })
  t.ok(built.logged.some(({ msg }) => msg === 'storage_unavailable'))
  control.isBroken = () => false
  t.same(codes(await decideAll(built, all)), [200, 200])
})
