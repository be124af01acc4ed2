// Telegram with the started program, over real sockets: asked for, pressed, waited for; strangers, races, forgeries and commands.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buttonsOf as slackButtonsOf, type FakeSlack, readBlocks, startSlack } from '../notify/fake-slack.js'
import { until } from '../support.js'
import { run, start } from './program.js'
import {
  ask,
  dataOf,
  envOf,
  isTitled,
  labelsOf,
  maria,
  next,
  statusOf,
  stranger,
  titleOf,
  tom,
  typed,
  withTelegram,
} from './telegram.js'

// -- two taps ------------------------------------------------------------------------------------------------------------

t.test('two presses approve, and the agent that waits is told', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  t.equal(titleOf(message), '🔔 Confirmation needed')
  t.same(labelsOf(message), ['Approve', 'Deny'])
  const waiting = program.call('GET', `/confirm/${id}?wait=30`)
  await telegram.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  t.equal((await statusOf(program, id)).status, 'pending', 'a slip of the thumb decides nothing')
  t.same(await telegram.press(message, 'Yes, approve', maria), { text: 'Approved.', isAlert: false })
  t.match((await waiting).body, { status: 'approved', resolved_by: 'telegram:11' })
  await isTitled(message, /✅ Approved/)
  t.same(message.buttons, [])
  t.match(message.text, /^✅ Approved\nBy: telegram:11\nAt: /)
  const approved = await typed(program, 'approved', id)
  t.match(approved, [{ actor: 'telegram:11', channel: 'telegram' }])
})

t.test('somebody else cannot say yes, and Back asks no more', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  await telegram.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  t.match(await telegram.press(message, 'Yes, approve', tom), { text: /Only whoever pressed Approve/, isAlert: true })
  await telegram.press(message, 'Back', tom)
  await isTitled(message, /Confirmation needed/)
  t.equal((await statusOf(program, id)).status, 'pending')
})

t.test('for this session: what follows of it passes; where that may not be it is not offered', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { message } = await ask(both, { session_key: 's1' })
  await telegram.press(message, 'Approve for this session', maria)
  await isTitled(message, /Are you sure/)
  await telegram.press(message, 'Yes, approve', maria)
  t.equal((await program.submit({ session_key: 's1' })).body.status, 'auto_approved')
  const high = await ask(both, { session_key: 's1', action: 'delete_data' })
  t.same(labelsOf(high.message), ['Approve', 'Deny'])
})

// -- who pressed ---------------------------------------------------------------------------------------------------------

t.test(
  'strangers, bots and anonymous administrators decide nothing, are told so alone, and are on record',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    const { id, message } = await ask(both)
    for (const label of ['Approve', 'Deny']) {
      t.match(await telegram.press(message, label, stranger), {
        text: /^You may not decide here: nobody has allowed your id, 99\. Whoever runs Holdpoint can: holdpoint people set --name NAME --telegram 99, or TELEGRAM_ALLOWED_USERS\.$/,
        isAlert: true,
      })
    }
    // Whoever calls themselves as somebody who may is nobody else by that.
    await telegram.press(message, 'Deny', { id: stranger, username: 'maria' })
    for (const nobody of [
      { id: 1087968824, isBot: true, username: 'GroupAnonymousBot' },
      { id: maria, isBot: true },
    ]) {
      t.match(await telegram.press(message, 'Deny', nobody), { text: /Only a person can decide/, isAlert: true })
    }
    t.equal(titleOf(message), '🔔 Confirmation needed')
    t.equal((await statusOf(program, id)).status, 'pending')
    t.equal(telegram.messages.length, 1, 'nobody else reads it')
    const rejected = await typed(program, 'rejected', id)
    t.same(
      rejected.map(({ actor, channel, data }) => [actor, channel, data.code]),
      [
        ...Array.from({ length: 3 }, () => ['telegram:99', 'telegram', 'forbidden']),
        ...Array.from({ length: 2 }, () => ['unknown', 'telegram', 'forbidden']),
      ],
    )
  },
)

