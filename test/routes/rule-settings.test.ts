// Every setting of a rule, from the outside: what it asks of those who submit and of those who decide.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { withTelegram } from '../notify/chats.js'
import {
  type Answer,
  build,
  type Built,
  type BuildOptions,
  type CallAs,
  counter,
  giveKeys,
  interleaving,
  manualClock,
  rulesFrom,
  t0,
  temporaryFolder,
  until,
  withKey,
} from '../support.js'

const people = {
  bot: 'agent',
  other: 'agent',
  ann: 'operator',
  bo: 'operator',
  cy: 'operator',
  audrey: 'auditor',
  root: 'admin',
} as const

type Keys = Record<keyof typeof people, CallAs>

interface Ruled extends Built, Keys {
  ask(fields?: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
  /** The id of one that was asked for, and is held. */
  held(fields?: Record<string, unknown>): Promise<string>
  history(type?: string): Promise<any[]>
  status(id: string): Promise<string>
}

async function ruled(t: Test, rules: string, options: BuildOptions = {}): Promise<Ruled> {
  const config = { floodLimit: 0, rateLimit: 1000, ...options.config }
  return around(await build(t, { ...options, config, rules }))
}

async function around(built: Built): Promise<Ruled> {
  const keys = await giveKeys(built, people)
  return { ...built, ...keys, ...verbs(keys) }
}

function verbs({ bot, audrey }: Pick<Keys, 'bot' | 'audrey'>) {
  const ask: Ruled['ask'] = (fields = {}, headers = {}) =>
    bot('POST', '/confirm', { action: 'a', description: 'd', ...fields }, headers)
  return {
    ask,
    held: async (fields = {}) => {
      const { status, body } = await ask(fields)
      if (status !== 202) throw new Error(`answered ${status}: ${JSON.stringify(body)}`)
      return body.id as string
    },
    history: async (type?: string) => {
      const { events } = (await audrey('GET', '/audit/events?limit=500')).body
      return events.filter((event: any) => type === undefined || event.type === type)
    },
    status: async (id: string) => (await audrey('GET', `/confirm/${id}`)).body.status,
  }
}

const rule = (settings: string) => `
groups: { sec: [ann, bo], ops: [bo, cy] }
rules:
  - { name: tested, action: a, ${settings} }
`

t.test('neither case nor separators nor another alphabet dodge a rule', async (t) => {
  const rules = 'rules: [{ name: strict, action: pay_*, approvals: 2 }, { name: lax, action: "*" }]'
  const { ask, bot, history } = await ruled(t, rules)
  for (const action of ['pay_x', 'Pay_x', 'pay-x', 'PAY.X']) {
    const { id } = (await ask({ action })).body
    t.match((await bot('GET', `/confirm/${id}`)).body, { rule: 'strict', action }, action)
  }
  for (const action of ['\u0440\u0430y_x', 'pay x', 'delete\u02cddata']) {
    const { status, body } = await ask({ action })
    t.equal(status, 400, action)
    t.equal(body.code, 'unclear_action')
    t.match(body.error, /U\+(0440|0020|02CD) in it, and no rule spells it out\. Use a name of ASCII letters/)
  }
  const batch = await bot('POST', '/confirm/batch', {
    items: [
      { action: 'pay x', description: 'd' },
      { action: 'pay.x', description: 'd' },
    ],
  })
  t.match(batch.body.results, [{ status_code: 400, body: { code: 'unclear_action' } }, { status_code: 202 }])
  t.equal((await history('submitted')).length, 5, 'what is refused leaves nothing behind')
})

t.test('a name that is not plain is held as high-risk where a rule spells it out', async (t) => {
  const { ask, root } = await ruled(t, 'rules: [{ action: löschen }, { action: "*" }]')
  const { id } = (await ask({ action: 'löschen' })).body
  t.match((await root('GET', `/confirm/${id}`)).body, { rule: 'löschen', risk: 'high' })
  t.equal((await ask({ action: 'Löschen' })).body.code, 'unclear_action', 'that one and no other')
  t.match(await root('POST', '/whitelist', { action: 'löschen' }), { status: 403, body: { code: 'high_risk' } })
})

t.test('another spelling of a high-risk action takes a slot of the same window, also after a restart', async (t) => {
  const rules = 'rules: [{ action: delete_data, rate_limit: { max: 2, window_seconds: 3600 } }]'
  const first = await build(t, { rules })
  const statuses = async (built: Built, actions: string[]) => {
    const answers = []
    for (const action of actions) answers.push((await built.submit({ action })).status)
    return answers
  }
  t.same(await statuses(first, ['delete_data', 'Delete-Data', 'DELETE_DATA', 'de1ete.data']), [202, 202, 429, 429])
  await first.stop()
  const second = await build(t, { rules, dbPath: first.dbPath, clock: first.clock })
  t.same(await statuses(second, ['deletedata', 'delete_date']), [429, 202])
})

t.test('two approvals: the first leaves it pending, the same person has no second, another approves', async (t) => {
  const { held, ann, bo, bot, status, history } = await ruled(t, rule('approvals: 2'))
  const id = await held()
  const first = await ann('POST', `/confirm/${id}/approve`)
  t.match(first, {
    status: 200,
    body: { status: 'pending', resolved_by: '', approvals_needed: 2, approvals_given: 1, votes: [{ by: 'ann' }] },
  })
  for (const verdict of ['approve', 'deny']) {
    t.match(await ann('POST', `/confirm/${id}/${verdict}`), {
      status: 409,
      body: { code: 'already_voted', status: 'pending' },
    })
  }
  t.match(await ann('POST', '/decisions', { decisions: [{ id, verdict: 'approve' }] }), {
    body: { results: [{ status_code: 409 }] },
  })
  t.match(await bot('POST', `/confirm/${id}/claim`), { status: 409, body: { code: 'not_approved' } })
  t.equal(await status(id), 'pending')
  t.match(await bo('POST', `/confirm/${id}/approve`), {
    status: 200,
    body: { status: 'approved', resolved_by: 'bo', approvals_given: 2 },
  })
  t.match(await history('voted'), [
    { actor: 'ann', confirmation_id: id, data: { verdict: 'approve', approvals_given: 1, approvals_needed: 2 } },
  ])
  t.match(await history('approved'), [{ actor: 'bo', data: { rule: 'tested', approvals_given: 2 } }])
  t.equal((await history('rejected')).filter(({ data }) => data.code === 'already_voted').length, 3)
})

t.test('a second key, a rotated key or another name in the body is still the same person', async (t) => {
  const { held, ann, root, call, status } = await ruled(t, rule('approvals: 2'))
  const id = await held()
  await ann('POST', `/confirm/${id}/approve`)
  const more = [
    (await root('POST', '/keys', { name: 'ann', role: 'admin' })).body.key,
    (await root('POST', `/keys/${ann.keyId}/rotate`)).body.key,
  ]
  for (const key of [...more, ann.key]) {
    const answer = await withKey(call, key)('POST', `/confirm/${id}/approve`, { approver: 'bo' })
    t.match(answer, { status: 409, body: { code: 'already_voted' } })
  }
  t.equal(await status(id), 'pending')
})

t.test('votes outlast a restart: the same person is still known, and the second one is enough', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const before = await ruled(t, rule('approvals: 2'), { dbPath, newId })
  const id = await before.held()
  await before.ann('POST', `/confirm/${id}/approve`)
  await before.stop()
  const after = await build(t, { dbPath, newId, clock: manualClock(t0 + 1000) })
  t.equal((await withKey(after.call, before.ann.key)('POST', `/confirm/${id}/approve`)).status, 409)
  t.match(await withKey(after.call, before.bo.key)('POST', `/confirm/${id}/approve`), {
    body: { status: 'approved', votes: [{ by: 'ann' }, { by: 'bo' }] },
  })
})

