// Where a notice goes: the first chat, then the next one that is left, at last the log, while there is time to decide (pure).
// An alarm goes the same way, but nothing makes it too late.
import { attempted, type NewEvent, notified } from '../audit/event.js'
import { asOf } from '../core/confirmation.js'
import { type Alarm, type ChannelName, type Confirmation, type Delivery, isAlarm, type Subject } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { type DeliveryProgress, type DeliveryResult, progressAfter, queue } from './delivery.js'

/** Chats have this long to take a message, and no more than a quarter of the time that there is to decide. */
const patienceMs = 30_000
const patiencePart = 1 / 4
/** Nothing ends an alarm. So once the log has it, chats are tried for so long, each pause at least this part of it so far. */
const alarmTriesMs = 24 * 3600 * 1000
const alarmPausePart = 1 / 10

/** A notice or an alarm that was tried. */
export interface Tried {
  subject: Subject
  delivery: Delivery
  /** All deliveries to people of the subject, this one included. */
  all: Delivery[]
  /** The chats in the order in which they are tried. */
  order: ChannelName[]
}

/** Without a deadline: an alarm. */
type Life = Pick<Subject, 'createdAt'> & { deadline?: number | null }

/** When the log is told, and every chat that was not asked yet, unless somebody was told by then. */
export function tellBy({ createdAt, deadline = null }: Life): number {
  if (deadline === null) return createdAt + patienceMs
  return createdAt + Math.min(patienceMs, Math.floor((deadline - createdAt) * patiencePart))
}

/** A chat that is busy is waited for until then; beyond that, the next one is told meanwhile, as long as there is one. */
export function isWorthWaiting(notice: Life & { isInLog: boolean }, until: number): boolean {
  return notice.isInLog || until <= tellBy(notice)
}

/** Hands the confirmation to the first channel: a chat, behind which stands the log, or the log itself. */
export function announce(confirmation: Confirmation, channel: ChannelName, now: number): Part {
  return tell(confirmation, channel, now)
}

/** The alarm, to be committed with what it tells of, and handed to the first channel as a confirmation is. */
export function raise(alarm: Alarm, channel: ChannelName, now: number): Part {
  const { writes, events } = tell(alarm, channel, now)
  return { writes: [{ kind: 'alarm', record: alarm }, ...writes], events }
}

function tell(subject: Subject, channel: ChannelName, now: number): Part {
  if (channel === 'log') return tellLog(subject, undefined, now)
  const fallback = { ...queue(subject, 'log', '', now), nextAt: tellBy(subject) }
  return {
    writes: [ask(subject, channel, now), { kind: 'delivery', expect: 'absent', record: fallback }],
    events: [],
  }
}

/** What belongs into a change. */
type Part = Pick<Change, 'writes'> & { events: NewEvent[] }

function ask(subject: Subject, chat: ChannelName, now: number): Write {
  return { kind: 'delivery', expect: 'absent', record: queue(subject, chat, '', now) }
}

/** The log takes everything at once: the record of it is the telling. `known` is what stands there so far. */
function tellLog(subject: Subject, known: Delivery | undefined, now: number): Part {
  const record = known === undefined ? queue(subject, 'log', '', now) : { ...known, version: known.version + 1 }
  Object.assign(record, { state: 'sent', attempts: 1, nextAt: null, updatedAt: now, toldAt: now })
  return {
    writes: [{ kind: 'delivery', expect: known?.version ?? 'absent', record }],
    events: [notified(record, subject)],
  }
}

/** What a try changes: this delivery, those it makes superfluous, and the channel that is told next. */
export function afterNotice(
  { subject, delivery, all, order }: Tried,
  result: DeliveryResult,
  now: number,
  random: number,
): Change {
  const attempts = delivery.attempts + (result.kind === 'skipped' ? 0 : 1)
  const isOver = !isAsked(delivery) && isMoot(subject, now)
  const log = logOf(all)
  const toldLogAt = log?.state === 'sent' ? log.updatedAt : null
  const progress = isOver && result.kind !== 'sent' ? dropped : progressAfter(result, attempts, now, random)
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    toldAt: result.kind === 'sent' ? now : delivery.toldAt,
    message: result.kind === 'sent' ? (result.message ?? null) : delivery.message,
    shown: result.kind === 'sent' ? shownBy(delivery, subject) : null,
    ...(isAlarm(subject) && toldLogAt !== null ? slowDown(progress, toldLogAt, now) : progress),
  }
  const isLog = delivery.channel === 'log'
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [isLog && record.state === 'sent' ? notified(record, subject) : attempted(record, subject)],
  }
  if (isAsked(delivery)) return change
  if (result.kind === 'sent' && isLog) {
    // The log is the last resort: whoever can still be told in a chat is.
    const unasked = order.filter((chat) => !all.some(({ channel }) => channel === chat))
    change.writes.push(...unasked.map((chat) => ask(subject, chat, now)))
    return change
  }
  if (result.kind === 'sent') {
    for (const other of all) if (other.nextAt !== null && other.channel !== delivery.channel) supersede(other)
    return change
  }
  const waits =
    result.kind === 'busy' && isWorthWaiting({ ...subject, isInLog: toldLogAt !== null }, now + result.retryAfterMs)
  const following = isOver || waits ? undefined : nextInLine(delivery.channel, all, order)
  if (following === 'log') {
    const { writes, events } = tellLog(subject, log, now)
    change.writes.push(...writes)
    change.events.push(...events)
  } else if (following !== undefined) change.writes.push(ask(subject, following, now))
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
    if (other.channel !== 'log') change.events.push(attempted(settled, subject))
  }
}

/** What its message shows, as `shown` of a delivery says it. */
function shownBy({ occasion }: Delivery, subject: Subject): number | null {
  if (isAlarm(subject) || subject.status !== 'pending') return null
  return occasion.startsWith('asked:approve:') ? -subject.version : subject.version
}

/** Somebody asked to see it: it is for them, however it stands. */
export function isAsked({ occasion }: Pick<Delivery, 'occasion'>): boolean {
  return occasion.startsWith('asked:')
}

/** Whether there is no point in telling of it any more. */
export function isMoot(subject: Subject, now: number): boolean {
  return !isAlarm(subject) && asOf(subject, now).status !== 'pending'
}

/** The confirmation was resolved before this channel could say it. */
const dropped = { state: 'dropped', nextAt: null, error: 'resolved before it could be sent' } as const

function slowDown(progress: DeliveryProgress, toldLogAt: number, now: number): DeliveryProgress {
  if (progress.nextAt === null) return progress
  const triedMs = now - toldLogAt
  if (triedMs >= alarmTriesMs) return { ...progress, state: 'failed', nextAt: null }
  return { ...progress, nextAt: Math.max(progress.nextAt, now + Math.ceil(triedMs * alarmPausePart)) }
}

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
