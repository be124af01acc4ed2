// holdpoint install: what it puts into a host's settings and takes out again, the key that goes with it, and what it refuses.
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { alone } from '../../../src/cli/install/host.js'
import { wordsOf } from '../../../src/cli/install/words.js'
import { command } from '../command.js'
import { prepareInstaller, settingsOf, userHosts } from './installer.js'

const keys = '.config/holdpoint/keys'
const modeOf = (file: string) => statSync(file).mode & 0o777

/** What stood in the settings before, as people lay it out. */
const before = {
  'claude-code':
    '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [{ "hooks": [{ "type": "command", "command": "bell" }] }]\n    }\n}\n',
  codex: '{"hooks":{"PreToolUse":[{"matcher":"^Bash$","hooks":[{"type":"command","command":"mine"}]}]}}',
  hermes:
    '# mine\nmodel: x\n\nhooks:\n  # a gate of my own\n  pre_tool_call:\n  - command: mine   # first\n    fail_closed: true\n\nnext: [1,   2]\n',
  openclaw:
    '{\n  "gateway": { "port": 18789 },\n  "plugins": {\n    "allow": ["voice-call"],\n    "load": { "paths": ["/opt/voice"] },\n    "entries": { "voice-call": { "enabled": true } }\n  }\n}\n',
}

t.test(
  'each host: put in beside what is there, twice the same, and out again as if it had never been there',
  async (t) => {
    const { install, write, read, exists, home, keys: listKeys, statusWith } = await prepareInstaller(t)
    for (const host of userHosts) {
      const file = settingsOf[host]
      write(file, before[host], 0o640)
      const said = await install(host)
      t.equal(said.code, 0, said.stderr)
      const after = read(file)
      t.match(after, /holdpoint/i, host)
      t.equal(modeOf(join(home, file)), 0o640, 'it keeps its mode')
      t.equal(read(`${file}.before-holdpoint`), before[host], 'what stood there is beside it')

      const again = await install(host)
      t.equal(again.code, 0, again.stderr)
      t.match(again.stderr, /has it already; nothing is changed/)
      t.equal(read(file), after)

      const name = (await listKeys()).find((key) => key.name.startsWith(host))!.name
      t.match(name, new RegExp(`^${host}-laptop-ann-[0-9a-f]{6}$`))
      t.equal(modeOf(join(home, keys, name)), 0o600)
      const key = read(`${keys}/${name}`).trim()
      t.notOk(
        [said, again].some(({ stdout, stderr }) => `${stdout}${stderr}`.includes(key)),
        'the key is never shown',
      )
      t.equal(await statusWith(key), 200)

      const undone = await install(host, '--undo')
      t.equal(undone.code, 0, undone.stderr)
      t.equal(read(file), before[host])
      t.notOk(exists(`${file}.before-holdpoint`), 'which is the backup, so that goes')
      t.notOk(exists(`${keys}/${name}`))
      t.equal(await statusWith(key), 401)
      const none = await install(host, '--undo')
      t.match(none, { code: 0, stderr: /Nothing of it is in .*; nothing is changed/ })
    }
    t.equal(modeOf(join(home, keys)), 0o700)
    t.same(readdirSync(join(home, keys)), [])
  },
)

t.test('a file that was made for it goes with it', async (t) => {
  const { install, exists, home } = await prepareInstaller(t)
  for (const host of userHosts) {
    t.match(await install(host), { code: 0 })
    t.equal(modeOf(join(home, settingsOf[host])), 0o600)
    t.match(await install(host, '--undo'), { code: 0 })
    t.notOk(exists(settingsOf[host]), host)
  }
})

