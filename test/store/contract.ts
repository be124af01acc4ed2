// What every store must do, whatever it is built on.
import type { Test } from 'tap'
import type { Button } from '../../src/access/button.js'
import type { Key } from '../../src/access/key.js'
import type { Link } from '../../src/access/link.js'
import type { ChatIdentity, Person } from '../../src/access/person.js'
import { granted } from '../../src/audit/event.js'
import { asOf, claim, hold, report, resolve } from '../../src/core/confirmation.js'
import {
  type ChannelName,
  type Confirmation,
  defaultTerms,
  type Delivery,
  type DeliveryKey,
  type Outcome,
  type Pending,
  type Terms,
} from '../../src/core/model.js'
import { longestTimeoutSeconds } from '../../src/policy/risk.js'
import { castVote } from '../../src/core/vote.js'
import type { Voter } from '../../src/core/actor.js'
import {
  type Change,
  type Commits,
  type Committed,
  type ConfirmationFilter,
  type Cursor,
  type EventFilter,
  isCommitted,
  type Page,
  type Requirement,
  type Store,
  type Turn,
  type Write,
} from '../../src/store/store.js'
import type { Grant } from '../../src/whitelist/grant.js'
import type { SignIn } from '../../src/access/sign-in.js'
import { agent, anyone, chatLink, person as personActor, someEvent } from '../actors.js'
import { alarmOf, raising } from '../alarm.js'
import { temporaryFolder } from '../support.js'
import { submissionOf } from '../submission.js'

const event = (confirmationId: string | null = null) => someEvent(1, confirmationId)

export function confirmation(id: string, fields: Partial<Pending> = {}): Pending {
  const submission = submissionOf({
    details: '{"a":[1,"x"]}',
    requester: 'agent',
    sessionKey: 's',
    timeoutSeconds: 300,
    callbackUrl: 'https://example.com/hook',
    requestedAs: 'somebody',
    onBehalfOf: 'somebody else',
  })
  return { ...hold(submission, id, 1000), ...fields }
}

const turn = (fields: Partial<Turn> = {}): Turn => ({ after: '', fullShares: [], fullDestinations: [], ...fields })

const delivery = (subjectId: string, fields: Partial<Delivery> = {}): Delivery => ({
  subjectId,
  channel: 'telegram',
  destination: '',
  occasion: 'notice',
  share: '',
  version: 1,
  state: 'queued',
  attempts: 0,
  nextAt: 1000,
  updatedAt: 1000,
  toldAt: null,
  message: null,
  shown: null,
  error: null,
  ...fields,
})

const keys = (channel: ChannelName, ...subjectIds: string[]): DeliveryKey[] =>
  subjectIds.map((subjectId) => ({ subjectId, channel, destination: '', occasion: 'notice' }))
const leases = (version: number, ...leased: DeliveryKey[]) => leased.map((one) => ({ ...one, version }))
const keyOf = ({ subjectId, channel, destination, occasion }: DeliveryKey): DeliveryKey => ({
  subjectId,
  channel,
  destination,
  occasion,
})

const grant = (id: string, fields: Partial<Grant> = {}): Grant => ({
  id,
  version: 1,
  action: 'send_mail',
  sessionKey: null,
  requester: null,
  when: null,
  details: null,
  expiresAt: null,
  maxUses: null,
  uses: 0,
  reason: null,
  grantedBy: personActor('alice'),
  givenAt: 1000,
  createdAt: 1000,
  revokedAt: null,
  ...fields,
})

const person = (name: string, fields: Partial<Person> = {}): Person => ({
  name,
  version: 1,
  identities: [],
  createdAt: 1000,
  ...fields,
})

const telegram = (id: string): ChatIdentity => ({ channel: 'telegram', id })
const discord = (id: string): ChatIdentity => ({ channel: 'discord', id })

const key = (id: string, fields: Partial<Key> = {}): Key => ({
  id,
  version: 1,
  person: 'alice',
  role: 'operator',
  hash: `hash of ${id}`,
  createdBy: personActor('root'),
  createdAt: 1000,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
  ...fields,
})

const link = (hash: string, fields: Partial<Link> = {}): Link => ({
  hash,
  version: 1,
  confirmationId: 'c1',
  recipient: personActor('alice'),
  channel: 'telegram',
  createdAt: 1000,
  usedAt: null,
  ...fields,
})

export const insert = (record: Confirmation): Change => ({
  writes: [{ kind: 'confirmation', expect: 'absent', record }],
  events: [event(record.id)],
})

const end = (record: Confirmation, status: Outcome, by: string, at: number, reason: string | null = null) =>
  resolve(record, status, { by: personActor(by), at, via: 'http', reason }, 900_000) as Confirmation

const approve = (record: Confirmation, by: string, at = 2000): Change => {
  const resolved = end(record, 'approved', by, at)
  return { writes: [{ kind: 'confirmation', expect: record.version, record: resolved }], events: [event(record.id)] }
}

const change = (...writes: Write[]): Change => ({ writes, events: [event()] })

const requiring = (requires: Requirement[], ...writes: Write[]): Change => ({ ...change(...writes), requires })

const slot = (quota: string, max: number, count = 1, windowMs = 1000) => ({
  kind: 'slot' as const,
  quota,
  limit: { max, windowMs },
  count,
})

export interface Opening {
  /** A folder: the same one is the same database. */
  place?: string
  now?: () => number
}

