// The configuration file: settings by name, in YAML.
import { readFileSync } from 'node:fs'
import { parse as parseYaml } from 'yaml'
import { didYouMean, shorten } from './naming.js'
import { fileKey, settingEntries } from './settings.js'

/** What is wrong with the file goes to `problems`. */
export function readConfigFile(path: string | undefined, problems: string[]): Record<string, unknown> {
  if (path === undefined) return {}
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
    problems.push(`${shorten(name)} in the configuration file: there is no such setting${didYouMean(name, known)}`)
  }
  // "name:" with nothing behind it is a setting left out.
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null))
}
