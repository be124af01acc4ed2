import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { isMap, isSeq, parse as parseYaml, parseDocument } from 'yaml'
import { breakerParts } from '../../src/policy/breaker.js'
import { operators } from '../../src/policy/condition.js'
import { readRules } from '../../src/policy/file.js'
import { defaultBreaker } from '../../src/policy/policy.js'
import { defaultResetRule } from '../../src/policy/reset.js'
import { highRiskActions } from '../../src/policy/risk.js'
import { ruleSettings } from '../../src/policy/schema.js'
import { sessionSettings } from '../../src/policy/sessions.js'
import { groups, withSession, withSetting, wrongSessions, wrongSettings } from './wrong-settings.js'

function mistakesOf(text: string): string[] {
  const read = readRules(text)
  return 'mistakes' in read ? read.mistakes : []
}

function warningsOf(text: string): string[] {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.warnings
}

function rulesOf(text: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.rules
}

function sessionsOf(text: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.sessions
}

t.test('what is no rules file says so', async (t) => {
  const cases: [string, RegExp][] = [
    ['', /^line 1: the file is empty/],
    ['# only a comment\n', /^line \d: the file is empty/],
    ['null', /must hold `rules:`/],
    ['- a\n- b\n', /^line 1: the file must hold `rules:`/],
    ['just text', /must hold `rules:`/],
    ['groups: { a: [b] }\n', /^line 1: `rules` is missing; it must be a list, each rule beginning with/],
    ['rules:\n', /^line 1: `rules` has no value; it must be a list/],
    ['rules: { action: a }\n', /`rules` must be a list/],
    ['rules:\n\t- action: a\n', /^line 2: there is a tab; indent with spaces/],
    ['rules:\n  - action: [a\n', /^line \d: this is not YAML: /],
    ['rules: []\n---\nrules: []\n', /^line 2: a second document begins here/],
    ['rule: []\n', /^line 1: there is no part of the file `rule`; did you mean `rules`\?/],
    ['rules:\n  - action: a\n    risk: low\n    risk: high\n', /^line 4: this key stands twice/],
    ['rules:\n  - action: *_prod\n', /^line 2: YAML reads a \* .* quotes/],
    ['rules:\n  - action: *\n', /^line 2: YAML reads a \* .* quotes/],
    ['rules:\n  - action: !thing a\n', /^line 2: this is not YAML/],
    ['rules:\n  - ? [a, b]\n    : c\n', /line 2/],
    ['rules:\n  - just text\n', /^line 2: a rule must be made of settings/],
    ['rules:\n  -\n', /^line 2: a rule has no value; it must be made of settings/],
    ['rules:\n  - risk: low\n', /^line 2: `action` is missing; it must say which actions the rule is for/],
    [`rules: [${Array.from({ length: 1001 }, (_, i) => `{ action: a${i} }`).join(', ')}]`, /at most 1000 rules/],
  ]
  for (const [text, expected] of cases) t.match(mistakesOf(text)[0], expected, JSON.stringify(text.slice(0, 60)))
})

t.test('every mistake of a file is listed, in order, with its line', async (t) => {
  const text = `groups:
  sec: [ann, ann]
rules:
  - action: a
    aprovals: 2
    risk: huge
  - action: b
    approvals: { sek: 1 }
    when:
      amount: { greter_than: 5 }
      host: { greater_than: '5' }
  - name: x
    risk: low
    risk: high
`
  t.same(mistakesOf(text), [
    'line 2: group `sec` must not name ann twice; remove one',
    'line 5: there is no setting `aprovals`; did you mean `approvals`?',
    'line 6: `risk` must be one of low, normal, high',
    'line 8: there is no group `sek`; did you mean `sec`?',
    'line 10: there is no comparison `greter_than`; did you mean `greater_than`?',
    'line 11: `greater_than` must be a number, without quotes',
    'line 12: `action` is missing; it must say which actions the rule is for',
    'line 14: this key stands twice in the same place; remove one',
  ])
})

