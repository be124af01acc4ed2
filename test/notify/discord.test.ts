// Discord through the port: what a channel sees, what becomes of every answer, and what is wrong in words.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Alarm, Confirmation } from '../../src/core/model.js'
import type { Chat, SendOutcome } from '../../src/notify/chat.js'
import { createDiscord, type DiscordSettings } from '../../src/notify/discord.js'
import { alarmOf } from '../alarm.js'
import { person } from '../actors.js'
import { rounds } from '../rounds.js'
import { manualClock } from '../support.js'
import { denied, deploy, example, id, resolved, vote } from '../web/examples.js'
import { anyRequest, cardFor, localPage, pressOf, publicPage } from './example-cards.js'
import {
  buttonsOf,
  type DiscordMessage,
  type FakeDiscord,
  readEmbeds,
  refuse,
  startDiscord,
  tooMany,
} from './fake-discord.js'
import { parseMarkdown } from './discord-markdown.js'

const go = new AbortController().signal
const maria = '123456789012345678'

type BotSettings = Extract<DiscordSettings, { botToken: string }>

async function discord(t: Test, settings: Partial<BotSettings> = {}) {
  const server = await startDiscord(t)
  return { server, chat: botOf(server, settings) }
}

function botOf(server: FakeDiscord, settings: Partial<BotSettings> = {}): Chat {
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = server.config
  return createDiscord({ botToken, channelId, apiBase, publicKey: null, timeoutMs: 5000, ...settings }, '1.2.3')
}

async function webhook(t: Test, timeoutMs = 5000) {
  const server = await startDiscord(t)
  const { discordWebhookUrl: webhookUrl } = server.webhookConfig
  return { server, chat: createDiscord({ webhookUrl, timeoutMs }, '1.2.3') }
}

async function sent(sending: Promise<SendOutcome>) {
  const outcome = await sending
  if (outcome.kind !== 'sent' || outcome.message === undefined) throw new Error(JSON.stringify(outcome))
  return outcome.message
}

/** As it is read, without the marks of what stands in code. */
function read(message: DiscordMessage): string[] {
  return readEmbeds(message).flatMap((parts) =>
    parts
      .map(({ text }) => text)
      .join('')
      .split('\n'),
  )
}

const labelsOf = (message: DiscordMessage) => buttonsOf(message).map(({ label }) => String(label))

t.test('a message says what is asked for, by whom, how it is called and until when, and has buttons', async (t) => {
  const { server, chat } = await discord(t)
  const details = JSON.stringify({ list: 'subscribers', count: 4812 })
  const ref = await sent(chat.send(cardFor(chat, example({ details, description: 'Send it.\nNow.' })), '', 'm', go))
  const [message] = server.messages
  t.same(ref, { chat: server.channel, id: message!.id })
  t.same(read(message!), [
    '🔔 Confirmation needed',
    'Action: send_newsletter',
    'Risk: normal',
    'Rule: none is about this action',
    'Requester: newsletter-agent',
    'Session: march-campaign',
    `ID: ${id}`,
    `Digest: ${example({ details }).digest.slice(0, 16)}`,
    'Expires: 2026-03-12T14:17:10.000Z',
    'Details',
    '{',
    ' "list": "subscribers",',
    ' "count": 4812',
    '}',
    'In the words of whoever asks',
    'Send it.↵',
    'Now.',
  ])
  t.same(
    buttonsOf(message!).map(({ label, style, custom_id: data, url }) => [label, style, data ?? url]),
    [
      ['Approve', 3, pressOf('approve')],
      ['Deny', 4, pressOf('deny')],
      ['Approve for this session', 2, pressOf('session')],
      ['Open', 5, publicPage.url],
    ],
  )
  const { headers, body } = server.calls.at(-1)!
  t.match(headers['user-agent'], /^DiscordBot \(https:\S+, 1\.2\.3\)$/)
  t.equal(headers.authorization, `Bot ${server.botToken}`)
  t.same(body.allowed_mentions, { parse: [] })
})

