// What is kept, described once for each record: see table.ts. A new column of a record has its line here, and one where the
// record is made from its row. An actor is the text that the API shows, and its kind, where it is read back as a value.
import type { Button } from '../access/button.js'
import type { Instance } from '../access/instance.js'
import type { Key, KeyUse } from '../access/key.js'
import type { Link } from '../access/link.js'
import type { Person } from '../access/person.js'
import type { SignIn, SignInLink } from '../access/sign-in.js'
import type { NewEvent, RecordedEvent } from '../audit/event.js'
import { type Actor, type ActorKind, isVerified, readActor, textOf } from '../core/actor.js'
import type { Caution } from '../core/caution.js'
import { dueAt } from '../core/confirmation.js'
import { sha256 } from '../core/digest.js'
import { stringify } from '../core/json.js'
import { skeleton } from '../core/skeleton.js'
import {
  type Alarm,
  type Approved,
  type Comment,
  type Confirmation,
  defaultTerms,
  type Delivery,
  type Execution,
  type ExecutionState,
  type IdempotencyRecord,
  type NamedAct,
  type SentBefore,
  type Pending,
  type Refused,
  type Status,
  type Terms,
  type Via,
  type Vote,
} from '../core/model.js'
import { parseSessionKey } from '../sessions/key.js'
import type { Due, Fixation, PastRun, Rotation, RotationReason, Session, Suspension } from '../sessions/session.js'
import type { Grant } from '../whitelist/grant.js'
import { changing, describe, fixed, found, type SqlValue } from './table.js'

/** When somebody was told first. What went out when it was over told nobody. */
export const toldAt = `(SELECT min(told_at) FROM deliveries
  WHERE confirmation_id = confirmations.id AND told_at < confirmations.deadline
    AND told_at <= coalesce(confirmations.resolved_at, told_at))`

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
    share: fixed((c) => c.share),
    session_id: fixed((c) => c.sessionId),
    caution: fixed((c) => (c.caution === null ? null : JSON.stringify(c.caution))),
    joins: fixed((c) => (c.joins ? 1 : null)),
    callback_url: fixed((c) => c.callbackUrl),
    requested_as: fixed((c) => c.requestedAs),
    on_behalf_of: fixed((c) => c.onBehalfOf),
    aap: fixed((c) => c.aap),
    // Nearly all have the default ones, and no votes: these are not worth recording.
    terms: fixed((c) => (c.terms === defaultTerms ? null : JSON.stringify(c.terms))),
    votes: changing((c) => (c.votes.length === 0 ? null : JSON.stringify(c.votes))),
    comments: changing((c) => (c.comments.length === 0 ? null : JSON.stringify(c.comments))),
    version: changing((c) => c.version),
    due_at: changing(dueAt),
    status: changing((c) => c.status),
    resolved_by: changing((c) => (c.resolution === null ? '' : textOf(c.resolution.by))),
    resolved_by_kind: changing((c) => c.resolution?.by.kind ?? null),
    resolved_at: changing((c) => c.resolution?.at ?? null),
    resolved_via: changing((c) => c.resolution?.via ?? null),
    reason: changing((c) => c.resolution?.reason ?? null),
    execution: changing((c) => c.execution?.state ?? null),
    claim_by: changing((c) => c.execution?.claimBy ?? null),
    claimed_at: changing(({ execution: e }) => (e !== null && 'claimedAt' in e ? e.claimedAt : null)),
    report_by: changing(({ execution: e }) => (e !== null && 'reportBy' in e ? e.reportBy : null)),
    reported_at: changing(({ execution: e }) => (e !== null && 'reportedAt' in e ? e.reportedAt : null)),
    report_message: changing(({ execution: e }) => (e !== null && 'message' in e ? e.message : null)),
    told_at: found<Confirmation, number>(toldAt),
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
    share: row.share,
    sessionId: row.session_id,
    caution: row.caution === null ? null : (JSON.parse(row.caution) as Caution),
    joins: row.joins === 1,
    callbackUrl: row.callback_url,
    requestedAs: row.requested_as,
    onBehalfOf: row.on_behalf_of,
    aap: row.aap,
    terms: row.terms === null ? defaultTerms : toTerms(row.terms),
    votes: row.votes === null ? [] : (JSON.parse(row.votes) as Vote[]),
    comments: row.comments === null ? [] : (JSON.parse(row.comments) as Comment[]),
    toldAt: row.told_at,
    ...toState(row),
  }),
})

