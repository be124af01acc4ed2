// What a message about an alarm says, in every chat alike (pure).
import { cut } from '../core/cut.js'
import type { Alarm, AlarmKind } from '../core/model.js'
import { maskSecrets } from '../core/secrets.js'
import { visible, visibleLine } from '../core/visible.js'

/** Of each: two screens of a phone. */
const mostLines = 60

/** Nobody waits while more of a text is looked through for what would fit: hostile ones take a microsecond a character. */
const mostLooked = 8000

/** What happened, and what can be done about it. */
export const alarmWords: Record<AlarmKind, { happened: string; next: string }> = {
  session_suspended: { happened: 'Session suspended', next: 'To resume it' },
}

/** In place of the key of a session that has none. */
export const noSessionKey = 'the one without a key'

/** How much of a message about an alarm each fact may take, in UTF-16 units. */
export interface AlarmShare {
  /** Of the session's key and of the requester. */
  name: number
  reason: number
  /** Of each way to go on. */
  next: number
}

/** What a message says of an alarm, each text visible and within its share. */
export interface AlarmFacts {
  happened: string
  /** Null: it has none. */
  sessionKey: string | null
  requester: string
  reason: string
  next: string
  command: string
  request: string
  at: string
}

/** `adapt` is what a chat changes in visible text, before it is cut. */
export function alarmFactsOf(alarm: Alarm, share: AlarmShare, adapt = (shown: string): string => shown): AlarmFacts {
  const { kind, requester, sessionKey, reason, command, request, createdAt } = alarm
  const fit = (text: string, limit: number, show = visibleLine) => {
    const looked = text.slice(0, mostLooked)
    return cut(adapt(show(maskSecrets(looked))), limit, mostLines, text.length - looked.length)
  }
  return {
    ...alarmWords[kind],
    sessionKey: sessionKey === '' ? null : fit(sessionKey, share.name),
    requester: fit(requester, share.name),
    reason: fit(reason, share.reason, visible),
    command: fit(command, share.next),
    request: fit(request, share.next),
    at: new Date(createdAt).toISOString(),
  }
}
