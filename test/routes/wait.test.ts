// Waiting for a decision: woken by it, never before it and never without it.
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { preferredSeconds } from '../../src/routes/wait.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { someEvent } from '../actors.js'
import { type Answer, build, type Built, type CallAs, giveKeys, until } from '../support.js'

/** A request that is under way: what it was answered with, once it was. */
function track(asked: Promise<Answer>): { answer: Promise<Answer>; isOver: () => boolean } {
  let isOver = false
  void asked.then(() => (isOver = true))
  return { answer: asked, isOver: () => isOver }
}

async function listening({ service }: Built, count: number): Promise<void> {
  await until(() => service.countListeners().one === count)
}

t.test('a preference is read as RFC 7240 writes them', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  await built.call('POST', `/confirm/${id}/deny`)
  for (const [prefer, applied] of [
    ['wait=5', 'wait=5'],
    ['respond-async, WAIT = "7"; x=y', 'wait=7'],
    ['wait=99999999999999999999', 'wait=300'],
    ['foo="a,wait=2"', undefined],
    ['foo="a\\",wait=2"', undefined],
    ['foo="a", wait=3', 'wait=3'],
    ['respond-async;foo="a,wait=1"', undefined],
    ['wait=-1', undefined],
    ['"', undefined],
  ] as const) {
    const { status, headers } = await built.call('GET', `/confirm/${id}`, undefined, { prefer })
    t.same([status, headers['preference-applied']], [200, applied], prefer)
  }
  t.equal((await built.call('GET', `/confirm/${id}?wait=9999999999999`)).status, 200)
})

t.test('a preference is looked for in a header of a usual length, each character of it once', async (t) => {
  t.equal(preferredSeconds('respond-async, wait=10'), 10)
  t.equal(preferredSeconds(`x="${'\\",'.repeat(200)}", wait=7`), 7)
  t.equal(preferredSeconds(`${'"x",'.repeat(200)} wait=7`), 7)
  t.equal(preferredSeconds(`x="wait=5, wait=6`), null, 'a quote that is left open separates nothing')
  t.equal(preferredSeconds(`wait=10${' '.repeat(1000)}`), null)
  t.equal(preferredSeconds('"'.repeat(15_000)), null)
})

t.test('whoever waits is answered by the decision', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const waiting = track(built.call('GET', `/confirm/${id}?wait=60`))
  await listening(built, 1)
  await built.clock.advance(59_999)
  t.notOk(waiting.isOver())
  await built.call('POST', `/confirm/${id}/deny`, { denier: 'bob', reason: 'no' })
  t.match(await waiting.answer, { status: 200, body: { id, status: 'denied', resolved_by: 'bob', reason: 'no' } })
  t.same(built.service.countListeners(), { one: 0, all: 0 })
})

for (const end of ['approve', 'deny', 'cancel'] as const) {
  t.test(`${end} wakes everybody who waits for that one, and nobody else`, async (t) => {
    const built = await build(t)
    const [one, other] = [(await built.submit()).body.id, (await built.submit()).body.id]
    const many = Array.from({ length: 20 }, () => built.call('GET', `/confirm/${one}?wait=60`))
    const elsewhere = track(built.call('GET', `/confirm/${other}?wait=60`))
    await listening(built, 21)
    const { status } = (await built.call('POST', `/confirm/${one}/${end}`)).body
    for (const { body } of await Promise.all(many)) t.equal(body.status, status)
    t.notOk(elsewhere.isOver())
    await built.clock.advance(60_000)
    t.match(await elsewhere.answer, { status: 200, body: { status: 'pending' } })
  })
}

t.test('when the time is over first, the record is answered as it is', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const waiting = track(built.call('GET', `/confirm/${id}?wait=10`))
  await listening(built, 1)
  await built.clock.advance(9999)
  t.notOk(waiting.isOver())
  await built.clock.advance(1)
  t.match(await waiting.answer, { status: 200, body: { status: 'pending', resolved_by: '' } })
  t.same(built.service.countListeners(), { one: 0, all: 0 })
})

t.test('expiry wakes too', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit({ timeout_seconds: 30 })).body
  const waiting = built.call('GET', `/confirm/${id}?wait=300`)
  await listening(built, 1)
  await built.clock.advance(30_000)
  t.match(await waiting, { status: 200, body: { status: 'expired', resolved_by: 'system:timeout' } })
})

