// Who is told, with chats behind the port: at once, alone, again, and instead of whom; what follows a vote; what a restart leaves.
import t, { type Test } from 'tap'
import { type PlayedChat, playChat, type Shown } from '../chat/played-chat.js'
import { locally } from '../actors.js'
import { build, type Built, type BuildOptions, counter, giveKeys, until } from '../support.js'

interface Routed extends Built {
  telegram: PlayedChat
  discord: PlayedChat
}

/** alice and bob are known in Telegram, bob in Discord as well. */
async function withPeople(t: Test, options: BuildOptions = {}): Promise<Routed> {
  const [telegram = playChat(), discord = playChat({ name: 'discord', hasForms: true })] = (options.chats ??
    []) as PlayedChat[]
  const built = await build(t, { ...options, chats: [telegram, discord] })
  const { people } = built.service
  await people.setPerson({ name: 'alice', chatIds: { telegram: '11' } }, locally)
  await people.setPerson({ name: 'bob', chatIds: { telegram: '12', discord: '22' } }, locally)
  return { ...built, telegram, discord }
}

const ruleOf = (settings: string) => `rules: [{ action: "*", ${settings} }]`

/** Where its messages went, in order, by occasion. */
async function sentTo({ store }: Pick<Built, 'store'>, id = 'id-0001'): Promise<string[]> {
  const all = (await store.deliveries.of(id)).filter(({ occasion }) => occasion !== 'schedule')
  const told = all.filter(({ state }) => state === 'sent').sort((a, b) => a.toldAt! - b.toldAt!)
  return told.map(({ channel, destination, occasion }) =>
    [channel, ...(destination === '' ? [] : [destination]), ...(occasion === 'notice' ? [] : [occasion])].join(' '),
  )
}

async function statesOf({ store }: Pick<Built, 'store'>, id = 'id-0001'): Promise<Record<string, string>> {
  const all = (await store.deliveries.of(id)).filter((one) => one.channel !== 'log' || one.attempts > 0)
  return Object.fromEntries(all.map(({ channel, destination, state }) => [`${channel} ${destination}`.trim(), state]))
}

const placesIn = ({ messages }: PlayedChat) => messages.map(({ place }) => place)
const titles = ({ messages }: PlayedChat) => messages.map(({ card }) => card?.title)
const factsOf = ({ card }: Shown) => Object.fromEntries(card!.facts.map(({ label, value }) => [label, value]))
const down = { kind: 'failed', error: '502' } as const
const blocked = { kind: 'refused', fault: 'message', error: '403 blocked' } as const

// -- at once -----------------------------------------------------------------------------------------------------------

t.test('all: every chat is told at once, each message follows, and neither stands for the other', async (t) => {
  const built = await withPeople(t, { config: { notify: ['all'] } })
  const { telegram, discord, clock, call } = built
  await built.submit()
  await clock.advance(0)
  t.same(await statesOf(built), { telegram: 'sent', discord: 'sent' })
  await call('POST', '/confirm/id-0001/deny')
  await clock.advance(0)
  t.same([titles(telegram), titles(discord)], [['❌ Denied'], ['❌ Denied']])
})

t.test('all: a chat that fails is tried until it takes it, and the log is left alone', async (t) => {
  const built = await withPeople(t, { config: { notify: ['all'] } })
  built.telegram.failAt('', down)
  await built.submit({ timeout_seconds: 3600 })
  await built.clock.advance(100_000)
  t.same(await statesOf(built), { telegram: 'retrying', discord: 'sent' })
  built.telegram.failAt('', null)
  await built.clock.advance(60_000)
  t.same(await statesOf(built), { telegram: 'sent', discord: 'sent' })
  t.equal(built.telegram.messages.length, 1)
})

t.test('all: where none takes it the log is told, and each as soon as it does', async (t) => {
  const built = await withPeople(t, { config: { notify: ['all'] } })
  for (const chat of [built.telegram, built.discord]) chat.failAt('', down)
  await built.submit({ timeout_seconds: 3600 })
  await built.clock.advance(0)
  t.same(await statesOf(built), { telegram: 'retrying', discord: 'retrying', log: 'sent' })
  for (const chat of [built.telegram, built.discord]) chat.failAt('', null)
  await built.clock.advance(60_000)
  t.same(await statesOf(built), { telegram: 'sent', discord: 'sent', log: 'sent' })
})

