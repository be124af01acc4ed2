// Discord: one embed, by a bot or through a webhook. Agents' text stands in code spans and blocks, where Discord
// recognises neither markup nor mentions, and no mention is allowed to ping anyway.
import { shortDigest } from '../core/digest.js'
import type { Alarm } from '../core/model.js'
import { judge, post, wordsOf } from './http.js'
import {
  alarmFactsOf,
  type AlarmShare,
  approveCommand,
  type Channel,
  denyCommand,
  factsOf,
  manyApprovals,
  noSessionKey,
  type Notice,
  type SendOutcome,
  type Share,
  whyNotApprove,
} from './notifier.js'

export type DiscordSettings = (
  | {
      botToken: string
      channelId: string
      apiBase: string
      /** By which what is sent to /chat/discord is known to come from Discord; null: presses come through the Gateway. */
      publicKey: string | null
    }
  | { webhookUrl: string }
) & {
  /** How long an answer may take. */
  timeoutMs: number
}

// Embed limits: title 256, description 4096, a field's value 1024, everything together 6000. Code fences included.
const share: Share = { name: 200, details: 960, description: 2400, isShared: false }
const alarmShare: AlarmShare = { name: 200, reason: 960, next: 960 }
const amber = 0xf5a623
const red = 0xd0021b

export function createDiscord(settings: DiscordSettings, version: string): Channel {
  const isWebhook = 'webhookUrl' in settings
  const url = isWebhook ? withWait(settings.webhookUrl) : `${settings.apiBase}/channels/${settings.channelId}/messages`
  const headers = discordHeaders(settings, version)
  const secret = discordSecret(settings)

  async function attempt(id: string, message: object, stop: AbortSignal): Promise<SendOutcome> {
    // Discord drops a second message with the same nonce, so a bot's retry after a lost answer is safe.
    const nonce = { nonce: id.replaceAll('-', '').slice(-25), enforce_nonce: true }
    const answer = await post(url, isWebhook ? message : { ...message, ...nonce }, headers, settings.timeoutMs, stop)
    if ('kind' in answer) return answer
    const seconds = Number(answer.body.retry_after ?? NaN)
    const outcome = judge(
      answer,
      Number.isFinite(seconds) ? seconds * 1000 : null,
      wordsOf(answer.body.message, secret),
      // With `wait` a webhook answers with the message too; anything else did not come from Discord.
      answer.status === 200 && typeof answer.body.id === 'string',
    )
    if (isWebhook && answer.status === 404 && outcome.kind === 'refused') return { ...outcome, fault: 'gone' }
    return outcome
  }

  return {
    name: 'discord',
    send: (notice, stop) => attempt(notice.id, renderDiscord(notice), stop),
    sendAlarm: (alarm, stop) => attempt(alarm.id, renderDiscordAlarm(alarm), stop),
  }
}

export function discordHeaders(settings: DiscordSettings, version: string): Record<string, string> {
  const userAgent = `DiscordBot (https://www.npmjs.com/package/holdpoint, ${version})`
  if ('webhookUrl' in settings) return { 'user-agent': userAgent }
  return { 'user-agent': userAgent, authorization: `Bot ${settings.botToken}` }
}

/** What no message may repeat. */
export function discordSecret(settings: DiscordSettings): string {
  if ('webhookUrl' in settings) return new URL(settings.webhookUrl).pathname.split('/').at(-1) ?? ''
  return settings.botToken
}

export function renderDiscord(notice: Notice) {
  const facts = factsOf(notice, share, unfence)
  const many = manyApprovals(notice)
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: '🔔 Confirmation needed',
        color: amber,
        description: block(facts.description),
        fields: [
          ...(notice.warnings.length === 0 ? [] : [{ name: '⚠️ Warning', value: notice.warnings.join(' ') }]),
          { name: 'Action', value: span(facts.action) },
          { name: 'Requester', value: span(facts.requester) },
          ...(facts.onBehalfOf === null
            ? []
            : [{ name: 'On behalf of (not verified)', value: span(facts.onBehalfOf) }]),
          ...(facts.sessionKey === null ? [] : [{ name: 'Session', value: span(facts.sessionKey) }]),
          ...(facts.details === null ? [] : [{ name: `Details${facts.detailsLength}`, value: block(facts.details) }]),
          ...(facts.descriptionLength === ''
            ? []
            : [{ name: 'Description above', value: facts.descriptionLength.trim() }]),
          { name: 'ID', value: span(notice.id) },
          { name: 'Digest', value: span(shortDigest(notice.digest)) },
          ...(many === null ? [] : [{ name: 'Needs', value: many }]),
          ...(notice.link === null ? [] : [{ name: 'Decide', value: notice.link }]),
          { name: 'Approve', value: facts.isWhole ? block(approveCommand(notice)) : whyNotApprove(notice) },
          { name: 'Deny', value: block(denyCommand(notice)) },
        ],
        footer: { text: `Expires ${new Date(notice.expiresAt).toISOString()}` },
      },
    ],
  }
}

export function renderDiscordAlarm(alarm: Alarm) {
  const facts = alarmFactsOf(alarm, alarmShare, unfence)
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: `⛔ ${facts.happened}`,
        color: red,
        description: block(facts.reason),
        fields: [
          { name: 'Session', value: facts.sessionKey === null ? noSessionKey : span(facts.sessionKey) },
          { name: 'Requester', value: span(facts.requester) },
          { name: facts.next, value: block(facts.command) },
          { name: 'Or', value: block(facts.request) },
        ],
        footer: { text: facts.at },
      },
    ],
  }
}

function span(text: string): string {
  return `\`${text}\``
}

function block(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``
}

/** A code span or block ends only at a backtick, so agents get a look-alike (U+02CB), and that one is written out. */
function unfence(shown: string): string {
  return shown.replaceAll('ˋ', '\\u{2cb}').replaceAll('`', 'ˋ')
}

function withWait(webhookUrl: string): string {
  const url = new URL(webhookUrl)
  url.searchParams.set('wait', 'true')
  return url.href
}