t.test('one denial ends it, whoever approved before', async (t) => {
  const { held, ann, bo, cy } = await ruled(t, rule('approvals: 3'))
  const id = await held()
  await ann('POST', `/confirm/${id}/approve`)
  t.match(await bo('POST', `/confirm/${id}/deny`, { reason: 'no' }), { status: 200, body: { status: 'denied' } })
  t.match(await cy('POST', `/confirm/${id}/approve`), { status: 409, body: { status: 'denied', resolved_by: 'bo' } })
})

t.test('a denial and the second approval at the same time leave exactly one outcome', async (t) => {
  const { held, ann, bo, cy, root, status, history } = await ruled(t, rule('approvals: 2'))
  const rounds = 25
  const seen = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const id = await held({ details: { round } })
    const approve = (key: CallAs) => key('POST', `/confirm/${id}/approve`)
    const deny = (key: CallAs) => key('POST', `/confirm/${id}/deny`)
    await approve(ann)
    // The order changes from round to round, and with it who comes first.
    const attempts = [() => approve(bo), () => deny(cy), () => approve(root), () => deny(ann)]
    const turned = [...attempts.slice(round % 4), ...attempts.slice(0, round % 4)]
    const answers = await Promise.all(turned.map((attempt) => attempt()))
    const won = answers.filter(({ status: code }) => code === 200)
    t.equal(won.length, 1)
    const outcome = won[0]!.body.status as string
    seen.add(outcome)
    t.equal(await status(id), outcome)
    for (const { body } of answers.filter((one) => one !== won[0])) {
      if (body.code !== 'already_voted') t.match(body, { code: 'already_resolved', status: outcome })
    }
  }
  t.same([...seen].sort(), ['approved', 'denied'])
  const ends = [...(await history('approved')), ...(await history('denied'))]
  t.equal(ends.length, rounds)
  t.equal(new Set(ends.map(({ confirmation_id }) => confirmation_id)).size, rounds)
})

