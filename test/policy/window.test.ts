import fc from 'fast-check'
import t from 'tap'
import { SlidingWindow } from '../../src/policy/window.js'

t.test('the window lets N through and refuses the next until the oldest leaves', async (t) => {
  const window = new SlidingWindow(2, 1000)
  t.same(window.take('a', 0), { allowed: true, remaining: 1, resetMs: 1000 })
  t.same(window.take('a', 400), { allowed: true, remaining: 0, resetMs: 600 })
  t.same(window.take('a', 999), { allowed: false, remaining: 0, resetMs: 1 })
  t.same(window.take('a', 1000), { allowed: true, remaining: 0, resetMs: 400 })
})

t.test('keys are independent of each other', async (t) => {
  const window = new SlidingWindow(1, 1000)
  t.ok(window.take('a', 0).allowed)
  t.ok(window.take('b', 0).allowed)
  t.notOk(window.take('a', 1).allowed)
})

t.test('looking takes nothing, and a slot that came to nothing is free again', async (t) => {
  const window = new SlidingWindow(1, 1000)
  t.same(window.peek('a', 0), { allowed: true, remaining: 1, resetMs: 0 })
  t.ok(window.take('a', 0).allowed)
  t.notOk(window.peek('a', 1).allowed)
  window.giveBack('a', 0)
  t.ok(window.take('a', 1).allowed)
  window.giveBack('b', 0)
  window.giveBack('a', 999)
  t.notOk(window.take('a', 2).allowed, 'what was never taken cannot be given back')
})

t.test('keys nobody uses any more are forgotten', async (t) => {
  const window = new SlidingWindow(3, 1000)
  for (let i = 0; i < 1000; i++) window.take(`key-${i}`, i)
  for (let i = 0; i < 600; i++) window.take('other', 5000 + i * 1000)
  t.equal(window.size, 1)
})

t.test('it agrees with counting every hit of the last window, whatever comes', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b'),
    wait: fc.integer({ min: 0, max: 400 }),
    fails: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
      const window = new SlidingWindow(max, 1000)
      const hits: Record<string, number[]> = { a: [], b: [] }
      let now = 0
      for (const { key, wait, fails } of steps) {
        now += wait
        const recent = hits[key]!.filter((at) => at > now - 1000)
        const expected = recent.length < max
        const { allowed, remaining, resetMs } = window.take(key, now)
        if (allowed !== expected) throw new Error(`at ${now}: ${allowed}, but ${recent.length} of ${max} are taken`)
        if (!allowed && resetMs !== recent[0]! + 1000 - now) throw new Error(`reset in ${resetMs}`)
        if (remaining !== Math.max(0, max - recent.length - (allowed ? 1 : 0)))
          throw new Error(`remaining ${remaining}`)
        if (allowed && fails) window.giveBack(key, now)
        else if (allowed) hits[key]!.push(now)
      }
    }),
    { numRuns: 500 },
  )
})
