// Nobody's request ends untold in silence: the log is told while there is time, and an expiry that nobody was told of says so.
import t from 'tap'
import { StoreUnavailable } from '../../src/store/store.js'
import { type Built, build, counter, t0, until } from '../support.js'
import { deliveries, states, untilStates, warnings, withBoth, withTelegram, written } from './chats.js'
import { startTelegram, tooMany } from './fake-telegram.js'

const errors = ({ logged }: Pick<Built, 'logged'>) => logged.filter(({ level }) => level === 50)
const expiries = async ({ events }: Pick<Built, 'events'>) =>
  (await events()).filter(({ type }) => type === 'expired').map(({ data }) => data.told_at)
const untoldCount = async ({ call }: Pick<Built, 'call'>) =>
  /^holdpoint_expired_untold_total (\d+)$/m.exec((await call('GET', '/metrics')).body)?.[1]

// -- in time -----------------------------------------------------------------------------------------------------------

t.test('when a chat hangs, the log is told after a quarter of the time, and after half a minute at most', async (t) => {
  for (const [timeout_seconds, seconds] of [
    [30, 7.5],
    [60, 15],
    [120, 30],
    [3600, 30],
  ] as const) {
    const built = await withTelegram(t, { config: { notifyTimeout: 120 } })
    built.telegram.failAlways('hang')
    await built.submit({ timeout_seconds })
    await until(() => built.telegram.calls.length === 1)
    await built.clock.advance(seconds * 1000 - 1)
    t.same(await states(built), { telegram: 'queued' })
    t.same(warnings(built, /confirmation needed/), [])
    await built.clock.advance(1)
    await untilStates(built, { telegram: 'queued', log: 'sent' })
    t.match(await built.call('GET', '/confirm/id-0001'), { body: { told_at: t0 / 1000 + seconds } })
    await until(() => warnings(built, /confirmation needed, and no chat has taken the message/).length === 1)
    await built.clock.advance(29_000)
    t.equal(warnings(built, /confirmation needed/).length, 1, 'once')
  }
})

t.test('so it is for those who wait behind four that hang', async (t) => {
  const built = await withTelegram(t, { config: { notifyTimeout: 120, rateLimit: 100 } })
  built.telegram.failAlways('hang')
  for (let n = 0; n < 20; n++) await built.submit({ timeout_seconds: 60 })
  await until(() => built.telegram.calls.length === 4)
  await built.clock.advance(15_000)
  for (let n = 1; n <= 20; n++)
    await untilStates(built, { telegram: 'queued', log: 'sent' }, `id-${String(n).padStart(4, '0')}`)
})

t.test('when the first chat hangs, the next one is asked as well', async (t) => {
  const built = await withBoth(t, { config: { notifyTimeout: 120 } })
  built.telegram.failAlways('hang')
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  await built.clock.advance(30_000)
  await untilStates(built, { telegram: 'superseded', discord: 'sent', log: 'sent' })
})

t.test('a chat that takes the message in time leaves the log alone, and the record says when', async (t) => {
  const built = await withTelegram(t)
  built.telegram.failNext(tooMany(5))
  await built.submit()
  await untilStates(built, { telegram: 'retrying' })
  t.match(await built.call('GET', '/confirm/id-0001'), { body: { told_at: null, told_at_iso: null } })
  await built.clock.advance(5000)
  await untilStates(built, { telegram: 'sent' })
  await built.clock.advance(100_000)
  const { body } = await built.call('GET', '/confirm/id-0001')
  t.match(body, { told_at: t0 / 1000 + 5, told_at_iso: '2026-01-01T00:00:05.000Z' })
  t.match(body.deliveries, [
    { channel: 'log', status: 'superseded', attempts: 0 },
    { channel: 'telegram', status: 'sent' },
  ])
  t.same(warnings(built, /./), [])
  t.match(await built.call('GET', '/audit'), { body: { entries: [{ told_at: t0 / 1000 + 5 }] } })
})

t.test('a chat that is busy for longer than there is time is not waited for', async (t) => {
  const built = await withTelegram(t)
  built.telegram.failAlways(tooMany(30))
  await built.submit({ timeout_seconds: 30 })
  await untilStates(built, { telegram: 'retrying', log: 'sent' })
})

t.test('what is decided before the log is due is not in the log', async (t) => {
  const built = await withTelegram(t, { config: { notifyTimeout: 120 } })
  built.telegram.failAlways('hang')
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  await built.call('POST', '/confirm/id-0001/approve')
  await built.clock.advance(30_000)
  await written(built)
  t.same(warnings(built, /confirmation needed/), [])
  t.match((await built.call('GET', '/confirm/id-0001')).body.deliveries, [{ channel: 'log', status: 'dropped' }, {}])
})

// -- too late ----------------------------------------------------------------------------------------------------------

