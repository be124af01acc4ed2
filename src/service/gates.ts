// What a submission passes on its way to a person: a list of gates, in order. A gate answers in place of holding it, requires
// something of the commit that holds it, or both.
import * as audit from '../audit/event.js'
import { type ActorOf, isVerified, shareOf, textOf } from '../core/actor.js'
import { resolve } from '../core/confirmation.js'
import type { Confirmation, Pending, Refused, Resolution, Submission, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { callBack } from '../notify/callback-schedule.js'
import { oddOneOf, plainWords } from '../policy/name.js'
import type { Governing, Policy, Rate } from '../policy/policy.js'
import type { ShareName } from '../policy/share.js'
import type { Quota, RateLimit } from '../policy/window.js'
import type { Requirement, Store, Unmet } from '../store/store.js'
import { noStreak, type Streak } from '../sessions/breaker.js'
import { isAtLimit, type SessionState, type Suspension, trusts } from '../sessions/session.js'
import { findCover, type Grant } from '../whitelist/grant.js'
import type { Requester } from './asked.js'
import { diskShareOf } from './disk-share.js'
import type { Grants } from './grants.js'
import type { Use } from './runs.js'
import { type Proposal, rejection } from './settle.js'

export interface GateDeps {
  store: Store
  policy: () => Policy
  grants: Pick<Grants, 'doesCount'>
  /** How many of a requester's may be pending where no rule says so and there are keys; 0: any number. */
  openLimit: number
  /** How much a requester may write in a day; 0: any amount. */
  diskLimitBytes: number
  /** How long an approval may be claimed. */
  approvalMs: number
  /** Why this URL cannot be called back, if so. */
  problemWithCallback: (url: string) => string | null
}

/** A submission under its rule, as it would be held. */
export interface Candidate extends Governing {
  submission: Submission
  by: Requester
  held: Pending
  /** What is counted in its session: another spelling is the same action. */
  asked: { action: string; digest: string }
  /** Of its session; null without one. */
  use: Use | null
  /** See `Asked`. */
  isCall: boolean
  via: Via
  /** How much it writes. */
  bytes: number
}

export interface Submitted {
  confirmation: Confirmation
  /** This was asked before, with the same key. */
  isReplay: boolean
  /** How its session stands; null without one. */
  session: SessionState | null
}

/** What the submissions of one change have taken so far, and what is known of what others have. */
export interface Plan {
  uses: Map<string, number>
  slots: Map<string, number>
  /** Bytes by share. */
  disk: Map<string, number>
  held: Confirmation[]
  known: Known
}

/** What a commit told that found a requirement unmet. */
export interface Known {
  quotas: Map<string, Quota>
  /** By requester: at least so many are pending. */
  pending: Map<string, number>
  /** By share: so many bytes are left. */
  disk: Map<string, number>
}

export interface Gate {
  name: string
  /** What is answered in place of holding it; null: nothing stands against that, as far as is known. */
  answer(one: Candidate, plan: Plan): Promise<Proposal<Submitted> | null> | Proposal<Submitted> | null
  /** What the commit must find. Where it does not, all is planned anew, with that known. */
  requires?(one: Candidate, plan: Plan): Requirement[]
}

export function createGates(deps: GateDeps): Gate[] {
  const { store, policy, grants, openLimit: usualMaxOpen, diskLimitBytes, approvalMs, problemWithCallback } = deps

  const callback: Gate = {
    name: 'callback',
    answer({ submission: { callbackUrl } }) {
      const problem = callbackUrl === null ? null : problemWithCallback(callbackUrl)
      return problem === null ? null : { answer: refuse('callback_refused', `Field 'callback_url' ${problem}`) }
    },
  }

  const unclearName: Gate = {
    name: 'unclear name',
    answer: ({ submission: { action } }) => (policy().isUnclear(action) ? { answer: unclear(action) } : null),
  }

  /** Before all that costs: who is suspended or has to wait gets nothing. */
  const session: Gate = {
    name: 'session',
    answer(one) {
      const { use, held, by } = one
      const { share, createdAt: now } = held
      const { suspension, streak } = use?.session ?? { suspension: null, streak: noStreak }
      if (suspension !== null) return refused(one, suspended(suspension), null)
      if (streak.waitsUntil > now) return refused(one, mustWait('This session', streak, now), null)
      if (!isVerified(by)) return null
      const own = store.sessions.peek(share, '')
      if (own === undefined || own.streak.waitsUntil <= now) return null
      return refused(one, mustWait(textOf(by), own.streak, now), null)
    },
    requires: ({ held: { share }, by }) =>
      isVerified(by) ? [{ kind: 'not_waiting', requester: share, sessionKey: '' }] : [],
  }

  /** Before the whitelist: what passes there is written, too. */
  const disk: Gate = {
    name: 'disk',
    answer(one, plan) {
      const share = diskShareOf(shareOf(one.by))
      const left = plan.known.disk.get(share)
      if (left === undefined) return null
      const taken = plan.disk.get(share) ?? 0
      const wanted = taken + one.bytes
      return wanted <= left ? null : refuseDisk(one, share, wanted)
    },
    requires({ by, bytes }) {
      if (diskLimitBytes === 0) return []
      return [{ kind: 'disk', share: diskShareOf(shareOf(by)), max: diskLimitBytes, bytes }]
    },
  }

  async function refuseDisk(one: Candidate, share: string, bytes: number): Promise<Proposal<Submitted>> {
    const { resetMs } = await store.disk.peek(share, one.held.createdAt, diskLimitBytes, bytes)
    return refused(one, diskLimited(one.by, diskLimitBytes, resetMs), null)
  }

  /** Whose rule wants nobody to be asked. Before the whitelist: no use of an entry is spent on it. */
  const pass: Gate = {
    name: 'pass',
    answer(one) {
      if (!one.passes) return null
      const by = { kind: 'rule', name: one.terms.rule } as const
      return autoApprove(one, { by, at: one.held.createdAt, via: 'rule', reason: null })
    },
  }

  /** The same call again: the approval that came meanwhile is there to be claimed. */
  const approvedBefore: Gate = {
    name: 'approved before',
    answer: (one) => (one.isCall ? findApproval(one) : null),
  }

  async function findApproval({ held }: Candidate): Promise<Proposal<Submitted> | null> {
    const { requester, digest, description, createdAt: now } = held
    const approved = await store.confirmations.unclaimedAlike(requester, digest, description, now)
    return approved === undefined ? null : { answer: { confirmation: approved, isReplay: false, session: null } }
  }

  const whitelist: Gate = {
    name: 'whitelist',
    answer(one, { uses }) {
      // The rule wants a person every time; or nobody ever gave one.
      return one.terms.mayWhitelist && store.grants.mayCover(one.submission.action) ? findGrant(one, uses) : null
    },
  }

  async function findGrant(one: Candidate, uses: ReadonlyMap<string, number>): Promise<Proposal<Submitted> | null> {
    const { submission, by, terms, held, use } = one
    const { action, sessionKey, requester, details } = submission
    const found = await store.grants.covering(action, sessionKey, details, held.createdAt)
    if (found.length === 0) return null
    const mayDecide = (name: string) =>
      (!isVerified(by) || terms.allowsOwn || name !== requester) && (terms.deciders?.includes(name) ?? true)
    const isTrusted = ({ sessionKey, givenAt }: Grant) =>
      sessionKey === null || (use !== null && trusts(use.session, isOver(use), givenAt))
    const counting = found.filter(
      (grant) => isTrusted(grant) && grants.doesCount(grant) && mayDecide(textOf(grant.grantedBy)),
    )
    const left = uses.size === 0 ? counting : counting.map((grant) => withUses(grant, uses))
    const grant = findCover(left, submission, held.createdAt)
    return grant === undefined ? null : cover(one, grant)
  }

  function cover(one: Candidate, { id, reason, expiresAt }: Grant): Proposal<Submitted> {
    const by = { kind: 'grant', id } as const
    const proposal = autoApprove(one, { by, at: one.held.createdAt, via: 'whitelist', reason })
    const { change } = proposal
    change?.writes.push({ kind: 'use', grantId: id, count: 1 })
    if (change !== undefined && expiresAt !== null) change.requires = [{ kind: 'before', at: expiresAt }]
    return proposal
  }

  /** Nobody is asked, because a grant or a rule says so. */
  function autoApprove(
    { by, held, via }: Candidate,
    resolution: Resolution & { by: ActorOf<'grant' | 'rule'> },
  ): Proposal<Submitted> {
    const { at } = resolution
    const confirmation = resolve(held, 'auto_approved', resolution, approvalMs)
    if (isRefusal(confirmation)) return { answer: confirmation }
    return {
      change: {
        writes: [{ kind: 'confirmation', expect: 'absent', record: confirmation }, ...callBack(confirmation, at)],
        events: [audit.submitted(held, by, via), audit.autoApproved(confirmation, resolution.by, at)],
      },
      answer: { confirmation, isReplay: false, session: null },
    }
  }

  /** The same again while it is pending. */
  const merge: Gate = {
    name: 'merge',
    answer: (one, plan) => (merges(one) ? join(one, plan) : null),
    requires(one) {
      const { requester, digest, description } = one.held
      return merges(one) ? [{ kind: 'nothing_alike', requester, digest, description }] : []
    },
  }

  /** In the Agent Approval Protocol each request is one call, and who polls for two of one id would make two. */
  const merges = ({ limits, isCall, submission }: Candidate) =>
    (limits.mergesIdentical || isCall) && submission.aap === null

  async function join(one: Candidate, plan: Plan): Promise<Proposal<Submitted> | null> {
    const { by, held, via } = one
    const { requester, digest, description, createdAt: now } = held
    const pending =
      plan.held.find((one) => one.digest === digest && one.description === description) ??
      (await store.confirmations.alike(requester, digest, description, now))
    // It may have been approved since that was looked for.
    if (pending === undefined) return one.isCall ? findApproval(one) : null
    return {
      change: { writes: [], events: [audit.repeated(pending, by, now, via)] },
      answer: { confirmation: pending, isReplay: false, session: null },
    }
  }

  const deniedBefore: Gate = {
    name: 'denied before',
    answer: (one) => (one.isCall ? holdForRun(one) : one.limits.denialHoldsMs === 0 ? null : holdDenial(one)),
  }

  /** Of a call: as long as the session goes on, and without one as long as an approval may be claimed; or longer, by its rule. */
  async function holdForRun(one: Candidate): Promise<Proposal<Submitted> | null> {
    const { held, use } = one
    const denied = await store.confirmations.lastDenied(held.digest, use === null ? held.createdAt - approvalMs : 0)
    if (denied !== undefined && (use === null || denied.sessionId === held.sessionId))
      return refused(one, finalDenial(denied), denied.id)
    return one.limits.denialHoldsMs === 0 ? null : holdDenial(one)
  }

  async function holdDenial(one: Candidate): Promise<Proposal<Submitted> | null> {
    const { held, limits } = one
    const denied = await store.confirmations.lastDenied(held.digest, held.createdAt - limits.denialHoldsMs)
    if (denied === undefined) return null
    return refused(one, standingDenial(denied, limits.denialHoldsMs, held.createdAt), denied.id)
  }

  const openLimit: Gate = {
    name: 'open limit',
    answer(one, plan) {
      const maxOpen = maxOpenFor(one)
      const { requester } = one.held
      if (maxOpen === null || (plan.known.pending.get(requester) ?? 0) + countHeld(plan, requester) < maxOpen)
        return null
      return refuseOpen(one, maxOpen)
    },
    requires(one, plan) {
      const maxOpen = maxOpenFor(one)
      const { requester } = one.held
      return maxOpen === null ? [] : [{ kind: 'fewer_open', requester, below: maxOpen - countHeld(plan, requester) }]
    },
  }

  /** In open mode anybody may give any name, so what is usual bounds nobody there. */
  function maxOpenFor({ limits, by }: Candidate): number | null {
    if (limits.maxOpen !== null) return limits.maxOpen
    return usualMaxOpen === 0 || !isVerified(by) ? null : usualMaxOpen
  }

  async function refuseOpen(one: Candidate, maxOpen: number): Promise<Proposal<Submitted>> {
    const { requester, createdAt: now, deadline } = one.held
    const soonest = (await store.confirmations.soonestDeadline(requester)) ?? deadline
    const seconds = toSeconds(soonest - now)
    const sentence =
      `${requester} has ${maxOpen} requests open, which is as many as may be; there is room when one is answered, ` +
      `or in ${seconds} s, when the next one ends.`
    const extra = { share: 'open' satisfies ShareName, open_limit: maxOpen, retry_after_seconds: seconds }
    return refused(one, refuse('too_many_open', sentence, extra), null)
  }

  const rate: Gate = {
    name: 'rate',
    answer({ submission, by, limits, held, via }, plan) {
      const [quota] = quotasOf(policy(), submission.action, by, limits.rate)
      const known = plan.known.quotas.get(nameOf(quota, limits.rate))
      const taken = plan.slots.get(quota) ?? 0
      if (known === undefined || known.remaining > taken) return null
      const resetMs = known.resetMs === 0 && taken > 0 ? limits.rate.windowMs : known.resetMs
      const answer = tooMany(resetMs, limits.rate, quota.startsWith('of ') ? textOf(by) : null)
      const { share: _, ...rate } = answer.extra
      const event = audit.rateLimited(submission, rate, { actor: by, at: held.createdAt, via })
      return { answer, rejected: [event] }
    },
    requires({ submission, by, limits: { rate } }) {
      const [quota, other] = quotasOf(policy(), submission.action, by, rate)
      const slot: Requirement = { kind: 'slot', quota, limit: rate, count: 1 }
      return other === null ? [slot] : [slot, { kind: 'slot', quota: other, limit: counted, count: 1 }]
    },
  }

  return [callback, unclearName, session, disk, pass, approvedBefore, whitelist, merge, deniedBefore, openLimit, rate]
}

/** Takes slots and limits nothing: a rule that comes to limit them finds what was taken before. */
const counted: RateLimit = { max: Number.MAX_SAFE_INTEGER, windowMs: 1000 }

/**
 * What the limit per action is counted by, and what else counts, because another rule may limit that: the requester's own
 * quota of the action, and that of all. In open mode there is one. No verified name holds a colon.
 */
export function quotasOf(
  policy: Policy,
  action: string,
  by: Requester,
  { isPerRequester }: Pick<Rate, 'isPerRequester'>,
): [limited: string, other: string | null] {
  const ofAll = `action ${policy.windowOf(action)}`
  if (!isVerified(by)) return [ofAll, null]
  const own = `of ${textOf(by)}: ${ofAll}`
  return isPerRequester ? [own, ofAll] : [ofAll, own]
}

/** Takes down what an unmet requirement tells: the gates answer by it in the next round. */
export function learn(known: Known, { unmet, quota }: Unmet): void {
  if (unmet.kind === 'slot') known.quotas.set(nameOf(unmet.quota, unmet.limit), quota!)
  if (unmet.kind === 'disk') known.disk.set(unmet.share, quota!.remaining)
  if (unmet.kind === 'fewer_open') known.pending.set(unmet.requester, unmet.below)
}

/** One quota may have several limits, each by its rule. */
function nameOf(quota: string, { max, windowMs }: RateLimit): string {
  return `${max} ${windowMs} ${quota}`
}

function countHeld({ held }: Plan, requester: string): number {
  let count = 0
  for (const one of held) if (one.requester === requester) count += 1
  return count
}

/** Due, or filled by those of the same change. */
function isOver({ isDue, session, taken, rule }: Use): boolean {
  return isDue || isAtLimit(session.run.messages + taken, rule.maxMessages)
}

function withUses(grant: Grant, uses: ReadonlyMap<string, number>): Grant {
  return { ...grant, uses: grant.uses + (uses.get(grant.id) ?? 0) }
}

function refused({ by, held, via }: Candidate, answer: Refusal, confirmationId: string | null): Proposal<Submitted> {
  const { action, digest, sessionKey, createdAt: at } = held
  const attempt = { actor: by, at, via, confirmationId }
  return { answer, rejected: rejection(answer, attempt, { action, digest, session_key: sessionKey }) }
}

function unclear(action: string): Refusal {
  const sentence =
    `The action's name is not plain: it has ${oddOneOf(action)} in it, and no rule spells it out. Use a name of ` +
    `${plainWords}, or have a rule name this one exactly, without * and ?.`
  return refuse('unclear_action', sentence)
}

/** `requester`: whose window it is; null: that of all. */
function tooMany(resetMs: number, { max, windowMs }: RateLimit, requester: string | null) {
  const seconds = toSeconds(resetMs)
  const whose = requester === null ? '' : ` of ${requester}`
  const sentence = `This action had its ${max} confirmations${whose} within ${windowMs / 1000} s; try again in ${seconds} s.`
  return refuse('rate_limited', sentence, {
    share: 'rate' satisfies ShareName,
    max,
    remaining: 0,
    window_seconds: windowMs / 1000,
    retry_after_seconds: seconds,
  })
}

export function diskLimited(by: Requester, limitBytes: number, resetMs: number): Refusal {
  const seconds = toSeconds(resetMs)
  const whose = isVerified(by) ? `${textOf(by)} has` : 'All together have'
  const sentence =
    `${whose} written what may be written in a day (${limitBytes / 1024 / 1024} MiB); there is room for this ` +
    `in ${seconds} s.`
  return refuse('disk_limited', sentence, { share: 'disk' satisfies ShareName, retry_after_seconds: seconds })
}

export function suspended({ by, reason }: Suspension): Refusal {
  const because = reason === null ? '' : `, because: ${reason}`
  const sentence =
    `This session was suspended by ${by}${because}. Nothing is taken from it until an operator resumes or resets it; ` +
    'tell the person you work for, and stop.'
  return refuse('session_suspended', sentence, { reason })
}

function mustWait(who: string, { failures, waitsUntil }: Streak, now: number): Refusal {
  const seconds = toSeconds(waitsUntil - now)
  const sentence =
    `${who} had ${failures} requests in a row denied or expired, and has to wait ${seconds} s. Do not repeat them ` +
    'then: ask the person you work for what to do.'
  return refuse('circuit_open', sentence, { share: 'streak' satisfies ShareName, retry_after_seconds: seconds })
}

/** As a wait: never none. */
function toSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

function finalDenial({ id, resolution }: Refused): Refusal {
  const by = textOf(resolution.by)
  const because = resolution.reason === null ? '' : `, because: ${resolution.reason}`
  const sentence = `${by} denied exactly this before${because}. That stands; nobody is asked again.`
  return refuse('denied_before', sentence, { status: 'denied', id, resolved_by: by, reason: resolution.reason })
}

function standingDenial({ id, resolution }: Refused, holdsMs: number, now: number): Refusal {
  const { at, reason } = resolution
  const by = textOf(resolution.by)
  const seconds = toSeconds(at + holdsMs - now)
  const because = reason === null ? '' : `, because: ${reason}`
  const sentence = `${by} denied exactly this before${because}. Do not ask again within ${seconds} s unless something changed.`
  return refuse('denied_before', sentence, {
    status: 'denied',
    id,
    resolved_by: by,
    reason,
    retry_after_seconds: seconds,
  })
}
