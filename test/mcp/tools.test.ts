// The tools as hosts see them, on both transports and in both eras: who may act, when, and what everybody else is told.
import t, { type Test } from 'tap'
import { Holdpoint } from '../../src/client/index.js'
import { createActs } from '../../src/mcp/acts.js'
import { giveKeys, until } from '../support.js'
import { connect, type Host, type HostOptions, type Kind, kinds, pace, serve, type Serving } from './hosts.js'

const ask = { action: 'refund', description: 'Refund an order', details: { order: 4711, amount: 12.5 } }
const { description: _, ...act } = ask

type On = (t: Test, serving: Serving, more?: Partial<HostOptions>) => Promise<Host>

/** Once for each kind of host. */
function eachKind(name: string, test: (t: Test, on: On, kind: Kind) => Promise<void>): void {
  for (const kind of kinds) {
    t.test(`${name} (${kind.over}, ${kind.era})`, (t) =>
      test(t, (t, serving, more = {}) => connect(t, { kind, url: serving.url, ...more }), kind),
    )
  }
}

async function pendingId({ call }: Serving): Promise<string> {
  let id: string | undefined
  await until(async () => {
    id = (await call('GET', '/confirm?status=pending')).body.confirmations[0]?.id
    return id
  })
  return id!
}

async function decide(serving: Serving, verdict: 'approve' | 'deny', body: object = {}): Promise<string> {
  const id = await pendingId(serving)
  await serving.call('POST', `/confirm/${id}/${verdict}`, body)
  return id
}

const recordOf = async ({ call }: Serving, id: string) => (await call('GET', `/confirm/${id}`)).body
const typesOf = async ({ events }: Serving) =>
  (await events()).map(({ type }) => type as string).filter((type) => !type.startsWith('notif'))

eachKind('what is approved is claimed, done and reported', async (t, on) => {
  const serving = await serve(t)
  const { call } = await on(t, serving)
  const asking = call('request_approval', ask)
  const id = await decide(serving, 'approve')
  t.match(await asking, {
    said: {
      status: 'approved',
      id,
      may_act: false,
      resolved_by: 'api',
      claim_before: /^2026-/,
      next: /claim_approval/,
    },
    isError: false,
  })
  t.match(await call('claim_approval', { id, ...act }), {
    said: { status: 'claimed', id, may_act: true },
    isError: false,
  })
  t.match(await call('report_outcome', { id, outcome: 'succeeded', message: 'done' }), {
    said: { status: 'reported', may_act: false },
    isError: false,
  })
  // Not that the act was not done: it was.
  t.match(await call('report_outcome', { id, outcome: 'failed' }), {
    said: { code: 'already_reported', may_act: false, next: /Nothing was put on record by this. Do not act again/ },
    isError: true,
  })
  t.match(await recordOf(serving, id), { ...ask, execution: 'succeeded', report_message: 'done' })
  t.same(await typesOf(serving), ['submitted', 'approved', 'claimed', 'reported'])
})

eachKind('the text is what a host can read that shows no more than that', async (t, on) => {
  const serving = await serve(t)
  const { call } = await on(t, serving)
  const asking = call('request_approval', ask)
  await decide(serving, 'deny', { reason: 'no\u202e' })
  const { text, said } = await asking
  t.same(JSON.parse(text), said)
  t.notMatch(text, /\u202e/)
})

eachKind('what is denied, expires or is withdrawn says so, and that it is no error of the tool', async (t, on) => {
  const serving = await serve(t)
  const { call } = await on(t, serving)
  const denied = call('request_approval', ask)
  const id = await decide(serving, 'deny', { denier: 'bob', reason: 'too much' })
  t.match(await denied, {
    said: {
      status: 'denied',
      id,
      may_act: false,
      resolved_by: 'bob',
      reason: 'too much',
      next: /must not be tried again/,
    },
    isError: false,
  })
  t.match(await call('wait_for_decision', { id }), { said: { status: 'denied', may_act: false } })

  const cancelled = call('request_approval', { ...ask, action: 'b' })
  const other = await pendingId(serving)
  t.match(await call('cancel_request', { id: other, reason: 'a mistake' }), {
    said: { status: 'cancelled', may_act: false },
  })
  t.match(await cancelled, { said: { status: 'cancelled', id: other, may_act: false }, isError: false })
  t.match(await call('cancel_request', { id: other }), {
    said: { code: 'already_resolved', may_act: false, next: /Call wait_for_decision with this id/ },
    isError: true,
  })

  const expired = call('request_approval', { ...ask, action: 'c', timeout_seconds: 60 })
  const last = await pendingId(serving)
  await serving.clock.advance(61_000)
  t.match(await expired, { said: { status: 'expired', id: last, may_act: false }, isError: false })
  for (const one of [id, other, last]) {
    t.match(await call('claim_approval', { id: one, ...act }), { said: { may_act: false }, isError: true })
  }
})

