// An exact sliding window per key: at most `max` hits in any `windowMs`. Every hit is pushed once and dropped once,
// so the cost per call is constant, and memory is bounded by the hits of one window.

export interface Standing {
  allowed: boolean
  remaining: number
  /** Milliseconds until the next slot frees; 0 while none is taken. */
  resetMs: number
}

interface Hits {
  times: number[]
  first: number
}

export class SlidingWindow {
  readonly max: number
  readonly windowMs: number
  // In order of the latest hit, so that idle keys gather at the front.
  #keys = new Map<string, Hits>()

  constructor(max: number, windowMs: number) {
    this.max = max
    this.windowMs = windowMs
  }

  get size(): number {
    return this.#keys.size
  }

  /** Takes a slot if one is free. */
  take(key: string, now: number): Standing {
    this.#forgetIdle(now)
    const hits = this.#current(key, now)
    if (hits !== undefined && count(hits) >= this.max) return this.#standing(hits, now, false)
    return this.#standing(this.add(key, now), now, true)
  }

  /** How the key stands, taking nothing. */
  peek(key: string, now: number): Standing {
    const hits = this.#current(key, now)
    return this.#standing(hits, now, hits === undefined || count(hits) < this.max)
  }

  /** Records a hit without asking: what is read back after a restart, oldest first. */
  add(key: string, at: number): Hits {
    const hits = this.#keys.get(key) ?? { times: [], first: 0 }
    hits.times.push(at)
    this.#keys.delete(key)
    this.#keys.set(key, hits)
    return hits
  }

  /** Returns a slot that was taken at `at` and came to nothing. */
  giveBack(key: string, at: number): void {
    const hits = this.#keys.get(key)
    if (hits === undefined) return
    const index = hits.times.lastIndexOf(at)
    if (index >= hits.first) hits.times.splice(index, 1)
    if (count(hits) === 0) this.#keys.delete(key)
  }

  #current(key: string, now: number): Hits | undefined {
    const hits = this.#keys.get(key)
    if (hits === undefined) return undefined
    while (hits.first < hits.times.length && hits.times[hits.first]! <= now - this.windowMs) hits.first += 1
    // Compacting when half is dead keeps the copy amortised over the pushes that filled it.
    if (hits.first > 32 && hits.first * 2 > hits.times.length) {
      hits.times.splice(0, hits.first)
      hits.first = 0
    }
    return hits
  }

  #standing(hits: Hits | undefined, now: number, allowed: boolean): Standing {
    const used = hits === undefined ? 0 : count(hits)
    const resetMs = used === 0 ? 0 : hits!.times[hits!.first]! + this.windowMs - now
    return { allowed, remaining: Math.max(0, this.max - used), resetMs }
  }

  // Two per call outpaces one new key per call, so idle keys cannot pile up.
  #forgetIdle(now: number): void {
    for (let i = 0; i < 2; i++) {
      const oldest = this.#keys.entries().next()
      if (oldest.done === true) return
      const [key, hits] = oldest.value
      if (hits.times.at(-1)! > now - this.windowMs) return
      this.#keys.delete(key)
    }
  }
}

function count(hits: Hits): number {
  return hits.times.length - hits.first
}
