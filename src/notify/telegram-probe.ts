// Whether Telegram would take our messages and let us hear what is pressed; and if not, why, and what to do. Nobody is told
// anything by it.
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import type { Probe } from './chat.js'
import { type Called, type Home, objectOf, type TelegramApi } from './telegram-api.js'
import type { Webhook } from './telegram-hearing.js'

/** How presses come in; and what our own webhook would be. */
interface Way {
  how: 'polling' | Webhook | null
  ownWebhook: string | null
}

type Trouble = Exclude<Probe, { state: 'reachable' }>

const mend = {
  token: 'Check TELEGRAM_BOT_TOKEN, or get a new token from @BotFather: /token, or /newbot for another bot.',
  chat: 'Check TELEGRAM_HOME_CHANNEL, and add the bot to that group or channel.',
  person:
    'Check TELEGRAM_HOME_CHANNEL. Whoever has this id must open the chat with the bot and press Start, and not block it.',
  member: 'Add the bot to the chat again, or name another one in TELEGRAM_HOME_CHANNEL.',
  channel: 'Make the bot an administrator of the channel who may post messages.',
  rights: 'Let the bot send messages there: in the permissions of the group, or by making it an administrator.',
  server: 'Check TELEGRAM_API_BASE: what answers there is not the Bot API.',
  webhook:
    'Presses go there and not to Holdpoint. Give Holdpoint a bot of its own; or remove the webhook with the method deleteWebhook: https://api.telegram.org/botTOKEN/deleteWebhook, with the token of the bot in place of TOKEN.',
  otherWebhook:
    'Presses go there. Restart Holdpoint, which sets its own; if it changes again, give Holdpoint a bot of its own.',
  delivery:
    'Telegram must reach the public URL from the internet: by https, with a certificate that browsers trust, on port 443, 80, 88 or 8443. Or leave TELEGRAM_MODE at polling, which needs no public URL.',
}

export async function probeTelegram(api: TelegramApi, home: Home, hearing: Way, stop: AbortSignal): Promise<Probe> {
  const me = await api.call('getMe', {}, stop)
  if (me.kind === 'not done') return troubleIn('getMe', me, mend.token)
  const { id: bot, username } = objectOf(me.result)
  const chat = await home.call('getChat', {}, stop)
  if (chat.kind === 'not done') return troubleIn('getChat', chat, home.isPrivate() ? mend.person : mend.chat)
  const obstacle =
    (await findObstacle(home, objectOf(chat.result), bot, stop)) ?? (await findDeafness(api, hearing, stop))
  const moved = home.movedTo()
  const but = moved === null ? {} : { but: `The group became a supergroup: set TELEGRAM_HOME_CHANNEL to ${moved}.` }
  return obstacle ?? { state: 'reachable', as: nameIn(username), ...but }
}

/** Why it could not write there. */
async function findObstacle(
  home: Home,
  { type, permissions }: Record<string, unknown>,
  bot: unknown,
  stop: AbortSignal,
): Promise<Trouble | null> {
  if (type === 'private') return null
  const called = await home.call('getChatMember', { user_id: bot }, stop)
  if (called.kind === 'not done') return troubleIn('getChatMember', called, mend.member)
  const member = objectOf(called.result)
  const { status } = member
  if (status === 'left' || status === 'kicked') return refused('the bot is not in the chat', mend.member)
  if (type === 'channel') {
    const mayPost = status === 'creator' || (status === 'administrator' && member.can_post_messages === true)
    return mayPost ? null : refused('the bot may not post in the channel', mend.channel)
  }
  const isMuted =
    (status === 'restricted' && member.can_send_messages !== true) ||
    (status === 'member' && objectOf(permissions).can_send_messages === false)
  return isMuted ? refused('the bot may not send messages in the group', mend.rights) : null
}

/** Why presses would not be heard. */
async function findDeafness(api: TelegramApi, { how, ownWebhook }: Way, stop: AbortSignal): Promise<Trouble | null> {
  if (how === null) return null
  const called = await api.call('getWebhookInfo', {}, stop)
  if (called.kind === 'not done') return troubleIn('getWebhookInfo', called, mend.server)
  const { url, last_error_message: error, pending_update_count: waiting } = objectOf(called.result)
  // Holdpoint sets its own when it starts.
  if (typeof url !== 'string' || url === '') return null
  // It removes its own when it is to ask.
  if (how === 'polling' && url === ownWebhook) return null
  if (how === 'polling') return refused(`a webhook is set on the bot: ${hostOf(url)}`, mend.webhook)
  if (url !== how.url) return refused(`another webhook is set on the bot: ${hostOf(url)}`, mend.otherWebhook)
  // It is named long after it was mended, so what waits must say that it still holds.
  if (typeof error !== 'string' || waiting === 0) return null
  return refused(`Telegram does not reach the webhook: ${cut(visibleLine(error), 200)}`, mend.delivery)
}

function troubleIn(
  method: string,
  { outcome, status }: Extract<Called, { kind: 'not done' }>,
  advice: string,
): Trouble {
  if (status === null) return { state: 'unreachable', error: outcome.error }
  const error = `${method}: ${outcome.error}`
  // Whatever is asked first: it answered, and as no Bot API does.
  if (status < 400) return refused(error, mend.server)
  return outcome.kind === 'refused' ? refused(error, advice) : { state: 'unreachable', error }
}

function refused(error: string, advice: string): Trouble {
  return { state: 'refused', error, mend: advice }
}

/** The rest of the address may be a secret of whoever set it. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'at an address that cannot be read'
}

/** A name that can be repeated, or null. */
function nameIn(username: unknown): string | null {
  return typeof username === 'string' && /^\w{2,32}$/.test(username) ? username : null
}
