// What happens around a deadline: who is told something is told what stands, however slow the disk is.
import t, { type Test } from 'tap'
import { onThisThread, type OpenWriting } from '../../src/store/sqlite/writing.js'
import { type Answer, type Built, build, type BuildOptions, settled } from '../support.js'

/** A disk that begins to write only when it may. */
function slowDisk() {
  let held: (() => void)[] | null = null
  const openWriting: OpenWriting = (file, done, fail) => {
    const writer = onThisThread(file, done, fail)
    return {
      ...writer,
      send: (packet) => (held === null ? writer.send(packet) : void held.push(() => writer.send(packet))),
    }
  }
  const release = () => {
    const waiting = held ?? []
    held = null
    waiting.forEach((go) => go())
  }
  return { openWriting, hold: () => void (held ??= []), release }
}

type SlowDisk = ReturnType<typeof slowDisk>

async function slow(t: Test, options: BuildOptions = {}): Promise<{ built: Built; disk: SlowDisk }> {
  const disk = slowDisk()
  const built = await build(t, { openWriting: disk.openWriting, ...options })
  // Whatever fails, the end must not wait for the disk.
  t.teardown(disk.release)
  return { built, disk }
}

/** Moves on while the disk is held: nobody may wait for it meanwhile. */
async function pass({ clock }: Built, ms: number): Promise<void> {
  const stores = [...clock.stores]
  clock.stores.clear()
  await clock.advance(ms)
  stores.forEach((one) => clock.stores.add(one))
}

/** Asks, and tells whether there is an answer yet. */
function ask(asking: Promise<Answer>) {
  const asked = { isAnswered: false, answer: asking }
  void asking.then(() => (asked.isAnswered = true))
  return asked
}

const one = '/confirm/id-0001'
const approveInTime = { timeout_seconds: 30, session_key: 's1' }
const approvalMs = 900_000
const reportMs = 3_600_000

t.test('an approval that began in time stands, and whoever comes later waits to be told so', async (t) => {
  const { built, disk } = await slow(t)
  const { call, submit, clock } = built
  await submit(approveInTime)
  const waiting = ask(call('GET', `${one}?wait=60`))
  await clock.advance(29_999)
  disk.hold()
  const approving = ask(call('POST', `${one}/approve`, { approver: 'alice' }))
  await settled()
  await pass(built, 2)
  const readers = {
    waiting,
    reading: ask(call('GET', one)),
    listing: ask(call('GET', '/confirm')),
    auditing: ask(call('GET', '/audit')),
    page: ask(call('GET', '/view/id-0001')),
    state: ask(call('GET', '/view/id-0001/state?version=1&wait=0')),
    denying: ask(call('POST', `${one}/deny`)),
    cancelling: ask(call('POST', `${one}/cancel`)),
    claiming: ask(call('POST', `${one}/claim`)),
  }
  await settled()
  for (const [name, { isAnswered }] of Object.entries(readers))
    t.equal(isAnswered, false, `${name} is told nothing yet`)
  disk.release()
  t.match(await approving.answer, { status: 200, body: { status: 'approved', resolved_by: 'alice' } })
  t.equal((await readers.waiting.answer).body.status, 'approved')
  t.equal((await readers.reading.answer).body.status, 'approved')
  t.equal((await readers.listing.answer).body.confirmations[0].status, 'approved')
  t.equal((await readers.auditing.answer).body.entries[0].status, 'approved')
  t.match((await readers.page.answer).body, /<b>Approved<\/b> by/)
  t.equal((await readers.state.answer).body.version, 2)
  t.match(await readers.denying.answer, { status: 409, body: { code: 'already_resolved', status: 'approved' } })
  t.match(await readers.cancelling.answer, { status: 409, body: { code: 'already_resolved', status: 'approved' } })
  t.match(await readers.claiming.answer, { status: 200, body: { execution: 'claimed' } })
  await clock.advance(1000)
  t.equal((await call('GET', one)).body.status, 'approved')
})

t.test('readers wait for what began before the deadline, not for the expiry to be written', async (t) => {
  const { built, disk } = await slow(t)
  const { call, submit, clock } = built
  await submit(approveInTime)
  await clock.advance(29_999)
  disk.hold()
  await pass(built, 2)
  // The sweep has begun to write by now.
  t.match(await call('GET', one), { status: 200, body: { status: 'expired', resolved_by: 'system:timeout' } })
  t.match(await call('POST', `${one}/approve`), { status: 409, body: { status: 'expired' } })
  disk.release()
})

