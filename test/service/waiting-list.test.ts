// The list of what waits: what it has, when it is another, and what it costs to keep it open.
import t, { type Test } from 'tap'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { build, type BuildOptions, giveKeys, until } from '../support.js'

/** A service, and how often the pending ones were listed. */
async function setUp(t: Test, options: BuildOptions = {}) {
  const looks = { count: 0 }
  const wrapStore = (store: Store): Store => ({
    ...store,
    confirmations: {
      ...store.confirmations,
      listPending(...args) {
        looks.count += 1
        return store.confirmations.listPending(...args)
      },
    },
  })
  const built = await build(t, { wrapStore, ...options, config: { rateLimit: 1000, ...options.config } })
  const { service } = built
  const news = (mark: string, ms = 60_000) => service.waitForList(mark, ms, () => {})
  const held = (count: number) => until(() => service.countListeners().one === count)
  return { ...built, looks, news, held, list: () => service.readList(null) }
}

t.test('the list has what waits, how many that are, and what ended lately', async (t) => {
  const { submit, call, clock, list, service } = await setUp(t)
  const ids: string[] = []
  for (const n of [1, 2, 3, 4])
    ids.push((await submit({ details: { n }, timeout_seconds: n === 4 ? 30 : 300 })).body.id)
  await call('POST', `/confirm/${ids[0]}/approve`, { approver: 'ann' })
  await clock.advance(30_000)
  const { items, count, ended, next } = await list()
  t.same([items.map(({ id }) => id), count, next], [[ids[1], ids[2]], 2, null])
  t.match(ended, [
    { id: ids[3], status: 'expired' },
    { id: ids[0], status: 'approved' },
  ])
  await clock.advance(12 * 3_600_000)
  t.match((await list()).ended, [], 'half a day later that is no news')
  t.match(await service.readList([clock.now(), 0]), { items: [], ended: [] }, 'where it goes on there is none of that')
})

t.test('what expired is on the list as that, also while nothing can be recorded', async (t) => {
  const { submit, clock, list, store } = await setUp(t)
  const { id } = (await submit({ timeout_seconds: 30 })).body
  const before = (await list()).mark
  store.commit = () => Promise.reject(new StoreUnavailable('the disk is full'))
  await clock.advance(30_000)
  const after = await list()
  t.match(after, { items: [], count: 0, ended: [{ id, status: 'expired' }] })
  t.not(after.mark, before)
})

t.test('more than a page is counted whole', async (t) => {
  const { call, list } = await setUp(t)
  const items = Array.from({ length: 100 }, (_, n) => ({ action: 'noise', description: 'x', details: { n } }))
  await call('POST', '/confirm/batch', { items })
  await call('POST', '/confirm/batch', { items: items.slice(0, 30).map((one) => ({ ...one, description: 'y' })) })
  const { items: listed, count, next } = await list()
  t.equal(listed.length, 100)
  t.not(next, null)
  t.equal(count, 130)
})

t.test('its mark is another when one comes, is voted on, is decided or expires, and else the same', async (t) => {
  const rules = 'rules: [{ action: pay, approvals: 2 }]'
  const built = await setUp(t, { rules })
  const { clock, list, news, held } = built
  const { bot, olga, root } = await giveKeys(built, { bot: 'agent', olga: 'operator', root: 'admin' })
  const ask = async (fields: object) =>
    (await bot('POST', '/confirm', { description: 'd', ...fields })).body.id as string
  const ids: Record<string, string> = {}
  const marks = [(await list()).mark]
  const changes: Record<string, () => Promise<unknown>> = {
    comes: async () => (ids.pay = await ask({ action: 'pay', timeout_seconds: 300 })),
    'comes too': async () => (ids.mail = await ask({ action: 'mail', timeout_seconds: 300 })),
    'is voted on': () => olga('POST', `/confirm/${ids.pay}/approve`),
    'is decided': () => olga('POST', `/confirm/${ids.mail}/deny`),
    expires: () => clock.advance(300_000),
  }
  for (const [name, change] of Object.entries(changes)) {
    const waiting = news(marks.at(-1)!, 600_000)
    await held(1)
    await clock.advance(1000)
    await change()
    const { mark, count } = await waiting
    t.notOk(marks.includes(mark), name)
    t.match(await list(), { mark, count }, name)
    marks.push(mark)
  }
  const waiting = news(marks.at(-1)!)
  await held(1)
  await root('POST', '/whitelist', { action: 'mail' })
  t.match(await bot('POST', '/confirm', { action: 'mail', description: 'covered' }), { status: 200 })
  await clock.advance(59_000)
  await held(1)
  await clock.advance(1000)
  t.equal((await waiting).mark, marks.at(-1), 'what is covered never waits')
})

t.test('the mark tells the same after a restart', async (t) => {
  const { submit, list, dbPath, clock, stop } = await setUp(t)
  await submit()
  const { mark } = await list()
  await stop()
  const again = await setUp(t, { dbPath, clock })
  t.equal((await again.list()).mark, mark)
})

t.test('a thousand lists that are kept open cost one look, and a storm costs one look a second', async (t) => {
  const { submit, clock, looks, news, held, list } = await setUp(t)
  const { mark } = await list()
  const waiting = Array.from({ length: 1000 }, () => news(mark))
  await held(1000)
  await until(() => looks.count === 2)
  await clock.advance(1000)
  await submit()
  await Promise.all(waiting)
  t.equal(looks.count, 3, 'one for the page, one for all who began, one for all who were told')

  // A client that asks again at once, while something comes every tenth of a second.
  looks.count = 0
  let isOver = false
  const storm = (async () => {
    for (let seen = ''; !isOver;) seen = (await news(seen, 1000)).mark
  })()
  for (let n = 0; n < 100; n++) {
    await submit({ details: { n } })
    await clock.advance(100)
  }
  t.ok(looks.count >= 9 && looks.count <= 11, `${looks.count} looks in 10 s`)
  isOver = true
  await clock.advance(2000)
  await storm
})

t.test('what is committed while somebody looks is not missed', async (t) => {
  const { submit, clock, news, list, service, store } = await setUp(t)
  const { mark } = await list()
  // The first look has read, and is on its way, when another comes and a second reader asks.
  const { listPending } = store.confirmations
  let submitted: Promise<unknown> | null = null
  let second: Promise<{ mark: string }> | null = null
  store.confirmations.listPending = async (...args) => {
    const page = await listPending(...args)
    if (submitted === null) {
      submitted = submit()
      await submitted
      second = news(mark)
    }
    return page
  }
  const first = news(mark)
  await until(() => second !== null)
  await clock.advance(1000)
  const now = (await list()).mark
  t.not(now, mark)
  t.same([(await first).mark, (await second!).mark], [now, now])
  t.equal(service.countListeners().one, 0, 'nobody is left waiting')
})

t.test('who waits for news of the list is answered when the service stops, and when the time is over', async (t) => {
  const { clock, news, held, list, service } = await setUp(t)
  const { mark } = await list()
  t.match(await news(mark, 0), { mark, count: 0 })
  const short = news(mark, 5000)
  await held(1)
  await clock.advance(5000)
  t.equal((await short).mark, mark)
  const long = news(mark)
  await held(1)
  service.release()
  t.equal((await long).mark, mark)
})
