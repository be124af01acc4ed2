// Two services, each with its outbox, on one store: what decides is in the store, so they are as one.
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildApp, type Holdpoint } from '../../src/app.js'
import type { Config } from '../../src/config/schemas.js'
import type { Commits } from '../../src/store/store.js'
import { startTelegram } from '../notify/fake-telegram.js'
import { build, type Built, configFor, counter, giveKeys, rulesFrom, until, withKey } from '../support.js'
import { submissionOf } from '../submission.js'

interface Pair {
  first: Built
  second: Holdpoint & Pick<Built, 'call'>
  /** Asks both in turn, all at once. */
  ask(count: number, url: string, body: (n: number) => unknown, headers?: Record<string, string>): Promise<Answers>
}

type Answers = Awaited<ReturnType<Built['call']>>[]

async function pair(t: Test, options: { config?: Partial<Config>; rules?: string } = {}): Promise<Pair> {
  const first = await build(t, options)
  const { store, clock, dbPath } = first
  const second = await buildApp(configFor(dbPath, options.config), {
    store,
    log: pino({ level: 'silent' }),
    clock,
    newId: counter('other'),
    random: () => 1,
    rules: options.rules === undefined ? null : rulesFrom(options.rules),
  })
  await second.service.start()
  await second.app.ready()
  second.startSending('http://127.0.0.1:6000', 'http://127.0.0.1:6000')
  t.teardown(async () => {
    await second.app.close()
    await second.service.stop()
    await second.stopSending(0)
  })
  const call: Built['call'] = async (method, url, body, headers = {}) => {
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await second.app.inject({ method, url, headers: { ...type, ...headers }, ...payload })
    return { status: response.statusCode, headers: response.headers, body: response.json() }
  }
  const callers = [first.call, call]
  return {
    first,
    second: { ...second, call },
    ask: (count, url, body, headers) =>
      Promise.all(Array.from({ length: count }, (_, n) => callers[n % 2]!('POST', url, body(n), headers))),
  }
}

const submission = (n: number) => ({ action: 'send_mail', description: 'd', details: { n } })
const statuses = (answers: Answers) => answers.map(({ status }) => status).sort()
const times = (count: number, status: number) => Array.from({ length: count }, () => status)
const rule = (settings: string) => `rules: [{ action: send_mail, ${settings} }]`

t.test('of decisions at the same time one stands, and everyone learns it', async (t) => {
  const { first, second, ask } = await pair(t)
  await first.submit()
  const waiting = [first, second].map(({ call }) => call('GET', '/confirm/id-0001?wait=60'))
  const verdict = (n: number) => ({ verdict: n % 4 < 2 ? 'approve' : 'deny', id: 'id-0001' })
  const answers = await ask(20, '/decisions', (n) => ({ decisions: [verdict(n)], decided_by: `p${n}` }))
  const results = answers.map(({ body }) => body.results[0])
  const [winner, ...others] = results.filter(({ status_code }) => status_code === 200)
  t.same(others, [])
  for (const { status_code, body } of results) {
    t.equal(body.status, winner.body.status)
    t.equal(body.resolved_by, winner.body.resolved_by)
    t.ok(status_code === 200 || body.code === 'already_resolved')
  }
  for (const { body } of await Promise.all(waiting)) t.equal(body.resolved_by, winner.body.resolved_by)
})

t.test('the limit per action is exact', async (t) => {
  const { ask, second } = await pair(t, { config: { rateLimit: 5 } })
  t.same(statuses(await ask(20, '/confirm', submission)), [...times(5, 202), ...times(15, 429)])
  t.equal((await second.call('GET', '/audit')).body.count, 5)
})

t.test('the limit on what is open is exact', async (t) => {
  const { ask, first, second } = await pair(t, { rules: rule('open_limit: 3') })
  t.same(statuses(await ask(20, '/confirm', submission)), [...times(3, 202), ...times(17, 429)])
  const { id } = (await first.call('GET', '/confirm?status=pending')).body.confirmations[0]
  await first.call('POST', `/confirm/${id}/cancel`)
  t.equal(
    (await second.call('POST', '/confirm', submission(99))).status,
    202,
    'what ends in one makes room in the other',
  )
})

t.test('the same twice is one confirmation, and the one that merges takes no slot', async (t) => {
  const rules = rule('merge_identical: true, rate_limit: { max: 2, window_seconds: 60 }')
  const { ask, second } = await pair(t, { rules })
  const answers = await ask(10, '/confirm', () => submission(1))
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.same(statuses(answers), times(10, 202))
  t.equal((await second.call('POST', '/confirm', submission(2))).status, 202)
  t.equal((await second.call('POST', '/confirm', submission(3))).status, 429)
})

