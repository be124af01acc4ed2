// What is shared out: of each there is a bound for all and a share for each requester, so that one never takes what the others
// need. The requester is the key's owner; in open mode all are one.
import type { RefusalCode } from '../core/refusal.js'

const mebibyte = 1024 * 1024

/**
 * The one table: what a refusal names as used up, and what the documents say. Numbers are places in memory, and `each` is a
 * quarter of `total`. Agents and everybody else have as much each, so that agents, however many, leave room for people.
 */
export const shares = {
  rate: {
    what: 'Submissions of one action in a window',
    total: "what a rule's `rate_limit` says",
    each: '`--rate-limit`, or that of a rule with `per: requester`',
    code: 'rate_limited',
  },
  open: {
    what: 'Requests that wait for an answer',
    total: 'none',
    each: "`--open-limit`, or a rule's `open_limit`",
    code: 'too_many_open',
  },
  disk: {
    what: 'Bytes that submissions fill in a day',
    total: 'the disk',
    each: '`--disk-limit`',
    code: 'disk_limited',
  },
  requests: {
    what: 'Requests in a minute',
    total: 'none',
    each: '`--flood-limit`, with each key or link; without one by address',
    code: 'flood_limited',
  },
  streak: {
    what: 'Denials and expiries in a row, of a session and of a requester',
    total: 'none',
    each: "a rule's `breaker`",
    code: 'circuit_open',
  },
  refusals: { what: 'Refusals on record in a minute', total: 'none', each: '30', code: 'guess_limited' },
  // As many as requests may be held, each on a connection of its own; fewer where the process may open fewer files.
  connections: { what: 'Connections', total: 20_000, each: 5000, code: 'flood_limited' },
  // 16 of the largest there are. With more of them coming in at once, each turn of the event loop takes long, and whoever
  // connects waits for one.
  bodies: {
    what: 'Bytes of bodies that are being received, or wait to be read',
    total: 16 * mebibyte,
    each: 4 * mebibyte,
    code: 'flood_limited',
  },
  // Each costs some 20 KB with its connection.
  waits: {
    what: 'Requests that are held: waits, and streams of one confirmation',
    total: 20_000,
    each: 5000,
    code: 'flood_limited',
  },
  // Each keeps what it was given while it waits.
  calls: { what: 'Calls over `/mcp` that are under way', total: 2000, each: 500, code: 'flood_limited' },
  // Each is woken by every commit, and sent what is new.
  streams: { what: 'Streams of all events', total: 200, each: 50, code: 'flood_limited' },
  // Each looks through all there is, as fast as its reader takes it.
  exports: { what: 'Exports', total: 16, each: 4, code: 'flood_limited' },
  // As much as a small machine can spare.
  answers: {
    what: 'Bytes of large answers that are not yet read',
    total: 128 * mebibyte,
    each: 32 * mebibyte,
    code: 'flood_limited',
  },
  // Each may take a second of a thread, and is a megabyte.
  pages: { what: 'Large pages that are being made', total: 32, each: 8, code: 'flood_limited' },
} as const satisfies Record<string, Row>

interface Row {
  what: string
  total: number | string
  each: number | string
  /** Of the refusal. */
  code: RefusalCode | 'flood_limited'
}

export type ShareName = keyof typeof shares
export const shareNames = Object.keys(shares) as [ShareName, ...ShareName[]]

export interface Limits {
  total: number
  each: number
}

/** So many may wait for room, for all and for one requester: each may hold what its socket has read, some 100 KB. */
const queueLimits: Limits = { total: 1024, each: 256 }

/** Why there is no room: the requester's share is used up, or the bound for all. */
export type Lack = 'share' | 'bound'

export interface Share {
  /** Takes a place, or several; what it answers with gives them back, once. Null is everybody, who has the whole bound. */
  take(who: string | null, size?: number): (() => void) | Lack
  /**
   * The same, but waits for room in the order of arrival of each requester; `go` is called when there is, perhaps at once. What
   * it answers with gives back what was taken, or gives up waiting. It lacks room only when too many wait.
   */
  queue(who: string | null, size: number, go: () => void): (() => void) | Lack
  taken(): number
  queued(): number
}

interface Waiting {
  size: number
  isIn: boolean
  go: () => void
}

export function createShare({ total, each }: Limits, waiting = queueLimits): Share {
  // Only who has a place or waits for one is remembered, so the bounds are bounds on names too.
  const byName = new Map<string | null, number>()
  const queues = new Map<string | null, Set<Waiting>>()
  let taken = 0
  let queued = 0

  function lackOf(who: string | null, size: number): Lack | null {
    if (who !== null && (byName.get(who) ?? 0) + size > each) return 'share'
    return taken + size > total ? 'bound' : null
  }

  function hold(who: string | null, size: number): void {
    taken += size
    byName.set(who, (byName.get(who) ?? 0) + size)
  }

  function give(who: string | null, size: number): void {
    taken -= size
    const left = byName.get(who)! - size
    if (left === 0) byName.delete(who)
    else byName.set(who, left)
    letIn()
  }

  /** One of each requester in turn. Whoever lacks the bound for all ends the round: what is small must not pass it for ever. */
  function letIn(): void {
    for (const [who, queue] of queues) {
      const [first] = queue
      const lack = lackOf(who, first!.size)
      if (lack === 'bound') return
      if (lack === 'share') continue
      leave(who, queue, first!)
      // To the end of the round, which comes by here again.
      if (queues.delete(who)) queues.set(who, queue)
      hold(who, first!.size)
      first!.isIn = true
      first!.go()
    }
  }

  function leave(who: string | null, queue: Set<Waiting>, one: Waiting): void {
    queue.delete(one)
    queued -= 1
    if (queue.size === 0) queues.delete(who)
  }

  return {
    take(who, size = 1) {
      const lack = lackOf(who, size)
      if (lack !== null) return lack
      hold(who, size)
      return once(() => give(who, size))
    },

    queue(who, size, go) {
      const queue = queues.get(who) ?? new Set()
      if (who !== null && queue.size >= waiting.each) return 'share'
      if (queued >= waiting.total) return 'bound'
      // What is larger than all there is would wait for ever.
      const one = { size: Math.min(size, who === null ? total : each), isIn: false, go }
      queue.add(one)
      queues.set(who, queue)
      queued += 1
      letIn()
      return once(() => {
        if (one.isIn) return give(who, one.size)
        leave(who, queue, one)
        letIn()
      })
    },

    taken: () => taken,
    queued: () => queued,
  }
}

function once(run: () => void): () => void {
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    run()
  }
}
