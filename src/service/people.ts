// People and their keys: who there is, made and revoked, and who a secret belongs to. Kept in memory, because every request
// asks; changed only by what is committed.
import { timingSafeEqual } from 'node:crypto'
import { hashSecret, type Key, makeKeyText, readKeyId, stateOf } from '../access/key.js'
import { createOpenMode } from '../access/open-mode.js'
import { type ChatIdentity, idIn, type Person } from '../access/person.js'
import { holderActor, type KeyHolder, may, type Role } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import type { Actor } from '../core/actor.js'
import { type PersonalChat, personalChats, type Via } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import { skeleton } from '../core/skeleton.js'
import { type Change, type Reference, StoreUnavailable, type Write } from '../store/store.js'
import { type Authority, type Desk, type Proposal, settle } from './settle.js'

/** Somebody, and their ids in chats: null for none; what is left out stays as it is. */
export interface NewPerson {
  name: string
  chatIds?: Partial<Record<PersonalChat, string | null | undefined>>
}

export interface NewKey extends NewPerson {
  role: Role
  expiresInMs: number | null
}

/** `secret` is the key itself: shown once, and not kept. */
export interface MadeKey {
  key: Key
  secret: string
}

export interface By {
  actor: Actor
  via: Via
  /** None: it is the service itself, or the database's owner. */
  authority?: Authority
}

export type People = ReturnType<typeof createPeople>

/**
 * `chance` gives 256 bits and more as hexadecimal digits. `mayBeOpen`: it may be in open mode. `noteUse` is told of each
 * key that somebody shows and that is good.
 */
