// What the digest binds is what is claimed; and an act whose answer was lost is not lost.
import Database from '../../src/store/sqlite/driver.js'
import t, { type Test } from 'tap'
import { highRiskActions } from '../../src/policy/risk.js'
import {
  type Built,
  build,
  type BuildOptions,
  type CallAs,
  counter,
  giveKeys,
  interleaving,
  manualClock,
  t0,
} from '../support.js'

const url = (verb: string, id = 'id-0001') => `/confirm/${id}/${verb}`
const act = async (
  { app }: Pick<Built, 'app'>,
  verb: 'claim' | 'report',
  key: string | null,
  body?: object,
  { id, bearer }: { id?: string; bearer?: string } = {},
) => {
  const response = await app.inject({
    method: 'POST',
    url: url(verb, id),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })
  const { statusCode: status, body: text, headers } = response
  return { status, text, body: response.json(), isReplay: headers['idempotency-replayed'] === 'true' }
}
const types = async ({ events }: Built) => (await events()).map(({ type }) => type)
const count = async (built: Built, type: string) => (await types(built)).filter((one) => one === type).length
const done = { outcome: 'succeeded', message: '1200 sent' }

async function approved(t: Test, fields: Record<string, unknown> = {}, options: BuildOptions = {}): Promise<Built> {
  const built = await build(t, options)
  await built.submit(fields)
  await built.call('POST', url('approve'))
  return built
}

// -- the digest is required ------------------------------------------------------------------------------------------------

t.test('a high-risk action is never claimed without its digest, in whatever spelling', async (t) => {
  const built = await build(t)
  for (const action of [...highRiskActions, 'Delete-Data']) {
    const { id, digest } = (await built.submit({ action, details: { what: 'this' } })).body
    t.equal((await built.call('GET', `/confirm/${id}`)).body.digest_required, true)
    await built.call('POST', url('approve', id))
    const before = await built.events()
    for (const body of [undefined, {}]) {
      const refused = await act(built, 'claim', null, body, { id })
      t.equal(refused.status, 409, action)
      t.match(refused.body, { code: 'digest_required', status: 'approved', error: /digest.*Do not act.*'digest'/ })
      t.notOk('digest' in refused.body, 'it is to be computed, not to be copied')
    }
    t.match((await built.events()).slice(before.length), [
      { type: 'rejected', actor: 'agent', confirmation_id: id, data: { code: 'digest_required', action, digest } },
      { type: 'rejected', data: { code: 'digest_required' } },
    ])
    t.match((await act(built, 'claim', null, { digest: '0'.repeat(64) }, { id })).body, { code: 'digest_mismatch' })
    t.match(await act(built, 'claim', null, { digest }, { id }), { status: 200, body: { execution: 'claimed' } })
    // What is refused is recorded so many times a minute.
    await built.clock.advance(60_000)
  }
})

t.test(
  'where a rule says so, or says that the risk is high, the digest is required; elsewhere it is not',
  async (t) => {
    const rules = `rules:
  - { name: strict, action: pay, digest_required: true }
  - { name: grave, action: sell, risk: high }
  - { name: lax, action: buy, risk: low }`
    const built = await build(t, { rules })
    for (const [action, isRequired] of Object.entries({ pay: true, sell: true, buy: false, send_mail: false })) {
      const { id, digest } = (await built.submit({ action })).body
      t.equal((await built.call('GET', `/confirm/${id}`)).body.digest_required, isRequired, action)
      await built.call('POST', url('approve', id))
      const { status, body } = await act(built, 'claim', null, undefined, { id })
      if (!isRequired) t.equal(status, 200, action)
      else {
        t.match(body, { code: 'digest_required', error: /^The rule '(strict|grave)' / })
        t.equal((await act(built, 'claim', null, { digest }, { id })).status, 200, action)
      }
    }
  },
)

t.test('what a grant covered needs the digest too, where the rule says so', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: pay, digest_required: true }]' })
  await built.call('POST', '/whitelist', { action: 'pay' })
  const { id, digest, status } = (await built.submit({ action: 'pay' })).body
  t.equal(status, 'auto_approved')
  t.match((await act(built, 'claim', null, undefined, { id })).body, {
    code: 'digest_required',
    status: 'auto_approved',
  })
  t.equal((await act(built, 'claim', null, { digest }, { id })).status, 200)
})

