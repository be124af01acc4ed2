// The Python client, functions and coroutines, through a proxy that loses, cuts, delays and repeats at every step, while the
// service is killed: none runs without an approval, none twice, and each is either done or ended by a typed error.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { root } from '../e2e/program.js'
import { needs } from '../needs.js'
import { faults } from './faulty-proxy.js'
import { type Round, startFaultyService } from './faulty-service.js'

/** Each fault befalls each step ten times and more. CONTRIBUTING.md says how to have a thousand. */
const count = Number(process.env.FAULT_ROUNDS ?? 90)
const threads = Math.min(64, Math.ceil(count / 5))

/** What a round may end with here, if it is not done. */
const codes = ['denied', 'expired', 'cancelled', 'claim_refused', 'claim_uncertain', 'rate_limited', 'unreachable']

t.test('whatever happens on the way, a function runs once with an approval or not at all', async (t) => {
  if (!needs(t, 'python3')) return
  const service = await startFaultyService(t)
  const rounds: Round[] = []
  const all = runRounds(t, service.url, (round) => rounds.push(round))
  for (const part of [0.3, 0.6]) {
    while (rounds.length < part * count) await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 10))])
    await service.crash()
  }
  await all
  t.equal(rounds.length, count, 'each round came to an end')
  await service.judge(rounds)
  const ends = new Map<string, number>()
  for (const { ended } of rounds) ends.set(ended, (ends.get(ended) ?? 0) + 1)
  t.comment([...ends].map(([ended, times]) => `${ended}: ${times}`).join(', '))
  t.same(
    [...ends.keys()].filter((ended) => ended !== 'done' && !codes.includes(ended)),
    [],
  )
  t.ok(ends.get('done')! > count * 0.75, 'most went well in the end')
  t.ok(ends.get('denied')! > count * 0.05, 'what was denied is told as that')
  const { befell } = service.proxy
  for (const step of ['submit', 'wait', 'claim', 'report'] as const) {
    for (const fault of faults) t.ok(befell.get(step)!.get(fault)! > 0, `${step}: ${fault}`)
  }
})

async function runRounds(t: Test, url: string, tell: (round: Round) => unknown): Promise<void> {
  const env = { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1' }
  const args = ['-m', 'tests.faults', url, String(count), String(threads)]
  const child = spawn('python3', args, { cwd: join(root, 'clients/python'), env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  createInterface(child.stdout).on('line', (line) => tell(JSON.parse(line) as Round))
  t.equal(await exited, 0)
  t.equal(said, '')
}
