// When the clock was set back while the service was down, what had ended by the latest time on record stays ended: keys and
// whitelist entries are recorded as ended. (Confirmations from the future are due, which the sweep records.) Sessions are not
// active, trusted or waiting ahead of the clock, or they would not come to an end, or get no trust, until it is there again.
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { system } from '../core/actor.js'
import { type Change, type Cursor, isCommitted, type Page, type Store } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'

const reason = 'it had ended before the clock was set back'

/** Once, at the start: in one process time never runs back. */
export async function keepEnded(store: Store, clock: Clock): Promise<void> {
  const now = clock.now()
  const latest = await store.events.lastTime()
  // A message may be later than all that is on record.
  const { items: ahead } = await store.sessions.list({ activeSince: now + 1 }, 1, null)
  if (now < latest || ahead.length > 0) await store.sessions.setBack(now)
  if (now >= latest) return
  const hadEnded = ({ expiresAt }: { expiresAt: number | null }) =>
    expiresAt !== null && now < expiresAt && expiresAt <= latest
  const keys = (await store.keys.list()).filter((key) => key.revokedAt === null && hadEnded(key))
  const grants = (await liveGrants(store, now)).filter((grant) => hadEnded(grant) || isUnclear(grant, now))
  const signature: audit.Signature = { actor: system('clock'), at: now, via: 'system' }
  // All at once: the first event after the setback is the latest time on record from then on.
  const [first, ...rest] = [
    ...keys.map((key) => audit.keyRevoked(key, signature, reason)),
    ...grants.map((grant) => audit.revoked(grant, signature)),
  ]
  if (first === undefined) return
  const ended = <T extends { version: number }>(one: T) => ({ ...one, version: one.version + 1, revokedAt: now })
  const change: Change = {
    writes: [
      ...keys.map((key) => ({ kind: 'key' as const, expect: key.version, record: ended(key) })),
      ...grants.map((grant) => ({ kind: 'grant' as const, expect: grant.version, record: ended(grant) })),
    ],
    events: [first, ...rest],
  }
  if (!isCommitted(await store.commit(change))) throw new Error('somebody else writes to the database')
}

/** A rotation ends it for one requester, by when it was given; and by this clock that is still to come. */
function isUnclear({ sessionKey, requester, givenAt }: Grant, now: number): boolean {
  return sessionKey !== null && requester === null && givenAt > now
}

/** The grants that stand at this time, all of them. */
export async function liveGrants(store: Store, now: number): Promise<Grant[]> {
  const found: Grant[] = []
  let place: Cursor | null = null
  do {
    const page: Page<Grant> = await store.grants.list(now, 500, place)
    found.push(...page.items)
    place = page.next
  } while (place !== null)
  return found
}
