// holdpoint install --check: what opens a host, what keeps it from working, and what becomes of a made-up call while nobody answers.
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import type { Checked } from '../../../src/cli/install/check.js'
import { claudeCode } from '../../../src/cli/install/claude-code.js'
import { codex } from '../../../src/cli/install/codex.js'
import { hermes } from '../../../src/cli/install/hermes.js'
import type { Ending, Host } from '../../../src/cli/install/host.js'
import { openclaw } from '../../../src/cli/install/openclaw.js'
import { quote } from '../../../src/program.js'
import { command } from '../command.js'
import { type Installer, prepareInstaller, settingsOf } from './installer.js'

async function check(installer: Installer, host: string, ...words: string[]): Promise<Checked & { code: number }> {
  const { code, stdout, stderr } = await installer.install(host, '--check', '--json', ...words)
  if (stdout === '') throw new Error(stderr)
  return { code, ...(JSON.parse(stdout) as Checked) }
}

/** With this done to its settings. */
function edit({ read, write }: Installer, host: keyof typeof settingsOf, change: (settings: any) => void): void {
  const file = settingsOf[host]
  const settings = host === 'hermes' ? parse(read(file)) : JSON.parse(read(file))
  change(settings)
  write(file, host === 'hermes' ? stringify(settings) : JSON.stringify(settings))
}

/** A plugin that blocks where nobody answers, in the form of OpenClaw's. */
function placePlugin({ machine }: Installer, handler: string): void {
  const folder = join(machine.folder, 'dist/integrations/openclaw')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'openclaw.plugin.json'), '{"id":"holdpoint"}')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(folder, 'index.js'),
    `export default { id: 'holdpoint', register(api) { api.on('before_tool_call', ${handler}) } }`,
  )
  machine.program[0] = process.execPath
}
const blocking = `async (event) => { await fetch(api.pluginConfig.url).catch(() => {}); return { block: true, blockReason: event.toolName } }`

async function sayYesInHermes(installer: Installer): Promise<void> {
  const [{ command }] = parse(installer.read(settingsOf.hermes)).hooks.pre_tool_call
  installer.write(
    '.hermes/shell-hooks-allowlist.json',
    JSON.stringify({ approvals: [{ event: 'pre_tool_call', command }] }),
  )
}

t.test('what was installed is closed, as far as the host can be', async (t) => {
  const installer = await prepareInstaller(t)
  const { install, home, project } = installer
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    closed: false,
    problems: [/There is no hook.*there are no settings/],
  })
  await install('claude-code')
  t.match(await check(installer, 'claude-code'), {
    code: 0,
    closed: true,
    problems: [],
    faults: [],
    settings: [join(home, settingsOf['claude-code'])],
    tried: [{ closed: true, because: 'it answered deny' }],
  })
  const said = await install('claude-code', '--check')
  t.match(said, {
    code: 0,
    stdout: /^Claude Code is closed\.\nTried the hook in .* while the service was away: it answered deny\.\n/,
  })

  await install('hermes')
  t.match(await check(installer, 'hermes'), {
    code: 1,
    closed: false,
    problems: [/Hermes skips it until somebody has said yes/],
  })
  await sayYesInHermes(installer)
  t.match(await check(installer, 'hermes'), { code: 0, closed: true, faults: [], tried: [{ because: /exit code 2/ }] })

  t.match((await check(installer, 'codex')).problems, [/runs the call where its hook is late/, /There is no hook/])
  await install('codex')
  t.match(await check(installer, 'codex'), {
    code: 1,
    closed: false,
    problems: [/runs the call where its hook is late/],
    tried: [{ closed: true }],
  })
  t.match(
    (await install('codex', '--check')).stdout,
    /^Codex is NOT CLOSED:\n  - Codex is not closed: it runs the call/,
  )
  t.match((await check(installer, 'mcp', '--project', project)).problems, [/a model may act/, /There is no server/])
  await install('mcp', '--project', project)
  t.same((await check(installer, 'mcp', '--project', project)).faults, [])
  rmSync(join(home, '.config/holdpoint/keys', (await installer.keys()).at(-1)!.name))
  t.match(await check(installer, 'mcp', '--project', project), {
    code: 1,
    closed: false,
    problems: [/a model may act without/],
    faults: [/The server in .* is missing/],
  })
})

