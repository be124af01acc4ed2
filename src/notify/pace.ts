// How many messages one place is sent: slots in the store, so that a restart and a second process count the same.
import type { ChannelName } from '../core/model.js'
import type { Quota } from '../policy/window.js'
import type { Due, Store } from '../store/store.js'
import { isAsked, isTelling } from './notices.js'

const minuteMs = 60_000
/** What comes at once is collected: whoever is first waits so long for the others. */
export const gatherMs = 2000
/** A message that collects is one more. So soon after it there is no other; somebody must be told within half a minute. */
const betweenMs = 20_000

export interface Pace {
  /** Whether there is any limit. */
  isLimited: boolean
  /** How many messages the place takes now, and when it takes the next. */
  peek(destination: string, now: number): Promise<Quota>
  /** Whether it takes one more, which counts. */
  take(destination: string): Promise<boolean>
  /** The same of messages that collect, which do not count among the others. */
  peekCollecting(destination: string, now: number): Promise<Quota>
  takeCollecting(destination: string): Promise<boolean>
}

/** `perMinute` 0: no limit. */
export function createPace({ quotas }: Pick<Store, 'quotas'>, channel: ChannelName, perMinute: number): Pace {
  const isLimited = perMinute > 0
  const own = { max: perMinute, windowMs: minuteMs }
  const collecting = { max: 1, windowMs: betweenMs }
  const ownName = (destination: string) => `messages ${channel} ${destination}`
  const collectingName = (destination: string) => `collecting ${channel} ${destination}`
  return {
    isLimited,
    peek: async (destination, now) =>
      isLimited ? quotas.peek(ownName(destination), now, own) : { remaining: Infinity, resetMs: 0 },
    take: async (destination) => !isLimited || quotas.take(ownName(destination), own),
    peekCollecting: (destination, now) => quotas.peek(collectingName(destination), now, collecting),
    takeCollecting: (destination) => quotas.take(collectingName(destination), collecting),
  }
}

/** It goes out, and nobody asked for it: so it counts. */
export function counts(due: Due, now: number): boolean {
  return !isAsked(due) && !isOver(due, now)
}

/** It is dropped when it is its turn. */
export function isOver({ isResolved, deadline }: Due, now: number): boolean {
  return isResolved || (deadline !== null && now >= deadline)
}

/** The first that somebody is told of a request: it can be told with others. Alarms and reminders wait for their turn. */
export function canBeCollected(due: Due): boolean {
  return due.deadline !== null && due.state !== 'collected' && isTelling(due)
}
