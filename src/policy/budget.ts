// How many refusals of one caller are recorded: a quota per window, and then once that there is more.
import { type RateLimit, SlidingWindow } from './window.js'

export type Budgeted =
  | { kind: 'within' }
  /** `isNews`: the first beyond it, in this window. */
  | { kind: 'beyond'; isNews: boolean; resetMs: number }

export interface Budget {
  take(who: string, now: number): Budgeted
}

export function createBudget(limit: RateLimit): Budget {
  const taken = new SlidingWindow(limit.windowMs)
  const told = new SlidingWindow(limit.windowMs)
  return {
    take(who, now) {
      const { allowed, resetMs } = taken.take(who, now, limit)
      if (allowed) return { kind: 'within' }
      return { kind: 'beyond', isNews: told.take(who, now, { ...limit, max: 1 }).allowed, resetMs }
    },
  }
}
