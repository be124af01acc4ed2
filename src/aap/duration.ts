// Durations as the Agent Approval Protocol writes them: a positive whole number with its unit, as 30s, 30m or 24h.

export const durationPattern = /^[1-9][0-9]*[smh]$/
const seconds = { s: 1, m: 60, h: 3600 }

/** In seconds; null: it is none. Past what a number can count exactly it is longer than anybody waits. */
export function readDuration(text: string): number | null {
  if (!durationPattern.test(text)) return null
  const unit = text.at(-1) as keyof typeof seconds
  return Math.min(Number(text.slice(0, -1)) * seconds[unit], Number.MAX_SAFE_INTEGER)
}
