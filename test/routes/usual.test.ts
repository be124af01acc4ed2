// The usual submission is read without its schema, and to the same end.
import * as fc from 'fast-check'
import t from 'tap'
import { submitBody } from '../../src/routes/requests.js'
import { readUsual } from '../../src/routes/usual.js'

const text = fc.oneof(
  fc.string({ unit: 'grapheme-ascii' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    ' a',
    'a ',
    '\ta',
    'a\nb',
    'a\0',
    '\ud800',
    'ä',
    'system:x',
    'whitelist:x',
    'a:b',
    'a∶b',
    'x'.repeat(1001),
  ),
)
const value = fc.oneof(text, fc.jsonValue(), fc.constantFrom(null, 60, '60', 0, -0, 1e300, true, [], {}))
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })
const details = fc.oneof(
  fc.dictionary(text, fc.oneof(text, fc.jsonValue())),
  fc.integer({ min: 60, max: 68 }).map((depth) => nested(depth)),
  fc.jsonValue(),
)
const word = fc.stringMatching(/^[a-z][a-z_:-]{0,9}$/)
/** Mostly as people send them, now and then anything. */
const mostly = (often: fc.Arbitrary<unknown>, rarely: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 19, arbitrary: often }, { weight: 1, arbitrary: rarely })
const bodies = fc.oneof(
  fc.record(
    {
      action: mostly(word, value),
      description: mostly(
        fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' ')),
        value,
      ),
      details: mostly(fc.oneof(fc.dictionary(word, fc.oneof(word, fc.integer(), fc.boolean())), details), value),
      requester: mostly(word, value),
      session_key: mostly(word, value),
      timeout_seconds: mostly(fc.double({ noNaN: true }), value),
    },
    { requiredKeys: ['action', 'description'] },
  ),
  fc.record(
    { action: word, description: word, callback_url: value, on_behalf_of: value, detals: value },
    { requiredKeys: ['action'] },
  ),
  value,
)

t.test('what is read without the schema is what the schema makes of it', (t) => {
  let read = 0
  fc.assert(
    fc.property(bodies, (body) => {
      const found = readUsual(structuredClone(body))
      if (found === null) return
      read += 1
      const { success, data } = submitBody.safeParse(structuredClone(body))
      if (!success) throw new Error('the schema refuses it')
      // What is left out may be there as undefined.
      t.same(JSON.stringify(found), JSON.stringify({ ...found, ...data }))
      for (const name of Object.keys(data))
        if (!(name in found) && data[name as keyof typeof data] !== undefined) throw new Error(name)
    }),
    { numRuns: 3000 },
  )
  t.ok(read > 100, `${read} were usual`)
  t.end()
})

t.test('what is not usual is left to the schema', (t) => {
  const body = { action: 'send_mail', description: 'Send it' }
  t.same(readUsual(body), { ...body, details: {}, requester: undefined, session_key: '', timeout_seconds: null })
  const unusual = {
    'a blank action': { action: ' ' },
    'blanks at the ends': { description: ' Send it' },
    'a null character': { session_key: 'a\0' },
    'letters beyond ASCII': { action: 'senden_für' },
    'half a character': { details: { a: '\ud800' } },
    'details too deep': { details: nested(66) },
    'details that are a list': { details: [] },
    'a name of the service': { requester: 'system:timeout' },
    'a name that is too long': { action: 'a'.repeat(1001) },
    'a number as text': { timeout_seconds: '60' },
    'a field that there is not': { sesion_key: 's1' },
    'a callback': { callback_url: 'https://example.com' },
    'nobody to act for': { on_behalf_of: null },
  }
  for (const [what, more] of Object.entries(unusual)) t.equal(readUsual({ ...body, ...more }), null, what)
  for (const one of [null, undefined, 'text', 1, [], {}]) t.equal(readUsual(one), null)
  t.end()
})
