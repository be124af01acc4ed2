// A WebSocket that stays open, for chats that say over one who pressed: whenever it ends another is opened, later and later
// while that fails, until it is stopped or the chat says that there is no point.
import type { Socket } from 'node:net'
import type { buildConnector, WebSocket } from 'undici'
import type { ChatName } from '../core/model.js'
import type { Ears } from './chat.js'
import { backoff } from './delivery.js'

/** What is said over it, which each chat knows for itself. None of it throws. */
export interface Protocol {
  name: ChatName
  /** Where it is to be opened now: asked for before each. */
  address(stop: AbortSignal): Promise<Address>
  /** One is open. What it answers hears what is said there. */
  begin(connection: Connection): Listener
  /** If nothing came for so long, a ping asks whether anybody is there. Null: the chat has a way of its own. */
  quietMs: number | null
}

export type Address =
  | { kind: 'found'; url: string }
  /** Not yet, and nothing is wrong. */
  | { kind: 'wait'; ms: number }
  | { kind: 'failed'; error: string; retryAfterMs?: number }
  | Never

/** It is not opened any more. `mend`: what to do about it, in a sentence. */
interface Never {
  kind: 'never'
  error: string
  mend: string
}

export interface Connection {
  send(message: object): void
  /** It does what it is there for: earlier troubles are over. */
  thrive(): void
  /** Ends it, and another is opened, `afterMs` later at least. `error`: null where nothing is wrong. */
  drop(why: { error: string | null; code?: number; afterMs?: number }): void
  /** Another is opened now. This one is heard for as long as it lasts. */
  relieve(): void
}

export interface Listener {
  hear(message: Record<string, unknown>): void
  /** It is over: `code` is the other side's, 1006 if it did not say any. Null: another is opened. */
  end(code: number): Never | null
}

type Deps = Pick<Ears, 'clock' | 'random' | 'log'>

/** From the attempt to the first message. */
const firstWithinMs = 30_000
/** One that thrived for so long was a good one: the next is opened without delay. */
const goodMs = 60_000
/** What a chat says at once is some kilobytes; the first words to a bot that is in very many groups are more. */
const maxMessage = 4 * 1024 * 1024

/** How a connection ended, or that it is to be relieved. */
type Ended = { kind: 'ended'; error: string | null; afterMs: number; thrived: boolean; lastedMs: number } | Never

interface Talk {
  ended: Promise<Ended>
  close(): void
  closed: Promise<void>
}

/** Keeps one open until it is stopped, which closes it. */
export function keepOpen(protocol: Protocol, deps: Deps): { stop(): Promise<void> } {
  const { clock, random, log } = deps
  const { name } = protocol
  const stopping = new AbortController()
  const talks = new Set<Talk>()
  let isTroubled = false

  function trouble(error: string): void {
    if (!isTroubled)
      log.warn({ channel: name, error }, `${name} cannot be heard, so buttons do nothing; will try again`)
    isTroubled = true
  }

  function thrive(): void {
    if (isTroubled) log.info({ channel: name }, `${name} is heard again`)
    isTroubled = false
  }

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (stopping.signal.aborted) return resolve()
      const wake = () => {
        stopping.signal.removeEventListener('abort', wake)
        callOff()
        resolve()
      }
      const callOff = clock.wake(clock.now() + ms, wake)
      stopping.signal.addEventListener('abort', wake)
    })
  }

  async function openOne(): Promise<Ended | Exclude<Address, { kind: 'found' }>> {
    const address = await protocol.address(stopping.signal)
    if (address.kind !== 'found') return address
    const talk = await openTalk(address.url, { ...protocol, thrive }, deps)
    talks.add(talk)
    void talk.closed.then(() => talks.delete(talk))
    if (stopping.signal.aborted) talk.close()
    return talk.ended
  }

  async function run(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      const result = await openOne()
      if (stopping.signal.aborted) return
      switch (result.kind) {
        case 'never':
          log.warn({ channel: name, error: result.error }, result.mend)
          return
        case 'wait':
          await sleep(result.ms)
          break
        case 'failed':
          trouble(result.error)
          failures += 1
          await sleep(Math.max(result.retryAfterMs ?? 0, backoff(failures, random())))
          break
        case 'ended':
          if (!result.thrived && result.error !== null) trouble(result.error)
          failures = result.lastedMs >= goodMs ? 0 : failures + 1
          await sleep(Math.max(result.afterMs, failures === 0 ? 0 : backoff(failures, random())))
      }
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      for (const talk of talks) talk.close()
      await running
      await Promise.all([...talks].map(({ closed }) => closed))
    },
  }
}

