// Hermes: shell hooks in config.yaml, closed by `fail_closed`. The file is the user's: lines go in and out, all else stays.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isCollection, isMap, isScalar, isSeq, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { accessOf, type Attempt, type Ending, type Hook, type Host, hookCommand, type Inspection, isHook, isInstalled, isObject, type Judgement, type Scope } from './host.js'
import { UnfitText } from './json-text.js'
import { folderOf, type Machine } from './machine.js'
import { wordsOf } from './words.js'

/** Hermes lets no hook take longer. */
const maxSeconds = 300
const usualSeconds = 60
const outcomeSeconds = 60

type Entry = Record<string, string | number | boolean>

export const hermes: Host = {
  name: 'hermes',
  title: 'Hermes',
  scopes: ['user'],
  open: null,
  settings: ({ machine }) => join(folderOf(machine, 'HERMES_HOME', '.hermes'), 'config.yaml'),
  show(scope, access) {
    const wanted = wantedOf(scope, access)
    const events = Object.entries(wanted).flatMap(([event, entry]) => [`  ${event}:`, ...entryLines(entry, '    ')])
    const data = { hooks: Object.fromEntries(Object.entries(wanted).map(([event, entry]) => [event, [entry]])) }
    return { text: ['hooks:', ...events].join('\n'), data }
  },
  merge: (text, scope, access) =>
    Object.entries(wantedOf(scope, access)).reduce((merged, [event, entry]) => {
      const ours = entriesOf(dataOf(merged), event).filter(isOurs)
      if (ours.length === 1 && isDeepStrictEqual(ours[0], entry)) return merged
      return addEntry(removeEntries(merged, event), event, entry)
    }, text),
  remove: (text) => events.reduce(removeEntries, text),
  installedKey(text) {
    const ours = events.flatMap((event) => entriesOf(dataOf(text), event)).find(isOurs)
    return ours === undefined ? null : (accessOf(String(ours.command)).keyFile ?? null)
  },
  next: () => [
    'Hermes asks once, at a terminal, whether it may run a new hook, and skips it until then: start it and say yes, or start it with --accept-hooks.',
    'To see whether it is closed: install hermes --check',
  ],
  inspect,
}

const events = ['pre_tool_call', 'post_tool_call']

/** Without a matcher: it fits every tool. */
function wantedOf({ machine }: Scope, access: { url: string; keyFile: string }): Record<string, Entry> {
  const command = (seconds: number) => hookCommand(machine, 'hermes', access, seconds)
  return {
    pre_tool_call: { command: command(maxSeconds), timeout: maxSeconds, fail_closed: true },
    post_tool_call: { command: command(outcomeSeconds), timeout: outcomeSeconds },
  }
}

function entriesOf(data: unknown, event: string): Record<string, unknown>[] {
  const hooks = isObject(data) && isObject(data.hooks) ? data.hooks : {}
  const entries = hooks[event]
  return Array.isArray(entries) ? entries.filter(isObject) : []
}

function isOurs(entry: unknown): boolean {
  return isObject(entry) && isInstalled(entry.command, 'hermes')
}

// -- the text ------------------------------------------------------------------------------------------------------------

function read(text: string): Document {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) throw new UnfitText(`is no YAML (${error.message.split('\n')[0]!}).`)
  const { contents } = document
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null)) {
    throw new UnfitText('is not as Hermes expects it: it must be an object.')
  }
  return document
}

function dataOf(text: string): unknown {
  return read(text).toJS({ maxAliasCount: 1000 })
}

/** Everything else means what it meant: a way that would change it is not taken. */
function checked(ways: (() => string)[], expected: unknown): string {
  for (const way of ways) {
    const text = way()
    try {
      if (isDeepStrictEqual(dataOf(text) ?? {}, expected)) return text
    } catch (error) {
      if (!(error instanceof UnfitText)) throw error
    }
  }
  throw new UnfitText('cannot be changed without changing more of it. Put in by hand what --print shows.')
}

function addEntry(text: string, event: string, entry: Entry): string {
  const document = read(text)
  const root = isMap(document.contents) ? document.contents : null
  const hooks = root === null ? undefined : pairOf(root, 'hooks')
  const list = hooks !== undefined && isMap(hooks.value) ? pairOf(hooks.value, event) : undefined
  if (hooks !== undefined && !isMap(hooks.value) && !isEmpty(hooks.value)) throw sayUnfit('hooks', 'an object')
  if (list !== undefined && !isSeq(list.value) && !isEmpty(list.value)) throw sayUnfit(`hooks.${event}`, 'a list')
  const expected = structuredClone(dataOf(text) ?? {}) as { hooks?: Record<string, unknown[] | null> | null }
  expected.hooks ??= {}
  // It is put first: whatever stands there keeps the lines and comments that belong to it.
  expected.hooks[event] = [entry, ...(expected.hooks[event] ?? [])]
  return checked([() => addLines(text, root, hooks, list, event, entry), () => addByDocument(text, event, entry)], expected)
}

