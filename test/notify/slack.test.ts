// Slack through the port: what a channel sees, what becomes of every answer, and what is wrong in words.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Alarm } from '../../src/core/model.js'
import type { SendOutcome } from '../../src/notify/chat.js'
import { createSlack, type SlackSettings } from '../../src/notify/slack.js'
import { alarmOf } from '../alarm.js'
import { rounds } from '../rounds.js'
import { manualClock } from '../support.js'
import { denied, deploy, example, id, resolved } from '../web/examples.js'
import { anyRequest, cardFor, localPage, pressOf, publicPage } from './example-cards.js'
import { buttonsOf, no, parseMrkdwn, readBlocks, startSlack, tooMany } from './fake-slack.js'

const go = new AbortController().signal

async function slack(t: Test, settings: Partial<SlackSettings> = {}) {
  const server = await startSlack(t)
  const {
    slackBotToken: botToken,
    slackAppToken: appToken,
    slackChannel: channelId,
    slackApiBase: apiBase,
  } = server.config
  const chat = createSlack({ botToken, appToken, channelId, apiBase, timeoutMs: 5000, ...settings })
  return { server, chat }
}

async function sent(sending: Promise<SendOutcome>) {
  const outcome = await sending
  if (outcome.kind !== 'sent' || outcome.message === undefined) throw new Error(JSON.stringify(outcome))
  return outcome.message
}

/** As it is read, without the marks of what stands in code. */
function read(message: { blocks: any[] }): string[] {
  return readBlocks(message).flatMap((parts) =>
    parts
      .map(({ text }) => text)
      .join('')
      .split('\n'),
  )
}

t.test('a message says what is asked for, by whom, how it is called and until when, and has buttons', async (t) => {
  const { server, chat } = await slack(t)
  const details = JSON.stringify({ list: 'subscribers', count: 4812 })
  const ref = await sent(chat.send(cardFor(chat, example({ details, description: 'Send it.\nNow.' })), '', 'm', go))
  const [message] = server.messages
  t.same(ref, { chat: server.channel, id: message!.ts })
  t.equal(message!.text, '🔔 Confirmation needed: `send_newsletter`')
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
    buttonsOf(message!).map(({ text, value, style, url }) => [text.text, value ?? url, style]),
    [
      ['Approve', pressOf('approve'), 'primary'],
      ['Deny', pressOf('deny'), 'danger'],
      ['Approve for this session', pressOf('session'), undefined],
      ['Open', publicPage.url, undefined],
    ],
  )
  t.match(server.calls.at(-1)!.body, { unfurl_links: false, unfurl_media: false, link_names: false, parse: 'none' })
})

t.test('without a token for Socket Mode there is a link and no button that would do nothing', async (t) => {
  const { server, chat } = await slack(t, { appToken: null })
  t.equal(chat.hasButtons(), false)
  t.equal(chat.hear, null)
  await chat.send(cardFor(chat, example()), '', 'm', go)
  t.same(
    buttonsOf(server.messages[0]!).map(({ url }) => url),
    [publicPage.url],
  )
})

t.test('a page that is not public is a line of its own', async (t) => {
  const { server, chat } = await slack(t)
  await chat.send(cardFor(chat, example(), { page: localPage }), '', 'm', go)
  t.equal(read(server.messages[0]!).at(-1), `See and decide it: ${localPage.url}`)
  t.notOk(buttonsOf(server.messages[0]!).some(({ url }) => url !== undefined))
})

t.test('what is asked once more stands in the message, and its names in code', async (t) => {
  const { server, chat } = await slack(t)
  const asking = { verb: 'approve', by: 'maria' } as const
  const card = cardFor(chat, example({ action: 'deploy_production' }), { asking })
  await chat.send(card, '', 'm', go)
  const [title, note] = readBlocks(server.messages[0]!)
  t.same(title, [{ kind: 'text', text: '❓ Are you sure?' }])
  t.same(note!.slice(0, 2), [
    { kind: 'text', text: 'Approve ' },
    { kind: 'code', text: 'deploy_production' },
  ])
  t.same(
    buttonsOf(server.messages[0]!).map(({ text }) => text.text),
    ['Yes, approve', 'Back', 'Open'],
  )
})

t.test('an edit changes the message in its place, and takes its buttons', async (t) => {
  const { server, chat } = await slack(t)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  t.match(await chat.edit(ref, cardFor(chat, denied), go), { kind: 'sent' })
  t.equal(server.messages.length, 1)
  const [message] = server.messages
  t.equal(message!.edits, 1)
  t.same(read(message!).slice(0, 2), ['❌ Denied', 'By: paul.weber'])
  t.same(
    buttonsOf(message!).map(({ text }) => text.text),
    ['Open'],
  )
  t.match(await chat.editText(ref, { lines: [[{ ours: 'over' }]], link: null }, go), { kind: 'sent' })
  t.same(read(message!), ['over'])
})

