// Waiting: between two tries, for a promise at most so long, for an abort.
import { clearTimeout, setTimeout } from 'node:timers'
import { Aborted, Refused, Unreachable } from './errors.js'

/** Ends with `Aborted` as soon as the signal does. Idle, it keeps no program alive. */
export function pause(ms: number, signal?: AbortSignal, isIdle = false): Promise<void> {
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
    if (isIdle) timer.unref()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** The promise, or `Aborted`. What it comes to afterwards is for others. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Aborted(signal.reason))
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Ends with the promise, whatever it comes to, or when the time is over. */
export async function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const settled = promise.then(
    () => over.abort(),
    () => over.abort(),
  )
  await Promise.race([settled, pause(ms, over.signal).catch(() => {})])
}

/** Another try may go better: no answer, or one that says so. */
export function mayPass(error: unknown): error is Unreachable | Refused {
  if (error instanceof Unreachable) return error.mayPass
  if (!(error instanceof Refused)) return false
  // Whoever was denied so often is to wait, and then to ask for something else.
  return error.status >= 500 || (error.status === 429 && error.code !== 'circuit_open')
}

/** Before which try: longer each time up to `maxMs`, spread so that many do not come back at once. */
export function pauseBefore(attempt: number, maxMs = 10_000): number {
  const longest = Math.min(maxMs, 100 * 2 ** Math.min(attempt, 10))
  return longest * (0.5 + Math.random() / 2)
}

/** What was asked for may have happened, although nobody said so. */
export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof Unreachable) return error.mayHaveArrived
  // Every other 503 says that it did not.
  return error instanceof Refused && error.status >= 500 && (error.status !== 503 || error.code === 'outcome_unknown')
}
