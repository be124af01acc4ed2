// Callbacks through the outbox: who is called when, how often, with what, and what the record says about it.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { type Change, type Store, StoreUnavailable } from '../../src/store/store.js'
import { type Built, build, type BuildOptions, counter, manualClock, settled, t0, until } from '../support.js'
import { deliveries, states, untilStates, written } from './chats.js'
import { startTelegram } from './fake-telegram.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const settings = { callbackSecret: [secret], callbackAllow: ['127.0.0.1'] }
const minute = 60_000
const hour = 60 * minute

interface Call {
  method: string
  path: string
  headers: IncomingHttpHeaders
  text: string
}

type Reply = number | { status: number; headers: Record<string, string> } | 'hang'

interface Receiver {
  url: string
  calls: Call[]
  /** How the next calls are answered, one each. */
  next(...replies: Reply[]): void
  /** How all others are answered from now on; 200 unless told. */
  always(reply: Reply): void
}

async function startReceiver(t: Test): Promise<Receiver> {
  const calls: Call[] = []
  const scripted: Reply[] = []
  let standing: Reply = 200
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      calls.push({ method: method!, path: url!, headers, text: Buffer.concat(chunks).toString() })
      const reply = scripted.shift() ?? standing
      if (reply === 'hang') return
      if (typeof reply === 'number') response.writeHead(reply).end()
      else response.writeHead(reply.status, reply.headers).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/1?a=b`,
    calls,
    next: (...replies) => void scripted.push(...replies),
    always: (reply) => void (standing = reply),
  }
}

interface Called extends Built {
  receiver: Receiver
}

/** An app that may call back a receiver on loopback. */
async function withReceiver(t: Test, options: BuildOptions = {}): Promise<Called> {
  const receiver = await startReceiver(t)
  return { receiver, ...(await build(t, { ...options, config: { ...settings, ...options.config } })) }
}

const restart = (t: Test, { dbPath, clock }: Built, config: BuildOptions['config'] = settings) =>
  build(t, { dbPath, clock, newId: counter('late'), config })

const approve = ({ call }: Built, id = 'id-0001') => call('POST', `/confirm/${id}/approve`)
const callback = async (built: Built, id?: string) => (await deliveries(built, id)).callback
const untilCallback = async (built: Built, status: string, attempts: number, id?: string) => {
  await until(async () => {
    const found = await callback(built, id)
    return found?.status === status && found.attempts === attempts
  })
  await written(built)
}
const aboutCallback = async ({ events }: Built) => (await events()).filter(({ channel }) => channel === 'callback')
const idOf = ({ headers }: Call) => headers['webhook-id']

// -- what is sent ----------------------------------------------------------------------------------------------------------

const ends: [status: string, end: (built: Built) => Promise<unknown>][] = [
  ['approved', (built) => built.call('POST', '/confirm/id-0001/approve', { approver: 'alice', reason: 'fine' })],
  ['denied', (built) => built.call('POST', '/confirm/id-0001/deny', { denier: 'bob', reason: 'naïve ✓\n"x"' })],
  ['cancelled', (built) => built.call('POST', '/confirm/id-0001/cancel')],
  ['expired', (built) => built.clock.advance(30_000)],
]
t.test('however it ends, the record is posted once, and a receiver that knows the secret accepts it', async (t) => {
  for (const [status, end] of ends) {
    const built = await withReceiver(t, { clock: manualClock(Date.now()) })
    const { receiver, call, clock } = built
    const details = { 'ключ "x"': [1.5, null, '\u2028'] }
    await built.submit({ callback_url: receiver.url, timeout_seconds: 30, details, requester: 'deploy-bot' })
    await settled()
    t.equal(receiver.calls.length, 0, 'not while it is pending')
    t.same(Object.keys(await states(built)), ['log'])
    await end(built)
    await untilCallback(built, 'sent', 1)
    const [{ method, path, headers, text }] = receiver.calls as [Call]
    t.equal(method, 'POST')
    t.equal(path, '/hooks/1?a=b')
    t.match(headers, { 'content-type': 'application/json', 'webhook-id': 'msg_id-0001' })
    const body: any = new Webhook(secret).verify(text, headers as Record<string, string>)
    const { deliveries: told, deciding: _deciding, ...record } = (await call('GET', '/confirm/id-0001')).body
    const { type, timestamp, ...sent } = body
    t.same(sent, record)
    t.equal(type, `confirmation.${status}`)
    t.equal(timestamp, record.resolved_at_iso)
    t.match(sent, { status, details, callback_url: receiver.url, digest: /^[0-9a-f]{64}$/ })
    t.match(told, [{ channel: 'callback', status: 'sent', attempts: 1, next_attempt_at: null, error: null }, {}])
    await clock.advance(100 * hour)
    t.equal(receiver.calls.length, 1, 'once')
  }
})

t.test('what a grant lets pass is posted too', async (t) => {
  const built = await withReceiver(t)
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const { status, body } = await built.submit({ callback_url: built.receiver.url })
  t.equal(status, 200)
  await untilCallback(built, 'sent', 1, body.id)
  t.match(JSON.parse(built.receiver.calls[0]!.text), {
    id: body.id,
    type: 'confirmation.auto_approved',
    status: 'auto_approved',
    execution: 'unclaimed',
  })
  await built.clock.advance(100 * hour)
  t.equal(built.receiver.calls.length, 1)
})

t.test('many at once are each called back once', async (t) => {
  const built = await withReceiver(t, { config: { rateLimit: 100 } })
  const { receiver, call } = built
  await call('POST', '/whitelist', { action: 'ping' })
  const items = Array.from({ length: 20 }, (_, n) => ({
    action: n % 2 === 0 ? 'ping' : 'send_mail',
    description: 'x',
    callback_url: receiver.url,
  }))
  const { results } = (await call('POST', '/confirm/batch', { items })).body
  const held = results.filter((one: any) => one.status_code === 202).map((one: any) => one.body.id)
  await call('POST', '/decisions', { decisions: held.map((id: string) => ({ id, verdict: 'deny' })) })
  for (const { body } of results) await untilCallback(built, 'sent', 1, body.id)
  t.equal(receiver.calls.length, 20)
  t.equal(new Set(receiver.calls.map(idOf)).size, 20)
})

t.test('without a callback_url nobody is called', async (t) => {
  const built = await withReceiver(t)
  await built.submit()
  await approve(built)
  await settled()
  t.same(await states(built), { log: 'sent' })
  t.equal((await built.call('GET', '/confirm/id-0001')).body.callback_url, null)
})

t.test('of two decisions at once one is told', async (t) => {
  const built = await withReceiver(t)
  await built.submit({ callback_url: built.receiver.url })
  const verbs = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? 'approve' : 'deny'))
  await Promise.all(verbs.map((verb) => built.call('POST', `/confirm/id-0001/${verb}`)))
  await untilCallback(built, 'sent', 1)
  await built.clock.advance(hour)
  t.equal(built.receiver.calls.length, 1)
  t.equal(JSON.parse(built.receiver.calls[0]!.text).status, (await built.call('GET', '/confirm/id-0001')).body.status)
})

t.test('the delivery is visible in the record, the history, the metrics and, once given up, the log', async (t) => {
  const built = await withReceiver(t)
  const { receiver, clock, call, logged } = built
  receiver.next(500, 200, 410)
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  await untilCallback(built, 'retrying', 1)
  t.match(await callback(built), { error: '500', next_attempt_at: t0 / 1000 + 5.5, updated_at: t0 / 1000 })
  await clock.advance(5500)
  await untilCallback(built, 'sent', 2)
  t.match(await callback(built), { error: null, next_attempt_at: null })
  t.match(await aboutCallback(built), [
    {
      type: 'notify_failed',
      actor: 'system:outbox',
      confirmation_id: 'id-0001',
      data: { state: 'retrying', attempts: 1, error: '500', next_attempt_at: t0 / 1000 + 5.5 },
    },
    { type: 'notified', data: { state: 'sent', attempts: 2 } },
  ])
  const { body } = await call('GET', '/metrics')
  t.match(body, 'holdpoint_deliveries_total{channel="callback",outcome="retrying"} 1')
  t.match(body, 'holdpoint_deliveries_total{channel="callback",outcome="sent"} 1')
  const warned = () => logged.filter(({ level, via }) => level === 40 && via === 'callback')
  t.same(warned(), [])
  await built.submit({ callback_url: receiver.url })
  await approve(built, 'id-0002')
  await untilCallback(built, 'failed', 1, 'id-0002')
  t.match(warned(), [{ id: 'id-0002', msg: 'notify_failed' }])
})

// -- again and again -------------------------------------------------------------------------------------------------------

/** Standard Webhooks' schedule, which the fixed random of `build` makes a tenth longer. */
const pauses = [5000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour].map(
  (pause) => Math.ceil(pause * 1.1),
)

t.test('a receiver that fails is called again on the schedule of Standard Webhooks, and then given up', async (t) => {
  const built = await withReceiver(t)
  const { receiver, clock, call } = built
  receiver.always(500)
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  for (const [index, pause] of pauses.entries()) {
    await untilCallback(built, 'retrying', index + 1)
    t.equal((await callback(built)).next_attempt_at * 1000, clock.now() + pause)
    await clock.advance(pause - 1)
    t.equal(receiver.calls.length, index + 1, `not before ${pause / 1000} s`)
    // What is done with the approval meanwhile is not what was decided.
    if (index === 1) await call('POST', '/confirm/id-0001/claim')
    if (index === 2) await call('POST', '/confirm/id-0001/report', { outcome: 'failed', message: 'too late' })
    await clock.advance(1)
  }
  await untilCallback(built, 'failed', 10)
  t.match(await callback(built), { error: '500', next_attempt_at: null })
  await clock.advance(1000 * hour)
  t.equal(receiver.calls.length, 10)
  t.equal(new Set(receiver.calls.map(({ text }) => text)).size, 1, 'the same body every time')
  t.same(new Set(receiver.calls.map(idOf)), new Set(['msg_id-0001']), 'the same id every time')
  const times = receiver.calls.map(({ headers }) => Number(headers['webhook-timestamp']))
  t.equal(new Set(times).size, 10, 'its own time every time')
  t.equal(new Set(receiver.calls.map(({ headers }) => headers['webhook-signature'])).size, 10)
  const told = await aboutCallback(built)
  t.same(
    told.map(({ type, data }) => [type, data.state, data.attempts]),
    Array.from({ length: 10 }, (_, n) => ['notify_failed', n === 9 ? 'failed' : 'retrying', n + 1]),
  )
})

t.test('an approval that goes stale in the meantime is still told as it was given', async (t) => {
  const built = await withReceiver(t)
  const { receiver, clock, call } = built
  receiver.next(500, 500)
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  await untilCallback(built, 'retrying', 1)
  await clock.advance(5500)
  await untilCallback(built, 'retrying', 2)
  await clock.advance(20 * minute)
  await untilCallback(built, 'sent', 3)
  t.equal((await call('GET', '/confirm/id-0001')).body.execution, 'lapsed')
  t.equal(new Set(receiver.calls.map(({ text }) => text)).size, 1)
  t.match(JSON.parse(receiver.calls[2]!.text), { execution: 'unclaimed', claim_expires_at: t0 / 1000 + 900 })
})

t.test('every retry is signed anew, so that a receiver still accepts it', async (t) => {
  const clock = manualClock(Date.now() - 5500)
  const built = await withReceiver(t, { clock })
  const { receiver } = built
  receiver.next(500)
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  await untilCallback(built, 'retrying', 1)
  await clock.advance(5500)
  await untilCallback(built, 'sent', 2)
  for (const { text, headers } of receiver.calls) {
    t.match(new Webhook(secret).verify(text, headers as Record<string, string>), { id: 'id-0001' })
  }
})

t.test('a receiver that cannot be reached is called again on the same schedule', async (t) => {
  const gone = createServer()
  gone.listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const built = await build(t, { config: settings })
  await built.submit({ callback_url: `http://127.0.0.1:${port}/` })
  await approve(built)
  for (const [index, pause] of pauses.entries()) {
    await untilCallback(built, 'retrying', index + 1)
    t.equal((await callback(built)).next_attempt_at * 1000, built.clock.now() + pause)
    await built.clock.advance(pause)
  }
  await untilCallback(built, 'failed', 10)
  t.match(await callback(built), { error: /^network error \(ECONNREFUSED\)$/ })
})

