// What is pressed and written in Telegram: asked for by long polling, which needs no public address, or sent to our webhook. What
// one person does is handled in order, different people's side by side, and nothing is forgotten by Telegram before it is handled.
import { createHash, timingSafeEqual } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { cut } from '../core/cut.js'
import { StoreUnavailable } from '../store/store.js'
import type { Ears, Hearing, Incoming, Outgoing, Words } from './chat.js'
import { backoff } from './delivery.js'
import { type Called, type Home, objectOf, type TelegramApi } from './telegram-api.js'
import { type Bot, type Heard, readUpdate, updateKinds } from './telegram-update.js'

export interface HearingDeps {
  api: TelegramApi
  home: Home
  how: 'polling' | Webhook
  /** The webhook that we may have set in another mode: it is removed where it is in the way. */
  ownWebhook: string | null
  botToken: string
  /** Writes to somebody between them and the bot; nothing, where they never opened that. */
  tellAlone(id: string, text: string): Promise<void>
  /** Nothing is heard any more until a restart. */
  end(): void
}

export interface Webhook {
  url: string
  secret: string
}

/** How long Telegram holds a poll while there is nothing. */
const holdMs = 25_000
/** How many updates one poll brings; fewer after a failure, so that what is too large for one answer comes one by one. */
const mostAtOnce = 100
/** So long is waited for what is slow before others are looked for. */
const patienceMs = 1000
/** So many polls that somebody else ends, within so long, are no accident. */
const conflicts = { most: 3, withinMs: 10 * 60_000 }
/** So many failures in a row are worth a line in the log. */
const loudFailures = 3
const mostAnswer = 200
/** Of answers under way. Whoever presses more than can be answered sees the message change all the same. */
const mostAnswering = 200
/** How many updates of the webhook are remembered: Telegram sends one again if it missed our answer. */
const mostRemembered = 100

const channel = 'telegram'
const messages = {
  token:
    'Telegram does not know the token of the bot, so nothing is heard until a restart: get a new one from @BotFather',
  poller:
    'something else reads what is pressed in Telegram, so messages have links in place of buttons until a restart: give Holdpoint a bot of its own, whose token no agent has',
  foreignWebhook:
    'a webhook is set on the Telegram bot and gets what is pressed, so messages have links in place of buttons until a restart: remove it (holdpoint notify test says how), or give Holdpoint a bot of its own',
  webhook: 'Telegram refuses the webhook, so messages have links in place of buttons until a restart',
  failing: 'nothing is heard from Telegram; will try again',
  well: 'Telegram is heard again',
  moved:
    'the group became a supergroup, which has another id: messages go there, and TELEGRAM_HOME_CHANNEL should say so',
  broken: 'what was pressed or written in Telegram could not be handled',
}

