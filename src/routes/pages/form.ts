// Forms that only our own pages can send: known by where they come from, by a cookie of this browser, and by a field that
// fits that cookie and the path.
import { timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashSecret } from '../../access/key.js'
import type { Api } from '../api.js'
import { takeBodies } from '../body.js'
import { Problem } from '../errors.js'
import { cookieOf, formCookie, setCookie, signInCookie } from './cookie.js'

export type Fields = Partial<Record<string, string>>

/** More than the longest reason, percent-encoded; a form is small. */
export const bodyLimit = 128 * 1024

/** A form and nothing else: the fields of JSON could be anything. */
export function takeForms(pages: Api): void {
  pages.removeAllContentTypeParsers()
  takeBodies(pages, '*', (_request, body, done) => (body.length === 0 ? done(null, undefined) : done(noForm())))
  takeBodies(pages, 'application/x-www-form-urlencoded', (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body.toString('utf8')))),
  )
}

function noForm(): Problem {
  const sentence = 'This page takes its own form and nothing else. Over the API, POST to /confirm/ID/approve or /deny.'
  return new Problem('unsupported_media_type', sentence)
}

/** `chance` gives 256 bits and more as hexadecimal digits. */
export function createForms(chance: () => string, isSecure: () => boolean) {
  /**
   * What this browser is known by on this path. Each path has its own: a link that is opened from elsewhere comes without
   * cookies, and the new one must not spoil the forms of other pages.
   */
  function browserOf(request: FastifyRequest, reply: FastifyReply, path: string): string {
    const known = knownBy(request, path)
    if (known !== '') return known
    const fresh = chance().slice(0, 64)
    setCookie(reply, formCookie, fresh, isSecure(), path)
    return fresh
  }

  return {
    /** The hidden field of a form that is sent to this path. */
    tokenFor: (request: FastifyRequest, reply: FastifyReply, path: string): string =>
      hashSecret(`${browserOf(request, reply, path)} ${path}`),

    read(request: FastifyRequest): Fields {
      const { origin, 'sec-fetch-site': site } = request.headers
      if (origin === undefined && site === undefined) {
        const sentence = 'This form is for people with a browser. Over the API, POST to /confirm/ID/approve or /deny.'
        throw new Problem('cross_origin', sentence)
      }
      const fields = (request.body ?? {}) as Fields
      const browser = knownBy(request, pathOf(request))
      const expected = hashSecret(`${browser} ${pathOf(request)}`)
      // Hashed once more, so that what is compared has one length.
      const isRight = timingSafeEqual(Buffer.from(hashSecret(expected)), Buffer.from(hashSecret(fields.csrf ?? '')))
      if (browser === '' || !isRight) {
        const sentence = 'This form was not sent by the page it belongs to, or the page is too old. Nothing was done.'
        throw new Problem('cross_origin', sentence)
      }
      return fields
    },
  }
}

/** A person who is signed in is known by that. */
function knownBy(request: FastifyRequest, path: string): string {
  const known = cookieOf(request, path.startsWith('/s/') ? signInCookie : formCookie)
  return /^[0-9a-f]{64}$/.test(known) ? known : ''
}

export function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!
}
