// The history: one event for everything that happened, appended and never changed. Names in `data` are the API's own.
import { raw } from '../core/json.js'
import type { Confirmation, Delivery, ExecutionState, Submission, Via } from '../core/model.js'
import type { Key, Link, Person } from '../access/key.js'
import type { Refusal } from '../core/refusal.js'
import { approvalsGiven } from '../core/vote.js'
import type { Grant } from '../whitelist/grant.js'

/** The one table of events, with what each means: types, schemas and documents are made from it. */
export const events = {
  submitted: 'An agent asked. The event has all that was asked for.',
  repeated: 'The same was asked again while it is pending, and nobody was told a second time.',
  voted: 'One of several approvals that are needed. The vote that settles it is `approved` or `denied`.',
  auto_approved: 'A whitelist entry covered it.',
  approved: 'A person approved, and nobody else is needed.',
  denied: 'A person denied.',
  expired: 'Nobody answered in time.',
  cancelled: 'The agent withdrew it, or a restore ended it.',
  claimed: 'The agent passed the last gate, and acts.',
  lapsed: 'An approval was not claimed in time. It is no longer good.',
  reported: 'The agent said how the act went.',
  unreported: 'Nobody said in time how the act went.',
  rate_limited: 'A submission was refused because its action had its share for now.',
  rejected: 'Somebody tried what is not allowed; `code` in the data says what.',
  granted: 'A whitelist entry was made, or its terms were set anew.',
  revoked: 'A whitelist entry was ended.',
  linked: 'A link was made for a message.',
  notified: 'A person was told, or an agent called back.',
  notify_failed: 'An attempt at that failed; the data say whether there is a next.',
  key_added: 'A key was made.',
  key_revoked: 'A key was revoked.',
  key_rotated: 'A key was made in the place of another.',
  person_changed: 'Somebody was named, or has other chat ids.',
  rules_loaded: 'The rules were read; the data have the hash of the file.',
  restored: 'A backup took the place of the database. The events after it say what that ended.',
} as const

export type EventType = keyof typeof events
export const eventTypes = Object.keys(events) as [EventType, ...EventType[]]

export interface NewEvent {
  type: EventType
  at: number
  actor: string
  via: Via
  confirmationId: string | null
  data: Record<string, unknown>
}

export interface AuditEvent extends NewEvent {
  seq: number
}

/** An event as it was read back: its data is still JSON text. */
export interface RecordedEvent extends Omit<AuditEvent, 'data'> {
  data: string
}

export function submitted(confirmation: Confirmation, via: Via): NewEvent {
  return {
    type: 'submitted',
    at: confirmation.createdAt,
    actor: confirmation.requester,
    via,
    confirmationId: confirmation.id,
    data: {
      action: confirmation.action,
      description: confirmation.description,
      details: raw(confirmation.details),
      requester: confirmation.requester,
      session_key: confirmation.sessionKey,
      digest: confirmation.digest,
      timeout_seconds: confirmation.timeoutSeconds,
      expires_at: confirmation.deadline / 1000,
      rule: confirmation.terms.rule,
      ...(confirmation.onBehalfOf === null ? {} : { on_behalf_of: confirmation.onBehalfOf }),
      ...(confirmation.requestedAs === null ? {} : { requested_as: confirmation.requestedAs }),
      ...(confirmation.callbackUrl === null ? {} : { callback_url: confirmation.callbackUrl }),
    },
  }
}

/** The same was asked again while it waits, and nobody was told a second time. */
export function repeated({ id, requester, action, digest }: Confirmation, at: number, via: Via): NewEvent {
  return { type: 'repeated', at, actor: requester, via, confirmationId: id, data: { action, digest } }
}

/** A vote: one of several, or the one that settled it. */
export function voted(confirmation: Confirmation, at: number, more: Record<string, unknown> = {}): NewEvent {
  const { id, action, digest, terms, votes, resolution } = confirmation
  const { verdict, by, via, reason, comment } = votes.at(-1)!
  const said = {
    ...(comment === null ? {} : { comment }),
    rule: terms.rule,
    approvals_given: approvalsGiven(confirmation),
    approvals_needed: terms.approvals,
  }
  if (resolution !== null) return resolved(confirmation, at, { ...said, ...more })
  const data = { action, digest, verdict, ...(reason === null ? {} : { reason }), ...said, ...more }
  return { type: 'voted', at, actor: by, via, confirmationId: id, data }
}

/** How a confirmation ended. `at` is when it was written down; an expiry took effect at its `resolved_at`. */
export function resolved(confirmation: Confirmation, at: number, more: Record<string, unknown> = {}): NewEvent {
  const { status, by, at: resolvedAt, via, reason } = confirmation.resolution!
  return {
    type: status,
    at,
    actor: by,
    via,
    confirmationId: confirmation.id,
    data: {
      action: confirmation.action,
      digest: confirmation.digest,
      status,
      resolved_by: by,
      resolved_at: resolvedAt / 1000,
      ...(reason === null ? {} : { reason }),
      ...more,
    },
  }
}

const executed = {
  unclaimed: null,
  lapsed: 'lapsed',
  claimed: 'claimed',
  unreported: 'unreported',
  succeeded: 'reported',
  failed: 'reported',
} as const satisfies Record<ExecutionState, EventType | null>