t.test('the same message again, after an answer that was lost, is shown once', async (t) => {
  const { server, chat } = await discord(t)
  const card = cardFor(chat, example())
  server.failNext('lose answer')
  t.match(await chat.send(card, '', 'notice:1', go), { kind: 'failed' })
  const again = await sent(chat.send(card, '', 'notice:1', go))
  t.equal(server.messages.length, 1)
  t.equal(again.id, server.messages[0]!.id)
  await sent(chat.send(card, '', 'notice:2', go))
  t.equal(server.messages.length, 2)
})

t.test('a page that is not public is a line of its own, and so is an address that no button takes', async (t) => {
  const { server, chat } = await discord(t)
  const long = { ...publicPage, url: `https://holdpoint.example.com/view/${'x'.repeat(500)}` }
  for (const page of [localPage, long]) {
    await sent(chat.send(cardFor(chat, example(), { page }), '', page.url, go))
    const message = server.messages.at(-1)!
    t.ok(read(message).includes(`See and decide it: ${page.url}`))
    t.notOk(buttonsOf(message).some(({ url }) => url !== undefined))
  }
})

t.test('what is asked once more stands in the message', async (t) => {
  const { server, chat } = await discord(t)
  const asking = { verb: 'approve', by: 'maria_l' } as const
  const confirmation = example({ action: 'deploy_production' })
  await sent(chat.send(cardFor(chat, confirmation, { asking }), '', 'm', go))
  const [message] = server.messages
  t.same(read(message!).slice(0, 2), [
    '❓ Are you sure?',
    `Approve deploy_production, digest ${confirmation.digest.slice(0, 8)}? Only maria_l can say yes.`,
  ])
  t.same(labelsOf(message!), ['Yes, approve', 'Back', 'Open'])
})

t.test('a request that several must approve says who, and how far it is', async (t) => {
  const { server, chat } = await discord(t)
  await sent(chat.send(cardFor(chat, deploy), '', 'm', go))
  const lines = read(server.messages[0]!)
  t.ok(lines.includes('Risk: HIGH'))
  t.ok(lines.includes('Needs: 2 different people (1 from platform, 1 from finance); one denial ends it'))
  t.ok(lines.includes('Votes (1 of 2): ines.castro approved'))
})

t.test('an edit changes the message in its place, and takes its buttons', async (t) => {
  const { server, chat } = await discord(t)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'sent' })
  t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'sent' }, 'what is not modified is no error')
  t.equal(server.messages.length, 1)
  const [message] = server.messages
  t.equal(message!.edits, 2)
  t.same(read(message!).slice(0, 2), ['❌ Denied', 'By: paul.weber'])
  t.same(labelsOf(message!), ['Open'])
  t.match(await chat.editText(ref, { lines: [[{ ours: 'over' }]], link: null }, go), { kind: 'sent' })
  t.same(read(message!), ['over'])
  t.same(labelsOf(message!), [])
})

t.test(
  'a message that was deleted, or is no longer ours, cannot be edited, which is about that message alone',
  async (t) => {
    const { server, chat } = await discord(t)
    const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
    server.deleteMessage(ref.id)
    t.same(await chat.edit(ref, cardFor(chat, denied), go), {
      kind: 'refused',
      fault: 'message',
      error: '404 Unknown Message',
    })
    server.failNextOf('edit', refuse(403, 'Cannot edit a message authored by another user', 50005))
    t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'refused', fault: 'message' })
    server.barred = 'access'
    t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'refused', fault: 'channel' })
  },
)

t.test('somebody is written to in a place of their own, which is looked for once', async (t) => {
  const { server, chat } = await discord(t)
  const card = cardFor(chat, example())
  const ref = await sent(chat.send(card, maria, 'm', go))
  t.equal(ref.chat, `7${maria}`)
  t.same(labelsOf(server.messages[0]!).slice(0, 2), ['Approve', 'Deny'], 'with buttons')
  t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'sent' })
  await sent(chat.send(card, maria, 'n', go))
  t.equal(server.asides.filter(({ path }) => path.endsWith('/users/@me/channels')).length, 1)
  t.equal(chat.isPrivate(maria), true)
  t.equal(chat.isPrivate(''), false)
})

