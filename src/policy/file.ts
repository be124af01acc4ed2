// The rules file: from YAML to rules, or to all that is wrong with it. docs/rules.md is its manual.
import type { Telling, Terms, Verdict } from '../core/model.js'
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import { breakerFrom, warnAboutBreaker } from './breaker.js'
import { conflictsIn, peopleAmong, problemWithRuleName, seatsOf, unknownGroups } from './conflicts.js'
import { isExact } from './glob.js'
import { warnAboutOrder } from './order-warnings.js'
import { isRecord } from './parts.js'
import type { Rule } from './policy.js'
import type { SessionRules } from './reset.js'
import { defaultTimeout, isHighRisk, type TimeoutBounds } from './risk.js'
import { maxRuleName, type RuleSettings, rulesFileSchema, ruleSettings, groupSchema, type Setting } from './schema.js'
import { type Finding, findingsIn } from './sentences.js'
import { sessionRulesFrom, sessionsSchema, warnAboutSessions } from './sessions.js'
import { audienceOf, doubtsAbout, type Groups, isNamed } from './telling.js'
import { type Mistake, type Path, readYaml } from './yaml.js'

/** `sessions` is null where the file says nothing about them. */
export type ReadRules =
  { rules: Rule[]; groups: Groups; sessions: SessionRules | null; warnings: string[] } | { mistakes: string[] }

export function readRules(text: string): ReadRules {
  const { data, mistakes, lineOf } = readYaml(text)
  const complain = (path: Path, sentence: string) => mistakes.push({ line: lineOf(path), sentence })
  if (data !== undefined) {
    for (const { path, sentence } of findingsIn(rulesFileSchema, data)) complain(path, sentence)
  }
  // One mistake hides no other: what could be read is looked at together, whatever is wrong with the rest.
  const file = isRecord(data) ? data : {}
  const groups = groupsIn(file.groups)
  const rules = (Array.isArray(file.rules) ? (file.rules as unknown[]) : []).map((written, index) => {
    const rule = isRecord(written) ? written : {}
    const read = settingsIn(rule)
    const isRight = (setting: Setting) => !Object.hasOwn(rule, setting) || read[setting] !== undefined
    for (const { path, sentence } of [...unknownGroups(rule, groups), ...conflictsIn(read, isRight, groups)]) {
      complain(['rules', index, ...path], sentence)
    }
    return { index, read, name: read.name ?? cut(read.action?.join(', ') ?? '', maxRuleName) }
  })
  const taken = new Set<string>()
  for (const { index, name } of rules.filter(({ name }) => name !== '')) {
    const problem = problemWithRuleName(name, taken)
    if (problem !== null) complain(['rules', index, 'name'], problem)
    taken.add(name)
  }
  if (mistakes.length > 0) return { mistakes: [...new Set(inOrder(mistakes))] }
  const made = rules.map(({ read, name }) => ruleFrom(read as RuleSettings, name, groups))
  const sessions = file.sessions === undefined ? null : sessionRulesFrom(sessionsSchema.parse(file.sessions))
  const doubtful: Finding[] = [
    ...warnAboutOrder(made).map(({ rule, sentence }) => ({ path: ['rules', made.indexOf(rule)], sentence })),
    ...rules.flatMap(({ read, index }) => warnAboutBreaker(read.breaker, ['rules', index, 'breaker'])),
    ...rules.flatMap(({ read, index }) => warnAboutTargets(read, groups, ['rules', index])),
    ...made.flatMap(({ terms }, index) => warnAboutFew(terms, ['rules', rules[index]!.index, 'notify'])),
    ...(sessions === null ? [] : warnAboutSessions(sessions, ['sessions'])),
  ]
  const warnings = inOrder(doubtful.map(({ path, sentence }) => ({ line: lineOf(path), sentence })))
  if (made.length === 0 && file.rules !== undefined) {
    warnings.push('there are no rules: every action gets what is built in')
  }
  return { rules: made, groups, sessions, warnings }
}

function inOrder(said: Mistake[]): string[] {
  return said.toSorted((a, b) => a.line - b.line).map(({ line, sentence }) => `line ${line}: ${sentence}`)
}

