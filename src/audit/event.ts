// The history: one event for everything that happened, appended and never changed.
import type { Instance } from '../access/instance.js'
import type { Key } from '../access/key.js'
import type { Link } from '../access/link.js'
import { idIn, type Person } from '../access/person.js'
import type { SignInLink } from '../access/sign-in.js'
import { type Actor, type ActorOf, system, textOf } from '../core/actor.js'
import { raw } from '../core/json.js'
import { sayCaution } from '../core/caution.js'
import {
  type Alarm,
  type Comment,
  type Confirmation,
  type Delivery,
  type Executed,
  isAlarm,
  type Pending,
  personalChats,
  type Refused,
  type Resolved,
  type Subject,
  type Submission,
  type Via,
  type Vote,
} from '../core/model.js'
import type { Refusal } from '../core/refusal.js'
import { approvalsGiven } from '../core/vote.js'
import { type ByRule, type CollectSettings, sumOf } from '../sessions/collect.js'
import type { Due, Run, Session } from '../sessions/session.js'
import type { Grant } from '../whitelist/grant.js'
import type { AboutAlarm, Attempted, EventData, SessionFacts } from './data.js'

/** The one table of events, with what each means: types, schemas and documents are made from it. */
export const events = {
  submitted: 'An agent asked. The event has all that was asked for.',
  repeated: 'The same was asked again while it is pending, and nobody was told a second time.',
  voted: 'One of several approvals that are needed. The vote that settles it is `approved` or `denied`.',
  auto_approved: 'A whitelist entry covered it, which `grant_id` in the data names, or a rule lets it pass: `rule`.',
  approved: 'A person approved, and nobody else is needed.',
  denied: 'A person denied.',
  expired: 'Nobody answered in time. Where `told_at` in the data is null, nobody was told, either.',
  cancelled: 'The agent withdrew it, its instance was deleted, or a restore ended it.',
  commented: 'Whoever decided said more about it afterwards.',
  asked_for: 'Somebody asked for it in a chat, and is shown it there.',
  reminded: 'Nobody has answered: whoever was told is told again. `is_last` in the data: shortly before the end.',
  escalated: 'Nobody has answered: others are told, as the rule says.',
  claimed: 'The agent passed the last gate, and acts.',
  lapsed: 'An approval was not claimed in time. It is no longer good.',
  reported: 'The agent said how the act went.',
  unreported: 'Nobody said in time how the act went.',
  rate_limited: 'A submission was refused because its action had its share for now.',
  rejected: 'Somebody tried what is not allowed; `code` in the data says what.',
  granted: 'A whitelist entry was made, or its terms were set anew.',
  revoked: 'A whitelist entry was ended.',
  linked: 'A link was made for a message.',
  notified: 'A person was told, of a confirmation or by an alarm, or an agent called back.',
  notify_failed: 'An attempt at that failed; the data say whether there is a next.',
  key_added: 'A key was made.',
  key_revoked: 'A key was revoked.',
  key_rotated: 'A key was made in the place of another.',
  instance_changed: 'A provisioner made an instance with the key that `key_added` tells of, or named it anew.',
  sign_in_linked: 'A link was made by which its recipient can sign in with a key, once.',
  sign_in_link_used: 'Somebody signed in by such a link.',
  person_changed: 'Somebody was named, or has other chat ids.',
  session_started: 'A session began with a message. One that begins with a submission is in the `submitted`.',
  session_due: 'A session has to rotate, and its whitelist entries ended; what was pending then is waited for.',
  session_rotated: 'A session has a new id and its whitelist entries ended; the data say why and what it was.',
  session_suspended: 'A session was suspended: nothing it submits or claims is taken.',
  session_resumed: 'A session goes on that was suspended.',
  session_warned: 'So many requests of a session in a row were denied or expired that it is warned.',
  session_paused: 'The same, but its whitelist entries ended and it has to wait.',
  requester_paused: 'The same over all sessions of a requester, which has to wait.',
  sessions_collected:
    'So many sessions that nobody needs are removed, by each rule. If fewer went, another says so: its `corrects` is the number of this one.',
  rules_loaded: 'The rules were read; the data have the hash of the file.',
  restored: 'A backup took the place of the database. The events after it say what that ended.',
} as const satisfies Record<keyof EventData, string>

