// A server of the test's own, which answers what the test says, over TCP or a Unix socket.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface Played {
  url: string
  /** What was asked, in order. */
  requests: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[]
  /** How many connections were opened. */
  connections(): number
}

export type Play = (request: IncomingMessage, response: ServerResponse, body: string) => void

export async function play(t: Test, answer: Play, socketPath?: string): Promise<Played> {
  const requests: Played['requests'] = []
  let connections = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      requests.push({ method: request.method!, path: request.url!, headers: request.headers, body })
      answer(request, response, body)
    })
    request.on('error', () => {})
  })
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) =>
    socketPath === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(socketPath, resolve),
  )
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const address = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${address.port}`, requests, connections: () => connections }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) {
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body))
}
