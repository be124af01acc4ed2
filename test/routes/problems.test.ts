// Every problem that a route declares by itself, answered once: none is declared that cannot be had.
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { problemsOf } from '../../src/routes/openapi.js'
import { type Answer, build, type Built, counter, giveKeys } from '../support.js'

const rules = `rules:
  - { action: explained, reason_required: true }
  - { action: typed, typed_confirmation: true }
  - { action: chosen, deciders: [zoe] }
  - { action: shared, approvals: 2 }
  - { action: digested, digest_required: true }
  - { action: asked, whitelist: false }
  - { action: scarce, rate_limit: { max: 1, window_seconds: 60 } }
  - { action: few, open_limit: 1 }
  - { action: settled, refuse_after_denial: 60 }
  - { action: '*' }
`

/** An open service with rules, on which one thing is asked for, approved or claimed in a line. */
async function prepared(t: Test) {
  const next = counter()
  const newId = () => `${next()}-alike-at-end`
  const built = await build(t, { rules, newId, config: { floodLimit: 0, diskLimit: 1 } })
  const held = async (fields: object = {}): Promise<string> => {
    const { status, body } = await built.submit({ action: 'plain', session_key: 's', ...fields })
    if (status !== 202) throw new Error(body.error)
    return body.id
  }
  const post = (id: string, verb: string, body?: object, headers?: Record<string, string>) =>
    built.call('POST', `/confirm/${id}/${verb}`, body, headers)
  const approved = async (fields?: object) => {
    const id = await held(fields)
    await post(id, 'approve')
    return id
  }
  const claimed = async () => {
    const id = await approved()
    await post(id, 'claim')
    return id
  }
  const denied = async (fields?: object) => {
    const id = await held(fields)
    await post(id, 'deny')
    return id
  }
  return { ...built, held, post, approved, claimed, denied }
}

type Prepared = Awaited<ReturnType<typeof prepared>>
type Provocation = (service: Prepared) => Promise<Answer>

/** What both verdicts are refused with. */
const deciding = (verb: 'approve' | 'deny'): Record<string, Provocation> => ({
  not_found: ({ post }) => post('nothing', verb),
  already_resolved: async ({ denied, post }) => post(await denied(), verb),
  reason_required: async ({ held, post }) => post(await held({ action: 'explained' }), verb),
  not_a_decider: async ({ held, post }) => post(await held({ action: 'chosen' }), verb),
  async already_voted({ held, post }) {
    const id = await held({ action: 'shared' })
    await post(id, 'approve', { approver: 'ann' })
    return post(id, verb, verb === 'approve' ? { approver: 'ann' } : { denier: 'ann' })
  },
  async own_request(service) {
    const { root } = await giveKeys(service, { root: 'admin' })
    const { id } = (await root('POST', '/confirm', { action: 'plain', description: 'd' })).body
    return root('POST', `/confirm/${id}/${verb}`)
  },
})

/** What only whoever asked may do, by somebody else. */
const notYours =
  (verb: string): Provocation =>
  async (service) => {
    const { bot, root } = await giveKeys(service, { bot: 'agent', root: 'admin' })
    const { id } = (await bot('POST', '/confirm', { action: 'plain', description: 'd' })).body
    return root('POST', `/confirm/${id}/${verb}`, verb === 'report' ? { outcome: 'failed' } : undefined)
  }

const remembering =
  (fields: object, remember: unknown): Provocation =>
  async ({ held, post }) =>
    post(await held(fields), 'approve', { remember })

const cursor =
  (path: string): Provocation =>
  ({ call }) =>
    call('GET', `${path}?cursor=x`)

/** What one session is refused with, by its key. */
const onSession = (method: 'GET' | 'POST', verb: string, body?: object): Record<string, Provocation> => ({
  not_found: ({ call }) => call(method, `/sessions/nothing${verb}`, body),
  async ambiguous_session(service) {
    const { bot, other, root } = await giveKeys(service, { bot: 'agent', other: 'agent', root: 'admin' })
    for (const agent of [bot, other]) await agent('POST', '/sessions/s/messages')
    return root(method, `/sessions/s${verb}`, body)
  },
})

async function fillWhitelist({ call }: Built): Promise<void> {
  for (let i = 0; i < 100; i++) await call('POST', '/whitelist', { action: 'plain', when: { a: i } })
}

const key = { 'idempotency-key': 'k' }
const long = { a: 'x'.repeat(10_000) }

