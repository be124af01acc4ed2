// The circuit breaker: in the commit that resolves a request, what that does to the streaks of its session and its requester.
import * as audit from '../audit/event.js'
import type { Signature } from '../audit/event.js'
import { system, textOf } from '../core/actor.js'
import type { Confirmation } from '../core/model.js'
import type { Breaker as Numbers, Policy } from '../policy/policy.js'
import { failInSession, failOfRequester, noStreak } from '../sessions/breaker.js'
import { newRun, type Session } from '../sessions/session.js'
import type { Write } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { revokeOf, type Runs, writeOf } from './runs.js'

/** What a resolution adds to its change. */
export interface Consequence {
  writes: Write[]
  events: audit.NewEvent[]
  /** Once it is known whether the change is committed. */
  release(isCommitted: boolean): void
}

const breakerActor = system('breaker')

const none: Consequence = { writes: [], events: [], release() {} }

export type CircuitBreaker = ReturnType<typeof createBreaker>

/** `raise` tells the operators of a session that was suspended. */
export function createBreaker(
  policy: () => Policy,
  runs: Pick<Runs, 'find' | 'grantsOf'>,
  newId: () => string,
  raise: (session: Session, now: number) => Omit<Consequence, 'release'>,
) {
  /**
   * Sessions as changes will leave them that are under way: many are resolved at once, and each counts those before it. If
   * one of them does not come about, neither do those behind it, and all are made anew from what stands.
   */
  const planned = new Map<string, Planned>()

  /** `ended` was just resolved: a person's yes ends streaks, a no and an expiry go on with them, the rest is nothing. */
  async function after(ended: Confirmation, now: number): Promise<Consequence> {
    const { status, share, sessionKey, action, details } = ended
    if (status !== 'approved' && status !== 'denied' && status !== 'expired') return none
    // In open mode nobody can tell one requester from another.
    const keys = [...(sessionKey === '' ? [] : [sessionKey]), ...(share === '' ? [] : [''])]
    const { breaker } = policy().govern(action, details).limits
    const step = (from: Session) => (status === 'approved' ? approve(from) : fail(from, ended, breaker, now))
    const stored: Session[] = []
    for (const key of keys) stored.push(await runs.find(share, key))
    const toEnd = stored.find((one) => one.key !== '' && step(latest(one))?.step === 'wait')
    const grants = toEnd === undefined ? [] : await runs.grantsOf(toEnd, now)
    // From here on in one go: others go on whenever somebody waits.
    const parts = stored.flatMap((one) => {
      const found = latest(one)
      const stepped = step(found)
      return stepped === null ? [] : [consequenceOf(found, stepped, grants, now)]
    })
    if (parts.length === 0) return none
    return {
      writes: parts.flatMap(({ writes }) => writes),
      events: parts.flatMap(({ events }) => events),
      release: (isCommitted) => parts.forEach(({ release }) => release(isCommitted)),
    }
  }

  function latest(stored: Session): Session {
    const ahead = planned.get(nameOf(stored))
    return ahead === undefined || ahead.line.isBroken ? stored : ahead.session
  }

  /** `grants` end with it. */
  function consequenceOf(found: Session, { session, step }: Stepped, grants: Grant[], now: number): Consequence {
    const name = nameOf(found)
    const writes = [writeOf(found, session)]
    const signature: Signature = { actor: breakerActor, at: now, via: 'system' }
    const ahead = planned.get(name)
    const plan: Planned = { session, line: ahead?.session === found ? ahead.line : { isBroken: false } }
    const consequence: Consequence = {
      writes,
      events: [],
      release(isCommitted) {
        if (!isCommitted) plan.line.isBroken = true
        if (planned.get(name) === plan) planned.delete(name)
      },
    }
    planned.set(name, plan)
    if (step === null) return consequence
    if (session.key === '') return { ...consequence, events: [audit.requesterPaused(session, signature)] }
    if (step === 'warn') return { ...consequence, events: [audit.sessionWarned(session, signature)] }
    if (step === 'wait') {
      const revoked = grants.map((grant) => revokeOf(grant, now))
      const events = [audit.sessionPaused(session, grants, signature)]
      return { ...consequence, writes: [...writes, ...revoked], events }
    }
    // So that an operator finds it: it may have none since it was collected.
    session.run ??= newRun(newId(), now)
    const alarm = raise(session, now)
    const events = [audit.sessionSuspended(session, session.streak.failures, signature), ...alarm.events]
    return { ...consequence, writes: [...writes, ...alarm.writes], events }
  }

  return { after }
}

/** What stands in line behind the same commit shares its fate. */
interface Planned {
  session: Session
  line: { isBroken: boolean }
}

interface Stepped {
  session: Session
  step: 'warn' | 'wait' | 'suspend' | null
}

function nameOf({ requester, key }: Pick<Session, 'requester' | 'key'>): string {
  return `${requester}\0${key}`
}

/** Null: there is nothing to end. */
function approve(found: Session): Stepped | null {
  if (found.streak.failures === 0 && found.fixation === null) return null
  return { session: { ...found, version: found.version + 1, streak: noStreak, fixation: null }, step: null }
}

function fail(found: Session, { createdAt }: Confirmation, breaker: Numbers, now: number): Stepped {
  const count = found.key === '' ? failOfRequester : failInSession
  const { streak, step } = count(found.streak, createdAt, breaker, now)
  const session: Session = { ...found, version: found.version + 1, streak }
  if (step === 'wait') session.trustedFrom = now
  if (step === 'suspend') {
    const reason = `${streak.failures} requests in a row were denied or expired`
    session.suspension ??= { at: now, by: textOf(breakerActor), reason }
  }
  return { session, step }
}
