// Chats that are played for a document: with the tokens and ids that it shows, and somebody who presses what it says.
import type { Test } from 'tap'
import { buttonsOf as discordButtonsOf, startDiscord } from '../notify/fake-discord.js'
import { startNtfy } from '../notify/fake-ntfy.js'
import { buttonsOf, startSlack } from '../notify/fake-slack.js'
import { startTelegram } from '../notify/fake-telegram.js'
import { until } from '../support.js'

export const chatsToPlay = ['telegram', 'discord', 'slack', 'ntfy'] as const
export type ChatToPlay = (typeof chatsToPlay)[number]

export interface PlayedChat {
  /** What leads there instead of to the real one. */
  env: Record<string, string>
  /** Presses the button with this label in the newest message that has it, once there is one. */
  press(label: string): Promise<void>
}

/** Who presses, as the documents say. */
const reader = { telegram: 123456789, discord: { id: '123456789012345678' }, slack: { id: 'U012AB3CD' } }

export async function playChat(t: Test, name: ChatToPlay): Promise<PlayedChat> {
  switch (name) {
    case 'telegram': {
      const chat = await startTelegram(t, String(reader.telegram))
      chat.write('/start', reader.telegram)
      return {
        env: { TELEGRAM_API_BASE: chat.url },
        press: presser({
          find: (label) => chat.messages.findLast(({ buttons }) => buttons.flat().some(({ text }) => text === label)),
          press: (message, label) => chat.press(message, label, reader.telegram),
          editsOf: ({ history }) => history.length,
        }),
      }
    }
    case 'discord': {
      const chat = await startDiscord(t)
      return {
        env: { DISCORD_API_BASE: chat.config.discordApiBase },
        press: presser({
          find: (label) =>
            chat.messages.findLast((one) => discordButtonsOf(one).some((button) => button.label === label)),
          async press(message, label) {
            await chat.gateway.listened()
            await chat.press(message, label, reader.discord)
          },
          editsOf: ({ edits }) => edits,
        }),
      }
    }
    case 'slack': {
      const chat = await startSlack(t)
      return {
        env: { SLACK_API_BASE: chat.config.slackApiBase },
        press: presser({
          find: (label) => chat.messages.findLast((one) => buttonsOf(one).some(({ text }) => text.text === label)),
          press: (message, label) => chat.press(message, label, reader.slack),
          editsOf: ({ edits }) => edits,
        }),
      }
    }
    case 'ntfy': {
      const chat = await startNtfy(t)
      return { env: { NTFY_URL: chat.url }, press: () => Promise.reject(new Error('ntfy has no buttons')) }
    }
  }
}

interface Buttons<Message> {
  find(label: string): Message | undefined
  press(message: Message, label: string): Promise<unknown>
  editsOf(message: Message): number
}

/** Reads before it presses, and waits for what comes of it. */
function presser<Message>({ find, press, editsOf }: Buttons<Message>): PlayedChat['press'] {
  return async (label) => {
    await until(() => find(label))
    const message = find(label)!
    const edits = editsOf(message)
    await press(message, label)
    await until(() => editsOf(message) > edits)
  }
}
