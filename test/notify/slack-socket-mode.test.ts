// What is heard from Slack: who pressed what, what was written into a form and behind the command, each acknowledged at once;
// and sockets that end in every way.
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.js'
import type { Chat, Ears, Press, PressAnswer, Words } from '../../src/notify/chat.js'
import { createSlack, type SlackSettings } from '../../src/notify/slack.js'
import { manualClock, until } from '../support.js'
import { example } from '../web/examples.js'
import { cardFor, pressOf } from './example-cards.js'
import { type FakeSlack, no, startSlack } from './fake-slack.js'

const go = new AbortController().signal
const maria = { id: 'U0MARIA' }
const nothing: PressAnswer = { kind: 'whisper', text: 'Approved.', isAlert: false }

interface Heard {
  server: FakeSlack
  chat: Chat
  presses: Press[]
  words: Words[]
  warned: { fields: any; message: string }[]
  stop(graceMs?: number): Promise<void>
}

/** A chat that is listened to, with one message in its channel. */
async function heard(
  t: Test,
  answer: (press: Press) => PressAnswer | Promise<PressAnswer> = () => nothing,
  settings: Partial<SlackSettings> = {},
  clock: Ears['clock'] = systemClock(),
  prepare: (server: FakeSlack) => void = () => {},
): Promise<Heard> {
  const server = await startSlack(t)
  prepare(server)
  const {
    slackBotToken: botToken,
    slackAppToken: appToken,
    slackChannel: channelId,
    slackApiBase: apiBase,
  } = server.config
  const chat = createSlack({ botToken, appToken, channelId, apiBase, timeoutMs: 5000, ...settings })
  const presses: Press[] = []
  const words: Words[] = []
  const warned: Heard['warned'] = []
  await chat.send(cardFor(chat, example()), '', 'm', go)
  const hearing = chat.hear!({
    async press(press) {
      presses.push(press)
      return answer(press)
    },
    async say(one) {
      words.push(one)
    },
    cursor: async () => null,
    heard: async () => {},
    buttonsChanged() {},
    commands: [],
    log: { info() {}, warn: (fields, message) => void warned.push({ fields, message }) },
    clock,
    random: () => 0,
  })
  let isStopped = false
  const stop = async (graceMs = 0) => {
    if (isStopped) return
    isStopped = true
    await hearing.stop(graceMs)
  }
  t.teardown(stop)
  return { server, chat, presses, words, warned, stop }
}

t.test('a press is acknowledged and says who pressed which button of which message', async (t) => {
  const { server, presses } = await heard(t)
  const [message] = server.messages
  await server.press(message!, 'Approve', maria)
  t.same(presses, [
    {
      by: { channel: 'slack', id: 'U0MARIA', isNobody: false },
      data: pressOf('approve'),
      message: { chat: server.channel, id: message!.ts },
      reason: null,
    },
  ])
  t.same(server.whispers, [], 'the message says what came of it')
})

t.test('what must be noticed is shown to the presser alone', async (t) => {
  const { server } = await heard(t, () => ({ kind: 'whisper', text: 'Not yours: send_mail <b>', isAlert: true }))
  await server.press(server.messages[0]!, 'Deny', maria)
  await until(() => server.whispers.length === 1)
  t.same(server.whispers, [{ channel: server.channel, user: 'U0MARIA', text: 'Not yours: `send_mail` &lt;b&gt;' }])
})

t.test('somebody of another workspace has its id in front, and is whispered to by their own', async (t) => {
  const { server, presses } = await heard(t, () => ({ kind: 'whisper', text: 'No.', isAlert: true }))
  await server.press(server.messages[0]!, 'Deny', { id: 'U0MARIA', team: 'T0OTHER' })
  t.match(presses[0]!.by, { id: 'T0OTHER:U0MARIA', isNobody: false })
  await until(() => server.whispers.length === 1)
  t.equal(server.whispers[0]!.user, 'U0MARIA')
})

t.test('whoever has no id of a person, or no workspace, is nobody', async (t) => {
  const { server, presses } = await heard(t)
  const ids: unknown[] = ['USLACKBOT', 'B0BOT', '', 7, null, 'U0MARIA:T1', 'u0maria']
  for (const id of ids) await server.forge('x', { id: id as string })
  for (const team of ['', 'U1', null]) await server.forge('x', { id: 'U0MARIA', team: team as string })
  t.equal(presses.length, ids.length + 3)
  // Without one of their own it is that of the press.
  t.same(
    presses.map(({ by }) => by.isNobody),
    [...ids.map(() => true), true, true, false],
  )
})

