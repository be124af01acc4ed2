// Instances of the Agent Approval Protocol: agents that a provisioner makes, names and deletes. What makes requests is the
// agent's key. It is derived from the provisioner's own and the Idempotency-Key, of which only hashes are kept: so whoever
// sends both again is answered with it, and nobody else can know it.
import { createHmac } from 'node:crypto'
import type { Instance } from '../access/instance.js'
import { type Key, makeKeyText } from '../access/key.js'
import type { KeyHolder } from '../access/role.js'
import * as audit from '../audit/event.js'
import type { Clock } from '../clock.js'
import { textOf } from '../core/actor.js'
import { canonical } from '../core/canonical.js'
import { resolve } from '../core/confirmation.js'
import { sha256 } from '../core/digest.js'
import type { Confirmation } from '../core/model.js'
import { isRefusal, type Refusal, refuse } from '../core/refusal.js'
import type { Change, Cursor, Page, Write } from '../store/store.js'
import { keyReused } from './idempotency.js'
import type { People } from './people.js'
import { authorityOf, type Desk, type Proposal, replaceInTime, settle } from './settle.js'

/** Who asks, with the text of the key that they showed, and the Idempotency-Key. */
export interface Provisioning {
  caller: KeyHolder
  secret: string
  key: string
}

export interface Provisioned {
  id: string
  name: string
  /** The agent's key. */
  token: string
  isReplay: boolean
}

export type Instances = ReturnType<typeof createInstances>

const via = 'aap'
/** Ended at once, in one commit. */
const batch = 100

