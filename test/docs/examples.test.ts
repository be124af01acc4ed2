// What the examples in the documents teach by being copied, and what the project says of its own scripts.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { digestOf } from '../../src/core/digest.js'
import { root } from '../e2e/program.js'
import { listDocuments, readDocument } from './markdown.js'

const documents = listDocuments()

interface Example {
  action: string
  description: string
  details?: object
  requester?: string
}

t.test('examples put what matters into the details, so that no two acts have one digest', async (t) => {
  const acts = new Map<string, string>()
  for (const { name, text } of documents) {
    const bodies = [...text.matchAll(/(?: -d |BODY=)'(\{.*\})'/g)].map(
      ([, body]) => JSON.parse(body!) as { items?: [] },
    )
    const asked = bodies.flatMap((body) => body.items ?? [body]).filter((body) => 'description' in body) as Example[]
    for (const { action, description, details = {}, requester = 'agent' } of asked) {
      t.not(JSON.stringify(details), '{}', `${name}: ${description}`)
      const parts = { action, details: JSON.stringify(details), onBehalfOf: null, requester, sessionKey: '' }
      const digest = digestOf(parts)
      t.equal(acts.get(digest) ?? description, description, `${name}: one digest is one act`)
      acts.set(digest, description)
    }
  }
  t.ok(acts.size > 8, 'the examples are found')
})

t.test('the changelog opens with what is pending, and the README names the test command', async (t) => {
  t.match(readDocument('CHANGELOG.md').text, /^# Changelog\n\n## Pending\n/)
  t.match(readDocument('README.md').text, '\n```bash\nnpm ci && npm test\n```\n')
})

t.test('scripts that the documents name exist', async (t) => {
  const { scripts } = JSON.parse(readDocument('package.json').text) as { scripts: object }
  for (const { name, text } of [...documents, readDocument('CONTRIBUTING.md')]) {
    for (const [, script] of text.matchAll(/npm run ([\w:]+)/g)) t.ok(script! in scripts, `${name}: npm run ${script}`)
  }
})

t.test('CI runs lint and the tests and takes nothing from standard input', async (t) => {
  const script = readDocument('.ci/run').text
  t.match(script, /^#!\/usr\/bin\/env bash\n/)
  t.match(script, /^set -euo pipefail$/m)
  for (const command of ['npm ci', 'npm run lint', 'npm test']) t.match(script, new RegExp(`^${command}`, 'm'))
  execFileSync('bash', ['-n', join(root, '.ci/run')])
  execFileSync('bash', ['-n', join(root, 'scripts/test-nodes.sh')])
})
