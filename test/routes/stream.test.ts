// The history as it is written: every event once, in order, whatever becomes of the connection.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { EventSource } from 'eventsource'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { listen } from '../../src/listen.js'
import { type Api, useZod } from '../../src/routes/api.js'
import { createErrorHandler } from '../../src/routes/errors.js'
import { anyone } from '../../src/access/role.js'
import { attempted } from '../../src/audit/event.js'
import type { Auth } from '../../src/routes/auth.js'
import type { ShareLimits } from '../../src/routes/shares.js'
import { streamLimits, streamRoutes } from '../../src/routes/stream.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { someEvent } from '../actors.js'
import {
  build,
  type Built,
  type BuildOptions,
  type CallAs,
  configFor,
  giveKeys,
  sharesFor,
  temporaryFolder,
  until,
} from '../support.js'

interface Event {
  id: number
  event: string
  data: any
}

interface Stream {
  status: number
  headers: Record<string, unknown>
  text: () => string
  events: () => Event[]
  isOver: () => boolean
  close(): void
}

async function serve(t: Test, options: BuildOptions = {}): Promise<Built & { url: string }> {
  const built = await build(t, options)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  return { ...built, url: `http://127.0.0.1:${port}` }
}

async function read(t: Test, url: string, headers: Record<string, string> = {}): Promise<Stream> {
  const response = await request(url, { headers, bodyTimeout: 0 })
  let text = ''
  let over = false
  response.body.setEncoding('utf8')
  response.body.on('data', (chunk: string) => (text += chunk))
  response.body.on('error', () => (over = true))
  response.body.on('end', () => (over = true))
  const close = () => response.body.destroy()
  t.teardown(close)
  return {
    status: response.statusCode,
    headers: response.headers,
    text: () => text,
    events: () => parse(text),
    isOver: () => over,
    close,
  }
}

function parse(text: string): Event[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const [, id, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? []
      return data === undefined ? [] : [{ id: Number(id), event: event!, data: JSON.parse(data) as unknown }]
    })
}

const types = (stream: Stream) => stream.events().map(({ event }) => event)
const ids = (stream: Stream) => stream.events().map(({ id }) => id)

