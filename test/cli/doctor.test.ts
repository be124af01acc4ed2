// holdpoint doctor: what it sees, what it calls a problem, what it hides, and that it changes nothing.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { report } from '../../src/cli/doctor-command.js'
import { readSettings } from '../../src/config/sources.js'
import { fileKey, otherSettings, settingEntries } from '../../src/config/settings.js'
import { problemsIn } from '../../src/doctor/problems.js'
import type { Machine, Report } from '../../src/doctor/report.js'
import { readInvocation } from '../../src/invocation.js'
import { plainCommand } from '../../src/program.js'
import { takeLock } from '../../src/store/sqlite/database.js'
import Database from '../../src/store/sqlite/driver.js'
import { markerOf } from '../../src/store/sqlite/marker.js'
import { migrations } from '../../src/store/sqlite/migrations.js'
import { version } from '../../src/version.js'
import { startDiscord } from '../notify/fake-discord.js'
import { startTelegram } from '../notify/fake-telegram.js'
import { withTelegram } from '../notify/chats.js'
import { build, giveKeys, manualClock, t0, temporaryFolder, until } from '../support.js'

const roomy = (folder: string) => ({
  folder,
  free_bytes: 2 ** 40,
  total_bytes: 2 ** 41,
  is_writable: true,
  file_system: 'ext',
  is_network: false,
})

interface Options {
  env?: Record<string, string>
  machine?: Partial<Machine>
}

/** As the program would carry it out. */
async function doctor(argv: string[], { env = {}, machine = {} }: Options = {}) {
  const said = { code: -1, stdout: '', stderr: '' }
  const output = {
    print: (text: string) => void (said.stdout += `${text.trimEnd()}\n`),
    tell: (text: string) => void (said.stderr += `${text}\n`),
  }
  // Where others may have something running, nobody is asked.
  const elsewhere = argv.some((one) => one.startsWith('--port')) ? {} : { CONFIRMATION_PORT: '0' }
  const invocation = readInvocation(['doctor', ...argv], { ...elsewhere, ...env })
  if (invocation.command !== 'report') throw new Error(invocation.command)
  const now = { now: () => t0, measureDisk: (file: string) => roomy(dirname(file)), chatTimeoutMs: 30_000, ...machine }
  said.code = await report(invocation, plainCommand, output, now)
  return said
}

async function examine(argv: string[], options: Options = {}): Promise<Report & { code: number }> {
  const { code, stdout } = await doctor(['--json', ...argv], options)
  return { code, ...(JSON.parse(stdout) as Report) }
}

const codes = ({ problems }: Pick<Report, 'problems'>) => problems.map(({ code }) => code)

/** A database with something in it, which nobody has open. */
async function stopped(t: Test, prepare = async (_: Awaited<ReturnType<typeof build>>): Promise<unknown> => null) {
  const built = await build(t)
  await built.submit()
  await prepare(built)
  await built.stop()
  return built.dbPath
}

/** Everything about every file. */
function snapshot(folder: string): Record<string, string> {
  const look = (name: string) => {
    const file = join(folder, name)
    const { size, mtimeNs, ctimeNs, ino, mode } = lstatSync(file, { bigint: true })
    const hash = lstatSync(file).isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex') : ''
    return [size, mtimeNs, ctimeNs, ino, mode, hash].join(' ')
  }
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return Object.fromEntries([
    ...names.map((name) => [name, look(name)]),
    ['', String(statSync(folder, { bigint: true }).mtimeNs)],
  ])
}

// -- what it sees --------------------------------------------------------------------------------------------------------

t.test('without a database there is no problem, and nothing is made', async (t) => {
  const folder = temporaryFolder(t)
  const found = await examine(['--db-path', join(folder, 'deep', 'none.db')])
  t.match(found, {
    code: 0,
    problems: [],
    warnings: [],
    versions: { holdpoint: version, node: process.version, sqlite: /^3\./, better_sqlite3: /^1[23]\./ },
    platform: { os: process.platform, arch: process.arch },
    database: { state: 'absent', size_bytes: null, has_marker: false },
    access: { mode: 'open', is_only_here: true },
    service: { is_running: false, pid: null },
    rules: null,
    clock: { latest_on_record_iso: null, behind_seconds: 0 },
    log: { file: null, lines: [], where: /standard output/ },
  })
  t.same(readdirSync(folder), [])
  const { code, stdout } = await doctor(['--db-path', join(folder, 'none.db')])
  t.equal(code, 0)
  t.match(stdout, /^No problems found\.$/m)
  for (const line of stdout.split('\n')) t.ok(line.length <= 100, line)
  t.notMatch(stdout, /\[masked\]/)
})

