import fc from 'fast-check'
import t from 'tap'
import { hold } from '../../src/core/confirmation.js'
import {
  type Confirmation,
  defaultTerms,
  type Pending,
  type Seat,
  type Terms,
  type Verdict,
} from '../../src/core/model.js'
import { textOf, type Voter } from '../../src/core/actor.js'
import { isRefusal, type Refusal } from '../../src/core/refusal.js'
import { emptySeats } from '../../src/core/seats.js'
import { approvalsGiven, type Ballot, castVote, problemWithVoter, withVerifiedVotes } from '../../src/core/vote.js'
import { anyone, chatLink, person } from '../actors.js'
import { submissionOf } from '../submission.js'

const approvalMs = 900
const submission = submissionOf()
const heldUnder = (terms: Partial<Terms> = {}) =>
  hold(submission, 'c1', 1000, { ...defaultTerms, rule: 'tested', ...terms })

const ballot = (by: string | Voter, verdict: Verdict = 'approve', fields: Partial<Ballot> = {}): Ballot => ({
  verdict,
  by: typeof by === 'string' ? person(by) : by,
  at: 2000,
  via: 'http',
  reason: null,
  comment: null,
  remember: null,
  typed: null,
  ...fields,
})

const cast = (confirmation: Confirmation, ...ballots: Ballot[]): Confirmation | Refusal => {
  let current: Confirmation | Refusal = confirmation
  for (const one of ballots) {
    current = castVote(current, one, approvalMs)
    if (isRefusal(current)) return current
  }
  return current
}

const seat = (group: string, count: number, ...members: string[]): Seat => ({ group, count, members })

t.test('where one approval is enough, one settles it and is kept as the vote', async (t) => {
  const done = cast(heldUnder(), ballot('alice', 'approve', { reason: 'fine', comment: 'al' })) as Confirmation
  t.match(done, {
    version: 2,
    status: 'approved',
    resolution: { by: person('alice'), at: 2000, via: 'http', reason: 'fine' },
    execution: { state: 'unclaimed', claimBy: 2900 },
  })
  t.same(done.votes, [
    {
      verdict: 'approve',
      by: person('alice'),
      at: 2000,
      via: 'http',
      reason: 'fine',
      comment: 'al',
      remember: null,
    },
  ])
})

t.test('where two are needed, the first leaves it pending and the second approves', async (t) => {
  const first = cast(heldUnder({ approvals: 2 }), ballot('alice')) as Confirmation
  t.match(first, { version: 2, resolution: null, execution: null, votes: [{ by: person('alice') }] })
  t.match(cast(first, ballot('bob')), { version: 3, status: 'approved', resolution: { by: person('bob') } })
})

t.test('one denial ends it, whoever approved before', async (t) => {
  const terms = { approvals: 3 }
  const denied = cast(heldUnder(terms), ballot('alice'), ballot('bob'), ballot('carol', 'deny')) as Confirmation
  t.match(denied, { status: 'denied', resolution: { by: person('carol') }, execution: null })
  t.match(cast(denied, ballot('dave')), { refused: 'already_resolved', extra: { status: 'denied' } })
})

t.test('the deadline ends it as well: votes that were given are not enough any more', async (t) => {
  const first = cast(heldUnder({ approvals: 2 }), ballot('alice')) as Confirmation
  t.match(cast(first, ballot('bob', 'approve', { at: 31_000 })), {
    refused: 'already_resolved',
    extra: { status: 'expired' },
  })
  t.match(cast(first, ballot('bob', 'approve', { at: 30_999 })), { status: 'approved' })
})

interface Case {
  why: string
  terms?: Partial<Terms>
  before?: Ballot[]
  ballot: Ballot
  /** Left out: it counts. */
  refused?: string
}

