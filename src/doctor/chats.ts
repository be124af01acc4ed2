// Whether each chat of the settings would take a message. Nobody is told anything.
import type { ReadSettings } from '../config/sources.js'
import { chatSettings } from '../notify/chat-settings.js'
import { type Probe, probeDiscord, probeTelegram } from '../notify/probe.js'
import { version } from '../version.js'

export interface SeenChat {
  name: 'telegram' | 'discord'
  state: Probe['state'] | 'not_set_up' | 'wrong_settings'
  /** The bot's name, where the chat says it. */
  as: string | null
  error: string | null
}

export async function askChats({ settings, config }: ReadSettings, timeoutMs: number): Promise<SeenChat[]> {
  const isWrong = (chat: string) => settings.some((one) => one.isWrong && one.name.startsWith(`${chat}_`))
  const { telegramApiBase = '', discordApiBase = '', slackApiBase = '', ntfyUrl = '' } = config
  const { telegramMode = 'off', notifyTimeout = timeoutMs / 1000 } = config
  const bases = { telegramApiBase, discordApiBase, slackApiBase, ntfyUrl, telegramMode }
  const timeout = Math.min(notifyTimeout, timeoutMs / 1000)
  const { telegram, discord } = chatSettings({ ...config, ...bases, notifyTimeout: timeout })
  const stop = new AbortController().signal
  return Promise.all([
    see('telegram', isWrong('telegram'), telegram && (() => probeTelegram(telegram, stop))),
    see('discord', isWrong('discord'), discord && (() => probeDiscord(discord, version, stop))),
  ])
}

async function see(name: SeenChat['name'], isWrong: boolean, probe: (() => Promise<Probe>) | null): Promise<SeenChat> {
  if (isWrong) return { name, state: 'wrong_settings', as: null, error: null }
  if (probe === null) return { name, state: 'not_set_up', as: null, error: null }
  const found = await probe()
  return {
    name,
    state: found.state,
    as: found.state === 'reachable' ? found.as : null,
    error: found.state === 'reachable' ? null : found.error,
  }
}
