// The circuit breaker: denials and expiries in a row, and what they lead to (pure).
import type { Breaker } from '../policy/policy.js'

/** What comes of a streak, in this order; each once, but for the last one, which every further failure leads to again. */
export const steps = ['warn', 'wait', 'suspend'] as const
export type Step = (typeof steps)[number]

export interface Streak {
  /** Denials and expiries since a person last approved something. */
  failures: number
  /** How many steps were taken; of a requester, how many times it had to wait. */
  steps: number
  /** When the last one was: what was submitted before leads to no further one. */
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
  const failed = { ...streak, failures: streak.failures + 1 }
  if (submittedAt < streak.steppedAt) return { streak: failed, step: null }
  const left = steps.slice(Math.min(streak.steps, steps.length - 1)).filter((step) => thresholdOf(step, breaker) > 0)
  const [step] = left
  if (step === undefined || failed.failures < thresholdOf(step, breaker)) return { streak: failed, step: null }
  return { streak: stepped(failed, steps.indexOf(step) + 1, step === 'wait' ? breaker.waitMs : 0, now), step }
}

/** The same over all sessions of a requester, which has to wait each time that there are so many more. */
export function failOfRequester(streak: Streak, submittedAt: number, breaker: Breaker, now: number): Failed {
  const failed = { ...streak, failures: streak.failures + 1 }
  const isDue = breaker.waitAt > 0 && failed.failures >= breaker.waitAt * (streak.steps + 1)
  if (submittedAt < streak.steppedAt || !isDue) return { streak: failed, step: null }
  return { streak: stepped(failed, streak.steps + 1, breaker.waitMs, now), step: 'wait' }
}

function stepped(streak: Streak, taken: number, waitMs: number, now: number): Streak {
  const waitsUntil = waitMs === 0 ? streak.waitsUntil : now + waitMs
  return { ...streak, steps: taken, steppedAt: now, waitsUntil }
}

function thresholdOf(step: Step, { warnAt, waitAt, suspendAt }: Breaker): number {
  return { warn: warnAt, wait: waitAt, suspend: suspendAt }[step]
}
