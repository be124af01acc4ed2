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
  t.match(streak, { failures: 11, steps: 4, waitsUntil: 6000 + defaultBreaker.waitMs })
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

t.test('without suspension it waits each time that there are as many more', async (t) => {
  t.same(failing(18, failInSession, { ...defaultBreaker, suspendAt: 0 }).steps, [
    [3, 'warn'],
    [6, 'wait'],
    [12, 'wait'],
    [18, 'wait'],
  ])
})

t.test('what was submitted before a step leads to no further one, but counts', async (t) => {
  let streak: Streak = noStreak
  const steps: (Step | null)[] = []
  // All were submitted at once, and are denied one after the other.
  for (let n = 0; n < 50; n++) {
    const failed = failInSession(streak, 1000, defaultBreaker, 2000 + n)
    steps.push(failed.step)
    streak = failed.streak
  }
  t.same(steps.slice(0, 6), [null, null, 'warn', null, null, 'wait'], 'a warning alone protects nothing')
  t.same(new Set(steps.slice(6)), new Set([null]))
  t.match(streak, { failures: 50, steps: 1 })
  t.match(failInSession(streak, 9000, defaultBreaker, 9001), { step: 'suspend', streak: { failures: 51 } })
})

t.test('the numbers of the rule that governs the latest count, whatever those before it said', async (t) => {
  const never = { ...defaultBreaker, warnAt: 0, waitAt: 0, suspendAt: 0 }
  const { streak, steps } = failing(8, failInSession, never)
  t.same(steps, [])
  t.match(failInSession(streak, 9000, { ...defaultBreaker, suspendAt: 4 }, 9001), { step: 'suspend' })
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
