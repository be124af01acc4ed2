// What `policy check` and `policy explain` print: the rules in plain sentences, and why one of them applies.
import { findAmbiguity, sayAmbiguity } from '../core/ambiguity.js'
import { defaultTerms, type Terms } from '../core/model.js'
import { cut } from '../core/cut.js'
import { visibleJson, visibleLine } from '../core/visible.js'
import { type Condition, describeCondition, describeDemand, valuesAt } from '../policy/condition.js'
import { readRules } from '../policy/file.js'
import { isPlain, oddOneOf, plainWords } from '../policy/name.js'
import { highRiskActions, highRiskName, isHighRisk } from '../policy/risk.js'
import {
  type Breaker,
  defaultBreaker,
  type Governing,
  isAboutAction,
  type Limits,
  type Policy,
  type Rule,
} from '../policy/policy.js'
import { defaultResetRule, type ResetSettings, type SessionRules } from '../policy/reset.js'
import { sayTelling, summarizeTelling } from '../policy/telling.js'

/** What `policy check FILE` says of a file. Warnings leave it ok. */
export interface Checked {
  ok: boolean
  text: string
  /** `rules`: how many there are; null where that cannot be told. */
  data: { problems: string[]; warnings: string[]; rules: number | null }
}

export function checkRules(text: string, fileName: string): Checked {
  const read = readRules(text)
  if ('mistakes' in read) {
    const { mistakes } = read
    const data = { problems: mistakes, warnings: [], rules: null }
    return { ok: false, text: `${fileName}: ${list('mistake', mistakes)}\n`, data }
  }
  const { rules, sessions, warnings } = read
  const lines = rules.flatMap((rule, index) => [
    `  ${index + 1}. ${titleOf(rule)}`,
    ...(rule.when.length === 0 ? [] : [`     when ${rule.when.map(describeCondition).join(', ')}`]),
    `     ${rule.passes ? summarizePass(rule.terms) : summarize(rule.terms)}`,
  ])
  const isWhole = rules.some(({ actions, when }) => when.length === 0 && actions.includes('*'))
  if (!isWhole) lines.push('  What no rule fits', `     ${summarize(defaultTerms)}`)
  const parts = [
    `${fileName}: ${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}, no mistakes. The first that fits applies.`,
    lines.join('\n'),
    `The ${highRiskActions.size} high-risk actions always need a person, whatever a rule says. A name with anything but ` +
      `${plainWords} in it counts as one, and is refused unless a rule spells it out.`,
    ...(sessions === null ? [] : [saySessions(sessions)]),
    ...(warnings.length === 0 ? [] : [list('warning', warnings)]),
  ]
  return { ok: true, text: `${parts.join('\n\n')}\n`, data: { problems: [], warnings, rules: rules.length } }
}

/** In the order in which the places are asked, setting by setting. */
function saySessions({ general, platforms, chatTypes }: SessionRules): string {
  const builtIn = { ...defaultResetRule, timeZone: 'of the machine' }
  const lines = [
    ...[...platforms].map(([name, said]) => `  on ${name}: ${sayReset(said)}`),
    ...[...chatTypes].map(([name, said]) => `  in a ${name}: ${sayReset(said)}`),
    `  else: ${sayReset({ ...builtIn, ...general })}`,
  ]
  return ['Sessions. Of each setting the first counts.', ...lines].join('\n')
}

function sayReset({ mode, dailyHour, timeZone, idleMs, maxMessages, hashesIds }: ResetSettings): string {
  return [
    ...(mode === undefined ? [] : [`mode ${mode}`]),
    ...(dailyHour === undefined ? [] : [`daily at ${dailyHour}:00`]),
    ...(timeZone === undefined ? [] : [`time zone ${timeZone}`]),
    ...(idleMs === undefined ? [] : [`idle after ${idleMs / 60_000} minutes`]),
    ...(maxMessages === undefined ? [] : [maxMessages === 0 ? 'any number of messages' : `${maxMessages} messages`]),
    ...(hashesIds === undefined ? [] : [hashesIds ? 'ids hashed' : 'ids as they are']),
  ].join(', ')
}

