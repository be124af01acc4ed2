// Agents that wait for their answer while the server dies under them, or die themselves: by its key each one finds its
// own confirmation again, and there is never a second one.
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { temporaryFolder, until } from '../support.js'
import { type Answer, caller, createRandom, dial, httpRequest, type Program, start } from './program.js'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
const resolutions = ['approved', 'denied', 'expired', 'cancelled', 'auto_approved']

/** What an agent asks, with a key of its own. */
function submission(agent: string, query = '?wait=60'): Buffer {
  const body = {
    action: 'send_mail',
    description: `Send the letter of ${agent}`,
    requester: agent,
    timeout_seconds: 3600,
  }
  return httpRequest('POST', `/confirm${query}`, body, [`Idempotency-Key: key-of-${agent}`])
}

/** One request on a socket of its own; null when the connection ends without an answer. */
async function ask(t: Test, port: number, bytes: Buffer): Promise<Answer | null> {
  const wire = await dial(t, port)
  wire.socket.write(bytes)
  const answer = await wire.answer()
  wire.socket.destroy()
  return answer
}

async function auditEntries(program: Program): Promise<any[]> {
  const all: any[] = []
  let cursor = ''
  for (;;) {
    const { body } = await program.call('GET', `/audit?limit=500${cursor}`)
    all.push(...body.entries)
    if (body.next_cursor === null) return all
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** A free port below those that connections get for themselves: nobody else takes it while the server is away. */
async function findPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (free) return port
  }
}

t.test(`1000 waiting agents get their own answers over two kills of the server (SEED=${seed})`, async (t) => {
  const random = createRandom(seed)
  const agents = Array.from({ length: 1000 }, (_, index) => ({
    name: `agent-${index}`,
    outcome: random.pick(['approved', 'denied'] as const),
    by: `person-${random.below(20)}`,
  }))
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const port = await findPort()
  const options = { dbPath: join(temporaryFolder(t), 'test.db'), flags: [...flags, '--port', String(port)] }
  let program = await start(t, options)
  let failure: Error | undefined
  t.teardown(() => (failure ??= new Error('the test is over')))

  /** Tries again whenever the connection broke or the server had a problem of its own. */
  async function persist(request: () => Promise<Answer | null>, onLoss = () => {}): Promise<Answer> {
    for (;;) {
      if (failure !== undefined) throw failure
      const answer = await request().catch((error: NodeJS.ErrnoException) => {
        if (error.code === undefined) throw error
        return null
      })
      if (answer !== null && answer.status < 500) return answer
      onLoss()
      await sleep(200 + random.below(300))
    }
  }

  let lost = 0
  let answered = 0
  async function waitFor({ name }: (typeof agents)[number]): Promise<Answer> {
    for (;;) {
      const answer = await persist(
        () => ask(t, port, submission(name)),
        () => (lost += 1),
      )
      if (answer.status >= 400) failure = new Error(`${name} was refused: ${answer.body.error}`)
      if (answer.status === 202) continue
      answered += 1
      return answer
    }
  }

  let running: Promise<void> = Promise.resolve()
  async function killAndRestart(): Promise<void> {
    await program.crash()
    program = await start(t, options)
  }

  const answers: Promise<Answer>[] = []
  const arrive = (count: number) => answers.push(...agents.slice(answers.length, answers.length + count).map(waitFor))

  const decided = new Set<string>()
  /** Each kill falls while some agents wait and others are just submitting. */
  function onDecision(): void {
    if (decided.size === 300 || decided.size === 630) arrive(250)
    if (decided.size === 333 || decided.size === 667) running = running.then(killAndRestart)
  }

  const call = caller(t, port)
  async function decide(id: string, { outcome, by }: (typeof agents)[number]): Promise<void> {
    const [verb, who] = outcome === 'approved' ? ['approve', 'approver'] : ['deny', 'denier']
    const { body } = await persist(() => call('POST', `/confirm/${id}/${verb}`, { [who]: by }))
    // 409 when the decision was taken and its answer lost: what stands is the same.
    if (body.status !== outcome || body.resolved_by !== by) throw new Error(`decided wrongly: ${JSON.stringify(body)}`)
    decided.add(id)
    onDecision()
  }

  async function decideAll(): Promise<void> {
    while (answered < agents.length) {
      const { body } = await persist(() => call('GET', '/confirm?status=pending&limit=500'))
      const pending: any[] = body.confirmations
      const work = async () => {
        while (pending.length > 0) {
          const [{ id, requester }] = pending.splice(random.below(pending.length), 1)
          await decide(id, byName.get(requester)!)
        }
      }
      await Promise.all(Array.from({ length: 8 }, work))
      await sleep(5)
    }
  }

  arrive(500)
  await decideAll()
  const told = await Promise.all(answers)
  await running

  t.ok(lost > 0, `${lost} times an agent lost its connection and came back`)
  t.same(
    agents.flatMap((agent, index) => {
      const { status, body } = told[index]!
      const right = status === 200 && body.status === agent.outcome && body.resolved_by === agent.by
      return right ? [] : [{ ...agent, status, body }]
    }),
    [],
    'every agent was told what was decided for it, and by whom',
  )

  const entries = await auditEntries(program)
  t.equal(entries.length, agents.length, 'there is one confirmation for each agent')
  const idOf = new Map(entries.map(({ requester, id }) => [requester, id]))
  t.same(
    agents.filter(({ name }, index) => idOf.get(name) !== told[index]!.body.id),
    [],
    'and it is the one that the agent was told of',
  )

  const events = await program.events()
  t.same(
    events.filter(({ seq }, index) => seq !== index + 1),
    [],
    `the ${events.length} events are numbered without a gap`,
  )
  const story = (types: string[]) =>
    events
      .filter(({ type }) => types.includes(type))
      .map(({ type, actor, confirmation_id }) => `${confirmation_id} ${type} by ${actor}`)
      .sort()
  t.same(
    story(['submitted']),
    agents.map(({ name }) => `${idOf.get(name)} submitted by ${name}`).sort(),
    'each was submitted once',
  )
  t.same(
    story(resolutions),
    agents.map(({ name, outcome, by }) => `${idOf.get(name)} ${outcome} by ${by}`).sort(),
    'each was resolved once, as decided',
  )
  t.equal((await program.stop()).code, 0)
})

