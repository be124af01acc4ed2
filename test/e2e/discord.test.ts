// Discord with the started program, over real sockets: asked for, pressed, waited for; strangers, forms, commands, a Gateway that
// breaks in every way, signed requests, an outage, a storm of 429, and a process that is killed.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { command, commandWith } from '../cli/command.js'
import {
  buttonsOf,
  type DiscordMessage,
  type FakeDiscord,
  readEmbeds,
  refuse,
  startDiscord,
  tooMany,
} from '../notify/fake-discord.js'
import { needs } from '../needs.js'
import { temporaryFolder, until } from '../support.js'
import { faultyDisk } from './faulty-disk.js'
import { type Program, start, type StartOptions } from './program.js'

const maria = { id: '123456789012345678' }
const tom = { id: '234567890123456789' }
const root = t

interface Both {
  discord: FakeDiscord
  program: Program
}

/** For those that mostly wait. */
const aside = { buffered: true }
t.jobs = 3

async function withDiscord(t: Test, options: StartOptions = {}): Promise<Both> {
  const discord = await startDiscord(t, { identifyPauseMs: 0 })
  const program = await start(t, { ...options, env: { ...envOf(discord), ...options.env } })
  if (options.env?.DISCORD_PUBLIC_KEY === undefined) await discord.gateway.listened()
  return { discord, program }
}

/** One for those that change no settings, and neither stop the service nor Discord; what the one before was told is forgotten. */
let shared: Promise<Both> | undefined
async function together(): Promise<Both> {
  const env = { CONFIRMATION_NOTIFY_RATE: '1000' }
  const both = await (shared ??= withDiscord(root, { flags: ['--rate-limit', '1000'], env }))
  both.discord.whispers.length = 0
  return both
}

function envOf({ config }: FakeDiscord): Record<string, string> {
  return {
    DISCORD_BOT_TOKEN: config.discordBotToken,
    DISCORD_HOME_CHANNEL: config.discordHomeChannel,
    DISCORD_API_BASE: config.discordApiBase,
    DISCORD_ALLOWED_USERS: `${maria.id},${tom.id}`,
  }
}

