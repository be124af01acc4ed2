// What is kept, described once for each record: see table.ts. A new column of a record has its line here, and one where the
// record is made from its row.
import type { Key, Link, Person } from '../access/key.js'
import type { NewEvent, RecordedEvent } from '../audit/event.js'
import { dueAt, statusOf } from '../core/confirmation.js'
import { sha256 } from '../core/digest.js'
import { stringify } from '../core/json.js'
import {
  type Confirmation,
  defaultTerms,
  type Delivery,
  type IdempotencyRecord,
  type Outcome,
  type Terms,
  type Vote,
} from '../core/model.js'
import type { Grant } from '../whitelist/grant.js'
import { changing, describe, fixed } from './table.js'

export const confirmations = describe<Confirmation>()({
  name: 'confirmations',
  key: ['id'],
  columns: {
    id: fixed((c) => c.id),
    action: fixed((c) => c.action),
    description: fixed((c) => c.description),
    details: fixed((c) => c.details),
    requester: fixed((c) => c.requester),
    session_key: fixed((c) => c.sessionKey),
    timeout_seconds: fixed((c) => c.timeoutSeconds),
    created_at: fixed((c) => c.createdAt),
    deadline: fixed((c) => c.deadline),
    digest: fixed((c) => c.digest),
    callback_url: fixed((c) => c.callbackUrl),
    requested_as: fixed((c) => c.requestedAs),
    on_behalf_of: fixed((c) => c.onBehalfOf),
    // Nearly all have the default ones, and no votes: these are not worth writing down.
    terms: fixed((c) => (c.terms === defaultTerms ? null : JSON.stringify(c.terms))),
    votes: changing((c) => (c.votes.length === 0 ? null : JSON.stringify(c.votes))),
    version: changing((c) => c.version),
    due_at: changing(dueAt),
    status: changing(statusOf),
    resolved_by: changing((c) => c.resolution?.by ?? ''),
    resolved_at: changing((c) => c.resolution?.at ?? null),
    resolved_via: changing((c) => c.resolution?.via ?? null),
    reason: changing((c) => c.resolution?.reason ?? null),
    execution: changing((c) => c.execution?.state ?? null),
    claim_by: changing((c) => c.execution?.claimBy ?? null),
    claimed_at: changing((c) => c.execution?.claimedAt ?? null),
    report_by: changing((c) => c.execution?.reportBy ?? null),
    reported_at: changing((c) => c.execution?.reportedAt ?? null),
    report_message: changing((c) => c.execution?.message ?? null),
  },
  toRecord: (row) => ({
    id: row.id,
    version: row.version,
    action: row.action,
    description: row.description,
    details: row.details,
    requester: row.requester,
    sessionKey: row.session_key,
    timeoutSeconds: row.timeout_seconds,
    createdAt: row.created_at,
    deadline: row.deadline,
    digest: row.digest,
    callbackUrl: row.callback_url,
    requestedAs: row.requested_as,
    onBehalfOf: row.on_behalf_of,
    terms: row.terms === null ? defaultTerms : toTerms(row.terms),
    votes: row.votes === null ? [] : (JSON.parse(row.votes) as Vote[]),
    resolution:
      row.resolved_at === null
        ? null
        : {
            status: row.status as Outcome,
            by: row.resolved_by,
            at: row.resolved_at,
            via: row.resolved_via!,
            reason: row.reason,
          },
    execution:
      row.execution === null
        ? null
        : {
            state: row.execution,
            claimBy: row.claim_by!,
            claimedAt: row.claimed_at,
            reportBy: row.report_by,
            reportedAt: row.reported_at,
            message: row.report_message,
          },
  }),
})

/** In place of what may be large: no details, and a description only if it is short. */
export const briefly = { description: "iif(octet_length(description) <= 4000, description, '')", details: "'{}'" }

/** Those from before there was a word about digests: what is of high risk needs one. */
function toTerms(text: string): Terms {
  const terms = JSON.parse(text) as Omit<Terms, 'needsDigest'> & Partial<Terms>
  return { ...terms, needsDigest: terms.needsDigest ?? terms.risk === 'high' }
}

export const deliveries = describe<Delivery>()({
  name: 'deliveries',
  key: ['confirmation_id', 'channel'],
  columns: {
    confirmation_id: fixed((d) => d.confirmationId),
    channel: fixed((d) => d.channel),
    destination: fixed((d) => d.destination),
    version: changing((d) => d.version),
    state: changing((d) => d.state),
    attempts: changing((d) => d.attempts),
    next_at: changing((d) => d.nextAt),
    updated_at: changing((d) => d.updatedAt),
    error: changing((d) => d.error),
  },
  toRecord: (row) => ({
    confirmationId: row.confirmation_id,
    channel: row.channel,
    destination: row.destination,
    version: row.version,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.next_at,
    updatedAt: row.updated_at,
    error: row.error,
  }),
})

