// Where a browser's request comes from: none under a name that is not ours, and no changes from pages of other sites.
import type { FastifyRequest } from 'fastify'
import type { Api } from './api.js'
import { Problem } from './errors.js'

/**
 * `isKnownHost` tells the names this service goes by from those that a page was rebound to it under; `isOurs` knows the
 * origin that people see, which a proxy may keep from us.
 */
export function checkOrigin(
  app: Api,
  isKnownHost: (name: string) => boolean,
  isOurs: (origin: string) => boolean,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      done(new Problem('invalid_request', 'An HTTP/1.1 request must have a Host header.'))
    } else if (isBrowser(request) && !isKnownHost(request.hostname)) {
      done(new Problem('unknown_host', 'This service does not go by the name in the Host header. Nothing was done.'))
    } else if (isCrossOrigin(request, isOurs)) {
      done(new Problem('cross_origin', 'A page of another site may not change anything here. Nothing was done.'))
    } else done()
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
