// Text that others wrote, as plain text: for chats, the log and a terminal. What cannot be seen is written out.
import { breakMark } from './character.js'
import { sha256, shortDigest } from './digest.js'
import { counted, numbered } from './length.js'
import { type Piece, piecesOf } from './pieces.js'

/** A sentence of ours in which somebody's words may stand as they came: what would steer a terminal is written out. */
export function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)
}

/** What cannot be seen is written as \u{hex} or \{so much}, backslashes twice, and each line break has its mark. */
export function visible(text: string): string {
  return write(text, `${breakMark}\n`, '\n')
}

/** The same on one line: line breaks are written out too. */
export function visibleLine(text: string): string {
  return write(text, '\\n', '')
}

/** The same in quotes. Quotes inside cannot end it. */
export function quotedLine(text: string): string {
  return `"${visibleLine(text).replaceAll('"', '\\"')}"`
}

/** JSON text, its strings made visible; with an indent, over several lines. */
export function visibleJson(json: string, indent = 0): string {
  const layout = JSON.stringify(JSON.parse(json), null, indent)
  return layout.replace(/"(?:[^"\\]|\\.)*"/g, (string) => quotedLine(JSON.parse(string) as string))
}

/** Words of ASCII with a space between them, and no backslash: most texts. They are shown as they stand. */
const plainWords = /^[!-[\]-~]+(?: [!-[\]-~]+)*$/

function write(text: string, lineBreak: string, afterGap: string): string {
  if (plainWords.test(text)) return text
  return piecesOf(text)
    .map((piece) => {
      switch (piece.kind) {
        case 'text':
          return piece.text.replaceAll('\\', '\\\\')
        case 'turned':
          return `\u2067${piece.text}\u2069`
        case 'hidden':
          return piece.count > 3
            ? `\\{${sayHidden(piece)}}`
            : piece.characters.map(escapeCharacter).join('').repeat(piece.count)
        case 'spaces':
          return `\\{${counted(piece.count, 'space')}}`
        case 'break':
          return lineBreak
        case 'gap':
          return `\\{${sayGap(piece)}}${afterGap}`
      }
    })
    .join('')
}

function escapeCharacter(character: string): string {
  if (character === '\t') return '\\t'
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

/** Nobody reads more of what stands on empty lines. */
const mostBlanks = 100

export function sayGap({ breaks, blanks }: Extract<Piece, { kind: 'gap' }>): string {
  const total = counted(breaks, 'line break')
  if (blanks.every(({ items }) => items.every((blank) => blank === ''))) return total
  const said = blanks.slice(0, mostBlanks).map(({ items, count }) => times(items.flatMap(sayLine), count))
  return `${total}: ${[...said, ...sayRest(blanks.slice(mostBlanks)), 'line break'].join(', ')}`
}

/** What is not said is still told from anything else. As JSON, since a hash takes all halves of pairs for the same. */
function sayRest(blanks: Extract<Piece, { kind: 'gap' }>['blanks']): string[] {
  if (blanks.length === 0) return []
  return [`${numbered(blanks.length)} more of that kind, SHA-256 ${shortDigest(sha256(JSON.stringify(blanks)))}…`]
}

function sayLine(blank: string): string[] {
  return ['line break', ...piecesOf(blank).map(sayBlank)]
}

function sayBlank(piece: Piece): string {
  if (piece.kind === 'hidden') return sayHidden(piece)
  return counted(piece.kind === 'text' ? piece.text.length : piece.kind === 'spaces' ? piece.count : 0, 'space')
}

/** As U+202E, U+202E ×3, 3 × (U+202E, U+200B). */
export function sayHidden({ characters, count }: Extract<Piece, { kind: 'hidden' }>): string {
  const codes = characters.map((one) => `U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`)
  return codes.length === 1 && count > 1 ? `${codes[0]!} ×${numbered(count)}` : times(codes, count)
}

function times(items: string[], count: number): string {
  return count === 1 ? items.join(', ') : `${numbered(count)} × (${items.join(', ')})`
}
