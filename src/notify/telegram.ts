// Telegram: HTML messages with buttons, by a bot. What others wrote stands in <code> and <pre>, where no mention, link or command
// is recognised.
import type { Alarm, MessageRef } from '../core/model.js'
import { alarmFactsOf, type AlarmShare, noSessionKey } from './alarm-text.js'
import type { Block, Card, CardButton, Dialect, Fact } from './card.js'
import type { Chat, SendOutcome, Text, TextPart } from './chat.js'
import { type Called, createTelegramApi, type Home, idOf, objectOf, type TelegramAccess } from './telegram-api.js'
import { hearTelegram, type Webhook } from './telegram-hearing.js'
import { probeTelegram } from './telegram-probe.js'

export interface TelegramSettings extends TelegramAccess {
  /** The id of a chat, or the @name of a public one. */
  chat: string
  /** How presses and words come in: asked for, or sent to this URL with this secret; null: not at all. */
  hearing: 'polling' | Webhook | null
  /** What our own webhook is or was; null: we never had one. */
  ownWebhook: string | null
}

/** Of a message, in UTF-16 units, once its HTML is read. */
const maxText = 4096
/** Beyond a hundred, code would be shown as text: with links, mentions and commands in it. */
const maxMarks = 90
// What is fixed, with five names, what is odd, who must approve, the votes and the question, stays below 2040.
const dialect: Dialect = {
  adapt: (shown) => shown,
  share: { name: 120, details: 1100, description: 940, isShared: true },
}
// What is fixed stays below 200.
const alarmShare: AlarmShare = { name: 200, reason: 1200, next: 1000 }

export function createTelegram(settings: TelegramSettings): Chat {
  const { hearing: how, ownWebhook } = settings
  const api = createTelegramApi(settings)
  /** A group that became a supergroup has another id since. */
  const moved = new Map<string, string>()
  let isHeard = how !== null

  function chatOf(place: string): string {
    const chat = place === '' ? settings.chat : place
    return moved.get(chat) ?? chat
  }

  /** A group that became a supergroup answers with its new id, and is followed once. */
  async function callIn(place: string, method: string, body: object, stop: AbortSignal): Promise<Called> {
    const call = (chat: string) => api.call(method, { chat_id: chat, ...body }, stop)
    const called = await call(chatOf(place))
    if (called.kind === 'done' || called.movedTo === null) return called
    moved.set(place === '' ? settings.chat : place, called.movedTo)
    return call(called.movedTo)
  }

  async function send(message: object, place: string, stop: AbortSignal): Promise<SendOutcome> {
    const called = await callIn(place, 'sendMessage', message, stop)
    return place === '' ? judgeHome(called) : judgeMessage(called)
  }

  /** Never followed: a group that became a supergroup left its messages behind, and there the same number is another's. */
  async function edit({ chat, id }: MessageRef, message: object, stop: AbortSignal): Promise<SendOutcome> {
    return judgeMessage(await api.call('editMessageText', { chat_id: chat, message_id: Number(id), ...message }, stop))
  }

  const home: Home = {
    call: (method, body, stop) => callIn('', method, body, stop),
    isIt: (chat) => isSameChat(chat, chatOf('')),
    isPrivate: () => isOfOne(chatOf('')),
    moveTo: (chat) => void moved.set(settings.chat, chat),
    movedTo: () => moved.get(settings.chat) ?? null,
  }

  return {
    name: 'telegram',
    dialect,
    hasButtons: () => isHeard,
    hasForms: false,
    // A group takes twenty messages a minute, edits among them: half are for new ones. A chat with one person takes one a second.
    editsPerMinute: isOfOne(settings.chat) ? 30 : 10,
    isPrivate: (place) => isOfOne(chatOf(place)),
    send: (card, place, _name, stop) => send(renderCard(card), place, stop),
    sendAlarm: (alarm, stop) => send(renderAlarm(alarm), '', stop),
    sendText: (text, place, _name, stop) => send(renderText(text, chatOf(place)), place, stop),
    edit: (message, card, stop) => edit(message, renderCard(card), stop),
    editText: (message, text, stop) => edit(message, renderText(withoutReply(text), message.chat), stop),
    probe: (stop) => probeTelegram(api, home, { how, ownWebhook }, stop),
    hear:
      how === null
        ? null
        : (ears) => {
            const tellAlone = async (id: string, text: string) => {
              const alone = renderText({ lines: [[{ ours: text }]], link: null }, id)
              await send(alone, id, new AbortController().signal)
            }
            const end = () => (isHeard = false)
            return hearTelegram({ api, home, how, ownWebhook, botToken: settings.botToken, tellAlone, end }, ears)
          },
  }
}

/** Between somebody and the bot alone: other chats have a minus, or a name. */
function isOfOne(chat: string): boolean {
  return /^\d+$/.test(chat)
}

function isSameChat({ id, username }: Record<string, unknown>, chat: string): boolean {
  return idOf(id) === chat || (typeof username === 'string' && `@${username}`.toLowerCase() === chat.toLowerCase())
}

// -- what came of it ---------------------------------------------------------------------------------------------------

/** These are about the chat of the settings, though they look like a fault of the message. */
const homeTroubles =
  /chat not found|rights|upgraded|deactivated|PEER_ID_INVALID|CHAT_\w+_FORBIDDEN|CHAT_ADMIN_REQUIRED|CHAT_RESTRICTED|CHANNEL_PRIVATE|TOPIC_(CLOSED|DELETED)/i

