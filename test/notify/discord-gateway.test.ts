// What is heard over Discord's Gateway: who pressed what, what was written into a form and as a command, each answered within
// three seconds; and sessions that outlive their connections, or do not.
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.js'
import { commands } from '../../src/chat/commands.js'
import type { Chat, Ears, Press, PressAnswer, Words } from '../../src/notify/chat.js'
import { createDiscord } from '../../src/notify/discord.js'
import { build, type ManualClock, manualClock, settled, until } from '../support.js'
import { example } from '../web/examples.js'
import { cardFor, pressOf } from './example-cards.js'
import { type FakeDiscord, refuse, startDiscord, tooMany } from './fake-discord.js'

const go = new AbortController().signal
const maria = { id: '123456789012345678' }
const nothing: PressAnswer = { kind: 'whisper', text: 'Approved.', isAlert: false }
const form: PressAnswer = {
  kind: 'form',
  title: 'Deny',
  label: 'Reason (optional)',
  data: 'deny:token',
  isRequired: false,
}
const alert = (text: string): PressAnswer => ({ kind: 'whisper', text, isAlert: true })

interface Heard {
  server: FakeDiscord
  chat: Chat
  presses: Press[]
  words: Words[]
  warned: { fields: any; message: string }[]
  informed: string[]
  /** Whether there were buttons, whenever that changed. */
  changes: boolean[]
  stop(graceMs?: number): Promise<void>
}

interface Given {
  answer?(press: Press): PressAnswer | Promise<PressAnswer>
  say?(words: Words): Promise<void>
  clock?: Ears['clock']
  random?: number
  prepare?(server: FakeDiscord): void
  beatMs?: number
}

/** A bot that listens, with one message in its channel. */
async function heard(t: Test, given: Given = {}): Promise<Heard> {
  const { answer = () => nothing, say, clock = systemClock(), random = 0, prepare, beatMs = 41_250 } = given
  const server = await startDiscord(t, { now: clock.now, beatMs })
  prepare?.(server)
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = server.config
  const chat = createDiscord({ botToken, channelId, apiBase, publicKey: null, timeoutMs: 5000 }, '1.2.3')
  const presses: Press[] = []
  const words: Words[] = []
  const warned: Heard['warned'] = []
  const informed: string[] = []
  const changes: boolean[] = []
  await chat.send(cardFor(chat, example()), '', 'm', go)
  const hearing = chat.hear!({
    async press(press) {
      presses.push(press)
      return answer(press)
    },
    async say(one) {
      words.push(one)
      await say?.(one)
    },
    cursor: async () => null,
    heard: async () => {},
    buttonsChanged: () => void changes.push(chat.hasButtons()),
    commands,
    log: {
      info: (_fields, message) => void informed.push(message),
      warn: (fields, message) => void warned.push({ fields, message }),
    },
    clock,
    random: () => random,
  })
  t.equal(hearing.receive, null, 'nothing is sent to us')
  let isStopped = false
  const stop = async (graceMs = 0) => {
    if (isStopped) return
    isStopped = true
    await hearing.stop(graceMs)
  }
  t.teardown(stop)
  return { server, chat, presses, words, warned, informed, changes, stop }
}

/** The same, once it is told of presses. */
async function listening(t: Test, given: Given = {}): Promise<Heard> {
  const all = await heard(t, given)
  await all.server.gateway.listened()
  return all
}

/** Time goes on until that is so. */
async function untilAt(clock: ManualClock, stepMs: number, condition: () => unknown): Promise<void> {
  await until(async () => {
    if (await condition()) return true
    await clock.advance(stepMs)
    return condition()
  })
}

// -- what people do ------------------------------------------------------------------------------------------------------

t.test('a press is answered, and says who pressed which button of which message', async (t) => {
  const { server, presses } = await listening(t)
  const [message] = server.messages
  t.same(
    await server.press(message!, 'Approve', maria),
    { type: 6 },
    'nothing is shown: the message says what came of it',
  )
  t.same(presses, [
    {
      by: { channel: 'discord', id: maria.id, isNobody: false },
      data: pressOf('approve'),
      message: { chat: server.channel, id: message!.id },
      reason: null,
    },
  ])
  t.same(server.whispers, [])
})

