import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { checkRules, explainAction, problemWithDetails } from '../../src/cli/policy-report.js'
import { readRules } from '../../src/policy/file.js'
import { createPolicy } from '../../src/policy/policy.js'

function policyOf(text: string) {
  const read = readRules(text)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return createPolicy(read.rules, { rate: { max: 10, windowMs: 3_600_000, isPerRequester: true } })
}

const rules = `groups: { sec: [ann, bo] }
rules:
  - { name: small, action: pay_*, when: { amount: { at_most: 10 }, 'items.*.kind': { equals: a, every: true } } }
  - { name: two, action: [pay_*, delete_data], approvals: 2, deciders: [group:sec], typed_confirmation: true, open_limit: 3 }
  - { action: chat, own_requests: true, digest_required: true, reason_required: deny, merge_identical: true, refuse_after_denial: 60 }
`

t.test('checking a good file says what each rule means', async (t) => {
  const { ok, text } = checkRules(rules, 'my.yaml')
  t.ok(ok)
  t.equal(
    text,
    `my.yaml: 3 rules, no mistakes. The first that fits applies.

  1. "small" for pay_*
     when amount is at most 10, every items.*.kind is "a"
     1 approval, may be whitelisted
  2. "two" for pay_*, delete_data
     2 approvals, by ann or bo, typed confirmation, never whitelisted
  3. "chat"
     1 approval, a reason to deny, the requester's own too, claimed with its digest, may be whitelisted
  What no rule fits
     1 approval, may be whitelisted

The 10 high-risk actions always need a person, whatever a rule says. A name with anything but ASCII letters, digits and _ - . : / in it counts as one, and is refused unless a rule spells it out.
`,
  )
})

t.test('checking a bad file lists every mistake and is not ok', async (t) => {
  const { ok, text } = checkRules('rules:\n  - action: a\n    aprovals: 2\n    risk: huge\n', 'my.yaml')
  t.notOk(ok)
  t.equal(
    text,
    `my.yaml: 2 mistakes
  - line 3: there is no setting \`aprovals\`; did you mean \`approvals\`?
  - line 4: \`risk\` must be one of low, normal, high
`,
  )
})

t.test('warnings are shown, and leave the file ok', async (t) => {
  const { ok, text } = checkRules('rules: [{ action: "*" }, { action: a }]', 'my.yaml')
  t.ok(ok)
  t.match(text, /\n1 warning\n {2}- line 1: rule "a" can never apply/)
  t.notMatch(text, 'What no rule fits', 'there is nothing left')
})

t.test('explaining says which rules were looked at, why they did not fit, and what applies', async (t) => {
  const details = '{"amount":50,"items":[{"kind":"a"},{"kind":"b"}]}'
  t.equal(
    explainAction(policyOf(rules), 'pay_rent', details),
    `pay_rent with details {"amount":50,"items":[{"kind":"a"},{"kind":"b"}]}

Rules, in order:
  no   "small" for pay_*
         amount is 50 and must be at most 10
         items.*.kind is "a", "b" and every one must be "a"
  yes  "two" for pay_*, delete_data
  1 more after it: not looked at

What applies: "two"
  Its risk is normal.
  2 different people must approve. One denial ends it.
  Only ann, bo may approve or deny, but not their own requests.
  The approver must type the name of the action.
  No whitelist entry covers it.
  It waits 300 seconds; an agent may ask for 30 to 3600.
  At most 10 may be asked for in any 3600 seconds, by each requester once there are keys.
  A requester may have at most 3 pending.
`,
  )
})

t.test('explaining names what is missing, and the built-in rule where none fits', async (t) => {
  const policy = policyOf('rules: [{ name: x, action: a, when: { amount: { at_most: 1 } } }, { action: b }]')
  const text = explainAction(policy, 'a', '{}')
  t.match(text, 'amount is missing and must be at most 1')
  t.match(text, 'no   "b": for other actions')
  t.match(text, 'yes  "default", which is built in')
  t.match(text, 'No rule says what its risk is.')
  t.match(text, 'It may be whitelisted')
})

t.test('explaining a high-risk action says that it is one, in every spelling', async (t) => {
  const text = explainAction(policyOf(rules), 'Delete-Data', '{}')
  t.match(text, 'It is a high-risk action (it is another spelling of delete_data)')
  t.match(text, 'What applies: "two"')
  t.match(text, 'Its risk is high.')
  t.match(text, 'It is claimed only with the digest of what is about to be done.')
  t.match(explainAction(policyOf('rules: []'), 'wipe_database', '{}'), 'yes  "high risk", which is built in')
})