t.test('that somebody cannot be written to is no fault of the channel', async (t) => {
  const { server, chat } = await discord(t)
  const card = cardFor(chat, example())
  server.block(maria)
  t.same(await chat.send(card, maria, 'm', go), {
    kind: 'refused',
    fault: 'message',
    error: '403 Cannot send messages to this user',
  })
  t.match(await chat.send(card, 'nobody', 'm', go), { kind: 'refused', fault: 'message' })
  t.match(await chat.send(card, '../../users/@me', 'm', go), { kind: 'refused', fault: 'message' })
  server.failNextOf('users/@me/channels', refuse(401, '401: Unauthorized'))
  t.match(await chat.send(card, '1', 'm', go), { kind: 'refused', fault: 'channel' })
  t.match(await chat.send(card, '', 'm', go), { kind: 'sent' })
})

t.test('an alarm says what happened and what to do', async (t) => {
  const { server, chat } = await discord(t)
  const alarm: Alarm = alarmOf({ reason: 'nine denials ``` in a row' })
  await sent(chat.sendAlarm(alarm, go))
  await sent(chat.sendAlarm(alarm, go))
  t.equal(server.messages.length, 1, 'the same once')
  t.same(read(server.messages[0]!), [
    '⛔ Session suspended',
    'nine denials ˋˋˋ in a row',
    'Session',
    's-1',
    'Requester',
    'bot',
    'To resume it',
    'holdpoint sessions resume s-1',
    'Or',
    'POST /sessions/s-1/resume',
    '1970-01-01T00:00:00.000Z',
  ])
})

t.test('an alarm of long and hostile texts fits', async (t) => {
  const { server, chat } = await discord(t)
  const hostile = '<@1>`\u202e'.repeat(20_000)
  await sent(chat.sendAlarm(alarmOf({ reason: hostile, requester: hostile, sessionKey: hostile }), go))
  t.ok(
    readEmbeds(server.messages[0]!)
      .flat()
      .every(({ kind }) => kind === 'text' || kind === 'code' || kind === 'block'),
  )
})

t.test('lines of ours go out with what others said in code, in reply to what they answer', async (t) => {
  const { server, chat } = await discord(t)
  const ours = ', asked by *nobody* & <@1> :smile: until https://x.example'
  const lines = [[{ bold: 'Waiting #1' }], [{ theirs: '*`a`* <@1>' }, { ours }]]
  const replyTo = { chat: server.channel, id: '17' }
  await sent(chat.sendText({ lines, link: { label: 'Open', url: publicPage.url }, replyTo }, '', 'm', go))
  const [message] = server.messages
  t.equal(message!.replyTo, '17')
  t.same(readEmbeds(message!), [
    [
      { kind: 'bold', text: 'Waiting #1' },
      { kind: 'text', text: '\n' },
      { kind: 'code', text: '*ˋaˋ* <@1>' },
      { kind: 'text', text: ours },
    ],
  ])
  t.equal(buttonsOf(message!)[0].url, publicPage.url)
})

t.test('more lines than a message takes are as many as it takes', async (t) => {
  const { server, chat } = await discord(t)
  const theirs = '*'.repeat(400)
  const lines = Array.from({ length: 200 }, () => [{ theirs }, { ours: theirs }, { theirs }])
  await sent(chat.sendText({ lines, link: null }, '', 'm', go))
  const [{ description }] = server.messages[0]!.embeds
  t.ok(description.length > 2500)
  t.match(description, /\n…$/)
})

// -- hostile texts -----------------------------------------------------------------------------------------------------

