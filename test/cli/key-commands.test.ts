// Keys and people, as the owner of the machine makes them: in a running service, and where none runs.
import { existsSync, readFileSync, statSync, readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { carryOut } from '../../src/cli/dispatch.js'
import { readInvocation } from '../../src/invocation.js'
import t, { type Test } from 'tap'
import { launch, type Program, run, start } from '../e2e/program.js'
import { temporaryFolder, until } from '../support.js'
import { command } from './command.js'

const keyLine = /^hpk_[0-9a-f]{12}_[0-9a-f]{64}\n$/
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const newDatabase = (t: Test) => join(temporaryFolder(t), 'test.db')

async function addKey(t: Test, dbPath: string, name: string, role: string, ...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(dbPath, 'keys', 'add', '--name', name, '--role', role, ...more)
  t.equal(code, 0, stderr)
  t.match(stdout, keyLine, 'the key stands alone on standard output')
  return stdout.trim()
}

async function listKeys(t: Test, dbPath: string): Promise<any[]> {
  const { code, stdout } = await command(dbPath, 'keys', 'list', '--json')
  t.equal(code, 0)
  return JSON.parse(stdout) as any[]
}

const statusWith = async (program: Program, key: string) =>
  (await program.call('GET', '/confirm', undefined, bearer(key))).status

// -- what is refused -----------------------------------------------------------------------------------------------------

const misread: [args: string[], sentence: RegExp][] = [
  [['keys', 'steal'], /keys steal: there is no such command/],
  [['keys', 'add', 'bob'], /bob: keys add takes no argument/],
  [['keys', 'revoke'], /keys revoke: say which KEY/],
  [['policy', 'check'], /policy check: say which FILE/],
  [['keys', 'list', '--name', 'bob'], /--name: is for keys add, people set; keys list does not take it/],
  [['keys', 'add', '--role', 'admin'], /--name: is needed/],
  [['keys', 'add', '--name', 'bob'], /--role: is needed/],
  [['keys', 'add', '--name', 'bob', '--role'], /--role: needs a value/],
  [['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in', 'soon'], /--expires-in: must be a time as 90d/],
  [['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in', '1.5h'], /--expires-in: must be a time/],
  [['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in=-1'], /--expires-in: must be a time/],
  [['keys', 'rotate', 'bob', '--overlap', 'a while'], /--overlap: must be a time/],
  [['keys'], /keys: say which: keys add, keys list/],
  [['keys', 'add', '--name', 'bob', '--role', 'king'], /--role: must be one of agent, operator, auditor, admin/],
  [['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in', '0'], /--expires-in: must be from 1s to 3650d/],
  [
    ['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in', '3651d'],
    /--expires-in: must be from 1s to 3650d/,
  ],
  [
    ['keys', 'add', '--name', 'bob', '--role', 'agent', '--expires-in', '999999999999999d'],
    /--expires-in: must be from 1s to 3650d/,
  ],
  [['keys', 'add', '--expires-in', 'soon'], /--name: is needed[^]*--role: is needed[^]*--expires-in: must be/],
  [['policy', 'explain', ' '], /policy explain: say which ACTION/],
  [['keys', 'rotate', 'bob', '--overlap', '31d'], /--overlap: must be from 0s to 30d/],
  [
    ['keys', 'add', '--name', 'bob', '--role', 'agent', '--telegram', 'bobby'],
    /--telegram: must be a person's id.* or none/,
  ],
  [['people', 'set', '--name', 'bob', '--discord', 'null'], /--discord: must be a person's id/],
  [['people', 'set', '--telegram', '5'], /--name: is needed/],
  [['policy', 'explain', 'pay', '--details', '[1]'], /--details: the details must be a JSON object/],
  [['policy', 'explain', 'pay', '--details', '{"a":1,"a":2}'], /--details: The name 'a' stands twice in the details/],
]
t.test('a command that cannot be understood is refused by what is wrong, and touches nothing', async (t) => {
  const folder = temporaryFolder(t)
  const dbPath = join(folder, 'test.db')
  for (const [args, sentence] of misread) {
    const carried = async () => {
      const invocation = readInvocation(['--db-path', dbPath, ...args], {})
      if (invocation.command === 'carry-out') await carryOut(invocation.given, invocation.config)
    }
    await t.rejects(carried(), { name: 'ConfigProblems', message: sentence }, args.join(' '))
  }
  t.same(readdirSync(folder), [], 'no database was made')
})

t.test('a whole key that is pasted to revoke it is revoked, and never repeated', async (t) => {
  const dbPath = newDatabase(t)
  const key = await addKey(t, dbPath, 'bot', 'agent')
  const { code, stdout, stderr } = await command(dbPath, 'keys', 'revoke', key)
  t.match({ code, stderr }, { code: 0, stderr: /^Key \w+ of bot is revoked\.$/m })
  t.notMatch(stdout + stderr, key)
  t.match(await listKeys(t, dbPath), [{ name: 'bot', state: 'revoked' }])
})

t.test('what was typed does not steer the terminal when it is repeated', async (t) => {
  const dbPath = newDatabase(t)
  for (const args of [
    ['policy', 'check', '/nowhere/\u001b[2J'],
    ['--config', '/nowhere/\u001b[2J\u009b'],
    ['--policy', '/nowhere/\u001b[2J'],
    ['restore', '/nowhere/\u001b[2J'],
  ]) {
    const { stdout, stderr } = await run(t, [...args, '--db-path', dbPath])
    t.match(stdout + stderr, 'nowhere', args.join(' '))
    t.notMatch(stdout + stderr, /[\u001b\u009b]/)
  }
})

t.test('the program itself prints the key alone, and ends a mistake with exit code 2 and a sentence', async (t) => {
  const made = await run(t, ['keys', 'add', '--name', 'bob', '--role', 'admin', '--db-path', newDatabase(t)])
  t.match(made, { code: 0, stdout: keyLine, stderr: /Keep it now/ })
  const { code, stdout, stderr } = await run(t, ['keys', 'add', '--name', 'bob', '--role', 'king'])
  t.equal(code, 2)
  t.match(stderr, /--role: must be one of/)
  t.notMatch(stderr, /\n {4}at /, 'a sentence, not a stack')
  t.equal(stdout, '')
})

const refused: [args: string[], sentence: RegExp][] = [
  [['keys', 'add', '--name', 'system', '--role', 'agent'], /'name' is reserved/],
  [['keys', 'add', '--name', 'telegram:5', '--role', 'agent'], /'name' must be 1 to 100 letters/],
  [['keys', 'revoke', 'nobody'], /There is no key of nobody; to see/],
  [['keys', 'revoke', 'hpk_12ab_half'], /There is no key like that; to see/],
  [['keys', 'revoke', `hpk_${'a'.repeat(12)}_${'b'.repeat(64)}`], /There is no key a{12}; to see/],
  [['keys', 'rotate', 'x'.repeat(5000)], /There is no key like that; to see/],
  [['people', 'set', '--name', 'a/b'], /'name' must be/],
]
t.test('a command that is refused says why with exit code 1, and makes no key', async (t) => {
  const { dbPath } = await start(t)
  for (const [args, sentence] of refused) {
    const { code, stdout, stderr } = await command(dbPath, ...args)
    t.equal(code, 1, args.join(' '))
    t.match(stderr, sentence)
    t.notMatch(stderr, /\n {4}at /)
    t.equal(stdout, '')
  }
  t.same(await listKeys(t, dbPath), [])
})

// -- keys ----------------------------------------------------------------------------------------------------------------

t.test('where no service runs, keys are made, listed, rotated and revoked in the database itself', async (t) => {
  const dbPath = newDatabase(t)
  const none = await command(dbPath, 'keys', 'list')
  t.match(none, { code: 1, stdout: '', stderr: /There is no database/ })
  t.notOk(existsSync(dbPath), 'looking makes nothing')

  const admin = await addKey(t, dbPath, 'root@ops', 'admin')
  const agent = await addKey(t, dbPath, 'bot', 'agent', '--expires-in', '90d')
  t.equal(statSync(dbPath).mode & 0o777, 0o600)
  t.notOk(existsSync(`${dbPath}.sock`), 'nothing listens any more')
  t.notMatch(readFileSync(dbPath).toString('latin1'), admin, 'only its hash is kept')

  const [first, second] = await listKeys(t, dbPath)
  t.match(first, { name: 'root@ops', role: 'admin', state: 'live', created_by: 'local', expires_at: null })
  t.match(second, { name: 'bot', role: 'agent', state: 'live' })
  t.equal(Math.round(second.expires_at - second.created_at), 90 * 86_400)
  const { stdout: table } = await command(dbPath, 'keys', 'list')
  t.match(table, /^ID +NAME +ROLE +STATE +CREATED +ENDS +LAST USED\n/)
  for (const key of [admin, agent]) {
    t.match(table, key.split('_')[1]!, 'a key is listed by its id')
    t.notMatch(table, key.split('_')[2]!)
  }

  const rotated = await command(dbPath, 'keys', 'rotate', 'bot', '--overlap', '0')
  t.equal(rotated.code, 0)
  t.match(rotated.stdout, keyLine)
  t.match(rotated.stderr, /Key \w+ for bot, agent, good until .*\nThe old key \w+ is good until /)
  t.match(await command(dbPath, 'keys', 'revoke', admin.split('_')[1]!), {
    code: 0,
    stdout: '',
    stderr: /is revoked/,
  })
  t.same(
    (await listKeys(t, dbPath)).map(({ name, state }) => [name, state]),
    [
      ['root@ops', 'revoked'],
      ['bot', 'expired'],
      ['bot', 'live'],
    ],
  )

  const program = await start(t, { dbPath })
  t.equal(await statusWith(program, rotated.stdout.trim()), 200)
  for (const key of [admin, agent]) t.equal(await statusWith(program, key), 401)
})

t.test('the first key closes a running service at once, and a revoked one is refused at once', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  t.match(await program.logLine(/there is no key yet/), { level: 'warn', auth: 'open' })
  t.equal((await program.submit()).status, 202, 'open until the first key')

  const agent = await addKey(t, dbPath, 'bot', 'agent')
  t.match(await program.submit(), { status: 401, body: { code: 'unauthorized' } })
  t.equal(await statusWith(program, agent), 200, 'without a restart')
  t.equal(await statusWith(program, `${agent.slice(0, -1)}x`), 401)
  t.equal((await program.call('GET', '/health')).status, 200, 'it lives, for everyone to see')

  const operator = await addKey(t, dbPath, 'alice', 'operator')
  const { id } = (await program.call('POST', '/confirm', { action: 'a', description: 'b' }, bearer(agent))).body
  const approve = (key: string) => program.call('POST', `/confirm/${id}/approve`, undefined, bearer(key))
  t.match(await approve(agent), { status: 403, body: { code: 'forbidden' } })
  t.match(await approve(operator), { status: 200, body: { status: 'approved', resolved_by: 'alice' } })

  t.equal((await command(dbPath, 'keys', 'revoke', 'alice')).code, 0)
  t.equal(await statusWith(program, operator), 401)
  t.equal((await command(dbPath, 'keys', 'revoke', 'bot')).code, 0)
  t.equal(await statusWith(program, agent), 401)
  t.equal((await program.submit()).status, 401, 'with the last key gone it stays closed')

  const admin = await addKey(t, dbPath, 'root', 'admin')
  t.equal(await statusWith(program, admin), 200, 'whoever owns the folder is never locked out')
  const { body } = await program.call('GET', '/audit/events?type=key_added,key_revoked', undefined, bearer(admin))
  t.same(
    body.events.map((one: any) => [one.type, one.actor, one.channel, one.data.name]),
    [
      ['key_added', 'local', 'local', 'bot'],
      ['key_added', 'local', 'local', 'alice'],
      ['key_revoked', 'local', 'local', 'alice'],
      ['key_revoked', 'local', 'local', 'bot'],
      ['key_added', 'local', 'local', 'root'],
    ],
  )
  t.notMatch(program.stdout(), /hpk_/, 'no key is in the log')
})

t.test('a rotated key stays good for the overlap and no longer', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  const old = await addKey(t, dbPath, 'bot', 'agent')
  const { stdout } = await command(dbPath, 'keys', 'rotate', 'bot')
  const next = stdout.trim()
  t.equal(await statusWith(program, old), 200)
  t.equal(await statusWith(program, next), 200)

  const taken = await command(dbPath, 'keys', 'rotate', old.split('_')[1]!)
  t.match(taken, { code: 1, stdout: '', stderr: /was rotated before, and [0-9a-f]+ is in its place/ })
  // By name it is the one whose place is not taken.
  const last = await command(dbPath, 'keys', 'rotate', 'bot', '--overlap', '1s')
  t.equal(last.code, 0)
  await addKey(t, dbPath, 'bot', 'agent')
  const several = await command(dbPath, 'keys', 'rotate', 'bot')
  t.match(several, { code: 1, stdout: '', stderr: /bot has several keys; say which by its id/ })
  await until(async () => (await statusWith(program, next)) === 401)
  t.equal(await statusWith(program, last.stdout.trim()), 200)
  const gone = await command(dbPath, 'keys', 'rotate', next.split('_')[1]!)
  t.match(gone, { code: 1, stdout: '', stderr: /is expired; add a new one/ })
})