const provocations: Record<string, Record<string, Provocation>> = {
  'POST /confirm': {
    callback_refused: ({ submit }) => submit({ callback_url: 'http://127.0.0.1/' }),
    unclear_action: ({ submit }) => submit({ action: 'pläin' }),
    async denied_before({ denied, submit }) {
      await denied({ action: 'settled' })
      return submit({ action: 'settled', session_key: 's' })
    },
    async key_reused({ submit }) {
      await submit({}, key)
      return submit({ action: 'other' }, key)
    },
    async rate_limited({ submit }) {
      await submit({ action: 'scarce' })
      return submit({ action: 'scarce' })
    },
    async too_many_open({ submit }) {
      await submit({ action: 'few' })
      return submit({ action: 'few' })
    },
    disk_limited: ({ submit }) => submit({ details: { a: 'x'.repeat(600_000) } }),
    async session_suspended({ held, call, submit }) {
      await held()
      await call('POST', '/sessions/s/suspend')
      return submit({ session_key: 's' })
    },
    async circuit_open({ denied, submit }) {
      for (let i = 0; i < 6; i++) await denied()
      return submit({ session_key: 's' })
    },
  },
  'GET /confirm': { invalid_cursor: cursor('/confirm') },
  'GET /confirm/{id}': { not_found: ({ call }) => call('GET', '/confirm/nothing') },
  'GET /short-ids/{short_id}': {
    not_found: ({ call }) => call('GET', '/short-ids/nothing'),
    async ambiguous_id({ held, call }) {
      for (const n of [1, 2]) await held({ details: { n } })
      return call('GET', '/short-ids/at-end')
    },
  },
  'POST /confirm/{id}/approve': {
    ...deciding('approve'),
    typing_required: async ({ held, post }) => post(await held({ action: 'typed' }), 'approve'),
    no_session: remembering({ session_key: '' }, 'session'),
    no_requester: remembering({ requester: '' }, { scope: 'global', for: 'requester' }),
    details_too_long: remembering({ details: long }, { scope: 'global', details: 'exact' }),
    high_risk: remembering({ action: 'wipe_database' }, 'global'),
    not_whitelistable: remembering({ action: 'asked' }, 'global'),
    async whitelist_full(service) {
      await fillWhitelist(service)
      return remembering({}, 'global')(service)
    },
  },
  'POST /confirm/{id}/deny': deciding('deny'),
  'POST /confirm/{id}/cancel': {
    not_found: ({ post }) => post('nothing', 'cancel'),
    not_yours: notYours('cancel'),
    already_resolved: async ({ denied, post }) => post(await denied(), 'cancel'),
  },
  'POST /confirm/{id}/claim': {
    not_found: ({ post }) => post('nothing', 'claim'),
    not_yours: notYours('claim'),
    not_approved: async ({ held, post }) => post(await held(), 'claim'),
    async approval_expired({ approved, post, clock }) {
      const id = await approved()
      await clock.advance(3_600_000)
      return post(id, 'claim')
    },
    digest_mismatch: async ({ approved, post }) => post(await approved(), 'claim', { digest: 'a'.repeat(64) }),
    digest_required: async ({ approved, post }) => post(await approved({ action: 'digested' }), 'claim'),
    already_claimed: async ({ claimed, post }) => post(await claimed(), 'claim'),
    async session_suspended({ approved, call, post }) {
      const id = await approved()
      await call('POST', '/sessions/s/suspend')
      return post(id, 'claim')
    },
    async key_reused({ approved, post }) {
      await post(await approved(), 'claim', undefined, key)
      return post(await approved(), 'claim', undefined, key)
    },
  },
  'POST /confirm/{id}/report': {
    not_found: ({ post }) => post('nothing', 'report', { outcome: 'failed' }),
    not_yours: notYours('report'),
    not_claimed: async ({ approved, post }) => post(await approved(), 'report', { outcome: 'failed' }),
    async already_reported({ claimed, post }) {
      const id = await claimed()
      await post(id, 'report', { outcome: 'failed' })
      return post(id, 'report', { outcome: 'succeeded' })
    },
    async key_reused({ claimed, post }) {
      await post(await claimed(), 'report', { outcome: 'failed' }, key)
      return post(await claimed(), 'report', { outcome: 'failed' }, key)
    },
  },
  'GET /confirm/{id}/events': {
    not_found: ({ call }) => call('GET', '/confirm/nothing/events'),
    invalid_cursor: async ({ held, call }) => call('GET', `/confirm/${await held()}/events?after=1000000`),
  },
  'GET /events': { invalid_cursor: ({ call }) => call('GET', '/events?after=1000000') },
  'GET /whitelist': { invalid_cursor: cursor('/whitelist') },
  'POST /whitelist': {
    details_too_long: ({ call }) => call('POST', '/whitelist', { action: 'plain', details: long }),
    high_risk: ({ call }) => call('POST', '/whitelist', { action: 'wipe_database' }),
    not_whitelistable: ({ call }) => call('POST', '/whitelist', { action: 'asked' }),
    async whitelist_full(service) {
      await fillWhitelist(service)
      return service.call('POST', '/whitelist', { action: 'plain' })
    },
  },
  'DELETE /whitelist/{id}': { not_found: ({ call }) => call('DELETE', '/whitelist/nothing') },
  'GET /sessions': { invalid_cursor: cursor('/sessions') },
  'POST /sessions/gc': {
    invalid_cursor: ({ call }) => call('POST', '/sessions/gc', { dry_run: true, cursor: 'nonsense' }),
  },
  'GET /sessions/{key}': onSession('GET', ''),
  'POST /sessions/{key}/messages': {
    not_found: ({ call }) => call('POST', `/sessions/${'x'.repeat(1001)}/messages`),
    async disk_limited({ submit, call }) {
      await submit({ details: { a: 'x'.repeat(400_000) } })
      for (let i = 0; ; i++) {
        const answer = await call('POST', `/sessions/${i}/messages`)
        if (answer.status !== 200) return answer
      }
    },
  },
  'POST /sessions/{key}/reset': onSession('POST', '/reset'),
  'POST /sessions/{key}/suspend': onSession('POST', '/suspend'),
  'POST /sessions/{key}/resume': onSession('POST', '/resume'),
  'POST /sessions/{key}/switch': onSession('POST', '/switch', { session_id: 'x' }),
  'GET /audit': { invalid_cursor: cursor('/audit') },
  'GET /audit/events': { invalid_cursor: ({ call }) => call('GET', '/audit/events?after=1000000') },
  'GET /audit/export': { invalid_cursor: ({ call }) => call('GET', '/audit/export?after=nothing') },
  'GET /audit/events/export': { invalid_cursor: ({ call }) => call('GET', '/audit/events/export?after=1000000') },
  'POST /keys': {
    async name_taken(service) {
      const { root } = await giveKeys(service, { root: 'admin' })
      return root('POST', '/keys', { name: 'r\u043e\u043et', role: 'agent' })
    },
  },
  'POST /keys/{id}/rotate': {
    not_found: ({ call }) => call('POST', '/keys/nothing/rotate'),
    async key_not_live(service) {
      const { root, bot } = await giveKeys(service, { root: 'admin', bot: 'agent' })
      await root('DELETE', `/keys/${bot.keyId}`)
      return root('POST', `/keys/${bot.keyId}/rotate`)
    },
  },
  'POST /keys/{id}/sign-in-link': {
    not_found: ({ call }) => call('POST', '/keys/nothing/sign-in-link'),
    async key_not_live(service) {
      const { root, olga } = await giveKeys(service, { root: 'admin', olga: 'operator' })
      await root('DELETE', `/keys/${olga.keyId}`)
      return root('POST', `/keys/${olga.keyId}/sign-in-link`)
    },
  },
  'DELETE /keys/{id}': { not_found: ({ call }) => call('DELETE', '/keys/nothing') },
  'PUT /people/{name}': {
    not_found: ({ call }) => call('PUT', `/people/${'x'.repeat(3000)}`),
    async name_taken(service) {
      const { root } = await giveKeys(service, { root: 'admin' })
      return root('PUT', `/people/${encodeURIComponent('r\u043e\u043et')}`)
    },
  },
}

