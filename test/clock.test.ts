import t from 'tap'
import { createAlarm, systemClock, systemTimeZone } from '../src/clock.js'
import { manualClock, settled, until } from './support.js'

t.test('the clock follows the system clock forwards and never runs back', async (t) => {
  let wall = 1_000_000
  let monotonic = 0
  const clock = systemClock(
    () => wall,
    () => monotonic,
  )
  t.equal(clock.now(), 1_000_000)
  wall += 500
  monotonic += 500
  t.equal(clock.now(), 1_000_500)
  wall += 3_600_000
  t.equal(clock.now(), 4_600_500, 'a suspended machine wakes up later')
  wall -= 7_200_000
  t.equal(clock.now(), 4_600_500, 'set back: it stands')
  monotonic += 2000
  t.equal(clock.now(), 4_602_500, 'and goes on at the monotonic pace')
})

t.test('a sleeper wakes when the system clock jumps past its time', async (t) => {
  let wall = Date.now()
  const clock = systemClock(() => wall)
  let rang = false
  const callOff = clock.wake(wall + 3_600_000, () => (rang = true))
  t.teardown(callOff)
  wall += 4_000_000
  await until(() => rang)
  t.pass('woken within the longest sleep')
})

t.test('an alarm rings at the earliest time asked for, and again when it asks to', async (t) => {
  const clock = manualClock(0)
  const rings: number[] = []
  const alarm = createAlarm(clock, async () => {
    rings.push(clock.now())
    return rings.length === 1 ? 700 : undefined
  })
  alarm.by(500)
  alarm.by(900)
  alarm.by(300)
  await clock.advance(400)
  t.same(rings, [300])
  await clock.advance(1000)
  t.same(rings, [300, 700])
})

t.test('an alarm never rings twice at once, and misses nothing that comes meanwhile', async (t) => {
  const clock = manualClock(0)
  let running = 0
  let most = 0
  let release = () => {}
  const alarm = createAlarm(clock, async () => {
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => (release = resolve))
    running -= 1
    return undefined
  })
  alarm.by(10)
  await clock.advance(10)
  t.equal(running, 1)
  alarm.by(10)
  await settled()
  release()
  await until(() => running === 1 || most > 1)
  await settled()
  t.equal(running, 1, 'what came meanwhile rings afterwards')
  t.equal(most, 1)
  release()
})

t.test('a stopped alarm rings no more', async (t) => {
  const clock = manualClock(0)
  let rings = 0
  const alarm = createAlarm(clock, async () => {
    rings += 1
    return clock.now() + 1
  })
  alarm.by(1)
  await clock.advance(1)
  await alarm.stop()
  const before = rings
  alarm.by(2)
  await clock.advance(100)
  t.equal(rings, before)
})

t.test('the time zone is the one of the machine, or UTC where that has no name', async (t) => {
  t.equal(
    systemTimeZone(() => 'Asia/Kathmandu'),
    'Asia/Kathmandu',
  )
  for (const unusable of [undefined, '', 'Etc/Unknown', 'No/Where'])
    t.equal(
      systemTimeZone(() => unusable as string),
      'UTC',
      String(unusable),
    )
  t.ok(new Intl.DateTimeFormat('en', { timeZone: systemTimeZone() }), 'whatever this machine is set to')
})
