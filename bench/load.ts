// A load of keep-alive connections in a process of its own, each sending its next request when the last is answered, or
// together at a given pace.
import type { Socket } from 'node:net'
import { idOf } from './ids.js'
import { quantile } from './numbers.js'
import { type Answer, httpRequest, open } from './wire.js'

export interface Load {
  port: number
  connections: number
  /** It ends then, or when it is told to, or when there is nothing left to do. */
  seconds: number
  /** All connections together; left out: as fast as they can. */
  perSecond?: number
  /** So many requests and no more. */
  most?: number
  work: Submit | Decide
}

interface Submit {
  kind: 'submit'
  /** One of them at random, each time. */
  bodies: string[]
  /** Each has a number below this in the place of # in the body. */
  below?: number
  /** The body of place n is sent with the key of place n, beginning anew where there are fewer. */
  keys?: string[]
}

/** Approves what `fill.ts` made, from this number on and below that. */
interface Decide {
  kind: 'decide'
  from: number
  below: number
}

export interface LoadResult {
  /** Answered as they should be. */
  accepted: number
  refused: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** The share of the time for which this process had a processor: near 1 it was what is measured. */
  busy: number
}

/** With what each request took of the server's processors, in µs. */
export type Measured = LoadResult & { usEach: number }

export async function runLoad(load: Load, stop?: Promise<unknown>): Promise<LoadResult> {
  const { port, connections, seconds, perSecond = Infinity, most = Infinity, work } = load
  const next = work.kind === 'submit' ? submissions(work) : decisions(work)
  const expected = work.kind === 'submit' ? 202 : 200
  const latencies: number[] = []
  const idle: Client[] = []
  let sent = 0
  let refused = 0
  let isOver = false
  void stop?.then(() => (isOver = true))

  const started = performance.now()
  const used = process.cpuUsage()
  const isDue = () => perSecond === Infinity || sent < ((performance.now() - started) / 1000) * perSecond

  class Client {
    socket!: Socket
    sentAt = 0

    async run(): Promise<void> {
      this.socket = await open(port, (answer) => this.answered(answer))
      await new Promise((resolve, reject) => {
        this.socket.once('error', reject)
        this.socket.once('close', resolve)
        this.go()
      })
    }

    answered({ status, at }: Answer): void {
      if (status === expected) latencies.push(at - this.sentAt)
      else refused += 1
      this.go()
    }

    go(): void {
      const now = performance.now()
      if (isOver || now > started + seconds * 1000) return void this.socket.destroy()
      if (!isDue()) return void idle.push(this)
      const request = sent < most ? next() : null
      if (request === null) return void this.socket.destroy()
      sent += 1
      this.sentAt = now
      this.socket.write(request)
    }
  }

  const pace = setInterval(() => idle.splice(0).forEach((client) => client.go()), 2)
  await Promise.all(Array.from({ length: connections }, () => new Client().run()))
  clearInterval(pace)
  const elapsed = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(used)
  return {
    accepted: latencies.length,
    refused,
    perSecond: latencies.length / elapsed,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    busy: (user + system) / 1e6 / elapsed,
  }
}

function submissions({ bodies, below, keys }: Submit): () => Buffer {
  const keyOf = (n: number) => keys?.[n % keys.length]
  if (below !== undefined) {
    return () => httpRequest('POST', '/confirm', bodies[0]!.replace('#', String(Math.floor(Math.random() * below))))
  }
  // Made ahead, so that sending costs next to nothing.
  const requests = bodies.map((body, n) => httpRequest('POST', '/confirm', body, keyOf(n)))
  return () => requests[Math.floor(Math.random() * requests.length)]!
}

function decisions({ from, below }: Decide): () => Buffer | null {
  let n = from
  return () => (n < below ? httpRequest('POST', `/confirm/${idOf(n++)}/approve`, '{}') : null)
}

if (process.send !== undefined) {
  process.once('message', (load: Load) => {
    const stop = new Promise((resolve) => process.once('message', resolve))
    void runLoad(load, stop).then((result) => {
      process.send!(result)
      process.disconnect()
    })
  })
}
