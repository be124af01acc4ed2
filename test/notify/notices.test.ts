// The rules of where a notice goes, as tables: no clock, no store, no chat.
import t from 'tap'
import { hold, resolve } from '../../src/core/confirmation.js'
import type { ChannelName, ChatName, Confirmation, Delivery, Subject } from '../../src/core/model.js'
import { backoff, type DeliveryResult } from '../../src/notify/delivery.js'
import type { Line } from '../../src/notify/lines.js'
import { afterNotice, announce, isMoot, isWorthWaiting, raise, tellBy } from '../../src/notify/notices.js'
import { person } from '../actors.js'
import { alarmOf } from '../alarm.js'
import { t0 } from '../support.js'
import { submissionOf } from '../submission.js'

const submission = submissionOf({ description: 'Send the newsletter', requester: 'agent', timeoutSeconds: 300 })
const pending: Confirmation = hold(submission, 'id-0001', t0)
const yes = { by: person('alice'), at: t0 + 10, via: 'http', reason: null } as const
const approved = resolve(pending, 'approved', yes, 900_000) as Confirmation

function delivery(channel: ChannelName, state: Delivery['state'], attempts = 0): Delivery {
  const nextAt = state === 'queued' || state === 'retrying' ? t0 : null
  return {
    subjectId: 'id-0001',
    channel,
    destination: '',
    occasion: 'notice',
    share: '',
    version: 1,
    state,
    attempts,
    nextAt,
    updatedAt: t0,
    toldAt: state === 'sent' ? t0 : null,
    message: null,
    shown: null,
    error: null,
  }
}

/** One chat after the other. */
function oneByOne(...chats: ChatName[]): Line[] {
  return [{ places: chats.map((channel) => ({ channel, destination: '' })), isPersonal: false }]
}

/** Who has it after an attempt by the first of `all`, and the events. */
function after(
  all: Delivery[],
  attempt: DeliveryResult,
  given: { order?: ChatName[]; subject?: Subject; now?: number } = {},
) {
  const { order = ['telegram', 'discord'], subject = pending, now = t0 + 1000 } = given
  const change = afterNotice({ subject, delivery: all[0]!, all, lines: oneByOne(...order) }, attempt, now, 1)
  const written = new Map(
    change.writes.flatMap((write) => (write.kind === 'delivery' ? [[write.record.channel, write.record]] : [])),
  )
  return {
    change,
    own: written.get(all[0]!.channel)!,
    states: Object.fromEntries([...written].map(([channel, { state }]) => [channel, state])),
    events: change.events.map(({ type, via, data }) => `${type} ${via} ${'state' in data ? data.state : ''}`),
  }
}

const sent: DeliveryResult = { kind: 'sent' }
const failed: DeliveryResult = { kind: 'failed', error: '500 oops' }
const refused: DeliveryResult = { kind: 'refused', fault: 'channel', error: '401 no' }
const busy = (retryAfterMs: number): DeliveryResult => ({ kind: 'busy', retryAfterMs, error: '429 slow' })
const skipped = (until: number | null): DeliveryResult => ({ kind: 'skipped', until, error: 'not tried' })

t.test('a chat is told by being queued, the log by being recorded', async (t) => {
  const chat = announce(pending, oneByOne('telegram', 'discord'), t0)
  t.match(chat.writes, [
    { expect: 'absent', record: { channel: 'telegram', state: 'queued', attempts: 0, nextAt: t0 } },
    { expect: 'absent', record: { channel: 'log', state: 'queued', attempts: 0, nextAt: t0 + 30_000, updatedAt: t0 } },
  ])
  t.same(chat.events, [])
  const log = announce(pending, oneByOne(), t0)
  t.match(log.writes, [{ expect: 'absent', record: { channel: 'log', state: 'sent', attempts: 1, nextAt: null } }])
  t.match(log.events, [{ type: 'notified', via: 'log', data: { action: 'send_mail', requester: 'agent' } }])
})

