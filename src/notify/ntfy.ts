// ntfy: a plain text to a topic, with a link to the page. Nothing is ever heard from it: whoever knows the topic reads it, so
// a press there would prove nothing.
import { sha256 } from '../core/digest.js'
import type { Alarm, MessageRef, Risk } from '../core/model.js'
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import { alarmFactsOf, type AlarmShare, noSessionKey } from './alarm-text.js'
import type { Block, Card, Dialect } from './card.js'
import type { Chat, Probe, SendOutcome, Text, TextPart } from './chat.js'
import { type Answer, get, judge, post, wordsOf } from './http.js'

export interface NtfySettings {
  url: string
  topic: string
  token: string | null
  /** How long an answer may take. */
  timeoutMs: number
}

/** Of a message, in UTF-8. What is longer becomes a file that hardly anybody opens. */
const maxBytes = 4096
const share: Dialect['share'] = { name: 80, details: 500, description: 500, isShared: true }
const alarmShare: AlarmShare = { name: 80, reason: 400, next: 200 }

/** A low risk rings, too: below 3 phones keep silent, and an agent waits. What is high shows even over other apps. */
const priorities: Record<Risk, number> = { low: 3, normal: 4, high: 5 }
const alarmPriority = 4
/** Nothing is to be done about it any more: it makes no sound. */
const quiet = 2

/** So many messages a day are used up: until the next day all would be refused. */
const usedUp = 42908
const usedUpPauseMs = 15 * 60_000
/** As often as a request is taken from one sender in the long run. */
const pauseMs = 5000

export function createNtfy({ url, topic, token, timeoutMs }: NtfySettings): Chat {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  // The topic is a secret, so messages are not kept under its name; and what went to another one is not followed here.
  const chat = shortHash(`${url}/${topic}`)

  async function publish(name: string, message: Message, stop: AbortSignal): Promise<SendOutcome> {
    // A notification with the same one takes the place of the former, so a second try after a lost answer shows once.
    const sequence = shortHash(name)
    const body = { topic, sequence_id: sequence, ...message }
    const answer = await post(url, body, headers, timeoutMs, stop)
    if ('kind' in answer) return answer
    const outcome = judgeNtfy(answer)
    if (outcome.kind !== 'sent') return outcome
    // A server older than 2.16 knows nothing of sequences: what it took cannot be replaced.
    return answer.body.sequence_id === sequence ? { kind: 'sent', message: { chat, id: name } } : outcome
  }

  function judgeNtfy(answer: Answer): SendOutcome {
    const { status, body } = answer
    const pause = body.code === usedUp ? usedUpPauseMs : (answer.retryAfterMs ?? pauseMs)
    const isTaken = status === 200 && typeof body.id === 'string'
    const outcome = judge(answer, pause, clean(body.error), isTaken)
    // What is wrong with the topic is wrong with every message.
    const isOfTopic = outcome.kind === 'refused' && (body.code === 40009 || body.code === 40010)
    return isOfTopic ? { ...outcome, fault: 'channel' } : outcome
  }

  /** Both are secrets. */
  function clean(words: unknown): string {
    return wordsOf(wordsOf(words, token ?? ''), topic)
  }

  function replace(message: MessageRef, by: Message, stop: AbortSignal): Promise<SendOutcome> {
    if (message.chat === chat) return publish(message.id, by, stop)
    return Promise.resolve({ kind: 'refused', fault: 'message', error: 'sent to another topic' })
  }

  async function ask(path: string, what: string, mend: string, stop: AbortSignal): Promise<Answer | Probe> {
    const answer = await get(`${url}${path}`, headers, timeoutMs, stop)
    if ('kind' in answer) return { state: 'unreachable', error: answer.error }
    const { status, body } = answer
    if (status === 200 && Object.keys(body).length > 0) return answer
    const error = cut(visibleLine(`${what}: ${status} ${clean(body.error) || 'without a reason'}`), 300)
    const isForNow = status === 408 || status === 429 || status >= 500
    return isForNow ? { state: 'unreachable', error } : { state: 'refused', error, mend }
  }

  return {
    name: 'ntfy',
    dialect: { adapt, share },
    hasButtons: () => false,
    hasForms: false,
    // A sender may make twelve requests a minute in the long run.
    editsPerMinute: 6,
    isPrivate: () => false,
    send: (card, place, name, stop) => (place === '' ? publish(name, renderCard(card), stop) : nowhereElse()),
    sendAlarm: (alarm, stop) => publish(alarm.id, renderAlarm(alarm), stop),
    sendText: (text, place, name, stop) => (place === '' ? publish(name, renderText(text), stop) : nowhereElse()),
    edit: (message, card, stop) => replace(message, { ...renderCard(card), priority: editPriority(card) }, stop),
    editText: (message, text, stop) => replace(message, { ...renderText(text), priority: quiet }, stop),
    async probe(stop) {
      const health = await ask('/v1/health', 'health', 'NTFY_URL must be the address of an ntfy server.', stop)
      if ('state' in health) return health
      if (token === null) return { state: 'reachable', as: null }
      const mend = 'Make a new access token in the account of ntfy, and set NTFY_TOKEN.'
      const account = await ask('/v1/account', 'account', mend, stop)
      return 'state' in account ? account : { state: 'reachable', as: nameIn(account.body) }
    },
    hear: null,
  }
}

