// The outbox against played chats: who is told, when, how often, and what the record says about it.
import t from 'tap'
import { build, giveKeys, settled, until } from '../support.js'
import type { Reply } from './chat-server.js'
import { deliveries, states, story, untilStates, warnings, withBoth, withTelegram } from './chats.js'
import { refuse as discordRefuses, startDiscord, tooMany as discordBusy } from './fake-discord.js'
import { refuse as telegramRefuses, tooMany as telegramBusy } from './fake-telegram.js'

// -- the way down: Telegram, Discord, the log --------------------------------------------------------------------------

t.test('a submission reaches Telegram once, and Discord not at all', async (t) => {
  const built = await withBoth(t, { baseUrl: 'http://127.0.0.1:7777' })
  const { submit, telegram, discord, clock } = built
  await submit({ requester: 'deploy-bot' })
  await untilStates(built, { telegram: 'sent' })
  await clock.advance(120_000)
  t.equal(telegram.messages.length, 1)
  t.equal(discord.calls.length, 0)
  t.match(telegram.messages[0]!.text, 'Page: http://127.0.0.1:7777/view/id-0001')
  t.match(telegram.messages[0]!.text, 'Requester: deploy-bot')
  t.match(await deliveries(built), { telegram: { attempts: 1, next_attempt_at: null, error: null } })
  t.same(await story(built), ['notified telegram sent'])
  t.same(warnings(built, /./), [])
})

t.test('what a grant covers is not announced', async (t) => {
  const built = await withBoth(t)
  await built.call('POST', '/whitelist', { action: 'send_mail' })
  const { body } = await built.submit()
  t.equal(body.status, 'auto_approved')
  await settled()
  t.same(await states(built, body.id), {})
  t.equal(built.telegram.calls.length, 0)
})

t.test('a submission that is refused is not announced', async (t) => {
  const built = await withBoth(t, { config: { rateLimit: 1 } })
  await built.submit()
  t.equal((await built.submit()).status, 429)
  await untilStates(built, { telegram: 'sent' })
  await settled()
  t.equal(built.telegram.calls.length, 1)
})

t.test('without Telegram it is Discord that is told, by a bot or a webhook', async (t) => {
  for (const kind of ['config', 'webhookConfig'] as const) {
    const discord = await startDiscord(t)
    const built = await build(t, { config: discord[kind] })
    await built.submit()
    await untilStates(built, { discord: 'sent' })
    t.equal(discord.messages.length, 1)
    t.same(await story(built), ['notified discord sent'])
  }
})

t.test('Telegram without a chat is not configured', async (t) => {
  const built = await withBoth(t, { config: { telegramHomeChannel: undefined } })
  await built.submit()
  await untilStates(built, { discord: 'sent' })
  t.equal(built.telegram.calls.length, 0)
})

t.test('without any chat the log warns, naming the id, the action and where to look', async (t) => {
  const built = await build(t)
  await built.submit({ action: 'rm\n\u202e-rf', requester: 'x'.repeat(1000) })
  await untilStates(built, { log: 'sent' })
  const [line, ...more] = warnings(built, /confirmation needed/)
  t.same(more, [])
  t.match(line, {
    id: 'id-0001',
    action: 'rm\\n\\u{202e}-rf',
    requester: /^x+… \\\{cut: \d+ more characters\}$/,
    description: 'Send the newsletter',
    url: 'http://127.0.0.1:6000/view/id-0001',
    msg: /^confirmation needed: "rm.*"Send the newsletter"; see and decide it: http:\/\/127\.0\.0\.1:6000\/view\/id-0001$/,
  })
  t.same(await story(built), ['notified log sent'])
})

t.test('a chat that took the message leaves no warning in the log', async (t) => {
  const built = await withTelegram(t)
  await built.submit()
  await untilStates(built, { telegram: 'sent' })
  t.same(warnings(built, /confirmation needed/), [])
})

t.test('when Telegram refuses, Discord is told, and Telegram is not asked again', async (t) => {
  for (const status of [400, 401, 403, 404]) {
    const built = await withBoth(t)
    built.telegram.failNext(telegramRefuses(status, 'no'))
    await built.submit()
    await untilStates(built, { telegram: 'failed', discord: 'sent' })
    await built.clock.advance(120_000)
    t.equal(built.telegram.calls.length, 1, `${status} is not retried`)
    t.match(await deliveries(built), { telegram: { attempts: 1, next_attempt_at: null, error: `${status} no` } })
    t.same(await story(built), ['notify_failed telegram failed', 'notified discord sent'])
  }
})

