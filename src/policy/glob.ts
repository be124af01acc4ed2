// Patterns: * stands for any run of characters, ? for one, all else for itself. A match never costs more than the
// length of the text times that of the pattern.

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
  const tokens = tokensOf(pattern)
  return (text) => fits(tokens, text)
}

function fits(tokens: Token[], text: string): boolean {
  let token = 0
  let at = 0
  // The latest run, and how far it reaches so far: earlier ones never need to give anything back.
  let lastRun = -1
  let reach = 0
  while (at < text.length) {
    const character = text.codePointAt(at)!
    const wanted = tokens[token]
    if (wanted === run) {
      lastRun = token
      reach = at
      token += 1
    } else if (wanted === one || wanted === character) {
      token += 1
      at += width(character)
    } else if (lastRun >= 0) {
      token = lastRun + 1
      reach += width(text.codePointAt(reach)!)
      at = reach
    } else return false
  }
  while (tokens[token] === run) token += 1
  return token === tokens.length
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
