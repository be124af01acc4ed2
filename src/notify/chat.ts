// The port to a chat: what every chat can be asked to do, and what it hears. A chat is one file behind this: it knows the
// service's formats and limits, and nothing of rules, votes or the database. It never throws and never retries by itself.
import type { Alarm, ChatName, MessageRef, PersonalChat } from '../core/model.js'
import type { Card, Dialect } from './card.js'

export type SendOutcome =
  /** `message`: the one that went out, where the chat says which it is. */
  | { kind: 'sent'; message?: MessageRef }
  /** Not now: try again after this time and not before. */
  | { kind: 'busy'; retryAfterMs: number; error: string }
  /** No answer, or a broken one: worth another try. `answered`: at least there was one. */
  | { kind: 'failed'; error: string; answered?: boolean }
  /**
   * No, and asking again will not help. `message`: this message is at fault; `channel`: the settings are (token, chat),
   * so other messages will fare no better; `gone`: the place no longer exists.
   */
  | { kind: 'refused'; fault: 'message' | 'channel' | 'gone'; error: string }

/** What a wish for a pause comes to: none at all would be a tight loop, and beyond a day nobody waits any more. */
export function boundPause(ms: number): number {
  return Math.min(24 * 3600 * 1000, Math.max(1000, Math.ceil(ms)))
}

/** What the test of a chat finds: nobody is told anything by looking. */
export type Probe =
  /** `as`: under which name, if it says so. */
  | {
      state: 'reachable'
      as: string | null
      /** What should be mended all the same, in a sentence. */
      but?: string
    }
  /** It answered, and said no; or what answered is no chat. `mend`: what to do about it, in a sentence. */
  | { state: 'refused'; error: string; mend: string }
  /** No answer, or not now. */
  | { state: 'unreachable'; error: string }

export interface Chat {
  name: ChatName
  /** How texts are written so that they mean nothing here, and how much room they have. */
  dialect: Dialect
  /** Whether messages carry buttons now: presses are heard. May turn false while it runs. */
  hasButtons(): boolean
  /** Whether a reason can be asked for in a form; else by a reply. */
  hasForms: boolean
  /** How many edits a minute one place takes; messages of our own come first. */
  editsPerMinute: number
  /** Whether one person alone reads what is sent there; '' is the place of the settings. */
  isPrivate(place: string): boolean
  /**
   * Sends a card to a place: '' is the place of the settings, another is somebody's own id: between them and the bot alone.
   * `name` is the same whenever the same message is tried again, and no other's: where the chat can, it drops the second.
   * `stop` calls the attempt off.
   */
  send(card: Card, place: string, name: string, stop: AbortSignal): Promise<SendOutcome>
  sendAlarm(alarm: Alarm, stop: AbortSignal): Promise<SendOutcome>
  /** A few lines of our own that are no card: what was collected, the answer to a command. With `replyTo` as an answer to that. */
  sendText(text: Text, place: string, name: string, stop: AbortSignal): Promise<SendOutcome>
  /** Replaces what a message shows. "Not modified" is sent; a message that is gone is refused with the fault `message`. */
  edit(message: MessageRef, card: Card, stop: AbortSignal): Promise<SendOutcome>
  /** The same for a text. */
  editText(message: MessageRef, text: Text, stop: AbortSignal): Promise<SendOutcome>
  probe(stop: AbortSignal): Promise<Probe>
  /** Null: nothing is ever heard from it (a webhook, ntfy). */
  hear: ((ears: Ears) => Hearing) | null
}

/** Lines of our own in which others' words may stand: each part is ours, or theirs as code. */
export interface Text {
  lines: TextPart[][]
  /** A button that leads to a page; null where there is no public URL. */
  link: { label: string; url: string } | null
  /** Whether an answer is asked for, by a reply to this message (Telegram's force_reply). */
  asksReply?: boolean
  /** Whose answer it is, by the chat's id, where many read it. */
  asked?: string
  replyTo?: MessageRef
}

export type TextPart = { ours: string } | { theirs: string } | { bold: string }

/** What runs while presses and words are heard: a poller, a socket; or nothing but what the webhook brings. */
export interface Hearing {
  /** Ends it; what was taken in is handled, as long as it may take. */
  stop(graceMs: number): Promise<void>
  /** What the route of this chat took in (`/chat/NAME`): its answer. Null: there is no such route in this mode. */
  receive: ((request: Incoming) => Promise<Outgoing>) | null
}

/** A request of the chat's service to us, with the body as it came. */
export interface Incoming {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface Outgoing {
  status: number
  /** Null: an empty body. */
  body: object | null
}

/** Somebody in a chat. `id` alone says who: names are anybody's to choose. */
export interface Somebody {
  channel: PersonalChat
  id: string
  /** A bot, or an administrator who hides behind the group: nobody. */
  isNobody: boolean
}

/** What is done with what is heard. Neither throws; each is called again for what was not noted as heard. */
export interface Ears {
  press(press: Press): Promise<PressAnswer>
  say(words: Words): Promise<void>
  /** How far was heard, as the chat counts; null: nothing yet. Noted by `heard` once all before it is handled. */
  cursor(): Promise<string | null>
  heard(cursor: string): Promise<void>
  /** `hasButtons` answers otherwise from now on: what is pending is shown anew, so that no button stays that does nothing. */
  buttonsChanged(): void
  /** What can be written to the bot, as menus list it: the name without the slash. */
  commands: readonly { name: string; help: string }[]
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  clock: { now(): number; wake(at: number, run: () => void): () => void }
  random(): number
}

export interface Press {
  by: Somebody
  /** What the button sent, which may be anything: others can send whatever they like. */
  data: string
  /** The message with the button; null where the chat does not say. */
  message: MessageRef | null
  /** What was written into the form, if this is one that was sent. */
  reason: string | null
}

/** What the presser is told. That the message changes is not part of it: messages follow the state. */
export type PressAnswer =
  /** Seen by the presser alone. `isAlert`: it must be noticed. */
  | { kind: 'whisper'; text: string; isAlert: boolean }
  /** A form that asks for a reason; sent, it comes back as a press with this data. */
  | { kind: 'form'; title: string; label: string; data: string; isRequired: boolean }

/** Something written to the bot. */
export interface Words {
  by: Somebody
  /** Where: the chat's own id for it. */
  place: string
  /** Between the writer and the bot alone. */
  isPrivate: boolean
  /** In the place of the settings. */
  isHome: boolean
  text: string
  /** The message of ours that it is a reply to. */
  replyTo: MessageRef | null
  /** Null where the chat does not say. */
  message: MessageRef | null
  /** The same whenever this is heard again, and no other's. */
  name: string
  /** Says something to the writer alone, where the chat can do that in the place where they wrote. */
  whisper?: (text: string) => Promise<void>
}