t.test('a key that has run out is refused', async (t) => {
  const program = await start(t)
  const key = await addKey(t, program.dbPath, 'bot', 'agent', '--expires-in', '1s')
  await until(async () => (await statusWith(program, key)) === 401)
  t.match(await listKeys(t, program.dbPath), [{ name: 'bot', state: 'expired' }])
})

t.test('people are named with the ids that chats know them by, each id once', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  t.match(await command(dbPath, 'people', 'set', '--name', 'alice', '--telegram', '5', '--discord', '7'), {
    code: 0,
    stdout: '',
    stderr: 'alice is known.\n',
  })
  t.match(await command(dbPath, 'people', 'set', '--name', 'bob', '--telegram', '5'), {
    code: 1,
    stderr: /The chat id belongs to 'alice'/,
  })
  t.match(await command(dbPath, 'people', 'set', '--name', 'Alice'), { code: 1, stderr: /looks like 'alice'/ })
  t.match(await command(dbPath, 'people', 'list'), {
    code: 0,
    stdout: /^NAME +TELEGRAM +DISCORD +SLACK\nalice +5 +7\n$/,
  })
  const { stdout } = await command(dbPath, 'people', 'list', '--json')
  t.match(JSON.parse(stdout), [{ name: 'alice', telegram_id: '5', discord_id: '7' }])
  t.equal((await command(dbPath, 'people', 'set', '--name', 'alice', '--telegram', 'none')).code, 0)
  t.match(await command(dbPath, 'people', 'list'), { stdout: /\nalice +7\n$/ }, 'the other one stays')
  t.equal((await command(dbPath, 'people', 'set', '--name', 'bob', '--telegram', '5')).code, 0, 'it is free again')
  t.equal((await program.submit()).status, 202, 'a person is no key: it is open still')
})