t.test('one mistake in a setting does not hide the others in it', async (t) => {
  const text = `groups:
  sec: [ann, bob]
  alike: [ann, Ann]
rules:
  - action: a
    deciders: [group:nosuch, "", group:neither]
    timeout: { default: 10, min: 100, max: 50, bogus: 1 }
    rate_limit: { max: 0, window_seconds: 0 }
  - action: b
    approvals: 2
    deciders: [group:sec, BOB]
`
  t.same(mistakesOf(text), [
    'line 3: Ann looks like ann, and only one of them can exist; remove one',
    'line 6: each of `deciders` must not be empty',
    'line 6: there is no group `nosuch`; there is sec, alike',
    'line 6: there is no group `neither`; there is sec, alike',
    'line 7: there is no part of `timeout` `bogus`; there is default, min, max',
    'line 7: `min` must not be above `max`',
    'line 8: `max` must be a whole number from 1 to 1000000000',
    'line 8: `window_seconds` must be a whole number from 1 to 31536000',
    'line 11: BOB looks like bob, and only one of them can exist; remove one',
  ])
})

t.test('each setting that is wrong is a mistake, and says what would be right', async (t) => {
  for (const [setting, expected] of wrongSettings) {
    const [first = 'no mistake'] = mistakesOf(withSetting(setting))
    t.match(first, expected, setting)
    t.match(first, /^line 3: /)
  }
})

t.test('patterns and groups that are wrong are mistakes', async (t) => {
  const cases: [string, RegExp][] = [
    ['rules: [{ action: [] }]', /`action` must not be empty/],
    ['rules: [{ action: 5 }]', /`action` must be text/],
    ['rules: [{ action: " a" }]', /must not begin or end with a space/],
    ['rules: [{ action: [a, a] }]', /`a` stands twice/],
    ['rules: [{ action: [pay_x, Pay-X] }]', /`Pay-X` is the same as `pay_x` in `action`; remove one/],
    ['rules: [{ action: [pay_*, "PAY.*"] }]', /`PAY\.\*` is the same as `pay_\*`/],
    ['rules: [{ action: [delete_data, deleteData] }]', /`deleteData` is the same as `delete_data`/],
    ['rules: [{ action: "lösch*" }]', /a pattern with \* or \? is for names of ASCII .* spell out each name/],
    ['rules: [{ action: "send *" }]', /a pattern with \* or \?/],
    [`rules: [{ action: ${'x'.repeat(1001)} }]`, /at most 1000/],
    ['rules: [{ action: default }]', /built-in rule/],
    ['rules: [{ action: a }, { action: a }]', /another rule with the name "a"; give this one a `name`/],
    ['groups: [a]\nrules: []', /`groups` must have one line for each group/],
    ['groups: { a: [] }\nrules: []', /group `a` must not be empty/],
    ['groups: { a: }\nrules: []', /group `a` has no value; it must be text or a list of texts/],
    ['groups: { a: [""] }\nrules: []', /must not be empty/],
    ['groups: { "": [x] }\nrules: []', /group `` must have a name that can be read/],
    ['groups: { a: [group:b], b: [x] }\nrules: []', /a group cannot hold group:b/],
  ]
  for (const [text, expected] of cases) t.match(mistakesOf(text)[0], expected, text.slice(0, 60))
  t.same(
    mistakesOf('rules: [{ action: [send mail, Send mail, send_mail, löschen] }]'),
    [],
    'what is not plain is itself',
  )
})

t.test('a rule that names a high-risk action cannot make it laxer', async (t) => {
  for (const action of [...highRiskActions, 'Delete-Data', '[harmless, rotate keys]']) {
    for (const setting of [
      'whitelist: true',
      'risk: low',
      'risk: normal',
      'own_requests: true',
      'digest_required: false',
    ]) {
      t.match(
        mistakesOf(`rules: [{ action: ${action}, ${setting} }]`)[0],
        /is a high-risk action|counts as high-risk/,
        `${action} ${setting}`,
      )
    }
    t.same(mistakesOf(`rules: [{ action: ${action}, whitelist: false, risk: high, approvals: 2 }]`), [])
  }
  t.same(rulesOf('rules: [{ action: delete_data }]')[0]!.terms, {
    rule: 'delete_data',
    risk: 'high',
    approvals: 1,
    seats: [],
    deciders: null,
    mayWhitelist: false,
    reasonFor: [],
    mustType: false,
    allowsOwn: false,
    needsDigest: true,
    telling: null,
  })
})

