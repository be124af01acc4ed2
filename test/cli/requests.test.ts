// What waits, from the shell: listed, shown, approved, denied; and what passes without asking.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type Program, run, serverFile, start } from '../e2e/program.js'
import { needs } from '../needs.js'
import { temporaryFolder } from '../support.js'
import { command, commandWith } from './command.js'
import { holdpoint, sit } from './tmux.js'

const urlOf = ({ port }: Program) => ({ HOLDPOINT_URL: `http://127.0.0.1:${port}` })

async function ask(program: Program, fields: Record<string, unknown> = {}, headers = {}): Promise<string> {
  const body = { action: 'send_mail', description: 'Send the newsletter', timeout_seconds: 3600, ...fields }
  return (await program.call('POST', '/confirm', body, headers)).body.id as string
}

const stateOf = async (program: Program, id: string) => (await program.call('GET', `/confirm/${id}`)).body
const digestOf = async (program: Program, id: string) => (await stateOf(program, id)).digest as string

async function addKey(program: Program, name: string, role: string): Promise<string> {
  return (await command(program.dbPath, 'keys', 'add', '--name', name, '--role', role)).stdout.trim()
}

// -- reading -------------------------------------------------------------------------------------------------------------

t.test('what waits is listed and shown, over HTTP and through the owner’s socket alike', async (t) => {
  const program = await start(t)
  const nothing = await command(program.dbPath, 'pending')
  t.match(nothing, { code: 0, stdout: '', stderr: 'Nothing waits for a decision.\n' })
  const first = await ask(program, { details: { list: 'news' } })
  const second = await ask(program, { action: 'pay', session_key: 's1', timeout_seconds: 60 })
  for (const env of [{}, urlOf(program)]) {
    const { code, stdout } = await commandWith(env, program.dbPath, 'pending')
    t.equal(code, 0)
    const [head, ...rows] = stdout.trim().split('\n')
    t.match(head, /^ID +LEFT +RISK +ACTION +REQUESTER +VOTES +DESCRIPTION$/)
    t.match(rows, [new RegExp(`^${second} .* pay `), new RegExp(`^${first} .* send_mail +agent +Send the newsletter$`)])
    const json = JSON.parse((await commandWith(env, program.dbPath, 'pending', '--json')).stdout)
    t.match(json, [{ id: second }, { id: first, details: { list: 'news' } }])
    t.match((await commandWith(env, program.dbPath, 'pending', '--action', 'pay')).stdout.split('\n').length, 3)
    t.match((await commandWith(env, program.dbPath, 'pending', '--session', 's1')).stdout, /pay/)
    for (const id of [first, first.slice(-8), first.slice(-6).toUpperCase()]) {
      const shown = await commandWith(env, program.dbPath, 'show', id)
      t.match(shown, { code: 0, stdout: /^WAITS FOR A DECISION\n\nAction {8}send_mail\n/ })
      t.match(shown.stdout, /\n│ {3}"list": "news"\n/)
      t.match(shown.stdout, `ID            ${first}\nDigest        ${await digestOf(program, first)}\n`)
    }
    const found = JSON.parse((await commandWith(env, program.dbPath, 'show', first, '--json')).stdout)
    t.match(found, { id: first, deciding: { typing_required: false } })
    t.match(await commandWith(env, program.dbPath, 'show', 'ffffff'), {
      code: 1,
      stderr: /No request of the last week/,
    })
    t.match(await commandWith(env, program.dbPath, 'show', 'ff'), { code: 1, stderr: /at least the last 6 characters/ })
  }
  await program.stop()
  t.match((await command(program.dbPath, 'pending')).stdout, /send_mail/, 'also where no service runs')
})

t.test('what agents wrote is inert wherever it is printed, and each request is one row', async (t) => {
  const program = await start(t)
  const nasty = 'x\u001b[2J\u202e\nID LEFT\u0007\u2028y'
  const id = await ask(program, { action: nasty, description: nasty, requester: nasty, details: { [nasty]: nasty } })
  for (const words of [['pending'], ['pending', '--json'], ['show', id], ['show', id, '--json']]) {
    const { stdout, stderr } = await command(program.dbPath, ...words)
    t.notMatch(stdout + stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/, words.join(' '))
  }
  t.equal((await command(program.dbPath, 'pending')).stdout.trim().split('\n').length, 2)
})

