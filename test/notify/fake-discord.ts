// Plays Discord: one bot in one channel, and one webhook, which say who they are, with the limits on messages and embeds of the real one.
import type { Test } from 'tap'
import { type Call, type ChatServer, type Reply, startChatServer } from './chat-server.js'

export interface FakeDiscord extends ChatServer {
  botToken: string
  webhookToken: string
  /** The bodies of the messages that were taken. */
  messages: any[]
  /** The settings that lead here, for a bot and for a webhook. */
  config: { discordBotToken: string; discordHomeChannel: string; discordApiBase: string }
  webhookConfig: { discordWebhookUrl: string }
}

const channelId = '1122334455'

export async function startDiscord(t: Test): Promise<FakeDiscord> {
  const botToken = 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs'
  const webhookToken = 'Wh00kT0ken-abcdefghijklmnopqrstuvwxyz'
  const messages: any[] = []
  const byNonce = new Map<string, string>()

  function answer(call: Call): Reply {
    const agent = call.headers['user-agent']
    if (agent === undefined || !/^DiscordBot \(\S+, \S+\)/.test(String(agent))) {
      return refuse(403, 'internal network error', 40333)
    }
    if (call.method === 'GET') return tell(call)
    if (call.method !== 'POST') return refuse(405, '405: Method Not Allowed', 0)
    const [, kind, id, last] = /^\/api\/v10\/(channels|webhooks)\/(\d+)\/([\w-]+)$/.exec(call.path) ?? []
    if (kind === 'webhooks') {
      if (last !== webhookToken) return refuse(404, 'Unknown Webhook', 10015)
      const reply = take(call.body, false)
      // Without `wait` nobody learns what became of it.
      return call.query.get('wait') === 'true' ? reply : { status: 204 }
    }
    if (kind !== 'channels' || last !== 'messages') return refuse(404, '404: Not Found', 0)
    if (call.headers.authorization !== `Bot ${botToken}`) return refuse(401, '401: Unauthorized', 0)
    if (id !== channelId) return refuse(404, 'Unknown Channel', 10003)
    return take(call.body, true)
  }

  /** Who asks, and what there is. */
  function tell({ path, headers }: Call): Reply {
    if (path === `/api/v10/webhooks/77/${webhookToken}`)
      return { status: 200, body: { id: '77', channel_id: channelId, token: webhookToken } }
    if (path.startsWith('/api/v10/webhooks/')) return refuse(404, 'Unknown Webhook', 10015)
    if (headers.authorization !== `Bot ${botToken}`) return refuse(401, '401: Unauthorized', 0)
    if (path === '/api/v10/users/@me') return { status: 200, body: { id: '198622483471925248', username: 'hold' } }
    if (path === `/api/v10/channels/${channelId}`) return { status: 200, body: { id: channelId, name: 'approvals' } }
    return refuse(404, 'Unknown Channel', 10003)
  }

  function take(body: any, isBot: boolean): Reply {
    const problems = problemsOf(body, isBot)
    if (problems.length > 0) return { ...refuse(400, `Invalid Form Body: ${problems.join('; ')}`, 50035) }
    const known = body.enforce_nonce === true ? byNonce.get(body.nonce) : undefined
    if (known !== undefined) return { status: 200, body: { id: known, nonce: body.nonce } }
    messages.push(body)
    const id = String(9000 + messages.length)
    if (body.nonce !== undefined) byNonce.set(body.nonce, id)
    return { status: 200, body: { id, channel_id: channelId, nonce: body.nonce } }
  }

  const server = await startChatServer(t, answer)
  const apiBase = `${server.url}/api/v10`
  return {
    ...server,
    botToken,
    webhookToken,
    messages,
    config: { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase },
    webhookConfig: { discordWebhookUrl: `${apiBase}/webhooks/77/${webhookToken}` },
  }
}

/** An answer in Discord's shape, also for scripting. */
export function refuse(status: number, message: string, code = 0): Reply {
  return { status, body: { message, code } }
}

export function tooMany(retryAfter: unknown): Reply {
  return { status: 429, body: { message: 'You are being rate limited.', retry_after: retryAfter, global: false } }
}

/** What the limits on a message forbid, one sentence each; pinging is forbidden altogether. */
export function problemsOf(message: any, isBot = true): string[] {
  const problems: string[] = []
  const check = (name: string, text: unknown, max: number, isOptional = false) => {
    if (text === undefined && isOptional) return 0
    if (typeof text !== 'string') problems.push(`${name} must be text`)
    else if (text.trim() === '') problems.push(`${name} is required`)
    else if (text.length > max) problems.push(`${name} must be ${max} or fewer in length`)
    else return text.length
    return 0
  }
  if (typeof message !== 'object' || message === null) return ['no message']
  if (JSON.stringify(message.allowed_mentions) !== '{"parse":[]}') problems.push('allowed_mentions lets somebody ping')
  const { content, embeds = [], nonce, enforce_nonce } = message
  check('content', content, 2000, true)
  if (content === undefined && embeds.length === 0) problems.push('Cannot send an empty message')
  if (embeds.length > 10) problems.push('at most 10 embeds')
  let total = 0
  for (const { title, description, fields = [], footer } of embeds) {
    total += check('title', title, 256, true) + check('description', description, 4096, true)
    total += check('footer', footer?.text, 2048, true)
    if (fields.length > 25) problems.push('at most 25 fields')
    for (const { name, value } of fields) total += check('field name', name, 256) + check('field value', value, 1024)
  }
  if (total > 6000) problems.push('embeds exceed 6000 characters')
  if (isBot && nonce !== undefined && (typeof nonce !== 'string' || nonce.length > 25)) problems.push('nonce too long')
  if (enforce_nonce === true && nonce === undefined) problems.push('enforce_nonce needs a nonce')
  return problems
}

/** What stands in code blocks and spans, found as Discord's client finds them, and what is left to be formatted. */
export function splitCode(markdown: string): { code: string[]; rest: string } {
  const block = /^```(?:[a-z0-9_+\-.#]+?\n)?\n*([^\n][^]*?)\n*```/i
  const span = /^(`+)([^]*?[^`])\1(?!`)/
  const code: string[] = []
  let rest = ''
  for (let at = 0; at < markdown.length;) {
    const here = markdown.slice(at)
    const blocked = block.exec(here)
    const spanned = blocked === null ? span.exec(here) : null
    if (blocked !== null) code.push(blocked[1]!)
    if (spanned !== null) code.push(spanned[2]!)
    const found = (blocked ?? spanned)?.[0]
    if (found === undefined) rest += markdown[at]
    at += found?.length ?? 1
  }
  return { code, rest }
}
