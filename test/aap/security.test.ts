// What the Agent Approval Protocol requires of a provider in its section on security, sentence by sentence in words of our own;
// and what this service promises beside that.
import t from 'tap'
import { StoreUnavailable as Full } from '../../src/store/store.js'
import { type Answer, build, type CallAs, interleaving, manualClock, until, withKey } from '../support.js'
import {
  approve,
  changesNothing,
  credentialOf,
  deny,
  history,
  newKey,
  proposal,
  propose,
  provider,
  provision,
  read,
  readInstance,
  record,
  remove,
  rename,
  typesOf,
  withdraw,
} from './wire.js'

// -- 1: who asks, and for what -------------------------------------------------------------------------------------------

t.test('without a credential that is good nothing is asked, read or withdrawn', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  await built.root('DELETE', `/keys/${built.bot.keyId}`)
  for (const as of [built.call as CallAs, built.bot, withKey(built.call, 'x')]) {
    for (const act of [() => propose(as), () => read(as, id), () => withdraw(as, id)]) {
      await changesNothing(t, built, act, 401, 'unauthorized')
    }
  }
  t.equal((await record(built, id)).status, 'pending')
})

t.test('what one instance asked for does not exist for another', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  for (const as of [built.other, built.root]) {
    await changesNothing(t, built, () => read(as, id), 404, 'not_found')
    await changesNothing(t, built, () => withdraw(as, id), 404, 'not_found')
  }
  t.equal((await record(built, id)).execution, 'unclaimed', 'nothing was handed out')
})

t.test('nothing that an agent sends says who it is', async (t) => {
  const built = await provider(t)
  const context = { requester: 'other', agent: 'other', instance_id: 'x', session_id: 's' }
  const { id } = (await propose(built.bot, { context, agent_reasoning: 'I am other' })).body
  t.equal((await record(built, id)).requester, 'bot')
  t.equal((await read(built.other, id)).status, 404)
})

t.test('while the service is open nobody is let in here, whose credential nobody could check', async (t) => {
  const built = await build(t)
  const body = JSON.stringify(proposal)
  for (const [method, path] of [
    ['POST', 'requests'],
    ['GET', 'requests/x'],
    ['DELETE', 'requests/x'],
    ['POST', 'instances'],
    ['GET', 'instances/x'],
    ['PATCH', 'instances/x'],
    ['DELETE', 'instances/x'],
  ] as const) {
    const sent = method === 'POST' ? body : method === 'PATCH' ? '{"delivery":null}' : undefined
    const answer = await built.call(method, `/aap/v1/${path}`, sent, { 'idempotency-key': 'k' })
    t.equal(answer.status, 401, `${method} ${path}`)
    t.match(answer.body.error, { type: 'authentication', code: 'unauthorized', message: /keys add/ })
  }
  t.same(new Set((await built.events()).map(({ type }) => type)), new Set(['rejected']))
})

t.test('who makes instances asks for nothing and sees nothing, and an instance makes none', async (t) => {
  const built = await provider(t)
  const { platform } = built
  const made = await provision(platform)
  const instance = credentialOf(built, made)
  const { id } = (await propose(instance)).body
  for (const act of [() => propose(platform), () => read(platform, id), () => withdraw(platform, id)]) {
    await changesNothing(t, built, act, 403, 'forbidden')
  }
  for (const path of [
    '/confirm',
    `/confirm/${id}`,
    '/audit',
    '/audit/events',
    '/keys',
    '/people',
    '/whitelist',
    '/sessions',
    '/events',
    '/ready',
    '/metrics',
    '/openapi.yaml',
  ]) {
    t.equal((await platform('GET', path)).status, 403, path)
  }
  for (const [path, body] of [
    ['/confirm', { action: 'a', description: 'd' }],
    [`/confirm/${id}/approve`, undefined],
    [`/confirm/${id}/deny`, undefined],
    [`/confirm/${id}/cancel`, undefined],
    [`/confirm/${id}/claim`, undefined],
    ['/whitelist', { action: 'a' }],
    ['/keys', { name: 'x', role: 'admin' }],
  ] as const) {
    t.equal((await platform('POST', path, body)).status, 403, path)
  }
  const of = made.body.instance.id
  for (const as of [instance, built.alice]) {
    for (const act of [
      () => provision(as),
      () => readInstance(as, of),
      () => rename(as, of, { instance_name: 'x' }),
      () => remove(as, of),
    ]) {
      await changesNothing(t, built, act, 403, 'forbidden')
    }
  }
})

// -- 2, 6: create, read, wait, cancel ------------------------------------------------------------------------------------

