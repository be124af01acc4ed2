// Garbage collection of sessions: what goes at which time, what never goes, and what must outlive it.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { pastOf, runOf, seed, sessionOf } from '../sessions/seed.js'
import { build, type Built, type BuildOptions, giveKeys, manualClock, t0, temporaryFolder } from '../support.js'

const hour = 3_600_000
const day = 24 * hour
/** So that time alone rotates nothing. */
const still = 'sessions: { mode: none, max_messages: 0 }'
const many = { rateLimit: 1_000_000 }

const pathOf = (key: string) => `/sessions/${encodeURIComponent(key)}`
const say = async (call: Built['call'], key: string, count = 1): Promise<string> =>
  (await call('POST', `${pathOf(key)}/messages`, { count })).body.session.id
const collect = (call: Built['call'], body: object = {}) => call('POST', '/sessions/gc', body)
const collected = async (built: Pick<Built, 'events'>) =>
  (await built.events()).filter(({ type }) => type === 'sessions_collected')

/** What would go, as session ids by rule; and that is what the counts say. */
async function plan(t: Test, call: Built['call'], body: object = {}): Promise<Record<string, string[]>> {
  const answer = await collect(call, { ...body, dry_run: true })
  t.equal(answer.status, 200)
  const ids: Record<string, string[]> = {}
  for (const { rule, id } of answer.body.sessions) (ids[rule] ??= []).push(id)
  const counts = Object.entries(ids).map(([rule, some]) => [rule, some.length])
  t.same(answer.body.by_rule, { empty: 0, trivial: 0, aged: 0, ...Object.fromEntries(counts) })
  t.equal(answer.body.total, answer.body.sessions.length)
  return ids
}

// -- the rules -----------------------------------------------------------------------------------------------------------

t.test('an empty id goes after a day, to the millisecond, and the substantial one before it stays', async (t) => {
  const built = await build(t, { rules: still })
  const { call, clock } = built
  const substantial = await say(call, 's', 6)
  const empty = (await call('POST', '/sessions/s/reset')).body.session_id
  await clock.advance(day - 1)
  t.same(await plan(t, call), {})
  t.match(await collect(call), { status: 200, body: { dry_run: false, total: 0 } })
  t.same(await collected(built), [], 'nothing went, so nothing is said')
  await clock.advance(1)
  t.same(await plan(t, call), { empty: [empty] })
  t.same((await collect(call)).body, { dry_run: false, total: 1, by_rule: { empty: 1, trivial: 0, aged: 0 } })
  t.same(await plan(t, call), {})
  const left = await call('GET', '/sessions/s')
  t.match(left.body, { session_id: substantial, messages: 6, due_reason: 'manual', earlier: [] })
  t.same((await call('GET', '/sessions')).body.sessions, [], 'no id is current')
  const back = await call('POST', '/sessions/s/switch', { session_id: substantial })
  t.match(back, { status: 200, body: { session_id: substantial, messages: 6 } })
  t.equal(await say(call, 's'), substantial)
})

t.test(
  'a trivial id goes after a week without activity, to the millisecond, and one that is more does not',
  async (t) => {
    const { call, clock } = await build(t, { rules: still })
    const [five] = [await say(call, 'five', 5), await say(call, 'six', 6)]
    await clock.advance(day)
    const active = await say(call, 'active', 4)
    await clock.advance(6 * day - 1)
    t.same(await plan(t, call), {})
    await clock.advance(1)
    t.same(await plan(t, call), { trivial: [five] })
    await say(call, 'active')
    await clock.advance(7 * day - 1)
    t.same(await plan(t, call), { trivial: [five] })
    await clock.advance(1)
    t.same(await plan(t, call), { trivial: [five, active] })
    t.match(await collect(call), { body: { total: 2, by_rule: { trivial: 2 } } })
    t.match(await call('GET', '/sessions'), { body: { sessions: [{ session_key: 'six' }] } })
    t.match(await call('GET', '/sessions/five'), { status: 404 })
  },
)

