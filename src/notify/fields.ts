// What others sent as JSON, looked into without trusting its shape.

export type Fields = Record<string, unknown>

/** Nothing, where it is no object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** Nothing, where it is no list. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Null: it is no JSON, or neither an object nor a list. */
export function readFields(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Fields) : null
  } catch {
    return null
  }
}
