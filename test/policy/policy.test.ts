import fc from 'fast-check'
import t from 'tap'
import { defaultTerms } from '../../src/core/model.js'
import { readRules } from '../../src/policy/file.js'
import { highRiskActions, isHighRisk, timeoutWithin } from '../../src/policy/risk.js'
import { createPolicy, defaultBreaker } from '../../src/policy/policy.js'

const defaults = { rate: { max: 10, windowMs: 3_600_000, isPerRequester: true } }

function policyOf(text: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return createPolicy(read.rules, defaults)
}

t.test('without rules everything is as it is built in', async (t) => {
  const policy = createPolicy(null, defaults)
  const { terms, limits } = policy.govern('send_mail', '{}')
  t.equal(terms, defaultTerms, 'the very same terms')
  t.same(limits, {
    timeout: { default: 300, min: 30, max: 3600 },
    rate: defaults.rate,
    maxOpen: null,
    mergesIdentical: false,
    denialHoldsMs: 0,
    breaker: defaultBreaker,
  })
  t.ok(policy.mayWhitelist('send_mail'))
  t.same(policy.rules, [])
  for (const action of [...highRiskActions, 'Delete-Data', 'wipe\u200b_database', 'delete\u02cddata', 'send mail']) {
    const { terms } = policy.govern(action, '{}')
    t.same(terms, { ...defaultTerms, rule: 'high risk', risk: 'high', mayWhitelist: false, needsDigest: true }, action)
    t.notOk(policy.mayWhitelist(action), action)
  }
})

t.test('the first rule that fits governs, and the built-in one if none does', async (t) => {
  const policy = policyOf(`
rules:
  - { name: small, action: pay_*, when: { amount: { at_most: 10 } } }
  - { name: exact, action: pay_rent, approvals: 2 }
  - { name: rest, action: [pay_*, buy] }
`)
  const ruleFor = (action: string, details: object) => policy.govern(action, JSON.stringify(details)).terms.rule
  t.equal(ruleFor('pay_rent', { amount: 5 }), 'small')
  t.equal(ruleFor('pay_rent', { amount: 50 }), 'exact')
  t.equal(ruleFor('pay_rent', {}), 'exact', 'left out is not small')
  t.equal(ruleFor('pay_rent', { amount: '5' }), 'exact', 'text is no number')
  t.equal(ruleFor('pay_tax', { amount: 50 }), 'rest')
  t.equal(ruleFor('buy', {}), 'rest')
  t.equal(ruleFor('BUY', {}), 'rest', 'whatever the case')
  t.equal(ruleFor('sell', { amount: 5 }), 'default')
})

t.test('details are read only if a rule for this action has conditions', async (t) => {
  const policy = policyOf('rules: [{ action: a, when: { x: 1 } }, { action: b }]')
  t.equal(policy.govern('b', 'not JSON').terms.rule, 'b')
  t.equal(policy.govern('c', 'not JSON').terms.rule, 'default')
  t.throws(() => policy.govern('a', 'not JSON'))
})

t.test('the same rule answers with the same object, however often and for whomever', async (t) => {
  const policy = policyOf('rules: [{ action: "a*", when: { x: 1 } }, { action: "*", risk: low }]')
  const first = policy.govern('a1', '{"x":1}')
  t.equal(policy.govern('a2', '{"x":1,"y":2}'), first)
  const rest = policy.govern('b', '{}')
  for (let i = 0; i < 5000; i++) policy.govern(`name-${i}`, '{}')
  t.equal(policy.govern('b', '{}'), rest)
  t.equal(policy.govern('a1', '{"x":2}'), rest)
})

t.test('a rule that says nothing but its action takes the rest from what is built in', async (t) => {
  const { terms, limits } = policyOf('rules: [{ action: a }]').govern('a', '{}')
  t.same(terms, { ...defaultTerms, rule: 'a' })
  t.same(limits, createPolicy(null, defaults).govern('a', '{}').limits)
})