t.test('OpenClaw is closed where its plugin blocks, is loaded and has its time', async (t) => {
  const installer = await prepareInstaller(t)
  placePlugin(installer, blocking.replaceAll('\n', ' '))
  await installer.install('openclaw')
  t.match(await check(installer, 'openclaw'), {
    code: 0,
    closed: true,
    faults: [],
    tried: [{ because: 'it blocked the call' }],
  })
  const cases: [change: (plugins: any) => void, sentence: RegExp][] = [
    [(plugins) => (plugins.enabled = false), /plugins\.enabled is false/],
    [(plugins) => (plugins.deny = ['holdpoint']), /plugins\.deny names holdpoint/],
    [(plugins) => (plugins.allow = ['other']), /plugins\.allow does not name holdpoint/],
    [(plugins) => (plugins.entries.holdpoint.enabled = false), /it is not enabled/],
    [(plugins) => (plugins.load.paths = []), /no folder of plugins\.load\.paths/],
    [
      (plugins) => (plugins.load.paths = ['/gone/dist/integrations/openclaw']),
      /cannot be loaded, and OpenClaw goes on without it/,
    ],
    [(plugins) => (plugins.entries.holdpoint.hooks.timeouts.before_tool_call = 900_000), /takes 600000 ms at most/],
  ]
  const whole = installer.read(settingsOf.openclaw)
  for (const [change, sentence] of cases) {
    installer.write(settingsOf.openclaw, whole)
    edit(installer, 'openclaw', ({ plugins }) => change(plugins))
    const { code, closed, problems } = await check(installer, 'openclaw')
    t.match({ code, closed }, { code: 1, closed: false })
    t.ok(
      problems.some((one) => sentence.test(one)),
      `${sentence.source}: ${problems.join(' ')}`,
    )
  }
  installer.write(settingsOf.openclaw, whole)
  edit(installer, 'openclaw', ({ plugins }) => delete plugins.entries.holdpoint.hooks)
  t.match(await check(installer, 'openclaw'), { code: 1, closed: true, faults: [/waits only 15000 ms/] })
  for (const handler of ['() => ({})', '() => undefined', '() => ({ block: false })']) {
    placePlugin(installer, handler)
    t.match((await check(installer, 'openclaw')).tried, [{ closed: false, because: 'it let the call run' }], handler)
  }
})

