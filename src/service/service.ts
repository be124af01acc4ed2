// The verbs, put together: submit, find, wait, follow, list, decide, cancel, claim, report, grant, revoke, sweep; and who may
// use them. They read the clock and make ids, and pass values down.
import type { Attempted } from '../audit/data.js'
import * as audit from '../audit/event.js'
import type { Actor } from '../core/actor.js'
import type { Via } from '../core/model.js'
import { type Refusal, type RefusalCode, refuse } from '../core/refusal.js'
import { createPolicy, type Policy, type Rule } from '../policy/policy.js'
import type { RateLimit } from '../policy/window.js'
import type { Change, Cursor, EventFilter } from '../store/store.js'
import { createBudget } from './budget.js'
import { createDecide, type DecideDeps } from './decide.js'
import { createGrants } from './grants.js'
import { createHide } from './hide.js'
import { createLinks } from './links.js'
import { createPeople } from './people.js'
import { createPresent } from './present.js'
import { createRead } from './read.js'
import { keepEnded } from './setback.js'
import { createSignIns } from './sign-ins.js'
import { createSubmit, type SubmitDeps } from './submit.js'
import { createSweep } from './sweep.js'
import { createWatch } from './watch.js'

/** The rules as they were read from a file, and what tells that file from another. */
export interface LoadedRules {
  rules: Rule[]
  sha256: string
}

export interface ServiceDeps extends Omit<SubmitDeps, 'policy' | 'grants'>, Pick<DecideDeps, 'reportMs'> {
  /** The limit where no rule sets another. */
  rateLimit: RateLimit
  rules: LoadedRules | null
  /** Whether it may be in open mode while there is no key. */
  mayBeOpen: boolean
  /** 256 bits and more of chance, as hexadecimal digits. */
  chance: () => string
}

export type Service = ReturnType<typeof createService>

export function createService(deps: ServiceDeps) {
  const { store, clock, newId, rateLimit, chance } = deps
  let policy: Policy = createPolicy(deps.rules?.rules ?? null, { rate: rateLimit })
  const watch = createWatch(store, clock)
  const present = createPresent(store, clock)
  const people = createPeople(store, clock, chance, deps.mayBeOpen)
  const { openMode } = people
  const { counted } = openMode
  const { start: startSweeping, stop, sweep, settleOverdue } = createSweep(store, clock, counted)
  const grants = createGrants(store, clock, newId, () => policy, openMode)
  const recordWithin = createBudget(store, clock)
  const hide = createHide(clock, recordWithin)

  const noteRules = ({ rules, sha256 }: LoadedRules) =>
    store.commit({ writes: [], events: [audit.rulesLoaded(clock.now(), { rules: rules.length, sha256 })] })

  /** As much as a command that changes keys and people must know. */
  async function startPeople(): Promise<void> {
    await people.start()
    await keepEnded(store, clock)
  }

  return {
    startPeople,
    /** Brings the memory in line with the store, and the store in line with the time. Answers what was found. */
    async start(): Promise<{ expired: number; pending: number; undelivered: number }> {
      await startPeople()
      const expired = await startSweeping()
      if (deps.rules !== null) await noteRules(deps.rules)
      const { count } = await store.confirmations.countPending(clock.now())
      return { expired, pending: count, undelivered: await store.deliveries.countUndelivered() }
    },
    stop,
    ...createSubmit({ ...deps, grants, policy: () => policy }),
    ...createRead({ store, clock, watch, present, hide, counted, settleOverdue }),
    ...createDecide({ ...deps, present, grants, hide, openMode }),
    ...createLinks(store, clock, chance),
    ...createSignIns(store, clock, chance, people),
    people,
    openMode,
    grant: grants.grant,
    revoke: grants.revoke,
    sweep,
    /** From now on these rules govern what is submitted, once that is on record. */
    async useRules(loaded: LoadedRules): Promise<void> {
      await noteRules(loaded)
      policy = createPolicy(loaded.rules, { rate: rateLimit })
    },
    policy: () => policy,
    /**
     * Records what was refused before any verb was reached, within the budget of `who`. `id` is that of a confirmation, if it
     * was about one. Null: it is recorded; else when there is room in the budget.
     */
    async recordRefusal(
      refusal: Refusal,
      { id, actor, via }: { actor: Actor; via: Via; id: string | null },
      about: Attempted,
      who: string,
    ): Promise<{ resetMs: number } | null> {
      const confirmationId = id !== null && (await store.confirmations.brief(id)) !== undefined ? id : null
      const attempt = { actor, via, confirmationId, at: clock.now() }
      const rejected = (code: RefusalCode): Change => ({
        writes: [],
        events: [audit.rejected(refuse(code, ''), attempt, about)],
      })
      return recordWithin(`refused ${who}`, rejected(refusal.refused), () => rejected('guess_limited'))
    },
    /** Those that stand. A page may be short: what anyone gave counts in open mode alone. */
    async grants(limit: number, after: Cursor | null) {
      // One that is over now may have been used before.
      await store.settledBefore(clock.now())
      const page = await store.grants.list(clock.now(), limit, after)
      return { ...page, items: page.items.filter(grants.doesCount) }
    },
    events: (after: number, limit: number, filter: EventFilter) => store.events.list(after, limit, filter),
    lastSeq: () => store.events.lastSeq(),
    pending: () => store.confirmations.countPending(clock.now()),
    executions: () => store.confirmations.countExecutions(),
    listening: () => watch.count(),
    /** Answers everybody who waits with what there is; from now on nobody waits. */
    release: () => watch.stop(),
    now: () => clock.now(),
    ready: () => store.probe(),
  }
}
