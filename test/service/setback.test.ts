// The clock is set back between two runs: what had ended stays ended, and what is made from then on lives its own time.
import t, { type Test } from 'tap'
import { anyone, localOwner, type Role } from '../../src/access/role.js'
import { locally } from '../actors.js'
import { build, type Built, type CallAs, counter, giveKeys, manualClock, t0, withKey } from '../support.js'

const minute = 60_000
const hour = 60 * minute

async function addKey({ call, service }: Built, name: string, role: Role, expiresInMs: number): Promise<CallAs> {
  const made = await service.people.addKey({ name, role, expiresInMs }, locally)
  if ('refused' in made) throw new Error(made.sentence)
  return withKey(call, made.secret, made.key.id)
}

/** Another run on the same database, at this time. */
async function restart(t: Test, before: Built, at: number): Promise<Built> {
  await before.stop()
  return build(t, { dbPath: before.dbPath, clock: manualClock(at) })
}

const statusOf = async (as: CallAs, built: Built) => (await withKey(built.call, as.key)('GET', '/confirm')).status

t.test('a key that had ended stays ended when the clock was set back across a restart', async (t) => {
  const first = await build(t)
  const { admin } = await giveKeys(first, { admin: 'admin' })
  const ended = await addKey(first, 'ended', 'operator', 50 * minute)
  const living = await addKey(first, 'living', 'operator', 2 * hour)
  const expired = await addKey(first, 'expired', 'operator', minute)
  t.equal(await statusOf(ended, first), 200)
  await first.clock.advance(hour)
  t.equal(await statusOf(ended, first), 401, 'which is the latest time on record')

  const second = await restart(t, first, t0 + 5 * minute)
  t.equal(second.service.now(), t0 + 5 * minute, 'the clock itself follows the system')
  t.equal(await statusOf(ended, second), 401)
  t.equal(await statusOf(living, second), 200)
  const { events } = (await withKey(second.call, admin.key)('GET', '/audit/events?type=key_revoked&actor=system:clock'))
    .body
  t.match(events, [{ data: { key_id: ended.keyId, reason: /before the clock was set back/ } }])
  t.equal(events.length, 1)
  t.equal(await statusOf(expired, second), 401, 'what is over by this clock too needs nothing')
  await second.clock.advance(25 * minute)
  t.equal(await statusOf(ended, second), 401, 'also when time goes on')
  const young = await addKey(second, 'young', 'operator', 10 * minute)

  const third = await restart(t, second, t0 + 35 * minute)
  t.equal(await statusOf(young, third), 200, 'made after the setback, it has its own time')
  t.equal(await statusOf(ended, third), 401)
  await third.clock.advance(10 * minute)
  t.equal(await statusOf(young, third), 401)
  const fourth = await restart(t, third, t0 + 36 * minute)
  t.equal(await statusOf(young, fourth), 401, 'and stays ended when it is set back once more')
  t.equal(await statusOf(living, fourth), 200)
})

t.test('a whitelist entry that had ended stays ended when the clock was set back across a restart', async (t) => {
  const first = await build(t)
  await first.call('POST', '/whitelist', { action: 'send_mail', ttl_seconds: 600 })
  await first.call('POST', '/whitelist', { action: 'tag', ttl_seconds: 7200 })
  await first.call('POST', '/whitelist', { action: 'ping' })
  t.equal((await first.submit()).status, 200)
  await first.clock.advance(hour)
  t.equal((await first.submit()).status, 202)

  const second = await restart(t, first, t0 + minute)
  t.equal((await second.submit()).status, 202)
  t.equal((await second.submit({ action: 'tag' })).status, 200)
  t.equal((await second.submit({ action: 'ping' })).status, 200)
  const { events } = (await second.call('GET', '/audit/events?type=revoked')).body
  t.match(events, [{ actor: 'system:clock', channel: 'system', data: { action: 'send_mail', uses: 1 } }])
  t.equal(events.length, 1)
  t.equal((await second.call('POST', '/whitelist', { action: 'send_mail', ttl_seconds: 600 })).status, 201)
  t.equal((await second.submit()).status, 200, 'another may be given')

  const third = await restart(t, second, t0 + 2 * minute)
  t.equal((await third.submit()).status, 200, 'and is good after a restart')
})

t.test('a clock that goes forward ends nothing before its time', async (t) => {
  const first = await build(t)
  const key = await addKey(first, 'root', 'admin', hour)
  const second = await restart(t, first, t0 + 59 * minute)
  t.equal(await statusOf(key, second), 200)
  t.same((await withKey(second.call, key.key)('GET', '/audit/events?type=key_revoked')).body.events, [])
})

// -- sessions ------------------------------------------------------------------------------------------------------------

const inSession = { session_key: 's-1' }
const named = { key: 's-1', requester: null }
const idle = 'sessions: { mode: idle, idle: 60 }'

