// Reading: at once, when it changes, as it happens. Every answer is as of now, whether or not that is recorded yet.
import { type Caller, mayRead, nameOf } from '../access/role.js'
import type { RecordedEvent } from '../audit/event.js'
import type { Clock } from '../clock.js'
import { asOf, dueAt } from '../core/confirmation.js'
import { type Confirmation, type Delivery, isOutcome, type Resolved, type Status } from '../core/model.js'
import type { Refusal } from '../core/refusal.js'
import type { ConfirmationFilter, Cursor, EventFilter, EventPage, Page, Store } from '../store/store.js'
import type { Hide } from './hide.js'
import { only, type Present } from './present.js'
import { unknown } from './settle.js'
import { createTail, judge } from './tail.js'
import { createTurnstile } from './turnstile.js'
import type { Bell, Watch } from './watch.js'

export interface Found {
  confirmation: Confirmation
  deliveries: Delivery[]
}

export interface Following {
  filter: EventFilter
  after: number
  idleMs: number
  until?: string
  /** In whose turns it is read. */
  who?: string | null
}

/** How much at once, and in whose turns. */
export interface Helping {
  maxBytes?: number
  who?: string | null
}

/** Registers what to do when the caller has gone away. */
export type WhenGone = (leave: () => void) => void

/** What a reader of the history is given at once: small, because there may be many, and some are slow. */
const followed = { events: 100, bytes: 64 * 1024 }

export interface ReadDeps {
  store: Store
  clock: Clock
  watch: Watch
  present: Present
  hide: Hide
  /** What counts of it now. */
  counted: (confirmation: Confirmation) => Confirmation
}

export type Read = ReturnType<typeof createRead>