t.test('a database that nobody has open is counted and checked, and nothing about it changes', async (t) => {
  const dbPath = await stopped(t, (built) => giveKeys(built, { alice: 'operator', bot: 'agent' }))
  const before = snapshot(dirname(dbPath))
  const found = await examine(['--db-path', dbPath])
  t.match(found, {
    code: 0,
    database: {
      state: 'ours',
      looked_at: 'copy',
      schema: migrations.length,
      known_schema: migrations.length,
      damage: [],
      has_marker: true,
      counts: {
        confirmations: { pending: 1 },
        keys: { agent: { live: 1 }, operator: { live: 1 } },
        people: 2,
        grants_live: 0,
        undelivered_for_10_minutes: 0,
      },
    },
    access: { mode: 'keys' },
    clock: { latest_on_record_iso: new Date(t0).toISOString() },
  })
  t.ok(found.database!.size_bytes! > 0)
  t.same(snapshot(dirname(dbPath)), before)
})

t.test('one that was left by a crash is read with its log, which stays as it is', async (t) => {
  const built = await build(t)
  await built.submit()
  const folder = temporaryFolder(t)
  // What a kill leaves: all that is committed stands in the log.
  for (const end of ['', '-wal', '-shm']) copyFileSync(`${built.dbPath}${end}`, join(folder, `test.db${end}`))
  const before = snapshot(folder)
  const found = await examine(['--db-path', join(folder, 'test.db')])
  t.match(found, { code: 0, database: { looked_at: 'copy', counts: { confirmations: { pending: 1 } } } })
  t.ok(found.database!.wal_bytes! > 0)
  t.same(snapshot(folder), before)
})

t.test('one in use is looked at as it is, beside whoever has it open', async (t) => {
  const built = await build(t)
  await built.submit()
  const found = await examine(['--db-path', built.dbPath])
  t.match(found, {
    database: { state: 'ours', looked_at: 'itself', counts: { confirmations: { pending: 1 } } },
    service: { is_running: true, reached_by: null },
  })
  if (process.platform === 'linux') t.equal(found.service!.pid, process.pid)
  t.same(codes(found), ['service_silent'], 'this one has no socket')
  t.equal((await built.submit({ description: 'another' })).status, 202, 'and it goes on')
})

t.test('by a link, the database that it leads to is looked at', async (t) => {
  const dbPath = await stopped(t)
  const link = join(temporaryFolder(t), 'link.db')
  symlinkSync(dbPath, link)
  t.match(await examine(['--db-path', link]), { code: 0, database: { path: link, file: dbPath, state: 'ours' } })
})

// -- problems ------------------------------------------------------------------------------------------------------------

t.test('a database that cannot be used is a problem, and left as it is', async (t) => {
  const folder = temporaryFolder(t)
  const make = (name: string, change: (db: Database.Database) => void) => {
    const db = new Database(join(folder, name))
    change(db)
    db.close()
  }
  make('foreign.db', (db) => db.exec('CREATE TABLE t (x)'))
  copyFileSync(await stopped(t), join(folder, 'newer.db'))
  make('newer.db', (db) => db.pragma(`user_version = ${migrations.length + 3}`))
  writeFileSync(join(folder, 'text.db'), 'no database at all. '.repeat(100))
  mkdirSync(join(folder, 'folder.db'))
  writeFileSync(join(folder, 'empty.db'), '')
  const big = await build(t, { config: { rateLimit: 1000 } })
  for (let n = 0; n < 100; n++) await big.submit({ description: `${n} ${'x'.repeat(3000)}` })
  await big.stop()
  const damaged = readFileSync(big.dbPath)
  damaged.fill(0xee, 8192 * 20, 8192 * 24)
  writeFileSync(join(folder, 'damaged.db'), damaged)
  writeFileSync(join(folder, 'torn.db'), damaged.subarray(0, 8192 * 10))
  const headless = Buffer.from(damaged)
  headless.fill(0xee, 100, 8192)
  writeFileSync(join(folder, 'headless.db'), headless)
  const before = snapshot(folder)
  for (const [name, code, state] of [
    ['foreign.db', 'database_foreign', 'foreign'],
    ['newer.db', 'database_newer', 'newer'],
    ['text.db', 'database_unreadable', 'unreadable'],
    ['folder.db', 'database_unreadable', 'unreadable'],
    ['damaged.db', 'database_damaged', 'damaged'],
    ['torn.db', 'database_damaged', 'damaged'],
    ['headless.db', 'database_damaged', 'damaged'],
    [`${'long'.repeat(100)}.db`, 'database_unreadable', 'unreadable'],
  ] as const) {
    const found = await examine(['--db-path', join(folder, name)])
    t.equal(found.code, 1, name)
    t.same(codes(found), [code], name)
    t.equal(found.database!.state, state, name)
    const { stdout } = await doctor(['--db-path', join(folder, name)])
    t.match(stdout, /^Problems: 1\n {2}1\. .*\n[^]*^ {5}Next: /m)
  }
  t.match(await examine(['--db-path', join(folder, 'empty.db')]), { code: 0, database: { state: 'empty' } })
  t.same(snapshot(folder), before)
})