t.test("a confirmation's events come as they happen, and the stream ends with its resolution", async (t) => {
  const { url, submit, call } = await serve(t)
  const { id } = (await submit()).body
  await submit({ action: 'other' })
  const stream = await read(t, `${url}/confirm/${id}/events`)
  t.match(stream.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  await until(() => stream.events().length === 2)
  t.same(types(stream), ['submitted', 'notified'])
  t.notOk(stream.isOver())
  await call('POST', `/confirm/${id}/approve`, { approver: 'alice' })
  await until(() => stream.isOver())
  t.same(types(stream), ['submitted', 'notified', 'approved'])
  const [first, , last] = stream.events()
  t.match(first, {
    id: 1,
    data: { seq: 1, confirmation_id: id, data: { action: 'send_mail', digest: /^[0-9a-f]{64}$/ } },
  })
  t.match(last, { id: 5, data: { actor: 'alice', data: { status: 'approved' } } })
})

t.test('after its end the whole story is told, and the stream ends by itself', async (t) => {
  const { url, submit, call } = await serve(t)
  const { id } = (await submit()).body
  await call('POST', `/confirm/${id}/approve`)
  await call('POST', `/confirm/${id}/claim`)
  await call('POST', `/confirm/${id}/report`, { outcome: 'succeeded' })
  const stream = await read(t, `${url}/confirm/${id}/events`)
  await until(() => stream.isOver())
  t.same(types(stream), ['submitted', 'notified', 'approved', 'claimed', 'reported'])
  const rest = await read(t, `${url}/confirm/${id}/events`, { 'last-event-id': '3' })
  await until(() => rest.isOver())
  t.same(types(rest), ['claimed', 'reported'])
})

t.test('expiry ends it too', async (t) => {
  const { url, submit, clock } = await serve(t)
  const { id } = (await submit({ timeout_seconds: 30 })).body
  const stream = await read(t, `${url}/confirm/${id}/events`)
  await until(() => stream.events().length === 2)
  await clock.advance(30_000)
  await until(() => stream.isOver())
  t.equal(types(stream).at(-1), 'expired')
})

t.test('a browser that has seen everything is told not to come back', async (t) => {
  const { url, submit, call } = await serve(t)
  const { id } = (await submit()).body
  const asked = { 'last-event-id': '2' }
  const early = await read(t, `${url}/confirm/${id}/events`, asked)
  t.equal(early.status, 200, 'while it is pending there is something to wait for')
  await call('POST', `/confirm/${id}/deny`)
  await until(() => early.isOver())
  t.same(types(early), ['denied'])
  t.equal((await read(t, `${url}/confirm/${id}/events`, { 'last-event-id': '3' })).status, 204)
  t.equal((await read(t, `${url}/confirm/${id}/events?after=3`)).status, 204)
})

t.test('everything that happens from now on, or from any place', async (t) => {
  const { url, submit } = await serve(t)
  await submit()
  const now = await read(t, `${url}/events`)
  const all = await read(t, `${url}/events?after=0`)
  const some = await read(t, `${url}/events?after=0`, { 'last-event-id': '1' })
  await submit()
  await until(() => all.events().length === 4 && now.events().length === 2 && some.events().length === 3)
  t.same(ids(now), [3, 4])
  t.same(ids(all), [1, 2, 3, 4])
  t.same(ids(some), [2, 3, 4], 'the header wins')
  t.match(now.text(), /^retry: 1000\nid: 2\n\n/)
  t.match(all.text(), /^retry: 1000\n\n/)
})

t.test('filters narrow it down, and what they leave out is not waited for twice', async (t) => {
  const { url, submit, call } = await serve(t)
  const ask = (query: string) => read(t, `${url}/events?after=0&${query}`)
  const streams = {
    'type=approved,denied': await ask('type=approved,denied'),
    'action=x': await ask('action=x'),
    'session_key=s': await ask('session_key=s'),
    'requester=bot': await ask('requester=bot'),
    'actor=alice': await ask('actor=alice'),
    'channel=log': await ask('channel=log'),
    'confirmation_id=id-0002': await ask('confirmation_id=id-0002'),
  }
  await submit({ action: 'x', requester: 'bot' })
  await submit({ action: 'y', session_key: 's' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  await call('POST', '/confirm/id-0002/deny')
  await call('POST', '/confirm/id-0001/claim')
  const expected = {
    'type=approved,denied': [5, 6],
    'action=x': [1, 2, 5, 7],
    'session_key=s': [3, 4, 6],
    'requester=bot': [1, 2, 5, 7],
    'actor=alice': [5],
    'channel=log': [2, 4],
    'confirmation_id=id-0002': [3, 4, 6],
  }
  const found = () => Object.fromEntries(Object.entries(streams).map(([query, stream]) => [query, ids(stream)]))
  await until(() => JSON.stringify(found()) === JSON.stringify(expected))
  t.same(found(), expected)
  t.notOk(streams['confirmation_id=id-0002'].isOver(), 'this one goes on after the end')
})

t.test('a stream since a time tells what happened from then on, and goes on', async (t) => {
  const { url, submit, call, clock } = await serve(t)
  await submit()
  await clock.advance(10_000)
  await submit()
  const stream = await read(t, `${url}/events?since=2026-01-01T00:00:10Z`)
  const resumed = await read(t, `${url}/events?since=2026-01-01T00:00:10Z`, { 'last-event-id': '3' })
  await until(() => ids(stream).length === 2)
  await call('POST', '/confirm/id-0001/approve')
  await until(() => ids(stream).length === 3 && ids(resumed).length === 2)
  t.same(ids(stream), [3, 4, 5])
  t.same(ids(resumed), [4, 5])
})

t.test('the same filters read the history page by page', async (t) => {
  const { call, submit } = await build(t)
  for (const action of ['x', 'y', 'x']) await submit({ action })
  const page = async (query: string) => (await call('GET', `/audit/events?${query}`)).body
  t.match(await page('action=x&type=submitted'), {
    count: 2,
    events: [{ seq: 1 }, { seq: 5 }],
    next_after: 6,
    more: false,
  })
  t.match(await page('action=x&type=submitted&limit=1'), { count: 1, next_after: 1, more: true })
  t.match(await page('confirmation_id=id-0002'), { events: [{ seq: 3 }, { seq: 4 }] })
})

t.test('bad places and filters are refused with a sentence', async (t) => {
  const { call, submit } = await build(t)
  const { id } = (await submit()).body
  const refusals: [url: string, headers: Record<string, string>, code: string][] = [
    ['/events', { 'last-event-id': 'x' }, 'invalid_request'],
    ['/events', { 'last-event-id': '-1' }, 'invalid_request'],
    ['/events', { 'last-event-id': '1'.repeat(16) }, 'invalid_request'],
    ['/events', { 'last-event-id': '3' }, 'invalid_cursor'],
    ['/events?after=3', {}, 'invalid_cursor'],
    ['/events?after=', {}, 'invalid_request'],
    ['/events?type=birthday', {}, 'invalid_request'],
    ['/events?type=', {}, 'invalid_request'],
    ['/events?since=then', {}, 'invalid_request'],
    ['/events?until=1', {}, 'unknown_parameter'],
    ['/events?action=a&action=b', {}, 'invalid_request'],
    [`/confirm/${id}/events`, { 'last-event-id': '999' }, 'invalid_cursor'],
    [`/confirm/${id}/events`, { 'last-event-id': '1, 2' }, 'invalid_request'],
  ]
  for (const [url, headers, code] of refusals) {
    t.match(
      await call('GET', url, undefined, headers),
      { status: 400, body: { code } },
      `${url} ${headers['last-event-id']}`,
    )
  }
  t.equal((await call('GET', `/confirm/${id}/events?after=2`, undefined, { 'last-event-id': 'x' })).status, 400)
  t.match(await call('GET', '/confirm/nope/events'), { status: 404, body: { code: 'not_found' } })
  t.match(await call('POST', '/events', {}), { status: 405 })
})

t.test('when nothing happens, a comment keeps it open', async (t) => {
  const { url, submit, clock, service } = await serve(t)
  const { id } = (await submit()).body
  const streams = [await read(t, `${url}/events`), await read(t, `${url}/confirm/${id}/events`)]
  await until(
    () => service.countListeners().all + service.countListeners().one === 2 && streams[1]!.events().length === 2,
  )
  for (let times = 1; times <= 3; times++) {
    await clock.advance(15_000)
    for (const stream of streams) await until(() => stream.text().split(': still here\n\n').length === times + 1)
  }
  await submit()
  await until(() => streams[0]!.events().length === 2)
})

t.test('news that a filter leaves out does not keep the comments away', async (t) => {
  const { url, submit, clock, service } = await serve(t)
  const stream = await read(t, `${url}/events?type=revoked`)
  await until(() => service.countListeners().all === 1)
  for (let second = 0; second < 32; second += 8) {
    await clock.advance(8000)
    await submit({ action: `a${second}` })
  }
  await until(() => stream.text().split(': still here\n\n').length === 3)
  t.same(stream.events(), [])
})

t.test("an agent's stream does not tell when somebody else was refused", async (t) => {
  const built = await serve(t)
  const { bot, eve } = await giveKeys(built, { bot: 'agent', eve: 'agent', olga: 'operator' })
  const { id } = (await bot('POST', '/confirm', { action: 'a', description: 'd' })).body
  const stream = await read(t, `${built.url}/confirm/${id}/events`, { authorization: `Bearer ${bot.key}` })
  await until(() => stream.events().length === 2)
  const before = stream.text()
  t.equal((await eve('GET', `/confirm/${id}`)).status, 404)
  await until(async () => (await built.store.events.list(0, 500, { types: ['rejected'] })).events.length === 1)
  await bot('POST', `/confirm/${id}/cancel`)
  await until(() => stream.isOver())
  const [, ...since] = stream.text().split(before)
  t.match(since.join(''), /^id: 3\nevent: cancelled\n/, 'the next it hears is its own')
})

t.test('one that has expired is followed until that is written down', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
  })
  const { url, submit, clock, call } = await serve(t, { wrapStore })
  const { id } = (await submit({ timeout_seconds: 30 })).body
  broken = true
  await clock.advance(31_000)
  t.match((await call('GET', `/confirm/${id}`)).body, { status: 'expired' })
  const streams = [
    await read(t, `${url}/confirm/${id}/events`),
    await read(t, `${url}/confirm/${id}/events`, { 'last-event-id': '2' }),
  ]
  await until(() => streams[0]!.events().length === 2)
  t.notOk(streams.some((stream) => stream.isOver()))
  broken = false
  await clock.advance(1000)
  for (const stream of streams) await until(() => stream.isOver())
  t.same(streams.map(types), [['submitted', 'notified', 'expired'], ['expired']])
})

