// YAML that people keep by hand: items come into a list and go out of it, and comments, order and layout stay.
import fc from 'fast-check'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { UnfitText } from '../../../src/cli/install/json-text.js'
import { addItem, readYaml, removeItems } from '../../../src/cli/install/yaml-text.js'

const place = ['hooks', 'pre'] as const
const item = { command: "/bin/holdpoint 'a b'", timeout: 300, fail_closed: true }
const isOurs = (one: unknown) => (one as { timeout?: unknown }).timeout === 300
const lines = (indent: string) =>
  `${indent}- command: "/bin/holdpoint 'a b'"\n${indent}  timeout: 300\n${indent}  fail_closed: true\n`

const cases: [what: string, before: string, after: string][] = [
  ['an empty file', '', `hooks:\n  pre:\n${lines('    ')}`],
  ['nothing but comments', '# mine\n', `# mine\nhooks:\n  pre:\n${lines('    ')}`],
  ['no hooks', 'a: 1 # one\n', `a: 1 # one\nhooks:\n  pre:\n${lines('    ')}`],
  ['no line break at the end', 'a: 1', `a: 1\nhooks:\n  pre:\n${lines('    ')}`],
  ['hooks in braces that are empty', 'hooks: {}  # none\nb: 2\n', `hooks:  # none\n  pre:\n${lines('    ')}b: 2\n`],
  ['hooks without a value', 'hooks:\nb: 2\n', `hooks:\n  pre:\n${lines('    ')}b: 2\n`],
  [
    'hooks of another event',
    'hooks:\n    # mine\n    post: []\nb: 2\n',
    `hooks:\n    pre:\n${lines('      ')}    # mine\n    post: []\nb: 2\n`,
  ],
  ['a list that is empty', 'hooks:\n  pre: []\n', `hooks:\n  pre:\n${lines('    ')}`],
  [
    'a list with hooks and comments, not indented',
    'hooks:\n  pre:\n  # first\n  - command: x  # x\n\n# next\nb: [1,   2]\n',
    `hooks:\n  pre:\n${lines('  ')}  # first\n  - command: x  # x\n\n# next\nb: [1,   2]\n`,
  ],
]
t.test('an item is put in as lines, and everything else stands as it was', async (t) => {
  for (const [what, before, after] of cases) t.equal(addItem(before, place, item), after, what)
})

t.test('what is taken out leaves what others have put there', async (t) => {
  const [, before, after] = cases[cases.length - 1]!
  t.equal(removeItems(after, place, isOurs), before)
  t.equal(removeItems(`a: 1\nhooks:\n  pre:\n${lines('    ')}`, place, isOurs), 'a: 1\n', 'what is empty goes')
  t.equal(removeItems(before, place, isOurs), before, 'what is not there')
  const edited = `hooks:\n  pre:\n    # was here before\n${lines('    ')}    - command: theirs\n  post:\n    - command: theirs\n`
  t.equal(
    removeItems(edited, place, isOurs),
    'hooks:\n  pre:\n    # was here before\n    - command: theirs\n  post:\n    - command: theirs\n',
  )
})

t.test('what stands in braces is laid out anew, and keeps its comments', async (t) => {
  const text = '# top\nhooks: { pre: [{ command: x }], post: [] }\nb: 2 # two\n'
  const added = addItem(text, place, item)
  t.same(parse(added), { hooks: { pre: [item, { command: 'x' }], post: [] }, b: 2 })
  t.match(added, /^# top\n[^]*b: 2 # two\n$/)
  t.same(parse(removeItems(added, place, isOurs)), parse(text))
})

const refused: [text: string, sentence: RegExp][] = [
  ['a: [', /is no YAML/],
  ['a: 1\na: 2\n', /is no YAML/],
  ['- a\n', /must be an object/],
  ['hooks: 5\n', /hooks must be an object/],
  ['hooks:\n  pre: yes\n', /hooks\.pre must be a list/],
  ['a: 1\n---\nb: 2\n', /is no YAML/],
]
t.test('what Hermes would not take either is refused', async (t) => {
  for (const [text, sentence] of refused) {
    t.throws(() => addItem(text, place, item), sentence, text)
    t.throws(() => addItem(text, place, item), UnfitText)
  }
})

t.test('whatever stands in it: it says what it said and the item, and as before without it', async () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const entry = fc.dictionary(fc.constantFrom('command', 'matcher', 'x'), value, { minKeys: 1 })
  const hooks = fc.dictionary(fc.constantFrom('pre', 'post', 'end'), fc.array(entry, { maxLength: 3 }))
  const settings = fc.record({ a: value, hooks, z: fc.array(value, { maxLength: 3 }) }, { requiredKeys: [] })
  const layout = fc.record({ indent: fc.constantFrom(2, 4), indentSeq: fc.boolean() })
  fc.assert(
    fc.property(settings, layout, (data, options) => {
      const text = stringify(data, options)
      const before = readYaml(text) as { hooks?: Record<string, unknown[]> }
      const added = addItem(text, place, item)
      const items = before.hooks?.pre ?? []
      const expected = { ...before, hooks: { ...before.hooks, pre: [item, ...items] } }
      if (JSON.stringify(sorted(readYaml(added))) !== JSON.stringify(sorted(expected))) return false
      const left = removeItems(added, place, isOurs)
      return items.length === 0 || left === text
    }),
  )
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, sorted(one)]),
  )
}
