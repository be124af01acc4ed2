// The rules file: from YAML to rules, or to all that is wrong with it. docs/rules.md is its manual.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { type Risk, risks, type Seat, type Terms, type Verdict } from '../core/model.js'
import { cut } from '../core/cut.js'
import { isPlainLine } from '../core/pieces.js'
import { skeleton } from '../core/skeleton.js'
import { visibleLine } from '../core/visible.js'
import { isExact } from './glob.js'
import {
  allEntries,
  type Complain,
  entriesOf,
  type Entry,
  isBlank,
  quoteStars,
  type Read,
  readChoice,
  readNames,
  readParts,
  readText,
  readTruth,
  readWhole,
  suggest,
  wholeOf,
} from './nodes.js'
import { warnAboutOrder } from './order.js'
import { isPlain, plainWords } from './name.js'
import { defaultTimeout, isHighRisk, type TimeoutBounds } from './risk.js'
import { builtInNames, comparedName, type Rate, type Rule } from './rules.js'
import { readWhen } from './when.js'
import { emptySeats } from '../core/seats.js'

export type ReadRules = { rules: Rule[]; warnings: string[] } | { mistakes: string[] }

/** Every setting of a rule, in the order of the manual. */
export const ruleSettings = [
  'name',
  'action',
  'when',
  'risk',
  'approvals',
  'deciders',
  'timeout',
  'whitelist',
  'rate_limit',
  'reason_required',
  'typed_confirmation',
  'digest_required',
  'own_requests',
  'open_limit',
  'merge_identical',
  'refuse_after_denial',
] as const
type Setting = (typeof ruleSettings)[number]

const maxApprovals = 10
const maxTimeout = 604_800
const maxSeconds = 31_536_000
/** A rule's name stands in every record that it governs. */
const maxRuleName = 200
/** Each is compared with each, once, when the file is read. */
const maxRules = 1000

export function readRules(text: string): ReadRules {
  const lines = new LineCounter()
  const mistakes: { line: number; sentence: string }[] = []
  const lineOf = (node: Node | null) => lines.linePos(node?.range?.[0] ?? 0).line || 1
  const complain: Complain = (node, sentence) => mistakes.push({ line: lineOf(node), sentence })

  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const errors = [...document.errors, ...document.warnings]
  for (const { code, message, pos } of errors) {
    mistakes.push({ line: lines.linePos(pos[0]).line || 1, sentence: sayYaml(code, message) })
  }
  const lineOfRule = new Map<Rule, number>()
  // These leave the rest readable; after any other error, what follows would be guesswork.
  if (errors.every(({ code }) => code === 'DUPLICATE_KEY' || code === 'BAD_ALIAS')) {
    readFile(document.contents, complain, (rule, node) => lineOfRule.set(rule, lineOf(node)))
  }
  if (mistakes.length > 0) {
    const inOrder = mistakes.toSorted((a, b) => a.line - b.line)
    return { mistakes: [...new Set(inOrder.map(({ line, sentence }) => `line ${line}: ${sentence}`))] }
  }
  const rules = [...lineOfRule.keys()]
  const warnings = warnAboutOrder(rules).map(({ rule, sentence }) => `line ${lineOfRule.get(rule)!}: ${sentence}`)
  if (rules.length === 0) warnings.push('there are no rules: every action gets what is built in')
  return { rules, warnings }
}

/** Members by name; null where they could not be read, and nothing more is said about them. */
type Groups = ReadonlyMap<string, string[] | null>

function sayYaml(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key stands twice in the same place; remove one'
  if (code === 'TAB_AS_INDENT') return 'there is a tab; indent with spaces'
  if (code === 'BAD_ALIAS') return quoteStars
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here; keep all rules in one, without ---'
  return `this is not YAML: ${message.split('\n')[0]!.replace(/\.$/, '')}`
}

function readFile(contents: Node | null, complain: Complain, add: (rule: Rule, node: Node) => void): void {
  const shape = 'the file must hold `rules:` and below it a list of rules, each beginning with `- action: ...`'
  if (contents === null || isBlank(contents)) return complain(contents, `the file is empty; ${shape}`)
  if (!isMap(contents)) return complain(contents, shape)
  const top = entriesOf(contents, ['groups', 'rules'], complain, 'part of the file')
  const groups = readGroups(top.get('groups'), complain)
  const list = top.get('rules')
  if (list === undefined) return complain(contents, `there are no \`rules\`; ${shape}`)
  if (!isSeq<Node>(list.value))
    return complain(list.key, '`rules` must be a list, each rule beginning with `- action: ...`')
  if (list.value.items.length > maxRules) complain(list.key, `there are more than ${maxRules} rules`)
  const names = new Set<string>()
  for (const item of list.value.items) {
    const rule = readRule(item, groups, names, complain)
    if (rule !== undefined) add(rule, item)
  }
}

