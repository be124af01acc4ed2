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
  ]) {
    const answer = await call('POST', '/whitelist', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body.error, /^Field '/)
  }
  t.same(await events(), [])
})
