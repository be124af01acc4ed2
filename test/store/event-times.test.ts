import { join } from 'node:path'
import t, { type Test } from 'tap'
import Database from '../../src/store/sqlite/driver.js'
import { migrate } from '../../src/store/sqlite/database.js'
import { readEvents } from '../../src/store/sqlite/events.js'
import { migrations } from '../../src/store/sqlite/migrations.js'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.js'
import type { EventFilter, Events } from '../../src/store/store.js'
import { temporaryFolder } from '../support.js'

interface History {
  events: Events
  add(seq: number, at: number, type?: string): void
  /** How many rows of the history and of its spans were looked at since it was asked last. */
  looked(): number
}

const beforeTimes = migrations.findIndex((one) => typeof one === 'string' && one.includes('CREATE TABLE event_spans'))

function history(t: Test, db = new Database(':memory:')): History {
  t.teardown(() => db.close())
  migrate(db)
  let rows = 0
  db.function('looked', () => (rows += 1))
  /** Each row that a statement comes upon is counted before anything else is asked of it. */
  const counting = {
    prepare: (text: string) =>
      db.prepare(text.replace(/FROM (events|event_spans)\s+WHERE/g, 'FROM $1 WHERE looked() AND')),
  } as unknown as Database.Database
  const insert = db.prepare(
    "INSERT INTO events (seq, at, type, actor, via, confirmation_id, data) VALUES (?, ?, ?, 'a', 'http', NULL, '{}')",
  )
  return {
    events: readEvents(counting, () => {}),
    add: (seq, at, type = 'claimed') => void insert.run(seq, at, type),
    looked: () => [rows, (rows = 0)][0]!,
  }
}

async function readAll({ events }: Pick<History, 'events'>, filter: EventFilter, limit = 50) {
  const seqs: number[] = []
  let pages = 0
  for (let after = 0, more = true; more; pages++) {
    const page = await events.list(after, limit, filter)
    if (page.upTo < after || (page.more && page.upTo === after)) throw new Error('no step forward')
    for (const { seq } of page.events) if (seq > page.upTo || seq <= after) throw new Error('beyond its page')
    seqs.push(...page.events.map(({ seq }) => seq))
    after = page.upTo
    more = page.more
  }
  return { seqs, pages }
}

t.test('what was long ago costs nothing to somebody who asks for what was lately', async (t) => {
  const work = []
  for (const thousands of [3, 40, 2900]) {
    const one = history(t)
    // One event of each thousand numbers has to do for those long ago.
    for (let n = 0; n < thousands; n++) one.add(n * 1000 + 1, n * 1000)
    for (let n = 1; n <= 1500; n++) one.add(thousands * 1000 + n, 9_000_000 + n)
    one.looked()
    const first = await one.events.list(0, 50, { since: 9_000_701 })
    t.equal(first.events[0]?.at, 9_000_701)
    t.equal(first.events.length, 50)
    work.push(one.looked())
    await one.events.list(0, 50, { since: 9_999_999, types: ['denied'] })
    t.ok(one.looked() <= 2500, 'nor if there is nothing')
  }
  t.ok(
    work.every((rows) => rows <= 2100),
    `${work.join()} rows`,
  )
})

t.test('what came later costs nothing to somebody who asks for what was before', async (t) => {
  const one = history(t)
  for (let n = 1; n <= 60_000; n++) one.add(n, n)
  one.looked()
  const { seqs, pages } = await readAll(one, { since: 5000, until: 5010 })
  t.same(seqs, [5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009])
  t.ok(pages <= 2, `${pages} pages`)
  t.ok(one.looked() < 4000)
})

t.test('by whatever times, in whatever order, it is what looking at all of them finds', async (t) => {
  const one = history(t)
  const all: { seq: number; at: number; type: string }[] = []
  let [seq, time, dice] = [0, 50_000_000, 7]
  const chance = (below: number) => (dice = (dice * 48_271) % 2_147_483_647) % below
  for (let n = 0; n < 9000; n++) {
    // Restores leave gaps in the numbers; clocks are set back and forth, and commits overtake each other.
    seq += chance(3000) === 0 ? 1 + chance(3_000_000) : 1
    time += chance(1500) === 0 ? chance(40_000_000) - 20_000_000 : chance(1000)
    const event = { seq, at: time - chance(3000), type: chance(3) === 0 ? 'claimed' : 'denied' }
    all.push(event)
    one.add(event.seq, event.at, event.type)
  }
  for (let round = 0; round < 150; round++) {
    const since = chance(4) === 0 ? undefined : all[chance(all.length)]!.at
    const until = chance(2) === 0 ? undefined : (since ?? all[chance(all.length)]!.at) + chance(3_000_000)
    const types = chance(2) === 0 ? undefined : ['denied']
    const wanted = all.filter(
      ({ at, type }) => at >= (since ?? -1) && at < (until ?? Infinity) && (types?.includes(type) ?? true),
    )
    const { seqs } = await readAll(one, { since, until, types }, 1 + chance(400))
    t.same(
      seqs,
      wanted.map(({ seq }) => seq),
      `from ${since} to ${until}`,
    )
  }
})

t.test('a history from before is found by its times, too', async (t) => {
  const path = join(temporaryFolder(t), 'test.db')
  const [before, anew] = [new Database(path), new Database(':memory:')]
  t.teardown(() => anew.close())
  migrate(before, beforeTimes)
  migrate(anew)
  const seqs = [1, 2, 999, 1000, 5000, 5001, 2_000_500, 2_001_000, 2_001_001, 7_000_000]
  for (const db of [before, anew]) {
    for (const seq of seqs) {
      db.exec(`INSERT INTO events VALUES (${seq}, ${(seq * 7) % 5003}, 'claimed', 'a', 'http', NULL, '{}')`)
    }
  }
  before.close()
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const db = new Database(path, { readonly: true })
  t.teardown(() => db.close())
  const spans = (one: Database.Database) => one.prepare('SELECT * FROM event_spans').all()
  t.same(spans(db), spans(anew))
  t.same(
    spans(db).map((row) => Object.values(row as object).slice(0, 2)),
    [
      [1000, 0],
      [1000, 1],
      [1000, 5],
      [1000, 2000],
      [1000, 2001],
      [1_000_000, 0],
      [1_000_000, 2],
    ],
  )
  const { seqs: found } = await readAll(store, { since: 1000 })
  t.same(
    found,
    seqs.filter((seq) => (seq * 7) % 5003 >= 1000),
  )
})
