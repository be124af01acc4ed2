// What the outbox carries: notices and alarms to a chat, for a person to read, and resolved records to requesters who asked to
// be called back.
import {
  type ChannelName,
  chatNames,
  type Confirmation,
  type Delivery,
  type DeliveryKey,
  isAlarm,
  type MessageRef,
  type Occasion,
  type Resolved,
  type Subject,
} from '../core/model.js'
import type { Change, Due } from '../store/store.js'
import type { Callback } from './callback.js'
import { afterCall } from './callback-schedule.js'
import type { DeliveryResult } from './delivery.js'
import type { Asking, MakeCard } from './cards.js'
import type { Chat, SendOutcome } from './chat.js'
import { collectedText } from './collected.js'
import type { Line, Place } from './lines.js'
import { afterNotice, isAsked, isMoot, isTelling, isWorthWaiting } from './notices.js'
import { afterSchedule, isSchedule } from './steps.js'
import { whyIn, whyText } from './why.js'

export interface Carrier {
  name: ChannelName
  /** How much is under way at once in all, until it is recorded. */
  width: number
  /** How much is sent at once to one destination. */
  widthEach: number
  /** How much more is made ready meanwhile, at most: where sends are quick, what comes before and after them must not hold them up. */
  maxAhead: number
  /** How much of that one requester may have, where it is known who asks. In open mode all are one and have the whole. */
  widthOfShare: number
  /** Whether a destination's troubles are worth a line in the log. */
  isLoud: boolean
  /** Whether what is due for a destination that is down or busy waits until it may be tried, untouched. */
  isPatient: boolean
  /** If not: whether to wait for a busy destination until then, or to go on without it. */
  isWorthWaiting(due: Due, until: number): boolean
  /** How many messages a minute go to one destination, 0 for any number; null: messages are not counted there. */
  perMinute: number | null
  /** One message about all of these, each of which would be one too many for now. */
  prepareTogether(confirmations: Confirmation[], destination: string): Send
  /** Whether there is no point in sending any more. */
  isMoot(subject: Subject, of: DeliveryKey, now: number): boolean
  /** Does what must be done before; what it answers sends it. */
  prepare(subject: Subject, of: DeliveryKey): Send | Promise<Send>
  /** Whether this says something about the destination, not about this delivery alone. */
  tellsOfDestination(outcome: SendOutcome): boolean
  /** What a try changes; null: it is over, and that is no news. `all` are the subject's deliveries. */
  after(
    subject: Subject,
    all: Delivery[],
    delivery: Delivery,
    result: DeliveryResult,
    now: number,
    random: number,
  ): Change | null
}

export type Send = (context: { now: number; stop: AbortSignal }) => Promise<SendOutcome>

/** Who is told, and whom a place belongs to. */
export interface Routing {
  linesFor(subject: Subject, occasion: Occasion): Line[]
  /** The name of whoever alone is told there; null: nobody's, or it is not known. */
  ownerOf(place: Place): string | null
}

/** What the messages of chats are made with. */
export interface Cards {
  makeCard: MakeCard
  /** As of now. */
  read(id: string): Promise<Confirmation | undefined>
  /** What somebody is called whom a chat knows by this id. */
  nameOf(chat: Chat, id: string): string
  /** Where people find all that waits. */
  list(): { url: string; isPublic: boolean }
  /** Which message this is; null: not known. */
  messageOf(of: DeliveryKey): Promise<MessageRef | null>
}

/**
 * A lane for every chat, in the order in which they are tried, for those that are no longer in the settings, and for the log
 * behind them.
 */
export function carryAll(chats: Chat[], routing: Routing, cards: Cards, perMinute: number): Carrier[] {
  const ofChats = chatNames.map((name) => {
    const chat = chats.find((one) => one.name === name)
    return chat === undefined ? missingChat(name, routing) : carryToChat(chat, routing, cards, perMinute)
  })
  return [...ofChats, carryToLog(routing)]
}

function carryToChat(chat: Chat, routing: Routing, cards: Cards, perMinute: number): Carrier {
  const { makeCard, read, nameOf, messageOf, list } = cards
  return {
    ...carryNotices(routing),
    name: chat.name,
    isLoud: true,
    perMinute,
    prepareTogether(confirmations, destination) {
      const text = collectedText(confirmations, list())
      const name = `collected:${confirmations[0]!.id}:${destination}`
      return ({ stop }) => chat.sendText(text, destination, name, stop)
    },
    async prepare(subject, of) {
      if (isAlarm(subject)) return ({ stop }) => chat.sendAlarm(subject, stop)
      const why = whyIn(of.occasion)
      if (why !== null) {
        const text = whyText(why.presser, await messageOf({ ...of, occasion: why.card }))
        return ({ stop }) => chat.sendText(text, of.destination, messageName(of), stop)
      }
      const asked = askingIn(of.occasion)
      const asking = asked === null ? null : { ...asked, by: nameOf(chat, asked.presser) }
      const card = await makeCard(chat, (await read(subject.id)) ?? subject, of, asking)
      return ({ stop }) => chat.send(card, of.destination, messageName(of), stop)
    },
  }
}

