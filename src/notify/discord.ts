// Discord: one embed, by a bot or through a webhook. Agents' text stands in code spans and blocks, where Discord
// recognises neither markup nor mentions, and no mention is allowed to ping anyway.
import { shortDigest } from '../core/digest.js'
import { cut, visible, visibleLine } from '../core/text.js'
import { judge, post, wordsOf } from './http.js'
import { approveCommand, type Channel, denyCommand, manyApprovals, type Notice, readableDetails } from './notifier.js'

export type DiscordSettings = ({ botToken: string; channelId: string; apiBase: string } | { webhookUrl: string }) & {
  /** How long an answer may take. */
  timeoutMs: number
}

// Embed limits: title 256, description 4096, a field's value 1024, everything together 6000. Code fences included.
const limits = { action: 200, requester: 200, behalf: 100, session: 200, description: 2400, details: 960 }
const amber = 0xf5a623

export function createDiscord(settings: DiscordSettings, version: string): Channel {
  const userAgent = `DiscordBot (https://www.npmjs.com/package/holdpoint, ${version})`
  const isWebhook = 'webhookUrl' in settings
  const url = isWebhook ? withWait(settings.webhookUrl) : `${settings.apiBase}/channels/${settings.channelId}/messages`
  const headers: Record<string, string> = isWebhook
    ? { 'user-agent': userAgent }
    : { 'user-agent': userAgent, authorization: `Bot ${settings.botToken}` }
  const secret = isWebhook ? (new URL(url).pathname.split('/').at(-1) ?? '') : settings.botToken

  return {
    name: 'discord',
    async send(notice, stop) {
      const message = renderDiscord(notice)
      // Discord drops a second message with the same nonce, so a bot's retry after a lost answer is safe.
      const nonce = { nonce: notice.id.replaceAll('-', '').slice(-25), enforce_nonce: true }
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
    },
  }
}

export function renderDiscord(notice: Notice) {
  const details = readableDetails(notice)
  const many = manyApprovals(notice)
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: '🔔 Confirmation needed',
        color: amber,
        description: block(notice.description, limits.description),
        fields: [
          { name: 'Action', value: span(notice.action, limits.action) },
          ...(details === null ? [] : [{ name: 'Details', value: block(details, limits.details) }]),
          { name: 'Requester', value: span(notice.requester, limits.requester) },
          ...(notice.onBehalfOf === null
            ? []
            : [{ name: 'On behalf of (not verified)', value: span(notice.onBehalfOf, limits.behalf) }]),
          ...(notice.sessionKey === '' ? [] : [{ name: 'Session', value: span(notice.sessionKey, limits.session) }]),
          { name: 'ID', value: `\`${notice.id}\`` },
          { name: 'Digest', value: `\`${shortDigest(notice.digest)}\`` },
          ...(many === null ? [] : [{ name: 'Needs', value: many }]),
          ...(notice.link === null ? [] : [{ name: 'Decide', value: notice.link }]),
          { name: 'Approve', value: block(approveCommand(notice), limits.details) },
          { name: 'Deny', value: block(denyCommand(notice), limits.details) },
        ],
        footer: { text: `Expires ${new Date(notice.expiresAt).toISOString()}` },
      },
    ],
  }
}

// A code span or block ends only at a backtick, so agents get a look-alike instead (U+02CB).
function span(text: string, limit: number): string {
  return `\`${cut(unfence(visibleLine(text)), limit)}\``
}

function block(text: string, limit: number): string {
  return `\`\`\`\n${cut(unfence(visible(text)), limit)}\n\`\`\``
}

function unfence(text: string): string {
  return text.replaceAll('`', 'ˋ')
}

function withWait(webhookUrl: string): string {
  const url = new URL(webhookUrl)
  url.searchParams.set('wait', 'true')
  return url.href
}
