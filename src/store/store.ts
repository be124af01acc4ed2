// The port to durable storage. A change is plain data, so that any database can commit it in its own way.
import type { Key, KeyUse } from '../access/key.js'
import type { Instance } from '../access/instance.js'
import type { Button } from '../access/button.js'
import type { Link } from '../access/link.js'
import type { Person } from '../access/person.js'
import type { AuditEvent, NewEvent, RecordedEvent } from '../audit/event.js'
import type { SignIn, SignInLink } from '../access/sign-in.js'
import type { Actor } from '../core/actor.js'
import type {
  Alarm,
  Approved,
  ChannelName,
  Confirmation,
  Delivery,
  DeliveryKey,
  IdempotencyRecord,
  MessageRef,
  NamedAct,
  Refused,
  Resolved,
  SentBefore,
  Status,
} from '../core/model.js'
import type { Quota, RateLimit } from '../policy/window.js'
import type { CollectableRun } from '../sessions/collect.js'
import type { PastRun, Session } from '../sessions/session.js'
import type { Grant, Scope } from '../whitelist/grant.js'

/** `expect` is the version the writer has seen; if the stored one differs, the whole change is a conflict. */
export type Write =
  | { kind: 'confirmation'; expect: number | 'absent'; record: Confirmation }
  | { kind: 'delivery'; expect: number | 'absent'; record: Delivery }
  /** Grants are keyed by their scope. Uses are counted by `use` alone: a write keeps the stored count of the same id. */
  | { kind: 'grant'; expect: number | 'absent'; record: Grant }
  /** Counts uses; a conflict if the grant is revoked or has fewer left. At most one per grant and change. */
  | { kind: 'use'; grantId: string; count: number }
  /** A conflict if one of their chat identities is another's. */
  | { kind: 'person'; expect: number | 'absent'; record: Person }
  | { kind: 'key'; expect: number | 'absent'; record: Key }
  | { kind: 'instance'; expect: number | 'absent'; record: Instance }
  | { kind: 'link'; expect: number | 'absent'; record: Link }
  | { kind: 'sign_in_link'; expect: number | 'absent'; record: SignInLink }
  /** Only ever added; a conflict if the caller has used the key before. */
  | { kind: 'idempotency'; record: IdempotencyRecord }
  | { kind: 'named_act'; expect: number | 'absent'; record: NamedAct }
  /** Keyed by requester and session key. What a run has is counted by `count` alone: a write keeps that of the same run. */
  | { kind: 'session'; expect: number | 'absent'; record: Session }
  /** A session id that was rotated away. */
  | { kind: 'run'; record: PastRun }
  /** One of those comes back; a conflict if it is not there. */
  | { kind: 'run_back'; id: string }
  /** Only ever added, with its first deliveries. */
  | { kind: 'alarm'; record: Alarm }

/** What must hold when a change is committed. It is checked in the transaction, after all changes that came before. */
export type Requirement =
  /** The clock has not reached this time when the change is sent to be written. What is sent in time may be on disk a little after it. */
  | { kind: 'before'; at: number }
  /** The key is neither revoked nor expired. */
  | { kind: 'key_live'; keyId: string }
  /** Open mode: no key was ever made. */
  | { kind: 'no_keys' }
  /** `count` more fit into the quota: they are taken with the change. What the same change takes before them counts, too. */
  | { kind: 'slot'; quota: string; limit: RateLimit; count: number }
  /** So many more bytes fit into what the share may write in a day: they are charged with the change. */
  | { kind: 'disk'; share: string; max: number; bytes: number }
  /** The requester has fewer pending confirmations than this. */
  | { kind: 'fewer_open'; requester: string; below: number }
  /**
   * The session stands at this version, and its run has fewer messages than this: so many more are counted with the change. No
   * version: the same change writes it.
   */
  | ({ kind: 'count'; version: number | null } & Counting)
  /** The run of a session has exactly so many. */
  | { kind: 'counted'; requester: string; sessionKey: string; messages: number; submissions: number }
  /** Neither is the session suspended, nor has it to wait. */
  | { kind: 'not_suspended' | 'not_waiting'; requester: string; sessionKey: string }
  /** The requester has no pending confirmation of the same digest and description. */
  | { kind: 'nothing_alike'; requester: string; digest: string; description: string }