/** Who has voted on it, as the API writes them. They are rows of their own, by which it is found. */
export function votersOf({ votes }: Confirmation): string[] {
  return votes.map(({ by }) => textOf(by))
}

interface StateRow {
  status: Status
  resolved_by: string
  resolved_by_kind: ActorKind | null
  resolved_at: number | null
  resolved_via: Via | null
  reason: string | null
  execution: ExecutionState | null
  claim_by: number | null
  claimed_at: number | null
  report_by: number | null
  reported_at: number | null
  report_message: string | null
}

type StateOf<C> = C extends Confirmation ? Pick<C, 'status' | 'resolution' | 'execution'> : never

/** What each state has is never null in it: the table's own checks say so. */
function toState(row: StateRow): StateOf<Pending | Refused | Approved> {
  const { status } = row
  if (status === 'pending') return { status, resolution: null, execution: null }
  const by = readActor(row.resolved_by_kind!, row.resolved_by)
  const resolution = { by, at: row.resolved_at!, via: row.resolved_via!, reason: row.reason }
  if (status === 'approved' || status === 'auto_approved') return { status, resolution, execution: toExecution(row) }
  return { status, resolution, execution: null }
}

function toExecution(row: StateRow): Execution {
  const [state, claimBy] = [row.execution!, row.claim_by!]
  if (state === 'unclaimed' || state === 'lapsed') return { state, claimBy }
  const [claimedAt, reportBy] = [row.claimed_at!, row.report_by!]
  if (state === 'claimed' || state === 'unreported') return { state, claimBy, claimedAt, reportBy }
  return { state, claimBy, claimedAt, reportBy, reportedAt: row.reported_at!, message: row.report_message }
}

/**
 * In place of what may be large: a description only if it is short, and the beginning of the details. SQLite reads a value
 * whole or not at all, so nothing is read of details that are large.
 */
export const briefly = {
  description: "iif(octet_length(description) <= 4000, description, '')",
  details: "iif(octet_length(details) <= 16000, substr(details, 1, 200), '')",
  aap: 'NULL',
}
/** Of one that has ended: nothing that may be large. */
export const inPassing = { description: "''", details: "''", aap: 'NULL', reason: 'NULL', report_message: 'NULL' }

/** Those from before there was a word about digests: what is of high risk needs one. Nor did they say who is told. */
function toTerms(text: string): Terms {
  const terms = JSON.parse(text) as Omit<Terms, 'needsDigest' | 'telling'> & Partial<Terms>
  return { ...terms, needsDigest: terms.needsDigest ?? terms.risk === 'high', telling: terms.telling ?? null }
}

export const deliveries = describe<Delivery>()({
  name: 'deliveries',
  key: ['confirmation_id', 'channel', 'destination', 'occasion'],
  columns: {
    // Or the id of an alarm.
    confirmation_id: fixed((d) => d.subjectId),
    channel: fixed((d) => d.channel),
    destination: fixed((d) => d.destination),
    occasion: fixed((d) => d.occasion),
    share: fixed((d) => d.share),
    version: changing((d) => d.version),
    state: changing((d) => d.state),
    attempts: changing((d) => d.attempts),
    next_at: changing((d) => d.nextAt),
    updated_at: changing((d) => d.updatedAt),
    told_at: changing((d) => d.toldAt),
    chat: changing((d) => d.message?.chat ?? null),
    message: changing((d) => d.message?.id ?? null),
    shown: changing((d) => d.shown),
    error: changing((d) => d.error),
    // Whatever is written of it ends its lease.
    leased_until: changing((): number | null => null),
  },
  toRecord: (row) => ({
    subjectId: row.confirmation_id,
    channel: row.channel,
    destination: row.destination,
    occasion: row.occasion,
    share: row.share,
    version: row.version,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.next_at,
    updatedAt: row.updated_at,
    toldAt: row.told_at,
    message: row.chat === null || row.message === null ? null : { chat: row.chat, id: row.message },
    shown: row.shown,
    error: row.error,
  }),
})