const opened: [what: string, change: (settings: any) => void, sentence: RegExp][] = [
  ['no onFailure', ({ hooks }) => delete hooks.PreToolUse[0].hooks[0].onFailure, /it has no "onFailure": "block"/],
  [
    'another onFailure',
    ({ hooks }) => (hooks.PreToolUse[0].hooks[0].onFailure = 'continue'),
    /it has no "onFailure": "block"/,
  ],
  [
    'onFailure in the wrong place',
    ({
      hooks: {
        PreToolUse: [group],
      },
    }) => {
      delete group.hooks[0].onFailure
      group.onFailure = 'block'
    },
    /it has no "onFailure": "block"/,
  ],
  [
    'a matcher that leaves out tools',
    ({ hooks }) => (hooks.PreToolUse[0].matcher = 'Bash|Write'),
    /its matcher, "Bash\|Write", may leave out tools/,
  ],
  ['a matcher for MCP alone', ({ hooks }) => (hooks.PreToolUse[0].matcher = 'mcp__.*'), /may leave out tools/],
  [
    'a matcher that leaves out one',
    ({ hooks }) => (hooks.PreToolUse[0].matcher = '^(?!Notebook)'),
    /may leave out tools/,
  ],
  ['a matcher that is none', ({ hooks }) => (hooks.PreToolUse[0].matcher = '['), /may leave out tools/],
  ['async', ({ hooks }) => (hooks.PreToolUse[0].hooks[0].async = true), /"async" is true/],
  ['asyncRewake', ({ hooks }) => (hooks.PreToolUse[0].hooks[0].asyncRewake = true), /"asyncRewake" is true/],
  ['if', ({ hooks }) => (hooks.PreToolUse[0].hooks[0].if = 'Bash(git *)'), /"if" is "Bash\(git \*\)"/],
  ['another type', ({ hooks }) => (hooks.PreToolUse[0].hooks[0].type = 'mcp_tool'), /its type is "mcp_tool"/],
  ['disableAllHooks', (settings) => (settings.disableAllHooks = true), /disableAllHooks is true in .*settings\.json/],
  [
    'an environment without hooks',
    (settings) => (settings.env = { CLAUDE_CODE_SIMPLE: '1' }),
    /CLAUDE_CODE_SIMPLE is set in .*settings\.json/,
  ],
  [
    'an environment that puts a program into the hook',
    (settings) => (settings.env = { NODE_OPTIONS: '--require ./allow.cjs' }),
    /NODE_OPTIONS is set in .*settings\.json: what it loads may answer in the hook's place/,
  ],
  [
    'a file that Claude Code does not take',
    ({ hooks }) => hooks.PreToolUse.push({ matcher: 'Bash' }),
    /settings\.json has hooks that are not as Claude Code wants them/,
  ],
  [
    'a hook that allows whatever happens',
    ({ hooks }) =>
      (hooks.PreToolUse[0].hooks[0].command =
        '/bin/echo \'{"hookSpecificOutput":{"permissionDecision":"allow"}}\' # holdpoint hook claude-code'),
    /it answered "allow" although the service was not there/,
  ],
  [
    'a hook that asks somebody else',
    ({ hooks }) =>
      (hooks.PreToolUse[0].hooks[0].command =
        '/bin/echo \'{"hookSpecificOutput":{"permissionDecision":"ask"}}\' # holdpoint hook claude-code'),
    /it answered "ask"/,
  ],
  [
    'a hook that says nothing',
    ({ hooks }) => (hooks.PreToolUse[0].hooks[0].command = 'true # holdpoint hook claude-code'),
    /it ended without a decision/,
  ],
  ['no hook', ({ hooks }) => delete hooks.PreToolUse, /There is no hook of Holdpoint: it is not in/],
]
t.test('whatever opens Claude Code is found, and the exit code says so', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('claude-code')
  const whole = installer.read(settingsOf['claude-code'])
  for (const [what, change, sentence] of opened) {
    installer.write(settingsOf['claude-code'], whole)
    edit(installer, 'claude-code', change)
    const { code, closed, problems } = await check(installer, 'claude-code')
    t.match({ code, closed }, { code: 1, closed: false }, what)
    t.ok(
      problems.some((one) => sentence.test(one)),
      `${what}: ${problems.join(' ')}`,
    )
  }
})

t.test('a hook over HTTP is closed by onFailure alone', async (t) => {
  const installer = await prepareInstaller(t, { hasKeys: false })
  const hook = { type: 'http', url: `${installer.url}/hooks/claude-code?timeout=600`, timeout: 600, onFailure: 'block' }
  const settings = (one: object) => JSON.stringify({ hooks: { PreToolUse: [{ hooks: [one] }] } })
  installer.write(settingsOf['claude-code'], settings(hook))
  t.match(await check(installer, 'claude-code'), {
    code: 0,
    closed: true,
    tried: [],
    notes: [/no PostToolUse hook/, /no PostToolUseFailure/],
  })
  installer.write(settingsOf['claude-code'], settings({ ...hook, onFailure: undefined }))
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    closed: false,
    problems: [/it has no "onFailure": "block"/],
  })
  installer.write(settingsOf['claude-code'], settings({ ...hook, url: 'http://127.0.0.1:9/hooks/claude-code' }))
  t.match(await check(installer, 'claude-code'), { code: 1, closed: true, faults: [/cannot be reached/] })
  installer.write(settingsOf['claude-code'], settings({ ...hook, url: 'http://[/hooks/claude-code' }))
  t.match(await check(installer, 'claude-code'), { code: 1, closed: true, faults: [/is no address/] })
})

