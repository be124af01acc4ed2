// The started program with Telegram behind it, and ways to ask, press and see what became of it.
import type { Test } from 'tap'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '../notify/fake-telegram.js'
import { until } from '../support.js'
import { type Program, start, type StartOptions } from './program.js'

export const maria = 11
export const tom = 12
export const stranger = 99

export interface Both {
  telegram: FakeTelegram
  program: Program
}

export async function withTelegram(t: Test, options: StartOptions = {}, home?: string): Promise<Both> {
  const telegram = await startTelegram(t, home)
  const program = await start(t, { ...options, env: { ...envOf(telegram), ...options.env } })
  return { telegram, program }
}

export function envOf(telegram: FakeTelegram): Record<string, string> {
  return { ...telegram.env, TELEGRAM_ALLOWED_USERS: `${maria},${tom}` }
}

/** Asks, and waits until Telegram has the message. */
export async function ask({ telegram, program }: Both, fields: Record<string, unknown> = {}) {
  const before = telegram.messages.length
  const { status, body } = await program.submit(fields)
  if (status !== 202) throw new Error(`it was answered with ${status}: ${JSON.stringify(body)}`)
  await until(() => telegram.messages.length > before)
  return { id: String(body.id), message: telegram.messages[before]! }
}

export const titleOf = ({ text }: TelegramMessage) => text.split('\n')[0]!
export const isTitled = (message: TelegramMessage, title: RegExp) => eventually(() => title.test(titleOf(message)))
export const labelsOf = ({ buttons }: TelegramMessage) => buttons.flat().map(({ text }) => text)
export const dataOf = (message: TelegramMessage, label: string) =>
  message.buttons.flat().find(({ text }) => text === label)!.callback_data!
export const statusOf = async (program: Program, id: string) => (await program.call('GET', `/confirm/${id}`)).body
export const typed = async (program: Program, type: string, id?: string) =>
  (await program.events()).filter((one) => one.type === type && (id === undefined || one.confirmation_id === id))

/** Waits longer than `until` does: for what is tried again and again, with pauses. */
export async function eventually(condition: () => unknown): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await until(condition)
    } catch (error) {
      if (tries === 6) throw error
    }
  }
}

/** What is asked next in the chat, as soon as it is there. */
export async function next({ messages }: FakeTelegram, after: number): Promise<TelegramMessage> {
  await eventually(() => messages.length > after)
  return messages[after]!
}
