// Sessions as the owner of the machine sees and steers them: in a running service, and where none runs.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenLocally, localSocket } from '../../src/listen.js'
import { run, start } from '../e2e/program.js'
import { build, type Built, giveKeys, temporaryFolder } from '../support.js'
import { command } from './command.js'

const key = 'agent:main:telegram:group:-1001234:42'
const pathOf = (session: string) => `/sessions/${encodeURIComponent(session)}`

/** A service in this process that commands can reach, on a clock that stands. */
async function reachable(t: Test, options: Parameters<typeof build>[1] = {}) {
  const built = await build(t, options)
  const close = await listenLocally(localSocket(built.dbPath)!, built.routeLocal)
  t.teardown(close)
  return { ...built, sessions: (...words: string[]) => command(built.dbPath, 'sessions', ...words) }
}

const submitAs = (call: Built['call'], session_key: string, fields: object = {}) =>
  call('POST', '/confirm', { action: 'send_mail', description: 'Send the newsletter', session_key, ...fields })

t.test('a command that cannot be understood is refused by what is wrong', async (t) => {
  const { sessions } = await reachable(t)
  for (const [words, sentence] of [
    [[], /sessions: say which: sessions list, sessions show/],
    [['show'], /sessions show: say which KEY/],
    [['show', 'a', 'b'], /takes no second argument/],
    [['list', 'a'], /sessions list takes no argument/],
    [['stop', 'a'], /there is no such command/],
    [['switch', 'a'], /--to: is needed/],
    [
      ['reset', 'a', '--reason', 'x'],
      /--reason: is for .*sessions suspend, sessions resume; sessions reset does not take it/,
    ],
    [['list', '--active-minutes', '0'], /--active-minutes: must be a whole number of minutes, from 1/],
    [['list', '--active-minutes', 'soon'], /--active-minutes: must be/],
    [['list', '--suspended=yes'], /--suspended: takes no value/],
    [['suspend', 'a', '--reason', ''], /--reason: needs a value/],
  ] as const) {
    t.match(await sessions(...words), { code: 2, stdout: '', stderr: sentence }, words.join(' '))
  }
})

t.test('where there is nothing, that is said kindly', async (t) => {
  const { sessions } = await reachable(t)
  t.same(await sessions('list'), { code: 0, stdout: '', stderr: 'There is no session yet.\n' })
  t.match(await sessions('list', '--suspended'), { code: 0, stderr: 'There is no session like that.\n' })
  t.same(JSON.parse((await sessions('list', '--json')).stdout), [])
  for (const verb of ['show', 'reset', 'suspend', 'resume']) {
    t.match(await sessions(verb, 'x'), { code: 1, stdout: '', stderr: /^There is no session 'x'\.$/m }, verb)
  }
  t.match(await command(join(temporaryFolder(t), 'none.db'), 'sessions', 'list'), {
    code: 1,
    stderr: /There is no database/,
  })
})

t.test('the list has all there are, the latest active first, and can be narrowed down', async (t) => {
  const { call, clock, sessions } = await reachable(t, { config: { floodLimit: 0 } })
  await call('POST', `${pathOf(key)}/messages`, { count: 3 })
  await clock.advance(600_000)
  await call('POST', '/sessions/plain/messages')
  await call('POST', '/sessions/plain/suspend')
  const { code, stdout, stderr } = await sessions('list')
  t.match({ code, stderr }, { code: 0, stderr: '' })
  const [head, first, second, ...more] = stdout.trimEnd().split('\n')
  t.match(head, /^LAST ACTIVE +MESSAGES +STATE +REQUESTER +SESSION ID +KEY$/)
  t.match(first, /^2026-01-01T00:10:00\.000Z {2}1 of 200 {2}suspended {2} +session-\d+ {2}plain$/)
  t.match(second, /^2026-01-01T00:00:00\.000Z {2}3 of 200 +session-\d+ {2}agent:main:telegram:group:-1001234:42$/)
  t.same(more, [])

  const keysOf = async (...words: string[]) =>
    (JSON.parse((await sessions('list', '--json', ...words)).stdout) as any[]).map((one) => one.session_key)
  t.same(await keysOf(), ['plain', key])
  t.same(await keysOf('--suspended'), ['plain'])
  t.same(await keysOf('--platform', 'telegram'), [key])
  t.same(await keysOf('--active-minutes', '9'), ['plain'])
  t.same(await keysOf('--requester', ''), ['plain', key])
  t.same(await keysOf('--requester', 'nobody'), [])
  for (let i = 0; i < 510; i++) await call('POST', `/sessions/s${i}/messages`)
  t.equal((await keysOf()).length, 512, 'of every page')
})