t.test('whoever could not claim it anyway is told that, and not to compute a digest', async (t) => {
  const built = await build(t)
  const action = 'delete_data'
  const { digest } = (await built.submit({ action })).body
  t.match((await act(built, 'claim', null)).body, { code: 'not_approved', status: 'pending' })
  await built.call('POST', url('approve'))
  await act(built, 'claim', null, { digest })
  t.match((await act(built, 'claim', null)).body, { code: 'already_claimed' })
  await built.submit({ action })
  await built.call('POST', url('approve', 'id-0002'))
  await built.clock.advance(900_000)
  t.match((await act(built, 'claim', null, undefined, { id: 'id-0002' })).body, { code: 'approval_expired' })
})

t.test('the rule stays with the request: rules that are loaded later change nothing about it', async (t) => {
  const first = await build(t, { rules: 'rules: [{ action: pay, digest_required: true }, { action: buy }]' })
  await first.submit({ action: 'pay' })
  await first.submit({ action: 'buy' })
  for (const id of ['id-0001', 'id-0002']) await first.call('POST', url('approve', id))
  await first.stop()
  const { dbPath, clock } = first
  const rules = 'rules: [{ action: pay }, { action: buy, digest_required: true }]'
  const second = await build(t, { dbPath, clock, newId: counter('late'), rules })
  t.match((await act(second, 'claim', null)).body, { code: 'digest_required' })
  t.equal((await act(second, 'claim', null, undefined, { id: 'id-0002' })).status, 200)
})

t.test('terms from before there was a word about digests need one exactly where the risk is high', async (t) => {
  const rules = 'rules: [{ action: pay, risk: low }, { action: sell, risk: high }]'
  const first = await build(t, { rules })
  for (const action of ['pay', 'sell', 'delete_data', 'send_mail']) await first.submit({ action })
  for (const id of ['id-0001', 'id-0002', 'id-0003', 'id-0004']) await first.call('POST', url('approve', id))
  await first.stop()
  const { dbPath, clock } = first
  const db = new Database(dbPath)
  t.equal(db.prepare("UPDATE confirmations SET terms = json_remove(terms, '$.needsDigest')").run().changes, 4)
  db.close()
  const second = await build(t, { dbPath, clock, newId: counter('late'), rules })
  const codes = []
  for (const id of ['id-0001', 'id-0002', 'id-0003', 'id-0004']) {
    codes.push((await act(second, 'claim', null, undefined, { id })).body.code)
  }
  t.same(codes, [undefined, 'digest_required', 'digest_required', undefined])
})

// -- keys ------------------------------------------------------------------------------------------------------------------

t.test('a claim and a report with a key are answered again as they were, and happen once', async (t) => {
  const built = await approved(t)
  const claimed = await act(built, 'claim', 'k-claim')
  t.match(claimed, { status: 200, isReplay: false, body: { execution: 'claimed', claimed_at: t0 / 1000 } })
  await built.clock.advance(60_000)
  const before = await built.events()
  for (const key of ['k-claim', '"k-claim"']) {
    const again = await act(built, 'claim', key)
    t.same([again.status, again.text, again.isReplay], [200, claimed.text, true])
  }
  const reported = await act(built, 'report', 'k-report', done)
  t.match(reported, { status: 200, isReplay: false, body: { execution: 'succeeded' } })
  await built.clock.advance(86_400_000)
  const again = await act(built, 'report', 'k-report', done)
  t.same([again.status, again.text, again.isReplay], [200, reported.text, true])
  const news = (await built.events()).slice(before.length)
  t.same(
    news.map(({ type }) => type),
    ['reported'],
    'a replay leaves nothing behind',
  )
})

t.test('a claim is answered again only while the act is under way', async (t) => {
  const built = await approved(t)
  await act(built, 'claim', 'k')
  await act(built, 'report', null, done)
  const late = await act(built, 'claim', 'k')
  t.match(late, { status: 409, isReplay: false, body: { code: 'already_claimed', status: 'approved' } })

  const overdue = await approved(t)
  await act(overdue, 'claim', 'k')
  await overdue.clock.advance(3_599_999)
  t.match(await act(overdue, 'claim', 'k'), { status: 200, isReplay: true })
  await overdue.clock.advance(1)
  t.match(await act(overdue, 'claim', 'k'), { status: 409, body: { code: 'already_claimed' } })
  t.match(await act(overdue, 'report', 'r', done), { status: 200, body: { execution: 'succeeded' } })
  t.match(await act(overdue, 'report', 'r', done), { status: 200, isReplay: true })
})

t.test('a claim is over when its report is overdue, even if nobody has written that down', async (t) => {
  const clock = manualClock()
  const built = await approved(t, {}, { clock: { ...clock, wake: () => () => {} } })
  await act(built, 'claim', 'k')
  await clock.advance(3_600_000)
  t.match(await act(built, 'claim', 'k'), { status: 409, body: { code: 'already_claimed' } })
})

