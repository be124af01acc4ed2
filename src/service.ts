// The verbs: submit, find, list, decide, cancel, grant, revoke, sweep. Reads the clock and makes ids, passes values down.
import * as audit from './audit/event.js'
import { type Clock, createAlarm } from './clock.js'
import { asOf, hold, isLapsed, resolve, type Submission } from './core/confirmation.js'
import type { ChannelName, Confirmation, Delivery, Outcome, Via } from './core/model.js'
import { isRefusal, type Refusal, refuse } from './core/refusal.js'
import { announce } from './notify/routing.js'
import { isHighRisk } from './policy/risk.js'
import { SlidingWindow, type Standing } from './policy/window.js'
import {
  type Change,
  type ConfirmationFilter,
  type Cursor,
  type Page,
  type Store,
  StoreUnavailable,
  type Write,
} from './store/store.js'
import { findCover, type Grant, isSameTerms, makeGrant, type Scope } from './whitelist/grant.js'

export interface ServiceDeps {
  store: Store
  clock: Clock
  newId: () => string
  rateLimit: { max: number; windowMs: number }
  /** The channel that is told first. */
  firstChannel: ChannelName
}

export interface Submitted {
  confirmation: Confirmation
  rate: Standing
}

export interface Verdict {
  outcome: Extract<Outcome, 'approved' | 'denied'>
  by: string
  reason: string | null
  remember: 'session' | 'global' | null
}

export interface Decided {
  confirmation: Confirmation
  grant: Grant | null
}

export interface GrantRequest extends Scope {
  ttlSeconds: number | null
  maxUses: number | null
  reason: string | null
  by: string
}

/** One round of a verb: what to answer once the change, if there is one, is on disk. */
interface Attempt<T> {
  answer: T | Refusal
  change?: Change | undefined
  undo?: () => void
}

export type Service = ReturnType<typeof createService>

/** Each round that is lost was won by another, so this many may change one thing at the same time. */
const maxRounds = 200
const sweepBatch = 500
const sweepRetryMs = 1000