const attacks: [name: string, text: string, written?: string][] = [
  ['a mention of all', '@everyone @here'],
  ['a mention of somebody', '<@123456789012345678> <@!1> <@&2> <#3> </approve:4> <id:guide>'],
  ['a link that looks like another', '[https://holdpoint.example.com](https://evil.example)'],
  ['an address', 'https://evil.example <https://evil.example> discord://x'],
  ['formatting', '**bold** __under__ *it* _it_ ~~no~~ ||hidden||'],
  [
    'lines that mean something',
    '# big\n-# small\n> said\n>>> all\n- one\n1. two',
    '# big↵\n-# small↵\n> said↵\n>>> all↵\n- one↵\n1. two',
  ],
  ['an emoji', ':white_check_mark: <:tick:123456789012345678> <a:tick:1>'],
  ['a time', '<t:1700000000:R>'],
  ['an escape', '\\` \\', '\\\\ˋ \\\\'],
  ['a fence', '```js\nfree\n```', 'ˋˋˋjs↵\nfree↵\nˋˋˋ'],
  ['a look-alike of a fence', 'ˋ', '\\u{2cb}'],
  ['lines like ours', 'ok\n**Risk:** low\nDigest: 0000', 'ok↵\n**Risk:** low↵\nDigest: 0000'],
  ['a reversal', 'a\u202eb', 'a\\u{202e}b'],
]
for (const [name, text, written = text] of attacks) {
  t.test(`${name} in a description stays what it is: text in code`, async (t) => {
    const { server, chat } = await discord(t)
    await sent(chat.send(cardFor(chat, example({ description: text })), '', 'm', go))
    const parts = readEmbeds(server.messages[0]!).flat()
    t.same(
      parts.filter(({ kind }) => kind === 'block').map(({ text }) => text),
      [JSON.stringify(JSON.parse(example().details), null, 1), written],
    )
    t.ok(parts.every(({ kind }) => ['text', 'bold', 'code', 'block'].includes(kind)))
  })
}

t.test(
  'what is looked for is found: each of the attacks means something where it does not stand in code',
  async (t) => {
    const inert = ['an escape', 'a look-alike of a fence', 'a reversal', 'a fence']
    for (const [name, text] of attacks.filter(([name]) => !inert.includes(name))) {
      t.ok(
        parseMarkdown(text).some(({ kind }) => kind !== 'text'),
        name,
      )
    }
  },
)