t.test('show has the facts, grants, what is pending, outcomes and earlier ids', async (t) => {
  const { call, clock, sessions } = await reachable(t)
  await call('POST', `${pathOf(key)}/messages`)
  const before = (await call('POST', `${pathOf(key)}/reset`)).body.previous_id
  await clock.advance(1000)
  for (let i = 0; i < 3; i++) {
    const { id } = (await submitAs(call, key, { details: { i } })).body
    await call('POST', `/confirm/${id}/deny`, { denier: 'alice', reason: 'not before the audit' })
  }
  await call('POST', '/whitelist', {
    action: 'deploy',
    session_key: key,
    max_uses: 5,
    ttl_seconds: 60,
    granted_by: 'bob',
  })
  await call('POST', '/whitelist', { action: 'pay', session_key: key, when: { amount: 5 } })
  await submitAs(call, key, { action: 'rename' })
  await call('POST', `${pathOf(key)}/suspend`, { reason: 'it went astray', suspended_by: 'alice' })
  const { code, stdout } = await sessions('show', key)
  t.equal(code, 0)
  const [facts, ...parts] = stdout.trimEnd().split('\n\n')
  t.match(facts, /^Key +agent:main:telegram:group:-1001234:42\nSession id +session-\d+\nPlace +telegram, group\n/)
  t.match(facts, /\nMessages +4 of 200, 196 left\nSubmissions +4\nStreak +3 requests in a row were denied or expired\n/)
  t.match(facts, /\nSuspended +since 2026-01-01T00:00:01\.000Z, by alice: it went astray\n/)
  t.match(facts, /\nEnds +2026-01-01T04:00:00\.000Z, if nothing more happens\n/)
  t.match(facts, new RegExp(`\\nRotated +2026-01-01T00:00:00\\.000Z \\(manual\\); before: ${before}$`))
  t.notMatch(facts, /Requester|Waits|Due/, 'what does not apply is left out')
  const columns = facts!.split('\n').map((line) => /^(\S+ )+ */.exec(line)![0].length)
  t.equal(new Set(columns).size, 1, 'below each other')
  const [grants, pending, outcomes, earlier] = parts
  t.match(grants, /^Grants:\n {2}ID +ACTION +UNTIL +USES +FOR +BY\n/)
  t.match(grants, /\n {2}id-\d+ +deploy +2026-01-01T00:01:01\.000Z +0 of 5 +any details +bob(\n|$)/)
  t.match(grants, /\n {2}id-\d+ +pay +revoked +0 +some details +api(\n|$)/)
  t.match(pending, /^Pending:\n {2}ID +ACTION +UNTIL +DESCRIPTION\n {2}id-\d+ +rename +\S+ +Send the newsletter$/)
  t.match(outcomes, /^Last outcomes:\n[^]*\n {2}id-\d+ +send_mail +denied +\S+ +alice +not before the audit/)
  t.match(earlier, new RegExp(`^Earlier session ids, for sessions switch --to:\\n.*\\n {2}${before} .* manual +1 +0$`))

  await call('POST', '/sessions/empty/messages')
  t.match(await sessions('show', 'empty'), {
    stdout:
      /\n\nGrants: none\n\nPending: nothing\n\nLast outcomes: none\n\nEarlier session ids, for sessions switch --to: none\n$/,
  })
  t.match(JSON.parse((await sessions('show', key, '--json')).stdout), { session_key: key, suspended: true, streak: 3 })
  const text = await sessions('show', key, '--text')
  const { body } = await call('GET', pathOf(key), undefined, { accept: 'text/plain' })
  t.equal(text.stdout, body, 'the text for prompts, as the route gives it')
})