t.test('a message that was deleted cannot be edited, which is about that message alone', async (t) => {
  const { server, chat } = await slack(t)
  const ref = await sent(chat.send(cardFor(chat, example()), '', 'm', go))
  server.deleteMessage(ref.id)
  t.same(await chat.edit(ref, cardFor(chat, denied), go), {
    kind: 'refused',
    fault: 'message',
    error: 'message_not_found',
  })
})

t.test('somebody is written to in a place of their own, which is looked for once', async (t) => {
  const { server, chat } = await slack(t)
  const card = cardFor(chat, example())
  const ref = await sent(chat.send(card, 'U0MARIA', 'm', go))
  t.equal(ref.chat, 'DU0MARIA')
  t.equal((await sent(chat.send(card, 'T0OTHER:U0MARIA', 'n', go))).chat, 'DU0MARIA')
  await chat.send(card, 'U0MARIA', 'o', go)
  t.equal(server.calls.filter(({ path }) => path.endsWith('conversations.open')).length, 2)
  t.equal(chat.isPrivate('U0MARIA'), true)
  t.equal(chat.isPrivate(''), false)
  t.match(await chat.send(card, '<!channel>', 'p', go), { kind: 'refused', fault: 'message' })
})

t.test('that somebody cannot be written to is no fault of the channel', async (t) => {
  const { server, chat } = await slack(t)
  for (const word of ['user_not_found', 'channel_not_found', 'cannot_dm_bot']) {
    server.failNext(no(word))
    t.match(await chat.send(cardFor(chat, example()), 'U0MARIA', 'm', go), { kind: 'refused', fault: 'message' })
  }
  server.failNext(no('invalid_auth'))
  t.match(await chat.send(cardFor(chat, example()), 'U0MARIA', 'm', go), { kind: 'refused', fault: 'channel' })
})

t.test('an alarm says what happened and what to do', async (t) => {
  const { server, chat } = await slack(t)
  const alarm: Alarm = alarmOf({ reason: 'nine denials ``` in a row' })
  await sent(chat.sendAlarm(alarm, go))
  t.same(read(server.messages[0]!), [
    '⛔ Session suspended',
    'Session: s-1',
    'Requester: bot',
    'When: 1970-01-01T00:00:00.000Z',
    'Why',
    'nine denials ˋˋˋ in a row',
    'To resume it',
    'holdpoint sessions resume s-1',
    'Or',
    'POST /sessions/s-1/resume',
  ])
})

t.test('lines of ours go out with what others said in code, below what they answer', async (t) => {
  const { server, chat } = await slack(t)
  const ours = ', asked by send_mail & <b> until 14:17:10'
  const lines = [[{ bold: 'Waiting' }], [{ theirs: '*`a`* <@U1>' }, { ours }]]
  const replyTo = { chat: server.channel, id: '17.1' }
  await sent(chat.sendText({ lines, link: { label: 'Open', url: publicPage.url }, replyTo }, '', 'm', go))
  const [message] = server.messages
  t.equal(message!.threadTs, '17.1')
  t.same(readBlocks(message!), [
    [
      { kind: 'bold', text: 'Waiting' },
      { kind: 'text', text: '\n' },
      { kind: 'code', text: '*ˋaˋ* <@U1>' },
      { kind: 'text', text: ', asked by ' },
      { kind: 'code', text: 'send_mail' },
      { kind: 'text', text: ' & <b> until 14:17:10' },
    ],
  ])
  t.equal(buttonsOf(message!)[0].url, publicPage.url)
})

t.test('more lines than a message takes are as many as it takes', async (t) => {
  const { server, chat } = await slack(t)
  const theirs = '&'.repeat(400)
  const lines = Array.from({ length: 200 }, () => [{ theirs }, { ours: theirs }, { theirs }])
  await sent(chat.sendText({ lines, link: null }, '', 'm', go))
  t.ok(server.messages[0]!.blocks.length > 40)
})

