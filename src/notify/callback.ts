// Calling back: one signed POST (Standard Webhooks) to a URL that an agent chose, and what came of it. The address is
// checked when it is known and again when it is connected; no redirect is followed and nothing of the answer is kept.
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Client } from 'undici'
import { createAddressGuard, hostOf, isPublic, portOf } from './address.js'
import { attempt } from './attempt.js'
import { type Lookup, lookUpName, resolveName } from './names.js'
import { boundPause, type SendOutcome } from './chat.js'
import { keyOf, sign } from './signature.js'

export interface CallbackSettings {
  /** Each signs; several during rotation. At least one, and `problemWithSecret` finds nothing wrong with it. */
  secrets: string[]
  /** Hosts whose addresses are not checked: `host` or `host:port`. */
  allowedHosts: string[]
  version: string
  /** How long an attempt may take, from the name's resolution to the end of the answer. */
  timeoutMs?: number
  /** How names are resolved, in place of DNS: for tests. */
  lookup?: Lookup
  /** How a connection is opened, in place of node:net's: for tests. */
  connect?: (options: TcpNetConnectOpts) => Socket
}

export interface CallbackMessage {
  url: string
  /** The same for every attempt at one message, so that receivers can drop what they have. */
  id: string
  /** JSON text, sent and signed as it is. */
  body: string
  /** When this attempt is made. Receivers refuse what is minutes old, so every attempt has its own. */
  at: number
}

export interface Callback {
  /** Never throws and never retries; `stop` calls the attempt off. */
  send(message: CallbackMessage, stop: AbortSignal): Promise<SendOutcome>
}

const limits = {
  /** Standard Webhooks asks for 15 to 30 seconds. */
  timeoutMs: 20_000,
  /** Node's own default for a server's headers. */
  headerBytes: 16 * 1024,
  /** A polite answer is shorter and is read to its end; a longer one is cut off. */
  answerBytes: 16 * 1024,
  /** A name may have thousands of addresses: trying them all would be a scan. */
  addresses: 8,
}

/** A URL that nobody may be called at, whatever is behind it. */
const refusal: SendOutcome = { kind: 'refused', fault: 'message', error: 'this address may not be called' }

/**
 * One outcome for every name that leads to no address on the open internet: whether it is known inside, to nobody, or to a
 * server that does not answer. Else the errors would map the inside. It may lead there tomorrow, so it is tried again.
 */
const nowhere: SendOutcome = { kind: 'failed', error: 'the name leads to no address that may be called' }

class LeadsNowhere extends Error {}

/** How far an attempt got: an address that may be called is found, or needs none; and connected. */
interface Progress {
  isFound: boolean
  isConnected: boolean
}