const backoffs: [attempts: number, random: number, ms: number][] = [
  [0, 1, 1000],
  [1, 1, 1000],
  [1, 0, 500],
  [2, 1, 2000],
  [3, 0.5, 3000],
  [6, 1, 32_000],
  [7, 1, 60_000],
  [7, 0, 30_000],
  [5000, 1, 60_000],
]
t.test('the pause doubles from a second to a minute and is spread over its upper half', async (t) => {
  for (const [attempts, random, ms] of backoffs) t.equal(backoff(attempts, random), ms, `${attempts} with ${random}`)
  t.ok(Number.isInteger(backoff(3, 0.123456)), 'a whole number of milliseconds')
})

const lives: [seconds: number, toldWithinMs: number][] = [
  [1, 250],
  [30, 7500],
  [119, 29_750],
  [120, 30_000],
  [3600, 30_000],
]
t.test('somebody is told within a quarter of the time there is, and half a minute at most', async (t) => {
  for (const [seconds, ms] of lives) {
    t.equal(tellBy({ createdAt: t0, deadline: t0 + seconds * 1000 }), t0 + ms, `${seconds} s`)
  }
})

t.test('a busy chat is worth waiting for until then', async (t) => {
  const notice = { ...pending, isInLog: false }
  t.ok(isWorthWaiting(notice, t0 + 30_000))
  t.notOk(isWorthWaiting(notice, t0 + 30_001))
  t.ok(isWorthWaiting({ ...notice, isInLog: true }, t0 + 30_001), 'and beyond, when nobody else is left')
})

const queued = delivery('telegram', 'queued')
const attempts: [name: string, all: Delivery[], attempt: DeliveryResult, states: object, events: string[]][] = [
  ['sent: done', [queued], sent, { telegram: 'sent' }, ['notified telegram sent']],
  [
    'failed: again later, and the next chat meanwhile',
    [queued],
    failed,
    { telegram: 'retrying', discord: 'queued' },
    ['notify_failed telegram retrying'],
  ],
  [
    'refused: never again, the next chat',
    [queued],
    refused,
    { telegram: 'failed', discord: 'queued' },
    ['notify_failed telegram failed'],
  ],
  [
    'busy for a moment: waited for',
    [queued],
    busy(5000),
    { telegram: 'retrying' },
    ['notify_failed telegram retrying'],
  ],
  [
    'busy for long: the next chat meanwhile',
    [queued],
    busy(29_001),
    { telegram: 'retrying', discord: 'queued' },
    ['notify_failed telegram retrying'],
  ],
  [
    'skipped for a while: the next chat meanwhile',
    [queued],
    skipped(t0 + 5000),
    { telegram: 'retrying', discord: 'queued' },
    ['notify_failed telegram retrying'],
  ],
  [
    'skipped for good: the next chat',
    [queued],
    skipped(null),
    { telegram: 'failed', discord: 'queued' },
    ['notify_failed telegram failed'],
  ],
  [
    'the last chat failed: the log',
    [delivery('discord', 'queued'), delivery('telegram', 'failed')],
    failed,
    { discord: 'retrying', log: 'sent' },
    ['notify_failed discord retrying', 'notified log sent'],
  ],
  [
    'failed again while the next chat has it: nobody else',
    [delivery('telegram', 'retrying', 1), delivery('discord', 'queued')],
    failed,
    { telegram: 'retrying' },
    ['notify_failed telegram retrying'],
  ],
  [
    'failed again after the next chat refused and the log was told: nobody else',
    [delivery('telegram', 'retrying', 1), delivery('discord', 'failed'), delivery('log', 'sent')],
    failed,
    { telegram: 'retrying' },
    ['notify_failed telegram retrying'],
  ],
  [
    'sent at last: what others still tried is superseded, on record',
    [delivery('discord', 'queued'), delivery('telegram', 'retrying', 1), delivery('log', 'sent')],
    sent,
    { discord: 'sent', telegram: 'superseded' },
    ['notified discord sent', 'notify_failed telegram superseded'],
  ],
  [
    'the last chat failed: the log is told before its time',
    [delivery('discord', 'queued'), delivery('telegram', 'failed'), delivery('log', 'queued')],
    failed,
    { discord: 'retrying', log: 'sent' },
    ['notify_failed discord retrying', 'notified log sent'],
  ],
  [
    'sent: the log is superseded, which is no news',
    [queued, delivery('log', 'queued')],
    sent,
    { telegram: 'sent', log: 'superseded' },
    ['notified telegram sent'],
  ],
  [
    'the log is told: a chat that was not asked is, and one that was goes on',
    [delivery('log', 'queued'), delivery('telegram', 'retrying', 1)],
    sent,
    { log: 'sent', discord: 'queued' },
    ['notified log sent'],
  ],
  [
    'sent although another chat was quicker: both are told',
    [delivery('telegram', 'superseded', 1), delivery('discord', 'sent', 1)],
    sent,
    { telegram: 'sent' },
    ['notified telegram sent'],
  ],
]
for (const [name, all, attempt, states, events] of attempts) {
  t.test(name, async (t) => {
    const result = after(all, attempt)
    t.same(result.states, states)
    t.same(result.events, events)
    t.equal(result.own.attempts, all[0]!.attempts + (attempt.kind === 'skipped' ? 0 : 1))
    t.match(result.change.writes[0], { expect: all[0]!.version, record: { version: all[0]!.version + 1 } })
  })
}

