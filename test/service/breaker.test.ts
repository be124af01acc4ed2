// Denials and expiries in a row: what they lead to, whoever decides and however many at once.
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import { startTelegram } from '../notify/fake-telegram.js'
import { build, type BuildOptions, type CallAs, counter, giveKeys, interleaving } from '../support.js'

const key = 'agent:main:telegram:dm:7'
const minute = 60_000
const named = { key, requester: null }

/** A service in open mode with one session. */
async function open(t: Test, options: BuildOptions = {}) {
  const built = await build(t, { config: { rateLimit: 1_000_000 }, ...options })
  let n = 0
  const ask = async (fields: object = {}) => {
    await built.clock.advance(1000)
    return built.submit({ session_key: key, details: { n: (n += 1) }, ...fields })
  }
  const held = async (fields: object = {}): Promise<string> => {
    const { status, body } = await ask(fields)
    if (status !== 202) throw new Error(`${status} ${body.error}`)
    return body.id
  }
  const end = (id: string, verdict: string, body: object = {}) => built.call('POST', `/confirm/${id}/${verdict}`, body)
  const deny = async (times: number, fields: object = {}) => {
    for (let time = 0; time < times; time++) await end(await held(fields), 'deny')
  }
  const session = async () => {
    const found = await built.service.sessions.read(named, anyone)
    if ('refused' in found) throw new Error(found.sentence)
    return found
  }
  const steps = async () =>
    (await built.events())
      .filter(({ actor }: any) => actor === 'system:breaker')
      .map(({ type, data }: any) => [type, data.failures])
  return { ...built, ask, held, end, deny, session, steps }
}

t.test('the third denial in a row warns: in the next answer, in its record and in its event', async (t) => {
  const { ask, deny, call, steps, events } = await open(t)
  await deny(2)
  t.equal((await ask()).body.session.warning, undefined)
  await deny(1)
  t.same(await steps(), [['session_warned', 3]])
  const { body } = await ask()
  t.match(body.session.warning, /3 requests in a row were denied or expired/)
  t.match((await call('GET', `/confirm/${body.id}`)).body.warnings, [/3 requests in a row/])
  const submitted = (await events()).findLast(({ type }: any) => type === 'submitted')
  t.match(submitted.data.warnings, [/3 requests in a row/])
})

t.test('the sixth ends what the session was granted, and it has to wait', async (t) => {
  const { ask, held, deny, end, call, clock, steps, events } = await open(t)
  await end(await held({ action: 'read_file' }), 'approve', { remember: 'session' })
  t.equal((await ask({ action: 'read_file' })).status, 200)
  await deny(6)
  t.same(await steps(), [
    ['session_warned', 3],
    ['session_paused', 6],
  ])
  t.match((await call('GET', '/whitelist')).body, { count: 0 })
  const paused = (await events()).find(({ type }: any) => type === 'session_paused')
  t.match(paused.data, { grants: [{ action: 'read_file', uses: 1 }] })
  const refused = await ask({ action: 'read_file' })
  t.match(refused, {
    status: 429,
    headers: { 'retry-after': '599' },
    body: { code: 'circuit_open', share: 'streak', retry_after_seconds: 599 },
  })
  await clock.advance(10 * minute)
  t.equal((await ask({ action: 'read_file' })).status, 202, 'a person is asked again')
})

t.test('the ninth suspends, and operators are told in the chat', async (t) => {
  const telegram = await startTelegram(t)
  const { ask, deny, session, clock, steps, stop, dbPath } = await open(t, {
    config: { rateLimit: 1_000_000, ...telegram.config },
  })
  await deny(6)
  await clock.advance(10 * minute)
  await deny(3)
  t.same((await steps()).at(-1), ['session_suspended', 9])
  t.match((await session()).session.suspension, {
    by: 'system:breaker',
    reason: '9 requests in a row were denied or expired',
  })
  t.match(await ask(), { status: 423, body: { code: 'session_suspended' } })
  await clock.advance(60_000)
  const messages = telegram.messages.map(({ text }) => text).filter((text) => /suspended/i.test(text))
  t.equal(messages.length, 1)
  t.match(messages[0], /sessions resume agent:main:telegram:dm:7/)
  await stop()
  const again = await open(t, { dbPath, clock, newId: counter('later') })
  t.equal((await again.ask()).status, 423)
  await again.service.sessions.resume(named, null, 'ops', anyone, 'http')
  await again.deny(1)
  t.equal((await again.ask()).status, 423, 'the streak goes on')
})

t.test('expiries count as denials do', async (t) => {
  const { held, clock, steps } = await open(t)
  for (let n = 0; n < 3; n++) {
    await held({ timeout_seconds: 30 })
    await clock.advance(31_000)
  }
  t.same(await steps(), [['session_warned', 3]])
})

