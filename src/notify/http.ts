// One request to a chat service, with its answers and failures sorted into outcomes.
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import { attempt } from './attempt.js'
import { boundPause, type SendOutcome } from './chat.js'

/** Loaded with the first message: a service without chats does without. */
let loaded: ReturnType<typeof loadClient> | undefined

async function loadClient() {
  const { Agent, request } = await import('undici')
  // A chat's answer to one message is a few kilobytes; anything near this limit is not a chat.
  const dispatcher = new Agent({ maxResponseSize: 256 * 1024, connect: { timeout: 10_000 } })
  return { dispatcher, request }
}

export interface Answer {
  status: number
  /** The parsed body, or an empty object if it was no JSON object. */
  body: Record<string, unknown>
  retryAfterMs: number | null
}

export type NotSent = Exclude<SendOutcome, { kind: 'sent' }>

/** No answer, or a broken one. */
export type Failed = Extract<SendOutcome, { kind: 'failed' }>

export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string>,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Answer | Failed> {
  return send('POST', url, body, headers, timeoutMs, stop)
}

/** The body goes as JSON. */
export async function send(
  method: 'POST' | 'PATCH' | 'PUT',
  url: string,
  body: unknown,
  headers: Record<string, string>,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Answer | Failed> {
  const json = { method, headers: { 'content-type': 'application/json', ...headers } }
  return ask(url, { ...json, body: JSON.stringify(body) }, timeoutMs, stop)
}

export async function get(
  url: string,
  headers: Record<string, string>,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Answer | Failed> {
  return ask(url, { method: 'GET', headers }, timeoutMs, stop)
}

async function ask(
  url: string,
  options: { method: string; headers: Record<string, string>; body?: string },
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Answer | Failed> {
  try {
    return await attempt(timeoutMs, stop, async (signal) => {
      const { dispatcher, request } = await (loaded ??= loadClient())
      const response = await request(url, { ...options, dispatcher, signal })
      const text = await response.body.text()
      const seconds = Number(response.headers['retry-after'])
      return {
        status: response.statusCode,
        body: parseObject(text),
        retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null,
      }
    })
  } catch (error) {
    return { kind: 'failed', error: reasonOf(error) }
  }
}

/** Sorts what every chat service answers alike; `describe` is its own words for what went wrong. */
export function judge(answer: Answer, retryAfterMs: number | null, describe: string, ok: boolean): SendOutcome {
  return ok ? { kind: 'sent' } : judgeRefusal(answer, retryAfterMs, describe)
}

/** The same for what was not taken. */
export function judgeRefusal(answer: Answer, retryAfterMs: number | null, describe: string): NotSent {
  const { status } = answer
  const error = cut(visibleLine(`${status} ${describe || 'without a reason'}`), 300)
  if (status === 429) {
    const wished = retryAfterMs ?? answer.retryAfterMs ?? 0
    return {
      kind: 'busy',
      retryAfterMs: boundPause(wished),
      error,
    }
  }
  if (status === 401 || status === 403 || status === 404) return { kind: 'refused', fault: 'channel', error }
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'refused', fault: 'message', error }
  return { kind: 'failed', error }
}

/** What a service said about itself, if it said anything. Some servers repeat the URL, and with it the token. */
export function wordsOf(text: unknown, secret: string): string {
  if (typeof text !== 'string') return ''
  return secret === '' ? text : text.replaceAll(secret, '[token]')
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

// The code alone: messages of network errors may carry the URL, and with it the token.
function reasonOf(error: unknown): string {
  const { code, name } = error as { code?: string; name?: string }
  return `network error (${code ?? name ?? 'unknown'})`
}
