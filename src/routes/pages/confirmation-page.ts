// The page of a confirmation for people who are signed in, and for anyone in open mode.
import type { FastifyRequest } from 'fastify'
import { actorOf, may } from '../../access/role.js'
import { authorityOf } from '../../service/settle.js'
import type { Api } from '../api.js'
import { baseOf, places, type Site } from './site.js'
import { type Visitor, visitRoutes } from './visit.js'

export function confirmationRoutes(pages: Api, site: Site): void {
  const { service, callerOf } = site

  async function visitorOf(request: FastifyRequest): Promise<Visitor | null> {
    const caller = await callerOf(request)
    if (caller === null) return null
    const { id } = request.params as { id: string }
    const mayDecide = may(caller, 'decide')
    return {
      id,
      path: `${baseOf(request)}/view/${id}`,
      via: 'page',
      caller,
      authority: authorityOf(caller),
      by: actorOf(caller, 'page'),
      isSignedIn: caller.role !== null,
      mayDecide,
      obstacle: mayDecide ? null : 'Your key lets you look, but not decide.',
      decide: (decision) => service.decide(id, decision),
    }
  }

  for (const place of places) visitRoutes(pages, site, `${place}/view/:id`, visitorOf)
}
