// Filters on a long history: exactly what looking at every event finds, and not much work for a page.
import fc from 'fast-check'
import t from 'tap'
import { migrate } from '../../src/store/sqlite/database.js'
import Database from '../../src/store/sqlite/driver.js'
import { markEvents } from '../../src/store/sqlite/event-marks.js'
import { readEvents } from '../../src/store/sqlite/events.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import type { EventFilter } from '../../src/store/store.js'
import { someEvent } from '../actors.js'
import { temporaryFolder, until } from '../support.js'

interface Facets {
  seq: number
  at: number
  type: string
  actor: string
  channel: string
  action: string | null
  requester: string | null
  sessionKey: string | null
}

const db = new Database(':memory:')
t.teardown(() => db.close())
migrate(db)
let looked = 0
db.function('looked', () => (looked += 1))
/** Each event that a page looks at is counted, and each mark. */
const events = readEvents(
  {
    prepare: (text: string) =>
      db.prepare(text.replace(/FROM (events|event_marks)\s+WHERE/g, 'FROM $1 WHERE looked() AND')),
  } as unknown as Database.Database,
  () => {},
)
const mark = markEvents(db)
const all = history(20_000)

/** Two actions and two requesters are everywhere, and once in a while one event has both of what else never meets. */
function history(count: number): Facets[] {
  let [seq, time, dice] = [0, 50_000_000, 7]
  const chance = (below: number) => (dice = (dice * 48_271) % 2_147_483_647) % below
  const addConfirmation =
    db.prepare(`INSERT INTO confirmations (arrival, id, version, status, timeout_seconds, created_at,
      deadline, resolved_by, digest, action, requester, session_key, description, details)
    VALUES (?, ?, 1, 'pending', 300, 1, 2, '', '', ?, ?, ?, '', '{}')`)
  const addEvent = db.prepare(
    'INSERT INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  return db.transaction(() =>
    Array.from({ length: count }, (_, index): Facets => {
      // Restores leave gaps in the numbers, and clocks are set back and forth.
      seq += chance(4000) === 0 ? 1 + chance(3_000_000) : 1
      time += chance(1500) === 0 ? chance(40_000_000) - 20_000_000 : chance(1000)
      const isEven = index % 2 === 0
      const meets = index % 9001 === 77
      const facets = {
        seq,
        at: time - chance(3000),
        type: isEven || meets ? 'claimed' : ['approved', 'denied'][chance(2)]!,
        actor: isEven ? 'alice' : chance(5000) === 0 ? 'dora' : 'bob',
        channel: ['http', 'log'][chance(2)]!,
        action: isEven || meets ? 'send' : `delete${chance(3)}`,
        requester: isEven ? `agent${chance(3)}` : 'most',
        sessionKey: index > 9000 && index < 9400 ? 'once' : `s${chance(40)}`,
      }
      const about = `c${index}`
      const kind = chance(10)
      const data = JSON.stringify({
        action: facets.action,
        requester: facets.requester,
        session_key: facets.sessionKey,
      })
      if (kind > 1) addConfirmation.run(index + 1, about, facets.action, facets.requester, facets.sessionKey)
      // Most know it from their confirmation, some by themselves, and some not at all.
      const own = kind === 0 ? '{}' : kind === 1 ? data : '{"action":"of no account"}'
      addEvent.run(seq, facets.at, facets.type, facets.actor, facets.channel, kind > 1 ? about : null, own)
      return kind === 0 ? { ...facets, action: null, requester: null, sessionKey: null } : facets
    }),
  )()
}

function fits(event: Facets, { types, since, until, ...filter }: EventFilter): boolean {
  const isSame = (['actor', 'channel', 'action', 'requester', 'sessionKey'] as const).every(
    (name) => filter[name] === undefined || event[name] === filter[name],
  )
  return isSame && (types?.includes(event.type) ?? true) && event.at >= (since ?? 0) && event.at < (until ?? Infinity)
}

