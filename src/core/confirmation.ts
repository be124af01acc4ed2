// The confirmation's state machine: pending until exactly one resolution, then that for ever; an approval is claimed once,
// and reported once.
import { type Actor, system, textOf } from './actor.js'
import { digestOf } from './digest.js'
import {
  type Comment,
  type Approved,
  type Confirmation,
  defaultTerms,
  type Executed,
  type Execution,
  type Outcome,
  type Pending,
  type Refused,
  type Resolution,
  type Resolved,
  type Submission,
} from './model.js'
import { type Refusal, type RefusalCode, refuse } from './refusal.js'

export function hold(
  submission: Submission,
  id: string,
  now: number,
  terms = defaultTerms,
  share = '',
  digest = digestOf(submission),
): Pending {
  return {
    id,
    version: 1,
    action: submission.action,
    description: submission.description,
    details: submission.details,
    requester: submission.requester,
    sessionKey: submission.sessionKey,
    timeoutSeconds: submission.timeoutSeconds,
    createdAt: now,
    deadline: now + submission.timeoutSeconds * 1000,
    digest,
    share,
    sessionId: null,
    caution: null,
    joins: false,
    callbackUrl: submission.callbackUrl,
    requestedAs: submission.requestedAs,
    onBehalfOf: submission.onBehalfOf,
    aap: submission.aap,
    terms,
    votes: [],
    comments: [],
    toldAt: null,
    status: 'pending',
    resolution: null,
    execution: null,
  }
}

/** When time alone will change it next: its deadline, the end of its approval, the end of the wait for a report. */
export function dueAt({ status, execution, deadline }: Confirmation): number | null {
  if (status === 'pending') return deadline
  if (execution?.state === 'unclaimed') return execution.claimBy
  if (execution?.state === 'claimed') return execution.reportBy
  return null
}

/** The confirmation as it truly is at `now`, whether or not what time did to it has been recorded yet. */
export function asOf(confirmation: Confirmation, now: number): Confirmation {
  return overdueAt(confirmation, now) ?? confirmation
}

/** What time alone has made of it by `now`; null: nothing. */
export function overdueAt(confirmation: Confirmation, now: number): Refused | Executed | null {
  const due = dueAt(confirmation)
  if (due === null) return null
  const { resolution, createdAt, deadline } = confirmation
  // One that claims to come from the future was written before the clock was set back: its age is unknown, so it is due.
  if (now < due && now >= (resolution?.at ?? createdAt)) return null
  if (confirmation.status !== 'pending') return endAct(confirmation)
  const at = Math.min(deadline, Math.max(now, createdAt))
  return refused(confirmation, 'expired', { by: system('timeout'), at, via: 'system', reason: null })
}

/** Resolves a pending confirmation, or says what stands instead. A yes is good for `approvalMs`. */
export function resolve(
  confirmation: Confirmation,
  status: Outcome,
  resolution: Resolution,
  approvalMs: number,
): Resolved | Refusal {
  const current = asOf(confirmation, resolution.at)
  if (current.status !== 'pending') return alreadyResolved(current)
  if (status !== 'approved' && status !== 'auto_approved') return refused(current, status, resolution)
  const execution: Execution = { state: 'unclaimed', claimBy: resolution.at + approvalMs }
  return { ...current, version: current.version + 1, status, resolution, execution }
}

/** What stands, to a caller who comes too late. */
export function alreadyResolved({ id, status, resolution: { by, at } }: Resolved): Refusal {
  const resolvedBy = textOf(by)
  const what =
    status === 'expired' ? 'expired before an answer came' : `was already ${status.replace('_', '-')} by ${resolvedBy}`
  return refuse('already_resolved', `Confirmation ${id} ${what}. That stands; nothing was changed.`, {
    status,
    resolved_by: resolvedBy,
    resolved_at: at / 1000,
  })
}

/** How much is said afterwards, of any one. */
const maxComments = 20

/** What somebody who voted says of it once it is decided. Said again, it is said already: null. */
export function addComment(confirmation: Confirmation, comment: Comment): Resolved | Refusal | null {
  const current = asOf(confirmation, comment.at)
  const name = textOf(comment.by)
  if (current.status === 'pending') {
    return no(current, 'not_a_decider', `Confirmation ${current.id} is not decided yet. Decide it, then say why.`)
  }
  if (!current.votes.some(({ by }) => textOf(by) === name)) {
    return no(current, 'not_a_decider', `Only those who decided say why, and ${name} did not.`)
  }
  const { comments } = current
  if (comments.some(({ by, text }) => textOf(by) === name && text === comment.text)) return null
  if (comments.length >= maxComments) {
    return no(current, 'not_a_decider', `There are ${maxComments} comments on this already, which is the most.`)
  }
  return { ...current, version: current.version + 1, comments: [...comments, comment] }
}