t.test(
  'whatever an agent writes stands in code, below our own lines, and is approved only if all of it is there',
  async (t) => {
    const { server, chat } = await discord(t)
    const hook = createDiscord({ webhookUrl: server.webhookConfig.discordWebhookUrl, timeoutMs: 5000 }, '1.2.3')
    let count = 0
    await fc.assert(
      fc.asyncProperty(anyRequest, fc.boolean(), fc.boolean(), async (request, isOver, isHook) => {
        const asked = isOver ? resolved(request, 'denied', 'paul.weber', request.description) : request
        const through = isHook ? hook : chat
        const outcome = await through.send(cardFor(through, asked), '', String((count += 1)), go)
        if (outcome.kind !== 'sent') throw new Error(outcome.error)
        const message = server.messages.pop()!
        const parts = readEmbeds(message).flat()
        const ours = parts.filter(({ kind }) => kind === 'text' || kind === 'bold').map(({ text }) => text)
        const labels = parts.filter(({ kind }) => kind === 'bold').map(({ text }) => text.replace(/ \(.*\)/, ''))
        const isWhole = !parts.some(({ text }) => /\\\{cut: |\[masked\]/.test(text))
        const canApprove = buttonsOf(message).some(({ custom_id: data }) => /^(approve|session):/.test(data ?? ''))
        return (
          parts.every(({ kind }) => ['text', 'bold', 'code', 'block'].includes(kind)) &&
          // What is no code is ours: none of it is what anybody may write.
          ours.every((text) => !/evil|forged|漢|👍|&|xx/.test(text)) &&
          labels[0] === (isOver ? 'By:' : 'Action:') &&
          new Set(labels).size === labels.length &&
          (isOver || isHook ? !canApprove : canApprove === isWhole)
        )
      }),
      rounds(100),
    )
  },
)

t.test('as much as there can be fits, and no fact is pushed out', async (t) => {
  const { server, chat } = await discord(t)
  const long = '<@1>*'.repeat(1000)
  const asked = { action: long, requester: long, onBehalfOf: long, sessionKey: long, description: long }
  const details = JSON.stringify({ long })
  const seats = Array.from({ length: 5 }, (_, n) => ({ count: 1, group: `${'*'.repeat(60)}${n}`, members: [] }))
  const terms = { rule: long, approvals: 5, seats, mustType: true, mayWhitelist: false }
  const votes = Array.from({ length: 4 }, (_, n) => vote(person(`${'_'.repeat(90)}${n}`)))
  const pending: Confirmation = { ...example({ ...asked, details }, terms), votes }
  const url = `http://127.0.0.1:6001/${'_'.repeat(400)}`
  for (const confirmation of [pending, resolved(pending, 'denied', person('_'.repeat(99)), long)]) {
    await sent(chat.send(cardFor(chat, confirmation, { page: { ...localPage, url } }), '', confirmation.status, go))
    const lines = read(server.messages.at(-1)!)
    const labels = ['Action', 'Risk', 'Rule', 'Requester', 'On behalf of', 'Session', 'ID', 'Digest']
    for (const label of labels)
      t.ok(
        lines.some((line) => line.startsWith(label)),
        label,
      )
    t.ok(lines.includes(`See and decide it: ${url}`), 'down to the last line')
  }
})

t.test('however much there is to say of ours, the message fits, and says that there is more', async (t) => {
  const { server, chat } = await discord(t)
  const card = cardFor(
    chat,
    example({ description: 'x'.repeat(2000), details: JSON.stringify({ y: 'y'.repeat(600) }) }),
  )
  const notes = Array.from({ length: 20 }, () => '*'.repeat(400))
  await sent(chat.send({ ...card, notes }, '', 'm', go))
  t.match(server.messages[0]!.embeds[0].description, /\n…$/)
})

// -- what becomes of every answer ----------------------------------------------------------------------------------------

const wrong: [name: string, reply: Parameters<FakeDiscord['failNext']>[0], outcome: object][] = [
  [
    'a wrong token',
    refuse(401, '401: Unauthorized'),
    { kind: 'refused', fault: 'channel', error: '401 401: Unauthorized' },
  ],
  ['a permission that is missing', refuse(403, 'Missing Permissions', 50013), { kind: 'refused', fault: 'channel' }],
  ['a channel without the bot', refuse(403, 'Missing Access', 50001), { kind: 'refused', fault: 'channel' }],
  ['a channel that is not there', refuse(404, 'Unknown Channel', 10003), { kind: 'refused', fault: 'channel' }],
  ['too long a message', refuse(400, 'Invalid Form Body', 50035), { kind: 'refused', fault: 'message' }],
  ['too many requests', tooMany(30), { kind: 'busy', retryAfterMs: 30_000 }],
  ['too many, by fractions', tooMany(1.337), { kind: 'busy', retryAfterMs: 1337 }],
  [
    'too many, in the header',
    { status: 429, headers: { 'retry-after': '7' }, body: '' },
    { kind: 'busy', retryAfterMs: 7000 },
  ],
  ['too many, and no wish', { status: 429, body: '' }, { kind: 'busy', retryAfterMs: 5000 }],
  ['too many, and no pause', tooMany(0), { kind: 'busy', retryAfterMs: 1000 }],
  ['too many, for ever', tooMany(1e12), { kind: 'busy', retryAfterMs: 86_400_000 }],
  ['too many, and nonsense', tooMany('soon'), { kind: 'busy', retryAfterMs: 5000 }],
  ['a fault of its own', { status: 502, body: '<html>' }, { kind: 'failed' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }, { kind: 'failed' }],
  ['a page', { status: 200, body: '<html>welcome</html>' }, { kind: 'failed' }],
  ['a list', { status: 200, body: [] }, { kind: 'failed' }],
  ['without an id', { status: 200, body: {} }, { kind: 'failed' }],
]
for (const [name, reply, outcome] of wrong) {
  t.test(`an answer that is ${name} is ${JSON.stringify(outcome)}`, async (t) => {
    const { server, chat } = await discord(t)
    server.failNext(reply)
    t.match(await chat.send(cardFor(chat, example()), '', 'm', go), outcome)
  })
}

t.test('no answer, a broken and a late one have failed, and so has one that is called off', async (t) => {
  const { server, chat } = await discord(t, { timeoutMs: 50 })
  const send = (stop = go) => chat.send(cardFor(chat, example()), '', 'm', stop)
  server.failNext('reset', 'hang')
  t.match(await send(), { kind: 'failed', error: /^network error/ })
  t.match(await send(), { kind: 'failed', error: 'no answer in time' })
  t.match(await send(AbortSignal.abort()), { kind: 'failed', error: 'called off' })
})

t.test('an answer that does not say where the message is cannot be followed', async (t) => {
  const { server, chat } = await discord(t)
  server.failNext({ status: 200, body: { id: '9' } })
  t.same(await chat.send(cardFor(chat, example()), '', 'm', go), { kind: 'sent' })
})

t.test('no token is in an error, and no error steers a terminal', async (t) => {
  const { server, chat } = await discord(t)
  server.failNext(refuse(400, `\u001b[2J ${server.botToken} ${'x'.repeat(5000)}`))
  const { error } = (await chat.send(cardFor(chat, example()), '', 'm', go)) as { error: string }
  t.match(error, '400 \\u{1b}[2J [token] xxx')
  t.ok(error.length <= 300)
})

t.test('the pace of the real one is busy, and passes', async (t) => {
  const { server, chat } = await discord(t)
  const clock = manualClock()
  server.keepPace(clock.now)
  const send = (name: string) => chat.send(cardFor(chat, example()), '', name, go)
  for (let n = 0; n < 5; n++) t.match(await send(String(n)), { kind: 'sent' })
  t.match(await send('5'), { kind: 'busy', retryAfterMs: 5000 })
  await clock.advance(5000)
  t.match(await send('5'), { kind: 'sent' })
})

// -- a webhook -----------------------------------------------------------------------------------------------------------

t.test('a webhook shows the same with a link, and nothing to press', async (t) => {
  const { server, chat } = await webhook(t)
  t.equal(chat.hasButtons(), false)
  t.equal(chat.hear, null)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  const [message] = server.messages
  t.same(read(message!).slice(0, 2), ['🔔 Confirmation needed', 'Action: send_newsletter'])
  t.same(
    buttonsOf(message!).map(({ style, url }) => [style, url]),
    [[5, publicPage.url]],
  )
  t.match(server.calls.at(-1)!.headers, { 'user-agent': /^DiscordBot \(/, authorization: undefined })
  t.match(await chat.edit(ref, cardFor(chat, denied, { page: null }), go), { kind: 'sent' })
  t.equal(read(message!)[0], '❌ Denied')
  t.same(buttonsOf(message!), [])
})

t.test('a webhook writes to its own channel alone', async (t) => {
  const { server, chat } = await webhook(t)
  t.match(await chat.send(cardFor(chat, example()), maria, 'm', go), { kind: 'refused', fault: 'message' })
  t.same(server.messages, [])
})

t.test('a webhook that is gone is gone for good; a message of it that is gone is not', async (t) => {
  const { server, chat } = await webhook(t)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  server.deleteMessage(ref.id)
  t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'refused', fault: 'message' })
  server.deleteWebhook()
  t.same(await chat.send(cardFor(chat, example()), '', 'n', go), {
    kind: 'refused',
    fault: 'gone',
    error: '404 Unknown Webhook',
  })
})

