// Who is signed in on the pages, as long as the key is good that they came with. In memory: a restart signs out. A session is
// a place in the paths and a cookie for that place alone, because cookies by themselves go to every port of a host.
import { hashSecret } from '../access/key.js'
import type { KeyHolder } from '../access/role.js'
import type { Service } from '../service/service.js'

const lifeMs = 12 * 3600 * 1000
/** More than there are people; the oldest give way. */
const maxSessions = 10_000

export function createSessions(service: Service, chance: () => string) {
  const sessions = new Map<string, { secretHash: string; keyId: string; endsAt: number }>()

  return {
    /** A new session: where it is, and the secret for its cookie. */
    start(keyId: string): { place: string; secret: string } {
      const [oldest] = sessions.keys()
      if (sessions.size >= maxSessions) sessions.delete(oldest!)
      const [place, secret] = [chance().slice(0, 64), chance().slice(0, 64)]
      const session = { secretHash: hashSecret(secret), keyId, endsAt: service.now() + lifeMs }
      sessions.set(hashSecret(place), session)
      return { place, secret }
    },

    holderOf(place: string, secret: string): KeyHolder | null {
      const session = sessions.get(hashSecret(place))
      if (session === undefined || service.now() >= session.endsAt) return null
      // Hashes of secrets nobody can choose: how far they agree tells nothing.
      return session.secretHash === hashSecret(secret) ? service.people.holderOfKey(session.keyId) : null
    },

    end: (place: string) => void sessions.delete(hashSecret(place)),
  }
}
