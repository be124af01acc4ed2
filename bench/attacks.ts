// What a hostile agent does with one key, each attack for as long as it is let: a process of its own, forked by masses.ts.
import { connect, type Socket } from 'node:net'
import { httpRequest } from './wire.js'

export interface Target {
  port: number
  key: string
  /** Where somebody listens who never answers. */
  deafPorts: number[]
}

/** As many sockets as most machines let one process have, with some to spare. */
const manySockets = 900
/** For what keeps a processor busy by its mere bytes, as much as any flood would. */
const fewSockets = 16
const megabyte = 1024 * 1024

let drawn = 0
const nameOf = (prefix: string) => `${prefix}_${(drawn += 1)}`

function submission(action: string, size = 0, more: object = {}): string {
  const details = size === 0 ? { n: drawn } : { n: drawn, text: 'x'.repeat(size) }
  return JSON.stringify({ action, description: 'Do what was asked for', details, timeout_seconds: 30, ...more })
}

export const attacks = {
  /** Every request another name: what is kept for each? */
  names: (target: Target) => repeat(target, 64, () => post(target, '/confirm', submission(nameOf('name')))),
  /** As many bytes as go in. */
  disk: (target: Target) =>
    repeat(target, 16, () => post(target, '/confirm', submission(nameOf('large'), megabyte - 2000))),
  /** Ten submissions of each name that the other agent is about to use. */
  windows: (target: Target) => submitAndCancel(target, () => submission(`calm_task_${Math.floor(drawn++ / 10)}`)),
  /** Refused again and again: what is written of it? */
  refusals: (target: Target) => repeat(target, 64, () => post(target, '/confirm/none/approve', '{}')),
  waits: (target: Target) => hold(target, (id) => httpRequest('GET', `/confirm/${id}?wait=300`, undefined, target.key)),
  streams: (target: Target) => hold(target, (id) => httpRequest('GET', `/confirm/${id}/events`, undefined, target.key)),
  /** All but the last byte of a large body. */
  bodies: (target: Target) =>
    reopen(target, () => post(target, '/confirm', submission(nameOf('unfinished'), megabyte - 2000)).subarray(0, -1)),
  /** The same in chunks of a byte each, of which Node makes an object each. */
  chunks: (target: Target) => {
    const [head] = httpRequest('POST', '/confirm', undefined, target.key).toString().split('\r\n\r\n')
    const more = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const text = Buffer.from(`${head}\r\n${more}${'1\r\nx\r\n'.repeat(2000)}`)
    reopen(
      target,
      () => text,
      () => {},
      fewSockets,
    )
  },
  /** Nothing at all, from somebody without a key. */
  connections: (target: Target) => reopen(target, () => Buffer.alloc(0)),
  /** Headers drop by drop, without a key. */
  headers: (target: Target) =>
    reopen(
      target,
      () => Buffer.from('GET /health HTTP/1.1\r\n'),
      (socket) => {
        const timer = setInterval(() => socket.write('X-Drop: x\r\n'), 500)
        socket.once('close', () => clearInterval(timer))
      },
    ),
  /** Forms that never end, without a key. */
  forms: (target: Target) =>
    reopen(target, () => {
      const type = 'Content-Type: application/x-www-form-urlencoded\r\n'
      return Buffer.from(`POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\n${type}Content-Length: 100000\r\n\r\nkey=`)
    }),
  /** Large answers that nobody reads. */
  answers: async (target: Target) => {
    const id = await submitOne(target, 700_000)
    reopen(
      target,
      () => httpRequest('GET', `/confirm/${id}`, undefined, target.key),
      (socket) => socket.pause(),
    )
  },
  /** Messages to the chat. */
  messages: (target: Target) => repeat(target, 32, () => post(target, '/confirm', submission(nameOf('loud')))),
  /** Callbacks to hosts that never answer. */
  callbacks: (target: Target) =>
    submitAndCancel(target, () => {
      const callback = `http://127.0.0.1:${target.deafPorts[drawn % target.deafPorts.length]}/`
      return submission(nameOf('deaf'), 0, { callback_url: callback })
    }),
}
export type Attack = keyof typeof attacks

function post({ key }: Target, path: string, body: string): Buffer {
  return httpRequest('POST', path, body, key)
}

/** Connections that send their next request when the last is answered, and come back when they are cut off. */
function repeat({ port }: Target, connections: number, next: (answer: string) => Buffer): void {
  const open = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('connect', () => socket.write(next('')))
    // Good enough to go on by: an answer is small, and comes in one piece.
    socket.on('data', (chunk) => socket.write(next(chunk.toString('latin1'))))
    comeBack(socket, open)
  }
  for (let i = 0; i < connections; i++) open()
}

/** As many as are let be held at a time, sixteen on each connection. */
async function hold(target: Target, request: (id: string) => Buffer): Promise<void> {
  const id = await submitOne(target)
  reopen(target, () => Buffer.concat(Array.from({ length: 16 }, () => request(id))))
}

/** Withdraws each, so that more are let in. */
function submitAndCancel(target: Target, next: () => string): void {
  repeat(target, 32, (answer) => {
    const id = answer.includes('"pending"') ? /"id":"([^"]+)"/.exec(answer)?.[1] : undefined
    return id === undefined ? post(target, '/confirm', next()) : post(target, `/confirm/${id}/cancel`, '{}')
  })
}

/** Connections that send this and then nothing, and come back when they are cut off. */
function reopen(
  { port }: Target,
  first: () => Buffer,
  then: (socket: Socket) => void = () => {},
  sockets = manySockets,
): void {
  const open = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('connect', () => socket.write(first()))
    socket.resume()
    then(socket)
    comeBack(socket, open)
  }
  for (let i = 0; i < sockets; i++) open()
}

function comeBack(socket: Socket, open: () => void): void {
  socket.on('error', () => {})
  socket.once('close', () => setTimeout(open, 100))
}

function submitOne(target: Target, size = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: target.port, host: '127.0.0.1' })
    let received = ''
    socket.on('connect', () => socket.write(post(target, '/confirm', submission(nameOf('held'), size))))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const id = /"id":"([^"]+)"/.exec(received)?.[1]
      if (id === undefined) return
      socket.destroy()
      resolve(id)
    })
    socket.once('error', reject)
  })
}

if (process.send !== undefined) {
  process.once('message', ({ attack, ...target }: Target & { attack: Attack }) => void attacks[attack](target))
}
