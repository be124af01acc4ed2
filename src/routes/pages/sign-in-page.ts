// Signing in with a key or by a link, and out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { may } from '../../access/role.js'
import { unknownActor } from '../../core/actor.js'
import { isRefusal, type Refusal, refuse } from '../../core/refusal.js'
import { signInLinkPage, signInPage } from '../../web/sign-in-page.js'
import type { Api } from '../api.js'
import { problemOf, problems, toProblem } from '../errors.js'
import { bodyLimit, pathOf } from './form.js'
import { baseOf, config, goTo, type Site } from './site.js'

const undecided = 'Nothing was decided: you are not signed in, or no longer. Sign in and decide again.'
const agentsStayOut = refuse('forbidden', "The pages are for people: an agent's key does not open them.")

export const notSignedIn = refuse('unauthorized', 'Sign in first.')

export function signInRoutes(pages: Api, { service, auth, forms, signedIn, begin, end, send }: Site): void {
  const { people, openMode, signIns } = service

  pages.get<{ Querystring: { next?: string; undecided?: string } }>('/login', { config }, async (request, reply) => {
    const { query } = request
    const whyNot = people.hasKeys() || openMode.isOpen() ? null : auth.noKeyYet
    return show(request, reply, safePath(query.next), query.undecided === undefined ? whyNot : undecided)
  })

  pages.post('/login', { config, bodyLimit }, async (request, reply) => {
    const fields = forms.read(request)
    const next = safePath(fields.next)
    try {
      const holder = await auth.signIn(request, (fields.key ?? '').trim())
      if (!may(holder, 'survey')) await auth.reject(request, agentsStayOut, holder.actor, { via: 'page' })
      return goTo(reply, `${await begin(reply, holder.keyId)}${next}`)
    } catch (error) {
      const problem = toProblem(error as Error)
      const { status } = problems[problem.code]
      if (status >= 500) throw error
      return show(request, reply.code(status), next, problem.message)
    }
  })

  // Looking spends nothing: scanners and previews follow links, and do not press buttons.
  pages.get<{ Params: { token: string } }>('/signin/:token', { config }, async (request, reply) => {
    const found = await signIns.findLink(request.params.token)
    if (isRefusal(found)) return turnAway(request, reply, found)
    const { link, key } = found
    const action = pathOf(request)
    const csrf = forms.tokenFor(request, reply, action)
    return send(reply, signInLinkPage({ action, csrf, name: key.person, role: key.role, endsAt: link.endsAt }))
  })

  pages.post<{ Params: { token: string } }>('/signin/:token', { config, bodyLimit }, async (request, reply) => {
    forms.read(request)
    const used = await signIns.useLink(request.params.token)
    if (isRefusal(used)) return turnAway(request, reply, used)
    return goTo(reply, `${await begin(reply, used.key.id)}/`)
  })

  pages.post('/s/:session/logout', { config, bodyLimit }, async (request, reply) => {
    forms.read(request)
    await end(request, reply)
    return goTo(reply, '/login')
  })

  /** Whether this browser is signed in here, for the script that remembers where it was. */
  pages.get('/s/:session/state', { config }, async (request, reply) => {
    if ((await signedIn(request)) === null) throw problemOf(notSignedIn)
    return reply.code(204).send()
  })

  /** Whoever has a link that is good no more may have a key. */
  async function turnAway(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): Promise<FastifyReply> {
    const { code, message } = await auth.note(request, refusal, unknownActor, { via: 'page' })
    return show(request, reply.code(problems[code].status), '/', message)
  }

  function show(request: FastifyRequest, reply: FastifyReply, next: string, problem: string | null) {
    const csrf = forms.tokenFor(request, reply, '/login')
    return send(reply, signInPage({ csrf, next, problem, isOpen: openMode.isOpen() }))
  }
}

/** A person who sent a decision is told there that it did not count. */
export function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const url = signInUrl(pathOf(request).slice(baseOf(request).length))
  return goTo(reply, request.method === 'POST' ? `${url}&undecided=1` : url)
}

export function signInUrl(next: string): string {
  return `/login?next=${encodeURIComponent(safePath(next))}`
}

/** A path of ours: never another site's, however it is written. */
function safePath(path: unknown): string {
  return typeof path === 'string' && /^\/(view\/[\w-]{1,100})?$/.test(path) ? path : '/'
}
