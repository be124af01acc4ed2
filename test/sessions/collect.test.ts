// By which rule a session id goes.
import t from 'tap'
import {
  activeMs,
  type CollectableRun,
  type CollectRule,
  collectRuleOf,
  type CollectSettings,
  idleUntil,
  noneByRule,
  sumOf,
  usualSettings,
} from '../../src/sessions/collect.js'
import { t0 } from '../support.js'

const hour = 3_600_000
const day = 24 * hour

/** Begun and last active then. */
function runOf(at: number, fields: Partial<CollectableRun> = {}): CollectableRun {
  const run = { id: 'r', createdAt: at, lastActiveAt: at, messages: 0, submissions: 0 }
  return { ...run, requester: 'bot', key: 'agent:main:telegram:dm:1', platform: 'telegram', isCurrent: true, ...fields }
}

const cases: [
  name: string,
  run: CollectableRun,
  settings: Partial<CollectSettings>,
  now: number,
  rule: CollectRule | null,
][] = [
  ['empty, a millisecond before its time', runOf(t0), {}, t0 + day - 1, null],
  ['empty, at its time', runOf(t0), {}, t0 + day, 'empty'],
  ['empty, a millisecond after it', runOf(t0), {}, t0 + day + 1, 'empty'],
  ['empty, but begun later', runOf(t0, { createdAt: t0 + 1 }), {}, t0 + day, null],
  ['empty, but active later', runOf(t0, { lastActiveAt: t0 + 1 }), {}, t0 + day, null],
  ['empty and past', runOf(t0, { isCurrent: false }), {}, t0 + day, 'empty'],
  ['empty, with other hours', runOf(t0), { emptyHours: 48 }, t0 + 2 * day - 1, null],
  ['empty, with other hours that are over', runOf(t0), { emptyHours: 48 }, t0 + 2 * day, 'empty'],
  ['empty, at once', runOf(t0), { emptyHours: 0 }, t0, 'empty'],
  ['empty, from the future', runOf(t0 + 1), { emptyHours: 0 }, t0, null],
  ['empty, where that takes longer than to be trivial', runOf(t0), { emptyHours: 1000 }, t0 + 7 * day, 'trivial'],
  ['one message', runOf(t0, { messages: 1 }), {}, t0 + 7 * day - 1, null],
  ['one message, a week later', runOf(t0, { messages: 1 }), {}, t0 + 7 * day, 'trivial'],
  ['five messages, a week later', runOf(t0, { messages: 5 }), {}, t0 + 7 * day, 'trivial'],
  ['six messages, a week later', runOf(t0, { messages: 6 }), {}, t0 + 7 * day, null],
  ['six messages, ten years later', runOf(t0, { messages: 6 }), {}, t0 + 3650 * day, null],
  ['six, where so many are trivial', runOf(t0, { messages: 6 }), { trivialMax: 6 }, t0 + 7 * day, 'trivial'],
  ['one, where none is trivial', runOf(t0, { messages: 1 }), { trivialMax: 0 }, t0 + 700 * day, null],
  ['begun long ago, but active', runOf(t0, { messages: 5, lastActiveAt: t0 + day }), {}, t0 + 8 * day - 1, null],
  ['the same a day later', runOf(t0, { messages: 5, lastActiveAt: t0 + day }), {}, t0 + 8 * day, 'trivial'],
  ['other days', runOf(t0, { messages: 5 }), { trivialDays: 1 }, t0 + day, 'trivial'],
  ['aged, a millisecond before', runOf(t0, { messages: 1643 }), { maxAgeDays: 30 }, t0 + 30 * day - 1, null],
  ['aged', runOf(t0, { messages: 1643 }), { maxAgeDays: 30 }, t0 + 30 * day, 'aged'],
  ['old, but active', runOf(t0, { messages: 9, lastActiveAt: t0 + 1 }), { maxAgeDays: 30 }, t0 + 30 * day, null],
  ['trivial before aged', runOf(t0, { messages: 5 }), { maxAgeDays: 1 }, t0 + 7 * day, 'trivial'],
  ['aged before trivial is over', runOf(t0, { messages: 5 }), { maxAgeDays: 1 }, t0 + day, 'aged'],
  ['active, however short the days', runOf(t0, { messages: 1 }), { trivialDays: 0 }, t0 + activeMs - 1, null],
  ['no longer active', runOf(t0, { messages: 1 }), { trivialDays: 0 }, t0 + activeMs, 'trivial'],
  ['past, so never active', runOf(t0, { messages: 1, isCurrent: false }), { trivialDays: 0 }, t0, 'trivial'],
  ['of this platform', runOf(t0), { platform: 'telegram' }, t0 + day, 'empty'],
  ['of another platform', runOf(t0), { platform: 'discord' }, t0 + day, null],
  ['of none', runOf(t0, { platform: null }), { platform: 'discord' }, t0 + day, null],
  ['of none, where any will do', runOf(t0, { platform: null }), {}, t0 + day, 'empty'],
]

t.test('a session id goes by the first rule that fits it, and else stays', async (t) => {
  for (const [name, run, settings, now, rule] of cases) {
    t.equal(collectRuleOf(run, { ...usualSettings, ...settings }, now), rule, name)
  }
})

t.test('whatever goes was not active after the time until which is looked', async (t) => {
  for (const [name, run, more, now, rule] of cases) {
    const settings = { ...usualSettings, ...more }
    if (rule !== null) t.ok(run.lastActiveAt <= idleUntil(settings, now), name)
  }
  t.equal(idleUntil(usualSettings, t0), t0 - day)
  t.equal(idleUntil({ ...usualSettings, emptyHours: 1000 }, t0), t0 - 7 * day)
  t.equal(idleUntil({ ...usualSettings, emptyHours: 1000, maxAgeDays: 2 }, t0), t0 - 2 * day)
})

t.test('counts add up', async (t) => {
  t.equal(sumOf(noneByRule()), 0)
  t.equal(sumOf({ empty: 1, trivial: 20, aged: 300 }), 321)
})
