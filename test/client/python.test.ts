// The Python client: its own tests under the machine's python3, and those of them that talk to the started service.
import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { digestOf } from '../../src/core/digest.js'
import { readDocument } from '../docs/markdown.js'
import { root, start } from '../e2e/program.js'
import { needs } from '../needs.js'
import { certificate, key as certificateKey } from '../notify/certificate.js'
import { temporaryFolder } from '../support.js'

const client = join(root, 'clients/python')

/** Runs it with nothing of this environment, and answers with what it said. */
async function python(args: string[], env: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> {
  const all = { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: client, ...env }
  return promisify(execFile)('python3', args, { cwd: client, env: all, timeout: 120_000 })
}

/** How many tests of this file passed; one that fails, or is skipped, is a failure. */
async function passes(t: Test, name: string, env: Record<string, string> = {}): Promise<void> {
  const args = ['-X', 'dev', '-W', 'error', '-m', 'unittest', `tests.${name}`]
  const { stderr } = await python(args, env).catch((error: { stderr: string }) => error)
  t.match(stderr, /^Ran [1-9]\d* tests? in .*\n\nOK\n$/m, `${name}\n${stderr}`)
  t.notMatch(stderr, /Warning/, name)
}

t.test('its tests pass, without a service', async (t) => {
  if (!needs(t, 'python3')) return
  const file = join(temporaryFolder(t), 'certificate.pem')
  writeFileSync(file, certificateKey + certificate)
  const names = readdirSync(join(client, 'tests')).filter((name) => /^test_.*\.py$/.test(name))
  const alone = names.filter((name) => name !== 'test_service.py')
  t.ok(alone.length > 2)
  await Promise.all(alone.map((name) => passes(t, name.replace(/\.py$/, ''), { HOLDPOINT_TEST_CERTIFICATE: file })))
})

t.test('the quick start is five lines at most', async (t) => {
  const quickStart = /```python\n([^]*?)```/.exec(readDocument('docs/python.md').text)![1]!
  t.match(quickStart, /^@require_approval\(/m)
  t.ok(quickStart.split('\n').filter((line) => line.trim() !== '').length <= 5)
})

t.test('its records have the fields of the API, and its version is that of the package', async (t) => {
  if (!needs(t, 'python3')) return
  const program = `
import json, holdpoint
fields = {one: sorted(getattr(holdpoint, one).__annotations__) for one in ("Record", "Decision", "Event")}
print(json.dumps([fields, holdpoint.__version__]))
`
  const [fields, version] = JSON.parse((await python(['-c', program])).stdout) as [Record<string, string[]>, string]
  const { schemas } = (parse(readDocument('openapi.yaml').text) as { components: { schemas: Record<string, any> } })
    .components
  const inApi = (name: string, ...more: string[]) => [...Object.keys(schemas[name].properties), ...more].sort()
  t.same(fields, {
    Record: inApi('Confirmation', 'deliveries'),
    Decision: inApi('DecidedConfirmation'),
    Event: inApi('Event'),
  })
  t.equal(version, (JSON.parse(readDocument('package.json').text) as { version: string }).version)
  t.match(readDocument('clients/python/pyproject.toml').text, `version = "${version}"`)
})

const rules = `
rules:
  - name: quick
    action: quick
    timeout: { default: 1, min: 1, max: 60 }
  - name: rare
    action: rare
    rate_limit: { max: 1, window_seconds: 3600 }
  - name: all
    action: '*'
`

t.test('its tests pass against the started service, with keys and without', async (t) => {
  if (!needs(t, 'python3')) return
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, rules)
  const flags = ['--rate-limit', '1000', '--open-limit', '1000']
  const [open, shut] = await Promise.all([start(t, { flags }), start(t, { flags: [...flags, '--policy', file] })])
  const keys: Record<string, string> = {}
  const roles = { root: 'admin', 'mail-bot': 'agent', 'other-bot': 'agent', alice: 'operator' }
  for (const [name, role] of Object.entries(roles)) {
    const headers: Record<string, string> = keys.root === undefined ? {} : { authorization: `Bearer ${keys.root}` }
    const { status, body } = await shut.call('POST', '/keys', { name, role }, headers)
    t.equal(status, 201)
    keys[name] = body.key
  }
  await passes(t, 'test_service', {
    HOLDPOINT_TEST_OPEN: `http://127.0.0.1:${open.port}`,
    HOLDPOINT_TEST_KEYS: `http://127.0.0.1:${shut.port}`,
    HOLDPOINT_TEST_AGENT: keys['mail-bot']!,
    HOLDPOINT_TEST_OTHER: keys['other-bot']!,
    HOLDPOINT_TEST_OPERATOR: keys.alice!,
  })
})

t.test('whatever JSON there is, its digest is that of the server', async (t) => {
  if (!needs(t, 'python3')) return
  const text = fc.string({ unit: 'binary' }).filter((value) => !['__proto__', 'constructor'].includes(value))
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.maxSafeInteger(),
      text,
      fc.array(tie('json'), { maxLength: 5 }),
      fc.dictionary(text, tie('json'), { maxKeys: 5 }),
    ),
  }))
  const parts = fc.record({
    action: fc.string({ minLength: 1 }).map((value) => value.trim() || 'a'),
    details: fc.dictionary(text, json, { maxKeys: 6 }),
    on_behalf_of: fc.option(fc.string()),
    requester: text,
    session_key: text,
  })
  const sample = fc.sample(parts, 1000)
  const file = join(temporaryFolder(t), 'sample.jsonl')
  writeFileSync(file, sample.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const program = `
import json, sys, holdpoint
for line in open(sys.argv[1], encoding="utf-8"):
    of = json.loads(line)
    details = holdpoint.loads(json.dumps(of.pop("details")))
    print(holdpoint.digest(of.pop("action"), details, **of))
`
  const { stdout } = await python(['-c', program, file])
  const wanted = sample.map(({ action, details, on_behalf_of: behalf, requester, session_key: sessionKey }) =>
    digestOf({ action, details: JSON.stringify(details), onBehalfOf: behalf?.trim() || null, requester, sessionKey }),
  )
  t.same(stdout.trim().split('\n'), wanted)
})
