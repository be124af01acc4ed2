// What happens at the service, as news for watch: the list as it stands, and from then on what changes in it.
import type { Confirmation, EventType, FoundConfirmation, Health, Operator } from '../../client/index.js'
import { Aborted, Refused } from '../../client/index.js'
import { visibleLine } from '../../core/visible.js'
import type { Item, News } from './state.js'

/** What changes the list, or what is open. */
const types: EventType[] = ['submitted', 'voted', 'approved', 'denied', 'expired', 'cancelled']

/** More are not looked through on a screen: those that come after them are read once there is room. */
const mostItems = 2000
/** What came within it is read together. */
const gatherMs = 100
/** After a request that failed. */
const retryMs = 1000
/** Instead of so many by themselves, the list is read anew. */
const mostAlone = 20
/** Of a description, in characters: no list shows more. */
const mostDescription = 400

export interface Feed {
  /** Until the signal ends it. */
  run(): Promise<void>
  load(id: string): Promise<void>
}

export function createFeed(
  operator: Operator,
  tell: (news: News) => void,
  now: () => number,
  signal: AbortSignal,
): Feed {
  let waiting = new Set<string>()
  const known = new Set<string>()
  let total = 0
  let isAtWork = false
  /** What happens is told. What happened before is in the list, which is read then. */
  let isOpen = false
  let mustReload = false
  let timer: NodeJS.Timeout | undefined

  function gather(ms = gatherMs): void {
    if (signal.aborted) return
    timer ??= setTimeout(() => {
      timer = undefined
      void work()
    }, ms)
  }

  /** One at a time, so that what is told is never older than what was told before. */
  async function work(): Promise<void> {
    if (isAtWork || signal.aborted) return
    isAtWork = true
    const ids = waiting
    waiting = new Set()
    try {
      const isTooMany = ids.size > mostAlone
      if (mustReload || isTooMany) {
        mustReload = false
        await readList()
      } else for (const id of ids) await readOne(id)
    } catch {
      // Away, or busy. What was missed is in the list.
      mustReload = true
      gather(retryMs)
    } finally {
      isAtWork = false
    }
    if (waiting.size > 0 || mustReload) gather()
  }

  async function readList(): Promise<void> {
    const { body: health } = await operator.call<Health>('GET', '/health', { signal })
    const aheadMs = health.timestamp * 1000 - now()
    const found = await operator.pending({ limit: mostItems, signal })
    total = found.length < mostItems ? found.length : Math.max(health.pending_count, found.length)
    known.clear()
    for (const { id } of found) known.add(id)
    tell({ kind: 'list', items: found.map(itemOf), total, aheadMs })
    if (isOpen) tell({ kind: 'live' })
  }

  async function readOne(id: string): Promise<void> {
    const found = await operator.show(id, { signal })
    tell({ kind: 'record', found })
    if (found.status === 'pending') {
      // What would stand behind those that are not here waits with them.
      if (known.size >= mostItems && !known.has(id)) return
      known.add(id)
      tell({ kind: 'item', item: itemOf(found) })
      return
    }
    known.delete(id)
    tell({ kind: 'ended', id, how: howEnded(found) })
    // There is room again for those that wait behind.
    if (total > mostItems && known.size < mostItems / 2) mustReload = true
  }

  async function follow(): Promise<void> {
    const onOpen = () => {
      isOpen = true
      mustReload = true
      gather(0)
    }
    const onLost = (error: unknown) => {
      isOpen = false
      const why = error instanceof Error ? visibleLine(error.message) : 'The service ended the connection.'
      tell({ kind: 'lost', why, at: now(), isFinal: false })
    }
    for await (const event of operator.follow({ types, signal, onOpen, onLost })) {
      if (event.confirmation_id === null) continue
      waiting.add(event.confirmation_id)
      gather()
    }
  }

  return {
    async run() {
      while (!signal.aborted) {
        try {
          await follow()
        } catch (error) {
          if (signal.aborted || error instanceof Aborted) break
          // Another database, perhaps a backup: its history has other numbers.
          if (error instanceof Refused && error.code === 'invalid_cursor') continue
          tell({ kind: 'lost', why: visibleLine((error as Error).message), at: now(), isFinal: true })
          break
        }
      }
      clearTimeout(timer)
    },
    async load(id) {
      try {
        const found = await operator.show(id, { signal })
        tell({ kind: 'record', found })
        if (found.status !== 'pending') tell({ kind: 'ended', id, how: howEnded(found) })
      } catch (error) {
        tell({ kind: 'failed', id, why: visibleLine((error as Error).message) })
      }
    },
  }
}

function itemOf(one: Confirmation): Item {
  return {
    id: one.id,
    action: one.action,
    requester: one.requester,
    description: one.description.slice(0, mostDescription),
    risk: one.risk,
    expiresAt: one.expires_at * 1000,
    given: one.approvals_given,
    needed: one.approvals_needed,
    isOdd: one.warnings.length > 0,
  }
}

function howEnded({ status, resolved_by }: FoundConfirmation): string {
  if (status === 'expired') return 'expired: nobody decided in time'
  return `${status.replace('_', ' ')} by ${visibleLine(resolved_by)}`
}