/** Asks, and waits until Discord has the message, and Holdpoint knows which it is. */
async function ask({ discord, program }: Both, fields: Record<string, unknown> = {}) {
  const { status, body } = await program.submit(fields)
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`)
  const id = String(body.id)
  await until(() => messageOf(discord, id))
  await until(async () => (await deliveryOf(program, id)).status === 'sent')
  return { id, message: messageOf(discord, id)! }
}

function messageOf(discord: FakeDiscord, id: string): DiscordMessage | undefined {
  return discord.messages.find((one) => factsOf(one).includes(`ID: ${id}`))
}

async function deliveryOf(program: Program, id: string): Promise<any> {
  const { deliveries } = (await program.call('GET', `/confirm/${id}`)).body
  return deliveries.find((one: any) => one.channel === 'discord')
}

const statusOf = async (program: Program, id: string) => (await program.call('GET', `/confirm/${id}`)).body.status
const titleOf = (message: DiscordMessage) => String(message.embeds[0].title)
const labelsOf = (message: DiscordMessage) => buttonsOf(message).map(({ label }) => String(label))
const dataOf = (message: DiscordMessage, label: string) =>
  String(buttonsOf(message).find((one) => one.label === label).custom_id)
const factsOf = (message: DiscordMessage) =>
  readEmbeds(message)
    .map((parts) => parts.map(({ text }) => text).join(''))
    .join('\n')
const isTitled = (message: DiscordMessage, title: RegExp) => until(() => title.test(titleOf(message)))

/** Presses Approve and then Yes. */
async function approve({ discord }: Both, message: DiscordMessage): Promise<void> {
  await discord.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  await discord.press(message, 'Yes, approve', maria)
}

t.test('two presses approve, and the agent that waits is told', async (t) => {
  const both = await together()
  const { discord, program } = both
  const { id, message } = await ask(both)
  t.equal(titleOf(message), '🔔 Confirmation needed')
  const waiting = program.call('GET', `/confirm/${id}?wait=30`)
  t.same(await discord.press(message, 'Approve', maria), { type: 6 })
  await isTitled(message, /Are you sure/)
  t.same(labelsOf(message), ['Yes, approve', 'Back'])
  t.equal(await statusOf(program, id), 'pending', 'a slip of the thumb decides nothing')
  await discord.press(message, 'Yes, approve', maria)
  t.match((await waiting).body, { status: 'approved', resolved_by: `discord:${maria.id}` })
  await isTitled(message, /✅ Approved/)
  t.same(labelsOf(message), [])
  t.match(factsOf(message), `By: discord:${maria.id}\n`)
  t.same(discord.whispers, [])
})

t.test('what is decided elsewhere is shown, and its buttons go', async (t) => {
  const both = await together()
  const { discord, program } = both
  const { id, message } = await ask(both)
  const data = dataOf(message, 'Approve')
  await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob', reason: 'no @everyone' })
  await isTitled(message, /❌ Denied/)
  t.same(labelsOf(message), [])
  t.match(factsOf(message), /By: bob\n.*\nReason: no @everyone/)
  t.match(await discord.forge(data, maria, message), { type: 4, data: { flags: 64 } }, 'an old message is no way in')
})

t.test('somebody else cannot say yes, Back asks no more, and strangers and bots decide nothing', async (t) => {
  const both = await withDiscord(t, { env: { DISCORD_ALLOWED_USERS: maria.id } })
  const { discord, program } = both
  await command(program.dbPath, 'people', 'set', '--name', 'tom', '--discord', tom.id)
  const { id, message } = await ask(both)
  await discord.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  t.match(await discord.press(message, 'Yes, approve', tom), { type: 4, data: { flags: 64 } })
  t.match(discord.whispers, [{ user: tom.id, text: /Only whoever pressed Approve/ }])
  await discord.press(message, 'Back', tom)
  await isTitled(message, /Confirmation needed/)

  const stranger = { id: '999' }
  t.match(await discord.press(message, 'Deny', stranger), { type: 4, data: { flags: 64 } })
  t.match(discord.whispers.at(-1), { user: '999', text: /people set .*--discord 999.*DISCORD_ALLOWED_USERS/ })
  await discord.press(message, 'Deny', { ...maria, bot: true })
  t.match(discord.whispers.at(-1)!.text, /Only a person/)
  t.same(discord.forms, [])
  t.equal(await statusOf(program, id), 'pending')
  t.equal(titleOf(message), '🔔 Confirmation needed')
  const rejected = (await program.events()).filter(({ type, channel }) => type === 'rejected' && channel === 'discord')
  t.same(
    rejected.map(({ actor }) => actor),
    ['discord:999', 'unknown'],
  )
  await approve(both, message)
  await isTitled(message, /✅ Approved/)
})

t.test('what anybody might send decides nothing: forged, of another message, sent twice', async (t) => {
  const both = await together()
  const { discord, program } = both
  const { id, message } = await ask(both)
  const other = await ask(both, { action: 'tag' })
  const deny = dataOf(message, 'Deny')
  const token = deny.slice('deny:'.length)
  for (const data of [
    '',
    'approve:',
    `yes:${'x'.repeat(43)}`,
    `yes:${token}`,
    `yes:${id}`,
    `${deny} `,
    'x'.repeat(100),
  ]) {
    t.match(await discord.forge(data, maria, message), { type: 4 }, data)
  }
  t.match(await discord.forge(deny, maria, other.message), { type: 4 })
  t.match(await discord.forge(deny, maria, null), { type: 4 })
  t.ok(discord.whispers.every(({ text }) => /no longer good/.test(text)))
  for (const one of [id, other.id]) t.equal(await statusOf(program, one), 'pending')

  await discord.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  const yes = dataOf(message, 'Yes, approve')
  await Promise.all([discord.forge(yes, maria, message), discord.forge(yes, maria, message)])
  discord.redeliver()
  discord.gateway.drop()
  discord.redeliver()
  await isTitled(message, /✅ Approved/)
  const decided = (await program.events()).filter((one) => one.type === 'approved' && one.confirmation_id === id)
  t.equal(decided.length, 1)
})

t.test('two who press at once get one decision, and both learn which', async (t) => {
  const both = await withDiscord(t)
  const { discord, program } = both
  for (let round = 0; round < 3; round++) {
    const { id, message } = await ask(both, { action: `act_${round}` })
    await discord.press(message, 'Deny', tom)
    await discord.press(message, 'Approve', maria)
    await isTitled(message, /Are you sure/)
    const before = discord.whispers.length
    await Promise.all([discord.press(message, 'Yes, approve', maria), discord.submit('no', tom)])
    await isTitled(message, /Approved|Denied/)
    t.equal(discord.whispers.length, before + 1, 'whoever was second')
    const { status, resolved_by: by } = (await program.call('GET', `/confirm/${id}`)).body
    const { user, text } = discord.whispers.at(-1)!
    t.equal(user, status === 'approved' ? tom.id : maria.id)
    t.match(text, new RegExp(`already.* by ${String(by)}. That stands|already ${String(status)} by ${String(by)}`))
  }
})

t.test('Deny asks for a reason in a form, and denies once that is sent, with or without one', async (t) => {
  const both = await together()
  const { discord, program } = both
  for (const reason of ['Not before the audit <@1>', '']) {
    const { id, message } = await ask(both)
    t.match(await discord.press(message, 'Deny', maria), { type: 9, data: { title: 'Deny' } })
    t.equal(await statusOf(program, id), 'pending')
    await discord.submit(reason, maria)
    await isTitled(message, /❌ Denied/)
    const { body } = await program.call('GET', `/confirm/${id}`)
    t.match(body, { status: 'denied', resolved_by: `discord:${maria.id}` })
    t.equal(body.reason ?? '', reason)
  }
  // Too late, and by a stranger.
  const { id, message } = await ask(both)
  await discord.press(message, 'Deny', maria)
  t.match(await discord.submit('mine', { id: '999' }), { type: 4 })
  t.equal(await statusOf(program, id), 'pending')
  await program.call('POST', `/confirm/${id}/approve`, { approver: 'bob' })
  t.match(await discord.submit('late', maria), {
    type: 4,
    data: { content: /approved already, by bob|no longer good/ },
  })
  t.match((await program.call('GET', `/confirm/${id}`)).body, { status: 'approved', resolved_by: 'bob' })
})

t.test('commands list, show and deny; approving by one asks once more; strangers are told alone', async (t) => {
  const both = await withDiscord(t)
  const { discord, program } = both
  const { id } = await ask(both)
  await until(() => discord.menu.length === 6)
  const answered = async (command: string, options: Record<string, string> = {}) => {
    const count = discord.messages.length
    t.match(await discord.write(command, options, maria), { type: 4, data: { flags: 64 } })
    await until(() => discord.messages.length > count)
    return discord.messages.at(-1)!
  }
  t.match(factsOf(await answered('pending')), new RegExp(`${id.slice(-8)} send_mail`))
  t.match(factsOf(await answered('help')), /\/approve/)
  t.match(factsOf(await answered('sessions')), /sessions/i)
  const shown = await answered('show', { id: id.slice(-6) })
  t.same(labelsOf(shown), ['Approve', 'Deny'])
  const asking = await answered('approve', { id: id.slice(-6) })
  t.match(titleOf(asking), /Are you sure/)
  t.equal(await statusOf(program, id), 'pending')
  t.match(factsOf(await answered('deny', { id: id.slice(-6), reason: 'not now' })), /Denied/)
  t.match((await program.call('GET', `/confirm/${id}`)).body, { status: 'denied', reason: 'not now' })
  await isTitled(shown, /❌ Denied/)
  await isTitled(asking, /❌ Denied/)

  const before = discord.messages.length
  await discord.write('pending', {}, { id: '999' })
  await until(() => discord.whispers.some(({ user, text }) => user === '999' && /--discord 999/.test(text)))
  await discord.write('pending', {}, maria, { channel: '31337', isPrivate: false })
  t.equal(discord.messages.length, before, 'and in no other channel')
  await discord.write('pending', {}, maria, { channel: `7${maria.id}`, isPrivate: true })
  await until(() => discord.messages.length > before)
  t.equal(discord.messages.at(-1)!.channel, `7${maria.id}`, 'to the bot alone it is answered there')

  const other = await ask(both, { action: 'tag' })
  const place = { channel: `7${maria.id}`, isPrivate: true }
  await discord.write('show', { id: other.id.slice(-8) }, maria, place)
  await until(() => discord.messages.at(-1)!.channel === place.channel && labelsOf(discord.messages.at(-1)!).length > 0)
  const own = discord.messages.at(-1)!
  await discord.press(own, 'Approve', maria)
  await isTitled(own, /Are you sure/)
  t.equal(titleOf(other.message), '🔔 Confirmation needed', 'nobody else is asked')
  await discord.press(own, 'Yes, approve', maria)
  await isTitled(own, /✅ Approved/)
  await isTitled(other.message, /✅ Approved/)
})

const breaks: [name: string, breakIt: (gateway: FakeDiscord['gateway']) => void, isNew: boolean][] = [
  ['drops', (gateway) => gateway.drop(), false],
  ['asks to reconnect', (gateway) => gateway.reconnect(), false],
  ['closes', (gateway) => gateway.close(4000), false],
  ['invalidates the session for a moment', (gateway) => gateway.invalidate(true), false],
  ['invalidates the session for good', (gateway) => gateway.invalidate(false), true],
]
for (const [name, breakIt, isNew] of breaks) {
  t.test(`presses count, each once, while the Gateway ${name}`, aside, async (t) => {
    const both = await withDiscord(t)
    const { discord, program } = both
    const { gateway } = discord
    const { id, message } = await ask(both)
    // Told before it breaks, or when it goes on; where the session is gone it may be lost, as Discord then says.
    const early = discord.press(message, 'Approve', maria)
    breakIt(gateway)
    const late = isNew ? early : discord.press(message, 'Approve', maria)
    await Promise.allSettled([early, late])
    for (let tries = 0; tries < 3 && !gateway.isListened(); tries++) await gateway.listened().catch(() => {})
    t.same([gateway.identified.length, gateway.resumed], isNew ? [2, 0] : [1, 1])
    if (!/Are you sure/.test(titleOf(message))) await discord.press(message, 'Approve', maria)
    await isTitled(message, /Are you sure/)
    await discord.press(message, 'Yes, approve', maria)
    discord.redeliver()
    await isTitled(message, /✅ Approved/)
    t.equal((await program.events()).filter((one) => one.type === 'approved' && one.confirmation_id === id).length, 1)
  })
}

t.test('a token that is taken back: links instead of buttons, and a sentence in the log', async (t) => {
  const both = await withDiscord(t, { flags: ['--public-url', 'https://holdpoint.example.com'] })
  const { discord, program } = both
  const open = buttonsOf((await ask(both)).message).find(({ label }) => label === 'Open')
  t.match(open.url, /^https:\/\/holdpoint\.example\.com\/view\//, 'where many can press, the page asks who they are')
  discord.gateway.close(4004)
  const line = await program.logLine(/links take the place of buttons/)
  t.match(line, { channel: 'discord', error: 'the token is refused', msg: /DISCORD_BOT_TOKEN/ })
  const { message } = await ask(both)
  t.match(buttonsOf(message), [{ style: 5, url: /^https:\/\/holdpoint\.example\.com\// }])
})

t.test('signed requests decide, from the settings to the agent that waits; anything else is 401', aside, async (t) => {
  const discord = await startDiscord(t)
  const program = await start(t, { env: { ...envOf(discord), DISCORD_PUBLIC_KEY: discord.publicKey } })
  const url = `http://127.0.0.1:${program.port}/chat/discord`
  const both = { discord, program }
  await program.logLine(/\/chat\/discord while Holdpoint runs/)
  const early = await ask(both)
  await discord.setEndpoint(url)
  t.equal(discord.gateway.guests.length, 0)
  t.same(labelsOf(early.message), [], 'nobody could have heard a press')
  // By a command, as buttons come back within a minute.
  const count = discord.messages.length
  await discord.write('pending', {}, maria)
  await until(() => discord.messages.length > count)
  t.match(factsOf(discord.messages.at(-1)!), /send_mail/)
  await program.stop()

  const again = await start(t, {
    dbPath: program.dbPath,
    flags: ['--port', String(program.port)],
    env: { ...envOf(discord), DISCORD_PUBLIC_KEY: discord.publicKey },
  })
  const { id, message } = await ask({ discord, program: again })
  const waiting = again.call('GET', `/confirm/${id}?wait=30`)
  const { headers, body } = discord.sign(JSON.stringify({ type: 1 }))
  t.match(await again.call('POST', '/chat/discord', body, headers), { status: 200, body: { type: 1 } })
  t.equal((await again.call('POST', '/chat/discord', `${body} `, headers)).status, 401)
  t.equal((await again.call('POST', '/chat/discord', body)).status, 401)
  const large = discord.sign(JSON.stringify({ type: 1, more: 'x'.repeat(200_000) }))
  t.equal((await again.call('POST', '/chat/discord', large.body, large.headers)).status, 413)
  t.equal((await again.call('GET', '/chat/discord')).status >= 400, true)
  await discord.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  // The same request again, as whoever has seen it could send it.
  const seen = discord.sign(JSON.stringify({ ...discord.last(), data: { custom_id: dataOf(message, 'Yes, approve') } }))
  t.match(await again.call('POST', '/chat/discord', seen.body, seen.headers), { status: 200, body: { type: 6 } })
  t.equal(await statusOf(again, id), 'pending')
  await discord.press(message, 'Yes, approve', maria)
  t.match((await waiting).body, { status: 'approved', resolved_by: `discord:${maria.id}` })
  await isTitled(message, /✅ Approved/)
  await discord.press((await ask({ discord, program: again })).message, 'Deny', maria)
  await discord.submit('', maria)
})