t.test(
  'a receiver that says how long to wait is left alone so long, and never called sooner than planned',
  async (t) => {
    const built = await withReceiver(t, { config: { rateLimit: 100 } })
    const { receiver, clock } = built
    const due: number[] = []
    for (const [status, wish, pause] of [
      [429, '3600', 3_600_000],
      [503, '3600', 3_600_000],
      [503, new Date(t0 + 7_200_000).toUTCString(), 7_200_000],
      [429, '1', 5500],
      [503, '0', 5500],
      [429, 'soon', 5500],
      [503, '-5', 5500],
      [503, '99999999999999999999', 24 * hour],
      [500, '3600', 5500],
    ] as const) {
      receiver.next({ status, headers: { 'retry-after': wish } })
      const { id } = (await built.submit({ callback_url: receiver.url })).body
      await approve(built, id)
      await untilCallback(built, 'retrying', 1, id)
      t.equal((await callback(built, id)).next_attempt_at * 1000 - t0, pause, `${status} ${wish}`)
      due.push(pause)
    }
    for (const pause of [...new Set(due)].sort((a, b) => a - b)) {
      const before = receiver.calls.length
      await clock.advance(t0 + pause - 1 - clock.now())
      t.equal(receiver.calls.length, before)
      await clock.advance(1)
      await until(() => receiver.calls.length === before + due.filter((one) => one === pause).length)
    }
  },
)