t.test('expiry is answered on time even when it cannot be written down', async (t) => {
  let broken = false
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (broken ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change)),
  })
  const built = await build(t, { wrapStore })
  const { id } = (await built.submit({ timeout_seconds: 30 })).body
  const waiting = track(built.call('GET', `/confirm/${id}?wait=300`))
  await listening(built, 1)
  broken = true
  await built.clock.advance(29_999)
  t.notOk(waiting.isOver())
  await built.clock.advance(1)
  t.match(await waiting.answer, { status: 200, body: { status: 'expired' } })
})

t.test('what is resolved already, or unknown, is answered at once', async (t) => {
  const { submit, call } = await build(t)
  const { id } = (await submit()).body
  await call('POST', `/confirm/${id}/approve`)
  t.match(await call('GET', `/confirm/${id}?wait=300`), { status: 200, body: { status: 'approved' } })
  t.match(await call('GET', '/confirm/nope?wait=300'), { status: 404, body: { code: 'not_found' } })
})

t.test('nobody is held for more than 300 s, whatever they ask for', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit({ timeout_seconds: 3600 })).body
  const asked = [
    built.call('GET', `/confirm/${id}?wait=999999999`),
    built.call('GET', `/confirm/${id}`, undefined, { prefer: 'wait=999999999' }),
  ]
  await listening(built, 2)
  await built.clock.advance(300_000)
  const [byQuery, byHeader] = await Promise.all(asked)
  t.equal(byQuery!.body.status, 'pending')
  t.equal(byQuery!.headers['preference-applied'], undefined)
  t.equal(byHeader!.headers['preference-applied'], 'wait=300')
})

t.test('a wait that is no number of seconds is refused with a sentence', async (t) => {
  const { submit, call } = await build(t)
  const { id } = (await submit()).body
  for (const wait of ['soon', '-1', '', '1e3', '0x10', 'NaN', '1&wait=2', '%00']) {
    const got = await call('GET', `/confirm/${id}?wait=${wait}`)
    t.match(got, { status: 400, body: { code: 'invalid_request', error: /^Query parameter 'wait' must be/ } }, wait)
    const submitted = await call('POST', `/confirm?wait=${wait}`, { action: 'a', description: 'd' })
    t.equal(submitted.status, 400, wait)
  }
  t.match((await call('GET', '/confirm')).body, { count: 1 }, 'and nothing was submitted')
})

t.test('a preference is honoured and named; what cannot be understood is no preference', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const prefer = async (value: string, wait = '') => {
    const asked = built.call('GET', `/confirm/${id}${wait}`, undefined, { prefer: value })
    await built.clock.advance(300_000 / 100)
    return (await asked).headers['preference-applied']
  }
  t.equal(await prefer('wait=2'), 'wait=2')
  t.equal(await prefer('respond-async, WAIT = "2"; x=y'), 'wait=2')
  t.equal(await prefer('wait=0'), 'wait=0')
  for (const nonsense of ['wait', 'wait=', 'wait=soon', 'wait=-1', 'await=5', 'wait=1.5', ',,;', 'return=minimal']) {
    t.equal(await prefer(nonsense), undefined, nonsense)
  }
  t.equal(await prefer('wait=200', '?wait=1'), undefined, 'the query wins')
})

t.test('submit and wait in one call: 200 with the record once it is resolved', async (t) => {
  const built = await build(t)
  const asked = built.call('POST', '/confirm?wait=60', { action: 'send_mail', description: 'd', details: { a: 1 } })
  await listening(built, 1)
  await built.call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  const expected = {
    id: 'id-0001',
    status: 'approved',
    resolved_by: 'alice',
    details: { a: 1 },
    execution: 'unclaimed',
  }
  t.match(await asked, { status: 200, body: { ...expected, message: /go ahead/ } })
  const denied = built.call('POST', '/confirm', { action: 'x', description: 'd' }, { prefer: 'wait=60' })
  await listening(built, 1)
  await built.call('POST', '/confirm/id-0002/deny')
  t.match(await denied, { status: 200, headers: { 'preference-applied': 'wait=60' }, body: { message: /do not act/ } })
})

t.test('submit and wait in one call: 202 when the time is over first, the same as without waiting', async (t) => {
  const built = await build(t)
  const asked = built.call('POST', '/confirm?wait=5', { action: 'send_mail', description: 'd' })
  await listening(built, 1)
  await built.clock.advance(5000)
  const { status, body } = await asked
  t.equal(status, 202)
  t.match(body, { id: 'id-0001', status: 'pending', approve_url: '/confirm/id-0001/approve' })
})

