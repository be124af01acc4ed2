// What is heard from Telegram: who pressed what, and what was written; by polls that end in every way, and by the webhook.
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.js'
import type { Chat, Ears, Hearing, Press, PressAnswer, Words } from '../../src/notify/chat.js'
import { createTelegram, type TelegramSettings } from '../../src/notify/telegram.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { manualClock, type ManualClock, settled, until } from '../support.js'
import { example } from '../web/examples.js'
import { cardFor, pressOf } from './example-cards.js'
import { type FakeTelegram, refuse, startTelegram, type TelegramMessage, tooMany } from './fake-telegram.js'

const go = new AbortController().signal
const maria = 11
const nothing: PressAnswer = { kind: 'whisper', text: 'Approved.', isAlert: false }
const secret = 'a-secret-that-is-long-enough'
const ownWebhook = 'https://holdpoint.example.com/chat/telegram'

interface Heard {
  server: FakeTelegram
  chat: Chat
  message: TelegramMessage
  presses: Press[]
  words: Words[]
  logged: { level: 'info' | 'warn'; fields: any; message: string }[]
  /** What is on disk: how far was heard. */
  disk: { cursor: string | null }
  hearing: Hearing
  stop(graceMs?: number): Promise<void>
}

interface Options {
  server?: FakeTelegram
  settings?: Partial<TelegramSettings>
  clock?: Ears['clock']
  disk?: { cursor: string | null }
  press?(press: Press): PressAnswer | Promise<PressAnswer>
  say?(words: Words): void | Promise<void>
  heard?(cursor: string): Promise<void>
  prepare?(server: FakeTelegram): unknown
}

/** A chat that is listened to, with one message in it. */
async function heard(t: Test, options: Options = {}): Promise<Heard> {
  const { clock = systemClock(), disk = { cursor: '1' } } = options
  const server = options.server ?? (await startTelegram(t))
  const common = { botToken: server.botToken, chat: server.chat, apiBase: server.url, timeoutMs: 5000 }
  const chat = createTelegram({ ...common, hearing: 'polling', ownWebhook, ...options.settings })
  await chat.send(cardFor(chat, example()), '', 'm', go)
  await options.prepare?.(server)
  const presses: Press[] = []
  const words: Words[] = []
  const logged: Heard['logged'] = []
  const hearing = chat.hear!({
    async press(press) {
      presses.push(press)
      return (await options.press?.(press)) ?? nothing
    },
    async say(one) {
      words.push(one)
      await options.say?.(one)
    },
    cursor: async () => disk.cursor,
    async heard(cursor) {
      await options.heard?.(cursor)
      disk.cursor = cursor
    },
    buttonsChanged() {},
    commands: [{ name: 'pending', help: 'what waits for a decision' }],
    log: {
      info: (fields, message) => void logged.push({ level: 'info', fields, message }),
      warn: (fields, message) => void logged.push({ level: 'warn', fields, message }),
    },
    clock,
    random: () => 0,
  })
  let isStopped = false
  const stop = async (graceMs = 0) => {
    if (isStopped) return
    isStopped = true
    await hearing.stop(graceMs)
  }
  t.teardown(() => stop())
  return { server, chat, message: server.messages.at(-1)!, presses, words, logged, disk, hearing, stop }
}

const pollsOf = ({ asides }: FakeTelegram) => asides.filter(({ path }) => path.endsWith('/getUpdates'))
const isPolled = (server: FakeTelegram) => until(() => pollsOf(server).some(({ body }) => body.timeout > 0))
/** With time that passes meanwhile, a second at a time. */
const passing = (clock: ManualClock, condition: () => unknown) =>
  until(async () => {
    await clock.advance(1000)
    return condition()
  })
const warningsIn = ({ logged }: Pick<Heard, 'logged'>) => logged.filter(({ level }) => level === 'warn')
const refOf = ({ chatId, id }: TelegramMessage) => ({ chat: chatId, id: String(id) })
/** A poll that is held: what it brings, and when. */
function held() {
  let release = () => {}
  const until = new Promise<void>((resolve) => (release = resolve))
  return { until, release }
}

// -- who pressed what --------------------------------------------------------------------------------------------------

