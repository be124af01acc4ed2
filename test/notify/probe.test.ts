// Asking a chat whether it would take messages, without sending one.
import t from 'tap'
import { type Probe, probeDiscord, probeTelegram } from '../../src/notify/probe.js'
import type { ChatServer } from './chat-server.js'
import { startDiscord } from './fake-discord.js'
import { startTelegram } from './fake-telegram.js'

const stop = new AbortController().signal
const timeoutMs = 30_000

function telegramOf({ url, botToken, chat }: { url: string; botToken: string; chat: string }) {
  return { botToken, chat, apiBase: url, timeoutMs }
}

t.test('a chat that knows the bot and the channel is reachable, and nobody is told anything', async (t) => {
  const [telegram, discord] = [await startTelegram(t), await startDiscord(t)]
  t.same(await probeTelegram(telegramOf(telegram), stop), { state: 'reachable', as: 'hold_bot' })
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = discord.config
  const bot = { botToken, channelId, apiBase, timeoutMs }
  t.same(await probeDiscord(bot, '1.2.3', stop), { state: 'reachable', as: 'hold' })
  const webhook = { webhookUrl: discord.webhookConfig.discordWebhookUrl, timeoutMs }
  t.same(await probeDiscord(webhook, '1.2.3', stop), { state: 'reachable', as: null })
  for (const { calls } of [telegram, discord]) t.ok(calls.every(({ method }) => method === 'GET'))
  t.same([...telegram.messages, ...discord.messages], [])
})

t.test('a wrong token and a wrong channel are refused, in the words of the chat', async (t) => {
  const [telegram, discord] = [await startTelegram(t), await startDiscord(t)]
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = discord.config
  const bot = { botToken, channelId, apiBase, timeoutMs }
  const refused = (error: RegExp) => ({ state: 'refused', error })
  t.match(await probeTelegram({ ...telegramOf(telegram), botToken: '1:x' }, stop), refused(/^getMe: 401 Unauthorized$/))
  t.match(
    await probeTelegram({ ...telegramOf(telegram), chat: '-5' }, stop),
    refused(/^getChat: 400 .*chat not found$/),
  )
  t.match(await probeDiscord({ ...bot, botToken: 'x' }, '1.2.3', stop), refused(/^users\/@me: 401 401: Unauthorized$/))
  t.match(await probeDiscord({ ...bot, channelId: '5' }, '1.2.3', stop), refused(/^the channel: 404 Unknown Channel$/))
  const webhookUrl = `${apiBase}/webhooks/77/x`
  t.match(await probeDiscord({ webhookUrl, timeoutMs }, '1.2.3', stop), refused(/^the webhook: 404 Unknown Webhook$/))
})

t.test('a chat that does not answer, is down or busy is unreachable', async (t) => {
  const telegram = await startTelegram(t)
  const probe = (ms = timeoutMs) => probeTelegram({ ...telegramOf(telegram), timeoutMs: ms }, stop)
  telegram.failNext('hang')
  t.same(await probe(50), { state: 'unreachable', error: 'no answer in time' })
  telegram.failNext('reset')
  t.match(await probe(), { state: 'unreachable', error: /^network error \(\w+\)$/ })
  for (const status of [429, 500, 503]) {
    telegram.failNext({ status, body: {} })
    t.match(await probe(), { state: 'unreachable', error: `getMe: ${status} without a reason` })
  }
})

t.test('what answers repeats no token, and steers no terminal', async (t) => {
  const telegram = await startTelegram(t)
  const { botToken } = telegram
  const probe = () => probeTelegram(telegramOf(telegram), stop)
  const errorOf = (found: Probe) => (found.state === 'reachable' ? '' : found.error)
  telegram.failNext({ status: 400, body: { description: `\u001b[2J/bot${botToken}/getMe ${'x'.repeat(5000)}` } })
  const error = errorOf(await probe())
  t.notMatch(error, botToken)
  t.notMatch(error, '\u001b')
  t.ok(error.length <= 300)
  const answerAs = async (server: ChatServer, username: unknown) => {
    server.failNext({ status: 200, body: { ok: true, result: { username } } })
    return probe()
  }
  for (const username of ['a b', '\u001b[2J', 'x'.repeat(33), 7]) {
    t.match(await answerAs(telegram, username), { state: 'reachable', as: null })
  }
  telegram.failNext({ status: 200, body: '<html>' })
  t.match(await probe(), { state: 'refused' }, 'a page that is no chat')
})
