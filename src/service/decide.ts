// What is done to a confirmation: approved, denied, cancelled; claimed, reported. One path: find, pure rule, commit.
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { claim, report, resolve } from '../core/confirmation.js'
import type { Confirmation, Outcome, Via } from '../core/model.js'
import { isRefusal, type Refusal } from '../core/refusal.js'
import type { Store } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import type { Grants } from './grants.js'
import { type Attempt, rejection, replace, settle, unknown } from './settle.js'

export interface DecideDeps {
  store: Store
  clock: Clock
  grants: Grants
  /** How long an approval may be claimed, and how long the act may then take until it is reported. */
  approvalMs: number
  reportMs: number
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

export interface Executed {
  confirmation: Confirmation
}

export function createDecide({ store, clock, grants, approvalMs, reportMs }: DecideDeps) {
  function change<T>(id: string, rule: (found: Confirmation, now: number) => Attempt<T> | Promise<Attempt<T>>) {
    return settle<T>(store, async () => {
      const found = await store.confirmation(id)
      return found === undefined ? { answer: unknown(id) } : rule(found, clock.now())
    })
  }

  function decide(id: string, verdict: Verdict, via: Via): Promise<Decided | Refusal> {
    const { outcome, by, reason, remember } = verdict
    return change<Decided>(id, async (found, now) => {
      const confirmation = resolve(found, { status: outcome, by, at: now, via, reason }, approvalMs)
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change = replace(found, confirmation, audit.resolved(confirmation, now), now)
      if (remember === null) return { change, answer: { confirmation, grant: null } }
      const sessionKey = remember === 'session' ? found.sessionKey : null
      const asked = { action: found.action, sessionKey, ttlSeconds: null, maxUses: null, reason, by }
      const prepared = await grants.prepare(asked, now, via, id)
      if ('answer' in prepared) return prepared
      change.writes.push(...prepared.writes)
      change.events.push(audit.granted(prepared.record, now, via, id))
      return { change, answer: { confirmation, grant: prepared.record } }
    })
  }

  function cancel(id: string, by: string | null, reason: string | null, via: Via): Promise<Decided | Refusal> {
    return change<Decided>(id, (found, now) => {
      const who = by ?? (found.requester.trim() || 'agent')
      const confirmation = resolve(found, { status: 'cancelled', by: who, at: now, via, reason }, approvalMs)
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change = replace(found, confirmation, audit.resolved(confirmation, now), now)
      return { change, answer: { confirmation, grant: null } }
    })
  }

  function claimOnce(id: string, digest: string | null, via: Via): Promise<Executed | Refusal> {
    const presented = digest === null ? {} : { presented_digest: digest }
    return execute(id, via, (found, now) => claim(found, digest, now, reportMs), presented)
  }

  function reportOnce(
    id: string,
    outcome: 'succeeded' | 'failed',
    message: string | null,
    via: Via,
  ): Promise<Executed | Refusal> {
    return execute(id, via, (found, now) => report(found, outcome, message, now))
  }

  /** `about` belongs into the record of an attempt that is refused. */
  function execute(
    id: string,
    via: Via,
    rule: (found: Confirmation, now: number) => Confirmation | Refusal,
    about: Record<string, unknown> = {},
  ): Promise<Executed | Refusal> {
    return change<Executed>(id, (found, now) => {
      const confirmation = rule(found, now)
      if (isRefusal(confirmation)) {
        const { action, digest, requester: actor } = found
        const attempt = { actor, at: now, via, confirmationId: id }
        return { answer: confirmation, change: rejection(confirmation, attempt, { action, digest, ...about }) }
      }
      const change = replace(found, confirmation, audit.execution(confirmation, now, via), now)
      return { change, answer: { confirmation } }
    })
  }

  return { decide, cancel, claim: claimOnce, report: reportOnce }
}
