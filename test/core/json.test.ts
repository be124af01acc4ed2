import fc from 'fast-check'
import t from 'tap'
import { raw, stringify, stringifyInert, unseen } from '../../src/core/json.js'

t.test('text that is JSON already is put in its place, whatever it holds', async (t) => {
  t.equal(stringify({ a: raw('{"x":1}'), b: [raw('{}'), raw('{"$&":"$1"}')] }), '{"a":{"x":1},"b":[{},{"$&":"$1"}]}')
  t.equal(stringify({ a: 1 }), '{"a":1}')
  const value = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  fc.assert(
    fc.property(fc.array(value), (values) => {
      const text = stringify({ before: 'x', values: values.map((one) => raw(JSON.stringify(one))), after: '\\u00000' })
      return text === JSON.stringify({ before: 'x', values, after: '\\u00000' })
    }),
  )
})

t.test(
  'what is unseen is escaped in an answer, all of it and nothing else, and the value stays the same',
  async (t) => {
    const wrong: string[] = []
    for (let code = 0x20; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const text = `a${String.fromCodePoint(code)}b`
      const answered = stringifyInert(text)
      const isEscaped = answered !== JSON.stringify(text)
      if (isEscaped !== unseen.test(text) || JSON.parse(answered) !== text) wrong.push(code.toString(16))
    }
    t.same(wrong, [])
    t.equal(stringifyInert({ a: raw('{"\u202e":"\u{e0041}é😀"}') }), '{"a":{"\\u202e":"\\udb40\\udc41é😀"}}')
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), fc.nat(9000), (part, times) => {
        const text = part.repeat(Math.ceil(times / (part.length + 1)))
        const answered = stringifyInert({ text })
        return !unseen.test(answered) && (JSON.parse(answered) as { text: string }).text === text
      }),
    )
  },
)
