// What a hostile agent does with one key, each attack for as long as it is let: a process of its own, forked by masses.ts.
import { connect, type Socket } from 'node:net'
import { httpRequest } from './wire.js'

interface Target {
  port: number
  key: string
}

/** As many sockets as most machines let one process have, with some to spare. */
const manySockets = 900
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
  /** The names that the other agent uses. */
  window: (target: Target) =>
    repeat(target, 32, () => post(target, '/confirm', submission(`calm_task_${drawn++ % 2000}`))),
  /** Refused again and again: what is written of it? */
  refusals: (target: Target) => repeat(target, 64, () => post(target, '/confirm/none/approve', '{}')),
  waits: (target: Target) => hold(target, (id) => httpRequest('GET', `/confirm/${id}?wait=300`, undefined, target.key)),
  streams: (target: Target) => hold(target, (id) => httpRequest('GET', `/confirm/${id}/events`, undefined, target.key)),
  /** All but the last byte of a large body. */
  bodies: (target: Target) =>
    reopen(target, () => post(target, '/confirm', submission(nameOf('unfinished'), megabyte - 2000)).subarray(0, -1)),
  connections: (target: Target) => reopen(target, () => Buffer.alloc(0)),
  /** Large answers that nobody reads. */
  answers: async (target: Target) => {
    const id = await submitOne(target, 700_000)
    reopen(target, () => httpRequest('GET', `/confirm/${id}`, undefined, target.key), false)
  },
  /** Messages to the chat, and callbacks to hosts that never answer. */
  messages: (target: Target) =>
    repeat(target, 32, () => {
      const callback = `http://203.0.113.${drawn % 250}:81/`
      return post(target, '/confirm', submission(nameOf('loud'), 0, { callback_url: callback }))
    }),
}
export type Attack = keyof typeof attacks

function post({ key }: Target, path: string, body: string): Buffer {
  return httpRequest('POST', path, body, key)
}

/** Connections that send their next request when the last is answered, and come back when they are cut off. */
function repeat({ port }: Target, connections: number, next: () => Buffer): void {
  const open = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('connect', () => socket.write(next()))
    // Good enough to go on by: an answer is small, and comes in one piece.
    socket.on('data', () => socket.write(next()))
    comeBack(socket, open)
  }
  for (let i = 0; i < connections; i++) open()
}

/** As many as are let be held at a time, sixteen on each connection. */
async function hold(target: Target, request: (id: string) => Buffer): Promise<void> {
  const id = await submitOne(target)
  reopen(target, () => Buffer.concat(Array.from({ length: 16 }, () => request(id))))
}

/** Connections that send this and then nothing, and come back when they are cut off. */
function reopen({ port }: Target, first: () => Buffer, reads = true): void {
  const open = () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('connect', () => socket.write(first()))
    if (reads) socket.resume()
    else socket.pause()
    comeBack(socket, open)
  }
  for (let i = 0; i < manySockets; i++) open()
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
