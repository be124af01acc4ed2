// A browser that is signed in with a key: a place in the paths and a cookie for that place, both secrets of which only the
// hash is kept. Cookies by themselves go to every port of a host.

export interface SignIn {
  placeHash: string
  secretHash: string
  keyId: string
  createdAt: number
  endsAt: number
  /** Over http, which anybody on the way can read, it ends with the process that has this mark; null: it came by https. */
  process: string | null
}

/** A working day. */
export const signInMs = 12 * 3600 * 1000

/** Whether it is good at this time, for a cookie with this hash. Nobody can choose hashes: how far they agree tells nothing. */
export function isGood(signIn: SignIn, secretHash: string, process: string | null, now: number): boolean {
  const { createdAt, endsAt } = signIn
  return createdAt <= now && now < endsAt && signIn.secretHash === secretHash && signIn.process === process
}

/** A link by which one browser signs in with a key, once. It ends with its process, and of its token only the hash is kept. */
export interface SignInLink {
  hash: string
  version: number
  keyId: string
  createdAt: number
  endsAt: number
  usedAt: number | null
  process: string
}

/** Long enough to take out a phone. */
export const signInLinkMs = 5 * 60 * 1000
