import { join } from 'node:path'
import t from 'tap'
import { StoreUnavailable, type Store } from '../../src/store/store.js'
import { anyone, locally, person } from '../actors.js'
import { build, counter, manualClock, rulesFrom, t0, temporaryFolder, until, interleaving } from '../support.js'

t.test('a confirmation expires on time with nobody asking, and that is on record', async (t) => {
  const { submit, store, clock, events } = await build(t)
  await submit({ timeout_seconds: 30 })
  await clock.advance(29_999)
  t.equal((await store.confirmations.get('id-0001'))?.resolution, null)
  await clock.advance(1)
  await until(async () => (await store.confirmations.get('id-0001'))?.resolution !== null)
  t.match((await events()).at(-1), {
    type: 'expired',
    actor: 'system:timeout',
    channel: 'system',
    confirmation_id: 'id-0001',
    data: { status: 'expired', resolved_at: (t0 + 30_000) / 1000 },
  })
})

t.test('one timer serves them all: each expires at its own time', async (t) => {
  const { submit, clock, events } = await build(t)
  for (const timeout_seconds of [90, 30, 60]) await submit({ timeout_seconds })
  await clock.advance(120_000)
  const expired = (await events()).filter(({ type }: { type: string }) => type === 'expired')
  t.same(
    expired.map((event: any) => [event.confirmation_id, event.time * 1000 - t0]),
    [
      ['id-0002', 30_000],
      ['id-0003', 60_000],
      ['id-0001', 90_000],
    ],
  )
})

t.test('a vote of open mode does not count in a decision that the first key overtook', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const rules = 'rules: [{ action: send_mail, approvals: 2 }]'
  const { submit, call, service, store } = await build(t, { wrapStore, rules })
  await submit({ action: 'send_mail' })
  t.equal((await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })).body.approvals_given, 1)
  const olga = person('olga')
  const token = await service.makeLink((await store.confirmations.get('id-0001'))!, olga, 'telegram')
  const approver = { by: { kind: 'link' as const, recipient: olga }, comment: null }
  const decision = {
    verdict: 'approve' as const,
    reason: null,
    remember: null,
    typed: null,
    approver,
    via: 'link' as const,
  }
  interfere(() => service.people.addKey({ name: 'root', role: 'admin', expiresInMs: null }, locally))
  const link = (await service.findLink(token))!
  t.match(await service.decideByLink(link, { ...decision, authority: null }), { confirmation: { status: 'pending' } })
  const { votes } = (await store.confirmations.get('id-0001'))!
  t.same(
    votes.map(({ by }) => by),
    [approver.by],
  )
})

t.test('a late approval is refused even if the expiry was never written down', async (t) => {
  const clock = manualClock()
  const { submit, call } = await build(t, { clock: { ...clock, wake: () => () => {} } })
  await submit({ timeout_seconds: 30 })
  await clock.advance(30_000)
  t.match((await call('GET', '/confirm/id-0001')).body, {
    status: 'expired',
    resolved_by: 'system:timeout',
    resolved_at: (t0 + 30_000) / 1000,
  })
  const late = await call('POST', '/confirm/id-0001/approve')
  t.equal(late.status, 409)
  t.equal(late.body.status, 'expired')
  t.equal((await call('GET', '/health')).body.pending_count, 0)
  t.equal((await call('GET', '/confirm?status=pending')).body.count, 0)
  t.equal((await call('GET', '/confirm?status=expired')).body.count, 1)
})

t.test('after a restart everything is still there, and what lapsed meanwhile is expired at once', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const first = await build(t, { dbPath, newId, config: { rateLimit: 3 } })
  await first.submit({ timeout_seconds: 30 })
  await first.submit({ timeout_seconds: 600 })
  await first.call('POST', '/whitelist', { action: 'ping', max_uses: 2 })
  await first.submit({ action: 'ping' })
  await first.stop()

  const second = await build(t, { dbPath, newId, clock: manualClock(t0 + 60_000), config: { rateLimit: 3 } })
  t.equal((await second.call('GET', '/confirm/id-0001')).body.status, 'expired')
  t.equal((await second.call('GET', '/confirm/id-0002')).body.status, 'pending')
  t.equal((await second.call('GET', '/health')).body.pending_count, 1)
  t.equal((await second.submit({ action: 'ping' })).status, 200, 'the grant has one use left')
  t.equal((await second.submit({ action: 'ping' })).status, 202, 'and then none')
  t.equal((await second.submit()).status, 202, 'the window remembers two of three')
  t.equal((await second.submit()).status, 429)
  await second.clock.advance(540_000)
  t.equal((await second.call('GET', '/confirm/id-0002')).body.status, 'expired')
})

t.test(
  'a clock that was set back while the service was down leaves nothing pending longer than it asked for',
  async (t) => {
    const dbPath = join(temporaryFolder(t), 'test.db')
    const first = await build(t, { dbPath })
    await first.submit({ timeout_seconds: 30 })
    await first.stop()
    const second = await build(t, { dbPath, clock: manualClock(t0 - 3_600_000) })
    t.match((await second.call('GET', '/confirm/id-0001')).body, { status: 'expired' })
    t.equal((await second.call('POST', '/confirm/id-0001/approve')).status, 409)
  },
)

