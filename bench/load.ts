// A load of keep-alive connections in a process of its own, each sending its next request when the last is answered.
import { connect } from 'node:net'

export interface LoadResult {
  accepted: number
  refused: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Bare sockets and a minimal parser: the generator must not be what is measured. */
export async function runLoad(port: number, connections: number, seconds: number, body: string): Promise<LoadResult> {
  const request = Buffer.from(
    `POST /confirm HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const end = performance.now() + seconds * 1000
  const latencies: number[] = []
  let refused = 0

  async function client(): Promise<void> {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    await new Promise<void>((resolve, reject) => {
      let buffer = ''
      let sent = 0
      const next = () => {
        if (performance.now() > end) {
          socket.destroy()
          resolve()
          return
        }
        sent = performance.now()
        socket.write(request)
      }
      socket.on('connect', next)
      socket.on('error', reject)
      socket.on('data', (chunk) => {
        buffer += chunk.toString('latin1')
        const headEnd = buffer.indexOf('\r\n\r\n')
        const length = /content-length: (\d+)/i.exec(buffer)
        if (headEnd < 0 || length === null || buffer.length < headEnd + 4 + Number(length[1])) return
        if (buffer.startsWith('HTTP/1.1 202')) latencies.push(performance.now() - sent)
        else refused += 1
        buffer = ''
        next()
      })
    })
  }

  const started = performance.now()
  await Promise.all(Array.from({ length: connections }, client))
  const elapsed = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? NaN
  return {
    accepted: latencies.length,
    refused,
    perSecond: latencies.length / elapsed,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
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