t.test('an older database is no problem: the next start brings it up to date', async (t) => {
  const dbPath = await stopped(t)
  const db = new Database(dbPath)
  db.exec('DROP TABLE sign_ins')
  db.pragma(`user_version = ${migrations.length - 1}`)
  db.close()
  const found = await examine(['--db-path', dbPath])
  t.match(found, { code: 0, database: { schema: migrations.length - 1, known_schema: migrations.length } })
  t.equal(found.database!.counts.sign_ins, null, 'what is not there is not counted')
})

t.test('a second name is a problem while nobody has it open', async (t) => {
  const dbPath = await stopped(t)
  linkSync(dbPath, join(temporaryFolder(t), 'other.db'))
  t.same(codes(await examine(['--db-path', dbPath])), ['database_names'])
})

t.test('who is let in: nobody, or everybody whom that was not meant for', async (t) => {
  const dbPath = await stopped(t)
  const problems = async (file: string, ...flags: string[]) => codes(await examine(['--db-path', file, ...flags]))
  t.same(await problems(dbPath), [])
  t.same(await problems(dbPath, '--public-url', 'https://hold.example'), ['open_to_others'])
  t.same(await problems(dbPath, '--public-url', 'http://localhost:6001'), [])
  t.same(await problems(dbPath, '--host', '0.0.0.0'), [], 'the start makes the first key')
  t.same(await problems(dbPath, '--auth', 'keys'), ['no_key'])
  writeFileSync(markerOf(dbPath), '')
  t.same(await problems(dbPath), ['keys_lost'])
  const revoked = await stopped(t, async (built) => {
    const { alice } = await giveKeys(built, { alice: 'admin' })
    await alice('DELETE', `/keys/${alice.keyId}`)
  })
  t.match(await examine(['--db-path', revoked]), {
    problems: [{ code: 'no_live_key' }],
    database: { counts: { keys: { admin: { revoked: 1 } } } },
  })
})

t.test('rules with mistakes, and rules that are not there', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'rules.yaml')
  const policy = ['--db-path', join(folder, 'none.db'), '--policy', file]
  t.same(codes(await examine(policy)), ['rules_unreadable'])
  writeFileSync(file, 'rules:\n  - action: pay\n    approvalls: 2\n')
  t.match(await examine(policy), {
    code: 1,
    problems: [{ code: 'rules_wrong', next: /holdpoint policy check/ }],
    rules: { rules: null, mistakes: [/line 3.*approvals/], sha256: /^[0-9a-f]{64}$/ },
  })
  writeFileSync(file, 'rules: []\n')
  const text = readFileSync(file)
  t.match(await examine(policy), {
    code: 0,
    warnings: [/there are no rules/],
    rules: { path: file, rules: 0, sha256: createHash('sha256').update(text).digest('hex') },
  })
  t.same(codes(await examine(['--db-path', join(folder, 'none.db'), '--policy', folder])), ['rules_unreadable'])
})

