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

/** `findLink` knows the links in messages by their token. */
export async function limitFloods(
  app: FastifyInstance,
  max: number,
  now: () => number,
  onRefused: () => void,
  findLink: (token: string) => Promise<{ hash: string } | undefined>,
): Promise<void> {
  if (max === 0) return

  /** Whoever shows a good key or link is counted by it, so that nobody else on the same machine uses up what is theirs. */
  async function whoseOf(request: FastifyRequest): Promise<string> {
    if (request.keyId !== null) return `key ${request.keyId}`
    const { token } = request.params as { token?: string }
    const link = token === undefined ? undefined : await findLink(token)
    return link === undefined ? addressOf(request) : `link ${link.hash}`
  }

  class WindowStore {
    #window = new SlidingWindow(windowMs)

    incr(key: string, done: (error: null, result: { current: number; ttl: number }) => void): void {
      const { allowed, remaining, resetMs } = this.#window.take(key, now(), { max, windowMs })
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
    keyGenerator: whoseOf,
    addHeaders: { ...off, 'retry-after': false },
    addHeadersOnExceeding: off,
    onExceeded: onRefused,
    errorResponseBuilder: ({ keyId }, { ttl }) => {
      const seconds = Math.max(1, Math.ceil(ttl / 1000))
      const whose = keyId === null ? 'from this address' : 'with this key'
      const sentence = `Too many requests ${whose} (${max} a minute are allowed); try again in ${seconds} s.`
      return new Problem('flood_limited', sentence, {
        remaining: 0,
        window_seconds: windowMs / 1000,
        retry_after_seconds: seconds,
      })
    },
  })
}
