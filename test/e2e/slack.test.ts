// Slack and ntfy with the started program, over real sockets: asked for, pressed, waited for; strangers, forms, commands, and
// connections that end.
import t, { type Test } from 'tap'
import { type FakeNtfy, startNtfy } from '../notify/fake-ntfy.js'
import { buttonsOf, type FakeSlack, no, readBlocks, type SlackMessage, startSlack } from '../notify/fake-slack.js'
import { until } from '../support.js'
import { type Program, start, type StartOptions } from './program.js'

const maria = { id: 'U0MARIA' }
const tom = { id: 'U0TOM' }
const root = t

async function withSlack(t: Test, options: StartOptions = {}): Promise<{ slack: FakeSlack; program: Program }> {
  const slack = await startSlack(t)
  const program = await start(t, { ...options, env: { ...envOf(slack), ...options.env } })
  await slack.listened()
  return { slack, program }
}

/** One for those that change no settings, and neither stop the service nor Slack; what the one before was told is forgotten. */
let shared: ReturnType<typeof withSlack> | undefined
async function together(): ReturnType<typeof withSlack> {
  const env = { CONFIRMATION_NOTIFY_RATE: '1000' }
  const both = await (shared ??= withSlack(root, { flags: ['--rate-limit', '1000'], env }))
  both.slack.whispers.length = 0
  both.slack.forms.length = 0
  return both
}

function envOf(slack: FakeSlack): Record<string, string> {
  return {
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_CHANNEL: slack.channel,
    SLACK_API_BASE: slack.config.slackApiBase,
    SLACK_ALLOWED_USERS: maria.id,
  }
}

function ntfyEnv({ config }: FakeNtfy): Record<string, string> {
  return { NTFY_URL: config.ntfyUrl, NTFY_TOPIC: config.ntfyTopic, NTFY_TOKEN: config.ntfyToken }
}

/** Asks, and waits until Slack has the message, and Holdpoint knows which it is. */
async function ask({ slack, program }: { slack: FakeSlack; program: Program }, fields: Record<string, unknown> = {}) {
  const before = slack.messages.length
  const { status, body } = await program.submit(fields)
  t.equal(status, 202)
  await until(() => slack.messages.length > before)
  await until(async () => (await stateOf(program, String(body.id))) === 'sent')
  return { id: String(body.id), message: slack.messages[before]! }
}

async function stateOf(program: Program, id: string): Promise<string> {
  const { deliveries } = (await program.call('GET', `/confirm/${id}`)).body
  return deliveries.find((one: any) => one.channel === 'slack').status
}

const titleOf = (message: SlackMessage) => readBlocks(message)[0]![0]!.text
const labelsOf = (message: SlackMessage) => buttonsOf(message).map(({ text }) => String(text.text))
const factsOf = (message: SlackMessage) =>
  readBlocks(message)
    .flat()
    .map(({ text }) => text)
    .join('')
const isTitled = (message: SlackMessage, title: RegExp) => until(() => title.test(titleOf(message)))

t.test('two presses approve, and the agent that waits is told', async (t) => {
  const both = await together()
  const { slack, program } = both
  const { id, message } = await ask(both)
  t.equal(titleOf(message), '🔔 Confirmation needed')
  const waiting = program.call('GET', `/confirm/${id}?wait=30`)
  await slack.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending', 'a slip of the thumb decides nothing')
  await slack.press(message, 'Yes, approve', maria)
  t.match((await waiting).body, { status: 'approved', resolved_by: 'slack:U0MARIA' })
  await isTitled(message, /✅ Approved/)
  t.same(labelsOf(message), [])
  t.match(factsOf(message), /By: slack:U0MARIA\n/)
})

t.test('somebody else cannot say yes, and Back asks no more', async (t) => {
  const both = await withSlack(t, { env: { SLACK_ALLOWED_USERS: `${maria.id},${tom.id}` } })
  const { slack, program } = both
  const { id, message } = await ask(both)
  await slack.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  await slack.press(message, 'Yes, approve', tom)
  await until(() => slack.whispers.length === 1)
  t.match(slack.whispers, [{ user: tom.id, text: /Only whoever pressed Approve/ }])
  await slack.press(message, 'Back', tom)
  await isTitled(message, /Confirmation needed/)
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending')
})

t.test('a stranger decides nothing, is told so alone, and is on record', async (t) => {
  const both = await together()
  const { slack, program } = both
  const { id, message } = await ask(both)
  for (const by of [tom, { id: maria.id, team: 'T0OTHER' }]) await slack.press(message, 'Deny', by)
  await until(() => slack.whispers.length === 2)
  t.match(slack.whispers, [
    { user: tom.id, text: /people set .*--slack U0TOM/ },
    { user: maria.id, text: /--slack T0OTHER:U0MARIA/ },
  ])
  t.equal(titleOf(message), '🔔 Confirmation needed')
  t.same(slack.forms, [])
  t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending')
  const rejected = (await program.events()).filter(({ type }) => type === 'rejected')
  t.equal(rejected.length, 2)
})

t.test('what anybody might send with a name that is good decides nothing', async (t) => {
  const both = await together()
  const { slack, program } = both
  const { id, message } = await ask(both)
  const other = await ask(both, { action: 'tag' })
  const [, deny] = buttonsOf(message)
  for (const data of ['', 'approve:', `yes:${'x'.repeat(43)}`, `yes:${String(deny.value).slice(5)}`, `yes:${id}`]) {
    await slack.forge(data, maria, message)
  }
  await slack.forge(deny.value, maria, other.message)
  await slack.forge(deny.value, maria, null)
  await until(() => slack.whispers.length >= 6)
  for (const one of [id, other.id]) t.equal((await program.call('GET', `/confirm/${one}`)).body.status, 'pending')
})

