// What stands before and behind the routes: headers for every answer, no changes from other sites, clear answers for
// paths, methods and bytes that fit nothing.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/role.js'
import { stringifyInert } from '../core/json.js'
import { pageHeaders } from '../web/headers.js'
import { messagePage } from '../web/page.js'
import type { Api } from './api.js'
import { Problem, problemBody, type ProblemCode, problems } from './errors.js'
import type { Route } from './openapi.js'
import { whenOver } from './over.js'

/** How long a refused client may go on sending, and take to read why. */
const lingerMs = 1000

/**
 * `isKnownHost` tells the names this service goes by from those that a page was rebound to it under; `isOurs` knows the
 * origin that people see, which a proxy may keep from us.
 */
export function guard(app: Api, isKnownHost: (name: string) => boolean, isOurs: (origin: string) => boolean): void {
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Nobody is there to be answered: what came behind the last of a connection that was cut off.
    if (request.raw.socket.destroyed) return void reply.hijack()
    void reply.header('cache-control', 'no-store')
    void reply.header('x-content-type-options', 'nosniff')
    if (closing) {
      done(new Problem('shutting_down', 'Holdpoint is shutting down; nothing was done. Try again in a moment.'))
    } else if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      done(new Problem('invalid_request', 'An HTTP/1.1 request must have a Host header.'))
    } else if (isBrowser(request) && !isKnownHost(request.hostname)) {
      done(new Problem('unknown_host', 'This service does not go by the name in the Host header. Nothing was done.'))
    } else if (isCrossOrigin(request, isOurs)) {
      done(new Problem('cross_origin', 'A page of another site may not change anything here. Nothing was done.'))
    } else done()
  })
}

/** An answer this large is worth counting, and all in one room may hold this much memory while they are under way. */
const unsentLimits = { counted: 64 * 1024, total: 128 * 1024 * 1024 }
/** A client that has not taken a large answer by then is cut off. */
const readPatienceMs = 60_000

/** What was answered and not yet read. Agents have a room of their own, so that they cannot fill that of people. */
export interface Unsent {
  /** Room for this much, to be given back; null if there is none. */
  take(reply: FastifyReply, size: number): (() => void) | null
  /** Waits for room for an answer of this size, in the order of arrival. It is given back when the answer is over. */
  reserve(reply: FastifyReply, size: number): Promise<void>
  hasRoom(reply: FastifyReply): boolean
  /** How many wait for room, in whichever. */
  queued(): number
}

export function createUnsent({ total, counted } = unsentLimits): Unsent {
  const reserved = new WeakSet<FastifyReply>()
  const agents = createRoom(total)
  const others = createRoom(total)

  /** While the service is open, nobody is known to be an agent. */
  function roomOf({ request }: FastifyReply): Room {
    const { caller } = request as { caller?: Caller }
    return caller?.role === 'agent' ? agents : others
  }

  return {
    take: (reply, size) => roomOf(reply).take(size),

    async reserve(reply, size) {
      if (size < counted) return
      const release = await roomOf(reply).wait(size)
      reserved.add(reply)
      whenOver(reply, release)
    },

    hasRoom: (reply) => reserved.has(reply),
    queued: () => agents.queued() + others.queued(),
  }
}

type Room = ReturnType<typeof createRoom>

function createRoom(total: number) {
  const waiting: { size: number; go: () => void }[] = []
  let taken = 0

  function release(size: number): void {
    taken -= size
    while (waiting.length > 0 && taken + waiting[0]!.size <= total) {
      const { size: next, go } = waiting.shift()!
      taken += next
      go()
    }
  }

  return {
    take(size: number): (() => void) | null {
      if (taken + size > total) return null
      taken += size
      return () => release(size)
    },

    /** In the order of arrival. */
    async wait(size: number): Promise<() => void> {
      // What is larger than all there is would wait for ever.
      const needed = Math.min(size, total)
      if (waiting.length === 0 && taken + needed <= total) taken += needed
      else await new Promise<void>((go) => waiting.push({ size: needed, go }))
      return () => release(needed)
    },

    queued: () => waiting.length,
  }
}

/** Clients that ask for large answers and do not read them cannot fill the memory. */
export function limitUnsent(app: Api, unsent: Unsent, { counted } = unsentLimits): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const size = typeof payload === 'string' ? payload.length : 0
    if (size < counted) return done(null, payload)
    const release = unsent.hasRoom(reply) ? () => {} : unsent.take(reply, size)
    if (release === null) {
      const sentence = 'Too many large answers are waiting to be read; try again, or ask for less at once.'
      return done(new Problem('flood_limited', sentence, { retry_after_seconds: 1 }))
    }
    const timer = setTimeout(() => reply.request.raw.socket.destroy(), readPatienceMs)
    whenOver(reply, () => {
      release()
      clearTimeout(timer)
    })
    done(null, payload)
  })
}

/** Only browsers can be rebound; other clients may call the service what they like. */
function isBrowser({ headers }: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site, 'user-agent': agent = '' } = headers
  return origin !== undefined || site !== undefined || agent.startsWith('Mozilla/')
}

