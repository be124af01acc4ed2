// Claim and report: an approval is good once, for what was approved, for a while; and what became of it is on record.
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { type Built, build, type BuildOptions, counter, manualClock, t0, until, interleaving } from '../support.js'

const url = (verb: string, id = 'id-0001') => `/confirm/${id}/${verb}`
const claim = ({ call }: Built, body?: unknown, id?: string) => call('POST', url('claim', id), body)
const report = ({ call }: Built, body: unknown = { outcome: 'succeeded' }, id?: string) =>
  call('POST', url('report', id), body)
const record = async ({ call }: Built, id = 'id-0001') => (await call('GET', `/confirm/${id}`)).body
const types = async ({ events }: Built) => (await events()).map(({ type }) => type)
const metric = async ({ call }: Built, name: string) => {
  const lines = String((await call('GET', '/metrics')).body).split('\n')
  return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1])
}
const executions = (built: Built, outcome: string) => metric(built, `holdpoint_executions_total{outcome="${outcome}"}`)

async function approved(t: Test, options: BuildOptions = {}): Promise<Built> {
  const built = await build(t, options)
  await built.submit({ requester: 'deploy-bot' })
  await built.call('POST', url('approve'))
  return built
}

/** Starts again on the same database, at the same time. */
const restart = (t: Test, { dbPath, clock }: Built, options: BuildOptions = {}) =>
  build(t, { dbPath, clock, newId: counter('late'), ...options })

/** Refused, with the state that stands, and nothing changed but for what is said of it in the history. */
async function refuses(
  t: Test,
  built: Built,
  act: () => ReturnType<Built['call']>,
  wanted: { code: string; status: string; recorded?: boolean },
) {
  const [before, history] = [await record(built), await built.events()]
  const { status, body, headers } = await act()
  t.equal(status, 409, wanted.code)
  t.match(body, { code: wanted.code, status: wanted.status, error: String, detail: String, request_id: String })
  t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
  t.same(await record(built), before)
  const news = (await built.events()).slice(history.length)
  if (wanted.recorded !== true) t.same(news, [])
  else t.match(news, [{ type: 'rejected', confirmation_id: before.id, data: { code: wanted.code } }])
  t.equal(news.length, wanted.recorded === true ? 1 : 0)
  return body
}

// -- the digest ----------------------------------------------------------------------------------------------------------

t.test('one digest is in the answer, the record, the lists, the notice and every event about it', async (t) => {
  const built = await build(t)
  const { submit, call, events, logged } = built
  const { digest } = (await submit({ details: { b: 1, a: [2] } })).body
  t.match(digest, /^[0-9a-f]{64}$/)
  await call('POST', url('approve'))
  t.equal((await claim(built, { digest })).body.digest, digest)
  t.equal((await report(built)).body.digest, digest)
  t.equal((await record(built)).digest, digest)
  t.equal((await call('GET', '/audit')).body.entries[0].digest, digest)
  t.equal((await call('GET', '/confirm')).body.confirmations[0].digest, digest)
  t.same(await types(built), ['submitted', 'notified', 'approved', 'claimed', 'reported'])
  for (const { type, data } of await events()) t.equal(data.digest, digest, type)
  t.ok(logged.some((line) => line.digest === digest.slice(0, 16)))
})

t.test('it differs by requester and session, and not by the order of details', async (t) => {
  const { submit } = await build(t)
  const digest = async (fields: Record<string, unknown>) => (await submit(fields)).body.digest as string
  const digests = [
    await digest({ details: { a: 1, b: 2 } }),
    await digest({ details: { a: 1, b: 2 }, requester: 'other' }),
    await digest({ details: { a: 1, b: 2 }, session_key: 's1' }),
    await digest({ details: { a: 1 } }),
    await digest({ details: { a: 1, b: 2 }, action: 'send_mails' }),
  ]
  t.equal(new Set(digests).size, 5)
  t.equal(await digest({ details: { b: 2, a: 1 }, description: 'Other words', timeout_seconds: 60 }), digests[0])
})

// -- claim ---------------------------------------------------------------------------------------------------------------

