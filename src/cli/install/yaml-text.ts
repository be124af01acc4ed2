// YAML that people keep by hand, changed in place: items come into a list and go out of it as lines, and all else stays as it was
// written. Where it is written so that this cannot be, it is written anew, with its comments.
import { isDeepStrictEqual } from 'node:util'
import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml'
import { isObject } from './host.js'
import { UnfitText } from './json-text.js'

/** A list inside of an object at the top. */
type Place = readonly [outer: string, list: string]
type Item = Record<string, string | number | boolean>

export function readYaml(text: string): unknown {
  return parse(text).toJS({ maxAliasCount: 1000 })
}

/** What is in the list, as far as it is objects. */
export function itemsAt(data: unknown, [outer, list]: Place): Record<string, unknown>[] {
  const inside = isObject(data) ? data[outer] : undefined
  const items = isObject(inside) ? inside[list] : undefined
  return Array.isArray(items) ? items.filter(isObject) : []
}

/** With the item at the beginning: whatever stands there keeps the lines and comments that belong to it. */
export function addItem(text: string, place: Place, item: Item): string {
  const [outer, list] = place
  const expected = objectFrom(readYaml(text))
  const inside = expected[outer] ?? {}
  if (!isObject(inside)) throw sayUnfit(outer, 'an object')
  const items = inside[list] ?? []
  if (!Array.isArray(items)) throw sayUnfit(`${outer}.${list}`, 'a list')
  expected[outer] = { ...inside, [list]: [item, ...(items as unknown[])] }
  return checked([() => addLines(text, place, item), () => addAnew(text, place, item)], expected)
}

/** Without those that are meant, and without what is empty then. */
export function removeItems(text: string, place: Place, isMeant: (item: unknown) => boolean): string {
  const [outer, list] = place
  const expected = objectFrom(readYaml(text))
  if (!itemsAt(expected, place).some(isMeant)) return text
  const inside = expected[outer] as Record<string, unknown[]>
  inside[list] = inside[list]!.filter((item) => !isMeant(item))
  if (inside[list].length === 0) delete inside[list]
  if (Object.keys(inside).length === 0) delete expected[outer]
  return checked([() => removeLines(text, place, isMeant), () => removeAnew(text, place, isMeant)], expected)
}

/** As lines of a list. */
export function itemLines(item: Item, indent: string): string[] {
  return Object.entries(item).map(
    ([name, value], index) => `${indent}${index === 0 ? '- ' : '  '}${name}: ${JSON.stringify(value)}`,
  )
}

function parse(text: string): Document {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) throw new UnfitText(`is no YAML (${error.message.split('\n')[0]!}).`)
  const { contents } = document
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null)) {
    throw new UnfitText('is not as the host expects it: it must be an object.')
  }
  return document
}

function objectFrom(data: unknown): Record<string, unknown> {
  return isObject(data) ? data : {}
}

/** The first text that says exactly this. */
function checked(ways: (() => string)[], expected: unknown): string {
  for (const way of ways) {
    const text = way()
    try {
      if (isDeepStrictEqual(objectFrom(readYaml(text)), expected)) return text
    } catch (error) {
      if (!(error instanceof UnfitText)) throw error
    }
  }
  throw new UnfitText('cannot be changed without changing more of it. Change it by hand; --print shows how.')
}

function sayUnfit(place: string, kind: string): UnfitText {
  return new UnfitText(`is not as the host expects it: ${place} must be ${kind}.`)
}

// -- by lines ------------------------------------------------------------------------------------------------------------

function addLines(text: string, [outerName, listName]: Place, item: Item): string {
  const { contents } = parse(text)
  const root = isMap(contents) ? contents : null
  const outer = root === null ? undefined : pairOf(root, outerName)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  if (outer === undefined) {
    const indent = root === null || root.items.length === 0 ? '' : indentOf(text, root.items[0] as Pair)
    const lines = [`${indent}${outerName}:`, `${indent}  ${listName}:`, ...itemLines(item, `${indent}    `)]
    return `${text}${text === '' || text.endsWith('\n') ? '' : eol}${lines.join(eol)}${eol}`
  }
  const inside = isMap(outer.value) ? outer.value.items : []
  const list = isMap(outer.value) ? pairOf(outer.value, listName) : undefined
  if (list === undefined) {
    const indent = inside.length > 0 ? indentOf(text, inside[0]!) : `${indentOf(text, outer)}  `
    return addBelow(text, outer, [`${indent}${listName}:`, ...itemLines(item, `${indent}  `)], eol)
  }
  const items = isSeq(list.value) ? (list.value.items as Node[]) : []
  const indent = items.length > 0 ? dashOf(text, items[0]!).indent : `${indentOf(text, list)}  `
  return addBelow(text, list, itemLines(item, indent), eol)
}

