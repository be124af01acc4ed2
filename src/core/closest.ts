// The name that was meant, of those there are.

/** None of ours is nearly as long, and comparing costs the product of both lengths. */
const maxCompared = 60

/** One that may well have been mistyped or cut short as this; undefined if none is near. */
export function nearTo(name: string, known: readonly string[]): string | undefined {
  const meant = name.slice(0, maxCompared).toLowerCase()
  if (meant.length < 2) return undefined
  const [nearest] = known
    .map((one) => ({ one, edits: editsBetween(meant, one.toLowerCase()) }))
    .filter(({ one, edits }) => edits <= Math.max(1, Math.floor(Math.min(meant.length, one.length) / 3)))
    .toSorted((a, b) => a.edits - b.edits)
  if (nearest !== undefined) return nearest.one
  // Cut short, at the beginning or the end, it must be clear which.
  const longer = known.filter((one) => isEndOf(meant, one.toLowerCase()))
  return longer.length === 1 ? longer[0] : undefined
}

function isEndOf(part: string, whole: string): boolean {
  return whole.startsWith(part) || (whole.endsWith(part) && /^[-_ ]$/.test(whole.at(-part.length - 1) ?? ''))
}

/** How many letters must be put in, taken out, changed or swapped with the next to get from one to the other. */
export function editsBetween(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j]!, before[j - 2]! + 1)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
