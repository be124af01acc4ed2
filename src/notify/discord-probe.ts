// Whether Discord takes messages and tells of presses, and if not, what to do about it. Nobody is told anything by looking.
import { cut } from '../core/cut.js'
import { visibleLine } from '../core/visible.js'
import type { Probe } from './chat.js'
import { missingPermissions } from './discord-permissions.js'
import { type Answer, type Failed, wordsOf } from './http.js'

const mendToken =
  'Get another token (discord.com/developers, the application, Bot, Reset Token), and set DISCORD_BOT_TOKEN.'
const mendWebhook =
  "Make another webhook (the channel's settings, Integrations, Webhooks), and set DISCORD_WEBHOOK_URL to its address."
const mendChannel =
  'DISCORD_HOME_CHANNEL must be the id of a text channel of a server that the bot was invited to: turn on Developer Mode in ' +
  "Discord (Advanced), and choose Copy Channel ID in the channel's menu."
const mendAccess = (names: string) =>
  `Give the bot or its role ${names} there: the channel's settings, Permissions. It must be in that server, too.`
const permissions = 'View Channel, Send Messages and Embed Links'
/** Categories, forums and the like: nothing can be written in them. */
const notForText = new Set([4, 14, 15, 16])

type Ask = (path: string) => Promise<Answer | Failed>

export async function probeBot(
  ask: Ask,
  { botToken, channelId, publicKey }: { botToken: string; channelId: string; publicKey: string | null },
): Promise<Probe> {
  const look = async (what: string, path: string) => judgeProbe(what, await ask(path), botToken, null)
  const me = await look('users/@me', '/users/@me')
  if ('state' in me) return me
  const channel = await look('the channel', `/channels/${channelId}`)
  if ('state' in channel) return channel
  if (notForText.has(Number(channel.body.type))) {
    return { state: 'refused', error: 'the channel: nothing can be written there', mend: mendChannel }
  }
  if (typeof channel.body.guild_id === 'string') {
    const guild = await look('the server', `/guilds/${channel.body.guild_id}`)
    if ('state' in guild) return guild
    const member = await look('the server', `/guilds/${channel.body.guild_id}/members/${String(me.body.id)}`)
    if ('state' in member) return member
    const missing = missingPermissions(channel.body, guild.body, member.body, String(me.body.id))
    if (missing.length > 0) {
      const names = missing.join(', ')
      return { state: 'refused', error: `the channel: the bot lacks ${names}`, mend: mendAccess(names) }
    }
  }
  const application = await look('the application', '/applications/@me')
  if ('state' in application) return application
  return problemWithHearing(application.body, publicKey) ?? { state: 'reachable', as: nameIn(me.body) }
}

export function probeWebhook(answer: Answer | Failed, secret: string): Probe {
  const hook = judgeProbe('the webhook', answer, secret, mendWebhook)
  return 'state' in hook ? hook : { state: 'reachable', as: null }
}

/** Why presses would not come in, or null. */
export function problemWithHearing(
  application: Record<string, unknown>,
  publicKey: string | null,
): Extract<Probe, { state: 'refused' }> | null {
  const { interactions_endpoint_url: url, verify_key: key } = application
  const hasUrl = typeof url === 'string' && url !== ''
  const where = 'discord.com/developers, the application, General Information'
  const no = (error: string, mend: string) => ({ state: 'refused', error, mend }) as const
  if (publicKey === null) {
    if (!hasUrl) return null
    return no(
      'presses go to the Interactions Endpoint URL of the application, and not through the Gateway',
      `Take that URL away (${where}); or set DISCORD_PUBLIC_KEY, if it leads to /chat/discord here.`,
    )
  }
  if (typeof key === 'string' && key.toLowerCase() !== publicKey.toLowerCase()) {
    return no(
      'DISCORD_PUBLIC_KEY is not the public key of this application',
      `Copy the Public Key (${where}) into DISCORD_PUBLIC_KEY.`,
    )
  }
  if (hasUrl) return null
  return no(
    'the application has no Interactions Endpoint URL, so presses come nowhere',
    `Set it (${where}) to the public URL of Holdpoint and /chat/discord while Holdpoint runs; or take DISCORD_PUBLIC_KEY away.`,
  )
}

/** The answer if it is a good one, else what it means. `mend`: where Discord does not say which of several it is. */
function judgeProbe(what: string, answer: Answer | Failed, secret: string, mend: string | null): Answer | Probe {
  if ('kind' in answer) return { state: 'unreachable', error: answer.error }
  const { status, body } = answer
  // A member of a server has an id in it.
  if (status === 200 && (typeof body.id === 'string' || typeof body.user === 'object')) return answer
  const error = cut(visibleLine(`${what}: ${status} ${wordsOf(body.message, secret) || 'without a reason'}`), 300)
  if (status === 408 || status === 429 || status >= 500) return { state: 'unreachable', error }
  return { state: 'refused', error, mend: mend ?? mendOf(answer) }
}

function mendOf({ status }: Answer): string {
  if (status === 401) return mendToken
  if (status === 403) return mendAccess(permissions)
  if (status === 404) return mendChannel
  return 'DISCORD_API_BASE must be the address of the API of Discord, version 10.'
}

/** A name that can be repeated, or null. */
function nameIn({ username }: Answer['body']): string | null {
  return typeof username === 'string' && /^[\w.]{2,32}$/.test(username) ? username : null
}
