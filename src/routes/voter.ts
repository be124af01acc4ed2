// Whose vote it is: the key's owner, or in open mode the name that was given.
import { actorOf, type Caller, nameOf } from '../access/role.js'
import { canBeSeen } from '../core/character.js'
import type { Via } from '../core/model.js'
import type { Approver } from '../service/decide.js'

export function approverOf(caller: Caller, given: string | undefined): Approver {
  const comment = given?.trim() || null
  const name = nameOf(caller)
  return { by: actorOf(caller, comment ?? 'api'), comment: name === null || comment === name ? null : comment }
}

/** Through what a route was called. */
export function viaOf({ actor }: Caller): Via {
  return actor?.kind === 'local' ? 'local' : 'http'
}

export function nameOr(name: string | undefined, fallback: string): string {
  return name?.trim() || fallback
}

/** A reason that nobody can see is none. */
export function textOrNull(text: string | undefined): string | null {
  return text !== undefined && canBeSeen(text) ? text : null
}
