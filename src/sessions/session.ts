// A session: what one requester does under one session key. It goes through runs, each with a session id; a rotation ends one
// and begins the next, and with a run ends the trust that it was given (pure).
import { type Caution, sayCaution } from '../core/caution.js'
import type { Breaker } from '../policy/policy.js'
import type { ResetRule } from '../policy/reset.js'
import { noStreak, type Streak } from './breaker.js'
import { resetDue } from './reset.js'

export const rotationReasons = ['idle', 'daily', 'message_limit', 'suspended', 'manual', 'switched'] as const
export type RotationReason = (typeof rotationReasons)[number]

/** From one rotation to the next. */
export interface Run {
  /** The session id. */
  id: string
  createdAt: number
  lastActiveAt: number
  /** Of the conversation; submissions are among them. */
  messages: number
  submissions: number
}

/** One that was rotated away. */
export interface PastRun extends Run {
  requester: string
  key: string
  endedAt: number
  reason: RotationReason
}

/** That it has to rotate: from then on its grants cover nothing. */
export interface Due {
  /** What was pending or claimed before is waited for. */
  at: number
  reason: RotationReason
  /** The session id that comes back; null: a new one. */
  to: string | null
}

export interface Rotation {
  at: number
  reason: RotationReason
  previousId: string
  /** The agent knows of it. */
  isTold: boolean
}

export interface Suspension {
  at: number
  by: string
  reason: string | null
}

/** The same action again and again, each time with other details. */
export interface Fixation {
  action: string
  /** Of the latest. */
  digest: string
  repeats: number
}

export interface Session {
  /** The share of whoever submits: the key's owner; in open mode all are one. */
  requester: string
  /** Empty: over all sessions of the requester. That has a streak and nothing else. */
  key: string
  version: number
  /** Null: it was collected, and begins anew with its next use. */
  run: Run | null
  /** What was granted until then covers nothing. */
  trustedFrom: number
  /** Where that is recorded: something is still pending, so the run goes on. */
  due: Due | null
  /** When time alone makes it due, by the rules as they were when this was written. */
  resetAt: number | null
  rotation: Rotation | null
  suspension: Suspension | null
  streak: Streak
  fixation: Fixation | null
}

/** What an agent is told of its session with every submission and message. */
export interface SessionState {
  id: string
  count: number
  /** 0: no limit. */
  max: number
  /** What it had not been told yet. */
  reset: Rotation | null
  warnings: string[]
}

/** From here on the agent is told to come to an end. */
const nearPart = 0.85

export function isNear(count: number, max: number): boolean {
  return max > 0 && count >= max * nearPart
}

export function isAtLimit(count: number, max: number): boolean {
  return max > 0 && count >= max
}

/** What an agent is told to do about its limit, for its prompt. */
export function noticeOn(count: number, max: number): string | null {
  if (isAtLimit(count, max)) {
    return `This session has had its ${max} messages: this is its final answer. Summarise what was done and what is left; a new session begins with the next message, or once what is pending is resolved.`
  }
  if (!isNear(count, max)) return null
  const left = max - count
  return `This session has ${left} of ${max} messages left. Wrap up, and save what matters before it ends.`
}

/** `reset` is a rotation that its agent is told of with this. */
export function stateOf(
  { run, streak, fixation }: Pick<Session, 'streak' | 'fixation'> & { run: Run },
  { maxMessages: max }: ResetRule,
  count: number,
  reset: Rotation | null,
  breaker: Breaker,
): SessionState {
  const warnings = sayCaution(worthSaying(streak.failures, fixation?.repeats ?? 0, breaker))
  return { id: run.id, count, max, reset, warnings }
}

/** What is odd about a request that is asked for in this session now; null: nothing. */
export function cautionIn(
  { streak, fixation }: Pick<Session, 'streak' | 'fixation'>,
  asked: Asked,
  breaker: Breaker,
): Caution | null {
  const caution = worthSaying(streak.failures, afterAsking(fixation, asked).repeats, breaker)
  return caution.failures === 0 && caution.repeats === 0 ? null : caution
}

function worthSaying(failures: number, repeats: number, { warnAt, fixationAt }: Breaker): Caution {
  // The first is no repeat.
  return { failures: from(warnAt, failures), repeats: repeats === 1 ? 0 : from(fixationAt, repeats) }
}

/** The count, where it is as many; a least of 0 is never reached. */
function from(least: number, count: number): number {
  return least > 0 && count >= least ? count : 0
}

/** What a person is asked for. */
type Asked = Pick<Fixation, 'action' | 'digest'>

/** The same as the store counts: see `Counting`. */
export function afterAsking(fixation: Fixation | null, { action, digest }: Asked): Fixation {
  if (fixation?.action !== action) return { action, digest, repeats: 1 }
  return { action, digest, repeats: fixation.repeats + (fixation.digest === digest ? 0 : 1) }
}

/** One that has nothing behind it. */
export function unknownSession(requester: string, key: string): Session {
  return {
    requester,
    key,
    version: 0,
    run: null,
    trustedFrom: 0,
    due: null,
    resetAt: null,
    rotation: null,
    suspension: null,
    streak: noStreak,
    fixation: null,
  }
}

export function newRun(id: string, now: number): Run {
  return { id, createdAt: now, lastActiveAt: now, messages: 0, submissions: 0 }
}

/** Since when it has to rotate, and why. What has not begun has nothing to end. */
export function dueOf(session: Session, rule: ResetRule, now: number): Due | null {
  const { due, run } = session
  if (due !== null || run === null || run.messages === 0) return due
  // It was full with its last message.
  if (isAtLimit(run.messages, rule.maxMessages)) return { at: run.lastActiveAt + 1, reason: 'message_limit', to: null }
  const next = resetDue(rule, run.lastActiveAt)
  return next === null || now < next.at ? null : { ...next, to: null }
}

/** When time alone makes it due. */
export function resetTimeOf(run: Run | null, rule: ResetRule): number | null {
  return run === null || run.messages === 0 ? null : (resetDue(rule, run.lastActiveAt)?.at ?? null)
}

/** Whether a grant for this session covers what is asked for in it now. */
export function trusts({ trustedFrom }: Session, isDue: boolean, givenAt: number): boolean {
  return !isDue && givenAt > trustedFrom
}

/** Its trust is over; `run` is the next one. */
export function rotate(session: Session, due: Due, run: Run, now: number): { session: Session; past: PastRun } {
  const { requester, key } = session
  const ended = session.run!
  const rotation = { at: now, reason: due.reason, previousId: ended.id, isTold: false }
  return {
    session: { ...session, run, due: null, resetAt: null, trustedFrom: now, rotation },
    past: { ...ended, requester, key, endedAt: now, reason: due.reason },
  }
}