t.test('people who are in two groups fill one seat, wherever they are needed', async (t) => {
  const [rule] = rulesOf(withSetting('approvals: { sec: 1, ops: 2 }'))
  t.equal(rule!.terms.approvals, 3, 'ann for sec, bo and cy for ops')
  t.same(mistakesOf(withSetting('approvals: { sec: 1, ops: 1, one: 1 }')), [], 'bo, cy and ann')
})

t.test('a timeout takes what it does not say from what is built in, moved as far as needed', async (t) => {
  const timeoutOf = (setting: string) => rulesOf(withSetting(`timeout: ${setting}`))[0]!.limits.timeout
  t.same(timeoutOf('60'), { default: 60, min: 30, max: 3600 })
  t.same(timeoutOf('5'), { default: 5, min: 5, max: 3600 })
  t.same(timeoutOf('7200'), { default: 7200, min: 30, max: 7200 })
  t.same(timeoutOf('{ max: 120 }'), { default: 120, min: 30, max: 120 })
  t.same(timeoutOf('{ max: 10 }'), { default: 10, min: 10, max: 10 })
  t.same(timeoutOf('{ min: 5000 }'), { default: 5000, min: 5000, max: 5000 })
  const part = fc.option(fc.integer({ min: 1, max: 604_800 }), { nil: undefined })
  fc.assert(
    fc.property(fc.record({ default: part, min: part, max: part }), (given) => {
      const parts = Object.entries(given).filter(([, value]) => value !== undefined)
      fc.pre(parts.length > 0)
      const read = readRules(withSetting(`timeout: { ${parts.map(([key, value]) => `${key}: ${value!}`).join(', ')} }`))
      if ('mistakes' in read) return true
      const { default: usual, min, max } = read.rules[0]!.limits.timeout
      return min <= usual && usual <= max && parts.every(([key, value]) => value === { default: usual, min, max }[key])
    }),
  )
})

t.test('a breaker takes what it does not say from what is built in', async (t) => {
  const breakerOf = (setting: string) => rulesOf(withSetting(setting))[0]!.limits.breaker
  t.same(breakerOf('risk: low'), defaultBreaker)
  t.same(breakerOf('breaker: { wait_seconds: 60 }'), { ...defaultBreaker, waitMs: 60_000 })
  t.same(breakerOf('breaker: { warn: 0, wait: 1, suspend: 1000, wait_seconds: 86400, fixation: 0 }'), {
    warnAt: 0,
    waitAt: 1,
    suspendAt: 1000,
    waitMs: 86_400_000,
    fixationAt: 0,
  })
  t.same(breakerOf('breaker: { suspend: 0 }'), { ...defaultBreaker, suspendAt: 0 })
  t.same(breakerOf('breaker: { warn: 8, wait: 0 }'), { ...defaultBreaker, warnAt: 8, waitAt: 0 }, 'never is no step')
  t.same(warningsOf(withSetting('breaker: { wait: 0, wait_seconds: 5 }')), [
    'line 3: `wait_seconds` has no effect here: with `wait: 0` nobody must wait',
  ])
})

t.test('each setting for sessions that is wrong is a mistake, and says what would be right', async (t) => {
  for (const [setting, expected] of wrongSessions) {
    const said = mistakesOf(withSession(setting))
    t.match(said, [expected], setting)
    t.equal(said.length, 1)
    t.match(said[0], /^line 2: /)
  }
})

