// Hermes: shell hooks in config.yaml, closed by `fail_closed`. The file is the user's: lines go in and out, all else stays.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type Access,
  accessOf,
  type Attempt,
  type Ending,
  type Hook,
  type Host,
  hookCommand,
  inShell,
  type Inspection,
  isHook,
  isInstalled,
  isObject,
  type Judgement,
  type Scope,
  wholeAccess,
} from './host.js'
import { UnfitText } from './json-text.js'
import { folderOf, type Machine } from './machine.js'
import { fitsAll } from './matcher.js'
import { wordsOf } from './words.js'
import { addItem, itemLines, itemsAt, readYaml, removeItems } from './yaml-text.js'

/** Hermes lets no hook take longer. */
const maxSeconds = 300
const usualSeconds = 60
const outcomeSeconds = 60

export const hermes: Host = {
  name: 'hermes',
  title: 'Hermes',
  what: 'hook',
  scopes: ['user'],
  open: null,
  settings: ({ machine }) => join(folderOf(machine, 'HERMES_HOME', '.hermes'), 'config.yaml'),
  show(scope, access) {
    const wanted = wantedOf(scope, access)
    const events = Object.entries(wanted).flatMap(([event, entry]) => [`  ${event}:`, ...itemLines(entry, '    ')])
    const data = { hooks: Object.fromEntries(Object.entries(wanted).map(([event, entry]) => [event, [entry]])) }
    return { text: ['hooks:', ...events].join('\n'), data }
  },
  merge: (text, scope, access) =>
    Object.entries(wantedOf(scope, access)).reduce((merged, [event, entry]) => {
      const ours = itemsAt(readYaml(merged), ['hooks', event]).filter(isOurs)
      if (ours.length === 1 && isDeepStrictEqual(ours[0], entry)) return merged
      return addItem(removeItems(merged, ['hooks', event], isOurs), ['hooks', event], entry)
    }, text),
  remove: (text) => events.reduce((left, event) => removeItems(left, ['hooks', event], isOurs), text),
  installed(text) {
    const ours = events.flatMap((event) => itemsAt(readYaml(text), ['hooks', event])).find(isOurs)
    return ours === undefined ? null : wholeAccess(ours.command)
  },
  next: () => [
    'Hermes asks once, at a terminal, whether it may run a new hook, and skips it until then: start it and say yes, or start it with --accept-hooks.',
  ],
  inspect,
}

const events = ['pre_tool_call', 'post_tool_call']

/** Without a matcher: it fits every tool. */
function wantedOf({ machine }: Scope, access: Access) {
  return {
    // Hermes takes one that ends without a word for a yes, also with fail_closed.
    pre_tool_call: {
      command: inShell(hookCommand(machine, 'hermes', access, maxSeconds)),
      timeout: maxSeconds,
      fail_closed: true,
    },
    post_tool_call: {
      command: hookCommand(machine, 'hermes', access, outcomeSeconds),
      timeout: outcomeSeconds,
    },
  }
}

function isOurs(entry: unknown): boolean {
  return isObject(entry) && isInstalled(entry.command, 'hermes')
}

// -- checking ------------------------------------------------------------------------------------------------------------

