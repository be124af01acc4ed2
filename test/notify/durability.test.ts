// The outbox when things end or break: restarts, a database in trouble, a stop in the middle.
import t, { type Test } from 'tap'
import type { Delivery } from '../../src/core/model.js'
import { type Change, type Store, StoreUnavailable } from '../../src/store/store.js'
import { type Built, build, type BuildOptions, counter, giveKeys, settled, until } from '../support.js'
import { deliveries, states, untilStates, warnings, withBoth, withTelegram } from './chats.js'
import { startDiscord } from './fake-discord.js'
import { refuse as telegramRefuses, tooMany as telegramBusy } from './fake-telegram.js'

/** A store that can be made to fail, or to be slow, from outside. */
function troubled(): { wrapStore: (store: Store) => Store; before: { commit(change: Change): Promise<void> | void } } {
  const before = { commit: (_change: Change): Promise<void> | void => {} }
  return {
    before,
    wrapStore: (store) => ({
      ...store,
      async commit(change) {
        await before.commit(change)
        return store.commit(change)
      },
    }),
  }
}

const outage = () => {
  throw new StoreUnavailable('disk full')
}
const isNotify = ({ events }: Change) => events[0].type === 'notified' || events[0].type === 'notify_failed'

// -- restarts ----------------------------------------------------------------------------------------------------------

/** Starts again on the same database. */
function restart(t: Test, { dbPath, clock }: Built, config: BuildOptions['config'] = {}): Promise<Built> {
  return build(t, { dbPath, clock, newId: counter('late'), config: { notifyRate: 0, ...config } })
}

t.test('what was never sent is sent after a restart', async (t) => {
  const first = await withBoth(t)
  const { telegram, discord } = first
  telegram.failNext('hang')
  await first.submit()
  await until(() => telegram.calls.length === 1)
  await first.stop()
  const second = await restart(t, first, { ...telegram.config, ...discord.config })
  await untilStates(second, { telegram: 'sent' })
  t.equal(telegram.messages.length, 1)
  t.equal(discord.calls.length, 0)
  t.match(await deliveries(second), { telegram: { attempts: 1 } }, 'being stopped is no failure of the chat')
  t.same(warnings(first, /./), [])
})

t.test('what was sent is not sent again after a restart', async (t) => {
  const first = await withTelegram(t)
  await first.submit()
  await untilStates(first, { telegram: 'sent' })
  await first.stop()
  const second = await restart(t, first, first.telegram.config)
  await second.clock.advance(60_000)
  t.equal(first.telegram.calls.length, 1)
})

t.test('a retry keeps its time over a restart', async (t) => {
  const first = await withTelegram(t)
  const { telegram, clock } = first
  telegram.failNext(telegramBusy(20))
  await first.submit()
  await untilStates(first, { telegram: 'retrying' })
  await first.stop()
  const second = await restart(t, first, telegram.config)
  await clock.advance(19_999)
  t.equal(telegram.calls.length, 1)
  await clock.advance(1)
  await untilStates(second, { telegram: 'sent' })
})

t.test('what was resolved or lapsed before the restart is dropped', async (t) => {
  const first = await withTelegram(t)
  const { telegram, clock } = first
  telegram.failAlways('hang')
  await first.submit({ timeout_seconds: 3600 })
  await first.submit({ timeout_seconds: 30 })
  await until(() => telegram.calls.length === 2)
  await first.call('POST', '/confirm/id-0001/approve')
  await first.stop()
  await clock.advance(31_000)
  const second = await restart(t, first, telegram.config)
  await untilStates(second, { telegram: 'dropped' })
  await untilStates(second, { telegram: 'dropped' }, 'id-0002')
  t.equal(telegram.calls.length, 2)
})

t.test('a chat that was taken out of the settings passes its messages on', async (t) => {
  const first = await withBoth(t)
  const { telegram, discord } = first
  telegram.failAlways('hang')
  await first.submit()
  await until(() => telegram.calls.length === 1)
  await first.stop()
  const second = await restart(t, first, discord.config)
  await untilStates(second, { telegram: 'failed', discord: 'sent' })
  t.match(await deliveries(second), { telegram: { error: 'not configured' } })
  t.equal(telegram.calls.length, 1)
})

