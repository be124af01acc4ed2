// A flood of requests: so many messages a minute, the rest in one message first, and then each its own. Nothing is lost, nobody is
// buried, nothing goes out after the end.
import t, { type Test } from 'tap'
import type { SendOutcome } from '../../src/notify/chat.js'
import { type PlayedChat, playChat, said, type Shown } from '../chat/played-chat.js'
import { createRandom } from '../e2e/program.js'
import { build, type Built, type BuildOptions, counter, giveKeys, t0 } from '../support.js'

const config = { rateLimit: 10_000, openLimit: 0, telegramAllowedUsers: ['11'] }
const minuteMs = 60_000
/** While the chat is away. CONTRIBUTING.md says how to have 500. */
const flood = Number(process.env.FLOOD_REQUESTS ?? 80)

/** A message, and when it went out. */
type Sent = Shown & { at: number }

interface Flooded extends Built {
  chat: PlayedChat
  cards(): Sent[]
  /** Those that tell of several. */
  texts(): Sent[]
}

async function withFlood(t: Test, options: BuildOptions & { chat?: PlayedChat } = {}): Promise<Flooded> {
  const chat = options.chat ?? playChat()
  const built = await build(t, { ...options, chats: [chat], config: { ...config, ...options.config } })
  const times = timesOf(chat, built)
  const all = () => chat.messages.map((one, index) => ({ ...one, at: times[index]! }))
  return {
    ...built,
    chat,
    cards: () => all().filter(({ card }) => card !== null),
    texts: () => all().filter(({ text }) => text !== null),
  }
}

const timesKept = new WeakMap<PlayedChat, number[]>()

function timesOf(chat: PlayedChat, { clock }: Pick<Built, 'clock'>): number[] {
  const known = timesKept.get(chat)
  if (known !== undefined) return known
  const times: number[] = []
  timesKept.set(chat, times)
  const push = chat.messages.push.bind(chat.messages)
  chat.messages.push = (...messages) => {
    times.push(...messages.map(() => clock.now()))
    return push(...messages)
  }
  return times
}

async function submitMany(built: Pick<Built, 'submit'>, count: number, fields: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { body } = await built.submit({ timeout_seconds: 3600, ...fields })
    if (body.id === undefined) throw new Error(JSON.stringify(body))
    ids.push(body.id)
  }
  return ids
}

const idOf = ({ card }: Shown) => card!.id
const outage: SendOutcome = { kind: 'failed', error: '502' }

t.test('of 50 requests ten have their message at once, the others one together, and then each its own', async (t) => {
  const built = await withFlood(t)
  const { clock, store, cards, texts } = built
  const ids = await submitMany(built, 50)
  await clock.advance(0)
  t.equal(cards().length, 10)
  t.equal(texts().length, 0, 'others may come')
  await clock.advance(2000)
  t.same([cards().length, texts().length], [10, 1])
  const lines = said(texts()[0]!).split('\n')
  t.match(lines[0], /^🔔 40 more requests came in/)
  t.equal(lines.filter((line) => /^id-00\d\d send_mail, asked by agent$/.test(line)).length, 40)
  t.match(lines.at(-1), /http:\/\/127\.0\.0\.1:6000\/$/)
  const told = await Promise.all(ids.map(async (id) => (await store.confirmations.get(id))!.toldAt))
  t.ok(told.every((at) => at !== null))
  for (let minute = 1; minute <= 4; minute++) {
    await clock.advance(minuteMs)
    t.equal(cards().length, 10 + 10 * minute)
  }
  await clock.advance(10 * minuteMs)
  t.same(cards().map(idOf).sort(), ids, 'each once')
  t.equal(texts().length, 1)
  const states = (await built.events()).flatMap(({ type, data }) => (type === 'notified' ? data.state : []))
  t.equal(states.filter((state) => state === 'collected').length, 40)
  t.equal(states.filter((state) => state === 'sent').length, 50)
  t.match(
    built.logged.filter(({ msg }) => /in one message/.test(String(msg))),
    [{ channel: 'telegram', requests: 40 }],
  )
})

t.test('with a public URL a button leads to the list', async (t) => {
  const built = await withFlood(t, { config: { publicUrl: 'https://hold.example', notifyRate: 1 } })
  await submitMany(built, 3)
  await built.clock.advance(2000)
  t.match(built.texts()[0]!.text!.link, { url: 'https://hold.example/' })
})

