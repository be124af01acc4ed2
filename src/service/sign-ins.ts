// Browsers that are signed in with a key, as long as the key is good.
import { hashSecret, type Key, stateOf } from '../access/key.js'
import { holderActor, type KeyHolder, may } from '../access/role.js'
import { isGood, type SignInLink, signInLinkMs, signInMs } from '../access/sign-in.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import type { By, People } from './people.js'
import { type Desk, settle } from './settle.js'

/** More browsers than one person has; the oldest give way. */
const maxPerKey = 100

export type SignIns = ReturnType<typeof createSignIns>

/** A link to sign in with a key, and whose that is. */
export interface FoundLink {
  link: SignInLink
  key: Key
}

const another = 'Ask for another one, or sign in with a key.'

/** `chance` gives 256 bits and more as hexadecimal digits. `noteUse` is told of each key that is used by one. */
export function createSignIns(
  desk: Desk,
  clock: Clock,
  chance: () => string,
  people: Pick<People, 'holderOfKey' | 'keys'>,
  noteUse: (keyId: string) => void,
) {
  const { store } = desk
  const process = chance().slice(0, 64)
  const markOf = (isSecure: boolean) => (isSecure ? null : process)

  const findKey = (id: string) => people.keys().find((key) => key.id === id)

  /** As long as it is good; else why it is not. */
  async function findLink(token: string): Promise<FoundLink | Refusal> {
    const link = await store.signInLinks.get(hashSecret(token))
    const key = link === undefined ? undefined : findKey(link.keyId)
    if (link === undefined || key === undefined) {
      return refuse('unauthorized', `There is no such link to sign in. ${another}`)
    }
    const now = clock.now()
    if (link.usedAt !== null) return refuse('unauthorized', `This link has been used, and it is good once. ${another}`)
    if (now < link.createdAt || now >= link.endsAt || link.process !== process) {
      const sentence = 'This link is over: it is good for five minutes, and as long as the service runs.'
      return refuse('unauthorized', `${sentence} ${another}`)
    }
    if (people.holderOfKey(key.id) === null) {
      return refuse('unauthorized', `The key that this link is for is no longer good. ${another}`)
    }
    return { link, key }
  }

  return {
    findLink,

    /** For those who ask not why there is none. */
    async findGoodLink(token: string): Promise<SignInLink | undefined> {
      const found = await findLink(token)
      return isRefusal(found) ? undefined : found.link
    },

    /** A link to sign in with this key, which must be a person's. Its token is told once it is on disk. */
    makeLink(keyId: string, by: By): Promise<(FoundLink & { token: string }) | Refusal> {
      return settle<FoundLink & { token: string }>(desk, by.authority ?? null, async () => {
        const now = clock.now()
        const key = findKey(keyId)
        if (key === undefined) return { answer: refuse('not_found', `There is no key ${keyId}.`) }
        if (!may(key, 'survey')) {
          const sentence = `The key ${keyId} is an agent's, and the pages are for people: it signs nobody in.`
          return { answer: refuse('forbidden', sentence) }
        }
        const state = stateOf(key, now)
        const ended = refuse('key_not_live', `The key ${keyId} is ${state}; a link to sign in takes one that is good.`)
        if (state !== 'live') return { answer: ended }
        const token = Buffer.from(chance().slice(0, 64), 'hex').toString('base64url')
        const hash = hashSecret(token)
        const link = { hash, version: 1, keyId, createdAt: now, endsAt: now + signInLinkMs, usedAt: null, process }
        return {
          answer: { token, link, key },
          change: {
            writes: [{ kind: 'sign_in_link', expect: 'absent', record: link }],
            events: [audit.signInLinked(key, link, { actor: by.actor, via: by.via, at: now })],
            requires: [{ kind: 'key_live', keyId }],
          },
        }
      })
    },

    /** Spends the link, of many at once for one. Answers whose key it is. */
    async useLink(token: string): Promise<{ key: Key } | Refusal> {
      const used = await settle<{ key: Key }>(desk, null, async () => {
        const found = await findLink(token)
        if (isRefusal(found)) return { answer: found }
        const { link, key } = found
        const at = clock.now()
        const record = { ...link, version: link.version + 1, usedAt: at }
        const actor = holderActor(key.person, key.role)
        return {
          answer: { key },
          change: {
            writes: [{ kind: 'sign_in_link', expect: link.version, record }],
            events: [audit.signInLinkUsed(key, { actor, via: 'page', at })],
            requires: [
              { kind: 'key_live', keyId: key.id },
              { kind: 'before', at: link.endsAt },
            ],
          },
        }
      })
      if (!isRefusal(used)) noteUse(used.key.id)
      return used
    },

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
      const holder = people.holderOfKey(found.keyId)
      if (holder !== null) noteUse(holder.keyId)
      return holder
    },

    /** A place stands in URLs, so it takes the secret as well. */
    async end(place: string, secret: string): Promise<void> {
      const found = await store.signIns.get(hashSecret(place))
      if (found?.secretHash === hashSecret(secret)) await store.signIns.remove(found.placeHash)
    },
  }
}
