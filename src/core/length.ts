// Counts in words, and how long a text is.
import { lineBreak } from './character.js'

/** As 1,480. */
export function numbered(count: number): string {
  return count.toLocaleString('en-US')
}

/** As 1 space, 1,480 spaces. */
export function counted(count: number, what: string): string {
  return `${numbered(count)} ${what}${count === 1 ? '' : 's'}`
}

/** What nobody takes in at a glance is counted: how long it is, or null. */
export function sayLength(text: string): string | null {
  let lines = 1
  let characters = 0
  // Unit by unit: in a megabyte there may be as many line breaks.
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === lineBreak) lines += 1
    // The second half of a pair belongs to the first.
    if (unit < 0xdc00 || unit > 0xdfff) characters += 1
  }
  if (text.length <= 300 && lines <= 8) return null
  return `${counted(characters, 'character')}${lines === 1 ? '' : `, ${counted(lines, 'line')}`}`
}
