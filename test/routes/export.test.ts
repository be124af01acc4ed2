// Exports: all that the listings have, each row once, in a form that nothing in it can break; and never taken for whole when cut.
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import type { RecordedEvent } from '../../src/audit/event.js'
import { listen } from '../../src/listen.js'
import { type Api, useZod } from '../../src/routes/api.js'
import type { Auth } from '../../src/routes/auth.js'
import { createErrorHandler } from '../../src/routes/errors.js'
import { eventColumns, exportLimits, exportRoutes, recordColumns } from '../../src/routes/export.js'
import type { ShareLimits } from '../../src/routes/shares.js'
import { type EventPage, type Store, StoreUnavailable } from '../../src/store/store.js'
import {
  build,
  type Built,
  type BuildOptions,
  configFor,
  giveKeys,
  sharesFor,
  temporaryFolder,
  until,
} from '../support.js'

interface Taken {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** Whether it came to its end. */
  isWhole: boolean
  /** As the trailer has it. */
  count: string | undefined
}

function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers, agent: false }, resolve).once('error', reject).end()
  })
}

async function finish(response: IncomingMessage): Promise<Taken> {
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => (text += chunk))
  await new Promise<void>((resolve) => {
    response.once('close', resolve)
    response.on('error', () => {})
  })
  const { statusCode: status = 0, headers, complete: isWhole, trailers } = response
  return { status, headers, text, isWhole, count: trailers['export-count'] }
}

async function take(url: string, headers?: Record<string, string>, method?: string): Promise<Taken> {
  return finish(await ask(url, headers, method))
}

async function serve(t: Test, options: BuildOptions = {}): Promise<Built & { url: string }> {
  const built = await build(t, options)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...built, url: `http://127.0.0.1:${(built.app.server.address() as AddressInfo).port}` }
}

const lines = (text: string) => text.split('\n').slice(0, -1)
const objects = (text: string) => lines(text).map((line) => JSON.parse(line))

/** As RFC 4180 says it; a line break inside quotes would be found as one. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^",]*)(?:,|$)/g)]
    .slice(0, line.endsWith(',') ? undefined : -1)
    .map(([, cell]) => (cell!.startsWith('"') ? cell!.slice(1, -1).replaceAll('""', '"') : cell!))
}

const someEvent: Omit<RecordedEvent, 'seq'> = {
  type: 'rules_loaded',
  at: 0,
  actor: 'system:rules',
  via: 'system',
  confirmationId: null,
  data: JSON.stringify({ text: 'x'.repeat(200) }),
}

/** A history of so many events that nobody has to write first. */
function withHistory(count: number, hooks: { look?: (after: number) => void } = {}): (store: Store) => Store {
  const list = async (after: number, limit: number): Promise<EventPage> => {
    hooks.look?.(after)
    const upTo = Math.min(count, after + limit)
    const events = Array.from({ length: upTo - after }, (_, n) => ({ ...someEvent, seq: after + n + 1 }))
    return { events, upTo, more: upTo < count }
  }
  return (store) => ({ ...store, events: { ...store.events, list, lastSeq: async () => count } })
}