t.test('a request is made, waits for a person, and is answered with what came of it', async (t) => {
  const built = await provider(t)
  const made = await propose(built.bot, { agent_reasoning: 'Charged twice.', context: { session_id: 's1' } })
  t.equal(made.status, 201)
  t.match(made.body, {
    ...proposal,
    agent_reasoning: 'Charged twice.',
    context: { session_id: 's1' },
    status: 'pending',
  })
  const { id } = made.body
  t.match(await record(built, id), {
    action: 'tool:issue_refund',
    details: { tool_input: proposal.arguments },
    session_key: 's1',
    description:
      'Use the tool issue_refund\n\nThe agent says:\n> Charged twice.\n\nIts runtime says: {"session_id":"s1"}',
  })
  t.same((await read(built.bot, id)).body, made.body)
  await deny(built, id, { reason: 'not this one' })
  const { decision, ...rest } = (await read(built.bot, id)).body
  t.same(rest, { ...made.body, status: 'denied' })
  t.same(decision, { status: 'denied', note: 'not this one', decided_at: '2026-01-01T00:00:00.000Z' })
})

t.test('a poll is held until there is an outcome, or thirty seconds, whatever it asks for', async (t) => {
  const built = await provider(t)
  const { clock, bot } = built
  const { id } = (await propose(bot)).body
  let isDone = false
  const long = read(bot, id, '?wait=24h').finally(() => (isDone = true))
  await clock.advance(29_999)
  t.equal(isDone, false)
  await clock.advance(1)
  t.equal((await long).body.status, 'pending')
  const held = read(bot, id, '?wait=30s')
  await clock.advance(1000)
  await approve(built, id)
  t.equal((await held).body.status, 'approved')
})

t.test('a request is withdrawn once, and everybody who waits for it is told', async (t) => {
  const built = await provider(t)
  const { bot, clock } = built
  const { id } = (await propose(bot)).body
  const held = read(bot, id, '?wait=30s')
  await clock.advance(1000)
  const gone = await withdraw(bot, id)
  t.equal(gone.status, 200)
  t.same((await held).body, gone.body)
  await clock.advance(1000)
  t.same((await withdraw(bot, id)).body, gone.body)
  t.same(await typesOf(built, id), ['submitted', 'notified', 'cancelled'])
})

t.test('two who withdraw it at the same time are both told that it is', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const { id } = (await propose(built.bot)).body
  interfere(async () => t.equal((await withdraw(built.bot, id)).status, 200))
  t.match(await withdraw(built.bot, id), { status: 200, body: { status: 'cancelled' } })
})

// -- 3: identity across retries ------------------------------------------------------------------------------------------

t.test('the same again with its key is the same request, as it stands by then', async (t) => {
  const built = await provider(t)
  const { bot } = built
  const key = newKey()
  const made = await propose(bot, {}, key)
  t.match(await propose(bot, {}, key), { status: 200, body: made.body })
  await approve(built, made.body.id)
  const again = await propose(bot, {}, key)
  t.match(again, { status: 200, body: { id: made.body.id, status: 'approved' } })
  t.equal((await history(built, 'type=submitted')).length, 1)
})

t.test('with other fields the key is refused, and the first request stands', async (t) => {
  const built = await provider(t)
  const key = newKey()
  const made = (await propose(built.bot, {}, key)).body
  for (const fields of [
    { tool: 'x' },
    { arguments: {} },
    { timeout: '31m' },
    { agent_reasoning: '' },
    { context: {} },
    { server: 's' },
  ]) {
    await changesNothing(t, built, () => propose(built.bot, fields, key), 409, 'idempotency_conflict')
  }
  t.same((await read(built.bot, made.id)).body, made)
})

t.test('how it is written makes no difference to the key', async (t) => {
  const { bot } = await provider(t)
  const headers = { 'idempotency-key': newKey() }
  const one = '{"tool":"x","arguments":{"a":1,"b":[2.50]},"timeout":"1m","context":{"c":1,"d":2}}'
  const other = '{ "context": {"d":2,"c":1}, "timeout":"1m", "arguments": {"b":[2.5],"a":1.0}, "tool":"\\u0078" }'
  const made = await bot('POST', '/aap/v1/requests', one, headers)
  t.match(await bot('POST', '/aap/v1/requests', other, headers), { status: 200, body: made.body })
})

