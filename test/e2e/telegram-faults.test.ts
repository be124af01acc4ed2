// Telegram with the started program, where something fails: crashes, outages, too many requests; and presses that come by the
// webhook.
import { join } from 'node:path'
import t from 'tap'
import { command } from '../cli/command.js'
import { startTelegram, type TelegramMessage, tooMany } from '../notify/fake-telegram.js'
import { caller, run, start } from './program.js'
import {
  ask,
  dataOf,
  eventually,
  envOf,
  isTitled,
  labelsOf,
  maria,
  next,
  statusOf,
  titleOf,
  tom,
  typed,
  withTelegram,
} from './telegram.js'

// -- crashes, outages and storms -----------------------------------------------------------------------------------------

t.test(
  'kill -9 between the press and the edit: what was decided stands, and is shown and asked after the restart',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    const { id, message } = await ask(both)
    const asked = await ask(both, { action: 'tag' })
    await telegram.press(asked.message, 'Approve', maria)
    await isTitled(asked.message, /Are you sure/)
    telegram.failAlwaysOf('editMessageText', 'hang')
    telegram.failAlways('hang')
    t.match(await telegram.press(message, 'Deny', maria), { text: 'Denied.' })
    t.equal((await statusOf(program, id)).status, 'denied')
    await program.crash()
    t.equal(titleOf(message), '🔔 Confirmation needed')
    telegram.failAlwaysOf('editMessageText', null)
    telegram.failAlways(null)

    const again = await start(t, { dbPath: program.dbPath, env: envOf(telegram) })
    await isTitled(message, /❌ Denied/)
    t.same(message.buttons, [])
    const prompt = await next(telegram, 2)
    t.match(prompt, { replyTo: message.id, forceReply: { selective: true } })
    await isTitled(asked.message, /Confirmation needed/)
    await telegram.press(asked.message, 'Deny', tom)
    t.match(await statusOf(again, asked.id), { status: 'denied', resolved_by: 'telegram:12' })
    t.equal((await typed(again, 'denied', id)).length, 1, 'the press that was redelivered decided nothing twice')
  },
)

t.test(
  'a restart shows what happened elsewhere while a message could not be edited; one that is gone is no trouble',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    const [one, gone] = [await ask(both), await ask(both, { action: 'gone' })]
    telegram.failAlwaysOf('editMessageText', { status: 503, body: '' })
    telegram.remove(gone.message)
    for (const { id } of [one, gone]) await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob' })
    await program.stop()
    t.equal(titleOf(one.message), '🔔 Confirmation needed')
    telegram.failAlwaysOf('editMessageText', null)
    const again = await start(t, { dbPath: program.dbPath, env: envOf(telegram) })
    await isTitled(one.message, /❌ Denied/)
    const next = await ask({ telegram, program: again })
    await telegram.press(next.message, 'Deny', maria)
    t.equal((await statusOf(again, next.id)).status, 'denied')
  },
)

t.test(
  'an outage loses, blocks and approves nothing: the log is told, and each that still waits once it is back',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    const { id, message } = await ask(both)
    telegram.failAll('reset')
    const ids: string[] = []
    for (let n = 0; n < 30; n++) {
      const { status, body } = await program.submit({ action: `away_${n % 10}`, details: { n } })
      t.equal(status, 202)
      ids.push(body.id)
    }
    await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob' })
    await program.call('POST', `/confirm/${ids[0]!}/deny`, { denier: 'bob' })
    t.same((await typed(program, 'approved')).length, 0)
    telegram.failAll(null)
    await isTitled(message, /❌ Denied/)
    // Each has a message of its own, or stands in one with others.
    const all = () => telegram.messages.map(({ text }) => text).join('\n')
    await eventually(() => ids.slice(1).every((one) => all().includes(one) || all().includes(one.slice(-8))))
    const last = telegram.messages.find(({ text }) => text.includes(`ID: ${ids[1]!}`))
    if (last !== undefined) {
      await telegram.press(last, 'Deny', maria)
      t.equal((await statusOf(program, ids[1]!)).status, 'denied', 'presses are heard again')
    }
  },
)