t.test(
  'a reader that comes back with Last-Event-ID misses nothing and hears nothing twice, also after a restart',
  async (t) => {
    const dbPath = `${temporaryFolder(t)}/test.db`
    let running = await serve(t, { dbPath })
    const seen: number[] = []
    const story = async (last: string | null, happen: (built: typeof running) => Promise<unknown>) => {
      const stream = await read(t, `${running.url}/events?after=0`, last === null ? {} : { 'last-event-id': last })
      await happen(running)
      const end = await running.service.lastSeq()
      await until(() => (ids(stream).at(-1) ?? 0) === end)
      seen.push(...ids(stream))
      stream.close()
    }
    await story(null, ({ submit }) => submit())
    await running.submit()
    await running.call('POST', '/confirm/id-0001/approve')
    await story(String(seen.at(-1)), ({ call }) => call('POST', '/confirm/id-0002/deny'))
    await running.submit()
    await running.stop()
    running = await serve(t, { dbPath, clock: running.clock })
    await story(String(seen.at(-1)), ({ submit }) => submit({ action: 'after the restart' }))
    t.same(
      seen,
      Array.from({ length: seen.length }, (_, index) => index + 1),
    )
  },
)

t.test('an ordinary EventSource follows one confirmation to its end and then stays away', async (t) => {
  const { url, submit, call } = await serve(t)
  const { id } = (await submit()).body
  const source = new EventSource(`${url}/confirm/${id}/events`)
  t.teardown(() => source.close())
  const heard: [string, string][] = []
  for (const type of ['submitted', 'notified', 'approved']) {
    source.addEventListener(type, (event) => heard.push([event.lastEventId, event.type]))
  }
  await until(() => heard.length === 2)
  await call('POST', `/confirm/${id}/approve`)
  await until(() => source.readyState === EventSource.CLOSED)
  t.same(heard, [
    ['1', 'submitted'],
    ['2', 'notified'],
    ['3', 'approved'],
  ])
})