// -- the database's own socket -------------------------------------------------------------------------------------------

t.test(
  'the socket beside the database is its owner’s alone, knows keys, people and health only, and goes with the service',
  async (t) => {
    const program = await start(t)
    const socketPath = `${program.dbPath}.sock`
    t.equal(statSync(socketPath).mode & 0o077, 0)
    const ask = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = request({ socketPath, path }, (response) => {
          response.resume()
          resolve(response.statusCode!)
        })
        asked.once('error', reject).end()
      })
    t.equal(await ask('/keys'), 200)
    t.equal(await ask('/people'), 200)
    t.equal(await ask('/health'), 200)
    for (const path of ['/confirm', '/audit', '/events', '/', '/ready', '/metrics', '/page.css'])
      t.equal(await ask(path), 404, path)
    await program.stop()
    t.notOk(existsSync(socketPath))

    const crashed = await start(t, { dbPath: program.dbPath })
    await crashed.crash()
    t.ok(existsSync(socketPath), 'a crash leaves it behind')
    await addKey(t, program.dbPath, 'root', 'admin')
    await start(t, { dbPath: program.dbPath })
    t.equal(await ask('/keys'), 200, 'and the next one takes its place')
  },
)

t.test(
  'where the path is too long for a socket, the service says so, and the command that the database is in use',
  async (t) => {
    const dbPath = join(temporaryFolder(t), 'x'.repeat(100), 'test.db')
    const key = await addKey(t, dbPath, 'root', 'admin')
    const program = await start(t, { dbPath })
    t.match(await program.logLine(/commands about keys, people and sessions cannot reach this service/), {
      level: 'warn',
      reason: /too long/,
    })
    t.match(await command(dbPath, 'keys', 'list'), { code: 1, stderr: /in use by another Holdpoint/ })
    t.equal((await program.call('GET', '/keys', undefined, bearer(key))).status, 200, 'HTTP is left')
  },
)