export function createRead({ store, clock, watch, present, hide, counted }: ReadDeps) {
  const turnstile = createTurnstile()
  const tail = createTail(store, followed.bytes)

  async function find(id: string, caller: Caller): Promise<Found | Refusal> {
    const { found, now } = await present(() => store.confirmations.get(id), only)
    if (found === undefined) return unknown(id)
    if (!mayRead(caller, found)) return hide(id, caller, 'http')
    return { confirmation: asOf(counted(found), now), deliveries: await store.deliveries.of(id) }
  }

  /**
   * Sleeps until the confirmation is resolved, the time is over, the caller is gone or the service stops. Reads little, so
   * that a caller who waits holds on to little. Answers about how many bytes there will be to read.
   */
  async function wait(id: string, ms: number, caller: Caller, whenGone: WhenGone): Promise<number> {
    const bell = watch.listen(id)
    whenGone(() => bell.end())
    try {
      const end = clock.now() + ms
      for (;;) {
        bell.hush()
        const brief = await turnstile.run(() => store.confirmations.brief(id), nameOf(caller))
        const now = clock.now()
        // A caller who may not know of it is told so at once, by the look that follows.
        if (brief !== undefined && !mayRead(caller, brief)) return 0
        const isPending = brief?.isResolved === false && now < brief.deadline && now >= brief.createdAt
        if (!isPending || now >= end || bell.isOver()) return brief?.size ?? 0
        await bell.sleep(Math.min(end, brief.deadline) - now)
      }
    } finally {
      bell.end()
    }
  }

  /** Sleeps until the confirmation is another than this version, the time is over, the reader gone or the service stops. */
  async function waitForNews(
    id: string,
    version: number,
    ms: number,
    whenGone: WhenGone,
  ): Promise<{ version: number } | Refusal> {
    const bell = watch.listen(id)
    whenGone(() => bell.end())
    try {
      const end = clock.now() + ms
      for (;;) {
        bell.hush()
        const { found, now } = await present(() => turnstile.run(() => store.confirmations.get(id)), only)
        if (found === undefined) return unknown(id)
        const current = asOf(found, now)
        if (current.version !== version || now >= end || bell.isOver()) return { version: current.version }
        await bell.sleep(Math.min(end, dueAt(current) ?? end) - now)
      }
    } finally {
      bell.end()
    }
  }

  /**
   * The history after a number as it is written, in small helpings; an empty one when there was nothing to say for `idleMs`.
   * Ends when the reader is gone, the service stops, or the end of the confirmation that `until` names has been told.
   */
  function follow(following: Following, whenGone: WhenGone): AsyncGenerator<RecordedEvent[]> {
    const bell = watch.listen(following.filter.confirmationId ?? null)
    whenGone(() => bell.end())
    return tell(following, bell)
  }

  async function* tell({ filter, after, idleMs, until, who }: Following, bell: Bell): AsyncGenerator<RecordedEvent[]> {
    // What is about one confirmation is found by an index, and its streams are woken for nothing else.
    const passes = filter.confirmationId === undefined ? judge(filter) : null
    const isOpen = Object.values(filter).every((value) => value === undefined)
    const look = async (): Promise<EventPage> => {
      const page = passes === null ? null : await tail.read(after)
      if (page !== null) return isOpen ? page : { ...page, events: page.events.filter(passes!) }
      const from = after
      return turnstile.run(() => store.events.list(from, followed.events, filter, followed.bytes), who)
    }
    try {
      let isEnded = until !== undefined && (await store.confirmations.brief(until))?.isResolved === true
      let quietSince = clock.now()
      while (!bell.isOver()) {
        bell.hush()
        const page = await look()
        after = page.upTo
        if (until !== undefined) isEnded ||= page.events.some(({ type }) => isOutcome(type))
        const isQuiet = page.events.length === 0 && clock.now() >= quietSince + idleMs
        if (page.events.length > 0 || isQuiet) {
          yield page.events
          quietSince = clock.now()
        }
        if (page.more || (passes !== null && after < tail.last())) continue
        if (isEnded) return
        await bell.sleep(quietSince + idleMs - clock.now())
      }
    } finally {
      bell.end()
    }
  }

  /** Whether the history has its end: an expiry may have happened and not be recorded yet. */
  async function ending(id: string, caller: Caller): Promise<{ isEnded: boolean } | Refusal> {
    const brief = await store.confirmations.brief(id)
    if (brief === undefined) return unknown(id)
    return mayRead(caller, brief) ? { isEnded: brief.isResolved } : hide(id, caller, 'http')
  }

  async function list(
    filter: ConfirmationFilter,
    order: 'deadline' | 'newest' | 'oldest',
    limit: number,
    after: Cursor | null,
    { maxBytes, who }: Helping = {},
  ): Promise<Page<Confirmation>> {
    const look = () => store.confirmations.list(filter, order, limit, after, clock.now(), maxBytes)
    const page = await readPage(look, who)
    return isPendingAlone(filter) ? stillPending(page) : page
  }

  /** What is pending, without what may be large; see the store. What expires just now may be among it. */
  function listPending(limit: number, after: Cursor | null): Promise<Page<Confirmation>> {
    return readPage(() => store.confirmations.listPending(limit, after, clock.now()))
  }

  /** What was pending and ended after `since`, the latest first: at most so many of each way to end. */
  async function listEnded(since: number, limit: number): Promise<Resolved[]> {
    const { found, now } = await present(
      () => turnstile.run(() => store.confirmations.listEnded(since, limit, clock.now())),
      (all) => all,
    )
    const ended = found.map((one) => asOf(one, now)).filter((one) => one.status !== 'pending')
    const count = new Map<Status, number>()
    return ended
      .sort((a, b) => b.resolution.at - a.resolution.at)
      .filter(({ status }) => count.set(status, (count.get(status) ?? 0) + 1).get(status)! <= limit)
  }

  async function readPage(read: () => Promise<Page<Confirmation>>, who?: string | null): Promise<Page<Confirmation>> {
    const { found: page, now } = await present(
      () => turnstile.run(read, who),
      ({ items }) => items,
    )
    return { ...page, items: page.items.map((one) => asOf(counted(one), now)) }
  }

  return {
    turnstile,
    find,
    findInTurn: (id: string, caller: Caller) => turnstile.run(() => find(id, caller), nameOf(caller)),
    wait,
    waitForNews,
    follow,
    ending,
    list,
    listPending,
    listEnded,
  }
}

/** Whether it asks for what is pending and for nothing else. */
export function isPendingAlone({ statuses }: ConfirmationFilter): boolean {
  return statuses?.length === 1 && statuses[0] === 'pending'
}

function stillPending(page: Page<Confirmation>): Page<Confirmation> {
  return { ...page, items: page.items.filter(({ resolution }) => resolution === null) }
}
