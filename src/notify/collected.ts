// One message for many requests, where each would be one too many for now (pure). It says what stays true: that these came in.
import { cut } from '../core/cut.js'
import type { Confirmation } from '../core/model.js'
import { maskSecrets } from '../core/secrets.js'
import { visibleLine } from '../core/visible.js'
import type { Text, TextPart } from './chat.js'

/** As much as fits into every chat: of requests, of characters, and of one name. */
const mostListed = 40
const mostShown = 2800
const mostName = 60
/** Of a name that may be hostile, which takes a microsecond a character. */
const mostLooked = 200

/** `list` is where all of them are. */
export function collectedText(confirmations: Confirmation[], list: { url: string; isPublic: boolean }): Text {
  const listed = fitting(confirmations.slice(0, mostListed).map(lineOf))
  const left = confirmations.length - listed.length
  const what = confirmations.length === 1 ? 'One more request came' : `${confirmations.length} more requests came`
  return {
    lines: [
      [{ bold: `🔔 ${what} in, faster than each can have a message` }],
      ...listed,
      ...(left === 0 ? [] : [[{ ours: `And ${left} more, which the list has.` }]]),
      [{ ours: 'Whatever of these still waits gets a message of its own, one after the other.' }],
      ...(list.isPublic ? [] : [[{ ours: `All that waits: ${list.url}` }]]),
    ],
    link: list.isPublic ? { label: 'All that waits', url: list.url } : null,
  }
}

function fitting(lines: TextPart[][]): TextPart[][] {
  let shown = 0
  return lines.filter((line) => (shown += lengthOf(line)) <= mostShown)
}

function lengthOf(line: TextPart[]): number {
  return line.reduce((sum, part) => sum + Object.values(part).join('').length + 1, 0)
}

function lineOf({ id, action, requester }: Confirmation): TextPart[] {
  return [
    { ours: `${id.slice(-8)} ` },
    { theirs: named(action) },
    { ours: ', asked by ' },
    { theirs: named(requester) },
  ]
}

function named(text: string): string {
  const looked = text.slice(0, mostLooked)
  return cut(visibleLine(maskSecrets(looked)), mostName, Infinity, text.length - looked.length)
}
