// Where a notice goes: the first chat, then the next one that is left, at last the log. And when a callback is tried (pure).
import { attempted, type NewEvent, notified } from '../audit/event.js'
import { asOf } from '../core/confirmation.js'
import type { ChannelName, Confirmation, Delivery } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import type { SendOutcome } from './notifier.js'

/** A chat that is busy is waited for this long after the submission; then the next one is told meanwhile. */
const patienceMs = 30_000
const backoffMs = { first: 1000, most: 60_000 }

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Standard Webhooks: how long after each failure a callback is tried again. After the last one it is given up. */
const callbackPausesMs = [5000, 5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs)]

/** Doubles from a second to a minute; `random` (0..1) spreads the tries over the upper half. */
export function backoff(attempts: number, random: number): number {
  const full = Math.min(backoffMs.most, backoffMs.first * 2 ** Math.max(0, attempts - 1))
  return Math.ceil(full * (0.5 + random / 2))
}

export function isWorthWaiting({ createdAt }: Pick<Confirmation, 'createdAt'>, until: number): boolean {
  return until <= createdAt + patienceMs
}

/** Hands the confirmation to a chat, or to the log, which has no queue: it is told by being written down. */
export function announce(
  confirmation: Confirmation,
  channel: ChannelName,
  now: number,
): { writes: Write[]; events: NewEvent[] } {
  const queued = queue(confirmation.id, channel, '', now)
  const delivery: Delivery = channel === 'log' ? { ...queued, state: 'sent', attempts: 1, nextAt: null } : queued
  return {
    writes: [{ kind: 'delivery', expect: 'absent', record: delivery }],
    events: channel === 'log' ? [notified(delivery, confirmation)] : [],
  }
}

/** The delivery of the resolved record to whoever asked for it. */
export function callBack({ id, callbackUrl }: Confirmation, now: number): Write[] {
  if (callbackUrl === null) return []
  const record = queue(id, 'callback', new URL(callbackUrl).host, now)
  return [{ kind: 'delivery', expect: 'absent', record }]
}

function queue(confirmationId: string, channel: ChannelName, destination: string, now: number): Delivery {
  const fresh = { version: 1, state: 'queued', attempts: 0, nextAt: now, updatedAt: now, error: null } as const
  return { confirmationId, channel, destination, ...fresh }
}

/** `skipped`: the chat was not even tried, because it is known to be down until then, or for good. */
export interface Skipped {
  kind: 'skipped'
  until: number | null
  error: string
}

export type Attempt = SendOutcome | Skipped

export interface Attempted {
  confirmation: Confirmation
  delivery: Delivery
  /** All notices of the confirmation, this one included. */
  all: Delivery[]
  /** The chats in the order in which they are tried. */
  order: ChannelName[]
}

/** What an attempt to call back changes: this delivery alone. */
export function afterCall(
  confirmation: Confirmation,
  delivery: Delivery,
  attempt: Attempt,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + 1
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    ...callStateAfter(attempt, attempts, now, random),
  }
  return { writes: [{ kind: 'delivery', expect: delivery.version, record }], events: [attempted(record, confirmation)] }
}

function callStateAfter(attempt: Attempt, attempts: number, now: number, random: number) {
  if (attempt.kind === 'sent' || attempt.kind === 'refused') return stateAfter(attempt, attempts, now, random)
  const pauseMs = callbackPausesMs[attempts - 1]
  if (pauseMs === undefined) return { state: 'failed' as const, nextAt: null, error: attempt.error }
  // A tenth more or less, so that those that failed together do not come back together.
  const planned = pauseMs * (0.9 + random / 5)
  const wished = attempt.kind === 'busy' ? attempt.retryAfterMs : 0
  return { state: 'retrying' as const, nextAt: now + Math.ceil(Math.max(planned, wished)), error: attempt.error }
}

/** What an attempt changes: this delivery, those it makes superfluous, and the channel that is told next. */
export function afterAttempt(
  { confirmation, delivery, all, order }: Attempted,
  attempt: Attempt,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + (attempt.kind === 'skipped' ? 0 : 1)
  const isOver = asOf(confirmation, now).status !== 'pending'
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    ...(isOver && attempt.kind !== 'sent' ? dropped : stateAfter(attempt, attempts, now, random)),
  }
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [attempted(record, confirmation)],
  }
  if (attempt.kind === 'sent') {
    for (const other of all) if (other.nextAt !== null && other.channel !== delivery.channel) supersede(other)
    return change
  }
  const waits = attempt.kind === 'busy' && isWorthWaiting(confirmation, now + attempt.retryAfterMs)
  const following = isOver || waits ? undefined : nextInLine(delivery.channel, all, order)
  if (following !== undefined) {
    const { writes, events } = announce(confirmation, following, now)
    change.writes.push(...writes)
    change.events.push(...events)
  }
  return change

  function supersede(other: Delivery): void {
    const settled: Delivery = {
      ...other,
      version: other.version + 1,
      state: 'superseded',
      nextAt: null,
      updatedAt: now,
    }
    change.writes.push({ kind: 'delivery', expect: other.version, record: settled })
    change.events.push(attempted(settled, confirmation))
  }
}

/** The confirmation was resolved before this channel could say it. */
const dropped = { state: 'dropped', nextAt: null, error: 'resolved before it could be sent' } as const

/** Who was not told yet, further down; nobody while a later chat still has it in hand. */
function nextInLine(channel: ChannelName, all: Delivery[], order: ChannelName[]): ChannelName | undefined {
  for (const next of [...order.slice(order.indexOf(channel) + 1), 'log' as const]) {
    const told = all.find((one) => one.channel === next)
    if (told === undefined) return next
    if (told.nextAt !== null || told.state === 'sent') return undefined
  }
  return undefined
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