t.test('one person who approves many times at once counts once', async (t) => {
  const { held, ann, status } = await ruled(t, rule('approvals: 2'))
  const id = await held()
  const answers = await Promise.all(Array.from({ length: 20 }, () => ann('POST', `/confirm/${id}/approve`)))
  t.equal(answers.filter(({ status: code }) => code === 200).length, 1)
  t.equal(answers.filter(({ body }) => body.code === 'already_voted').length, 19)
  t.equal(await status(id), 'pending')
})

t.test('approvals from groups: each seat is for its group, and a person takes one', async (t) => {
  const { held, ann, bo, cy, root, status } = await ruled(t, rule('approvals: { sec: 1, ops: 1 }'))
  const id = await held()
  t.match(await root('POST', `/confirm/${id}/approve`), { status: 403, body: { code: 'not_a_decider' } })
  t.match(await bo('POST', `/confirm/${id}/approve`), { status: 200, body: { status: 'pending' } })
  t.equal((await bo('POST', `/confirm/${id}/approve`)).status, 409)
  t.match(await cy('POST', `/confirm/${id}/approve`), { status: 200, body: { status: 'approved' } })
  const other = await held()
  t.match(await ann('POST', `/confirm/${other}/approve`), { body: { status: 'pending' } })
  t.match(await root('POST', `/confirm/${other}/deny`), { status: 200, body: { status: 'denied' } })
  t.equal(await status(other), 'denied')
})

t.test('deciders: nobody else approves or denies, whatever their role', async (t) => {
  const { held, ann, bo, cy, root, status, history } = await ruled(t, rule('deciders: [cy, "group:sec"]'))
  const id = await held()
  for (const verdict of ['approve', 'deny']) {
    t.match(await root('POST', `/confirm/${id}/${verdict}`), { status: 403, body: { code: 'not_a_decider' } })
  }
  t.equal(await status(id), 'pending')
  t.match(await history('rejected'), [{ actor: 'root', confirmation_id: id }, { actor: 'root' }])
  for (const decider of [ann, bo, cy]) t.equal((await decider('POST', `/confirm/${await held()}/approve`)).status, 200)
})

t.test('a reason that is required must be given, and what nobody can see is none', async (t) => {
  const { held, ann, status } = await ruled(t, rule('reason_required: true'))
  const id = await held()
  for (const verdict of ['approve', 'deny']) {
    for (const reason of [undefined, '', ' \n', '\u200b', '\u3164', '\u2800\u00a0\u202e\u00ad']) {
      const body = { reason }
      t.match(await ann('POST', `/confirm/${id}/${verdict}`, body), { status: 400, body: { code: 'reason_required' } })
    }
  }
  t.equal((await ann('POST', `/confirm/${id}/deny`)).status, 400)
  for (const reason of [undefined, '\u3164']) {
    t.match(await ann('POST', '/decisions', { decisions: [{ id, verdict: 'deny', reason }] }), {
      body: { results: [{ status_code: 400 }] },
    })
  }
  t.equal(await status(id), 'pending')
  t.match(await ann('POST', `/confirm/${id}/approve`, { reason: 'fine' }), { status: 200, body: { reason: 'fine' } })
})

