// What people write to the bot: commands, and replies by which whoever decided says why. Approving by a command shows the card
// and asks once more, so that what is approved was seen.
import { anyone } from '../access/role.js'
import type { Clock } from '../clock.js'
import { cut } from '../core/cut.js'
import { nearTo } from '../core/closest.js'
import type { ChatName, Confirmation, Delivery, DeliveryKey, MessageRef, Occasion } from '../core/model.js'
import { isRefusal, type Refusal } from '../core/refusal.js'
import { maskSecrets } from '../core/secrets.js'
import { visibleLine } from '../core/visible.js'
import type { Chat, Text, TextPart, Words } from '../notify/chat.js'
import { whyIn } from '../notify/why.js'
import type { Service } from '../service/service.js'
import { StoreUnavailable } from '../store/store.js'
import { decisionOf, sayDone, sayState } from './press.js'
import type { Known, Who } from './who.js'

/** As menus list them. */
export const commands = [
  { name: 'pending', help: 'what waits for a decision' },
  { name: 'show', help: 'show a request: /show ID' },
  { name: 'approve', help: 'approve a request: /approve ID' },
  { name: 'deny', help: 'deny a request: /deny ID reason' },
  { name: 'sessions', help: 'what sessions there are' },
  { name: 'help', help: 'what can be written here' },
] as const

type Command = (typeof commands)[number]['name']
const names: string[] = commands.map(({ name }) => name)

export interface WordsDeps {
  service: Pick<
    Service,
    'find' | 'findByShortId' | 'decide' | 'comment' | 'askFor' | 'listPending' | 'sessions' | 'now'
  >
  /** The delivery of a message of ours; somebody may reply before it is on disk which message that is. */
  findSent(channel: ChatName, message: MessageRef): Promise<Delivery | undefined>
  /** Edits a message until it shows what stands. */
  showAnew(of: DeliveryKey): void
  who: Who
  howToAllow(channel: string, id: string): string
  clock: Pick<Clock, 'after'>
  log: { warn(fields: object, message: string): void }
}

/** So many requests or sessions are listed. */
const mostListed = 15
const mostName = 60
const mostReason = 10_000
/** An answer that a busy chat does not take: so often it is tried, and no later than that. */
const mostAttempts = 3
const mostPatience = 60_000

export interface Listener {
  say(chat: Chat, words: Words): Promise<void>
}