t.test('many that expire at once count each, and lead to one step', async (t) => {
  const { held, clock, session, steps } = await open(t)
  for (let n = 0; n < 40; n++) await held({ timeout_seconds: 60 })
  await clock.advance(10 * minute)
  t.match((await session()).session.streak, { failures: 40, steps: 1 })
  t.same(await steps(), [
    ['session_warned', 3],
    ['session_paused', 6],
  ])
})

t.test('a hundred that expire at once count one after the other, and each step comes with its own', async (t) => {
  const { call, clock, session, events, steps } = await open(t)
  const items = Array.from({ length: 100 }, (_, n) => ({
    action: 'noise',
    description: 'x',
    session_key: key,
    details: { n },
    timeout_seconds: 30,
  }))
  t.equal((await call('POST', '/confirm/batch', { items })).status, 200)
  await clock.advance(30_000)
  t.equal((await session()).session.streak.failures, 100)
  t.same(await steps(), [
    ['session_warned', 3],
    ['session_paused', 6],
  ])
  const told = (await events()).map(({ type }: any) => type)
  const expired = (before: string) => told.slice(0, told.indexOf(before)).filter((type) => type === 'expired').length
  t.same([expired('session_warned'), expired('session_paused')], [3, 6])
  t.equal(told.filter((type) => type === 'expired').length, 100)
})

t.test('what others change while very many expire is counted once and in its place', async (t) => {
  const { interfere, wrapStore } = interleaving()
  const { call, clock, session, events } = await open(t, { wrapStore })
  const items = Array.from({ length: 100 }, (_, n) => ({
    action: 'noise',
    description: 'x',
    session_key: key,
    details: { n },
    timeout_seconds: n === 0 ? 60 : 30,
  }))
  const { body } = await call('POST', '/confirm/batch', { items })
  // The sweep has planned its first changes when somebody denies another request of the session.
  interfere(() => call('POST', `/confirm/${body.results[0].body.id}/deny`))
  await clock.advance(30_000)
  t.equal((await session()).session.streak.failures, 100)
  const ends = (await events()).filter(({ type }: any) => type === 'expired' || type === 'denied')
  t.equal(new Set(ends.map(({ confirmation_id: id }: any) => id)).size, 100)
  t.equal(ends.length, 100)
})

t.test("a person's yes ends a streak; a grant's, a withdrawal and a rotation do not", async (t) => {
  const { held, end, ask, deny, call, session, service, clock } = await open(t)
  await deny(4)
  await end(await held(), 'cancel')
  await call('POST', '/whitelist', { action: 'read_file' })
  t.equal((await ask({ action: 'read_file' })).status, 200)
  await service.sessions.reset(named, 'ops', anyone, 'http')
  await clock.advance(48 * 60 * minute)
  t.match((await session()).session.streak, { failures: 4, steps: 0 })
  await end(await held(), 'approve')
  t.match((await session()).session.streak, { failures: 0, steps: 0 })
  await deny(2)
  t.match((await session()).session.streak, { failures: 2, steps: 0 })
})

for (const nth of [3, 6, 9]) {
  t.test(`the denial number ${nth}, by two channels at the same instant, is one`, async (t) => {
    const { held, end, deny, clock, session, steps, call } = await open(t)
    await deny(Math.min(nth - 1, 6))
    if (nth === 9) {
      await clock.advance(10 * minute)
      await deny(2)
    }
    const before = await steps()
    const id = await held()
    const answers = await Promise.all([
      end(id, 'deny'),
      call('POST', '/decisions', { decisions: [{ id, verdict: 'deny' }] }),
      end(id, 'deny', { denier: 'bo' }),
    ])
    const won = answers.filter(({ body }) => body.status === 'denied' && body.error === undefined)
    t.ok(won.length <= 1)
    t.equal((await session()).session.streak.failures, nth)
    t.equal((await steps()).length, before.length + 1)
  })
}

t.test('two denials at the same instant count as two', async (t) => {
  const { held, end, session, steps } = await open(t)
  const ids = [await held(), await held(), await held()]
  await Promise.all(ids.map((id) => end(id, 'deny')))
  t.equal((await session()).session.streak.failures, 3)
  t.same(await steps(), [['session_warned', 3]])
})

t.test('the same action again and again with other details is noted, the same details are not', async (t) => {
  const { ask, call, session } = await open(t)
  for (let n = 1; n <= 4; n++) t.equal((await ask()).body.session.warning, undefined, `${n}`)
  for (let n = 0; n < 3; n++) await ask({ details: { same: true } })
  t.match((await session()).session.fixation, { action: 'send_mail', repeats: 5 })
  const { body } = await ask()
  t.match(body.session.warning, /asked for 6 times in a row/)
  t.match((await call('GET', `/confirm/${body.id}`)).body.warnings, [/6 times in a row/])
  await call('POST', `/confirm/${body.id}/approve`)
  t.equal((await session()).session.fixation, null)
  t.equal((await ask()).body.session.warning, undefined)
})