t.test('a whitelisted submission does not wait', async (t) => {
  const { call, submit } = await build(t)
  await call('POST', '/whitelist', { action: 'send_mail' })
  const waited = await call('POST', '/confirm?wait=300', { action: 'send_mail', description: 'd' })
  t.match(waited, { status: 200, body: { status: 'auto_approved', message: /go ahead/ } })
  t.match((await submit()).body, { status: 'auto_approved', execution: 'unclaimed' })
})

t.test('a decision between the look and the sleep is not missed', async (t) => {
  let between = async () => {}
  const wrapStore = (store: Store): Store => ({
    ...store,
    confirmations: {
      ...store.confirmations,
      async brief(id) {
        const found = await store.confirmations.brief(id)
        const run = between
        between = async () => {}
        await run()
        return found
      },
    },
  })
  const built = await build(t, { wrapStore })
  const { id } = (await built.submit()).body
  between = async () => {
    await built.call('POST', `/confirm/${id}/approve`)
  }
  t.match(await built.call('GET', `/confirm/${id}?wait=300`), { body: { status: 'approved' } })
})

t.test('news that is no decision does not end the wait', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit({ session_key: 's' })).body
  const waiting = track(built.call('GET', `/confirm/${id}?wait=60`))
  await listening(built, 1)
  const refused = await built.call('POST', `/confirm/${id}/approve`, { remember: 'sometimes' })
  t.equal(refused.status, 400)
  const about = someEvent(built.clock.now(), id)
  await built.store.commit({ writes: [], events: [about] })
  await built.clock.advance(1000)
  t.notOk(waiting.isOver())
  await built.call('POST', `/confirm/${id}/approve`)
  t.match(await waiting.answer, { body: { status: 'approved' } })
})

t.test('when the service stops, whoever waits learns how it stands, and nobody new is held', async (t) => {
  const built = await build(t)
  const { id } = (await built.submit()).body
  const waiting = [
    built.call('GET', `/confirm/${id}?wait=300`),
    built.call('POST', '/confirm?wait=300', { action: 'b', description: 'd' }),
  ]
  await listening(built, 2)
  built.service.release()
  t.match(await Promise.all(waiting), [
    { status: 200, body: { status: 'pending' } },
    { status: 202, body: { status: 'pending' } },
  ])
  t.match(await built.call('GET', `/confirm/${id}?wait=300`), { status: 200, body: { status: 'pending' } })
})

// -- when all places are taken ---------------------------------------------------------------------------------------

const two = { waits: { total: 2, each: 1 } }

t.test('there is a most of requests that are held; whoever asks beyond it is told when to come back', async (t) => {
  const built = await build(t, { shareLimits: two })
  const { id } = (await built.submit()).body
  const waiting = [1, 2].map(() => built.call('GET', `/confirm/${id}?wait=300`))
  await until(() => built.service.countListeners().one === 2)
  for (const [url, headers] of [
    [`/confirm/${id}?wait=300`, {}],
    [`/confirm/${id}`, { prefer: 'wait=300' }],
  ] as const) {
    const { status, headers: answered, body } = await built.call('GET', url, undefined, headers)
    t.equal(status, 429)
    const refused = {
      code: 'flood_limited',
      share: 'waits',
      error: /^As many requests are held/,
      retry_after_seconds: 5,
    }
    t.match(body, refused)
    t.equal(answered['retry-after'], '5')
  }
  t.match(await built.call('GET', `/confirm/${id}`), { status: 200 }, 'who does not wait needs no place')
  t.match(await built.call('GET', `/confirm/${id}?wait=0`), { status: 200 })
  await built.call('POST', `/confirm/${id}/approve`)
  for (const answer of await Promise.all(waiting)) t.match(answer, { status: 200, body: { status: 'approved' } })
  t.match(await built.call('GET', `/confirm/${id}?wait=300`), { status: 200 }, 'and then there is room')
})

t.test('a submission that cannot be held is answered at once, as if it had not asked to wait', async (t) => {
  const built = await build(t, { shareLimits: { waits: { total: 0, each: 0 } } })
  const body = { action: 'send_mail', description: 'd' }
  t.match(await built.call('POST', '/confirm?wait=300', body), { status: 202, body: { status: 'pending' } })
  const preferred = await built.call('POST', '/confirm', body, { prefer: 'wait=300' })
  t.equal(preferred.status, 202)
  t.equal(preferred.headers['preference-applied'], undefined)
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  t.match(await built.call('POST', '/confirm?wait=300', body), { status: 200, body: { status: 'auto_approved' } })
})