t.test('an ordinary EventSource that loses its connection goes on where it was', async (t) => {
  const { url, submit, app } = await serve(t)
  const source = new EventSource(`${url}/events?after=0`)
  t.teardown(() => source.close())
  const heard: string[] = []
  source.addEventListener('submitted', (event) => heard.push(event.lastEventId))
  await submit()
  await until(() => heard.length === 1)
  app.server.closeAllConnections()
  await submit()
  await until(() => heard.length === 2)
  await submit()
  await until(() => heard.length === 3)
  t.same(heard, ['1', '3', '5'])
})

t.test('when the service stops, streams end', async (t) => {
  const built = await build(t)
  const { url, close } = await listen(built, configFor(built.dbPath, { port: 0, webPort: 'off' }))
  const { id } = (await built.submit()).body
  const streams = [await read(t, `${url}/events`), await read(t, `${url}/confirm/${id}/events`)]
  await until(() => built.service.countListeners().all === 1 && built.service.countListeners().one === 1)
  await close(600_000)
  for (const stream of streams) await until(() => stream.isOver())
  t.pass()
})

t.test('a reader that goes away frees its place at once', async (t) => {
  const built = await serve(t)
  const { id } = (await built.submit()).body
  const streams = [await read(t, `${built.url}/events`), await read(t, `${built.url}/confirm/${id}/events`)]
  await until(() => built.service.countListeners().all === 1 && built.service.countListeners().one === 1)
  for (const stream of streams) stream.close()
  await until(() => built.service.countListeners().all === 0 && built.service.countListeners().one === 0)
  t.pass()
})