/** What goes on in a session. */
export interface Counting {
  requester: string
  sessionKey: string
  /** The run has fewer messages than this before. */
  below: number
  /** What has as many is due; 0: no limit. */
  max: number
  messages: number
  submissions: number
  at: number
  /** When time alone makes the session due from now on. */
  resetAt: number | null
  /** What a person is asked for, for the count of the same action with other details. */
  asks: { action: string; digest: string }[]
}

/** What happens together or not at all. There is no change without an event. */
export interface Change {
  writes: Write[]
  events: [NewEvent, ...NewEvent[]]
  requires?: Requirement[] | undefined
}

export interface Committed {
  writes: Write[]
  events: AuditEvent[]
  /** For each slot that the change required, in order: the quota, now that it is taken. */
  quotas: Quota[]
  /** For each `count`, in order: how many messages the run has now. */
  counts: number[]
}

/** What changes that were committed together have changed, as references: a follower reads the records it needs. */
export interface Commits {
  /** The numbers of their first event and of their last. */
  firstSeq: number
  lastSeq: number
  /** The confirmations that their events are about. */
  about: string[]
  changed: Reference[]
}

export type Reference =
  | { kind: 'confirmation' | 'grant' | 'person' | 'key' | 'link' | 'sign_in_link'; id: string }
  | { kind: 'delivery'; id: string; channel: ChannelName }
  /** By its key. */
  | { kind: 'session'; id: string; requester: string }

/** The first of the change's own requirements that did not hold; for a slot or the disk, what is left of it. */
export interface Unmet {
  unmet: Requirement
  quota: Quota | null
}

/** `conflict`: another version is stored than a write expects. */
export type CommitOutcome = Committed | Unmet | 'conflict'

export function isCommitted(outcome: CommitOutcome): outcome is Committed {
  return outcome !== 'conflict' && !('unmet' in outcome)
}

export interface ConfirmationFilter {
  /** One of these. */
  statuses?: Status[] | undefined
  action?: string | undefined
  requester?: string | undefined
  sessionKey?: string | undefined
  resolvedBy?: string | undefined
  /** Has ever voted on it: also with one vote of several, and with one that counts no more. For the newest first. */
  votedBy?: string | undefined
  /** Bounds on the creation time: from `since`, before `until`. */
  since?: number | undefined
  until?: number | undefined
  /** The same of the time of resolution: what is pending has none. */
  resolvedSince?: number | undefined
  resolvedUntil?: number | undefined
  /** Those that were written no later than the one that arrived as the so manieth. */
  arrivedUpTo?: number | undefined
}

export interface ConfirmationBrief {
  version: number
  requester: string
  share: string
  sessionKey: string
  isResolved: boolean
  createdAt: number
  deadline: number
  /** Bytes of what may be large. */
  size: number
}

/** A place in an ordered listing: the sort key and, for ties, the order of arrival. */
export type Cursor = [key: number, arrival: number]

export interface Page<T> {
  items: T[]
  /** Where to go on. A page may be short and still have a next one: its size in bytes and in rows read is bounded. */
  next: Cursor | null
}

/** A delivery whose time has come, how long its subject lives (an alarm: for ever), and whether the log was told of it. */
export interface Due extends DeliveryKey, Pick<Delivery, 'share' | 'state'> {
  /** Since when. */
  dueAt: number
  createdAt: number
  deadline: number | null
  isInLog: boolean
  /** Its confirmation is on record as resolved. */
  isResolved: boolean
}

/** Whose turn it is, and what has no room. */
export interface Turn {
  /** The share that was served last: the next one has the first turn. */
  after: string
  /** Shares and destinations to pass over. */
  fullShares: string[]
  fullDestinations: string[]
  /** If given, nothing but what goes there. */
  only?: string
}

/** A delivery that was leased, and the version by which the lease is known. */
export type Claimed = DeliveryKey & Pick<Delivery, 'version'>

