// Hooks of hosts against the real service: approved, denied, late, retried, and the service going away; and a whole session.
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { play } from '../client/played-server.js'
import {
  type Call,
  claudeCode,
  codex,
  generic,
  hermes,
  type Host,
  ruleOverHttp,
  type Ruling,
  runHook,
  startHook,
} from '../hooks/hosts.js'
import { build, until } from '../support.js'
import { type Program, root, start } from './program.js'

// They wait most of the time.
t.jobs = 3

const preset = ['--policy', join(root, 'presets/coding-agents.yaml')]
const urlOf = ({ port }: Pick<Program, 'port'>) => `http://127.0.0.1:${port}`

/** A host with its hook set up, and what it does with a call. */
interface Way {
  name: string
  make: (t: Test, program: Pick<Program, 'port'>, call: Call, timeoutSeconds?: number, key?: string) => Promise<Ruling>
}

const byCommand = (host: Host): Way => ({
  name: host.name,
  async make(t, program, call, timeoutSeconds = 60, key = '') {
    const env = { HOLDPOINT_URL: urlOf(program), HOLDPOINT_KEY: key }
    return host.rule(await runHook(t, host, host.before(call), { env, timeoutSeconds }))
  },
})

/** None has its fail-closed switch on: here every answer is one. */
const ways: Way[] = [
  ...[claudeCode(), codex, hermes(false), generic].map(byCommand),
  {
    name: 'claude-code, http',
    make: (_t, program, call, timeoutSeconds = 60, key = '') =>
      ruleOverHttp(call, {
        url: `${urlOf(program)}/hooks/claude-code?timeout=${timeoutSeconds}`,
        headers: key === '' ? {} : { authorization: `Bearer ${key}` },
        timeoutSeconds,
      }),
  },
]

/** Of each host another one. */
const callOf = (way: Way, session = way.name): Call => ({
  tool: 'Bash',
  input: { command: `git push --force ${way.name}` },
  session,
  id: `id of ${way.name}`,
})

async function pendingOf({ call }: Program): Promise<any[]> {
  return (await call('GET', '/confirm?status=pending')).body.confirmations
}

/** Waits until so many wait, and decides them all. */
async function decideAll(program: Program, count: number, verdict: 'approve' | 'deny', body: object): Promise<void> {
  await until(async () => (await pendingOf(program)).length === count)
  for (const { id } of await pendingOf(program)) {
    const { status } = await program.call('POST', `/confirm/${id}/${verdict}`, body)
    if (status !== 200) throw new Error(`${status}`)
  }
}

t.test('approved: every host makes the call, once; denied: none does', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const first = Promise.all(ways.map((way) => way.make(t, program, callOf(way))))
  await decideAll(program, ways.length, 'approve', { approver: 'alice' })
  for (const [index, ruling] of (await first).entries()) t.equal(ruling.isMade, true, ways[index]!.name)
  const entries = (await program.call('GET', '/audit')).body.entries as any[]
  t.ok(entries.every(({ execution }) => execution === 'claimed'))

  const again = Promise.all(ways.map((way) => way.make(t, program, callOf(way))))
  await decideAll(program, ways.length, 'deny', { denier: 'bob', reason: 'not before the audit' })
  for (const [index, ruling] of (await again).entries()) {
    t.match(ruling, { isMade: false, told: /bob denied this, because: not before the audit/ }, ways[index]!.name)
  }
  const insisting = await Promise.all(ways.map((way) => way.make(t, program, callOf(way))))
  for (const [index, { isMade }] of insisting.entries()) t.equal(isMade, false, ways[index]!.name)
  t.same(await pendingOf(program), [], 'nobody is asked again')
})