export function createPeople(
  desk: Desk,
  clock: Clock,
  chance: () => string,
  mayBeOpen: boolean,
  noteUse: (keyId: string) => void,
) {
  const { store } = desk
  const cached = {
    people: new Map<string, Person>(),
    /** Names by what they come down to, which takes long to find out. */
    bySkeleton: new Map<string, string>(),
    keys: new Map<string, Key>(),
  }
  const openMode = createOpenMode(mayBeOpen, store.hadKeys, () => current().keys.size > 0)
  /** Changed by a commit and not read again yet. */
  const stale: Reference[] = []

  store.follow(({ changed }) => {
    for (const one of changed) if (one.kind === 'person' || one.kind === 'key') stale.push(one)
    try {
      refresh()
    } catch (error) {
      // The next caller tries again, and is told if it fails.
      if (!(error instanceof StoreUnavailable)) throw error
    }
  })

  function refresh(): void {
    for (let one = stale[0]; one !== undefined; one = stale[0]) {
      if (one.kind === 'person') meet(store.people.read(one.id)!)
      else learn(store.keys.read(one.id)!)
      stale.shift()
    }
  }

  function current() {
    if (stale.length > 0) refresh()
    return cached
  }

  function meet(person: Person): void {
    if (!cached.people.has(person.name)) cached.bySkeleton.set(skeleton(person.name), person.name)
    cached.people.set(person.name, person)
  }

  function learn(key: Key): void {
    cached.keys.set(key.id, key)
  }

  async function start(): Promise<void> {
    for (const person of await store.people.list()) meet(person)
    for (const key of await store.keys.list()) learn(key)
  }

  /** Whose key this is; null if it is nobody's, or no longer good. The comparison takes the same time for all. */
  function holderOf(secret: string): KeyHolder | null {
    const key = current().keys.get(readKeyId(secret) ?? '')
    const isRight = timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(key?.hash ?? hashSecret('')))
    const found = key !== undefined && isRight ? holder(key) : null
    if (found !== null) noteUse(found.keyId)
    return found
  }

  function holder(key: Key): KeyHolder | null {
    if (stateOf(key, clock.now()) !== 'live') return null
    return { actor: holderActor(key.person, key.role), role: key.role, keyId: key.id }
  }

  /** Adds a key, and whom it belongs to if they are new. */
  function addKey(asked: NewKey, by: By): Promise<MadeKey | Refusal> {
    return settle<MadeKey>(desk, by.authority ?? null, async () => {
      const prepared = await prepareKey(asked, by, clock.now())
      return 'made' in prepared ? { answer: prepared.made, change: prepared.change } : prepared
    })
  }

  /** For a change that has more. `drawn` is what it is made of, where that is not chance. */
  async function prepareKey(
    asked: NewKey,
    by: By,
    now: number,
    drawn?: string,
  ): Promise<{ made: MadeKey; change: Change } | Proposal<never>> {
    const made = make(asked, by, now, drawn)
    const person = await preparePerson(asked, by, now)
    if ('answer' in person) return person
    return {
      made,
      change: {
        writes: [...person.writes, { kind: 'key', expect: 'absent', record: made.key }],
        // Somebody who is new and known by nothing else is told of with the key.
        events: [audit.keyAdded(made.key, signed(by, now)), ...(isKnown(person) ? person.events : [])],
      },
    }
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
    return !current().bySkeleton.has(skeleton(name))
  }

  function make({ name, role, expiresInMs }: NewKey, { actor }: By, now: number, drawn = chance()): MadeKey {
    const { id, text } = makeKeyText(drawn)
    const expiresAt = expiresInMs === null ? null : now + expiresInMs
    const key = { id, version: 1, person: name, role, hash: hashSecret(text), createdBy: actor, createdAt: now }
    return { key: { ...key, expiresAt, revokedAt: null, replacedBy: null }, secret: text }
  }

  /** Revoking again changes nothing and is no mistake. */
  function revokeKey(id: string, by: By): Promise<{ key: Key } | Refusal> {
    return settle<{ key: Key }>(desk, by.authority ?? null, async () => {
      const key = current().keys.get(id)
      if (key === undefined) return { answer: unknownKey(id) }
      if (key.revokedAt !== null) return { answer: { key } }
      const now = clock.now()
      const record = { ...key, version: key.version + 1, revokedAt: now }
      return {
        answer: { key: record },
        change: {
          writes: [{ kind: 'key', expect: key.version, record }],
          events: [audit.keyRevoked(record, signed(by, now))],
        },
      }
    })
  }

  /** A new key in the old one's place, which stays good for `overlapMs`. */
  function rotateKey(id: string, overlapMs: number, by: By): Promise<(MadeKey & { old: Key }) | Refusal> {
    return settle<MadeKey & { old: Key }>(desk, by.authority ?? null, async () => {
      const old = current().keys.get(id)
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
      return {
        answer: { ...made, old: ended },
        change: {
          writes: [
            { kind: 'key', expect: 'absent', record: made.key },
            { kind: 'key', expect: old.version, record: ended },
          ],
          events: [audit.keyRotated(made.key, old, overlapMs, signed(by, now))],
        },
      }
    })
  }

  /** Names somebody, or sets by which ids the chats know them. */
  function setPerson(asked: NewPerson, by: By) {
    return settle<{ person: Person }>(desk, by.authority ?? null, async () => {
      const prepared = await preparePerson(asked, by, clock.now())
      if ('answer' in prepared) return prepared
      const { person, writes, events } = prepared
      const [first, ...rest] = events
      return { answer: { person }, ...(first === undefined ? {} : { change: { writes, events: [first, ...rest] } }) }
    })
  }

  async function preparePerson(
    asked: NewPerson,
    by: By,
    now: number,
  ): Promise<{ person: Person; writes: Write[]; events: audit.NewEvent[] } | Proposal<never>> {
    const { name } = asked
    const standing = current().people.get(name)
    const alike = standing === undefined ? current().bySkeleton.get(skeleton(name)) : undefined
    if (alike !== undefined) {
      return { answer: refuse('name_taken', `'${name}' looks like '${alike}', who exists. Choose another name.`) }
    }
    const identities = identitiesOf(asked, standing)
    for (const other of current().people.values()) {
      if (other.name !== name && other.identities.some((one) => identities.some((wanted) => isSame(one, wanted)))) {
        return { answer: refuse('name_taken', `The chat id belongs to '${other.name}'; one person has one.`) }
      }
    }
    const isChanged = personalChats.some(
      (channel) => idIn(channel, { identities }) !== idIn(channel, standing ?? nobody),
    )
    if (standing !== undefined && !isChanged) return { person: standing, writes: [], events: [] }
    const version = (standing?.version ?? 0) + 1
    const person: Person = { name, version, identities, createdAt: standing?.createdAt ?? now }
    return {
      person,
      writes: [{ kind: 'person', expect: standing?.version ?? 'absent', record: person }],
      events: [audit.personChanged(person, signed(by, now))],
    }
  }

  function byIdentity(wanted: ChatIdentity): Person | undefined {
    return [...current().people.values()].find(({ identities }) => identities.some((one) => isSame(one, wanted)))
  }

  /** Whether they may decide without showing a key: not once all keys that allow it are gone. */
  function mayDecide(name: string): boolean {
    const own = [...current().keys.values()].filter(({ person }) => person === name)
    const now = clock.now()
    return own.length === 0 || own.some((key) => stateOf(key, now) === 'live' && may(key, 'decide'))
  }

  return {
    start,
    openMode,
    hasKeys: () => current().keys.size > 0,
    holderOf,
    /** Whether a key that was good is good still. */
    holderOfKey: (id: string) => {
      const key = current().keys.get(id)
      return key === undefined ? null : holder(key)
    },
    addKey,
    prepareKey,
    addAdmin,
    revokeKey,
    rotateKey,
    setPerson,
    find: (name: string) => current().people.get(name),
    isFree,
    findKey: (id: string) => current().keys.get(id),
    byIdentity,
    mayDecide,
    people: () => [...current().people.values()],
    keys: () => [...current().keys.values()].sort((a, b) => a.createdAt - b.createdAt),
  }
}

function signed({ actor, via }: By, at: number) {
  return { actor, via, at }
}

function isKnown({ person }: { person: Person }): boolean {
  return person.version > 1 || person.identities.length > 0
}

const nobody: Pick<Person, 'identities'> = { identities: [] }

/** Those they have from now on: one in each chat. */
function identitiesOf({ chatIds = {} }: NewPerson, standing: Pick<Person, 'identities'> = nobody): ChatIdentity[] {
  return personalChats.flatMap((channel) => {
    const asked = chatIds[channel]
    const id = asked === undefined ? idIn(channel, standing) : asked
    return id === null ? [] : [{ channel, id }]
  })
}

function isSame(a: ChatIdentity, b: ChatIdentity): boolean {
  return a.channel === b.channel && a.id === b.id
}

function unknownKey(id: string): Refusal {
  return refuse('not_found', `There is no key ${id}; GET /keys lists those there are.`)
}
