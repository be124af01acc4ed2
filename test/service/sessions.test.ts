// Sessions as agents and operators meet them: counted, limited, rotated; what is trusted in one ends with it.
import t, { type Test } from 'tap'
import { anyone } from '../../src/access/role.js'
import type { SessionState } from '../../src/sessions/session.js'
import {
  type Answer,
  build,
  type BuildOptions,
  type Built,
  type CallAs,
  counter,
  giveKeys,
  rulesFrom,
  t0,
} from '../support.js'

const minute = 60_000
const hour = 60 * minute
const key = 'agent:main:telegram:dm:7'
/** The test clock starts at midnight; the usual rules reset at four. */
const four = t0 + 4 * hour

interface Session extends Built {
  /** Submits something that a person is asked for, or that is covered. */
  ask(fields?: object): Promise<Answer>
  say(count?: number): Promise<SessionState>
  /** Submits, and a person approves for the whole session. */
  trust(): Promise<void>
  /** Whether the action is covered without a person. */
  isTrusted(): Promise<boolean>
}

async function started(t: Test, options: BuildOptions = {}): Promise<Session> {
  const built = await build(t, { config: { rateLimit: 1_000_000 }, ...options })
  const { submit, service, call } = built
  const ask = (fields: object = {}) => submit({ session_key: key, ...fields })
  return {
    ...built,
    ask,
    async say(count = 1) {
      const state = await service.sessions.addMessages(key, count, anyone, 'http')
      if ('refused' in state) throw new Error(state.sentence)
      return state
    },
    async trust() {
      const { body } = await ask({ action: 'read_file' })
      const answer = await call('POST', `/confirm/${body.id}/approve`, { remember: 'session' })
      if (answer.status !== 200) throw new Error(answer.body.error)
    },
    async isTrusted() {
      const { status, body } = await ask({ action: 'read_file' })
      if (status === 202) await call('POST', `/confirm/${body.id}/cancel`)
      return status === 200
    },
  }
}

const named = { key, requester: null }
const whoever = ['ops', anyone, 'http'] as const

async function read({ service }: Built) {
  const found = await service.sessions.read(named, anyone)
  if ('refused' in found) throw new Error(found.sentence)
  return found
}

async function eventsOf({ events }: Built, type: string): Promise<any[]> {
  return (await events()).filter((event: { type: string }) => event.type === type)
}

t.test('a request without a session key belongs to no session', async (t) => {
  const { submit, service, call } = await started(t)
  const { body } = await submit()
  t.equal(body.session, undefined)
  t.match((await call('GET', `/confirm/${body.id}`)).body, { session_id: null, warnings: [] })
  t.same((await service.sessions.list({}, 10, null, anyone)).items, [])
})

t.test('the first submission begins a session, and each one counts', async (t) => {
  const session = await started(t)
  const first = (await session.ask()).body
  t.same(first.session, {
    id: first.session.id,
    count: 1,
    max: 200,
    remaining: 199,
    near_limit: false,
    at_limit: false,
  })
  t.match((await session.ask()).body.session, { id: first.session.id, count: 2 })
  t.match(await session.say(3), { id: first.session.id, count: 5 })
  t.match((await read(session)).session, { requester: '', key, run: { messages: 5, submissions: 2 } })
  t.equal((await session.call('GET', `/confirm/${first.id}`)).body.session_id, first.session.id)
  const [submitted] = await eventsOf(session, 'submitted')
  t.equal(submitted.data.session_id, first.session.id)
})

t.test('replays and refusals count nothing', async (t) => {
  const session = await started(t, { config: { rateLimit: 1 } })
  const headers = { 'idempotency-key': 'k1' }
  const asked = { action: 'send_mail', description: 'd', session_key: key }
  await session.call('POST', '/confirm', asked, headers)
  t.match((await session.call('POST', '/confirm', asked, headers)).body.session, { count: 1 })
  t.equal((await session.ask()).body.code, 'rate_limited')
  t.equal((await session.ask({ action: 'x', callback_url: 'http://127.0.0.1/' })).status, 400)
  t.match((await read(session)).session.run, { messages: 1, submissions: 1 })
})