t.test('whatever was not active for so long goes where an age is set', async (t) => {
  const { call, clock } = await build(t, { rules: still })
  const id = await say(call, 's', 100)
  await clock.advance(30 * day - 1)
  t.same(await plan(t, call, { max_age_days: 30 }), {})
  await clock.advance(1)
  t.same(await plan(t, call), {})
  t.same(await plan(t, call, { max_age_days: 30 }), { aged: [id] })
  t.match(await collect(call, { max_age_days: 30 }), { body: { total: 1, by_rule: { aged: 1 } } })
})

t.test('it can be of one platform alone, and by other numbers', async (t) => {
  const { call, clock } = await build(t, { rules: still })
  const [telegram, discord, plain] = ['agent:main:telegram:dm:1', 'agent:main:discord:dm:1', 'plain']
  const ids = [await say(call, telegram, 8), await say(call, discord, 8), await say(call, plain, 8)]
  await clock.advance(2 * day)
  const asked = { trivial_max: 8, trivial_days: 2 }
  t.same(await plan(t, call, { ...asked, trivial_max: 7 }), {})
  t.same(await plan(t, call, { ...asked, trivial_days: 3 }), {})
  t.same(await plan(t, call, { ...asked, source: 'discord' }), { trivial: [ids[1]] })
  t.match(await collect(call, { ...asked, source: 'discord' }), { body: { total: 1 } })
  t.same(await plan(t, call, asked), { trivial: [ids[0], ids[2]] })
})

t.test('each id is judged by itself: those that were rotated away, too', async (t) => {
  const { call, clock } = await build(t, { rules: still })
  const first = await say(call, 's', 5)
  await call('POST', '/sessions/s/reset')
  const second = await say(call, 's', 6)
  await call('POST', '/sessions/s/reset')
  const third = await say(call, 's', 100)
  await clock.advance(7 * day)
  t.same(await plan(t, call), { trivial: [first] })
  t.match(await collect(call), { body: { total: 1 } })
  t.match(await call('GET', '/sessions/s'), { body: { session_id: third, earlier: [{ session_id: second }] } })
  t.match(await call('POST', '/sessions/s/switch', { session_id: first }), { status: 404 })
})

t.test('a session that comes back begins anew, and is told of the rotation it did not know of', async (t) => {
  const { call, clock } = await build(t)
  const first = await say(call, 's', 6)
  await clock.advance(3 * day)
  t.match(await collect(call), { body: { total: 1, by_rule: { empty: 1 } } })
  const { session } = (await call('POST', '/sessions/s/messages')).body
  t.match(session, { count: 1, was_reset: true, reset_reason: 'daily', previous_id: first })
  t.notOk('was_reset' in (await call('POST', '/sessions/s/messages')).body.session)
})

t.test('a session whose last id went is forgotten, and is as one that never was', async (t) => {
  const { call, clock } = await build(t)
  await say(call, 's')
  await clock.advance(9 * day)
  t.match(await collect(call), { body: { total: 2, by_rule: { empty: 1, trivial: 1 } } })
  t.match(await call('GET', '/sessions/s'), { status: 404 })
  const { session } = (await call('POST', '/sessions/s/messages')).body
  t.notOk('was_reset' in session)
  t.equal(session.count, 1)
})

// -- what never goes -----------------------------------------------------------------------------------------------------

/** All that is short and was not used in the last hour. */
const atOnce = { empty_hours: 0, trivial_max: 100, trivial_days: 0 }
const slow = { ...many, approvalTtl: 100_000, reportTimeout: 100_000 }

t.test('one that was used in the last hour stays, however short the days are', async (t) => {
  const { call, clock } = await build(t, { rules: still })
  const id = await say(call, 's')
  await clock.advance(hour - 1)
  t.same(await plan(t, call, atOnce), {})
  await clock.advance(1)
  t.same(await plan(t, call, atOnce), { trivial: [id] })
})

