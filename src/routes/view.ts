// Records as the API shows them: snake_case, seconds instead of milliseconds, with ISO twins. The only place that converts.
import type { z } from 'zod'
import type { Caller } from '../access/role.js'
import type { RecordedEvent } from '../audit/event.js'
import { isVerified, textOf } from '../core/actor.js'
import { asResolved } from '../core/confirmation.js'
import { sayCaution } from '../core/caution.js'
import { raw } from '../core/json.js'
import {
  type Comment,
  type Confirmation,
  type Delivery,
  type Occasion,
  type Remembered,
  type Resolved,
  type ShownOccasion,
  shownOccasions,
  type Vote,
} from '../core/model.js'
import { approvalsGiven } from '../core/vote.js'
import type { Found } from '../service/read.js'
import type { SeenSession, WholeSession } from '../service/sessions.js'
import { parseSessionKey } from '../sessions/key.js'
import { isAtLimit, isNear, noticeOn, resetTimeOf, type SessionState } from '../sessions/session.js'
import type { ConfirmationFilter, EventFilter } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import type { held, sessionState } from './answers.js'
import type { auditQuery, eventsQuery } from './requests.js'

export function confirmationView(confirmation: Confirmation) {
  const { resolution, execution } = confirmation
  const claimed = execution !== null && 'claimedAt' in execution ? execution : null
  const reported = claimed !== null && 'reportedAt' in claimed ? claimed : null
  return {
    id: confirmation.id,
    action: confirmation.action,
    description: confirmation.description,
    details: raw(confirmation.details),
    requester: confirmation.requester,
    session_key: confirmation.sessionKey,
    session_id: confirmation.sessionId,
    warnings: sayCaution(confirmation.caution),
    status: confirmation.status,
    resolved_by: resolution === null ? '' : textOf(resolution.by),
    resolved_at: seconds(resolution?.at ?? null),
    created_at: confirmation.createdAt / 1000,
    timeout_seconds: confirmation.timeoutSeconds,
    created_at_iso: iso(confirmation.createdAt),
    resolved_at_iso: iso(resolution?.at ?? null),
    expires_at: confirmation.deadline / 1000,
    expires_at_iso: iso(confirmation.deadline),
    resolved_via: resolution?.via ?? null,
    reason: resolution?.reason ?? null,
    digest: confirmation.digest,
    callback_url: confirmation.callbackUrl,
    requested_as: confirmation.requestedAs,
    on_behalf_of: confirmation.onBehalfOf,
    risk: confirmation.terms.risk,
    rule: confirmation.terms.rule,
    digest_required: confirmation.terms.needsDigest,
    approvals_needed: confirmation.terms.approvals,
    approvals_given: approvalsGiven(confirmation),
    votes: confirmation.votes.map(voteView),
    comments: confirmation.comments.map(commentView),
    told_at: seconds(confirmation.toldAt),
    told_at_iso: iso(confirmation.toldAt),
    execution: execution?.state ?? null,
    claim_expires_at: seconds(execution?.claimBy ?? null),
    claim_expires_at_iso: iso(execution?.claimBy ?? null),
    claimed_at: seconds(claimed?.claimedAt ?? null),
    claimed_at_iso: iso(claimed?.claimedAt ?? null),
    reported_at: seconds(reported?.reportedAt ?? null),
    reported_at_iso: iso(reported?.reportedAt ?? null),
    outcome: reported?.state ?? null,
    report_message: reported?.message ?? null,
  }
}

/** Agents are not told whom they would have to win over. */
export function foundView({ confirmation, deliveries }: Found, caller: Caller) {
  const deciding = caller.role === 'agent' ? null : decidingView(confirmation)
  const shown = deliveries.filter(({ occasion }) => occasion !== 'schedule')
  return { ...confirmationView(confirmation), deciding, deliveries: shown.map(deliveryView) }
}

function decidingView({ terms }: Confirmation) {
  const { deciders, seats, allowsOwn, mustType, reasonFor } = terms
  return { deciders, groups: seats, own_allowed: allowsOwn, typing_required: mustType, reason_required: reasonFor }
}

/**
 * What a callback says: the record as it was resolved, so that every attempt says the same, with the names that Standard
 * Webhooks gives to what and when.
 */
export function callbackView(confirmation: Resolved) {
  const { status, resolution } = confirmation
  const record = confirmationView(asResolved(confirmation))
  return { type: `confirmation.${status}`, timestamp: iso(resolution.at), ...record }
}

/** What a submission is answered with while it is pending; the same again whenever it is repeated. */
export function heldView({ id, action, timeoutSeconds, deadline, digest, requester, session }: Held) {
  const view: HeldView = {
    id,
    action,
    status: 'pending' as const,
    timeout_seconds: timeoutSeconds,
    message: `Waiting for a person to approve or deny this; it expires in ${timeoutSeconds} s.`,
    approve_url: `/confirm/${id}/approve`,
    deny_url: `/confirm/${id}/deny`,
    requester,
    digest,
    expires_at: deadline / 1000,
    expires_at_iso: iso(deadline),
  }
  if (session !== null) view.session = sessionStateView(session)
  return view
}

