// What is done to a confirmation: approved, denied, cancelled; claimed, reported. One path: find, pure rule, commit.
import type { Link } from '../access/key.js'
import { type Caller, isOwn, mayRead } from '../access/role.js'
import * as audit from '../audit/event.js'
import { asOf, claim, report, resolve } from '../core/confirmation.js'
import { actFingerprint } from '../core/digest.js'
import { canonical } from '../core/json.js'
import type { Confirmation, Remembered, Verdict, Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { type Ballot, castVote } from '../core/vote.js'
import type { Store } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { type Grants, refuseGrant } from './grants.js'
import type { Hide } from './hide.js'
import { keyOwner, keyReused } from './idempotency.js'
import type { People } from './people.js'
import { only, type Present } from './present.js'
import { type Attempt, rejection, replaceInTime, settle, unknown } from './settle.js'

export interface DecideDeps {
  store: Store
  present: Present
  grants: Grants
  hide: Hide
  /** What counts of it now. */
  counted: (confirmation: Confirmation) => Confirmation
  people: Pick<People, 'isOpen'>
  /** How long an approval may be claimed, and how long the act may then take until it is reported. */
  approvalMs: number
  reportMs: number
}

/** A verdict, and whose it is. */
export interface Decision {
  verdict: Verdict
  reason: string | null
  /** What else to let pass from now on. */
  remember: Remember | null
  typed: string | null
  voter: Voter
  via: Via
}

/** A whitelist entry to go with an approval. */
export interface Remember extends Pick<Remembered, 'scope' | 'isExact'> {
  /** null: until it is revoked. */
  ttlSeconds: number | null
  /** null: whoever asks, but for a session whoever asked, if the name of whoever decides is proven. */
  for: 'requester' | 'anyone' | null
}

/** See Ballot. `comment` is the name that was given beside a proven one. */
export type Voter = Pick<Ballot, 'by' | 'comment' | 'isProven' | 'isPersonal'>

export interface Decided {
  confirmation: Confirmation
  grant: Grant | null
}

export interface Executed {
  confirmation: Confirmation
  /** This was done before, with the same key. */
  isReplay: boolean
}

/** What an agent does with an approval. */
export interface Act {
  id: string
  /** The caller's Idempotency-Key, if there is one. */
  key: string | null
  caller: Caller
  via: Via
}

/** What tells one act from another. */
interface Deed {
  /** Of all that was sent; kept with the key. */
  fingerprint: string
  rule: (found: Confirmation, now: number) => Confirmation | Refusal
  /** Whether the first answer may be given again, now that it stands so. */
  isStill: (confirmation: Confirmation) => boolean
  /** Belongs into the record of an attempt that is refused. */
  about: Record<string, unknown>
}

export function createDecide({ store, present, grants, hide, counted, people, approvalMs, reportMs }: DecideDeps) {
  /** `isProven`: whoever does this has shown who they are, and does not live on everyone being let in. */
  function change<T>(
    id: string,
    isProven: boolean,
    rule: (found: Confirmation, now: number) => Attempt<T> | Promise<Attempt<T>>,
  ) {
    const attempt = async () => {
      const { found, now } = await present(() => store.confirmations.get(id), only)
      return found === undefined ? { answer: unknown(id) } : rule(counted(found), now)
    }
    return settle<T>(store, attempt, isProven ? undefined : people.isOpen)
  }

  function decide(id: string, decision: Decision): Promise<Decided | Refusal> {
    return change<Decided>(id, decision.voter.isProven, (found, now) => prepare(found, decision, now))
  }

  /** The same by a link, which is spent with it. */
  function decideByLink({ hash, confirmationId }: Link, decision: Decision): Promise<Decided | Refusal> {
    return change<Decided>(confirmationId, decision.voter.isProven, async (found, now) => {
      const attempt = await prepare(found, decision, now)
      if (isRefusal(attempt.answer) || attempt.change === undefined) return attempt
      const link = await store.links.get(hash)
      if (link === undefined || link.usedAt !== null) {
        const sentence = 'This link has been used, and a link is good for one decision.'
        return { answer: refuse('link_used', sentence, { status: 'pending' }) }
      }
      const record = { ...link, version: link.version + 1, usedAt: now }
      attempt.change.writes.push({ kind: 'link', expect: link.version, record })
      return attempt
    })
  }

  async function prepare(found: Confirmation, decision: Decision, now: number): Promise<Attempt<Decided>> {
    const { verdict, reason, typed, voter, via } = decision
    const remember = decision.remember === null ? null : remembered(found, decision.remember, voter, now)
    const confirmation = castVote(found, { verdict, reason, remember, typed, at: now, via, ...voter }, approvalMs)
    const about = { actor: voter.by, at: now, via, confirmationId: found.id }
    if (isRefusal(confirmation)) {
      const { action, digest } = found
      return { answer: confirmation, change: rejection(confirmation, about, { action, digest, verdict }) }
    }
    const change = replaceInTime(found, confirmation, audit.voted(confirmation, now), now)
    if (remember === null) return { change, answer: { confirmation, grant: null } }
    const sessionKey = remember.scope === 'session' ? found.sessionKey : null
    if (!found.terms.mayWhitelist) return refuseGrant(found.action, found.terms.risk, sessionKey, about)
    const { requester, isExact } = remember
    const details = isExact ? canonical(JSON.parse(found.details)) : null
    const scope = { action: found.action, sessionKey, requester, when: null, details }
    const { ttlSeconds } = decision.remember!
    const asked = { ...scope, ttlSeconds, maxUses: null, reason, by: voter.by, isProven: voter.isProven }
    const prepared = await grants.prepare(asked, now, via, found.id)
    if ('answer' in prepared) return prepared
    change.writes.push(...prepared.writes)
    change.events.push(audit.granted(prepared.record, now, via, found.id))
    return { change, answer: { confirmation, grant: prepared.record } }
  }

  function remembered(found: Confirmation, asked: Remember, { isProven }: Voter, now: number): Remembered {
    const { scope, ttlSeconds, isExact } = asked
    // Whoever proves their name is remembered for it: another who learns the session's is not.
    const whom = asked.for ?? (scope === 'session' && isProven ? 'requester' : 'anyone')
    const expiresAt = ttlSeconds === null ? null : now + ttlSeconds * 1000
    return { scope, requester: whom === 'requester' ? found.requester : null, expiresAt, isExact }
  }

  /** `by` is the name given for whoever withdraws it, which counts while nobody can prove theirs. */
  function cancel(
    id: string,
    by: string | null,
    reason: string | null,
    caller: Caller,
    via: Via,
  ): Promise<Decided | Refusal> {
    return own<Decided>(id, caller, via, (found, now) => {
      const who = caller.name ?? by ?? (found.requester.trim() || 'agent')
      const confirmation = resolve(found, { status: 'cancelled', by: who, at: now, via, reason }, approvalMs)
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change = replaceInTime(found, confirmation, audit.resolved(confirmation, now), now)
      return { change, answer: { confirmation, grant: null } }
    })
  }

  function claimOnce(act: Act, digest: string | null): Promise<Executed | Refusal> {
    return execute(act, {
      fingerprint: actFingerprint('claim', act.id, { digest }),
      rule: (found, now) => claim(found, digest, now, reportMs),
      // Whoever comes back after the act must not act again.
      isStill: ({ execution }) => execution?.state === 'claimed',
      about: digest === null ? {} : { presented_digest: digest },
    })
  }

  function reportOnce(act: Act, outcome: 'succeeded' | 'failed', message: string | null): Promise<Executed | Refusal> {
    return execute(act, {
      fingerprint: actFingerprint('report', act.id, { outcome, message }),
      rule: (found, now) => report(found, outcome, message, now),
      isStill: () => true,
      about: {},
    })
  }

  function execute({ id, key, caller, via }: Act, { fingerprint, rule, isStill, about }: Deed) {
    return own<Executed>(id, caller, via, async (found, now) => {
      const owner = keyOwner(found.requester, caller.role !== null)
      const keyed = key === null ? undefined : await store.idempotency.get(owner, key)
      if (keyed !== undefined) {
        if (keyed.fingerprint !== fingerprint) return { answer: keyReused(keyed.confirmationId) }
        // What was found may be from before the key. As long as it stands so, it is as it was answered.
        const { found: latest, now: at } = await present(() => store.confirmations.get(id), only)
        const confirmation = asOf(latest!, at)
        if (isStill(confirmation)) return { answer: { confirmation, isReplay: true } }
      }
      const confirmation = rule(found, now)
      if (isRefusal(confirmation)) {
        const { action, digest, requester: actor } = found
        const attempt = { actor, at: now, via, confirmationId: id }
        return { answer: confirmation, change: rejection(confirmation, attempt, { action, digest, ...about }) }
      }
      const change = replaceInTime(found, confirmation, audit.execution(confirmation, now, via), now)
      if (key !== null) {
        change.writes.push({
          kind: 'idempotency',
          record: { caller: owner, key, fingerprint, confirmationId: id, at: now },
        })
      }
      return { change, answer: { confirmation, isReplay: false } }
    })
  }

  /** What only whoever asked may do. */
  function own<T>(
    id: string,
    caller: Caller,
    via: Via,
    rule: (found: Confirmation, now: number) => Attempt<T> | Promise<Attempt<T>>,
  ) {
    return change<T>(id, caller.role !== null, (found, now) => {
      if (isOwn(caller, found)) return rule(found, now)
      if (!mayRead(caller, found)) return { answer: hide(id, caller, via) }
      const answer = refuse('not_yours', `Confirmation ${id} was submitted by somebody else; only they can do this.`)
      const attempt = { actor: caller.name!, at: now, via, confirmationId: id }
      return { answer, change: rejection(answer, attempt, {}) }
    })
  }

  return { decide, decideByLink, cancel, claim: claimOnce, report: reportOnce }
}
