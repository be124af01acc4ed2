// What the events of each thousand numbers have to do with, so that a reader with filters passes over those that have none for
// it: each value of a filter, and each two values that one event has. It is kept as bits (a Bloom filter), which may say that
// there is one where there is none, and never the reverse.
import type { EventFilter } from '../store.js'
import type { SqlValue } from '../table.js'
import type Database from './driver.js'

/** Numbers of events that are marked together. */
const span = 1000
/** A reader looks for one mark, so marks stand in so many rows by themselves. */
const pieces = 16
const bitsOfMark = 6
/** With so much room at least for each mark, of a thousand that have nothing to be found one is looked through. */
const roomForMark = 16

/** Looked at with one statement. */
const together = 64

/** Of the confirmation that the event is about, or of its own. */
export function facetOfEvent(column: string): string {
  return `coalesce((SELECT ${column} FROM confirmations WHERE id = confirmation_id), ${ownFacet(column)})`
}

function ownFacet(column: string): string {
  return `json_extract(data, '$.${column}')`
}

/**
 * For the writer: marks the next thousand numbers that are complete. Answers whether there were any. In order and without a
 * gap, so that a thousand before the last that is marked, and itself not there, has no events.
 */
export function markEvents(db: Database.Database): () => boolean {
  const sql = {
    next: db
      .prepare(
        `SELECT seq FROM events
        WHERE seq >= coalesce((SELECT max(n) + 1 FROM event_marks WHERE piece = 0), 0) * ${span} ORDER BY seq LIMIT 1`,
      )
      .pluck(),
    last: db.prepare('SELECT max(seq) FROM events').pluck(),
    facets: db
      .prepare(
        `SELECT type, actor, via, ${['action', 'requester', 'session_key']
          .map((column) => `coalesce(confirmations.${column}, ${ownFacet(column)})`)
          .join(', ')}
        FROM events LEFT JOIN confirmations ON confirmations.id = confirmation_id WHERE seq >= ? AND seq < ?`,
      )
      .raw(),
    insert: db.prepare('INSERT INTO event_marks (piece, n, bits) VALUES (?, ?, ?)'),
  }

  return () => {
    const next = sql.next.get() as number | undefined
    const last = sql.last.get() as number
    if (next === undefined || thousandOf(next) === thousandOf(last)) return false
    const n = thousandOf(next)
    const marks = new Set<number>()
    for (const values of sql.facets.iterate(n * span, (n + 1) * span) as IterableIterator<SqlValue[]>) {
      const hashes: number[] = []
      values.forEach((value, facet) => value !== null && hashes.push(hash(facet, String(value))))
      for (const one of [...hashes, ...pairsOf(hashes)]) marks.add(one)
    }
    draw(marks, n).forEach((bits, piece) => sql.insert.run(piece, n, bits))
    return true
  }
}

/**
 * The first number from `from` on at which there may be an event that fits. Takes what it looks at from the budget, and when
 * that is used up answers where it is.
 */
export type SeekMarks = (from: number, budget: Budget) => number

export interface Budget {
  marks: number
}

/** Null: nothing of this filter is marked. */
export function seekMarks(db: Database.Database): (filter: EventFilter) => SeekMarks | null {
  const sql = {
    end: db.prepare('SELECT coalesce(max(n) + 1, 0) FROM event_marks WHERE piece = 0').pluck(),
    some: db.prepare('SELECT n, bits FROM event_marks WHERE piece = ? AND n >= ? ORDER BY n LIMIT ?').raw(),
  }

  return (filter) => {
    const ways = waysToFit(filter)
    if (ways.length === 0) return null
    /** Of the next thousands those with all these marks, and the last of them that was looked at. */
    const look = (way: number[], n: number, budget: Budget) => {
      let fitting: Set<number> | undefined
      let last = Infinity
      for (const mark of way) {
        const rows = sql.some.all(pieceOf(mark), n, together) as [number, Buffer][]
        budget.marks -= rows.length
        if (rows.length === together) last = rows.at(-1)![0]
        const found = rows.filter(([n, bits]) => fitting?.has(n) !== false && has(bits, n, mark))
        fitting = new Set(found.map(([n]) => n))
        if (found.length === 0) break
      }
      return { first: Math.min(...(fitting ?? [])), last }
    }

    return (from, budget) => {
      const end = sql.end.get() as number
      let n = thousandOf(from)
      while (n < end) {
        if (budget.marks <= 0) return Math.max(from, n * span)
        const looked = ways.map((way) => look(way, n, budget))
        const first = Math.min(...looked.map((one) => one.first))
        if (first < end) return Math.max(from, first * span)
        n = Math.min(end, ...looked.map(({ last }) => last + 1))
      }
      return Math.max(from, end * span)
    }
  }
}

/** For each type that is asked for, the marks that an event has which fits; of several values each two. */
function waysToFit({ types, actor, channel, action, requester, sessionKey }: EventFilter): number[][] {
  const others = [actor, channel, action, requester, sessionKey].flatMap((value, place) =>
    value === undefined ? [] : [hash(place + 1, value)],
  )
  const ways = types === undefined ? [others] : types.map((type) => [hash(0, type), ...others])
  return ways.filter((hashes) => hashes.length > 0).map((hashes) => (hashes.length === 1 ? hashes : pairsOf(hashes)))
}

function pairsOf(hashes: number[]): number[] {
  const pairs: number[] = []
  for (let one = 0; one < hashes.length; one++) {
    for (let other = one + 1; other < hashes.length; other++) pairs.push(mix(hashes[one]! ^ mix(hashes[other]!)))
  }
  return pairs
}

/** A value of the facet at this place, as a number of 30 bits. */
function hash(facet: number, value: string): number {
  let sum = mix(facet + 1)
  for (let at = 0; at < value.length; at++) sum = Math.imul(sum ^ value.charCodeAt(at), 0x01000193)
  return mix(sum)
}

/** Each bit of the answer depends on each of what is given. It has 30 bits, for which V8 takes no memory. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 2
}

/** The bits of each piece. */
function draw(marks: Set<number>, n: number): Buffer[] {
  const bytes = 2 ** Math.ceil(Math.log2(Math.max(8, (marks.size * roomForMark) / pieces / 8)))
  const drawn = Array.from({ length: pieces }, () => Buffer.alloc(bytes))
  for (const mark of marks) {
    const bits = drawn[pieceOf(mark)]!
    const seed = mix(mark ^ mix(n))
    for (let index = 0; index < bitsOfMark; index++) {
      const place = placeOf(bits, seed, index)
      bits[place >>> 3]! |= 1 << (place & 7)
    }
  }
  return drawn
}

function has(bits: Buffer, n: number, mark: number): boolean {
  const seed = mix(mark ^ mix(n))
  for (let index = 0; index < bitsOfMark; index++) {
    const place = placeOf(bits, seed, index)
    if ((bits[place >>> 3]! & (1 << (place & 7))) === 0) return false
  }
  return true
}

/** Of one of the bits that stand for a mark: others in each thousand, so that what is mistaken in one is not so in all. */
function placeOf(bits: Buffer, seed: number, index: number): number {
  return (seed + index * (mix(seed) | 1)) & (bits.length * 8 - 1)
}

function pieceOf(mark: number): number {
  return mark % pieces
}

/** The last number that is marked together with this one. */
export function endOfThousand(seq: number): number {
  return (thousandOf(seq) + 1) * span - 1
}

export function thousandOf(seq: number): number {
  return Math.floor(seq / span)
}
