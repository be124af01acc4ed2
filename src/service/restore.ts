// What a backup must not bring back: all that could still let something pass that was ended, suspended, or answered otherwise,
// after it was made.
import { type Key, stateOf } from '../access/key.js'
import type { EventData } from '../audit/data.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { endUnfinished } from '../core/confirmation.js'
import type { Confirmation } from '../core/model.js'
import { unknownSession } from '../sessions/session.js'
import type { Copy, Found, Kept, Replaced, Stopped } from '../store/sqlite/restore.js'
import { type Change, isCommitted, type Store } from '../store/store.js'
import type { Grant } from '../whitelist/grant.js'
import { createBudget } from './budget.js'
import { createPeople, type MadeKey } from './people.js'
import { writeOf } from './runs.js'
import { liveGrants } from './setback.js'
import { replace } from './settle.js'

export interface Ended {
  /** As it is on record. */
  data: EventData['restored']
  /** The key of an administrator, where no other is left. */
  made: MadeKey | null
}

const reason = 'the database was restored from a backup'
const batch = 500

export async function endAll(copy: Copy, replaced: Replaced, clock: Clock, chance: () => string): Promise<Ended> {
  const now = clock.now()
  const lost = copy.keys.filter((key) => key.revokedAt === null && !isStillGood(key, replaced, now))
  const dataOf = (found: Found & Kept): EventData['restored'] => ({
    backup_last_seq: copy.lastSeq,
    replaced_last_seq: replaced.lastSeq,
    requests_ended: found.pending,
    approvals_lapsed: found.unclaimed,
    grants_revoked: found.grants,
    links_ended: found.links,
    messages_dropped: found.unsent,
    keys_revoked: lost.map(({ id }) => id),
    sessions_suspended: found.suspended,
    streaks_kept: found.streaks,
  })
  const found = copy.begin((found) => audit.restored(now, dataOf(found)))
  const store = copy.open()
  try {
    await endConfirmations(store, now)
    // Also what is over by now: the clock may be set back.
    const grants = await liveGrants(store, 0)
    await Promise.all([
      ...grants.map((grant) => commit(store, endGrant(grant, now))),
      ...lost.map((key) => commit(store, endKey(key, now))),
    ])
    await Promise.all(replaced.sessions.map((one) => keepSuspended(store, one, now)))
    await store.sessions.setBack(now)
    const people = createPeople({ store, budget: createBudget(store, clock) }, clock, chance, false, () => {})
    await people.start()
    const isClosed = replaced.hadKeys || people.hasKeys()
    const isShut = isClosed && !people.keys().some((key) => stateOf(key, now) === 'live')
    const made = isShut ? await people.addAdmin({ actor: audit.restorer, via: 'system' }) : null
    return { data: dataOf(found), made }
  } finally {
    await store.close()
  }
}

/** Only if the replaced database says so. A key whose place was taken since is as good as revoked. */
function isStillGood({ id, replacedBy }: Key, { keys, lastTime }: Replaced, now: number): boolean {
  const key = keys?.find((one) => one.id === id)
  return key !== undefined && key.replacedBy === replacedBy && stateOf(key, Math.max(now, lastTime)) === 'live'
}

async function endConfirmations(store: Store, now: number): Promise<void> {
  for (;;) {
    // Whatever time could still change.
    const { items: unfinished } = await store.confirmations.due(Number.MAX_SAFE_INTEGER, batch)
    if (unfinished.length === 0) break
    await Promise.all(unfinished.map((one) => commit(store, end(one, now))))
  }
  const { unclaimed, claimed } = await store.confirmations.countExecutions()
  if (unclaimed + claimed > 0 || (await store.confirmations.nextDue()) !== undefined)
    throw new Error('not everything was ended')
}

function end(found: Confirmation, now: number): Change {
  const record = endUnfinished(found, audit.restorer, reason, now)
  if (record === null) throw new Error(`${found.id} is due and has nothing to end`)
  return replace(found, record, audit.overdue(record, now, audit.restorer), now)
}

function endGrant(grant: Grant, now: number): Change {
  const record = { ...grant, version: grant.version + 1, revokedAt: now }
  return {
    writes: [{ kind: 'grant', expect: grant.version, record }],
    events: [audit.revoked(grant, signature(now))],
  }
}

function endKey(key: Key, now: number): Change {
  const record = { ...key, version: key.version + 1, revokedAt: now }
  return {
    writes: [{ kind: 'key', expect: key.version, record }],
    events: [audit.keyRevoked(record, signature(now), reason)],
  }
}

/** Nothing lifts a suspension by itself. Of a session that the backup does not know, its run is there to be found. */
async function keepSuspended(store: Store, { requester, key, run, suspension }: Stopped, now: number): Promise<void> {
  if (suspension === null) return
  const found = (await store.sessions.get(requester, key)) ?? unknownSession(requester, key)
  if (found.suspension !== null) return
  const record = { ...found, version: found.version + 1, run: found.run ?? run, suspension }
  const events: Change['events'] = [audit.sessionSuspended(record, null, signature(now))]
  await commit(store, { writes: [writeOf(found, record)], events })
}

function signature(at: number): audit.Signature {
  return { actor: audit.restorer, at, via: 'system' }
}

async function commit(store: Store, change: Change): Promise<void> {
  if (!isCommitted(await store.commit(change))) throw new Error('somebody else writes to the copy')
}
