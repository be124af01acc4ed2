// Values out of YAML, or a complaint: each mistake is said where it stands, and reading goes on.
import { isAlias, isScalar, isSeq, type Node, type YAMLMap } from 'yaml'
import { editsBetween } from '../core/closest.js'
import { isPlainLine } from '../core/pieces.js'
import { skeleton } from '../core/skeleton.js'
import { visibleLine } from '../core/visible.js'
import type { Scalar } from './condition.js'

/** As long as the name of an action or of a person may be. */
export const maxName = 1000

/** Where the mistake is, what it is and what to do about it. */
export type Complain = (node: Node | null, sentence: string) => void
/** A value, or undefined after a complaint. */
export type Read<T> = T | undefined

export interface Entry {
  name: string
  key: Node
  value: Node | null
}

export const quoteStars =
  "YAML reads a * at the beginning as something else; put the text in quotes, such as '*_production'"

export function readScalar(node: Node | null, what: string, complain: Complain): Read<Scalar> {
  if (isAlias(node)) return void complain(node, quoteStars)
  if (!isScalar(node) || node.value === undefined) return void complain(node, `${what} must be a single value`)
  const { value } = node
  if (typeof value === 'number' && !(Number.isFinite(value) && isExactNumber(value))) {
    return void complain(node, `${what} is no number that JSON can hold exactly; put it in quotes if it is text`)
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'string' && value.isWellFormed()) return value
  return void complain(node, `${what} must be text, a number, true, false or null`)
}

function isExactNumber(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

export function readText(node: Node | null, what: string, complain: Complain): Read<string> {
  if (isAlias(node)) return void complain(node, quoteStars)
  if (!isScalar(node) || typeof node.value !== 'string') {
    return void complain(node, `${what} must be text; put it in quotes if it looks like something else`)
  }
  const { value } = node
  if (value.trim() === '') return void complain(node, `${what} must not be empty`)
  if (value !== value.trim()) return void complain(node, `${what} must not begin or end with a space`)
  if (value.length > maxName) return void complain(node, `${what} must have at most ${maxName} characters`)
  if (!isPlainLine(value)) return void complain(node, `${what} must be one line without invisible characters`)
  return value
}

/** One name, or a list of them. */
export function readNames(node: Node | null, key: Node, what: string, complain: Complain): Read<string[]> {
  if (node === null || isBlank(node)) return void complain(key, `${what} must not be empty`)
  if (!isSeq<Node>(node)) {
    const one = readText(node, what, complain)
    return one === undefined ? undefined : [one]
  }
  if (node.items.length === 0) return void complain(node, `${what} must not be empty`)
  const names = node.items.map((item) => readText(item, `each of ${what}`, complain))
  return names.includes(undefined) ? undefined : (names as string[])
}

export function readTruth(node: Node, setting: string, complain: Complain): Read<boolean> {
  if (isScalar(node) && typeof node.value === 'boolean') return node.value
  return void complain(node, `\`${setting}\` must be true or false`)
}

export function readChoice<T extends string>(
  node: Node,
  setting: string,
  choices: readonly T[],
  complain: Complain,
): Read<T> {
  const choice = isScalar(node) ? choices.find((one) => one === node.value) : undefined
  return choice ?? void complain(node, `\`${setting}\` must be one of ${choices.join(', ')}`)
}

export function readWhole(node: Node, setting: string, min: number, max: number, complain: Complain): Read<number> {
  return wholeOf(node, min, max) ?? void complain(node, `\`${setting}\` must be a whole number from ${min} to ${max}`)
}

export function wholeOf(node: Node | null, min: number, max: number): Read<number> {
  if (!isScalar(node) || !Number.isInteger(node.value)) return undefined
  const value = node.value as number
  return value >= min && value <= max ? value : undefined
}

/** Whole numbers by name, each optional. What is wrong with one is no reason to leave out the others. */
export function readParts<K extends string>(
  node: YAMLMap,
  names: readonly K[],
  setting: string,
  max: number | Record<K, number>,
  complain: Complain,
): Partial<Record<K, number>> {
  const found = entriesOf(node, names, complain, `part of \`${setting}\``)
  const parts: Partial<Record<K, number>> = {}
  if (node.items.length === 0) complain(node, `\`${setting}\` must not be empty; it takes ${names.join(', ')}`)
  for (const [name, { key, value }] of found) {
    const part = readWhole(value ?? key, name, 1, typeof max === 'number' ? max : max[name], complain)
    if (part !== undefined) parts[name] = part
  }
  return parts
}

/** The entries whose names are known; the others are mistakes. */
export function entriesOf<K extends string>(
  node: YAMLMap,
  known: readonly K[],
  complain: Complain,
  kind: string,
): Map<K, Entry> {
  const found = new Map<K, Entry>()
  for (const entry of allEntries(node, complain)) {
    if ((known as readonly string[]).includes(entry.name)) found.set(entry.name as K, entry)
    else complain(entry.key, `there is no ${kind} \`${visibleLine(entry.name)}\`${suggest(entry.name, known)}`)
  }
  return found
}

export function allEntries(node: YAMLMap, complain: Complain): Entry[] {
  return node.items.flatMap(({ key, value }) => {
    if (isScalar(key) && typeof key.value === 'string') return [{ name: key.value, key, value: value as Node | null }]
    complain(node, 'a name before a colon must be plain text')
    return []
  })
}

/** `key:` with nothing behind it; a null that is written out is a value. */
export function isBlank(node: Node): boolean {
  return isScalar(node) && node.value === null && !/\S/.test(node.source ?? '')
}

export function suggest(name: string, known: readonly string[]): string {
  const near = known
    .map((one) => ({ one, edits: editsBetween(skeleton(name), skeleton(one)) }))
    .filter(({ one, edits }) => edits <= Math.max(1, Math.floor(one.length / 3)))
    .toSorted((a, b) => a.edits - b.edits)[0]
  return near === undefined ? `; there is ${known.join(', ')}` : `; did you mean \`${near.one}\`?`
}