/** Which events. Action, requester and session are those of the confirmation an event is about, if it is about one. */
export interface EventFilter {
  confirmationId?: string | undefined
  types?: string[] | undefined
  actor?: string | undefined
  channel?: string | undefined
  action?: string | undefined
  requester?: string | undefined
  sessionKey?: string | undefined
  /** Bounds on its time: from `since`, before `until`. */
  since?: number | undefined
  until?: number | undefined
}

export interface EventPage {
  events: RecordedEvent[]
  /** Up to this number there is nothing more to find. */
  upTo: number
  /** There is more behind that. */
  more: boolean
}

export interface Store {
  /** When it was opened, there was or had been a key: in this database, or in one that was lost from its place. */
  hadKeys: boolean

  /**
   * Commits the change if every expectation and every requirement holds; versions are compared first. Resolves only when it
   * is on disk, with the events numbered; any other outcome means that nothing was written and no slot taken. Throws
   * StoreUnavailable when the database cannot be written, and OutcomeUnknown when it failed so that nobody can tell; until a
   * later commit or a restart has settled that, so does a reader of one of the records concerned.
   */
  commit(change: Change): Promise<CommitOutcome>
  /**
   * Resolves when all has ended that was sent to be written before `at`. Who then reads at a time from `at` on has read all
   * that could still be done before it.
   */
  settledBefore(at: number): Promise<void>

  /** Calls the listener after each commit of this process, whole, in commit order, before the committer resumes. */
  onCommit(listener: (committed: Committed) => void): () => void
  /**
   * Calls the listener with what anybody has committed, in commit order: once for all that were committed together, before
   * any of their committers resumes. Whatever is read then is as of this commit, or of a later one that is told of next.
   */
  follow(listener: (commits: Commits) => void): () => void

  confirmations: Confirmations
  sessions: Sessions
  grants: Grants
  deliveries: Deliveries
  alarms: { get(id: string): Promise<Alarm | undefined> }
  events: Events
  /** What this caller has sent with this Idempotency-Key. */
  idempotency: {
    get(caller: Actor, key: string): Promise<SentBefore | undefined>
  }
  /** What this requester has claimed for the act of this name. */
  namedActs: {
    get(requester: Actor, name: string): Promise<Pick<NamedAct, 'version' | 'confirmationId'> | undefined>
  }
  /** Everyone who ever had a key or is known by a chat. `read` answers at once, for caches that follow. */
  people: { list(): Promise<Person[]>; read(name: string): Person | undefined }
  /** Every key there ever was. `read` answers at once, for caches that follow. */
  keys: { list(): Promise<Key[]>; read(id: string): Key | undefined }
  instances: { get(id: string): Promise<Instance | undefined> }
  keyUses: KeyUses
  links: { get(hash: string): Promise<Link | undefined> }
  buttons: Buttons
  inbox: Inbox
  signInLinks: { get(hash: string): Promise<SignInLink | undefined> }
  signIns: SignIns
  quotas: {
    /** How a quota stands, taking nothing. */
    peek(quota: string, now: number, limit: RateLimit): Promise<Quota>
    /** Takes a slot if one is free, and answers whether. Atomic. What it lets pass has its own event. */
    take(quota: string, limit: RateLimit): Promise<boolean>
    /** How many slots are kept, of all quotas; 10,000 also stands for more. */
    count(): Promise<number>
  }
  /** How many bytes are left to a share of what it may write in a day, and how long until so many are. */
  disk: { peek(share: string, now: number, max: number, bytes: number): Promise<Quota> }

  /** 256 bits of chance, as hexadecimal digits, drawn when the database was made. */
  secret(): Promise<string>
  /** Writes something durably. Throws StoreUnavailable if that is not possible now. */
  probe(): Promise<void>
  /** Commits what is queued and lets go of the database. */
  close(): Promise<void>
}