t.test('one with something pending stays until that is resolved, also when it was rotated away', async (t) => {
  const { call, submit, clock } = await build(t, { rules: `${still}\nrules: [{ action: '*', timeout: 604800 }]` })
  const ask = async () => (await submit({ session_key: 's', timeout_seconds: 604_800 })).body
  const pending = await ask()
  await clock.advance(1)
  await call('POST', '/sessions/s/reset')
  await clock.advance(1)
  // It is due, and goes on until the first is resolved.
  const later = await ask()
  await clock.advance(hour)
  t.same(await plan(t, call, atOnce), {}, 'it is due')
  await call('POST', `/confirm/${pending.id}/cancel`)
  await clock.advance(1)
  const { session_id: current } = (await call('GET', '/sessions/s')).body
  t.not(current, later.session.id)
  t.same(await plan(t, call, atOnce), { empty: [current] }, 'the later one is pending in the id before')
  await call('POST', `/confirm/${later.id}/cancel`)
  t.same(await plan(t, call, atOnce), { empty: [current], trivial: [later.session.id] })
  t.match(await collect(call, atOnce), { body: { total: 2 } })
})

t.test('one with an approval stays until that is reported, or can neither be claimed nor reported', async (t) => {
  const { call, submit, clock } = await build(t, { rules: still, config: slow })
  const ids: string[] = []
  for (const session_key of ['lapses', 'reports', 'never reports']) {
    const { body } = await submit({ session_key })
    await call('POST', `/confirm/${body.id}/approve`)
    ids.push(body.id)
  }
  await clock.advance(hour)
  t.same(await plan(t, call, atOnce), {}, 'all may be claimed')
  for (const id of ids.slice(1)) t.equal((await call('POST', `/confirm/${id}/claim`)).status, 200)
  t.same(await plan(t, call, atOnce), {}, 'some are claimed')
  await call('POST', `/confirm/${ids[1]}/report`, { outcome: 'succeeded' })
  t.match((await collect(call, { ...atOnce, dry_run: true })).body.sessions, [{ session_key: 'reports' }])
  await clock.advance(100_000_000)
  const keys = (await collect(call, { ...atOnce, dry_run: true })).body.sessions.map((one: any) => one.session_key)
  t.same(keys, ['lapses', 'reports', 'never reports'])
  t.match(await collect(call, atOnce), { body: { total: 3 } })
  for (const id of ids) t.equal((await call('GET', `/confirm/${id}`)).status, 200, 'no request goes')
})

t.test('a suspended one stays, with its earlier ids, and after a restart', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const clock = manualClock()
  const first = await build(t, { rules: still, dbPath, clock })
  await say(first.call, 's')
  await first.call('POST', '/sessions/s/reset')
  await first.call('POST', '/sessions/s/suspend', { reason: 'astray' })
  await clock.advance(100 * day)
  t.match(await collect(first.call, { max_age_days: 1 }), { body: { total: 0 } })
  await first.stop()
  const { call, submit } = await build(t, { rules: still, dbPath, clock })
  t.match(await collect(call, { max_age_days: 1 }), { body: { total: 0 } })
  t.match(await submit({ session_key: 's' }), { status: 423, body: { code: 'session_suspended' } })
  await call('POST', '/sessions/s/resume')
  t.match(await collect(call), { body: { total: 2, by_rule: { empty: 1, trivial: 1 } } })
})

t.test('one with a whitelist entry that stands stays, whoever it is for, until it ends', async (t) => {
  const built = await build(t, { rules: still, config: many })
  const { bot, other, olga, root } = await giveKeys(built, {
    bot: 'agent',
    other: 'agent',
    olga: 'operator',
    root: 'admin',
  })
  const grant = async (fields: object) => (await olga('POST', '/whitelist', { action: 'ping', ...fields })).body.id
  await say(bot, 'own')
  await say(bot, 'any')
  await say(bot, 'others')
  await say(bot, 'ends')
  await say(bot, 'used')
  const [own, any] = [await grant({ session_key: 'own', requester: 'bot' }), await grant({ session_key: 'any' })]
  await grant({ session_key: 'others', requester: 'other' })
  await grant({ session_key: 'ends', requester: 'bot', ttl_seconds: 3 * 3600 })
  await grant({ session_key: 'used', requester: 'bot', max_uses: 1 })
  await grant({ requester: 'bot' })
  await bot('POST', '/confirm', { action: 'ping', description: 'd', session_key: 'used' })
  const keys = async () =>
    (await collect(root, { ...atOnce, dry_run: true })).body.sessions.map((one: any) => one.session_key)
  await built.clock.advance(hour)
  t.same(await keys(), ['others', 'used'])
  await built.clock.advance(2 * hour)
  t.same(await keys(), ['others', 'ends', 'used'])
  await olga('DELETE', `/whitelist/${own}`)
  t.same(await keys(), ['own', 'others', 'ends', 'used'])
  t.match(await collect(root, atOnce), { body: { total: 4 } })
  await olga('DELETE', `/whitelist/${any}`)
  t.match(await collect(root, atOnce), { body: { total: 1 } })
  t.match(await other('GET', '/sessions/any'), { status: 404 })
})