function readGroups(entry: Entry | undefined, complain: Complain): Groups {
  const groups = new Map<string, string[] | null>()
  if (entry === undefined) return groups
  if (!isMap(entry.value)) {
    complain(entry.key, '`groups` must have one line for each group, such as `security: [alice, bob]`')
    return groups
  }
  for (const { name, key, value } of allEntries(entry.value, complain)) {
    if (name.trim() === '' || name !== name.trim() || !isPlainLine(name))
      complain(key, 'a group needs a name that can be read')
    const people = readNames(value, key, `group \`${name}\``, complain)
    const twice = secondOf(people ?? [])?.second
    if (twice !== undefined) complain(value, `${twice} stands twice in group \`${name}\`; remove one`)
    const flaw = twice === undefined ? flawOfNames(people ?? []) : null
    if (flaw !== null) complain(value, flaw)
    const nested = people?.find((person) => person.startsWith('group:'))
    if (nested !== undefined) complain(value, `a group cannot hold ${nested}; name its people`)
    groups.set(name, people ?? null)
  }
  return groups
}

function readRule(node: Node, groups: Groups, names: Set<string>, complain: Complain): Rule | undefined {
  if (!isMap(node)) return void complain(node, 'a rule must be made of settings, beginning with `- action: ...`')
  const found = entriesOf(node, ruleSettings, complain, 'setting')
  const read = <T>(setting: Setting, reader: (value: Node, entry: Entry) => Read<T>): Read<T> => {
    const entry = found.get(setting)
    if (entry === undefined) return undefined
    if (isAlias(entry.value)) return void complain(entry.value, quoteStars)
    if (entry.value === null || isBlank(entry.value)) {
      return void complain(entry.key, `\`${setting}\` has no value; give it one, or remove the line`)
    }
    return reader(entry.value, entry)
  }
  const at = (setting: Setting) => found.get(setting)?.key ?? node
  const truth = (setting: Setting) => read(setting, (value) => readTruth(value, setting, complain))
  const whole = (setting: Setting, max: number) => read(setting, (value) => readWhole(value, setting, 1, max, complain))

  const actions = read('action', (value, { key }) => readPatterns(value, key, complain))
  if (!found.has('action')) complain(node, 'this rule has no `action`; say which actions it is for')
  const given = read('name', (value) => readName(value, complain))
  const name = given ?? cut(actions?.join(', ') ?? '', maxRuleName)
  if (names.has(name) && name !== '') {
    complain(at('name'), `there is another rule with the name "${name}"; give this one a \`name\` of its own`)
  }
  if (builtInNames.includes(name)) {
    complain(at('name'), `"${name}" is the name of a built-in rule; give this one a \`name\` of its own`)
  }
  names.add(name)

  const when = read('when', (value, { key }) => readWhen(value, key, complain)) ?? []
  const risk = read('risk', (value) => readChoice<Risk>(value, 'risk', risks, complain))
  const approvals = read('approvals', (value) => readApprovals(value, groups, complain))
  const deciders = read('deciders', (value, { key }) => readDeciders(value, key, groups, complain))
  const whitelist = truth('whitelist')
  const ownRequests = truth('own_requests')
  const reasonFor = read('reason_required', (value) => readReasons(value, complain)) ?? []
  const mustType = truth('typed_confirmation') ?? false
  const digestRequired = truth('digest_required')

  if (whitelist === true) {
    const flaw = flawOfWhitelist(risk, approvals)
    if (flaw !== null) complain(at('whitelist'), flaw)
  }
  if (risk === 'high' && digestRequired === false) {
    complain(
      at('digest_required'),
      '`risk: high` is never claimed without a digest; remove `digest_required`, or lower the risk',
    )
  }
  const highRisk = actions?.find((one) => isExact(one) && isHighRisk(one))
  if (highRisk !== undefined) {
    const why = isPlain(highRisk) ? 'is a high-risk action' : 'is no plain name, so it counts as high-risk'
    const never = (setting: Setting, what: string) =>
      complain(at(setting), `\`${highRisk}\` ${why} and ${what}; remove \`${setting}\``)
    if (whitelist === true) never('whitelist', 'can never be whitelisted')
    if (risk === 'low' || risk === 'normal') never('risk', 'stays one')
    if (ownRequests === true) never('own_requests', 'is never decided by whoever submitted it')
    if (digestRequired === false) never('digest_required', 'is never claimed without a digest')
  }
  if (approvals !== undefined && (deciders !== undefined || !found.has('deciders'))) {
    const flaw = flawOfApprovals(approvals, deciders ?? null)
    if (flaw !== null) complain(at('approvals'), flaw)
  }
  const timeout = read('timeout', (value) => readTimeout(value, complain)) ?? defaultTimeout
  const rate = read('rate_limit', (value, { key }) => readRate(value, key, complain)) ?? null
  const maxOpen = whole('open_limit', 1_000_000) ?? null
  const mergesIdentical = truth('merge_identical') ?? false
  const denialHoldsMs = (whole('refuse_after_denial', maxSeconds) ?? 0) * 1000

  if (actions === undefined) return undefined
  const isAboutHighRisk = actions.every((one) => isExact(one) && isHighRisk(one))
  const terms: Terms = {
    rule: name,
    risk: risk ?? (isAboutHighRisk ? 'high' : 'normal'),
    approvals: approvals?.count ?? 1,
    seats: approvals?.seats ?? [],
    deciders: deciders ?? null,
    mayWhitelist: false,
    reasonFor,
    mustType,
    allowsOwn: ownRequests ?? false,
    needsDigest: false,
  }
  terms.mayWhitelist = whitelist ?? takesPlainYes(terms)
  terms.needsDigest = digestRequired ?? terms.risk === 'high'
  return { actions, when, terms, limits: { timeout, rate, maxOpen, mergesIdentical, denialHoldsMs } }
}

