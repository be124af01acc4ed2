// OpenClaw: a plugin, whose hook blocks where it fails, and the entry in openclaw.json that loads it and gives it time.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type Access,
  type Attempt,
  type Ending,
  type Hook,
  type Host,
  type Inspection,
  isObject,
  type Judgement,
  type Scope,
} from './host.js'
import { end, put, readJson, remove, UnfitText } from './json-text.js'
import { folderOf, type Machine } from './machine.js'

/** What the plugin is called in its manifest. */
const id = 'holdpoint'
const pluginFolder = 'dist/integrations/openclaw'
/** The most that OpenClaw gives a hook; it gives 15 s unless it is told. */
const budgetMs = 600_000
const usualBudgetMs = 15_000

export const openclaw: Host = {
  name: 'openclaw',
  title: 'OpenClaw',
  what: 'plugin',
  scopes: ['user'],
  open: null,
  settings: ({ machine }) => settingsOf(machine),
  show({ machine }, access) {
    const data = { plugins: { load: { paths: [folderIn(machine)] }, entries: { [id]: entryOf(access) } } }
    return { text: JSON.stringify(data, null, 2), data }
  },
  merge,
  remove(text) {
    const { load, allow } = pluginsOf(text)
    const paths = listOf(isObject(load) ? load.paths : undefined)
    let left = remove(text, ['plugins', 'entries', id])
    for (const index of indexesFromLast(paths, isOurs)) left = remove(left, ['plugins', 'load', 'paths', index])
    for (const index of indexesFromLast(listOf(allow), (one) => one === id)) {
      // An empty list would still be one that lets nothing load.
      if (listOf(allow).length > 1) left = remove(left, ['plugins', 'allow', index])
    }
    return left
  },
  installed(text) {
    const config = standingEntry(text)?.config
    if (!isObject(config) || typeof config.keyFile !== 'string' || typeof config.url !== 'string') return null
    return { url: config.url, keyFile: config.keyFile }
  },
  next: ({ machine }) => [
    `The plugin is loaded from ${folderIn(machine)}: it must stay there. Where OpenClaw does not reload by itself: openclaw gateway restart`,
    'To see whether it is loaded: openclaw plugins inspect holdpoint --runtime',
  ],
  inspect,
}

function settingsOf(machine: Machine): string {
  const { OPENCLAW_CONFIG_PATH: path } = machine.env
  if (path !== undefined && path.trim() !== '') return folderOf(machine, 'OPENCLAW_CONFIG_PATH', '')
  return join(folderOf(machine, 'OPENCLAW_STATE_DIR', '.openclaw'), 'openclaw.json')
}

function folderIn({ folder }: Machine): string {
  return join(folder, pluginFolder)
}

function entryOf({ url, keyFile }: Access) {
  return { enabled: true, config: { url, keyFile }, hooks: { timeouts: { before_tool_call: budgetMs } } }
}

function merge(text: string, { machine }: Scope, { url, keyFile }: Access): string {
  const { enabled, deny, allow, load } = pluginsOf(text)
  if (enabled === false) throw new UnfitText('has plugins.enabled: false, so no plugin is loaded. Change that first.')
  if (listOf(deny).includes(id))
    throw new UnfitText(`names ${id} in plugins.deny, which wins over all else. Take it out first.`)
  const folder = folderIn(machine)
  const paths = listOf(isObject(load) ? load.paths : undefined)
  let merged = text
  for (const index of indexesFromLast(paths, (one) => isOurs(one) && one !== folder)) {
    merged = remove(merged, ['plugins', 'load', 'paths', index])
  }
  if (!paths.includes(folder)) merged = put(merged, ['plugins', 'load', 'paths', end], folder)
  if (Array.isArray(allow) && !allow.includes(id)) merged = put(merged, ['plugins', 'allow', end], id)
  if (standingEntry(merged) === undefined) return put(merged, ['plugins', 'entries', id], entryOf({ url, keyFile }))
  // What else stands in it was set by somebody.
  const leaves: [string[], unknown][] = [
    [['enabled'], true],
    [['config', 'url'], url],
    [['config', 'keyFile'], keyFile],
    [['hooks', 'timeouts', 'before_tool_call'], budgetMs],
  ]
  for (const [path, value] of leaves) {
    if (at(standingEntry(merged), path) !== value) merged = put(merged, ['plugins', 'entries', id, ...path], value)
  }
  return merged
}

function pluginsOf(text: string): Record<string, unknown> {
  let settings
  try {
    settings = readJson(text)
  } catch (error) {
    if (!(error instanceof UnfitText)) throw error
    throw new UnfitText(
      `${error.message} OpenClaw also reads JSON5, which is not changed here: put in what --print shows.`,
    )
  }
  return isObject(settings) && isObject(settings.plugins) ? settings.plugins : {}
}