t.test('Deny asks for a reason in a form, and denies once that is sent, with or without one', async (t) => {
  const both = await together()
  const { slack, program } = both
  for (const reason of ['Not before the audit <b>', null]) {
    const { id, message } = await ask(both)
    const forms = slack.forms.length
    await slack.press(message, 'Deny', maria)
    await until(() => slack.forms.length > forms)
    t.equal((await program.call('GET', `/confirm/${id}`)).body.status, 'pending')
    await slack.submit(reason, maria)
    await isTitled(message, /❌ Denied/)
    const { body } = await program.call('GET', `/confirm/${id}`)
    t.match(body, { status: 'denied', resolved_by: 'slack:U0MARIA' })
    t.equal(body.reason ?? null, reason)
  }
})

t.test('the same press, and the same envelope again, decide once', async (t) => {
  const both = await together()
  const { slack, program } = both
  const { id, message } = await ask(both)
  await slack.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  const yes = buttonsOf(message).find(({ text }) => text.text === 'Yes, approve')
  const [envelope] = await Promise.all([
    slack.press(message, 'Yes, approve', maria),
    slack.forge(yes.value, maria, message),
  ])
  slack.drop()
  await slack.redeliver(envelope)
  await isTitled(message, /✅ Approved/)
  const decided = (await program.events()).filter((one) => one.type === 'approved' && one.confirmation_id === id)
  t.equal(decided.length, 1)
})

t.test('presses are heard after a connection broke, and after Slack asked for another', async (t) => {
  const both = await withSlack(t)
  const { slack } = both
  const { message } = await ask(both)
  slack.drop()
  await slack.press(message, 'Approve', maria)
  await isTitled(message, /Are you sure/)
  slack.disconnect('refresh_requested')
  await slack.press(message, 'Back', maria)
  await isTitled(message, /Confirmation needed/)
})

t.test('a restart goes on listening, and shows what happened while a message could not be edited', async (t) => {
  const { slack, program } = await withSlack(t)
  const { id, message } = await ask({ slack, program })
  slack.failAlways({ status: 503, body: '' })
  await program.call('POST', `/confirm/${id}/deny`, { denier: 'bob', reason: 'no' })
  await program.crash()
  t.equal(titleOf(message), '🔔 Confirmation needed')
  slack.failAlways(null)
  const again = await start(t, { dbPath: program.dbPath, env: envOf(slack) })
  await isTitled(message, /❌ Denied/)
  const next = await ask({ slack, program: again })
  await slack.press(next.message, 'Approve', maria)
  await isTitled(next.message, /Are you sure/)
})

t.test('the command lists, shows and denies; approving by it asks once more', async (t) => {
  const both = await withSlack(t)
  const { slack, program } = both
  const { id } = await ask(both)
  const answered = async (text: string, count = slack.messages.length + 1) => {
    await slack.write(text, maria)
    await until(() => slack.messages.length === count)
    return slack.messages.at(-1)!
  }
  t.match(factsOf(await answered('pending')), new RegExp(`${id.slice(-8)} send_mail`))
  t.match(factsOf(await answered('')), /\/approve/)
  const shown = await answered(`show ${id.slice(-6)}`)
  t.same(labelsOf(shown).slice(0, 2), ['Approve', 'Deny'])
  const asking = await answered(`approve ${id.slice(-6)}`)
  t.match(titleOf(asking), /Are you sure/)
  t.match(factsOf(await answered(`deny ${id.slice(-6)} not now`)), /Denied/)
  t.match((await program.call('GET', `/confirm/${id}`)).body, { status: 'denied', reason: 'not now' })
  await isTitled(shown, /❌ Denied/)
  await isTitled(asking, /❌ Denied/)

  await slack.write('deny x', tom)
  await until(() => slack.whispers.length === 1)
  t.match(slack.whispers, [{ user: tom.id, text: /--slack U0TOM/ }], 'where all read, they alone are told')
  await slack.write('pending', tom, 'C0ELSE')
  await until(() => slack.messages.at(-1)!.channel === 'DU0TOM')
  t.match(factsOf(slack.messages.at(-1)!), /--slack U0TOM/)
})

t.test('without a token for Socket Mode there is a link, and nothing is listened to', async (t) => {
  const slack = await startSlack(t)
  const { SLACK_APP_TOKEN: _, ...env } = envOf(slack)
  const program = await start(t, { env, flags: ['--public-url', 'https://holdpoint.example.com'] })
  const { message } = await ask({ slack, program })
  t.match(buttonsOf(message), [{ url: /^https:\/\/holdpoint\.example\.com\/link\// }])
  t.equal(slack.guests.length, 0)
})

t.test('ntfy is told when Slack is not, with a link that leads to signing in', async (t) => {
  const [slack, ntfy] = [await startSlack(t), await startNtfy(t)]
  const program = await start(t, {
    env: { ...envOf(slack), ...ntfyEnv(ntfy) },
    flags: ['--public-url', 'https://holdpoint.example.com'],
  })
  await ask({ slack, program })
  t.same(ntfy.messages, [])
  slack.failAlways(no('channel_not_found'))
  const { body } = await program.submit({ action: 'deploy_production' })
  await until(() => ntfy.messages.length === 1)
  const url = `https://holdpoint.example.com/view/${body.id}`
  t.match(ntfy.messages, [{ priority: 5, click: url, actions: [{ url }], message: /^Action: “deploy_production”\n/ }])
  await program.call('POST', `/confirm/${body.id}/deny`, { denier: 'bob' })
  await until(() => ntfy.messages[0]!.title === '❌ Denied')
  t.match(ntfy.messages, [{ priority: 2, updates: 1 }])
})
