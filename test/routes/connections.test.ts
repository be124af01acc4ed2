// Connections on real sockets: one requester leaves room for the others, and whoever comes finds a place.
import { once } from 'node:events'
import { request as httpCall } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { limitConnections, listen, listenLocally } from '../../src/listen.js'
import { writeFileSync } from 'node:fs'
import { locally } from '../actors.js'
import { build, type BuildOptions, type CallAs, configFor, giveKeys, temporaryFolder, until } from '../support.js'

const roles = { bot: 'agent', other: 'agent', third: 'agent', root: 'admin' } as const

interface Wire {
  socket: Socket
  /** All that came. */
  text(): string
  isClosed(): boolean
  send(text: string): void
}

async function serve(t: Test, connections: { total: number; each: number }, options: BuildOptions = {}) {
  const built = await build(t, { ...options, shareLimits: { connections } })
  const listening = await listen(built, configFor(built.dbPath, { port: 0, webPort: 0 }))
  t.teardown(() => listening.close(0))
  const ports = [listening.url, listening.webUrl!].map((url) => Number(new URL(url).port))

  async function dial(port = ports[0]!): Promise<Wire> {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    let text = ''
    let isClosed = false
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('close', () => (isClosed = true))
    const { count } = built.connections
    const before = count()
    await once(socket, 'connect')
    // Accepted, too, unless it took another's place or was refused.
    if (before < connections.total) await until(() => count() > before || isClosed)
    return { socket, text: () => text, isClosed: () => isClosed, send: (some) => void socket.write(some) }
  }

  return { ...built, ports, dial, listening }
}