t.test('a wish to wait does not hold up others, nor make tries without end', async (t) => {
  const built = await withReceiver(t)
  const { receiver, clock } = built
  receiver.always({ status: 429, headers: { 'retry-after': '86400' } })
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  await untilCallback(built, 'retrying', 1)
  await built.submit({ callback_url: receiver.url })
  await approve(built, 'id-0002')
  await untilCallback(built, 'retrying', 1, 'id-0002')
  for (let attempts = 2; attempts <= 10; attempts++) {
    await clock.advance(27 * hour)
    await until(() => receiver.calls.length === attempts * 2)
    await untilCallback(built, attempts === 10 ? 'failed' : 'retrying', attempts)
    await untilCallback(built, attempts === 10 ? 'failed' : 'retrying', attempts, 'id-0002')
  }
  await clock.advance(1000 * hour)
  t.equal(receiver.calls.length, 20)
})

t.test('a receiver that is gone is not called again, and others on its host are', async (t) => {
  const built = await withReceiver(t)
  const { receiver, clock } = built
  receiver.next(410)
  await built.submit({ callback_url: receiver.url })
  await approve(built)
  await untilCallback(built, 'failed', 1)
  t.match(await callback(built), { error: '410', next_attempt_at: null })
  await built.submit({ callback_url: receiver.url })
  await approve(built, 'id-0002')
  await untilCallback(built, 'sent', 1, 'id-0002')
  await clock.advance(100 * hour)
  t.equal(receiver.calls.length, 2)
})

