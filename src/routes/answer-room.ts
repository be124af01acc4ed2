// Room for large answers that clients have not read yet. It is bounded, so that clients which ask for much and read nothing
// cannot fill the memory.
import type { FastifyReply } from 'fastify'
import type { Api } from './api.js'
import type { Problem } from './errors.js'
import { whenEnded } from './response-end.js'
import type { Shares } from './shares.js'

/** An answer this large is worth counting. */
const largeAnswer = 64 * 1024
/** A client that has not taken a large answer by then is cut off. */
const readPatienceMs = 60_000

const withRoom = new WeakSet<FastifyReply>()

/** Waits for room for an answer of this size. It is given back when the answer is over. */
export async function reserveRoom(shares: Shares, reply: FastifyReply, size: number): Promise<void> {
  if (size < largeAnswer) return
  await new Promise<void>((go, fail) => {
    const room = shares.answers.queue(reply.request, size, go)
    if (typeof room === 'string') return fail(tooMuchUnread(shares))
    withRoom.add(reply)
    whenEnded(reply, room)
  })
}

/** What has no room reserved takes it now, or is refused. */
export function limitAnswers(app: Api, shares: Shares): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const size = typeof payload === 'string' ? payload.length : 0
    if (size < largeAnswer) return done(null, payload)
    const room = withRoom.has(reply) ? () => {} : shares.answers.take(request, size)
    if (typeof room === 'string') return done(tooMuchUnread(shares))
    const timer = setTimeout(() => request.raw.socket.destroy(), readPatienceMs)
    whenEnded(reply, () => {
      room()
      clearTimeout(timer)
    })
    done(null, payload)
  })
}

function tooMuchUnread(shares: Shares): Problem {
  const sentence = 'Too many large answers are waiting to be read; try again, or ask for less at once.'
  return shares.refuse('answers', sentence, 1)
}
