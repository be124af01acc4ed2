// Rules that let an action pass: what they are for, what they are never for, and what `policy check` and `explain` say of them.
import fc from 'fast-check'
import t from 'tap'
import { checkRules, explainAction, explainedAction } from '../../src/cli/policy-report.js'
import { readRules } from '../../src/policy/file.js'
import { createPolicy } from '../../src/policy/policy.js'
import { highRiskActions, isHighRisk } from '../../src/policy/risk.js'
import { type Setting, ruleSettings } from '../../src/policy/schema.js'

const defaults = { rate: { max: 10, windowMs: 3_600_000, isPerRequester: true } }

function read(text: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return { policy: createPolicy(read.rules, defaults), warnings: read.warnings }
}

const mistakesOf = (text: string) => {
  const read = readRules(text)
  return 'mistakes' in read ? read.mistakes : []
}
const passes = (text: string, action: string, details: object = {}) =>
  read(text).policy.govern(action, JSON.stringify(details)).passes

t.test('what a rule lets pass passes, and nothing else does', async (t) => {
  const rules = 'rules: [{ action: look, pass: true }, { action: touch, pass: false }, { action: smell }]'
  t.ok(passes(rules, 'look'))
  for (const action of ['touch', 'smell', 'taste']) t.notOk(passes(rules, action), action)
  t.match(read(rules).policy.govern('look', '{}').terms, { rule: 'look', risk: 'normal', needsDigest: false })
})

t.test('names count as they are written: another spelling does not pass, and comes to the next rule', async (t) => {
  const rules = `
rules:
  - { name: reading, action: ['tool:Read', 'show_*'], pass: true }
  - { name: rest, action: '*', approvals: 2 }
`
  const { policy } = read(rules)
  for (const action of ['tool:Read', 'show_', 'show_me', 'show_A:b']) t.ok(policy.govern(action, '{}').passes, action)
  for (const action of [
    'tool:read',
    'TOOL:Read',
    'tool_Read',
    'tool:Read_',
    '_tool:Read',
    'tool::Read',
    'tool:Read:',
    'tool:ReadX',
    'tool:mcp__x__Read',
    'Show_me',
    'show-me',
    '_show_me',
  ]) {
    t.match(policy.govern(action, '{}'), { passes: false, terms: { rule: 'rest', approvals: 2 } }, action)
  }
})

t.test('conditions reach into the input of a tool', async (t) => {
  const rules = `
rules:
  - action: tool:Bash
    when: { tool_input.command: { in: [npm test, git status] }, tool_input.env.*: { equals: x, every: true } }
    pass: true
`
  const bash = (command: unknown, env: unknown = { A: 'x' }) =>
    passes(rules, 'tool:Bash', { tool_input: { command, env } })
  t.ok(bash('npm test'))
  t.ok(bash('git status', ['x', 'x']))
  for (const command of ['git status; rm -rf ~', 'git  status', ' git status', 'git status\n', ['git status'], null]) {
    t.notOk(bash(command), JSON.stringify(command))
  }
  t.notOk(bash('npm test', { A: 'x', B: 'y' }))
  t.notOk(bash('npm test', {}), 'every one of none is not enough')
  t.notOk(passes(rules, 'tool:Bash', { command: 'npm test', env: { A: 'x' } }), 'beside the input')
  t.notOk(passes(rules, 'tool:Bash', { tool_input: '{"command":"npm test"}' }), 'as text')
  t.notOk(passes(rules, 'tool:Bash'))
})

t.test(
  'a pattern that passes is not for high-risk actions: the next rule governs them, else what is built in',
  async (t) => {
    const all = read(`rules: [{ name: all, action: '*', pass: true }]`).policy
    t.ok(all.govern('anything', '{}').passes)
    for (const action of [...highRiskActions, 'Delete-Data', 'de1ete_data', 'deploy.production']) {
      t.match(
        all.govern(action, '{}'),
        { passes: false, terms: { rule: 'high risk', risk: 'high', needsDigest: true } },
        action,
      )
    }
    const { policy, warnings } = read(`
rules:
  - { name: all, action: '*', pass: true }
  - { name: two, action: [delete_data, send mail], approvals: 2 }
`)
    t.same(warnings, [], 'the second has its turn')
    for (const action of ['delete_data', 'DELETE:DATA', 'send mail']) {
      t.match(
        policy.govern(action, '{}'),
        { passes: false, terms: { rule: 'two', approvals: 2, risk: 'high' } },
        action,
      )
    }
    t.ok(policy.isUnclear('tool:Re\u0430d'))
    t.notOk(policy.govern('tool:Re\u0430d', '{}').passes)
  },
)

