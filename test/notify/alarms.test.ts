// Alarms against played chats: an operator is told, whatever breaks, and nobody else's messages wait for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Alarm, ChatName } from '../../src/core/model.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import { onThisThread } from '../../src/store/sqlite/writing.js'
import { isCommitted, type Store, StoreUnavailable } from '../../src/store/store.js'
import { alarmOf, raising } from '../alarm.js'
import { type Built, build, counter, giveKeys, manualClock, settled, t0, temporaryFolder, until } from '../support.js'
import { story, warnings, withBoth, withTelegram, written } from './chats.js'
import { refuse as telegramRefuses, startTelegram, tooMany as telegramBusy } from './fake-telegram.js'

const dayMs = 24 * 3600 * 1000

/** Raised now, with the first channel as the settings have it. */
async function raiseIn(
  { store, clock }: Pick<Built, 'store' | 'clock'>,
  fields: Partial<Alarm> = {},
  channel: ChatName | 'log' = 'telegram',
): Promise<Alarm> {
  const alarm = alarmOf({ createdAt: clock.now(), ...fields })
  if (!isCommitted(await store.commit(raising(alarm, channel)))) throw new Error('not committed')
  return alarm
}

/** The states of its deliveries, by channel. The log is left out where it was not told. */
async function statesOf({ store }: Pick<Built, 'store'>, { id }: Alarm): Promise<Record<string, string>> {
  const all = (await store.deliveries.of(id)).filter(({ channel, attempts }) => channel !== 'log' || attempts > 0)
  return Object.fromEntries(all.map(({ channel, state }) => [channel, state]))
}

async function untilStates(built: Built, alarm: Alarm, wanted: Record<string, string>): Promise<void> {
  const sorted = (of: object) => JSON.stringify(Object.entries(of).sort())
  await until(async () => sorted(await statesOf(built, alarm)) === sorted(wanted))
  await written(built)
}

/** Starts again on the same database. */
function restart(t: Test, { dbPath, clock }: Pick<Built, 'dbPath' | 'clock'>, config: object): Promise<Built> {
  return build(t, { dbPath, clock, newId: counter('late'), config })
}

// -- the way down: Telegram, Discord, the log --------------------------------------------------------------------------

t.test('an alarm reaches Telegram once, and is on record with its session and without a confirmation', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'sent' })
  await clock.advance(2 * dayMs)
  t.equal(telegram.messages.length, 1)
  t.equal(discord.calls.length, 0)
  t.match(telegram.messages[0]!.text, /^⛔ Session suspended\nSession: s-1\nRequester: bot\n/)
  t.same(await story(built), ['notified telegram sent'])
  const about = { alarm: 'session_suspended', alarm_id: alarm.id, requester: 'bot', session_key: 's-1' }
  t.match((await built.events()).at(-1), {
    type: 'notified',
    confirmation_id: null,
    actor: 'system:outbox',
    data: { state: 'sent', attempts: 1, ...about },
  })
  t.notOk('digest' in (await built.events()).at(-1).data)
  t.same(warnings(built, /./), [])
})

t.test('its events are found by session and requester, and belong to no confirmation', async (t) => {
  const built = await withTelegram(t)
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'sent' })
  await built.submit({ session_key: 's-1', requester: 'other' })
  const types = async (query: string) =>
    (await built.call('GET', `/audit/events?${query}`)).body.events.map(({ type }: { type: string }) => type)
  t.same(await types('session_key=s-1&type=notified&requester=bot'), ['notified'])
  t.same(await types(`confirmation_id=${alarm.id}`), [])
  t.equal((await built.call('GET', `/confirm/${alarm.id}`)).status, 404)
  const { body } = await built.call('GET', '/confirm/id-0001')
  t.same(
    body.deliveries.map(({ channel }: { channel: string }) => channel),
    ['log', 'telegram'],
    'and no confirmation shows its deliveries',
  )
  t.match((await built.call('GET', '/metrics')).body, 'holdpoint_pending 1')
  t.equal((await built.call('GET', '/health')).status, 200)
})