t.test('everything a rule says comes out in its terms and limits', async (t) => {
  const policy = policyOf(`
groups: { security: [alice, bob], ops: [bob, carol] }
rules:
  - name: all
    action: a
    risk: high
    approvals: { security: 1, ops: 1 }
    deciders: [group:security, carol, alice]
    timeout: { default: 60, min: 10, max: 120 }
    rate_limit: { max: 2, window_seconds: 86400 }
    reason_required: true
    typed_confirmation: true
    own_requests: true
    open_limit: 3
    merge_identical: true
    refuse_after_denial: 90
    breaker: { warn: 1, wait: 2, suspend: 3, wait_seconds: 30, fixation: 4 }
`)
  t.same(policy.govern('a', '{}'), {
    passes: false,
    terms: {
      rule: 'all',
      risk: 'high',
      approvals: 2,
      seats: [
        { group: 'security', count: 1, members: ['alice', 'bob'] },
        { group: 'ops', count: 1, members: ['bob', 'carol'] },
      ],
      deciders: ['alice', 'bob', 'carol'],
      mayWhitelist: false,
      reasonFor: ['approve', 'deny'],
      mustType: true,
      allowsOwn: true,
      needsDigest: true,
      telling: null,
    },
    limits: {
      timeout: { default: 60, min: 10, max: 120 },
      rate: { max: 2, windowMs: 86_400_000, isPerRequester: false },
      maxOpen: 3,
      mergesIdentical: true,
      denialHoldsMs: 90_000,
      breaker: { warnAt: 1, waitAt: 2, suspendAt: 3, waitMs: 30_000, fixationAt: 4 },
    },
  })
})

t.test('no rule makes a high-risk action laxer', async (t) => {
  const policy = policyOf(`
rules:
  - { name: lax, action: 'd*', when: { x: 1 }, risk: low, whitelist: true, own_requests: true, digest_required: false }
  - { name: laxer, action: '*', risk: low, whitelist: true, own_requests: true }
`)
  for (const action of ['delete_data', 'DELETE-DATA', 'deploy_production', 'wipe_database', 'r0tate.keys']) {
    for (const details of ['{"x":1}', '{}']) {
      const strict = { risk: 'high', mayWhitelist: false, allowsOwn: false, needsDigest: true }
      t.match(policy.govern(action, details).terms, strict, action)
    }
    t.notOk(policy.mayWhitelist(action))
  }
  t.match(policy.govern('dance', '{}').terms, { risk: 'low', mayWhitelist: true, allowsOwn: true })
})

t.test('a rule for a high-risk action is for all spellings of it', async (t) => {
  for (const pattern of ['delete_data', 'Delete-Data', 'delete_*']) {
    const policy = policyOf(`rules: [{ name: two, action: ${pattern}, approvals: 2 }]`)
    for (const action of ['delete_data', 'DELETE_DATA', 'delete/data', 'de1ete_data', 'deleteData']) {
      t.match(policy.govern(action, '{}').terms, { rule: 'two', approvals: 2, risk: 'high' }, `${pattern} ${action}`)
    }
  }
  const policy = policyOf('rules: [{ name: odd, action: "DE1*" }, { name: two, action: delete_data, approvals: 2 }]')
  t.equal(policy.govern('DE1ETE_DATA', '{}').terms.rule, 'two', 'and no spelling gets another rule than the action')
  t.equal(policy.govern('DE1ETE_IT', '{}').terms.rule, 'odd')
})

t.test('a pattern is for every case and every separator of the names that it fits', async (t) => {
  const policy = policyOf('rules: [{ name: pay, action: pay_*, approvals: 2 }, { name: mail, action: Send.Mail }]')
  const ruleFor = (action: string) => policy.govern(action, '{}').terms.rule
  for (const action of [
    'pay_x',
    'Pay_x',
    'pay-x',
    'PAY.X',
    'pay:x',
    'pay/x',
    'pay__x',
    'pay_-_x',
    'pay_',
    '_pay_x',
    '-:pay-x',
  ]) {
    t.equal(ruleFor(action), 'pay', action)
  }
  for (const action of ['payload', 'paX_x', 'repay_x', 'pay']) t.equal(ruleFor(action), 'default', action)
  for (const action of ['send_mail', 'SEND-MAIL', 'send//mail', '_send_mail', 'send_mail.']) {
    t.equal(ruleFor(action), 'mail', action)
    t.equal(policy.windowOf(action), policy.windowOf('send_mail'), 'and it has one rate window')
  }
  t.equal(ruleFor('sendmail'), 'default', 'a separator is one, and none is none')
})

t.test('with rules a name that is not plain is unclear, unless a rule spells it out', async (t) => {
  const policy = policyOf(`
rules:
  - { name: odd, action: [send mail, Löschen], when: { x: 1 }, approvals: 3 }
  - { name: rest, action: '*', approvals: 2, own_requests: true }
`)
  for (const action of [
    '\u0440\u0430y_x',
    'pay x',
    'Send mail',
    'send  mail',
    'löschen',
    'L*',
    '*',
    'delete\u02cddata',
  ]) {
    t.ok(policy.isUnclear(action), action)
  }
  for (const action of ['pay_x', 'send_mail', 'send mail', 'Löschen']) t.notOk(policy.isUnclear(action), action)
  t.notOk(createPolicy(null, defaults).isUnclear('pay x'), 'without a file nothing is')
  t.ok(createPolicy([], defaults).isUnclear('pay x'), 'with an empty one everything is')
  t.match(policy.govern('Löschen', '{"x":1}').terms, { rule: 'odd', risk: 'high', mayWhitelist: false })
  t.match(policy.govern('Löschen', '{}').terms, { rule: 'rest', risk: 'high', approvals: 2, allowsOwn: false })
  t.notOk(policy.mayWhitelist('send mail'), 'high-risk all the same')
})

