// Discord: embeds with buttons, by a bot; or with a link at most, through a webhook. Presses come in through the Gateway, which
// the bot opens itself, or are sent to us, signed.
import { sha256 } from '../core/digest.js'
import type { MessageRef } from '../core/model.js'
import type { Chat, Ears, SendOutcome } from './chat.js'
import { dialect, type DiscordMessage, renderAlarm, renderCard, renderText } from './discord-embeds.js'
import { listenAtEndpoint } from './discord-endpoint.js'
import { listenAtGateway } from './discord-gateway.js'
import { pauseOf, type SetHeard } from './discord-interactions.js'
import { probeBot, probeWebhook } from './discord-probe.js'
import { type Answer, type Failed, get, judge, send as sendBody, wordsOf } from './http.js'

export type DiscordSettings = BotSettings | WebhookSettings

interface BotSettings {
  botToken: string
  channelId: string
  apiBase: string
  /** By which what is sent to /chat/discord is known to come from Discord; null: presses come through the Gateway. */
  publicKey: string | null
  /** How long an answer may take. */
  timeoutMs: number
}

interface WebhookSettings {
  webhookUrl: string
  timeoutMs: number
}

/** One route of Discord's API, as the bot. */
export type CallDiscord = (
  method: 'GET' | 'POST' | 'PATCH' | 'PUT',
  path: string,
  body: object | null,
  stop: AbortSignal,
  timeoutMs?: number,
) => Promise<Answer | Failed>

/** Discord's own numbers for what went wrong: it may not look, and it may not write. */
const noAccess: unknown[] = [50001, 50013]
/** So many people's own channels are remembered. */
const mostPlaces = 1000

export function createDiscord(settings: DiscordSettings, version: string): Chat {
  const userAgent = `DiscordBot (https://www.npmjs.com/package/holdpoint, ${version})`
  return 'webhookUrl' in settings ? createWebhook(settings, userAgent) : createBot(settings, userAgent)
}

function createBot({ botToken, channelId, apiBase, publicKey, timeoutMs }: BotSettings, userAgent: string): Chat {
  const headers = { 'user-agent': userAgent, authorization: `Bot ${botToken}` }
  /** Where a person and the bot are alone, by the person's id. */
  const places = new Map<string, string>()
  /** By what presses would not come in: then links take the place of buttons. */
  const deafBy = new Set<string>()
  const hasButtons = () => deafBy.size === 0
  const heardFor =
    (ears: Ears): SetHeard =>
    (by, isHeard) => {
      const before = hasButtons()
      if (isHeard) deafBy.delete(by)
      else deafBy.add(by)
      if (hasButtons() !== before) ears.buttonsChanged()
    }

  const call: CallDiscord = (method, path, body, stop, ms = timeoutMs) =>
    method === 'GET'
      ? get(`${apiBase}${path}`, headers, ms, stop)
      : sendBody(method, `${apiBase}${path}`, body, headers, ms, stop)

  /** The channel of a place, or why there is none. */
  async function find(place: string, stop: AbortSignal): Promise<string | SendOutcome> {
    if (place === '') return channelId
    const known = places.get(place)
    if (known !== undefined) return known
    const answer = await call('POST', '/users/@me/channels', { recipient_id: place }, stop)
    const outcome = judgeDiscord(answer, botToken)
    if (outcome.kind !== 'sent' || 'kind' in answer) return ofPlace(outcome, answer)
    const id = String(answer.body.id)
    places.set(place, id)
    for (const [first] of places) if (places.size > mostPlaces) places.delete(first)
    return id
  }

  async function send(message: object, place: string, name: string, stop: AbortSignal): Promise<SendOutcome> {
    const channel = await find(place, stop)
    if (typeof channel !== 'string') return channel
    // Discord drops a second message with the same nonce, so a retry after a lost answer is safe.
    const nonce = { nonce: sha256(name).slice(0, 25), enforce_nonce: true }
    const answer = await call('POST', `/channels/${channel}/messages`, { ...message, ...nonce }, stop)
    const outcome = judgeDiscord(answer, botToken)
    return place === '' ? outcome : ofPlace(outcome, answer)
  }

  async function edit({ chat, id }: MessageRef, by: DiscordMessage, stop: AbortSignal): Promise<SendOutcome> {
    const path = `/channels/${encodeURIComponent(chat)}/messages/${encodeURIComponent(id)}`
    const answer = await call('PATCH', path, by, stop)
    const outcome = judgeDiscord(answer, botToken)
    // What is gone, or no longer ours to change, says nothing about other messages.
    const isOfHome = chat === channelId && 'status' in answer && noAccess.includes(answer.body.code)
    return isOfHome ? outcome : ofPlace(outcome, answer)
  }

  return {
    name: 'discord',
    dialect,
    hasButtons,
    hasForms: true,
    // Discord takes five in five seconds, but only as many in a minute of messages that are older than an hour.
    editsPerMinute: 30,
    isPrivate: (place) => place !== '',
    send: (card, place, name, stop) => send(renderCard(card), place, name, stop),
    sendAlarm: (alarm, stop) => send(renderAlarm(alarm), '', alarm.id, stop),
    sendText: (text, place, name, stop) => send(inReply(renderText(text), text.replyTo), place, name, stop),
    edit: (message, card, stop) => edit(message, renderCard(card), stop),
    editText: (message, text, stop) => edit(message, renderText(text), stop),
    probe: (stop) => probeBot((path) => call('GET', path, null, stop), { botToken, channelId, publicKey }),
    hear: (ears) =>
      publicKey === null
        ? listenAtGateway({ call, channelId, botToken, apiBase, ears, setHeard: heardFor(ears) })
        : listenAtEndpoint({ call, channelId, publicKey, ears, setHeard: heardFor(ears) }),
  }
}

