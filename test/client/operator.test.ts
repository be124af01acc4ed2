// What people and bots do with the client: against a service, and against servers that break.
import t, { type Test } from 'tap'
import type { Event } from '../../src/client/api.js'
import { Operator, type OperatorOptions } from '../../src/client/index.js'
import { build, giveKeys } from '../support.js'
import { play, sendJson } from './played-server.js'

function operatorAt(t: Test, options: OperatorOptions): Operator {
  const operator = new Operator(options)
  t.teardown(() => operator.close())
  return operator
}

async function serve(t: Test) {
  const built = await build(t, { config: { rateLimit: 1000 }, newId: realIds() })
  const keys = await giveKeys(built, { bot: 'agent', alice: 'operator', ann: 'auditor' })
  const url = await built.app.listen({ host: '127.0.0.1', port: 0 })
  const as = (name: keyof typeof keys) => operatorAt(t, { url, key: keys[name].key })
  const submit = async (fields: object = {}): Promise<string> => {
    const answer = await keys.bot('POST', '/confirm', { action: 'send_mail', description: 'Send it', ...fields })
    return answer.body.id as string
  }
  return { ...built, keys, url, as, submit }
}

/** As they are made: a clock first, chance last. */
function realIds() {
  let count = 0
  return () => `019b7765-1c80-7d3f-9a51-${(0xabc000000000 + (count += 1)).toString(16)}`
}

t.test('a person sees what is pending, shows one by the end of its id, approves and denies', async (t) => {
  const { as, submit } = await serve(t)
  const [one, other] = [await submit(), await submit({ action: 'refund' })]
  const alice = as('alice')
  t.same((await alice.pending()).map(({ id }) => id).sort(), [one, other].sort())
  t.same(
    (await alice.pending({ action: 'refund' })).map(({ id }) => id),
    [other],
  )
  t.match(await alice.show(one), { id: one, status: 'pending', deliveries: [] })
  t.match(await alice.show(other.slice(-6)), { id: other, action: 'refund' })
  const approved = await alice.approve(one, { reason: 'fine', remember: { scope: 'global', ttl_seconds: 60 } })
  t.match(approved, { id: one, status: 'approved', resolved_by: 'alice', grant: { action: 'send_mail' } })
  t.match(await alice.deny(other, { reason: 'no' }), { status: 'denied', reason: 'no' })
  t.same(await alice.pending(), [])
  await t.rejects(alice.approve(other), { code: 'already_resolved', status: 409, problem: { status: 'denied' } })
  await t.rejects(alice.approve(one.slice(-6)), { code: 'not_found' }, 'a decision takes the whole id')
  await t.rejects(as('bot').approve(one), { code: 'forbidden', status: 403 })
  await t.rejects(alice.show('nothing'), { code: 'not_found' })
})

t.test('all that is pending is listed, page by page, or as many as are wanted', async (t) => {
  const { as, submit } = await serve(t)
  for (let i = 0; i < 7; i++) await submit({ details: { i } })
  const alice = as('alice')
  t.equal((await alice.pending({ limit: 3 })).length, 3)
  const server = await play(t, (request, response) => {
    const cursor = new URL(request.url!, 'http://x').searchParams.get('cursor')
    const next = { null: 'a', a: 'b', b: null }[String(cursor)]
    sendJson(response, { count: 1, confirmations: [{ id: String(cursor) }], next_cursor: next })
  })
  const all = await operatorAt(t, { url: server.url, key: null }).pending()
  t.same(
    all.map(({ id }) => id),
    ['null', 'a', 'b'],
  )
})

t.test('without keys a name can be given', async (t) => {
  const built = await build(t)
  const url = await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { body } = await built.submit()
  const operator = operatorAt(t, { url, key: null })
  t.match(await operator.approve(body.id, { by: 'carol' }), { resolved_by: 'carol' })
  const other = (await built.submit({ action: 'refund' })).body
  t.match(await operator.deny(other.id, { by: 'carol' }), { resolved_by: 'carol' })
})

t.test('anything else is a call: what the API answers, and what it refuses', async (t) => {
  const { as } = await serve(t)
  const ann = as('ann')
  const { status, body } = await ann.call<{ count: number }>('GET', '/audit/events', { query: { type: 'key_added' } })
  t.equal(status, 200)
  t.equal(body.count, 3)
  await t.rejects(ann.call('GET', '/audit', { query: { statsu: 'x' } }), { code: 'unknown_parameter' })
})