export function storeContract(t: Test, open: (t: Test, opening?: Opening) => Promise<Store>): void {
  t.test('what is committed is read back as it was', async (t) => {
    const store = await open(t)
    const record = confirmation('c1')
    t.match(await store.commit(insert(record)), { events: [{ seq: 1, confirmationId: 'c1' }] })
    t.same(await store.confirmations.get('c1'), record)
    t.equal(await store.confirmations.get('c2'), undefined)
    await store.commit(approve(record, 'alice'))
    t.equal((await store.confirmations.get('c1'))?.status, 'approved')
    t.same((await store.confirmations.get('c1'))?.resolution, {
      by: personActor('alice'),
      at: 2000,
      via: 'http',
      reason: null,
    })
  })

  t.test('an expectation that does not hold is a conflict, and nothing of the change is written', async (t) => {
    const store = await open(t)
    const record = confirmation('c1')
    await store.commit(insert(record))
    t.equal(await store.commit(insert(confirmation('c1', { action: 'other' }))), 'conflict')
    const stale: Change = {
      writes: [
        { kind: 'confirmation', expect: 'absent', record: confirmation('c2') },
        { kind: 'delivery', expect: 'absent', record: delivery('c2') },
        { kind: 'confirmation', expect: 7, record: { ...record, version: 8 } },
      ],
      events: [event()],
    }
    t.equal(await store.commit(stale), 'conflict')
    t.equal(await store.confirmations.get('c2'), undefined)
    t.same(await store.deliveries.of('c2'), [])
    t.equal((await store.events.list(0, 10)).events.length, 1)
  })

  t.test('of many changes that expect the same version, exactly one is committed', async (t) => {
    const store = await open(t)
    const record = confirmation('c1')
    await store.commit(insert(record))
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, i) => store.commit(approve(record, `p${i}`))))
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    const winner = outcomes.findIndex((outcome) => outcome !== 'conflict')
    t.same((await store.confirmations.get('c1'))?.resolution?.by, personActor(`p${winner}`))
  })

  t.test('one change that cannot be written does not take its neighbours down', async (t) => {
    const store = await open(t)
    const broken = insert(confirmation('bad', { action: null as unknown as string }))
    const results = await Promise.allSettled([
      store.commit(insert(confirmation('c1'))),
      store.commit(broken),
      store.commit(insert(confirmation('c2'))),
    ])
    t.same(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.ok(await store.confirmations.get('c1'))
    t.ok(await store.confirmations.get('c2'))
    t.equal(await store.confirmations.get('bad'), undefined)
    t.equal((await store.events.list(0, 10)).events.length, 2)
  })

  t.test(
    'events are numbered without gaps and told to listeners in that order, before the committer goes on',
    async (t) => {
      const store = await open(t)
      const told: number[] = []
      const stop = store.onCommit(({ events }: Committed) => told.push(...events.map(({ seq }) => seq)))
      await Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          const committed = (await store.commit(insert(confirmation(`c${i}`)))) as Committed
          t.ok(told.includes(committed.events[0]!.seq))
        }),
      )
      t.same(
        told,
        Array.from({ length: 40 }, (_, i) => i + 1),
      )
      stop()
      await store.commit(insert(confirmation('after')))
      t.equal(told.length, 40)
      const { events: read, upTo, more } = await store.events.list(10, 5)
      t.same(
        read.map(({ seq }) => seq),
        [11, 12, 13, 14, 15],
      )
      t.equal(read[0]?.data, '{"rules":0,"sha256":""}')
      t.same({ upTo, more }, { upTo: 15, more: true })
      t.match(await store.events.list(36, 5), { upTo: 41, more: false })
      t.same(await store.events.list(41, 5), { events: [], upTo: 41, more: false })
      t.equal(await store.events.lastSeq(), 41)
    },
  )

  t.test(
    'followers are told by reference, once for all that was committed together, and read exactly that',
    async (t) => {
      const store = await open(t)
      const told: Commits[] = []
      const seen: (string | undefined)[] = []
      const stop = store.follow((commits) => {
        told.push(commits)
        for (const { kind, id } of commits.changed) if (kind === 'key') seen.push(store.keys.read(id)?.hash)
      })
      const committed = await Promise.all([
        store.commit(insert(confirmation('c1'))),
        store.commit(insert(confirmation('c1'))),
        store.commit(change({ kind: 'delivery', expect: 'absent', record: delivery('c1') })),
        store.commit(change({ kind: 'key', expect: 'absent', record: key('k1') })),
        store.commit(change({ kind: 'person', expect: 'absent', record: person('alice') })),
      ])
      t.same(committed.map(isCommitted), [true, false, true, true, true])
      t.same(
        told.flatMap(({ changed }) => changed),
        [
          { kind: 'confirmation', id: 'c1' },
          { kind: 'delivery', id: 'c1', channel: 'telegram' },
          { kind: 'key', id: 'k1' },
          { kind: 'person', id: 'alice' },
        ],
      )
      t.same(
        told.flatMap(({ about }) => about),
        ['c1'],
      )
      t.same([told[0]!.firstSeq, told.at(-1)!.lastSeq], [1, 4])
      t.same(seen, ['hash of k1'], 'before the committer resumes')
      t.equal(store.people.read('alice')?.name, 'alice')
      t.equal(store.people.read('bob'), undefined)
      await store.probe()
      const before = told.length
      stop()
      await store.commit(insert(confirmation('c2')))
      t.equal(told.length, before)
    },
  )

  t.test('a grant stands once per scope, and writing it again keeps the count of its uses', async (t) => {
    const store = await open(t)
    await store.commit(change({ kind: 'grant', expect: 'absent', record: grant('g1') }))
    t.equal(await store.commit(change({ kind: 'grant', expect: 'absent', record: grant('g2') })), 'conflict')
    await store.commit(change({ kind: 'grant', expect: 'absent', record: grant('g3', { sessionKey: 's1' }) }))
    await store.commit(change({ kind: 'use', grantId: 'g1', count: 1 }))
    await store.commit(change({ kind: 'grant', expect: 1, record: grant('g1', { version: 2, reason: 'r', uses: 0 }) }))
    t.match(await store.grants.get('g1'), { uses: 1, reason: 'r', version: 2 })
    await store.commit(change({ kind: 'grant', expect: 2, record: grant('g4', { version: 3 }) }))
    t.match(await store.grants.get('g4'), { uses: 0 })
    t.equal(await store.grants.get('g1'), undefined)
    const ids = async (key: string) => (await store.grants.covering('send_mail', key, '{}', 1000)).map(({ id }) => id)
    t.same(await ids('s1'), ['g4', 'g3'])
    t.same(await ids('s2'), ['g4'])
    t.same(await ids(''), ['g4'])
  })

  t.test('requester, conditions and details are part of what tells grants apart', async (t) => {
    const store = await open(t)
    const scopes: Partial<Grant>[] = [
      {},
      { requester: 'bot' },
      { when: '{"a":1}' },
      { when: '{"a":2}' },
      { details: '{}' },
      { details: '{"a":1,"b":[]}' },
      { details: '{"a":1,"b":[]}', when: '{"a":1}' },
    ]
    for (const [index, fields] of scopes.entries()) {
      const record = grant(`g${index}`, fields)
      t.not(await store.commit(change({ kind: 'grant', expect: 'absent', record })), 'conflict')
      t.equal(
        await store.commit(change({ kind: 'grant', expect: 'absent', record: { ...record, id: 'x' } })),
        'conflict',
      )
      t.same(await store.grants.ofScope(record), record)
    }
    t.equal(await store.grants.ofScope(grant('', { when: '{"a":3}' })), undefined)
    const ids = async (details: string | null) =>
      (await store.grants.covering('send_mail', 's', details, 1000)).map(({ id }) => id).sort()
    t.same(await ids('{"b": [], "a": 1}'), ['g0', 'g1', 'g2', 'g3', 'g5', 'g6'], 'in whatever order they are written')
    t.same(await ids('{}'), ['g0', 'g1', 'g2', 'g3', 'g4'])
    t.same(await ids('{"a":1}'), ['g0', 'g1', 'g2', 'g3'])
    t.same(await ids(null), ['g0', 'g1', 'g2', 'g3'])
  })

  t.test('only live grants are found for a request; one that ended is found by its scope', async (t) => {
    const store = await open(t)
    const dead: Partial<Grant>[] = [{ revokedAt: 1 }, { expiresAt: 2000 }, { maxUses: 1, uses: 1 }]
    for (const [index, fields] of dead.entries()) {
      const record = grant(`g${index}`, { requester: `r${index}`, ...fields })
      await store.commit(change({ kind: 'grant', expect: 'absent', record }))
      t.same(await store.grants.ofScope(record), record)
    }
    t.same(await store.grants.covering('send_mail', '', '{}', 2000), [])
    t.match(await store.grants.covering('send_mail', '', '{}', 1999), [{ id: 'g1' }])
  })

  t.test('uses are counted exactly, and a used-up or revoked grant is a conflict', async (t) => {
    const store = await open(t)
    await store.commit(change({ kind: 'grant', expect: 'absent', record: grant('g1', { maxUses: 3 }) }))
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => store.commit(change({ kind: 'use', grantId: 'g1', count: 1 }))),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 3)
    t.match(await store.grants.get('g1'), { uses: 3 })
    await store.commit(change({ kind: 'grant', expect: 'absent', record: grant('g5', { action: 'few', maxUses: 3 }) }))
    t.equal(await store.commit(change({ kind: 'use', grantId: 'g5', count: 4 })), 'conflict')
    t.not(await store.commit(change({ kind: 'use', grantId: 'g5', count: 3 })), 'conflict')
    t.match(await store.grants.get('g5'), { uses: 3 })
    await store.commit(
      change({ kind: 'grant', expect: 'absent', record: grant('g2', { action: 'other', revokedAt: 5 }) }),
    )
    t.equal(await store.commit(change({ kind: 'use', grantId: 'g2', count: 1 })), 'conflict')
    t.equal(await store.commit(change({ kind: 'use', grantId: 'nope', count: 1 })), 'conflict')
  })

  t.test('only live grants are listed, the newest first, page by page', async (t) => {
    const store = await open(t)
    const dead: Partial<Grant>[] = [{ revokedAt: 1 }, { expiresAt: 2000 }, { maxUses: 0 }]
    const records = [
      ...Array.from({ length: 5 }, (_, i) => grant(`g${i}`, { action: `a${i}`, createdAt: 1000 + Math.floor(i / 2) })),
      ...dead.map((fields, i) => grant(`dead${i}`, { action: `d${i}`, ...fields })),
    ]
    for (const record of records) await store.commit(change({ kind: 'grant', expect: 'absent', record }))
    const seen: string[] = []
    let place: Cursor | null = null
    do {
      const page: { items: Grant[]; next: Cursor | null } = await store.grants.list(2000, 2, place)
      seen.push(...page.items.map(({ id }) => id))
      place = page.next
    } while (place !== null)
    t.same(seen, ['g4', 'g3', 'g2', 'g1', 'g0'])
  })

  t.test('lists filter by every field, alone and together', async (t) => {
    const store = await open(t)
    const records = [
      confirmation('c1', { action: 'x', createdAt: 1000 }),
      confirmation('c2', { requester: 'bot', createdAt: 2000 }),
      confirmation('c3', { sessionKey: 'other', createdAt: 3000 }),
      confirmation('c4', { action: 'x', requester: 'bot', createdAt: 4000 }),
    ]
    for (const record of records) await store.commit(insert(record))
    await store.commit(approve(records[3]!, 'alice', 5000))
    const ids = async (filter: ConfirmationFilter) =>
      (await store.confirmations.list(filter, 'newest', 10, null, 10_000)).items.map(({ id }) => id)
    t.same(await ids({}), ['c4', 'c3', 'c2', 'c1'])
    t.same(await ids({ action: 'x' }), ['c4', 'c1'])
    t.same(await ids({ requester: 'bot' }), ['c4', 'c2'])
    t.same(await ids({ sessionKey: 'other' }), ['c3'])
    t.same(await ids({ statuses: ['approved'] }), ['c4'])
    t.same(await ids({ statuses: ['pending'] }), ['c3', 'c2', 'c1'])
    t.same(await ids({ statuses: ['pending', 'approved'] }), ['c4', 'c3', 'c2', 'c1'])
    t.same(await ids({ statuses: ['approved', 'denied'] }), ['c4'])
    t.same(await ids({ resolvedBy: '', statuses: ['approved'] }), [])
    t.same(await ids({ resolvedSince: 5000 }), ['c4'])
    t.same(await ids({ resolvedSince: 5001 }), [])
    t.same(await ids({ resolvedUntil: 5001 }), ['c4'])
    t.same(await ids({ resolvedUntil: 5000 }), [])
    t.same(await ids({ resolvedSince: 0, statuses: ['pending'] }), [], 'what is pending has no such time')
    t.same(await ids({ resolvedBy: 'alice' }), ['c4'])
    t.same(await ids({ action: 'x', requester: 'bot' }), ['c4'])
    t.same(await ids({ since: 2000 }), ['c4', 'c3', 'c2'])
    t.same(await ids({ until: 2000 }), ['c1'])
    t.same(await ids({ since: 2000, until: 4000, requester: 'agent' }), ['c3'])
    t.same(await ids({ action: 'nope' }), [])
    const end = 6000 + longestTimeoutSeconds * 1000
    const patient = confirmation('c5', { createdAt: 6000, deadline: end })
    await store.commit(insert(patient))
    await store.commit(approve(patient, 'alice', end - 1))
    t.same(await ids({ resolvedSince: end - 1 }), ['c5'], 'after the longest wait there is')
  })

  t.test('what somebody voted on is found, also with one vote of two, and page by page', async (t) => {
    const store = await open(t)
    const vote = async (of: Confirmation, verdict: 'approve' | 'deny', by: Voter) => {
      const rest = { at: 2000, via: 'http', reason: null, comment: null, typed: null, remember: null } as const
      const record = castVote(of, { verdict, by, ...rest }, 900_000) as Confirmation
      await store.commit(change({ kind: 'confirmation', expect: of.version, record }))
      return record
    }
    const two = { ...defaultTerms, rule: 'two', approvals: 2 }
    const held = Array.from({ length: 5 }, (_, i) =>
      confirmation(`c${i}`, {
        terms: i === 3 ? defaultTerms : two,
        createdAt: 1000 + Math.floor(i / 2),
        action: i < 2 ? 'x' : 'y',
      }),
    )
    for (const record of held) await store.commit(insert(record))
    const half = await vote(held[0]!, 'approve', personActor('alice'))
    await vote(held[1]!, 'deny', personActor('alice'))
    const done = await vote(await vote(held[2]!, 'approve', personActor('bob')), 'approve', personActor('alice'))
    await vote(held[3]!, 'approve', chatLink('-100'))
    const olga = { kind: 'link', recipient: personActor('olga') } as const
    await vote(held[4]!, 'approve', olga)
    const ids = async (filter: ConfirmationFilter) =>
      (await store.confirmations.list(filter, 'newest', 10, null, 10_000)).items.map(({ id }) => id)
    t.same(await ids({ votedBy: 'alice' }), ['c2', 'c1', 'c0'])
    t.same(await ids({ votedBy: 'bob' }), ['c2'], 'who did not have the last word')
    t.same(await ids({ votedBy: 'olga' }), ['c4'], 'by a link of her own')
    t.same(await ids({ votedBy: 'telegram:-100' }), ['c3'], "by a chat's")
    t.same(await ids({ votedBy: 'Alice' }), [])
    t.same(await ids({ votedBy: '' }), [])
    t.same(await ids({ votedBy: 'alice', statuses: ['pending'] }), ['c0'])
    t.same(await ids({ votedBy: 'alice', statuses: ['denied', 'approved'] }), ['c2', 'c1'])
    t.same(await ids({ votedBy: 'alice', resolvedBy: 'alice', action: 'y' }), ['c2'])
    t.same(await ids({ votedBy: 'alice', resolvedBy: '' }), ['c0'])
    t.same(await ids({ votedBy: 'alice', since: 1001 }), ['c2'])
    t.same(await ids({ votedBy: 'alice', until: 1001 }), ['c1', 'c0'])
    const claimed = claim(done, null, 3000, 1000) as Confirmation
    await store.commit(change({ kind: 'confirmation', expect: done.version, record: claimed }))
    const seen: string[] = []
    let place: Cursor | null = null
    do {
      const page: { items: Confirmation[]; next: Cursor | null } = await store.confirmations.list(
        { votedBy: 'alice' },
        'newest',
        1,
        place,
        5000,
      )
      seen.push(...page.items.map(({ id }) => id))
      place = page.next
    } while (place !== null)
    t.same(seen, ['c2', 'c1', 'c0'], 'each once')
    await store.commit(
      change({ kind: 'confirmation', expect: half.version, record: { ...half, version: 3, votes: [] } }),
    )
    t.same(await ids({ votedBy: 'alice' }), ['c2', 'c1', 'c0'], 'also what counts no more')
  })

  t.test('large records make short pages, never unbounded ones', async (t) => {
    const store = await open(t)
    const description = 'x'.repeat(1024 * 1024)
    for (let i = 0; i < 12; i++) await store.commit(insert(confirmation(`c${i}`, { description })))
    const seen: string[] = []
    let place: Cursor | null = null
    let pages = 0
    do {
      const page: { items: Confirmation[]; next: Cursor | null } = await store.confirmations.list(
        {},
        'newest',
        500,
        place,
        1000,
      )
      t.ok(page.items.length < 12)
      seen.push(...page.items.map(({ id }) => id))
      place = page.next
      pages += 1
    } while (place !== null && pages < 20)
    t.equal(new Set(seen).size, 12)
    t.equal(seen.length, 12)
  })

  t.test('what has lapsed is found, and apart from it what was written before the clock was set back', async (t) => {
    const store = await open(t)
    await store.commit(insert(confirmation('c1', { createdAt: 1000, deadline: 5000 })))
    await store.commit(insert(confirmation('c2', { createdAt: 1000, deadline: 9000 })))
    await store.commit(insert(confirmation('c3', { createdAt: 8000, deadline: 9000 })))
    const ids = async (now: number) => (await store.confirmations.due(now, 10)).items.map(({ id }) => id).sort()
    t.same(await ids(4999), [])
    t.same(await ids(5000), ['c1'])
    t.same(await ids(9000), ['c1', 'c2', 'c3'])
    const ahead = async (now: number) => (await store.confirmations.ahead(now, 10)).items.map(({ id }) => id)
    t.same(await ahead(7999), ['c3'])
    t.same(await ahead(8000), [])
    t.equal((await store.confirmations.due(9000, 1)).items.length, 1)
    t.equal(await store.confirmations.nextDue(), 5000)
    t.same(await store.confirmations.countPending(5000), 1)
    t.equal(await store.confirmations.oldestPending(5000), 1000)
    t.same(await store.confirmations.countPending(8500), 2)
    for (const one of (await store.confirmations.due(9000, 10)).items) {
      await store.commit({
        writes: [{ kind: 'confirmation', expect: one.version, record: asOf(one, 9000) }],
        events: [event(one.id)],
      })
    }
    t.same((await store.confirmations.due(9000, 10)).items, [])
    t.equal(await store.confirmations.nextDue(), undefined)
    t.same(await store.confirmations.countPending(1), 0)
    t.equal(await store.confirmations.oldestPending(1), undefined)
  })

  t.test('approvals that nobody claimed and claims that nobody reported come due like deadlines', async (t) => {
    const store = await open(t)
    const put = async (record: Confirmation, next: Confirmation) =>
      store.commit({
        writes: [{ kind: 'confirmation', expect: record.version, record: next }],
        events: [event(record.id)],
      })
    const [c1, c2] = [confirmation('c1', { deadline: 90_000 }), confirmation('c2', { deadline: 90_000 })]
    const yes = { by: personActor('p'), at: 2000, via: 'http', reason: null } as const
    for (const one of [c1, c2]) {
      await store.commit(insert(one))
      await put(one, resolve(one, 'approved', yes, 5000) as Confirmation)
    }
    t.same(await store.confirmations.countExecutions(), { unclaimed: 2, claimed: 0, unreported: 0 })
    t.equal(await store.confirmations.nextDue(), 7000)
    const approved = (await store.confirmations.get('c2'))!
    const claimed = claim(approved, null, 3000, 1000) as Confirmation
    await put(approved, claimed)
    t.same(await store.confirmations.get('c2'), claimed)
    t.same(await store.confirmations.countExecutions(), { unclaimed: 1, claimed: 1, unreported: 0 })
    t.equal(await store.confirmations.nextDue(), 4000)
    t.same((await store.confirmations.due(3999, 10)).items, [])
    t.same((await store.confirmations.due(4000, 10)).items, [claimed])
    t.same((await store.confirmations.ahead(1999, 10)).items.map(({ id }) => id).sort(), ['c1', 'c2'])
    t.same((await store.confirmations.ahead(2000, 10)).items, [])
    t.equal((await store.confirmations.due(7000, 10)).items.length, 2)
    await put(claimed, report(claimed, 'succeeded', 'done', 3500) as Confirmation)
    t.match(await store.confirmations.get('c2'), {
      execution: { state: 'succeeded', reportedAt: 3500, message: 'done' },
    })
    t.same(await store.confirmations.countExecutions(), { unclaimed: 1, claimed: 0, unreported: 0 })
    t.match((await store.confirmations.due(7000, 10)).items, [{ id: 'c1' }])
    const late = claim((await store.confirmations.get('c1'))!, null, 3000, 1000) as Confirmation
    await put((await store.confirmations.get('c1'))!, late)
    await put(late, asOf(late, 4000))
    t.same(await store.confirmations.countExecutions(), { unclaimed: 0, claimed: 0, unreported: 1 })
  })

  t.test('how a confirmation stands is known without the rest of it', async (t) => {
    const store = await open(t)
    t.equal(await store.confirmations.brief('c1'), undefined)
    const record = confirmation('c1')
    await store.commit(insert(record))
    t.same(await store.confirmations.brief('c1'), {
      version: 1,
      requester: 'agent',
      share: '',
      sessionKey: 's',
      isResolved: false,
      createdAt: 1000,
      deadline: record.deadline,
      size: 14,
    })
    await store.commit(approve(record, 'p'))
    t.match(await store.confirmations.brief('c1'), { version: 2, isResolved: true })
  })

  t.test('a list for people has the beginning of what may be large, or nothing of it', async (t) => {
    const store = await open(t)
    const details = (text: string) => JSON.stringify({ text })
    await store.commit(insert(confirmation('c1', { details: details('short'), description: 'd'.repeat(4000) })))
    await store.commit(insert(confirmation('c2', { details: details('é'.repeat(300)), description: 'd'.repeat(4001) })))
    await store.commit(insert(confirmation('c3', { details: details('x'.repeat(17_000)) })))
    const { items } = await store.confirmations.listPending(10, null, 1000)
    t.same(
      items.map(({ details }) => details),
      [details('short'), details('é'.repeat(300)).slice(0, 200), ''],
    )
    t.same(
      items.map(({ description }) => description.length),
      [4000, 0, confirmation('c3').description.length],
    )
  })

  t.test('what ended is listed by when, as many of each way to end, and nothing that never waited', async (t) => {
    const store = await open(t)
    const ended = async (id: string, status: Outcome, at: number) => {
      const record = confirmation(id, { details: '{"large":1}' })
      await store.commit(insert(record))
      const resolved = end(record, status, 'p', at, 'a reason')
      await store.commit(change({ kind: 'confirmation', expect: 1, record: resolved }))
    }
    await store.commit(insert(confirmation('waits')))
    await ended('passed', 'auto_approved', 9000)
    await ended('long ago', 'expired', 2000)
    await ended('first', 'expired', 3000)
    for (const at of [4000, 5000, 6000]) await ended(`withdrawn at ${at}`, 'cancelled', at)
    await ended('no', 'denied', 7000)
    await ended('yes', 'approved', 8000)
    const found = await store.confirmations.listEnded(2000, 2, 300_000)
    t.same(
      found.map(({ id }) => id),
      ['yes', 'no', 'first', 'withdrawn at 6000', 'withdrawn at 5000'],
    )
    t.match(found[1], { status: 'denied', details: '', description: '', resolution: { at: 7000, reason: null } })
    for (const deadline of [301_000, 302_000, 303_000, 304_000]) {
      await store.commit(insert(confirmation(`over at ${deadline}`, { details: '{"large":1}', deadline })))
    }
    const unrecorded = (await store.confirmations.listEnded(2000, 2, 303_000)).filter(
      ({ status }) => status === 'pending',
    )
    t.match(unrecorded, [
      { id: 'over at 303000', details: '' },
      { id: 'over at 302000', details: '' },
    ])
  })

  t.test('what has expired and is not written as that yet is listed as that, with what is', async (t) => {
    const store = await open(t)
    const late = { deadline: 9000 }
    await store.commit(insert(confirmation('c1', { createdAt: 1000, ...late, action: 'x' })))
    const recorded = confirmation('c2', { createdAt: 2000, deadline: 8000 })
    await store.commit(insert(recorded))
    await store.commit(change({ kind: 'confirmation', expect: 1, record: asOf(recorded, 8000) }))
    await store.commit(insert(confirmation('c3', { createdAt: 3000, ...late })))
    await store.commit(insert(confirmation('c4', { createdAt: 4000, deadline: 20_000 })))
    const ids = async (filter: ConfirmationFilter, now: number, order: 'newest' | 'oldest' | 'deadline' = 'newest') =>
      (await store.confirmations.list(filter, order, 10, null, now)).items.map(({ id }) => id)
    for (const filter of [{ statuses: ['expired' as const] }, { resolvedBy: 'system:timeout' }]) {
      t.same(await ids(filter, 8999), ['c2'])
      t.same(await ids(filter, 9000), ['c3', 'c2', 'c1'])
      t.same(await ids({ ...filter, action: 'x' }, 9000), ['c1'])
      t.same(await ids({ ...filter, resolvedSince: 9000 }, 9000), ['c3', 'c1'])
    }
    t.same(await ids({ statuses: ['expired', 'denied'] }, 9000), ['c3', 'c2', 'c1'])
    t.same(await ids({ resolvedUntil: 9000 }, 9000), ['c2'])
    for (const order of ['newest', 'oldest', 'deadline'] as const) {
      t.same(await ids({ statuses: ['pending'] }, 9000, order), ['c4'])
      t.same((await ids({ statuses: ['pending'] }, 8999, order)).sort(), ['c1', 'c3', 'c4'])
    }
    t.same(await ids({ resolvedBy: '' }, 9000), ['c4'])
    t.same(await ids({}, 9000), ['c4', 'c3', 'c2', 'c1'], 'each once')
    t.same(await ids({}, 9000, 'oldest'), ['c1', 'c2', 'c3', 'c4'])
    const listed = await store.confirmations.listPending(10, null, 9000)
    t.match(listed, { items: [{ id: 'c4' }], next: null })
    t.match((await store.confirmations.listPending(10, [8500, 1], 9000)).items, [{ id: 'c4' }], 'also further on')
  })

  t.test('whoever takes all away goes on after one of them, and knows where the end was', async (t) => {
    const store = await open(t)
    t.equal(await store.confirmations.lastArrival(), 0)
    for (const id of ['c1', 'c2', 'c3']) await store.commit(insert(confirmation(id, { createdAt: 1000 })))
    const end = await store.confirmations.lastArrival()
    await store.commit(insert(confirmation('c4', { createdAt: 1000 })))
    const ids = async (after: Cursor | null, maxBytes?: number) => {
      const page = await store.confirmations.list({ arrivedUpTo: end }, 'oldest', 10, after, 1000, maxBytes)
      return { ids: page.items.map(({ id }) => id), isAll: page.next === null }
    }
    t.same(await ids(null), { ids: ['c1', 'c2', 'c3'], isAll: true })
    t.same(await ids((await store.confirmations.placeOf('c1'))!), { ids: ['c2', 'c3'], isAll: true })
    t.same(await ids(null, 1), { ids: ['c1'], isAll: false }, 'one at least')
    t.equal(await store.confirmations.placeOf('c9'), undefined)
  })

  t.test('of very many that have expired and are not written as that, pages hold each once', async (t) => {
    const store = await open(t)
    const count = 600
    const all = Array.from({ length: count }, (_, n) => confirmation(`c${n}`, { createdAt: 1000 + n, deadline: 9000 }))
    await Promise.all(all.map((record) => store.commit(insert(record))))
    const written = all.filter((_, n) => n % 5 === 0).map((one) => asOf(one, 9000))
    await Promise.all(
      written.slice(0, 50).map((record) => store.commit(change({ kind: 'confirmation', expect: 1, record }))),
    )
    const seen: string[] = []
    let place: Cursor | null = null
    do {
      const page: Page<Confirmation> = await store.confirmations.list(
        { statuses: ['expired'] },
        'newest',
        70,
        place,
        9000,
      )
      seen.push(...page.items.map(({ id }) => id))
      // What is written meanwhile is neither lost nor told twice.
      const next = written.pop()!
      if ((await store.confirmations.get(next.id))!.status === 'pending')
        await store.commit(change({ kind: 'confirmation', expect: 1, record: next }))
      place = page.next
    } while (place !== null)
    t.same(seen, all.map(({ id }) => id).reverse())
  })

  t.test('what is due is read on from a place, also where all is due at once', async (t) => {
    const store = await open(t)
    for (let n = 0; n < 5; n++) await store.commit(insert(confirmation(`c${n}`, { createdAt: 5000, deadline: 9000 })))
    for (const find of ['due', 'ahead'] as const) {
      const now = find === 'due' ? 9000 : 4000
      const first = await store.confirmations[find](now, 3)
      const rest = await store.confirmations[find](now, 3, first.next)
      t.same(
        [...first.items, ...rest.items].map(({ id }) => id),
        ['c0', 'c1', 'c2', 'c3', 'c4'],
      )
      t.equal(rest.next, null)
    }
  })

  t.test('a key is taken once by each caller, and what was asked with it is known', async (t) => {
    const store = await open(t)
    const record = { caller: agent('a'), key: 'k', fingerprint: 'f', confirmationId: 'c1', result: 'r', at: 1000 }
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.commit(
          change(
            { kind: 'confirmation', expect: 'absent', record: confirmation(`c${i}`) },
            { kind: 'idempotency', record: { ...record, confirmationId: `c${i}` } },
          ),
        ),
      ),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    t.same(await store.idempotency.get(agent('a'), 'k'), { fingerprint: 'f', confirmationId: 'c0', result: 'r' })
    t.equal(await store.confirmations.get('c1'), undefined, 'what lost left nothing behind')
    for (const other of [agent('b'), anyone('a')]) {
      t.equal(await store.idempotency.get(other, 'k'), undefined)
      t.not(await store.commit(change({ kind: 'idempotency', record: { ...record, caller: other } })), 'conflict')
    }
  })

  t.test('events are found by what they are about', async (t) => {
    const store = await open(t)
    await store.commit(insert(confirmation('c1', { action: 'x', requester: 'bot' })))
    await store.commit(insert(confirmation('c2', { action: 'y', sessionKey: 's2' })))
    await store.commit(approve(confirmation('c1', { action: 'x', requester: 'bot' }), 'p'))
    const about = granted(grant('g1', { action: 'x', sessionKey: 's9', grantedBy: personActor('carol') }), 1, 'http')
    await store.commit({ writes: [], events: [about] })
    const find = async (filter: EventFilter) => (await store.events.list(0, 10, filter)).events.map(({ seq }) => seq)
    t.same(await find({}), [1, 2, 3, 4])
    t.same(await find({ confirmationId: 'c1' }), [1, 3])
    t.same(await find({ confirmationId: 'nope' }), [])
    t.same(await find({ action: 'x' }), [1, 3, 4])
    t.same(await find({ requester: 'bot' }), [1, 3])
    t.same(await find({ sessionKey: 's2' }), [2])
    t.same(await find({ sessionKey: 's9' }), [4])
    t.same(await find({ types: ['granted', 'revoked'] }), [4])
    t.same(await find({ actor: 'carol' }), [4])
    t.same(await find({ confirmationId: 'c1', action: 'y' }), [])
    t.match(await store.events.list(0, 1, { confirmationId: 'c1' }), { events: [{ seq: 1 }], more: true, upTo: 1 })
    t.match(await store.events.list(1, 1, { confirmationId: 'c1' }), { events: [{ seq: 3 }], more: false, upTo: 4 })
  })

  t.test('events are found by their time, wherever a clock that was set back has put them', async (t) => {
    const store = await open(t)
    const times = [1000, 2000, 9000, 3000, 4000, 3500]
    for (const [index, at] of times.entries()) {
      await store.commit({ writes: [], events: [someEvent(at, index % 2 === 0 ? 'c1' : 'c2')] })
    }
    const find = async (filter: EventFilter) => (await store.events.list(0, 10, filter)).events.map(({ seq }) => seq)
    t.same(await find({ since: 3500 }), [3, 5, 6])
    t.same(await find({ until: 3500 }), [1, 2, 4])
    t.same(await find({ since: 2000, until: 4000 }), [2, 4, 6])
    t.same(await find({ since: 2000.5, until: 3500.5 }), [4, 6])
    t.same(await find({ since: 9001 }), [])
    t.same(await find({ until: 1000 }), [])
    t.same(await find({ since: 4000, until: 2000 }), [])
    t.same(await find({ since: 3000, confirmationId: 'c1' }), [3, 5])
    t.same(await find({ since: 3000, types: ['approved'] }), [])
    t.match(await store.events.list(0, 1, { since: 3500 }), { events: [{ seq: 3 }], upTo: 3, more: true })
    t.match(await store.events.list(3, 2, { since: 3500 }), { events: [{ seq: 5 }, { seq: 6 }], upTo: 6, more: false })
    t.match(await store.events.list(6, 2, { since: 3500 }), { events: [], upTo: 6, more: false })
  })

  t.test('a page of events is bounded in bytes, but never empty for that', async (t) => {
    const store = await open(t)
    for (const id of ['c1', 'c2', 'c3']) {
      await store.commit({ writes: [], events: [someEvent(1, id, 'x'.repeat(1000))] })
    }
    t.equal((await store.events.list(0, 10, {}, 10)).events.length, 1)
    t.match(await store.events.list(0, 10, {}, 2100), { upTo: 2, more: true })
  })

  t.test('deliveries come due by channel, with what says where they go', async (t) => {
    const store = await open(t)
    const record = confirmation('c1')
    await store.commit(insert(record))
    await store.commit(
      change(
        { kind: 'delivery', expect: 'absent', record: delivery('c1', { nextAt: 2000 }) },
        { kind: 'delivery', expect: 'absent', record: delivery('c1', { channel: 'discord', nextAt: 3000 }) },
      ),
    )
    t.same(await store.deliveries.due('telegram', 1999, 10, turn()), [])
    t.same(await store.deliveries.due('telegram', 2000, 10, turn({ fullDestinations: ['elsewhere'] })), [
      {
        subjectId: 'c1',
        channel: 'telegram',
        destination: '',
        occasion: 'notice',
        state: 'queued',
        share: '',
        dueAt: 2000,
        createdAt: 1000,
        deadline: 301_000,
        isInLog: false,
        isResolved: false,
      },
    ])
    t.equal(await store.deliveries.nextDue('telegram', 1000), 2000)
    t.equal(await store.deliveries.nextDue('telegram', 2000), undefined)
    t.equal(await store.deliveries.countUndelivered(), 2)
    const sent = delivery('c1', { version: 2, state: 'sent', nextAt: null, attempts: 1 })
    t.equal(await store.commit(change({ kind: 'delivery', expect: 5, record: sent })), 'conflict')
    await store.commit(change({ kind: 'delivery', expect: 1, record: sent }))
    t.same(await store.deliveries.due('telegram', 9999, 10, turn()), [])
    t.equal(await store.deliveries.countUndelivered(), 1)
    t.match(await store.deliveries.of('c1'), [{ channel: 'discord' }, sent])
  })

  t.test('an alarm is added once, and its deliveries come due as others do', async (t) => {
    const store = await open(t)
    const alarm = alarmOf({ sessionKey: '\u202e\n', share: 'bot', createdAt: 1500 })
    const { id } = alarm
    t.equal(await store.alarms.get(id), undefined)
    t.ok(isCommitted(await store.commit(raising(alarm, 'telegram'))))
    t.same(await store.alarms.get(id), alarm)
    t.equal(await store.commit(raising({ ...alarm, reason: 'another' }, 'discord')), 'conflict')
    t.same(await store.alarms.get(id), alarm)
    t.equal(await store.confirmations.get(id), undefined)
    t.same(
      (await store.deliveries.of(id)).map(({ channel }) => channel),
      ['log', 'telegram'],
    )
    const waiting = { state: 'queued', share: 'bot', dueAt: 1500, createdAt: 1500, deadline: null, isResolved: false }
    const [inChat, inLog] = [keys('telegram', id)[0], { ...keys('log', id)[0], dueAt: 31_500 }]
    t.same(await store.deliveries.due('telegram', 1500, 10, turn()), [{ ...inChat, ...waiting, isInLog: false }])
    t.same(await store.deliveries.due('log', 31_499, 10, turn()), [])
    t.same(await store.deliveries.due('log', 31_500, 10, turn()), [{ ...waiting, ...inLog, isInLog: false }])
    t.equal(await store.deliveries.countUndelivered(), 1)
    const log = delivery(id, { channel: 'log', share: 'bot', version: 2, state: 'sent', nextAt: null })
    await store.commit(change({ kind: 'delivery', expect: 1, record: log }))
    t.same(await store.deliveries.due('telegram', 1500, 10, turn()), [{ ...inChat, ...waiting, isInLog: true }])
    t.match(await store.deliveries.claim(keys('telegram', id), 500), [{ subjectId: id, version: 2 }])
  })

  t.test('what is collected is found by its place and in turns, whenever it is due, and can be leased', async (t) => {
    const store = await open(t, { now: () => 2000 })
    const collect = async (id: string, fields: Partial<Delivery> = {}) => {
      await store.commit(insert(confirmation(id)))
      const record = delivery(id, { state: 'collected', nextAt: 9000, toldAt: 1500, ...fields })
      await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    }
    for (const id of ['c1', 'c2', 'c3']) await collect(id, { share: 'flooder' })
    await collect('c4', { share: 'calm' })
    await collect('c5', { destination: '11' })
    await collect('c6', { channel: 'discord' })
    const ids = async (destination: string, after = '', limit = 10) =>
      (await store.deliveries.collected('telegram', destination, 2000, limit, after)).map((one) => one.subjectId)
    t.same(await ids(''), ['c4', 'c1', 'c2', 'c3'])
    t.same(await ids('', 'calm', 2), ['c1', 'c4'])
    t.same(await ids('11'), ['c5'])
    t.same(await store.deliveries.placesOfCollected('telegram'), ['', '11'])
    t.same(await store.deliveries.placesOfCollected('slack'), [])
    t.same(await store.deliveries.due('telegram', 8999, 10, turn()), [])
    const claimed = await store.deliveries.claim(keys('telegram', 'c1'), 500)
    t.match(claimed, [{ subjectId: 'c1', version: 2 }])
    t.same(await ids(''), ['c4', 'c2', 'c3'])
    await store.deliveries.drop(claimed[0]!)
    t.match(await store.deliveries.of('c1'), [{ state: 'dropped', nextAt: null, version: 3, updatedAt: 2000 }])
    await store.deliveries.drop({ ...claimed[0]!, version: 1 })
    t.match(await store.deliveries.of('c1'), [{ version: 3 }], 'but not by an old version')
  })

  t.test('what is due for one place is found by itself, and what somebody asked for there', async (t) => {
    const store = await open(t)
    await store.commit(insert(confirmation('c1')))
    for (const [destination, occasion] of [
      ['', 'notice'],
      ['11', 'notice'],
      ['', 'asked:show:1'],
      ['11', 'asked:show:2'],
    ] as const) {
      const record = delivery('c1', { destination, occasion, nextAt: 2000 })
      await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    }
    const found = async (only: string) =>
      (await store.deliveries.due('telegram', 2000, 10, turn({ only }))).map(({ occasion }) => occasion).sort()
    t.same(await found(''), ['asked:show:1', 'notice'])
    t.same(await found('11'), ['asked:show:2', 'notice'])
    t.same(await found('12'), [])
    t.match(await store.deliveries.asked('telegram', '', 2000, 10), [{ occasion: 'asked:show:1' }])
    t.same(await store.deliveries.asked('telegram', '', 1999, 10), [])
  })

  t.test('a slot is taken if one is free, also of two at once', async (t) => {
    let time = 1000
    const store = await open(t, { now: () => time })
    const limit = { max: 2, windowMs: 1000 }
    const take = () => store.quotas.take('messages', limit)
    t.same(await Promise.all([take(), take(), take()]), [true, true, false])
    t.match(await store.quotas.peek('messages', time, limit), { remaining: 0, resetMs: 1000 })
    time = 2000
    t.equal(await take(), true)
    t.equal(await store.events.lastSeq(), 0)
  })

  t.test('a delivery of nothing that is there is never due', async (t) => {
    const store = await open(t)
    await store.commit(change({ kind: 'delivery', expect: 'absent', record: delivery('nothing') }))
    t.same(await store.deliveries.due('telegram', 9999, 10, turn()), [])
  })

  t.test('a delivery that is due is leased to one, until its time is over or it is written', async (t) => {
    let time = 2000
    const place = temporaryFolder(t)
    const store = await open(t, { place, now: () => time })
    for (const id of ['c1', 'c2', 'c3']) {
      await store.commit(insert(confirmation(id)))
      const record = delivery(id, { nextAt: id === 'c3' ? 9000 : 2000 })
      await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    }
    const due = async () => (await store.deliveries.due('telegram', time, 10, turn())).map((one) => one.subjectId)
    const told: Commits[] = []
    store.follow((commits) => told.push(commits))
    const claims = await Promise.all([
      store.deliveries.claim(keys('telegram', 'c1', 'c2', 'c3', 'nothing'), 500),
      store.deliveries.claim(keys('telegram', 'c1', 'c2'), 500),
      store.deliveries.claim(keys('discord', 'c1'), 500),
    ])
    t.same(claims, [leases(2, ...keys('telegram', 'c1', 'c2')), [], []])
    t.same(told, [], 'which is nothing to tell of')
    t.equal(await store.events.lastSeq(), 6)
    t.same(await due(), [])
    t.equal(await store.deliveries.nextDue('telegram', time), 2500)
    t.equal(await store.deliveries.nextDue('telegram', 2500), 9000)
    const late = delivery('c1', { version: 2, state: 'retrying', nextAt: 2400, attempts: 1 })
    t.equal(await store.commit(change({ kind: 'delivery', expect: 1, record: late })), 'conflict')
    await store.commit(change({ kind: 'delivery', expect: 2, record: { ...late, version: 3 } }))
    time = 2400
    t.same(await due(), ['c1'], 'what was written is leased no more')
    time = 2500
    t.same(await due(), ['c2', 'c1'], 'nor what was leased too long ago')
    t.same(await store.deliveries.claim(keys('telegram', 'c2'), 500), leases(3, ...keys('telegram', 'c2')))
    await store.deliveries.release(leases(2, ...keys('telegram', 'c2')))
    t.same(await due(), ['c1'], 'who had an earlier lease ends none')
    await store.deliveries.release(leases(3, ...keys('telegram', 'c2')))
    t.same(await due(), ['c2', 'c1'], 'nor what was given back')
    t.same(await store.deliveries.claim(keys('telegram', 'c2'), 500), leases(4, ...keys('telegram', 'c2')))
    await store.close()
    const again = await open(t, { place, now: () => time })
    t.match(await again.deliveries.due('telegram', time, 10, turn()), [{ subjectId: 'c2' }, {}], 'nobody else is there')
  })

  t.test('a subject has several deliveries through one channel, each leased and written by itself', async (t) => {
    const store = await open(t, { now: () => 2000 })
    await store.commit(insert(confirmation('c1')))
    const all = [
      delivery('c1'),
      delivery('c1', { destination: '42' }),
      delivery('c1', { occasion: 'reminder', nextAt: 3000 }),
      delivery('c1', { occasion: 'asked:show:x' }),
    ]
    await store.commit(
      change(...all.map((record) => ({ kind: 'delivery' as const, expect: 'absent' as const, record }))),
    )
    const again = change({ kind: 'delivery', expect: 'absent', record: all[1]! })
    t.equal(await store.commit(again), 'conflict', 'of each there is one')
    const of = async () => (await store.deliveries.of('c1')).map((one) => [keyOf(one), one.version, one.state])
    const due = async () => (await store.deliveries.due('telegram', 2000, 10, turn())).map(keyOf)
    t.same(await due(), [all[3]!, all[0]!, all[1]!].map(keyOf))
    const [home, personal] = [keyOf(all[0]!), keyOf(all[1]!)]
    t.same(await store.deliveries.claim([personal, keyOf(all[2]!)], 500), leases(2, personal), 'which one was leased')
    t.same(await due(), [keyOf(all[3]!), home])
    await store.deliveries.release(leases(2, home))
    t.same(await due(), [keyOf(all[3]!), home], 'whose lease ended is told by all of its key')
    const sent = { ...all[1]!, version: 3, state: 'sent' as const, nextAt: null, toldAt: 2000 }
    await store.commit(change({ kind: 'delivery', expect: 2, record: sent }))
    t.same(
      new Set(await of()),
      new Set([
        [home, 1, 'queued'],
        [personal, 3, 'sent'],
        [keyOf(all[2]!), 1, 'queued'],
        [keyOf(all[3]!), 1, 'queued'],
      ]),
    )
    t.match(await store.confirmations.get('c1'), { toldAt: 2000 }, 'whoever was told first')
  })

  t.test('a delivery has what its message is, by which it is found, and what that shows', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    await store.commit(insert(confirmation('c1')))
    const record = delivery('c1', {
      state: 'sent',
      nextAt: null,
      toldAt: 1500,
      message: { chat: '-100', id: '7' },
      shown: 1,
    })
    await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    t.same(await store.deliveries.of('c1'), [record])
    t.same(await store.deliveries.ofMessage('telegram', { chat: '-100', id: '7' }), record)
    for (const [channel, chat, id] of [
      ['discord', '-100', '7'],
      ['telegram', '-100', '8'],
      ['telegram', '100', '7'],
    ] as const) {
      t.equal(await store.deliveries.ofMessage(channel, { chat, id }), undefined)
    }
    const told: Commits[] = []
    store.follow((commits) => told.push(commits))
    const seq = await store.events.lastSeq()
    const shown = async () => (await store.deliveries.of('c1')).map((one) => [one.shown, one.version])
    for (const noted of [3, -4]) {
      await store.deliveries.note(keyOf(record), noted)
      t.same(await shown(), [[noted, 1]], 'which is no version of its own')
    }
    await store.deliveries.note(keys('discord', 'c1')[0]!, 9)
    t.same(await shown(), [[-4, 1]])
    await store.deliveries.note(keyOf(record), null)
    await store.deliveries.note(keyOf(record), 5)
    t.same(await shown(), [[null, 1]], 'what shows the end follows no more')
    t.same([told, await store.events.lastSeq()], [[], seq], 'which is nothing to tell of')
    t.equal(
      await store.commit(change({ kind: 'delivery', expect: 'absent', record: delivery('c1', { message: null }) })),
      'conflict',
    )
  })

  t.test('those that follow are read in order, from a place on', async (t) => {
    const store = await open(t)
    const all = [
      delivery('c1', { destination: '', occasion: 'notice', shown: 1 }),
      delivery('c1', { destination: '', occasion: 'reminder', shown: -2 }),
      delivery('c1', { destination: '42', occasion: 'notice', shown: 2 }),
      delivery('c2', { destination: '', occasion: 'notice', shown: 1 }),
      delivery('c3', { destination: '', occasion: 'notice', shown: null }),
      delivery('c4', { channel: 'discord', shown: 1 }),
      delivery('c5', { destination: '7', occasion: 'last_reminder', shown: 1 }),
    ].map((one, n) => ({ ...one, state: 'sent' as const, nextAt: null, message: { chat: '1', id: String(n) } }))
    for (const record of all) await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    const following = [0, 1, 2, 3, 6].map((n) => all[n])
    t.same(await store.deliveries.followed('telegram', null, 10), following)
    for (let n = 0; n < following.length; n += 1) {
      t.same(await store.deliveries.followed('telegram', following[n]!, 2), following.slice(n + 1, n + 3))
    }
    t.same(await store.deliveries.followed('discord', null, 10), [all[5]])
    t.same(await store.deliveries.followed('slack', null, 10), [])
  })

  t.test('buttons are known by their hash, and gone with the end of their message', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    const [of, other] = [keys('telegram', 'c1')[0]!, { ...keys('telegram', 'c1')[0]!, destination: '42' }]
    const button = (hash: string, fields: Partial<Button> = {}): Button => ({
      hash,
      of,
      verb: 'approve',
      presser: null,
      createdAt: 1000,
      ...fields,
    })
    const own = { verb: 'yes', presser: '7' } as const
    const all = [button('a'), button('b', own), button('c', { of: other }), button('e', { ...own, of: other })]
    const known = async () =>
      (await Promise.all(['a', 'b', 'c', 'e'].map((hash) => store.buttons.get(hash)))).map((one) => one?.hash)
    const sent = { state: 'sent', nextAt: null, message: { chat: '1', id: '2' }, shown: 1 } as const
    await store.commit(change({ kind: 'delivery', expect: 'absent', record: { ...delivery('c1', sent), ...of } }))
    const seq = await store.events.lastSeq()
    await store.buttons.add(all)
    await store.buttons.add([])
    t.same(await Promise.all(['a', 'b', 'c', 'e'].map((hash) => store.buttons.get(hash))), all)
    t.equal(await store.buttons.get('d'), undefined)
    t.equal(await store.events.lastSeq(), seq, 'which is no event')
    await store.deliveries.note(of, 2)
    t.ok(await store.buttons.get('a'))
    await store.buttons.removeOwn(of)
    t.same(await known(), ['a', undefined, 'c', 'e'], 'those of one person alone, in one message')
    await store.deliveries.note(of, null)
    t.same(await known(), [undefined, undefined, 'c', 'e'])
    await store.close()
    const again = await open(t, { place })
    t.same(await again.buttons.get('c'), all[2])
  })

  t.test('how far a chat was heard is noted for each, and lasts', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    t.equal(await store.inbox.cursor('telegram'), null)
    await store.inbox.note('telegram', '41')
    await store.inbox.note('telegram', '42')
    await store.inbox.note('discord', 'x:1')
    await store.close()
    const again = await open(t, { place })
    t.same(await Promise.all((['telegram', 'discord', 'slack'] as const).map((one) => again.inbox.cursor(one))), [
      '42',
      'x:1',
      null,
    ])
  })

  t.test('what is due for destinations that are full is passed over', async (t) => {
    const store = await open(t)
    for (const [id, destination, nextAt] of [
      ['c1', 'a.example', 1000],
      ['c2', 'b.example:8080', 2000],
      ['c3', 'a.example', 3000],
    ] as const) {
      await store.commit(insert(confirmation(id)))
      const record = delivery(id, { channel: 'callback', destination, nextAt })
      await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
      t.same(await store.deliveries.of(id), [record])
    }
    const ids = async (limit: number, except: string[]) =>
      (await store.deliveries.due('callback', 9000, limit, turn({ fullDestinations: except }))).map(
        ({ subjectId }) => subjectId,
      )
    t.same(await ids(10, []), ['c1', 'c2', 'c3'])
    t.same(await ids(1, ['a.example']), ['c2'])
    t.same(await ids(10, ['b.example:8080', 'c.example']), ['c1', 'c3'])
    t.same(await ids(10, ['a.example', 'b.example:8080']), [])
  })

  t.test('of a chat, what goes to somebody and what goes to all of it are found whichever is full', async (t) => {
    const store = await open(t)
    for (const [id, destination, nextAt] of [
      ['c1', '', 1000],
      ['c2', '42', 2000],
      ['c3', '', 3000],
      ['c4', '43', 4000],
    ] as const) {
      await store.commit(insert(confirmation(id)))
      await store.commit(change({ kind: 'delivery', expect: 'absent', record: delivery(id, { destination, nextAt }) }))
    }
    const ids = async (...fullDestinations: string[]) =>
      (await store.deliveries.due('telegram', 9000, 10, turn({ fullDestinations }))).map(({ subjectId }) => subjectId)
    t.same(await ids(), ['c1', 'c2', 'c3', 'c4'])
    t.same(await ids(''), ['c2', 'c4'])
    t.same(await ids('42'), ['c1', 'c3', 'c4'])
    t.same(await ids('42', '43'), ['c1', 'c3'])
    t.same(await ids('', '43'), ['c2'])
    t.same(await ids('', '42', '43'), [])
    t.same(await ids('44'), ['c1', 'c2', 'c3', 'c4'])
  })

  t.test('what is due for others is found behind any number of destinations, full or not', async (t) => {
    const store = await open(t)
    const count = 300
    const host = (n: number) => `host-${String(n).padStart(3, '0')}.example`
    const put = (id: string, destination: string, share: string, nextAt: number) =>
      store.commit(
        change(
          { kind: 'confirmation', expect: 'absent', record: confirmation(id, { share }) },
          {
            kind: 'delivery',
            expect: 'absent',
            record: delivery(id, { channel: 'callback', destination, share, nextAt }),
          },
        ),
      )
    // Of `many` each is another; of `few` nearly all go to the one that is full.
    await Promise.all(Array.from({ length: count }, (_, n) => put(`many-${n}`, host(n), 'many', 1000 + n)))
    await Promise.all(Array.from({ length: count }, (_, n) => put(`few-${n}`, host(0), 'few', 1000 + n)))
    await put('few-last', host(1), 'few', 5000)
    await put('few-later', host(2), 'few', 9001)
    const ids = async (fullDestinations: string[], limit = 4) =>
      (await store.deliveries.due('callback', 9000, limit, turn({ fullDestinations }))).map(
        ({ subjectId }) => subjectId,
      )
    t.same(await ids([]), ['few-0', 'many-0', 'few-1', 'many-1'])
    t.same(await ids([host(0)]), ['few-last', 'many-1', 'many-2'])
    t.same(await ids([host(0), host(1)], 2), ['many-2', 'many-3'])
    t.same(await ids(Array.from({ length: count }, (_, n) => host(n))), [])
    const others = Array.from({ length: count - 1 }, (_, n) => host(n))
    t.same(await ids(others), [`many-${count - 1}`])
    await store.deliveries.claim([{ ...keys('callback', 'few-last')[0]!, destination: host(1) }], 60_000_000_000_000)
    t.same((await ids([host(0)]))[0], 'many-1', 'what is leased is not due')
  })

  t.test('what is due comes in turns between requesters, beginning behind the one served last', async (t) => {
    const store = await open(t)
    for (const id of ['b1', 'b2', 'b3', 'b4', 'c1', 'c2', 'a1']) {
      await store.commit(insert(confirmation(id)))
      const record = delivery(id, { share: id[0]!, nextAt: 1000 + Number(id[1]) })
      await store.commit(change({ kind: 'delivery', expect: 'absent', record }))
    }
    const ids = async (limit: number, fields: Partial<Turn> = {}) =>
      (await store.deliveries.due('telegram', 9000, limit, turn(fields))).map((one) => one.subjectId)
    t.same(await ids(1), ['a1'])
    t.same(await ids(1, { after: 'a' }), ['b1'])
    t.same(await ids(3, { after: 'b' }), ['c1', 'a1', 'b1'])
    t.same(await ids(1, { after: 'c' }), ['a1'], 'and round')
    t.same(await ids(6), ['a1', 'b1', 'c1', 'b2', 'c2'], 'one each, then the next of each')
    t.same(await ids(2, { fullShares: ['b', 'c'] }), ['a1'])
    t.same(await ids(9, { fullShares: ['a', 'c'] }), ['b1', 'b2', 'b3', 'b4'], 'alone, all of it')
  })

  t.test('terms and votes are read back as they were, and the usual ones as they are', async (t) => {
    const store = await open(t)
    const terms: Terms = {
      ...defaultTerms,
      rule: 'Zwei \u{1f440} "Augen"',
      risk: 'high',
      approvals: 2,
      seats: [{ group: 'ops', count: 2, members: ['alice', 'bob', 'Zoë'] }],
      deciders: ['alice', 'bob', 'Zoë'],
      mayWhitelist: false,
      reasonFor: ['approve', 'deny'],
      mustType: true,
      allowsOwn: true,
    }
    const held = confirmation('c1', { terms })
    await store.commit(insert(held))
    await store.commit(insert(confirmation('c2')))
    t.same(await store.confirmations.get('c1'), held)
    t.equal((await store.confirmations.get('c2'))?.terms, defaultTerms)
    const ballot = { reason: 'why "not"', comment: 'al', typed: 'send_mail' } as const
    const remember = { scope: 'session', requester: 'bot', expiresAt: 5000, isExact: true } as const
    const vote = (by: string, of: Confirmation) =>
      castVote(
        of,
        { ...ballot, verdict: 'approve', by: personActor(by), at: 2000, via: 'page', remember },
        900_000,
      ) as Confirmation
    const once = vote('alice', held)
    await store.commit(change({ kind: 'confirmation', expect: 1, record: once }))
    t.same(await store.confirmations.get('c1'), once)
    t.same((await store.confirmations.list({ statuses: ['pending'] }, 'deadline', 10, null, 1000)).items[0], once)
    const twice = vote('Zoë', once)
    await store.commit(change({ kind: 'confirmation', expect: 2, record: twice }))
    t.same(await store.confirmations.get('c1'), twice)
    t.match(twice, { status: 'approved', resolution: { by: personActor('Zoë') }, votes: { length: 2 } })
  })

  t.test('of two votes on the same version one is a conflict', async (t) => {
    const store = await open(t)
    const held = confirmation('c1', { terms: { ...defaultTerms, rule: 'two', approvals: 2 } })
    await store.commit(insert(held))
    const rest = { at: 2000, via: 'http', reason: null, comment: null, typed: null, remember: null } as const
    const outcomes = await Promise.all(
      ['alice', 'bob'].map((by) => {
        const ballot = { verdict: 'approve', by: personActor(by), ...rest } as const
        const record = castVote(held, ballot, 900_000) as Confirmation
        return store.commit(change({ kind: 'confirmation', expect: 1, record }))
      }),
    )
    t.equal(outcomes.filter((outcome) => outcome === 'conflict').length, 1)
    t.equal((await store.confirmations.get('c1'))?.votes.length, 1)
  })

  t.test('people are read back as they were, and known by one chat each', async (t) => {
    const store = await open(t)
    t.same(await store.people.list(), [])
    const alice = person('alice', { identities: [discord('7'), telegram('-100')] })
    t.not(await store.commit(change({ kind: 'person', expect: 'absent', record: alice })), 'conflict')
    t.equal(await store.commit(change({ kind: 'person', expect: 'absent', record: person('alice') })), 'conflict')
    for (const taken of [telegram('-100'), discord('7')]) {
      const record = person('bob', { identities: [taken] })
      t.equal(await store.commit(change({ kind: 'person', expect: 'absent', record })), 'conflict')
    }
    await store.commit(change({ kind: 'person', expect: 'absent', record: person('bob') }))
    await store.commit(change({ kind: 'person', expect: 'absent', record: person('carol') }))
    t.equal(
      await store.commit(
        change({ kind: 'person', expect: 1, record: person('bob', { version: 2, identities: [telegram('-100')] }) }),
      ),
      'conflict',
    )
    const moved = person('alice', { version: 2, identities: [telegram('-200')] })
    t.equal(await store.commit(change({ kind: 'person', expect: 9, record: moved })), 'conflict')
    await store.commit(change({ kind: 'person', expect: 1, record: moved }))
    const people = (await store.people.list()).sort((a, b) => (a.name < b.name ? -1 : 1))
    t.same(people, [moved, person('bob'), person('carol')])
    const freed = person('bob', { version: 2, identities: [telegram('-100'), telegram('-101')] })
    await store.commit(change({ kind: 'person', expect: 1, record: freed }))
    t.same(
      (await store.people.list()).find(({ name }) => name === 'bob'),
      freed,
      'what was given up is free, and one may have several',
    )
  })

  t.test('keys are read back as they were; what is made once stays, and its end is changed by version', async (t) => {
    const store = await open(t)
    t.same(await store.keys.list(), [])
    await store.commit(change({ kind: 'key', expect: 'absent', record: key('k1', { expiresAt: 5000 }) }))
    t.equal(await store.commit(change({ kind: 'key', expect: 'absent', record: key('k1') })), 'conflict')
    t.same(await store.keys.list(), [key('k1', { expiresAt: 5000 })])
    const revoked = key('k1', { version: 2, expiresAt: 4000, revokedAt: 3000, replacedBy: 'k2' })
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => store.commit(change({ kind: 'key', expect: 1, record: revoked }))),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    t.same(await store.keys.list(), [revoked])
    const promoted = key('k1', { version: 3, role: 'admin', hash: 'other', person: 'mallory' })
    await store.commit(change({ kind: 'key', expect: 2, record: promoted }))
    t.match(await store.keys.list(), [{ role: 'operator', hash: 'hash of k1', person: 'alice' }], 'whose it is, never')
  })

  t.test('a link is found by its hash alone, and spent once', async (t) => {
    const store = await open(t)
    t.equal(await store.links.get('h1'), undefined)
    await store.commit(change({ kind: 'link', expect: 'absent', record: link('h1') }))
    t.equal(await store.commit(change({ kind: 'link', expect: 'absent', record: link('h1') })), 'conflict')
    t.same(await store.links.get('h1'), link('h1'))
    const used = link('h1', { version: 2, usedAt: 2000 })
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => store.commit(change({ kind: 'link', expect: 1, record: used }))),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    t.same(await store.links.get('h1'), used)
  })

  t.test('a link to sign in is found by its hash alone, and spent once', async (t) => {
    const store = await open(t)
    const made = { hash: 'h1', version: 1, keyId: 'k1', createdAt: 1000, endsAt: 2000, usedAt: null, process: 'p1' }
    t.equal(await store.signInLinks.get('h1'), undefined)
    await store.commit(change({ kind: 'sign_in_link', expect: 'absent', record: made }))
    t.equal(await store.commit(change({ kind: 'sign_in_link', expect: 'absent', record: made })), 'conflict')
    t.same(await store.signInLinks.get('h1'), made)
    const used = { ...made, version: 2, usedAt: 1500 }
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => store.commit(change({ kind: 'sign_in_link', expect: 1, record: used }))),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    t.same(await store.signInLinks.get('h1'), used)
  })

  t.test(
    'what is pending is known by its requester, digest and description, until it is resolved or due',
    async (t) => {
      const store = await open(t)
      const joining = (id: string, fields: Partial<Pending> = {}) => confirmation(id, { joins: true, ...fields })
      const { requester, digest, description, deadline } = joining('c1')
      const alike = (text = description, now = 1000) => store.confirmations.alike(requester, digest, text, now)
      t.equal(await alike(), undefined)
      await store.commit(insert(confirmation('c0')))
      t.equal(await alike(), undefined, 'one that nothing joins')
      await store.commit(insert(joining('c1')))
      await store.commit(insert(joining('c2')))
      await store.commit(insert(joining('c3', { requester: 'bot', digest: 'other' })))
      t.same(await alike(), joining('c1'))
      t.equal(await alike('another'), undefined)
      t.equal(await alike(description, deadline), undefined)
      await store.commit(approve(joining('c1'), 'p'))
      t.match(await alike(), { id: 'c2' })
      t.equal(await store.confirmations.alike('bot', digest, description, 1000), undefined)
    },
  )

  t.test('what people approved and nobody claimed yet is known in the same way, if it joins', async (t) => {
    const store = await open(t)
    const { requester, digest, description } = confirmation('c1')
    const unclaimed = (text = description, now = 2000) =>
      store.confirmations.unclaimedAlike(requester, digest, text, now)
    const add = async (id: string, fields: Partial<Pending> = {}) => {
      const pending = confirmation(id, { joins: true, ...fields })
      await store.commit(insert(pending))
      t.not(await store.commit(approve(pending, 'p', 2000)), 'conflict')
    }
    await add('c0', { joins: false })
    await add('c1', { requester: 'bot' })
    await add('c2', { digest: 'other' })
    await store.commit(insert(confirmation('c3', { joins: true })))
    t.equal(await unclaimed(), undefined)
    await add('c4')
    await add('c5')
    const found = (await unclaimed())!
    t.match(found, { id: 'c4', status: 'approved', execution: { state: 'unclaimed' } })
    t.equal(await unclaimed('another'), undefined)
    t.equal(await unclaimed(description, found.execution.claimBy), undefined)
    const { claimBy } = found.execution
    const execution = { state: 'claimed', claimBy, claimedAt: 3000, reportBy: 9000 } as const
    const record = { ...found, version: found.version + 1, execution }
    await store.commit(change({ kind: 'confirmation', expect: found.version, record }))
    t.match(await unclaimed(), { id: 'c5' })
  })

  t.test('what is claimed for a named act is known by its requester and name, and the latest counts', async (t) => {
    const store = await open(t)
    const record = { requester: agent('a'), name: 'n', version: 1, confirmationId: 'c1', at: 1000 }
    t.equal(await store.namedActs.get(agent('a'), 'n'), undefined)
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => store.commit(change({ kind: 'named_act', expect: 'absent', record }))),
    )
    t.equal(outcomes.filter((outcome) => outcome !== 'conflict').length, 1)
    t.same(await store.namedActs.get(agent('a'), 'n'), { version: 1, confirmationId: 'c1' })
    const next = { ...record, version: 2, confirmationId: 'c2' }
    t.equal(await store.commit(change({ kind: 'named_act', expect: 2, record: next })), 'conflict')
    t.not(await store.commit(change({ kind: 'named_act', expect: 1, record: next })), 'conflict')
    t.same(await store.namedActs.get(agent('a'), 'n'), { version: 2, confirmationId: 'c2' })
    for (const other of [agent('b'), anyone('a')]) t.equal(await store.namedActs.get(other, 'n'), undefined)
  })

  t.test('the latest denial of the same is found for as long as it matters', async (t) => {
    const store = await open(t)
    const deny = async (id: string, at: number, fields: Partial<Pending> = {}) => {
      const record = confirmation(id, fields)
      await store.commit(insert(record))
      const denied = end(record, 'denied', 'alice', at, `no ${id}`)
      await store.commit(change({ kind: 'confirmation', expect: 1, record: denied }))
      return denied
    }
    const { digest } = confirmation('c0')
    await store.commit(insert(confirmation('c0')))
    t.equal(await store.confirmations.lastDenied(digest, 0), undefined, 'what is pending is not denied')
    const first = await deny('c1', 2000)
    const second = await deny('c2', 3000)
    await deny('c3', 4000, { digest: 'other' })
    const approved = confirmation('c4')
    await store.commit(insert(approved))
    await store.commit(approve(approved, 'p', 5000))
    t.same(await store.confirmations.lastDenied(digest, 0), second)
    t.same(await store.confirmations.lastDenied(digest, 2999), second)
    t.equal(await store.confirmations.lastDenied(digest, 3000), undefined)
    t.equal(await store.confirmations.lastDenied('nothing', 0), undefined)
    t.equal(first.resolution?.reason, 'no c1')
  })

  t.test('what comes after its deadline is not committed', async (t) => {
    let time = 1000
    const store = await open(t, { now: () => time })
    const before: Requirement = { kind: 'before', at: 1001 }
    t.ok(isCommitted(await store.commit(requiring([before]))))
    time = 1001
    t.same(await store.commit(requiring([before])), { unmet: before, quota: null })
    t.equal(await store.events.lastSeq(), 1)
  })

  t.test('a change that needs a key is committed while the key is live', async (t) => {
    let time = 1000
    const place = temporaryFolder(t)
    const store = await open(t, { place, now: () => time })
    const needs: Requirement = { kind: 'key_live', keyId: 'k1' }
    const unmet = { unmet: needs, quota: null }
    const record = key('k1', { expiresAt: 2000 })
    t.same(await store.commit(requiring([needs])), unmet, 'not yet made')
    const outcomes = await Promise.all([
      store.commit(change({ kind: 'key', expect: 'absent', record })),
      store.commit(requiring([needs])),
      store.commit(change({ kind: 'key', expect: 1, record: { ...record, version: 2, revokedAt: 1000 } })),
      store.commit(requiring([needs])),
    ])
    t.same(outcomes.map(isCommitted), [true, true, true, false], 'in one group, each sees those before it')
    await store.commit(change({ kind: 'key', expect: 2, record: { ...record, version: 3 } }))
    time = 1999
    t.ok(isCommitted(await store.commit(requiring([needs]))))
    await store.close()
    time = 2000
    t.same(await (await open(t, { place, now: () => time })).commit(requiring([needs])), unmet, 'expired')
  })

  t.test('a change that needs open mode is committed until there is a key', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    const needs: Requirement = { kind: 'no_keys' }
    const add = (id: string) => requiring([needs], { kind: 'key', expect: 'absent', record: key(id) })
    const outcomes = await Promise.all([
      store.commit(requiring([needs])),
      store.commit(add('k1')),
      store.commit(add('k2')),
      store.commit(requiring([needs])),
    ])
    t.same(outcomes.map(isCommitted), [true, true, false, false])
    t.same(outcomes[2], { unmet: needs, quota: null })
    t.same(
      (await store.keys.list()).map(({ id }) => id),
      ['k1'],
    )
    await store.close()
    t.notOk(isCommitted(await (await open(t, { place })).commit(requiring([needs]))))
  })

  t.test('a quota gives as many slots as it has, in any window, and says how it stands', async (t) => {
    let time = 10_000
    const store = await open(t, { now: () => time })
    const take = (count = 1, max = 3) => store.commit(requiring([slot('q', max, count)]))
    t.same(await store.quotas.peek('q', time, { max: 3, windowMs: 1000 }), { remaining: 3, resetMs: 0 })
    t.match(await take(), { quotas: [{ remaining: 2, resetMs: 1000 }] })
    time += 400
    t.match(await take(2), { quotas: [{ remaining: 0, resetMs: 600 }] })
    t.same(await take(), { unmet: slot('q', 3), quota: { remaining: 0, resetMs: 600 } })
    t.same(await store.quotas.peek('q', time, { max: 3, windowMs: 1000 }), { remaining: 0, resetMs: 600 })
    t.match(await take(1, 1), { quota: { remaining: 0, resetMs: 1000 } }, 'a lower limit has room later')
    t.match(await take(1, 9), { quotas: [{ remaining: 5 }] }, 'a higher one has room now')
    t.ok(isCommitted(await store.commit(requiring([slot('other', 1)]))), 'quotas are independent of each other')
    time += 600
    t.match(await take(1, 4), { quotas: [{ remaining: 0, resetMs: 400 }] }, 'the oldest has left')
    time += 5000
    t.match(await take(4, 3), { unmet: { count: 4 }, quota: { remaining: 3, resetMs: 0 } }, 'all or none')
    t.match(await take(3, 3), { quotas: [{ remaining: 0, resetMs: 1000 }] })
  })

  t.test('slots are exact among many changes of one group, and what is not committed takes none', async (t) => {
    const store = await open(t, { now: () => 1000 })
    const all = await Promise.all(Array.from({ length: 20 }, () => store.commit(requiring([slot('q', 5)]))))
    t.equal(all.filter(isCommitted).length, 5)
    const record = confirmation('c1')
    await store.commit(insert(record))
    const write = { kind: 'confirmation', expect: 'absent', record } as const
    t.equal(await store.commit(requiring([slot('r', 5)], write)), 'conflict')
    t.equal(await store.commit(requiring([slot('q', 5)], { ...write, expect: 9 })), 'conflict', 'versions come first')
    t.match(await store.commit(requiring([slot('r', 5), slot('q', 5)])), { unmet: { quota: 'q' } })
    t.match(await store.commit(requiring([slot('r', 5, 5), slot('r', 5)])), { unmet: { count: 1 } }, 'they add up')
    t.same(await store.quotas.peek('r', 1000, { max: 5, windowMs: 1000 }), { remaining: 5, resetMs: 0 })
    t.match(await store.commit(requiring([slot('r', 5, 2), slot('r', 9, 2)])), {
      quotas: [{ remaining: 3 }, { remaining: 5 }],
    })
  })

  t.test('slots outlast the process, and a clock that is set back gives none of them back', async (t) => {
    const place = temporaryFolder(t)
    const first = await open(t, { place, now: () => 10_000 })
    await first.commit(requiring([slot('q', 3, 2)]))
    await first.close()
    let time = 5000
    const second = await open(t, { place, now: () => time })
    t.same(await second.quotas.peek('q', time, { max: 3, windowMs: 1000 }), { remaining: 1, resetMs: 1000 })
    t.match(await second.commit(requiring([slot('q', 3)])), { quotas: [{ remaining: 0, resetMs: 1000 }] })
    t.notOk(isCommitted(await second.commit(requiring([slot('q', 3)]))))
    time = 6000
    t.match(await second.commit(requiring([slot('q', 3)])), { quotas: [{ remaining: 2 }] })
  })

  t.test('a quota agrees with counting every slot of the last window, whatever comes', async (t) => {
    let time = 0
    const store = await open(t, { now: () => time })
    const taken: number[] = []
    for (let step = 0; step < 300; step++) {
      time += (step * 7919) % 31
      const [max, windowMs, count] = [1 + (step % 5), 20 + (step % 3) * 40, 1 + (step % 2)]
      const used = taken.filter((at) => at > time - windowMs).length
      const outcome = await store.commit(requiring([slot('q', max, count, windowMs)]))
      if (isCommitted(outcome) !== used + count <= max) t.fail(`step ${step}: ${used} of ${max} were taken`)
      if (isCommitted(outcome)) {
        t.equal(outcome.quotas[0]!.remaining, max - used - count)
        for (let n = 0; n < count; n++) taken.push(time)
      }
    }
    t.ok(taken.length > 20)
  })

  t.test('a requester has no more pending than may be, in one group and after all', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    const fewer = (below: number, requester = 'agent'): Requirement => ({ kind: 'fewer_open', requester, below })
    const submit = (id: string, below: number, fields: Partial<Pending> = {}) => ({
      ...insert(confirmation(id, fields)),
      requires: [fewer(below, fields.requester)],
    })
    const all = await Promise.all(Array.from({ length: 9 }, (_, i) => store.commit(submit(`c${i}`, 3))))
    t.same(
      all.map(isCommitted),
      Array.from({ length: 9 }, (_, i) => i < 3),
    )
    t.same(all[8], { unmet: fewer(3), quota: null })
    t.ok(isCommitted(await store.commit(submit('d1', 1, { requester: 'bot' }))))
    t.notOk(isCommitted(await store.commit(submit('d2', 0, { requester: 'nobody' }))))
    await store.commit(approve(confirmation('c0'), 'p'))
    t.ok(isCommitted(await store.commit(submit('c9', 3))))
    await store.close()
    t.notOk(isCommitted(await (await open(t, { place })).commit(submit('c10', 3))))
  })

  t.test('what is pending is not submitted again, in one group and after all', async (t) => {
    let time = 1000
    const place = temporaryFolder(t)
    const store = await open(t, { place, now: () => time })
    const submit = (id: string, fields: Partial<Pending> = {}) => {
      const record = confirmation(id, { joins: true, ...fields })
      const { requester, digest, description } = record
      return { ...insert(record), requires: [{ kind: 'nothing_alike' as const, requester, digest, description }] }
    }
    const all = await Promise.all(['c1', 'c2', 'c3'].map((id) => store.commit(submit(id))))
    t.same(all.map(isCommitted), [true, false, false])
    t.match(all[1], { unmet: { kind: 'nothing_alike' }, quota: null })
    t.ok(isCommitted(await store.commit(submit('c4', { description: 'another' }))))
    t.ok(isCommitted(await store.commit(submit('c5', { digest: 'another' }))))
    await store.commit(approve(confirmation('c1', { joins: true }), 'p'))
    t.ok(isCommitted(await store.commit(submit('c6'))))
    await store.close()
    const again = await open(t, { place, now: () => time })
    t.notOk(isCommitted(await again.commit(submit('c7'))))
    time = confirmation('c6').deadline
    t.ok(isCommitted(await again.commit(submit('c8'))), 'what is due is no longer pending')
  })

  t.test('of the uses of a key the latest is kept, and outlasts the process', async (t) => {
    const place = temporaryFolder(t)
    const store = await open(t, { place })
    t.same(await store.keyUses.list(), [])
    await store.keyUses.note([
      { keyId: 'k1', usedAt: 2000 },
      { keyId: 'k2', usedAt: 1000 },
    ])
    await Promise.all([3000, 2500].map((usedAt) => store.keyUses.note([{ keyId: 'k1', usedAt }])))
    t.equal(await store.events.lastSeq(), 0)
    await store.close()
    const uses = (await (await open(t, { place })).keyUses.list()).sort((a, b) => a.usedAt - b.usedAt)
    t.same(uses, [
      { keyId: 'k2', usedAt: 1000 },
      { keyId: 'k1', usedAt: 3000 },
    ])
  })

  t.test('sign-ins are kept until they end or are ended, the newest of each key', async (t) => {
    let time = 1000
    const place = temporaryFolder(t)
    const store = await open(t, { place, now: () => time })
    const signIn = (placeHash: string, fields: Partial<SignIn> = {}): SignIn => ({
      placeHash,
      secretHash: `secret of ${placeHash}`,
      keyId: 'k1',
      createdAt: time,
      endsAt: time + 1000,
      process: null,
      ...fields,
    })
    const first = signIn('p1', { process: 'mark' })
    await store.signIns.add(first, 2)
    t.same(await store.signIns.get('p1'), first)
    t.equal(await store.signIns.get('p2'), undefined)
    t.equal(await store.events.lastSeq(), 0)
    time = 1001
    const other = signIn('p2', { keyId: 'k2' })
    await store.signIns.add(other, 2)
    await store.signIns.add(signIn('p3'), 2)
    await store.signIns.add(signIn('p4'), 2)
    t.equal(await store.signIns.get('p1'), undefined, 'the oldest of the key')
    t.ok(await store.signIns.get('p3'))
    await store.signIns.remove('p3')
    await store.signIns.remove('p3')
    t.equal(await store.signIns.get('p3'), undefined)
    await store.close()
    time = 2001
    const again = await open(t, { place, now: () => time })
    t.same(await again.signIns.get('p2'), other)
    await again.signIns.add(signIn('p5'), 2)
    t.equal(await again.signIns.get('p2'), undefined, 'what has ended is removed')
  })

  t.test('the secret is 256 bits of its own', async (t) => {
    const store = await open(t)
    t.match(await store.secret(), /^[0-9a-f]{64}$/)
    t.equal(await store.secret(), await store.secret())
    t.not(await (await open(t)).secret(), await store.secret())
  })

  t.test('after closing, nothing more is taken, and everything taken is there', async (t) => {
    const store = await open(t)
    const last = store.commit(insert(confirmation('c1')))
    await store.close()
    t.match(await last, { events: [{ seq: 1 }] })
    await t.rejects(store.commit(insert(confirmation('c2'))), { name: 'StoreUnavailable' })
    await store.close()
  })
}
