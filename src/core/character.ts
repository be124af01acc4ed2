// What a character is when it is drawn: plain, hidden, a mark on the letter before, written from right to left, a digit of
// that kind, or a picture.

/** The mark of a line break where text has several lines. Nobody else's text shows it. */
export const breakMark = '↵'

export const space = 0x20
export const lineBreak = 0x0a

export const drawn = 1
export const hidden = 2
export const mark = 3
export const turned = 4
export const digit = 5
export const pictured = 6

/** Scripts that devices have fonts for (UAX #31, table 5, and a few): letters of others may all be drawn as the same box. */
const scripts =
  'Common Inherited Latin Greek Cyrillic Armenian Georgian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati ' +
  'Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Ethiopic Cherokee Canadian_Aboriginal Braille ' +
  'Han Hiragana Katakana Bopomofo Hangul'
const known = `[${scripts.replace(/\w+ ?/g, (name) => `\\p{Script=${name.trim()}}`)}]`

// Not literals: the flag is newer than what TypeScript is told to write.
const kinds: [RegExp, number][] = [
  // Controls, formats, surrogates, private use, unassigned; separators and spaces but the one; what is ignored by default;
  // what encloses or strikes through; blanks, and what is drawn far out of its place; the marks that are ours. Then Hangul
  // in parts; a low line, hyphens, a colon, an equals sign, an apostrophe and ligatures that are drawn as ASCII is; letters of
  // mathematics, signs of music and the like; and scripts that are seldom drawn.
  [
    new RegExp(
      `[\\p{C}\\p{Z}\\p{DI}\\p{Me}\\u0334-\\u0338\\u20d2\\u20d3\\u20d8-\\u20da\\u20e5\\u20e6\\u20ea\\u20eb\\u2800\\ufdfd\\ufffc\\ufffd${breakMark}` +
        `\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff` +
        `\\u0332\\u2010-\\u2012\\ua789\\ua78a\\ua78c\\ufb00-\\ufb06]` +
        `|[[[\\p{Script=Common}\\p{Script=Inherited}]&&[\\u{10000}-\\u{10ffff}]]--[\\p{Emoji}\\p{ExtPict}]]` +
        `|[^${known}]`,
      'v',
    ),
    hidden,
  ],
  // They stand on the letter before, though two of them are letters themselves.
  [/[\p{M}\u0e33\u0eb3]/u, mark],
  // Numbers of this kind change places with each other.
  [/[\u0660-\u0669\u066b\u066c\u06f0-\u06f9]/, digit],
  [/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u, turned],
  [new RegExp('[\\p{Emoji}--[\\0-\\x7f]]', 'v'), pictured],
]

/** What the characters are of 256 that follow each other: found once. */
const blocks: (Uint8Array | undefined)[] = []

export function kindOf(code: number): number {
  const block = (blocks[code >> 8] ??= Uint8Array.from({ length: 256 }, (_, low) => findKind((code & ~0xff) | low)))
  return block[code & 0xff]!
}

function findKind(code: number): number {
  if (code === space || code === lineBreak) return drawn
  const character = String.fromCodePoint(code)
  return kinds.find(([expression]) => expression.test(character))?.[1] ?? drawn
}

export function isLetter(code: number): boolean {
  return /\p{L}/u.test(String.fromCodePoint(code))
}

// Pictures of several characters: those that everybody draws as one. The first expression only finds where they would end.
const joinedPicture =
  /\p{RI}{2}|[0-9#*]\ufe0f\u20e3|\p{Emoji}[\ufe0f\u{1f3fb}-\u{1f3ff}]?(?:\u200d\p{Emoji}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)*[\u{e0020}-\u{e007f}]*/uy
const knownPicture = new RegExp('^\\p{RGI_Emoji}$', 'v')
const pictures = new Map<string, boolean>()

/** How long the picture is that begins here, if it is one of several characters; else 0. */
export function pictureAt(text: string, at: number): number {
  const length = lengthAt(joinedPicture, text, at)
  // A single character needs no list.
  if (length === (text.codePointAt(at)! > 0xffff ? 2 : 1)) return 0
  const picture = text.slice(at, at + length)
  let isKnown = pictures.get(picture)
  if (isKnown === undefined) {
    isKnown = length > 0 && knownPicture.test(picture)
    if (pictures.size < 1000) pictures.set(picture, isKnown)
  }
  return isKnown ? length : 0
}

// Where scripts need what joins letters or keeps them apart (RFC 5892, appendix A): after a virama, and between Arabic letters
// that would join.
const virama = '\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0c4d\\u0ccd\\u0d4d\\u0dca'
const joinsOn =
  '\\u0620\\u0626\\u0628\\u062a-\\u062e\\u0633-\\u063f\\u0641-\\u0647\\u0649\\u064a\\u066e\\u066f\\u0678-\\u0687\\u069a-\\u06bf' +
  '\\u06c1\\u06c2\\u06cc\\u06ce\\u06d0\\u06d1\\u06fa-\\u06fc\\u06ff'
const joinsBack =
  '\\u0622-\\u0625\\u0627\\u0629\\u062f-\\u0632\\u0648\\u0671-\\u0673\\u0675-\\u0677\\u0688-\\u0699\\u06c0\\u06c3-\\u06cb\\u06cd' +
  '\\u06cf\\u06d2\\u06d3\\u06d5\\u06ee\\u06ef'
const joiner = new RegExp(
  `(?<=[${virama}])[\\u200c\\u200d](?=\\p{L})|(?<=[${joinsOn}])\\u200c(?=[${joinsOn}${joinsBack}])`,
  'uy',
)

export function isJoinerAt(text: string, at: number): boolean {
  return lengthAt(joiner, text, at) > 0
}

/** How much of the text the expression takes right there. */
function lengthAt(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at
  return expression.exec(text)?.[0].length ?? 0
}

/** Where characters stand that are drawn as others, or in another order, are: what Unicode's normal form C would change. */
export function unnormalized(text: string): Set<number> {
  const found = new Set<number>()
  if (text.normalize('NFC') === text) return found
  for (const { 0: part, index } of text.matchAll(/[^]\p{M}+|[^\0-\u02ff]/gu)) {
    if (part.normalize('NFC') === part) continue
    let at = index
    for (const character of part) {
      if (character > '\x7f') found.add(at)
      at += character.length
    }
  }
  return found
}

/** Whether anything of it is drawn: more than spaces, controls and what else leaves no trace. */
export function canBeSeen(text: string): boolean {
  return /[^\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{DI}\u2800]/u.test(text)
}