t.test('when Telegram is down, Discord is told', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  telegram.failAlways({ status: 502 })
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'superseded', discord: 'sent' })
  await clock.advance(120_000)
  t.equal(discord.messages.length, 1)
  t.equal(telegram.calls.length, 1)
  t.match(discord.messages[0], { nonce: /^[0-9a-f]{25}$/, embeds: [{ title: '⛔ Session suspended' }] })
  t.same(warnings(built, /suspended/), [], 'and the log is left alone')
})

t.test('when Telegram refuses the message, Discord is told', async (t) => {
  const built = await withBoth(t)
  built.telegram.failNext(telegramRefuses(400, 'no'))
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'failed', discord: 'sent' })
})

t.test('when both hang, the log is told after half a minute, and a chat that comes back later', async (t) => {
  const built = await withBoth(t, { config: { notifyTimeout: 120 } })
  const { telegram, discord, clock } = built
  let release = () => {}
  telegram.failNext(new Promise((resolve) => (release = resolve)))
  discord.failAlways('hang')
  const alarm = await raiseIn(built)
  await until(() => telegram.calls.length === 1)
  await clock.advance(29_999)
  t.same(await statesOf(built, alarm), { telegram: 'queued' })
  t.same(warnings(built, /suspended/), [])
  await clock.advance(1)
  await untilStates(built, alarm, { telegram: 'queued', discord: 'queued', log: 'sent' })
  await until(() => warnings(built, /suspended/).length > 0)
  await until(() => discord.calls.length === 1)
  release()
  await untilStates(built, alarm, { telegram: 'sent', discord: 'superseded', log: 'sent' })
  await clock.advance(120_000)
  t.equal(telegram.messages.length, 1)
  t.match(warnings(built, /suspended/), [
    {
      alarm_id: alarm.id,
      session_key: 's-1',
      requester: 'bot',
      why: 'nine denials in a row',
      command: 'holdpoint sessions resume s-1',
      msg:
        'session suspended, and no chat has taken the message: s-1 of bot: "nine denials in a row"; ' +
        'to resume it: "holdpoint sessions resume s-1"',
    },
  ])
})

t.test('when both fail, the log is told once, and the chats are tried until one takes it', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  telegram.failAlways({ status: 502 })
  discord.failAlways('reset')
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'retrying', discord: 'retrying', log: 'sent' })
  await until(async () => {
    await clock.advance(60_000)
    return telegram.calls.length > 3 && discord.calls.length > 3
  })
  discord.failAlways(null)
  await until(async () => {
    await clock.advance(60_000)
    return discord.messages.length > 0
  })
  await untilStates(built, alarm, { telegram: 'superseded', discord: 'sent', log: 'sent' })
  t.equal(discord.messages.length, 1)
  t.equal(warnings(built, /suspended/).length, 1)
})

t.test('chats that fail for a day are given up: the log has it by then', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  telegram.failAlways(telegramRefuses(502, 'Bad Gateway'))
  discord.failAlways('reset')
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'retrying', discord: 'retrying', log: 'sent' })
  const nextTry = async () => {
    const times = (await built.store.deliveries.of(alarm.id)).map(({ nextAt }) => nextAt ?? Infinity)
    return Math.min(...times)
  }
  while ((await nextTry()) < Infinity) {
    const attempts = () => telegram.calls.length + discord.calls.length
    const [before, last] = [attempts(), await nextTry()]
    await clock.advance(last - clock.now())
    await until(async () => attempts() > before && (await nextTry()) > last)
  }
  await untilStates(built, alarm, { telegram: 'failed', discord: 'failed', log: 'sent' })
  t.ok(clock.now() >= t0 + dayMs && clock.now() < t0 + 1.2 * dayMs)
  const tries = telegram.calls.length
  t.ok(tries > 50 && tries < 150, `after ${tries} tries, which leave few events`)
  telegram.failAlways(null)
  await clock.advance(dayMs)
  t.equal(telegram.calls.length, tries)
})

t.test('without a chat it is in the log at once', async (t) => {
  const built = await build(t)
  const alarm = await raiseIn(built, { sessionKey: '' }, 'log')
  t.match(warnings(built, /suspended/), [
    { alarm_id: alarm.id, msg: /^session suspended: the one without a key of bot: / },
  ])
  t.same(await statesOf(built, alarm), { log: 'sent' })
  t.same(await story(built), ['notified log sent'])
})

