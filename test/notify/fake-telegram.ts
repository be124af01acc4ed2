// Plays Telegram's Bot API: one bot in some chats, with the methods that Holdpoint uses, the limits and the HTML rules of the real
// one; messages as people see them now; and people, who press and write.
import { type Call, type ChatServer, type Reply, startChatServer, type Teardown } from './chat-server.js'

export interface TelegramMessage {
  id: number
  chatId: string
  html: string
  text: string
  entities: Entity[]
  /** In rows. */
  buttons: TelegramButton[][]
  /** To which it is a reply. */
  replyTo: number | null
  forceReply: { selective: boolean } | null
  /** All that it showed before. */
  history: string[]
}

export interface TelegramButton {
  text: string
  callback_data?: string
  url?: string
}

/** What whoever pressed was shown. */
export interface TelegramAnswer {
  text: string
  isAlert: boolean
}

export interface TelegramUser {
  id: number
  isBot?: boolean
  username?: string
}

/** What a test may say of a press or of words beside the usual. */
export interface Given {
  chat?: string
  /** More fields of the update's query or message, or others in place of the usual ones. */
  fields?: Record<string, unknown>
}

export interface FakeTelegram extends ChatServer {
  botToken: string
  botName: string
  chat: string
  messages: TelegramMessage[]
  /** The settings that lead here. */
  config: { telegramBotToken: string; telegramHomeChannel: string; telegramApiBase: string }
  /** The same as the environment has them. */
  env: Record<string, string>
  /** The group becomes a supergroup: the old id is answered with the new one, and its messages stay behind. */
  migrateTo(chat: string): void
  /** From now on no faster than the real one: a message a second, and in a group twenty a minute, edits among them. */
  keepPace(now: () => number): void
  /** Somebody presses a button; what they are shown, once it is answered. */
  press(message: TelegramMessage, label: string, by: number | TelegramUser): Promise<TelegramAnswer>
  /** The same with data of their own, and with or without a message. */
  pressData(
    data: string,
    by: number | TelegramUser,
    message: TelegramMessage | null,
    given?: Given,
  ): Promise<TelegramAnswer>
  /** Somebody writes in a chat; without one, to the bot alone. The number of the message. */
  write(text: string, by: number | TelegramUser, given?: Given & { replyTo?: TelegramMessage }): number
  /** Whatever it holds; the number of the update. */
  send(update: object): number
  /** Sends an update that was confirmed or delivered once more. */
  sendAgain(updateId: number): void
  /** The numbers of the updates that nobody has confirmed. */
  waiting(): number[]
  /** The next one has this number: after a quiet week it is chosen at random. */
  countFrom(updateId: number): void
  /** How the home chat is: what kind, what the bot is in it, and what all may do there. */
  setHome(home: Partial<Home>): void
  /** Who has blocked the bot, or never wrote to it. */
  block(id: number, how?: 'blocked' | 'unknown'): void
  remove(message: TelegramMessage): void
  /** Another program takes the updates: every poll but its own is ended. False: it does no more. */
  pollElsewhere(is?: boolean): void
  /** Where updates are sent for a webhook's URL, and how that went the last time. */
  webhook: Webhook
  /** What the bot's menu lists. */
  menu: { command: string; description: string }[]
}

export interface Home {
  type: 'group' | 'supergroup' | 'channel' | 'private'
  username?: string
  member: Record<string, unknown>
  permissions: Record<string, unknown>
}

export interface Webhook {
  url: string
  /** In place of the host of the URL, which nobody here has. */
  deliverTo: string | null
  statuses: number[]
  lastError: string | null
}

const maxText = 4096
const maxEntities = 100
/** How long after it was pressed a button still shows an answer. */
const maxQueryAgeMs = 60_000

interface Chat {
  id: string
  type: Home['type']
  messages: number
}

interface Query {
  at: number
  answered(answer: TelegramAnswer): void
}