t.test('a batch counts each of its items, in order', async (t) => {
  const session = await started(t)
  const items = [1, 2, 3].map((n) => ({ action: `a${n}`, description: 'd', session_key: n === 2 ? 'other' : key }))
  const { body } = await session.call('POST', '/confirm/batch', { items })
  t.same(
    body.results.map((one: any) => one.body.session.count),
    [1, 1, 2],
  )
  t.equal(body.results[0].body.session.id, body.results[2].body.session.id)
  t.not(body.results[0].body.session.id, body.results[1].body.session.id)
  const more = await session.call('POST', '/confirm/batch', { items })
  t.same(
    more.body.results.map((one: any) => one.body.session.count),
    [3, 2, 4],
  )
})

t.test('the agent is told when its session nears its limit, reaches it, and has begun anew', async (t) => {
  const session = await started(t)
  const { id } = await session.say(100)
  const at = async (count: number) => {
    const { run } = (await read(session)).session
    await session.say(count - run.messages)
    return (await read(session)).session.run.messages
  }
  t.equal(await at(168), 168)
  const ask = async () => {
    const { body } = await session.ask()
    await session.call('POST', `/confirm/${body.id}/cancel`)
    return body.session
  }
  t.same(await ask(), { id, count: 169, max: 200, remaining: 31, near_limit: false, at_limit: false })
  t.match(await ask(), {
    count: 170,
    remaining: 30,
    near_limit: true,
    at_limit: false,
    notice: /30 of 200 messages left/,
  })
  await at(198)
  t.match(await ask(), { count: 199, remaining: 1, near_limit: true, at_limit: false })
  t.match(await ask(), { id, count: 200, remaining: 0, near_limit: true, at_limit: true, notice: /final answer/ })
  const next = await ask()
  t.match(next, { count: 1, was_reset: true, reset_reason: 'message_limit', previous_id: id, at_limit: false })
  t.not(next.id, id)
  const again = await ask()
  t.equal(again.was_reset, undefined, 'it is said once')
  t.equal(again.id, next.id)
  const [rotated] = await eventsOf(session, 'session_rotated')
  t.match(rotated, {
    actor: 'system:sessions',
    data: { reason: 'message_limit', previous_id: id, session_id: next.id, messages: 200, submissions: 4, grants: [] },
  })
  t.match(rotated.data.outcomes, [{ status: 'cancelled' }, {}, {}, {}])
})

t.test('two that race for the last place do not both get it', async (t) => {
  const session = await started(t)
  await session.say(100)
  await session.say(99)
  const covered = { action: 'read_file' }
  await session.call('POST', '/whitelist', { action: 'read_file' })
  const [one, other] = await Promise.all([session.ask(covered), session.ask(covered)])
  const states = [one.body.session, other.body.session].sort((a, b) => b.count - a.count)
  t.match(states, [
    { count: 200, at_limit: true },
    { count: 1, was_reset: true },
  ])
})

t.test('a batch does not carry the trust of a session past its limit', async (t) => {
  const session = await started(t, { rules: 'sessions: { mode: none, max_messages: 5 }' })
  await session.trust()
  const items = Array.from({ length: 20 }, () => ({ action: 'read_file', description: 'd', session_key: key }))
  const statuses = async () => {
    const { body } = await session.call('POST', '/confirm/batch', { items })
    return body.results.map((one: { status_code: number }) => one.status_code)
  }
  t.same(
    await statuses(),
    items.map((_, place) => (place < 4 ? 200 : 202)),
  )
  t.notOk((await statuses()).includes(200))
})

t.test('a limit of none is none, and the mode that never resets has the limit all the same', async (t) => {
  const none = await started(t, { rules: 'sessions: { max_messages: 0, mode: none }' })
  for (let n = 0; n < 3; n++) await none.say(100)
  t.match((await none.ask()).body.session, {
    count: 301,
    max: null,
    remaining: null,
    near_limit: false,
    at_limit: false,
  })
  await none.clock.advance(1000 * hour)
  t.match((await none.ask()).body.session, { count: 302 })
  const few = await started(t, { rules: 'sessions: { max_messages: 2, mode: none }' })
  await few.say()
  t.match(await few.say(), { count: 2 })
  t.match(await few.say(), { count: 1, reset: { reason: 'message_limit' } })
})

const idle = { rules: 'sessions: { mode: idle, idle: 30 }' }

