// By what confirmations are found: their action, requester and session, and the end of their id. An index would be written with
// each of them, a page here and a page there; so they are filed many together, after their commit, and what is not filed yet,
// which is never much, is looked through. Each facet is filed by itself, so that it does not keep others waiting for long.
import type Database from './driver.js'

/** By their numbers in the table `filed`. */
export const facets = {
  action: { number: 1, column: 'action' },
  requester: { number: 2, column: 'requester' },
  sessionKey: { number: 3, column: 'session_key' },
} as const
export type FacetName = keyof typeof facets

/** Filed by `idEndValue`. */
export const idEnd = 4

/** The ends of so many ids stand together, because chance would spread them over all pages there are. */
export const idsTogether = 8192

/** The last of those that are filed by this facet. */
export function filedUpTo(facet: number): string {
  return `(SELECT arrival FROM filed_up_to WHERE facet = ${facet})`
}

/** The most in one go, which takes some milliseconds. */
const together = 2000

/** For the writer, inside a transaction, a function for each facet: files the next ones, and answers how many. */
export function fileConfirmations(db: Database.Database): (() => number)[] {
  const by = Object.values(facets).map(({ number, column }) => [number, column] as const)
  return [...by, [idEnd, `(arrival / ${idsTogether}) || ':' || substr(id, -6)`] as const].map(([facet, value]) => {
    const next = db.prepare(
      `SELECT ${filedUpTo(facet)} AS "from", max(arrival) AS "to", count(*) AS count FROM
        (SELECT arrival FROM confirmations WHERE arrival > ${filedUpTo(facet)} ORDER BY arrival LIMIT ${together})`,
    )
    const file = db.prepare(
      `INSERT INTO filed SELECT ${facet}, ${value}, created_at, arrival
      FROM confirmations NOT INDEXED WHERE arrival > @from AND arrival <= @to ORDER BY 2, 3, 4`,
    )
    const note = db.prepare(`UPDATE filed_up_to SET arrival = ? WHERE facet = ${facet}`)
    return () => {
      const { count, ...range } = next.get() as { from: number; to: number | null; count: number }
      if (count === 0) return 0
      file.run(range)
      note.run(range.to)
      return count
    }
  })
}

/** How many are not filed yet, by the facet that has most of them. */
export function countUnfiled(db: Database.Database): number {
  const sql = 'SELECT count(*) FROM confirmations WHERE arrival > (SELECT min(arrival) FROM filed_up_to)'
  return db.prepare(sql).pluck().get() as number
}
