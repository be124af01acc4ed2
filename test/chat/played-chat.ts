// A chat in memory behind the port: what it was asked to do, and ways to press and write in it. The chats' own formats are tested
// with played services; this is for what all chats have in common.
import type { Test } from 'tap'
import type { MessageRef, PersonalChat } from '../../src/core/model.js'
import type { Card } from '../../src/notify/card.js'
import type { Chat, Ears, PressAnswer, SendOutcome, Text, Words } from '../../src/notify/chat.js'
import { type Built, build, type BuildOptions, until } from '../support.js'

export interface Shown {
  ref: MessageRef
  place: string
  name: string
  /** What it shows now. */
  card: Card | null
  text: Text | null
  /** All it ever showed, this included. */
  history: Card[]
}

export interface PlayedChat extends Chat {
  messages: Shown[]
  edits: { ref: MessageRef; card: Card }[]
  /** What becomes of the next edits, one each. */
  failEdits(...outcomes: (SendOutcome | Promise<SendOutcome>)[]): void
  failSends(...outcomes: SendOutcome[]): void
  /** What becomes of all that is sent to this place, or `anywhere`; null ends it. */
  failAt(place: string, outcome: SendOutcome | null): void
  press(message: Shown, label: string, id: string, more?: { reason?: string; isNobody?: boolean }): Promise<PressAnswer>
  pressData(data: string, id: string, message: MessageRef | null, reason?: string): Promise<PressAnswer>
  /** Nothing is heard any more, or again. */
  loseButtons(): void
  write(text: string, id: string, more?: Partial<Words>): Promise<void>
  buttons(message: Shown): string[]
  dataOf(message: Shown, label: string): string
}

export function playChat(
  given: Partial<Pick<Chat, 'hasForms' | 'editsPerMinute' | 'isPrivate'>> & { name?: PersonalChat } = {},
): PlayedChat {
  const { name = 'telegram', hasForms = false, editsPerMinute = 1000, isPrivate = (place) => place !== '' } = given
  const messages: Shown[] = []
  const edits: PlayedChat['edits'] = []
  const editOutcomes: (SendOutcome | Promise<SendOutcome>)[] = []
  const sendOutcomes: SendOutcome[] = []
  const standing = new Map<string, SendOutcome>()
  let ears: Ears | null = null
  let written = 0
  let hasButtons = true

  function take(place: string, name: string, card: Card | null, text: Text | null): SendOutcome {
    const scripted = sendOutcomes.shift() ?? standing.get(place) ?? standing.get('anywhere')
    if (scripted !== undefined) return scripted
    const ref = { chat: place === '' ? 'home' : place, id: String(messages.length + 1) }
    messages.push({ ref, place, name, card, text, history: card === null ? [] : [card] })
    return { kind: 'sent', message: ref }
  }

  function find({ chat, id }: MessageRef): Shown | undefined {
    return messages.find(({ ref }) => ref.chat === chat && ref.id === id)
  }

  const chat: PlayedChat = {
    name,
    hasForms,
    editsPerMinute,
    dialect: { adapt: (shown) => shown, share: { name: 200, details: 1000, description: 1000, isShared: false } },
    hasButtons: () => hasButtons,
    isPrivate,
    send: async (card, place, name) => take(place, name, card, null),
    sendAlarm: async (alarm) => take('', alarm.id, null, { lines: [[{ theirs: alarm.reason }]], link: null }),
    sendText: async (text, place, name) => take(place, name, null, text),
    async edit(ref, card) {
      const scripted = await editOutcomes.shift()
      if (scripted !== undefined && scripted.kind !== 'sent') return scripted
      const message = find(ref)
      if (message === undefined) return { kind: 'refused', fault: 'message', error: '400 message to edit not found' }
      message.card = card
      message.history.push(card)
      edits.push({ ref, card })
      return { kind: 'sent' }
    },
    async editText(ref, text) {
      const message = find(ref)
      if (message !== undefined) message.text = text
      return { kind: 'sent' }
    },
    probe: async () => ({ state: 'reachable', as: 'played' }),
    hear(given) {
      ears = given
      return { stop: async () => {}, receive: null }
    },
    loseButtons() {
      hasButtons = false
      ears!.buttonsChanged()
    },
    messages,
    edits,
    failEdits: (...outcomes) => void editOutcomes.push(...outcomes),
    failSends: (...outcomes) => void sendOutcomes.push(...outcomes),
    failAt(place, outcome) {
      if (outcome === null) standing.delete(place)
      else standing.set(place, outcome)
    },
    buttons: ({ card }) => (card?.buttons ?? []).flat().map(({ label }) => label),
    dataOf(message, label) {
      const button = (message.card?.buttons ?? []).flat().find((one) => one.label === label)
      if (button?.kind !== 'press') throw new Error(`there is no button ${label}: ${chat.buttons(message).join(', ')}`)
      return button.data
    },
    press: (message, label, id, { reason, isNobody = false } = {}) =>
      ears!.press({
        by: { channel: name, id, isNobody },
        data: chat.dataOf(message, label),
        message: message.ref,
        reason: reason ?? null,
      }),
    pressData: (data, id, message, reason) =>
      ears!.press({ by: { channel: name, id, isNobody: false }, data, message, reason: reason ?? null }),
    write: (text, id, more = {}) =>
      ears!.say({
        by: { channel: name, id, isNobody: false },
        place: 'home',
        isHome: true,
        isPrivate: false,
        text,
        replyTo: null,
        message: { chat: 'home', id: `w${(written += 1)}` },
        name: `w${written}`,
        ...more,
      }),
  }
  return chat
}

/** What a text says, as plain text. */
export function said({ text }: Pick<Shown, 'text'>): string {
  return (text?.lines ?? [])
    .map((line) =>
      line.map((part) => ('ours' in part ? part.ours : 'theirs' in part ? part.theirs : part.bold)).join(''),
    )
    .join('\n')
}

export interface Played extends Built {
  chat: PlayedChat
  ask(fields?: Record<string, unknown>): Promise<{ id: string; message: Shown }>
  status(id: string): Promise<any>
}

/** An app with one such chat behind it, in which 11 and 12 may decide. */
export async function withChat(t: Test, options: BuildOptions & { chat?: PlayedChat } = {}): Promise<Played> {
  const chat = options.chat ?? playChat()
  const config = { telegramAllowedUsers: ['11', '12'], discordAllowedUsers: ['11', '12'], ...options.config }
  const built = await build(t, { ...options, chats: [chat], config })
  return {
    ...built,
    chat,
    async ask(fields) {
      const before = chat.messages.length
      const { body } = await built.submit(fields)
      await until(() => chat.messages.length > before)
      await until(async () => (await built.store.deliveries.of(body.id)).some(({ message }) => message !== null))
      return { id: body.id, message: chat.messages.at(-1)! }
    },
    status: async (id) => (await built.call('GET', `/confirm/${id}`)).body,
  }
}
