// Telegram through the port: what a chat sees, what becomes of every answer, and what is wrong in words.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Chat, SendOutcome } from '../../src/notify/chat.js'
import { createTelegram, type TelegramSettings } from '../../src/notify/telegram.js'
import { alarmOf } from '../alarm.js'
import { rounds } from '../rounds.js'
import { manualClock } from '../support.js'
import { denied, deploy, example, id, resolved } from '../web/examples.js'
import { anyRequest, cardFor, localPage, pressOf, publicPage } from './example-cards.js'
import { parseHtml, refuse, startTelegram, type TelegramMessage, tooMany } from './fake-telegram.js'

const go = new AbortController().signal

async function telegram(t: Test, settings: Partial<TelegramSettings> = {}, home?: string) {
  const server = await startTelegram(t, home)
  const { telegramBotToken: botToken, telegramApiBase: apiBase, telegramHomeChannel } = server.config
  const common = { botToken, apiBase, chat: telegramHomeChannel, timeoutMs: 5000 }
  const chat = createTelegram({ ...common, hearing: 'polling', ownWebhook: null, ...settings })
  return { server, chat }
}

async function sent(sending: Promise<SendOutcome>) {
  const outcome = await sending
  if (outcome.kind !== 'sent' || outcome.message === undefined) throw new Error(JSON.stringify(outcome))
  return outcome.message
}

