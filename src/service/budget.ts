// How much of what somebody is refused is recorded: so many a minute, and then once that there is more. Beyond that nothing is
// written, and whoever counts is told.
import { type NewEvent, rejected } from '../audit/event.js'
import type { Clock } from '../clock.js'
import { isVerified, textOf } from '../core/actor.js'
import { refuse } from '../core/refusal.js'
import type { RateLimit } from '../policy/window.js'
import { isCommitted, type Requirement, type Store } from '../store/store.js'

export type Budget = ReturnType<typeof createBudget>

/** By what right somebody acts, which must last until the commit: a key, or open mode. Null: what needs neither. */
export type Authority = Extract<Requirement, { kind: 'key_live' | 'no_keys' }> | null

interface Recorded {
  /** As many as had room, the first ones. */
  count: number
  /** Until there is more room. */
  resetMs: number
  /** The authority did not last; nothing was recorded. */
  isLost: boolean
}

/** Each who, on each budget. */
const limit: RateLimit = { max: 30, windowMs: 60_000 }

export function createBudget(store: Store, clock: Clock) {
  const listeners = new Set<(refused: NewEvent) => void>()

  /** Commits as many as the quota has room for, which is looked up first. */
  async function commitWithin(
    quota: string,
    limit: RateLimit,
    events: NewEvent[],
    authority: Authority,
  ): Promise<Recorded> {
    let { remaining, resetMs } = await store.quotas.peek(quota, clock.now(), limit)
    while (remaining > 0) {
      const [first, ...more] = events.slice(0, remaining)
      const count = 1 + more.length
      const slot: Requirement = { kind: 'slot', quota, limit, count }
      const requires = authority === null ? [slot] : [authority, slot]
      const outcome = await store.commit({ writes: [], events: [first!, ...more], requires })
      if (outcome === 'conflict') break
      if (isCommitted(outcome)) return { count, resetMs: outcome.quotas[0]!.resetMs, isLost: false }
      if (outcome.unmet === authority) return { count: 0, resetMs: 0, isLost: true }
      ;({ remaining, resetMs } = outcome.quota!)
    }
    return { count: 0, resetMs, isLost: false }
  }

  /** Records what is within the quota, or that there is more, once in each window. Of one actor, and not empty. */
  async function record(quota: string, events: NewEvent[], authority: Authority = null): Promise<Recorded> {
    const recorded = await commitWithin(quota, limit, events, authority)
    const rest = events.slice(recorded.count)
    const [next] = rest
    if (recorded.isLost || next === undefined) return recorded
    await commitWithin(`beyond ${quota}`, { ...limit, max: 1 }, [thereIsMore(next)], null)
    for (const event of rest) listeners.forEach((listener) => listener(event))
    return recorded
  }

  return {
    record,

    /** What somebody was refused who acts by this authority. Answers whether that has lasted. In open mode all are one. */
    async recordFor(authority: Authority, events: NewEvent[]): Promise<boolean> {
      const [first] = events
      if (first === undefined) return true
      const quota = isVerified(first.actor) ? `refused name ${textOf(first.actor)}` : 'refused'
      return !(await record(quota, events, authority)).isLost
    },

    /** Calls the listener with each that is not recorded. */
    onUnrecorded(listener: (refused: NewEvent) => void): void {
      listeners.add(listener)
    },
  }
}

function thereIsMore({ actor, at, via, confirmationId, type, data }: NewEvent): NewEvent {
  const about = type === 'rejected' ? data : type === 'rate_limited' ? { action: data.action } : {}
  return rejected(refuse('guess_limited', ''), { actor, at, via, confirmationId }, about)
}
