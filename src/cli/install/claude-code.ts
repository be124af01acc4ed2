// Claude Code: hooks of type command in settings.json, closed by `onFailure` beside the command.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Access,
  accessOf,
  type Attempt,
  type Ending,
  type Hook,
  type Host,
  hookCommand,
  type Inspection,
  isHook,
  isInstalled,
  isObject,
  type Judgement,
  otherwiseNo,
  type Scope,
  wholeAccess,
} from './host.js'
import { type Groups, listHooks, mergeHooks, removeHooks, showHooks, type Standing } from './json-hooks.js'
import { readJson, UnfitText } from './json-text.js'
import { folderOf, type Machine } from './machine.js'
import { problemsWithMatcher } from './matcher.js'
import { inspectSettings } from './settings-file.js'
import { shellText } from './words.js'

/** What Claude Code itself waits where nothing is said; nobody waits for an outcome. */
const callSeconds = 600
const outcomeSeconds = 60

export const claudeCode: Host = {
  name: 'claude-code',
  title: 'Claude Code',
  what: 'hook',
  scopes: ['user', 'project'],
  open: null,
  settings: ({ machine, project }) =>
    join(project === null ? userFolder(machine) : join(project, '.claude'), 'settings.json'),
  show: (scope, access) => showHooks(wanted(scope, access)),
  merge: (text, scope, access) => mergeHooks(text, 'claude-code', wanted(scope, access)),
  remove: (text) => removeHooks(text, 'claude-code'),
  installed: (text) => installedIn(text, 'claude-code'),
  next: ({ project }) => [
    ...(project === null
      ? []
      : [
          'It names paths of this machine: whoever gets it with the project is denied every call, until they install it.',
        ]),
    'It takes Claude Code 2.1.295 or newer: older ones run the call where the hook cannot be started.',
    'Begin sessions anew that are open.',
  ],
  inspect,
  problemWithVersion,
}

function wanted({ machine }: Scope, access: { url: string; keyFile: string }): Groups {
  const command = (seconds: number) => hookCommand(machine, 'claude-code', access, seconds)
  const outcome = {
    matcher: '*',
    hooks: [{ type: 'command', command: command(outcomeSeconds), timeout: outcomeSeconds }],
  }
  return {
    PreToolUse: {
      matcher: '*',
      hooks: [
        { type: 'command', command: command(callSeconds) + otherwiseNo, timeout: callSeconds, onFailure: 'block' },
      ],
    },
    PostToolUse: outcome,
    PostToolUseFailure: outcome,
  }
}

function userFolder(machine: Machine): string {
  return folderOf(machine, 'CLAUDE_CONFIG_DIR', '.claude')
}

export function installedIn(text: string, host: 'claude-code' | 'codex'): Access | null {
  const ours = listHooks(readJson(text)).find(({ hook }) => isInstalled(hook.command, host))
  return ours === undefined ? null : wholeAccess(ours.hook.command)
}

// -- checking ------------------------------------------------------------------------------------------------------------

interface Read {
  file: string
  isManaged: boolean
  settings: Record<string, unknown>
}

function inspect({ machine, project }: Scope): Inspection {
  const problems: string[] = []
  const managed = managedFiles(machine).map((file) => ({ file, isManaged: true }))
  const folder = join(project ?? machine.cwd, '.claude')
  const own = join(userFolder(machine), 'settings.json')
  const others = [own, join(folder, 'settings.json'), join(folder, 'settings.local.json')]
  const read = [...managed, ...[...new Set(others)].map((file) => ({ file, isManaged: false }))].flatMap(
    ({ file, isManaged }) => {
      if (!existsSync(file)) return []
      const found = inspectSettings(file, readObject)
      if ('problem' in found) {
        problems.push(`${found.problem} Claude Code leaves out the whole file.`)
        return []
      }
      const settings = found.said
      if (!areHooksWhole(settings))
        problems.push(`${file} has hooks that are not as Claude Code wants them, so it may leave out the whole file.`)
      return [{ file, isManaged, settings }]
    },
  )
  const hooks = read.flatMap(({ file, settings }) =>
    listHooks(settings)
      .filter((one) => one.event === 'PreToolUse' && isOurs(one))
      .map((one) => ({ ...readHook(one, machine), file, isShared: file.startsWith(folder) && file !== own })),
  )
  // What administrators have put in runs whatever others say.
  const isManaged = hooks.some(({ file }) => managed.some((one) => one.file === file))
  problems.push(...read.flatMap((one) => switchedOff(one, isManaged)), ...environmentProblems(machine, read))
  const notes: string[] = []
  for (const event of ['PostToolUse', 'PostToolUseFailure']) {
    const isThere = read.some(({ settings }) => listHooks(settings).some((one) => one.event === event && isOurs(one)))
    if (hooks.length > 0 && !isThere) notes.push(`Nothing is told of outcomes: there is no ${event} hook.`)
  }
  return { files: read.map(({ file }) => file), hooks, problems, notes }
}

