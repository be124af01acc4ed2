// How much of what somebody is refused is recorded: so many a minute, and then once that there is more. Beyond that nothing is
// written.
import type { Clock } from '../clock.js'
import type { RateLimit } from '../policy/window.js'
import { type Change, isCommitted, type Store } from '../store/store.js'

export type Budget = ReturnType<typeof createBudget>

/** Each who, on each budget. */
const limit: RateLimit = { max: 30, windowMs: 60_000 }

export function createBudget(store: Store, clock: Clock) {
  /** Commits it if the quota has room, which is looked up first. Null: it was committed; else when there is room. */
  async function commitWithin(quota: string, limit: RateLimit, change: Change): Promise<{ resetMs: number } | null> {
    const { remaining, resetMs } = await store.quotas.peek(quota, clock.now(), limit)
    if (remaining === 0) return { resetMs }
    const requires = [...(change.requires ?? []), { kind: 'slot' as const, quota, limit, count: 1 }]
    const outcome = await store.commit({ ...change, requires })
    if (isCommitted(outcome)) return null
    return { resetMs: outcome === 'conflict' ? 0 : (outcome.quota?.resetMs ?? 0) }
  }

  /** Records what is within the quota, or the first beyond it in each window. Null: it was within; else when there is room. */
  return async (quota: string, within: Change, beyond: () => Change): Promise<{ resetMs: number } | null> => {
    const full = await commitWithin(quota, limit, within)
    if (full === null) return null
    await commitWithin(`beyond ${quota}`, { ...limit, max: 1 }, beyond())
    return full
  }
}