const groups = { seats: [seat('security', 1, 'alice'), seat('ops', 1, 'bob')], approvals: 2 }
const cases: Case[] = [
  { why: 'nobody approves what they submitted', ballot: ballot('bot'), refused: 'own_request' },
  { why: 'nobody denies what they submitted', ballot: ballot('bot', 'deny'), refused: 'own_request' },
  { why: 'a name that is only given proves nothing', ballot: ballot(anyone('bot')) },
  { why: 'the rule may allow it', terms: { allowsOwn: true }, ballot: ballot('bot') },
  {
    why: 'being allowed to decide does not make it less their own',
    terms: { deciders: ['bot'] },
    ballot: ballot('bot'),
    refused: 'own_request',
  },
  { why: 'a decider approves', terms: { deciders: ['alice'] }, ballot: ballot('alice') },
  { why: 'another does not', terms: { deciders: ['alice'] }, ballot: ballot('bob'), refused: 'not_a_decider' },
  {
    why: 'nor deny',
    terms: { deciders: ['alice'] },
    ballot: ballot('bob', 'deny'),
    refused: 'not_a_decider',
  },
  { why: 'case matters in a name', terms: { deciders: ['alice'] }, ballot: ballot('Alice'), refused: 'not_a_decider' },
  { why: 'nobody at all decides', terms: { deciders: [] }, ballot: ballot('alice'), refused: 'not_a_decider' },
  { why: 'who is in none of the groups has no seat', terms: groups, ballot: ballot('carol'), refused: 'not_a_decider' },
  { why: 'but may deny', terms: groups, ballot: ballot('carol', 'deny') },
  { why: 'a chat is one vote where one is enough', ballot: ballot(chatLink('-1')) },
  {
    why: 'and none where different people are needed',
    terms: { approvals: 2 },
    ballot: ballot(chatLink('-1')),
    refused: 'not_a_decider',
  },
  {
    why: 'one person has one vote',
    terms: { approvals: 2 },
    before: [ballot('alice')],
    ballot: ballot('alice', 'approve', { via: 'link' }),
    refused: 'already_voted',
  },
  {
    why: 'and does not take it back by denying',
    terms: { approvals: 2 },
    before: [ballot('alice')],
    ballot: ballot('alice', 'deny'),
    refused: 'already_voted',
  },
  {
    why: 'a reason is required',
    terms: { reasonFor: ['approve'] },
    ballot: ballot('alice'),
    refused: 'reason_required',
  },
  { why: 'for that verdict alone', terms: { reasonFor: ['approve'] }, ballot: ballot('alice', 'deny') },
  { why: 'or for denials', terms: { reasonFor: ['deny'] }, ballot: ballot('a', 'deny'), refused: 'reason_required' },
  { why: 'which then counts', terms: { reasonFor: ['deny'] }, ballot: ballot('alice', 'deny', { reason: 'no' }) },
  { why: 'the action must be typed', terms: { mustType: true }, ballot: ballot('alice'), refused: 'typing_required' },
  {
    why: 'exactly',
    terms: { mustType: true },
    ballot: ballot('alice', 'approve', { typed: 'Send_mail' }),
    refused: 'typing_required',
  },
  {
    why: 'but for space around it',
    terms: { mustType: true },
    ballot: ballot('alice', 'approve', { typed: ' send_mail\n' }),
  },
  { why: 'denying needs no typing', terms: { mustType: true }, ballot: ballot('alice', 'deny') },
]

for (const { why, terms, before = [], ballot: given, refused } of cases) {
  t.test(`${refused === undefined ? 'counts' : refused}: ${why}`, async (t) => {
    const held = cast(heldUnder(terms), ...before) as Pending
    const result = castVote(held, given, approvalMs)
    if (refused === undefined) {
      t.notOk(isRefusal(result))
      t.equal((result as Confirmation).votes.length, before.length + 1)
    } else t.match(result, { refused })
    // What is said before anybody decides is what comes of it.
    const flaw = problemWithVoter(held, given)
    if (refused === undefined) t.equal(flaw, null)
    else if (!/required$/.test(refused)) t.match(flaw, { refused })
  })
}

t.test('whoever votes twice is told that it is still pending', async (t) => {
  t.match(cast(heldUnder({ approvals: 2 }), ballot('alice'), ballot('alice')), {
    refused: 'already_voted',
    extra: { status: 'pending' },
  })
})