t.test('each verb does what it says, signed by the owner of the machine', async (t) => {
  const { call, clock, sessions } = await reachable(t)
  const { id: first } = (await call('POST', `${pathOf(key)}/messages`)).body.session
  t.match(await sessions('suspend', key, '--reason', 'it went astray'), {
    code: 0,
    stdout: '',
    stderr: /^Session agent:main:telegram:group:-1001234:42 is suspended since 2026-01-01T00:00:00\.000Z, by local\. /,
  })
  t.match(await submitAs(call, key), { status: 423, body: { reason: 'it went astray' } })
  t.match(await sessions('resume', key, '--reason', 'all is well'), { code: 0, stderr: /is not suspended\.$/m })
  const reset = await sessions('reset', key)
  t.match(reset.stderr, new RegExp(`^Session .* began anew: its session id is session-\\d+, before it was ${first}\\.`))
  t.match(await sessions('switch', key, '--to', 'nothing'), { code: 1, stderr: /never had the id 'nothing'/ })
  t.match(await sessions('switch', key, '--to', first), { code: 0, stderr: `went back: its session id is ${first}` })
  const { events } = (await call('GET', '/audit/events?channel=local')).body
  t.same(
    events.map(({ type, actor, data }: any) => [type, actor, data.reason]),
    [
      ['session_suspended', 'local', 'it went astray'],
      ['session_resumed', 'local', 'all is well'],
      ['session_rotated', 'local', 'manual'],
      ['session_rotated', 'local', 'switched'],
    ],
  )
  await submitAs(call, key)
  await clock.advance(1000)
  t.match(await sessions('reset', key), {
    stderr: /waits for what is pending or claimed, and gets another session id then/,
  })
  t.match(
    (await sessions('show', key)).stdout,
    /\nDue +since 2026-01-01T00:00:01\.00\dZ \(manual\); it gets another session id/,
  )
  t.match((await sessions('list')).stdout, / due /)
  const asked = await sessions('suspend', key, '--json')
  t.match({ ...asked, stdout: JSON.parse(asked.stdout) }, { code: 0, stderr: '', stdout: { suspended: true } })
})

t.test('one that goes on is told what is still held against it', async (t) => {
  const { call, sessions } = await reachable(t)
  for (let i = 0; i < 6; i++) {
    const { id } = (await submitAs(call, key, { action: `a${i}` })).body
    await call('POST', `/confirm/${id}/deny`)
  }
  await call('POST', `${pathOf(key)}/suspend`)
  t.match((await sessions('list')).stdout, 'suspended')
  t.match(await sessions('resume', key), {
    stderr: /It has to wait until 2026-01-01T00:10:00\.000Z\. 6 requests in a row were denied or expired; an approval/,
  })
  t.match((await sessions('list')).stdout, ' waits ')
  t.match((await sessions('show', key)).stdout, /\nWaits +until 2026-01-01T00:10:00\.000Z\n/)
})

t.test('where several requesters have the key, it is said how to name one', async (t) => {
  const built = await reachable(t)
  await built.call('POST', '/sessions/s/messages')
  const { bot, mailer } = await giveKeys(built, { bot: 'agent', mailer: 'agent' })
  for (const agent of [bot, mailer]) await agent('POST', '/sessions/s/messages')
  const { sessions } = built
  for (const words of [
    ['show', 's'],
    ['reset', 's'],
    ['suspend', 's'],
    ['resume', 's'],
    ['switch', 's', '--to', 'x'],
  ]) {
    const sentence = "say whose: --requester '', --requester bot, --requester mailer\n"
    t.match(await sessions(...words), { code: 1, stdout: '', stderr: sentence }, words.join(' '))
  }
  t.match(await sessions('suspend', 's', '--requester', 'bot'), { code: 0, stderr: /^Session s of bot is suspended/ })
  t.match(await sessions('show', 's', '--requester', 'bot'), { stdout: /^Key +s\nRequester +bot\n/ })
  t.match(await sessions('show', 's', '--requester', ''), { stdout: /^Key +s\nSession id/ }, 'from open mode')
  t.match(await bot('GET', '/sessions/s'), { body: { suspended_by: 'local' } })
  t.match(await mailer('GET', '/sessions/s'), { body: { suspended: false } })
})

t.test('what agents wrote does not steer the terminal, and can be given back as it is shown', async (t) => {
  const { call, sessions } = await reachable(t)
  const evil = 'a\u001b[2J\nSession forged  \u202e'
  await submitAs(call, evil, { action: evil, description: evil })
  await call('POST', `${pathOf(evil)}/suspend`, { reason: evil, suspended_by: 'alice' })
  const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/
  for (const words of [
    ['list'],
    ['show', evil],
    ['show', evil, '--text'],
    ['show', evil, '--json'],
    ['resume', evil],
  ]) {
    const { stdout, stderr } = await sessions(...words)
    t.notMatch(stdout + stderr, controls, words[0]!)
    t.notMatch(stdout + stderr, /^Session forged/m)
  }
  const { stdout } = await sessions('list')
  t.equal(stdout.split('\n')[1]!.split('  ').at(-1), "$'a\\u001b[2J\\u000aSession forged  \\u202e'".split('  ').at(-1))
  await call('POST', `${pathOf('-x')}/messages`)
  t.match(await sessions('show', '--', '-x'), { code: 0, stdout: /^Key +-x\n/ })
  for (const odd of ['..', '.', 'a/b?c#d', '%2F', '😀']) {
    await submitAs(call, odd, { action: `for${odd.length}` })
    t.match(await sessions('show', odd, '--json'), { code: 0, stdout: `"session_key": ${JSON.stringify(odd)}` }, odd)
  }
})

