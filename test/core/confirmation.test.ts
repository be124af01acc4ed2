import fc from 'fast-check'
import t from 'tap'
import { asOf, hold, isLapsed, resolve, statusOf } from '../../src/core/confirmation.js'
import type { Confirmation, Outcome, Resolution } from '../../src/core/model.js'
import { isRefusal } from '../../src/core/refusal.js'

const submission = {
  action: 'send_mail',
  description: 'd',
  details: '{}',
  requester: 'agent',
  sessionKey: '',
  timeoutSeconds: 30,
}
const held = hold(submission, 'c1', 1000)
const answer = (status: Outcome, at: number): Resolution => ({ status, by: 'alice', at, via: 'http', reason: null })

t.test('a held confirmation is pending until its deadline', async (t) => {
  t.equal(held.deadline, 31_000)
  t.equal(statusOf(held), 'pending')
  t.equal(isLapsed(held, 30_999), false)
  t.equal(isLapsed(held, 31_000), true)
})

t.test('at its deadline it is expired, whether or not anybody has written that down', async (t) => {
  t.equal(asOf(held, 30_999), held)
  t.match(asOf(held, 99_000).resolution, { status: 'expired', by: 'system:timeout', at: 31_000, via: 'system' })
})

t.test('one that claims to come from the future has an unknown age and counts as lapsed', async (t) => {
  t.equal(isLapsed(held, 999), true)
  t.match(asOf(held, 999).resolution, { status: 'expired', at: 1000 })
})

t.test('the last millisecond before the deadline still decides, the deadline itself does not', async (t) => {
  t.notOk(isRefusal(resolve(held, answer('approved', 30_999))))
  const late = resolve(held, answer('approved', 31_000))
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
      let first: Resolution | null = null
      for (const { status, at } of attempts.sort((a, b) => a.at - b.at)) {
        const next = resolve(current, answer(status, at))
        if (isRefusal(next)) {
          const stands = first?.status ?? 'expired'
          if (next.extra.status !== stands) throw new Error(`names ${String(next.extra.status)}, but ${stands} stands`)
          continue
        }
        if (first !== null) throw new Error('resolved twice')
        if (at >= held.deadline) throw new Error('resolved after its deadline')
        first = next.resolution
        current = next
      }
    }),
  )
})