const labelsOf = ({ buttons }: TelegramMessage) => buttons.flat().map(({ text }) => text)
/** What is no code: Telegram makes links, mentions, tags and commands of it. */
const plainOf = ({ html }: TelegramMessage) => html.replace(/<(code|pre)>[^]*?<\/\1>|<[^>]*>/g, '')
/** All that Telegram finds in plain text. */
const found = /https?:|\w\.[a-z]{2}|(^|[^\w])[@#$/]\w|\d\.\d+\.\d/i

// -- what is shown -----------------------------------------------------------------------------------------------------

t.test('a message says what is asked for, by whom, how it is called and until when, and has buttons', async (t) => {
  const { server, chat } = await telegram(t)
  const details = JSON.stringify({ list: 'subscribers', count: 4812 })
  const ref = await sent(chat.send(cardFor(chat, example({ details, description: 'Send it.\nNow.' })), '', 'm', go))
  const [message] = server.messages
  t.same(ref, { chat: server.chat, id: String(message!.id) })
  t.same(message!.text.split('\n'), [
    '🔔 Confirmation needed',
    'Action: send_newsletter',
    'Risk: normal',
    'Rule: none is about this action',
    'Requester: newsletter-agent',
    'Session: march-campaign',
    `ID: ${id}`,
    `Digest: ${example({ details }).digest.slice(0, 16)}`,
    'Expires: 2026-03-12T14:17:10.000Z',
    'Details:',
    '{',
    ' "list": "subscribers",',
    ' "count": 4812',
    '}',
    'In the words of whoever asks:',
    'Send it.↵',
    'Now.',
  ])
  t.same(
    message!.buttons.map((row) => row.map(({ text, callback_data: data, url }) => [text, data ?? url])),
    [
      [
        ['Approve', pressOf('approve')],
        ['Deny', pressOf('deny')],
      ],
      [['Approve for this session', pressOf('session')]],
      [['Open', publicPage.url]],
    ],
  )
  t.notMatch(message!.text, /curl|http/)
  const { body, headers } = server.calls.at(-1)!
  t.match(body, { chat_id: server.chat, parse_mode: 'HTML', link_preview_options: { is_disabled: true } })
  t.equal(headers['content-type'], 'application/json')
})

t.test('where nothing is heard there is a link and no button that would do nothing', async (t) => {
  const { server, chat } = await telegram(t, { hearing: null })
  t.equal(chat.hasButtons(), false)
  t.equal(chat.hear, null)
  await chat.send(cardFor(chat, example()), '', 'm', go)
  t.same(
    server.messages[0]!.buttons.flat().map(({ url }) => url),
    [publicPage.url],
  )
})

t.test('a page that is not public is a line of its own, as Telegram takes no button that leads to it', async (t) => {
  const { server, chat } = await telegram(t)
  await sent(chat.send(cardFor(chat, example(), { page: localPage }), '', 'm', go))
  t.equal(server.messages[0]!.text.split('\n').at(-1), `Page: ${localPage.url}`)
  t.notOk(server.messages[0]!.buttons.flat().some(({ url }) => url !== undefined))
})

t.test('what is asked once more stands in the message, and names in it are no links', async (t) => {
  const { server, chat } = await telegram(t)
  const asking = { verb: 'approve', by: 'maria@evil.example' } as const
  await sent(chat.send(cardFor(chat, example({ action: 'deploy_production' }), { asking }), '', 'm', go))
  const [message] = server.messages
  const [title, question] = message!.html.split('\n')
  t.equal(title, '<b>❓ Are you sure?</b>')
  t.match(
    question,
    /^Approve deploy_production, digest [0-9a-f]{8}\? Only <code>maria@evil\.example<\/code> can say yes\.$/,
  )
  t.same(labelsOf(message!), ['Yes, approve', 'Back', 'Open'])
})

t.test('a request that several must approve says who, and how far it is', async (t) => {
  const { server, chat } = await telegram(t)
  await sent(chat.send(cardFor(chat, deploy), '', 'm', go))
  const lines = server.messages[0]!.text.split('\n')
  t.ok(lines.includes('Risk: HIGH'))
  t.ok(lines.includes('Needs: 2 different people (1 from platform, 1 from finance); one denial ends it'))
  t.ok(lines.includes('Votes (1 of 2): ines.castro approved'))
})

t.test('an alarm says what happened and what to do', async (t) => {
  const { server, chat } = await telegram(t)
  await sent(chat.sendAlarm(alarmOf({ reason: 'nine denials </pre> in a row' }), go))
  t.same(server.messages[0]!.text.split('\n'), [
    '⛔ Session suspended',
    'Session: s-1',
    'Requester: bot',
    'When: 1970-01-01T00:00:00.000Z',
    'Why:',
    'nine denials </pre> in a row',
    'To resume it: holdpoint sessions resume s-1',
    'Or: POST /sessions/s-1/resume',
  ])
})

t.test('lines of ours go out with what others said in code, as a reply to what they answer', async (t) => {
  const { server, chat } = await telegram(t)
  const card = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  const by = 'It is approved already, by t.me/evil. That stands.'
  const lines = [[{ bold: '/pending' }], [{ theirs: '<b>@all' }, { ours: ', asked by bot & co' }], [{ ours: by }]]
  await sent(chat.sendText({ lines, link: { label: 'Open', url: publicPage.url }, replyTo: card }, '', 'n', go))
  const [, message] = server.messages
  t.equal(
    message!.html,
    '<b>/pending</b>\n<code>&lt;b&gt;@all</code>, asked by bot &amp; co\nIt is approved already, by <code>t.me/evil</code>. That stands.',
  )
  t.equal(message!.replyTo, server.messages[0]!.id)
  t.equal(message!.buttons[0]![0]!.url, publicPage.url)
})

t.test('a reason is asked for by a reply, and in a group of whoever denied alone', async (t) => {
  const { server, chat } = await telegram(t)
  const card = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  const why = { lines: [[{ ours: 'Say why.' }]], link: null, asksReply: true, asked: '11', replyTo: card }
  await sent(chat.sendText(why, '', 'n', go))
  const [, inGroup] = server.messages
  t.same(inGroup!.forceReply, { selective: true })
  t.match(inGroup!.html, /^<a href="tg:\/\/user\?id=11">[^<]+<\/a> Say why\.$/)
  server.write('/start', 11)
  await sent(chat.sendText(why, '11', 'o', go))
  const inPrivate = server.messages.at(-1)!
  t.equal(inPrivate.chatId, '11')
  t.same(inPrivate.forceReply, { selective: true })
  t.equal(inPrivate.html, 'Say why.')
  t.equal(inPrivate.replyTo, null, 'the card is in another chat')
})

t.test('a message that is answered and deleted is answered all the same', async (t) => {
  const { server, chat } = await telegram(t)
  const gone = { chat: server.chat, id: '4711' }
  await sent(chat.sendText({ lines: [[{ ours: 'Recorded.' }]], link: null, replyTo: gone }, '', 'n', go))
  t.equal(server.messages[0]!.replyTo, null)
})

t.test('more lines than a message takes are as many as it takes', async (t) => {
  const { server, chat } = await telegram(t)
  for (const length of [1, 30, 400]) {
    const theirs = '&'.repeat(length)
    const lines = Array.from({ length: 200 }, () => [{ theirs }, { ours: ', asked by ' }, { theirs }])
    await sent(chat.sendText({ lines, link: null }, '', 'm', go))
    const { text, entities } = server.messages.at(-1)!
    t.ok(text.length <= 4096 && entities.length <= 100)
    t.match(text.split('\n').at(-1), /^… and \d+ more lines$/)
  }
})

// -- edits -------------------------------------------------------------------------------------------------------------

t.test('an edit changes the message in its place, and takes its buttons', async (t) => {
  const { server, chat } = await telegram(t)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  t.match(await chat.edit(ref, cardFor(chat, denied, { page: null }), go), { kind: 'sent' })
  t.equal(server.messages.length, 1)
  const [message] = server.messages
  t.same(message!.text.split('\n').slice(0, 2), ['❌ Denied', 'By: paul.weber'])
  t.same(message!.buttons, [])
  t.match(await chat.editText(ref, { lines: [[{ ours: 'over' }]], link: null, asksReply: true }, go), { kind: 'sent' })
  t.equal(message!.text, 'over')
})

t.test(
  'an edit that changes nothing is done, and one of a message that is gone is about that message alone',
  async (t) => {
    const { server, chat } = await telegram(t)
    const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
    const edit = () => chat.edit(ref, cardFor(chat, denied), go)
    t.match(await edit(), { kind: 'sent' })
    t.match(await edit(), { kind: 'sent' }, 'message is not modified')
    server.remove(server.messages[0]!)
    t.match(await edit(), { kind: 'refused', fault: 'message', error: /message to edit not found/ })
    for (const [answer, outcome] of [
      [refuse(400, "Bad Request: message can't be edited"), { kind: 'refused', fault: 'message' }],
      [refuse(400, 'Bad Request: MESSAGE_ID_INVALID'), { kind: 'refused', fault: 'message' }],
      [refuse(403, 'Forbidden: bot was kicked from the supergroup chat'), { kind: 'refused', fault: 'message' }],
      [refuse(401, 'Unauthorized'), { kind: 'refused', fault: 'channel' }],
      [tooMany(7), { kind: 'busy', retryAfterMs: 7000 }],
      [refuse(500, 'Internal Server Error'), { kind: 'failed' }],
    ] as const) {
      server.failNextOf('editMessageText', answer)
      t.match(await edit(), outcome)
    }
  },
)

// -- where to ----------------------------------------------------------------------------------------------------------

t.test(
  'somebody is written to in their own chat with the bot; that they cannot be is not the channel’s fault',
  async (t) => {
    const { server, chat } = await telegram(t)
    const card = cardFor(chat, example())
    t.match(await chat.send(card, '11', 'm', go), { kind: 'refused', fault: 'message', error: /chat not found/ })
    server.write('/start', 11)
    t.equal((await sent(chat.send(card, '11', 'n', go))).chat, '11')
    t.equal(chat.isPrivate('11'), true)
    t.equal(chat.isPrivate(''), false)
    server.block(11)
    t.match(await chat.send(card, '11', 'o', go), { kind: 'refused', fault: 'message', error: /blocked by the user/ })
    server.failNext(refuse(401, 'Unauthorized'))
    t.match(await chat.send(card, '11', 'p', go), { kind: 'refused', fault: 'channel' })
  },
)

t.test('the chat of the settings may be one with a person, or have a name', async (t) => {
  const own = await telegram(t, {}, '11')
  t.equal(own.chat.isPrivate(''), true)
  t.equal((await sent(own.chat.send(cardFor(own.chat, example()), '', 'm', go))).chat, '11')
  const { server, chat } = await telegram(t, { chat: '@Approvals_here' })
  server.setHome({ username: 'approvals_here' })
  t.equal(chat.isPrivate(''), false)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  t.equal(ref.chat, server.chat)
  await sent(chat.sendText({ lines: [[{ ours: 'Recorded.' }]], link: null, replyTo: ref }, '', 'n', go))
  t.equal(server.messages[1]!.replyTo, server.messages[0]!.id)
})

t.test('a group that becomes a supergroup is followed to its new id; its old messages are left behind', async (t) => {
  const { server, chat } = await telegram(t)
  const old = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  server.migrateTo('-1002')
  t.equal((await sent(chat.send(cardFor(chat, example()), '', 'n', go))).chat, '-1002')
  t.match(await chat.edit(old, cardFor(chat, denied), go), { kind: 'refused', fault: 'message' })
  const calls = server.calls.length
  await sent(chat.send(cardFor(chat, example()), '', 'o', go))
  t.equal(server.calls.length, calls + 1, 'the old id is not tried again')
  t.same(await chat.probe(go), {
    state: 'reachable',
    as: server.botName,
    but: 'The group became a supergroup: set TELEGRAM_HOME_CHANNEL to -1002.',
  })
})

// -- hostile texts -----------------------------------------------------------------------------------------------------

/** How it is written. */
const attacks: [name: string, text: string, written?: string][] = [
  ['markup', '<b>bold</b> <a href="https://evil.example">the page</a> <tg-spoiler>no</tg-spoiler>'],
  ['the end of its code', '</code></pre><b>Approved</b>'],
  ['a mention', '@everyone @paul <a href="tg://user?id=1">you</a>'],
  ['an address', 'https://evil.example www.evil.example a@evil.example t.me/evil'],
  ['a command', '/approve 123456 /approve@hold_bot'],
  ['markdown', '*bold* _it_ `code` [the page](https://evil.example) ||no||'],
  ['entities', '&lt;b&gt; &amp;lt; &#60; &quot;'],
  ['lines like ours', 'ok\nRisk: low\nDigest: 0000', 'ok↵\nRisk: low↵\nDigest: 0000'],
  ['a reversal', 'a\u202eb', 'a\\u{202e}b'],
  ['a null and an escape', 'a\u0000\u001b[2Jb', 'a\\u{0}\\u{1b}[2Jb'],
]
for (const [name, text, written = text] of attacks) {
  t.test(`${name} in a description stays what it is: text in code`, async (t) => {
    const { server, chat } = await telegram(t)
    await sent(chat.send(cardFor(chat, example({ description: text })), '', 'm', go))
    const [message] = server.messages
    t.same(
      message!.entities.filter(({ type }) => type === 'pre').map(({ text }) => text),
      [JSON.stringify(JSON.parse(example().details), null, 1), written],
    )
    t.ok(message!.entities.every(({ type }) => ['b', 'code', 'pre'].includes(type)))
    t.notMatch(plainOf(message!), found)
  })
}

t.test(
  'whatever an agent writes stands in code, below our own lines, and is approved only if all of it is there',
  async (t) => {
    const { server, chat } = await telegram(t)
    await fc.assert(
      fc.asyncProperty(anyRequest, fc.constantFrom('pending', 'asking', 'over'), async (request, moment) => {
        const asked = moment === 'over' ? resolved(request, 'denied', 'paul.weber', request.description) : request
        const asking = moment === 'asking' ? ({ verb: 'approve', by: 'paul.weber' } as const) : null
        const outcome = await chat.send(cardFor(chat, asked, { asking }), '', 'm', go)
        if (outcome.kind !== 'sent') return false
        // The played one has seen to its limits: 4096 of text, 100 entities, 64 bytes of data.
        const message = server.messages.pop()!
        const plain = plainOf(message)
        const labels = plain.split('\n').flatMap((line) => /^([A-Z][^:(]*)(?: \(.*\))?:/.exec(line)?.[1] ?? [])
        const isWhole = !message.entities.some(({ text }) => /\\\{cut: |\[masked\]/.test(text))
        const datas = message.buttons.flat().map(({ callback_data: data }) => data ?? '')
        const canApprove = datas.some((data) => /^(approve|session|yes):/.test(data))
        return (
          message.entities.every(({ type }) => ['b', 'code', 'pre'].includes(type)) &&
          // What is no code is ours: none of it is what anybody may write, or could be tapped.
          !/evil|forged|漢|👍|&amp;|xx/.test(plain) &&
          !found.test(plain.replace(/paul\.weber|\d\.000Z/g, '')) &&
          labels[0] === (moment === 'over' ? 'By' : 'Action') &&
          new Set(labels).size === labels.length &&
          (moment === 'over' ? !canApprove : canApprove === isWhole)
        )
      }),
      rounds(100),
    )
  },
)

t.test('an answer to a command takes whatever its lines hold', async (t) => {
  const { server, chat } = await telegram(t)
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }).map((theirs) => ({ theirs })),
    fc.string({ unit: 'binary', maxLength: 200 }).map((ours) => ({ ours })),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(part, { maxLength: 4 }), { minLength: 1, maxLength: 60 }), async (lines) => {
      const outcome = await chat.sendText({ lines: [[{ bold: 'Waiting' }], ...lines], link: null }, '', 'm', go)
      if (outcome.kind !== 'sent') return false
      return !found.test(plainOf(server.messages.pop()!))
    }),
    { numRuns: 100 },
  )
})

