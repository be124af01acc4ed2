// Where a notice goes: along each of its lines from one place to the next until one takes it, at last to the log, while there is
// time to decide (pure). An alarm goes the same way, but nothing makes it too late.
import { attempted, type NewEvent, notified } from '../audit/event.js'
import { asOf } from '../core/confirmation.js'
import { type Alarm, type Confirmation, type Delivery, isAlarm, type Occasion, type Subject } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { type DeliveryProgress, type DeliveryResult, progressAfter, queue } from './delivery.js'
import { isSame, type Line, type Place } from './lines.js'

/** Chats have this long to take a message, and no more than a quarter of the time that there is to decide. */
const patienceMs = 30_000
const patiencePart = 1 / 4
/** Nothing ends an alarm. So once the log has it, chats are tried for so long, each pause at least this part of it so far. */
const alarmTriesMs = 24 * 3600 * 1000
const alarmPausePart = 1 / 10

/** A message that was tried. */
export interface Tried {
  subject: Subject
  delivery: Delivery
  /** All deliveries to people of the subject, this one included. */
  all: Delivery[]
  /** By which it goes. */
  lines: Line[]
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

/** Hands the confirmation to the first place of each line, behind which stands the log; without any, to the log itself. */
export function announce(confirmation: Confirmation, lines: Line[], now: number): Part {
  return tell(confirmation, lines, now)
}

/** The alarm, to be committed with what it tells of, and handed on as a confirmation is. */
export function raise(alarm: Alarm, lines: Line[], now: number): Part {
  const { writes, events } = tell(alarm, lines, now)
  return { writes: [{ kind: 'alarm', record: alarm }, ...writes], events }
}

export function tell(subject: Subject, lines: Line[], now: number, occasion: Occasion = 'notice'): Part {
  const firsts = firstsOf(lines)
  if (firsts.length === 0) return tellLog(subject, undefined, now, occasion)
  const life = { createdAt: now, deadline: isAlarm(subject) ? null : subject.deadline }
  const fallback = { ...queue(subject, 'log', '', now, occasion), nextAt: tellBy(life) }
  const writes = firsts.map((place) => ask(subject, place, now, occasion))
  writes.push({ kind: 'delivery', expect: 'absent', record: fallback })
  return { writes, events: [] }
}

function firstsOf(lines: Line[]): Place[] {
  const [only] = lines
  if (lines.length === 1 && only!.places.length > 0) return [only!.places[0]!]
  const firsts: Place[] = []
  for (const { places } of lines) {
    const [first] = places
    if (first !== undefined && !firsts.some(isSame(first))) firsts.push(first)
  }
  return firsts
}

/** What belongs into a change. */
type Part = Pick<Change, 'writes'> & { events: NewEvent[] }

function ask(subject: Subject, { channel, destination }: Place, now: number, occasion: Occasion): Write {
  return { kind: 'delivery', expect: 'absent', record: queue(subject, channel, destination, now, occasion) }
}

/** Why the log is told although a chat was. */
const notEverybody = 'not everybody could be told in a chat'

/** The log takes everything at once: the record of it is the telling. `known` is what stands there so far. */
export function tellLog(subject: Subject, known: Delivery | undefined, now: number, occasion: Occasion): Part {
  const record =
    known === undefined ? queue(subject, 'log', '', now, occasion) : { ...known, version: known.version + 1 }
  const error = known?.state === 'superseded' ? notEverybody : null
  Object.assign(record, { state: 'sent', attempts: 1, nextAt: null, updatedAt: now, toldAt: now, error })
  return {
    writes: [{ kind: 'delivery', expect: known?.version ?? 'absent', record }],
    events: [notified(record, subject)],
  }
}

/** What a try changes: this delivery, those it makes superfluous, and the places that are told next. */
export function afterNotice(
  { subject, delivery, all, lines }: Tried,
  result: DeliveryResult,
  now: number,
  random: number,
): Change {
  const { occasion, channel } = delivery
  const attempts = delivery.attempts + (result.kind === 'skipped' ? 0 : 1)
  const isOver = !isAsked(delivery) && isMoot(subject, now)
  const isTold = result.kind === 'sent' || result.kind === 'collected'
  const alike = all.filter((one) => one.occasion === occasion)
  const log = logOf(alike)
  const toldLogAt = log?.state === 'sent' ? log.updatedAt : null
  const progress = isOver && !isTold ? dropped : waitOn(subject, delivery, progressAfter(result, attempts, now, random))
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    updatedAt: now,
    toldAt: isTold ? (delivery.toldAt ?? now) : delivery.toldAt,
    message: result.kind === 'sent' ? (result.message ?? null) : delivery.message,
    shown: result.kind === 'sent' ? shownBy(delivery, subject) : null,
    ...(isAlarm(subject) && toldLogAt !== null ? slowDown(progress, toldLogAt, now) : progress),
  }
  const isLog = channel === 'log'
  const change: Change = {
    writes: [{ kind: 'delivery', expect: delivery.version, record }],
    events: [isLog && record.state === 'sent' ? notified(record, subject) : attempted(record, subject)],
  }
  if (!isTelling(delivery)) return change
  const others = alike.filter((one) => one !== delivery)
  if (isTold && isLog) {
    // The log is the last resort: whoever can still be told in a chat is.
    const unasked = lines.filter((line) => !isServed(line, others)).flatMap(({ places }) => places)
    askAll(unasked.filter((place) => !alike.some(isSame(place))))
    return change
  }
  if (isTold) {
    for (const other of others) if (isSuperfluous(other, lines, [record, ...others])) supersede(other)
    return change
  }
  const waits =
    result.kind === 'busy' && isWorthWaiting({ ...subject, isInLog: toldLogAt !== null }, now + result.retryAfterMs)
  // Whoever was told in one message with others only waits for its own.
  if (isOver || waits || isLog || delivery.toldAt !== null) return change
  const known = [record, ...others]
  const place = delivery as Place
  const own = linesWith(place, lines).map((line) => ({ line, next: nextIn(line, place, known) }))
  askAll(own.flatMap(({ next }) => (typeof next === 'string' ? [] : next)))
  if (own.some(({ line, next }) => next === 'the end' && needsLog(line, log, known))) {
    const { writes, events } = tellLog(subject, log, now, occasion)
    change.writes.push(...writes)
    change.events.push(...events)
  }
  return change

