// The log: one line an event, as JSON or for a terminal, and nothing in it that an agent could forge.
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { anyone } from '../src/access/role.js'
import { createLogger, logEvents, logStream } from '../src/log.js'
import { announceInLog } from '../src/notify/log-channel.js'
import { alarmOf, raising } from './alarm.js'
import { startTelegram } from './notify/fake-telegram.js'
import { type Built, build, type BuildOptions, giveKeys, until } from './support.js'

t.test('an event is one line, and a submission is the line about telling a person', async (t) => {
  const { submit, call, logged } = await build(t)
  const waiting =
    /^confirmation needed: send_mail, asked by bot: "Send the newsletter"; see and decide it: http\S+\/view\/id-0001$/
  await submit({ requester: 'bot' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  const lines = logged.filter(({ level }) => Number(level) >= 30)
  t.match(lines, [
    {
      level: 40,
      id: 'id-0001',
      action: 'send_mail',
      requester: 'bot',
      description: 'Send the newsletter',
      msg: waiting,
    },
    { level: 30, id: 'id-0001', action: 'send_mail', actor: 'alice', via: 'http', msg: 'approved' },
  ])
  t.equal(lines.length, 2)
})

t.test("agents' text cannot forge lines or steer a terminal", async (t) => {
  const { call, logged } = await build(t)
  const nasty = 'a\n{"level":30,"msg":"approved"}\u001b[2J\u202e'
  await call('POST', '/confirm', { action: nasty, description: nasty, requester: nasty })
  await call('POST', '/confirm/id-0001/deny', { denier: nasty, reason: nasty })
  for (const line of logged) {
    for (const value of Object.values(line)) t.notMatch(String(value), /[\n\u001b\u202e]/)
  }
  t.ok(logged.length >= 2)
})

t.test('lines are JSON with a readable level and time', async (t) => {
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => lines.push(line) })
  log.debug('quiet')
  log.info({ id: 'c1' }, 'hello')
  t.equal(lines.length, 1)
  const line = JSON.parse(lines[0]!)
  t.match(line, { level: 'info', id: 'c1', msg: 'hello' })
  t.equal(new Date(line.time as string).toISOString(), line.time)
})

/** What a terminal shows of it, line by line and without colours. */
async function onTerminal(
  t: Test,
  play: (built: Built) => Promise<unknown>,
  options: BuildOptions = {},
): Promise<string[]> {
  const screen = new PassThrough()
  let shown = ''
  screen.setEncoding('utf8').on('data', (text: string) => (shown += text))
  const log = createLogger('info', await logStream(true, screen))
  const built = await build(t, options)
  logEvents(built.store, log)
  announceInLog(built.store, log, () => 'http://127.0.0.1:6001', false)
  await play(built)
  log.info('the last line')
  await until(() => shown.includes('the last line'))
  return shown.trimEnd().split('\n').slice(0, -1).map(plainText)
}

function plainText(line: string): string {
  return stripVTControlCharacters(line).replace(/^\[\d\d:\d\d:\d\d\] /, '')
}

t.test('on a terminal an event is a line that a person reads', async (t) => {
  const lines = await onTerminal(t, async ({ submit, call }) => {
    await submit({ requester: 'bot' })
    await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
    await call('POST', '/confirm/id-0001/claim')
    await call('POST', '/confirm/id-0001/report', { outcome: 'succeeded' })
    await submit({ action: 'delete_data', requester: 'bot' })
    await call('POST', '/confirm/id-0002/deny', { denier: 'bob', reason: 'not "yet"' })
    await call('POST', '/whitelist', { action: 'delete_data', granted_by: 'eve' })
    await call('POST', '/keys', { name: 'root', role: 'admin' })
  })
  t.match(lines, [
    /^WARN: confirmation needed: send_mail, asked by bot: "Send the newsletter"; see .*\/view\/id-0001 \{"digest":"\w+"\}$/,
    'INFO: approved send_mail by alice (http) id-0001',
    'INFO: claimed send_mail by bot (http) id-0001',
    'INFO: reported send_mail, succeeded by bot (http) id-0001',
    /^WARN: confirmation needed: delete_data/,
    'INFO: denied delete_data by bob (http): "not \\"yet\\"" id-0002',
    'WARN: rejected delete_data, high_risk by eve (http)',
    /^INFO: key added root, admin by /,
  ])
  t.equal(lines.length, 8)
})

t.test("on a terminal agents' text stays on its line and steers nothing", async (t) => {
  const nasty = 'a\n[00:00:00] INFO: approved x by alice\u001b[2J\u202e\u009b31m'
  const lines = await onTerminal(t, async ({ call }) => {
    await call('POST', '/confirm', { action: 'pay', description: nasty, requester: nasty })
    await call('POST', '/confirm/id-0001/deny', { denier: nasty, reason: nasty })
  })
  t.equal(lines.length, 2)
  t.match(lines[0], /^WARN: confirmation needed: pay, asked by "a\\n/)
  t.match(lines[1], /^INFO: denied pay by "a\\n/)

  for (const line of lines) t.notMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]/)
})