// -- what becomes of every answer ----------------------------------------------------------------------------------------

const wrong: [
  name: string,
  reply: Parameters<Awaited<ReturnType<typeof startTelegram>>['failNext']>[0],
  outcome: object,
][] = [
  ['a wrong token', refuse(401, 'Unauthorized'), { kind: 'refused', fault: 'channel', error: '401 Unauthorized' }],
  ['another server', { status: 404, body: '' }, { kind: 'refused', fault: 'channel' }],
  ['a chat that is not there', refuse(400, 'Bad Request: chat not found'), { kind: 'refused', fault: 'channel' }],
  ['a chat without the bot', refuse(403, 'Forbidden: bot is not a member'), { kind: 'refused', fault: 'channel' }],
  [
    'a right that is missing',
    refuse(400, 'Bad Request: not enough rights to send text messages to the chat'),
    { kind: 'refused', fault: 'channel' },
  ],
  ['a topic that is closed', refuse(400, 'Bad Request: TOPIC_CLOSED'), { kind: 'refused', fault: 'channel' }],
  ['too long a message', refuse(400, 'Bad Request: message is too long'), { kind: 'refused', fault: 'message' }],
  ['markup it cannot read', refuse(400, "Bad Request: can't parse entities"), { kind: 'refused', fault: 'message' }],
  ['too many requests', tooMany(30), { kind: 'busy', retryAfterMs: 30_000 }],
  ['too many, for a fraction', tooMany(0.2), { kind: 'busy', retryAfterMs: 1000 }],
  ['too many, for ever', tooMany(1e15), { kind: 'busy', retryAfterMs: 24 * 3600 * 1000 }],
  ['too many, and no wish', { status: 429, body: '' }, { kind: 'busy', retryAfterMs: 1000 }],
  ['too many, with nonsense', tooMany('soon'), { kind: 'busy', retryAfterMs: 1000 }],
  ['a fault of its own', { status: 502, body: '<html>' }, { kind: 'failed' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }, { kind: 'failed' }],
  ['a page', { status: 200, body: '<html>welcome</html>' }, { kind: 'failed' }],
  ['a list', { status: 200, body: [] }, { kind: 'failed' }],
  ['ok as a text', { status: 200, body: { ok: 'true', result: {} } }, { kind: 'failed' }],
  ['no at a good status', { status: 200, body: { ok: false, description: 'no' } }, { kind: 'failed' }],
]
for (const [name, reply, outcome] of wrong) {
  t.test(`an answer that is ${name} is ${JSON.stringify(outcome)}`, async (t) => {
    const { server, chat } = await telegram(t)
    server.failNext(reply)
    t.match(await chat.send(cardFor(chat, example()), '', 'm', go), outcome)
    t.equal(server.calls.length, 1, 'one request, and no other try')
  })
}

