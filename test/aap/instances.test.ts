// Instances of the Agent Approval Protocol, as its section on security and its pages on HTTP want them: made, named and deleted by
// their provisioner alone, safe to ask for again, and never back once they are deleted.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hashSecret } from '../../src/access/key.js'
import { carryOut } from '../../src/cli/dispatch.js'
import { readInvocation } from '../../src/invocation.js'
import type { Cursor, Store } from '../../src/store/store.js'
import { type Answer, build, giveKeys, interleaving, manualClock, temporaryFolder, withKey } from '../support.js'
import {
  approve,
  changesNothing,
  credentialOf,
  deny,
  history,
  newKey,
  propose,
  provider,
  provision,
  read,
  readInstance,
  record,
  remove,
  rename,
} from './wire.js'

t.test('an instance is made with a credential of its own, which asks under the instance’s name', async (t) => {
  const built = await provider(t)
  const made = await provision(built.platform, { instance_name: 'codex-laptop' })
  t.equal(made.status, 201)
  t.equal(made.body.instance.name, 'codex-laptop')
  const { id } = (await propose(credentialOf(built, made))).body
  t.equal((await record(built, id)).requester, 'codex-laptop')
  t.match(await readInstance(built.platform, made.body.instance.id), { status: 200, body: made.body.instance })
  t.same(
    Object.keys((await readInstance(built.platform, made.body.instance.id)).body),
    ['id', 'name'],
    'and no credential',
  )
  const added = (await history(built, 'type=key_added')).at(-1)
  t.match(added, { actor: 'platform', channel: 'aap', data: { name: 'codex-laptop', role: 'agent' } })
})

t.test('an instance never gets the name of somebody who is there, or one that looks like it', async (t) => {
  const built = await provider(t)
  for (const name of ['alice', 'bot', 'AIice', 'platform']) {
    const { instance, credential } = (await provision(built.platform, { instance_name: name })).body
    t.match(instance.name, new RegExp(`^${name}-[0-9a-f]{12}$`))
    const { id } = (await propose(withKey(built.call, credential.token))).body
    t.equal((await record(built, id)).requester, instance.name)
    t.equal((await read(built.bot, id)).status, 404)
  }
  const one = (await provision(built.platform)).body.instance
  const other = (await provision(built.platform)).body.instance
  t.match(one.name, /^instance-[0-9a-f]{12}$/)
  t.not(one.name, other.name)
  for (const long of ['n'.repeat(100), '\u{1d4d0}'.repeat(100)]) {
    t.equal((await provision(built.platform, { instance_name: long })).body.instance.name, long)
    const { name } = (await provision(built.platform, { instance_name: long })).body.instance
    t.ok([...name].length === 100 && name.isWellFormed(), name)
  }
})

t.test('an instance does not get what somebody asked for under its name while the service was open', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit({ requester: 'codex' })).body
  const { platform } = await giveKeys(built, { platform: 'provisioner' })
  const { instance, credential } = (await provision(platform, { instance_name: 'codex' })).body
  t.match(instance.name, /^codex-/)
  t.equal((await withKey(built.call, credential.token)('GET', `/confirm/${id}`)).status, 404)
})

t.test('the same again answers the same credential, of which only the hash is kept', async (t) => {
  const built = await provider(t)
  const key = newKey()
  const made = await provision(built.platform, { instance_name: 'one' }, key)
  await rename(built.platform, made.body.instance.id, { instance_name: 'two' })
  for (const again of [
    await provision(built.platform, { instance_name: 'one' }, key),
    await provision(built.platform, { instance_name: 'one' }, key),
  ]) {
    t.equal(again.status, 200)
    t.same(again.body, made.body)
  }
  t.equal((await history(built, 'type=key_added')).length, 6)
  const { token } = made.body.credential
  const files = [built.dbPath, `${built.dbPath}-wal`].map((file) => readFileSync(file, 'latin1')).join('')
  t.notOk(files.includes(token) || files.includes(token.slice(17)), 'the credential')
  t.ok(files.includes(hashSecret(token)), 'its hash')
  t.notOk(files.includes(built.platform.key), 'nor what it is derived from')
  t.notOk(files.includes(key), 'nor the Idempotency-Key')
  t.notOk(JSON.stringify(built.logged).includes(token), 'nor is it in the log')
})

t.test('with the key rotated the credential cannot be told again, and nothing else is told in its place', async (t) => {
  const built = await provider(t)
  const key = newKey()
  const made = await provision(built.platform, {}, key)
  const { body } = await built.root('POST', `/keys/${built.platform.keyId}/rotate`)
  const rotated = withKey(built.call, body.key)
  await changesNothing(t, built, () => provision(rotated, {}, key), 409, 'credential_lost')
  t.equal((await readInstance(rotated, made.body.instance.id)).status, 200, 'it is the provisioner’s still')
})

