// Who may do what. In open mode everyone may do everything.
import { type ActorOf, textOf } from '../core/actor.js'

export const roles = ['agent', 'operator', 'auditor', 'admin', 'provisioner'] as const
export type Role = (typeof roles)[number]

/** `act` is what an agent does with its own: cancel, claim, report. `read` is what concerns one confirmation. */
const permitted = {
  submit: ['agent', 'admin'],
  act: ['agent', 'admin'],
  read: ['agent', 'operator', 'auditor', 'admin'],
  survey: ['operator', 'auditor', 'admin'],
  decide: ['operator', 'admin'],
  whitelist: ['operator', 'admin'],
  /** Sessions: to look at, agents at their own alone; and to reset, suspend, resume and switch. */
  observe: ['agent', 'operator', 'auditor', 'admin'],
  steer: ['operator', 'admin'],
  /** Keys and people: to look at, and to change. */
  inspect: ['auditor', 'admin'],
  administer: ['admin'],
  /** Instances of the Agent Approval Protocol: agents' keys, made by a platform that starts agents. */
  provision: ['admin', 'provisioner'],
} as const satisfies Record<string, readonly Role[]>
export type Permission = keyof typeof permitted

/** Who asks: the holder of a key, the owner of the database through its socket, or anyone in open mode. */
export type Caller = KeyHolder | typeof localOwner | typeof anyone

export interface KeyHolder {
  actor: ActorOf<'person' | 'agent'>
  role: Role
  keyId: string
}

export const anyone = { actor: null, role: null } as const

/** They could write the file just as well. */
export const localOwner = { actor: { kind: 'local' }, role: 'admin' } as const

/** Asking, deciding and acting are left out: whoever does these has to be somebody. */
const forOwner: readonly Permission[] = ['read', 'survey', 'whitelist', 'observe', 'steer', 'inspect', 'administer']

/** Whether the owner's socket is for this: all that is on record, the whitelist, sessions, and who there is. */
export function isForOwner(permission: string): boolean {
  return (forOwner as readonly string[]).includes(permission)
}

/** The caller; in open mode, anyone under the name that was given. */
export function actorOf({ actor }: Caller, given: string): ActorOf<'person' | 'agent' | 'local' | 'anyone'> {
  return actor ?? { kind: 'anyone', name: given }
}

/** What a holder of a key with this role is. */
export function holderActor(name: string, role: Role): KeyHolder['actor'] {
  return { kind: role === 'agent' ? 'agent' : 'person', name }
}

/** The caller's name; null in open mode. */
export function nameOf({ actor }: Caller): string | null {
  return actor === null ? null : textOf(actor)
}

export function rolesFor(permission: Permission): readonly Role[] {
  return permitted[permission]
}

export function may({ role }: Pick<Caller, 'role'>, permission: Permission): boolean {
  return role === null || rolesFor(permission).includes(role)
}

/** Agents know of nothing but what they asked for themselves. */
export function mayRead(caller: Caller, { requester }: { requester: string }): boolean {
  return (caller.role !== 'agent' && may(caller, 'read')) || nameOf(caller) === requester
}

/** What was asked for is withdrawn, claimed and reported by its requester alone, whatever else others may do. */
export function isOwn(caller: Caller, { requester }: { requester: string }): boolean {
  return caller.role === null || nameOf(caller) === requester
}