function createWebhook({ webhookUrl, timeoutMs }: WebhookSettings, userAgent: string): Chat {
  const headers = { 'user-agent': userAgent }
  const secret = new URL(webhookUrl).pathname.split('/').at(-1) ?? ''

  /** Buttons that lead somewhere are all that a webhook may have, and only where that is said. */
  function urlOf(id: string | null, hasComponents: boolean): string {
    const url = new URL(webhookUrl)
    if (id !== null) url.pathname += `/messages/${encodeURIComponent(id)}`
    // With `wait` it answers with the message; else a lost one shows no error.
    else url.searchParams.set('wait', 'true')
    if (hasComponents) url.searchParams.set('with_components', 'true')
    return url.href
  }

  async function send(message: DiscordMessage, place: string, stop: AbortSignal): Promise<SendOutcome> {
    if (place !== '') return { kind: 'refused', fault: 'message', error: 'a webhook writes to its own channel alone' }
    const { components, ...bare } = message
    const hasButtons = components.length > 0
    const body = hasButtons ? message : bare
    const answer = await sendBody('POST', urlOf(null, hasButtons), body, headers, timeoutMs, stop)
    const outcome = judgeDiscord(answer, secret)
    const isGone = outcome.kind === 'refused' && 'status' in answer && answer.status === 404
    return isGone ? { ...outcome, fault: 'gone' } : outcome
  }

  async function edit({ id }: MessageRef, by: DiscordMessage, stop: AbortSignal): Promise<SendOutcome> {
    const answer = await sendBody('PATCH', urlOf(id, true), by, headers, timeoutMs, stop)
    return ofPlace(judgeDiscord(answer, secret), answer)
  }

  return {
    name: 'discord',
    dialect,
    hasButtons: () => false,
    hasForms: false,
    // A webhook has thirty requests a minute, and new messages come first.
    editsPerMinute: 15,
    isPrivate: () => false,
    send: (card, place, _name, stop) => send(renderCard(card), place, stop),
    sendAlarm: (alarm, stop) => send(renderAlarm(alarm), '', stop),
    sendText: (text, place, _name, stop) => send(renderText(text), place, stop),
    edit: (message, card, stop) => edit(message, renderCard(card), stop),
    editText: (message, text, stop) => edit(message, renderText(text), stop),
    async probe(stop) {
      return probeWebhook(await get(webhookUrl, headers, timeoutMs, stop), secret)
    },
    hear: null,
  }
}

function inReply(message: DiscordMessage, replyTo: MessageRef | undefined): object {
  if (replyTo === undefined) return message
  const { chat, id } = replyTo
  return { ...message, message_reference: { channel_id: chat, message_id: id, fail_if_not_exists: false } }
}

/** Whatever is not from Discord has failed: its answers that matter have an id. */
function judgeDiscord(answer: Answer | Failed, secret: string): SendOutcome {
  if ('kind' in answer) return answer
  const { status, body } = answer
  const isTaken = status === 200 && typeof body.id === 'string'
  const outcome = judge(answer, pauseOf(answer), wordsOf(body.message, secret), isTaken)
  if (outcome.kind !== 'sent' || typeof body.channel_id !== 'string') return outcome
  return { kind: 'sent', message: { chat: body.channel_id, id: String(body.id) } }
}

/** Of one person's place, or of one message: what is refused there may be right for the next, unless the token is no good. */
function ofPlace(outcome: SendOutcome, answer: Answer | Failed): SendOutcome {
  if (outcome.kind !== 'refused' || 'kind' in answer || answer.status === 401) return outcome
  return { ...outcome, fault: 'message' }
}