/** So many events, and then no more. */
async function take(events: AsyncIterable<Event>, count: number): Promise<Event[]> {
  const taken: Event[] = []
  if (count > 0) for await (const event of events) if (taken.push(event) === count) break
  return taken
}

t.test('one confirmation is followed from its first event to its last, and then the loop ends', async (t) => {
  const { as, submit } = await serve(t)
  const id = await submit()
  const alice = as('alice')
  const seen: string[] = []
  for await (const { type } of as('ann').follow({ id })) {
    seen.push(type)
    if (type === 'submitted') await alice.approve(id)
  }
  t.same(
    seen.filter((type) => !type.startsWith('notif')),
    ['submitted', 'approved'],
  )
})

t.test('everything is followed from now on, or after a number, and filtered', async (t) => {
  const { as, submit } = await serve(t)
  await submit()
  const ann = as('ann')
  let isOpen = () => {}
  const open = new Promise<void>((resolve) => (isOpen = resolve))
  const later = take(ann.follow({ types: ['submitted'], onOpen: isOpen }), 1)
  await open
  const id = await submit({ action: 'refund' })
  t.match(await later, [{ type: 'submitted', confirmation_id: id, data: { action: 'refund' } }])
  const all = await take(ann.follow({ after: 0, types: ['submitted', 'key_added'] }), 5)
  t.same(
    all.map(({ type }) => type),
    ['key_added', 'key_added', 'key_added', 'submitted', 'submitted'],
  )
})

t.test('a stream that breaks goes on behind the last event, and tells of it', async (t) => {
  const event = (seq: number) => `id: ${seq}\nevent: x\ndata: ${JSON.stringify({ seq, type: 'submitted' })}\n\n`
  let round = 0
  const server = await play(t, (request, response) => {
    round += 1
    if (round === 3) return void response.destroy()
    if (round === 4) return sendJson(response, { code: 'shutting_down', error: 'x' }, 503)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const last = Number(request.headers['last-event-id'] ?? 0)
    // In pieces, with half an event at the end that the next round has whole.
    response.write('retry: 1\n')
    response.write(`id: ${last}\n\n: still here\n\n${event(last + 1)}${event(last + 2).slice(0, 20)}`, () =>
      setImmediate(() => (round === 1 ? response.destroy() : response.end())),
    )
  })
  const lost: unknown[] = []
  let opened = 0
  const follow = operatorAt(t, { url: server.url, key: null }).follow({
    after: 7,
    onLost: (error) => lost.push(error),
    onOpen: () => (opened += 1),
  })
  t.same(
    (await take(follow, 3)).map(({ seq }) => seq),
    [8, 9, 10],
  )
  t.same(
    server.requests.map(({ headers }) => headers['last-event-id']),
    ['7', '8', '9', '9', '9'],
  )
  t.equal(opened, 3)
  t.match(lost, [{ code: 'unreachable' }, null, { code: 'unreachable' }, { code: 'shutting_down' }])
})

t.test('following ends for good where another try is of no use, and when it is aborted', async (t) => {
  const { as, url } = await serve(t)
  await t.rejects(take(as('bot').follow(), 1), { code: 'forbidden' })
  await t.rejects(take(operatorAt(t, { url, key: 'hpk_none' }).follow(), 1), { code: 'unauthorized' })
  await t.rejects(take(as('ann').follow({ after: 1_000_000 }), 1), { code: 'invalid_cursor' })
  await t.rejects(take(as('ann').follow({ id: 'nothing' }), 1), { code: 'not_found' })
  const controller = new AbortController()
  const aborted = take(as('ann').follow({ signal: controller.signal, onOpen: () => controller.abort() }), 1)
  await t.rejects(aborted, { code: 'aborted' })
  const nobody = new AbortController()
  const onLost = () => nobody.abort()
  const alone = operatorAt(t, { url: 'http://127.0.0.1:1', key: null }).follow({ signal: nobody.signal, onLost })
  await t.rejects(take(alone, 1), { code: 'aborted' }, 'also between two tries')
})
