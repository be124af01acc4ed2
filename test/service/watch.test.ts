// The bell: no ring between listening and sleeping is lost, and nobody sleeps for nothing.
import t from 'tap'
import type { Commits, Store } from '../../src/store/store.js'
import { anyConfirmation, createWatch } from '../../src/service/watch.js'
import { manualClock } from '../support.js'

function setUp() {
  const clock = manualClock()
  let tell = (_commits: Commits) => {}
  const store = {
    follow(listener: typeof tell) {
      tell = listener
      return () => {}
    },
  } as unknown as Store
  const watch = createWatch(store, clock)
  const happen = (confirmationId: string | null, changed: Commits['changed'] = []) => {
    tell({ firstSeq: 1, lastSeq: 1, about: confirmationId === null ? [] : [confirmationId], changed })
  }
  return { clock, watch, happen }
}

t.test('a ring after the hush keeps whoever looked from sleeping', async (t) => {
  const { watch, happen } = setUp()
  const bell = watch.listen('c1')
  bell.hush()
  happen('c1')
  t.equal(await bell.sleep(1000), true)
})

t.test('a ring wakes the one who sleeps; about something else it does not', async (t) => {
  const { clock, watch, happen } = setUp()
  const bell = watch.listen('c1')
  const sleeping = bell.sleep(1000)
  happen('c2')
  happen(null)
  await clock.advance(1000)
  t.equal(await sleeping, false, 'the time was over')
  const again = bell.sleep(1000)
  happen('c1')
  t.equal(await again, true)
})

t.test('whoever listens to everything hears everything', async (t) => {
  const { watch, happen } = setUp()
  const bell = watch.listen(null)
  for (const about of ['c1', null]) {
    bell.hush()
    const sleeping = bell.sleep(1000)
    happen(about)
    t.equal(await sleeping, true)
  }
})

t.test('an ended bell gives up its place once, wakes its sleeper and never sleeps again', async (t) => {
  const { watch } = setUp()
  const [bell, other] = [watch.listen('c1'), watch.listen('c1')]
  const all = watch.listen(null)
  t.same(watch.count(), { one: 2, all: 1 })
  const sleeping = bell.sleep(1000)
  bell.end()
  bell.end()
  t.equal(await sleeping, false)
  t.ok(bell.isOver())
  t.equal(await bell.sleep(1000), false)
  t.same(watch.count(), { one: 1, all: 1 })
  t.notOk(other.isOver())
  other.end()
  all.end()
  t.same(watch.count(), { one: 0, all: 0 })
})

t.test('when it stops, everybody wakes and nobody sleeps any more', async (t) => {
  const { watch } = setUp()
  const bells = [watch.listen('c1'), watch.listen(null)]
  const sleeping = bells.map((bell) => bell.sleep(1000))
  watch.stop()
  await Promise.all(sleeping)
  for (const bell of [...bells, watch.listen('c2')]) {
    t.ok(bell.isOver())
    await bell.sleep(1000)
  }
})

t.test('no time to sleep is no sleep', async (t) => {
  const { watch } = setUp()
  t.equal(await watch.listen('c1').sleep(0), false)
  t.equal(await watch.listen('c1').sleep(-5), false)
})

t.test('who listens to any confirmation is woken when one changes, and by nothing else', async (t) => {
  const { clock, watch, happen } = setUp()
  const bell = watch.listen(anyConfirmation)
  t.same(watch.count(), { one: 1, all: 0 })
  const sleeping = bell.sleep(1000)
  happen('c1')
  happen(null, [{ kind: 'grant', id: 'g1' }])
  await clock.advance(1000)
  t.equal(await sleeping, false)
  const again = bell.sleep(1000)
  happen('c2', [{ kind: 'confirmation', id: 'c2' }])
  t.equal(await again, true)
})
