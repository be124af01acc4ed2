// Garbage collection: what would go, and removing it, a little at a time so that it holds up nobody; also on a schedule.
import * as audit from '../audit/event.js'
import { type Clock, createAlarm } from '../clock.js'
import { system } from '../core/actor.js'
import { isRefusal, type Refusal } from '../core/refusal.js'
import {
  type ByRule,
  type CollectableRun,
  type CollectRule,
  collectRuleOf,
  type CollectSettings,
  idleUntil,
  noneByRule,
  sumOf,
  usualSettings,
} from '../sessions/collect.js'
import { type RunPlace, StoreUnavailable } from '../store/store.js'
import type { By } from './people.js'
import { type Desk, settleFully } from './settle.js'
import { nextTurn } from './turnstile.js'

/** So many are read in one turn of the event loop: that takes a millisecond or two. */
const batch = 100
/** So many are removed in one transaction: each changes several pages of the database, and others wait for the same fsync. */
const atOnce = 50
/** How long others have the writer to themselves then, in times that it took. */
const pausePart = 1
/** On one page. */
export const maxListed = 1000
const retryMs = 60_000

/** One that would go. */
export interface Doomed {
  run: CollectableRun
  rule: CollectRule
}

/** Where a list of them goes on, and as of when it is. */
export interface DoomedPlace {
  now: number
  place: RunPlace | null
}

export interface DoomedPage {
  items: Doomed[]
  next: DoomedPlace | null
  counts: ByRule | null
}

export interface Progress {
  planned: number
  gone: number
}

export type Collector = ReturnType<typeof createCollector>

/** `everyMs`: by itself, so often; null: never. */
export function createCollector(desk: Desk, clock: Clock, everyMs: number | null, pause = sleep) {
  const { store } = desk
  let progress: Progress | null = null
  let isStopped = false
  let last: Promise<unknown> = Promise.resolve()

  const alarm = createAlarm(clock, async () => {
    try {
      await collect(usualSettings, { actor: system('sessions'), via: 'system' })
      return clock.now() + everyMs!
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return clock.now() + Math.min(everyMs!, retryMs)
    }
  })

  /** Those that the rules name, page by page; others get their turn between two. */
  async function* walk(settings: CollectSettings, now: number, from: RunPlace | null = null) {
    const until = idleUntil(settings, now)
    for (let place = from; ;) {
      const { runs, next } = await store.sessions.idle(until, batch, place)
      const doomed = runs.flatMap((run): Doomed[] => {
        const rule = collectRuleOf(run, settings, now)
        return rule === null ? [] : [{ run, rule }]
      })
      yield { doomed, next }
      if (next === null) return
      place = next
      await nextTurn()
    }
  }

  /** Without those that something keeps. */
  async function unkept(doomed: Doomed[], now: number): Promise<Doomed[]> {
    const free = new Set(
      await store.sessions.collectable(
        doomed.map(({ run }) => run),
        now,
      ),
    )
    return doomed.filter(({ run }) => free.has(run))
  }

  async function count(settings: CollectSettings, now: number): Promise<ByRule> {
    const counts = noneByRule()
    for await (const { doomed } of walk(settings, now)) {
      for (const { rule } of await unkept(doomed, now)) counts[rule] += 1
    }
    return counts
  }

  /** What would go, in the order in which it would, after this place; from the beginning, also how many that are. */
  async function list(settings: CollectSettings, after: DoomedPlace | null): Promise<DoomedPage> {
    const now = after?.now ?? clock.now()
    const page: DoomedPage = { items: [], next: null, counts: null }
    for await (const { doomed, next } of walk(settings, now, after?.place)) {
      page.items.push(...(await unkept(doomed, now)))
      if (next === null || page.items.length <= maxListed - batch) continue
      page.next = { now, place: next }
      break
    }
    if (after === null) page.counts = await count(settings, now)
    return page
  }

  /** Answers how many went. One at a time: the next waits. */
  function collect(settings: CollectSettings, by: By): Promise<ByRule | Refusal> {
    const run = last.then(() => collectNow(settings, by))
    last = run.catch(() => {})
    return run
  }

  /** It is on record before anything goes. What becomes free meanwhile stays for the next time. */
  async function collectNow(
    settings: CollectSettings,
    { actor, via, authority = null }: By,
  ): Promise<ByRule | Refusal> {
    const now = clock.now()
    const planned = await count(settings, now)
    if (sumOf(planned) === 0 || isStopped) return noneByRule()
    const told = audit.sessionsCollected(planned, settings, { actor, at: clock.now(), via })
    const change = { writes: [], events: [told] as [audit.NewEvent] }
    const { answer, committed } = await settleFully(desk, authority, async () => ({ answer: planned, change }))
    if (isRefusal(answer)) return answer
    const gone = noneByRule()
    try {
      await remove(settings, now, planned, gone)
    } finally {
      if (sumOf(gone) < sumOf(planned)) {
        const signature = { actor, at: clock.now(), via }
        const corrected = audit.sessionsCollected(gone, settings, signature, committed!.events[0]!.seq)
        await store.commit({ writes: [], events: [corrected] })
      }
    }
    return gone
  }

  /** At most as many as are on record; `gone` counts them. */
  async function remove(settings: CollectSettings, now: number, planned: ByRule, gone: ByRule): Promise<void> {
    const total = sumOf(planned)
    try {
      progress = { planned: total, gone: 0 }
      for await (const { doomed } of walk(settings, now)) {
        for (let from = 0; from < doomed.length; from += atOnce) {
          const some = await unkept(doomed.slice(from, from + atOnce), now)
          if (some.length === 0) continue
          const began = performance.now()
          await removeSome(some, planned, gone)
          progress.gone = sumOf(gone)
          if (progress.gone === total || isStopped) return
          await pause(pausePart * (performance.now() - began))
        }
      }
    } finally {
      progress = null
    }
  }

  async function removeSome(some: Doomed[], planned: ByRule, gone: ByRule): Promise<void> {
    const found = noneByRule()
    const allowed = some.filter(({ rule }) => (found[rule] += 1) <= planned[rule] - gone[rule])
    const rules = new Map(allowed.map(({ run, rule }) => [run, rule]))
    for (const run of await store.sessions.collect([...rules.keys()])) gone[rules.get(run)!] += 1
  }

  return {
    list,
    collect,
    /** Of the one that is under way. */
    progress: () => progress,
    start(): void {
      if (everyMs !== null) alarm.by(clock.now())
    },
    /** What is under way ends with its batch. */
    release: () => void (isStopped = true),
    async stop(): Promise<void> {
      isStopped = true
      await alarm.stop()
      await last
    },
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
