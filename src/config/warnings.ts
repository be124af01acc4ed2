// Settings that can be used as they are, and may not be what was meant.
import { didYouMean, shorten } from './naming.js'
import type { Config } from './schemas.js'
import { otherSettings, settingEntries } from './settings.js'
import type { Env } from './sources.js'

/** What the service's own variables begin with. */
const prefix = 'CONFIRMATION_'

export function warningsFor(config: Partial<Config>, env: Env): string[] {
  const warnings: string[] = []
  const known = [...settingEntries.map(([, setting]) => setting.env), otherSettings.config.env]
  for (const name of Object.keys(env)) {
    if (!name.startsWith(prefix) || known.includes(name)) continue
    // What all have in common says nothing about which is meant.
    const ends = known.flatMap((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : []))
    const meant = didYouMean(name.slice(prefix.length), ends, prefix)
    warnings.push(`${shorten(name)} is not a setting of Holdpoint and is ignored${meant}`)
  }
  const half = (a: string, b: string, channel: string) =>
    warnings.push(`${a} is set but ${b} is not: ${channel} is not used`)
  if (config.telegramBotToken !== undefined && config.telegramHomeChannel === undefined) {
    half('TELEGRAM_BOT_TOKEN', 'TELEGRAM_HOME_CHANNEL', 'Telegram')
  }
  if (
    config.discordBotToken !== undefined &&
    config.discordHomeChannel === undefined &&
    config.discordWebhookUrl === undefined
  ) {
    half('DISCORD_BOT_TOKEN', 'DISCORD_HOME_CHANNEL', 'Discord')
  }
  if (config.slackBotToken !== undefined && config.slackChannel === undefined)
    half('SLACK_BOT_TOKEN', 'SLACK_CHANNEL', 'Slack')
  if (config.callbackAllow !== undefined && config.callbackSecret === undefined) {
    half('CONFIRMATION_CALLBACK_ALLOW', 'CONFIRMATION_CALLBACK_SECRET', 'callback_url')
  }
  const chats = [
    ...(config.telegramBotToken !== undefined && config.telegramHomeChannel !== undefined ? ['Telegram'] : []),
    ...((config.discordBotToken !== undefined && config.discordHomeChannel !== undefined) ||
    config.discordWebhookUrl !== undefined
      ? ['Discord']
      : []),
    ...(config.slackBotToken !== undefined && config.slackChannel !== undefined ? ['Slack'] : []),
    ...(config.ntfyTopic === undefined ? [] : ['ntfy']),
  ]
  if (chats.length > 0 && config.publicUrl === undefined) {
    warnings.push(
      `${named(chats)} will be told, but without a public URL the links in messages lead to this machine alone, and ` +
        'open on no phone: set CONFIRMATION_PUBLIC_URL, or --public-url, to where people reach the pages',
    )
  }
  return warnings
}

/** As Telegram, Discord and ntfy. */
function named(chats: string[]): string {
  return chats.length < 3 ? chats.join(' and ') : `${chats.slice(0, -1).join(', ')} and ${chats.at(-1)!}`
}
