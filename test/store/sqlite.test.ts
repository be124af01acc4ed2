import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Key } from '../../src/access/key.js'
import type { Actor, Voter } from '../../src/core/actor.js'
import { resolve } from '../../src/core/confirmation.js'
import { digestOf } from '../../src/core/digest.js'
import { type Confirmation, defaultTerms } from '../../src/core/model.js'
import Database from '../../src/store/sqlite/driver.js'
import { migrate, schemaOf } from '../../src/store/sqlite/database.js'
import { migrations } from '../../src/store/sqlite/migrations.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import type { Store } from '../../src/store/store.js'
import { onThisThread, onThread } from '../../src/store/sqlite/writing.js'
import { agent, anyone, locally, person, someEvent } from '../actors.js'
import { temporaryFolder } from '../support.js'
import { confirmation, insert, storeContract } from './contract.js'

for (const [name, openWriting] of Object.entries({ onThread, onThisThread })) {
  t.test(`written ${name}, the store keeps its contract`, async (t) => {
    storeContract(t, async (t, { place = temporaryFolder(t), now } = {}) => {
      const store = openSqliteStore(join(place, 'test.db'), openWriting, now)
      t.teardown(() => store.close())
      return store
    })
  })
}

t.test('the history cannot be changed: UPDATE, DELETE and REPLACE fail inside SQLite', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(path)
  await store.commit(insert(confirmation('c1')))
  await store.commit(insert(confirmation('c2')))
  await store.close()
  const db = new Database(path)
  t.teardown(() => db.close())
  const row = `1, 'denied', 'mallory', 'http', 'c1', '{}'`
  for (const attack of [
    `UPDATE events SET actor = 'mallory' WHERE seq = 1`,
    `DELETE FROM events WHERE seq = 2`,
    `DELETE FROM events`,
    `REPLACE INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (1, ${row})`,
    `INSERT OR REPLACE INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (2, ${row})`,
    `INSERT INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (1, ${row})
      ON CONFLICT (seq) DO UPDATE SET actor = 'mallory'`,
    `INSERT INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (0, ${row})`,
    `INSERT INTO events (at, type, actor, via, confirmation_id, data) VALUES (${row})`,
  ]) {
    for (const recursive of ['ON', 'OFF']) {
      db.pragma(`recursive_triggers = ${recursive}`)
      t.throws(() => db.exec(attack), /append-only/, attack)
    }
  }
  t.same(db.prepare('SELECT seq, actor FROM events').all(), [
    { seq: 1, actor: 'system:rules' },
    { seq: 2, actor: 'system:rules' },
  ])
})

t.test('the schema is what it was', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  await openSqliteStore(path).close()
  const db = new Database(path, { readonly: true })
  t.teardown(() => db.close())
  t.equal(schemaOf(db), readFileSync('test/store/schema.sql', 'utf8'), 'npm run docs writes it anew')
  const tables = db.prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'").all()
  for (const { name, strict } of tables as { name: string; strict: number }[]) {
    if (!name.startsWith('sqlite_')) t.equal(strict, 1, `${name} is STRICT`)
  }
  t.equal(db.pragma('user_version', { simple: true }), migrations.length)
  t.equal(db.pragma('journal_mode', { simple: true }), 'wal')
})