t.test('each filter has the records that the listing has, the oldest first', async (t) => {
  const { url, submit, call, clock } = await serve(t)
  await submit({ action: 'a', requester: 'bot', session_key: 's' })
  await submit({ action: 'b', requester: 'bot' })
  await clock.advance(10_000)
  await submit({ action: 'a', requester: 'other', timeout_seconds: 30 })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  await call('POST', '/confirm/id-0002/deny', { denier: 'bob', reason: 'no' })
  await clock.advance(60_000)
  const filters = [
    '',
    'status=approved,expired',
    'action=a',
    'session_key=s',
    'requester=bot',
    'resolved_by=bob',
    'voted_by=alice',
    'since=2026-01-01T00:00:10Z',
    'until=2026-01-01T00:00:10Z',
    'resolved_since=2026-01-01T00:00:20Z',
    'resolved_until=2026-01-01T00:00:20Z',
    'action=a&requester=other&status=expired',
    'status=pending',
  ]
  for (const filter of filters) {
    const { entries } = (await call('GET', `/audit?${filter}`)).body
    const taken = await take(`${url}/audit/export?${filter}`)
    t.same(objects(taken.text), entries.reverse(), filter)
    t.match(taken, { status: 200, isWhole: true, count: String(entries.length) })
  }
  const { headers } = await take(`${url}/audit/export`)
  t.match(headers, {
    'content-type': 'application/jsonl',
    'content-disposition': 'attachment; filename="holdpoint-audit-20260101T000110Z.jsonl"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
})

t.test('each filter has the events that the history has', async (t) => {
  const { url, submit, call } = await serve(t)
  await submit({ action: 'a', session_key: 's' })
  await submit({ action: 'b', requester: 'bot' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  const filters = [
    '',
    'type=approved,submitted',
    'confirmation_id=id-0002',
    'actor=alice',
    'channel=log',
    'action=a',
    'requester=bot',
    'session_key=s',
    'since=2026-01-01&until=2026-01-02',
    'until=2026-01-01',
    'after=3',
  ]
  for (const filter of filters) {
    const { events } = (await call('GET', `/audit/events?${filter}`)).body
    const taken = await take(`${url}/audit/events/export?${filter}`)
    t.same(objects(taken.text), events, filter)
    t.match(taken, { isWhole: true, count: String(events.length) })
  }
  t.match((await take(`${url}/audit/events/export?format=csv`)).headers, {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="holdpoint-events-20260101T000000Z.csv"',
  })
})

t.test('as CSV a record is one row that has all of it, with the times that people read', async (t) => {
  const { url, submit, call } = await serve(t)
  await submit({ details: { list: 'news', count: 1200 }, on_behalf_of: 'carol' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice', reason: 'fine' })
  const record = objects((await take(`${url}/audit/export`)).text)[0]
  const { text, count } = await take(`${url}/audit/export?format=csv`)
  t.equal(count, '1')
  t.ok(text.startsWith('\ufeffid,created_at_iso,'), 'what tells Excel that it is UTF-8')
  const [head, row, ...rest] = text.slice(1).split('\r\n')
  t.same(rest, [''])
  const names = cellsOf(head!)
  t.same(names, [...recordColumns, 'cut'])
  const twins = Object.keys(record).filter((name) => `${name}_iso` in record)
  t.same([...names, ...twins].sort(), ['cut', ...Object.keys(record)].sort(), 'a time is in it once')
  const cells = Object.fromEntries(cellsOf(row!).map((cell, n) => [names[n]!, cell]))
  for (const [name, value] of Object.entries<string | number | boolean | object | null>(record)) {
    if (twins.includes(name)) continue
    const shown = value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
    t.equal(cells[name], shown, name)
  }
  const event = objects((await take(`${url}/audit/events/export`)).text)[0]
  const times = ['time', 'time_iso']
  t.same(
    [...eventColumns].sort(),
    Object.keys(event)
      .filter((name) => name !== times[0])
      .sort(),
  )
})

t.test(
  'whatever an agent writes, a record stays one row of so many cells, and none of them is a formula',
  async (t) => {
    const { url, submit, call } = await serve(t, { config: { rateLimit: 1000 } })
    const nasty = [
      '=1+1',
      '+1',
      '-1',
      '@x',
      '\t=1',
      '\r\n=1',
      ' =1',
      '"=1',
      '","=1',
      'a;=1',
      '\uff1d1',
      '\u202e=1\u200b',
    ]
    for (const text of nasty) {
      const said = { description: `${text} `, requester: `r${text}`, session_key: `${text}` }
      const answer = await submit({ action: text, details: { [text]: text, list: [text] }, ...said })
      t.equal(answer.status, 202)
      await call('POST', `/confirm/${answer.body.id}/approve`, { approver: text.trim(), reason: text })
    }
    for (const path of ['/audit/export', '/audit/events/export']) {
      const whole = objects((await take(`${url}${path}`)).text)
      const { text } = await take(`${url}${path}?format=csv`)
      t.notMatch(text.slice(1).replaceAll('\r\n', ''), /[\0-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/u)
      const rows = text.slice(1).split('\r\n').slice(0, -1)
      t.equal(rows.length, whole.length + 1)
      const names = cellsOf(rows[0]!)
      for (const [n, row] of rows.slice(1).entries()) {
        const cells = cellsOf(row)
        t.equal(cells.length, names.length, row)
        t.notOk(
          cells.some((cell) => /^[\s"']*[=+\-@]/.test(cell.normalize('NFKC'))),
          row,
        )
        for (const part of row.split(';')) t.notMatch(part, /^[\s"']*[=+\-@]/)
        const json = cells[names.indexOf(path === '/audit/export' ? 'details' : 'data')]
        t.same(JSON.parse(json!), whole[n].details ?? whole[n].data)
      }
    }
  },
)

t.test('what no cell can hold is cut in CSV, which says so, and whole in JSON Lines', async (t) => {
  const { url, submit } = await serve(t)
  await submit({ description: 'x'.repeat(40_000), details: { text: '='.repeat(50_000) } })
  await submit()
  const { text } = await take(`${url}/audit/export?format=csv`)
  const [cut, plain] = text.split('\r\n').slice(1, 3).map(cellsOf)
  t.equal(cut!.at(-1), 'description details')
  t.ok(cut!.every((cell) => cell.length <= 32_767))
  t.match(cut![recordColumns.indexOf('description')], /x\\\{cut: 40000 characters in all\}$/)
  t.equal(plain!.at(-1), '')
  t.match(objects((await take(`${url}/audit/export`)).text)[0], { details: { text: '='.repeat(50_000) } })
})

t.test('whoever was cut off goes on after the last whole row, and the parts are the whole', async (t) => {
  const { url, submit } = await serve(t)
  for (const action of ['a', 'b', 'c', 'd']) await submit({ action })
  for (const [path, key] of [
    ['/audit/export', 'id'],
    ['/audit/events/export', 'seq'],
  ] as const) {
    const jsonl = (await take(`${url}${path}`)).text
    const csv = (await take(`${url}${path}?format=csv`)).text
    for (const n of [1, 3]) {
      const first = `${lines(jsonl).slice(0, n).join('\n')}\n`
      const last: string | number = objects(first).at(-1)[key]
      t.equal(first + (await take(`${url}${path}?after=${last}`)).text, jsonl)
      const table = csv
        .split('\r\n')
        .slice(0, n + 1)
        .map((row) => `${row}\r\n`)
        .join('')
      const rest = await take(`${url}${path}?format=csv&after=${last}`)
      t.equal(table + rest.text, csv, 'without a second header')
      t.match(rest.headers, { 'content-type': 'text/csv; charset=utf-8; header=absent' })
      const apart = await take(`${url}${path}?format=csv&header=true&after=${last}`)
      t.equal(apart.text, csv.split('\r\n')[0] + '\r\n' + rest.text, 'a file of its own begins as one')
    }
    const end: string | number = objects(jsonl).at(-1)[key]
    t.match(await take(`${url}${path}?after=${end}`), { text: '', isWhole: true, count: '0' })
    await submit({ action: `later ${key}` })
    const news = objects((await take(`${url}${path}?after=${end}`)).text)
    t.equal(news.length, key === 'id' ? 1 : 2, 'and for what is new')
    t.notMatch((await take(`${url}${path}?format=csv&header=false`)).text, /^\ufeff/)
  }
})

t.test('it has what there was when it began, each as it stands when it is read', async (t) => {
  const { submit, call, service } = await build(t)
  for (const action of ['a', 'b', 'c', 'd', 'e', 'f']) await submit({ action, description: 'x'.repeat(40_000) })
  const found: [string, string][] = []
  let helpings = 0
  for await (const page of service.exports.records({}, null, null)) {
    for (const { action, status } of page) found.push([action, status])
    if ((helpings += 1) === 1) {
      await call('POST', '/confirm/id-0001/deny')
      await call('POST', '/confirm/id-0006/deny')
      await submit({ action: 'new' })
    }
  }
  t.ok(helpings > 2, 'in small helpings')
  t.same(
    found,
    ['a', 'b', 'c', 'd', 'e', 'f'].map((action) => [action, action === 'f' ? 'denied' : 'pending']),
  )
  const seen: number[] = []
  const last = await service.lastSeq()
  for await (const page of service.exports.events({}, 0, null)) {
    seen.push(...page.map(({ seq }) => seq))
    await submit({ action: `more ${seen.length}` })
  }
  t.same(
    seen,
    Array.from({ length: last }, (_, n) => n + 1),
  )
})

t.test('auditors, operators and administrators may export, and agents may not; on both ports', async (t) => {
  const built = await build(t)
  const { submit } = built
  await submit()
  const { url, webUrl, close } = await listen(built, configFor(built.dbPath, { port: 0, webPort: 0 }))
  t.teardown(() => close(0))
  const keys = await giveKeys(built, { ada: 'auditor', olga: 'operator', root: 'admin', bot: 'agent' })
  for (const path of ['/audit/export', '/audit/events/export']) {
    for (const [name, { key }] of Object.entries(keys)) {
      const { status } = await take(`${url}${path}`, { authorization: `Bearer ${key}` })
      t.equal(status, name === 'bot' ? 403 : 200, `${name} ${path}`)
    }
    t.equal((await take(`${url}${path}`)).status, 401)
    const web = await take(`${webUrl}${path}?format=csv`, { authorization: `Bearer ${keys.ada.key}` })
    t.match(web, { status: 200, isWhole: true })
  }
})

t.test('what is wrong is refused with a sentence', async (t) => {
  const { call, submit } = await build(t)
  await submit()
  const refusals: [url: string, code: string, error: RegExp][] = [
    ['/audit/export?format=xml', 'invalid_request', /'format' must be 'jsonl' or 'csv'/],
    ['/audit/export?format=csv&format=csv', 'invalid_request', /format/],
    ['/audit/export?status=gone', 'invalid_request', /'status' must be/],
    ['/audit/export?since=then', 'invalid_request', /'since' must be/],
    ['/audit/export?limit=5', 'unknown_parameter', /'limit'/],
    ['/audit/export?cursor=5', 'unknown_parameter', /'cursor'/],
    ['/audit/export?after=id-0009', 'invalid_cursor', /no request with the id/],
    ['/audit/export?after=', 'invalid_cursor', /no request with the id/],
    ['/audit/export?header=true', 'invalid_request', /'header' goes with 'format=csv' alone/],
    ['/audit/export?format=csv&header=1', 'invalid_request', /'header' must be 'true' or 'false'/],
    ['/audit/events/export?after=x', 'invalid_request', /'after' must be a sequence number/],
    ['/audit/events/export?after=99', 'invalid_cursor', /There is no event 99; the last one is 2/],
    ['/audit/events/export?type=birthday', 'invalid_request', /'type' must be/],
    ['/audit/events/export?header=false', 'invalid_request', /'header' goes with/],
  ]
  for (const [url, code, error] of refusals) {
    t.match(await call('GET', url), { status: 400, body: { code, error } }, url)
  }
  t.match(await call('POST', '/audit/export', {}), { status: 405 })
})

t.test('HEAD has the headers, and looks through nothing', async (t) => {
  let looks = 0
  const { url } = await serve(t, { wrapStore: withHistory(100, { look: () => (looks += 1) }) })
  const before = looks
  const { status, headers, text } = await take(`${url}/audit/events/export?format=csv`, {}, 'HEAD')
  t.same([status, text], [200, ''])
  t.match(headers, { 'content-type': /^text\/csv/, 'content-disposition': /^attachment/ })
  t.equal(looks, before)
  t.equal((await take(`${url}/audit/events/export?format=xml`, {}, 'HEAD')).status, 400)
})

t.test('a connection is good for the next request', async (t) => {
  const { url, submit } = await serve(t)
  await submit()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const path = (method: string) => `${method} /audit/export HTTP/1.1\r\nHost: localhost\r\n`
  socket.write(`${path('GET')}\r\n${path('HEAD')}\r\n${path('GET')}Connection: close\r\n\r\n`)
  const all = await textOf(socket)
  t.equal(all.match(/HTTP\/1.1 200 OK/g)?.length, 3)
  t.equal(all.match(/export-count: 1\r\n/gi)?.length, 2)
})

t.test('of very many events all are there, and a reader who waits is read ahead for no further', async (t) => {
  const count = 150_000
  let looked = 0
  const { url } = await serve(t, { wrapStore: withHistory(count, { look: (after) => (looked = after) }) })
  looked = 0
  const response = await ask(`${url}/audit/events/export?format=csv`)
  // As much as fits into what two sockets hold; then nobody looks any further.
  let before = -1
  await until(async () => {
    const isAtRest = looked === before
    before = looked
    await new Promise((resolve) => setTimeout(resolve, 50))
    return isAtRest && looked > 0
  })
  t.ok(looked < count / 2, `looked up to event ${looked} of ${count}`)
  const seen = { lines: 0, last: '' }
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) seen.lines += 1
    seen.last = chunk.toString('latin1')
  }
  t.equal(seen.lines, count + 1)
  t.match(seen.last, new RegExp(`\r\n${count},[^\n]*\r\n$`))
  t.match(response, { complete: true, trailers: { 'export-count': String(count) } })
})

// -- what ends before its end ----------------------------------------------------------------------------------------

const long = 150_000

t.test('with a key that is revoked meanwhile it is cut off', async (t) => {
  const built = await serve(t, { wrapStore: withHistory(long) })
  const { ada, root } = await giveKeys(built, { ada: 'auditor', root: 'admin' })
  const response = await ask(`${built.url}/audit/events/export`, { authorization: `Bearer ${ada.key}` })
  t.equal((await root('DELETE', `/keys/${ada.keyId}`)).status, 200)
  const taken = await finish(response)
  t.match(taken, { isWhole: false, count: undefined })
  t.ok(lines(taken.text).length < long)
})

t.test('when the service stops it is cut off at once, and goes on after the restart', async (t) => {
  const dbPath = `${temporaryFolder(t)}/test.db`
  const built = await build(t, { dbPath, wrapStore: withHistory(long) })
  const { url, close } = await listen(built, configFor(dbPath, { port: 0, webPort: 'off' }))
  const response = await ask(`${url}/audit/events/export`)
  const [taken] = await Promise.all([finish(response), close(600_000)])
  t.match(taken, { isWhole: false, count: undefined })
  await built.stop()
  const again = await serve(t, { dbPath, wrapStore: withHistory(long) })
  const last = objects(lines(taken.text).at(-1) + '\n')[0].seq as number
  const rest = await take(`${again.url}/audit/events/export?after=${last}`)
  t.match(rest, { isWhole: true, count: String(long - last) })
})

t.test('a database that fails is a refusal at first and a cut later on', async (t) => {
  let failsAt = 0
  const look = (after: number) => {
    if (after >= failsAt) throw new StoreUnavailable('disk I/O error')
  }
  const { url } = await serve(t, { wrapStore: withHistory(long, { look }) })
  t.match(await take(`${url}/audit/events/export`), { status: 503, isWhole: true, text: /storage_unavailable/ })
  failsAt = 10_000
  const taken = await take(`${url}/audit/events/export?format=csv`)
  t.match(taken, { status: 200, isWhole: false, count: undefined })
  failsAt = long
  t.match(await take(`${url}/audit/events/export?after=${long - 5}`), { isWhole: true, count: '5' })
})

t.test('a reader of HTTP/1.0, who is told no end, gets a reset for a cut', async (t) => {
  let failsAt = Infinity
  const look = (after: number) => {
    if (after >= failsAt) throw new StoreUnavailable('disk I/O error')
  }
  const { url, app } = await serve(t, { wrapStore: withHistory(1000, { look }) })
  let resets = 0
  app.server.on('connection', (socket: Socket) => {
    const reset = socket.resetAndDestroy.bind(socket)
    socket.resetAndDestroy = () => ((resets += 1), reset())
  })
  const read = async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('GET /audit/events/export HTTP/1.0\r\n\r\n')
    return textOf(socket).catch(() => 'reset')
  }
  const [head, body] = (await read()).split('\r\n\r\n')
  t.notMatch(head, /transfer-encoding|trailer/i)
  t.equal(objects(body!).length, 1000)
  t.equal(resets, 0)
  failsAt = 500
  await read()
  t.equal(resets, 1)
})

/** The exports alone, with limits that a test can reach. */
async function serveExports(
  t: Test,
  { service }: Built,
  limits: Partial<typeof exportLimits>,
  shares: Partial<ShareLimits> = {},
): Promise<string> {
  const app = Fastify() as unknown as Api
  t.teardown(() => app.close())
  useZod(app)
  app.setErrorHandler(createErrorHandler({ error: () => {} }))
  const auth = { isStillGood: () => true } as unknown as Auth
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => void (request.caller = anyone))
  exportRoutes(app, service, auth, sharesFor(shares), { ...exportLimits, ...limits })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

function ignore(t: Test, url: string, path: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

t.test('a reader that takes nothing is dropped, and its place is free', async (t) => {
  const built = await build(t, { wrapStore: withHistory(long) })
  const url = await serveExports(t, built, { patienceMs: 100 }, { exports: { total: 1, each: 1 } })
  ignore(t, url, '/audit/events/export')
  await until(async () => (await take(`${url}/audit/export`)).status === 429)
  await until(async () => (await take(`${url}/audit/export`)).status === 200)
  t.pass()
})

t.test('there is a most of exports, and one that is given up frees its place', async (t) => {
  const built = await build(t, { wrapStore: withHistory(long) })
  const url = await serveExports(t, built, {}, { exports: { total: 2, each: 1 } })
  const open = [1, 2].map(() => ignore(t, url, '/audit/events/export'))
  await until(async () => (await take(`${url}/audit/export`)).status === 429)
  const refused = await take(`${url}/audit/export`)
  t.match(JSON.parse(refused.text), { code: 'flood_limited', share: 'exports', error: /as there may be/ })
  t.match(refused.headers, { 'retry-after': '5' })
  open[0]!.destroy()
  await until(async () => (await take(`${url}/audit/export`)).status === 200)
  t.pass()
})

t.test(
  'while nothing is found yet its reader knows that it began, and for one who has gone nothing is looked for',
  async (t) => {
    let looked = 0
    const wrapStore = (store: Store): Store => {
      const list = async (after: number): Promise<EventPage> => ({ events: [], upTo: (looked = after + 1), more: true })
      return { ...store, events: { ...store.events, list, lastSeq: async () => Number.MAX_SAFE_INTEGER } }
    }
    const { url } = await serve(t, { wrapStore })
    const response = await ask(`${url}/audit/events/export`)
    t.match(response, { statusCode: 200, headers: { 'content-type': 'application/jsonl' } })
    response.destroy()
    let before = -1
    await until(async () => {
      const isAtRest = looked === before
      before = looked
      await new Promise((resolve) => setTimeout(resolve, 50))
      return isAtRest
    })
    t.pass()
  },
)

t.test('what is under way counts among all that is not yet read', async (t) => {
  const built = await build(t, { wrapStore: withHistory(long) })
  const url = await serveExports(t, built, {}, { answers: { total: 1000, each: 1000 } })
  t.match(await take(`${url}/audit/events/export`), { status: 200, isWhole: false, count: undefined, text: '' })
})

t.test('one requester has a share of the exports, and others have theirs', async (t) => {
  const shareLimits = { exports: { total: 4, each: 1 } }
  const built = await serve(t, { wrapStore: withHistory(long), shareLimits })
  const keys = await giveKeys(built, { ada: 'auditor', olga: 'operator' })
  const as = (name: 'ada' | 'olga') => ({ authorization: `Bearer ${keys[name].key}` })
  const open = await ask(`${built.url}/audit/events/export`, as('ada'))
  t.teardown(() => open.destroy())
  t.match(await take(`${built.url}/audit/export`, as('ada')), { status: 429, text: /ada has as many exports/ })
  t.equal((await take(`${built.url}/audit/export`, as('olga'))).status, 200)
})