t.test('taking it back leaves what was changed since', async (t) => {
  const { install, write, read } = await prepareInstaller(t)
  for (const host of userHosts) {
    const file = settingsOf[host]
    write(file, before[host])
    await install(host)
    const edited = host === 'hermes' ? `${read(file)}mine: 1\n` : read(file).replace('{', '{ "mine": 1,')
    write(file, edited)
    t.match(await install(host, '--undo'), { code: 0 })
    const wanted = host === 'hermes' ? `${before[host]}mine: 1\n` : before[host].replace('{', '{ "mine": 1,')
    t.equal(read(file), wanted, host)
  }
  // Somebody has put a hook of theirs into our group.
  await install('claude-code')
  const settings = JSON.parse(read(settingsOf['claude-code']))
  settings.hooks.PreToolUse.at(-1).hooks.push({ type: 'command', command: 'theirs' })
  write(settingsOf['claude-code'], JSON.stringify(settings))
  await install('claude-code', '--undo')
  t.same(JSON.parse(read(settingsOf['claude-code'])).hooks.PreToolUse, [
    { matcher: '*', hooks: [{ type: 'command', command: 'theirs' }] },
  ])
})

t.test(
  'what somebody has opened since is closed again by doing it again, and nothing stands there twice',
  async (t) => {
    const { install, write, read } = await prepareInstaller(t)
    const file = settingsOf['claude-code']
    await install('claude-code')
    const closed = JSON.parse(read(file))
    const opened = structuredClone(closed)
    delete opened.hooks.PreToolUse[0].hooks[0].onFailure
    opened.hooks.PreToolUse[0].matcher = 'Bash'
    write(file, JSON.stringify(opened, null, 2))
    t.match(await install('claude-code'), { code: 0 })
    t.same(JSON.parse(read(file)), closed)
    t.match(await install('claude-code', '--url', 'http://localhost:1'), { code: 0, stderr: /cannot be reached/ })
    const moved = JSON.parse(read(file))
    t.equal(moved.hooks.PreToolUse.length, 1)
    t.match(moved.hooks.PreToolUse[0].hooks[0].command, /--url http:\/\/localhost:1 /)

    await install('hermes')
    const hermes = read(settingsOf.hermes)
    write(settingsOf.hermes, hermes.replace('      fail_closed: true\n', ''))
    await install('hermes')
    t.same(parse(read(settingsOf.hermes)), parse(hermes))
  },
)

t.test(
  'in a project: a file to be committed, a key that is not, and a path that a shell must not take apart',
  async (t) => {
    const { install, project, home, keys: listKeys, machine } = await prepareInstaller(t)
    const folder = join(project, `it's "my" $(touch x) project`)
    mkdirSync(folder)
    for (const [host, file, stderr] of [
      ['claude-code', '.claude/settings.json', /names paths of this machine/],
      ['codex', '.codex/hooks.json', /only where the project is trusted/],
      ['mcp', '.mcp.json', /is not closed/],
    ] as const) {
      t.match(await install(host, '--project', folder), { code: 0, stderr })
      t.equal(modeOf(join(folder, file)), 0o644)
      t.match((await listKeys()).at(-1), {
        name: /-laptop-it-s-my-touch-x-project-[0-9a-f]{6}$/,
        role: 'agent',
        state: 'live',
      })
      t.match(await install(host, '--project', folder, '--undo'), { code: 0 })
      t.throws(() => statSync(join(folder, file)), { code: 'ENOENT' })
    }
    // The home and the program have such paths, too.
    const odd = join(home, `my "home" isn't`)
    mkdirSync(odd)
    Object.assign(machine, { home: odd })
    await install('claude-code')
    const { hooks } = JSON.parse(readFileSync(join(odd, '.claude/settings.json'), 'utf8'))
    const words = wordsOf(alone(hooks.PreToolUse[0].hooks[0].command as string))!
    t.equal(words[0], machine.program[0])
    t.equal(words[words.indexOf('--key-file') + 1], join(odd, keys, (await listKeys()).at(-1)!.name))
    const checked = await install('claude-code', '--check')
    t.equal(checked.code, 0, checked.stdout)
  },
)

