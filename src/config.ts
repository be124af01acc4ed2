// Settings: flags over environment over file over defaults. Every problem is found before anything starts.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { commandHelp, everyOption, type Order, optionsOf, readOrder } from './command.js'
import { flawOfAllowedHost } from './notify/address.js'
import { flawOfSecret } from './notify/signature.js'

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const whole = (min: number, max: number, error = `must be a whole number from ${min} to ${max}`) => {
  const digits = z
    .string()
    .trim()
    .regex(/^\d{1,15}$/)
    .transform(Number)
  return z.union([z.number(), digits], { error }).pipe(z.int(error).min(min, error).max(max, error))
}
const text = z
  .union([z.string(), z.number()], { error: 'must be text' })
  // A chat's id may have more digits than a number can hold, and the wrong chat would be told.
  .refine((value) => typeof value === 'string' || Number.isSafeInteger(value), 'has too many digits; put it in quotes')
  .transform(String)
  .pipe(z.string().trim().min(1, 'must not be empty'))
/** Several, separated by commas or spaces, or as a list in the file. */
const listOf = (flawOf: (item: string) => string | null) =>
  z
    .union([z.string(), z.array(z.string())], { error: 'must be text, or a list of texts' })
    .transform((value) => (typeof value === 'string' ? value.split(/[\s,]+/) : value).filter((item) => item !== ''))
    .superRefine((items, context) => {
      if (items.length === 0) context.addIssue({ code: 'custom', message: 'must not be empty' })
      for (const item of items) {
        const flaw = flawOf(item)
        if (flaw !== null) context.addIssue({ code: 'custom', message: flaw })
      }
    })
const httpUrl = text
  .refine((value) => /^https?:\/\/[^\s]+$/.test(value) && URL.canParse(value), 'must be an http or https URL')
  .transform((value) => value.replace(/\/+$/, ''))
/** The start of a site, and nothing behind or before that. */
function isTop(url: string): boolean {
  return URL.canParse(url) && new URL(url).href === `${new URL(url).origin}/`
}

interface Setting {
  flag?: string
  env: string
  /** What stands for the value in the help. */
  takes: string
  help: string
  default?: string | number | boolean
  /** Never shown, not even when it is wrong. */
  secret?: true
  schema: z.ZodType
}

