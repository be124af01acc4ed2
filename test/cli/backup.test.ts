// A backup while the service runs, and a backup in the place of a database: what ends, what is kept, and what a kill leaves.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from '../../src/store/sqlite/driver.js'
import t, { type Test } from 'tap'
import { localOwner } from '../../src/access/role.js'
import { carryOut } from '../../src/cli/dispatch.js'
import { readInvocation } from '../../src/invocation.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { migrations } from '../../src/store/sqlite/migrations.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import { onThisThread } from '../../src/store/sqlite/writing.js'
import { launch, run, start } from '../e2e/program.js'
import { locally, someEvent } from '../actors.js'
import { alarmOf, raising } from '../alarm.js'
import { build, type Built, giveKeys, manualClock, temporaryFolder, t0, withKey } from '../support.js'

const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
const keyLine = /^hpk_[0-9a-f]{12}_[0-9a-f]{64}\n$/
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Carries out a command on a database as the program would, without the time that a process takes to start. */
async function command(dbPath: string, ...words: string[]) {
  let [stdout, stderr] = ['', '']
  const output = {
    print: (text: string) => void (stdout += `${text.trimEnd()}\n`),
    tell: (text: string) => void (stderr += `${text}\n`),
  }
  try {
    const invocation = readInvocation(['--db-path', dbPath, ...words], {})
    if (invocation.command !== 'carry-out') throw new Error('no command')
    return { code: await carryOut(invocation.given, invocation.config, output), stdout, stderr }
  } catch (error) {
    const { name, message } = error as Error
    if (!['StoreRefused', 'CommandRefused', 'ConfigProblems'].includes(name)) throw error
    return { code: 1, stdout, stderr: `${stderr}${message}\n` }
  }
}

async function addKey(t: Test, dbPath: string, name: string, role: string): Promise<string> {
  const { code, stdout, stderr } = await command(dbPath, 'keys', 'add', '--name', name, '--role', role)
  t.equal(code, 0, stderr)
  return stdout.trim()
}

async function backUp(t: Test, dbPath: string): Promise<string> {
  const file = join(temporaryFolder(t), 'backup.db')
  t.match(await command(dbPath, 'backup', file), { code: 0, stderr: '' })
  return file
}

/** One value from a file. */
function look(file: string, sql: string): unknown {
  const db = new Database(file, { readonly: true, fileMustExist: true })
  try {
    return db.prepare(sql).pluck().get()
  } finally {
    db.close()
  }
}

const lastSeq = (file: string) => look(file, 'SELECT max(seq) FROM events') as number
const keptBeside = (dbPath: string) =>
  readdirSync(dirname(dbPath)).filter((name) => /\.replaced-\d{8}T\d{9}Z$/.test(name))
const files = (dbPath: string) => readdirSync(dirname(dbPath)).filter((name) => !/\.(lock|sock)/.test(name))

// -- backup --------------------------------------------------------------------------------------------------------------

t.test(
  'a backup of a service under load is whole, as of one moment, private, and has what was acknowledged',
  async (t) => {
    const program = await start(t, { flags })
    const acknowledged = await Promise.all(Array.from({ length: 300 }, () => program.submit()))
    let isOver = false
    const submitted: Promise<unknown>[] = []
    const load = (async () => {
      while (!isOver) {
        const one = program.submit({ description: 'x'.repeat(5000) })
        submitted.push(one)
        await one
      }
    })()
    const file = join(temporaryFolder(t), 'backup.db')
    const made = await run(t, ['backup', file, '--db-path', program.dbPath])
    isOver = true
    await load
    t.match(made, {
      code: 0,
      stderr: '',
      stdout: /^Backed up .*test\.db to .*backup\.db: .* [KM]iB, \d+ events, checked\.\n$/,
    })
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.same(readdirSync(dirname(file)), ['backup.db'], 'one file, and nothing beside it')
    t.equal(look(file, 'PRAGMA integrity_check'), 'ok')
    t.equal(look(file, 'PRAGMA journal_mode'), 'delete')
    t.equal(look(file, 'SELECT max(seq) - count(*) FROM events'), 0)
    t.equal(
      look(file, 'SELECT count(*) FROM confirmations'),
      look(file, "SELECT count(*) FROM events WHERE type = 'submitted'"),
    )
    for (const { body } of acknowledged) {
      t.equal(look(file, `SELECT status FROM confirmations WHERE id = '${body.id}'`), 'pending')
    }
    t.equal((await program.submit()).status, 202, 'and the service goes on')
  },
)

