// What can be asked of sessions: counting messages, looking at them, and what operators do to them.
import { actorOf, type Caller, nameOf } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Signature } from '../audit/event.js'
import type { Clock } from '../clock.js'
import { shareOf, textOf } from '../core/actor.js'
import { asOf } from '../core/confirmation.js'
import type { Confirmation, Resolved, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { defaultBreaker } from '../policy/policy.js'
import type { ResetRule } from '../policy/reset.js'
import {
  type Due,
  dueOf,
  isAtLimit,
  type PastRun,
  type Run,
  type Session,
  type SessionState,
  stateOf,
  trusts,
} from '../sessions/session.js'
import type { Change, Cursor, Page, Requirement, SessionFilter, Unmet } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { diskShareOf } from './disk-share.js'
import { diskLimited } from './gates.js'
import { countIn, maxSessionGrants, type Runs, withEvents, writeOf } from './runs.js'
import { authorityOf, type Desk, type Proposal, settle, settleFully } from './settle.js'

/** A session as of now, and the rule by which it is reset. */
export interface SeenSession {
  session: Session & { run: Run }
  due: Due | null
  rule: ResetRule
}

/** The same with what belongs to it. */
export interface WholeSession extends SeenSession {
  /** Until then nothing is taken from its requester, in whichever session; 0: it need not wait. */
  requesterWaitsUntil: number
  /** Those that cover something now. */
  grants: Grant[]
  pending: Confirmation[]
  /** The last ten, the latest first. */
  outcomes: Resolved[]
  /** Earlier session ids, the latest first. */
  past: PastRun[]
}

/** Which session is meant: a key, and whose, where it has to be said. */
export interface NamedSession {
  key: string
  requester: string | null
}

/** One that is there. `ended`: its current id was collected, and this is the last before that, which stands for it. */
interface Known {
  session: Session & { run: Run }
  ended: PastRun | null
}

const maxOutcomes = 10
const maxPast = 20
const maxPending = 100
/** Requesters that are named where it is not clear whose session is meant. */
const maxNamed = 20

export type Sessions = ReturnType<typeof createSessions>

export interface SessionDeps {
  desk: Desk
  clock: Clock
  runs: Runs
  doesCount: (grant: Grant) => boolean
  /** How much a requester may write in a day; 0: any amount. */
  diskLimitBytes: number
  /** A session is full. */
  whenFull: () => void
}

export function createSessions({ desk, clock, runs, doesCount, diskLimitBytes, whenFull }: SessionDeps) {
  const { store } = desk

  /** So many messages went on in a session of the caller's. */
  async function addMessages(key: string, messages: number, caller: Caller, via: Via): Promise<SessionState | Refusal> {
    const actor = actorOf(caller, 'agent')
    const disk = (bytes: number): Requirement[] =>
      diskLimitBytes === 0 ? [] : [{ kind: 'disk', share: diskShareOf(shareOf(actor)), max: diskLimitBytes, bytes }]
    const propose = async (unmet: Unmet | null): Promise<Proposal<(count: number) => SessionState>> => {
      if (unmet?.unmet.kind === 'disk') return { answer: diskLimited(actor, diskLimitBytes, unmet.quota!.resetMs) }
      for (;;) {
        const now = clock.now()
        const use = await runs.use(shareOf(actor), key, now)
        const count = countIn(use, { messages, submissions: 0, asks: [] }, now)
        const state = (total: number) => stateOf(use.session, use.rule, total, use.reset, defaultBreaker)
        if (use.writes.length > 0) {
          const started = audit.sessionStarted(use.session, { actor, at: now, via })
          const [first = started, ...more] = use.events
          const requires = [...use.requires, count, ...disk(use.bytes)]
          return { change: { writes: use.writes, events: [first, ...more], requires }, answer: state }
        }
        const { kind: _, version, ...counting } = count
        const total = await store.sessions.count({ ...counting, version: version! })
        if (total !== null) return { answer: () => state(total) }
      }
    }
    const { answer, committed } = await settleFully(desk, authorityOf(caller), propose)
    if (isRefusal(answer)) return answer
    const state = answer(committed?.counts[0] ?? 0)
    if (isAtLimit(state.count, state.max)) whenFull()
    return state
  }

  async function findNamed({ key, requester }: NamedSession, caller: Caller): Promise<Known | Refusal> {
    const own = ownOf(caller)
    const none = refuse('not_found', `There is no session '${key}'${requester === null ? '' : ` of '${requester}'`}.`)
    if (own !== null && requester !== null && requester !== own) return none
    const whose = own ?? requester
    const found = whose === null ? await store.sessions.ofKey(key, maxNamed) : [await store.sessions.get(whose, key)]
    const [first, ...others] = (await Promise.all(found.map(lookUp))).filter((one) => one !== null)
    if (first === undefined) return none
    if (others.length === 0) return first
    const requesters = [first, ...others].map(({ session }) => session.requester)
    const sentence = `Several requesters have a session '${key}'; say whose with ?requester=.`
    return refuse('ambiguous_session', sentence, { requesters })
  }

  async function lookUp(session: Session | undefined): Promise<Known | null> {
    if (session === undefined) return null
    if (hasRun(session)) return { session, ended: null }
    const [ended] = await store.sessions.past(session.requester, session.key, 1)
    return ended === undefined ? null : { session: { ...session, run: ended }, ended }
  }

  function see(session: Session & { run: Run }, now: number): SeenSession {
    const rule = runs.ruleOf(session.key)
    return { session, due: dueOf(session, rule, now), rule }
  }

  async function read(named: NamedSession, caller: Caller): Promise<WholeSession | Refusal> {
    const known = await findNamed(named, caller)
    if (isRefusal(known)) return known
    const now = clock.now()
    const { session: found, ended } = known
    const { requester, key } = found
    const seen = see(found, now)
    // It has a new id with its next use.
    if (ended !== null) seen.due = { at: ended.endedAt, reason: ended.reason, to: null }
    const [grants, open, outcomes, past, all] = await Promise.all([
      store.grants.ofSession(key, now, maxSessionGrants),
      store.confirmations.pendingIn(requester, key, maxPending),
      store.confirmations.endedIn(requester, key, maxOutcomes),
      store.sessions.past(requester, key, maxPast),
      store.sessions.get(requester, ''),
    ])
    const isOwn = (grant: Grant) => grant.requester === null || requester === '' || grant.requester === requester
    const covers = (grant: Grant) => trusts(found, seen.due !== null, grant.givenAt) && isOwn(grant) && doesCount(grant)
    const pending = open.filter((one) => asOf(one, now).status === 'pending')
    const requesterWaitsUntil = all?.streak.waitsUntil ?? 0
    const earlier = past.filter(({ id }) => id !== found.run.id)
    return { ...seen, requesterWaitsUntil, grants: grants.filter(covers), pending, outcomes, past: earlier }
  }

  async function list(
    filter: SessionFilter,
    limit: number,
    after: Cursor | null,
    caller: Caller,
  ): Promise<Page<SeenSession>> {
    const own = ownOf(caller)
    if (own !== null && (filter.requester ?? own) !== own) return { items: [], next: null }
    const visible = own === null ? filter : { ...filter, requester: own }
    const now = clock.now()
    const { items, next } = await store.sessions.list(visible, limit, after)
    return { items: items.filter(hasRun).map((one) => see(one, now)), next }
  }

  /** What an operator does to one; null: nothing needs to be done. */
  type Deed = (
    found: Session & { run: Run },
    now: number,
    signature: Signature,
  ) => Promise<{ session: Session & { run: Run }; change: Change | null } | Refusal>

  function operate(named: NamedSession, by: string, caller: Caller, via: Via, deed: Deed) {
    return settle<SeenSession>(desk, authorityOf(caller), async () => {
      const known = await findNamed(named, caller)
      if (isRefusal(known)) return { answer: known }
      const now = clock.now()
      const { session, ended } = known
      const found = ended === null ? session : { ...session, run: runs.fresh(now) }
      const done = await deed(found, now, { actor: actorOf(caller, by), at: now, via })
      if (isRefusal(done)) return { answer: done }
      return { answer: see(done.session, now), change: done.change ?? undefined }
    })
  }

  /** It rotates, now or once what is pending is resolved; what was suspended is so no longer. */
  function reset(named: NamedSession, by: string, caller: Caller, via: Via) {
    return operate(named, by, caller, via, async (found, now, signature) => {
      const reason = found.suspension === null ? 'manual' : 'suspended'
      const due: Due = { at: found.due?.at ?? now + 1, reason, to: null }
      const { session, part } = await runs.end(found, due, now, signature, { suspension: null })
      return { session, change: withEvents(part) }
    })
  }

  function suspend(named: NamedSession, reason: string | null, by: string, caller: Caller, via: Via) {
    return operate(named, by, caller, via, async (found, now, signature) => {
      // Again, it is on record again, with what is known now.
      const suspension = { at: now, by: textOf(signature.actor), reason: reason ?? found.suspension?.reason ?? null }
      const session = { ...found, version: found.version + 1, suspension }
      const events: Change['events'] = [audit.sessionSuspended(session, null, signature)]
      return { session, change: { writes: [writeOf(found, session)], events } }
    })
  }

  function resume(named: NamedSession, reason: string | null, by: string, caller: Caller, via: Via) {
    return operate(named, by, caller, via, async (found, _now, signature) => {
      if (found.suspension === null) return { session: found, change: null }
      const session = { ...found, version: found.version + 1, suspension: null }
      const events: Change['events'] = [audit.sessionResumed(session, reason, signature)]
      return { session, change: { writes: [writeOf(found, session)], events } }
    })
  }

  /** An earlier session id comes back, with what it had counted and without the trust it was given. */
  function switchTo(named: NamedSession, id: string, by: string, caller: Caller, via: Via) {
    return operate(named, by, caller, via, async (found, now, signature) => {
      if (found.run.id === id) return { session: found, change: null }
      const past = await store.sessions.pastRun(id)
      if (past === undefined || past.requester !== found.requester || past.key !== found.key) {
        return refuse('not_found', `This session never had the id '${id}'; GET it to see its earlier ones.`)
      }
      const due: Due = { at: found.due?.at ?? now + 1, reason: 'switched', to: id }
      const { session, part } = await runs.end(found, due, now, signature)
      return { session, change: withEvents(part) }
    })
  }

  return { addMessages, read, list, reset, suspend, resume, switchTo }
}

/** Whose sessions the caller knows of: agents know of their own alone, in open mode all are one. Null: of all. */
function ownOf(caller: Caller): string | null {
  if (caller.role === null) return ''
  return caller.role === 'agent' ? nameOf(caller) : null
}

function hasRun(session: Session | undefined): session is Session & { run: Run } {
  return session !== undefined && session.run !== null
}
