// Which rule governs an action: the first whose pattern and conditions fit. High-risk actions come out hardened,
// whatever the rule says.
import { defaultTerms, type Terms } from '../core/model.js'
import type { Condition } from './condition.js'
import { compileGlob, isExact } from './glob.js'
import { fold, isPlain, trimEnd } from './name.js'
import { createResetRules, defaultResetRule, type FindResetRule, type SessionRules } from './reset.js'
import { defaultTimeout, highRiskName, isHighRisk, type TimeoutBounds } from './risk.js'

export interface Rate {
  max: number
  windowMs: number
  /** Whether every requester has a window of their own, or all have one together. In open mode all are one requester. */
  isPerRequester: boolean
}

/** What comes of denials and expiries in a row in one session; 0: never. */
export interface Breaker {
  /** The next answer and notification carry a warning. */
  warnAt: number
  /** The session's grants are revoked, and it must wait. */
  waitAt: number
  /** The session is suspended until an operator lifts that. */
  suspendAt: number
  waitMs: number
  /** So many requests in a row for one action with other details carry a warning. */
  fixationAt: number
}

export const defaultBreaker: Breaker = { warnAt: 3, waitAt: 6, suspendAt: 9, waitMs: 600_000, fixationAt: 5 }

export interface Limits {
  /** In seconds. */
  timeout: TimeoutBounds
  rate: Rate
  /** How many of a requester's confirmations may be pending; null: the rule does not say. */
  maxOpen: number | null
  mergesIdentical: boolean
  /** How long a denial stands against the same digest; 0: not at all. */
  denialHoldsMs: number
  breaker: Breaker
}

export interface Governing {
  terms: Terms
  limits: Limits
  /** Nobody is asked. */
  passes: boolean
}

/** One rule of the file, as `readRules` made it. Its name is in its terms. */
export interface Rule {
  /** Patterns for the whole name of an action. */
  actions: string[]
  /** All must hold. */
  when: Condition[]
  /** Whatever it is for is approved at once. */
  passes: boolean
  terms: Terms
  /** No rate of its own: that of the settings. */
  limits: Omit<Limits, 'rate'> & { rate: Rate | null }
}

