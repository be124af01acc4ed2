// The verbs, put together: submit, find, wait, follow, list, decide, cancel, claim, report, grant, revoke, sweep. They read the
// clock and make ids, and pass values down.
import type { Cursor, EventFilter } from '../store/store.js'
import { createDecide, type DecideDeps } from './decide.js'
import { createGrants } from './grants.js'
import { createRead } from './read.js'
import { createSubmit, type SubmitDeps } from './submit.js'
import { createSweep } from './sweep.js'
import { createWatch } from './watch.js'

export type ServiceDeps = SubmitDeps & Pick<DecideDeps, 'reportMs'>

export type Service = ReturnType<typeof createService>

export function createService(deps: ServiceDeps) {
  const { store, clock, newId, rateLimit } = deps
  const watch = createWatch(store, clock)
  const { start: startSweeping, stop, sweep, settleLapsed } = createSweep(store, clock)
  const { start: startSubmitting, ...submitting } = createSubmit(deps)
  const grants = createGrants(store, clock, newId)

  return {
    /** Brings the memory in line with the store, and the store in line with the time. Answers what was found. */
    async start(): Promise<{ expired: number; pending: number; unsent: number }> {
      await startSubmitting()
      const expired = await startSweeping()
      const { count } = await store.pending(clock.now())
      return { expired, pending: count, unsent: await store.unsent() }
    },
    stop,
    ...submitting,
    ...createRead(store, clock, watch, settleLapsed),
    ...createDecide({ ...deps, grants }),
    grant: grants.grant,
    revoke: grants.revoke,
    sweep,
    rateLimit,
    grants: (limit: number, after: Cursor | null) => store.grants(clock.now(), limit, after),
    events: (after: number, limit: number, filter: EventFilter) => store.events(after, limit, filter),
    lastSeq: () => store.lastSeq(),
    pending: () => store.pending(clock.now()),
    executions: () => store.executions(),
    listening: () => watch.count(),
    /** Answers everybody who waits with what there is; from now on nobody waits. */
    release: () => watch.stop(),
    now: () => clock.now(),
    ready: () => store.probe(),
  }
}
