// The other side of a WebSocket, for chats that are played: who is connected, what they said, and every way to leave them.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Teardown } from './chat-server.js'

export interface Guest {
  /** Path and query that it came by. */
  url: URL
  headers: IncomingMessage['headers']
  /** What it said, parsed; text that is no JSON as it came. */
  said: any[]
  say(message: unknown): void
  /** Said as it stands. */
  sayRaw(data: string | Buffer): void
  /** Ends it with a code, in good order. */
  close(code: number): void
  /** Cuts it. */
  cut(): void
  /** Takes nothing in any more and says nothing, as if the network were gone. */
  freeze(): void
  /** How it was closed from the other side; null: it is open. */
  closedWith: number | null
  isOpen(): boolean
}

export interface SocketServer {
  url: string
  /** All that ever connected, the last one last. */
  guests: Guest[]
  /** How many attempts there were to connect. */
  attempts: number
  /** From now on nobody is let in: answered with this status, or not at all. Null: everybody is. */
  refuse(how: number | 'hang' | null): void
}

export async function startSocketServer(
  t: Teardown,
  greet: (guest: Guest) => void = () => {},
  hear: (guest: Guest, message: any) => void = () => {},
): Promise<SocketServer> {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  let refusal: number | 'hang' | null = null
  const guests: Guest[] = []
  const connected = new Set<Duplex>()

  function welcome(ws: WebSocket, request: IncomingMessage): void {
    const guest: Guest = {
      url: new URL(request.url!, 'ws://chat'),
      headers: request.headers,
      said: [],
      say: (message) => ws.send(JSON.stringify(message)),
      sayRaw: (data) => ws.send(data),
      close: (code) => ws.close(code),
      cut: () => ws.terminate(),
      freeze: () => void request.socket.pause(),
      closedWith: null,
      isOpen: () => ws.readyState === ws.OPEN,
    }
    guests.push(guest)
    ws.on('message', (data: Buffer) => {
      let message: unknown = data.toString()
      try {
        message = JSON.parse(data.toString())
      } catch {
        // It stays text.
      }
      guest.said.push(message)
      hear(guest, message)
    })
    ws.on('close', (code) => (guest.closedWith = code))
    ws.on('error', () => {})
    greet(guest)
  }

  const found: SocketServer = {
    url: '',
    guests,
    attempts: 0,
    refuse: (how) => void (refusal = how),
  }
  server.on('upgrade', (request, socket, head) => {
    found.attempts += 1
    connected.add(socket)
    // Whoever comes may be gone before the answer.
    socket.on('error', () => {})
    if (refusal === 'hang') return
    if (refusal !== null) return void socket.end(`HTTP/1.1 ${refusal} No\r\nconnection: close\r\n\r\n`)
    sockets.handleUpgrade(request, socket, head, (ws) => welcome(ws, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  found.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(async () => {
    for (const socket of connected) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return found
}
