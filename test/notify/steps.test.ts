// What happens while nobody answers, as tables: when whoever was told is told again, when others are told, and whom that reaches.
import t from 'tap'
import { hold, resolve } from '../../src/core/confirmation.js'
import {
  type Confirmation,
  defaultTerms,
  type Delivery,
  type Occasion,
  type Pending,
  type Telling,
} from '../../src/core/model.js'
import { queue } from '../../src/notify/delivery.js'
import type { Line } from '../../src/notify/lines.js'
import { afterSchedule, schedule, stepsOf } from '../../src/notify/steps.js'
import { person } from '../actors.js'
import { submissionOf } from '../submission.js'
import { t0 } from '../support.js'

const nobody: Telling = { notify: null, remindAfter: null, escalation: null }

function heldFor(seconds: number, telling: Partial<Telling>): Pending {
  const terms = { ...defaultTerms, approvals: 2, telling: { ...nobody, ...telling } }
  return hold(submissionOf({ timeoutSeconds: seconds }), 'id-0001', t0, terms)
}

const escalation = (after: number): Telling['escalation'] => ({ after, to: 'all' })

const lives: [seconds: number, telling: Partial<Telling>, steps: Record<string, number>][] = [
  [300, {}, {}],
  [300, { notify: 'all' }, {}],
  [300, { remindAfter: 0.5 }, { reminder: 150, last_reminder: 240 }],
  [300, { escalation: escalation(0.75) }, { escalation: 225, last_reminder: 240 }],
  [300, { remindAfter: 0.5, escalation: escalation(0.9) }, { reminder: 150, last_reminder: 240, escalation: 270 }],
  [30, { remindAfter: 0.5 }, { reminder: 15, last_reminder: 20 }],
  [9, { remindAfter: 0.5 }, { reminder: 4.5, last_reminder: 6 }],
  [1, { remindAfter: 0.25 }, { reminder: 0.25, last_reminder: 0.667 }],
  [3600, { remindAfter: 0.25 }, { reminder: 900, last_reminder: 2880 }],
  [86_400, { remindAfter: 0.5 }, { reminder: 43_200, last_reminder: 86_400 - 900 }],
  [604_800, { escalation: escalation(0.5) }, { escalation: 302_400, last_reminder: 604_800 - 900 }],
  [300, { remindAfter: 0.9 }, { reminder: 270 }],
  [300, { remindAfter: 0.71 }, { reminder: 213 }],
]
t.test('the last reminder leaves time to act, and comes only where it is not said just before', async (t) => {
  for (const [seconds, telling, wanted] of lives) {
    const steps = stepsOf(heldFor(seconds, telling)).map(({ kind, at }) => [kind, (at - t0) / 1000])
    t.same(Object.fromEntries(steps), wanted, `${seconds} s with ${JSON.stringify(telling)}`)
  }
})

t.test('one row says when the first of them is due; without any there is none', async (t) => {
  t.match(schedule(heldFor(300, { remindAfter: 0.5 })), [
    { expect: 'absent', record: { channel: 'log', occasion: 'schedule', state: 'queued', nextAt: t0 + 150_000 } },
  ])
  t.same(schedule(heldFor(300, { notify: 'all' })), [])
  t.same(schedule(hold(submissionOf(), 'id-0001', t0)), [])
})

// -- when one is due ---------------------------------------------------------------------------------------------------

const pending = heldFor(300, { remindAfter: 0.5, escalation: escalation(0.9) })
const homes: Line[] = [{ places: [{ channel: 'discord', destination: '' }], isPersonal: false }]

function told(channel: 'telegram' | 'discord' | 'log', destination = '', occasion: Occasion = 'notice'): Delivery {
  return { ...queue(pending, channel, destination, t0, occasion), state: 'sent', nextAt: null, toldAt: t0 }
}

const waiting = (fields: Partial<Delivery>): Delivery => ({ ...told('telegram'), nextAt: t0, toldAt: null, ...fields })

