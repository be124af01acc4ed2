// An app with played chats behind it, and ways to ask what became of its messages.
import type { Test } from 'tap'
import { type Built, build, type BuildOptions, until } from '../support.js'
import { type FakeDiscord, startDiscord } from './fake-discord.js'
import { type FakeTelegram, startTelegram } from './fake-telegram.js'

export interface Chats extends Built {
  telegram: FakeTelegram
  discord: FakeDiscord
}

/** Somebody may decide there; else each start says that nobody may. */
const somebody = { telegramAllowedUsers: ['1'], discordAllowedUsers: ['1'] }
/** So many messages as a test sends: how they are held back is a matter of its own. */
const usual = { ...somebody, notifyRate: 0 }

/** An app with Telegram and Discord behind it. */
export async function withBoth(t: Test, options: BuildOptions = {}): Promise<Chats> {
  const [telegram, discord] = [await startTelegram(t), await startDiscord(t)]
  const config = { ...telegram.config, ...discord.config, ...usual, ...options.config }
  return { telegram, discord, ...(await build(t, { ...options, config })) }
}

export async function withTelegram(
  t: Test,
  options: BuildOptions = {},
  chat?: string,
): Promise<Omit<Chats, 'discord'>> {
  const telegram = await startTelegram(t, chat)
  return {
    telegram,
    ...(await build(t, { ...options, config: { ...telegram.config, ...usual, ...options.config } })),
  }
}

/** By channel. The log stands behind every chat: it is left out where it was not told. */
export async function deliveries({ call }: Pick<Built, 'call'>, id = 'id-0001'): Promise<Record<string, any>> {
  const { body } = await call('GET', `/confirm/${id}`)
  const tried = body.deliveries.filter((one: any) => one.channel !== 'log' || one.attempts > 0)
  return Object.fromEntries(tried.map((one: { channel: string }) => [one.channel, one]))
}

export async function states(built: Pick<Built, 'call'>, id?: string): Promise<Record<string, string>> {
  const found = Object.entries(await deliveries(built, id))
  return Object.fromEntries(found.map(([channel, { status }]) => [channel, status]))
}

/** Waits until the deliveries stand exactly so. */
export async function untilStates(
  built: Pick<Built, 'call'>,
  wanted: Record<string, string>,
  id?: string,
): Promise<void> {
  const sorted = (of: object) => JSON.stringify(Object.entries(of).sort())
  let last = ''
  try {
    await until(async () => (last = sorted(await states(built, id))) === sorted(wanted))
  } catch {
    throw new Error(`the deliveries are ${last}, not ${sorted(wanted)}`)
  }
  await written(built)
}

/** What is on disk can be read before this thread hears of it: the log and the metrics follow with the writer's answer. */
export async function written({ call }: Pick<Built, 'call'>): Promise<void> {
  await call('GET', '/ready')
}

export async function story({ events }: Pick<Built, 'events'>): Promise<string[]> {
  const notify = (await events()).filter(({ type }) => type === 'notified' || type === 'notify_failed')
  return notify.map(({ type, channel, data }) => `${type} ${channel} ${data.state}`)
}

export function warnings({ logged }: Pick<Built, 'logged'>, about: RegExp): Record<string, any>[] {
  return logged.filter(({ level, msg }) => level === 40 && about.test(String(msg)))
}
