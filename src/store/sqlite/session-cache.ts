// Sessions as the last commit left them that was told of, so that a submission need not read its own each time. It decides
// nothing: whoever counts in a session says in the commit which version it must have, and what was in conflict is read anew.
import type { Session } from '../../sessions/session.js'
import type { Counting } from '../store.js'

/** So many requesters, and sessions of each: agents choose the keys, and one's must not push out another's. */
const maxEach = 256

/** How a session stands once something was counted in it. */
export interface Standing {
  messages: number
  submissions: number
  repeats: number
}

export type SessionCache = ReturnType<typeof createSessionCache>

export function createSessionCache() {
  // Maps keep the order, so the first is the one that came first.
  const byRequester = new Map<string, Map<string, Session | null>>()

  function makeRoom(map: Map<string, unknown>): void {
    if (map.size < maxEach) return
    const [first] = map.keys()
    map.delete(first!)
  }

  return {
    /** Undefined: it is not known. Null: there is none. */
    get: (requester: string, key: string): Session | null | undefined => byRequester.get(requester)?.get(key),

    keep(requester: string, key: string, session: Session | null): void {
      let own = byRequester.get(requester)
      if (own === undefined) {
        makeRoom(byRequester)
        byRequester.set(requester, (own = new Map()))
      }
      if (!own.has(key)) makeRoom(own)
      own.set(key, session)
    },

    forget: (requester: string, key: string): void => void byRequester.get(requester)?.delete(key),

    forgetAll: (): void => byRequester.clear(),

    /** What is told may be older than what was read meanwhile: then it is soon told of that, too. */
    count({ requester, sessionKey, at, asks }: Counting, { messages, submissions, repeats }: Standing): void {
      const own = byRequester.get(requester)
      const known = own?.get(sessionKey)
      if (own === undefined || known?.run == null) return
      const last = asks.at(-1)
      const { id, createdAt, lastActiveAt } = known.run
      own.set(sessionKey, {
        requester,
        key: sessionKey,
        version: known.version,
        run: { id, createdAt, lastActiveAt: Math.max(lastActiveAt, at), messages, submissions },
        trustedFrom: known.trustedFrom,
        due: known.due,
        resetAt: known.resetAt,
        rotation: known.rotation,
        suspension: known.suspension,
        streak: known.streak,
        fixation: last === undefined ? known.fixation : { action: last.action, digest: last.digest, repeats },
      })
    },
  }
}