t.test('a rule names a chat; what it does not say the settings do', async (t) => {
  const rules = 'rules: [{ action: a, notify: discord }, { action: b }]'
  const built = await withPeople(t, { rules })
  for (const action of ['a', 'b']) await built.submit({ action })
  await built.clock.advance(0)
  t.same(await sentTo(built), ['discord'])
  t.same(await sentTo(built, 'id-0002'), ['telegram'])
})

// -- by themselves -----------------------------------------------------------------------------------------------------

t.test('two deciders are told each by themselves, both press, and both messages say what became of it', async (t) => {
  const rules = ruleOf('approvals: 2, deciders: [alice, bob], notify: deciders')
  const built = await withPeople(t, { rules })
  const { telegram, clock } = built
  await built.submit()
  await clock.advance(0)
  t.same(placesIn(telegram), ['11', '12'])
  t.equal(built.discord.messages.length, 0)
  const [first, second] = telegram.messages as [Shown, Shown]
  t.not(telegram.dataOf(first, 'Approve'), telegram.dataOf(second, 'Approve'))
  for (const [message, id] of [
    [first, '11'],
    [second, '12'],
  ] as const) {
    await telegram.press(message, 'Approve', id)
    await until(() => message.card!.title === '❓ Are you sure?')
    t.match(await telegram.press(message, 'Yes, approve', id), { text: id === '11' ? /1 of 2/ : 'Approved.' })
    await clock.advance(0)
    if (id === '11') for (const one of telegram.messages) t.match(factsOf(one), { 'Votes (1 of 2)': 'alice approved' })
  }
  await clock.advance(0)
  t.same(titles(telegram), ['✅ Approved', '✅ Approved'])
  t.same(
    telegram.messages.flatMap((one) => telegram.buttons(one)),
    [],
  )
})

t.test('one person’s message is no other’s: what it sends counts for nothing elsewhere', async (t) => {
  const built = await withPeople(t, { rules: ruleOf('notify: [alice, bob]') })
  await built.submit()
  await built.clock.advance(0)
  const [first, second] = built.telegram.messages as [Shown, Shown]
  const data = built.telegram.dataOf(first, 'Deny')
  t.match(await built.telegram.pressData(data, '12', second.ref), { text: /no longer good/ })
  t.equal((await built.call('GET', '/confirm/id-0001')).body.status, 'pending')
})

t.test('where somebody cannot be told, they are told elsewhere, or the chat is', async (t) => {
  const cases: [notify: string, blocked: ('telegram' | 'discord')[], sent: string[], log: boolean][] = [
    ['bob', [], ['telegram 12'], false],
    ['bob', ['telegram'], ['discord 22'], false],
    ['bob', ['telegram', 'discord'], ['telegram'], false],
    ['alice', ['telegram'], ['telegram'], false],
    ['zed', [], ['telegram'], false],
    ['zed, alice', [], ['telegram', 'telegram 11'], false],
  ]
  for (const [notify, chats, wanted, isInLog] of cases) {
    const built = await withPeople(t, { rules: ruleOf(`notify: [${notify}]`) })
    for (const chat of chats) for (const place of ['11', '12', '22']) built[chat].failAt(place, blocked)
    await built.submit()
    await built.clock.advance(0)
    t.same((await sentTo(built)).sort(), wanted, `${notify} where ${chats.join(' and ') || 'nobody'} refuses`)
    t.equal((await statesOf(built)).log === 'sent', isInLog)
    await built.clock.advance(120_000)
    t.same((await sentTo(built)).sort(), wanted, 'and that is enough')
  }
})

t.test('where no place is left for somebody, the log is told, whoever else was', async (t) => {
  const built = await withPeople(t, { rules: ruleOf('notify: [alice, bob]') })
  for (const chat of [built.telegram, built.discord]) chat.failAt('', blocked)
  // Busy at first, so that bob is told before alice cannot be.
  built.telegram.failAt('11', { kind: 'busy', retryAfterMs: 5000, error: '429' })
  await built.submit()
  await built.clock.advance(0)
  built.telegram.failAt('11', blocked)
  await built.clock.advance(5000)
  t.match(await statesOf(built), { 'telegram 11': 'failed', 'telegram 12': 'sent', log: 'sent' })
  t.match(
    built.logged.filter(({ level, msg }) => level === 40 && /^confirmation needed/.test(String(msg))),
    [{ msg: /^confirmation needed, and not everybody could be told in a chat: / }],
  )
})