t.test('where its reason cannot be read any more, the line is still written', async (t) => {
  const built = await withTelegram(t, {
    wrapStore: (store) => {
      let reads = 0
      // The outbox reads it before each try and after it.
      const get: Store['alarms']['get'] = (id) =>
        (reads += 1) > 2 ? Promise.reject(new StoreUnavailable('gone')) : store.alarms.get(id)
      return { ...store, alarms: { get } }
    },
  })
  built.telegram.failAlways({ status: 502 })
  await raiseIn(built)
  await until(() => warnings(built, /suspended/).length > 0)
  t.match(warnings(built, /suspended/), [
    { session_key: 's-1', msg: 'session suspended, and no chat has taken the message: s-1 of bot' },
  ])
})

// -- trying again ------------------------------------------------------------------------------------------------------

t.test('429: it goes out after the pause that was asked for, and not before', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  telegram.failNext(telegramBusy(5))
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'retrying' })
  const second = await raiseIn(built, { id: alarmOf().id.replace('a1', 'a2') })
  await clock.advance(4999)
  t.equal(telegram.calls.length, 1, 'also the next one waits')
  await clock.advance(1)
  await untilStates(built, alarm, { telegram: 'sent' })
  await untilStates(built, second, { telegram: 'sent' })
  t.equal(discord.calls.length, 0)
})

t.test('429 with a long pause: Discord is told at once', async (t) => {
  const built = await withBoth(t)
  built.telegram.failNext(telegramBusy(31))
  const alarm = await raiseIn(built)
  await untilStates(built, alarm, { telegram: 'superseded', discord: 'sent' })
})

t.test("a thousand alarms of one requester do not hold up another's notice, nor an alarm about another", async (t) => {
  const built = await withTelegram(t)
  const { telegram, clock, store } = built
  const { calm } = await giveKeys(built, { hostile: 'agent', calm: 'agent' })
  telegram.failNext(telegramBusy(5))
  const id = (n: number) => alarmOf().id.replace(/.{4}$/, String(n).padStart(4, '0'))
  await Promise.all(
    Array.from({ length: 1000 }, (_, n) => raiseIn(built, { id: id(n), share: 'hostile', requester: 'hostile' })),
  )
  t.equal(await store.deliveries.countUndelivered(), 1000)
  await calm('POST', '/confirm', { action: 'send_mail', description: 'hello' })
  await raiseIn(built, { id: id(5000), share: 'third', requester: 'third' })
  await until(() => telegram.calls.length > 0)
  await clock.advance(5000)
  await until(() => telegram.messages.length >= 12)
  for (const name of ['calm', 'third']) {
    const place = telegram.messages.findIndex(({ text }) => text.includes(`Requester: ${name}`))
    t.ok(place >= 0 && place < 12, `${name} is told as number ${place + 1}`)
  }
  await built.stop()
})

// -- never lost --------------------------------------------------------------------------------------------------------

t.test('what is not committed is not told', async (t) => {
  const built = await withTelegram(t)
  const change = raising(alarmOf({ createdAt: t0 }), 'telegram')
  const outcome = await built.store.commit({ ...change, requires: [{ kind: 'before', at: t0 }] })
  t.notOk(isCommitted(outcome))
  await built.clock.advance(60_000)
  t.equal(await built.store.alarms.get(alarmOf().id), undefined)
  t.equal(built.telegram.calls.length, 0)
  t.same(warnings(built, /./), [])
})

t.test('what hung when the service stopped is sent after a restart, once', async (t) => {
  const first = await withBoth(t)
  const { telegram, discord } = first
  telegram.failNext('hang')
  const alarm = await raiseIn(first)
  await until(() => telegram.calls.length === 1)
  await first.stop()
  const second = await restart(t, first, { ...telegram.config, ...discord.config })
  await untilStates(second, alarm, { telegram: 'sent' })
  t.equal(telegram.messages.length, 1)
  await second.stop()
  const third = await restart(t, first, { ...telegram.config, ...discord.config })
  await third.clock.advance(60_000)
  t.equal(telegram.messages.length, 1, 'what was sent is not sent again')
  t.equal(discord.calls.length, 0)
})