t.test('where no service runs, the database itself is read and written, by the rules that are named', async (t) => {
  const folder = temporaryFolder(t)
  const rules = join(folder, 'rules.yaml')
  writeFileSync(rules, `sessions: { mode: none, max_messages: 10 }\nrules: [{ action: '*' }]\n`)
  const program = await start(t, { flags: ['--policy', rules] })
  const { dbPath } = program
  await program.call('POST', '/sessions/s/messages', { count: 3 })
  const { id } = (await program.call('POST', '/sessions/s/messages')).body.session
  await program.stop()

  t.match((await command(dbPath, 'sessions', 'show', 's', '--policy', rules)).stdout, /\nMessages +4 of 10, 6 left\n/)
  t.match((await command(dbPath, 'sessions', 'show', 's')).stdout, /\nMessages +4 of 200, 196 left\n/)
  t.match(await command(dbPath, 'sessions', 'show', 's', '--policy', join(folder, 'none.yaml')), {
    code: 1,
    stderr: /none\.yaml cannot be read/,
  })
  t.match(await command(dbPath, 'sessions', 'suspend', 's', '--policy', rules), {
    code: 0,
    stderr: /is suspended since/,
  })
  t.match(await command(dbPath, 'sessions', 'reset', 's', '--policy', rules), {
    code: 0,
    stderr: `before it was ${id}`,
  })
  t.match(await command(dbPath, 'sessions', 'suspend', 's', '--policy', rules), { code: 0 })

  const again = await start(t, { dbPath, flags: ['--policy', rules] })
  t.match(await again.submit({ session_key: 's' }), { status: 423 })
})

t.test('a command does what it is asked for, and resets nothing else by rules that may be others', async (t) => {
  const old = await build(t)
  await old.call('POST', '/sessions/a/messages')
  await old.call('POST', '/sessions/b/messages')
  await old.stop()
  // By the clock of the machine both are long due, by the rules that count without --policy.
  t.match(await command(old.dbPath, 'sessions', 'suspend', 'a'), { code: 0 })
  const listed = JSON.parse((await command(old.dbPath, 'sessions', 'list', '--json')).stdout) as any[]
  t.same(listed.map((one) => [one.session_key, one.rotated_at, one.suspended]).sort(), [
    ['a', null, true],
    ['b', null, false],
  ])
})

t.test('a rules file that is wrong keeps nobody from making a key', async (t) => {
  const dbPath = join(temporaryFolder(t), 'test.db')
  const words = ['keys', 'add', '--name', 'root', '--role', 'admin', '--policy', '/nowhere/rules.yaml']
  t.match(await command(dbPath, ...words), { code: 0, stdout: /^hpk_/ })
})

t.test('the program itself, against a service that runs', async (t) => {
  const program = await start(t)
  const { dbPath } = program
  for (const odd of ['..', '.', key]) {
    t.match(
      await program.call('POST', `${pathOf(odd)}/messages`),
      { status: 200, body: { session: { count: 1 } } },
      odd,
    )
    t.match(await program.call('GET', pathOf(odd)), { status: 200, body: { session_key: odd } })
  }
  const run_ = (...words: string[]) => run(t, ['sessions', ...words, '--db-path', dbPath])
  t.match(await run_('list'), {
    code: 0,
    stdout: /^LAST ACTIVE [^]*agent:main:telegram:group:-1001234:42\n/,
    stderr: '',
  })
  t.match(await run_('suspend', key, '--reason', 'enough'), { code: 0, stdout: '', stderr: /is suspended since/ })
  t.match(await program.submit({ session_key: key }), { status: 423, body: { reason: 'enough' } })
  t.match(await run_('list', '--suspended', '--json'), { stdout: /"session_key": "agent:main:telegram:group/ })
  t.match(await run_('resume', key), { code: 0 })
  t.match(await program.submit({ session_key: key }), { status: 202 })
  t.match(await run_('show', key), { code: 0, stdout: /\nPending:\n/ })
  t.match(await run_('show', key, '--text'), { code: 0, stdout: /^Holdpoint, the approval service/ })
  t.match(await run_('show', 'nothing'), { code: 1, stdout: '', stderr: "There is no session 'nothing'.\n" })
  t.match(await program.call('GET', pathOf(key), undefined, { accept: 'text/plain' }), { status: 200 })
})