t.test('of two that make the same instance at the same time one does, and both get its credential', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const key = newKey()
  let first: Answer
  interfere(async () => (first = await provision(built.platform, { instance_name: 'x' }, key)))
  const second = await provision(built.platform, { instance_name: 'x' }, key)
  t.equal(first!.status, 201)
  t.equal(second.status, 200)
  t.same(second.body, first!.body)
})

t.test('an update answers again what it answered, and undoes no later one', async (t) => {
  const built = await provider(t)
  const { platform } = built
  const { id } = (await provision(platform, { instance_name: 'one' })).body.instance
  const [first, second, nothing] = [newKey(), newKey(), newKey()]
  t.match(await rename(platform, id, { instance_name: 'two' }, first), { status: 200, body: { id, name: 'two' } })
  t.match(await rename(platform, id, { delivery: null }, nothing), { status: 200, body: { id, name: 'two' } })
  t.match(await rename(platform, id, { instance_name: 'three' }, second), { status: 200, body: { id, name: 'three' } })
  t.match(await rename(platform, id, { instance_name: 'two' }, first), { status: 200, body: { id, name: 'two' } })
  t.match(await rename(platform, id, { delivery: null }, nothing), { status: 200, body: { id, name: 'two' } })
  t.equal((await readInstance(platform, id)).body.name, 'three')
  await changesNothing(
    t,
    built,
    () => rename(platform, id, { instance_name: 'four' }, first),
    409,
    'idempotency_conflict',
  )
})

t.test('a name that is changed changes nothing of who asked', async (t) => {
  const built = await provider(t)
  const made = await provision(built.platform, { instance_name: 'one' })
  await rename(built.platform, made.body.instance.id, { instance_name: 'alice' })
  const { id } = (await propose(credentialOf(built, made))).body
  t.equal((await record(built, id)).requester, 'one')
  t.equal((await approve(built, id)).status, 200, 'she did not ask')
})

t.test(
  'deleting an instance revokes its credential and withdraws what is pending, and what was decided stands',
  async (t) => {
    const built = await provider(t)
    const made = await provision(built.platform, { instance_name: 'one' })
    const as = credentialOf(built, made)
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push((await propose(as)).body.id)
    await approve(built, ids[0]!)
    await deny(built, ids[1]!)
    const held = read(as, ids[2]!, '?wait=30s')
    await built.clock.advance(10)
    const { id } = made.body.instance
    t.equal((await remove(built.platform, id)).status, 204)
    t.equal((await held).status, 401)
    const states = []
    for (const one of ids) states.push((await record(built, one)).status)
    t.same(states, ['approved', 'denied', 'cancelled', 'cancelled'])
    t.match(await record(built, ids[2]!), { resolved_by: 'platform', reason: 'its instance was deleted' })
    t.equal((await read(as, ids[0]!)).status, 401, 'an approval that it has not fetched it does not get')
    t.equal((await propose(as)).status, 401)
  },
)

t.test('deleting it again is no mistake, and nothing brings it back', async (t) => {
  const built = await provider(t)
  const { platform } = built
  const [made, changed] = [newKey(), newKey()]
  const first = await provision(platform, { instance_name: 'one' }, made)
  const { id } = first.body.instance
  await rename(platform, id, { instance_name: 'two' }, changed)
  await remove(platform, id)
  for (const days of [0, 8]) {
    await built.clock.advance(days * 86_400_000)
    t.equal((await remove(platform, id)).status, 204)
    await changesNothing(t, built, () => readInstance(platform, id), 404, 'not_found')
    await changesNothing(t, built, () => rename(platform, id, { instance_name: 'two' }, changed), 404, 'not_found')
    await changesNothing(t, built, () => rename(platform, id, { instance_name: 'three' }), 404, 'not_found')
    await changesNothing(t, built, () => provision(platform, { instance_name: 'one' }, made), 409, 'instance_deleted')
    t.equal((await propose(credentialOf(built, first))).status, 401)
  }
  const next = (await provision(platform, { instance_name: 'one' })).body.instance
  t.match(next.name, /^one-/, 'nor does another get its name, and with it its record')
})

t.test('what is asked for while it is deleted is withdrawn, too', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const made = await provision(built.platform)
  const as = credentialOf(built, made)
  let late: string
  interfere(async () => (late = (await propose(as)).body.id))
  t.equal((await remove(built.platform, made.body.instance.id)).status, 204)
  t.equal((await record(built, late!)).status, 'cancelled')
})

t.test('what is pending is withdrawn however many others wait before it', async (t) => {
  const start: Cursor = [Infinity, Infinity]
  const wrapStore = (store: Store): Store => {
    const list: Store['confirmations']['list'] = async (filter, order, limit, after, ...rest) =>
      after === null && filter.statuses?.length === 1
        ? { items: [], next: start }
        : store.confirmations.list(filter, order, limit, after, ...rest)
    return { ...store, confirmations: { ...store.confirmations, list } }
  }
  const built = await provider(t, { wrapStore })
  const made = await provision(built.platform)
  const { id } = (await propose(credentialOf(built, made))).body
  t.equal((await remove(built.platform, made.body.instance.id)).status, 204)
  t.equal((await record(built, id)).status, 'cancelled')
})

