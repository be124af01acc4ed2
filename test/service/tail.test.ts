// The end of the history is read once for all, and what an event alone tells is what the store tells.
import fc from 'fast-check'
import t from 'tap'
import { createTail, judge } from '../../src/service/tail.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import type { EventFilter } from '../../src/store/store.js'
import { someEvent } from '../actors.js'
import { temporaryFolder } from '../support.js'

function openStore(t: { teardown(run: () => unknown): void }) {
  const store = openSqliteStore(`${temporaryFolder(t as never)}/test.db`)
  t.teardown(() => store.close())
  let reads = 0
  const events: typeof store.events = {
    ...store.events,
    list(...asked) {
      reads += 1
      return store.events.list(...asked)
    },
  }
  const commit = (count: number, data?: string) =>
    Promise.all(Array.from({ length: count }, () => store.commit({ writes: [], events: [someEvent(1, null, data)] })))
  return { store, commit, tail: createTail({ ...store, events }, 64 * 1024), reads: () => reads }
}

t.test('whoever comes to the same place is given the same page, which was read once', async (t) => {
  const { tail, commit, reads } = openStore(t)
  await commit(10)
  const asked = Array.from({ length: 5 }, () => tail.read(3)!)
  const pages = await Promise.all(asked)
  t.equal(reads(), 1)
  t.ok(pages.every((page) => page === pages[0]))
  t.same(
    pages[0]!.events.map(({ seq }) => seq),
    [4, 5, 6, 7, 8, 9, 10],
  )
  t.same([tail.last(), (await tail.read(10))!.events], [10, []])
  await commit(1)
  t.equal((await tail.read(3))!.upTo, 10, 'what was read stays')
  t.same(
    (await tail.read(10))!.events.map(({ seq }) => seq),
    [11],
    'but not that there was nothing',
  )
})

t.test('whoever begins wherever is soon where the others are', async (t) => {
  const { tail, commit } = openStore(t)
  await commit(300)
  const placesFrom = async (start: number) => {
    const places = []
    for (let after = start; after < 300;) places.push((after = (await tail.read(after))!.upTo))
    return places
  }
  t.same(await placesFrom(0), [64, 128, 192, 256, 300])
  t.same(await placesFrom(77), [128, 192, 256, 300])
})

t.test('far from the end everyone reads alone', async (t) => {
  const { tail, commit } = openStore(t)
  await commit(1200)
  t.equal(tail.read(100), null)
  t.not(tail.read(300), null)
})

t.test('before anything is told of, everyone reads alone', async (t) => {
  const { store, commit } = openStore(t)
  await commit(3)
  const tail = createTail(store, 64 * 1024)
  t.equal(tail.read(0), null)
  await commit(1)
  t.same((await tail.read(0))!.upTo, 4)
})

t.test('what is kept is bounded, however large the events are', async (t) => {
  const { tail, commit, reads } = openStore(t)
  await commit(30, 'x'.repeat(100_000))
  for (let after = 0; after < 30;) after = (await tail.read(after))!.upTo
  const before = reads()
  await tail.read(29)
  t.equal(reads(), before, 'the last are there')
  await tail.read(0)
  t.equal(reads(), before + 1, 'the first are not')
})

t.test('an event that is judged by itself passes exactly where the store finds it', async () => {
  const { store } = openStore(t)
  const types = ['submitted', 'approved', 'claimed'] as const
  for (let n = 0; n < 120; n++) {
    const event = {
      ...someEvent(1000 + ((n * 37) % 50), n % 3 === 0 ? null : `c${n % 4}`),
      via: (['http', 'log'] as const)[n % 2]!,
    }
    await store.commit({ writes: [], events: [{ ...event, type: types[n % 3]! } as typeof event] })
  }
  const { events } = await store.events.list(0, 500)
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
  const filters: fc.Arbitrary<EventFilter> = fc.record({
    confirmationId: maybe(fc.constantFrom('c1', 'c2', 'C1', '')),
    types: maybe(fc.uniqueArray(fc.constantFrom(...types, 'revoked'))),
    actor: maybe(fc.constantFrom(...new Set(events.map(({ actor }) => actor)), 'nobody', '')),
    channel: maybe(fc.constantFrom('http', 'log', 'HTTP')),
    since: maybe(fc.double({ min: 990, max: 1060, noNaN: true })),
    until: maybe(fc.double({ min: 990, max: 1060, noNaN: true })),
  })
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const found = (await store.events.list(0, 500, filter)).events.map(({ seq }) => seq)
      const passed = events.filter(judge(filter)!).map(({ seq }) => seq)
      if (found.join() !== passed.join()) throw new Error(`found ${found.join()}, passed ${passed.join()}`)
    }),
  )
})

t.test('what it takes the confirmation to know is not judged', async (t) => {
  for (const name of ['action', 'requester', 'sessionKey']) t.equal(judge({ [name]: 'x' }), null)
})