t.test('a matcher that fits all leaves it closed', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('claude-code')
  for (const matcher of ['', '.*', '.', undefined]) {
    edit(installer, 'claude-code', ({ hooks }) => (hooks.PreToolUse[0].matcher = matcher))
    t.match(await check(installer, 'claude-code'), { code: 0, closed: true }, String(matcher))
  }
})

t.test('every place that Claude Code reads is read: user, project, local and managed', async (t) => {
  const installer = await prepareInstaller(t)
  const { install, project, machine } = installer
  await install('claude-code', '--project', project)
  t.match(await check(installer, 'claude-code', '--project', project), { code: 0, closed: true })
  t.match(await check(installer, 'claude-code'), { code: 0 }, 'the folder it is called in counts')

  const local = join(project, '.claude/settings.local.json')
  writeFileSync(local, '{"disableAllHooks":true}')
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    closed: false,
    problems: [/disableAllHooks is true in .*settings\.local\.json/],
  })
  writeFileSync(local, '{"a":')
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    problems: [/settings\.local\.json is no JSON .*Claude Code leaves out the whole file/],
  })
  rmSync(local)
  // It may be one that is never read to its end.
  symlinkSync('/dev/null', local)
  t.match((await check(installer, 'claude-code')).problems, [/settings\.local\.json is no plain file/])
  rmSync(local)

  const managed = join(machine.root, 'etc/claude-code/managed-settings.json')
  mkdirSync(join(machine.root, 'etc/claude-code/managed-settings.d'), { recursive: true })
  for (const [settings, sentence] of [
    ['{"disableAllHooks":true}', /disableAllHooks is true in .*managed-settings\.json/],
    ['{"allowManagedHooksOnly":true}', /allowManagedHooksOnly is true/],
    ['{"strictPluginOnlyCustomization":["hooks"]}', /strictPluginOnlyCustomization/],
  ] as const) {
    writeFileSync(managed, settings)
    t.match(await check(installer, 'claude-code'), { code: 1, closed: false, problems: [sentence] })
  }
  // In the managed settings themselves it runs whatever others say.
  writeFileSync(managed, '{"allowManagedHooksOnly":true}')
  const { hooks } = JSON.parse(readFileSync(join(project, '.claude/settings.json'), 'utf8'))
  writeFileSync(join(machine.root, 'etc/claude-code/managed-settings.d/10-holdpoint.json'), JSON.stringify({ hooks }))
  writeFileSync(join(project, '.claude/settings.json'), '{"disableAllHooks":true}')
  t.match(await check(installer, 'claude-code'), { code: 0, closed: true })

  writeFileSync(join(project, '.claude/settings.json'), JSON.stringify({ hooks }))
  t.match((await check(installer, 'claude-code')).notes.at(-1), /There are 2 hooks of Holdpoint .*One is enough/)
  machine.env.CLAUDE_CODE_SAFE_MODE = '1'
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    problems: [/CLAUDE_CODE_SAFE_MODE is set in the environment/],
  })
})

t.test('a Claude Code that is too old to be closed is found', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('claude-code')
  const folder = join(installer.home, 'bin')
  mkdirSync(folder)
  installer.machine.env.PATH = `${folder}:/usr/bin:/bin`
  for (const [version, code] of [
    ['2.1.294', 1],
    ['2.0.999', 1],
    ['1.9.9', 1],
    ['2.1.295', 0],
    ['2.2.0', 0],
    ['3.0.0', 0],
    ['nonsense', 0],
  ] as const) {
    writeFileSync(join(folder, 'claude'), `#!/bin/sh\necho '${version} (Claude Code)'\n`)
    chmodSync(join(folder, 'claude'), 0o755)
    const checked = await check(installer, 'claude-code')
    t.equal(checked.code, code, version)
    if (code === 1) t.match(checked.problems, [/Claude Code here is .*; only from 2\.1\.295 on/])
    t.equal(
      checked.notes.some((one) => /is not known/.test(one)),
      version === 'nonsense',
      version,
    )
  }
})

