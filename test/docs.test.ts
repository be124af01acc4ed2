// What the README says, held against the program: settings, routes, codes, metrics, and the commands of its first minute.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse as parseYaml } from 'yaml'
import { eventTypes } from '../src/audit/event.js'
import { fileKey, helpText, settings } from '../src/config.js'
import { highRiskActions } from '../src/policy/risk.js'
import { problems } from '../src/routes/errors.js'
import { start as startProgram } from './e2e/program.js'
import { build } from './support.js'

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

t.test('the help lists every flag, variable and default', async (t) => {
  for (const [, { flag, env, default: preset }] of documented) {
    const line = helpText.split('\n').find((one) => one.includes(env) && /^ {2}(--|[A-Z])/.test(one))
    t.ok(line, env)
    if (flag !== undefined) t.match(line, `--${flag}`)
    if (preset !== undefined && preset !== false) t.match(line, `(default ${preset})`)
  }
  for (const flag of ['--config', '--help', '--version']) t.match(helpText, flag)
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
  for (const file of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/architecture.md']) {
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

/** What each command of the minute answers, in order; null for those that say nothing. */
const answers: [command: RegExp, answer: object | null][] = [
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
const withoutCurl = !canRun('curl') && 'there is no curl here'
t.test('the working minute works, line by line', { skip: withoutCurl }, async (t) => {
  const section = /## A working minute\n([\s\S]*?)\n## /.exec(readme)![1]!
  const [start, minute] = [...section.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block]) => block!.trim())
  t.equal(start, 'npm ci && npm start')
  const lines = minute!.split('\n')
  const commands = lines.filter((line) => !line.startsWith('#'))
  t.equal(commands.length, answers.length)

  const { url } = (await startProgram(t)).ready
  const printed = await runLines(t, lines, url)
  commands.forEach((command, index) => {
    const [pattern, answer] = answers[index]!
    t.match(command, pattern, `step ${index + 1} is the expected command`)
    const output = printed[index]!.trim()
    if (answer === null) t.equal(output, '', 'nothing is said')
    else t.match(JSON.parse(output), answer, command)
  })
})

/** Runs the lines in one bash, as if pasted, and answers with what each command printed. */
async function runLines(t: Test, lines: string[], url: string): Promise<string[]> {
  const mark = '---- end of a command ----'
  const script = lines.map((line) => (line.startsWith('#') ? line : `${line}\necho; echo '${mark}'`)).join('\n')
  t.match(script, '127.0.0.1:6000')
  const pasted = script.replaceAll('127.0.0.1:6000', url.replace('http://', ''))
  // --norc: with a socket as its standard input, bash takes itself for a remote shell and reads its start-up files.
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-eu', '-c', pasted], { timeout: 60_000 })
  t.equal(stderr, '')
  return stdout.split(`${mark}\n`)
}

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
