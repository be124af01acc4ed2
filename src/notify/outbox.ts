// The durable outbox: one lane per channel takes the deliveries that are due and writes down what became of each.
// A crash between sending and writing sends again: at least once, never lost.
import { type Alarm, type Clock, createAlarm } from '../clock.js'
import { type Due, type Store, StoreUnavailable } from '../store/store.js'
import type { Carrier } from './carrier.js'
import { createHealth, type Health, type HealthLog } from './health.js'
import type { Attempt } from './routing.js'

export interface OutboxDeps {
  store: Store
  clock: Clock
  carriers: Carrier[]
  log: HealthLog
  random: () => number
}

export interface Outbox {
  /** Begins to send, oldest first, and goes on with whatever is committed from now on. */
  start(baseUrl: string): void
  /** Takes up nothing more; gives running sends a moment to finish, then calls them off. */
  stop(graceMs: number): Promise<void>
}

/** How long to wait for the database to take a result that it could not take. */
const storeRetryMs = 1000
/** How many destinations a lane remembers; beyond that, those that may be tried again anyway are forgotten. */
const maxRemembered = 1000

const silent: HealthLog = { info() {}, warn() {} }

export function createOutbox({ store, clock, carriers, log, random }: OutboxDeps): Outbox {
  const stopping = new AbortController()
  const lanes = new Map(carriers.map((carrier) => [carrier.name, createLane(carrier)]))
  let baseUrl = ''
  let stopped = false

  function createLane(carrier: Carrier) {
    const { name, width, widthEach } = carrier
    const inFlight = new Map<string, Promise<void>>()
    const destinations = new Map<string, Health>()
    const alarm: Alarm = createAlarm(clock, async () => {
      try {
        return await takeDue()
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        return clock.now() + storeRetryMs
      }
    })

    /** When the next delivery is due. */
    async function setAlarm(): Promise<void> {
      try {
        alarm.by((await store.deliveries.nextDue(name, -1)) ?? Infinity)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        alarm.by(clock.now() + storeRetryMs)
      }
    }

    /** Starts what is due and fits; answers when to look again. What does not fit is looked at when a send ends. */
    async function takeDue(): Promise<number | undefined> {
      const now = clock.now()
      let waitUntil = Infinity
      for (;;) {
        if (inFlight.size >= width) return undefined
        const full = [...destinations].filter(([, health]) => isFull(health, now)).map(([destination]) => destination)
        // Those under way are still due: they are found again, and passed over.
        const due = await store.deliveries.due(name, now, width, full)
        if (stopped) return undefined
        const before = inFlight.size
        for (const one of due) {
          const health = healthOf(one, now)
          if (inFlight.has(one.confirmationId) || inFlight.size >= width) continue
          if (now < health.busyUntil && carrier.isWorthWaiting(one, health.busyUntil)) {
            waitUntil = Math.min(waitUntil, health.busyUntil)
          } else if (health.underWay < roomOf(health)) start(one, health)
        }
        // Behind those that found no room there may be one for somewhere else.
        if (due.length < width || inFlight.size === before) break
      }
      for (const health of destinations.values()) {
        if (carrier.isPatient) waitUntil = Math.min(waitUntil, health.skip(now)?.until ?? Infinity)
      }
      const next = Math.min(waitUntil, (await store.deliveries.nextDue(name, now)) ?? Infinity)
      return next === Infinity ? undefined : next
    }

    function isFull(health: Health, now: number): boolean {
      return health.underWay >= roomOf(health) || (carrier.isPatient && health.skip(now) !== undefined)
    }

    /** A destination that failed last time is tried with one send before it gets more. */
    function roomOf(health: Health): number {
      return health.isSuspect ? 1 : widthEach
    }

    function start({ confirmationId }: Due, health: Health): void {
      health.underWay += 1
      const run = deliver(confirmationId, health).finally(() => {
        health.underWay -= 1
        inFlight.delete(confirmationId)
        alarm.by(clock.now())
      })
      inFlight.set(confirmationId, run)
    }

    function healthOf({ destination }: Due, now: number): Health {
      const known = destinations.get(destination)
      if (known !== undefined) return known
      if (destinations.size >= maxRemembered) {
        for (const [key, health] of destinations) {
          if (health.underWay === 0 && health.skip(now) === undefined) destinations.delete(key)
        }
      }
      const health = createHealth(name, carrier.isLoud ? log : silent)
      destinations.set(destination, health)
      return health
    }

    async function deliver(id: string, health: Health): Promise<void> {
      const confirmation = await persist(() => store.confirmations.get(id))
      if (confirmation === undefined) return
      const now = clock.now()
      const skip = carrier.isMoot(confirmation, now)
        ? { kind: 'skipped' as const, until: null, error: 'resolved' }
        : health.skip(now)
      if (skip !== undefined) return carrier.isPatient ? undefined : record(id, skip)
      const outcome = await carrier.send(confirmation, { baseUrl, now, stop: stopping.signal })
      // Called off: nothing was learnt, and the next start takes it up again.
      if (stopping.signal.aborted && outcome.kind === 'failed') return
      if (carrier.tellsOfDestination(outcome)) health.learn(outcome, clock.now(), random())
      await record(id, outcome)
    }

    /** The message is out (or not): that must be written down, however long the database takes, or it would go out again. */
    async function record(id: string, attempt: Attempt): Promise<void> {
      await persist(async () => {
        const confirmation = await store.confirmations.get(id)
        const all = await store.deliveries.of(id)
        const delivery = all.find((one) => one.channel === name)
        // Another chat took it meanwhile; only a message that really went out is worth a correction.
        if (confirmation === undefined || delivery === undefined) return 'settled'
        if (delivery.nextAt === null && attempt.kind !== 'sent') return 'settled'
        return store.commit(carrier.after(confirmation, all, delivery, attempt, clock.now(), random()))
      })
    }

    return { alarm, inFlight, setAlarm }
  }

  /** Repeats until the database answers. When the service stops, what is known gets one more try. */
  async function persist<T>(run: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        const result = await run()
        if (result !== 'conflict') return result
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        if (stopping.signal.aborted) return undefined
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

  const unfollow = store.follow(({ changed }) => {
    if (baseUrl === '') return
    const channels = new Set(changed.flatMap((one) => (one.kind === 'delivery' ? one.channel : [])))
    for (const channel of channels) void lanes.get(channel)?.setAlarm()
  })

  return {
    start(url) {
      baseUrl = url
      lanes.forEach(({ alarm }) => alarm.by(clock.now()))
    },

    async stop(graceMs) {
      stopped = true
      unfollow()
      const timer = setTimeout(() => stopping.abort(), graceMs)
      await Promise.all([...lanes.values()].map(({ alarm }) => alarm.stop()))
      await Promise.all([...lanes.values()].flatMap(({ inFlight }) => [...inFlight.values()]))
      clearTimeout(timer)
      stopping.abort()
    },
  }
}
