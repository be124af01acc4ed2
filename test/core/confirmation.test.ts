import fc from 'fast-check'
import t from 'tap'
import { asOf, claim, dueAt, hold, report, resolve } from '../../src/core/confirmation.js'
import type { Confirmation, Outcome, Resolution } from '../../src/core/model.js'
import { isRefusal, type Refusal } from '../../src/core/refusal.js'
import { person } from '../actors.js'
import { submissionOf } from '../submission.js'

const submission = submissionOf({ requester: 'agent' })
/** How long an approval may be claimed, and an act may take. */
const [approvalMs, reportMs] = [900, 5000]
const held = hold(submission, 'c1', 1000)
const answer = (at: number): Resolution => ({ by: person('alice'), at, via: 'http', reason: null })
const end = (of: Confirmation, status: Outcome, at: number) => resolve(of, status, answer(at), approvalMs)

t.test('a held confirmation is pending until its deadline', async (t) => {
  t.equal(held.deadline, 31_000)
  t.equal(held.status, 'pending')
  t.equal(dueAt(held), 31_000)
  t.equal(asOf(held, 30_999).status, 'pending')
  t.equal(asOf(held, 31_000).status, 'expired')
})

t.test('at its deadline it is expired, whether or not that is recorded', async (t) => {
  t.equal(asOf(held, 30_999), held)
  const resolution = { by: { kind: 'system', part: 'timeout' }, at: 31_000, via: 'system' }
  t.match(asOf(held, 99_000), { status: 'expired', resolution })
})

t.test('one that claims to come from the future has an unknown age and counts as expired', async (t) => {
  t.match(asOf(held, 999), { status: 'expired', resolution: { at: 1000 } })
})

t.test('the last millisecond before the deadline still decides, the deadline itself does not', async (t) => {
  t.notOk(isRefusal(end(held, 'approved', 30_999)))
  const late = end(held, 'approved', 31_000)
  t.match(late, { refused: 'already_resolved', extra: { status: 'expired', resolved_by: 'system:timeout' } })
})

t.test('whatever is tried, the first resolution stands for ever', async () => {
  const attempt = fc.record({
    status: fc.constantFrom<Outcome>('approved', 'denied', 'cancelled', 'auto_approved'),
    at: fc.integer({ min: 1000, max: 60_000 }),
  })
  fc.assert(
    fc.property(fc.array(attempt, { minLength: 1, maxLength: 20 }), (attempts) => {
      let current: Confirmation = held
      let first: Outcome | null = null
      for (const { status, at } of attempts.sort((a, b) => a.at - b.at)) {
        const next = end(current, status, at)
        if (isRefusal(next)) {
          const stands = first ?? 'expired'
          if (next.extra.status !== stands) throw new Error(`names ${String(next.extra.status)}, but ${stands} stands`)
          continue
        }
        if (first !== null) throw new Error('resolved twice')
        if (at >= held.deadline) throw new Error('resolved after its deadline')
        first = next.status
        current = next
      }
    }),
  )
})

const approved = end(held, 'approved', 2000) as Confirmation

t.test('only a yes can be claimed', async (t) => {
  t.match(claim(held, null, 1500, reportMs), { refused: 'not_approved', extra: { status: 'pending' } })
  for (const status of ['denied', 'cancelled'] as const) {
    const no = end(held, status, 2000) as Confirmation
    t.equal(no.execution, null)
    t.match(claim(no, null, 2001, reportMs), { refused: 'not_approved', extra: { status } })
    t.equal(dueAt(no), null)
  }
  t.match(claim(held, null, 31_000, reportMs), { refused: 'not_approved', extra: { status: 'expired' } })
  const automatic = end(held, 'auto_approved', 2000) as Confirmation
  t.match(claim(automatic, null, 2001, reportMs), { execution: { state: 'claimed', claimedAt: 2001, reportBy: 7001 } })
})

t.test('an approval is good until its last millisecond, and for what was approved', async (t) => {
  t.equal(dueAt(approved), 2900)
  t.match(claim(approved, null, 2900, reportMs), { refused: 'approval_expired', extra: { status: 'approved' } })
  t.match(claim(approved, held.digest.replace(/^./, 'x'), 2899, reportMs), { refused: 'digest_mismatch' })
  t.match(claim(approved, held.digest, 2899, reportMs), { execution: { state: 'claimed' }, version: 3 })
})

t.test('an approval from the future has an unknown age and is not good', async (t) => {
  t.match(claim(approved, null, 1999, reportMs), { refused: 'approval_expired' })
})

t.test('a report needs a claim, may be late, and stands', async (t) => {
  t.match(report(held, 'succeeded', null, 1500), { refused: 'not_claimed' })
  t.match(report(approved, 'succeeded', null, 2500), { refused: 'not_claimed' })
  t.match(report(asOf(approved, 9000), 'succeeded', null, 9000), { refused: 'not_claimed' })
  const claimed = claim(approved, null, 2100, reportMs) as Confirmation
  t.equal(dueAt(claimed), 7100)
  t.match(asOf(claimed, 7099).execution, { state: 'claimed' })
  const late = asOf(claimed, 7100)
  t.match(late.execution, { state: 'unreported', claimedAt: 2100 })
  t.equal(dueAt(late), null)
  const reported = report(late, 'failed', 'disk full', 8000) as Confirmation
  t.match(reported.execution, { state: 'failed', reportedAt: 8000, message: 'disk full' })
  t.match(report(reported, 'succeeded', null, 8001), { refused: 'already_reported', extra: { outcome: 'failed' } })
  t.match(claim(reported, null, 8001, reportMs), { refused: 'already_claimed' })
})

t.test(
  'whatever is tried in whatever order, an approval is claimed once at most, in time, and for its digest',
  async () => {
    const step = fc.record({
      what: fc.constantFrom('approve', 'deny', 'claim', 'claim the wrong thing', 'report', 'sweep'),
      after: fc.integer({ min: 0, max: 700 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let current: Confirmation = held
        let now = 1000
        let claims = 0
        for (const { what, after } of steps) {
          now += after
          const next: Confirmation | Refusal =
            what === 'approve' || what === 'deny'
              ? end(current, what === 'approve' ? 'approved' : 'denied', now)
              : what === 'claim'
                ? claim(current, current.digest, now, reportMs)
                : what === 'claim the wrong thing'
                  ? claim(current, '0'.repeat(64), now, reportMs)
                  : what === 'report'
                    ? report(current, 'succeeded', null, now)
                    : asOf(current, now)
          if (isRefusal(next)) continue
          if (what === 'claim the wrong thing') throw new Error('claimed something else')
          if (what === 'claim') {
            claims += 1
            if (current.status !== 'approved') throw new Error('claimed without a yes')
            if (now >= current.resolution.at + approvalMs) throw new Error('claimed too late')
          }
          if (what === 'report' && claims !== 1) throw new Error('reported without a claim')
          current = next
        }
        if (claims > 1) throw new Error('claimed twice')
      }),
    )
  },
)