const get = (path: string, as?: CallAs) =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${as === undefined ? '' : `Authorization: Bearer ${as.key}\r\n`}\r\n`

async function answered(wire: Wire, times = 1): Promise<string> {
  await until(() => wire.text().split('HTTP/1.1 ').length > times)
  return wire.text().slice(wire.text().lastIndexOf('HTTP/1.1 '), wire.text().lastIndexOf('HTTP/1.1 ') + 12)
}

t.test('a requester who has more connections than its share is refused on the next, and others are not', async (t) => {
  const built = await serve(t, { total: 8, each: 2 })
  const { bot, other, root } = await giveKeys(built, roles)
  const wires: Wire[] = []
  for (const as of [bot, bot, other, bot]) {
    const wire = await built.dial()
    wire.send(get('/confirm', as))
    wires.push(wire)
    await answered(wire)
  }
  const last = wires.pop()!
  await until(last.isClosed)
  for (const wire of wires) t.match(wire.text(), /^HTTP\/1\.1 200 /)
  t.match(last.text(), /^HTTP\/1\.1 429 .*\r\nretry-after: 5\r\n/is)
  t.match(JSON.parse(last.text().split('\r\n\r\n')[1]!), {
    code: 'flood_limited',
    share: 'connections',
    retry_after_seconds: 5,
    error: /^As many connections of bot are open as their share is; try again in 5 s\./,
  })
  t.notOk(wires.some(({ isClosed }) => isClosed()))
  wires[0]!.socket.destroy()
  await until(() => built.connections.count() === 2)
  const again = await built.dial()
  again.send(get('/confirm', bot))
  t.equal(await answered(again), 'HTTP/1.1 200', 'a place that is given back is free')
  const { body } = await root('GET', '/metrics')
  t.match(body, 'holdpoint_share_refusals_total{share="connections"} 1')
  t.match(body, 'holdpoint_share_taken{share="connections"} 3')
})

t.test('a connection is whose key was last shown on it', async (t) => {
  const built = await serve(t, { total: 8, each: 1 })
  const { bot, other } = await giveKeys(built, roles)
  const shared = await built.dial()
  shared.send(get('/confirm', bot))
  await answered(shared)
  shared.send(get('/health'))
  await answered(shared, 2)
  const second = await built.dial()
  second.send(get('/confirm', bot))
  t.equal(await answered(second), 'HTTP/1.1 429', 'asking without a key gives no connection away')
  shared.send(get('/confirm', other))
  t.equal(await answered(shared, 3), 'HTTP/1.1 200')
  const third = await built.dial()
  third.send(get('/confirm', bot))
  t.equal(await answered(third), 'HTTP/1.1 200')
})

t.test(
  'who comes when all places are taken gets that of the connection that was idle longest, on both ports',
  async (t) => {
    const { ports, dial, connections } = await serve(t, { total: 3, each: 1 })
    const [api, web] = ports
    const first = await dial(api)
    const slow = await dial(web)
    slow.send('GET /health HTTP/1.1\r\nHos')
    const third = await dial(api)
    const fourth = await dial(web)
    await until(first.isClosed)
    fourth.send(get('/health'))
    t.equal(await answered(fourth), 'HTTP/1.1 200')
    const fifth = await dial(api)
    await until(slow.isClosed)
    fifth.send(get('/health'))
    t.equal(await answered(fifth), 'HTTP/1.1 200')
    t.notOk(third.isClosed() || fourth.isClosed())
    t.equal(connections.count(), 3)
  },
)

t.test("nobody's connections make room first, then those of whoever has the most", async (t) => {
  const built = await serve(t, { total: 4, each: 3 })
  const { bot, other } = await giveKeys(built, roles)
  const known: Wire[] = []
  for (const as of [other, bot, bot]) {
    const wire = await built.dial()
    wire.send(get('/confirm', as))
    await answered(wire)
    known.push(wire)
  }
  const [others, bots, botsToo] = known
  const silent = await built.dial()
  const more = await built.dial()
  await until(silent.isClosed)
  more.send(get('/confirm', bot))
  await answered(more)
  await built.dial()
  await until(bots!.isClosed)
  t.notOk(others!.isClosed() || botsToo!.isClosed() || more.isClosed())
})

t.test('what is under way is never cut off: who comes then is told, and finds room when it is over', async (t) => {
  const built = await serve(t, { total: 2, each: 1 })
  const { id } = (await built.submit()).body
  const waiting = [await built.dial(), await built.dial()]
  for (const wire of waiting) wire.send(get(`/confirm/${id}?wait=300`))
  await until(() => built.service.countListeners().one === 2)
  const refused = await built.dial()
  refused.send(get('/health'))
  await until(refused.isClosed)
  t.match(refused.text(), /^HTTP\/1\.1 429 .*\r\nretry-after: 5\r\n/is)
  t.match(JSON.parse(refused.text().split('\r\n\r\n')[1]!), {
    code: 'flood_limited',
    share: 'connections',
    error: /^As many connections are open as there may be, and none is idle; try again in 5 s\./,
  })
  await built.call('POST', `/confirm/${id}/approve`)
  for (const wire of waiting) t.equal(await answered(wire), 'HTTP/1.1 200')
  const later = await built.dial()
  later.send(get('/health'))
  t.equal(await answered(later), 'HTTP/1.1 200')
})

t.test('who does not take the answers makes room as if idle', async (t) => {
  const served: Socket[] = []
  const prepare: BuildOptions['prepare'] = (app) => app.server.on('connection', (socket) => served.push(socket))
  const built = await serve(t, { total: 2, each: 1 }, { prepare })
  const { id } = (await built.submit()).body
  const deaf = await built.dial()
  deaf.socket.pause()
  // Until more is written than the kernel takes for a client that does not read.
  await until(() => {
    deaf.send(get('/openapi.yaml'))
    return served[0]!.writableLength > 0
  })
  // Behind it, and never to be answered.
  deaf.send(get('/health'))
  const waiting = await built.dial()
  waiting.send(get(`/confirm/${id}?wait=300`))
  await until(() => built.service.countListeners().one === 1)
  const next = await built.dial()
  next.send(get('/health'))
  t.equal(await answered(next), 'HTTP/1.1 200')
  t.ok(served[0]!.destroyed)
  t.notOk(waiting.isClosed())
  t.equal(built.connections.count(), 2)
})

t.test(
  'requests that come without a key and never end leave room for those with one, and for supervisors',
  async (t) => {
    const built = await serve(t, { total: 8, each: 2 })
    const { bot, root } = await giveKeys(built, roles)
    const form = 'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n'
    const unfinished = [await built.dial(), await built.dial()]
    for (const wire of unfinished) wire.send(`${form}Content-Length: 10\r\n\r\nkey=`)
    const third = await built.dial()
    third.send(`${form}Content-Length: 10\r\n\r\nkey=`)
    t.equal(await answered(third), 'HTTP/1.1 429')
    t.match(third.text(), 'As many connections without a key are open as their share is')
    await until(third.isClosed)
    const looking = await built.dial()
    looking.send(get('/login'))
    t.equal(await answered(looking), 'HTTP/1.1 200', 'what has no body is answered')
    looking.socket.destroy()
    const { body } = await bot('POST', '/confirm', { action: 'a', description: 'd' })
    const confirmation = (await built.store.confirmations.get(body.id))!
    const recipient = { kind: 'chat', channel: 'telegram', id: '1' } as const
    const token = await built.service.makeLink(confirmation, recipient, 'telegram')
    const linked = await built.dial()
    linked.send(`${form.replace('/login', `/link/${token}`)}Content-Length: 4\r\n\r\nkey=`)
    t.equal(await answered(linked), 'HTTP/1.1 403', 'a link has a share of its own')
    linked.socket.destroy()
    const signIn = await built.service.signIns.makeLink(root.keyId, locally)
    if ('refused' in signIn) throw new Error(signIn.sentence)
    const signing = await built.dial()
    signing.send(`${form.replace('/login', `/signin/${signIn.token}`)}Content-Length: 4\r\n\r\nkey=`)
    t.equal(await answered(signing), 'HTTP/1.1 403', 'and so has one to sign in')
    signing.socket.destroy()
    await until(() => built.connections.count() === 2)
    for (const path of ['/health', '/confirm']) {
      const wire = await built.dial()
      wire.send(get(path, bot))
      t.equal(await answered(wire), 'HTTP/1.1 200', path)
    }
    unfinished[0]!.socket.destroy()
    await until(() => built.connections.count() === 3)
    const page = await built.dial()
    page.send(get('/login'))
    t.equal(await answered(page), 'HTTP/1.1 200')
  },
)

t.test('while it is open, one may have all there is', async (t) => {
  const { dial } = await serve(t, { total: 4, each: 1 })
  const wires = [await dial(), await dial(), await dial(), await dial()]
  for (const wire of wires) {
    wire.send(get('/confirm'))
    t.equal(await answered(wire), 'HTTP/1.1 200')
  }
})

t.test("the owner's own socket needs no place", async (t) => {
  const built = await serve(t, { total: 1, each: 1 })
  const { root } = await giveKeys(built, roles)
  const { body } = await root('POST', '/confirm', { action: 'a', description: 'd' })
  const wire = await built.dial()
  wire.send(get(`/confirm/${body.id}?wait=300`, root))
  await until(() => built.service.countListeners().one === 1)
  const socketPath = join(temporaryFolder(t), 'own.sock')
  t.teardown(await listenLocally(socketPath, built.routeLocal))
  const status = await new Promise((resolve, reject) => {
    httpCall({ socketPath, path: '/keys' }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  t.equal(status, 200)
})

t.test('a request has 30 s to arrive, and its headers 10', async (t) => {
  const { app } = await build(t)
  t.match(app.server, { requestTimeout: 30_000, headersTimeout: 10_000 })
})

t.test('more than 100 headers are refused before anything is asked, on both ports', async (t) => {
  const built = await serve(t, { total: 8, each: 8 })
  const { bot } = await giveKeys(built, roles)
  const headers = (count: number) => 'a: b\r\n'.repeat(count)
  const request = (count: number) => get('/confirm', bot).replace('Host', `${headers(count - 2)}Host`)
  for (const port of built.ports) {
    const enough = await built.dial(port)
    enough.send(request(100))
    t.equal(await answered(enough), 'HTTP/1.1 200')
    for (const count of [101, 102, 128, 2000]) {
      const tooMany = await built.dial(port)
      tooMany.send(request(count))
      t.equal(await answered(tooMany), 'HTTP/1.1 431', `${count}`)
      t.match(tooMany.text(), /"The request has more than 100 headers; send fewer\.".*"headers_too_large"/)
      await until(tooMany.isClosed)
    }
  }
})

t.test('there are no more connections than files that the process may open', async (t) => {
  const file = join(temporaryFolder(t), 'limits')
  const said = (files: string) => {
    writeFileSync(file, `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${files}    1048576   files\n`)
    return limitConnections(file)
  }
  t.same(said('1256'), { total: 1000, each: 250 })
  t.same(said('1048576'), { total: 20_000, each: 5000 })
  t.same(said('unlimited'), { total: 20_000, each: 5000 })
  t.same(said('100'), { total: 16, each: 4 })
  t.same(limitConnections(join(file, 'none')), { total: 20_000, each: 5000 })
})