eachKind('while nobody answers, a host is told that it goes on, and then what to do next', async (t, on) => {
  const serving = await serve(t, { mcpPace: pace })
  const { call } = await on(t, serving, { pace })
  const progress: unknown[] = []
  const first = await call('request_approval', ask, { onprogress: (one) => progress.push(one) })
  const { id } = first.said
  t.match(first, {
    said: { status: 'pending', may_act: false, next: /Call wait_for_decision with this id/ },
    isError: false,
  })
  t.ok(progress.length > 0 && progress.length < 5, `${progress.length} times`)
  t.match(progress[0], { progress: Number, message: /Waiting for a person/ })
  t.match(await call('wait_for_decision', { id }), { said: { status: 'pending', id, may_act: false }, isError: false })
  t.match(await call('claim_approval', { id, ...act }), {
    said: { may_act: false, code: 'not_approved' },
    isError: true,
  })
  const waiting = call('wait_for_decision', { id })
  await decide(serving, 'approve')
  t.match(await waiting, { said: { status: 'approved', id, may_act: false } })
  t.match(await call('claim_approval', { id, ...act }), { said: { may_act: true } })
  t.match(await call('wait_for_decision', { id }), {
    said: { execution: 'claimed', may_act: false, next: /cannot be claimed/ },
  })
})

t.test('the time that a host bears is that of the whole call', async (t) => {
  const { url } = await serve(t)
  const holdpoint = new Holdpoint({ url, key: null })
  t.teardown(() => holdpoint.close())
  const { request_approval: request } = createActs({ holdpoint, pace: { ...pace, holdMs: 600_000 } })
  const began = performance.now() - 600_000
  const call = { signal: new AbortController().signal, began, progress: null, asTask: false }
  t.match(await request(ask, call), { structuredContent: { status: 'pending' } })
})

eachKind('an approval is for what was approved, and for one act', async (t, on) => {
  const serving = await serve(t)
  const { call } = await on(t, serving)
  const asking = call('request_approval', { ...ask, session_key: 's1', on_behalf_of: ' bob ' })
  const id = await decide(serving, 'approve')
  await asking
  const same = { id, ...act, session_key: 's1', on_behalf_of: 'bob' }
  const altered = [
    { ...same, details: { order: 4711, amount: 1250 } },
    { ...same, details: {} },
    { ...same, action: 'payout' },
    { ...same, session_key: 's2' },
    { ...same, on_behalf_of: 'mallory' },
    { id, ...act },
  ]
  for (const given of altered) {
    t.match(await call('claim_approval', given), {
      said: { status: 'refused', may_act: false, code: 'digest_mismatch' },
      isError: true,
    })
  }
  t.match(await recordOf(serving, id), { execution: 'unclaimed' })
  const claims = await Promise.all([1, 2, 3].map(() => call('claim_approval', same)))
  t.equal(claims.filter(({ said }) => said.may_act === true).length, 1)
  for (const { said, isError } of claims.filter(({ said }) => said.may_act !== true)) {
    t.match(said, { may_act: false, code: 'already_claimed' })
    t.ok(isError)
  }
  const rejected = (await serving.events()).filter(({ type }) => type === 'rejected')
  t.equal(rejected.length, altered.length + 2, 'each attempt is on record')
})

eachKind('there are six tools, none of them approves, and they take what they name and nothing else', async (t, on) => {
  const { client } = await on(t, await serve(t))
  const { tools } = await client.listTools()
  t.same(
    tools.map(({ name }) => name),
    [
      'request_approval',
      'wait_for_decision',
      'claim_approval',
      'report_outcome',
      'cancel_request',
      'permission_prompt',
    ],
  )
  for (const { name, inputSchema, description } of tools) {
    t.equal(inputSchema.additionalProperties, false, name)
    t.ok(description!.length < 300, name)
    t.match(description, /final/, name)
  }
  t.match(client.getInstructions(), /Only a person approves, and that answer is final/)
})

