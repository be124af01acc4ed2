// Where a notice goes: the first chat, then the next one that is left, at last the log, while there is time to decide (pure).
import { attempted, type NewEvent, notified } from '../audit/event.js'
import { asOf } from '../core/confirmation.js'
import type { ChannelName, Confirmation, Delivery } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { type DeliveryResult, progressAfter, queue } from './delivery.js'

/** Chats have this long to take a message, and no more than a quarter of the time that there is to decide. */
const patienceMs = 30_000
const patiencePart = 1 / 4

/** A notice that was tried. */
export interface Tried {
  confirmation: Confirmation
  delivery: Delivery
  /** All notices of the confirmation, this one included. */
  all: Delivery[]
  /** The chats in the order in which they are tried. */
  order: ChannelName[]
}

type Life = Pick<Confirmation, 'createdAt' | 'deadline'>

/** When the log is told, and every chat that was not asked yet, unless somebody was told by then. */
export function tellBy({ createdAt, deadline }: Life): number {
  return createdAt + Math.min(patienceMs, Math.floor((deadline - createdAt) * patiencePart))
}

/** A chat that is busy is waited for until then; beyond that, the next one is told meanwhile, as long as there is one. */
export function isWorthWaiting(notice: Life & { isInLog: boolean }, until: number): boolean {
  return notice.isInLog || until <= tellBy(notice)
}

/** Hands the confirmation to the first channel: a chat, behind which stands the log, or the log itself. */
export function announce(confirmation: Confirmation, channel: ChannelName, now: number): Part {
  if (channel === 'log') return tellLog(confirmation, undefined, now)
  const fallback = { ...queue(confirmation, 'log', '', now), nextAt: tellBy(confirmation) }
  return {
    writes: [ask(confirmation, channel, now), { kind: 'delivery', expect: 'absent', record: fallback }],
    events: [],
  }
}

/** What belongs into a change. */
type Part = Pick<Change, 'writes'> & { events: NewEvent[] }

function ask(confirmation: Confirmation, chat: ChannelName, now: number): Write {
  return { kind: 'delivery', expect: 'absent', record: queue(confirmation, chat, '', now) }
}

/** The log takes everything at once: the record of it is the telling. `known` is what stands there so far. */
function tellLog(confirmation: Confirmation, known: Delivery | undefined, now: number): Part {
  const { version, ...queued } = known ?? { ...queue(confirmation, 'log', '', now), version: 0 }
  const told = { state: 'sent', attempts: 1, nextAt: null, updatedAt: now } as const
  const record: Delivery = { ...queued, ...told, version: version + 1 }
  return {
    writes: [{ kind: 'delivery', expect: known?.version ?? 'absent', record }],
    events: [notified(record, confirmation)],
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
  const isLog = delivery.channel === 'log'
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [isLog && record.state === 'sent' ? notified(record, confirmation) : attempted(record, confirmation)],
  }
  if (result.kind === 'sent' && isLog) {
    // The log is the last resort: whoever can still be told in a chat is.
    const unasked = order.filter((chat) => !all.some(({ channel }) => channel === chat))
    change.writes.push(...unasked.map((chat) => ask(confirmation, chat, now)))
    return change
  }
  if (result.kind === 'sent') {
    for (const other of all) if (other.nextAt !== null && other.channel !== delivery.channel) supersede(other)
    return change
  }
  const isInLog = logOf(all)?.state === 'sent'
  const waits = result.kind === 'busy' && isWorthWaiting({ ...confirmation, isInLog }, now + result.retryAfterMs)
  const following = isOver || waits ? undefined : nextInLine(delivery.channel, all, order)
  if (following === 'log') {
    const { writes, events } = tellLog(confirmation, logOf(all), now)
    change.writes.push(...writes)
    change.events.push(...events)
  } else if (following !== undefined) change.writes.push(ask(confirmation, following, now))
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
    // Nobody tried the log: that it stood ready is no news.
    if (other.channel !== 'log') change.events.push(attempted(settled, confirmation))
  }
}

/** The confirmation was resolved before this channel could say it. */
const dropped = { state: 'dropped', nextAt: null, error: 'resolved before it could be sent' } as const

/** Who was not told yet, further down; nobody while a later chat still has it in hand. */
function nextInLine(channel: ChannelName, all: Delivery[], order: ChannelName[]): ChannelName | undefined {
  for (const next of order.slice(order.indexOf(channel) + 1)) {
    const told = all.find((one) => one.channel === next)
    if (told === undefined) return next
    if (told.nextAt !== null || told.state === 'sent') return undefined
  }
  const log = logOf(all)
  return log === undefined || log.nextAt !== null ? 'log' : undefined
}

function logOf(all: Delivery[]): Delivery | undefined {
  return all.find(({ channel }) => channel === 'log')
}