t.test('expired: no host makes the call, and the same one again asks anew', { buffered: true }, async (t) => {
  const { app, clock, service, call } = await build(t, { rules: 'rules: [{ action: "tool:*", timeout: 30 }]' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const program = app.server.address() as AddressInfo
  const rulings = Promise.all(ways.map((way) => way.make(t, program, callOf(way))))
  await until(() => service.countListeners().one === ways.length)
  await clock.advance(30_000)
  for (const [index, ruling] of (await rulings).entries()) {
    t.match(ruling, { isMade: false, told: /Nobody answered in time: the request .* expired/ }, ways[index]!.name)
  }
  const late = (await call('GET', '/audit')).body.entries as any[]
  t.equal((await call('POST', `/confirm/${late[0].id}/approve`)).status, 409)
})

t.test('a program is told which confirmation it is about', { buffered: true }, async (t) => {
  const program = await start(t)
  const env = { HOLDPOINT_URL: urlOf(program) }
  const idIn = ({ stdout }: { stdout: string }) => (JSON.parse(stdout) as { id?: string }).id
  const ask = () => runHook(t, generic, { action: 'ping' }, { env, timeoutSeconds: 6 })
  const waited = await ask()
  const [{ id }] = await pendingOf(program)
  t.equal(idIn(waited), id)
  await decideAll(program, 1, 'approve', { approver: 'alice' })
  t.equal(idIn(await ask()), id)
})

t.test(
  'without the command, a service that is no service is a no by onFailure alone',
  { buffered: true },
  async (t) => {
    const yes = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    const { url } = await play(t, (request, response) => {
      const what = request.url!.slice(1)
      if (what === 'cut') response.writeHead(200, { 'content-length': 500 }).write(yes, () => request.socket.destroy())
      else if (what === 'redirect') response.writeHead(307, { location: '/yes' }).end()
      else if (what === '500') response.writeHead(500).end(yes)
      else if (what === 'yes') response.end(yes)
      else if (what === 'empty') response.end()
      else if (what === 'garbage') response.end('<h1>It works</h1>')
      else if (what !== 'slow') request.socket.destroy()
    })
    const call: Call = { tool: 'Bash', input: {} }
    const isMade = async (to: string, more: { onFailure?: 'block' }) =>
      (await ruleOverHttp(call, { url: `${url}/${to}`, timeoutSeconds: to === 'slow' ? 0.2 : 60, ...more })).isMade
    const ways = (to: string) => Promise.all([isMade(to, { onFailure: 'block' }), isMade(to, {})])
    for (const what of ['away', 'slow', '500', 'redirect', 'cut']) t.same(await ways(what), [false, true], what)
    // Of something in between: no decision, and no failure.
    for (const what of ['empty', 'garbage']) t.same(await ways(what), [true, true], what)
  },
)

t.test('approved late and retried: it is made once', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const late = await Promise.all(ways.map((way) => way.make(t, program, callOf(way), 5)))
  for (const [index, ruling] of late.entries()) {
    t.match(ruling, { isMade: false, told: /Still pending, ID [0-9a-f-]{36}: / }, ways[index]!.name)
  }
  await decideAll(program, ways.length, 'approve', { approver: 'alice' })
  const retried = await Promise.all(ways.map((way) => way.make(t, program, callOf(way), 5)))
  for (const [index, { isMade }] of retried.entries()) t.equal(isMade, true, ways[index]!.name)
  const third = await Promise.all(ways.map((way) => way.make(t, program, callOf(way), 5)))
  for (const [index, { isMade }] of third.entries()) t.equal(isMade, false, ways[index]!.name)
  t.equal((await pendingOf(program)).length, ways.length, 'which asks anew')
})

t.test('nobody is let in by a key that is none, and an operator is no agent', { buffered: true }, async (t) => {
  const program = await start(t, { flags: [...preset, '--auth', 'keys'] })
  const wrong = await Promise.all(ways.map((way) => way.make(t, program, callOf(way), 5, 'hpk_0000_wrong')))
  for (const [index, ruling] of wrong.entries()) t.match(ruling, { isMade: false, told: /key/ }, ways[index]!.name)
})

t.test('the service is killed while hooks wait: no call is made', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const hosts = [claudeCode(), codex, hermes(false), generic]
  const rulings = Promise.all(hosts.map((host) => byCommand(host).make(t, program, callOf(byCommand(host)))))
  await until(async () => (await pendingOf(program)).length === hosts.length)
  await program.crash()
  for (const ruling of await rulings) t.match(ruling, { isMade: false, told: /cannot be reached/ })
})

t.test('the service is stopped while hooks wait: no call is made', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const rulings = Promise.all(ways.map((way) => way.make(t, program, callOf(way))))
  await until(async () => (await pendingOf(program)).length === ways.length)
  await program.stop()
  for (const [index, { isMade }] of (await rulings).entries()) t.equal(isMade, false, ways[index]!.name)
})

t.test('the service is killed and comes back: the hook joins what it had asked for', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const { dbPath, port } = program
  const hosts = [claudeCode(), codex]
  const made = Promise.all(hosts.map((host) => byCommand(host).make(t, program, callOf(byCommand(host)))))
  await until(async () => (await pendingOf(program)).length === hosts.length)
  const before = (await pendingOf(program)).map(({ id }) => id as string).sort()
  await program.crash()
  const back = await start(t, { dbPath, flags: [...preset, '--port', String(port)] })
  t.same((await pendingOf(back)).map(({ id }) => id as string).sort(), before)
  await decideAll(back, hosts.length, 'approve', { approver: 'alice' })
  // A machine that takes longer to start it than a hook asks again has said no; then the agent's own retry finds the approval.
  for (const [index, ruling] of (await made).entries()) {
    const host = hosts[index]!
    if (!ruling.isMade)
      t.match(await byCommand(host).make(t, back, callOf(byCommand(host))), { isMade: true }, host.name)
  }
  const entries = (await back.call('GET', '/audit')).body.entries as any[]
  t.same(entries.map(({ id }) => id as string).sort(), before, 'nobody was asked twice')
  t.ok(entries.every(({ execution }) => execution === 'claimed'))
})

