// MCP on standard input and output, for as long as the input is open.
import type { Readable, Writable } from 'node:stream'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createMcpServer, type ServerOptions } from './server.js'

export interface StdioOptions extends Omit<ServerOptions, 'onBug'> {
  /** For people: nothing but the protocol goes to the output. */
  tell(text: string): void
  stdin?: Readable
  stdout?: Writable
}

/** Resolves when the host has closed the input, or does not read the output any more. What is under way then is given up. */
export async function serveOverStdio({ tell, stdin, stdout, ...options }: StdioOptions): Promise<void> {
  const transport = new StdioServerTransport(stdin, stdout)
  const onBug = (error: unknown) => tell(error instanceof Error ? (error.stack ?? error.message) : String(error))
  await new Promise<void>((resolve) => {
    serveStdio(() => createMcpServer({ ...options, onBug }), {
      transport: whenClosed(transport, resolve),
      onerror: ({ name, message }) => tell(name === 'ZodError' ? noMessage : message),
      // There is nothing to subscribe to.
      maxSubscriptions: 0,
    })
  })
}

const noMessage = 'The host sent a line that is no message of MCP. It gets no answer.'

/** Whoever is given the transport sets what it calls; this is called as well. */
function whenClosed(transport: StdioServerTransport, run: () => void): StdioServerTransport {
  let onclose: (() => void) | undefined
  Object.defineProperty(transport, 'onclose', {
    get: () => () => {
      onclose?.()
      run()
    },
    set: (given: () => void) => (onclose = given),
  })
  return transport
}
