// The vectors of the digest, held against the client: what it computes, and what it refuses before anything is sent.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { digestOf } from '../../src/client/digest.js'
import { frozenCopy } from '../../src/client/json.js'

const file = new URL('../../../test/vectors/digest.json', import.meta.url)
const { vectors, refused } = JSON.parse(readFileSync(file, 'utf8')) as Record<'vectors' | 'refused', any[]>

t.test('the digest of each vector comes out', async (t) => {
  for (const { name, of, digest } of vectors) {
    const { action, requester, session_key: sessionKey, on_behalf_of: onBehalfOf = null } = of
    t.equal(digestOf({ action, details: JSON.parse(of.details), onBehalfOf, requester, sessionKey }), digest, name)
  }
  t.ok(vectors.length > 60)
})

t.test('what is no digest is refused, as far as JSON.parse leaves a trace of it', async (t) => {
  // To it they are other values: that is for whoever reads the text.
  const traceless = [/rounds/, /would be nothing/, /stands twice/]
  for (const { name, details } of refused) {
    if (traceless.some((one) => one.test(name))) continue
    t.throws(() => frozenCopy(JSON.parse(details), 'details'), name)
  }
})
