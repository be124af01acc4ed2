// Whether each chat of the settings would take a message. Nobody is told anything.
import { type ChatName, chatNames } from '../core/model.js'
import type { ReadSettings } from '../config/sources.js'
import type { Chat, Probe } from '../notify/chat.js'
import { createChats } from '../notify/chats.js'
import { version } from '../version.js'

export interface SeenChat {
  name: ChatName
  state: Probe['state'] | 'not_set_up' | 'wrong_settings'
  /** The bot's name, where the chat says it. */
  as: string | null
  error: string | null
  /** What to do about it. */
  mend: string | null
}

export async function askChats({ settings, config }: ReadSettings, timeoutMs: number): Promise<SeenChat[]> {
  const isWrong = (name: string) => settings.some((one) => one.isWrong && one.name.startsWith(`${name}_`))
  const { telegramApiBase = '', discordApiBase = '', slackApiBase = '', ntfyUrl = '' } = config
  const { telegramMode = 'off', notifyTimeout = timeoutMs / 1000 } = config
  const bases = { telegramApiBase, discordApiBase, slackApiBase, ntfyUrl, telegramMode }
  const timeout = Math.min(notifyTimeout, timeoutMs / 1000)
  const chats = createChats({ ...config, ...bases, notifyTimeout: timeout }, version)
  return Promise.all(chatNames.map((name) => see(name, isWrong(name), chats.find((one) => one.name === name) ?? null)))
}

async function see(name: ChatName, isWrong: boolean, chat: Chat | null): Promise<SeenChat> {
  if (isWrong) return { name, state: 'wrong_settings', as: null, error: null, mend: null }
  if (chat === null) return { name, state: 'not_set_up', as: null, error: null, mend: null }
  const found = await chat.probe(new AbortController().signal)
  return {
    name,
    state: found.state,
    as: found.state === 'reachable' ? found.as : null,
    error: found.state === 'reachable' ? null : found.error,
    mend: found.state === 'refused' ? found.mend : found.state === 'reachable' ? (found.but ?? null) : null,
  }
}