t.test('what must be noticed is shown to the presser alone, as text', async (t) => {
  const said = 'Not *yours*: <@1> @everyone https://x.example `a`'
  const { server } = await listening(t, { answer: () => alert(said) })
  const { type, data } = await server.press(server.messages[0]!, 'Deny', maria)
  t.match({ type, data }, { type: 4, data: { flags: 64, allowed_mentions: { parse: [] } } })
  t.same(server.whispers, [{ user: maria.id, text: said }])
})

t.test('however long and full of markup, what is shown to the presser fits', async (t) => {
  const { server } = await listening(t, { answer: () => alert('*'.repeat(20_000)) })
  await server.press(server.messages[0]!, 'Deny', maria)
  t.match(server.whispers[0]!.text, /^\*{500}.*cut/)
})

t.test('bots, the system and whoever has no id are nobody, in a server and in private', async (t) => {
  const { server, presses } = await listening(t)
  const press = { type: 3, data: { custom_id: 'x' }, channel_id: server.channel, message: { id: '1' } }
  const users: unknown[] = [
    { ...maria, bot: true },
    { ...maria, system: true },
    {},
    null,
    { id: 7 },
    { id: '' },
    { id: 'maria' },
  ]
  for (const user of users) {
    await server.interact({ ...press, member: { user } })
    await server.interact({ ...press, user })
  }
  await server.interact(press)
  t.equal(presses.length, users.length * 2 + 1)
  t.ok(presses.every(({ by }) => by.isNobody && by.id === ''))
  await server.interact({ ...press, member: { user: maria, nick: 'Paul' } })
  await server.interact({ ...press, user: { ...maria, global_name: 'Paul', username: 'paul' } })
  t.ok(
    presses.slice(-2).every(({ by }) => !by.isNobody && by.id === maria.id),
    'names do not count',
  )
})

t.test('a press says which message it came from, as far as Discord does', async (t) => {
  const { server, presses } = await listening(t, { answer: () => alert('No.') })
  await server.forge('anything', maria, null)
  await server.forge(undefined, maria)
  await server.interact({ type: 3, user: maria, channel_id: 'D1', data: { custom_id: 7 }, message: { id: '5' } })
  await server.interact({ type: 3, user: maria, channel_id: 'D1', data: null, message: { id: '5', channel_id: 'D2' } })
  t.match(presses, [
    { data: 'anything', message: null },
    { data: '', message: { chat: server.channel } },
    { data: '', message: { chat: 'D1', id: '5' } },
    { data: '', message: { chat: 'D2', id: '5' } },
  ])
})

t.test('a form is opened by a press, and what is written in it comes back with what the button sent', async (t) => {
  const { server, presses } = await listening(t, { answer: ({ reason }) => (reason === null ? form : nothing) })
  const [message] = server.messages
  t.match(await server.press(message!, 'Deny', maria), { type: 9 })
  const [{ form: shown }] = server.forms as [any]
  t.match(shown, { title: 'Deny', components: [{ label: 'Reason (optional)', component: { required: false } }] })
  t.same(await server.submit('not today <3', maria), { type: 6 })
  await server.submit('', maria)
  // As clients sent it before there were labels.
  const rows = [{ type: 1, components: [{ type: 4, custom_id: 'reason', value: 'in a row' }] }]
  const ref = { id: message!.id, channel_id: server.channel }
  await server.interact({ type: 5, user: maria, message: ref, data: { custom_id: 'deny:token', components: rows } })
  await server.interact({ type: 5, user: maria, message: ref, data: { custom_id: 'deny:token', components: 'none' } })
  t.match(
    presses.slice(1),
    ['not today <3', '', 'in a row', ''].map((reason) => ({
      data: 'deny:token',
      message: { chat: server.channel, id: message!.id },
      reason,
      by: { id: maria.id },
    })),
  )
})

t.test('a refusal of what a form brought is shown to whoever sent it', async (t) => {
  const { server } = await listening(t, { answer: ({ reason }) => (reason === null ? form : alert('It is over.')) })
  await server.press(server.messages[0]!, 'Deny', maria)
  await server.submit('late', maria)
  t.same(server.whispers, [{ user: maria.id, text: 'It is over.' }])
})