t.test('the folders that the environment names are where it is put', async (t) => {
  const { install, machine, home } = await prepareInstaller(t)
  Object.assign(machine.env, {
    CLAUDE_CONFIG_DIR: join(home, 'c'),
    CODEX_HOME: '~/x',
    HERMES_HOME: join(home, 'h'),
    OPENCLAW_STATE_DIR: join(home, 'o'),
    XDG_CONFIG_HOME: join(home, 'config'),
  })
  for (const host of userHosts) t.match(await install(host), { code: 0 })
  for (const file of ['c/settings.json', 'x/hooks.json', 'h/config.yaml', 'o/openclaw.json'])
    t.ok(statSync(join(home, file)), file)
  t.equal(readdirSync(join(home, 'config/holdpoint/keys')).length, 4)
  Object.assign(machine.env, { OPENCLAW_CONFIG_PATH: join(home, 'other.json') })
  t.match(await install('openclaw'), { code: 0 })
  t.ok(statSync(join(home, 'other.json')))
})

t.test('--print shows what belongs there, and neither writes nor makes anything', async (t) => {
  const { install, keys: listKeys, home } = await prepareInstaller(t)
  for (const host of [...userHosts, 'mcp']) {
    const { code, stdout, stderr } = await install(host, '--print')
    t.equal(code, 0, stderr)
    t.match(stderr, /nothing is written, and no key is made/)
    t.match(host === 'hermes' ? parse(stdout) : JSON.parse(stdout), Object)
  }
  t.equal((await listKeys()).length, 1)
  t.same(readdirSync(home), [])
})

t.test('what is put in is what --print shows', async (t) => {
  const { install, read, project } = await prepareInstaller(t)
  for (const host of userHosts) {
    const { stdout } = await install(host, '--print')
    await install(host)
    t.same(parse(read(settingsOf[host])), parse(stdout), host)
  }
  const { stdout } = await install('mcp', '--print', '--project', project)
  await install('mcp', '--project', project)
  t.same(JSON.parse(readFileSync(join(project, '.mcp.json'), 'utf8')), JSON.parse(stdout))
})

t.test('where it cannot close the host, it says so', async (t) => {
  const { install, project } = await prepareInstaller(t)
  for (const words of [['codex', '--print'], ['codex'], ['mcp', '--print'], ['mcp', '--project', project]]) {
    t.match((await install(...words)).stderr, /is not closed/, words.join(' '))
  }
  t.match((await install('codex')).stderr, /is not closed/)
  const { stdout } = await install('codex', '--json')
  t.match(JSON.parse(stdout), { closed: false, why_open: /is not closed/ })
  t.notMatch((await install('claude-code')).stderr, /not closed/)
})

t.test('with --json each way answers one document, and no key is in it', async (t) => {
  const { install, keys: listKeys, read } = await prepareInstaller(t)
  const answers: unknown[] = []
  for (const words of [['--print'], [], [], ['--check'], ['--undo'], ['--undo']]) {
    const { stdout, stderr } = await install('claude-code', ...words, '--json')
    t.notMatch(stdout + stderr, /hpk_/)
    answers.push(JSON.parse(stdout))
    if (answers.length === 2) t.match(read(`${keys}/${(await listKeys()).at(-1)!.name}`), /^hpk_/)
  }
  const file = /\/home\/\.claude\/settings\.json$/
  t.match(answers, [
    { host: 'claude-code', file, settings: { hooks: Object }, key_file: String, closed: true, why_open: null },
    {
      file,
      changed: true,
      backup: null,
      key: { id: String, is_new: true },
      operator: null,
      closed: true,
      problem: null,
    },
    { file, changed: false, backup: null, key: { is_new: false } },
    { closed: true, problems: [], faults: [], tried: [{ closed: true }] },
    { file, changed: true, key: { revoked: [String], file_removed: true }, key_file_kept: null },
    { file, changed: false, key: { revoked: [], file_removed: false } },
  ])
})

// -- keys ----------------------------------------------------------------------------------------------------------------