t.test('a retry is due after the pause that was asked for, or the backoff', async (t) => {
  t.equal(after([queued], busy(5000)).own.nextAt, t0 + 6000)
  t.equal(after([queued], failed).own.nextAt, t0 + 2000)
  t.equal(after([delivery('telegram', 'retrying', 3)], failed).own.nextAt, t0 + 9000)
  t.equal(after([queued], skipped(t0 + 7777)).own.nextAt, t0 + 7777)
})

t.test('a chat that is busy again and again is not waited for beyond its time', async (t) => {
  const again = delivery('telegram', 'retrying', 4)
  t.same(after([again], busy(5000), { now: t0 + 25_000 }).states, { telegram: 'retrying' })
  t.same(after([again], busy(5000), { now: t0 + 25_001 }).states, { telegram: 'retrying', discord: 'queued' })
})

t.test('with one chat, or none left, the log is next', async (t) => {
  t.same(after([queued], failed, { order: ['telegram'] }).states, { telegram: 'retrying', log: 'sent' })
  t.same(after([queued], refused, { order: [] }).states, { telegram: 'failed', log: 'sent' })
})

t.test('a chat that was taken out of the settings passes on to those that are left', async (t) => {
  t.same(after([queued], refused, { order: ['discord'] }).states, { telegram: 'failed', discord: 'queued' })
  const second = [delivery('discord', 'queued'), delivery('telegram', 'failed', 1)]
  t.same(after(second, refused, { order: ['telegram'] }).states, { discord: 'failed', log: 'sent' })
  const trying = [delivery('discord', 'queued'), delivery('telegram', 'retrying', 1)]
  t.same(after(trying, refused, { order: ['telegram'] }).states, { discord: 'failed' })
})

t.test('once the confirmation is resolved, what was not sent is dropped and nobody else is told', async (t) => {
  for (const attempt of [failed, refused, busy(60_000), skipped(t0 + 5000), skipped(null)]) {
    const { states, own } = after([queued], attempt, { subject: approved })
    t.same(states, { telegram: 'dropped' })
    t.match(own, { nextAt: null, error: 'resolved before it could be sent' })
  }
  t.same(after([delivery('log', 'queued')], skipped(null), { subject: approved }).states, { log: 'dropped' })
  t.same(after([queued], failed, { now: pending.deadline }).states, { telegram: 'dropped' }, 'also when it just lapsed')
  t.same(after([queued], sent, { subject: approved }).states, { telegram: 'sent' }, 'what went out went out')
})

const alarm = alarmOf({ createdAt: t0 })
const dayMs = 24 * 3600 * 1000