t.test('a second claim with another key, or with none, is refused as ever', async (t) => {
  const built = await approved(t)
  await act(built, 'claim', 'k')
  for (const key of ['other', null]) {
    t.match(await act(built, 'claim', key), { status: 409, isReplay: false, body: { code: 'already_claimed' } })
  }
  t.match(await act(built, 'claim', 'k'), { status: 200, isReplay: true }, 'and takes nothing from the first')
  await act(built, 'report', 'r', done)
  for (const key of ['other', null]) {
    t.match(await act(built, 'report', key, done), { status: 409, body: { code: 'already_reported' } })
  }
})

t.test('a key that was used for something else is refused, whatever that was', async (t) => {
  const built = await build(t)
  const payload = { action: 'send_mail', description: 'Send the newsletter' }
  await built.call('POST', '/confirm', payload, { 'idempotency-key': 'submitted' })
  const { digest } = (await built.submit()).body
  for (const id of ['id-0001', 'id-0002']) await built.call('POST', url('approve', id))
  await act(built, 'claim', 'claimed', { digest })
  await act(built, 'report', 'reported', done)
  const before = [await built.events(), (await built.call('GET', '/audit')).body]
  const reused = [
    await act(built, 'claim', 'claimed'),
    await act(built, 'claim', 'claimed', { digest: '0'.repeat(64) }),
    await act(built, 'claim', 'claimed', { digest }, { id: 'id-0002' }),
    await act(built, 'claim', 'submitted', undefined, { id: 'id-0002' }),
    await act(built, 'claim', 'reported', undefined, { id: 'id-0002' }),
    await act(built, 'report', 'claimed', done),
    await act(built, 'report', 'reported', { outcome: 'failed', message: '1200 sent' }),
    await act(built, 'report', 'reported', { outcome: 'succeeded' }),
    await act(built, 'report', 'submitted', done),
  ]
  for (const one of reused) {
    t.match(one, {
      status: 422,
      isReplay: false,
      body: { code: 'key_reused', id: 'id-0001', error: /Idempotency-Key/ },
    })
  }
  const submitted = await built.call('POST', '/confirm', payload, { 'idempotency-key': 'claimed' })
  t.match(submitted, { status: 422, body: { code: 'key_reused', id: 'id-0001' } })
  t.same([await built.events(), (await built.call('GET', '/audit')).body], before, 'and nothing has changed')
})

t.test('the digest in other letters, and a body that says nothing, are the same body', async (t) => {
  const built = await approved(t)
  const { digest } = (await built.call('GET', '/confirm/id-0001')).body
  await act(built, 'claim', 'k', { digest })
  t.ok((await act(built, 'claim', 'k', { digest: digest.toUpperCase() })).isReplay)
  const other = await approved(t)
  await act(other, 'claim', 'k')
  t.ok((await act(other, 'claim', 'k', {})).isReplay)
})

t.test('a refusal is not kept: the same key may succeed later', async (t) => {
  const built = await build(t)
  const { digest } = (await built.submit({ action: 'delete_data' })).body
  t.equal((await act(built, 'claim', 'k', { digest })).body.code, 'not_approved')
  await built.call('POST', url('approve'))
  t.equal((await act(built, 'claim', 'k')).body.code, 'digest_required')
  t.equal((await act(built, 'report', 'r', done)).body.code, 'not_claimed')
  t.match(await act(built, 'claim', 'k', { digest }), { status: 200, isReplay: false })
  t.match(await act(built, 'report', 'r', done), { status: 200, isReplay: false })
})

t.test('of fifty claims at once with one key all are answered alike, and one is on record', async (t) => {
  const built = await approved(t)
  const answers = await Promise.all(Array.from({ length: 50 }, () => act(built, 'claim', 'k')))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  t.equal(answers.filter(({ isReplay }) => !isReplay).length, 1)
  t.equal(await count(built, 'claimed'), 1)
  t.equal(await count(built, 'rejected'), 0)
  const reports = await Promise.all(Array.from({ length: 50 }, () => act(built, 'report', 'r', done)))
  t.equal(new Set(reports.map(({ status, text }) => `${status} ${text}`)).size, 1)
  t.equal(await count(built, 'reported'), 1)
})

t.test('whoever loses the race to their own repetition is answered as it was', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await approved(t, {}, { wrapStore })
  let first: Awaited<ReturnType<typeof act>> | undefined
  interfere(async () => (first = await act(built, 'claim', 'k')))
  const second = await act(built, 'claim', 'k')
  t.match(first, { status: 200, isReplay: false })
  t.same([second.status, second.text, second.isReplay], [200, first!.text, true])
  t.equal(await count(built, 'claimed'), 1)
})

