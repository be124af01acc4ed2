// The list of what is pending.
import { nameOf } from '../../access/role.js'
import { listPage } from '../../web/list-page.js'
import type { Api } from '../api.js'
import { toSignIn } from './sign-in-page.js'
import { baseOf, config, places, type Site } from './site.js'

const maxListed = 100

export function listRoutes(pages: Api, { service, cursors, callerOf, frameOf, send }: Site): void {
  for (const place of places) {
    pages.get<{ Querystring: { cursor?: string } }>(`${place}/`, { config }, async (request, reply) => {
      const caller = await callerOf(request)
      if (caller === null) return toSignIn(request, reply)
      const from = cursors.read(request.query.cursor, 'page', caller)
      const page = await service.listPending(maxListed, from)
      const base = baseOf(request)
      const items = page.items.map((confirmation) => ({ confirmation, url: `${base}/view/${confirmation.id}` }))
      const moreUrl = page.next === null ? null : `${base}/?cursor=${cursors.write(page.next, 'page', caller)}`
      const startUrl = from === null ? null : `${base}/`
      const frame = frameOf(request, reply, nameOf(caller))
      return send(reply, listPage({ ...frame, items, now: service.now(), moreUrl, startUrl }))
    })
  }
}
