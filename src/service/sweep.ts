// What time alone does, recorded: at the start, when something is due, and before each listing.
import * as audit from '../audit/event.js'
import { type Clock, createAlarm } from '../clock.js'
import { overdueAt } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import { type Change, isCommitted, type Store, StoreUnavailable } from '../store/store.js'
import type { CircuitBreaker, Consequence } from './breaker.js'
import { commit, replace } from './settle.js'

const batch = 500
const retryMs = 1000
const nothing = { writes: [], events: [], release() {} }

/** `counted` leaves what counts of it now. */
export function createSweep(
  store: Store,
  clock: Clock,
  counted: (confirmation: Confirmation) => Confirmation,
  breaker: CircuitBreaker,
) {
  let sweeping: Promise<number> | null = null

  const alarm = createAlarm(clock, async () => {
    try {
      await sweep()
      return await store.confirmations.nextDue()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return clock.now() + retryMs
    }
  })

  store.follow(({ changed }) => {
    if (changed.some(({ kind }) => kind === 'confirmation')) void setAlarm()
  })

  async function setAlarm(): Promise<void> {
    try {
      alarm.by((await store.confirmations.nextDue()) ?? Infinity)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      alarm.by(clock.now() + retryMs)
    }
  }

  /** Answers how many expired while nobody was there to record it. */
  async function start(): Promise<number> {
    // In one process time never runs back, so what comes from the future was there before.
    const expired = (await settleAll((limit) => store.confirmations.ahead(clock.now(), limit))) + (await sweep())
    await setAlarm()
    return expired
  }

  /** Records what is overdue; one sweep at a time serves every caller. Answers how many that were. */
  function sweep(): Promise<number> {
    sweeping ??= settleAll((limit) => store.confirmations.due(clock.now(), limit)).finally(() => (sweeping = null))
    return sweeping
  }

  /** Records what time alone did to these, until none is left. Answers how many expired. */
  async function settleAll(find: (limit: number) => Promise<Confirmation[]>): Promise<number> {
    let expired = 0
    for (;;) {
      const found = await find(batch)
      const now = clock.now()
      const changes: { one: Confirmation; change: Change; release: Consequence['release'] }[] = []
      for (const one of found) {
        const record = overdueAt(counted(one), now)
        if (record === null) continue
        const change = replace(one, record, audit.overdue(record, now), now)
        const { writes, events, release } = record.execution === null ? await breaker.after(record, now) : nothing
        change.writes.push(...writes)
        change.events.push(...events)
        changes.push({ one, change, release })
      }
      if (changes.length === 0) return expired
      const results = await Promise.all(changes.map(({ change, release }) => commit(store, change, release)))
      expired += results.filter((result, i) => isCommitted(result) && changes[i]!.one.resolution === null).length
    }
  }

  /** The same, but that a database which takes no writes is no obstacle: readers see what is overdue anyway. */
  async function settleOverdue(): Promise<void> {
    try {
      await sweep()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  return { start, stop: () => alarm.stop(), sweep, settleOverdue }
}