t.test('to let a high-risk action pass is a mistake, in every spelling, with its line', async (t) => {
  t.same(mistakesOf('rules:\n  - action: [look, Delete-Data]\n    pass: true\n'), [
    'line 3: `Delete-Data` is a high-risk action and always needs a person; remove `pass`',
  ])
  t.same(mistakesOf('rules:\n  - action: "tool:Re\u0430d"\n    pass: true\n'), [
    'line 3: `tool:Re\u0430d` is no plain name, so it counts as high-risk and always needs a person; remove `pass`',
  ])
  t.same(mistakesOf('rules:\n  - action: look\n    risk: high\n    pass: true\n'), [
    'line 4: `risk: high` always needs a person; remove `pass`, or lower the risk',
  ])
  t.same(mistakesOf('rules:\n  - action: look\n    pass: yes please\n'), ['line 3: `pass` must be true or false'])
})

t.test('whatever says how a person decides is a mistake beside pass', async (t) => {
  const written: Record<Exclude<Setting, 'name' | 'action' | 'when' | 'pass' | 'risk' | 'digest_required'>, string> = {
    approvals: '1',
    deciders: 'ann',
    timeout: '60',
    whitelist: 'false',
    rate_limit: '{ max: 5, window_seconds: 60 }',
    reason_required: 'deny',
    typed_confirmation: 'true',
    own_requests: 'true',
    open_limit: '5',
    merge_identical: 'true',
    refuse_after_denial: '60',
    notify: 'all',
    remind_after: '50%',
    escalate_after: '50%',
    escalate_to: 'all',
    breaker: '{ warn: 1 }',
  }
  const beside = ['name', 'action', 'when', 'pass', 'risk', 'digest_required']
  t.same(
    Object.keys(written).sort(),
    Object.keys(ruleSettings)
      .filter((one) => !beside.includes(one))
      .sort(),
  )
  for (const [setting, value] of Object.entries(written)) {
    const text = `rules:\n  - action: a\n    pass: true\n    ${setting}: ${value}\n`
    const sentence = `line 4: \`pass: true\` asks nobody, so \`${setting}\` has nothing to say; remove one of them`
    t.ok(mistakesOf(text).includes(sentence), setting)
    t.notOk(mistakesOf(text.replace('pass: true', 'pass: false')).includes(sentence), `${setting} beside pass: false`)
  }
  const fine = 'rules: [{ name: n, action: a, when: { x: 1 }, pass: true, risk: low, digest_required: true }]'
  t.match(read(fine).policy.govern('a', '{"x":1}'), { passes: true, terms: { risk: 'low', needsDigest: true } })
})

t.test('the check warns of rules that pass before stricter ones, and of strict ones that can be dodged', async (t) => {
  const warnings = (rules: string) => read(`rules: [${rules}]`).warnings
  t.match(warnings('{ name: p, action: "tool:*", pass: true }, { name: b, action: "tool:Bash" }'), [
    /rule "b" can never apply: every action it is for \(but high-risk ones and other spellings\) goes to "p" before it/,
  ])
  t.match(warnings('{ name: b, action: "tool:*" }, { name: p, action: "tool:Read", pass: true }'), [
    /rule "p" can never apply: every action it is for goes to "b" before it/,
  ])
  t.match(warnings('{ name: b, action: a, when: { x: 1 }, approvals: 2 }, { name: p, action: a, pass: true }'), [
    /rule "b" is stricter than rule "p" after it \(pass\), but only while .* leaving out x/,
  ])
  t.match(warnings('{ name: p, action: a, when: { x: { exists: false } }, pass: true }, { name: b, action: a }'), [
    /rule "p" is laxer than what follows, and holds where x is not there/,
  ])
  t.match(warnings('{ name: p, action: a, when: { "x.*": 1 }, pass: true }'), [/rule "p" is laxer.*every: true/])
  for (const fine of [
    '{ action: "tool:Read", pass: true }, { action: "tool:*" }',
    '{ action: "tool:Read", pass: true }, { action: "tool:read", when: { x: 1 }, pass: true }, { action: "tool:*" }',
    '{ name: p, action: a, when: { x: 1 }, pass: true }, { action: a, approvals: 2 }',
    '{ action: "*", pass: true }, { action: [delete_data, Wipe-Database] }',
  ]) {
    t.same(warnings(fine), [], fine)
  }
})

