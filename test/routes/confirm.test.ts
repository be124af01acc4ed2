import t from 'tap'
import { build, t0 } from '../support.js'

t.test('a submission is held and says how to approve and deny it', async (t) => {
  const { submit } = await build(t)
  const { status, body, headers } = await submit({ timeout_seconds: 60 })
  t.equal(status, 202)
  t.match(body, {
    id: 'id-0001',
    action: 'send_mail',
    status: 'pending',
    timeout_seconds: 60,
    message: /person/,
    approve_url: '/confirm/id-0001/approve',
    deny_url: '/confirm/id-0001/deny',
  })
  t.equal(headers['ratelimit-policy'], '"action";q=10;w=3600')
  t.equal(headers.ratelimit, '"action";r=9;t=3600')
})

t.test('the record has every field of the contract, with defaults', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  const { status, body } = await call('GET', '/confirm/id-0001')
  t.equal(status, 200)
  t.match(body, {
    id: 'id-0001',
    action: 'send_mail',
    description: 'Send the newsletter',
    details: {},
    requester: 'agent',
    session_key: '',
    status: 'pending',
    resolved_by: '',
    resolved_at: null,
    created_at: t0 / 1000,
    timeout_seconds: 300,
    created_at_iso: '2026-01-01T00:00:00.000Z',
    resolved_at_iso: null,
  })
})

t.test('details come back as they were sent, here, in the lists and in the history', async (t) => {
  const { submit, call, events } = await build(t)
  const details = {
    '': [1.5, -0.1, 1e21, true, null],
    'ключ "x"': { nul: '\u00000', line: 'a\nb\u2028', deep: [[[{}]]] },
  }
  await submit({ details })
  t.same((await call('GET', '/confirm/id-0001')).body.details, details)
  t.same((await call('GET', '/audit')).body.entries[0].details, details)
  t.same((await call('GET', '/confirm')).body.confirmations[0].details, details)
  t.same((await events())[0].data.details, details)
})

t.test('action and description are trimmed', async (t) => {
  const { submit, call } = await build(t)
  await submit({ action: '  send_mail\n', description: '\tHello ' })
  t.match((await call('GET', '/confirm/id-0001')).body, { action: 'send_mail', description: 'Hello' })
})

const timeouts: [asked: unknown, held: number][] = [
  [undefined, 300],
  [30, 30],
  [29, 30],
  [-5, 30],
  [0, 30],
  [3600, 3600],
  [3601, 3600],
  [45.9, 45],
  ['soon', 300],
  [null, 300],
  [true, 300],
  [{}, 300],
  [[60], 300],
]
t.test('timeout_seconds is clamped, and what is no number means 300', async (t) => {
  const { submit } = await build(t, { config: { rateLimit: 100 } })
  for (const [asked, held] of timeouts) {
    const { status, body } = await submit({ timeout_seconds: asked })
    t.equal(status, 202)
    t.equal(body.timeout_seconds, held, `${JSON.stringify(asked)} means ${held}`)
  }
})

t.test('a number too large for a double is clamped', async (t) => {
  const { call } = await build(t)
  const { body } = await call('POST', '/confirm', '{"action":"a","description":"b","timeout_seconds":1e999}')
  t.equal(body.timeout_seconds, 3600)
})