t.test(
  'no question to the database grows with its history: each is answered by an index, and none sorts',
  async (t) => {
    const asked: string[] = []
    const prepare = Database.prototype.prepare
    Database.prototype.prepare = function (this: Database.Database, source: string) {
      asked.push(source)
      return prepare.call(this, source)
    } as typeof prepare
    const path = join(temporaryFolder(t), 'test.db')
    await openSqliteStore(path).close()
    Database.prototype.prepare = prepare
    const db = new Database(path)
    t.teardown(() => db.close())
    const questions = asked.filter((source) => source.startsWith('SELECT') && !source.includes('sqlite_schema'))
    t.ok(questions.length >= 30)
    // What is kept in memory, or listed with it, is read whole; it does not grow with the history.
    const readWhole = new Set(['people', 'chat_identities', 'keys', 'key_uses', 'grants'])
    for (const table of readWhole)
      t.ok(
        questions.some((source) => new RegExp(`FROM ${table}$`).test(source)),
        table,
      )
    for (const source of questions) {
      const named = Object.fromEntries([...source.matchAll(/@(\w+)/g)].map(([, name]) => [name, 1]))
      const values = source.match(/\?/g)?.map(() => 1) ?? []
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${source}`).all(...(values.length > 0 ? values : [named]))
      const whole = /FROM (\w+)$/.exec(source)?.[1]
      if (whole !== undefined && readWhole.has(whole)) continue
      for (const { detail } of plan as { detail: string }[]) {
        // What is unfinished may be counted, what is not filed yet looked through, and a filter's own list read.
        const grows =
          /TEMP B-TREE|^SCAN (?!CONSTANT|json_each|unfiled_slots|\(subquery-\d+\)|\w+ USING (COVERING )?INDEX (deliveries_due|confirmations_(due|unreported)))/.test(
            detail,
          )
        t.notOk(grows, `${detail}: ${source.replace(/\s+/g, ' ').slice(0, 100)}`)
      }
      if (/due_at <=|ORDER BY due_at/.test(source)) t.match(JSON.stringify(plan), /confirmations_due|COMPOUND/)
    }
  },
)

t.test('a database of the first schema is brought up to date, and loses nothing', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const old = new Database(path)
  migrate(old, 1)
  const insertOld =
    old.prepare(`INSERT INTO confirmations (arrival, id, version, status, timeout_seconds, created_at, deadline,
      resolved_at, resolved_via, resolved_by, action, requester, session_key, reason, description, details)
    VALUES (?, ?, 2, ?, 300, 1000, 301000, ?, ?, ?, 'send_mail', 'bot', 's', NULL, 'd', '{"b":1,"a":[]}')`)
  const rows = [
    [7, 'c1', 'pending', null, null, ''],
    [9, 'c2', 'approved', 2000, 'http', 'alice'],
    [11, 'c3', 'denied', 2000, 'http', 'bob'],
    [12, 'c4', 'auto_approved', 1000, 'whitelist', 'whitelist:g1'],
  ]
  for (const row of rows) insertOld.run(...row)
  old.exec(`INSERT INTO grants VALUES (3, 'g1', 4, 'ping', 'session', 's', NULL, 9, 2, 'r', 'alice', 1000, NULL)`)
  old.exec(`INSERT INTO deliveries VALUES ('c1', 'telegram', 2, 'retrying', 1, 5000, 1000, 'busy')`)
  old.exec("INSERT INTO events VALUES (1, 1000, 'submitted', 'bot', 'http', 'c1', '{}')")
  old.close()
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const common = { action: 'send_mail', requester: 'bot', sessionKey: 's', details: '{"b":1,"a":[]}' }
  const digest = digestOf({ ...common, onBehalfOf: null })
  t.match(await store.confirmations.get('c1'), {
    ...common,
    digest,
    resolution: null,
    execution: null,
    callbackUrl: null,
  })
  const lapsed = { state: 'lapsed', claimBy: 2000 }
  t.match(await store.confirmations.get('c2'), {
    ...common,
    digest,
    resolution: { by: anyone('alice') },
    execution: lapsed,
  })
  t.match(await store.confirmations.get('c3'), {
    ...common,
    digest,
    resolution: { by: anyone('bob') },
    execution: null,
  })
  const automatic = { resolution: { by: { kind: 'grant', id: 'g1' } }, execution: { state: 'lapsed', claimBy: 1000 } }
  t.match(await store.confirmations.get('c4'), { ...common, ...automatic })
  t.equal((await store.events.list(0, 10, { confirmationId: 'c1' })).events.length, 1)
  t.match(await store.confirmations.due(300_000, 10), { items: [] }, 'and nothing of that comes due')
  const { items } = await store.confirmations.list({}, 'newest', 10, null, 0)
  t.same(
    items.map(({ id }) => id),
    ['c4', 'c3', 'c2', 'c1'],
  )
  const usual = { terms: defaultTerms, votes: [], requestedAs: null, onBehalfOf: null, callbackUrl: null, aap: null }
  for (const one of items) t.match(one, usual, 'one approval, by whoever has the role')
  t.match(await store.confirmations.alike('bot', digest, 'd', 0), { id: 'c1' })
  t.same(await store.quotas.peek('action send_mail', 2000, { max: 9, windowMs: 5000 }), { remaining: 6, resetMs: 4000 })
  t.match(await store.confirmations.lastDenied(digest, 0), { id: 'c3' })
  t.match(await store.grants.covering('ping', 's', '{}', 0), [
    { id: 'g1', version: 4, maxUses: 9, uses: 2, grantedBy: anyone('alice') },
  ])
  t.match(await store.deliveries.of('c1'), [{ channel: 'telegram', state: 'retrying', nextAt: 5000, destination: '' }])
  t.same([await store.people.list(), await store.keys.list()], [[], []], 'and it is open, as it was')
  const late = { by: anyone('p'), at: 2000, via: 'http', reason: null } as const
  const record = resolve((await store.confirmations.get('c1'))!, 'approved', late, 1000) as Confirmation
  t.not(
    await store.commit({
      writes: [{ kind: 'confirmation', expect: 2, record }],
      events: [someEvent(2000, 'c1')],
    }),
    'conflict',
  )
})

t.test('what was unfinished before there was a due time has one', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const old = new Database(path)
  migrate(old, 5)
  const insert = old.prepare(`INSERT INTO confirmations (id, version, status, timeout_seconds, created_at, deadline,
      resolved_at, resolved_via, resolved_by, execution, claim_by, claimed_at, report_by, digest, action, requester,
      session_key, description, details)
    VALUES (?, 1, ?, 300, 1000, 3000, ?, 'http', '', ?, ?, ?, ?, '', 'a', 'bot', '', 'd', '{}')`)
  for (const row of [
    ['waits', 'pending', null, null, null, null, null],
    ['unclaimed', 'approved', 2000, 'unclaimed', 4000, null, null],
    ['claimed', 'approved', 2000, 'claimed', 4000, 2500, 5000],
    ['unreported', 'approved', 2000, 'unreported', 4000, 2500, 2600],
    ['denied', 'denied', 2000, null, null, null, null],
  ])
    insert.run(...row)
  old.close()
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const ids = (await store.confirmations.due(9000, 10)).items.map(({ id }) => id)
  t.same(ids, ['waits', 'unclaimed', 'claimed'], 'the longest due first')
  t.equal(await store.confirmations.nextDue(), 3000)
})

t.test('a vote that said in one word what it lets pass says it in full', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const old = new Database(path)
  migrate(old, 2)
  const vote = { verdict: 'approve', by: 'alice', at: 1000, via: 'http', reason: '"remember":"', comment: null }
  const votes = [
    { ...vote, isProven: true, remember: 'session' },
    { ...vote, isProven: false, remember: 'session' },
    { ...vote, isProven: true, remember: 'global' },
    { ...vote, isProven: true, remember: null },
  ]
  old
    .prepare(
      `INSERT INTO confirmations (id, version, status, timeout_seconds, created_at, deadline, resolved_by, digest, action,
        requester, session_key, votes, description, details)
      VALUES ('c1', 1, 'pending', 300, 1000, 301000, '', '', 'a', 'bot', 's', ?, 'd', '{}')`,
    )
    .run(JSON.stringify(votes))
  old.close()
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const remember = { scope: 'session', requester: null, expiresAt: null, isExact: false }
  t.same((await store.confirmations.get('c1'))?.votes, [
    { ...vote, by: person('alice'), remember: { ...remember, requester: 'bot' } },
    { ...vote, by: anyone('alice'), remember },
    { ...vote, by: person('alice'), remember: { ...remember, scope: 'global' } },
    { ...vote, by: person('alice'), remember: null },
  ])
})

t.test('actors that were texts are values, and chat ids that were columns are rows', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const old = new Database(path)
  migrate(old, 6)
  const insertOld =
    old.prepare(`INSERT INTO confirmations (id, version, status, timeout_seconds, created_at, deadline, resolved_at,
      resolved_via, resolved_by, execution, claim_by, digest, action, requester, session_key, votes, description, details)
    VALUES (?, 2, ?, 300, 1000, 301000, ?, ?, ?, ?, ?, 'd', 'a', 'bot', 's', ?, 'd', '{}')`)
  const said = { verdict: 'approve', at: 2000, reason: 'say "yes": \u00e9', comment: null, remember: null }
  const vote = (by: string, via: string, isProven: boolean) => ({ ...said, by, via, isProven })
  const insertVoted = (id: string, ...votes: ReturnType<typeof vote>[]) => {
    const { by, via } = votes.at(-1)!
    insertOld.run(id, 'approved', 2000, via, by, 'unclaimed', 3000, JSON.stringify(votes))
  }
  const chat = { kind: 'chat', channel: 'telegram', id: '-100' } as const
  insertOld.run('pending', 'pending', null, null, '', null, null, null)
  insertOld.run('half', 'pending', null, null, '', null, null, JSON.stringify([vote('alice', 'page', true)]))
  insertVoted('open', vote('system:timeout', 'http', false))
  insertVoted('key', vote('zoe', 'http', false), vote('alice', 'http', true))
  insertVoted('link', vote('olga', 'link', true))
  insertVoted('chat', vote('telegram:-100', 'link', true))
  insertOld.run('expired', 'expired', 301_000, 'system', 'system:timeout', null, null, null)
  insertOld.run('covered', 'auto_approved', 2000, 'whitelist', 'whitelist:g1', 'unclaimed', 3000, null)
  insertOld.run('restored', 'cancelled', 2000, 'system', 'system:restore', null, null, null)
  insertOld.run('early', 'cancelled', 1400, 'http', 'bot', null, null, null)
  insertOld.run('late', 'cancelled', 1600, 'http', 'bot', null, null, null)
  insertOld.run('own', 'cancelled', 1600, 'http', 'root', null, null, null)
  old.exec(`INSERT INTO keys VALUES
    ('k1', 1, 'root', 'admin', 'h', 'api', 1500, NULL, NULL, NULL), ('k2', 1, 'bot', 'agent', 'h', 'root', 1501, NULL, NULL, NULL),
    ('k3', 1, 'x', 'admin', 'h', 'local', 1502, NULL, NULL, NULL), ('k4', 1, 'y', 'admin', 'h', 'api', 1503, NULL, NULL, NULL),
    ('k5', 1, 'z', 'admin', 'h', 'system:restore', 1504, NULL, NULL, NULL)`)
  const insertGrant = old.prepare(`INSERT INTO grants (id, version, action, scope, session_key, requester, conditions,
      details_hash, uses, granted_by, proven, created_at) VALUES (?, 1, ?, 'global', '', '', '', '', 0, ?, ?, 1000)`)
  insertGrant.run('g1', 'one', 'alice', 1)
  insertGrant.run('g2', 'two', 'discord:7', 0)
  insertGrant.run('g3', 'three', 'telegram:-100', 1)
  old.exec(`INSERT INTO links VALUES ('l1', 1, 'pending', 'olga', 'telegram', 1000, NULL),
    ('l2', 1, 'pending', 'discord:webhook', 'discord', 1000, NULL)`)
  old.exec(`INSERT INTO people VALUES ('olga', 3, '42', '43', 1000), ('bot', 1, NULL, NULL, 1500)`)
  old.close()

  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const of = async (id: string) => (await store.confirmations.get(id))!
  const by = async (id: string) => (await of(id)).resolution?.by
  const after = (actor: Voter, via: string) => ({ ...said, by: actor, via })
  t.match(await of('pending'), { status: 'pending', resolution: null, votes: [] })
  t.match(await of('half'), { status: 'pending', resolution: null })
  t.same((await of('half')).votes, [after(person('alice'), 'page')])
  const byLink = { kind: 'link', recipient: person('olga') } as const
  const byChat = { kind: 'link', recipient: chat } as const
  t.same(await by('open'), anyone('system:timeout'))
  t.same((await of('open')).votes, [after(anyone('system:timeout'), 'http')])
  t.same(await by('key'), person('alice'))
  t.same((await of('key')).votes, [after(anyone('zoe'), 'http'), after(person('alice'), 'http')])
  t.same(await by('link'), byLink)
  t.same((await of('link')).votes, [after(byLink, 'link')])
  t.same(await by('chat'), byChat)
  t.same((await of('chat')).votes, [after(byChat, 'link')])
  t.same(await by('expired'), { kind: 'system', part: 'timeout' })
  t.same(await by('covered'), { kind: 'grant', id: 'g1' })
  t.same(await by('restored'), { kind: 'system', part: 'restore' })
  t.same(await by('early'), anyone('bot'), 'before the first key')
  t.same(await by('late'), agent('bot'))
  t.same(await by('own'), person('root'))
  t.same(
    new Map((await store.keys.list()).map(({ id, createdBy }) => [id, createdBy])),
    new Map<string, Actor>([
      ['k1', anyone('api')],
      ['k2', person('root')],
      ['k3', { kind: 'local' }],
      ['k4', person('api')],
      ['k5', { kind: 'system', part: 'restore' }],
    ]),
  )
  t.same((await store.grants.get('g1'))?.grantedBy, person('alice'))
  t.same((await store.grants.get('g2'))?.grantedBy, anyone('discord:7'))
  t.same((await store.grants.get('g3'))?.grantedBy, byChat)
  t.same((await store.links.get('l1'))?.recipient, person('olga'))
  t.same((await store.links.get('l2'))?.recipient, { kind: 'chat', channel: 'discord', id: 'webhook' })
  const people = (await store.people.list()).sort((a, b) => (a.name < b.name ? -1 : 1))
  const identities = [
    { channel: 'discord', id: '43' },
    { channel: 'telegram', id: '42' },
  ]
  t.same(people, [
    { name: 'bot', version: 1, createdAt: 1500, identities: [] },
    { name: 'olga', version: 3, createdAt: 1000, identities },
  ])
})

t.test('who voted before there was a list of voters is in it, by the events', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const old = new Database(path)
  migrate(old, 12)
  const hold = old.prepare(`INSERT INTO confirmations (id, version, status, timeout_seconds, created_at, deadline,
      resolved_by, digest, action, requester, session_key, description, details)
    VALUES (?, 1, 'pending', 300, ?, 301000, '', '', 'a', 'bot', 's', 'd', '{}')`)
  for (const [id, at] of Object.entries({ c1: 1000, c2: 1000, c3: 2000, c4: 3000 })) hold.run(id, at)
  const add = old.prepare("INSERT INTO events VALUES (?, 1, ?, ?, 'http', ?, '{}')")
  for (const [index, event] of [
    ['submitted', 'alice', 'c4'],
    ['voted', 'alice', 'c1'],
    ['voted', 'telegram:-1', 'c3'],
    ['approved', 'bob', 'c1'],
    ['denied', 'alice', 'c2'],
    ['approved', 'alice', 'c3'],
    ['rejected', 'alice', 'c4'],
    ['granted', 'alice', null],
  ].entries())
    add.run(index + 1, ...event)
  old.close()
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const ids = async (votedBy: string) =>
    (await store.confirmations.list({ votedBy }, 'newest', 10, null, 0)).items.map(({ id }) => id)
  t.same(await ids('alice'), ['c3', 'c2', 'c1'])
  t.same(await ids('bob'), ['c1'])
  t.same(await ids('telegram:-1'), ['c3'])
  t.same(await ids('bot'), [])
})

t.test(
  'deliveries from before there were several of one channel are notices, and say when somebody was told',
  async (t) => {
    const path = join(temporaryFolder(t), 'test.db')
    const old = new Database(path)
    migrate(old, 23)
    const hold = old.prepare(`INSERT INTO confirmations (id, version, status, timeout_seconds, created_at, deadline,
      resolved_by, digest, action, requester, session_key, description, details, share, due_at)
    VALUES (?, 1, 'pending', 300, 1000, 301000, '', '', 'a', 'bot', 's', 'd', '{}', 'bot', 301000)`)
    hold.run('c1')
    hold.run('c2')
    const deliver =
      old.prepare(`INSERT INTO deliveries (confirmation_id, channel, destination, share, version, state, attempts,
      next_at, updated_at, leased_until, error) VALUES (?, ?, ?, 'bot', 3, ?, 2, ?, 2000, NULL, ?)`)
    deliver.run('c1', 'telegram', '', 'failed', null, 'no')
    deliver.run('c1', 'discord', '', 'sent', null, null)
    deliver.run('c1', 'callback', 'a.example', 'sent', null, null)
    deliver.run('c1', 'log', '', 'superseded', null, null)
    deliver.run('c2', 'telegram', '', 'retrying', 5000, 'busy')
    old.close()
    const store = openSqliteStore(path)
    t.teardown(() => store.close())
    const usual = {
      occasion: 'notice',
      share: 'bot',
      version: 3,
      attempts: 2,
      updatedAt: 2000,
      message: null,
      shown: null,
    }
    const ended = { ...usual, nextAt: null, error: null, toldAt: null, destination: '' }
    t.same(await store.deliveries.of('c1'), [
      { subjectId: 'c1', ...ended, channel: 'callback', destination: 'a.example', state: 'sent' },
      { subjectId: 'c1', ...ended, channel: 'discord', state: 'sent', toldAt: 2000 },
      { subjectId: 'c1', ...ended, channel: 'log', state: 'superseded' },
      { subjectId: 'c1', ...ended, channel: 'telegram', state: 'failed', error: 'no' },
    ])
    t.match(await store.confirmations.get('c1'), { toldAt: 2000, comments: [] })
    t.match(await store.confirmations.get('c2'), { toldAt: null })
    const turn = { after: '', fullShares: [], fullDestinations: [] }
    t.match(await store.deliveries.due('telegram', 5000, 10, turn), [{ subjectId: 'c2', occasion: 'notice' }])
    t.same(await store.deliveries.followed('discord', null, 10), [], 'nobody knows which message it was')
  },
)

t.test('a second opening of the same file is refused, by whatever name it is called', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'test.db')
  const store = openSqliteStore(path)
  mkdirSync(join(folder, 'sub'))
  symlinkSync(path, join(folder, 'link.db'))
  symlinkSync(folder, join(folder, 'sub', 'around'))
  for (const name of [
    path,
    join(folder, 'link.db'),
    join(folder, 'sub', '..', 'test.db'),
    join(folder, 'sub/around/test.db'),
  ]) {
    t.throws(() => openSqliteStore(name), { name: 'StoreRefused', message: /in use by another Holdpoint/ })
  }
  await store.close()
  await openSqliteStore(path).close()
})

t.test('a link to a database that is not there yet is one database too', async (t) => {
  const folder = temporaryFolder(t)
  symlinkSync(join(folder, 'real.db'), join(folder, 'link.db'))
  const store = openSqliteStore(join(folder, 'link.db'))
  t.throws(() => openSqliteStore(join(folder, 'real.db')), { message: /in use by another Holdpoint/ })
  await store.close()
})

t.test('an event that somebody appended by hand does not stop the service', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  await store.commit(insert(confirmation('c1')))
  const db = new Database(path)
  db.exec("INSERT INTO events (seq, at, type, actor, via, data) VALUES (2, 1, 'denied', 'mallory', 'http', '{}')")
  db.close()
  const outcomes = await Promise.all(['c2', 'c3'].map((id) => store.commit(insert(confirmation(id)))))
  t.match(outcomes, [{ events: [{ seq: 3 }] }, { events: [{ seq: 4 }] }])
})

t.test('a gap in the numbers costs no pages, and the history goes on behind it', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  await store.commit(insert(confirmation('c1')))
  const db = new Database(path)
  db.exec("INSERT INTO events VALUES (1000000001, 1, 'restored', 'system:restore', 'system', NULL, '{}')")
  db.close()
  await store.commit(insert(confirmation('c2')))
  const first = await store.events.list(0, 1)
  t.match(first, { events: [{ seq: 1 }], more: true })
  t.match(await store.events.list(first.upTo, 10), {
    events: [{ seq: 1_000_000_001 }, { seq: 1_000_000_002 }],
    upTo: 1_000_000_002,
    more: false,
  })
  t.match(await store.events.list(500_000, 1), { events: [{ seq: 1_000_000_001 }], upTo: 1_000_000_001, more: true })
  t.match(await store.events.list(1_000_000_002, 10), { events: [], upTo: 1_000_000_002, more: false })
  t.match(await store.events.list(500_000, 10, { actor: 'nobody' }), { events: [], upTo: 1_000_000_002, more: false })
})

t.test('a database that was begun anew where there was one with keys uses no number again', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  writeFileSync(`${path}.closed`, '')
  const store = openSqliteStore(path)
  t.same(await store.events.list(0, 10), { events: [], upTo: 0, more: false })
  t.match(await store.commit(insert(confirmation('c1'))), { events: [{ seq: 1_000_000_001 }] })
  const conflicting = await Promise.all(['c1', 'c2'].map((id) => store.commit(insert(confirmation(id)))))
  t.match(conflicting, ['conflict', { events: [{ seq: 1_000_000_002 }] }])
  t.match(await store.events.list(0, 1), { events: [{ seq: 1_000_000_001 }], upTo: 1_000_000_001, more: true })
  t.match(await store.events.list(7, 10), { events: [{}, {}], upTo: 1_000_000_002, more: false })
  await store.close()
  const again = openSqliteStore(path)
  t.teardown(() => again.close())
  t.match(await again.commit(insert(confirmation('c3'))), { events: [{ seq: 1_000_000_003 }] })
})

t.test('the latest time on record is that of the clock as it last ran', async (t) => {
  const store = openSqliteStore(join(temporaryFolder(t), 'test.db'), onThisThread)
  t.teardown(() => store.close())
  const at = (time: number) => store.commit({ writes: [], events: [someEvent(time)] })
  t.equal(await store.events.lastTime(), 0)
  await at(10_000_000)
  t.equal(await store.events.lastTime(), 10_000_000)
  await at(9_999_000)
  t.equal(await store.events.lastTime(), 10_000_000, 'commits may overtake each other')
  await at(5_000_000)
  t.equal(await store.events.lastTime(), 5_000_000, 'the clock was set back, which a start has dealt with')
})

const addKey = (store: Store) => {
  const record: Key = {
    id: 'k1',
    version: 1,
    person: 'root',
    role: 'admin',
    hash: 'h',
    createdBy: locally.actor,
    createdAt: 1,
    expiresAt: null,
    revokedAt: null,
    replacedBy: null,
  }
  return store.commit({
    writes: [{ kind: 'key', expect: 'absent', record }],
    events: [someEvent(1)],
  })
}

t.test('a key is not acknowledged where the marker that there was one cannot be written', async (t) => {
  const folder = join(temporaryFolder(t), 'home')
  const path = join(folder, 'test.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  t.equal(store.hadKeys, false)
  await store.probe()
  renameSync(folder, `${folder}.away`)
  await t.rejects(addKey(store), { name: 'StoreUnavailable', message: /MARKER/ })
  t.same([await store.keys.list(), await store.events.lastSeq()], [[], 0])
  renameSync(`${folder}.away`, folder)
  t.not(await addKey(store), 'conflict')
  t.ok(existsSync(`${path}.closed`))
})

t.test("whatever stands in the marker's place is one, and hinders no key", async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  mkdirSync(`${path}.closed`)
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  t.equal(store.hadKeys, true)
  t.not(await addKey(store), 'conflict')
  t.equal((await store.keys.list()).length, 1)
})

t.test('nothing is acknowledged that was committed to a file which is gone by then', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const prepare = Database.prototype.prepare
  let isLost = false
  Database.prototype.prepare = function (this: Database.Database, source: string) {
    const statement = prepare.call(this, source)
    if (source !== 'COMMIT') return statement
    const run = statement.run.bind(statement) as () => Database.RunResult
    return Object.assign(statement, {
      run() {
        const result = run()
        if (isLost) rmSync(path)
        return result
      },
    })
  } as typeof prepare
  const store = openSqliteStore(path, onThisThread)
  Database.prototype.prepare = prepare
  t.teardown(() => store.close())
  const heard: unknown[] = []
  store.onCommit((committed) => heard.push(committed))
  await store.commit(insert(confirmation('c1')))
  isLost = true
  const both = await Promise.allSettled(['c2', 'c3'].map((id) => store.commit(insert(confirmation(id)))))
  for (const one of both) t.match(one, { status: 'rejected', reason: { name: 'OutcomeUnknown' } })
  await t.rejects(store.probe(), { name: 'StoreDisplaced', message: /test\.db was removed, replaced or overwritten/ })
  t.equal(heard.length, 1, 'and nobody was told of it')
})

t.test('checkpoints of its own do not pass for a database that somebody overwrote', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  await store.probe()
  const before = statSync(path).size
  const insertMany = async (from: number, to: number, description: string) => {
    const ids = Array.from({ length: to - from }, (_, index) => `c${from + index}`)
    await Promise.all(ids.map((id) => store.commit(insert({ ...confirmation(id), description }))))
  }
  // Between two transactions, after a thousand changes; and in the middle of one, where much is written.
  for (let count = 0; count < 1100; count += 50) await insertMany(count, count + 50, 'x')
  const between = statSync(path).size
  t.ok(between > before, 'there was a checkpoint')
  for (let count = 2000; count < 2500; count += 50) await insertMany(count, count + 50, 'x'.repeat(100_000))
  t.ok(statSync(path).size > between + 10_000_000, 'and another')
  await store.probe()
})

t.test('others may read the database while it is in use', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  await store.commit(insert(confirmation('c1')))
  const db = new Database(path, { readonly: true })
  t.equal(db.prepare('SELECT count(*) FROM confirmations').pluck().get(), 1)
  db.close()
})

t.test('a database of a newer version is refused and left alone', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  await openSqliteStore(path).close()
  const db = new Database(path)
  db.pragma(`user_version = ${migrations.length + 1}`)
  db.close()
  const before = readFileSync(path)
  t.throws(() => openSqliteStore(path), { name: 'StoreRefused', message: /newer Holdpoint/ })
  t.same(readFileSync(path), before)
})

t.test("another program's database is refused and left alone", async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const db = new Database(path)
  db.exec('CREATE TABLE confirmations (id TEXT)')
  db.close()
  const before = readFileSync(path)
  t.throws(() => openSqliteStore(path), { name: 'StoreRefused', message: /another program/ })
  t.same(readFileSync(path), before)
  t.notOk(existsSync(`${path}-wal`))
})

t.test('what is no database, or cannot be one, is refused with a clear sentence', async (t) => {
  const folder = temporaryFolder(t)
  const text = join(folder, 'notes.txt')
  writeFileSync(text, 'this is not a database, but it is long enough to look at: '.repeat(50))
  t.throws(() => openSqliteStore(text), { name: 'StoreRefused', message: /not a SQLite database/ })
  t.throws(() => openSqliteStore(folder), { name: 'StoreRefused', message: /Cannot open the database/ })
  t.throws(() => openSqliteStore('/proc/nowhere/test.db'), {
    name: 'StoreRefused',
    message: /Cannot open the database/,
  })
  t.throws(() => openSqliteStore(join(text, 'below.db')), { name: 'StoreRefused', message: /Cannot open the database/ })
  mkdirSync(join(folder, 'test.db.lock'))
  t.throws(() => openSqliteStore(join(folder, 'test.db')), {
    name: 'StoreRefused',
    message: /^Cannot open the database .*Check that the folder exists and is writable/,
  })
})

t.test('missing folders are made, for the owner alone', async (t) => {
  const path = join(temporaryFolder(t), 'a', 'b', 'test.db')
  await openSqliteStore(path).close()
  t.ok(existsSync(path))
})
