// The clock is set back between two runs: what had ended stays ended, and what is made from then on lives its own time.
import t, { type Test } from 'tap'
import type { Role } from '../../src/access/role.js'
import { locally } from '../actors.js'
import { build, type Built, type CallAs, giveKeys, manualClock, t0, withKey } from '../support.js'

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
