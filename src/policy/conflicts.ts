// Settings of a rule that are right one by one and wrong together, or with the groups of the file.
import type { Seat } from '../core/model.js'
import { emptySeats } from '../core/seats.js'
import { visibleLine } from '../core/visible.js'
import { isExact } from './glob.js'
import { isPlain } from './name.js'
import { suggest } from './parts.js'
import { builtInNames } from './policy.js'
import { isHighRisk } from './risk.js'
import { problemWithNames, type RuleSettings, type Setting } from './schema.js'
import { audienceOf, groupIn, type Groups, isNamed } from './telling.js'
import type { Path } from './yaml.js'

export interface Conflict {
  /** Within the rule. */
  path: Path
  sentence: string
}

/** People, with the members of groups in the place of `group:NAME`; null where one of these is not known. */
export function peopleAmong(deciders: string[], groups: Groups): string[] | null {
  const people = deciders.map((one) => {
    const group = groupIn(one)
    return group === null ? [one] : (groups.get(group) ?? null)
  })
  return people.includes(null) ? null : [...new Set((people as string[][]).flat())]
}

/** How many must approve, from which groups; null where a group is not known. */
export function seatsOf(approvals: RuleSettings['approvals'], groups: Groups): { count: number; seats: Seat[] } | null {
  if (approvals === undefined || typeof approvals === 'number') return { count: approvals ?? 1, seats: [] }
  const seats = [...approvals].map(([group, count]) => ({ group, count, members: groups.get(group) ?? null }))
  if (seats.some(({ members }) => members === null)) return null
  return { count: seats.reduce((sum, { count }) => sum + count, 0), seats: seats as Seat[] }
}

/** Groups that a rule names and the file does not have. The rule is as written: what else is wrong with it hides none. */
export function unknownGroups(rule: Record<string, unknown>, groups: Groups): Conflict[] {
  const { approvals } = rule
  const named: { path: Path; name: string }[] = []
  if (typeof approvals === 'object' && approvals !== null && !Array.isArray(approvals)) {
    named.push(...Object.keys(approvals).map((name) => ({ path: ['approvals', name], name })))
  }
  for (const setting of ['deciders', 'notify', 'escalate_to']) {
    const written = rule[setting]
    for (const [index, one] of (Array.isArray(written) ? (written as unknown[]) : [written]).entries()) {
      const name = typeof one === 'string' ? groupIn(one) : null
      if (name !== null) named.push({ path: [setting, index], name })
    }
  }
  const known = [...groups.keys()]
  return named
    .filter(({ name }) => !groups.has(name))
    .map(({ path, name }) => {
      const hint = known.length === 0 ? '; name it under `groups`' : suggest(name, known)
      return { path, sentence: `there is no group \`${visibleLine(name)}\`${hint}` }
    })
}

/** What a rule that passes may say: which requests those are, and what of them is on record or needed to claim one. */
const besidePass: ReadonlySet<Setting> = new Set(['name', 'action', 'when', 'pass', 'risk', 'digest_required'])

/** `isRight` says of a setting whether it was left out or could be read. */
export function conflictsIn(
  rule: Partial<RuleSettings>,
  isRight: (setting: Setting) => boolean,
  groups: Groups,
): Conflict[] {
  const conflicts: Conflict[] = []
  const say = (setting: Setting, sentence: string) => conflicts.push({ path: [setting], sentence })
  const { action, risk, whitelist, own_requests, digest_required, pass } = rule
  const approvals = isRight('approvals') ? seatsOf(rule.approvals, groups) : null
  const deciders = rule.deciders === undefined ? null : peopleAmong(rule.deciders, groups)

  if (pass === true) {
    if (risk === 'high') say('pass', '`risk: high` always needs a person; remove `pass`, or lower the risk')
    for (const setting of Object.keys(rule) as Setting[]) {
      if (besidePass.has(setting)) continue
      say(setting, `\`pass: true\` asks nobody, so \`${setting}\` has nothing to say; remove one of them`)
    }
  }
  if (whitelist === true) {
    if (risk === 'high') say('whitelist', '`risk: high` is never whitelisted; remove `whitelist`, or lower the risk')
    else if (rule.approvals instanceof Map || (approvals !== null && approvals.count > 1)) {
      const why = 'one whitelist entry cannot stand for these approvals'
      say('whitelist', `${why}; remove \`whitelist\`, or ask for one approval by anybody`)
    }
  }
  if (risk === 'high' && digest_required === false) {
    const why = '`risk: high` is never claimed without a digest'
    say('digest_required', `${why}; remove \`digest_required\`, or lower the risk`)
  }
  const highRisk = action?.find((one) => isExact(one) && isHighRisk(one))
  if (highRisk !== undefined) {
    const why = isPlain(highRisk) ? 'is a high-risk action' : 'is no plain name, so it counts as high-risk'
    const never = (setting: Setting, what: string) =>
      say(setting, `\`${highRisk}\` ${why} and ${what}; remove \`${setting}\``)
    if (pass === true) never('pass', 'always needs a person')
    if (whitelist === true) never('whitelist', 'can never be whitelisted')
    if (risk === 'low' || risk === 'normal') never('risk', 'stays one')
    if (own_requests === true) never('own_requests', 'is never decided by its requester')
    if (digest_required === false) never('digest_required', 'is never claimed without a digest')
  }
  const alike = deciders === null ? null : problemWithNames(deciders)
  if (alike !== null) say('deciders', alike)
  else if (approvals !== null && isRight('deciders') && (deciders !== null || rule.deciders === undefined)) {
    const problem = problemWithApprovals(approvals, deciders)
    if (problem !== null) say('approvals', problem)
  }
  for (const setting of ['notify', 'escalate_to'] as const) {
    const targets = rule[setting]
    if (targets === undefined) continue
    if (targets.includes('deciders') && rule.deciders === undefined && !(rule.approvals instanceof Map)) {
      const why = '`deciders` are those whom the rule names, and it names none'
      say(setting, `${why}; add \`deciders\`, or say who else is told`)
    }
    const audience = audienceOf(targets, groups)
    const same = isNamed(audience) ? problemWithNames(audience.people) : null
    if (same !== null) say(setting, same)
  }
  if (rule.escalate_after !== undefined && rule.escalate_to === undefined && isRight('escalate_to')) {
    say('escalate_after', '`escalate_after` says when, and nothing says who is told then; add `escalate_to`')
  }
  if (rule.escalate_to !== undefined && rule.escalate_after === undefined && isRight('escalate_after')) {
    say('escalate_to', '`escalate_to` says who is told, and nothing says when; add `escalate_after`')
  }
  return conflicts
}

/** Why the approvals that a rule asks for can never be given, if so. */
function problemWithApprovals(
  { count, seats }: { count: number; seats: Seat[] },
  deciders: string[] | null,
): string | null {
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

/** Why no rule may have this name, beside those that have theirs already; null if one may. */
export function problemWithRuleName(name: string, taken: ReadonlySet<string>): string | null {
  const own = 'give this one a `name` of its own'
  if (builtInNames.includes(name)) return `"${name}" is the name of a built-in rule; ${own}`
  return taken.has(name) ? `there is another rule with the name "${name}"; ${own}` : null
}
