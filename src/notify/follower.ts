// Messages follow the state: whatever changes a confirmation, each message about it is edited until it shows how that ended.
// What is to be edited is known from the store alone, so a restart goes on; of two states of one message the last wins.
import type { Alarm as Timer, Clock } from '../clock.js'
import { createAlarm } from '../clock.js'
import { type ChatName, chatNames, type Confirmation, type Delivery, type DeliveryKey } from '../core/model.js'
import { type Store, StoreUnavailable } from '../store/store.js'
import type { Asking, MakeCard } from './cards.js'
import { boundPause, type Chat, type SendOutcome } from './chat.js'
import { backoff } from './delivery.js'

export interface FollowerDeps {
  store: Store
  clock: Clock
  chats: Chat[]
  makeCard: MakeCard
  /** As of now. */
  read(id: string): Promise<Confirmation | undefined>
  log: { warn(fields: object, message: string): void }
  random: () => number
}

export interface Follower {
  /** Looks through what was left when it ended last, and follows from now on. */
  start(): void
  /** Makes a message ask whether somebody means it; null: ask no more. */
  ask(of: DeliveryKey, asking: Asking | null): void
  /** All that is pending in this chat is shown anew: it has buttons now, or none any more. */
  showAnew(chat: ChatName): void
  stop(graceMs: number): Promise<void>
}

/** An edit that is to be made. What it will show is looked up when it is its turn. */
interface Job {
  of: DeliveryKey
  asking: Asking | null
  /** Somebody waits for it. */
  isUrgent: boolean
  /** Although its message may show that already. */
  isAnew: boolean
}

/** What is to be edited in one place, each in the order in which it came, and when its last edits were. */
interface Place {
  urgent: Map<string, Job>
  usual: Map<string, Job>
  edits: number[]
}

/** How many edits of one chat are under way at once. */
const width = 4
/** What was left is looked for in such helpings, so that others have their turn. */
const helping = 200
const minuteMs = 60_000
/** Of the edits that a place takes, the rest is kept for those that somebody waits for. */
const usualPart = 0.7
/** Limits of chats are by the minute: for so long a busy one gets one edit at a time, with the pause that it wished, up to this. */
const busyMemoryMs = minuteMs
const longestGapMs = 3000
/** After a refusal that is about the chat itself. */
const refusedPauseMs = 30_000
const storeRetryMs = 1000