t.test("one agent's waits leave room for another's, and all those of agents for people", async (t) => {
  const built = await build(t, { shareLimits: two })
  const { bot, other, ann } = await giveKeys(built, { bot: 'agent', other: 'agent', ann: 'operator' })
  const [first, second] = await Promise.all([bot, other].map(async (as) => (await submitAs(as)).id))
  const waiting = [bot('GET', `/confirm/${first}?wait=300`), other('GET', `/confirm/${second}?wait=300`)]
  await until(() => built.service.countListeners().one === 2)
  t.match(await bot('GET', `/confirm/${first}?wait=300`), {
    status: 429,
    body: { share: 'waits', error: /^As many requests of bot are held/ },
  })
  waiting.push(ann('GET', `/confirm/${first}?wait=300`))
  await until(() => built.service.countListeners().one === 3)
  for (const id of [first, second]) await ann('POST', `/confirm/${id}/deny`)
  t.same(
    (await Promise.all(waiting)).map(({ status }) => status),
    [200, 200, 200],
  )
  t.match((await ann('GET', '/metrics')).body, 'holdpoint_share_refusals_total{share="waits"} 1')
})

async function submitAs(caller: CallAs): Promise<{ id: string }> {
  return (await caller('POST', '/confirm', { action: 'a', description: 'd' })).body
}

// -- on real sockets -------------------------------------------------------------------------------------------------

async function open(t: Test, built: Built): Promise<(request: string) => Promise<Socket>> {
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  return async (request) => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(`${request}\r\nHost: localhost\r\n\r\n`)
    return socket
  }
}

t.test('a client that goes away frees its place at once, however it goes', async (t) => {
  const built = await build(t)
  const ask = await open(t, built)
  const { id } = (await built.submit()).body
  for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
    const sockets = await Promise.all([1, 2, 3].map(() => ask(`GET /confirm/${id}?wait=300 HTTP/1.1`)))
    await listening(built, 3)
    for (const socket of sockets) socket[leave]()
    await listening(built, 0)
  }
  t.same(built.service.countListeners(), { one: 0, all: 0 })
  t.match(await built.call('POST', `/confirm/${id}/approve`), { status: 200 })
})

t.test('requests one behind the other on a connection are all freed with it', async (t) => {
  const built = await build(t)
  const ask = await open(t, built)
  const { id } = (await built.submit()).body
  const wait = `GET /confirm/${id}?wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const stream = 'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const socket = await ask(`${wait.repeat(8)}${stream.repeat(7)}GET /health HTTP/1.1`)
  await until(() => built.service.countListeners().one === 8 && built.service.countListeners().all === 7)
  socket.destroy()
  await until(() => built.service.countListeners().one === 0 && built.service.countListeners().all === 0)
  t.pass()
})

t.test('a crowd that waits for a large record is answered whole, and others meanwhile', async (t) => {
  const built = await build(t)
  const ask = await open(t, built)
  const { id } = (await built.submit({ details: { text: 'x'.repeat(900_000) } })).body
  const sizes: number[] = []
  for (let i = 0; i < 300; i++) {
    const socket = await ask(`GET /confirm/${id}?wait=300 HTTP/1.1`)
    const index = sizes.push(0) - 1
    let isFine = false
    socket.on('data', (chunk) => {
      isFine ||= chunk.toString('latin1').startsWith('HTTP/1.1 200')
      if (isFine) sizes[index]! += chunk.length
    })
  }
  await listening(built, 300)
  t.equal((await built.call('POST', `/confirm/${id}/cancel`)).status, 200)
  await until(() => sizes.every((size) => size > 900_000))
  t.same(built.service.countListeners(), { one: 0, all: 0 })
})

t.test('a client that goes away after it submitted leaves its confirmation behind', async (t) => {
  const built = await build(t)
  const ask = await open(t, built)
  const body = JSON.stringify({ action: 'a', description: 'd' })
  const head = `POST /confirm?wait=300 HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  const socket = await ask(head)
  socket.write(body)
  await listening(built, 1)
  socket.destroy()
  await listening(built, 0)
  t.match((await built.call('GET', '/confirm/id-0001')).body, { status: 'pending' })
})