t.test('a backup overwrites nothing, leaves nothing half done, and says why it is refused', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  await addKey(t, dbPath, 'root', 'admin')
  const folder = temporaryFolder(t)
  const taken = join(folder, 'taken')
  writeFileSync(taken, 'precious')
  t.match(await command(dbPath, 'backup', taken), { code: 1, stdout: '', stderr: /exists, and is not overwritten/ })
  t.equal(readFileSync(taken, 'utf8'), 'precious')
  t.match(await command(dbPath, 'backup', join(folder, 'no', 'x')), { code: 1, stderr: /Check that the folder exists/ })
  t.match(await command(dbPath, 'backup'), { code: 1, stderr: /backup: say which FILE/ })
  t.match(await command(dbPath, 'backup', 'a', 'b'), { code: 1, stderr: /b: backup takes no second argument/ })
  t.match(await command(join(folder, 'none.db'), 'backup', join(folder, 'x')), {
    code: 1,
    stderr: /There is no database/,
  })
  t.match(await command(taken, 'backup', join(folder, 'x')), {
    code: 1,
    stderr: /not a SQLite database|not a database/,
  })
  const foreign = new Database(join(folder, 'foreign.db'))
  foreign.exec('CREATE TABLE t (x)')
  foreign.close()
  t.match(await command(join(folder, 'foreign.db'), 'backup', join(folder, 'x')), {
    code: 1,
    stderr: /is not a database of Holdpoint/,
  })
  t.same(readdirSync(folder).toSorted(), ['foreign.db', 'taken'])
})

t.test('a damaged database gives no backup', async (t) => {
  const program = await start(t, { flags })
  await Promise.all(Array.from({ length: 200 }, () => program.submit({ description: 'x'.repeat(3000) })))
  await program.stop()
  const damaged = readFileSync(program.dbPath)
  damaged.fill(0xee, 8192 * 30, 8192 * 34)
  writeFileSync(program.dbPath, damaged)
  const file = join(temporaryFolder(t), 'backup.db')
  t.match(await command(program.dbPath, 'backup', file), { code: 1, stderr: /damaged/ })
  t.same(readdirSync(dirname(file)), [])
})

// -- restore -------------------------------------------------------------------------------------------------------------

interface Story {
  dbPath: string
  backup: string
  keys: Record<'root' | 'alice' | 'bot', string>
  ids: Record<'pending' | 'approved' | 'claimed', string>
  link: string
  /** The path of a link to sign in. */
  signInLink: string
}

/** A service with keys, a grant, a link and one confirmation in each state that a restore must end or keep; backed up. */
async function tell(t: Test): Promise<{ built: Built; story: Story }> {
  const built = await reopen(t, join(temporaryFolder(t), 'test.db'))
  const { root, alice, bot } = await giveKeys(built, { root: 'admin', alice: 'operator', bot: 'agent' })
  const ask = async (action: string) => (await bot('POST', '/confirm', { action, description: 'd' })).body.id as string
  const pending = await ask('pending')
  const [approved, claimed] = [await ask('approved'), await ask('claimed')]
  for (const id of [approved, claimed]) t.equal((await alice('POST', `/confirm/${id}/approve`)).status, 200)
  const once = { ...bearer(bot.key), 'idempotency-key': 'claim-1' }
  t.equal((await built.call('POST', `/confirm/${claimed}/claim`, {}, once)).status, 200)
  t.equal((await alice('POST', '/whitelist', { action: 'ping' })).status, 201)
  const confirmation = await built.store.confirmations.get(pending)
  const link = await built.service.makeLink(confirmation!, { kind: 'chat', channel: 'telegram', id: '1' }, 'telegram')
  const { url } = (await root('POST', `/keys/${root.keyId}/sign-in-link`)).body
  const backup = await backUp(t, built.dbPath)
  const keys = { root: root.key, alice: alice.key, bot: bot.key }
  return {
    built,
    story: { dbPath: built.dbPath, backup, keys, ids: { pending, approved, claimed }, link, signInLink: url },
  }
}