t.test('a press says who pressed which button of which message, and whoever did is answered alone', async (t) => {
  const { server, message, presses } = await heard(t)
  t.same(await server.press(message, 'Approve', maria), { text: 'Approved.', isAlert: false })
  t.same(presses, [
    {
      by: { channel: 'telegram', id: '11', isNobody: false },
      data: pressOf('approve'),
      message: refOf(message),
      reason: null,
    },
  ])
  t.equal(server.messages.length, 1)
})

t.test('what must be noticed is an alert, and never longer than Telegram shows', async (t) => {
  const { server, message } = await heard(t, {
    press: () => ({ kind: 'whisper', text: `No. ${'x'.repeat(1000)}`, isAlert: true }),
  })
  const { text, isAlert } = await server.press(message, 'Deny', maria)
  t.ok(isAlert && text.length <= 200 && text.startsWith('No. xxx'))
})

t.test('bots, anonymous administrators, channels and whatever has no id of a person are nobody', async (t) => {
  const { server, message, presses, words } = await heard(t)
  const standIns = [1087968824, 136817688, 777000, -1001]
  for (const id of standIns) await server.pressData('x', id, message)
  await server.pressData('x', { id: 12, isBot: true }, message)
  await server.pressData('x', 12, message, { fields: { from: { id: 12 } } })
  t.same(
    presses.map(({ by }) => [by.id, by.isNobody]),
    [...standIns.map((id) => [String(id), true]), ['12', true], ['12', true]],
  )
  // Whose id says nothing at all has pressed nothing.
  for (const from of [undefined, null, {}, { id: '11', is_bot: false }, { id: 1.5, is_bot: false }, { id: 2 ** 60 }]) {
    t.match(await server.pressData('x', 12, message, { fields: { from } }), { text: /Nothing was decided/ })
  }
  t.equal(presses.length, 6)
  // An administrator who hides behind the group, and one who writes as a channel.
  server.write('/deny 123456', 1087968824, { chat: server.chat, fields: { sender_chat: { id: -1001 } } })
  server.write('/deny 123456', maria, { chat: server.chat, fields: { sender_chat: { id: -1009, type: 'channel' } } })
  server.write('/deny 123456', { id: 13, isBot: true }, { chat: server.chat })
  await until(() => words.length === 3)
  t.ok(words.every(({ by }) => by.isNobody))
})

t.test('what anybody might send arrives as it is, with the message that Telegram names or none', async (t) => {
  const { server, message, presses } = await heard(t)
  const datas = ['', 'approve:', `yes:${'A'.repeat(43)}`, '\u0000\ud800', 'x'.repeat(5000)]
  for (const data of datas) await server.pressData(data, maria, message)
  await server.pressData('inline', maria, null, { fields: { inline_message_id: 'AAA' } })
  await server.pressData('gone', maria, null, { fields: { message: { message_id: 1, date: 0, chat: { id: -1001 } } } })
  await server.pressData('odd', maria, null, { fields: { message: { message_id: '1', chat: { id: 'x' } } } })
  await server.pressData('x', maria, message, { fields: { data: { verb: 'yes' } } })
  t.same(
    presses.map(({ data }) => data.toWellFormed()),
    [...datas.map((one) => one.toWellFormed()), 'inline', 'gone', 'odd', ''],
  )
  t.same(
    presses.slice(-4).map(({ message }) => message),
    [null, { chat: '-1001', id: '1' }, null, refOf(message)],
  )
})

// -- what was written --------------------------------------------------------------------------------------------------

t.test(
  'commands are heard in the chat of the settings and in private, with the bot’s name behind them or without',
  async (t) => {
    const { server, words } = await heard(t)
    const group = server.chat
    server.write('/pending', maria, { chat: group })
    server.write(`/Pending@${server.botName.toUpperCase()}`, maria, { chat: group })
    server.write(`/deny@${server.botName} 123456 not\nnow @paul`, maria, { chat: group })
    server.write('/pending@other_bot', maria, { chat: group })
    server.write('hello', maria)
    server.write('/show 123456', maria, { chat: '-1009' })
    await until(() => words.length === 5)
    t.match(
      words.map(({ text, place, isHome, isPrivate, by }) => ({ text, place, isHome, isPrivate, id: by.id })),
      [
        { text: '/pending', place: group, isHome: true, isPrivate: false, id: '11' },
        { text: '/Pending', place: group, isHome: true },
        { text: '/deny 123456 not\nnow @paul', isHome: true },
        { text: 'hello', place: '11', isHome: false, isPrivate: true },
        // What is written elsewhere is for others to ignore.
        { text: '/show 123456', place: '-1009', isHome: false, isPrivate: false },
      ],
    )
    t.equal(new Set(words.map(({ name }) => name)).size, 5)
    t.same(server.menu, [{ command: 'pending', description: 'what waits for a decision' }])
  },
)

