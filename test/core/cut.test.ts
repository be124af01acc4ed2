// Text that is cut, and how long a text is.
import t from 'tap'
import { cut, shortLine, shortQuotedLine } from '../../src/core/cut.js'
import { sayLength } from '../../src/core/length.js'
import { visible } from '../../src/core/visible.js'

t.test('how long a long text is, is said', async (t) => {
  t.equal(sayLength('x'.repeat(300)), null)
  t.equal(sayLength('x'.repeat(1284)), '1,284 characters')
  t.equal(sayLength('😀'.repeat(301)), '301 characters')
  t.equal(sayLength('x\n'.repeat(9)), '18 characters, 10 lines')
})

t.test('text that fits is not cut; text that does not says how much is missing, as no text can', async (t) => {
  t.equal(cut('hello', 5), 'hello')
  t.equal(cut('x'.repeat(100), 40), `${'x'.repeat(10)}… \\{cut: 90 more characters}`)
  t.equal(visible('… \\{cut: 90 more characters}'), '… \\\\{cut: 90 more characters}')
  t.equal(cut('a\nb\nc\nd', 400, 2), 'a\nb… \\{cut: 4 more characters}')
  t.equal(cut('a\nb', 400, 2), 'a\nb')
})

t.test('the beginning of a text on a line is closed by its quotes, and says all that is missing', async (t) => {
  t.equal(shortLine('a\nb', 20), 'a\\nb')
  t.equal(shortQuotedLine('say "a"', 20), '"say \\"a\\""')
  t.equal(shortLine('x'.repeat(5000), 40), `${'x'.repeat(9)}… \\{cut: 4991 more characters}`)
  t.match(shortQuotedLine('"'.repeat(5000), 40), /^"(\\")+… \\\{cut: \d+ more characters\}"$/)
})