/** A service on what is there now, by the machine's own time. */
const reopen = (t: Test, dbPath: string) =>
  build(t, { dbPath, clock: manualClock(Date.now()), config: { rateLimit: 1_000_000 } })

const get = (program: Pick<Built, 'call'>, key: string, path: string) =>
  program.call('GET', path, undefined, bearer(key))

t.test('a restore ends what could still let something pass, and what was claimed can be reported', async (t) => {
  const { built, story } = await tell(t)
  const { dbPath, backup, keys, ids } = story
  const alice = withKey(built.call, keys.alice)
  t.equal((await alice('POST', `/confirm/${ids.pending}/deny`)).status, 200, 'answered after the backup')
  const late = await giveKeys(built, { late: 'operator' })
  const aliceId = keys.alice.split('_')[1]!
  await built.service.people.revokeKey(aliceId, locally)
  const before = await built.store.events.lastSeq()
  t.match(await command(dbPath, 'restore', backup), { code: 1, stderr: /in use by another Holdpoint/ })
  await built.stop()
  const restored = await command(dbPath, 'restore', backup)
  t.match(restored, {
    code: 0,
    stdout: '',
    stderr: new RegExp(
      `goes on with ${before + 1}\\.\\nEnded: 1 pending request, 1 approval, 1 link, 1 whitelist entry, 1 key\\..*\\n` +
        'What was there is kept as ',
    ),
  })
  t.same(files(dbPath).toSorted(), ['test.db', 'test.db.closed', ...keptBeside(dbPath)].toSorted())

  const program = await reopen(t, dbPath)
  t.equal((await get(program, keys.alice, '/confirm')).status, 401, 'revoked since, it stays revoked')
  t.equal((await get(program, late.late.key, '/confirm')).status, 401, 'made since, it does not exist')
  t.equal((await get(program, keys.root, '/keys')).status, 200)
  t.match((await get(program, keys.bot, `/confirm/${ids.pending}`)).body, {
    status: 'cancelled',
    resolved_by: 'system:restore',
    reason: /restored from a backup/,
  })
  t.match((await get(program, keys.bot, `/confirm/${ids.approved}`)).body, { status: 'approved', execution: 'lapsed' })
  const act = (verb: string, id: string, body?: unknown) =>
    program.call('POST', `/confirm/${id}/${verb}`, body, bearer(keys.bot))
  t.match(await act('claim', ids.approved), { status: 409, body: { code: 'approval_expired' } })
  const once = { ...bearer(keys.bot), 'idempotency-key': 'claim-1' }
  t.match(
    await program.call('POST', `/confirm/${ids.claimed}/claim`, {}, once),
    { status: 409, body: { code: 'already_claimed' } },
    'nobody is told again to go ahead: it may have been done, and reported, after the backup',
  )
  t.match(await act('report', ids.claimed, { outcome: 'succeeded' }), { status: 200, body: { execution: 'succeeded' } })
  t.same((await get(program, keys.root, '/whitelist')).body.entries, [])
  const ping = { action: 'ping', description: 'd' }
  t.equal((await program.call('POST', '/confirm', ping, bearer(keys.bot))).status, 202, 'no longer covered')
  t.match((await program.call('GET', `/link/${story.link}`)).body, /This link has been used|cancelled/i)
  t.match(await program.call('GET', story.signInLink), { status: 401, body: /no such link to sign in/ })

  const { body } = await get(program, keys.root, `/audit/events?after=${before}`)
  t.match(
    body.events.slice(0, 6).map((one: any) => [one.type, one.actor]),
    [
      ['restored', 'system:restore'],
      ['cancelled', 'system:restore'],
      ['lapsed', 'system:restore'],
      ['unreported', 'system:restore'],
      ['revoked', 'system:restore'],
      ['key_revoked', 'system:restore'],
    ],
  )
  const backupSeq = lastSeq(backup)
  t.ok(before > backupSeq)
  t.match(body.events[0], {
    seq: before + 1,
    data: {
      backup_last_seq: backupSeq,
      replaced_last_seq: before,
      requests_ended: 1,
      approvals_lapsed: 1,
      grants_revoked: 1,
      links_ended: 1,
      keys_revoked: [aliceId],
    },
  })
  const all = (await get(program, keys.root, '/audit/events?limit=500')).body
  t.equal(all.more, false)
  t.same(
    all.events.map((one: any) => one.seq).filter((seq: number) => seq > backupSeq && seq <= before),
    [],
    'numbers that the lost history had are not used again',
  )
  const kept = join(dirname(dbPath), keptBeside(dbPath)[0]!)
  t.equal(
    look(kept, `SELECT status FROM confirmations WHERE id = '${ids.pending}'`),
    'denied',
    'what was there is kept',
  )
  t.equal(statSync(kept).mode & 0o777, 0o600)
  t.match(await program.call('GET', `/events?after=${before + 1000}`, undefined, bearer(keys.root)), { status: 400 })
})