t.test('every spelling of a name has the same rate window, and unclear names have one together', async (t) => {
  const { windowOf } = policyOf('rules: [{ action: send mail }]')
  t.equal(windowOf('Pay-X'), windowOf('pay__x'))
  t.equal(windowOf('de1eteData'), windowOf('delete_data'))
  t.not(windowOf('pay_x'), windowOf('pay_y'))
  t.equal(windowOf('pay x'), windowOf('delete\u02cddata'))
  t.not(windowOf('send mail'), windowOf('pay x'), 'what a rule spells out has its own')
  const { windowOf: without } = createPolicy(null, defaults)
  t.equal(without('send mail'), without('日本'))
  t.not(without('send mail'), without('send_mail'))
})

t.test('high-risk actions come out hardened, whatever the rules', async () => {
  const rule = fc.record({
    action: fc.constantFrom("'*'", 'd*', "'*_data'", "'?elete_data'", 'transfer_*'),
    when: fc.constantFrom('', ', when: { x: 1 }'),
    risk: fc.constantFrom('low', 'normal'),
    whitelist: fc.boolean(),
    own: fc.boolean(),
  })
  const action = fc.constantFrom(...highRiskActions, 'Delete-Data', 'transferFunds', 'delete_it', 'send')
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), action, fc.boolean(), (rules, name, hasX) => {
      const lines = rules.map(
        (one, index) =>
          `  - { name: r${index}, action: ${one.action}${one.when}, risk: ${one.risk}, whitelist: ${one.whitelist}, ` +
          `own_requests: ${one.own} }`,
      )
      const policy = policyOf(`rules:\n${lines.join('\n')}\n`)
      const { terms } = policy.govern(name, hasX ? '{"x":1}' : '{}')
      if (terms.mayWhitelist && !policy.mayWhitelist(name)) return false
      return !isHighRisk(name) || (terms.risk === 'high' && !terms.mayWhitelist && !terms.allowsOwn)
    }),
  )
})

t.test('an action may be whitelisted if a rule that might govern it says so', async (t) => {
  const policy = policyOf(`
rules:
  - { name: small, action: pay_*, when: { amount: { at_most: 10 } }, whitelist: true }
  - { name: rest, action: pay_*, whitelist: false }
  - { name: never, action: '*', when: { x: 1 }, whitelist: false }
  - { name: late, action: pay_*, whitelist: true }
`)
  t.ok(policy.mayWhitelist('pay_rent'), 'small ones')
  t.ok(policy.mayWhitelist('sell'), 'what is built in follows')
  t.notOk(policyOf('rules: [{ action: "*", whitelist: false }, { name: b, action: b }]').mayWhitelist('b'))
})

t.test('unless it says otherwise, a rule may be whitelisted only if a plain yes of anybody is enough', async (t) => {
  const may = (more: string) =>
    policyOf(`groups: { g: [a] }\nrules: [{ action: x, ${more} }]`).govern('x', '{}').terms.mayWhitelist
  for (const more of [
    'risk: low',
    'approvals: 1',
    'reason_required: deny',
    'typed_confirmation: false',
    'timeout: 60',
  ]) {
    t.ok(may(more), more)
  }
  for (const more of [
    'risk: high',
    'approvals: 2',
    'approvals: { g: 1 }',
    'deciders: [a]',
    'reason_required: true',
    'reason_required: approve',
    'typed_confirmation: true',
    'whitelist: false',
  ]) {
    t.notOk(may(more), more)
  }
  t.ok(may('deciders: [a], whitelist: true'), 'said so')
})

t.test('the digest is needed where the risk is high or the rule says so', async (t) => {
  const needs = (more: string) => policyOf(`rules: [{ action: x, ${more} }]`).govern('x', '{}').terms.needsDigest
  for (const more of ['risk: high', 'digest_required: true', 'risk: low, digest_required: true'])
    t.ok(needs(more), more)
  for (const more of ['risk: low', 'approvals: 2', 'digest_required: false']) t.notOk(needs(more), more)
})

t.test('a wait is held within the bounds of its rule', async (t) => {
  const bounds = { default: 60, min: 10, max: 120 }
  t.same(
    [null, 5, 90.9, 1e9].map((asked) => timeoutWithin(asked, bounds)),
    [60, 10, 90, 120],
  )
})
