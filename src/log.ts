// The log: pretty on a terminal, JSON lines otherwise, one line an event. Agents' text is made visible, secrets stay out.
import { type DestinationStream, type Logger, pino } from 'pino'
import type { AuditEvent } from './audit/event.js'
import { cut, visibleLine } from './core/text.js'
import type { Store } from './store/store.js'

export type { Logger }

/** Lines for somebody at a terminal, or for a program that reads along. */
export async function logStream(terminal: boolean): Promise<DestinationStream> {
  if (terminal) {
    const { default: pretty } = await import('pino-pretty')
    return pretty({ sync: true, singleLine: true, ignore: 'pid,hostname' })
  }
  // Lines are written in the background: the history is in the database, and a slow pipe must not slow an answer.
  // Without a least length, flush() would not wait for the write that is under way.
  return pino.destination({ dest: 1, sync: false, minLength: 1 })
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

/** For whoever needs a log and nobody reads it. */
export const silentLogger = pino({ level: 'silent' })

/**
 * One line for each event that somebody reading along would want. A submission's line is the one about telling a person:
 * the delivery that went out, or the warning of the log channel.
 */
export function logEvents(store: Store, log: Logger): void {
  store.subscribe(({ events }) => events.forEach((event) => logEvent(event, log)))
}

function logEvent(event: AuditEvent, log: Logger): void {
  const level = levelOf(event)
  if (!log.isLevelEnabled(level)) return
  log[level](
    {
      seq: event.seq,
      ...(event.confirmationId === null ? {} : { id: event.confirmationId }),
      ...(typeof event.data.action === 'string' ? { action: short(event.data.action) } : {}),
      actor: short(event.actor),
      via: event.via,
    },
    event.type,
  )
}

function levelOf({ type, via, data }: AuditEvent): 'debug' | 'info' | 'warn' {
  if (type === 'rejected' || type === 'unreported') return 'warn'
  if (type === 'notify_failed' && via === 'callback' && data.state === 'failed') return 'warn'
  if (type === 'notified') return via === 'log' ? 'debug' : 'info'
  return quiet.has(type) ? 'debug' : 'info'
}

/** Another line says it: that of the delivery, that of the start, that of the reload. */
const quiet = new Set<AuditEvent['type']>(['submitted', 'linked', 'notify_failed', 'rules_loaded'])

function short(text: string): string {
  return cut(visibleLine(text), 200)
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
