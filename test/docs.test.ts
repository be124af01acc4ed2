// What the README says, held against the program: settings, routes, codes, metrics, and the commands of its first minutes.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse as parseYaml } from 'yaml'
import { eventTypes } from '../src/audit/event.js'
import { fileKey, settings } from '../src/config.js'
import { digestOf } from '../src/core/digest.js'
import { highRiskActions } from '../src/policy/risk.js'
import { problems } from '../src/routes/errors.js'
import { type Program, start as startProgram } from './e2e/program.js'
import { build, temporaryFolder } from './support.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readText = (file: string) => readFileSync(join(root, file), 'utf8')
const readme = readText('README.md')

/** Every table row of the README as the text of its cells, without the backquotes. */
const rows = readme
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
  )

interface Documented {
  flag?: string
  env: string
  default?: string | number | boolean
}
const documented = Object.entries(settings) as [string, Documented][]

t.test('the README has a row for every setting, with flag, variable, name in the file and default', async (t) => {
  for (const [key, { flag, env, default: preset }] of documented) {
    const row = rows.find((cells) => cells[1] === env)
    if (row === undefined) {
      t.fail(`${env} is missing`)
      continue
    }
    const expected = key === 'dbPath' ? '$HERMES_HOME/confirmation_audit.db' : String(preset ?? '')
    t.same(row.slice(0, 4), [flag === undefined ? '' : `--${flag}`, env, fileKey(key), expected])
    t.ok(row[4], `${env} is explained`)
  }
  for (const flag of ['--config', '--help', '--version']) t.ok(rows.find(([first]) => first === flag)?.[4], flag)
  t.same(rows.find((cells) => cells[1] === 'HERMES_HOME')?.[3], '~/.hermes')
})

t.test('the README has no row for a setting that is gone', async (t) => {
  const known = [...documented.map(([, { env }]) => env), 'CONFIRMATION_CONFIG', 'HERMES_HOME']
  const named = rows.flatMap((cells) => (/^[A-Z]+_[A-Z_]+$/.test(cells[1] ?? '') ? [cells[1]!] : []))
  t.same(named.toSorted(), known.toSorted())
})

t.test('the README has every problem code with its status, and no other', async (t) => {
  const codes = Object.entries(problems).map(([code, { status }]) => [code, String(status)])
  const section = /### Errors\n([\s\S]*?)\n### /.exec(readme)![1]!
  const listed = [...section.matchAll(/^\| `(\w+)` +\| (\d+) +\| \S/gm)].map(([, code, status]) => [code, status])
  t.same(listed.toSorted(), codes.toSorted())
})

t.test('the README has every route, and no other', async (t) => {
  const { openapi } = await build(t)
  const { paths } = parseYaml(openapi()) as { paths: Record<string, object> }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const listed = rows.flatMap(([first]) => (/^(GET|POST|PUT|PATCH|DELETE) \//.test(first ?? '') ? [first!] : []))
  t.same(listed.toSorted(), routes.toSorted())
})

t.test('the README has every metric, type of event and high-risk action', async (t) => {
  const { call } = await build(t)
  const { body } = await call('GET', '/metrics')
  const metrics = [...String(body).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)
  const listed = rows.flatMap(([first]) => (first?.startsWith('holdpoint_') ? [first] : []))
  t.same(listed.toSorted(), metrics.toSorted())
  for (const type of eventTypes) t.match(readme, `\`${type}\``)
  for (const action of highRiskActions) t.match(readme, `\`${action}\``)
})

t.test('openapi.yaml is what the routes generate', async (t) => {
  const { openapi } = await build(t)
  t.ok(readText('openapi.yaml') === openapi(), 'openapi.yaml is up to date; if not: npm run openapi')
})

t.test('links in the documents lead somewhere', async (t) => {
  const documents = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  for (const file of [...documents, 'docs/architecture.md', 'docs/page.md', 'docs/rules.md', 'docs/security.md']) {
    for (const [, target] of readText(file).matchAll(/\]\(([^)]+)\)/g)) {
      const [path, anchor] = target!.split('#')
      t.ok(path === '' || existsSync(join(root, file, '..', path!)), `${file}: ${target}`)
      if (anchor === undefined) continue
      t.ok(
        headings(path === '' ? readText(file) : readText(join(file, '..', path!))).includes(anchor),
        `${file}: ${target}`,
      )
    }
  }
})

function headings(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}