t.test('a storm of 429 on everything delays and loses nothing', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  const storm = [tooMany(1), tooMany(1)]
  for (const method of ['editMessageText', 'answerCallbackQuery', 'getUpdates']) telegram.failNextOf(method, ...storm)
  telegram.failNext(...storm)
  const { body } = await program.submit({ action: 'in_the_storm' })
  void telegram.press(message, 'Deny', maria)
  await eventually(async () => (await statusOf(program, id)).status === 'denied')
  await isTitled(message, /❌ Denied/)
  await eventually(() => telegram.messages.some(({ text }) => text.includes(`ID: ${String(body.id)}`)))
  await eventually(() => telegram.messages.some(({ forceReply }) => forceReply !== null))
  const ofIt = telegram.messages.filter(({ text }) => text.includes(`ID: ${String(body.id)}`))
  t.equal(ofIt.length, 1)
})

t.test(
  'a second program that polls with our token: after three times links, also in what is there, and a sentence',
  async (t) => {
    const both = await withTelegram(t, { flags: ['--public-url', publicUrl] })
    const { telegram, program } = both
    const { message } = await ask(both)
    t.same(labelsOf(message), ['Approve', 'Deny', 'Open'])
    telegram.pollElsewhere()
    await eventually(() => labelsOf(message).join() === 'Open and decide')
    t.match(message.buttons[0]![0]!.url, /^https:\/\/holdpoint\.example\.com\/link\//)
    const line = await program.logLine(/give Holdpoint a bot of its own, whose token no agent has/)
    t.match(line, { level: 'warn', channel: 'telegram' })
    const later = await ask(both, { action: 'later' })
    t.same(labelsOf(later.message), ['Open and decide'])
    const polls = telegram.asides.filter(({ path }) => path.endsWith('/getUpdates')).length
    telegram.pollElsewhere(false)
    const again = await program.submit({ action: 'third' })
    await eventually(() => telegram.messages.length === 3)
    t.equal(again.status, 202)
    t.equal(telegram.asides.filter(({ path }) => path.endsWith('/getUpdates')).length, polls)
  },
)

// -- the webhook ---------------------------------------------------------------------------------------------------------

const secret = 'a-secret-that-is-long-enough'
const called = { TELEGRAM_MODE: 'webhook', TELEGRAM_WEBHOOK_SECRET: secret }
const publicUrl = 'https://holdpoint.example.com'

t.test('by the webhook, on either port, presses count; without the secret nothing does', async (t) => {
  const telegram = await startTelegram(t)
  const flags = ['--public-url', publicUrl, '--web-port', '0']
  const program = await start(t, { flags, env: { ...envOf(telegram), ...called } })
  await eventually(() => telegram.webhook.url === `${publicUrl}/chat/telegram`)
  const both = { telegram, program }
  for (const port of [program.port, program.webPort!]) {
    telegram.webhook.deliverTo = `http://127.0.0.1:${port}`
    const { id, message } = await ask(both)
    t.equal(message.buttons.at(-1)![0]!.url, `${publicUrl}/view/${id}`, 'the page asks who opens it')
    const call = caller(t, port)
    const forged = (headers: Record<string, string>) =>
      call('POST', '/chat/telegram', { update_id: 1, callback_query: query(message, dataOf(message, 'Deny')) }, headers)
    t.equal((await forged({})).status, 401)
    t.equal((await forged({ 'x-telegram-bot-api-secret-token': `${secret}x` })).status, 401)
    t.equal((await call('GET', '/chat/telegram')).status, 405)
    const right = { 'x-telegram-bot-api-secret-token': secret }
    t.equal((await call('POST', '/chat/telegram', 'no json', right)).status, 400)
    t.equal((await call('POST', '/chat/telegram', `{"a":"${'x'.repeat(200_000)}"}`, right)).status, 413)
    t.equal((await call('POST', '/chat/discord', {}, right)).status, 404)
    t.equal((await statusOf(program, id)).status, 'pending')
    await telegram.press(message, 'Approve', maria)
    await isTitled(message, /Are you sure/)
    t.match(await telegram.press(message, 'Yes, approve', maria), { text: 'Approved.' })
    t.match(await statusOf(program, id), { status: 'approved', resolved_by: 'telegram:11' })
  }
  const number = telegram.write('/pending', maria, { chat: telegram.chat })
  t.ok(number > 0)
  await eventually(() => telegram.messages.some(({ text }) => /Nothing waits for a decision/.test(text)))
  await eventually(() => telegram.waiting().length === 0)
  t.ok(telegram.webhook.statuses.every((status) => status === 200))
  const polls = telegram.asides.filter(({ path }) => path.endsWith('/getUpdates'))
  t.same(polls, [])
})

const query = (message: TelegramMessage, data: string) => ({
  id: '1',
  from: { id: maria, is_bot: false },
  message: { message_id: message.id, chat: { id: Number(message.chatId) } },
  data,
})

t.test('with a key for everybody else the webhook needs its secret alone', async (t) => {
  const telegram = await startTelegram(t)
  const program = await start(t, { flags: ['--public-url', publicUrl], env: { ...envOf(telegram), ...called } })
  await eventually(() => telegram.webhook.url !== '')
  telegram.webhook.deliverTo = `http://127.0.0.1:${program.port}`
  const { message } = await ask({ telegram, program })
  const made = await command(program.dbPath, 'keys', 'add', '--name', 'root', '--role', 'admin')
  t.equal(made.code, 0, made.stderr)
  t.equal((await program.call('GET', '/confirm')).status, 401)
  t.match(await telegram.press(message, 'Deny', maria), { text: 'Denied.' })
})

t.test('without its secret, or a public URL, the service does not start in that mode', async (t) => {
  const telegram = await startTelegram(t)
  const args = ['--db-path', join(t.testdir(), 'x.db'), '--port', '0', '--web-port', 'off']
  const none = await run(t, args, { ...envOf(telegram), TELEGRAM_MODE: 'webhook' })
  t.equal(none.code, 2)
  t.match(none.stderr, /TELEGRAM_MODE: webhook needs TELEGRAM_WEBHOOK_SECRET and CONFIRMATION_PUBLIC_URL/)
  const short = await run(t, args, { ...envOf(telegram), ...called, TELEGRAM_WEBHOOK_SECRET: 'short' })
  t.equal(short.code, 2)
  t.match(short.stderr, /TELEGRAM_WEBHOOK_SECRET: must be 16 to 256 letters, digits, _ and -/)
  t.notMatch(short.stderr, /short\b/, 'a secret is not repeated')
  t.same(telegram.asides, [])
})

t.test('where nothing is heard the route is not there, and messages have a link', async (t) => {
  const both = await withTelegram(t, { flags: ['--public-url', publicUrl], env: { TELEGRAM_MODE: 'off' } })
  const { message } = await ask(both)
  t.same(labelsOf(message), ['Open and decide'])
  t.match(message.buttons[0]![0]!.url, /^https:\/\/holdpoint\.example\.com\/link\//)
  t.match(await both.program.call('POST', '/chat/telegram', {}), { status: 404 })
  t.same(
    both.telegram.asides.filter(({ path }) => path.endsWith('/getUpdates')),
    [],
  )
})

t.test('in a chat with one person the message has buttons, and a link that is good for one decision', async (t) => {
  const both = await withTelegram(t, { flags: ['--public-url', publicUrl] }, String(maria))
  const { telegram, program } = both
  const { id, message } = await ask(both)
  t.same(labelsOf(message), ['Approve', 'Deny', 'Open and decide'])
  await telegram.press(message, 'Deny', maria)
  t.equal((await statusOf(program, id)).status, 'denied')
})