// -- the settings of a rule

function readName(node: Node, complain: Complain): Read<string> {
  const name = readText(node, '`name`', complain)
  if (name === undefined || name.length <= maxRuleName) return name
  return void complain(node, `\`name\` must have at most ${maxRuleName} characters`)
}

function readPatterns(node: Node, key: Node, complain: Complain): Read<string[]> {
  const patterns = readNames(node, key, '`action`', complain)
  const odd = patterns?.find((one) => !isExact(one) && !isPlain(one.replace(/[*?]/g, '')))
  if (odd !== undefined) {
    const sentence = `a pattern with * or ? is for names of ${plainWords}; spell out each name that \`${odd}\` is for`
    return void complain(node, sentence)
  }
  const twice = secondOf(patterns ?? [], comparedName)
  if (twice === undefined) return patterns
  const { first, second } = twice
  const what = first === second ? 'stands twice' : `is the same as \`${first}\``
  return void complain(node, `\`${second}\` ${what} in \`action\`; remove one`)
}

/** The first that is the same as one before it, with that one. */
function secondOf(names: string[], compared = (name: string) => name): { first: string; second: string } | undefined {
  const known = new Map<string, string>()
  for (const second of names) {
    const first = known.get(compared(second))
    if (first !== undefined) return { first, second }
    known.set(compared(second), second)
  }
  return undefined
}

interface Approvals {
  count: number
  seats: Seat[]
}

function readApprovals(node: Node, groups: Groups, complain: Complain): Read<Approvals> {
  const hint = `such as \`approvals: 2\`, or how many from each group, such as \`approvals: { security: 1, ops: 1 }\``
  if (!isMap(node)) {
    const count = wholeOf(node, 1, maxApprovals)
    if (count !== undefined) return { count, seats: [] }
    return void complain(node, `\`approvals\` must be a whole number from 1 to ${maxApprovals}, ${hint}`)
  }
  const seats: Seat[] = []
  let isWhole = true
  for (const { name, key, value } of allEntries(node, complain)) {
    const members = groups.get(name)
    const count = wholeOf(value, 1, maxApprovals)
    isWhole &&= Array.isArray(members) && count !== undefined
    if (members === undefined) complain(key, unknownGroup(name, groups))
    if (count === undefined) complain(value ?? key, `\`${name}\` must be a whole number from 1 to ${maxApprovals}`)
    if (Array.isArray(members) && count !== undefined) seats.push({ group: name, count, members })
  }
  if (!isWhole) return undefined
  const count = seats.reduce((sum, seat) => sum + seat.count, 0)
  if (count >= 1 && count <= maxApprovals) return { count, seats }
  return void complain(node, `\`approvals\` must be 1 to ${maxApprovals} together, ${hint}`)
}

function readDeciders(node: Node, key: Node, groups: Groups, complain: Complain): Read<string[]> {
  const names = readNames(node, key, '`deciders`', complain)
  const people = new Set<string>()
  let isWhole = names !== undefined
  for (const item of isSeq<Node>(node) ? node.items : [node]) {
    const name = isScalar(item) ? item.value : null
    if (typeof name !== 'string') continue
    if (!name.startsWith('group:')) {
      people.add(name)
      continue
    }
    const group = name.slice('group:'.length)
    const members = groups.get(group)
    if (members === undefined) complain(item, unknownGroup(group, groups))
    isWhole &&= Array.isArray(members)
    for (const person of members ?? []) people.add(person)
  }
  if (!isWhole) return undefined
  const flaw = flawOfNames([...people])
  return flaw === null ? [...people] : void complain(node, flaw)
}