export function createService({ store, clock, newId, rateLimit, firstChannel }: ServiceDeps) {
  const window = new SlidingWindow(rateLimit.max, rateLimit.windowMs)

  const expiry = createAlarm(clock, async () => {
    try {
      await sweep()
      return await store.nextDeadline()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return clock.now() + sweepRetryMs
    }
  })

  store.subscribe(({ writes }) => {
    for (const write of writes) {
      if (write.kind === 'confirmation' && write.record.resolution === null) expiry.by(write.record.deadline)
    }
  })

  /** Brings the memory in line with the store, and the store in line with the time. Answers what was found. */
  async function start(): Promise<{ expired: number; pending: number; unsent: number }> {
    const now = clock.now()
    for (const { action, at } of await store.asked(now - rateLimit.windowMs)) window.add(action, Math.min(at, now))
    const expired = await sweep()
    const next = await store.nextDeadline()
    if (next !== undefined) expiry.by(next)
    const { count } = await store.pending(clock.now())
    return { expired, pending: count, unsent: await store.unsent() }
  }

  async function stop(): Promise<void> {
    await expiry.stop()
  }

  async function submit(submission: Submission, via: Via): Promise<Submitted | Refusal> {
    const { action, sessionKey } = submission
    return settle<Submitted>(async () => {
      const now = clock.now()
      const held = hold(submission, newId(), now)
      const grant = findCover(await store.grantsFor(action, sessionKey), submission, now)
      if (grant !== undefined) {
        const by = `whitelist:${grant.id}`
        const confirmation = resolve(held, {
          status: 'auto_approved',
          by,
          at: now,
          via: 'whitelist',
          reason: grant.reason,
        })
        if (isRefusal(confirmation)) return { answer: confirmation }
        return {
          change: {
            writes: [
              { kind: 'confirmation', expect: 'absent', record: confirmation },
              { kind: 'use', grantId: grant.id },
            ],
            events: [audit.submitted(held, via), audit.resolved(confirmation, now, { grant_id: grant.id })],
          },
          answer: { confirmation, rate: window.peek(action, now) },
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
        answer: { confirmation: held, rate },
        undo: () => window.giveBack(action, now),
      }
    })
  }

  async function find(id: string): Promise<{ confirmation: Confirmation; deliveries: Delivery[] } | Refusal> {
    const confirmation = await store.confirmation(id)
    if (confirmation === undefined) return unknown(id)
    return { confirmation: asOf(confirmation, clock.now()), deliveries: await store.deliveries(id) }
  }

  async function list(
    filter: ConfirmationFilter,
    order: 'deadline' | 'newest',
    limit: number,
    after: Cursor | null,
  ): Promise<Page<Confirmation>> {
    await settleLapsed()
    const page = await store.confirmations(filter, order, limit, after)
    const now = clock.now()
    const items = page.items.map((one) => asOf(one, now))
    return { ...page, items: filter.status === 'pending' ? items.filter((one) => one.resolution === null) : items }
  }

  async function decide(id: string, verdict: Verdict, via: Via): Promise<Decided | Refusal> {
    const { outcome, by, reason, remember } = verdict
    return settle<Decided>(async () => {
      const found = await store.confirmation(id)
      if (found === undefined) return { answer: unknown(id) }
      const now = clock.now()
      const confirmation = resolve(found, { status: outcome, by, at: now, via, reason })
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change: Change = {
        writes: [{ kind: 'confirmation', expect: found.version, record: confirmation }],
        events: [audit.resolved(confirmation, now)],
      }
      if (remember === null) return { change, answer: { confirmation, grant: null } }
      const scope = { action: found.action, sessionKey: remember === 'session' ? found.sessionKey : null }
      const asked = { ...scope, ttlSeconds: null, maxUses: null, reason, by }
      const grant = await prepareGrant(asked, now)
      if (isRefusal(grant)) return { answer: grant, change: rejection(scope, grant, by, now, via, id) }
      change.writes.push(...grant.writes)
      change.events.push(audit.granted(grant.record, now, via, id))
      return { change, answer: { confirmation, grant: grant.record } }
    })
  }

  async function cancel(id: string, by: string | null, reason: string | null, via: Via): Promise<Decided | Refusal> {
    return settle<Decided>(async () => {
      const found = await store.confirmation(id)
      if (found === undefined) return { answer: unknown(id) }
      const now = clock.now()
      const confirmation = resolve(found, {
        status: 'cancelled',
        by: by ?? (found.requester.trim() || 'agent'),
        at: now,
        via,
        reason,
      })
      if (isRefusal(confirmation)) return { answer: confirmation }
      return {
        change: {
          writes: [{ kind: 'confirmation', expect: found.version, record: confirmation }],
          events: [audit.resolved(confirmation, now)],
        },
        answer: { confirmation, grant: null },
      }
    })
  }

  /** Adds a grant, or sets the terms of the one that stands; `created` tells which. */
  async function grant(asked: GrantRequest, via: Via): Promise<{ grant: Grant; created: boolean } | Refusal> {
    return settle<{ grant: Grant; created: boolean }>(async () => {
      const now = clock.now()
      const prepared = await prepareGrant(asked, now)
      if (isRefusal(prepared)) return { answer: prepared, change: rejection(asked, prepared, asked.by, now, via, null) }
      const { record, standing, writes } = prepared
      const answer = { grant: record, created: record.id !== standing?.id }
      if (standing !== undefined && !answer.created && isSameTerms(standing, record)) return { answer }
      return { answer, change: { writes, events: [audit.granted(record, now, via)] } }
    })
  }

  async function revoke(id: string, by: string, via: Via): Promise<{ grant: Grant } | Refusal> {
    return settle<{ grant: Grant }>(async () => {
      const standing = await store.grant(id)
      if (standing === undefined || standing.revokedAt !== null) {
        return {
          answer: refuse('not_found', `There is no whitelist entry ${id}; GET /whitelist lists those that stand.`),
        }
      }
      const now = clock.now()
      const record: Grant = { ...standing, version: standing.version + 1, revokedAt: now }
      return {
        change: {
          writes: [{ kind: 'grant', expect: standing.version, record }],
          events: [audit.revoked(standing, by, now, via)],
        },
        answer: { grant: record },
      }
    })
  }

  let sweeping: Promise<number> | null = null

  /** Writes down what has lapsed; one sweep at a time serves whoever asks. Answers how many that were. */
  function sweep(): Promise<number> {
    sweeping ??= sweepAll().finally(() => (sweeping = null))
    return sweeping
  }

  async function sweepAll(): Promise<number> {
    let expired = 0
    for (;;) {
      const now = clock.now()
      const lapsed = (await store.lapsed(now, sweepBatch)).filter((one) => isLapsed(one, now))
      if (lapsed.length === 0) return expired
      const results = await Promise.all(
        lapsed.map((one) => {
          const record = asOf(one, now)
          return store.commit({
            writes: [{ kind: 'confirmation', expect: one.version, record }],
            events: [audit.resolved(record, now)],
          })
        }),
      )
      expired += results.filter((result) => result !== 'conflict').length
    }
  }

  /** Lists show what has lapsed as expired even while the database cannot take that down. */
  async function settleLapsed(): Promise<void> {
    try {
      await sweep()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  async function prepareGrant(asked: GrantRequest, now: number) {
    const { action, sessionKey, reason } = asked
    if (isHighRisk(action)) {
      return refuse(
        'high_risk',
        `'${action}' is a high-risk action: it always needs a person and cannot be whitelisted.`,
      )
    }
    if (sessionKey === '') {
      return refuse(
        'no_session',
        "There is no session_key to remember this for; use 'global' or submit with a session_key.",
      )
    }
    const found = await store.grantsFor(action, sessionKey ?? '')
    const standing = found.find((one) => one.sessionKey === sessionKey)
    const expiresAt = asked.ttlSeconds === null ? null : now + asked.ttlSeconds * 1000
    const terms = { expiresAt, maxUses: asked.maxUses, reason, grantedBy: asked.by }
    const record = makeGrant(standing, { action, sessionKey }, terms, newId(), now)
    const writes: Write[] = [{ kind: 'grant', expect: standing?.version ?? 'absent', record }]
    return { record, standing, writes }
  }

  /**
   * The one loop behind every verb: read, apply a pure rule, commit; after losing a race, read again. An answer without
   * a change is only an answer. What a lost or failed attempt took is given back.
   */
  async function settle<T>(attempt: () => Promise<Attempt<T>>): Promise<T | Refusal> {
    for (let round = 0; round < maxRounds; round++) {
      const { answer, change, undo } = await attempt()
      if (change === undefined) return answer
      try {
        if ((await store.commit(change)) !== 'conflict') return answer
      } catch (error) {
        undo?.()
        throw error
      }
      undo?.()
    }
    return refuse('contended', 'Too many others change this at the moment; nothing was done. Try again.')
  }

  return {
    start,
    stop,
    submit,
    find,
    list,
    decide,
    cancel,
    grant,
    revoke,
    sweep,
    rateLimit,
    grants: (limit: number, after: Cursor | null) => store.grants(clock.now(), limit, after),
    events: (after: number, limit: number) => store.events(after, limit),
    pending: () => store.pending(clock.now()),
    now: () => clock.now(),
    ready: () => store.probe(),
  }
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

function rejection(
  scope: Scope,
  refusal: Refusal,
  actor: string,
  at: number,
  via: Via,
  confirmationId: string | null,
): Change | undefined {
  if (refusal.refused !== 'high_risk') return undefined
  return { writes: [], events: [audit.rejected(scope, refusal, { actor, at, via, confirmationId })] }
}

function unknown(id: string): Refusal {
  return refuse('not_found', `There is no confirmation ${id}.`)
}
