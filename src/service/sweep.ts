// What time alone does, recorded: at the start, and when something is due. Readers need not wait for it: see `asOf`.
import * as audit from '../audit/event.js'
import { type Clock, createAlarm } from '../clock.js'
import { overdueAt } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import { type Change, type Cursor, isCommitted, type Page, type Store, StoreUnavailable } from '../store/store.js'
import type { CircuitBreaker, Consequence } from './breaker.js'
import { commit, replace } from './settle.js'
import { nextTurn } from './turnstile.js'

/** So many are read and judged in one go, and then everybody else has a turn: that takes about two milliseconds. */
const slice = 32
/** So many slices at most are on their way to the disk: enough to keep it busy, and others' changes queue behind no more. */
const slicesUnderWay = 16
const retryMs = 1000
const nothing = { writes: [], events: [], release() {} }

/** A change to one of those that are due, and whether that was still pending. */
interface Planned {
  change: Change
  release: Consequence['release']
  expires: boolean
}

interface Recorded {
  expired: number
  /** Changed by others meanwhile. */
  lost: number
}

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
    const ahead = await settleAll((after) => store.confirmations.ahead(clock.now(), slice, after))
    const expired = ahead + (await sweep())
    await setAlarm()
    return expired
  }

  /** Records what is overdue; one sweep at a time serves every caller. Answers how many that were. */
  function sweep(): Promise<number> {
    sweeping ??= settleAll((after) => store.confirmations.due(clock.now(), slice, after)).finally(
      () => (sweeping = null),
    )
    return sweeping
  }

  /** Records what time alone did to these, until none is left. Answers how many expired. */
  async function settleAll(find: (after: Cursor | null) => Promise<Page<Confirmation>>): Promise<number> {
    let expired = 0
    for (let lost = true; lost;) {
      lost = false
      const count = (recorded: Recorded) => {
        expired += recorded.expired
        lost ||= recorded.lost > 0
      }
      const underWay: Promise<Recorded>[] = []
      let after: Cursor | null = null
      do {
        const page: Page<Confirmation> = await find(after)
        const recording = record(await plan(page.items))
        // Whoever waits for it is told; until then it may fail.
        recording.catch(() => {})
        underWay.push(recording)
        if (underWay.length === slicesUnderWay) count(await underWay.shift()!)
        after = page.next
        if (after !== null) await nextTurn()
      } while (after !== null)
      for (const recording of underWay) count(await recording)
    }
    return expired
  }

  async function plan(found: Confirmation[]): Promise<Planned[]> {
    const planned: Planned[] = []
    const now = clock.now()
    for (const one of found) {
      const record = overdueAt(counted(one), now)
      if (record === null) continue
      const change = replace(one, record, audit.overdue(record, now), now)
      const { writes, events, release } = record.execution === null ? await breaker.after(record, now) : nothing
      change.writes.push(...writes)
      change.events.push(...events)
      planned.push({ change, release, expires: one.resolution === null })
    }
    return planned
  }

  async function record(planned: Planned[]): Promise<Recorded> {
    const results = await Promise.all(planned.map(({ change, release }) => commit(store, change, release)))
    const done = results.map(isCommitted)
    const expired = planned.filter(({ expires }, index) => expires && done[index]!).length
    return { expired, lost: done.filter((isDone) => !isDone).length }
  }

  return { start, stop: () => alarm.stop(), sweep }
}
