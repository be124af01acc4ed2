import t from 'tap'
import { placeFrom } from '../../src/client/place.js'
import { Operator } from '../../src/client/index.js'

const from = (set: Record<string, string>) => (name: string) => set[name] ?? null
const set = { HOLDPOINT_URL: 'http://there:6001', HOLDPOINT_KEY: 'hpk_1' }

t.test('what is given goes before the environment, and that before the usual', async (t) => {
  t.same(placeFrom({}, from({})), { url: 'http://127.0.0.1:6000', key: null })
  t.same(placeFrom({}, from(set)), { url: 'http://there:6001', key: 'hpk_1' })
  t.same(placeFrom({ url: 'http://here' }, from(set)), { url: 'http://here', key: 'hpk_1' })
  t.same(placeFrom({ key: 'hpk_2' }, from(set)), { url: 'http://there:6001', key: 'hpk_2' })
  t.same(placeFrom({ key: null }, from(set)), { url: 'http://there:6001', key: null })
})

t.test('a socket is reached without anything of the environment', async (t) => {
  t.same(placeFrom({ socketPath: '/s' }, from(set)), { socketPath: '/s', key: null })
})

t.test('the environment is read when a client is made', async (t) => {
  const before = { ...process.env }
  t.teardown(() => (process.env = before))
  process.env.HOLDPOINT_URL = 'http://there:6001/below/'
  t.equal(new Operator().place, 'http://there:6001/below')
  process.env.HOLDPOINT_URL = ''
  t.equal(new Operator().place, 'http://127.0.0.1:6000', 'empty is not set')
})