t.test('an id that is to come back stays', async (t) => {
  const { call, submit, clock } = await build(t, { rules: `${still}\nrules: [{ action: '*', timeout: 604800 }]` })
  const first = await say(call, 's')
  await call('POST', '/sessions/s/reset')
  const { body } = await submit({ session_key: 's', timeout_seconds: 604_800 })
  await clock.advance(1)
  await call('POST', '/sessions/s/switch', { session_id: first })
  await clock.advance(hour)
  t.same(await plan(t, call, atOnce), {})
  await call('POST', `/confirm/${body.id}/cancel`)
  await clock.advance(1)
  t.match(await call('GET', '/sessions/s'), { body: { session_id: first } })
})

// -- what outlives it ----------------------------------------------------------------------------------------------------

t.test('a streak outlives it: the next denial leads to the next step', async (t) => {
  const { call, submit, clock, events } = await build(t, { rules: still, config: many })
  let n = 0
  const deny = async () => {
    await clock.advance(1000)
    const { body } = await submit({ session_key: 's', details: { n: (n += 1) } })
    await call('POST', `/confirm/${body.id}/deny`)
  }
  for (let time = 0; time < 8; time++) {
    await deny()
    await clock.advance(8 * day)
    t.match(await collect(call), { body: { total: 1 } })
    t.match(await call('GET', '/sessions/s'), { status: 404 }, 'no id is left')
  }
  await deny()
  const steps = (await events()).filter(({ actor }) => actor === 'system:breaker')
  t.same(
    steps.map(({ type, data }) => [type, data.failures]),
    [
      ['session_warned', 3],
      ['session_paused', 6],
      ['session_suspended', 9],
    ],
  )
  await clock.advance(8 * day)
  t.match(await collect(call), { body: { total: 0 } })
  t.match(await submit({ session_key: 's' }), { status: 423 })
})

t.test('a person who approves ends a streak, and then the session can be forgotten', async (t) => {
  const { call, submit, clock, store } = await build(t, { rules: still, config: many })
  const ask = async (verdict: string) =>
    call('POST', `/confirm/${(await submit({ session_key: 's' })).body.id}/${verdict}`)
  await ask('deny')
  await clock.advance(7 * day)
  await collect(call)
  t.match(await store.sessions.get('', 's'), { run: null, streak: { failures: 1 } })
  await ask('approve')
  t.match(await store.sessions.get('', 's'), { run: { messages: 1 }, streak: { failures: 0 } })
  await clock.advance(7 * day)
  await collect(call)
  t.equal(await store.sessions.get('', 's'), undefined)
})

t.test('asking for the same again and again outlives it', async (t) => {
  const { call, submit, clock } = await build(t, { rules: still, config: many })
  const ask = async (n: number) => {
    const { body } = await submit({ session_key: 's', details: { n } })
    await call('POST', `/confirm/${body.id}/cancel`)
    return body.session.warning
  }
  for (const n of [1, 2]) await ask(n)
  await clock.advance(7 * day)
  t.match(await collect(call), { body: { total: 1 } })
  t.same([await ask(3), await ask(4)], [undefined, undefined])
  t.match(await ask(5), /5/)
})

