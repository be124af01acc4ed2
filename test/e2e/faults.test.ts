// A database that is lost, or taken away while it is in use, and a clock that was set back: none of it lets anybody in.
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/cli/dispatch.js'
import { readInvocation } from '../../src/invocation.js'
import Database from '../../src/store/sqlite/driver.js'
import { build, temporaryFolder } from '../support.js'
import { type Program, run, start } from './program.js'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Carries out a command as the program would, without the time that a process takes to start. Answers what it said. */
async function order(dbPath: string, ...words: string[]): Promise<string> {
  let said = ''
  const say = (text: string) => void (said += `${text}\n`)
  const invocation = readInvocation(['--db-path', dbPath, ...words], {})
  if (invocation.command === 'carry-out') await carryOut(invocation.given, invocation.config, { print: say, tell: say })
  return said
}

async function addKey(dbPath: string): Promise<string> {
  return /hpk_\w+/.exec(await order(dbPath, 'keys', 'add', '--name', 'root', '--role', 'admin'))![0]
}

/** A running service with a key. */
async function startWithKey(t: Test): Promise<{ program: Program; key: string }> {
  const program = await start(t)
  return { program, key: await addKey(program.dbPath) }
}

/** Where others can reach it, they are not told where the database is. */
const namesCommand = /makes one: .* keys add --name NAME/
const namesLog = /makes one\. Its log says how/

/** Nobody is let in, every caller is told what to do, and doing that works. */
async function isShut(t: Test, program: Program, advice = namesCommand): Promise<void> {
  const named = { code: 'unauthorized', error: advice }
  for (const path of ['/confirm', '/audit', '/keys', '/ready']) {
    t.match(await program.call('GET', path), { status: 401, body: named }, path)
  }
  t.match(await program.submit(), { status: 401, body: named })
  t.match(await program.call('GET', '/confirm', undefined, bearer(`hpk_${'0'.repeat(12)}_${'0'.repeat(64)}`)), {
    status: 401,
    body: named,
  })
  t.match(await program.call('GET', '/health'), { status: 200, body: { auth: 'keys' } })
  t.match(await program.call('GET', '/'), { status: 303, headers: { location: /login/ } })
  t.match((await program.call('GET', '/login')).body, advice)
  const key = await addKey(program.dbPath)
  t.equal((await program.call('GET', '/confirm', undefined, bearer(key))).status, 200)
  t.notMatch(program.stdout(), /hpk_/, 'no key was made by itself')
}

const lost = /the database has no key, but there was one.*restore FILE.* keys add/

t.test('a service that had a key does not open again because its database was lost', async (t) => {
  const { program, key } = await startWithKey(t)
  const { dbPath } = program
  t.equal((await program.call('GET', '/confirm', undefined, bearer(key))).status, 200)
  await program.stop()
  for (const end of ['', '-wal', '-shm']) rmSync(`${dbPath}${end}`, { force: true })
  const next = await start(t, { dbPath })
  t.match(await next.logLine(lost), { level: 'error', auth: 'keys' })
  t.notMatch(next.stdout(), /everyone on this machine may approve/)
  t.match(await run(t, ['keys', 'list', '--db-path', dbPath]), {
    code: 0,
    stderr: /no key: nobody is let in.*keys add/,
  })
  await isShut(t, next)
})

t.test('nor because only its -wal was lost, nor on an address beyond loopback', async (t) => {
  const { program } = await startWithKey(t)
  const { dbPath } = program
  await program.crash()
  t.ok(statSync(`${dbPath}-wal`).size > 0, 'the key is in the log alone')
  rmSync(`${dbPath}-wal`)
  rmSync(`${dbPath}-shm`)
  const copy = join(temporaryFolder(t), 'test.db')
  for (const end of ['', '.closed']) copyFileSync(`${dbPath}${end}`, `${copy}${end}`)
  const next = await start(t, { dbPath })
  await next.logLine(lost)
  await isShut(t, next)

  const beyond = await start(t, { dbPath: copy, flags: ['--host', '0.0.0.0'] })
  await beyond.logLine(lost)
  await isShut(t, beyond, namesLog)
})