t.test('a decision that takes long is answered in time without it, and what must be noticed follows', async (t) => {
  const clock = manualClock()
  const deciding: ((answer: PressAnswer) => void)[] = []
  const { server } = await heard(t, { clock, answer: () => new Promise((resolve) => deciding.push(resolve)) })
  await untilAt(clock, 100, server.gateway.isListened)
  const answered: object[] = []
  for (const label of ['Approve', 'Deny', 'Deny'])
    void server.press(server.messages[0]!, label, maria).then((first) => answered.push(first))
  await until(() => deciding.length === 3)
  await clock.advance(1400)
  t.same(answered, [], 'a moment is left for the answer itself')
  await clock.advance(200)
  await until(() => answered.length === 3)
  t.same(answered, [{ type: 6 }, { type: 6 }, { type: 6 }])
  deciding[0]!(nothing)
  deciding[1]!(alert('Somebody else was faster.'))
  deciding[2]!(form)
  await until(() => server.whispers.length === 2)
  t.same(
    server.whispers.map(({ text }) => text),
    ['Somebody else was faster.', 'The form could not be opened in time. Press again.'],
  )
})

t.test('an answer that is lost is given once more, and that it came twice is no trouble', async (t) => {
  const { server, presses, warned } = await listening(t)
  server.failNextOf('answer', 'reset')
  t.same(await server.press(server.messages[0]!, 'Approve', maria), { type: 6 })
  server.failNextOf('answer', 'lose answer')
  await server.press(server.messages[0]!, 'Approve', maria)
  await until(() => server.asides.filter(({ path }) => path.endsWith('/callback')).length === 4)
  await settled()
  t.equal(presses.length, 2)
  t.same(warned, [])
})

t.test('an answer that Discord refuses is told in the log, without the token that is in its address', async (t) => {
  const { server, warned } = await listening(t)
  server.failNextOf('answer', refuse(404, 'Unknown interaction at /interactions/1/aW50ZXJhY3Rpb24/callback', 10062))
  void server.press(server.messages[0]!, 'Approve', maria).catch(() => {})
  await until(() => warned.length === 1)
  t.match(warned, [{ fields: { channel: 'discord', error: '404 10062' }, message: /what it did stands/ }])
  t.notMatch(JSON.stringify(warned), 'aW50')
})

t.test('whatever fails here is answered, and ends nothing', async (t) => {
  let fails = true
  const answer = () => {
    if (fails) throw new Error('a bug')
    return nothing
  }
  const { server, warned } = await listening(t, { answer, say: () => Promise.reject(new Error('another')) })
  t.match(await server.press(server.messages[0]!, 'Deny', maria), {
    type: 4,
    data: { content: /Something went wrong/ },
  })
  t.match(await server.write('pending', {}, maria), { type: 4 })
  await until(() => warned.length === 2)
  fails = false
  t.same(await server.press(server.messages[0]!, 'Deny', maria), { type: 6 })
})

t.test('what comes again is handled once', async (t) => {
  const { server, presses } = await listening(t)
  await server.press(server.messages[0]!, 'Approve', maria)
  server.redeliver()
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 2)
})

t.test('whatever else comes means nothing', async (t) => {
  const { server, presses, words } = await listening(t)
  const { gateway } = server
  gateway.tell('MESSAGE_CREATE', { content: '/approve all' })
  for (const data of [
    {},
    { id: '1' },
    { id: '1', token: 't', type: 4 },
    { id: 'x', token: 't', type: 3 },
    { id: 7, token: 't', type: 3 },
  ]) {
    gateway.tell('INTERACTION_CREATE', data)
  }
  gateway.tell('INTERACTION_CREATE', [] as object)
  gateway.say({ op: 99, d: null })
  gateway.say({ op: 0, t: 'INTERACTION_CREATE', d: null })
  gateway.say({ op: '0', t: 7, d: 'x', s: 'y' })
  gateway.say([])
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
  t.same(words, [])
  t.equal(gateway.guests.length, 1)
})

// -- commands ------------------------------------------------------------------------------------------------------------

