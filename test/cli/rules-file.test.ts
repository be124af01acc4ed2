// The rules file as the owner of the machine uses it: checked, explained, loaded at the start and again on SIGHUP.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { attach, launch, root, run, start } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

const good = 'rules: [{ name: payments, action: pay_*, approvals: 2 }]\n'
const bad = 'rules: [{ action: pay_*, aprovals: 2 }]\n'

t.test('checking rules exits with 0 if they are good, and with 1 if they are not or cannot be read', async (t) => {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, good)
  t.match(await run(t, ['policy', 'check', file]), { code: 0, stdout: /1 rule, no mistakes/, stderr: '' })
  writeFileSync(file, bad)
  t.match(await run(t, ['policy', 'check', file]), { code: 1, stdout: /1 mistake\n.*did you mean `approvals`/ })
  t.match(await run(t, ['policy', 'check', '/nowhere/rules.yaml']), { code: 1, stdout: '', stderr: /cannot be read/ })
})

t.test('explaining an action goes by the rules of --policy, or by what is built in', async (t) => {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, good)
  const explain = (...more: string[]) => run(t, ['policy', 'explain', 'pay_rent', ...more])
  t.match(await explain(), { code: 0, stdout: /What applies: "default"\n/, stderr: '' })
  t.match(await explain('--policy', file, '--details', '{"amount":5}'), {
    code: 0,
    stdout: /^pay_rent with details {"amount":5}\n[^]*What applies: "payments"\n[^]*2 different people must approve/,
  })
  t.match(await run(t, ['policy', 'explain', 'pay_rent'], { CONFIRMATION_POLICY: file }), { stdout: /"payments"/ })
  writeFileSync(file, bad)
  t.match(await explain('--policy', file), { code: 1, stdout: '', stderr: /cannot be used:\n {2}- line 1/ })
})

t.test('a service does not start with rules that cannot be used, and leaves no lock behind', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, bad)
  const serve = ['--port', '0', '--web-port', 'off', '--db-path', dbPath]
  t.match(await run(t, [...serve, '--policy', file]), { code: 1, stdout: '', stderr: /cannot be used:\n {2}- line 1/ })
  t.match(await run(t, [...serve, '--policy', '/nowhere']), {
    code: 1,
    stderr: /The rules in \/nowhere cannot be read/,
  })
  writeFileSync(file, good)
  await attach(t, launch(t, [...serve, '--policy', file]), dbPath)
})

t.test('SIGHUP reads the rules again: good ones apply to what comes after, bad ones change nothing', async (t) => {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, good)
  const program = await start(t, { flags: ['--policy', file] })
  const ruleOf = async () => {
    const { id } = (await program.submit({ action: 'pay_rent' })).body
    return (await program.call('GET', `/confirm/${id}`)).body
  }
  const before = await ruleOf()
  t.match(before, { rule: 'payments', approvals_needed: 2 })

  writeFileSync(file, 'rules: [{ name: three, action: pay_*, approvals: 3 }]\n')
  program.child.kill('SIGHUP')
  t.match(await program.logLine(/the rules were read again/), { level: 'info', rules: 1 })
  t.match(await ruleOf(), { rule: 'three', approvals_needed: 3 })
  t.match((await program.call('GET', `/confirm/${before.id}`)).body, { rule: 'payments', approvals_needed: 2 })

  writeFileSync(file, bad)
  program.child.kill('SIGHUP')
  t.match(await program.logLine(/the rules were not changed/), { level: 'error', problem: /line 1/ })
  t.match(await ruleOf(), { rule: 'three' })
  const loaded = (await program.events()).filter(({ type }) => type === 'rules_loaded')
  t.equal(loaded.length, 2, 'what was loaded is on record')
  t.not(loaded[0].data.sha256, loaded[1].data.sha256)
})

t.test('a file may be about sessions alone; what has no effect in it is a warning in the log', async (t) => {
  const file = join(temporaryFolder(t), 'rules.yaml')
  writeFileSync(file, 'sessions: { mode: daily, time_zone: Mars/Olympus }\n')
  t.match(await run(t, ['policy', 'check', file]), { code: 1, stdout: /line 1: there is no time zone `Mars\/Olympus`/ })
  writeFileSync(file, 'sessions: { mode: daily }\n')
  t.match(await run(t, ['policy', 'check', file]), { code: 0, stdout: /Sessions\..*\n {2}else: mode daily/ })
  const program = await start(t, { flags: ['--policy', file] })
  t.equal((await program.submit()).status, 202)
  writeFileSync(file, 'sessions: { mode: daily, idle: 5 }\n')
  program.child.kill('SIGHUP')
  t.match(await program.logLine(/`idle` has no effect here/), { level: 'warn', policy: file })
  t.match(await program.logLine(/the rules were read again/), { level: 'info', rules: 0 })
})

t.test('SIGHUP without rules is no reason to end', async (t) => {
  const program = await start(t)
  program.child.kill('SIGHUP')
  await program.logLine(/there is no --policy to read again/)
  t.equal((await program.submit()).status, 202)
})

t.test('the JSON Schema of the rules is printed as it lies in the package', async (t) => {
  const { code, stdout } = await run(t, ['policy', 'schema'])
  t.equal(code, 0)
  t.equal(stdout, readFileSync(join(root, 'policy.schema.json'), 'utf8'))
})
