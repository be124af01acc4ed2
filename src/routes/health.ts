// /health, /ready, /metrics: what supervisors and scrapers ask. Not under the flood limit: they must get an answer then too.
import type { Metrics } from '../metrics.js'
import type { Service } from '../service/service.js'
import type { Api } from './api.js'
import * as answers from './answers.js'
import { iso } from './view.js'

const config = { rateLimit: false as const, needs: 'nothing' as const }

export function healthRoutes(app: Api, service: Service, metrics: Metrics, version: string): void {
  app.get(
    '/health',
    {
      config,
      schema: {
        operationId: 'getHealth',
        tag: 'service',
        summary: 'Is the process alive?',
        response: { 200: answers.health },
      },
    },
    async () => {
      const count = await service.countPending()
      const now = service.now()
      return {
        status: 'ok' as const,
        pending_count: count,
        timestamp: now / 1000,
        timestamp_iso: iso(now),
        version,
        auth: service.openMode.isOpen() ? ('open' as const) : ('keys' as const),
      }
    },
  )

  app.get(
    '/ready',
    {
      config: { ...config, needs: 'survey' },
      schema: {
        operationId: 'getReadiness',
        tag: 'service',
        summary: 'Does the database take writes? If not: 503',
        response: { 200: answers.ready },
      },
    },
    async () => {
      await service.ready()
      return { status: 'ready' as const }
    },
  )

  app.get(
    '/metrics',
    {
      config: { ...config, needs: 'survey' },
      schema: {
        operationId: 'getMetrics',
        tag: 'service',
        summary: 'Prometheus metrics',
        response: { 200: answers.metricsText },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}
