// How it ends: what is under way is finished, nothing new is taken, nobody can hold it up.
import { once } from 'node:events'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { until } from '../support.js'
import { dial, httpRequest, start } from './program.js'

/** Holds every write, as a slow disk would, until it is called off. */
function holdWrites(t: Test, dbPath: string): () => void {
  const db = new Database(dbPath)
  db.exec('BEGIN IMMEDIATE')
  t.teardown(() => db.close())
  return () => db.exec('ROLLBACK')
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal}: what is under way is answered, nothing new is taken, and it exits 0`, async (t) => {
    const program = await start(t, { flags: ['--web-port', '0'] })
    const ports = [program.port, program.webPort!]
    const body = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
    const request = httpRequest('POST', '/confirm', body)

    const idle = await Promise.all(ports.map((port) => dial(t, port)))
    for (const wire of idle) {
      wire.socket.write(httpRequest('GET', '/health'))
      t.equal((await wire.answer())?.status, 200)
    }
    const slow = await Promise.all(ports.map((port) => dial(t, port)))
    for (const wire of slow) wire.socket.write(request.subarray(0, -20))
    const letGo = holdWrites(t, program.dbPath)
    const running = await Promise.all(ports.map((port) => dial(t, port)))
    for (const wire of running) wire.socket.write(request)
    // Answered after what was written before it on other connections has been taken in.
    for (let i = 0; i < 3; i++) await program.call('GET', '/health')

    program.child.kill(signal)
    const signalled = performance.now()
    await program.logLine(/^draining$/)
    for (const port of ports) await t.rejects(dial(t, port), { code: 'ECONNREFUSED' }, 'new connections are refused')
    for (const wire of slow) wire.socket.write(request.subarray(-20))
    letGo()
    for (const wire of [...running, ...slow]) {
      const answer = await wire.answer()
      t.equal(answer?.status, 202, 'a request under way is answered')
    }
    t.match(await program.exited, { code: 0, signal: null })
    t.ok(performance.now() - signalled < 10_000, 'within ten seconds')
    t.equal(program.stderr(), '')
    t.equal(program.logged().at(-1)?.msg, 'stopped')

    const next = await start(t, { dbPath: program.dbPath })
    t.equal((await next.call('GET', '/health')).body.pending_count, 4, 'and all of it is on record')
  })
}

t.test('a waiting reader is answered with the current state, and streams end', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  const { id } = (await program.submit()).body
  const body = { action: 'send_mail', description: 'Send the newsletter' }
  const wires = await Promise.all(
    [program.port, program.webPort!, program.port, program.port].map((port) => dial(t, port)),
  )
  const [reading, alsoReading, submitting, streaming] = wires
  for (const wire of [reading!, alsoReading!]) wire.socket.write(httpRequest('GET', `/confirm/${id}?wait=300`))
  submitting!.socket.write(httpRequest('POST', '/confirm?wait=300', body))
  streaming!.socket.write(httpRequest('GET', '/events'))
  const held = async () => ((await program.call('GET', '/metrics')).body as string).match(/listeners\{of="\w+"\} (\d)/g)
  await until(async () => String(await held()) === 'listeners{of="one"} 3,listeners{of="all"} 1')
  const ended = once(streaming!.socket, 'end')
  program.child.kill('SIGTERM')
  for (const wire of [reading!, alsoReading!]) {
    t.match(await wire.answer(), { status: 200, body: { id, status: 'pending' } })
  }
  t.match(await submitting!.answer(), { status: 202, body: { status: 'pending' } })
  await ended
  t.match(await program.exited, { code: 0 })
})

t.test('clients that hold half a request cannot keep it from ending', async (t) => {
  const program = await start(t, { flags: ['--web-port', '0'] })
  for (const port of [program.port, program.webPort!]) {
    const silent = await dial(t, port)
    const head = await dial(t, port)
    head.socket.write('POST /confirm HTTP/1.1\r\nHost: x\r\nContent-')
    const body = await dial(t, port)
    body.socket.write(httpRequest('POST', '/confirm', { action: 'a', description: 'b' }).subarray(0, -5))
    const refused = await dial(t, port)
    refused.socket.write('no HTTP at all\r\n\r\n')
    t.equal((await refused.answer())?.status, 400)
    t.ok(silent)
  }
  for (let i = 0; i < 3; i++) await program.call('GET', '/health')
  const signalled = performance.now()
  t.match(await program.stop(), { code: 0, signal: null })
  t.ok(performance.now() - signalled < 10_000, 'within ten seconds')
  const next = await start(t, { dbPath: program.dbPath })
  t.same(await next.events(), [], 'and what was never complete was never done')
})

t.test(
  'a request that follows on a busy connection while it drains is refused, and the connection closed',
  async (t) => {
    const program = await start(t)
    const letGo = holdWrites(t, program.dbPath)
    const wire = await dial(t, program.port)
    const body = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
    wire.socket.write(httpRequest('POST', '/confirm', body))
    for (let i = 0; i < 3; i++) await program.call('GET', '/health')
    program.child.kill('SIGTERM')
    await program.logLine(/^draining$/)
    wire.socket.write(httpRequest('POST', '/confirm', body))
    letGo()
    t.equal((await wire.answer())?.status, 202)
    t.match(await wire.answer(), { status: 503, headers: { connection: 'close' }, body: { code: 'shutting_down' } })
    t.match(await program.exited, { code: 0 })
    const next = await start(t, { dbPath: program.dbPath })
    t.equal((await next.call('GET', '/health')).body.pending_count, 1)
  },
)