t.test('a whitelist entry for every requester that ended for one of them is not brought back', async (t) => {
  const built = await build(t, { rules: still, config: many })
  const { bot, olga, root } = await giveKeys(built, { bot: 'agent', olga: 'operator', root: 'admin' })
  const ping = async () =>
    (await bot('POST', '/confirm', { action: 'ping', description: 'd', session_key: 's' })).body.status
  const { body: grant } = await olga('POST', '/whitelist', { action: 'ping', session_key: 's' })
  await built.clock.advance(1)
  t.equal(await ping(), 'auto_approved')
  await built.clock.advance(1)
  await olga('POST', '/sessions/s/reset')
  await built.clock.advance(8 * day)
  t.match(await collect(root), { body: { total: 1, by_rule: { trivial: 1 } } }, 'the id before it goes')
  t.equal(await ping(), 'pending')
  await built.clock.advance(8 * day)
  t.match(await collect(root), { body: { total: 0 } })
  await olga('DELETE', `/whitelist/${grant.id}`)
  t.match(await collect(root), { body: { total: 1 } })
})

t.test('no event and no confirmation goes', async (t) => {
  const { call, submit, clock, events } = await build(t, { rules: still, config: many })
  for (let n = 0; n < 5; n++) await submit({ session_key: `s${n}` })
  await clock.advance(8 * day)
  const [before, audit] = [await events(), (await call('GET', '/audit')).body.entries]
  t.match(await collect(call), { body: { total: 5 } })
  t.same((await events()).slice(0, before.length), before)
  t.same((await call('GET', '/audit')).body.entries, audit)
})

// -- what is said of it --------------------------------------------------------------------------------------------------

t.test(
  'one event says what went, by rule and number, who did it and how; it is there before anything goes',
  async (t) => {
    const before: string[][] = []
    const wrapStore = (store: Store): Store => ({
      ...store,
      sessions: {
        ...store.sessions,
        async collect(runs) {
          before.push(
            (await store.events.list(0, 500, { types: ['sessions_collected'] })).events.map(({ data }) => data),
          )
          return store.sessions.collect(runs)
        },
      },
    })
    const built = await build(t, { wrapStore, rules: still })
    const { root } = await giveKeys(built, { root: 'admin' })
    await say(root, 'agent:main:telegram:dm:1')
    await say(root, 'agent:main:telegram:dm:2', 9)
    await built.clock.advance(40 * day)
    const asked = { empty_hours: 2, trivial_max: 3, trivial_days: 4, max_age_days: 30, source: 'telegram' }
    t.match(await collect(root, asked), { body: { total: 2, by_rule: { empty: 0, trivial: 1, aged: 1 } } })
    const events = (await root('GET', '/audit/events?type=sessions_collected')).body.events
    t.match(events, [{ type: 'sessions_collected', actor: 'root', channel: 'http' }])
    t.same(events[0].data, { empty: 0, trivial: 1, aged: 1, total: 2, ...asked })
    t.same(
      before.map((one) => one.map((text) => JSON.parse(text))),
      [[events[0].data]],
    )
    const lines = built.logged.filter(({ msg }) => msg === 'sessions_collected')
    t.match(lines, [{ level: 30, trivial: 1, aged: 1, actor: 'root' }])
  },
)

/** A store in which something else happens before the first removal. */
function beforeRemoval(): { wrapStore: BuildOptions['wrapStore']; meanwhile: (other: () => Promise<unknown>) => void } {
  let next: (() => Promise<unknown>) | null = null
  return {
    wrapStore: (store) => ({
      ...store,
      sessions: {
        ...store.sessions,
        async collect(runs) {
          const other = next
          next = null
          await other?.()
          return store.sessions.collect(runs)
        },
      },
    }),
    meanwhile: (other) => void (next = other),
  }
}

