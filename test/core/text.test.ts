import fc from 'fast-check'
import t from 'tap'
import { canBeSeen, cut, replaceHidden, visible, visibleLine } from '../../src/core/text.js'

t.test('control, zero-width and bidirectional characters become visible; newlines and tabs stay', async (t) => {
  t.equal(visible('a\u001b[31mb\u202ec\u0000\u200b\n\td'), 'a\\u{1b}[31mb\\u{202e}c\\u{0}\\u{200b}\n\td')
  t.equal(visible('x\u{e0041}y\ufeff'), 'x\\u{e0041}y\\u{feff}')
  t.equal(visible('deploy_prod\u200cuction\u3164'), 'deploy_prod\\u{200c}uction\\u{3164}')
  t.equal(visible('half \ud800 a character'), 'half \\u{d800} a character')
  t.equal(visibleLine('a\nb\tc\rd'), 'a\\nb\\tc\\u{d}d')
})

t.test('each hidden character can be written in another way', async (t) => {
  t.equal(
    replaceHidden('a\u202eb\u{e0041}\n', (character) => `[${character.codePointAt(0)}]`),
    'a[8238]b[917569]\n',
  )
})

t.test('ordinary text of any language is left alone', async (t) => {
  for (const text of ['Grüße', 'मस्ते', 'क्‍ष', 'می‌خواهم', '日本語', '👩‍👩‍👧 family', 'שלום', '❤️'])
    t.equal(visibleLine(text), text)
})

t.test('nothing that a terminal or a reader could be tricked with survives', async () => {
  const forbidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !forbidden.test(visible(text))))
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !/[\n\r\t]/.test(visibleLine(text))))
})

t.test('text that leaves no trace cannot be seen, and text with one mark in it can', async (t) => {
  for (const text of [
    '',
    ' \n\t',
    '\u200b',
    '\u3164',
    '\u00a0\u2003',
    '\u2800',
    '\u202e\u2069',
    '\ufe0f',
    '\u{e0041}',
    '\0',
  ])
    t.notOk(canBeSeen(text), JSON.stringify(text))
  for (const text of ['a', '.', '\u200bя', '日', '👍', ' ok ']) t.ok(canBeSeen(text), text)
})

t.test('text that fits is not cut; text that does not says how much is missing', async (t) => {
  t.equal(cut('hello', 5), 'hello')
  t.equal(cut('x'.repeat(100), 40), `${'x'.repeat(12)}… [cut: 88 more characters]`)
})

t.test('a cut never exceeds its limit and never halves a character', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 40, maxLength: 300 })
  fc.assert(
    fc.property(text, fc.integer({ min: 40, max: 200 }), (whole, limit) => {
      const short = cut(whole, limit)
      return short.length <= limit && short.isWellFormed() && whole.length <= limit === (short === whole)
    }),
  )
})
