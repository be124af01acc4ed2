// MCP on this process's standard input and output, for as long as its input is open.
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createMcpServer, type ServerOptions } from './server.js'

export interface Streams {
  stdin: NodeJS.ReadableStream & { destroyed?: boolean }
  stdout: NodeJS.WritableStream
}

/** Resolves when the host has closed the input. `tell` is for people: nothing but the protocol goes to the output. */
export async function serveOverStdio(
  options: Omit<ServerOptions, 'onBug'>,
  tell: (text: string) => void,
): Promise<void> {
  const { stdin, stdout } = process
  const ended = new Promise<void>((resolve) => {
    stdin.once('end', resolve)
    stdin.once('close', resolve)
  })
  const onBug = (error: unknown) => tell(String(error instanceof Error ? error.stack : error))
  const transport = new StdioServerTransport(stdin, stdout)
  const handle = serveStdio(() => createMcpServer({ ...options, onBug }), {
    transport,
    onerror: ({ message }) => tell(message),
    // There is nothing to subscribe to.
    maxSubscriptions: 0,
  })
  await ended
  await handle.close()
}