export type EventType = keyof EventData
export const eventTypes = Object.keys(events) as [EventType, ...EventType[]]

interface EventOf<T extends EventType> {
  type: T
  at: number
  actor: Actor
  via: Via
  confirmationId: string | null
  data: EventData[T]
}

export type NewEvent = { [T in EventType]: EventOf<T> }[EventType]
export type AuditEvent = NewEvent & { seq: number }

/** An event as it was read back: its actor is the text of one, its data is JSON text. */
export interface RecordedEvent {
  seq: number
  type: EventType
  at: number
  actor: string
  via: Via
  confirmationId: string | null
  data: string
}

/** Who did it, when and through what. */
export type Signature = Pick<NewEvent, 'actor' | 'at' | 'via'>

export function submitted(confirmation: Confirmation, actor: Actor, via: Via): NewEvent {
  return {
    type: 'submitted',
    at: confirmation.createdAt,
    actor,
    via,
    confirmationId: confirmation.id,
    data: submittedData(confirmation),
  }
}

/** Written out, as every submission comes by here: a spread takes many times as long. */
function submittedData(confirmation: Confirmation): EventData['submitted'] {
  const { sessionId, caution, onBehalfOf, requestedAs, callbackUrl } = confirmation
  const data: EventData['submitted'] = {
    action: confirmation.action,
    description: confirmation.description,
    details: raw(confirmation.details),
    requester: confirmation.requester,
    session_key: confirmation.sessionKey,
    digest: confirmation.digest,
    timeout_seconds: confirmation.timeoutSeconds,
    expires_at: confirmation.deadline / 1000,
    rule: confirmation.terms.rule,
  }
  if (sessionId !== null) data.session_id = sessionId
  if (caution !== null) data.warnings = sayCaution(caution)
  if (onBehalfOf !== null) data.on_behalf_of = onBehalfOf
  if (requestedAs !== null) data.requested_as = requestedAs
  if (callbackUrl !== null) data.callback_url = callbackUrl
  return data
}

/** The same was asked again while it is pending, and nobody was told a second time. */
export function repeated({ id, action, digest }: Confirmation, actor: Actor, at: number, via: Via): NewEvent {
  return { type: 'repeated', at, actor, via, confirmationId: id, data: { action, digest } }
}

/** A vote: one of several, or the one that settled it. */
export function voted(confirmation: Confirmation, { verdict, by, via, reason, comment }: Vote, at: number): NewEvent {
  const { id, action, digest, terms } = confirmation
  const tally = {
    ...(comment === null ? {} : { comment }),
    rule: terms.rule,
    approvals_given: approvalsGiven(confirmation),
    approvals_needed: terms.approvals,
  }
  const common = { at, actor: by, via, confirmationId: id }
  if (confirmation.status !== 'pending') {
    const data = { ...endedData(confirmation), ...tally }
    return { type: verdict === 'approve' ? 'approved' : 'denied', ...common, data }
  }
  const data = { action, digest, verdict, ...(reason === null ? {} : { reason }), ...tally }
  return { type: 'voted', ...common, data }
}

export function commented({ id, action, digest }: Confirmation, { by, at, via, text }: Comment): NewEvent {
  return { type: 'commented', at, actor: by, via, confirmationId: id, data: { action, digest, comment: text } }
}

/** Somebody asked a chat for a card of it. */
export function askedFor({ id, action, digest }: Confirmation, signature: Signature): NewEvent {
  return { type: 'asked_for', ...signature, confirmationId: id, data: { action, digest } }
}

export function autoApproved(confirmation: Resolved, by: ActorOf<'grant' | 'rule'>, at: number): NewEvent {
  const { id, resolution } = confirmation
  const data = { ...endedData(confirmation), ...(by.kind === 'grant' ? { grant_id: by.id } : { rule: by.name }) }
  return { type: 'auto_approved', at, actor: resolution.by, via: resolution.via, confirmationId: id, data }
}

