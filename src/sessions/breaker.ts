// The circuit breaker: denials and expiries in a row, and what they lead to (pure).
import type { Breaker } from '../policy/policy.js'

/** What comes of a streak. A warning is only said; the others are steps, which end trust. */
export const steps = ['warn', 'wait', 'suspend'] as const
export type Step = (typeof steps)[number]

export interface Streak {
  /** Denials and expiries since a person last approved something. */
  failures: number
  /** How many times it had to wait, or was suspended. */
  steps: number
  /** When that was last: what was submitted before leads to no further step. */
  steppedAt: number
  /** Until then nothing is taken. */
  waitsUntil: number
}

export const noStreak: Streak = { failures: 0, steps: 0, steppedAt: 0, waitsUntil: 0 }

export interface Failed {
  streak: Streak
  step: Step | null
}

/** One more failure in a session, of a request that was submitted then. */
export function failInSession(streak: Streak, submittedAt: number, breaker: Breaker, now: number): Failed {
  const failed = failOfRequester(streak, submittedAt, breaker, now)
  const { failures } = failed.streak
  const mayStep = submittedAt >= streak.steppedAt
  if (mayStep && breaker.suspendAt > 0 && failures >= breaker.suspendAt) {
    return { streak: stepped({ ...streak, failures }, 0, now), step: 'suspend' }
  }
  return failed.step === null && failures === breaker.warnAt ? { ...failed, step: 'warn' } : failed
}

/** The same over all sessions of a requester. It has to wait each time that there are so many more. */
export function failOfRequester(streak: Streak, submittedAt: number, { waitAt, waitMs }: Breaker, now: number): Failed {
  const failed = { ...streak, failures: streak.failures + 1 }
  const isDue = waitAt > 0 && failed.failures >= waitAt * (streak.steps + 1)
  if (submittedAt < streak.steppedAt || !isDue) return { streak: failed, step: null }
  return { streak: stepped(failed, waitMs, now), step: 'wait' }
}

function stepped(streak: Streak, waitMs: number, now: number): Streak {
  const waitsUntil = waitMs === 0 ? streak.waitsUntil : now + waitMs
  return { ...streak, steps: streak.steps + 1, steppedAt: now, waitsUntil }
}