/** What was done with an approval, or that nothing was in time. */
export function execution(confirmation: Confirmation, at: number, via: Via): NewEvent {
  const { state, message } = confirmation.execution!
  return {
    type: executed[state]!,
    at,
    actor: via === 'system' ? 'system:timeout' : confirmation.requester,
    via,
    confirmationId: confirmation.id,
    data: {
      action: confirmation.action,
      digest: confirmation.digest,
      execution: state,
      ...(message === null ? {} : { message }),
    },
  }
}

/** What time alone did to a confirmation. */
export function lapsed(confirmation: Confirmation, at: number): NewEvent {
  return confirmation.execution === null ? resolved(confirmation, at) : execution(confirmation, at, 'system')
}

export function rateLimited(submission: Submission, refusal: Refusal, at: number, via: Via): NewEvent {
  return {
    type: 'rate_limited',
    at,
    actor: submission.requester,
    via,
    confirmationId: null,
    data: { action: submission.action, session_key: submission.sessionKey, ...refusal.extra },
  }
}

/** An attempt that the rules forbid, kept because somebody will want to know who tried. */
export function rejected(
  { refused }: Refusal,
  attempt: Pick<NewEvent, 'actor' | 'at' | 'via' | 'confirmationId'>,
  about: Record<string, unknown>,
): NewEvent {
  return { type: 'rejected', ...attempt, data: { code: refused, ...about } }
}

export function granted(grant: Grant, at: number, via: Via, confirmationId: string | null = null): NewEvent {
  return {
    type: 'granted',
    at,
    actor: grant.grantedBy,
    via,
    confirmationId,
    data: {
      grant_id: grant.id,
      action: grant.action,
      session_key: grant.sessionKey,
      ...bounds(grant),
      expires_at: grant.expiresAt === null ? null : grant.expiresAt / 1000,
      max_uses: grant.maxUses,
      reason: grant.reason,
    },
  }
}

export function revoked(grant: Grant, actor: string, at: number, via: Via): NewEvent {
  return {
    type: 'revoked',
    at,
    actor,
    via,
    confirmationId: null,
    data: {
      grant_id: grant.id,
      action: grant.action,
      session_key: grant.sessionKey,
      ...bounds(grant),
      uses: grant.uses,
    },
  }
}

/** To whom and to which details a grant is bound, where it is. */
function bounds({ requester, when, details }: Grant): Record<string, unknown> {
  return {
    ...(requester === null ? {} : { requester }),
    ...(when === null ? {} : { when: raw(when) }),
    ...(details === null ? {} : { details: raw(details) }),
  }
}

/** The outcome of one attempt to tell a person, or to call back. */
export function attempted(delivery: Delivery, { digest }: Confirmation): NewEvent {
  return {
    type: delivery.state === 'sent' ? 'notified' : 'notify_failed',
    at: delivery.updatedAt,
    actor: 'system:outbox',
    via: delivery.channel,
    confirmationId: delivery.confirmationId,
    data: {
      state: delivery.state,
      attempts: delivery.attempts,
      digest,
      ...(delivery.error === null ? {} : { error: delivery.error }),
      ...(delivery.nextAt === null ? {} : { next_attempt_at: delivery.nextAt / 1000 }),
    },
  }
}

/** A delivery that needs no attempt; its event says what was said. */
export function notified(delivery: Delivery, { action, requester, onBehalfOf, digest }: Confirmation): NewEvent {
  const behalf = onBehalfOf === null ? {} : { on_behalf_of: onBehalfOf }
  return {
    type: 'notified',
    at: delivery.updatedAt,
    actor: 'system:outbox',
    via: delivery.channel,
    confirmationId: delivery.confirmationId,
    data: { state: delivery.state, attempts: delivery.attempts, digest, action, requester, ...behalf },
  }
}

/** A link was made, for a message that carries it. */
export function linked(
  { confirmationId, recipient, channel, createdAt: at }: Link,
  { digest }: Confirmation,
): NewEvent {
  return { type: 'linked', at, actor: 'system:outbox', via: channel, confirmationId, data: { recipient, digest } }
}

export function keyChanged(
  type: 'key_added' | 'key_revoked' | 'key_rotated',
  { id, person, role, expiresAt }: Key,
  attempt: Pick<NewEvent, 'actor' | 'at' | 'via'>,
  more: Record<string, unknown> = {},
): NewEvent {
  const data = {
    key_id: id,
    name: person,
    role,
    ...(expiresAt === null ? {} : { expires_at: expiresAt / 1000 }),
    ...more,
  }
  return { type, ...attempt, confirmationId: null, data }
}

export function personChanged(
  { name, telegramId, discordId }: Person,
  attempt: Pick<NewEvent, 'actor' | 'at' | 'via'>,
): NewEvent {
  const data = { name, telegram_id: telegramId, discord_id: discordId }
  return { type: 'person_changed', ...attempt, confirmationId: null, data }
}

export function rulesLoaded(at: number, data: { rules: number; sha256: string }): NewEvent {
  return { type: 'rules_loaded', at, actor: 'system:rules', via: 'system', confirmationId: null, data }
}

/** What signs for everything that a restore ends. */
export const restorer = 'system:restore'

/** A backup took the place of the database; what follows is what that ended. */
export function restored(at: number, data: Record<string, unknown>): NewEvent {
  return { type: 'restored', at, actor: restorer, via: 'system', confirmationId: null, data }
}