function standingEntry(text: string): Record<string, unknown> | undefined {
  const entry = at(pluginsOf(text), ['entries', id])
  return isObject(entry) ? entry : undefined
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function isOurs(path: unknown): boolean {
  return typeof path === 'string' && path.replace(/\/+$/, '').endsWith(`/${pluginFolder}`)
}

function indexesFromLast(list: unknown[], isMeant: (one: unknown) => boolean): number[] {
  return list.flatMap((one, index) => (isMeant(one) ? [index] : [])).reverse()
}

// -- checking ------------------------------------------------------------------------------------------------------------

function inspect({ machine }: Scope): Inspection {
  const file = settingsOf(machine)
  const notes = ['Whether the gateway has loaded it: openclaw plugins inspect holdpoint --runtime']
  if (!existsSync(file)) return { files: [], hooks: [], problems: [], notes }
  let plugins, entry
  try {
    const text = readFileSync(file, 'utf8')
    plugins = pluginsOf(text)
    entry = standingEntry(text)
  } catch (error) {
    return { files: [file], hooks: [], problems: [`${file} ${(error as Error).message}`], notes }
  }
  if (entry === undefined) return { files: [file], hooks: [], problems: [], notes }
  return { files: [file], hooks: [readHook(file, plugins, entry, machine)], problems: [], notes }
}

function readHook(
  file: string,
  plugins: Record<string, unknown>,
  entry: Record<string, unknown>,
  machine: Machine,
): Hook {
  const problems: string[] = []
  const faults: string[] = []
  if (plugins.enabled === false) problems.push('plugins.enabled is false, so no plugin is loaded')
  if (listOf(plugins.deny).includes(id)) problems.push(`plugins.deny names ${id}, so it is not loaded`)
  if (Array.isArray(plugins.allow) && !plugins.allow.includes(id))
    problems.push(`plugins.allow does not name ${id}, so it is not loaded`)
  if (entry.enabled !== true) problems.push('it is not enabled')
  const budget =
    at(entry, ['hooks', 'timeouts', 'before_tool_call']) ?? at(entry, ['hooks', 'timeoutMs']) ?? usualBudgetMs
  if (typeof budget !== 'number' || budget > budgetMs) {
    problems.push(`its time is ${JSON.stringify(budget)}, and OpenClaw takes ${budgetMs} ms at most`)
  } else if (budget < budgetMs) {
    faults.push(`OpenClaw waits only ${budget} ms for it: set hooks.timeouts.before_tool_call to ${budgetMs}`)
  }
  const folder = listOf(at(plugins, ['load', 'paths'])).find(isOurs) as string | undefined
  if (folder === undefined)
    problems.push('no folder of plugins.load.paths is that of the plugin, so it cannot be tried')
  else if (!existsSync(join(folder, 'openclaw.plugin.json')))
    problems.push(`the plugin's folder, ${folder}, is not there`)
  const { url, keyFile } = isObject(entry.config) ? entry.config : {}
  const access = {
    url: typeof url === 'string' ? url : undefined,
    keyFile: typeof keyFile === 'string' ? keyFile.replace(/^~(?=\/)/, machine.home) : undefined,
  }
  const attempt = folder === undefined ? null : attemptWith(folder, access, machine)
  return { file, isShared: false, attempt, ...access, problems, faults }
}

/** The plugin, loaded as OpenClaw loads it, and asked about a call. */
const trial = `const { plugin, config, event } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
import(plugin).then(async ({ default: { register } }) => {
  let before
  const api = { pluginConfig: config, config: {}, logger: { warn() {} }, on: (name, fn) => { if (name === 'before_tool_call') before = fn } }
  await register(api)
  process.stdout.write(JSON.stringify((await before(event, { sessionKey: 'holdpoint-check' })) ?? {}))
})`

function attemptWith(folder: string, { url, keyFile }: Partial<Access>, { program }: Machine): Attempt {
  const event = { toolName: 'exec', params: { command: 'true' }, toolCallId: 'holdpoint-check' }
  return {
    command: [program[0]!, '-e', trial],
    input: { plugin: pathToFileURL(join(folder, 'index.js')).href, config: { url, keyFile }, event },
    judge,
  }
}

/** As OpenClaw does: what throws or is late blocks; what comes back without `block: true` lets the call run. */
function judge({ error, isTimedOut, code, stdout }: Ending): Judgement {
  if (error !== undefined) return { isClosed: false, because: `it cannot be tried (${error})` }
  if (isTimedOut) return { isClosed: true, because: 'it gave no answer in time, which blocks the call' }
  if (code !== 0) return { isClosed: false, because: 'the plugin cannot be loaded, and OpenClaw goes on without it' }
  try {
    const said: unknown = JSON.parse(stdout)
    if (isObject(said) && said.block === true) return { isClosed: true, because: 'it blocked the call' }
  } catch {
    // No block either.
  }
  return { isClosed: false, because: 'it let the call run' }
}
