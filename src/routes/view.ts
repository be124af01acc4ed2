// Records as the API shows them: snake_case, seconds instead of milliseconds, with ISO twins. The only place that converts.
import type { RecordedEvent } from '../audit/event.js'
import { statusOf } from '../core/confirmation.js'
import { raw } from '../core/json.js'
import type { Confirmation, Delivery } from '../core/model.js'
import type { Cursor } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { Problem } from './errors.js'

export function confirmationView(confirmation: Confirmation) {
  const { resolution } = confirmation
  return {
    id: confirmation.id,
    action: confirmation.action,
    description: confirmation.description,
    details: raw(confirmation.details),
    requester: confirmation.requester,
    session_key: confirmation.sessionKey,
    status: statusOf(confirmation),
    resolved_by: resolution?.by ?? '',
    resolved_at: seconds(resolution?.at ?? null),
    created_at: confirmation.createdAt / 1000,
    timeout_seconds: confirmation.timeoutSeconds,
    created_at_iso: iso(confirmation.createdAt),
    resolved_at_iso: iso(resolution?.at ?? null),
    expires_at: confirmation.deadline / 1000,
    expires_at_iso: iso(confirmation.deadline),
    resolved_via: resolution?.via ?? null,
    reason: resolution?.reason ?? null,
  }
}

export function resolutionView(confirmation: Confirmation) {
  const { status, by, at, reason } = confirmation.resolution!
  return {
    id: confirmation.id,
    action: confirmation.action,
    status,
    resolved_by: by,
    resolved_at: at / 1000,
    resolved_at_iso: iso(at),
    ...(reason === null ? {} : { reason }),
  }
}

export function deliveryView(delivery: Delivery) {
  return {
    channel: delivery.channel,
    status: delivery.state,
    attempts: delivery.attempts,
    updated_at: delivery.updatedAt / 1000,
    updated_at_iso: iso(delivery.updatedAt),
    next_attempt_at: seconds(delivery.nextAt),
    error: delivery.error,
  }
}

export function grantView(grant: Grant) {
  return {
    id: grant.id,
    action: grant.action,
    scope: grant.sessionKey === null ? ('global' as const) : ('session' as const),
    session_key: grant.sessionKey,
    granted_by: grant.grantedBy,
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

export function writeCursor(cursor: Cursor | null): string | null {
  return cursor === null ? null : Buffer.from(cursor.join('.')).toString('base64url')
}

export function readCursor(text: string | undefined): Cursor | null {
  if (text === undefined) return null
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (match === null)
    throw new Problem('invalid_cursor', "This cursor is not one of ours; take 'next_cursor' from the last answer.")
  return [Number(match[1]), Number(match[2])]
}

export function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}

export function iso(ms: number): string
export function iso(ms: number | null): string | null
export function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