t.test('what was decided meanwhile has no message of its own, and takes nobody’s place', async (t) => {
  const built = await withFlood(t, { config: { notifyRate: 2 } })
  const ids = await submitMany(built, 12)
  await built.clock.advance(2000)
  for (const id of ids.slice(2, 10)) await built.call('POST', `/confirm/${id}/deny`)
  await built.clock.advance(minuteMs)
  t.same(built.cards().map(idOf).sort(), [...ids.slice(0, 2), ...ids.slice(10)])
  const dropped = (await built.store.deliveries.of(ids[5]!)).find(({ channel }) => channel === 'telegram')
  t.match(dropped, { state: 'dropped', message: null })
  t.ok(dropped!.toldAt !== null, 'but somebody was told')
})

t.test('whoever asks once among the flood of another is told of with others, and is next', async (t) => {
  const built = await withFlood(t, { config: { notifyRate: 6 } })
  const { flooder, calm } = await giveKeys(built, { flooder: 'agent', calm: 'agent' })
  const ask = (call: typeof calm) => call('POST', '/confirm', { action: 'a', description: 'x', timeout_seconds: 3600 })
  for (let n = 0; n < 40; n++) await ask(flooder)
  await built.clock.advance(5000)
  const { body } = await ask(calm)
  await built.clock.advance(30_000)
  t.match(said(built.texts().at(-1)!), /a, asked by calm/)
  t.notOk(built.cards().some((one) => idOf(one) === body.id))
  await built.clock.advance(30_000)
  t.ok(
    built.cards().some((one) => idOf(one) === body.id),
    'within a minute',
  )
})

t.test('a reminder waits for its turn like the rest, and comes before what was collected', async (t) => {
  const rules = 'rules: [{ action: urgent, remind_after: 50% }, { action: "*" }]'
  const built = await withFlood(t, { rules, config: { notifyRate: 2 } })
  const { body } = await built.submit({ action: 'urgent', timeout_seconds: 240 })
  await built.clock.advance(0)
  await submitMany(built, 20)
  await built.clock.advance(180_000)
  const reminder = built.cards().find(({ card }) => card!.title === '🔔 Still waiting: confirmation needed')!
  t.equal(idOf(reminder), body.id)
  t.ok(reminder.at < t0 + 180_000)
})

t.test('what somebody asks for does not wait', async (t) => {
  const built = await withFlood(t, { config: { notifyRate: 1 } })
  const ids = await submitMany(built, 10)
  await built.clock.advance(2000)
  const before = built.cards().length
  await built.chat.write(`/show ${ids[7]}`, '11')
  await built.clock.advance(1)
  t.same(built.cards().slice(before).map(idOf), [ids[7]])
})

t.test('two people’s own places have each their pace', async (t) => {
  const rules = 'rules: [{ action: "*", notify: [alice, bob] }]'
  const built = await withFlood(t, { rules, config: { notifyRate: 3 } })
  const by = { actor: { kind: 'local' }, via: 'local' } as const
  await built.service.people.setPerson({ name: 'alice', chatIds: { telegram: '11' } }, by)
  await built.service.people.setPerson({ name: 'bob', chatIds: { telegram: '12' } }, by)
  await submitMany(built, 5)
  await built.clock.advance(2000)
  const counted = (place: string) =>
    [built.cards(), built.texts()].map((all) => all.filter((one) => one.place === place).length)
  t.same(
    [counted('11'), counted('12')],
    [
      [3, 1],
      [3, 1],
    ],
  )
})

t.test('the pace, and what waits for it, outlast a restart', async (t) => {
  const chat = playChat()
  const first = await withFlood(t, { chat })
  const { clock, dbPath } = first
  const ids = await submitMany(first, 30)
  await clock.advance(2000)
  await first.stop()
  const second = await withFlood(t, { chat, clock, dbPath, newId: counter('late') })
  const [late] = await submitMany(second, 1)
  await clock.advance(10_000)
  t.equal(second.cards().length, 10, 'a restart brings no room')
  await clock.advance(5 * minuteMs)
  t.same(second.cards().map(idOf).sort(), [...ids, late].sort())
  t.notOk(mostInAMinute(second.cards()) > 10)
})

