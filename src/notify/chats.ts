// Every chat there is, in the order in which they are tried. A new chat has its line here, and one in chat-settings.ts.
import type { Chat } from './chat.js'
import { type ChatConfig, chatSettings } from './chat-settings.js'
import { createDiscord } from './discord.js'
import { createNtfy } from './ntfy.js'
import { createSlack } from './slack.js'
import { createTelegram } from './telegram.js'

/** Those that the settings name. `version` is Holdpoint's own, which some services want to know. */
export function createChats(config: ChatConfig, version: string): Chat[] {
  const { telegram, discord, slack, ntfy } = chatSettings(config)
  return [
    ...(telegram === null ? [] : [createTelegram(telegram)]),
    ...(discord === null ? [] : [createDiscord(discord, version)]),
    ...(slack === null ? [] : [createSlack(slack)]),
    ...(ntfy === null ? [] : [createNtfy(ntfy)]),
  ]
}