t.test('the first key ends open mode: it is asked about, and whoever says yes gets a key to decide with', async (t) => {
  const {
    install,
    installAnswering,
    keys: listKeys,
    home,
    exists,
    read,
    statusWith,
  } = await prepareInstaller(t, { hasKeys: false })
  const unasked = await install('claude-code')
  t.match(unasked, { code: 1, stderr: /first key, which ends open mode[^]*say --yes/ })
  for (const answer of [null, '', 'n', 'maybe']) {
    t.match(await installAnswering(answer, 'claude-code'), {
      code: 1,
      stderr: /No key is made, and nothing is changed/,
    })
  }
  t.same(await listKeys(), [])
  t.notOk(exists(settingsOf['claude-code']))

  const said = await installAnswering('y', 'claude-code')
  t.match(said, { code: 0, stderr: /ends open mode[^]*To sign in to the pages: holdpoint signin ann/ })
  t.match(await listKeys(), [
    { name: 'ann', role: 'operator', state: 'live' },
    { name: /^claude-code-laptop-ann-/, role: 'agent', state: 'live' },
  ])
  const file = readdirSync(join(home, keys)).find((one) => one.startsWith('ann-'))!
  t.equal(modeOf(join(home, keys, file)), 0o600)
  t.equal(await statusWith(read(`${keys}/${file}`).trim()), 200)
  t.notMatch(said.stderr + said.stdout, /hpk_/)
  t.match(await install('codex'), { code: 0 }, 'the second key is not asked about')

  await install('claude-code', '--undo')
  t.match((await listKeys())[0], { name: 'ann', state: 'live' }, 'the person keeps theirs')
})

t.test('--yes says it for a script, and no running service is needed', async (t) => {
  const { install, project, keys: listKeys } = await prepareInstaller(t, { hasKeys: false, isRunning: false })
  const umask = process.umask(0o022)
  t.teardown(() => process.umask(umask))
  const { code, stdout, stderr } = await install('claude-code', '--project', project, '--yes', '--json')
  t.equal(code, 0, stderr)
  t.equal(modeOf(join(project, '.claude')), 0o755, 'an agent that runs as another user reads it')
  t.match(JSON.parse(stdout), {
    operator: { name: 'ann', file: /keys\/ann-/ },
    key: { is_new: true },
    problem: /cannot be reached/,
  })
  t.equal((await listKeys()).length, 2)
})

t.test('where people have no key, it is said that nobody can decide', async (t) => {
  const { install, dbPath } = await prepareInstaller(t, { hasKeys: false })
  await command(dbPath, 'keys', 'add', '--name', 'bot', '--role', 'agent')
  t.match((await install('claude-code')).stderr, /Nobody has a key to decide with\. Make one: holdpoint keys add/)
})

t.test('what a crash has left is completed: a key without a file, a file without settings', async (t) => {
  const { install, keys: listKeys, home, read, write, exists, dbPath, statusWith } = await prepareInstaller(t)
  await install('claude-code')
  const { name, id } = (await listKeys()).at(-1)!
  const key = read(`${keys}/${name}`).trim()
  rmSync(join(home, settingsOf['claude-code']))
  t.match(await install('claude-code'), { code: 0 })
  t.match((await listKeys()).at(-1), { id }, 'the key that is there is used')
  t.equal(await statusWith(key), 200)

  // It was made and never kept: nobody has it, so it goes.
  rmSync(join(home, keys, name))
  write(`${keys}/.${name}.9999999.tmp`, 'half')
  t.match(await install('claude-code'), { code: 0 })
  t.match(
    (await listKeys()).filter((one) => one.name === name).map(({ state }) => state),
    ['revoked', 'live'],
  )
  t.notOk(exists(`${keys}/.${name}.9999999.tmp`))

  // Somebody revoked it: another takes its place.
  await command(dbPath, 'keys', 'revoke', name)
  t.match(await install('claude-code'), { code: 0 })
  t.equal(await statusWith(read(`${keys}/${name}`).trim()), 200)

  // The settings were taken out, and then it broke off.
  write(settingsOf['claude-code'], '{ "a": 1 }')
  write(`${settingsOf['claude-code']}.before-holdpoint`, '{ "a": 1 }')
  write('.claude/.settings.json.before-holdpoint.9999999.tmp', '{')
  write(`.claude/.settings.json.${process.pid}.tmp`, 'of one that runs')
  t.match(await install('claude-code', '--undo'), { code: 0, stderr: /is revoked.*\nIts file is removed/ })
  t.same(readdirSync(join(home, '.claude')), [`.settings.json.${process.pid}.tmp`, 'settings.json'])
})