t.test('an alarm is written with its first delivery, and the log stands behind the chat', async (t) => {
  const { writes, events } = raise(alarm, oneByOne('telegram'), t0)
  t.match(writes, [
    { kind: 'alarm', record: alarm },
    { kind: 'delivery', expect: 'absent', record: { subjectId: alarm.id, channel: 'telegram', nextAt: t0 } },
    { kind: 'delivery', expect: 'absent', record: { subjectId: alarm.id, channel: 'log', nextAt: t0 + 30_000 } },
  ])
  t.same(events, [])
  const inLog = raise(alarm, [], t0)
  t.match(inLog.writes, [
    { kind: 'alarm' },
    { kind: 'delivery', record: { channel: 'log', state: 'sent', nextAt: null } },
  ])
  t.match(inLog.events, [
    { type: 'notified', via: 'log', confirmationId: null, data: { alarm_id: alarm.id, session_key: 's-1' } },
  ])
  t.equal(inLog.events.length, 1)
})

t.test('an alarm is in the share of its requester', async (t) => {
  const { writes } = raise(alarmOf({ share: 'bot' }), oneByOne('telegram'), t0)
  t.match(writes.slice(1), [{ record: { share: 'bot' } }, { record: { share: 'bot' } }])
})

t.test('an alarm goes the way of a notice', async (t) => {
  for (const [name, all, attempt, states] of attempts)
    t.same(after(all, attempt, { subject: alarm }).states, states, name)
})

t.test('time makes no alarm moot, and half a minute is what chats have for it', async (t) => {
  t.notOk(isMoot(alarm, t0 + 1000 * dayMs))
  t.ok(isMoot(pending, pending.deadline))
  t.equal(tellBy(alarm), t0 + 30_000)
  t.ok(isWorthWaiting({ createdAt: t0, deadline: null, isInLog: false }, t0 + 30_000))
  t.notOk(isWorthWaiting({ createdAt: t0, deadline: null, isInLog: false }, t0 + 30_001))
})

/** With the log, told at the beginning or not yet. */
const withLog = (state: 'sent' | 'queued') => [
  delivery('telegram', 'retrying', 7),
  delivery('discord', 'retrying', 7),
  delivery('log', state),
]

t.test('a day after the log was told, the try that fails is the last', async (t) => {
  for (const attempt of [failed, busy(5000), skipped(t0 + 2 * dayMs)]) {
    const { own, states, events } = after(withLog('sent'), attempt, { subject: alarm, now: t0 + dayMs })
    t.match(own, { state: 'failed', nextAt: null, error: (attempt as { error: string }).error })
    t.same(states, { telegram: 'failed' })
    t.same(events, ['notify_failed telegram failed'])
    t.equal(after(withLog('sent'), attempt, { subject: alarm, now: t0 + dayMs - 1 }).own.state, 'retrying')
    t.equal(
      after(withLog('queued'), attempt, { subject: alarm, now: t0 + 3 * dayMs }).own.state,
      'retrying',
      'not as long as no channel took it',
    )
  }
  t.equal(
    after(withLog('sent'), sent, { subject: alarm, now: t0 + 3 * dayMs }).own.state,
    'sent',
    'what went out is out',
  )
  t.equal(after([delivery('log', 'queued')], sent, { subject: alarm, now: t0 + 3 * dayMs }).own.state, 'sent')
})

t.test('until then the pauses grow with the time since, and are never shorter than those of a notice', async (t) => {
  const hourMs = 3600 * 1000
  const nextAt = (attempt: DeliveryResult, now: number, state: 'sent' | 'queued' = 'sent') =>
    after(withLog(state), attempt, { subject: alarm, now }).own.nextAt! - now
  t.equal(nextAt(failed, t0 + 60_000), 60_000)
  t.equal(nextAt(failed, t0 + hourMs), 360_000)
  t.equal(nextAt(skipped(t0 + hourMs + 1000), t0 + hourMs), 360_000)
  t.equal(nextAt(busy(5000), t0 + hourMs), 360_000)
  t.equal(nextAt(busy(hourMs), t0 + hourMs), hourMs, 'nor than what a chat asks for')
  t.equal(nextAt(failed, t0 + hourMs, 'queued'), 60_000, 'and only once the log has it')
  const notice = after(withLog('sent'), failed, { now: t0 + 200_000 }).own
  t.equal(notice.nextAt, t0 + 260_000, 'a notice has no such time')
})