t.test('a hook that is killed leaves its request to the same call again', { buffered: true }, async (t) => {
  const program = await start(t, { flags: preset })
  const env = { HOLDPOINT_URL: urlOf(program) }
  const call: Call = { tool: 'Bash', input: { command: 'git push' } }
  const host = claudeCode('block')
  const killed = startHook(t, host, host.before(call), { env })
  await until(async () => (await pendingOf(program)).length === 1)
  killed.child.kill('SIGKILL')
  t.equal(host.rule(await killed.ran).isMade, false)
  const again = runHook(t, host, host.before({ ...call, id: 'another' }), { env })
  await decideAll(program, 1, 'approve', { approver: 'alice' })
  t.equal(host.rule(await again).isMade, true)
  t.equal((await program.call('GET', '/audit')).body.count, 1)
})

t.test(
  'a session of ten calls: reading passes, three are held, and the record tells it',
  { buffered: true },
  async (t) => {
    const program = await start(t, { flags: preset })
    const env = { HOLDPOINT_URL: urlOf(program) }
    const host = claudeCode('block')
    const session = 'a-session'
    /** What the hook before and, where the call is made, the one after it say. */
    async function act(
      tool: string,
      input: Record<string, unknown>,
      number: number,
      hasFailed = false,
    ): Promise<boolean> {
      const call = { tool, input, session, id: `toolu_${number}` }
      const { isMade } = host.rule(await runHook(t, host, host.before(call), { env }))
      if (isMade) {
        const told = await runHook(t, host, host.after(call, hasFailed), { env })
        t.match(told, { code: 0, stdout: '', stderr: '' })
      }
      return isMade
    }
    async function decide(verdict: 'approve' | 'deny', body: object): Promise<string> {
      await until(async () => (await pendingOf(program)).length === 1)
      const [{ id, description }] = await pendingOf(program)
      t.equal((await program.call('POST', `/confirm/${id}/${verdict}`, body)).status, 200)
      return description
    }
    const made: boolean[] = []
    const reads: [tool: string, input: Record<string, unknown>][] = [
      ['Read', { file_path: '/home/ann/shop/README.md' }],
      ['Glob', { pattern: 'src/**' }],
      ['Grep', { pattern: 'password', path: 'src' }],
      ['Read', { file_path: '/home/ann/shop/src/pay.ts' }],
    ]
    for (const [tool, input] of reads) made.push(await act(tool, input, made.length))
    t.same(await pendingOf(program), [], 'nobody is asked about reading')

    const push = act('Bash', { command: 'git push --force', description: 'Publish' }, made.length)
    t.match(await decide('approve', { approver: 'alice' }), 'Run in the shell: git push --force')
    made.push(await push)
    made.push(await act('Read', { file_path: '/home/ann/shop/src/pay.ts' }, made.length))
    const remove = act('Bash', { command: 'git status; rm -rf ~' }, made.length)
    await decide('deny', { denier: 'bob', reason: 'that is my home' })
    made.push(await remove)
    made.push(await act('Grep', { pattern: 'TODO' }, made.length))
    const write = act('Write', { file_path: '/home/ann/.bashrc', content: 'alias ls=rm\n' }, made.length, true)
    t.match(await decide('approve', { approver: 'alice' }), 'Write the file: /home/ann/.bashrc')
    made.push(await write)
    made.push(await act('TodoWrite', { todos: [] }, made.length))
    t.same(made, [true, true, true, true, true, true, false, true, true, true])

    const { entries } = (await program.call('GET', `/audit?session_key=${session}`)).body
    const told = entries.map(({ action, status, resolved_by: by, reason, execution }: any) =>
      [action, status, by, execution ?? reason].join(' | '),
    )
    const passed = (tool: string) => `tool:${tool} | auto_approved | rule:reading in Claude Code | succeeded`
    t.same(told.toReversed(), [
      passed('Read'),
      passed('Glob'),
      passed('Grep'),
      passed('Read'),
      'tool:Bash | approved | alice | succeeded',
      passed('Read'),
      'tool:Bash | denied | bob | that is my home',
      passed('Grep'),
      'tool:Write | approved | alice | failed',
      passed('TodoWrite'),
    ])
    t.same(entries[1].details, {
      tool_input: { file_path: '/home/ann/.bashrc', content: 'alias ls=rm\n' },
      cwd: '/home/ann/shop',
    })
    const events = (await program.events()) as { type: string; confirmation_id: string }[]
    const typesOf = (id: string) => events.filter(({ confirmation_id: of }) => of === id).map(({ type }) => type)
    t.same(
      typesOf(entries[1].id).filter((type) => type !== 'notified'),
      ['submitted', 'approved', 'claimed', 'reported'],
    )
    t.same(
      typesOf(entries[0].id),
      ['submitted', 'auto_approved', 'claimed', 'reported'],
      'nobody is told of what passes',
    )
  },
)