function inspect(scope: Scope): Inspection {
  const { machine } = scope
  const file = hermes.settings(scope)
  const notes = ['Hooks are read when Hermes starts.']
  if (!existsSync(file)) return { files: [], hooks: [], problems: [], notes }
  let data: unknown
  try {
    data = readYaml(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof UnfitText ? error.message : `cannot be read: ${(error as Error).message}`
    return { files: [file], hooks: [], problems: [`${file} ${why}`], notes }
  }
  const approved = approvals(machine)
  const accepts = isObject(data) && isTrue(data.hooks_auto_accept)
  const hooks = itemsAt(data, ['hooks', 'pre_tool_call'])
    .filter(({ command }) => isHook(command, 'hermes'))
    .map((entry) => readHook(file, entry, machine, accepts || approved.includes(String(entry.command).trim())))
  const problems = isTrue(machine.env.HERMES_SAFE_MODE)
    ? ['HERMES_SAFE_MODE is set in the environment: no hook runs.']
    : []
  return { files: [file], hooks, problems, notes }
}

/** What somebody has said yes to, when Hermes asked. */
function approvals(machine: Machine): string[] {
  try {
    const file = join(folderOf(machine, 'HERMES_HOME', '.hermes'), 'shell-hooks-allowlist.json')
    const { approvals: found } = JSON.parse(readFileSync(file, 'utf8')) as { approvals?: unknown }
    const all = Array.isArray(found) ? found.filter(isObject) : []
    return all.filter(({ event }) => event === 'pre_tool_call').map(({ command }) => String(command))
  } catch {
    return []
  }
}

function isTrue(value: unknown): boolean {
  return (
    value === true || (typeof value === 'string' && ['1', 'true', 'yes', 'on'].includes(value.trim().toLowerCase()))
  )
}

function readHook(file: string, entry: Record<string, unknown>, machine: Machine, isApproved: boolean): Hook {
  const command = String(entry.command)
  const { url, keyFile, seconds = usualSeconds } = accessOf(command)
  const problems: string[] = []
  const faults: string[] = []
  const doesBlock = (entry.fail_closed ?? entry.failClosed) === true
  if (!doesBlock) problems.push('it has no "fail_closed: true": where it dies or is late, the call runs')
  // Hermes wants the whole name to fit.
  if (typeof entry.matcher === 'string' && !fitsAll(entry.matcher.trim())) {
    problems.push(`its matcher, ${JSON.stringify(entry.matcher)}, may leave out tools; remove it`)
  }
  const timeout = Number(entry.timeout ?? usualSeconds)
  if (timeout > maxSeconds) faults.push(`its timeout is ${timeout} s, and Hermes waits ${maxSeconds} s at most`)
  const waits = Math.min(timeout, maxSeconds)
  if (seconds > waits) faults.push(`it may take ${seconds} s (--timeout), and Hermes waits ${waits} s`)
  if (!isApproved) {
    problems.push(
      'Hermes skips it until somebody has said yes to it: start Hermes at a terminal, or with --accept-hooks',
    )
  }
  const input = {
    hook_event_name: 'pre_tool_call',
    tool_name: 'terminal',
    tool_input: { command: 'true' },
    session_id: 'holdpoint-check',
    cwd: machine.cwd,
    profile: 'default',
    extra: {},
  }
  const attempt = { command: wordsOf(command) ?? [command], input, judge: judgeOf(doesBlock) }
  return { file, isShared: false, attempt, url, keyFile, problems, faults }
}

/** As Hermes does: exit code 2 or a block is a no; with `fail_closed` also what does not start, is late, or is no JSON. */
function judgeOf(doesBlock: boolean): Attempt['judge'] {
  return ({ error, isTimedOut, code, stdout }: Ending): Judgement => {
    const failed = (how: string): Judgement => ({
      isClosed: doesBlock,
      because: `${how}, and ${doesBlock ? 'fail_closed blocks the call' : 'Hermes runs the call then'}`,
    })
    if (error !== undefined) return failed(`it cannot be started (${error})`)
    if (isTimedOut) return failed('it gave no answer in time')
    if (code === 2) return { isClosed: true, because: 'it ended with exit code 2, which blocks the call' }
    const said = stdout.trim()
    if (said === '')
      return {
        isClosed: false,
        because: `it said nothing (exit code ${code ?? 'none'}), and Hermes runs the call then`,
      }
    try {
      const answer: unknown = JSON.parse(said)
      if (isObject(answer)) {
        const isBlock = answer.decision === 'block' || answer.action === 'block'
        return { isClosed: isBlock, because: isBlock ? 'it answered block' : 'it did not block' }
      }
    } catch {
      // Judged as what is no object.
    }
    return failed('what it said is no JSON object')
  }
}
