// A database looked at for a report: what is counted, and when it is not looked at.
import { appendFileSync, copyFileSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { examineDatabase } from '../../src/store/sqlite/examination.js'
import { build, giveKeys, t0, temporaryFolder } from '../support.js'

const quietly = () => {}

async function stopped(t: Test): Promise<string> {
  const built = await build(t)
  await built.submit()
  await built.stop()
  return built.dbPath
}

t.test('what there is is counted, by its state and by its kind', async (t) => {
  const built = await build(t)
  const { body } = await built.submit({ description: 'one' })
  await built.submit({ description: 'two' })
  await built.call('POST', `/confirm/${body.id}/approve`, { approver: 'alice' })
  await built.call('POST', '/whitelist', { action: 'send_mail', granted_by: 'alice', reason: 'tested', max_uses: 3 })
  const { root } = await giveKeys(built, { root: 'admin', alice: 'operator', bob: 'operator' })
  const { body: keys } = await root('GET', '/keys')
  await root('DELETE', `/keys/${keys.keys.find((key: any) => key.name === 'bob').id}`)
  const found = examineDatabase(built.dbPath, true, t0, quietly)
  t.match(found, { owner: 'ours', damage: [], latestAt: t0 })
  t.match(found.counts, {
    confirmations: { approved: 1, pending: 1 },
    overdue: 0,
    keys: { admin: { live: 1 }, operator: { live: 1, revoked: 1 } },
    people: 3,
    undelivered: {},
    sign_ins: 0,
  })
  t.equal(examineDatabase(built.dbPath, true, t0 + 86_400_000, quietly).counts.overdue, 1)
})

t.test('a label that is none of ours is not repeated', async (t) => {
  const dbPath = await stopped(t)
  const db = new Database(dbPath)
  db.exec("UPDATE deliveries SET channel = 'Sesame!', state = 'queued', next_at = 1")
  db.close()
  t.same(examineDatabase(dbPath, false, t0, quietly).counts.undelivered, { other: 1 })
})

t.test('what takes long is told, in words', async (t) => {
  const dbPath = await stopped(t)
  const told: string[] = []
  examineDatabase(dbPath, false, t0, (text) => told.push(text))
  t.match(told, [/^copying the database, 1 MiB/, /^checking the database, 1 MiB/])
})

t.test('a copy that has no room is not made, and one that is torn is not looked at', async (t) => {
  const dbPath = await stopped(t)
  const before = readFileSync(dbPath)
  const full = { copyFile: copyFileSync, statfs: () => ({ ...statfsSync(tmpdir()), bavail: 1 }) as any }
  t.throws(() => examineDatabase(dbPath, false, t0, quietly, full), { name: 'StoreRefused', message: /too much for/ })
  t.same(readFileSync(dbPath), before)
  const copies: string[] = []
  const busy = (changes: number) => ({
    statfs: statfsSync,
    copyFile: ((from: string, to: string) => {
      copies.push(dirname(to))
      copyFileSync(from, to)
      if (copies.length <= changes) appendFileSync(from, Buffer.alloc(8192))
    }) as typeof copyFileSync,
  })
  t.throws(() => examineDatabase(dbPath, false, t0, quietly, busy(2)), { message: /written to while it was copied/ })
  copies.length = 0
  t.equal(examineDatabase(dbPath, false, t0, quietly, busy(1)).owner, 'ours', 'once more is enough')
  t.ok(
    copies.every((folder) => !readdirSync(tmpdir()).includes(folder.slice(tmpdir().length + 1))),
    'no copy is left',
  )
})

t.test('what is gone, or is no database, is refused', async (t) => {
  const folder = temporaryFolder(t)
  t.throws(() => examineDatabase(join(folder, 'none.db'), false, t0, quietly), { code: 'ENOENT' })
  appendFileSync(join(folder, 'text.db'), 'text '.repeat(1000))
  for (const isInUse of [true, false]) {
    t.throws(() => examineDatabase(join(folder, 'text.db'), isInUse, t0, quietly), {
      name: 'StoreRefused',
      message: 'it is not a SQLite database',
    })
  }
})