function list(what: string, items: string[]): string {
  const count = `${items.length} ${what}${items.length === 1 ? '' : 's'}`
  return `${count}\n${items.map((item) => `  - ${item}`).join('\n')}`
}

/** Why this text cannot be explained as details, if so. */
export function problemWithDetails(details: string): string | null {
  try {
    const value = JSON.parse(details) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      // As the service does, which would refuse them.
      const ambiguity = findAmbiguity(details, () => false)
      return ambiguity === null ? null : sayAmbiguity(ambiguity, 'the details')
    }
  } catch {
    // Said below.
  }
  return `the details must be a JSON object, such as '{"amount": 5}'`
}

/** What `policy explain ACTION` prints: which rules were looked at, and what applies. `details` must have no problem. */
export function explainAction(policy: Policy, action: string, details: string): string {
  const value = JSON.parse(details) as unknown
  const asked = `${quote(action)} with details ${show(value)}`
  if (policy.isUnclear(action)) {
    return `${asked}\n\nIt is refused (unclear_action): ${sayOdd(action)}, and no rule spells it out.\n`
  }
  const governing = policy.govern(action, details)
  const { terms } = governing
  const all = lookAt(policy, action, value)
  const looked = all.flatMap(({ rule, fits, isAboutIt, failed }) =>
    isAboutIt
      ? [`  ${fits ? 'yes' : 'no '}  ${titleOf(rule)}`, ...failed.map((sentence) => `         ${sentence}`)]
      : [`  no   ${titleOf(rule)}: ${failed[0]}`],
  )
  const left = policy.rules.length - all.length
  if (left > 0) looked.push(`  ${left} more after it: not looked at`)
  if (all.at(-1)?.fits !== true) looked.push(`  yes  "${terms.rule}", which is built in`)
  const parts = [
    asked,
    `Rules, in order:\n${looked.join('\n')}`,
    `What applies: "${terms.rule}"\n${[...(isHighRisk(action) ? [sayHighRisk(action)] : []), ...sayGoverning(governing)]
      .map((sentence) => `  ${sentence}`)
      .join('\n')}`,
  ]
  return `${parts.join('\n\n')}\n`
}

interface Looked {
  rule: Rule
  /** That is the one, if its conditions hold. */
  isAboutIt: boolean
  fits: boolean
  /** The conditions that do not hold, in words; or why it is not the one. */
  failed: string[]
}

/** The rules in order, up to the one that fits. */
function lookAt(policy: Policy, action: string, value: unknown): Looked[] {
  const looked: Looked[] = []
  for (const rule of policy.rules) {
    const isAboutIt = isAboutAction(rule, action)
    const failed = isAboutIt
      ? rule.when.filter(({ holds }) => !holds(value)).map((one) => sayFailed(one, value))
      : [sayOthers(rule, action)]
    const fits = isAboutIt && failed.length === 0
    looked.push({ rule, isAboutIt, fits, failed })
    if (fits) break
  }
  return looked
}

/** Why a rule is not about this action. */
function sayOthers(rule: Rule, action: string): string {
  if (!rule.passes || !isAboutAction({ ...rule, passes: false }, action)) return 'for other actions'
  if (isHighRisk(action)) return 'it passes what it is for, and that is never a high-risk action'
  return 'it passes names as they are written, and this is another spelling'
}

/** The same as data. What applies has the names of the settings of a rule, and none is left out. */
export function explainedAction(policy: Policy, action: string, details: string) {
  const value = JSON.parse(details) as unknown
  const asked = { action, details: value }
  if (policy.isUnclear(action)) return { ...asked, refused: 'unclear_action', looked_at: [], applies: null }
  const { terms, limits, passes } = policy.govern(action, details)
  const looked_at = lookAt(policy, action, value).map(({ rule, fits, failed }) => ({
    name: rule.terms.rule,
    fits,
    because: failed,
  }))
  return { ...asked, refused: null, looked_at, applies: { ...termsView(terms, passes), ...limitsView(limits) } }
}

