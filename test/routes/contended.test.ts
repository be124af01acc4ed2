import t from 'tap'
import { build } from '../support.js'

t.test('a submission that loses every race is answered 503, and claims nothing about its rate', async (t) => {
  const { submit, call } = await build(t, { wrapStore: (store) => ({ ...store, commit: async () => 'conflict' }) })
  const { status, headers, body } = await submit()
  t.equal(status, 503)
  t.equal(body.code, 'contended')
  t.equal(headers['retry-after'], '1')
  t.notOk('ratelimit' in headers)
  t.equal((await call('GET', '/health')).body.pending_count, 0)
})
