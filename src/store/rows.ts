// Records as rows. They travel as tuples in the order of their columns, to SQLite and to the thread that writes: by name,
// binding and reading them would cost as much as a small insert.
import type { Key, Link, Person } from '../access/key.js'
import type { Role } from '../access/role.js'
import type { EventType, NewEvent, RecordedEvent } from '../audit/event.js'
import { sha256 } from '../core/digest.js'
import { stringify } from '../core/json.js'
import {
  type ChannelName,
  type Confirmation,
  defaultTerms,
  type Delivery,
  type DeliveryState,
  type ExecutionState,
  type KeyedRequest,
  type Outcome,
  type Status,
  type Terms,
  type Via,
  type Vote,
} from '../core/model.js'
import type { Grant, Scope } from '../whitelist/grant.js'

export const confirmationColumns = `id, action, description, details, requester, session_key, timeout_seconds,
  confirmations.created_at, deadline, digest, callback_url, requested_as, on_behalf_of, terms, confirmations.version,
  status, resolved_by, resolved_at, resolved_via, reason, votes, execution, claim_by, claimed_at, report_by, reported_at,
  report_message`
/** The same without what may be large: no details, and a description only if it is short. */
export const briefColumns = confirmationColumns.replace(
  'description, details',
  "iif(octet_length(description) <= 4000, description, ''), '{}'",
)

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
  requestedAs: string | null,
  onBehalfOf: string | null,
  terms: string | null,
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
  votes: string | null,
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
  const [, , , , , , , , , digest, callbackUrl, requestedAs, onBehalfOf, terms, ...standing] = row
  const [version, status, by, at, via, reason, votes, ...execution] = standing
  const [state, claimBy, claimedAt, reportBy, reportedAt, message] = execution
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
    requestedAs,
    onBehalfOf,
    terms: terms === null ? defaultTerms : toTerms(terms),
    votes: votes === null ? [] : (JSON.parse(votes) as Vote[]),
    resolution: at === null ? null : { status: status as Outcome, by, at, via: via!, reason },
    execution: state === null ? null : { state, claimBy: claimBy!, claimedAt, reportBy, reportedAt, message },
  }
}

/** Those from before there was a word about digests: what is of high risk needs one. */
function toTerms(text: string): Terms {
  const terms = JSON.parse(text) as Omit<Terms, 'needsDigest'> & Partial<Terms>
  return { ...terms, needsDigest: terms.needsDigest ?? terms.risk === 'high' }
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
    confirmation.requestedAs,
    confirmation.onBehalfOf,
    // Nearly all of them: not worth writing down.
    confirmation.terms === defaultTerms ? null : JSON.stringify(confirmation.terms),
    ...fromStanding(confirmation),
  ]
}

