// Patterns: * stands for any run of characters, ? for one, all else for itself. A match costs about the length of the text;
// where there is a ? beside a *, at most that times the length of the pattern.

/** A code point, or one of these. */
type Token = number
const run = -1
const one = -2

export function isExact(pattern: string): boolean {
  return !/[*?]/.test(pattern)
}

/** Whether the whole text fits the pattern. */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (isExact(pattern)) return (text) => text === pattern
  const [head, ...rest] = pattern.split(/\*+/)
  const tail = rest.pop()
  if (tail === undefined) return (text) => endOf(head!, text, 0) === text.length
  return (text) => {
    // What lies between two stars is taken as early as it comes: later ones never need more room.
    let at = endOf(head!, text, 0)
    for (const part of rest) if (at >= 0) at = find(part, text, at)
    return at >= 0 && endsWith(tail, text, at)
  }
}

/** Where this part, which has no star, ends if it begins here; -1 if it does not. */
function endOf(part: string, text: string, start: number): number {
  let at = start
  for (let index = 0; index < part.length; at++, index++) {
    if (at >= text.length) return -1
    if (part[index] !== '?') {
      if (part[index] !== text[at]) return -1
    } else if (text.codePointAt(at)! > 0xffff) at += 1
  }
  return at
}

/** The end of the first that lies in the text from here on; -1 if there is none. */
function find(part: string, text: string, from: number): number {
  if (isExact(part)) {
    const at = text.indexOf(part, from)
    return at < 0 ? -1 : at + part.length
  }
  for (let at = from; at <= text.length; at += width(text.codePointAt(at) ?? 0)) {
    const end = endOf(part, text, at)
    if (end >= 0) return end
  }
  return -1
}

/** Whether the text ends with this part, and that begins here or later. */
function endsWith(part: string, text: string, from: number): boolean {
  let start = text.length
  for (const _ of part) start -= text.codePointAt(start - 2)! > 0xffff ? 2 : 1
  return start >= from && endOf(part, text, start) === text.length
}

function width(character: number): number {
  return character > 0xffff ? 2 : 1
}

function tokensOf(pattern: string): Token[] {
  return [...pattern.replace(/\*+/g, '*')].map((character) => {
    if (character === '*') return run
    return character === '?' ? one : character.codePointAt(0)!
  })
}

/** Whether some text fits both patterns. */
export function overlaps(a: string, b: string): boolean {
  if (isExact(a)) return compileGlob(b)(a)
  if (isExact(b)) return compileGlob(a)(b)
  return (
    mayMeet(a, b) &&
    walk(tokensOf(a), tokensOf(b), (left, right, goesOn) => {
      if (left === run || right === run) return goesOn(1, 0) || goesOn(0, 1)
      return (left === one || right === one || left === right) && goesOn(1, 1)
    })
  )
}

/** Whether all that fits `narrow` surely fits `wide`. */
export function covers(wide: string, narrow: string): boolean {
  if (isExact(narrow)) return compileGlob(wide)(narrow)
  return (
    mayMeet(wide, narrow) &&
    walk(tokensOf(wide), tokensOf(narrow), (left, right, goesOn) => {
      if (left === run) return goesOn(1, 0) || goesOn(0, 1)
      return right !== run && (left === one || left === right) && goesOn(1, 1)
    })
  )
}

/** Most pairs differ before the first star, and need no walk. */
function mayMeet(a: string, b: string): boolean {
  const start = Math.min(literalLength(a), literalLength(b))
  return a.slice(0, start) === b.slice(0, start)
}

function literalLength(pattern: string): number {
  const wild = pattern.search(/[*?]/)
  return wild < 0 ? pattern.length : wild
}

/** From the ends of two patterns to their beginnings, each pair of places once; nothing goes on beyond an end. */
function walk(
  a: Token[],
  b: Token[],
  step: (left: Token | undefined, right: Token | undefined, goesOn: (i: number, j: number) => boolean) => boolean,
): boolean {
  let later: boolean[] = []
  for (let i = a.length; i >= 0; i--) {
    const row = new Array<boolean>(b.length + 1).fill(false)
    for (let j = b.length; j >= 0; j--) {
      const goesOn = (down: number, right: number) => (down === 1 ? later : row)[j + right] ?? false
      row[j] = (i === a.length && j === b.length) || step(a[i], b[j], goesOn)
    }
    later = row
  }
  return later[0]!
}
