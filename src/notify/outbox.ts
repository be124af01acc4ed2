// The durable outbox: one lane per chat takes the deliveries that are due and writes down what became of each.
// A crash between sending and writing sends again: at least once, never lost.
import { type Alarm, type Clock, createAlarm } from '../clock.js'
import { asOf, statusOf } from '../core/confirmation.js'
import { type ChannelName, channelNames, type Confirmation } from '../core/model.js'
import { type Committed, type Store, StoreUnavailable } from '../store/store.js'
import type { Channel, Notice, SendOutcome } from './notifier.js'
import { afterAttempt, type Attempt, backoff, isWorthWaiting } from './routing.js'

export interface OutboxLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface OutboxDeps {
  store: Store
  clock: Clock
  /** The chats, in the order in which they are tried. */
  chats: Channel[]
  log: OutboxLog
  random: () => number
}

export interface Outbox {
  /** Begins to send, oldest first, and goes on with whatever is committed from now on. */
  start(baseUrl: string): void
  /** Takes up nothing more; gives running sends a moment to finish, then calls them off. */
  stop(graceMs: number): Promise<void>
}

/** How many messages one chat is sent at once: enough that a slow answer does not hold up the rest. */
const width = 4
/** After a refusal that concerns the channel itself, it is left alone this long: many refusals get an address banned. */
const refusedPauseMs = 30_000
/** How long to wait for the database to take a result that it could not take. */
const storeRetryMs = 1000

