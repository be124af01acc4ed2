// Records as rows. They travel as tuples in the order of their columns, to SQLite and to the thread that writes: by name,
// binding and reading them would cost as much as a small insert.
import type { EventType, NewEvent, RecordedEvent } from '../audit/event.js'
import { stringify } from '../core/json.js'
import type {
  ChannelName,
  Confirmation,
  Delivery,
  DeliveryState,
  ExecutionState,
  KeyedSubmission,
  Outcome,
  Status,
  Via,
} from '../core/model.js'
import type { Grant } from '../whitelist/grant.js'

export const confirmationColumns = `id, action, description, details, requester, session_key, timeout_seconds,
  confirmations.created_at, deadline, digest, callback_url, confirmations.version, status, resolved_by, resolved_at,
  resolved_via, reason, execution, claim_by, claimed_at, report_by, reported_at, report_message`

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
  digest: string,
  callbackUrl: string | null,
  ...StandingRow,
]

/** What changes: how the confirmation stands. */
export type StandingRow = [
  version: number,
  status: Status,
  resolvedBy: string,
  resolvedAt: number | null,
  resolvedVia: Via | null,
  reason: string | null,
  ...ExecutionRow,
]

type ExecutionRow = [
  state: ExecutionState | null,
  claimBy: number | null,
  claimedAt: number | null,
  reportBy: number | null,
  reportedAt: number | null,
  message: string | null,
]

const noExecution: ExecutionRow = [null, null, null, null, null, null]

export function toConfirmation(row: ConfirmationRow): Confirmation {
  const [id, action, description, details, requester, sessionKey, timeoutSeconds, createdAt, deadline] = row
  const [, , , , , , , , , digest, callbackUrl, version, status, by, at, via, reason] = row
  const [state, claimBy, claimedAt, reportBy, reportedAt, message] = row.slice(17) as ExecutionRow
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
    digest,
    callbackUrl,
    resolution: at === null ? null : { status: status as Outcome, by, at, via: via!, reason },
    execution: state === null ? null : { state, claimBy: claimBy!, claimedAt, reportBy, reportedAt, message },
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
    confirmation.digest,
    confirmation.callbackUrl,
    ...fromStanding(confirmation),
  ]
}

export function fromStanding({ version, resolution, execution }: Confirmation): StandingRow {
  if (resolution === null) return [version, 'pending', '', null, null, null, ...noExecution]
  const { status, by, at, via, reason } = resolution
  if (execution === null) return [version, status, by, at, via, reason, ...noExecution]
  const { state, claimBy, claimedAt, reportBy, reportedAt, message } = execution
  return [version, status, by, at, via, reason, state, claimBy, claimedAt, reportBy, reportedAt, message]
}

export const deliveryColumns = `deliveries.version, state, attempts, next_at, updated_at, error, confirmation_id, channel,
  destination`

export type DeliveryRow = [
  version: number,
  state: DeliveryState,
  attempts: number,
  nextAt: number | null,
  updatedAt: number,
  error: string | null,
  confirmationId: string,
  channel: ChannelName,
  destination: string,
]

export function toDelivery(row: DeliveryRow): Delivery {
  const [version, state, attempts, nextAt, updatedAt, error, confirmationId, channel, destination] = row
  return { version, state, attempts, nextAt, updatedAt, error, confirmationId, channel, destination }
}

export function fromDelivery(delivery: Delivery): DeliveryRow {
  const { version, state, attempts, nextAt, updatedAt, error, confirmationId, channel, destination } = delivery
  return [version, state, attempts, nextAt, updatedAt, error, confirmationId, channel, destination]
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

export const keyedColumns = 'caller, key, fingerprint, confirmation_id, created_at'

export type KeyedRow = [caller: string, key: string, fingerprint: string, confirmationId: string, at: number]

export function toKeyed([caller, key, fingerprint, confirmationId, at]: KeyedRow): KeyedSubmission {
  return { caller, key, fingerprint, confirmationId, at }
}

export function fromKeyed({ caller, key, fingerprint, confirmationId, at }: KeyedSubmission): KeyedRow {
  return [caller, key, fingerprint, confirmationId, at]
}