/** The last gate before acting: passes once, for what was approved and nothing else. `reportMs` is the time to act. */
export function claim(
  confirmation: Confirmation,
  digest: string | null,
  now: number,
  reportMs: number,
): Executed | Refusal {
  const current = asOf(confirmation, now)
  const { id, status } = current
  if (current.execution === null) {
    const standing = status === 'pending' ? 'is still pending' : `was not approved: it is ${status}`
    return no(current, 'not_approved', `Confirmation ${id} ${standing}. Do not act.`)
  }
  const { execution } = current
  if (digest !== null && digest !== current.digest) {
    const sentence = `What was approved has the digest ${current.digest}, not this one. Do not act.`
    return no(current, 'digest_mismatch', sentence, { digest: current.digest })
  }
  if (execution.state === 'lapsed') {
    const sentence = `The approval of ${id} was not claimed in time and is no longer good. Do not act; submit it again.`
    return no(current, 'approval_expired', sentence, { claim_expires_at: execution.claimBy / 1000 })
  }
  if (execution.state !== 'unclaimed') {
    const sentence = `Confirmation ${id} was claimed before, and an approval is good for one act. Do not act again.`
    return no(current, 'already_claimed', sentence, { claimed_at: execution.claimedAt / 1000 })
  }
  // Last, so that nobody is sent to compute one in vain.
  if (digest === null && current.terms.needsDigest) {
    const sentence = `The rule '${current.terms.rule}' lets ${id} be claimed only with a digest. Do not act; compute it from what you are about to do, and claim again with it in 'digest'.`
    return no(current, 'digest_required', sentence)
  }
  const { claimBy } = execution
  return executed(current, { state: 'claimed', claimBy, claimedAt: now, reportBy: now + reportMs })
}

/**
 * Ends what may still lead to an act: what is pending is withdrawn, an approval lapses. What is claimed may have been done: it
 * can be reported, but no claim that is repeated is told to go ahead. Null: there is nothing to end.
 */
export function endUnfinished(
  confirmation: Confirmation,
  by: Actor,
  reason: string,
  now: number,
): Refused | Executed | null {
  const overdue = overdueAt(confirmation, now)
  if (overdue !== null) return overdue
  if (confirmation.status !== 'pending') return endAct(confirmation)
  return refused(confirmation, 'cancelled', { by, at: now, via: 'system', reason })
}

/** How the act went. Late is better than never; twice is not. */
export function report(
  confirmation: Confirmation,
  state: 'succeeded' | 'failed',
  message: string | null,
  now: number,
): Executed | Refusal {
  const current = asOf(confirmation, now)
  const { id, execution } = current
  if (execution === null || execution.state === 'unclaimed' || execution.state === 'lapsed') {
    const sentence = `Confirmation ${id} was never claimed, so there is nothing to report. Claim it before acting.`
    return no(current, 'not_claimed', sentence)
  }
  if (execution.state === 'succeeded' || execution.state === 'failed') {
    const sentence = `Confirmation ${id} was reported before as ${execution.state}. That stands; nothing was changed.`
    return no(current, 'already_reported', sentence, { outcome: execution.state })
  }
  const { claimBy, claimedAt, reportBy } = execution
  return executed(current, { state, claimBy, claimedAt, reportBy, reportedAt: now, message })
}

/** The confirmation as it was when it was resolved, whatever was done with it since. */
export function asResolved(confirmation: Resolved): Resolved {
  if (confirmation.execution === null) return confirmation
  return { ...confirmation, execution: { state: 'unclaimed', claimBy: confirmation.execution.claimBy } }
}

function refused(confirmation: Pending, status: Refused['status'], resolution: Resolution): Refused {
  return { ...confirmation, version: confirmation.version + 1, status, resolution, execution: null }
}

function executed(confirmation: Approved, execution: Executed['execution']): Executed {
  return { ...confirmation, version: confirmation.version + 1, execution }
}

/** Nobody may claim the approval any more, or waits for the report. */
function endAct(confirmation: Resolved): Executed | null {
  if (confirmation.execution === null) return null
  const { execution } = confirmation
  if (execution.state === 'unclaimed') return executed(confirmation, { state: 'lapsed', claimBy: execution.claimBy })
  if (execution.state === 'claimed') return executed(confirmation, { ...execution, state: 'unreported' })
  return null
}

function no(of: Confirmation, code: RefusalCode, sentence: string, extra: Record<string, unknown> = {}): Refusal {
  return refuse(code, sentence, { status: of.status, ...extra })
}