t.test('another spelling is the same action', async (t) => {
  const { ask } = await open(t)
  for (const action of ['pay_x', 'Pay-x', 'PAY.X', 'pay__x']) await ask({ action })
  t.match((await ask({ action: 'pay_x' })).body.session.warning, /asked for 5 times in a row/)
})

t.test('another action, or what a grant covers, is no fixation', async (t) => {
  const { ask, call, session } = await open(t)
  await call('POST', '/whitelist', { action: 'read_file' })
  for (let n = 0; n < 6; n++) {
    await ask({ action: n % 2 === 0 ? 'a' : 'b' })
    await ask({ action: 'read_file' })
  }
  t.match((await session()).session.fixation, { repeats: 1 })
})

t.test('the numbers are those of the rule', async (t) => {
  const rules = `rules:
  - { action: wipe, breaker: { warn: 1, wait: 2, suspend: 3, wait_seconds: 5, fixation: 2 } }
  - { action: '*', breaker: { warn: 0, wait: 0, suspend: 0, fixation: 0 } }
`
  const lax = await open(t, { rules })
  await lax.deny(12, { action: 'other' })
  t.same(await lax.steps(), [])
  t.equal((await lax.ask({ action: 'other' })).body.session.warning, undefined)
  await lax.deny(1, { action: 'wipe' })
  t.same(await lax.steps(), [['session_suspended', 13]], 'those of the latest, whatever came before')
  const strict = await open(t, { rules })
  await strict.deny(2, { action: 'wipe' })
  t.same((await strict.ask({ action: 'other' })).status, 429)
  await strict.clock.advance(5000)
  await strict.deny(1, { action: 'wipe' })
  t.same(await strict.steps(), [
    ['session_warned', 1],
    ['session_paused', 2],
    ['session_suspended', 3],
  ])
})

/** A service with keys: an agent and an operator. */
async function closed(t: Test) {
  const built = await build(t, { config: { rateLimit: 1_000_000, openLimit: 0 } })
  const keys = await giveKeys(built, { bot: 'agent', calm: 'agent', ann: 'operator' })
  const ask = async (who: CallAs, session_key: string) => {
    await built.clock.advance(1000)
    return who('POST', '/confirm', { action: 'send_mail', description: 'd', session_key })
  }
  const deny = async (who: CallAs, session_key: string) => {
    const { status, body } = await ask(who, session_key)
    if (status !== 202) throw new Error(`${status} ${body.error}`)
    await keys.ann('POST', `/confirm/${body.id}/deny`)
  }
  return { ...built, ...keys, ask, deny }
}

t.test('a fresh session key is no way out: the requester has to wait, whatever its sessions', async (t) => {
  const { bot, calm, ann, ask, deny, clock } = await closed(t)
  for (let n = 0; n < 5; n++) await deny(bot, n % 2 === 0 ? '' : `fresh ${n}`)
  t.equal((await ask(bot, 'fresh')).status, 202)
  await deny(bot, 'another')
  for (const session of ['', 'fresh', 'fresh 1']) {
    t.match(await ask(bot, session), { status: 429, body: { code: 'circuit_open', error: /^bot had 6 requests/ } })
  }
  t.equal((await ask(calm, 'fresh')).status, 202, 'nobody else does')
  const paused = (await eventsFor(ann)).filter(({ type }: any) => type === 'requester_paused')
  t.match(paused, [{ data: { requester: 'bot', failures: 6 } }])
  await clock.advance(10 * minute)
  const { body } = await ask(bot, '')
  t.ok(body.id)
  await ann('POST', `/confirm/${body.id}/approve`)
  for (let n = 0; n < 5; n++) await deny(bot, `later ${n}`)
  t.equal((await ask(bot, 'x')).status, 202)
})

async function eventsFor(as: CallAs): Promise<any[]> {
  return (await as('GET', '/audit/events?limit=500')).body.events
}

t.test('a hundred denials at once are a hundred, and soon over', async (t) => {
  const { bot, ann, ask, store } = await closed(t)
  const ids: string[] = []
  for (let n = 0; n < 100; n++) ids.push((await ask(bot, 's')).body.id)
  const { body } = await ann('POST', '/decisions', { decisions: ids.map((id) => ({ id, verdict: 'deny' })) })
  t.same(
    body.results.filter((one: any) => one.status_code !== 200),
    [],
  )
  t.equal((await store.sessions.get('bot', 's'))?.streak.failures, 100)
  t.equal((await store.sessions.get('bot', ''))?.streak.failures, 100)
})
