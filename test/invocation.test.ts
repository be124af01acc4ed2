import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ConfigProblems } from '../src/command.js'
import type { Config } from '../src/config/schemas.js'
import { readInvocation } from '../src/invocation.js'
import { temporaryFolder } from './support.js'

function read(argv: string[], env: Record<string, string> = {}): { config: Config; warnings: string[] } {
  const invocation = readInvocation(argv, env)
  if (invocation.command !== 'serve') throw new Error(invocation.command)
  return invocation
}

function problemsOf(argv: string[], env: Record<string, string> = {}): string[] {
  try {
    read(argv, env)
  } catch (error) {
    if (error instanceof ConfigProblems) return error.problems
    throw error
  }
  return []
}

t.test('with nothing set, the defaults are those of the contract', async (t) => {
  t.match(read([]).config, {
    host: '127.0.0.1',
    port: 6000,
    webPort: 6001,
    dbPath: join(homedir(), '.hermes', 'confirmation_audit.db'),
    rateLimit: 10,
    rateWindow: 3600,
    logLevel: 'info',
    publicUrl: undefined,
    policy: undefined,
  })
  t.equal(read([], { HERMES_HOME: '/data' }).config.dbPath, '/data/confirmation_audit.db')
})

t.test('flags win over the environment, the environment over the file, the file over the defaults', async (t) => {
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  writeFileSync(file, 'port: 7001\nrate_limit: 21\nweb_port: off\nlog_level: debug\ntelegram_home_channel: -100123\n')
  const env = { CONFIRMATION_PORT: '7002', CONFIRMATION_RATE_LIMIT: '22', CONFIRMATION_CONFIG: file }
  t.match(read(['--port', '7003'], env).config, {
    port: 7003,
    rateLimit: 22,
    webPort: 'off',
    logLevel: 'debug',
    telegramHomeChannel: '-100123',
    rateWindow: 3600,
  })
  t.match(read(['serve', '--config', file, '--port=7004']).config, { port: 7004, rateLimit: 21 })
})

t.test('an empty variable counts as not set', async (t) => {
  t.match(read([], { CONFIRMATION_PORT: '', CONFIRMATION_CONFIG: ' ' }).config, { port: 6000 })
})

t.test('every problem is listed at once, with the name to fix', async (t) => {
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  writeFileSync(file, 'prot: 7001\nlog_level: loud\nrate_window: {}\n')
  const problems = problemsOf(['--config', file, '--port', 'many', '--colour', 'red', '--rate-limit'], {
    CONFIRMATION_WEB_PORT: '70000',
    CONFIRMATION_FLOOD_LIMIT: '-1',
    TELEGRAM_API_BASE: 'not a url',
    DISCORD_HOME_CHANNEL: 'general',
  })
  for (const [name, text] of [
    ['--port', /whole number.*"many"/],
    ['--colour', /no such flag/],
    ['--rate-limit', /needs a value/],
    ['prot in the configuration file', /no such setting; did you mean port\?$/],
    ['log_level in the configuration file', /must be one of/],
    ['rate_window in the configuration file', /whole number/],
    ['CONFIRMATION_WEB_PORT', /port/],
    ['CONFIRMATION_FLOOD_LIMIT', /whole number/],
    ['TELEGRAM_API_BASE', /URL/],
    ['DISCORD_HOME_CHANNEL', /digits/],
  ] as const) {
    const found = problems.find((problem) => problem.startsWith(name))
    t.match(found ?? '(missing)', text, name)
  }
  t.equal(problems.length, 10)
})

t.test('a flag or command that does not fit is refused by its name', async (t) => {
  for (const [args, sentence] of [
    [['--colour'], /^--colour: there is no such flag; see --help/],
    [['-x'], /^-x: there is no such flag/],
    [['start'], /^start: there is no such command; see --help/],
    [['serve', 'now'], /^serve takes no argument/],
    [['--port'], /^--port: needs a value/],
    [['--port='], /^--port: needs a value/],
    [['--port', '70000'], /^--port: must be a whole number from 0 to 65535 \(it is "70000"\)/],
    [['--db-path', ''], /^--db-path: needs a value/],
    [['--port', '7000', '--web-port', '7000'], /^--web-port: 7000 is already --port/],
    [['--config', '/nowhere/holdpoint.yaml'], /^--config: cannot read \/nowhere\/holdpoint\.yaml/],
  ] as [string[], RegExp][]) {
    t.match(problemsOf(args), [sentence], args.join(' '))
  }
})

t.test('numbers are whole and within bounds', async (t) => {
  for (const flags of [
    ['--port', '-1'],
    ['--port', '65536'],
    ['--port', '60.5'],
    ['--port', '0x10'],
    ['--port', '1e3'],
    ['--rate-limit', '0'],
    ['--rate-window', '0'],
    ['--notify-timeout', '0'],
    ['--web-port', 'on'],
    ['--log-level', 'verbose'],
    ['--insecure'],
    ['--port', '6001'],
  ]) {
    t.equal(problemsOf(flags).length, 1, flags.join(' '))
  }
})

