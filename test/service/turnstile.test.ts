// The turnstile: everybody's work is done, in order, and no turn of the event loop lasts long.
import t from 'tap'
import { createTurnstile } from '../../src/service/turnstile.js'

t.test('the work of one who comes alone is done at once', async (t) => {
  const { run } = createTurnstile()
  let done = false
  const working = run(async () => {
    done = true
    return 'x'
  })
  t.ok(done)
  t.equal(await working, 'x')
})

t.test('of a crowd some get their turn, in order, until all have', async (t) => {
  let time = 0
  const { run } = createTurnstile(() => time)
  const order: number[] = []
  const turns: number[] = []
  const crowd = Array.from({ length: 20 }, (_, index) =>
    run(async () => {
      // Each takes a millisecond.
      time += 1
      order.push(index)
    }),
  )
  turns.push(order.length)
  while (order.length < 20) {
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(order.length)
  }
  await Promise.all(crowd)
  t.same(
    order,
    Array.from({ length: 20 }, (_, index) => index),
  )
  t.same(turns, [4, 8, 12, 16, 20])
})

t.test('what somebody does once it is their turn counts for that turn, until they pause', async (t) => {
  let time = 0
  const { wait } = createTurnstile(() => time)
  t.equal(wait(null), null)
  time += 4
  let done = 0
  const crowd = Array.from({ length: 6 }, async () => {
    await wait(null)
    // As an answer that is read, rendered and written out.
    for (let step = 0; step < 4; step++) await Promise.resolve()
    time += 3
    done += 1
  })
  const turns: number[] = []
  while (done < 6) {
    const before = done
    await new Promise((resolve) => setImmediate(resolve))
    if (done > before) turns.push(done - before)
  }
  await Promise.all(crowd)
  t.same(turns, [2, 2, 2])
})

t.test('one who comes later does not overtake those who wait', async (t) => {
  let time = 0
  const { run } = createTurnstile(() => time)
  const order: string[] = []
  const work = (name: string) => run(async () => void order.push(name))
  await work('first')
  time = 100
  const waiting = [work('second'), work('third')]
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([...waiting, work('fourth')])
  t.same(order, ['first', 'second', 'third', 'fourth'])
})

t.test('work that fails fails for whoever wanted it, and for nobody else', async (t) => {
  let time = 0
  const { run } = createTurnstile(() => time)
  await run(async () => {})
  time = 100
  const failing = run(() => Promise.reject(new Error('broken')))
  const fine = run(async () => 'fine')
  await t.rejects(failing, { message: 'broken' })
  t.equal(await fine, 'fine')
})

t.test('work gives way to those who connect, for as long as its last turn took, and then goes on', async (t) => {
  let time = 0
  const { run, giveWay } = createTurnstile(() => time)
  const order: number[] = []
  const crowd = Array.from({ length: 6 }, (_, index) =>
    run(async () => {
      time += 10
      order.push(index)
    }),
  )
  const turns: number[] = []
  while (order.length < 6) {
    // One in each turn of the event loop, without end.
    giveWay()
    time += 2
    await new Promise((resolve) => setImmediate(resolve))
    turns.push(order.length)
  }
  await Promise.all(crowd)
  const worked = turns.flatMap((count, turn) => (turn > 0 && count > turns[turn - 1]! ? turn : []))
  t.equal(worked.length, 5, 'each of them gets its turn')
  for (const [index, turn] of worked.slice(1).entries()) t.ok(turn - worked[index]! >= 5, 'after five others')
})

t.test('when nobody comes any more, work goes on at once', async (t) => {
  let time = 0
  const { run, giveWay } = createTurnstile(() => time)
  let done = 0
  const crowd = Array.from({ length: 3 }, () =>
    run(async () => {
      time += 10
      done += 1
    }),
  )
  giveWay()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  t.equal(done, 1)
  await turn()
  t.equal(done, 2)
  await turn()
  t.equal(done, 3)
  await Promise.all(crowd)
})

t.test('requesters take turns: a crowd of one delays nobody else', async (t) => {
  let time = 0
  const { run } = createTurnstile(() => time)
  const order: string[] = []
  const ask = (who: string | null, times: number) =>
    Array.from({ length: times }, (_, index) =>
      run(async () => {
        time += 4
        order.push(`${who} ${index + 1}`)
      }, who),
    )
  await Promise.all([...ask('bot', 5), ...ask('other', 2), ...ask(null, 1)])
  t.same(order, ['bot 1', 'bot 2', 'other 1', 'null 1', 'bot 3', 'other 2', 'bot 4', 'bot 5'])
})