t.test('an approval is claimed once, and that is in the record and the history', async (t) => {
  const built = await build(t)
  await built.submit({ requester: 'deploy-bot' })
  await built.clock.advance(1000)
  await built.call('POST', url('approve'))
  t.match(await record(built), {
    execution: 'unclaimed',
    claim_expires_at: t0 / 1000 + 901,
    claim_expires_at_iso: '2026-01-01T00:15:01.000Z',
    claimed_at: null,
    claimed_at_iso: null,
    outcome: null,
  })
  t.equal(await metric(built, 'holdpoint_unclaimed'), 1)
  await built.clock.advance(500)
  const { status, body } = await claim(built)
  t.equal(status, 200)
  const claimed = { status: 'approved', execution: 'claimed', claimed_at: t0 / 1000 + 1.5, outcome: null }
  t.match(body, { id: 'id-0001', action: 'send_mail', details: {}, ...claimed })
  t.match(await record(built), { ...claimed, claimed_at_iso: '2026-01-01T00:00:01.500Z', reported_at: null })
  t.match((await built.events()).at(-1), {
    type: 'claimed',
    actor: 'deploy-bot',
    channel: 'http',
    confirmation_id: 'id-0001',
    data: { execution: 'claimed' },
  })
  t.equal(await metric(built, 'holdpoint_unclaimed'), 0)
  t.equal(await metric(built, 'holdpoint_unreported'), 1)
  t.equal(await executions(built, 'claimed'), 1)
  const again = await refuses(t, built, () => claim(built), {
    code: 'already_claimed',
    status: 'approved',
    recorded: true,
  })
  t.equal(again.claimed_at, t0 / 1000 + 1.5)
})

t.test('a digest that matches is accepted in either case of its letters', async (t) => {
  const built = await build(t)
  for (const id of ['id-0001', 'id-0002']) {
    const { digest } = (await built.submit({ details: { id } })).body
    await built.call('POST', url('approve', id))
    const { status } = await claim(built, { digest: id === 'id-0001' ? digest : digest.toUpperCase() }, id)
    t.equal(status, 200)
  }
})

t.test('another digest is refused and on record, and does not use up the approval', async (t) => {
  const built = await approved(t)
  const { digest } = await record(built)
  const other = (await built.submit({ requester: 'deploy-bot', details: { to: 'somebody else' } })).body.digest
  const wanted = { code: 'digest_mismatch', status: 'approved', recorded: true }
  for (const wrong of [other, '0'.repeat(64), digest.replace(/.$/, digest.endsWith('0') ? '1' : '0')]) {
    const body = await refuses(t, built, () => claim(built, { digest: wrong }), wanted)
    t.equal(body.digest, digest)
  }
  t.match((await built.events()).at(-1), { actor: 'deploy-bot', data: { action: 'send_mail' } })
  t.equal((await claim(built, { digest })).status, 200)
  t.equal(await metric(built, 'holdpoint_executions_total{outcome="claimed"}'), 1)
})

t.test('what is still pending cannot be claimed, with the right digest or none', async (t) => {
  const built = await build(t)
  const { digest } = (await built.submit()).body
  const wanted = { code: 'not_approved', status: 'pending' }
  const { error } = await refuses(t, built, () => claim(built, { digest }), wanted)
  t.match(error, /pending.*Do not act/)
  await refuses(t, built, () => claim(built), wanted)
  await refuses(t, built, () => claim(built, { digest: '0'.repeat(64) }), wanted)
  await built.call('POST', url('approve'))
  t.equal((await claim(built, { digest })).status, 200)
})

t.test('what was denied, cancelled or has expired cannot be claimed', async (t) => {
  for (const [verb, status] of [
    ['deny', 'denied'],
    ['cancel', 'cancelled'],
    [null, 'expired'],
  ] as const) {
    const built = await build(t)
    const { digest } = (await built.submit({ timeout_seconds: 30 })).body
    if (verb === null) await built.clock.advance(30_000)
    else await built.call('POST', url(verb))
    t.match(await record(built), { status, execution: null, claim_expires_at: null })
    const { error } = await refuses(t, built, () => claim(built, { digest }), { code: 'not_approved', status })
    t.match(error, status)
    await refuses(t, built, () => report(built), { code: 'not_claimed', status })
    await built.clock.advance(3_600_000)
    t.match(await record(built), { status, execution: null }, 'and nothing waits for it')
  }
})