function addLines(text: string, root: YAMLMap | null, hooks: Pair | undefined, list: Pair | undefined, event: string, entry: Entry): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const insert = (at: number, lines: string[]) => text.slice(0, at) + lines.map((line) => line + eol).join('') + text.slice(at)
  if (hooks === undefined) {
    const gap = text === '' || text.endsWith('\n') ? '' : eol
    const outer = root === null ? '' : columnOf(text, root.items[0] as Pair)
    return `${text}${gap}${[`${outer}hooks:`, `${outer}  ${event}:`, ...entryLines(entry, `${outer}    `)].join(eol)}${eol}`
  }
  const outer = columnOf(text, hooks)
  if (list === undefined) {
    const items = isMap(hooks.value) ? (hooks.value.items as Pair[]) : []
    const inner = items.length > 0 ? columnOf(text, items[0]!) : `${outer}  `
    const lines = [`${inner}${event}:`, ...entryLines(entry, `${inner}  `)]
    if (items.length > 0) return insert(lineEnd(text, keyOf(hooks).range![1]), lines)
    return openPair(text, hooks, lines, eol)
  }
  const items = isSeq(list.value) ? (list.value.items as Node[]) : []
  if (items.length === 0) return openPair(text, list, entryLines(entry, `${columnOf(text, list)}  `), eol)
  const dash = text.lastIndexOf('-', items[0]!.range![0])
  const column = /^\s*/.exec(text.slice(lineStart(text, dash), dash))![0]
  return insert(lineEnd(text, keyOf(list).range![1]), entryLines(entry, column))
}