t.test('what keeps it from working is told apart from what opens it', async (t) => {
  const installer = await prepareInstaller(t)
  const { install, home, keys, dbPath, machine } = installer
  await install('claude-code')
  const { name, id } = (await keys()).at(-1)!
  const file = join(home, '.config/holdpoint/keys', name)
  const key = readFileSync(file, 'utf8')
  const faults: [what: string, break_: () => unknown, sentence: RegExp][] = [
    [
      'the key is readable by others',
      () => chmodSync(file, 0o644),
      /its key file, .*, can be read or changed by other users \(mode 644\)/,
    ],
    ['the key is missing', () => rmSync(file), /its key file, .*, is missing/],
    ['the key is another text', () => writeFileSync(file, 'x', { mode: 0o600 }), /has no key in it/],
    [
      'the key is revoked',
      async () => {
        writeFileSync(file, key)
        await command(dbPath, 'keys', 'revoke', id)
      },
      /does not take its key/,
    ],
    [
      'the host gives up before the hook',
      () => edit(installer, 'claude-code', ({ hooks }) => (hooks.PreToolUse[0].hooks[0].timeout = 30)),
      /it may take 600 s \(--timeout\), and Claude Code waits 30 s/,
    ],
  ]
  for (const [what, break_, sentence] of faults) {
    await break_()
    const { code, closed, faults: found } = await check(installer, 'claude-code')
    t.match({ code, closed }, { code: 1, closed: true }, what)
    t.ok(
      found.some((one) => sentence.test(one)),
      `${what}: ${found.join(' ')}`,
    )
    t.match((await install('claude-code', '--check')).stdout, /^Claude Code is closed, and no call gets through:\n/)
  }
  // The shell finds no such program, and says no in its place.
  rmSync(machine.program[0]!)
  const gone = await check(installer, 'claude-code')
  t.match(gone, { closed: true, tried: [{ because: 'it ended with exit code 2, which blocks the call' }] })
  t.ok(gone.faults.some((one) => /is not there, or cannot be run/.test(one)))
})

t.test('a hook that is killed is a no, by the shell around it', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('claude-code')
  await installer.install('codex')
  writeFileSync(installer.machine.program[0]!, '#!/bin/sh\nkill -9 $$\n')
  for (const host of ['claude-code', 'codex']) {
    t.match(await check(installer, host), { tried: [{ closed: true, because: /exit code 2/ }] }, host)
  }
})

t.test('a service that is away is a fault, and the hook is tried all the same', async (t) => {
  const installer = await prepareInstaller(t, { isRunning: false })
  await installer.install('claude-code', '--yes')
  t.match(await check(installer, 'claude-code'), {
    code: 1,
    closed: true,
    faults: [/cannot be reached: .*so every call is denied/],
    tried: [{ closed: true }],
  })
})

