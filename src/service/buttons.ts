// Buttons of messages in chats: made before a message goes out, and found again by what a press sends. Only hashes are kept.
import { hashSecret } from '../access/key.js'
import { type Button, type ButtonVerb, readPress, writePress } from '../access/button.js'
import type { Clock } from '../clock.js'
import type { DeliveryKey } from '../core/model.js'
import type { Store } from '../store/store.js'

/** The buttons of one message, until they are on disk. */
export interface NewButtons {
  /** What a press of this one sends. */
  make(verb: ButtonVerb): string
  /** Once this is done the message may go out. */
  save(): Promise<void>
}

export type Buttons = ReturnType<typeof createButtons>

/** `chance` gives 256 bits and more as hexadecimal digits. */
export function createButtons(store: Pick<Store, 'buttons'>, clock: Clock, chance: () => string) {
  return {
    /** `presser` alone may press them, by the chat's id; null: whoever may decide. */
    newButtons(of: DeliveryKey, presser: string | null): NewButtons {
      const made: Button[] = []
      return {
        make(verb) {
          const token = Buffer.from(chance().slice(0, 64), 'hex').toString('base64url')
          made.push({ hash: hashSecret(token), of, verb, presser, createdAt: clock.now() })
          return writePress(verb, token)
        },
        save: async () => (made.length === 0 ? undefined : store.buttons.add(made)),
      }
    },

    /** What this message asked somebody is asked no more, so that no Yes to it counts. */
    endQuestion: (of: DeliveryKey): Promise<void> => store.buttons.removeOwn(of),

    /** Which one was pressed; undefined for whatever else was sent. */
    async findButton(data: string): Promise<Button | undefined> {
      const press = readPress(data)
      if (press === null) return undefined
      const button = await store.buttons.get(hashSecret(press.token))
      return button?.verb === press.verb ? button : undefined
    },
  }
}