t.test(
  'what needs two, or names who decides, takes people on record and no bare id; one person has one vote',
  async (t) => {
    const rules = join(t.testdir({ 'rules.yaml': twoOfOps }), 'rules.yaml')
    const both = await withTelegram(t, { flags: ['--policy', rules] })
    const { telegram, program } = both
    const named = await ask(both, { action: 'named' })
    t.match(await telegram.press(named.message, 'Approve', maria), { text: /lets only certain people/, isAlert: true })
    t.match(await telegram.press(named.message, 'Deny', maria), { text: /lets only certain people/, isAlert: true })
    const { id, message } = await ask(both, { action: 'deploy' })
    t.match(await telegram.press(message, 'Approve', maria), { text: /people set/, isAlert: true })
    for (const [name, chatId] of [
      ['alice', maria],
      ['bob', tom],
    ] as const) {
      const set = await run(t, [
        'people',
        'set',
        '--name',
        name,
        '--telegram',
        String(chatId),
        '--db-path',
        program.dbPath,
      ])
      t.equal(set.code, 0, set.stderr)
    }
    await telegram.press(message, 'Approve', maria)
    await isTitled(message, /Are you sure/)
    t.match(await telegram.press(message, 'Yes, approve', maria), { text: /1 of 2\. Somebody else must/ })
    await until(() => /Votes \(1 of 2\): alice approved/.test(message.text))
    t.match(await telegram.press(message, 'Approve', maria), { text: /alice has decided this already/, isAlert: true })
    await telegram.press(message, 'Approve', tom)
    await isTitled(message, /Are you sure/)
    await telegram.press(message, 'Yes, approve', tom)
    t.match(await statusOf(program, id), { status: 'approved', approvals_given: 2 })
    await telegram.press(named.message, 'Deny', maria)
    t.match(await statusOf(program, named.id), { status: 'denied', resolved_by: 'alice' })
  },
)

const twoOfOps = `
groups: { ops: [alice, bob] }
rules:
  - action: deploy
    approvals: 2
    deciders: [group:ops]
  - action: named
    deciders: [alice]
`

t.test('what is no id of a person in TELEGRAM_ALLOWED_USERS stops the start, and says why', async (t) => {
  const { code, stderr } = await run(t, ['--db-path', join(t.testdir(), 'x.db')], { TELEGRAM_ALLOWED_USERS: '11,*' })
  t.equal(code, 2)
  t.match(
    stderr,
    /TELEGRAM_ALLOWED_USERS: must be ids of people, 1 to 32 digits each, separated by commas \(it is "11,\*"\)/,
  )
})

// -- races, forgeries and repetitions ------------------------------------------------------------------------------------

t.test(
  'two press at once, and a third decides elsewhere: one decision stands, and everyone learns which',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    for (let round = 0; round < 3; round++) {
      const { id, message } = await ask(both, { action: `act_${round}` })
      const deny = dataOf(message, 'Deny')
      await telegram.press(message, 'Approve', maria)
      await isTitled(message, /Are you sure/)
      const [yes, no, http] = await Promise.all([
        telegram.press(message, 'Yes, approve', maria),
        telegram.pressData(deny, tom, message),
        program.call('POST', `/confirm/${id}/deny`, { denier: 'bob' }),
      ])
      const { status, resolved_by: by } = await statusOf(program, id)
      const winners = [yes.text === 'Approved.', no.text === 'Denied.', http.status === 200]
      t.equal(winners.filter(Boolean).length, 1)
      for (const { text } of [yes, no])
        t.ok(/^(Approved|Denied)\.$/.test(text) || text.includes(`by ${String(by)}`), text)
      await isTitled(message, status === 'approved' ? /✅ Approved/ : /❌ Denied/)
      t.same(message.buttons, [])
      t.equal([...(await typed(program, 'approved', id)), ...(await typed(program, 'denied', id))].length, 1)
    }
  },
)

t.test('in two chats at once: one decision stands, and both messages say it', async (t) => {
  const slack = await startSlack(t)
  const both = await withTelegram(t, { env: slackEnv(slack) })
  const { telegram, program } = both
  await slack.listened()
  const { id, message } = await ask(both)
  await slack.write(`show ${id.slice(-6)}`, { id: 'U0MARIA' })
  await until(() => slack.messages.length === 1)
  const [inSlack] = slack.messages
  await Promise.all(
    [
      telegram.press(message, 'Deny', maria),
      slack.press(inSlack!, 'Deny', { id: 'U0MARIA' }).then(() => slack.submit('no', { id: 'U0MARIA' })),
    ].map((press) => press.catch(() => {})),
  )
  await isTitled(message, /❌ Denied/)
  await until(() => /❌ Denied/.test(readBlocks(inSlack!)[0]![0]!.text))
  t.same(message.buttons, [])
  t.notOk(slackButtonsOf(inSlack!).some(({ value }) => value !== undefined))
  t.equal((await typed(program, 'denied', id)).length, 1)
})

function slackEnv(slack: FakeSlack): Record<string, string> {
  return {
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_CHANNEL: slack.channel,
    SLACK_API_BASE: slack.config.slackApiBase,
    SLACK_ALLOWED_USERS: 'U0MARIA',
  }
}