t.test('the table has every problem that an operation declares beside the common ones', async (t) => {
  const { openapi } = await build(t)
  const { paths, components } = parse(openapi()) as Record<string, Record<string, Record<string, any>>>
  const reading = problemsOf({ method: 'GET', config: { needs: 'survey' } })
  const common = new Set<string>([...reading, ...problemsOf({ method: 'POST', config: { needs: 'decide' } })])
  // Those of the Agent Approval Protocol have a test of their own.
  const own = Object.entries(paths!).filter(([path]) => !path.startsWith('/aap/'))
  const declared = own.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]): [string, string[]] => {
      const codes = Object.keys(responses).flatMap((status) => {
        if (status === 'default' || Number(status) < 400) return []
        const { $ref, content = components!.responses![$ref.split('/').at(-1)].content } = responses[status]
        const { schema } = content['application/problem+json']
        return (schema.anyOf ?? [schema]).flatMap(({ allOf }: any) => allOf[1].properties.code.enum)
      })
      return [`${method.toUpperCase()} ${path}`, codes.filter((code: string) => !common.has(code)).sort()]
    }),
  )
  const known = Object.entries(provocations).map(([name, codes]) => [name, Object.keys(codes).sort()])
  t.same(Object.fromEntries(known), Object.fromEntries(declared.filter(([, codes]) => codes.length > 0)))
})

for (const [operation, codes] of Object.entries(provocations)) {
  t.test(`${operation} answers with every problem that it declares`, async (t) => {
    for (const [code, provoke] of Object.entries(codes)) t.equal((await provoke(await prepared(t))).body.code, code)
  })
}
