// MCP over HTTP, one request at a time: a server is made for each, and nothing is kept for the next.
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createMcpServer, type ServerOptions } from './server.js'

/** `body` is what the request brought, as it was read. */
export function answerOverHttp(request: Request, body: unknown, options: ServerOptions): Promise<Response> {
  const handler = createMcpHandler(() => createMcpServer(options), {
    // There is nothing to subscribe to.
    maxSubscriptions: 0,
  })
  return handler.fetch(request, { parsedBody: body })
}