t.test('whatever else a receiver answers is a failure, and no redirect is followed', async (t) => {
  const built = await withReceiver(t, { config: { rateLimit: 100 } })
  const elsewhere = await startReceiver(t)
  const moved = (status: number) => ({ status, headers: { location: elsewhere.url } })
  const replies: Reply[] = [400, 401, 403, 404, 405, 409, 422, 500, 502, 504, moved(301), moved(302), moved(307), 304]
  for (const [index, reply] of replies.entries()) {
    const { id } = (await built.submit({ callback_url: built.receiver.url })).body
    built.receiver.next(reply)
    await approve(built, id)
    await untilCallback(built, 'retrying', 1, id)
    t.equal((await callback(built, id)).error, String(typeof reply === 'object' ? reply.status : reply))
    t.equal(built.receiver.calls.length, index + 1)
  }
  t.equal(elsewhere.calls.length, 0)
  const { id } = (await built.submit({ callback_url: built.receiver.url })).body
  built.receiver.next(204)
  await approve(built, id)
  await untilCallback(built, 'sent', 1, id)
})

/** A port on which nothing listens any more. */
async function deadPort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('a host that is down is tried with one of many; the others wait untouched until it is back', async (t) => {
  const port = await deadPort()
  const built = await build(t, { config: settings })
  const callback_url = `http://127.0.0.1:${port}/`
  await built.submit({ callback_url })
  await approve(built)
  await untilCallback(built, 'retrying', 1)
  for (const id of ['id-0002', 'id-0003']) {
    await built.submit({ callback_url })
    await approve(built, id)
  }
  await built.clock.advance(500)
  t.match(await callback(built, 'id-0002'), { status: 'queued', attempts: 0, error: null })
  const calls: string[] = []
  const back = createServer((request, response) => {
    calls.push(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.end())
  })
  back.listen(port, '127.0.0.1')
  await once(back, 'listening')
  t.teardown(() => new Promise((resolve) => back.close(resolve)))
  await built.clock.advance(1000)
  for (const id of ['id-0002', 'id-0003']) await untilCallback(built, 'sent', 1, id)
  await built.clock.advance(4500)
  await untilCallback(built, 'sent', 2)
  t.same(calls, ['msg_id-0002', 'msg_id-0003', 'msg_id-0001'])
})

