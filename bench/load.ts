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

export async function runLoad(port: number, connections: number, seconds: number, body: string): Promise<LoadResult> {
  const request = httpRequest('POST', '/confirm', body)
  const end = performance.now() + seconds * 1000
  const latencies: number[] = []
  let refused = 0

  async function client(): Promise<void> {
    let sent = 0
    const next = () => {
      sent = performance.now()
      if (sent > end) socket.destroy()
      else socket.write(request)
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
  process.once('message', (job: { port: number; connections: number; seconds: number; body: string }) => {
    void runLoad(job.port, job.connections, job.seconds, job.body).then((result) => {
      process.send!(result)
      process.disconnect()
    })
  })
}