t.test('a claim that comes after the deadline is refused even if the expiry was never written down', async (t) => {
  const clock = manualClock()
  const built = await build(t, { clock: { ...clock, wake: () => () => {} } })
  await built.submit({ timeout_seconds: 30 })
  await clock.advance(30_000)
  await refuses(t, built, () => claim(built), { code: 'not_approved', status: 'expired' })
})

t.test('what a grant approved can be claimed, once', async (t) => {
  const built = await build(t)
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const { id, digest, execution } = (await built.submit()).body
  t.equal(execution, 'unclaimed')
  const claimed = await claim(built, { digest }, id)
  t.equal(claimed.status, 200)
  t.match(claimed.body, { status: 'auto_approved', execution: 'claimed' })
  const again = await claim(built, { digest }, id)
  t.equal(again.status, 409)
  t.match(again.body, { code: 'already_claimed', status: 'auto_approved' })
  t.equal((await report(built, { outcome: 'succeeded' }, id)).body.outcome, 'succeeded')
})

t.test(
  'of fifty who claim at once one may act, and as many others are on record as a minute has room for',
  async (t) => {
    const built = await approved(t)
    const { digest } = await record(built)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => claim(built, index % 2 === 0 ? { digest } : undefined)),
    )
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    t.equal(answers.filter(({ status, body }) => status === 409 && body.code === 'already_claimed').length, 49)
    const seen = await types(built)
    t.equal(seen.filter((type) => type === 'claimed').length, 1)
    t.equal(seen.filter((type) => type === 'rejected').length, 31, 'thirty, and once that there are more')
    t.equal(await executions(built, 'claimed'), 1)
  },
)

t.test('of many who approve, deny and claim at once nobody acts on anything but an approval that stands', async (t) => {
  const built = await build(t, { config: { rateLimit: 100 } })
  for (let round = 1; round <= 10; round++) {
    const { id } = (await built.submit()).body
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => claim(built, undefined, id)),
      built.call('POST', url('deny', id)),
      built.call('POST', url('approve', id)),
      ...[1, 2, 3].map(() => claim(built, undefined, id)),
    ])
    const { status, execution } = await record(built, id)
    const claims = [...answers.slice(0, 3), ...answers.slice(5)].filter((one) => one.status === 200).length
    t.equal(claims, execution === 'claimed' ? 1 : 0)
    t.equal(execution !== null, status === 'approved')
  }
})

t.test('an approval is good for fifteen minutes and not a millisecond longer', async (t) => {
  const built = await approved(t)
  const { digest } = await record(built)
  await built.clock.advance(900_000 - 1)
  t.equal((await record(built)).execution, 'unclaimed')
  await built.clock.advance(1)
  await until(async () => (await types(built)).includes('lapsed'))
  const wanted = { code: 'approval_expired', status: 'approved' }
  const body = await refuses(t, built, () => claim(built, { digest }), wanted)
  t.equal(body.claim_expires_at, t0 / 1000 + 900)
  await refuses(t, built, () => claim(built), wanted)
  await refuses(t, built, () => report(built), { code: 'not_claimed', status: 'approved' })
  const mismatch = { code: 'digest_mismatch', status: 'approved', recorded: true }
  await refuses(t, built, () => claim(built, { digest: '0'.repeat(64) }), mismatch)
})

t.test('in the last millisecond it is still good', async (t) => {
  const built = await approved(t)
  await built.clock.advance(900_000 - 1)
  t.equal((await claim(built)).status, 200)
})

t.test('how long an approval is good is a setting, counted from the approval', async (t) => {
  const built = await build(t, { config: { approvalTtl: 60 } })
  await built.submit({ timeout_seconds: 3600 })
  await built.submit({ timeout_seconds: 3600 })
  await built.clock.advance(3_000_000)
  await built.call('POST', url('approve'))
  await built.call('POST', url('approve', 'id-0002'))
  await built.clock.advance(59_999)
  t.equal((await claim(built)).status, 200)
  await built.clock.advance(1)
  t.equal((await claim(built, undefined, 'id-0002')).body.code, 'approval_expired')
})