t.test('if the last chat was taken out, the log is told', async (t) => {
  const first = await withBoth(t)
  const { telegram, discord } = first
  telegram.failNext(telegramRefuses(401, 'Unauthorized'))
  discord.failAlways('hang')
  await first.submit()
  await until(() => discord.calls.length === 1)
  await first.stop()
  const second = await restart(t, first, telegram.config)
  await untilStates(second, { telegram: 'failed', discord: 'failed', log: 'sent' })
  await until(() => warnings(second, /confirmation needed/).length > 0)
  t.equal(warnings(second, /confirmation needed/).length, 1)
})

t.test('a restart in the middle of a long queue loses nothing, sends nothing twice, and keeps the turns', async (t) => {
  const first = await withTelegram(t, { config: { rateLimit: 100 } })
  const { telegram, clock } = first
  const { hostile, zoe } = await giveKeys(first, { hostile: 'agent', zoe: 'agent' })
  // Busy, then three messages, then nothing any more.
  telegram.failNext(telegramBusy(5), Promise.resolve(), Promise.resolve(), Promise.resolve())
  telegram.failAlways('hang')
  const ask = async (call: typeof zoe, n: number): Promise<string> =>
    (await call('POST', '/confirm', { action: 'send_mail', description: `number ${n}` })).body.id
  const ids: string[] = []
  for (let n = 0; n < 20; n++) ids.push(await ask(hostile, n))
  for (let n = 0; n < 3; n++) ids.push(await ask(zoe, n))
  await until(() => telegram.calls.length > 0)
  await clock.advance(5000)
  await until(() => telegram.messages.length === 3 && telegram.calls.length > 4)
  await first.stop()
  telegram.failAlways(null)
  const second = await restart(t, first, telegram.config)
  await until(() => telegram.messages.length >= 23)
  await until(async () => (await second.store.deliveries.countUndelivered()) === 0)
  const told = telegram.messages.map(({ text }) => /ID: (\S+)/.exec(text)![1]!)
  t.same([...told].sort(), [...ids].sort(), 'each once')
  const last = telegram.messages.findLastIndex(({ text }) => text.includes('Requester: zoe'))
  t.ok(last < 3 + 8, `the other agent's third message is number ${last + 1}, with three before the restart`)
})

// -- trouble with the database -----------------------------------------------------------------------------------------

t.test('while the database cannot take the result, the message is not sent twice', async (t) => {
  const { wrapStore, before } = troubled()
  const built = await withTelegram(t, { wrapStore })
  let refused = 0
  before.commit = (change) => {
    if (!isNotify(change)) return
    refused += 1
    outage()
  }
  await built.submit()
  await until(() => refused === 1)
  await built.clock.advance(1000)
  await until(() => refused >= 2)
  t.same(await states(built), { telegram: 'queued' })
  before.commit = () => {}
  await built.clock.advance(1000)
  await untilStates(built, { telegram: 'sent' })
  t.equal(built.telegram.calls.length, 1)
})

t.test('a result that never reached the database is sent again after a restart: at least once', async (t) => {
  const { wrapStore, before } = troubled()
  const discord = await startDiscord(t)
  const first = await build(t, { wrapStore, config: discord.config })
  before.commit = (change) => (isNotify(change) ? outage() : undefined)
  await first.submit()
  await until(() => discord.messages.length === 1)
  await first.stop()
  const second = await restart(t, first, discord.config)
  await untilStates(second, { discord: 'sent' })
  t.equal(discord.calls.length, 2)
  t.equal(discord.messages.length, 1, 'and Discord shows it once')
})

t.test('a database that cannot be read is asked again a second later', async (t) => {
  let outages = 2
  const built = await withTelegram(t, {
    wrapStore: (store) => ({
      ...store,
      deliveries: {
        ...store.deliveries,
        async due(...args) {
          if ((outages -= 1) >= 0) outage()
          return store.deliveries.due(...args)
        },
      },
    }),
  })
  await built.submit()
  await built.clock.advance(3000)
  await untilStates(built, { telegram: 'sent' })
  t.equal(built.telegram.calls.length, 1)
})

