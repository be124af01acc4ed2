// When a callback is tried, and when again (pure).
import { attempted } from '../audit/event.js'
import type { Confirmation, Delivery, Subject } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { type DeliveryProgress, type DeliveryResult, progressAfter, queue } from './delivery.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Standard Webhooks: how long after each failure a callback is tried again. After the last one it is given up. */
const pausesMs = [5000, 5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs)]

/** The delivery of the resolved record to the URL that the requester gave. */
export function callBack(confirmation: Confirmation, now: number): Write[] {
  const { callbackUrl } = confirmation
  if (callbackUrl === null) return []
  return [
    { kind: 'delivery', expect: 'absent', record: queue(confirmation, 'callback', new URL(callbackUrl).host, now) },
  ]
}

/** What a call changes: this delivery alone. */
export function afterCall(
  subject: Subject,
  delivery: Delivery,
  result: DeliveryResult,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + 1
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    ...progressOf(result, attempts, now, random),
  }
  return { writes: [{ kind: 'delivery', expect: delivery.version, record }], events: [attempted(record, subject)] }
}

function progressOf(result: DeliveryResult, attempts: number, now: number, random: number): DeliveryProgress {
  if (result.kind === 'sent' || result.kind === 'collected' || result.kind === 'refused')
    return progressAfter(result, attempts, now, random)
  const pauseMs = pausesMs[attempts - 1]
  if (pauseMs === undefined) return { state: 'failed', nextAt: null, error: result.error }
  // A tenth more or less, so that those that failed together do not come back together.
  const planned = pauseMs * (0.9 + random / 5)
  const wished = result.kind === 'busy' ? result.retryAfterMs : 0
  return { state: 'retrying', nextAt: now + Math.ceil(Math.max(planned, wished)), error: result.error }
}
