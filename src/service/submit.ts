// Submitting: covered by a grant, refused by a limit, or held for a person. Alone or many in one commit, once for each
// Idempotency-Key. What may stand against it is in gates.ts.
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { shareOf, textOf } from '../core/actor.js'
import { hold } from '../core/confirmation.js'
import { fingerprintOf } from '../core/digest.js'
import type { Pending, Submission, Via } from '../core/model.js'
import { isRefusal, type Refusal } from '../core/refusal.js'
import { bytesOf } from '../core/weight.js'
import { announce } from '../notify/notices.js'
import { schedule } from '../notify/steps.js'
import type { Breaker, Governing } from '../policy/policy.js'
import { defaultTimeout, timeoutWithin } from '../policy/risk.js'
import type { Quota, RateLimit } from '../policy/window.js'
import { afterAsking, cautionIn, isAtLimit, stateOf } from '../sessions/session.js'
import type { Change, Committed, Requirement, Write } from '../store/store.js'
import { asAsked, type Asked, type Requester } from './asked.js'
import {
  type Candidate,
  createGates,
  type GateDeps,
  type Known,
  learn,
  type Plan as GatePlan,
  quotasOf,
  type Submitted,
} from './gates.js'
import { keyReused } from './idempotency.js'
import { countIn, type Runs, type Use } from './runs.js'
import { type Desk, type Proposal, settleFully } from './settle.js'
import type { Tellings } from './telling.js'

export type { Asked } from './asked.js'
export type { Submitted } from './gates.js'

export interface SubmitDeps extends GateDeps {
  desk: Desk
  runs: Runs
  /** A session is full. */
  whenFull: () => void
  clock: Clock
  newId: () => string
  tellings: Pick<Tellings, 'linesFor'>
}

/** A submission under its rule. */
interface Ruled extends Governing {
  submission: Submission
  asked: Asked
  key: string | null
  by: Requester
  /** Drawn when it is first needed, and kept for the next round unless it might be what was in conflict. */
  id: string | null
}

interface Plan extends GatePlan {
  /** There is one submission in the change. */
  isAlone: boolean
  /** By requester and Idempotency-Key. */
  records: Map<string, { fingerprint: string; submitted: Submitted }>
  /** By requester and session key. */
  sessions: Map<string, Use>
  /** What is counted in sessions, in the order of the requirements: with whose answer each begins. */
  counted: Counted[]
}

/** The answers to submissions of one session, in order: once that is committed, they are told how many there are. */
interface Counted {
  use: Use
  breaker: Breaker
  answers: Submitted[]
}

