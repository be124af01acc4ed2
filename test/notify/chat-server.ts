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
  /** Every request that came in, also those that failed, but for those that are aside. */
  calls: Call[]
  /** What becomes of the next calls, one each. */
  failNext(...faults: Fault[]): void
  /** What becomes of all calls from now on that no `failNext` covers; null ends it. */
  failAlways(fault: Fault | null): void
  /** The same for what is aside, by its name. */
  asides: Call[]
  failNextOf(name: string, ...faults: Fault[]): void
  failAlwaysOf(name: string, fault: Fault | null): void
  /** What becomes of everything; null ends it. */
  failAll(fault: Fault | null): void
}

/** `asideOf` names what goes on beside the messages that tests count: null for those. */
export async function startChatServer(
  t: Teardown,
  answer: (call: Call) => Reply | Promise<Reply>,
  asideOf: (call: Call) => string | null = () => null,
): Promise<ChatServer> {
  const calls: Call[] = []
  const asides: Call[] = []
  /** By the name of what is aside; '' is for the calls. */
  const scripted = new Map<string, Fault[]>()
  const standing = new Map<string, Fault | null>()
  let outage: Fault | null = null

  function failNextOf(name: string, ...faults: Fault[]): void {
    scripted.set(name, [...(scripted.get(name) ?? []), ...faults])
  }

  const server = createServer((request, response) => {
    void receive(request).then(async (call) => {
      const aside = asideOf(call)
      ;(aside === null ? calls : asides).push(call)
      const name = aside ?? ''
      const script = outage ?? scripted.get(name)?.shift() ?? standing.get(name) ?? null
      const fault = script instanceof Promise ? ((await script) ?? null) : script
      if (fault === 'hang') return
      if (fault === 'reset') return request.socket.resetAndDestroy()
      if (fault !== null && fault !== 'lose answer') return send(response, fault)
      const reply = await answer(call)
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
    asides,
    failNext: (...faults) => failNextOf('', ...faults),
    failAlways: (fault) => void standing.set('', fault),
    failNextOf,
    failAlwaysOf: (name, fault) => void standing.set(name, fault),
    failAll: (fault) => void (outage = fault),
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
