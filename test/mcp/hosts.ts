// Hosts for the tests: the official client on either transport, in either era of the protocol.
import { PassThrough } from 'node:stream'
import {
  Client,
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Test } from 'tap'
import { Holdpoint, type HoldpointOptions } from '../../src/client/index.js'
import type { Pace } from '../../src/mcp/acts.js'
import { serveOverStdio } from '../../src/mcp/stdio.js'
import { build, type BuildOptions, type Built } from '../support.js'

export const transports = ['http', 'stdio'] as const
export const eras = ['2025', '2026-07-28'] as const
export type Kind = { over: (typeof transports)[number]; era: (typeof eras)[number] }
export const kinds: Kind[] = transports.flatMap((over) => eras.map((era) => ({ over, era })))

/** Nobody waits for a minute. */
export const pace: Pace = { holdMs: 150, progressMs: 40, awayMs: 5000, promptMs: 1000 }
/** Long enough for a person. */
export const patient: Pace = { ...pace, holdMs: 20_000, promptMs: 20_000 }

export interface Serving extends Built {
  url: string
}

export async function serve(t: Test, options: BuildOptions = {}): Promise<Serving> {
  const built = await build(t, { mcpPace: patient, ...options })
  return { ...built, url: await built.app.listen({ host: '127.0.0.1', port: 0 }) }
}

export interface Host {
  client: Client
  /** What a tool answers: the object, and whether it is an error. */
  call(name: string, given?: object, options?: CallOptions): Promise<Answer>
  /** What the other side said to people. */
  told: string[]
}

export type CallOptions = Parameters<Client['callTool']>[1]

export interface Answer {
  said: any
  text: string
  isError: boolean
}

export interface HostOptions extends HoldpointOptions {
  kind: Kind
  url: string
  /** Over standard input and output; over HTTP it is the service's. */
  pace?: Partial<Pace>
  key?: string | null
  session?: string
}

export async function connect(t: Test, options: HostOptions): Promise<Host> {
  const { kind, key = null } = options
  const told: string[] = []
  const transport = kind.over === 'http' ? overHttp(options.url, key) : overStdio(t, options, told)
  const mode = kind.era === '2025' ? ('legacy' as const) : { pin: kind.era }
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  t.teardown(() => client.close())
  return {
    client,
    told,
    async call(name, given = {}, callOptions) {
      const result = await client.callTool({ name, arguments: given as Record<string, unknown> }, callOptions)
      const [{ text }] = result.content as unknown as [{ text: string }]
      return { said: result.structuredContent ?? JSON.parse(text), text, isError: result.isError === true }
    },
  }
}

function overHttp(url: string, key: string | null): Transport {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` }
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
}

/** Both ends in this process: one reads what the other writes. */
export function overStdio(t: Test, { url, key, pace: own, session }: HostOptions, told: string[] = []): Transport {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const holdpoint = new Holdpoint({ url, key: key ?? null, maxPauseMs: 5, claimMs: 200 })
  const tell = (text: string) => void told.push(text)
  const ended = serveOverStdio({ holdpoint, pace: own ?? patient, sessionKey: session, stdin, stdout, tell })
  t.teardown(async () => {
    stdin.end()
    await ended
    holdpoint.close()
  })
  return new Piped(stdout, stdin)
}

class Piped implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #from: PassThrough
  readonly #to: PassThrough

  constructor(from: PassThrough, to: PassThrough) {
    this.#from = from
    this.#to = to
  }

  async start(): Promise<void> {
    const read = new ReadBuffer()
    this.#from.on('data', (chunk: Buffer) => {
      read.append(chunk)
      for (let message = read.readMessage(); message !== null; message = read.readMessage()) this.onmessage?.(message)
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#to.write(serializeMessage(message))
  }

  async close(): Promise<void> {
    this.#to.end()
    this.onclose?.()
  }
}
