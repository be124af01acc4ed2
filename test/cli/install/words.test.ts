// A command as text for a shell: what a shell makes of it, and what is read back.
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { shellText, valueOf, wordsOf } from '../../../src/cli/install/words.js'

const awkward = [
  "/it's/a 'project'",
  'a "b" $HOME `id` \\n',
  '*',
  '',
  '-x',
  'ü',
  'a\nb',
  '!!',
  '#',
  '~',
  '$(id)',
  '{a,b}',
  ';',
]

t.test('a shell calls what was meant, whatever the words are', async (t) => {
  const text = shellText(['node', '-p', 'JSON.stringify(process.argv.slice(1))', '--', ...awkward])
  t.same(JSON.parse(execFileSync('/bin/sh', ['-c', text], { encoding: 'utf8' })), awkward)
})

t.test('words are read back as they were', async () => {
  const word = fc.string().filter((one) => !one.includes('\0'))
  fc.assert(fc.property(fc.array(word), (words) => JSON.stringify(wordsOf(shellText(words))) === JSON.stringify(words)))
})

t.test('what a shell would do more with is no plain command', async (t) => {
  for (const text of [
    'a; b',
    'a && b',
    'a | b',
    'a > b',
    'a $(b)',
    'a `b`',
    'a "$b"',
    'a $b',
    "a 'b",
    'a &',
    'a\nb',
    '(a)',
  ]) {
    t.equal(wordsOf(text), null, text)
  }
  t.same(wordsOf('a "b c" d\\ e \'f\'g'), ['a', 'b c', 'd e', 'fg'])
  t.same(wordsOf(''), [])
})

t.test('what stands behind a flag', async (t) => {
  const words = ['x', '--url', 'http://a', '--timeout=5', '--last']
  t.equal(valueOf(words, 'url'), 'http://a')
  t.equal(valueOf(words, 'timeout'), '5')
  t.equal(valueOf(words, 'last'), undefined)
  t.equal(valueOf(words, 'none'), undefined)
})
