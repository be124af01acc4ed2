// Installed as a user does it, the hook of the settings is run as its host runs it: a person decides, and without the key nothing goes.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { wordsOf } from '../../src/cli/install/words.js'
import { temporaryFolder } from '../support.js'
import { type Program, run, serverFile, start } from './program.js'

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** A home of its own, in a folder that a shell would take apart. */
async function prepare(t: Test) {
  const home = join(temporaryFolder(t), `it's a "home"`)
  mkdirSync(home)
  const program = await start(t)
  const env = {
    HOME: home,
    XDG_CONFIG_HOME: '',
    PATH: '/usr/bin:/bin',
    HOLDPOINT_URL: `http://127.0.0.1:${program.port}`,
  }
  const install = (...words: string[]) => run(t, ['install', ...words, '--db-path', program.dbPath], env)
  const keyOf = (name: RegExp) => {
    const folder = join(home, '.config/holdpoint/keys')
    return readFileSync(
      join(
        folder,
        readdirSync(folder).find((one) => name.test(one))!,
      ),
      'utf8',
    ).trim()
  }
  return { home, program, install, keyOf, env }
}

/** As a host runs it: through a shell, or the words alone, with nothing of this environment. */
function runHook(command: string, input: object, isShell: boolean): Promise<Ended> {
  const [file, ...words] = isShell ? ['/bin/sh', '-c', command] : wordsOf(command)!
  return new Promise((resolve) => {
    const child = spawn(file!, words, { env: { PATH: '/usr/bin:/bin' }, cwd: '/' })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(JSON.stringify(input))
  })
}

/** Once it is pending, however long the hook takes to start. */
async function decide(t: Test, program: Program, key: string, verdict: 'approve' | 'deny'): Promise<string> {
  const headers = { authorization: `Bearer ${key}` }
  for (;;) {
    const { body } = await program.call('GET', '/confirm?status=pending', undefined, headers)
    const [pending] = body.confirmations as { id: string; action: string }[]
    if (pending !== undefined) {
      const reason = verdict === 'deny' ? { reason: 'not today' } : {}
      t.match(await program.call('POST', `/confirm/${pending.id}/${verdict}`, reason, headers), { status: 200 })
      return pending.action
    }
    await sleep(20)
  }
}

t.test('Claude Code: held, approved, allowed; held, denied, denied; and after --undo the key is nobody', async (t) => {
  const { home, program, install, keyOf } = await prepare(t)
  t.match(await install('claude-code', '--yes'), { code: 0 })
  const { hooks } = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'))
  const { command } = hooks.PreToolUse[0].hooks[0] as { command: string }
  const call = (n: number) => ({
    session_id: 's',
    cwd: '/tmp',
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: `rm -rf ${n}` },
    tool_use_id: `t${n}`,
  })
  const operator = keyOf(/^(?!claude-code)/)
  const agent = keyOf(/^claude-code/)

  const approved = runHook(command, call(1), true)
  t.equal(await decide(t, program, operator, 'approve'), 'tool:Bash')
  t.match(JSON.parse((await approved).stdout), { hookSpecificOutput: { permissionDecision: 'allow' } })
  const denied = runHook(command, call(2), true)
  await decide(t, program, operator, 'deny')
  t.match(JSON.parse((await denied).stdout), {
    hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: /not today/ },
  })

  t.match(await install('claude-code', '--check'), { code: 0, stdout: /^Claude Code is closed\.\n/ })
  t.match(await install('claude-code', '--undo'), { code: 0 })
  t.equal((await program.call('GET', '/confirm', undefined, { authorization: `Bearer ${agent}` })).status, 401)
  const after = await runHook(command, call(3), true)
  t.notMatch(after.stdout, /allow/, 'a session that still has the hook is told no')
  t.match(after.stdout + after.stderr, /not approved/)
  t.match(await install('claude-code', '--check'), { code: 1, stdout: /NOT CLOSED/ })
})

t.test('Hermes: held, approved, allowed, by the words alone', async (t) => {
  const { home, program, install, keyOf } = await prepare(t)
  t.match(await install('hermes', '--yes'), { code: 0 })
  const { hooks } = parse(readFileSync(join(home, '.hermes/config.yaml'), 'utf8'))
  const { command } = hooks.pre_tool_call[0] as { command: string }
  const call = {
    hook_event_name: 'pre_tool_call',
    tool_name: 'terminal',
    tool_input: { command: 'make' },
    session_id: 's',
    cwd: '/tmp',
    profile: 'default',
    extra: {},
  }
  const ended = runHook(command, call, false)
  await decide(t, program, keyOf(/^(?!hermes)/), 'approve')
  t.match(await ended, { code: 0, stdout: '{}' })
  await program.stop()
  t.match(await runHook(command, call, false), { code: 2 })
})

t.test('OpenClaw: the plugin that is installed is there, and blocks where nobody answers', async (t) => {
  const { install } = await prepare(t)
  t.match(await install('openclaw', '--yes'), { code: 0 })
  t.match(await install('openclaw', '--check'), {
    code: 0,
    stdout: /^OpenClaw is closed\.\nTried .*: it blocked the call\./,
  })
})

t.test('it is killed at any moment: doing it again completes it, and one key and one hook are there', async (t) => {
  const { home, program, install, env, keyOf } = await prepare(t)
  t.match(await install('codex', '--yes'), { code: 0 })
  for (const ms of [150, 300, 450]) {
    await new Promise<void>((resolve) => {
      const words = ['install', 'claude-code', '--db-path', program.dbPath]
      const child = execFile(process.execPath, [serverFile, ...words], { env }, () => resolve())
      setTimeout(() => child.kill('SIGKILL'), ms)
    })
  }
  t.match(await install('claude-code'), { code: 0 })
  const { hooks } = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'))
  t.equal(hooks.PreToolUse.length, 1)
  const { stdout } = await run(t, ['keys', 'list', '--json', '--db-path', program.dbPath])
  const live = (JSON.parse(stdout) as { name: string; state: string }[]).filter(
    (one) => one.name.startsWith('claude-code') && one.state === 'live',
  )
  t.equal(live.length, 1)
  t.equal(readdirSync(join(home, '.config/holdpoint/keys')).length, 3)
  t.equal(
    (await program.call('GET', '/confirm', undefined, { authorization: `Bearer ${keyOf(/^claude-code/)}` })).status,
    200,
  )
})
