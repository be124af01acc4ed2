import fc from 'fast-check'
import t from 'tap'
import { findAmbiguity, isExact } from '../../src/core/ambiguity.js'

const never = () => false
const find = (text: string) => findAmbiguity(text, never)

t.test('a number is exact if its decimal value is what JSON.stringify writes back', async (t) => {
  for (const number of [
    ...[
      '0',
      '-0',
      '-0.0',
      '0e999999999999999999999',
      '1',
      '1.0',
      '1e2',
      '1E+2',
      '0.10',
      '100',
      '-12.50',
      '1e21',
      '5e-324',
    ],
    ...['123456789012345', '9007199254740991', '1.7976931348623157e308', '1e-7', '0.1e1', '10e-1'],
    ...['1000000000000000000000000', '0.000000000000000000000000000001', '123456.7890', '2e-3'],
  ]) {
    t.ok(isExact(number), number)
  }
  for (const number of [
    ...['1234567890123456789', '12345678901234.567', '0.1000000000000000055', '1e400', '-1e400', '1e-400', '-1e-400'],
    ...['9007199254740993', '9007199254740993e0', '1180591620717411303424', '3.3333333333333333', '2e-324', '123e-326'],
    `1${'0'.repeat(400)}`,
    `0.${'0'.repeat(400)}1`,
  ]) {
    t.notOk(isExact(number), number)
  }
})

/** value = digits * 10^exponent, by integers alone. */
function valueOf(number: string): [digits: bigint, exponent: bigint] {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number)!
  return [BigInt(`${sign}${whole}${fraction}`), BigInt(power) - BigInt(fraction.length)]
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [valueOf(a), valueOf(b)]
  const shift = one[1] - other[1]
  return shift >= 0n ? one[0] * 10n ** shift === other[0] : one[0] === other[0] * 10n ** -shift
}

const digits = (max: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max })
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(22).map((all) => all.replace(/^0+(?=\d)/, '')),
    fc.option(digits(22)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 340 }))),
  )
  .map(([sign, whole, fraction, power]) => {
    return `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power === null ? '' : power.join('')}`
  })

t.test('whether a number is exact agrees with integers that lose nothing', async (t) => {
  const agrees = (text: string) => {
    const written = JSON.stringify(JSON.parse(text))
    const expected = written !== 'null' && isSame(text, written)
    return isExact(text) === expected && (find(`{"a":[0,${text}]}`) === null) === expected
  }
  fc.assert(fc.property(number, agrees), { numRuns: 5000 })
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one)),
      agrees,
    ),
  )
  fc.assert(fc.property(fc.integer({ min: -(10 ** 15), max: 10 ** 15 }).map(String), agrees))
  t.pass()
})

/** JSON text of a value with names spelt in other ways, spaces in between, and perhaps a name twice. */
type Value = string | Value[] | { members: [name: string, value: Value][] }
const { value: anyValue } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean()).map((one) => JSON.stringify(one)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(fc.oneof(fc.constantFrom('a', 'b', '', '"', '\\', 'ä', '__proto__'), fc.string()), tie('value')),
        {
          maxLength: 12,
        },
      )
      .map((members) => ({ members })),
  ),
}))

function write(value: Value, isEscaped: () => boolean): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[ ${value.map((one) => write(one, isEscaped)).join(' ,')}]`
  const spell = (name: string) =>
    isEscaped()
      ? `"${Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
      : JSON.stringify(name)
  return `{${value.members.map(([name, inner]) => `${spell(name)}\n: ${write(inner, isEscaped)}`).join(', ')}\t}`
}

function hasTwice(value: Value): boolean {
  if (typeof value === 'string') return false
  if (Array.isArray(value)) return value.some(hasTwice)
  const names = value.members.map(([name]) => name)
  return new Set(names).size < names.length || value.members.some(([, inner]) => hasTwice(inner))
}

t.test('a name that stands twice in one object is found, however it is spelt and wherever it stands', async (t) => {
  fc.assert(
    fc.property(anyValue, fc.infiniteStream(fc.boolean()), (value, chance) => {
      const text = write(value, () => chance.next().value)
      // It is JSON.
      JSON.parse(text)
      return (find(text) === null) === !hasTwice(value)
    }),
    { numRuns: 2000 },
  )
  t.match(find('{"a":1,"\\u0061":2}'), { kind: 'name', place: '', text: 'a' })
  t.match(find('{"x":[{},{"b":{"a":1,"c":{"a":2},"a":3}}]}'), { kind: 'name', place: 'x.1.b', text: 'a' })
  const many = Array.from({ length: 50 }, (_, index) => `"k${index}":${index}`).join()
  t.equal(find(`{${many}}`), null)
  t.match(find(`{"o":{${many},"k3":0}}`), { kind: 'name', place: 'o', text: 'k3' })
  t.match(find(`{${many},"k49":0}`), { kind: 'name', place: '', text: 'k49' })
})

t.test('the place is named so that it can be found, and is safe to print and short whatever it holds', async (t) => {
  t.match(find('{"a":{"b c":[1,[2,{"d":1e400}]]}}'), { kind: 'number', place: 'a."b c".1.1.d', text: '1e400' })
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), fc.nat(300), (name, depth) => {
      const key = JSON.stringify(name)
      const deep = `${`{${key}:`.repeat(depth + 1)}1e400${'}'.repeat(depth + 1)}`
      for (const text of [deep, `{${key}:{${key}:1,${key}:2}}`]) {
        const { place, text: what } = find(text)!
        // What turns the direction is isolated, in pairs.
        const shown = (place + what).replace(/\u2067([^\u2067\u2069]*)\u2069/g, '$1')
        if (place.length > 4000 || what.length > 500) return false
        if (/[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f]/u.test(shown)) return false
      }
      return true
    }),
  )
  t.ok(find(`{"a":${'9'.repeat(100_000)}}`)!.text.length < 50)
})

t.test('a number is passed over where it is exempt, and only there', async (t) => {
  const isExempt = (path: readonly string[]) => path.join('.') === 'a.0.n'
  t.equal(findAmbiguity('{"a":[{"n":1e400}]}', isExempt), null)
  t.match(findAmbiguity('{"a":[{"n":1e400},{"n":1e400}]}', isExempt), { place: 'a.1.n' })
  t.match(findAmbiguity('{"a":[{"n":1e400,"n":1}]}', isExempt), { kind: 'name' })
  const deep = `{"a":${'['.repeat(50)}1e400${']'.repeat(50)}}`
  t.match(
    findAmbiguity(deep, (path) => path.length > 4),
    { place: 'a.0.….0.0.0' },
  )
  t.equal(
    findAmbiguity(deep, ([first]) => first === 'a'),
    null,
    'of a long path only the beginning is asked about',
  )
})