t.test('when Telegram does not answer in time, Discord is told', async (t) => {
  const built = await withBoth(t, { config: { notifyTimeout: 2 } })
  built.telegram.failAlways('hang')
  await built.submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' })
  t.match(await deliveries(built), { telegram: { attempts: 1, error: 'no answer in time' } })
  t.same(await story(built), [
    'notify_failed telegram retrying',
    'notified discord sent',
    'notify_failed telegram superseded',
  ])
  await built.clock.advance(120_000)
  t.equal(built.telegram.calls.length, 1, 'one message is enough')
})

t.test('when Telegram and Discord both refuse, the log is told', async (t) => {
  const built = await withBoth(t)
  built.telegram.failAlways(telegramRefuses(401, 'Unauthorized'))
  built.discord.failAlways(discordRefuses(403, 'Missing Access', 50001))
  await built.submit()
  await untilStates(built, { telegram: 'failed', discord: 'failed', log: 'sent' })
  await until(() => warnings(built, /confirmation needed/).length > 0)
  t.equal(warnings(built, /confirmation needed/).length, 1)
  t.same(await story(built), ['notify_failed telegram failed', 'notify_failed discord failed', 'notified log sent'])
})

t.test('when no chat answers, the log is told once, and the chats are tried until one takes it', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  telegram.failAlways({ status: 502 })
  discord.failAlways('reset')
  await built.submit()
  await untilStates(built, { telegram: 'retrying', discord: 'retrying', log: 'sent' })
  for (const round of [1, 2, 4]) {
    const before = [telegram.calls.length, discord.calls.length]
    await clock.advance(round * 1000)
    await until(() => telegram.calls.length > before[0]! && discord.calls.length > before[1]!)
    await until(async () => {
      const now = await deliveries(built)
      return now.telegram.attempts === telegram.calls.length && now.discord.attempts === discord.calls.length
    })
  }
  discord.failAlways(null)
  await clock.advance(60_000)
  await untilStates(built, { telegram: 'superseded', discord: 'sent', log: 'sent' })
  t.equal(discord.messages.length, 1)
  await until(() => warnings(built, /confirmation needed/).length > 0)
  t.equal(warnings(built, /confirmation needed/).length, 1)
})

// -- trying again ------------------------------------------------------------------------------------------------------

t.test('429: the message goes out after the pause that was asked for, and not before', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock, submit } = built
  telegram.failNext(telegramBusy(5))
  await submit()
  await untilStates(built, { telegram: 'retrying' })
  t.match(await deliveries(built), { telegram: { attempts: 1, next_attempt_at: (clock.now() + 5000) / 1000 } })
  await submit()
  await clock.advance(4999)
  t.equal(telegram.calls.length, 1, 'also the next message waits')
  await clock.advance(1)
  await untilStates(built, { telegram: 'sent' })
  await untilStates(built, { telegram: 'sent' }, 'id-0002')
  t.equal(telegram.calls.length, 3)
  t.equal(discord.calls.length, 0)
  t.same(warnings(built, /./), [], 'that is no trouble')
})

t.test('429 with a long pause: Discord is told at once, and Telegram left alone', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock, submit } = built
  telegram.failNext(telegramBusy(64.5707))
  await submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' })
  await submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' }, 'id-0002')
  t.match(await deliveries(built, 'id-0002'), { telegram: { attempts: 0, error: 'not tried: busy' } })
  await clock.advance(64_570)
  t.equal(telegram.calls.length, 1)
  await clock.advance(1)
  await submit()
  await untilStates(built, { telegram: 'sent' }, 'id-0003')
  t.equal(discord.messages.length, 2)
})

t.test('429 again and again: after half a minute Discord is told', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock, submit } = built
  telegram.failAlways(telegramBusy(12))
  await submit()
  await untilStates(built, { telegram: 'retrying' })
  await clock.advance(12_000)
  await until(async () => (await deliveries(built)).telegram.attempts === 2)
  t.equal(discord.calls.length, 0)
  await clock.advance(12_000)
  await untilStates(built, { telegram: 'superseded', discord: 'sent' })
  t.equal(telegram.calls.length, 3)
})

t.test('a queue behind a busy Telegram is not waited for longer than half a minute either', async (t) => {
  const built = await withBoth(t)
  const { telegram, clock, submit } = built
  telegram.failAlways(telegramBusy(20))
  await submit()
  await untilStates(built, { telegram: 'retrying' })
  await submit()
  await clock.advance(20_000)
  await untilStates(built, { telegram: 'superseded', discord: 'sent' })
  await untilStates(built, { telegram: 'superseded', discord: 'sent' }, 'id-0002')
})

