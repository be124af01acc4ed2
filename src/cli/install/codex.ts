// Codex: command hooks in hooks.json. It runs the call where its hook dies, so these can ask, and cannot close.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installedIn, madeUpCall } from './claude-code.js'
import {
  accessOf,
  type Ending,
  type Hook,
  type Host,
  hookCommand,
  inShell,
  type Inspection,
  isHook,
  isObject,
  type Judgement,
  type Scope,
} from './host.js'
import { type Groups, listHooks, mergeHooks, removeHooks, showHooks, type Standing } from './json-hooks.js'
import { readJson } from './json-text.js'
import { folderOf, type Machine } from './machine.js'
import { problemsWithMatcher } from './matcher.js'
import { inspectSettings } from './settings-file.js'

const callSeconds = 600
const outcomeSeconds = 60

const notClosed =
  'Codex is not closed: it runs the call where its hook is late, is not trusted, or dies with the shell around it.'

export const codex: Host = {
  name: 'codex',
  title: 'Codex',
  what: 'hook',
  scopes: ['user', 'project'],
  open: notClosed,
  settings: ({ machine, project }) =>
    join(project === null ? userFolder(machine) : join(project, '.codex'), 'hooks.json'),
  show: (scope, access) => showHooks(wanted(scope, access)),
  merge: (text, scope, access) => mergeHooks(text, 'codex', wanted(scope, access)),
  remove: (text) => removeHooks(text, 'codex'),
  installed: (text) => installedIn(text, 'codex'),
  next: ({ project }) => [
    'Codex skips new hooks until they are trusted, without a word: start it, and trust them under /hooks.',
    ...(project === null ? [] : ['It reads hooks of a project only where the project is trusted, too.']),
  ],
  inspect,
}

function wanted({ machine }: Scope, access: { url: string; keyFile: string }): Groups {
  const command = (seconds: number) => hookCommand(machine, 'codex', access, seconds)
  const group = (command: string, timeout: number) => ({ matcher: '*', hooks: [{ type: 'command', command, timeout }] })
  return {
    PreToolUse: group(inShell(command(callSeconds)), callSeconds),
    PostToolUse: group(command(outcomeSeconds), outcomeSeconds),
  }
}

function userFolder(machine: Machine): string {
  return folderOf(machine, 'CODEX_HOME', '.codex')
}

function inspect({ machine, project }: Scope): Inspection {
  const problems: string[] = []
  const own = join(userFolder(machine), 'hooks.json')
  const files = [...new Set([own, join(project ?? machine.cwd, '.codex', 'hooks.json')])]
  const there = files.filter((file) => existsSync(file))
  const hooks = there.flatMap((file) => {
    const found = inspectSettings(file, (text) => listHooks(readJson(text)))
    if ('problem' in found) {
      problems.push(`${found.problem} Codex leaves it out.`)
      return []
    }
    return found.said
      .filter(({ event, hook }) => event === 'PreToolUse' && isHook(hook.command, 'codex'))
      .map((one) => ({ ...readHook(one, machine), file, isShared: file !== own }))
  })
  if (isOff(join(userFolder(machine), 'config.toml')))
    problems.push('Hooks are turned off in config.toml: [features] hooks = false.')
  return {
    files: there,
    hooks,
    problems,
    notes: ['Whether the hooks are trusted, Codex shows under /hooks; one that is not is skipped.'],
  }
}

function isOff(file: string): boolean {
  if (!existsSync(file)) return false
  const [, features = ''] = /^\s*\[features\]([^]*?)(?=^\s*\[|$(?![^]))/m.exec(readFileSync(file, 'utf8')) ?? []
  return /^\s*(codex_)?hooks\s*=\s*false\b/m.test(features)
}

function readHook({ matcher, hook }: Standing, machine: Machine): Omit<Hook, 'file' | 'isShared'> {
  const command = String(hook.command)
  const { url, keyFile, seconds = callSeconds } = accessOf(command)
  const problems = problemsWithMatcher(matcher)
  if (hook.async === true) problems.push('"async" is true, so calls do not wait for it')
  if (hook.type !== 'command')
    problems.push(`its type is ${JSON.stringify(hook.type)}, and Codex has only command for this`)
  const timeout = typeof hook.timeout === 'number' ? hook.timeout : callSeconds
  if (seconds > timeout) problems.push(`it may take ${seconds} s (--timeout), and Codex waits ${timeout} s ("timeout")`)
  const attempt = { command, input: { ...madeUpCall(machine), turn_id: 'check', model: 'none' }, judge }
  return { attempt, url, keyFile, problems, faults: [] }
}

/** As Codex does: exit code 2 with words, or a denial with a reason; whatever else it is, the call runs. */
function judge({ error, isTimedOut, code, stdout, stderr }: Ending): Judgement {
  const open = (how: string): Judgement => ({ isClosed: false, because: `${how}, and Codex runs the call then` })
  if (error !== undefined) return open(`it cannot be started (${error})`)
  if (isTimedOut) return open('it gave no answer in time')
  if (code === 2 && stderr.trim() !== '')
    return { isClosed: true, because: 'it ended with exit code 2, which blocks the call' }
  if (code !== 0) return open(`it ended with exit code ${code ?? 'none'}`)
  if (deniesWithReason(stdout)) return { isClosed: true, because: 'it answered deny' }
  return open('it did not deny')
}

function deniesWithReason(stdout: string): boolean {
  try {
    const said: unknown = JSON.parse(stdout)
    const specific = isObject(said) ? said.hookSpecificOutput : null
    if (!isObject(specific) || specific.permissionDecision !== 'deny') return false
    const { permissionDecisionReason: reason } = specific
    return typeof reason === 'string' && reason.trim() !== ''
  } catch {
    return false
  }
}
