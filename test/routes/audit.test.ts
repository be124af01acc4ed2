import t from 'tap'
import { build, giveKeys, t0, withKey } from '../support.js'

t.test('the audit has one entry per confirmation, newest first, in its latest state', async (t) => {
  const { submit, call, clock } = await build(t)
  for (let i = 0; i < 3; i++) {
    await submit()
    await clock.advance(1000)
  }
  await call('POST', '/confirm/id-0002/approve', { approver: 'alice' })
  const { status, body } = await call('GET', '/audit')
  t.equal(status, 200)
  t.equal(body.count, 3)
  t.match(body.entries, [
    { id: 'id-0003', status: 'pending' },
    { id: 'id-0002', status: 'approved', resolved_by: 'alice' },
    { id: 'id-0001', status: 'pending' },
  ])
  t.same(
    (await call('GET', '/audit?status=pending')).body.entries.map(({ id }: any) => id),
    ['id-0003', 'id-0001'],
    'newest first also for pending ones',
  )
})

t.test('limit is clamped to 1..500, and what is no number means 50', async (t) => {
  const { submit, call } = await build(t, { config: { rateLimit: 1000 } })
  for (let i = 0; i < 52; i++) await submit()
  for (const [limit, count] of [
    ['', 50],
    ['?limit=', 50],
    ['?limit=abc', 50],
    ['?limit=NaN', 50],
    ['?limit=0x10', 50],
    ['?limit=Infinity', 50],
    ['?limit=0', 1],
    ['?limit=-7', 1],
    ['?limit=1', 1],
    ['?limit=2.9', 2],
    ['?limit=51', 51],
    ['?limit=99999999999999999999', 52],
  ] as const) {
    const { status, body } = await call('GET', `/audit${limit}`)
    t.equal(status, 200, limit)
    t.equal(body.count, count, limit)
    t.equal(body.entries.length, count, limit)
  }
})

t.test('filters narrow it down, alone and together', async (t) => {
  const { submit, call, clock } = await build(t)
  await submit({ action: 'a', requester: 'bot', session_key: 's1' })
  await clock.advance(10_000)
  await submit({ action: 'b', requester: 'bot' })
  await clock.advance(10_000)
  await submit({ action: 'a', requester: 'cron' })
  await call('POST', '/confirm/id-0003/deny', { denier: 'alice' })
  const ids = async (query: string) => (await call('GET', `/audit?${query}`)).body.entries.map(({ id }: any) => id)
  t.same(await ids('action=a'), ['id-0003', 'id-0001'])
  t.same(await ids('requester=bot'), ['id-0002', 'id-0001'])
  t.same(await ids('session_key=s1'), ['id-0001'])
  t.same(await ids('session_key='), ['id-0003', 'id-0002'])
  t.same(await ids('resolved_by=alice'), ['id-0003'])
  t.same(await ids('status=denied&action=b'), [])
  t.same(await ids(`since=${t0 / 1000 + 10}`), ['id-0003', 'id-0002'])
  t.same(await ids('until=2026-01-01T00:00:20Z'), ['id-0002', 'id-0001'])
  t.same(await ids(`since=2026-01-01T00:00:10.000Z&until=${t0 / 1000 + 20}&action=b`), ['id-0002'])
  t.same(await ids('since=2030-01-01'), [])
  t.same(await ids('status=denied,pending'), ['id-0003', 'id-0002', 'id-0001'])
  t.same(await ids('status=denied,expired'), ['id-0003'])
  t.same(await ids(`status=denied${',denied'.repeat(1000)}`), ['id-0003'], 'named again, it is no other')
  t.same(await ids(`resolved_since=${t0 / 1000 + 20}`), ['id-0003'])
  t.same(await ids(`resolved_since=${t0 / 1000 + 21}`), [])
  t.same(await ids('resolved_until=2026-01-01T00:00:21Z'), ['id-0003'])
  t.same(await ids(`resolved_until=${t0 / 1000 + 20}`), [])
})

