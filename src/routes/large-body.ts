// Large bodies are read on a thread of their own, one after the other, and few are worked on at a time: what becomes of each,
// until it is on disk, takes several times its size. The others wait as they came, and requesters take turns.
import { Worker } from 'node:worker_threads'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { nameOf } from '../access/role.js'
import { createShare, type Limits } from '../policy/share.js'
import type { Turnstile } from '../service/turnstile.js'
import type { Api } from './api.js'
import { Problem } from './errors.js'
import { type Made, problemFrom, type Read, type Reads, type Unread } from './reading.js'
import type { Shares } from './shares.js'

const mebibyte = 1024 * 1024
/** Enough to keep the thread, this one and the disk busy. */
const workedOn: Limits = { total: 8 * mebibyte, each: 4 * mebibyte }
/** Whoever waits here had to be let in before, see body.ts. */
const unbounded: Limits = { total: Infinity, each: Infinity }
/** Several times what the worst body needs. With less to spare, what is no longer needed goes sooner. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 12 }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route makes of its body, where that takes long. */
    reads?: Reads
  }
  interface FastifyRequest {
    /** What the thread has made of a large one; null: what the route has to make of it itself. */
    made: unknown
    /** Others may be worked on. */
    endWork: (() => void) | null
  }
}

export interface Order {
  number: number
  unread: Unread
}

export interface Answer {
  number: number
  read: Read
}

/** In place of the body, until it is time to say what is wrong with it. */
export class LargeBody {
  private readonly read: Exclude<Read, { notJson: unknown }>

  constructor(read: Exclude<Read, { notJson: unknown }>) {
    this.read = read
  }

  /** As a validator answers. */
  against(schema: z.ZodType): { value: unknown } | { error: Error } {
    if ('invalid' in this.read) return { error: problemFrom(this.read.invalid) }
    if ('made' in this.read) return { value: {} }
    const { data, error } = schema.safeParse(this.read.value)
    return error === undefined ? { value: data } : { error }
  }
}

export type ReadLarge = (
  request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, value?: unknown) => void,
) => void

export function readLargeBodies(app: Api, shares: Shares, turnstile: Turnstile): ReadLarge {
  const room = createShare(workedOn, unbounded)
  const thread = createThread()
  app.decorateRequest('made', null)
  app.decorateRequest('endWork', null)
  app.addHook('onSend', ({ endWork }, _reply, payload, done) => {
    endWork?.()
    done(null, payload)
  })
  app.addHook('onClose', () => thread.close())

  async function readInTurn(request: FastifyRequest, body: Buffer): Promise<LargeBody> {
    await roomFor(request, body.length)
    request.giveBodyRoom?.()
    const { caller, headers, routeOptions } = request
    const key = headers['idempotency-key'] as string | undefined
    const read = await thread.read({ body, reads: routeOptions.config.reads ?? null, caller, key })
    await turnstile.wait(nameOf(caller))
    if ('notJson' in read) throw problemFrom(read.notJson)
    if ('made' in read) request.made = read.made
    return new LargeBody(read)
  }

  /** Whoever is gone by then has asked for nothing. */
  function roomFor(request: FastifyRequest, size: number): Promise<void> {
    return new Promise((go, fail) => {
      let isIn = false
      const leave = room.queue(shares.requesterOf(request), size, () => {
        isIn = true
        go()
      }) as () => void
      request.endWork = leave
      request.whenGone?.(() => {
        if (isIn) return
        leave()
        fail(new Problem('invalid_request', 'The connection ended before the body was read.'))
      })
    })
  }

  return (request, body, done) => void readInTurn(request, body).then((read) => done(null, read), done)
}

/** What the thread has made of the body, if it was large and the route says what it reads. */
export function madeOf<R extends Reads>({ made }: Pick<FastifyRequest, 'made'>, _reads: R): Made<R> | null {
  return made as Made<R> | null
}

/** Of a request that is held: it holds on to nothing large, and others may be worked on. */
export function letGo(request: FastifyRequest): void {
  request.body = {}
  request.made = null
  request.endWork?.()
}

interface Asking {
  done(read: Read): void
  fail(error: Error): void
}

function createThread() {
  const asking = new Map<number, Asking>()
  let running: Worker | null = null
  let count = 0

  /** With the first large body; a service that meets none has no such thread. */
  function start(): Worker {
    const thread = new Worker(new URL('./reading-thread.js', import.meta.url), { execArgv: [], resourceLimits })
    thread.on('message', ({ number, read }: Answer) => {
      asking.get(number)?.done(read)
      asking.delete(number)
      // An idle thread does not keep the process.
      if (asking.size === 0) thread.unref()
    })
    let reason = new Error('the thread that reads large bodies has ended')
    thread.on('error', (error: Error) => (reason = error))
    thread.on('exit', () => {
      if (running === thread) running = null
      for (const { fail } of asking.values()) fail(reason)
      asking.clear()
    })
    return thread
  }

  return {
    read(unread: Unread): Promise<Read> {
      const thread = (running ??= start())
      const number = (count += 1)
      return new Promise((done, fail) => {
        thread.postMessage({ number, unread } satisfies Order, [unread.body.buffer as ArrayBuffer])
        asking.set(number, { done, fail })
        thread.ref()
      })
    },

    async close(): Promise<void> {
      await running?.terminate()
    },
  }
}
