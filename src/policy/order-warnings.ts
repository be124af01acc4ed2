// What the order of the rules lets through: rules that never get their turn, and strict ones that an agent can dodge.
import { defaultTerms, risks, type Terms } from '../core/model.js'
import { covers, isExact, overlaps } from './glob.js'
import { isHighRisk } from './risk.js'
import { comparedName, type Governing, highRiskTerms, type Rule } from './policy.js'

export interface OrderWarning {
  rule: Rule
  sentence: string
}

/** A rule, and its patterns as they are compared. */
interface Placed {
  rule: Rule
  patterns: string[]
}

export function warnAboutOrder(rules: Rule[]): OrderWarning[] {
  const warnings: OrderWarning[] = []
  const placed = rules.map((rule) => ({ rule, patterns: rule.actions.map(comparedName) }))
  for (const [index, one] of placed.entries()) {
    const { rule, patterns } = one
    const { rule: name } = rule.terms
    const earlier = placed.slice(0, index).filter(({ rule: { when } }) => when.length === 0)
    const taken = patterns.map((_, at) => earlier.find((other) => isTaken(one, at, other)))
    if (taken.every((by) => by !== undefined)) {
      const names = [...new Set(taken.map((by) => `"${by.rule.terms.rule}"`))].join(' and ')
      const apart = taken.some((by) => by.rule.passes && !rule.passes)
        ? ' (but high-risk ones and other spellings)'
        : ''
      const sentence = `rule "${name}" can never apply: every action it is for${apart} goes to ${names} before it. Move it up`
      warnings.push({ rule, sentence })
      continue
    }
    if (rule.when.length === 0) continue
    const next = successors(one, placed.slice(index + 1))
    const dodge = next.flatMap((other) => stricterIn(rule, other).map((how) => ({ how, terms: other.terms })))[0]
    if (dodge !== undefined) {
      const paths = rule.when.map(({ path }) => path).join(' or ')
      const sentence =
        `rule "${name}" is stricter than ${nameOf(dodge.terms)} after it (${dodge.how}), but only while its ` +
        `conditions hold: an agent can dodge it by leaving out ${paths}. Put conditions on the laxer rule, and let ` +
        'the strict one follow without any'
      warnings.push({ rule, sentence })
    }
    if (!next.some((other) => stricterIn(other, rule).length > 0)) continue
    for (const { path, steps, every, comparisons } of rule.when) {
      const isAbsent = comparisons.some(({ operator, value }) => operator === 'exists' && value === false)
      if (isAbsent) {
        const sentence =
          `rule "${name}" is laxer than what follows, and holds where ${path} is not there: an agent can ` +
          'leave it out. Let the laxer rule ask for a value instead'
        warnings.push({ rule, sentence })
      } else if (steps.includes(null) && !every) {
        const sentence =
          `rule "${name}" is laxer than what follows, and one of ${path} is enough for it: an agent can add ` +
          'one that fits. Say every: true beside the comparison'
        warnings.push({ rule, sentence })
      }
    }
  }
  return warnings
}

type Asks = Pick<Governing, 'terms' | 'passes'>

/** What may apply where the conditions of this rule do not hold. */
function successors(one: Placed, later: Placed[]): Asks[] {
  const { rule, patterns } = one
  const found: Asks[] = []
  for (const other of later) {
    if (!patterns.some((pattern) => other.patterns.some((its) => overlaps(pattern, its)))) continue
    found.push(other.rule)
    if (other.rule.when.length === 0 && patterns.every((_, at) => isTaken(one, at, other))) return found
  }
  const isAboutHighRisk = rule.actions.every((action) => isExact(action) && isHighRisk(action))
  return [...found, { terms: isAboutHighRisk ? highRiskTerms : defaultTerms, passes: false }]
}

/** Whether all that this pattern is for, as it is written, goes to the other rule if that is asked first. */
function isTaken({ rule, patterns }: Placed, at: number, other: Placed): boolean {
  if (!other.rule.passes) return isCovered(patterns[at]!, other.patterns)
  const written = rule.actions[at]!
  return !(isExact(written) && isHighRisk(written)) && isCovered(written, other.rule.actions)
}

function isCovered(pattern: string, by: string[]): boolean {
  return by.some((wide) => covers(wide, pattern))
}

function nameOf({ rule }: Terms): string {
  return rule === defaultTerms.rule || rule === highRiskTerms.rule ? 'what is built in' : `rule "${rule}"`
}

/** In what one asks for more than the other. */
function stricterIn(one: Asks, other: Asks): string[] {
  if (one.passes !== other.passes) return other.passes ? ['pass'] : []
  const [a, b] = [one.terms, other.terms]
  const ways: [boolean, string][] = [
    [a.approvals > b.approvals, 'approvals'],
    [a.seats.length > 0 && b.seats.length === 0, 'approvals from groups'],
    [a.deciders !== null && (b.deciders === null || isPartOf(a.deciders, b.deciders)), 'deciders'],
    [!a.mayWhitelist && b.mayWhitelist, 'whitelist'],
    [a.mustType && !b.mustType, 'typed_confirmation'],
    [a.reasonFor.some((verdict) => !b.reasonFor.includes(verdict)), 'reason_required'],
    [!a.allowsOwn && b.allowsOwn, 'own_requests'],
    [risks.indexOf(a.risk) > risks.indexOf(b.risk), 'risk'],
    [a.needsDigest && !b.needsDigest, 'digest_required'],
  ]
  return ways.flatMap(([isStricter, way]) => (isStricter ? [way] : []))
}

function isPartOf(some: string[], all: string[]): boolean {
  return some.length < all.length && some.every((one) => all.includes(one))
}