const meanwhiles: [name: string, other: (built: Built) => Promise<unknown>][] = [
  ['is submitted', ({ submit }) => submit({ session_key: 's' })],
  ['is said', ({ call }) => say(call, 's')],
  ['is suspended', ({ call }) => call('POST', '/sessions/s/suspend')],
  ['is granted', ({ call }) => call('POST', '/whitelist', { action: 'ping', session_key: 's' })],
]
for (const [name, other] of meanwhiles) {
  t.test(
    `what ${name} between the plan and the removal keeps its session, and another event corrects the first`,
    async (t) => {
      const { wrapStore, meanwhile } = beforeRemoval()
      const built = await build(t, { wrapStore, rules: still })
      const { call, clock } = built
      await say(call, 's')
      await say(call, 'goes')
      await clock.advance(7 * day)
      meanwhile(() => other(built))
      t.match(await collect(call), { status: 200, body: { total: 1, by_rule: { empty: 0, trivial: 1, aged: 0 } } })
      t.match(await call('GET', '/sessions'), { body: { sessions: [{ session_key: 's' }] } })
      const [first, second] = await collected(built)
      t.match(first, { data: { total: 2, trivial: 2 } })
      t.notOk('corrects' in first.data)
      t.match(second, { data: { total: 1, trivial: 1, corrects: first.seq } })
    },
  )
}

t.test('what becomes free meanwhile stays for the next time: no more go than are on record', async (t) => {
  const { wrapStore, meanwhile } = beforeRemoval()
  const built = await build(t, { wrapStore, rules: still })
  const { call, clock } = built
  for (const key of ['suspended', 'a', 'b']) {
    await say(call, key)
    await clock.advance(1)
  }
  await call('POST', '/sessions/suspended/suspend')
  await clock.advance(7 * day)
  meanwhile(() => call('POST', '/sessions/suspended/resume'))
  t.match(await collect(call), { body: { total: 2 } })
  t.match(await call('GET', '/sessions'), { body: { count: 1 } })
  t.equal((await collected(built)).length, 1)
  t.match(await collect(call), { body: { total: 1 } })
})

t.test('whoever has read a session that is removed and begun anew meanwhile writes to the new one', async (t) => {
  let next: (() => Promise<unknown>) | null = null
  const wrapStore = (store: Store): Store => ({
    ...store,
    async commit(change) {
      const other = next
      next = null
      await other?.()
      return store.commit(change)
    },
  })
  const { call, clock, submit } = await build(t, { wrapStore, rules: still })
  const old = await say(call, 's')
  await clock.advance(7 * day)
  let anew = ''
  const again = async () => {
    t.match(await collect(call), { body: { total: 1 } })
    anew = await say(call, 's')
  }
  next = again
  t.match(await call('POST', '/sessions/s/suspend'), { status: 200 })
  t.not(anew, old)
  t.match(await call('GET', '/sessions/s'), { body: { session_id: anew, suspended: true, messages: 1 } })
  await call('POST', '/sessions/s/resume')
  await clock.advance(7 * day)
  const before = anew
  next = again
  const { body } = await submit({ session_key: 's' })
  t.not(anew, before)
  t.match(body.session, { id: anew, count: 2 })
})

t.test('of two at the same time, the second finds what the first left', async (t) => {
  const built = await build(t, { rules: still })
  const { call, clock } = built
  await say(call, 's')
  await clock.advance(7 * day)
  const both = await Promise.all([collect(call), collect(call)])
  t.same(both.map(({ body }) => body.total).sort(), [0, 1])
  t.equal((await collected(built)).length, 1)
})

// -- many ----------------------------------------------------------------------------------------------------------------

const ids = (count: number) => Array.from({ length: count }, (_, n) => `id-${String(n).padStart(5, '0')}`)