t.test('an approval keeps its end when the setting changes', async (t) => {
  const first = await approved(t, { config: { approvalTtl: 60 } })
  await first.stop()
  const second = await restart(t, first, { config: { approvalTtl: 3600 } })
  await second.clock.advance(60_000)
  t.equal((await claim(second)).body.code, 'approval_expired')
})

t.test('what a grant approved goes stale like any other approval', async (t) => {
  const built = await build(t, { config: { approvalTtl: 60 } })
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const { id } = (await built.submit()).body
  await built.clock.advance(60_000)
  const { status, body } = await claim(built, undefined, id)
  t.equal(status, 409)
  t.match(body, { code: 'approval_expired', status: 'auto_approved' })
})

t.test('a stale approval is refused even if that was never written down', async (t) => {
  const clock = manualClock()
  const built = await approved(t, { clock: { ...clock, wake: () => () => {} } })
  await clock.advance(900_000)
  t.equal((await built.store.confirmations.get('id-0001'))?.execution?.state, 'unclaimed')
  t.equal((await record(built)).execution, 'lapsed')
  await refuses(t, built, () => claim(built), { code: 'approval_expired', status: 'approved' })
})

t.test(
  'an approval that was told to be stale, by a clock that was set back, does not come to life again',
  async (t) => {
    const first = await approved(t)
    await first.stop()
    const clock = manualClock(t0 - 3_600_000)
    const second = await restart(t, first, { clock })
    t.equal((await claim(second)).body.code, 'approval_expired')
    await clock.advance(3_660_000)
    t.equal((await claim(second)).body.code, 'approval_expired')
  },
)

t.test('what was claimed stays claimed after a restart', async (t) => {
  const first = await approved(t)
  const { digest } = await record(first)
  await first.submit({ requester: 'deploy-bot', details: { n: 2 } })
  await first.call('POST', url('approve', 'id-0002'))
  t.equal((await claim(first, { digest })).status, 200)
  await first.stop()
  const second = await restart(t, first)
  await refuses(t, second, () => claim(second, { digest }), {
    code: 'already_claimed',
    status: 'approved',
    recorded: true,
  })
  t.equal((await claim(second, { digest }, 'id-0002')).body.code, 'digest_mismatch')
  t.equal((await claim(second, undefined, 'id-0002')).status, 200)
  t.equal((await report(second)).status, 200)
})

// -- report --------------------------------------------------------------------------------------------------------------

t.test('a report closes the record, and stands', async (t) => {
  const built = await approved(t)
  await claim(built)
  await built.clock.advance(2000)
  const { status, body } = await report(built, { outcome: 'failed', message: 'the server said no' })
  t.equal(status, 200)
  const closed = {
    status: 'approved',
    execution: 'failed',
    outcome: 'failed',
    report_message: 'the server said no',
    reported_at: t0 / 1000 + 2,
    reported_at_iso: '2026-01-01T00:00:02.000Z',
    claimed_at: t0 / 1000,
  }
  t.match(body, closed)
  t.match(await record(built), closed)
  t.match((await built.events()).at(-1), {
    type: 'reported',
    actor: 'deploy-bot',
    data: { execution: 'failed', message: 'the server said no' },
  })
  t.equal(await executions(built, 'failed'), 1)
  t.equal(await executions(built, 'succeeded'), 0)
  t.equal(await metric(built, 'holdpoint_unreported'), 0)
  for (const outcome of ['succeeded', 'failed']) {
    const again = await refuses(t, built, () => report(built, { outcome }), {
      code: 'already_reported',
      status: 'approved',
    })
    t.equal(again.outcome, 'failed')
  }
  await refuses(t, built, () => claim(built), { code: 'already_claimed', status: 'approved', recorded: true })
  await built.clock.advance(3_600_000)
  t.match(await record(built), closed, 'time does not change it any more')
})

t.test('a report without a message has none', async (t) => {
  const built = await approved(t)
  await claim(built)
  t.match((await report(built, { outcome: 'succeeded', message: '  ' })).body, {
    outcome: 'succeeded',
    report_message: null,
  })
  t.notOk('message' in (await built.events()).at(-1).data)
})

