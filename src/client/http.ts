// HTTP to a Holdpoint, over TCP or a Unix socket. Not `fetch`, which refuses port 6000. It follows no redirect and heeds no
// proxy variable; the key is in its requests and nowhere else.
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import { Aborted, HoldpointError, Invalid, type ProblemBody, Refused, Unreachable } from './errors.js'

export interface Place {
  /** `http://127.0.0.1:6000`; a path in it is put before that of each request. */
  url?: string | undefined
  /** In place of a `url`: the Unix socket of a service on this machine. */
  socketPath?: string | undefined
  /** The secret that `holdpoint keys add` gives out. */
  key?: string | null | undefined
  /** In place of dialling: a connection for one request, a duplex stream. Whoever reads this type may have none of Node's. */
  connect?: (() => object) | undefined
}

export interface HttpLimits {
  /** For a whole answer, and for the beginning of a stream. 30 s unless it is said. */
  timeoutMs?: number | undefined
  /** For a stream: how long it may be silent. The service says something every 15 s; 45 s unless it is said. */
  silenceMs?: number | undefined
  /** Of an answer that is read whole; 32 MiB unless it is said. */
  maxBytes?: number | undefined
}

export type QueryValue = string | number | boolean | null | undefined

export interface Call {
  /** What is null or undefined is left out. */
  query?: Readonly<Record<string, QueryValue>> | undefined
  /** Sent as JSON. */
  body?: unknown
  headers?: Readonly<Record<string, string>> | undefined
  signal?: AbortSignal | undefined
  /** For this call alone. */
  timeoutMs?: number | undefined
}

export interface Answer<T = unknown> {
  status: number
  /** By their names in small letters. */
  headers: Readonly<Record<string, string>>
  /** What the JSON says; a text where it is none. */
  body: T
}

export interface StreamedAnswer extends Omit<Answer, 'body'> {
  /** Read as fast as it is taken, and no faster. Leaving the loop ends the request. */
  body: AsyncIterable<Uint8Array>
}

export interface Http {
  /** Where it leads, for messages. */
  readonly place: string
  /** One request, once. Statuses from 400 on are thrown as `Refused`; no answer as `Unreachable`. */
  call<T>(method: string, path: string, call?: Call): Promise<Answer<T>>
  /** The same for an answer that is read piece by piece: an export, or events. */
  stream(method: string, path: string, call?: Call): Promise<StreamedAnswer>
  /** Closes the connections that are kept for the next request. */
  close(): void
}

/** What a proxy in between answers when what is behind it is away. */
const mayPassAway = (status: number) => status === 408 || status === 429 || status >= 500
/** With these nothing was sent. */
const neverSent = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ConnectionRefused',
]
/** More waits for a connection to be closed by the service: what is kept idle is for the next few calls. */
const keptConnections = 16

