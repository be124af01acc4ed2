// /audit: what happened, as the latest state of each confirmation or as the history of events.
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import * as requests from './requests.js'
import { confirmationView, eventFilter, eventView, readCursor, writeCursor } from './view.js'

export function auditRoutes(app: Api, service: Service): void {
  app.get(
    '/audit',
    {
      config: { needs: 'survey' },
      schema: {
        summary: 'One entry per confirmation in its latest state, the newest first',
        querystring: requests.auditQuery,
        response: { 200: answers.auditPage },
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
      config: { needs: 'survey' },
      schema: {
        summary: 'The append-only history, oldest first',
        querystring: requests.eventsQuery,
        response: { 200: answers.eventPage },
      },
    },
    async ({ query }) => {
      const page = await service.events(query.after ?? 0, query.limit, eventFilter(query))
      const events = page.events.map(eventView)
      return { count: events.length, events, next_after: page.upTo, more: page.more }
    },
  )
}