t.test('many are shown page by page, and exactly those go', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const all = ids(2300)
  const sessions = all.map((id, n) =>
    sessionOf(`s${n}`, runOf(`${id}-now`, t0 - 2 * day - (n % 7), n % 3 === 0 ? 9 : 0)),
  )
  const past = all.map((id, n) => pastOf(`s${n}`, runOf(id, t0 - 30 * day - (n % 5), n % 2 === 0 ? 9 : 3)))
  seed(dbPath, sessions, past)
  const built = await build(t, { dbPath, rules: still })
  const { call } = built
  const pages: any[] = []
  let cursor: string | null = null
  do {
    const more: object = cursor === null ? {} : { cursor }
    const { body } = await collect(call, { dry_run: true, ...more })
    pages.push(body)
    cursor = body.next_cursor
  } while (cursor !== null)
  t.ok(pages.length > 2)
  t.ok(pages.every(({ sessions }) => sessions.length <= 1000))
  const shown = pages.flatMap(({ sessions }) => sessions.map(({ id }: any) => id))
  t.equal(new Set(shown).size, shown.length, 'none twice')
  const [first, ...others] = pages
  t.match(first, { total: shown.length, by_rule: { empty: 1533, trivial: 1150, aged: 0 } })
  t.ok(others.every(({ total, by_rule }) => total === null && by_rule === null))
  t.match(await collect(call), { body: { total: shown.length, by_rule: first.by_rule } })
  t.equal((await collected(built)).length, 1)
  for (const [n, id] of all.entries()) {
    const isThere = (await built.store.sessions.pastRun(id)) !== undefined
    if (isThere === shown.includes(id)) t.fail(id)
    const session = await built.store.sessions.get('', `s${n}`)
    const isCurrent = session?.run !== undefined && session.run !== null
    if (isCurrent === shown.includes(`${id}-now`)) t.fail(`${id}-now`)
    if (session === undefined && isThere) t.fail(`${id} cannot be found`)
  }
})

t.test('one that was broken off goes on where it is asked for again', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(
    dbPath,
    ids(300).map((id, n) => sessionOf(`s${n}`, runOf(id, t0 - 2 * day))),
  )
  let left = 2
  const wrapStore = (store: Store): Store => ({
    ...store,
    sessions: {
      ...store.sessions,
      async collect(runs) {
        if ((left -= 1) < 0) throw new StoreUnavailable('the disk is gone')
        return store.sessions.collect(runs)
      },
    },
  })
  const built = await build(t, { dbPath, wrapStore })
  t.match(await collect(built.call), { status: 503 })
  const [first, second] = await collected(built)
  t.match([first.data.total, second.data.corrects], [300, first.seq])
  const gone = second.data.total
  t.ok(gone > 0 && gone < 300)
  t.same((await built.call('GET', '/sessions/gc/progress')).body, { under_way: null })
  left = Infinity
  t.match(await collect(built.call), { body: { total: 300 - gone } })
})

t.test('how far it is can be asked for meanwhile, and a service that stops ends it early', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(
    dbPath,
    ids(300).map((id, n) => sessionOf(`s${n}`, runOf(id, t0 - 2 * day))),
  )
  let steps = 0
  let during: unknown
  const wrapStore = (store: Store): Store => ({
    ...store,
    sessions: {
      ...store.sessions,
      async collect(runs) {
        if ((steps += 1) === 3) {
          during = (await built.call('GET', '/sessions/gc/progress')).body
          built.service.release()
        }
        return store.sessions.collect(runs)
      },
    },
  })
  const built: Built = await build(t, { dbPath, wrapStore })
  const { body } = await collect(built.call)
  t.same(during, { under_way: { planned: 300, gone: 100 } })
  t.equal(body.total, 150)
  t.match(await collected(built), [{ data: { total: 300 } }, { data: { total: 150 } }])
})

// -- on a schedule -------------------------------------------------------------------------------------------------------

t.test('where a schedule is set it runs by itself, at the start and then every so many hours', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(dbPath, [sessionOf('old', runOf('old', t0 - day)), sessionOf('new', runOf('new', t0 - day + 1))])
  const built = await build(t, { dbPath, rules: still, config: { sessionGcHours: 6 } })
  const { clock, logged } = built
  await clock.advance(0)
  t.match(await collected(built), [{ actor: 'system:sessions', channel: 'system', data: { empty: 1, total: 1 } }])
  await clock.advance(6 * hour - 1)
  t.equal((await collected(built)).length, 1)
  await clock.advance(1)
  t.match(await collected(built), [{}, { data: { empty: 1, empty_hours: 24, trivial_max: 5, trivial_days: 7 } }])
  await clock.advance(60 * hour)
  t.equal((await collected(built)).length, 2, 'nothing to remove is nothing to tell')
  const lines = logged.filter(({ msg }) => msg === 'sessions_collected')
  t.match(lines, [{ level: 30, empty: 1, actor: 'system:sessions' }, { empty: 1 }])
})

