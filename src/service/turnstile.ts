// Work that many want done at once, a little of it in each turn of the event loop, so that everybody else gets their turn.

/** A turn that has lasted this long ends: nobody notices four milliseconds. */
const turnMs = 4

export interface Turnstile {
  /** Does the work, at once if this turn has time left and nobody waits; the order is that of arrival. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createTurnstile(now: () => number = () => performance.now()): Turnstile {
  // A set keeps the order, and gives up its first without moving the rest.
  const waiting = new Set<() => void>()
  let began: number | null = null

  /** The first of a turn begins it; it ends when the event loop has been around. */
  function isOpen(): boolean {
    if (began === null) {
      began = now()
      setImmediate(nextTurn)
    }
    return now() - began < turnMs
  }

  function nextTurn(): void {
    began = null
    for (const start of waiting) {
      if (!isOpen()) return
      waiting.delete(start)
      start()
    }
  }

  return {
    run(work) {
      if (waiting.size === 0 && isOpen()) return work()
      return new Promise((resolve, reject) => waiting.add(() => void work().then(resolve, reject)))
    },
  }
}