/** Browsers say where a request comes from; other clients send neither header. */
function isCrossOrigin({ method, headers }: FastifyRequest, isOurs: (origin: string) => boolean): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin, host } = headers
  // Our own pages send no referrer, and so a browser calls their origin null; it says that it is the same beside.
  if (origin === 'null') return site === undefined
  return origin !== undefined && !isOurs(origin) && origin.replace(/^https?:\/\//, '') !== host
}

export function answerUnknown(app: Api, routes: Route[]): void {
  const paths = new Map<string, { pattern: RegExp; methods: string[] }>()
  for (const { url, method } of routes) {
    const known = paths.get(url) ?? { pattern: new RegExp(`^${url.replace(/:\w+/g, '[^/]+')}$`), methods: [] }
    known.methods.push(String(method))
    paths.set(url, known)
  }
  const limit = app.hasDecorator('rateLimit') ? { preHandler: app.rateLimit() } : {}
  app.setNotFoundHandler(limit, (request, reply) => {
    const path = request.url.split('?', 1)[0]!
    // As in routing, a path that is spelt out goes before one with an id in its place.
    const known = paths.get(path) ?? [...paths.values()].find(({ pattern }) => pattern.test(path))
    if (known === undefined) {
      throw new Problem('no_such_route', 'There is nothing at this path; GET /openapi.yaml lists what there is.')
    }
    void reply.header('allow', known.methods.join(', '))
    throw new Problem('method_not_allowed', `This path takes ${known.methods.join(' or ')}.`)
  })
}

/** Refuses what Node would answer without a body, or not at all, before any route is asked. */
export function guardServer(server: Server): void {
  limitPipelining(server)
  server.on('checkExpectation', (_request, response) => {
    const problem = new Problem('expectation_failed', "The only expectation that can be met is 'Expect: 100-continue'.")
    const { status, headers, body } = render(problem)
    response.writeHead(status, headers).end(body)
  })
  server.on('connect', (_request, socket) => {
    refuse(socket, new Problem('method_not_allowed', 'This is not a proxy; it does not take CONNECT.'))
  })
}

/** Requests one behind the other that one connection may have under way. Each may be held, and takes memory. */
const maxUnderWay = 16

/** A connection that sends more is cut off: what comes out of turn cannot be answered before the others are. */
function limitPipelining(server: Server): void {
  const underWay = new WeakMap<Socket, number>()
  const count = ({ socket }: IncomingMessage, response: ServerResponse) => {
    const sent = (underWay.get(socket) ?? 0) + 1
    underWay.set(socket, sent)
    response.once('close', () => underWay.set(socket, underWay.get(socket)! - 1))
    if (sent > maxUnderWay) socket.destroy()
  }
  // Before whoever answers.
  server.prependListener('request', count)
  server.prependListener('checkExpectation', count)
}

/** Bytes that are no HTTP request, or too much of one: answered on the bare socket. */
export function refuseSocket(error: Error & { code?: string; rawPacket?: unknown }, socket: Duplex): void {
  // What comes after the bytes that were refused is refused with them.
  if (socket.writableEnded) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  if (error.code === 'HPE_HEADER_OVERFLOW' && isFromBrowser(error.rawPacket)) {
    answer(socket, tooManyCookies)
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', 'The headers are larger than 16 KiB; send less.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem('request_timeout', 'The request took too long to arrive.')
        : new Problem('invalid_request', 'This is not a valid HTTP/1.1 request.')
  refuse(socket, problem)
}

/** Nothing of it was parsed, but what came last mostly tells. */
function isFromBrowser(packet: unknown): boolean {
  const head = Buffer.isBuffer(packet) ? packet.subarray(0, 16 * 1024).toString('latin1') : ''
  return /\r\n(?:accept:[^\r\n]{0,200}text\/html|cookie:)/i.test(head)
}

/** Whoever cannot open a page any more cannot be told by one with a style: that would not come through either. */
const tooManyCookies = renderAs(
  'headers_too_large',
  { ...pageHeaders, 'Content-Type': 'text/html; charset=utf-8' },
  messagePage({
    ...{ isOpen: false, viewer: null, signOut: null },
    title: 'Too many cookies',
    text:
      'This browser sends more than 16 KiB with each request, nearly all of it cookies: those of all programs on a machine ' +
      'are sent to each of them. Nothing was decided. Clear the cookies of this site in the settings of the browser, or ' +
      'open the page in a private window.',
  }),
)

function refuse(socket: Duplex, problem: Problem): void {
  answer(socket, render(problem))
}

/**
 * Says so and closes. Not at once: closing on a client that still sends resets the connection, and the answer is lost.
 */
function answer(socket: Duplex, { status, title, headers, body }: Rendered): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.on('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`)
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
}

type Rendered = ReturnType<typeof renderAs>

function render(problem: Problem): Rendered {
  const body = stringifyInert(problemBody(problem, 'none'))
  return renderAs(problem.code, { 'Content-Type': 'application/problem+json' }, body)
}

function renderAs(code: ProblemCode, about: Record<string, string>, body: string) {
  const headers = { ...about, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  return { ...problems[code], headers, body }
}