export function createHttp(to: Place, limits: HttpLimits = {}): Http {
  const target = readPlace(to)
  const { timeoutMs = 30_000, silenceMs = 45_000, maxBytes = 32 * 1024 * 1024 } = limits
  const isTls = target.base?.protocol === 'https:'
  const agentOptions = { keepAlive: true, maxFreeSockets: keptConnections }
  // Said here, so that no variable of the environment lets anybody else answer.
  const agent = isTls ? new TlsAgent({ ...agentOptions, rejectUnauthorized: true }) : new Agent(agentOptions)
  if (to.connect !== undefined) Object.assign(agent, { keepAlive: false, createConnection: to.connect })
  const send = isTls ? requestHttps : requestHttp
  const place = target.base === null ? target.socketPath : `${target.base.origin}${target.prefix}`

  const lost = (what: string, mayHaveArrived: boolean, mayPass = true, cause?: unknown) =>
    new Unreachable(`Holdpoint at ${place} ${what}`, { mayHaveArrived, mayPass, cause })

  /** The head of the answer. From then on `watch` says what may still go wrong with its body. */
  function open(method: string, path: string, call: Call): Promise<{ response: IncomingMessage; watch: Watch }> {
    const { signal } = call
    if (signal?.aborted === true) return Promise.reject(new Aborted(signal.reason))
    const options = optionsOf(method, path, call)
    const payload = call.body === undefined ? null : Buffer.from(JSON.stringify(call.body))
    return new Promise((resolve, reject) => {
      let sent: ClientRequest | null = null
      let response: IncomingMessage | null = null
      let failure: HoldpointError | null = null
      const fail = (error: HoldpointError) => {
        failure ??= error
        watch.end()
        ;(response ?? sent)?.destroy(failure)
        reject(failure)
      }
      const onAbort = () => fail(new Aborted(signal?.reason))
      const watch = createWatch((ms) => fail(lost(`has not answered within ${ms / 1000} s.`, true)))
      watch.whenEnded(() => signal?.removeEventListener('abort', onAbort))
      signal?.addEventListener('abort', onAbort)
      watch.within(call.timeoutMs ?? timeoutMs)
      try {
        sent = send(options)
      } catch (error) {
        return fail(new Invalid(`This cannot be sent: ${(error as Error).message}`))
      }
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const mayHaveArrived = !neverSent.includes(error.code ?? '')
        fail(lost(`cannot be reached: ${error.message}.`, mayHaveArrived, true, error))
      })
      sent.once('response', (answer) => {
        response = answer
        // Whoever reads it is told; where nobody does, it must not end the program.
        answer.on('error', () => {})
        watch.explain = (error) =>
          failure ?? lost(`broke off its answer: ${(error as Error).message}.`, true, true, error)
        resolve({ response, watch })
      })
      if (payload !== null) {
        sent.setHeader('content-type', 'application/json')
        sent.setHeader('content-length', payload.length)
      }
      sent.end(payload ?? undefined)
    })
  }

  function optionsOf(method: string, path: string, { query = {}, headers = {} }: Call): RequestOptions {
    if (!/^\/[!-~]*$/.test(path)) throw new Invalid(`A path begins with a slash and is percent-encoded: ${path}`)
    const whole = `${target.prefix}${path}${writeQuery(query, path.includes('?'))}`
    const to =
      target.base === null
        ? { socketPath: target.socketPath }
        : { host: target.host, ...(target.base.port === '' ? {} : { port: Number(target.base.port) }) }
    const authorization = target.key === null ? {} : { authorization: `Bearer ${target.key}` }
    return { ...to, method, path: whole, agent, headers: { accept: 'application/json', ...authorization, ...headers } }
  }

  /** Its bytes; a body that is cut, silent or aborted is an error of ours. */
  async function* bytesOf(response: IncomingMessage, watch: Watch, silence: number | null): AsyncGenerator<Uint8Array> {
    try {
      if (silence !== null) watch.within(silence)
      for await (const chunk of response) {
        // However slowly it is taken, that is no silence of the service.
        if (silence !== null) watch.rest()
        yield chunk as Uint8Array
        if (silence !== null) watch.within(silence)
      }
      if (!response.complete) throw new Error('it ended too soon')
    } catch (error) {
      throw error instanceof HoldpointError ? error : watch.explain(error)
    } finally {
      watch.end()
      if (!response.complete) response.destroy()
    }
  }

  async function readAll(response: IncomingMessage, watch: Watch): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of bytesOf(response, watch, null)) {
      size += chunk.length
      if (size > maxBytes) throw lost(`answered with more than ${maxBytes} bytes.`, true, false)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, size)
  }

  /** Throws for what is no success. */
  async function refuse(response: IncomingMessage, watch: Watch): Promise<void> {
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return
    const text = (await readAll(response, watch)).toString('utf8')
    const problem = isJson(response) ? (readJson(text) as ProblemBody | undefined) : undefined
    if (status >= 400 && typeof problem === 'object' && problem !== null && typeof problem.code === 'string') {
      throw new Refused(status, problem, retryAfterOf(response, problem))
    }
    const mayPass = mayPassAway(status)
    const redirect = status >= 300 && status < 400
    const why = redirect
      ? 'with a redirect, which is not followed; say the address it leads to'
      : 'as Holdpoint does not'
    throw lost(
      mayPass ? `is away: what is in between answered ${status}.` : `answered ${status}, ${why}.`,
      true,
      mayPass,
    )
  }

  return {
    place,
    async call<T>(method: string, path: string, call: Call = {}) {
      const { response, watch } = await open(method, path, call)
      await refuse(response, watch)
      const text = (await readAll(response, watch)).toString('utf8')
      const status = response.statusCode!
      if (!isJson(response)) {
        // Some other server's page: whoever asks for a text says so.
        if (text !== '' && call.headers?.accept === undefined)
          throw lost(`answered ${status}, as Holdpoint does not.`, true, false)
        return { status, headers: headersOf(response), body: text as T }
      }
      const body = readJson(text)
      if (body === undefined) throw lost('answered with what is no JSON.', true)
      return { status, headers: headersOf(response), body: body as T }
    },
    async stream(method, path, call = {}) {
      const { response, watch } = await open(method, path, call)
      await refuse(response, watch)
      watch.rest()
      const body = bytesOf(response, watch, silenceMs)
      return { status: response.statusCode!, headers: headersOf(response), body }
    },
    close: () => agent.destroy(),
  }
}

