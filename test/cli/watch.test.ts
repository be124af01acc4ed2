// holdpoint watch, at a real terminal.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Program, run, start } from '../e2e/program.js'
import { needs } from '../needs.js'
import { temporaryFolder } from '../support.js'
import { holdpoint, type Seat, sit } from './tmux.js'

interface Watching {
  program: Program
  seat: Seat
}

const roomy = ['--rate-limit', '100000', '--open-limit', '100000']

async function open(t: Test, flags: string[] = [], words = ''): Promise<Watching> {
  const program = await start(t, { flags: [...roomy, ...flags] })
  const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}` })
  seat.run(`${holdpoint} watch ${words}`)
  await seat.shows(/Holdpoint: 0 wait .*live$/m)
  return { program, seat }
}

async function ask(program: Program, fields: Record<string, unknown>): Promise<string> {
  return (await program.submit(fields)).body.id as string
}

const stateOf = async (program: Program, id: string) => (await program.call('GET', `/confirm/${id}`)).body

/** The question hears no key for a moment, and then one. */
async function answer(seat: Seat, key: string, until: RegExp): Promise<void> {
  await seat.shows(/y approves; any other key: no/)
  await seat.shows((screen) => {
    if (until.test(screen)) return true
    seat.press(key)
    return false
  })
}

if (needs(t, 'tmux')) {
  t.test('what comes is listed, opened, and approved after one more yes; the terminal is as it was', async (t) => {
    const program = await start(t)
    const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}` })
    const before = await seat.modes()
    seat.run(`clear; echo stays; ${holdpoint} watch --by alice`)
    await seat.shows(/Holdpoint: 0 wait .*live$/m)
    await seat.shows(/Nothing waits for a decision/)
    t.equal(seat.ask('#{alternate_on}'), '1')
    const id = await ask(program, { action: 'send_mail', details: { list: 'news' } })
    await seat.shows(/^> .*send_mail .*Send the newsletter$/m)
    seat.press('Enter')
    const card = await seat.shows(/^Digest +[0-9a-f]{64}$/m)
    for (const line of [/^Action +send_mail$/m, /^│ +"list": "news"$/m, /^│ Send the newsletter$/m]) t.match(card, line)
    seat.press('a')
    await seat.shows(/Approve send_mail, digest [0-9a-f]{16}\?/)
    await answer(seat, 'x', /Nothing was decided\./)
    t.match((await stateOf(program, id)).status, 'pending')
    seat.press('a')
    await answer(seat, 'y', /^It is approved\./m)
    await seat.shows(/^APPROVED$/m)
    t.match(await stateOf(program, id), { status: 'approved', resolved_by: 'alice' })
    seat.press('Escape')
    await seat.shows(/Holdpoint: 0 wait/)
    seat.press('q')
    await seat.shows(/^stays$/m)
    await seat.hides(/Holdpoint: /)
    t.equal(await seat.modes(), before)
  })

  t.test('a reason is typed to deny it, also where it was begun in the list', async (t) => {
    const { program, seat } = await open(t)
    const id = await ask(program, { action: 'send_mail' })
    await seat.shows(/^> .*send_mail/m)
    seat.press('d')
    await seat.shows(/Why it is denied/)
    seat.type('not before  the audiy')
    seat.press('BSpace')
    seat.type('t, bitte schön 日本')
    await seat.shows(/^> not before {2}the audit, bitte schön 日本$/m)
    seat.press('Enter')
    await seat.shows(/^Reason +not before {2}the audit, bitte schön 日本$/m)
    t.match(await stateOf(program, id), { status: 'denied', reason: 'not before  the audit, bitte schön 日本' })
  })

  t.test('what was not read to its end cannot be approved, also by jumping there', async (t) => {
    const { program, seat } = await open(t)
    const id = await ask(program, {
      action: 'pay',
      details: { list: Array.from({ length: 100 }, (_, index) => index) },
    })
    await seat.shows(/^> .*pay/m)
    seat.press('Enter')
    await seat.shows(/^\d+ lines not read yet\. Lines 1 to 27 of \d+$/m)
    seat.press('G')
    await seat.shows(/^Digest/m)
    seat.press('a')
    await seat.shows(/Read it to the end first/)
    t.notMatch(seat.lines().join('\n'), /Approve pay/)
    for (let screens = 0; screens < 5; screens++) seat.press('Space')
    await seat.shows(/^Lines \d+ to (\d+) of \1$/m)
    seat.press('a')
    await answer(seat, 'y', /It is approved/)
    t.match(await stateOf(program, id), { status: 'approved' })
  })

  t.test('hostile text does nothing to the terminal, and plays no line of ours', async (t) => {
    const { program, seat } = await open(t)
    const nasty = '\u001b[2J\u001b]0;owned\u0007\u001b[31m\r\u202eAPPROVED\nAPPROVED\nAction        harmless'
    await ask(program, {
      action: `pay${nasty}`,
      description: `${nasty}\n${'👨‍👩‍👧‍👦'.repeat(100)}z\n${'a\u0301'.repeat(200)}z`,
      details: { [nasty]: nasty },
      requester: nasty,
    })
    await seat.shows(/^> .*pay/m)
    const title = seat.ask('#{pane_title}')
    seat.press('Enter')
    const screen = await seat.shows(/^WAITS FOR A DECISION$/m)
    t.match(screen, /\\u\{1b\}\[2J\\u\{1b\}\]0;owned\\u\{7\}/)
    for (const line of seat.lines()) t.notMatch(line, /^(APPROVED|Action +harmless)/)
    t.equal(seat.lines().filter((line) => line.startsWith('Action ')).length, 1)
    t.notMatch(seat.ask('#{pane_title}'), /owned/)
    t.equal(seat.ask('#{pane_title}'), title)
    t.match(seat.lines()[0], /^Holdpoint: request 1 of 1/)
    t.match(seat.lines().at(-1), /Esc back/)
  })

  t.test('it fits itself to the terminal, however narrow, and says when that is too small', async (t) => {
    const { program, seat } = await open(t)
    await ask(program, { action: 'send_mail', details: { text: 'word '.repeat(100) } })
    await seat.shows(/^> .*send_mail/m)
    seat.resize(30, 8)
    await seat.shows(
      (screen) => screen.split('\n').length === 8 && /^> .*send_mail/m.test(screen) && /^Enter opens/m.test(screen),
    )
    seat.press('Enter')
    await seat.shows(/^Action +send_mail/m)
    await seat.shows(/not read yet/)
    seat.resize(12, 4)
    await seat.shows(/Too small/)
    seat.press('a')
    seat.resize(160, 50)
    await seat.shows(/^Digest +[0-9a-f]{64}$/m)
    await seat.hides(/Too small|Approve send_mail/)
    seat.press('a')
    await seat.shows(/Approve send_mail/)
  })

  t.test('while the service is away it says so; what comes and goes meanwhile is there once it is back', async (t) => {
    const { program, seat } = await open(t)
    await ask(program, { action: 'first' })
    const second = await ask(program, { action: 'second' })
    await seat.shows(/^ {2}.*second/m)
    seat.press('Enter')
    await seat.shows(/^Action +first/m)
    await program.stop()
    await seat.shows(/disconnected for \d+ s$/m)
    seat.press('a')
    await seat.shows(/Without the service nothing can be decided/)
    const again = await start(t, { dbPath: program.dbPath, flags: ['--port', String(program.port)] })
    await again.call('POST', `/confirm/${second}/deny`, {})
    await ask(again, { action: 'third' })
    await seat.shows(/Holdpoint: request 1 of 2.*live$/m)
    seat.press('Escape')
    const screen = await seat.shows(/^ {2}.*third/m)
    t.match(screen, /^> .*first/m)
    t.notMatch(screen, /second/)
    seat.press('Enter')
    await seat.shows(/^Action +first/m)
    seat.press('a')
    await answer(seat, 'y', /It is approved/)
  })

  t.test('what somebody else decides meanwhile is shown and stands, and what was being written is kept', async (t) => {
    const { program, seat } = await open(t)
    const id = await ask(program, { action: 'send_mail' })
    await seat.shows(/^> .*send_mail/m)
    seat.press('Enter')
    await seat.shows(/^Action/m)
    seat.press('d')
    await seat.shows(/Why it is denied/)
    seat.type('a long reason')
    await seat.shows(/^> a long reason$/m)
    await program.call('POST', `/confirm/${id}/approve`, { approver: 'bob' })
    const screen = await seat.shows(/It was decided meanwhile, and that stands\. You had written: a long reason/)
    t.match(screen, /^APPROVED$/m)
    t.match(screen, /^By +bob$/m)
    seat.press('d')
    await seat.shows(/It is decided, and that stands\./)
  })

  t.test('the name is typed and a reason is given where the rule wants that, and votes are counted', async (t) => {
    const rules = join(temporaryFolder(t), 'rules.yaml')
    writeFileSync(
      rules,
      'rules:\n  - name: money\n    action: pay\n    approvals: 2\n    typed_confirmation: true\n    reason_required: true\n',
    )
    const { program, seat } = await open(t, ['--policy', rules], '--by alice')
    const id = await ask(program, { action: 'pay' })
    await seat.shows(/^> .*pay .*0\/2/m)
    seat.press('Enter')
    const card = await seat.shows(/^Digest/m)
    t.match(card, /^Needs +2 different people; one denial ends it$/m)
    seat.press('a')
    await seat.shows(/Type the action's name/)
    seat.type('play')
    seat.press('Enter')
    await seat.shows(/That is not the action's name/)
    seat.press('C-u')
    seat.type('pay')
    seat.press('Enter')
    await seat.shows(/Why it is approved/)
    seat.press('Enter')
    await seat.shows(/Its rule wants a reason/)
    seat.paste('it is\ndue')
    await seat.shows(/^> it is due$/m)
    seat.press('Enter')
    await answer(seat, 'y', /Recorded: 1 of 2 approvals/)
    await seat.shows(/^approved by +alice: it is due$/m)
    t.match(await stateOf(program, id), { status: 'pending', votes: [{ by: 'alice', reason: 'it is due' }] })
    seat.press('a')
    await seat.shows(/Type the action's name/)
    seat.press('Escape')
    seat.press('Escape')
    await seat.shows(/^> .*pay .*1\/2/m)
  })

  t.test('however it ends, the terminal is as it was', async (t) => {
    const program = await start(t)
    const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}` })
    const before = await seat.modes()
    for (const [how, end, code] of [
      ['Ctrl-C', () => seat.press('C-c'), 0],
      ['SIGTERM', (pid: number) => process.kill(pid, 'SIGTERM'), 143],
      ['SIGHUP', (pid: number) => process.kill(pid, 'SIGHUP'), 129],
      ['SIGINT', (pid: number) => process.kill(pid, 'SIGINT'), 130],
    ] as const) {
      end(await watchIn(t, seat))
      await seat.shows(new RegExp(`^ended ${code}$`, 'm'))
      t.equal(await seat.modes(), before, how)
    }
    await watchIn(t, seat)
    seat.press('C-z')
    await seat.shows(/Stopped/)
    t.equal(seat.ask('#{alternate_on} #{cursor_flag} #{wrap_flag}'), '0 1 1', 'while it is stopped')
    seat.run('fg')
    await seat.shows(/Holdpoint: 0 wait .*live$/m)
    seat.press('q')
    await seat.hides(/Holdpoint:/)
    t.equal(await seat.modes(), before, 'Ctrl-Z')
  })

  t.test('a bug leaves the terminal as it was too, and is to be read there', async (t) => {
    const program = await start(t)
    const broken = join(temporaryFolder(t), 'broken.mjs')
    writeFileSync(broken, `process.once('SIGUSR2', () => { throw new Error('a bug') })\n`)
    const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}` })
    const before = await seat.modes()
    process.kill(await watchIn(t, seat, holdpoint.replace(' ', ` --import ${broken} `)), 'SIGUSR2')
    t.match(await seat.shows(/^ended [1-9]/m), /Error: a bug/)
    t.equal(await seat.modes(), before)
  })

  t.test('where the terminal goes away, it ends', async (t) => {
    const program = await start(t)
    const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}` })
    const pid = await watchIn(t, seat)
    seat.close()
    for (let tries = 0; isAlive(pid) && tries < 600; tries++) await new Promise((resolve) => setTimeout(resolve, 50))
    t.notOk(isAlive(pid))
  })

  t.test('thousands that wait can be gone through', async (t) => {
    const { program, seat } = await open(t)
    for (let batch = 0; batch < 25; batch++) {
      const items = Array.from({ length: 100 }, (_, index) => ({
        action: `act_${batch * 100 + index}`,
        description: 'One of many',
        timeout_seconds: 1000 + batch * 100 + index,
      }))
      await program.call('POST', '/confirm/batch', { items })
    }
    await seat.shows(/Holdpoint: 2,500 wait, the first 2,000 of them here/)
    seat.press('G')
    await seat.shows(/^> .*act_1999 /m)
    seat.press('Home')
    await seat.shows(/^> .*act_0 /m)
    seat.press('PageDown')
    await seat.shows(/^> .*act_26 /m)
  })

  t.test('a key that is good no more ends it with a sentence, and an agent’s is none for it', async (t) => {
    const program = await start(t)
    const add = async (name: string, role: string) =>
      (await run(t, ['keys', 'add', '--name', name, '--role', role, '--db-path', program.dbPath])).stdout.trim()
    const alice = await add('alice', 'operator')
    const bot = await add('bot', 'agent')
    const seat = await sit(t, { HOLDPOINT_URL: `http://127.0.0.1:${program.port}`, A: alice, B: bot })
    seat.run(`clear; ${holdpoint} watch; echo "ended $?"`)
    await seat.shows(/asks for a key[^]*HOLDPOINT_KEY[^]*ended 1/)
    seat.run(`clear; HOLDPOINT_KEY=$B ${holdpoint} watch; echo "ended $?"`)
    await seat.shows(/'agent' may not do this[^]*ended 1/)
    seat.run(`clear; HOLDPOINT_KEY=$A ${holdpoint} watch; echo "ended $?"`)
    await seat.shows(/Holdpoint: 0 wait .*live$/m)
    const id = (
      await program.call('POST', '/confirm', { action: 'pay', description: 'x' }, { authorization: `Bearer ${bot}` })
    ).body.id
    await seat.shows(/^> .*pay/m)
    seat.press('Enter')
    await seat.shows(/^Digest/m)
    seat.press('a')
    await answer(seat, 'y', /It is approved/)
    const { stdout } = await run(t, ['show', id, '--json', '--db-path', program.dbPath])
    t.match(JSON.parse(stdout), { status: 'approved', resolved_by: 'alice', votes: [{ proven: true }] })
  })

  t.test('a terminal that is dumb is told what else there is', async (t) => {
    const seat = await sit(t, { HOLDPOINT_URL: 'http://127.0.0.1:1' })
    seat.run(`TERM=dumb ${holdpoint} watch; echo "ended $?"`)
    await seat.shows(/TERM is dumb[^]*pending[^]*ended 1/)
    seat.run(`clear; ${holdpoint} watch; echo "ended $?"`)
    await seat.shows(/cannot be reached[^]*ended 3/)
  })
}

t.test('where there is no terminal, watch says what else there is', async (t) => {
  t.match(await run(t, ['watch']), { code: 1, stdout: '', stderr: /watch needs a terminal; pending lists what waits/ })
})

/** Its process; the shell says how it ended. */
async function watchIn(t: Test, seat: Seat, program = holdpoint): Promise<number> {
  const file = join(temporaryFolder(t), 'pid')
  seat.run(`clear; sh -c 'echo $$ > ${file}; exec ${program} watch'; echo "ended $?"`)
  await seat.shows(/Holdpoint: 0 wait .*live$/m)
  return Number(readFileSync(file, 'utf8'))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
