// Plays Telegram's Bot API: one bot, one chat, getMe and getChat, and sendMessage with the limits and the HTML rules of the
// real one.
import type { Test } from 'tap'
import { type Call, type ChatServer, type Reply, startChatServer } from './chat-server.js'

export interface TelegramMessage {
  chatId: string
  html: string
  text: string
  entities: Entity[]
}

export interface FakeTelegram extends ChatServer {
  botToken: string
  chat: string
  messages: TelegramMessage[]
  /** The settings that lead here. */
  config: { telegramBotToken: string; telegramHomeChannel: string; telegramApiBase: string }
  /** The group becomes a supergroup: the old id is answered with the new one. */
  migrateTo(chat: string): void
  /** From now on no faster than the real one: a message a second, and in a group twenty a minute. */
  keepPace(now: () => number): void
}

const maxText = 4096

/** The chat is a group, or with a positive id that of one person. */
export async function startTelegram(t: Test, firstChat = '-1001'): Promise<FakeTelegram> {
  const botToken = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'
  const messages: TelegramMessage[] = []
  let chat = firstChat
  let formerChat: string | null = null
  let clock: (() => number) | null = null
  /** When the last messages were taken. */
  const taken: number[] = []

  /** How long it takes no message. */
  function pauseMs(now: number): number {
    const second = (taken.at(-1) ?? -Infinity) + 1000
    const minute = chat.startsWith('-') ? (taken.at(-20) ?? -Infinity) + 60_000 : -Infinity
    return Math.max(0, Math.max(second, minute) - now)
  }

  function answer({ method, path, query, body }: Call): Reply {
    const [, token, command] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (token === undefined) return refuse(404, 'Not Found')
    if (token !== botToken) return refuse(401, 'Unauthorized')
    if (command === 'getMe') return { status: 200, body: { ok: true, result: { id: 110201543, username: 'hold_bot' } } }
    if (command === 'getChat') {
      if (query.get('chat_id') !== chat) return refuse(400, 'Bad Request: chat not found')
      return { status: 200, body: { ok: true, result: { id: Number(chat), title: 'Approvals' } } }
    }
    if (command !== 'sendMessage' || method !== 'POST') return refuse(404, 'Not Found')
    if (typeof body !== 'object' || body === null) return refuse(400, 'Bad Request: message text is empty')
    if (String(body.chat_id) === formerChat) {
      const description = 'Bad Request: group chat was upgraded to a supergroup chat'
      return refuse(400, description, { migrate_to_chat_id: Number(chat) })
    }
    if (String(body.chat_id) !== chat) return refuse(400, 'Bad Request: chat not found')
    if (body.parse_mode !== 'HTML') return refuse(400, 'Bad Request: unsupported parse_mode')
    const parsed = parseHtml(String(body.text ?? ''))
    if ('error' in parsed) return refuse(400, `Bad Request: can't parse entities: ${parsed.error}`)
    if (parsed.text.trim() === '') return refuse(400, 'Bad Request: message text is empty')
    if (parsed.text.length > maxText) return refuse(400, 'Bad Request: message is too long')
    const pause = clock === null ? 0 : pauseMs(clock())
    if (pause > 0) return tooMany(Math.ceil(pause / 1000))
    if (clock !== null) taken.push(clock())
    messages.push({ chatId: String(body.chat_id), html: body.text, ...parsed })
    const result = { message_id: messages.length, date: 0, chat: { id: Number(chat) }, text: parsed.text }
    return { status: 200, body: { ok: true, result } }
  }

  const server = await startChatServer(t, answer)
  return {
    ...server,
    botToken,
    chat,
    messages,
    config: { telegramBotToken: botToken, telegramHomeChannel: chat, telegramApiBase: server.url },
    migrateTo(next) {
      formerChat = chat
      chat = next
    },
    keepPace: (now) => void (clock = now),
  }
}

/** An answer in Telegram's shape, also for scripting. */
export function refuse(status: number, description: string, parameters?: Record<string, unknown>): Reply {
  return { status, body: { ok: false, error_code: status, description, ...(parameters && { parameters }) } }
}

export function tooMany(retryAfter: unknown): Reply {
  return refuse(429, 'Too Many Requests: retry later', { retry_after: retryAfter })
}

export interface Entity {
  type: string
  text: string
}

const tags = new Set(['b', 'strong', 'i', 'em', 'u', 'ins', 's', 'strike', 'del', 'code', 'pre', 'a', 'blockquote'])
const named: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"' }

/** Telegram's HTML: known tags, properly nested, nothing inside code; every other <, > and & must be escaped. */
export function parseHtml(html: string): { text: string; entities: Entity[] } | { error: string } {
  const open: { tag: string; start: number; entity: Entity }[] = []
  const entities: Entity[] = []
  const pieces = /<(\/?)([a-z]+)>|&(?:(lt|gt|amp|quot)|#(\d{1,7}));|([<>&])|([^<>&]+)/g
  let text = ''
  for (const [, slash, tag, name, code, stray, plain] of html.matchAll(pieces)) {
    if (stray !== undefined) return { error: `unescaped '${stray}' at ${text.length}` }
    if (tag === undefined) {
      text += plain ?? (name === undefined ? String.fromCodePoint(Number(code)) : named[name]!)
    } else if (!tags.has(tag)) {
      return { error: `unsupported start tag "${tag}"` }
    } else if (slash === '') {
      if (open.some((one) => one.tag === 'code' || one.tag === 'pre')) return { error: `"${tag}" inside code` }
      const entity = { type: tag, text: '' }
      entities.push(entity)
      open.push({ tag, start: text.length, entity })
    } else {
      const last = open.pop()
      if (last?.tag !== tag) return { error: `unexpected end tag "${tag}"` }
      last.entity.text = text.slice(last.start)
    }
  }
  if (open.length > 0) return { error: `can't find end tag for "${open[0]!.tag}"` }
  return { text, entities }
}
