// Session keys: what an agent sends as session_key, made from where a message came from, and taken apart again. The rules are
// those of the Hermes gateway, so that one chat has one key, whoever makes it.
import { shortQuotedLine } from '../core/cut.js'
import { type ChatType, chatTypes } from '../policy/reset.js'

export { type ChatType, chatTypes }

/** An id as its platform gives it. Nothing, null and '' are no id; 0 is one. */
export type SourceId = string | number | bigint | null | undefined

/** Where a message came from. */
export interface SessionSource {
  /** As `telegram`. */
  platform: string
  chatType: ChatType
  chatId?: SourceId
  threadId?: SourceId
  userId?: SourceId
  /** Another id of the same user, for platforms where it is the stable one. It is taken before `userId`. */
  userIdAlt?: SourceId
  /** Which of several agents this is; nothing, '' and `default` are the one that keys call `main`. */
  profile?: string | null | undefined
}

export interface SessionKeyOptions {
  /** Whether each user of a group or channel has a key; true unless it is said. Turned off, nobody has one, threads included. */
  groupSessionsPerUser?: boolean | undefined
  /** Whether each user of a thread has a key; false unless it is said. */
  threadSessionsPerUser?: boolean | undefined
  /** Where the source names none. */
  profile?: string | null | undefined
  /**
   * WhatsApp knows one person by several ids, such as a phone number and a LID. This says which one stands for all of them:
   * a function of an id without `+`, `:device` and `@domain`, or a record by such ids. Without an answer the id stays.
   */
  canonical?: ((id: string) => string | null | undefined) | Readonly<Record<string, string>> | undefined
}

export interface SessionKey {
  /** As it stands in the key: `main` for the default. */
  profile: string
  platform: string
  chatType: ChatType
  /**
   * What follows, split at each colon. It does not say which is the chat, the thread or the user: each may be missing, and an
   * id with a colon in it, as Matrix has them, is several here.
   */
  ids: string[]
}

/** As the API takes it. */
const maxLength = 1000
/** An id can be of any length, and nobody reads more of it in an error. */
const maxShown = 100

/** Throws where the source or an id makes no key; the sentence says which field is wrong, and how. */
export function buildSessionKey(source: SessionSource, options: SessionKeyOptions = {}): string {
  const chatType = readChatType(source)
  const profile = readName('profile', source.profile) || readName('profile', options.profile)
  const platform = readName('platform', source.platform)
  if (platform === '') throw new Error("Field 'platform' is required, such as telegram")
  const agent = profile === '' || profile === 'default' ? 'main' : profile
  const key = ['agent', agent, platform, chatType, ...readIds(source, options)].join(':')
  if (key.length > maxLength) {
    throw new Error(`The session key would have ${key.length} characters, and at most ${maxLength} are taken`)
  }
  return key
}

/** Null where the key is not of that form, or holds what buildSessionKey refuses. Never throws. */
export function parseSessionKey(key: string): SessionKey | null {
  if (typeof key !== 'string' || !key.startsWith('agent:') || key.length > maxLength) return null
  if (problemWith(key) !== null) return null
  const [, profile, platform, chatType, ...ids] = key.split(':')
  if (!profile || !platform || !isChatType(chatType)) return null
  const isCutOff = ids.length === 1 && ids[0] === ''
  return isCutOff ? null : { profile, platform, chatType, ids }
}

/**
 * Whether another user of the same group, channel or thread gets the same key. It looks at the place and not at the user, so
 * it is also false for a source that has no user where each has a key. Direct messages count as not shared.
 */
export function isShared(source: SessionSource, options: SessionKeyOptions = {}): boolean {
  return readChatType(source) !== 'dm' && !isPerUser(source, options)
}

function isPerUser({ threadId }: SessionSource, options: SessionKeyOptions): boolean {
  const isInThread = readId('threadId', threadId) !== ''
  return (options.groupSessionsPerUser ?? true) && (!isInThread || (options.threadSessionsPerUser ?? false))
}

