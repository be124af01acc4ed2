import t from 'tap'
import { highRiskActions } from '../../src/policy/risk.js'
import { build, t0 } from '../support.js'

t.test('an entry lets its action pass for everyone, names its maker, and counts its uses', async (t) => {
  const { call, submit, events } = await build(t)
  const added = await call('POST', '/whitelist', { action: 'send_mail', reason: 'harmless', granted_by: 'alice' })
  t.equal(added.status, 201)
  t.match(added.body, {
    id: 'id-0001',
    action: 'send_mail',
    scope: 'global',
    session_key: null,
    granted_by: 'alice',
    reason: 'harmless',
    uses: 0,
    max_uses: null,
    expires_at: null,
  })
  const passed = await submit({ session_key: 'any' })
  t.equal(passed.status, 200)
  t.match(passed.body, { id: 'id-0002', action: 'send_mail', status: 'auto_approved', message: /whitelist/ })
  t.match((await call('GET', '/confirm/id-0002')).body, {
    status: 'auto_approved',
    resolved_by: 'whitelist:id-0001',
    resolved_via: 'whitelist',
    resolved_at: t0 / 1000,
    deliveries: [],
  })
  t.match((await call('GET', '/whitelist')).body, {
    count: 1,
    entries: [{ id: 'id-0001', uses: 1 }],
    next_cursor: null,
  })
  t.match(await events(), [
    { type: 'granted', actor: 'alice', data: { grant_id: 'id-0001', action: 'send_mail' } },
    { type: 'submitted', confirmation_id: 'id-0002' },
    { type: 'auto_approved', actor: 'whitelist:id-0001', data: { grant_id: 'id-0001' } },
  ])
})

t.test('a session entry covers that session and no other, and not those without one', async (t) => {
  const { call, submit } = await build(t)
  await call('POST', '/whitelist', { action: 'send_mail', session_key: 's1' })
  t.equal((await submit({ session_key: 's1' })).status, 200)
  t.equal((await submit({ session_key: 's2' })).status, 202)
  t.equal((await submit()).status, 202)
})

t.test('adding the same again is no error: it stays one entry, with the new terms', async (t) => {
  const { call, submit, clock, events } = await build(t)
  await call('POST', '/whitelist', { action: 'send_mail' })
  await submit()
  const again = await call('POST', '/whitelist', { action: 'send_mail' })
  t.equal(again.status, 200)
  t.equal(again.body.id, 'id-0001')
  t.equal((await events()).filter(({ type }: any) => type === 'granted').length, 1, 'nothing changed, nothing recorded')
  await clock.advance(1000)
  const longer = await call('POST', '/whitelist', { action: 'send_mail', ttl_seconds: 60, max_uses: 5 })
  t.match(longer.body, { id: 'id-0001', uses: 1, max_uses: 5, expires_at: t0 / 1000 + 61 })
  t.equal((await call('GET', '/whitelist')).body.count, 1)
  t.equal((await events()).filter(({ type }: any) => type === 'granted').length, 2)
})

t.test('many who add the same at once end up with one entry', async (t) => {
  const { call } = await build(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', '/whitelist', { action: 'a' })))
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
})

t.test('an entry ends with its time, its uses, or its revocation', async (t) => {
  const { call, submit, clock, events } = await build(t)
  await call('POST', '/whitelist', { action: 'timed', ttl_seconds: 60 })
  await call('POST', '/whitelist', { action: 'counted', max_uses: 2 })
  const { id } = (await call('POST', '/whitelist', { action: 'revoked' })).body
  await clock.advance(59_999)
  t.equal((await submit({ action: 'timed' })).status, 200)
  await clock.advance(1)
  t.equal((await submit({ action: 'timed' })).status, 202)
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await submit({ action: 'counted' })).status)
  t.same(statuses, [200, 200, 202])
  const revoked = await call('DELETE', `/whitelist/${id}`, { revoked_by: 'bob' })
  t.equal(revoked.status, 200)
  t.match(revoked.body, { id, revoked_at: (t0 + 60_000) / 1000 })
  t.equal((await submit({ action: 'revoked' })).status, 202)
  t.equal((await call('DELETE', `/whitelist/${id}`)).status, 404, 'revoking twice finds nothing')
  t.equal((await call('GET', '/whitelist')).body.count, 0)
  t.match(
    (await events()).filter(({ type }: any) => type === 'revoked'),
    [{ actor: 'bob', data: { grant_id: id, action: 'revoked', uses: 0 } }],
  )
})

