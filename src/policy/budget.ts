// How much of what somebody is refused is put on record: so much in a window, and then once that there is more.
import { type RateLimit, SlidingWindow } from './window.js'

export type Spent =
  | { kind: 'within' }
  /** `isNews`: the first beyond it, in this window. */
  | { kind: 'beyond'; isNews: boolean; resetMs: number }

export interface Budget {
  take(who: string, now: number): Spent
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
