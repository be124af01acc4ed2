// What one requester may use up, and what that leaves to the others.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  build,
  type BuildOptions,
  type CallAs,
  counter,
  giveKeys,
  manualClock,
  rulesFrom,
  t0,
  temporaryFolder,
} from '../support.js'

const people = { bot: 'agent', other: 'agent', ann: 'operator', root: 'admin' } as const

async function shared(t: Test, options: BuildOptions = {}) {
  const built = await build(t, { newId: counter(), ...options })
  const keys = await giveKeys(built, people)
  const events = async (): Promise<any[]> => (await keys.root('GET', '/audit/events?limit=500')).body.events
  return { ...built, ...keys, events }
}

async function ask(caller: CallAs, fields: Record<string, unknown> = {}) {
  return caller('POST', '/confirm', { action: 'a', description: 'd', ...fields })
}

async function askTimes(caller: CallAs, times: number, fields: Record<string, unknown> = {}) {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) statuses.push((await ask(caller, fields)).status)
  return statuses
}

// -- rate

t.test('with keys, whoever uses up the window of an action leaves it open to the others', async (t) => {
  const { bot, other, clock } = await shared(t, { config: { rateLimit: 2, rateWindow: 60 } })
  t.same(await askTimes(bot, 3), [202, 202, 429])
  t.match(await ask(bot, { requester: 'other' }), {
    status: 429,
    headers: { 'retry-after': '60' },
    body: {
      code: 'rate_limited',
      share: 'rate',
      retry_after_seconds: 60,
      error: /of bot within 60 s; try again in 60 s/,
    },
  })
  t.same(await askTimes(other, 3), [202, 202, 429], 'a name in the body is nobody')
  await clock.advance(60_000)
  t.same(await askTimes(bot, 1), [202])
})

t.test('without keys an action has one window, whatever name is given', async (t) => {
  const { submit } = await build(t, { config: { rateLimit: 2 } })
  t.equal((await submit({ requester: 'a' })).status, 202)
  t.equal((await submit({ requester: 'b' })).status, 202)
  t.match(await submit({ requester: 'c' }), { status: 429, body: { share: 'rate' } })
})

t.test('the limit of a rule is one for all, unless it is per requester', async (t) => {
  const limit = (more: string) => `rules: [{ action: a, rate_limit: { max: 2, window_seconds: 60${more} } }]`
  const together = await shared(t, { rules: limit('') })
  t.same(await askTimes(together.bot, 2), [202, 202])
  t.same(await askTimes(together.other, 1), [429])
  const each = await shared(t, { rules: limit(', per: requester') })
  t.same(await askTimes(each.bot, 3), [202, 202, 429])
  t.same(await askTimes(each.other, 3), [202, 202, 429])
})

t.test('what was asked under one rule counts for the next, for all and for each', async (t) => {
  const { bot, other, service } = await shared(t)
  const use = (more: string) =>
    service.useRules(rulesFrom(`rules: [{ action: a, rate_limit: { max: 3, window_seconds: 60${more} } }]`))
  t.same([...(await askTimes(bot, 2)), ...(await askTimes(other, 1))], [202, 202, 202])
  await use('')
  t.same(await askTimes(other, 1), [429], 'all of them have asked three times')
  await use(', per: requester')
  t.same(await askTimes(bot, 2), [202, 429])
  t.same(await askTimes(other, 3), [202, 202, 429])
})

t.test('in a batch, items of one requester take from its window as they would alone', async (t) => {
  const { bot, other } = await shared(t, { config: { rateLimit: 2 } })
  const items = ['a', 'b', 'a', 'a', 'b'].map((action) => ({ action, description: 'd' }))
  const { results } = (await bot('POST', '/confirm/batch', { items })).body
  t.same(
    results.map(({ status_code }: any) => status_code),
    [202, 202, 202, 429, 202],
  )
  t.match(results[3].body, { code: 'rate_limited', share: 'rate' })
  t.same(await askTimes(other, 3), [202, 202, 429])
})