t.test('lists show what is true while many expiries are still to be written, and wait for none', async (t) => {
  const { built, disk } = await slow(t, { config: { rateLimit: 1000 } })
  const { call, submit, clock, service } = built
  const items = Array.from({ length: 100 }, (_, n) => ({ action: 'noise', description: 'x', details: { n } }))
  for (let round = 0; round < 3; round++) {
    const all = items.map((item) => ({ ...item, description: `round ${round}`, timeout_seconds: 30 }))
    t.equal((await call('POST', '/confirm/batch', { items: all })).status, 200)
  }
  const { id } = (await submit({ timeout_seconds: 300 })).body
  await clock.advance(29_999)
  disk.hold()
  await pass(built, 2)
  t.match((await call('GET', '/health')).body, { pending_count: 1 })
  const pending = (await call('GET', '/confirm?status=pending')).body
  t.match(pending, { count: 1, confirmations: [{ id }], next_cursor: null })
  t.match((await call('GET', '/audit?status=pending')).body, { count: 1, entries: [{ id }] })
  for (const filter of ['/confirm?status=expired', '/audit?resolved_by=system:timeout', '/audit?status=expired']) {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body }: Answer = await call('GET', `${filter}&limit=70${cursor === '' ? '' : `&cursor=${cursor}`}`)
      for (const one of body.confirmations ?? body.entries) {
        t.match(one, { status: 'expired', resolved_by: 'system:timeout' })
        seen.push(one.id)
      }
      cursor = body.next_cursor
    }
    t.equal(seen.length, 300, filter)
    t.equal(new Set(seen).size, 300)
  }
  const { items: waiting, count, ended, next } = await service.readList(null)
  t.match([waiting, count, next], [[{ id }], 1, null])
  t.equal(ended.length, 5)
  t.ok(ended.every(({ status }) => status === 'expired'))
  disk.release()
  await clock.advance(1000)
  t.same(
    (await service.readList(null)).ended.map((one) => one.id),
    ended.map((one) => one.id),
    'and on record it is the same list',
  )
})

t.test('what comes in time stands, also where the writer is busy until it is over', async (t) => {
  const verbs = [
    ['approve', 'approved', 30_000],
    ['deny', 'denied', 30_000],
    ['cancel', 'cancelled', 30_000],
    ['claim', 'approved', approvalMs],
  ] as const
  for (const [verb, status, life] of verbs) {
    t.test(verb, async (t) => {
      const { built, disk } = await slow(t)
      const { call, submit, clock, events } = built
      await submit(approveInTime)
      if (verb === 'claim') await call('POST', `${one}/approve`)
      await clock.advance(life - 1)
      disk.hold()
      // The writer is busy with something else.
      const other = ask(submit({ action: 'other' }))
      await settled()
      const last = ask(call('POST', `${one}/${verb}`))
      await settled()
      await pass(built, 1)
      const reading = ask(call('GET', one))
      const late = ask(call('POST', `${one}/${verb === 'deny' ? 'approve' : 'deny'}`))
      await settled()
      t.notOk(reading.isAnswered || late.isAnswered, 'nobody is told that it is over')
      disk.release()
      t.match(await last.answer, { status: 200, body: { status } })
      t.equal((await other.answer).status, 202)
      t.match((await reading.answer).body, verb === 'claim' ? { execution: 'claimed' } : { status })
      t.match(await late.answer, { status: 409, body: { code: 'already_resolved', status } })
      await clock.advance(1000)
      t.match((await call('GET', one)).body, (await reading.answer).body, 'and that stands')
      const ended = (await events()).filter(({ confirmation_id: id }) => id === 'id-0001').map(({ type }) => type)
      t.notOk(ended.includes('expired') || ended.includes('lapsed'), ended.join())
    })
  }
})

t.test('a claim that began in time is a claim, also for whoever looks after the approval has lapsed', async (t) => {
  const { built, disk } = await slow(t)
  const { call, submit, clock } = built
  await submit(approveInTime)
  await call('POST', `${one}/approve`)
  await clock.advance(approvalMs - 1)
  disk.hold()
  const claiming = ask(call('POST', `${one}/claim`))
  await settled()
  await pass(built, 5)
  const reading = ask(call('GET', one))
  const again = ask(call('POST', `${one}/claim`))
  await settled()
  t.notOk(reading.isAnswered || again.isAnswered)
  disk.release()
  t.equal((await claiming.answer).status, 200)
  t.equal((await reading.answer).body.execution, 'claimed')
  t.match(await again.answer, { status: 409, body: { code: 'already_claimed' } })
})

t.test('a report that began in time was never overdue', async (t) => {
  for (const isBusy of [false, true]) {
    const { built, disk } = await slow(t)
    const { call, submit, clock, events } = built
    await submit(approveInTime)
    await call('POST', `${one}/approve`)
    await call('POST', `${one}/claim`)
    await clock.advance(reportMs - 1)
    disk.hold()
    if (isBusy) {
      void submit({ action: 'other' })
      await settled()
    }
    const reporting = ask(call('POST', `${one}/report`, { outcome: 'succeeded' }))
    await settled()
    await pass(built, 5)
    const reading = ask(call('GET', one))
    await settled()
    t.equal(reading.isAnswered, false)
    disk.release()
    t.match(await reporting.answer, { status: 200, body: { execution: 'succeeded' } })
    t.equal((await reading.answer).body.execution, 'succeeded')
    const told = (await events()).filter(({ confirmation_id: id }) => id === 'id-0001').map(({ type }) => type)
    t.notOk(told.includes('unreported'), told.join())
  }
})