function isOurs({ hook }: Standing): boolean {
  return (
    isHook(hook.command, 'claude-code') ||
    (hook.type === 'http' && /^https?:\/\/[^?]+\/hooks\/claude-code\b/.test(String(hook.url)))
  )
}

/** Where administrators put settings that nobody overrides. */
function managedFiles({ root }: Machine): string[] {
  const folders = ['etc/claude-code', 'Library/Application Support/ClaudeCode'].map((folder) => join(root, folder))
  return folders.flatMap((folder) => {
    const parts = join(folder, 'managed-settings.d')
    const names = existsSync(parts) ? readdirSync(parts).sort() : []
    return [
      join(folder, 'managed-settings.json'),
      ...names.filter((name) => name.endsWith('.json')).map((name) => join(parts, name)),
    ]
  })
}

function readObject(text: string): Record<string, unknown> {
  const settings = readJson(text)
  if (!isObject(settings)) throw new UnfitText('is no JSON object.')
  return settings
}

/** As its schema has them: by event a list of groups, of a group a list of hooks that have a type. */
function areHooksWhole({ hooks }: Record<string, unknown>): boolean {
  const areAll = (list: unknown, isOne: (one: Record<string, unknown>) => boolean) =>
    Array.isArray(list) && list.every((one) => isObject(one) && isOne(one))
  const isGroup = (group: Record<string, unknown>) =>
    ['undefined', 'string'].includes(typeof group.matcher) &&
    areAll(group.hooks, ({ type }) => typeof type === 'string')
  return hooks === undefined || (isObject(hooks) && Object.values(hooks).every((groups) => areAll(groups, isGroup)))
}

function switchedOff({ file, isManaged, settings }: Read, runsAnyway: boolean): string[] {
  const off: string[] = []
  if (settings.disableAllHooks === true && (isManaged || !runsAnyway))
    off.push(`disableAllHooks is true in ${file}: no hook runs.`)
  if (isManaged && settings.allowManagedHooksOnly === true && !runsAnyway) {
    off.push(
      `allowManagedHooksOnly is true in ${file}: only hooks of managed settings run, and ours is in none of them.`,
    )
  }
  const strict = settings.strictPluginOnlyCustomization
  if (isManaged && !runsAnyway && (strict === true || (Array.isArray(strict) && strict.includes('hooks')))) {
    off.push(`strictPluginOnlyCustomization in ${file} leaves out the hooks of settings.`)
  }
  return off
}