/** Keyed by what tells one grant from another. Details may be long, so they are compared by their hash. */
export const grants = describe<Grant>()({
  name: 'grants',
  key: ['action', 'scope', 'session_key', 'requester', 'conditions', 'details_hash'],
  columns: {
    action: fixed((g) => g.action),
    scope: fixed((g) => (g.sessionKey === null ? 'global' : 'session')),
    session_key: fixed((g) => g.sessionKey ?? ''),
    requester: fixed((g) => g.requester ?? ''),
    conditions: fixed((g) => g.when ?? ''),
    details_hash: fixed((g) => hashOfDetails(g.details)),
    details: fixed((g) => g.details),
    id: changing((g) => g.id),
    version: changing((g) => g.version),
    expires_at: changing((g) => g.expiresAt),
    max_uses: changing((g) => g.maxUses),
    reason: changing((g) => g.reason),
    granted_by: changing((g) => g.grantedBy),
    proven: changing((g) => (g.isProven ? 1 : 0)),
    created_at: changing((g) => g.createdAt),
    revoked_at: changing((g) => g.revokedAt),
    // Counted by `use` alone. Another id is another grant, which begins anew.
    uses: changing(
      (g) => g.uses,
      'CASE WHEN id = ? THEN uses ELSE 0 END',
      (g) => g.id,
    ),
  },
  toRecord: (row) => ({
    action: row.action,
    sessionKey: row.scope === 'global' ? null : row.session_key,
    requester: row.requester === '' ? null : row.requester,
    when: row.conditions === '' ? null : row.conditions,
    details: row.details,
    id: row.id,
    version: row.version,
    expiresAt: row.expires_at,
    maxUses: row.max_uses,
    reason: row.reason,
    grantedBy: row.granted_by,
    isProven: row.proven === 1,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    uses: row.uses,
  }),
})

/** `details` is canonical JSON text; null: whichever. */
export function hashOfDetails(details: string | null): string {
  return details === null ? '' : sha256(details)
}

/** The number is the writer's to give. */
export const events = describe<NewEvent, Omit<RecordedEvent, 'seq'>>()({
  name: 'events',
  key: [],
  more: ['seq'],
  columns: {
    at: fixed((e) => e.at),
    type: fixed((e) => e.type),
    actor: fixed((e) => e.actor),
    via: fixed((e) => e.via),
    confirmation_id: fixed((e) => e.confirmationId),
    data: fixed((e) => stringify(e.data)),
  },
  toRecord: (row) => ({
    at: row.at,
    type: row.type,
    actor: row.actor,
    via: row.via,
    confirmationId: row.confirmation_id,
    data: row.data,
  }),
})

export const idempotency = describe<IdempotencyRecord>()({
  name: 'idempotency_keys',
  key: ['caller', 'key'],
  columns: {
    caller: fixed((i) => i.caller),
    key: fixed((i) => i.key),
    fingerprint: fixed((i) => i.fingerprint),
    confirmation_id: fixed((i) => i.confirmationId),
    created_at: fixed((i) => i.at),
  },
  toRecord: (row) => ({
    caller: row.caller,
    key: row.key,
    fingerprint: row.fingerprint,
    confirmationId: row.confirmation_id,
    at: row.created_at,
  }),
})

export const people = describe<Person>()({
  name: 'people',
  key: ['name'],
  columns: {
    name: fixed((p) => p.name),
    created_at: fixed((p) => p.createdAt),
    version: changing((p) => p.version),
    telegram_id: changing((p) => p.telegramId),
    discord_id: changing((p) => p.discordId),
  },
  toRecord: (row) => ({
    name: row.name,
    version: row.version,
    telegramId: row.telegram_id,
    discordId: row.discord_id,
    createdAt: row.created_at,
  }),
})

export const keys = describe<Key>()({
  name: 'keys',
  key: ['id'],
  columns: {
    id: fixed((k) => k.id),
    person: fixed((k) => k.person),
    role: fixed((k) => k.role),
    hash: fixed((k) => k.hash),
    created_by: fixed((k) => k.createdBy),
    created_at: fixed((k) => k.createdAt),
    version: changing((k) => k.version),
    expires_at: changing((k) => k.expiresAt),
    revoked_at: changing((k) => k.revokedAt),
    replaced_by: changing((k) => k.replacedBy),
  },
  toRecord: (row) => ({
    id: row.id,
    version: row.version,
    person: row.person,
    role: row.role,
    hash: row.hash,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    replacedBy: row.replaced_by,
  }),
})

export const links = describe<Link>()({
  name: 'links',
  key: ['hash'],
  columns: {
    hash: fixed((l) => l.hash),
    confirmation_id: fixed((l) => l.confirmationId),
    recipient: fixed((l) => l.recipient),
    channel: fixed((l) => l.channel),
    created_at: fixed((l) => l.createdAt),
    version: changing((l) => l.version),
    used_at: changing((l) => l.usedAt),
  },
  toRecord: (row) => ({
    hash: row.hash,
    version: row.version,
    confirmationId: row.confirmation_id,
    recipient: row.recipient,
    channel: row.channel,
    createdAt: row.created_at,
    usedAt: row.used_at,
  }),
})

/** Which record a write of this kind is of. */
export const tables = {
  confirmation: confirmations,
  delivery: deliveries,
  grant: grants,
  idempotency,
  person: people,
  key: keys,
  link: links,
} as const
