// What others wrote, taken apart: nothing hidden stays unmarked, and nothing is lost.
import fc from 'fast-check'
import t from 'tap'
import { canBeSeen } from '../../src/core/character.js'
import { isPlainLine, piecesOf } from '../../src/core/pieces.js'
import { tricky } from './tricky.js'

/** Pieces in short: text as it is, and the rest in brackets. */
function short(text: string): string {
  return piecesOf(text)
    .map((piece) => {
      if (piece.kind === 'text') return piece.text
      if (piece.kind === 'turned') return `<${piece.text}>`
      if (piece.kind === 'break') return '[break]'
      if (piece.kind === 'gap') return `[${piece.breaks} breaks]`
      if (piece.kind === 'spaces') return `[${piece.count} spaces]`
      const codes = piece.characters.map((one) => one.codePointAt(0)!.toString(16)).join()
      return `[${codes}${piece.count === 1 ? '' : `*${piece.count}`}]`
    })
    .join('')
}

t.test('what cannot be seen, or not be told from a blank or from another, is marked', async (t) => {
  const codes = [
    ...[0x00, 0x07, 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x1b, 0x7f, 0x85, 0x9f, 0xad],
    ...[0xa0, 0x1680, 0x2000, 0x2002, 0x2003, 0x2007, 0x2009, 0x200a, 0x202f, 0x205f, 0x3000],
    ...[0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029],
    ...[0x202a, 0x202e, 0x2060, 0x2061, 0x2066, 0x2069, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0e, 0xfe0f, 0xfeff, 0xffa0],
    ...[0xfff9, 0xfffb, 0xfffc, 0xfffd, 0xe000, 0xf8ff, 0xfdd0, 0xffff, 0x0378, 0xd800, 0xdfff],
    ...[0x1d159, 0x1d173, 0x16fe4, 0x1107f, 0x13441, 0x12031, 0x1bca0, 0xe0001, 0xe0041, 0xe0100, 0xf0000, 0x10ffff],
    // Strokes through letters, marks of our own, and what is drawn far beyond its place.
    ...[0x0336, 0x20dd, 0x21b5, 0xfdfd],
    // What is drawn as ASCII is.
    ...[0x0332, 0x2010, 0x2011, 0x2012, 0xa789, 0xa78a, 0xa78c, 0xfb00, 0xfb01, 0xfb06, 0x1d400, 0x1d5ba, 0x1d7ff],
  ]
  for (const code of codes) {
    t.equal(short(`a${String.fromCodePoint(code)}b`), `a[${code.toString(16)}]b`, `U+${code.toString(16)}`)
  }
  t.equal(short('a\u202e\u202e\u202eb\u202e'), 'a[202e*3]b[202e]', 'a run of the same is one mark')
  t.equal(short('\ud800\ud800\ud800\udc00'), '[d800*2][10000]')
})

t.test('ordinary text of any language is left alone', async (t) => {
  for (const text of [
    ...[
      'Grüße',
      'Ελλάδα',
      'Здравствуйте',
      'Việt Nam',
      'नमस्ते',
      'मस्ते',
      'क्‍ष',
      'বাংলা',
      'தமிழ்',
      'ภาษาไทย น้ำ',
      'ខ្មែរ',
    ],
    ...[
      '日本語のテキスト',
      '한국어',
      '中文，标点。',
      'አማርኛ',
      'ქართული',
      'Հայերեն',
      'x → y ≤ z · 5 € “q” ‘q’ – — … ☑ ½ ²',
    ],
    ...['👩‍👩‍👧 family', '❤️', '👍🏽', '1️⃣', '🇸🇪🇯🇵', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'a  b   c', '╔═╗'],
  ]) {
    t.same(piecesOf(text), [{ kind: 'text', text }], text)
  }
  for (const text of ['שלום', 'שלום עולם', 'می‌خواهم', 'محمد']) t.same(piecesOf(text), [{ kind: 'turned', text }], text)
})

t.test('joiners stay where a script or a picture needs them, and nowhere else', async (t) => {
  const cases: [string, string][] = [
    ['deploy_prod\u200cuction', 'deploy_prod[200c]uction'],
    ['a\u200db', 'a[200d]b'],
    ['د\u200cب', '<د>[200c]<ب>'],
    ['می\u200c\u200cخواهم', '<می>[200c*2]<خواهم>'],
    ['می\u200c', '<می>[200c]'],
    ['क\u200dष', 'क[200d]ष'],
    ['👍\u200d👎', '👍[200d]👎'],
    ['👍\ufe0f', '👍[fe0f]'],
    ['a\ufe0f', 'a[fe0f]'],
    ['日\u200d本', '日[200d]本'],
    ['\u200d   x', '[200d]   x'],
  ]
  for (const [text, looks] of cases) t.equal(short(text), looks)
})

