// Where the value of each setting comes from: flags over environment over file over defaults.
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { readConfigFile, type SettingProblem } from './config-file.js'
import { type Config, schemas } from './schemas.js'
import { fileKey, type Key, otherSettings, type Setting, settingEntries } from './settings.js'

export type Env = Record<string, string | undefined>

/** Where a value stands. */
export interface Given {
  from: 'flag' | 'environment' | 'file' | 'default'
  value: unknown
}

/** A setting with everything that gives it a value: the first of these counts. */
export interface ReadSetting {
  /** As it is called in the configuration file. */
  name: string
  isSecret: boolean
  given: Given[]
  /** What it became; undefined if it is not set, or wrong. */
  value: unknown
  isWrong: boolean
}

export interface ReadSettings {
  settings: ReadSetting[]
  /** Without what is wrong. */
  config: Partial<Config>
  problems: SettingProblem[]
  /** Values under names that are no settings: what was meant may be a secret. */
  ignored: unknown[]
}

/** Every setting, with all that is wrong. */
export function readSettings(flags: ReadonlyMap<string, string>, env: Env): ReadSettings {
  const problems: SettingProblem[] = []
  const { config: file, hermesHome } = otherSettings
  const path = [...from('flag', flags.get(file.flag)), ...from('environment', nonEmpty(env[file.env]))]
  const home = [...from('environment', nonEmpty(env[hermesHome.env])), ...from('default', hermesHome.default)]
  const written = readConfigFile(path[0]?.value as string | undefined, problems)
  const config: Partial<Record<Key, unknown>> = {}
  const settings = settingEntries.map(([key, setting]): ReadSetting => {
    const given = [
      ...from('flag', setting.flag === undefined ? undefined : flags.get(setting.flag)),
      ...from('environment', nonEmpty(env[setting.env])),
      ...from('file', written[fileKey(key)]),
      ...from('default', setting.default ?? derived(key, env)),
    ]
    const [first] = given
    const read = { name: fileKey(key), isSecret: setting.secret === true, given, value: undefined, isWrong: false }
    if (first === undefined) return read
    const parsed = schemas[key].safeParse(first.value)
    if (parsed.success) return { ...read, value: (config[key] = parsed.data) }
    const unquoted = `${nameOf(key, setting, first)}: ${parsed.error.issues[0]!.message}`
    const shown = setting.secret === true ? '' : ` (it is ${JSON.stringify(first.value)})`
    problems.push({ text: `${unquoted}${shown}`, unquoted })
    return { ...read, isWrong: true }
  })
  if (config.port !== 0 && config.port !== undefined && config.port === config.webPort) {
    const text = `--web-port: ${config.port as number} is already --port; choose another, or off`
    problems.push({ text, unquoted: text })
  }
  if (config.telegramMode === 'webhook' && config.telegramBotToken !== undefined) {
    const missing = [
      ...(config.telegramWebhookSecret === undefined ? ['TELEGRAM_WEBHOOK_SECRET'] : []),
      ...(config.publicUrl === undefined ? ['CONFIRMATION_PUBLIC_URL'] : []),
    ]
    if (missing.length > 0) {
      const text = `TELEGRAM_MODE: webhook needs ${missing.join(' and ')}; set them, or leave polling, which needs neither`
      problems.push({ text, unquoted: text })
    }
  }
  const others = Object.entries({ config: path, hermes_home: home }).map(([name, given]): ReadSetting => ({
    name,
    isSecret: false,
    given,
    value: given[0]?.value,
    isWrong: false,
  }))
  const ignored = [
    ...ignoredIn(
      written,
      settings.map(({ name }) => name),
    ),
    ...ignoredInEnv(env),
  ]
  return { settings: [...settings, ...others], config: config as Partial<Config>, problems, ignored }
}

function ignoredInEnv(env: Env): unknown[] {
  const ours = Object.entries(env).filter(([name]) => /^(CONFIRMATION|TELEGRAM|DISCORD|SLACK|NTFY)_/.test(name))
  return ignoredIn(Object.fromEntries(ours), [...settingEntries.map(([, { env }]) => env), otherSettings.config.env])
}

function ignoredIn(values: Record<string, unknown>, known: string[]): unknown[] {
  return Object.entries(values).flatMap(([name, value]) => (known.includes(name) ? [] : [value]))
}

function from(place: Given['from'], value: unknown): Given[] {
  return value === undefined ? [] : [{ from: place, value }]
}

/** What to change for another value. */
function nameOf(key: Key, { flag, env }: Setting, { from }: Given): string {
  if (from === 'flag') return `--${flag!}`
  if (from === 'environment') return env
  return `${fileKey(key)} in the configuration file`
}

function derived(key: Key, env: Env): string | undefined {
  return key === 'dbPath' ? defaultDatabase(nonEmpty(env[otherSettings.hermesHome.env])) : undefined
}

/** The database when nothing says which. */
function defaultDatabase(hermesHome = join(homedir(), '.hermes')): string {
  return join(hermesHome, 'confirmation_audit.db')
}

/** The one that another shell of this user means: what this one's environment says may be this one's alone. */
export function usualDatabase(): string {
  try {
    return defaultDatabase(join(userInfo().homedir, '.hermes'))
  } catch {
    // Containers may run as a user whom no list names.
    return defaultDatabase()
  }
}

/** An empty variable counts as not set. */
function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value
}