t.test('a chat that was busy gets one message at a time for a minute', async (t) => {
  const built = await withTelegram(t, { config: { rateLimit: 100 } })
  const { telegram, clock, submit } = built
  telegram.failNext(telegramBusy(1))
  await submit()
  await untilStates(built, { telegram: 'retrying' })
  telegram.failAlways('hang')
  for (let n = 0; n < 10; n++) await submit()
  await clock.advance(1000)
  await until(() => telegram.calls.length > 1)
  await settled()
  t.equal(telegram.calls.length, 2)
})

t.test('what is in the log waits for a busy chat in silence', async (t) => {
  const built = await withTelegram(t, { config: { rateLimit: 100 } })
  const { telegram, clock, submit } = built
  telegram.failAlways(telegramBusy(40))
  for (let n = 0; n < 10; n++) await submit({ timeout_seconds: 3600 })
  await untilStates(built, { telegram: 'retrying', log: 'sent' }, 'id-0010')
  const failures = async () => (await story(built)).filter((one) => one.startsWith('notify_failed')).length
  const before = await failures()
  for (let n = 1; n <= 5; n++) {
    const { length } = telegram.calls
    await clock.advance(40_000)
    await until(() => telegram.calls.length > length)
    await until(async () => (await failures()) === before + n)
  }
  t.equal(await failures(), before + 5, 'one try for each pause')
})

t.test('429 on Discord is honoured as well', async (t) => {
  const discord = await startDiscord(t)
  const built = await build(t, { config: discord.config })
  discord.failNext(discordBusy(2.5))
  await built.submit()
  await untilStates(built, { discord: 'retrying' })
  await built.clock.advance(2499)
  t.equal(discord.calls.length, 1)
  await built.clock.advance(1)
  await untilStates(built, { discord: 'sent' })
})

t.test('5xx: tried again with growing pauses, and on record each time', async (t) => {
  const built = await withTelegram(t)
  const { telegram, clock } = built
  telegram.failNext({ status: 500 }, { status: 503 }, 'reset')
  await built.submit()
  for (const [index, pause] of [1000, 2000, 4000].entries()) {
    await until(async () => (await deliveries(built)).telegram.attempts === index + 1)
    t.equal((await deliveries(built)).telegram.next_attempt_at, (clock.now() + pause) / 1000)
    await clock.advance(pause - 1)
    t.equal(telegram.calls.length, index + 1)
    await clock.advance(1)
  }
  await untilStates(built, { telegram: 'sent', log: 'sent' })
  t.match(await deliveries(built), { telegram: { attempts: 4, error: null } })
  t.same(await story(built), [
    'notify_failed telegram retrying',
    'notified log sent',
    'notify_failed telegram retrying',
    'notify_failed telegram retrying',
    'notified telegram sent',
  ])
  t.equal(warnings(built, /does not answer/).length, 1, 'said once')
  t.equal(built.logged.filter(({ msg }) => msg === 'telegram takes messages again').length, 1)
})

t.test('messages that fail together count as one failure: the next try is a second away', async (t) => {
  const built = await withTelegram(t)
  const { telegram, clock, submit } = built
  telegram.failNext(...Array.from({ length: 4 }, () => ({ status: 500 })))
  await Promise.all([submit(), submit(), submit(), submit()])
  const ids = ['id-0001', 'id-0002', 'id-0003', 'id-0004']
  for (const id of ids) await untilStates(built, { telegram: 'retrying', log: 'sent' }, id)
  await clock.advance(1000)
  await until(() => telegram.messages.length > 0)
  await clock.advance(1000)
  for (const id of ids) await untilStates(built, { telegram: 'sent', log: 'sent' }, id)
})

t.test('while Telegram is down, the next submissions go to Discord without trying it', async (t) => {
  const built = await withBoth(t)
  const { telegram, clock, submit } = built
  telegram.failNext({ status: 500 })
  await submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' })
  await clock.advance(999)
  await submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' }, 'id-0002')
  t.equal(telegram.calls.length, 1)
  t.match(await deliveries(built, 'id-0002'), { telegram: { attempts: 0, error: 'not tried: 500 without a reason' } })
  await clock.advance(1)
  await submit()
  await untilStates(built, { telegram: 'sent' }, 'id-0003')
})