/** Below its name; `name: {}` becomes `name:` first. */
function addBelow(text: string, pair: Pair, lines: string[], eol: string): string {
  const value = pair.value as Node | null
  const colon = text.indexOf(':', (pair.key as Node).range![1]) + 1
  const isFilled = isCollection(value) && value.items.length > 0
  const behind = isFilled ? colon : Math.max(colon, value?.range?.[1] ?? 0)
  const [comment] = /^[ \t]*(#[^\n]*)?(\n|$)/.exec(text.slice(behind).replace('\r\n', '\n')) ?? ['']
  const rest = text.slice(lineEnd(text, behind))
  return `${text.slice(0, colon)}${comment.trimEnd()}${eol}${lines.join(eol)}${eol}${rest}`
}

function removeLines(text: string, [outerName, listName]: Place, isMeant: (item: unknown) => boolean): string {
  const outer = pairOf(parse(text).contents as YAMLMap, outerName)!
  const list = pairOf(outer.value as YAMLMap, listName)!
  const items = (list.value as { items: Node[] }).items
  const meant = items.filter((item) => isMap(item) && isMeant(item.toJSON()))
  const isListEmpty = meant.length === items.length
  const isOuterEmpty = isListEmpty && (outer.value as YAMLMap).items.length === 1
  const nameLines = [...(isOuterEmpty ? [outer] : []), ...(isListEmpty ? [list] : [])].map((pair) => {
    const at = (pair.key as Node).range![0]
    return [lineStart(text, at), lineEnd(text, at)] as const
  })
  const spans = [...nameLines, ...meant.map((item) => [dashOf(text, item).start, lineEnd(text, lastOf(item))] as const)]
  return spans.reduceRight((left, [from, to]) => left.slice(0, from) + left.slice(to), text)
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === name)
}

/** The line of a list's item begins with its dash. */
function dashOf(text: string, item: Node): { start: number; indent: string } {
  const dash = text.lastIndexOf('-', item.range![0])
  const start = lineStart(text, dash)
  return { start, indent: /^[ \t]*/.exec(text.slice(start, Math.max(start, dash)))![0] }
}

function indentOf(text: string, { key }: Pair): string {
  const at = (key as Node).range![0]
  return text.slice(lineStart(text, at), at)
}

/** Where its last content ends. */
function lastOf(node: Node): number {
  if (!isCollection(node) || node.items.length === 0) return node.range![1]
  const last = node.items[node.items.length - 1]
  return lastOf((isMap(node) ? ((last as Pair).value ?? (last as Pair).key) : last) as Node)
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

// -- anew ----------------------------------------------------------------------------------------------------------------

function addAnew(text: string, [outer, list]: Place, item: Item): string {
  const document = parse(text)
  const before = document.getIn([outer, list])
  const items = isSeq(before) ? before.items : []
  if (!isMap(document.get(outer))) document.set(outer, document.createNode({}))
  document.setIn([outer, list], document.createNode([item]))
  const made = document.getIn([outer, list])
  if (isSeq(made)) made.items.push(...items)
  return document.toString({ lineWidth: 0 })
}

function removeAnew(text: string, [outer, list]: Place, isMeant: (item: unknown) => boolean): string {
  const document = parse(text)
  const items = document.getIn([outer, list])
  if (isSeq(items)) {
    items.items = items.items.filter((item) => !isMap(item) || !isMeant(item.toJSON()))
    if (items.items.length === 0) document.deleteIn([outer, list])
  }
  const inside = document.get(outer)
  if (isMap(inside) && inside.items.length === 0) document.delete(outer)
  return document.toString({ lineWidth: 0 })
}
