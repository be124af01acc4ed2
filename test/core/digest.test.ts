import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import t from 'tap'
import { digestOf, fingerprintOf, sha256, shortDigest } from '../../src/core/digest.js'
import { canonical } from '../../src/core/canonical.js'
import type { Submission } from '../../src/core/model.js'
import { submissionOf } from '../submission.js'

const submission: Submission = submissionOf({
  description: 'Send the newsletter',
  details: '{"to":"all","count":3}',
  requester: 'agent',
  sessionKey: 's1',
  timeoutSeconds: 300,
})

/** JSON that can be sent: no half characters, and no key that would be a prototype. */
const text = fc.string({ unit: 'binary' }).filter((value) => value !== '__proto__')
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    text,
    fc.array(tie('json'), { maxLength: 5 }),
    fc.dictionary(text, tie('json'), { maxKeys: 5 }),
  ),
}))
const object = fc.dictionary(text, json, { maxKeys: 6 })

// -- RFC 8785 ----------------------------------------------------------------------------------------------------------

t.test('the example of RFC 8785 comes out byte by byte', async (t) => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  const hex = `
    7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72 75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
    5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31 65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
    5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30 30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d`
  t.equal(Buffer.from(canonical(JSON.parse(input))).toString('hex'), hex.replace(/\s/g, ''))
})

t.test('keys are in the order of their UTF-16 units, not of their code points, and not as numbers', async (t) => {
  const input = String.raw`{
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
  }`
  t.same(
    [...canonical(JSON.parse(input)).matchAll(/:"([^"]*)"/g)].map(([, value]) => value),
    [
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ],
  )
  t.equal(canonical({ 10: 1, 9: 1, a: 1, A: 1, '': 1, aa: 1 }), '{"":1,"10":1,"9":1,"A":1,"a":1,"aa":1}')
})

t.test('nothing is normalised: texts that only look alike stay apart', async (t) => {
  t.equal(canonical({ '\u00e9': 1, 'e\u0301': 2 }), '{"e\u0301":2,"\u00e9":1}')
  t.not(canonical(['\u00e9']), canonical(['e\u0301']))
})

const numbers: [written: string, canonical: string][] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.0', '0'],
  ['1.0', '1'],
  ['10e-1', '1'],
  ['1e0', '1'],
  ['100', '100'],
  ['1e21', '1e+21'],
  ['1000000000000000000000', '1e+21'],
  ['1e20', '100000000000000000000'],
  ['999999999999999900000', '999999999999999900000'],
  ['1e-6', '0.000001'],
  ['1e-7', '1e-7'],
  ['0.000001', '0.000001'],
  ['5e-324', '5e-324'],
  ['-5e-324', '-5e-324'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ['9007199254740992', '9007199254740992'],
  ['-9007199254740992', '-9007199254740992'],
  ['295147905179352830000', '295147905179352830000'],
  ['9.999999999999997e22', '9.999999999999997e+22'],
  ['1e23', '1e+23'],
  ['1.0000000000000001e23', '1.0000000000000001e+23'],
  ['333333333.3333332', '333333333.3333332'],
  ['333333333.33333325', '333333333.33333325'],
  ['1424953923781206.2', '1424953923781206.2'],
  ['-0.0000033333333333333333', '-0.0000033333333333333333'],
]
t.test('numbers are written as RFC 8785 wants them', async (t) => {
  for (const [written, wanted] of numbers) t.equal(canonical(JSON.parse(written)), wanted, written)
})

const strings: [value: string, canonical: string][] = [
  ['\b\t\n\f\r', String.raw`"\b\t\n\f\r"`],
  ['\u0000\u001f', String.raw`"\u0000\u001f"`],
  ['\u007f\u0080\u2028\u2029', '"\u007f\u0080\u2028\u2029"'],
  ['"\\/', String.raw`"\"\\/"`],
  ["<>&'", '"<>&\'"'],
  ['\u{1f600}ö€', '"\u{1f600}ö€"'],
]
t.test('only what must be escaped is, in the shortest way', async (t) => {
  for (const [value, wanted] of strings) t.equal(canonical(value), wanted)
  t.equal(canonical({ '\n': '\n' }), String.raw`{"\n":"\n"}`)
})

t.test('whatever can be sent, the canonical form is that of another implementation, and of itself', async (t) => {
  fc.assert(
    fc.property(json, (value) => {
      const parsed: unknown = JSON.parse(JSON.stringify(value))
      const form = canonical(parsed)
      return form === canonicalize(parsed) && form === canonical(JSON.parse(form))
    }),
    { numRuns: 500 },
  )
  t.pass()
})

// -- the digest --------------------------------------------------------------------------------------------------------