t.test('what was never claimed cannot be reported', async (t) => {
  const built = await build(t)
  await built.submit()
  await refuses(t, built, () => report(built), { code: 'not_claimed', status: 'pending' })
  await built.call('POST', url('approve'))
  await refuses(t, built, () => report(built), { code: 'not_claimed', status: 'approved' })
})

t.test('of many who report at once one stands', async (t) => {
  const built = await approved(t)
  await claim(built)
  const outcomes = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'succeeded' : 'failed'))
  const answers = await Promise.all(outcomes.map((outcome) => report(built, { outcome })))
  const [winner, ...more] = answers.filter(({ status }) => status === 200)
  t.same(more, [])
  t.equal((await record(built)).outcome, winner!.body.outcome)
  t.equal((await types(built)).filter((type) => type === 'reported').length, 1)
})

// -- never claimed, never reported -----------------------------------------------------------------------------------------

t.test('an approval that nobody claims is written down with nobody asking', async (t) => {
  const built = await approved(t)
  await built.clock.advance(900_000)
  await until(async () => (await built.store.confirmations.get('id-0001'))?.execution?.state === 'lapsed')
  t.match((await built.events()).at(-1), {
    type: 'lapsed',
    actor: 'system:timeout',
    channel: 'system',
    confirmation_id: 'id-0001',
    time: t0 / 1000 + 900,
    data: { execution: 'lapsed', action: 'send_mail', digest: /^[0-9a-f]{64}$/ },
  })
  t.match(await record(built), { status: 'approved', execution: 'lapsed', claimed_at: null })
  t.equal((await built.call('GET', '/audit')).body.entries[0].execution, 'lapsed')
  t.equal(await executions(built, 'lapsed'), 1)
  t.equal(await metric(built, 'holdpoint_unclaimed'), 0)
  await built.clock.advance(86_400_000)
  t.equal((await types(built)).filter((type) => type === 'lapsed').length, 1, 'once')
})

t.test('a claim that nobody reports is written down with nobody asking, and a late report is taken', async (t) => {
  const built = await approved(t, { config: { reportTimeout: 120 } })
  await built.clock.advance(60_000)
  await claim(built)
  await built.clock.advance(119_999)
  t.equal((await record(built)).execution, 'claimed')
  await built.clock.advance(1)
  await until(async () => (await built.store.confirmations.get('id-0001'))?.execution?.state === 'unreported')
  t.match((await built.events()).at(-1), {
    type: 'unreported',
    actor: 'system:timeout',
    channel: 'system',
    data: { execution: 'unreported' },
  })
  t.ok(
    built.logged.some(({ level, msg }) => level === 40 && msg === 'unreported'),
    'the log warns',
  )
  t.match(await record(built), { execution: 'unreported', outcome: null, claimed_at: t0 / 1000 + 60 })
  t.equal(await executions(built, 'unreported'), 1)
  t.equal(await metric(built, 'holdpoint_unreported'), 1)
  t.equal(await metric(built, 'holdpoint_overdue_reports'), 1)
  await refuses(t, built, () => claim(built), { code: 'already_claimed', status: 'approved', recorded: true })
  await built.clock.advance(86_400_000)
  const late = await report(built, { outcome: 'succeeded', message: 'sorry' })
  t.equal(late.status, 200)
  t.match(late.body, { execution: 'succeeded', outcome: 'succeeded', report_message: 'sorry' })
  t.equal(await executions(built, 'succeeded'), 1)
  t.equal((await types(built)).filter((type) => type === 'unreported').length, 1)
  await refuses(t, built, () => report(built), { code: 'already_reported', status: 'approved' })
})

t.test('each goes stale at its own time', async (t) => {
  const built = await build(t, { config: { approvalTtl: 100, reportTimeout: 50 } })
  for (const id of ['id-0001', 'id-0002', 'id-0003']) {
    await built.submit()
    await built.call('POST', url('approve', id))
    await built.clock.advance(10_000)
  }
  await claim(built, undefined, 'id-0002')
  await built.submit({ timeout_seconds: 30 })
  await built.clock.advance(200_000)
  await until(async () => (await types(built)).filter((type) => type === 'lapsed').length === 2)
  const late = (await built.events()).filter(({ actor }) => actor === 'system:timeout')
  t.same(
    late.map(({ confirmation_id, type, time }) => [confirmation_id, type, time * 1000 - t0]),
    [
      ['id-0004', 'expired', 60_000],
      ['id-0002', 'unreported', 80_000],
      ['id-0001', 'lapsed', 100_000],
      ['id-0003', 'lapsed', 120_000],
    ],
  )
})

