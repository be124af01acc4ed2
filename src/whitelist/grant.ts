// A grant lets an action pass without asking: for everyone or for one session, whatever its details or only some. Does it
// cover this request now?
import { isVerified, textOf, type Voter } from '../core/actor.js'
import { canonical } from '../core/canonical.js'
import type { Submission } from '../core/model.js'
import { isHighRisk } from '../policy/risk.js'
import { meets } from '../policy/when.js'

/** One grant stands per scope; adding again sets its terms anew. */
export interface Scope {
  action: string
  /** null covers everyone. */
  sessionKey: string | null
  /** Whose requests it covers; null: everyone's. A session's name is no secret, so others could use it too. */
  requester: string | null
  /** Conditions on the details, as in the rules: canonical JSON text of an object; null: none. */
  when: string | null
  /** The details that a request must have, equal as a whole: canonical JSON text of an object; null: whichever. */
  details: string | null
}

/** So many grants at most may cover one request: each of them is looked at. */
export const maxAlike = 100
/** Longer details cannot be those of a grant: every listing of grants shows them. */
export const maxExactDetails = 10_000

export interface GrantTerms {
  expiresAt: number | null
  maxUses: number | null
  reason: string | null
  grantedBy: Voter
}

export interface Grant extends Scope, GrantTerms {
  id: string
  version: number
  uses: number
  createdAt: number
  /** When its terms were last set. What a session was given before it rotated covers nothing in it. */
  givenAt: number
  revokedAt: number | null
}

export function isLive(grant: Grant, now: number): boolean {
  return (
    grant.revokedAt === null &&
    (grant.expiresAt === null || now < grant.expiresAt) &&
    (grant.maxUses === null || grant.uses < grant.maxUses)
  )
}

/** The grant that covers this request, the narrower one first. High-risk actions are covered by none. */
export function findCover(
  grants: Grant[],
  request: Pick<Submission, 'action' | 'sessionKey' | 'requester' | 'details'>,
  now: number,
): Grant | undefined {
  if (grants.length === 0 || isHighRisk(request.action)) return undefined
  // They may be large, and few grants ask for them.
  let parsed: unknown
  const details = () => (parsed ??= JSON.parse(request.details) as unknown)
  const covering = grants.filter(
    (grant) =>
      grant.action === request.action &&
      (grant.requester === null || grant.requester === request.requester) &&
      (grant.sessionKey === null || (grant.sessionKey === request.sessionKey && request.sessionKey !== '')) &&
      isLive(grant, now) &&
      (grant.details === null || grant.details === canonical(details())) &&
      (grant.when === null || meets(details(), grant.when)),
  )
  return covering.sort((a, b) => narrowness(b) - narrowness(a))[0]
}

/** In which ways a grant is bound, the session before all else. */
function narrowness({ sessionKey, details, when, requester }: Grant): number {
  const bounds = [sessionKey, details, when, requester]
  return bounds.reduce((sum, bound, index) => sum + (bound === null ? 0 : 8 >> index), 0)
}

export function isSameScope(a: Scope, b: Scope): boolean {
  const isSameAction = a.action === b.action && a.sessionKey === b.sessionKey && a.requester === b.requester
  return isSameAction && a.when === b.when && a.details === b.details
}

/** A grant for this scope: a live one keeps its id and its uses and takes the new terms; else a fresh one stands. */
export function makeGrant(
  standing: Grant | undefined,
  scope: Scope,
  terms: GrantTerms,
  id: string,
  now: number,
): Grant {
  const version = (standing?.version ?? 0) + 1
  if (standing !== undefined && isLive(standing, now)) return { ...standing, ...terms, version, givenAt: now }
  return { ...scope, ...terms, id, version, uses: 0, createdAt: now, givenAt: now, revokedAt: null }
}

export function isSameTerms(a: GrantTerms, b: GrantTerms): boolean {
  const [one, other] = [a.grantedBy, b.grantedBy]
  const isSameGiver = textOf(one) === textOf(other) && isVerified(one) === isVerified(other)
  return isSameGiver && a.expiresAt === b.expiresAt && a.maxUses === b.maxUses && a.reason === b.reason
}