// -- open

t.test('with keys a requester has at most so many open, and is told when there is room', async (t) => {
  const { bot, other, ann, clock } = await shared(t, { config: { openLimit: 2 } })
  const { body: first } = await ask(bot, { timeout_seconds: 300 })
  await ask(bot, { timeout_seconds: 90 })
  await clock.advance(30_000)
  t.match(await ask(bot), {
    status: 429,
    headers: { 'retry-after': '60' },
    body: { code: 'too_many_open', share: 'open', open_limit: 2, retry_after_seconds: 60, error: /or in 60 s/ },
  })
  t.same(await askTimes(other, 3), [202, 202, 429], 'others have their own')
  await ann('POST', `/confirm/${first.id}/deny`)
  t.same(await askTimes(bot, 2), [202, 429])
  await clock.advance(60_000)
  t.same(await askTimes(bot, 2), [202, 429], 'what has ended is not open')
})

t.test('thirty are open unless a setting says otherwise, alone, at once and in a batch', async (t) => {
  const { bot, root } = await shared(t, { config: { rateLimit: 100 } })
  const items = Array.from({ length: 20 }, () => ({ action: 'a', description: 'd' }))
  const batch = (await bot('POST', '/confirm/batch', { items })).body
  const many = await Promise.all(Array.from({ length: 20 }, () => ask(bot)))
  const statuses = [...batch.results.map(({ status_code }: any) => status_code), ...many.map(({ status }) => status)]
  t.equal(statuses.filter((status) => status === 202).length, 30)
  t.equal(statuses.filter((status) => status === 429).length, 10)
  t.match(await root('GET', '/confirm?status=pending&limit=100'), { body: { count: 30 } })
})

t.test('the limit of a rule goes first, also when it is larger; 0 is no limit', async (t) => {
  const rules = 'rules: [{ action: a, open_limit: 3 }, { action: "*" }]'
  const { bot } = await shared(t, { rules, config: { openLimit: 2 } })
  t.same(await askTimes(bot, 4), [202, 202, 202, 429])
  t.same(await askTimes(bot, 1, { action: 'b' }), [429])
  const free = await shared(t, { config: { openLimit: 0, rateLimit: 100 } })
  t.same(new Set(await askTimes(free.bot, 40)), new Set([202]))
})

t.test('without keys only a rule limits how many are open', async (t) => {
  const { submit } = await build(t, {
    config: { openLimit: 1 },
    rules: 'rules: [{ action: b, open_limit: 1 }, { action: "*" }]',
  })
  t.equal((await submit({ action: 'a', requester: 'r' })).status, 202)
  t.equal((await submit({ action: 'a', requester: 'r' })).status, 202)
  t.match(await submit({ action: 'b', requester: 'r' }), {
    status: 429,
    body: { code: 'too_many_open', share: 'open' },
  })
})

// -- the record

t.test('what one requester is refused fills no record: thirty a minute, then once that there is more', async (t) => {
  const { bot, other, root, clock, events } = await shared(t, { config: { rateLimit: 1, openLimit: 0 } })
  await ask(bot)
  const answers = [...(await askTimes(bot, 20))]
  const items = Array.from({ length: 30 }, () => ({ action: 'a', description: 'd' }))
  const { results } = (await bot('POST', '/confirm/batch', { items })).body
  answers.push(...results.map(({ status_code }: any) => status_code), ...(await askTimes(bot, 5)))
  t.same(answers, Array(55).fill(429), 'each is answered as before')
  const countOf = async (type: string) => (await events()).filter((event) => event.type === type).length
  t.equal(await countOf('rate_limited'), 30)
  t.match(
    (await events()).filter(({ type }) => type === 'rejected'),
    [{ actor: 'bot', data: { code: 'guess_limited', action: 'a' } }],
  )
  const { body } = await root('GET', '/metrics')
  t.match(body, 'holdpoint_submissions_total{outcome="rate_limited"} 55', 'all of them are counted')
  t.match(body, 'holdpoint_unrecorded_refusals_total{code="rate_limited"} 25')
  await ask(other)
  t.same(await askTimes(other, 1), [429])
  t.equal(await countOf('rate_limited'), 31, 'that of another is recorded')
  await clock.advance(60_000)
  await ask(bot)
  t.equal(await countOf('rate_limited'), 32)
})