/** The one table of settings: the help, the sample file and the README are checked against it. */
export const settings = {
  host: {
    flag: 'host',
    env: 'CONFIRMATION_HOST',
    takes: 'ADDRESS',
    help: 'address to listen on; on anything but loopback the first start makes an admin key and prints it',
    default: '127.0.0.1',
    schema: text,
  },
  port: {
    flag: 'port',
    env: 'CONFIRMATION_PORT',
    takes: 'PORT',
    help: 'port of the API; 0 picks a free one',
    default: 6000,
    schema: whole(0, 65535),
  },
  webPort: {
    flag: 'web-port',
    env: 'CONFIRMATION_WEB_PORT',
    takes: 'PORT|off',
    help: 'second port with the same service, for browsers (they refuse port 6000)',
    default: 6001,
    // YAML 1.1 tools write off as false.
    schema: z.union([
      z.literal(['off', false]).transform(() => 'off' as const),
      whole(0, 65535, 'must be a port from 0 to 65535, or off'),
    ]),
  },
  dbPath: {
    flag: 'db-path',
    env: 'CONFIRMATION_DB_PATH',
    takes: 'FILE',
    help: 'SQLite database; default $HERMES_HOME/confirmation_audit.db, with HERMES_HOME defaulting to ~/.hermes',
    schema: text,
  },
  auth: {
    flag: 'auth',
    env: 'CONFIRMATION_AUTH',
    takes: 'auto|keys',
    help: 'keys: never open, not even while there is no key; auto: open on loopback until there was one',
    default: 'auto',
    schema: z.enum(['auto', 'keys'], { error: 'must be auto or keys' }),
  },
  rateLimit: {
    flag: 'rate-limit',
    env: 'CONFIRMATION_RATE_LIMIT',
    takes: 'N',
    help: 'confirmations per action in each window',
    default: 10,
    schema: whole(1, 1_000_000_000),
  },
  rateWindow: {
    flag: 'rate-window',
    env: 'CONFIRMATION_RATE_WINDOW',
    takes: 'SECONDS',
    help: 'length of the sliding window',
    default: 3600,
    schema: whole(1, 31_536_000),
  },
  floodLimit: {
    flag: 'flood-limit',
    env: 'CONFIRMATION_FLOOD_LIMIT',
    takes: 'N',
    help: 'requests per minute with one key or link, or from one address without; 0 turns it off',
    default: 60_000,
    schema: whole(0, 1_000_000_000),
  },
  approvalTtl: {
    flag: 'approval-ttl',
    env: 'CONFIRMATION_APPROVAL_TTL',
    takes: 'SECONDS',
    help: 'how long an approval may be claimed',
    default: 900,
    schema: whole(1, 31_536_000),
  },
  reportTimeout: {
    flag: 'report-timeout',
    env: 'CONFIRMATION_REPORT_TIMEOUT',
    takes: 'SECONDS',
    help: 'how long after a claim a report is expected',
    default: 3600,
    schema: whole(1, 31_536_000),
  },
  callbackAllow: {
    flag: 'callback-allow',
    env: 'CONFIRMATION_CALLBACK_ALLOW',
    takes: 'HOST,...',
    help: 'hosts that may be called back although their address is private: host or host:port, separated by commas',
    schema: listOf(flawOfAllowedHost),
  },
  callbackSecret: {
    env: 'CONFIRMATION_CALLBACK_SECRET',
    takes: 'SECRET',
    help: 'signs callbacks: whsec_ and 24 to 64 bytes in base64; two, separated by a space, while it is changed',
    secret: true,
    schema: listOf(flawOfSecret),
  },
  notifyTimeout: {
    flag: 'notify-timeout',
    env: 'CONFIRMATION_NOTIFY_TIMEOUT',
    takes: 'SECONDS',
    help: 'how long a chat may take to answer before the next one is tried',
    default: 10,
    schema: whole(1, 120),
  },
  logLevel: {
    flag: 'log-level',
    env: 'CONFIRMATION_LOG_LEVEL',
    takes: 'LEVEL',
    help: logLevels.join(', '),
    default: 'info',
    schema: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }),
  },
  publicUrl: {
    flag: 'public-url',
    env: 'CONFIRMATION_PUBLIC_URL',
    takes: 'URL',
    help: 'where people reach the pages, for links in messages (default http://127.0.0.1:6001, with the web port in use)',
    // The pages and their cookies know no other place than the top, and chats limit how long a link may be.
    schema: httpUrl
      .refine(isTop, 'must end with the host or port: no path, user or query')
      .refine((url) => url.length <= 200, 'must have at most 200 characters'),
  },
  policy: {
    flag: 'policy',
    env: 'CONFIRMATION_POLICY',
    takes: 'FILE',
    help: 'rules for actions, in YAML; read again on SIGHUP',
    schema: text,
  },
  telegramBotToken: {
    env: 'TELEGRAM_BOT_TOKEN',
    takes: 'TOKEN',
    help: 'Telegram bot that announces confirmations',
    secret: true,
    schema: text,
  },
  telegramHomeChannel: {
    env: 'TELEGRAM_HOME_CHANNEL',
    takes: 'CHAT',
    help: 'chat id or @channel it writes to',
    schema: text,
  },
  telegramApiBase: {
    env: 'TELEGRAM_API_BASE',
    takes: 'URL',
    help: 'another Bot API server',
    default: 'https://api.telegram.org',
    schema: httpUrl,
  },
  discordBotToken: {
    env: 'DISCORD_BOT_TOKEN',
    takes: 'TOKEN',
    help: 'Discord bot that announces confirmations when Telegram does not',
    secret: true,
    schema: text,
  },
  discordHomeChannel: {
    env: 'DISCORD_HOME_CHANNEL',
    takes: 'CHANNEL',
    help: 'channel id it writes to',
    schema: text.refine((value) => /^\d+$/.test(value), 'must be a channel id (digits)'),
  },
  discordWebhookUrl: {
    env: 'DISCORD_WEBHOOK_URL',
    takes: 'URL',
    help: 'Discord webhook, used when no bot is configured',
    secret: true,
    schema: httpUrl,
  },
  discordApiBase: {
    env: 'DISCORD_API_BASE',
    takes: 'URL',
    help: 'another Discord API server',
    default: 'https://discord.com/api/v10',
    schema: httpUrl,
  },
} as const satisfies Record<string, Setting>

