// Times as a terminal shows them.

const units: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/** The two largest units: 4 min 12 s. What is not over yet is at least a second. */
export function lengthOf(ms: number): string {
  let seconds = Math.max(0, Math.ceil(ms / 1000))
  const words: string[] = []
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0) words.push(`${count} ${unit}`)
    else if (words.length > 0) break
    if (words.length === 2) break
  }
  return words.join(' ') || '0 s'
}

/** 2026-01-31 14:00:00 UTC */
export function momentOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}
