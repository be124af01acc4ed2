// The name that was meant, of those there are.

/** None of ours is nearly as long, and comparing costs the product of both lengths. */
const maxCompared = 60

/** Undefined if there is none at all. What holds the name, or is held by it, is closer than what takes few changes. */
export function closestTo(name: string, known: readonly string[]): string | undefined {
  const meant = name.slice(0, maxCompared).toLowerCase()
  const isPart = (one: string) => meant.length > 1 && (one.includes(meant) || meant.includes(one))
  const distance = (one: string) => editsBetween(meant, one) - (isPart(one) ? maxCompared : 0)
  return known.map((one) => ({ one, distance: distance(one) })).toSorted((a, b) => a.distance - b.distance)[0]?.one
}

/** How many letters must be put in, taken out or changed to get from one to the other. */
export function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}
