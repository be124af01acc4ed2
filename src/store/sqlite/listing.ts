// Where the confirmations of a listing are. Two filters that fit many each, and both together few, cost looking into two
// indexes, and what is not found is not read.
import { system, textOf } from '../../core/actor.js'
import { longestTimeoutSeconds } from '../../policy/risk.js'
import type { Status } from '../../core/model.js'
import type { ConfirmationFilter, Cursor } from '../store.js'
import type Database from './driver.js'
import { facets, type FacetName, filedUpTo } from './filing.js'

export type Order = 'deadline' | 'newest' | 'oldest'

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
  sessionKey: filedBy('sessionKey'),
  resolvedBy: {
    column: 'resolved_by',
    rows: 'confirmations AS # INDEXED BY confirmations_resolved_by',
    where: "#.resolved_by <> ''",
  },
  requester: filedBy('requester'),
  action: filedBy('action'),
  statuses: { column: 'status', rows: 'confirmations AS # INDEXED BY confirmations_status' },
}
type Name = 'votedBy' | 'sessionKey' | 'resolvedBy' | 'requester' | 'action' | 'statuses'
const names = Object.keys(indexes) as Name[]

/** Only what is filed: see `unfiled`. */
function filedBy(name: FacetName) {
  return { column: 'value', rows: 'filed AS #', where: `#.facet = ${facets[name].number}` }
}

interface Given {
  name: Name
  values: string[]
}

const orders = {
  newest: { key: 'created_at', way: 'DESC', behind: ['(a.created_at, a.arrival) < (@key, @arrival)'], upTo: '>=' },
  // In two parts, because a comparison of pairs looks through all that have the same time: many may come, or expire, together.
  oldest: {
    key: 'created_at',
    way: 'ASC',
    behind: ['a.created_at = @key AND a.arrival > @arrival', 'a.created_at > @key'],
    upTo: '<=',
  },
  deadline: {
    key: 'due_at',
    way: 'ASC',
    behind: ['a.due_at = @key AND a.arrival > @arrival', 'a.due_at > @key'],
    upTo: '<=',
  },
} as const

/** What is pending is due at its deadline. As the index on what is due has it: of that it is what has no execution. */
export const isPending = 'execution IS NULL'
/** What is written as pending, and has expired by now. */
const isOverdue = "b.status = 'pending' AND b.deadline <= @now"
const byTimeout = textOf(system('timeout'))

/** What is gone through: the rows of a filter, or of all, as `a`; for each value by themselves, because so they are in order. */
interface Source {
  name: Name | null
  arms: string[]
}

export function findPlaces(db: Database.Database) {
  const statements = new Map<string, ReturnType<Database.Database['prepare']>>()
  const anyOverdue = db.prepare(
    `SELECT 1 FROM confirmations INDEXED BY confirmations_due WHERE ${isPending} AND due_at <= ? LIMIT 1`,
  )

  /** There are only so many ways to put filters together. */
  function ask(text: string, values: object): Cursor[] {
    let statement = statements.get(text)
    if (statement === undefined) statements.set(text, (statement = db.prepare(text).raw()))
    return statement.all(values) as Cursor[]
  }

  /** What fits the filter as of `now`, whether or not it is written like that yet. */
  return (asked: ConfirmationFilter, order: Order, limit: number, after: Cursor | null, now: number): Places => {
    const { key, way, behind, upTo } = orders[order]
    const hasOverdue = order !== 'deadline' && anyOverdue.get(now) !== undefined
    const meant = withStatuses(asked, hasOverdue)
    const filter = hasOverdue ? asWritten(meant) : meant
    const given = names.flatMap((name) => {
      const values = valuesOf(name, filter)
      return values === undefined ? [] : [{ name, values }]
    })
    if (given.some(({ values }) => values.length === 0)) return { found: [], next: null }
    const sources = sourcesOf(given, order)
    const bounds = [...boundsOf(filter, order, hasOverdue), ...(hasOverdue ? truthOf(meant) : [])]
    const values = {
      ...filter,
      now,
      ...Object.fromEntries((meant.statuses ?? []).map((status, n) => [`meant${n}`, status])),
      ...Object.fromEntries(given.flatMap(({ name, values }) => values.map((value, n) => [`${name}${n}`, value]))),
    }
    const select = ({ arms }: Source, conditions: string[], most: string) =>
      `${arms
        .flatMap((arm) =>
          behind.map((one) => `SELECT a.${key}, a.arrival FROM ${[arm, one, ...conditions].join(' AND ')}`),
        )
        .join(' UNION ALL ')} ORDER BY 1 ${way}, 2 ${way} ${most}`
    const isInBlock = `(a.${key}, a.arrival) ${upTo} (@endKey, @endArrival)`
    const isFurther = (one: Cursor, other: Cursor) =>
      (order === 'newest' ? compare(other, one) : compare(one, other)) > 0

    const [start, end] = endsOf(filter, order, now)
    let place = after !== null && isFurther(after, start) ? after : start
    const most = { endKey: end[0], endArrival: end[1], limit: limit + 1 }
    const [unfiled, rest] = unfiledOf(given, order)
    let alsoFound =
      unfiled === null
        ? []
        : ask(select(unfiled, [isInBlock, ...rest.map(isAmong), ...bounds], 'LIMIT @limit'), {
            ...values,
            ...most,
            key: place[0],
            arrival: place[1],
          })
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
      const inBlock = ask(select(rarest, [isInBlock, ...others, ...bounds], 'LIMIT @limit'), { ...at, ...most })
      const alsoInBlock = alsoFound.filter((one) => !isFurther(one, reached))
      alsoFound = alsoFound.slice(alsoInBlock.length)
      found.push(...[...inBlock, ...alsoInBlock].sort((one, other) => (isFurther(one, other) ? 1 : -1)))
      if (found.length > limit) return { found: found.slice(0, limit), next: found[limit - 1]! }
      place = reached
    }
    return { found, next: isFurther(end, place) ? place : null }
  }
}

