// One message to each service: what is sent, and how every answer is understood.
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createDiscord } from '../../src/notify/discord.js'
import type { Channel, Notice, SendOutcome } from '../../src/notify/notifier.js'
import { createTelegram } from '../../src/notify/telegram.js'
import { t0 } from '../support.js'
import type { ChatServer, Fault } from './chat-server.js'
import * as fakeDiscord from './fake-discord.js'
import * as fakeTelegram from './fake-telegram.js'

const notice: Notice = {
  id: '0198c0de-0000-7000-8000-000000000001',
  action: 'send_mail',
  description: 'Send the <newsletter> & `more`',
  details: '{"to":"all"}',
  requester: 'agent',
  onBehalfOf: null,
  sessionKey: 's-1',
  digest: 'd1'.repeat(32),
  warnings: [],
  expiresAt: t0 + 300_000,
  baseUrl: 'http://127.0.0.1:6000',
  approvals: 1,
  needsKey: false,
  reasonFor: [],
  mustType: false,
  link: null,
}
const timeoutMs = 20_000
const go = new AbortController().signal

async function telegram(t: Test, settings: { botToken?: string; chat?: string; timeoutMs?: number } = {}) {
  const server = await fakeTelegram.startTelegram(t)
  const { botToken, chat, url } = server
  return { server, channel: createTelegram({ botToken, chat, apiBase: url, timeoutMs, ...settings }) }
}

async function discordBot(t: Test, settings: { botToken?: string; channelId?: string } = {}) {
  const server = await fakeDiscord.startDiscord(t)
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = server.config
  return { server, channel: createDiscord({ botToken, channelId, apiBase, timeoutMs, ...settings }, '1.2.3') }
}

async function discordWebhook(t: Test, change: (url: string) => string = (url) => url) {
  const server = await fakeDiscord.startDiscord(t)
  const webhookUrl = change(server.webhookConfig.discordWebhookUrl)
  return { server, channel: createDiscord({ webhookUrl, timeoutMs }, '1.2.3') }
}

t.test('Telegram takes the message, as HTML and without a preview', async (t) => {
  const { server, channel } = await telegram(t)
  t.same(await channel.send(notice, go), { kind: 'sent' })
  t.match(server.calls[0]!.body, { chat_id: '-1001', parse_mode: 'HTML', link_preview_options: { is_disabled: true } })
  t.match(server.messages[0]!.text, 'Send the <newsletter> & `more`')
})

t.test('Discord takes the message of a bot, with its name, its token and a nonce', async (t) => {
  const { server, channel } = await discordBot(t)
  t.same(await channel.send(notice, go), { kind: 'sent' })
  const { headers, body } = server.calls[0]!
  t.equal(headers['user-agent'], 'DiscordBot (https://www.npmjs.com/package/holdpoint, 1.2.3)')
  t.equal(headers.authorization, `Bot ${server.botToken}`)
  t.match(body, { nonce: 'e000070008000000000000001', enforce_nonce: true })
})

t.test('two confirmations have two nonces, and one has one', async (t) => {
  const { server, channel } = await discordBot(t)
  server.failNext('lose answer')
  t.match(await channel.send(notice, go), { kind: 'failed' })
  t.same(await channel.send(notice, go), { kind: 'sent' })
  t.equal(server.messages.length, 1, 'the retry of a message that went out is not shown twice')
  await channel.send({ ...notice, id: '0198c0de-0000-7000-8000-000000000002' }, go)
  t.equal(server.messages.length, 2)
})

t.test('Discord takes the message through a webhook, which is asked to say what became of it', async (t) => {
  const { server, channel } = await discordWebhook(t, (url) => `${url}?thread_id=5&wait=false`)
  t.same(await channel.send(notice, go), { kind: 'sent' })
  t.equal(server.calls[0]!.query.toString(), 'thread_id=5&wait=true')
  t.equal(server.calls[0]!.headers.authorization, undefined)
  t.equal(server.messages.length, 1)
})

