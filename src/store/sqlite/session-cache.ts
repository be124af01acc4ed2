// Sessions as the last commit left them that was told of, so that a submission need not read its own each time. It decides
// nothing: whoever counts in a session says in the commit which version it must have, and what was in conflict is read anew.
import type { Session } from '../../sessions/session.js'
import type { Counting } from '../store.js'

/** How a session stands once something was counted in it. */
export interface Standing {
  messages: number
  submissions: number
  repeats: number
}

export type SessionCache = ReturnType<typeof createSessionCache>

/** Agents choose the keys: those of one requester must not push out another's. */
export function createSessionCache({ most, mostEach } = { most: 20_000, mostEach: 500 }) {
  // Maps keep the order, so the first is the one that came first.
  const byRequester = new Map<string, Map<string, Session | null>>()
  let size = 0

  function forget(requester: string, key: string): void {
    const own = byRequester.get(requester)
    if (own?.delete(key) !== true) return
    size -= 1
    if (own.size === 0) byRequester.delete(requester)
  }

  /** Of the requester who has too many, or of the one who came first. */
  function makeRoom(requester: string): void {
    const own = byRequester.get(requester)
    const [whose] = own !== undefined && own.size >= mostEach ? [requester] : byRequester.keys()
    const [key] = byRequester.get(whose!)!.keys()
    forget(whose!, key!)
  }

  return {
    /** Undefined: it is not known. Null: there is none. */
    get: (requester: string, key: string): Session | null | undefined => byRequester.get(requester)?.get(key),

    keep(requester: string, key: string, session: Session | null): void {
      const isNew = byRequester.get(requester)?.has(key) !== true
      if (isNew && (size >= most || (byRequester.get(requester)?.size ?? 0) >= mostEach)) makeRoom(requester)
      const own = byRequester.get(requester) ?? new Map<string, Session | null>()
      byRequester.set(requester, own)
      own.set(key, session)
      if (isNew) size += 1
    },

    forget,

    forgetAll(): void {
      byRequester.clear()
      size = 0
    },

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