t.test('a grant covers what was asked before its end, also where the writer is busy until then', async (t) => {
  for (const isBusy of [false, true]) {
    const { built, disk } = await slow(t)
    const { call, submit, clock } = built
    await call('POST', '/whitelist', { action: 'send_mail', ttl_seconds: 60 })
    await clock.advance(59_999)
    disk.hold()
    if (isBusy) {
      void submit({ action: 'other' })
      await settled()
    }
    const submitting = ask(submit())
    const batch = ask(call('POST', '/confirm/batch', { items: [{ action: 'send_mail', description: 'd' }] }))
    await settled()
    await pass(built, 5)
    const listing = ask(call('GET', '/whitelist'))
    await settled()
    t.equal(listing.isAnswered, false, 'nobody is told that it is over while it is used')
    disk.release()
    t.equal((await submitting.answer).status, 200)
    t.equal((await batch.answer).body.results[0].status_code, 200)
    t.equal((await listing.answer).body.count, 0)
  }
})

// -- a commit that the disk does not confirm ---------------------------------------------------------------------------

/** Fails as SQLite does when the disk answers a sync with an error: what was written may be there after a crash. */
function failingDisk() {
  let fault: { code: string; isUnknown?: boolean } | null = null
  const openWriting: OpenWriting = (file, done, fail) => {
    const writer = onThisThread(file, done, fail)
    return {
      ...writer,
      send(packet) {
        const failed = fault
        if (failed === null) writer.send(packet)
        else setImmediate(() => done(packet[0].map(() => ({ error: 'disk I/O error', ...failed }))))
      },
    }
  }
  return { openWriting, fail: (how: typeof fault) => void (fault = how) }
}

const unknown = { status: 503, headers: { 'retry-after': '1' }, body: { code: 'outcome_unknown' } }

t.test('what the disk did not confirm is told to nobody, until a later commit has settled it', async (t) => {
  const disk = failingDisk()
  const built = await build(t, { openWriting: disk.openWriting })
  const { call, submit, clock } = built
  await submit(approveInTime)
  await submit({ action: 'other' })
  await call('POST', '/whitelist', { action: 'send_mail' })
  disk.fail({ code: 'SQLITE_IOERR_FSYNC', isUnknown: true })
  t.match(await call('POST', `${one}/approve`), unknown)
  t.match(await call('GET', one), unknown, 'a reader')
  t.match(await call('GET', `${one}?wait=5`), unknown, 'one who would wait')
  t.match(await call('POST', `${one}/deny`), unknown, 'one who decides')
  t.match(await call('POST', `${one}/claim`), unknown, 'one who acts')
  t.match(await call('GET', '/confirm'), unknown, 'a list that has it')
  t.match(await call('GET', '/audit'), unknown)
  t.match(await call('GET', '/audit?status=approved'), unknown, 'one that may have it')
  t.match(await call('GET', '/audit/events?confirmation_id=id-0001'), unknown, 'its history')
  t.equal((await call('GET', '/')).status, 503)
  t.equal((await call('GET', '/view/id-0001')).status, 503)
  t.match(
    await call('GET', '/confirm/id-0002'),
    { status: 200, body: { status: 'pending' } },
    'others are not concerned',
  )
  t.equal((await call('GET', '/whitelist')).status, 200)
  t.match(await submit({ action: 'third' }), unknown)
  t.match(await call('DELETE', `/whitelist/${(await call('GET', '/whitelist')).body.entries[0].id}`), unknown)
  t.match(await call('GET', '/whitelist'), unknown)
  disk.fail(null)
  t.equal((await submit({ action: 'fourth' })).status, 202)
  t.equal((await call('GET', one)).body.status, 'pending', 'it was not approved after all')
  t.equal((await call('GET', '/whitelist')).body.count, 1)
  t.equal((await call('POST', `${one}/approve`)).body.status, 'approved')
  await clock.advance(0)
})

t.test('where the rollback is certain, nothing was changed and everybody is told so', async (t) => {
  const disk = failingDisk()
  const { call, submit } = await build(t, { openWriting: disk.openWriting })
  await submit()
  disk.fail({ code: 'SQLITE_FULL' })
  t.match(await call('POST', `${one}/approve`), { status: 503, body: { code: 'storage_unavailable' } })
  t.match(await call('GET', one), { status: 200, body: { status: 'pending' } })
})

t.test('a doubt ends by itself: nobody has to submit anything', async (t) => {
  const disk = failingDisk()
  const { call, submit } = await build(t, { openWriting: disk.openWriting })
  await submit()
  disk.fail({ code: 'SQLITE_IOERR_FSYNC', isUnknown: true })
  await call('POST', `${one}/approve`)
  disk.fail(null)
  while ((await call('GET', one)).status === 503) await settled()
  t.equal((await call('GET', one)).body.status, 'pending')
})