function judgeHome(called: Called): SendOutcome {
  if (called.kind === 'done') return sentAs(called.result)
  const { outcome, status } = called
  return status === 400 && outcome.kind === 'refused' && homeTroubles.test(outcome.error)
    ? { ...outcome, fault: 'channel' }
    : outcome
}

/** Of a message that is edited or sent to somebody: whatever is wrong there, other places may fare better. */
function judgeMessage(called: Called): SendOutcome {
  if (called.kind === 'done') return sentAs(called.result)
  const { outcome, status } = called
  if (outcome.kind !== 'refused' || status === 401 || status === 404) return outcome
  return /message is not modified/i.test(outcome.error) ? { kind: 'sent' } : { ...outcome, fault: 'message' }
}

function sentAs(result: unknown): SendOutcome {
  const { chat, message_id: message } = objectOf(result)
  const [inChat, id] = [idOf(objectOf(chat).id), idOf(message)]
  return inChat === null || id === null ? { kind: 'sent' } : { kind: 'sent', message: { chat: inChat, id } }
}

// -- what is shown -----------------------------------------------------------------------------------------------------

function renderCard(card: Card): object {
  const lines = [
    bold(card.title),
    ...card.notes.map(ours),
    ...card.facts.map(renderFact),
    ...(card.details === null ? [] : renderBlock(card.details)),
    ...renderBlock(card.description),
    ...(card.obstacle === null ? [] : [escapeHtml(card.obstacle)]),
  ]
  // Plain, so that it can be tapped; no address is longer than what may be left.
  const page = card.url === null ? [] : [`Page: ${escapeHtml(card.url)}`]
  return messageOf([...lines, ...(lengthOf([...lines, ...page]) > maxText ? [] : page)], keyboardOf(card.buttons))
}

function renderFact({ label, value, isTheirs }: Fact): string {
  return `${bold(`${label}:`)} ${isTheirs ? code(value) : ours(value)}`
}

function renderBlock({ label, text }: Block): string[] {
  return [bold(`${label}:`), `<pre>${escapeHtml(text)}</pre>`]
}

function renderAlarm(alarm: Alarm): object {
  const facts = alarmFactsOf(alarm, alarmShare)
  return messageOf([
    bold(`⛔ ${facts.happened}`),
    `${bold('Session:')} ${facts.sessionKey === null ? noSessionKey : code(facts.sessionKey)}`,
    `${bold('Requester:')} ${code(facts.requester)}`,
    `${bold('When:')} ${facts.at}`,
    ...renderBlock({ label: 'Why', text: facts.reason }),
    `${bold(`${facts.next}:`)} ${code(facts.command)}`,
    `${bold('Or:')} ${code(facts.request)}`,
  ])
}

function renderText({ lines, link, asksReply = false, asked, replyTo }: Text, chat: string): object {
  const isAsked = asksReply && asked !== undefined && isOfOne(asked) && !isOfOne(chat)
  // Only who is named or replied to is asked, and in a group that is nobody else.
  const mention = isAsked ? `<a href="tg://user?id=${asked}">✍️</a> ` : ''
  const written = fitLines(lines.map((line, index) => `${index === 0 ? mention : ''}${line.map(renderPart).join('')}`))
  const markup = asksReply
    ? { force_reply: true, selective: true }
    : keyboardOf(link === null ? [] : [[{ kind: 'link', ...link }]])
  const isThere = replyTo !== undefined && (replyTo.chat === chat || chat.startsWith('@'))
  const reply = isThere
    ? { reply_parameters: { message_id: Number(replyTo.id), allow_sending_without_reply: true } }
    : {}
  return { ...messageOf(written, markup), ...reply }
}

function renderPart(part: TextPart): string {
  if ('ours' in part) return ours(part.ours)
  return 'theirs' in part ? code(part.theirs) : bold(part.bold)
}

/** An edit cannot ask for one. */
function withoutReply(text: Text): Text {
  return { lines: text.lines, link: text.link }
}

/** As many lines as there is room for; and how many more there are. */
function fitLines(lines: string[]): string[] {
  const fits = (some: string[]) => lengthOf(some) <= maxText && some.join('').split('<').length <= 2 * maxMarks
  if (fits(lines)) return lines
  const left = (count: number) => `… and ${lines.length - count} more lines`
  let count = lines.length - 1
  while (count > 0 && !fits([...lines.slice(0, count), left(count)])) count -= 1
  return [...lines.slice(0, count), left(count)]
}

/** An edit without a markup takes away what there was. */
function messageOf(lines: string[], markup: object | null = null): object {
  return {
    text: lines.join('\n'),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
    ...(markup === null ? {} : { reply_markup: markup }),
  }
}

function keyboardOf(rows: CardButton[][]): object | null {
  if (rows.length === 0) return null
  const inline_keyboard = rows.map((row) =>
    row.map((button) =>
      button.kind === 'press'
        ? { text: button.label, callback_data: button.data }
        : { text: button.label, url: button.url },
    ),
  )
  return { inline_keyboard }
}

/** Once the HTML is read. What others wrote has no < and no & left. */
function lengthOf(lines: string[]): number {
  return lines
    .join('\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&\w+;/g, '&').length
}

function bold(text: string): string {
  return `<b>${escapeHtml(text)}</b>`
}

/** A word in which Telegram sees an address, a mention, a tag or a command. */
const tappable = /[@#$/\\]|\.[^\s\d.,;?!()]{2,}|\d\.\d+\.\d/

/** A sentence of ours in which a name may stand: words that could be tapped are code. */
function ours(sentence: string): string {
  return sentence
    .split(/(\s+|[.,;:?!()]+(?=\s|$))/)
    .map((word) => (tappable.test(word) ? code(word) : escapeHtml(word)))
    .join('')
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
