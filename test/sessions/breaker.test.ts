import t from 'tap'
import { defaultBreaker } from '../../src/policy/policy.js'
import { failInSession, failOfRequester, noStreak, type Step, type Streak } from '../../src/sessions/breaker.js'

type Count = typeof failInSession

/** So many failures, each of a request that was submitted just before. */
function failing(count: number, fail: Count, breaker = defaultBreaker, from: Streak = noStreak) {
  const steps: [failures: number, Step][] = []
  let streak = from
  for (let n = 1; n <= count; n++) {
    const now = 1000 * (streak.failures + 1)
    const failed = fail(streak, now - 1, breaker, now)
    streak = failed.streak
    if (failed.step !== null) steps.push([streak.failures, failed.step])
  }
  return { streak, steps }
}

t.test('at the third, the sixth and the ninth there is a step, then at each', async (t) => {
  const { streak, steps } = failing(11, failInSession)
  t.same(steps, [
    [3, 'warn'],
    [6, 'wait'],
    [9, 'suspend'],
    [10, 'suspend'],
    [11, 'suspend'],
  ])
  t.match(streak, { failures: 11, steps: 3, waitsUntil: 6000 + defaultBreaker.waitMs })
})

t.test('a step that is off is passed over', async (t) => {
  t.same(failing(9, failInSession, { ...defaultBreaker, warnAt: 0 }).steps, [
    [6, 'wait'],
    [9, 'suspend'],
  ])
  t.same(failing(9, failInSession, { ...defaultBreaker, warnAt: 0, waitAt: 0, suspendAt: 0 }).steps, [])
  t.same(failing(2, failInSession, { ...defaultBreaker, warnAt: 0, waitAt: 0, suspendAt: 1 }).steps, [
    [1, 'suspend'],
    [2, 'suspend'],
  ])
})

t.test('what was submitted before a step leads to no further one, but counts', async (t) => {
  const { streak: warned } = failing(3, failInSession)
  let streak = warned
  for (let n = 0; n < 7; n++) {
    const failed = failInSession(streak, warned.steppedAt - 1, defaultBreaker, 9000)
    t.equal(failed.step, null)
    streak = failed.streak
  }
  t.match(streak, { failures: 10, steps: 1 })
  const next = failInSession(streak, 9001, defaultBreaker, 9002)
  t.match(next, { step: 'wait', streak: { failures: 11, steps: 2 } }, 'one step at a time')
  t.match(failInSession(next.streak, 9003, defaultBreaker, 9004), { step: 'suspend' })
})

t.test('a requester waits each time that there are as many more', async (t) => {
  t.same(failing(18, failOfRequester).steps, [
    [6, 'wait'],
    [12, 'wait'],
    [18, 'wait'],
  ])
  t.same(failing(18, failOfRequester, { ...defaultBreaker, waitAt: 0 }).steps, [])
  const { streak } = failing(6, failOfRequester)
  t.match(failOfRequester(streak, 0, { ...defaultBreaker, waitAt: 1 }, 9000), { step: null })
})