/** Whoever asked to approve by a command is asked once more with the card itself. */
function askingIn(occasion: Occasion): Omit<Asking, 'by'> | null {
  const [, presser] = /^asked:approve:([^:]+):/.exec(occasion) ?? []
  return presser === undefined ? null : { verb: 'approve', presser: decodeURIComponent(presser) }
}

/** The same for each try of a message. */
function messageName({ subjectId, destination, occasion }: DeliveryKey): string {
  return occasion === 'notice' && destination === '' ? subjectId : `${subjectId}:${destination}:${occasion}`
}

/**
 * Told when no chat was in time. Its line follows the commit: see log-channel.ts. And here it falls due what happens while nobody
 * answers.
 */
function carryToLog(routing: Routing): Carrier {
  // Only commits take time here, and those that come together share one.
  const widths = { width: 64, widthEach: 64, widthOfShare: 64, maxAhead: 0 }
  const notices = carryNotices(routing)
  return {
    ...notices,
    ...widths,
    name: 'log',
    isLoud: false,
    prepare: () => () => Promise.resolve({ kind: 'sent' }),
    after(subject, all, delivery, result, now, random) {
      if (!isSchedule(delivery)) return notices.after(subject, all, delivery, result, now, random)
      const escalationLines = () => routing.linesFor(subject, 'escalation')
      return afterSchedule({ subject, delivery, all, escalationLines, ownerOf: routing.ownerOf }, now)
    },
  }
}

function carryNotices({ linesFor }: Routing): Omit<Carrier, 'name' | 'isLoud' | 'prepare'> {
  return {
    width: 128,
    // Enough that a slow answer does not hold up the rest.
    widthEach: 4,
    maxAhead: 60,
    // The turns suffice: a chat answers all alike.
    widthOfShare: 128,
    isPatient: false,
    perMinute: null,
    prepareTogether: () => () => Promise.resolve(notTogether),
    // Only a first message has somewhere else to go.
    isWorthWaiting: (due, until) => !isTelling(due) || due.state === 'collected' || isWorthWaiting(due, until),
    isMoot: (subject, of, now) => !isAsked(of) && isMoot(subject, now),
    tellsOfDestination: () => true,
    after(subject, all, delivery, result, now, random) {
      const notices = all.filter((one) => one.channel !== 'callback')
      const lines = isTelling(delivery) ? linesFor(subject, delivery.occasion) : []
      return afterNotice({ subject, delivery, all: notices, lines }, result, now, random)
    },
  }
}

/** A chat that was taken out of the settings while messages were waiting for it. */
function missingChat(name: ChannelName, routing: Routing): Carrier {
  const refused: SendOutcome = { kind: 'refused', fault: 'gone', error: 'not configured' }
  return { ...carryNotices(routing), name, isLoud: true, prepare: () => () => Promise.resolve(refused) }
}

const notTogether: SendOutcome = { kind: 'refused', fault: 'message', error: 'not told together' }
const nothingToTell: SendOutcome = { kind: 'refused', fault: 'message', error: 'not resolved' }

/** `render` is the body, as JSON text. */
export function carryCallbacks(callback: Callback, render: (confirmation: Resolved) => string): Carrier {
  return {
    name: 'callback',
    // Hosts are the agents' choice: a few that never answer must not hold up the others.
    width: 128,
    widthEach: 4,
    maxAhead: 0,
    widthOfShare: 32,
    isLoud: false,
    isPatient: true,
    perMinute: null,
    prepareTogether: () => () => Promise.resolve(notTogether),
    isWorthWaiting: () => false,
    isMoot: () => false,
    prepare:
      (subject) =>
      async ({ now, stop }) => {
        if (isAlarm(subject) || subject.status === 'pending' || subject.callbackUrl === null) return nothingToTell
        return callback.send(
          { url: subject.callbackUrl, id: `msg_${subject.id}`, body: render(subject), at: now },
          stop,
        )
      },
    // A host that answers is well, whatever it says; what it says is about one path.
    tellsOfDestination: (outcome) => outcome.kind === 'sent' || (outcome.kind === 'failed' && !outcome.answered),
    after: (subject, _all, delivery, result, now, random) => afterCall(subject, delivery, result, now, random),
  }
}