t.test('nor does what is refused to those who decide, claim or give grants', async (t) => {
  const { bot, ann, root, events } = await shared(t, { config: { openLimit: 0 } })
  const { body } = await ask(bot)
  await ann('POST', `/confirm/${body.id}/approve`)
  await bot('POST', `/confirm/${body.id}/claim`, { digest: body.digest })
  for (let i = 0; i < 40; i++) {
    t.match(await bot('POST', `/confirm/${body.id}/claim`, { digest: body.digest }), { status: 409 })
    t.match(await ann('POST', '/whitelist', { action: 'delete_data' }), { status: 403, body: { code: 'high_risk' } })
  }
  const codes = (await events())
    .filter(({ type }) => type === 'rejected')
    .map(({ actor, data }) => `${actor} ${data.code}`)
  const counts = new Map<string, number>()
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1)
  t.same(Object.fromEntries(counts), {
    'bot already_claimed': 30,
    'bot guess_limited': 1,
    'ann high_risk': 30,
    'ann guess_limited': 1,
  })
  t.match((await root('GET', '/metrics')).body, 'holdpoint_unrecorded_refusals_total{code="already_claimed"} 10')
})

t.test('whatever one requester is refused, and where, there is one budget for it', async (t) => {
  const { bot, other, events } = await shared(t, { config: { rateLimit: 1 } })
  await ask(bot)
  const { body } = await ask(other)
  for (let i = 0; i < 20; i++) {
    await ask(bot)
    await bot('POST', '/whitelist', { action: 'a' })
    await bot('POST', `/confirm/${body.id}/claim`)
  }
  const refused = (await events()).filter(
    ({ type, actor }) => ['rejected', 'rate_limited'].includes(type) && actor === 'bot',
  )
  t.equal(refused.length, 31, 'thirty, and that there are more')
})

t.test('without keys all are one requester, whatever name they give', async (t) => {
  const { submit, events } = await build(t, { config: { rateLimit: 1 } })
  await submit()
  for (let i = 0; i < 40; i++) t.equal((await submit({ requester: `name-${i}` })).status, 429)
  t.equal((await events()).filter(({ type }) => type === 'rate_limited').length, 30)
})

// -- disk

const large = { details: { text: 'x'.repeat(200_000) } }
const day = 86_400_000

t.test('what one requester may fill in a day is bounded, and is there again when it has passed', async (t) => {
  const { bot, other, ann, clock, events } = await shared(t, { config: { diskLimit: 1, rateLimit: 100 } })
  const { body: first } = await ask(bot, { ...large, timeout_seconds: 3600 })
  t.equal((await ask(bot, large)).status, 202)
  const full = await ask(bot, large)
  t.match(full, {
    status: 429,
    body: { code: 'disk_limited', share: 'disk', error: /^bot has written what may be written in a day \(1 MiB\)/ },
  })
  t.equal(full.headers['retry-after'], String(full.body.retry_after_seconds))
  t.equal((await ask(bot)).status, 202, 'what is small still fits')
  t.equal((await ask(other, large)).status, 202, 'others have their own')
  t.equal((await ann('POST', `/confirm/${first.id}/deny`, { reason: 'x'.repeat(900) })).status, 200)
  t.match(
    (await events()).filter(({ type }) => type === 'rejected'),
    [{ actor: 'bot', data: { code: 'disk_limited', action: 'a' } }],
  )
  const room = full.body.retry_after_seconds * 1000
  t.ok(room >= day && room <= day + 3_600_000)
  await clock.advance(room - 1000)
  t.equal((await ask(bot, large)).status, 429)
  await clock.advance(1000)
  t.equal((await ask(bot, large)).status, 202)
})