t.test('what went stale while the service was down is written down at its start', async (t) => {
  const first = await approved(t)
  await first.submit()
  await first.call('POST', url('approve', 'id-0002'))
  await claim(first, undefined, 'id-0002')
  await first.stop()
  await first.clock.advance(7_200_000)
  const second = await restart(t, first)
  t.equal((await second.store.confirmations.get('id-0001'))?.execution?.state, 'lapsed')
  t.equal((await second.store.confirmations.get('id-0002'))?.execution?.state, 'unreported')
  const news = (await second.events()).filter(({ actor }) => actor === 'system:timeout')
  t.same(news.map(({ type }) => type).sort(), ['lapsed', 'unreported'])
  t.equal(await executions(second, 'lapsed'), 1)
  t.equal(await executions(second, 'unreported'), 1)
  t.equal((await claim(second)).body.code, 'approval_expired')
  t.equal((await report(second, { outcome: 'failed' }, 'id-0002')).status, 200)
})

t.test('what a restart finds goes stale at its time', async (t) => {
  const first = await approved(t)
  await first.submit()
  await first.call('POST', url('approve', 'id-0002'))
  await claim(first, undefined, 'id-0002')
  await first.stop()
  const second = await restart(t, first)
  t.equal(await metric(second, 'holdpoint_unclaimed'), 1)
  t.equal(await metric(second, 'holdpoint_unreported'), 1)
  await second.clock.advance(900_000)
  await until(async () => (await types(second)).at(-1) === 'lapsed')
  await second.clock.advance(2_700_000)
  await until(async () => (await types(second)).at(-1) === 'unreported')
})

t.test('a crowd that goes stale together is written down, each once', async (t) => {
  const built = await build(t, { config: { approvalTtl: 60 } })
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const items = Array.from({ length: 100 }, () => ({ action: 'send_mail', description: 'x' }))
  await built.call('POST', '/confirm/batch', { items })
  t.equal(await metric(built, 'holdpoint_unclaimed'), 100)
  await built.clock.advance(60_000)
  await until(async () => (await executions(built, 'lapsed')) === 100)
  t.equal((await types(built)).filter((type) => type === 'lapsed').length, 100)
})

// -- storage -------------------------------------------------------------------------------------------------------------

t.test('nobody may act on a claim that could not be written down', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
  })
  const built = await approved(t, { wrapStore })
  broken = true
  for (let i = 0; i < 2; i++) t.match(await claim(built), { status: 503, body: { code: 'storage_unavailable' } })
  t.equal((await claim(built, { digest: '0'.repeat(64) })).status, 503, 'a mismatch that cannot be recorded')
  t.equal((await record(built)).execution, 'unclaimed')
  broken = false
  t.equal((await claim(built)).status, 200)
  broken = true
  t.equal((await report(built)).status, 503)
  t.equal((await claim(built)).status, 503)
  t.equal((await record(built)).execution, 'claimed')
  broken = false
  t.equal((await report(built)).status, 200)
})

t.test('a claim that loses a race is judged anew', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await approved(t, { wrapStore })
  interfere(() => built.service.claim({ id: 'id-0001', key: null, caller: anyone, via: 'http' }, null))
  t.match(await claim(built), { status: 409, body: { code: 'already_claimed' } })
  await built.submit()
  built.store.commit = () => Promise.resolve('conflict')
  await built.call('POST', url('approve', 'id-0002'))
  t.match(await report(built), { status: 503, body: { code: 'contended' } })
  t.equal((await record(built)).execution, 'claimed')
})

// -- what makes no sense ---------------------------------------------------------------------------------------------------