/** `name: {}` and `name:` become `name:` with these lines below it. */
function openPair(text: string, pair: Pair, lines: string[], eol: string): string {
  const key = keyOf(pair)
  const value = pair.value as Node | null
  const colon = text.indexOf(':', key.range![1]) + 1
  const behind = value?.range === undefined || value.range === null ? colon : Math.max(colon, value.range[1])
  const rest = text.slice(behind)
  const [comment] = /^[ \t]*(#[^\n]*)?(\r?\n|$)/.exec(rest) ?? ['']
  return `${text.slice(0, colon)}${comment.trimEnd()}${eol}${lines.join(eol)}${eol}${rest.slice(comment.length)}`
}

/** For what is written in braces. Comments stay; lines may be laid out anew. */
function addByDocument(text: string, event: string, entry: Entry): string {
  const document = read(text)
  const before: unknown = document.getIn(['hooks', event])
  const items = isSeq(before) ? before.items : []
  if (!isMap(document.get('hooks'))) document.set('hooks', document.createNode({}))
  document.setIn(['hooks', event], document.createNode([entry]))
  const list = document.getIn(['hooks', event])
  if (isSeq(list)) list.items.push(...items)
  return document.toString({ lineWidth: 0 })
}

function removeEntries(text: string, event: string): string {
  const entries = entriesOf(dataOf(text), event)
  if (!entries.some(isOurs)) return text
  const expected = structuredClone(dataOf(text)) as { hooks?: Record<string, unknown[]> }
  expected.hooks![event] = expected.hooks![event]!.filter((one) => !isOurs(one))
  if (expected.hooks![event].length === 0) delete expected.hooks![event]
  if (Object.keys(expected.hooks!).length === 0) delete expected.hooks
  return checked([() => removeLines(text, event), () => removeByDocument(text, event)], expected)
}

function removeLines(text: string, event: string): string {
  const root = read(text).contents as YAMLMap
  const hooks = pairOf(root, 'hooks')!
  const list = pairOf(hooks.value as YAMLMap, event)!
  const items = (list.value as YAMLMap).items as unknown as Node[]
  const ours = items.filter((item) => isOurs((item as YAMLMap).toJSON()))
  const spans = ours.map((item) => {
    const dash = text.lastIndexOf('-', item.range![0])
    return [lineStart(text, dash), lineEnd(text, lastOf(item))] as const
  })
  const lineOf = (pair: Pair) => [lineStart(text, keyOf(pair).range![0]), lineEnd(text, keyOf(pair).range![1])] as const
  const isListEmpty = ours.length === items.length
  const isAllEmpty = isListEmpty && (hooks.value as YAMLMap).items.length === 1
  const gone = [...(isAllEmpty ? [lineOf(hooks)] : []), ...(isListEmpty ? [lineOf(list)] : []), ...spans]
  return gone.reduceRight((left, [from, to]) => left.slice(0, from) + left.slice(to), text)
}

function removeByDocument(text: string, event: string): string {
  const document = read(text)
  const list = document.getIn(['hooks', event])
  if (isSeq(list)) list.items = list.items.filter((item) => !isMap(item) || !isOurs(item.toJSON()))
  if (isSeq(list) && list.items.length === 0) document.deleteIn(['hooks', event])
  const hooks = document.get('hooks')
  if (isMap(hooks) && hooks.items.length === 0) document.delete('hooks')
  return document.toString({ lineWidth: 0 })
}

function entryLines(entry: Entry, indent: string): string[] {
  return Object.entries(entry).map(([name, value], index) => `${indent}${index === 0 ? '- ' : '  '}${name}: ${JSON.stringify(value)}`)
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return (map.items as Pair[]).find(({ key }) => isScalar(key) && key.value === name)
}

const keyOf = (pair: Pair) => pair.key as Node

function isEmpty(value: unknown): boolean {
  if (value === null || (isScalar(value) && value.value === null)) return true
  return isCollection(value) && value.items.length === 0
}

/** Where its last line of content ends. */
function lastOf(node: Node): number {
  if (isAlias(node) || !isCollection(node) || node.items.length === 0) return node.range![1]
  const last = node.items[node.items.length - 1]
  const inner = isMap(node) ? ((last as Pair).value ?? (last as Pair).key) : last
  return lastOf(inner as Node)
}

function columnOf(text: string, pair: Pair): string {
  const at = keyOf(pair).range![0]
  return text.slice(lineStart(text, at), at)
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

function sayUnfit(place: string, kind: string): UnfitText {
  return new UnfitText(`is not as Hermes expects it: ${place} must be ${kind}.`)
}

// -- checking ------------------------------------------------------------------------------------------------------------

function inspect(scope: Scope): Inspection {
  const { machine } = scope
  const file = hermes.settings(scope)
  const notes = ['Hooks are read when Hermes starts.']
  if (!existsSync(file)) return { files: [], hooks: [], problems: [], notes }
  let data: unknown
  try {
    data = dataOf(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof UnfitText ? error.message : `cannot be read: ${(error as Error).message}`
    return { files: [file], hooks: [], problems: [`${file} ${why}`], notes }
  }
  const approved = approvals(machine)
  const accepts = isObject(data) && isTrue(data.hooks_auto_accept)
  const hooks = entriesOf(data, 'pre_tool_call')
    .filter(({ command }) => isHook(command, 'hermes'))
    .map((entry) => readHook(file, entry, machine, accepts || approved.includes(String(entry.command).trim())))
  const problems = isTrue(machine.env.HERMES_SAFE_MODE) ? ['HERMES_SAFE_MODE is set in the environment: no hook runs.'] : []
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
  return value === true || (typeof value === 'string' && ['1', 'true', 'yes', 'on'].includes(value.trim().toLowerCase()))
}

function readHook(file: string, entry: Record<string, unknown>, machine: Machine, isApproved: boolean): Hook {
  const command = String(entry.command)
  const { url, keyFile, seconds } = accessOf(command)
  const problems: string[] = []
  const doesBlock = (entry.fail_closed ?? entry.failClosed) === true
  if (!doesBlock) problems.push('it has no "fail_closed: true": where it dies or is late, the call runs')
  if (typeof entry.matcher === 'string' && !fitsAll(entry.matcher)) {
    problems.push(`its matcher, ${JSON.stringify(entry.matcher)}, leaves out tools; remove it`)
  }
  const timeout = Number(entry.timeout ?? usualSeconds)
  if (timeout > maxSeconds) problems.push(`its timeout is ${timeout} s, and Hermes waits ${maxSeconds} s at most`)
  if ((seconds ?? usualSeconds) > Math.min(timeout, maxSeconds)) {
    problems.push(`it may take ${seconds ?? usualSeconds} s (--timeout), and Hermes waits ${Math.min(timeout, maxSeconds)} s`)
  }
  if (!isApproved) {
    problems.push('Hermes skips it until somebody has said yes to it: start Hermes at a terminal, or with --accept-hooks')
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
  return { file, attempt: { command: wordsOf(command) ?? [command], input, judge: judgeOf(doesBlock) }, url, keyFile, problems }
}

/** Hermes wants the whole name to fit. */
function fitsAll(matcher: string): boolean {
  return ['', '.*', '^.*$', '.+'].includes(matcher.trim())
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
    if (said === '') return { isClosed: false, because: `it said nothing (exit code ${code ?? 'none'}), and Hermes runs the call then` }
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