t.test('the address is taken as it is', async (t) => {
  t.equal(read(['--host', '0.0.0.0']).config.host, '0.0.0.0')
})

t.test('the public URL is an http or https URL, without a slash at the end', async (t) => {
  t.equal(read(['--public-url', 'https://holdpoint.example.com/']).config.publicUrl, 'https://holdpoint.example.com')
  t.equal(read([], { CONFIRMATION_PUBLIC_URL: 'http://10.0.0.7:6001' }).config.publicUrl, 'http://10.0.0.7:6001')
  for (const url of ['holdpoint.example.com', 'ftp://holdpoint.example.com', 'https://', 'javascript:alert(1)']) {
    t.match(problemsOf(['--public-url', url]), [/--public-url: must be an http or https URL/], url)
  }
  for (const url of [
    'https://example.com/holdpoint',
    'https://a:b@example.com',
    'https://example.com/?a',
    'https://example.com/#a',
  ]) {
    t.match(problemsOf(['--public-url', url]), [/--public-url: must end with the host or port/], url)
  }
})

function commandOf(argv: string[]) {
  const invocation = readInvocation(argv, {})
  if (invocation.command !== 'carry-out') throw new Error(invocation.command)
  return invocation.given
}

t.test('a command is read with its argument and its options, among the flags', async (t) => {
  t.same(commandOf(['keys', 'add', '--name', 'bob', '--role=agent', '--db-path', 'x.db']), {
    name: 'keys add',
    argument: '',
    options: { name: 'bob', role: 'agent' },
  })
  t.same(commandOf(['--port', '7000', 'keys', 'revoke', 'bob']), { name: 'keys revoke', argument: 'bob', options: {} })
  t.same(commandOf(['keys', 'list', '--json']), { name: 'keys list', argument: '', options: { json: true } })
  t.match(readInvocation(['policy', 'explain', 'pay', '--policy', 'rules.yaml'], {}), {
    given: { name: 'policy explain', argument: 'pay' },
    config: { policy: 'rules.yaml' },
  })
})

t.test('a command that is not known, or not given as it must be, is a problem', async (t) => {
  for (const [argv, problem] of [
    [['keys'], /^keys: say which: keys add, keys list, keys revoke, keys rotate$/],
    [['people'], /^people: say which: people set, people list$/],
    [['policy'], /^policy: say which: policy check, policy explain, policy schema$/],
    [['key'], /^key: there is no such command; did you mean keys\?$/],
    [['keys', 'borrow'], /^keys borrow: there is no such command/],
    [['constructor'], /^constructor: there is no such command/],
    [['keys', 'revoke'], /^keys revoke: say which KEY/],
    [['policy', 'check'], /^policy check: say which FILE/],
    [['keys', 'add', 'bob'], /^bob: keys add takes no argument/],
    [['policy', 'check', 'a', 'b'], /^b: policy check takes no second argument/],
    [['keys', 'list', '--role', 'agent'], /^--role: is for keys add; keys list does not take it$/],
    [['keys', 'add', '--role'], /^--role: needs a value/],
    [
      ['--json'],
      /^--json: is for pending,.* keys list,.* people list,.* sessions switch.* doctor.*; serve does not take it$/,
    ],
  ] as [string[], RegExp][]) {
    t.match(problemsOf(argv), [problem], argv.join(' '))
  }
})

t.test('a file that cannot be read or understood is a problem', async (t) => {
  const folder = temporaryFolder(t)
  t.match(problemsOf(['--config', join(folder, 'missing.yaml')]), [/--config: cannot read/])
  for (const content of ['- a\n- b\n', 'just text', 'a: [', 'port: 1\nport: 2\n']) {
    writeFileSync(join(folder, 'bad.yaml'), content)
    t.equal(problemsOf(['--config', join(folder, 'bad.yaml')]).length, 1, content)
  }
  writeFileSync(join(folder, 'empty.yaml'), '# nothing\n')
  t.equal(problemsOf(['--config', join(folder, 'empty.yaml')]).length, 0)
})

t.test('tokens are not taken from the command line, and no message repeats one', async (t) => {
  t.strictSame(problemsOf(['--telegram-bot-token=secret-token']), [
    '--telegram-bot-token: there is no such flag; set TELEGRAM_BOT_TOKEN in the environment, or put it in the file',
  ])
  t.notMatch(problemsOf(['--telegram-bot-token', 'secrettoken']).join(), /secrettoken/)
  const file = join(temporaryFolder(t), 'holdpoint.yaml')
  writeFileSync(file, 'telegram_bot_token: [secret-token]\n')
  t.notMatch(problemsOf(['--config', file]).join(), /secret-token/)
})