t.test('the trial never reaches the service: its address is replaced wherever it stands', async (t) => {
  const calls: string[] = []
  const server = createServer((request, response) => {
    calls.push(`${request.method!} ${request.url!}`)
    response.end('{"confirmations":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const installer = await prepareInstaller(t)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { program } = installer.machine
  const asking = `const url = process.argv[process.argv.indexOf('--url') + 1]
for (const one of [url, process.env.HOLDPOINT_URL]) await fetch(one + '/hooks/claude-code', { method: 'POST' }).catch(() => {})
process.exit(2)
`
  writeFileSync(join(installer.home, 'asking.mjs'), asking)
  program.splice(0, 1, process.execPath, join(installer.home, 'asking.mjs'))
  await installer.install('claude-code', '--url', url)
  calls.length = 0
  t.match(await check(installer, 'claude-code'), { closed: true, tried: [{ because: /exit code 2/ }] })
  t.ok(
    calls.every((one) => one.startsWith('GET /confirm')),
    `only the key was looked at: ${calls.join(', ')}`,
  )
})

t.test(
  "settings of a project may be anybody's: what they name is not run, and no key goes where they say",
  async (t) => {
    const installer = await prepareInstaller(t)
    const { install, project, home, machine } = installer
    const asked: unknown[] = []
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization)
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const marker = join(home, 'run')
    const key = installer.write('operator.key', `hpk_${'a'.repeat(12)}_${'b'.repeat(64)}\n`, 0o600)
    const [program] = machine.program as [string]
    const ours = `${quote(program)} hook claude-code --url ${url} --key-file ${key} --timeout 600`
    const commands = [
      `touch ${marker} # holdpoint hook claude-code`,
      `${ours} || { touch ${marker}; exit 2; }`,
      `${ours}; touch ${marker}`,
      `${ours} $(touch ${marker})`,
      ours.replace(quote(program), `/usr/bin/touch ${marker}`),
      // What stands behind is a word of its own only where the usual end is left out.
      `${ours}\\ || { echo 'Not approved.' >&2; exit 2; };touch ${marker}`,
      ours.replace('http:', "'ht'tp:"),
      `${ours} --url ${url}`,
    ]
    mkdirSync(join(project, '.claude'))
    mkdirSync(join(project, '.codex'))
    for (const command of commands) {
      for (const [host, file] of [
        ['claude-code', '.claude/settings.json'],
        ['codex', '.codex/hooks.json'],
      ] as const) {
        const hook = {
          type: 'command',
          command: command.replace('claude-code', host),
          timeout: 600,
          onFailure: 'block',
        }
        writeFileSync(join(project, file), JSON.stringify({ hooks: { PreToolUse: [{ matcher: '*', hooks: [hook] }] } }))
        const checked = await check(installer, host, '--project', project)
        t.match(checked, { code: 1, closed: false, tried: [] }, command)
        t.ok(
          checked.problems.some((one) => /it was not tried/.test(one)),
          command,
        )
      }
    }
    writeFileSync(
      join(project, '.claude/settings.json'),
      JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: ours, onFailure: 'block' }] }] } }),
    )
    t.match(await check(installer, 'claude-code'), {
      code: 1,
      closed: true,
      faults: [/it asks .*, and the service meant here is /],
      tried: [{ closed: true }],
    })
    t.same(asked, [], 'nobody was asked')
    t.throws(() => readFileSync(marker), { code: 'ENOENT' })
    await install('claude-code', '--project', project, '--undo')
  },
)

t.test('whatever opens Hermes is found', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('hermes')
  await sayYesInHermes(installer)
  const whole = installer.read(settingsOf.hermes)
  const cases: [change: (hook: any, settings: any) => void, closed: boolean, sentence: RegExp][] = [
    [(hook) => delete hook.fail_closed, false, /it has no "fail_closed: true"/],
    [(hook) => (hook.fail_closed = 'true'), false, /it has no "fail_closed: true"/],
    [(hook) => (hook.matcher = 'terminal'), false, /its matcher, "terminal", may leave out tools/],
    [(hook) => (hook.command += ' --by x'), false, /until somebody has said yes/],
    [(_, settings) => (settings.hooks = {}), false, /There is no hook/],
    [(hook) => (hook.timeout = 900), true, /its timeout is 900 s, and Hermes waits 300 s/],
    [(hook) => delete hook.timeout, true, /it may take 300 s \(--timeout\), and Hermes waits 60 s/],
  ]
  for (const [change, closed, sentence] of cases) {
    installer.write(settingsOf.hermes, whole)
    edit(installer, 'hermes', (settings) => change(settings.hooks.pre_tool_call[0], settings))
    const checked = await check(installer, 'hermes')
    t.match(checked, { code: 1, closed }, sentence.source)
    t.ok(
      [...checked.problems, ...checked.faults].some((one) => sentence.test(one)),
      sentence.source,
    )
  }
  installer.write(settingsOf.hermes, whole)
  installer.machine.env.HERMES_SAFE_MODE = '1'
  t.match(await check(installer, 'hermes'), { code: 1, problems: [/HERMES_SAFE_MODE/] })
  delete installer.machine.env.HERMES_SAFE_MODE
  rmSync(join(installer.home, '.hermes/shell-hooks-allowlist.json'))
  edit(installer, 'hermes', (settings) => (settings.hooks_auto_accept = true))
  t.match(await check(installer, 'hermes'), { code: 0, closed: true })
  rmSync(installer.machine.program[0]!)
  t.match(await check(installer, 'hermes'), { code: 1, closed: true, faults: [/is not there, or cannot be run/] })
})

