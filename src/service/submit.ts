// Submitting: covered by a grant, refused by a limit, or held for a person. Alone or many in one commit, once for each key.
import type { OpenMode } from '../access/open-mode.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { type ActorOf, isVerified, textOf } from '../core/actor.js'
import { asOf, hold, resolve } from '../core/confirmation.js'
import { digestOf, fingerprintOf } from '../core/digest.js'
import type { ChannelName, Confirmation, Pending, Refused, Submission, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { announce, callBack } from '../notify/routing.js'
import { oddOneOf, plainWords } from '../policy/name.js'
import type { Governing, Policy } from '../policy/policy.js'
import { defaultTimeout, timeoutWithin } from '../policy/risk.js'
import { type Quota, type RateLimit, SlidingWindow } from '../policy/window.js'
import type { Change, Store, Write } from '../store/store.js'
import { findCover, type Grant } from '../whitelist/grant.js'
import { createOpen } from './open.js'
import type { Grants } from './grants.js'
import { keyReused } from './idempotency.js'
import { type Attempt, rejection, settle } from './settle.js'

export interface SubmitDeps {
  store: Store
  clock: Clock
  newId: () => string
  policy: () => Policy
  openMode: Pick<OpenMode, 'isOpen'>
  grants: Pick<Grants, 'doesCount'>
  /** How long an approval may be claimed. */
  approvalMs: number
  /** The channel that is told first. */
  firstChannel: ChannelName
  /** Why this URL cannot be called back, if so. */
  flawOfCallback: (url: string) => string | null
}

/** What an agent asks for; how long it may wait is the rule's to say. */
export interface Asked {
  submission: Omit<Submission, 'timeoutSeconds'> & { timeoutSeconds: number | null }
  /** The caller's Idempotency-Key, if there is one. */
  key: string | null
  /** Has the requester's name. */
  by: Requester
}

/** Who submits. */
export type Requester = ActorOf<'person' | 'agent' | 'local' | 'anyone'>

export interface Submitted {
  confirmation: Confirmation
  rate: Quota & RateLimit
  /** This was asked before, with the same key. */
  isReplay: boolean
}

/** A submission under its rule. */
interface Ruled extends Governing {
  submission: Submission
  askedSeconds: number | null
  key: string | null
  by: Requester
}

/** What the submissions of one batch have taken so far, before any of it is committed. */
interface Plan {
  uses: Map<string, number>
  keyed: Map<string, { fingerprint: string; submitted: Submitted }>
  held: Map<string, Confirmation>
}

export function createSubmit(deps: SubmitDeps) {
  const { store, clock, newId, policy, openMode, grants, approvalMs, firstChannel, flawOfCallback } = deps
  const open = createOpen(store)
  const window = new SlidingWindow(0)

  async function start(): Promise<void> {
    await readBack(policy().longestWindowMs)
    await open.start()
  }

  /** Which slots of the limits are taken: at the start, and before rules with a longer window apply. */
  async function readBack(longestWindowMs: number): Promise<void> {
    const now = clock.now()
    const until = now - window.keptMs
    if (longestWindowMs <= window.keptMs) return
    const asked = await store.confirmations.askedSince(now - longestWindowMs)
    const hits = asked.map(({ action, at }) => ({ key: windowOf(action), at: Math.min(at, now) }))
    window.lengthen(
      longestWindowMs,
      until,
      hits.filter(({ at }) => at <= until),
    )
  }

  function windowOf(action: string): string {
    return policy().windowOf(action)
  }

  function submit(asked: Asked, via: Via): Promise<Submitted | Refusal> {
    const ruled = rule(asked)
    const isLetIn = isVerified(asked.by) ? undefined : openMode.isOpen
    if (ruled.key === null && !ruled.limits.mergesIdentical) {
      return settle(store, () => propose(ruled, via, emptyPlan), isLetIn)
    }
    return inTurn([ruled], () => settle(store, () => plan(ruled, via, createPlan()), isLetIn))
  }

  /** Each is judged by itself; what comes of them is one commit. */
  function submitAll(all: Asked[], via: Via): Promise<(Submitted | Refusal)[] | Refusal> {
    const everything = all.map(rule)
    const attempt = async () => {
      const planned = createPlan()
      const attempts: Attempt<Submitted>[] = []
      const undo = () => attempts.forEach((one) => one.undo?.())
      try {
        for (const ruled of everything) attempts.push(await plan(ruled, via, planned))
      } catch (error) {
        undo()
        throw error
      }
      const answer = attempts.map((one) => one.answer)
      return { answer, change: merge(attempts.flatMap(({ change }) => change ?? [])), undo }
    }
    const isLetIn = all.every(({ by }) => isVerified(by)) ? undefined : openMode.isOpen
    return inTurn(everything, () => settle(store, attempt, isLetIn))
  }

  function rule({ submission: asked, key, by }: Asked): Ruled {
    const governing = policy().govern(asked.action, asked.details)
    const { timeoutSeconds: askedSeconds } = asked
    const timeoutSeconds = timeoutWithin(askedSeconds, governing.limits.timeout)
    return { ...governing, key, by, askedSeconds, submission: { ...asked, timeoutSeconds } }
  }

  /** One of a batch, or one with a key: what it takes is noted in `planned`, for those that follow. */
  async function plan(ruled: Ruled, via: Via, planned: Plan): Promise<Attempt<Submitted>> {
    const { key } = ruled
    const turn = key === null ? null : turnOf(ruled, key)
    const earlier = turn === null ? undefined : (planned.keyed.get(turn) ?? (await recall(ruled, key!)))
    const fingerprint = turn === null ? '' : fingerprintOf(asAsked(ruled))
    if (earlier !== undefined) {
      const isSame = earlier.fingerprint === fingerprint
      return {
        answer: isSame ? { ...earlier.submitted, isReplay: true } : keyReused(earlier.submitted.confirmation.id),
      }
    }
    const attempt = await propose(ruled, via, planned)
    const { answer, change } = attempt
    if (isRefusal(answer) || change === undefined) return attempt
    for (const write of change.writes) {
      if (write.kind === 'use') planned.uses.set(write.grantId, (planned.uses.get(write.grantId) ?? 0) + write.count)
      if (write.kind === 'confirmation') planned.held.set(write.record.id, write.record)
    }
    if (turn !== null) {
      planned.keyed.set(turn, { fingerprint, submitted: answer })
      const { id: confirmationId } = answer.confirmation
      const at = clock.now()
      change.writes.push({
        kind: 'idempotency',
        record: { caller: ruled.by, key: key!, fingerprint, confirmationId, at },
      })
    }
    return attempt
  }

  /** What a submission changes: whitelist first, then what wears people down, then the rate limit. */
  async function propose(ruled: Ruled, via: Via, planned: Plan): Promise<Attempt<Submitted>> {
    const { submission, by, terms, limits } = ruled
    const { action, callbackUrl } = submission
    const flaw = callbackUrl === null ? null : flawOfCallback(callbackUrl)
    if (flaw !== null) return { answer: refuse('callback_refused', `Field 'callback_url' ${flaw}`) }
    if (policy().isUnclear(action)) return { answer: unclear(action) }
    const now = clock.now()
    const held = hold(submission, newId(), now, terms)
    const grant = await findGrant(ruled, planned, now)
    if (grant !== undefined) return cover(ruled, held, grant, via)
    const worn = await againstFatigue(ruled, held, via, planned)
    if (worn !== null) return worn
    // From here to the place that is taken there is no pause, in which others might take it too.
    const full = whenFull(ruled, held, via)
    if (full !== null) return full
    const rate = window.take(windowOf(action), now, limits.rate)
    if (!rate.allowed) {
      const refusal = tooMany(rate, limits.rate)
      const event = audit.rateLimited(submission, refusal.extra, { actor: by, at: now, via })
      return { change: { writes: [], events: [event] }, answer: refusal }
    }
    open.add(held)
    const notice = announce(held, firstChannel, now)
    return {
      change: {
        writes: [{ kind: 'confirmation', expect: 'absent', record: held }, ...notice.writes],
        events: [audit.submitted(held, by, via), ...notice.events],
      },
      answer: { confirmation: held, rate: { ...rate, ...limits.rate }, isReplay: false },
      undo: () => {
        open.remove(held)
        window.giveBack(windowOf(action), now)
      },
    }
  }

  /** The grant that covers it: none where the rule wants a person every time, nor one of somebody who could not decide this. */
  async function findGrant({ submission, terms, by }: Ruled, { uses }: Plan, now: number) {
    if (!terms.mayWhitelist) return undefined
    const { action, sessionKey, requester, details } = submission
    const found = await store.grants.covering(action, sessionKey, details, now)
    const mayDecide = (name: string) =>
      (!isVerified(by) || terms.allowsOwn || name !== requester) && (terms.deciders?.includes(name) ?? true)
    const standing = found.filter((grant) => grants.doesCount(grant) && mayDecide(textOf(grant.grantedBy)))
    return findCover(uses.size === 0 ? standing : standing.map((one) => withUses(one, uses)), submission, now)
  }

  function cover({ by, limits: { rate: limit } }: Ruled, held: Pending, grant: Grant, via: Via): Attempt<Submitted> {
    const { action, createdAt: now } = held
    const resolution = { by: { kind: 'grant', id: grant.id }, at: now, via: 'whitelist', reason: grant.reason } as const
    const confirmation = resolve(held, 'auto_approved', resolution, approvalMs)
    if (isRefusal(confirmation)) return { answer: confirmation }
    return {
      change: {
        writes: [
          { kind: 'confirmation', expect: 'absent', record: confirmation },
          { kind: 'use', grantId: grant.id, count: 1 },
          ...callBack(confirmation, now),
        ],
        events: [audit.submitted(held, by, via), audit.autoApproved(confirmation, grant.id, now)],
        before: grant.expiresAt ?? undefined,
      },
      answer: { confirmation, rate: { ...window.peek(windowOf(action), now, limit), ...limit }, isReplay: false },
    }
  }

  /** The same again while it waits or after it was denied, where the rule minds. */
  async function againstFatigue(
    { by, limits }: Ruled,
    held: Confirmation,
    via: Via,
    planned: Plan,
  ): Promise<Attempt<Submitted> | null> {
    const { action, digest, createdAt: now } = held
    if (limits.mergesIdentical) {
      const waiting = await findAlike(held, planned)
      if (waiting !== undefined) {
        const rate = { ...window.peek(windowOf(action), now, limits.rate), ...limits.rate }
        return {
          change: { writes: [], events: [audit.repeated(waiting, by, now, via)] },
          answer: { confirmation: waiting, rate, isReplay: false },
        }
      }
    }
    if (limits.denialHoldsMs > 0) {
      const denied = await store.confirmations.lastDenied(digest, now - limits.denialHoldsMs)
      if (denied !== undefined) {
        const answer = deniedBefore(denied, limits.denialHoldsMs, now)
        const attempt = { actor: by, at: now, via, confirmationId: denied.id }
        return { answer, change: rejection(answer, attempt, { action, digest, session_key: held.sessionKey }) }
      }
    }
    return null
  }

  /** As much is open as may be, where the rule minds. */
  function whenFull(
    { by, limits: { maxOpen } }: Ruled,
    { action, digest, sessionKey, requester, createdAt: at }: Confirmation,
    via: Via,
  ): Attempt<Submitted> | null {
    if (maxOpen === null || open.countOf(requester) < maxOpen) return null
    const sentence = `${requester} has ${maxOpen} requests open, which is as many as may be; wait for an answer to one.`
    const answer = refuse('too_many_open', sentence, { open_limit: maxOpen })
    const attempt = { actor: by, at, via, confirmationId: null }
    return { answer, change: rejection(answer, attempt, { action, digest, session_key: sessionKey }) }
  }

  async function findAlike(held: Confirmation, planned: Plan): Promise<Confirmation | undefined> {
    for (const id of open.alike(held.digest)) {
      const one = planned.held.get(id) ?? (await store.confirmations.get(id))
      const isWaiting = one !== undefined && asOf(one, held.createdAt).status === 'pending'
      if (isWaiting && one.description === held.description) return one
    }
    return undefined
  }

  async function recall(ruled: Ruled, key: string): Promise<{ fingerprint: string; submitted: Submitted } | undefined> {
    const { limits } = ruled
    const keyed = await store.idempotency.get(ruled.by, key)
    const confirmation = keyed && (await store.confirmations.get(keyed.confirmationId))
    if (keyed === undefined || confirmation === undefined) return undefined
    const rate = { ...window.peek(windowOf(confirmation.action), clock.now(), limits.rate), ...limits.rate }
    return { fingerprint: keyed.fingerprint, submitted: { confirmation, rate, isReplay: true } }
  }

  const turns = new Map<string, Promise<void>>()

  /** Whoever comes with a key that is being used, or asks for the same, waits for that to end, and takes nothing meanwhile. */
  async function inTurn<T>(all: Ruled[], run: () => Promise<T>): Promise<T> {
    const names = all.flatMap(turnsOf)
    if (names.length === 0) return run()
    const mine = Promise.all(names.flatMap((name) => turns.get(name) ?? [])).then(run)
    const over = mine.then(
      () => {},
      () => {},
    )
    names.forEach((name) => turns.set(name, over))
    try {
      return await mine
    } finally {
      for (const name of names) if (turns.get(name) === over) turns.delete(name)
    }
  }

  return { start, readBack, submit, submitAll }
}

function unclear(action: string): Refusal {
  const sentence =
    `The action's name is not plain: it has ${oddOneOf(action)} in it, and no rule spells it out. Use a name of ` +
    `${plainWords}, or have a rule name this one exactly, without * and ?.`
  return refuse('unclear_action', sentence)
}

function tooMany(rate: Quota, { max, windowMs }: RateLimit) {
  const seconds = Math.max(1, Math.ceil(rate.resetMs / 1000))
  const sentence = `This action had its ${max} confirmations within ${windowMs / 1000} s; try again in ${seconds} s.`
  return refuse('rate_limited', sentence, {
    max,
    remaining: rate.remaining,
    window_seconds: windowMs / 1000,
    retry_after_seconds: seconds,
  })
}

function deniedBefore({ id, resolution }: Refused, holdsMs: number, now: number): Refusal {
  const { at, reason } = resolution
  const by = textOf(resolution.by)
  const seconds = Math.max(1, Math.ceil((at + holdsMs - now) / 1000))
  const because = reason === null ? '' : `, because: ${reason}`
  const sentence = `${by} denied exactly this before${because}. Do not ask again within ${seconds} s unless something changed.`
  return refuse('denied_before', sentence, {
    status: 'denied',
    id,
    resolved_by: by,
    reason,
    retry_after_seconds: seconds,
  })
}

/** Several changes as one, by the earliest deadline. Uses of a grant add up, so that the last one is not given twice. */
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
  const before = Math.min(...changes.map((change) => change.before ?? Infinity))
  return { writes, events: [first, ...events], ...(before === Infinity ? {} : { before }) }
}

function createPlan(): Plan {
  return { uses: new Map(), keyed: new Map(), held: new Map() }
}

/** For one alone, which leaves nothing behind for others. */
const emptyPlan: Plan = createPlan()

function withUses(grant: Grant, uses: ReadonlyMap<string, number>): Grant {
  return { ...grant, uses: grant.uses + (uses.get(grant.id) ?? 0) }
}

/** A requester's key. No name holds a NUL. */
function turnOf({ by }: Ruled, key: string): string {
  return `${isVerified(by) ? '' : '?'}${textOf(by)}\0${key}`
}

function turnsOf(ruled: Ruled): string[] {
  const { submission, key, limits } = ruled
  const turns = key === null ? [] : [turnOf(ruled, key)]
  return limits.mergesIdentical ? [...turns, digestOf(submission)] : turns
}

/** What was asked for, whatever the rules make of it: they may change before it is asked again. */
function asAsked({ submission, askedSeconds }: Ruled): Submission {
  return { ...submission, timeoutSeconds: timeoutWithin(askedSeconds, defaultTimeout) }
}
