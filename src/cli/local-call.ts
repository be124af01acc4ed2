// How a command reaches the service: over the database's own socket, or through a service of its own where none runs.
import { existsSync } from 'node:fs'
import { Refused } from '../client/errors.js'
import { createHttp } from '../client/http.js'
import type { Config } from '../config/schemas.js'
import { localSocket } from '../listen.js'
import { CommandRefused, type Output } from './output.js'

/** The answer is one of ours, so its shape is that of the route; it is a text where that is asked for. */
export type Call = <T>(method: string, path: string, body?: unknown, accept?: string) => Promise<T>

export interface Reach {
  /** A database that is not there is made. */
  mayCreate?: boolean
  /** What is asked for depends on the rules. */
  needsRules?: boolean
}

/** Through the running service if there is one; else the database is opened for as long as it takes. */
export function withCall(
  config: Config,
  output: Output,
  use: (call: Call) => Promise<void>,
  reach: Reach = {},
): Promise<void> {
  return withSocket(config, output, (path) => use(callOver(path)), reach)
}

/** The same, for whoever speaks through the socket in their own way. */
export async function withSocket(
  config: Config,
  { tell }: Output,
  use: (socketPath: string) => Promise<void>,
  { mayCreate = false, needsRules = false }: Reach = {},
): Promise<void> {
  if (!mayCreate && !existsSync(config.dbPath)) {
    throw new CommandRefused(`There is no database ${config.dbPath}; say --db-path as the service does.`)
  }
  const path = localSocket(config.dbPath)
  if (path !== null && (await answers(path))) return use(path)
  if (mayCreate) tell(`No service runs on ${config.dbPath}: what is asked for is written there, for one that will.`)
  // Only now: it is most of the program.
  const { withService } = await import('./own-service.js')
  await withService(config, needsRules, use)
}

/** Through the running service, or not at all: `why` says what it is needed for. */
export async function withRunning(config: Config, why: string, use: (call: Call) => Promise<void>): Promise<void> {
  const path = localSocket(config.dbPath)
  if (path === null || !(await answers(path))) {
    const sentence = `No service runs on ${config.dbPath}, or none that can be reached from here.`
    throw new CommandRefused(`${sentence} ${why}: start it, or say --db-path as it does.`)
  }
  return use(callOver(path))
}

async function answers(socketPath: string): Promise<boolean> {
  try {
    await createHttp({ socketPath }).call('GET', '/health')
    return true
  } catch (error) {
    return error instanceof Refused
  }
}

function callOver(socketPath: string): Call {
  const http = createHttp({ socketPath })
  return async <T>(method: string, path: string, body?: unknown, accept = 'application/json') => {
    try {
      return (await http.call<T>(method, path, { body, headers: { accept } })).body
    } catch (error) {
      throw error instanceof Refused ? new CommandRefused(error.message, error.problem) : error
    }
  }
}