export function createSubmit(deps: SubmitDeps) {
  const { desk, store, clock, newId, policy, tellings, runs, whenFull } = deps
  const gates = createGates(deps)

  /** `rate` is how the limit per action stands. */
  async function submit(asked: Asked, via: Via): Promise<(Submitted & { rate: Quota & RateLimit }) | Refusal> {
    const ruled = rule(asked)
    let known = knowsNothing
    let planned: Plan
    const { answer, committed } = await settleFully<Submitted>(desk, asked.authority, (unmet) => {
      if (unmet === null) ruled.id = null
      else learn(known === knowsNothing ? (known = createKnown()) : known, unmet)
      planned = planAlone(known)
      return plan(ruled, via, planned)
    })
    if (isRefusal(answer)) return answer
    if (tellCounts(planned!, committed)) whenFull()
    if (answer.isReplay) answer.session = await peekSession(ruled)
    const { max, windowMs } = ruled.limits.rate
    const { remaining, resetMs } = committed?.quotas[0] ?? (await peek(ruled))
    const { confirmation, isReplay, session } = answer
    return { confirmation, isReplay, session, rate: { max, windowMs, remaining, resetMs } }
  }

  /** Each is judged by itself; what comes of them is one commit. */
  async function submitAll(all: Asked[], via: Via): Promise<(Submitted | Refusal)[] | Refusal> {
    const everything = all.map(rule)
    const known = createKnown()
    let planned: Plan
    const { answer, committed } = await settleFully<(Submitted | Refusal)[]>(desk, all[0]!.authority, async (unmet) => {
      if (unmet === null) for (const ruled of everything) ruled.id = null
      else learn(known, unmet)
      planned = planTogether(known)
      const proposals: Proposal<Submitted>[] = []
      for (const ruled of everything) proposals.push(await plan(ruled, via, planned))
      const answer = proposals.map((one) => one.answer)
      const rejected = proposals.flatMap((one) => one.rejected ?? [])
      return { answer, change: merge(proposals.flatMap(({ change }) => change ?? [])), rejected }
    })
    if (isRefusal(answer)) return answer
    if (tellCounts(planned!, committed)) whenFull()
    for (const [index, one] of answer.entries()) {
      if (!isRefusal(one) && one.isReplay) one.session = await peekSession(everything[index]!)
    }
    return answer
  }

  function rule(asked: Asked): Ruled {
    const { submission, key, by } = asked
    const governing = policy().govern(submission.action, submission.details)
    const { terms, limits, passes } = governing
    // A hook asks for what fits its own time; a rule that says how long calls are open knows better.
    const isRuled = asked.isCall === true && limits.timeout.default !== defaultTimeout.default
    const bounded = timeoutWithin(isRuled ? null : submission.timeoutSeconds, limits.timeout)
    // There a rule may only shorten what was asked for.
    const timeoutSeconds = submission.aap === null ? bounded : Math.min(bounded, submission.timeoutSeconds ?? bounded)
    return { terms, limits, passes, key, by, asked, id: null, submission: under(submission, timeoutSeconds) }
  }

  /** One of a batch, or one with a key: what it takes is noted in `planned`, for those that follow. */
  async function plan(ruled: Ruled, via: Via, planned: Plan): Promise<Proposal<Submitted>> {
    const { key } = ruled
    if (key === null) return note(await propose(ruled, via, planned), planned)
    // No name holds a NUL.
    const name = `${textOf(ruled.by)}\0${key}`
    const earlier = planned.records.get(name) ?? (await recall(ruled.by, key))
    const { submission, computed } = ruled.asked
    const fingerprint = computed?.fingerprint ?? fingerprintOf(asAsked(submission))
    if (earlier !== undefined) {
      const { confirmation } = earlier.submitted
      const isSame = earlier.fingerprint === fingerprint
      return { answer: isSame ? { confirmation, isReplay: true, session: null } : keyReused(confirmation.id) }
    }
    const proposal = note(await propose(ruled, via, planned), planned)
    const { answer, change } = proposal
    if (isRefusal(answer) || change === undefined) return proposal
    if (!planned.isAlone) planned.records.set(name, { fingerprint, submitted: answer })
    const { id: confirmationId } = answer.confirmation
    change.writes.push({
      kind: 'idempotency',
      record: { caller: ruled.by, key, fingerprint, confirmationId, result: null, at: clock.now() },
    })
    return proposal
  }

  /** What a submission changes: the answer of the first gate that has one, or it is held for a person. */
  async function propose(ruled: Ruled, via: Via, planned: Plan): Promise<Proposal<Submitted>> {
    const { submission, by, terms, limits, passes } = ruled
    const { computed } = ruled.asked
    const now = clock.now()
    const share = shareOf(by)
    let use = submission.sessionKey === '' ? null : useOf(share, submission.sessionKey, now, planned)
    if (use instanceof Promise) use = await use
    const held = hold(submission, (ruled.id ??= newId()), now, terms, share, computed?.digest)
    const asked = { action: policy().compared(submission.action), digest: held.digest }
    const { isCall = false } = ruled.asked
    held.joins = (limits.mergesIdentical || isCall) && submission.aap === null
    if (use !== null) inSession(held, use, asked, ruled)
    const ownBytes = computed?.bytes ?? bytesOf(submission, ruled.key)
    const bytes = ownBytes + (use === null || isCounted(use, planned) ? 0 : use.bytes)
    const one: Candidate = { submission, by, terms, limits, passes, held, asked, use, isCall, via, bytes }
    const requires: Requirement[] = []
    for (const gate of gates) {
      const answered = gate.answer(one, planned)
      const proposal = answered instanceof Promise ? await answered : answered
      if (proposal !== null)
        return isRefusal(proposal.answer) ? proposal : counting(requiring(proposal, requires), one, planned, false)
      if (gate.requires !== undefined) requires.push(...gate.requires(one, planned))
    }
    const notice = announce(held, tellings.linesFor(held, 'notice'), now)
    const proposal: Proposal<Submitted> = {
      change: {
        writes: [{ kind: 'confirmation', expect: 'absent', record: held }, ...notice.writes, ...schedule(held)],
        events: [audit.submitted(held, by, via), ...notice.events],
        requires,
      },
      answer: { confirmation: held, isReplay: false, session: null },
    }
    return counting(proposal, one, planned, true)
  }

  /** All of one change that are in the same session use it together. */
  function useOf(share: string, sessionKey: string, now: number, { isAlone, sessions }: Plan): Use | Promise<Use> {
    if (isAlone) return runs.use(share, sessionKey, now)
    return useTogether(share, sessionKey, now, sessions)
  }

  async function useTogether(share: string, sessionKey: string, now: number, known: Map<string, Use>): Promise<Use> {
    const name = `${share}\0${sessionKey}`
    const use = known.get(name) ?? (await runs.use(share, sessionKey, now))
    known.set(name, use)
    return use
  }

  /** How its session stands, for one that is not counted in it. */
  async function peekSession({ submission: { sessionKey }, by, limits }: Ruled): Promise<Submitted['session']> {
    if (sessionKey === '') return null
    const { run, ...session } = await runs.find(shareOf(by), sessionKey)
    return run === null
      ? null
      : stateOf({ ...session, run }, runs.ruleOf(sessionKey), run.messages, null, limits.breaker)
  }

  function peek({ submission, by, limits }: Ruled): Promise<Quota> {
    const [quota] = quotasOf(policy(), submission.action, by, limits.rate)
    return store.quotas.peek(quota, clock.now(), limits.rate)
  }

  async function recall(
    caller: Requester,
    key: string,
  ): Promise<{ fingerprint: string; submitted: Submitted } | undefined> {
    const record = await store.idempotency.get(caller, key)
    const confirmation = record && (await store.confirmations.get(record.confirmationId))
    if (record === undefined || confirmation === undefined) return undefined
    return { fingerprint: record.fingerprint, submitted: { confirmation, isReplay: true, session: null } }
  }

  return { submit, submitAll }
}