t.test('the secret of a webhook is in no error', async (t) => {
  const { server, chat } = await webhook(t)
  server.failNext(refuse(400, `no ${server.webhookToken}`), 'reset')
  t.match(await chat.send(cardFor(chat, example()), '', 'm', go), { error: '400 no [token]' })
  t.notMatch(JSON.stringify(await chat.send(cardFor(chat, example()), '', 'm', go)), server.webhookToken)
})

// -- the probe -----------------------------------------------------------------------------------------------------------

t.test('the test of a bot tells nobody anything, and says what is wrong and how to mend it', async (t) => {
  const { server, chat } = await discord(t)
  t.same(await chat.probe(go), { state: 'reachable', as: 'hold' })
  t.same(server.messages, [])
  const refused = (error: string | RegExp, mend: RegExp) => ({ state: 'refused', error, mend })
  const of = (settings: Partial<BotSettings>) => botOf(server, settings).probe(go)
  t.match(
    await of({ botToken: 'wrong' }),
    refused('users/@me: 401 401: Unauthorized', /Reset Token.*DISCORD_BOT_TOKEN/),
  )
  t.match(
    await of({ channelId: '99' }),
    refused('the channel: 404 Unknown Channel', /DISCORD_HOME_CHANNEL.*Copy Channel ID/),
  )
  const wrongBase = server.config.discordApiBase.replace('/api/v10', '/elsewhere')
  t.match(await of({ apiBase: wrongBase }), refused(/^users\/@me: 404/, /./))

  server.barred = 'access'
  t.match(await chat.probe(go), refused('the channel: 403 Missing Access', /View Channel.*in that server/))
  server.barred = null
  server.home.type = 4
  t.match(await chat.probe(go), refused('the channel: nothing can be written there', /text channel/))
  server.home.type = 0
  server.guild.isMember = false
  t.match(await chat.probe(go), refused('the server: 404 Unknown Guild', /./))
  server.guild.isMember = true
  server.failNextOf('users/@me', { status: 503, body: '' })
  t.match(await chat.probe(go), { state: 'unreachable', error: /^users\/@me: 503/ })
  server.failNextOf('users/@me', tooMany(3))
  t.match(await chat.probe(go), { state: 'unreachable', error: /^users\/@me: 429/ })
  server.failNextOf('users/@me', 'reset')
  t.match(await chat.probe(go), { state: 'unreachable', error: /^network error/ })
})