export function createFollower({ store, clock, chats, makeCard, read, log, random }: FollowerDeps): Follower {
  const stopping = new AbortController()
  let isStopped = false
  const lanes = new Map(chats.map((chat) => [chat.name, createLane(chat)]))

  function createLane(chat: Chat) {
    const places = new Map<string, Place>()
    const underWay = new Map<string, Promise<void>>()
    let failures = 0
    let pausedUntil = -Infinity
    let busy = { until: -Infinity, gapMs: 0 }
    const timer: Timer = createAlarm(clock, () => Promise.resolve(look()))

    function add(job: Job): void {
      if (isStopped) return
      const name = nameOf(job.of)
      const { urgent, usual } = placeOf(job)
      urgent.delete(name)
      usual.delete(name)
      ;(job.isUrgent ? urgent : usual).set(name, job)
      timer.by(Math.max(clock.now(), pausedUntil))
    }

    function placeOf({ of: { destination } }: Job): Place {
      const known = places.get(destination)
      if (known !== undefined) return known
      const made: Place = { urgent: new Map(), usual: new Map(), edits: [] }
      places.set(destination, made)
      return made
    }

    /** Starts what may be edited now; answers when to look again. */
    function look(): number | undefined {
      const now = clock.now()
      if (isStopped || now < pausedUntil) return isStopped ? undefined : pausedUntil
      const room = now < busy.until ? 1 : width
      let next = Infinity
      for (const [name, place] of places) {
        place.edits = place.edits.filter((at) => at > now - minuteMs)
        for (let job = nextIn(place); job !== undefined; job = nextIn(place)) {
          const from = roomFrom(place, job)
          if (from > now) next = Math.min(next, from)
          if (from > now || underWay.size >= room) break
          const jobs = job.isUrgent ? place.urgent : place.usual
          jobs.delete(nameOf(job.of))
          place.edits.push(now)
          start(job)
        }
        if (place.urgent.size + place.usual.size + place.edits.length === 0) places.delete(name)
      }
      return next === Infinity ? undefined : next
    }

    /** Of those whose message is not being edited. */
    function nextIn({ urgent, usual }: Place): Job | undefined {
      for (const jobs of [urgent, usual]) for (const [name, job] of jobs) if (!underWay.has(name)) return job
      return undefined
    }

    /** From when on a place takes one more. */
    function roomFrom({ edits }: Place, { isUrgent }: Job): number {
      const most = isUrgent ? chat.editsPerMinute : Math.ceil(chat.editsPerMinute * usualPart)
      return edits.length < most ? -Infinity : edits[edits.length - most]! + minuteMs
    }

    function start(job: Job): void {
      const name = nameOf(job.of)
      const run = edit(job)
        .catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) throw error
          pausedUntil = clock.now() + storeRetryMs
          again(job)
        })
        .finally(() => {
          underWay.delete(name)
          timer.by(Math.max(clock.now(), pausedUntil))
        })
      underWay.set(name, run)
    }

    /** Unless something newer is to be shown. */
    function again(job: Job): void {
      const { urgent, usual } = placeOf(job)
      const name = nameOf(job.of)
      if (!urgent.has(name) && !usual.has(name)) add(job)
    }

    async function edit(job: Job): Promise<void> {
      const { of, isAnew } = job
      const confirmation = await read(of.subjectId)
      const delivery = (await store.deliveries.of(of.subjectId)).find((one) => nameOf(one) === nameOf(of))
      if (confirmation === undefined || delivery === undefined) return
      const { message, shown } = delivery
      // What shows the end is shown anew where somebody asks for it.
      if (message === null || (shown === null && !isAnew)) return
      const isPending = confirmation.status === 'pending'
      if (!isAnew && isPending && shown !== null && Math.abs(shown) === confirmation.version) return
      const asking = isPending ? job.asking : null
      const card = await makeCard(chat, confirmation, of, asking)
      // Before it is shown: after a restart nobody knows who was asked, and it is shown anew without the question.
      if (asking !== null) await store.deliveries.note(of, -confirmation.version)
      const outcome = await chat.edit(message, card, stopping.signal)
      if (stopping.signal.aborted && outcome.kind === 'failed') return
      await settle(job, outcome, asking !== null ? -confirmation.version : isPending ? confirmation.version : null)
    }

    async function settle(job: Job, outcome: SendOutcome, shown: number | null): Promise<void> {
      const now = clock.now()
      if (outcome.kind === 'sent') {
        failures = 0
        if (now < busy.until) pausedUntil = Math.max(pausedUntil, now + busy.gapMs)
        if (shown === null || shown > 0) await store.deliveries.note(job.of, shown)
      } else if (outcome.kind === 'refused' && outcome.fault !== 'channel') {
        const { subjectId: id } = job.of
        log.warn({ channel: chat.name, id, error: outcome.error }, `${chat.name} cannot edit a message`)
        // It was deleted, or never can be changed: nothing is left to follow.
        await store.deliveries.note(job.of, null)
      } else {
        if (outcome.kind === 'failed') failures += 1
        if (outcome.kind === 'busy') {
          busy = { until: now + busyMemoryMs, gapMs: Math.min(longestGapMs, boundPause(outcome.retryAfterMs)) }
        }
        pausedUntil = Math.max(pausedUntil, now + pauseAfter(outcome))
        again(job)
      }
    }

    function pauseAfter(outcome: Exclude<SendOutcome, { kind: 'sent' }>): number {
      if (outcome.kind === 'busy') return boundPause(outcome.retryAfterMs)
      return outcome.kind === 'failed' ? backoff(failures, random()) : refusedPauseMs
    }

    /** What was to be edited when the service ended. Urgent and anew, as nothing else may have changed since it began to ask. */
    const resume = () =>
      addFollowed({ isUrgent: true, isAnew: true }, (one, brief) => brief.isResolved || brief.version !== one.shown)

    const showAnew = () => addFollowed({ isUrgent: false, isAnew: true }, () => true)

    async function addFollowed(
      how: Pick<Job, 'isUrgent' | 'isAnew'>,
      isWanted: (one: Delivery, brief: { isResolved: boolean; version: number }) => boolean,
    ): Promise<void> {
      let after: DeliveryKey | null = null
      while (!isStopped) {
        const some: Delivery[] = await store.deliveries.followed(chat.name, after, helping)
        for (const one of some) {
          const brief = await store.confirmations.brief(one.subjectId)
          if (brief !== undefined && isWanted(one, brief)) add({ of: one, asking: null, ...how })
        }
        if (some.length < helping) return
        after = some.at(-1)!
        await new Promise((resolve) => setImmediate(resolve))
      }
    }

    return { add, resume, showAnew, timer, underWay }
  }

  /** Whatever was committed: the messages about it are looked up, and each that shows something else is edited. */
  async function refresh(id: string): Promise<void> {
    const brief = await store.confirmations.brief(id)
    if (brief === undefined) return
    for (const one of await store.deliveries.of(id)) {
      if (one.shown === null || one.message === null) continue
      const isStale = brief.isResolved || brief.version !== Math.abs(one.shown)
      if (isStale) laneOf(one)?.add({ of: one, asking: null, isUrgent: false, isAnew: false })
    }
  }

  function laneOf({ channel }: DeliveryKey) {
    return isChat(channel) ? lanes.get(channel) : undefined
  }

  /** Until the database answers. */
  function untilDone(work: () => Promise<void>): void {
    if (isStopped) return
    void work().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
      clock.after(storeRetryMs, () => untilDone(work))
    })
  }

  let unfollow = () => {}

  return {
    start() {
      if (lanes.size === 0) return
      unfollow = store.follow(({ changed }) => {
        const ids = new Set<string>()
        for (const one of changed) {
          if (one.kind === 'confirmation') ids.add(one.id)
          else if (one.kind === 'delivery' && isChat(one.channel)) ids.add(one.id)
        }
        for (const id of ids) untilDone(() => refresh(id))
      })
      for (const lane of lanes.values()) untilDone(lane.resume)
    },

    ask(of, asking) {
      laneOf(of)?.add({ of, asking, isUrgent: true, isAnew: true })
    },

    showAnew(chat) {
      const lane = lanes.get(chat)
      if (lane !== undefined) untilDone(lane.showAnew)
    },

    async stop(graceMs) {
      isStopped = true
      unfollow()
      const timer = setTimeout(() => stopping.abort(), graceMs)
      await Promise.all([...lanes.values()].map(({ timer }) => timer.stop()))
      await Promise.all([...lanes.values()].flatMap(({ underWay }) => [...underWay.values()]))
      clearTimeout(timer)
      stopping.abort()
    },
  }
}

function isChat(channel: string): channel is ChatName {
  return (chatNames as readonly string[]).includes(channel)
}

function nameOf({ subjectId, channel, destination, occasion }: DeliveryKey): string {
  return `${subjectId} ${channel} ${occasion} ${destination}`
}