/** How it is written. */
const attacks: [name: string, text: string, written?: string][] = [
  ['a mention of all', '<!channel> <!here> <!everyone> @channel'],
  ['a mention of somebody', '<@U012AB3CD> <#C012AB3CD> <!subteam^S1>'],
  ['a link that looks like another', '<https://evil.example|https://holdpoint.example.com>'],
  ['an address', 'https://evil.example www.evil.example a@evil.example'],
  ['formatting', '*bold* _it_ ~no~ > quote • item'],
  ['an emoji', ':white_check_mark: Approved'],
  ['entities', '&lt;!channel&gt; &amp;lt; &#60;'],
  ['a fence', '```\n*free*\n```', 'ˋˋˋ↵\n*free*↵\nˋˋˋ'],
  ['a look-alike of a fence', 'ˋ', '\\u{2cb}'],
  ['lines like ours', 'ok\nRisk: low\nDigest: 0000', 'ok↵\nRisk: low↵\nDigest: 0000'],
  ['a reversal', 'a\u202eb', 'a\\u{202e}b'],
]
for (const [name, text, written = text] of attacks) {
  t.test(`${name} in a description stays what it is: text in code`, async (t) => {
    const { server, chat } = await slack(t)
    await sent(chat.send(cardFor(chat, example({ description: text })), '', 'm', go))
    const parts = readBlocks(server.messages[0]!).flat()
    t.same(
      parts.filter(({ kind }) => kind === 'block').map(({ text }) => text.replace(/^\n/, '')),
      [JSON.stringify(JSON.parse(example().details), null, 1), written],
    )
    t.ok(parts.every(({ kind }) => ['text', 'bold', 'code', 'block'].includes(kind)))
  })
}