  function askAll(places: Place[]): void {
    for (const [index, place] of places.entries()) {
      if (!places.slice(0, index).some(isSame(place))) change.writes.push(ask(subject, place, now, occasion))
    }
  }

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

/** By such messages somebody is told first: where one does not arrive, others are told. */
export function isTelling({ occasion }: Pick<Delivery, 'occasion'>): boolean {
  return occasion === 'notice' || occasion === 'escalation'
}

/** What was told with others waits for its own message until the end. */
function waitOn(subject: Subject, { toldAt }: Delivery, progress: DeliveryProgress): DeliveryProgress {
  const waits = progress.state === 'collected' || (progress.state === 'retrying' && toldAt !== null)
  return waits && !isAlarm(subject) ? { ...progress, state: 'collected', nextAt: subject.deadline } : progress
}

function isServed({ places }: Line, deliveries: Delivery[]): boolean {
  return deliveries.some((one) => isTold(one) && places.some(isSame(one)))
}

function isTold({ state }: Delivery): boolean {
  return state === 'sent' || state === 'collected'
}

/** It still waits, and no line needs it any more. */
function isSuperfluous(one: Delivery, lines: Line[], all: Delivery[]): boolean {
  if (one.nextAt === null || isTold(one)) return false
  return one.channel === 'log' || linesWith(one as Place, lines).every((line) => isServed(line, all))
}

/** A place that is on no line any more, as its chat or its owner was taken away, passes on to all that are left. */
function linesWith(place: Place, lines: Line[]): Line[] {
  const own = lines.filter(({ places }) => places.some(isSame(place)))
  if (own.length > 0) return own
  return [{ places: [place, ...lines.flatMap(({ places }) => places)], isPersonal: false }]
}

/** Who is told next, further down. */
function nextIn({ places }: Line, place: Place, all: Delivery[]): Place | 'in hand' | 'the end' {
  for (const next of places.slice(places.findIndex(isSame(place)) + 1)) {
    const known = all.find(isSame(next))
    if (known === undefined) return next
    if (known.nextAt !== null || known.state === 'sent') return 'in hand'
  }
  return 'the end'
}

/** Nobody was told; or somebody cannot be, by themselves or in any chat. */
function needsLog({ places, isPersonal }: Line, log: Delivery | undefined, all: Delivery[]): boolean {
  if (log === undefined || log.nextAt !== null) return true
  return (
    log.state === 'superseded' && isPersonal && all.every((one) => !places.some(isSame(one)) || one.state === 'failed')
  )
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

function logOf(all: Delivery[]): Delivery | undefined {
  return all.find(({ channel }) => channel === 'log')
}