t.test('a person takes one seat, and moves over if that helps', async (t) => {
  const both = [seat('security', 1, 'alice', 'bob'), seat('ops', 1, 'bob', 'carol')]
  for (const [people, empty] of [
    [[], ['security', 'ops']],
    [['bob'], ['ops']],
    [['alice', 'bob'], []],
    [['bob', 'alice'], []],
    [['bob', 'carol'], []],
    [['alice', 'dave'], ['ops']],
  ] as [string[], string[]][]) {
    t.same(
      emptySeats(both, (person) => people.includes(person)),
      empty,
      people.join(' and '),
    )
  }
})

t.test('with seats, as many approvals as are needed are not enough while a seat is empty', async (t) => {
  const terms = { approvals: 2, seats: [seat('security', 1, 'alice', 'eve'), seat('ops', 1, 'bob')] }
  const two = cast(heldUnder(terms), ballot('alice'), ballot('eve')) as Confirmation
  t.equal(two.resolution, null)
  t.equal(approvalsGiven(two), 1, 'the second fills no seat')
  t.match(cast(two, ballot('bob')), { status: 'approved', resolution: { by: person('bob') } })
})

const names = ['alice', 'bob', 'carol', 'dave', 'bot']
const someone = fc.constantFrom(...names)
const anySeats = fc.array(
  fc.record({
    group: fc.constantFrom('g1', 'g2', 'g3'),
    count: fc.integer({ min: 1, max: 2 }),
    members: fc.uniqueArray(someone, { maxLength: 4 }),
  }),
  { maxLength: 3 },
)

/** How many chairs can be filled at most, by trying everything. */
function mostFilled(chairs: string[][], people: string[]): number {
  const [chair, ...rest] = chairs
  if (chair === undefined) return 0
  const left = mostFilled(rest, people)
  return Math.max(
    left,
    ...chair
      .filter((one) => people.includes(one))
      .map(
        (one) =>
          1 +
          mostFilled(
            rest,
            people.filter((other) => other !== one),
          ),
      ),
  )
}

t.test('seats stay empty exactly as many as no placing can fill', async () => {
  fc.assert(
    fc.property(anySeats, fc.uniqueArray(someone), (seats, people) => {
      const chairs = seats.flatMap(({ count, members }) => Array.from({ length: count }, () => members))
      const empty = emptySeats(seats, (person) => people.includes(person))
      return empty.length === chairs.length - mostFilled(chairs, people)
    }),
  )
})

const anyTerms: fc.Arbitrary<Partial<Terms>> = fc.record({
  approvals: fc.integer({ min: 1, max: 3 }),
  seats: anySeats,
  deciders: fc.option(fc.uniqueArray(someone)),
  reasonFor: fc.subarray<Verdict>(['approve', 'deny']),
  mustType: fc.boolean(),
  allowsOwn: fc.boolean(),
})
const anyBallot: fc.Arbitrary<Ballot> = fc.record<Ballot>({
  verdict: fc.constantFrom<Verdict>('approve', 'approve', 'approve', 'deny'),
  by: fc.oneof(someone.map(person), fc.constant(chatLink('-1'))),
  at: fc.integer({ min: 1000, max: 40_000 }),
  via: fc.constantFrom('http', 'page', 'link', 'telegram'),
  reason: fc.option(fc.constant('because')),
  comment: fc.constant(null),
  remember: fc.constant(null),
  typed: fc.option(fc.constantFrom('send_mail', 'other')),
})

t.test('votes of those who are not verified are left out, but what they settled stands', async (t) => {
  const two = heldUnder({ approvals: 2 })
  const once = cast(two, ballot(anyone('olga'))) as Confirmation
  t.equal(approvalsGiven(once), 1)
  t.equal(approvalsGiven(withVerifiedVotes(once)), 0)
  t.match(cast(withVerifiedVotes(once), ballot('oscar')), { resolution: null, votes: [{ by: person('oscar') }] })
  t.match(cast(withVerifiedVotes(once), ballot('olga'), ballot('oscar')), { status: 'approved' })
  const settled = cast(once, ballot('oscar')) as Confirmation
  t.equal(withVerifiedVotes(settled), settled)
  const verified = cast(two, ballot('oscar')) as Confirmation
  t.equal(withVerifiedVotes(verified), verified)
})

