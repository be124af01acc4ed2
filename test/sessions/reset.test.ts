import fc from 'fast-check'
import t, { type Test } from 'tap'
import { defaultResetRule, type ResetRule } from '../../src/policy/reset.js'
import { dailyAfter, resetDue } from '../../src/sessions/reset.js'

const at = (text: string) => Date.parse(text)
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** These and no other, in this order: each holds from the one before until the last millisecond. */
function follow(t: Test, hour: number, timeZone: string, resets: string[]): void {
  resets.slice(1).forEach((next, index) => {
    const last = at(resets[index]!)
    for (const time of [at(next) - 1, last, last + 1, Math.floor((last + at(next)) / 2)]) {
      const found = new Date(dailyAfter(hour, timeZone, time)).toISOString()
      t.equal(found, new Date(at(next)).toISOString(), `${timeZone} ${hour}:00 after ${new Date(time).toISOString()}`)
    }
  })
}

t.test('a day ends at the hour of the zone, whatever its offset', async (t) => {
  follow(t, 4, 'UTC', ['2024-02-28T04:00Z', '2024-02-29T04:00Z', '2024-03-01T04:00Z'])
  follow(t, 4, 'Europe/Zurich', ['2024-01-01T03:00Z', '2024-01-02T03:00Z', '2024-01-03T03:00Z'])
  follow(t, 4, 'Asia/Kathmandu', ['2024-06-01T22:15Z', '2024-06-02T22:15Z', '2024-06-03T22:15Z'])
  follow(t, 0, 'Pacific/Kiritimati', ['2023-12-31T10:00Z', '2024-01-01T10:00Z', '2024-01-02T10:00Z'])
  follow(t, 23, 'Pacific/Pago_Pago', ['2024-01-01T10:00Z', '2024-01-02T10:00Z', '2024-01-03T10:00Z'])
})

t.test('an hour that is skipped in spring counts when the clock is set forward', async (t) => {
  follow(t, 2, 'Europe/Zurich', ['2024-03-30T01:00Z', '2024-03-31T01:00Z', '2024-04-01T00:00Z', '2024-04-02T00:00Z'])
  follow(t, 3, 'Europe/Zurich', ['2024-03-30T02:00Z', '2024-03-31T01:00Z', '2024-04-01T01:00Z'])
  follow(t, 4, 'Europe/Zurich', ['2024-03-30T03:00Z', '2024-03-31T02:00Z', '2024-04-01T02:00Z'])
  follow(t, 2, 'America/New_York', ['2024-03-09T07:00Z', '2024-03-10T07:00Z', '2024-03-11T06:00Z'])
  follow(t, 2, 'Australia/Lord_Howe', ['2024-10-04T15:30Z', '2024-10-05T15:30Z', '2024-10-06T15:00Z'])
  follow(t, 0, 'America/Sao_Paulo', ['2018-11-03T03:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z'])
})

t.test('an hour that comes twice in autumn counts the first time', async (t) => {
  follow(t, 2, 'Europe/Zurich', ['2024-10-26T00:00Z', '2024-10-27T00:00Z', '2024-10-28T01:00Z'])
  follow(t, 3, 'Europe/Zurich', ['2024-10-26T01:00Z', '2024-10-27T02:00Z', '2024-10-28T02:00Z'])
  follow(t, 1, 'America/New_York', ['2024-11-02T05:00Z', '2024-11-03T05:00Z', '2024-11-04T06:00Z'])
  follow(t, 2, 'America/New_York', ['2024-11-02T06:00Z', '2024-11-03T07:00Z', '2024-11-04T07:00Z'])
  follow(t, 1, 'Australia/Lord_Howe', ['2024-04-05T14:00Z', '2024-04-06T14:00Z', '2024-04-07T14:30Z'])
  follow(t, 2, 'Australia/Lord_Howe', ['2024-04-05T15:00Z', '2024-04-06T15:30Z', '2024-04-07T15:30Z'])
  follow(t, 23, 'America/Sao_Paulo', ['2019-02-16T01:00Z', '2019-02-17T01:00Z', '2019-02-18T02:00Z'])
  follow(t, 0, 'America/Sao_Paulo', ['2019-02-16T02:00Z', '2019-02-17T03:00Z', '2019-02-18T03:00Z'])
})

t.test('a day that is skipped ends with the jump over it', async (t) => {
  const hours = [
    '2011-12-28T14:00Z',
    '2011-12-29T14:00Z',
    '2011-12-30T10:00Z',
    '2011-12-30T14:00Z',
    '2011-12-31T14:00Z',
  ]
  follow(t, 4, 'Pacific/Apia', hours)
  follow(t, 0, 'Pacific/Apia', ['2011-12-28T10:00Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'])
})

