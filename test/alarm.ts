// An alarm for tests, and the change that raises it: nothing else happens in it.
import type { Alarm, ChatName } from '../src/core/model.js'
import { raise } from '../src/notify/notices.js'
import type { Change } from '../src/store/store.js'
import { someEvent } from './actors.js'

/** Every one that a test does not care about. */
export function alarmOf(fields: Partial<Alarm> = {}): Alarm {
  const { sessionKey = 's-1' } = fields
  return {
    id: '0198c0de-0000-7000-8000-0000000000a1',
    kind: 'session_suspended',
    share: '',
    requester: 'bot',
    sessionKey,
    reason: 'nine denials in a row',
    command: `holdpoint sessions resume ${sessionKey}`,
    request: `POST /sessions/${encodeURIComponent(sessionKey)}/resume`,
    createdAt: 0,
    ...fields,
  }
}

export function raising(alarm: Alarm, channel: ChatName | 'log'): Change {
  const places = channel === 'log' ? [] : [{ channel, destination: '' }]
  const { writes, events } = raise(alarm, [{ places, isPersonal: false }], alarm.createdAt)
  return { writes, events: [someEvent(alarm.createdAt), ...events] }
}
