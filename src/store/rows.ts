// Records as rows. They travel as tuples in the order of their columns, to SQLite and to the thread that writes: by name,
// binding and reading them would cost as much as a small insert.
import type { EventType, NewEvent, RecordedEvent } from '../audit/event.js'
import { stringify } from '../core/json.js'
import type { ChannelName, Confirmation, Delivery, DeliveryState, Outcome, Status, Via } from '../core/model.js'
import type { Grant } from '../whitelist/grant.js'

export const confirmationColumns = `id, action, description, details, requester, session_key, timeout_seconds,
  created_at, deadline, confirmations.version, status, resolved_by, resolved_at, resolved_via, reason`

export type ConfirmationRow = [
  id: string,
  action: string,
  description: string,
  details: string,
  requester: string,
  sessionKey: string,
  timeoutSeconds: number,
  createdAt: number,
  deadline: number,
  ...ResolutionRow,
]

export type ResolutionRow = [
  version: number,
  status: Status,
  resolvedBy: string,
  resolvedAt: number | null,
  resolvedVia: Via | null,
  reason: string | null,
]

export function toConfirmation(row: ConfirmationRow): Confirmation {
  const [id, action, description, details, requester, sessionKey, timeoutSeconds, createdAt, deadline] = row
  const [, , , , , , , , , version, status, by, at, via, reason] = row
  return {
    id,
    version,
    action,
    description,
    details,
    requester,
    sessionKey,
    timeoutSeconds,
    createdAt,
    deadline,
    resolution: at === null ? null : { status: status as Outcome, by, at, via: via!, reason },
  }
}

export function fromConfirmation(confirmation: Confirmation): ConfirmationRow {
  return [
    confirmation.id,
    confirmation.action,
    confirmation.description,
    confirmation.details,
    confirmation.requester,
    confirmation.sessionKey,
    confirmation.timeoutSeconds,
    confirmation.createdAt,
    confirmation.deadline,
    ...fromResolution(confirmation),
  ]
}

export function fromResolution({ version, resolution }: Confirmation): ResolutionRow {
  if (resolution === null) return [version, 'pending', '', null, null, null]
  return [version, resolution.status, resolution.by, resolution.at, resolution.via, resolution.reason]
}

export const deliveryColumns = `deliveries.version, state, attempts, next_at, updated_at, error, confirmation_id, channel`

export type DeliveryRow = [
  version: number,
  state: DeliveryState,
  attempts: number,
  nextAt: number | null,
  updatedAt: number,
  error: string | null,
  confirmationId: string,
  channel: ChannelName,
]

export function toDelivery(row: DeliveryRow): Delivery {
  const [version, state, attempts, nextAt, updatedAt, error, confirmationId, channel] = row
  return { version, state, attempts, nextAt, updatedAt, error, confirmationId, channel }
}

export function fromDelivery(delivery: Delivery): DeliveryRow {
  const { version, state, attempts, nextAt, updatedAt, error, confirmationId, channel } = delivery
  return [version, state, attempts, nextAt, updatedAt, error, confirmationId, channel]
}

export const grantColumns = `action, scope, session_key, id, version, expires_at, max_uses, reason, granted_by, created_at,
  revoked_at, uses`

export type GrantRow = [
  action: string,
  scope: 'global' | 'session',
  sessionKey: string,
  id: string,
  version: number,
  expiresAt: number | null,
  maxUses: number | null,
  reason: string | null,
  grantedBy: string,
  createdAt: number,
  revokedAt: number | null,
  uses: number,
]

export function toGrant(row: GrantRow): Grant {
  const [action, scope, key, id, version, expiresAt, maxUses, reason, grantedBy, createdAt, revokedAt, uses] = row
  const sessionKey = scope === 'global' ? null : key
  return { action, sessionKey, id, version, expiresAt, maxUses, reason, grantedBy, createdAt, revokedAt, uses }
}

export function fromGrant(grant: Grant): GrantRow {
  const { action, sessionKey, id, version, expiresAt, maxUses, reason, grantedBy, createdAt, revokedAt, uses } = grant
  const scope = sessionKey === null ? 'global' : 'session'
  return [
    action,
    scope,
    sessionKey ?? '',
    id,
    version,
    expiresAt,
    maxUses,
    reason,
    grantedBy,
    createdAt,
    revokedAt,
    uses,
  ]
}

export const eventColumns = 'at, type, actor, via, confirmation_id, data, seq'

/** Without its number, which is the writer's to give. */
export type EventRow = [
  at: number,
  type: EventType,
  actor: string,
  via: Via,
  confirmationId: string | null,
  data: string,
]

export function toEvent([at, type, actor, via, confirmationId, data, seq]: [...EventRow, seq: number]): RecordedEvent {
  return { seq, at, type, actor, via, confirmationId, data }
}

export function fromEvent({ at, type, actor, via, confirmationId, data }: NewEvent): EventRow {
  return [at, type, actor, via, confirmationId, stringify(data)]
}
