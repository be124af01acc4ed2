// JSON that people keep by hand, changed in place: whatever is not touched stays as it was written, byte for byte.

/** Where something stands: names of members, numbers of items. */
export type Path = readonly (string | number)[]

/** In a path: behind the last item of a list. */
export const end = -1

/** The text is not what can be changed; the message says why, and goes on from the name of the file. */
export class UnfitText extends Error {
  override name = 'UnfitText'
}

interface JsonNode {
  start: number
  end: number
  /** What is in it; null where nothing can be. */
  entries: Entry[] | null
  isList: boolean
}

interface Entry {
  /** '' in a list. */
  name: string
  start: number
  node: JsonNode
}

const byteOrderMark = '\uFEFF'

/** What the text says. An empty one says nothing, as an object without members. */
export function readJson(text: string): unknown {
  const bare = withoutMark(text)
  if (bare.trim() === '') return {}
  try {
    return JSON.parse(bare)
  } catch (error) {
    const comments = /^\s*(\/\/|\/\*)/m.test(bare) ? ' Comments are no JSON.' : ''
    // Without what stands there, which may be a secret.
    const why = (error as Error).message.replace(/,? (\.\.\.)?"[^]*"(\.\.\.)? is not valid JSON/, '')
    throw new UnfitText(`is no JSON (${why}).${comments}`)
  }
}

/** With this value there. What it would stand in is made where it is missing; what stood there is replaced. */
export function put(text: string, path: Path, value: unknown): string {
  const source = sourceOf(text)
  let node = readTree(source)
  for (const [depth, step] of path.entries()) {
    if (node.entries === null || node.isList !== (typeof step === 'number')) throw sayUnfit(path.slice(0, depth), step)
    const rest = path.slice(depth + 1)
    const entry = step === end ? undefined : entryAt(node, step)
    if (entry === undefined) return insert(source, node, step, wrap(rest, value))
    if (rest.length === 0) return replace(source, entry.node, write(source, value, indentAt(source, entry.start)))
    node = entry.node
  }
  return text
}

/** Without what stands there, and without what is empty then. Where nothing stands the text stays as it is. */
export function remove(text: string, path: Path): string {
  const source = sourceOf(text)
  const [parent, index] = find(readTree(source), path)
  if (parent === null) return text
  const entries = parent.entries!
  const [before, entry, after] = [entries[index - 1], entries[index]!, entries[index + 1]]
  const cut = (from: number, to: number) => source.slice(0, from) + source.slice(to)
  if (before !== undefined) return cut(before.node.end, entry.node.end)
  if (after !== undefined) return cut(entry.start, after.start)
  if (path.length > 1) return remove(text, path.slice(0, -1))
  return cut(parent.start + 1, parent.end - 1)
}

function find(root: JsonNode, path: Path): [JsonNode, number] | [null, -1] {
  let node = root
  for (const step of path.slice(0, -1)) {
    const entry = entryAt(node, step)
    if (entry === undefined) return [null, -1]
    node = entry.node
  }
  const entry = entryAt(node, path[path.length - 1]!)
  return entry === undefined ? [null, -1] : [node, node.entries!.indexOf(entry)]
}

function entryAt({ entries, isList }: JsonNode, step: string | number): Entry | undefined {
  if (entries === null || isList !== (typeof step === 'number')) return undefined
  return typeof step === 'number' ? entries[step] : entries.find(({ name }) => name === step)
}

function wrap(path: Path, value: unknown): unknown {
  return path.reduceRight((inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }), value)
}

function sayUnfit(path: Path, step: string | number): UnfitText {
  const place = path.length === 0 ? 'what it holds' : path.join('.')
  return new UnfitText(
    `is not as the host expects it: ${place} must be ${typeof step === 'number' ? 'a list' : 'an object'}.`,
  )
}

// -- writing -------------------------------------------------------------------------------------------------------------