t.test('a dead host costs the history no more than its attempts, however many are to be called there', async (t) => {
  const port = await deadPort()
  const built = await build(t, { config: settings })
  await built.call('POST', '/whitelist', { action: 'ping' })
  const item = { action: 'ping', description: 'x', callback_url: `http://127.0.0.1:${port}/` }
  await built.call('POST', '/confirm/batch', { items: Array.from({ length: 100 }, () => item) })
  const failures = async () => (await built.store.events.list(0, 5000, { types: ['notify_failed'] })).events
  for (let minute = 0; minute < 30; minute++) await built.clock.advance(60_000)
  const found = await failures()
  t.ok(found.length < 100, `${found.length} events in half an hour`)
  t.ok(found.every(({ data }) => !data.includes('not tried')))
})

t.test("one path that hangs up does not use up others' attempts on the same host", async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/close') request.socket.destroy()
    else request.resume().on('end', () => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  const built = await build(t, { config: settings })
  await built.call('POST', '/whitelist', { action: 'ping' })
  const ping = (path: string) => built.submit({ action: 'ping', callback_url: `http://127.0.0.1:${port}${path}` })
  for (let i = 0; i < 5; i++) {
    const bad = (await ping('/close')).body.id
    await untilCallback(built, 'retrying', 1, bad)
    const good = (await ping('/good')).body.id
    await untilCallback(built, 'sent', 1, good)
  }
})

// -- restarts and outages --------------------------------------------------------------------------------------------------

t.test('a retry keeps its time, its id, its body and its count over a restart', async (t) => {
  const first = await withReceiver(t)
  const { receiver, clock } = first
  receiver.next(500, 500)
  await first.submit({ callback_url: receiver.url })
  await approve(first)
  await untilCallback(first, 'retrying', 1)
  await clock.advance(5500)
  await untilCallback(first, 'retrying', 2)
  await first.stop()
  const second = await restart(t, first)
  await clock.advance(5.5 * minute - 1)
  t.equal(receiver.calls.length, 2)
  await clock.advance(1)
  await untilCallback(second, 'sent', 3)
  t.equal(receiver.calls.length, 3)
  t.equal(new Set(receiver.calls.map(({ text }) => text)).size, 1)
  t.equal(new Set(receiver.calls.map(idOf)).size, 1)
})

