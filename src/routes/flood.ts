// The limit per key or link, or per client address without one: @fastify/rate-limit's hooks on our own sliding window.
import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { SlidingWindow } from '../policy/window.js'
import { Problem } from './errors.js'

const windowMs = 60_000

/**
 * Where a request comes from, as far as limits go: a network for IPv6, and this machine for all its loopback addresses,
 * of which anybody here has millions. What comes through a socket has no address.
 */
export function addressOf({ ip }: FastifyRequest): string {
  if ((ip as string | undefined) === undefined) return 'local'
  return /^(::ffff:)?127\.|^::1$/.test(ip) ? 'loopback' : normalizeIP(ip, 64)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the good link by which it came: one in a message, or one to sign in. */
    linkHash: string | null
  }
}

/** Counts a request that does the work of so many, which was counted as one before; throws if there is no room for all. */
export type CountAs = (request: FastifyRequest, many: number) => void

export interface FloodLimit {
  countAs: CountAs
  /** How many keys, links and addresses are remembered. */
  names(): number
}

/** `findLink` knows the links in messages and those to sign in by their token. */
export async function limitFloods(
  app: FastifyInstance,
  max: number,
  now: () => number,
  onRefused: () => void,
  findLink: (token: string) => Promise<{ hash: string } | undefined>,
): Promise<FloodLimit> {
  app.decorateRequest('linkHash', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const { token } = request.params as { token?: string }
    if (token === undefined) return done()
    findLink(token).then((link) => {
      request.linkHash = link?.hash ?? null
      done()
    }, done)
  })
  if (max === 0) return { countAs: () => {}, names: () => 0 }
  const window = new SlidingWindow(windowMs)

  /** A caller with a good key or link is counted by it, so that nobody else on the same machine uses up their quota. */
  function countedBy(request: FastifyRequest): string {
    const { keyId, linkHash } = request
    return keyId !== null || linkHash === null ? keyOrAddress(request) : `link ${linkHash}`
  }

  function keyOrAddress(request: FastifyRequest): string {
    return request.keyId === null ? addressOf(request) : `key ${request.keyId}`
  }

  class WindowStore {
    incr(key: string, done: (error: null, result: { current: number; ttl: number }) => void): void {
      const { allowed, remaining, resetMs } = window.take(key, now(), { max, windowMs })
      done(null, { current: allowed ? max - remaining : max + 1, ttl: resetMs })
    }

    child(): WindowStore {
      return this
    }
  }
  const off = { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false }
  await app.register(rateLimit, {
    max,
    timeWindow: windowMs,
    store: WindowStore,
    keyGenerator: countedBy,
    addHeaders: { ...off, 'retry-after': false },
    addHeadersOnExceeding: off,
    onExceeded: onRefused,
    errorResponseBuilder: (request, { ttl }) => tooMany(request, ttl, 0),
  })

  function tooMany({ keyId }: FastifyRequest, resetMs: number, remaining: number): Problem {
    const seconds = Math.max(1, Math.ceil(resetMs / 1000))
    const whose = keyId === null ? 'from this address' : 'with this key'
    const left = remaining === 0 ? '' : `; ${remaining} are left, and each item counts: send fewer`
    const sentence = `Too many requests ${whose} (${max} a minute are allowed${left}); try again in ${seconds} s.`
    return new Problem('flood_limited', sentence, {
      share: 'requests',
      remaining,
      window_seconds: windowMs / 1000,
      retry_after_seconds: seconds,
    })
  }

  return {
    countAs(request, many) {
      const { allowed, remaining, resetMs } = window.take(keyOrAddress(request), now(), { max, windowMs }, many - 1)
      if (allowed) return
      onRefused()
      throw tooMany(request, resetMs, remaining)
    },
    names: () => window.size,
  }
}