t.test(
  'the commands are in the menu, for servers and in private, with what is to be written behind them',
  async (t) => {
    const { server } = await heard(t)
    await until(() => server.menu.length > 0)
    t.same(
      server.menu.map(({ name, options }) => [
        name,
        ...options.map((one: any) => `${one.name}${one.required === true ? '' : '?'}`),
      ]),
      [['pending'], ['show', 'id'], ['approve', 'id'], ['deny', 'id', 'reason?'], ['sessions'], ['help']],
    )
    t.ok(server.menu.every(({ type, contexts }) => type === 1 && contexts.join() === '0,1'))
  },
)

t.test('the menu is set once it can be: after faults, and after the pause that Discord asks for', async (t) => {
  const clock = manualClock()
  const prepare = (server: FakeDiscord) => {
    server.failNextOf('applications/@me', 'reset', { status: 502, body: '' })
    server.failNextOf('commands', tooMany(300))
  }
  const { server, warned } = await heard(t, { clock, prepare })
  const tries = () => server.asides.filter(({ path }) => path.endsWith('/commands')).length
  await untilAt(clock, 1000, () => tries() === 1)
  await clock.advance(295_000)
  t.equal(tries(), 1)
  await untilAt(clock, 1000, () => server.menu.length > 0)
  t.same(warned, [])
})

t.test('a menu that Discord does not take is told once, and presses are heard all the same', async (t) => {
  const { server, warned, presses } = await listening(t, {
    prepare: (server) => server.failAlwaysOf('commands', refuse(403, 'Missing Access', 50001)),
  })
  await until(() => warned.length > 0)
  t.match(warned, [{ fields: { error: '403 50001' }, message: /menu of commands/ }])
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
})

t.test('a command says what was written, in the channel of the settings or to the bot alone', async (t) => {
  const { server, words } = await listening(t)
  t.match(await server.write('deny', { id: 'abc123', reason: 'not <now>' }, maria), { type: 4, data: { flags: 64 } })
  await server.write('pending', {}, maria, { channel: '77', isPrivate: true })
  await until(() => words.length === 2)
  t.match(words, [
    { text: '/deny abc123 not <now>', place: server.channel, isHome: true, isPrivate: false, by: { id: maria.id } },
    { text: '/pending', place: '77', isHome: false, isPrivate: true, replyTo: null, message: null },
  ])
  t.equal(new Set(words.map(({ name }) => name)).size, 2)
  server.redeliver()
  await server.write('help', {}, maria)
  await until(() => words.length === 3)
  await settled()
  t.equal(words.length, 3)
})

t.test('a command in another channel says nothing, and its writer is told where', async (t) => {
  const { server, words } = await listening(t)
  const elsewhere = { channel: '99', isPrivate: false }
  t.match(await server.write('pending', {}, maria, elsewhere), {
    type: 4,
    data: { flags: 64, content: /in the channel of/ },
  })
  t.same(words, [])
})

t.test('whoever wrote a command can be told something alone', async (t) => {
  const { server } = await listening(t, { say: ({ whisper }) => whisper!('Not *you*.') })
  await server.write('pending', {}, maria)
  await until(() => server.whispers.length === 2)
  t.same(server.whispers[1], { user: maria.id, text: 'Not *you*.' })
})

// -- sessions ------------------------------------------------------------------------------------------------------------

t.test(
  'a session is begun with no intents, and stays alive by heartbeats, of which the first comes at a random moment',
  async (t) => {
    const clock = manualClock()
    const { server } = await heard(t, { clock, random: 0.5, beatMs: 40_000 })
    const { gateway } = server
    await until(gateway.isListened)
    const [{ said, url }] = gateway.guests as [any]
    t.match(said[0], { op: 2, d: { token: server.botToken, intents: 0, properties: { browser: 'holdpoint' } } })
    t.equal(url.search, '?v=10&encoding=json')
    await clock.advance(19_000)
    await settled()
    t.same(gateway.beats, [])
    await clock.advance(1000)
    await until(() => gateway.beats.length === 1)
    for (const count of [2, 3]) {
      await settled()
      await clock.advance(40_000)
      await until(() => gateway.beats.length === count)
    }
    t.same(gateway.beats, [1, 1, 1], 'each says how far it heard')
    gateway.say({ op: 1, d: null })
    await until(() => gateway.beats.length === 4)
    t.equal(gateway.guests.length, 1)
  },
)

