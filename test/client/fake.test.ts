// The fake: the same class with the same errors, which only its own call makes.
import t from 'tap'
import { Holdpoint, type FakeOutcome } from '../../src/client/index.js'

const ask = { action: 'refund', description: 'Refund an order', details: { order: 4711 } }

t.test('what is approved is done, once, and kept with how it went', async (t) => {
  const fake = Holdpoint.fake({ answer: 'approved' })
  t.ok(fake instanceof Holdpoint)
  const refund = fake.guard('refund', ({ order }: { order: number }) => order + 1, { describe: () => 'Refund' })
  t.equal(await refund({ order: 1 }), 2)
  t.match(fake.asked, [{ action: 'refund', details: { order: 1 }, status: 'approved', execution: 'succeeded' }])
  const failing = fake.run(ask, () => Promise.reject(new Error('no such order')))
  await t.rejects(failing, { message: 'no such order' })
  t.match(fake.asked[1], { execution: 'failed', report_message: 'Error: no such order' })
  t.equal(await Holdpoint.fake({ answer: 'auto_approved' }).run(ask, () => 1), 1)
})

t.test('every other outcome is its error, and nothing is done', async (t) => {
  const outcomes = [
    'denied',
    'expired',
    'cancelled',
    'claim_refused',
    'claim_uncertain',
    'rate_limited',
    'suspended',
  ] as const
  for (const outcome of [...outcomes, 'unreachable'] as FakeOutcome[]) {
    const fake = Holdpoint.fake({ answer: { outcome, by: 'bob', reason: 'too much' } })
    await t.rejects(
      fake.run(ask, () => t.fail()),
      { code: outcome },
      outcome,
    )
    t.equal(fake.asked.length, 1)
  }
  const denied = Holdpoint.fake({ answer: { outcome: 'denied', by: 'bob', reason: 'too much' } })
  await t.rejects(
    denied.run(ask, () => t.fail()),
    { code: 'denied', by: 'bob', reason: 'too much' },
  )
})

t.test('the answer may follow from what is asked', async (t) => {
  const fake = Holdpoint.fake({ answer: ({ details }) => (Number(details.order) < 10 ? 'approved' : 'denied') })
  t.equal(await fake.run({ ...ask, details: { order: 9 } }, ({ order }) => order), 9)
  await t.rejects(
    fake.run(ask, () => t.fail()),
    { code: 'denied' },
  )
})

t.test('left out, it waits for the test to decide, with the verbs of operators', async (t) => {
  const fake = Holdpoint.fake()
  const running = fake.run(ask, () => 'done')
  while (fake.asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const [waiting] = await fake.pending()
  t.match(await fake.show(waiting!.id), { status: 'pending', description: 'Refund an order' })
  await fake.approve(waiting!.id, { by: 'alice' })
  t.equal(await running, 'done')
  t.equal(fake.asked[0]!.resolved_by, 'alice')
  await t.rejects(fake.deny(waiting!.id), { code: 'already_resolved', status: 409 })
  await t.rejects(fake.show('nothing'), { code: 'not_found' })

  const abort = new AbortController()
  const given = fake.run({ ...ask, signal: abort.signal }, () => t.fail()).catch((error: unknown) => error)
  while (fake.asked.length === 1) await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  t.match(await given, { code: 'aborted' })
  t.equal(fake.asked[1]!.status, 'cancelled')
})

t.test('asked again with the same key it is the same request, and it is claimed once', async (t) => {
  const fake = Holdpoint.fake({ answer: 'approved' })
  const request = await fake.request({ ...ask, idempotencyKey: 'call_1' })
  t.equal((await fake.request({ ...ask, idempotencyKey: 'call_1' })).id, request.id)
  await fake.act(request, () => 'done')
  await t.rejects(
    fake.act(request, () => t.fail()),
    { code: 'claim_refused', reason: 'already_claimed' },
  )
})

t.test('what a real one refuses to send is refused, and no environment makes one', async (t) => {
  const fake = Holdpoint.fake({ answer: 'approved' })
  await t.rejects(
    fake.run({ ...ask, details: { when: new Date() } }, () => t.fail()),
    { code: 'invalid' },
  )
  const before = { ...process.env }
  t.teardown(() => (process.env = before))
  for (const name of ['URL', 'KEY', 'FAKE', 'TEST', 'ANSWER', 'MODE', 'DISABLED'])
    process.env[`HOLDPOINT_${name}`] = 'fake'
  process.env.HOLDPOINT_URL = 'http://127.0.0.1:1'
  process.env.NODE_ENV = 'test'
  await t.rejects(
    new Holdpoint({ deadlineMs: 30 }).run(ask, () => t.fail()),
    { code: 'unreachable' },
  )
})
