// Garbage collection: by which rule a session id goes that nobody needs (pure). What keeps it all the same is the store's to
// know: see `collect` in store.ts.
import type { Run } from './session.js'

/** In this order: the first that fits is the one. */
export const collectRules = ['empty', 'trivial', 'aged'] as const
export type CollectRule = (typeof collectRules)[number]

export interface CollectSettings {
  emptyHours: number
  /** Of messages. */
  trivialMax: number
  trivialDays: number
  /** Null: age alone is no reason. */
  maxAgeDays: number | null
  /** Null: whichever. */
  platform: string | null
}

export const usualSettings: CollectSettings = {
  emptyHours: 24,
  trivialMax: 5,
  trivialDays: 7,
  maxAgeDays: null,
  platform: null,
}

/** Ten years at most: longer is for ever. Without a least age, age would be no reason. */
export const settingBounds = {
  emptyHours: { min: 0, max: 87_600 },
  trivialMax: { min: 0, max: 10_000 },
  trivialDays: { min: 0, max: 3650 },
  maxAgeDays: { min: 1, max: 3650 },
} as const

/** A session id, as it is judged. */
export interface CollectableRun extends Run {
  requester: string
  key: string
  platform: string | null
  /** The one that its session goes on with; else it was rotated away. */
  isCurrent: boolean
}

/** How many by each rule. */
export type ByRule = Record<CollectRule, number>

export function noneByRule(): ByRule {
  return { empty: 0, trivial: 0, aged: 0 }
}

export function sumOf(counts: ByRule): number {
  return collectRules.reduce((sum, rule) => sum + counts[rule], 0)
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** What was used so lately is active, however short the settings are. */
export const activeMs = hourMs

/** The rule by which it goes; null: it stays. */
export function collectRuleOf(run: CollectableRun, settings: CollectSettings, now: number): CollectRule | null {
  const { emptyHours, trivialMax, trivialDays, maxAgeDays, platform } = settings
  if ((platform !== null && run.platform !== platform) || isActive(run, now)) return null
  const idleMs = now - run.lastActiveAt
  const ageMs = now - run.createdAt
  if (run.messages === 0 && Math.min(idleMs, ageMs) >= emptyHours * hourMs) return 'empty'
  if (run.messages <= trivialMax && idleMs >= trivialDays * dayMs) return 'trivial'
  return maxAgeDays !== null && idleMs >= maxAgeDays * dayMs ? 'aged' : null
}

/** One without a message was never used. */
function isActive({ isCurrent, messages, lastActiveAt }: CollectableRun, now: number): boolean {
  return isCurrent && messages > 0 && now - lastActiveAt < activeMs
}

/** Whatever was active after this stays. */
export function idleUntil({ emptyHours, trivialDays, maxAgeDays }: CollectSettings, now: number): number {
  const days = Math.min(trivialDays, maxAgeDays ?? Infinity)
  return now - Math.min(emptyHours * hourMs, days * dayMs)
}