t.test('a reason that is required to deny is not required to approve', async (t) => {
  const { held, ann } = await ruled(t, rule('reason_required: deny'))
  t.equal((await ann('POST', `/confirm/${await held()}/approve`)).status, 200)
  t.equal((await ann('POST', `/confirm/${await held()}/deny`)).status, 400)
})

t.test('a typed confirmation is the name of the action, and only approving needs it', async (t) => {
  const { held, ann, status } = await ruled(t, rule('typed_confirmation: true'))
  const id = await held()
  for (const body of [undefined, { typed_action: '' }, { typed_action: 'A' }, { typed_action: 'b' }]) {
    t.match(await ann('POST', `/confirm/${id}/approve`, body), { status: 400, body: { code: 'typing_required' } })
  }
  t.match(await ann('POST', '/decisions', { decisions: [{ id, verdict: 'approve' }] }), {
    body: { results: [{ status_code: 400, body: { code: 'typing_required' } }] },
  })
  t.equal(await status(id), 'pending')
  t.equal((await ann('POST', `/confirm/${id}/approve`, { typed_action: 'a' })).status, 200)
  const decisions = [{ id: await held(), verdict: 'approve', typed_action: 'a' }]
  t.match(await ann('POST', '/decisions', { decisions }), { body: { results: [{ status_code: 200 }] } })
  t.equal((await ann('POST', `/confirm/${await held()}/deny`)).status, 200)
})

t.test('own_requests lets whoever submitted it decide it, where the rule says so', async (t) => {
  const { root } = await ruled(t, rule('own_requests: true'))
  const { id } = (await root('POST', '/confirm', { action: 'a', description: 'd' })).body
  t.match(await root('POST', `/confirm/${id}/approve`), { status: 200, body: { resolved_by: 'root' } })
  const elsewhere = (await root('POST', '/confirm', { action: 'b', description: 'd' })).body.id
  t.match(await root('POST', `/confirm/${elsewhere}/approve`), { status: 403, body: { code: 'own_request' } })
})

t.test('own_requests with a pattern never reaches a high-risk action', async (t) => {
  const { root } = await ruled(t, "rules: [{ name: all, action: '*', own_requests: true }]")
  for (const action of ['delete_data', 'Delete-Data']) {
    const { id } = (await root('POST', '/confirm', { action, description: 'd' })).body
    t.match(await root('POST', `/confirm/${id}/approve`), { status: 403, body: { code: 'own_request' } })
    t.match(await root('GET', `/confirm/${id}`), { body: { risk: 'high', rule: 'all' } })
  }
})

t.test('the timeout is the rule’s, and what is asked for stays within its bounds', async (t) => {
  const { ask } = await ruled(t, rule('timeout: { default: 100, min: 50, max: 200 }'))
  for (const [asked, given] of [
    [undefined, 100],
    ['soon', 100],
    [1, 50],
    [120, 120],
    [9999, 200],
  ]) {
    t.equal((await ask({ timeout_seconds: asked })).body.timeout_seconds, given, String(asked))
    t.equal((await ask({ action: 'b', timeout_seconds: 9999 })).body.timeout_seconds, 3600)
  }
})

t.test('a rate limit of a rule is for its actions, each by itself', async (t) => {
  const { ask, clock, history } = await ruled(t, rule('rate_limit: { max: 2, window_seconds: 60 }'))
  t.match(await ask(), { status: 202, headers: { 'ratelimit-policy': '"action";q=2;w=60' } })
  await clock.advance(30_000)
  t.equal((await ask()).status, 202)
  t.match(await ask(), { status: 429, body: { code: 'rate_limited', window_seconds: 60, retry_after_seconds: 30 } })
  t.equal((await ask({ action: 'b' })).status, 202)
  await clock.advance(30_000)
  t.equal((await ask()).status, 202)
  t.equal((await history('rate_limited')).length, 1)
})

