// Decisions at the last moment, on a disk as it is, a slow one and a failing one: nobody is told what does not stand.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { needs } from '../needs.js'
import { temporaryFolder, until } from '../support.js'
import { faultyDisk } from './faulty-disk.js'
import { type Answer, caller, createRandom, type Program, start } from './program.js'

const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
/** As many at the very last moment as a little earlier: on a busy machine the former are all too late. */
const approvals = 400

/** Requests that live for a second. */
function shortLived(t: Test): string[] {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, 'rules:\n  - name: short\n    action: "*"\n    timeout: { default: 1, min: 1, max: 60 }\n')
  return [...flags, '--policy', file]
}

const at = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms - Date.now())))

/** Everything that anybody was told of one confirmation as its end. */
async function decideLate(
  program: Program,
  wait: Program['call'],
  earlierMs: number,
): Promise<{ id: string; told: string[] }> {
  const { id, expires_at } = (await program.submit({ timeout_seconds: 1 })).body
  const deadline = expires_at * 1000
  const told: string[] = []
  const hear = ({ status, body }: Answer) => {
    const state: string = status === 200 || status === 409 ? body.status : `answer ${status}`
    if (state !== 'pending') told.push(state)
  }
  const ask = async (when: number, method: string, path: string) => {
    await at(when)
    hear(await program.call(method, path))
  }
  await Promise.all([
    wait('GET', `/confirm/${id}?wait=10`).then(hear),
    ask(deadline - earlierMs, 'POST', `/confirm/${id}/approve`),
    ask(deadline - 1, 'POST', `/confirm/${id}/deny`),
    ...[0, 1, 3, 10, 60].map((later) => ask(deadline + later, 'GET', `/confirm/${id}`)),
  ])
  await ask(deadline + 500, 'GET', `/confirm/${id}`)
  return { id, told }
}

async function nobodyIsMisled(t: Test, program: Program): Promise<void> {
  const random = createRandom(7)
  // A waiting reader holds a connection; no other request may have to wait for one.
  const waiters = Array.from({ length: 8 }, () => caller(t, program.port))
  const all = await Promise.all(
    Array.from({ length: approvals }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 6))
      return decideLate(program, waiters[index % 8]!, 1 + random.below(index % 2 === 0 ? 8 : 120))
    }),
  )
  const misled = all.filter(({ told }) => new Set(told).size !== 1)
  t.same(misled, [], 'everybody was told the same, and that stands')
  const endings = new Set(all.flatMap(({ told }) => told))
  for (const ending of endings) t.ok(['approved', 'denied', 'expired'].includes(ending), ending)
}

t.test('200 approvals sent 1 to 8 ms before their deadlines: nobody was told what did not stand', async (t) => {
  await nobodyIsMisled(t, await start(t, { flags: shortLived(t) }))
})

t.test('the same on a slow disk', async (t) => {
  if (!needs(t, 'a disk with faults')) return
  const disk = faultyDisk(t)
  const program = await start(t, { flags: shortLived(t), env: disk.env })
  disk.set('slow 25')
  await nobodyIsMisled(t, program)
})

const unknown = { status: 503, body: { code: 'outcome_unknown' } }

t.test('when a sync fails nobody says what came of it, until a later commit has settled that', async (t) => {
  if (!needs(t, 'a disk with faults')) return
  const disk = faultyDisk(t)
  const program = await start(t, { flags, env: disk.env })
  const { id } = (await program.submit()).body
  const other = (await program.submit()).body.id
  disk.set('fail')
  t.match(await program.call('POST', `/confirm/${id}/approve`), unknown)
  t.match(await program.call('GET', `/confirm/${id}`), unknown)
  t.match(await program.submit(), unknown)
  t.equal((await program.call('GET', `/confirm/${other}`)).body.status, 'pending', 'others are readable')
  disk.set('')
  await until(async () => (await program.call('GET', `/confirm/${id}`)).status === 200)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await program.call('POST', `/confirm/${id}/approve`)).body.status, 'approved')
})

t.test('after a crash what the sync had not confirmed is there or not, and the history agrees', async (t) => {
  if (!needs(t, 'a disk with faults')) return
  const disk = faultyDisk(t)
  const program = await start(t, { flags, env: disk.env })
  const { id } = (await program.submit()).body
  disk.set('fail')
  t.match(await program.call('POST', `/confirm/${id}/approve`), unknown)
  await program.crash()
  disk.set('')
  const again = await start(t, { flags, dbPath: program.dbPath, env: disk.env })
  const { status } = (await again.call('GET', `/confirm/${id}`)).body
  const told = (await again.events()).filter((one) => one.confirmation_id === id).map(({ type }) => type)
  t.equal(told.includes('approved'), status === 'approved', `${status}: ${told.join()}`)
})
