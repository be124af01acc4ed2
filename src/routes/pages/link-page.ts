// The page of a confirmation for the recipient of a message, who comes by the link in it. A link is good for one decision.
import type { FastifyRequest } from 'fastify'
import { anyone } from '../../access/role.js'
import { textOf, unknownActor } from '../../core/actor.js'
import { refuse } from '../../core/refusal.js'
import type { Api } from '../api.js'
import { pathOf } from './form.js'
import type { Site } from './site.js'
import { type Visitor, visitRoutes } from './visit.js'

const noSuchLink = refuse(
  'unauthorized',
  'There is no such link. Take the one from the message, or sign in with a key.',
)

export function linkRoutes(pages: Api, site: Site): void {
  const { service, auth } = site
  const { people } = service

  async function visitorOf(request: FastifyRequest): Promise<Visitor> {
    const { token } = request.params as { token: string }
    const link =
      (await service.findLink(token)) ?? (await auth.reject(request, noSuchLink, unknownActor, { via: 'link' }))
    const { recipient, confirmationId, usedAt } = link
    const mayDecide = people.mayDecide(textOf(recipient))
    const used = usedAt === null ? null : 'This link has been used, and a link is good for one decision.'
    return {
      id: confirmationId,
      path: pathOf(request),
      via: 'link',
      caller: anyone,
      authority: null,
      by: { kind: 'link', recipient },
      isSignedIn: false,
      mayDecide,
      obstacle: mayDecide ? used : `${textOf(recipient)}, for whom this link was made, may not decide.`,
      decide: (decision) => service.decideByLink(link, decision),
    }
  }

  visitRoutes(pages, site, '/link/:token', visitorOf)
}