type HeldView = z.input<typeof held>

export type Held = Pick<Confirmation, 'id' | 'action' | 'timeoutSeconds' | 'deadline' | 'digest' | 'requester'> & {
  session: SessionState | null
}

function inSession(session: SessionState | null) {
  return session === null ? {} : { session: sessionStateView(session) }
}

type SessionStateView = z.input<typeof sessionState>

/** What an agent is told of its session. */
export function sessionStateView({ id, count, max, reset, warnings }: SessionState): SessionStateView {
  const view: SessionStateView = {
    id,
    count,
    max: max === 0 ? null : max,
    remaining: max === 0 ? null : Math.max(0, max - count),
    near_limit: isNear(count, max),
    at_limit: isAtLimit(count, max),
  }
  const notice = noticeOn(count, max)
  if (notice !== null) view.notice = notice
  if (warnings.length > 0) view.warning = warnings.join(' ')
  if (reset === null) return view
  return Object.assign(view, { was_reset: true as const, reset_reason: reset.reason, previous_id: reset.previousId })
}

/** As of now. */
export function sessionView({ session, due, rule }: SeenSession, now: number) {
  const { maxMessages: max } = rule
  const { run, streak, fixation, suspension, rotation } = session
  const place = parseSessionKey(session.key)
  const waitsUntil = streak.waitsUntil > now ? streak.waitsUntil : null
  // What is due already is due since then.
  const resetsAt = due === null ? resetTimeOf(run, rule) : null
  return {
    session_key: session.key,
    requester: session.requester,
    session_id: run.id,
    platform: place?.platform ?? null,
    chat_type: place?.chatType ?? null,
    created_at: run.createdAt / 1000,
    created_at_iso: iso(run.createdAt),
    last_active_at: run.lastActiveAt / 1000,
    last_active_at_iso: iso(run.lastActiveAt),
    messages: run.messages,
    submissions: run.submissions,
    max_messages: max === 0 ? null : max,
    remaining: max === 0 ? null : Math.max(0, max - run.messages),
    near_limit: isNear(run.messages, max),
    at_limit: isAtLimit(run.messages, max),
    streak: streak.failures,
    fixation: fixation === null ? null : { action: fixation.action, repeats: fixation.repeats },
    waits_until: seconds(waitsUntil),
    waits_until_iso: iso(waitsUntil),
    suspended: suspension !== null,
    suspended_at: seconds(suspension?.at ?? null),
    suspended_at_iso: iso(suspension?.at ?? null),
    suspended_by: suspension?.by ?? null,
    suspended_reason: suspension?.reason ?? null,
    rotated_at: seconds(rotation?.at ?? null),
    rotated_at_iso: iso(rotation?.at ?? null),
    rotation_reason: rotation?.reason ?? null,
    previous_id: rotation?.previousId ?? null,
    resets_at: seconds(resetsAt),
    resets_at_iso: iso(resetsAt),
    due_since: seconds(due?.at ?? null),
    due_since_iso: iso(due?.at ?? null),
    due_reason: due?.reason ?? null,
    switches_to: due?.to ?? null,
  }
}

export function wholeSessionView(whole: WholeSession, now: number) {
  const { requesterWaitsUntil, grants, pending, outcomes, past } = whole
  const waitsUntil = requesterWaitsUntil > now ? requesterWaitsUntil : null
  return {
    ...sessionView(whole, now),
    requester_waits_until: seconds(waitsUntil),
    requester_waits_until_iso: iso(waitsUntil),
    grants: grants.map(grantView),
    pending: pending.map((one) => ({
      ...partView(one),
      created_at: one.createdAt / 1000,
      created_at_iso: iso(one.createdAt),
      expires_at: one.deadline / 1000,
      expires_at_iso: iso(one.deadline),
    })),
    outcomes: outcomes.map((one) => ({
      ...partView(one),
      status: one.status,
      resolved_by: textOf(one.resolution.by),
      resolved_at: one.resolution.at / 1000,
      resolved_at_iso: iso(one.resolution.at),
      reason: one.resolution.reason,
      execution: one.execution?.state ?? null,
    })),
    earlier: past.map((run) => ({
      session_id: run.id,
      created_at: run.createdAt / 1000,
      created_at_iso: iso(run.createdAt),
      last_active_at: run.lastActiveAt / 1000,
      last_active_at_iso: iso(run.lastActiveAt),
      ended_at: run.endedAt / 1000,
      ended_at_iso: iso(run.endedAt),
      reason: run.reason,
      messages: run.messages,
      submissions: run.submissions,
    })),
  }
}

function partView({ id, action, description, sessionId }: Confirmation) {
  return { id, action, description, session_id: sessionId }
}