t.test(
  'whatever an agent writes stands in code, below our own lines, and is approved only if all of it is there',
  async (t) => {
    const { server, chat } = await slack(t)
    await fc.assert(
      fc.asyncProperty(anyRequest, fc.boolean(), async (request, isOver) => {
        const asked = isOver ? resolved(request, 'denied', 'paul.weber', request.description) : request
        const outcome = await chat.send(cardFor(chat, asked), '', 'm', go)
        if (outcome.kind !== 'sent') return false
        const message = server.messages.pop()!
        const parts = readBlocks(message).flat()
        const ours = parts.filter(({ kind }) => kind === 'text' || kind === 'bold').map(({ text }) => text)
        const labels = parts.filter(({ kind }) => kind === 'bold').map(({ text }) => text.replace(/ \(.*\)/, ''))
        const isWhole = !parts.some(({ text }) => /\\\{cut: |\[masked\]/.test(text))
        const canApprove = buttonsOf(message).some(({ value }) => /^(approve|session):/.test(value ?? ''))
        return (
          parts.every(({ kind }) => ['text', 'bold', 'code', 'block'].includes(kind)) &&
          // What is no code is ours: none of it is what anybody may write.
          ours.every((text) => !/evil|forged|漢|👍|&|xx/.test(text)) &&
          labels[0] === (isOver ? 'By:' : 'Action:') &&
          new Set(labels).size === labels.length &&
          parseMrkdwn(message.text).every(({ kind }) => kind === 'text' || kind === 'code') &&
          (isOver ? !canApprove : canApprove === isWhole)
        )
      }),
      rounds(100),
    )
  },
)

t.test('a request that several must approve says who, and how far it is', async (t) => {
  const { server, chat } = await slack(t)
  await sent(chat.send(cardFor(chat, deploy), '', 'm', go))
  const lines = read(server.messages[0]!)
  t.ok(lines.includes('Risk: HIGH'))
  t.ok(lines.includes('Needs: 2 different people (1 from platform, 1 from finance); one denial ends it'))
  t.ok(lines.includes('Votes (1 of 2): ines.castro approved'))
})

const wrong: [
  name: string,
  reply: Parameters<Awaited<ReturnType<typeof startSlack>>['failNext']>[0],
  outcome: object,
][] = [
  ['a wrong token', no('invalid_auth'), { kind: 'refused', fault: 'channel', error: 'invalid_auth' }],
  ['a token that was taken back', no('token_revoked'), { kind: 'refused', fault: 'channel' }],
  ['a permission that is missing', no('missing_scope'), { kind: 'refused', fault: 'channel' }],
  ['a channel that is not there', no('channel_not_found'), { kind: 'refused', fault: 'channel' }],
  ['a channel without the bot', no('not_in_channel'), { kind: 'refused', fault: 'channel' }],
  ['an archived channel', no('is_archived'), { kind: 'refused', fault: 'gone' }],
  ['too long a message', no('msg_too_long'), { kind: 'refused', fault: 'message' }],
  ['blocks it cannot read', no('invalid_blocks'), { kind: 'refused', fault: 'message' }],
  ['a word nobody knows', no('brand_new_error'), { kind: 'refused', fault: 'message', error: 'brand_new_error' }],
  ['no word at all', no(''), { kind: 'failed' }],
  ['too many requests', tooMany(30), { kind: 'busy', retryAfterMs: 30_000 }],
  ['too many, and no wish', { status: 429, body: '' }, { kind: 'busy', retryAfterMs: 5000 }],
  ['too many, as a word', no('ratelimited'), { kind: 'busy', retryAfterMs: 5000 }],
  ['a fault of its own, as a word', no('internal_error'), { kind: 'failed', error: 'internal_error' }],
  ['a fault of its own', { status: 503, body: '<html>' }, { kind: 'failed' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }, { kind: 'failed' }],
  ['a page', { status: 200, body: '<html>welcome</html>' }, { kind: 'failed' }],
  ['another server', { status: 404, body: '' }, { kind: 'refused', fault: 'channel' }],
  ['a list', { status: 200, body: [] }, { kind: 'failed' }],
  ['ok as a text', { status: 200, body: { ok: 'true' } }, { kind: 'failed' }],
]
for (const [name, reply, outcome] of wrong) {
  t.test(`an answer that is ${name} is ${JSON.stringify(outcome)}`, async (t) => {
    const { server, chat } = await slack(t)
    server.failNext(reply)
    t.match(await chat.send(cardFor(chat, example()), '', 'm', go), outcome)
  })
}

t.test('no answer, a broken and a late one have failed, and so has one that is called off', async (t) => {
  const { server, chat } = await slack(t, { timeoutMs: 50 })
  const send = (stop = go) => chat.send(cardFor(chat, example()), '', 'm', stop)
  server.failNext('reset', 'hang')
  t.match(await send(), { kind: 'failed', error: /^network error/ })
  t.match(await send(), { kind: 'failed', error: 'no answer in time' })
  t.match(await send(AbortSignal.abort()), { kind: 'failed', error: 'called off' })
})

t.test('an answer that does not say which message it is cannot be followed', async (t) => {
  const { server, chat } = await slack(t)
  server.failNext({ status: 200, body: { ok: true } })
  t.same(await chat.send(cardFor(chat, example()), '', 'm', go), { kind: 'sent' })
})

t.test('no token is in an error, and no error steers a terminal', async (t) => {
  const { server, chat } = await slack(t)
  server.failNext(no(`\u001b[2J ${server.botToken} ${server.appToken} ${'x'.repeat(5000)}`))
  const { error } = (await chat.send(cardFor(chat, example()), '', 'm', go)) as { error: string }
  t.match(error, '\\u{1b}[2J [token] [token] xxx')
  t.ok(error.length <= 300)
})

t.test('the pace of the real one is busy, and passes', async (t) => {
  const { server, chat } = await slack(t)
  const clock = manualClock()
  server.keepPace(clock.now)
  const send = () => chat.send(cardFor(chat, example()), '', 'm', go)
  t.match(await send(), { kind: 'sent' })
  t.match(await send(), { kind: 'busy', retryAfterMs: 1000 })
  await clock.advance(1000)
  t.match(await send(), { kind: 'sent' })
})

t.test('the test of a workspace tells nobody anything, and says what is wrong and how to mend it', async (t) => {
  const { server, chat } = await slack(t)
  t.same(await chat.probe(go), { state: 'reachable', as: 'holdpoint' })
  t.same(server.messages, [])
  const of = (settings: Partial<SlackSettings>) =>
    createSlack({
      botToken: server.botToken,
      appToken: server.appToken,
      channelId: server.channel,
      apiBase: server.config.slackApiBase,
      timeoutMs: 5000,
      ...settings,
    }).probe(go)
  const refused = (error: string, mend: RegExp) => ({ state: 'refused', error, mend })
  t.match(await of({ botToken: 'xoxb-wrong' }), refused('auth.test: invalid_auth', /SLACK_BOT_TOKEN/))
  t.match(
    await of({ channelId: 'C0NONE' }),
    refused('conversations.info: channel_not_found', /SLACK_CHANNEL.*\/invite/),
  )
  t.match(await of({ appToken: 'xapp-wrong' }), refused('apps.connections.open: invalid_auth', /connections:write/))
  const swapped = await of({ appToken: server.botToken })
  t.match(swapped, refused('apps.connections.open: not_allowed_token_type', /xoxb-.*xapp-/))
  t.match(await of({ appToken: null }), { state: 'reachable' })

  server.leaveChannel()
  t.match(await chat.probe(go), refused('conversations.info: not_in_channel', /\/invite/))
  server.archive()
  t.match(await chat.probe(go), refused('conversations.info: is_archived', /SLACK_CHANNEL/))
  server.failNext(no('missing_scope', { needed: 'chat:write' }))
  t.match(await chat.probe(go), refused('auth.test: missing_scope', /chat:write/))
  server.failNext({ status: 503, body: '' })
  t.match(await chat.probe(go), { state: 'unreachable', error: /^auth\.test: 503/ })
  server.failNext('reset')
  t.match(await chat.probe(go), { state: 'unreachable', error: /^network error/ })
})

t.test('without the permission to look at channels the rest is tested all the same', async (t) => {
  const { server, chat } = await slack(t)
  server.failNext({ status: 200, body: { ok: true, user: 'holdpoint', team_id: server.team } }, no('missing_scope'))
  t.same(await chat.probe(go), { state: 'reachable', as: 'holdpoint' })
})