export function hearTelegram(
  { api, home, how, ownWebhook, botToken, tellAlone, end }: HearingDeps,
  ears: Ears,
): Hearing {
  const { clock, log } = ears
  const bot: Bot = { id: botToken.split(':', 1)[0]!, name: null }
  /** Ends what waits for something new. */
  const stopping = new AbortController()
  /** Ends answers. */
  const ending = new AbortController()
  setMaxListeners(0, ending.signal)
  let isStopped = false
  let wakeUp = () => {}
  let failures = 0
  /** Which move of the chat is in the log. */
  let saidMove: string | null = null
  /** What is handled now, by who did it. */
  const turns = new Map<string, Promise<unknown>>()
  const answering = new Set<Promise<void>>()

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (isStopped || ms <= 0) return resolve()
      const callOff = clock.wake(clock.now() + ms, resolve)
      wakeUp = () => {
        callOff()
        resolve()
      }
    })
  }

  // -- handling --------------------------------------------------------------------------------------------------------

  /** Whether it need not come again. `isOld`: it is from before we ever listened. */
  function take(update: object, isOld = false): Promise<boolean> {
    const heard = readUpdate(update, bot, home.isIt)
    if (heard.kind === 'moved') {
      home.moveTo(heard.to)
      sayMove()
      return Promise.resolve(true)
    }
    // Who wrote then was not writing to us. A button is ours or unknown, and whether a press is too late is for others to say.
    if (heard.kind === 'nothing' || (isOld && heard.kind === 'words')) return Promise.resolve(true)
    const who = heard.kind === 'words' ? heard.words.by.id : (heard.press?.by.id ?? '')
    const turn = (turns.get(who) ?? Promise.resolve()).then(() => handle(heard))
    turns.set(who, turn)
    void turn.then(() => turns.get(who) === turn && turns.delete(who))
    return turn
  }

  async function handle(heard: Extract<Heard, { kind: 'words' | 'press' }>): Promise<boolean> {
    try {
      if (heard.kind === 'words') await say(heard.words)
      else await press(heard)
      return true
    } catch (error) {
      // Whoever pressed was told to press again.
      if (error instanceof StoreUnavailable) return heard.kind === 'press'
      // Not thrown on: it would come again after every restart, and whoever sent it could keep us down.
      log.warn({ channel, err: error }, messages.broken)
      return true
    }
  }

  async function say(words: Words): Promise<void> {
    const { by, isPrivate, isHome } = words
    await ears.say(isHome && !isPrivate ? { ...words, whisper: (text) => tellAlone(by.id, text) } : words)
  }

  async function press({ query, press }: Extract<Heard, { kind: 'press' }>): Promise<void> {
    let text = 'Nothing was decided. Press again in a moment.'
    let isAlert = true
    try {
      const said = press === null ? null : await ears.press(press)
      if (said !== null) [text, isAlert] = said.kind === 'whisper' ? [said.text, said.isAlert] : [said.title, true]
    } finally {
      // Until it is answered, the button shows that it is at work.
      if (query !== null) answer({ callback_query_id: query, text: cut(text, mostAnswer), show_alert: isAlert })
    }
  }

  /** Nothing waits for it. */
  function answer(body: object): void {
    if (answering.size >= mostAnswering) return
    const run: Promise<void> = api.call('answerCallbackQuery', body, ending.signal).then(() => {
      answering.delete(run)
    })
    answering.add(run)
  }

  // -- what both ways have in common -----------------------------------------------------------------------------------

  /** Says who we are, and where. Null: done; else how that went. */
  async function introduce(): Promise<Extract<Called, { kind: 'not done' }> | null> {
    if (bot.name !== null) return null
    const me = await api.call('getMe', {}, stopping.signal)
    if (me.kind === 'not done') return me
    // It may have moved while nobody listened.
    await home.call('getChat', {}, stopping.signal)
    sayMove()
    const commands = ears.commands.map(({ name, help }) => ({ command: name, description: help }))
    // Without it the menu is empty, and whatever is in it can still be written.
    await api.call('setMyCommands', { commands }, stopping.signal)
    const { username } = objectOf(me.result)
    bot.name = typeof username === 'string' ? username : ''
    return null
  }

  /** Once, however it became known. */
  function sayMove(): void {
    const chat = home.movedTo()
    if (chat === null || chat === saidMove) return
    saidMove = chat
    log.warn({ channel, chat }, messages.moved)
  }

  /** How long until the next try; null: none. */
  function waitAfter({ outcome, status }: Extract<Called, { kind: 'not done' }>): number | null {
    if (isStopped) return 0
    const isUnknown = (status === 401 || status === 404) && /unauthorized|not found/i.test(outcome.error)
    if (isUnknown) return giveUp(messages.token, outcome.error)
    if (outcome.kind === 'busy') return outcome.retryAfterMs
    return waitAfterFailure(outcome.error)
  }

  function waitAfterFailure(error: string): number {
    failures += 1
    if (failures === loudFailures) log.warn({ channel, error }, messages.failing)
    return backoff(failures, ears.random())
  }

  function noteSuccess(): void {
    if (failures >= loudFailures) log.info({ channel }, messages.well)
    failures = 0
  }

  function giveUp(message: string, error: string): null {
    end()
    ears.buttonsChanged()
    log.warn({ channel, error }, message)
    return null
  }

  /** Again and again, with these pauses; null ends it. */
  async function repeat(run: () => Promise<number | null>): Promise<void> {
    while (!isStopped) {
      const waitMs = await run().catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error
        return patienceMs
      })
      if (waitMs === null) return
      await pause(waitMs)
    }
  }

  const way = how === 'polling' ? poll() : receive(how)

  // -- polling ---------------------------------------------------------------------------------------------------------

  function poll(): Way {
    /** Those that Telegram still keeps for us, in its order. */
    const taken = new Map<number, 'under way' | 'handled' | 'later'>()
    /** The last one that need not come again; undefined: not known yet. */
    let cursor: number | null | undefined
    /** Until what was there when we first listened has been read. */
    let isFirst = false
    let limit = mostAtOnce
    let disturbed: number[] = []

    async function next(): Promise<number | null> {
      if (cursor === undefined) {
        cursor = numberIn(await ears.cursor())
        isFirst = cursor === null
      }
      const trouble = await introduce()
      if (trouble !== null) return waitAfter(trouble)
      const isWaiting = taken.size === 0 && !isFirst
      const asked = { limit, timeout: isWaiting ? holdMs / 1000 : 0, allowed_updates: updateKinds }
      const offset = cursor === null ? {} : { offset: cursor + 1 }
      const askedAt = clock.now()
      const called = await api.call('getUpdates', { ...offset, ...asked }, stopping.signal, isWaiting ? holdMs : 0)
      if (isStopped) return null
      if (called.kind === 'not done') {
        limit = 1
        return called.status === 409 ? waitAfterConflict(called.outcome.error) : waitAfter(called)
      }
      const updates = readUpdates(called.result)
      if (updates === null) return waitAfterFailure('an answer that has no updates')
      noteSuccess()
      sayMove()
      await handleAll(updates)
      isFirst &&= updates.size >= limit
      limit = Math.min(mostAtOnce, limit * 2)
      // An answer that was not held back would be asked for again and again.
      if (isWaiting && updates.size === 0) return askedAt + patienceMs - clock.now()
      return [...taken.values()].includes('later') ? patienceMs : 0
    }

    async function handleAll(updates: Map<number, object>): Promise<void> {
      for (const [id, state] of taken) if (state === 'later' && !updates.has(id)) taken.delete(id)
      for (const [id, update] of updates) {
        if (taken.has(id) && taken.get(id) !== 'later') continue
        taken.set(id, 'under way')
        void take(update, isFirst).then((isDone) => {
          taken.set(id, isDone ? 'handled' : 'later')
          if (![...taken.values()].includes('under way')) wakeUp()
        })
      }
      if (taken.size > 0) await pause(patienceMs)
      await note()
      // From now on whatever is there was sent to us.
      if (cursor === null) await noteUpTo(0)
    }

    /** How far everything is handled. */
    async function note(): Promise<void> {
      const done: number[] = []
      for (const [id, state] of taken) {
        if (state !== 'handled') break
        done.push(id)
      }
      if (done.length > 0) await noteUpTo(done.at(-1)!)
      for (const id of done) taken.delete(id)
    }

    async function noteUpTo(id: number): Promise<void> {
      await ears.heard(String(id))
      cursor = id
    }

    /** Only one may poll, so each ends the other's poll, and either gets a part of what is pressed. */
    async function waitAfterConflict(error: string): Promise<number | null> {
      if (/webhook/i.test(error)) return (await removeOwnWebhook()) ? 0 : giveUp(messages.foreignWebhook, error)
      const now = clock.now()
      disturbed = [...disturbed.filter((at) => at > now - conflicts.withinMs), now]
      if (disturbed.length >= conflicts.most) return giveUp(messages.poller, error)
      return backoff(disturbed.length, ears.random())
    }

    /** False: it is somebody else's, who would miss it. */
    async function removeOwnWebhook(): Promise<boolean> {
      if (ownWebhook === null) return false
      const info = await api.call('getWebhookInfo', {}, stopping.signal)
      if (info.kind === 'not done' || objectOf(info.result).url !== ownWebhook) return false
      return (await api.call('deleteWebhook', {}, stopping.signal)).kind === 'done'
    }

    return { run: () => repeat(next), note, receive: null }
  }

  // -- the webhook -----------------------------------------------------------------------------------------------------

  function receive({ url, secret }: Webhook): Way {
    /** By the number of the update. */
    const underWay = new Map<number, Promise<boolean>>()
    /** The last that were handled, in the order in which they were; undefined: not known yet. */
    let done: Set<number> | undefined

    /** Where Telegram sends what is pressed and written. */
    async function subscribe(): Promise<number | null> {
      const trouble = await introduce()
      if (trouble !== null) return waitAfter(trouble)
      const wish = { url, secret_token: secret, allowed_updates: updateKinds, drop_pending_updates: false }
      const called = await api.call('setWebhook', wish, stopping.signal)
      if (called.kind === 'not done') {
        if (called.status === 400) return giveUp(messages.webhook, called.outcome.error)
        return waitAfter(called)
      }
      noteSuccess()
      return null
    }

    async function takeIn({ headers, body }: Incoming): Promise<Outgoing> {
      const given = headers['x-telegram-bot-api-secret-token']
      if (typeof given !== 'string' || !isSame(given, secret)) return { status: 401, body: null }
      // Which commands are ours is known with our name; what is not taken is sent again.
      if (isStopped || bot.name === null) return { status: 503, body: null }
      const update = parseObject(body)
      const id = update?.update_id
      if (update === null || typeof id !== 'number' || !Number.isSafeInteger(id)) return { status: 400, body: null }
      try {
        return { status: (await takeOnce(id, update)) ? 200 : 503, body: null }
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        return { status: 503, body: null }
      }
    }

    async function takeOnce(id: number, update: object): Promise<boolean> {
      const cursor = done === undefined ? await ears.cursor() : null
      done ??= new Set(cursor?.split(',').map(Number))
      if (done.has(id)) return true
      const taking = underWay.get(id) ?? take(update)
      underWay.set(id, taking)
      const isDone = await taking
      underWay.delete(id)
      if (!isDone) return false
      done.add(id)
      for (const first of done) if (done.size > mostRemembered) done.delete(first)
      await ears.heard([...done].join(','))
      return true
    }

    return { run: () => repeat(subscribe), note: async () => {}, receive: takeIn }
  }

  const running = way.run()
  return {
    receive: way.receive,
    async stop(graceMs) {
      isStopped = true
      stopping.abort()
      wakeUp()
      const timer = setTimeout(() => ending.abort(), graceMs)
      const graceIsOver = new Promise<void>((resolve) => ending.signal.addEventListener('abort', () => resolve()))
      const ended = running.then(() => Promise.all([...turns.values()])).then(noteLast)
      await Promise.race([ended, graceIsOver])
      await Promise.all([...answering])
      clearTimeout(timer)
    },
  }

  async function noteLast(): Promise<void> {
    if (ending.signal.aborted) return
    try {
      await way.note()
    } catch (error) {
      // Then it is heard once more after the start.
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }
}

interface Way {
  run(): Promise<void>
  /** Notes what was handled since. */
  note(): Promise<void>
  receive: Hearing['receive']
}

/** By their numbers, in order; null: these are no updates. */
function readUpdates(result: unknown): Map<number, object> | null {
  if (!Array.isArray(result)) return null
  const updates = new Map<number, object>()
  for (const one of result) {
    const { update_id: id } = objectOf(one)
    if (typeof id !== 'number' || !Number.isSafeInteger(id)) return null
    updates.set(id, one as object)
  }
  return updates
}

/** The last of those that were noted, whichever way they came. */
function numberIn(cursor: string | null): number | null {
  const last = cursor?.split(',').at(-1) ?? ''
  return /^\d{1,15}$/.test(last) ? Number(last) : null
}

function parseObject(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** In constant time, whatever the lengths. */
function isSame(given: string, secret: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(secret))
}
