// What the schema of the rules file is made of. A message that begins with "must" is about what stands at its path, and
// `sentences.ts` puts the name before it; any other is a sentence by itself.
import { z } from 'zod'
import { nearTo } from '../core/closest.js'
import { isPlainLine } from '../core/pieces.js'
import { visibleLine } from '../core/visible.js'

/** As long as the name of an action or of a person may be. */
export const maxName = 1000

const notText = 'must be text; put it in quotes if it looks like something else'

/** A line that can be read as it stands. */
export const text = (max: number) =>
  z
    .string(notText)
    .min(1, { error: 'must not be empty', abort: true })
    .regex(/^\S([\s\S]*\S)?$/, { error: 'must not begin or end with a space', abort: true })
    .max(max, { error: `must have at most ${max} characters`, abort: true })
    .refine(isPlainLine, 'must be one line without invisible characters')

const notNames = 'must be text or a list of texts; put in quotes what looks like something else'

/** One name, or a list of them; always a list once it is read. */
export const names = ({ missing = notNames, ...meta }: { missing?: string; uniqueItems?: boolean } = {}) =>
  z
    .union([text(maxName), z.array(text(maxName)).min(1, 'must not be empty').meta(meta)], {
      error: ({ input }) => (input === undefined ? missing : notNames),
    })
    .transform((one) => (typeof one === 'string' ? [one] : one))

export const truth = z.boolean('must be true or false')

export const whole = (min: number, max: number, error = `must be a whole number from ${min} to ${max}`) =>
  z.int(error).min(min, error).max(max, error)

/** These names and no other; `kind` is what one of them is called. */
export function closed<S extends z.ZodRawShape>(kind: string, shape: S, error: string) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    // A line for each name.
    error: (issue) =>
      issue.code !== 'unrecognized_keys'
        ? error
        : issue.keys.map((name) => `there is no ${kind} \`${visibleLine(name)}\`${suggest(name, known)}`).join('\n'),
  })
}

/** At least one of its names must be there. */
export function filled<S extends z.ZodObject>(schema: S): S {
  const takes = Object.keys(schema.shape).join(', ')
  return schema
    .superRefine((given, context) => {
      const isEmpty = Object.values(given).every((value) => value === undefined)
      // A name that is not known may be what was meant.
      if (isEmpty && context.issues.length === 0) {
        context.addIssue({ code: 'custom', message: `must not be empty; it takes ${takes}` })
      }
    })
    .meta({ minProperties: 1 })
}

/** What the manual says of a setting beside its description. */
export interface ManualEntry {
  takes: string
  leftOut?: string
}
export const manual = z.registry<ManualEntry>()

/** What the manual, and with the description the JSON Schema, say of a setting. */
export function explain<S extends z.ZodType>(schema: S, description: string, entry: ManualEntry): S {
  const explained = schema.meta({ description })
  manual.add(explained, entry)
  return explained
}

/** Names that the file chooses. It takes __proto__ as well, which z.record leaves out. */
export function mapOf<V extends z.ZodType>(
  value: V,
  { error, problemWithName = () => null, ...meta }: MapOptions,
): z.ZodType<Map<string, z.output<V>>> {
  return z
    .custom<object>(isRecord, error)
    .transform((entries, context) => {
      const read = new Map<string, z.output<V>>()
      for (const [name, one] of Object.entries(entries)) {
        const problem = problemWithName(name)
        if (problem !== null) context.issues.push({ code: 'custom', path: [name], message: problem, input: one })
        const { data, error } = value.safeParse(one)
        for (const issue of error?.issues ?? []) {
          context.issues.push({ ...issue, path: [name, ...issue.path], input: one })
        }
        read.set(name, data!)
      }
      return read
    })
    .meta({ type: 'object', additionalProperties: describe(value), ...meta })
}

interface MapOptions {
  error: string
  problemWithName?: (name: string) => string | null
  minProperties?: number
  propertyNames?: object
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON Schema of what is taken. */
export function describe(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
  })
  return described
}

/** Which of the known names was meant, or all of them. */
export function suggest(name: string, known: readonly string[]): string {
  const meant = nearTo(name, known)
  return meant === undefined ? `; there is ${known.join(', ')}` : `; did you mean \`${meant}\`?`
}
