// The process as its operator meets it: flags, messages, exit codes, files, ports.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../support.js'
import { attach, caller, launch, root, run, serverFile, start } from './program.js'

const anyPorts = ['--port', '0', '--web-port', 'off']

/** A port that is taken for as long as the test runs. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

// -- what it says before it starts -----------------------------------------------------------------------------------

t.test('help exits 0, also when something else is wrong, and says nothing but that', async (t) => {
  for (const args of [['--help', '--port', 'none'], ['help'], ['-h']]) {
    const { code, stdout, stderr } = await run(t, args, { CONFIRMATION_PORT: 'x' })
    t.match({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, /Usage: npx holdpoint \[command\]/)
  }
  t.match(await run(t, ['serve', '--help']), { code: 0, stderr: '', stdout: /--rate-window SECONDS/ })
  t.match(await run(t, ['help', 'keys', 'add']), { code: 0, stderr: '', stdout: /--expires-in TIME/ })
})

t.test('a mistyped command is refused with the one that was meant, and nothing is done', async (t) => {
  const folder = temporaryFolder(t)
  for (const [args, sentence] of [
    [['kyes', 'add', '--name', 'x', '--role', 'admin'], 'kyes add: there is no such command; did you mean keys add?\n'],
    [['--prot', '6000'], '--prot: there is no such flag; did you mean --port?\n'],
    [['help', 'kyes'], 'kyes: there is no such command; did you mean keys?\n'],
  ] as const) {
    t.same(await run(t, [...args], { HOME: folder }), { code: 2, signal: null, stdout: '', stderr: sentence })
  }
  t.notOk(existsSync(join(folder, '.hermes')))
})

t.test('--version says the version of package.json', async (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  t.match(await run(t, ['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
})

t.test('every problem with the settings is listed at once, each by the name to fix', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'holdpoint.yaml')
  writeFileSync(file, 'rate_limit: many\ncolour: red\n')
  const { code, stderr } = await run(t, ['--config', file, '--port', 'none', '--shiny'], {
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

// -- the database file -----------------------------------------------------------------------------------------------

t.test('a second process on the same database is refused with a sentence, until the first one is gone', async (t) => {
  const first = await start(t)
  const link = join(temporaryFolder(t), 'link.db')
  symlinkSync(first.dbPath, link)
  const { code, stderr } = await run(t, [...anyPorts, '--db-path', link])
  t.equal(code, 1)
  t.match(stderr, /^The database .* is in use by another Holdpoint\. Stop that one first, or choose .*--db-path\.\n$/)
  t.equal((await first.submit()).status, 202, 'the first one is not disturbed')
  await first.crash()
  const next = await start(t, { dbPath: link })
  t.equal((await next.call('GET', '/health')).body.pending_count, 1, 'a killed process leaves no lock behind')
})

t.test('without --db-path the database is made in HERMES_HOME, for its owner only', async (t) => {
  const folder = temporaryFolder(t)
  const home = join(folder, 'hermes', 'home')
  const program = launch(t, anyPorts, { HERMES_HOME: home })
  const file = join(home, 'confirmation_audit.db')
  t.match(await program.logLine(/is ready/), { db: file, msg: `the database is ${file}` })
  t.match(await program.logLine(/a new database was made: /), { level: 'info', msg: file })
  const command = `node ${serverFile} keys add --name NAME --role admin --db-path ${file}`
  t.match(await program.logLine(/it is open/), { level: 'warn', auth: 'open', msg: command })
  t.equal(statSync(home).mode & 0o777, 0o700)
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('the command that makes a key works as it is named, in any folder and any environment', async (t) => {
  const sh = (command: string) =>
    promisify(execFile)('sh', ['-c', command], { cwd: '/', env: { PATH: process.env.PATH ?? '', HOME: '/' } })
  const ready = async (args: string[]) => {
    const home = temporaryFolder(t)
    const program = launch(t, ['--port', '0', '--web-port', 'off', ...args], { HOME: home })
    return attach(t, program, join(home, '.hermes', 'confirmation_audit.db'))
  }
  const open = await ready([])
  const { msg } = await open.logLine(/it is open/)
  const named = /; make a key: (.*)$/.exec(String(msg))![1]!
  const key = (await sh(named)).stdout.trim()
  t.equal((await open.call('GET', '/keys')).status, 401, 'it is open no more')
  t.equal((await open.call('GET', '/keys', undefined, { authorization: `Bearer ${key}` })).status, 200)

  const shut = await ready(['--auth', 'keys', '--db-path', join(temporaryFolder(t), "it's here.db")])
  const refused = await shut.call('GET', '/keys')
  t.equal(refused.status, 401)
  const [, told] = /it has none: whoever runs it makes one: (.*)$/.exec(refused.body.error) ?? []
  const first = (await sh(told!)).stdout.trim()
  t.equal((await shut.call('GET', '/keys', undefined, { authorization: `Bearer ${first}` })).status, 200)
})

// -- settings and ports ----------------------------------------------------------------------------------------------

t.test('flags win over the environment, the environment over the file, the file over the defaults', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'holdpoint.yaml')
  writeFileSync(file, 'rate_limit: 3\nport: 0\nweb_port: 0\nrate_window: 77\nlog_level: error\n')
  const env = { CONFIRMATION_RATE_LIMIT: '5', CONFIRMATION_CONFIG: file, CONFIRMATION_LOG_LEVEL: 'info' }
  const dbPath = join(folder, 'test.db')
  const args = ['--db-path', dbPath, '--rate-limit', '7', '--web-port', 'off']
  const program = await attach(t, launch(t, args, env), dbPath)
  t.equal((await program.submit()).headers['ratelimit-policy'], '"action";q=7;w=77')
  t.equal(program.webPort, undefined)
})

t.test('a misspelt variable is warned about', async (t) => {
  const program = await start(t, { env: { CONFIRMATION_PROT: '1', TELEGRAM_BOT_TOKEN: '1:x' } })
  t.match(await program.logLine(/CONFIRMATION_PROT/), { level: 'warn' })
  t.match(await program.logLine(/TELEGRAM_HOME_CHANNEL is not/), { level: 'warn' })
})

t.test('a chat whose links lead to this machine alone is warned about', async (t) => {
  const env = { TELEGRAM_BOT_TOKEN: '1:x', TELEGRAM_HOME_CHANNEL: '1', TELEGRAM_API_BASE: 'http://127.0.0.1:9' }
  const program = await start(t, { env })
  t.match(await program.logLine(/^Telegram will be told, but without a public URL/), { level: 'warn' })
  const known = await start(t, { env, flags: ['--public-url', 'https://hold.example'] })
  await known.logLine(/is ready/)
  t.notOk(known.logged().some(({ msg }) => /without a public URL/.test(String(msg))))
})

t.test('a port in use is a sentence that says which, and frees the database', async (t) => {
  const port = String(await takenPort(t))
  const dbPath = join(temporaryFolder(t), 'test.db')
  const { code, stderr } = await run(t, ['--port', '0', '--web-port', port, '--db-path', dbPath])
  t.equal(code, 1)
  t.match(stderr, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is in use\\. Choose another with --web-port`))
  t.equal((await (await start(t, { dbPath })).call('GET', '/ready')).status, 200)
})

t.test('the web port answers the same service', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  const web = caller(t, program.webPort!)
  const { id } = (await program.submit()).body
  t.equal((await web('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await web('POST', `/confirm/${id}/approve`)).status, 200)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'approved')
  t.match(await web('GET', '/nothing'), { status: 404, body: { code: 'no_such_route' } })
})
