// The one loop behind every verb, and the changes that several verbs make.
import type { Caller } from '../access/role.js'
import type { Attempted } from '../audit/data.js'
import * as audit from '../audit/event.js'
import { asOf, dueAt } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import { type Refusal, type RefusalCode, refuse } from '../core/refusal.js'
import { callBack } from '../notify/callback-schedule.js'
import {
  type Change,
  type CommitOutcome,
  type Committed,
  isCommitted,
  type Store,
  StoreUnavailable,
  type Unmet,
} from '../store/store.js'
import type { Authority, Budget } from './budget.js'

export type { Authority } from './budget.js'

/** One round of a verb: what to answer once the change, if there is one, is on disk. */
export interface Proposal<T> {
  answer: T | Refusal
  change?: Change | undefined
  /** What was refused and goes on record, after the change and within the budget of whoever was refused. */
  rejected?: audit.NewEvent[] | undefined
  /** Called once it is known whether the change is committed. */
  release?: ((isCommitted: boolean) => void) | undefined
}

/** What a verb writes to: changes to the store, and refusals within the budget of whoever was refused. */
export interface Desk {
  store: Store
  budget: Pick<Budget, 'recordFor'>
}

export function authorityOf(caller: Caller): Authority {
  if ('keyId' in caller) return { kind: 'key_live', keyId: caller.keyId }
  return caller.role === null ? { kind: 'no_keys' } : null
}

/** Each round that is lost was won by another, so this many may change one thing at the same time. */
const maxRounds = 200

/**
 * Read, apply a pure rule, commit; after losing a race, read again, knowing which requirement was not met, if it was that. An
 * answer without a change is only an answer.
 */
export async function settle<T>(
  desk: Desk,
  authority: Authority,
  propose: (unmet: Unmet | null) => Promise<Proposal<T>>,
): Promise<T | Refusal> {
  return (await settleFully(desk, authority, propose)).answer
}

/** The same, with what was committed. */
export async function settleFully<T>(
  { store, budget }: Desk,
  authority: Authority,
  propose: (unmet: Unmet | null) => Promise<Proposal<T>>,
): Promise<{ answer: T | Refusal; committed: Committed | null }> {
  let unmet: Unmet | null = null
  for (let round = 0; round < maxRounds; round++) {
    const { answer, change, rejected = [], release } = await propose(unmet)
    if (change === undefined) {
      const lasts = await budget.recordFor(authority, rejected)
      return { answer: lasts ? answer : noLonger(authority!), committed: null }
    }
    if (authority !== null) change.requires = [authority, ...(change.requires ?? [])]
    const outcome = await commit(store, change, release)
    unmet = null
    if (outcome === 'conflict') continue
    if (isCommitted(outcome)) {
      // What is committed is answered with, whether or not the rest can be recorded.
      await budget.recordFor(authority, rejected).catch(ignoreOutage)
      return { answer, committed: outcome }
    }
    if (outcome.unmet === authority) return { answer: noLonger(authority), committed: null }
    unmet = outcome
  }
  const sentence = 'Too many others change this at the moment; nothing was done. Try again.'
  return { answer: refuse('contended', sentence), committed: null }
}

/** Tells what waits for it how it went. */
export async function commit(
  store: Store,
  change: Change,
  release: Proposal<never>['release'],
): Promise<CommitOutcome> {
  let isDone = false
  try {
    const outcome = await store.commit(change)
    isDone = isCommitted(outcome)
    return outcome
  } finally {
    release?.(isDone)
  }
}

function noLonger({ kind }: NonNullable<Authority>): Refusal {
  return refuse('unauthorized', lost[kind])
}

function ignoreOutage(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true
  throw error
}

const lost = {
  no_keys: 'A key is asked for by now; nothing was done. Send this again with one.',
  key_live: 'The key of this request is no longer good; nothing was done. Send this again with another.',
}

/** The record's next state with the event that tells of it, and at its end the callback, if there is one. */
export function replace(found: Confirmation, record: Confirmation, event: audit.NewEvent, now: number): Change {
  const isEnd = found.resolution === null && record.resolution !== null
  return {
    writes: [{ kind: 'confirmation', expect: found.version, record }, ...(isEnd ? callBack(record, now) : [])],
    events: [event],
  }
}

/** The same by somebody's doing, which must come before time changes the record: a reader who is told of that is told for good. */
export function replaceInTime(found: Confirmation, record: Confirmation, event: audit.NewEvent, now: number): Change {
  const due = dueAt(asOf(found, now))
  return { ...replace(found, record, event, now), requires: due === null ? [] : [{ kind: 'before', at: due }] }
}

/** Attempts on what is forbidden are on record; mistakes are only answered. */
const recorded: ReadonlySet<RefusalCode> = new Set([
  'unauthorized',
  'forbidden',
  'not_yours',
  'own_request',
  'not_a_decider',
  'already_voted',
  'link_used',
  'guess_limited',
  'not_whitelistable',
  'high_risk',
  'denied_before',
  'too_many_open',
  'disk_limited',
  'session_suspended',
  'circuit_open',
  'digest_mismatch',
  'digest_required',
  'already_claimed',
])

export function rejection(
  refusal: Refusal,
  attempt: Parameters<typeof audit.rejected>[1],
  about: Attempted,
): audit.NewEvent[] {
  return recorded.has(refusal.refused) ? [audit.rejected(refusal, attempt, about)] : []
}

export function unknown(id: string): Refusal {
  return refuse('not_found', `There is no confirmation ${id}.`)
}