t.test('no answer, a broken and a late one have failed, and so has one that is called off', async (t) => {
  const { server, chat } = await telegram(t, { timeoutMs: 50 })
  const send = (stop = go) => chat.send(cardFor(chat, example()), '', 'm', stop)
  server.failNext('reset', 'hang')
  t.match(await send(), { kind: 'failed', error: /^network error/ })
  t.match(await send(), { kind: 'failed', error: 'no answer in time' })
  t.match(await send(AbortSignal.abort()), { kind: 'failed', error: 'called off' })
})

t.test('an answer that does not say which message it is cannot be followed', async (t) => {
  const { server, chat } = await telegram(t)
  for (const result of [true, {}, { message_id: 0, chat: { id: -1001 } }, { message_id: 7 }]) {
    server.failNext({ status: 200, body: { ok: true, result } })
    t.same(await chat.send(cardFor(chat, example()), '', 'm', go), { kind: 'sent' })
  }
})

t.test('no token is in an error, and no error steers a terminal', async (t) => {
  const { server, chat } = await telegram(t)
  server.failNext(refuse(400, `\u001b[2J /bot${server.botToken}/sendMessage ${'x'.repeat(5000)}`))
  const { error } = (await chat.send(cardFor(chat, example()), '', 'm', go)) as { error: string }
  t.match(error, '\\u{1b}[2J /bot[token]/sendMessage xxx')
  t.ok(error.length <= 300)
})

