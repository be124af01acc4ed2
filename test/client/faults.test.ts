// Many acts through a proxy that loses, cuts, delays and repeats at every step, while the service is killed: none
// without an approval, none twice, and each either done or ended by a typed error.
import t, { type Test } from 'tap'
import { Holdpoint, HoldpointError, type HoldpointOptions } from '../../src/client/index.js'
import { faults } from './faulty-proxy.js'
import { type Round, startFaultyService } from './faulty-service.js'

/** Each fault befalls each step ten times and more. CONTRIBUTING.md says how to have a thousand. */
const count = Number(process.env.FAULT_ROUNDS ?? 90)
/** So many that there are always some before each kill and after it. */
const atATime = Math.min(200, Math.ceil(count / 5))

/** One round: a guarded function whose details are its number. */
async function act(holdpoint: Holdpoint, round: number): Promise<Round> {
  let ran = 0
  const guarded = holdpoint.guard(`act-${round % 7}`, () => void (ran += 1), { describe: () => `Act ${round}` })
  try {
    await guarded({ round }, { idempotencyKey: `call_${round}` })
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error
    return { round, ran, ended: error.code }
  }
  return { round, ran, ended: 'done' }
}

function holdpointAt(t: Test, url: string, options: HoldpointOptions): Holdpoint {
  const holdpoint = new Holdpoint({ url, key: null, timeoutMs: 700, maxPauseMs: 200, holdSeconds: 1, ...options })
  t.teardown(() => holdpoint.close())
  return holdpoint
}

t.test('whatever happens on the way, a function runs once with an approval or not at all', async (t) => {
  const service = await startFaultyService(t)
  const holdpoint = holdpointAt(t, service.url, { deadlineMs: 100_000 })
  const rounds: Round[] = []
  let next = 0
  const all = Promise.all(
    Array.from({ length: atATime }, async () => {
      while (next < count) rounds.push(await act(holdpoint, next++))
    }),
  )
  for (const part of [0.3, 0.6]) {
    while (rounds.length < part * count) await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 10))])
    await service.crash()
  }
  await all
  await service.judge(rounds)
  const shareOf = (ended: string) => rounds.filter((one) => one.ended === ended).length / count
  t.ok(shareOf('done') > 0.8, `most went well in the end: ${shareOf('done')}`)
  t.ok(shareOf('denied') > 0.05, `what was denied is told as that: ${shareOf('denied')}`)
  const { befell } = service.proxy
  for (const step of ['submit', 'wait', 'claim', 'report'] as const) {
    for (const fault of faults) t.ok(befell.get(step)!.get(fault)! > 0, `${step}: ${fault}`)
  }
})

t.test('a claim that nobody can be sure of is not acted on', async (t) => {
  const service = await startFaultyService(t, ({ step }) => (step === 'claim' ? 'lost on the way back' : 'none'))
  const holdpoint = holdpointAt(t, service.url, { claimMs: 300 })
  const rounds = await Promise.all([0, 1, 2, 3, 4].map((round) => act(holdpoint, round)))
  t.same(
    rounds.map(({ ended }) => ended),
    Array(5).fill('claim_uncertain'),
  )
  await service.judge(rounds)
})
