// The runs of sessions: how one begins, goes on with a submission or a message, and ends when it is due.
import * as audit from '../audit/event.js'
import type { Signature } from '../audit/event.js'
import { system } from '../core/actor.js'
import { bytesOfSession } from '../core/weight.js'
import type { Policy } from '../policy/policy.js'
import type { ResetRule } from '../policy/reset.js'
import { parseSessionKey } from '../sessions/key.js'
import { resetDue } from '../sessions/reset.js'
import {
  type Due,
  dueOf,
  type Fixation,
  newRun,
  resetTimeOf,
  rotate,
  type Rotation,
  type Run,
  type Session,
  unknownSession,
} from '../sessions/session.js'
import type { Change, Counting, Requirement, Store, Write } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'

/** So many grants of a session at most are ended with it; see `prepare` in grants.ts. */
export const maxSessionGrants = 500
/** How many outcomes a checkpoint has. */
const maxOutcomes = 10

/** What belongs into a change. */
export interface Part {
  writes: Write[]
  events: audit.NewEvent[]
  requires: Requirement[]
}

/** A session as it is used now: what has to be written first, and how it is counted in. */
export interface Use extends Part {
  /** As it will stand. */
  session: Session & { run: Run }
  /** Of the session, with what the same change asks for. */
  fixation: Fixation | null
  rule: ResetRule
  /** It has to rotate and cannot yet: its grants cover nothing. */
  isDue: boolean
  /** The version it must have when it is counted in; null: the change begins the run. */
  version: number | null
  /** What the agent is to be told. */
  reset: Rotation | null
  /** How much is written for it. */
  bytes: number
  /** How many of the same change are counted in it so far. */
  taken: number
}

type Running = Session & { run: Run }

export type Runs = ReturnType<typeof createRuns>

