// What is done to a confirmation: approved, denied, cancelled; claimed, reported. One path: find, pure rule, commit.
import type { Link } from '../access/link.js'
import type { OpenMode } from '../access/open-mode.js'
import { actorOf, type Caller, isOwn, mayRead } from '../access/role.js'
import type { Attempted } from '../audit/data.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { type Actor, isVerified, unknownActor, type Voter } from '../core/actor.js'
import { addComment, asOf, claim, report, resolve } from '../core/confirmation.js'
import { actFingerprint } from '../core/digest.js'
import { canonical } from '../core/canonical.js'
import type { Confirmation, DeliveryKey, Executed, Remembered, Verdict, Via, Vote } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { castVote } from '../core/vote.js'
import { bytesOfText } from '../core/weight.js'
import { queue } from '../notify/delivery.js'
import type { Change } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { charge } from './disk-share.js'
import type { CircuitBreaker } from './breaker.js'
import { suspended } from './gates.js'
import { type Grants, refuseGrant } from './grants.js'
import type { Hide } from './hide.js'
import { keyReused } from './idempotency.js'
import { only, type Present } from './present.js'
import {
  type Authority,
  authorityOf,
  type Desk,
  type Proposal,
  rejection,
  replaceInTime,
  settle,
  unknown,
} from './settle.js'

export interface DecideDeps {
  desk: Desk
  clock: Clock
  present: Present
  grants: Grants
  breaker: CircuitBreaker
  hide: Hide
  openMode: Pick<OpenMode, 'counted' | 'isOpen'>
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
  approver: Approver
  /** A message that asks why goes out with a denial; absent or null: none. */
  askWhy?: Pick<DeliveryKey, 'channel' | 'destination' | 'occasion'> | null
  authority: Authority
  via: Via
}

/** A whitelist entry to go with an approval. */
export interface Remember extends Pick<Remembered, 'scope' | 'isExact'> {
  /** null: until it is revoked. */
  ttlSeconds: number | null
  /** null: for anyone, but for a session for the requester, if the approver is verified. */
  for: 'requester' | 'anyone' | null
}

/** `comment` is the name that was given beside a verified one. */
export type Approver = Pick<Vote, 'by' | 'comment'>

export interface Decided {
  confirmation: Confirmation
  grant: Grant | null
}

export interface Acted {
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
  /** By which the requester knows what it claims, to report it by that; absent or null: by the confirmation's id alone. */
  name?: string | null
}

/** What tells one act from another. */
interface Deed {
  /** Of all that was sent; kept with the key. */
  fingerprint: string
  rule: (found: Confirmation, now: number) => Executed | Refusal
  /** Whether the first answer may be given again, now that it stands so. */
  isStill: (confirmation: Confirmation) => boolean
  /** Not from a session that is suspended. */
  needsSession: boolean
  /** Belongs into the record of an attempt that is refused. */
  about: Pick<Attempted, 'presented_digest'>
  /** What the requester says about it. */
  message: string | null
}