export function fromStanding({ version, votes: cast, resolution, execution }: Confirmation): StandingRow {
  const votes = cast.length === 0 ? null : JSON.stringify(cast)
  if (resolution === null) return [version, 'pending', '', null, null, null, votes, ...noExecution]
  const { status, by, at, via, reason } = resolution
  if (execution === null) return [version, status, by, at, via, reason, votes, ...noExecution]
  const { state, claimBy, claimedAt, reportBy, reportedAt, message } = execution
  return [version, status, by, at, via, reason, votes, state, claimBy, claimedAt, reportBy, reportedAt, message]
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

export const grantColumns = `action, scope, session_key, requester, conditions, details_hash, id, version, expires_at, max_uses,
  reason, granted_by, proven, created_at, revoked_at, uses, details`

/** What tells one grant from another. Details may be long, so they are compared by their hash. */
export type ScopeRow = [
  action: string,
  scope: 'global' | 'session',
  sessionKey: string,
  requester: string,
  conditions: string,
  detailsHash: string,
]

export type GrantRow = [
  ...ScopeRow,
  id: string,
  version: number,
  expiresAt: number | null,
  maxUses: number | null,
  reason: string | null,
  grantedBy: string,
  proven: 0 | 1,
  createdAt: number,
  revokedAt: number | null,
  uses: number,
  details: string | null,
]

export function toGrant(row: GrantRow): Grant {
  const [action, scope, key, requester, conditions, , id, version, expiresAt, maxUses, reason, grantedBy, ...rest] = row
  const [proven, createdAt, revokedAt, uses, details] = rest
  return {
    action,
    sessionKey: scope === 'global' ? null : key,
    requester: requester === '' ? null : requester,
    when: conditions === '' ? null : conditions,
    details,
    id,
    version,
    expiresAt,
    maxUses,
    reason,
    grantedBy,
    isProven: proven === 1,
    createdAt,
    revokedAt,
    uses,
  }
}

export function fromScope({ action, sessionKey, requester, when, details }: Scope): ScopeRow {
  const hash = details === null ? '' : hashOfDetails(details)
  return [action, sessionKey === null ? 'global' : 'session', sessionKey ?? '', requester ?? '', when ?? '', hash]
}

/** `details` is canonical JSON text. */
export function hashOfDetails(details: string): string {
  return sha256(details)
}

export function fromGrant(grant: Grant): GrantRow {
  return [
    ...fromScope(grant),
    grant.id,
    grant.version,
    grant.expiresAt,
    grant.maxUses,
    grant.reason,
    grant.grantedBy,
    grant.isProven ? 1 : 0,
    grant.createdAt,
    grant.revokedAt,
    grant.uses,
    grant.details,
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

/**
 * The latest time on record. Commits may overtake each other, by seconds; what is further ahead of the last one is from before
 * the clock was set back, and was dealt with then.
 */
export const lastTime = `SELECT coalesce(max(at), 0) FROM events WHERE seq > (SELECT max(seq) FROM events) - 100
  AND at <= (SELECT at FROM events WHERE seq = (SELECT max(seq) FROM events)) + 60000`

export function toEvent([at, type, actor, via, confirmationId, data, seq]: [...EventRow, seq: number]): RecordedEvent {
  return { seq, at, type, actor, via, confirmationId, data }
}

export function fromEvent({ at, type, actor, via, confirmationId, data }: NewEvent): EventRow {
  return [at, type, actor, via, confirmationId, stringify(data)]
}

export const keyedColumns = 'caller, key, fingerprint, confirmation_id, created_at'

export type KeyedRow = [caller: string, key: string, fingerprint: string, confirmationId: string, at: number]

export function toKeyed([caller, key, fingerprint, confirmationId, at]: KeyedRow): KeyedRequest {
  return { caller, key, fingerprint, confirmationId, at }
}

export function fromKeyed({ caller, key, fingerprint, confirmationId, at }: KeyedRequest): KeyedRow {
  return [caller, key, fingerprint, confirmationId, at]
}

export const personColumns = 'name, version, telegram_id, discord_id, created_at'

export type PersonRow = [
  name: string,
  version: number,
  telegramId: string | null,
  discordId: string | null,
  createdAt: number,
]

export function toPerson([name, version, telegramId, discordId, createdAt]: PersonRow): Person {
  return { name, version, telegramId, discordId, createdAt }
}

export function fromPerson({ name, version, telegramId, discordId, createdAt }: Person): PersonRow {
  return [name, version, telegramId, discordId, createdAt]
}

export const keyColumns = 'id, version, person, role, hash, created_by, created_at, expires_at, revoked_at, replaced_by'

export type KeyRow = [
  id: string,
  version: number,
  person: string,
  role: Role,
  hash: string,
  createdBy: string,
  createdAt: number,
  expiresAt: number | null,
  revokedAt: number | null,
  replacedBy: string | null,
]

export function toKey(row: KeyRow): Key {
  const [id, version, person, role, hash, createdBy, createdAt, expiresAt, revokedAt, replacedBy] = row
  return { id, version, person, role, hash, createdBy, createdAt, expiresAt, revokedAt, replacedBy }
}

export function fromKey(key: Key): KeyRow {
  const { id, version, person, role, hash, createdBy, createdAt, expiresAt, revokedAt, replacedBy } = key
  return [id, version, person, role, hash, createdBy, createdAt, expiresAt, revokedAt, replacedBy]
}

export const linkColumns = 'hash, version, confirmation_id, recipient, channel, created_at, used_at'

export type LinkRow = [
  hash: string,
  version: number,
  confirmationId: string,
  recipient: string,
  channel: ChannelName,
  createdAt: number,
  usedAt: number | null,
]

export function toLink([hash, version, confirmationId, recipient, channel, createdAt, usedAt]: LinkRow): Link {
  return { hash, version, confirmationId, recipient, channel, createdAt, usedAt }
}

export function fromLink({ hash, version, confirmationId, recipient, channel, createdAt, usedAt }: Link): LinkRow {
  return [hash, version, confirmationId, recipient, channel, createdAt, usedAt]
}
