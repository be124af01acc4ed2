// The response backlog: large answers that clients have not read yet. It is bounded, so that clients which ask for much and
// read nothing cannot fill the memory.
import type { FastifyReply } from 'fastify'
import type { Caller } from '../access/role.js'
import { createShares, type Shares } from '../policy/share.js'
import type { Api } from './api.js'
import { Problem } from './errors.js'
import { whenEnded } from './response-end.js'

/** An answer this large is worth counting, and all in one room may hold this much memory while they are under way. */
const backlogLimits = { counted: 64 * 1024, total: 128 * 1024 * 1024 }
/** A client that has not taken a large answer by then is cut off. */
const readPatienceMs = 60_000

/** Agents have a room of their own, so that they cannot fill that of people. */
export interface Backlog {
  /** Room for this much, to be given back; null if there is none. */
  take(reply: FastifyReply, size: number): (() => void) | null
  /** Waits for room for an answer of this size, in the order of arrival. It is given back when the answer is over. */
  reserve(reply: FastifyReply, size: number): Promise<void>
  hasRoom(reply: FastifyReply): boolean
  /** A place for each request that is held. */
  waits: Shares
  /** How many wait for room, in whichever. */
  queued(): number
}

/** Requests that may be held, for all and for one key's owner: a quarter. */
const waitLimits = { total: 20_000, each: 5000 }

export function createBacklog({ total, counted } = backlogLimits, waits = waitLimits): Backlog {
  const reserved = new WeakSet<FastifyReply>()
  const agents = createRoom(total)
  const others = createRoom(total)

  /** While the service is open, nobody is known to be an agent. */
  function roomOf({ request }: FastifyReply): Room {
    const { caller } = request as { caller?: Caller }
    return caller?.role === 'agent' ? agents : others
  }

  return {
    take: (reply, size) => roomOf(reply).take(size),

    async reserve(reply, size) {
      if (size < counted) return
      const release = await roomOf(reply).wait(size)
      reserved.add(reply)
      whenEnded(reply, release)
    },

    hasRoom: (reply) => reserved.has(reply),
    waits: createShares(waits),
    queued: () => agents.queued() + others.queued(),
  }
}

type Room = ReturnType<typeof createRoom>

function createRoom(total: number) {
  const queue: { size: number; go: () => void }[] = []
  let taken = 0

  function release(size: number): void {
    taken -= size
    while (queue.length > 0 && taken + queue[0]!.size <= total) {
      const { size: next, go } = queue.shift()!
      taken += next
      go()
    }
  }

  return {
    take(size: number): (() => void) | null {
      if (taken + size > total) return null
      taken += size
      return () => release(size)
    },

    /** In the order of arrival. */
    async wait(size: number): Promise<() => void> {
      // What is larger than all there is would wait for ever.
      const needed = Math.min(size, total)
      if (queue.length === 0 && taken + needed <= total) taken += needed
      else await new Promise<void>((go) => queue.push({ size: needed, go }))
      return () => release(needed)
    },

    queued: () => queue.length,
  }
}

/** Clients that ask for large answers and do not read them cannot fill the memory. */
export function limitBacklog(app: Api, backlog: Backlog, { counted } = backlogLimits): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const size = typeof payload === 'string' ? payload.length : 0
    if (size < counted) return done(null, payload)
    const release = backlog.hasRoom(reply) ? () => {} : backlog.take(reply, size)
    if (release === null) {
      const sentence = 'Too many large answers are waiting to be read; try again, or ask for less at once.'
      return done(new Problem('flood_limited', sentence, { retry_after_seconds: 1 }))
    }
    const timer = setTimeout(() => reply.request.raw.socket.destroy(), readPatienceMs)
    whenEnded(reply, () => {
      release()
      clearTimeout(timer)
    })
    done(null, payload)
  })
}