t.test('a retry does not wait for a clock that was set back across a restart', async (t) => {
  const first = await withReceiver(t)
  const { receiver } = first
  receiver.next(500, 500)
  await first.submit({ callback_url: receiver.url })
  await approve(first)
  await untilCallback(first, 'retrying', 1)
  await first.clock.advance(5500)
  await untilCallback(first, 'retrying', 2)
  await first.stop()
  const second = await build(t, { dbPath: first.dbPath, clock: manualClock(t0 - 10 * hour), config: settings })
  const left = pauses[1]!
  t.equal((await callback(second)).next_attempt_at * 1000, second.clock.now() + left, 'as long as before')
  await second.clock.advance(left - 1)
  t.equal(receiver.calls.length, 2)
  await second.clock.advance(1)
  await untilCallback(second, 'sent', 3)
})

t.test('a call that was cut off by a stop is made again, and is no failure', async (t) => {
  const first = await withReceiver(t)
  const { receiver } = first
  receiver.next('hang')
  await first.submit({ callback_url: receiver.url })
  await approve(first)
  await until(() => receiver.calls.length === 1)
  await first.stop()
  const second = await restart(t, first)
  await untilCallback(second, 'sent', 1)
  t.equal(receiver.calls[1]!.text, receiver.calls[0]!.text)
  t.equal(idOf(receiver.calls[1]!), idOf(receiver.calls[0]!))
  t.same(
    (await aboutCallback(second)).map(({ type }) => type),
    ['notified'],
  )
})

t.test('what was sent is not sent again after a restart', async (t) => {
  const first = await withReceiver(t)
  await first.submit({ callback_url: first.receiver.url })
  await approve(first)
  await untilCallback(first, 'sent', 1)
  await first.stop()
  const second = await restart(t, first)
  await second.clock.advance(100 * hour)
  t.equal(first.receiver.calls.length, 1)
})

t.test('what lapsed while the service was down is told at its start', async (t) => {
  const first = await withReceiver(t)
  const { receiver, clock } = first
  await first.submit({ callback_url: receiver.url, timeout_seconds: 30 })
  await first.stop()
  await clock.advance(hour)
  const second = await restart(t, first)
  await untilCallback(second, 'sent', 1)
  t.match(JSON.parse(receiver.calls[0]!.text), {
    type: 'confirmation.expired',
    resolved_by: 'system:timeout',
    resolved_at: t0 / 1000 + 30,
  })
})

t.test(
  'without a secret after a restart, what waits goes on waiting, and is sent once there is one again',
  async (t) => {
    const first = await withReceiver(t)
    const { receiver } = first
    receiver.next(500)
    await first.submit({ callback_url: receiver.url })
    await first.submit({ callback_url: receiver.url })
    await approve(first)
    await untilCallback(first, 'retrying', 1)
    await first.stop()
    const second = await restart(t, first, {})
    await approve(second, 'id-0002')
    await second.clock.advance(10 * hour)
    t.match(await callback(second), { status: 'retrying', attempts: 1 })
    t.match(await callback(second, 'id-0002'), { status: 'queued', attempts: 0 })
    t.equal(receiver.calls.length, 1)
    await second.stop()
    const third = await restart(t, second)
    await untilCallback(third, 'sent', 2)
    await untilCallback(third, 'sent', 1, 'id-0002')
    t.equal(receiver.calls.length, 3)
  },
)

t.test('an address that is no longer allowed after a restart is not called', async (t) => {
  const first = await withReceiver(t)
  await first.submit({ callback_url: first.receiver.url })
  await first.stop()
  const second = await restart(t, first, { callbackSecret: [secret] })
  await approve(second)
  await untilCallback(second, 'failed', 1)
  t.match(await callback(second), { error: 'this address may not be called' })
  t.equal(first.receiver.calls.length, 0)
})

t.test('a call whose result cannot be written down is not made again for that', async (t) => {
  let broken = false
  const isResult = ({ events }: Change) => events[0].via === 'callback'
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) =>
      broken && isResult(change) ? Promise.reject(new StoreUnavailable('disk full')) : store.commit(change),
  })
  const built = await withReceiver(t, { wrapStore })
  broken = true
  await built.submit({ callback_url: built.receiver.url })
  await approve(built)
  await until(() => built.receiver.calls.length === 1)
  await built.clock.advance(5000)
  t.match(await states(built), { callback: 'queued' })
  broken = false
  await built.clock.advance(1000)
  await untilCallback(built, 'sent', 1)
  t.equal(built.receiver.calls.length, 1)
})

