// The service: what can be asked of it, and how its parts are put together. The parts read the clock and make ids, and pass
// values down.
import type { Link } from '../access/link.js'
import type { OpenMode } from '../access/open-mode.js'
import type { Caller } from '../access/role.js'
import type { Attempted } from '../audit/data.js'
import * as audit from '../audit/event.js'
import type { RecordedEvent } from '../audit/event.js'
import type { Actor, Recipient, Voter } from '../core/actor.js'
import type { Alarm, ChannelName, Confirmation, DeliveryKey, Via } from '../core/model.js'
import type { Refusal } from '../core/refusal.js'
import { raise } from '../notify/notices.js'
import { createPolicy, type Policy, type Rule } from '../policy/policy.js'
import type { SessionRules } from '../policy/reset.js'
import type { Groups, Target } from '../policy/telling.js'
import type { Quota, RateLimit } from '../policy/window.js'
import type { Confirmations, Cursor, EventFilter, EventPage, Page, Store } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { type Budget, createBudget } from './budget.js'
import { type Act, type Acted, createDecide, type Decided, type DecideDeps, type Decision } from './decide.js'
import { createBreaker } from './breaker.js'
import { type Buttons, createButtons } from './buttons.js'
import { type Collector, createCollector } from './collect.js'
import { createGrants, type GrantRequest } from './grants.js'
import { createHide } from './hide.js'
import { createInstances, type Instances } from './instances.js'
import { createKeyUses, type KeyUses } from './key-uses.js'
import { createLinks } from './links.js'
import { createPeople, type People } from './people.js'
import { createPresent } from './present.js'
import { createExports, type Exports } from './export.js'
import { createRead, type Following, type Found, type Read, type WhenGone } from './read.js'
import { createRotation } from './rotation.js'
import { createRuns } from './runs.js'
import { createSessions, type Sessions } from './sessions.js'
import { keepEnded } from './setback.js'
import type { Authority } from './settle.js'
import { createShortId } from './short-id.js'
import { createSignIns, type SignIns } from './sign-ins.js'
import { type Asked, createSubmit, type SubmitDeps, type Submitted } from './submit.js'
import { createSweep } from './sweep.js'
import { type ChatReach, createTellings, type Tellings } from './telling.js'
import type { Turnstile } from './turnstile.js'
import { createWaitingList, type WaitingList } from './waiting-list.js'
import { createWatch } from './watch.js'

/** The rules as they were read from a file, and what tells that file from another. */
export interface LoadedRules {
  rules: Rule[]
  /** Null: the file says nothing about them. */
  sessions: SessionRules | null
  /** Members by name. */
  groups: Groups
  sha256: string
}

export interface ServiceDeps
  extends
    Omit<SubmitDeps, 'policy' | 'grants' | 'desk' | 'runs' | 'whenFull' | 'tellings'>,
    Pick<DecideDeps, 'reportMs'> {
  /** The limit where no rule sets another: of an action, and with keys of its requester. */
  rateLimit: RateLimit
  rules: LoadedRules | null
  /** The chats of the settings, in the order in which they are tried, and who is told where no rule says. */
  chats: ChatReach[]
  notify: Target[]
  newSessionId: () => string
  /** What an operator does to resume a session, on the command line and over HTTP. */
  howToResume: (requester: string, key: string) => { command: string; request: string }
  /** By which days begin where no rule sets another. */
  timeZone: string
  /** How often sessions that nobody needs are removed; null: never by itself. */
  collectEveryMs: number | null
  /** Whether it may be in open mode while there is no key. */
  mayBeOpen: boolean
  /** 256 bits and more of chance, as hexadecimal digits. */
  chance: () => string
}

/** What can be asked of Holdpoint. A refusal is an answer; an exception is an outage or a bug. */
export interface Service {
  // What an agent does. Each of these is answered when it is on disk.
  /** `rate` is how the limit per action stands. */
  submit(asked: Asked, via: Via): Promise<(Submitted & { rate: Quota & RateLimit }) | Refusal>
  /** Each is judged by itself, knowing what those before it take; what comes of them is one commit. */
  submitAll(all: Asked[], via: Via): Promise<(Submitted | Refusal)[] | Refusal>
  /** `by` is the name given for who withdraws it, which counts in open mode alone. */
  cancel(id: string, by: string | null, reason: string | null, caller: Caller, via: Via): Promise<Decided | Refusal>
  /** The last gate before acting: passes once, for what was approved. */
  claim(act: Act, digest: string | null): Promise<Acted | Refusal>
  /** For which confirmation the act of this name was claimed last, see `Act`; null: none was. */
  claimedAs(name: string, requester: Actor): Promise<string | null>
  report(act: Act, outcome: 'succeeded' | 'failed', message: string | null): Promise<Acted | Refusal>

