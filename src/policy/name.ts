// Names of actions. Plain ones compare with case and separators folded; any other is only ever itself.

const plain = /^[A-Za-z0-9_.:/-]*$/
const separators = /[_.:/-]+/g

/** The characters of plain names, in words. */
export const plainWords = 'ASCII letters, digits and _ - . : /'

/** The reader of a plain name reads what is there: no letter of it passes for another alphabet's. */
export function isPlain(name: string): boolean {
  return plain.test(name)
}

/**
 * A plain name, or a pattern for plain names, as it is compared: `Pay-X`, `pay.x`, `pay__x` and `_pay_x` are all `pay_x`. A
 * separator inside stays one, so that `pay_*` is not for `payload`.
 */
export function fold(name: string): string {
  return name.toLowerCase().replace(separators, '_').replace(/^_/, '')
}

/** Where the whole name is spelt out, a separator at its end is none either; a pattern may mean it. */
export function trimEnd(folded: string): string {
  return folded.replace(/_$/, '')
}

/** What keeps a name from being plain, by its number: it may look like something else, or like nothing. */
export function oddOneOf(name: string): string {
  const odd = [...name].find((character) => !isPlain(character)) ?? ''
  return `U+${(odd.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
