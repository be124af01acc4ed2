// From what zod finds wrong to sentences: where it is, what it is and what would be right.
import type { z } from 'zod'
import { visibleLine } from '../core/visible.js'
import { isRecord } from './parts.js'
import { alias, blank, type Path, quoteStars } from './yaml.js'

export interface Finding {
  path: Path
  sentence: string
}

type Issue = z.core.$ZodIssue

/** What is said of a value that is altogether something else. */
const wrongKinds: Issue['code'][] = ['invalid_type', 'invalid_union', 'invalid_value']

/** All that the schema finds wrong with the data, which stands at `place`. */
export function findingsIn(schema: z.ZodType, data: unknown, place: Path = []): Finding[] {
  const issues = schema.safeParse(data).error?.issues ?? []
  // Names that are not known come first: one of them may be what is missing.
  const rank = (issue: Issue) => (issue.code === 'unrecognized_keys' ? 0 : 1)
  return issues.toSorted((a, b) => rank(a) - rank(b)).flatMap((issue) => findingsOf(issue, data, place, []))
}

function findingsOf(issue: Issue, data: unknown, place: Path, above: Path): Finding[] {
  const path = [...above, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    const sentences = issue.message.split('\n')
    return issue.keys.map((name, index) => ({ path: [...place, ...path, name], sentence: sentences[index]! }))
  }
  if (issue.code === 'invalid_union') {
    // Of the ways to write it, the one that was begun.
    const begun = issue.errors.find((issues) =>
      issues.some((one) => one.path.length > 0 || !wrongKinds.includes(one.code)),
    )
    if (begun !== undefined) return begun.flatMap((one) => findingsOf(one, data, place, path))
  }
  const whole = [...place, ...path]
  return [{ path: whole, sentence: say(issue.message, whole, valueAt(data, path)) }]
}

function say(message: string, path: Path, value: unknown): string {
  if (value === alias) return quoteStars
  if (!message.startsWith('must ')) return message
  const subject = subjectOf(path)
  if (value === blank) return `${subject} ${path.length === 0 ? 'is empty' : 'has no value'}; it ${message}`
  return value === undefined ? `${subject} is missing; it ${message}` : `${subject} ${message}`
}

function subjectOf(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return 'the file'
  if (typeof last === 'number') return path.length === 2 ? 'a rule' : `each of ${subjectOf(path.slice(0, -1))}`
  const name = `\`${visibleLine(String(last))}\``
  return path.length === 2 && path[0] === 'groups' ? `group ${name}` : name
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return value[step as number]
    return isRecord(value) && Object.hasOwn(value, step) ? value[step as string] : undefined
  }, data)
}