t.test('where none is set nothing goes by itself', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(dbPath, [sessionOf('old', runOf('old', t0 - day))])
  const built = await build(t, { dbPath, rules: still })
  await built.clock.advance(100 * day)
  t.same(await collected(built), [])
  t.match(await collect(built.call), { body: { total: 1 } })
})

t.test('a schedule that finds the database unavailable tries again', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  seed(dbPath, [sessionOf('old', runOf('old', t0 - day))])
  let isDown = true
  const wrapStore = (store: Store): Store => ({
    ...store,
    sessions: {
      ...store.sessions,
      async idle(...args) {
        if (isDown) throw new StoreUnavailable('the disk is gone')
        return store.sessions.idle(...args)
      },
    },
  })
  const built = await build(t, { dbPath, wrapStore, rules: still, config: { sessionGcHours: 24 } })
  await built.clock.advance(hour)
  t.same(await collected(built), [])
  isDown = false
  await built.clock.advance(60_000)
  t.match(await collected(built), [{ data: { total: 1 } }])
})

// -- who may, and what is refused ----------------------------------------------------------------------------------------

t.test('administrators may, and nobody else; in open mode everyone', async (t) => {
  const built = await build(t, { rules: still })
  t.equal((await collect(built.call)).status, 200)
  const keys = await giveKeys(built, { bot: 'agent', olga: 'operator', audrey: 'auditor', root: 'admin' })
  await say(keys.bot, 's')
  await built.clock.advance(7 * day)
  for (const who of ['bot', 'olga', 'audrey'] as const) {
    for (const body of [{}, { dry_run: true }]) {
      t.match(await collect(keys[who], body), { status: 403, body: { code: 'forbidden' } }, who)
    }
    t.match(await keys[who]('GET', '/sessions/gc/progress'), { status: 403 }, who)
  }
  t.match(await collect(built.call), { status: 401 })
  t.match(await collect(keys.root, { dry_run: true }), { status: 200, body: { total: 1 } })
  t.match(await keys.root('GET', '/sessions/gc/progress'), { status: 200, body: { under_way: null } })
  t.match(await collect(keys.root), { status: 200, body: { total: 1 } })
})

t.test('what makes no sense is refused, and removes nothing', async (t) => {
  const { call, clock } = await build(t, { rules: still })
  await say(call, 's')
  await clock.advance(7 * day)
  const { next_cursor: none } = (await collect(call, { dry_run: true })).body
  t.equal(none, null)
  const wrong: [body: object, code: string][] = [
    [{ empty_hours: -1 }, 'invalid_request'],
    [{ empty_hours: 1.5 }, 'invalid_request'],
    [{ empty_hours: '24' }, 'invalid_request'],
    [{ empty_hours: 87_601 }, 'invalid_request'],
    [{ trivial_max: 10_001 }, 'invalid_request'],
    [{ trivial_days: 3651 }, 'invalid_request'],
    [{ max_age_days: 0 }, 'invalid_request'],
    [{ source: 5 }, 'invalid_request'],
    [{ dry_run: 'yes' }, 'invalid_request'],
    [{ dryrun: true }, 'unknown_field'],
    [{ cursor: 'x' }, 'invalid_request'],
    [{ dry_run: true, cursor: 'x' }, 'invalid_cursor'],
    [{ dry_run: true, cursor: 'A'.repeat(200) }, 'invalid_cursor'],
  ]
  for (const [body, code] of wrong) {
    t.match(await collect(call, body), { status: 400, body: { code } }, JSON.stringify(body))
  }
  t.match(await call('POST', '/sessions/gc'), { status: 400 }, 'what is to be removed is asked for in so many words')
  t.match(await call('GET', '/sessions'), { body: { count: 1 } })
})

t.test('a session with the key gc is one like any other', async (t) => {
  const { call } = await build(t)
  const id = await say(call, 'gc', 3)
  t.match(await call('GET', '/sessions/gc'), { body: { session_id: id, messages: 3 } })
  t.match(await call('POST', '/sessions/gc/suspend'), { body: { suspended: true } })
})
