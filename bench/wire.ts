// Bare sockets and a minimal parser of answers: the generator must not be what is measured.
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  body: string
  /** When its last byte came, by performance.now(). */
  at: number
}

/** What was read is looked at before the next is: one place is enough for all sockets. */
const read = Buffer.allocUnsafe(64 * 1024)
const headEnd = '\r\n\r\n'

/** Connects and calls `onAnswer` for each complete answer. Every answer must have a Content-Length. */
export function open(port: number, onAnswer: (answer: Answer) => void): Promise<Socket> {
  let earlier = Buffer.alloc(0)
  const onread = {
    buffer: read,
    callback(length: number): boolean {
      const piece = read.subarray(0, length)
      const received = earlier.length === 0 ? piece : Buffer.concat([earlier, piece])
      const answer = parse(received)
      earlier = answer === null ? Buffer.from(received) : Buffer.alloc(0)
      if (answer !== null) onAnswer(answer)
      return true
    },
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.once('connect', () => resolve(socket))
  })
}

/** Null: it is not complete. */
function parse(received: Buffer): Answer | null {
  const end = received.indexOf(headEnd)
  if (end < 0) return null
  const head = received.toString('latin1', 0, end + 2)
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN)
  const bodyFrom = end + headEnd.length
  if (!(received.length >= bodyFrom + length)) return null
  const body = received.toString('latin1', bodyFrom, bodyFrom + length)
  return { status: Number(head.slice(9, 12)), body, at: performance.now() }
}

export function httpRequest(method: string, path: string, body?: string, key?: string, more = ''): Buffer {
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}${more}`
  if (body === undefined) return Buffer.from(`${head}\r\n`)
  return Buffer.from(
    `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** One connection that sends its next request when the last is answered. */
export async function createCaller(port: number) {
  let settle = { resolve: (_answer: Answer) => {}, reject: (_error: Error) => {} }
  const socket = await open(port, (answer) => settle.resolve(answer))
  socket.once('close', () => settle.reject(new Error(`the server on port ${port} closed the connection`)))
  return {
    call: (request: Buffer) =>
      new Promise<Answer>((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