t.test('what the rule keeps from the whitelist gets no entry, and no approval is remembered', async (t) => {
  const { ask, held, ann, status, history } = await ruled(t, rule('whitelist: false'))
  const id = await held({ session_key: 's' })
  for (const remember of ['session', 'global']) {
    t.match(await ann('POST', `/confirm/${id}/approve`, { remember }), {
      status: 403,
      body: { code: 'not_whitelistable' },
    })
  }
  t.equal(await status(id), 'pending', 'and nothing was decided')
  t.match(await ann('POST', '/whitelist', { action: 'a' }), { status: 403, body: { code: 'not_whitelistable' } })
  t.equal((await history('rejected')).length, 3)
  t.equal((await ask()).status, 202)
})

for (const settings of [
  'approvals: 2',
  'approvals: { sec: 1, ops: 1 }',
  'deciders: [ann]',
  'reason_required: true',
  'typed_confirmation: true',
]) {
  t.test(`what asks for more than one plain yes is not whitelisted by itself: ${settings}`, async (t) => {
    const { ask, ann, held } = await ruled(t, rule(settings))
    t.match(await ann('POST', '/whitelist', { action: 'a' }), { status: 403 })
    const body = { remember: 'global', reason: 'r', typed_action: 'a' }
    t.match(await ann('POST', `/confirm/${await held()}/approve`, body), { status: 403 })
    t.equal((await ask()).status, 202)
  })
}

t.test('an entry does not cover what whoever gave it asks for themselves', async (t) => {
  const { ask, root, ann } = await ruled(t, rule('risk: low'))
  t.equal((await root('POST', '/whitelist', { action: 'a' })).status, 201)
  const own = await root('POST', '/confirm', { action: 'a', description: 'd' })
  t.match(own, { status: 202, body: { status: 'pending' } })
  t.match(await ask(), { status: 200, body: { status: 'auto_approved' } })
  t.equal((await ann('POST', '/whitelist', { action: 'a' })).status, 200, 'set anew by another')
  t.equal((await root('POST', '/confirm', { action: 'a', description: 'd' })).status, 200)
})

t.test('nor an approval that was remembered', async (t) => {
  const { held, root, ask } = await ruled(t, rule('risk: low'))
  t.equal((await root('POST', `/confirm/${await held()}/approve`, { remember: 'global' })).status, 200)
  t.equal((await ask()).status, 200)
  t.equal((await root('POST', '/confirm', { action: 'a', description: 'd' })).status, 202)
})

t.test('an entry counts where its giver may decide, and nowhere else', async (t) => {
  const { ask, ann, bo } = await ruled(t, rule('deciders: [ann], whitelist: true'))
  t.equal((await bo('POST', '/whitelist', { action: 'a' })).status, 201)
  t.equal((await ask()).status, 202)
  t.equal((await ann('POST', '/whitelist', { action: 'a' })).status, 200)
  t.equal((await ask()).status, 200)
})

const conditions = `
rules:
  - name: small
    action: order_*
    when: { total: { at_most: 100 }, currency: EUR, 'items.*.kind': { equals: paper, every: true } }
    risk: low
  - { name: large, action: order_*, approvals: 2 }
`

t.test('conditions on the details choose the rule, and what leaves them out gets the strict one', async (t) => {
  const { held, ann, bot } = await ruled(t, conditions)
  const small = { total: 100, currency: 'EUR', items: [{ kind: 'paper' }] }
  const ruleOf = async (details: object) =>
    (await bot('GET', `/confirm/${await held({ action: 'order_x', details })}`)).body.rule
  t.equal(await ruleOf(small), 'small')
  for (const details of [
    {},
    { ...small, total: 101 },
    { ...small, total: '100' },
    { ...small, total: null },
    { ...small, total: [1] },
    { ...small, currency: 'eur' },
    { ...small, items: [{ kind: 'paper' }, { kind: 'gold' }] },
    { ...small, items: [] },
  ]) {
    t.equal(await ruleOf(details), 'large', JSON.stringify(details))
  }
  const large = await held({ action: 'order_x' })
  t.match(await ann('POST', `/confirm/${large}/approve`), { body: { status: 'pending', approvals_needed: 2 } })
})

t.test('an entry covers only what its rule lets pass, also under the same name', async (t) => {
  const { ask, ann } = await ruled(t, conditions)
  t.equal((await ann('POST', '/whitelist', { action: 'order_x' })).status, 201)
  const details = { total: 5, currency: 'EUR', items: [{ kind: 'paper' }] }
  t.equal((await ask({ action: 'order_x', details })).status, 200)
  t.equal((await ask({ action: 'order_x', details: { ...details, total: 500 } })).status, 202)
})