t.test('marks stand on a letter, each once and no more than four; else they are written out', async (t) => {
  const cases: [string, string][] = [
    ['x\u030c', 'x\u030c'],
    ['x\u030c\u030c', 'x\u030c[30c]'],
    [`z${'\u0324\u0301'.repeat(5)}`, 'z[324,301*5]'],
    [`x${'\u0324\u030d'.repeat(3)}`, 'x[324,30d*3]'],
    ['x\u0324\u0325\u0326\u0330\u0331\u032d', 'x\u0324\u0325\u0326\u0330[331][32d]'],
    ['\u030dx', '[30d]x'],
    ['" \u030d', '" [30d]'],
    ['-\u030d', '-[30d]'],
    ['\u200b\u030d', '[200b][30d]'],
    ['a\n\u030d', 'a[break][30d]'],
  ]
  for (const [text, looks] of cases) t.equal(short(text), looks)
})

t.test('what Unicode takes for the same text, and draws alike, is told apart', async (t) => {
  t.equal(short('caf\u00e9'), 'caf\u00e9')
  t.equal(short('cafe\u0301'), 'cafe[301]')
  t.equal(short('\u212b \u2126 \u1e9b\u0323'), '[212b] [2126] \u1e9b\u0323')
  t.equal(short('\ud55c'), '\ud55c')
  t.equal(short('\u1112\u1161\u11ab'), '[1112][1161][11ab]')
})

t.test('right-to-left letters are isolated run by run, so that numbers keep their order', async (t) => {
  const cases: [string, string][] = [
    ['pay 100 לא 200', 'pay 100 <לא> 200'],
    ['א 1 - 2 ב', '<א> 1 - 2 <ב>'],
    ['שלום עולם, 5', '<שלום עולם>, 5'],
    ['١٢٣-٤٥٦', '<١٢٣>-<٤٥٦>'],
    ['۱۲ ۳۴', '<۱۲> <۳۴>'],
    ['مبلغ ۱۲ ۳۴', '<مبلغ> <۱۲> <۳۴>'],
    ['مبلغ ١٢٣ ريال', '<مبلغ> <١٢٣> <ريال>'],
    ['א👍ב', '<א>👍<ב>'],
  ]
  for (const [text, looks] of cases) t.equal(short(text), looks)
})

t.test('spaces at an end, and more than a line of them, are counted', async (t) => {
  const cases: [string, string][] = [
    ['a b', 'a b'],
    ['  a ', '[2 spaces]a[1 spaces]'],
    [' ', '[1 spaces]'],
    [`a${' '.repeat(40)}b`, `a${' '.repeat(40)}b`],
    [`a${' '.repeat(41)}b`, 'a[41 spaces]b'],
    ['a\n  b', 'a[break]  b'],
    [`a\u200d${' '.repeat(4000)}b`, 'a[200d][4000 spaces]b'],
  ]
  for (const [text, looks] of cases) t.equal(short(text), looks)
})

t.test('more than three line breaks with nothing drawn between them are one gap', async (t) => {
  t.equal(short('a\n\n\nb'), 'a[break][break][break]b')
  t.equal(short('a\n\n\n\nb'), 'a[4 breaks]b')
})

t.test('a name of one line without anything hidden is plain, in any script', async (t) => {
  for (const text of ['alice', 'José', 'דוד', 'a b', 'C:\\x']) t.ok(isPlainLine(text), text)
  for (const text of ['a\nb', 'a\u200b', 'a\u00a0b', 'a ', 'a\tb', '\ue000'])
    t.notOk(isPlainLine(text), JSON.stringify(text))
})

t.test('no two texts are drawn alike: what is left of them is in normal form, and the pieces hold it all', async () => {
  fc.assert(
    fc.property(tricky, (text) => {
      const pieces = piecesOf(text)
      const whole = pieces.map((piece) => {
        if ('text' in piece) return piece.text
        if (piece.kind === 'break') return '\n'
        if (piece.kind === 'spaces') return ' '.repeat(piece.count)
        if (piece.kind === 'hidden') return piece.characters.join('').repeat(piece.count)
        return `${piece.blanks
          .map(({ items, count }) =>
            items
              .map((one) => `\n${one}`)
              .join('')
              .repeat(count),
          )
          .join('')}\n`
      })
      const shown = pieces.map((piece) => ('text' in piece ? piece.text : '|')).join('')
      return whole.join('') === text && shown.normalize('NFC') === shown
    }),
    { numRuns: 3000 },
  )
})

t.test('text that leaves no trace cannot be seen, and text with one mark in it can', async (t) => {
  for (const text of [
    ...['', ' \n\t', '\u200b', '\u3164', '\u00a0\u2003', '\u2800', '\u202e\u2069', '\ufe0f', '\u{e0041}', '\0'],
  ])
    t.notOk(canBeSeen(text), JSON.stringify(text))
  for (const text of ['a', '.', '\u200bя', '日', '👍', ' ok ']) t.ok(canBeSeen(text), text)
})