t.test('without DISCORD_PUBLIC_KEY nothing is expected at /chat/discord', async (t) => {
  const { discord, program } = await withDiscord(t)
  const { headers, body } = discord.sign(JSON.stringify({ type: 1 }))
  t.match(await program.call('POST', '/chat/discord', body, headers), { status: 404 })
})

t.test('killed between the press and the edit, the next start makes the edit, and hears presses', aside, async (t) => {
  const first = await withDiscord(t)
  const { discord, program } = first
  const { id, message } = await ask(first)
  await discord.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  discord.failAlwaysOf('edit', { status: 503, body: '' })
  await discord.press(message, 'Yes, approve', maria)
  await until(async () => (await statusOf(program, id)) === 'approved')
  await program.crash()
  t.match(titleOf(message), /Are you sure/)
  discord.failAlwaysOf('edit', null)
  const again = { discord, program: await start(t, { dbPath: program.dbPath, env: envOf(discord) }) }
  await isTitled(message, /✅ Approved/)
  t.same(labelsOf(message), [])
  await discord.gateway.listened()
  const next = await ask(again)
  await approve(again, next.message)
  await isTitled(next.message, /✅ Approved/)
})

t.test('while the disk hangs, presses are answered in time, and what came of them follows', aside, async (t) => {
  if (!needs(t, 'a disk with faults')) return
  const disk = faultyDisk(t)
  const both = await withDiscord(t, { env: disk.env })
  const { discord, program } = both
  const { id, message } = await ask(both)
  await discord.press(message, 'Deny', maria)
  // Longer than Discord waits.
  disk.set('slow 3500')
  const answers = await Promise.all([discord.submit('no', maria), discord.press(message, 'Deny', { id: '999' })])
  t.same(answers, [{ type: 6 }, { type: 6 }])
  t.same(discord.whispers, [])
  disk.set('')
  await until(() => discord.whispers.length === 1)
  t.match(discord.whispers, [{ user: '999', text: /nobody has allowed/ }])
  await isTitled(message, /❌ Denied/)
  t.match((await program.call('GET', `/confirm/${id}`)).body, { status: 'denied', reason: 'no' })
})

