// The one loop behind every verb, and the changes that several verbs make.
import type { Attempted } from '../audit/data.js'
import * as audit from '../audit/event.js'
import { asOf, dueAt } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import { type Refusal, type RefusalCode, refuse } from '../core/refusal.js'
import { callBack } from '../notify/routing.js'
import type { Change, Store } from '../store/store.js'

/** One round of a verb: what to answer once the change, if there is one, is on disk. */
export interface Attempt<T> {
  answer: T | Refusal
  change?: Change | undefined
  /** Gives back what the attempt took. */
  undo?: () => void
}

/** Each round that is lost was won by another, so this many may change one thing at the same time. */
const maxRounds = 200

/**
 * Read, apply a pure rule, commit; after losing a race, read again. An answer without a change is only an answer. What a
 * lost or failed attempt took is given back. `isLetIn` is asked last, right before each commit: whoever could do this only
 * because everyone could, cannot once there is a key.
 */
export async function settle<T>(
  store: Store,
  attempt: () => Promise<Attempt<T>>,
  isLetIn: () => boolean = () => true,
): Promise<T | Refusal> {
  for (let round = 0; round < maxRounds; round++) {
    const { answer, change, undo } = await attempt()
    if (change === undefined) return answer
    if (!isLetIn()) {
      undo?.()
      return refuse('unauthorized', 'A key is asked for by now; nothing was done. Send this again with one.')
    }
    try {
      if ((await store.commit(change)) !== 'conflict') return answer
    } catch (error) {
      undo?.()
      throw error
    }
    undo?.()
  }
  return refuse('contended', 'Too many others change this at the moment; nothing was done. Try again.')
}

/** The record's next state with the event that tells of it; whoever asked to be called back at its end will be. */
export function replace(found: Confirmation, record: Confirmation, event: audit.NewEvent, now: number): Change {
  const isEnd = found.resolution === null && record.resolution !== null
  return {
    writes: [{ kind: 'confirmation', expect: found.version, record }, ...(isEnd ? callBack(record, now) : [])],
    events: [event],
  }
}

/** The same by somebody's doing, which must come before time changes the record: whoever is told of that is told for good. */
export function replaceInTime(found: Confirmation, record: Confirmation, event: audit.NewEvent, now: number): Change {
  return { ...replace(found, record, event, now), before: dueAt(asOf(found, now)) ?? undefined }
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
  'digest_mismatch',
  'digest_required',
  'already_claimed',
])

export function rejection(
  refusal: Refusal,
  attempt: Parameters<typeof audit.rejected>[1],
  about: Attempted,
): Change | undefined {
  if (!recorded.has(refusal.refused)) return undefined
  return { writes: [], events: [audit.rejected(refusal, attempt, about)] }
}

export function unknown(id: string): Refusal {
  return refuse('not_found', `There is no confirmation ${id}.`)
}