t.test('idle: a millisecond before it is the same session, then another', async (t) => {
  const session = await started(t, idle)
  const { id } = await session.say()
  await session.clock.advance(30 * minute - 1)
  t.match(await session.say(), { id, count: 2, reset: null })
  await session.clock.advance(30 * minute - 1)
  t.equal((await read(session)).due, null)
  await session.clock.advance(1)
  const next = await session.say()
  t.match(next, { count: 1, reset: { reason: 'idle', previousId: id } })
  t.match((await session.say()).reset, null)
})

t.test('daily: a millisecond before four it is the same session, at four it is another', async (t) => {
  const session = await started(t)
  const { id } = await session.say()
  await session.clock.advance(4 * hour - 1)
  t.match(await session.say(), { id, count: 2 })
  await session.clock.advance(1)
  t.equal(session.clock.now(), four)
  t.match(await session.say(), { count: 1, reset: { reason: 'daily', previousId: id } })
})

t.test('daily: the hour is that of the zone, also when clocks change', async (t) => {
  // In Zurich clocks go from 2 to 3 on 29 March 2026, and from 3 to 2 on 25 October.
  for (const [day, utc] of [
    ['2026-03-28', 3],
    ['2026-03-29', 2],
    ['2026-10-24', 2],
    ['2026-10-25', 3],
  ] as const) {
    const session = await started(t, { timeZone: 'Europe/Zurich' })
    const midnight = Date.parse(`${day}T00:30:00Z`)
    await session.clock.advance(midnight - t0)
    const { id } = await session.say()
    await session.clock.advance(Date.parse(`${day}T00:00:00Z`) + utc * hour - 1 - midnight)
    t.equal((await session.say()).id, id, `${day} before`)
    await session.clock.advance(1)
    t.match(await session.say(), { reset: { reason: 'daily' } }, `${day} at four`)
  }
})

t.test('what is not used rotates by itself, is told of once when it is used, and then not again', async (t) => {
  const session = await started(t)
  const { id } = await session.say()
  await session.trust()
  await session.clock.advance(5 * hour)
  const [rotated, ...others] = await eventsOf(session, 'session_rotated')
  t.same(others, [])
  t.match(rotated, { time: four / 1000, data: { reason: 'daily', previous_id: id, grants: [{ action: 'read_file' }] } })
  t.match((await session.call('GET', '/whitelist')).body, { count: 0 })
  await session.clock.advance(72 * hour)
  t.equal((await eventsOf(session, 'session_rotated')).length, 1, 'one that has not begun has nothing to end')
  t.match((await session.ask()).body.session, { count: 1, was_reset: true, reset_reason: 'daily', previous_id: id })
})

const ways: Record<string, (session: Session) => Promise<unknown>> = {
  idle: (session) => session.clock.advance(30 * minute),
  daily: (session) => session.clock.advance(4 * hour),
  message_limit: (session) => session.say(100),
  manual: ({ service }) => service.sessions.reset(named, ...whoever),
  async suspended({ service }) {
    await service.sessions.suspend(named, null, ...whoever)
    await service.sessions.reset(named, ...whoever)
  },
  async switched(session) {
    const { service } = session
    const { id } = (await read(session)).session.run
    await service.sessions.reset(named, ...whoever)
    await session.trust()
    await service.sessions.switchTo(named, id, ...whoever)
  },
}

for (const [reason, way] of Object.entries(ways)) {
  t.test(`${reason}: what was granted for the session is gone after it, also after a restart`, async (t) => {
    const mode = reason === 'idle' ? 'mode: idle, idle: 30' : 'mode: daily'
    const options = { rules: `sessions: { ${mode}, max_messages: 50 }` }
    const session = await started(t, options)
    await session.say()
    await session.trust()
    t.equal(await session.isTrusted(), true)
    await way(session)
    t.equal(await session.isTrusted(), false)
    t.match((await eventsOf(session, 'session_rotated')).at(-1), { data: { reason } })
    t.match((await session.call('GET', '/whitelist')).body, { count: 0 })
    await session.stop()
    const again = await started(t, { ...options, dbPath: session.dbPath, clock: session.clock })
    t.equal(await again.isTrusted(), false)
  })
}