t.test('wrong settings are problems of the report, not its end', async (t) => {
  const folder = temporaryFolder(t)
  const env = { CONFIRMATION_PORT: 'many', CONFIRMATION_PROT: '1', CONFIRMATION_DB_PATH: join(folder, 'none.db') }
  const found = await examine(['--web-port', 'none'], { env })
  t.equal(found.code, 1)
  t.match(found.problems, [
    {
      code: 'settings_wrong',
      problem: 'A setting is wrong. CONFIRMATION_PORT: must be a whole number from 0 to 65535.',
    },
    { code: 'settings_wrong', problem: /--web-port: must be a port/ },
  ])
  t.match(found.warnings, [/CONFIRMATION_PROT is not a setting.*CONFIRMATION_PORT/])
  const setting = (name: string) => found.settings.find((one) => one.name === name)
  t.match(setting('port'), { value: null, from: 'environment', is_wrong: true })
  t.match(setting('web_port'), { value: null, from: 'flag', is_wrong: true })
  t.match(setting('host'), { value: '127.0.0.1', from: 'default', is_wrong: false })
  t.match(setting('db_path'), { value: env.CONFIRMATION_DB_PATH, from: 'environment' })
  writeFileSync(join(folder, 'bad.yaml'), 'a: [')
  t.match(await examine(['--config', join(folder, 'bad.yaml')], { env: { HOME: folder } }), {
    problems: [{ code: 'settings_wrong', problem: /cannot read .*bad\.yaml \(\w+, line \d+\)\.$/ }],
  })
  writeFileSync(join(folder, 'list.yaml'), 'db_path: [a, b]\nauth: keys\n')
  const listed = await examine(['--config', join(folder, 'list.yaml')])
  t.same(codes(listed), ['settings_wrong'])
  t.equal(listed.database, null)
  t.match(
    listed.settings.find(({ name }) => name === 'auth'),
    { value: 'keys', from: 'file' },
  )
})

t.test('the clock, the disk, and what was not delivered', async (t) => {
  const dbPath = await stopped(t)
  const flags = ['--db-path', dbPath]
  const at = (ms: number) => ({ machine: { now: () => t0 + ms } })
  t.match(await examine(flags, at(-90_000)), {
    problems: [{ code: 'clock_behind', problem: /90 seconds behind/ }],
    clock: { behind_seconds: 90 },
  })
  t.same(codes(await examine(flags, at(-1000))), [], 'a second is nothing')
  const on = (disk: object) => ({ machine: { measureDisk: (file: string) => ({ ...roomy(dirname(file)), ...disk }) } })
  t.same(codes(await examine(flags, on({ free_bytes: 2 ** 20 }))), ['disk_nearly_full'])
  t.same(codes(await examine(flags, on({ is_writable: false }))), ['disk_not_writable'])
  t.same(codes(await examine(flags, on({ is_network: true, file_system: 'nfs' }))), ['disk_on_network'])
  const real = await examine(flags, {
    machine: { measureDisk: (await import('../../src/doctor/disk-room.js')).measureDisk },
  })
  t.match(real.disk, { folder: dirname(dbPath), is_writable: true, free_bytes: Number, total_bytes: Number })
})

t.test('what expired untold and what waits to be sent', async (t) => {
  const clock = manualClock()
  const built = await withTelegram(t, { clock, config: { notifyTimeout: 120 } })
  built.telegram.failAlways('hang')
  await built.submit({ timeout_seconds: 3600 })
  await until(() => built.telegram.calls.length === 1)
  await built.stop()
  const flags = ['--db-path', built.dbPath]
  const at = (ms: number) => ({ machine: { now: () => t0 + ms } })
  t.same(codes(await examine(flags, at(599_000))), [])
  t.match(await examine(flags, at(600_000)), {
    problems: [{ code: 'undelivered', next: /^Start the service/ }],
    database: { counts: { undelivered: { telegram: 1, log: 1 }, undelivered_for_10_minutes: 2 } },
  })
  const later = manualClock(t0 + 3_700_000)
  await (await build(t, { dbPath: built.dbPath, clock: later })).stop()
  const found = await examine(flags, at(3_700_000))
  t.same(codes(found), ['expired_untold'])
  t.match(found.problems[0]!.problem, /^1 request expired/)
  t.equal(found.database!.counts.expired_untold_last_day, 1)
  t.same(codes(await examine(flags, at(3_700_000 + 86_400_000))), [], 'after a day it is history')
})