  // What a person does.
  decide(id: string, decision: Decision): Promise<Decided | Refusal>
  /** The same by a link, which is spent with it. */
  decideByLink(link: Link, decision: Decision): Promise<Decided | Refusal>
  /** What somebody who decided it says afterwards. */
  comment(id: string, text: string, by: Voter, via: Via): Promise<Decided | Refusal>
  /** A card of it, for somebody who asks for one in a chat: once for each occasion. */
  askFor(key: DeliveryKey, by: Actor, via: Via): Promise<Decided | Refusal>
  /** Adds a whitelist entry, or sets the terms of the one that stands; `created` tells which. */
  grant(asked: GrantRequest, via: Via): Promise<{ grant: Grant; created: boolean } | Refusal>
  revoke(id: string, by: Voter, authority: Authority, via: Via): Promise<{ grant: Grant } | Refusal>
  /** Live ones. A page may be short: what anyone gave counts in open mode alone. */
  listGrants(limit: number, after: Cursor | null): Promise<Page<Grant>>

  sessions: Sessions
  collector: Collector

  // Reading: as of now, whether or not what time did is recorded yet.
  find(id: string, caller: Caller): Promise<Found | Refusal>
  /** The same in turn with others, for callers that come in masses. */
  findInTurn(id: string, caller: Caller): Promise<Found | Refusal>
  /** By the end of its id, six characters or more: one of the last week's. */
  findByShortId(text: string, caller: Caller): Promise<Found | Refusal>
  /** Resolves when it is resolved, or there is no reason to wait on. Answers about how many bytes there will be to read. */
  wait(id: string, ms: number, caller: Caller, whenGone: WhenGone): Promise<number>
  /** Resolves when it is another than this version, or there is no reason to wait on. */
  waitForNews(id: string, version: number, ms: number, whenGone: WhenGone): Promise<{ version: number } | Refusal>
  /** As the store lists them, as of now. */
  list: Read['list']
  /** Pending ones without what may be large, the next deadline first; what expires just now may be among them. */
  listPending: Read['listPending']
  /** What waits, for a list that people look through. */
  readList: WaitingList['readList']
  /** Resolves when the list is another than the one with this mark, or there is no reason to wait on. */
  waitForList: WaitingList['waitForList']
  /** The history as it is written, in small helpings; an empty one when there was nothing to say for a while. */
  follow(following: Following, whenGone: WhenGone): AsyncGenerator<RecordedEvent[]>
  /** Whether the history has the end of this confirmation. */
  ending(id: string, caller: Caller): Promise<{ isEnded: boolean } | Refusal>
  listEvents(after: number, limit: number, filter: EventFilter): Promise<EventPage>
  /** All that there is, from the oldest on, for whoever takes it away. */
  exports: Exports
  lastSeq(): Promise<number>

  // Who there is.
  people: People
  /** Who is told of what. */
  tellings: Tellings
  /** When each key was used last. */
  lastUses: KeyUses['read']
  openMode: OpenMode
  /** The token of a new link, once its hash is on disk. */
  makeLink(confirmation: Confirmation, recipient: Recipient, channel: ChannelName): Promise<string>
  findLink(token: string): Promise<Link | undefined>
  /** The buttons of a message that is to go out, and the one that was pressed. */
  newButtons: Buttons['newButtons']
  findButton: Buttons['findButton']
  endQuestion: Buttons['endQuestion']
  signIns: SignIns
  /** Agents that a provisioner makes, by the Agent Approval Protocol. */
  instances: Instances
  /**
   * Records what was refused before any verb was reached, within the budget of `who`. `id` is that of a confirmation, if it
   * was about one. Null: it is recorded; else when there is room in the budget.
   */
  recordRefusal(
    refusal: Refusal,
    attempt: { actor: Actor; via: Via; id: string | null },
    about: Attempted,
    who: string,
  ): Promise<{ resetMs: number } | null>

  // How it runs.
  /** Brings the memory in line with the store, and the store in line with the time. Answers what was found. */
  start(): Promise<{ expired: number; pending: number; undelivered: number }>
  /** As much of it as commands about keys, people and sessions need. */
  startPeople(): Promise<void>
  stop(): Promise<void>
  /** Answers everybody who waits with what there is; from now on nobody waits. */
  release(): void
  /** From now on these rules govern what is submitted, once that is recorded. */
  useRules(loaded: LoadedRules): Promise<void>
  policy(): Policy
  /** Records what is due. Answers how many requests expired. */
  sweep(): Promise<number>
  /** Work that many want done at once goes through here. */
  turnstile: Turnstile
  countPending(): ReturnType<Confirmations['countPending']>
  /** When the oldest of what is pending was submitted. */
  oldestPending(): ReturnType<Confirmations['oldestPending']>
  countExecutions(): ReturnType<Confirmations['countExecutions']>
  /** Sessions, and those of them that are suspended. */
  countSessions(): ReturnType<Store['sessions']['countRuns']>
  /** How many wait for one confirmation, and follow everything. */
  countListeners(): { one: number; all: number }
  /** Calls the listener with each refusal that is not recorded, because whoever was refused had too many. */
  onUnrecorded: Budget['onUnrecorded']
  now(): number
  /** Throws StoreUnavailable if nothing can be written now. */
  ready(): Promise<void>
}