t.test('a reply to the bot is heard; what else is said in a group, passed on or edited is not', async (t) => {
  const { server, message, words } = await heard(t)
  const chat = server.chat
  server.write('because', maria, { chat, replyTo: message })
  const others = { reply_to_message: { message_id: 4, chat: { id: Number(chat) }, from: { id: 12, is_bot: false } } }
  server.write('hello', maria, { chat })
  server.write('no!', maria, { chat, fields: others })
  for (const field of ['forward_origin', 'forward_date', 'forward_from', 'forward_from_chat', 'via_bot']) {
    server.write('/approve 123456', maria, { chat, replyTo: message, fields: { [field]: { id: 1 } } })
  }
  server.write('/approve 123456', maria, { chat, fields: { is_automatic_forward: true } })
  server.write('', maria, { chat, replyTo: message, fields: { text: undefined, photo: [] } })
  const written = { message_id: 9, text: '/approve 123456', chat: { id: Number(chat), type: 'channel' } }
  for (const kind of ['channel_post', 'edited_message', 'edited_channel_post', 'poll']) {
    server.send({ [kind]: { ...written, from: { id: maria, is_bot: false } } })
  }
  for (const odd of [{ message: null }, { message: 'x' }, { callback_query: 7 }, { message: [] }]) server.send(odd)
  server.write('/pending', maria)
  await until(() => words.length === 2)
  t.match(words, [
    { text: 'because', replyTo: refOf(message), isHome: true },
    { text: '/pending', replyTo: null },
  ])
  await until(() => server.waiting().length === 0)
})

t.test(
  'a group that becomes a supergroup is followed as soon as Telegram says so, and the log says which to set',
  async (t) => {
    const heardThere = await heard(t)
    const { server, words, chat, logged } = heardThere
    server.write('', 12, { chat: '-1009', fields: { text: undefined, migrate_to_chat_id: -1666 } })
    server.migrateTo('-1002')
    server.write('', 12, { chat: '-1001', fields: { text: undefined, migrate_to_chat_id: -1002 } })
    server.write('/pending', maria, { chat: '-1002' })
    await until(() => words.length === 1)
    t.equal(words[0]!.isHome, true)
    t.same(
      warningsIn(heardThere).map(({ fields }) => fields),
      [{ channel: 'telegram', chat: '-1002' }],
    )
    t.match(logged[0]!.message, /TELEGRAM_HOME_CHANNEL/)
    await chat.send(cardFor(chat, example()), '', 'm', go)
    t.equal(server.messages.at(-1)!.chatId, '-1002')
    t.equal(server.calls.length, 2, 'the old id is not tried')
  },
)

// -- polls -------------------------------------------------------------------------------------------------------------

t.test('an update is confirmed once it is handled, and not before', async (t) => {
  const decided = held()
  const clock = manualClock()
  const { server, message, presses, disk } = await heard(t, { clock, press: () => decided.until.then(() => nothing) })
  const answered = server.press(message, 'Approve', maria)
  await until(() => presses.length === 1)
  const [id] = server.waiting()
  const polls = pollsOf(server).length
  await passing(clock, () => pollsOf(server).length > polls)
  t.same(server.waiting(), [id], 'it would come again after a crash')
  t.equal(disk.cursor, '1')
  decided.release()
  await answered
  await until(() => server.waiting().length === 0)
  t.equal(disk.cursor, String(id))
  t.equal(presses.length, 1)
})