t.test('chats that answer, refuse, and do not answer', async (t) => {
  const [telegram, discord] = [await startTelegram(t), await startDiscord(t)]
  const dbPath = join(temporaryFolder(t), 'none.db')
  const env = {
    TELEGRAM_BOT_TOKEN: telegram.botToken,
    TELEGRAM_HOME_CHANNEL: telegram.chat,
    TELEGRAM_API_BASE: telegram.url,
    DISCORD_WEBHOOK_URL: discord.webhookConfig.discordWebhookUrl,
    CONFIRMATION_PUBLIC_URL: 'http://127.0.0.1:6001',
    CONFIRMATION_CALLBACK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    CONFIRMATION_CALLBACK_ALLOW: 'localhost:8080,10.0.0.7',
  }
  const ask = (more: Record<string, string> = {}, machine = {}) =>
    examine(['--db-path', dbPath], { env: { ...env, ...more }, machine })
  t.match(await ask(), {
    code: 0,
    problems: [],
    warnings: [],
    channels: [
      { name: 'telegram', state: 'reachable', as: 'hold_bot' },
      { name: 'discord', state: 'reachable' },
    ],
    callbacks: { is_signed: true, allowed_hosts: 2 },
  })
  t.match(await ask({ TELEGRAM_BOT_TOKEN: '110201543:AAwrong' }), {
    code: 1,
    problems: [{ code: 'telegram_refused', problem: /401 Unauthorized/ }],
  })
  discord.failAll('hang')
  telegram.failAll('reset')
  t.same(codes(await ask({}, { chatTimeoutMs: 100 })), ['telegram_unreachable', 'discord_unreachable'])
  telegram.failAll(null)
  const calls = telegram.asides.length
  t.match(await ask({ TELEGRAM_API_BASE: 'nowhere' }, { chatTimeoutMs: 100 }), {
    channels: [{ name: 'telegram', state: 'wrong_settings' }],
  })
  t.equal(telegram.asides.length, calls)
  t.match(await examine(['--db-path', dbPath], { env: { TELEGRAM_BOT_TOKEN: '1:x' } }), {
    channels: [{ state: 'not_set_up' }, { state: 'not_set_up' }],
    warnings: [/TELEGRAM_HOME_CHANNEL is not/],
  })
  t.same([...telegram.messages, ...discord.messages], [], 'nobody is told anything')
})

