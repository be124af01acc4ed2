// The limit per client address: @fastify/rate-limit's hooks on our own sliding window.
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { SlidingWindow } from '../policy/window.js'
import { Problem } from './errors.js'

const windowMs = 60_000

export async function limitFloods(
  app: FastifyInstance,
  max: number,
  now: () => number,
  onRefused: () => void,
): Promise<void> {
  if (max === 0) return
  class WindowStore {
    #window = new SlidingWindow(max, windowMs)

    incr(key: string, done: (error: null, result: { current: number; ttl: number }) => void): void {
      const { allowed, remaining, resetMs } = this.#window.take(key, now())
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
    addHeaders: { ...off, 'retry-after': false },
    addHeadersOnExceeding: off,
    onExceeded: onRefused,
    errorResponseBuilder: (_request, { ttl }) => {
      const seconds = Math.max(1, Math.ceil(ttl / 1000))
      const sentence = `Too many requests from this address (${max} a minute are allowed); try again in ${seconds} s.`
      return new Problem('flood_limited', sentence, {
        remaining: 0,
        window_seconds: windowMs / 1000,
        retry_after_seconds: seconds,
      })
    },
  })
}
