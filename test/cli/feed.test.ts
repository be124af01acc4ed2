// What watch is told, by a service that is played.
import t from 'tap'
import { createFeed } from '../../src/cli/watch/feed.js'
import type { News } from '../../src/cli/watch/state.js'
import { type Operator, Refused, Unreachable } from '../../src/client/index.js'
import { until } from '../support.js'
import { foundWith } from './found.js'

interface Played {
  waiting: string[]
  failure: Error | null
  asked: string[]
}

/** An operator that answers from what is set here; `say` is an event of the service. */
function play(t: { teardown(run: () => void): void }) {
  const played: Played = { waiting: ['one', 'two'], failure: null, asked: [] }
  const events: { confirmation_id: string }[] = []
  let wake = () => {}
  let lose = (_error: unknown) => {}
  const stop = new AbortController()
  t.teardown(() => {
    stop.abort()
    wake()
  })
  const answer = <T>(what: string, value: T): Promise<T> => {
    played.asked.push(what)
    return played.failure === null ? Promise.resolve(value) : Promise.reject(played.failure)
  }
  const operator = {
    call: () => answer('health', { body: { timestamp: 1000, pending_count: played.waiting.length } }),
    pending: () =>
      answer(
        'list',
        played.waiting.map((id) => foundWith({ id })),
      ),
    show: (id: string) =>
      answer(
        id,
        played.waiting.includes(id)
          ? foundWith({ id })
          : foundWith({ id, status: 'denied', resolved_by: 'bob', resolved_at_iso: '2026-01-01T00:01:00.000Z' }),
      ),
    async *follow({ onOpen, onLost }: { onOpen(): void; onLost(error: unknown): void }) {
      lose = onLost
      onOpen()
      while (!stop.signal.aborted) {
        const event = events.shift()
        if (event === undefined) await new Promise<void>((resolve) => (wake = resolve))
        else yield event
      }
    },
  } as unknown as Operator
  const news: News[] = []
  const feed = createFeed(
    operator,
    (one) => news.push(one),
    () => 0,
    stop.signal,
  )
  void feed.run()
  return {
    played,
    news,
    feed,
    lose: (error: unknown) => lose(error),
    say(...ids: string[]) {
      events.push(...ids.map((confirmation_id) => ({ confirmation_id })))
      wake()
    },
    kinds: () => news.map(({ kind }) => kind),
  }
}

t.test('it begins with the list, and only then what is shown is live', async (t) => {
  const { news, kinds } = play(t)
  await until(() => kinds().includes('live'))
  t.same(kinds(), ['list', 'live'])
  t.match(news[0], { items: [{ id: 'one' }, { id: 'two' }], total: 2, aheadMs: 1_000_000 })
})

t.test('what happens to one is told by itself, and of very many the list is read anew', async (t) => {
  const { played, news, kinds, say } = play(t)
  await until(() => kinds().includes('live'))
  played.waiting = ['two', 'three']
  say('one', 'three', 'one')
  await until(() => kinds().includes('item'))
  t.match(news.slice(2), [
    { kind: 'record', found: { id: 'one' } },
    { kind: 'ended', id: 'one', how: 'denied by bob' },
    { kind: 'record', found: { id: 'three' } },
    { kind: 'item', item: { id: 'three' } },
  ])
  played.asked.length = 0
  say(...Array.from({ length: 50 }, (_, index) => `many-${index}`))
  await until(() => played.asked.includes('list'))
  t.same(played.asked, ['health', 'list'])
})

t.test('while it cannot be read nothing is called live, and what was missed is in the list after that', async (t) => {
  const { played, news, kinds, say } = play(t)
  await until(() => kinds().includes('live'))
  played.failure = new Unreachable('It is away.', { mayHaveArrived: true, mayPass: true })
  say('one')
  await until(() => kinds().includes('lost'))
  t.match(news.at(-1), { kind: 'lost', why: 'It is away.', isFinal: false })
  played.failure = null
  played.waiting = ['two']
  await until(() => kinds().at(-1) === 'live')
  t.match(news.at(-2), { kind: 'list', items: [{ id: 'two' }] })
})

t.test('a key that is good no more is not tried again and again', async (t) => {
  const { played, news, kinds, say } = play(t)
  await until(() => kinds().includes('live'))
  played.failure = new Refused(401, { code: 'unauthorized', error: 'This key is not known.' }, null)
  say('one')
  await until(() => kinds().includes('lost'))
  t.match(news.at(-1), { kind: 'lost', why: 'This key is not known.', isFinal: true })
  const asked = played.asked.length
  say('two', 'three')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(played.asked.length, asked)
})

t.test('one that cannot be opened is said, and one that was decided leaves the list as well', async (t) => {
  const { played, news, feed, kinds } = play(t)
  await until(() => kinds().includes('live'))
  await feed.load('gone')
  t.match(news.slice(-2), [
    { kind: 'record', found: { id: 'gone' } },
    { kind: 'ended', id: 'gone' },
  ])
  played.failure = new Refused(404, { code: 'not_found', error: 'There is none.\u001b[2J' }, null)
  await feed.load('one')
  t.match(news.at(-1), { kind: 'failed', id: 'one', why: 'There is none.\\u{1b}[2J' })
})