/** Only ever added. */
export const alarms = describe<Alarm>()({
  name: 'alarms',
  key: ['id'],
  columns: {
    id: fixed((a) => a.id),
    kind: fixed((a) => a.kind),
    share: fixed((a) => a.share),
    requester: fixed((a) => a.requester),
    session_key: fixed((a) => a.sessionKey),
    reason: fixed((a) => a.reason),
    command: fixed((a) => a.command),
    request: fixed((a) => a.request),
    created_at: fixed((a) => a.createdAt),
  },
  toRecord: (row) => ({
    id: row.id,
    kind: row.kind,
    share: row.share,
    requester: row.requester,
    sessionKey: row.session_key,
    reason: row.reason,
    command: row.command,
    request: row.request,
    createdAt: row.created_at,
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
    granted_by: changing((g) => textOf(g.grantedBy)),
    granted_by_kind: changing((g) => g.grantedBy.kind),
    created_at: changing((g) => g.createdAt),
    given_at: changing((g) => g.givenAt),
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
    grantedBy: readActor(row.granted_by_kind, row.granted_by),
    createdAt: row.created_at,
    givenAt: row.given_at,
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
    actor: fixed((e) => textOf(e.actor)),
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

/** What is read back is what was sent: who asks knows the rest. */
export const idempotency = describe<IdempotencyRecord, SentBefore>()({
  name: 'idempotency_keys',
  key: ['caller', 'key'],
  columns: {
    caller: fixed((i) => idempotencyOwner(i.caller)),
    key: fixed((i) => i.key),
    fingerprint: fixed((i) => i.fingerprint),
    confirmation_id: fixed((i) => i.confirmationId),
    result: fixed((i) => i.result),
    created_at: fixed((i) => i.at),
  },
  toRecord: (row) => ({ fingerprint: row.fingerprint, confirmationId: row.confirmation_id, result: row.result }),
})

/** Likewise. */
export const namedActs = describe<NamedAct, Pick<NamedAct, 'version' | 'confirmationId'>>()({
  name: 'named_acts',
  key: ['requester', 'name'],
  columns: {
    requester: fixed((a) => idempotencyOwner(a.requester)),
    name: fixed((a) => a.name),
    version: changing((a) => a.version),
    confirmation_id: changing((a) => a.confirmationId),
    at: changing((a) => a.at),
  },
  toRecord: (row) => ({ version: row.version, confirmationId: row.confirmation_id }),
})

/** No verified name begins like one that was only given, so nobody can use up another's keys. */
export function idempotencyOwner(caller: Actor): string {
  return isVerified(caller) ? textOf(caller) : `?${textOf(caller)}`
}

/** The ids by which chats know them are rows of their own. */
export const people = describe<Person, Omit<Person, 'identities'>>()({
  name: 'people',
  key: ['name'],
  columns: {
    name: fixed((p) => p.name),
    // Unique: no two names look alike.
    skeleton: fixed((p) => skeleton(p.name)),
    created_at: fixed((p) => p.createdAt),
    version: changing((p) => p.version),
  },
  toRecord: (row) => ({ name: row.name, version: row.version, createdAt: row.created_at }),
})

export const keys = describe<Key>()({
  name: 'keys',
  key: ['id'],
  columns: {
    id: fixed((k) => k.id),
    person: fixed((k) => k.person),
    role: fixed((k) => k.role),
    hash: fixed((k) => k.hash),
    created_by: fixed((k) => textOf(k.createdBy)),
    created_by_kind: fixed((k) => k.createdBy.kind),
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
    createdBy: readActor(row.created_by_kind, row.created_by),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    replacedBy: row.replaced_by,
  }),
})

export const instances = describe<Instance>()({
  name: 'instances',
  key: ['id'],
  columns: {
    id: fixed((i) => i.id),
    provisioner: fixed((i) => i.provisioner),
    person: fixed((i) => i.person),
    key_id: fixed((i) => i.keyId),
    created_at: fixed((i) => i.createdAt),
    version: changing((i) => i.version),
    name: changing((i) => i.name),
  },
  toRecord: (row) => ({
    id: row.id,
    version: row.version,
    provisioner: row.provisioner,
    person: row.person,
    name: row.name,
    keyId: row.key_id,
    createdAt: row.created_at,
  }),
})

/** Apart from the keys, whose versions tell what somebody did to them. */
export const keyUses = describe<KeyUse>()({
  name: 'key_uses',
  key: ['key_id'],
  columns: {
    key_id: fixed((u) => u.keyId),
    used_at: changing((u) => u.usedAt),
  },
  toRecord: (row) => ({ keyId: row.key_id, usedAt: row.used_at }),
})

export const links = describe<Link>()({
  name: 'links',
  key: ['hash'],
  columns: {
    hash: fixed((l) => l.hash),
    confirmation_id: fixed((l) => l.confirmationId),
    recipient: fixed((l) => textOf(l.recipient)),
    recipient_kind: fixed((l) => l.recipient.kind),
    channel: fixed((l) => l.channel),
    created_at: fixed((l) => l.createdAt),
    version: changing((l) => l.version),
    used_at: changing((l) => l.usedAt),
  },
  toRecord: (row) => ({
    hash: row.hash,
    version: row.version,
    confirmationId: row.confirmation_id,
    recipient: readActor(row.recipient_kind, row.recipient),
    channel: row.channel,
    createdAt: row.created_at,
    usedAt: row.used_at,
  }),
})

/** Only ever added and removed. */
export const buttons = describe<Button>()({
  name: 'buttons',
  key: ['hash'],
  columns: {
    hash: fixed((b) => b.hash),
    confirmation_id: fixed((b) => b.of.subjectId),
    channel: fixed((b) => b.of.channel),
    destination: fixed((b) => b.of.destination),
    occasion: fixed((b) => b.of.occasion),
    verb: fixed((b) => b.verb),
    presser: fixed((b) => b.presser),
    created_at: fixed((b) => b.createdAt),
  },
  toRecord: (row) => ({
    hash: row.hash,
    of: {
      subjectId: row.confirmation_id,
      channel: row.channel,
      destination: row.destination,
      occasion: row.occasion,
    },
    verb: row.verb,
    presser: row.presser,
    createdAt: row.created_at,
  }),
})

/** Only ever added and removed. */
export const signIns = describe<SignIn>()({
  name: 'sign_ins',
  key: ['place_hash'],
  columns: {
    place_hash: fixed((s) => s.placeHash),
    secret_hash: fixed((s) => s.secretHash),
    key_id: fixed((s) => s.keyId),
    created_at: fixed((s) => s.createdAt),
    ends_at: fixed((s) => s.endsAt),
    process: fixed((s) => s.process),
  },
  toRecord: (row) => ({
    placeHash: row.place_hash,
    secretHash: row.secret_hash,
    keyId: row.key_id,
    createdAt: row.created_at,
    endsAt: row.ends_at,
    process: row.process,
  }),
})

export const signInLinks = describe<SignInLink>()({
  name: 'sign_in_links',
  key: ['hash'],
  columns: {
    hash: fixed((l) => l.hash),
    key_id: fixed((l) => l.keyId),
    created_at: fixed((l) => l.createdAt),
    ends_at: fixed((l) => l.endsAt),
    process: fixed((l) => l.process),
    version: changing((l) => l.version),
    used_at: changing((l) => l.usedAt),
  },
  toRecord: (row) => ({
    hash: row.hash,
    version: row.version,
    keyId: row.key_id,
    createdAt: row.created_at,
    endsAt: row.ends_at,
    usedAt: row.used_at,
    process: row.process,
  }),
})

/** What a run has is the same run's own: see `count` in store.ts. */
const ofSameRun = (column: string, value: (session: Session) => SqlValue) =>
  changing(value, `CASE WHEN run_id IS ? THEN ${column} ELSE ? END`, (session: Session) => [
    session.run?.id ?? null,
    value(session),
  ])
/** Counted there, too; a write only ever ends it. */
const untilCleared = (column: string, value: (fixation: Fixation) => SqlValue) =>
  changing(
    ({ fixation }: Session) => (fixation === null ? null : value(fixation)),
    `CASE WHEN ? THEN NULL ELSE ${column} END`,
    ({ fixation }: Session) => (fixation === null ? 1 : 0),
  )

export const sessions = describe<Session>()({
  name: 'sessions',
  key: ['requester', 'session_key'],
  columns: {
    requester: fixed((s) => s.requester),
    session_key: fixed((s) => s.key),
    platform: fixed((s) => parseSessionKey(s.key)?.platform ?? null),
    version: changing((s) => s.version),
    run_created_at: ofSameRun('run_created_at', (s) => s.run?.createdAt ?? null),
    last_active_at: ofSameRun('last_active_at', (s) => s.run?.lastActiveAt ?? null),
    // The same, or a little before: see `listedLagMs` in sqlite/sessions.ts.
    listed_at: ofSameRun('listed_at', (s) => s.run?.lastActiveAt ?? null),
    messages: ofSameRun('messages', (s) => s.run?.messages ?? 0),
    submissions: ofSameRun('submissions', (s) => s.run?.submissions ?? 0),
    run_id: changing((s) => s.run?.id ?? null),
    trusted_from: changing((s) => s.trustedFrom),
    due_at: changing((s) => s.due?.at ?? null),
    due_reason: changing((s) => s.due?.reason ?? null),
    due_to: changing((s) => s.due?.to ?? null),
    reset_at: changing((s) => s.resetAt),
    rotated_at: changing((s) => s.rotation?.at ?? null),
    rotation_reason: changing((s) => s.rotation?.reason ?? null),
    previous_id: changing((s) => s.rotation?.previousId ?? null),
    is_told: changing((s) => (s.rotation?.isTold === false ? 0 : 1)),
    suspended_at: changing((s) => s.suspension?.at ?? null),
    suspended_by: changing((s) => s.suspension?.by ?? null),
    suspended_reason: changing((s) => s.suspension?.reason ?? null),
    failures: changing((s) => s.streak.failures),
    steps: changing((s) => s.streak.steps),
    stepped_at: changing((s) => s.streak.steppedAt),
    waits_until: changing((s) => s.streak.waitsUntil),
    fixed_action: untilCleared('fixed_action', (f) => f.action),
    fixed_digest: untilCleared('fixed_digest', (f) => f.digest),
    repeats: untilCleared('repeats', (f) => f.repeats),
  },
  toRecord: (row) => ({
    requester: row.requester,
    key: row.session_key,
    version: row.version,
    run:
      row.run_id === null
        ? null
        : {
            id: row.run_id,
            createdAt: row.run_created_at as number,
            lastActiveAt: row.last_active_at as number,
            messages: row.messages as number,
            submissions: row.submissions as number,
          },
    trustedFrom: row.trusted_from,
    due: row.due_at === null ? null : ({ at: row.due_at, reason: row.due_reason, to: row.due_to } as Due),
    resetAt: row.reset_at,
    rotation:
      row.rotated_at === null
        ? null
        : ({
            at: row.rotated_at,
            reason: row.rotation_reason,
            previousId: row.previous_id,
            isTold: row.is_told === 1,
          } as Rotation),
    suspension:
      row.suspended_at === null
        ? null
        : ({ at: row.suspended_at, by: row.suspended_by, reason: row.suspended_reason } as Suspension),
    streak: {
      failures: row.failures,
      steps: row.steps,
      steppedAt: row.stepped_at,
      waitsUntil: row.waits_until,
    },
    fixation:
      row.fixed_action === null
        ? null
        : ({ action: row.fixed_action, digest: row.fixed_digest, repeats: row.repeats } as Fixation),
  }),
})

/** Only ever added and removed. */
export const runs = describe<PastRun>()({
  name: 'session_runs',
  key: ['id'],
  columns: {
    id: fixed((r) => r.id),
    requester: fixed((r) => r.requester),
    session_key: fixed((r) => r.key),
    platform: fixed((r) => parseSessionKey(r.key)?.platform ?? null),
    created_at: fixed((r) => r.createdAt),
    last_active_at: fixed((r) => r.lastActiveAt),
    messages: fixed((r) => r.messages),
    submissions: fixed((r) => r.submissions),
    ended_at: fixed((r) => r.endedAt),
    reason: fixed((r) => r.reason as string),
  },
  toRecord: (row) => ({
    id: row.id,
    requester: row.requester,
    key: row.session_key,
    createdAt: row.created_at,
    lastActiveAt: row.last_active_at,
    messages: row.messages,
    submissions: row.submissions,
    endedAt: row.ended_at,
    reason: row.reason as RotationReason,
  }),
})

/** Which record a write of this kind is of. */
export const tables = {
  confirmation: confirmations,
  delivery: deliveries,
  grant: grants,
  idempotency,
  named_act: namedActs,
  person: people,
  key: keys,
  instance: instances,
  link: links,
  sign_in_link: signInLinks,
  session: sessions,
  run: runs,
  alarm: alarms,
} as const

/** Those of which a record is only ever added: it has no version. */
export const addedOnly: ReadonlySet<string> = new Set<keyof typeof tables>(['idempotency', 'run', 'alarm'])
