// The confirmation's state machine: pending until exactly one resolution, then that for ever; an approval is claimed once,
// and reported once.
import { digestOf } from './digest.js'
import {
  type Confirmation,
  defaultTerms,
  type Execution,
  type Resolution,
  type Status,
  type Submission,
} from './model.js'
import { type Refusal, type RefusalCode, refuse } from './refusal.js'

export function hold(submission: Submission, id: string, now: number, terms = defaultTerms): Confirmation {
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
    digest: digestOf(submission),
    callbackUrl: submission.callbackUrl,
    requestedAs: submission.requestedAs,
    onBehalfOf: submission.onBehalfOf,
    terms,
    votes: [],
    resolution: null,
    execution: null,
  }
}

export function statusOf(confirmation: Confirmation): Status {
  return confirmation.resolution?.status ?? 'pending'
}

/** When time alone will change it next: its deadline, the end of its approval, the end of the wait for a report. */
export function dueAt({ resolution, execution, deadline }: Confirmation): number | null {
  if (resolution === null) return deadline
  if (execution?.state === 'unclaimed') return execution.claimBy
  if (execution?.state === 'claimed') return execution.reportBy
  return null
}

/** The confirmation as it truly is at `now`, whether or not what time did to it has been written down yet. */
export function asOf(confirmation: Confirmation, now: number): Confirmation {
  const due = dueAt(confirmation)
  if (due === null) return confirmation
  const { resolution, execution, createdAt, deadline } = confirmation
  // One that claims to come from the future was written before the clock was set back: its age is unknown, so it is due.
  if (now < due && now >= (resolution?.at ?? createdAt)) return confirmation
  if (resolution === null) {
    const at = Math.min(deadline, Math.max(now, createdAt))
    return next(confirmation, {
      resolution: { status: 'expired', by: 'system:timeout', at, via: 'system', reason: null },
    })
  }
  if (execution!.state === 'unclaimed') return next(confirmation, { execution: { ...execution!, state: 'lapsed' } })
  return next(confirmation, { execution: { ...execution!, state: 'unreported' } })
}

/** Resolves a pending confirmation, or says what stands instead. A yes is good for `approvalMs`. */
export function resolve(
  confirmation: Confirmation,
  resolution: Resolution,
  approvalMs: number,
): Confirmation | Refusal {
  const current = asOf(confirmation, resolution.at)
  if (current.resolution !== null) return alreadyResolved(current)
  const isYes = resolution.status === 'approved' || resolution.status === 'auto_approved'
  return next(current, { resolution, execution: isYes ? unclaimed(resolution.at + approvalMs) : null })
}

/** What stands, to whoever comes too late. */
export function alreadyResolved({ id, resolution }: Confirmation): Refusal {
  const { status, by, at } = resolution!
  return refuse('already_resolved', standing(id, resolution!), {
    status,
    resolved_by: by,
    resolved_at: at / 1000,
  })
}

/** The last gate before acting: passes once, for what was approved and nothing else. `reportMs` is the time to act. */
export function claim(
  confirmation: Confirmation,
  digest: string | null,
  now: number,
  reportMs: number,
): Confirmation | Refusal {
  const current = asOf(confirmation, now)
  const { id, execution, resolution } = current
  if (execution === null) {
    const standing = resolution === null ? 'is still pending' : `was not approved: it is ${resolution.status}`
    return no(current, 'not_approved', `Confirmation ${id} ${standing}. Do not act.`)
  }
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
    return no(current, 'already_claimed', sentence, { claimed_at: execution.claimedAt! / 1000 })
  }
  // Last, so that nobody is sent to compute one in vain.
  if (digest === null && current.terms.needsDigest) {
    const sentence = `The rule '${current.terms.rule}' lets ${id} be claimed only with a digest. Do not act; compute it from what you are about to do, and claim again with it in 'digest'.`
    return no(current, 'digest_required', sentence)
  }
  return next(current, { execution: { ...execution, state: 'claimed', claimedAt: now, reportBy: now + reportMs } })
}

/**
 * Ends what may still lead to an act: what is pending is withdrawn, an approval lapses. What is claimed may have been done: it
 * can be reported, but no claim that is repeated is told to go ahead.
 */
export function endOpen(confirmation: Confirmation, by: string, reason: string, now: number): Confirmation {
  const current = asOf(confirmation, now)
  const { resolution, execution } = current
  if (resolution === null)
    return next(current, { resolution: { status: 'cancelled', by, at: now, via: 'system', reason } })
  if (execution?.state === 'unclaimed') return next(current, { execution: { ...execution, state: 'lapsed' } })
  if (execution?.state === 'claimed') return next(current, { execution: { ...execution, state: 'unreported' } })
  return current
}

/** How the act went. Late is better than never; twice is not. */
export function report(
  confirmation: Confirmation,
  outcome: 'succeeded' | 'failed',
  message: string | null,
  now: number,
): Confirmation | Refusal {
  const current = asOf(confirmation, now)
  const { id, execution } = current
  if (execution === null || execution.claimedAt === null) {
    const sentence = `Confirmation ${id} was never claimed, so there is nothing to report. Claim it before acting.`
    return no(current, 'not_claimed', sentence)
  }
  if (execution.reportedAt !== null) {
    const sentence = `Confirmation ${id} was reported before as ${execution.state}. That stands; nothing was changed.`
    return no(current, 'already_reported', sentence, { outcome: execution.state })
  }
  return next(current, { execution: { ...execution, state: outcome, reportedAt: now, message } })
}

/** The confirmation as it was when it was resolved, whatever was done with it since. */
export function asResolved(confirmation: Confirmation): Confirmation {
  const { execution } = confirmation
  return execution === null ? confirmation : { ...confirmation, execution: unclaimed(execution.claimBy) }
}

function next(confirmation: Confirmation, change: Partial<Confirmation>): Confirmation {
  return { ...confirmation, ...change, version: confirmation.version + 1 }
}

function unclaimed(claimBy: number): Execution {
  return { state: 'unclaimed', claimBy, claimedAt: null, reportBy: null, reportedAt: null, message: null }
}

function no(of: Confirmation, code: RefusalCode, sentence: string, extra: Record<string, unknown> = {}): Refusal {
  return refuse(code, sentence, { status: statusOf(of), ...extra })
}

function standing(id: string, { status, by }: Resolution): string {
  const what =
    status === 'expired' ? 'expired before an answer came' : `was already ${status.replace('_', '-')} by ${by}`
  return `Confirmation ${id} ${what}. That stands; nothing was changed.`
}
