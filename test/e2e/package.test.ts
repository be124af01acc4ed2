// The package as others get it: packed, installed into an empty folder, and run from there.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../support.js'
import { root, start } from './program.js'

const npm = async (cwd: string, ...args: string[]) =>
  promisify(execFile)('npm', [...args, '--no-audit', '--no-fund', '--no-update-notifier'], { cwd })

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).startsWith('node_modules'))
}

t.test('the package holds what is needed, installs into an empty folder and works from there', async (t) => {
  const folder = temporaryFolder(t)
  // Without its scripts: what they would build is what runs here.
  await npm(root, 'pack', '--ignore-scripts', '--pack-destination', folder)
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  t.match(tarball, /^holdpoint-\d+\.\d+\.\d+.*\.tgz$/)

  const home = join(folder, 'home')
  cpSync(join(folder, tarball), join(home, tarball))
  writeFileSync(join(home, 'package.json'), '{"private":true}')
  // Without its scripts: compiling SQLite takes longer than all other tests. Where it must be compiled, the repository has
  // done so already.
  const { stderr } = await npm(home, 'install', '--ignore-scripts', '--prefer-offline', '--omit=dev', `./${tarball}`)
  t.notMatch(stderr, /EBADENGINE/, 'every package is for this Node')
  const compiled = 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'
  if (Number(process.versions.napi) < 10) cpSync(join(root, compiled), join(home, compiled))

  const installed = join(home, 'node_modules/holdpoint')
  const files = filesBelow(installed).map((file) => relative(installed, file))
  t.ok(files.includes('dist/src/server.js'))
  t.ok(files.includes('openapi.yaml'))
  t.ok(files.includes('presets/coding-agents.yaml'))
  t.ok(files.includes('policy.schema.json'))
  for (const file of ['hermes/__init__.py', 'hermes/client/__init__.py', 'openclaw/openclaw.plugin.json']) {
    t.ok(files.includes(`dist/integrations/${file}`), file)
  }
  // A plugin is copied to where its host looks for it, and nothing of the package is there.
  cpSync(join(installed, 'dist/integrations/openclaw'), join(folder, 'plugin'), { recursive: true })
  const { stdout: plugin } = await promisify(execFile)(process.execPath, [
    '-p',
    `import(${JSON.stringify(join(folder, 'plugin/index.js'))}).then(({ default: { register } }) =>
       register({ on: (hook, fn) => fn({ toolName: 'exec', params: {} }).then((said) => console.log(hook, said)) }))`,
  ])
  t.match(plugin, /before_tool_call \{[^]*block: true,[^]*does not know where Holdpoint is/)
  t.same(
    files.filter((file) => /test|bench|scripts|\.map$|(?<!\.d)\.ts$|tsbuildinfo/.test(file)),
    [],
    'no tests, no source maps, no sources',
  )
  const traces = [root.replace(/\/$/, ''), homedir(), hostname()].filter((trace) => trace.length > 4)
  t.same(
    files.filter((file) => traces.some((trace) => readFileSync(join(installed, file), 'utf8').includes(trace))),
    [],
    'no paths or names of this machine',
  )

  await importIt(t, home)

  const bin = join(home, 'node_modules/.bin/holdpoint')
  t.ok(existsSync(bin))
  t.ok(statSync(bin).mode & 0o100, 'it can be executed')
  const { stdout } = await promisify(execFile)(bin, ['--version'])
  t.match(stdout, /^\d+\.\d+\.\d+/)
  const npx = (...args: string[]) => promisify(execFile)('npx', ['holdpoint', ...args], { cwd: home })
  t.match((await npx('--help')).stdout, /^Holdpoint holds [^]*Usage: npx holdpoint \[command\]/)
  const dbPath = join(folder, 'keys', 'test.db')
  t.match((await npx('keys', 'add', '--name', 'ann', '--role', 'admin', '--db-path', dbPath)).stdout, /^hpk_\w+\n$/)
  const refused = npx('keys', 'revoke', 'bob', '--db-path', dbPath)
  await t.rejects(refused, {
    code: 1,
    stderr: `There is no key of bob; to see those there are: npx holdpoint keys list --db-path ${dbPath}`,
  })
  const program = await start(t, { file: bin })
  const { body, status } = await program.submit()
  t.equal(status, 202)
  t.equal((await program.call('POST', `/confirm/${body.id}/approve`, { approver: 'alice' })).status, 200)
  t.match((await program.call('GET', `/confirm/${body.id}`)).body, { status: 'approved', resolved_by: 'alice' })
  t.equal((await program.stop()).code, 0)
})

const program = `import { buildSessionKey, isShared, parseSessionKey, type SessionSource } from 'holdpoint'
const source: SessionSource = { platform: 'telegram', chatType: 'group', chatId: -1001, userId: '8' }
const key: string = buildSessionKey(source)
const ids: string[] = parseSessionKey(key)!.ids
console.log(key, ids.length, isShared(source, { groupSessionsPerUser: false }))
`

/** What somebody's agent is made of. */
const agent = `import { type ApprovalRequest, Denied, Holdpoint, HoldpointError } from 'holdpoint/client'
import { guardTools } from 'holdpoint/client/ai-sdk'
import { guardTools as guardHooks } from 'holdpoint/client/claude-agent-sdk'
import { guardTools as guardCalls } from 'holdpoint/client/langchain'
import { guardTool } from 'holdpoint/client/openai-agents'
const holdpoint = Holdpoint.fake({ answer: ({ details }) => (details.order === 1 ? 'approved' : 'denied') })
interface Refund { order: number; to: { name: string } }
const refund = holdpoint.guard('refund', ({ order, to }: Refund) => [order, to.name] as const, {
  describe: ({ to }) => to.name,
})
const [order, name]: readonly [number, string] = await refund({ order: 1, to: { name: 'bob' } }, { idempotencyKey: 'a' })
const error: unknown = await refund({ order: 2, to: { name: 'bob' } }).catch((error: unknown) => error)
const code: string = error instanceof HoldpointError ? error.code : ''
const by: string = error instanceof Denied ? error.by : ''
const asked: ApprovalRequest<Refund> = await holdpoint.request({ action: 'refund', description: 'x', details: { order: 3, to: { name: '' } } })
// As people have written it, with a list that is not readonly.
const count = (details: { to: string[] }) => details.to.length
holdpoint.guard('send', count, { describe: ({ to }) => to.join() })({ to: ['a'] }).catch(() => {})
// @ts-expect-error an argument that the function does not have
refund({ ordr: 1, to: { name: 'bob' } }).catch(() => {})
const tools = guardTools(holdpoint, { a: { execute: () => 1 } })
const one = guardTool(holdpoint, { name: 'a', execute: () => 1 })
console.log(order, name, code, by, asked.details.to.name.length, Object.keys(guardHooks(holdpoint)).length, typeof guardCalls(holdpoint), typeof tools.a.execute, one.name)
`

/** A program of somebody else's: it finds the types, compiles and runs. */
async function importIt(t: Test, home: string): Promise<void> {
  const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: home })
  writeFileSync(join(home, 'program.mts'), program)
  // Node's own types are not installed there: the package's must do without. The console is that of browsers.
  const flags = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--strict']
  await node(join(root, 'node_modules/typescript/bin/tsc'), ...flags, 'program.mts')
  t.equal((await node('program.mjs')).stdout, 'agent:main:telegram:group:-1001:8 2 true\n')
  writeFileSync(join(home, 'agent.mts'), agent)
  for (const flags of ['--module node16', '--module preserve --moduleResolution bundler']) {
    const compile = [
      ...flags.split(' '),
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--strict',
      '--exactOptionalPropertyTypes',
    ]
    await node(join(root, 'node_modules/typescript/bin/tsc'), ...compile, 'agent.mts')
  }
  t.equal((await node('agent.mjs')).stdout, '1 bob denied fake 0 3 function function a\n')
  for (const name of ['package.json', 'openapi.yaml', 'policy.schema.json']) {
    const { stdout } = await node('-p', `require.resolve('holdpoint/${name}')`)
    t.ok(existsSync(stdout.trim()), `${name} can be found`)
  }
  await t.rejects(node('-p', "require.resolve('holdpoint/dist/src/app.js')"), /ERR_PACKAGE_PATH_NOT_EXPORTED/)
}
