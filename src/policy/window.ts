// An exact sliding window per key: at most `max` hits in any `windowMs`. Every hit is pushed once and dropped once,
// so the cost per call is constant, and memory is bounded by the hits of the longest window.

export interface RateLimit {
  max: number
  windowMs: number
}

export interface Quota {
  remaining: number
  /** Milliseconds until the next slot frees; 0 while none is taken. */
  resetMs: number
}

/** Of an attempt to take some: whether there was room. */
export interface Taken extends Quota {
  allowed: boolean
}

/** So many keys have a window of their own at once; those beyond share one, so that names cost no more memory than this. */
const maxKeys = 10_000
const beyond = '\0beyond'

interface Hits {
  times: number[]
  first: number
}

export class SlidingWindow {
  // Hits are kept this long: no window may be longer.
  readonly #keptMs: number
  // In order of the latest hit, so that idle keys gather at the front.
  #keys = new Map<string, Hits>()

  constructor(keptMs: number) {
    this.#keptMs = keptMs
  }

  get size(): number {
    return this.#keys.size
  }

  /** Takes a slot if one is free, or several if all of them are. */
  take(key: string, now: number, limit: RateLimit, count = 1): Taken {
    this.#forgetIdle(now)
    const found = this.peek(key, now, limit, count)
    if (!found.allowed) return found
    for (let taken = 0; taken < count; taken++) this.#add(key, now)
    const isFirst = found.remaining === limit.max
    return {
      allowed: true,
      remaining: found.remaining - count,
      resetMs: isFirst ? limit.windowMs : found.resetMs,
    }
  }

  /** How the key stands, taking nothing. Where so many are not free, `resetMs` says when they are, or never before. */
  peek(key: string, now: number, { max, windowMs }: RateLimit, count = 1): Taken {
    const hits = this.#current(this.#placeOf(key), now)
    const first = hits === undefined ? 0 : firstAfter(hits, now - windowMs)
    const used = hits === undefined ? 0 : hits.times.length - first
    const missing = Math.min(used, Math.max(1, used + count - max))
    const resetMs = used === 0 ? 0 : hits!.times[first + missing - 1]! + windowMs - now
    return { allowed: used + count <= max, remaining: Math.max(0, max - used), resetMs }
  }

  #placeOf(key: string): string {
    return this.#keys.size < maxKeys || this.#keys.has(key) ? key : beyond
  }

  #add(name: string, at: number): void {
    const key = this.#placeOf(name)
    const hits = this.#keys.get(key) ?? { times: [], first: 0 }
    hits.times.push(at)
    this.#keys.delete(key)
    this.#keys.set(key, hits)
  }

  #current(key: string, now: number): Hits | undefined {
    const hits = this.#keys.get(key)
    if (hits === undefined) return undefined
    while (hits.first < hits.times.length && hits.times[hits.first]! <= now - this.#keptMs) hits.first += 1
    // Compacting when half is dead keeps the copy amortised over the pushes that filled it.
    if (hits.first > 32 && hits.first * 2 > hits.times.length) {
      hits.times.splice(0, hits.first)
      hits.first = 0
    }
    return hits
  }

  // Two per call outpaces one new key per call, so idle keys cannot pile up.
  #forgetIdle(now: number): void {
    for (let i = 0; i < 2; i++) {
      const oldest = this.#keys.entries().next()
      if (oldest.done === true) return
      const [key, hits] = oldest.value
      if (hits.times.at(-1)! > now - this.#keptMs) return
      this.#keys.delete(key)
    }
  }
}

/** The place of the first hit after this time. */
function firstAfter({ times, first }: Hits, time: number): number {
  // Nearly always: the window is as long as hits are kept.
  if (first === times.length || times[first]! > time) return first
  let low = first
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! > time) high = middle
    else low = middle + 1
  }
  return low
}
