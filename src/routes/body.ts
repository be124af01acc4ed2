// How a body comes in: once there is room for it in its requester's share, into one piece of memory, and the room is given back
// when it is being read. Before that, nothing of it is taken from the socket but what Node has read ahead.
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Api } from './api.js'
import { Problem } from './errors.js'
import { whenEnded } from './response-end.js'
import type { Shares } from './shares.js'
import { lingerMs } from './socket.js'

/** What says that it is no larger has room without asking: it is less than its connection costs. */
const smallBody = 8 * 1024
/** Reading one below this takes no time worth waiting for; a larger one is for another thread, see large-body.ts. */
export const largeBody = 32 * 1024
/** So long has a body without a key. */
const strangersPatienceMs = 5000
/** Each piece takes a microsecond, however small it is. A body of 1 MiB comes in some hundreds. */
const maxPieces = 4096
/** As many may still come after the answer, and one more for each KiB. */
const maxPiecesLeft = 64

declare module 'fastify' {
  interface FastifyRequest {
    giveBodyRoom: (() => void) | null
    /** Runs when its answer is over, sent or not; null: it is a small one. */
    whenGone: ((run: () => void) => void) | null
    /** Calls back when it has taken too long; null: it may take as long as any request. */
    limitBodyTime: ((giveUp: () => void) => () => void) | null
  }
}

/** `after` calls back so many milliseconds later, and answers with a way to call it off. */
export function limitBodies(app: Api, shares: Shares, after: (ms: number, run: () => void) => () => void): void {
  app.decorateRequest('giveBodyRoom', null)
  app.decorateRequest('whenGone', null)
  app.decorateRequest('limitBodyTime', null)
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (shares.requesterOf(request) === '') request.limitBodyTime = (run) => after(strangersPatienceMs, run)
    const said = sizeOf(request)
    const limit = request.routeOptions.bodyLimit
    // What is too large is refused unread.
    if (said !== null && (said <= smallBody || said > limit)) return done(null, payload)
    let isIn = false
    let go: () => void = () => void (isIn = true)
    // What does not say how long it is may come in pieces of a byte, of which Node would keep thousands while it waits.
    const isPatient = said !== null
    const room = isPatient ? shares.bodies.queue(request, said, () => go()) : shares.bodies.take(request, limit)
    if (typeof room === 'string') {
      const whose = room === 'share' ? `of ${shares.requesterOf(request) || 'whoever has no key'} ` : ''
      const advice = isPatient ? '' : ', or say how long it is in Content-Length'
      const sentence = `Too many large bodies ${whose}are being received; try again in 5 s${advice}.`
      return done(shares.refuse('bodies', sentence, 5))
    }
    request.giveBodyRoom = room
    whenEnded(reply, room)
    request.whenGone = (run) => whenEnded(reply, run)
    if (isIn || !isPatient) done(null, payload)
    else go = () => done(null, payload)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    request.giveBodyRoom?.()
    done()
  })
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (raw.headers['transfer-encoding'] !== undefined && !raw.complete) dropRest(raw, reply.raw)
    done(null, payload)
  })
}

/** What is left of it after the answer is read and dropped: pieces of a byte would keep Node busy for as long as they come. */
function dropRest(raw: FastifyRequest['raw'], response: ServerResponse): void {
  let pieces = 0
  let length = 0
  const isTooMuch = () => pieces > maxPiecesLeft + length / 1024
  raw.on('error', () => {})
  raw.on('data', (chunk: Buffer) => {
    pieces += 1
    length += chunk.length
    if (!isTooMuch()) return
    if (response.writableFinished) raw.socket.destroy()
    else raw.pause()
  })
  response.once('finish', () => {
    if (isTooMuch()) raw.socket.destroy()
    else endSoon(raw)
  })
}

/** The client has as long to read why as any that is refused. */
function endSoon(raw: FastifyRequest['raw']): void {
  const timer = setTimeout(() => raw.complete || raw.socket.destroy(), lingerMs).unref()
  raw.socket.once('close', () => clearTimeout(timer))
}

export function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** As it says itself, which null does not. */
function sizeOf({ method, headers }: FastifyRequest): number | null {
  if (method === 'GET' || method === 'HEAD') return 0
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null
}

/** A parser that is given the whole body. Its limit is the route's. */
export function takeBodies(
  app: Api,
  type: string,
  parse: (request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void) => void,
): void {
  app.addContentTypeParser(type, (request, payload, done) => {
    readBody(request, payload, (problem, body) => (problem === null ? parse(request, body, done) : done(problem)))
  })
}

/**
 * Not as Fastify reads it, which keeps every chunk until the end: a body in chunks of one byte would take a hundred times its
 * size.
 */
function readBody(
  { headers, routeOptions, limitBodyTime }: FastifyRequest,
  payload: FastifyRequest['raw'],
  done: (problem: Problem | null, body: Buffer) => void,
): void {
  const limit = routeOptions.bodyLimit
  const said = headers['content-length']
  let body = Buffer.alloc(0)
  let length = 0
  let pieces = 0
  if (Number(said) > limit) return done(tooLarge(), body)

  function add(chunk: Buffer): void {
    const needed = length + chunk.length
    if (needed > limit) return end(tooLarge())
    if ((pieces += 1) > maxPieces) return end(tooManyPieces())
    if (needed > body.length) grow(Math.max(needed, said === undefined ? Math.min(limit, 2 * needed) : Number(said)))
    chunk.copy(body, length)
    length = needed
  }

  function grow(size: number): void {
    // What goes to another thread shares its memory with nothing else.
    const larger = size < largeBody ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
    body.copy(larger, 0, 0, length)
    body = larger
  }

  function complete(): void {
    const isAsSaid = said === undefined || Number(said) === length
    end(isAsSaid ? null : new Problem('invalid_request', 'The body is not as long as Content-Length says.'))
  }

  function fail(): void {
    end(new Problem('invalid_request', 'The body ended before it was complete.'))
  }

  function end(problem: Problem | null): void {
    callOff?.()
    payload.off('data', add).off('end', complete).off('error', fail)
    // What is left of it is dropped, and so is what becomes of that.
    payload.on('error', () => {})
    done(problem, body.subarray(0, length))
  }

  const callOff = limitBodyTime?.(() => end(tooSlow()))
  payload.on('data', add).on('end', complete).on('error', fail)
}

function tooSlow(): Problem {
  const seconds = strangersPatienceMs / 1000
  return new Problem('request_timeout', `The body took longer than the ${seconds} s that one without a key has.`)
}

function tooManyPieces(): Problem {
  return new Problem('invalid_request', `The body comes in more than ${maxPieces} pieces; send larger ones.`)
}

function tooLarge(): Problem {
  return new Problem('body_too_large', 'The body is larger than 1 MiB; send less.')
}
