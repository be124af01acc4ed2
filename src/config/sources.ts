// Where the value of each setting comes from: flags over environment over file over defaults.
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { readConfigFile } from './config-file.js'
import { type Config, schemas } from './schemas.js'
import { fileKey, type Key, otherSettings, settingEntries } from './settings.js'

export type Env = Record<string, string | undefined>

/** All that is wrong goes to `problems`; with any, what comes back is not whole. */
export function readConfig(flags: ReadonlyMap<string, string>, env: Env, problems: string[]): Config {
  const { config: file } = otherSettings
  const written = readConfigFile(flags.get(file.flag) ?? nonEmpty(env[file.env]), problems)
  const raw: Partial<Record<Key, unknown>> = {}
  for (const [key, setting] of settingEntries) {
    const sources: [string, unknown][] = [
      [`--${setting.flag ?? ''}`, setting.flag === undefined ? undefined : flags.get(setting.flag)],
      [setting.env, nonEmpty(env[setting.env])],
      [`${fileKey(key)} in the configuration file`, written[fileKey(key)]],
    ]
    const [name, value] = sources.find(([, one]) => one !== undefined) ?? ['', setting.default ?? derived(key, env)]
    if (value === undefined) continue
    const parsed = schemas[key].safeParse(value)
    if (parsed.success) raw[key] = parsed.data
    else {
      const shown = setting.secret === true ? '' : ` (it is ${JSON.stringify(value)})`
      problems.push(`${name}: ${parsed.error.issues[0]!.message}${shown}`)
    }
  }
  const config = raw as Config
  if (config.port !== 0 && config.port !== undefined && config.port === config.webPort) {
    problems.push(`--web-port: ${config.port} is already --port; choose another, or off`)
  }
  return config
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
