// The JSON Schema of the rules file, as an editor uses it: what is right passes, and what it can express is marked.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse as parseYaml } from 'yaml'
import { readRules } from '../../src/policy/file.js'
import { rulesJsonSchema } from '../../src/policy/schema.js'
import { listDocuments, takeApart } from '../docs/markdown.js'
import { root } from '../e2e/program.js'
import { groups, withSession, withSetting, wrongSessions, wrongSettings } from './wrong-settings.js'

// What is required beside other schemas, and types in lists, are what ajv's strict mode knows no good use for.
const ajv = new Ajv({ strictTypes: false, strictRequired: false })
const isValid = ajv.compile(JSON.parse(rulesJsonSchema()) as object)
const passes = (text: string) => isValid(parseYaml(text))

t.test('the rules in the documents and the sample fit the JSON Schema', async (t) => {
  const examples = listDocuments().flatMap((document) =>
    takeApart(document).blocks.flatMap(({ language, lines }) =>
      language === 'yaml' && lines.some((line) => /^(rules|sessions):$/.test(line)) ? [lines.join('\n')] : [],
    ),
  )
  t.ok(examples.length >= 3, 'they are found')
  const sample = readFileSync(join(root, 'holdpoint.rules.sample.yaml'), 'utf8')
  for (const text of [sample, ...examples]) {
    t.ok(passes(text), text)
    t.notOk('mistakes' in readRules(text), 'and can be used')
  }
})

/** What shows only across settings, groups and rules, or takes more than a pattern to see. */
const beyondSchema = [
  'name: "a\\u200bb"',
  'name: "a\\nb"',
  'name: default',
  'name: high risk',
  'approvals: { sec: 1, nobody: 1 }',
  'approvals: { sec: 3 }',
  'approvals: { sec: 2, ops: 2 }',
  'approvals: { sec: 2, one: 1 }',
  'approvals: 3, deciders: [group:sec]',
  'approvals: 2, deciders: [ann, ann, group:one]',
  'approvals: { sec: 1 }, deciders: [cy]',
  'deciders: [group:ops, group:opps]',
  'timeout: { min: 10, max: 5 }',
  'timeout: { default: 5, min: 10 }',
  'timeout: { default: 50, max: 10 }',
  'whitelist: true, risk: high',
  'whitelist: true, approvals: 2',
  'whitelist: true, approvals: { sec: 1 }',
  'digest_required: false, risk: high',
  'breaker: { warn: 4, wait: 4 }',
  'breaker: { warn: 7 }',
  'breaker: { suspend: 5 }',
  'breaker: { warn: 9, wait: 0 }',
  'when: { a: }',
  'when: { a..b: 1 }',
  'when: { a: { equals: } }',
  'when: { a: 12345678901234567890 }',
  'when: { a: { equals: 5, every: true } }',
]

t.test('a setting that is wrong does not fit the JSON Schema, unless only the service can tell', async (t) => {
  t.same(
    wrongSettings.map(([setting]) => setting).filter((setting) => passes(withSetting(setting))),
    beyondSchema,
  )
})

t.test('of sessions the service alone can tell whether there is such a time zone', async (t) => {
  t.same(
    wrongSessions.map(([setting]) => setting).filter((setting) => passes(withSession(setting))),
    wrongSessions.flatMap(([setting, { source }]) => (source.startsWith('there is no time zone') ? [setting] : [])),
  )
})

t.test('a file that is wrong as a whole does not fit the JSON Schema', async (t) => {
  t.ok(passes(`${groups}rules: []`))
  t.ok(passes('sessions: { mode: none }'), 'sessions alone are enough')
  for (const text of [
    'null',
    '[]',
    'text',
    'groups: { a: [b] }',
    'rules:',
    'rules: { action: a }',
    'rule: []',
    'sessions:',
    'sessions: {}',
    'sessions: none',
    'sessions: { mode: none }\nrules:',
    'rules: [text]',
    'rules: [{ risk: low }]',
    'rules: [{ action: [] }]',
    'rules: [{ action: " a" }]',
    'groups: [a]\nrules: []',
    'groups: { a: [] }\nrules: []',
    'groups: { a: [x, x] }\nrules: []',
    'groups: { "": [x] }\nrules: []',
    'groups: { " a": [x] }\nrules: []',
    `rules: [${Array.from({ length: 1001 }, (_, i) => `{ action: a${i} }`).join(', ')}]`,
  ]) {
    t.notOk(passes(text), text.slice(0, 60))
    t.ok('mistakes' in readRules(text))
  }
})
