// The vectors of the digest, held against the server: what it computes, and what it takes at all.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { canonical, digestText } from '../../src/core/canonical.js'
import { digestOf, sha256 } from '../../src/core/digest.js'
import { build } from '../support.js'

interface Vectors {
  vectors: { name: string; of: Fields; canonical: string; digest: string }[]
  refused: { name: string; details: string }[]
}
interface Fields {
  action: string
  details: string
  on_behalf_of?: string
  requester: string
  session_key: string
}

const file = new URL('../../../test/vectors/digest.json', import.meta.url)
const { vectors, refused } = JSON.parse(readFileSync(file, 'utf8')) as Vectors

t.test('the text and the digest of each vector come out', async (t) => {
  for (const { name, of, canonical: text, digest } of vectors) {
    const { action, details, on_behalf_of: onBehalfOf = null, requester, session_key: sessionKey } = of
    const parts = { action, onBehalfOf, requester, sessionKey }
    t.equal(digestText({ ...parts, details: canonical(JSON.parse(details)) }), text, name)
    t.equal(digestOf({ ...parts, details }), digest, name)
    t.equal(sha256(text), digest, name)
  }
  t.ok(vectors.length > 60)
})

/** The body as an agent would write it: the details are its own text. */
function bodyOf({ details, ...fields }: Partial<Fields>): string {
  const rest = JSON.stringify({ action: 'send_mail', description: 'Send it', ...fields }).slice(1)
  return `{"details":${details},${rest}`
}

t.test('what is submitted has the digest of its vector, and what is no digest is refused', async (t) => {
  const { app } = await build(t, { config: { rateLimit: 1000, openLimit: 1000 } })
  const submit = (payload: string) =>
    app.inject({ method: 'POST', url: '/confirm', headers: { 'content-type': 'application/json' }, payload })
  for (const { name, of, digest } of vectors) {
    const answer = await submit(bodyOf(of))
    t.equal(answer.statusCode, 202, `${name}: ${answer.body}`)
    t.equal(answer.json<{ digest: string }>().digest, digest, name)
  }
  for (const { name, details } of refused) {
    const { statusCode, body } = await submit(bodyOf({ details }))
    t.equal(statusCode, 400, `${name}: ${body}`)
  }
})