t.test('a connection that does not answer heartbeats is left, and its session goes on over the next', async (t) => {
  const clock = manualClock()
  const { server, presses } = await heard(t, { clock })
  const { gateway } = server
  await untilAt(clock, 10, gateway.isListened)
  gateway.answersBeats = false
  await untilAt(clock, 5000, () => gateway.guests.length === 2)
  t.equal(gateway.guests[0]!.closedWith, 4000, 'so that the session is kept')
  gateway.answersBeats = true
  await untilAt(clock, 10, () => gateway.resumed === 1 && gateway.isListened())
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
  t.equal(gateway.identified.length, 1)
})

t.test('a dead line is found out', async (t) => {
  const clock = manualClock()
  const { server } = await heard(t, { clock })
  const { gateway } = server
  await untilAt(clock, 10, gateway.isListened)
  gateway.freeze()
  await untilAt(clock, 10_000, () => gateway.guests.length === 2)
  await untilAt(clock, 10, () => gateway.resumed === 1)
})

t.test('after a break the session goes on, and what was missed is handled, none of it twice', async (t) => {
  const { server, presses } = await listening(t)
  const { gateway } = server
  await server.press(server.messages[0]!, 'Approve', maria)
  for (let times = 1; times <= 2; times++) {
    gateway.drop()
    // Nobody is there to hear it.
    const answer = await server.press(server.messages[0]!, 'Deny', maria)
    t.same(answer, { type: 6 })
    t.equal(gateway.resumed, times)
  }
  t.equal(presses.length, 3)
  t.equal(gateway.identified.length, 1)
  t.equal(gateway.guests.at(-1)!.url.pathname, '/resume', 'where Discord said')
})

t.test('asked to reconnect it comes back with the same session', async (t) => {
  const clock = manualClock()
  const { server, presses, warned } = await heard(t, { clock })
  const { gateway } = server
  await untilAt(clock, 10, gateway.isListened)
  gateway.reconnect()
  await untilAt(clock, 500, () => gateway.resumed === 1 && gateway.isListened())
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
  t.equal(gateway.guests[0]!.closedWith, 4000)
  t.same(warned, [])
})

t.test(
  'a session that is no good now goes on later, one that is gone is begun anew, never twice in five seconds',
  async (t) => {
    const clock = manualClock()
    const { server, presses, warned } = await heard(t, { clock })
    const { gateway } = server
    await untilAt(clock, 10, gateway.isListened)
    gateway.invalidate(true)
    await settled()
    t.equal(gateway.guests.length, 1)
    await untilAt(clock, 500, () => gateway.resumed === 1 && gateway.isListened())
    t.equal(gateway.identified.length, 1)
    gateway.invalidate(false)
    await untilAt(clock, 500, () => gateway.isListened())
    t.equal(gateway.identified.length, 2)
    // Gone without a word: it tries to go on, and is told.
    gateway.forget()
    gateway.drop()
    await untilAt(clock, 500, () => gateway.isListened())
    t.equal(gateway.identified.length, 3)
    const [first, second, third] = gateway.identified
    t.ok(second! - first! >= 5000 && third! - second! >= 5000)
    await server.press(server.messages[0]!, 'Approve', maria)
    t.equal(presses.length, 1)
    t.ok(warned.length <= 1)
  },
)

for (const code of [4003, 4007, 4009]) {
  t.test(`after ${code} another session is begun`, async (t) => {
    const clock = manualClock()
    const { server } = await heard(t, { clock })
    const { gateway } = server
    await untilAt(clock, 10, gateway.isListened)
    gateway.close(code)
    await untilAt(clock, 500, () => gateway.identified.length === 2 && gateway.isListened())
    t.equal(gateway.resumed, 0)
  })
}

for (const code of [1000, 1001, 4000, 4001, 4002, 4005, 4008]) {
  t.test(`after ${code} the session goes on`, async (t) => {
    const clock = manualClock()
    const { server } = await heard(t, { clock })
    const { gateway } = server
    await untilAt(clock, 10, gateway.isListened)
    gateway.close(code)
    await untilAt(clock, 500, () => gateway.resumed === 1 && gateway.isListened())
    t.equal(gateway.identified.length, 1)
  })
}