function termsView(terms: Terms, passes: boolean) {
  const { telling } = terms
  return {
    name: terms.rule,
    pass: passes,
    risk: terms.risk,
    approvals: terms.approvals,
    seats: terms.seats,
    deciders: terms.deciders,
    whitelist: terms.mayWhitelist,
    reason_required: terms.reasonFor,
    typed_confirmation: terms.mustType,
    digest_required: terms.needsDigest,
    own_requests: terms.allowsOwn,
    notify: telling?.notify ?? null,
    remind_after: telling?.remindAfter ?? null,
    escalate_after: telling?.escalation?.after ?? null,
    escalate_to: telling?.escalation?.to ?? null,
  }
}

function limitsView({ timeout, rate, maxOpen, mergesIdentical, denialHoldsMs, breaker }: Limits) {
  return {
    timeout,
    rate_limit: { max: rate.max, window_seconds: rate.windowMs / 1000, per: rate.isPerRequester ? 'requester' : null },
    open_limit: maxOpen,
    merge_identical: mergesIdentical,
    refuse_after_denial: denialHoldsMs === 0 ? null : denialHoldsMs / 1000,
    breaker: {
      warn: breaker.warnAt,
      wait: breaker.waitAt,
      suspend: breaker.suspendAt,
      wait_seconds: breaker.waitMs / 1000,
      fixation: breaker.fixationAt,
    },
  }
}

/** A few are enough to see why. */
const maxShown = 3

function sayFailed(condition: Condition, details: unknown): string {
  const { path, every } = condition
  const found = valuesAt(details, condition, maxShown + 1).map(show)
  const what = found.length > maxShown ? [...found.slice(0, maxShown), '…'] : found
  const must = `${every ? 'every one must' : 'must'} be ${describeDemand(condition)}`
  return `${path} is ${what.length === 0 ? 'missing' : what.join(', ')} and ${must}`
}

function titleOf({ actions, terms }: Rule): string {
  const patterns = actions.join(', ')
  return patterns === terms.rule ? `"${terms.rule}"` : `"${terms.rule}" for ${patterns}`
}

/** On one line, for a list of rules. */
function summarizePass({ risk, needsDigest }: Terms): string {
  return [
    ...(risk === 'normal' ? [] : [`risk ${risk}`]),
    'passes: nobody is asked',
    ...(needsDigest ? ['claimed with its digest'] : []),
  ].join(', ')
}

function summarize(terms: Terms): string {
  const { risk, deciders, mustType, reasonFor, allowsOwn, needsDigest, mayWhitelist, telling } = terms
  return [
    ...(risk === 'normal' ? [] : [`risk ${risk}`]),
    countApprovals(terms),
    ...(deciders === null ? [] : [`by ${deciders.join(' or ')}`]),
    ...(mustType ? ['typed confirmation'] : []),
    ...(reasonFor.length === 0 ? [] : [`a reason to ${reasonFor.join(' or ')}`]),
    ...(allowsOwn ? ["the requester's own too"] : []),
    ...(needsDigest ? ['claimed with its digest'] : []),
    mayWhitelist ? 'may be whitelisted' : 'never whitelisted',
    ...(telling === null ? [] : summarizeTelling(telling)),
  ].join(', ')
}

function countApprovals({ approvals, seats }: Terms): string {
  if (seats.length > 0) return seats.map(({ group, count }) => `${count} of ${group}`).join(' and ')
  return approvals === 1 ? '1 approval' : `${approvals} approvals`
}

function sayOdd(action: string): string {
  return `its name has ${oddOneOf(action)} in it, which is none of ${plainWords}`
}

function sayHighRisk(action: string): string {
  const name = highRiskName(action) ?? action
  const why = isPlain(action) ? (name === action ? '' : ` (it is another spelling of ${name})`) : ` (${sayOdd(action)})`
  return `It is a high-risk action${why}: whatever a rule says, a person decides, and not the requester.`
}

