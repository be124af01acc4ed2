// What is counted of sessions: exactly what is on record, and what stands in the store.
import t from 'tap'
import { anyone } from '../src/access/role.js'
import { type Built, build, giveKeys } from './support.js'

const hour = 3_600_000
const session = { session_key: 's-1' }
const named = { key: 's-1', requester: null }

/** The value of one line, with its labels as they stand there. */
async function metric({ call }: Pick<Built, 'call'>, line: string, headers = {}): Promise<number> {
  const { body } = await call('GET', '/metrics', undefined, headers)
  const found = String(body)
    .split('\n')
    .find((one) => one.startsWith(`${line} `))
  return Number(found?.split(' ').at(-1))
}

/** Asks in a session, and denies. */
async function deny({ submit, call }: Pick<Built, 'submit' | 'call'>, count: number, of = session): Promise<void> {
  for (let number = 0; number < count; number++) {
    const { body } = await submit({ ...of, action: `action_${number}` })
    await call('POST', `/confirm/${body.id}/deny`)
  }
}

t.test('every series of sessions is there from the start, at zero', async (t) => {
  const built = await build(t)
  const reasons = ['idle', 'daily', 'message_limit', 'suspended', 'manual', 'switched']
  for (const line of [
    ...reasons.map((reason) => `holdpoint_session_rotations_total{reason="${reason}"}`),
    ...['warn', 'wait', 'suspend'].map((step) => `holdpoint_breaker_steps_total{step="${step}",of="session"}`),
    'holdpoint_breaker_steps_total{step="wait",of="requester"}',
    'holdpoint_fixation_warnings_total',
    'holdpoint_share_refusals_total{share="streak"}',
    'holdpoint_sessions',
    'holdpoint_sessions_suspended',
  ]) {
    t.equal(await metric(built, line), 0, line)
  }
})

t.test('rotations are counted by their reason', async (t) => {
  const built = await build(t, { rules: 'sessions: { mode: idle, idle: 60 }' })
  const { submit, service, clock } = built
  await submit({ ...session, timeout_seconds: 60 })
  await clock.advance(2 * hour)
  t.equal(await metric(built, 'holdpoint_session_rotations_total{reason="idle"}'), 1)
  await service.sessions.reset(named, 'ops', anyone, 'http')
  t.equal(await metric(built, 'holdpoint_session_rotations_total{reason="manual"}'), 1)
  t.equal(await metric(built, 'holdpoint_session_rotations_total{reason="idle"}'), 1)
})

t.test('the steps of the breaker are counted, and so is what it refuses', async (t) => {
  const built = await build(t, { config: { rateLimit: 1000 } })
  const step = (name: string) => metric(built, `holdpoint_breaker_steps_total{step="${name}",of="session"}`)
  const refusals = () => metric(built, 'holdpoint_share_refusals_total{share="streak"}')
  await deny(built, 2)
  t.equal(await step('warn'), 0)
  await deny(built, 1)
  t.equal(await step('warn'), 1)
  await deny(built, 3)
  t.same([await step('warn'), await step('wait'), await step('suspend')], [1, 1, 0])
  t.equal(await refusals(), 0)
  t.equal((await built.submit(session)).status, 429)
  t.equal(await refusals(), 1)
  t.equal(await metric(built, 'holdpoint_rejections_total{code="circuit_open"}'), 1)
  await built.clock.advance(600_000)
  await deny(built, 3)
  t.equal(await step('suspend'), 1)
  t.equal((await built.submit(session)).status, 423)
  t.equal(await refusals(), 1, 'who is suspended does not wait')
  t.equal(await metric(built, 'holdpoint_rejections_total{code="session_suspended"}'), 1)
})

t.test('a requester that has to wait over all its sessions is a step of its own', async (t) => {
  const built = await build(t, { config: { rateLimit: 1000 } })
  const { bot, olga } = await giveKeys(built, { bot: 'agent', olga: 'operator' })
  for (let number = 0; number < 6; number++) {
    const asked = { action: 'send_mail', description: 'd', session_key: `s-${number}` }
    const { body } = await bot('POST', '/confirm', asked)
    await olga('POST', `/confirm/${body.id}/deny`)
  }
  const headers = { authorization: `Bearer ${olga.key}` }
  t.equal(await metric(built, 'holdpoint_breaker_steps_total{step="wait",of="requester"}', headers), 1)
  t.equal(await metric(built, 'holdpoint_breaker_steps_total{step="wait",of="session"}', headers), 0)
  t.equal(await metric(built, 'holdpoint_sessions', headers), 6)
})

t.test('what an operator suspends is no step, and is in the gauge until it is resumed', async (t) => {
  const built = await build(t)
  const { submit, service } = built
  const gauges = async () => [
    await metric(built, 'holdpoint_sessions'),
    await metric(built, 'holdpoint_sessions_suspended'),
  ]
  await submit(session)
  await submit({ session_key: 's-2' })
  await submit()
  t.same(await gauges(), [2, 0], 'what has no key is no session')
  await service.sessions.suspend(named, 'looking into it', 'ops', anyone, 'http')
  t.same(await gauges(), [2, 1])
  t.equal(await metric(built, 'holdpoint_breaker_steps_total{step="suspend",of="session"}'), 0)
  await service.sessions.resume(named, null, 'ops', anyone, 'http')
  t.same(await gauges(), [2, 0])
})

t.test('each submission that carries the warning of a fixation is counted, and no other', async (t) => {
  const built = await build(t)
  const count = () => metric(built, 'holdpoint_fixation_warnings_total')
  for (const amount of [1, 2, 3, 4]) await built.submit({ ...session, details: { amount } })
  t.equal(await count(), 0)
  await built.submit({ ...session, details: { amount: 5 } })
  t.equal(await count(), 1)
  await built.submit({ ...session, details: { amount: 6 } })
  t.equal(await count(), 2)
  await built.submit({ ...session, action: 'other' })
  t.equal(await count(), 2)
  await deny(built, 3, { session_key: 's-2' })
  await built.submit({ session_key: 's-2' })
  t.equal(await count(), 2, 'the warning of denials is another')
})
