import fc from 'fast-check'
import t from 'tap'
import { type Comparison, createCondition, describeCondition, readPath, valuesAt } from '../../src/policy/condition.js'

function condition(path: string, comparisons: Record<string, unknown>, every = false) {
  const steps = readPath(path)
  if (typeof steps === 'string') throw new Error(steps)
  const list = Object.entries(comparisons).map(([operator, value]) => ({ operator, value }) as Comparison)
  return createCondition(path, steps, list, every)
}

/** Comparison, what it holds for, what it does not. */
const cases: [Record<string, unknown>, unknown[], unknown[]][] = [
  [{ equals: 5 }, [5, 5.0], ['5', 6, null, true, [5], { a: 5 }]],
  [{ equals: 'a' }, ['a'], ['A', 'a ', ['a'], null]],
  [{ equals: null }, [null], [0, '', false, {}, []]],
  [{ equals: true }, [true], ['true', 1, false]],
  [{ equals: 0 }, [0, -0], [false, null, '']],
  [{ in: ['eu', 7, null] }, ['eu', 7, null], ['us', '7', 'null', ['eu'], 0]],
  [{ greater_than: 10 }, [10.5, 11], [10, 9, '11', null, true, [11]]],
  [{ at_least: 10 }, [10, 11], [9.99, '10']],
  [{ less_than: 10 }, [9.99, -1], [10, '9', null, false]],
  [{ at_most: 10 }, [10, -1], [10.01, '10', null]],
  [{ at_least: 1, less_than: 5 }, [1, 4.9], [0, 5]],
  [{ matches: '*.example.com' }, ['a.example.com', '.example.com'], ['example.com', 'a.example.com.evil', 5, null]],
  [{ matches: '5' }, ['5'], [5]],
  [{ exists: true }, [1, null, false, {}], []],
  [{ exists: false }, [], [1, null, false, {}]],
]
t.test('comparisons hold for what they say, and for nothing of another type', async (t) => {
  for (const [comparisons, yes, no] of cases) {
    const { holds } = condition('x', comparisons)
    for (const x of yes) t.ok(holds({ x }), `${JSON.stringify(x)} ${JSON.stringify(comparisons)}`)
    for (const x of no) t.notOk(holds({ x }), `${JSON.stringify(x)} not ${JSON.stringify(comparisons)}`)
  }
})

t.test('a path that leads nowhere fits nothing but exists: false', async (t) => {
  for (const [comparisons] of cases) {
    for (const details of [{}, { y: 1 }, { a: null }, { a: 'x' }, { a: [] }]) {
      t.equal(condition('a.x', comparisons).holds(details), comparisons.exists === false, JSON.stringify(comparisons))
    }
  }
})

t.test('paths lead through members, elements and any of them', async (t) => {
  const details = { a: { b: 1 }, list: [{ k: 'x' }, { k: 'y' }, 7], 'a.b': 2, '*': 3, m: { p: { n: 1 }, q: { n: 2 } } }
  const holds = (path: string, value: unknown) => condition(path, { equals: value }).holds(details)
  t.ok(holds('a.b', 1))
  t.ok(holds('"a.b"', 2))
  t.ok(holds('"*"', 3))
  t.ok(holds('list.0.k', 'x'))
  t.ok(holds('list.2', 7))
  t.ok(holds('list.*.k', 'y'))
  t.ok(holds('m.*.n', 2))
  t.ok(holds('m."p".n', 1))
  t.notOk(holds('list.*.k', 'z'))
  t.notOk(holds('list.3', 7))
  t.notOk(holds('list.k', 'x'))
  t.notOk(holds('*.b', 2))
})

t.test('one value must pass all comparisons of its line', async (t) => {
  const { holds } = condition('n.*', { greater_than: 1, less_than: 3 })
  t.ok(holds({ n: [0, 2] }))
  t.notOk(holds({ n: [0, 4] }))
})

t.test('with every, all that the star stands for must be there and pass', async (t) => {
  const { holds } = condition('items.*.price', { at_most: 10 }, true)
  t.ok(holds({ items: [{ price: 1 }, { price: 10 }] }))
  t.notOk(holds({ items: [{ price: 1 }, { price: 11 }] }), 'one is too dear')
  t.notOk(holds({ items: [{ price: 1 }, { cost: 11 }] }), 'one has no price')
  t.notOk(holds({ items: [] }), 'there is none')
  t.notOk(holds({}))
})

t.test('what every object inherits is not there', async (t) => {
  for (const path of ['__proto__', 'constructor', 'toString', '__proto__.toString', 'list.length', 'text.length']) {
    t.notOk(condition(path, { exists: true }).holds({ list: [1], text: 'abc' }), path)
  }
  t.ok(condition('__proto__', { equals: 1 }).holds(JSON.parse('{"__proto__":1}')), 'unless it was sent')
})

t.test('a path that cannot be read says why', async (t) => {
  const flaws: [string, RegExp][] = [
    ['', /no name|dot/],
    ['a.', /ends with a dot/],
    ['.a', /no name/],
    ['a..b', /no name/],
    ['a[0]', /items\.0/],
    ['a*', /double quotes/],
    ['a."b', /no name/],
    ['a."b"c', /dot between/],
    ['a"b"', /dot between/],
    ['a ."b"', /spaces/],
    ['"\\x"', /not JSON/],
    [Array.from({ length: 65 }, () => 'a').join('.'), /more than 64/],
  ]
  for (const [path, flaw] of flaws) t.match(readPath(path), flaw, path)
})

t.test('any name can be reached in quotes', async () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (name, value) => {
      const details = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as unknown
      const here = condition(JSON.stringify(name), { exists: true })
      return here.holds(details) && valuesAt(details, here, 5).length === 1
    }),
  )
})

t.test('conditions never throw and exists is always one or the other', async () => {
  const path = fc.constantFrom('a', 'a.*', '*.*', '*.0', '"".b', 'length')
  fc.assert(
    fc.property(path, fc.jsonValue(), (where, details) => {
      for (const [comparisons] of cases) condition(where, comparisons).holds(details)
      return condition(where, { exists: true }).holds(details) !== condition(where, { exists: false }).holds(details)
    }),
  )
})

t.test('a condition can be said in words', async (t) => {
  t.equal(
    describeCondition(condition('a.*', { greater_than: 1, at_most: 5 }, true)),
    'every a.* is greater than 1 and at most 5',
  )
  t.equal(describeCondition(condition('a', { in: ['x', 1] })), 'a is one of "x", 1')
  t.equal(describeCondition(condition('a', { exists: false })), 'a is absent')
})
