// Bodies that are being received: bytes for all and a share for each requester, in the order of arrival.
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { build, type Built, type BuildOptions, type CallAs, giveKeys, settled, until } from '../support.js'

const size = 20_000
/** Two bodies for one, four for all. */
const bodies = { total: 4 * size, each: 2 * size }
const roles = { bot: 'agent', other: 'agent', ann: 'operator', root: 'admin' } as const

/** Exactly so large. */
function submission(action: string): string {
  const empty = JSON.stringify({ action, description: 'd', details: { text: '' } })
  return JSON.stringify({ action, description: 'd', details: { text: 'x'.repeat(size - empty.length) } })
}

async function serve(t: Test, options: BuildOptions = {}) {
  const config = { rateLimit: 1000, openLimit: 0, ...options.config }
  const built = await build(t, { shareLimits: { bodies }, ...options, config })
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  const send = async (text: string): Promise<Wire> => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    let received = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
    await once(socket, 'connect')
    socket.write(text)
    return { socket, text: () => received }
  }
  return { ...built, send }
}

interface Wire {
  socket: Socket
  text(): string
}

const head = (as: CallAs | undefined, more: string) =>
  'POST /confirm HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  `${as === undefined ? '' : `Authorization: Bearer ${as.key}\r\n`}${more}\r\n\r\n`

/** All but the last byte. */
const unfinished = (as?: CallAs) => head(as, `Content-Length: ${size}`) + submission('slow').slice(0, -1)

async function taken({ call }: Pick<Built, 'call'>, as: CallAs | Built['call'] = call): Promise<number> {
  return read('taken', as)
}

async function read(what: 'taken' | 'queued', as: Built['call']): Promise<number> {
  const { body } = await as('GET', '/metrics')
  return Number(new RegExp(`^holdpoint_share_${what}\\{share="bodies"\\} (\\d+)$`, 'm').exec(body)![1])
}

async function statusOf(wire: Wire): Promise<string> {
  await until(() => wire.text() !== '')
  return wire.text().slice(9, 12)
}

t.test("one requester's unfinished bodies delay none of another's, only their own", async (t) => {
  const built = await serve(t)
  const { bot, other, root } = await giveKeys(built, roles)
  const slow = [await built.send(unfinished(bot)), await built.send(unfinished(bot))]
  await until(async () => (await taken(built, root)) === 2 * size)
  const waiting = bot('POST', '/confirm', submission('a'))
  let isAnswered = false
  void waiting.then(() => (isAnswered = true))
  for (let i = 0; i < 5; i++) t.equal((await other('POST', '/confirm', submission(`b${i}`))).status, 202)
  t.equal(
    (await bot('POST', '/confirm', { action: 'small', description: 'd' })).status,
    202,
    'what is small needs no room',
  )
  t.notOk(isAnswered)
  slow[0]!.socket.write('}')
  t.equal(await statusOf(slow[0]!), '202')
  t.equal((await waiting).status, 202)
  t.equal(await taken(built, root), size)
  slow[1]!.socket.destroy()
  await until(async () => (await taken(built, root)) === 0)
})

t.test('many large bodies at once are all answered, each in its turn', async (t) => {
  const built = await serve(t)
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => built.call('POST', '/confirm', submission(`a${i}`))),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([202]))
  t.same(
    answers.map(({ body }) => body.id),
    Array.from({ length: 200 }, (_, i) => `id-${String(i + 1).padStart(4, '0')}`),
    'in the order of arrival',
  )
  t.equal(await taken(built), 0)
})

t.test('more than may wait are refused, and whoever leaves makes room', async (t) => {
  const built = await serve(t)
  const { bot, other, root } = await giveKeys(built, roles)
  const slow = [await built.send(unfinished(bot)), await built.send(unfinished(bot))]
  await until(async () => (await taken(built, root)) === 2 * size)
  const gone = await built.send(unfinished(bot).slice(0, 1000))
  await until(async () => (await read('queued', root)) === 1)
  const waiting = Array.from({ length: 255 }, (_, i) => bot('POST', '/confirm', submission(`a${i}`)))
  const refused = await bot('POST', '/confirm', submission('late'))
  t.match(refused, {
    status: 429,
    headers: { 'retry-after': '5' },
    body: {
      code: 'flood_limited',
      share: 'bodies',
      retry_after_seconds: 5,
      error: /^Too many large bodies of bot are/,
    },
  })
  t.equal((await other('POST', '/confirm', submission('b'))).status, 202)
  gone.socket.destroy()
  await until(async () => (await read('queued', root)) === 255)
  waiting.push(bot('POST', '/confirm', submission('next')))
  slow.forEach(({ socket }) => socket.destroy())
  const answers = await Promise.all(waiting)
  t.same(new Set(answers.map(({ status }) => status)), new Set([202]))
  t.match((await root('GET', '/metrics')).body, 'holdpoint_share_refusals_total{share="bodies"} 1')
})