const malformed: [name: string, body: string, error: RegExp][] = [
  ['no JSON', 'not json', /JSON object/],
  ['null', 'null', /JSON object/],
  ['an array', '[]', /JSON object/],
  ['a string', '"x"', /JSON object/],
  ['nothing', '', /JSON object/],
  ['no action', '{"description":"b"}', /^Field 'action' is required$/],
  ['a blank action', '{"action":"  ","description":"b"}', /^Field 'action' is required$/],
  ['a null action', '{"action":null,"description":"b"}', /^Field 'action' is required$/],
  ['a number as action', '{"action":5,"description":"b"}', /^Field 'action' must be a string$/],
  ['no description', '{"action":"a"}', /^Field 'description' is required$/],
  ['a blank description', '{"action":"a","description":""}', /^Field 'description' is required$/],
  ['a list as details', '{"action":"a","description":"b","details":[]}', /^Field 'details' must be an object$/],
  ['null as details', '{"action":"a","description":"b","details":null}', /^Field 'details' must be an object$/],
  ['a number as requester', '{"action":"a","description":"b","requester":5}', /^Field 'requester' must be a string$/],
  ["the service's own name", '{"action":"a","description":"b","requester":"system:timeout"}', /the service's own/],
  ["a name like the service's own", '{"action":"a","description":"b","requester":"whiteIist:x"}', /the service's own/],
  ['a null session_key', '{"action":"a","description":"b","session_key":null}', /'session_key' must be a string/],
  ['a null character', '{"action":"a\\u0000","description":"b"}', /null characters/],
  ['half a character', '{"action":"a","description":"\\ud800"}', /valid Unicode/],
  ['half a character in details', '{"action":"a","description":"b","details":{"x":["\\udfff"]}}', /valid Unicode/],
  [
    'a number too large in details',
    '{"action":"a","description":"b","details":{"x":1e999}}',
    /^The number 1e999 at details\.x /,
  ],
  ['a prototype key', '{"action":"a","description":"b","__proto__":{"x":1}}', /must not hold the keys '__proto__'/],
  [
    'a prototype key in details',
    '{"action":"a","description":"b","details":{"__proto__":{}}}',
    /must not hold the keys/,
  ],
  ['a constructor with a prototype', '{"action":"a","constructor":{"prototype":{}}}', /must not hold the keys/],
  ['a prototype key in no JSON', '{"__proto__":{}', /JSON object/],
  ['deep nesting', `{"action":"a","description":"b","details":${'{"x":'.repeat(70)}1${'}'.repeat(70)}}`, /deeper/],
  [
    'very deep nesting',
    `{"action":"a","description":"b","details":{"x":${'['.repeat(1e5)}${']'.repeat(1e5)}}}`,
    /more than 10000 values/,
  ],
]
t.test('a malformed submission is refused with a clear sentence and changes nothing', async (t) => {
  const { call, events } = await build(t)
  for (const [name, body, error] of malformed) {
    const answer = await call('POST', '/confirm', body)
    t.equal(answer.status, 400, name)
    t.match(answer.body.error, error)
    t.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
  }
  t.same(await events(), [])
})

t.test('a body above 1 MiB is refused with 413, one just below is held', async (t) => {
  const { call } = await build(t)
  const sized = (bytes: number) => {
    const empty = '{"action":"a","description":""}'
    return `{"action":"a","description":"${'x'.repeat(bytes - empty.length)}"}`
  }
  t.equal((await call('POST', '/confirm', sized(1024 * 1024))).status, 202)
  const { status, body } = await call('POST', '/confirm', sized(1024 * 1024 + 1))
  t.equal(status, 413)
  t.equal(body.code, 'body_too_large')
})

t.test('approving resolves, and a second decision is refused while the first stands', async (t) => {
  const { submit, call, clock } = await build(t)
  await submit()
  await clock.advance(1500)
  const approved = await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  t.equal(approved.status, 200)
  t.match(approved.body, {
    id: 'id-0001',
    action: 'send_mail',
    status: 'approved',
    resolved_by: 'alice',
    resolved_at: (t0 + 1500) / 1000,
  })
  for (const verb of ['approve', 'deny', 'cancel']) {
    const second = await call('POST', `/confirm/id-0001/${verb}`)
    t.equal(second.status, 409)
    t.match(second.body, { error: /already approved by alice/, status: 'approved', code: 'already_resolved' })
  }
  t.match((await call('GET', '/confirm/id-0001')).body, {
    status: 'approved',
    resolved_by: 'alice',
    resolved_at_iso: '2026-01-01T00:00:01.500Z',
  })
})

t.test('a denial keeps its reason, in the answer, the record and the audit', async (t) => {
  const { submit, call, events } = await build(t)
  await submit()
  const denied = await call('POST', '/confirm/id-0001/deny', { denier: 'bob', reason: 'not on a Friday' })
  t.match(denied.body, { status: 'denied', resolved_by: 'bob', reason: 'not on a Friday' })
  t.equal((await call('GET', '/confirm/id-0001')).body.reason, 'not on a Friday')
  t.equal((await call('GET', '/audit')).body.entries[0].reason, 'not on a Friday')
  t.match((await events()).at(-1), { type: 'denied', actor: 'bob', data: { reason: 'not on a Friday' } })
})

t.test('without a body the name is "api", and a denial without reason has none', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  await submit()
  t.equal((await call('POST', '/confirm/id-0001/approve')).body.resolved_by, 'api')
  const denied = await call('POST', '/confirm/id-0002/deny', '')
  t.equal(denied.body.resolved_by, 'api')
  t.notOk('reason' in denied.body)
})

const badDecisions: [name: string, verb: string, body: string][] = [
  ['broken JSON', 'approve', '{"approver":'],
  ['null', 'approve', 'null'],
  ['a list', 'approve', '[]'],
  ['a number as approver', 'approve', '{"approver":5}'],
  ['an unknown scope', 'approve', '{"remember":"forever"}'],
  ["the service's own name", 'approve', '{"approver":"system:timeout"}'],
  ['a hidden name', 'approve', '{"approver":"\\u200bsys\\ufe0ftem\\u200b:timeout"}'],
  ['a wide name', 'approve', '{"approver":"ｓystem：timeout"}'],
  ["a whitelist's name", 'approve', '{"approver":" Whitelist:1"}'],
  ['broken JSON', 'deny', 'nope'],
  ['a list as reason', 'deny', '{"reason":[]}'],
  ['an endless reason', 'deny', `{"reason":"${'x'.repeat(10_001)}"}`],
  ['an endless name', 'approve', `{"approver":"${'x'.repeat(1001)}"}`],
  ['broken JSON', 'cancel', '{'],
]
t.test('a malformed decision is refused and decides nothing', async (t) => {
  const { submit, call, events } = await build(t)
  await submit()
  const before = (await events()).length
  for (const [name, verb, body] of badDecisions) {
    const { status, body: answer } = await call('POST', `/confirm/id-0001/${verb}`, body)
    t.equal(status, 400, `${verb} with ${name}`)
    t.type(answer.error, 'string')
  }
  t.equal((await call('GET', '/confirm/id-0001')).body.status, 'pending')
  t.equal((await events()).length, before)
})

t.test('an unknown id answers 404 everywhere', async (t) => {
  const { call } = await build(t)
  for (const [method, url] of [
    ['GET', '/confirm/nope'],
    ['POST', '/confirm/nope/approve'],
    ['POST', '/confirm/nope/deny'],
    ['POST', '/confirm/nope/cancel'],
    ['DELETE', '/whitelist/nope'],
    ['GET', '/confirm/%00'],
    ['GET', "/confirm/'; DROP TABLE confirmations; --"],
    ['GET', `/confirm/${'x'.repeat(5000)}`],
  ] as const) {
    const { status, body } = await call(method, url)
    t.equal(status, 404, `${method} ${url.slice(0, 40)}`)
    t.type(body.error, 'string')
  }
})

t.test('cancelling is the requester changing its mind: terminal and on record', async (t) => {
  const { submit, call, events } = await build(t)
  await submit({ requester: 'deploy-bot' })
  const { status, body } = await call('POST', '/confirm/id-0001/cancel', { reason: 'found another way' })
  t.equal(status, 200)
  t.match(body, { status: 'cancelled', resolved_by: 'deploy-bot', reason: 'found another way' })
  t.equal((await call('POST', '/confirm/id-0001/approve')).status, 409)
  t.match((await events()).at(-1), { type: 'cancelled', actor: 'deploy-bot', confirmation_id: 'id-0001' })
})

t.test('what waits is listed with the next deadline first, everything else with the newest first', async (t) => {
  const { submit, call, clock } = await build(t)
  for (const timeout_seconds of [600, 60, 300]) {
    await submit({ timeout_seconds })
    await clock.advance(1000)
  }
  const ids = async (query: string) =>
    (await call('GET', `/confirm${query}`)).body.confirmations.map((one: { id: string }) => one.id)
  t.same(await ids('?status=pending'), ['id-0002', 'id-0003', 'id-0001'])
  t.same(await ids(''), ['id-0003', 'id-0002', 'id-0001'])
  await call('POST', '/confirm/id-0003/deny')
  t.same(await ids('?status=pending'), ['id-0002', 'id-0001'])
  t.same(await ids('?status=denied'), ['id-0003'])
  t.same(await ids('?status=approved'), [])
})

t.test('pages follow a cursor and stay stable while others arrive and go', async (t) => {
  const { submit, call } = await build(t, { config: { rateLimit: 100 } })
  for (let i = 0; i < 7; i++) await submit({ action: `a${i % 2}` })
  const seen: string[] = []
  let cursor: string | null = ''
  let pages = 0
  while (cursor !== null) {
    const { body } = await call('GET', `/confirm?status=pending&limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`)
    t.equal(body.count, body.confirmations.length)
    seen.push(...body.confirmations.map((one: { id: string }) => one.id))
    cursor = body.next_cursor
    pages += 1
    await submit({ action: 'late', timeout_seconds: 3600 })
    await call('POST', `/confirm/${seen[0]}/deny`)
  }
  t.same(seen.slice(0, 7), ['id-0001', 'id-0002', 'id-0003', 'id-0004', 'id-0005', 'id-0006', 'id-0007'])
  t.equal(new Set(seen).size, seen.length)
  t.ok(pages >= 3)
  t.same(
    (await call('GET', '/confirm?action=a1&limit=500')).body.confirmations.map((one: { id: string }) => one.id),
    ['id-0006', 'id-0004', 'id-0002'],
  )
})

t.test('a listing with a parameter that makes no sense is refused with a clear sentence', async (t) => {
  const { call } = await build(t)
  for (const query of ['?cursor=nonsense', '?status=maybe', '?status=pending&status=denied', '?action=a&action=b']) {
    const { status, body } = await call('GET', `/confirm${query}`)
    t.equal(status, 400, query)
    t.match(body.code, /^invalid_/)
  }
})