function insert(source: string, node: JsonNode, step: string | number, value: unknown): string {
  const entries = node.entries!
  const eol = source.includes('\r\n') ? '\r\n' : '\n'
  const isOneLine = isCompact(source)
  const name = typeof step === 'number' ? '' : `${JSON.stringify(step)}:${isOneLine ? '' : ' '}`
  const last = entries[entries.length - 1]
  if (last === undefined) {
    if (isOneLine) return replace(source, node, [open(node), name, JSON.stringify(value), close(node)].join(''))
    const outer = indentAt(source, node.start)
    const inner = outer + unitOf(source)
    return replace(
      source,
      node,
      `${open(node)}${eol}${inner}${name}${write(source, value, inner)}${eol}${outer}${close(node)}`,
    )
  }
  const isInline = !source.slice(node.start, entries[0]!.start).includes('\n')
  const inner = indentAt(source, entries[0]!.start)
  const written = isInline
    ? `,${isOneLine ? '' : ' '}${name}${JSON.stringify(value)}`
    : `,${eol}${inner}${name}${write(source, value, inner)}`
  return source.slice(0, last.node.end) + written + source.slice(last.node.end)
}

function replace(source: string, { start, end }: JsonNode, text: string): string {
  return source.slice(0, start) + text + source.slice(end)
}

function write(source: string, value: unknown, indent: string): string {
  if (isCompact(source)) return JSON.stringify(value)
  const eol = source.includes('\r\n') ? '\r\n' : '\n'
  return JSON.stringify(value, null, unitOf(source)).replaceAll('\n', eol + indent)
}

const open = ({ isList }: JsonNode) => (isList ? '[' : '{')
const close = ({ isList }: JsonNode) => (isList ? ']' : '}')

/** Everything on one line, as programs write it. */
function isCompact(source: string): boolean {
  const bare = withoutMark(source).trim()
  return !bare.includes('\n') && bare.length > 2
}

/** What a step to the right is in it: that of its first line that has one. */
function unitOf(source: string): string {
  return /[{[]\r?\n([ \t]+)\S/.exec(source)?.[1] ?? '  '
}

/** With what the line begins on which this stands. */
function indentAt(source: string, at: number): string {
  const line = source.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(source.slice(line, at))![0]
}

// -- reading -------------------------------------------------------------------------------------------------------------

function sourceOf(text: string): string {
  return withoutMark(text).trim() === '' ? `${text}{}\n`.trimStart() : text
}

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** Deeper than any settings are, and not so deep that reading it fails. */
const maxDepth = 200

/** Of a text that is JSON, or is refused: so nothing is checked here but what JSON leaves open. */
function readTree(source: string): JsonNode {
  readJson(source)
  let at = source.startsWith(byteOrderMark) ? 1 : 0
  const skip = () => {
    while (' \t\r\n'.includes(source[at] ?? '.')) at += 1
  }
  const readString = () => {
    const start = at
    for (at += 1; source[at] !== '"'; at += 1) if (source[at] === '\\') at += 1
    at += 1
    return source.slice(start, at)
  }
  const readNode = (depth: number): JsonNode => {
    if (depth > maxDepth) throw new UnfitText(`is nested deeper than ${maxDepth} levels.`)
    skip()
    const start = at
    const first = source[at]
    if (first === '"') readString()
    else if (first === '{' || first === '[') return readEntries(start, first === '[', depth)
    else while (/[^,\]}\s]/.test(source[at] ?? ',')) at += 1
    return { start, end: at, entries: null, isList: false }
  }
  const readEntries = (start: number, isList: boolean, depth: number): JsonNode => {
    const entries: Entry[] = []
    const names = new Set<string>()
    at += 1
    for (skip(); !']}'.includes(source[at]!); skip()) {
      const begin = at
      let name = ''
      if (!isList) {
        name = JSON.parse(readString()) as string
        // Which of the two counts is for each reader to say.
        if (names.has(name)) throw new UnfitText(`has ${JSON.stringify(name)} twice in one object. Remove one of them.`)
        names.add(name)
        skip()
        at += 1
      }
      entries.push({ name, start: begin, node: readNode(depth + 1) })
      skip()
      if (source[at] === ',') at += 1
    }
    at += 1
    return { start, end: at, entries, isList }
  }
  return readNode(0)
}
