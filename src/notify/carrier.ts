// What the outbox carries: notices to a chat, for a person to read, and resolved records to requesters who asked to be called back.
import { asOf } from '../core/confirmation.js'
import { type ChannelName, chatNames, type Confirmation, type Delivery, type Resolved } from '../core/model.js'
import type { Change, Due } from '../store/store.js'
import type { Callback } from './callback.js'
import { afterCall } from './callback-schedule.js'
import type { DeliveryResult } from './delivery.js'
import type { Channel, SendOutcome } from './notifier.js'
import { afterNotice, isWorthWaiting } from './notices.js'

export interface Carrier {
  name: ChannelName
  /** How much is under way at once, in all and to one destination. */
  width: number
  widthEach: number
  /** How much of that one requester may have, where it is known who asks. In open mode all are one and have the whole. */
  widthOfShare: number
  /** Whether a destination's troubles are worth a line in the log. */
  isLoud: boolean
  /** Whether what is due for a destination that is down or busy waits until it may be tried, untouched. */
  isPatient: boolean
  /** If not: whether to wait for a busy destination until then, or to go on without it. */
  isWorthWaiting(due: Due, until: number): boolean
  /** Whether there is no point in sending any more. */
  isMoot(confirmation: Confirmation, now: number): boolean
  send(confirmation: Confirmation, context: { baseUrl: string; now: number; stop: AbortSignal }): Promise<SendOutcome>
  /** Whether this says something about the destination, not about this delivery alone. */
  tellsOfDestination(outcome: SendOutcome): boolean
  /** What a try changes. `all` are the confirmation's deliveries. */
  after(
    confirmation: Confirmation,
    all: Delivery[],
    delivery: Delivery,
    result: DeliveryResult,
    now: number,
    random: number,
  ): Change
}

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
    async send(confirmation, { baseUrl, stop }) {
      const { id, action, description, details, requester, onBehalfOf, sessionKey, digest, deadline, terms } =
        confirmation
      const { approvals, reasonFor, mustType } = terms
      const who = { requester, onBehalfOf, sessionKey }
      const texts = { id, action, description, details, ...who, digest, approvals, reasonFor, mustType }
      const how = { baseUrl, needsKey: ways.needsKey(), link: await ways.linkTo(confirmation, channel.name) }
      return channel.send({ ...texts, expiresAt: deadline, ...how }, stop)
    },
  }
}

/** Told when no chat was in time. Its line follows the commit: see log-channel.ts. */
function carryToLog(order: ChannelName[]): Carrier {
  // Only commits take time here, and those that come together share one.
  const widths = { width: 64, widthEach: 64, widthOfShare: 64 }
  return {
    ...carryNotices(order),
    ...widths,
    name: 'log',
    isLoud: false,
    send: () => Promise.resolve({ kind: 'sent' }),
  }
}

function carryNotices(order: ChannelName[]): Omit<Carrier, 'name' | 'isLoud' | 'send'> {
  return {
    // Enough that a slow answer does not hold up the rest.
    width: 4,
    widthEach: 4,
    // The turns suffice: a chat answers all alike.
    widthOfShare: 4,
    isPatient: false,
    isWorthWaiting,
    isMoot: (confirmation, now) => asOf(confirmation, now).status !== 'pending',
    tellsOfDestination: () => true,
    after(confirmation, all, delivery, result, now, random) {
      const notices = all.filter((one) => one.channel !== 'callback')
      return afterNotice({ confirmation, delivery, all: notices, order }, result, now, random)
    },
  }
}

/** A chat that was taken out of the settings while messages were waiting for it. */
function missingChat(name: ChannelName): Channel {
  return { name, send: () => Promise.resolve({ kind: 'refused', fault: 'gone', error: 'not configured' }) }
}

const nothingToTell: SendOutcome = { kind: 'refused', fault: 'message', error: 'not resolved' }

/** `render` is the body, as JSON text. */
export function carryCallbacks(callback: Callback, render: (confirmation: Resolved) => string): Carrier {
  return {
    name: 'callback',
    // Hosts are the agents' choice: a few that never answer must not hold up the others.
    width: 128,
    widthEach: 4,
    widthOfShare: 32,
    isLoud: false,
    isPatient: true,
    isWorthWaiting: () => false,
    isMoot: () => false,
    send(confirmation, { now, stop }) {
      const { id, callbackUrl } = confirmation
      if (confirmation.status === 'pending' || callbackUrl === null) return Promise.resolve(nothingToTell)
      return callback.send({ url: callbackUrl, id: `msg_${id}`, body: render(confirmation), at: now }, stop)
    },
    // A host that answers is well, whatever it says; what it says is about one path.
    tellsOfDestination: (outcome) => outcome.kind === 'sent' || (outcome.kind === 'failed' && !outcome.answered),
    after: (confirmation, _all, delivery, result, now, random) =>
      afterCall(confirmation, delivery, result, now, random),
  }
}
