// What does not belong to an agent does not exist for it: the same answer, as fast, as for what was never there. That it
// tried is recorded, within a budget.
import type { Caller } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { textOf, unknownActor } from '../core/actor.js'
import type { Via } from '../core/model.js'
import { type Refusal, refuse } from '../core/refusal.js'
import { StoreUnavailable } from '../store/store.js'
import type { Budget } from './budget.js'
import { unknown } from './settle.js'

export type Hide = ReturnType<typeof createHide>

export function createHide(clock: Clock, { record }: Pick<Budget, 'record'>) {
  return (id: string, caller: Caller, via: Via): Refusal => {
    const actor = caller.actor ?? unknownActor
    const attempt = { actor, at: clock.now(), via, confirmationId: id }
    const event = audit.rejected(refuse('not_yours', ''), attempt, {})
    // Nobody waits for it: the time that it takes would tell.
    record(`refused name ${textOf(actor)}`, [event]).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
    })
    return unknown(id)
  }
}
