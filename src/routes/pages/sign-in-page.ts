// Signing in with a key, and out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { may } from '../../access/role.js'
import { refuse } from '../../core/refusal.js'
import { signInPage } from '../../web/sign-in-page.js'
import type { Api } from '../api.js'
import { noKeyYet } from '../auth.js'
import { problems, toProblem } from '../errors.js'
import { bodyLimit, pathOf } from './form.js'
import { baseOf, config, goTo, type Site } from './site.js'

const undecided = 'Nothing was decided: you are not signed in, or no longer. Sign in and decide again.'
const agentsStayOut = refuse('forbidden', "The pages are for people: an agent's key does not open them.")

export function signInRoutes(pages: Api, { service, auth, forms, begin, end, send }: Site): void {
  const { people, openMode } = service

  pages.get<{ Querystring: { next?: string; undecided?: string } }>('/login', { config }, async (request, reply) => {
    const { query } = request
    const whyNot = people.hasKeys() || openMode.isOpen() ? null : noKeyYet
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

  pages.post('/s/:session/logout', { config, bodyLimit }, async (request, reply) => {
    forms.read(request)
    await end(request, reply)
    return goTo(reply, '/login')
  })

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