// -- beyond loopback -----------------------------------------------------------------------------------------------------

t.test('on another address than loopback a key is made at the first start, shown once, and asked for', async (t) => {
  const dbPath = newDatabase(t)
  const first = await start(t, { dbPath, flags: ['--host', '0.0.0.0'] })
  const { key, level } = await first.logLine(/made an admin key; it is shown this once/)
  t.equal(level, 'warn')
  t.match(`${key}\n`, keyLine)
  t.equal(first.stdout().split('hpk_').length, 2, 'exactly once')
  t.notMatch(first.stdout(), /there is no key yet/)
  for (const [method, path] of [
    ['GET', '/confirm'],
    ['POST', '/confirm'],
    ['GET', '/audit'],
    ['GET', '/keys'],
    ['GET', '/metrics'],
    ['GET', '/openapi.yaml'],
    ['GET', '/nothing'],
  ] as const) {
    t.match(await first.call(method, path), { status: 401, headers: { 'www-authenticate': /^Bearer/ } }, path)
  }
  t.match((await first.call('GET', '/keys', undefined, bearer(key))).body, {
    count: 1,
    keys: [{ name: 'admin', role: 'admin', created_by: 'system:first-start', expires_at: null }],
  })
  await first.stop()

  const second = await start(t, { dbPath, flags: ['--host', '0.0.0.0'] })
  t.equal(await statusWith(second, key), 200, 'it is good after a restart')
  t.equal((await second.call('GET', '/confirm')).status, 401)
  await second.stop()
  t.notMatch(second.stdout(), /hpk_/, 'and never shown again')
})