/** Written out, as each submission comes by here: a spread takes many times as long. */
function under(asked: Asked['submission'], timeoutSeconds: number): Submission {
  const { action, description, details, requester, sessionKey, callbackUrl, onBehalfOf, requestedAs, aap } = asked
  return {
    action,
    description,
    details,
    requester,
    sessionKey,
    timeoutSeconds,
    callbackUrl,
    onBehalfOf,
    requestedAs,
    aap,
  }
}

/** The request belongs to the session's run, and says what is odd about that. */
function inSession(
  held: Pending,
  { session: { streak, run }, fixation }: Use,
  asked: Candidate['asked'],
  { limits: { breaker } }: Ruled,
): void {
  held.sessionId = run.id
  held.caution = cautionIn({ streak, fixation }, asked, breaker)
}

/** Whether another of the same change has begun it, rotated it, and so on. */
function isCounted(use: Use, { counted }: Plan): boolean {
  return counted.some((one) => one.use === use)
}

/** It counts in its session, with whatever has to be written of that first. `isAsking`: a person is asked. */
function counting(
  proposal: Proposal<Submitted>,
  { use, held, asked, limits }: Candidate,
  planned: Plan,
  isAsking: boolean,
): Proposal<Submitted> {
  const { change, answer } = proposal
  if (use === null || change === undefined || isRefusal(answer)) return proposal
  const known = planned.counted.find((one) => one.use === use)
  if (known !== undefined) known.answers.push(answer)
  else planned.counted.push({ use, breaker: limits.breaker, answers: [answer] })
  const [writes, events, requires] = known === undefined ? [use.writes, use.events, use.requires] : [[], [], []]
  const asks = isAsking ? [asked] : []
  if (isAsking) use.fixation = afterAsking(use.fixation, asked)
  change.writes.unshift(...writes)
  change.events.unshift(...events)
  const count = countIn(use, { messages: 1, submissions: 1, asks }, held.createdAt)
  change.requires = [...requires, ...(change.requires ?? []), count]
  use.taken += 1
  return proposal
}