t.test('who may decide in Telegram is named by ids of people, and by nothing else', (t) => {
  const wrong = ['*', 'maria', '@maria', '-1001', '11;12', '11,*', '1e3', '0x1f', '1.5', '١٢', '1'.repeat(33), ',']
  for (const value of wrong) {
    const [problem, ...others] = problemsOf([], { TELEGRAM_ALLOWED_USERS: value })
    t.match(problem, /^TELEGRAM_ALLOWED_USERS: must (be ids of people, 1 to 32 digits each|not be empty)/, value)
    t.same(others, [], value)
  }
  const allowed = (value: string) => read([], { TELEGRAM_ALLOWED_USERS: value }).config.telegramAllowedUsers
  t.same(allowed('11'), ['11'])
  t.same(allowed(' 11, 12 13,'), ['11', '12', '13'])
  t.end()
})

t.test('Telegram calls us with a secret and a public URL alone', (t) => {
  const chat = { TELEGRAM_BOT_TOKEN: 'x', TELEGRAM_HOME_CHANNEL: '1', TELEGRAM_MODE: 'webhook' }
  const secret = { TELEGRAM_WEBHOOK_SECRET: 'a-secret-that-is-long-enough' }
  const url = ['--public-url', 'https://hold.example']
  t.match(problemsOf([], chat), [/webhook needs TELEGRAM_WEBHOOK_SECRET and CONFIRMATION_PUBLIC_URL/])
  t.match(problemsOf(url, chat), [/webhook needs TELEGRAM_WEBHOOK_SECRET;/])
  t.match(problemsOf([], { ...chat, ...secret }), [/webhook needs CONFIRMATION_PUBLIC_URL;/])
  t.same(problemsOf(url, { ...chat, ...secret }), [])
  for (const value of ['short', 'with spaces in it, long enough', 'x'.repeat(257), 'ünïcödé-ünïcödé-ünïcödé']) {
    const [problem] = problemsOf(url, { ...chat, TELEGRAM_WEBHOOK_SECRET: value })
    t.match(problem, /^TELEGRAM_WEBHOOK_SECRET: must be 16 to 256 letters, digits, _ and -$/)
  }
  t.match(problemsOf([], { ...chat, TELEGRAM_MODE: 'push' }), [/^TELEGRAM_MODE: must be polling, webhook or off/])
  t.end()
})

t.test('half a chat and a misspelt variable are worth a warning', async (t) => {
  t.match(read([], { TELEGRAM_BOT_TOKEN: 'x' }).warnings, [/TELEGRAM_HOME_CHANNEL is not/])
  t.match(read([], { DISCORD_BOT_TOKEN: 'x' }).warnings, [/DISCORD_HOME_CHANNEL is not/])
  t.match(read([], { CONFIRMATION_PROT: '1' }).warnings, [
    /CONFIRMATION_PROT is not a setting .*; did you mean CONFIRMATION_PORT\?$/,
  ])
  t.match(read([], { CONFIRMATION_COLOUR: '1' }).warnings, [
    /CONFIRMATION_COLOUR is not a setting of Holdpoint and is ignored$/,
  ])
  const telegram = { TELEGRAM_BOT_TOKEN: 'x', TELEGRAM_HOME_CHANNEL: '1', TELEGRAM_ALLOWED_USERS: '5' }
  t.match(read([], telegram).warnings, [
    /^Telegram will be told, but without a public URL .* set CONFIRMATION_PUBLIC_URL/,
  ])
  t.same(read(['--public-url', 'https://hold.example'], telegram).warnings, [])
  t.match(read([], { DISCORD_WEBHOOK_URL: 'https://discord.com/api/webhooks/1/x', ...telegram }).warnings, [
    /^Telegram and Discord will be told, but without a public URL/,
  ])
})

t.test('who may decide in a chat is said by ids, and by nothing that anybody could choose', async (t) => {
  for (const value of ['*', 'maria', '@maria', '1,*', '1 2 maria#1', '-5', '1.5', '<@1>', '1;2']) {
    t.match(
      problemsOf([], { DISCORD_ALLOWED_USERS: value }).join(),
      /^DISCORD_ALLOWED_USERS: must be ids of people, 1 to 32 digits each/,
      value,
    )
  }
  const { config } = read([], { DISCORD_ALLOWED_USERS: '123456789012345678, 2,3' })
  t.same(config.discordAllowedUsers, ['123456789012345678', '2', '3'])
  t.match(problemsOf([], { DISCORD_PUBLIC_KEY: 'key' }), [/DISCORD_PUBLIC_KEY: must be 64 hexadecimal digits/])
  t.match(problemsOf([], { DISCORD_PUBLIC_KEY: '0'.repeat(64) }), [/DISCORD_PUBLIC_KEY: .*lets everybody sign/])
})

t.test('help and version are asked for in any company', async (t) => {
  t.same(readInvocation(['--help', '--nonsense'], {}), { command: 'help', topic: [] })
  t.same(readInvocation(['serve', '-h'], {}), { command: 'help', topic: ['serve'] })
  t.same(readInvocation(['keys', 'add', '--help'], {}), { command: 'help', topic: ['keys', 'add'] })
  t.same(readInvocation(['help', 'keys', 'add'], {}), { command: 'help', topic: ['keys', 'add'] })
  for (const flag of ['--version', '-V']) t.same(readInvocation([flag], {}), { command: 'version' })
})