/** With these it runs no hook. */
const bare = ['CLAUDE_CODE_SIMPLE', 'CLAUDE_CODE_SAFE_MODE']
/** These put somebody's program into every other, the hook's own included. */
const loading = ['NODE_OPTIONS', 'LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'BASH_ENV']

function environmentProblems({ env }: Machine, read: Read[]): string[] {
  const isSet = (value: unknown) =>
    value === true || (typeof value === 'string' && !['', '0', 'false'].includes(value.toLowerCase()))
  const fileWith = (name: string) =>
    read.find(({ settings }) => isObject(settings.env) && isSet(settings.env[name]))?.file
  const off = bare.flatMap((name) => {
    const file = fileWith(name)
    if (!isSet(env[name]) && file === undefined) return []
    return [`${name} is set ${file === undefined ? 'in the environment' : `in ${file}`}: no hook runs.`]
  })
  // In the environment itself it is there when the hook is tried.
  const loaded = loading.flatMap((name) => {
    const file = fileWith(name)
    return file === undefined ? [] : [`${name} is set in ${file}: what it loads may answer in the hook's place.`]
  })
  return [...off, ...loaded]
}

function readHook({ matcher, hook }: Standing, machine: Machine): Omit<Hook, 'file' | 'isShared'> {
  const problems = problemsWithMatcher(matcher)
  const faults: string[] = []
  if (hook.onFailure !== 'block')
    problems.push('it has no "onFailure": "block": where it dies or is late, the call runs')
  for (const name of ['async', 'asyncRewake', 'once']) {
    if (hook[name] === true) problems.push(`"${name}" is true, so calls do not wait for it`)
  }
  if (hook.if !== undefined) problems.push(`"if" is ${JSON.stringify(hook.if)}, so it is not asked about other calls`)
  const doesBlock = hook.onFailure === 'block'
  if (hook.type === 'http') {
    // What Claude Code does where it gets no answer, `onFailure` alone says.
    const url = URL.canParse(String(hook.url)) ? new URL(String(hook.url)).origin : undefined
    if (url === undefined) faults.push(`${JSON.stringify(hook.url)} is no address`)
    return { attempt: null, url, keyFile: undefined, problems, faults }
  }
  if (hook.type !== 'command') {
    problems.push(`its type is ${JSON.stringify(hook.type)}, and only command and http can be closed`)
  }
  const args = Array.isArray(hook.args) ? hook.args.map(String) : null
  const command = String(hook.command)
  const { url, keyFile, seconds = callSeconds } = accessOf(args === null ? command : shellText([command, ...args]))
  const timeout = typeof hook.timeout === 'number' ? hook.timeout : callSeconds
  if (seconds > timeout)
    faults.push(`it may take ${seconds} s (--timeout), and Claude Code waits ${timeout} s ("timeout")`)
  const attempt = {
    command: args === null ? command : [command, ...args],
    input: madeUpCall(machine),
    judge: judgeOf(doesBlock),
  }
  return { attempt, url, keyFile, problems, faults }
}

/** The first that knows `onFailure`. */
const firstVersion = [2, 1, 295]

/** As `claude --version` says it, where there is one to be found. */
async function problemWithVersion({ env, cwd }: Machine): ReturnType<NonNullable<Host['problemWithVersion']>> {
  const said = await new Promise<string>((resolve) => {
    const options = { env: env as NodeJS.ProcessEnv, cwd, timeout: 10_000 }
    execFile('claude', ['--version'], options, (error, stdout) => resolve(error === null ? stdout : ''))
  })
  const version = /^(\d+)\.(\d+)\.(\d+)/.exec(said.trim())?.slice(1).map(Number)
  const needed = `only from ${firstVersion.join('.')} on does "onFailure" close it`
  if (version === undefined)
    return { isKnown: false, problem: `Which Claude Code is here is not known (claude --version); ${needed}.` }
  const at = version.findIndex((part, index) => part !== firstVersion[index])
  if (at < 0 || version[at]! > firstVersion[at]!) return null
  return { isKnown: true, problem: `Claude Code here is ${version.join('.')}; ${needed}.` }
}

/** A call that nobody makes: should it be asked about all the same, it says so and does nothing. */
export function madeUpCall({ cwd }: Machine): Attempt['input'] {
  return {
    session_id: 'holdpoint-check',
    cwd,
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'true', description: 'made up by holdpoint install --check' },
    tool_use_id: 'holdpoint-check',
  }
}

/** As Claude Code does: exit code 2 blocks, a decision on standard output counts, any other end is a failure. */
function judgeOf(doesBlock: boolean): Attempt['judge'] {
  return (ending: Ending): Judgement => {
    const failed = (how: string): Judgement => ({
      isClosed: doesBlock,
      because: doesBlock
        ? `${how}, and "onFailure": "block" blocks the call`
        : `${how}, and Claude Code runs the call then`,
    })
    if (ending.error !== undefined) return failed(`it cannot be started (${ending.error})`)
    if (ending.isTimedOut) return failed('it gave no answer in time')
    if (ending.code === 2) return { isClosed: true, because: 'it ended with exit code 2, which blocks the call' }
    const decision = decisionIn(ending.stdout)
    if (decision === '"deny"') return { isClosed: true, because: 'it answered deny' }
    if (decision !== null)
      return { isClosed: false, because: `it answered ${decision} although the service was not there` }
    if (ending.code !== 0) return failed(`it ended with exit code ${ending.code ?? 'none'}`)
    return { isClosed: false, because: 'it ended without a decision, and Claude Code runs the call then' }
  }
}

function decisionIn(stdout: string): string | null {
  try {
    const said: unknown = JSON.parse(stdout)
    const specific = isObject(said) ? said.hookSpecificOutput : null
    const decision = isObject(specific) ? specific.permissionDecision : undefined
    return decision === undefined ? null : JSON.stringify(decision)
  } catch {
    return null
  }
}
