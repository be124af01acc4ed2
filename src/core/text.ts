// Text that others wrote, as people are to see it. One function takes it apart; the pages, the chats, the log and the
// terminal each put the pieces together in their own way, and nowhere do two different texts look the same.
import { sha256, shortDigest } from './digest.js'

export type Piece =
  /** Drawn as it stands, from left to right. */
  | { kind: 'text'; text: string }
  /** Letters or digits that turn what is around them, so they are isolated from it. */
  | { kind: 'turned'; text: string }
  /** Characters that cannot be seen, or not be told from others, so many times in a row. */
  | { kind: 'hidden'; characters: string[]; count: number }
  /** Spaces at the beginning or the end, or more than anybody counts. */
  | { kind: 'spaces'; count: number }
  | { kind: 'break' }
  /** Lines on which nothing is drawn: what stands between the breaks, and how often in a row. */
  | { kind: 'gap'; breaks: number; blanks: { items: string[]; count: number }[] }

/** A phone's line: with more of them what follows would be out of sight. */
const mostSpaces = 40
/** More line breaks in a row, with nothing drawn between them, are a gap. */
const mostBreaks = 3
/** Marks on one letter, as UTS #39 bounds them: more are drawn over the lines around. */
const mostMarks = 4

/** The mark of a line break where text has several lines. Nobody else's text shows it. */
export const breakMark = '↵'

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  const unusual = unnormalized(text)
  let start = 0
  let isTurned = false
  // What the next mark would stand on, and how many stand there; 0: nothing.
  let base = 0
  let marks = 0

  /** Ends the run of text that is under way; the next begins after the piece. */
  function endRun(end: number, next: number, piece?: Piece): number {
    if (end > start) pieces.push({ kind: isTurned ? 'turned' : 'text', text: text.slice(start, end) })
    if (piece !== undefined) pieces.push(piece)
    start = next
    isTurned = false
    return next
  }

  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!
    const next = at + (code > 0xffff ? 2 : 1)
    const kind = unusual.has(at) ? hidden : kindOf(code)
    const isRoom = base !== 0 && marks < mostMarks && text.codePointAt(at - (next - at)) !== code
    if (kind === mark && isRoom && (marks > 0 || isLetter(base))) {
      marks += 1
      at = next
      continue
    }
    if (kind === hidden && base !== 0 && !unusual.has(next) && lengthAt(joiner, text, at) > 0) {
      at = next
      continue
    }
    const picture = kind === pictured || text.charCodeAt(next) === 0xfe0f ? pictureAt(text, at) : 0
    base = kind === drawn || kind === turned ? code : 0
    marks = 0
    if (picture > 0) {
      if (isTurned) endRun(at, at)
      base = 0
      at += picture
    } else if (code === space) {
      const end = endOf(text, at, (one) => one === space)
      if (end - at > mostSpaces || at === 0 || end === text.length) {
        endRun(at, end, { kind: 'spaces', count: end - at })
      } else if (isTurned && (unusual.has(end) || kindOf(text.codePointAt(end)!) !== turned)) {
        endRun(at, at)
      }
      base = 0
      at = end
    } else if (code === lineBreak) {
      const gap = gapAt(text, at)
      at = endRun(at, gap?.end ?? next, gap?.piece ?? { kind: 'break' })
      base = 0
    } else if (kind === hidden || kind === mark) {
      const end = endOf(text, at, (one, index) => leavesNoTrace(one) || unusual.has(index))
      endRun(at, end)
      for (const { items, count } of repeated(Array.from(text.slice(at, end))))
        pieces.push({ kind: 'hidden', characters: items, count })
      at = end
    } else if (kind === digit) {
      const end = endOf(text, at, (one) => kindOf(one) === digit)
      at = endRun(at, end, { kind: 'turned', text: text.slice(at, end) })
    } else {
      if (isTurned !== (kind === turned)) {
        endRun(at, at)
        isTurned = kind === turned
      }
      at = next
    }
  }
  endRun(text.length, text.length)
  return pieces
}

const space = 0x20
const lineBreak = 0x0a

function endOf(text: string, at: number, belongs: (code: number, index: number) => boolean): number {
  let end = at
  while (end < text.length) {
    const code = text.codePointAt(end)!
    if (!belongs(code, end)) break
    end += code > 0xffff ? 2 : 1
  }
  return end
}

/** How much of the text the expression takes right there. */
function lengthAt(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at
  return expression.exec(text)?.[0].length ?? 0
}

