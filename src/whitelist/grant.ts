// A grant lets an action pass without asking: for everyone, or for one session. Does it cover this request now?
import type { Submission } from '../core/model.js'
import { isHighRisk } from '../policy/risk.js'

/** One grant stands per scope; adding again sets its terms anew. */
export interface Scope {
  action: string
  /** null covers everyone. */
  sessionKey: string | null
  /** Whose requests it covers; null: whoever asks. A session's name is no secret, so others could use it too. */
  requester: string | null
}

export interface Terms {
  expiresAt: number | null
  maxUses: number | null
  reason: string | null
  grantedBy: string
  /** That name is proven. What was given while everyone was let in is not, and counts for as long as they are. */
  isProven: boolean
}

export interface Grant extends Scope, Terms {
  id: string
  version: number
  uses: number
  createdAt: number
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
  request: Pick<Submission, 'action' | 'sessionKey' | 'requester'>,
  now: number,
): Grant | undefined {
  if (grants.length === 0 || isHighRisk(request.action)) return undefined
  const covering = grants.filter(
    (grant) =>
      grant.action === request.action &&
      (grant.requester === null || grant.requester === request.requester) &&
      (grant.sessionKey === null || (grant.sessionKey === request.sessionKey && request.sessionKey !== '')) &&
      isLive(grant, now),
  )
  return covering.find((grant) => grant.sessionKey !== null) ?? covering[0]
}

/** A grant for this scope: a live one keeps its id and its uses and takes the new terms; else a fresh one stands. */
export function makeGrant(standing: Grant | undefined, scope: Scope, terms: Terms, id: string, now: number): Grant {
  const version = (standing?.version ?? 0) + 1
  if (standing !== undefined && isLive(standing, now)) return { ...standing, ...terms, version }
  return { ...scope, ...terms, id, version, uses: 0, createdAt: now, revokedAt: null }
}

export function isSameTerms(a: Terms, b: Terms): boolean {
  const isSameGiver = a.grantedBy === b.grantedBy && a.isProven === b.isProven
  return isSameGiver && a.expiresAt === b.expiresAt && a.maxUses === b.maxUses && a.reason === b.reason
}