export function createService(deps: ServiceDeps): Service {
  const { store, clock, newId, newSessionId, rateLimit, timeZone, chance } = deps
  const defaults = { rate: { ...rateLimit, isPerRequester: true }, timeZone }
  let policy: Policy = createPolicy(deps.rules?.rules ?? null, defaults, deps.rules?.sessions)
  const budget = createBudget(store, clock)
  const desk = { store, budget }
  const watch = createWatch(store, clock)
  const present = createPresent(store, clock)
  const keyUses = createKeyUses(store, clock)
  const people = createPeople(desk, clock, chance, deps.mayBeOpen, keyUses.note)
  const { openMode } = people
  let groups: Groups = deps.rules?.groups ?? new Map()
  const tellings = createTellings(people, deps.chats, deps.notify, () => groups)
  const { counted } = openMode
  const runs = createRuns(store, newSessionId, () => policy)
  const breaker = createBreaker(
    () => policy,
    runs,
    newSessionId,
    ({ requester, key, suspension }, now) => {
      const about = { share: requester, requester, sessionKey: key, reason: suspension?.reason ?? '' }
      const alarm = { id: newId(), kind: 'session_suspended' as const, ...about, createdAt: now }
      const raised: Alarm = { ...alarm, ...deps.howToResume(requester, key) }
      return raise(raised, tellings.linesFor(raised, 'notice'), now)
    },
  )
  const rotation = createRotation(store, clock, runs)
  const collector = createCollector(desk, clock, deps.collectEveryMs)
  const sweeping = createSweep(store, clock, counted, breaker)
  const { start: startSweeping, stop: stopSweeping, sweep } = sweeping
  const grants = createGrants(desk, clock, newId, () => policy, openMode)
  const hide = createHide(clock, budget)
  const read = createRead({ store, clock, watch, present, hide, counted })

  const recordRules = ({ rules, sha256 }: LoadedRules) =>
    store.commit({ writes: [], events: [audit.rulesLoaded(clock.now(), { rules: rules.length, sha256 })] })

  async function startPeople(): Promise<void> {
    await people.start()
    await keepEnded(store, clock)
  }

  return {
    ...createSubmit({ ...deps, desk, runs, tellings, whenFull: rotation.soon, grants, policy: () => policy }),
    ...createDecide({ ...deps, desk, present, grants, breaker, hide, openMode }),
    sessions: createSessions({ ...deps, desk, runs, whenFull: rotation.soon, doesCount: grants.doesCount }),
    collector,
    grant: grants.grant,
    revoke: grants.revoke,
    async listGrants(limit, after) {
      // One that is over now may have been used before.
      await store.settledBefore(clock.now())
      const page = await store.grants.list(clock.now(), limit, after)
      return { ...page, items: page.items.filter(grants.doesCount) }
    },

    ...read,
    ...createShortId({ store, clock, find: read.find }),
    ...createWaitingList({ store, clock, watch, read }),
    listEvents: (after, limit, filter) => store.events.list(after, limit, filter),
    exports: createExports(store, read),
    lastSeq: () => store.events.lastSeq(),

    people,
    tellings,
    lastUses: keyUses.read,
    openMode,
    ...createLinks(store, clock, chance),
    ...createButtons(store, clock, chance),
    instances: createInstances(desk, clock, newId, people, deps.approvalMs),
    signIns: createSignIns(desk, clock, chance, people, keyUses.note),
    async recordRefusal(refusal, { id, actor, via }, about, who) {
      const confirmationId = id !== null && (await store.confirmations.brief(id)) !== undefined ? id : null
      const attempt = { actor, via, confirmationId, at: clock.now() }
      const { count, resetMs } = await budget.record(`refused ${who}`, [audit.rejected(refusal, attempt, about)])
      return count === 0 ? { resetMs } : null
    },

    async start() {
      await startPeople()
      const expired = await startSweeping()
      await rotation.start()
      collector.start()
      if (deps.rules !== null) await recordRules(deps.rules)
      const pending = await store.confirmations.countPending(clock.now())
      return { expired, pending, undelivered: await store.deliveries.countUndelivered() }
    },
    startPeople,
    async stop() {
      await stopSweeping()
      await rotation.stop()
      await collector.stop()
      await keyUses.stop()
    },
    release() {
      watch.stop()
      collector.release()
    },
    async useRules(loaded) {
      await recordRules(loaded)
      policy = createPolicy(loaded.rules, defaults, loaded.sessions)
      groups = loaded.groups
      void rotation.refresh()
    },
    policy: () => policy,
    sweep,
    countPending: () => store.confirmations.countPending(clock.now()),
    oldestPending: () => store.confirmations.oldestPending(clock.now()),
    countExecutions: () => store.confirmations.countExecutions(),
    countSessions: () => store.sessions.countRuns(),
    countListeners: () => watch.count(),
    onUnrecorded: budget.onUnrecorded,
    now: () => clock.now(),
    ready: () => store.probe(),
  }
}