/** Two names for one: nobody can have the second, so whoever counts on both waits for ever. */
function flawOfNames(names: string[]): string | null {
  const alike = secondOf(names, skeleton)
  if (alike === undefined) return null
  const { first, second } = alike
  return `${visibleLine(second)} looks like ${visibleLine(first)}, and only one of them can exist; remove one`
}

/** Why the approvals that a rule asks for can never be given, if so. */
function flawOfApprovals({ count, seats }: Approvals, deciders: string[] | null): string | null {
  if (deciders !== null && deciders.length < count) {
    return (
      `${count} different people must approve, but \`deciders\` names ${deciders.length}; name more, or ask for ` +
      'fewer approvals'
    )
  }
  const empty = emptySeats(seats, (person) => deciders === null || deciders.includes(person))
  if (empty.length === 0) return null
  return (
    `these ${count} approvals can never be given: there are too few people in ${[...new Set(empty)].join(' and ')}` +
    `${deciders === null ? '' : ' who may decide'}, and each counts once; name more, or ask for fewer approvals`
  )
}

function flawOfWhitelist(risk: Risk | undefined, approvals: Approvals | undefined): string | null {
  if (risk === 'high') return '`risk: high` is never whitelisted; remove `whitelist`, or lower the risk'
  if (approvals === undefined || (approvals.count === 1 && approvals.seats.length === 0)) return null
  return 'one whitelist entry cannot stand for these approvals; remove `whitelist`, or ask for one approval by anybody'
}

/** Whether one word of any operator is enough; only then a whitelist entry may stand for it unasked. */
function takesPlainYes({ risk, approvals, seats, deciders, mustType, reasonFor }: Terms): boolean {
  const isPlain = risk !== 'high' && !mustType && !reasonFor.includes('approve')
  return isPlain && approvals === 1 && seats.length === 0 && deciders === null
}

function readTimeout(node: Node, complain: Complain): Read<TimeoutBounds> {
  if (!isMap(node)) {
    const seconds = readWhole(node, 'timeout', 1, maxTimeout, complain)
    return seconds === undefined ? undefined : boundsAround({ default: seconds })
  }
  const parts = readParts(node, ['default', 'min', 'max'] as const, 'timeout', maxTimeout, complain)
  const { min, max } = parts
  const bounds = boundsAround(parts)
  if (min !== undefined && max !== undefined && min > max) return void complain(node, '`min` must not be above `max`')
  if (bounds.default < bounds.min || bounds.default > bounds.max) {
    return void complain(node, '`default` must not be below `min` or above `max`')
  }
  return bounds
}

/** What is left out is what is built in, moved as far as the rest needs it. */
function boundsAround(given: Partial<TimeoutBounds>): TimeoutBounds {
  const { default: usual, min: least, max: most } = defaultTimeout
  const min = given.min ?? Math.min(least, given.default ?? least, given.max ?? least)
  const max = given.max ?? Math.max(most, given.default ?? most, min)
  return { default: given.default ?? Math.min(max, Math.max(min, usual)), min, max }
}

function readRate(node: Node, key: Node, complain: Complain): Read<Rate> {
  const hint = '`rate_limit` needs both, such as `{ max: 5, window_seconds: 3600 }`'
  if (!isMap(node)) return void complain(node, hint)
  const most = { max: 1_000_000_000, window_seconds: maxSeconds }
  const parts = readParts(node, ['max', 'window_seconds'] as const, 'rate_limit', most, complain)
  if (!node.has('max') || !node.has('window_seconds')) return void complain(key, hint)
  if (parts.max === undefined || parts.window_seconds === undefined) return undefined
  return { max: parts.max, windowMs: parts.window_seconds * 1000 }
}

function readReasons(node: Node, complain: Complain): Read<Verdict[]> {
  const meanings = new Map<unknown, Verdict[]>([
    [true, ['approve', 'deny']],
    ['approve', ['approve']],
    ['deny', ['deny']],
    [false, []],
  ])
  const reasons = isScalar(node) ? meanings.get(node.value) : undefined
  return reasons ?? void complain(node, '`reason_required` must be true, false, approve or deny')
}

function unknownGroup(name: string, groups: Groups): string {
  const all = [...groups.keys()]
  const hint = all.length === 0 ? '; name it under `groups`' : suggest(name, all)
  return `there is no group \`${visibleLine(name)}\`${hint}`
}
