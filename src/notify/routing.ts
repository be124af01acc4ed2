// Where a notice goes: the first chat, then the next one that is left, at last the log (pure).
import { attempted, type NewEvent, notified } from '../audit/event.js'
import type { ChannelName, Confirmation, Delivery } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import type { SendOutcome } from './notifier.js'

/** A chat that asks for a longer pause than this is not waited for: the next one is told meanwhile. */
export const patienceMs = 30_000
const backoffMs = { first: 1000, most: 60_000 }

/** Doubles from a second to a minute; `random` (0..1) spreads the tries over the upper half. */
export function backoff(attempts: number, random: number): number {
  const full = Math.min(backoffMs.most, backoffMs.first * 2 ** Math.max(0, attempts - 1))
  return Math.ceil(full * (0.5 + random / 2))
}

/** Hands the confirmation to a chat, or to the log, which has no queue: it is told by being written down. */
export function announce(
  confirmation: Confirmation,
  channel: ChannelName,
  now: number,
): { writes: Write[]; events: NewEvent[] } {
  const delivery: Delivery = {
    confirmationId: confirmation.id,
    channel,
    version: 1,
    ...(channel === 'log'
      ? { state: 'sent', attempts: 1, nextAt: null }
      : { state: 'queued', attempts: 0, nextAt: now }),
    updatedAt: now,
    error: null,
  }
  return {
    writes: [{ kind: 'delivery', expect: 'absent', record: delivery }],
    events: channel === 'log' ? [notified(delivery, confirmation)] : [],
  }
}

/** `skipped`: the chat was not even tried, because it is known to be down until then, or for good. */
export type Attempt = SendOutcome | { kind: 'skipped'; until: number | null; error: string }

export interface Attempted {
  confirmation: Confirmation
  delivery: Delivery
  /** All deliveries of the confirmation, this one included. */
  all: Delivery[]
  /** The chats in the order in which they are tried. */
  order: ChannelName[]
}

/** What an attempt changes: this delivery, those it makes superfluous, and the channel that is told next. */
export function afterAttempt(
  { confirmation, delivery, all, order }: Attempted,
  attempt: Attempt,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + (attempt.kind === 'skipped' ? 0 : 1)
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    ...stateAfter(attempt, attempts, now, random),
  }
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [attempted(record)],
  }
  if (attempt.kind === 'sent') {
    change.writes.push(
      ...all.filter((other) => other.nextAt !== null && other.channel !== delivery.channel).map(supersede),
    )
    return change
  }
  const waits = attempt.kind === 'busy' && attempt.retryAfterMs <= patienceMs
  const following = order[order.indexOf(delivery.channel) + 1] ?? 'log'
  if (!waits && !all.some(({ channel }) => channel === following)) {
    const { writes, events } = announce(confirmation, following, now)
    change.writes.push(...writes)
    change.events.push(...events)
  }
  return change

  function supersede(other: Delivery): Write {
    const settled: Delivery = {
      ...other,
      version: other.version + 1,
      state: 'superseded',
      nextAt: null,
      updatedAt: now,
    }
    return { kind: 'delivery', expect: other.version, record: settled }
  }
}

/** The confirmation was resolved before this channel could say it. */
export function drop(delivery: Delivery, now: number): Change {
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    state: 'dropped',
    nextAt: null,
    updatedAt: now,
    error: 'resolved before it could be sent',
  }
  return { writes: [{ kind: 'delivery', expect: delivery.version, record }], events: [attempted(record)] }
}

function stateAfter(
  attempt: Attempt,
  attempts: number,
  now: number,
  random: number,
): Pick<Delivery, 'state' | 'nextAt' | 'error'> {
  switch (attempt.kind) {
    case 'sent':
      return { state: 'sent', nextAt: null, error: null }
    case 'refused':
      return { state: 'failed', nextAt: null, error: attempt.error }
    case 'busy':
      return { state: 'retrying', nextAt: now + Math.ceil(attempt.retryAfterMs), error: attempt.error }
    case 'failed':
      return { state: 'retrying', nextAt: now + backoff(attempts, random), error: attempt.error }
    case 'skipped':
      return { state: attempt.until === null ? 'failed' : 'retrying', nextAt: attempt.until, error: attempt.error }
  }
}
