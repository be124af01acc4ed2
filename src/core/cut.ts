// Visible text cut to a length, saying how much is missing.
import { quotedLine, visibleLine } from './visible.js'

/**
 * Cuts visible text to at most so many UTF-16 units and lines, never inside a character or an escape, with a mark that says
 * how much is missing. `left` is how much was left out of it before.
 */
export function cut(shown: string, limit: number, lines = Infinity, left = 0): string {
  const room = lines === Infinity ? shown.length : endOfLine(shown, lines)
  if (shown.length <= limit && room === shown.length && left === 0) return shown
  const tail = (missing: number) => `… \\{cut: ${missing} more characters}`
  // One for the end of an isolate.
  const end = Math.max(0, Math.min(room, limit - tail(shown.length + left).length - 1))
  const kept = shown.slice(0, end).replace(/[\ud800-\udbff]$|(?<!\\)((?:\\\\)*)\\(?:u?\{[^}]*|u)?$/, '$1')
  const isOpen = kept.lastIndexOf('\u2067') > kept.lastIndexOf('\u2069')
  return `${kept}${isOpen ? '\u2069' : ''}${tail(shown.length - kept.length + left)}`
}

/** A text, or of a long one its beginning and its end, and how many characters were left out between them. */
export interface Looked {
  beginning: string
  end: string
  between: number
}

/** The beginning and the end, with how much is between: a third of the room is the end's. `show` makes a part safe to show. */
export function cutMiddle(
  { beginning, end, between }: Looked,
  limit: number,
  lines: number,
  show: (part: string) => string,
): { text: string; isWhole: boolean } {
  const shown = show(beginning)
  if (between === 0 && shown.length <= limit && endOfLine(shown, lines) === shown.length) {
    return { text: shown, isWhole: true }
  }
  const shownEnd = between === 0 ? shown : show(end)
  const mark = (missing: number) => `… \\{cut: ${missing} more characters} …`
  const most = shown.length + between + shownEnd.length
  // Two for the ends of isolates.
  const room = Math.max(0, limit - mark(most).length - 2)
  const linesOfEnd = Math.floor(lines / 3)
  const head = beginningOf(shown, room - Math.floor(room / 3), lines - linesOfEnd)
  const tail = endingOf(shownEnd, Math.floor(room / 3), linesOfEnd)
  const missing = between === 0 ? shown.length - head.length - tail.length : most - head.length - tail.length
  return { text: `${head}${mark(Math.max(1, missing))}${tail}`, isWhole: false }
}

/** Never the half of a character or of an escape, and no isolate that is left open. */
function beginningOf(shown: string, limit: number, lines: number): string {
  const kept = shown
    .slice(0, Math.min(limit, endOfLine(shown, lines)))
    .replace(/[\ud800-\udbff]$|(?<!\\)((?:\\\\)*)\\(?:u?\{[^}]*|u)?$/, '$1')
  return kept.lastIndexOf('\u2067') > kept.lastIndexOf('\u2069') ? `${kept}\u2069` : kept
}

function endingOf(shown: string, limit: number, lines: number): string {
  const short = limit === 0 ? '' : shown.slice(-limit)
  let from = 0
  for (let at = short.length, line = 0; line < lines && at !== -1; line++) {
    at = at === 0 ? -1 : short.lastIndexOf('\n', at - 1)
    from = at + 1
  }
  const kept = short.slice(from)
  // What may be the rest of an escape or of a character goes, and so does the end of an isolate that began before.
  const escape = /^[^\\\s{}]{0,60}\}/.exec(kept)
  const clean = kept.slice(escape?.[0].length ?? 0).replace(/^[\udc00-\udfff]/, '')
  const [open, close] = [clean.indexOf('\u2067'), clean.indexOf('\u2069')]
  return close !== -1 && (open === -1 || close < open) ? `\u2067${clean}` : clean
}

function endOfLine(text: string, lines: number): number {
  let at = -1
  for (let line = 0; line < lines; line++) {
    at = text.indexOf('\n', at + 1)
    if (at === -1) return text.length
  }
  return at
}

/** The beginning on a line, with how much is missing. However long it is, no more is looked at than could fit. */
export function shortLine(text: string, limit: number): string {
  return shorten(text, limit, visibleLine)
}

/** The same in quotes. */
export function shortQuotedLine(text: string, limit: number): string {
  return `"${shorten(text, limit, (part) => quotedLine(part).slice(1, -1))}"`
}

function shorten(text: string, limit: number, show: (part: string) => string): string {
  const looked = text.slice(0, 2 * limit)
  return cut(show(looked), limit, Infinity, text.length - looked.length)
}
