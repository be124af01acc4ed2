// Settings: flags over environment over file over defaults. Every problem is found before anything starts.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { ConfigProblems, type Order, readCommandLine } from './command.js'
import { nearTo } from './core/closest.js'
import { cut } from './core/cut.js'
import { visibleLine } from './core/visible.js'
import { flawOfAllowedHost } from './notify/address.js'
import { flawOfSecret } from './notify/signature.js'
import { fileKey, type Key, logLevels, otherSettings, settingEntries, settings } from './settings.js'

export { ConfigProblems, fileKey, settings }

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

/** What each setting may be, and what it becomes. */
const schemas = {
  host: text,
  port: whole(0, 65535),
  // YAML 1.1 tools write off as false.
  webPort: z.union([
    z.literal(['off', false]).transform(() => 'off' as const),
    whole(0, 65535, 'must be a port from 0 to 65535, or off'),
  ]),
  // The pages and their cookies know no other place than the top, and chats limit how long a link may be.
  publicUrl: httpUrl
    .refine(isTop, 'must end with the host or port: no path, user or query')
    .refine((url) => url.length <= 200, 'must have at most 200 characters'),
  dbPath: text,
  auth: z.enum(['auto', 'keys'], { error: 'must be auto or keys' }),
  policy: text,
  rateLimit: whole(1, 1_000_000_000),
  rateWindow: whole(1, 31_536_000),
  floodLimit: whole(0, 1_000_000_000),
  approvalTtl: whole(1, 31_536_000),
  reportTimeout: whole(1, 31_536_000),
  logLevel: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }),
  notifyTimeout: whole(1, 120),
  telegramBotToken: text,
  telegramHomeChannel: text,
  telegramApiBase: httpUrl,
  discordBotToken: text,
  discordHomeChannel: text.refine((value) => /^\d+$/.test(value), 'must be a channel id (digits)'),
  discordWebhookUrl: httpUrl,
  discordApiBase: httpUrl,
  callbackAllow: listOf(flawOfAllowedHost),
  callbackSecret: listOf(flawOfSecret),
} as const satisfies Record<Key, z.ZodType>

type Value<K extends Key> = z.output<(typeof schemas)[K]>
type Optional<K extends Key> = (typeof settings)[K] extends { default: unknown }
  ? never
  : K extends 'dbPath'
    ? never
    : K

export type Config = { [K in Key]: Value<K> | (Optional<K> extends never ? never : undefined) }

export type Invocation =
  | { command: 'help'; topic: string[] }
  | { command: 'version' }
  | { command: 'serve'; config: Config; warnings: string[] }
  | { command: 'order'; order: Order; config: Config }

type Env = Record<string, string | undefined>

export function readInvocation(argv: string[], env: Env): Invocation {
  const line = readCommandLine(argv)
  if (line.command !== 'run') return line
  const { flags, order } = line
  const problems = [...line.problems]
  const file = readFile(flags.get('config') ?? given(env.CONFIRMATION_CONFIG), problems)
  const raw: Partial<Record<Key, unknown>> = {}
  for (const [key, setting] of settingEntries) {
    const sources: [string, unknown][] = [
      [`--${setting.flag ?? ''}`, setting.flag === undefined ? undefined : flags.get(setting.flag)],
      [setting.env, given(env[setting.env])],
      [`${fileKey(key)} in the configuration file`, file[fileKey(key)]],
    ]
    const [name, value] = sources.find(([, one]) => one !== undefined) ?? ['', setting.default ?? derived(key, env)]
    if (value === undefined) continue
    const parsed = schemas[key].safeParse(value)
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
  const known = settingEntries.map(([key]) => fileKey(key))
  for (const name of Object.keys(content)) {
    if (known.includes(name)) continue
    const said = cut(visibleLine(name), maxShown)
    problems.push(`${said} in the configuration file: there is no such setting${didYouMean(name, known)}`)
  }
  // "name:" with nothing behind it is a setting left out.
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null))
}

/** More of a name is not repeated. */
const maxShown = 80

function didYouMean(name: string, known: string[], prefix = ''): string {
  const meant = nearTo(name, known)
  return meant === undefined ? '' : `; did you mean ${prefix}${meant}?`
}

/** What the service's own variables begin with. */
const prefix = 'CONFIRMATION_'

function derived(key: Key, env: Env): string | undefined {
  return key === 'dbPath' ? defaultDatabase(given(env.HERMES_HOME)) : undefined
}

/** The database when nothing says which. */
export function defaultDatabase(hermesHome = join(homedir(), '.hermes')): string {
  return join(hermesHome, 'confirmation_audit.db')
}

function given(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value
}

function warningsFor(config: Config, env: Env): string[] {
  const warnings: string[] = []
  const known = [...settingEntries.map(([, setting]) => setting.env), otherSettings.config.env]
  for (const name of Object.keys(env)) {
    if (!name.startsWith(prefix) || known.includes(name)) continue
    const said = cut(visibleLine(name), maxShown)
    // What all have in common says nothing about which is meant.
    const ends = known.flatMap((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : []))
    const meant = didYouMean(name.slice(prefix.length), ends, prefix)
    warnings.push(`${said} is not a setting of Holdpoint and is ignored${meant}`)
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
