// Time as a dependency: a clock that never runs back, an alarm that is one timer for many deadlines, and the machine's zone.

export interface Clock {
  /** Epoch milliseconds, never less than it was before. */
  now(): number
  /** Calls back once, at or after `at`. Returns a way to call it off. */
  wake(at: number, run: () => void): () => void
  /** Calls back once, this much later, whatever becomes of the time of day. Returns a way to call it off. */
  after(ms: number, run: () => void): () => void
}

/** No sleep is longer than this, so that a jump of the system clock is noticed. */
const maxSleepMs = 1000

/**
 * Follows the system clock forwards, so a suspended machine finds its deadlines passed. When that clock is set back
 * it goes on at the pace of the monotonic one, so nothing that was due becomes undue.
 */
export function systemClock(wall: () => number = Date.now, monotonic: () => number = () => performance.now()): Clock {
  let offset = wall() - monotonic()
  const now = () => {
    const elapsed = monotonic()
    offset = Math.max(offset, wall() - elapsed)
    return Math.floor(elapsed + offset)
  }
  return {
    now,
    wake(at, run) {
      let timer: NodeJS.Timeout
      const sleep = () => {
        timer = setTimeout(
          () => (now() >= at ? run() : sleep()),
          Math.min(maxSleepMs, Math.max(0, Math.ceil(at - now()))),
        )
      }
      sleep()
      return () => clearTimeout(timer)
    },
    after(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  }
}

/** The machine's, if it has one with a name that can be used; else UTC. */
export function systemTimeZone(find = () => Intl.DateTimeFormat().resolvedOptions().timeZone): string {
  // With an odd TZ it is undefined, or Etc/Unknown, which nothing can be formatted in.
  const timeZone = find() as string | undefined
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: timeZone ?? '' })
    return timeZone ?? 'UTC'
  } catch {
    return 'UTC'
  }
}

export interface Alarm {
  /** Makes sure that it rings at `at` or earlier. */
  by(at: number): void
  /** Rings no more; resolves when a running call has ended. */
  stop(): Promise<void>
}

/** Calls `ring` at the earliest time asked for, never twice at once. What `ring` answers is when it wants the next call. */
export function createAlarm(clock: Clock, ring: () => Promise<number | undefined>): Alarm {
  let due = Infinity
  let running: Promise<void> | null = null
  let stopped = false
  let callOff = () => {}

  function arm(): void {
    callOff()
    callOff = due === Infinity || stopped || running !== null ? () => {} : clock.wake(due, start)
  }

  function start(): void {
    due = Infinity
    running = ring().then((next) => {
      running = null
      due = Math.min(due, next ?? Infinity)
      arm()
    })
  }

  return {
    by(at) {
      if (at >= due) return
      due = at
      arm()
    },
    async stop() {
      stopped = true
      arm()
      await running
    },
  }
}