t.test('two at the same time come to the same: one key, one hook', async (t) => {
  const { install, keys: listKeys, read, home, statusWith } = await prepareInstaller(t)
  const said = await Promise.all(Array.from({ length: 5 }, () => install('claude-code')))
  for (const { code, stderr } of said) t.equal(code, 0, stderr)
  await install('claude-code')
  const live = (await listKeys()).filter(({ name, state }) => name.startsWith('claude-code') && state === 'live')
  t.equal(live.length, 1)
  t.same(readdirSync(join(home, keys)), [live[0]!.name])
  t.equal(await statusWith(read(`${keys}/${live[0]!.name}`).trim()), 200)
  t.equal(JSON.parse(read(settingsOf['claude-code'])).hooks.PreToolUse.length, 1)
})

t.test('--key-file takes a key that there is; taking it back leaves that alone', async (t) => {
  const { install, keys: listKeys, write, read, exists, dbPath, home, statusWith } = await prepareInstaller(t)
  const { stdout: key } = await command(dbPath, 'keys', 'add', '--name', 'my-agent', '--role', 'agent')
  const file = write('mine.key', key, 0o600)
  const said = await install('claude-code', '--key-file', file)
  t.equal(said.code, 0, said.stderr)
  t.ok(read(settingsOf['claude-code']).includes(`--key-file ${file} `))
  t.equal((await listKeys()).length, 2, 'none is made')
  t.match(await install('claude-code', '--undo'), { code: 0, stderr: /was not made here, and is left as it is/ })
  t.ok(exists('mine.key'))
  t.equal(await statusWith(key.trim()), 200)
  t.throws(() => statSync(join(home, '.config')), { code: 'ENOENT' })
})

t.test('a key where it could be committed, read by others, or handed out with the project is refused', async (t) => {
  const { install, write, home, project, machine, exists } = await prepareInstaller(t)
  const key = `hpk_${'a'.repeat(12)}_${'b'.repeat(64)}\n`
  mkdirSync(join(home, 'repo/.git'), { recursive: true })
  mkdirSync(join(home, 'worktree/deep'), { recursive: true })
  writeFileSync(join(home, 'worktree/.git'), 'gitdir: elsewhere\n')
  const inProject = join(project, 'key')
  writeFileSync(inProject, key, { mode: 0o600 })
  symlinkSync(project, join(home, 'link'))
  symlinkSync(write('real.key', key, 0o600), join(home, 'linked.key'))
  const cases: [file: string, sentence: RegExp][] = [
    [inProject, /is inside the project/],
    [join(home, 'link/key'), /is inside the project/],
    [write('repo/key', key, 0o600), /is in a git checkout/],
    [write('worktree/deep/key', key, 0o600), /is in a git checkout/],
    [write('wide.key', key, 0o640), /can be read or changed by other users \(mode 640\)/],
    [write('empty.key', '', 0o600), /has no key in it/],
    [write('two.key', `${key}${key}`, 0o600), /has no key in it, or more than that/],
    [write('big.key', 'x'.repeat(2000), 0o600), /has more in it than a key/],
    [join(home, 'none.key'), /is missing/],
    [home, /is no plain file/],
    [join(home, 'linked.key'), /is no plain file/],
  ]
  for (const [file, sentence] of cases) {
    t.match(await install('claude-code', '--project', project, '--key-file', file), { code: 1, stderr: sentence }, file)
  }
  t.throws(() => statSync(join(project, '.claude')), { code: 'ENOENT' })

  // The usual place may be in a checkout, too: some keep all of ~/.config in one.
  mkdirSync(join(home, '.config/.git'), { recursive: true })
  t.match(await install('claude-code'), { code: 1, stderr: /Keys would be kept in .*git checkout.*XDG_CONFIG_HOME/ })
  Object.assign(machine.env, { XDG_CONFIG_HOME: join(project, 'config') })
  t.match(await install('claude-code', '--project', project), { code: 1, stderr: /which is inside the project/ })
  t.notOk(exists(settingsOf['claude-code']))
})

