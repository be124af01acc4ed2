// The port to a chat: say one notice, report what came of it. Channels never throw and never retry by themselves.
import type { ChannelName, Verdict } from '../core/model.js'

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
  /** The page that decides, for whoever reads this message; null if none could be made. */
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
}

export function approveCommand(notice: Notice): string {
  return `${curl(notice)}/approve${fieldsFor('approve', notice)}`
}

export function denyCommand(notice: Notice): string {
  return `${curl(notice)}/deny${fieldsFor('deny', notice)}`
}

/** Left for whoever decides to fill in: a name that is only copied was not read, and agents chose it. */
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

/** The details over several lines, or null if there are none. */
export function readableDetails({ details }: Notice): string | null {
  return details === '{}' ? null : JSON.stringify(JSON.parse(details), null, 1)
}
