// Work that many want done at once, a little of it in each turn of the event loop, so that everybody else gets their turn.

/** A turn that has lasted this long ends: nobody notices four milliseconds. */
const turnMs = 4

export interface Turnstile {
  /**
   * Null if this turn has time left and nobody waits; else resolves when it is one's turn. Requesters take turns, and each has
   * its own in the order of arrival. Null is nobody in particular, and everybody in open mode.
   */
  wait(who: string | null): Promise<void> | null
  /** Does the work in turn, and answers with what came of it. */
  run<T>(work: () => Promise<T>, who?: string | null): Promise<T>
  /**
   * Somebody has connected. Node accepts one connection in each turn of the event loop, so while there are more, work gives way
   * to them, for as long as the last of its turns took.
   */
  giveWay(): void
}

/** For work that takes as many turns as there are: whoever waits for this thread goes first. */
export function nextTurn(): Promise<void> {
  return new Promise((goOn) => void setImmediate(goOn))
}

export function createTurnstile(now: () => number = () => performance.now()): Turnstile {
  // Maps and sets keep the order, and give up their first without moving the rest.
  const waiting = new Map<string | null, Set<() => void>>()
  let began: number | null = null
  let gaveWay: { at: number; ms: number } | null = null
  let isArriving = false

  /** The first of a turn begins it; it ends when the event loop has been around. */
  function isOpen(): boolean {
    if (began === null) {
      began = now()
      setImmediate(turn)
    }
    return now() - began < turnMs
  }

  function turn(): void {
    if (isArriving) {
      isArriving = false
      gaveWay ??= { at: now(), ms: Math.max(turnMs, now() - began!) }
      began = -Infinity
      if (now() - gaveWay.at < gaveWay.ms) return void setImmediate(turn)
    }
    gaveWay = null
    began = null
    letIn()
  }

  function letIn(): void {
    const [next] = waiting
    if (next === undefined || !isOpen()) return
    const [who, queue] = next
    const [start] = queue
    queue.delete(start!)
    waiting.delete(who)
    if (queue.size > 0) waiting.set(who, queue)
    start!()
    // What it does goes on in microtasks; how long it took is known when they are through.
    queueMicrotask(() => process.nextTick(letIn))
  }

  function wait(who: string | null): Promise<void> | null {
    if (waiting.size === 0 && isOpen()) return null
    return new Promise((start) => {
      const queue = waiting.get(who)
      if (queue === undefined) waiting.set(who, new Set([start]))
      else queue.add(start)
    })
  }

  return {
    wait,
    run: (work, who = null) => wait(who)?.then(work) ?? work(),
    giveWay: () => void (isArriving = began !== null),
  }
}