async function readAll(filter: EventFilter, limit: number) {
  const seqs: number[] = []
  let [pages, most] = [0, 0]
  for (let after = 0, more = true; more; pages++) {
    looked = 0
    const page = await events.list(after, limit, filter)
    most = Math.max(most, looked)
    if (page.upTo < after || (page.more && page.upTo === after)) throw new Error('no step forward')
    for (const { seq } of page.events) if (seq > page.upTo || seq <= after) throw new Error('beyond its page')
    seqs.push(...page.events.map(({ seq }) => seq))
    after = page.upTo
    more = page.more
  }
  return { seqs, pages, most }
}

const seqsOf = (filter: EventFilter) => all.filter((event) => fits(event, filter)).map(({ seq }) => seq)
const oneOf = (...values: string[]) => fc.option(fc.constantFrom(...values, 'nobody'), { nil: undefined })
const filters: fc.Arbitrary<EventFilter> = fc.record({
  types: fc.option(fc.uniqueArray(fc.constantFrom('claimed', 'approved', 'denied', 'revoked')), { nil: undefined }),
  actor: oneOf('alice', 'bob', 'dora'),
  channel: oneOf('http', 'log'),
  action: oneOf('send', 'delete1'),
  requester: oneOf('most', 'agent1'),
  sessionKey: oneOf('s1', 'once'),
  since: fc.option(
    fc.nat(all.length - 1).map((index) => all[index]!.at),
    { nil: undefined, freq: 1 },
  ),
  until: fc.option(
    fc.nat(all.length - 1).map((index) => all[index]!.at),
    { nil: undefined, freq: 1 },
  ),
})

t.test('whatever is marked by then, page by page it is what looking at every event finds', async () => {
  let hasMore = true
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 20, max: 500 }), async (filter, limit) => {
      const { seqs, most } = await readAll(filter, limit)
      if (seqs.join() !== seqsOf(filter).join()) throw new Error('others than expected')
      if (most > 3 * 1000 + 1000 + 10 * 64 + 100) throw new Error(`a page looked at ${most}`)
      hasMore &&= mark()
    }),
    { numRuns: 150 },
  )
  while (mark());
})

t.test(
  'filters that many events have, and hardly any all of them, cost a few thousand events and no more',
  async (t) => {
    for (const filter of [
      { types: ['claimed'], requester: 'most' },
      { action: 'send', requester: 'most' },
      { types: ['claimed'], actor: 'bob', channel: 'http' },
    ]) {
      const expected = seqsOf(filter)
      t.ok(expected.length > 0 && expected.length < 10)
      const { seqs, pages } = await readAll(filter, 50)
      t.strictSame(seqs, expected)
      t.ok(pages <= 3, `${pages} pages`)
    }
  },
)

t.test('what never was is found not to be there without looking at all', async (t) => {
  for (const filter of [
    { types: ['revoked'] },
    { types: ['claimed'], actor: 'bob', action: 'delete1' },
    { action: 'none' },
  ]) {
    const { seqs, pages, most } = await readAll(filter, 50)
    t.strictSame([seqs, pages], [[], 1])
    t.ok(most < 3000, `${most} rows`)
  }
})

t.test('what is committed is marked by and by, and what was there before the start as well', async (t) => {
  const path = `${temporaryFolder(t)}/test.db`
  let store = openSqliteStore(path)
  const commit = (count: number) =>
    Promise.all(Array.from({ length: count }, () => store.commit({ writes: [], events: [someEvent(1)] })))
  await commit(2500)
  const look = new Database(path, { readonly: true })
  t.teardown(() => look.close())
  const marked = look.prepare('SELECT n FROM event_marks WHERE piece = 0 ORDER BY n').pluck()
  await until(() => marked.all().length === 2)
  await store.close()
  const change = new Database(path)
  change.exec('DELETE FROM event_marks')
  change.close()
  store = openSqliteStore(path)
  t.teardown(() => store.close())
  await commit(1)
  await until(() => marked.all().length === 2)
  t.strictSame(marked.all(), [0, 1])
})
