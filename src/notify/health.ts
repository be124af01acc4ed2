// What a lane knows of a destination: down, busy or well. Says so in the log once, when that changes.
import type { SendOutcome } from './chat.js'
import { backoff, type Skipped } from './delivery.js'
import { createGate, type Gate } from './gate.js'

export interface HealthLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface Health {
  /** How many deliveries are taken up and not sent yet. */
  underWay: number
  /** So many of them are sent at once. */
  gate: Gate
  /** How long the last send took; null before the first. */
  tookMs: number | null
  busyUntil: number
  /** It failed last time, or was busy lately: it is tried with one send before it gets more. */
  isSuspect(now: number): boolean
  /** Why it is better not tried now, if so. */
  skip(now: number): Skipped | undefined
  learn(outcome: SendOutcome, now: number, random: number): void
}

/** After a refusal that concerns the channel itself, it is left alone this long: many refusals get an address banned. */
const refusedPauseMs = 30_000
/** Limits of chats are by the minute: for so long a busy one gets one message at a time, so that few are sent in vain. */
const busyMemoryMs = 60_000

/** `width`: how much is sent at once. */
export function createHealth(name: string, width: number, log: HealthLog): Health {
  let failures = 0
  let down: { until: number; why: string; retry: boolean } | null = null
  let said: 'failed' | 'refused' | null = null

  function say(trouble: 'failed' | 'refused', error: string, message: string): void {
    if (said !== trouble) log.warn({ channel: name, error }, message)
    said = trouble
  }

  return {
    underWay: 0,
    gate: createGate(width),
    tookMs: null,
    busyUntil: -Infinity,

    isSuspect(now) {
      return failures > 0 || now < this.busyUntil + busyMemoryMs
    },

    skip(now) {
      if (down !== null && now < down.until) {
        return { kind: 'skipped', until: down.retry ? down.until : null, error: `not tried: ${down.why}` }
      }
      if (now < this.busyUntil) return { kind: 'skipped', until: this.busyUntil, error: 'not tried: busy' }
      return undefined
    },

    learn(outcome, now, random) {
      switch (outcome.kind) {
        case 'sent':
          if (said !== null) log.info({ channel: name }, `${name} takes messages again`)
          said = null
          failures = 0
          down = null
          return
        case 'busy':
          this.busyUntil = Math.max(this.busyUntil, now + outcome.retryAfterMs)
          return
        case 'failed':
          // Those that were under way together fail together: that counts once.
          if (down === null || now >= down.until) failures += 1
          down = { until: now + backoff(failures, random), why: outcome.error, retry: true }
          say('failed', outcome.error, `${name} does not answer; will try again`)
          return
        case 'refused':
          if (outcome.fault === 'message') {
            log.warn({ channel: name, error: outcome.error }, `${name} refused a message`)
            return
          }
          down = {
            until: outcome.fault === 'gone' ? Infinity : now + refusedPauseMs,
            why: outcome.error,
            retry: outcome.fault !== 'gone',
          }
          say('refused', outcome.error, `${name} refuses us; check its settings`)
      }
    },
  }
}
