// Listings by several filters: exactly what looking at every confirmation finds, and not much work for a page.
import fc from 'fast-check'
import t from 'tap'
import type { Status } from '../../src/core/model.js'
import { readConfirmations } from '../../src/store/sqlite/confirmations.js'
import { migrate } from '../../src/store/sqlite/database.js'
import Database from '../../src/store/sqlite/driver.js'
import { fileConfirmations } from '../../src/store/sqlite/filing.js'
import type { Order } from '../../src/store/sqlite/listing.js'
import type { ConfirmationFilter, Cursor } from '../../src/store/store.js'

interface Row {
  arrival: number
  status: Status
  createdAt: number
  deadline: number
  resolvedAt: number | null
  resolvedBy: string
  action: string
  requester: string
  sessionKey: string
  voter: string | null
}

const db = new Database(':memory:')
t.teardown(() => db.close())
migrate(db)
let looked = 0
db.function('looked', () => (looked += 1))
/** Each row of an index that is gone through is counted, and each that is read. */
const counting = {
  prepare: (text: string) =>
    db.prepare(
      text
        .replace(/AS a( (?:NOT INDEXED|INDEXED BY \w+))? WHERE/g, 'AS a$1 WHERE looked() AND')
        .replace('WHERE arrival = ?', 'WHERE looked() AND arrival = ?'),
    ),
  transaction: db.transaction.bind(db),
} as unknown as Database.Database
const confirmations = readConfirmations(counting, () => {})

const orders: Order[] = ['newest', 'oldest', 'deadline']
const statuses: Status[] = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'auto_approved']
const rows = history(6000)

function history(count: number): Row[] {
  const insert =
    db.prepare(`INSERT INTO confirmations (arrival, id, version, status, timeout_seconds, created_at, deadline,
      resolved_at, resolved_via, resolved_by, resolved_by_kind, execution, claim_by, due_at, digest, action, requester, session_key,
      description, details)
    VALUES (@arrival, @id, 1, @status, 300, @createdAt, @deadline, @resolvedAt, 'http', @resolvedBy,
      iif(@resolvedBy = '', NULL, 'person'), iif(@status IN ('approved', 'auto_approved'), 'unclaimed', NULL),
      iif(@status IN ('approved', 'auto_approved'), 1, NULL),
      iif(@status = 'pending', @deadline, iif(@status IN ('approved', 'auto_approved'), 1, NULL)), '', @action, @requester, @sessionKey, '', '{}')`)
  const insertVoter = db.prepare('INSERT INTO voters VALUES (@voter, @createdAt, @arrival)')
  let dice = 7
  const chance = (below: number) => (dice = (dice * 48_271) % 2_147_483_647) % below
  const made = Array.from({ length: count }, (_, index): Row => {
    // Several at the same time, and some before what arrived earlier.
    const createdAt = 1_000_000 + Math.floor(index / 3) * 1000 - chance(5) * 1000
    const status = index % 7 === 0 ? 'pending' : statuses[1 + chance(4)]!
    const resolvedAt = status === 'pending' ? null : createdAt + chance(300_000)
    // Two that many have, and hardly any both; one that is there for a while; and one that is seldom.
    const isEven = index % 2 === 0
    return {
      arrival: index + 1,
      status,
      createdAt,
      deadline: createdAt + 300_000 - chance(100_000),
      resolvedAt,
      resolvedBy:
        status === 'pending' ? '' : status === 'expired' ? 'system:timeout' : chance(4) === 0 ? 'olga' : 'alice',
      action: isEven || index === 4001 ? 'common' : `action${chance(3)}`,
      requester: isEven ? `agent${chance(3)}` : 'most',
      sessionKey: index > 2000 && index < 2600 ? 'once' : chance(900) === 0 ? 'seldom' : 's',
      voter: chance(5) === 0 ? 'olga' : null,
    }
  })
  const files = fileConfirmations(db)
  db.transaction(() => {
    for (const row of made) {
      insert.run({ ...row, id: `c${row.arrival}` })
      if (row.voter !== null) insertVoter.run(row)
      // The last ones are not filed yet, and not so far by one facet as by the next.
      for (const [place, file] of files.entries()) if (row.arrival === count - 450 + 100 * place) while (file() > 0);
    }
  })()
  return made
}

function fits(row: Row, filter: ConfirmationFilter): boolean {
  const { resolvedAt } = row
  return (
    (filter.statuses?.includes(row.status) ?? true) &&
    (['action', 'requester', 'sessionKey', 'resolvedBy'] as const).every((name) =>
      filter[name] === undefined ? true : row[name] === filter[name],
    ) &&
    (filter.votedBy === undefined || row.voter === filter.votedBy) &&
    row.createdAt >= (filter.since ?? 0) &&
    row.createdAt < (filter.until ?? Infinity) &&
    row.arrival <= (filter.arrivedUpTo ?? Infinity) &&
    (filter.resolvedSince === undefined || (resolvedAt !== null && resolvedAt >= filter.resolvedSince)) &&
    (filter.resolvedUntil === undefined || (resolvedAt !== null && resolvedAt < filter.resolvedUntil))
  )
}

