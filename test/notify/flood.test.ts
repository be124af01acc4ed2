// A flood of requests: so many messages a minute, the rest in one message first, and then each its own. Nothing is lost, nobody is
// buried, nothing goes out after the end.
import t from 'tap'
import { playChat, said, type PlayedChat, type Shown } from '../chat/played-chat.js'
import { build, type Built } from '../support.js'

const config = { rateLimit: 1000, telegramAllowedUsers: ['11'] }

async function submitMany(built: Pick<Built, 'submit'>, count: number, fields: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { body } = await built.submit({ timeout_seconds: 3600, ...fields })
    ids.push(body.id)
  }
  return ids
}

const cardsOf = ({ messages }: PlayedChat) => messages.filter(({ card }) => card !== null)
const textsOf = ({ messages }: PlayedChat) => messages.filter(({ text }) => text !== null)
const idOf = ({ card }: Shown) => card!.id

t.test('of 50 requests ten have their message at once, the others one together, and then each its own', async (t) => {
  const chat = playChat()
  const built = await build(t, { chats: [chat], config })
  const { clock, store } = built
  const ids = await submitMany(built, 50)
  await clock.advance(0)
  t.equal(cardsOf(chat).length, 10)
  t.equal(textsOf(chat).length, 0, 'others may come')
  await clock.advance(2000)
  t.equal(cardsOf(chat).length, 10)
  t.equal(textsOf(chat).length, 1)
  const lines = said(textsOf(chat)[0]!).split('\n')
  t.match(lines[0], /40 more requests came in/)
  t.equal(lines.filter((line) => /^\S{7,8} send_mail, asked by agent$/.test(line)).length, 40)
  t.match(lines.at(-1), /http:\/\/127\.0\.0\.1:6000\//)
  const collected = (await Promise.all(ids.map((id) => store.deliveries.of(id)))).flat()
  t.equal(collected.filter(({ state }) => state === 'collected').length, 40)
  for (const id of ids) t.ok((await store.confirmations.get(id))!.toldAt !== null, 'somebody was told')
  for (let minute = 1; minute <= 4; minute++) {
    await clock.advance(60_000)
    t.equal(cardsOf(chat).length, 10 + 10 * minute)
  }
  await clock.advance(600_000)
  t.same(new Set(cardsOf(chat).map(idOf)), new Set(ids))
  t.equal(cardsOf(chat).length, 50, 'each once')
  t.equal(textsOf(chat).length, 1)
  const types = (await built.events()).filter(({ type }) => type === 'notified').map(({ data }) => data.state)
  t.equal(types.filter((state) => state === 'collected').length, 40)
  t.equal(types.filter((state) => state === 'sent').length, 50)
})
