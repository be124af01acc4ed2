// Which rule governs an action: the first whose pattern and conditions fit. High-risk actions come out hardened,
// whatever the rule says.
import { defaultTerms, type Terms } from '../core/model.js'
import type { Condition } from './condition.js'
import { compileGlob, isExact } from './glob.js'
import { defaultTimeout, highRiskName, type TimeoutBounds } from './risk.js'

export interface Rate {
  max: number
  windowMs: number
}

export interface Limits {
  /** In seconds. */
  timeout: TimeoutBounds
  rate: Rate
  /** How many of a requester's confirmations may be open; null: any number. */
  maxOpen: number | null
  mergesIdentical: boolean
  /** How long a denial stands against the same digest; 0: not at all. */
  denialHoldsMs: number
}

export interface Governing {
  terms: Terms
  limits: Limits
}

/** One rule of the file, as `readRules` made it. Its name is in its terms. */
export interface Rule {
  /** Patterns for the whole name of an action. */
  actions: string[]
  /** All must hold. */
  when: Condition[]
  terms: Terms
  /** No rate of its own: that of the settings. */
  limits: Omit<Limits, 'rate'> & { rate: Rate | null }
}

export interface Policy {
  /** The first rule that fits this action and these details (JSON text of an object). */
  govern(action: string, details: string): Governing
  /** What this action goes by: every spelling of a high-risk action is that action. */
  nameOf(action: string): string
  /** Whether any rule that might govern this action lets it be whitelisted. */
  mayWhitelist(action: string): boolean
  /** The longest window of any rate limit, in ms. */
  longestWindowMs: number
  /** In order, without the built-in ones. */
  rules: readonly Rule[]
}

/** Where no rule fits a high-risk action. */
export const highRiskTerms: Terms = {
  ...defaultTerms,
  rule: 'high risk',
  risk: 'high',
  mayWhitelist: false,
  needsDigest: true,
}

/** Names of the rules that are built in. */
export const builtInNames: readonly string[] = [defaultTerms.rule, highRiskTerms.rule]

/** Names of actions are an agent's to choose: what is remembered about them has an end. */
const maxRemembered = 1000

interface Known {
  name: string
  candidates: Candidate[]
}

interface Candidate {
  when: Condition[]
  governing: Governing
}

export function createPolicy(rules: Rule[], defaults: { rate: Rate }): Policy {
  const plain: Limits = {
    timeout: defaultTimeout,
    rate: defaults.rate,
    maxOpen: null,
    mergesIdentical: false,
    denialHoldsMs: 0,
  }
  const fallback: Candidate = { when: [], governing: { terms: defaultTerms, limits: plain } }
  const highRiskFallback: Candidate = { when: [], governing: { terms: highRiskTerms, limits: plain } }
  const prepared = rules.map(({ actions, when, terms, limits }) => {
    const full: Limits = { ...limits, rate: limits.rate ?? defaults.rate }
    const candidate = (of: Terms): Candidate => ({ when, governing: { terms: of, limits: full } })
    return { fits: compileActions(actions), ordinary: candidate(terms), hardened: candidate(harden(terms)) }
  })
  const remembered = new Map<string, Known>()

  /** What may govern this action, up to and including the first without conditions. */
  function know(action: string): Known {
    const known = remembered.get(action)
    if (known !== undefined) return known
    const highRisk = highRiskName(action)
    const name = highRisk ?? action
    const candidates: Candidate[] = []
    for (const { fits, ordinary, hardened } of prepared) {
      if (!fits(name)) continue
      candidates.push(highRisk === undefined ? ordinary : hardened)
      if (ordinary.when.length === 0) break
    }
    if (candidates.at(-1)?.when.length !== 0) candidates.push(highRisk === undefined ? fallback : highRiskFallback)
    if (remembered.size >= maxRemembered) remembered.clear()
    const found = { name, candidates }
    remembered.set(action, found)
    return found
  }

  return {
    govern(action, details) {
      const { candidates: all } = know(action)
      if (all[0]!.when.length === 0) return all[0]!.governing
      const value = JSON.parse(details) as unknown
      return all.find(({ when }) => when.every((condition) => condition.holds(value)))!.governing
    },
    nameOf: (action) => know(action).name,
    mayWhitelist: (action) => know(action).candidates.some(({ governing }) => governing.terms.mayWhitelist),
    longestWindowMs: Math.max(defaults.rate.windowMs, ...rules.map(({ limits }) => limits.rate?.windowMs ?? 0)),
    rules,
  }
}

/** The pattern as it is compared: a high-risk action goes by its own name, however it is spelt. */
export function patternName(pattern: string): string {
  return isExact(pattern) ? (highRiskName(pattern) ?? pattern) : pattern
}

/** Whether a rule for these patterns is about this action; every spelling of a high-risk action counts as its own. */
export function fitsAction(actions: string[], action: string): boolean {
  return compileActions(actions)(highRiskName(action) ?? action)
}

function compileActions(actions: string[]): (name: string) => boolean {
  const globs = actions.map((pattern) => compileGlob(patternName(pattern)))
  return (name) => globs.some((fits) => fits(name))
}

/** The same terms, as strict as a high-risk action needs them. */
export function harden(terms: Terms): Terms {
  if (terms.risk === 'high' && !terms.mayWhitelist && !terms.allowsOwn && terms.needsDigest) return terms
  return { ...terms, risk: 'high', mayWhitelist: false, allowsOwn: false, needsDigest: true }
}
