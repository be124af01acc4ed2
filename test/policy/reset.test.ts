import t from 'tap'
import { readRules } from '../../src/policy/file.js'
import { createPolicy } from '../../src/policy/policy.js'
import { chatTypes, defaultResetRule } from '../../src/policy/reset.js'

const rate = { max: 10, windowMs: 3_600_000, isPerRequester: true }

function policyOf(text: string, timeZone?: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return createPolicy(read.rules, timeZone === undefined ? { rate } : { rate, timeZone }, read.sessions)
}

t.test('without a word about sessions, what is built in holds everywhere', async (t) => {
  const expected = {
    mode: 'both',
    dailyHour: 4,
    timeZone: 'UTC',
    idleMs: 24 * 3_600_000,
    maxMessages: 200,
    hashesIds: false,
  }
  t.same(defaultResetRule, expected)
  for (const policy of [createPolicy(null, { rate }), policyOf('rules: [{ action: a }]')]) {
    t.same(policy.resetRuleFor(null, null), expected)
    t.same(policy.resetRuleFor('telegram', 'group'), expected)
  }
})

t.test('the time zone is what the file says, and else the one that is handed in', async (t) => {
  const zoneOf = (text: string, timeZone?: string) => policyOf(text, timeZone).resetRuleFor(null, null).timeZone
  t.equal(zoneOf('sessions: { mode: daily }', 'Asia/Tokyo'), 'Asia/Tokyo')
  t.equal(zoneOf('rules: []', 'Asia/Tokyo'), 'Asia/Tokyo')
  t.equal(zoneOf('sessions: { time_zone: Europe/Zurich }', 'Asia/Tokyo'), 'Europe/Zurich')
  t.equal(zoneOf('sessions: { mode: daily }'), 'UTC')
})

t.test('setting by setting the platform goes first, then the chat type, then the rest', async (t) => {
  const { resetRuleFor } = policyOf(`sessions:
  mode: daily
  daily_hour: 6
  idle: 600
  max_messages: 100
  platforms:
    telegram: { mode: idle, max_messages: 0 }
    slack: { hash_ids: true }
  chat_types:
    group: { mode: none, max_messages: 50, idle: 5 }
    dm: { daily_hour: 0, hash_ids: false }
`)
  const general = {
    mode: 'daily',
    dailyHour: 6,
    timeZone: 'UTC',
    idleMs: 36_000_000,
    maxMessages: 100,
    hashesIds: false,
  }
  const cases: [string | null, string | null, object][] = [
    [null, null, {}],
    ['discord', null, {}],
    ['discord', 'channel', {}],
    ['telegram', null, { mode: 'idle', maxMessages: 0 }],
    ['telegram', 'thread', { mode: 'idle', maxMessages: 0 }],
    ['telegram', 'group', { mode: 'idle', maxMessages: 0, idleMs: 300_000 }],
    ['telegram', 'dm', { mode: 'idle', maxMessages: 0, dailyHour: 0 }],
    ['slack', 'dm', { dailyHour: 0, hashesIds: true }],
    ['slack', 'group', { mode: 'none', maxMessages: 50, idleMs: 300_000, hashesIds: true }],
    ['discord', 'group', { mode: 'none', maxMessages: 50, idleMs: 300_000 }],
    [null, 'group', { mode: 'none', maxMessages: 50, idleMs: 300_000 }],
    ['Telegram', null, {}],
    ['group', 'telegram', {}],
    ['', '', {}],
    ['__proto__', 'constructor', {}],
  ]
  for (const [platform, chatType, differs] of cases) {
    t.same(resetRuleFor(platform, chatType), { ...general, ...differs }, `${platform} ${chatType}`)
  }
})

t.test('the same rule is the same object, whatever agents call their platforms', async (t) => {
  const { resetRuleFor } = policyOf(`sessions:
  platforms: { telegram: { mode: idle } }
  chat_types: { group: { max_messages: 50 } }
`)
  for (const chatType of [null, ...chatTypes, 'other']) {
    const [named, other] = [resetRuleFor('telegram', chatType), resetRuleFor(null, chatType)]
    for (let i = 0; i < 100; i++) t.equal(resetRuleFor(`platform-${i}`, chatType), other)
    t.equal(resetRuleFor('telegram', chatType), named)
    t.not(named, other)
  }
  t.equal(resetRuleFor('x', 'no such type'), resetRuleFor(null, null))
})