t.test('a restart handles nothing twice that was noted, though Telegram did not hear that it was', async (t) => {
  const first = await heard(t)
  const { server, message } = first
  // Everything from now on that would confirm something fails.
  await isPolled(server)
  const answered = server.press(message, 'Approve', maria)
  server.failAlwaysOf('getUpdates', { status: 502, body: '' })
  await answered
  await until(() => first.disk.cursor !== '1')
  await first.stop(1000)
  t.equal(server.waiting().length, 1)
  server.failAlwaysOf('getUpdates', null)
  const second = await heard(t, { server, disk: first.disk })
  await until(() => server.waiting().length === 0)
  await server.press(second.message, 'Deny', maria)
  t.match(second.presses, [{ data: pressOf('deny') }])
  server.sendAgain(Number(first.disk.cursor))
  await server.press(second.message, 'Deny', maria)
  t.equal(first.presses.length + second.presses.length, 3)
})

t.test('what was written before the bot ever listened was not written to us; a press counts', async (t) => {
  const disk = { cursor: null }
  const { server, words, presses } = await heard(t, {
    disk,
    prepare(server) {
      server.write('/deny 123456', maria)
      void server.press(server.messages[0]!, 'Approve', maria)
    },
  })
  await until(() => presses.length === 1 && disk.cursor !== null)
  server.write('/pending', maria)
  await until(() => words.length === 1)
  t.equal(words[0]!.text, '/pending')
})

t.test('what one person does is handled in order, and nobody waits for somebody else', async (t) => {
  const slow = held()
  const { server, message, presses, words } = await heard(t, {
    press: ({ by }) => (by.id === '11' ? slow.until.then(() => nothing) : nothing),
  })
  void server.press(message, 'Approve', maria)
  server.write('/pending', maria)
  await server.press(message, 'Deny', 12)
  t.same(
    presses.map(({ by }) => by.id),
    ['11', '12'],
  )
  t.same(words, [])
  slow.release()
  await until(() => words.length === 1)
})

t.test('a person who presses a hundred times is handled a hundred times, and each update once', async (t) => {
  const { server, message, presses } = await heard(t, { prepare: (server) => server.countFrom(5) })
  await Promise.all(Array.from({ length: 250 }, (_, n) => server.pressData(String(n), maria, message)))
  t.same(
    presses.map(({ data }) => data),
    Array.from({ length: 250 }, (_, n) => String(n)),
  )
  await until(() => server.waiting().length === 0)
})

t.test(
  'while the database does not answer, words come again, and whoever pressed was told to press again',
  async (t) => {
    let isAway = true
    const fail = () => {
      if (isAway) throw new StoreUnavailable('away')
    }
    const clock = manualClock()
    const { server, message, words } = await heard(t, {
      clock,
      press: () => (fail(), nothing),
      say: fail,
      heard: async () => fail(),
    })
    t.match(await server.press(message, 'Approve', maria), { text: /Nothing was decided. Press again/, isAlert: true })
    server.write('/pending', 12)
    await passing(clock, () => words.length >= 1)
    t.equal(server.waiting().length, 2)
    isAway = false
    await passing(clock, () => server.waiting().length === 0)
    t.ok(words.length >= 2)
  },
)

t.test('what makes us stumble is told in the log and does not come again', async (t) => {
  const { server, logged, words } = await heard(t, {
    say({ text }) {
      if (text === '/broken') throw new Error('a bug')
    },
  })
  server.write('/broken', maria)
  server.write('/pending', maria)
  await until(() => words.length === 2 && server.waiting().length === 0)
  t.match(logged, [{ level: 'warn', fields: { channel: 'telegram' }, message: /could not be handled/ }])
})

t.test('an update whose number is lower than the last one is heard: after a quiet week they begin anew', async (t) => {
  const { server, message, presses } = await heard(t, { disk: { cursor: '870000500' } })
  server.countFrom(400)
  await server.press(message, 'Approve', maria)
  await until(() => server.waiting().length === 0)
  await server.press(message, 'Approve', maria)
  t.equal(presses.length, 2)
})

// -- polls that fail -----------------------------------------------------------------------------------------------------

const conflict = refuse(
  409,
  'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
)

