// Whose vote it is: the key's owner, or while the service is open the name that was given.
import type { Caller } from '../access/role.js'
import { canBeSeen } from '../core/character.js'
import type { Voter } from '../service/decide.js'

export function voterOf({ name }: Caller, given: string | undefined): Voter {
  if (name === null) return { by: nameOr(given, 'api'), comment: null, isProven: false, isPersonal: true }
  const comment = given?.trim() || null
  return { by: name, comment: comment === name ? null : comment, isProven: true, isPersonal: true }
}

export function nameOr(name: string | undefined, fallback: string): string {
  return name?.trim() || fallback
}

/** A reason that nobody can see is none. */
export function textOrNull(text: string | undefined): string | null {
  return text !== undefined && canBeSeen(text) ? text : null
}