export function cancelled(confirmation: Resolved, at: number): NewEvent {
  return { type: 'cancelled', ...ended(confirmation, at) }
}

/** `at` is when it was recorded; an expiry took effect at its `resolved_at`. */
function ended(confirmation: Resolved, at: number) {
  const { id, resolution } = confirmation
  return { at, actor: resolution.by, via: resolution.via, confirmationId: id, data: endedData(confirmation) }
}

function endedData({ action, digest, status, resolution: { by, at, reason } }: Resolved) {
  return {
    action,
    digest,
    status,
    resolved_by: textOf(by),
    resolved_at: at / 1000,
    ...(reason === null ? {} : { reason }),
  }
}

const executions = {
  lapsed: 'lapsed',
  claimed: 'claimed',
  unreported: 'unreported',
  succeeded: 'reported',
  failed: 'reported',
} as const satisfies Record<Executed['execution']['state'], EventType>

/** What was done with an approval, or that nothing was in time. */
export function executed({ id, action, digest, execution }: Executed, { actor, at, via }: Signature): NewEvent {
  const message = 'message' in execution ? execution.message : null
  return {
    type: executions[execution.state],
    at,
    actor,
    via,
    confirmationId: id,
    data: { action, digest, execution: execution.state, ...(message === null ? {} : { message }) },
  }
}

/** What time alone, or a restore, made of a confirmation. */
export function overdue(confirmation: Refused | Executed, at: number, actor: Actor = system('timeout')): NewEvent {
  if (confirmation.execution !== null) return executed(confirmation, { actor, at, via: 'system' })
  if (confirmation.status === 'cancelled') return cancelled(confirmation, at)
  const { data, ...common } = ended(confirmation, at)
  const { toldAt } = confirmation
  return { type: 'expired', ...common, data: { ...data, told_at: toldAt === null ? null : toldAt / 1000 } }
}

export function rateLimited(
  { action, sessionKey }: Submission,
  rate: Omit<EventData['rate_limited'], 'action' | 'session_key'>,
  { actor, at, via }: Signature,
): NewEvent {
  const data = { action, session_key: sessionKey, ...rate }
  return { type: 'rate_limited', at, actor, via, confirmationId: null, data }
}

