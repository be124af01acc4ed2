// Cells of a CSV file that people open in a spreadsheet. What others wrote in them neither is a formula nor becomes one where
// the file is split elsewhere, and nothing in them is unseen. All of it can be undone: see docs/api.md.
import { inert } from './json.js'

/** What a spreadsheet takes into one cell, in UTF-16 units. What follows spills over into others. */
export const maxCell = 32_767

/** Somebody's words, or one of ours: on one line, with escapes as JSON has them, and no quotes around. */
export function textCell(text: string): Cell {
  if (plainWord.test(text)) return { text, isCut: false }
  return finish(text, (some) => inert(some.replace(/[\\\0-\x1f]/g, escapeCharacter)))
}

/** JSON text without line breaks: as it stands, with more escapes. */
export function jsonCell(json: string): Cell {
  return finish(json, inert)
}

/** As it stands in the file, quoted if need be. */
interface Cell {
  text: string
  /** It was too long, and says so. */
  isCut: boolean
}

/** What most cells hold, and no spreadsheet computes. */
const plainWord = /^[\w.:/][\w.:/+-]{0,200}$/

/**
 * What a formula may begin with, also as other keyboards write it: at the beginning, or behind a semicolon, which is where
 * spreadsheets in many countries split lines. Spaces and quotes before it help nothing.
 */
const formula =
  /(^|;)([ "'`\u00b4\u1fef\u2018-\u201f\uff02\uff07\uff40]*)([=+\-@\u207a-\u207c\u208a-\u208c\u2212\u2a75\u2a76\ufb29\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20])/g

function finish(whole: string, escape: (text: string) => string): Cell {
  // Nothing gets shorter by being escaped, so what is beyond is looked at no further.
  const begun = whole.length > maxCell ? whole.slice(0, maxCell) : whole
  const text = escape(begun).replace(formula, (_, before: string, between: string, sign: string) => {
    return `${before}${between}${escapeCharacter(sign)}`
  })
  const isCut = whole.length > maxCell || text.length > maxCell
  return { text: quote(isCut ? cut(text, whole.length) : text), isCut }
}

function escapeCharacter(character: string): string {
  switch (character) {
    case '\\':
      return '\\\\'
    case '\n':
      return '\\n'
    case '\r':
      return '\\r'
    case '\t':
      return '\\t'
    default:
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  }
}

/** Backslashes are escaped, so no text says this of itself. */
function cut(text: string, length: number): string {
  const note = `\\{cut: ${length} characters in all}`
  return `${text.slice(0, wholeUpTo(text, maxCell - note.length))}${note}`
}

/** The last place up to this one that is not inside an escape or a pair. */
function wholeUpTo(text: string, end: number): number {
  const code = text.charCodeAt(end - 1)
  if (code >= 0xd800 && code < 0xdc00) return end - 1
  const last = text.lastIndexOf('\\', end - 1)
  if (last < end - 5) return end
  let first = last
  while (text[first - 1] === '\\') first -= 1
  // Of a row of backslashes, each second one belongs to the one before.
  if ((last - first) % 2 === 1) return end
  const length = text[last + 1] === 'u' ? 6 : 2
  return last + length > end ? last : end
}

function quote(text: string): string {
  return plainWord.test(text) || text === '' ? text : `"${text.replaceAll('"', '""')}"`
}