t.test('a rotation waits for what is pending, but trust does not', async (t) => {
  const session = await started(t, { ...idle, config: { rateLimit: 1000, approvalTtl: 86_400, reportTimeout: 86_400 } })
  const { id } = await session.say()
  await session.trust()
  const pending = (await session.ask({ timeout_seconds: 3600 })).body
  t.equal(pending.session.id, id)
  await session.clock.advance(30 * minute)
  t.match(
    (await eventsOf(session, 'session_due')).map(({ data }: any) => data),
    [{ reason: 'idle', session_id: id }],
  )
  t.match((await session.call('GET', '/whitelist')).body, { count: 0 })
  t.match((await read(session)).due, { reason: 'idle' })
  const later = (await session.ask({ action: 'read_file' })).body
  t.match(later, { status: 'pending', session: { id } }, 'the run goes on, without its trust')
  await session.call('POST', `/confirm/${later.id}/approve`, { remember: 'session' })
  t.equal((await session.ask({ action: 'read_file' })).status, 202, 'nor does what is granted meanwhile count')
  await session.call('POST', `/confirm/${pending.id}/approve`)
  await session.clock.advance(0)
  t.match(
    (await eventsOf(session, 'session_rotated')).map(({ data }: any) => data),
    [{ reason: 'idle', previous_id: id }],
  )
  const next = (await session.ask({ action: 'read_file' })).body
  t.match(next, { status: 'pending', session: { was_reset: true, reset_reason: 'idle', previous_id: id } })
})

t.test('a rotation waits for what is claimed until it is reported, or nobody has in time', async (t) => {
  for (const end of ['reported', 'unreported']) {
    const session = await started(t, { ...idle, config: { reportTimeout: 3600, approvalTtl: 3600 } })
    const { id, session: before } = (await session.ask()).body
    await session.call('POST', `/confirm/${id}/approve`)
    await session.call('POST', `/confirm/${id}/claim`)
    await session.clock.advance(30 * minute)
    t.match((await session.say()).id, before.id)
    t.equal((await eventsOf(session, 'session_rotated')).length, 0)
    if (end === 'reported') await session.call('POST', `/confirm/${id}/report`, { outcome: 'succeeded' })
    await session.clock.advance(end === 'reported' ? 0 : hour)
    t.match(
      (await eventsOf(session, 'session_rotated')).map(({ data }: any) => data),
      [{ reason: 'idle' }],
      end,
    )
    t.not((await session.say()).id, before.id)
  }
})

t.test('a rotation that waits goes on waiting after a restart', async (t) => {
  const session = await started(t, idle)
  const pending = (await session.ask({ timeout_seconds: 3600 })).body
  await session.clock.advance(30 * minute)
  await session.stop()
  const again = await started(t, { ...idle, dbPath: session.dbPath, clock: session.clock, newId: counter('later') })
  t.equal((await again.say()).id, pending.session.id)
  await again.call('POST', `/confirm/${pending.id}/deny`)
  await again.clock.advance(0)
  t.equal((await eventsOf(again, 'session_rotated')).length, 1)
})

t.test('other rules count from when they are loaded', async (t) => {
  const session = await started(t, { rules: 'sessions: { mode: none }' })
  await session.say()
  await session.clock.advance(10 * hour)
  t.equal((await read(session)).due, null)
  await session.service.useRules(rulesFrom('sessions: { mode: idle, idle: 60 }'))
  await session.clock.advance(0)
  t.match(await eventsOf(session, 'session_rotated'), [{ data: { reason: 'idle' } }])
})

t.test('a session is of one requester: another that names its key has one of its own', async (t) => {
  const built = await build(t)
  const { ann, bo, root } = await giveKeys(built, { ann: 'agent', bo: 'agent', root: 'admin' })
  const ask = (who: CallAs, action = 'read_file') =>
    who('POST', '/confirm', { action, description: 'd', session_key: key })
  const { body } = await ask(ann)
  await root('POST', `/confirm/${body.id}/approve`, { remember: 'session' })
  t.equal((await ask(ann)).status, 200)
  const other = await ask(bo)
  t.equal(other.status, 202)
  t.equal(other.body.session.count, 1)
  t.not(other.body.session.id, body.session.id)
})