t.test('a decision ends the tries', async (t) => {
  const built = await withTelegram(t)
  const { telegram, clock, call } = built
  telegram.failAlways({ status: 500 })
  await built.submit()
  await untilStates(built, { telegram: 'retrying', log: 'sent' })
  await call('POST', '/confirm/id-0001/approve')
  await clock.advance(1000)
  await untilStates(built, { telegram: 'dropped', log: 'sent' })
  await clock.advance(120_000)
  t.equal(telegram.calls.length, 1)
  t.match(await deliveries(built), { telegram: { next_attempt_at: null, error: 'resolved before it could be sent' } })
  t.equal((await story(built)).at(-1), 'notify_failed telegram dropped')
})

t.test('so does the deadline', async (t) => {
  const built = await withTelegram(t)
  const { telegram, clock } = built
  telegram.failAlways(telegramBusy(40))
  await built.submit({ timeout_seconds: 30 })
  await untilStates(built, { telegram: 'retrying', log: 'sent' })
  await clock.advance(40_000)
  await untilStates(built, { telegram: 'dropped', log: 'sent' })
  await clock.advance(120_000)
  t.equal(telegram.calls.length, 1)
})

t.test('a decision while a message is under way: if it fails, nobody else is told', async (t) => {
  const built = await withTelegram(t)
  let fail = (_reply: Reply) => {}
  built.telegram.failNext(new Promise((resolve) => (fail = resolve)))
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  await built.call('POST', '/confirm/id-0001/deny')
  fail({ status: 500 })
  await untilStates(built, { telegram: 'dropped' })
  t.same(warnings(built, /confirmation needed/), [])
})

t.test('a decision while a message is under way: if it goes out, that is on record', async (t) => {
  const built = await withTelegram(t)
  let release = () => {}
  built.telegram.failNext(new Promise((resolve) => (release = resolve)))
  await built.submit()
  await until(() => built.telegram.calls.length === 1)
  await built.call('POST', '/confirm/id-0001/deny')
  release()
  await untilStates(built, { telegram: 'sent' })
})

// -- refusals are said once --------------------------------------------------------------------------------------------

t.test('a wrong token is said once, tried rarely, and noticed when it is right again', async (t) => {
  const built = await withBoth(t)
  const { telegram, clock, submit } = built
  telegram.failAlways(telegramRefuses(401, 'Unauthorized'))
  await submit()
  await untilStates(built, { telegram: 'failed', discord: 'sent' })
  for (const id of ['id-0002', 'id-0003']) {
    await submit()
    await untilStates(built, { telegram: 'superseded', discord: 'sent' }, id)
  }
  t.equal(telegram.calls.length, 1, 'three submissions, one call')
  t.match(await deliveries(built, 'id-0003'), { telegram: { attempts: 0, error: 'not tried: 401 Unauthorized' } })
  await clock.advance(30_000)
  await submit()
  await untilStates(built, { telegram: 'failed', discord: 'sent' }, 'id-0004')
  t.equal(telegram.calls.length, 2)
  t.match(warnings(built, /telegram refuses us/), [{ channel: 'telegram', error: '401 Unauthorized' }])
  t.equal(warnings(built, /./).length, 1)
  telegram.failAlways(null)
  await clock.advance(30_000)
  await submit()
  await untilStates(built, { telegram: 'sent' }, 'id-0005')
  t.equal(built.logged.filter(({ msg }) => msg === 'telegram takes messages again').length, 1)
})

t.test('a refusal is said even if other failures came before it', async (t) => {
  const built = await withTelegram(t)
  built.telegram.failNext({ status: 500 }, telegramRefuses(403, 'Forbidden: bot was kicked'))
  await built.submit()
  await untilStates(built, { telegram: 'retrying', log: 'sent' })
  await built.clock.advance(1000)
  await untilStates(built, { telegram: 'failed', log: 'sent' })
  t.match(warnings(built, /telegram refuses us/), [{ error: '403 Forbidden: bot was kicked' }])
})

t.test('an unknown chat is said once, not with every message', async (t) => {
  const built = await withBoth(t, { config: { telegramHomeChannel: '@nobody' } })
  await built.submit()
  await untilStates(built, { telegram: 'failed', discord: 'sent' })
  await built.submit()
  await untilStates(built, { telegram: 'superseded', discord: 'sent' }, 'id-0002')
  t.equal(built.telegram.calls.length, 1)
  t.equal(warnings(built, /./).length, 1)
})