t.test('a key is its instance’s and its operation’s alone', async (t) => {
  const { bot, other, root, platform } = await provider(t)
  const key = newKey()
  const ids = [
    (await propose(bot, {}, key)).body.id,
    (await propose(other, {}, key)).body.id,
    (await propose(root, {}, key)).body.id,
    (await provision(root, {}, key)).body.instance.id,
    (await provision(platform, {}, key)).body.instance.id,
    (await bot('POST', '/confirm', { action: 'a', description: 'd' }, { 'idempotency-key': key })).body.id,
  ]
  t.equal(new Set(ids).size, ids.length)
})

t.test('of two that send the same at the same time one makes it, and both are told of it', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const key = newKey()
  let first: Answer
  interfere(async () => (first = await propose(built.bot, {}, key)))
  const second = await propose(built.bot, {}, key)
  t.equal(first!.status, 201)
  t.match(second, { status: 200, body: first!.body })
})

t.test('two equal calls are two requests, also where a rule merges what is alike', async (t) => {
  const built = await provider(t, {
    rules: 'rules:\n  - name: tools\n    action: "tool:*"\n    merge_identical: true\n',
  })
  const one = (await propose(built.bot)).body.id
  const other = (await propose(built.bot)).body.id
  t.not(one, other)
  await approve(built, one)
  t.equal((await read(built.bot, one)).body.status, 'approved')
  t.equal((await read(built.bot, other)).body.status, 'pending', 'an approval is for one attempt')
})

// -- 4, 5: one outcome, in time ------------------------------------------------------------------------------------------

t.test('exactly one outcome is recorded, whoever is faster', async (t) => {
  for (const [name, first, second, code] of [
    ['cancelled', 'withdraw', 'approve', 'already_resolved'],
    ['approved', 'approve', 'withdraw', 'already_terminal'],
    ['denied', 'deny', 'withdraw', 'already_terminal'],
  ] as const) {
    const { wrapStore, interfere } = interleaving()
    const built = await provider(t, { wrapStore })
    const { id } = (await propose(built.bot)).body
    const acts = {
      withdraw: () => withdraw(built.bot, id),
      approve: () => approve(built, id),
      deny: () => deny(built, id),
    }
    interfere(async () => t.equal((await acts[first]()).status, 200))
    const { status, body } = await acts[second]()
    t.equal(status, 409, name)
    t.equal(body.error.code ?? body.code, code)
    t.equal((await read(built.bot, id)).body.status, name)
    t.same(
      (await typesOf(built, id)).filter((one: string) => ['approved', 'denied', 'cancelled'].includes(one)),
      [name],
    )
  }
})

t.test('what is pending at its deadline has expired, and cannot be approved any more', async (t) => {
  const built = await provider(t)
  const { id, deadline_at } = (await propose(built.bot, { timeout: '2s' })).body
  t.equal(deadline_at, '2026-01-01T00:00:02.000Z')
  await built.clock.advance(2000)
  t.equal((await approve(built, id)).status, 409)
  t.match((await read(built.bot, id)).body, {
    status: 'expired',
    decision: { status: 'expired', decided_at: deadline_at },
  })
  t.match(await withdraw(built.bot, id), { status: 409, body: { error: { code: 'already_terminal' } } })
})

t.test('a window may be shortened by the rule, and is never longer than was asked for', async (t) => {
  const rules = 'rules:\n  - name: tools\n    action: "tool:*"\n    timeout: { default: 600, min: 300, max: 900 }\n'
  for (const [options, windows] of [
    [{}, { '1s': 1, '29s': 29, '30s': 30, '5m': 300, '1h': 3600, '168h': 3600, '99999999999999999999h': 3600 }],
    [{ rules }, { '1s': 1, '4m': 240, '10m': 600, '1h': 900 }],
  ] as const) {
    const { bot } = await provider(t, options)
    for (const [timeout, seconds] of Object.entries<number>(windows)) {
      const { body } = await propose(bot, { timeout })
      t.equal(body.timeout, timeout, 'what was asked for is told as it was')
      t.equal((Date.parse(body.deadline_at) - Date.parse(body.created_at)) / 1000, seconds, timeout)
    }
  }
})

t.test('polling does not make it later', async (t) => {
  const { bot, clock } = await provider(t)
  const key = newKey()
  const { id, deadline_at } = (await propose(bot, {}, key)).body
  await clock.advance(60_000)
  const held = read(bot, id, '?wait=1s')
  await clock.advance(1000)
  t.equal((await held).body.deadline_at, deadline_at)
  t.equal((await read(bot, id)).body.deadline_at, deadline_at)
  t.equal((await propose(bot, {}, key)).body.deadline_at, deadline_at)
})

// -- 7: nothing changes what was put -------------------------------------------------------------------------------------

