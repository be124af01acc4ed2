// The sixteen mistakes of the daemon that Holdpoint replaces, each shown not to be repeated.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { readInvocation } from '../src/invocation.js'
import { listen } from '../src/listen.js'
import Database from '../src/store/sqlite/driver.js'
import { start } from './e2e/program.js'
import { build, configFor, counter, giveKeys, manualClock, t0, temporaryFolder, until } from './support.js'
import { migrate } from '../src/store/sqlite/database.js'
import { readUsage } from '../src/store/sqlite/quotas.js'

const collectGarbage = (() => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
})()

/** What is still in use of the memory of JavaScript. */
function bytesKept(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

t.test('1. the audit answers with its entries', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  t.match(await call('GET', '/audit?limit=5'), { status: 200, body: { count: 1, entries: [{ id: 'id-0001' }] } })
})

t.test('2. a restart loses no pending confirmation, no whitelist entry and no rate-limit window', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const before = await build(t, { dbPath, newId, config: { rateLimit: 1 } })
  await before.submit()
  await before.call('POST', '/whitelist', { action: 'ping' })
  await before.stop()
  const after = await build(t, { dbPath, newId, clock: manualClock(t0 + 1000), config: { rateLimit: 1 } })
  t.equal((await after.call('GET', '/confirm/id-0001')).body.status, 'pending')
  t.equal((await after.submit({ action: 'ping' })).status, 200)
  t.equal((await after.submit()).status, 429)
})

t.test('3. an approval after the deadline loses, also when nobody had asked in between', async (t) => {
  const clock = manualClock()
  const { submit, call } = await build(t, { clock: { ...clock, wake: () => () => {} } })
  await submit({ timeout_seconds: 30 })
  await clock.advance(30_000)
  t.match(await call('POST', '/confirm/id-0001/approve'), { status: 409, body: { status: 'expired' } })
})

t.test('4. what is overdue expires by itself, in the audit too', async (t) => {
  const { submit, clock, dbPath } = await build(t)
  await submit({ timeout_seconds: 30 })
  await clock.advance(30_000)
  const db = new Database(dbPath, { readonly: true })
  t.teardown(() => db.close())
  t.equal(db.prepare('SELECT status FROM confirmations').pluck().get(), 'expired')
})

t.test('5. an auto-approved action is in the audit, and its id is known', async (t) => {
  const { submit, call } = await build(t)
  await call('POST', '/whitelist', { action: 'send_mail' })
  const { id } = (await submit()).body
  t.match(await call('GET', `/confirm/${id}`), { status: 200, body: { status: 'auto_approved' } })
  t.equal((await call('GET', '/audit')).body.entries[0].id, id)
})

t.test('6. the reason of a denial is kept', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  await call('POST', '/confirm/id-0001/deny', { reason: 'too risky' })
  t.equal((await call('GET', '/confirm/id-0001')).body.reason, 'too risky')
})

t.test('7. of two answers at the same time exactly one wins', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => call('POST', `/confirm/id-0001/${i % 2 === 0 ? 'approve' : 'deny'}`)),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  for (const { status, body } of answers.filter((answer) => answer !== won[0])) {
    t.equal(status, 409)
    t.equal(body.status, won[0]!.body.status)
  }
})

t.test('8. high-risk actions cannot be whitelisted', async (t) => {
  const { submit, call } = await build(t)
  t.equal((await call('POST', '/whitelist', { action: 'transfer_funds' })).status, 403)
  t.equal((await submit({ action: 'transfer_funds' })).status, 202)
})

t.test('9. history is appended, and SQLite refuses to rewrite it', async (t) => {
  const { submit, call, events, dbPath } = await build(t)
  await submit()
  await call('POST', '/confirm/id-0001/deny')
  t.same(
    (await events()).map(({ type }: any) => type),
    ['submitted', 'notified', 'denied'],
  )
  const db = new Database(dbPath)
  t.teardown(() => db.close())
  t.throws(() => db.exec(`UPDATE events SET type = 'approved' WHERE type = 'denied'`), /append-only/)
  t.throws(() => db.exec('DELETE FROM events'), /append-only/)
  t.throws(() => db.exec('REPLACE INTO events SELECT * FROM events'), /append-only/)
})

t.test('10. pending_count counts what is pending', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  await submit()
  await call('POST', '/confirm/id-0001/approve')
  t.equal((await call('GET', '/health')).body.pending_count, 1)
})

t.test('10. what is resolved leaves nothing in memory, neither its text nor its id', async (t) => {
  // Large enough to be seen if they are kept.
  const size = 40_000
  const rounds = 200
  let count = 0
  const newId = () => String((count += 1)).padStart(size, '0')
  const { submit, call, logged, clock } = await build(t, { newId, config: { rateLimit: 1000 } })
  const resolveOne = async (how: 'approve' | 'deny' | 'expire') => {
    const { id } = (await submit({ description: String(count).padStart(size, 'x'), timeout_seconds: 30 })).body
    if (how === 'expire') await clock.advance(30_000)
    else await call('POST', '/decisions', { decisions: [{ id, verdict: how }] })
    logged.length = 0
  }
  const ways = ['approve', 'deny', 'expire'] as const
  for (let round = 0; round < 30; round++) await resolveOne(ways[round % 3]!)
  const before = bytesKept()
  for (let round = 0; round < rounds; round++) await resolveOne(ways[round % 3]!)
  const kept = bytesKept() - before
  t.equal((await call('GET', '/health')).body.pending_count, 0)
  t.ok(kept < (rounds * size) / 4, `${kept} bytes are kept of ${rounds} ids and as many texts, ${size} each`)
})

