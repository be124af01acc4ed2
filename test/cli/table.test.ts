import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { shellWord, table } from '../../src/cli/table.js'
import { tricky } from '../core/tricky.js'

t.test('cells stand below each other, and whatever is in them a row is one line', async (t) => {
  t.equal(
    table(
      ['A', 'LONG NAME'],
      [
        ['x\ny', '1'],
        ['z', ''],
      ],
    ),
    'A     LONG NAME\nx\\ny  1\nz',
  )
  t.notMatch(table(['A'], [['\u001b[2J']]), '\u001b')
})

t.test('a text is one word for a shell, plain where it can be', async (t) => {
  for (const [text, word] of [
    ['agent:main:telegram:dm:42', 'agent:main:telegram:dm:42'],
    ['', "''"],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ['$(id)', "'$(id)'"],
    ['Büro', "'Büro'"],
    ['a\nb', "$'a\\u000ab'"],
    ['\u001b[2J', "$'\\u001b[2J'"],
    ["\u202e'\\", "$'\\u202e\\'\\\\'"],
    ['\u{e0041}1', "$'\\U000e00411'"],
  ] as const) {
    t.equal(shellWord(text), word)
  }
})

t.test('bash reads the word as the text that it is, and a terminal has nothing to obey in it', async () => {
  const texts = fc.array(
    tricky.filter((text) => text.isWellFormed() && !text.includes('\0')),
    { minLength: 20, maxLength: 20 },
  )
  fc.assert(
    fc.property(texts, (all) => {
      const words = all.map(shellWord)
      const said = execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${words.join(' ')}`], {
        env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH ?? '' },
        encoding: 'utf8',
      })
      const isSafe = words.every((word) => !/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(word))
      return isSafe && said === all.map((text) => `${text}\0`).join('')
    }),
    { numRuns: 20 },
  )
})