t.test('the pace of the real one is busy, and passes', async (t) => {
  const { server, chat } = await telegram(t)
  const clock = manualClock()
  server.keepPace(clock.now)
  const send = () => chat.send(cardFor(chat, example()), '', 'm', go)
  t.match(await send(), { kind: 'sent' })
  t.match(await send(), { kind: 'busy', retryAfterMs: 1000 })
  await clock.advance(1000)
  t.match(await send(), { kind: 'sent' })
  t.equal(chat.editsPerMinute, 10, 'of the twenty that a group takes, half are for messages')
})

// -- what is wrong, in words ---------------------------------------------------------------------------------------------

const refused = (error: RegExp | string, mend: RegExp) => ({ state: 'refused', error, mend })

t.test('whoever looks is told what is wrong and how to mend it, and nobody is told anything', async (t) => {
  const { server, chat } = await telegram(t)
  t.same(await chat.probe(go), { state: 'reachable', as: server.botName })
  const { botToken, apiBase } = { botToken: server.botToken, apiBase: server.url }
  const of = (settings: Partial<TelegramSettings>) => {
    const common = { botToken, apiBase, chat: server.chat, timeoutMs: 5000, ownWebhook: null }
    return createTelegram({ ...common, hearing: 'polling', ...settings }).probe(go)
  }
  t.match(await of({ botToken: '1:wrong' }), refused('getMe: 401 Unauthorized', /TELEGRAM_BOT_TOKEN.*@BotFather/))
  t.match(await of({ botToken: 'wrong' }), refused('getMe: 404 Not Found', /TELEGRAM_BOT_TOKEN/))
  t.match(await of({ chat: '-4' }), refused(/^getChat: 400 .*chat not found/, /TELEGRAM_HOME_CHANNEL.*add the bot/))
  t.match(await of({ chat: '77' }), refused(/^getChat: 400 .*chat not found/, /press Start/))
  t.match(await of({ apiBase: `${server.url}/nothing` }), refused(/^getMe: 404/, /TELEGRAM_BOT_TOKEN/))

  server.setHome({ member: { status: 'left' } })
  t.match(await chat.probe(go), refused('the bot is not in the chat', /Add the bot to the chat again/))
  server.setHome({ member: { status: 'kicked' } })
  t.match(await chat.probe(go), refused(/^getChat: 403 .*kicked/, /add the bot/))
  server.setHome({ member: { status: 'restricted', can_send_messages: false } })
  t.match(await chat.probe(go), refused('the bot may not send messages in the group', /administrator/))
  server.setHome({ member: { status: 'member' }, permissions: { can_send_messages: false } })
  t.match(await chat.probe(go), refused('the bot may not send messages in the group', /permissions of the group/))
  server.setHome({ type: 'channel', member: { status: 'administrator', can_post_messages: false } })
  t.match(await chat.probe(go), refused('the bot may not post in the channel', /administrator of the channel/))
  server.setHome({ type: 'supergroup', member: { status: 'member' }, permissions: { can_send_messages: true } })

  server.failNextOf('getMe', { status: 200, body: '<html>' })
  t.match(await chat.probe(go), refused(/^getMe: 200/, /TELEGRAM_API_BASE/))
  server.failNextOf('getMe', { status: 503, body: '' })
  t.match(await chat.probe(go), { state: 'unreachable', error: /^getMe: 503/ })
  server.failNextOf('getChat', tooMany(3))
  t.match(await chat.probe(go), { state: 'unreachable', error: /^getChat: 429/ })
  server.failNextOf('getMe', 'reset')
  t.match(await chat.probe(go), { state: 'unreachable', error: /^network error/ })
  t.equal(server.calls.length, 0)
})

