// From a delivery to the card that its message shows: with buttons that are on disk, and the page that its readers can reach.
import type { ButtonVerb } from '../access/button.js'
import type { Confirmation, DeliveryKey, Occasion } from '../core/model.js'
import { type Card, cardOf, type View } from './card.js'
import type { Chat } from './chat.js'

/** What a card takes beside the request itself. */
export interface CardDeps {
  /** Buttons for this message, of which `presser` alone may press some; `save` comes before it goes out. */
  newButtons(of: DeliveryKey, presser: string | null): { make(verb: ButtonVerb): string; save(): Promise<void> }
  /** Where a reader of this place finds the page; null: nowhere. */
  pageFor(confirmation: Confirmation, chat: Chat, place: string): Promise<View['page']>
}

/** Who wants to approve and is asked once more: the chat's id, and what they are called. */
export interface Asking {
  verb: 'approve' | 'session'
  presser: string
  by: string
}

export type MakeCard = (chat: Chat, confirmation: Confirmation, of: DeliveryKey, asking: Asking | null) => Promise<Card>

/** The confirmation is as of now. */
export function createCards({ newButtons, pageFor }: CardDeps): MakeCard {
  return async (chat, confirmation, of, asking) => {
    const buttons = newButtons(of, null)
    const own = newButtons(of, asking?.presser ?? null)
    const press = (verb: ButtonVerb) => (isOfPresser(verb) ? own : buttons).make(verb)
    const card = cardOf(
      {
        confirmation,
        reminder: reminderOf(of.occasion),
        asking,
        press: chat.hasButtons() ? press : null,
        page: await pageFor(confirmation, chat, of.destination),
      },
      chat.dialect,
    )
    await Promise.all([buttons.save(), own.save()])
    return card
  }
}

function isOfPresser(verb: ButtonVerb): boolean {
  return verb === 'yes' || verb === 'yes_session'
}

function reminderOf(occasion: Occasion): View['reminder'] {
  return occasion === 'reminder' || occasion === 'last_reminder' || occasion === 'escalation' ? occasion : null
}
