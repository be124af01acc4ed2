// What an update of Telegram says: a press, words to the bot, or nothing that is meant for us (pure). Anybody may have written it.
import type { MessageRef } from '../core/model.js'
import type { Press, Somebody, Words } from './chat.js'
import { idOf, objectOf } from './telegram-api.js'

export type Heard =
  /** `query`: what the answer goes to; `press` is null where Telegram does not say who it was. */
  | { kind: 'press'; query: string | null; press: Press | null }
  | { kind: 'words'; words: Words }
  /** The chat of the settings became a supergroup, which has this id. */
  | { kind: 'moved'; to: string }
  | { kind: 'nothing' }

export interface Bot {
  id: string
  /** Null: not known yet. */
  name: string | null
}

type Fields = Record<string, unknown>

/** All that is asked for. */
export const updateKinds = ['message', 'callback_query'] as const

/** Who stands for others: anonymous administrators, channels, Telegram itself. */
const standIns = new Set(['1087968824', '136817688', '777000'])
/** What somebody else wrote, or a program: whoever passed it on said nothing. */
const borrowed = [
  'forward_origin',
  'forward_date',
  'forward_from',
  'forward_from_chat',
  'via_bot',
  'is_automatic_forward',
]

/** `isHome`: whether it is the chat of the settings. */
export function readUpdate(update: object, bot: Bot, isHome: (chat: Fields) => boolean): Heard {
  const { callback_query: query, message } = update as Fields
  if (query !== undefined) return readQuery(objectOf(query))
  const { chat, migrate_to_chat_id: moved } = objectOf(message)
  const to = idOf(moved)
  if (to !== null) return isHome(objectOf(chat)) ? { kind: 'moved', to } : { kind: 'nothing' }
  const words = readMessage(objectOf(message), bot, isHome)
  return words === null ? { kind: 'nothing' } : { kind: 'words', words }
}

function readQuery({ id, from, message, data }: Fields): Heard {
  const by = readSender(from, undefined)
  const query = typeof id === 'string' ? id : null
  if (by === null) return { kind: 'press', query, press: null }
  const sent = typeof data === 'string' ? data : ''
  return { kind: 'press', query, press: { by, data: sent, message: readRef(message), reason: null } }
}

function readMessage(message: Fields, bot: Bot, isHome: (chat: Fields) => boolean): Words | null {
  const { text, from, sender_chat: senderChat, reply_to_message: answered } = message
  const [by, ref, chat] = [readSender(from, senderChat), readRef(message), objectOf(message.chat)]
  if (by === null || ref === null || typeof text !== 'string' || borrowed.some((field) => field in message)) return null
  const isPrivate = chat.type === 'private'
  const isToUs = idOf(objectOf(objectOf(answered).from).id) === bot.id
  const replyTo = isToUs ? readRef(answered) : null
  const [whole, command, name] = /^(\/\w{1,40})(?:@(\w{1,40}))?(?!\S)/.exec(text) ?? []
  if (name !== undefined && name.toLowerCase() !== bot.name?.toLowerCase()) return null
  // Where many talk, most of it is not said to us.
  if (command === undefined && replyTo === null && !isPrivate) return null
  return {
    by,
    place: ref.chat,
    isPrivate,
    isHome: isHome(chat),
    text: whole === undefined ? text : `${command}${text.slice(whole.length)}`,
    replyTo,
    message: ref,
    name: `${ref.chat}:${ref.id}`,
  }
}

/** `senderChat`: in whose name it was sent. */
function readSender(from: unknown, senderChat: unknown): Somebody | null {
  const { id: number, is_bot: isBot } = objectOf(from)
  const id = idOf(number)
  if (id === null) return null
  const isNobody = isBot !== false || senderChat !== undefined || id.startsWith('-') || standIns.has(id)
  return { channel: 'telegram', id, isNobody }
}

function readRef(message: unknown): MessageRef | null {
  const { message_id: number, chat } = objectOf(message)
  const [id, inChat] = [idOf(number), idOf(objectOf(chat).id)]
  return id === null || inChat === null ? null : { chat: inChat, id }
}