t.test('tool and arguments stay as they were put, and are what a person is shown', async (t) => {
  const built = await provider(t)
  const input = { a: [1, { b: 'é\u202e<script>', c: null }], n: 0.1, '': true }
  const key = newKey()
  const { id } = (await propose(built.bot, { tool: 'odd.tool', arguments: input }, key)).body
  await propose(built.bot, { tool: 'odd.tool', arguments: {} }, key)
  t.same((await record(built, id)).details, { tool_input: input })
  await approve(built, id)
  t.match((await read(built.bot, id)).body, { tool: 'odd.tool', arguments: input })
  const [, , , claimed] = await history(built, `confirmation_id=${id}`)
  t.equal(claimed.data.digest, (await record(built, id)).digest)
})

t.test('what cannot be read in one way alone, or not be kept as it is, is refused', async (t) => {
  const { bot } = await provider(t)
  for (const text of [
    '{"n":9007199254740993}',
    '{"n":1e400}',
    '{"a":1,"a":2}',
    '{"__proto__":{}}',
    '{"s":"\\ud800"}',
  ]) {
    const body = `{"tool":"x","timeout":"1m","arguments":${text}}`
    t.equal((await bot('POST', '/aap/v1/requests', body, { 'idempotency-key': newKey() })).status, 400, text)
  }
})

t.test('a large request is kept and answered whole', async (t) => {
  const built = await provider(t)
  const key = newKey()
  const fields = { arguments: { text: 'x'.repeat(200_000) }, context: { note: 'y'.repeat(50_000) } }
  const made = await propose(built.bot, fields, key)
  t.match(made, { status: 201, body: fields })
  t.match(await propose(built.bot, fields, key), { status: 200, body: fields })
  t.equal((await propose(built.bot, { ...fields, context: {} }, key)).status, 409)
  await approve(built, made.body.id)
  t.match((await read(built.bot, made.body.id)).body, { ...fields, status: 'approved' })
})

// -- 10: an approval ends --------------------------------------------------------------------------------------------------

t.test('an approval has an end that no reading and no retry moves', async (t) => {
  const built = await provider(t, { config: { approvalTtl: 60 } })
  const { bot, clock } = built
  const key = newKey()
  const { id } = (await propose(bot, {}, key)).body
  await clock.advance(1000)
  await approve(built, id)
  const wanted = { status: 'approved', decided_at: '2026-01-01T00:00:01.000Z', expires_at: '2026-01-01T00:01:01.000Z' }
  for (const wait of [0, 1000, 58_999, 1, 3_600_000, 86_400_000]) {
    await clock.advance(wait)
    t.same((await read(bot, id)).body.decision, wanted)
    t.match(await propose(bot, {}, key), { status: 200, body: { status: 'approved', decision: wanted } })
  }
})

t.test('an approval that nobody fetched in time reads as approved and over, and is on record as lapsed', async (t) => {
  const built = await provider(t, { config: { approvalTtl: 60 } })
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  await built.clock.advance(60_000)
  const { body } = await read(built.bot, id)
  t.match(body, { status: 'approved', decision: { expires_at: '2026-01-01T00:01:00.000Z' } })
  t.equal((await record(built, id)).execution, 'lapsed')
  t.notOk((await typesOf(built, id)).includes('claimed'))
})

// -- handing out: this wire has no claim ---------------------------------------------------------------------------------

t.test('an approval is claimed before it is answered, and the record says when and by which way', async (t) => {
  const built = await provider(t)
  const { bot, clock } = built
  const { id } = (await propose(bot)).body
  await approve(built, id)
  await clock.advance(5000)
  t.equal((await record(built, id)).execution, 'unclaimed', 'nobody was told yet')
  const first = await read(bot, id)
  await clock.advance(5000)
  t.same((await read(bot, id)).body, first.body, 'who asks again is told again')
  t.match(await record(built, id), { execution: 'claimed', claimed_at_iso: '2026-01-01T00:00:05.000Z' })
  const claims = await history(built, `confirmation_id=${id}&type=claimed`)
  t.match(claims, [{ actor: 'bot', channel: 'aap', time_iso: '2026-01-01T00:00:05.000Z' }])
  t.equal(claims.length, 1)
})

t.test('what a whitelist entry covers is approved at once, claimed and on record', async (t) => {
  const built = await provider(t)
  await built.alice('POST', '/whitelist', { action: 'tool:Read' })
  const { status, body } = await propose(built.bot, { tool: 'Read' })
  t.equal(status, 201)
  t.equal(body.status, 'approved')
  t.same(await typesOf(built, body.id), ['submitted', 'auto_approved', 'claimed'])
})

