// What others wrote, as plain text: nothing that tricks a reader is left, and no two texts come out alike.
import fc from 'fast-check'
import t from 'tap'
import { piecesOf } from '../../src/core/pieces.js'
import { quotedLine, visible, visibleJson, visibleLine } from '../../src/core/visible.js'
import { tricky } from './tricky.js'

t.test('lines on which nothing is drawn are counted, and what stands on them is said', async (t) => {
  const cases: [string, string][] = [
    [`a${'\n'.repeat(1480)}b`, '\\{1,480 line breaks}'],
    [`a${'\n '.repeat(400)}\nb`, '\\{401 line breaks: 400 × (line break, 1 space), line break}'],
    [`a${'\n\u200d'.repeat(400)}\nb`, '\\{401 line breaks: 400 × (line break, U+200D), line break}'],
    [`a${'\n\u0301'.repeat(9)}\nb`, '\\{10 line breaks: 9 × (line break, U+0301), line break}'],
    [
      'a\n \n\t\n\u00a0\u00a0\u3000\n\nb',
      '\\{5 line breaks: line break, 1 space, line break, U+0009, line break, U+00A0 ×2, U+3000, line break, line break}',
    ],
  ]
  for (const [text, looks] of cases) t.equal(visibleLine(text), `a${looks}b`)
})

t.test('as plain text: several lines with marks, one line, in quotes, as JSON', async (t) => {
  t.equal(visible('a\u001b[31mb\u202ec\u0000\u200b\n\td'), 'a\\u{1b}[31mb\\u{202e}c\\u{0}\\u{200b}↵\n\\td')
  t.equal(visibleLine('a\nb\tc\rd'), 'a\\nb\\tc\\u{d}d')
  t.equal(visible('\u007f'.repeat(60)), '\\{U+007F ×60}')
  t.equal(visible('C:\\new ↵ \\u{202e}'), 'C:\\\\new \\u{21b5} \\\\u{202e}')
  t.equal(visible('pay לא 5'), 'pay \u2067לא\u2069 5')
  t.equal(quotedLine('a": "b\\'), '"a\\": \\"b\\\\"')
  t.equal(visibleJson('{"a\\nb":["\\u202e",1,null]}'), '{"a\\nb":["\\u{202e}",1,null]}')
  t.equal(visibleJson('{"a":"\\"b\\": 1"}', 1), '{\n "a": "\\"b\\": 1"\n}')
})

t.test('two different texts never look the same, in several lines, on one, or in quotes', async () => {
  for (const write of [visible, visibleLine, quotedLine, (text: string) => JSON.stringify(piecesOf(text))]) {
    fc.assert(
      fc.property(tricky, tricky, (one, other) => one === other || write(one) !== write(other)),
      { numRuns: 2000 },
    )
    // Two that differ in one place are the likelier to be mistaken.
    fc.assert(
      fc.property(tricky, tricky, tricky, tricky, (before, one, other, after) => {
        return one === other || write(before + one + after) !== write(before + other + after)
      }),
      { numRuns: 2000 },
    )
  }
})

t.test('of many different empty lines not all are said, and still no two texts look the same', async (t) => {
  const lines = Array.from({ length: 120 }, (_, index) => ' '.repeat(index + 1))
  t.match(
    visibleLine(`a\n${lines.join('\n')}\nb`),
    /, 100 spaces, 20 more of that kind, SHA-256 [0-9a-f]{16}…, line break\}b$/,
  )
  const blank = fc.constantFrom('', ' ', '  ', '\t', '\u200b', '\ud800', '\udfff')
  const blanks = fc.array(blank, { minLength: 150, maxLength: 200 })
  for (const write of [visible, visibleLine, quotedLine]) {
    fc.assert(
      fc.property(blanks, blank, fc.nat({ max: 149 }), (all, other, at) => {
        const [one, another] = [all, all.with(at, other)].map((some) => `a\n${some.join('\n')}\nb`)
        return one === another || write(one!) !== write(another!)
      }),
      { numRuns: 500 },
    )
  }
})

t.test('nothing that a terminal or a reader could be tricked with survives', async () => {
  // The two isolates are ours, in pairs.
  const forbidden =
    /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u180b-\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u2066\u2068\u206a-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufeff\uffa0\ufff0-\uffff\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/u
  const paired = (text: string) => /^(?:[^\u2067\u2069]|\u2067[^\u2067\u2069]*\u2069)*$/u.test(text)
  fc.assert(
    fc.property(tricky, (text) => {
      const [several, single] = [visible(text), visibleLine(text)]
      // Pictures of several parts are kept, with the tags that flags are made of.
      const rest = several.replace(/🏴[\u{e0061}-\u{e007f}]+/gu, '')
      return !forbidden.test(rest) && !/[\n\r\t]/.test(single) && paired(several) && several.isWellFormed()
    }),
    { numRuns: 3000 },
  )
})

t.test('words of ASCII are one piece of text, which is why they are shown as they stand', async (t) => {
  const word = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), (words) => {
      const text = words.join(' ').replaceAll('\\', '/')
      t.same(piecesOf(text), [{ kind: 'text', text }])
      t.equal(visibleLine(text), text)
    }),
  )
  for (const text of [' a', 'a ', 'a\nb', 'a\\', `a${' '.repeat(41)}b`, 'ä\u00ad']) t.not(visibleLine(text), text)
})