// -- beside the chats ------------------------------------------------------------------------------------------------------

t.test('a chat that answers late, or fails, leaves the callback alone', async (t) => {
  for (const isTaken of [true, false]) {
    const telegram = await startTelegram(t)
    const built = await withReceiver(t, { config: telegram.config })
    const { receiver, clock } = built
    let answer = (_reply?: { status: number }) => {}
    telegram.failNext(new Promise((resolve) => (answer = resolve)))
    receiver.next(500)
    await built.submit({ callback_url: receiver.url })
    await until(() => telegram.calls.length === 1)
    await approve(built)
    await untilStates(built, { telegram: 'queued', callback: 'retrying' })
    answer(isTaken ? undefined : { status: 502 })
    await untilStates(built, { telegram: isTaken ? 'sent' : 'dropped', callback: 'retrying' })
    await clock.advance(5500)
    await untilStates(built, { telegram: isTaken ? 'sent' : 'dropped', callback: 'sent' })
    t.equal(receiver.calls.length, 2)
  }
})

t.test('a callback that is sent, or fails, leaves the chat alone', async (t) => {
  for (const reply of [200, 410]) {
    const telegram = await startTelegram(t)
    const built = await withReceiver(t, { config: telegram.config })
    built.receiver.next(reply)
    await built.submit({ callback_url: built.receiver.url })
    await untilStates(built, { telegram: 'sent' })
    await approve(built)
    await untilStates(built, { telegram: 'sent', callback: reply === 200 ? 'sent' : 'failed' })
    await settled()
    t.equal(telegram.messages.length, 1)
  }
})

t.test('a receiver that never answers does not hold up those on another host, nor a chat', async (t) => {
  const telegram = await startTelegram(t)
  const [tarpit, receiver] = [await startReceiver(t), await startReceiver(t)]
  tarpit.always('hang')
  const built = await build(t, { config: { ...settings, ...telegram.config, rateLimit: 100 } })
  await built.call('POST', '/whitelist', { action: 'ping' })
  for (let i = 0; i < 40; i++) await built.submit({ action: 'ping', callback_url: tarpit.url })
  await until(() => tarpit.calls.length === 4)
  const { id } = (await built.submit({ callback_url: receiver.url })).body
  await untilStates(built, { telegram: 'sent' }, id)
  await approve(built, id)
  await untilCallback(built, 'sent', 1, id)
  await settled()
  t.equal(tarpit.calls.length, 4, 'and is not called by all at once')
})

t.test('a receiver that never answers does not hold up others with a long queue either', async (t) => {
  const [tarpit, receiver] = [await startReceiver(t), await startReceiver(t)]
  tarpit.always('hang')
  const built = await build(t, { config: settings })
  await built.call('POST', '/whitelist', { action: 'ping' })
  const items = Array.from({ length: 100 }, () => ({ action: 'ping', description: 'x', callback_url: tarpit.url }))
  for (let i = 0; i < 6; i++) await built.call('POST', '/confirm/batch', { items })
  await built.clock.advance(1)
  const { id } = (await built.submit({ action: 'ping', callback_url: receiver.url })).body
  await untilCallback(built, 'sent', 1, id)
})

// -- what may not be called ------------------------------------------------------------------------------------------------

t.test('without a secret a callback is refused at submission, with what to do', async (t) => {
  const built = await build(t, { config: { callbackAllow: ['127.0.0.1'] } })
  const { status, body } = await built.submit({ callback_url: 'https://example.com/hook' })
  t.equal(status, 400)
  t.match(body, { code: 'callback_refused', error: /^Field 'callback_url' .*CONFIRMATION_CALLBACK_SECRET is not set/ })
  t.same(await built.events(), [])
})