t.test('explaining an unclear name says that it is refused, and which character makes it so', async (t) => {
  t.equal(
    explainAction(policyOf(rules), '\u0440\u0430y_rent', '{}'),
    `\u0440\u0430y_rent with details {}

It is refused (unclear_action): its name has U+0440 in it, which is none of ASCII letters, digits and _ - . : /, and no rule spells it out.
`,
  )
  const spelled = explainAction(policyOf('rules: [{ action: send mail }]'), 'send mail', '{}')
  t.match(spelled, 'It is a high-risk action (its name has U+0020 in it')
  t.match(spelled, 'What applies: "send mail"')
  const without = createPolicy(null, { rate: { max: 10, windowMs: 3_600_000, isPerRequester: true } })
  t.match(explainAction(without, 'send mail', '{}'), 'What applies: "high risk"', 'without a file it is only high-risk')
})

t.test('explaining says every limit of the rule', async (t) => {
  const text = explainAction(policyOf(rules), 'chat', '{}')
  t.match(text, 'also their own requests')
  t.match(text, 'To deny takes a reason.')
  t.match(text, 'The same request while one is pending gets that one.')
  t.match(text, 'After a denial the same request is refused for 60 seconds.')
})

t.test('explaining says what the rule changes of the breaker, and no more', async (t) => {
  const explained = (parts: string) =>
    explainAction(policyOf(`rules: [{ action: a, breaker: { ${parts} } }]`), 'a', '{}')
      .split('\n')
      .slice(12, -1)
  t.same(explained('warn: 3'), [])
  t.same(explained('warn: 2, wait_seconds: 60'), [
    '  In one session, denials and expiries in a row bring a warning at 2, a wait of 60 seconds at 6, a suspension at 9.',
  ])
  t.same(explained('warn: 0, wait: 0, fixation: 3'), [
    '  In one session, denials and expiries in a row bring a suspension at 9.',
    '  Insisting on it with other details is pointed out at 3 in a row.',
  ])
  t.same(explained('warn: 0, wait: 0, suspend: 0, fixation: 0'), [
    '  In one session, denials and expiries in a row bring nothing.',
    '  Insisting on it with other details is never pointed out.',
  ])
})

t.test('checking says when sessions are reset, in the order in which it is looked for', async (t) => {
  const { ok, text } = checkRules(
    `sessions:
  daily_hour: 3
  max_messages: 0
  platforms: { telegram: { mode: idle, idle: 60, time_zone: Asia/Tokyo } }
  chat_types: { group: { max_messages: 50, hash_ids: true } }
`,
    'my.yaml',
  )
  t.ok(ok)
  t.match(text, 'my.yaml: 0 rules, no mistakes.')
  t.match(
    text,
    `
Sessions. Of each setting the first counts.
  on telegram: mode idle, time zone Asia/Tokyo, idle after 60 minutes
  in a group: 50 messages, ids hashed
  else: mode both, daily at 3:00, time zone of the machine, idle after 1440 minutes, any number of messages, ids as they are
`,
  )
  t.match(text, '`time_zone` has no effect here')
  t.notMatch(checkRules('rules: [{ action: a }]', 'my.yaml').text, 'Sessions')
})

t.test('what is explained is what applies, and is safe to print', async () => {
  const policy = policyOf(rules)
  const action = fc.oneof(fc.constantFrom('pay_x', 'chat', 'delete_data', 'Delete-Data'), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(action, fc.dictionary(fc.string(), fc.jsonValue()), (name, details) => {
      const text = explainAction(policy, name, JSON.stringify(details))
      const { rule } = policy.govern(name, JSON.stringify(details)).terms
      const outcome = policy.isUnclear(name) ? '\nIt is refused (unclear_action)' : `\nWhat applies: "${rule}"\n`
      return text.includes(outcome) && !/[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]/.test(text)
    }),
  )
})

t.test('details that are no object are refused before anything is explained', async (t) => {
  t.equal(problemWithDetails('{"a":1}'), null)
  for (const text of ['', 'amount=5', '[1]', 'null', '5'])
    t.match(problemWithDetails(text), /must be a JSON object/, text)
})

t.test('details that the service would refuse as ambiguous are not explained', async (t) => {
  t.match(
    problemWithDetails('{"amount":5,"amount":500}'),
    "The name 'amount' stands twice in the details, and readers of JSON",
  )
  t.match(problemWithDetails('{"to":[{"id":1,"id":2}]}'), "The name 'id' stands twice at to.0,")
  t.match(
    problemWithDetails('{"amount":12345678901234567890}'),
    'The number 12345678901234567890 at amount does not survive being read',
  )
  t.equal(problemWithDetails('{"amount":12345,"to":{"amount":1}}'), null)
})

t.test('the explanation in the manual is what is printed', async (t) => {
  const manual = readFileSync(fileURLToPath(new URL('../../../docs/rules.md', import.meta.url)), 'utf8')
  const example = /```yaml\n(groups:[\s\S]*?)```/.exec(manual)![1]!
  const printed = /```text\n(pay_supplier with details (\{.*\})[\s\S]*?)```/.exec(manual)!
  t.equal(explainAction(policyOf(example), 'pay_supplier', printed[2]!), printed[1])
})
