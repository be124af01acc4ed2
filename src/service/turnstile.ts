// Work that many want done at once, a little of it in each turn of the event loop, so that everybody else gets their turn.

/** A turn that has lasted this long ends: nobody notices four milliseconds. */
const turnMs = 4

export interface Turnstile {
  /** Null if this turn has time left and nobody waits; else resolves when it is one's turn, in the order of arrival. */
  wait(): Promise<void> | null
  /** Does the work in turn, and answers with what came of it. */
  run<T>(work: () => Promise<T>): Promise<T>
  /**
   * Somebody has connected. Node accepts one connection in each turn of the event loop, so while there are more, work gives way
   * to them, for as long as the last of its turns took.
   */
  giveWay(): void
}

export function createTurnstile(now: () => number = () => performance.now()): Turnstile {
  // A set keeps the order, and gives up its first without moving the rest.
  const waiting = new Set<() => void>()
  let began: number | null = null
  let gaveWay: { at: number; ms: number } | null = null
  let isArriving = false

  /** The first of a turn begins it; it ends when the event loop has been around. */
  function isOpen(): boolean {
    if (began === null) {
      began = now()
      setImmediate(nextTurn)
    }
    return now() - began < turnMs
  }

  function nextTurn(): void {
    if (isArriving) {
      isArriving = false
      gaveWay ??= { at: now(), ms: Math.max(turnMs, now() - began!) }
      began = -Infinity
      if (now() - gaveWay.at < gaveWay.ms) return void setImmediate(nextTurn)
    }
    gaveWay = null
    began = null
    letIn()
  }

  function letIn(): void {
    const [start] = waiting
    if (start === undefined || !isOpen()) return
    waiting.delete(start)
    start()
    // What it does goes on in microtasks; how long it took is known when they are through.
    queueMicrotask(() => process.nextTick(letIn))
  }

  function wait(): Promise<void> | null {
    if (waiting.size === 0 && isOpen()) return null
    return new Promise((start) => waiting.add(start))
  }

  return {
    wait,
    run: (work) => wait()?.then(work) ?? work(),
    giveWay: () => void (isArriving = began !== null),
  }
}
