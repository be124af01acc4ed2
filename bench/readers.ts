// Readers of the stream of everything, in a process of their own: they count approvals, or read nothing at all.
import { connect } from 'node:net'
import { httpRequest } from './wire.js'

export interface Reading {
  port: number
  readers: number
  /** Each is done when it was told of so many approvals; 0: it never reads. */
  approvals: number
}

const mark = Buffer.from('event: approved\n')
const read = Buffer.allocUnsafe(256 * 1024)
const request = httpRequest('GET', '/events')

/** Calls back when the first bytes came, and when all that is waited for was told. */
function follow({ port, approvals }: Reading, onBegin: () => void, onDone: () => void): void {
  let told = -1
  let rest = Buffer.alloc(0)
  const callback = (length: number): boolean => {
    const piece = read.subarray(0, length)
    const received = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    if (told < 0) {
      told = 0
      onBegin()
    }
    for (let at = received.indexOf(mark); at >= 0; at = received.indexOf(mark, at + mark.length)) {
      if (++told === approvals) onDone()
    }
    // What may be the beginning of a mark.
    rest = Buffer.from(received.subarray(Math.max(0, received.length - mark.length + 1)))
    return approvals > 0
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: read, callback } })
  socket.on('error', () => {})
  socket.once('connect', () => socket.write(request))
}

process.once('message', (reading: Reading) => {
  let begun = 0
  let done = 0
  const begin = () => ++begun === reading.readers && process.send!('begun')
  const finish = () => ++done === reading.readers && process.send!('done')
  for (let n = 0; n < reading.readers; n++) follow(reading, begin, finish)
})
