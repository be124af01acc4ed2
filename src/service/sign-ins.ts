// Browsers that are signed in with a key, as long as the key is good.
import { hashSecret } from '../access/key.js'
import type { KeyHolder } from '../access/role.js'
import { isGood, signInMs } from '../access/sign-in.js'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'
import type { People } from './people.js'

/** More browsers than one person has; the oldest give way. */
const maxPerKey = 100

export type SignIns = ReturnType<typeof createSignIns>

/** `chance` gives 256 bits and more as hexadecimal digits. */
export function createSignIns(
  store: Pick<Store, 'signIns'>,
  clock: Clock,
  chance: () => string,
  people: Pick<People, 'holderOfKey'>,
) {
  const process = chance().slice(0, 64)
  const markOf = (isSecure: boolean) => (isSecure ? null : process)

  return {
    /** A new one: its place in the paths, and the secret for its cookie. `isSecure`: it came by https. */
    async add(keyId: string, isSecure: boolean): Promise<{ place: string; secret: string }> {
      const [place, secret] = [chance().slice(0, 64), chance().slice(0, 64)]
      const createdAt = clock.now()
      const record = {
        placeHash: hashSecret(place),
        secretHash: hashSecret(secret),
        keyId,
        createdAt,
        endsAt: createdAt + signInMs,
        process: markOf(isSecure),
      }
      await store.signIns.add(record, maxPerKey)
      return { place, secret }
    },

    async holderOf(place: string, secret: string, isSecure: boolean): Promise<KeyHolder | null> {
      const found = await store.signIns.get(hashSecret(place))
      if (found === undefined || !isGood(found, hashSecret(secret), markOf(isSecure), clock.now())) return null
      return people.holderOfKey(found.keyId)
    },

    /** A place stands in URLs, so it takes the secret as well. */
    async end(place: string, secret: string): Promise<void> {
      const found = await store.signIns.get(hashSecret(place))
      if (found?.secretHash === hashSecret(secret)) await store.signIns.remove(found.placeHash)
    },
  }
}
