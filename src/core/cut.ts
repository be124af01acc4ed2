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