t.test('a wrong token, chat, channel or webhook is refused as a fault of the settings', async (t) => {
  const cases: [string, { channel: Channel }, SendOutcome][] = [
    [
      'Telegram, token',
      await telegram(t, { botToken: '1:no' }),
      { kind: 'refused', fault: 'channel', error: '401 Unauthorized' },
    ],
    [
      'Telegram, a token that is none',
      await telegram(t, { botToken: 'a/b' }),
      { kind: 'refused', fault: 'channel', error: '404 Not Found' },
    ],
    [
      'Telegram, chat',
      await telegram(t, { chat: '@nobody' }),
      { kind: 'refused', fault: 'channel', error: '400 Bad Request: chat not found' },
    ],
    [
      'Discord, token',
      await discordBot(t, { botToken: 'no' }),
      { kind: 'refused', fault: 'channel', error: '401 401: Unauthorized' },
    ],
    [
      'Discord, channel',
      await discordBot(t, { channelId: '9' }),
      { kind: 'refused', fault: 'channel', error: '404 Unknown Channel' },
    ],
    [
      'Discord, a webhook that is gone',
      await discordWebhook(t, (url) => `${url}x`),
      { kind: 'refused', fault: 'gone', error: '404 Unknown Webhook' },
    ],
  ]
  for (const [name, { channel }, outcome] of cases) t.same(await channel.send(notice, go), outcome, name)
})

const failed = (error: string | RegExp) => ({ kind: 'failed', error })
const page = '<html>Welcome to the hotel</html>'
const answers: [name: string, fault: Fault, outcome: object][] = [
  ['500', { status: 500, body: page }, failed('500 without a reason')],
  ['502', { status: 502, body: '' }, failed('502 without a reason')],
  ['408', { status: 408 }, failed('408 without a reason')],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, failed('302 without a reason')],
  ['a page of somebody else', { status: 200, body: page }, failed('200 without a reason')],
  ['a list', { status: 200, body: [] }, failed('200 without a reason')],
  ['null', { status: 200, body: 'null' }, failed('200 without a reason')],
  ['half an answer', { status: 200, body: '{"ok":tr' }, failed('200 without a reason')],
  ['a body without end', { status: 200, body: 'x'.repeat(300 * 1024) }, failed(/^network error \(UND_ERR_\w+\)$/)],
  ['a connection cut', 'reset', failed(/^network error \(\w+\)$/)],
  ['400 in no shape at all', { status: 400, body: page }, { kind: 'refused', fault: 'message' }],
  ['403', { status: 403, body: page }, { kind: 'refused', fault: 'channel' }],
  ['429 with a header', { status: 429, headers: { 'retry-after': '7' } }, { kind: 'busy', retryAfterMs: 7000 }],
  ['429 with a date', { status: 429, headers: { 'retry-after': 'Wed, 21 Oct' } }, { kind: 'busy', retryAfterMs: 1000 }],
  ['429 with nothing', { status: 429, body: page }, { kind: 'busy', retryAfterMs: 1000 }],
]
const services: [string, (t: Test) => Promise<{ server: ChatServer; channel: Channel }>][] = [
  ['Telegram', telegram],
  ['Discord', discordBot],
  ['a webhook', discordWebhook],
]
for (const [service, start] of services) {
  t.test(`${service}: every answer is understood, also those that make no sense`, async (t) => {
    const { server, channel } = await start(t)
    for (const [name, fault, outcome] of answers) {
      server.failNext(fault)
      t.match(await channel.send(notice, go), outcome, name)
    }
    t.same(await channel.send(notice, go), { kind: 'sent' }, 'and none of them lasts')
  })
}

const pauses: [asked: unknown, ms: number][] = [
  [3, 3000],
  [64.5707, 64_571],
  ['12', 12_000],
  [0, 1000],
  [-5, 1000],
  [0.3, 1000],
  ['soon', 1000],
  [null, 1000],
  [1e300, 86_400_000],
  [1e12, 86_400_000],
]
t.test('the pause a service asks for is a whole number of milliseconds, from a second to a day', async (t) => {
  const onTelegram = await telegram(t)
  const onDiscord = await discordBot(t)
  for (const [asked, retryAfterMs] of pauses) {
    onTelegram.server.failNext(fakeTelegram.tooMany(asked))
    onDiscord.server.failNext(fakeDiscord.tooMany(asked))
    for (const { channel } of [onTelegram, onDiscord]) {
      t.match(await channel.send(notice, go), { kind: 'busy', retryAfterMs, error: /^429 \w/ }, String(asked))
    }
  }
})

