// What each chat is listened to with, and what runs while it is: from the chats that hear something to presses and commands.
import type { Clock } from '../clock.js'
import type { ChatName } from '../core/model.js'
import type { Chat, Ears, Hearing, Incoming, Outgoing } from '../notify/chat.js'
import type { Follower } from '../notify/follower.js'
import type { Store } from '../store/store.js'
import { commands, type Listener } from './commands.js'
import type { Presses } from './press.js'

export interface EarsDeps {
  chats: Chat[]
  presses: Presses
  follower: Pick<Follower, 'showAnew'>
  listener: Listener
  inbox: Store['inbox']
  clock: Clock
  random: () => number
  log: Ears['log']
}

export interface Listening {
  start(): void
  stop(graceMs: number): Promise<void>
  /** What a chat's service sent to its route; null: nothing is expected there. */
  receive(name: ChatName, request: Incoming): Promise<Outgoing | null>
}

export function createEars({ chats, presses, follower, listener, inbox, clock, random, log }: EarsDeps): Listening {
  const hearings = new Map<ChatName, Hearing>()

  function earsOf(chat: Chat): Ears {
    return {
      press: (press) => presses(chat, press),
      say: (words) => listener.say(chat, words),
      cursor: () => inbox.cursor(chat.name),
      heard: (cursor) => inbox.note(chat.name, cursor),
      buttonsChanged: () => follower.showAnew(chat.name),
      commands,
      log,
      clock,
      random,
    }
  }

  return {
    start() {
      for (const chat of chats) if (chat.hear !== null) hearings.set(chat.name, chat.hear(earsOf(chat)))
    },
    async stop(graceMs) {
      await Promise.all([...hearings.values()].map((hearing) => hearing.stop(graceMs)))
    },
    async receive(name, request) {
      const receive = hearings.get(name)?.receive ?? null
      return receive === null ? null : receive(request)
    },
  }
}
