// Many clients at the same instant, over real sockets: exactly one of them wins.
import t, { type Test } from 'tap'
import { dial, httpRequest, type Program, start } from './program.js'

const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
const clients = 200

/** Connects first, then writes every request in one turn of the event loop, so that all are on their way together. */
async function allAtOnce(t: Test, requests: { port: number; bytes: Buffer }[]) {
  const wires = await Promise.all(requests.map(({ port }) => dial(t, port)))
  wires.forEach((wire, index) => wire.socket.write(requests[index]!.bytes))
  return Promise.all(wires.map((wire) => wire.answer()))
}

async function raceFor(t: Test, program: Program, ports: number[]) {
  const { id } = (await program.submit()).body
  const requests = Array.from({ length: clients }, (_, index) => {
    const [verb, who] = index % 2 === 0 ? ['approve', 'approver'] : ['deny', 'denier']
    const port = ports[Math.floor(index / 2) % ports.length]!
    return { port, bytes: httpRequest('POST', `/confirm/${id}/${verb}`, { [who]: `client-${index}` }) }
  })
  const answers = await allAtOnce(t, requests)
  const winners = answers.filter((answer) => answer?.status === 200)
  const losers = answers.filter((answer) => answer?.status === 409)
  t.equal(winners.length, 1, 'exactly one is told that it decided')
  t.equal(losers.length, clients - 1, 'all others are told that it was decided')
  const { status, resolved_by } = winners[0]!.body
  t.same([...new Set(losers.map((answer) => answer!.body.status))], [status], 'the losers learn what stands')
  t.same([...new Set(losers.map((answer) => answer!.body.resolved_by))], [resolved_by], 'and who decided it')
  t.match((await program.call('GET', `/confirm/${id}`)).body, { status, resolved_by })
  const decisions = (await program.events()).filter((one) => one.confirmation_id === id && one.channel === 'http')
  t.match(
    decisions.map((one) => [one.type, one.actor]),
    [
      ['submitted', 'agent'],
      [status, resolved_by],
    ],
    'the history has one decision, and it is the one that was answered',
  )
  t.equal(decisions.length, 2)
}

t.test('of 200 clients that approve and deny at the same instant, exactly one decides', async (t) => {
  const program = await start(t, { flags })
  for (let round = 0; round < 5; round++) await raceFor(t, program, [program.port])
})

t.test('it is still exactly one when they come through both ports', async (t) => {
  const program = await start(t, { flags: [...flags, '--web-port', '0'] })
  for (let round = 0; round < 5; round++) await raceFor(t, program, [program.port, program.webPort!])
})

t.test('a grant for 7 uses lets exactly 7 of 100 simultaneous submissions pass', async (t) => {
  const program = await start(t, { flags })
  const { body: grant } = await program.call('POST', '/whitelist', { action: 'send_mail', max_uses: 7 })
  const body = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
  const requests = Array.from({ length: 100 }, () => ({
    port: program.port,
    bytes: httpRequest('POST', '/confirm', body),
  }))
  const answers = await allAtOnce(t, requests)
  t.equal(answers.filter((answer) => answer?.status === 200).length, 7)
  t.equal(answers.filter((answer) => answer?.status === 202).length, 93)
  t.equal(new Set(answers.map((answer) => answer?.body.id)).size, 100, 'each has an id of its own')
  const events = await program.events()
  const passed = events.filter((one) => one.type === 'auto_approved')
  t.equal(passed.length, 7)
  t.ok(passed.every((one) => one.data.grant_id === grant.id))
  t.equal(events.filter((one) => one.type === 'submitted').length, 100)
  t.equal((await program.call('GET', '/whitelist')).body.count, 0, 'the grant is used up')
})

t.test('a limit of 10 lets exactly 10 of 100 simultaneous submissions through', async (t) => {
  const program = await start(t, { flags: ['--rate-limit', '10', '--flood-limit', '0'] })
  const body = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600 }
  const requests = Array.from({ length: 100 }, () => ({
    port: program.port,
    bytes: httpRequest('POST', '/confirm', body),
  }))
  const answers = await allAtOnce(t, requests)
  t.equal(answers.filter((answer) => answer?.status === 202).length, 10)
  t.equal(answers.filter((answer) => answer?.status === 429).length, 90)
})
