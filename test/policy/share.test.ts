// Shares: never more than the bound, never more than a share for one, and all is given back.
import fc from 'fast-check'
import t from 'tap'
import { createShare } from '../../src/policy/share.js'

t.test('one who has used up their share is refused, and another still finds room', async (t) => {
  const { take, taken } = createShare({ total: 4, each: 2 })
  const first = take('bot')
  take('bot')
  t.equal(take('bot'), 'share')
  t.type(take('other', 2), 'function')
  t.equal(take('third'), 'bound')
  if (typeof first !== 'function') return t.fail('there was room')
  first()
  first()
  t.equal(taken(), 3, 'a place is given back once')
  t.type(take('bot'), 'function')
})

t.test('everybody in open mode has the whole bound', async (t) => {
  const { take } = createShare({ total: 4, each: 2 })
  t.type(take(null, 4), 'function')
  t.equal(take(null), 'bound')
})

t.test('whatever is taken and given back, neither bound nor share is passed', async () => {
  const step = fc.record({
    who: fc.constantFrom('a', 'b', 'c', null),
    size: fc.integer({ min: 1, max: 4 }),
    gives: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { take, taken } = createShare({ total: 10, each: 4 })
      const held: { who: string | null; size: number; release: () => void }[] = []
      const sum = (who?: string | null) =>
        held.reduce((all, one) => all + (who === undefined || one.who === who ? one.size : 0), 0)
      for (const { who, size, gives } of steps) {
        if (gives) held.shift()?.release()
        const fits = sum() + size <= 10 && (who === null || sum(who) + size <= 4)
        const release = take(who, size)
        if ((typeof release === 'function') !== fits) return false
        if (typeof release === 'function') held.push({ who, size, release })
        if (taken() !== sum()) return false
      }
      held.forEach(({ release }) => release())
      return taken() === 0
    }),
  )
})