/** The settings that are right. */
function settingsIn(rule: Record<string, unknown>): Partial<RuleSettings> {
  const settings = Object.entries(ruleSettings).flatMap(([name, schema]) => {
    const value = Object.hasOwn(rule, name) ? schema.safeParse(rule[name]).data : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(settings)
}

function groupsIn(written: unknown): Groups {
  const entries = isRecord(written) ? Object.entries(written) : []
  return new Map(entries.map(([name, members]) => [name, groupSchema.safeParse(members).data ?? null]))
}

const verdictsFor = new Map<RuleSettings['reason_required'], Verdict[]>([
  [true, ['approve', 'deny']],
  ['approve', ['approve']],
  ['deny', ['deny']],
])

/** A rule without a conflict. */
function ruleFrom(settings: RuleSettings, name: string, groups: Groups): Rule {
  const { action, timeout, rate_limit: rate } = settings
  const { count, seats } = seatsOf(settings.approvals, groups)!
  const isAboutHighRisk = action.every((one) => isExact(one) && isHighRisk(one))
  const terms: Terms = {
    rule: name,
    risk: settings.risk ?? (isAboutHighRisk ? 'high' : 'normal'),
    approvals: count,
    seats,
    deciders: settings.deciders === undefined ? null : peopleAmong(settings.deciders, groups),
    mayWhitelist: false,
    reasonFor: verdictsFor.get(settings.reason_required) ?? [],
    mustType: settings.typed_confirmation ?? false,
    allowsOwn: settings.own_requests ?? false,
    needsDigest: false,
    telling: tellingFrom(settings, groups),
  }
  terms.mayWhitelist = settings.whitelist ?? takesPlainYes(terms)
  terms.needsDigest = settings.digest_required ?? terms.risk === 'high'
  return {
    actions: action,
    when: settings.when ?? [],
    passes: settings.pass ?? false,
    terms,
    limits: {
      timeout: boundsAround(typeof timeout === 'number' ? { default: timeout } : (timeout ?? {})),
      rate:
        rate === undefined
          ? null
          : { max: rate.max, windowMs: rate.window_seconds * 1000, isPerRequester: rate.per === 'requester' },
      maxOpen: settings.open_limit ?? null,
      mergesIdentical: settings.merge_identical ?? false,
      denialHoldsMs: (settings.refuse_after_denial ?? 0) * 1000,
      breaker: breakerFrom(settings.breaker),
    },
  }
}

/** Null where the rule says nothing about it. */
function tellingFrom(settings: RuleSettings, groups: Groups): Telling | null {
  const { notify, remind_after: remindAfter = null, escalate_after: after, escalate_to: to } = settings
  const escalation = after === undefined || to === undefined ? null : { after, to: audienceOf(to, groups) }
  if (notify === undefined && remindAfter === null && escalation === null) return null
  return { notify: notify === undefined ? null : audienceOf(notify, groups), remindAfter, escalation }
}

/** Names that are taken for people's, and may be meant otherwise. */
function warnAboutTargets(rule: Partial<RuleSettings>, groups: Groups, place: Path): Finding[] {
  return (['notify', 'escalate_to'] as const).flatMap((setting) =>
    doubtsAbout(rule[setting] ?? [], groups).map(({ target, meant }) => ({
      path: [...place, setting],
      sentence: `\`${setting}\` tells a person called \`${visibleLine(target)}\`; did you mean \`${visibleLine(meant)}\`?`,
    })),
  )
}

/** Of those who are told alone there must be as many as must approve. */
function warnAboutFew({ telling, approvals, deciders }: Terms, path: Path): Finding[] {
  const notify = telling?.notify ?? null
  if (notify === null || !isNamed(notify) || notify.chats.length > 0) return []
  if (notify.deciders && deciders === null) return []
  const told = new Set([...notify.people, ...(notify.deciders ? (deciders ?? []) : [])]).size
  if (told >= approvals) return []
  const sentence = `\`notify\` tells ${told} of the ${approvals} who must approve, so the chats are told as well; name more`
  return [{ path, sentence }]
}

/** Whether one word of any operator is enough; only then a whitelist entry may stand for it unasked. */
function takesPlainYes({ risk, approvals, seats, deciders, mustType, reasonFor }: Terms): boolean {
  const isPlain = risk !== 'high' && !mustType && !reasonFor.includes('approve')
  return isPlain && approvals === 1 && seats.length === 0 && deciders === null
}

/** What is left out is what is built in, moved as far as the rest needs it. */
function boundsAround(given: Partial<TimeoutBounds>): TimeoutBounds {
  const { default: usual, min: least, max: most } = defaultTimeout
  const min = given.min ?? Math.min(least, given.default ?? least, given.max ?? least)
  const max = given.max ?? Math.max(most, given.default ?? most, min)
  return { default: given.default ?? Math.min(max, Math.max(min, usual)), min, max }
}
