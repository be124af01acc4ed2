// Garbage collection of sessions: what goes, by which rule and when; what never does.
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import { usualSettings } from '../../src/sessions/collect.js'
import { build, type BuildOptions, type Built, type CallAs, counter, giveKeys } from '../support.js'

const hour = 3_600_000
const day = 24 * hour
const ops = ['ops', anyone, 'http'] as const

interface Collecting extends Built {
  say(key: string, count?: number): Promise<string>
  gc(body?: object): Promise<any>
  ids(): Promise<string[]>
}

/** Sessions that only time and collection end. */
async function started(t: Test, options: BuildOptions = {}): Promise<Collecting> {
  const rules = 'sessions: { mode: none }'
  const built = await build(t, { rules, config: { rateLimit: 1_000_000 }, ...options })
  return {
    ...built,
    async say(key, count = 1) {
      const state = await built.service.sessions.addMessages(key, count, anyone, 'http')
      if ('refused' in state) throw new Error(state.sentence)
      return state.id
    },
    async gc(body = {}) {
      const { status, body: answer } = await built.call('POST', '/sessions/gc', body)
      if (status !== 200) throw new Error(answer.error)
      return answer
    },
    /** Of all session ids there are. */
    async ids() {
      const { items } = await built.store.sessions.list({}, 1000, null)
      const past = await Promise.all(items.map(({ requester, key }) => built.store.sessions.past(requester, key, 100)))
      return [...items.map(({ run }) => run!.id), ...past.flat().map(({ id }) => id)].sort()
    },
  }
}

async function collections({ events }: Built): Promise<any[]> {
  return (await events()).filter(({ type }: { type: string }) => type === 'sessions_collected')
}

t.test('a session of few messages goes after a week, and not a millisecond before', async (t) => {
  const built = await started(t)
  await built.say('trivial', 5)
  await built.say('substantial', 6)
  await built.clock.advance(7 * day - 1)
  t.match(await built.gc(), { total: 0 })
  t.same(await collections(built), [], 'where nothing goes, nothing is on record')
  await built.clock.advance(1)
  const planned = await built.gc({ dry_run: true })
  t.match(planned, { dry_run: true, total: 1, sessions: [{ session_key: 'trivial', rule: 'trivial', messages: 5 }] })
  t.equal((await built.ids()).length, 2, 'a dry run removes nothing')
  t.match(await built.gc(), { dry_run: false, total: 1, by_rule: { empty: 0, trivial: 1, aged: 0 } })
  t.equal((await built.ids()).length, 1)
  t.match(await collections(built), [{ actor: 'api', data: { empty: 0, trivial: 1, aged: 0, total: 1 } }])
})

t.test('a session without any message goes after a day, and takes no other with it', async (t) => {
  const built = await started(t)
  const substantial = await built.say('s', 50)
  await built.service.sessions.reset({ key: 's', requester: null }, ...ops)
  await built.clock.advance(day - 1)
  t.match(await built.gc(), { total: 0 })
  await built.clock.advance(1)
  t.match(await built.gc(), { total: 1, by_rule: { empty: 1 } })
  t.same(
    (await built.store.sessions.past('', 's', 10)).map(({ id }) => id),
    [substantial],
  )
  const state = await built.service.sessions.addMessages('s', 1, anyone, 'http')
  t.match(state, { count: 1, reset: { reason: 'manual', previousId: substantial } }, 'what was not told yet is told')
})

t.test('age alone is a reason where it is asked for; a platform narrows it down', async (t) => {
  const built = await started(t)
  await built.say('agent:main:telegram:dm:1', 100)
  await built.say('agent:main:discord:dm:1', 100)
  await built.clock.advance(30 * day)
  t.match(await built.gc(), { total: 0 })
  t.match(await built.gc({ max_age_days: 31 }), { total: 0 })
  t.match(await built.gc({ max_age_days: 30, source: 'telegram' }), { total: 1, by_rule: { aged: 1 } })
  t.match((await built.store.sessions.list({}, 10, null)).items, [{ key: 'agent:main:discord:dm:1' }])
})

const keeping: Record<string, (built: Collecting) => Promise<unknown>> = {
  'is suspended': ({ service }) => service.sessions.suspend({ key: 's', requester: null }, null, ...ops),
  'has something pending': ({ submit }) => submit({ session_key: 's', timeout_seconds: 604_800 }),
  async 'has something claimed'({ submit, call }) {
    const { body } = await submit({ session_key: 's' })
    await call('POST', `/confirm/${body.id}/approve`)
    await call('POST', `/confirm/${body.id}/claim`)
  },
  'has a grant': ({ call }) => call('POST', '/whitelist', { action: 'a', session_key: 's' }),
}