const inside = [
  'http://127.0.0.1/',
  'http://127.0.0.1:6000/confirm/x/approve',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://１２７.0.0.1/',
  'http://127。0。0。1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://localhost/',
  'http://LOCALHOST:8080/',
  'http://localhost./',
  'http://a.localhost/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[fe80::1]/',
  'http://[fc00::1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http:\\\\127.0.0.1\\',
  'http:127.0.0.1',
  'https://127.0.0.1/',
]
const hostile = [
  '',
  ' ',
  'x',
  '/hook',
  '//example.com/hook',
  'http://',
  'http:///',
  'https://?',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/plain,x',
  'gopher://example.com/',
  'ws://example.com/',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/',
  'blob:http://example.com/x',
  ' http://example.com/',
  'http://example.com/ ',
  'http://exa\nmple.com/',
  'http://exam\tple.com/',
  'http://example.com/\r\nX-Injected: 1',
  'http://example.com/\u0085',
  'http://user@example.com/',
  'http://user:password@example.com/',
  'http://:password@example.com/',
  'http://example.com@127.0.0.1/',
  'http://example.com:99999/',
  'http://example.com:-1/',
  'http://example.com:x/',
  'http://[::1/',
  'http://[fe80::1%25lo]/',
  'http://exa mple.com/',
  'http://%00/',
  'http://a%0ab/',
  'http://1.2.3.4.5.6.7.8.256/',
  'http://256.1.1.1/',
  `http://example.com/${'x'.repeat(2048)}`,
]
t.test('what leads inside, or is no URL to call, is refused at submission and never ends in a 5xx', async (t) => {
  const built = await build(t, {
    config: { ...settings, callbackAllow: ['127.0.0.1:1', 'hooks.internal'], rateLimit: 1 },
  })
  for (const callback_url of [...inside, ...hostile]) {
    const { status, body } = await built.submit({ callback_url })
    t.equal(status, 400, JSON.stringify(callback_url).slice(0, 60))
    t.match(body, { code: 'callback_refused', error: /^Field 'callback_url' must / })
  }
  for (const callback_url of [null, 5, true, {}, ['https://example.com/'], '\u0000', 'http://example.com/\ud800']) {
    const { status, body } = await built.submit({ callback_url })
    t.equal(status, 400, JSON.stringify(callback_url))
    t.match(body, { code: 'invalid_request', error: /^Field 'callback_url' must be/ })
  }
  t.same(await built.events(), [])
  t.equal((await built.submit({ callback_url: 'http://127.0.0.1:1/' })).status, 202, 'no slot was taken')
})

t.test('a URL that may be called comes back as it was written', async (t) => {
  const built = await build(t, { config: { ...settings, callbackAllow: ['127.0.0.1:1', 'localhost', '[::1]'] } })
  for (const callback_url of [
    'https://example.com/hook?token=a%20b&c=d#part',
    'HTTP://EXAMPLE.COM:80/../x',
    'https://пример.рф/хук',
    'http://93.184.215.14/',
    'http://[2606:2800:220:1:248:1893:25c8:1946]:8080/',
    'http://127.0.0.1:1/',
    'http://localhost:3000/',
    'http://[::1]:3000/',
    `http://example.com/${'x'.repeat(2048 - 19)}`,
  ]) {
    const { status, body } = await built.submit({ callback_url })
    t.equal(status, 202, callback_url.slice(0, 60))
    t.equal((await built.call('GET', `/confirm/${body.id}`)).body.callback_url, callback_url)
    const [event] = (await built.events()).filter((one) => one.confirmation_id === body.id)
    t.equal(event.data.callback_url, callback_url)
  }
})

t.test('whatever is asked for is held or refused, never an error', async (t) => {
  const built = await build(t, { config: { ...settings, rateLimit: 10_000 } })
  const text = fc.string({ unit: 'binary', maxLength: 30 })
  const url = fc.oneof(
    text,
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.tuple(fc.constantFrom('http://', 'https://', 'http:\\', 'http://['), text).map((parts) => parts.join('')),
    fc.tuple(fc.ipV4Extended(), text).map(([host, rest]) => `http://${host}/${rest}`),
    fc.ipV6().map((host) => `http://[${host}]/`),
  )
  await fc.assert(
    fc.asyncProperty(url, async (callback_url) => {
      const { status } = await built.submit({ callback_url })
      return status === 202 || status === 400
    }),
    { numRuns: 200 },
  )
})
