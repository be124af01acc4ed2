// The shares of one app: room for the requests of each requester, and the one way to say that it is used up.
import type { FastifyRequest } from 'fastify'
import { type Caller, nameOf } from '../access/role.js'
import { createShare, type Lack, type Limits, type Share, type ShareName, shares as table } from '../policy/share.js'
import { Problem } from './errors.js'

const roomNames = ['bodies', 'waits', 'calls', 'streams', 'exports', 'answers', 'pages'] as const satisfies ShareName[]
type RoomName = (typeof roomNames)[number]

export type { Limits }
export type ShareLimits = Record<RoomName | 'connections', Limits>
export const shareLimits: ShareLimits = table

/** A share as requests see it. */
export interface Room {
  take(request: FastifyRequest, size?: number): (() => void) | Lack
  queue(request: FastifyRequest, size: number, go: () => void): (() => void) | Lack
  taken(): number
  queued(): number
}

export type Shares = Record<RoomName, Room> & {
  /**
   * In whose share a request is: the key's owner's, or that of a good link. In open mode all are one, which is
   * null; else whoever shows neither is nobody in particular, which is ''.
   */
  requesterOf(request: FastifyRequest): string | null
  /** How much of each is taken by all, and how many wait for it. */
  taken(): Record<RoomName, number>
  queued(): Record<'bodies' | 'answers', number>
  /** Counts the refusal, and answers it. */
  refuse(share: ShareName, sentence: string, retryAfterSeconds: number): Problem
}

export function createShares(
  isOpen: () => boolean,
  onRefused: (share: ShareName) => void,
  limits: ShareLimits = shareLimits,
): Shares {
  function requesterOf({ caller, linkHash = null }: { caller?: Caller; linkHash?: string | null }): string | null {
    const name = caller === undefined ? null : nameOf(caller)
    if (name !== null || isOpen()) return name
    return linkHash === null ? '' : `link ${linkHash}`
  }

  function createRoom(limit: Limits): Room {
    const agents = createShare(limit)
    const others = createShare(limit)
    // While the service is open, nobody is known to be an agent.
    const of = ({ caller }: { caller?: Caller }): Share => (caller?.role === 'agent' ? agents : others)
    return {
      take: (request, size) => of(request).take(requesterOf(request), size),
      queue: (request, size, go) => of(request).queue(requesterOf(request), size, go),
      taken: () => agents.taken() + others.taken(),
      queued: () => agents.queued() + others.queued(),
    }
  }

  const rooms = byName((name) => createRoom(limits[name]))
  return {
    ...rooms,
    requesterOf,
    taken: () => byName((name) => rooms[name].taken()),
    queued: () => ({ bodies: rooms.bodies.queued(), answers: rooms.answers.queued() }),

    refuse(share, sentence, retryAfterSeconds) {
      onRefused(share)
      return new Problem('flood_limited', sentence, { share, retry_after_seconds: retryAfterSeconds })
    },
  }
}

function byName<T>(valueOf: (name: RoomName) => T): Record<RoomName, T> {
  return Object.fromEntries(roomNames.map((name) => [name, valueOf(name)])) as Record<RoomName, T>
}