t.test('a delivery that another chat settled in the same moment is left as it is', async (t) => {
  const { wrapStore, before } = troubled()
  const built = await withTelegram(t, { wrapStore })
  built.telegram.failAlways({ status: 500 })
  await built.submit()
  await untilStates(built, { telegram: 'retrying', log: 'sent' })
  await built.call('POST', '/confirm/id-0001/approve')
  let drops = 0
  before.commit = async (change) => {
    const [write] = change.writes
    if (write?.kind !== 'delivery' || write.record.state !== 'dropped') return
    drops += 1
    if (drops > 1) return
    const rival: Delivery = { ...write.record, state: 'superseded' }
    before.commit = (later) => void (isNotify(later) && (drops += 1))
    await built.store.commit({ writes: [{ ...write, record: rival }], events: change.events })
    drops = 1
  }
  await built.clock.advance(1000)
  await untilStates(built, { telegram: 'superseded', log: 'sent' })
  await settled()
  t.equal(drops, 1, 'it is not tried for ever')
})

// -- the end -----------------------------------------------------------------------------------------------------------

t.test('stopping lets a running message finish, writes it down, and takes up nothing more', async (t) => {
  const built = await withTelegram(t)
  let release = () => {}
  built.telegram.failNext(new Promise((resolve) => (release = resolve)))
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  const stopping = built.stopSending(60_000)
  await built.submit()
  release()
  await stopping
  t.same(await states(built), { telegram: 'sent' })
  await built.clock.advance(10_000)
  t.same(await states(built, 'id-0002'), { telegram: 'queued' })
  t.equal(built.telegram.calls.length, 1)
})

/** A chat that took one message at once and hangs since; so many wait for it, of which some are made ready, each with a link. */
async function hanging(t: Test, count: number, options: BuildOptions = {}) {
  const config = { rateLimit: 1000, telegramMode: 'off' as const, ...options.config }
  const built = await withTelegram(t, { ...options, config })
  await built.submit()
  await untilStates(built, { telegram: 'sent' })
  let answer = () => {}
  const answered = new Promise<void>((resolve) => (answer = resolve))
  built.telegram.failNext(answered, answered, answered, answered)
  const items = Array.from({ length: count }, (_, n) => ({ action: 'noise', description: `number ${n}` }))
  await built.call('POST', '/confirm/batch', { items })
  await until(() => built.telegram.calls.length === 5)
  const linked = async () => (await built.store.events.list(0, 5000, { types: ['linked'] })).events.length
  await until(async () => (await linked()) > 5)
  return { ...built, answer, linked }
}

const toldOf = ({ messages }: { messages: { text: string }[] }) =>
  messages.map(({ text }) => /ID: (\S+)/.exec(text)![1]!)

t.test('however much is made ready ahead, no more than four messages are under way', async (t) => {
  const built = await hanging(t, 90)
  await settled()
  t.equal(built.telegram.calls.length, 5, 'one before, four that hang')
  t.ok((await built.linked()) < 1 + 70, 'and what is made ready is bounded')
  built.answer()
  await until(async () => (await built.store.deliveries.countUndelivered()) === 0)
  t.equal(new Set(toldOf(built.telegram)).size, 91)
  t.equal(built.telegram.calls.length, 91, 'each once')
})

t.test('what was made ready when it stops is given back untried, and sent after a restart', async (t) => {
  const first = await hanging(t, 60)
  const { telegram } = first
  await first.stop()
  t.equal(telegram.calls.length, 5)
  const second = await restart(t, first, telegram.config)
  await until(async () => (await second.store.deliveries.countUndelivered()) === 0)
  t.equal(new Set(toldOf(telegram)).size, 61)
  t.match(await deliveries(second, 'id-0061'), { telegram: { status: 'sent', attempts: 1 } })
})

t.test('what was made ready and leased when the process was killed is sent again by the next start', async (t) => {
  const first = await hanging(t, 60)
  const { telegram, store } = first
  // Killed: nothing is given back.
  store.deliveries.release = () => Promise.resolve()
  await first.stop()
  const second = await restart(t, first, telegram.config)
  await until(async () => (await second.store.deliveries.countUndelivered()) === 0)
  t.equal(new Set(toldOf(telegram)).size, 61)
})