t.test('nothing is handed out that cannot be recorded', async (t) => {
  let isFull = false
  const built = await provider(t, {
    wrapStore: (store) => ({
      ...store,
      commit: (change) => (isFull ? Promise.reject(new Full('full')) : store.commit(change)),
    }),
  })
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  isFull = true
  t.match(await read(built.bot, id), { status: 503, body: { error: { type: 'dependency' } } })
  isFull = false
  t.equal((await read(built.bot, id)).body.status, 'approved')
})

t.test('an approval that was claimed by another way is not handed out', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  t.equal((await built.bot('POST', `/confirm/${id}/claim`)).status, 200)
  await changesNothing(t, built, () => read(built.bot, id), 403, 'already_claimed')
})

t.test('an approval that was handed out is claimed by no other way', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  await read(built.bot, id)
  t.match(await built.bot('POST', `/confirm/${id}/claim`), { status: 409, body: { code: 'already_claimed' } })
})

t.test('how the call went can be reported by the other way, and then it is not handed out again', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  await read(built.bot, id)
  t.equal((await built.bot('POST', `/confirm/${id}/report`, { outcome: 'succeeded' })).status, 200)
  await changesNothing(t, built, () => read(built.bot, id), 403, 'already_claimed')
})

t.test('a session that is suspended is handed nothing', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot, { context: { session_id: 's1' } })).body
  await approve(built, id)
  await built.alice('POST', '/sessions/s1/suspend', undefined)
  await changesNothing(t, built, () => read(built.bot, id), 403, 'session_suspended')
  await changesNothing(t, built, () => propose(built.bot, { context: { session_id: 's1' } }), 403, 'session_suspended')
  await built.alice('POST', '/sessions/s1/resume', undefined)
  t.equal((await read(built.bot, id)).body.status, 'approved')
})

t.test('of two polls at the same time both are told of the approval, which is claimed once', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await provider(t, { wrapStore })
  const { id } = (await propose(built.bot)).body
  await approve(built, id)
  interfere(async () => t.equal((await read(built.bot, id)).body.status, 'approved'))
  t.equal((await read(built.bot, id)).body.status, 'approved')
  t.equal((await history(built, `confirmation_id=${id}&type=claimed`)).length, 1)
})

t.test('what was asked for elsewhere is no request here, and hands out nothing', async (t) => {
  const built = await provider(t)
  const { id } = (
    await built.bot('POST', '/confirm', { action: 'tool:x', description: 'd', details: { tool_input: {} } })
  ).body
  await approve(built, id)
  await changesNothing(t, built, () => read(built.bot, id), 404, 'not_found')
  await changesNothing(t, built, () => withdraw(built.bot, id), 404, 'not_found')
  t.equal((await record(built, id)).execution, 'unclaimed')
})

t.test('a limit of the service is told as the protocol tells limits', async (t) => {
  const built = await provider(t, { config: { rateLimit: 1 } })
  await propose(built.bot)
  const answer = await propose(built.bot)
  t.match(answer, { status: 429, body: { error: { type: 'rate_limit', code: 'rate_limited' } } })
  t.equal(answer.headers['retry-after'], '3600')
})

// -- 9: it is all kept -----------------------------------------------------------------------------------------------------

t.test('requests, results and their keys outlast a restart and a week', async (t) => {
  const clock = manualClock()
  const first = await provider(t, { clock })
  const [asked, made] = [newKey(), newKey()]
  const request = (await propose(first.bot, {}, asked)).body
  const instance = (await provision(first.platform, {}, made)).body
  await deny(first, request.id)
  const { dbPath, bot, platform } = first
  await first.stop()
  await clock.advance(8 * 86_400_000)
  const { call } = await build(t, { dbPath, clock })
  const [again, platformAgain] = [withKey(call, bot.key), withKey(call, platform.key)]
  t.match(await propose(again, {}, asked), { status: 200, body: { id: request.id, status: 'denied' } })
  t.equal((await propose(again, { tool: 'x' }, asked)).status, 409)
  t.same((await provision(platformAgain, {}, made)).body, instance)
  t.equal((await propose(withKey(call, instance.credential.token))).status, 201)
})

t.test('a poll that is held when its credential is revoked is told so', async (t) => {
  const built = await provider(t)
  const { id } = (await propose(built.bot)).body
  const held = read(built.bot, id, '?wait=30s')
  await until(() => built.service.countListeners().one === 1)
  await built.root('DELETE', `/keys/${built.bot.keyId}`)
  await approve(built, id)
  t.equal((await held).status, 401)
  t.equal((await record(built, id)).execution, 'unclaimed')
})
