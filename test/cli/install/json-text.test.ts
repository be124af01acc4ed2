// JSON that people keep by hand, changed in place: what is added, what is taken out again, and what is refused.
import fc from 'fast-check'
import t from 'tap'
import { end, type Path, put, readJson, remove, UnfitText } from '../../../src/cli/install/json-text.js'

const group = { matcher: '*', hooks: [{ command: 'x' }] }

const puts: [what: string, before: string, path: Path, after: string][] = [
  ['an empty file becomes an object', '', ['a', 'b'], '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ['a new member stands last, as the others are indented', '{\n\t"a": 0\n}\n', ['b'], '{\n\t"a": 0,\n\t"b": 1\n}\n'],
  ['what is on one line stays on one line', '{"a":[0]}', ['a', end], '{"a":[0,1]}'],
  ['a list on one line stays so', '{\n  "a": [0, 2]\n}', ['a', end], '{\n  "a": [0, 2, 1]\n}'],
  ['an empty list is opened', '{\n  "a": []\n}', ['a', end], '{\n  "a": [\n    1\n  ]\n}'],
  [
    'what is missing on the way is made',
    '{\n  "z": 1\n}',
    ['a', 'b', end],
    '{\n  "z": 1,\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}',
  ],
  ['what stands there is replaced', '{ "a": {"b": "old" },"c":2}', ['a', 'b'], '{ "a": {"b": 1 },"c":2}'],
  ['lines end as they did', '{\r\n  "a": 0\r\n}\r\n', ['b'], '{\r\n  "a": 0,\r\n  "b": 1\r\n}\r\n'],
  ['a mark at the beginning stays', '\uFEFF{\n  "a": 0\n}', ['b'], '\uFEFF{\n  "a": 0,\n  "b": 1\n}'],
  [
    'numbers and escapes are left alone',
    '{"a":1e400,"b":9007199254740993,"c":"\\u0061"}',
    ['d'],
    '{"a":1e400,"b":9007199254740993,"c":"\\u0061","d":1}',
  ],
]
t.test('what is put in stands where it belongs, and the rest as it was', async (t) => {
  for (const [what, before, path, after] of puts) t.equal(put(before, path, 1), after, what)
})

t.test('what is put in is indented as the rest', async (t) => {
  const text = '{\n    "hooks": {\n        "Stop": []\n    }\n}\n'
  t.equal(
    put(text, ['hooks', 'Pre', end], group),
    '{\n    "hooks": {\n        "Stop": [],\n        "Pre": [\n            {\n                "matcher": "*",\n' +
      '                "hooks": [\n                    {\n                        "command": "x"\n                    }\n' +
      '                ]\n            }\n        ]\n    }\n}\n',
  )
})

t.test('what is taken out takes with it what is empty then', async (t) => {
  t.equal(remove('{\n  "a": 0,\n  "b": { "c": [1] }\n}\n', ['b', 'c', 0]), '{\n  "a": 0\n}\n')
  t.equal(remove('{ "a": [1, 2, 3] }', ['a', 0]), '{ "a": [2, 3] }')
  t.equal(remove('{ "a": [1, 2, 3] }', ['a', 2]), '{ "a": [1, 2] }')
  t.equal(remove('{ "a": 1 }', ['a']), '{}')
  t.equal(remove('{ "a": 1 }', ['b', 'c']), '{ "a": 1 }', 'what is not there')
})

const refused: [text: string, path: Path, sentence: RegExp][] = [
  ['{', ['a'], /is no JSON/],
  ['// mine\n{}', ['a'], /is no JSON .* Comments are no JSON\./],
  ['{"a":1,}', ['a'], /is no JSON/],
  ['{"a":1,"a":2}', ['b'], /has "a" twice/],
  ['{"x":{"a":1,"\\u0061":2}}', ['b'], /has "a" twice/],
  ['[]', ['a'], /what it holds must be an object/],
  ['5', ['a'], /what it holds must be an object/],
  ['{"a":5}', ['a', 'b'], /a must be an object/],
  ['{"a":{}}', ['a', end], /a must be a list/],
  [`${'['.repeat(300)}${']'.repeat(300)}`, ['a'], /nested deeper than 200/],
]
t.test('what cannot be changed without a guess is refused, and says why', async (t) => {
  for (const [text, path, sentence] of refused) {
    t.throws(() => put(text, path, 1), sentence, text.slice(0, 40))
    t.throws(() => put(text, path, 1), UnfitText)
  }
})

/** JSON with all the ways to lay it out. */
const laidOut = fc
  .record({
    value: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
    indent: fc.constantFrom('', '  ', '    ', '\t'),
    eol: fc.constantFrom('\n', '\r\n'),
    around: fc.constantFrom('', '\n', ' \n'),
  })
  .map(({ value, indent, eol, around }) => ({
    value: JSON.parse(JSON.stringify(value)) as Record<string, unknown>,
    text: `${JSON.stringify(value, null, indent).replaceAll('\n', eol)}${around}`,
  }))

t.test(
  'whatever the text: it says what it said and what was put in, and as before once that is taken out',
  async () => {
    fc.assert(
      fc.property(laidOut, fc.string(), ({ value, text }, name) => {
        const key = `our ${name}`
        const added = put(text, [key, 'list', end], group)
        const said = readJson(added) as Record<string, unknown>
        if (JSON.stringify(said) !== JSON.stringify({ ...value, [key]: { list: [group] } })) return false
        return remove(added, [key, 'list', 0]) === text || Object.keys(value).length === 0
      }),
    )
  },
)

t.test('an item comes into every list, and goes out of it', async () => {
  const lists = fc.tuple(fc.array(fc.jsonValue({ maxDepth: 2 })), fc.constantFrom('', '  ', '\t'))
  fc.assert(
    fc.property(lists, ([items, indent]) => {
      const text = JSON.stringify({ a: 1, list: items, z: 2 }, null, indent)
      const added = put(text, ['list', end], group)
      const { list } = readJson(added) as { list: unknown[] }
      if (JSON.stringify(list) !== JSON.stringify([...items, group])) return false
      return items.length === 0 || remove(added, ['list', items.length]) === text
    }),
  )
})
