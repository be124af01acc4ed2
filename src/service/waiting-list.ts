// What waits, as people see it in a list, and when that is another. Those who keep the list open have one look at the store in
// common, once a second at most: neither they nor a storm of requests cost more than that.
import type { Clock } from '../clock.js'
import { sha256 } from '../core/digest.js'
import type { Pending, Resolved } from '../core/model.js'
import type { Cursor, Store } from '../store/store.js'
import type { Read, WhenGone } from './read.js'
import { anyConfirmation, type Watch } from './watch.js'

export interface Listed {
  /** Without what may be large; see the store. */
  items: Pending[]
  /** Where it goes on. */
  next: Cursor | null
  /** How many wait, on all pages. */
  count: number
  /** The latest that were pending and are no more; only where the list begins. */
  ended: Resolved[]
  /** Tells this list from one that shows something else. */
  mark: string
}

/** How many wait, and the mark of the list as it begins. */
export type News = Pick<Listed, 'count' | 'mark'>

interface Look extends News {
  /** When time alone makes another of it. */
  until: number
}

const pageSize = 100
/** As long as a sign-in: what nobody decided at night is seen in the morning. */
const latelyMs = 12 * 3_600_000
/** Of each way to end, so that no way hides another. */
const maxEnded = 5
const paceMs = 1000

export interface WaitingListDeps {
  store: Store
  clock: Clock
  watch: Watch
  read: Pick<Read, 'listPending' | 'listEnded'>
}

export type WaitingList = ReturnType<typeof createWaitingList>

export function createWaitingList({ store, clock, watch, read }: WaitingListDeps) {
  let latest: Promise<Look> | null = null
  let isOld = true
  let next: Promise<Look> | null = null
  let lastAt = -Infinity

  store.follow(({ changed }) => {
    if (changed.some(({ kind }) => kind === 'confirmation')) isOld = true
  })

  async function readList(after: Cursor | null): Promise<Listed> {
    const page = await read.listPending(pageSize, after)
    const items = page.items.filter((one) => one.resolution === null)
    const isWhole = after === null && page.next === null
    const count = isWhole ? items.length : await store.confirmations.countPending(clock.now())
    const ended = after === null ? await read.listEnded(clock.now() - latelyMs, maxEnded) : []
    const mark = sha256(
      JSON.stringify([items.map(({ id, version }) => [id, version]), count, ended.map(({ id }) => id)]),
    )
    return { items, next: page.next, count, ended, mark }
  }

  async function waitForList(mark: string, ms: number, whenGone: WhenGone): Promise<News> {
    const bell = watch.listen(anyConfirmation)
    whenGone(() => bell.end())
    try {
      const end = clock.now() + ms
      for (;;) {
        bell.hush()
        const look = await lookTogether()
        const now = clock.now()
        if (look.mark !== mark || now >= end || bell.isOver()) return { mark: look.mark, count: look.count }
        await bell.sleep(Math.min(end, look.until) - now)
      }
    } finally {
      bell.end()
    }
  }

  /** A look that began after whatever was committed before the call. */
  async function lookTogether(): Promise<Look> {
    if (latest !== null && !isOld) {
      const look = await latest
      if (clock.now() < look.until) return look
    }
    return (next ??= lookInTime())
  }

  async function lookInTime(): Promise<Look> {
    const earlyMs = lastAt + paceMs - clock.now()
    await new Promise<void>((go) => (earlyMs > 0 ? clock.after(earlyMs, go) : go()))
    // Whoever comes from now on may know of something that this look does not see.
    next = null
    isOld = false
    lastAt = clock.now()
    latest = look()
    try {
      return await latest
    } catch (error) {
      isOld = true
      throw error
    }
  }

  async function look(): Promise<Look> {
    const { items, count, mark } = await readList(null)
    return { count, mark, until: items[0]?.deadline ?? Infinity }
  }

  return { readList, waitForList }
}