t.test('a decision that comes in between stands, and the instance is deleted all the same', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const made = await provision(built.platform)
  const as = credentialOf(built, made)
  const { id } = (await propose(as)).body
  interfere(() => approve(built, id))
  t.equal((await remove(built.platform, made.body.instance.id)).status, 204)
  t.equal((await record(built, id)).status, 'approved')
  t.equal((await read(as, id)).status, 401)
})

t.test('an update that is under way does not outlast the deletion', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const { id } = (await provision(built.platform)).body.instance
  interfere(() => remove(built.platform, id))
  t.equal((await rename(built.platform, id, { instance_name: 'late' })).status, 404)
  t.equal((await readInstance(built.platform, id)).status, 404)
})

t.test('keys that were made or rotated for an instance end with it', async (t) => {
  const built = await provider(t)
  const made = await provision(built.platform, { instance_name: 'one' })
  const keyId = (await history(built, 'type=instance_changed'))[0].data.key_id
  const rotated = withKey(built.call, (await built.root('POST', `/keys/${keyId}/rotate`)).body.key)
  const more = withKey(built.call, (await built.root('POST', '/keys', { name: 'one', role: 'agent' })).body.key)
  for (const as of [rotated, more]) t.equal((await propose(as)).status, 201)
  await remove(built.platform, made.body.instance.id)
  for (const as of [rotated, more, credentialOf(built, made)]) t.equal((await propose(as)).status, 401)
})

t.test('a person who was given the name of an instance keeps their key when it is deleted', async (t) => {
  const built = await provider(t)
  const { id } = (await provision(built.platform, { instance_name: 'carol' })).body.instance
  const { key } = (await built.root('POST', '/keys', { name: 'carol', role: 'operator' })).body
  t.equal((await remove(built.platform, id)).status, 204)
  t.equal((await withKey(built.call, key)('GET', '/audit')).status, 200)
  t.equal((await readInstance(built.platform, id)).status, 404)
})

t.test('an instance whose key was revoked elsewhere is as good as deleted', async (t) => {
  const built = await provider(t)
  const key = newKey()
  const { id } = (await provision(built.platform, {}, key)).body.instance
  const keyId = (await history(built, 'type=instance_changed'))[0].data.key_id
  await built.root('DELETE', `/keys/${keyId}`)
  t.equal((await readInstance(built.platform, id)).status, 404)
  t.equal((await provision(built.platform, {}, key)).status, 409)
  t.equal((await remove(built.platform, id)).status, 204)
})

t.test('a provisioner sees and ends its own instances alone', async (t) => {
  const built = await provider(t)
  const made = await built.root('POST', '/keys', { name: 'rival', role: 'provisioner' })
  const rival = withKey(built.call, made.body.key)
  const { id } = (await provision(built.platform)).body.instance
  for (const act of [
    () => readInstance(rival, id),
    () => rename(rival, id, { instance_name: 'x' }),
    () => remove(rival, id),
  ]) {
    await changesNothing(t, built, act, 404, 'not_found')
  }
})

t.test('a restore brings back no instance, no credential and no approval', async (t) => {
  const output = { print: () => {}, tell: () => {} }
  const command = async (...words: string[]) => {
    const invocation = readInvocation(['--db-path', built.dbPath, ...words], {})
    if (invocation.command !== 'carry-out') throw new Error('no command')
    t.equal(await carryOut(invocation.given, invocation.config, output), 0, words.join(' '))
  }
  const clock = manualClock(Date.now())
  const built = await provider(t, { clock })
  const key = newKey()
  const made = await provision(built.platform, {}, key)
  const { id } = made.body.instance
  const ids: string[] = []
  for (let count = 0; count < 2; count++) {
    ids.push((await propose(built.bot)).body.id)
    await approve(built, ids[count]!)
  }
  await read(built.bot, ids[0]!)
  await built.stop()
  const backup = join(temporaryFolder(t), 'backup.db')
  await command('backup', backup)
  const between = await build(t, { dbPath: built.dbPath, clock })
  t.equal((await remove(withKey(between.call, built.platform.key), id)).status, 204)
  await between.stop()
  await command('restore', backup)
  const { call } = await build(t, { dbPath: built.dbPath, clock })
  const [platform, bot] = [withKey(call, built.platform.key), withKey(call, built.bot.key)]
  t.equal((await readInstance(platform, id)).status, 404)
  t.match(await provision(platform, {}, key), { status: 409, body: { error: { code: 'instance_deleted' } } })
  t.equal((await propose(withKey(call, made.body.credential.token))).status, 401)
  t.equal((await remove(platform, id)).status, 204)
  t.match(await read(bot, ids[0]!), { status: 403, body: { error: { code: 'already_claimed' } } })
  t.match(await read(bot, ids[1]!), { status: 403, body: { error: { code: 'approval_expired' } } })
})