/** Once it is known how many messages the sessions have. Answers whether one is full. */
function tellCounts({ counted }: Plan, committed: Committed | null): boolean {
  if (committed === null) return false
  let isFull = false
  for (const [index, { use, breaker, answers }] of counted.entries()) {
    const last = committed.counts[index]!
    isFull ||= isAtLimit(last, use.rule.maxMessages)
    answers.forEach((answer, place) => {
      const count = last - (answers.length - 1 - place)
      const { run, streak } = use.session
      answer.session = stateOf({ run, streak, fixation: use.fixation }, use.rule, count, use.reset, breaker)
    })
  }
  return isFull
}

/** What the gates before it have asked for. */
function requiring(proposal: Proposal<Submitted>, requires: Requirement[]): Proposal<Submitted> {
  if (proposal.change !== undefined) proposal.change.requires = [...(proposal.change.requires ?? []), ...requires]
  return proposal
}

/** What it takes, for those that follow in the same change. */
function note(proposal: Proposal<Submitted>, { isAlone, uses, slots, disk, held }: Plan): Proposal<Submitted> {
  if (isAlone) return proposal
  for (const write of proposal.change?.writes ?? []) {
    if (write.kind === 'use') uses.set(write.grantId, (uses.get(write.grantId) ?? 0) + write.count)
    if (write.kind === 'confirmation' && write.record.status === 'pending') held.push(write.record)
  }
  for (const one of proposal.change?.requires ?? []) {
    if (one.kind === 'slot') slots.set(one.quota, (slots.get(one.quota) ?? 0) + one.count)
    if (one.kind === 'disk') disk.set(one.share, (disk.get(one.share) ?? 0) + one.bytes)
  }
  return proposal
}

/** Several changes as one. Uses of a grant add up, so that the last one is not given twice; so do slots of one limit, and bytes. */
function merge(changes: Change[]): Change | undefined {
  const [first, ...events] = changes.flatMap((change) => change.events)
  if (first === undefined) return undefined
  const uses = new Map<string, number>()
  const writes: Write[] = []
  for (const write of changes.flatMap((change) => change.writes)) {
    if (write.kind === 'use') uses.set(write.grantId, (uses.get(write.grantId) ?? 0) + write.count)
    else writes.push(write)
  }
  for (const [grantId, count] of uses) writes.push({ kind: 'use', grantId, count })
  return { writes, events: [first, ...events], requires: addUp(changes.flatMap(({ requires }) => requires ?? [])) }
}

/** Of a quota only neighbours: a slot of another limit on it counts those before it. */
function addUp(all: Requirement[]): Requirement[] {
  const requires: Requirement[] = []
  const latest = new Map<string, Requirement & { kind: 'slot' }>()
  const disks = new Map<string, Requirement & { kind: 'disk' }>()
  const counts = new Map<string, Requirement & { kind: 'count' }>()
  for (const one of all) {
    if (one.kind === 'count') {
      const name = `${one.requester}\0${one.sessionKey}`
      const before = counts.get(name)
      if (before === undefined) counts.set(name, { ...one })
      else {
        before.below = Math.min(before.below, one.below)
        before.messages += one.messages
        before.submissions += one.submissions
        before.asks = [...before.asks, ...one.asks]
      }
      continue
    }
    if (one.kind === 'disk') {
      const disk = disks.get(one.share)
      disks.set(one.share, { ...one, bytes: one.bytes + (disk?.bytes ?? 0) })
      continue
    }
    const last = one.kind === 'slot' ? latest.get(one.quota) : undefined
    if (one.kind !== 'slot') requires.push(one)
    else if (last?.limit === one.limit) last.count += one.count
    else {
      const slot = { ...one }
      latest.set(one.quota, slot)
      requires.push(slot)
    }
  }
  requires.push(...disks.values(), ...counts.values())
  return requires
}

function createKnown(): Known {
  return { quotas: new Map(), pending: new Map(), disk: new Map() }
}

const knowsNothing = createKnown()
const none = new Map<string, never>()

/** Nothing goes before it in the change, or comes behind it. */
function planAlone(known: Known): Plan {
  return {
    isAlone: true,
    uses: none,
    slots: none,
    disk: none,
    held: [],
    records: none,
    sessions: none,
    counted: [],
    known,
  }
}

function planTogether(known: Known): Plan {
  const taken = { uses: new Map(), slots: new Map(), disk: new Map(), held: [] }
  return { isAlone: false, ...taken, records: new Map(), sessions: new Map(), counted: [], known }
}