/** What a submission is answered with once it is resolved. */
export function settledView(confirmation: Resolved, session: SessionState | null) {
  return { ...confirmationView(confirmation), message: adviceOn(confirmation), ...inSession(session) }
}

/** What a submission is answered with that was never pending; the same again whenever it is repeated. */
export function firstView(confirmation: Resolved, session: SessionState | null) {
  return settledView(asResolved(confirmation), session)
}

function adviceOn({ status, resolution: { by } }: Resolved): string {
  switch (status) {
    case 'auto_approved':
      if (by.kind === 'rule') return `The rule '${by.name}' lets this pass; go ahead.`
      return 'A whitelist entry covers this action; go ahead.'
    case 'approved':
      return `Approved by ${textOf(by)}; go ahead.`
    case 'denied':
      return `Denied by ${textOf(by)}; do not act.`
    case 'expired':
      return 'Nobody answered in time; do not act.'
    case 'cancelled':
      return 'The request was withdrawn; do not act.'
  }
}

/** Its state after somebody's word: resolved, or still pending. */
export function decisionView(confirmation: Confirmation) {
  const { id, action, status, resolution, terms, votes } = confirmation
  return {
    id,
    action,
    status,
    resolved_by: resolution === null ? '' : textOf(resolution.by),
    resolved_at: seconds(resolution?.at ?? null),
    resolved_at_iso: iso(resolution?.at ?? null),
    ...(resolution?.reason == null ? {} : { reason: resolution.reason }),
    approvals_needed: terms.approvals,
    approvals_given: approvalsGiven(confirmation),
    votes: votes.map(voteView),
  }
}

function commentView({ by, text, at, via }: Comment) {
  return { by: textOf(by), text, at: at / 1000, at_iso: iso(at), via }
}

function voteView({ verdict, by, at, via, reason, comment, remember }: Vote) {
  const who = { by: textOf(by), at: at / 1000, at_iso: iso(at), via }
  const said = { verdict, ...who, reason, comment, proven: isVerified(by) }
  return { ...said, remember: remember === null ? null : rememberedView(remember) }
}

function rememberedView({ scope, requester, expiresAt, isExact }: Remembered) {
  return {
    scope,
    requester,
    expires_at: seconds(expiresAt),
    expires_at_iso: iso(expiresAt),
    details: isExact ? ('exact' as const) : ('any' as const),
  }
}

export function deliveryView(delivery: Delivery) {
  return {
    channel: delivery.channel,
    occasion: occasionView(delivery.occasion),
    status: delivery.state,
    attempts: delivery.attempts,
    updated_at: delivery.updatedAt / 1000,
    updated_at_iso: iso(delivery.updatedAt),
    next_attempt_at: seconds(delivery.nextAt),
    error: delivery.error,
  }
}

/** Which of the occasions there are; of what somebody asked for not how. */
function occasionView(occasion: Occasion): ShownOccasion {
  return shownOccasions.find((one) => one === occasion) ?? 'asked'
}

export function grantView(grant: Grant) {
  return {
    id: grant.id,
    action: grant.action,
    scope: grant.sessionKey === null ? ('global' as const) : ('session' as const),
    session_key: grant.sessionKey,
    requester: grant.requester,
    when: grant.when === null ? null : raw(grant.when),
    details: grant.details === null ? null : raw(grant.details),
    granted_by: textOf(grant.grantedBy),
    reason: grant.reason,
    uses: grant.uses,
    max_uses: grant.maxUses,
    created_at: grant.createdAt / 1000,
    created_at_iso: iso(grant.createdAt),
    expires_at: seconds(grant.expiresAt),
    expires_at_iso: iso(grant.expiresAt),
    revoked_at: seconds(grant.revokedAt),
  }
}

export function eventView(event: RecordedEvent) {
  return {
    seq: event.seq,
    type: event.type,
    time: event.at / 1000,
    time_iso: iso(event.at),
    actor: event.actor,
    channel: event.via,
    confirmation_id: event.confirmationId,
    data: raw(event.data),
  }
}

export function confirmationFilter(query: AuditQuery): ConfirmationFilter {
  const { status, action, requester, session_key, resolved_by, voted_by, since, until, ...rest } = query
  return {
    statuses: status,
    action,
    requester,
    sessionKey: session_key,
    resolvedBy: resolved_by,
    votedBy: voted_by,
    since,
    until,
    resolvedSince: rest.resolved_since,
    resolvedUntil: rest.resolved_until,
  }
}

type AuditQuery = Omit<z.output<typeof auditQuery>, 'limit' | 'cursor'>

export function eventFilter(query: EventQuery): EventFilter {
  const { type, confirmation_id, actor, channel, action, requester, session_key, since, until } = query
  return {
    types: type,
    confirmationId: confirmation_id,
    actor,
    channel,
    action,
    requester,
    sessionKey: session_key,
    since,
    until,
  }
}

type EventQuery = Omit<z.output<typeof eventsQuery>, 'after' | 'limit'>

export function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}

export function iso(ms: number): string
export function iso(ms: number | null): string | null
export function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
