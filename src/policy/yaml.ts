// YAML as plain data, with the line on which each part stands, and what is wrong with it as YAML.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'

/** Stands in the data for `key:` with nothing behind it; a null that is written out is null. */
export const blank = Symbol('blank')
/** Stands in the data for what YAML takes for an alias. */
export const alias = Symbol('alias')
/** Stands in the data for what a tag made of a scalar and JSON does not know. */
const foreign = Symbol('foreign')

export const quoteStars =
  "YAML reads a * at the beginning as something else; put the text in quotes, such as '*_production'"

/** Names and places, from the outside in. */
export type Path = readonly PropertyKey[]

export interface Mistake {
  line: number
  sentence: string
}

export interface ReadYaml {
  /** Undefined where the rest would be guesswork. */
  data: unknown
  mistakes: Mistake[]
  /** Of the key at the end of the path; where that leads nowhere, of the last part that is there. */
  lineOf(path: Path): number
}

export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line || 1
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const errors = [...document.errors, ...document.warnings]
  const isReadable = errors.every(({ code }) => code === 'DUPLICATE_KEY' || code === 'BAD_ALIAS')
  return {
    data: isReadable ? dataOf(document.contents) : undefined,
    mistakes: errors.map(({ code, message, pos }) => ({ line: lineAt(pos[0]), sentence: sayError(code, message) })),
    lineOf: (path) => lineAt(nodeAt(document.contents, path)?.range?.[0] ?? 0),
  }
}

function sayError(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key stands twice in the same place; remove one'
  if (code === 'TAB_AS_INDENT') return 'there is a tab; indent with spaces'
  if (code === 'BAD_ALIAS') return quoteStars
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here; keep all rules in one, without ---'
  return `this is not YAML: ${message.split('\n')[0]!.replace(/\.$/, '')}`
}

function dataOf(node: unknown): unknown {
  if (isAlias(node)) return alias
  // Object.fromEntries, because assigning to __proto__ makes no member.
  if (isMap<Node, Node>(node))
    return Object.fromEntries(node.items.map(({ key, value }) => [nameOf(key), dataOf(value)]))
  if (isSeq<Node>(node)) return node.items.map(dataOf)
  if (!isScalar(node) || (node.value === null && !/\S/.test(node.source ?? ''))) return blank
  return typeof node.value === 'object' && node.value !== null ? foreign : node.value
}

function nameOf(key: Node): string {
  return isScalar(key) ? String(key.value) : ''
}

function nodeAt(root: Node | null, path: Path): Node | null {
  let found = root
  let value = root
  for (const step of path) {
    if (isMap<Node, Node>(value)) {
      const pair = value.items.findLast(({ key }) => nameOf(key) === step)
      if (pair === undefined) break
      found = pair.key
      value = pair.value
    } else if (isSeq<Node>(value)) {
      found = value = value.items[step as number] ?? null
    } else break
  }
  return found
}
