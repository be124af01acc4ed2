// Where a notice goes: the first chat, then the next one that is left, at last the log (pure).
import { attempted, type NewEvent, notified } from '../audit/event.js'
import { asOf } from '../core/confirmation.js'
import type { ChannelName, Confirmation, Delivery } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { type DeliveryResult, progressAfter, queue } from './delivery.js'

/** A chat that is busy is waited for this long after the submission; then the next one is told meanwhile. */
const patienceMs = 30_000

/** A notice that was tried. */
export interface Tried {
  confirmation: Confirmation
  delivery: Delivery
  /** All notices of the confirmation, this one included. */
  all: Delivery[]
  /** The chats in the order in which they are tried. */
  order: ChannelName[]
}

export function isWorthWaiting({ createdAt }: Pick<Confirmation, 'createdAt'>, until: number): boolean {
  return until <= createdAt + patienceMs
}

/** Hands the confirmation to a chat, or to the log, which has no queue: the record of it is the telling. */
export function announce(
  confirmation: Confirmation,
  channel: ChannelName,
  now: number,
): { writes: Write[]; events: NewEvent[] } {
  const queued = queue(confirmation, channel, '', now)
  const delivery: Delivery = channel === 'log' ? { ...queued, state: 'sent', attempts: 1, nextAt: null } : queued
  return {
    writes: [{ kind: 'delivery', expect: 'absent', record: delivery }],
    events: channel === 'log' ? [notified(delivery, confirmation)] : [],
  }
}

/** What a try changes: this delivery, those it makes superfluous, and the channel that is told next. */
export function afterNotice(
  { confirmation, delivery, all, order }: Tried,
  result: DeliveryResult,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + (result.kind === 'skipped' ? 0 : 1)
  const isOver = asOf(confirmation, now).status !== 'pending'
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    ...(isOver && result.kind !== 'sent' ? dropped : progressAfter(result, attempts, now, random)),
  }
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [attempted(record, confirmation)],
  }
  if (result.kind === 'sent') {
    for (const other of all) if (other.nextAt !== null && other.channel !== delivery.channel) supersede(other)
    return change
  }
  const waits = result.kind === 'busy' && isWorthWaiting(confirmation, now + result.retryAfterMs)
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
