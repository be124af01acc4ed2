// How the process of a hook ends: what it loads, and what hosts are told where it breaks or cannot speak.
import { spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { appendFileSync, cpSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { play, sendJson } from '../client/played-server.js'
import { type Call, claudeCode, codex, generic, hermes, type Host, type Ran, runHook } from '../hooks/hosts.js'
import { temporaryFolder } from '../support.js'
import { root, serverFile } from './program.js'

// They wait most of the time.
t.jobs = 3

const call: Call = { tool: 'Bash', input: { command: 'git push --force' } }
/** None of them with its fail-closed switch on. */
const hosts = [claudeCode(), codex, hermes(false), generic]

const playYes = (t: Test) =>
  play(t, (_request, response) =>
    sendJson(response, {
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', permissionDecisionReason: 'yes' },
    }),
  )

t.test('a hook loads nothing of the server and no package', { buffered: true }, async (t) => {
  const { url } = await playYes(t)
  const probe = `import { register } from 'node:module'
const hook = 'export const load = (url, context, next) => (process._rawDebug(url), next(url, context))'
register('data:text/javascript,' + encodeURIComponent(hook))`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(probe)}`, HOLDPOINT_URL: url }
  for (const ran of await Promise.all(hosts.map((host) => runHook(t, host, host.before(call), { env })))) {
    t.equal(ran.code, 0)
    const base = new URL('dist/src/', `file://${root}`).href
    const files = ran.stderr.split(/\s+/).filter((one) => one.startsWith('file:'))
    const own = files.filter((one) => one.startsWith(base)).map((one) => one.slice(base.length))
    t.same(own.length, files.length, files.join(' '))
    const rooms = new Set(own.map((file) => file.replace(/\/.*/, '/')))
    t.same([...rooms].sort(), ['cli/', 'client/', 'command.js', 'config/', 'core/', 'hooks/', 'server.js'])
    t.same(
      own.filter((file) => file.startsWith('config/')),
      ['config/settings.js'],
    )
    t.ok(own.length < 40, `${own.length}`)
  }
})

/** A copy of the program that can be broken. */
function copyProgram(t: Test): string {
  const folder = join(temporaryFolder(t), 'holdpoint')
  for (const part of ['cli', 'client', 'config', 'core', 'hooks', 'command.js', 'server.js', 'program.js']) {
    const filter = (path: string) => !path.endsWith('.map')
    cpSync(join(root, 'dist/src', part), join(folder, 'dist/src', part), { recursive: true, filter })
  }
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  return join(folder, 'dist/src')
}

const breaks: [what: string, act: (folder: string) => void][] = [
  ['a file is missing', (folder) => rmSync(join(folder, 'command.js'))],
  ['a file that is loaded late is missing', (folder) => rmSync(join(folder, 'core/pieces.js'))],
  [
    'a file is cut off',
    (folder) => writeFileSync(join(folder, 'cli/hook-command.js'), 'export async function runHook( {'),
  ],
  ['a file throws', (folder) => appendFileSync(join(folder, 'client/http.js'), '\nthrow new Error("boom")\n')],
  ['a file throws something else', (folder) => appendFileSync(join(folder, 'client/http.js'), '\nthrow null\n')],
  [
    'a file never ends loading',
    (folder) => appendFileSync(join(folder, 'client/http.js'), '\nawait new Promise(() => {})\n'),
  ],
  [
    'something throws later',
    (folder) => appendFileSync(join(folder, 'client/http.js'), '\nqueueMicrotask(() => { throw new Error("boom") })\n'),
  ],
  [
    'a promise is left alone',
    (folder) => appendFileSync(join(folder, 'client/http.js'), '\nvoid Promise.reject(new Error("boom"))\n'),
  ],
]
for (const [what, act] of breaks) {
  t.test(`${what}: no host makes the call, with its switch or without`, { buffered: true }, async (t) => {
    const { url, requests } = await playYes(t)
    const folder = copyProgram(t)
    act(folder)
    const settings = { file: join(folder, 'server.js'), flags: ['--url', url, '--port', '7000'] }
    const all = hosts.map(async (host) => ({ host, ran: await runHook(t, host, host.before(call), settings) }))
    for (const { host, ran } of await Promise.all(all)) {
      t.match(host.rule(ran), { isMade: false, told: /This call was not approved/ }, host.name)
      t.equal(ran.code, 2)
    }
    t.equal(requests.length, 0)
  })
}

t.test('a hook that is called wrongly is a no', { buffered: true }, async (t) => {
  const wrong = [['--tiemout', '5'], ['--url'], ['now'], ['--json']]
  const all = wrong.map(async (flags, index) => {
    const host = hosts[index]!
    t.match(host.rule(await runHook(t, host, host.before(call), { flags })), { isMade: false }, flags.join(' '))
  })
  await Promise.all(all)
  for (const words of [['hook'], ['hook', 'claude'], ['hook', 'constructor']]) {
    const { status, stderr } = spawnSync(process.execPath, [serverFile, ...words], { encoding: 'utf8' })
    t.equal(status, 2, stderr)
    t.notMatch(stderr, /^\s*$/)
  }
})

t.test('help on a hook is no hook', { buffered: true }, async (t) => {
  for (const words of [
    ['hook', '--help'],
    ['hook', 'codex', '--help'],
    ['help', 'hook', 'hermes'],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [serverFile, ...words], { encoding: 'utf8' })
    t.same([status, stderr], [0, ''])
    t.match(stdout, /Usage: /)
  }
})

/** With some of its ways out leading nowhere. */
function runTo(host: Host, url: string, stdio: StdioOptions, close: ('stdout' | 'stderr')[] = []): Promise<Ran> {
  const child = spawn(process.execPath, [serverFile, 'hook', host.name, '--url', url], { stdio })
  const out = { stdout: '', stderr: '' }
  for (const way of ['stdout', 'stderr'] as const) {
    if (close.includes(way)) child[way]!.destroy()
    else child[way]?.setEncoding('utf8').on('data', (text: string) => (out[way] += text))
  }
  child.stdin!.end(JSON.stringify(host.before(call)))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...out, isLate: false })))
}

t.test('where the decision cannot be printed it is a no, said another way', { buffered: true }, async (t) => {
  const { url } = await playYes(t)
  const nowhere = openSync('/dev/null', 'w')
  for (const [what, stdio, close] of [
    ['closed', ['pipe', 'pipe', 'pipe'], ['stdout']],
    ['/dev/null', ['pipe', nowhere, 'pipe'], []],
  ] as const) {
    const ran = await runTo(claudeCode(), url, [...stdio], [...close])
    t.match(claudeCode().rule(ran), { isMade: false, told: /The approval could not be told/ }, what)
  }
  for (const host of [hermes(false), generic]) {
    t.match(host.rule(await runTo(host, url, ['pipe', 'pipe', 'pipe'], ['stdout'])), { isMade: false }, host.name)
  }
  t.match(generic.rule(await runTo(generic, url, ['pipe', nowhere, 'pipe'])), { isMade: true }, 'the exit code says it')
})

t.test('where the reason cannot be printed it still is a no', { buffered: true }, async (t) => {
  const { url } = await play(t, (_request, response) => sendJson(response, {}, 500))
  const unheard = async (host: Host) => {
    const ran = await runTo(host, url, ['pipe', 'pipe', 'pipe'], ['stderr'])
    t.equal(host.rule(ran).isMade, false, host.name)
  }
  await Promise.all(hosts.map(unheard))
})
