// /whitelist: the grants that let an action pass without asking.
import { actorOf } from '../access/role.js'
import { authorityOf } from '../service/settle.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import type { Cursors } from './cursor.js'
import { granted } from './errors.js'
import { toGrantRequest } from './grant-request.js'
import { madeOf } from './large-body.js'
import * as answers from './answers.js'
import * as requests from './requests.js'
import { grantView } from './view.js'
import { nameOr, viaOf } from './voter.js'

export function whitelistRoutes(app: Api, service: Service, cursors: Cursors): void {
  app.get(
    '/whitelist',
    {
      config: { needs: 'survey' },
      schema: {
        operationId: 'listGrants',
        tag: 'whitelist',
        summary: 'List the whitelist entries that stand',
        description: 'The newest first.',
        querystring: requests.pageQuery,
        response: { 200: answers.grantPage },
      },
    },
    async ({ query, caller }) => {
      const page = await service.listGrants(query.limit, cursors.read(query.cursor, 'whitelist', caller))
      const entries = page.items.map(grantView)
      return { count: entries.length, entries, next_cursor: cursors.write(page.next, 'whitelist', caller) }
    },
  )

  app.post(
    '/whitelist',
    {
      config: { needs: 'whitelist', reads: 'grant' },
      schema: {
        operationId: 'addGrant',
        tag: 'whitelist',
        summary: 'Let an action pass without asking',
        description:
          'A request is covered if it meets every bound of an entry: `session_key`, `requester`, and, where both are given, ' +
          '`when` as well as `details`. Adding the same again sets its terms anew.',
        body: requests.grantBody,
        response: {
          201: answers.grant.meta({ description: 'The new whitelist entry.' }),
          200: answers.grant.meta({ description: 'The entry that stood, with its terms set anew.' }),
        },
        problems: ['details_too_long', 'high_risk', 'not_whitelistable', 'whitelist_full'],
      },
    },
    async (request, reply) => {
      const asked = madeOf(request, 'grant') ?? toGrantRequest(request.body, request.caller)
      const { grant, created } = granted(await service.grant(asked, viaOf(request.caller)))
      return reply.code(created ? 201 : 200).send(grantView(grant))
    },
  )

  app.delete(
    '/whitelist/:id',
    {
      config: { needs: 'whitelist' },
      schema: {
        operationId: 'revokeGrant',
        tag: 'whitelist',
        summary: 'Revoke a whitelist entry',
        params: requests.idParams,
        body: requests.revokeBody,
        response: { 200: answers.grant.meta({ description: 'The entry, which counts no more.' }) },
      },
    },
    async ({ params, body, caller }) => {
      const by = actorOf(caller, nameOr(body?.revoked_by, 'api'))
      const { grant } = granted(await service.revoke(params.id, by, authorityOf(caller), viaOf(caller)))
      return grantView(grant)
    },
  )
}
