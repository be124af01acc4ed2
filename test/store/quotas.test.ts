import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { takeSlots } from '../../src/store/sqlite/quotas.js'

t.test('quotas that nobody uses again leave no rows behind, each when its time is over', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  migrate(db)
  const { take } = takeSlots(db)
  for (let i = 0; i < 100; i++) take(`action once_${i}`, 1000, 0, 1)
  for (let i = 0; i < 100; i++) take(`refused address ${i}`, 1000, 0, 1)
  const rows = (like: string) => db.prepare('SELECT count(*) FROM quota_slots WHERE quota LIKE ?').pluck().get(like)
  const use = (now: number) => {
    for (let n = 1; n <= 200; n++) take('action other', now, n, 1)
  }
  use(3_700_000)
  t.same([rows('refused %'), rows('action once%')], [0, 100])
  use(31_536_002_000)
  t.equal(rows('action once%'), 0)
})