t.test('whoever reads only the beginning of it ends it quietly', async (t) => {
  const program = await start(t)
  for (let count = 0; count < 5; count++)
    await ask(program, { action: `act_${count}`, description: 'x'.repeat(100_000), details: { count } })
  const script = `${holdpoint} pending --json --db-path ${program.dbPath} | head -c 10`
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env: { PATH: process.env.PATH } })
  t.match({ stdout, stderr }, { stdout: '[\n  {\n    ', stderr: '' })
})

t.test(
  'where there is no room for what it prints, a sentence says so',
  { skip: !existsSync('/dev/full') },
  async (t) => {
    const program = await start(t)
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    const env = { ...process.env, ...urlOf(program) }
    for (const words of [
      ['pending', '--json'],
      ['export', '--events', '--format', 'csv'],
    ]) {
      const { status, stderr } = spawnSync(process.execPath, [serverFile, ...words], {
        env,
        stdio: ['ignore', full, 'pipe'],
      })
      t.match(
        { status, stderr: String(stderr) },
        { status: 1, stderr: /^What was found cannot be written: ENOSPC[^\n]*\.\n$/ },
      )
    }
  },
)

t.test('with keys, reading as the owner needs none, and over HTTP the key decides what there is to see', async (t) => {
  const program = await start(t)
  const bot = await addKey(program, 'bot', 'agent')
  const alice = await addKey(program, 'alice', 'auditor')
  const other = await addKey(program, 'other', 'agent')
  const id = await ask(program, {}, { authorization: `Bearer ${bot}` })
  t.match(await command(program.dbPath, 'pending'), { code: 0, stdout: id })
  const file = join(temporaryFolder(t), 'key')
  writeFileSync(file, `${alice}\n`)
  const { HOLDPOINT_URL: url } = urlOf(program)
  for (const [env, words] of [
    [{ HOLDPOINT_URL: url, HOLDPOINT_KEY: alice }, []],
    [{ HOLDPOINT_URL: url }, ['--key-file', file]],
    [{ HOLDPOINT_KEY: bot }, ['--url', url, '--key-file', file]],
    [{ HOLDPOINT_KEY: bot, CONFIRMATION_PORT: String(program.port) }, []],
  ] as const) {
    t.match(await commandWith(env, '/nowhere.db', 'pending', ...words), { code: 0, stdout: id })
  }
  t.match(await commandWith({ HOLDPOINT_URL: url, HOLDPOINT_KEY: other }, '/nowhere.db', 'pending'), {
    code: 0,
    stdout: '',
  })
  t.match(await commandWith({ HOLDPOINT_URL: url, HOLDPOINT_KEY: other }, '/nowhere.db', 'show', id), { code: 1 })
  const none = await commandWith({ HOLDPOINT_URL: url }, program.dbPath, 'pending')
  t.match(none, { code: 1, stderr: /asks for a key.* HOLDPOINT_KEY, or in a file with --key-file\.$/m })
  const agents = JSON.parse(
    (await commandWith({ HOLDPOINT_URL: url, HOLDPOINT_KEY: bot }, '/nowhere.db', 'show', id, '--json')).stdout,
  )
  t.equal(agents.deciding, null, 'an agent is not told whom it would have to win over')
})

t.test('a key is never repeated, and a file without one is refused', async (t) => {
  const folder = temporaryFolder(t)
  const secret = 'hpk_000000000000_secretsecret'
  const two = join(folder, 'two')
  writeFileSync(two, `${secret}\n${secret}\n`)
  const env = { HOLDPOINT_URL: 'http://127.0.0.1:1', HOLDPOINT_KEY: secret }
  for (const [code, given, words] of [
    [3, env, []],
    [2, { ...env, HOLDPOINT_KEY: `${secret} x` }, []],
    [2, env, ['--key-file', two]],
    [1, env, ['--key-file', join(folder, 'none')]],
    [2, { ...env, HOLDPOINT_URL: 'nowhere' }, []],
    [2, { ...env, HOLDPOINT_URL: `http://x:${secret}@127.0.0.1:1` }, []],
  ] as const) {
    const said = await commandWith(given, '/nowhere.db', 'pending', ...words)
    t.equal(said.code, code, said.stderr)
    t.notMatch(said.stderr, /secretsecret/)
    t.not(said.stderr, '')
  }
})