t.test('what is wrong with sessions is said with the rest, each with its line', async (t) => {
  const text = `sessions:
  mode: weekly
  platforms:
    Slack: { idle: 0 }
  chat_types:
    chanel:
      idle: 5
    dm:
      daily_hour: 24
rules:
  - action: a
    risk: huge
`
  t.same(mistakesOf(text), [
    'line 2: `mode` must be one of none, idle, daily, both',
    'line 4: `Slack` must be in lower case, as in a session key',
    'line 4: `idle` must be a whole number from 1 to 525600',
    'line 6: there is no chat type `chanel`; did you mean `channel`?',
    'line 9: `daily_hour` must be a whole number from 0 to 23',
    'line 12: `risk` must be one of low, normal, high',
  ])
})

t.test('a file may hold sessions alone, and without both it says that rules are missing', async (t) => {
  t.same(readRules('sessions: { mode: none }'), {
    rules: [],
    groups: new Map(),
    sessions: { general: { mode: 'none' }, platforms: new Map(), chatTypes: new Map() },
    warnings: [],
  })
  t.equal(sessionsOf('rules: [{ action: a }]'), null)
  t.match(
    warningsOf('rules: []\nsessions: { mode: none }'),
    [/there are no rules/],
    'a list that is empty is another thing',
  )
  t.match(mistakesOf('sessions:\n'), [
    'line 1: `sessions` has no value; it must be made of settings, such as `mode: daily`',
  ])
  t.match(mistakesOf('sessions: {}'), [/`sessions` must not be empty; it takes mode, daily_hour/])
  const missing = /`rules` is missing; it must be a list, each rule beginning with/
  t.match(mistakesOf('{}'), [missing])
  t.match(mistakesOf('session: { mode: none }'), [/no part of the file `session`; did you mean `sessions`/, missing])
})

t.test('all that is said of sessions is read', async (t) => {
  const text = `sessions:
  mode: daily
  daily_hour: 0
  time_zone: Asia/Kathmandu
  idle: 525600
  max_messages: 0
  hash_ids: true
  platforms:
    telegram: { mode: idle, idle: 1 }
    __proto__: { mode: both }
  chat_types:
    thread: { max_messages: 1000000 }
    dm: { daily_hour: 23 }
`
  t.same(sessionsOf(text), {
    general: {
      mode: 'daily',
      dailyHour: 0,
      timeZone: 'Asia/Kathmandu',
      idleMs: 525_600 * 60_000,
      maxMessages: 0,
      hashesIds: true,
    },
    platforms: new Map<string, object>([
      ['telegram', { mode: 'idle', idleMs: 60_000 }],
      ['__proto__', { mode: 'both' }],
    ]),
    chatTypes: new Map<string, object>([
      ['thread', { maxMessages: 1_000_000 }],
      ['dm', { dailyHour: 23 }],
    ]),
  })
})

t.test('what no session goes by is worth a warning', async (t) => {
  const idle = /`idle` has no effect here: only mode `idle` or `both` goes by it/
  const hour = /`daily_hour` has no effect here: only mode `daily` or `both` goes by it/
  const zone = /`time_zone` has no effect here/
  const cases: [string, RegExp[]][] = [
    ['idle: 5, daily_hour: 5, time_zone: UTC', []],
    ['mode: daily, idle: 5, daily_hour: 5', [idle]],
    ['mode: idle, idle: 5, daily_hour: 5, time_zone: UTC', [hour, zone]],
    ['mode: none, idle: 5, daily_hour: 5, max_messages: 5, hash_ids: true', [idle, hour]],
    ['mode: daily, idle: 5, platforms: { x: { mode: idle } }', []],
    ['mode: daily, idle: 5, platforms: { x: { mode: idle, idle: 6 } }', [idle]],
    ['mode: daily, platforms: { x: { idle: 5 } }', [idle]],
    ['mode: daily, platforms: { x: { idle: 5 } }, chat_types: { dm: { mode: both } }', []],
    ['mode: daily, chat_types: { dm: { idle: 5 } }, platforms: { x: { mode: idle } }', []],
    ['chat_types: { dm: { mode: none, time_zone: UTC } }', [zone]],
  ]
  for (const [settings, expected] of cases) {
    const warnings = warningsOf(withSession(settings))
    t.equal(warnings.length, expected.length, settings)
    t.match(warnings, expected, settings)
  }
  t.match(warningsOf('sessions:\n  mode: daily\n  platforms:\n    x:\n      idle: 5\n'), [/^line 5: /])
})

