// /audit: what happened, as the latest state of each confirmation or as the history of events.
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import { assertRecorded, type Cursors } from './cursor.js'
import * as requests from './requests.js'
import { confirmationFilter, confirmationView, eventFilter, eventView } from './view.js'

export function auditRoutes(app: Api, service: Service, cursors: Cursors): void {
  app.get(
    '/audit',
    {
      config: { needs: 'survey' },
      schema: {
        operationId: 'listAudit',
        tag: 'audit',
        summary: 'List every confirmation in its latest state',
        querystring: requests.auditQuery,
        response: { 200: answers.auditPage },
      },
    },
    async ({ query, caller }) => {
      const place = cursors.read(query.cursor, 'audit', caller)
      const page = await service.list(confirmationFilter(query), 'newest', query.limit, place)
      const entries = page.items.map(confirmationView)
      return { count: entries.length, entries, next_cursor: cursors.write(page.next, 'audit', caller) }
    },
  )

  app.get(
    '/audit/events',
    {
      config: { needs: 'survey' },
      schema: {
        operationId: 'listEvents',
        tag: 'audit',
        summary: 'Read the append-only history',
        querystring: requests.eventsQuery,
        response: { 200: answers.eventPage },
        problems: ['invalid_cursor'],
      },
    },
    async ({ query }) => {
      assertRecorded(query.after ?? 0, await service.lastSeq())
      const page = await service.listEvents(query.after ?? 0, query.limit, eventFilter(query))
      const events = page.events.map(eventView)
      return { count: events.length, events, next_after: page.upTo, more: page.more }
    },
  )
}
