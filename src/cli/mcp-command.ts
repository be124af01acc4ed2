// mcp: an MCP server on standard input and output, for a host that starts it for its agent.
import { Holdpoint } from '../client/index.js'
import { serveOverStdio } from '../mcp/stdio.js'
import type { Context } from './key-commands.js'
import { openAs } from './reach.js'

export async function serveMcp(context: Context): Promise<void> {
  const { given, output } = context
  const holdpoint = openAs(context, (to) => new Holdpoint(to))
  const sessionKey = given.options.session as string | undefined
  await serveOverStdio({ holdpoint, sessionKey, tell: output.tell })
  holdpoint.close()
}
