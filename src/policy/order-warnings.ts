// What the order of the rules lets through: rules that never get their turn, and strict ones that an agent can dodge.
import { defaultTerms, risks, type Terms } from '../core/model.js'
import { covers, isExact, overlaps } from './glob.js'
import { isHighRisk } from './risk.js'
import { comparedName, highRiskTerms, type Rule } from './policy.js'

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
    const taken = patterns.map((pattern) => earlier.find((other) => isCovered(pattern, other.patterns)))
    if (taken.every((by) => by !== undefined)) {
      const names = [...new Set(taken.map((by) => `"${by.rule.terms.rule}"`))].join(' and ')
      const sentence = `rule "${name}" can never apply: every action it is for goes to ${names} before it. Move it up`
      warnings.push({ rule, sentence })
      continue
    }
    if (rule.when.length === 0) continue
    const next = successors(one, placed.slice(index + 1))
    const dodge = next.flatMap((terms) => stricterIn(rule.terms, terms).map((how) => ({ how, terms })))[0]
    if (dodge !== undefined) {
      const paths = rule.when.map(({ path }) => path).join(' or ')
      const sentence =
        `rule "${name}" is stricter than ${nameOf(dodge.terms)} after it (${dodge.how}), but only while its ` +
        `conditions hold: an agent can dodge it by leaving out ${paths}. Put conditions on the laxer rule, and let ` +
        'the strict one follow without any'
      warnings.push({ rule, sentence })
    }
    if (!next.some((terms) => stricterIn(terms, rule.terms).length > 0)) continue
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

/** What may apply where the conditions of this rule do not hold. */
function successors({ rule, patterns }: Placed, later: Placed[]): Terms[] {
  const found: Terms[] = []
  for (const { rule: next, patterns: others } of later) {
    if (!patterns.some((pattern) => others.some((other) => overlaps(pattern, other)))) continue
    found.push(next.terms)
    if (next.when.length === 0 && patterns.every((pattern) => isCovered(pattern, others))) return found
  }
  return [...found, rule.actions.every((one) => isExact(one) && isHighRisk(one)) ? highRiskTerms : defaultTerms]
}

function isCovered(pattern: string, by: string[]): boolean {
  return by.some((wide) => covers(wide, pattern))
}

function nameOf({ rule }: Terms): string {
  return rule === defaultTerms.rule || rule === highRiskTerms.rule ? 'what is built in' : `rule "${rule}"`
}

/** In what `a` asks for more than `b`. */
function stricterIn(a: Terms, b: Terms): string[] {
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
