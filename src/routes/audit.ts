// /audit: what happened, as the latest state of each confirmation or as the history of events.
import type { Service } from '../service.js'
import type { Api } from './api.js'
import * as schemas from './schemas.js'
import { confirmationView, eventView, readCursor, writeCursor } from './view.js'

export function auditRoutes(app: Api, service: Service): void {
  app.get(
    '/audit',
    {
      schema: {
        summary: 'One entry per confirmation in its latest state, the newest first',
        querystring: schemas.auditQuery,
        response: { 200: schemas.auditPage },
      },
    },
    async ({ query }) => {
      const { session_key, resolved_by, limit, cursor, ...filter } = query
      const wanted = { ...filter, sessionKey: session_key, resolvedBy: resolved_by }
      const page = await service.list(wanted, 'newest', limit, readCursor(cursor))
      const entries = page.items.map(confirmationView)
      return { count: entries.length, entries, next_cursor: writeCursor(page.next) }
    },
  )

  app.get(
    '/audit/events',
    {
      schema: {
        summary: 'The append-only history, oldest first',
        querystring: schemas.eventsQuery,
        response: { 200: schemas.eventPage },
      },
    },
    async ({ query }) => {
      const after = query.after ?? 0
      const events = (await service.events(after, query.limit)).map(eventView)
      return { count: events.length, events, next_after: events.at(-1)?.seq ?? after }
    },
  )
}
