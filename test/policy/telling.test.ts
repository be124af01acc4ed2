// What a rule says of who is told and when again: what is taken, what is refused, and how it is said.
import t from 'tap'
import type { Telling } from '../../src/core/model.js'
import { readRules } from '../../src/policy/file.js'
import { sayTelling, summarizeTelling } from '../../src/policy/telling.js'

const groups = 'groups: { ops: [bob, carol], none: [zed] }'

function read(settings: string) {
  return readRules(`${groups}\nrules:\n  - { action: pay, ${settings} }`)
}

function tellingOf(settings: string): Telling | null {
  const found = read(settings)
  if ('mistakes' in found) throw new Error(found.mistakes.join('\n'))
  return found.rules[0]!.terms.telling
}

const named = { chats: [], people: [], deciders: false }
const usual: Telling = { notify: null, remindAfter: null, escalation: null }

const taken: [settings: string, telling: Partial<Telling> | null][] = [
  ['risk: low', null],
  ['notify: first', { notify: 'first' }],
  ['notify: all', { notify: 'all' }],
  ['notify: [slack, telegram]', { notify: { ...named, chats: ['telegram', 'slack'] } }],
  ['notify: [alice, group:ops, bob]', { notify: { ...named, people: ['alice', 'bob', 'carol'] } }],
  ['deciders: [alice], notify: deciders', { notify: { ...named, deciders: true } }],
  ['approvals: { ops: 1 }, notify: deciders', { notify: { ...named, deciders: true } }],
  ['remind_after: 0.5', { remindAfter: 0.5 }],
  ['remind_after: 50%', { remindAfter: 0.5 }],
  ['escalate_after: 75%, escalate_to: all', { escalation: { after: 0.75, to: 'all' } }],
]
t.test('who is told and when again comes out in the terms, groups spelt out', async (t) => {
  for (const [settings, telling] of taken) {
    t.same(tellingOf(settings), telling === null ? null : { ...usual, ...telling }, settings)
  }
})

const refused: [settings: string, mistake: RegExp][] = [
  ['notify: [first, slack]', /must name first alone/],
  ['notify: [all, alice]', /must name all alone/],
  ['notify: deciders', /names none/],
  ['notify: group:dev', /no group `group:dev`|no group `dev`/],
  ['notify: "*"', /must name first, all, telegram/],
  ['notify: [alice, alicе]', /looks like/],
  ['remind_after: 0', /a part of the time/],
  ['remind_after: 1', /a part of the time/],
  ['remind_after: 100%', /a part of the time/],
  ['remind_after: 0%', /a part of the time/],
  ['remind_after: soon', /a part of the time/],
  ['escalate_after: 50%', /add `escalate_to`/],
  ['escalate_to: all', /add `escalate_after`/],
]
t.test('what cannot be meant is a mistake', async (t) => {
  for (const [settings, mistake] of refused) {
    const found = read(settings)
    t.match('mistakes' in found ? found.mistakes.join('\n') : '', mistake, settings)
  }
})

const doubtful: [settings: string, warning: RegExp | null][] = [
  ['notify: telegran', /did you mean `telegram`/],
  ['notify: ops', /did you mean `group:ops`/],
  ['approvals: 2, notify: alice', /tells 1 of the 2 who must approve, so the chats are told as well/],
  ['approvals: 2, deciders: [alice, bob], notify: [deciders]', null],
  ['approvals: 2, notify: [alice, telegram]', null],
  ['approvals: { ops: 2 }, notify: deciders', null],
]
t.test('what may be meant otherwise is a warning', async (t) => {
  for (const [settings, warning] of doubtful) {
    const found = read(settings)
    const said = 'warnings' in found ? found.warnings.filter((one) => one.includes('`notify`')) : ['a mistake']
    if (warning === null) t.same(said, [], settings)
    else t.match(said, [warning], settings)
  }
})

t.test('it is said in sentences, and in few words', async (t) => {
  const telling = tellingOf('notify: [slack, alice], remind_after: 0.125, escalate_after: 75%, escalate_to: all')!
  t.same(sayTelling(telling), [
    'Told at once: slack, alice.',
    'Told again after 12.5 % of the time.',
    'Told after 75 % of it: every chat.',
    'Told once more shortly before it expires.',
  ])
  t.same(summarizeTelling(telling), ['tells slack, alice', 'again after 12.5 %', 'after 75 % every chat'])
})