const bits = { view: 1n << 10n, send: 1n << 11n, embed: 1n << 14n, all: (1n << 10n) | (1n << 11n) | (1n << 14n) }

t.test('the test names the permission that is missing, by roles and by what the channel says otherwise', async (t) => {
  const { server, chat } = await discord(t)
  const role = '1',
    everyone = server.guild.roles[0]!
  const lacks = (names: string) => ({
    state: 'refused',
    error: `the channel: the bot lacks ${names}`,
    mend: new RegExp(`Give the bot or its role ${names} there`),
  })
  const deny = (id: string, bits: bigint) => ({ id, deny: String(bits), allow: '0' })
  const allow = (id: string, bits: bigint) => ({ id, deny: '0', allow: String(bits) })
  everyone.permissions = String(bits.view | bits.send)
  t.match(await chat.probe(go), lacks('Embed Links'))
  everyone.permissions = '0'
  t.match(await chat.probe(go), lacks('View Channel, Send Messages, Embed Links'))
  server.guild.roles.push({ id: role, permissions: String(bits.all) })
  t.match(await chat.probe(go), lacks('View Channel, Send Messages, Embed Links'), 'of a role that it does not have')
  server.guild.memberRoles = [role]
  t.match(await chat.probe(go), { state: 'reachable' })
  server.home.permission_overwrites = [deny(everyone.id, bits.send)]
  t.match(await chat.probe(go), lacks('Send Messages'))
  server.home.permission_overwrites = [deny(everyone.id, bits.send), allow(role, bits.send)]
  t.match(await chat.probe(go), { state: 'reachable' })
  server.home.permission_overwrites = [allow(role, bits.send), deny(server.botId, bits.embed)]
  t.match(await chat.probe(go), lacks('Embed Links'))
  server.guild.roles[1]!.permissions = String(1n << 3n)
  t.match(await chat.probe(go), { state: 'reachable' }, 'an administrator lacks nothing')
  server.guild.roles[1]!.permissions = '0'
  server.home.type = 11
  t.match(await chat.probe(go), { state: 'reachable' }, 'of a thread nothing can be said')
})

t.test('the test says so if presses would come in another way', async (t) => {
  const { server, chat } = await discord(t)
  const refused = (error: RegExp, mend: RegExp) => ({ state: 'refused', error, mend })
  const called = botOf(server, { publicKey: server.publicKey })
  t.match(await called.probe(go), refused(/has no Interactions Endpoint URL/, /\/chat\/discord.*DISCORD_PUBLIC_KEY/))
  t.match(
    await botOf(server, { publicKey: 'ab'.repeat(32) }).probe(go),
    refused(/not the public key/, /Copy the Public Key/),
  )
  server.failAlwaysOf('applications/@me', {
    status: 200,
    body: { id: server.applicationId, interactions_endpoint_url: 'https://x.example/i', verify_key: server.publicKey },
  })
  t.match(await chat.probe(go), refused(/not through the Gateway/, /Take that URL away.*DISCORD_PUBLIC_KEY/))
  t.match(await called.probe(go), { state: 'reachable' })
})

t.test('the test of a webhook asks whether it is there', async (t) => {
  const { server, chat } = await webhook(t)
  t.same(await chat.probe(go), { state: 'reachable', as: null })
  server.deleteWebhook()
  t.match(await chat.probe(go), {
    state: 'refused',
    error: 'the webhook: 404 Unknown Webhook',
    mend: /Make another webhook.*DISCORD_WEBHOOK_URL/,
  })
  t.same(server.messages, [])
})