t.test('whoever voted is found, also with one vote of two', async (t) => {
  const built = await build(t, { rules: 'rules: [{ action: pay, approvals: 2 }, { action: send_mail }]' })
  await built.submit({ action: 'send_mail' })
  const { bot, alice, bob, audrey } = await giveKeys(built, {
    bot: 'agent',
    alice: 'operator',
    bob: 'operator',
    audrey: 'auditor',
  })
  for (const n of [1, 2, 3]) await bot('POST', '/confirm', { action: 'pay', description: 'd', details: { n } })
  await alice('POST', '/confirm/id-0002/approve')
  await alice('POST', '/confirm/id-0003/approve')
  await bob('POST', '/confirm/id-0003/approve')
  await bob('POST', '/confirm/id-0004/deny')
  await bot('POST', '/confirm/id-0003/claim')
  const ids = async (query: string) => (await audrey('GET', `/audit?${query}`)).body.entries.map(({ id }: any) => id)
  t.same(await ids('voted_by=alice'), ['id-0003', 'id-0002'])
  t.same(await ids('voted_by=bob'), ['id-0004', 'id-0003'])
  t.same(await ids('voted_by=alice&status=pending'), ['id-0002'])
  t.same(await ids('voted_by=alice&resolved_by=bob'), ['id-0003'])
  t.same(await ids('voted_by=bot'), [])
  const { body } = await audrey('GET', '/audit?voted_by=bob&limit=1')
  t.equal(body.entries[0].id, 'id-0004')
  t.same(await ids(`voted_by=bob&cursor=${body.next_cursor}`), ['id-0003'])
})

t.test('events are filtered by their time, as the audit is by that of submission', async (t) => {
  const { submit, call, clock } = await build(t)
  await submit()
  await clock.advance(10_000)
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  await clock.advance(10_000)
  await submit()
  const types = async (query: string) =>
    (await call('GET', `/audit/events?${query}`)).body.events.map((e: any) => e.type)
  t.same(await types(`since=${t0 / 1000 + 10}`), ['approved', 'submitted', 'notified'])
  t.same(await types('until=2026-01-01T00:00:10Z'), ['submitted', 'notified'])
  t.same(await types('since=2026-01-01T00:00:10Z&until=2026-01-01T00:00:10.001Z'), ['approved'])
  t.same(await types('since=2026-01-01T00:00:05Z&type=submitted'), ['submitted'])
  t.same(await types('since=2026-01-01T00:00:05Z&confirmation_id=id-0001'), ['approved'])
  t.match((await call('GET', '/audit/events?since=2030-01-01')).body, { count: 0, next_after: 5, more: false })
  t.match((await call('GET', '/audit/events?since=2026-01-01&limit=2')).body, { count: 2, next_after: 2, more: true })
})

t.test('events after one that does not exist are refused, as a stream refuses them', async (t) => {
  const { submit, call } = await build(t)
  await submit()
  const last = (await call('GET', '/audit/events')).body.next_after
  t.match((await call('GET', `/audit/events?after=${last}`)).body, { count: 0, more: false })
  const refused = await call('GET', `/audit/events?after=${last + 1}`)
  t.equal(refused.status, 400)
  t.match(refused.body, { code: 'invalid_cursor', error: `There is no event ${last + 1}; the last one is ${last}.` })
})

t.test('a filter that makes no sense is refused with a clear sentence', async (t) => {
  const { call } = await build(t)
  for (const query of [
    'since=yesterday',
    'since=Nov%2018',
    'since=1/2/3',
    'since=%2B5',
    'since=2026-02-30',
    'since=2026-01-01T00:00',
    'since=2026-01-01T00:00:00+01:00',
    'since=1795012102378',
    'until=',
    'since=1e999',
    'status=done',
    'status=pending,done',
    'status=',
    'status=pending,',
    'status=pending&status=denied',
    'resolved_since=never',
    'resolved_until=',
    'voted_by=a&voted_by=b',
    'cursor=x',
    'cursor=',
    'action=a&action=b',
  ]) {
    const { status, body } = await call('GET', `/audit?${query}`)
    t.equal(status, 400, query)
    t.type(body.error, 'string')
  }
  for (const query of [
    'after=-1',
    'after=x',
    'after=1.5',
    'after=99999999999999999999',
    'since=now',
    'until=1&until=2',
  ]) {
    t.equal((await call('GET', `/audit/events?${query}`)).status, 400, query)
  }
})

t.test('pages follow the cursor through everything once', async (t) => {
  const { submit, call } = await build(t, { config: { rateLimit: 1000 } })
  for (let i = 0; i < 25; i++) await submit({ requester: i % 2 === 0 ? 'even' : 'odd' })
  for (const filter of ['', '&requester=odd', '&requester=odd&action=send_mail']) {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const place: string = cursor === null ? '' : `&cursor=${cursor}`
      const { body } = await call('GET', `/audit?limit=4${filter}${place}`)
      seen.push(...body.entries.map(({ id }: any) => id))
      cursor = body.next_cursor
    } while (cursor !== null)
    t.equal(seen.length, filter === '' ? 25 : 12, filter)
    t.equal(new Set(seen).size, seen.length)
    t.same(seen, seen.toSorted().reverse())
  }
})