for (const [code, mend] of [
  [4004, /DISCORD_BOT_TOKEN/],
  [4010, /newer Holdpoint/],
  [4011, /a bot of its own/],
  [4012, /newer Holdpoint/],
  [4013, /newer Holdpoint/],
  [4014, /newer Holdpoint/],
] as const) {
  t.test(`after ${code} nobody comes back: there are links, and a sentence`, async (t) => {
    const clock = manualClock()
    const { server, chat, warned } = await heard(t, { clock })
    const { gateway } = server
    await untilAt(clock, 10, gateway.isListened)
    t.equal(chat.hasButtons(), true)
    gateway.close(code)
    await until(() => !chat.hasButtons())
    await clock.advance(3_600_000)
    t.equal(gateway.guests.length, 1)
    t.match(warned, [{ fields: { channel: 'discord' }, message: mend }])
    t.match(warned[0]!.message, /links take the place of buttons/)
    t.notMatch(JSON.stringify(warned), server.botToken)
  })
}

t.test('with a token that is no good nothing is opened: there are links, a sentence, and no second try', async (t) => {
  const clock = manualClock()
  const prepare = (server: FakeDiscord) => server.failAlwaysOf('gateway/bot', refuse(401, '401: Unauthorized'))
  const { server, chat, warned } = await heard(t, { clock, prepare })
  await until(() => !chat.hasButtons())
  await clock.advance(3_600_000)
  t.equal(server.gateway.guests.length, 0)
  t.equal(server.asides.filter(({ path }) => path.endsWith('/gateway/bot')).length, 1)
  t.match(warned, [{ fields: { error: 'the token is refused' }, message: /DISCORD_BOT_TOKEN/ }])
})

t.test(
  'where no more sessions can be begun, none is tried before there are, and meanwhile there are links',
  async (t) => {
    const clock = manualClock()
    const prepare = ({ gateway }: FakeDiscord) =>
      void (gateway.limit = { total: 1000, remaining: 0, reset_after: 7_200_000, max_concurrency: 1 })
    const { server, chat, warned, changes } = await heard(t, { clock, prepare })
    await until(() => !chat.hasButtons())
    t.same(changes, [false], 'what is pending is shown anew')
    await clock.advance(7_199_000)
    t.equal(server.gateway.guests.length, 0)
    t.equal(server.asides.filter(({ path }) => path.endsWith('/gateway/bot')).length, 1)
    server.gateway.limit.remaining = 1000
    await untilAt(clock, 1000, server.gateway.isListened)
    await until(() => chat.hasButtons())
    t.same(changes, [false, true])
    t.match(warned, [{ fields: { error: /no more sessions/ } }])
  },
)

t.test('without the network it is tried again, later and later, with one line in the log', async (t) => {
  const clock = manualClock()
  const { server, presses, warned, informed } = await heard(t, { clock, random: 1 })
  const { gateway } = server
  await untilAt(clock, 100, gateway.isListened)
  server.failAll('reset')
  gateway.refuse(503)
  gateway.drop()
  await until(async () => {
    await clock.advance(60_000)
    return server.asides.filter(({ path }) => path.endsWith('/gateway/bot')).length >= 6
  })
  t.equal(warned.filter(({ message }) => /cannot be heard/.test(message)).length, 1)
  const before = server.asides.length + server.calls.length
  await clock.advance(600_000)
  t.ok(server.asides.length + server.calls.length - before <= 12, 'once a minute at most')
  server.failAll(null)
  gateway.refuse(null)
  await untilAt(clock, 10_000, gateway.isListened)
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
  t.ok(informed.includes('discord is heard again'))
})

t.test('while the network is gone nothing is wrong with the session: it goes on once it is back', async (t) => {
  const clock = manualClock()
  const { server, presses } = await heard(t, { clock })
  const { gateway } = server
  await untilAt(clock, 10, gateway.isListened)
  server.failAll('reset')
  gateway.refuse(503)
  gateway.drop()
  await clock.advance(1000)
  const pressed = server.press(server.messages[0]!, 'Deny', maria)
  server.failAll(null)
  gateway.refuse(null)
  await untilAt(clock, 200, () => presses.length === 1)
  t.same(await pressed, { type: 6 })
  t.equal(gateway.identified.length, 1)
})