t.test('one key for two approvals at once is good for one of them', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await approved(t, {}, { wrapStore })
  await built.submit()
  await built.call('POST', url('approve', 'id-0002'))
  interfere(() => act(built, 'claim', 'k', undefined, { id: 'id-0002' }))
  t.match(await act(built, 'claim', 'k'), { status: 422, body: { code: 'key_reused', id: 'id-0002' } })
  t.equal((await built.call('GET', '/confirm/id-0001')).body.execution, 'unclaimed')
})

t.test('what was read before the claim and what was read after it fit together', async (t) => {
  const built = await approved(t)
  const { confirmations } = built.store
  const find = confirmations.get
  // The record is read, and then the first claim happens.
  confirmations.get = async (id) => {
    const found = await find(id)
    confirmations.get = find
    await act(built, 'claim', 'k')
    return found
  }
  t.match(await act(built, 'claim', 'k'), { status: 200, isReplay: true, body: { execution: 'claimed' } })
})

t.test('the answer survives a restart', async (t) => {
  const first = await approved(t)
  const claimed = await act(first, 'claim', 'k')
  await first.stop()
  const second = await build(t, { dbPath: first.dbPath, clock: first.clock, newId: counter('late') })
  const again = await act(second, 'claim', 'k')
  t.same([again.status, again.text, again.isReplay], [200, claimed.text, true])
})

t.test("another agent's key replays nothing, and its keys are its own", async (t) => {
  const built = await build(t)
  const { bot, eve, olga, root } = await giveKeys(built, {
    bot: 'agent',
    eve: 'agent',
    olga: 'operator',
    root: 'admin',
  })
  const ask = (who: CallAs) => who('POST', '/confirm', { action: 'send_mail', description: 'd' })
  const { id } = (await ask(bot)).body
  const { id: others } = (await ask(eve)).body
  for (const one of [id, others]) await olga('POST', url('approve', one))
  const claim = (who: CallAs, of = id) => act(built, 'claim', 'k', undefined, { id: of, bearer: who.key })
  t.match(await claim(bot), { status: 200, isReplay: false })
  t.match(await claim(eve), { status: 404, body: { code: 'not_found' } })
  t.match(await claim(root), { status: 403, body: { code: 'not_yours' } })
  t.match(await claim(olga), { status: 403, body: { code: 'forbidden' } })
  t.match(await claim(bot), { status: 200, isReplay: true })
  t.match(await claim(eve, others), { status: 200, isReplay: false }, 'the same key of somebody else is another key')
})

t.test('what was claimed with a key while everyone was let in is nobody’s to repeat afterwards', async (t) => {
  const built = await build(t)
  await built.submit({ requester: 'bot' })
  await built.call('POST', url('approve'))
  t.match(await act(built, 'claim', 'k'), { status: 200, isReplay: false })
  const { bot } = await giveKeys(built, { bot: 'agent' })
  t.match(await act(built, 'claim', 'k', undefined, { bearer: bot.key }), {
    status: 409,
    body: { code: 'already_claimed' },
  })
})

t.test('a malformed key is refused before anything is done', async (t) => {
  const built = await approved(t)
  for (const key of ['', 'a b', 'x'.repeat(256)]) {
    t.match(await act(built, 'claim', key), {
      status: 400,
      body: { code: 'invalid_request', error: /Idempotency-Key/ },
    })
  }
  t.equal((await built.call('GET', '/confirm/id-0001')).body.execution, 'unclaimed')
})

// -- on whose behalf -------------------------------------------------------------------------------------------------------

t.test('for whom it acts is in the record, the lists, the history and the log, and in the digest', async (t) => {
  const built = await build(t)
  const plain = (await built.submit()).body
  const { id, digest } = (await built.submit({ on_behalf_of: '  Ann of Accounts\n' })).body
  t.not(digest, plain.digest)
  const named = { id, on_behalf_of: 'Ann of Accounts', digest, requester: 'agent' }
  t.match((await built.call('GET', `/confirm/${id}`)).body, named)
  t.equal((await built.call('GET', '/confirm/id-0001')).body.on_behalf_of, null)
  t.match((await built.call('GET', '/audit')).body.entries[0], named)
  t.match((await built.call('GET', '/confirm')).body.confirmations[0], named)
  const [first, second] = (await built.events()).filter(({ type }) => type === 'submitted')
  t.notOk('on_behalf_of' in first.data)
  t.equal(second.data.on_behalf_of, 'Ann of Accounts')
  const lines = built.logged.filter(({ msg }) => /confirmation needed/.test(String(msg)))
  t.same(
    lines.map((line) => line.on_behalf_of_unverified),
    [undefined, 'Ann of Accounts'],
  )
  await built.call('POST', url('approve', id))
  t.match((await act(built, 'claim', null, { digest: plain.digest }, { id })).body, { code: 'digest_mismatch' })
  t.match((await act(built, 'claim', null, { digest }, { id })).body, { ...named, execution: 'claimed' })
})