/** What is written beside the schedule, and what is on record; null: it is over. */
function due(all: Delivery[], given: { from?: number; at?: number; subject?: Confirmation } = {}) {
  const { from = 150, at = from, subject = pending } = given
  const delivery = { ...queue(pending, 'log', '', t0, 'schedule'), nextAt: t0 + from * 1000 }
  const ownerOf = ({ destination }: { destination: string }) => ({ '11': 'alice', '12': 'bob' })[destination] ?? null
  const change = afterSchedule({ subject, delivery, all, escalationLines: () => homes, ownerOf }, t0 + at * 1000)
  if (change === null) return null
  const [own, ...others] = change.writes.flatMap((write) => (write.kind === 'delivery' ? write.record : []))
  return {
    next: own!.nextAt === null ? null : (own!.nextAt - t0) / 1000,
    state: own!.state,
    written: others.map(
      ({ channel, destination, occasion, state }) => `${occasion} ${channel}:${destination} ${state}`,
    ),
    events: change.events.map(({ type, data }) => ('places' in data ? `${type} in ${data.places}` : type)),
  }
}

t.test('whoever was told is told again, each in their place', async (t) => {
  t.same(due([told('telegram'), told('discord', '22')]), {
    next: 240,
    state: 'queued',
    written: ['reminder telegram: queued', 'reminder discord:22 queued'],
    events: ['reminded in 2'],
  })
})

t.test('whoever has voted is left alone', async (t) => {
  const vote = {
    verdict: 'approve' as const,
    at: t0,
    via: 'telegram' as const,
    reason: null,
    comment: null,
    remember: null,
  }
  const by = { kind: 'user', channel: 'telegram', id: '13' } as const
  const subject = {
    ...pending,
    votes: [
      { ...vote, by: person('alice') },
      { ...vote, by },
    ],
  }
  t.match(
    due([told('telegram', '11'), told('telegram', '12'), told('telegram', '13'), told('telegram')], { subject }),
    {
      written: ['reminder telegram:12 queued', 'reminder telegram: queued'],
      events: ['reminded in 2'],
    },
  )
})

t.test('where no chat was told the log is told again', async (t) => {
  const failed = { ...told('telegram'), state: 'failed' as const, toldAt: null }
  t.match(due([failed, told('log')]), { written: ['reminder log: sent'], events: ['reminded in 0', 'notified'] })
})

t.test('a first message that is on its way is reminder enough', async (t) => {
  for (const state of ['queued', 'retrying', 'collected'] as const) {
    t.match(due([waiting({ state }), told('log')]), { written: [], events: ['reminded in 0'] }, state)
  }
})

t.test('others are told, with the log behind them', async (t) => {
  t.same(due([told('telegram')], { from: 270 }), {
    next: null,
    state: 'superseded',
    written: ['escalation discord: queued', 'escalation log: queued'],
    events: ['escalated'],
  })
})

t.test('those that were told by an escalation are reminded as well', async (t) => {
  const all = [told('telegram'), told('discord', '', 'escalation'), told('telegram', '', 'reminder')]
  t.match(due(all, { from: 240 }), {
    written: ['last_reminder telegram: queued', 'last_reminder discord: queued'],
    next: 270,
  })
})

t.test('after a time without a service, one reminder stands for all, and nothing is left out', async (t) => {
  t.match(due([told('telegram')], { from: 150, at: 280 }), {
    written: ['last_reminder telegram: queued', 'escalation discord: queued', 'escalation log: queued'],
    events: ['reminded in 1', 'escalated'],
    next: null,
  })
})

t.test('what was decided, or has expired, is over', async (t) => {
  const yes = { by: person('alice'), at: t0 + 10, via: 'http', reason: null } as const
  t.equal(due([told('telegram')], { subject: resolve(pending, 'approved', yes, 900_000) as Confirmation }), null)
  t.equal(due([told('telegram')], { at: 300 }), null)
})