t.test('a press that comes from no message says so, and a link that was opened is none', async (t) => {
  const { server, presses } = await heard(t)
  await server.forge('anything', maria, null)
  t.match(presses, [{ data: 'anything', message: null }])
  await server.press(server.messages[0]!, 'Open', maria)
  await server.forge(7, maria)
  t.equal(presses.length, 1)
})

t.test('a form is opened by a press, and what is written in it comes back with what the button sent', async (t) => {
  const form: PressAnswer = {
    kind: 'form',
    title: 'Deny',
    label: 'Reason (optional)',
    data: 'deny:token',
    isRequired: false,
  }
  const { server, presses } = await heard(t, ({ reason }) => (reason === null ? form : nothing))
  const message = { chat: server.channel, id: server.messages[0]!.ts }
  await server.press(server.messages[0]!, 'Deny', maria)
  await until(() => server.forms.length === 1)
  const { view } = server.forms[0]!
  t.equal(view.title.text, 'Deny')
  t.match(view.blocks, [{ type: 'input', optional: true, label: { text: 'Reason (optional)' } }])
  await server.submit('not today <3', maria)
  await server.submit(null, maria)
  t.match(presses.slice(1), [
    { data: 'deny:token', message, reason: 'not today <3', by: { id: 'U0MARIA' } },
    { data: 'deny:token', message, reason: '' },
  ])
})

t.test('a refusal of what a form brought is shown to whoever sent it', async (t) => {
  const form: PressAnswer = { kind: 'form', title: 'Deny', label: 'Reason', data: 'deny:token', isRequired: true }
  const no: PressAnswer = { kind: 'whisper', text: 'It is over.', isAlert: true }
  const { server } = await heard(t, ({ reason }) => (reason === null ? form : no))
  await server.press(server.messages[0]!, 'Deny', maria)
  await until(() => server.forms.length === 1)
  t.match(server.forms[0]!.view.blocks, [{ optional: false }])
  await server.submit('late', maria)
  await until(() => server.whispers.length === 1)
  t.equal(server.whispers[0]!.text, 'It is over.')
})

t.test('a form that comes too late is told, and no press is lost without a word', async (t) => {
  const form: PressAnswer = { kind: 'form', title: 'Deny', label: 'Reason', data: 'deny:token', isRequired: true }
  const { server, warned } = await heard(t, () => form)
  server.expireTriggers()
  await server.press(server.messages[0]!, 'Deny', maria)
  await until(() => server.whispers.length === 1)
  t.match(server.whispers[0]!.text, /Press again/)
  t.match(warned, [{ fields: { error: 'expired_trigger_id' }, message: /form/ }])
})

t.test('a press is acknowledged in time, however long it takes to be decided', async (t) => {
  let decide = (_: PressAnswer): void => {}
  const { server } = await heard(t, () => new Promise((resolve) => (decide = resolve)))
  await server.press(server.messages[0]!, 'Approve', maria)
  t.same(server.whispers, [])
  decide({ kind: 'whisper', text: 'At last.', isAlert: true })
  await until(() => server.whispers.length === 1)
})

t.test('an envelope that comes again is acknowledged again, and heard once', async (t) => {
  const { server, presses } = await heard(t)
  const envelope = await server.press(server.messages[0]!, 'Approve', maria)
  await server.redeliver(envelope)
  server.drop()
  await server.redeliver(envelope)
  t.equal(presses.length, 1)
})

t.test('the command says what is written behind it, in the channel of the settings or in private', async (t) => {
  const { server, words } = await heard(t)
  await server.write('deny abc123 a < b & c', maria)
  await server.write(' /pending ', maria, 'C0ELSE')
  await server.write('', { id: 'U0MARIA', team: 'T0OTHER' }, 'D0DIRECT')
  t.match(words, [
    { text: '/deny abc123 a < b & c', place: server.channel, isHome: true, isPrivate: false, by: { id: 'U0MARIA' } },
    { text: '/pending', place: 'C0ELSE', isHome: false, isPrivate: true, replyTo: null, message: null },
    { text: '/help', isHome: false, isPrivate: true, by: { id: 'T0OTHER:U0MARIA' } },
  ])
  t.equal(new Set(words.map(({ name }) => name)).size, 3)
})

t.test('whatever else comes is acknowledged and means nothing', async (t) => {
  const { server, presses, words } = await heard(t)
  await server.say({ type: 'events_api', payload: { event: { type: 'message', text: '/approve all' } } })
  await server.say({ type: 'interactive', payload: null })
  await server.say({ type: 'interactive', payload: { type: 'block_actions', actions: 'none' } })
  await server.say({ type: 'interactive', payload: { type: 'view_submission', view: { private_metadata: '{' } } })
  await server.say({ type: 'interactive', payload: { type: 'view_submission', view: { private_metadata: '[1]' } } })
  await server.say({ type: 'interactive', payload: { type: 'shortcut' } })
  await server.say({ type: 'no such' })
  for (const guest of server.guests) guest.say({ type: 'no envelope' })
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
  t.same(words, [])
})

