// People and their keys: who there is, made and revoked, and who a secret belongs to. Kept in memory, because every request
// asks; changed only by what is committed.
import { timingSafeEqual } from 'node:crypto'
import { hashSecret, type Key, makeKeyText, type Person, readKeyId, stateOf } from '../access/key.js'
import { may, type Caller, type Role } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import type { Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { skeleton } from '../core/skeleton.js'
import type { Store, Write } from '../store/store.js'
import { type Attempt, settle } from './settle.js'

/** Whoever comes with a good key. */
export interface KeyHolder extends Caller {
  name: string
  role: Role
  keyId: string
}

export interface NewKey {
  name: string
  role: Role
  expiresInMs: number | null
  /** What is left out stays as it is. */
  telegramId?: string | null | undefined
  discordId?: string | null | undefined
}

/** `secret` is the key itself: shown once, and not kept. */
export interface MadeKey {
  key: Key
  secret: string
}

export interface By {
  actor: string
  via: Via
  /** It is done because everyone is let in. */
  isAnyone?: boolean
}

export type People = ReturnType<typeof createPeople>

/** `chance` gives 256 bits and more as hexadecimal digits. `mayBeOpen`: everyone is let in as long as there never was a key. */
export function createPeople(store: Store, clock: Clock, chance: () => string, mayBeOpen: boolean) {
  const people = new Map<string, Person>()
  /** Names by what they come down to, which takes long to find out. */
  const bySkeleton = new Map<string, string>()
  const keys = new Map<string, Key>()
  /** The first key is on its way to the disk: whoever comes now comes too late to be let in without one. */
  let isClosing = false
  let turn: Promise<unknown> = Promise.resolve()

  /** A name is compared with all there are, and no version tells that there is a new one: so one after the other. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const mine = turn.then(run, run)
    turn = mine
    return mine
  }

  store.subscribe(({ writes }) => {
    for (const write of writes) {
      if (write.kind === 'person') meet(write.record)
      if (write.kind === 'key') learn(write.record)
    }
  })

  function meet(person: Person): void {
    if (!people.has(person.name)) bySkeleton.set(skeleton(person.name), person.name)
    people.set(person.name, person)
  }

  function learn(key: Key): void {
    keys.set(key.id, key)
  }

  function isOpen(): boolean {
    return mayBeOpen && !store.hadKeys && keys.size === 0 && !isClosing
  }

  async function start(): Promise<void> {
    for (const person of await store.people.list()) meet(person)
    for (const key of await store.keys.list()) learn(key)
  }

  /** Whose key this is; null if it is nobody's, or no longer good. The comparison takes the same time for all. */
  function holderOf(secret: string): KeyHolder | null {
    const key = keys.get(readKeyId(secret) ?? '')
    const isRight = timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(key?.hash ?? hashSecret('')))
    return key !== undefined && isRight ? holder(key) : null
  }

  function holder(key: Key): KeyHolder | null {
    if (stateOf(key, clock.now()) !== 'live') return null
    return { name: key.person, role: key.role, keyId: key.id }
  }

  /** Adds a key, and whom it belongs to if they are new. */
  function addKey(asked: NewKey, by: By): Promise<MadeKey | Refusal> {
    return inTurn(() =>
      settle<MadeKey>(store, async () => {
        const now = clock.now()
        const made = make(asked, by, now)
        const person = await preparePerson(asked, by, now)
        if ('answer' in person) return person
        if (by.isAnyone && !isOpen()) {
          return { answer: refuse('unauthorized', 'There is a key by now, and making another takes one.') }
        }
        isClosing = true
        return {
          answer: made,
          undo: () => (isClosing = false),
          change: {
            writes: [...person.writes, { kind: 'key', expect: 'absent', record: made.key }],
            // Whoever is new and known by nothing else is told of with the key.
            events: [
              audit.keyChanged('key_added', made.key, signed(by, now)),
              ...(isKnown(person) ? person.events : []),
            ],
          },
        }
      }),
    )
  }

  /** A key to everything, for a name that nobody has: somebody may be called admin without having a key. */
  async function addAdmin(by: By): Promise<MadeKey> {
    const name = ['admin', 'owner', 'first key'].find(isFree) ?? 'administrator of this service'
    const made = await addKey({ name, role: 'admin', expiresInMs: null }, by)
    if (isRefusal(made)) throw new Error(made.sentence)
    return made
  }

  /** Nobody else has this name, or one that looks like it. */
  function isFree(name: string): boolean {
    return !bySkeleton.has(skeleton(name))
  }

  function make({ name, role, expiresInMs }: NewKey, { actor }: By, now: number): MadeKey {
    const { id, text } = makeKeyText(chance())
    const expiresAt = expiresInMs === null ? null : now + expiresInMs
    const key = { id, version: 1, person: name, role, hash: hashSecret(text), createdBy: actor, createdAt: now }
    return { key: { ...key, expiresAt, revokedAt: null, replacedBy: null }, secret: text }
  }

  /** Revoking again changes nothing and is no mistake. */
  function revokeKey(id: string, by: By): Promise<{ key: Key } | Refusal> {
    return settle<{ key: Key }>(store, async () => {
      const key = keys.get(id)
      if (key === undefined) return { answer: unknownKey(id) }
      if (key.revokedAt !== null) return { answer: { key } }
      const now = clock.now()
      const record = { ...key, version: key.version + 1, revokedAt: now }
      return {
        answer: { key: record },
        change: {
          writes: [{ kind: 'key', expect: key.version, record }],
          events: [audit.keyChanged('key_revoked', record, signed(by, now))],
        },
      }
    })
  }

  /** A new key in the old one's place, which stays good for `overlapMs`. */
  function rotateKey(id: string, overlapMs: number, by: By): Promise<(MadeKey & { old: Key }) | Refusal> {
    return settle<MadeKey & { old: Key }>(store, async () => {
      const old = keys.get(id)
      if (old === undefined) return { answer: unknownKey(id) }
      const now = clock.now()
      const state = stateOf(old, now)
      if (state !== 'live') {
        return { answer: refuse('key_not_live', `The key ${id} is ${state}; add a new one instead of rotating it.`) }
      }
      // Its own end is only that of the overlap: a key in its place would be as short.
      if (old.replacedBy !== null) {
        const sentence = `The key ${id} was rotated before, and ${old.replacedBy} is in its place; rotate that one.`
        return { answer: refuse('key_not_live', sentence) }
      }
      // As long a life as the old one was given.
      const expiresInMs = old.expiresAt === null ? null : old.expiresAt - old.createdAt
      const made = make({ name: old.person, role: old.role, expiresInMs }, by, now)
      const end = now + overlapMs
      const expiresAt = Math.min(old.expiresAt ?? end, end)
      const ended: Key = { ...old, version: old.version + 1, expiresAt, replacedBy: made.key.id }
      const about = { old_key_id: id, overlap_seconds: overlapMs / 1000 }
      return {
        answer: { ...made, old: ended },
        change: {
          writes: [
            { kind: 'key', expect: 'absent', record: made.key },
            { kind: 'key', expect: old.version, record: ended },
          ],
          events: [audit.keyChanged('key_rotated', made.key, signed(by, now), about)],
        },
      }
    })
  }

  /** Names somebody, or sets by which ids the chats know them. */
  function setPerson(asked: Pick<NewKey, 'name' | 'telegramId' | 'discordId'>, by: By) {
    return inTurn(() =>
      settle<{ person: Person }>(store, async () => {
        const prepared = await preparePerson(asked, by, clock.now())
        if ('answer' in prepared) return prepared
        const { person, writes, events } = prepared
        const [first, ...rest] = events
        return { answer: { person }, ...(first === undefined ? {} : { change: { writes, events: [first, ...rest] } }) }
      }),
    )
  }

  async function preparePerson(
    asked: Pick<NewKey, 'name' | 'telegramId' | 'discordId'>,
    by: By,
    now: number,
  ): Promise<{ person: Person; writes: Write[]; events: audit.NewEvent[] } | Attempt<never>> {
    const { name } = asked
    const standing = people.get(name)
    const alike = standing === undefined ? bySkeleton.get(skeleton(name)) : undefined
    if (alike !== undefined) {
      return { answer: refuse('name_taken', `'${name}' looks like '${alike}', who exists. Choose another name.`) }
    }
    const telegramId = asked.telegramId === undefined ? (standing?.telegramId ?? null) : asked.telegramId
    const discordId = asked.discordId === undefined ? (standing?.discordId ?? null) : asked.discordId
    for (const other of people.values()) {
      const isTaken =
        (telegramId !== null && other.telegramId === telegramId) ||
        (discordId !== null && other.discordId === discordId)
      if (other.name !== name && isTaken) {
        return { answer: refuse('name_taken', `The chat id belongs to '${other.name}'; one person has one.`) }
      }
    }
    if (standing !== undefined && standing.telegramId === telegramId && standing.discordId === discordId) {
      return { person: standing, writes: [], events: [] }
    }
    const version = (standing?.version ?? 0) + 1
    const person: Person = { name, version, telegramId, discordId, createdAt: standing?.createdAt ?? now }
    return {
      person,
      writes: [{ kind: 'person', expect: standing?.version ?? 'absent', record: person }],
      events: [audit.personChanged(person, signed(by, now))],
    }
  }

  function byTelegram(id: string): Person | undefined {
    return [...people.values()].find(({ telegramId }) => telegramId === id)
  }

  /** Whether they may decide without showing a key: not once all keys that allow it are gone. */
  function mayDecide(name: string): boolean {
    const own = [...keys.values()].filter(({ person }) => person === name)
    const now = clock.now()
    return own.length === 0 || own.some((key) => stateOf(key, now) === 'live' && may(key, 'decide'))
  }

  return {
    start,
    /** No key was ever made, so everyone on this machine is let in. */
    isOpen,
    hasKeys: () => keys.size > 0,
    /** There was a key, and there is none: the database was lost, or its log was. */
    hasLostKeys: () => store.hadKeys && keys.size === 0,
    holderOf,
    /** Whether a key that was good is good still. */
    holderOfKey: (id: string) => {
      const key = keys.get(id)
      return key === undefined ? null : holder(key)
    },
    addKey,
    addAdmin,
    revokeKey,
    rotateKey,
    setPerson,
    byTelegram,
    isPerson: (name: string) => people.has(name),
    mayDecide,
    people: () => [...people.values()],
    keys: () => [...keys.values()].sort((a, b) => a.createdAt - b.createdAt),
  }
}

function signed({ actor, via }: By, at: number) {
  return { actor, via, at }
}

function isKnown({ person }: { person: Person }): boolean {
  return person.version > 1 || person.telegramId !== null || person.discordId !== null
}

function unknownKey(id: string): Refusal {
  return refuse('not_found', `There is no key ${id}; 'npx holdpoint keys list' shows those there are.`)
}
