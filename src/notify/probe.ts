// Whether a chat would take messages: it is asked who the bot is and whether it knows the chat, and nobody is told anything.
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import { discordHeaders, discordSecret, type DiscordSettings } from './discord.js'
import { type Answer, get, wordsOf } from './http.js'

export type Probe =
  /** `as`: under which name, if it says so. */
  | { state: 'reachable'; as: string | null }
  /** It answered, and said no; or what answered is no chat. */
  | { state: 'refused'; error: string }
  /** No answer, or not now. */
  | { state: 'unreachable'; error: string }

/** How one chat is asked, and what its answers look like. */
interface Manner {
  headers: Record<string, string>
  timeoutMs: number
  isGood(answer: Answer): boolean
  /** Its own words for what went wrong. */
  wordsIn(body: Answer['body']): string
}

export async function probeDiscord(settings: DiscordSettings, version: string, stop: AbortSignal): Promise<Probe> {
  const manner: Manner = {
    headers: discordHeaders(settings, version),
    timeoutMs: settings.timeoutMs,
    isGood: ({ status, body }) => status === 200 && typeof body.id === 'string',
    wordsIn: ({ message }) => wordsOf(message, discordSecret(settings)),
  }
  if ('webhookUrl' in settings) {
    const hook = await ask(settings.webhookUrl, 'the webhook', manner, stop)
    return 'state' in hook ? hook : { state: 'reachable', as: null }
  }
  const { apiBase, channelId } = settings
  const me = await ask(`${apiBase}/users/@me`, 'users/@me', manner, stop)
  if ('state' in me) return me
  const channel = await ask(`${apiBase}/channels/${channelId}`, 'the channel', manner, stop)
  return 'state' in channel ? channel : { state: 'reachable', as: nameIn(me.body) }
}

/** The answer if it is a good one, else what it means. */
async function ask(url: string, what: string, manner: Manner, stop: AbortSignal): Promise<Answer | Probe> {
  const answer = await get(url, manner.headers, manner.timeoutMs, stop)
  if ('kind' in answer) return { state: 'unreachable', error: answer.error }
  if (manner.isGood(answer)) return answer
  const { status, body } = answer
  const error = cut(visibleLine(`${what}: ${status} ${manner.wordsIn(body) || 'without a reason'}`), 300)
  return { state: status === 429 || status === 408 || status >= 500 ? 'unreachable' : 'refused', error }
}

/** A name that can be repeated, or null. */
function nameIn(bot: unknown): string | null {
  const { username } = (bot ?? {}) as { username?: unknown }
  return typeof username === 'string' && /^[\w.]{2,32}$/.test(username) ? username : null
}