t.test('a webhook that takes the presses away is found, whoever set it', async (t) => {
  const own = 'https://holdpoint.example.com/chat/telegram'
  const { server, chat } = await telegram(t, { ownWebhook: own })
  const hook = (url: string) => fetch(`${server.url}/bot${server.botToken}/setWebhook?url=${encodeURIComponent(url)}`)
  const probe = (of: Chat) => of.probe(go)
  await hook('https://elsewhere.example/secret-path')
  const other = refused('a webhook is set on the bot: elsewhere.example', /bot of its own.*deleteWebhook/)
  t.match(await probe(chat), other)
  t.notMatch(JSON.stringify(await probe(chat)), /secret-path/)
  const common = { botToken: server.botToken, chat: server.chat, apiBase: server.url, timeoutMs: 5000, ownWebhook: own }
  const called = createTelegram({ ...common, hearing: { url: own, secret: 'x'.repeat(20) } })
  t.match(await probe(called), refused('another webhook is set on the bot: elsewhere.example', /Restart Holdpoint/))
  t.match(await probe(createTelegram({ ...common, hearing: null })), { state: 'reachable' }, 'nothing is heard anyway')
  await hook(own)
  t.match(await probe(chat), { state: 'reachable' }, 'our own is removed when we are to ask')
  t.match(await probe(called), { state: 'reachable' })
  server.webhook.deliverTo = 'http://127.0.0.1:1'
  server.write('/start', 11)
  while (server.webhook.lastError === null) await new Promise((resolve) => setImmediate(resolve))
  t.match(
    await probe(called),
    refused(/^Telegram does not reach the webhook: Wrong response/, /certificate.*TELEGRAM_MODE/),
  )
})

t.test('the played one reads HTML as Telegram does', async (t) => {
  t.match(parseHtml('<b>a</b> &lt;'), { text: 'a <', entities: [{ type: 'b', text: 'a' }] })
  for (const html of ['<b>', '<x>a</x>', 'a < b', 'a & b', '<code><b>a</b></code>', '</b>']) {
    t.ok('error' in parseHtml(html), html)
  }
})
