import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { countSlots, takeSlots } from '../../src/store/sqlite/quotas.js'

const hour = 3_600_000
const day = 24 * hour

function createQuotas(t: Test) {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  migrate(db)
  const rows = (like: string) => db.prepare('SELECT count(*) FROM quota_slots WHERE quota LIKE ?').pluck().get(like)
  return { ...takeSlots(db), rows, count: countSlots(db) }
}

t.test('quotas that nobody uses again leave no rows behind, each when its windows are over', async (t) => {
  const { take, rows } = createQuotas(t)
  for (let i = 0; i < 100; i++) take(`action once_${i}`, 1000, hour, 0, 1)
  for (let i = 0; i < 100; i++) take(`action rarely_${i}`, 1000, 30 * day, 0, 1)
  for (let i = 0; i < 100; i++) take(`refused address ${i}`, 1000, 60_000, 0, 1)
  const use = (now: number) => {
    for (let n = 1; n <= 300; n++) take('action other', now, hour, n, 1)
  }
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
  t.ok(most < 1500, `at most ${most} rows for a thousand names a day`)
})