t.test('an empty name is none: the digest and the key are what they were without', async (t) => {
  const built = await build(t)
  const payload = { action: 'send_mail', description: 'd' }
  const first = await built.call('POST', '/confirm', payload, { 'idempotency-key': 'k' })
  for (const on_behalf_of of ['', '  \n ']) {
    const again = await built.call('POST', '/confirm', { ...payload, on_behalf_of }, { 'idempotency-key': 'k' })
    t.same(again.body, first.body)
    t.equal(again.headers['idempotency-replayed'], 'true')
  }
  const other = await built.call('POST', '/confirm', { ...payload, on_behalf_of: 'Ann' }, { 'idempotency-key': 'k' })
  t.match(other, { status: 422, body: { code: 'key_reused' } })
})

t.test('a name that could mislead or break something is refused', async (t) => {
  const built = await build(t)
  for (const [on_behalf_of, error] of [
    [5, /'on_behalf_of' must be a string/],
    [null, /'on_behalf_of' must be a string/],
    [['Ann'], /'on_behalf_of' must be a string/],
    ['x'.repeat(1001), /'on_behalf_of' must have at most 1000 characters/],
    ['a\0b', /'on_behalf_of' must be valid Unicode text/],
    ['\ud800', /'on_behalf_of' must be valid Unicode text/],
    ['system:root', /'on_behalf_of' must not begin with 'system:'/],
    ['SYS-tem: root', /'on_behalf_of' must not begin with 'system:'/],
    ['whitelist：1', /'on_behalf_of' must not begin with 'system:', 'whitelist:' or 'rule:'/],
  ] as const) {
    t.match(await built.submit({ on_behalf_of }), { status: 400, body: { code: 'invalid_request', error } })
  }
  t.same(await built.events(), [])
})

t.test('each item of a batch may say for whom it is', async (t) => {
  const built = await build(t)
  const item = { action: 'send_mail', description: 'd' }
  const { results } = (
    await built.call('POST', '/confirm/batch', { items: [item, { ...item, on_behalf_of: ' Ann ' }] })
  ).body
  t.equal((await built.call('GET', `/confirm/${results[1].body.id}`)).body.on_behalf_of, 'Ann')
  t.not(results[0].body.digest, results[1].body.digest)
})

t.test('it gives no right and no share', async (t) => {
  const rules = 'rules: [{ action: send_mail, open_limit: 2 }, { action: ping }]'
  const built = await build(t, { rules })
  const { bot, eve, olga } = await giveKeys(built, { bot: 'agent', eve: 'agent', olga: 'operator' })
  const ask = (who: CallAs, fields: object) =>
    who('POST', '/confirm', { action: 'send_mail', description: 'd', ...fields })
  const { id } = (await ask(bot, { on_behalf_of: 'eve' })).body
  t.equal((await eve('GET', `/confirm/${id}`)).status, 404, 'whoever is named does not see it for that')
  t.equal((await eve('POST', url('cancel', id))).status, 404)
  t.equal((await ask(bot, { on_behalf_of: 'somebody' })).status, 202)
  t.equal((await ask(bot, { on_behalf_of: 'another' })).body.code, 'too_many_open', 'it counts as the requester’s')
  await olga('POST', '/whitelist', { action: 'ping', requester: 'eve' })
  t.equal((await ask(bot, { action: 'ping', on_behalf_of: 'eve' })).status, 202, 'nor does a grant for them cover it')
  t.equal((await ask(eve, { action: 'ping', on_behalf_of: 'bot' })).status, 200, 'and it takes none away')
  const own = (await ask(eve, { on_behalf_of: 'olga' })).body
  t.equal((await olga('POST', url('approve', own.id))).status, 200, 'whoever is named may decide as ever')
})

t.test('the same for somebody else is not the same, where the same is asked once', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: send_mail, merge_identical: true }]' })
  const ids = []
  for (const on_behalf_of of ['Ann', 'Ann', 'Bo', '']) ids.push((await built.submit({ on_behalf_of })).body.id)
  t.equal(ids[0], ids[1])
  t.equal(new Set(ids).size, 3)
})
