// How a command reaches a service over HTTP: where it is, with which key, and what it says when it is not reached.
import { readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isLoopback } from '../access/open-mode.js'
import type { Config } from '../config/schemas.js'
import { visibleLine } from '../core/visible.js'
import { type Context, wrong } from './key-commands.js'
import { type Call, withCall } from './local-call.js'
import { CommandRefused, type Problem } from './output.js'

export interface Address {
  url: URL
  key: string | null
}

/** Nobody answered, or somebody who is no Holdpoint. What was asked for may have been done or not. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

/** Longer than any answer takes that is not waited for. */
const patienceMs = 30_000

/** By the flags, else by the environment, else where the service on this machine listens. */
export function addressOf({ given: { options }, config, remote }: Context): Address {
  const text = (options.url as string | undefined) ?? remote.url
  const source = options.url === undefined ? 'HOLDPOINT_URL' : '--url'
  const file = options['key-file'] as string | undefined
  const key = file === undefined ? remote.key : readKey(file)
  return { url: text === undefined ? ownUrl(config) : readUrl(text, source), key: key ?? null }
}

function readUrl(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '') {
    throw new CommandRefused(`${source} must be an address as https://holdpoint.example.com, with nothing behind it.`)
  }
  return url
}

function readKey(file: string): string {
  let text
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandRefused(`--key-file cannot be read: ${(error as Error).message}`)
  }
  if (!/^\S{1,500}$/.test(text)) throw wrong('key-file', 'must have a key in it, and nothing else')
  return text
}

function ownUrl({ host, port }: Config): URL {
  if (port === 0) throw new CommandRefused('Say where the service is, with --url or HOLDPOINT_URL.')
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return new URL(`http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`)
}

/** Whether anything says that it is to be asked over HTTP. */
function saysHttp({ given: { options }, remote }: Context): boolean {
  return [options.url, options['key-file'], remote.url, remote.key].some((one) => one !== undefined)
}

/** For what is read, and for the whitelist: over HTTP where that is said, else as the owner of the database. */
export async function withReading(
  context: Context,
  use: (call: Call) => Promise<void>,
  reach: { needsRules?: boolean } = {},
): Promise<void> {
  if (saysHttp(context)) return use(callOverHttp(addressOf(context), context.output.tell))
  return withCall(context.config, context.output, use, reach)
}

/** For deciding: over HTTP alone. */
export function callToDecide(context: Context): Call {
  return callOverHttp(addressOf(context), context.output.tell)
}

export function callOverHttp(address: Address, tell: (text: string) => void): Call {
  const { url, key } = address
  if (key !== null && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    tell(`The key goes to ${url.host} unencrypted: whoever is in between can read it. Use an https address.`)
  }
  return async <T>(method: string, path: string, body?: unknown, accept = 'application/json') => {
    const payload = body === undefined ? '' : JSON.stringify(body)
    const sending =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }
    const response = await send(address, method, path, { accept, ...sending }, payload)
    const text = await textOf(response).catch((error: Error) => Promise.reject(unreachable(url, error)))
    return readAnswer<T>(response.statusCode ?? 0, text, address)
  }
}

/** The events that come, one after the other, until the connection ends. The first is when it stands. */
export async function* eventsOverHttp(address: Address, path: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await send(address, 'GET', path, { accept: 'text/event-stream' }, '', signal)
  const status = response.statusCode ?? 0
  if (status !== 200) {
    readAnswer(status, await textOf(response), address)
    throw notOurs(address.url, status)
  }
  response.setEncoding('utf8')
  let rest = ''
  for await (const chunk of response as AsyncIterable<string>) {
    rest += chunk
    const events = rest.split('\n\n')
    rest = events.pop()!
    yield* events
  }
}

function send(
  { url, key }: Address,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  payload: string,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }
  const target = new URL(`${url.pathname.replace(/\/$/, '')}${path}`, url)
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(
      target,
      { method, headers: { ...headers, ...authorization }, ...(signal === undefined ? {} : { signal }) },
      resolve,
    )
    sent.setTimeout(patienceMs, () => sent.destroy(new Error(`no answer within ${patienceMs / 1000} s`)))
    sent.once('error', (error) => reject(unreachable(url, error)))
    sent.end(payload)
  })
}

function readAnswer<T>(status: number, text: string, { url, key }: Address): T {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw notOurs(url, status)
  }
  if (status >= 200 && status < 300) return body as T
  const problem = body as Problem & { error?: string }
  if (typeof problem.error !== 'string' || typeof problem.code !== 'string') throw notOurs(url, status)
  if (problem.code === 'unauthorized' && key === null) {
    const how = 'give one in HOLDPOINT_KEY, or in a file with --key-file'
    throw new CommandRefused(`${url.host} asks for a key: ${how}.`, problem)
  }
  throw new CommandRefused(visibleLine(problem.error), problem)
}

function notOurs(url: URL, status: number): Unreachable {
  return new Unreachable(`What answers at ${url.host} is no Holdpoint: it said ${status}. Look at --url and HOLDPOINT_URL.`)
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8')
  let text = ''
  for await (const chunk of response as AsyncIterable<string>) text += chunk
  return text
}

function unreachable(url: URL, error: Error): Unreachable {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'ECONNREFUSED' ? 'nothing listens there' : visibleLine(message || code || 'no answer')
  return new Unreachable(`${url.host} is not reached: ${why}. Start the service, or say where it is with --url or HOLDPOINT_URL.`)
}