export function createInstances(desk: Desk, clock: Clock, newId: () => string, people: People, approvalMs: number) {
  const { store } = desk

  /** Makes one under this name, or under one that begins so where somebody has it, or one that looks like it. */
  function provision(name: string | null, { caller, secret, key }: Provisioning): Promise<Provisioned | Refusal> {
    const kept = `${via} instances ${sha256(key)}`
    const fingerprint = sha256(canonical({ name }))
    return settle<Provisioned>(desk, authorityOf(caller), async () => {
      const sent = await store.idempotency.get(caller.actor, kept)
      if (sent !== undefined) {
        if (sent.fingerprint !== fingerprint) return { answer: keyReused(sent.confirmationId) }
        return { answer: await recall(sent.confirmationId, sent.result!, secret, key) }
      }
      const now = clock.now()
      const id = newId()
      const own = await uniqueName(name, id, now)
      const asked = { name: own, role: 'agent' as const, expiresInMs: null }
      const prepared = await people.prepareKey(asked, { actor: caller.actor, via }, now, derive(secret, key, id))
      if (!('made' in prepared)) return prepared
      const { made, change } = prepared
      const whose = { provisioner: textOf(caller.actor), person: own, name: own, keyId: made.key.id }
      const instance: Instance = { id, version: 1, ...whose, createdAt: now }
      change.writes.push({ kind: 'instance', expect: 'absent', record: instance }, idempotency(own, id, now))
      change.events.push(audit.instanceChanged(instance, { actor: caller.actor, at: now, via }))
      return { answer: { id, name: own, token: made.secret, isReplay: false }, change }
    })

    function idempotency(result: string, id: string, at: number): Write {
      return {
        kind: 'idempotency',
        record: { caller: caller.actor, key: kept, fingerprint, confirmationId: id, result, at },
      }
    }
  }

  /** What was answered before. The key is the same only if the provisioner's is. */
  async function recall(id: string, name: string, secret: string, key: string): Promise<Provisioned | Refusal> {
    const instance = (await store.instances.get(id))!
    const made = people.findKey(instance.keyId)!
    if (made.revokedAt !== null) {
      return refuse(
        'instance_deleted',
        'The instance that was made with this Idempotency-Key was deleted. Use a new key to make another.',
      )
    }
    const { id: keyId, text } = makeKeyText(derive(secret, key, id))
    if (keyId === made.id) return { id, name, token: text, isReplay: true }
    const sentence =
      `Instance ${id} was made with another key of yours, without which its credential cannot be told again. ` +
      'Delete it, and make another with a new Idempotency-Key.'
    return refuse('credential_lost', sentence)
  }

  async function uniqueName(asked: string | null, id: string, now: number): Promise<string> {
    if (asked !== null && people.isFree(asked) && !(await hasAsked(asked, now))) return asked
    const chance = id.replaceAll('-', '').slice(-12)
    // A name has 100 characters at most.
    return `${[...(asked ?? 'instance')].slice(0, 87).join('')}-${chance}`
  }

  /** While the service is open anybody asks under any name, and what they asked for is whose name it is. */
  async function hasAsked(requester: string, now: number): Promise<boolean> {
    return (await store.confirmations.list({ requester }, 'newest', 1, null, now)).items.length > 0
  }

  async function get(id: string, caller: KeyHolder): Promise<Instance | Refusal> {
    const instance = await findOwn(id, caller)
    return instance === undefined || isDeleted(instance) ? unknown(id) : instance
  }

  async function findOwn(id: string, { actor }: KeyHolder): Promise<Instance | undefined> {
    const instance = await store.instances.get(id)
    return instance?.provisioner === textOf(actor) ? instance : undefined
  }

  function isDeleted({ keyId }: Instance): boolean {
    return people.findKey(keyId)!.revokedAt !== null
  }

  /** Answers it as it was answered first, whatever was changed since. `name` null: it stays. */
  function update(
    id: string,
    name: string | null,
    { caller, key }: Omit<Provisioning, 'secret'>,
  ): Promise<Pick<Instance, 'id' | 'name'> | Refusal> {
    const kept = `${via} instance ${id} ${sha256(key)}`
    const fingerprint = sha256(canonical({ name }))
    return settle<Pick<Instance, 'id' | 'name'>>(desk, authorityOf(caller), async () => {
      const found = await get(id, caller)
      if (isRefusal(found)) return { answer: found }
      const sent = await store.idempotency.get(caller.actor, kept)
      if (sent !== undefined) {
        return { answer: sent.fingerprint === fingerprint ? { id, name: sent.result! } : keyReused(id) }
      }
      const at = clock.now()
      const record: Instance = { ...found, version: found.version + 1, name: name ?? found.name }
      const sending = { caller: caller.actor, key: kept, fingerprint, confirmationId: id, result: record.name, at }
      return {
        answer: { id, name: record.name },
        change: {
          writes: [
            { kind: 'instance', expect: found.version, record },
            { kind: 'idempotency', record: sending },
          ],
          events: [audit.instanceChanged(record, { actor: caller.actor, at, via })],
        },
      }
    })
  }

  /**
   * Revokes all keys of the agent, which then asks for nothing more, and withdraws what is pending. Again it ends what is left:
   * what was asked for while the first commit was under way.
   */
  async function remove(id: string, caller: KeyHolder): Promise<{ ended: number } | Refusal> {
    for (;;) {
      const result = await settle<{ ended: number }>(desk, authorityOf(caller), () => proposeEnd(id, caller))
      if (isRefusal(result) || result.ended === 0) return result
    }
  }

  async function proposeEnd(id: string, caller: KeyHolder): Promise<Proposal<{ ended: number }>> {
    const found = await findOwn(id, caller)
    if (found === undefined) return { answer: unknown(id) }
    const at = clock.now()
    const signature = { actor: caller.actor, at, via } as const
    // A person may have been given the same name, and is none of the provisioner's.
    const live = people
      .keys()
      .filter(({ person, role, revokedAt }) => person === found.person && role === 'agent' && revokedAt === null)
    const changes = [...live.map((key) => revoke(key, signature)), ...(await withdraw(found.person, signature))]
    const [first, ...events] = changes.flatMap((change) => change.events)
    if (first === undefined) return { answer: { ended: 0 } }
    // An update that is under way finds another version, and then that it is deleted.
    const record: Instance = { ...found, version: found.version + 1 }
    return {
      answer: { ended: changes.length },
      change: {
        writes: [...changes.flatMap(({ writes }) => writes), { kind: 'instance', expect: found.version, record }],
        events: [first, ...events],
        requires: changes.flatMap(({ requires }) => requires ?? []),
      },
    }
  }

  async function withdraw(requester: string, { actor: by, at }: audit.Signature): Promise<Change[]> {
    const wanted = { statuses: ['pending' as const], requester }
    const end = (pending: Confirmation): Change[] => {
      const record = resolve(pending, 'cancelled', { by, at, via, reason: 'its instance was deleted' }, approvalMs)
      // It is over by itself.
      return isRefusal(record) ? [] : [replaceInTime(pending, record, audit.cancelled(record, at), at)]
    }
    for (let after: Cursor | null = null; ;) {
      const { items, next }: Page<Confirmation> = await store.confirmations.list(wanted, 'newest', batch, after, at)
      const changes = items.flatMap(end)
      if (changes.length > 0 || next === null) return changes
      after = next
    }
  }

  return { provision, get, update, remove }
}

function revoke(key: Key, signature: audit.Signature): Change {
  const record = { ...key, version: key.version + 1, revokedAt: signature.at }
  return {
    writes: [{ kind: 'key', expect: key.version, record }],
    events: [audit.keyRevoked(record, signature, 'its instance was deleted')],
  }
}

/** What a key is made of, in place of chance. Nobody knows it who does not know both. */
function derive(secret: string, key: string, id: string): string {
  return createHmac('sha512', secret).update(`holdpoint aap instance\0${id}\0${key}`).digest('hex')
}

function unknown(id: string): Refusal {
  return refuse('not_found', `There is no instance ${id}.`)
}
