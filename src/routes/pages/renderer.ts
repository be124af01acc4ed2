// Renders the pages of confirmations. Text that agents wrote is looked at character by character, and a megabyte of the worst
// takes the better part of a second: so large pages are rendered on a thread of their own, one after the other.
import { Worker } from 'node:worker_threads'
import type { FastifyRequest } from 'fastify'
import { confirmationPage, type ConfirmationPage } from '../../web/confirmation-page.js'
import type { Shares } from '../shares.js'

/** Characters that take no more than a few milliseconds, whatever they are. */
const fewCharacters = 8000

export interface Rendered {
  number: number
  text: string
}

export function createRenderer(shares: Shares) {
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

  return async (request: FastifyRequest, page: ConfirmationPage): Promise<string> => {
    if (sizeOf(page) <= fewCharacters) return confirmationPage(page)
    const place = shares.pages.take(request)
    if (typeof place === 'string') {
      const sentence = 'As many large pages are being made as there may be; load this one again in a moment.'
      throw shares.refuse('pages', sentence, 2)
    }
    thread ??= start()
    const number = (count += 1)
    const rendered = new Promise<string>((done, fail) => queued.set(number, { done, fail }))
    thread.ref()
    thread.postMessage({ number, page })
    return rendered.finally(place)
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
