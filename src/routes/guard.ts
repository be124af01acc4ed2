// What stands before and behind the routes: headers for every answer, no changes from other sites, clear answers for
// paths, methods and bytes that fit nothing.
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Api } from './api.js'
import { Problem, problemBody, problems } from './errors.js'
import type { Route } from './openapi.js'

export function guard(app: Api): void {
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('cache-control', 'no-store')
    void reply.header('x-content-type-options', 'nosniff')
    if (closing) {
      done(new Problem('shutting_down', 'Holdpoint is shutting down; nothing was done. Try again in a moment.'))
    } else if (isCrossOrigin(request)) {
      done(new Problem('cross_origin', 'A page of another site may not change anything here. Nothing was done.'))
    } else done()
  })
}

/** Browsers say where a request comes from; other clients send neither header. */
function isCrossOrigin({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin, host } = headers
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== host
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
    const known = [...paths.values()].find(({ pattern }) => pattern.test(path))
    if (known === undefined) {
      throw new Problem('no_such_route', 'There is nothing at this path; GET /openapi.yaml lists what there is.')
    }
    void reply.header('allow', known.methods.join(', '))
    throw new Problem('method_not_allowed', `This path takes ${known.methods.join(' or ')}.`)
  })
}

/** Bytes that are no HTTP request, or too much of one: answered on the bare socket. */
export function refuseSocket(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', 'The headers are larger than 16 KiB; send less.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem('request_timeout', 'The request took too long to arrive.')
        : new Problem('invalid_request', 'This is not a valid HTTP/1.1 request.')
  const { status, title } = problems[problem.code]
  const body = JSON.stringify(problemBody(problem, 'none'))
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
