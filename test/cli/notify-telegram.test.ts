// holdpoint notify test, with Telegram: a message that comes, or a sentence that says what is wrong and how to mend it.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut } from '../../src/cli/dispatch.js'
import { readInvocation } from '../../src/invocation.js'
import { type FakeTelegram, refuse, startTelegram, tooMany } from '../notify/fake-telegram.js'

async function notifyTest(t: Test, env: Record<string, string>, ...words: string[]) {
  let [stdout, stderr] = ['', '']
  const invocation = readInvocation(['notify', 'test', '--db-path', join(t.testdir(), 'none.db'), ...words], env)
  if (invocation.command !== 'carry-out') throw new Error('no command')
  const code = await carryOut(invocation.given, invocation.config, {
    print: (text) => void (stdout += `${text}\n`),
    tell: (text) => void (stderr += `${text}\n`),
  })
  return { code, stdout, stderr }
}

t.test('where all is well a message comes, and it is said under which name', async (t) => {
  const telegram = await startTelegram(t)
  t.same(await notifyTest(t, telegram.env), {
    code: 0,
    stdout: `telegram: the test message was sent as ${telegram.botName}\n`,
    stderr: '',
  })
  t.match(telegram.messages, [{ text: /^🔔 A test of Holdpoint\n.*There is nothing to decide\.$/, buttons: [] }])
  const { stdout } = await notifyTest(t, telegram.env, '--json')
  t.same(JSON.parse(stdout), [{ name: 'telegram', works: true, as: telegram.botName, problem: null }])
  const methods = new Set(telegram.asides.map(({ path }) => path.split('/').at(-1)))
  t.notOk(methods.has('getUpdates'), 'a service that listens meanwhile loses nothing')
})

const elsewhere = 'https://elsewhere.example/secret'
const wrong: [name: string, sentence: RegExp, prepare: (telegram: FakeTelegram) => Record<string, string> | void][] = [
  [
    'a bad token',
    /getMe: 401 Unauthorized\. Check TELEGRAM_BOT_TOKEN, or get a new token/,
    () => ({ TELEGRAM_BOT_TOKEN: '1:x' }),
  ],
  [
    'a chat that the bot is not in',
    /chat not found\. Check TELEGRAM_HOME_CHANNEL, and add the bot/,
    () => ({ TELEGRAM_HOME_CHANNEL: '-7' }),
  ],
  ['a person who has not started the bot', /chat not found\. .*press Start/, () => ({ TELEGRAM_HOME_CHANNEL: '77' })],
  [
    'a group that the bot has left',
    /the bot is not in the chat\. Add the bot to the chat again/,
    (one) => one.setHome({ member: { status: 'left' } }),
  ],
  [
    'a permission that is missing',
    /may not send messages in the group\. Let the bot send messages there/,
    (one) => one.setHome({ permissions: { can_send_messages: false } }),
  ],
  [
    'a channel in which the bot may not post',
    /may not post in the channel\. Make the bot an administrator/,
    (one) => one.setHome({ type: 'channel', member: { status: 'administrator' } }),
  ],
  [
    'a webhook that is set elsewhere',
    /a webhook is set on the bot: elsewhere\.example\. Presses go there.*deleteWebhook/,
    (one) => void (one.webhook.url = elsewhere),
  ],
  ['a server that is none', /getMe: 404 .*\./, (one) => ({ TELEGRAM_API_BASE: `${one.url}/none` })],
  [
    'a server that is not there',
    /not reached: network error .*See whether this machine reaches it/,
    () => ({ TELEGRAM_API_BASE: 'http://127.0.0.1:1' }),
  ],
  [
    'somebody who has blocked the bot',
    /the test message was not taken: 403 .*blocked by the user\. See .*has not blocked it/,
    (one) => one.failNext(refuse(403, 'Forbidden: bot was blocked by the user')),
  ],
  ['a chat that is busy', /takes no message for 9 s: 429 .*Try again then/, (one) => one.failNext(tooMany(9))],
]
for (const [name, sentence, prepare] of wrong) {
  t.test(`${name}: it says so, and how to mend it`, async (t) => {
    const telegram = await startTelegram(t)
    const { code, stdout } = await notifyTest(t, { ...telegram.env, ...(prepare(telegram) ?? {}) })
    t.equal(code, 1)
    t.match(stdout, sentence)
    t.match(stdout, /^telegram: [^\n]+\.\n$/)
    t.notMatch(stdout, /secret|AAHdqTcv/)
    t.same(telegram.messages, [])
  })
}

t.test('a group that became a supergroup works, and it is said which id to set', async (t) => {
  const telegram = await startTelegram(t)
  telegram.migrateTo('-1002')
  const { code, stdout } = await notifyTest(t, telegram.env)
  t.equal(code, 0)
  t.match(
    stdout,
    /the test message was sent as hold_bot\n {2}The group became a supergroup: set TELEGRAM_HOME_CHANNEL to -1002\.\n/,
  )
})

t.test('without a chat it says which variables to set', async (t) => {
  const { code, stderr } = await notifyTest(t, {})
  t.equal(code, 1)
  t.match(stderr, /TELEGRAM_BOT_TOKEN and TELEGRAM_HOME_CHANNEL/)
})