t.test('a null that is written out is a value', async (t) => {
  const [rule] = rulesOf(withSetting('when: { a: null, b: { equals: ~ } }'))
  t.ok(rule!.when.every(({ holds }) => holds({ a: null, b: null })))
})

t.test('conditions on what every object inherits are kept', async (t) => {
  const [rule] = rulesOf(withSetting('when: { __proto__: 1, constructor: { exists: true } }'))
  t.same(
    rule!.when.map(({ path }) => path),
    ['__proto__', 'constructor'],
  )
  t.notOk(rule!.when.some(({ holds }) => holds({})))
})

t.test('a rule that never gets its turn is worth a warning', async (t) => {
  const cases: [string, RegExp | null][] = [
    [
      '{ action: "*", whitelist: false }, { name: b, action: b }',
      /^line 1: rule "b" can never apply: .* "\*" before it/,
    ],
    ['{ action: a_* }, { name: b, action: [a_b, a_c*] }', /"b" can never apply/],
    ['{ action: a }, { action: b }, { name: both, action: [a, b] }', /"both" can never apply: .* "a" and "b"/],
    ['{ action: delete_data }, { name: other, action: DeleteData }', /"other" can never apply/],
    ['{ action: Pay-X }, { name: other, action: pay_x }', /"other" can never apply/],
    ['{ action: "PAY/*" }, { name: other, action: pay_x }', /"other" can never apply/],
    ['{ action: "*" }, { name: other, action: Löschen }', /"other" can never apply/],
    ['{ action: send mail }, { name: other, action: Send mail }', null],
    ['{ action: pay_x }, { name: other, action: payx }', null],
    ['{ action: a }, { name: both, action: [a, b] }', null],
    ['{ name: if, action: a, when: { x: 1 } }, { action: a }', null],
    ['{ action: a_b }, { action: a_* }', null],
  ]
  for (const [rules, expected] of cases) {
    const warnings = warningsOf(`rules: [${rules}]`)
    if (expected === null) t.same(warnings, [], rules)
    else t.match(warnings[0], expected, rules)
  }
})

t.test('a strict rule that can be dodged is worth a warning, in the safe order it is not', async (t) => {
  const strict = 'name: strict, action: pay_*, approvals: 2'
  const lax = 'name: lax, action: pay_*'
  const cases: [string, RegExp | null][] = [
    [
      `{ ${strict}, when: { amount: { at_least: 9 } } }, { ${lax} }`,
      /"strict" is stricter than rule "lax" .*leaving out amount/,
    ],
    [`{ ${strict}, when: { amount: { at_least: 9 } } }, { name: lax, action: "*" }`, /stricter than rule "lax"/],
    [`{ ${strict}, when: { a: 1, b: 2 } }`, /stricter than what is built in .*leaving out a or b/],
    ['{ name: s, action: rotate_keys, approvals: 2, when: { a: 1 } }', /stricter than what is built in/],
    [`{ ${strict}, when: { a: 1 } }, { name: other, action: buy }, { name: safe, action: pay_*, approvals: 2 }`, null],
    [`{ ${lax}, when: { amount: { at_most: 9 } } }, { ${strict} }`, null],
    [`{ ${strict} }, { name: rest, action: "*" }`, null],
    ['{ name: s, action: rotate_keys, when: { a: 1 }, timeout: 60 }', null],
  ]
  for (const [rules, expected] of cases) {
    const warnings = warningsOf(`rules: [${rules}]`)
    if (expected === null) t.same(warnings, [], rules)
    else t.match(warnings[0], expected, rules)
  }
  for (const setting of [
    'risk: high',
    'deciders: [ann]',
    'whitelist: false',
    'typed_confirmation: true',
    'reason_required: deny',
    'digest_required: true',
    'approvals: { sec: 1 }',
  ]) {
    const rules = `rules: [{ name: s, action: a, when: { x: 1 }, ${setting} }, { name: l, action: a }]`
    t.equal(warningsOf(groups + rules).length, 1, setting)
  }
})

