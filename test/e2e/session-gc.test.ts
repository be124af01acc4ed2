// A kill -9 while sessions are removed: what went is gone, what stays is whole, and the next time goes on.
import { join } from 'node:path'
import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { pastOf, runOf, seed, sessionOf } from '../sessions/seed.js'
import { temporaryFolder, until } from '../support.js'
import { start } from './program.js'

const day = 86_400_000

t.test('what a crash interrupts is gone or whole, and goes on when it is asked for again', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const now = Date.now()
  const count = 4000
  const keys = Array.from({ length: count }, (_, n) => `s${n}`)
  seed(
    dbPath,
    keys.map((key, n) => sessionOf(key, runOf(`${key}-now`, now - 2 * day - n))),
    keys.map((key, n) => pastOf(key, runOf(key, now - 30 * day - n, n % 2 === 0 ? 9 : 3))),
  )
  const first = await start(t, { dbPath })
  first.call('POST', '/sessions/gc', {}).catch(() => {})
  await until(async () => (await first.call('GET', '/sessions/gc/progress')).body.under_way?.gone > 0)
  await first.crash()

  const second = await start(t, { dbPath })
  const left = await second.call('POST', '/sessions/gc', { dry_run: true })
  t.ok(left.body.total <= (count * 3) / 2)
  t.match(await second.call('POST', '/sessions/gc', {}), { status: 200, body: { total: left.body.total } })
  t.match(await second.call('POST', '/sessions/gc', { dry_run: true }), { body: { total: 0 } })
  const events = (await second.events()).filter(({ type }) => type === 'sessions_collected')
  t.equal(events[0].data.total, (count * 3) / 2)
  t.match(await second.call('GET', '/sessions/s0'), { body: { session_id: 's0', messages: 9 } })
  await second.stop()
  const db = new Database(dbPath, { readonly: true })
  t.teardown(() => db.close())
  const counted = (from: string) => db.prepare(`SELECT count(*) FROM ${from}`).pluck().get()
  t.equal(counted('session_runs'), count / 2, 'the substantial ones')
  t.equal(counted('sessions'), count / 2, 'the way to them')
  t.equal(counted('sessions WHERE run_id IS NOT NULL'), 0)
})
