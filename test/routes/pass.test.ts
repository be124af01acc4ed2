// What a rule lets pass, over HTTP: answered at once, on record, claimed once, and refused where everything is.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { digestOf } from '../../src/core/digest.js'
import { highRiskActions } from '../../src/policy/risk.js'
import { build, giveKeys, t0 } from '../support.js'

const rules = `
rules:
  - { name: reading, action: 'tool:Read', when: { tool_input.file_path: { exists: true } }, pass: true, risk: low }
  - { name: anything, action: '*', when: { pass: 1 }, pass: true }
  - { name: precise, action: 'tool:Glob', pass: true, digest_required: true }
`
const read = { action: 'tool:Read', details: { tool_input: { file_path: '/a' } } }

t.test('it is approved by the rule at once, on record, and told to nobody', async (t) => {
  const { call, submit, events } = await build(t, { rules })
  const passed = await submit({ ...read, session_key: 's1' })
  t.equal(passed.status, 200)
  t.match(passed.body, {
    id: 'id-0001',
    action: 'tool:Read',
    status: 'auto_approved',
    resolved_by: 'rule:reading',
    resolved_via: 'rule',
    message: "The rule 'reading' lets this pass; go ahead.",
    execution: 'unclaimed',
    rule: 'reading',
    risk: 'low',
    reason: null,
    votes: [],
  })
  t.match((await events()).slice(-2), [
    { type: 'submitted', confirmation_id: 'id-0001', data: { rule: 'reading' } },
    {
      type: 'auto_approved',
      actor: 'rule:reading',
      channel: 'rule',
      data: { rule: 'reading', status: 'auto_approved', resolved_by: 'rule:reading', resolved_at: t0 / 1000 },
    },
  ])
  t.same((await call('GET', '/confirm/id-0001')).body.deliveries, [])
  t.equal((await call('GET', '/audit?resolved_by=rule:reading')).body.count, 1)
  t.equal((await call('GET', '/audit/events?actor=rule:reading')).body.events.length, 1)
  t.match((await call('GET', '/metrics')).body, 'holdpoint_submissions_total{outcome="auto_approved"} 1')
  t.match(
    await submit({ action: 'tool:Read' }),
    { status: 202, body: { status: 'pending' } },
    'without a path it is held',
  )
})

t.test('it is claimed once, and with its digest where the rule says so', async (t) => {
  const { call, submit, clock } = await build(t, { rules })
  await submit(read)
  t.equal((await call('POST', '/confirm/id-0001/claim')).status, 200)
  t.match(await call('POST', '/confirm/id-0001/claim'), { status: 409, body: { code: 'already_claimed' } })
  t.equal((await call('POST', '/confirm/id-0001/report', { outcome: 'succeeded' })).status, 200)
  await submit({ action: 'tool:Glob' })
  t.match(await call('POST', '/confirm/id-0002/claim'), { status: 409, body: { code: 'digest_required' } })
  const asked = { action: 'tool:Glob', details: '{}', requester: 'agent', sessionKey: '', onBehalfOf: null }
  t.equal((await call('POST', '/confirm/id-0002/claim', { digest: digestOf(asked) })).status, 200)
  await submit(read)
  await clock.advance(15 * 60_000)
  t.match(await call('POST', '/confirm/id-0003/claim'), { status: 409, body: { code: 'approval_expired' } })
  t.match(await call('POST', '/confirm/id-0003/approve'), { status: 409, body: { code: 'already_resolved' } })
})

t.test('it takes no slot, no use of an entry and no place among what is open', async (t) => {
  const built = await build(t, { rules, config: { rateLimit: 2, openLimit: 1 } })
  const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'operator' })
  const entry = await ann('POST', '/whitelist', { action: 'tool:Read', max_uses: 1 })
  t.equal(entry.status, 201)
  const ask = (fields: object) => bot('POST', '/confirm', { description: 'd', ...fields })
  for (let count = 0; count < 5; count++) {
    t.equal((await ask(read)).body.resolved_by, 'rule:reading')
  }
  t.match((await ann('GET', '/whitelist')).body.entries, [{ uses: 0 }])
  t.match((await ask({ action: 'tool:Read' })).body, { status: 'auto_approved', resolved_by: /^whitelist:/ })
  t.equal((await ask({ action: 'tool:Read' })).status, 202, 'two in a window, and this is the first')
  t.equal((await ask({ action: 'tool:Read' })).body.code, 'too_many_open')
  t.equal((await ask(read)).status, 200, 'while as many are open as may be')
})