t.test('a cursor tells nothing, and is good for the listing and the caller it was given to', async (t) => {
  const built = await build(t, { config: { rateLimit: 100 } })
  const { bot, other, audrey } = await giveKeys(built, { bot: 'agent', other: 'agent', audrey: 'auditor' })
  const asked = (action: string) => ({ action, description: 'd', session_key: 's' })
  for (let i = 0; i < 3; i++) await bot('POST', '/confirm', asked(`mine${i}`))
  const cursorOf = async (call = bot, url = '/confirm?limit=1') => (await call('GET', url)).body.next_cursor as string
  const quiet = await cursorOf()
  for (let i = 0; i < 20; i++) await other('POST', '/confirm', asked(`theirs${i}`))
  const busy = await cursorOf(bot, '/confirm?limit=1&session_key=s')
  for (const cursor of [quiet, busy]) {
    t.equal(cursor.length, quiet.length, 'as long as any other')
    t.notMatch(
      Buffer.from(cursor, 'base64url').toString('latin1'),
      /\d{8}/,
      'no time in it; three digits chance can give',
    )
  }
  t.not(await cursorOf(), await cursorOf(), 'and never the same twice')
  t.match(await bot('GET', `/confirm?limit=1&cursor=${quiet}`), { body: { confirmations: [{ action: 'mine1' }] } })

  const bytes = Buffer.from(quiet, 'base64url')
  const forged = [0, 12, bytes.length - 1].map((at) => {
    const copy = Buffer.from(bytes)
    copy[at]! ^= 1
    return copy.toString('base64url')
  })
  const old = Buffer.from('1767225600000.3').toString('base64url')
  for (const cursor of ['', 'x', old, quiet.slice(0, -4), `${quiet}AAAA`, ...forged]) {
    t.match(await bot('GET', `/confirm?cursor=${cursor}`), { status: 400, body: { code: 'invalid_cursor' } }, cursor)
  }
  const elsewhere: [call: typeof bot, url: string][] = [
    [other, `/confirm?cursor=${quiet}`],
    [audrey, `/audit?cursor=${quiet}`],
    [audrey, `/whitelist?cursor=${await cursorOf(audrey, '/audit?limit=1')}`],
    [bot, `/confirm?status=pending&cursor=${quiet}`],
    [audrey, `/confirm?cursor=${await cursorOf(audrey, '/audit?limit=1')}`],
  ]
  for (const [call, url] of elsewhere) {
    t.match(await call('GET', url), { status: 400, body: { code: 'invalid_cursor' } }, url)
  }

  await built.stop()
  const again = await build(t, { dbPath: built.dbPath, clock: built.clock })
  const bot2 = withKey(again.call, bot.key)
  t.match(await bot2('GET', `/confirm?limit=1&cursor=${quiet}`), { body: { confirmations: [{ action: 'mine1' }] } })
})

t.test('the history tells every step, in order, with actor, channel and what changed', async (t) => {
  const { submit, call, clock, events } = await build(t, { config: { rateLimit: 4 } })
  await submit({ requester: 'bot', details: { to: 'all' }, session_key: 's1' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  await submit()
  await call('POST', '/confirm/id-0002/deny', { denier: 'bob', reason: 'no' })
  await submit({ timeout_seconds: 30 })
  await clock.advance(30_000)
  await submit()
  await call('POST', '/confirm/id-0004/cancel')
  await submit()
  const history = await events()
  t.same(
    history.map(({ seq, type, actor, channel }: any) => [seq, type, actor, channel]),
    [
      [1, 'submitted', 'bot', 'http'],
      [2, 'notified', 'system:outbox', 'log'],
      [3, 'approved', 'alice', 'http'],
      [4, 'submitted', 'agent', 'http'],
      [5, 'notified', 'system:outbox', 'log'],
      [6, 'denied', 'bob', 'http'],
      [7, 'submitted', 'agent', 'http'],
      [8, 'notified', 'system:outbox', 'log'],
      [9, 'expired', 'system:timeout', 'system'],
      [10, 'submitted', 'agent', 'http'],
      [11, 'notified', 'system:outbox', 'log'],
      [12, 'cancelled', 'agent', 'http'],
      [13, 'rate_limited', 'agent', 'http'],
    ],
  )
  t.match(history[0], {
    time: t0 / 1000,
    time_iso: '2026-01-01T00:00:00.000Z',
    confirmation_id: 'id-0001',
    data: {
      action: 'send_mail',
      description: 'Send the newsletter',
      details: { to: 'all' },
      requester: 'bot',
      session_key: 's1',
      timeout_seconds: 300,
    },
  })
  const page = (await call('GET', '/audit/events?after=5&limit=3')).body
  t.same(
    page.events.map(({ seq }: any) => seq),
    [6, 7, 8],
  )
  t.equal(page.next_after, 8)
  t.match((await call('GET', '/audit/events?after=13')).body, { count: 0, events: [], next_after: 13 })
})
