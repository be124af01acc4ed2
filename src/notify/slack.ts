// Slack: blocks with buttons, by a bot. Presses, forms and commands come in through Socket Mode, which the app opens itself;
// without a token for that, messages have a link instead.
import { cut } from '../core/cut.js'
import type { MessageRef } from '../core/model.js'
import { visibleLine } from '../core/visible.js'
import type { Chat, Ears, Probe, SendOutcome } from './chat.js'
import { type Answer, get, judge, post, wordsOf } from './http.js'
import { dialect, renderAlarm, renderCard, renderText, type SlackMessage } from './slack-blocks.js'
import { listen } from './slack-socket-mode.js'

export interface SlackSettings {
  botToken: string
  /** For Socket Mode; null: no presses. */
  appToken: string | null
  channelId: string
  apiBase: string
  /** How long an answer may take. */
  timeoutMs: number
}

/** No answer, or a broken one. */
type Failed = Extract<SendOutcome, { kind: 'failed' }>

/** One method of Slack's API, with the bot's token or the app's. */
export type CallSlack = (
  method: string,
  body: object,
  stop: AbortSignal,
  as?: 'bot' | 'app',
) => Promise<Answer | Failed>

/** So many people's own places are remembered. */
const mostPlaces = 1000
/** Without a wish of Slack's. */
const pauseMs = 5000

export function createSlack({ botToken, appToken, channelId, apiBase, timeoutMs }: SlackSettings): Chat {
  /** Where a person and the bot are alone, by the person's id. */
  const places = new Map<string, string>()
  // Once presses cannot be heard any more, links take the place of buttons.
  let isHeard = appToken !== null
  const stopHearing = (ears: Ears) => {
    isHeard = false
    ears.buttonsChanged()
  }

  const headers = (as: 'bot' | 'app') => ({
    authorization: `Bearer ${as === 'app' ? (appToken ?? '') : botToken}`,
    'content-type': 'application/json; charset=utf-8',
  })
  const call: CallSlack = (method, body, stop, as = 'bot') =>
    post(`${apiBase}/${method}`, body, headers(as), timeoutMs, stop)

  /** `isHome`: what is wrong with the place is wrong with the settings. */
  function judgeSlack(answer: Answer | Failed, isHome: boolean): SendOutcome {
    if ('kind' in answer) return answer
    const { status, body, retryAfterMs } = answer
    const word = wordIn(answer)
    if (status === 200 && body.ok === true) return { kind: 'sent' }
    const error = cut(visibleLine(clean(word === '' ? `${status} without a reason` : word)), 300)
    if (status !== 200 || word === '') return judge(answer, retryAfterMs ?? pauseMs, clean(word), false)
    if (busyWords.has(word)) return { kind: 'busy', retryAfterMs: retryAfterMs ?? pauseMs, error }
    if (faultyWords.has(word)) return { kind: 'failed', error, answered: true }
    if (tokenWords.has(word)) return { kind: 'refused', fault: 'channel', error }
    if (!isHome || !placeWords.has(word)) return { kind: 'refused', fault: 'message', error }
    return { kind: 'refused', fault: word === 'is_archived' ? 'gone' : 'channel', error }
  }

  function clean(words: string): string {
    return wordsOf(wordsOf(words, botToken), appToken ?? '')
  }

  /** The chat's id for a place, or why there is none. */
  async function find(place: string, stop: AbortSignal): Promise<string | SendOutcome> {
    if (place === '') return channelId
    const known = places.get(place)
    if (known !== undefined) return known
    // People of another workspace have its id in front.
    const [, user] = /^(?:T[A-Z0-9]+:)?([UW][A-Z0-9]+)$/.exec(place) ?? []
    if (user === undefined) return { kind: 'refused', fault: 'message', error: 'no id of a person' }
    const answer = await call('conversations.open', { users: user }, stop)
    const outcome = judgeSlack(answer, false)
    if (outcome.kind !== 'sent' || 'kind' in answer) return outcome
    const { id } = (answer.body.channel ?? {}) as { id?: unknown }
    if (typeof id !== 'string') return { kind: 'failed', error: 'an answer without a place' }
    places.set(place, id)
    for (const [first] of places) if (places.size > mostPlaces) places.delete(first)
    return id
  }

  async function send(message: SlackMessage & { thread_ts?: string }, place: string, stop: AbortSignal) {
    const channel = await find(place, stop)
    if (typeof channel !== 'string') return channel
    const answer = await call('chat.postMessage', { channel, ...message, ...inert }, stop)
    return withMessage(judgeSlack(answer, place === ''), answer)
  }

  async function edit(message: MessageRef, by: SlackMessage, stop: AbortSignal): Promise<SendOutcome> {
    const answer = await call('chat.update', { channel: message.chat, ts: message.id, ...by, ...inertEdit }, stop)
    // What is wrong with the place of one message may be right for the next.
    return withMessage(judgeSlack(answer, false), answer)
  }

  async function ask(what: string, asking: Promise<Answer | Failed>): Promise<Answer | Probe> {
    const answer = await asking
    if ('kind' in answer) return { state: 'unreachable', error: answer.error }
    const outcome = judgeSlack(answer, true)
    if (outcome.kind === 'sent') return answer
    const error = `${what}: ${outcome.error}`
    if (outcome.kind !== 'refused') return { state: 'unreachable', error }
    return { state: 'refused', error, mend: mendOf(wordIn(answer), what, neededIn(answer)) }
  }

  async function probe(stop: AbortSignal): Promise<Probe> {
    const me = await ask('auth.test', call('auth.test', {}, stop))
    if ('state' in me) return me
    const as = nameIn(me.body.user)
    // A place between a person and the bot can be asked about with another permission only.
    if (!channelId.startsWith('D')) {
      const url = `${apiBase}/conversations.info?channel=${channelId}`
      const found = await ask('conversations.info', get(url, headers('bot'), timeoutMs, stop))
      // It can write without being allowed to look.
      if ('state' in found && !(found.state === 'refused' && found.error.endsWith(' missing_scope'))) return found
      const channel = 'state' in found ? {} : ((found.body.channel ?? {}) as Record<string, unknown>)
      if (channel.is_archived === true) return no('conversations.info: is_archived', 'is_archived')
      if (channel.is_member === false) return no('conversations.info: not_in_channel', 'not_in_channel')
    }
    if (appToken === null) return { state: 'reachable', as }
    const opened = await ask('apps.connections.open', call('apps.connections.open', {}, stop, 'app'))
    return 'state' in opened ? opened : { state: 'reachable', as }
  }

  return {
    name: 'slack',
    dialect,
    hasButtons: () => isHeard,
    hasForms: true,
    // Slack takes fifty a minute of one app.
    editsPerMinute: 30,
    isPrivate: (place) => place !== '' || channelId.startsWith('D'),
    send: (card, place, _name, stop) => send(renderCard(card), place, stop),
    sendAlarm: (alarm, stop) => send(renderAlarm(alarm), '', stop),
    sendText: (text, place, _name, stop) => send(inThread(renderText(text), text.replyTo), place, stop),
    edit: (message, card, stop) => edit(message, renderCard(card), stop),
    editText: (message, text, stop) => edit(message, renderText(text), stop),
    probe,
    hear: appToken === null ? null : (ears) => listen({ call, channelId, ears, giveUp: () => stopHearing(ears) }),
  }
}