t.test(
  'bytes add up in a batch, also of what the whitelist lets pass, and what was refused costs nothing',
  async (t) => {
    const { bot, root } = await shared(t, { config: { diskLimit: 1 } })
    await root('POST', '/whitelist', { action: 'free' })
    const items = ['free', 'a', 'free', 'a'].map((action) => ({ action, description: 'd', ...large }))
    const { results } = (await bot('POST', '/confirm/batch', { items: [...items, { action: 'b', description: 'd' }] }))
      .body
    t.same(
      results.map(({ status_code }: any) => status_code),
      [200, 202, 429, 429, 202],
    )
    t.match(results[2].body, { code: 'disk_limited', share: 'disk' })
    t.match(await ask(bot, { action: 'free', ...large }), { status: 429, body: { code: 'disk_limited' } })
  },
)

t.test(
  'what a requester adds to its requests counts too: reasons, reports and keys, which are never refused',
  async (t) => {
    const { bot, ann, other } = await shared(t, { config: { diskLimit: 1, rateLimit: 100, openLimit: 0 } })
    const long = 'x'.repeat(10_000)
    let written = 0
    const key = (n: number) => ({ 'idempotency-key': `${n}`.padEnd(255, 'k') })
    for (let n = 0; ; n++) {
      const { status, body } = await bot('POST', '/confirm', { action: 'a', description: 'd' }, key(n))
      if (status !== 202) {
        t.match(body, { code: 'disk_limited', share: 'disk' })
        break
      }
      written += 2 * long.length + 255
      if (n % 2 === 0) {
        t.equal((await bot('POST', `/confirm/${body.id}/cancel`, { reason: long })).status, 200)
        continue
      }
      await ann('POST', `/confirm/${body.id}/approve`)
      await bot('POST', `/confirm/${body.id}/claim`, { digest: body.digest })
      t.equal((await bot('POST', `/confirm/${body.id}/report`, { outcome: 'failed', message: long })).status, 200)
    }
    t.ok(written > 500_000 && written <= 1024 * 1024 + 2 * long.length, `${written} bytes of texts`)
    t.equal((await ask(other)).status, 202)
  },
)

t.test('long names count as often as they are kept', async (t) => {
  const { bot } = await shared(t, { config: { diskLimit: 1, openLimit: 0 } })
  let count = 0
  const names = { session_key: 's'.repeat(900), description: 'd' }
  while ((await bot('POST', '/confirm', { action: `${count}`.padEnd(900, 'a'), ...names })).status === 202) count += 1
  t.ok(count > 50 && count < (1024 * 1024) / (6 * 1800), `${count} of them`)
})

t.test('of many at once no more is written than may be, and a restart forgets none of it', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const newId = counter()
  const config = { diskLimit: 1, rateLimit: 100 }
  const first = await build(t, { dbPath, newId, config })
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => first.submit({ requester: `r${i}`, ...large })),
  )
  t.equal(answers.filter(({ status }) => status === 202).length, 2, 'without keys all are one')
  t.match(
    answers.find(({ status }) => status === 429),
    { body: { code: 'disk_limited', error: /^All together have written/ } },
  )
  await first.stop()
  const second = await build(t, { dbPath, newId, clock: manualClock(t0 + 60_000), config })
  t.equal((await second.submit(large)).status, 429)
  await second.stop()
  const free = await build(t, { dbPath, newId, clock: manualClock(t0 + 60_000), config: { ...config, diskLimit: 0 } })
  t.equal((await free.submit(large)).status, 202, '0 is no limit')
})
