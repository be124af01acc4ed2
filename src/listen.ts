// One app on two ports: the API's, and one that browsers agree to open. And on a socket beside the database, for its owner.
import { existsSync, lstatSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from './config/schemas.js'
import type { Api } from './routes/api.js'
import type { Connections } from './routes/connections.js'
import { type Limits, shareLimits } from './routes/shares.js'
import { guardServer, refuseSocket, serverOptions } from './routes/socket.js'

export interface Listening {
  /** Where the API is reached from this machine. */
  url: string
  webUrl: string | null
  /** Stops accepting at once; resolves when running requests are answered, cutting them off at the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** A port cannot be had; the message says which and what to do. */
export class CannotListen extends Error {
  override name = 'CannotListen'
}

/** What listens: an app, and the connections of all its servers. */
export interface Served {
  app: Api
  connections: Connections
}

export async function listen({ app, connections }: Served, { host, port, webPort }: Config): Promise<Listening> {
  try {
    await app.listen({ host, port, backlog })
  } catch (error) {
    throw explain(error, host, port, '--port')
  }
  let web: Server | null = null
  try {
    if (webPort !== 'off') {
      web = createWebServer(app)
      connections.watch(web)
      await listenOn(web, host, webPort)
    }
  } catch (error) {
    await app.close()
    throw explain(error, host, Number(webPort), '--web-port')
  }
  return {
    url: urlOf(host, app.server),
    webUrl: web === null ? null : urlOf(host, web),
    async close(deadlineMs) {
      const timer = setTimeout(() => {
        app.server.closeAllConnections()
        web?.closeAllConnections()
      }, deadlineMs)
      // The servers first: Fastify would go on accepting until its hooks have run.
      const closed = Promise.all([closeServer(app.server), web === null ? null : closeServer(web), app.close()])
      connections.drain()
      await closed
      clearTimeout(timer)
    },
  }
}

/** So many who connect at once wait for their turn, if the kernel lets them; who finds no room there tries again after a second. */
const backlog = 4096

/** Files that are open beside connections: the database, its locks and threads, callbacks and chats that are under way. */
const otherFiles = 256

/** As many connections as there may be, and fit into the files that this process may have open. */
export function limitConnections(limitsFile = '/proc/self/limits'): Limits {
  const limits = existsSync(limitsFile) ? readFileSync(limitsFile, 'utf8') : ''
  const files = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  const total = Math.min(shareLimits.connections.total, Math.max(16, files - otherFiles))
  return { total, each: Math.ceil(total / 4) }
}

/** The longest path that a socket can have everywhere. */
const maxSocketPath = 100

/** The socket of the process that serves this database; null if its path would be too long. */
export function localSocket(dbPath: string): string | null {
  const file = existsSync(dbPath) ? realpathSync(dbPath) : dbPath
  const path = `${file}.sock`
  return Buffer.byteLength(path) > maxSocketPath ? null : path
}

/** Listens where only the owner of the database's folder can reach it. The database must be ours: one that is left is removed. */
export async function listenLocally(path: string, route: RequestListener): Promise<() => Promise<void>> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) rmSync(path)
  const server = createServer({ requireHostHeader: false }, route)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path }, resolve)
  })
  return async () => {
    server.closeAllConnections()
    await closeServer(server)
  }
}

function createWebServer(app: Api): Server {
  const server = createServer(serverOptions, (request, response) => app.routing(request, response))
  server.keepAliveTimeout = app.server.keepAliveTimeout
  server.on('clientError', refuseSocket)
  guardServer(server)
  return server
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog }, resolve)
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

function urlOf(host: string, server: { address(): AddressInfo | string | null }): string {
  const { port } = server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}

function explain(error: unknown, host: string, port: number, flag: string): CannotListen {
  const { code, message } = error as NodeJS.ErrnoException
  const off = flag === '--web-port' ? ', or turn it off with --web-port off' : ''
  if (code === 'EADDRINUSE') {
    return new CannotListen(`Port ${port} on ${host} is in use. Choose another with ${flag}${off}.`)
  }
  if (code === 'EACCES')
    return new CannotListen(`Port ${port} needs more rights. Choose one above 1023 with ${flag}${off}.`)
  return new CannotListen(`Cannot listen on ${host}:${port}: ${message}. Check --host and ${flag}.`)
}