eachKind('what is no call of a tool gets a clear sentence and asks nobody', async (t, on) => {
  const serving = await serve(t)
  const { call } = await on(t, serving)
  const wrong: [name: string, given: object, sentence: RegExp][] = [
    [
      'request_approval',
      { ...ask, approve: true },
      /There is no argument approve: request_approval takes action, details,/,
    ],
    ['request_approval', { ...ask, details: 'all' }, /The argument details cannot be used: expected an object/],
    ['request_approval', { ...ask, details: [1] }, /The argument details cannot be used/],
    ['request_approval', { action: 'a' }, /The argument description cannot be used/],
    ['request_approval', { ...ask, action: ' ' }, /action must not be blank/],
    ['request_approval', { ...ask, timeout_seconds: '60' }, /The argument timeout_seconds cannot be used/],
    ['request_approval', { ...ask, idempotency_key: 'ä' }, /idempotencyKey must be 1 to 255 visible ASCII/],
    ['request_approval', { ...ask, details: { n: 2 ** 60 } }, /details\.n is an integer beyond 2\^53|does not survive/],
    [
      'request_approval',
      { ...ask, details: { text: '\ud800' } },
      /details\.text has half a character|must be valid Unicode text/,
    ],
    // What is left out would be shown to nobody.
    ['request_approval', { ...ask, details: JSON.parse('{"__proto__":{"amount":9000}}') as object }, /__proto__/],
    [
      'claim_approval',
      { id: 'x', ...act, details: JSON.parse('{"__proto__":{"amount":9000}}') as object },
      /__proto__/,
    ],
    ['claim_approval', { id: 'x', ...act, digest: 'f'.repeat(64) }, /There is no argument digest/],
    ['claim_approval', { id: '../keys', ...act }, /There is no confirmation|no such/i],
    ['wait_for_decision', {}, /The argument id cannot be used/],
    ['wait_for_decision', { id: ['a'] }, /The argument id cannot be used/],
    ['report_outcome', { id: 'x', outcome: 'approved' }, /The argument outcome cannot be used/],
  ]
  for (const [name, given, sentence] of wrong) {
    const answer = await call(name, given).catch((error: Error) => ({ said: error.message, isError: true, text: '' }))
    t.ok(answer.isError, `${name} ${JSON.stringify(given)}`)
    t.match(answer.said.message ?? answer.said, sentence)
    t.not(answer.said.may_act, true)
  }
  t.match((await call('request_approval', { ...ask, action: ' ' })).said, { next: /correct the call/ })
  for (const name of ['approve', 'deny', '__proto__', 'constructor', 'approve_request']) {
    await t.rejects(call(name, { id: 'x' }), /There is no tool/, name)
  }
  t.same((await serving.call('GET', '/audit')).body.count, 0)
})

eachKind('whoever gives a call up ends the wait, and withdraws nothing', async (t, on, { over, era }) => {
  const serving = await serve(t)
  const { call, client } = await on(t, serving)
  const given = new AbortController()
  const asking = call('request_approval', ask, { signal: given.signal })
  const id = await pendingId(serving)
  const waits = async () => /share_taken\{share="waits"\} (\d+)/.exec((await serving.call('GET', '/metrics')).body)?.[1]
  await until(async () => (await waits()) === '1')
  given.abort()
  await t.rejects(asking)
  // That era says so with a message of its own, which without sessions belongs to nothing: there it is the connection's end.
  if (over === 'http' && era === '2025') await client.close()
  await until(async () => (await waits()) === '0')
  t.match(await recordOf(serving, id), { status: 'pending' })
  const again = await on(t, serving)
  const waiting = again.call('wait_for_decision', { id })
  await decide(serving, 'approve')
  t.match(await waiting, { said: { status: 'approved' } })
})

eachKind('with keys, what is asked is the agent’s own', async (t, on) => {
  const serving = await serve(t)
  const keys = await giveKeys(serving, { bot: 'agent', other: 'agent', alice: 'operator' })
  const host = await on(t, serving, { key: keys.bot.key })
  const asking = host.call('request_approval', ask)
  let id = ''
  await until(async () => (id = (await keys.alice('GET', '/confirm?status=pending')).body.confirmations[0]?.id))
  const stranger = await on(t, serving, { key: keys.other.key })
  for (const name of ['wait_for_decision', 'cancel_request']) {
    t.match(await stranger.call(name, { id }), { said: { code: 'not_found', may_act: false }, isError: true })
  }
  await keys.alice('POST', `/confirm/${id}/approve`)
  await asking
  t.match(await stranger.call('claim_approval', { id, ...act }), {
    said: { code: 'not_found', may_act: false },
    isError: true,
  })
  t.match(await host.call('claim_approval', { id, ...act }), { said: { may_act: true } })
  t.match((await keys.bot('GET', `/confirm/${id}`)).body, { requester: 'bot', execution: 'claimed' })
})