// -- what is refused -----------------------------------------------------------------------------------------------------

t.test('settings that cannot be read or changed are refused, nothing is written and no key is made', async (t) => {
  const { install, write, read, home, keys: listKeys } = await prepareInstaller(t)
  const file = settingsOf['claude-code']
  const texts: [text: string, sentence: RegExp][] = [
    ['{', /settings\.json is no JSON .*Nothing is changed/],
    ['// mine\n{}', /Comments are no JSON/],
    ['{"hooks":{},"hooks":{}}', /has "hooks" twice/],
    ['[]', /must be an object/],
    ['{"hooks":[]}', /hooks must be an object/],
    ['{"hooks":{"PreToolUse":{}}}', /hooks\.PreToolUse must be a list/],
    ['\xff', /is no text in UTF-8/],
    [`{"a":"${'x'.repeat(5 * 1024 * 1024)}"}`, /bytes, and settings have 4194304 at most/],
  ]
  for (const [text, sentence] of texts) {
    writeFileSync(write(file, ''), text, text === '\xff' ? 'latin1' : 'utf8')
    t.match(await install('claude-code'), { code: 1, stderr: sentence }, text.slice(0, 30))
    await install('claude-code', '--undo')
    t.equal(readFileSync(join(home, file), text === '\xff' ? 'latin1' : 'utf8'), text)
  }
  rmSync(join(home, file))
  mkdirSync(join(home, file))
  t.match(await install('claude-code'), { code: 1, stderr: /is a folder, and settings are a file/ })
  rmSync(join(home, file), { recursive: true })
  symlinkSync(join(home, 'nowhere'), join(home, file))
  t.match(await install('claude-code'), { code: 1, stderr: /is a link that leads to nothing/ })
  rmSync(join(home, file))
  symlinkSync(join(home, file), join(home, file))
  t.match(await install('claude-code'), { code: 1, stderr: /its links go round/ })
  rmSync(join(home, file))
  symlinkSync('/dev/null', join(home, file))
  t.match(await install('claude-code'), { code: 1, stderr: /is no plain file/ })
  rmSync(join(home, file))
  write('.hermes/config.yaml', 'a: [')
  t.match(await install('hermes'), { code: 1, stderr: /is no YAML/ })
  write('.openclaw/openclaw.json', '{ plugins: {} }')
  t.match(await install('openclaw'), { code: 1, stderr: /is no JSON.*OpenClaw also reads JSON5/ })
  write('.openclaw/openclaw.json', '{"plugins":{"enabled":false}}')
  t.match(await install('openclaw'), { code: 1, stderr: /plugins\.enabled: false/ })
  write('.openclaw/openclaw.json', '{"plugins":{"deny":["holdpoint"]}}')
  t.match(await install('openclaw'), { code: 1, stderr: /plugins\.deny/ })
  t.equal((await listKeys()).length, 1)
  t.equal(read('.openclaw/openclaw.json'), '{"plugins":{"deny":["holdpoint"]}}')
})

t.test(
  'what this user may not read or write is refused',
  { skip: process.getuid?.() === 0 && 'root may do everything' },
  async (t) => {
    const { install, write, home, keys: listKeys } = await prepareInstaller(t)
    write(settingsOf['claude-code'], '{}', 0o000)
    t.match(await install('claude-code'), { code: 1, stderr: /this user may not/ })
    write(settingsOf.codex, '{}')
    chmodSync(join(home, '.codex'), 0o555)
    t.teardown(() => chmodSync(join(home, '.codex'), 0o755))
    t.match(await install('codex'), { code: 1, stderr: /this user may not/ })
    t.equal((await listKeys()).length, 1, 'no key was made for any')
  },
)

