// Open mode: as long as no key was ever made, everyone on this machine may do everything. Whether it may be so, whether it is
// so now, and what counts that was done in it.
import { type Actor, isVerified } from '../core/actor.js'
import type { Confirmation } from '../core/model.js'
import { withVerifiedVotes } from '../core/vote.js'

/** Where the service listens, and whether it asks for keys from the beginning. */
export interface Exposure {
  host: string
  auth: 'auto' | 'keys'
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare)
}

/** Nowhere that others can reach. */
export function mayBeOpen({ host, auth }: Exposure): boolean {
  return auth === 'auto' && isLoopback(host)
}

/** Where others can reach it, the service makes the first key itself. */
export function makesFirstKey({ host, auth }: Exposure): boolean {
  return auth === 'auto' && !isLoopback(host)
}

/** Whether nobody but this machine's users is meant to reach it. */
export function isOnlyHere({ host, publicUrl }: { host: string; publicUrl?: string | undefined }): boolean {
  return isLoopback(host) && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname))
}

export type OpenMode = ReturnType<typeof createOpenMode>

/** `hadKeys`: at the start there was a key, or there had been one that is lost. `hasKeys`: there is one now. */
export function createOpenMode(mayBeOpen: boolean, hadKeys: boolean, hasKeys: () => boolean) {
  function isOpen(): boolean {
    return mayBeOpen && !hadKeys && !hasKeys()
  }

  /** What anyone gave counts in open mode alone. */
  function doesCount(giver: Actor): boolean {
    return isVerified(giver) || isOpen()
  }

  return {
    isOpen,
    doesCount,
    /** As much of it as counts now. */
    counted: (confirmation: Confirmation) => (isOpen() ? confirmation : withVerifiedVotes(confirmation)),
    /** There was a key, and there is none: the database was lost, or its log was. */
    hasLostKeys: () => hadKeys && !hasKeys(),
    /** By which names it may be called: in open mode only by its own, so that no web page is rebound to it. */
    mayBeCalled: (name: string, own: string[]) => !isOpen() || name === '' || own.includes(name) || isLoopback(name),
  }
}