t.test('one Idempotency-Key is one confirmation, and takes one slot', async (t) => {
  const { ask, first } = await pair(t, { config: { rateLimit: 2 } })
  const answers = await ask(10, '/confirm', () => submission(1), { 'idempotency-key': 'k' })
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.same(statuses(answers), times(10, 202))
  t.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
  t.equal((await first.submit()).status, 202)
  t.equal((await first.submit()).status, 429)
})

t.test('the first key ends open mode in both, and in open mode there is one first key', async (t) => {
  const { ask, first, second } = await pair(t)
  const isOpen: boolean[] = []
  first.store.follow(({ changed }: Commits) => {
    if (changed.some(({ kind }) => kind === 'key'))
      isOpen.push(...[first, second].map((one) => one.service.openMode.isOpen()))
  })
  const [made, late] = await Promise.all([
    ask(6, '/keys', (n) => ({ name: `root ${n}x`, role: 'admin' })),
    ask(6, '/confirm', submission),
  ])
  t.same(statuses(made), [201, ...times(5, 401)])
  t.same(isOpen, [false, false])
  t.equal(first.service.people.keys().length, 1)
  const submitted = statuses(late).filter((status) => status === 202).length
  t.equal(await first.store.confirmations.countPending(first.clock.now()), submitted)
  for (const { call } of [first, second]) t.equal((await call('POST', '/confirm', submission(9))).status, 401)
  const { key } = made.find(({ status }) => status === 201)!.body
  for (const { call } of [first, second]) t.equal((await withKey(call, key)('GET', '/keys')).status, 200)
})

t.test('what was begun in open mode is not committed once the other has made a key', async (t) => {
  const { first, second } = await pair(t)
  await first.submit()
  const asked = {
    submission: { ...submissionOf(), timeoutSeconds: null },
    key: null,
    computed: null,
    by: { kind: 'anyone' as const, name: 'bot' },
    authority: { kind: 'no_keys' as const },
  }
  const made = first.service.people.addKey({ name: 'root', role: 'admin', expiresInMs: null }, byLocal)
  const { commit } = first.store
  first.store.commit = async (change) => {
    if (change.writes.some(({ kind }) => kind === 'confirmation')) await made
    return commit(change)
  }
  const refused = await second.service.submit(asked, 'http')
  t.notOk('refused' in (await made))
  t.match(refused, { refused: 'unauthorized' })
})

t.test('a key that one revokes is good in neither, also for what was begun with it', async (t) => {
  const { first, second } = await pair(t)
  await first.submit()
  const { olga } = await giveKeys(first, { olga: 'operator', root: 'admin' })
  const inSecond = withKey(second.call, olga.key)
  t.equal((await inSecond('GET', '/confirm/id-0001')).status, 200)
  const decision = {
    verdict: 'approve' as const,
    reason: null,
    remember: null,
    typed: null,
    approver: { by: { kind: 'person' as const, name: 'olga' }, comment: null },
    authority: { kind: 'key_live' as const, keyId: olga.keyId },
    via: 'http' as const,
  }
  const [, decided] = await Promise.all([
    first.service.people.revokeKey(olga.keyId, byLocal),
    second.service.decide('id-0001', decision),
  ])
  t.match(decided, { refused: 'unauthorized' })
  t.equal((await first.store.confirmations.get('id-0001'))?.status, 'pending')
  for (const call of [olga, inSecond]) t.equal((await call('GET', '/confirm/id-0001')).status, 401)
})

t.test('names that look alike are one name', async (t) => {
  const { first, second } = await pair(t)
  const names = ['paypal', 'paypaI']
  const answers = await Promise.all(
    [first, second].map(({ service }, n) =>
      service.people.addKey({ name: names[n]!, role: 'agent', expiresInMs: null }, byLocal),
    ),
  )
  t.equal(answers.filter((one) => 'refused' in one && one.refused === 'name_taken').length, 1)
})

t.test('each confirmation is told of once', async (t) => {
  const telegram = await startTelegram(t)
  const { ask, first } = await pair(t, { config: { ...telegram.config, rateLimit: 100, notifyRate: 0 } })
  await ask(20, '/confirm', submission)
  await until(async () => (await first.store.deliveries.countUndelivered()) === 0)
  t.equal(telegram.calls.length, 20)
  t.equal(new Set(telegram.messages.map(({ text }) => /(?:id|other)-\d{4}/.exec(text)?.[0])).size, 20)
})

const byLocal = { actor: { kind: 'local' }, via: 'local' } as const