t.test('what anybody might send under an id that is good decides nothing', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  const other = await ask(both, { action: 'tag' })
  const deny = dataOf(message, 'Deny')
  const token = deny.slice('deny:'.length)
  const inAnotherChat = { ...message, chatId: '-1009' }
  for (const [data, from] of [
    ['', message],
    ['deny:', message],
    [`deny:${'x'.repeat(43)}`, message],
    [`yes:${token}`, message],
    [`approve:${token}`, message],
    [`yes:${id}`, message],
    [deny, other.message],
    [deny, inAnotherChat],
    [deny, null],
    [`${deny}\n`, message],
    ['x'.repeat(5000), message],
  ] as const) {
    t.match(await telegram.pressData(data, maria, from), { text: /no longer good/, isAlert: true }, data.slice(0, 60))
  }
  for (const one of [id, other.id]) t.equal((await statusOf(program, one)).status, 'pending')
  const file = await readFile(program.dbPath)
  t.notOk(file.includes(token), 'of what buttons send only hashes are kept')
})

t.test('the same press, and the same update again, decide once; what was asked before is no yes', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  await telegram.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  const replayed = dataOf(message, 'Yes, approve')
  await telegram.press(message, 'Back', maria)
  await isTitled(message, /Confirmation needed/)
  await telegram.press(message, 'Deny', maria)
  t.match(await telegram.pressData(replayed, maria, message), { text: /denied already, by telegram:11|no longer good/ })
  const numbers = telegram.waiting()
  for (const number of numbers) telegram.sendAgain(number)
  t.match(await telegram.pressData(replayed, maria, message), { isAlert: true })
  t.equal((await statusOf(program, id)).status, 'denied')
  t.equal((await typed(program, 'denied', id)).length, 1)
  t.equal((await typed(program, 'approved', id)).length, 0)
})

// -- denying -------------------------------------------------------------------------------------------------------------

t.test('Deny is final at once, and a reply says why: of whoever denied, and nobody else', async (t) => {
  const both = await withTelegram(t)
  const { telegram, program } = both
  const { id, message } = await ask(both)
  const waiting = program.call('GET', `/confirm/${id}?wait=30`)
  t.same(await telegram.press(message, 'Deny', maria), { text: 'Denied.', isAlert: false })
  t.match((await waiting).body, { status: 'denied', resolved_by: 'telegram:11', reason: null })
  await isTitled(message, /❌ Denied/)
  const prompt = await next(telegram, 1)
  t.match(prompt, { replyTo: message.id, forceReply: { selective: true } })
  t.match(prompt.text, /To say why, reply to this message; you need not\./)
  const chat = telegram.chat
  telegram.write('I am not asked', stranger, { chat, replyTo: prompt })
  telegram.write('not mine', tom, { chat, replyTo: prompt })
  t.match((await next(telegram, 2)).text, /Only those who decided say why, and telegram:12 did not/)
  telegram.write('Not before the audit <b>', maria, { chat, replyTo: prompt })
  t.equal((await next(telegram, 3)).text, 'Recorded.')
  await until(() => message.text.includes('Comment: Not before the audit <b>'))
  await program.crash()

  const again = await start(t, { dbPath: program.dbPath, env: envOf(telegram) })
  telegram.write('and after a restart', maria, { chat, replyTo: prompt })
  t.equal((await next(telegram, 4)).text, 'Recorded.')
  telegram.write('or to the card', maria, { chat, replyTo: message })
  telegram.write('or to the card', maria, { chat, replyTo: message })
  await next(telegram, 6)
  const { comments, reason, status } = await statusOf(again, id)
  t.match({ status, reason }, { status: 'denied', reason: null })
  t.same(
    comments.map(({ by, text, via }: any) => [by, text, via]),
    ['Not before the audit <b>', 'and after a restart', 'or to the card'].map((one) => [
      'telegram:11',
      one,
      'telegram',
    ]),
  )
})

t.test(
  'where the rule wants a reason, Deny says how to give one, and what cannot be approved here offers it in no way',
  async (t) => {
    const rules = join(t.testdir({ 'rules.yaml': strict }), 'rules.yaml')
    const both = await withTelegram(t, { flags: ['--policy', rules] })
    const { telegram, program } = both
    const reasoned = await ask(both, { action: 'reasoned' })
    t.match(await telegram.press(reasoned.message, 'Deny', maria), {
      text: /wants a reason: write \/deny \w{8} and why/,
    })
    t.equal((await statusOf(program, reasoned.id)).status, 'pending')
    telegram.write(`/deny ${reasoned.id.slice(-8)} too early`, maria, { chat: telegram.chat })
    await isTitled(reasoned.message, /❌ Denied/)
    t.match(await statusOf(program, reasoned.id), { status: 'denied', reason: 'too early' })

    for (const [fields, why] of [
      [{ action: 'typed' }, /typed out/],
      [{ description: 'x'.repeat(20_000) }, /too long to be shown whole/],
      [{ details: { url: 'postgres://app:hunter2@db/x' } }, /looks like a secret/],
    ] as const) {
      const { id, message } = await ask(both, fields)
      t.same(labelsOf(message), ['Deny'])
      t.match(message.text, why)
      t.notMatch(message.text, /hunter2/)
      const before = telegram.messages.length
      telegram.write(`/approve ${id.slice(-6)}`, maria, { chat: telegram.chat })
      const shown = await next(telegram, before)
      t.same(labelsOf(shown), ['Deny'], 'nor by a command')
      t.match(shown.text, why)
    }
  },
)