for (const [why, keep] of Object.entries(keeping)) {
  t.test(`one that ${why} stays`, async (t) => {
    const rules = "sessions: { mode: none }\nrules: [{ action: '*', timeout: 604800 }]"
    const built = await started(t, { rules, config: { reportTimeout: 604_800, approvalTtl: 604_800 } })
    await built.say('s')
    await built.say('other')
    await keep(built)
    await built.clock.advance(7 * day - hour)
    await built.clock.advance(hour - 1000)
    const { total, sessions } = await built.gc({ dry_run: true, trivial_days: 6 })
    t.equal(total, 1)
    t.match(sessions, [{ session_key: 'other' }])
    t.match(await built.gc({ trivial_days: 6 }), { total: 1 })
    t.match((await built.store.sessions.list({}, 10, null)).items, [{ key: 's' }])
  })
}

t.test('no streak ends with it', async (t) => {
  const built = await started(t)
  const deny = async () => {
    await built.clock.advance(1000)
    const { status, body } = await built.submit({ session_key: 's' })
    if (status !== 202) throw new Error(body.error)
    await built.call('POST', `/confirm/${body.id}/deny`)
  }
  for (let n = 0; n < 5; n++) await deny()
  await built.clock.advance(8 * day)
  t.match(await built.gc(), { total: 1 })
  t.same(await built.ids(), [])
  await deny()
  t.equal((await built.submit({ session_key: 's' })).body.code, 'circuit_open')
})

t.test('what ended for one requester is not revived', async (t) => {
  const built = await started(t)
  const { ann, root } = await giveKeys(built, { ann: 'agent', root: 'admin' })
  const ask = async (who: CallAs) =>
    (await who('POST', '/confirm', { action: 'read_file', description: 'd', session_key: 's' })).status
  await root('POST', '/whitelist', { action: 'read_file', session_key: 's' })
  t.equal(await ask(ann), 200)
  await built.clock.advance(hour)
  await root('POST', '/sessions/s/reset')
  await built.clock.advance(30 * day)
  await root('POST', '/sessions/gc', { max_age_days: 1 })
  t.equal(await ask(ann), 202)
})

t.test('one that is used between the plan and the removing stays, and the record is corrected', async (t) => {
  let between: (() => Promise<unknown>) | null = null
  const built = await started(t, {
    wrapStore: (store) => ({
      ...store,
      sessions: {
        ...store.sessions,
        async collect(runs) {
          await between?.()
          return store.sessions.collect(runs)
        },
      },
    }),
  })
  await built.say('a')
  await built.say('b')
  await built.clock.advance(8 * day)
  between = () => built.say('a')
  t.match(await built.gc(), { total: 1 })
  t.match((await built.store.sessions.list({}, 10, null)).items, [{ key: 'a', run: { messages: 2 } }])
  t.match(
    (await collections(built)).map(({ data }) => data),
    [{ trivial: 2 }, { trivial: 1 }],
  )
})

t.test('it is for administrators', async (t) => {
  const built = await started(t)
  const keys = await giveKeys(built, { bot: 'agent', ann: 'operator', eve: 'auditor', root: 'admin' })
  for (const name of ['bot', 'ann', 'eve'] as const) {
    t.equal((await keys[name]('POST', '/sessions/gc', {})).status, 403, name)
  }
  t.equal((await keys.root('POST', '/sessions/gc', {})).status, 200)
  for (const body of [{ empty_hours: -1 }, { trivial_days: 'x' }, { max_age_days: 0 }, { sorce: 'telegram' }]) {
    t.equal((await keys.root('POST', '/sessions/gc', body)).status, 400, JSON.stringify(body))
  }
})

t.test('many go, and the events and the requests stay', async (t) => {
  const built = await started(t)
  for (let n = 0; n < 250; n++) await built.say(`s${n}`)
  const { body } = await built.submit({ session_key: 's1' })
  await built.call('POST', `/confirm/${body.id}/deny`)
  await built.clock.advance(8 * day)
  const before = await built.store.events.lastSeq()
  t.match(await built.gc(), { total: 250 })
  t.same(await built.ids(), [])
  t.equal(await built.store.events.lastSeq(), before + 1)
  t.equal((await built.call('GET', `/confirm/${body.id}`)).status, 200)
  await built.stop()
  const again = await started(t, { dbPath: built.dbPath, clock: built.clock, newId: counter('later') })
  t.same(await again.ids(), [])
})

t.test('on a schedule it goes by itself, with the usual ages', async (t) => {
  const built = await started(t, { config: { sessionGcHours: 12 } })
  await built.say('s')
  await built.clock.advance(usualSettings.trivialDays * day - 1)
  t.equal((await built.ids()).length, 1)
  await built.clock.advance(13 * hour)
  t.same(await built.ids(), [])
  t.match(await collections(built), [{ actor: 'system:sessions' }])
})