t.test('what was made ready for a chat that then hangs has its turn anew, with a link that is new', async (t) => {
  const built = await hanging(t, 60, { config: { notifyTimeout: 60 } })
  const before = await built.linked()
  await built.clock.advance(5000)
  await built.call('POST', '/confirm/id-0061/deny')
  built.answer()
  await until(async () => (await built.store.deliveries.countUndelivered()) === 0)
  t.equal(built.telegram.calls.length, 60, 'what was decided meanwhile is not told')
  t.equal((await states(built, 'id-0061')).telegram, 'dropped')
  t.ok((await built.linked()) > Math.max(before, 60), 'more links than messages')
})

t.test('what was made ready when the chat turns busy waits untouched, and goes out afterwards', async (t) => {
  const built = await withTelegram(t, { config: { rateLimit: 1000 } })
  const { telegram, clock } = built
  await built.submit()
  await untilStates(built, { telegram: 'sent' })
  telegram.failNext(...Array.from({ length: 4 }, () => telegramBusy(5)))
  const items = Array.from({ length: 60 }, (_, n) => ({ action: 'noise', description: `number ${n}` }))
  await built.call('POST', '/confirm/batch', { items })
  await until(() => telegram.calls.length === 5)
  await settled()
  t.equal(telegram.calls.length, 5)
  const failed = async () => (await built.store.events.list(0, 5000, { types: ['notify_failed'] })).events
  await until(async () => (await failed()).length === 4)
  await clock.advance(5000)
  await until(async () => (await built.store.deliveries.countUndelivered()) === 0)
  t.equal(new Set(toldOf(telegram)).size, 61)
  t.equal((await failed()).length, 4, 'the others were not tried in vain, nor noted')
})

t.test('stopping does not wait longer than it may', async (t) => {
  const built = await withTelegram(t)
  built.telegram.failAlways('hang')
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  await built.stopSending(1)
  t.match(await deliveries(built), { telegram: { status: 'queued', attempts: 0, error: null } })
  const turn = { after: '', fullShares: [], fullDestinations: [] }
  t.match(
    await built.store.deliveries.due('telegram', built.clock.now(), 10, turn),
    [{ subjectId: 'id-0001' }],
    "what was called off is nobody's any more",
  )
})

t.test('stopping just as something falls due does not take it up', async (t) => {
  let release = () => {}
  let asked = 0
  const built = await withTelegram(t, {
    wrapStore: (store) => ({
      ...store,
      deliveries: {
        ...store.deliveries,
        async due(...args) {
          const due = await store.deliveries.due(...args)
          if (due.length > 0) {
            asked += 1
            await new Promise<void>((resolve) => (release = resolve))
          }
          return due
        },
      },
    }),
  })
  await built.submit()
  await until(() => asked === 1)
  const stopping = built.stopSending(60_000)
  release()
  await stopping
  await settled()
  t.equal(built.telegram.calls.length, 0)
  t.same(await states(built), { telegram: 'queued' })
})

t.test('stopping ends also while the database cannot be written', async (t) => {
  const { wrapStore, before } = troubled()
  const built = await withTelegram(t, { wrapStore })
  let tries = 0
  let fail = () => {}
  before.commit = async (change) => {
    if (!isNotify(change)) return
    tries += 1
    await new Promise<void>((resolve) => (fail = resolve))
    outage()
  }
  await built.submit()
  await until(() => tries === 1)
  const stopping = built.stopSending(0)
  await settled()
  fail()
  await stopping
  t.equal(tries, 1)
  t.equal(built.telegram.calls.length, 1)
})

t.test('stopping gives a result that could not be written one more try', async (t) => {
  const { wrapStore, before } = troubled()
  const built = await withTelegram(t, { wrapStore })
  let tries = 0
  before.commit = (change) => {
    if (isNotify(change) && (tries += 1) === 1) outage()
  }
  await built.submit()
  await until(() => tries === 1)
  await built.stopSending(0)
  t.same(await states(built), { telegram: 'sent' })
})