t.test('a laxer rule that is too easily met is worth a warning', async (t) => {
  const before = (when: string) =>
    warningsOf(`rules: [{ name: l, action: a, when: { ${when} } }, { action: a, approvals: 2 }]`)
  t.match(before('"items.*.price": { at_most: 5 }'), [/one of items\.\*\.price is enough .*every: true/])
  t.match(before('dangerous: { exists: false }'), [/"l" is laxer .* an agent can leave it out/])
  t.same(before('"items.*.price": { at_most: 5, every: true }'), [])
  t.match(warningsOf('rules: []'), [/there are no rules/])
})

t.test('whatever the text, it is rules or mistakes, never an exception', async () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const rule = fc.dictionary(
    fc.constantFrom(...Object.keys(ruleSettings), 'x'),
    fc.oneof(scalar, fc.jsonValue({ maxDepth: 3 })),
  )
  const session = fc.dictionary(fc.constantFrom(...Object.keys(sessionSettings), 'dm', 'x'), scalar)
  const nested = fc.dictionary(
    fc.constantFrom(...Object.keys(sessionSettings), 'x'),
    fc.oneof(scalar, session, fc.dictionary(fc.constantFrom('dm', 'x', 'X'), session)),
  )
  const text = fc.oneof(
    fc.string(),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.array(rule, { maxLength: 4 }).map((rules) => JSON.stringify({ groups: { g: ['a'] }, rules })),
    fc.record({ sessions: nested }).map((file) => JSON.stringify(file)),
  )
  fc.assert(
    fc.property(text, (one) => {
      const read = readRules(one)
      return 'mistakes' in read
        ? read.mistakes.every((line) => /^line [1-9]\d*: \S/.test(line))
        : read.rules.length >= 0
    }),
    { numRuns: 500 },
  )
})

const sample = readFileSync(fileURLToPath(new URL('../../../holdpoint.rules.sample.yaml', import.meta.url)), 'utf8')

t.test('the sample is valid, without a warning', async (t) => {
  t.same(warningsOf(sample), [])
})

t.test('the sample shows every setting and every comparison', async (t) => {
  const named = new Set<string>()
  const collect = (node: unknown) => {
    if (isSeq(node)) node.items.forEach(collect)
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      named.add(String(key))
      collect(value)
    }
  }
  collect(parseDocument(sample).contents)
  t.same(
    Object.keys(ruleSettings).filter((setting) => !named.has(setting)),
    [],
  )
  t.same(
    [...operators, 'every'].filter((word) => !sample.includes(word)),
    [],
  )
  t.same(
    [...Object.keys(sessionSettings), ...Object.keys(breakerParts)].filter((setting) => !named.has(setting)),
    [],
  )
})

t.test('the sample shows what is built in for sessions and the breaker', async (t) => {
  t.same(sessionsOf(sample)!.general, { ...defaultResetRule, timeZone: 'Europe/Zurich' })
  t.same(rulesOf(sample)[0]!.limits.breaker, defaultBreaker)
})

t.test(
  'in the sample every rule that asks has what helps against tiredness, and the last one is for everything',
  async (t) => {
    const { rules } = parseYaml(sample) as { rules: Record<string, unknown>[] }
    for (const rule of rules.filter(({ pass }) => pass !== true)) {
      t.match(rule, { open_limit: Number, merge_identical: true, refuse_after_denial: Number }, String(rule.name))
    }
    t.match(rules.at(-1), { action: '*', whitelist: false, when: undefined })
  },
)

const manual = readFileSync(fileURLToPath(new URL('../../../docs/rules.md', import.meta.url)), 'utf8')

t.test('the examples in the manual are valid', async (t) => {
  const examples = [...manual.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!)
  t.ok(examples.length > 0)
  for (const text of examples.filter((one) => /^(rules|sessions):/m.test(one))) t.same(warningsOf(text), [], text)
})