t.test('new rules govern what comes; what already waits keeps its terms', async (t) => {
  const { held, ann, bo, bot, service, history, ask } = await ruled(t, rule('approvals: 2'))
  const before = await held()
  await service.useRules(rulesFrom(rule('approvals: 1')))
  const after = await held()
  t.match(await ann('POST', `/confirm/${after}/approve`), { body: { status: 'approved', approvals_needed: 1 } })
  t.match(await ann('POST', `/confirm/${before}/approve`), { body: { status: 'pending', approvals_needed: 2 } })
  t.match(await ann('POST', `/confirm/${before}/approve`), { status: 409 })
  t.match(await bo('POST', `/confirm/${before}/approve`), { body: { status: 'approved' } })
  t.match(await bot('GET', `/confirm/${before}`), { body: { rule: 'tested' } })
  t.equal((await history('rules_loaded')).length, 2)
  const eased = await held({ session_key: 's' })
  await service.useRules(rulesFrom(rule('whitelist: false')))
  t.match(await ann('POST', `/confirm/${eased}/approve`, { remember: 'session' }), {
    status: 403,
    body: { code: 'not_whitelistable' },
  })
  await service.useRules(rulesFrom(rule('rate_limit: { max: 1, window_seconds: 86400 }')))
  t.equal((await ask()).status, 429, 'what was asked before counts in a window that is new')
})

t.test('a slot that is being taken while the rules change stays taken', async (t) => {
  const limit = (window: number) => rulesFrom(rule(`rate_limit: { max: 1, window_seconds: ${window} }`))
  const { wrapStore, interfere } = interleaving()
  const { submit, service } = await build(t, { wrapStore })
  await service.useRules(limit(60))
  interfere(() => service.useRules(limit(86_400)))
  t.equal((await submit({ action: 'a' })).status, 202)
  t.equal((await submit({ action: 'a' })).status, 429)
})

t.test('an entry that new rules do not allow any more covers nothing', async (t) => {
  const { ask, ann, service } = await ruled(t, rule('risk: low'))
  await ann('POST', '/whitelist', { action: 'a' })
  t.equal((await ask()).status, 200)
  await service.useRules(rulesFrom(rule('approvals: 2')))
  t.equal((await ask()).status, 202)
})

// -- against tiredness

t.test('a requester may have so many open, and more when one is answered', async (t) => {
  const { ask, held, ann, bot, other, history } = await ruled(t, rule('open_limit: 2'))
  const first = await held()
  const second = await held()
  t.match(await ask(), { status: 429, body: { code: 'too_many_open', open_limit: 2 } })
  t.equal((await other('POST', '/confirm', { action: 'a', description: 'd' })).status, 202, 'others have their own')
  t.match(await history('rejected'), [{ actor: 'bot', data: { code: 'too_many_open', action: 'a' } }])
  await ann('POST', `/confirm/${first}/approve`)
  t.equal((await ask()).status, 202)
  t.equal((await ask()).status, 429)
  await bot('POST', `/confirm/${second}/cancel`)
  t.equal((await ask()).status, 202)
})

t.test('what has expired is not open, and what was open before a restart still is', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const before = await ruled(t, rule('open_limit: 2'), { dbPath, newId })
  await before.held({ timeout_seconds: 30 })
  await before.held()
  await before.stop()
  const rules = rule('open_limit: 2')
  const clock = manualClock(t0 + 1000)
  const after = await build(t, { dbPath, newId, clock, rules })
  const bot = withKey(after.call, before.bot.key)
  const ask = async () => (await bot('POST', '/confirm', { action: 'a', description: 'd' })).status
  t.equal(await ask(), 429)
  await clock.advance(30_000)
  t.equal(await ask(), 202)
  t.equal(await ask(), 429)
})

