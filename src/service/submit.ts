// Submitting: covered by a grant, over the limit, or held for a person. Alone or many in one commit, once for each key.
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { hold, resolve } from '../core/confirmation.js'
import { fingerprintOf } from '../core/digest.js'
import type { ChannelName, Confirmation, Submission, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { announce, callBack } from '../notify/routing.js'
import { SlidingWindow, type Standing } from '../policy/window.js'
import type { Change, Store, Write } from '../store/store.js'
import { findCover, type Grant } from '../whitelist/grant.js'
import { type Attempt, settle } from './settle.js'

export interface SubmitDeps {
  store: Store
  clock: Clock
  newId: () => string
  rateLimit: { max: number; windowMs: number }
  /** How long an approval may be claimed. */
  approvalMs: number
  /** The channel that is told first. */
  firstChannel: ChannelName
  /** Why this URL cannot be called back, if so. */
  flawOfCallback: (url: string) => string | null
}

/** A submission, and the caller's Idempotency-Key if there is one. */
export interface Asked {
  submission: Submission
  key: string | null
}

export interface Submitted {
  confirmation: Confirmation
  rate: Standing
  /** This was asked before, with the same key. */
  isReplay: boolean
}

/** What the submissions of one batch have taken so far, before any of it is committed. */
interface Plan {
  uses: Map<string, number>
  keyed: Map<string, { fingerprint: string; submitted: Submitted }>
}

export function createSubmit(deps: SubmitDeps) {
  const { store, clock, newId, rateLimit, approvalMs, firstChannel, flawOfCallback } = deps
  const window = new SlidingWindow(rateLimit.max, rateLimit.windowMs)

  /** Reads back which slots of the limit are taken. */
  async function start(): Promise<void> {
    const now = clock.now()
    for (const { action, at } of await store.asked(now - rateLimit.windowMs)) window.add(action, Math.min(at, now))
  }

  function submit(asked: Asked, via: Via): Promise<Submitted | Refusal> {
    if (asked.key === null) return settle(store, () => propose(asked.submission, via, noUses))
    return inTurn([asked], () => settle(store, () => plan(asked, via, createPlan())))
  }

  /** Each is judged by itself; what comes of them is one commit. */
  function submitAll(all: Asked[], via: Via): Promise<(Submitted | Refusal)[] | Refusal> {
    return inTurn(all, () =>
      settle(store, async () => {
        const planned = createPlan()
        const attempts: Attempt<Submitted>[] = []
        const undo = () => attempts.forEach((one) => one.undo?.())
        try {
          for (const asked of all) attempts.push(await plan(asked, via, planned))
        } catch (error) {
          undo()
          throw error
        }
        const answer = attempts.map((one) => one.answer)
        return { answer, change: merge(attempts.flatMap(({ change }) => change ?? [])), undo }
      }),
    )
  }

  /** One of a batch, or one with a key: what it takes is noted in `planned`, for those that follow. */
  async function plan({ submission, key }: Asked, via: Via, planned: Plan): Promise<Attempt<Submitted>> {
    const turn = key === null ? null : turnOf(submission, key)
    const earlier = turn === null ? undefined : (planned.keyed.get(turn) ?? (await recall(submission, key!)))
    const fingerprint = turn === null ? '' : fingerprintOf(submission)
    if (earlier !== undefined) {
      const isSame = earlier.fingerprint === fingerprint
      return { answer: isSame ? { ...earlier.submitted, isReplay: true } : keyReused(earlier.submitted) }
    }
    const attempt = await propose(submission, via, planned.uses)
    const { answer, change } = attempt
    if (isRefusal(answer) || change === undefined) return attempt
    for (const write of change.writes) {
      if (write.kind === 'use') planned.uses.set(write.grantId, (planned.uses.get(write.grantId) ?? 0) + write.count)
    }
    if (turn !== null) {
      planned.keyed.set(turn, { fingerprint, submitted: answer })
      const { id: confirmationId, createdAt: at } = answer.confirmation
      change.writes.push({
        kind: 'keyed',
        record: { caller: submission.requester, key: key!, fingerprint, confirmationId, at },
      })
    }
    return attempt
  }

  /** What a submission changes. `uses` are those of grants that are not committed yet. */
  async function propose(
    submission: Submission,
    via: Via,
    uses: ReadonlyMap<string, number>,
  ): Promise<Attempt<Submitted>> {
    const { action, sessionKey, callbackUrl } = submission
    const flaw = callbackUrl === null ? null : flawOfCallback(callbackUrl)
    if (flaw !== null) return { answer: refuse('callback_refused', `Field 'callback_url' ${flaw}`) }
    const now = clock.now()
    const held = hold(submission, newId(), now)
    const grants = await store.grantsFor(action, sessionKey)
    const grant = findCover(uses.size === 0 ? grants : grants.map((one) => withUses(one, uses)), submission, now)
    if (grant !== undefined) {
      const by = `whitelist:${grant.id}`
      const confirmation = resolve(
        held,
        { status: 'auto_approved', by, at: now, via: 'whitelist', reason: grant.reason },
        approvalMs,
      )
      if (isRefusal(confirmation)) return { answer: confirmation }
      return {
        change: {
          writes: [
            { kind: 'confirmation', expect: 'absent', record: confirmation },
            { kind: 'use', grantId: grant.id, count: 1 },
            ...callBack(confirmation, now),
          ],
          events: [audit.submitted(held, via), audit.resolved(confirmation, now, { grant_id: grant.id })],
        },
        answer: { confirmation, rate: window.peek(action, now), isReplay: false },
      }
    }
    const rate = window.take(action, now)
    if (!rate.allowed) {
      const refusal = tooMany(window, rate)
      return { change: { writes: [], events: [audit.rateLimited(submission, refusal, now, via)] }, answer: refusal }
    }
    const notice = announce(held, firstChannel, now)
    return {
      change: {
        writes: [{ kind: 'confirmation', expect: 'absent', record: held }, ...notice.writes],
        events: [audit.submitted(held, via), ...notice.events],
      },
      answer: { confirmation: held, rate, isReplay: false },
      undo: () => window.giveBack(action, now),
    }
  }

  async function recall(
    { requester }: Submission,
    key: string,
  ): Promise<{ fingerprint: string; submitted: Submitted } | undefined> {
    const keyed = await store.keyed(requester, key)
    const confirmation = keyed && (await store.confirmation(keyed.confirmationId))
    if (keyed === undefined || confirmation === undefined) return undefined
    const rate = window.peek(confirmation.action, clock.now())
    return { fingerprint: keyed.fingerprint, submitted: { confirmation, rate, isReplay: true } }
  }

  const turns = new Map<string, Promise<void>>()

  /** Whoever comes with a key that is being used waits for that to end, and takes nothing meanwhile. */
  async function inTurn<T>(all: Asked[], run: () => Promise<T>): Promise<T> {
    const names = all.flatMap(({ key, submission }) => (key === null ? [] : turnOf(submission, key)))
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

  return { start, submit, submitAll }
}

function tooMany({ max, windowMs }: SlidingWindow, rate: Standing): Refusal {
  const seconds = Math.max(1, Math.ceil(rate.resetMs / 1000))
  const sentence = `This action had its ${max} confirmations within ${windowMs / 1000} s; try again in ${seconds} s.`
  return refuse('rate_limited', sentence, {
    remaining: rate.remaining,
    window_seconds: windowMs / 1000,
    retry_after_seconds: seconds,
  })
}

/** Several changes as one. Uses of a grant add up, so that the last one is not given twice. */
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
  return { writes, events: [first, ...events] }
}

function createPlan(): Plan {
  return { uses: new Map(), keyed: new Map() }
}

const noUses: ReadonlyMap<string, number> = new Map()

function withUses(grant: Grant, uses: ReadonlyMap<string, number>): Grant {
  return { ...grant, uses: grant.uses + (uses.get(grant.id) ?? 0) }
}

/** A caller's key. No caller's name holds a NUL. */
function turnOf({ requester }: Submission, key: string): string {
  return `${requester}\0${key}`
}

function keyReused({ confirmation }: Submitted): Refusal {
  const sentence = 'This Idempotency-Key was used for another submission. Use a new key, or send the same payload.'
  return refuse('key_reused', sentence, { id: confirmation.id })
}