t.test('a key that was rotated or had expired since the backup does not come back', async (t) => {
  const { built, story } = await tell(t)
  await built.service.people.rotateKey(story.keys.alice.split('_')[1]!, 86_400_000, locally)
  await built.service.people.rotateKey(story.keys.bot.split('_')[1]!, 0, locally)
  await built.stop()
  t.match(await command(story.dbPath, 'restore', story.backup), { code: 0, stderr: /2 keys/ })
  const program = await reopen(t, story.dbPath)
  for (const key of [story.keys.alice, story.keys.bot]) t.equal((await get(program, key, '/confirm')).status, 401)
  t.equal((await get(program, story.keys.root, '/confirm')).status, 200)
})

const unreadable: [what: string, act: (dbPath: string) => void][] = [
  ['is gone', (dbPath) => rmSync(dbPath)],
  [
    'is gone, marker and all',
    (dbPath) => {
      rmSync(dbPath)
      rmSync(`${dbPath}.closed`)
    },
  ],
  ['is no database any more', (dbPath) => writeFileSync(dbPath, 'garbage '.repeat(10_000))],
  ['is cut off', (dbPath) => truncateSync(dbPath, 8192 * 3)],
  [
    'was begun anew',
    (dbPath) => {
      const marker = readFileSync(`${dbPath}.closed`)
      rmSync(dirname(dbPath), { recursive: true })
      mkdirSync(dirname(dbPath))
      writeFileSync(`${dbPath}.closed`, marker)
    },
  ],
]
for (const [what, act] of unreadable) {
  t.test(`where the database ${what}, all keys of the backup are revoked but for a new administrator's`, async (t) => {
    const { built, story } = await tell(t)
    const { dbPath, backup, keys } = story
    await built.stop()
    act(dbPath)
    const restored = await command(dbPath, 'restore', backup)
    t.match(restored, { code: 0, stdout: keyLine, stderr: /3 keys\.[^]*for admin, admin. Keep it now/ })
    t.match(restored.stderr, `goes on with ${lastSeq(backup) + 1_000_000_000}.`)
    const program = await reopen(t, dbPath)
    for (const key of Object.values(keys)) t.equal((await get(program, key, '/confirm')).status, 401)
    t.equal((await program.submit()).status, 401)
    const admin = restored.stdout.trim()
    t.equal((await get(program, admin, '/keys')).body.count, 4)
    const events: any[] = []
    let page = { more: true, next_after: 0 }
    for (let pages = 0; page.more; pages++) {
      t.ok(pages < 3, 'few pages, however large the gap')
      const { body } = await get(program, admin, `/audit/events?limit=500&after=${page.next_after}`)
      events.push(...body.events)
      page = body
    }
    t.match(events.find((one: any) => one.type === 'restored').data, { replaced_last_seq: null })
    t.equal(events.filter((one: any) => one.type === 'key_revoked').length, 3)
    t.match((await get(program, admin, `/audit/events?after=${lastSeq(backup)}&limit=1`)).body, {
      count: 1,
      events: [{ type: 'restored' }],
      more: true,
    })
  })
}