t.test('of many at once no more are opened than may be, alone and in a batch', async (t) => {
  const { ask, bot } = await ruled(t, rule('open_limit: 3'))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask({ details: { i } })))
  t.equal(answers.filter(({ status }) => status === 202).length, 3)
  for (const { id } of answers.filter(({ status }) => status === 202).map(({ body }) => body)) {
    await bot('POST', `/confirm/${id}/cancel`)
  }
  const items = Array.from({ length: 10 }, (_, i) => ({ action: 'a', description: 'd', details: { i } }))
  const { results } = (await bot('POST', '/confirm/batch', { items })).body
  t.same(
    results.map(({ status_code }: any) => status_code),
    [202, 202, 202, ...Array.from({ length: 7 }, () => 429)],
  )
})

t.test('nor when those that waited for one batch all go on at once', async (t) => {
  const { ask, bot, root } = await ruled(t, rule('open_limit: 3, merge_identical: true'))
  const items = [1, 2].map((i) => ({ action: 'a', description: 'first', details: { i } }))
  const answers = await Promise.all([
    bot('POST', '/confirm/batch', { items }),
    ...[1, 2, 1, 2, 1, 2].map((i, place) => ask({ description: `other ${place}`, details: { i } })),
  ])
  t.equal(answers.filter(({ status }) => status === 429).length, 5)
  t.match(await root('GET', '/confirm?status=pending'), { body: { count: 3 } })
})

t.test('the same again, while it waits, is answered with the one that waits', async (t) => {
  const { ask, held, ann, history, bot, other } = await ruled(t, rule('merge_identical: true'))
  const id = await held({ details: { x: 1, y: [2] }, session_key: 's' })
  const again = await ask({ details: { y: [2], x: 1 }, session_key: 's' })
  t.match(again, { status: 202, body: { id, status: 'pending' } })
  t.notOk('idempotency-replayed' in again.headers)
  t.match(await history('repeated'), [{ actor: 'bot', confirmation_id: id }])
  t.equal((await history('submitted')).length, 1)
  const same = { details: { x: 1, y: [2] }, session_key: 's' }
  for (const [what, different] of Object.entries({
    details: { ...same, details: { x: 2 } },
    session: { ...same, session_key: 't' },
    description: { ...same, description: 'another' },
    action: { ...same, action: 'b' },
  })) {
    t.not((await ask(different)).body.id, id, what)
  }
  const others = await other('POST', '/confirm', { action: 'a', description: 'd', ...same })
  t.not(others.body.id, id, 'and never with what another asked')
  await ann('POST', `/confirm/${id}/approve`)
  t.not((await ask(same)).body.id, id, 'nor with what was decided')
  t.match(await bot('GET', `/confirm/${id}`), { body: { status: 'approved' } })
})

t.test('the same again takes no slot of the rate limit and no place among those that are open', async (t) => {
  const settings = 'merge_identical: true, open_limit: 1, rate_limit: { max: 1, window_seconds: 60 }'
  const { ask, held } = await ruled(t, rule(settings))
  const id = await held()
  for (let i = 0; i < 5; i++) t.match(await ask(), { status: 202, body: { id } })
  t.match(await ask({ details: { other: true } }), { status: 429 })
})

t.test('many that ask for the same at once get one confirmation, and people one message', async (t) => {
  const built = await withTelegram(t, {
    rules: rule('merge_identical: true'),
    config: { floodLimit: 0, rateLimit: 1000 },
  })
  const { ask, bot, history } = await around(built)
  const item = { action: 'a', description: 'd' }
  const keyed = (i: number) => ({ 'idempotency-key': `key-${i}` })
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, () => ask()),
    ...Array.from({ length: 5 }, (_, i) => ask({}, keyed(i))),
    ask({}, keyed(0)),
    bot('POST', '/confirm/batch', { items: [item, item, { ...item, idempotency_key: 'inside' }] }),
    bot('POST', '/confirm/batch', { items: [item] }, keyed(99)),
  ])
  const ids = answers.flatMap(({ body }) => body.results?.map((one: any) => one.body.id) ?? [body.id])
  t.equal(ids.length, 20)
  t.equal(new Set(ids).size, 1)
  t.equal((await history('submitted')).length, 1)
  await until(async () => (await history('notified')).length === 1)
  t.equal(built.telegram.messages.length, 1)
  t.equal((await history('repeated')).length, 18, 'all but the first and the one that was a replay')
  t.match(await ask({}, keyed(0)), { body: { id: ids[0] }, headers: { 'idempotency-replayed': 'true' } })
  t.match(await ask({ details: { x: 1 } }, keyed(0)), { status: 422 })
})

