// A disk that is full, or read-only: refusals that change nothing, and a service that resumes by itself.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { needs } from '../needs.js'
import { temporaryFolder, until } from '../support.js'
import { type Program, run, start } from './program.js'

const flags = ['--rate-limit', '1000000', '--flood-limit', '0']

function mountDisk(t: Test, size: string): string {
  const folder = temporaryFolder(t)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' })
  // Lazily: it comes away even if a process that failed to end still holds a file.
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

/** Takes all the space there is. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w')
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) writeSync(descriptor, Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  closeSync(descriptor)
}

/** What is on record, as the file has it. */
function counts(dbPath: string) {
  const db = new Database(dbPath, { readonly: true })
  const count = (sql: string) => db.prepare(sql).pluck().get() as number
  const found = {
    integrity: db.pragma('integrity_check', { simple: true }),
    records: count('SELECT count(*) FROM confirmations'),
    submitted: count("SELECT count(*) FROM events WHERE type = 'submitted'"),
    pending: count("SELECT count(*) FROM confirmations WHERE status = 'pending'"),
    decided: count("SELECT count(*) FROM events WHERE type IN ('approved', 'denied', 'cancelled', 'expired')"),
    deliveries: count('SELECT count(*) FROM deliveries'),
    grants: count('SELECT count(*) FROM grants'),
    gaps: count('SELECT coalesce(max(seq), 0) - count(*) FROM events'),
  }
  db.close()
  return found
}

const unavailable = { status: 503, headers: { 'retry-after': '1' }, body: { code: 'storage_unavailable' } }

async function refusesAll(t: Test, program: Program, open: string): Promise<void> {
  // Large enough that no page with room left takes it.
  t.match(await program.submit({ description: 'x'.repeat(20_000) }), unavailable, 'submit')
  t.match(await program.call('POST', `/confirm/${open}/approve`, { reason: 'x'.repeat(9000) }), unavailable, 'approve')
  t.match(await program.call('POST', `/confirm/${open}/deny`, { reason: 'x'.repeat(9000) }), unavailable, 'deny')
  t.match(await program.call('POST', `/confirm/${open}/cancel`, { reason: 'x'.repeat(9000) }), unavailable, 'cancel')
  t.match(await program.call('POST', '/whitelist', { action: 'x', reason: 'x'.repeat(9000) }), unavailable, 'grant')
  t.match(await program.call('GET', '/ready'), unavailable, 'not ready')
  t.match(await program.call('GET', '/health'), { status: 200, body: { status: 'ok' } }, 'but alive')
  t.equal((await program.call('GET', `/confirm/${open}`)).body.status, 'pending', 'and readable')
  t.equal((await program.call('GET', '/audit')).status, 200)
}

async function worksAgain(t: Test, program: Program, open: string): Promise<void> {
  await until(async () => (await program.call('GET', '/ready')).status === 200)
  t.match(await program.call('POST', `/confirm/${open}/approve`), { status: 200, body: { status: 'approved' } })
  t.equal((await program.submit()).status, 202)
  t.equal((await program.call('POST', '/whitelist', { action: 'y' })).status, 201)
}

t.test('a full disk is refused with 503, changes nothing, and is over when there is space', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '4m')
  const program = await start(t, { dbPath: join(disk, 'test.db'), flags })
  const open = (await program.submit()).body.id as string
  const others = await Promise.all(Array.from({ length: 20 }, () => program.submit()))
  t.ok(others.every(({ status }) => status === 202))

  const filler = join(disk, 'filler')
  fill(filler)
  // What room the files have left inside is used up by submissions; from the first refusal on, all of them are refused.
  const accepted: string[] = []
  for (;;) {
    const { status, body } = await program.submit({ description: 'x'.repeat(4000) })
    if (status !== 202) break
    accepted.push(body.id)
  }
  const before = counts(program.dbPath)
  t.match(before, { integrity: 'ok', records: 21 + accepted.length, decided: 0, gaps: 0 })
  t.equal(before.submitted, before.records)
  t.equal(before.deliveries, before.records)
  await refusesAll(t, program, open)
  const burst = await Promise.all(Array.from({ length: 50 }, () => program.submit({ description: 'x'.repeat(20_000) })))
  t.ok(
    burst.every(({ status }) => status === 503),
    'also many at once',
  )
  t.same(counts(program.dbPath), before, 'nothing was half-written')

  rmSync(filler)
  await worksAgain(t, program, open)
  t.match(counts(program.dbPath), {
    integrity: 'ok',
    records: before.records + 1,
    submitted: before.records + 1,
    decided: 1,
    gaps: 0,
  })
  t.match(
    program.logged().find((line) => line.msg === 'storage_unavailable'),
    { level: 'error' },
  )
  t.equal((await program.stop()).code, 0)
})