t.test('the digest is that of the four, for anybody to compute', async (t) => {
  t.equal(
    digestOf(submission),
    createHash('sha256')
      .update('{"action":"send_mail","details":{"count":3,"to":"all"},"requester":"agent","session_key":"s1"}')
      .digest('hex'),
  )
  t.equal(sha256(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  fc.assert(
    fc.property(text, object, text, text, (action, details, requester, sessionKey) => {
      const wanted = canonicalize(JSON.parse(JSON.stringify({ action, details, requester, session_key: sessionKey })))!
      const digest = digestOf({ action, details: JSON.stringify(details), onBehalfOf: null, requester, sessionKey })
      return digest === createHash('sha256').update(wanted, 'utf8').digest('hex')
    }),
  )
})

t.test('for whom it is done is a fifth, where somebody is named', async (t) => {
  const named =
    '{"action":"send_mail","details":{"count":3,"to":"all"},"on_behalf_of":"Ann \\"A\\"","requester":"agent","session_key":"s1"}'
  t.equal(digestOf({ ...submission, onBehalfOf: 'Ann "A"' }), createHash('sha256').update(named).digest('hex'))
  fc.assert(
    fc.property(object, text, (details, onBehalfOf) => {
      const { action, requester, sessionKey } = submission
      const parts = { action, details, on_behalf_of: onBehalfOf, requester, session_key: sessionKey }
      const wanted = canonicalize(JSON.parse(JSON.stringify(parts)))!
      const digest = digestOf({ ...submission, details: JSON.stringify(details), onBehalfOf })
      return digest === createHash('sha256').update(wanted, 'utf8').digest('hex')
    }),
  )
})

t.test('it differs when any of them differs', async (t) => {
  const digest = digestOf(submission)
  const others: Partial<Submission>[] = [
    { action: 'send_mai1' },
    { action: 'send_mail ' },
    { details: '{"to":"all","count":4}' },
    { details: '{"to":"all","count":"3"}' },
    { details: '{"to":"all","count":3,"x":null}' },
    { details: '{"to":"all"}' },
    { details: '{}' },
    { requester: 'Agent' },
    { requester: '' },
    { sessionKey: 's2' },
    { sessionKey: '' },
    { onBehalfOf: 'Ann' },
    { onBehalfOf: 'ann' },
  ]
  const digests = others.map((other) => digestOf({ ...submission, ...other }))
  t.equal(new Set([digest, ...digests]).size, others.length + 1)
})

t.test('what is moved from one of them into another makes another digest', async (t) => {
  const digests = [
    { action: 'a', details: '{}', requester: 'b', sessionKey: '' },
    { action: 'b', details: '{}', requester: 'a', sessionKey: '' },
    { action: '', details: '{}', requester: 'a', sessionKey: 'b' },
    { action: 'a","details":{},"requester":"b', details: '{}', requester: 'b', sessionKey: '' },
    { action: 'a', details: '{}', requester: 'b","session_key":"', sessionKey: '' },
    { action: 'a', details: '{"requester":"b"}', requester: '', sessionKey: '' },
    { action: 'a', details: '{}', onBehalfOf: 'b', requester: '', sessionKey: '' },
    { action: 'a', details: '{}', onBehalfOf: 'b","requester":"', requester: '', sessionKey: '' },
    { action: 'a', details: '{"on_behalf_of":"b"}', requester: '', sessionKey: '' },
  ].map((of) => digestOf({ onBehalfOf: null, ...of }))
  t.equal(new Set(digests).size, digests.length)
  const few = fc.constantFrom('', 'a', '"', '\\', ',', '","requester":"')
  const five = fc.record({
    action: few,
    details: fc.constantFrom('{}', '{"a":"\\""}'),
    onBehalfOf: fc.option(few),
    requester: few,
    sessionKey: few,
  })
  fc.assert(
    fc.property(five, five, (a, b) => (digestOf(a) === digestOf(b)) === (JSON.stringify(a) === JSON.stringify(b))),
    { numRuns: 500 },
  )
})

t.test(
  'it is the same for another order of keys, other spaces, and another way to write a number or a text',
  async (t) => {
    const digest = digestOf({ ...submission, details: '{"a":{"x":1,"y":[1,2]},"b":"é"}' })
    for (const details of [
      '{"b":"é","a":{"y":[1,2],"x":1}}',
      ' { "a" : { "x" : 1 , "y" : [ 1 , 2 ] } ,\n"b":"é" } ',
      '{"a":{"x":1.0,"y":[10e-1,2.00]},"b":"\\u00e9"}',
    ]) {
      t.equal(digestOf({ ...submission, details }), digest, details)
    }
    t.not(digestOf({ ...submission, details: '{"a":{"x":1,"y":[2,1]},"b":"é"}' }), digest, 'lists have an order')
  },
)

t.test('whatever is in it, the order of its keys makes no difference', async (t) => {
  const reversed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(reversed)
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reversed(inner)]),
    )
  }
  fc.assert(
    fc.property(object, (details) => {
      const [one, other] = [JSON.stringify(details), JSON.stringify(reversed(details))]
      return (
        digestOf({ ...submission, details: one }) === digestOf({ ...submission, details: other }) &&
        fingerprintOf({ ...submission, details: one }) === fingerprintOf({ ...submission, details: other })
      )
    }),
  )
  t.pass()
})

t.test('what does not belong to the act is not in the digest', async (t) => {
  const others: Partial<Submission>[] = [
    { description: 'Something else' },
    { timeoutSeconds: 30 },
    { callbackUrl: 'https://example.com/' },
  ]
  for (const other of others) t.equal(digestOf({ ...submission, ...other }), digestOf(submission))
})

t.test('the fingerprint of a submission differs when anything differs', async (t) => {
  const others: Partial<Submission>[] = [
    {},
    { action: 'a' },
    { description: 'Something else' },
    { details: '{}' },
    { requester: 'other' },
    { sessionKey: '' },
    { timeoutSeconds: 30 },
    { callbackUrl: 'https://example.com/' },
    { callbackUrl: 'https://example.com' },
    { onBehalfOf: 'ann' },
  ]
  t.equal(new Set(others.map((other) => fingerprintOf({ ...submission, ...other }))).size, others.length)
})

t.test('where nobody is named, the fingerprint is what it was before anybody could be', async (t) => {
  const { details, onBehalfOf: _, aap: __, ...rest } = submission
  t.equal(fingerprintOf(submission), sha256(canonical({ ...rest, details: JSON.parse(details) as unknown })))
})

t.test('the short form is the beginning of the long one', async (t) => {
  const digest = digestOf(submission)
  t.match(digest, /^[0-9a-f]{64}$/)
  t.match(shortDigest(digest), /^[0-9a-f]{16}$/)
  t.ok(digest.startsWith(shortDigest(digest)))
})