t.test('a long history is told in order without gaps', async (t) => {
  const { url, store, clock } = await serve(t)
  const event = someEvent(clock.now())
  await Promise.all(Array.from({ length: 1200 }, () => store.commit({ writes: [], events: [event] })))
  const stream = await read(t, `${url}/events?after=0`)
  await until(() => stream.events().length === 1200)
  t.same(
    ids(stream),
    Array.from({ length: 1200 }, (_, index) => index + 1),
  )
})

// -- readers that do not read ----------------------------------------------------------------------------------------

/** The streams alone, with limits that a test can reach. */
async function serveStreams(
  t: Test,
  built: Built,
  limits: Partial<typeof streamLimits>,
  shares: Partial<ShareLimits> = {},
) {
  const app = Fastify() as unknown as Api
  t.teardown(() => app.close())
  useZod(app)
  app.setErrorHandler(createErrorHandler({ error: () => {} }))
  const auth = { isStillGood: () => true } as unknown as Auth
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => void (request.caller = anyone))
  streamRoutes(app, built.service, auth, sharesFor(shares), { ...streamLimits, ...limits })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

async function fill({ store, clock }: Built, count: number): Promise<void> {
  const event = someEvent(clock.now(), null, 'x'.repeat(500_000))
  for (let i = 0; i < count; i++) await store.commit({ writes: [], events: [event] })
}

