// Which chats the settings name: Telegram by a bot, Discord by a bot or else a webhook.
import type { DiscordSettings } from './discord.js'
import type { TelegramSettings } from './telegram.js'

/** The settings, as far as they are about chats. What is wrong with one may leave it out. */
export interface ChatConfig {
  notifyTimeout: number
  telegramBotToken?: string | undefined
  telegramHomeChannel?: string | undefined
  telegramApiBase: string
  discordBotToken?: string | undefined
  discordHomeChannel?: string | undefined
  discordWebhookUrl?: string | undefined
  discordApiBase: string
}

/** Null for a chat that is not set up. */
export interface ChatSettings {
  telegram: TelegramSettings | null
  discord: DiscordSettings | null
}

export function chatSettings(config: ChatConfig): ChatSettings {
  const timeoutMs = config.notifyTimeout * 1000
  return { telegram: telegramSettings(config, timeoutMs), discord: discordSettings(config, timeoutMs) }
}

function telegramSettings(config: ChatConfig, timeoutMs: number): TelegramSettings | null {
  const { telegramBotToken: botToken, telegramHomeChannel: chat, telegramApiBase: apiBase } = config
  return botToken === undefined || chat === undefined ? null : { botToken, chat, apiBase, timeoutMs }
}

function discordSettings(config: ChatConfig, timeoutMs: number): DiscordSettings | null {
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = config
  if (botToken !== undefined && channelId !== undefined) return { botToken, channelId, apiBase, timeoutMs }
  const { discordWebhookUrl: webhookUrl } = config
  return webhookUrl === undefined ? null : { webhookUrl, timeoutMs }
}
