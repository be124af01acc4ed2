// Markup: a template that escapes whatever stands in it, and what others wrote with its hidden characters made visible.
import { hidden } from '../core/text.js'

export class Markup {
  readonly html: string

  constructor(html: string) {
    this.html = html
  }
}

export type Part = Markup | string | number | null | Part[]

/** A template of markup. A string in it is text: it never becomes a tag, and never ends an attribute. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  let whole = strings[0]!
  for (const [index, part] of parts.entries()) whole += write(part) + strings[index + 1]!
  return new Markup(whole)
}

function write(part: Part): string {
  if (part instanceof Markup) return part.html
  if (part === null) return ''
  if (Array.isArray(part)) {
    let whole = ''
    for (const one of part) whole += write(one)
    return whole
  }
  return escape(String(part))
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}

/** How many marks are still written out. */
export interface Room {
  marks: number
}

/** Nobody reads more, and a page that is made of marks would be too large for any browser. */
export const newRoom = (): Room => ({ marks: 2000 })

/** What others wrote, line breaks kept, but for long gaps. It is isolated from its surroundings, whichever way its letters run. */
export function written(text: string): Markup {
  return new Markup(`<bdi dir="ltr">${reveal(text, inProse)}</bdi>`)
}

/** The same on one line: line breaks and tabs are shown as what they are. */
export function writtenLine(text: string): Markup {
  return new Markup(`<bdi dir="ltr">${reveal(text, inLine)}</bdi>`)
}

/** Somebody's name. */
export function named(name: string): Markup {
  return name.trim() === '' ? html`<span class="quiet">(no name)</span>` : writtenLine(name)
}

/** The text inside quotes that are not part of it. Texts that belong together share their room. */
export function quoted(text: string, kind: string, room: Room): Markup {
  const isLong = text.includes('\n') ? ' block' : ''
  const inside = reveal(text, kind === 'key' ? inLine : inProse, room)
  return new Markup(`<bdi class="${kind}${isLong}" dir="ltr"><i>"</i>${inside}<i>"</i></bdi>`)
}

// More marks on one letter than any script needs: they would be drawn over the lines around, or far to the side.
const tooManyMarks = '(?<=[\\p{M}\\u0e33\\u0eb3]{8})[\\p{M}\\u0e33\\u0eb3]'

// More empty lines, or spaces, than any text needs: what follows would be out of sight. What joins letters, and so is not
// always hidden, makes them no less empty.
const blank = '[\\r\\t\\p{Zs}\\u200c\\u200d\\ufe0e\\ufe0f]'
const gap = `\\n(?:${blank}*\\n){3,}|(?<!${blank})(?=[\\t\\p{Zs}])${blank}{100,}`
const never = '(?!)'

const runsOf = (gaps: string, ...kinds: string[]) => new RegExp(`(${gaps})|(${kinds.join('|')})\\2*`, 'gu')
const inProse = runsOf(gap, hidden.source, tooManyMarks)
const inLine = runsOf(never, hidden.source, tooManyMarks, '[\\n\\t]')

/** Writes out what is hidden, a run of the same once, as far as there is room; the rest is seen, and counted in front. */
function reveal(text: string, runs: RegExp, room: Room = newRoom()): string {
  let more = 0
  // Escaping first: it adds only ASCII beside ASCII, so it changes nothing about which characters are hidden.
  const shown = escape(text).replace(runs, (run: string, gap: string | undefined, character: string) => {
    const count = gap === undefined ? run.length / character.length : 1
    if (room.marks > 0) {
      room.marks -= 1
      return gap === undefined ? codePoint(character, count) : lengthOf(gap)
    }
    more += count
    return gap === undefined ? '\ufffd'.repeat(count) : '\n\ufffd\n'
  })
  return more === 0 ? shown : `<mark>${more} hidden, shown as \ufffd:</mark>${shown}`
}

/** How long a gap is, on one line, marked as hidden characters are. */
function lengthOf(gap: string): string {
  const lines = gap.split('\n').length - 1
  return `\n<mark>${lines > 0 ? `${lines} line breaks` : `${gap.length} spaces`}</mark>\n`
}

const names = new Map([
  [0x00, 'null'],
  [0x08, 'backspace'],
  [0x09, 'tab'],
  [0x0a, 'line feed'],
  [0x0d, 'carriage return'],
  [0x1b, 'escape'],
  [0x7f, 'delete'],
  [0xad, 'soft hyphen'],
  [0x61c, 'Arabic letter mark'],
  [0x200b, 'zero-width space'],
  [0x200c, 'zero-width non-joiner'],
  [0x200d, 'zero-width joiner'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x2028, 'line separator'],
  [0x2029, 'paragraph separator'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'pop directional formatting'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first strong isolate'],
  [0x2069, 'pop directional isolate'],
  [0xfeff, 'byte order mark'],
])

/** A hidden character's number, marked as no text can mark itself. */
function codePoint(character: string, count: number): string {
  const code = character.codePointAt(0)!
  const name = names.get(code)
  const title = name === undefined ? '' : ` title="${name}"`
  const times = count === 1 ? '' : ` ×${count}`
  return `<mark${title}>U+${code.toString(16).toUpperCase().padStart(4, '0')}${times}</mark>`
}