t.test('a service of another version is told from one of this', async (t) => {
  const dbPath = await stopped(t)
  const health = { status: 'ok', pending_count: 1, auth: 'open', version: '9.9.9' }
  let body = JSON.stringify(health)
  const server = createServer((_, response) => response.end(body))
  await new Promise<void>((resolve) => server.listen(`${dbPath}.sock`, resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  t.match(await examine(['--db-path', dbPath]), {
    problems: [{ code: 'other_version', problem: /9\.9\.9/ }],
    service: { is_running: true, reached_by: 'socket', version: '9.9.9', auth: 'open', pending: 1 },
  })
  body = JSON.stringify({ ...health, version })
  t.same(codes(await examine(['--db-path', dbPath])), [])
  for (const other of ['{}', 'null', '<html>', JSON.stringify({ ...health, version: '1\u001b[2J' })]) {
    body = other
    t.match(await examine(['--db-path', dbPath]), { code: 0, service: { reached_by: 'socket', version: null } }, other)
  }
})

t.test('a service at the port is named, and not taken for this database', async (t) => {
  const dbPath = await stopped(t)
  const body = JSON.stringify({ status: 'ok', pending_count: 0, auth: 'keys', version: '9.9.9' })
  const server = createServer((_, response) => response.end(body))
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const flags = ['--db-path', dbPath, '--port', String(port)]
  t.match(await examine(flags), { code: 0, service: { is_running: false, at_port: '9.9.9' } })
  if (process.platform !== 'linux') return
  const lock = takeLock(dbPath)
  t.teardown(() => lock.close())
  t.match(await examine(flags), {
    problems: [{ code: 'other_version' }],
    service: { is_running: true, pid: process.pid, reached_by: 'port' },
  })
})

t.test('what cannot be looked at is a problem, and the rest is reported', async (t) => {
  const dbPath = await stopped(t)
  const machine = {
    measureDisk: () => {
      throw new Error(`no disk at user:open-sesame@${dbPath}`)
    },
  }
  const found = await examine(['--db-path', dbPath], { machine })
  t.match(found, {
    code: 1,
    disk: null,
    database: { state: 'ours' },
    problems: [{ code: 'not_looked_at', problem: /disk/ }],
  })
  t.notMatch(JSON.stringify(found), /sesame/)
  t.match((await doctor(['--db-path', dbPath], { machine })).stdout, /^Disk\n {2}Error +could not be looked at$/m)
  const { problems, code, ...seen } = await examine(['--db-path', dbPath])
  t.same([problems, code], [[], 0])
  const without = { ...seen, versions: { ...seen.versions, sqlite: null } }
  const failures = [{ part: 'SQLite', error: 'better-sqlite3 is missing. Install it.' }]
  const read = readSettings(new Map(), {})
  t.match(problemsIn(without, { read, failures, nameCommand: plainCommand }), [
    { code: 'driver_missing', problem: 'better-sqlite3 is missing. Install it.' },
  ])
})

// -- what it hides -------------------------------------------------------------------------------------------------------

/** What may stand somewhere by mistake: with a number in it that makes it its own, and the part that must not be seen. */
const shapes: Record<string, (n: number) => { value: string; secret: string }> = {
  'a key': (n) => ({ value: `hpk_0123456789ab_${hex(n)}`, secret: hex(n) }),
  'a signing secret': (n) => ({ value: `whsec_${base64(n)}`, secret: base64(n) }),
  "Telegram's token": (n) => ({ value: `${110_201_543 + n}:AA${letters(n)}`, secret: letters(n) }),
  "Discord's token": (n) => ({ value: `MTk4NjIyNDgz${n}.Cl2FMQ.${letters(n)}`, secret: letters(n) }),
  'a random text': (n) => ({ value: hex(n).slice(0, 24), secret: hex(n).slice(0, 24) }),
  'a URL with a password': (n) => ({ value: `http://bob:sesame-${n}-x@127.0.0.1:9/`, secret: `sesame-${n}-x` }),
  'a webhook': (n) => ({ value: `http://127.0.0.1:9/api/webhooks/7/sesame-${n}-x`, secret: `sesame-${n}-x` }),
  'a URL with a query': (n) => ({ value: `http://127.0.0.1:9/x?t=sesame-${n}-x`, secret: `sesame-${n}-x` }),
  'a path with a random text': (n) => ({ value: `/nowhere/${letters(n)}/x`, secret: letters(n) }),
}
const hash = (n: number) => createHash('sha256').update(`secret ${n}`)
const hex = (n: number) => hash(n).digest('hex')
const base64 = (n: number) => hash(n).digest('base64')
const letters = (n: number) => hash(n).digest('base64url').slice(0, 33)

/** Each place that a setting can stand in, from the tables. */
interface Place {
  name: string
  put(given: Given, value: string): void
}
interface Given {
  argv: string[]
  env: Record<string, string>
  file: Record<string, string>
}
const flagPlaces = [...settingEntries.map(([, one]) => one), otherSettings.config].flatMap(({ flag }): Place[] =>
  flag === undefined ? [] : [{ name: `--${flag}`, put: ({ argv }, value) => void argv.push(`--${flag}=${value}`) }],
)
const envPlaces = [...settingEntries.map(([, one]) => one), otherSettings.config, otherSettings.hermesHome].map(
  ({ env: name }): Place => ({ name, put: ({ env }, value) => void (env[name] = value) }),
)
const filePlaces = settingEntries.map(([key]): Place => ({
  name: fileKey(key),
  put: ({ file }, value) => void (file[fileKey(key)] = value),
}))

/** Lines may be broken anywhere. */
const joined = (text: string) => text.replace(/\s+/g, '')

/** What must not be seen with these settings, in either form. */
async function seesNone(t: Test, given: Given, secrets: Map<string, string>, about: string): Promise<void> {
  const argv = [...given.argv]
  if (Object.keys(given.file).length > 0) {
    const file = join(temporaryFolder(t), 'holdpoint.yaml')
    writeFileSync(file, JSON.stringify(given.file))
    argv.push('--config', file)
  }
  const env = { ...('port' in given.file ? { CONFIRMATION_PORT: '' } : {}), ...given.env }
  for (const form of [[], ['--json']]) {
    const { stdout } = await doctor([...argv, ...form], { env, machine: { chatTimeoutMs: 1000 } })
    const seen = joined(stdout).toLowerCase()
    for (const [place, secret] of secrets) {
      t.notOk(seen.includes(secret.toLowerCase()), `${about} in ${place} is not in the report ${form.join('')}`)
    }
  }
}

t.test('a secret in any setting, given in any way, is in no report', async (t) => {
  for (const [shape, make] of Object.entries(shapes)) {
    for (const places of [flagPlaces, envPlaces, filePlaces]) {
      const given: Given = { argv: [], env: { HOME: '/nowhere' }, file: {} }
      const secrets = new Map<string, string>()
      for (const [n, { name, put }] of places.entries()) {
        const { value, secret } = make(n)
        put(given, value)
        secrets.set(name, secret)
      }
      await seesNone(t, given, secrets, shape)
    }
  }
})

t.test('each by itself, too, beside settings that are right', async (t) => {
  // A value that is taken leads further than one that is refused.
  for (const places of [flagPlaces, envPlaces]) {
    for (const [n, { name, put }] of places.entries()) {
      for (const shape of ['a key', 'a URL with a password', 'a path with a random text']) {
        const given: Given = { argv: ['--db-path', join(temporaryFolder(t), 'none.db')], env: {}, file: {} }
        const { value, secret } = shapes[shape]!(n)
        put(given, value)
        await seesNone(t, given, new Map([[name, secret]]), shape)
      }
    }
  }
})

t.test('a word is hidden in secrets, in numbers, in what is no address, and under a wrong name', async (t) => {
  const folder = temporaryFolder(t)
  const word = (n: number) => `sesame-${'abcdefghijklmnopqrstuvwxyz'[n % 26]!.repeat(1 + Math.floor(n / 26))}-opens`
  const paths = ['db-path', 'policy', 'config', 'hermes-home'].map((one) => one.replaceAll('-', '_'))
  const isPath = (name: string) => paths.some((one) => name.toLowerCase().replaceAll('-', '_').endsWith(one))
  for (const places of [flagPlaces, envPlaces, filePlaces]) {
    const given: Given = { argv: ['--db-path', join(folder, 'none.db')], env: {}, file: {} }
    const secrets = new Map<string, string>()
    // A word is a path as good as any.
    for (const [n, { name, put }] of places.entries()) {
      if (isPath(name)) continue
      put(given, word(n))
      secrets.set(name, word(n))
    }
    given.env.CONFIRMATION_TELEGRAM_TOKEN = word(90)
    given.file.telegram_token = word(91)
    secrets.set('a variable of a wrong name', word(90)).set('a name that is none', word(91))
    await seesNone(t, given, secrets, 'a word')
  }
})

t.test('a secret that another value wins over is known as well', async (t) => {
  const folder = temporaryFolder(t)
  const rules = join(folder, 'rules-sesame-one.yaml')
  writeFileSync(rules, 'rules:\n  - action: pay\n    sesame-two: 1\n')
  const file = join(folder, 'holdpoint.yaml')
  writeFileSync(file, 'callback_secret: sesame-one\ntelegram_bot_token: [x, sesame-two]\n')
  const env = { CONFIRMATION_CALLBACK_SECRET: `whsec_${base64(1)}`, TELEGRAM_BOT_TOKEN: 'other' }
  const argv = ['--db-path', join(folder, 'none.db'), '--config', file, '--policy', rules]
  for (const form of [[], ['--json']]) {
    const { stdout } = await doctor([...argv, ...form], { env })
    t.match(stdout, /rules-\[masked\]\.yaml/)
    t.notMatch(joined(stdout), /sesame-(one|two)/)
  }
})

t.test('a secret in the rules is not in what is said about them', async (t) => {
  const folder = temporaryFolder(t)
  const rules = join(folder, 'rules.yaml')
  for (const [n, make] of Object.values(shapes).entries()) {
    const { value, secret } = make(n)
    const text = JSON.stringify(value)
    writeFileSync(
      rules,
      `groups:\n  ${text}: [${text}]\nrules:\n  - name: ${text}\n    action: ${text}\n    ${text}: 1\n    approvals: ${text}\n` +
        `    deciders: [${text}]\n    timeout: ${text}\n    when: [{field: ${text}, ${text}: ${text}}]\n${text}\n`,
    )
    for (const content of [
      null,
      `rules: [{action: x, name: ${text}}, {action: x, name: ${text}}]`,
      `a: *${letters(n)}`,
    ]) {
      if (content !== null) writeFileSync(rules, content)
      const given = { argv: ['--db-path', join(folder, 'none.db'), '--policy', rules], env: {}, file: {} }
      await seesNone(t, given, new Map([['the rules', content?.startsWith('a') ? letters(n) : secret]]), value)
    }
  }
})

t.test('a broken configuration file is not quoted', async (t) => {
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  for (const content of [
    'sesame',
    'x: *sesame',
    'x: !sesame y: z',
    'sesame: [',
    '"sesame',
    'Sesame opens: 1',
    '- sesame',
  ]) {
    writeFileSync(file, content)
    for (const form of [[], ['--json']]) {
      const { stdout, code } = await doctor(['--config', file, '--db-path', '/nowhere/none.db', ...form])
      t.equal(code, 1, content)
      if (content !== 'sesame: [') t.notMatch(stdout, /sesame/i, content)
    }
  }
})

// -- how it is given -----------------------------------------------------------------------------------------------------

t.test('a report goes into a new file, for its owner alone, and overwrites nothing', async (t) => {
  const folder = temporaryFolder(t)
  const database = ['--db-path', join(folder, 'none.db')]
  const file = join(folder, 'report.txt')
  const { code, stdout, stderr } = await doctor([...database, '--output', file])
  t.match({ code, stdout, stderr }, { code: 0, stdout: '', stderr: `The report is in ${file}: no problems found.\n` })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.match(readFileSync(file, 'utf8'), /^Holdpoint doctor, [^]*No problems found\.[^]*\n$/)
  const before = snapshot(folder)
  await t.rejects(doctor([...database, '--output', file]), { name: 'CommandRefused', message: /is not overwritten/ })
  symlinkSync('/nowhere/at/all', join(folder, 'link'))
  await t.rejects(doctor([...database, '--output', join(folder, 'link')]), { message: /is not overwritten/ })
  await t.rejects(doctor([...database, '--output', join(folder, 'no', 'x')]), {
    message: /Check that the folder exists/,
  })
  t.same({ ...snapshot(folder), '': '', link: '' }, { ...before, '': '', link: '' })
  const asJson = await doctor([...database, '--json', '--output', join(folder, 'report.json'), '--auth', 'nobody'])
  t.match(asJson, { code: 1, stderr: /report\.json: 1 problem\.\n$/ })
  t.match(JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')), { problems: [{ code: 'settings_wrong' }] })
})

t.test('the number of lines is bounded, and what is wrong with the command line is said as ever', async (t) => {
  for (const lines of ['-1', '1001', '1e2', 'many', '5.5']) {
    await t.rejects(
      doctor([`--lines=${lines}`]),
      { name: 'ConfigProblems', message: /--lines: must be a whole number/ },
      lines,
    )
  }
  t.throws(() => readInvocation(['doctor', '--colour'], {}), { name: 'ConfigProblems' })
  t.throws(() => readInvocation(['doctor', 'now'], {}), { name: 'ConfigProblems' })
  t.throws(() => readInvocation(['doctor', '--colour', '--port', 'many'], {}), { name: 'ConfigProblems' })
})

t.test('what others wrote steers no terminal', async (t) => {
  const folder = join(temporaryFolder(t), 'a\u001b[2J\u202eb')
  mkdirSync(folder)
  const dbPath = join(folder, 'none.db')
  const { stdout } = await doctor(['--db-path', dbPath])
  t.notMatch(stdout, /[\u001b\u202e]/)
  t.match(joined(stdout), /a\\u\{1b\}\[2J\\u\{202e\}b/)
  const { stdout: json } = await doctor(['--db-path', dbPath, '--json'])
  t.notMatch(json, /[\u001b\u202e]/)
  t.equal((JSON.parse(json) as Report).database!.path, dbPath)
})

t.test('a database that this user may not read is a problem', async (t) => {
  if (process.getuid?.() === 0) return t.pass('root may read everything')
  const dbPath = await stopped(t)
  chmodSync(dbPath, 0)
  t.same(codes(await examine(['--db-path', dbPath])), ['database_unreadable'])
})
