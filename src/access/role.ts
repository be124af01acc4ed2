// Who may do what. While there is no key at all the service is open, and everyone may do everything.

export const roles = ['agent', 'operator', 'auditor', 'admin'] as const
export type Role = (typeof roles)[number]

/** `act` is what an agent does with its own: cancel, claim, report. `read` is what concerns one confirmation. */
const permitted = {
  submit: ['agent', 'admin'],
  act: ['agent', 'admin'],
  read: ['agent', 'operator', 'auditor', 'admin'],
  survey: ['operator', 'auditor', 'admin'],
  decide: ['operator', 'admin'],
  whitelist: ['operator', 'admin'],
  /** Keys and people: to look at, and to change. */
  inspect: ['auditor', 'admin'],
  administer: ['admin'],
} as const satisfies Record<string, readonly Role[]>
export type Permission = keyof typeof permitted

/** Whoever asks. A name and a role go with a key; both are null while the service is open. */
export interface Caller {
  name: string | null
  role: Role | null
  /** The key they came with. */
  keyId?: string
}

/** Everyone, while the service is open. */
export const anyone: Caller = { name: null, role: null }

/** Whoever can open the database's own socket: they could write the file just as well. */
export const localOwner: Caller = { name: 'local', role: 'admin' }

export function rolesFor(permission: Permission): readonly Role[] {
  return permitted[permission]
}

export function may({ role }: Pick<Caller, 'role'>, permission: Permission): boolean {
  return role === null || rolesFor(permission).includes(role)
}

/** Agents know of nothing but what they asked for themselves. */
export function mayRead(caller: Caller, { requester }: { requester: string }): boolean {
  return caller.role !== 'agent' || caller.name === requester
}

/** What was asked for is withdrawn, claimed and reported by whoever asked, whatever else they may do. */
export function isOwn(caller: Caller, { requester }: { requester: string }): boolean {
  return caller.role === null || caller.name === requester
}