/** Nothing in a text is looked for: no names, no addresses. What it names is not shown below it. */
const inertEdit = { link_names: false, parse: 'none' }
const inert = { ...inertEdit, unfurl_links: false, unfurl_media: false }

function inThread(message: SlackMessage, replyTo: MessageRef | undefined): SlackMessage & { thread_ts?: string } {
  return replyTo === undefined ? message : { ...message, thread_ts: replyTo.id }
}

/** Slack answers 200 and a word for what went wrong. */
function wordIn({ body }: Answer): string {
  return typeof body.error === 'string' ? body.error : ''
}

/** The permission that is missing. */
function neededIn({ body }: Answer): string {
  return typeof body.needed === 'string' && /^[a-z:,._-]{1,100}$/.test(body.needed) ? body.needed : ''
}

function withMessage(outcome: SendOutcome, answer: Answer | Failed): SendOutcome {
  if (outcome.kind !== 'sent' || 'kind' in answer) return outcome
  const { channel, ts } = answer.body
  if (typeof channel !== 'string' || typeof ts !== 'string') return outcome
  return { kind: 'sent', message: { chat: channel, id: ts } }
}

function nameIn(user: unknown): string | null {
  return typeof user === 'string' && /^[\w.-]{1,80}$/.test(user) ? user : null
}

const busyWords = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded'])
const faultyWords = new Set([
  'internal_error',
  'fatal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
])
/** No other message fares better with this token. */
const tokenWords = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'missing_scope',
  'no_permission',
  'access_denied',
  'accesslimited',
  'org_login_required',
  'ekm_access_denied',
  'enterprise_is_restricted',
  'team_access_not_granted',
  'two_factor_setup_required',
])
/** Nor in this channel. */
const placeWords = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_non_threadable_channel',
])

function no(error: string, word: string): Probe {
  return { state: 'refused', error, mend: mendOf(word, '', '') }
}

/** What to do about it. */
function mendOf(word: string, method: string, needed: string): string {
  const isApp = method === 'apps.connections.open'
  switch (word) {
    case 'channel_not_found':
      return 'Set SLACK_CHANNEL to the id at the end of what Slack shows about the channel. A private one is found once the app is in it: write /invite and the name of the app there.'
    case 'not_in_channel':
      return 'Write /invite and the name of the app in the channel.'
    case 'is_archived':
      return 'The channel is archived: set SLACK_CHANNEL to another one.'
    case 'missing_scope':
      return `Give the app the permission ${needed || 'that is missing'} (OAuth & Permissions), and install it again.`
    case 'not_allowed_token_type':
      return 'SLACK_BOT_TOKEN begins with xoxb-, and SLACK_APP_TOKEN with xapp-.'
    default:
      return isApp
        ? 'Make a new app-level token with connections:write (Basic Information), turn Socket Mode on, and set SLACK_APP_TOKEN.'
        : 'Copy the bot token (OAuth & Permissions) anew and set SLACK_BOT_TOKEN; SLACK_API_BASE must be Slack.'
  }
}