export interface Confirmations {
  get(id: string): Promise<Confirmation | undefined>
  /**
   * The ids with this end, six characters or more, of those created from `since` on: at most so many, the latest first. With
   * a requester, of that one's alone. What was created two weeks later may be missed.
   */
  idsEndingIn(end: string, since: number, requester: string | null, limit: number): Promise<string[]>
  /** As much of it as a waiter must know: small, however large the confirmation is. */
  brief(id: string): Promise<ConfirmationBrief | undefined>
  /**
   * Those that fit the filter as of `now`, as they are on record: one that has expired may still be written as pending.
   * `deadline`: pending ones, the next to expire first. `newest`, `oldest`: the latest, or the first, created first.
   */
  list(
    filter: ConfirmationFilter,
    order: 'deadline' | 'newest' | 'oldest',
    limit: number,
    after: Cursor | null,
    now: number,
    maxBytes?: number,
  ): Promise<Page<Confirmation>>
  /** Its place among the oldest. */
  placeOf(id: string): Promise<Cursor | undefined>
  /** The place in the order of arrival of the one that was written last; 0: there is none. */
  lastArrival(): Promise<number>
  /**
   * Those pending at `now` for a list that people look through, the next to expire first. Long descriptions are empty;
   * `details` has the first 200 characters of the text, or nothing where that is large: so a few large ones do not fill a page.
   */
  listPending(limit: number, after: Cursor | null, now: number): Promise<Page<Confirmation>>
  /**
   * Those that were pending and ended after `since`, at most so many of each way to end, and as many that have expired by `now`
   * and are written as pending; the latest of each first. They come without description, details and reason.
   */
  listEnded(since: number, limit: number, now: number): Promise<Confirmation[]>
  /** Those that are due at `now` (see `dueAt`), the longest due first; fewer when they are large. */
  due(now: number, limit: number, after?: Cursor | null): Promise<Page<Confirmation>>
  /** When the next one is due. */
  nextDue(): Promise<number | undefined>
  /**
   * Those that have a due time and were created, or approved, after `now`: written before the clock was set back. Looks
   * through everything that is unfinished.
   */
  ahead(now: number, limit: number, after?: Cursor | null): Promise<Page<Confirmation>>
  /** Pending ones that are not due at `now`. */
  countPending(now: number): Promise<number>
  /** When the oldest of those was created. Looks through what is due and written as pending. */
  oldestPending(now: number): Promise<number | undefined>
  /**
   * How many approvals may still be claimed; how many that were claimed have still to be reported, in time and overdue.
   * Of the overdue ones, which may stay so for ever, at most 1000 are counted.
   */
  countExecutions(): Promise<Record<'unclaimed' | 'claimed' | 'unreported', number>>
  /** The requester's oldest pending one of this digest and description that is not due at `now`. */
  alike(requester: string, digest: string, description: string, now: number): Promise<Confirmation | undefined>
  /** The requester's oldest one that joins and has this digest and description, if people approved it and it may be claimed at `now`. */
  unclaimedAlike(requester: string, digest: string, description: string, now: number): Promise<Approved | undefined>
  /** When the next of the requester's pending ones ends; of many, some are looked at, and one may end sooner. */
  soonestDeadline(requester: string): Promise<number | undefined>
  /** What is pending in a session, the oldest first; without what may be large. */
  pendingIn(share: string, sessionKey: string, limit: number): Promise<Confirmation[]>
  /** The last that ended in a session, the latest first; without details, and long descriptions are empty. */
  endedIn(share: string, sessionKey: string, limit: number): Promise<Resolved[]>
  /** Whether one of the session was pending or claimed before `at` and is so still at `now`. */
  isHolding(share: string, sessionKey: string, at: number, now: number): Promise<boolean>
  /** The latest denial of what has this digest, if it is from after `since`. */
  lastDenied(digest: string, since: number): Promise<Refused | undefined>
}

export interface SessionFilter {
  requester?: string | undefined
  platform?: string | undefined
  isSuspended?: boolean | undefined
  /** Active since then. */
  activeSince?: number | undefined
}

/** A place among session ids: the current ones come first, then those that were rotated away. */
export type RunPlace = [kind: 'current', at: number, arrival: number] | [kind: 'past', at: number, id: string]

export interface RunPage {
  runs: CollectableRun[]
  /** Where to go on. A page may be short and still have a next one. */
  next: RunPlace | null
}