t.test(
  `after five minutes without the chat, each of ${flood} is told of, and has its own as long as it waits`,
  async (t) => {
    const built = await withFlood(t)
    const { clock, chat, store } = built
    chat.failAt('anywhere', outage)
    const ids = [
      // So long that some of them, and not all, can have their own: ten a minute after the five.
      ...(await submitMany(built, flood * 0.9, { timeout_seconds: 300 + 1.8 * flood })),
      ...(await submitMany(built, flood * 0.1, { timeout_seconds: 240 })),
    ]
    await clock.advance(5 * minuteMs)
    t.equal(chat.messages.length, 0)
    chat.failAt('anywhere', null)
    await clock.advance(2 * minuteMs)
    t.ok(built.texts().length >= 1)
    await clock.advance(20 * minuteMs)
    t.notOk(mostInAMinute(built.cards()) > 10)
    t.equal(new Set(built.cards().map(idOf)).size, built.cards().length, 'none twice')
    const shown = new Set(built.cards().map(idOf))
    t.ok(shown.size >= flood / 5 && shown.size < flood * 0.9, `${shown.size} had a message of their own`)
    for (const id of ids) {
      const { status, toldAt } = await statusOf(built, id)
      const isFine = status === 'expired' && toldAt !== null
      if (!isFine) t.fail(`${id} is ${status}`)
    }
    for (const { card } of built.cards()) if (card!.title !== '⌛ Expired: nobody answered in time') t.fail(card!.title)
    t.equal(await store.deliveries.countUndelivered(), 0, 'and nothing is left')
  },
)

async function statusOf({ call }: Pick<Built, 'call'>, id: string): Promise<{ status: string; toldAt: number | null }> {
  const { body } = await call('GET', `/confirm/${id}`)
  return { status: body.status, toldAt: body.told_at }
}

/** How many in the minute that has most. */
function mostInAMinute(all: Sent[]): number {
  const times = all.map(({ at }) => at)
  return times.reduce(
    (most, from) => Math.max(most, times.filter((at) => at >= from && at < from + minuteMs).length),
    0,
  )
}

// -- whatever happens --------------------------------------------------------------------------------------------------

const hostile = ['\u202e<b>@everyone', 'x'.repeat(900), '\n🔔 Nothing more', '`*_~|', '👩‍👩‍👧'.repeat(50)]

t.test('whatever happens: each is told of, nothing comes after the end, and the pace is kept', async (t) => {
  for (const seed of [1, 2]) {
    const random = createRandom(seed)
    const rules =
      'rules: [{ action: timed, remind_after: 30%, escalate_after: 60%, escalate_to: first }, { action: "*" }]'
    const chat = playChat()
    const ended = new Map<string, number>()
    let built = await withFlood(t, { rules, chat, config: { notifyRate: 5 } })
    const { clock, dbPath } = built
    const ids: string[] = []
    for (let step = 0; step < 60; step++) {
      const dice = random.next()
      if (dice < 0.5) {
        const action = random.pick(['timed', 'a', 'b', 'c'])
        const fields = { action, requester: random.pick(['r', ...hostile]), timeout_seconds: 30 + random.below(600) }
        ids.push(...(await submitMany(built, 1 + random.below(8), fields)))
      } else if (dice < 0.7 && ids.length > 0) {
        const id = random.pick(ids)
        const { status } = await built.call('POST', `/confirm/${id}/deny`)
        if (status === 200) ended.set(id, clock.now())
      } else if (dice < 0.8)
        chat.failAt('anywhere', random.pick([outage, { kind: 'busy', retryAfterMs: 9000, error: '429' } as const]))
      else if (dice < 0.95) chat.failAt('anywhere', null)
      else {
        await built.stop()
        built = await withFlood(t, {
          rules,
          chat,
          clock,
          dbPath,
          config: { notifyRate: 5 },
          newId: counter(`late${step}`),
        })
      }
      await clock.advance(random.below(20_000))
    }
    chat.failAt('anywhere', null)
    await clock.advance(20 * minuteMs)
    t.equal(await built.store.deliveries.countUndelivered(), 0, 'nothing is left over')
    for (const id of ids) {
      const record = (await built.store.confirmations.get(id))!
      const end = ended.get(id) ?? record.deadline
      const own = built.cards().filter((one) => idOf(one) === id)
      // Whoever denied was quicker than a quarter of the time: nobody had to be told.
      const hadTime = end - record.createdAt > 30_000
      if (hadTime && record.toldAt === null) t.fail(`nobody was told of ${id}`)
      if (own.some(({ at }) => at > end)) t.fail(`${id} was told of after its end`)
      const names = own.map(({ name }) => name)
      if (new Set(names).size !== names.length) t.fail(`${id} was told twice: ${names.join(', ')}`)
    }
    t.notOk(mostInAMinute(built.cards()) > 5, 'the pace is kept')
    t.notOk(mostInAMinute(built.texts()) > 3, 'and so is that of what collects')
    for (const one of built.texts()) {
      const shown = said(one)
      if (shown.length > 3500 || /[\u202e\u0000-\u0009]/u.test(shown)) t.fail('what is hostile came through')
    }
  }
})
