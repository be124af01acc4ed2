// The Python client through a network that does everything wrong at every step, while the service is killed again and again:
// what runs was approved, runs once, and whatever does not run is told by a typed error.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createRandom, findPort, type Program, root, start } from '../e2e/program.js'
import { needs } from '../needs.js'
import { temporaryFolder } from '../support.js'
import { type Fault, faults, startFaultyProxy, steps } from './faulty-proxy.js'

const rounds = Number(process.env.ROUNDS ?? 1000)
const threads = 64
const kills = 5
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

interface Round {
  round: number
  ran: number
  exact: boolean
  code: string | null
  result: number | null
}

/** What a run may end with here, if it does not end well. */
const codes = ['denied', 'expired', 'cancelled', 'claim_refused', 'claim_uncertain', 'unreachable', 'rate_limited']

t.test(`${rounds} rounds over ${kills} kills: at most once, and only what was approved (SEED=${seed})`, async (t) => {
  if (!needs(t, 'python3')) return
  const random = createRandom(seed)
  const rules = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(rules, 'rules:\n  - name: short\n    action: "*"\n    timeout: { default: 60, min: 1, max: 60 }\n')
  const flags = ['--rate-limit', '1000000', '--open-limit', '1000000', '--flood-limit', '0', '--policy', rules]
  const port = await findPort()
  const options = { dbPath: join(temporaryFolder(t), 'test.db'), flags: [...flags, '--port', String(port)] }
  let program = await start(t, options)

  const chosen = Object.keys(faults) as Fault[]
  const proxy = await startFaultyProxy(t, port, () => (random.next() < 0.25 ? random.pick(chosen) : null))
  const told: Round[] = []
  let isOver = false
  const finished = runRounds(t, proxy.port, (round) => told.push(round)).finally(() => (isOver = true))
  const people = decide(
    () => program,
    () => isOver,
  )
  for (let kill = 1; kill <= kills; kill++) {
    await moment(() => isOver || told.length >= (rounds * kill) / (kills + 1))
    await program.crash()
    program = await start(t, options)
  }
  await finished
  await people

  t.equal(new Set(told.map(({ round }) => round)).size, rounds, 'each round came to an end')
  const records = await allRecords(program)
  const claims = countClaims(await program.events())
  const wrong = told.flatMap((one) => {
    const own = records.filter(({ details }) => details.round === one.round)
    const problems = problemsOf(one, own, claims)
    return problems.map((problem) => `round ${one.round}: ${problem}: ${JSON.stringify({ one, own })}`)
  })
  t.same(wrong, [])

  const patient = told.filter(({ round }) => wishOf(round) === 'approve' && round % 10 !== 3)
  const ran = patient.filter((one) => one.ran === 1).length
  t.ok(ran > patient.length * 0.9, `${ran} of ${patient.length} ran that somebody wanted and that had time`)
  const ends = new Map<string, number>()
  for (const { code } of told) ends.set(code ?? 'ran', (ends.get(code ?? 'ran') ?? 0) + 1)
  t.comment([...ends].map(([end, count]) => `${end}: ${count}`).join(', '))
  const missing = steps
    .filter((step) => step !== 'cancel' && step !== 'other')
    .flatMap((step) => chosen.map((fault) => `${step}: ${fault}`))
    .filter((cell) => !proxy.happened.has(cell))
  t.same(rounds < 1000 ? [] : missing, [], 'each fault happened at each step')
})

/** As clients/python/tests/faults.py has it. */
const wishOf = (round: number) => (round % 20 === 7 ? 'nothing' : round % 5 === 4 ? 'deny' : 'approve')

function problemsOf({ round, ran, exact, code, result }: Round, own: any[], claims: Map<string, number>): string[] {
  const [record] = own
  const isApproved = record?.status === 'approved'
  const rules: [broken: boolean, problem: string][] = [
    [own.length > 1, 'asked for twice'],
    [ran > 1, 'ran twice'],
    [ran === 1 && !(isApproved && wishOf(round) === 'approve'), 'ran without an approval'],
    [ran === 1 && record?.claimed_at == null, 'ran without a claim'],
    [ran === 1 && !exact, 'ran with something else than was approved'],
    [ran === 1 && (code !== null || result !== round), 'ran, and did not say so'],
    [ran === 0 && (code === null || !codes.includes(code)), 'did not run, and no typed error says why'],
    [ran === 0 && record?.execution === 'succeeded', 'reported a success, and did not run'],
    [ran === 1 && record?.execution === 'failed', 'reported a failure, and ran'],
    [(claims.get(record?.id) ?? 0) > 1, 'claimed twice'],
    [code === 'denied' && record?.status !== 'denied', 'a denial that nobody gave'],
  ]
  return rules.flatMap(([broken, problem]) => (broken ? [problem] : []))
}

function countClaims(events: any[]): Map<string, number> {
  const claims = new Map<string, number>()
  for (const { type, confirmation_id: id } of events) if (type === 'claimed') claims.set(id, (claims.get(id) ?? 0) + 1)
  return claims
}

/** Answers each request as its details wish, past the proxy, until the rounds are over. */
async function decide(program: () => Program, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      const { body } = await program().call('GET', '/confirm?status=pending&limit=500')
      const decisions = body.confirmations
        .filter(({ details }: any) => details.wish !== 'nothing')
        .slice(0, 100)
        .map(({ id, details }: any) => ({ id, verdict: details.wish }))
      if (decisions.length > 0) await program().call('POST', '/decisions', { decided_by: 'alice', decisions })
    } catch {
      // It is being killed.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function moment(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function runRounds(t: Test, port: number, tell: (round: Round) => unknown): Promise<void> {
  const client = join(root, 'clients/python')
  const args = ['-m', 'tests.faults', `http://127.0.0.1:${port}`, String(rounds), String(threads)]
  const env = { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn('python3', args, { cwd: client, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  createInterface(child.stdout).on('line', (line) => tell(JSON.parse(line) as Round))
  t.equal(await exited, 0, said)
  t.equal(said, '')
}

async function allRecords(program: Program): Promise<any[]> {
  const all: any[] = []
  let cursor = ''
  for (;;) {
    const { body } = await program.call('GET', `/audit?limit=500${cursor}`)
    all.push(...body.entries)
    if (body.next_cursor === null) return all
    cursor = `&cursor=${body.next_cursor}`
  }
}
