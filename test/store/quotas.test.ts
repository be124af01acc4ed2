import fc from 'fast-check'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { countSlots, readUsage, takeSlots } from '../../src/store/sqlite/quotas.js'

const hour = 3_600_000
const day = 24 * hour

function createQuotas(t: Test) {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  migrate(db)
  const rows = (like: string) => db.prepare('SELECT count(*) FROM quota_slots WHERE quota LIKE ?').pluck().get(like)
  const slots = takeSlots(db)
  slots.recall()
  /** As the writer does. */
  const take = (...args: Parameters<typeof slots.take>) => {
    slots.take(...args)
    if (slots.hasEnough()) slots.file(args[1])
  }
  return { db, slots, take, rows, count: countSlots(db) }
}

t.test('quotas that nobody uses again leave no rows behind, each when its windows are over', async (t) => {
  const { slots, take, rows } = createQuotas(t)
  for (let i = 0; i < 100; i++) take(`action once_${i}`, 1000, hour, 0, 1)
  for (let i = 0; i < 100; i++) take(`action rarely_${i}`, 1000, 30 * day, 0, 1)
  for (let i = 0; i < 100; i++) take(`refused address ${i}`, 1000, 60_000, 0, 1)
  const use = (now: number) => {
    for (let n = 1; n <= 300; n++) take('action other', now, hour, n, 1)
    slots.file(now)
  }
  slots.file(1000)
  use(hour + 2000)
  t.same([rows('refused %'), rows('action once%'), rows('action rarely%')], [0, 100, 100])
  use(day + 2000)
  t.same([rows('action once%'), rows('action rarely%')], [0, 100])
  use(365 * day + 2000)
  t.equal(rows('action rarely%'), 0)
})

t.test('however many names are used once, the table holds those of a day and little more', async (t) => {
  const { take, count } = createQuotas(t)
  let most = 0
  for (let i = 0; i < 9000; i++) {
    take(`action name_${i}`, i * (day / 1000), hour, 0, 1)
    most = Math.max(most, count())
  }
  // Those of a day, those that are not filed yet, and those that are not looked at yet.
  t.ok(most < 4500, `at most ${most} rows for a thousand names a day`)
})

t.test('how a quota stands is the same whether its slots are filed, not filed, or some of each', async (t) => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          {
            weight: 8,
            arbitrary: fc.record({ do: fc.constant('take'), quota: fc.constantFrom('a', 'b'), after: fc.nat(40) }),
          },
          fc.record({ do: fc.constant('file'), quota: fc.constant(''), after: fc.nat(40) }),
          fc.record({ do: fc.constant('crash'), quota: fc.constant(''), after: fc.nat(40) }),
        ),
        { maxLength: 60 },
      ),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 10, max: 300 }),
      (steps, max, windowMs) => {
        const db = new Database(':memory:')
        migrate(db)
        const read = readUsage(db)
        let slots = takeSlots(db)
        slots.recall()
        let now = 1000
        const taken: Record<string, number[]> = { a: [], b: [] }
        for (const { do: what, quota, after } of steps) {
          now += after
          if (what === 'file') slots.file(now)
          if (what === 'crash') {
            slots = takeSlots(db)
            slots.recall()
          }
          if (what === 'take') {
            slots.take(quota, now, windowMs, slots.usageOf(quota, now, { max, windowMs }).lastN, 1)
            taken[quota]!.push(now)
          }
          for (const name of ['a', 'b']) {
            const inWindow = taken[name]!.filter((at) => at > now - windowMs)
            const leaves = inWindow.at(Math.max(0, inWindow.length - max))
            const expected = {
              used: inWindow.length,
              quota: {
                remaining: Math.max(0, max - inWindow.length),
                resetMs: leaves === undefined ? 0 : leaves + windowMs - now,
              },
              lastN: taken[name]!.length,
              isAhead: false,
            }
            for (const usage of [slots.usageOf(name, now, { max, windowMs }), read(name, now, { max, windowMs })]) {
              if (JSON.stringify(usage) !== JSON.stringify(expected))
                throw new Error(`${JSON.stringify(usage)}, and it should be ${JSON.stringify(expected)}`)
            }
          }
        }
        db.close()
      },
    ),
    { numRuns: 150 },
  )
  t.pass()
})

t.test('what a transaction took that came to nothing is not taken', async (t) => {
  const { db, slots } = createQuotas(t)
  slots.take('a', 1000, hour, 0, 2)
  t.throws(() =>
    db.transaction(() => {
      slots.take('a', 1001, hour, 2, 3)
      throw new Error('no')
    })(),
  )
  slots.forget()
  slots.recall()
  t.match(slots.usageOf('a', 1001, { max: 9, windowMs: hour }), { used: 2, lastN: 2 })
})