t.test('a message that Telegram cannot parse is the fault of the message', async (t) => {
  const { server, channel } = await telegram(t)
  server.failNext(fakeTelegram.refuse(400, "Bad Request: can't parse entities"))
  t.match(await channel.send(notice, go), { kind: 'refused', fault: 'message', error: /parse entities/ })
})

t.test('a group that became a supergroup is followed, once and from then on', async (t) => {
  const { server, channel } = await telegram(t)
  server.migrateTo('-100222')
  t.same(await channel.send(notice, go), { kind: 'sent' })
  t.same(
    server.calls.map(({ body }) => body.chat_id),
    ['-1001', '-100222'],
  )
  t.same(await channel.send(notice, go), { kind: 'sent' })
  t.equal(server.calls.length, 3)
})

t.test('a group that moves on and on is not followed for ever', async (t) => {
  const { server, channel } = await telegram(t)
  server.failAlways(fakeTelegram.refuse(400, 'Bad Request: upgraded', { migrate_to_chat_id: -5 }))
  t.match(await channel.send(notice, go), { kind: 'refused' })
  t.equal(server.calls.length, 2)
  server.failAlways(fakeTelegram.refuse(400, 'Bad Request: upgraded', { migrate_to_chat_id: 'evil' }))
  t.match(await channel.send(notice, go), { kind: 'refused' })
  t.equal(server.calls.length, 3, 'nor to what is no chat')
})

t.test('a service that does not answer in time has failed', async (t) => {
  const { server, channel } = await telegram(t, { timeoutMs: 30 })
  server.failAlways('hang')
  t.same(await channel.send(notice, go), { kind: 'failed', error: 'no answer in time' })
})

t.test('a service that answers slowly but in time has not', async (t) => {
  const { server, channel } = await telegram(t)
  server.failNext(new Promise((resolve) => setTimeout(resolve, 30)))
  t.same(await channel.send(notice, go), { kind: 'sent' })
})

t.test('an attempt can be called off', async (t) => {
  const { server, channel } = await telegram(t)
  server.failAlways('hang')
  const stop = new AbortController()
  const sending = channel.send(notice, stop.signal)
  stop.abort()
  t.match(await sending, { kind: 'failed' })
})

t.test('a service that cannot be reached has failed, and the error does not say more than its code', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const channel = createTelegram({ botToken: 's3cret', chat: '1', apiBase: `http://127.0.0.1:${port}`, timeoutMs })
  t.same(await channel.send(notice, go), { kind: 'failed', error: 'network error (ECONNREFUSED)' })
})

t.test('a token that cannot even be sent has failed without being named', async (t) => {
  const { channel } = await discordBot(t, { botToken: 's3cret\nx' })
  const outcome = await channel.send(notice, go)
  t.match(outcome, { kind: 'failed' })
  t.notMatch(JSON.stringify(outcome), 's3cret')
})

t.test('a server that repeats the token is not quoted with it', async (t) => {
  const onTelegram = await telegram(t)
  onTelegram.server.failNext(fakeTelegram.refuse(404, `no route /bot${onTelegram.server.botToken}/sendMessage`))
  t.match(await onTelegram.channel.send(notice, go), { error: '404 no route /bot[token]/sendMessage' })
  const bot = await discordBot(t)
  bot.server.failNext(fakeDiscord.refuse(401, `bad token ${bot.server.botToken}`))
  t.match(await bot.channel.send(notice, go), { error: '401 bad token [token]' })
  const webhook = await discordWebhook(t)
  webhook.server.failNext(fakeDiscord.refuse(404, `no /webhooks/77/${webhook.server.webhookToken}`))
  t.match(await webhook.channel.send(notice, go), { error: '404 no /webhooks/77/[token]' })
})

t.test('what a server says is shortened and made visible before it is kept', async (t) => {
  const { server, channel } = await telegram(t)
  server.failNext(fakeTelegram.refuse(400, `\u202e\nno\u001b[2J${'x'.repeat(5000)}`))
  const outcome = (await channel.send(notice, go)) as { error: string }
  t.match(outcome.error, /^400 \\u\{202e\}\\nno\\u\{1b\}\[2Jx+… \\\{cut: \d+ more characters\}$/)
  t.ok(outcome.error.length < 400)
})
