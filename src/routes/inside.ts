// A connection to this app's own routes that never leaves the process: what goes through it is a request as any other, with the
// same limits, and whose it is its key says.
import type { Server } from 'node:http'
import { Duplex, type DuplexOptions } from 'node:stream'

/** One end. What is written at one is read at the other, no faster than that. */
class End extends Duplex {
  other: End | null = null
  /** What waits for the other end to be read. */
  #go: (() => void) | null = null
  readonly remoteAddress: string

  constructor(remoteAddress: string, options: DuplexOptions = {}) {
    super({ allowHalfOpen: true, ...options })
    this.remoteAddress = remoteAddress
  }

  /** As sockets have it: once all is written. */
  destroySoon(): void {
    this.end(() => this.destroy())
  }

  override _read(): void {
    this.other?.release()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.other === null || this.other.destroyed) return done()
    if (this.other.push(chunk)) done()
    else this.#go = done
  }

  override _final(done: () => void): void {
    this.other?.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this
    this.release()
    // As when the other side of a socket is gone.
    if (other !== null) setImmediate(() => other.destroy())
    done(error)
  }

  /** There is room at the other end. */
  release(): void {
    const go = this.#go
    this.#go = null
    go?.()
  }
}

/** The client's end; the server has the other. `address`: where it comes from, in the end. */
export function connectInside(server: Server, address: string): Duplex {
  const [client, other] = [new End(address), new End(address)]
  client.other = other
  other.other = client
  server.emit('connection', other)
  return client
}