t.test(
  'an outage loses nothing: what was asked meanwhile is delivered once it is over, what ended says so',
  aside,
  async (t) => {
    const both = await withDiscord(t, { flags: ['--rate-limit', '1000'], env: { CONFIRMATION_NOTIFY_RATE: '1000' } })
    const { discord, program } = both
    const { id, message } = await ask(both)
    discord.failAll('reset')
    discord.gateway.drop()
    const asked = await Promise.all(Array.from({ length: 30 }, (_, n) => program.submit({ action: `act_${n}` })))
    t.ok(
      asked.every(({ status }) => status === 202),
      'nobody waits for it',
    )
    await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob' })
    const [over, ...waiting] = asked.map(({ body }) => String(body.id))
    await program.call('POST', `/confirm/${over!}/deny`, { denier: 'bob' })
    discord.failAll(null)
    // Another try comes within the minute; the settings' other chats and the log were told before.
    for (let n = 0; n < 12 && waiting.some((one) => messageOf(discord, one) === undefined); n++) {
      await until(() => waiting.every((one) => messageOf(discord, one) !== undefined)).catch(() => {})
    }
    t.ok(waiting.every((one) => messageOf(discord, one) !== undefined))
    t.equal(messageOf(discord, over!), undefined, 'what ended before anybody was told needs no message')
    await isTitled(message, /❌ Denied/)
  },
)