/** An attempt that the rules forbid, kept because somebody will want to know who tried. */
export function rejected(
  { refused }: Refusal,
  attempt: Signature & { confirmationId: string | null },
  about: Attempted,
): NewEvent {
  return { type: 'rejected', ...attempt, data: { ...about, code: refused } }
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

export function revoked(grant: Grant, { actor, at, via }: Signature): NewEvent {
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
function bounds({ requester, when, details }: Grant) {
  return {
    ...(requester === null ? {} : { requester }),
    ...(when === null ? {} : { when: raw(when) }),
    ...(details === null ? {} : { details: raw(details) }),
  }
}

const outbox = system('outbox')

/** The outcome of one attempt to tell a person, or to call back. */
export function attempted(delivery: Delivery, subject: Subject): NewEvent {
  return {
    type: delivery.state === 'sent' || delivery.state === 'collected' ? 'notified' : 'notify_failed',
    at: delivery.updatedAt,
    actor: outbox,
    via: delivery.channel,
    confirmationId: isAlarm(subject) ? null : subject.id,
    data: {
      state: delivery.state,
      attempts: delivery.attempts,
      ...wherefore(delivery),
      ...(isAlarm(subject) ? aboutAlarm(subject) : { digest: subject.digest }),
      ...(delivery.error === null ? {} : { error: delivery.error }),
      ...(delivery.nextAt === null ? {} : { next_attempt_at: delivery.nextAt / 1000 }),
    },
  }
}

/** Nothing of it stands with the usual: the notice, to where the settings say. */
function wherefore({ occasion, channel, destination }: Delivery) {
  return {
    ...(occasion === 'notice' ? {} : { occasion }),
    ...(destination === '' || channel === 'callback' ? {} : { to: destination }),
  }
}

function aboutAlarm({ id, kind, requester, sessionKey }: Alarm): AboutAlarm {
  return { alarm: kind, alarm_id: id, requester, session_key: sessionKey }
}

/** A delivery that needs no attempt; its event says what was said. */
export function notified(delivery: Delivery, subject: Subject): NewEvent {
  if (isAlarm(subject)) return attempted(delivery, subject)
  const { action, requester, onBehalfOf, digest } = subject
  const { state, attempts } = delivery
  const data: EventData['notified'] = { state, attempts, ...wherefore(delivery), digest, action, requester }
  if (onBehalfOf !== null) data.on_behalf_of = onBehalfOf
  if (delivery.error !== null) data.error = delivery.error
  return {
    type: 'notified',
    at: delivery.updatedAt,
    actor: outbox,
    via: delivery.channel,
    confirmationId: subject.id,
    data,
  }
}

/** Nobody has answered, and those are told again who can be reached in so many places. */
export function reminded(
  { id, action, digest, terms, deadline }: Pending,
  isLast: boolean,
  places: number,
  at: number,
): NewEvent {
  const data = { action, digest, rule: terms.rule, is_last: isLast, places, expires_at: deadline / 1000 }
  return { type: 'reminded', at, actor: outbox, via: 'system', confirmationId: id, data }
}

/** Nobody has answered, and others are told. */
export function escalated({ id, action, digest, terms, deadline }: Pending, at: number): NewEvent {
  const data = { action, digest, rule: terms.rule, expires_at: deadline / 1000 }
  return { type: 'escalated', at, actor: outbox, via: 'system', confirmationId: id, data }
}

/** A link was made, for a message that carries it. */
export function linked(
  { confirmationId, recipient, channel, createdAt: at }: Link,
  { digest }: Confirmation,
): NewEvent {
  const data = { recipient: textOf(recipient), digest }
  return { type: 'linked', at, actor: outbox, via: channel, confirmationId, data }
}

export function keyAdded(key: Key, signature: Signature): NewEvent {
  return { type: 'key_added', ...signature, confirmationId: null, data: keyData(key) }
}

export function keyRevoked(key: Key, signature: Signature, reason: string | null = null): NewEvent {
  const data = { ...keyData(key), ...(reason === null ? {} : { reason }) }
  return { type: 'key_revoked', ...signature, confirmationId: null, data }
}

/** `key` is the new one. */
export function keyRotated(key: Key, old: Key, overlapMs: number, signature: Signature): NewEvent {
  const data = { ...keyData(key), old_key_id: old.id, overlap_seconds: overlapMs / 1000 }
  return { type: 'key_rotated', ...signature, confirmationId: null, data }
}

export function instanceChanged({ id, name, person, keyId }: Instance, signature: Signature): NewEvent {
  const data = { instance_id: id, name, requester: person, key_id: keyId }
  return { type: 'instance_changed', ...signature, confirmationId: null, data }
}

export function signInLinked({ id, person, role }: Key, { endsAt }: SignInLink, signature: Signature): NewEvent {
  const data = { key_id: id, name: person, role, link_expires_at: endsAt / 1000 }
  return { type: 'sign_in_linked', ...signature, confirmationId: null, data }
}

export function signInLinkUsed({ id, person, role }: Key, signature: Signature): NewEvent {
  return { type: 'sign_in_link_used', ...signature, confirmationId: null, data: { key_id: id, name: person, role } }
}

function keyData({ id, person, role, expiresAt }: Key) {
  return { key_id: id, name: person, role, ...(expiresAt === null ? {} : { expires_at: expiresAt / 1000 }) }
}

type Id = string | null

export function personChanged(person: Person, signature: Signature): NewEvent {
  const [telegram_id, discord_id, slack_id] = personalChats.map((chat) => idIn(chat, person)) as [Id, Id, Id]
  const data = { name: person.name, telegram_id, discord_id, slack_id }
  return { type: 'person_changed', ...signature, confirmationId: null, data }
}

export function sessionStarted(session: Session, signature: Signature): NewEvent {
  return { type: 'session_started', ...signature, confirmationId: null, data: sessionFacts(session) }
}

/** `grants` end with it. */
export function sessionDue(session: Session, due: Due, grants: Grant[], signature: Signature): NewEvent {
  const data = { ...sessionFacts(session), ...sessionEnd(session, session.run!, due, grants) }
  return { type: 'session_due', ...signature, confirmationId: null, data }
}

/** `ended` is the run before, and `outcomes` the last ones in it. */
export function sessionRotated(
  session: Session,
  ended: Run,
  due: Due,
  grants: Grant[],
  outcomes: Resolved[],
  signature: Signature,
): NewEvent {
  const data = {
    ...sessionFacts(session),
    previous_id: ended.id,
    lasted_seconds: (ended.lastActiveAt - ended.createdAt) / 1000,
    ...sessionEnd(session, ended, due, grants),
    outcomes: outcomes.map(({ id, action, status }) => ({ id, action, status })),
  }
  return { type: 'session_rotated', ...signature, confirmationId: null, data }
}

export function sessionSuspended(session: Session, failures: number | null, signature: Signature): NewEvent {
  const reason = session.suspension?.reason ?? null
  const data = {
    ...sessionFacts(session),
    ...(reason === null ? {} : { reason }),
    ...(failures === null ? {} : { failures }),
  }
  return { type: 'session_suspended', ...signature, confirmationId: null, data }
}

export function sessionResumed(session: Session, reason: string | null, signature: Signature): NewEvent {
  const data = { ...sessionFacts(session), ...(reason === null ? {} : { reason }) }
  return { type: 'session_resumed', ...signature, confirmationId: null, data }
}

export function sessionWarned(session: Session, signature: Signature): NewEvent {
  const data = { ...sessionFacts(session), failures: session.streak.failures }
  return { type: 'session_warned', ...signature, confirmationId: null, data }
}

export function sessionPaused(session: Session, grants: Grant[], signature: Signature): NewEvent {
  const { failures, waitsUntil } = session.streak
  const data = { ...sessionFacts(session), failures, waits_until: waitsUntil / 1000, grants: grants.map(endedGrant) }
  return { type: 'session_paused', ...signature, confirmationId: null, data }
}

export function requesterPaused({ requester, streak }: Session, signature: Signature): NewEvent {
  const data = { requester, failures: streak.failures, waits_until: streak.waitsUntil / 1000 }
  return { type: 'requester_paused', ...signature, confirmationId: null, data }
}

function sessionFacts({ requester, key, run }: Session): SessionFacts {
  return { session_key: key, requester, session_id: run?.id ?? null }
}

function sessionEnd({ streak }: Session, { messages, submissions }: Run, { reason }: Due, grants: Grant[]) {
  return { reason, messages, submissions, failures: streak.failures, grants: grants.map(endedGrant) }
}

function endedGrant({ id, action, uses }: Grant) {
  return { id, action, uses }
}

/** `corrects` is the number of the event that said how many were to go, where fewer went. */
export function sessionsCollected(
  byRule: ByRule,
  { emptyHours, trivialMax, trivialDays, maxAgeDays, platform }: CollectSettings,
  signature: Signature,
  corrects: number | null = null,
): NewEvent {
  const data = {
    ...byRule,
    total: sumOf(byRule),
    empty_hours: emptyHours,
    trivial_max: trivialMax,
    trivial_days: trivialDays,
    max_age_days: maxAgeDays,
    source: platform,
    ...(corrects === null ? {} : { corrects }),
  }
  return { type: 'sessions_collected', ...signature, confirmationId: null, data }
}

export function rulesLoaded(at: number, data: EventData['rules_loaded']): NewEvent {
  return { type: 'rules_loaded', at, actor: system('rules'), via: 'system', confirmationId: null, data }
}

/** What signs for everything that a restore ends. */
export const restorer = system('restore')

/** A backup took the place of the database; what follows is what that ended. */
export function restored(at: number, data: EventData['restored']): NewEvent {
  return { type: 'restored', at, actor: restorer, via: 'system', confirmationId: null, data }
}