export interface Sessions {
  get(requester: string, key: string): Promise<Session | undefined>
  /**
   * The same, perhaps as an earlier commit left it: for whoever says in a commit which version it must have, and is in conflict
   * otherwise. After that it is as it stands. Answers at once.
   */
  peek(requester: string, key: string): Session | undefined
  /** Those of all requesters, at most so many. */
  ofKey(key: string, limit: number): Promise<Session[]>
  /** Those that have a run, the latest active first. */
  list(filter: SessionFilter, limit: number, after: Cursor | null): Promise<Page<Session>>
  /** How many have a run, and how many are suspended, which have one too. Of each at most 10,000 are counted. */
  countRuns(): Promise<Record<'all' | 'suspended', number>>
  /** Earlier runs of a session, the latest ended first. */
  past(requester: string, key: string, limit: number): Promise<PastRun[]>
  pastRun(id: string): Promise<PastRun | undefined>
  /** Those that time alone has made due at `now`, the longest due first, as `resetAt` says. */
  due(now: number, limit: number): Promise<Session[]>
  nextDue(): Promise<number | undefined>
  /** Those that are recorded as due and have not rotated, after this one. */
  held(after: Pick<Session, 'requester' | 'key'> | null, limit: number): Promise<Session[]>
  /** All that have a run with messages, in no order, after this one: to set `resetAt` anew. */
  walk(after: Pick<Session, 'requester' | 'key'> | null, limit: number): Promise<Session[]>
  /**
   * Counts messages, if the session stands at this version: answers how many there are then, or null. Atomic. It changes
   * nothing that is decided, so there is no event, and followers are not told.
   */
  count(counting: Counting & { version: number }): Promise<number | null>
  /** Sets `resetAt` of those that stand at this version. Likewise. */
  setReset(all: Pick<Session, 'requester' | 'key' | 'version' | 'resetAt'>[]): Promise<void>
  /**
   * Brings down to the clock what is ahead of it; who has to wait by such a time waits anew, as long as at first. Atomic. For a
   * start after the clock was set back: there is no event, and followers are not told.
   */
  setBack(now: number): Promise<void>
  /**
   * Session ids that were not active after `until`, and a few that were: the current ones, then the past ones, each about the
   * longest idle first.
   */
  idle(until: number, limit: number, after: RunPlace | null): Promise<RunPage>
  /**
   * Those of these session ids that are still as they were read and that nothing keeps at `now`: nothing in them is pending,
   * may still be claimed or reported; the session is neither suspended nor recorded as due, nor is the id to come back; and
   * for the current one there is no live grant that may be its requester's.
   */
  collectable(runs: CollectableRun[], now: number): Promise<CollectableRun[]>
  /**
   * Removes those of them that are so in this transaction, and answers which. Atomic. A session goes with its last id, unless
   * a streak, a fixation or a grant needs it; else it stays without a run. The event that tells of it comes before; there is
   * none for each, and followers are not told.
   */
  collect(runs: CollectableRun[]): Promise<CollectableRun[]>
}

export interface Grants {
  /** False: no grant was ever given for this action. Answers at once. */
  mayCover(action: string): boolean
  get(id: string): Promise<Grant | undefined>
  /** The grant of exactly this scope, live or not. */
  ofScope(scope: Scope): Promise<Grant | undefined>
  /**
   * The live grants on this action, for everyone and for this session, that ask for exactly these details (JSON text) or
   * for none.
   */
  covering(action: string, sessionKey: string, details: string | null, now: number): Promise<Grant[]>
  /** Live grants, the newest first. */
  list(now: number, limit: number, after: Cursor | null): Promise<Page<Grant>>
  /** The live grants for this session key, for whichever requester, at most so many. */
  ofSession(sessionKey: string, now: number, limit: number): Promise<Grant[]>
}

