import fc from 'fast-check'
import t from 'tap'
import { compileGlob, covers, overlaps } from '../../src/policy/glob.js'

const cases: [string, string, boolean][] = [
  ['send_mail', 'send_mail', true],
  ['send_mail', 'Send_mail', false],
  ['send_mail', 'send_mail_now', false],
  ['send_*', 'send_', true],
  ['send_*', 'resend_mail', false],
  ['*_mail', 'send_mail', true],
  ['*_mail', 'send_mails', false],
  ['s*d*l', 'send_mail', true],
  ['s?nd', 'send', true],
  ['s?nd', 'snd', false],
  ['*', '', true],
  ['?', '', false],
  ['a.c', 'abc', false],
  ['a?c', 'a😀c', true],
  ['a??c', 'a😀c', false],
  ['*😀', 'x😀😀', true],
  ['*ab', 'aab', true],
  ['**a**', 'bab', true],
]
t.test('a pattern fits the whole text or not at all', async (t) => {
  for (const [pattern, text, expected] of cases) {
    t.equal(compileGlob(pattern)(text), expected, `${pattern} on ${JSON.stringify(text)}`)
  }
})

const letters = (of: string) => fc.string({ unit: fc.constantFrom(...of), maxLength: 8 })

t.test('it agrees with a regular expression, whatever comes', async () => {
  fc.assert(
    fc.property(letters('ab*?.😀'), letters('ab.😀'), (pattern, text) => {
      const parts = [...pattern].map((one) => ({ '*': '.*', '?': '.', '.': '\\.' })[one] ?? one)
      return compileGlob(pattern)(text) === new RegExp(`^${parts.join('')}$`, 'u').test(text)
    }),
    { numRuns: 5000 },
  )
})

t.test('a pattern that covers another fits all that the other fits', async (t) => {
  t.ok(covers('*', 'send_*'))
  t.ok(covers('send_*', 'send_mail'))
  t.ok(covers('s*_*', 'send_*_now'))
  t.notOk(covers('send_mail', 'send_*'))
  t.notOk(covers('send_?', 'send_*'))
  fc.assert(
    fc.property(letters('ab*?'), letters('ab*?'), letters('ab'), (wide, narrow, text) => {
      fc.pre(covers(wide, narrow) && compileGlob(narrow)(text))
      return compileGlob(wide)(text)
    }),
    { numRuns: 300 },
  )
})

t.test('patterns overlap if some text fits both', async (t) => {
  t.ok(overlaps('send_*', '*_mail'))
  t.ok(overlaps('a?', '?b'))
  t.ok(overlaps('*', ''))
  t.notOk(overlaps('send_*', 'transfer_*'))
  t.notOk(overlaps('a', 'ab'))
  fc.assert(
    fc.property(letters('ab*?'), letters('ab*?'), letters('ab'), (a, b, text) => {
      fc.pre(compileGlob(a)(text) && compileGlob(b)(text))
      return overlaps(a, b) && overlaps(b, a)
    }),
    { numRuns: 300 },
  )
})

t.test('a pattern that almost fits a long text again and again costs no more than their product', async (t) => {
  const started = performance.now()
  t.notOk(compileGlob('*a*a*a*a*a*a*a*a*b')('a'.repeat(100_000)))
  t.ok(performance.now() - started < 5000)
})
