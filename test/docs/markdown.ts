// The documents as a reader and GitHub take them apart: code blocks, the comments that direct them, headings, links.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../e2e/program.js'

export interface Document {
  /** Relative to the repository. */
  name: string
  text: string
}

/** README.md and whatever lies in docs. */
export function listDocuments(): Document[] {
  const inside = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const manual = inside.filter((name) => name.endsWith('.md')).sort()
  return ['README.md', ...manual.map((name) => `docs/${name}`)].map(readDocument)
}

export function readDocument(name: string): Document {
  return { name, text: readFileSync(join(root, name), 'utf8') }
}

export interface Block {
  language: string
  /** Without the indent of its fence. */
  lines: string[]
  /** Where its first line stands in the file, from 1. */
  line: number
  /** The HTML comments right before it, without their marks. */
  directives: string[]
}

export interface Parts {
  blocks: Block[]
  /** Everything else, line by line; the lines of a block are empty here, so that numbers fit. */
  prose: string[]
  mistakes: string[]
}

const fence = /^( *)(`{3,}|~{3,})([^`]*)$/

export function takeApart({ name, text }: Document): Parts {
  const blocks: Block[] = []
  const prose: string[] = []
  const mistakes: string[] = []
  let open: (Block & { indent: number; end: RegExp }) | null = null
  let afterLast = 0
  text.split('\n').forEach((line, index) => {
    if (open !== null) {
      prose.push('')
      if (open.end.test(line)) {
        open = null
        afterLast = prose.length
      } else open.lines.push(line.slice(0, open.indent).trim() + line.slice(open.indent))
      return
    }
    const begun = fence.exec(line)
    if (begun === null) {
      if (/`{3}|~{3}/.test(line)) mistakes.push(`${name}:${index + 1}: this fence cannot be read: ${line.trim()}`)
      prose.push(line)
      return
    }
    const [, indent, mark, language] = begun
    open = {
      language: language!.trim(),
      lines: [],
      line: index + 2,
      directives: commentsBefore(prose.slice(afterLast)),
      indent: indent!.length,
      end: new RegExp(`^ *${mark![0]!}{${mark!.length},} *$`),
    }
    blocks.push(open)
    prose.push('')
  })
  if (open !== null) mistakes.push(`${name}: the block that begins in line ${(open as Block).line - 1} has no end`)
  return { blocks, prose, mistakes }
}

/** Blank lines may stand between: prettier puts one there. */
function commentsBefore(prose: string[]): string[] {
  const comments = /(?:^|\n)((?:[ \t]*<!--(?:(?!-->)[^])*-->\s*)+)$/.exec(prose.join('\n'))?.[1] ?? ''
  return [...comments.matchAll(/<!--((?:(?!-->)[^])*)-->/g)].map(([, comment]) => comment!.replace(/\s+/g, ' ').trim())
}

export interface Heading {
  level: number
  title: string
  /** Where it stands in the file, from 1. */
  line: number
  anchor: string
}

/** Headings with the anchors that GitHub gives them: a title that stands twice gets a number the second time. */
export function headingsOf(document: Document): Heading[] {
  const taken = new Map<string, number>()
  return takeApart(document).prose.flatMap((line, index) => {
    const found = /^(#{1,6}) +(.*?)(?: +#+)? *$/.exec(line)
    if (found === null) return []
    const title = found[2]!
    const wanted = slugOf(title)
    let anchor = wanted
    for (let again = taken.get(wanted) ?? 0; taken.has(anchor); anchor = `${wanted}-${again}`) {
      again += 1
      taken.set(wanted, again)
    }
    taken.set(anchor, 0)
    return [{ level: found[1]!.length, title, line: index + 1, anchor }]
  })
}

/** Links and images count with their words, other marks not at all. */
function slugOf(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]*>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

export interface Link {
  target: string
  /** Where it stands in the file, from 1. */
  line: number
}

/** Links and images to files and headings of the repository; none with a scheme. */
export function linksOf(document: Document): Link[] {
  const text = takeApart(document)
    .prose.join('\n')
    // Code is shown, not followed. It may run over the end of a line, never over that of a paragraph.
    .replace(/(`+)(?:(?!\n\n)[^`])+?\1/g, (code) => code.replace(/[^\n]/g, ' '))
  const patterns = [
    // A picture may stand inside a link.
    /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm,
    /<(?:a|img|source)\s[^>]*?\b(?:href|src|srcset)="([^"]+)"/g,
  ]
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map((found) => ({ target: found[1]!, line: text.slice(0, found.index).split('\n').length }))
    .filter(({ target }) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
}
