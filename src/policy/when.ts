// `when`: conditions, read from the rules file or from the JSON of a whitelist entry, by the same reader.
import { Document, isMap, isSeq, type Node, visit } from 'yaml'
import { canonical } from '../core/json.js'
import { type Comparison, type Condition, createCondition, operators, readPath, type Scalar } from './condition.js'
import {
  allEntries,
  type Complain,
  entriesOf,
  type Entry,
  isBlank,
  maxName,
  type Read,
  readScalar,
  readTruth,
} from './nodes.js'

/** All that a value may be compared by, and whether all that a * stands for must pass. */
export const comparisonNames = [...operators, 'every'] as const

export function readWhen(node: Node, key: Node, complain: Complain): Read<Condition[]> {
  const hint = '`when` needs at least one condition, such as `amount: { at_most: 100 }`'
  if (!isMap(node) || node.items.length === 0) return void complain(key, hint)
  const conditions = allEntries(node, complain).map((entry) => readCondition(entry, complain))
  return conditions.includes(undefined) ? undefined : (conditions as Condition[])
}

function readCondition({ name: path, key, value }: Entry, complain: Complain): Read<Condition> {
  const steps = readPath(path)
  if (typeof steps === 'string') return void complain(key, `the path \`${path}\` ${steps}`)
  if (value === null || isBlank(value)) {
    return void complain(key, `\`${path}\` has nothing to compare with; say null if you mean that`)
  }
  if (!isMap(value)) {
    const scalar = readScalar(value, `\`${path}\``, complain)
    return scalar === undefined ? undefined : createCondition(path, steps, [{ operator: 'equals', value: scalar }])
  }
  const found = entriesOf(value, comparisonNames, complain, 'comparison')
  const comparisons = operators.flatMap((operator) => {
    const entry = found.get(operator)
    return entry === undefined ? [] : [readComparison(operator, entry, complain)]
  })
  const every = found.get('every')
  const isEvery = every === undefined ? false : readTruth(every.value ?? every.key, 'every', complain)
  if (found.size < value.items.length || comparisons.includes(undefined) || isEvery === undefined) return undefined
  if (comparisons.length === 0)
    return void complain(key, `\`${path}\` is compared with nothing; say how, such as \`equals\``)
  const isAbsent = comparisons.some((one) => one!.operator === 'exists' && one!.value === false)
  if (isAbsent && found.size > 1) {
    return void complain(key, `\`exists: false\` leaves nothing to compare; remove what stands beside it`)
  }
  if (isEvery && !steps.includes(null)) return void complain(every!.key, '`every` needs a path with a *')
  return createCondition(path, steps, comparisons as Comparison[], isEvery)
}

function readComparison(operator: Comparison['operator'], entry: Entry, complain: Complain): Read<Comparison> {
  const node = entry.value
  if (node === null || isBlank(node)) return void complain(entry.key, `\`${operator}\` has no value`)
  let value: Read<Scalar | Scalar[]>
  if (operator === 'exists') value = readTruth(node, operator, complain)
  else if (operator === 'in') {
    if (!isSeq<Node>(node) || node.items.length === 0) {
      return void complain(node, '`in` needs a list of values, such as [eu, us]')
    }
    const values = node.items.map((item) => readScalar(item, 'each value of `in`', complain))
    value = values.includes(undefined) ? undefined : (values as Scalar[])
  } else {
    const scalar = readScalar(node, `\`${operator}\``, complain)
    if (scalar === undefined) return undefined
    if (operator === 'matches' && (typeof scalar !== 'string' || scalar.length > maxName)) {
      return void complain(node, `\`matches\` needs text of at most ${maxName} characters, such as '*.example.com'`)
    }
    if (operator !== 'matches' && operator !== 'equals' && typeof scalar !== 'number') {
      return void complain(node, `\`${operator}\` compares numbers, without quotes`)
    }
    value = scalar
  }
  return value === undefined ? undefined : { operator, value }
}

/** So many conditions are enough for an entry, and so much text: every request it might cover is held against them. */
export const maxConditions = 20
export const maxWhen = 2000

/** Why this is no `when`, if so: the first mistake in it. */
export function flawOfWhen(when: Record<string, unknown>): string | null {
  if (Object.keys(when).length > maxConditions) return `\`when\` takes at most ${maxConditions} conditions`
  if (canonical(when).length > maxWhen) return `\`when\` must have at most ${maxWhen} characters`
  const mistakes: string[] = []
  readObject(when, (_node, sentence) => mistakes.push(sentence))
  return mistakes[0] ?? null
}

/** What was read is read again with every request: a few of them are remembered. */
const maxRemembered = 1000
const remembered = new Map<string, Condition[] | null>()

/** Whether these details meet every condition of a `when`, which is JSON text. What cannot be read is met by nothing. */
export function meets(details: unknown, when: string): boolean {
  let conditions = remembered.get(when)
  if (conditions === undefined) {
    conditions = readObject(JSON.parse(when) as object, () => {}) ?? null
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(when, conditions)
  }
  return conditions !== null && conditions.every(({ holds }) => holds(details))
}

function readObject(when: object, complain: Complain): Read<Condition[]> {
  const node = new Document(when).contents as Node
  // In JSON every null is written out.
  visit(node, { Scalar: (_key, scalar) => void (scalar.value === null && (scalar.source = 'null')) })
  return readWhen(node, node, complain)
}