t.test('of many submissions at once exactly as many pass as the entry has uses', async (t) => {
  const { call, submit } = await build(t, { config: { rateLimit: 100 } })
  await call('POST', '/whitelist', { action: 'send_mail', max_uses: 7 })
  const answers = await Promise.all(Array.from({ length: 40 }, () => submit()))
  t.equal(answers.filter(({ status }) => status === 200).length, 7)
  t.equal(answers.filter(({ status }) => status === 202).length, 33)
  t.equal((await call('GET', '/audit?status=auto_approved')).body.count, 7)
})

t.test(
  'high-risk actions cannot be whitelisted, by no way and in no spelling, and the attempt is on record',
  async (t) => {
    const { call, submit, events } = await build(t)
    for (const action of [...highRiskActions, 'DELETE-DATA', 'delete\u02cddata']) {
      for (const session_key of [undefined, 's1']) {
        const { status, body } = await call('POST', '/whitelist', { action, session_key, granted_by: 'mallory' })
        t.equal(status, 403, action)
        t.equal(body.code, 'high_risk')
      }
    }
    t.equal((await events()).length, 24)
    t.match((await events())[0], {
      type: 'rejected',
      actor: 'mallory',
      data: { code: 'high_risk', action: 'deploy_production' },
    })
    t.equal((await call('GET', '/whitelist')).body.count, 0)
    t.equal((await submit({ action: 'delete_data', session_key: 's1' })).status, 202)
  },
)

t.test('names that are not plain are high-risk, and have one window together', async (t) => {
  const { call, submit } = await build(t, { config: { rateLimit: 2 } })
  const { id } = (await submit({ action: 'delete\u02cddata' })).body
  t.match((await call('GET', `/confirm/${id}`)).body, { risk: 'high', rule: 'high risk' })
  t.match(await call('POST', `/confirm/${id}/approve`, { remember: 'global' }), {
    status: 403,
    body: { code: 'high_risk' },
  })
  t.equal((await submit({ action: '\u0440\u0430y_x' })).status, 202)
  t.equal((await submit({ action: 'delete data' })).status, 429, 'another disguise brings no new window')
  t.same([(await submit({ action: 'Send_Mail' })).status, (await submit({ action: 'send-mail' })).status], [202, 202])
  t.equal((await submit({ action: 'send.mail' })).status, 429, 'nor does another spelling')
  t.equal((await submit({ action: 'sell' })).status, 202)
})

t.test('an entry covers the name that it was made for, in that spelling and no other', async (t) => {
  const { call, submit } = await build(t)
  await call('POST', '/whitelist', { action: 'send_mail' })
  t.equal((await submit()).status, 200)
  for (const action of ['Send_mail', 'send-mail', 'send__mail']) t.equal((await submit({ action })).status, 202, action)
})

t.test('approving with remember adds the entry in the same commit', async (t) => {
  const { call, submit, events } = await build(t)
  const { id } = (await submit({ session_key: 's1' })).body
  const { status, body } = await call('POST', `/confirm/${id}/approve`, { approver: 'alice', remember: 'session' })
  t.equal(status, 200)
  t.match(body, {
    status: 'approved',
    grant: { action: 'send_mail', scope: 'session', session_key: 's1', granted_by: 'alice' },
  })
  t.same(
    (await events()).slice(-2).map(({ type, confirmation_id }: any) => [type, confirmation_id]),
    [
      ['approved', id],
      ['granted', id],
    ],
  )
  t.equal((await submit({ session_key: 's1' })).status, 200)
  t.equal((await submit({ session_key: 's2' })).status, 202)
  const other = (await submit({ session_key: 's2' })).body.id
  await call('POST', `/confirm/${other}/approve`, { remember: 'global' })
  t.equal((await submit()).status, 200)
})