export function createRuns(store: Store, newId: () => string, policy: () => Policy) {
  function ruleOf(key: string): ResetRule {
    const place = parseSessionKey(key)
    return policy().resetRuleFor(place?.platform ?? null, place?.chatType ?? null)
  }

  async function find(requester: string, key: string): Promise<Session> {
    return (await store.sessions.get(requester, key)) ?? unknownSession(requester, key)
  }

  /** By whoever uses it: it begins, rotates where it is due and may, or goes on. The last, which is usual, is known at once. */
  function use(requester: string, key: string, now: number): Use | Promise<Use> {
    const found = store.sessions.peek(requester, key) ?? unknownSession(requester, key)
    const rule = ruleOf(key)
    if (!hasRun(found)) return begin(found, rule, now)
    const due = dueOf(found, rule, now)
    return due === null ? goOn(found, rule) : useDue(found, rule, due, now)
  }

  async function useDue(found: Running, rule: ResetRule, due: Due, now: number): Promise<Use> {
    const signature: Signature = { actor: system('sessions'), at: now, via: 'system' }
    const { session: ended, part } = await end(found, due, now, signature)
    const bytes = part.writes.length === 0 ? 0 : bytesOfSession(found.key)
    const version = ended.run.id === found.run.id ? found.version : null
    return telling(found, ended, { ...part, rule, isDue: ended.due !== null, version, bytes, taken: 0 })
  }

  function begin(found: Session, rule: ResetRule, now: number): Use {
    // So high that no version comes again of one that was removed: whoever has read that conflicts.
    const version = found.version === 0 ? now : found.version + 1
    const session = { ...found, version, run: newRun(newId(), now) }
    const writes = [writeOf(found, session)]
    const none = { events: [], requires: [], isDue: false, version: null, taken: 0 }
    return telling(found, session, { ...none, rule, writes, bytes: bytesOfSession(found.key) })
  }

  function goOn(found: Running, rule: ResetRule): Use {
    const resetAt = resetTimeOf(found.run, rule)
    const requires: Requirement[] = resetAt === null ? [] : [{ kind: 'before', at: resetAt }]
    const { version } = found
    return telling(found, found, { writes: [], events: [], requires, rule, isDue: false, version, bytes: 0, taken: 0 })
  }

  /** With this use its agent is told of a rotation it does not know of yet. */
  function telling(found: Session, session: Running, use: Omit<Use, 'session' | 'fixation' | 'reset'>): Use {
    // Written out, here and wherever each submission comes by: a spread takes many times as long.
    const { writes, events, requires, rule, isDue, version, bytes, taken } = use
    const { rotation: reset, fixation } = session
    if (reset === null || reset.isTold) {
      return { writes, events, requires, session, fixation, rule, isDue, version, reset: null, bytes, taken }
    }
    const record = { ...session, version: found.version + 1, rotation: { ...reset, isTold: true } }
    const rest = writes.filter(({ kind }) => kind !== 'session')
    return { ...use, session: record, fixation, writes: [writeOf(found, record), ...rest], reset }
  }

  /**
   * Ends the trust in a session that is due, and its run unless something is still pending. What is recorded as due and has to
   * wait on changes nothing.
   */
  async function end(
    found: Session,
    due: Due,
    now: number,
    signature: Signature,
    more: Partial<Session> = {},
  ): Promise<{ session: Session & { run: Run }; part: Part }> {
    const { requester, key } = found
    const ended = found.run!
    const isHeld = await store.confirmations.isHolding(requester, key, due.at, now)
    if (isHeld && found.due === due) return { session: { ...found, run: ended }, part: nothing() }
    const grants = await grantsOf(found, now)
    const revoked = grants.map((grant) => revokeOf(grant, now))
    const version = found.version + 1
    if (isHeld) {
      const session = { ...found, ...more, run: ended, version, due, resetAt: null, trustedFrom: now }
      const events = [audit.sessionDue(session, due, grants, signature)]
      return { session, part: { writes: [writeOf(found, session), ...revoked], events, requires: [] } }
    }
    const back = due.to === null ? undefined : await store.sessions.pastRun(due.to)
    const isBack = back !== undefined && back.requester === requester && back.key === key
    const run = isBack ? runFrom(back, now) : newRun(newId(), now)
    const rotated = rotate({ ...found, ...more, version }, due, run, now)
    const session = { ...rotated.session, run, resetAt: resetTimeOf(run, ruleOf(key)) }
    const outcomes = await store.confirmations.endedIn(requester, key, maxOutcomes)
    const ofRun = outcomes.filter(({ sessionId }) => sessionId === ended.id)
    const writes: Write[] = [
      writeOf(found, session),
      { kind: 'run', record: rotated.past },
      ...(isBack ? [{ kind: 'run_back' as const, id: run.id }] : []),
      ...revoked,
    ]
    const { messages, submissions } = ended
    return {
      session,
      part: {
        writes,
        events: [audit.sessionRotated(session, ended, due, grants, ofRun, signature)],
        requires: [{ kind: 'counted', requester, sessionKey: key, messages, submissions }],
      },
    }
  }

  /** Those that end with it. What is for every requester of this key ends for this one by the time it was given. */
  async function grantsOf({ requester, key }: Session, now: number): Promise<Grant[]> {
    const grants = await store.grants.ofSession(key, now, maxSessionGrants)
    return grants.filter((grant) => requester === '' || grant.requester === requester)
  }

  return { find, use, end, grantsOf, ruleOf, fresh: (now: number) => newRun(newId(), now) }
}

export function writeOf({ version }: Session, record: Session): Write {
  return { kind: 'session', expect: version === 0 ? 'absent' : version, record }
}

export function revokeOf(grant: Grant, now: number): Write {
  return { kind: 'grant', expect: grant.version, record: { ...grant, version: grant.version + 1, revokedAt: now } }
}

function nothing(): Part {
  return { writes: [], events: [], requires: [] }
}

function hasRun(session: Session): session is Running {
  return session.run !== null
}

function runFrom({ id, createdAt, messages, submissions }: Run, now: number): Run {
  return { id, createdAt, messages, submissions, lastActiveAt: now }
}

/** A change, if there is something to tell of. */
export function withEvents({ writes, events: [first, ...more], requires }: Part): Change | null {
  return first === undefined ? null : { writes, events: [first, ...more], requires }
}

/** What is counted in a session that is used. `asks` is what a person is asked for. */
export function countIn(
  { session, rule, isDue, version, taken }: Use,
  counted: Pick<Counting, 'messages' | 'submissions' | 'asks'>,
  now: number,
): Requirement & { kind: 'count' } {
  const { requester, key: sessionKey, run } = session
  const max = isDue ? 0 : rule.maxMessages
  const hasRoom = max > 0 && run.messages + taken < max
  const below = hasRoom ? max - taken : Number.MAX_SAFE_INTEGER
  const resetAt = isDue ? null : (resetDue(rule, now)?.at ?? null)
  const { messages, submissions, asks } = counted
  return { kind: 'count', requester, sessionKey, version, below, max, messages, submissions, asks, at: now, resetAt }
}