/** Raises an alarm in a process of its own, which ends by kill -9 as soon as that is committed. */
const raiseAndDie = `
  const [url, path] = process.argv.slice(1)
  const { openSqliteStore } = await import(new URL('../../src/store/sqlite/sqlite.js', url))
  const { alarmOf, raising } = await import(new URL('../alarm.js', url))
  const store = openSqliteStore(path)
  await store.commit(raising(alarmOf({ createdAt: Date.UTC(2026, 0, 1) }), 'telegram'))
  process.kill(process.pid, 'SIGKILL')
`

t.test('what was committed right before kill -9 is sent by the next start, also days later', async (t) => {
  for (const days of [0, 3]) {
    const dbPath = join(temporaryFolder(t), 'test.db')
    const dying = spawn(process.execPath, ['--input-type=module', '-e', raiseAndDie, import.meta.url, dbPath])
    t.same(await once(dying, 'exit'), [null, 'SIGKILL'])
    const built = await withTelegram(t, { dbPath, clock: manualClock(t0 + days * dayMs) })
    await until(async () => (await statesOf(built, alarmOf())).telegram === 'sent')
    t.equal(built.telegram.messages.length, 1)
  }
})

t.test('after days without the service the log is told, and a chat that is down still gets its day', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const store = openSqliteStore(dbPath, onThisThread, () => t0)
  const alarm = alarmOf({ createdAt: t0 })
  await store.commit(raising(alarm, 'telegram'))
  await store.close()
  const telegram = await startTelegram(t)
  telegram.failAlways({ status: 500 })
  const built = await build(t, { dbPath, clock: manualClock(t0 + 3 * dayMs), config: telegram.config })
  await untilStates(built, alarm, { telegram: 'retrying', log: 'sent' })
  await until(() => warnings(built, /suspended/).length > 0)
  telegram.failAlways(null)
  await until(async () => {
    await built.clock.advance(60_000)
    return telegram.messages.length > 0
  })
  await untilStates(built, alarm, { telegram: 'sent', log: 'sent' })
  t.equal(warnings(built, /suspended/).length, 1)
})

t.test('a database that does not take the result does not make it be sent twice', async (t) => {
  let isFull = false
  const built = await withTelegram(t, {
    wrapStore: (store) => ({
      ...store,
      async commit(change) {
        if (isFull && change.events[0].type === 'notified') throw new StoreUnavailable('disk full')
        return store.commit(change)
      },
    }),
  })
  isFull = true
  const alarm = await raiseIn(built)
  await until(() => built.telegram.messages.length === 1)
  await built.clock.advance(5000)
  await settled()
  isFull = false
  await built.clock.advance(1000)
  await untilStates(built, alarm, { telegram: 'sent' })
  t.equal(built.telegram.calls.length, 1)
})

// -- hostile texts -----------------------------------------------------------------------------------------------------

t.test('hostile texts reach each chat and the log as text', async (t) => {
  const nasty = '</code><b>x</b> ``` @everyone\n\u202e\u001b[2J{"level":30}'
  const built = await withBoth(t)
  const { telegram, discord } = built
  const texts = { requester: nasty, sessionKey: nasty, reason: nasty, command: nasty, request: nasty }
  const first = await raiseIn(built, texts)
  await untilStates(built, first, { telegram: 'sent' })
  telegram.failAlways(telegramRefuses(401, 'Unauthorized'))
  const second = await raiseIn(built, { ...texts, id: first.id.replace('a1', 'a2') })
  await untilStates(built, second, { telegram: 'failed', discord: 'sent' })
  discord.failAlways({ status: 401, body: { message: 'no' } })
  await raiseIn(built, { ...texts, id: first.id.replace('a1', 'a3') })
  await until(() => warnings(built, /suspended/).length === 1)
  const { entities } = telegram.messages[0]!
  t.same(
    entities.flatMap(({ type }) => (type === 'b' ? [] : type)),
    ['code', 'code', 'pre', 'code', 'code'],
  )
  t.ok(entities.every(({ type, text }) => type !== 'b' || /^(⛔ |[A-Z][\w ]*:$)/.test(text)))
  for (const line of built.logged) {
    for (const value of Object.values(line)) t.notMatch(String(value), /[\n\u001b\u202e]/)
  }
})