t.test('of Codex it says what is wrong beside that it cannot be closed', async (t) => {
  const installer = await prepareInstaller(t)
  await installer.install('codex')
  installer.write('.codex/config.toml', 'model = "x"\n[features]\nother = true\nhooks = false\n\n[tui]\n')
  edit(installer, 'codex', ({ hooks }) => (hooks.PreToolUse[0].matcher = '^Bash$'))
  const { problems, code } = await check(installer, 'codex')
  t.equal(code, 1)
  for (const sentence of [/is not closed/, /turned off in config\.toml/, /its matcher, .* may leave out tools/]) {
    t.ok(
      problems.some((one) => sentence.test(one)),
      problems.join(' '),
    )
  }
  installer.write('.codex/config.toml', '[features]\nhooks = true\n[other]\nhooks = false\n')
  t.notOk((await check(installer, 'codex')).problems.some((one) => /config\.toml/.test(one)))
})

// -- what the hosts make of an end ---------------------------------------------------------------------------------------

const deny =
  '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'
const allow = deny.replace('"deny"', '"allow"')
const ends: Record<string, Partial<Ending>> = {
  deny: { code: 0, stdout: deny },
  'deny and exit 1': { code: 1, stdout: deny },
  'exit 2 with words': { code: 2, stderr: 'no' },
  'exit 2 without words': { code: 2 },
  block: { code: 0, stdout: '{"decision":"block","reason":"no"}' },
  allow: { code: 0, stdout: allow },
  nothing: { code: 0 },
  'an empty object': { code: 0, stdout: '{}' },
  garbage: { code: 0, stdout: 'Segmentation fault' },
  'half an object': { code: null, stdout: '{' },
  'exit 1': { code: 1, stderr: 'broken' },
  killed: { code: null },
  late: { code: null, isTimedOut: true },
  'not started': { code: null, error: 'ENOENT' },
}
/** In which of these the host does not run the call. */
const closedIn: Record<string, string[]> = {
  'claude-code': [
    'deny',
    'deny and exit 1',
    'exit 2 with words',
    'exit 2 without words',
    'half an object',
    'exit 1',
    'killed',
    'late',
    'not started',
  ],
  'claude-code without its switch': ['deny', 'deny and exit 1', 'exit 2 with words', 'exit 2 without words'],
  codex: ['deny', 'exit 2 with words'],
  hermes: ['exit 2 with words', 'exit 2 without words', 'block', 'garbage', 'half an object', 'late', 'not started'],
  'hermes without its switch': ['exit 2 with words', 'exit 2 without words', 'block'],
  openclaw: ['late'],
}
t.test('each end of a hook is judged as its host judges it', async (t) => {
  const installer = await prepareInstaller(t)
  placePlugin(installer, '() => ({})')
  const hosts: Record<string, Host> = { 'claude-code': claudeCode, codex, hermes, openclaw }
  for (const [which, closed] of Object.entries(closedIn)) {
    const host = which.split(' ')[0]! as keyof typeof settingsOf
    await installer.install(host)
    if (which.includes('without')) {
      edit(installer, host, ({ hooks }) => {
        delete hooks.PreToolUse?.[0].hooks[0].onFailure
        delete hooks.pre_tool_call?.[0].fail_closed
      })
    }
    const { attempt } = hosts[host]!.inspect({ machine: installer.machine, project: null }).hooks[0]!
    const found = Object.entries(ends).filter(([, end]) => {
      return attempt!.judge({ isTimedOut: false, code: null, stdout: '', stderr: '', ...end }).isClosed
    })
    t.same(
      found.map(([name]) => name),
      closed,
      which,
    )
  }
})