t.test('nor does a restore use a number again that a database had which was begun anew', async (t) => {
  const { built, story } = await tell(t)
  const { dbPath, backup } = story
  await built.stop()
  rmSync(dbPath)
  const anew = openSqliteStore(dbPath, onThisThread)
  for (let count = 0; count < 50; count++) {
    await anew.commit({ writes: [], events: [someEvent(t0)] })
  }
  await anew.close()
  t.equal(lastSeq(dbPath), 1_000_000_050)
  t.match(await command(dbPath, 'restore', backup), { code: 0, stderr: /goes on with 2000000050\./ })
})

t.test('where it has keys that the backup knows nothing of, none of the backup is good', async (t) => {
  const { built, story } = await tell(t)
  await built.stop()
  for (const end of ['', '.closed']) rmSync(`${story.dbPath}${end}`)
  await addKey(t, story.dbPath, 'newcomer', 'admin')
  t.match(await command(story.dbPath, 'restore', story.backup), { code: 0, stdout: keyLine, stderr: /3 keys/ })
})

t.test('a database that never had a key stays open after a restore, and one that had stays closed', async (t) => {
  const program = await start(t)
  await program.submit()
  const open = await backUp(t, program.dbPath)
  await program.stop()
  t.match(await command(program.dbPath, 'restore', open), { code: 0, stdout: '' })
  const again = await reopen(t, program.dbPath)
  t.equal((await again.submit()).status, 202)
  await again.stop()

  await addKey(t, program.dbPath, 'root', 'admin')
  t.match(await command(program.dbPath, 'restore', open), { code: 0, stdout: keyLine, stderr: /No other key is good/ })
  const closed = await reopen(t, program.dbPath)
  t.equal((await closed.submit()).status, 401)
})

t.test(
  'callbacks that would say yes are not sent after a restore, and whoever waits for an end is told of it',
  async (t) => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    const built = await build(t, {
      clock: manualClock(Date.now()),
      config: { callbackSecret: [secret], callbackAllow: ['127.0.0.1'] },
    })
    const ask = async (action: string) =>
      (await built.submit({ action, callback_url: 'http://127.0.0.1:9/x' })).body.id as string
    const [yes, no, open] = [await ask('yes'), await ask('no'), await ask('open')]
    await built.call('POST', `/confirm/${yes}/approve`)
    await built.call('POST', `/confirm/${no}/deny`)
    const backup = await backUp(t, built.dbPath)
    await built.stop()
    t.match(await command(built.dbPath, 'restore', backup), { code: 0 })
    const state = (id: string) =>
      look(built.dbPath, `SELECT state FROM deliveries WHERE confirmation_id = '${id}' AND channel = 'callback'`)
    t.equal(state(yes), 'dropped')
    t.match(state(no), /queued|retrying/)
    t.equal(state(open), 'queued')
  },
)

t.test('alarms that were not delivered are not sent after a restore, as other messages are not', async (t) => {
  const built = await build(t, { clock: manualClock(Date.now()) })
  await built.stopSending(0)
  const alarm = alarmOf({ createdAt: built.clock.now() })
  await built.store.commit(raising(alarm, 'telegram'))
  const backup = await backUp(t, built.dbPath)
  await built.stop()
  t.match(await command(built.dbPath, 'restore', backup), { code: 0 })
  const find = (what: string) => look(built.dbPath, `SELECT ${what} WHERE confirmation_id = '${alarm.id}'`)
  t.equal(find("group_concat(channel || ' ' || state) FROM deliveries"), 'log dropped,telegram dropped')
  t.equal(find('count(next_at) FROM deliveries'), 0)
  t.equal(look(built.dbPath, 'SELECT count(*) FROM alarms'), 1, 'that there was one stays on record')
  const dropped = "SELECT json_extract(data, '$.messages_dropped') FROM events WHERE type = 'restored'"
  t.equal(look(built.dbPath, dropped), 1)
})

