// What the played chat services share: a server on loopback that answers by their rules, unless a test scripts a fault.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What ends them: a tap test, or whoever plays a chat without one. */
export interface Teardown {
  teardown(run: () => unknown): void
}

export interface Call {
  method: string
  path: string
  query: URLSearchParams
  headers: Record<string, string | string[] | undefined>
  /** The parsed body, or undefined if it was no JSON. */
  body: any
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  body?: unknown
}

export type Fault =
  /** Answers this instead; a string is sent as it is. */
  | Reply
  /** Takes the request and never answers. */
  | 'hang'
  /** Cuts the connection without an answer. */
  | 'reset'
  /** Does what was asked, and cuts the connection before the answer. */
  | 'lose answer'
  /** Waits for this, then answers with what it brings, or does what was asked if it brings nothing. */
  | Promise<Reply | void>

export interface ChatServer {
  url: string
  /** Every request that came in, also those that failed. */
  calls: Call[]
  /** What becomes of the next calls, one each. */
  failNext(...faults: Fault[]): void
  /** What becomes of all calls from now on that no `failNext` covers; null ends it. */
  failAlways(fault: Fault | null): void
}

export async function startChatServer(t: Teardown, answer: (call: Call) => Reply): Promise<ChatServer> {
  const calls: Call[] = []
  const scripted: Fault[] = []
  let standing: Fault | null = null

  const server = createServer((request, response) => {
    void receive(request).then(async (call) => {
      calls.push(call)
      const script = scripted.shift() ?? standing
      const fault = script instanceof Promise ? ((await script) ?? null) : script
      if (fault === 'hang') return
      if (fault === 'reset') return request.socket.resetAndDestroy()
      if (fault !== null && fault !== 'lose answer') return send(response, fault)
      const reply = answer(call)
      if (fault === 'lose answer') return request.socket.resetAndDestroy()
      send(response, reply)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    failNext: (...faults) => void scripted.push(...faults),
    failAlways: (fault) => void (standing = fault),
  }
}

async function receive(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { pathname, searchParams } = new URL(request.url!, 'http://chat')
  let body: unknown
  try {
    body = JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    body = undefined
  }
  return { method: request.method!, path: pathname, query: searchParams, headers: request.headers, body }
}

function send(response: ServerResponse, { status, headers = {}, body }: Reply): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}
