// What outlives the process, and what time does while it is away.
import { join } from 'node:path'
import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { temporaryFolder, until } from '../support.js'
import { start } from './program.js'

/** Edits the database of a stopped program. */
function edit(dbPath: string, sql: string, ...values: unknown[]): void {
  const db = new Database(dbPath)
  db.prepare(sql).run(...values)
  db.close()
}

t.test('pending confirmations survive a restart and can be decided after it', async (t) => {
  const first = await start(t)
  const { dbPath } = first
  const details = { to: ['a@example.org'], size: 3.5, deep: { ok: true } }
  const { body } = await first.submit({ details, requester: 'mailer', session_key: 's1' })
  const before = (await first.call('GET', `/confirm/${body.id}`)).body
  t.equal((await first.stop()).code, 0)

  const second = await start(t, { dbPath })
  t.match(second.ready, { pending: 1, expired: 0, msg: /; 1 pending$/ })
  t.same((await second.call('GET', `/confirm/${body.id}`)).body, before, 'field for field')
  t.equal((await second.call('GET', '/health')).body.pending_count, 1)
  t.equal((await second.call('POST', `/confirm/${body.id}/deny`, { denier: 'bob', reason: 'no' })).status, 200)
  await second.stop()

  const third = await start(t, { dbPath })
  t.match(third.ready, { pending: 0, expired: 0 })
  t.match((await third.call('GET', `/confirm/${body.id}`)).body, { status: 'denied', resolved_by: 'bob', reason: 'no' })
  t.match((await third.call('POST', `/confirm/${body.id}/approve`)).body, { status: 'denied' })
  t.same(
    (await third.events()).map((one) => [one.seq, one.type]),
    [
      [1, 'submitted'],
      [2, 'notified'],
      [3, 'denied'],
    ],
  )
})

t.test('grants survive a restart with the uses they have left, and revoked ones stay revoked', async (t) => {
  const first = await start(t)
  const { dbPath } = first
  const { body: grant } = await first.call('POST', '/whitelist', { action: 'send_mail', max_uses: 3 })
  const { body: session } = await first.call('POST', '/whitelist', { action: 'tag', session_key: 's1' })
  const { body: revoked } = await first.call('POST', '/whitelist', { action: 'gone' })
  await first.call('DELETE', `/whitelist/${revoked.id}`)
  t.equal((await first.submit()).status, 200)
  await first.stop()

  const second = await start(t, { dbPath })
  const { entries } = (await second.call('GET', '/whitelist')).body
  t.match(entries, [
    { id: session.id, scope: 'session', session_key: 's1', uses: 0 },
    { id: grant.id, uses: 1, max_uses: 3 },
  ])
  t.equal(entries.length, 2)
  t.same(
    [(await second.submit()).status, (await second.submit()).status, (await second.submit()).status],
    [200, 200, 202],
  )
  t.equal((await second.submit({ action: 'tag', session_key: 's1' })).status, 200)
  t.equal((await second.submit({ action: 'tag', session_key: 's2' })).status, 202)
  t.equal((await second.submit({ action: 'gone' })).status, 202)
})

t.test('rate-limit windows survive a restart, and slide on while it is down', async (t) => {
  const flags = ['--rate-limit', '2']
  const first = await start(t, { flags })
  const { dbPath } = first
  const { id } = (await first.submit()).body
  const { action } = (await first.call('GET', `/confirm/${id}`)).body
  t.equal((await first.submit()).status, 202)
  await first.call('POST', '/whitelist', { action: 'covered' })
  await first.submit({ action: 'covered' })
  await first.stop()

  const second = await start(t, { dbPath, flags })
  const refused = await second.submit()
  t.equal(refused.status, 429)
  t.match(refused.body, { remaining: 0, window_seconds: 3600 })
  t.equal((await second.submit({ action: 'other' })).status, 202, 'another action has its own window')
  t.equal((await second.submit({ action: 'covered' })).headers.ratelimit, '"action";r=2;t=0', 'a grant costs no slot')
  await second.stop()
  edit(dbPath, 'UPDATE unfiled_slots SET at = at - 3600000 WHERE quota LIKE ? AND n = 1', `action ${action}`)

  const third = await start(t, { dbPath, flags })
  t.same([(await third.submit()).status, (await third.submit()).status], [202, 429], 'one slot has become free')
})

t.test('what fell due while it was down is expired on start, at its deadline', async (t) => {
  const first = await start(t)
  const { dbPath } = first
  const overdue = (await first.submit()).body
  const pending = (await first.submit()).body
  await first.stop()
  const deadline = Date.now() - 60_000
  edit(
    dbPath,
    'UPDATE confirmations SET deadline = ?, due_at = ?, created_at = ? WHERE id = ?',
    deadline,
    deadline,
    deadline - 30_000,
    overdue.id,
  )

  const second = await start(t, { dbPath })
  t.match(second.ready, { pending: 1, expired: 1, msg: /; 1 pending, 1 expired while it was down/ })
  t.match((await second.events()).at(-1), { type: 'expired', confirmation_id: overdue.id, actor: 'system:timeout' })
  t.match((await second.call('GET', `/confirm/${overdue.id}`)).body, {
    status: 'expired',
    resolved_by: 'system:timeout',
    resolved_at: deadline / 1000,
  })
  t.match(await second.call('POST', `/confirm/${overdue.id}/approve`), { status: 409, body: { status: 'expired' } })
  t.equal((await second.call('GET', `/confirm/${pending.id}`)).body.status, 'pending')
})

t.test('a thousand that fell due while it was down are all expired, once', async (t) => {
  const flags = ['--rate-limit', '1000000']
  const first = await start(t, { flags })
  const { dbPath } = first
  await Promise.all(Array.from({ length: 1050 }, () => first.submit()))
  await first.stop()
  edit(dbPath, 'UPDATE confirmations SET deadline = created_at + 1, due_at = created_at + 1')

  const second = await start(t, { dbPath, flags })
  t.match(second.ready, { pending: 0, expired: 1050, msg: /; 0 pending, 1050 expired while it was down/ })
  const expired = (await second.events()).filter((one) => one.type === 'expired')
  t.equal(expired.length, 1050)
  t.equal(new Set(expired.map((one) => one.confirmation_id)).size, 1050)
})

t.test('a deadline is kept without anybody asking', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const first = await start(t, { dbPath })
  const { id } = (await first.submit()).body
  await first.stop()
  // Far enough ahead to be seen pending first, even when the machine is slow to start a process.
  const deadline = Date.now() + 3000
  edit(dbPath, 'UPDATE confirmations SET deadline = ?, due_at = ? WHERE id = ?', deadline, deadline, id)

  const second = await start(t, { dbPath })
  const expiry = async () => (await second.events()).find((one) => one.type === 'expired')
  await until(async () => (await expiry()) !== undefined)
  const event = await expiry()
  t.match(event, { confirmation_id: id, actor: 'system:timeout', data: { resolved_at: deadline / 1000 } })
  t.ok(event.time >= deadline / 1000, 'and not before it')
  t.match(await second.logLine(/^expired$/), { id })
})