/** Where nothing is drawn before them: marks have nothing to stand on, and joiners nothing to join. */
function leavesNoTrace(code: number): boolean {
  return kindOf(code) === hidden || kindOf(code) === mark
}

/** The lines without anything drawn that begin with this line break, if there are enough of them. */
function gapAt(text: string, at: number): { end: number; piece: Piece } | null {
  let breaks = 0
  const region = endOf(text, at, (code) => {
    if (code === lineBreak) breaks += 1
    return code === lineBreak || code === space || leavesNoTrace(code)
  })
  if (breaks <= mostBreaks) return null
  const end = text.lastIndexOf('\n', region - 1) + 1
  return { end, piece: { kind: 'gap', breaks, blanks: repeated(text.slice(at + 1, end - 1).split('\n')) } }
}

/** The same as how often up to four items follow each other in the same way: what repeats itself takes no more room. */
function repeated(all: string[]): { items: string[]; count: number }[] {
  if (all.length === 1) return [{ items: all, count: 1 }]
  const runs: { items: string[]; count: number }[] = []
  for (let at = 0; at < all.length;) {
    let best = { size: 1, count: countAt(all, at, 1) }
    for (const size of [2, 3, 4]) {
      const count = countAt(all, at, size)
      if (count > 2 && count * size > best.count * best.size) best = { size, count }
    }
    runs.push({ items: all.slice(at, at + best.size), count: best.count })
    at += best.size * best.count
  }
  return runs
}

function countAt(all: string[], at: number, size: number): number {
  let end = at + size
  while (end < all.length && all[end] === all[end - size]) end += 1
  return Math.floor((end - at) / size)
}

// -- what a character is ----------------------------------------------------------------------------------------------

const drawn = 1
const hidden = 2
const mark = 3
const turned = 4
const digit = 5
const pictured = 6

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

function kindOf(code: number): number {
  const block = (blocks[code >> 8] ??= Uint8Array.from({ length: 256 }, (_, low) => findKind((code & ~0xff) | low)))
  return block[code & 0xff]!
}

function findKind(code: number): number {
  if (code === space || code === lineBreak) return drawn
  const character = String.fromCodePoint(code)
  return kinds.find(([expression]) => expression.test(character))?.[1] ?? drawn
}

function isLetter(code: number): boolean {
  return /\p{L}/u.test(String.fromCodePoint(code))
}

