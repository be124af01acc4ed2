// Whitelist entries: given, set anew, revoked. High-risk actions get none, and who tried is on record.
import type { OpenMode } from '../access/open-mode.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import type { Voter } from '../core/actor.js'
import type { Risk, Via } from '../core/model.js'
import { type Refusal, refuse } from '../core/refusal.js'
import { isPlain, oddOneOf } from '../policy/name.js'
import { isHighRisk } from '../policy/risk.js'
import type { Policy } from '../policy/policy.js'
import type { Change, Write } from '../store/store.js'
import {
  type Grant,
  isSameScope,
  isSameTerms,
  makeGrant,
  maxAlike,
  maxExactDetails,
  type Scope,
} from '../whitelist/grant.js'
import { maxSessionGrants } from './runs.js'
import { type Authority, type Desk, type Proposal, rejection, settle } from './settle.js'

export interface GrantRequest extends Scope {
  ttlSeconds: number | null
  maxUses: number | null
  reason: string | null
  by: Voter
  authority: Authority
}

/** A grant that may be given: what to write, and the one that stood. */
interface Prepared {
  record: Grant
  standing: Grant | undefined
  writes: Write[]
}

export type Grants = ReturnType<typeof createGrants>

export function createGrants(
  desk: Desk,
  clock: Clock,
  newId: () => string,
  policy: () => Policy,
  openMode: Pick<OpenMode, 'isOpen' | 'doesCount'>,
) {
  const { store } = desk

  /** Adds a grant, or sets the terms of the one that stands; `created` tells which. */
  function grant(asked: GrantRequest, via: Via): Promise<{ grant: Grant; created: boolean } | Refusal> {
    const propose = async () => {
      const now = clock.now()
      const prepared = await prepare(asked, now, via, null)
      if ('answer' in prepared) return prepared
      const { record, standing, writes } = prepared
      const answer = { grant: record, created: record.id !== standing?.id }
      // Given again, one for a session counts from now on: a rotation may have ended what was given before.
      const isSame = standing !== undefined && asked.sessionKey === null && isSameTerms(standing, record)
      if (isSame && !answer.created) return { answer }
      return { answer, change: { writes, events: [audit.granted(record, now, via)] } satisfies Change }
    }
    return settle<{ grant: Grant; created: boolean }>(desk, asked.authority, propose)
  }

  async function revoke(id: string, by: Voter, authority: Authority, via: Via): Promise<{ grant: Grant } | Refusal> {
    const propose = async (): Promise<Proposal<{ grant: Grant }>> => {
      const standing = await store.grants.get(id)
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
          events: [audit.revoked(standing, { actor: by, at: now, via })],
        },
        answer: { grant: record },
      }
    }
    return settle<{ grant: Grant }>(desk, authority, propose)
  }

  /** What giving it would write, or the attempt that ends in a refusal. */
  async function prepare(
    asked: GrantRequest,
    now: number,
    via: Via,
    confirmationId: string | null,
  ): Promise<Prepared | Proposal<never>> {
    const { action, sessionKey, requester, when, details, reason, by } = asked
    if (!policy().mayWhitelist(action)) {
      const risk = isHighRisk(action) ? 'high' : 'normal'
      return refuseGrant(action, risk, sessionKey, { actor: by, at: now, via, confirmationId })
    }
    if (sessionKey === '') {
      const sentence = "There is no session_key to remember this for; use 'global' or submit with a session_key."
      return { answer: refuse('no_session', sentence) }
    }
    if (requester === '') {
      const sentence =
        'The requester gave no name to remember this for; let it pass for anyone, or submit with a requester.'
      return { answer: refuse('no_requester', sentence) }
    }
    if (details !== null && details.length > maxExactDetails) {
      const sentence = `The details are longer than ${maxExactDetails} characters: no whitelist entry can be for exactly these. Nothing was done.`
      return { answer: refuse('details_too_long', sentence) }
    }
    const scope = { action, sessionKey, requester, when, details }
    const standing = await store.grants.ofScope(scope)
    const live = await store.grants.covering(action, sessionKey ?? '', details, now)
    const alike = live.filter((one) => one.sessionKey === sessionKey && one.details === details && doesCount(one))
    if (alike.length >= maxAlike && !alike.some((one) => isSameScope(one, scope))) {
      const sentence = `There are ${alike.length} entries for '${action}' that differ in nothing but requester and conditions, which is as many as may be. Revoke one; GET /whitelist lists them.`
      // In a 409 the status is the state that stands.
      return { answer: refuse('whitelist_full', sentence, confirmationId === null ? {} : { status: 'pending' }) }
    }
    const inSession = sessionKey === null ? [] : await store.grants.ofSession(sessionKey, now, maxSessionGrants)
    if (inSession.length >= maxSessionGrants && !inSession.some((one) => isSameScope(one, scope))) {
      const sentence = `There are ${inSession.length} entries for this session, which is as many as may be. Revoke one; GET /whitelist lists them.`
      return { answer: refuse('whitelist_full', sentence, confirmationId === null ? {} : { status: 'pending' }) }
    }
    const isOver = standing !== undefined && !doesCount(standing)
    const stood = isOver ? { ...standing, revokedAt: now } : standing
    const expiresAt = asked.ttlSeconds === null ? null : now + asked.ttlSeconds * 1000
    const terms = { expiresAt, maxUses: asked.maxUses, reason, grantedBy: by }
    const record = makeGrant(stood, scope, terms, newId(), now)
    return { record, standing: stood, writes: [{ kind: 'grant', expect: standing?.version ?? 'absent', record }] }
  }

  function doesCount({ grantedBy }: Grant): boolean {
    return openMode.doesCount(grantedBy)
  }

  return { grant, revoke, prepare, doesCount }
}

/** No entry for what always needs a person, or that its rule keeps from being whitelisted. */
export function refuseGrant(
  action: string,
  risk: Risk,
  sessionKey: string | null,
  attempt: Parameters<typeof rejection>[1],
): Proposal<never> {
  const why = isPlain(action) ? 'is a high-risk action' : `has ${oddOneOf(action)} in it and so counts as high-risk`
  const answer =
    risk === 'high'
      ? refuse('high_risk', `'${action}' ${why}: it always needs a person and cannot be whitelisted.`)
      : refuse('not_whitelistable', `The rules do not let '${action}' be whitelisted: it needs a person every time.`)
  return { answer, rejected: rejection(answer, attempt, { action, session_key: sessionKey }) }
}
