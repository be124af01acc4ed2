// Renders the pages of confirmations. Text that agents wrote is looked at character by character, and a megabyte of the worst
// takes the better part of a second: so large pages are rendered on a thread of their own, one after the other.
import { Worker } from 'node:worker_threads'
import { confirmationPage, type ConfirmationPage } from '../../web/confirmation.js'
import { Problem } from '../errors.js'

/** Characters that take no more than a few milliseconds, whatever they are. */
const fewCharacters = 8000
/** How many large pages may be asked for at once; each may take a second, and is a megabyte. */
const maxQueued = 32

export interface Rendered {
  number: number
  text: string
}

export function createRenderer() {
  const queued = new Map<number, { done(text: string): void; fail(error: Error): void }>()
  let thread: Worker | null = null
  let count = 0

  /** Started by the first large page; a service that meets none has no such thread. */
  function start(): Worker {
    const started = new Worker(new URL('./renderer-thread.js', import.meta.url), { execArgv: [] })
    started.on('message', ({ number, text }: Rendered) => {
      queued.get(number)?.done(text)
      queued.delete(number)
      // An idle thread does not keep the process.
      if (queued.size === 0) started.unref()
    })
    started.on('error', (error) => {
      thread = null
      for (const { fail } of queued.values()) fail(error)
      queued.clear()
    })
    return started
  }

  return async (page: ConfirmationPage): Promise<string> => {
    if (sizeOf(page) <= fewCharacters) return confirmationPage(page)
    if (queued.size >= maxQueued) {
      const sentence = `${maxQueued} large pages are being made, which is the most there may be; load this one again in a moment.`
      throw new Problem('flood_limited', sentence, { retry_after_seconds: 2 })
    }
    thread ??= start()
    const number = (count += 1)
    const rendered = new Promise<string>((done, fail) => queued.set(number, { done, fail }))
    thread.ref()
    thread.postMessage({ number, page })
    return rendered
  }
}

/** Of all that may be long. */
function sizeOf({
  confirmation: { description, details, resolution, votes, execution },
  draft,
}: ConfirmationPage): number {
  const reasons = [
    resolution?.reason,
    execution !== null && 'message' in execution ? execution.message : null,
    draft?.reason,
    ...votes.map(({ reason }) => reason),
  ]
  return description.length + details.length + reasons.reduce((sum, text) => sum + (text?.length ?? 0), 0)
}