// Pictures of several characters: those that everybody draws as one. The first expression only finds where they would end.
const joinedPicture =
  /\p{RI}{2}|[0-9#*]\ufe0f\u20e3|\p{Emoji}[\ufe0f\u{1f3fb}-\u{1f3ff}]?(?:\u200d\p{Emoji}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)*[\u{e0020}-\u{e007f}]*/uy
const knownPicture = new RegExp('^\\p{RGI_Emoji}$', 'v')
const pictures = new Map<string, boolean>()

function pictureAt(text: string, at: number): number {
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

/** Where characters stand that are drawn as others, or in another order, are: what Unicode's normal form C would change. */
function unnormalized(text: string): Set<number> {
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

/** Whether it is one line in which nothing needs a mark. */
export function isPlainLine(text: string): boolean {
  return piecesOf(text).every(({ kind }) => kind === 'text' || kind === 'turned')
}

// -- as plain text: chats, the log, a terminal --------------------------------------------------------------------------

/** A sentence of ours in which somebody's words may stand as they came: what would steer a terminal is written out. */
export function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`)
}

/** What cannot be seen is written as \u{hex} or \{so much}, backslashes twice, and each line break has its mark. */
export function visible(text: string): string {
  return write(text, `${breakMark}\n`, '\n')
}

/** The same on one line: line breaks are written out too. */
export function visibleLine(text: string): string {
  return write(text, '\\n', '')
}

/** The same in quotes. Quotes inside cannot end it. */
export function quotedLine(text: string): string {
  return `"${visibleLine(text).replaceAll('"', '\\"')}"`
}

/** The beginning on a line, with how much is missing. However long it is, no more is looked at than could fit. */
export function shortLine(text: string, limit: number): string {
  return shorten(text, limit, visibleLine)
}

/** The same in quotes. */
export function shortQuotedLine(text: string, limit: number): string {
  return `"${shorten(text, limit, (part) => quotedLine(part).slice(1, -1))}"`
}

function shorten(text: string, limit: number, show: (part: string) => string): string {
  const looked = text.slice(0, 2 * limit)
  return cut(show(looked), limit, Infinity, text.length - looked.length)
}

/** JSON text, its strings made visible; with an indent, over several lines. */
export function visibleJson(json: string, indent = 0): string {
  const layout = JSON.stringify(JSON.parse(json), null, indent)
  return layout.replace(/"(?:[^"\\]|\\.)*"/g, (string) => quotedLine(JSON.parse(string) as string))
}

/** Words of ASCII with a space between them, and no backslash: most texts. They are shown as they stand. */
const plainWords = /^[!-[\]-~]+(?: [!-[\]-~]+)*$/

function write(text: string, lineBreak: string, afterGap: string): string {
  if (plainWords.test(text)) return text
  return piecesOf(text)
    .map((piece) => {
      switch (piece.kind) {
        case 'text':
          return piece.text.replaceAll('\\', '\\\\')
        case 'turned':
          return `\u2067${piece.text}\u2069`
        case 'hidden':
          return piece.count > 3
            ? `\\{${sayHidden(piece)}}`
            : piece.characters.map(escapeCharacter).join('').repeat(piece.count)
        case 'spaces':
          return `\\{${counted(piece.count, 'space')}}`
        case 'break':
          return lineBreak
        case 'gap':
          return `\\{${sayGap(piece)}}${afterGap}`
      }
    })
    .join('')
}

function escapeCharacter(character: string): string {
  if (character === '\t') return '\\t'
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

/** As 1,480. */
export function numbered(count: number): string {
  return count.toLocaleString('en-US')
}

/** As 1 space, 1,480 spaces. */
export function counted(count: number, what: string): string {
  return `${numbered(count)} ${what}${count === 1 ? '' : 's'}`
}

/** Nobody reads more of what stands on empty lines. */
const mostBlanks = 100

export function sayGap({ breaks, blanks }: Extract<Piece, { kind: 'gap' }>): string {
  const total = counted(breaks, 'line break')
  if (blanks.every(({ items }) => items.every((blank) => blank === ''))) return total
  const said = blanks.slice(0, mostBlanks).map(({ items, count }) => times(items.flatMap(sayLine), count))
  return `${total}: ${[...said, ...sayRest(blanks.slice(mostBlanks)), 'line break'].join(', ')}`
}

/** What is not said is still told from anything else. As JSON, since a hash takes all halves of pairs for the same. */
function sayRest(blanks: Extract<Piece, { kind: 'gap' }>['blanks']): string[] {
  if (blanks.length === 0) return []
  return [`${numbered(blanks.length)} more of that kind, SHA-256 ${shortDigest(sha256(JSON.stringify(blanks)))}…`]
}

function sayLine(blank: string): string[] {
  return ['line break', ...piecesOf(blank).map(sayBlank)]
}

function sayBlank(piece: Piece): string {
  if (piece.kind === 'hidden') return sayHidden(piece)
  return counted(piece.kind === 'text' ? piece.text.length : piece.kind === 'spaces' ? piece.count : 0, 'space')
}

/** As U+202E, U+202E ×3, 3 × (U+202E, U+200B). */
export function sayHidden({ characters, count }: Extract<Piece, { kind: 'hidden' }>): string {
  const codes = characters.map((one) => `U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`)
  return codes.length === 1 && count > 1 ? `${codes[0]!} ×${numbered(count)}` : times(codes, count)
}

function times(items: string[], count: number): string {
  return count === 1 ? items.join(', ') : `${numbered(count)} × (${items.join(', ')})`
}

/** What nobody takes in at a glance is counted: how long it is, or null. */
export function sayLength(text: string): string | null {
  let lines = 1
  let characters = 0
  // Unit by unit: in a megabyte there may be as many line breaks.
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === lineBreak) lines += 1
    // The second half of a pair belongs to the first.
    if (unit < 0xdc00 || unit > 0xdfff) characters += 1
  }
  if (text.length <= 300 && lines <= 8) return null
  return `${counted(characters, 'character')}${lines === 1 ? '' : `, ${counted(lines, 'line')}`}`
}

/**
 * Cuts visible text to at most so many UTF-16 units and lines, never inside a character or an escape, with a mark that says
 * how much is missing. `left` is how much was left out of it before.
 */
export function cut(shown: string, limit: number, lines = Infinity, left = 0): string {
  const room = lines === Infinity ? shown.length : endOfLine(shown, lines)
  if (shown.length <= limit && room === shown.length && left === 0) return shown
  const tail = (missing: number) => `… \\{cut: ${missing} more characters}`
  // One for the end of an isolate.
  const end = Math.max(0, Math.min(room, limit - tail(shown.length + left).length - 1))
  const kept = shown.slice(0, end).replace(/[\ud800-\udbff]$|(?<!\\)((?:\\\\)*)\\(?:u?\{[^}]*|u)?$/, '$1')
  const isOpen = kept.lastIndexOf('\u2067') > kept.lastIndexOf('\u2069')
  return `${kept}${isOpen ? '\u2069' : ''}${tail(shown.length - kept.length + left)}`
}

function endOfLine(text: string, lines: number): number {
  let at = -1
  for (let line = 0; line < lines; line++) {
    at = text.indexOf('\n', at + 1)
    if (at === -1) return text.length
  }
  return at
}

// What is drawn like an ASCII letter: with strokes, hooks and tails, small or turned, of other scripts. A capital stands here
// only where it is drawn like another letter than its small one. Lines drawn alike count as l, and rings as o.
const drawnLike = {
  a: 'ɐɑᴀᶏⱥαΛаⲁꭺꓮ',
  b: 'ƀƃɓʙᴃᵬᶀꞗβвьъҍⲃᏼꮟꓐ',
  c: 'ƈȼɕᴄↄꜿꞓꞔςΣсҫⲥꮯꓚ',
  d: 'đƌȡɖɗᴅᵭᶁᶑꝺꟈδԁԃꭰꮷꓓ',
  e: 'ǝɇɘəɛɜɝɞʚᴇᴈᶒᶓᶔⱸⱻꬲꬳꬴεеєҽҿⲉꭼꓰ',
  f: 'ƒᵮᶂꜰꝼꞙꬵғꓝ',
  g: 'ǥɠɡɢʛᵷᵹᶃꝿꞡꟑꬶԍցꮐᏻꓖ',
  h: 'ħɥɦʜʮʯⱨⱶꞕꟶΗнһңҥӈӊհⲏꮋꮒꓧ',
  j: 'ȷɉɟʄʝᴊϳјյꭻꓙ',
  k: 'ƙĸʞᴋᶄⱪꝁꝃꝅꞣκкқҝҟҡӄⲕꮶꓗ',
  l: 'i1łƚȴɫɬɭʟᴌᶅⱡꝉꞁꞎꬷꬸꬹıɨɩɪᴉᵻᵼᶖǀιіӏլւԼⲓꮮꭵꓡꓲ',
  m: 'ɯɰɱᴍᴟᵯᶆꟺꬺΜмӎⲙꮇꓟ',
  n: 'ŋƞȵɲɳɴᴎᵰᶇꞑꞥꬻηΝпԥոռղⲛⲡꓠ',
  o: '0øɔɵᴏᴑᴒᴓᶗⱺꝋꝍꬽꬾꬿοσθоөօⲟꓳ०০੦೦๐໐',
  p: 'ƥᴘᵱᵽᶈꝑꝓꝕρрҏքⲣꮲꓑ',
  q: 'ɋʠꝗꝙꞯԛգզ',
  r: 'ɍɹɺɻɼɽɾɿʀʁᴙᴚᵲᵳᶉⱹꞃꞧꭅꭆꭉꭋꭌꭨгґⲅꭱꮢꓣ',
  s: 'ȿʂᵴᶊẜẝꜱꞅꞩꟊѕՏꮪꮥꓢ',
  t: 'ŧƫƭȶʇʈᴛᵵⱦꞇτтҭⲧꭲꓔ',
  u: 'ʉᴜᴝᵾᶙꞹꭎꭒυμцսնꓴ',
  v: 'ʋʌᴠᶌⱱⱴꝟνѵꮩꓦ',
  w: 'ʍᴡⱳꟃωԝшѡաⲱꮃꮤꓪ',
  x: 'ᶍꭖꭗꭘꭙχхҳӽӿⲭꓫ',
  y: 'ƴɏʎʏỿꭚγΥуүұⲩꭹꮍꓬ',
  z: 'ƶȥɀʐʑᴢᵶᶎⱬζԅⲍꮓꓜ',
}
const lookAlikes = new Map(
  Object.entries(drawnLike).flatMap(([ascii, letters]) => [...letters].map((letter) => [letter, ascii] as const)),
)

/** What a name comes down to when case, accents, width, separators, invisible marks and look-alikes are ignored. */
export function skeleton(name: string): string {
  const bare = name.normalize('NFKD').replace(/[\p{M}\p{C}\p{DI}\p{Z}\p{P}\p{S}]/gu, '')
  return Array.from(bare, plain).join('')
}

function plain(letter: string): string {
  const small = letter.toLowerCase()
  return lookAlikes.get(letter) ?? lookAlikes.get(small) ?? small
}