t.test('the same in one batch is one, and after a restart it is still that one', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const rules = rule('merge_identical: true')
  const before = await ruled(t, rules, { dbPath, newId })
  const item = { action: 'a', description: 'd' }
  const { results } = (await before.bot('POST', '/confirm/batch', { items: [item, item] })).body
  t.equal(results[0].body.id, results[1].body.id)
  await before.stop()
  const after = await build(t, { dbPath, newId, rules, clock: manualClock(t0 + 1000) })
  const again = await withKey(after.call, before.bot.key)('POST', '/confirm', item)
  t.match(again, { status: 202, body: { id: results[0].body.id } })
})

t.test('the same again at its deadline is asked anew', async (t) => {
  const { held, clock } = await ruled(t, rule('merge_identical: true'))
  const id = await held({ timeout_seconds: 30 })
  await clock.advance(29_999)
  t.equal(await held(), id)
  await clock.advance(1)
  t.not(await held(), id)
})

t.test('what was denied is refused at once for a while, with the reason', async (t) => {
  const { ask, held, bo, ann, clock, history, other } = await ruled(t, rule('refuse_after_denial: 60'))
  const id = await held({ details: { x: 1 } })
  await bo('POST', `/confirm/${id}/deny`, { reason: 'never on Fridays' })
  await clock.advance(10_000)
  t.match(await ask({ details: { x: 1 }, description: 'please' }), {
    status: 409,
    headers: { 'retry-after': 50 },
    body: {
      code: 'denied_before',
      status: 'denied',
      id,
      resolved_by: 'bo',
      reason: 'never on Fridays',
      error: /never on Fridays/,
      retry_after_seconds: 50,
    },
  })
  t.match(await history('rejected'), [{ actor: 'bot', confirmation_id: id, data: { code: 'denied_before' } }])
  t.equal((await ask({ details: { x: 2 } })).status, 202, 'something else is not it')
  const others = await other('POST', '/confirm', { action: 'a', description: 'd', details: { x: 1 } })
  t.equal(others.status, 202, 'nor is it when another asks')
  await clock.advance(50_000)
  const again = await held({ details: { x: 1 } })
  await ann('POST', `/confirm/${again}/approve`)
  t.equal((await ask({ details: { x: 1 } })).status, 202, 'an approval leaves nothing behind')
})

t.test('a denial holds in a batch, with a key, and after a restart', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const rules = rule('refuse_after_denial: 60')
  const before = await ruled(t, rules, { dbPath, newId })
  await before.bo('POST', `/confirm/${await before.held()}/deny`)
  const item = { action: 'a', description: 'd' }
  t.match(await before.bot('POST', '/confirm/batch', { items: [item, { ...item, details: { x: 1 } }] }), {
    body: { results: [{ status_code: 409, body: { code: 'denied_before', reason: null } }, { status_code: 202 }] },
  })
  t.equal((await before.ask({}, { 'idempotency-key': 'k' })).status, 409)
  await before.stop()
  const after = await build(t, { dbPath, newId, rules, clock: manualClock(t0 + 59_999) })
  const bot = withKey(after.call, before.bot.key)
  t.equal((await bot('POST', '/confirm', item)).status, 409)
  await after.clock.advance(1)
  t.equal((await bot('POST', '/confirm', item, { 'idempotency-key': 'k' })).status, 202)
})

t.test('what is neither denied nor asked twice is not held back: an expiry or a withdrawal is no denial', async (t) => {
  const { ask, held, bot, clock } = await ruled(t, rule('refuse_after_denial: 600'))
  await bot('POST', `/confirm/${await held()}/cancel`)
  await held({ timeout_seconds: 30 })
  await clock.advance(30_000)
  t.equal((await ask()).status, 202)
})

t.test('a rule also governs while the service is open, by the names that are given', async (t) => {
  const { submit, call } = await build(t, { rules: rule('approvals: 2') })
  const { id } = (await submit({ action: 'a' })).body
  t.match(await call('POST', `/confirm/${id}/approve`, { approver: 'x' }), { body: { status: 'pending' } })
  t.match(await call('POST', `/confirm/${id}/approve`, { approver: 'x' }), { status: 409 })
  t.match(await call('POST', `/confirm/${id}/approve`, { approver: 'y' }), { body: { status: 'approved' } })
})