export interface Deliveries {
  of(subjectId: string): Promise<Delivery[]>
  /**
   * A channel's deliveries whose time has come and that nobody has leased, in turns: one of each share, the longest due
   * first, then the next of each. However many wait, a share costs one seek. May be fewer than there are.
   */
  due(channel: ChannelName, now: number, limit: number, turn: Turn): Promise<Due[]>
  /** Those that are collected for this place and that nobody has leased, whether or not it is their time: in turns as well. */
  collected(channel: ChannelName, destination: string, now: number, limit: number, after: string): Promise<Due[]>
  /** The places of a channel for which some are. */
  placesOfCollected(channel: ChannelName): Promise<string[]>
  /** Those that somebody asked for there, whose time has come and that nobody has leased. */
  asked(channel: ChannelName, destination: string, now: number, limit: number): Promise<Due[]>
  /**
   * Leases those of these deliveries that are due, or collected, and not leased, and answers with them. Atomic: of two who want the same,
   * one gets it. A lease counts as a version, and ends with its time, with a write of the delivery and when the database is
   * opened. It changes nothing that is decided, so there is no event, and followers are not told.
   */
  claim(keys: DeliveryKey[], leaseMs: number): Promise<Claimed[]>
  /** Ends leases of which no use was made, so that others need not wait for their end. */
  release(claimed: Claimed[]): Promise<void>
  /** Ends one that stands at this version and was to tell nobody. Likewise there is no event, and followers are not told. */
  drop(one: Claimed): Promise<void>
  /** Whose message this is. */
  ofMessage(channel: ChannelName, message: MessageRef): Promise<Delivery | undefined>
  /** Those whose message may have to change, after this one, in the order of their keys. */
  followed(channel: ChannelName, after: DeliveryKey | null, limit: number): Promise<Delivery[]>
  /**
   * Notes what a message shows, as `shown` says; with its end its buttons are gone. Likewise there is no event. Atomic.
   */
  note(key: DeliveryKey, shown: number | null): Promise<void>
  /** When the channel's next delivery is due, or its lease over, after `time`. */
  nextDue(channel: ChannelName, time: number): Promise<number | undefined>
  /** How many messages and callbacks are still to be sent. */
  countUndelivered(): Promise<number>
}

/** They change nothing that is decided, so there is no event, and followers are not told. */
export interface KeyUses {
  /** One for each key that was ever used. */
  list(): Promise<KeyUse[]>
  /** Atomic. Of two that are noted of one key, the later stays, whichever comes first. */
  note(uses: KeyUse[]): Promise<void>
}

/** The same holds for buttons, and for how far what a chat sends was taken in. */
export interface Buttons {
  get(hash: string): Promise<Button | undefined>
  add(buttons: Button[]): Promise<void>
  /** Removes those of this message that one person alone may press: what it asked them is asked no more. */
  removeOwn(of: DeliveryKey): Promise<void>
}

export interface Inbox {
  /** Null: nothing was. */
  cursor(channel: ChannelName): Promise<string | null>
  note(channel: ChannelName, cursor: string): Promise<void>
}

/** The same holds for these. */
export interface SignIns {
  get(placeHash: string): Promise<SignIn | undefined>
  /** Atomic with removing those that have ended, and the key's oldest beyond this number. */
  add(signIn: SignIn, maxPerKey: number): Promise<void>
  remove(placeHash: string): Promise<void>
}

export interface Events {
  /**
   * Events after this number, in order. A page is bounded in events, in bytes (but for its first event) and in what is
   * looked through to find them. What is too old or too new for the filter is passed over, however much that is.
   */
  list(after: number, limit: number, filter?: EventFilter, maxBytes?: number): Promise<EventPage>
  /** The number of the last event; 0 before the first. */
  lastSeq(): Promise<number>
  /** The latest time on record, by the clock as it last ran; 0 before the first event. */
  lastTime(): Promise<number>
}

/** The database cannot be written or read now: full, read-only, failing. Nothing was changed. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** The disk failed in the middle of a commit, which may or may not be there after a crash. A later commit undoes it. */
export class OutcomeUnknown extends StoreUnavailable {
  override name = 'OutcomeUnknown'
}

/** The database was removed, replaced or overwritten while it was in use. Nothing more is written to it; a restart looks at what is there. */
export class StoreDisplaced extends StoreUnavailable {
  override name = 'StoreDisplaced'
}

/** The database can be opened, but what is in it makes no sense. Nothing was changed. */
export class StoreDamaged extends StoreUnavailable {
  override name = 'StoreDamaged'
}

/** The database cannot be opened; the message says why and what to do. */
export class StoreRefused extends Error {
  override name = 'StoreRefused'
  /** What helps is a backup. How that is restored, whoever started the program says. */
  readonly isDamaged: boolean

  constructor(message: string, isDamaged = false) {
    super(message)
    this.isDamaged = isDamaged
  }
}