/** The time that something may take, and who is to be told when it is over. */
interface Watch {
  within(ms: number): void
  /** Nothing is waited for. */
  rest(): void
  end(): void
  whenEnded(run: () => void): void
  /** What to say of a body that fails. */
  explain(error: unknown): unknown
}

function createWatch(onTimeout: (ms: number) => void): Watch {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  const ends: (() => void)[] = []
  return {
    within(ms) {
      clearTimeout(timer)
      if (!isOver) timer = setTimeout(() => onTimeout(ms), Math.min(ms, maxTimer))
    },
    rest: () => clearTimeout(timer),
    end() {
      isOver = true
      clearTimeout(timer)
      for (const run of ends.splice(0)) run()
    },
    whenEnded: (run) => ends.push(run),
    explain: (error) => error,
  }
}

/** What setTimeout can wait for; beyond it, it would not wait at all. */
const maxTimer = 2 ** 31 - 1

function readPlace({ url, socketPath, key = null }: Place) {
  // A header could carry no other; and the message must not repeat it.
  if (key !== null && !/^[!-~]+$/.test(key))
    throw new Invalid('The key is no key: it has visible ASCII characters only.')
  if (socketPath !== undefined) return { base: null, host: null, socketPath, prefix: '', key }
  if (url === undefined) throw new Invalid('Say the url of the service, as http://127.0.0.1:6000.')
  if (!URL.canParse(url)) throw new Invalid('The url of the service is no URL; it is like http://127.0.0.1:6000.')
  const base = new URL(url)
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw new Invalid('The url of the service begins with http:// or https://.')
  }
  if (base.username !== '' || base.password !== '' || base.search !== '' || base.hash !== '') {
    throw new Invalid('The url of the service has no name, password, query or fragment; the key is given as `key`.')
  }
  const host = base.hostname.replace(/^\[(.*)\]$/, '$1')
  return { base, host, socketPath: null, prefix: base.pathname.replace(/\/+$/, ''), key }
}

function writeQuery(query: NonNullable<Call['query']>, hasOne: boolean): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  if (given.length === 0) return ''
  const text = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return `${hasOne ? '&' : '?'}${text}`
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/(problem\+)?json\b/i.test(headers['content-type'] ?? '')
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Seconds; the body has them too, and a proxy may have left the header out. */
function retryAfterOf({ headers }: IncomingMessage, problem: ProblemBody): number | null {
  const seconds = Number(headers['retry-after'] ?? problem.retry_after_seconds ?? NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}
