// Who waits for what, woken by the commit that changes it: nobody polls, and nothing between looking and sleeping is missed.
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'

/** Rings when something happened. Listen first, then look, then sleep. */
export interface Bell {
  /** Forgets earlier rings: a look after this sees what they were about. */
  hush(): void
  /** Sleeps until it rings or the time is over, not at all if it rang since the last hush. Did it ring? */
  sleep(ms: number): Promise<boolean>
  /** Nobody listens any more, or the service stops: no reason to sleep again. */
  isOver(): boolean
  /** Gives up the place. */
  end(): void
}

/** In place of the id of a confirmation: whichever changes. */
export const anyConfirmation = 'any confirmation'

export interface Watch {
  /** A bell for one confirmation or any, or for everything that happens. */
  listen(id: string | null): Bell
  /** How many listen, to confirmations and to everything. */
  count(): { one: number; all: number }
  /** Wakes everybody for the last time. */
  stop(): void
}

export function createWatch(store: Store, clock: Clock): Watch {
  const byId = new Map<string, Set<RealBell>>()
  const toAll = new Set<RealBell>()
  let one = 0
  let stopped = false

  class RealBell implements Bell {
    readonly #id: string | null
    #rang = false
    #ended = false
    #wake: (() => void) | null = null

    constructor(id: string | null) {
      this.#id = id
    }

    ring(): void {
      this.#rang = true
      this.#wake?.()
    }

    hush(): void {
      this.#rang = false
    }

    async sleep(ms: number): Promise<boolean> {
      if (this.#rang || this.isOver() || ms <= 0) return this.#rang
      await new Promise<void>((resolve) => {
        const callOff = clock.after(ms, () => this.#wake?.())
        this.#wake = () => {
          this.#wake = null
          callOff()
          resolve()
        }
      })
      return this.#rang
    }

    isOver(): boolean {
      return this.#ended || stopped
    }

    end(): void {
      if (this.#ended) return
      this.#ended = true
      remove(this.#id, this)
      this.#wake?.()
    }
  }

  function remove(id: string | null, bell: RealBell): void {
    if (id === null) {
      toAll.delete(bell)
      return
    }
    one -= 1
    const bells = byId.get(id)!
    bells.delete(bell)
    if (bells.size === 0) byId.delete(id)
  }

  store.follow(({ about, changed }) => {
    const ring = (id: string) => byId.get(id)?.forEach((bell) => bell.ring())
    if (byId.size > 0) about.forEach(ring)
    if (changed.some(({ kind }) => kind === 'confirmation')) ring(anyConfirmation)
    toAll.forEach((bell) => bell.ring())
  })

  return {
    listen(id) {
      const bell = new RealBell(id)
      if (id === null) toAll.add(bell)
      else {
        one += 1
        const bells = byId.get(id)
        if (bells === undefined) byId.set(id, new Set([bell]))
        else bells.add(bell)
      }
      return bell
    },

    count: () => ({ one, all: toAll.size }),

    stop() {
      stopped = true
      for (const bells of byId.values()) bells.forEach((bell) => bell.ring())
      toAll.forEach((bell) => bell.ring())
    },
  }
}