t.test(
  'the marker is there before the key is, is private and tells no secret, and a torn one is as good',
  async (t) => {
    const { program, key } = await startWithKey(t)
    const { dbPath } = program
    const marker = `${dbPath}.closed`
    t.equal(statSync(marker).mode & 0o777, 0o600)
    const text = readFileSync(marker, 'utf8')
    t.match(text, /holdpoint restore FILE, or npx holdpoint keys add/)
    t.notMatch(text, new RegExp(key.split('_').slice(1).join('|')))
    await program.stop()
    rmSync(marker)
    const again = await start(t, { dbPath })
    t.ok(existsSync(marker), 'a database from before there were markers gets one at the start')
    await again.stop()

    // As after a crash between the marker and the first key.
    const fresh = join(temporaryFolder(t), 'fresh.db')
    closeSync(openSync(`${fresh}.closed`, 'w'))
    await isShut(t, await start(t, { dbPath: fresh }))
  },
)

t.test('a service that never had a key is open again without its database, as it was', async (t) => {
  const program = await start(t)
  await program.stop()
  t.notOk(existsSync(`${program.dbPath}.closed`))
  rmSync(program.dbPath)
  const next = await start(t, { dbPath: program.dbPath })
  t.equal((await next.submit()).status, 202)
})

t.test('with CONFIRMATION_AUTH=keys it is never open, not even where the whole folder is gone', async (t) => {
  for (const [flags, advice] of [
    [[], namesCommand],
    [['--host', '0.0.0.0'], namesLog],
  ] as const) {
    const dbPath = join(temporaryFolder(t), 'gone', 'test.db')
    const program = await start(t, { dbPath, flags: [...flags], env: { CONFIRMATION_AUTH: 'keys' } })
    t.match(await program.logLine(/there is no key yet, and nobody is let in without one.*keys add/), { auth: 'keys' })
    await isShut(t, program, advice)
    await program.stop()
    rmSync(dirname(dbPath), { recursive: true })
    await isShut(t, await start(t, { dbPath, flags: [...flags, '--auth', 'keys'] }), advice)
  }
})

// -- under a running service ---------------------------------------------------------------------------------------------

const takenAway: [what: string, act: (dbPath: string) => void][] = [
  ['deleted', (dbPath) => rmSync(dbPath)],
  ['moved away and put back', (dbPath) => renameSync(dbPath, `${dbPath}.away`)],
  [
    'replaced by a copy',
    (dbPath) => {
      copyFileSync(dbPath, `${dbPath}.copy`)
      renameSync(`${dbPath}.copy`, dbPath)
    },
  ],
  ['robbed of its -wal', (dbPath) => rmSync(`${dbPath}-wal`)],
  [
    'given another -wal',
    (dbPath) => {
      rmSync(`${dbPath}-wal`)
      writeFileSync(`${dbPath}-wal`, '')
    },
  ],
  ['robbed of its -shm', (dbPath) => rmSync(`${dbPath}-shm`)],
  ['robbed of its .lock', (dbPath) => rmSync(`${dbPath}.lock`)],
  ['overwritten in its place', (dbPath) => writeFileSync(dbPath, readFileSync(dbPath))],
  ['made longer', (dbPath) => truncateSync(dbPath, statSync(dbPath).size + 8192)],
  ['deleted with its folder', (dbPath) => renameSync(dirname(dbPath), `${dirname(dbPath)}.away`)],
]
const gone = {
  status: 503,
  body: {
    code: 'storage_unavailable',
    error: /removed, replaced or overwritten while Holdpoint ran.*restart Holdpoint/,
  },
}
for (const [what, act] of takenAway) {
  t.test(`a database that is ${what} under a running service takes nothing more`, async (t) => {
    const dbPath = join(temporaryFolder(t), 'home', 'test.db')
    const built = await build(t, { dbPath })
    const { id } = (await built.submit()).body
    t.equal((await built.call('GET', '/ready')).status, 200)
    act(dbPath)
    t.match(await built.submit(), gone)
    t.match(await built.call('POST', `/confirm/${id}/approve`), gone)
    t.match(await built.call('POST', '/whitelist', { action: 'x' }), gone)
    t.match(await built.call('GET', '/ready'), gone)
    t.match(await built.call('GET', `/confirm/${id}`), { status: 200, body: { status: 'pending' } }, 'reading goes on')
    t.equal((await built.call('GET', '/health')).status, 200)
    if (existsSync(`${dbPath}.away`)) renameSync(`${dbPath}.away`, dbPath)
    t.match(await built.submit(), gone, 'until it is restarted')
    await built.stop()
    t.equal((await (await build(t, { dbPath })).submit({ action: 'another' })).status, 202)
  })
}