// -- sessions

/** A service with an agent, and an operator who denies what it asks for in a session. */
async function withSessions(t: Test) {
  const built = await reopen(t, join(temporaryFolder(t), 'test.db'))
  const { bot, alice } = await giveKeys(built, { bot: 'agent', alice: 'operator' })
  const ask = (session_key: string, program: Pick<Built, 'call'> = built) =>
    withKey(program.call, bot.key)('POST', '/confirm', { action: 'pay', description: 'd', session_key })
  const decide = async (verdict: 'approve' | 'deny', sessionKey: string) => {
    const { body } = await ask(sessionKey)
    t.equal((await alice('POST', `/confirm/${body.id}/${verdict}`)).status, 200)
  }
  const suspend = (key: string, reason: string) =>
    built.service.sessions.suspend({ key, requester: 'bot' }, reason, 'x', localOwner, 'local')
  const eventsOf = async (program: Pick<Built, 'call'>, type: string) =>
    (await get(program, alice.key, `/audit/events?type=${type}`)).body.events
  return { built, alice, ask, decide, suspend, eventsOf }
}

t.test(
  'a session that was suspended after the backup stays suspended, and it is on record who keeps it so',
  async (t) => {
    const { built, ask, suspend, eventsOf } = await withSessions(t)
    for (const key of ['known', 'other']) t.equal((await ask(key)).status, 202)
    const backup = await backUp(t, built.dbPath)
    t.equal((await ask('young')).status, 202)
    const { id } = (await built.store.sessions.get('bot', 'young'))!.run!
    await suspend('known', 'it \u202e lies')
    await suspend('young', 'it lies, too')
    await built.stop()
    t.match(await command(built.dbPath, 'restore', backup), {
      code: 0,
      stderr: /\nStill suspended: 2 sessions that the backup does not have so\.\n/,
    })

    const program = await reopen(t, built.dbPath)
    for (const key of ['known', 'young']) {
      t.match(await ask(key, program), { status: 423, body: { code: 'session_suspended' } }, key)
    }
    t.equal((await ask('other', program)).status, 202)
    t.equal((await program.store.sessions.get('bot', 'young'))!.run!.id, id, 'with the id that it had')
    const listed = await program.service.sessions.list({ isSuspended: true }, 10, null, localOwner)
    t.same(listed.items.map(({ session }) => session.key).toSorted(), ['known', 'young'], 'and it is found')
    const suspended = await eventsOf(program, 'session_suspended')
    t.match(
      suspended.toSorted((a: any, b: any) => a.data.reason.localeCompare(b.data.reason)),
      [
        { actor: 'system:restore', data: { session_key: 'known', requester: 'bot', reason: 'it \u202e lies' } },
        { actor: 'system:restore', data: { session_key: 'young', requester: 'bot', session_id: id } },
      ],
    )
    t.equal(suspended.length, 2)
    t.match(await eventsOf(program, 'restored'), [{ data: { sessions_suspended: 2, streaks_kept: 0 } }])
  },
)

t.test('what the backup has suspended is suspended again, whoever resumed it since', async (t) => {
  const { built, ask, suspend, eventsOf } = await withSessions(t)
  await ask('s-1')
  await suspend('s-1', 'first')
  const backup = await backUp(t, built.dbPath)
  await built.service.sessions.resume({ key: 's-1', requester: 'bot' }, null, 'x', localOwner, 'local')
  await suspend('s-1', 'second')
  await built.stop()
  const { stderr } = await command(built.dbPath, 'restore', backup)
  t.notMatch(stderr, 'Still suspended')
  const program = await reopen(t, built.dbPath)
  t.equal((await ask('s-1', program)).status, 423)
  t.match(await eventsOf(program, 'session_suspended'), [{ data: { reason: 'first' } }])
})