t.test('a service that is not reached, and one that is none, are told from a no', async (t) => {
  t.match(await run(t, ['pending', '--url', 'http://127.0.0.1:1']), {
    code: 3,
    stdout: '',
    stderr: /127\.0\.0\.1:1 cannot be reached: .* say where it is with --url or HOLDPOINT_URL\.$/m,
  })
  const other = createServer((_request, response) => response.end('<h1>\u001b[2J'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  for (const words of [['pending'], ['show', 'abcdef12'], ['deny', 'abcdef12', '--digest', 'f'.repeat(64)]]) {
    const said = await commandWith({ HOLDPOINT_URL: url }, '/nowhere.db', ...words)
    t.match(said, { code: 3, stdout: '', stderr: /answered 200, as Holdpoint does not/ })
    t.notMatch(said.stderr, /may have been done/, 'nothing but a look was asked for')
  }
})

t.test('another server that speaks JSON too is none', async (t) => {
  for (const body of ['{}', '[]', 'null', '{"confirmations":{},"entries":5,"events":null}', '{"id":5}']) {
    const other = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(body))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    t.teardown(() => other.close())
    const env = { HOLDPOINT_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }
    for (const words of [
      ['pending'],
      ['show', 'abcdef12'],
      ['approve', 'abcdef12', '--digest', 'f'.repeat(64)],
      ['whitelist', 'list'],
      ['audit'],
      ['audit', '--events'],
    ]) {
      const said = await commandWith(env, '/nowhere.db', ...words)
      t.match(said, { code: 3, stdout: '', stderr: /answered as Holdpoint does not/ }, `${words.join(' ')}: ${body}`)
    }
  }
})

t.test('a key that would cross a network in the clear is warned about', async (t) => {
  const env = { HOLDPOINT_URL: 'http://holdpoint.invalid:1', HOLDPOINT_KEY: 'hpk_x' }
  t.match(await commandWith(env, '/nowhere.db', 'pending'), {
    code: 3,
    stderr: /^The key goes to holdpoint\.invalid:1 unencrypted/,
  })
})

// -- deciding ------------------------------------------------------------------------------------------------------------

t.test('where nobody can be asked, nothing is approved but what its digest names', async (t) => {
  const program = await start(t)
  const env = urlOf(program)
  const id = await ask(program)
  const other = await ask(program, { action: 'pay' })
  const digest = await digestOf(program, id)
  for (const words of [[id], [id.slice(-8)], [id, '--json']])
    t.match(await commandWith(env, program.dbPath, 'approve', ...words), {
      code: 1,
      stderr: /^Nothing is approved that was not shown.*--digest/,
    })
  const wrong = await commandWith(env, program.dbPath, 'approve', id, '--digest', await digestOf(program, other))
  t.match(wrong, { code: 1, stderr: /The digest of .* is another.*nothing was decided/ })
  for (const short of ['', digest.slice(0, 15), `${digest}0`, 'x'.repeat(16)])
    t.match(await commandWith(env, program.dbPath, 'approve', id, `--digest=${short}`), { code: 2 })
  t.match(await stateOf(program, id), { status: 'pending', votes: [] })
  const done = await commandWith(
    env,
    program.dbPath,
    'approve',
    id.slice(-8),
    '--digest',
    digest.slice(0, 16).toUpperCase(),
    '--by',
    'alice',
    '-m',
    'fine',
  )
  t.match(done, { code: 0, stdout: '', stderr: `Approved: send_mail, ${id}.\n` })
  t.match(await stateOf(program, id), { status: 'approved', resolved_by: 'alice', reason: 'fine' })
  const again = await commandWith(env, program.dbPath, 'approve', id, '--digest', digest)
  t.match(again, { code: 1, stderr: `${id} is approved already: by alice. That stands.\n` })
  const json = await commandWith(
    env,
    program.dbPath,
    'approve',
    other,
    '--digest',
    await digestOf(program, other),
    '--json',
  )
  t.match(JSON.parse(json.stdout), { id: other, status: 'approved', resolved_by: 'api' })
})

t.test('an approval can whitelist too, and says how that is taken back', async (t) => {
  const program = await start(t)
  const env = urlOf(program)
  const id = await ask(program, { session_key: 's1' })
  const digest = await digestOf(program, id)
  const approve = (...words: string[]) => commandWith(env, program.dbPath, 'approve', id, '--digest', digest, ...words)
  t.match(await approve('--remember', 'always'), { code: 2, stderr: /^--remember: must be session or global/ })
  t.match((await stateOf(program, id)).status, 'pending')
  const done = await approve('--remember', 'session')
  t.match(done, { code: 0, stderr: /^Approved: send_mail, .*\. To ask again from now on: whitelist revoke \S+$/m })
  t.match((await program.submit({ session_key: 's1' })).body, { status: 'auto_approved' })
  const entry = done.stderr.trim().split(' ').at(-1)!
  t.match(await commandWith(env, program.dbPath, 'whitelist', 'revoke', entry), { code: 0 })
  const risky = await ask(program, { action: 'delete_data' })
  const refused = ['--digest', await digestOf(program, risky), '--remember', 'global']
  t.match(await commandWith(env, program.dbPath, 'approve', risky, ...refused), { code: 1, stderr: /high-risk/ })
  t.match(await stateOf(program, risky), { status: 'pending' })
})

t.test('to deny takes the whole id, or the digest with its end', async (t) => {
  const program = await start(t)
  const env = urlOf(program)
  const [first, second] = [await ask(program), await ask(program, { action: 'pay' })]
  t.match(await commandWith(env, program.dbPath, 'deny', first.slice(-8)), { code: 1, stderr: /say the whole id, or/ })
  t.match(await stateOf(program, first), { status: 'pending' })
  const denied = await commandWith(env, program.dbPath, 'deny', first, '-m', 'not before the audit')
  t.match(denied, { code: 0, stderr: `Denied: send_mail, ${first}.\n` })
  t.match(await stateOf(program, first), { status: 'denied', reason: 'not before the audit' })
  const digest = await digestOf(program, second)
  t.match(await commandWith(env, program.dbPath, 'deny', second.slice(-8), '--digest', digest), { code: 0 })
})

t.test('nothing is decided through the owner’s socket', async (t) => {
  const program = await start(t, { flags: ['--auth', 'keys'] })
  const bot = await addKey(program, 'bot', 'agent')
  const id = await ask(program, {}, { authorization: `Bearer ${bot}` })
  const env = { CONFIRMATION_PORT: String(program.port) }
  for (const verb of ['approve', 'deny'])
    t.match(await commandWith(env, program.dbPath, verb, id, '--digest', 'f'.repeat(64)), {
      code: 1,
      stderr: /asks for a key/,
    })
  const own = await commandWith(
    { ...env, HOLDPOINT_KEY: bot },
    program.dbPath,
    'approve',
    id,
    '--digest',
    'f'.repeat(64),
  )
  t.match(own, { code: 1 })
  const agents = await commandWith({ ...env, HOLDPOINT_KEY: bot }, program.dbPath, 'deny', id)
  t.match(agents, { code: 1, stderr: /'agent' may not do this/ })
  t.match(JSON.parse((await command(program.dbPath, 'show', id, '--json')).stdout), { status: 'pending' })
})

t.test('what its rule wants is said as a flag', async (t) => {
  const rules = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(
    rules,
    'rules:\n  - name: money\n    action: pay\n    approvals: 2\n    typed_confirmation: true\n    reason_required: true\n',
  )
  const program = await start(t, { flags: ['--policy', rules] })
  const env = urlOf(program)
  const id = await ask(program, { action: 'pay' })
  const digest = await digestOf(program, id)
  const approve = (...words: string[]) => commandWith(env, program.dbPath, 'approve', id, '--digest', digest, ...words)
  t.match(await approve(), { code: 1, stderr: /Give one with -m\.$/m })
  t.match(await approve('-m', 'due'), { code: 1, stderr: /Give it with --typed/ })
  t.match(await approve('-m', 'due', '--typed', 'play'), { code: 1, stderr: /--typed/ })
  const first = await approve('-m', 'due', '--typed', 'pay', '--by', 'alice')
  t.match(first, { code: 0, stderr: `Recorded: 1 of 2 approvals of pay, ${id}; 1 more is needed.\n` })
  t.match(await approve('-m', 'due', '--typed', 'pay', '--by', 'alice'), { code: 1, stderr: /one person has one vote/ })
  t.match(await commandWith(env, program.dbPath, 'deny', id), { code: 1, stderr: /Give one with -m\.$/m })
})

// -- at a terminal -------------------------------------------------------------------------------------------------------

if (needs(t, 'tmux')) {
  t.test('at a terminal it is shown whole, a screen at a time, and approved after a yes', async (t) => {
    const program = await start(t)
    const seat = await sit(t, urlOf(program), 100, 20)
    const id = await ask(program, { details: { list: Array.from({ length: 30 }, (_, index) => `line ${index}`) } })
    seat.run(`clear; ${holdpoint} pending`)
    const end = id.slice(-8)
    const listed = await seat.shows(/ send_mail .* Send the newsletter/)
    t.match(listed, new RegExp(`^${end} `, 'm'), 'on a terminal an id is its end')
    const approve = () => seat.run(`clear; ${holdpoint} approve ${end} --by alice; echo "ended $?"`)

    approve()
    const first = await seat.shows(/-- \d+ more lines: Enter goes on, q ends --/)
    t.match(first, /^WAITS FOR A DECISION$/m)
    t.notMatch(first, /line 29/)
    seat.run('q')
    await seat.shows(/Nothing was decided\.\nended 1/)

    approve()
    await seat.shows(/-- \d+ more lines/)
    const leftOn = (screen: string) => / (\d+) more lines?: [^\n]*\s*$/.exec(screen)?.[1]
    for (let left = leftOn(first); left !== undefined;) {
      const before = left
      seat.press('Enter')
      const isNext = (screen: string) => /\[y\/N\]/.test(screen) || ![undefined, before].includes(leftOn(screen))
      const screen = await seat.shows(isNext)
      left = leftOn(screen)
    }
    t.match(seat.lines().join('\n'), /line 29/)
    await seat.shows(/Approve send_mail, digest [0-9a-f]{16}\? \[y\/N\]/)
    seat.press('Enter')
    await seat.shows(/Nothing was decided\.\nended 1/)
    t.match(await stateOf(program, id), { status: 'pending' })

    approve()
    await seat.shows(/-- \d+ more lines/)
    seat.press('C-c')
    await seat.shows(/Nothing was decided\.\nended 1/)
  })

  t.test('what was typed or pasted before the question was to be seen is no answer to it', async (t) => {
    const program = await start(t)
    const seat = await sit(t, urlOf(program), 100, 40)
    const id = await ask(program)
    seat.type(`clear; ${holdpoint} approve ${id.slice(-8)}; echo "ended $?"\ny\ny\n`)
    const screen = await seat.shows(/\[y\/N\] *\s*$/)
    t.match(screen, /^WAITS FOR A DECISION$/m)
    t.match(await stateOf(program, id), { status: 'pending' })
    seat.press('y', 'Enter')
    await seat.shows(/^ended 0$/m)
    t.match(await stateOf(program, id), { status: 'approved' })
  })

  t.test(
    'a short card is on one screen; the name is typed where the rule wants it; a deny by an end is asked about',
    async (t) => {
      const rules = join(temporaryFolder(t), 'rules.yaml')
      writeFileSync(
        rules,
        'rules:\n  - name: money\n    action: pay\n    typed_confirmation: true\n    reason_required: approve\n',
      )
      const program = await start(t, { flags: ['--policy', rules] })
      const seat = await sit(t, urlOf(program), 100, 40)
      const id = await ask(program, { action: 'pay' })
      seat.run(`clear; ${holdpoint} approve ${id.slice(-6)}; echo "ended $?"`)
      await seat.shows(/To approve it, type the action's name:/)
      seat.run('pay')
      await seat.shows(/A reason is needed to approve it:/)
      seat.run('it is due')
      await seat.shows(/Approve pay, digest [0-9a-f]{16}\? \[y\/N\]/)
      seat.run('y')
      await seat.shows(/Approved: pay, .*\nended 0/)
      t.match(await stateOf(program, id), { status: 'approved', reason: 'it is due' })

      const other = await ask(program, { action: 'mail' })
      seat.run(`clear; ${holdpoint} deny ${other.slice(-6)} -m never; echo "ended $?"`)
      await seat.shows(/^Action +mail$[^]*Deny mail, digest [0-9a-f]{16}\? \[y\/N\]/m)
      seat.run('y')
      await seat.shows(/Denied: mail, .*\nended 0/)
      t.match(await stateOf(program, other), { status: 'denied', reason: 'never' })
    },
  )

  t.test('colours are on a terminal alone, and not where they are not wanted', async (t) => {
    const program = await start(t)
    const id = await ask(program, { action: 'pay', details: {} })
    const seat = await sit(t, { ...urlOf(program), ID: id }, 100, 40)
    for (const [env, isColoured] of [
      ['', true],
      ['NO_COLOR=1 ', false],
      ['TERM=dumb ', false],
    ] as const) {
      const mark = `coloured ${isColoured} ${env.slice(0, 4)}`.trim()
      seat.run(`clear; ${env}${holdpoint} show $ID; echo 'co''${mark.slice(2)}'`)
      await seat.shows(new RegExp(`^${mark}$`, 'm'))
      t.equal(/\u001b\[(1|2)m/.test(seat.styled()), isColoured, env)
    }
    seat.run(`clear; ${holdpoint} show $ID | grep -c "$(printf '\\033')"; echo 'in a ''pipe'`)
    t.match(await seat.shows(/^in a pipe$/m), /^0$/m)
  })
}

// -- the whitelist -------------------------------------------------------------------------------------------------------

t.test('what passes without asking is added, listed and taken back, over HTTP and as the owner', async (t) => {
  const program = await start(t)
  for (const [env, by] of [
    [urlOf(program), 'alice'],
    [{}, 'local'],
  ] as const) {
    const nothing = await commandWith(env, program.dbPath, 'whitelist', 'list')
    t.match(nothing, { code: 0, stdout: '', stderr: 'Nothing passes without asking.\n' })
    const words = [
      '--ttl',
      '1h',
      '--max-uses',
      '3',
      '--session',
      's1',
      '--requester',
      'agent',
      '--when',
      '{"n":1}',
      '-m',
      'why',
      '--by',
      'alice',
    ]
    const added = await commandWith(env, program.dbPath, 'whitelist', 'add', 'send_mail', ...words)
    t.match(added, {
      code: 0,
      stdout: '',
      stderr:
        /^Whitelisted: send_mail, for agent, in the session s1, with details where \{"n":1\}, until .*Z, 3 times at most\. To take it back: whitelist revoke /,
    })
    const [entry] = JSON.parse((await commandWith(env, program.dbPath, 'whitelist', 'list', '--json')).stdout)
    t.match(entry, {
      action: 'send_mail',
      granted_by: by,
      max_uses: 3,
      reason: 'why',
      when: { n: 1 },
      session_key: 's1',
    })
    const listed = (await commandWith(env, program.dbPath, 'whitelist', 'list')).stdout
    t.match(listed, new RegExp(`^${entry.id} +send_mail +s1 +agent .* 0 of 3 +${by} +where \\{"n":1\\}$`, 'm'))
    const passed = await program.submit({
      action: 'send_mail',
      details: { n: 1 },
      session_key: 's1',
      requester: 'agent',
    })
    t.match(passed, { status: 200, body: { status: 'auto_approved' } })
    t.match(await commandWith(env, program.dbPath, 'whitelist', 'revoke', 'ffffffff'), {
      code: 1,
      stderr: /whitelist list shows them/,
    })
    t.match(await commandWith(env, program.dbPath, 'whitelist', 'revoke', 'ff'), {
      code: 1,
      stderr: /at least the last 6/,
    })
    const revoked = await commandWith(env, program.dbPath, 'whitelist', 'revoke', entry.id.slice(-8))
    t.match(revoked, { code: 0, stderr: /^Revoked: send_mail, for agent/ })
  }
  const [granted] = (await program.events()).filter(({ type, actor }) => type === 'granted' && actor === 'local')
  t.match(granted, { channel: 'local' })
})

t.test('what may not be whitelisted is not, by nobody and from nowhere', async (t) => {
  const rules = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(rules, 'rules:\n  - name: money\n    action: pay\n    whitelist: false\n')
  const program = await start(t, { flags: ['--policy', rules] })
  for (const env of [urlOf(program), {}]) {
    t.match(await commandWith(env, program.dbPath, 'whitelist', 'add', 'delete_data'), { code: 1, stderr: /high-risk/ })
    t.match(await commandWith(env, program.dbPath, 'whitelist', 'add', 'pay'), { code: 1 })
  }
  await program.stop()
  const stopped = await command(program.dbPath, 'whitelist', 'add', 'pay', '--policy', rules)
  t.match(stopped, { code: 1 }, 'nor where no service runs')
  for (const [option, value] of [
    ['--when', '[1]'],
    ['--details', 'x'],
    ['--ttl', '1y'],
    ['--max-uses', '0'],
  ] as const)
    t.match(await command(program.dbPath, 'whitelist', 'add', 'mail', option, value), {
      code: 2,
      stderr: new RegExp(`^${option}: `),
    })
})
