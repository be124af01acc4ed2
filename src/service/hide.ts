// What does not belong to an agent does not exist for it: the same answer, as fast, as for what was never there. That it
// tried is on record, up to a number of times a minute, and then once that there is more.
import type { Caller } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { textOf, unknownActor } from '../core/actor.js'
import type { Via } from '../core/model.js'
import { type Refusal, refuse } from '../core/refusal.js'
import { createBudget } from '../policy/budget.js'
import { type Store, StoreUnavailable } from '../store/store.js'
import { unknown } from './settle.js'

export const hiddenAttempts = { max: 30, windowMs: 60_000 }

export type Hide = ReturnType<typeof createHide>

export function createHide(store: Store, clock: Clock) {
  const budget = createBudget(hiddenAttempts)

  return (id: string, caller: Caller, via: Via): Refusal => {
    const at = clock.now()
    const actor = caller.actor ?? unknownActor
    const spent = budget.take(textOf(actor), at)
    if (spent.kind === 'within' || spent.isNews) {
      const code = spent.kind === 'within' ? 'not_yours' : 'guess_limited'
      const event = audit.rejected(refuse(code, ''), { actor, at, via, confirmationId: id }, {})
      // Nobody waits for it: whoever did would know by the time it takes.
      store.commit({ writes: [], events: [event] }).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error
      })
    }
    return unknown(id)
  }
}