t.test('room is given back when a body was read, and not when its request ends', async (t) => {
  const built = await serve(t, { shareLimits: { bodies: { total: size, each: size } } })
  const held = built.call('POST', '/confirm?wait=300', submission('held'))
  await until(() => built.service.countListeners().one === 1)
  t.equal(await taken(built), 0)
  t.equal((await built.call('POST', '/confirm', submission('next'))).status, 202)
  await built.call('POST', '/confirm/id-0001/approve')
  t.match(await held, { status: 200, body: { status: 'approved' } })
})

t.test('a body that does not say how long it is counts as the largest, and does not wait', async (t) => {
  const mebibyte = 1024 * 1024
  const built = await serve(t, { shareLimits: { bodies: { total: mebibyte + size, each: 1 } } })
  const chunked = await built.send(head(undefined, 'Transfer-Encoding: chunked'))
  await until(async () => (await taken(built)) === mebibyte)
  const refused = await built.send(head(undefined, 'Transfer-Encoding: chunked'))
  t.equal(await statusOf(refused), '429')
  t.match(refused.text(), /or say how long it is in Content-Length\..*"share":"bodies"/)
  t.equal((await built.call('POST', '/confirm', submission('b'))).status, 202)
  const text = JSON.stringify({ action: 'a', description: 'é'.repeat(500) })
  for (const byte of Buffer.from(text))
    chunked.socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]))
  chunked.socket.write('0\r\n\r\n')
  t.equal(await statusOf(chunked), '202')
  t.match((await built.call('GET', '/confirm/id-0002')).body, { description: 'é'.repeat(500) })
  const tiny = await built.send(head(undefined, 'Transfer-Encoding: chunked') + '1\r\nx\r\n'.repeat(5000))
  t.equal(await statusOf(tiny), '400')
  t.match(tiny.text(), 'The body comes in more than 4096 pieces; send larger ones.')
  const endless = await built.send(head(undefined, 'Transfer-Encoding: chunked'))
  const piece = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`
  for (let i = 0; i < 17; i++) endless.socket.write(piece)
  t.equal(await statusOf(endless), '413')
  t.equal(await taken(built), 0)
})

t.test('what is refused, or too large, takes no room for longer than that', async (t) => {
  const built = await serve(t)
  for (const [text, status] of [
    [submission('a').replace('{', '['), '400'],
    [`{"action": "a", "action": "b", "x": "${'y'.repeat(size)}"}`, '400'],
    ['x'.repeat(1024 * 1024 + 1), '413'],
  ] as const) {
    t.equal(await statusOf(await built.send(head(undefined, `Content-Length: ${text.length}`) + text)), status)
    t.equal(await taken(built), 0)
  }
})

t.test('without a key nothing is read of a body', async (t) => {
  const built = await serve(t)
  const { root } = await giveKeys(built, roles)
  t.equal(await statusOf(await built.send(unfinished())), '401')
  t.equal(await taken(built, root), 0)
  const chunked = await built.send(head(undefined, 'Transfer-Encoding: chunked') + '1\r\nx\r\n')
  t.equal(await statusOf(chunked), '401')
  if (!chunked.socket.closed) await once(chunked.socket, 'close')
  t.pass('and what is without end is not waited for')
})

t.test('a body without a key has 5 s to arrive, and one with a key as long as any request', async (t) => {
  const built = await serve(t)
  const { bot } = await giveKeys(built, roles)
  const form = 'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n'
  const strangers = await built.send(`${form}Content-Length: 500\r\n\r\na`)
  const bots = await built.send(head(bot, 'Content-Length: 500') + '{')
  await until(() => built.connections.count() === 2)
  await settled()
  await built.clock.advance(4999)
  t.equal(strangers.text(), '')
  await built.clock.advance(1)
  t.equal(await statusOf(strangers), '408')
  t.match(strangers.text(), 'The body took longer than the 5 s that one without a key has.')
  await until(() => strangers.socket.closed)
  t.notOk(bots.socket.closed)
  t.equal(bots.text(), '')
})

t.test('what comes in pieces of a byte is not read on when it is refused', async (t) => {
  const served: Socket[] = []
  const prepare: BuildOptions['prepare'] = (app) => app.server.on('connection', (socket) => served.push(socket))
  const built = await serve(t, { prepare })
  await giveKeys(built, roles)
  const chunked = head(undefined, 'Transfer-Encoding: chunked')
  const polite = await built.send(chunked)
  t.equal(await statusOf(polite), '401')
  polite.socket.write('1\r\nx\r\n'.repeat(10) + '0\r\n\r\n' + chunked)
  await until(() => polite.text().split('HTTP/1.1 401').length === 3)
  t.pass('who ends it soon is heard again')
  const endless = await built.send(chunked)
  t.equal(await statusOf(endless), '401')
  const before = served[1]!.bytesRead
  const pieces = '1\r\nx\r\n'.repeat(100_000)
  endless.socket.write(pieces)
  await until(() => endless.socket.closed)
  t.ok(served[1]!.bytesRead - before < pieces.length / 2)
})

t.test('a GET with a body in chunks, of which nobody would read any, is refused', async (t) => {
  const built = await serve(t)
  for (const path of ['/health', '/confirm', '/']) {
    const asked = await built.send(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`,
    )
    t.equal(await statusOf(asked), '400')
    await until(() => asked.socket.closed)
  }
})
