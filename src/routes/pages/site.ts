// What every page needs: who looks at it, the frame around it, and how it is sent.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { anyone, type Caller, type KeyHolder } from '../../access/role.js'
import type { Service } from '../../service/service.js'
import type { Frame } from '../../web/frame.js'
import type { Auth } from '../auth.js'
import type { Cursors } from '../cursor.js'
import { reserveRoom } from '../answer-room.js'
import type { Shares } from '../shares.js'
import { cookieOf, setCookie, signInCookie } from './cookie.js'
import { createForms } from './form.js'
import { createRenderer } from './renderer.js'

export interface SiteDeps {
  service: Service
  auth: Auth
  shares: Shares
  cursors: Cursors
  /** 256 bits and more of chance, as hexadecimal digits. */
  chance: () => string
  /** Whether browsers come by https, so that cookies may stay on it. */
  isSecure: () => boolean
}

export type Site = ReturnType<typeof createSite>

/** Every page asks in its own way whether its reader may see it. */
export const config = { needs: 'page' as const }

/** How long a page is held that asks for news. */
export const longestPollMs = 60_000

/** Where pages are that need a sign-in: at the root in open mode, and at the place of each sign-in. */
export const places = ['', '/s/:session']

export function createSite({ service, auth, shares, cursors, chance, isSecure }: SiteDeps) {
  const { openMode } = service
  const forms = createForms(chance, isSecure)

  async function signedIn(request: FastifyRequest): Promise<KeyHolder | null> {
    const place = placeOf(request)
    return place === undefined ? null : service.signIns.holderOf(place, cookieOf(request, signInCookie), isSecure())
  }

  return {
    service,
    auth,
    shares,
    cursors,
    forms,
    render: createRenderer(shares),
    signedIn,

    /** The person who is signed in, anyone in open mode, or nobody. */
    callerOf: async (request: FastifyRequest): Promise<Caller | null> =>
      openMode.isOpen() ? anyone : signedIn(request),

    /** Signs in with a key; answers the place of its pages. */
    async begin(reply: FastifyReply, keyId: string): Promise<string> {
      const { place, secret } = await service.signIns.add(keyId, isSecure())
      setCookie(reply, signInCookie, secret, isSecure(), `/s/${place}`)
      return `/s/${place}`
    },

    async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      await service.signIns.end(placeOf(request) ?? '', cookieOf(request, signInCookie))
      setCookie(reply, signInCookie, '', isSecure(), baseOf(request))
    },

    /** A viewer who is named by a link is not signed in. */
    frameOf(request: FastifyRequest, reply: FastifyReply, viewer: string | null, isSignedIn = viewer !== null): Frame {
      const action = `${baseOf(request)}/logout`
      const signOut = isSignedIn ? { action, csrf: forms.tokenFor(request, reply, action) } : null
      return { isOpen: openMode.isOpen(), viewer, signOut }
    },

    async send(reply: FastifyReply, html: string): Promise<FastifyReply> {
      await reserveRoom(shares, reply, html.length)
      return reply.type('text/html; charset=utf-8').send(html)
    },
  }
}

function placeOf({ params }: FastifyRequest): string | undefined {
  return (params as { session?: string }).session
}

/** What the paths of a sign-in's pages begin with; empty outside of one. */
export function baseOf(request: FastifyRequest): string {
  const place = placeOf(request) ?? ''
  return /^[0-9a-f]{64}$/.test(place) ? `/s/${place}` : ''
}

export function goTo(reply: FastifyReply, path: string): FastifyReply {
  return reply.code(303).header('location', path).send()
}
