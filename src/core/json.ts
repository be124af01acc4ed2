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

/** RFC 8785: one text for one value, whatever the order of its keys. For what JSON.parse answers, and well-formed text. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let inside = ''
  if (Array.isArray(value)) {
    for (const item of value) inside += `${inside === '' ? '' : ','}${canonical(item)}`
    return `[${inside}]`
  }
  // The default order compares UTF-16 units, as the RFC does.
  for (const key of Object.keys(value).sort()) {
    const member = `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key])}`
    inside += inside === '' ? member : `,${member}`
  }
  return `{${inside}}`
}
