// The process as its operator meets it: flags, messages, exit codes, files, ports.
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { settings } from '../../src/config.js'
import { temporaryFolder } from '../support.js'
import { attach, caller, launch, root, run, start } from './program.js'

const anyPorts = ['--port', '0', '--web-port', 'off']

/** A port that is taken for as long as the test runs. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

// -- what it says before it starts -----------------------------------------------------------------------------------

t.test('--help names every flag and every variable, and exits 0', async (t) => {
  for (const flag of ['--help', '-h']) {
    const { code, stdout, stderr } = await run(t, [flag])
    t.equal(code, 0)
    t.equal(stderr, '')
    for (const setting of Object.values(settings)) {
      t.ok(stdout.includes(setting.env), setting.env)
      if ('flag' in setting) t.ok(stdout.includes(`--${setting.flag} `), `--${setting.flag}`)
      if ('default' in setting) t.ok(stdout.includes(`(default ${setting.default})`), `the default of ${setting.env}`)
    }
    for (const word of ['Usage: holdpoint', 'serve', '--config FILE', '--help', '--version', 'HERMES_HOME'])
      t.ok(stdout.includes(word), word)
  }
})

t.test('--help also answers when something else is wrong', async (t) => {
  const { code, stdout } = await run(t, ['--help', '--port', 'none'], { CONFIRMATION_PORT: 'x' })
  t.equal(code, 0)
  t.match(stdout, /^Holdpoint holds/)
})

t.test('--version says the version of package.json', async (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  for (const flag of ['--version', '-V']) t.match(await run(t, [flag]), { code: 0, stdout: `${version}\n`, stderr: '' })
})

const refusedArguments: [args: string[], sentence: RegExp][] = [
  [['--colour'], /--colour: there is no such flag; see --help/],
  [['-x'], /-x: there is no such flag/],
  [['start'], /start: there is no such command; see --help/],
  [['serve', 'now'], /serve now: there is no such command/],
  [['--port'], /--port: needs a value/],
  [['--port='], /--port: needs a value/],
  [['--port', '70000'], /--port: must be a whole number from 0 to 65535 \(it is "70000"\)/],
  [['--db-path', ''], /--db-path: needs a value/],
  [['--insecure'], /--insecure: there is no such flag/],
  [['--public-url', 'example.org'], /--public-url: must be an http or https URL/],
  [['--port', '7000', '--web-port', '7000'], /--web-port: 7000 is already --port/],
  [['--config', '/nowhere/holdpoint.yaml'], /--config: cannot read \/nowhere\/holdpoint\.yaml/],
]
t.test('a flag or command that does not fit is refused by its name, with exit code 2', async (t) => {
  const answers = await Promise.all(refusedArguments.map(([args]) => run(t, args)))
  for (const [index, [args, sentence]] of refusedArguments.entries()) {
    const { code, stdout, stderr } = answers[index]!
    t.equal(code, 2, args.join(' '))
    t.match(stderr, sentence)
    t.equal(stdout, '')
  }
})

t.test('every problem with the settings is listed at once, each by the name to fix', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'holdpoint.yaml')
  writeFileSync(file, 'rate_limit: many\ncolour: red\n')
  const { code, stderr } = await run(t, ['--config', file, '--port', 'none', '--shiny', 'begin'], {
    HOME: folder,
    CONFIRMATION_WEB_PORT: '-1',
    CONFIRMATION_LOG_LEVEL: 'loud',
    CONFIRMATION_PUBLIC_URL: 'example.org',
    DISCORD_HOME_CHANNEL: 'general',
    TELEGRAM_API_BASE: 'ftp://example.org',
  })
  t.equal(code, 2)
  const [headline, ...lines] = stderr.trimEnd().split('\n')
  t.equal(headline, 'Holdpoint cannot run with these settings:')
  const names = lines.map((line) => /^ {2}- (.*?): /.exec(line)?.[1])
  t.same(
    names.sort(),
    [
      '--port',
      '--shiny',
      'begin',
      'CONFIRMATION_LOG_LEVEL',
      'CONFIRMATION_PUBLIC_URL',
      'CONFIRMATION_WEB_PORT',
      'DISCORD_HOME_CHANNEL',
      'TELEGRAM_API_BASE',
      'colour in the configuration file',
      'rate_limit in the configuration file',
    ].sort(),
  )
  t.notOk(existsSync(join(folder, '.hermes')), 'and nothing was created')
})

t.test('on loopback it is open until the first key, with a warning', async (t) => {
  const program = await start(t)
  t.match(await program.logLine(/there is no key yet/), { level: 'warn', auth: 'open' })
  t.equal((await program.submit()).status, 202)
})

t.test('beyond loopback it asks for the key that it made', async (t) => {
  const program = await start(t, { flags: ['--host', '0.0.0.0'] })
  t.match(await program.logLine(/made an admin key/), { level: 'warn', key: /^hpk_/ })
  t.equal((await program.call('GET', '/health')).status, 200)
  t.equal((await program.submit()).status, 401)
})

// -- the database file -----------------------------------------------------------------------------------------------

t.test('a second process on the same database is refused, whatever the path is called', async (t) => {
  const first = await start(t)
  const folder = temporaryFolder(t)
  const link = join(folder, 'link.db')
  const linkedFolder = join(folder, 'linked')
  symlinkSync(first.dbPath, link)
  symlinkSync(join(first.dbPath, '..'), linkedFolder)
  for (const path of [first.dbPath, link, join(linkedFolder, 'test.db')]) {
    const { code, stderr } = await run(t, [...anyPorts, '--db-path', path])
    t.equal(code, 1)
    t.match(stderr, /^The database .* is in use by another Holdpoint\. Stop that one first, or choose .*--db-path\.\n$/)
  }
  t.equal((await first.submit()).status, 202, 'the first one is not disturbed')
  await first.crash()
  const next = await start(t, { dbPath: link })
  t.equal((await next.call('GET', '/health')).body.pending_count, 1, 'a killed process leaves no lock behind')
})

t.test('a link to a database that is not there yet is one database too', async (t) => {
  const folder = temporaryFolder(t)
  const link = join(folder, 'link.db')
  symlinkSync(join(folder, 'real.db'), link)
  await start(t, { dbPath: link })
  const { code, stderr } = await run(t, [...anyPorts, '--db-path', join(folder, 'real.db')])
  t.equal(code, 1)
  t.match(stderr, /in use by another Holdpoint/)
})

t.test('a database of a newer Holdpoint is refused and left as it was', async (t) => {
  const first = await start(t)
  await first.stop()
  const db = new Database(first.dbPath)
  db.pragma('user_version = 4711')
  db.close()
  const before = readFileSync(first.dbPath)
  const { code, stderr } = await run(t, [...anyPorts, '--db-path', first.dbPath])
  t.equal(code, 1)
  t.match(stderr, /was written by a newer Holdpoint \(schema 4711; this one knows \d+\)\. Upgrade Holdpoint/)
  t.ok(readFileSync(first.dbPath).equals(before))
})

t.test("another program's database is refused and left as it was", async (t) => {
  const dbPath = join(temporaryFolder(t), 'other.db')
  const db = new Database(dbPath)
  db.exec('CREATE TABLE confirmations (id TEXT); INSERT INTO confirmations VALUES (1)')
  db.close()
  const before = readFileSync(dbPath)
  const { code, stderr } = await run(t, [...anyPorts, '--db-path', dbPath])
  t.equal(code, 1)
  t.match(stderr, /is the database of another program .* It was left untouched/)
  t.ok(readFileSync(dbPath).equals(before))
})

t.test('files that are no database are refused and left as they were', async (t) => {
  const folder = temporaryFolder(t)
  const prose = join(folder, 'notes.txt')
  writeFileSync(prose, 'Dear diary, '.repeat(1000))
  const cases: [path: string, sentence: RegExp][] = [
    [prose, /not a SQLite database; choose another file with --db-path/],
    [folder, /Cannot open the database/],
    [join(prose, 'below.db'), /Cannot open the database/],
  ]
  for (const [path, sentence] of cases) {
    const { code, stderr } = await run(t, [...anyPorts, '--db-path', path])
    t.equal(code, 1, path)
    t.match(stderr, sentence)
    t.notMatch(stderr, /\n {4}at /, 'a sentence, not a stack')
  }
  t.equal(readFileSync(prose, 'utf8'), 'Dear diary, '.repeat(1000))
})

t.test('a folder that cannot be written is a sentence', async (t) => {
  const folder = join(temporaryFolder(t), 'taken')
  mkdirSync(folder)
  mkdirSync(join(folder, 'test.db.lock'))
  const { code, stderr } = await run(t, [...anyPorts, '--db-path', join(folder, 'test.db')])
  t.equal(code, 1)
  t.match(stderr, /^Cannot open the database .*Check that the folder exists and is writable/)
})

t.test('without --db-path the database is made in HERMES_HOME, for its owner only', async (t) => {
  const folder = temporaryFolder(t)
  const home = join(folder, 'hermes', 'home')
  const inHermes = launch(t, anyPorts, { HERMES_HOME: home })
  await inHermes.logLine(/is ready/)
  t.equal(statSync(home).mode & 0o777, 0o700)
  t.equal(statSync(join(home, 'confirmation_audit.db')).mode & 0o777, 0o600)

  const inHome = launch(t, anyPorts, { HOME: folder })
  await inHome.logLine(/is ready/)
  t.ok(existsSync(join(folder, '.hermes', 'confirmation_audit.db')))
})

// -- settings and ports ----------------------------------------------------------------------------------------------

t.test('flags win over the environment, the environment over the file, the file over the defaults', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'holdpoint.yaml')
  writeFileSync(file, 'rate_limit: 3\nport: 0\nweb_port: off\nrate_window: 77\n')
  const limitOf = async (args: string[], env: Record<string, string>, name: string) => {
    const dbPath = join(folder, name)
    const program = await attach(t, launch(t, ['--db-path', dbPath, ...args], env), dbPath)
    t.equal(program.webPort, undefined, 'what only the file says holds in each case')
    const answer = await program.submit()
    await program.stop()
    return answer.headers['ratelimit-policy']
  }
  const env = { CONFIRMATION_RATE_LIMIT: '5', CONFIRMATION_CONFIG: file }
  t.equal(await limitOf(['--rate-limit', '7'], env, '1.db'), '"action";q=7;w=77')
  t.equal(await limitOf([], env, '2.db'), '"action";q=5;w=77')
  t.equal(await limitOf(['--config', file], {}, '3.db'), '"action";q=3;w=77')
  t.equal(await limitOf(anyPorts, {}, '4.db'), '"action";q=10;w=3600')
})

t.test('a misspelt variable is warned about', async (t) => {
  const program = await start(t, { env: { CONFIRMATION_PROT: '1', TELEGRAM_BOT_TOKEN: '1:x' } })
  t.match(await program.logLine(/CONFIRMATION_PROT/), { level: 'warn' })
  t.match(await program.logLine(/TELEGRAM_HOME_CHANNEL is not/), { level: 'warn' })
})

t.test('a port in use is a sentence that says which, and frees the database', async (t) => {
  const port = String(await takenPort(t))
  const dbPath = join(temporaryFolder(t), 'test.db')
  for (const [args, flag] of [
    [['--port', port, '--web-port', 'off'], '--port'],
    [['--port', '0', '--web-port', port], '--web-port'],
  ] as const) {
    const { code, stderr } = await run(t, [...args, '--db-path', dbPath])
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is in use\\. Choose another with ${flag}`))
  }
  t.equal((await (await start(t, { dbPath })).call('GET', '/ready')).status, 200)
})

t.test('the web port answers the same service; off turns it off', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  const web = caller(t, program.webPort!)
  const { id } = (await program.submit()).body
  t.equal((await web('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await web('POST', `/confirm/${id}/approve`)).status, 200)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'approved')
  t.match(await web('GET', '/nothing'), { status: 404, body: { code: 'no_such_route' } })

  const without = await start(t, { flags: ['--web-port', 'off'] })
  t.notOk('web' in without.ready)
})