t.test('the changelog opens with what is pending, and the README names the test command', async (t) => {
  t.match(readText('CHANGELOG.md'), /^# Changelog\n\n## Pending\n/)
  t.match(readme, '\n```bash\nnpm ci && npm test\n```\n')
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: object }
  for (const [, name] of readme.matchAll(/npm run ([\w:]+)/g)) t.ok(name! in scripts, `npm run ${name}`)
})

t.test('CI runs lint and the tests and takes nothing from standard input', async (t) => {
  const script = readText('.ci/run')
  t.match(script, /^#!\/usr\/bin\/env bash\n/)
  t.match(script, /^set -euo pipefail$/m)
  for (const command of ['npm ci', 'npm run lint', 'npm test']) t.match(script, new RegExp(`^${command}`, 'm'))
  execFileSync('bash', ['-n', join(root, '.ci/run')])
  execFileSync('bash', ['-n', join(root, 'scripts/test-nodes.sh')])
})

type Step = [command: RegExp, answer: object | null]

/** What each command of the minute answers, in order; null for those that say nothing. */
const firstMinute: Step[] = [
  [/^ID=.*send_mail/, null],
  [/status=pending/, { count: 1, confirmations: [{ action: 'send_mail', status: 'pending' }], next_cursor: null }],
  [/approve.* &$/, null],
  [/wait=60/, { status: 'approved', resolved_by: 'alice', deliveries: [{ channel: 'log', status: 'sent' }] }],
  [/claim/, { status: 'approved', execution: 'claimed', outcome: null }],
  [/report/, { status: 'approved', execution: 'succeeded', outcome: 'succeeded' }],
  [/deny -X POST/, { code: 'already_resolved', status: 'approved' }],
  [/^ID=.*delete_data/, null],
  [/deny/, { action: 'delete_data', status: 'denied', resolved_by: 'bob', reason: 'not before the audit' }],
  [/\/whitelist/, { action: 'restart_worker', scope: 'global', granted_by: 'alice' }],
  [/restart_worker/, { action: 'restart_worker', status: 'auto_approved' }],
  [/\/whitelist.*delete_data/, { code: 'high_risk', status: 403 }],
  [/\/audit$/, { count: 3, entries: [{ status: 'auto_approved' }, { status: 'denied' }, { status: 'approved' }] }],
  [
    /\/audit\/events$/,
    {
      events: [
        ...['submitted', 'notified', 'approved', 'claimed', 'reported', 'submitted', 'notified', 'denied'],
        ...['granted', 'submitted', 'auto_approved', 'rejected'],
      ].map((type, index) => ({ seq: index + 1, type })),
    },
  ],
]

const secondMinute: Step[] = [
  [/^ADMIN=.* --role admin\)$/, null],
  [/^AGENT=.* --role agent --expires-in 90d\)$/, null],
  [/^ALICE=.* --role operator\)$/, null],
  [/\/confirm$/, { code: 'unauthorized', status: 401 }],
  [/^ID=/, null],
  [/approve.*AGENT/, { code: 'forbidden', status: 403 }],
  [/approve.*ALICE/, { action: 'publish_package', status: 'approved', resolved_by: 'alice' }],
  [/claim.*ALICE/, { code: 'forbidden', status: 403 }],
  [/claim.*AGENT/, { code: 'digest_required', status: 'approved' }],
  [/^DIGEST=/, null],
  [/claim.*AGENT.*DIGEST/, { status: 'approved', requester: 'mail-bot', execution: 'claimed', digest_required: true }],
  [/\/keys /, { count: 3, keys: [{ role: 'admin' }, { name: 'mail-bot', role: 'agent' }, { name: 'alice' }] }],
  [
    /type=rejected/,
    {
      events: [
        { actor: 'unknown', data: { code: 'unauthorized' } },
        { actor: 'mail-bot', data: { code: 'forbidden' } },
        { actor: 'alice', data: { code: 'forbidden' } },
        { actor: 'mail-bot', data: { code: 'digest_required', action: 'publish_package' } },
      ],
    },
  ],
]

const twoApprovals: Step[] = [
  [/^AGENT=/, null],
  [/^ALICE=/, null],
  [/^BOB=/, null],
  [/^ID=/, null],
  [/ALICE/, { status: 'pending', resolved_by: '', approvals_needed: 2, approvals_given: 1, votes: [{ by: 'alice' }] }],
  [/ALICE/, { code: 'already_voted', status: 'pending' }],
  [/BOB/, { status: 'approved', resolved_by: 'bob', approvals_given: 2, votes: [{ by: 'alice' }, { by: 'bob' }] }],
]