t.test('the program itself notices it too, drains as ever, and starts with what is there then', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  t.equal((await program.submit()).status, 202)
  renameSync(dbPath, `${dbPath}.away`)
  t.match(await program.submit(), gone)
  t.match(await program.logLine(/storage_unavailable/), { level: 'error', err: { message: /test\.db was removed/ } })
  t.equal((await program.stop()).code, 0)
  renameSync(`${dbPath}.away`, dbPath)
  const next = await start(t, { dbPath })
  t.match(next.ready.msg, /1 pending/, 'what was acknowledged is there')
  t.equal((await next.submit()).status, 202)
})

t.test('a damaged database is refused with one sentence, wherever a start comes upon it', async (t) => {
  const program = await start(t)
  await program.submit()
  const { dbPath } = program
  await program.stop()
  const whole = readFileSync(dbPath)
  const db = new Database(dbPath, { readonly: true })
  const page = db.pragma('page_size', { simple: true }) as number
  const rootOf = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck()
  const roots = ['keys', 'people', 'events', 'confirmations'].map((name) => {
    return [name, rootOf.get(name) as number] as const
  })
  db.close()
  for (const [name, root] of roots) {
    writeFileSync(dbPath, Buffer.from(whole).fill(0xee, page * (root - 1), page * root))
    const refused = await run(t, ['--port', '0', '--web-port', 'off', '--db-path', dbPath])
    const sentence =
      /^The database \S+ is damaged \([^\n]+\)\. Restore a backup: npx holdpoint restore FILE --db-path \S+\n$/
    t.match(refused, { code: 1, stderr: sentence }, name)
  }
})

t.test('a database behind a link does not open when what is behind the link is lost, marker and all', async (t) => {
  const volume = join(temporaryFolder(t), 'volume')
  const dbPath = join(temporaryFolder(t), 'link.db')
  mkdirSync(volume)
  symlinkSync(join(volume, 'real.db'), dbPath)
  const program = await start(t, { dbPath })
  await addKey(dbPath)
  await program.stop()
  const again = await start(t, { dbPath })
  await again.stop()
  t.ok(existsSync(`${dbPath}.closed`), 'there is a marker beside the link as well')
  rmSync(volume, { recursive: true })
  mkdirSync(volume)
  const next = await start(t, { dbPath })
  await next.logLine(lost)
  await isShut(t, next)
  t.ok(existsSync(join(volume, 'real.db.closed')))
})

t.test('a database with a second name is refused: through that one, another could write to it', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  await program.stop()
  const other = join(dirname(dbPath), 'other.db')
  linkSync(dbPath, other)
  for (const path of [dbPath, other]) {
    const refused = await run(t, ['--port', '0', '--web-port', 'off', '--db-path', path])
    t.match(refused, { code: 1, stderr: /^The database .* has 2 names \(hard links\).*Remove the others.*\n$/ })
  }
  rmSync(other)
  await start(t, { dbPath })
})
