// The log: pretty on a terminal, JSON lines otherwise, one line an event. Agents' text is made visible, secrets stay out.
import { type DestinationStream, type Logger, pino } from 'pino'
import type { AuditEvent } from './audit/event.js'
import { textOf } from './core/actor.js'
import { shortLine } from './core/cut.js'
import { withoutControls } from './core/visible.js'
import { isPlain } from './policy/name.js'
import type { Store } from './store/store.js'

export type { Logger }

/** Lines for somebody at a terminal, or for a program that reads along. */
export async function logStream(
  terminal: boolean,
  screen: number | NodeJS.WritableStream = 1,
): Promise<DestinationStream> {
  if (terminal) {
    const { default: pretty } = await import('pino-pretty')
    return pretty({
      destination: screen,
      sync: true,
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss',
      messageFormat: (line) => inert(readable(line)),
      ignore: inMessage.join(','),
    })
  }
  // Lines are written in the background, many at once: the history is in the database, and a slow pipe must not slow an answer.
  return pino.destination({ dest: 1, sync: false, minLength: 16_000, periodicFlush: 20 })
}

/** What a line says by itself, or what nobody at a terminal needs. Other fields follow it. */
const inMessage = [
  ...['seq', 'id', 'action', 'actor', 'via', 'name', 'role', 'code', 'execution', 'reason'],
  ...['description', 'requester', 'on_behalf_of_unverified', 'warnings', 'url'],
  ...['alarm', 'session_key', 'why', 'command'],
  ...['web', 'db', 'auth', 'pending', 'expired', 'unsent'],
]

/** A line for somebody at a terminal: the sentence, or an event as one. */
function readable(line: Record<string, unknown>): string {
  const value = (name: string) => (typeof line[name] === 'string' ? line[name] : '')
  // A line that is no event, but has one of these, says why in its own words.
  if (typeof line.seq !== 'number') return [value('msg'), value('reason')].filter((one) => one !== '').join(': ')
  const whose = [value('session_key'), value('requester')].filter((one) => one !== '').map(named)
  const subject = named(value('action') || value('name')) || value('alarm').replaceAll('_', ' ') || whose.join(' of ')
  const what = [subject, value('role'), value('code'), value('execution')]
  const facts = what.filter((one) => one !== '' && one !== value('msg')).join(', ')
  const who = value('actor').startsWith('system:') ? '' : ` by ${named(value('actor'))}`
  const why = value('reason') === '' ? '' : `: ${quoted(value('reason'))}`
  const head = `${value('msg').replaceAll('_', ' ')}${facts === '' ? '' : ` ${facts}`}`
  return `${head}${who} (${value('via')})${why} ${value('id')}`.trimEnd()
}

/** What is visible already, in quotes unless it cannot be taken for more of the sentence. */
function named(visible: string): string {
  return isPlain(visible) ? visible : quoted(visible)
}

function quoted(visible: string): string {
  return `"${visible.replaceAll('"', '\\"')}"`
}

/** What has been made visible before has none of these; what has not must not steer the terminal, nor begin a line. */
function inert(text: string): string {
  return withoutControls(text).replaceAll('\n', '\\u{a}')
}

export function createLogger(level: string, stream: DestinationStream): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: isoTime(),
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  )
}

/** For what needs a log that nobody reads. */
export const silentLogger = pino({ level: 'silent' })

/**
 * One line for each event that somebody reading along would want. A submission's line is the one about telling a person:
 * the delivery that went out, or the warning of the log channel.
 */
export function logEvents(store: Store, log: Logger): void {
  store.onCommit(({ events }) => events.forEach((event) => logEvent(event, log)))
}

function logEvent(event: AuditEvent, log: Logger): void {
  const level = levelOf(event)
  if (!log.isLevelEnabled(level)) return
  log[level](
    {
      seq: event.seq,
      ...(event.confirmationId === null ? {} : { id: event.confirmationId }),
      ...factsOf(event),
      actor: short(textOf(event.actor)),
      via: event.via,
    },
    event.type,
  )
}

const usualFacts = ['action', 'name', 'role', 'code', 'execution', 'reason', 'alarm', 'alarm_id', 'occasion', 'to']
/** Which session it is about, and how many of its requests in a row were denied or expired. */
const sessionFacts = [...usualFacts, 'session_key', 'requester', 'failures']

const collectFacts = ['empty', 'trivial', 'aged', 'corrects']

function factNames({ type }: AuditEvent): string[] {
  if (type === 'sessions_collected') return collectFacts
  return type.startsWith('session_') || type === 'requester_paused' ? sessionFacts : usualFacts
}

/** Of what an event says, as much as fits on a line: agents and people wrote it. */
function factsOf(event: AuditEvent): Record<string, string | number> {
  const facts: Record<string, string | number> = {}
  for (const name of factNames(event)) {
    const value = (event.data as Partial<Record<string, unknown>>)[name]
    if (typeof value === 'number') facts[name] = value
    if (typeof value === 'string' && value !== '') facts[name] = short(value)
  }
  return facts
}

function levelOf(event: AuditEvent): 'debug' | 'info' | 'warn' {
  const { type, via } = event
  if (type === 'rejected' || type === 'unreported') return 'warn'
  if (type === 'session_suspended' || type === 'session_paused' || type === 'requester_paused') return 'warn'
  if (event.type === 'session_due' || event.type === 'session_rotated') {
    return byThemselves.has(event.data.reason) ? 'debug' : 'info'
  }
  if (event.type === 'notify_failed' && via === 'callback' && event.data.state === 'failed') return 'warn'
  // One line says it of all that were told in one message.
  if (event.type === 'notified' && event.data.state === 'collected') return 'debug'
  if (type === 'notified') return via === 'log' ? 'debug' : 'info'
  // The log channel says it, as an error.
  if (event.type === 'expired' && event.data.told_at === null) return 'debug'
  return quiet.has(type) ? 'debug' : 'info'
}

/** Why sessions rotate that nobody did anything to: very many may at once. */
const byThemselves = new Set<string>(['idle', 'daily', 'message_limit'])

/** Another line says it: that of the delivery, that of the start, that of the reload. And sessions begin all the time. */
const quiet = new Set<AuditEvent['type']>(['submitted', 'session_started', 'linked', 'notify_failed', 'rules_loaded'])

function short(text: string): string {
  return shortLine(text, 200)
}

/** As pino's isoTime, but the text is made once a millisecond, not once a line. */
function isoTime(): () => string {
  let last = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}