t.test(
  "somebody else's settings stay theirs",
  { skip: process.getuid?.() !== 0 && 'only root can give files away' },
  async (t) => {
    const { install, write, home } = await prepareInstaller(t)
    chownSync(write(settingsOf['claude-code'], '{}'), 1234, 1234)
    t.match(await install('claude-code'), { code: 0 })
    t.match(statSync(join(home, settingsOf['claude-code'])), { uid: 1234, gid: 1234 })
  },
)

t.test('a link to settings that are kept elsewhere stays a link', async (t) => {
  const { install, write, read, home } = await prepareInstaller(t)
  const real = write('dotfiles/claude.json', '{ "a": 1 }\n')
  mkdirSync(join(home, '.claude'))
  symlinkSync(real, join(home, settingsOf['claude-code']))
  t.match(await install('claude-code'), { code: 0 })
  t.equal(realpathSync(join(home, settingsOf['claude-code'])), realpathSync(real))
  t.match(JSON.parse(read('dotfiles/claude.json')), { a: 1, hooks: { PreToolUse: Array } })
  t.match(await install('claude-code', '--undo'), { code: 0 })
  t.equal(read('dotfiles/claude.json'), '{ "a": 1 }\n')
  t.same(readdirSync(join(home, 'dotfiles')), ['claude.json'])
})

const misread: [words: string[], code: number, sentence: RegExp][] = [
  [[], 2, /install: say which HOST/],
  [['claude'], 2, /the hosts are claude-code, codex, hermes, openclaw, mcp/],
  [['claude-cod'], 2, /did you mean claude-code\?/],
  [['claude-code', '--print', '--undo'], 2, /--print, --undo: say one of them/],
  [['claude-code', '--check', '--yes'], 2, /--yes: --check does not take it/],
  [['claude-code', '--undo', '--key-file', '/x'], 2, /--key-file: --undo does not take it/],
  [['hermes', '--project', '.'], 2, /--project: Hermes has no settings of a project/],
  [['openclaw', '--project', '.'], 2, /--project: OpenClaw has no settings of a project/],
  [['mcp'], 2, /--project: is needed: MCP has its settings in a project/],
  [['claude-code', '--project', '/does/not/exist'], 1, /is no folder/],
  [['claude-code', '--url', 'ftp://x'], 2, /--url: must be the address of a service/],
  [['claude-code', '--url', 'nonsense'], 2, /--url: must be the address of a service/],
  [['claude-code', '--url', 'http://a:b@localhost:1'], 2, /--url: must have no name, password/],
  [['claude-code', '--url', 'http://localhost:1/?a=b'], 2, /--url: must have no .* query/],
  [
    ['claude-code', '--url', 'https://holdpoint.example.org'],
    2,
    /--key-file: is needed: a key for the service at holdpoint/,
  ],
]
t.test('what is called wrongly is refused with a sentence, and changes nothing', async (t) => {
  const { install, home, keys: listKeys } = await prepareInstaller(t)
  for (const [words, code, sentence] of misread)
    t.match(await install(...words), { code, stderr: sentence }, words.join(' '))
  t.same(readdirSync(home), [])
  t.equal((await listKeys()).length, 1)
})

t.test('what is taken back without the database it was made in is not forgotten', async (t) => {
  const { install, exists, keys: listKeys, dbPath } = await prepareInstaller(t)
  await install('claude-code')
  const { name } = (await listKeys()).at(-1)!
  const elsewhere = await install('claude-code', '--undo', '--db-path', `${dbPath}.other`)
  t.match(elsewhere, { code: 1, stderr: /is out of .*\nThere is no database .*so the key in .* is not revoked/ })
  t.ok(exists(`${keys}/${name}`))
  t.match(await install('claude-code', '--undo'), { code: 0, stderr: /is revoked/ })
})
