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
  return text.replace(/"\\u0000(\d+)"/g, (whole, index: string) => texts[Number(index)] ?? whole)
}