t.test('a suspended session gets nothing past, and what passes counts as written', async (t) => {
  const built = await build(t, { rules, config: { diskLimit: 1 } })
  const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'operator' })
  const ask = (fields: object) => bot('POST', '/confirm', { description: 'd', ...read, ...fields })
  t.equal((await ask({ session_key: 's1' })).status, 200)
  t.equal((await ann('POST', '/sessions/s1/suspend?requester=bot')).status, 200)
  t.match(await ask({ session_key: 's1' }), { status: 423, body: { code: 'session_suspended' } })
  t.equal((await ask({ session_key: 's2' })).status, 200)
  const padding = 'x'.repeat(300_000)
  const large = () => ask({ details: { tool_input: { file_path: padding } } })
  const statuses = []
  for (let count = 0; count < 6; count++) statuses.push((await large()).status)
  t.same(statuses.slice(-1), [429])
  t.match((await large()).body, { code: 'disk_limited' })
})

t.test('an Idempotency-Key repeats it, and a batch passes each by itself', async (t) => {
  const { call, submit } = await build(t, { rules })
  const first = await submit(read, { 'idempotency-key': 'k1' })
  t.same((await submit(read, { 'idempotency-key': 'k1' })).body.id, first.body.id)
  const requests = [read, { action: 'tool:Bash' }, { action: 'delete_data', details: { pass: 1 } }, read]
  const batch = await call('POST', '/confirm/batch', { items: requests.map((one) => ({ description: 'd', ...one })) })
  t.same(
    batch.body.results.map((one: any) => one.body?.status ?? one.status),
    ['auto_approved', 'pending', 'pending', 'auto_approved'],
  )
})

t.test('no high-risk action passes, whatever the rules and the details say', async (t) => {
  const { submit } = await build(t, { rules, config: { rateLimit: 1000 } })
  t.equal((await submit({ action: 'harmless', details: { pass: 1 } })).status, 200)
  for (const action of [...highRiskActions, 'Delete-Data', 'de1ete_data', 'deploy.production']) {
    const asked = await submit({ action, details: { pass: 1 } })
    t.match(asked, { status: 202, body: { status: 'pending' } }, action)
  }
  for (const action of ['harmless ext', 'harml\u0435ss', 'harmless\u200b']) {
    t.match(await submit({ action, details: { pass: 1 } }), { status: 400, body: { code: 'unclear_action' } }, action)
  }
})

t.test('nobody takes the name of a rule', async (t) => {
  const built = await build(t, { rules })
  await built.submit()
  const posed = await built.call('POST', '/confirm/id-0001/approve', { approver: 'rule:reading' })
  t.match(posed, { status: 400, body: { error: /'rule:'/ } })
  t.equal((await built.submit({ requester: 'RULE\uff1areading' })).status, 400)
  const { ann } = await giveKeys(built, { ann: 'admin' })
  t.equal((await ann('POST', '/keys', { name: 'Rule', role: 'agent' })).status, 400)
})

t.test(
  'a session of ten tool calls under the preset: reading passes, three calls are held, and all are on record',
  async (t) => {
    const preset = fileURLToPath(new URL('../../../presets/coding-agents.yaml', import.meta.url))
    const built = await build(t, { rules: readFileSync(preset, 'utf8') })
    const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'operator' })
    const calls: [string, object][] = [
      ['Read', { file_path: '/p/a.ts' }],
      ['Bash', { command: 'rm -rf build' }],
      ...Array.from({ length: 6 }, (_, at): [string, object] => ['Grep', { pattern: `${at}` }]),
      ['Write', { file_path: '/p/a.ts', content: '' }],
      ['WebFetch', { url: 'https://example.com/?secret' }],
    ]
    const statuses = []
    for (const [name, tool_input] of calls) {
      const body = { action: `tool:${name}`, description: name, details: { tool_input }, session_key: 'claude:1' }
      statuses.push((await bot('POST', '/confirm', body)).status)
    }
    t.same(statuses, [200, 202, 200, 200, 200, 200, 200, 200, 202, 202])
    const { entries } = (await ann('GET', '/audit?session_key=claude:1')).body
    t.same(
      entries.map(({ action, status }: any) => `${action} ${status}`).toReversed(),
      calls.map(([name]) => `tool:${name} ${['Read', 'Grep'].includes(name) ? 'auto_approved' : 'pending'}`),
    )
  },
)