t.test('while somebody’s chat is down, the usual ones are told; once they can be, they are told too', async (t) => {
  const built = await withPeople(t, { rules: ruleOf('notify: alice') })
  built.telegram.failAt('anywhere', down)
  await built.submit({ timeout_seconds: 3600 })
  await built.clock.advance(0)
  t.match(await statesOf(built), { 'telegram 11': 'superseded', discord: 'sent' })
})

t.test('whoever has no key left that lets them decide is not told', async (t) => {
  const built = await withPeople(t, { rules: ruleOf('notify: alice') })
  const { root } = await giveKeys(built, { root: 'admin' })
  const { body } = await root('POST', '/keys', { name: 'alice', role: 'operator' })
  await root('DELETE', `/keys/${body.id ?? body.key_id}`)
  await root('POST', '/confirm', { action: 'a', description: 'x' })
  await built.clock.advance(0)
  t.same(await sentTo(built), ['telegram'])
})

t.test('where the place of the settings is somebody’s own, they are told there, once', async (t) => {
  const rules = ruleOf('notify: [telegram, alice]')
  const built = await withPeople(t, { rules, config: { telegramHomeChannel: '11' } })
  await built.submit()
  await built.clock.advance(0)
  t.same(await sentTo(built), ['telegram'])
})

t.test('the settings may name a group of the rules, as it is now', async (t) => {
  const rules = 'groups: { ops: [alice] }\nrules: [{ action: "*" }]'
  const built = await withPeople(t, { rules, config: { notify: ['group:ops'] } })
  await built.submit()
  await built.clock.advance(0)
  t.same(await sentTo(built), ['telegram 11'])
  await built.service.useRules({ rules: [], sessions: null, groups: new Map([['ops', ['bob']]]), sha256: 'x' })
  await built.submit()
  await built.clock.advance(0)
  t.same(await sentTo(built, 'id-0002'), ['telegram 12'])
})

t.test('who cannot be told is said at the start, and how to mend it', async (t) => {
  const rules = `rules: [{ action: a, notify: [slack, zed] }, { action: b, deciders: [bob, amy], escalate_after: 50%, escalate_to: deciders }]`
  const telegram = playChat()
  const said = async (config: BuildOptions['config']) => {
    const built = await withPeople(t, { rules, chats: [telegram], ...(config === undefined ? {} : { config }) })
    built.logged.length = 0
    built.warnOfUntold()
    return built.logged.map(({ msg }) => msg)
  }
  t.same(await said({}), [
    'the rule "a" tells Slack, which is not set up',
    'the rule "a" tells zed alone, whose id no chat knows: holdpoint people set --name zed --telegram ID. The chats are told instead',
    'the rule "b" tells amy alone, whose id no chat knows: holdpoint people set --name amy --telegram ID. The chats are told instead',
  ])
  t.match(await said({ notify: ['group:ops'] }), [
    'CONFIRMATION_NOTIFY tells group:ops, and the rules have no such group: nobody of it is told',
  ])
})

// -- while nobody answers ----------------------------------------------------------------------------------------------

const steps = 'remind_after: 50%, escalate_after: 75%, escalate_to: bob, timeout: 30'

t.test('whoever was told is told again, then others are told, and all once more before it expires', async (t) => {
  const built = await withPeople(t, { rules: ruleOf(steps) })
  const { telegram, clock } = built
  await built.submit({ timeout_seconds: 30 })
  await clock.advance(14_999)
  t.same(await sentTo(built), ['telegram'])
  await clock.advance(1)
  t.same(await sentTo(built), ['telegram', 'telegram reminder'])
  await clock.advance(5000)
  t.same((await sentTo(built)).slice(2), ['telegram last_reminder'])
  await clock.advance(2500)
  t.same((await sentTo(built)).slice(3), ['telegram 12 escalation'])
  const shown = [
    '🔔 Confirmation needed',
    '🔔 Still waiting: confirmation needed',
    '⏰ About to expire: confirmation needed',
  ]
  t.same(titles(telegram), [...shown, '🔔 Nobody has answered yet: confirmation needed'])
  const types = ['reminded', 'escalated']
  const events = (await built.events()).filter(({ type }) => types.includes(type))
  t.match(events, [
    { type: 'reminded', actor: 'system:outbox', data: { is_last: false, places: 1 } },
    { type: 'reminded', data: { is_last: true } },
    { type: 'escalated', data: { rule: '*' } },
  ])
  await clock.advance(600_000)
  t.equal(telegram.messages.length, 4, 'nothing goes out after the end')
  t.same([...new Set(titles(telegram))], ['⌛ Expired: nobody answered in time'])
  t.same(
    (await built.call('GET', '/confirm/id-0001')).body.deliveries
      .map((one: any) => `${one.channel} ${one.occasion}`)
      .sort(),
    [
      'log escalation',
      'log notice',
      'telegram escalation',
      'telegram last_reminder',
      'telegram notice',
      'telegram reminder',
    ],
  )
})