t.test('checking and explaining say that nobody is asked, and why it is not so for a high-risk one', async (t) => {
  const text = `
rules:
  - { name: reading, action: ['tool:*', 'de*'], when: { safe: true }, pass: true, risk: low }
  - { name: rest, action: '*' }
`
  t.match(
    checkRules(text, 'f').text,
    /1\. "reading" for tool:\*, de\*\n {5}when safe is true\n {5}risk low, passes: nobody is asked\n/,
  )
  const { policy } = read(text)
  t.equal(
    explainAction(policy, 'tool:Read', '{"safe":true}'),
    `tool:Read with details {"safe":true}

Rules, in order:
  yes  "reading" for tool:*, de*
  1 more after it: not looked at

What applies: "reading"
  It passes: nobody is asked. It is recorded as approved by rule:reading, and can be claimed once.
  Its risk is low.
  It takes no slot of a rate limit. In a session that is suspended or has to wait it is refused all the same.
`,
  )
  t.match(
    explainAction(policy, 'tool:Read', '{}'),
    '  no   "reading" for tool:*, de*\n         safe is missing and must be true',
  )
  const risky = explainAction(policy, 'Delete_data', '{"safe":true}')
  t.match(risky, '  no   "reading" for tool:*, de*: it passes what it is for, and that is never a high-risk action')
  t.match(risky, 'What applies: "rest"\n  It is a high-risk action')
  t.match(
    explainAction(policy, 'TOOL:Read', '{"safe":true}'),
    '  no   "reading" for tool:*, de*: it passes names as they are written, and this is another spelling',
  )
  t.match(explainedAction(policy, 'tool:Read', '{"safe":true}'), {
    looked_at: [{ name: 'reading', fits: true, because: [] }],
    applies: { name: 'reading', pass: true },
  })
  t.match(explainedAction(policy, 'delete_data', '{"safe":true}'), {
    looked_at: [{ because: ['it passes what it is for, and that is never a high-risk action'] }, { fits: true }],
    applies: { name: 'rest', pass: false },
  })
  const digest = read('rules: [{ action: a, pass: true, digest_required: true }]').policy
  t.match(explainAction(digest, 'a', '{}'), 'It is claimed only with the digest')
})

t.test('no rules file whatever lets a high-risk action pass, or one whose name is unclear', async (t) => {
  const separator = fc.constantFrom('_', '-', '.', ':', '/', '__', '')
  const highRisk = fc
    .tuple(fc.constantFrom(...highRiskActions), separator, fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }))
    .map(([name, between, upper]) =>
      [...name.replace('_', between)].map((one, at) => (upper[at] === true ? one.toUpperCase() : one)).join(''),
    )
  const odd = fc
    .tuple(
      fc.constantFrom('tool:Read', 'delete_data', 'look'),
      fc.constantFrom(' ', '\u200b', '\u0430', '\u02cd', '*', '\n'),
    )
    .chain(([name, odd]) => fc.nat(name.length).map((at) => name.slice(0, at) + odd + name.slice(at)))
  const plain = fc.constantFrom('look', 'tool:Read', 'tool:Bash', 'deploy', 'delete_datum')
  const action = fc.oneof(highRisk, odd, plain)
  const pattern = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('*', '?*', 'tool:*', 'd*', '*a*', '*data', 'delete?data', 'Delete_*') },
    { weight: 10, arbitrary: plain },
    { weight: 1, arbitrary: fc.oneof(highRisk, odd) },
  )
  const asking = {
    risk: fc.constantFrom('low', 'normal', 'high'),
    own_requests: fc.boolean(),
    approvals: fc.constantFrom(1, 2),
  }
  const both = {
    action: fc.oneof(pattern, fc.array(pattern, { minLength: 1, maxLength: 3 })),
    when: fc.constantFrom({ x: 1 }, { 'x.*': { exists: true } }, { x: { exists: false } }),
    digest_required: fc.boolean(),
  }
  const rule = fc.oneof(
    { weight: 2, arbitrary: fc.record({ ...both, pass: fc.constant(true) }, { requiredKeys: ['action', 'pass'] }) },
    { weight: 1, arbitrary: fc.record({ ...both, ...asking, pass: fc.boolean() }, { requiredKeys: ['action'] }) },
  )
  let passed = 0
  let looked = 0
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 4 }),
      fc.array(action, { minLength: 5, maxLength: 10 }),
      fc.constantFrom('{}', '{"x":1}', '{"x":[1]}'),
      (rules, actions, details) => {
        const named = rules.map((one, index) => ({ name: `r${index}`, ...one }))
        const read = readRules(JSON.stringify({ rules: named }))
        if ('mistakes' in read) return
        const policy = createPolicy(read.rules, defaults)
        for (const one of actions) {
          const { passes, terms } = policy.govern(one, details)
          if (isHighRisk(one) || policy.isUnclear(one)) {
            looked += 1
            if (passes || terms.mayWhitelist || terms.risk !== 'high') throw new Error(`${one} passes`)
          } else if (passes) passed += 1
        }
      },
    ),
    { numRuns: 2000 },
  )
  t.ok(passed > 100 && looked > 100, 'there was something to see')
})