export function createOutbox({ store, clock, chats, log, random }: OutboxDeps): Outbox {
  const order = chats.map(({ name }) => name)
  const stopping = new AbortController()
  // A lane for every chat, also for one that was taken out of the settings while messages were waiting for it.
  const lanes = new Map(
    channelNames
      .filter((name) => name !== 'log')
      .map((name) => [name as ChannelName, createLane(chats.find((one) => one.name === name) ?? missing(name))]),
  )
  let baseUrl = ''
  let stopped = false

  function createLane(channel: Channel) {
    const inFlight = new Map<string, Promise<void>>()
    const health = createHealth(channel.name)
    const alarm: Alarm = createAlarm(clock, async () => {
      try {
        return await takeDue()
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        return clock.now() + storeRetryMs
      }
    })

    /** Starts what is due and fits; answers when to look again. */
    async function takeDue(): Promise<number | undefined> {
      const now = clock.now()
      const due = await store.dueDeliveries(channel.name, now, width + inFlight.size)
      if (stopped) return undefined
      let waiting = false
      for (const { confirmation } of due) {
        if (inFlight.has(confirmation.id)) continue
        if (now < health.busyUntil && isWorthWaiting(confirmation, health.busyUntil)) {
          waiting = true
          continue
        }
        if (inFlight.size >= width) return undefined
        const run = deliver(confirmation).finally(() => {
          inFlight.delete(confirmation.id)
          alarm.by(clock.now())
        })
        inFlight.set(confirmation.id, run)
      }
      return waiting ? health.busyUntil : store.nextDelivery(channel.name, now)
    }

    async function deliver(confirmation: Confirmation): Promise<void> {
      const now = clock.now()
      const isPending = statusOf(asOf(confirmation, now)) === 'pending'
      const skip = isPending ? health.skip(now) : { kind: 'skipped' as const, until: null, error: 'resolved' }
      if (skip !== undefined) return record(confirmation.id, skip)
      const outcome = await channel.send(noticeOf(confirmation), stopping.signal)
      // Called off: nothing was learnt, and the next start takes it up again.
      if (stopping.signal.aborted && outcome.kind === 'failed') return
      health.learn(outcome, clock.now())
      await record(confirmation.id, outcome)
    }

    /** The message is out (or not): that must be written down, however long the database takes, or it would go out again. */
    async function record(id: string, attempt: Attempt): Promise<void> {
      await persist(async () => {
        const confirmation = await store.confirmation(id)
        const all = await store.deliveries(id)
        const delivery = all.find((one) => one.channel === channel.name)
        // Another chat took it meanwhile; only a message that really went out is worth a correction.
        if (confirmation === undefined || delivery === undefined) return 'settled'
        if (delivery.nextAt === null && attempt.kind !== 'sent') return 'settled'
        return store.commit(afterAttempt({ confirmation, delivery, all, order }, attempt, clock.now(), random()))
      })
    }

    return { alarm, inFlight }
  }

  /** Repeats until the database answers. When the service stops, what is known gets one more try. */
  async function persist(run: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        if ((await run()) !== 'conflict') return
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        if (stopping.signal.aborted) return
        await pause(storeRetryMs)
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        callOff()
        stopping.signal.removeEventListener('abort', end)
        resolve()
      }
      const callOff = clock.wake(clock.now() + ms, end)
      stopping.signal.addEventListener('abort', end)
    })
  }

  function noticeOf(confirmation: Confirmation): Notice {
    const { id, action, description, details, requester, sessionKey, deadline } = confirmation
    return { id, action, description, details, requester, sessionKey, expiresAt: deadline, baseUrl }
  }

  /** What the lane knows of its channel: down, busy or well. Says so in the log once, when that changes. */
  function createHealth(name: ChannelName) {
    let failures = 0
    let down: { until: number; why: string; retry: boolean } | null = null
    let said: 'failed' | 'refused' | null = null

    function say(trouble: 'failed' | 'refused', error: string, message: string): void {
      if (said !== trouble) log.warn({ channel: name, error }, message)
      said = trouble
    }

    return {
      busyUntil: 0,

      /** Why the channel is better not tried now, if so. */
      skip(now: number): Attempt | undefined {
        if (down !== null && now < down.until) {
          return { kind: 'skipped', until: down.retry ? down.until : null, error: `not tried: ${down.why}` }
        }
        if (now < this.busyUntil) return { kind: 'skipped', until: this.busyUntil, error: 'not tried: busy' }
        return undefined
      },

      learn(outcome: SendOutcome, now: number): void {
        switch (outcome.kind) {
          case 'sent':
            if (said !== null) log.info({ channel: name }, `${name} takes messages again`)
            said = null
            failures = 0
            down = null
            return
          case 'busy':
            this.busyUntil = Math.max(this.busyUntil, now + outcome.retryAfterMs)
            return
          case 'failed':
            // Those that were under way together fail together: that counts once.
            if (down === null || now >= down.until) failures += 1
            down = { until: now + backoff(failures, random()), why: outcome.error, retry: true }
            say('failed', outcome.error, `${name} does not answer; will try again`)
            return
          case 'refused':
            if (outcome.fault === 'message') {
              log.warn({ channel: name, error: outcome.error }, `${name} refused a message`)
              return
            }
            down = {
              until: outcome.fault === 'gone' ? Infinity : now + refusedPauseMs,
              why: outcome.error,
              retry: outcome.fault !== 'gone',
            }
            say('refused', outcome.error, `${name} refuses us; check its settings`)
        }
      },
    }
  }

  const unsubscribe = store.subscribe(({ writes }: Committed) => {
    for (const write of writes) {
      if (write.kind === 'delivery' && write.record.nextAt !== null && baseUrl !== '') {
        lanes.get(write.record.channel)?.alarm.by(write.record.nextAt)
      }
    }
  })

  return {
    start(url) {
      baseUrl = url
      lanes.forEach(({ alarm }) => alarm.by(clock.now()))
    },

    async stop(graceMs) {
      stopped = true
      unsubscribe()
      const timer = setTimeout(() => stopping.abort(), graceMs)
      await Promise.all([...lanes.values()].map(({ alarm }) => alarm.stop()))
      await Promise.all([...lanes.values()].flatMap(({ inFlight }) => [...inFlight.values()]))
      clearTimeout(timer)
      stopping.abort()
    },
  }
}

function missing(name: ChannelName): Channel {
  return { name, send: () => Promise.resolve({ kind: 'refused', fault: 'gone', error: 'not configured' }) }
}