t.test('ten thousand refusals in ten minutes, which get an address banned, are far away', async (t) => {
  for (const status of [401, 403, 429]) {
    const clock = manualClock()
    const { server, stop } = await heard(t, {
      clock,
      prepare(server) {
        server.failAlwaysOf('gateway/bot', status === 401 ? refuse(403, 'no') : refuse(status, 'no'))
        server.failAlwaysOf('applications/@me', refuse(status, 'no'))
        server.failAlwaysOf('commands', refuse(status, 'no'))
      },
    })
    for (let seconds = 0; seconds < 600; seconds += 3) {
      await clock.advance(3000)
      // What is asked is answered before time goes on.
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const { length } = server.asides
    t.ok(length > 5 && length < 100, `${length} in ten minutes of ${status}`)
    await stop()
  }
})

for (const [name, reply] of [
  ['429', tooMany(0)],
  ['401', refuse(401, '401: Unauthorized')],
  ['403', refuse(403, 'Missing Access', 50001)],
] as const) {
  t.test(`nor are they near when hundreds of messages wait, and Discord answers each with ${name}`, async (t) => {
    const server = await startDiscord(t)
    const config = { ...server.config, rateLimit: 10_000, notifyRate: 1000, discordAllowedUsers: [maria.id] }
    const { submit, clock } = await build(t, { config })
    server.failAlways(reply)
    server.failAlwaysOf('edit', reply)
    const fields = { timeout_seconds: 3600 }
    await Promise.all(Array.from({ length: 200 }, (_, n) => submit({ ...fields, action: `act_${n}` })))
    for (let seconds = 0; seconds < 60; seconds++) {
      await clock.advance(1000)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const { length } = [...server.calls, ...server.asides.filter(({ method }) => method !== 'GET')]
    // In a minute; ten thousand in ten would be a thousand.
    t.ok(length > 0 && length < 200, `${length} calls`)
  })
}

t.test('an address of the Gateway that is none, or would send the token in the clear, is not gone to', async (t) => {
  for (const url of ['http://127.0.0.1:1', 'nonsense', 7]) {
    const { warned } = await heard(t, {
      prepare: (server) => server.failAlwaysOf('gateway/bot', { status: 200, body: { url } }),
    })
    await until(() => warned.some(({ message }) => /cannot be heard/.test(message)))
  }
})

function setElsewhere({ applicationId: id, publicKey, failAlwaysOf }: FakeDiscord): void {
  const body = { id, interactions_endpoint_url: 'https://x.example/i', verify_key: publicKey }
  failAlwaysOf('applications/@me', { status: 200, body })
}

t.test('where presses would go to a URL instead there are links and a sentence, until that is mended', async (t) => {
  const clock = manualClock()
  const { server, chat, warned, informed } = await heard(t, {
    clock,
    prepare: (server) => setElsewhere(server),
  })
  await until(() => !chat.hasButtons())
  t.match(warned, [{ fields: { error: /Interactions Endpoint URL/ }, message: /Take that URL away.*links/ }])
  for (let minute = 0; minute < 3; minute++) {
    await clock.advance(60_000)
    await until(() => server.asides.filter(({ path }) => path.endsWith('/@me')).length >= minute + 2)
  }
  t.equal(warned.filter(({ message }) => /Take that URL/.test(message)).length, 1)
  server.failAlwaysOf('applications/@me', null)
  await untilAt(clock, 10_000, () => chat.hasButtons())
  setElsewhere(server)
  await untilAt(clock, 600_000, () => !chat.hasButtons())
  t.ok(informed.some((one) => /there are buttons/.test(one)))
  t.equal(server.asides.filter(({ path }) => path.endsWith('/commands')).length, 1)
})

t.test('when it stops, what was taken in is finished and answered, and the connection is closed', async (t) => {
  let decide = (_: PressAnswer): void => {}
  const { server, presses, stop } = await listening(t, { answer: () => new Promise((resolve) => (decide = resolve)) })
  const pressed = server.press(server.messages[0]!, 'Approve', maria)
  await until(() => presses.length === 1)
  const stopping = stop(5000)
  decide(alert('Done.'))
  await stopping
  t.match(await pressed, { type: 4 })
  await until(() => server.gateway.guests[0]!.closedWith !== null)
  t.equal(server.gateway.guests.length, 1)
})
