import fc from 'fast-check'
import t from 'tap'
import { SlidingWindow } from '../../src/policy/window.js'

/** A window with one limit. */
function limited(max: number, windowMs: number) {
  const window = new SlidingWindow(windowMs)
  const limit = { max, windowMs }
  return {
    take: (key: string, now: number) => window.take(key, now, limit),
    peek: (key: string, now: number) => window.peek(key, now, limit),
    size: () => window.size,
  }
}

t.test('the window lets N through and refuses the next until the oldest leaves', async (t) => {
  const window = limited(2, 1000)
  t.same(window.take('a', 0), { allowed: true, remaining: 1, resetMs: 1000 })
  t.same(window.take('a', 400), { allowed: true, remaining: 0, resetMs: 600 })
  t.same(window.take('a', 999), { allowed: false, remaining: 0, resetMs: 1 })
  t.same(window.take('a', 1000), { allowed: true, remaining: 0, resetMs: 400 })
})

t.test('several slots are taken together or not at all', async (t) => {
  const window = new SlidingWindow(1000)
  const limit = { max: 5, windowMs: 1000 }
  t.match(window.take('a', 0, limit, 3), { allowed: true, remaining: 2, resetMs: 1000 })
  t.match(window.take('a', 100, limit, 3), { allowed: false, remaining: 2, resetMs: 900 })
  t.match(window.take('a', 200, limit, 2), { allowed: true, remaining: 0 })
  t.match(window.take('a', 300, limit, 4), { allowed: false, remaining: 0, resetMs: 900 }, 'when all of them are free')
  t.match(window.take('a', 300, limit, 0), { allowed: true, remaining: 0 })
  t.match(window.take('a', 1000, limit, 3), { allowed: true, remaining: 0 })
  t.match(window.take('b', 0, limit, 6), { allowed: false, remaining: 5 })
})

t.test('keys are independent of each other', async (t) => {
  const window = limited(1, 1000)
  t.ok(window.take('a', 0).allowed)
  t.ok(window.take('b', 0).allowed)
  t.notOk(window.take('a', 1).allowed)
})

t.test('looking takes nothing', async (t) => {
  const window = limited(1, 1000)
  t.same(window.peek('a', 0), { allowed: true, remaining: 1, resetMs: 0 })
  t.ok(window.take('a', 0).allowed)
  t.notOk(window.peek('a', 1).allowed)
})

t.test('keys nobody uses any more are forgotten', async (t) => {
  const window = limited(3, 1000)
  for (let i = 0; i < 1000; i++) window.take(`key-${i}`, i)
  for (let i = 0; i < 600; i++) window.take('other', 5000 + i * 1000)
  t.equal(window.size(), 1)
})

t.test('it agrees with counting every hit of the last window, whatever comes', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b'),
    wait: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
      const window = limited(max, 1000)
      const hits: Record<string, number[]> = { a: [], b: [] }
      let now = 0
      for (const { key, wait } of steps) {
        now += wait
        const recent = hits[key]!.filter((at) => at > now - 1000)
        const expected = recent.length < max
        const { allowed, remaining, resetMs } = window.take(key, now)
        if (allowed !== expected) throw new Error(`at ${now}: ${allowed}, but ${recent.length} of ${max} are taken`)
        if (!allowed && resetMs !== recent[0]! + 1000 - now) throw new Error(`reset in ${resetMs}`)
        if (remaining !== Math.max(0, max - recent.length - (allowed ? 1 : 0)))
          throw new Error(`remaining ${remaining}`)
        if (allowed) hits[key]!.push(now)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('several limits on one key each count their own window', async (t) => {
  const window = new SlidingWindow(10_000)
  const short = { max: 2, windowMs: 1000 }
  const long = { max: 3, windowMs: 10_000 }
  t.ok(window.take('a', 0, short).allowed)
  t.ok(window.take('a', 100, short).allowed)
  t.notOk(window.take('a', 200, short).allowed)
  t.same(window.peek('a', 200, long), { allowed: true, remaining: 1, resetMs: 9800 })
  t.same(
    window.take('a', 1050, short),
    { allowed: true, remaining: 0, resetMs: 50 },
    'the first has left the short one',
  )
  t.same(window.take('a', 5000, long), { allowed: false, remaining: 0, resetMs: 5000 }, 'and not the long one')
})

t.test('keys beyond ten thousand share one window, until others are idle', async (t) => {
  const window = new SlidingWindow(1000)
  const limit = { max: 2, windowMs: 1000 }
  for (let i = 0; i < 10_000; i++) window.take(`key ${i}`, 0, limit)
  t.ok(window.take('one more', 0, limit).allowed)
  t.ok(window.take('another', 0, limit).allowed)
  t.notOk(window.take('a third', 0, limit).allowed)
  t.ok(window.take('key 1', 0, limit).allowed, 'who has one keeps it')
  t.equal(window.size, 10_001)
  t.ok(window.take('a third', 2000, limit).allowed)
})
