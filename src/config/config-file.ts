// The configuration file: settings by name, in YAML.
import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { didYouMean, shorten } from './naming.js'
import { fileKey, settingEntries } from './settings.js'

/** What is wrong with the settings. */
export interface SettingProblem {
  /** For whoever gave them. */
  text: string
  /** For a report that others read: it repeats no value, and no name that may be one. */
  unquoted: string
}

/** What is wrong with the file goes to `problems`. */
export function readConfigFile(path: string | undefined, problems: SettingProblem[]): Record<string, unknown> {
  if (path === undefined) return {}
  let content: unknown
  try {
    const document = parseDocument(readFileSync(path, 'utf8'))
    for (const wrong of [...document.errors, ...document.warnings]) throw wrong
    content = document.toJS() ?? {}
  } catch (error) {
    const said = `--config: cannot read ${path}`
    const { message } = error as Error
    problems.push({ text: `${said}: ${message.split('\n')[0]!}`, unquoted: `${said}${placeOf(error)}` })
    return {}
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    const text = `--config: ${path} must hold settings, one "name: value" a line`
    problems.push({ text, unquoted: text })
    return {}
  }
  const known = settingEntries.map(([key]) => fileKey(key))
  for (const name of Object.keys(content)) {
    if (known.includes(name)) continue
    const none = `in the configuration file: there is no such setting${didYouMean(name, known)}`
    const isPlain = /^[a-z]+(_[a-z]+)*$/.test(name) && name.length <= 30
    problems.push({ text: `${shorten(name)} ${none}`, unquoted: `${isPlain ? name : 'a name'} ${none}` })
  }
  // "name:" with nothing behind it is a setting left out.
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null))
}

/** Which error it is and on which line; its message may repeat what stands there. */
function placeOf(error: unknown): string {
  const { code, linePos } = error as { code?: string; linePos?: [{ line: number }] }
  const line = linePos?.[0].line
  return code === undefined ? ': it is not YAML' : ` (${code}${line === undefined ? '' : `, line ${line}`})`
}
