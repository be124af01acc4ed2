// Plays an ntfy server: one topic that a token may write to, messages as a subscriber sees them now, and the limits of the
// real one.
import { type Call, type ChatServer, type Teardown, type Reply, startChatServer } from './chat-server.js'

export interface NtfyMessage {
  id: string
  sequenceId: string
  title: string
  message: string
  priority: number
  tags: string[]
  click: string | null
  actions: { action: string; label: string; url: string }[]
  /** How often it took the place of another. */
  updates: number
}

export interface FakeNtfy extends ChatServer {
  topic: string
  token: string
  /** As they are seen now: one that came with a known sequence has taken the place of the former. */
  messages: NtfyMessage[]
  /** The settings that lead here. */
  config: { ntfyUrl: string; ntfyTopic: string; ntfyToken: string }
  /** Before 2.16: every message is a new one. */
  forgetSequences(): void
  /** From now on no faster than the real one: sixty requests at once, and then one every five seconds. */
  keepPace(now: () => number): void
}

const maxBytes = 4096

export async function startNtfy(t: Teardown): Promise<FakeNtfy> {
  const topic = 'holdpoint-4f1c9d27aa'
  const token = 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2'
  const messages: NtfyMessage[] = []
  let count = 0
  let knowsSequences = true
  let clock: (() => number) | null = null
  let bucket = { left: 60, at: 0 }

  function answer(call: Call): Reply {
    if (call.method === 'GET' && call.path === '/v1/health') return { status: 200, body: { healthy: true } }
    const { authorization } = call.headers
    if (authorization !== undefined && authorization !== `Bearer ${token}`) return refuse(401, 40101, 'unauthorized')
    if (call.method === 'GET' && call.path === '/v1/account') {
      return { status: 200, body: { username: authorization === undefined ? '*' : 'holdpoint' } }
    }
    if (call.path !== '/') return refuse(404, 40401, 'page not found')
    if (call.method !== 'POST' && call.method !== 'PUT') return { status: 200, body: '<html>ntfy</html>' }
    if (isTooFast()) return refuse(429, 42901, 'limit reached: too many requests, please be nice')
    return publish(call.body, authorization !== undefined)
  }

  function isTooFast(): boolean {
    if (clock === null) return false
    const now = clock()
    bucket = { left: Math.min(60, bucket.left + (now - bucket.at) / 5000), at: now }
    if (bucket.left < 1) return true
    bucket.left -= 1
    return false
  }

  function publish(body: any, isKnown: boolean): Reply {
    if (typeof body !== 'object' || body === null) return refuse(400, 40024, 'request body must be valid JSON')
    if (!/^[-_A-Za-z0-9]{1,64}$/.test(String(body.topic))) return refuse(400, 40009, 'invalid request: topic invalid')
    if (body.topic !== topic || !isKnown) return refuse(403, 40301, 'forbidden')
    const problem = problemWith(body)
    if (problem !== null) return refuse(400, 40017, `invalid request: ${problem}`)
    count += 1
    const id = `n${count}`
    const sequenceId = knowsSequences ? (body.sequence_id ?? id) : id
    const isFile = Buffer.byteLength(body.message) > maxBytes
    const at = messages.findIndex((one) => one.sequenceId === sequenceId)
    const message: NtfyMessage = {
      id,
      sequenceId,
      title: body.title ?? topic,
      message: isFile ? 'You received a file: attachment.txt' : body.message,
      priority: body.priority ?? 3,
      tags: body.tags ?? [],
      click: body.click ?? null,
      actions: body.actions ?? [],
      updates: at < 0 ? 0 : messages[at]!.updates + 1,
    }
    if (at < 0) messages.push(message)
    else messages[at] = message
    const sequence = sequenceId === id ? {} : { sequence_id: sequenceId }
    return { status: 200, body: { id, event: 'message', topic, ...sequence, message: message.message } }
  }

  const server = await startChatServer(t, answer)
  return {
    ...server,
    topic,
    token,
    messages,
    config: { ntfyUrl: server.url, ntfyTopic: topic, ntfyToken: token },
    forgetSequences: () => void (knowsSequences = false),
    keepPace(now) {
      clock = now
      bucket = { left: 60, at: now() }
    },
  }
}

/** An answer in ntfy's shape, also for scripting. */
export function refuse(http: number, code: number, error: string): Reply {
  return { status: http, body: { code, http, error } }
}

/** What the limits on a message forbid, or null. */
function problemWith({ title, message, priority, tags = [], click, actions = [], sequence_id }: any): string | null {
  const isUrl = (url: unknown) => typeof url === 'string' && URL.canParse(url)
  if (typeof message !== 'string' || message === '') return 'message is empty'
  if (title !== undefined && (typeof title !== 'string' || Buffer.byteLength(title) > 1024)) return 'title too large'
  if (priority !== undefined && ![1, 2, 3, 4, 5].includes(priority)) return 'invalid priority parameter'
  if (!Array.isArray(tags) || Buffer.byteLength(tags.join(',')) > 512) return 'tags too large'
  if (click !== undefined && !isUrl(click)) return 'click is no URL'
  if (!Array.isArray(actions) || actions.length > 3) return 'actions invalid: only 3 actions allowed'
  if (actions.some(({ action, label, url }: any) => action !== 'view' || !label || !isUrl(url)))
    return 'actions invalid'
  if (sequence_id !== undefined && !/^[-_A-Za-z0-9]{1,64}$/.test(sequence_id)) return 'sequence ID invalid'
  return null
}