t.test('a connection that breaks is opened again', async (t) => {
  const { server, presses } = await heard(t)
  await server.listened()
  for (let times = 1; times <= 2; times++) {
    server.drop()
    await until(() => server.guests.length > times)
    await server.press(server.messages[0]!, 'Approve', maria)
    t.equal(presses.length, times)
  }
})

t.test('before a connection ends there is another, and what comes over either is heard', async (t) => {
  const { server, presses } = await heard(t)
  await server.listened()
  const [old] = server.guests
  server.disconnect('warning')
  await until(() => server.sockets() === 1 && server.guests.length === 2)
  await until(() => old!.closedWith !== null)
  t.equal(old!.closedWith, 1000, 'the old one is closed once the new one is greeted')
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
})

t.test('a connection that is asked to be renewed is renewed, and the old one serves until then', async (t) => {
  const { server, presses } = await heard(t)
  await server.listened()
  const [old] = server.guests
  server.refuse('hang')
  server.disconnect('refresh_requested')
  old!.say({ envelope_id: 'late', type: 'interactive', payload: pressed(server) })
  await until(() => presses.length === 1)
  server.refuse(null)
})

function pressed(server: FakeSlack) {
  const [message] = server.messages
  return {
    type: 'block_actions',
    user: { id: 'U0MARIA', team_id: server.team },
    container: { type: 'message', channel_id: message!.channel, message_ts: message!.ts },
    actions: [{ value: 'approve:x' }],
  }
}

t.test('where Socket Mode is turned off nobody comes back, and there are links instead of buttons', async (t) => {
  const { server, chat, warned } = await heard(t)
  await server.listened()
  t.equal(chat.hasButtons(), true)
  server.disconnect('link_disabled')
  await until(() => warned.some(({ message }) => /restart/.test(message)))
  t.equal(chat.hasButtons(), false)
  t.equal(server.guests.length, 1)
  t.equal(warned.filter(({ message }) => /links instead of buttons/.test(message)).length, 1)
})

for (const [what, method, word] of [
  ['the bot', 'auth.test', 'invalid_auth'],
  ['the app', 'apps.connections.open', 'token_revoked'],
] as const) {
  t.test(`with a token of ${what} that is no good there are links, a sentence, and no second try`, async (t) => {
    const fail = (server: FakeSlack) => {
      // The message first.
      const before = method === 'auth.test' ? [] : [passing]
      server.failNext(passing, ...before, no(word))
    }
    const { server, chat, warned } = await heard(t, undefined, {}, undefined, fail)
    await until(() => warned.length > 0)
    t.equal(chat.hasButtons(), false)
    t.match(warned, [{ fields: { channel: 'slack', error: `${method}: ${word}` }, message: /SLACK_APP_TOKEN/ }])
    t.equal(server.guests.length, 0)
    t.notMatch(JSON.stringify(warned), server.appToken)
  })
}

/** Does what was asked. */
const passing = Promise.resolve()

t.test('while Slack does not answer it is asked again, later and later, with one line in the log', async (t) => {
  const clock = manualClock()
  const { server, presses, warned } = await heard(t, undefined, {}, clock, (server) =>
    server.failNext(passing, 'reset', no('internal_error'), { status: 503, body: '' }, no('ratelimited')),
  )
  await until(async () => {
    await clock.advance(1000)
    return server.sockets() === 1
  })
  t.equal(warned.length, 1)
  await server.press(server.messages[0]!, 'Approve', maria)
  t.equal(presses.length, 1)
})

t.test('a dead line is found out and opened again', async (t) => {
  const clock = manualClock()
  const { server } = await heard(t, undefined, {}, clock)
  await server.listened()
  server.freeze()
  await until(async () => {
    await clock.advance(10_000)
    return server.guests.length === 2
  })
  t.pass('nothing came, not even an answer to a ping')
})

t.test('when it stops, what was taken in is finished, and the connection is closed', async (t) => {
  let decide = (_: PressAnswer): void => {}
  const { server, stop } = await heard(t, () => new Promise((resolve) => (decide = resolve)))
  await server.press(server.messages[0]!, 'Approve', maria)
  const stopping = stop(5000)
  decide({ kind: 'whisper', text: 'Done.', isAlert: true })
  await stopping
  t.equal(server.whispers.length, 1)
  await until(() => server.guests[0]!.closedWith !== null)
  t.equal(server.guests.length, 1)
})