/** Asks in the session, each time for something else, and denies it. */
async function deny({ submit, call }: Built, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    const { status, body } = await submit({ ...inSession, action: `action_${number}` })
    if (status !== 202) throw new Error(JSON.stringify(body))
    await call('POST', `/confirm/${body.id}/deny`)
  }
}

t.test(
  'a session that has to wait waits as long as it would have, and not until the clock is there again',
  async (t) => {
    const first = await build(t)
    await first.clock.advance(24 * hour)
    await deny(first, 6)
    t.equal((await first.submit(inSession)).status, 429)
    await first.clock.advance(minute)

    const second = await restart(t, first, t0)
    t.equal((await second.submit(inSession)).status, 429)
    await second.clock.advance(10 * minute - 1)
    t.equal((await second.submit(inSession)).status, 429)
    await second.clock.advance(1)
    await deny(second, 3)
    t.equal((await second.submit(inSession)).status, 423, 'and what it does after the setback has its consequences')
  },
)

t.test('a session that rotated ahead of the clock can be trusted again by what is granted from then on', async (t) => {
  const first = await build(t)
  await first.clock.advance(hour)
  await first.submit(inSession)
  await first.call('POST', '/confirm/id-0001/deny')
  await first.call('POST', '/whitelist', { action: 'send_mail', ...inSession })
  await first.service.sessions.reset(named, 'ops', anyone, 'http')
  t.equal((await first.submit(inSession)).status, 202)

  const second = await restart(t, first, t0 + minute)
  t.equal((await second.submit(inSession)).status, 202, 'what the rotation ended stays ended')
  await second.clock.advance(1)
  t.equal((await second.call('POST', '/whitelist', { action: 'send_mail', ...inSession })).status, 201)
  t.equal((await second.submit(inSession)).status, 200)
})

t.test('an entry for all requesters of a session is not good again for one that a rotation took it from', async (t) => {
  const first = await build(t)
  const { bot, olga } = await giveKeys(first, { bot: 'agent', olga: 'operator' })
  const ask = (built: Built) =>
    withKey(built.call, bot.key)('POST', '/confirm', { action: 'send_mail', description: 'd', ...inSession })
  await first.clock.advance(hour)
  t.equal((await olga('POST', '/whitelist', { action: 'send_mail', ...inSession })).status, 201)
  await first.clock.advance(minute)
  t.equal((await ask(first)).status, 200)
  await first.service.sessions.reset(named, 'ops', localOwner, 'local')
  await first.clock.advance(minute)
  const { id } = (await ask(first)).body
  t.equal((await olga('POST', `/confirm/${id}/deny`)).status, 200)

  const second = await restart(t, first, t0 + minute)
  t.equal((await ask(second)).status, 202)
  const revoked = (await withKey(second.call, olga.key)('GET', '/audit/events?type=revoked')).body.events
  t.match(revoked, [{ actor: 'system:clock', data: { action: 'send_mail', session_key: 's-1', uses: 1 } }])
  t.equal(revoked.length, 1)
})

t.test('a session that was active ahead of the clock is reset after its time by this clock', async (t) => {
  const first = await build(t, { rules: idle })
  await first.clock.advance(24 * hour)
  await first.submit({ ...inSession, timeout_seconds: 60 })

  await first.stop()
  const again = { dbPath: first.dbPath, clock: manualClock(t0), newSessionId: counter('later') }
  const second = await build(t, { rules: idle, ...again })
  const runNow = async () => (await second.store.sessions.get('', 's-1'))!.run!
  t.match(await runNow(), { createdAt: t0, lastActiveAt: t0, messages: 1 })
  await second.clock.advance(hour - 1)
  t.match(await runNow(), { createdAt: t0, messages: 1 })
  await second.clock.advance(1)
  t.match(await runNow(), { createdAt: t0 + hour, messages: 0 })
})

t.test('so is one whose messages are later than all that is on record', async (t) => {
  const first = await build(t, { rules: idle })
  await first.service.sessions.addMessages('s-1', 1, anyone, 'http')
  await first.clock.advance(hour - 1)
  await first.service.sessions.addMessages('s-1', 1, anyone, 'http')
  t.ok((await first.store.events.lastTime()) < t0 + minute, 'which is no event')
  const second = await restart(t, first, t0 + minute)
  t.match((await second.store.sessions.get('', 's-1'))!.run, { lastActiveAt: t0 + minute, messages: 2 })
})

t.test('what is not ahead of the clock stays as it is', async (t) => {
  const first = await build(t)
  await deny(first, 6)
  await first.service.sessions.suspend(named, 'x', 'ops', anyone, 'http')
  const before = await first.store.sessions.get('', 's-1')
  await first.clock.advance(hour)
  await first.submit()
  const second = await restart(t, first, t0 + minute)
  t.same(await second.store.sessions.get('', 's-1'), before)
})