/** The chat is a group, or with a positive id that of one person. */
export async function startTelegram(t: Teardown, firstChat = '-1001'): Promise<FakeTelegram> {
  const botToken = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'
  const bot = { id: 110201543, is_bot: true, first_name: 'Holdpoint', username: 'hold_bot' }
  const messages: TelegramMessage[] = []
  const chats = new Map<string, Chat>()
  const blocked = new Map<string, 'blocked' | 'unknown'>()
  const queries = new Map<string, Query>()
  const updates = new Map<number, object>()
  const all = new Map<number, object>()
  const webhook: Webhook & { secret: string } = { url: '', secret: '', deliverTo: null, statuses: [], lastError: null }
  const menu: FakeTelegram['menu'] = []
  let home: Home = {
    type: isPrivate(firstChat) ? 'private' : 'supergroup',
    member: { status: 'member' },
    permissions: { can_send_messages: true },
  }
  let chat = firstChat
  let formerChat: string | null = null
  let clock: (() => number) | null = null
  let updateCount = 870_000_000
  let queryCount = 0
  let isPolledElsewhere = false
  let isOver = false
  /** Ends the poll that waits. */
  let endPoll: ((reply: Reply | null) => void) | null = null
  /** When the last messages and edits were taken. */
  const taken: number[] = []
  chatOf(firstChat)

  /** How long it takes no message. */
  function pauseMs(now: number): number {
    const second = (taken.at(-1) ?? -Infinity) + 1000
    const minute = chat.startsWith('-') ? (taken.at(-20) ?? -Infinity) + 60_000 : -Infinity
    return Math.max(0, Math.max(second, minute) - now)
  }

  async function answer({ path, query, body, method }: Call): Promise<Reply> {
    const [, token, name] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (token === undefined || name === undefined) return refuse(404, 'Not Found')
    if (token !== botToken)
      return refuse(token.includes(':') ? 401 : 404, token.includes(':') ? 'Unauthorized' : 'Not Found')
    const given = method === 'POST' && typeof body === 'object' && body !== null ? body : Object.fromEntries(query)
    return (await methods[name]?.(given)) ?? refuse(404, 'Not Found')
  }

  const methods: Record<string, (body: any) => Reply | Promise<Reply>> = {
    getMe: () => done(bot),
    setMyCommands({ commands }) {
      const isGood = (one: any) => /^[a-z0-9_]{1,32}$/.test(one?.command) && /^.{1,256}$/.test(one?.description)
      if (!Array.isArray(commands) || commands.length > 100 || !commands.every(isGood)) {
        return refuse(400, 'Bad Request: BOT_COMMAND_INVALID')
      }
      menu.splice(0, Infinity, ...commands)
      return done(true)
    },
    getChat: (body) => inChat(body, (one) => done({ ...viewOf(one), permissions: home.permissions })),
    getChatMember: (body) =>
      inChat(body, () =>
        body.user_id === bot.id
          ? done({ user: bot, ...home.member })
          : refuse(400, 'Bad Request: PARTICIPANT_ID_INVALID'),
      ),
    sendMessage: (body) => inChat(body, (one) => takeMessage(one, body)),
    editMessageText: (body) => inChat(body, (one) => takeEdit(one, body)),
    answerCallbackQuery: takeAnswer,
    getUpdates: poll,
    setWebhook({ url, secret_token: secret = '' }) {
      if (url !== '' && !/^https:\/\/[^/:]+(:(443|80|88|8443))?\//.test(`${url}/`)) {
        return refuse(400, 'Bad Request: bad webhook: HTTPS URL must be provided for webhook')
      }
      if (secret !== '' && !/^[\w-]{1,256}$/.test(secret)) return refuse(400, 'Bad Request: secret token is invalid')
      Object.assign(webhook, { url, secret })
      endPoll?.(refuse(409, 'Conflict: terminated by setWebhook request'))
      void deliver()
      return done(true)
    },
    deleteWebhook() {
      Object.assign(webhook, { url: '', secret: '' })
      return done(true)
    },
    getWebhookInfo: () =>
      done({
        url: webhook.url,
        has_custom_certificate: false,
        pending_update_count: updates.size,
        ...(webhook.lastError === null ? {} : { last_error_date: 1, last_error_message: webhook.lastError }),
      }),
  }

  // -- messages --------------------------------------------------------------------------------------------------------

  function inChat({ chat_id: id }: { chat_id?: unknown }, run: (chat: Chat) => Reply): Reply {
    const wanted = typeof id === 'string' || typeof id === 'number' ? String(id) : ''
    if (wanted === formerChat) {
      const description = 'Bad Request: group chat was upgraded to a supergroup chat'
      return refuse(400, description, { migrate_to_chat_id: Number(chat) })
    }
    const named = home.username !== undefined && wanted.toLowerCase() === `@${home.username}`.toLowerCase()
    if (blocked.get(wanted) === 'blocked') return refuse(403, 'Forbidden: bot was blocked by the user')
    const found = named ? chats.get(chat) : chats.get(wanted)
    if (found === undefined || blocked.has(wanted)) return refuse(400, 'Bad Request: chat not found')
    if (found.id === chat && home.member.status === 'kicked') {
      return refuse(403, 'Forbidden: bot was kicked from the supergroup chat')
    }
    return run(found)
  }

  function chatOf(id: string): Chat {
    const known = chats.get(id)
    if (known !== undefined) return known
    const made: Chat = { id, type: isPrivate(id) ? 'private' : 'supergroup', messages: 0 }
    chats.set(id, made)
    return made
  }

  function viewOf({ id, type }: Chat) {
    const isHome = id === chat
    return {
      id: Number(id),
      type: isHome ? home.type : type,
      ...(isPrivate(id) ? {} : { title: 'Approvals' }),
      ...(isHome && home.username !== undefined ? { username: home.username } : {}),
    }
  }

  function view(message: TelegramMessage) {
    const { id, chatId, text, buttons } = message
    return {
      message_id: id,
      from: bot,
      chat: viewOf(chatOf(chatId)),
      date: 1_767_225_600,
      text,
      ...(buttons.length === 0 ? {} : { reply_markup: { inline_keyboard: buttons } }),
    }
  }

  /** What a message shows, or why it is refused. */
  function readContent(body: any): Pick<TelegramMessage, 'html' | 'text' | 'entities' | 'buttons'> | Reply {
    if (body.parse_mode !== 'HTML') return refuse(400, 'Bad Request: unsupported parse_mode')
    const parsed = parseHtml(String(body.text ?? ''))
    if ('error' in parsed) return refuse(400, `Bad Request: can't parse entities: ${parsed.error}`)
    if (parsed.text.trim() === '') return refuse(400, 'Bad Request: message text is empty')
    if (parsed.text.length > maxText) return refuse(400, 'Bad Request: message is too long')
    if (parsed.entities.length > maxEntities)
      return refuse(400, 'more than 100 entities: the rest would be shown as text')
    const buttons: TelegramButton[][] = body.reply_markup?.inline_keyboard ?? []
    const problem = buttons
      .flat()
      .map(problemWithButton)
      .find((one) => one !== null)
    if (problem !== undefined) return refuse(400, `Bad Request: ${problem}`)
    return { html: body.text, text: parsed.text, entities: parsed.entities, buttons }
  }

  function waitForPace(): Reply | null {
    const pause = clock === null ? 0 : pauseMs(clock())
    if (pause > 0) return tooMany(Math.ceil(pause / 1000))
    if (clock !== null) taken.push(clock())
    return null
  }

  function takeMessage(to: Chat, body: any): Reply {
    const muted = problemWithPosting(to)
    if (muted !== null) return refuse(400, `Bad Request: ${muted}`)
    const content = readContent(body)
    if ('status' in content) return content
    const busy = waitForPace()
    if (busy !== null) return busy
    const { message_id: answered, allow_sending_without_reply: mayGoAlone } = body.reply_parameters ?? {}
    const isThere = answered === undefined || answered <= to.messages
    if (!isThere && mayGoAlone !== true) return refuse(400, 'Bad Request: message to be replied not found')
    to.messages += 1
    const force = body.reply_markup?.force_reply === true ? { selective: body.reply_markup.selective === true } : null
    const message: TelegramMessage = {
      id: to.messages,
      chatId: to.id,
      ...content,
      replyTo: answered !== undefined && isThere ? answered : null,
      forceReply: force,
      history: [],
    }
    messages.push(message)
    return done(view(message))
  }

  function problemWithPosting({ id }: Chat): string | null {
    const { type, member, permissions } = home
    if (id !== chat || type === 'private') return null
    if (member.status === 'left') return 'chat not found'
    if (type === 'channel') {
      return member.can_post_messages === true ? null : 'need administrator rights in the channel chat'
    }
    const isMuted =
      (member.status === 'restricted' && member.can_send_messages !== true) ||
      (member.status === 'member' && permissions.can_send_messages === false)
    return isMuted ? 'not enough rights to send text messages to the chat' : null
  }

  function takeEdit({ id: inChat }: Chat, body: any): Reply {
    if (!Number.isSafeInteger(body.message_id)) return refuse(400, 'Bad Request: message identifier is not specified')
    const message = messages.find(({ id, chatId }) => id === body.message_id && chatId === inChat)
    if (message === undefined) return refuse(400, 'Bad Request: message to edit not found')
    if (message.forceReply !== null) return refuse(400, "Bad Request: message can't be edited")
    const content = readContent(body)
    if ('status' in content) return content
    const shown = (one: Pick<TelegramMessage, 'html' | 'buttons'>) => JSON.stringify([one.html, one.buttons])
    if (shown(content) === shown(message)) {
      const description =
        'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message'
      return refuse(400, description)
    }
    const busy = waitForPace()
    if (busy !== null) return busy
    message.history.push(message.text)
    Object.assign(message, content)
    return done(view(message))
  }

  // -- updates ---------------------------------------------------------------------------------------------------------

  function takeAnswer({ callback_query_id: id, text = '', show_alert: isAlert = false }: any): Reply {
    const query = queries.get(String(id))
    if (query === undefined || performance.now() > query.at + maxQueryAgeMs) {
      return refuse(400, 'Bad Request: query is too old and response timeout expired or query ID is invalid')
    }
    if (String(text).length > 200) return refuse(400, 'Bad Request: MESSAGE_TOO_LONG')
    query.answered({ text: String(text), isAlert: isAlert === true })
    return done(true)
  }

  function poll({ offset = 0, timeout = 0, limit = 100, allowed_updates: kinds }: any): Reply | Promise<Reply> {
    if (webhook.url !== '') {
      const how = 'use deleteWebhook to delete the webhook first'
      return refuse(409, `Conflict: can't use getUpdates method while webhook is active; ${how}`)
    }
    const ended = 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running'
    endPoll?.(refuse(409, ended))
    if (isPolledElsewhere) return refuse(409, ended)
    // Numbers may begin anew: then an offset beyond the last one confirms nothing.
    const last = [...updates.keys()].at(-1)
    if (last !== undefined && offset <= last + 1) for (const id of updates.keys()) if (id < offset) updates.delete(id)
    const bring = (): Reply => {
      const wanted = [...updates].filter(
        ([, update]) => kinds === undefined || kinds.some((kind: string) => kind in update),
      )
      return done(wanted.slice(0, Math.min(100, limit)).map(([id, update]) => ({ update_id: id, ...update })))
    }
    if (updates.size > 0 || timeout === 0 || isOver) return bring()
    return new Promise((resolve) => {
      const timer = setTimeout(() => endPoll?.(null), timeout * 1000)
      endPoll = (reply) => {
        clearTimeout(timer)
        endPoll = null
        resolve(reply ?? bring())
      }
    })
  }

  function add(update: object): number {
    const id = (updateCount += 1)
    updates.set(id, update)
    all.set(id, update)
    if (webhook.url === '') endPoll?.(null)
    else void deliver()
    return id
  }

  /** All that waits, to the webhook. What is not taken waits on. */
  async function deliver(): Promise<void> {
    const { url, deliverTo, secret } = webhook
    if (url === '' || deliverTo === null) return
    const target = `${deliverTo}${new URL(url).pathname}`
    await Promise.all(
      [...updates].map(async ([id, update]) => {
        const headers = {
          'content-type': 'application/json',
          ...(secret === '' ? {} : { 'x-telegram-bot-api-secret-token': secret }),
        }
        const body = JSON.stringify({ update_id: id, ...update })
        const status = await fetch(target, { method: 'POST', headers, body }).then(
          (response) => response.status,
          () => 0,
        )
        webhook.statuses.push(status)
        webhook.lastError = status === 200 ? null : `Wrong response from the webhook: ${status}`
        if (status === 200) updates.delete(id)
      }),
    )
  }

  function userOf(by: number | TelegramUser) {
    const { id, isBot = false, username } = typeof by === 'number' ? { id: by } : by
    return { id, is_bot: isBot, first_name: `User ${id}`, ...(username === undefined ? {} : { username }) }
  }

  function pressData(
    data: string,
    by: number | TelegramUser,
    message: TelegramMessage | null,
    { fields = {} }: Given = {},
  ): Promise<TelegramAnswer> {
    const id = String((queryCount += 1))
    const pressed = new Promise<TelegramAnswer>((answered) => queries.set(id, { at: performance.now(), answered }))
    const where = message === null ? {} : { message: view(message) }
    add({ callback_query: { id, from: userOf(by), chat_instance: '1', ...where, data, ...fields } })
    return pressed
  }

  /** Messages are what most tests count and let fail; edits, presses and the rest go on beside them, by the method's name. */
  const aside = (call: Call) => {
    const method = /\/(\w+)$/.exec(call.path)?.[1] ?? ''
    return method === 'sendMessage' ? null : method
  }
  const server = await startChatServer(t, answer, aside)
  t.teardown(() => {
    isOver = true
    endPoll?.(null)
  })

  return {
    ...server,
    botToken,
    botName: bot.username,
    chat,
    messages,
    menu,
    webhook,
    config: { telegramBotToken: botToken, telegramHomeChannel: chat, telegramApiBase: server.url },
    env: { TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_HOME_CHANNEL: chat, TELEGRAM_API_BASE: server.url },
    migrateTo(next) {
      formerChat = chat
      chat = next
      chatOf(next)
    },
    keepPace: (now) => void (clock = now),
    press(message, label, by) {
      const button = message.buttons.flat().find(({ text }) => text === label)
      if (button?.callback_data === undefined) {
        throw new Error(`no button ${label} to press in:\n${message.text}\n${JSON.stringify(message.buttons)}`)
      }
      return pressData(button.callback_data, by, message)
    },
    pressData,
    write(text, by, { chat: to, replyTo, fields = {} } = {}) {
      const user = userOf(by)
      const where = chatOf(to ?? String(user.id))
      where.messages += 1
      const answered = replyTo === undefined ? {} : { reply_to_message: view(replyTo) }
      const entities = text.startsWith('/')
        ? [{ type: 'bot_command', offset: 0, length: /^\S+/.exec(text)![0].length }]
        : []
      const message = {
        message_id: where.messages,
        from: user,
        chat: viewOf(where),
        date: 1_767_225_600,
        text,
        entities,
      }
      add({ message: { ...message, ...answered, ...fields } })
      return where.messages
    },
    send: add,
    sendAgain(updateId) {
      updates.set(updateId, all.get(updateId)!)
      if (webhook.url === '') endPoll?.(null)
      else void deliver()
    },
    waiting: () => [...updates.keys()],
    countFrom: (updateId) => void (updateCount = updateId - 1),
    setHome: (given) => void (home = { ...home, ...given }),
    block: (id, how = 'blocked') => void blocked.set(String(id), how),
    remove: (message) => void messages.splice(messages.indexOf(message), 1),
    pollElsewhere(is = true) {
      isPolledElsewhere = is
      if (!is) return
      endPoll?.(
        refuse(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        ),
      )
    },
  }
}

function isPrivate(id: string): boolean {
  return /^\d+$/.test(id)
}

function problemWithButton(button: TelegramButton): string | null {
  const { text, callback_data: data, url } = button
  if (typeof text !== 'string' || text === '') return 'text buttons must be non-empty'
  if ((data === undefined) === (url === undefined)) return 'BUTTON_TYPE_INVALID'
  if (data !== undefined) {
    const bytes = Buffer.byteLength(data)
    return bytes >= 1 && bytes <= 64 ? null : 'BUTTON_DATA_INVALID'
  }
  const isGood = URL.canParse(url!) && /^(https?|tg):$/.test(new URL(url!).protocol)
  const isHere = isGood && /^(localhost|127\.|\[::1\])/.test(new URL(url!).hostname)
  return isGood && !isHere ? null : 'BUTTON_URL_INVALID'
}

function done(result: unknown): Reply {
  return { status: 200, body: { ok: true, result } }
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
  const pieces = /<(\/?)([a-z]+)(?: href="[^"<>]*")?>|&(?:(lt|gt|amp|quot)|#(\d{1,7}));|([<>&])|([^<>&]+)/g
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
