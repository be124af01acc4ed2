// Telegram: one HTML message. Agents' text stands in <code> and <pre>, where no mention, link or command is recognised.
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

export interface TelegramSettings {
  botToken: string
  chat: string
  apiBase: string
  /** How long an answer may take. */
  timeoutMs: number
  /** How presses and words come in: asked for, or sent to this URL with this secret; null: not at all. */
  hearing: 'polling' | { url: string; secret: string } | null
}

// The whole text may have 4096 characters after entities; what is fixed, with ids, commands and a link, stays below 1110.
const share: Share = { name: 200, details: 1200, description: 1080, isShared: true }
// What is fixed stays below 200.
const alarmShare: AlarmShare = { name: 200, reason: 1200, next: 1000 }

export function createTelegram({ botToken, chat, apiBase, timeoutMs }: TelegramSettings): Channel {
  // A group that became a supergroup answers with its new id once.
  let chatId = chat

  async function attempt(text: string, stop: AbortSignal, mayMove: boolean): Promise<SendOutcome> {
    const answer = await post(
      `${apiBase}/bot${botToken}/sendMessage`,
      {
        chat_id: chatId,
        text,
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      },
      {},
      timeoutMs,
      stop,
    )
    if ('kind' in answer) return answer
    const { body } = answer
    const parameters = (body.parameters ?? {}) as { retry_after?: unknown; migrate_to_chat_id?: unknown }
    if (mayMove && /^-?\d+$/.test(String(parameters.migrate_to_chat_id))) {
      chatId = String(parameters.migrate_to_chat_id)
      return attempt(text, stop, false)
    }
    const seconds = Number(parameters.retry_after ?? NaN)
    const outcome = judge(
      answer,
      Number.isFinite(seconds) ? seconds * 1000 : null,
      wordsOf(body.description, botToken),
      answer.status === 200 && body.ok === true,
    )
    // A chat that does not exist is answered like a malformed message, but no other message will fare better.
    if (outcome.kind === 'refused' && /chat not found/i.test(outcome.error)) return { ...outcome, fault: 'channel' }
    return outcome
  }

  return {
    name: 'telegram',
    send: (notice, stop) => attempt(renderTelegram(notice), stop, true),
    sendAlarm: (alarm, stop) => attempt(renderTelegramAlarm(alarm), stop, true),
  }
}

export function renderTelegram(notice: Notice): string {
  const warnings = notice.warnings.map((one) => `⚠️ ${one}\n`).join('')
  // They are few and short; the description has less room for them.
  const facts = factsOf(notice, { ...share, description: share.description - warnings.length })
  const many = manyApprovals(notice)
  return [
    `🔔 <b>Confirmation needed</b>: ${code(facts.action)}`,
    `${warnings}Requester: ${code(facts.requester)}`,
    ...(facts.onBehalfOf === null ? [] : [`On behalf of (not verified): ${code(facts.onBehalfOf)}`]),
    ...(facts.sessionKey === null ? [] : [`Session: ${code(facts.sessionKey)}`]),
    `ID: ${code(notice.id)}`,
    `Digest: ${code(shortDigest(notice.digest))}`,
    ...(many === null ? [] : [`Needs: ${many}`]),
    `Expires: ${new Date(notice.expiresAt).toISOString()}`,
    ...(facts.details === null ? [] : [`Details${facts.detailsLength}`, block(facts.details)]),
    `Description${facts.descriptionLength}`,
    block(facts.description),
    // Plain, so that it can be tapped.
    ...(notice.link === null ? [] : [`Decide: ${escapeHtml(notice.link)}`]),
    `Approve: ${facts.isWhole ? code(approveCommand(notice)) : escapeHtml(whyNotApprove(notice))}`,
    `Deny: ${code(denyCommand(notice))}`,
  ].join('\n')
}

export function renderTelegramAlarm(alarm: Alarm): string {
  const facts = alarmFactsOf(alarm, alarmShare)
  return [
    `⛔ <b>${facts.happened}</b>`,
    `Session: ${facts.sessionKey === null ? noSessionKey : code(facts.sessionKey)}`,
    `Requester: ${code(facts.requester)}`,
    `When: ${facts.at}`,
    'Why',
    block(facts.reason),
    `${facts.next}: ${code(facts.command)}`,
    `Or: ${code(facts.request)}`,
  ].join('\n')
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

function block(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
