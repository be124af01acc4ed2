// /mcp: the tools of src/mcp over streamable HTTP. Nothing is kept between two requests. What a tool asks of this service it asks
// over HTTP, with the caller's key, as the caller would.
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { createHttp } from '../client/http.js'
import { Holdpoint } from '../client/index.js'
import type { Pace } from '../mcp/acts.js'
import * as answers from './answers.js'
import type { Api } from './api.js'
import { readBearer } from './auth.js'
import { connectInside } from './inside.js'
import { letGo } from './large-body.js'
import * as requests from './requests.js'
import { whenEnded } from './response-end.js'
import type { Shares } from './shares.js'

/** What is larger is not kept while it is waited for: there may be as many calls as their share is. */
const maxHeldBytes = 64 * 1024

export interface McpOptions {
  onBug(error: unknown): void
  pace?: Partial<Pace> | undefined
}

export function mcpRoutes(app: Api, shares: Shares, { onBug, pace }: McpOptions): void {
  const closing = new AbortController()
  app.addHook('preClose', (done) => {
    closing.abort()
    done()
  })

  app.post(
    '/mcp',
    {
      config: { needs: 'submit' },
      schema: {
        operationId: 'speakMcp',
        tag: 'service',
        summary: 'Speak MCP: the tools by which an agent asks, waits, claims and reports',
        description:
          'Streamable HTTP of the Model Context Protocol, one message a request, without sessions. Errors of the protocol are ' +
          'those of JSON-RPC, some with the status 400, 404 or 406.',
        body: requests.mcpBody,
        response: { 200: answers.mcpAnswer, 202: answers.mcpTaken },
        also: { 'text/event-stream': answers.mcpStream },
      },
    },
    async (request, reply) => {
      const place = shares.calls.take(request)
      if (typeof place === 'string') throw shares.refuse('calls', tooMany(request, place === 'share'), 5)
      whenEnded(reply, place)
      const gone = new AbortController()
      whenEnded(reply, () => gone.abort())
      const { body } = request
      const isLarge = JSON.stringify(body).length > maxHeldBytes
      letGo(request)
      const asked = new Request('http://localhost/mcp', {
        method: 'POST',
        headers: headersOf(request),
        signal: gone.signal,
      })
      // With the first that comes: it is a large part of the program.
      const { answerOverHttp } = await import('../mcp/http.js')
      const response = await answerOverHttp(asked, body, {
        holdpoint: asCaller(request),
        pace,
        closing: closing.signal,
        isLarge,
        onBug,
      })
      // Nobody hears it.
      if (gone.signal.aborted) return reply.hijack()
      void reply.code(response.status as 200)
      if (response.body === null) return reply.send(undefined as never)
      const type = response.headers.get('content-type') ?? ''
      if (!type.startsWith('text/event-stream')) return (await response.json()) as z.input<typeof answers.mcpAnswer>
      void reply.type('text/event-stream').header('x-accel-buffering', 'no')
      return reply.send(Readable.fromWeb(response.body) as never)
    },
  )

  function asCaller(request: FastifyRequest): Holdpoint {
    const http = createHttp({
      url: 'http://localhost',
      key: request.keyId === null ? null : readBearer(request),
      connect: () => connectInside(app.server, request.ip),
    })
    return new Holdpoint({}, http)
  }

  function tooMany(request: FastifyRequest, isOwn: boolean): string {
    return isOwn
      ? `As many calls of ${shares.requesterOf(request)} are under way as its share is; try again in 5 s.`
      : 'As many calls are under way as there may be; try again in 5 s.'
  }
}

function headersOf({ headers }: FastifyRequest): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, one] as [string, string]),
  )
}
