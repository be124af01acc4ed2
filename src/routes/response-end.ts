// When an answer is over: sent to its end, or never to be sent because its connection is gone.
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

const bySocket = new WeakMap<Socket, Set<() => void>>()

/**
 * Runs once. The socket is asked too: of requests that were sent one behind the other, only the first has an answer that
 * hears of the connection's end.
 */
export function whenEnded({ request, raw }: FastifyReply, run: () => void): void {
  const { socket } = request.raw
  if (socket.destroyed || raw.destroyed) {
    run()
    return
  }
  let open = bySocket.get(socket)
  if (open === undefined) {
    const answers = (open = new Set<() => void>())
    bySocket.set(socket, answers)
    socket.once('close', () => answers.forEach((end) => end()))
  }
  const answers = open
  const end = () => {
    if (answers.delete(end)) run()
  }
  answers.add(end)
  raw.once('close', end)
}
