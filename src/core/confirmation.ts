// The confirmation's state machine: pending until exactly one resolution, then that for ever.
import type { Confirmation, Resolution, Status } from './model.js'
import { type Refusal, refuse } from './refusal.js'

export interface Submission {
  action: string
  description: string
  /** JSON text of an object. */
  details: string
  requester: string
  sessionKey: string
  timeoutSeconds: number
}

export function hold(submission: Submission, id: string, now: number): Confirmation {
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
    resolution: null,
  }
}

export function statusOf(confirmation: Confirmation): Status {
  return confirmation.resolution?.status ?? 'pending'
}

/**
 * Due at the deadline, to the millisecond. One that claims to come from the future was written before the clock was
 * set back: its age is unknown, so it counts as due.
 */
export function isLapsed(confirmation: Confirmation, now: number): boolean {
  return confirmation.resolution === null && (now >= confirmation.deadline || now < confirmation.createdAt)
}

/** The confirmation as it truly is at `now`, whether or not its expiry has been written down yet. */
export function asOf(confirmation: Confirmation, now: number): Confirmation {
  if (!isLapsed(confirmation, now)) return confirmation
  return close(confirmation, {
    status: 'expired',
    by: 'system:timeout',
    at: Math.min(confirmation.deadline, Math.max(now, confirmation.createdAt)),
    via: 'system',
    reason: null,
  })
}

/** Resolves a pending confirmation, or says what stands instead. */
export function resolve(confirmation: Confirmation, resolution: Resolution): Confirmation | Refusal {
  const current = asOf(confirmation, resolution.at)
  if (current.resolution === null) return close(current, resolution)
  return refuse('already_resolved', standing(current.id, current.resolution), {
    status: current.resolution.status,
    resolved_by: current.resolution.by,
    resolved_at: current.resolution.at / 1000,
  })
}

function close(confirmation: Confirmation, resolution: Resolution): Confirmation {
  return { ...confirmation, version: confirmation.version + 1, resolution }
}

function standing(id: string, { status, by }: Resolution): string {
  const what =
    status === 'expired' ? 'expired before an answer came' : `was already ${status.replace('_', '-')} by ${by}`
  return `Confirmation ${id} ${what}. That stands; nothing was changed.`
}