t.test('what was not tried during the pause after a refusal is tried when it is over', async (t) => {
  const built = await withTelegram(t)
  built.telegram.failNext(telegramRefuses(401, 'Unauthorized'))
  await built.submit()
  await untilStates(built, { telegram: 'failed', log: 'sent' })
  await built.submit()
  await untilStates(built, { telegram: 'retrying', log: 'sent' }, 'id-0002')
  t.equal(built.telegram.calls.length, 1)
  await built.clock.advance(30_000)
  await untilStates(built, { telegram: 'sent', log: 'sent' }, 'id-0002')
})

t.test('a message that is refused for itself does not speak against the next', async (t) => {
  const built = await withBoth(t)
  built.telegram.failNext(telegramRefuses(400, "Bad Request: can't parse entities"))
  await built.submit()
  await untilStates(built, { telegram: 'failed', discord: 'sent' })
  await built.submit()
  await untilStates(built, { telegram: 'sent' }, 'id-0002')
})

t.test('a webhook that is gone is never called again', async (t) => {
  const discord = await startDiscord(t)
  const built = await build(t, { config: discord.webhookConfig })
  discord.failAlways(discordRefuses(404, 'Unknown Webhook', 10015))
  await built.submit()
  await untilStates(built, { discord: 'failed', log: 'sent' })
  await built.clock.advance(3_000_000)
  await built.submit()
  await untilStates(built, { discord: 'failed', log: 'sent' }, 'id-0002')
  t.equal(discord.calls.length, 1)
})

t.test('no token is found in the log, the deliveries or the events, whatever goes wrong', async (t) => {
  const built = await withBoth(t)
  const { telegram, discord, clock } = built
  const path = `/bot${telegram.botToken}/sendMessage`
  telegram.failNext({ status: 500, body: path }, 'reset', telegramRefuses(502, `bad gateway ${path}`))
  telegram.failAlways(telegramRefuses(401, `Unauthorized ${path}`))
  discord.failNext('reset', discordRefuses(500, `Bot ${discord.botToken}`))
  discord.failAlways(discordRefuses(401, `401: Unauthorized Bot ${discord.botToken}`))
  await built.submit({ timeout_seconds: 3600 })
  await until(async () => {
    await clock.advance(1000)
    return (await built.store.deliveries.countUndelivered()) === 0
  })
  t.same(await states(built), { telegram: 'failed', discord: 'failed', log: 'sent' })
  const said = JSON.stringify([built.logged, await deliveries(built), await built.events()])
  t.match(said, '[token]')
  for (const token of [telegram.botToken, discord.botToken]) t.notOk(said.includes(token))
})

// -- submissions never wait --------------------------------------------------------------------------------------------

t.test('a submission is answered while the chat hangs, and so are all after it', async (t) => {
  const built = await withBoth(t, { config: { rateLimit: 100 } })
  built.telegram.failAlways('hang')
  for (let i = 0; i < 10; i++) t.equal((await built.submit()).status, 202)
  await until(() => built.telegram.calls.length === 4)
  await settled()
  t.equal(built.telegram.calls.length, 4, 'no more at once than that')
  t.same(await states(built), { telegram: 'queued' })
})

t.test('many submissions at once all go out, each once', async (t) => {
  const built = await withTelegram(t, { config: { rateLimit: 100 } })
  await Promise.all(Array.from({ length: 30 }, () => built.submit()))
  await until(() => built.telegram.messages.length >= 30)
  await until(async () => (await built.store.deliveries.countUndelivered()) === 0)
  const ids = built.telegram.messages.map(({ text }) => /ID: (\S+)/.exec(text)![1])
  t.equal(new Set(ids).size, 30)
  t.equal(built.telegram.calls.length, 30)
})

t.test('an agent that asks a lot does not bury what another asks: the chat is told in turns', async (t) => {
  const built = await withTelegram(t, { config: { rateLimit: 100 } })
  const { hostile, calm } = await giveKeys(built, { hostile: 'agent', calm: 'agent' })
  built.telegram.failNext(telegramBusy(5))
  const ask = (call: typeof calm, n: number) =>
    call('POST', '/confirm', { action: 'send_mail', description: `number ${n}` })
  for (let n = 0; n < 20; n++) t.equal((await ask(hostile, n)).status, 202)
  t.equal((await ask(calm, 0)).status, 202)
  await until(() => built.telegram.calls.length > 0)
  await built.clock.advance(5000)
  await until(() => built.telegram.messages.length === 21)
  const place = built.telegram.messages.findIndex(({ text }) => text.includes('Requester: calm'))
  t.ok(place >= 0 && place < 8, `the last that was asked is told as number ${place + 1}`)
})
