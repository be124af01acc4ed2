// By what confirmations are found: their action, requester and session, and the end of their id. An index would be written with
// each of them, a page here and a page there; so they are filed many together, after their commit, and what is not filed yet,
// which is never much, is looked through.
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

/** The last of those that are filed. */
export const filedUpTo = '(SELECT arrival FROM filed_up_to)'

/** So many in one go, which takes some milliseconds. */
const together = 1000

/** For the writer, inside a transaction: files the next ones, and answers how many. */
export function fileConfirmations(db: Database.Database): () => number {
  const some = 'FROM confirmations NOT INDEXED WHERE arrival > @from AND arrival <= @to'
  const file = (facet: number, value: string) =>
    db.prepare(`INSERT INTO filed SELECT ${facet}, ${value}, created_at, arrival ${some} ORDER BY 2, 3, 4`)
  const sql = {
    next: db.prepare(
      `SELECT ${filedUpTo} AS "from", max(arrival) AS "to", count(*) AS count FROM
        (SELECT arrival FROM confirmations WHERE arrival > ${filedUpTo} ORDER BY arrival LIMIT ${together})`,
    ),
    file: [
      ...Object.values(facets).map(({ number, column }) => file(number, column)),
      file(idEnd, `(arrival / ${idsTogether}) || ':' || substr(id, -6)`),
    ],
    note: db.prepare('UPDATE filed_up_to SET arrival = ?'),
  }
  return () => {
    const { count, ...range } = sql.next.get() as { from: number; to: number | null; count: number }
    if (count === 0) return 0
    for (const statement of sql.file) statement.run(range)
    sql.note.run(range.to)
    return count
  }
}

/** How many are not filed yet. */
export function countUnfiled(db: Database.Database): number {
  return db.prepare(`SELECT count(*) FROM confirmations WHERE arrival > ${filedUpTo}`).pluck().get() as number
}
