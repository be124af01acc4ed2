// A delivery: queued, and its state after a try (pure). What notices, alarms and callbacks have in common.
import type { ChannelName, Delivery, DeliveryKey, Occasion, Subject } from '../core/model.js'
import type { SendOutcome } from './chat.js'

/** `skipped`: the destination was not even tried, because it is known to be down until then, or for good. */
export interface Skipped {
  kind: 'skipped'
  until: number | null
  error: string
}

/** A person was told in one message with others. */
export interface Collected {
  kind: 'collected'
}

/** What came of a try. */
export type DeliveryResult = SendOutcome | Skipped | Collected

export type DeliveryProgress = Pick<Delivery, 'state' | 'nextAt' | 'error'>

const backoffMs = { first: 1000, most: 60_000 }

export function queue(
  { id: subjectId, share }: Pick<Subject, 'id' | 'share'>,
  channel: ChannelName,
  destination: string,
  now: number,
  occasion: Occasion = 'notice',
): Delivery {
  // Written out, as every submission comes by here.
  return {
    subjectId,
    channel,
    destination,
    occasion,
    share,
    version: 1,
    state: 'queued',
    attempts: 0,
    nextAt: now,
    updatedAt: now,
    toldAt: null,
    message: null,
    shown: null,
    error: null,
  }
}

/** Of the same subject. */
export function isSameDelivery(one: DeliveryKey, other: DeliveryKey): boolean {
  return one.channel === other.channel && one.destination === other.destination && one.occasion === other.occasion
}

/** Doubles from a second to a minute; `random` (0..1) spreads the tries over the upper half. */
export function backoff(attempts: number, random: number): number {
  const full = Math.min(backoffMs.most, backoffMs.first * 2 ** Math.max(0, attempts - 1))
  return Math.ceil(full * (0.5 + random / 2))
}

export function progressAfter(result: DeliveryResult, attempts: number, now: number, random: number): DeliveryProgress {
  switch (result.kind) {
    case 'sent':
      return { state: 'sent', nextAt: null, error: null }
    // Until when, whoever tells of it says.
    case 'collected':
      return { state: 'collected', nextAt: now, error: null }
    case 'refused':
      return { state: 'failed', nextAt: null, error: result.error }
    case 'busy':
      return { state: 'retrying', nextAt: now + Math.ceil(result.retryAfterMs), error: result.error }
    case 'failed':
      return { state: 'retrying', nextAt: now + backoff(attempts, random), error: result.error }
    case 'skipped':
      return { state: result.until === null ? 'failed' : 'retrying', nextAt: result.until, error: result.error }
  }
}