t.test('however votes come there is one outcome, and it is the one that they add up to', async () => {
  fc.assert(
    fc.property(anyTerms, fc.array(anyBallot, { maxLength: 15 }), (some, ballots) => {
      const terms = {
        ...some,
        approvals: Math.max(
          some.approvals!,
          some.seats!.reduce((sum, { count }) => sum + count, 0),
        ),
      }
      let current: Confirmation = heldUnder(terms)
      let ended: Confirmation | null = null
      for (const one of ballots.sort((a, b) => a.at - b.at)) {
        const next = castVote(current, one, approvalMs)
        if (isRefusal(next)) {
          if (ended === null && next.refused === 'already_resolved' && one.at < current.deadline) {
            throw new Error('nobody has resolved it')
          }
          continue
        }
        if (ended !== null) throw new Error('a vote was taken after the end')
        if (one.at >= current.deadline) throw new Error('a vote was taken after the deadline')
        if (next.version !== current.version + 1 || next.votes.length !== current.votes.length + 1) {
          throw new Error('a vote is one step')
        }
        if (textOf(one.by) === 'bot' && terms.allowsOwn !== true) throw new Error('the requester has decided')
        if (one.verdict === 'deny' && next.status !== 'denied') throw new Error('a denial did not end it')
        if (next.resolution !== null) ended = next
        current = next
      }
      const voters = current.votes.map(({ by }) => textOf(by))
      if (new Set(voters).size !== voters.length) throw new Error('somebody counts twice')
      const approvers = current.votes.filter(({ verdict }) => verdict === 'approve').map(({ by }) => textOf(by))
      const chairs = terms.seats!.flatMap(({ count, members }) => Array.from({ length: count }, () => members))
      const isEnough = approvers.length >= terms.approvals && mostFilled(chairs, approvers) === chairs.length
      const isDenied = current.votes.some(({ verdict }) => verdict === 'deny')
      const expected = isDenied ? 'denied' : isEnough ? 'approved' : 'pending'
      if (current.status !== expected) throw new Error(`is ${current.status}, not ${expected}`)
      if ((current.execution !== null) !== (expected === 'approved')) throw new Error('claimable without a yes')
    }),
    { numRuns: 2000 },
  )
})

t.test('in whatever order the same people approve, they approve', async () => {
  const seats = [seat('g1', 1, 'alice', 'bob'), seat('g2', 1, 'bob', 'carol'), seat('g3', 1, 'carol', 'dave')]
  fc.assert(
    fc.property(fc.shuffledSubarray(['alice', 'bob', 'carol', 'dave'], { minLength: 4 }), (order) => {
      let current: Confirmation = heldUnder({ approvals: 3, seats })
      for (const by of order) {
        const next = castVote(current, ballot(by), approvalMs)
        if (isRefusal(next)) return current.resolution !== null
        current = next
      }
      return current.status === 'approved'
    }),
  )
})

t.test('an id that the settings allow decides alone, and where no deciders are named; even under its own name', (t) => {
  const by = { kind: 'user', channel: 'telegram', id: '11' } as const
  const seats: Seat[] = [{ group: 'ops', count: 1, members: ['telegram:11'] }]
  t.equal(problemWithVoter(heldUnder(), { by, verdict: 'approve' }), null)
  for (const terms of [{ deciders: ['telegram:11'] }, { deciders: [] }, { seats }, { approvals: 2 }]) {
    for (const verdict of ['approve', 'deny'] as const) {
      t.match(problemWithVoter(heldUnder(terms), { by, verdict }), { refused: 'not_a_decider', sentence: /people set/ })
    }
  }
  t.end()
})
