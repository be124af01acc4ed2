// The log as the last channel: a warning that names the id, the action, what it is about, who asks, what is odd about it and
// where to look. It does not show all of it, so it offers no way to approve unseen. A log line cannot fail, so the delivery is
// recorded as sent at once, and the line follows its commit. So does the error for what expired before anyone was told. An
// alarm's line says why, and what to do next.
import type { AuditEvent } from '../audit/event.js'
import { sayCaution } from '../core/caution.js'
import { shortDigest } from '../core/digest.js'
import type { Alarm, Confirmation } from '../core/model.js'
import { shortLine, shortQuotedLine } from '../core/cut.js'
import { isPlain } from '../policy/name.js'
import type { Committed, Store } from '../store/store.js'
import { alarmWords, noSessionKey } from './alarm-text.js'

type Notified = Extract<AuditEvent, { type: 'notified' }>
type AlarmTold = Extract<Notified['data'], { alarm_id: string }>
type ConfirmationTold = Exclude<Notified['data'], AlarmTold>

export interface NoticeLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** More of one text is cut, and says so. */
const maxShown = 200

/** `hasChats`: there are some that should have taken the message. */
export function announceInLog(store: Store, log: NoticeLog, pagesUrl: () => string, hasChats: boolean): void {
  const untaken = hasChats ? ', and no chat has taken the message' : ''

  store.onCommit((committed) => {
    for (const event of committed.events) {
      const confirmation = event.confirmationId === null ? undefined : confirmationIn(committed, event.confirmationId)
      if (event.type === 'expired' && event.data.told_at === null) sayUntold(confirmation!)
      if (event.type !== 'notified' || event.via !== 'log') continue
      if ('alarm_id' in event.data) void readAndSay(event.data, committed)
      else if (confirmation !== undefined) warn(event.confirmationId!, event.data, confirmation)
      else void readAndWarn(event.confirmationId!, event.data)
    }
  })

  /** An expiry is committed with its confirmation. */
  function sayUntold({ id, action, requester, description, digest }: Confirmation): void {
    log.error(
      {
        id,
        action: short(action),
        description: short(description),
        requester: short(requester),
        digest: shortDigest(digest),
      },
      `expired before anyone was told: ${named(action)}, asked by ${named(requester)}: ` +
        `${shortQuotedLine(description, maxShown)}; ${id}`,
    )
  }

  /** When chats had failed before, the confirmation was committed earlier. */
  async function readAndWarn(id: string, data: ConfirmationTold): Promise<void> {
    // Without its description the line is worth more than no line.
    warn(id, data, await store.confirmations.get(id).catch(() => undefined))
  }

  function warn(id: string, data: ConfirmationTold, confirmation: Confirmation | undefined): void {
    const url = `${pagesUrl()}/view/${id}`
    const [happened, why] = toldWhy(data.occasion, data.error === undefined ? untaken : `, and ${data.error}`)
    const { action = '', requester = '', on_behalf_of: onBehalfOf = null, digest } = data
    const whom = onBehalfOf === null ? '' : ` (on behalf of ${named(onBehalfOf)}, unverified)`
    const what = confirmation === undefined ? '' : `: ${shortQuotedLine(confirmation.description, maxShown)}`
    const warnings = sayCaution(confirmation?.caution ?? null).join(' ')
    log.warn(
      {
        id,
        action: short(action),
        ...(confirmation === undefined ? {} : { description: short(confirmation.description) }),
        requester: short(requester),
        ...(onBehalfOf === null ? {} : { on_behalf_of_unverified: short(onBehalfOf) }),
        ...(warnings === '' ? {} : { warnings }),
        digest: shortDigest(digest),
        url,
      },
      `${happened}${why}: ` +
        `${named(action)}, asked by ${named(requester)}${whom}${what}${warnings === '' ? '' : ` (${warnings})`}; ` +
        `see and decide it: ${url}`,
    )
  }

  /** Where there is no chat, it is in the same commit. Without its reason, too, the line is worth more than no line. */
  async function readAndSay(data: AlarmTold, committed: Committed): Promise<void> {
    const id = data.alarm_id
    say(data, alarmIn(committed, id) ?? (await store.alarms.get(id).catch(() => undefined)))
  }

  function say({ alarm: kind, alarm_id, requester, session_key: key }: AlarmTold, alarm: Alarm | undefined): void {
    const { happened, next } = alarmWords[kind]
    const what = alarm === undefined ? '' : `: ${shortQuotedLine(alarm.reason, maxShown)}`
    const command = alarm === undefined ? '' : `; ${next.toLowerCase()}: ${shortQuotedLine(alarm.command, maxShown)}`
    log.warn(
      {
        alarm_id,
        session_key: short(key),
        requester: short(requester),
        ...(alarm === undefined ? {} : { why: short(alarm.reason), command: short(alarm.command) }),
      },
      `${happened.toLowerCase()}${untaken}: ` +
        `${key === '' ? noSessionKey : named(key)} of ${named(requester)}${what}${command}`,
    )
  }
}

/** What a line begins with. */
function toldWhy(occasion: ConfirmationTold['occasion'], why: string): [what: string, why: string] {
  switch (occasion) {
    case 'reminder':
      return ['confirmation still needed', '']
    case 'last_reminder':
      return ['confirmation needed, and about to expire', '']
    case 'escalation':
      return ['confirmation needed, and nobody has answered yet', '']
    default:
      return ['confirmation needed', why]
  }
}

function alarmIn({ writes }: Committed, id: string): Alarm | undefined {
  for (const write of writes) if (write.kind === 'alarm' && write.record.id === id) return write.record
  return undefined
}

function confirmationIn({ writes }: Committed, id: string): Confirmation | undefined {
  for (const write of writes) if (write.kind === 'confirmation' && write.record.id === id) return write.record
  return undefined
}

function short(text: string): string {
  return shortLine(text, maxShown)
}

/** In quotes, unless it cannot be taken for more of the sentence. */
function named(text: string): string {
  return isPlain(text) && text !== '' ? short(text) : shortQuotedLine(text, maxShown)
}