/** In words of the status alone, where the filter says who resolved it. Nobody resolved what is pending. */
function withStatuses(filter: ConfirmationFilter, hasOverdue: boolean): ConfirmationFilter {
  const { resolvedBy, statuses } = filter
  const only: Status | null = resolvedBy === '' ? 'pending' : hasOverdue && resolvedBy === byTimeout ? 'expired' : null
  if (only === null) return filter
  return { ...filter, resolvedBy: undefined, statuses: statuses?.includes(only) === false ? [] : [only] }
}

/** What has expired may still be written as pending. */
function asWritten(filter: ConfirmationFilter): ConfirmationFilter {
  const { statuses } = filter
  if (statuses?.includes('expired') !== true || statuses.includes('pending')) return filter
  return { ...filter, statuses: [...statuses, 'pending'] }
}

function truthOf({ statuses }: ConfirmationFilter): string[] {
  if (statuses === undefined) return []
  const oneOf = statuses.map((_, n) => `@meant${n}`).join()
  return [
    `EXISTS (SELECT 1 FROM confirmations AS b WHERE b.arrival = a.arrival
      AND iif(${isOverdue}, 'expired', b.status) IN (${oneOf}))`,
  ]
}

/** The values of a filter, if it is given: one of these. */
function valuesOf(name: Name, filter: ConfirmationFilter): string[] | undefined {
  if (name === 'statuses') return filter.statuses
  const value = filter[name]
  return value === undefined ? undefined : [value]
}

function sourcesOf(given: Given[], order: Order): Source[] {
  // Left to itself, the planner takes the index on status and sorts everything that is pending.
  if (order === 'deadline') return [all('confirmations_due', `a.${isPending}`)]
  if (given.length === 0) return [all('confirmations_created_at', 'true')]
  return given.map(({ name, values }) => ({ name, arms: values.map((_, n) => rowsOf(name, 'a', [n])) }))
}

/** What is not filed yet by all of the filters that look into files, and fits them; and the other filters. Null: none does. */
function unfiledOf(given: Given[], order: Order): [Source | null, Given[]] {
  const isFiled = ({ name }: Given) => name in facets
  const filed = given.filter(isFiled)
  if (filed.length === 0) return [null, given]
  const ofFacets = filed.map(({ name }) => facets[name as FacetName])
  const conditions = filed.map(({ name }, n) => `a.${ofFacets[n]!.column} = @${name}0`)
  if (order === 'deadline') conditions.push("a.status = 'pending'")
  // Of one value the function is another, which wants a table.
  const filedByAll = `min(${[...ofFacets.map(({ number }) => filedUpTo(number)), Number.MAX_SAFE_INTEGER].join()})`
  const arm = `confirmations AS a NOT INDEXED WHERE a.arrival > ${filedByAll} AND ${conditions.join(' AND ')}`
  return [{ name: null, arms: [arm] }, given.filter((one) => !isFiled(one))]
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
  now: number,
): [Cursor, Cursor] {
  if (order === 'deadline')
    return [
      [now, Infinity],
      [Infinity, 0],
    ]
  const latest: Cursor = [Math.min(until, resolvedUntil), 0]
  const earliest: Cursor = [Math.max(since, resolvedSince - longestTimeoutSeconds * 1000), 0]
  return order === 'newest' ? [latest, earliest] : [earliest, latest]
}

/** What these ends leave open. */
function boundsOf(filter: ConfirmationFilter, order: Order, hasOverdue: boolean): string[] {
  const resolvedAt = hasOverdue ? `coalesce(b.resolved_at, iif(${isOverdue}, b.deadline, NULL))` : 'b.resolved_at'
  const resolved = (condition: string) =>
    `EXISTS (SELECT 1 FROM confirmations AS b WHERE b.arrival = a.arrival AND ${resolvedAt} ${condition})`
  return [
    ...(order !== 'deadline' || filter.since === undefined ? [] : ['a.created_at >= @since']),
    ...(order !== 'deadline' || filter.until === undefined ? [] : ['a.created_at < @until']),
    ...(filter.arrivedUpTo === undefined ? [] : ['a.arrival <= @arrivedUpTo']),
    ...(filter.resolvedSince === undefined ? [] : [resolved('>= @resolvedSince')]),
    ...(filter.resolvedUntil === undefined ? [] : [resolved('< @resolvedUntil')]),
  ]
}

function compare(one: Cursor, other: Cursor): number {
  return one[0] - other[0] || one[1] - other[1]
}
