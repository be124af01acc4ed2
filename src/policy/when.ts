// `when`: conditions, from the rules file or from the JSON of a whitelist entry, by the same schema.
import { z } from 'zod'
import { canonical } from '../core/canonical.js'
import { type Condition, createCondition, type Operator, operators, readPath, type Step } from './condition.js'
import { closed, explain, mapOf, maxName, truth } from './parts.js'
import { findingsIn } from './sentences.js'

const inexact = 'must be a number that JSON can hold exactly; put it in quotes if it is text'
const orInexact = (error: string) => (issue: { input?: unknown }) => (typeof issue.input === 'number' ? inexact : error)

const wellFormed = z.string().refine((one) => one.isWellFormed(), 'must be text that is well-formed')
const exact = (error: string) => z.number({ error: orInexact(error) }).refine(isExact, inexact)
const scalar = z.union([wellFormed, exact(inexact), z.boolean(), z.null()], {
  error: orInexact('must be text, a number, true, false or null'),
})
const number = exact('must be a number, without quotes')
const notPattern = `must be text of at most ${maxName} characters, such as '*.example.com'`

const pattern = z
  .string(notPattern)
  .max(maxName, notPattern)
  .refine((one) => one.isWellFormed(), notPattern)

function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

const someOperator = { anyOf: operators.map((operator) => ({ required: [operator] })) }
const absentAlone = {
  if: { properties: { exists: { const: false } }, required: ['exists'] },
  then: { maxProperties: 1 },
}
const notDemand = 'must be text, a number, true, false, null, or comparisons such as `{ at_most: 100 }`'
const noList = 'must be a list of values, such as [eu, us]'

export const comparisons = closed(
  'comparison',
  {
    equals: explain(scalar.optional(), 'Exactly that: `5` is not `"5"`.', {
      takes: 'text, number, true, false or null',
    }),
    in: explain(z.array(scalar, noList).min(1, noList).optional(), 'One of them.', {
      takes: 'a list of such values',
    }),
    greater_than: explain(number.optional(), 'Greater numbers; never text.', { takes: 'a number' }),
    at_least: explain(number.optional(), 'That number and greater ones.', { takes: 'a number' }),
    less_than: explain(number.optional(), 'Smaller numbers.', { takes: 'a number' }),
    at_most: explain(number.optional(), 'That number and smaller ones.', { takes: 'a number' }),
    matches: explain(
      pattern.optional(),
      'Text that fits as a whole, with `*` and `?` as in `action`; no regular expressions.',
      { takes: 'a pattern' },
    ),
    exists: explain(truth.optional(), 'Whether the path leads anywhere; null is something.', {
      takes: '`true`, `false`',
    }),
    every: explain(
      truth.optional(),
      'Beside another comparison: all that a `*` in the path stands for, not just one.',
      { takes: '`true`' },
    ),
  } satisfies Record<Operator | 'every', z.ZodType>,
  notDemand,
)
  .superRefine((given, context) => {
    // Beside a name that is not known, what is missing may be what was meant.
    if (context.issues.length > 0) return
    const say = (message: string) => context.addIssue({ code: 'custom', message })
    if (!operators.some((operator) => given[operator] !== undefined)) say('must have a comparison, such as `equals`')
    else if (given.exists === false && Object.keys(given).length > 1) {
      say('must have nothing beside `exists: false`, which leaves nothing to compare')
    }
  })
  .meta({ ...someOperator, ...absentAlone })

/** All that a value may be compared by, and whether all that a * stands for must pass. */
export const comparisonNames = [...operators, 'every'] as const

const demand = z.union([scalar, comparisons], {
  error: orInexact(notDemand),
})

const oneAtLeast = 'must have at least one condition, such as `amount: { at_most: 100 }`'

export const whenSchema = mapOf(demand, {
  error: oneAtLeast,
  minProperties: 1,
  problemWithName: (path) => {
    const steps = readPath(path)
    return typeof steps === 'string' ? `the path \`${path}\` ${steps}` : null
  },
}).transform((demands, context) => {
  if (demands.size === 0) context.issues.push({ code: 'custom', message: oneAtLeast, input: demands })
  return [...demands].map(([path, demanded]): Condition => {
    const steps = readPath(path) as Step[]
    if (typeof demanded !== 'object' || demanded === null) {
      return createCondition(path, steps, [{ operator: 'equals', value: demanded }])
    }
    const { every = false } = demanded
    if (every && !steps.includes(null)) {
      const message = '`every` needs a path with a *'
      context.issues.push({ code: 'custom', path: [path, 'every'], message, input: every })
    }
    const given = operators.flatMap((operator) => {
      const value = demanded[operator]
      return value === undefined ? [] : [{ operator, value }]
    })
    return createCondition(path, steps, given, every)
  })
})

/** So many conditions are enough for an entry, and so much text: every request it might cover is held against them. */
export const maxConditions = 20
export const maxWhen = 2000

/** Why this is no `when`, if so: the first mistake in it. */
export function problemWithWhen(when: Record<string, unknown>): string | null {
  if (Object.keys(when).length > maxConditions) return `\`when\` takes at most ${maxConditions} conditions`
  if (canonical(when).length > maxWhen) return `\`when\` must have at most ${maxWhen} characters`
  return findingsIn(whenSchema, when, ['when'])[0]?.sentence ?? null
}

/** What was read is read again with every request: a few of them are remembered. */
const maxRemembered = 1000
const remembered = new Map<string, Condition[] | null>()

/** Whether these details meet every condition of a `when`, which is JSON text. What cannot be read is met by nothing. */
export function meets(details: unknown, when: string): boolean {
  let conditions = remembered.get(when)
  if (conditions === undefined) {
    conditions = whenSchema.safeParse(JSON.parse(when)).data ?? null
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.set(when, conditions)
  }
  return conditions !== null && conditions.every(({ holds }) => holds(details))
}