t.test('denials in a row go on after a restore, and so does a wait: of a session and of a requester', async (t) => {
  const { built, ask, decide, eventsOf } = await withSessions(t)
  for (let count = 0; count < 4; count++) await decide('deny', 'approved later')
  const backup = await backUp(t, built.dbPath)
  await decide('approve', 'approved later')
  for (let count = 0; count < 6; count++) await decide('deny', 'young')
  t.equal((await ask('young')).status, 429)
  await built.stop()
  t.match(await command(built.dbPath, 'restore', backup), { code: 0 })

  const program = await reopen(t, built.dbPath)
  t.match(await ask('another', program), { status: 429, body: { code: 'circuit_open' } }, 'the requester has to wait')
  await program.clock.advance(601_000)
  const { body } = await ask('young', program)
  t.match(body.session, { warning: /6 requests in a row/ })
  t.match(
    (await ask('approved later', program)).body.session,
    { warning: /4 requests in a row/ },
    'as the backup has it',
  )
  t.match(await eventsOf(program, 'restored'), [{ data: { sessions_suspended: 0, streaks_kept: 2 } }])
})

t.test('times of sessions that are ahead of the clock are brought down to it by a restore, too', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const ahead = await build(t, { dbPath, clock: manualClock(Date.now() + 7 * 24 * 3_600_000) })
  await ahead.submit({ session_key: 's-1' })
  const backup = await backUp(t, dbPath)
  await ahead.stop()
  t.match(await command(dbPath, 'restore', backup), { code: 0 })
  t.ok((look(dbPath, 'SELECT last_active_at FROM sessions') as number) <= Date.now())
})

t.test('a database without sessions can be replaced, and its keys still count', async (t) => {
  const { built, story } = await tell(t)
  await built.stop()
  const { dbPath, backup, keys } = story
  const old = new Database(dbPath)
  old.exec('DROP TABLE sessions; DROP TABLE session_runs')
  old.close()
  t.match(await command(dbPath, 'restore', backup), { code: 0, stderr: /, 0 keys\./ })
  t.equal((await get(await reopen(t, dbPath), keys.root, '/keys')).status, 200)
})

t.test('what is no backup is refused, and the database is left as it was', async (t) => {
  const { built, story } = await tell(t)
  await built.stop()
  const { dbPath, backup } = story
  const folder = temporaryFolder(t)
  const at = (name: string) => join(folder, name)
  writeFileSync(at('text'), 'not a database '.repeat(1000))
  const foreign = new Database(at('foreign.db'))
  foreign.exec('CREATE TABLE t (x)')
  foreign.close()
  copyFileSync(backup, at('newer.db'))
  const newer = new Database(at('newer.db'))
  newer.pragma(`user_version = ${migrations.length + 1}`)
  newer.close()
  const bytes = readFileSync(backup)
  bytes.fill(0xee, 8192 * 5, 8192 * 9)
  writeFileSync(at('damaged.db'), bytes)
  const before = readFileSync(dbPath)
  for (const [name, sentence] of [
    ['none', /There is no file/],
    ['text', /not a SQLite database/],
    ['foreign.db', /is not a database of Holdpoint/],
    ['newer.db', /written by a newer Holdpoint/],
    ['damaged.db', /damaged/],
  ] as const) {
    t.match(await command(dbPath, 'restore', at(name)), { code: 1, stdout: '', stderr: sentence }, name)
  }
  t.match(await command(dbPath, 'restore', dbPath), { code: 1, stderr: /is the database itself/ })
  t.match(await command(join(at('text'), 'x.db'), 'restore', backup), {
    code: 1,
    stderr: /^Cannot restore to .*folder/,
  })
  t.same(readFileSync(dbPath), before)
  t.same(files(dbPath).toSorted(), ['test.db', 'test.db.closed'])

  const theirs = readFileSync(at('foreign.db'))
  t.match(await command(at('foreign.db'), 'restore', backup), { code: 1, stderr: /the database of another program/ })
  t.same(readFileSync(at('foreign.db')), theirs)
})

