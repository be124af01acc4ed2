// The message that asks whoever denied for a reason, by a reply to it (pure). It is a delivery as every message is: committed with
// the denial, sent until the chat takes it, and known again after a restart.
import type { MessageRef, Occasion } from '../core/model.js'
import type { Text } from './chat.js'

/** `presser` is the chat's id of whoever denied, `card` the occasion of the message that they pressed. */
export function askWhyOccasion(presser: string, card: Occasion): Occasion {
  return `asked:why:${encodeURIComponent(presser)}:${card}`
}

/** Null: this message asks no such thing. */
export function whyIn(occasion: Occasion): { presser: string; card: Occasion } | null {
  const [, presser, card] = /^asked:why:([^:]+):(.+)$/.exec(occasion) ?? []
  return presser === undefined ? null : { presser: decodeURIComponent(presser), card: card as Occasion }
}

/** `replyTo` is the card; null if that is not known. */
export function whyText(presser: string, replyTo: MessageRef | null): Text {
  return {
    lines: [[{ ours: 'Denied. To say why, reply to this message; you need not.' }]],
    link: null,
    asksReply: true,
    asked: presser,
    ...(replyTo === null ? {} : { replyTo }),
  }
}
