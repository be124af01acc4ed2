// How a command reaches the service: over the database's own socket, or through a service of its own where none runs.
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import type { Config } from '../config/schemas.js'
import { visibleLine } from '../core/visible.js'
import { localSocket } from '../listen.js'
import { CommandRefused, type Output, type Problem } from './output.js'

/** The answer is one of ours, so its shape is that of the route; it is a text where that is asked for. */
export type Call = <T>(method: string, path: string, body?: unknown, accept?: string) => Promise<T>

export interface Reach {
  /** A database that is not there is made. */
  mayCreate?: boolean
  /** What is asked for depends on the rules. */
  needsRules?: boolean
}

/** Through the running service if there is one; else the database is opened for as long as it takes. */
export async function withCall(
  config: Config,
  { tell }: Output,
  use: (call: Call) => Promise<void>,
  { mayCreate = false, needsRules = false }: Reach = {},
): Promise<void> {
  if (!mayCreate && !existsSync(config.dbPath)) {
    throw new CommandRefused(`There is no database ${config.dbPath}; say --db-path as the service does.`)
  }
  const path = localSocket(config.dbPath)
  if (path !== null && (await answers(path))) return use(callOver(path))
  if (mayCreate) tell(`No service runs on ${config.dbPath}: what is asked for is written there, for one that will.`)
  // Only now: it is most of the program.
  const { withService } = await import('./own-service.js')
  await withService(config, needsRules, (socket) => use(callOver(socket)))
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

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request({ socketPath: path, path: '/keys', method: 'HEAD' }, (response) => {
      response.resume()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
    probe.end()
  })
}

function callOver(socketPath: string): Call {
  return async <T>(method: string, path: string, body?: unknown, accept = 'application/json') => {
    const payload = body === undefined ? '' : JSON.stringify(body)
    const sending =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
    const headers = { accept, ...sending }
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request({ socketPath, path, method, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.once('error', reject)
      sent.end(payload)
    })
    if (status < 400) return (accept === 'text/plain' ? text : JSON.parse(text)) as T
    const problem = JSON.parse(text) as Problem & { error?: string }
    throw new CommandRefused(visibleLine(problem.error ?? `The service answered ${status}.`), problem)
  }
}
