// A WebSocket that stays open: over real sockets, with a clock that only moves when told.
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { type Address, type Connection, keepOpen, type Listener, type Protocol } from '../../src/notify/socket.js'
import { manualClock, settled, until } from '../support.js'
import { type SocketServer, startSocketServer } from './socket-server.js'

interface Kept {
  server: SocketServer
  clock: ReturnType<typeof manualClock>
  connections: Connection[]
  heard: unknown[]
  ended: number[]
  /** Level and message, and the error. */
  lines: string[]
  /** How long it rested between two attempts, and rests now. */
  pauses: number[]
  stop(): Promise<void>
  /** What the address is from now on. */
  lead(address: Address): void
  /** What the listener answers when it ends. */
  answer(end: ReturnType<Listener['end']>): void
}

/** One that is greeted with a message and thrives with it. */
async function keep(t: Test, { quietMs = null }: { quietMs?: number | null } = {}): Promise<Kept> {
  const server = await startSocketServer(t, (guest) => guest.say({ hello: true }))
  const clock = manualClock()
  const connections: Connection[] = []
  const heard: unknown[] = []
  const ended: number[] = []
  const lines: string[] = []
  let address: Address = { kind: 'found', url: server.url }
  let answer: ReturnType<Listener['end']> = null
  const protocol: Protocol = {
    name: 'discord',
    quietMs,
    address: async () => address,
    begin(connection) {
      connections.push(connection)
      return {
        hear(message) {
          heard.push(message)
          if (message['hello'] === true) connection.thrive()
        },
        end(code) {
          ended.push(code)
          return answer
        },
      }
    },
  }
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push([level, message, (fields as { error?: string }).error].filter(Boolean).join(': '))
  const log = { info: write('info'), warn: write('warn') }
  const pauses: number[] = []
  const wake = (at: number, run: () => void) => {
    // What is no pause is the time that the first message has, and what these tests name.
    if (![30_000, quietMs].includes(at - clock.now())) pauses.push(at - clock.now())
    return clock.wake(at, run)
  }
  const { stop } = keepOpen(protocol, { clock: { ...clock, wake }, random: () => 1, log })
  t.teardown(stop)
  return {
    server,
    clock,
    connections,
    heard,
    ended,
    lines,
    pauses,
    stop,
    lead: (next) => void (address = next),
    answer: (next) => void (answer = next),
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const troubled = 'warn: discord cannot be heard, so buttons do nothing; will try again'
const healed = 'info: discord is heard again'

t.test('what is said over it is heard, on both sides', async (t) => {
  const { server, connections, heard, lines } = await keep(t)
  await until(() => connections.length === 1)
  connections[0]!.send({ op: 1 })
  server.guests[0]!.say({ op: 11 })
  await until(() => heard.length === 2 && server.guests[0]!.said.length === 1)
  t.same(heard, [{ hello: true }, { op: 11 }])
  t.same(server.guests[0]!.said, [{ op: 1 }])
  t.same(lines, [])
})

const losses: [name: string, lose: (server: SocketServer) => void][] = [
  ['is cut', (server) => server.guests.at(-1)!.cut()],
  ['is closed', (server) => server.guests.at(-1)!.close(4000)],
  ['says what is no JSON', (server) => server.guests.at(-1)!.sayRaw('<html>')],
  ['says what is no object', (server) => server.guests.at(-1)!.sayRaw('7')],
  ['says bytes', (server) => server.guests.at(-1)!.sayRaw(Buffer.from([0, 255]))],
  ['says more than anybody has to say', (server) => server.guests.at(-1)!.sayRaw(`"${'x'.repeat(5 * 1024 * 1024)}"`)],
]
for (const [name, lose] of losses) {
  t.test(`where it ${name}, another is opened, and nobody is bothered`, async (t) => {
    const { server, clock, heard, pauses, lines } = await keep(t)
    await until(() => heard.length === 1)
    lose(server)
    await until(() => pauses.length === 1)
    t.equal(server.guests.length, 1, 'not in a tight loop')
    await clock.advance(1000)
    await until(() => heard.length === 2)
    t.same(lines, [])
  })
}

t.test('one that was good for long is followed by another at once', async (t) => {
  const { server, clock, heard } = await keep(t)
  await until(() => heard.length === 1)
  await clock.advance(60_000)
  server.guests[0]!.cut()
  await until(() => server.guests.length === 2 || clock.advance(0).then(() => false))
})

t.test('while none can be opened it is tried less and less often, and said once', async (t) => {
  const { server, clock, pauses, heard, lines } = await keep(t)
  await until(() => heard.length === 1)
  server.refuse(503)
  server.guests[0]!.cut()
  const expected = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
  for (const [n, pause] of expected.entries()) {
    await until(() => pauses.length === n + 1)
    t.equal(server.attempts, n + 1)
    await clock.advance(pause)
    await until(() => server.attempts === n + 2)
  }
  t.same(pauses.slice(0, expected.length), expected)
  t.same(lines, [`${troubled}: it could not be opened`])
  await until(() => pauses.length === expected.length + 1)
  server.refuse(null)
  await clock.advance(60_000)
  await until(() => heard.length === 2)
  t.same(lines.slice(1), [healed])
})

t.test('a server that takes the connection and says nothing is left after half a minute', async (t) => {
  const { server, clock, heard, lines } = await keep(t)
  await until(() => heard.length === 1)
  server.refuse('hang')
  server.guests[0]!.cut()
  await until(async () => {
    await clock.advance(500)
    return server.attempts === 2
  })
  await clock.advance(30_000)
  await until(() => lines.length === 1)
  t.same(lines, [`${troubled}: nothing is heard from it`])
  server.refuse(null)
  await until(async () => {
    await clock.advance(500)
    return heard.length === 2
  })
})

t.test('an address that cannot be had is asked for again, not before it is allowed', async (t) => {
  const { server, clock, lead, heard, lines, pauses } = await keep(t)
  await until(() => heard.length === 1)
  lead({ kind: 'failed', error: '429 slow down', retryAfterMs: 7000 })
  server.guests[0]!.cut()
  await until(async () => {
    await clock.advance(500)
    return lines.length === 1
  })
  t.same(lines, [`${troubled}: 429 slow down`])
  await until(() => pauses.length === 2)
  t.same(pauses, [1000, 7000])
  lead({ kind: 'found', url: server.url })
  await clock.advance(7000)
  await until(() => heard.length === 2)
})

const nowhere: [name: string, url: () => Promise<string>, error: RegExp][] = [
  ['no URL', async () => 'nonsense', /no address of a WebSocket$/],
  ['no WebSocket', async () => 'ftp://127.0.0.1', /no address of a WebSocket$/],
  ['a port that is not connected to', async () => 'ws://127.0.0.1:1', /it could not be opened$/],
  ['a port where nobody is', async () => `ws://127.0.0.1:${await freePort()}`, /network error \(ECONNREFUSED\)$/],
]
for (const [name, find, error] of nowhere) {
  t.test(`an address that leads nowhere, ${name}, is a trouble like others`, async (t) => {
    const url = await find()
    const { server, clock, lead, heard, lines } = await keep(t)
    await until(() => heard.length === 1)
    lead({ kind: 'found', url })
    server.guests[0]!.cut()
    await until(async () => {
      await clock.advance(500)
      return lines.length === 1
    })
    t.match(lines[0], error)
    lead({ kind: 'found', url: server.url })
    await until(async () => {
      await clock.advance(500)
      return heard.length === 2
    })
  })
}

t.test('where there is no point, that is said once, and nothing is opened any more', async (t) => {
  const { server, clock, answer, heard, ended, lines } = await keep(t)
  await until(() => heard.length === 1)
  answer({ kind: 'never', error: '4004', mend: 'get another token' })
  server.guests[0]!.close(4004)
  await until(() => lines.length === 1)
  await clock.advance(600_000)
  await settled()
  t.same(ended, [4004])
  t.same(lines, ['warn: get another token: 4004'])
  t.equal(server.attempts, 1)
})

t.test('an address that will never be had ends it too', async (t) => {
  const { server, clock, lead, heard, lines } = await keep(t)
  await until(() => heard.length === 1)
  lead({ kind: 'never', error: '401 Unauthorized', mend: 'get another token' })
  server.guests[0]!.cut()
  await until(async () => {
    await clock.advance(500)
    return lines.length === 1
  })
  await clock.advance(600_000)
  t.equal(server.attempts, 1)
})

t.test('one that is dropped is closed, with its code, and another comes when it should', async (t) => {
  const { server, clock, connections, heard, ended, lines, pauses } = await keep(t)
  await until(() => heard.length === 1)
  connections[0]!.drop({ error: null, code: 4000, afterMs: 5000 })
  await until(() => ended.length === 1 && server.guests[0]!.closedWith !== null)
  t.equal(server.guests[0]!.closedWith, 4000)
  await until(() => pauses.length === 1)
  t.same(pauses, [5000])
  await clock.advance(5000)
  await until(() => heard.length === 2)
  t.same(lines, [])
})

t.test('one that is relieved is heard for as long as it lasts, and its end opens nothing', async (t) => {
  const { server, clock, connections, heard, ended, lines } = await keep(t)
  await until(() => heard.length === 1)
  await clock.advance(60_000)
  connections[0]!.relieve()
  await until(() => clock.advance(0).then(() => heard.length === 2))
  t.same(
    server.guests.map((guest) => guest.isOpen()),
    [true, true],
  )
  server.guests[0]!.say({ op: 'late' })
  await until(() => heard.length === 3)
  server.guests[0]!.close(1000)
  await until(() => ended.length === 1)
  await clock.advance(600_000)
  await settled()
  t.equal(server.guests.length, 2)
  t.same(lines, [])
})

t.test('where nothing comes for long it is asked, and left if it does not answer', async (t) => {
  const { server, clock, heard, ended, pauses } = await keep(t, { quietMs: 10_000 })
  await until(() => heard.length === 1)
  for (let round = 0; round < 5; round++) {
    await clock.advance(10_000)
    // The answer to a ping comes by the network, not by the clock.
    await settled()
  }
  t.same(ended, [], 'one that answers is kept')
  server.guests[0]!.freeze()
  await clock.advance(30_000)
  await until(() => pauses.length === 1)
  await clock.advance(1000)
  await until(() => heard.length === 2)
})

t.test('a stop closes what is open, also what hangs, and opens nothing', async (t) => {
  for (const hang of [false, true]) {
    const { server, clock, heard, stop, lines } = await keep(t)
    await until(() => heard.length === 1)
    if (hang) server.guests[0]!.freeze()
    await stop()
    if (!hang) await until(() => server.guests[0]!.closedWith === 1000)
    await clock.advance(600_000)
    t.equal(server.attempts, 1)
    t.same(lines, [])
  }
})

t.test('a stop ends a pause, and an attempt that is under way', async (t) => {
  const resting = await keep(t)
  await until(() => resting.heard.length === 1)
  resting.server.guests[0]!.cut()
  await until(() => resting.pauses.length === 1)
  await resting.stop()
  const hanging = await keep(t)
  await until(() => hanging.heard.length === 1)
  hanging.server.refuse('hang')
  hanging.server.guests[0]!.cut()
  await until(async () => {
    await hanging.clock.advance(500)
    return hanging.server.attempts === 2
  })
  await hanging.stop()
  t.same([...resting.lines, ...hanging.lines], [])
})
