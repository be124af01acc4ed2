// The durable outbox: one lane per channel leases the deliveries that are due, sends them and records what became of each.
// A crash between sending and recording sends again: at least once, never lost.
import { setMaxListeners } from 'node:events'
import { type Alarm, type Clock, createAlarm } from '../clock.js'
import { type Confirmation, type DeliveryKey, isAlarm, type Subject } from '../core/model.js'
import { type Claimed, type Due, type Store, StoreUnavailable } from '../store/store.js'
import type { Carrier, Send } from './carrier.js'
import type { DeliveryResult } from './delivery.js'
import { canBeCollected, counts, createPace, gatherMs } from './pace.js'
import { createHealth, type Health, type HealthLog } from './health.js'

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
  /** How many destinations the lanes remember. */
  countDestinations(): number
}

/** How long to wait for the database to take a result that it could not take. */
const storeRetryMs = 1000
/** How many destinations a lane remembers; beyond that, those that may be tried again anyway are forgotten. */
const maxRemembered = 1000
/** Longer than a send can take, which is two minutes and the commit of a link before it. */
const leaseMs = 5 * 60_000
/** As much is made ready ahead as is sent in this time: as long as it takes to lease some more and to commit their links. */
const aheadMs = 25
/** What was made ready and could not be sent by then is given back: it has its turn again, as it stands then. */
const patienceMs = 1000
/** So many requests at most are told in one message. */
const mostTogether = 500
/** So many of those that wait for a message of their own are looked at. */
const mostLooked = 64
/** Looking through what waits for a place that has had its messages takes time that others want: once in so long is enough. */
const heldRestMs = 1000
/** Looking through long queues takes time that others want: between two looks there is this many times as much. */
const restPart = 3

/** What a delivery takes until it is sent. */
interface Place {
  health: Health
  due: Due
  /** It is one of the messages that the destination takes in a minute. */
  counts: boolean
}

/** Nothing is left to say. */
const over: DeliveryResult = { kind: 'skipped', until: null, error: 'resolved' }

const silent: HealthLog = { info() {}, warn() {} }

/** The same said again is no news, until all is well. */
function sayOnce(log: HealthLog): HealthLog {
  const said = new Set<string>()
  return {
    info(fields, message) {
      if (said.size > 0) log.info(fields, message)
      said.clear()
    },
    warn(fields, message) {
      if (!said.has(message)) log.warn(fields, message)
      said.add(message)
    },
  }
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const found = times.filter((at) => at !== undefined)
  return found.length === 0 ? undefined : Math.min(...found)
}

/** Of a delivery. */
function nameOf({ subjectId, channel, occasion, destination }: DeliveryKey): string {
  return `${subjectId} ${channel} ${occasion} ${destination}`
}