t.test('a second program that polls three times ends it until a restart: links, and a sentence', async (t) => {
  const clock = manualClock()
  const there = await heard(t, { clock })
  const { server, chat, message, presses } = there
  await isPolled(server)
  server.pollElsewhere()
  void server.press(message, 'Approve', maria)
  await passing(clock, () => !chat.hasButtons())
  server.pollElsewhere(false)
  const polls = pollsOf(server).length
  await clock.advance(600_000)
  await settled()
  t.equal(pollsOf(server).length, polls)
  t.same(presses, [])
  t.match(warningsIn(there), [
    {
      fields: { channel: 'telegram', error: /^409 Conflict/ },
      message: /give Holdpoint a bot of its own, whose token no agent has/,
    },
  ])
  t.equal(warningsIn(there).length, 1)
  await there.stop()
  await chat.send(cardFor(chat, example()), '', 'm', go)
  t.same(
    server.messages
      .at(-1)!
      .buttons.flat()
      .map(({ text }) => text),
    ['Open'],
  )
  const again = await heard(t, { server })
  await until(() => again.presses.length === 1)
  t.pass('a restart asks again')
})

t.test('a poll that is ended twice was an accident, and so is the next one hours later', async (t) => {
  const clock = manualClock()
  const { server, chat, message, presses, logged } = await heard(t, { clock })
  await isPolled(server)
  for (const hour of [1, 2, 3]) {
    server.failNextOf('getUpdates', conflict, conflict)
    // The poll that is held brings the first, the one after the conflicts the second.
    for (const data of ['held', 'after']) {
      void server.pressData(data, maria, message)
      await passing(clock, () => presses.at(-1)?.data === data)
    }
    await clock.advance(3_600_000)
    t.equal(presses.length, 2 * hour)
  }
  t.equal(chat.hasButtons(), true)
  t.same(logged, [])
})

t.test('where somebody else has set a webhook it is left alone, and messages have links', async (t) => {
  const there = await heard(t, { prepare: (server) => hook(server, 'https://elsewhere.example/x') })
  await until(() => !there.chat.hasButtons())
  t.match(warningsIn(there), [{ message: /a webhook is set on the Telegram bot.*holdpoint notify test/ }])
  t.equal(there.server.webhook.url, 'https://elsewhere.example/x')
})

t.test('our own webhook of another mode is removed, with nothing lost', async (t) => {
  const { server, chat, message, presses, logged } = await heard(t, { prepare: (server) => hook(server, ownWebhook) })
  await server.press(message, 'Approve', maria)
  t.equal(presses.length, 1)
  t.equal(server.webhook.url, '')
  t.equal(chat.hasButtons(), true)
  t.same(logged, [])
})

const hook = (server: FakeTelegram, url: string) =>
  fetch(`${server.url}/bot${server.botToken}/setWebhook?url=${encodeURIComponent(url)}`)

