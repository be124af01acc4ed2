// kill -9 in the middle of everything, again and again on the same file: what was answered is there, once.
import { join } from 'node:path'
import t from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { temporaryFolder } from '../support.js'
import { createRandom, type Program, start } from './program.js'

const rounds = Number(process.env.KILLS ?? 5)
const workers = 24
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const flags = ['--rate-limit', '1000000', '--flood-limit', '0']
const resolutions = ['approved', 'denied', 'expired', 'cancelled', 'auto_approved']

/** What clients were told, and what they asked without hearing back. */
function createLedger() {
  const stands = new Map<string, string>()
  const possible = new Map<string, Set<string>>()
  const grants = new Map<string, string>()
  return {
    grants,
    ids: () => [...possible.keys()],
    told(id: string, status: string) {
      stands.set(id, status)
      if (!possible.has(id)) possible.set(id, new Set())
    },
    held: (id: string) => possible.set(id, new Set(['pending'])),
    asked: (id: string, status: string) => possible.get(id)!.add(status),
    allows(id: string, status: string) {
      return stands.has(id) ? stands.get(id) === status : possible.get(id)!.has(status)
    },
  }
}
type Ledger = ReturnType<typeof createLedger>

/** Submits, decides and whitelists from many connections, until so many answers came; then kills without warning. */
async function loadAndKill(program: Program, ledger: Ledger, round: number, random: ReturnType<typeof createRandom>) {
  const enough = 20 + random.below(180)
  const open: string[] = []
  let answered = 0
  let killed = false

  async function step(): Promise<void> {
    const dice = random.next()
    if (dice < 0.05) {
      const action = `covered-${round}-${random.below(5)}`
      const { status, body } = await program.call('POST', '/whitelist', { action, granted_by: `round-${round}` })
      if (status < 300) ledger.grants.set(body.id, action)
    } else if (dice < 0.6 || open.length === 0) {
      const action = random.next() < 0.3 ? `covered-${round}-${random.below(5)}` : 'send_mail'
      const { status, body } = await program.submit({ action, details: { filler: 'x'.repeat(random.below(2000)) } })
      if (status === 202) {
        ledger.held(body.id)
        open.push(body.id)
      } else ledger.told(body.id, body.status)
    } else {
      const index = random.below(open.length)
      // Some are left in, so that others try to decide them too.
      const id = random.next() < 0.8 ? open.splice(index, 1)[0]! : open[index]!
      const [verb, outcome] = random.pick([
        ['approve', 'approved'],
        ['deny', 'denied'],
      ] as const)
      ledger.asked(id, outcome)
      const { body } = await program.call('POST', `/confirm/${id}/${verb}`)
      ledger.told(id, body.status)
    }
  }

  async function work(): Promise<void> {
    while (!killed) {
      try {
        await step()
      } catch (error) {
        if (!killed) throw error
        return
      }
      answered += 1
      if (answered === enough) {
        killed = true
        program.child.kill('SIGKILL')
      }
    }
  }

  await Promise.all(Array.from({ length: workers }, work))
  await program.exited
}