t.test('on a terminal an alarm is one line: from the log channel, or about the chat that took it', async (t) => {
  const nasty = 'a\n[00:00:00] INFO: fine\u001b[2J'
  const inLog = await onTerminal(t, ({ store }) => store.commit(raising(alarmOf({ sessionKey: nasty }), 'log')))
  t.match(inLog, [
    /^WARN: session suspended: "a\\n\[.*" of bot: "nine denials in a row"; to resume it: "holdpoint .*" \{"alarm_id":"\S+"\}$/,
  ])
  t.equal(inLog.length, 1)
  const { config } = await startTelegram(t)
  const inChat = await onTerminal(
    t,
    async ({ store, clock }) => {
      await store.commit(raising(alarmOf({ sessionKey: nasty, createdAt: clock.now() }), 'telegram'))
      await until(async () => (await store.deliveries.countUndelivered()) === 0)
    },
    { config },
  )
  t.match(inChat, [/^INFO: notified session suspended \(telegram\) \{"alarm_id":"\S+"\}$/])
  t.equal(inChat.length, 1)
})

/** Asks in a session and denies it. */
async function deny({ submit, call }: Built, count: number, fields: object = {}): Promise<void> {
  for (let number = 1; number <= count; number++) {
    const { body } = await submit({ session_key: 's-1', action: `action_${number}`, ...fields })
    await call('POST', `/confirm/${body.id}/deny`)
  }
}

t.test('what becomes of a session is a line of its own, the worse the louder', async (t) => {
  const built = await build(t, { config: { rateLimit: 1000 } })
  const { service, clock, logged } = built
  const named = { key: 's-1', requester: null }
  await deny(built, 6)
  await clock.advance(600_000)
  await deny(built, 3)
  await service.sessions.resume(named, 'talked to them', 'ops', anyone, 'http')
  await service.sessions.reset(named, 'ops', anyone, 'http')
  await clock.advance(2 * 24 * 3_600_000)
  const lines = logged.filter(({ msg }) => String(msg).startsWith('session_'))
  const about = { session_key: 's-1' }
  t.match(lines, [
    { level: 30, msg: 'session_warned', ...about, failures: 3, actor: 'system:breaker' },
    { level: 40, msg: 'session_paused', ...about, failures: 6 },
    {
      level: 40,
      msg: 'session_suspended',
      ...about,
      failures: 9,
      reason: '9 requests in a row were denied or expired',
    },
    { level: 30, msg: 'session_resumed', ...about, reason: 'talked to them', actor: 'ops' },
    { level: 30, msg: 'session_rotated', ...about, reason: 'manual', actor: 'ops' },
  ])
  t.equal(lines.length, 5, 'a run without messages is due at no time')
})

t.test('what begins by itself, and what time rotates, is for those who look for it: many may at once', async (t) => {
  const built = await build(t)
  const { service, submit, clock, logged } = built
  await service.sessions.addMessages('s-1', 1, anyone, 'http')
  await submit({ session_key: 's-2', timeout_seconds: 60 })
  await clock.advance(2 * 24 * 3_600_000)
  const lines = logged.filter(({ msg }) => String(msg).startsWith('session_'))
  t.same(
    lines.map(({ level, msg, session_key }) => [level, msg, session_key]),
    [
      [20, 'session_started', 's-1'],
      [20, 'session_rotated', 's-1'],
      [20, 'session_rotated', 's-2'],
    ],
  )
})

t.test('on a terminal a line about a session names it and whose it is, cut and inert', async (t) => {
  const nasty = `a\n[00:00:00] INFO: fine\u001b[2J${'x'.repeat(900)}`
  const lines = await onTerminal(t, async (built) => {
    const { bot, olga } = await giveKeys(built, { bot: 'agent', olga: 'operator' })
    const ask = async (session_key: string) => {
      const asked = { action: 'pay', description: 'd', session_key }
      await olga('POST', `/confirm/${(await bot('POST', '/confirm', asked)).body.id}/deny`)
    }
    for (let count = 0; count < 3; count++) await ask('agent:main:telegram:dm:1')
    for (let count = 0; count < 3; count++) await ask(nasty)
  })
  const ofSessions = lines.filter((line) => !/confirmation needed|denied|key added/.test(line))
  t.match(ofSessions, [
    'INFO: session warned agent:main:telegram:dm:1 of bot (system) {"failures":3}',
    /^INFO: session warned "a\\n\[.*… \\\{cut: \d+ more characters\}" of bot \(system\) \{"failures":3\}$/,
    'WARN: requester paused bot (system) {"failures":6}',
  ])
  t.equal(ofSessions.length, 3)
  for (const line of ofSessions) t.notMatch(line, /[\u0000-\u001f\u007f-\u009f]/)
})

t.test('on a terminal what is no event keeps its fields, and why', async (t) => {
  const screen = new PassThrough()
  const log = createLogger('info', await logStream(true, screen))
  let shown = ''
  screen.setEncoding('utf8').on('data', (text: string) => (shown += text))
  log.warn({ reason: 'too long\u001b[2J', channel: 'telegram', db: 'x' }, 'cannot')
  await until(() => shown.includes('\n'))
  t.equal(plainText(shown.trimEnd()), 'WARN: cannot: too long\\u{1b}[2J {"channel":"telegram"}')
})