function sayGoverning({ terms, limits, passes }: Governing): string[] {
  if (!passes) return [...sayTerms(terms), ...sayLimits(limits)]
  return [
    `It passes: nobody is asked. It is recorded as approved by rule:${visibleLine(terms.rule)}, and can be claimed once.`,
    `Its risk is ${terms.risk}.`,
    'It takes no slot of a rate limit. In a session that is suspended or has to wait it is refused all the same.',
    ...(terms.needsDigest ? [withDigest] : []),
  ]
}

const withDigest = 'It is claimed only with the digest of what is about to be done.'

function sayTerms(terms: Terms): string[] {
  const { risk, approvals, seats, deciders, mayWhitelist, reasonFor, mustType, allowsOwn, needsDigest } = terms
  const whom = seats.map(({ group, count, members }) => `${count} of ${group} (${members.join(', ')})`).join(' and ')
  const who = deciders === null ? 'Every operator' : `Only ${deciders.join(', ')}`
  return [
    terms.rule === defaultTerms.rule ? 'No rule says what its risk is.' : `Its risk is ${risk}.`,
    approvals === 1
      ? `One person must approve${whom === '' ? '' : `: ${whom}`}.`
      : `${approvals} different people must approve${whom === '' ? '' : `: ${whom}`}. One denial ends it.`,
    seats.length === 0
      ? `${who} may approve or deny, ${allowsOwn ? 'also' : 'but not'} their own requests.`
      : `${who} may deny; only members of these groups may approve. ${allowsOwn ? 'Also' : 'Not'} their own requests.`,
    ...(mustType ? ['The approver must type the name of the action.'] : []),
    ...(reasonFor.length === 0 ? [] : [`To ${reasonFor.join(' or ')} takes a reason.`]),
    mayWhitelist ? 'It may be whitelisted, and then passes without asking.' : 'No whitelist entry covers it.',
    ...(needsDigest ? [withDigest] : []),
    ...(terms.telling === null ? [] : sayTelling(terms.telling)),
  ]
}

function sayLimits({ timeout, rate, maxOpen, mergesIdentical, denialHoldsMs, breaker }: Limits): string[] {
  return [
    `It waits ${timeout.default} seconds; an agent may ask for ${timeout.min} to ${timeout.max}.`,
    `At most ${rate.max} may be asked for in any ${rate.windowMs / 1000} seconds${
      rate.isPerRequester ? ', by each requester once there are keys' : ', by all requesters together'
    }.`,
    ...(maxOpen === null ? [] : [`A requester may have at most ${maxOpen} pending.`]),
    ...(mergesIdentical ? ['The same request while one is pending gets that one.'] : []),
    ...(denialHoldsMs === 0 ? [] : [`After a denial the same request is refused for ${denialHoldsMs / 1000} seconds.`]),
    ...sayBreaker(breaker),
  ]
}

/** What differs from the built-in one. */
function sayBreaker(breaker: Breaker): string[] {
  const { warnAt, waitAt, suspendAt, waitMs, fixationAt } = breaker
  const isChanged = (parts: (keyof Breaker)[]) => parts.some((part) => breaker[part] !== defaultBreaker[part])
  const steps = [
    ...(warnAt === 0 ? [] : [`a warning at ${warnAt}`]),
    ...(waitAt === 0 ? [] : [`a wait of ${waitMs / 1000} seconds at ${waitAt}`]),
    ...(suspendAt === 0 ? [] : [`a suspension at ${suspendAt}`]),
  ]
  const denied = `In one session, denials and expiries in a row bring ${steps.join(', ') || 'nothing'}.`
  const pointedOut = fixationAt === 0 ? 'never pointed out' : `pointed out at ${fixationAt} in a row`
  return [
    ...(isChanged(['warnAt', 'waitAt', 'suspendAt', 'waitMs']) ? [denied] : []),
    ...(isChanged(['fixationAt']) ? [`Insisting on it with other details is ${pointedOut}.`] : []),
  ]
}

/** As much as fits on a line. */
const maxValue = 200

function show(value: unknown): string {
  return cut(visibleJson(JSON.stringify(value)), maxValue)
}

function quote(action: string): string {
  return cut(visibleLine(action), maxValue)
}
