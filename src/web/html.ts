// Markup: a template that escapes whatever stands in it, and what others wrote with its hidden characters made visible.
import { breakMark } from '../core/character.js'
import { counted, numbered, sayLength } from '../core/length.js'
import { piecesOf } from '../core/pieces.js'
import { sayGap, sayHidden } from '../core/visible.js'

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

/** How many marks, and line breaks, are still written out. */
export interface Room {
  marks: number
  breaks: number
}

/** Nobody reads more, and a page that is made of marks would be too large for any browser. */
export const newRoom = (): Room => ({ marks: 2000, breaks: 20_000 })

/** What others wrote, line breaks kept and marked. It is isolated from its surroundings, whichever way its letters run. */
export function written(text: string): Markup {
  return new Markup(`${lengthOf(text)}<bdi dir="ltr">${reveal(text, 'prose')}</bdi>`)
}

/** The same on one line: line breaks are shown as what they are. */
export function writtenLine(text: string): Markup {
  return new Markup(`${lengthOf(text)}<bdi dir="ltr">${reveal(text, 'line')}</bdi>`)
}

/** The beginning of it, and how much more there is. */
export function excerpt(text: string, limit: number): Markup {
  const beginning = Array.from(text.slice(0, 2 * limit))
    .slice(0, limit)
    .join('')
  const missing = text.length - beginning.length
  const more = missing === 0 ? '' : ` <span class="length">… ${counted(missing, 'more character')}</span>`
  return new Markup(`<bdi dir="ltr">${reveal(beginning, 'line')}</bdi>${more}`)
}

/** Somebody's name. */
export function named(name: string): Markup {
  return name === '' ? html`<span class="quiet">(no name)</span>` : writtenLine(name)
}

/** What an agent chose, where each character counts: it cannot pass for words of the page. */
export function verbatim(text: Markup): Markup {
  return html`<span class="verbatim">${text}</span>`
}

/** The text inside quotes that are not part of it; its own are escaped. Texts that belong together share their room. */
export function quoted(text: string, kind: string, room: Room): Markup {
  const isLong = text.includes('\n') && kind !== 'key' ? ' block' : ''
  const inside = reveal(text, kind === 'key' ? 'line' : 'prose', room, (plain) => plain.replace(/["\\]/g, '\\$&'))
  return new Markup(`${lengthOf(text)}<bdi class="${kind}${isLong}" dir="ltr"><b>"</b>${inside}<b>"</b></bdi>`)
}

function lengthOf(text: string): string {
  const length = sayLength(text)
  return length === null ? '' : `<span class="length">${length}</span> `
}

/** Writes out what cannot be seen as far as there is room; the rest is seen, and counted in front. */
function reveal(
  text: string,
  place: 'prose' | 'line',
  room: Room = newRoom(),
  prepare = (plain: string): string => plain,
): string {
  let more = 0
  let shown = ''
  const mark = (label: string, count: number, title = '') => {
    if (room.marks > 0) {
      room.marks -= 1
      return `<mark${title}>${label}</mark>`
    }
    more += count
    return '\ufffd'.repeat(count)
  }
  for (const piece of piecesOf(text)) {
    switch (piece.kind) {
      case 'text':
        shown += escape(prepare(piece.text))
        break
      case 'turned':
        shown += `<bdi>${escape(prepare(piece.text))}</bdi>`
        break
      case 'hidden':
        shown += mark(sayHidden(piece), piece.count * piece.characters.length, titleOf(piece.characters))
        break
      case 'spaces':
        shown += mark(counted(piece.count, 'space'), 1)
        break
      case 'break':
        if (place === 'line') shown += mark('U+000A', 1, titleOf(['\n']))
        else shown += room.breaks-- > 0 ? '<i></i>\n' : `${breakMark}\n`
        break
      case 'gap':
        shown += mark(sayGap(piece), 1) + (place === 'line' ? '' : '\n')
        break
    }
  }
  return more === 0 ? shown : `<mark>${numbered(more)} hidden, shown as \ufffd:</mark>${shown}`
}

const names = new Map([
  [0x00, 'null'],
  [0x08, 'backspace'],
  [0x09, 'tab'],
  [0x0a, 'line feed'],
  [0x0d, 'carriage return'],
  [0x1b, 'escape'],
  [0x7f, 'delete'],
  [0xa0, 'no-break space'],
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
  [0x202f, 'narrow no-break space'],
  [0x2060, 'word joiner'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first strong isolate'],
  [0x2069, 'pop directional isolate'],
  [0x3000, 'ideographic space'],
  [0xfeff, 'byte order mark'],
  [0xfffc, 'object replacement character'],
])

function titleOf(characters: string[]): string {
  const name = characters.length === 1 ? names.get(characters[0]!.codePointAt(0)!) : undefined
  return name === undefined ? '' : ` title="${name}"`
}
