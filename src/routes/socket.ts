// What is refused on the socket, before any route is asked: bytes that are no request, CONNECT, and connections for which there
// is no room. And what Node would refuse on its own: expectations and too many headers.
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { stringifyInert } from '../core/json.js'
import { pageHeaders } from '../web/headers.js'
import { messagePage } from '../web/message.js'
import { denialOf, hookPaths, Problem, problemBody, type ProblemCode, problems } from './errors.js'

/** A request that is still not complete by then is given up. */
const requestTimeoutMs = 30_000

/** For every server. */
export const serverOptions = {
  requestTimeout: requestTimeoutMs,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5000,
  // checkOrigin asks for it, and its refusal has a body.
  requireHostHeader: false,
}

/** Each costs many times its bytes, for as long as the request is held. */
const maxHeaders = 100

/** What has more came without some of them, which may be those that decide. */
function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length > 2 * maxHeaders
}

/** What is wrong with the headers of a request, for which Node would refuse it or cut them off; null: nothing. */
export function problemWithHeaders(request: IncomingMessage): Problem | null {
  if (hasTooManyHeaders(request)) {
    return new Problem('headers_too_large', `The request has more than ${maxHeaders} headers; send fewer.`)
  }
  const { expect } = request.headers
  // As Node tells them apart: it has answered this one by itself.
  if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)) return null
  return new Problem('expectation_failed', "The only expectation that can be met is 'Expect: 100-continue'.")
}

/** How long a refused client may go on sending, and take to read why. */
export const lingerMs = 1000

/** Refuses what Node would answer without a body, or not at all, before any route is asked. */
export function guardServer(server: Server): void {
  // Beyond this Node drops them without a word. One more than may be tells what has too many.
  server.maxHeadersCount = maxHeaders + 1
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket) => {
    refuse(socket, new Problem('method_not_allowed', 'This is not a proxy; it does not take CONNECT.'))
  })
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
  answer(socket, render(problem, isFromHook(error.rawPacket, socket)))
}

const ofHooks = new WeakSet<Duplex>()

/** A hook has called on this connection: what is wrong with the rest of it is a no, too. */
export function expectHooks(socket: Duplex): void {
  ofHooks.add(socket)
}

function isFromHook(packet: unknown, socket: Duplex): boolean {
  const opening = `POST ${hookPaths}`
  return ofHooks.has(socket) || (Buffer.isBuffer(packet) && packet.toString('latin1', 0, opening.length) === opening)
}

/** Nothing of it was parsed, but what came last mostly tells. */
function isFromBrowser(packet: unknown): boolean {
  const head = Buffer.isBuffer(packet) ? packet.subarray(0, 16 * 1024).toString('latin1') : ''
  return /\r\n(?:accept:[^\r\n]{0,200}text\/html|cookie:)/i.test(head)
}

/** Its style will not load: the browser sends as many cookies for that. */
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

export function refuse(socket: Duplex, problem: Problem): void {
  answer(socket, render(problem, false))
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

interface Rendered {
  status: number
  title: string
  headers: Record<string, string | number>
  body: string
}

function render(problem: Problem, isForHook: boolean): Rendered {
  if (isForHook) {
    const denial = renderAs(problem.code, { 'Content-Type': 'application/json' }, denialOf(problem))
    return { ...denial, status: 200, title: 'OK' }
  }
  const body = stringifyInert(problemBody(problem, 'none'))
  const { retry_after_seconds: seconds } = problem.extra
  const retry: Record<string, string> = typeof seconds === 'number' ? { 'Retry-After': String(seconds) } : {}
  return renderAs(problem.code, { 'Content-Type': 'application/problem+json', ...retry }, body)
}

function renderAs(code: ProblemCode, about: Record<string, string>, body: string): Rendered {
  const { status, title } = problems[code]
  const headers = { ...about, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  return { status, title, headers, body }
}
