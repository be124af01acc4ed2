// Which chats the settings name: Telegram by a bot, Discord by a bot or else a webhook, Slack by a bot, ntfy by a topic.
import type { DiscordSettings } from './discord.js'
import type { NtfySettings } from './ntfy.js'
import type { SlackSettings } from './slack.js'
import type { TelegramSettings } from './telegram.js'

/** The settings, as far as they are about chats. What is wrong with one may leave it out. */
export interface ChatConfig {
  notifyTimeout: number
  publicUrl?: string | undefined
  telegramBotToken?: string | undefined
  telegramHomeChannel?: string | undefined
  telegramMode: 'polling' | 'webhook' | 'off'
  telegramWebhookSecret?: string | undefined
  telegramApiBase: string
  discordBotToken?: string | undefined
  discordHomeChannel?: string | undefined
  discordWebhookUrl?: string | undefined
  discordPublicKey?: string | undefined
  discordApiBase: string
  slackBotToken?: string | undefined
  slackAppToken?: string | undefined
  slackChannel?: string | undefined
  slackApiBase: string
  ntfyTopic?: string | undefined
  ntfyUrl: string
  ntfyToken?: string | undefined
}

/** Null for a chat that is not set up. */
export interface ChatSettings {
  telegram: TelegramSettings | null
  discord: DiscordSettings | null
  slack: SlackSettings | null
  ntfy: NtfySettings | null
}

export function chatSettings(config: ChatConfig): ChatSettings {
  const timeoutMs = config.notifyTimeout * 1000
  return {
    telegram: telegramSettings(config, timeoutMs),
    discord: discordSettings(config, timeoutMs),
    slack: slackSettings(config, timeoutMs),
    ntfy: ntfySettings(config, timeoutMs),
  }
}

function telegramSettings(config: ChatConfig, timeoutMs: number): TelegramSettings | null {
  const { telegramBotToken: botToken, telegramHomeChannel: chat, telegramApiBase: apiBase } = config
  if (botToken === undefined || chat === undefined) return null
  const { telegramMode: mode, telegramWebhookSecret: secret, publicUrl } = config
  const url = publicUrl === undefined ? null : `${publicUrl}/chat/telegram`
  const common = { botToken, chat, apiBase, timeoutMs, ownWebhook: url }
  if (mode === 'webhook' && secret !== undefined && url !== null) return { ...common, hearing: { url, secret } }
  // Without its secret the webhook would let anybody in; the start refuses that.
  return { ...common, hearing: mode === 'polling' ? 'polling' : null }
}

function discordSettings(config: ChatConfig, timeoutMs: number): DiscordSettings | null {
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = config
  if (botToken !== undefined && channelId !== undefined) {
    return { botToken, channelId, apiBase, timeoutMs, publicKey: config.discordPublicKey ?? null }
  }
  const { discordWebhookUrl: webhookUrl } = config
  return webhookUrl === undefined ? null : { webhookUrl, timeoutMs }
}

function slackSettings(config: ChatConfig, timeoutMs: number): SlackSettings | null {
  const { slackBotToken: botToken, slackChannel: channelId, slackApiBase: apiBase } = config
  if (botToken === undefined || channelId === undefined) return null
  return { botToken, channelId, apiBase, timeoutMs, appToken: config.slackAppToken ?? null }
}

function ntfySettings(
  { ntfyTopic: topic, ntfyUrl: url, ntfyToken }: ChatConfig,
  timeoutMs: number,
): NtfySettings | null {
  return topic === undefined ? null : { topic, url, token: ntfyToken ?? null, timeoutMs }
}