export function createDecide(deps: DecideDeps) {
  const { desk, clock, present, grants, breaker, hide, openMode, approvalMs, reportMs } = deps
  const { store } = desk

  function change<T>(
    id: string,
    authority: Authority,
    rule: (found: Confirmation, now: number) => Proposal<T> | Promise<Proposal<T>>,
  ) {
    const propose = async () => {
      const { found, now } = await present(() => store.confirmations.get(id), only)
      if (found === undefined) return { answer: unknown(id) }
      const restsOnOpenMode = openMode.isOpen() && !found.votes.every(({ by }) => isVerified(by))
      const proposal = await rule(openMode.counted(found), now)
      if (restsOnOpenMode) proposal.change?.requires?.push({ kind: 'no_keys' })
      return proposal
    }
    return settle<T>(desk, authority, propose)
  }

  function decide(id: string, decision: Decision): Promise<Decided | Refusal> {
    return change<Decided>(id, decision.authority, (found, now) => prepare(found, decision, now))
  }

  /** The same by a link, which is spent with it. */
  function decideByLink({ hash, confirmationId }: Link, decision: Decision): Promise<Decided | Refusal> {
    return change<Decided>(confirmationId, decision.authority, async (found, now) => {
      const proposal = await prepare(found, decision, now)
      if (isRefusal(proposal.answer) || proposal.change === undefined) return proposal
      const link = await store.links.get(hash)
      if (link === undefined || link.usedAt !== null) {
        proposal.release?.(false)
        const sentence = 'This link has been used, and a link is good for one decision.'
        return { answer: refuse('link_used', sentence, { status: 'pending' }) }
      }
      const record = { ...link, version: link.version + 1, usedAt: now }
      proposal.change.writes.push({ kind: 'link', expect: link.version, record })
      return proposal
    })
  }

  /** What somebody who decided it says afterwards. It changes nothing of what stands. */
  function comment(id: string, text: string, by: Voter, via: Via): Promise<Decided | Refusal> {
    return change<Decided>(id, null, (found, now) => {
      const said = { by, text, at: now, via }
      const confirmation = addComment(found, said)
      if (confirmation === null) return { answer: { confirmation: found, grant: null } }
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change = replaceInTime(found, confirmation, audit.commented(confirmation, said), now)
      return { change, answer: { confirmation, grant: null } }
    })
  }

  /** A card of it, for somebody who asks for one in a chat: once for each occasion. */
  async function askFor(key: DeliveryKey, by: Actor, via: Via): Promise<Decided | Refusal> {
    const found = await store.confirmations.get(key.subjectId)
    if (found === undefined) return unknown(key.subjectId)
    const now = clock.now()
    const { channel, destination, occasion } = key
    const record = queue(found, channel, destination, now, occasion)
    // Asked again, as an update may be that was heard twice, it is on its way already.
    await store.commit({
      writes: [{ kind: 'delivery', expect: 'absent', record }],
      events: [audit.askedFor(found, { actor: by, at: now, via })],
    })
    return { confirmation: found, grant: null }
  }

  async function prepare(found: Confirmation, decision: Decision, now: number): Promise<Proposal<Decided>> {
    const { verdict, reason, typed, via, askWhy = null } = decision
    const { by, comment } = decision.approver
    const remember = decision.remember === null ? null : remembered(found, decision.remember, by, now)
    const vote = { verdict, by, at: now, via, reason, comment, remember }
    const confirmation = castVote(found, { ...vote, typed }, approvalMs)
    const about = { actor: by, at: now, via, confirmationId: found.id }
    if (isRefusal(confirmation)) {
      const { action, digest } = found
      return { answer: confirmation, rejected: rejection(confirmation, about, { action, digest, verdict }) }
    }
    const change = replaceInTime(found, confirmation, audit.voted(confirmation, vote, now), now)
    if (askWhy !== null) {
      const { channel, destination, occasion } = askWhy
      const record = queue(found, channel, destination, now, occasion)
      change.writes.push({ kind: 'delivery', expect: 'absent', record })
    }
    if (decision.remember === null || remember === null)
      return following({ change, answer: { confirmation, grant: null } }, confirmation, now)
    const sessionKey = remember.scope === 'session' ? found.sessionKey : null
    if (!found.terms.mayWhitelist) return refuseGrant(found.action, found.terms.risk, sessionKey, about)
    const { requester, isExact } = remember
    const details = isExact ? canonical(JSON.parse(found.details)) : null
    const scope = { action: found.action, sessionKey, requester, when: null, details }
    const { ttlSeconds } = decision.remember
    const asked = { ...scope, ttlSeconds, maxUses: null, reason, by, authority: decision.authority }
    const prepared = await grants.prepare(asked, now, via, found.id)
    if ('answer' in prepared) return prepared
    change.writes.push(...prepared.writes)
    change.events.push(audit.granted(prepared.record, now, via, found.id))
    return following({ change, answer: { confirmation, grant: prepared.record } }, confirmation, now)
  }

  /** With what it does to the streaks of its session and its requester. */
  async function following<T>(
    proposal: Proposal<T> & { change: Change },
    confirmation: Confirmation,
    now: number,
  ): Promise<Proposal<T>> {
    const { writes, events, release } = await breaker.after(confirmation, now)
    proposal.change.writes.push(...writes)
    proposal.change.events.push(...events)
    return { ...proposal, release }
  }

  function remembered(found: Confirmation, asked: Remember, by: Actor, now: number): Remembered {
    const { scope, ttlSeconds, isExact } = asked
    // A session's name is no secret: another agent that learns it is not covered.
    const whom = asked.for ?? (scope === 'session' && isVerified(by) ? 'requester' : 'anyone')
    const expiresAt = ttlSeconds === null ? null : now + ttlSeconds * 1000
    return { scope, requester: whom === 'requester' ? found.requester : null, expiresAt, isExact }
  }

  /** `given` is the name that was given for the caller, which counts in open mode. */
  function cancel(
    id: string,
    given: string | null,
    reason: string | null,
    caller: Caller,
    via: Via,
  ): Promise<Decided | Refusal> {
    return own<Decided>(id, caller, via, (found, now) => {
      const by = actorOf(caller, given ?? (found.requester.trim() || 'agent'))
      const confirmation = resolve(found, 'cancelled', { by, at: now, via, reason }, approvalMs)
      if (isRefusal(confirmation)) return { answer: confirmation }
      const change = replaceInTime(found, confirmation, audit.cancelled(confirmation, now), now)
      return { change: charging(change, found, reason), answer: { confirmation, grant: null } }
    })
  }

  function claimOnce(act: Act, digest: string | null): Promise<Acted | Refusal> {
    return execute(act, {
      fingerprint: actFingerprint('claim', act.id, { digest }),
      rule: (found, now) => claim(found, digest, now, reportMs),
      // A requester that comes back after the act must not act again.
      isStill: ({ execution }) => execution?.state === 'claimed',
      needsSession: true,
      about: digest === null ? {} : { presented_digest: digest },
      message: null,
    })
  }

  function reportOnce(act: Act, outcome: 'succeeded' | 'failed', message: string | null): Promise<Acted | Refusal> {
    return execute(act, {
      fingerprint: actFingerprint('report', act.id, { outcome, message }),
      rule: (found, now) => report(found, outcome, message, now),
      isStill: () => true,
      needsSession: false,
      about: {},
      message,
    })
  }

  function execute(
    { id, key, caller, via, name = null }: Act,
    { fingerprint, rule, isStill, needsSession, about, message }: Deed,
  ) {
    return own<Acted>(id, caller, via, async (found, now) => {
      const actor = actorOf(caller, found.requester)
      const { action, digest, share, sessionKey } = found
      const no = (refusal: Refusal): Proposal<Acted> => {
        const attempt = { actor, at: now, via, confirmationId: id }
        return { answer: refusal, rejected: rejection(refusal, attempt, { action, digest, ...about }) }
      }
      const session = needsSession && sessionKey !== '' ? await store.sessions.get(share, sessionKey) : undefined
      if (session?.suspension != null) return no(suspended(session.suspension))
      const sent = key === null ? undefined : await store.idempotency.get(actor, key)
      if (sent !== undefined) {
        if (sent.fingerprint !== fingerprint) return { answer: keyReused(sent.confirmationId) }
        // What was found may be from before the key. As long as it stands so, it is as it was answered.
        const { found: latest, now: at } = await present(() => store.confirmations.get(id), only)
        const confirmation = asOf(latest!, at)
        if (isStill(confirmation)) return { answer: { confirmation, isReplay: true } }
      }
      const confirmation = rule(found, now)
      if (isRefusal(confirmation)) return no(confirmation)
      const executed = replaceInTime(found, confirmation, audit.executed(confirmation, { actor, at: now, via }), now)
      const change = charging(executed, found, message, key)
      if (needsSession && sessionKey !== '') {
        change.requires = [...(change.requires ?? []), { kind: 'not_suspended', requester: share, sessionKey }]
      }
      if (key !== null) {
        change.writes.push({
          kind: 'idempotency',
          record: { caller: actor, key, fingerprint, confirmationId: id, result: null, at: now },
        })
      }
      if (name !== null) {
        const before = await store.namedActs.get(actor, name)
        const version = (before?.version ?? 0) + 1
        const record = { requester: actor, name, version, confirmationId: id, at: now }
        change.writes.push({ kind: 'named_act', expect: before?.version ?? 'absent', record })
      }
      return { change, answer: { confirmation, isReplay: false } }
    })
  }

  /** For which confirmation the act of this name was claimed last; null: none was. */
  async function claimedAs(name: string, requester: Actor): Promise<string | null> {
    return (await store.namedActs.get(requester, name))?.confirmationId ?? null
  }

  /** What only the requester may do. */
  function own<T>(
    id: string,
    caller: Caller,
    via: Via,
    rule: (found: Confirmation, now: number) => Proposal<T> | Promise<Proposal<T>>,
  ) {
    return change<T>(id, authorityOf(caller), (found, now) => {
      if (isOwn(caller, found)) return rule(found, now)
      if (!mayRead(caller, found)) return { answer: hide(id, caller, via) }
      const answer = refuse('not_yours', `Confirmation ${id} was submitted by somebody else; only they can do this.`)
      const attempt = { actor: caller.actor ?? unknownActor, at: now, via, confirmationId: id }
      return { answer, rejected: rejection(answer, attempt, {}) }
    })
  }

  return { decide, decideByLink, comment, askFor, cancel, claim: claimOnce, report: reportOnce, claimedAs }
}

/** The texts that a requester adds count as written by it. */
function charging(change: Change, { share }: Confirmation, ...texts: (string | null)[]): Change {
  const bytes = texts.reduce((sum, text) => sum + (text === null ? 0 : bytesOfText(text)), 0)
  return bytes === 0 ? change : { ...change, requires: [...(change.requires ?? []), charge(share, bytes)] }
}
