// What the outbox carries: notices and alarms to a chat, for a person to read, and resolved records to requesters who asked to
// be called back.
import { sayCaution } from '../core/caution.js'
import {
  type ChannelName,
  chatNames,
  type Confirmation,
  type Delivery,
  isAlarm,
  type Resolved,
  type Subject,
} from '../core/model.js'
import type { Change, Due } from '../store/store.js'
import type { Callback } from './callback.js'
import { afterCall } from './callback-schedule.js'
import type { DeliveryResult } from './delivery.js'
import type { Channel, SendOutcome } from './notifier.js'
import { afterNotice, isMoot, isWorthWaiting } from './notices.js'

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
  /** Whether there is no point in sending any more. */
  isMoot(subject: Subject, now: number): boolean
  /** Does what must be done before; what it answers sends it. */
  prepare(subject: Subject, baseUrl: string): Send | Promise<Send>
  /** Whether this says something about the destination, not about this delivery alone. */
  tellsOfDestination(outcome: SendOutcome): boolean
  /** What a try changes. `all` are the subject's deliveries. */
  after(
    subject: Subject,
    all: Delivery[],
    delivery: Delivery,
    result: DeliveryResult,
    now: number,
    random: number,
  ): Change
}

export type Send = (context: { now: number; stop: AbortSignal }) => Promise<SendOutcome>

/** What a notice says beside the confirmation: how to decide. */
export interface Ways {
  needsKey(): boolean
  /** A link for the readers of this chat; null if none can be made now. */
  linkTo(confirmation: Confirmation, channel: ChannelName): Promise<string | null>
}

/**
 * A lane for every chat, in the order in which they are tried, for those that are no longer in the settings, and for the log
 * behind them.
 */
export function carryAll(chats: Channel[], ways: Ways): Carrier[] {
  const order = chats.map(({ name }) => name)
  const ofChats = chatNames.map((name) =>
    carryToChat(chats.find((chat) => chat.name === name) ?? missingChat(name), order, ways),
  )
  return [...ofChats, carryToLog(order)]
}

function carryToChat(channel: Channel, order: ChannelName[], ways: Ways): Carrier {
  return {
    ...carryNotices(order),
    name: channel.name,
    isLoud: true,
    async prepare(subject, baseUrl) {
      if (isAlarm(subject)) return ({ stop }) => channel.sendAlarm(subject, stop)
      const { id, action, description, details, requester, onBehalfOf, sessionKey, digest, deadline, terms } = subject
      const { approvals, reasonFor, mustType } = terms
      const who = { requester, onBehalfOf, sessionKey }
      const warnings = sayCaution(subject.caution)
      const texts = { id, action, description, details, ...who, digest, warnings, approvals, reasonFor, mustType }
      const how = { baseUrl, needsKey: ways.needsKey(), link: await ways.linkTo(subject, channel.name) }
      return ({ stop }) => channel.send({ ...texts, expiresAt: deadline, ...how }, stop)
    },
  }
}

/** Told when no chat was in time. Its line follows the commit: see log-channel.ts. */
function carryToLog(order: ChannelName[]): Carrier {
  // Only commits take time here, and those that come together share one.
  const widths = { width: 64, widthEach: 64, widthOfShare: 64, maxAhead: 0 }
  return {
    ...carryNotices(order),
    ...widths,
    name: 'log',
    isLoud: false,
    prepare: () => () => Promise.resolve({ kind: 'sent' }),
  }
}

function carryNotices(order: ChannelName[]): Omit<Carrier, 'name' | 'isLoud' | 'prepare'> {
  return {
    width: 128,
    // Enough that a slow answer does not hold up the rest.
    widthEach: 4,
    maxAhead: 60,
    // The turns suffice: a chat answers all alike.
    widthOfShare: 128,
    isPatient: false,
    isWorthWaiting,
    isMoot,
    tellsOfDestination: () => true,
    after(subject, all, delivery, result, now, random) {
      const notices = all.filter((one) => one.channel !== 'callback')
      return afterNotice({ subject, delivery, all: notices, order }, result, now, random)
    },
  }
}

/** A chat that was taken out of the settings while messages were waiting for it. */
function missingChat(name: ChannelName): Channel {
  const refuse = (): Promise<SendOutcome> =>
    Promise.resolve({ kind: 'refused', fault: 'gone', error: 'not configured' })
  return { name, send: refuse, sendAlarm: refuse }
}

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