type Key = keyof typeof settings
type Value<K extends Key> = z.output<(typeof settings)[K]['schema']>
type Optional<K extends Key> = (typeof settings)[K] extends { default: unknown }
  ? never
  : K extends 'dbPath'
    ? never
    : K

export type Config = { [K in Key]: Value<K> | (Optional<K> extends never ? never : undefined) }

/** Everything that is wrong with the settings, one line each. */
export class ConfigProblems extends Error {
  override name = 'ConfigProblems'
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`Holdpoint cannot run with these settings:\n${problems.map((one) => `  - ${one}`).join('\n')}`)
    this.problems = problems
  }
}

export type Invocation =
  | { command: 'help' }
  | { command: 'version' }
  | { command: 'serve'; config: Config; warnings: string[] }
  | { command: 'order'; order: Order; config: Config }

type Env = Record<string, string | undefined>

const entries = Object.entries(settings) as [Key, Setting][]

/** The name a setting has in the configuration file: telegramBotToken is telegram_bot_token. */
export function fileKey(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function readInvocation(argv: string[], env: Env): Invocation {
  const problems: string[] = []
  const { flags, order } = readFlags(argv, problems)
  if (flags.has('help')) return { command: 'help' }
  if (flags.has('version')) return { command: 'version' }
  const file = readFile(flags.get('config') ?? given(env.CONFIRMATION_CONFIG), problems)
  const raw: Partial<Record<Key, unknown>> = {}
  for (const [key, setting] of entries) {
    const sources: [string, unknown][] = [
      [`--${setting.flag ?? ''}`, setting.flag === undefined ? undefined : flags.get(setting.flag)],
      [setting.env, given(env[setting.env])],
      [`${fileKey(key)} in the configuration file`, file[fileKey(key)]],
    ]
    const [name, value] = sources.find(([, one]) => one !== undefined) ?? ['', setting.default ?? derived(key, env)]
    if (value === undefined) continue
    const parsed = setting.schema.safeParse(value)
    if (parsed.success) raw[key] = parsed.data
    else
      problems.push(
        `${name}: ${parsed.error.issues[0]!.message}${setting.secret === true ? '' : ` (it is ${JSON.stringify(value)})`}`,
      )
  }
  const config = raw as Config
  if (config.port !== 0 && config.port !== undefined && config.port === config.webPort) {
    problems.push(`--web-port: ${config.port} is already --port; choose another, or off`)
  }
  if (problems.length > 0) throw new ConfigProblems(problems)
  if (order !== null) return { command: 'order', order, config }
  return { command: 'serve', config, warnings: warningsFor(config, env) }
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare)
}

/** Whether everyone is let in for as long as there was never a key: nowhere that others can reach. */
export function mayBeOpen({ host, auth }: Config): boolean {
  return auth === 'auto' && isLoopback(host)
}

export const helpText = `Holdpoint holds an agent's irreversible actions until a person approves or denies them.

Usage: holdpoint [command] [flags]

Commands:
  serve                       run the service (the default)
${commandHelp}

Keys and people are changed in the database that --db-path names, through the running service if there is one.

Flags (each also as an environment variable or in the file):
${entries
  .filter(([, setting]) => setting.flag !== undefined)
  .map(([, setting]) => helpLines(`--${setting.flag!} ${setting.takes}`.trim(), setting))
  .join('\n')}
  --config FILE               read settings from a YAML file [CONFIRMATION_CONFIG]
  --help                      show this
  --version                   show the version

Chats and secrets (environment variables, or in the file; never taken from the command line):
${entries
  .filter(([, setting]) => setting.flag === undefined)
  .map(([, setting]) => helpLines(setting.env, setting))
  .join('\n')}

Flags win over the environment, the environment over the file, the file over the defaults.
holdpoint.sample.yaml shows every setting with its default.
`

