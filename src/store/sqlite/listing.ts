// Where the confirmations of a listing are. Two filters that fit many each, and both together few, cost looking into two
// indexes, and what is not found is not read.
import { longestTimeoutSeconds } from '../../policy/risk.js'
import type { Status } from '../../core/model.js'
import type { ConfirmationFilter, Cursor } from '../store.js'
import type Database from './driver.js'

export type Order = 'deadline' | 'newest'

export interface Places {
  found: Cursor[]
  /** Where to go on, with nothing left out before. Null: it is the end. */
  next: Cursor | null
}

/** So many rows are gone through together. */
const blockRows = 512
/** Bounds what one listing goes through, which takes two or three milliseconds: many may ask. */
const maxBlocks = 8

/** The rows in which a filter finds what it fits, in the order of creation. */
const indexes: Record<Name, { column: string; rows: string; where?: string }> = {
  votedBy: { column: 'voter', rows: 'voters AS #' },
  sessionKey: { column: 'session_key', rows: 'confirmations AS # INDEXED BY confirmations_session_key' },
  resolvedBy: {
    column: 'resolved_by',
    rows: 'confirmations AS # INDEXED BY confirmations_resolved_by',
    where: "#.resolved_by <> ''",
  },
  requester: { column: 'requester', rows: 'confirmations AS # INDEXED BY confirmations_requester' },
  action: { column: 'action', rows: 'confirmations AS # INDEXED BY confirmations_action' },
  statuses: { column: 'status', rows: 'confirmations AS # INDEXED BY confirmations_status' },
}
type Name = 'votedBy' | 'sessionKey' | 'resolvedBy' | 'requester' | 'action' | 'statuses'
const names = Object.keys(indexes) as Name[]

interface Given {
  name: Name
  values: string[]
}

const orders = {
  newest: { key: 'created_at', way: 'DESC', behind: '<', upTo: '>=' },
  deadline: { key: 'deadline', way: 'ASC', behind: '>', upTo: '<=' },
} as const

/** What is gone through: the rows of a filter, or of all, as `a`; for each value by themselves, because so they are in order. */
interface Source {
  name: Name | null
  arms: string[]
}

export function findPlaces(db: Database.Database) {
  const statements = new Map<string, ReturnType<Database.Database['prepare']>>()

  /** There are only so many ways to put filters together. */
  function ask(text: string, values: object): Cursor[] {
    let statement = statements.get(text)
    if (statement === undefined) statements.set(text, (statement = db.prepare(text).raw()))
    return statement.all(values) as Cursor[]
  }

  return (filter: ConfirmationFilter, order: Order, limit: number, after: Cursor | null): Places => {
    const { key, way, behind, upTo } = orders[order]
    const given = names.flatMap((name) => {
      const values = valuesOf(name, filter)
      return values === undefined ? [] : [{ name, values }]
    })
    if (given.some(({ values }) => values.length === 0)) return { found: [], next: null }
    const sources = sourcesOf(given, order)
    const bounds = boundsOf(filter, order)
    const values = {
      ...filter,
      ...Object.fromEntries(given.flatMap(({ name, values }) => values.map((value, n) => [`${name}${n}`, value]))),
    }
    const select = ({ arms }: Source, conditions: string[], most: string) =>
      `${arms
        .map((arm) => `SELECT a.${key}, a.arrival FROM ${[arm, isBehind, ...conditions].join(' AND ')}`)
        .join(' UNION ALL ')} ORDER BY 1 ${way}, 2 ${way} ${most}`
    const isBehind = `(a.${key}, a.arrival) ${behind} (@key, @arrival)`
    const isInBlock = `(a.${key}, a.arrival) ${upTo} (@endKey, @endArrival)`
    const isFurther = (one: Cursor, other: Cursor) =>
      (order === 'newest' ? compare(other, one) : compare(one, other)) > 0

    const [start, end] = endsOf(filter, order)
    let place = after !== null && isFurther(after, start) ? after : start
    const found: Cursor[] = []
    for (let block = 0; block < maxBlocks; block++) {
      if (!isFurther(end, place)) return { found, next: null }
      const at = { ...values, key: place[0], arrival: place[1] }
      // Where a block reaches furthest, there are the fewest hereabouts: the others are asked for each of these alone.
      let [rarest, reached] = [sources[0]!, place]
      for (const source of sources) {
        const [last = end] = ask(select(source, [], `LIMIT 1 OFFSET ${blockRows - 1}`), at)
        if (isFurther(last, reached)) [rarest, reached] = [source, last]
      }
      if (isFurther(reached, end)) reached = end
      const others = given.filter(({ name }) => name !== rarest.name).map(isAmong)
      const most = { endKey: reached[0], endArrival: reached[1], limit: limit + 1 - found.length }
      found.push(...ask(select(rarest, [isInBlock, ...others, ...bounds], 'LIMIT @limit'), { ...at, ...most }))
      if (found.length > limit) return { found: found.slice(0, limit), next: found[limit - 1]! }
      place = reached
    }
    return { found, next: isFurther(end, place) ? place : null }
  }
}

