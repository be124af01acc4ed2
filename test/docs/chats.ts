// Chats that are played for a document: with the tokens and ids that it shows, and somebody who presses what it says.
import type { Test } from 'tap'
import { startNtfy } from '../notify/fake-ntfy.js'
import { buttonsOf, startSlack } from '../notify/fake-slack.js'
import { until } from '../support.js'

export const chatsToPlay = ['slack', 'ntfy'] as const
export type ChatToPlay = (typeof chatsToPlay)[number]

export interface PlayedChat {
  /** What leads there instead of to the real one. */
  env: Record<string, string>
  /** Presses the button with this label in the newest message that has it, once there is one. */
  press(label: string): Promise<void>
}

/** Who presses, as the documents say. */
const reader = { slack: { id: 'U012AB3CD' } }

export async function playChat(t: Test, name: ChatToPlay): Promise<PlayedChat> {
  switch (name) {
    case 'slack': {
      const chat = await startSlack(t)
      const find = (label: string) =>
        chat.messages.findLast((one) => buttonsOf(one).some(({ text }) => text.text === label))
      return {
        env: { SLACK_API_BASE: chat.config.slackApiBase },
        async press(label) {
          await until(() => find(label))
          const message = find(label)!
          const { edits } = message
          await until(async () => {
            // Nobody is so quick that the message is not known yet; this reader is, and presses again.
            if (find(label) === message) await chat.press(message, label, reader.slack)
            return message.edits > edits
          })
        },
      }
    }
    case 'ntfy': {
      const chat = await startNtfy(t)
      return { env: { NTFY_URL: chat.url }, press: () => Promise.reject(new Error('ntfy has no buttons')) }
    }
  }
}
