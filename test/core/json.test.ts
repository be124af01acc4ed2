import fc from 'fast-check'
import t from 'tap'
import { raw, stringify } from '../../src/core/json.js'

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
