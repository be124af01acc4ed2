// A service that is reached through a faulty proxy, is killed now and then, and whose people decide all that waits: what a
// client of whatever language has to bear. In the end its rounds are held against what the service has on record.
import type { Test } from 'tap'
import { createRandom, type Program, start } from '../e2e/program.js'
import { type Exchange, type Fault, faults, type FaultyProxy, startFaultyProxy, steps } from './faulty-proxy.js'

/** What a client says of one round, whose details were `{round}`. */
export interface Round {
  round: number
  /** How often its function ran. */
  ran: number
  /** `done`, or the code of the error. */
  ended: string
}

export interface FaultyService {
  /** Of the proxy. */
  url: string
  proxy: FaultyProxy
  /** kill -9, and a start on the same file and port. */
  crash(): Promise<void>
  judge(rounds: Round[]): Promise<void>
}

/** Every so many approvals there is a denial. */
const denialEvery = 10

/** A plan of the caller's own, in place of each fault at each step. */
export async function startFaultyService(t: Test, plan = createPlan()): Promise<FaultyService> {
  const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
  let program = await start(t, { flags })
  const { port, dbPath } = program
  const proxy = await startFaultyProxy(() => port, plan)
  t.teardown(() => proxy.close())

  let isOver = false
  const deciding = (async () => {
    while (!isOver) await decideAll(program).catch(() => new Promise((resolve) => setTimeout(resolve, 10)))
  })()
  t.teardown(() => {
    isOver = true
    return deciding
  })

  return {
    url: `http://127.0.0.1:${proxy.port}`,
    proxy,
    async crash() {
      await program.crash()
      program = await start(t, { dbPath, flags: [...flags, '--port', String(port)] })
    },
    judge: (rounds) => judge(t, program, rounds),
  }
}

/** Each fault befalls the first try of each step in turn; what is tried again is spared most of the time. */
function createPlan(seed = 7): (exchange: Exchange) => Fault {
  const random = createRandom(seed)
  const firsts = new Map(steps.map((step, index) => [step, index * 3]))
  return ({ step, attempt }) => {
    if (attempt > 0) return random.next() < 0.1 ? random.pick(faults) : 'none'
    const count = firsts.get(step)!
    firsts.set(step, count + 1)
    return faults[count % faults.length]!
  }
}

const isDenied = (round: number) => round % denialEvery === denialEvery - 1

async function decideAll({ call }: Program): Promise<void> {
  const { body } = await call('GET', '/confirm?status=pending&limit=100')
  const decisions = body.confirmations.map(({ id, details }: { id: string; details: { round: number } }) => ({
    id,
    verdict: isDenied(details.round) ? 'deny' : 'approve',
  }))
  if (decisions.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  else await call('POST', '/decisions', { decided_by: 'alice', decisions })
}

async function judge(t: Test, program: Program, rounds: Round[]): Promise<void> {
  const records = new Map<number, any[]>()
  for (let cursor = ''; cursor !== 'null';) {
    const { body } = await program.call('GET', `/audit?limit=500${cursor && `&cursor=${cursor}`}`)
    for (const one of body.entries) records.set(one.details.round, [...(records.get(one.details.round) ?? []), one])
    cursor = String(body.next_cursor)
  }
  const claims = new Map<string, number>()
  for (const { type, confirmation_id: id } of await program.events()) {
    if (type === 'claimed') claims.set(id, (claims.get(id) ?? 0) + 1)
  }
  const wrong: string[] = []
  for (const { round, ran, ended } of rounds) {
    const say = (what: string) => wrong.push(`round ${round}, which ended as ${ended}: ${what}`)
    const [record, another] = records.get(round) ?? []
    if (another !== undefined) say('it was asked for twice')
    if (ran > 1) say(`it ran ${ran} times`)
    if (ran !== (ended === 'done' ? 1 : 0)) say(`it ran ${ran} times`)
    if (ran > 0 && record?.status !== 'approved') say(`it ran, and is ${record?.status}`)
    if (ran > 0 && claims.get(record?.id) !== 1) say('it ran without one claim')
    if (ran > 0 && record?.outcome !== 'succeeded') say(`it ran, and its record says ${record?.execution}`)
    if (isDenied(round) && ended === 'done') say('it was denied')
  }
  t.same(wrong, [])
  t.same(
    [...claims.values()].filter((count) => count > 1),
    [],
    'nothing was claimed twice',
  )
  t.equal(new Set(rounds.map(({ round }) => round)).size, rounds.length)
}
