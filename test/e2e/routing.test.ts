// Who is told, with the started program and played chats: all at once, two deciders alone, again while nobody answers, and a flood.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { command } from '../cli/command.js'
import { readBlocks, startSlack } from '../notify/fake-slack.js'
import { startTelegram, type FakeTelegram, type TelegramMessage } from '../notify/fake-telegram.js'
import { temporaryFolder, until } from '../support.js'
import { type Program, start } from './program.js'

const titleOf = ({ text }: TelegramMessage) => text.split('\n')[0]!

/** A file of rules, and where it is. */
function rulesAt(t: Test, text: string): string {
  const path = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(path, text)
  return path
}

/** alice and bob are known in Telegram, and have written to the bot. */
async function withPeople(t: Test, telegram: FakeTelegram, rules: string): Promise<Program> {
  const program = await start(t, { flags: ['--policy', rulesAt(t, rules)], env: telegram.env })
  for (const [name, id] of [
    ['alice', 11],
    ['bob', 12],
  ] as const) {
    const set = await command(program.dbPath, 'people', 'set', '--name', name, '--telegram', String(id))
    t.equal(set.code, 0, set.stderr)
    telegram.write('hello', id)
  }
  return program
}

t.test('all chats at once: whoever presses first decides, and every message says so', async (t) => {
  const [telegram, slack] = [await startTelegram(t), await startSlack(t)]
  const env = {
    ...telegram.env,
    TELEGRAM_ALLOWED_USERS: '11',
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_CHANNEL: slack.channel,
    SLACK_API_BASE: slack.config.slackApiBase,
    SLACK_ALLOWED_USERS: 'U0MARIA',
    CONFIRMATION_NOTIFY: 'all',
  }
  const program = await start(t, { env })
  const { body } = await program.submit()
  await until(() => telegram.messages.length === 1 && slack.messages.length === 1)
  const waiting = program.call('GET', `/confirm/${body.id}?wait=30`)
  await telegram.press(telegram.messages[0]!, 'Deny', 11)
  t.match((await waiting).body, { status: 'denied', resolved_by: 'telegram:11' })
  await until(() => titleOf(telegram.messages[0]!) === '❌ Denied')
  await until(() => readBlocks(slack.messages[0]!)[0]![0]!.text === '❌ Denied')
})

t.test('two deciders are told alone, both press, and the agent that waits is told', async (t) => {
  const telegram = await startTelegram(t)
  const rules = 'rules: [{ action: "*", approvals: 2, deciders: [alice, bob], notify: deciders }]'
  const program = await withPeople(t, telegram, rules)
  const { body } = await program.submit()
  await until(() => telegram.messages.length === 2)
  const waiting = program.call('GET', `/confirm/${body.id}?wait=30`)
  const own = (id: number) => telegram.messages.find(({ chatId }) => chatId === String(id))!
  for (const id of [11, 12]) {
    await telegram.press(own(id), 'Approve', id)
    await until(() => /Are you sure/.test(titleOf(own(id))))
    await telegram.press(own(id), 'Yes, approve', id)
    if (id === 11) await until(() => telegram.messages.every(({ text }) => /Votes \(1 of 2\)/.test(text)))
  }
  t.match((await waiting).body, { status: 'approved', resolved_by: 'bob' })
  await until(() => telegram.messages.every((one) => titleOf(one) === '✅ Approved'))
})

t.test(
  'while nobody answers, the chat is reminded and somebody else is told; pressed there, it is decided everywhere',
  async (t) => {
    const telegram = await startTelegram(t)
    const settings = 'remind_after: 1%, escalate_after: 2%, escalate_to: bob'
    const program = await withPeople(t, telegram, `rules: [{ action: "*", ${settings} }]`)
    const { body } = await program.submit({ timeout_seconds: 60 })
    await until(() => telegram.messages.length === 3)
    t.same(
      telegram.messages.map((one) => [one.chatId === '12' ? 'bob' : 'all', titleOf(one)]),
      [
        ['all', '🔔 Confirmation needed'],
        ['all', '🔔 Still waiting: confirmation needed'],
        ['bob', '🔔 Nobody has answered yet: confirmation needed'],
      ],
    )
    await telegram.press(telegram.messages[1]!, 'Deny', 11)
    await until(() => telegram.messages.every((one) => titleOf(one) === '❌ Denied' || /To say why/.test(one.text)))
    t.match((await program.call('GET', `/confirm/${body.id}`)).body, { status: 'denied', resolved_by: 'alice' })
  },
)

t.test('of a flood ten have their message, the others one; a restart brings no more', async (t) => {
  const telegram = await startTelegram(t)
  const options = { flags: ['--rate-limit', '100'], env: telegram.env }
  const program = await start(t, options)
  const items = Array.from({ length: 50 }, (_, n) => ({ action: `a${n}`, description: 'x', timeout_seconds: 3600 }))
  t.equal((await program.call('POST', '/confirm/batch', { items })).status, 200)
  const isCollected = ({ text }: TelegramMessage) => /more requests came in/.test(text)
  await until(() => telegram.messages.some(isCollected))
  const together = telegram.messages.find(isCollected)!
  t.match(titleOf(together), /40 more requests/)
  t.equal(together.text.match(/^\S{8} a\d+, asked by agent$/gm)!.length, 40)
  t.equal(telegram.messages.length, 11)
  await program.crash()
  const again = await start(t, { ...options, dbPath: program.dbPath })
  t.equal(again.ready.unsent, 40)
  t.equal((await again.submit({ action: 'late' })).status, 202)
  t.equal(telegram.messages.length, 11)
})
