// Hooks against the real program: never two calls for one approval, whatever ends it, and a denial for whatever is wrong.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder, until } from '../support.js'
import { needs } from '../needs.js'
import { faultyDisk } from './faulty-disk.js'
import { dial, httpRequest, type Program, start, type StartOptions } from './program.js'

const path = '/hooks/claude-code'
const flags = ['--rate-limit', '100000', '--flood-limit', '0']

const bash = (command: string, tool_use_id = 'toolu_1') => ({
  hook_event_name: 'PreToolUse',
  session_id: 's1',
  cwd: '/home/ann',
  tool_name: 'Bash',
  tool_input: { command, description: 'In the words of the model' },
  tool_use_id,
})

/** What it was told: `allow`, or `deny` and why. Anything else than a decision throws. */
async function ask(program: Program, body: unknown, seconds = 1, headers = {}): Promise<string> {
  const answer = await program.call('POST', `${path}?timeout=${seconds}`, body, headers)
  const { permissionDecision, permissionDecisionReason } = answer.body.hookSpecificOutput
  if (answer.status !== 200) throw new Error(`status ${answer.status}`)
  return permissionDecision === 'allow' ? 'allow' : `${permissionDecision} ${permissionDecisionReason}`
}

async function requests(program: Program): Promise<any[]> {
  return (await program.call('GET', '/audit?limit=500')).body.entries.toReversed()
}

async function again(t: Test, program: Program, options: StartOptions = {}): Promise<Program> {
  await program.crash()
  return start(t, { flags, dbPath: program.dbPath, ...options })
}

t.test('killed between approval and claim, the approval is there for the same call, once', async (t) => {
  let program = await start(t, { flags })
  t.match(await ask(program, bash('make release')), /^deny Still pending/)
  const [{ id }] = await requests(program)
  const waiting = ask(program, bash('make release'), 600).catch(() => 'cut off')
  await until(async () => /listeners\{of="one"\} 1/.test((await program.call('GET', '/metrics')).body))
  program = await again(t, program)
  t.equal(await waiting, 'cut off', 'whoever waits is told nothing')
  await program.call('POST', `/confirm/${id}/approve`)
  program = await again(t, program)
  t.same(
    (await Promise.all(Array.from({ length: 10 }, () => ask(program, bash('make release'))))).filter(
      (said) => said === 'allow',
    ).length,
    1,
  )
  program = await again(t, program)
  t.match(await ask(program, bash('make release')), /^deny Still pending/, 'the next is another request')
  const done = { ...bash('make release'), hook_event_name: 'PostToolUse' }
  t.same((await program.call('POST', path, done)).body, {})
  const [first, ...others] = await requests(program)
  t.match(first, { id, execution: 'succeeded' })
  for (const one of others) t.match(one, { status: 'pending' })
})

t.test('killed again and again while calls are claimed, none is allowed twice for one approval', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const commands = Array.from({ length: 20 }, (_, n) => `step ${n}`)
  const allowed = new Map<string, number>()
  let program = await start(t, { flags, dbPath })
  await Promise.all(commands.map((command) => ask(program, bash(command))))
  const ids = (await requests(program)).map(({ id }) => ({ id, verdict: 'approve' }))
  await program.call('POST', '/decisions', { decisions: ids })
  for (let round = 0; round < 3; round++) {
    let count = 0
    const calls = commands
      .flatMap((command) => [command, command])
      .map(async (command) => {
        const said = await ask(program, bash(command)).catch(() => 'cut off')
        if (said === 'allow') allowed.set(command, (allowed.get(command) ?? 0) + 1)
        if ((count += 1) === 3 + 5 * round) program.child.kill('SIGKILL')
      })
    await Promise.all(calls)
    program = await again(t, program)
  }
  for (const [command, times] of allowed) t.equal(times, 1, command)
  const claimed = (await requests(program)).filter(({ execution }) => execution === 'claimed')
  t.ok(allowed.size <= claimed.length, 'each that was allowed is on disk as claimed')
  t.same(new Set(claimed.map(({ details }) => details.tool_input.command)).size, claimed.length)
})

t.test('SIGTERM: who waits is denied and asked to come again, and nothing is lost', async (t) => {
  const program = await start(t, { flags })
  const wire = await dial(t, program.port)
  wire.socket.write(httpRequest('POST', `${path}?timeout=600`, bash('ls')))
  await until(async () => /listeners\{of="one"\} 1/.test((await program.call('GET', '/metrics')).body))
  program.child.kill('SIGTERM')
  const answer = await wire.answer()
  t.match(answer, {
    status: 200,
    body: { hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: /^Still pending, ID / } },
  })
  t.match(await program.exited, { code: 0 })
  const next = await start(t, { flags, dbPath: program.dbPath })
  const [{ id }] = await requests(next)
  await next.call('POST', `/confirm/${id}/approve`)
  t.equal(await ask(next, bash('ls')), 'allow')
})

t.test('what would be 400, 401, 413, 429 or 503 is 200 and a denial', async (t) => {
  const program = await start(t, { flags: ['--rate-limit', '1'] })
  t.match(await ask(program, '{'), /^deny .*\(not_json\)/)
  t.match(await ask(program, bash('a')), /^deny Still pending/)
  t.match(await ask(program, bash('b')), /^deny .*\(rate_limited\)/)

  const flooded = await start(t, { flags: ['--flood-limit', '1'] })
  await ask(flooded, bash('a'))
  t.match(await ask(flooded, bash('a')), /^deny .*\(flood_limited\)/)

  const closed = await start(t, { env: { CONFIRMATION_AUTH: 'keys' } })
  t.match(await ask(closed, bash('a')), /^deny .*\(unauthorized\)/)
  t.match(await ask(closed, bash('a'), 1, { authorization: 'Bearer hpk_no' }), /^deny .*\(unauthorized\)/)

  const large = await dial(t, program.port)
  large.socket.write(httpRequest('POST', path, 'x'.repeat(1024 * 1024 + 1)))
  const expecting = await dial(t, program.port)
  expecting.socket.write(httpRequest('POST', path, bash('a'), ['Expect: something']))
  for (const [wire, code] of [
    [large, 'body_too_large'],
    [expecting, 'expectation_failed'],
  ] as const) {
    const denied = { permissionDecision: 'deny', permissionDecisionReason: `(${code})` }
    t.match(await wire.answer(), { status: 200, body: { hookSpecificOutput: denied } })
  }
})

t.test('a disk that is slow, or fails, is a denial while the host still listens', async (t) => {
  if (!needs(t, 'a disk with faults')) return
  const disk = faultyDisk(t)
  const program = await start(t, { flags, env: disk.env })
  await ask(program, bash('a'))
  const [{ id }] = await requests(program)
  await program.call('POST', `/confirm/${id}/approve`)
  disk.set('fail')
  t.match(await ask(program, bash('a')), /^deny .*\((outcome_unknown|storage_unavailable)\)/)
  disk.set('slow 900')
  t.match(await ask(program, bash('b')), /^deny Holdpoint took too long/)
  disk.set('')
})
