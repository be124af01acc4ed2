// Sessions are listed by when they were last active, exactly, although the index says only about when.
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import { onThisThread } from '../../src/store/sqlite/writing.js'
import type { Cursor, SessionFilter, Store } from '../../src/store/store.js'
import { runOf, seed, sessionOf } from '../sessions/seed.js'
import { t0, temporaryFolder } from '../support.js'

const minute = 60_000

/** The keys, page by page. */
async function listAll(t: Test, store: Store, limit: number, filter: SessionFilter = {}): Promise<string[]> {
  const keys: string[] = []
  let place: Cursor | null = null
  for (let pages = 0; ; pages++) {
    if (pages > 1000) t.fail('it never ends')
    const { items, next } = await store.sessions.list(filter, limit, place)
    t.ok(items.length <= limit)
    keys.push(...items.map(({ key }) => key))
    if (next === null) return keys
    place = next
  }
}

const touch = (store: Store, key: string, at: number, requester = '') =>
  store.sessions.count({
    ...{ requester, sessionKey: key, version: 1, below: 1000, max: 0, messages: 1, submissions: 0 },
    ...{ at, resetAt: null, asks: [] },
  })

t.test('whatever is used in whichever order, pages hold each session once, the latest active first', async (t) => {
  const folder = temporaryFolder(t)
  let count = 0
  const steps = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom(0, 1, minute, 5 * minute, 6 * minute)),
    {
      maxLength: 30,
    },
  )
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (touches, limit) => {
      const dbPath = join(folder, `${(count += 1)}.db`)
      const keys = ['a', 'b', 'c', 'd', 'e', 'f']
      seed(
        dbPath,
        keys.map((key) => sessionOf(key, runOf(key, t0, 1))),
      )
      const store = openSqliteStore(dbPath, onThisThread)
      const active = new Map(keys.map((key, arrival) => [key, { at: t0, arrival }]))
      let now = t0
      for (const [which, ms] of touches) {
        now += ms
        active.get(keys[which]!)!.at = now
        t.ok(await touch(store, keys[which]!, now))
      }
      const expected = [...active]
        .sort(([, one], [, other]) => other.at - one.at || other.arrival - one.arrival)
        .map(([key]) => key)
      t.same(await listAll(t, store, limit), expected)
      t.same(await listAll(t, store, limit, { requester: '' }), expected)
      const since = now - 3 * minute
      const lately = expected.filter((key) => active.get(key)!.at >= since)
      t.same(await listAll(t, store, limit, { activeSince: since }), lately)
      await store.close()
    }),
    { numRuns: 40 },
  )
})

t.test('where few fit the filter a page may be short, and the rest is found all the same', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const [many, few] = [4500, 9]
  const keyOf = (n: number) => `agent:main:${n % 500 === 0 ? 'discord' : 'telegram'}:dm:${n}`
  const sessions = Array.from({ length: many }, (_, n) => sessionOf(keyOf(n), runOf(`r${n}`, t0 + n * 1000, 1)))
  seed(dbPath, sessions)
  const store = openSqliteStore(dbPath, onThisThread)
  t.teardown(() => store.close())
  // All of them within the time that the index may be behind.
  for (const [n, { key }] of sessions.entries()) {
    if (n % 500 === 0) await touch(store, key, t0 + 4500 * 1000 + n)
  }
  const found = await listAll(t, store, 2, { platform: 'discord' })
  t.equal(found.length, few)
  t.same(
    found,
    Array.from({ length: few }, (_, n) => keyOf(500 * (few - 1 - n))),
  )
  const all = await listAll(t, store, 500)
  t.equal(all.length, many)
  t.equal(new Set(all).size, many)
  t.same(all.slice(0, few), found)
})

t.test('the index is written now and then, and when a session is due only where it is sooner', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(dbPath, [sessionOf('s', runOf('r', t0, 1))])
  const store = openSqliteStore(dbPath, onThisThread)
  t.teardown(() => store.close())
  const count = (at: number, resetAt: number | null) =>
    store.sessions.count({
      ...{ requester: '', sessionKey: 's', version: 1, below: 1000, max: 0, messages: 1, submissions: 0 },
      ...{ at, resetAt, asks: [] },
    })
  const resetAt = async () => (await store.sessions.get('', 's'))!.resetAt
  await count(t0 + 1, t0 + 100)
  t.equal(await resetAt(), t0 + 100)
  await count(t0 + 2, t0 + 101)
  t.equal(await resetAt(), t0 + 100, 'looked at too soon, it is set anew')
  await count(t0 + 3, t0 + 99)
  t.equal(await resetAt(), t0 + 99)
  await count(t0 + 4, null)
  t.equal(await resetAt(), null)
  t.match(await store.sessions.get('', 's'), { run: { lastActiveAt: t0 + 4, messages: 5 } })
})