export function createListener({ service, findSent, showAnew, who, howToAllow, clock, log }: WordsDeps): Listener {
  const never = new AbortController().signal

  async function tell(chat: Chat, words: Words, lines: TextPart[][]): Promise<void> {
    if (lines.length === 0) return
    const text: Text = { lines, link: null, ...(words.message === null ? {} : { replyTo: words.message }) }
    await attempt(1)

    async function attempt(count: number): Promise<void> {
      const outcome = await chat.sendText(text, placeOf(words), `answer:${words.name}`, never)
      if (outcome.kind === 'busy' && count < mostAttempts && outcome.retryAfterMs <= mostPatience) {
        // Not waited for: whoever asked may press something meanwhile.
        clock.after(outcome.retryAfterMs, () => void attempt(count + 1))
      } else if (outcome.kind !== 'sent') {
        log.warn({ channel: chat.name, error: outcome.error }, 'a command was not answered')
      }
    }
  }

  async function say(chat: Chat, words: Words): Promise<void> {
    const known = who.know(words.by)
    const command = readCommand(words.text)
    if (!words.isHome && !words.isPrivate) return
    if (command === null) return known === null ? undefined : comment(chat, words, known)
    if (known === null) {
      const { by } = words
      const isOnRecord = await who.refuseStranger(by, by.channel, null)
      // Who asks too often is answered no more; and where many would read the answer there is none.
      if (!isOnRecord || by.isNobody) return
      if (words.whisper !== undefined) await words.whisper(howToAllow(by.channel, by.id))
      else if (words.isPrivate) await tell(chat, words, [[{ ours: howToAllow(by.channel, by.id) }]])
      return
    }
    try {
      await tell(chat, words, await answer(chat, words, known, command))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      await tell(chat, words, [
        [{ ours: 'Nothing was done: the database does not answer. Write it again in a moment.' }],
      ])
    }
  }

  /** Nothing to say where a card follows. */
  async function answer(chat: Chat, words: Words, by: Known, { name, rest }: Written): Promise<TextPart[][]> {
    switch (name) {
      case 'pending':
        return listPending()
      case 'sessions':
        return listSessions()
      case 'show':
      case 'approve':
      case 'deny':
        return about(chat, words, by, name, rest)
      // What Telegram sends when somebody opens the bot.
      case 'start':
      case 'help':
        return helpLines
      default: {
        const near = nearTo(name, names)
        return [[{ ours: `There is no /${name}${near === undefined ? '' : `; did you mean /${near}?`}` }], ...helpLines]
      }
    }
  }

  async function about(chat: Chat, words: Words, by: Known, name: Command, rest: string): Promise<TextPart[][]> {
    const [, id = '', reason = ''] = /^(\S*)\s*([^]*)$/.exec(rest) ?? []
    if (id === '')
      return [[{ ours: `Say which: /${name} and the last six or more characters of its id. /pending lists them.` }]]
    const found = await service.findByShortId(id, anyone)
    if (isRefusal(found)) return no(found)
    const { confirmation } = found
    if (name === 'show') return show(chat, words, by, confirmation, `asked:show:${words.name}`)
    if (confirmation.status !== 'pending') return [[...named(confirmation)], [{ ours: sayState(confirmation) }]]
    if (name === 'approve') {
      const problem = await who.problemWith(confirmation, by, 'approve', words.by.channel)
      if (problem !== null) return no(problem)
      return show(chat, words, by, confirmation, `asked:approve:${encodeURIComponent(words.by.id)}:${words.name}`)
    }
    const result = await service.decide(confirmation.id, decisionOf('deny', by, reason, words.by.channel))
    if (isRefusal(result)) return no(result)
    return [[{ ours: sayDone(result.confirmation, 'deny') }, { ours: ' ' }, ...named(confirmation)]]
  }

  /** Its card goes out as every message does, once for each time it was asked for. */
  async function show(
    chat: Chat,
    words: Words,
    by: Known,
    { id }: Confirmation,
    occasion: Occasion,
  ): Promise<TextPart[][]> {
    const key = { subjectId: id, channel: chat.name, destination: placeOf(words), occasion }
    const result = await service.askFor(key, by, words.by.channel)
    return isRefusal(result) ? no(result) : []
  }

  async function listPending(): Promise<TextPart[][]> {
    const { items, next } = await service.listPending(mostListed, null)
    if (items.length === 0) return [[{ ours: 'Nothing waits for a decision.' }]]
    const lines = items.map((one): TextPart[] => [
      { theirs: one.id.slice(-8) },
      { ours: ' ' },
      ...named(one),
      { ours: `, ${sayLeft(one.deadline - service.now())} left` },
    ])
    return [[{ bold: 'Waiting for a decision' }], ...lines, ...(next === null ? [] : [[{ ours: 'And more.' }]])]
  }

  async function listSessions(): Promise<TextPart[][]> {
    const { items, next } = await service.sessions.list({}, mostListed, null, anyone)
    if (items.length === 0) return [[{ ours: 'There are no sessions.' }]]
    const lines = items.map(({ session: { key, requester, run, suspension, streak } }): TextPart[] => [
      { theirs: short(key) },
      ...(requester === '' ? [] : [{ ours: ' of ' }, { theirs: short(requester) }]),
      { ours: `: ${run.messages} messages` },
      ...(suspension === null ? [] : [{ bold: ' suspended' }]),
      ...(streak.waitsUntil > service.now() ? [{ ours: ' has to wait' }] : []),
    ])
    return [[{ bold: 'Sessions' }], ...lines, ...(next === null ? [] : [[{ ours: 'And more.' }]])]
  }

  /** A reply to a request, or to the message that asked why: what whoever decided says of it. */
  async function comment(chat: Chat, words: Words, by: Known): Promise<void> {
    const { replyTo, text } = words
    if (replyTo === null || text.trim() === '') return
    const of = await findSent(chat.name, replyTo)
    // A message about several is about none of them.
    if (of === undefined || of.state === 'collected') return
    const said = text.replaceAll('\0', '').toWellFormed().trim().slice(0, mostReason)
    const result = await service.comment(of.subjectId, said, by, words.by.channel)
    if (!isRefusal(result)) showAnew({ ...of, occasion: whyIn(of.occasion)?.card ?? of.occasion })
    await tell(chat, words, isRefusal(result) ? no(result) : [[{ ours: 'Recorded.' }]])
  }

  return { say }
}

interface Written {
  name: string
  rest: string
}

/** Null: it is no command. */
function readCommand(text: string): Written | null {
  const [, name, rest = ''] = /^\s*\/([A-Za-z_]{1,40})\b\s*([^]*)$/.exec(text) ?? []
  return name === undefined ? null : { name: name.toLowerCase(), rest: rest.trim() }
}

/** Where an answer goes: the place of the settings, or the writer alone. */
function placeOf({ isHome, by }: Words): string {
  return isHome ? '' : by.id
}

const helpLines: TextPart[][] = [
  ...commands.map(({ name, help }): TextPart[] => [{ bold: `/${name}` }, { ours: ` ${help}` }]),
  [{ ours: 'An ID may be its last six or more characters. Replying to a request that you decided adds why.' }],
]

function no({ sentence }: Refusal): TextPart[][] {
  return [[{ ours: cut(visibleLine(sentence), 600) }]]
}

function named({ action, requester }: Pick<Confirmation, 'action' | 'requester'>): TextPart[] {
  return [{ theirs: short(action) }, { ours: ', asked by ' }, { theirs: short(requester) }]
}

function short(name: string): string {
  return cut(visibleLine(maskSecrets(name)), mostName)
}

function sayLeft(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