/** The values of a filter, if it is given: one of these. */
function valuesOf(name: Name, filter: ConfirmationFilter): string[] | undefined {
  // Nobody resolved what is pending.
  const isOpen = filter.resolvedBy === ''
  if (name === 'statuses')
    return isOpen ? ['pending'].filter((one) => filter.statuses?.includes(one as Status) ?? true) : filter.statuses
  const value = name === 'resolvedBy' && isOpen ? undefined : filter[name]
  return value === undefined ? undefined : [value]
}

function sourcesOf(given: Given[], order: Order): Source[] {
  // Left to itself, the planner takes the index on status and sorts everything that is pending.
  if (order === 'deadline') return [all('confirmations_pending', "a.status = 'pending'")]
  if (given.length === 0) return [all('confirmations_created_at', 'true')]
  return given.map(({ name, values }) => ({ name, arms: values.map((_, n) => rowsOf(name, 'a', [n])) }))
}

function all(index: string, condition: string): Source {
  return { name: null, arms: [`confirmations AS a INDEXED BY ${index} WHERE ${condition}`] }
}

/** What has one of these values of the filter. */
function rowsOf(name: Name, alias: string, values: number[]): string {
  const { column, rows, where = 'true' } = indexes[name]
  const oneOf = values.map((n) => `@${name}${n}`).join()
  return `${rows} WHERE ${where} AND #.${column} IN (${oneOf})`.replaceAll('#', alias)
}

function isAmong({ name, values }: Given): string {
  const own = rowsOf(name, 'b', [...values.keys()])
  return `EXISTS (SELECT 1 FROM ${own} AND b.created_at = a.created_at AND b.arrival = a.arrival)`
}

/** From where to where there may be some. Nothing is resolved before it is created, nor after its deadline. */
function endsOf(
  { since = 0, until = Infinity, resolvedSince = 0, resolvedUntil = Infinity }: ConfirmationFilter,
  order: Order,
): [Cursor, Cursor] {
  if (order === 'deadline')
    return [
      [-1, 0],
      [Infinity, 0],
    ]
  return [
    [Math.min(until, resolvedUntil), 0],
    [Math.max(since, resolvedSince - longestTimeoutSeconds * 1000), 0],
  ]
}

/** What these ends leave open. */
function boundsOf(filter: ConfirmationFilter, order: Order): string[] {
  const resolved = (condition: string) =>
    `EXISTS (SELECT 1 FROM confirmations AS b WHERE b.arrival = a.arrival AND b.resolved_at ${condition})`
  return [
    ...(order === 'newest' || filter.since === undefined ? [] : ['a.created_at >= @since']),
    ...(order === 'newest' || filter.until === undefined ? [] : ['a.created_at < @until']),
    ...(filter.resolvedSince === undefined ? [] : [resolved('>= @resolvedSince')]),
    ...(filter.resolvedUntil === undefined ? [] : [resolved('< @resolvedUntil')]),
  ]
}

function compare(one: Cursor, other: Cursor): number {
  return one[0] - other[0] || one[1] - other[1]
}
