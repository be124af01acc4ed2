// When a session is due by time: after a while without activity, or at an hour of the day.
import type { ResetRule } from '../policy/reset.js'

export interface ResetDue {
  at: number
  reason: 'idle' | 'daily'
}

/** When a session that was last active then is due; null: never by time. */
export function resetDue({ mode, idleMs, dailyHour, timeZone }: ResetRule, lastActiveAt: number): ResetDue | null {
  if (mode === 'none') return null
  const idle: ResetDue = { at: lastActiveAt + idleMs, reason: 'idle' }
  if (mode === 'idle') return idle
  const daily: ResetDue = { at: dailyAfter(dailyHour, timeZone, lastActiveAt), reason: 'daily' }
  return mode === 'daily' || daily.at <= idle.at ? daily : idle
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** No zone was ever further from UTC. */
const maxOffsetMs = 16 * hourMs

/** Zones and hours come from the rules file, so they are few; what is remembered about them has an end all the same. */
const maxRemembered = 100

/** From one daily reset to the next. */
interface Span {
  from: number
  until: number
}

const spans = new Map<string, Span>()
const formats = new Map<string, Intl.DateTimeFormat>()

function remember<V>(known: Map<string, V>, key: string, value: V): V {
  if (known.size >= maxRemembered) known.clear()
  known.set(key, value)
  return value
}

/**
 * The first instant after `time` at which the clock of the zone comes to this hour. Where the clock is set forward over it,
 * that is when it is set; where it is set back, the hour counts once, the first time.
 */
export function dailyAfter(hour: number, timeZone: string, time: number): number {
  const key = `${hour} ${timeZone}`
  const last = spans.get(key)
  if (last !== undefined && last.from <= time && time < last.until) return last.until
  return remember(spans, key, spanAround(hour, timeZone, time)).until
}

function spanAround(hour: number, timeZone: string, time: number): Span {
  const resetOn = (day: number) => firstAt(day * dayMs + hour * hourMs, timeZone)
  // On the day before, the hour has passed in any case.
  let day = Math.floor((time + offsetAt(time, timeZone)) / dayMs) - 1
  let from = resetOn(day)
  for (;;) {
    const until = resetOn(++day)
    if (until > time) return { from, until }
    from = until
  }
}

/** The first instant at which the clock of the zone shows this time or a later one; as if the clock were that of UTC. */
function firstAt(clock: number, timeZone: string): number {
  const start = clock - maxOffsetMs
  const end = clock + maxOffsetMs
  const before = offsetAt(start, timeZone)
  const after = offsetAt(end, timeZone)
  if (before === after) return clock - before
  const change = changeBetween(start, end, timeZone)
  return clock - before < change ? clock - before : Math.max(change, clock - after)
}

/** When the offset changes. It does so at most once in so short a time. */
function changeBetween(start: number, end: number, timeZone: string): number {
  const before = offsetAt(start, timeZone)
  let low = start
  let high = end
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle, timeZone) === before) low = middle
    else high = middle
  }
  return high
}

/** How far the clock of the zone is ahead of that of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const format = formats.get(timeZone) ?? remember(formats, timeZone, createFormat(timeZone))
  const [month, day, year, hour, minute, second] = format.format(time).match(/\d+/g)!.map(Number) as Clock
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000
}

/** As en-US writes it. */
type Clock = [month: number, day: number, year: number, hour: number, minute: number, second: number]

function createFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}
