// Shares: never more than the bound, never more than a share for one, and all is given back.
import fc from 'fast-check'
import t from 'tap'
import { createShare, type Lack, type Limits, shares } from '../../src/policy/share.js'

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

// -- waiting for room ---------------------------------------------------------------------------------------------------

/** What was let in, in this order. */
function watched(limits: Limits, waiting?: Limits) {
  const share = createShare(limits, waiting)
  const entered: string[] = []
  const queue = (who: string | null, size: number, name: string) => share.queue(who, size, () => entered.push(name))
  return { ...share, entered, queue }
}

function leave(place: (() => void) | Lack): void {
  if (typeof place === 'function') place()
}

t.test('who finds no room waits behind their own, and nobody waits behind another', async (t) => {
  const { queue, entered, queued, taken } = watched({ total: 4, each: 2 })
  const first = queue('bot', 2, 'bot 1')
  const gone = queue('bot', 2, 'bot 2')
  queue('bot', 1, 'bot 3')
  queue('other', 2, 'other 1')
  t.same(entered, ['bot 1', 'other 1'])
  t.equal(queued(), 2)
  leave(gone)
  leave(gone)
  t.equal(queued(), 1)
  leave(first)
  t.same(entered, ['bot 1', 'other 1', 'bot 3'])
  t.same([queued(), taken()], [0, 3])
})

t.test(
  'when the bound for all is reached, one of each is let in by turns, and what is large is not passed',
  async (t) => {
    const { queue, entered } = watched({ total: 4, each: 4 })
    const held = [queue('a', 2, 'a 1'), queue('a', 2, 'a 2')]
    queue('a', 2, 'a 3')
    queue('b', 4, 'b 1')
    queue('c', 1, 'c 1')
    held.forEach(leave)
    t.same(entered, ['a 1', 'a 2', 'a 3'], 'b needs all there is, and c came after it')
  },
)

t.test('only so many wait; in open mode all are one and have the whole queue', async (t) => {
  const { queue } = watched({ total: 1, each: 1 }, { total: 3, each: 2 })
  for (const name of ['1', '2', '3']) queue('bot', 1, name)
  t.equal(queue('bot', 1, '4'), 'share')
  t.type(queue('other', 1, '1'), 'function')
  t.equal(queue('third', 1, '1'), 'bound')
  const open = watched({ total: 2, each: 1 }, { total: 3, each: 1 })
  for (const name of ['1', '2', '3', '4', '5']) t.type(open.queue(null, 1, name), 'function')
  t.equal(open.queue(null, 1, '6'), 'bound')
  t.same(open.entered, ['1', '2'])
})

t.test('what is larger than a share is let in when the whole of it is free', async (t) => {
  const { queue, entered } = watched({ total: 8, each: 2 })
  const first = queue('bot', 1, 'small')
  queue('bot', 5, 'large')
  t.same(entered, ['small'])
  leave(first)
  t.same(entered, ['small', 'large'])
})

t.test('whatever comes and goes, nobody has too much, all get in, and each in their own order', async () => {
  const step = fc.record({
    who: fc.constantFrom('a', 'b', 'c', null),
    size: fc.integer({ min: 1, max: 5 }),
    leaves: fc.nat({ max: 3 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const share = createShare({ total: 10, each: 4 })
      const present: { who: string | null; size: number; end: () => void }[] = []
      const entered = new Map<string | null, number[]>()
      let isKept = true
      const end = () => present.shift()?.end()
      steps.forEach(({ who, size, leaves }, number) => {
        const needed = Math.min(size, who === null ? 10 : 4)
        let isIn = false
        let place: (() => void) | Lack = 'share'
        const one = { who, size: needed, end: () => leave(place) }
        place = share.queue(who, size, () => {
          isIn = true
          present.push(one)
          entered.set(who, [...(entered.get(who) ?? []), number])
        })
        isKept &&= typeof place === 'function' && (isIn || share.queued() > 0)
        for (let i = 0; i < leaves; i++) end()
        const sum = (of?: string | null) =>
          present.reduce((all, { who, size }) => all + (of === undefined || who === of ? size : 0), 0)
        isKept &&= sum() === share.taken() && sum() <= 10 && ['a', 'b', 'c'].every((name) => sum(name) <= 4)
      })
      while (present.length > 0) end()
      const all = [...entered.values()]
      isKept &&= all.flat().length === steps.length && share.queued() === 0 && share.taken() === 0
      return isKept && all.every((numbers) => numbers.every((number, at) => at === 0 || numbers[at - 1]! < number))
    }),
  )
})

t.test('the share of one is a quarter of the bound', async (t) => {
  for (const [name, { total, each }] of Object.entries<{ total: unknown; each: unknown }>(shares)) {
    if (typeof total === 'number') t.equal(each, total / 4, name)
  }
})