t.test('a database that another program has open is not replaced under it', async (t) => {
  const { built, story } = await tell(t)
  await built.stop()
  const other = new Database(story.dbPath)
  other.pragma('journal_mode = WAL')
  other.exec('BEGIN')
  other.prepare('SELECT count(*) FROM events').get()
  t.teardown(() => other.close())
  t.match(await command(story.dbPath, 'restore', story.backup), {
    code: 1,
    stderr: /Another program has the database .* open/,
  })
  t.same(keptBeside(story.dbPath), [])
})

t.test('a backup of an older schema is brought up to date', async (t) => {
  const file = join(temporaryFolder(t), 'old.db')
  const old = new Database(file)
  migrate(old, 1)
  old.exec(`INSERT INTO confirmations (arrival, id, version, status, timeout_seconds, created_at, deadline, resolved_by,
    action, requester, session_key, description, details)
    VALUES (1, 'c1', 1, 'pending', 300, ${t0}, ${t0 + 300_000}, '', 'a', 'bot', '', 'd', '{}')`)
  old.exec(`INSERT INTO events VALUES (1, ${t0}, 'submitted', 'bot', 'http', 'c1', '{}')`)
  old.close()
  const dbPath = join(temporaryFolder(t), 'new', 'test.db')
  t.match(await command(dbPath, 'restore', file), { code: 0, stdout: '', stderr: /1 pending request/ })
  const program = await reopen(t, dbPath)
  t.match((await program.call('GET', '/confirm/c1')).body, { status: 'expired', resolved_by: 'system:timeout' })
})

// -- killed on the way ---------------------------------------------------------------------------------------------------

const moments: [when: string, isNow: (dbPath: string) => boolean][] = [
  ['it has begun', (dbPath) => existsSync(`${dbPath}.restoring`)],
  ['the copy is being made', (dbPath) => existsSync(join(`${dbPath}.restoring`, basename(dbPath)))],
  ['what ends is being written down', (dbPath) => existsSync(join(`${dbPath}.restoring`, `${basename(dbPath)}-wal`))],
  ['the old one is kept', (dbPath) => keptBeside(dbPath).length > 0],
  [
    'the new one is in its place',
    (dbPath) => !existsSync(join(`${dbPath}.restoring`, basename(dbPath))) && keptBeside(dbPath).length > 0,
  ],
]
t.test('a restore that is killed leaves the old database or the new one, and can be done again', async (t) => {
  const program = await start(t, { flags })
  await Promise.all(Array.from({ length: 300 }, () => program.submit({ description: 'x'.repeat(5000) })))
  const file = await backUp(t, program.dbPath)
  await Promise.all(Array.from({ length: 50 }, () => program.submit()))
  await program.stop()
  const before = lastSeq(program.dbPath)
  for (const [when, isNow] of moments) {
    const dbPath = join(temporaryFolder(t), 'test.db')
    copyFileSync(program.dbPath, dbPath)
    const restoring = launch(t, ['restore', file, '--db-path', dbPath])
    let isEnded = false
    void restoring.exited.then(() => (isEnded = true))
    while (!isNow(dbPath) && !isEnded) await new Promise((resolve) => setImmediate(resolve))
    restoring.child.kill('SIGKILL')
    await restoring.exited
    t.equal(look(dbPath, 'PRAGMA integrity_check'), 'ok', when)
    const isNew = look(dbPath, "SELECT count(*) FROM events WHERE type = 'restored'") === 1
    t.equal(look(dbPath, "SELECT count(*) FROM confirmations WHERE status = 'pending'"), isNew ? 0 : 350, 'old or new')
    const next = await reopen(t, dbPath)
    t.equal((await next.submit()).status, 202)
    await next.stop()
    t.match(await command(dbPath, 'restore', file), { code: 0 })
    t.equal(look(dbPath, "SELECT count(*) FROM confirmations WHERE status = 'pending'"), 0)
    t.ok(lastSeq(dbPath) > before)
    t.notOk(existsSync(`${dbPath}.restoring`), 'nothing unfinished is left')
  }
})