t.test('once it is decided nothing more is said, and the record has no word of what was not', async (t) => {
  const built = await withPeople(t, { rules: ruleOf(steps) })
  await built.submit()
  await built.clock.advance(10_000)
  await built.call('POST', '/confirm/id-0001/approve')
  const before = (await built.events()).length
  await built.clock.advance(25_000)
  t.same(await sentTo(built), ['telegram'])
  t.equal((await built.events()).length, before)
  t.equal(await built.store.deliveries.nextDue('log', -1), undefined, 'and nothing is left to do')
})

t.test('whoever has voted is not reminded, and the others are', async (t) => {
  const rules = ruleOf('approvals: 2, deciders: [alice, bob], notify: deciders, remind_after: 50%')
  const built = await withPeople(t, { rules })
  const { telegram, clock } = built
  await built.submit()
  await clock.advance(0)
  const message = telegram.messages.find(({ place }) => place === '12')!
  await telegram.press(message, 'Approve', '12')
  await until(() => message.card!.title === '❓ Are you sure?')
  await telegram.press(message, 'Yes, approve', '12')
  await clock.advance(150_000)
  t.same((await sentTo(built)).slice(2), ['telegram 11 reminder'])
  t.match(factsOf(telegram.messages.at(-1)!), { 'Votes (1 of 2)': 'bob approved' })
})

t.test(
  'an escalation that does not reach somebody goes on as a notice does; a reminder goes nowhere else',
  async (t) => {
    const built = await withPeople(t, { rules: ruleOf(steps) })
    const { telegram, clock } = built
    await built.submit()
    await clock.advance(10_000)
    telegram.failAt('anywhere', blocked)
    await clock.advance(5000)
    t.same(await sentTo(built), ['telegram'])
    await clock.advance(7500)
    t.same(await sentTo(built), ['telegram', 'discord 22 escalation'])
  },
)

t.test('without a chat the log is told, again and once more', async (t) => {
  const built = await build(t, { rules: ruleOf('remind_after: 50%') })
  await built.submit()
  await built.clock.advance(400_000)
  const lines = built.logged
    .filter(({ msg }) => /confirmation/.test(String(msg)))
    .map(({ msg }) => String(msg).split(':')[0])
  t.same(lines, ['confirmation needed', 'confirmation still needed', 'confirmation needed, and about to expire'])
})

t.test('after a restart a step is neither lost nor taken twice; what was missed is one reminder', async (t) => {
  const telegram = playChat()
  const discord = playChat({ name: 'discord' })
  const chats = [telegram, discord]
  const rules = ruleOf('remind_after: 20%, escalate_after: 40%, escalate_to: all, timeout: 1000')
  const first = await withPeople(t, { rules, chats })
  const { clock, dbPath } = first
  await first.submit({ timeout_seconds: 1000 })
  await first.submit({ timeout_seconds: 1000 })
  await clock.advance(200_000)
  t.same(await sentTo(first), ['telegram', 'telegram reminder'])
  await first.stop()
  const again = { dbPath, clock, rules, chats, newId: counter('late') }
  const second = await build(t, again)
  await clock.advance(100_000)
  t.same(await sentTo(second), ['telegram', 'telegram reminder'])
  await second.stop()
  await clock.advance(550_000)
  const third = await build(t, again)
  await clock.advance(0)
  t.same((await sentTo(third)).sort(), [
    'discord escalation',
    'telegram',
    'telegram escalation',
    'telegram last_reminder',
    'telegram reminder',
  ])
  const events = (await third.events()).filter(({ confirmation_id }) => confirmation_id === 'id-0001')
  t.same(
    events.map(({ type }) => type).filter((type: string) => type === 'reminded' || type === 'escalated'),
    ['reminded', 'reminded', 'escalated'],
  )
})