t.test('the limit is per action, exact, and refusals are on record', async (t) => {
  const { submit, call, clock, events } = await build(t, { config: { rateLimit: 2, rateWindow: 100 } })
  t.equal((await submit()).status, 202)
  await clock.advance(40_000)
  t.equal((await submit()).status, 202)
  const refused = await submit({ requester: 'eager' })
  t.equal(refused.status, 429)
  t.match(refused.body, { error: /60 s/, remaining: 0, window_seconds: 100, code: 'rate_limited' })
  t.equal(refused.headers['retry-after'], '60')
  t.equal(refused.headers.ratelimit, '"action";r=0;t=60')
  t.equal((await submit({ action: 'other' })).status, 202)
  t.match(
    (await events()).filter(({ type }: { type: string }) => type === 'rate_limited'),
    [{ actor: 'eager', confirmation_id: null, data: { action: 'send_mail' } }],
  )
  await clock.advance(59_999)
  t.equal((await submit()).status, 429)
  await clock.advance(1)
  t.equal((await submit()).status, 202)
  t.match((await call('GET', '/metrics')).body, /holdpoint_limiter_refusals_total\{limiter="action"\} 2/)
})

t.test('fields are checked before the whitelist, the whitelist before the limit, and it costs no slot', async (t) => {
  const { submit, call } = await build(t, { config: { rateLimit: 1 } })
  t.equal((await submit()).status, 202)
  t.equal((await submit()).status, 429)
  t.equal((await submit({ description: '' })).status, 400)
  await call('POST', '/whitelist', { action: 'send_mail' })
  for (let i = 0; i < 3; i++) t.equal((await submit()).status, 200)
  t.equal((await submit({ description: '' })).status, 400)
  await call('POST', '/whitelist', { action: 'other' })
  t.equal((await submit({ action: 'other' })).headers.ratelimit, '"action";r=1;t=0')
})

t.test('a submission that could not be stored costs no slot, says so, and leaves nothing', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
    probe: () => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.probe()),
  })
  const { submit, call, logged, events } = await build(t, { wrapStore, config: { rateLimit: 1 } })
  broken = true
  for (let i = 0; i < 3; i++) {
    const { status, body, headers } = await submit()
    t.equal(status, 503)
    t.match(body, { code: 'storage_unavailable', error: /cannot be written/ })
    t.notMatch(JSON.stringify(body), /disk full/, 'the inside stays inside')
    t.equal(headers['retry-after'], '1')
  }
  t.equal((await call('GET', '/ready')).status, 503)
  t.equal((await call('GET', '/health')).status, 200)
  t.match(
    logged.filter(({ msg }) => msg === 'storage_unavailable'),
    [{ err: { message: /disk full/ } }],
  )
  broken = false
  t.same(await events(), [])
  t.equal((await submit()).status, 202)
  t.equal((await submit()).status, 429)
  t.equal((await call('GET', '/ready')).status, 200)
})

t.test('expiry waits for the database to come back, and reads are true meanwhile', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
  })
  const { submit, call, clock, store } = await build(t, { wrapStore })
  await submit({ timeout_seconds: 30 })
  broken = true
  await clock.advance(31_000)
  t.equal((await call('GET', '/confirm/id-0001')).body.status, 'expired')
  t.equal((await call('GET', '/audit')).body.entries[0].status, 'expired')
  t.equal((await store.confirmations.get('id-0001'))?.resolution, null)
  broken = false
  await clock.advance(2000)
  t.equal((await store.confirmations.get('id-0001'))?.status, 'expired')
})

t.test('a decision that loses a race learns what stands; one that loses every race changes nothing', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const { submit, call, service, store } = await build(t, { wrapStore })
  await submit()
  const approver = { by: anyone('quick'), comment: null }
  const said = { verdict: 'deny', reason: null, remember: null, typed: null, authority: null, via: 'http' } as const
  const decision = { ...said, approver }
  interfere(() => service.decide('id-0001', decision))
  const slow = await call('POST', '/confirm/id-0001/approve', { approver: 'slow' })
  t.equal(slow.status, 409)
  t.match(slow.body, { status: 'denied', resolved_by: 'quick' })

  await submit()
  store.commit = () => Promise.resolve('conflict')
  const hopeless = await call('POST', '/confirm/id-0002/approve')
  t.equal(hopeless.status, 503)
  t.equal(hopeless.body.code, 'contended')
  t.equal((await call('GET', '/confirm/id-0002')).body.status, 'pending')
})

t.test(
  'sessions are reset by the rules as they are now, and by the zone of the machine where these say none',
  async (t) => {
    const { service } = await build(t, { rules: 'sessions: { mode: idle, idle: 5 }', timeZone: 'Asia/Kathmandu' })
    const found = () => service.policy().resetRuleFor('telegram', 'dm')
    t.match(found(), { mode: 'idle', idleMs: 300_000, timeZone: 'Asia/Kathmandu' })
    await service.useRules(
      rulesFrom('sessions: { time_zone: Europe/Zurich, platforms: { telegram: { mode: daily } } }'),
    )
    t.match(found(), { mode: 'daily', idleMs: 86_400_000, timeZone: 'Europe/Zurich' })
    await service.useRules(rulesFrom('rules: [{ action: a, breaker: { warn: 1 } }]'))
    t.match(found(), { mode: 'both', timeZone: 'Asia/Kathmandu' })
    t.equal(service.policy().govern('a', '{}').limits.breaker.warnAt, 1)
  },
)