t.test(`nothing answered is lost or doubled over ${rounds} kills under load (SEED=${seed})`, async (t) => {
  const random = createRandom(seed)
  const dbPath = join(temporaryFolder(t), 'test.db')
  const history: any[] = []
  const everything = createLedger()
  let program = await start(t, { dbPath, flags })

  for (let round = 1; round <= rounds; round++) {
    const ledger = createLedger()
    await loadAndKill(program, ledger, round, random)
    program = await start(t, { dbPath, flags })
    history.push(...(await program.events(history.length)))

    const records = await Promise.all(ledger.ids().map((id) => program.call('GET', `/confirm/${id}`)))
    const wrong = records.filter(({ status, body }) => status !== 200 || !ledger.allows(body.id, body.status))
    t.same(
      wrong.map(({ body }) => body),
      [],
      `round ${round}: all ${records.length} answered confirmations are there and stand as answered`,
    )
    // From here on they must stay exactly as they are.
    for (const { body } of records) everything.told(body.id, body.status)
    const { entries } = (await program.call('GET', '/whitelist?limit=500')).body
    const listed = new Set(entries.map((one: any) => one.id))
    t.same(
      [...ledger.grants.keys()].filter((id) => !listed.has(id)),
      [],
      `round ${round}: all ${ledger.grants.size} answered grants are there`,
    )
  }
  t.equal((await program.stop()).code, 0)

  t.same(
    history.filter((event, index) => event.seq !== index + 1),
    [],
    `the ${history.length} events are numbered without a gap`,
  )
  const per = (types: string[], key: (event: any) => string) => {
    const counts = new Map<string, number>()
    for (const event of history.filter(({ type }) => types.includes(type)))
      counts.set(key(event), (counts.get(key(event)) ?? 0) + 1)
    return counts
  }
  const submitted = per(['submitted'], (event) => event.confirmation_id)
  const resolved = per(resolutions, (event) => event.confirmation_id)
  t.ok(
    [...submitted.values()].every((count) => count === 1),
    'nothing was submitted twice',
  )
  t.ok(
    [...resolved.values()].every((count) => count === 1),
    'nothing was resolved twice',
  )

  const db = new Database(dbPath, { readonly: true })
  t.teardown(() => db.close())
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  const rows = db.prepare('SELECT id, status FROM confirmations').all() as { id: string; status: string }[]
  t.same(new Set(rows.map(({ id }) => id)), new Set(submitted.keys()), 'records and history name the same ids')
  t.same(
    rows.filter(({ id, status }) => (status === 'pending') === resolved.has(id)),
    [],
    'a record is resolved exactly if the history says so',
  )
  const byId = new Map(rows.map(({ id, status }) => [id, status]))
  t.same(
    everything.ids().filter((id) => !everything.allows(id, byId.get(id)!)),
    [],
    'no later crash changed what stood',
  )
  const uses = per(['auto_approved'], (event) => event.data.grant_id)
  const grants = db.prepare('SELECT id, uses FROM grants').all() as { id: string; uses: number }[]
  t.same(
    grants.filter(({ id, uses: counted }) => counted !== (uses.get(id) ?? 0)),
    [],
    'each grant was used exactly as often as the history says',
  )
})

t.test('a claim whose answer was lost to a kill is had again with its key, and costs no second approval', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const first = await start(t, { dbPath, flags })
  const ids: string[] = []
  for (let index = 0; index < 40; index++) {
    const { id } = (await first.submit({ details: { index } })).body
    await first.call('POST', `/confirm/${id}/approve`)
    ids.push(id)
  }
  const claim = (program: Program, id: string) =>
    program.call('POST', `/confirm/${id}/claim`, undefined, { 'idempotency-key': `random-${ids.indexOf(id)}` })
  const db = new Database(dbPath, { readonly: true })
  t.teardown(() => db.close())
  const claimed = db.prepare("SELECT confirmation_id FROM events WHERE type = 'claimed'").pluck()

  // Nobody hears an answer: what is on disk is all that tells that it was claimed.
  const lost = ids.map((id) => claim(first, id).catch(() => null))
  while (claimed.all().length === 0) await new Promise((resolve) => setImmediate(resolve))
  await first.crash()
  await Promise.all(lost)
  const onDisk = claimed.all() as string[]

  const second = await start(t, { dbPath, flags })
  for (const id of ids) {
    const { status, headers, body } = await claim(second, id)
    t.match([status, body.execution], [200, 'claimed'], id)
    t.equal(headers['idempotency-replayed'], onDisk.includes(id) ? 'true' : undefined)
  }
  t.same((claimed.all() as string[]).toSorted(), ids.toSorted(), 'each was claimed once')
})