t.test('11. the limiter looks at few slots in each call, however many there are', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  migrate(db)
  const insert = db.prepare("INSERT INTO quota_slots (quota, at, n) VALUES ('a', ?, ?)")
  for (let n = 1; n <= 2000; n++) insert.run(n, n)
  const plans: string[] = []
  let rows = 0
  /** Counts the rows that are read, and keeps how each statement finds them. */
  const counting = {
    prepare(text: string) {
      const statement = db.prepare(text).raw()
      const values = Array.from(text.matchAll(/\?/g), () => 0)
      plans.push(
        ...(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { detail: string }[]).map(
          ({ detail }) => detail,
        ),
      )
      t.match(text, / LIMIT 1\b/, 'one row a look')
      return { raw: () => ({ get: (...args: unknown[]) => ((rows += 1), statement.get(...args)) }) }
    },
  } as unknown as Database.Database
  // What is not filed yet, few ever, the writer remembers.
  const usageOf = readUsage(counting, () => [])
  for (const plan of plans)
    t.match(plan, /^SEARCH quota_slots USING PRIMARY KEY \(quota=\?/, 'found, not looked through')
  for (let now = 2000; now < 3000; now++) {
    const { used } = usageOf('a', now, { max: 5000, windowMs: 2000 })
    if (used !== 4000 - now) t.fail(`${used} are used at ${now}`)
  }
  t.equal(rows, 2000, 'two rows a call')
})

t.test('12. a malformed body on approve approves nothing; an empty one is fine', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  t.equal((await call('POST', '/confirm/id-0001/approve', '{"approver"')).status, 400)
  t.equal((await call('GET', '/confirm/id-0001')).body.status, 'pending')
  t.equal((await call('POST', '/confirm/id-0001/approve', '')).status, 200)
})

t.test('13. wrong types are a 400', async (t) => {
  const { call } = await build(t)
  for (const body of ['{"action":"a","description":"b","details":"x"}', '{"action":1,"description":"b"}', 'null']) {
    t.equal((await call('POST', '/confirm', body)).status, 400, body)
  }
})

t.test('14. reaching the port is not enough to approve: it takes a key, and never the requester’s', async (t) => {
  const built = await build(t)
  const { call, submit } = built
  t.equal((await submit()).status, 202, 'open for this machine alone, and until the first key')
  const { bot, alice } = await giveKeys(built, { bot: 'agent', alice: 'operator' })
  t.equal((await call('POST', '/confirm/id-0001/approve')).status, 401)
  const { id } = (await bot('POST', '/confirm', { action: 'send_mail', description: 'Send it' })).body
  t.match(await bot('POST', `/confirm/${id}/approve`, { approver: 'alice' }), { status: 403 })
  t.equal((await bot('GET', `/confirm/${id}`)).body.status, 'pending')
  t.match(await alice('POST', `/confirm/${id}/approve`), { status: 200, body: { resolved_by: 'alice' } })
})

t.test('14. an administrator, who may do both, does not approve what they asked for either', async (t) => {
  const { root } = await giveKeys(await build(t), { root: 'admin' })
  const { id } = (await root('POST', '/confirm', { action: 'send_mail', description: 'Send it' })).body
  t.match(await root('POST', `/confirm/${id}/approve`), { status: 403, body: { code: 'own_request' } })
})

t.test('14. on another address than loopback it is never open', async (t) => {
  const program = await start(t, { flags: ['--host', '0.0.0.0'] })
  t.equal((await program.submit()).status, 401)
  const { key } = await program.logLine(/made an admin key/)
  const authorization = `Bearer ${key}`
  t.equal((await program.call('GET', '/confirm', undefined, { authorization })).status, 200)
})

t.test('15. what people open in a browser is served on a port that browsers open', async (t) => {
  t.match(readInvocation([], {}), { config: { port: 6000, webPort: 6001 } })
  const { app, connections, dbPath } = await build(t)
  const listening = await listen({ app, connections }, configFor(dbPath, { port: 0, webPort: 0 }))
  t.teardown(() => listening.close(100))
  const response = await fetch(`${listening.webUrl}/health`)
  t.match(await response.json(), { status: 'ok' })
})

t.test('16. a notification that fails is tried again', async (t) => {
  let calls = 0
  const chat = createServer((_request, response) => {
    calls += 1
    response.writeHead(calls === 1 ? 500 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(calls === 1 ? { ok: false } : { ok: true, result: {} }))
  })
  await new Promise<void>((resolve) => chat.listen(0, '127.0.0.1', resolve))
  t.teardown(() => chat.close())
  const telegramApiBase = `http://127.0.0.1:${(chat.address() as AddressInfo).port}`
  const { submit, call, clock } = await build(t, {
    config: { telegramBotToken: '1:x', telegramHomeChannel: '1', telegramApiBase, telegramMode: 'off' },
  })
  await submit()
  const state = async () =>
    (await call('GET', '/confirm/id-0001')).body.deliveries.find(({ channel }: any) => channel === 'telegram')
  await until(async () => (await state()).status === 'retrying')
  await clock.advance(2000)
  await until(async () => (await state()).status === 'sent')
  t.equal(calls, 2)
})