/** What the key holds, in its order. An id that it does not hold is not checked. */
function readIds(source: SessionSource, options: SessionKeyOptions): string[] {
  const chat = () => readId('chatId', source.chatId)
  const thread = () => safe('threadId', readId('threadId', source.threadId))
  const user = () => readUser(source, options)
  const ids =
    source.chatType === 'dm'
      ? [safe('chatId', canonicalOf(chat(), source, options)) || user(), thread()]
      : [safe('chatId', chat()), thread(), isPerUser(source, options) ? user() : '']
  return ids.filter((id) => id !== '')
}

function readUser(source: SessionSource, options: SessionKeyOptions): string {
  const other = readId('userIdAlt', source.userIdAlt)
  const id = other || readId('userId', source.userId)
  // One of which nothing would be left stays as it is: without an id, users would share a key.
  return safe(other === '' ? 'userId' : 'userIdAlt', canonicalOf(id, source, options) || id)
}

/** The id of a person: on WhatsApp the one that stands for all of theirs, elsewhere as it is. */
function canonicalOf(id: string, { platform }: SessionSource, { canonical }: SessionKeyOptions): string {
  if (platform !== 'whatsapp') return id
  const bare = strip(id)
  if (bare === '') return ''
  const alias = typeof canonical === 'function' ? canonical(bare) : valueIn(canonical, bare)
  return strip(readId('canonical', alias)) || bare
}

/** As 4915112345678 of +4915112345678 and of 4915112345678:12@s.whatsapp.net. */
function strip(id: string): string {
  return id.trim().replace('+', '').split(':', 1)[0]!.split('@', 1)[0]!
}

/** Ids are others' words: `constructor` is in every record, and in none of its own. */
function valueIn(record: Readonly<Record<string, string>> | null | undefined, name: string): string | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined
}

function readChatType({ chatType }: SessionSource): ChatType {
  if (isChatType(chatType)) return chatType
  throw new Error(`Field 'chatType' must be one of ${chatTypes.join(', ')}${shown(chatType)}`)
}

function isChatType(value: unknown): value is ChatType {
  return (chatTypes as readonly unknown[]).includes(value)
}

/** As text; '' if there is none. */
function readId(field: string, id: SourceId): string {
  if (id === null || id === undefined) return ''
  if (typeof id === 'string') return id
  // A larger number may have been another id before it was read.
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id)
  throw new Error(`Field '${field}' must be text or a whole number that is exact; give long ids as text${shown(id)}`)
}

/** A profile or a platform. A colon in it would move all that follows. */
function readName(field: string, name: string | null | undefined): string {
  if (name === null || name === undefined) return ''
  if (typeof name !== 'string') throw new Error(`Field '${field}' must be text${shown(name)}`)
  if (safe(field, name).includes(':')) throw new Error(`Field '${field}' must not contain a colon${shown(name)}`)
  return name
}

function safe(field: string, text: string): string {
  const problem = problemWith(text)
  if (problem !== null) throw new Error(`Field '${field}' ${problem}${shown(text)}`)
  return text
}

/** Others may name a file or a folder after a part of the key, or print it. */
const refused: [RegExp, string][] = [
  [/[\p{Cc}\p{Zl}\p{Zp}]/u, 'must not contain control characters or line breaks'],
  [/\.\./, "must not contain '..'"],
  [/[/\\]/, 'must not contain a slash or a backslash'],
  [/^[A-Za-z]:/, 'must not begin with a drive letter and a colon'],
]

function problemWith(text: string): string | null {
  if (!text.isWellFormed()) return 'must be valid Unicode text'
  return refused.find(([expression]) => expression.test(text))?.[1] ?? null
}

function shown(value: unknown): string {
  if (typeof value === 'number') return `: ${value}`
  return typeof value === 'string' ? `: ${shortQuotedLine(value, maxShown)}` : ''
}