t.test('what expires before anyone was told is an error in the log, in the record and in the metrics', async (t) => {
  const first = await withTelegram(t)
  const { telegram, clock, dbPath } = first
  telegram.failAlways('hang')
  await first.submit({
    timeout_seconds: 30,
    action: 'pay\u202e',
    description: 'x\n"y',
    requester: 'bot, asked by root',
  })
  await until(() => telegram.calls.length === 1)
  await first.stop()
  await clock.advance(60_000)
  const second = await build(t, { dbPath, clock, newId: counter('late'), config: telegram.config })
  t.same(await expiries(second), [null])
  t.match(errors(second), [
    {
      id: 'id-0001',
      action: 'pay\\u{202e}',
      requester: 'bot, asked by root',
      msg: 'expired before anyone was told: "pay\\u{202e}", asked by "bot, asked by root": "x\\n\\"y"; id-0001',
    },
  ])
  t.equal(second.logged.filter(({ level, msg }) => Number(level) >= 30 && /expired/.test(String(msg))).length, 1)
  t.equal(await untoldCount(second), '1')
  t.match(await second.call('GET', '/confirm/id-0001'), { body: { status: 'expired', told_at: null } })
  t.match(await second.call('GET', '/audit'), { body: { entries: [{ id: 'id-0001', told_at: null }] } })
  t.equal(telegram.messages.length, 0)
})

t.test('what expires after somebody was told is no error', async (t) => {
  const built = await withTelegram(t)
  await built.submit({ timeout_seconds: 30 })
  await untilStates(built, { telegram: 'sent' })
  await built.clock.advance(30_000)
  t.same(await expiries(built), [t0 / 1000])
  t.same(errors(built), [])
  t.equal(await untoldCount(built), '0')
})

t.test('without a chat the log is told at once, and that counts', async (t) => {
  const built = await build(t)
  await built.submit({ timeout_seconds: 30 })
  await built.clock.advance(30_000)
  t.same(await expiries(built), [t0 / 1000])
  t.same(errors(built), [])
})

t.test('a message that arrives when it is over told nobody', async (t) => {
  // Until the deadline nothing can be written but by who asks.
  let isStuck = true
  const built = await withTelegram(t, {
    wrapStore: (store) => ({
      ...store,
      deliveries: {
        ...store.deliveries,
        claim(keys, ...args) {
          if (keys.some(({ channel }) => channel === 'log') && isStuck) throw new StoreUnavailable('stuck')
          return store.deliveries.claim(keys, ...args)
        },
      },
    }),
  })
  let release = () => {}
  built.telegram.failNext(new Promise((resolve) => (release = resolve)))
  await built.submit({ timeout_seconds: 30 })
  await until(() => built.telegram.calls.length === 1)
  await built.clock.advance(30_000)
  t.same(await expiries(built), [null])
  release()
  await untilStates(built, { telegram: 'sent' })
  isStuck = false
  await built.clock.advance(10_000)
  t.match(await built.call('GET', '/confirm/id-0001'), { body: { status: 'expired', told_at: null } })
  t.equal(errors(built).length, 1)
})

t.test('a disk that is full for the whole life of a request is no excuse', async (t) => {
  let isFull = false
  const built = await withTelegram(t, {
    wrapStore: (store) => {
      const refuse =
        <A extends unknown[], R>(run: (...args: A) => R) =>
        (...args: A): R => {
          if (isFull) throw new StoreUnavailable('disk full')
          return run(...args)
        }
      const { claim, ...deliveries } = store.deliveries
      return { ...store, commit: refuse(store.commit), deliveries: { ...deliveries, claim: refuse(claim) } }
    },
  })
  built.telegram.failAlways(tooMany(5))
  await built.submit({ timeout_seconds: 30 })
  await untilStates(built, { telegram: 'retrying' })
  isFull = true
  await built.clock.advance(40_000)
  t.same(await expiries(built), [])
  isFull = false
  await built.clock.advance(2000)
  t.same(await expiries(built), [null])
  t.equal(errors(built).length, 1)
  t.match(await deliveries(built), { telegram: { status: 'dropped' } })
})

t.test('a listing shows an expiry that is not on record yet; once it is, it is told as any other', async (t) => {
  const telegram = await startTelegram(t)
  const built = await build(t, { config: { ...telegram.config, notifyTimeout: 120 } })
  telegram.failAlways('hang')
  await built.submit({ timeout_seconds: 30 })
  await until(() => telegram.calls.length === 1)
  await built.stopSending(0)
  await built.service.stop()
  await built.clock.advance(60_000)
  t.same(await expiries(built), [])
  t.match(await built.call('GET', '/audit'), { body: { entries: [{ status: 'expired' }] } })
  t.same(await expiries(built), [])
  t.equal(await built.service.sweep(), 1)
  t.same(await expiries(built), [null])
  t.equal(errors(built).length, 1)
  t.equal(await untoldCount(built), '1')
})
