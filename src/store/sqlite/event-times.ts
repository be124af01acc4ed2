// Where in the history events of some time are, without looking at the rest. Numbers and times grow together, but for a
// clock that was set back; so of each thousand events, and of each million, it is on record between which times they are.
import type Database from './driver.js'

const sizes = { thousand: 1000, million: 1_000_000 }

/** The first number from `from` on at which to look for events from `since` and before `until`; undefined: there are none. */
export type SeekTime = (from: number, last: number, since: number, until: number) => number | undefined

export function seekTimes(db: Database.Database): SeekTime {
  const span = db
    .prepare(
      `SELECT n FROM event_spans WHERE size = ? AND n >= ? AND n < ? AND last_at >= ? AND first_at < ?
        ORDER BY n LIMIT 1`,
    )
    .pluck()

  return (from, last, since, until) => {
    /** The first place from here on, and before `end`, in a span that may have one. What is not complete always may. */
    const find = (size: number, place: number, end: number): number | undefined => {
      const [first, over, open] = [place, end, last].map((seq) => Math.floor(seq / size)) as [number, number, number]
      const found = span.get(size, first, over, since, until) as number | undefined
      const n = found ?? (first <= open && open < over ? open : undefined)
      return n === undefined ? undefined : Math.max(place, n * size)
    }

    let place: number | undefined = from
    while (place !== undefined && place <= last) {
      place = find(sizes.million, place, Infinity)
      if (place === undefined) return undefined
      const end = (Math.floor(place / sizes.million) + 1) * sizes.million
      const found = find(sizes.thousand, place, end)
      if (found !== undefined) return found
      place = end
    }
    return undefined
  }
}