t.test('examples put what matters into the details, so that no two acts have one digest', async (t) => {
  const bodies = [...readme.matchAll(/ -d '(\{.*\})'/g)].map(([, body]) => JSON.parse(body!) as { items?: object[] })
  const asked = bodies.flatMap((body) => body.items ?? [body]).filter((body) => 'description' in body) as Example[]
  t.ok(asked.length > 10)
  const acts = new Map<string, string>()
  for (const { action, description, details = {}, requester = 'agent' } of asked) {
    t.not(JSON.stringify(details), '{}', description)
    const parts = { action, details: JSON.stringify(details), onBehalfOf: null, requester, sessionKey: '' }
    const digest = digestOf(parts)
    t.equal(acts.get(digest) ?? description, description, 'one digest is one act')
    acts.set(digest, description)
  }
})

interface Example {
  action: string
  description: string
  details?: object
  requester?: string
}

const withoutCurl = !canRun('curl') && 'there is no curl here'

/** The blocks of a section in this language. */
function blocksOf(heading: string, language: string): string[] {
  const section = readme.slice(readme.indexOf(`\n${heading}\n`)).split(/\n##+ /, 2)[1]!
  return [...section.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block]) =>
    block!.trim(),
  )
}

t.test('the working minute works, line by line', { skip: withoutCurl }, async (t) => {
  const [start, minute] = blocksOf('## A working minute', 'bash')
  t.equal(start, 'npm ci && npm start')
  await walk(t, minute!.split('\n'), firstMinute, await startProgram(t))
})

t.test('the second minute works, line by line', { skip: withoutCurl }, async (t) => {
  const [minute] = blocksOf('## A second minute, with keys', 'bash')
  await walk(t, minute!.split('\n'), secondMinute, await startProgram(t))
})

t.test('the rules work, and two people approve under them', { skip: withoutCurl }, async (t) => {
  const rules = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(rules, blocksOf('## Rules', 'yaml')[0]!)
  const commands = blocksOf('## Rules', 'bash')[0]!.split('\n')
  const [check, explain] = commands
    .filter((line) => line.includes(' policy '))
    .map((line) => line.replace('rules.yaml', rules))
  t.match(await inShell(check!, {}), { stderr: '', stdout: /3 rules, no mistakes/ })
  t.match(await inShell(explain!, {}), { stderr: '', stdout: /What applies: "payments"/ })
  t.ok(commands.includes('npm start -- --policy rules.yaml'))

  const keys = blocksOf('## A second minute, with keys', 'bash')[0]!
    .split('\n')
    .filter((line) => /^(AGENT|ALICE)=/.test(line))
  const lines = blocksOf('### Two approvals', 'bash')[0]!.split('\n')
  await walk(t, [...keys, ...lines], twoApprovals, await startProgram(t, { flags: ['--policy', rules] }))
})

/** Runs the lines in one bash, as if pasted, and holds what each command prints against what it should. */
async function walk(t: Test, lines: string[], steps: Step[], program: Program): Promise<void> {
  const commands = lines.filter((line) => !line.startsWith('#'))
  t.equal(commands.length, steps.length)
  const mark = '---- end of a command ----'
  const script = lines.map((line) => (line.startsWith('#') ? line : `${line}\necho; echo '${mark}'`)).join('\n')
  t.match(script, '127.0.0.1:6000')
  const pasted = script.replaceAll('127.0.0.1:6000', `127.0.0.1:${program.port}`)
  const { stdout, stderr } = await inShell(pasted, { CONFIRMATION_DB_PATH: program.dbPath })
  t.match(stderr, /^(Key \w+ for .*\n)*$/)
  const printed = stdout.split(`${mark}\n`)
  commands.forEach((command, index) => {
    const [pattern, answer] = steps[index]!
    t.match(command, pattern, `step ${index + 1} is the expected command`)
    const output = printed[index]!.trim()
    if (answer === null) t.equal(output, '', 'nothing is said')
    else t.match(JSON.parse(output), answer, command)
  })
}

/** --norc: with a socket as its standard input, bash takes itself for a remote shell and reads its start-up files. */
function inShell(script: string, env: Record<string, string>): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)('bash', ['--norc', '-eu', '-c', script], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', ...env },
    timeout: 60_000,
  })
}

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