/** What time has made of it, whether or not that is written. */
function asOf(row: Row, now: number): Row {
  if (row.status !== 'pending' || row.deadline > now) return row
  return { ...row, status: 'expired', resolvedBy: 'system:timeout', resolvedAt: row.deadline }
}

function expected(filter: ConfirmationFilter, order: Order, now = 0): string[] {
  const sign = order === 'newest' ? -1 : 1
  const key = order === 'deadline' ? 'deadline' : 'createdAt'
  return rows
    .map((row) => asOf(row, now))
    .filter((row) => (order !== 'deadline' || row.status === 'pending') && fits(row, filter))
    .sort((a, b) => sign * (a[key] - b[key] || a.arrival - b.arrival))
    .map(({ arrival }) => `c${arrival}`)
}

async function readAll(filter: ConfirmationFilter, order: Order, limit: number, now = 0) {
  const ids: string[] = []
  let most = 0
  let pages = 0
  for (let place: Cursor | null = null, more = true; more; pages++) {
    looked = 0
    const { items, next } = await confirmations.list(filter, order, limit, place, now)
    most = Math.max(most, looked)
    if (items.length > limit) throw new Error('more than was asked for')
    if (next !== null && String(next) === String(place)) throw new Error('no step forward')
    ids.push(...items.map(({ id }) => id))
    place = next
    more = next !== null
  }
  return { ids, most, pages }
}

const oneOf = (...values: string[]) => fc.option(fc.constantFrom(...values, 'nobody'), { nil: undefined })
const time = fc.option(fc.integer({ min: 990_000, max: 3_400_000 }), { nil: undefined })
const filters: fc.Arbitrary<ConfirmationFilter> = fc.record({
  statuses: fc.option(fc.uniqueArray(fc.constantFrom(...statuses)), { nil: undefined, freq: 2 }),
  action: oneOf('common', 'action1'),
  requester: oneOf('most', 'agent1'),
  sessionKey: oneOf('s', 'once', 'seldom'),
  resolvedBy: oneOf('alice', 'olga', '', 'system:timeout'),
  votedBy: oneOf('olga'),
  since: time,
  until: time,
  resolvedSince: time,
  resolvedUntil: time,
  arrivedUpTo: fc.option(fc.integer({ min: 0, max: 6001 }), { nil: undefined }),
})

t.test('by whatever filters, page by page it is what looking at every one finds, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      filters,
      fc.constantFrom(...orders),
      fc.integer({ min: 20, max: 700 }),
      // Before any of them expires, after all have, and in between.
      fc.integer({ min: 900_000, max: 3_700_000 }),
      async (filter, order, limit, now) => {
        const { ids, most } = await readAll(filter, order, limit, now)
        if (ids.join() !== expected(filter, order, now).join()) throw new Error('others than expected')
        // Of each filter its own index, to see how far it reaches, and then the one that has the fewest.
        if (most > 8 * 512 * 8 + 701) throw new Error(`a page went through ${most} rows`)
      },
    ),
    { numRuns: 200 },
  )
})

t.test('each filter alone, and each two of them', async (t) => {
  const each: ConfirmationFilter[] = [
    { statuses: ['denied'] },
    { statuses: ['denied', 'expired', 'pending'] },
    { action: 'common' },
    { requester: 'most' },
    { sessionKey: 'once' },
    { resolvedBy: 'olga' },
    { resolvedBy: '' },
    { resolvedBy: 'system:timeout' },
    { votedBy: 'olga' },
    { since: 2_000_000 },
    { until: 2_000_000 },
    { resolvedSince: 2_000_000 },
    { resolvedUntil: 2_000_000 },
    { arrivedUpTo: 3000 },
  ]
  for (const one of each) {
    for (const other of each) {
      for (const order of orders) {
        const filter = { ...one, ...other }
        for (const now of [0, 2_200_000]) {
          t.equal(
            (await readAll(filter, order, 100, now)).ids.join(),
            expected(filter, order, now).join(),
            JSON.stringify([filter, order, now]),
          )
        }
      }
    }
  }
})

t.test('two filters that many fit, and hardly any both, take few pages', async (t) => {
  const { ids, pages } = await readAll({ action: 'common', requester: 'most' }, 'newest', 50)
  t.strictSame(ids, ['c4002'])
  t.ok(pages <= 2, `${pages} pages`)
})

t.test('what never was is found not to be there without looking through the rest', async (t) => {
  for (const filter of [
    { requester: 'nobody' },
    { statuses: [statuses[5]!] },
    { sessionKey: 'nowhere', action: 'common' },
  ]) {
    const { ids, pages, most } = await readAll(filter, 'newest', 50)
    t.strictSame([ids, pages], [[], 1])
    // What is not filed yet is looked through as well.
    t.ok(most <= 512 + 450, `${most} rows`)
  }
})
