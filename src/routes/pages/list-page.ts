// The list of what waits, and whether it is still that.
import { nameOf } from '../../access/role.js'
import { listPage } from '../../web/list-page.js'
import type { Api } from '../api.js'
import { problemOf } from '../errors.js'
import { hold, whenGone } from '../wait.js'
import { notSignedIn, toSignIn } from './sign-in-page.js'
import { baseOf, config, longestPollMs, places, type Site } from './site.js'

export function listRoutes(pages: Api, { service, shares, cursors, callerOf, frameOf, send }: Site): void {
  for (const place of places) {
    pages.get<{ Querystring: { cursor?: string } }>(`${place}/`, { config }, async (request, reply) => {
      const caller = await callerOf(request)
      if (caller === null) return toSignIn(request, reply)
      const from = cursors.read(request.query.cursor, 'page', caller)
      const { items, ended, count, next, mark } = await service.readList(from)
      const base = baseOf(request)
      const linked = <C extends { id: string }>(confirmation: C) => ({
        confirmation,
        url: `${base}/view/${confirmation.id}`,
      })
      const page = listPage({
        ...frameOf(request, reply, nameOf(caller)),
        items: items.map(linked),
        ended: ended.map(linked),
        count,
        now: service.now(),
        moreUrl: next === null ? null : `${base}/?cursor=${cursors.write(next, 'page', caller)}`,
        startUrl: from === null ? null : `${base}/`,
        follow: from === null ? { url: `${base}/list/state`, mark } : null,
      })
      return send(reply, page)
    })

    /** The mark of the list, once it is another than the one that is shown, or the time is over. */
    pages.get(`${place}/list/state`, { config }, async (request, reply) => {
      const caller = await callerOf(request)
      if (caller === null) throw problemOf(notSignedIn)
      const { mark, wait } = request.query as { mark?: unknown; wait?: unknown }
      const asked = Math.min(longestPollMs, Math.max(0, Number(wait) * 1000 || 0))
      // A reader who cannot be held is told at once how it stands, and asks again in a while.
      const waitMs = asked > 0 && hold(shares, reply) === 'held' ? asked : 0
      const news = await service.waitForList(String(mark), waitMs, whenGone(reply))
      // A sign-in may have ended meanwhile.
      if ((await callerOf(request)) === null) throw problemOf(notSignedIn)
      return reply.type('application/json').send(news)
    })
  }
}
