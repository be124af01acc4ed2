// holdpoint doctor as a process, beside a running service and without one.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { version } from '../../src/version.js'
import { temporaryFolder, until } from '../support.js'
import { run, serverFile, start } from './program.js'

/** Of each file in the folder, but for the index of SQLite's log, in which readers note where they are. */
function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !/-shm$|\.sock$/.test(name))
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  return Object.fromEntries(names.map((name) => [name, hash(name)]))
}

/** A service whose log goes into a file. */
async function startLogging(t: Test, dbPath: string, log: string, env: Record<string, string> = {}): Promise<number> {
  const child = spawn(process.execPath, [serverFile, '--port', '0', '--web-port', '0', '--db-path', dbPath], {
    env: { PATH: process.env.PATH, HOME: dirname(dbPath), ...env },
    stdio: ['ignore', openSync(log, 'a'), 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  await until(() => readFileSync(log, 'utf8').includes(' is ready: '))
  return child.pid!
}

t.test('beside a running service it says which, and nothing changes', async (t) => {
  const program = await start(t)
  await program.submit()
  const before = contents(dirname(program.dbPath))
  const { code, stdout, stderr } = await run(t, ['doctor', '--json', '--db-path', program.dbPath])
  t.equal(stderr, '')
  const found = JSON.parse(stdout)
  t.match(found, {
    database: { state: 'ours', looked_at: 'itself', counts: { confirmations: { pending: 1 }, events: Number } },
    service: { is_running: true, reached_by: 'socket', version, auth: 'open', pending: 1 },
    access: { mode: 'open' },
  })
  t.same(found.problems, [])
  t.equal(code, 0)
  if (process.platform === 'linux') {
    t.equal(found.service.pid, program.child.pid)
    t.match(found.log, { file: null, where: /^The log goes to a pipe: see / })
  }
  t.same(contents(dirname(program.dbPath)), before)
  t.same((await program.call('GET', '/ready')).status, 200)
})

t.test('after it was stopped, and after it was killed, the folder is as it was', async (t) => {
  const program = await start(t)
  await program.submit()
  await program.stop()
  const folder = dirname(program.dbPath)
  const stopped = contents(folder)
  const names = readdirSync(folder)
  t.match(await run(t, ['doctor', '--db-path', program.dbPath]), { code: 0, stdout: /^No problems found\.$/m })
  t.same(contents(folder), stopped)
  t.same(readdirSync(folder), names)
  const again = await start(t, { dbPath: program.dbPath })
  await again.submit({ description: 'another' })
  await again.crash()
  const killed = contents(folder)
  const { code, stdout } = await run(t, ['doctor', '--json', '--db-path', program.dbPath])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    database: { counts: { confirmations: { pending: 2 } } },
    service: { is_running: false },
  })
  t.same(contents(folder), killed)
  t.equal((await start(t, { dbPath: program.dbPath })).ready.pending, 2, 'and the next start finds everything')
})

t.test('the end of the log, without a secret and without what steers a terminal', async (t) => {
  if (process.platform !== 'linux') return t.pass('only Linux says where the output of a process goes')
  const folder = temporaryFolder(t)
  const [dbPath, log] = [join(folder, 'test.db'), join(folder, 'log.txt')]
  // It shows the key that it makes, this once.
  const pid = await startLogging(t, dbPath, log, { CONFIRMATION_HOST: '0.0.0.0', CONFIRMATION_CALLBACK_SECRET: '' })
  await until(() => readFileSync(log, 'utf8').includes('hpk_'))
  const [key] = /hpk_\w+/.exec(readFileSync(log, 'utf8'))!
  const secrets = [
    'sesame-of-the-environment',
    '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw',
    'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs',
    `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
    '5f4dcc3b5aa765d61d8327deb882cf99',
  ]
  for (const secret of secrets) appendFileSync(log, `${JSON.stringify({ msg: `it is ${secret}`, x: secret })}\n`)
  appendFileSync(log, 'postgres://bob:open-sesame@db.example/x\n\u001b[2J\u202eturned\n')
  const env = { TELEGRAM_BOT_TOKEN: secrets[0]!, CONFIRMATION_HOST: '0.0.0.0' }
  for (const form of [[], ['--json']]) {
    const { stdout } = await run(t, ['doctor', '--db-path', dbPath, ...form], env)
    const seen = stdout.replace(/\s+/g, '')
    for (const secret of [...secrets, key, key.slice(20), 'open-sesame']) t.notOk(seen.includes(secret), secret)
    t.notMatch(stdout, /[\u001b\u202e]/)
    t.match(seen, /isready:/)
    t.match(seen, /turned/)
  }
  const linesOf = async (...flags: string[]) =>
    JSON.parse((await run(t, ['doctor', '--json', '--db-path', dbPath, ...flags], env)).stdout).log
  t.match(await linesOf('--lines', '2'), { file: log, lines: [/^postgres:\/\/\[masked\]@db/, /turned/] })
  t.same((await linesOf('--lines', '2')).lines.length, 2)
  t.match(await linesOf('--lines', '0'), { file: log, lines: [] })
  // Long lines, and more than is read.
  appendFileSync(log, `${'x '.repeat(5000)}\n`)
  appendFileSync(log, 'short words in a line\n'.repeat(20_000))
  const many = (await linesOf('--lines', '1000')).lines
  t.equal(many.length, 1000)
  t.ok(many.every((line: string) => line === 'short words in a line'))
  t.ok(pid > 0)
})

t.test('wrong settings give a report, with exit code 1; a wrong call gives none, with exit code 2', async (t) => {
  const env = { CONFIRMATION_PORT: 'open-sesame', CONFIRMATION_AUTH: 'open-sesame' }
  const { code, stdout, stderr } = await run(t, ['doctor'], env)
  t.equal(code, 1)
  t.equal(stderr, '')
  t.match(stdout, /^Problems: 2$/m)
  t.match(stdout, /CONFIRMATION_PORT: must be a whole number/)
  t.notMatch(stdout, /sesame/)
  t.match(await run(t, ['doctor', '--lines', 'many']), {
    code: 2,
    stdout: '',
    stderr: /--lines: must be a whole number/,
  })
  t.match(await run(t, ['doctor', '--colour']), { code: 2, stdout: '', stderr: /--colour/ })
  t.match(await run(t, ['doctor', '--help']), { code: 0, stdout: /Exit codes: 0 no problem found, 1 problems found/ })
  const file = join(temporaryFolder(t), 'report.txt')
  t.match(await run(t, ['doctor', '--output', file]), {
    code: 0,
    stdout: '',
    stderr: /^The report is in .*: no problems found\.\n$/,
  })
  t.match(await run(t, ['doctor', '--output', file]), { code: 1, stdout: '', stderr: /exists, and is not overwritten/ })
})
