// The port to a chat: say one notice or alarm, report what came of it. Channels never throw and never retry by themselves.
import type { Alarm, AlarmKind, ChannelName, Verdict } from '../core/model.js'
import { cut } from '../core/cut.js'
import { sayLength } from '../core/length.js'
import { visible, visibleJson, visibleLine } from '../core/visible.js'

/** What a person must know to decide. Every text may be hostile: each channel escapes in its own way. */
export interface Notice {
  id: string
  action: string
  description: string
  /** JSON text of an object. */
  details: string
  requester: string
  /** For whom it says it acts, which nobody has verified. */
  onBehalfOf: string | null
  sessionKey: string
  digest: string
  /** What is odd about it, in sentences of ours. */
  warnings: string[]
  expiresAt: number
  /** How many people must approve. */
  approvals: number
  /** What a verdict takes beside the word itself. */
  reasonFor: Verdict[]
  mustType: boolean
  /** Where the API is reached, without a slash at the end. */
  baseUrl: string
  /** Whether deciding over the API takes a key. */
  needsKey: boolean
  /** The page that decides, for the reader of this message; null if none could be made. */
  link: string | null
}

export type SendOutcome =
  | { kind: 'sent' }
  /** Not now: try again after this time and not before. */
  | { kind: 'busy'; retryAfterMs: number; error: string }
  /** No answer, or a broken one: worth another try. `answered`: at least there was one. */
  | { kind: 'failed'; error: string; answered?: boolean }
  /**
   * No, and asking again will not help. `message`: this message is at fault; `channel`: the settings are (token, chat),
   * so other messages will fare no better; `gone`: the place no longer exists.
   */
  | { kind: 'refused'; fault: 'message' | 'channel' | 'gone'; error: string }

/** What a wish for a pause comes to: none at all would be a tight loop, and beyond a day nobody waits any more. */
export function boundPause(ms: number): number {
  return Math.min(24 * 3600 * 1000, Math.max(1000, Math.ceil(ms)))
}

export interface Channel {
  name: ChannelName
  /** `stop` calls the attempt off. */
  send(notice: Notice, stop: AbortSignal): Promise<SendOutcome>
  sendAlarm(alarm: Alarm, stop: AbortSignal): Promise<SendOutcome>
}

export function approveCommand(notice: Notice): string {
  return `${curl(notice)}/approve${fieldsFor('approve', notice)}`
}

export function denyCommand(notice: Notice): string {
  return `${curl(notice)}/deny${fieldsFor('deny', notice)}`
}

/** Left for the approver to fill in: a name that is only copied was not read, and agents chose it. */
function fieldsFor(verdict: Verdict, { reasonFor, mustType }: Notice): string {
  const fields = {
    ...(reasonFor.includes(verdict) ? { reason: 'WHY' } : {}),
    ...(mustType && verdict === 'approve' ? { typed_action: 'NAME OF THE ACTION' } : {}),
  }
  if (Object.keys(fields).length === 0) return ''
  return ` -H 'content-type: application/json' -d '${JSON.stringify(fields)}'`
}

function curl({ baseUrl, id, needsKey }: Notice): string {
  return `curl -X POST ${needsKey ? '-H "Authorization: Bearer $KEY" ' : ''}${baseUrl}/confirm/${id}`
}

/** What needs saying because it is not usual, or null. */
export function manyApprovals({ approvals }: Notice): string | null {
  return approvals === 1 ? null : `${approvals} different people; one denial ends it`
}

/** How much of a message each fact may take, in UTF-16 units: no fact can push another out of it. */
export interface Share {
  /** Of the action, and of each other name; half of it of whom an agent says it acts for. */
  name: number
  details: number
  description: number
  /** Whether details and description have what the other leaves. */
  isShared: boolean
}

/** What a message says of a notice, each text visible and within its share. */
export interface Facts {
  action: string
  requester: string
  /** Null: none. */
  onBehalfOf: string | null
  sessionKey: string | null
  details: string | null
  description: string
  /** How long details and description are, where they are long. */
  detailsLength: string
  descriptionLength: string
  /** Nothing is cut. What is not shown whole is not approved from here. */
  isWhole: boolean
}

/** Of each: two screens of a phone. */
const mostLines = 60

/** Nobody waits while more of a text is looked through for what would fit: hostile ones take a microsecond a character. */
const mostLooked = 8000

/** `adapt` is what a chat changes in visible text, before it is cut. */
export function factsOf(notice: Notice, share: Share, adapt = (shown: string): string => shown): Facts {
  let isWhole = true
  const fit = (shown: string, limit: number, left = 0) => {
    const text = cut(shown, limit, mostLines, left)
    isWhole &&= text === shown
    return text
  }
  const name = (text: string, limit = share.name) => fit(adapt(visibleLine(text)), limit)
  const hasDetails = notice.details !== '{}'
  const isLong = notice.details.length > mostLooked
  // What is too long anyway is not laid out.
  const laidOut = isLong ? visible(notice.details.slice(0, mostLooked)) : visibleJson(notice.details, 1)
  const details = hasDetails ? adapt(laidOut) : ''
  const description = adapt(visible(notice.description.slice(0, mostLooked)))
  const leftOf = (text: string) => Math.max(0, text.length - mostLooked)
  const leftBy = (shown: string, limit: number) => (share.isShared ? Math.max(0, limit - shown.length) : 0)
  const facts = {
    action: name(notice.action),
    requester: name(notice.requester),
    onBehalfOf: notice.onBehalfOf === null ? null : name(notice.onBehalfOf, share.name / 2),
    sessionKey: notice.sessionKey === '' ? null : name(notice.sessionKey),
    details: hasDetails
      ? fit(details, share.details + leftBy(description, share.description), leftOf(notice.details))
      : null,
    description: fit(description, share.description + leftBy(details, share.details), leftOf(notice.description)),
  }
  const length = (text: string) => {
    const words = sayLength(text)
    return words === null ? '' : ` (${words})`
  }
  return { ...facts, detailsLength: length(notice.details), descriptionLength: length(notice.description), isWhole }
}

/** Where to look at all of it, for a reader who was not shown all of it here. */
export function whyNotApprove({ link, baseUrl, id, needsKey }: Notice): string {
  const where = link === null ? `GET ${baseUrl}/confirm/${id}${needsKey ? ' with a key' : ''}` : 'the link'
  return `not from here: it is too long to be shown whole. See it whole first: ${where}`
}

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
    return cut(adapt(show(looked)), limit, mostLines, text.length - looked.length)
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
