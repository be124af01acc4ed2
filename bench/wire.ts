// Bare sockets and a minimal parser of answers: the generator must not be what is measured.
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  body: string
  /** When its last byte came, by performance.now(). */
  at: number
}

/** Connects and calls `onAnswer` for each complete answer. Every answer must have a Content-Length. */
export function open(port: number, onAnswer: (answer: Answer) => void): Promise<Socket> {
  let received = ''
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk
    const headEnd = received.indexOf('\r\n\r\n')
    const length = /content-length: (\d+)/i.exec(received)
    if (headEnd < 0 || length === null || received.length < headEnd + 4 + Number(length[1])) return
    const answer = { status: Number(received.slice(9, 12)), body: received.slice(headEnd + 4), at: performance.now() }
    received = ''
    onAnswer(answer)
  })
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.once('connect', () => resolve(socket))
  })
}

export function httpRequest(method: string, path: string, body?: string, key?: string): Buffer {
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}`
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