const strict = `
rules:
  - action: typed
    typed_confirmation: true
  - action: reasoned
    reason_required: deny
`

// -- commands ------------------------------------------------------------------------------------------------------------

t.test(
  'commands list, show, approve with a question, and deny; in the group and in private, and nowhere else',
  async (t) => {
    const both = await withTelegram(t)
    const { telegram, program } = both
    const chat = telegram.chat
    const { id, message } = await ask(both)
    const other = await ask(both, { action: 'tag_release', requester: 'bot <b>' })
    const answered = async (text: string, by = maria, where: string | null = chat) => {
      const before = telegram.messages.length
      telegram.write(text, by, where === null ? {} : { chat: where })
      return next(telegram, before)
    }
    t.match((await answered('/pending')).text, new RegExp(`${id.slice(-8)} send_mail, asked by agent`))
    t.match((await answered(`/pending@${telegram.botName}`)).text, /tag_release, asked by bot <b>/)
    t.match((await answered('/help', maria, null)).text, /^\/pending what waits/)
    t.match((await answered('/sessions')).text, /^(Sessions|There are no sessions)/)
    t.match((await answered('/approve 12345')).text, /at least the last 6/)
    t.match((await answered('/shwo')).text, /There is no \/shwo; did you mean \/show\?/)

    const shown = await answered(`/show ${id.slice(-6)}`)
    t.same(labelsOf(shown), ['Approve', 'Deny'])
    t.match(shown.text, new RegExp(`ID: ${id}`))
    const asking = await answered(`/approve ${id.slice(-6)}`, maria, null)
    t.equal(asking.chatId, String(maria), 'what is asked in private is answered there')
    t.match(titleOf(asking), /Are you sure/)
    t.equal((await statusOf(program, id)).status, 'pending', 'it asks once more')
    t.match(await telegram.press(asking, 'Yes, approve', tom), { text: /Only whoever pressed Approve/ })
    t.match(await telegram.press(asking, 'Yes, approve', maria), { text: 'Approved.' })
    t.match(await statusOf(program, id), { status: 'approved', resolved_by: 'telegram:11' })
    for (const copy of [message, shown, asking]) await isTitled(copy, /✅ Approved/)
    for (const copy of [message, shown, asking]) t.same(copy.buttons, [])

    t.match((await answered(`/deny ${id.slice(-6)} late`)).text, /approved already, by telegram:11\. That stands/)
    t.match((await answered(`/deny@${telegram.botName} ${other.id.slice(-8)} not\nnow`)).text, /^Denied\. tag_release/)
    t.match(await statusOf(program, other.id), { status: 'denied', reason: 'not\nnow' })

    // To another bot, in another group, by a stranger in the group, passed on: nobody is answered there.
    const last = await ask(both, { action: 'last' })
    const before = telegram.messages.length
    telegram.write(`/deny@other_bot ${last.id.slice(-6)}`, maria, { chat })
    telegram.write(`/deny ${last.id.slice(-6)}`, maria, { chat: '-1009' })
    telegram.write(`/deny ${last.id.slice(-6)}`, stranger, { chat })
    telegram.write(`/deny ${last.id.slice(-6)}`, maria, { chat, fields: { forward_origin: { type: 'user' } } })
    telegram.write(`/deny ${last.id.slice(-6)}`, maria, { chat, fields: { sender_chat: { id: Number(chat) } } })
    telegram.send({ channel_post: { message_id: 5, chat: { id: Number(chat) }, text: `/deny ${last.id.slice(-6)}` } })
    const told = await answered('/start', stranger, null)
    t.match([told.chatId, told.text], [String(stranger), /nobody has allowed your id, 99/])
    // The stranger is told alone, of either.
    await until(() => telegram.messages.length >= before + 2)
    t.same(
      telegram.messages.slice(before).map(({ chatId }) => chatId),
      [String(stranger), String(stranger)],
    )
    // Now that there is a place where they alone read it, a command of theirs in the group is answered there.
    t.equal((await answered('/pending', stranger)).chatId, String(stranger))
    t.equal((await statusOf(program, last.id)).status, 'pending')
    t.ok(telegram.menu.some(({ command }) => command === 'pending'))
  },
)
