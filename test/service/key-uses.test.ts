// When a key was used last: known at once, on disk within a minute, and never at the cost of a request.
import t from 'tap'
import type { KeyUse } from '../../src/access/key.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { build, type Built, type CallAs, counter, giveKeys, t0, withKey } from '../support.js'

const minute = 60_000

/** Counts what is written; while it is `full`, nothing is. */
function watchedUses() {
  const watch = { written: [] as KeyUse[][], tries: 0, isFull: false }
  const wrapStore = (store: Store): Store => ({
    ...store,
    keyUses: {
      ...store.keyUses,
      async note(uses) {
        watch.tries += 1
        if (watch.isFull) throw new StoreUnavailable('database or disk is full (SQLITE_FULL)')
        watch.written.push(uses)
        await store.keyUses.note(uses)
      },
    },
  })
  return { watch, wrapStore }
}

async function lastUsed(call: CallAs): Promise<Record<string, number | null>> {
  const { body } = await call('GET', '/keys')
  return Object.fromEntries(body.keys.map(({ name, last_used_at }: any) => [name, last_used_at]))
}

t.test('each request with a good key is a use of it, and what is refused is none', async (t) => {
  const built = await build(t)
  const { clock, call } = built
  const { root, bot, alice, idle } = await giveKeys(built, {
    root: 'admin',
    bot: 'agent',
    alice: 'operator',
    idle: 'auditor',
  })
  t.same(await lastUsed(root), { root: t0 / 1000, bot: null, alice: null, idle: null })
  await clock.advance(1000)
  await bot('POST', '/confirm', { action: 'send_mail', description: 'd' })
  await clock.advance(1000)
  t.equal((await alice('GET', '/confirm/nothing')).status, 404)
  await clock.advance(1000)
  t.equal((await bot('GET', '/keys')).status, 403, 'the key is good, whatever it may')
  for (const key of ['x', `${idle.key.slice(0, -1)}x`]) t.equal((await withKey(call, key)('GET', '/audit')).status, 401)
  await root('DELETE', `/keys/${alice.keyId}`)
  await clock.advance(1000)
  t.equal((await alice('GET', '/audit')).status, 401)
  t.same(await lastUsed(root), { root: t0 / 1000 + 4, bot: t0 / 1000 + 3, alice: t0 / 1000 + 2, idle: null })
  const { body } = await root('GET', '/keys')
  t.equal(body.keys[1].last_used_at_iso, '2026-01-01T00:00:03.000Z')
  t.equal(body.keys[3].last_used_at_iso, null)
  t.match((await root('DELETE', `/keys/${bot.keyId}`)).body, { last_used_at: t0 / 1000 + 3 })
  const made = await root('POST', `/keys/${idle.keyId}/rotate`)
  t.match(made.body, { last_used_at: null, replaces: { last_used_at: null } })
})

t.test('uses are written once a minute, all together, and not while there are none', async (t) => {
  const { watch, wrapStore } = watchedUses()
  const built = await build(t, { wrapStore, config: { floodLimit: 0 } })
  const { clock } = built
  const { root, bot } = await giveKeys(built, { root: 'admin', bot: 'agent', idle: 'auditor' })
  for (let n = 0; n < 50; n++) await bot('GET', '/confirm')
  await root('GET', '/keys')
  await clock.advance(minute - 1)
  await bot('GET', '/confirm')
  t.equal(watch.tries, 0)
  await clock.advance(1)
  t.same(watch.written, [
    [
      { keyId: bot.keyId, usedAt: t0 + minute - 1 },
      { keyId: root.keyId, usedAt: t0 },
    ],
  ])
  await clock.advance(10 * minute)
  t.equal(watch.tries, 1)
  await bot('GET', '/confirm')
  await clock.advance(minute)
  t.same(watch.written[1], [{ keyId: bot.keyId, usedAt: t0 + 11 * minute }])
  t.match(await lastUsed(root), { bot: t0 / 1000 + 660, idle: null })
})

t.test('a disk that is full costs no request, and what was noted is written later', async (t) => {
  const { watch, wrapStore } = watchedUses()
  watch.isFull = true
  const built = await build(t, { wrapStore })
  const { clock } = built
  const { root, bot } = await giveKeys(built, { root: 'admin', bot: 'agent' })
  t.equal((await bot('GET', '/confirm')).status, 200)
  await clock.advance(minute)
  t.equal(watch.tries, 1)
  t.equal((await bot('GET', '/confirm')).status, 200)
  t.same(await lastUsed(root), { root: t0 / 1000 + 60, bot: t0 / 1000 + 60 })
  watch.isFull = false
  await clock.advance(minute)
  t.equal(watch.tries, 2)
  t.equal(watch.written[0]?.length, 2)
})

t.test('an orderly stop writes what is noted; another service on the same database knows it then', async (t) => {
  const first = await build(t)
  const { root, bot } = await giveKeys(first, { root: 'admin', bot: 'agent' })
  await first.clock.advance(5000)
  await bot('GET', '/confirm')
  await first.stop()
  const again: Built = await build(t, { dbPath: first.dbPath, clock: first.clock, newId: counter('other') })
  t.same(await lastUsed(withKey(again.call, root.key)), { root: t0 / 1000 + 5, bot: t0 / 1000 + 5 })
})