t.test('what was answered for another time, hour or zone changes nothing', async (t) => {
  const time = at('2024-03-31T00:30Z')
  for (let round = 0; round < 2; round++) {
    t.equal(dailyAfter(2, 'Europe/Zurich', time), at('2024-03-31T01:00Z'))
    t.equal(dailyAfter(2, 'Europe/Zurich', time - dayMs), at('2024-03-30T01:00Z'))
    t.equal(dailyAfter(2, 'Europe/Zurich', time + dayMs), at('2024-04-02T00:00Z'))
    t.equal(dailyAfter(2, 'America/New_York', time), at('2024-03-31T06:00Z'))
    t.equal(dailyAfter(20, 'America/New_York', time), at('2024-04-01T00:00Z'))
  }
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const next = dailyAfter(4, zone, time)
    t.ok(next > time && next <= time + 25 * 60 * minuteMs, zone)
  }
})

t.test('a time zone that does not exist is an exception', async (t) => {
  t.throws(() => dailyAfter(4, 'Mars/Olympus', 0), RangeError)
})

/** What a clock on the wall there shows, as if it were UTC. */
function createWall(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  return (time) => Date.parse(`${format.format(time).replace(' ', 'T')}Z`)
}

/** Looks at the clock once a minute: is it the first time that it shows this hour of a day, or a later time? */
function slowDailyAfter(hour: number, timeZone: string, time: number): number {
  const wall = createWall(timeZone)
  const daysBegun = (shown: number) => Math.floor((shown - hour * 60 * minuteMs) / dayMs)
  const start = Math.floor(time / minuteMs) * minuteMs
  // A clock is never set back by more than some hours, so what it showed a day ago is long past.
  let most = -Infinity
  for (let minute = start - dayMs; ; minute += minuteMs) {
    const days = daysBegun(wall(minute))
    if (days > most && minute > time && most > -Infinity) return minute
    most = Math.max(most, days)
  }
}

const changes: [string, string][] = [
  ['Europe/Zurich', '2024-03-31T01:00Z'],
  ['Europe/Zurich', '2024-10-27T01:00Z'],
  ['America/New_York', '2024-03-10T07:00Z'],
  ['America/New_York', '2024-11-03T06:00Z'],
  ['America/Havana', '2024-11-03T05:00Z'],
  ['America/Sao_Paulo', '2018-11-04T03:00Z'],
  ['America/Sao_Paulo', '2019-02-17T02:00Z'],
  ['Australia/Lord_Howe', '2024-04-06T15:00Z'],
  ['Australia/Lord_Howe', '2024-10-05T15:30Z'],
  ['Africa/Casablanca', '2024-03-10T02:00Z'],
  ['Antarctica/Troll', '2024-03-31T01:00Z'],
  ['Asia/Pyongyang', '2015-08-14T15:00Z'],
  ['America/Caracas', '2007-12-09T07:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00Z'],
  ['Pacific/Kwajalein', '1993-08-21T12:00Z'],
]

t.test('it is what somebody finds who looks at the clock every minute', async () => {
  const anytime = fc.record({
    zone: fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
    time: fc.integer({ min: at('1973-01-01'), max: at('2037-12-31') }),
  })
  const nearChange = fc
    .record({ change: fc.constantFrom(...changes), away: fc.integer({ min: -2 * dayMs, max: 2 * dayMs }) })
    .map(({ change: [zone, when], away }) => ({ zone, time: at(when) + away }))
  const onTheMinute = nearChange.map(({ zone, time }) => ({ zone, time: Math.floor(time / minuteMs) * minuteMs }))
  const hour = fc.oneof(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 4 }))
  fc.assert(
    fc.property(fc.oneof(anytime, nearChange, onTheMinute), hour, ({ zone, time }, hour) => {
      return dailyAfter(hour, zone, time) === slowDailyAfter(hour, zone, time)
    }),
    { numRuns: 150 },
  )
})

const rule = (settings: Partial<ResetRule>): ResetRule => ({
  ...defaultResetRule,
  timeZone: 'Europe/Zurich',
  idleMs: 60 * minuteMs,
  ...settings,
})

t.test('by idleness a session is due so long after it was last active', async (t) => {
  t.same(resetDue(rule({ mode: 'idle' }), 1000), { at: 1000 + 60 * minuteMs, reason: 'idle' })
  t.same(resetDue(rule({ mode: 'idle', idleMs: minuteMs }), 0), { at: minuteMs, reason: 'idle' })
})

t.test('by day a session is due at the next hour after it was last active, however soon', async (t) => {
  const daily = rule({ mode: 'daily' })
  const four = at('2024-01-02T03:00Z')
  t.same(resetDue(daily, four - 1), { at: four, reason: 'daily' })
  t.same(
    resetDue(daily, four),
    { at: four + dayMs, reason: 'daily' },
    'what is active on the hour belongs to the new day',
  )
})

t.test('with both, the earlier counts, and on a tie the day', async (t) => {
  const both = rule({ mode: 'both' })
  const four = at('2024-01-02T03:00Z')
  t.same(resetDue(both, four - 60 * minuteMs - 1), { at: four - 1, reason: 'idle' })
  t.same(resetDue(both, four - 60 * minuteMs), { at: four, reason: 'daily' })
  t.same(resetDue(both, four - 1), { at: four, reason: 'daily' })
  t.same(resetDue(both, four), { at: four + 60 * minuteMs, reason: 'idle' })
})

t.test('in mode none a session is never due by time', async (t) => {
  t.equal(resetDue(rule({ mode: 'none' }), 0), null)
})
