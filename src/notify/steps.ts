// What happens while nobody answers: whoever was told is told again, others are told, and all once more before the end (pure).
// One delivery of the log, for the occasion `schedule`, says when the next of these is due.
import { escalated, type NewEvent, reminded } from '../audit/event.js'
import { textOf } from '../core/actor.js'
import type { Confirmation, Delivery, Occasion, Pending, Subject, Telling } from '../core/model.js'
import { isAlarm } from '../core/model.js'
import type { Change, Write } from '../store/store.js'
import { queue } from './delivery.js'
import type { Line, Place } from './lines.js'
import { isMoot, tell, tellLog } from './notices.js'

export interface Step {
  kind: 'reminder' | 'escalation' | 'last_reminder'
  at: number
}

/** Before the end: long enough to act, and so late that it is the last word. */
const lastPart = 1 / 5
const leastLeadMs = 10_000
const mostLeadMs = 15 * 60_000
/** Of a time that is shorter than all this. */
const mostLeadPart = 1 / 3

type Life = Pick<Confirmation, 'createdAt' | 'deadline'>

/** In the order of time. */
export function stepsOf({ createdAt, deadline, terms: { telling } }: Life & Pick<Confirmation, 'terms'>): Step[] {
  if (telling === null) return []
  const { remindAfter, escalation } = telling
  const after = (part: number) => createdAt + Math.round(part * (deadline - createdAt))
  const steps: Step[] = [
    ...(remindAfter === null ? [] : [{ kind: 'reminder' as const, at: after(remindAfter) }]),
    ...(escalation === null ? [] : [{ kind: 'escalation' as const, at: after(escalation.after) }]),
    ...lastOf({ createdAt, deadline }, telling, after),
  ]
  return steps.sort((a, b) => a.at - b.at)
}

/** None where a reminder that comes late is the last word. */
function lastOf({ createdAt, deadline }: Life, { remindAfter, escalation }: Telling, after: (part: number) => number) {
  if (remindAfter === null && escalation === null) return []
  const ms = deadline - createdAt
  const lead = Math.min(mostLeadMs, Math.max(ms * lastPart, Math.min(leastLeadMs, ms * mostLeadPart)))
  const at = deadline - Math.round(lead)
  const isLate = remindAfter !== null && after(remindAfter) > at - lead / 2
  return isLate ? [] : [{ kind: 'last_reminder' as const, at }]
}

export function isSchedule({ occasion }: Pick<Delivery, 'occasion'>): boolean {
  return occasion === 'schedule'
}

/** For the change that holds it; nothing where nothing will be due. */
export function schedule(confirmation: Confirmation): Write[] {
  if (confirmation.terms.telling === null) return []
  const [first] = stepsOf(confirmation)
  if (first === undefined) return []
  const record = { ...queue(confirmation, 'log', '', confirmation.createdAt, 'schedule'), nextAt: first.at }
  return [{ kind: 'delivery', expect: 'absent', record }]
}

/** The schedule, when something on it is due. */
export interface DueSchedule {
  subject: Subject
  delivery: Delivery
  /** All deliveries to people of the request. */
  all: Delivery[]
  /** Who is told by an escalation. */
  escalationLines: () => Line[]
  /** The name of whose own place this is; null: it is nobody's, or not known. */
  ownerOf(place: Place): string | null
}

/** Null: it is over, and nothing more is due. */
export function afterSchedule(
  { subject, delivery, all, escalationLines, ownerOf }: DueSchedule,
  now: number,
): Change | null {
  if (isAlarm(subject) || subject.status !== 'pending' || isMoot(subject, now)) return null
  const steps = stepsOf(subject)
  const from = delivery.nextAt ?? now
  const due = steps.filter(({ at }) => at >= from && at <= now).map(({ kind }) => kind)
  const next = steps.find(({ at }) => at > now)
  const isLast = due.includes('last_reminder')
  // After a time without a service one message is enough.
  const occasion = isLast ? 'last_reminder' : due.includes('reminder') ? 'reminder' : null
  const parts = [
    ...(occasion === null ? [] : [remind(subject, occasion, all, ownerOf, now)]),
    ...(due.includes('escalation') ? [escalate(subject, escalationLines(), now)] : []),
  ]
  const [event, ...events] = parts.flatMap((part) => part.events)
  if (event === undefined) return null
  const record: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    state: next === undefined ? 'superseded' : 'queued',
    nextAt: next?.at ?? null,
    updatedAt: now,
  }
  const writes: Write[] = [{ kind: 'delivery', expect: delivery.version, record }]
  return { writes: [...writes, ...parts.flatMap((part) => part.writes)], events: [event, ...events] }
}

interface Part {
  writes: Write[]
  events: NewEvent[]
}

/** Each place that was told, but for those of people who have voted; the log where no chat was. */
function remind(
  pending: Pending,
  occasion: 'reminder' | 'last_reminder',
  all: Delivery[],
  ownerOf: DueSchedule['ownerOf'],
  now: number,
): Part {
  const told = all.filter((one) => one.channel !== 'log' && isTelling(one) && one.state === 'sent')
  const places = new Map(told.map((one) => [`${one.channel} ${one.destination}`, one]))
  // Its own message, or the first, is on its way: that is reminder enough.
  const isOnItsWay = all.some((one) => one.channel !== 'log' && isTelling(one) && one.nextAt !== null)
  const open = [...places.values()].filter((one) => !hasVoted(pending, one as Place, ownerOf))
  const writes = open.map(({ channel, destination }): Write => ({
    kind: 'delivery',
    expect: 'absent',
    record: queue(pending, channel, destination, now, occasion),
  }))
  const inLog =
    writes.length > 0 || isOnItsWay ? { writes: [], events: [] } : tellLog(pending, undefined, now, occasion)
  return {
    writes: [...writes, ...inLog.writes],
    events: [reminded(pending, occasion === 'last_reminder', writes.length, now), ...inLog.events],
  }
}

function escalate(pending: Pending, lines: Line[], now: number): Part {
  const { writes, events } = tell(pending, lines, now, 'escalation')
  return { writes, events: [escalated(pending, now), ...events] }
}

function hasVoted({ votes }: Pending, place: Place, ownerOf: DueSchedule['ownerOf']): boolean {
  if (place.destination === '') return false
  const owner = ownerOf(place) ?? `${place.channel}:${place.destination}`
  return votes.some(({ by }) => textOf(by) === owner)
}

/** By such messages somebody is told first. */
function isTelling({ occasion }: { occasion: Occasion }): boolean {
  return occasion === 'notice' || occasion === 'escalation'
}