t.test('a storm of 429 is waited out, and everything arrives once', aside, async (t) => {
  const both = await withDiscord(t, { flags: ['--rate-limit', '1000'], env: { CONFIRMATION_NOTIFY_RATE: '1000' } })
  const { discord, program } = both
  discord.failNext(...Array.from({ length: 5 }, () => tooMany(0.2)))
  const asked = await Promise.all(Array.from({ length: 20 }, (_, n) => program.submit({ action: `act_${n}` })))
  const ids = asked.map(({ body }) => String(body.id))
  for (let n = 0; n < 8 && ids.some((one) => messageOf(discord, one) === undefined); n++) {
    await until(() => ids.every((one) => messageOf(discord, one) !== undefined)).catch(() => {})
  }
  t.same(
    ids.map((id) => discord.messages.filter((one) => factsOf(one).includes(`ID: ${id}`)).length),
    ids.map(() => 1),
  )
  t.ok(discord.calls.length <= 20 + 5 + 4, `${discord.calls.length} calls`)
})

t.test('with a webhook alone there is a link, nothing to press, and what follows is shown', async (t) => {
  const discord = await startDiscord(t)
  const program = await start(t, {
    env: { DISCORD_WEBHOOK_URL: discord.webhookConfig.discordWebhookUrl },
    flags: ['--public-url', 'https://holdpoint.example.com'],
  })
  const { id, message } = await ask({ discord, program })
  t.match(buttonsOf(message), [{ style: 5, url: /^https:\/\/holdpoint\.example\.com\// }])
  t.equal(discord.gateway.guests.length, 0)
  await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob' })
  await isTitled(message, /❌ Denied/)
  discord.deleteWebhook()
  const last = await program.submit()
  await until(async () => (await deliveryOf(program, String(last.body.id))).status === 'failed')
  const { length } = discord.calls
  for (let n = 0; n < 3; n++) {
    const { body } = await program.submit()
    await until(async () => (await deliveryOf(program, String(body.id))).status === 'failed')
  }
  t.equal(discord.calls.length, length, 'it is never called again')
})

t.test('notify test says what is wrong in a sentence, and how to mend it', async (t) => {
  const discord = await startDiscord(t)
  const dbPath = join(temporaryFolder(t), 'test.db')
  const test = (env: Record<string, string> = {}) =>
    commandWith({ ...envOf(discord), ...env }, dbPath, 'notify', 'test')
  t.match(await test(), { code: 0, stdout: 'discord: the test message was sent as hold\n' })
  t.equal(discord.messages.length, 1)
  const says = async (sentence: RegExp, env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await test(env)
    t.equal(code, 1)
    t.match(stdout, sentence)
    t.notMatch(stdout + stderr, discord.botToken)
  }
  await says(/^discord: users\/@me: 401 .*DISCORD_BOT_TOKEN\.\n$/, { DISCORD_BOT_TOKEN: 'wrong' })
  await says(/^discord: the channel: 404 .*DISCORD_HOME_CHANNEL/, { DISCORD_HOME_CHANNEL: '99' })
  discord.barred = 'access'
  await says(/^discord: the channel: 403 Missing Access.*View Channel/)
  discord.barred = null
  discord.guild.roles[0]!.permissions = '1024'
  await says(/^discord: the channel: the bot lacks Send Messages, Embed Links\. Give the bot/)
  discord.guild.roles[0]!.permissions = '8'
  discord.barred = 'permission'
  await says(/^discord: the test message was not taken: 403 Missing Permissions/)
  discord.barred = null
  await says(/DISCORD_PUBLIC_KEY is not the public key/, { DISCORD_PUBLIC_KEY: 'ab'.repeat(32) })
  discord.failAlwaysOf('applications/@me', {
    status: 200,
    body: { id: discord.applicationId, interactions_endpoint_url: 'https://x.example', verify_key: discord.publicKey },
  })
  await says(/Interactions Endpoint URL.*Take that URL away/)
  discord.failAlwaysOf('applications/@me', null)
  discord.failNextOf('users/@me', refuse(500, 'oops'))
  await says(/not reached: users\/@me: 500/)
  t.equal(discord.messages.length, 1)
})