/** Loaded with the first connection: a service without chats does without. */
let loaded: Promise<typeof import('undici')> | undefined

async function openTalk(
  url: string,
  { begin, quietMs, thrive }: Protocol & { thrive(): void },
  { clock }: Deps,
): Promise<Talk> {
  const undici = await (loaded ??= import('undici'))
  let socket: Socket | null = null
  let networkError: string | null = null
  const connect = undici.buildConnector({ timeout: 10_000 })
  // A WebSocket cannot be cut, and does not say why it could not connect. Its socket can and does.
  const watched: buildConnector.connector = (options, done) =>
    connect(options, (...[error, found]: Parameters<buildConnector.Callback>) => {
      socket = found
      if (error !== null) networkError = `network error (${(error as NodeJS.ErrnoException).code ?? error.name})`
      if (error === null) done(null, found)
      else done(error, null)
    })
  const dispatcher = new undici.Agent({ connect: watched, webSocket: { maxPayloadSize: maxMessage } })

  let end: (how: Ended) => void = () => {}
  let close: () => void = () => {}
  const ended = new Promise<Ended>((resolve) => (end = resolve))
  const closed = new Promise<void>((resolve) => (close = resolve))
  /** Why we ended it ourselves. */
  let dropped: { error: string | null; afterMs: number } | null = null
  let listener: Listener | null = null
  let thrivesSince: number | null = null
  let callOffWatch = () => {}

  let ws: WebSocket
  try {
    ws = new undici.WebSocket(url, { dispatcher })
  } catch {
    // The words of the error would repeat the address.
    end({ kind: 'ended', error: 'no address of a WebSocket', afterMs: 0, thrived: false, lastedMs: 0 })
    close()
    return { ended, closed, close }
  }

  const connection: Connection = {
    send(message) {
      if (ws.readyState === ws.OPEN) ws.send(JSON.stringify(message))
    },
    thrive() {
      thrivesSince ??= clock.now()
      thrive()
    },
    drop({ error, code = 1000, afterMs = 0 }) {
      if (dropped !== null) return
      dropped = { error, afterMs }
      if (ws.readyState === ws.CONNECTING || ws.readyState === ws.OPEN) ws.close(code)
      // The other side may never close it: what was sent goes out, and nobody waits for more.
      socket?.destroySoon()
    },
    relieve() {
      end(howItEnded(null, 0))
    },
  }

  function howItEnded(error: string | null, afterMs: number): Ended {
    const lastedMs = thrivesSince === null ? 0 : clock.now() - thrivesSince
    return { kind: 'ended', error, afterMs, thrived: thrivesSince !== null, lastedMs }
  }

  function sayEnd(code: number): string {
    if (code !== 1006) return `it closed the connection (${code})`
    return listener === null ? 'it could not be opened' : 'the connection broke'
  }

  /** Whether anything comes in, pings and their answers too, is seen by the bytes. */
  function watch(isAsked: boolean, before: number): void {
    const waitMs = listener === null ? firstWithinMs : quietMs
    if (waitMs === null) return
    callOffWatch = clock.wake(clock.now() + waitMs, () => {
      const read = socket?.bytesRead ?? 0
      if (listener !== null && read > before) return watch(false, read)
      if (listener === null || isAsked) return connection.drop({ error: 'nothing is heard from it' })
      undici.ping(ws)
      watch(true, read)
    })
  }

  ws.addEventListener('message', ({ data }: { data: unknown }) => {
    if (dropped !== null) return
    const message = readMessage(data)
    if (message === null) return connection.drop({ error: 'what it says is no JSON object', code: 4000 })
    if (listener === null) {
      listener = begin(connection)
      callOffWatch()
      watch(false, socket?.bytesRead ?? 0)
    }
    listener.hear(message)
  })
  ws.addEventListener('close', ({ code }) => {
    callOffWatch()
    const never = listener?.end(code) ?? null
    const error = networkError ?? sayEnd(code)
    if (dropped !== null) end(howItEnded(dropped.error, dropped.afterMs))
    else end(never ?? howItEnded(error, 0))
    void dispatcher.destroy().then(close)
  })
  // What went wrong is told by how it closes.
  ws.addEventListener('error', () => {})
  watch(false, 0)
  return { ended, closed, close: () => connection.drop({ error: null }) }
}

function readMessage(data: unknown): Record<string, unknown> | null {
  if (typeof data !== 'string') return null
  try {
    const message: unknown = JSON.parse(data)
    return typeof message === 'object' && message !== null ? (message as Record<string, unknown>) : null
  } catch {
    return null
  }
}