function ignore(t: Test, port: number, path: string) {
  const socket = connect(port, '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

t.test('a reader that takes nothing is dropped, while one that reads goes on', async (t) => {
  const built = await build(t)
  const port = await serveStreams(t, built, { stallMs: 100 })
  await fill(built, 30)
  ignore(t, port, '/events?after=0')
  const reader = await read(t, `http://127.0.0.1:${port}/events?after=0`)
  await until(() => built.service.countListeners().all === 2)
  await until(() => built.service.countListeners().all === 1)
  await until(() => reader.text().length > 30 * 500_000)
  await built.submit()
  await until(() => reader.text().endsWith('}\n\n') && /\nid: 32\n/.test(reader.text().slice(-2000)))
  t.same(
    ids(reader),
    Array.from({ length: 32 }, (_, index) => index + 1),
  )
})

t.test('all that is under way together is bounded', async (t) => {
  const built = await build(t)
  const port = await serveStreams(t, built, { stallMs: 600_000 }, { answers: { total: 1_200_000, each: 1 } })
  await fill(built, 30)
  const sockets = Array.from({ length: 6 }, () => ignore(t, port, '/events?after=0'))
  // Each holds one event of half a megabyte: two fit, the others are dropped.
  await until(() => built.service.countListeners().all === 2)
  for (const socket of sockets) socket.destroy()
  await until(() => built.service.countListeners().all === 0)
  t.pass()
})

t.test('when large answers have taken all the room, streams of small events go on', async (t) => {
  const built = await build(t)
  const port = await serveStreams(t, built, { stallMs: 600_000 }, { answers: { total: 500_400, each: 1 } })
  await fill(built, 30)
  ignore(t, port, '/events?after=0')
  const reader = await read(t, `http://127.0.0.1:${port}/events`)
  await until(() => built.service.countListeners().all === 2)
  await built.submit()
  await until(() => reader.events().length === 2)
  t.notOk(reader.isOver())
})

t.test('a stream of one confirmation needs a place among all that are held', async (t) => {
  const limits = { waits: { total: 2, each: 1 }, streams: { total: 1, each: 1 } }
  const { url, submit } = await serve(t, { shareLimits: limits })
  const { id } = (await submit()).body
  const paths = [`/confirm/${id}/events`, `/events?confirmation_id=${id}`]
  for (const path of ['/events', ...paths]) t.equal((await read(t, `${url}${path}`)).status, 200, path)
  for (const path of paths) {
    const refused = await request(`${url}${path}`)
    t.equal(refused.statusCode, 429, path)
    t.equal(refused.headers['retry-after'], '5')
    t.match(await refused.body.json(), { code: 'flood_limited', share: 'waits', error: /^As many requests are held/ })
  }
})

t.test('there is a most of streams of everything, and a place that is freed is free', async (t) => {
  const built = await build(t)
  const port = await serveStreams(t, built, {}, { streams: { total: 2, each: 1 } })
  const open = [1, 2].map(() => ignore(t, port, '/events'))
  await until(() => built.service.countListeners().all === 2)
  const refused = await request(`http://127.0.0.1:${port}/events`)
  t.equal(refused.statusCode, 429)
  t.match(await refused.body.json(), { code: 'flood_limited', share: 'streams', error: /as there may be/ })
  const gone = once(open[0]!, 'close')
  open[0]!.destroy()
  await gone
  await until(() => built.service.countListeners().all === 1)
  t.equal((await read(t, `http://127.0.0.1:${port}/events`)).status, 200)
})

t.test("an agent's stream is numbered by itself: it tells nothing of what others do", async (t) => {
  const built = await serve(t)
  const { url } = built
  const { bot, other, olga, root } = await giveKeys(built, everyone)
  await other('POST', '/confirm', { action: 'theirs', description: 'd' })
  const { id } = (await bot('POST', '/confirm', { action: 'mine', description: 'd' })).body
  // What others try on it is none of its business, and must not show as a gap.
  await root('POST', `/confirm/${id}/claim`)
  await bot('POST', `/confirm/${id}/claim`, { digest: '0'.repeat(64) })
  const as = ({ key }: CallAs) => ({ authorization: `Bearer ${key}` })
  const stream = await read(t, `${url}/confirm/${id}/events`, as(bot))
  await until(() => stream.events().length === 2)
  for (let i = 0; i < 3; i++) await other('POST', '/confirm', { action: `more${i}`, description: 'd' })
  await olga('POST', `/confirm/${id}/approve`)
  await until(stream.isOver)
  t.same(types(stream), ['submitted', 'notified', 'approved'])
  t.same(ids(stream), [1, 2, 3])
  t.same(
    stream.events().map(({ data }) => data.seq),
    [1, 2, 3],
  )

  for (const [query, header] of [
    ['', { 'last-event-id': '2' }],
    ['?after=2', {}],
  ] as [string, Record<string, string>][]) {
    const rest = await read(t, `${url}/confirm/${id}/events${query}`, { ...as(bot), ...header })
    await until(rest.isOver)
    t.same([types(rest), ids(rest)], [['approved'], [3]])
  }
  t.equal((await read(t, `${url}/confirm/${id}/events?after=3`, as(bot))).status, 204)
  t.match(await bot('GET', `/confirm/${id}/events?after=4`), {
    status: 400,
    body: { code: 'invalid_cursor', error: /There is no event 4 of this confirmation; the last one is 3\./ },
  })

  const whole = await read(t, `${url}/confirm/${id}/events`, as(olga))
  await until(whole.isOver)
  const numbers = ids(whole)
  t.ok(numbers[0]! > 1 && numbers.at(-1)! > numbers.length, 'whoever may read all keeps the numbers of the history')
  t.same(types(whole), ['submitted', 'notified', 'rejected', 'approved'])
})

t.test("an agent's stream does not tell by which id of a chat a person was told", async (t) => {
  const built = await serve(t)
  const { bot, olga } = await giveKeys(built, everyone)
  const { id } = (await bot('POST', '/confirm', { action: 'mine', description: 'd' })).body
  const subject = (await built.store.confirmations.get(id))!
  const delivery = { ...(await built.store.deliveries.of(id))[0]!, channel: 'telegram' as const, destination: '5' }
  await built.store.commit({ writes: [], events: [attempted(delivery, subject)] })
  const told = async ({ key }: CallAs) => {
    const stream = await read(t, `${built.url}/confirm/${id}/events`, { authorization: `Bearer ${key}` })
    await until(() => stream.events().length === 3)
    return stream.events()[2]!.data.data.to as string | undefined
  }
  t.equal(await told(olga), '5')
  t.equal(await told(bot), undefined)
})

const everyone = { bot: 'agent', other: 'agent', olga: 'operator', root: 'admin' } as const