/** It has one topic. */
function nowhereElse(): Promise<SendOutcome> {
  return Promise.resolve({ kind: 'refused', fault: 'message', error: 'ntfy knows no other place than its topic' })
}

/** A vote is told like any message; an end is told without a sound. */
function editPriority({ tone }: Card): number {
  return tone === 'pending' || tone === 'asking' ? 3 : quiet
}

interface Message {
  title: string
  message: string
  priority: number
  tags?: string[]
  /** Where a tap leads. */
  click?: string
  actions?: { action: 'view'; label: string; url: string }[]
}

function renderCard(card: Card): Message {
  const link = card.buttons.flat().find((one) => one.kind === 'link')
  const lines = [
    ...card.notes,
    ...card.facts.map(({ label, value, isTheirs }) => `${label}: ${isTheirs ? quoted(value) : value}`),
    ...(card.obstacle === null ? [] : [card.obstacle]),
    ...(card.url === null ? [] : [`See and decide it: ${card.url}`]),
  ]
  return {
    title: card.title,
    message: fill(lines, [...(card.details === null ? [] : [card.details]), card.description]),
    priority: priorities[card.risk],
    // For those who subscribe to some of them only.
    tags: [`risk-${card.risk}`],
    ...(link === undefined ? {} : leadingTo(link)),
  }
}

function renderAlarm(alarm: Alarm): Message {
  const { happened, sessionKey, requester, reason, at } = alarmFactsOf(alarm, alarmShare, adapt)
  // Made to be copied.
  const { next, command, request } = alarmFactsOf(alarm, alarmShare, withoutQuotes)
  const lines = [
    `Session: ${sessionKey === null ? noSessionKey : quoted(sessionKey)}`,
    `Requester: ${quoted(requester)}`,
    `When: ${at}`,
    `${next}: ${quoted(command)}`,
    `Or: ${quoted(request)}`,
  ]
  return { title: `⛔ ${happened}`, message: fill(lines, [{ label: 'Why', text: reason }]), priority: alarmPriority }
}

function renderText({ lines, link }: Text): Message {
  const part = (one: TextPart) => ('theirs' in one ? quoted(adapt(one.theirs)) : 'bold' in one ? one.bold : one.ours)
  const message = fill(
    lines.map((parts) => parts.map(part).join('')),
    [],
  )
  return { title: 'Holdpoint', message, priority: priorities.low, ...(link === null ? {} : leadingTo(link)) }
}

function leadingTo({ label, url }: { label: string; url: string }): Pick<Message, 'click' | 'actions'> {
  return { click: url, actions: [{ action: 'view', label, url }] }
}

/** Our lines, and then as many of the blocks as have room: some scripts take three bytes where others take one. */
function fill(lines: string[], blocks: Block[]): string {
  let text = lines.join('\n')
  for (const { label, text: theirs } of blocks) {
    const whole = `${text}\n${label}:\n${barred(theirs)}`
    text = Buffer.byteLength(whole) <= maxBytes ? whole : `${text}\n${label}: too long for ntfy`
  }
  let room = text.length
  while (Buffer.byteLength(text) > maxBytes) text = cut(text, (room = Math.floor(room * 0.9)))
  return text
}

/** Theirs stands in quotes or behind bars, neither of which can stand in it. */
function quoted(adapted: string): string {
  return `“${adapted}”`
}

function barred(adapted: string): string {
  return adapted.replace(/^/gm, '│ ')
}

function withoutQuotes(shown: string): string {
  return shown.replace(/[“”│]/g, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)
}

/**
 * There is no code in which addresses are no links, so they are written as nobody can follow them: https[:]//example[.]com.
 * What looks like that already is told apart by a backslash, as all escapes are.
 */
function adapt(shown: string): string {
  return withoutQuotes(shown)
    .replace(/\[[.:]\]/g, '\\$&')
    .replace(/:(?=\/\/)/g, '[:]')
    .replace(/(?<=[\p{L}\p{N}_-])\.(?=\p{L})/gu, '[.]')
    .replace(/(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/g, (address) => address.replaceAll('.', '[.]'))
}

function nameIn({ username }: Answer['body']): string | null {
  return typeof username === 'string' && /^[\w.@+-]{1,32}$/.test(username) && username !== '*' ? username : null
}

/** Tells names apart, and gives none away. */
function shortHash(text: string): string {
  return sha256(text).slice(0, 32)
}