t.test('a slot that a failed submission took is given back', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '4m')
  const program = await start(t, { dbPath: join(disk, 'test.db'), flags: ['--rate-limit', '3'] })
  fill(join(disk, 'filler'))
  for (let i = 0; i < 5; i++) t.equal((await program.submit({ description: 'x'.repeat(900_000) })).status, 503)
  rmSync(join(disk, 'filler'))
  await until(async () => (await program.call('GET', '/ready')).status === 200)
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await program.submit()).status)
  t.same(statuses, [202, 202, 202, 429])
})

t.test('a first key that found no room leaves the service open, also after a restart', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '4m')
  const dbPath = join(disk, 'test.db')
  const program = await start(t, { dbPath })
  fill(join(disk, 'filler'))
  t.equal((await program.call('POST', '/keys', { name: 'root', role: 'admin' })).status, 503)
  rmSync(join(disk, 'filler'))
  await until(async () => (await program.call('GET', '/ready')).status === 200)
  t.equal((await program.submit()).status, 202)
  await program.stop()
  t.equal((await (await start(t, { dbPath })).submit()).status, 202)
})

t.test('what falls due while the disk is full is expired, and recorded when there is space', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '4m')
  const dbPath = join(disk, 'test.db')
  const first = await start(t, { dbPath, flags })
  const { id } = (await first.submit()).body
  await first.stop()
  const db = new Database(dbPath)
  const deadline = Date.now() + 4000
  db.prepare('UPDATE confirmations SET deadline = ?, due_at = ? WHERE id = ?').run(deadline, deadline, id)
  db.close()

  const program = await start(t, { dbPath, flags })
  fill(join(disk, 'filler'))
  for (;;) if ((await program.submit({ description: 'x'.repeat(4000) })).status !== 202) break
  for (;;) if ((await program.call('GET', '/ready')).status !== 200) break
  await until(async () => (await program.call('GET', `/confirm/${id}`)).body.status === 'expired')
  t.match(await program.call('POST', `/confirm/${id}/approve`), { status: 409, body: { status: 'expired' } })
  rmSync(join(disk, 'filler'))
  const expiries = async () => (await program.events()).filter((one) => one.type === 'expired')
  await until(async () => (await expiries()).length > 0)
  t.match(await expiries(), [{ confirmation_id: id, data: { resolved_at: deadline / 1000 } }])
})

t.test('a disk that takes no writes is a sentence, not a stack, and the database is left as it was', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '4m')
  const dbPath = join(disk, 'test.db')
  const first = await start(t, { dbPath, flags })
  const open = (await first.submit()).body.id as string
  await first.stop()
  // Between two runs: the kernel refuses this while a file is open for writing.
  execFileSync('mount', ['-o', 'remount,ro', disk])
  const { code, stderr } = await run(t, ['--port', '0', '--web-port', 'off', '--db-path', dbPath])
  t.equal(code, 1)
  t.match(stderr, /^Cannot open the database .*Check that the folder exists and is writable.*\n$/)
  execFileSync('mount', ['-o', 'remount,rw', disk])
  const second = await start(t, { dbPath, flags })
  t.equal((await second.call('POST', `/confirm/${open}/approve`)).status, 200)
})

t.test('a disk without room for the database is a sentence, not a stack', async (t) => {
  if (!needs(t, 'a disk of its own')) return
  const disk = mountDisk(t, '1m')
  fill(join(disk, 'filler'))
  await t.rejects(start(t, { dbPath: join(disk, 'test.db') }), {
    message: /Cannot open the database .*test\.db: database or disk is full/,
  })
})