export function createOutbox({ store, clock, carriers, log, random }: OutboxDeps): Outbox {
  const stopping = new AbortController()
  // Every send under way listens to it; Node takes more than ten for a leak.
  setMaxListeners(0, stopping.signal)
  const lanes = new Map(carriers.map((carrier) => [carrier.name, createLane(carrier)]))
  let baseUrl = ''
  let stopped = false

  function createLane(carrier: Carrier) {
    const { name, width, widthEach, widthOfShare, maxAhead, perMinute } = carrier
    const pace = perMinute === null ? null : createPace(store, name, perMinute)
    const inFlight = new Map<string, Promise<void>>()
    const destinations = new Map<string, Health>()
    /** How much is under way, by requester. */
    const shares = new Map<string, number>()
    /** Destinations that have had their messages for now, or for which something is collected; and until when that stays so. */
    const held = new Map<string, number>()
    /** Of people's own places: what is wrong with all of them is said once. */
    const calm = sayOnce(log)
    let isHeldKnown = pace === null
    let lastServed = ''
    let restsUntil = -Infinity
    const alarm: Alarm = createAlarm(clock, () => orLater(look))

    async function setAlarm(): Promise<void> {
      lookBy((await orLater(() => store.deliveries.nextDue(name, -1))) ?? Infinity)
    }

    function lookBy(at: number): void {
      alarm.by(Math.max(at, restsUntil))
    }

    /** What it answers, or when to try again where the database does not. */
    async function orLater(ask: () => Promise<number | undefined>): Promise<number | undefined> {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        return clock.now() + storeRetryMs
      }
    }

    /** Starts what is due and has room; answers when to look again. What has no room is looked at when a send ends. */
    async function look(): Promise<number | undefined> {
      const now = clock.now()
      if (!isHeldKnown) for (const one of await store.deliveries.placesOfCollected(name)) held.set(one, now)
      isHeldKnown = true
      while (inFlight.size < width && !isEverythingFull(now)) {
        const chosen = await choose(now)
        if (chosen.size === 0) return earliest(await serveHeld(now), await nextLook(now))
        await take(chosen)
        // Behind those that found no room there may be one for somewhere else.
      }
      return undefined
    }

    /** What is due and has room: a place is kept for each. */
    async function choose(now: number): Promise<Map<string, Place>> {
      const fullDestinations = [...destinations].flatMap(([name, health]) => (isFull(health, now) ? name : []))
      for (const [destination] of held)
        if (healthOf(destination, now).skip(now) === undefined) fullDestinations.push(destination)
      const fullShares = [...shares.keys()].filter(isShareFull)
      const turn = { after: lastServed, fullShares, fullDestinations }
      const began = clock.now()
      const due = await store.deliveries.due(name, now, width - inFlight.size, turn)
      const lookedAt = clock.now()
      restsUntil = lookedAt + restPart * (lookedAt - began)
      const chosen = new Map<string, Place>()
      const left = new Map<string, number>()
      for (const { destination } of due)
        if (!left.has(destination)) left.set(destination, await roomIn(destination, now))
      if (stopped) return chosen
      for (const one of due) {
        const { destination } = one
        if (inFlight.has(nameOf(one)) || inFlight.size + chosen.size >= width) continue
        const health = healthOf(destination, now)
        if (isWaitedFor(one, health, now) || health.underWay >= roomOf(health, now) || isShareFull(one.share)) continue
        // What is not even tried counts for nothing.
        const isCounted = pace !== null && counts(one, now) && health.skip(now) === undefined
        const room = left.get(destination)!
        if (isCounted && room <= 0) {
          held.set(destination, now)
          continue
        }
        if (isCounted) left.set(destination, room - 1)
        reserve(one, health, isCounted, chosen)
      }
      return chosen
    }

    function reserve(due: Due, health: Health, counts: boolean, chosen: Map<string, Place>): void {
      const place = { health, due, counts }
      count(place, 1)
      lastServed = due.share
      chosen.set(nameOf(due), place)
    }

    /** How many more messages a destination takes now. */
    async function roomIn(destination: string, now: number): Promise<number> {
      return pace === null || !pace.isLimited ? Infinity : (await pace.peek(destination, now)).remaining
    }

    /** Answers when to look again at those that have had their messages. */
    async function serveHeld(now: number): Promise<number | undefined> {
      let next: number | undefined
      for (const [destination, until] of held) {
        const skipped = healthOf(destination, now).skip(now)
        if (skipped !== undefined) next = earliest(next, skipped.until ?? undefined)
        else next = earliest(next, await (until > now ? serveAsked(destination, now, until) : serve(destination, now)))
      }
      return next
    }

    /** What somebody asked for does not wait. */
    async function serveAsked(destination: string, now: number, until: number): Promise<number> {
      const health = healthOf(destination, now)
      const chosen = new Map<string, Place>()
      for (const one of await store.deliveries.asked(name, destination, now, mostLooked)) {
        if (!inFlight.has(nameOf(one)) && health.underWay < roomOf(health, now)) reserve(one, health, false, chosen)
      }
      await take(chosen)
      return until
    }

    /**
     * What was collected goes there as the pace allows, in turns, behind what was told before and is urgent. Of what is new, and
     * finds no room, people are told in one message.
     */
    async function serve(destination: string, now: number): Promise<number | undefined> {
      const health = healthOf(destination, now)
      const turn = { after: lastServed, fullShares: [], fullDestinations: [], only: destination }
      const due = await store.deliveries.due(name, now, mostTogether, turn)
      const collected = await store.deliveries.collected(name, destination, now, mostLooked, lastServed)
      if (stopped) return undefined
      const { remaining, resetMs } = await pace!.peek(destination, now)
      const isNew = (one: Due) => canBeCollected(one) && counts(one, now)
      const chosen = new Map<string, Place>()
      let left = remaining
      let isWaiting = false
      for (const one of [...due.filter((one) => !isNew(one)), ...collected]) {
        // What was collected and is over by now is due as well.
        if (inFlight.has(nameOf(one)) || chosen.has(nameOf(one))) continue
        const isCounted = counts(one, now)
        // What finds no room to be sent in is looked at when a send ends.
        const hasRoom = health.underWay < roomOf(health, now) && (!isCounted || left > 0)
        isWaiting ||= !hasRoom
        if (!hasRoom) continue
        if (isCounted) left -= 1
        reserve(one, health, isCounted, chosen)
      }
      await take(chosen)
      const fresh = due.filter((one) => isNew(one) && !inFlight.has(nameOf(one)))
      if (!isWaiting && (fresh.length === 0 || left > 0)) {
        // What was collected is on its way, or another process has it.
        if (collected.length > 0) return now + heldRestMs
        // Whatever is new has its turn as elsewhere.
        held.delete(destination)
        return fresh.length > 0 ? now : undefined
      }
      const next = earliest(
        isWaiting || left <= 0 ? now + Math.max(1, resetMs) : undefined,
        fresh.length === 0 ? undefined : await gather(destination, fresh, health, now),
      )
      held.set(destination, Math.min(next ?? Infinity, now + heldRestMs))
      return next
    }

    /** Tells of them in one message, once it is time; answers when that is. */
    async function gather(destination: string, fresh: Due[], health: Health, now: number): Promise<number | undefined> {
      const { remaining, resetMs } = await pace!.peekCollecting(destination, now)
      const since = fresh.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity)
      const at = Math.max(since + gatherMs, remaining > 0 ? now : now + resetMs)
      const one = `together ${destination}`
      if (at > now) return at
      if (inFlight.has(one) || health.underWay >= roomOf(health, now)) return undefined
      health.underWay += 1
      const run = tellTogether(fresh, destination, health).finally(() => {
        health.underWay -= 1
        inFlight.delete(one)
        held.set(destination, -Infinity)
        lookBy(clock.now())
      })
      inFlight.set(one, run)
      return undefined
    }

    async function tellTogether(fresh: Due[], destination: string, health: Health): Promise<void> {
      let claimed: Claimed[]
      try {
        const [leased, isTaken] = await Promise.all([
          store.deliveries.claim(fresh, leaseMs),
          pace!.takeCollecting(destination),
        ])
        claimed = leased
        if (!isTaken) return await store.deliveries.release(leased)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await pause(storeRetryMs)
        return
      }
      const found = await Promise.all(
        claimed.map(async (one) => ({ one, subject: await persist(() => findSubject(one.subjectId)) })),
      )
      const isOpen = (subject: Subject | undefined): subject is Confirmation =>
        subject !== undefined &&
        !isAlarm(subject) &&
        !carrier.isMoot(subject, { ...fresh[0]!, subjectId: subject.id }, clock.now())
      const confirmations = found.flatMap(({ subject }) => (isOpen(subject) ? subject : []))
      const obstacle = () => (stopped || clock.now() < health.busyUntil ? 'not now' : health.skip(clock.now()))
      const result =
        confirmations.length === 0
          ? 'not now'
          : await sendTo(health, obstacle, () => carrier.prepareTogether(confirmations, destination))
      const told = result !== 'not now' && result.kind === 'sent' ? ({ kind: 'collected' } as const) : result
      if (told !== 'not now' && told.kind === 'collected') {
        const where = {
          channel: name,
          ...(destination === '' ? {} : { to: destination }),
          requests: confirmations.length,
        }
        log.info(where, `${name} was told of these in one message; each that still waits gets its own`)
      }
      const listed = new Set(confirmations.map(({ id }) => id))
      await Promise.all(
        found.map(async ({ one, subject }) => {
          if (subject === undefined) return
          const own = listed.has(subject.id) ? told : over
          return own === 'not now' ? release(one) : record(one, subject, own)
        }),
      )
    }

    /** Leases what was chosen, all at once, and starts what nobody else had. */
    async function take(chosen: Map<string, Place>): Promise<void> {
      let claimed: Claimed[] = []
      try {
        if (chosen.size === 0) return
        const places = [...chosen.values()]
        const [leased, taken] = await Promise.all([
          store.deliveries.claim(
            places.map(({ due }) => due),
            leaseMs,
          ),
          Promise.all(places.map(async ({ due, counts }) => !counts || pace!.take(due.destination))),
        ])
        const beyond = new Set(places.flatMap(({ due }, index) => (taken[index] ? [] : nameOf(due))))
        claimed = leased.filter((one) => !beyond.has(nameOf(one)))
        // Another process was faster.
        if (claimed.length < leased.length)
          await store.deliveries.release(leased.filter((one) => beyond.has(nameOf(one))))
      } finally {
        const mine = new Set(claimed.map(nameOf))
        for (const [one, place] of chosen) if (!mine.has(one)) count(place, -1)
      }
      for (const one of claimed) start(one, chosen.get(nameOf(one))!)
    }

    /** When something else is due, or a destination may be tried again that is not tried now. */
    async function nextLook(now: number): Promise<number | undefined> {
      let next = (await store.deliveries.nextDue(name, now)) ?? Infinity
      for (const health of destinations.values()) next = Math.min(next, triedFrom(health, now) ?? Infinity)
      return next === Infinity ? undefined : next
    }

    function triedFrom(health: Health, now: number): number | null | undefined {
      if (carrier.isPatient) return health.skip(now)?.until
      return now < health.busyUntil ? health.busyUntil : undefined
    }

    function isFull(health: Health, now: number): boolean {
      return !hasRoom(health, now) || (carrier.isPatient && health.skip(now) !== undefined)
    }

    /** Where much is made ready ahead there is none until half of it is sent: so many are leased together. */
    function hasRoom(health: Health, now: number): boolean {
      const room = roomOf(health, now)
      return health.underWay < Math.min(room, Math.max(widthEach, room / 2))
    }

    function roomOf(health: Health, now: number): number {
      if (health.isSuspect(now)) return 1
      const { tookMs } = health
      return (
        widthEach + (tookMs === null ? 0 : Math.min(maxAhead, Math.floor((widthEach * aheadMs) / Math.max(1, tookMs))))
      )
    }

    /** Where all goes to one destination: while that is full there is nothing to look for. */
    function isEverythingFull(now: number): boolean {
      const [only, another] = destinations.values()
      return maxAhead > 0 && only !== undefined && another === undefined && isFull(only, now)
    }

    function isShareFull(share: string): boolean {
      return share !== '' && (shares.get(share) ?? 0) >= widthOfShare
    }

    function count({ health, due: { share } }: Place, by: 1 | -1): void {
      health.underWay += by
      const underWay = (shares.get(share) ?? 0) + by
      if (underWay === 0) shares.delete(share)
      else shares.set(share, underWay)
    }

    function start(claimed: Claimed, place: Place): void {
      const one = nameOf(claimed)
      const run = deliver(claimed, place).finally(() => {
        inFlight.delete(one)
        lookAgain(place)
      })
      inFlight.set(one, run)
    }

    /** What has no room ahead is looked at when it has; else any end may make room for something. */
    function lookAgain({ health }: Place): void {
      const now = clock.now()
      if (maxAhead === 0 || hasRoom(health, now)) lookBy(now)
    }

    function healthOf(destination: string, now: number): Health {
      const known = destinations.get(destination)
      if (known !== undefined) return known
      if (destinations.size >= maxRemembered) {
        for (const [key, health] of destinations) {
          if (health.underWay === 0 && health.skip(now) === undefined) destinations.delete(key)
        }
      }
      const health = createHealth(name, widthEach, carrier.isLoud ? (destination === '' ? log : calm) : silent)
      destinations.set(destination, health)
      return health
    }

    async function deliver(claimed: Claimed, place: Place): Promise<void> {
      let subject: Subject | undefined
      let result: DeliveryResult | 'not now' = 'not now'
      try {
        subject = await persist(() => findSubject(claimed.subjectId))
        if (subject !== undefined) result = await tell(subject, place)
      } finally {
        count(place, -1)
        lookAgain(place)
      }
      if (subject === undefined) return
      await (result === 'not now' ? release(claimed) : record(claimed, subject, result))
    }

    function tell(subject: Subject, place: Place): Promise<DeliveryResult | 'not now'> {
      return sendTo(
        place.health,
        () => obstacleTo(subject, place),
        () => carrier.prepare(subject, place.due),
      )
    }

    /** `findObstacle` says why it is not sent after all. */
    async function sendTo(
      health: Health,
      findObstacle: () => DeliveryResult | 'not now' | undefined,
      prepare: () => Send | Promise<Send>,
    ): Promise<DeliveryResult | 'not now'> {
      const since = clock.now()
      const obstacle = findObstacle()
      if (obstacle !== undefined) return obstacle
      const send = await prepare()
      return health.gate.pass(async () => {
        const obstacle = findObstacle()
        if (obstacle !== undefined) return obstacle
        const now = clock.now()
        if (now - since > patienceMs) return 'not now'
        const outcome = await send({ now, stop: stopping.signal })
        // Called off: nothing was learnt, and the next start takes it up again.
        if (stopping.signal.aborted && outcome.kind === 'failed') return 'not now'
        health.tookMs = clock.now() - now
        if (carrier.tellsOfDestination(outcome)) health.learn(outcome, clock.now(), random())
        return outcome
      })
    }

    /** Why it is not sent after all. */
    function obstacleTo(subject: Subject, { health, due }: Place): DeliveryResult | 'not now' | undefined {
      // Between taking it up and sending it nothing more begins once the service stops.
      if (stopped) return 'not now'
      const now = clock.now()
      if (carrier.isMoot(subject, due, now)) return over
      // A patient lane chose it because there was nothing against it, and has leased it by now.
      if (carrier.isPatient) return undefined
      return isWaitedFor(due, health, now) ? 'not now' : health.skip(now)
    }

    /** Busy, and not so long that it is better to go on without it. */
    function isWaitedFor(due: Due, { busyUntil }: Health, now: number): boolean {
      return now < busyUntil && carrier.isWorthWaiting(due, busyUntil)
    }

    /** If the database does not take it, the lease ends with its time, or with the next opening. */
    async function release(claimed: Claimed): Promise<void> {
      await orLater(async () => {
        await store.deliveries.release([claimed])
        return undefined
      })
    }

    /** The message is out (or not): that must be recorded, however long the database takes, or it would go out again. */
    async function record(claimed: Claimed, known: Subject, result: DeliveryResult): Promise<void> {
      const { subjectId, version } = claimed
      const wanted = nameOf(claimed)
      await persist(async () => {
        // What was sent was sent, however the subject stands by now; of what was not, that decides.
        const subject = result.kind === 'sent' ? known : await findSubject(subjectId)
        const all = await store.deliveries.of(subjectId)
        const delivery = all.find((one) => nameOf(one) === wanted)
        if (subject === undefined || delivery === undefined) return 'settled'
        // The lease is over: another has it, or settled it. Only a message that really went out is worth a correction.
        if (delivery.version !== version && (result.kind !== 'sent' || delivery.state === 'sent')) return 'settled'
        const change = carrier.after(subject, all, delivery, result, clock.now(), random())
        if (change !== null) return store.commit(change)
        await store.deliveries.drop({ ...claimed, version: delivery.version })
        return 'settled'
      })
    }

    return { alarm, inFlight, setAlarm, destinations }
  }

  /** Nearly all are confirmations, so alarms are looked for only behind them. */
  async function findSubject(id: string): Promise<Subject | undefined> {
    return (await store.confirmations.get(id)) ?? store.alarms.get(id)
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

    countDestinations: () => [...lanes.values()].reduce((sum, { destinations }) => sum + destinations.size, 0),
  }
}