t.test('an agent that crashed before any answer finds its confirmation by its key', async (t) => {
  const program = await start(t, { flags })
  const crashed = await dial(t, program.port)
  crashed.socket.write(submission('agent'))
  await until(async () => (await program.call('GET', '/health')).body.pending_count === 1)
  crashed.socket.destroy()

  const again = await ask(t, program.port, submission('agent', ''))
  t.match(again, { status: 202, body: { status: 'pending' } })
  const { id } = again!.body
  const waiting = ask(t, program.port, submission('agent'))
  t.equal((await program.call('POST', `/confirm/${id}/approve`, { approver: 'alice' })).status, 200)
  t.match(await waiting, { status: 200, body: { id, status: 'approved', resolved_by: 'alice' } })
  t.match((await program.call('GET', '/audit')).body, { count: 1, entries: [{ id }] })
  t.same(
    (await program.events()).map(({ type }) => type),
    ['submitted', 'notified', 'approved'],
  )
})

t.test(`of 100 agents that crash at any moment and come back, each is announced once (SEED=${seed})`, async (t) => {
  const random = createRandom(seed)
  const program = await start(t, { flags })
  const names = Array.from({ length: 100 }, (_, index) => `agent-${index}`)
  const answers = await Promise.all(
    names.map(async (name) => {
      const crashed = await dial(t, program.port)
      crashed.socket.write(submission(name))
      await sleep(random.below(20))
      crashed.socket.destroy()
      return ask(t, program.port, submission(name, ''))
    }),
  )
  t.ok(answers.every((answer) => answer?.status === 202))
  const ids = answers.map((answer) => answer!.body.id as string).sort()
  t.same((await auditEntries(program)).map(({ id }) => id).sort(), ids, 'one confirmation for each')
  const told = (await program.events()).filter(({ type }) => type === 'notified')
  t.same(told.map(({ confirmation_id }) => confirmation_id).sort(), ids, 'one notification for each')
})
