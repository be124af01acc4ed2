// Waiting between two tries.
import { Aborted, Refused, Unreachable } from './errors.js'

/** Ends with `Aborted` as soon as the signal does. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(new Aborted(signal.reason))
    const onAbort = () => {
      clearTimeout(timer)
      reject(new Aborted(signal?.reason))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Another try may go better: no answer, or one that says so. */
export function mayPass(error: unknown): error is Unreachable | Refused {
  if (error instanceof Unreachable) return error.mayPass
  return error instanceof Refused && (error.status === 503 || error.status === 429)
}

/** Before which try: longer each time up to `maxMs`, spread so that many do not come back at once. */
export function pauseBefore(attempt: number, maxMs = 10_000): number {
  const longest = Math.min(maxMs, 100 * 2 ** Math.min(attempt, 10))
  return longest * (0.5 + Math.random() / 2)
}