t.test('an entry for a session of whichever requester ends at a rotation for that requester alone', async (t) => {
  const built = await build(t)
  const { ann, bo, root } = await giveKeys(built, { ann: 'agent', bo: 'agent', root: 'admin' })
  const ask = async (who: CallAs) =>
    (await who('POST', '/confirm', { action: 'read_file', description: 'd', session_key: key })).status
  const grant = () => root('POST', '/whitelist', { action: 'read_file', session_key: key })
  await grant()
  t.same([await ask(ann), await ask(bo)], [200, 200])
  await built.clock.advance(1000)
  const operator = { actor: { kind: 'person', name: 'root' }, role: 'admin', keyId: root.keyId } as const
  t.match(await built.service.sessions.reset({ key, requester: null }, '', operator, 'http'), {
    refused: 'ambiguous_session',
    extra: { requesters: ['ann', 'bo'] },
  })
  await built.service.sessions.reset({ key, requester: 'ann' }, '', operator, 'http')
  t.same([await ask(ann), await ask(bo)], [202, 200])
  await built.clock.advance(1000)
  t.equal((await grant()).status, 200)
  t.same([await ask(ann), await ask(bo)], [200, 200], 'given again, it counts again')
})

t.test('a suspended session gets nothing until somebody lifts that, whatever happens meanwhile', async (t) => {
  const session = await started(t)
  const { id } = (await session.ask()).body
  const before = (await read(session)).session.run.id
  await session.call('POST', `/confirm/${id}/approve`)
  await session.service.sessions.suspend(named, 'it loops', ...whoever)
  const refused = await session.ask()
  t.match(refused, { status: 423, body: { code: 'session_suspended', reason: 'it loops', error: /suspended by ops/ } })
  t.match(await session.call('POST', `/confirm/${id}/claim`), { status: 423, body: { code: 'session_suspended' } })
  await session.clock.advance(72 * hour)
  t.equal((await session.ask()).status, 423, 'not a rotation')
  await session.stop()
  const again = await started(t, { dbPath: session.dbPath, clock: session.clock, newId: counter('later') })
  t.equal((await again.ask()).status, 423, 'not a restart')
  t.equal((await again.submit({ session_key: 'another' })).status, 202)
  await again.service.sessions.resume(named, null, ...whoever)
  t.equal((await again.ask({ action: 'b' })).status, 202)
  const story = (await again.events()).filter(({ type }: any) => type.startsWith('session_'))
  t.match(
    story.map(({ type, actor, data }: any) => [type, actor, data.reason, data.session_id ?? null]),
    [
      ['session_suspended', 'ops', 'it loops', before],
      ['session_rotated', 'system:sessions', 'daily', String],
      ['session_resumed', 'ops', undefined, String],
    ],
  )
  t.equal((await eventsOf(again, 'rejected')).length, 4)
})

t.test('a resumed session goes on as it was, a reset one begins anew', async (t) => {
  const session = await started(t)
  const { id } = await session.say(3)
  const { sessions } = session.service
  await sessions.suspend(named, null, ...whoever)
  await sessions.resume(named, null, ...whoever)
  t.match(await session.say(), { id, count: 4, reset: null })
  await sessions.suspend(named, null, ...whoever)
  await sessions.reset(named, ...whoever)
  t.match(await session.say(), { count: 1, reset: { reason: 'suspended', previousId: id } })
})

t.test('switching brings back what an earlier session id had counted', async (t) => {
  const session = await started(t)
  const { sessions } = session.service
  const { id: first } = await session.say(7)
  await sessions.reset(named, ...whoever)
  const { id: second } = await session.say(2)
  await session.clock.advance(hour)
  await sessions.switchTo(named, first, ...whoever)
  t.match(await session.say(), { id: first, count: 8, reset: { reason: 'switched', previousId: second } })
  t.same(
    (await read(session)).past.map(({ id, messages }) => [id, messages]),
    [[second, 2]],
  )
  t.match(await sessions.switchTo(named, 'nothing', ...whoever), { refused: 'not_found' })
  await sessions.switchTo(named, first, ...whoever)
  t.match(await session.say(), { id: first, count: 9, reset: null }, 'the current one is what it is')
})

t.test('sessions begun by messages alone take no more of the disk than a requester has', async (t) => {
  const { service } = await build(t, { config: { diskLimit: 1 } })
  let refused = null
  let count = 0
  for (; refused === null && count < 2000; count++) {
    const state = await service.sessions.addMessages(`${'k'.repeat(900)}${count}`, 1, anyone, 'http')
    if ('refused' in state) refused = state
  }
  t.match(refused, { refused: 'disk_limited' })
})