t.test('remembering a high-risk action is refused: nothing is decided, and the attempt is on record', async (t) => {
  const { call, submit, events } = await build(t)
  const { id } = (await submit({ action: 'delete_data', session_key: 's1' })).body
  for (const remember of ['session', 'global']) {
    const { status, body } = await call('POST', `/confirm/${id}/approve`, { approver: 'alice', remember })
    t.equal(status, 403)
    t.equal(body.code, 'high_risk')
  }
  t.equal((await call('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await call('GET', '/whitelist')).body.count, 0)
  t.match(
    (await events()).filter(({ type }: any) => type === 'rejected'),
    [
      { actor: 'alice', confirmation_id: id, data: { session_key: 's1' } },
      { actor: 'alice', confirmation_id: id, data: { session_key: null } },
    ],
  )
  t.equal((await call('POST', `/confirm/${id}/approve`)).status, 200)
})

t.test('without a session there is nothing to remember it for: that never becomes a global entry', async (t) => {
  const { call, submit } = await build(t)
  const { id } = (await submit()).body
  const { status, body } = await call('POST', `/confirm/${id}/approve`, { remember: 'session' })
  t.equal(status, 400)
  t.equal(body.code, 'no_session')
  t.equal((await call('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await call('GET', '/whitelist')).body.count, 0)
})

t.test('a malformed entry is refused with a clear sentence and adds nothing', async (t) => {
  const { call, events } = await build(t)
  for (const body of [
    {},
    { action: '' },
    { action: 5 },
    { action: 'a', session_key: '' },
    { action: 'a', session_key: null },
    { action: 'a', ttl_seconds: 0 },
    { action: 'a', ttl_seconds: -1 },
    { action: 'a', ttl_seconds: 1.5 },
    { action: 'a', ttl_seconds: '60' },
    { action: 'a', max_uses: 0 },
    { action: 'a', max_uses: 1e12 },
    { action: 'a', reason: 5 },
    { action: 'a', granted_by: 'system:root' },
    { action: 'a', when: null },
    { action: 'a', when: [] },
    { action: 'a', when: 'amount < 5' },
    { action: 'a', when: {} },
    { action: 'a', details: 'x' },
    { action: 'a', details: [] },
  ]) {
    const answer = await call('POST', '/whitelist', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body.error, /^Field '/)
  }
  t.same(await events(), [])
})

t.test('an entry with conditions covers what meets them and nothing else', async (t) => {
  const { call, submit, events } = await build(t)
  const when = { currency: 'EUR', amount: { greater_than: 0, at_most: 100 } }
  const added = await call('POST', '/whitelist', { action: 'pay', when, granted_by: 'alice' })
  t.equal(added.status, 201)
  t.same(added.body.when, when)
  t.same((await call('GET', '/whitelist')).body.entries[0].when, when)
  t.same((await events())[0].data.when, when)
  const ask = async (details: object) => (await submit({ action: 'pay', details })).status
  t.equal(await ask({ currency: 'EUR', amount: 100 }), 200)
  for (const details of [
    { currency: 'EUR', amount: 101 },
    { currency: 'EUR', amount: '100' },
    { currency: 'EUR' },
    { amount: 5 },
    {},
  ]) {
    t.equal(await ask(details), 202, JSON.stringify(details))
  }
  t.match((await events()).find(({ type }: any) => type === 'auto_approved').data, { grant_id: added.body.id })
  await call('DELETE', `/whitelist/${added.body.id}`)
  t.same((await events()).at(-1).data.when, when, 'also when it ends')
})

t.test('conditions are part of what tells entries apart', async (t) => {
  const { call } = await build(t)
  const add = async (fields: object) => {
    const { status, body } = await call('POST', '/whitelist', { action: 'pay', ...fields })
    return [status, body.id]
  }
  t.same(await add({}), [201, 'id-0001'])
  t.same(await add({ when: { a: 1, b: { in: [1, 2] } } }), [201, 'id-0002'])
  t.same(await add({ when: { b: { in: [1, 2] }, a: 1 }, max_uses: 5 }), [200, 'id-0002'], 'in whatever order')
  const [, other] = await add({ when: { a: 2 } })
  t.not(other, 'id-0002')
  const [, exact] = await add({ details: { a: 1 } })
  t.same(await add({ details: { a: 1.0 }, ttl_seconds: 60 }), [200, exact])
  t.equal((await add({ details: {} }))[0], 201)
  t.equal((await call('GET', '/whitelist')).body.count, 5)
})

t.test('conditions that are wrong are refused, and the sentence says what is', async (t) => {
  const { call, events } = await build(t)
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ 'amount.': 1 }, /the path `amount\.` ends with a dot/],
    [{ amount: { atmost: 5 } }, /there is no comparison `atmost`; did you mean `at_most`\?/],
    [{ amount: { at_most: '5' } }, /`at_most` must be a number, without quotes/],
    [{ amount: {} }, /`amount` must have a comparison/],
    [{ amount: [5] }, /`amount` must be text, a number/],
    [{ amount: { in: [] } }, /`in` must be a list of values/],
    [{ amount: { exists: 'no' } }, /`exists` must be true or false/],
    [{ amount: { equals: 1, every: true } }, /`every` needs a path with a \*/],
    [{ amount: { equals: 9007199254740992 } }, /must be a number that JSON can hold exactly/],
    [Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`a${i}`, 1])), /at most 20 conditions/],
    [{ a: 'x'.repeat(2000) }, /at most 2000 characters/],
  ]
  for (const [when, expected] of cases) {
    const { status, body } = await call('POST', '/whitelist', { action: 'pay', when })
    t.equal(status, 400, String(expected))
    t.match(body.error, /^Field 'when': /)
    t.match(body.error, expected)
  }
  const deep = `{"action":"a","when":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`
  t.equal((await call('POST', '/whitelist', deep)).status, 400)
  t.same(await events(), [])
})

t.test('an entry for exactly these details covers them however they are written, and no others', async (t) => {
  const { call, submit } = await build(t)
  const details = { to: ['a', 'b'], body: { text: 'hi', size: 1 } }
  const added = await call('POST', '/whitelist', { action: 'send_mail', details })
  t.same(added.body.details, details)
  t.equal((await submit({ details: { body: { size: 1.0, text: 'hi' }, to: ['a', 'b'] } })).status, 200)
  for (const other of [{}, { ...details, cc: null }, { ...details, to: ['b', 'a'] }, { to: details.to }]) {
    t.equal((await submit({ details: other })).status, 202, JSON.stringify(other))
  }
  const { status, body } = await call('POST', '/whitelist', { action: 'x', details: { a: 'x'.repeat(10_000) } })
  t.equal(status, 400)
  t.equal(body.code, 'details_too_long')
})

t.test('only so many entries may cover one request, and the next says what to do', async (t) => {
  const { call } = await build(t)
  const add = (fields: object) => call('POST', '/whitelist', { action: 'pay', ...fields })
  for (let i = 0; i < 100; i++) t.equal((await add({ when: { a: i } })).status, 201)
  const { status, body } = await add({ when: { a: 100 } })
  t.equal(status, 409)
  t.equal(body.code, 'whitelist_full')
  t.match(body.error, /Revoke one; GET \/whitelist lists them/)
  t.equal((await add({ when: { a: 5 }, max_uses: 3 })).status, 200, 'those that stand can be set anew')
  t.equal((await add({ session_key: 's' })).status, 201, 'and others are none of these')
  t.equal((await add({ details: { a: 1 } })).status, 201)
  const { entries } = (await call('GET', '/whitelist?limit=500')).body
  await call('DELETE', `/whitelist/${entries.find(({ when }: any) => when?.a === 0).id}`)
  t.equal((await add({ when: { a: 100 } })).status, 201)
})

t.test('an approval is remembered for as long, for whom and for which details it says', async (t) => {
  const { call, submit, clock, events } = await build(t)
  const details = { to: 'all' }
  const { id } = (await submit({ details, requester: 'bot' })).body
  const remember = { scope: 'global', ttl_seconds: 3600, for: 'requester', details: 'exact' }
  const { status, body } = await call('POST', `/confirm/${id}/approve`, { approver: 'alice', remember })
  t.equal(status, 200)
  const expires_at = t0 / 1000 + 3600
  t.match(body.grant, { scope: 'global', session_key: null, requester: 'bot', details, when: null, expires_at })
  t.match(body.votes, [{ remember: { scope: 'global', requester: 'bot', expires_at, details: 'exact' } }])
  t.match((await call('GET', `/confirm/${id}`)).body.votes[0].remember, { scope: 'global', details: 'exact' })
  t.match((await events()).at(-1), {
    type: 'granted',
    confirmation_id: id,
    data: { requester: 'bot', details, expires_at },
  })
  const ask = async (fields: object) => (await submit({ details, requester: 'bot', ...fields })).status
  t.equal(await ask({}), 200)
  t.equal(await ask({ requester: 'other' }), 202)
  t.equal(await ask({ details: {} }), 202)
  await clock.advance(3_600_000)
  t.equal(await ask({}), 202)
})

t.test('in one word it is remembered until it is revoked, for anyone and whatever the details', async (t) => {
  const { call, submit } = await build(t)
  for (const remember of ['global', { scope: 'global' }]) {
    const { id } = (await submit({ action: `a_${typeof remember}`, details: { a: 1 } })).body
    const { body } = await call('POST', `/confirm/${id}/approve`, { remember })
    t.match(body.grant, { scope: 'global', requester: null, details: null, when: null, expires_at: null })
    t.match(body.votes, [{ remember: { scope: 'global', requester: null, expires_at: null, details: 'any' } }])
  }
})

t.test('for whoever gave no name nothing is remembered: that never becomes an entry for anyone', async (t) => {
  const { call, submit } = await build(t)
  const { id } = (await submit({ requester: '' })).body
  const remember = { scope: 'global', for: 'requester' }
  const { status, body } = await call('POST', `/confirm/${id}/approve`, { remember })
  t.equal(status, 400)
  t.equal(body.code, 'no_requester')
  t.equal((await call('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await call('GET', '/whitelist')).body.count, 0)
})

t.test('what to remember is understood whole or not at all', async (t) => {
  const { call, submit } = await build(t)
  const { id } = (await submit({ session_key: 's' })).body
  const cases: [unknown, RegExp][] = [
    ['forever', /^Field 'remember' must be 'session', 'global' or an object/],
    [null, /^Field 'remember' must be/],
    [{}, /^Field 'remember.scope' must be 'session' or 'global'/],
    [{ scope: 'all' }, /^Field 'remember.scope'/],
    [{ scope: 'global', ttl_seconds: 0 }, /^Field 'remember.ttl_seconds' must be a whole number from 1/],
    [
      { scope: 'global', ttl: 60 },
      /^There is no field 'ttl' here; did you mean 'ttl_seconds'\? It takes scope, ttl_seconds, for, details/,
    ],
    [{ scope: 'global', for: 'bot' }, /^Field 'remember.for' must be 'requester' or 'anyone'/],
    [{ scope: 'global', details: {} }, /^Field 'remember.details' must be 'exact' or 'any'/],
  ]
  for (const [remember, expected] of cases) {
    const { status, body } = await call('POST', `/confirm/${id}/approve`, { remember })
    t.equal(status, 400, JSON.stringify(remember))
    t.match(body.error, expected)
    const isUnknown = body.error.startsWith('There is no field')
    t.equal(body.code, isUnknown ? 'unknown_field' : 'invalid_request')
  }
  t.equal((await call('GET', `/confirm/${id}`)).body.status, 'pending')
  t.equal((await call('GET', '/whitelist')).body.count, 0)
})