t.test('a start that comes to nothing makes no key, and leaves an open database open', async (t) => {
  const dbPath = newDatabase(t)
  const taken = await start(t)
  const flags = ['--host', '0.0.0.0', '--port', String(taken.port), '--web-port', 'off']
  const lost = launch(t, flags, { CONFIRMATION_DB_PATH: dbPath })
  t.match(await lost.exited, { code: 1 })
  t.match(lost.stderr(), /is in use/)
  t.notMatch(lost.stdout(), /hpk_/)
  t.match(await command(dbPath, 'keys', 'list'), { code: 0, stderr: /There is no key/ })
})

t.test('a silent log still shows the first key, and one that was made before is not made again', async (t) => {
  const quiet = launch(t, ['--host', '0.0.0.0', '--port', '0', '--web-port', 'off', '--log-level', 'silent'], {
    CONFIRMATION_DB_PATH: newDatabase(t),
  })
  await until(() => /"key":"hpk_/.test(quiet.stdout()))
  t.equal(quiet.logged().length, 1)

  const dbPath = newDatabase(t)
  await addKey(t, dbPath, 'bot', 'agent')
  const program = await start(t, { dbPath, flags: ['--host', '0.0.0.0'] })
  t.notMatch(program.stdout(), /hpk_|made an admin key/)
})