export interface Policy {
  /** The first rule that fits this action and these details (JSON text of an object). */
  govern(action: string, details: string): Governing
  /** There are rules, and this name is neither plain nor spelt out by one of them. */
  isUnclear(action: string): boolean
  /** The name as it is compared: every spelling has the same one. */
  compared(action: string): string
  /** Whose rate window this action uses: every spelling has the same one, and all unclear names have one together. */
  windowOf(action: string): string
  /** Whether any rule that might govern this action lets it be whitelisted. */
  mayWhitelist(action: string): boolean
  /** When sessions of this platform and chat type are reset; the same object each time. */
  resetRuleFor: FindResetRule
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

/** What applies where the file does not say. */
export interface PolicyDefaults {
  rate: Rate
  /** The machine's; left out, UTC. */
  timeZone?: string
}

interface Candidate {
  when: Condition[]
  governing: Governing
}

/** What is to be known about an action's name. */
interface Known {
  candidates: Candidate[]
  compared: string
  isClear: boolean
}

/** Both are those of a file. `rules` null: there is no file; `sessions` null: it says nothing about them. */
export function createPolicy(
  rules: Rule[] | null,
  defaults: PolicyDefaults,
  sessions: SessionRules | null = null,
): Policy {
  const plain: Limits = {
    timeout: defaultTimeout,
    rate: defaults.rate,
    maxOpen: null,
    mergesIdentical: false,
    denialHoldsMs: 0,
    breaker: defaultBreaker,
  }
  const fallback: Candidate = { when: [], governing: { terms: defaultTerms, limits: plain, passes: false } }
  const highRiskFallback: Candidate = { when: [], governing: { terms: highRiskTerms, limits: plain, passes: false } }
  const prepared = (rules ?? []).map((rule) => {
    const { when, terms, passes } = rule
    const limits: Limits = { ...rule.limits, rate: rule.limits.rate ?? defaults.rate }
    return {
      isAbout: compileRule(rule),
      ordinary: { when, governing: { terms, limits, passes } },
      hardened: { when, governing: { terms: harden(terms), limits, passes: false } },
    }
  })
  const spelled = new Set((rules ?? []).flatMap(({ actions }) => actions.filter(isExact)))
  const isClear = (action: string) => isPlain(action) || spelled.has(action)
  const remembered = new Map<string, Known>()

  function know(action: string): Known {
    const known = remembered.get(action)
    if (known !== undefined) return known
    const compared = comparedName(action)
    const made = { candidates: candidatesFor(action, compared), compared, isClear: isClear(action) }
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(action, made)
    return made
  }

  /** What may govern this action, up to and including the first without conditions. */
  function candidatesFor(action: string, compared: string): Candidate[] {
    const isHigh = isHighRisk(action)
    const candidates: Candidate[] = []
    for (const { isAbout, ordinary, hardened } of prepared) {
      if (!isAbout(action, compared)) continue
      candidates.push(isHigh ? hardened : ordinary)
      if (ordinary.when.length === 0) break
    }
    if (candidates.at(-1)?.when.length !== 0) candidates.push(isHigh ? highRiskFallback : fallback)
    return candidates
  }

  return {
    govern(action, details) {
      const all = know(action).candidates
      if (all[0]!.when.length === 0) return all[0]!.governing
      const value = JSON.parse(details) as unknown
      return all.find(({ when }) => when.every((condition) => condition.holds(value)))!.governing
    },
    isUnclear: (action) => rules !== null && !know(action).isClear,
    compared: (action) => know(action).compared,
    windowOf(action) {
      const { isClear, compared } = know(action)
      return isClear ? trimEnd(compared) : ''
    },
    mayWhitelist: (action) => know(action).candidates.some(({ governing }) => governing.terms.mayWhitelist),
    resetRuleFor: createResetRules(sessions, defaults.timeZone ?? defaultResetRule.timeZone),
    rules: rules ?? [],
  }
}

/**
 * A name, or a pattern, as it is compared: every spelling of a high-risk action is that action, other plain names are folded,
 * and what is not plain is itself and nothing else.
 */
export function comparedName(name: string): string {
  if (!isExact(name)) return fold(name)
  return isPlain(name) ? fold(highRiskName(name) ?? name) : name
}

type ForActions = Pick<Rule, 'actions' | 'passes'>

/** Whether a rule is about this action, if its conditions hold. */
export function isAboutAction(rule: ForActions, action: string): boolean {
  return compileRule(rule)(action, comparedName(action))
}

/**
 * A rule that passes is for names as they are written, letter for letter: another spelling may be another tool. It is for no
 * high-risk action and for no name that is not plain; the next rule that fits governs those.
 */
function compileRule({ actions, passes }: ForActions): (action: string, compared: string) => boolean {
  if (!passes) {
    const fits = compileActions(actions)
    return (_, compared) => fits(compared)
  }
  const globs = actions.map(compileGlob)
  return (action) => globs.some((fits) => fits(action)) && !isHighRisk(action)
}

function compileActions(actions: string[]): (name: string) => boolean {
  const globs = actions.map((pattern) => {
    const compared = comparedName(pattern)
    if (!isExact(pattern) || !isPlain(pattern)) return compileGlob(compared)
    const bare = trimEnd(compared)
    return (name: string) => trimEnd(name) === bare
  })
  return (name) => globs.some((fits) => fits(name))
}

/** The same terms, as strict as a high-risk action needs them. */
export function harden(terms: Terms): Terms {
  if (terms.risk === 'high' && !terms.mayWhitelist && !terms.allowsOwn && terms.needsDigest) return terms
  return { ...terms, risk: 'high', mayWhitelist: false, allowsOwn: false, needsDigest: true }
}