function helpLines(name: string, setting: Setting): string {
  const where = setting.flag === undefined ? '' : ` [${setting.env}]`
  const preset = setting.default === undefined || setting.default === false ? '' : ` (default ${setting.default})`
  return `  ${name.padEnd(27)} ${setting.help}${preset}${where}`
}

const switches = ['help', 'version', 'json']

function readFlags(argv: string[], problems: string[]): { flags: Map<string, unknown>; order: Order | null } {
  const known = [...entries.flatMap(([, { flag }]) => flag ?? []), 'config', 'help', 'version']
  const { tokens } = parseArgs({
    args: argv,
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: {
      ...Object.fromEntries(
        [...known, ...everyOption].map(
          (name) => [name, { type: switches.includes(name) ? 'boolean' : 'string' }] as const,
        ),
      ),
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'V' },
    },
  })
  const words = tokens.flatMap((token) => (token.kind === 'positional' ? token.value : []))
  const order = readOrder(words, problems)
  const options = optionsOf(order)
  const flags = new Map<string, unknown>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, value } = token
    const isOption = options.includes(name)
    if (!known.includes(name) && !isOption) problems.push(`${token.rawName}: there is no such flag; see --help`)
    else if (switches.includes(name)) {
      if (isOption) order!.options[name] = true
      else flags.set(name, value ?? true)
    } else if (value === undefined || value === '') problems.push(`--${name}: needs a value`)
    else if (isOption) order!.options[name] = value
    else flags.set(name, value)
  }
  return { flags, order }
}

function readFile(path: unknown, problems: string[]): Record<string, unknown> {
  if (typeof path !== 'string') return {}
  let content: unknown
  try {
    content = parseYaml(readFileSync(path, 'utf8')) ?? {}
  } catch (error) {
    problems.push(`--config: cannot read ${path}: ${(error as Error).message.split('\n')[0]!}`)
    return {}
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    problems.push(`--config: ${path} must hold settings, one "name: value" a line`)
    return {}
  }
  const known = new Set(entries.map(([key]) => fileKey(key)))
  for (const name of Object.keys(content)) {
    if (!known.has(name)) problems.push(`${name} in the configuration file: there is no such setting`)
  }
  // "name:" with nothing behind it is a setting left out.
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null))
}

function derived(key: Key, env: Env): string | undefined {
  if (key !== 'dbPath') return undefined
  return join(given(env.HERMES_HOME) ?? join(homedir(), '.hermes'), 'confirmation_audit.db')
}

function given(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value
}

function warningsFor(config: Config, env: Env): string[] {
  const warnings: string[] = []
  const known = new Set<string>([...entries.map(([, setting]) => setting.env), 'CONFIRMATION_CONFIG'])
  for (const name of Object.keys(env)) {
    if (name.startsWith('CONFIRMATION_') && !known.has(name))
      warnings.push(`${name} is not a setting of Holdpoint and is ignored`)
  }
  const half = (a: string, b: string, channel: string) =>
    warnings.push(`${a} is set but ${b} is not: ${channel} is not used`)
  if (config.telegramBotToken !== undefined && config.telegramHomeChannel === undefined) {
    half('TELEGRAM_BOT_TOKEN', 'TELEGRAM_HOME_CHANNEL', 'Telegram')
  }
  if (
    config.discordBotToken !== undefined &&
    config.discordHomeChannel === undefined &&
    config.discordWebhookUrl === undefined
  ) {
    half('DISCORD_BOT_TOKEN', 'DISCORD_HOME_CHANNEL', 'Discord')
  }
  if (config.callbackAllow !== undefined && config.callbackSecret === undefined) {
    half('CONFIRMATION_CALLBACK_ALLOW', 'CONFIRMATION_CALLBACK_SECRET', 'callback_url')
  }
  return warnings
}
