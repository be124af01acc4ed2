// JSON that stays text: what agents sent is stored, listed and answered without being parsed again.

class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  // No text of ours holds a NUL, so this cannot be mistaken for a value.
  toJSON(): string {
    return `\0${embedded.push(this.text) - 1}`
  }
}

let embedded: string[] = []

/** An object that is already JSON text; `stringify` puts the text in its place. */
export function raw(text: string): Record<string, unknown> {
  return new Raw(text) as unknown as Record<string, unknown>
}

/** JSON.stringify that knows `raw`. */
export function stringify(value: unknown): string {
  embedded = []
  const text = JSON.stringify(value)
  const texts = embedded
  if (texts.length === 0) return text
  // They stand in the order in which they were met.
  let done = ''
  let from = 0
  for (const [index, one] of texts.entries()) {
    const mark = `"\\u0000${index}"`
    const at = text.indexOf(mark, from)
    done += text.slice(from, at) + one
    from = at + mark.length
  }
  return done + text.slice(from)
}

/**
 * Controls, what reorders text, and what cannot be seen or told from a space: a terminal would obey it, or show nothing. What
 * is below the space JSON escapes by itself.
 */
export const unseen = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{DI}\u2800\ufffc\u{1107f}\u{16fe4}\u{1d159}]|(?! )\p{Zs}/u

/** What a UTF-16 unit is, if it is not to be kept. */
const escaped = 1
/** The first half of a pair that may be unseen, or surely is. */
const doubtful = 2
const pairEscaped = 3

let units: Uint8Array | null = null

/** Made when it is first needed: most answers are ASCII. */
function tellUnits(): Uint8Array {
  const table = new Uint8Array(0x10000)
  for (let unit = 0x7f; unit < 0x10000; unit++) {
    if ((unit < 0xd800 || unit > 0xdfff) && unseen.test(String.fromCharCode(unit))) table[unit] = escaped
  }
  for (const half of [0xd804, 0xd80d, 0xd81b, 0xd82f, 0xd834]) table[half] = doubtful
  for (const half of [0xdb40, 0xdb41, 0xdb42, 0xdb43]) table[half] = pairEscaped
  return table
}

/** JSON as it is answered: the same value as `stringify` writes, with all that is unseen as \uXXXX. */
export function stringifyInert(value: unknown): string {
  return inert(stringify(value))
}

/** JSON text of the same value, which does nothing to a terminal. */
export function inert(text: string): string {
  return /[^\0-~]/.test(text) ? escapeUnseen(text) : text
}

const hexDigits = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

function escapeUnseen(text: string): string {
  units ??= tellUnits()
  for (let at = 0; at < text.length; at++) if (escapedAt(text, at, units) > 0) return escapeFrom(text, at, units)
  return text
}

/** How many units are to be escaped here. */
function escapedAt(text: string, at: number, table: Uint8Array): number {
  const kind = table[text.charCodeAt(at)]!
  if (kind === 0) return 0
  if (kind === escaped) return 1
  return kind === pairEscaped || unseen.test(text.slice(at, at + 2)) ? 2 : 0
}

/** Unit by unit: a text may be unseen from end to end, and then putting strings together would take long. */
function escapeFrom(text: string, start: number, table: Uint8Array): string {
  const written = Buffer.allocUnsafe(16 * 1024)
  let done = text.slice(0, start)
  let end = 0
  const write = (unit: number) => {
    written[end] = unit & 0xff
    written[end + 1] = unit >> 8
    end += 2
  }
  for (let at = start, escaping = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (escaping === 0) escaping = escapedAt(text, at, table)
    if (escaping === 0) write(unit)
    else {
      escaping -= 1
      write(0x5c)
      write(0x75)
      for (let shift = 12; shift >= 0; shift -= 4) write(hexDigits[(unit >> shift) & 15]!)
    }
    // The longest that may follow is an escape of six units.
    if (end > written.length - 12 || at === text.length - 1) {
      done += written.toString('utf16le', 0, end)
      end = 0
    }
  }
  return done
}
