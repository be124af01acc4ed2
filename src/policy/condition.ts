// The language of `when`: a path into the details, and comparisons that what stands there must pass. Own members only,
// no regular expressions, and never more work than there are details.
import { compileGlob } from './glob.js'

export type Scalar = string | number | boolean | null

export const operators = [
  'equals',
  'in',
  'greater_than',
  'at_least',
  'less_than',
  'at_most',
  'matches',
  'exists',
] as const
export type Operator = (typeof operators)[number]

export interface Comparison {
  operator: Operator
  value: Scalar | Scalar[]
}

/** A member or an element by its name, or null for any. */
export type Step = string | null

export interface Condition {
  /** As it was written. */
  path: string
  steps: Step[]
  comparisons: Comparison[]
  /** All that a * stands for must pass, not just one. */
  every: boolean
  holds: (details: unknown) => boolean
}

export function createCondition(path: string, steps: Step[], comparisons: Comparison[], every = false): Condition {
  const tests = comparisons.filter(({ operator }) => operator !== 'exists').map(compile)
  const passes = (value: unknown) => tests.every((test) => test(value))
  const isAbsent = comparisons.some(({ operator, value }) => operator === 'exists' && value === false)
  const holds = isAbsent
    ? (details: unknown) => !leads(details, steps, 0, () => true, false)
    : (details: unknown) => leads(details, steps, 0, passes, every)
  return { path, steps, comparisons, every, holds }
}

function compile({ operator, value }: Comparison): (found: unknown) => boolean {
  const number = value as number
  switch (operator) {
    case 'equals':
      return (found) => found === value
    case 'in':
      return (found) => (value as unknown[]).includes(found)
    case 'greater_than':
      return (found) => typeof found === 'number' && found > number
    case 'at_least':
      return (found) => typeof found === 'number' && found >= number
    case 'less_than':
      return (found) => typeof found === 'number' && found < number
    case 'at_most':
      return (found) => typeof found === 'number' && found <= number
    case 'matches': {
      const fits = compileGlob(value as string)
      return (found) => typeof found === 'string' && fits(found)
    }
    case 'exists':
      return () => true
  }
}

/** Whether the path leads to a value that passes; with `every`, whether each branch of it does. */
function leads(
  value: unknown,
  steps: Step[],
  at: number,
  passes: (value: unknown) => boolean,
  every: boolean,
): boolean {
  if (at === steps.length) return passes(value)
  const members = membersOf(value, steps[at]!)
  if (members.length === 0) return false
  const goesOn = (member: unknown) => leads(member, steps, at + 1, passes, every)
  return every ? members.every(goesOn) : members.some(goesOn)
}

function membersOf(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (step === null) return Object.values(value)
  // The length of a list is not a member of it.
  if (Array.isArray(value) && !/^\d+$/.test(step)) return []
  return Object.hasOwn(value, step) ? [(value as Record<string, unknown>)[step]] : []
}

/** All that the path leads to, at most `max`. */
export function valuesAt(details: unknown, { steps }: Condition, max: number): unknown[] {
  const found: unknown[] = []
  leads(details, steps, 0, (value) => found.push(value) >= max, false)
  return found
}

/** More steps lead deeper than details can go. */
const maxSteps = 64

/** `a.b`, `items.*.kind`, `labels."a.b"`: the steps of a path, or what is wrong with it. */
export function readPath(path: string): Step[] | string {
  const steps: Step[] = []
  const segment = /"(?:[^"\\]|\\.)*"|[^."]+/y
  let at = 0
  for (;;) {
    segment.lastIndex = at
    const text = segment.exec(path)?.[0]
    if (text === undefined) return at >= path.length ? 'ends with a dot' : 'has a place with no name'
    if (text.startsWith('"')) {
      try {
        steps.push(JSON.parse(text) as string)
      } catch {
        return `has a part in quotes that is not JSON text: ${text}`
      }
    } else if (text === '*') steps.push(null)
    else if (/[*?[\]]/.test(text)) {
      return `has ${text}: write a list's element as items.0, any of them as items.*, other names in "double quotes"`
    } else if (text !== text.trim()) return 'has spaces beside a dot or at its end'
    else steps.push(text)
    at += text.length
    if (at === path.length) break
    if (path[at] !== '.') return 'needs a dot between its parts'
    at += 1
  }
  return steps.length > maxSteps ? `has more than ${maxSteps} parts` : steps
}

/** A condition in words. */
export function describeCondition(condition: Condition): string {
  return `${condition.every ? 'every ' : ''}${condition.path} is ${describeDemand(condition)}`
}

/** What a condition wants, as it follows "is" or "must be". */
export function describeDemand({ comparisons }: Condition): string {
  return comparisons.map(describeComparison).join(' and ')
}

const words: Record<Operator, string> = {
  equals: '',
  in: 'one of ',
  greater_than: 'greater than ',
  at_least: 'at least ',
  less_than: 'less than ',
  at_most: 'at most ',
  matches: 'like ',
  exists: '',
}

function describeComparison({ operator, value }: Comparison): string {
  if (operator === 'exists') return value === true ? 'present' : 'absent'
  return words[operator] + (Array.isArray(value) ? value : [value]).map((one) => JSON.stringify(one)).join(', ')
}
