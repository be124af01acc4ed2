// A load of keep-alive connections in a process of its own, each sending its next request when the last is answered.
import { quantile } from './numbers.js'
import { httpRequest, open } from './wire.js'

export interface LoadResult {
  accepted: number
  refused: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

export interface Load {
  port: number
  connections: number
  seconds: number
  body: string
  /** Each request has a number below this in the place of # in the body. */
  below?: number
}

/** Until its time is over, or it is told to stop. */
export async function runLoad(
  { port, connections, seconds, body, below }: Load,
  stop?: Promise<unknown>,
): Promise<LoadResult> {
  const fixed = httpRequest('POST', '/confirm', body)
  const makeRequest = () =>
    below === undefined
      ? fixed
      : httpRequest('POST', '/confirm', body.replace('#', String(Math.floor(Math.random() * below))))
  let end = performance.now() + seconds * 1000
  void stop?.then(() => (end = 0))
  const latencies: number[] = []
  let refused = 0

  async function client(): Promise<void> {
    let sent = 0
    const next = () => {
      sent = performance.now()
      if (sent > end) socket.destroy()
      else socket.write(makeRequest())
    }
    const socket = await open(port, ({ status, at }) => {
      if (status === 202) latencies.push(at - sent)
      else refused += 1
      next()
    })
    await new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.once('close', resolve)
      next()
    })
  }

  const started = performance.now()
  await Promise.all(Array.from({ length: connections }, client))
  const elapsed = (performance.now() - started) / 1000
  return {
    accepted: latencies.length,
    refused,
    perSecond: latencies.length / elapsed,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  }
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