const malformed: [name: string, verb: string, body: string, error: RegExp][] = [
  ['broken JSON', 'claim', '{"digest":', /JSON object/],
  ['null', 'claim', 'null', /JSON object/],
  ['a list', 'claim', '[]', /JSON object/],
  ['a text', 'claim', '"x"', /JSON object/],
  ['a number as digest', 'claim', '{"digest":5}', /^Field 'digest' must be a string$/],
  ['a null digest', 'claim', '{"digest":null}', /^Field 'digest' must be a string$/],
  ['an empty digest', 'claim', '{"digest":""}', /64 hexadecimal digits/],
  ['a short digest', 'claim', `{"digest":"${'a'.repeat(16)}"}`, /64 hexadecimal digits/],
  ['a long digest', 'claim', `{"digest":"${'a'.repeat(65)}"}`, /64 hexadecimal digits/],
  ['a digest of letters', 'claim', `{"digest":"${'g'.repeat(64)}"}`, /64 hexadecimal digits/],
  ['a digest with a line break', 'claim', `{"digest":"${'a'.repeat(64)}\\n"}`, /64 hexadecimal digits/],
  ['a digest with a prefix', 'claim', `{"digest":"sha256:${'a'.repeat(64)}"}`, /64 hexadecimal digits/],
  ['a prototype key', 'claim', '{"__proto__":{}}', /must not hold the keys/],
  ['nothing', 'report', '', /JSON object/],
  ['broken JSON', 'report', '{', /JSON object/],
  ['null', 'report', 'null', /JSON object/],
  ['no outcome', 'report', '{}', /^Field 'outcome' must be 'succeeded' or 'failed'$/],
  ['an unknown outcome', 'report', '{"outcome":"done"}', /^Field 'outcome' must be/],
  ['a state as outcome', 'report', '{"outcome":"unreported"}', /^Field 'outcome' must be/],
  ['a list as outcome', 'report', '{"outcome":["failed"]}', /^Field 'outcome' must be/],
  ['a number as message', 'report', '{"outcome":"failed","message":5}', /^Field 'message' must be a string$/],
  ['a null character', 'report', '{"outcome":"failed","message":"\\u0000"}', /null characters/],
  ['half a character', 'report', '{"outcome":"failed","message":"\\ud800"}', /valid Unicode/],
  ['an endless message', 'report', `{"outcome":"failed","message":"${'x'.repeat(10_001)}"}`, /at most 10000/],
]
t.test('a malformed claim or report is refused with a clear sentence and changes nothing', async (t) => {
  const built = await approved(t)
  const tryAll = async (verb: string) => {
    const [before, history] = [await record(built), await built.events()]
    for (const [name, to, body, error] of malformed) {
      if (to !== verb) continue
      const answer = await built.call('POST', url(verb), body)
      t.equal(answer.status, 400, `${verb} with ${name}`)
      t.match(answer.body.error, error)
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    t.equal((await built.call('POST', url(verb), 'outcome=failed', form)).status, 415)
    t.same(await record(built), before)
    t.same(await built.events(), history)
  }
  await tryAll('claim')
  await claim(built)
  await tryAll('report')
  t.equal((await report(built, { outcome: 'failed', message: 'x'.repeat(10_000) })).status, 200)
})

t.test('a claim with a misspelt field is refused, and the approval is still there', async (t) => {
  const built = await approved(t)
  for (const [body, advice] of [
    [{ diggest: '0'.repeat(64) }, /did you mean 'digest'\?/],
    [{ Digest: '0'.repeat(64) }, /did you mean 'digest'\?/],
    [{ digest: '0'.repeat(64), force: true }, /'force' here; it takes digest\.$/],
  ] as const) {
    const { status, body: answer } = await claim(built, body)
    t.equal(status, 400)
    t.match(answer, { code: 'unknown_field', error: advice })
  }
  t.equal((await claim(built, {})).status, 200)
})

t.test('an unknown id answers 404, and other methods 405', async (t) => {
  const { call, events } = await build(t)
  for (const id of ['nope', '%00', 'x'.repeat(5000), "'; DROP TABLE confirmations; --"]) {
    for (const verb of ['claim', 'report']) {
      const valid = verb === 'claim' ? {} : { outcome: 'failed' }
      const { status, body } = await call('POST', url(verb, encodeURI(id)), valid)
      t.equal(status, 404)
      t.equal(body.code, 'not_found')
    }
  }
  t.equal((await call('GET', url('claim'))).status, 405)
  t.equal((await call('DELETE', url('report'))).status, 405)
  t.same(await events(), [])
})