export function createCallback(settings: CallbackSettings): Callback {
  const { secrets, allowedHosts, version, timeoutMs = limits.timeoutMs, lookup, connect = connectTcp } = settings
  const guard = createAddressGuard(allowedHosts)
  if (secrets.length === 0) throw new Error('a callback needs a secret to sign with')
  const keys = secrets.map(keyOf)

  /** A connection to a checked address, over TLS if the URL asks for it. It ends with the signal. */
  async function open(url: URL, signal: AbortSignal, progress: Progress): Promise<Socket> {
    const host = hostOf(url)
    const isAllowed = guard.isAllowed(url)
    const addresses = isIP(host) === 0 ? await find(host, isAllowed, signal) : [host]
    progress.isFound = true
    const found = addresses.slice(0, limits.addresses).map((address) => ({ address, family: isIP(address) }))
    const socket = connect({
      host,
      port: portOf(url),
      autoSelectFamily: true,
      lookup: (_host, _options, done) => done(null, found),
    })
    endWith(signal, socket)
    await once(socket, 'connect', { signal })
    if (!isAllowed && !isPublic(socket.remoteAddress ?? '')) throw new LeadsNowhere()
    if (url.protocol === 'http:') return socket
    const name = host.replace(/\.$/, '')
    const secure = connectTls({
      socket,
      host: name,
      // A name alone can be asked for; the certificate is held against `host` either way.
      servername: isIP(name) === 0 ? name : '',
      ALPNProtocols: ['http/1.1'],
    })
    endWith(signal, secure)
    await once(secure, 'secureConnect', { signal })
    return secure
  }

  /** The addresses of a name, of which each may be called. What the settings allow is told why there is none. */
  async function find(host: string, isAllowed: boolean, signal: AbortSignal): Promise<string[]> {
    const ask = lookup ?? (isAllowed ? lookUpName : resolveName)
    try {
      const addresses = await unlessAborted(ask(host, signal), signal)
      if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
      if (isAllowed || addresses.every(isPublic)) return addresses
    } catch (error) {
      if (isAllowed) throw error
    }
    throw new LeadsNowhere()
  }

  async function post(message: CallbackMessage, signal: AbortSignal, progress: Progress): Promise<SendOutcome> {
    const url = new URL(message.url)
    const body = Buffer.from(message.body)
    const timestamp = Math.floor(message.at / 1000)
    // Loaded with the first message: a service without callbacks does without.
    const { Client } = await import('undici')
    const client = new Client(url.origin, overOnly(await open(url, signal, progress)))
    try {
      progress.isConnected = true
      const answer = await client.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: {
          'content-type': 'application/json',
          'user-agent': `Holdpoint/${version}`,
          'webhook-id': message.id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': keys.map((key) => sign(key, message.id, timestamp, body)).join(' '),
        },
        body,
        reset: true,
        signal,
      })
      // The status says what became of the message, however the rest of the answer ends.
      await answer.body.dump({ limit: limits.answerBytes })
      return judge(answer.statusCode, answer.headers['retry-after'], message.at)
    } finally {
      await client.destroy()
    }
  }

  return {
    async send(message, stop) {
      if (guard.problemWith(message.url) !== null) return refusal
      const progress: Progress = { isFound: guard.isAllowed(new URL(message.url)), isConnected: false }
      try {
        const outcome = await attempt(timeoutMs, stop, (signal) => post(message, signal, progress))
        return progress.isFound || stop.aborted ? outcome : nowhere
      } catch (error) {
        if (error instanceof LeadsNowhere) return nowhere
        // A host that hangs up is there; it is what it was sent that it does not like.
        return { kind: 'failed', error: reasonOf(error), ...(progress.isConnected ? { answered: true } : {}) }
      }
    },
  }
}

/** For a client of this connection alone: with it gone there is no other, so nothing is sent twice or elsewhere. */
function overOnly(socket: Socket): Client.Options {
  let isTaken = false
  return {
    connect: (_options, done) => {
      const isFirst = !isTaken
      isTaken = true
      // A client that is answered within its own call does not go on.
      queueMicrotask(() => (isFirst ? done(null, socket) : done(gone(), null)))
    },
    maxHeaderSize: limits.headerBytes,
    // The attempt has one timer for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
}

function gone(): Error {
  return Object.assign(new Error('the connection is gone'), { code: 'ECONNRESET' })
}

function judge(status: number, retryAfter: string | string[] | undefined, at: number): SendOutcome {
  const error = String(status)
  if (status >= 200 && status < 300) return { kind: 'sent' }
  if (status === 410) return { kind: 'refused', fault: 'gone', error }
  if (status === 429 || status === 503) {
    const wishedMs = readPause(retryAfter, at)
    if (wishedMs !== null) return { kind: 'busy', retryAfterMs: boundPause(wishedMs), error }
  }
  return { kind: 'failed', error, answered: true }
}

/** Seconds or a date, as HTTP writes them. */
function readPause(text: string | string[] | undefined, now: number): number | null {
  if (typeof text !== 'string') return null
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return null
  const until = Date.parse(text)
  return Number.isNaN(until) ? null : until - now
}

// The code or the kind alone: messages of network errors may carry the URL or what a server wrote.
function reasonOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  const isWord = (one: unknown): one is string => typeof one === 'string' && /^\w{1,60}$/.test(one)
  return `network error (${[code, name].find(isWord) ?? 'unknown'})`
}

function endWith(signal: AbortSignal, socket: Socket): void {
  // What an end brings is no news; errors that matter are awaited.
  socket.on('error', () => {})
  signal.addEventListener('abort', () => socket.destroy(), { once: true })
  if (signal.aborted) socket.destroy()
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason as Error)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    promise.then(resolve, reject)
  })
}