t.test('while Telegram does not answer it is asked again, later and later, with one line in the log', async (t) => {
  const clock = manualClock()
  const { server, message, presses, logged } = await heard(t, { clock })
  await isPolled(server)
  const broken = [
    'reset',
    { status: 502, body: '<html>' },
    { status: 200, body: '<html>a hotel’s page</html>' },
    { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
    { status: 200, body: { ok: true, result: { update_id: 1 } } },
    { status: 200, body: { ok: true, result: [{ update_id: 'x' }] } },
    { status: 200, body: { ok: true, result: [null] } },
    { status: 408, body: '' },
  ] as const
  server.failNextOf('getUpdates', ...broken)
  // The poll that is held brings it; those behind it fail.
  await server.press(message, 'Approve', maria)
  const before = pollsOf(server).length
  await settled()
  t.ok(pollsOf(server).length <= before + 1, 'not at once')
  void server.press(message, 'Deny', maria)
  await passing(clock, () => presses.length === 2 && logged.length === 2)
  t.match(logged, [
    { level: 'warn', message: /nothing is heard from Telegram; will try again/ },
    { level: 'info', message: 'Telegram is heard again' },
  ])
})

t.test('too many polls: none until the pause is over', async (t) => {
  const clock = manualClock()
  const { server, message, presses, logged } = await heard(t, { clock })
  await isPolled(server)
  server.failNextOf('getUpdates', tooMany(20))
  const polls = pollsOf(server).length
  void server.press(message, 'Approve', maria)
  await until(() => pollsOf(server).length === polls + 1)
  await settled()
  await clock.advance(19_900)
  await settled()
  t.equal(pollsOf(server).length, polls + 1)
  await clock.advance(100)
  await until(() => presses.length === 1)
  t.same(logged, [])
})

for (const answer of [refuse(401, 'Unauthorized'), refuse(404, 'Not Found')]) {
  t.test(`a token that is no good (${answer.status}) is not tried again, and stands in no log`, async (t) => {
    const there = await heard(t, { prepare: (server) => server.failAlwaysOf('getMe', answer) })
    await until(() => !there.chat.hasButtons())
    t.match(warningsIn(there), [{ message: /does not know the token.*restart.*@BotFather/ }])
    t.notMatch(JSON.stringify(there.logged), there.server.botToken.split(':')[1]!)
    const later = await heard(t)
    await isPolled(later.server)
    later.server.failAlwaysOf('getUpdates', answer)
    void later.server.press(later.message, 'Approve', maria)
    await until(() => !later.chat.hasButtons())
    t.equal(warningsIn(later).length, 1)
  })
}

t.test('updates that are too large for one answer come one by one', async (t) => {
  const text = '/pending '.padEnd(4096, '漢')
  const clock = manualClock()
  const { server, words } = await heard(t, {
    clock,
    prepare(server) {
      for (let n = 0; n < 60; n++) server.write(text, maria)
    },
  })
  await passing(clock, () => words.length === 60)
  t.ok(pollsOf(server).some(({ body }) => body.limit === 1))
})

t.test('that an answer to a press is not taken holds nothing up', async (t) => {
  const { server, message, presses } = await heard(t)
  server.failNextOf('answerCallbackQuery', tooMany(30), 'reset', { status: 200, body: '<html>' }, 'hang')
  for (let n = 0; n < 4; n++) void server.pressData(String(n), maria, message)
  await server.pressData('4', maria, message)
  t.equal(presses.length, 5)
  await until(() => server.waiting().length === 0)
})

t.test('when it stops, what was taken in is finished, answered and noted, and the poll is called off', async (t) => {
  const decided = held()
  const { server, message, presses, disk, stop } = await heard(t, { press: () => decided.until.then(() => nothing) })
  const answered = server.press(message, 'Approve', maria)
  await until(() => presses.length === 1)
  const [id] = server.waiting()
  const stopping = stop(5000)
  decided.release()
  await stopping
  t.same(await answered, { text: 'Approved.', isAlert: false })
  t.equal(disk.cursor, String(id))
  const polls = pollsOf(server).length
  void server.press(message, 'Approve', maria)
  await settled()
  t.equal(pollsOf(server).length, polls)
})

t.test('a stop waits no longer than it may, for what takes for ever', async (t) => {
  const { server, message, presses, disk, stop } = await heard(t, { press: () => new Promise(() => {}) })
  void server.press(message, 'Approve', maria)
  await until(() => presses.length === 1)
  await stop(20)
  t.equal(disk.cursor, '1')
})

// -- the webhook -------------------------------------------------------------------------------------------------------

const webhook = { hearing: { url: ownWebhook, secret } }
const headers = { 'x-telegram-bot-api-secret-token': secret }

/** Once Telegram knows it. */
async function called(t: Test, options: Options = {}) {
  const there = await heard(t, { ...options, settings: { ...webhook, ...options.settings } })
  const receive = there.hearing.receive!
  return {
    ...there,
    take: (body: unknown, given: Record<string, string | string[] | undefined> = headers) =>
      receive({ headers: given, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }),
    press: (id: number, by = maria, data = 'x') => ({
      update_id: id,
      callback_query: {
        id: String(id),
        from: { id: by, is_bot: false },
        message: { message_id: there.message.id, chat: { id: Number(there.message.chatId) } },
        data,
      },
    }),
  }
}
const isSet = (server: FakeTelegram) => until(() => server.webhook.url === ownWebhook)

t.test('Telegram is told where to send, with the secret, and nothing is polled', async (t) => {
  const { server, take, press, presses } = await called(t, { disk: { cursor: null } })
  await isSet(server)
  const set = server.asides.find(({ path }) => path.endsWith('/setWebhook'))!
  t.match(set.body, { url: ownWebhook, secret_token: secret, allowed_updates: ['message', 'callback_query'] })
  t.same(await take(press(7)), { status: 200, body: null })
  t.equal(presses.length, 1)
  t.same(pollsOf(server), [])
})

t.test('without the secret, or with another, nothing is taken in', async (t) => {
  const { server, take, press, presses, words } = await called(t)
  await isSet(server)
  const wrong = [
    undefined,
    '',
    'x',
    secret.slice(0, -1),
    `${secret}x`,
    `${secret.slice(0, -1)}X`,
    secret.toUpperCase(),
    [secret, secret],
    'é'.repeat(secret.length),
  ]
  for (const given of wrong) {
    t.same(await take(press(7), { 'x-telegram-bot-api-secret-token': given }), { status: 401, body: null })
    t.same(await take('{', { 'x-telegram-bot-api-secret-token': given }), { status: 401, body: null })
  }
  t.same([...presses, ...words], [])
})

t.test('what is no update is refused, and what is none that we asked for is taken and means nothing', async (t) => {
  const { server, take, presses } = await called(t)
  await isSet(server)
  for (const body of [
    '',
    '{',
    '[]',
    'null',
    '7',
    '{}',
    { update_id: '7' },
    { update_id: 1.5 },
    '\u0000',
    { update_id: null },
  ]) {
    t.match(await take(body), { status: 400 }, JSON.stringify(body))
  }
  for (const [id, body] of [
    {},
    { message: 7 },
    { callback_query: [] },
    { channel_post: { text: '/approve' } },
  ].entries()) {
    t.match(await take({ update_id: id, ...body }), { status: 200 })
  }
  t.same(presses, [])
})

t.test('an update that comes again is taken again and handled once: at once, later, and after a restart', async (t) => {
  const decided = held()
  const first = await called(t, { press: () => decided.until.then(() => nothing) })
  await isSet(first.server)
  const both = [first.take(first.press(7)), first.take(first.press(7))]
  await until(() => first.presses.length === 1)
  decided.release()
  t.same(await Promise.all(both), [
    { status: 200, body: null },
    { status: 200, body: null },
  ])
  t.match(await first.take(first.press(7)), { status: 200 })
  await first.stop(1000)
  t.match(await first.take(first.press(8)), { status: 503 }, 'whoever stops takes in nothing')
  const second = await called(t, { server: first.server, disk: first.disk })
  await until(async () => (await second.take(second.press(7))).status === 200)
  t.match(await second.take(second.press(8)), { status: 200 })
  t.equal(first.presses.length, 1)
  t.equal(second.presses.length, 1)
})

t.test(
  'until our own name is known nothing is taken, and while the database does not answer words are sent again',
  async (t) => {
    const known = held()
    let isAway = true
    const { server, take, words } = await called(t, {
      prepare: (server) => server.failNextOf('getMe', known.until),
      say() {
        if (isAway) throw new StoreUnavailable('away')
      },
    })
    const from = { id: maria, is_bot: false }
    const message = { message_id: 9, from, chat: { id: maria, type: 'private' }, text: `/pending@${server.botName}` }
    t.match(await take({ update_id: 7, message }), { status: 503 })
    known.release()
    await isSet(server)
    t.match(await take({ update_id: 7, message }), { status: 503 })
    isAway = false
    t.match(await take({ update_id: 7, message }), { status: 200 })
    t.same(
      words.map(({ text }) => text),
      ['/pending', '/pending'],
    )
  },
)

t.test('a webhook that Telegram refuses is told in the log; one that it cannot take now is set later', async (t) => {
  const refused = await called(t, { settings: { hearing: { url: 'http://127.0.0.1:6001/chat/telegram', secret } } })
  await until(() => !refused.chat.hasButtons())
  t.match(warningsIn(refused), [{ fields: { error: /HTTPS URL must be provided/ }, message: /refuses the webhook/ }])
  const clock = manualClock()
  const busy = await called(t, {
    clock,
    prepare: (server) => server.failNextOf('setWebhook', tooMany(2), { status: 502, body: '' }, 'reset'),
  })
  await until(async () => {
    await clock.advance(1000)
    return busy.server.webhook.url === ownWebhook
  })
  t.equal(busy.chat.hasButtons(), true)
  t.same(busy.logged, [])
})
