// The gate before a destination: how many go at once, and in which order.
import t from 'tap'
import { createGate } from '../../src/notify/gate.js'
import { settled } from '../support.js'

/** Ends when it is told. */
function held() {
  let end = (_error?: Error) => {}
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error))
  })
  return { ended, end }
}

t.test('so many go at once, the others in the order in which they came', async (t) => {
  const gate = createGate(2)
  const began: number[] = []
  const all = Array.from({ length: 5 }, held)
  const passing = all.map(({ ended }, n) =>
    gate.pass(async () => {
      began.push(n)
      await ended
      return n
    }),
  )
  await settled()
  t.same(began, [0, 1])
  all[1]!.end()
  await settled()
  t.same(began, [0, 1, 2])
  for (const { end } of all) end()
  t.same(await Promise.all(passing), [0, 1, 2, 3, 4])
  t.same(began, [0, 1, 2, 3, 4])
})

t.test('one that fails makes room, and fails for itself alone', async (t) => {
  const gate = createGate(1)
  const first = held()
  const failing = gate.pass(() => first.ended)
  const next = gate.pass(() => Promise.resolve('next'))
  first.end(new Error('no'))
  await t.rejects(failing, { message: 'no' })
  t.equal(await next, 'next')
})
