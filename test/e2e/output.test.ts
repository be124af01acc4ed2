// What it says while it runs: JSON lines, no secrets, nothing that an agent could write to a terminal.
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { run, start } from './program.js'

/** A port where every connection is dropped. It stays ours: a closed one may be given to another test meanwhile. */
async function deafPort(t: Test): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('off a terminal the log is JSON, one line an event, and never shows a token', async (t) => {
  const secret = '8123456789:AAH-very_secret_token_of_the_bot'
  const discordSecret = 'MTk4NjIyNDgzNDcxOTI1MjQ4.secret.of-the-other-bot'
  const nobody = `http://127.0.0.1:${await deafPort(t)}`
  const program = await start(t, {
    flags: ['--log-level', 'trace'],
    env: {
      TELEGRAM_BOT_TOKEN: secret,
      TELEGRAM_HOME_CHANNEL: '-100123',
      TELEGRAM_API_BASE: nobody,
      DISCORD_BOT_TOKEN: discordSecret,
      DISCORD_HOME_CHANNEL: '123456',
      DISCORD_API_BASE: nobody,
    },
  })
  const { id } = (await program.submit()).body
  await program.logLine(/telegram does not answer/)
  await program.logLine(/discord does not answer/)
  t.match(await program.logLine(/no chat has taken the message/), { level: 'warn', id, action: 'send_mail' })
  await program.call('POST', `/confirm/${id}/approve`, { approver: 'alice' })
  const record = (await program.call('GET', `/confirm/${id}`)).body
  const events = await program.events()
  await program.stop()
  const approvals = program.logged().filter((line) => line.msg === 'approved')
  t.match(approvals, [{ level: 'info', id, action: 'send_mail', actor: 'alice', via: 'http' }])
  t.equal(approvals.length, 1)
  const all = program.stdout() + program.stderr() + JSON.stringify([record, events])
  for (const part of [secret, discordSecret, 'very_secret', 'of-the-other-bot'])
    t.notOk(all.includes(part), 'no token anywhere')
})

t.test('a token that is no good is not shown either', async (t) => {
  const { code, stderr } = await run(t, ['--port', 'x'], {
    DISCORD_WEBHOOK_URL: 'ftp://discord.com/api/webhooks/1/secret-part',
  })
  t.equal(code, 2)
  t.match(stderr, /DISCORD_WEBHOOK_URL: must be an http or https URL/)
  t.notMatch(stderr, /secret-part/)
})

t.test("agents' text cannot write to the operator's terminal", async (t) => {
  const program = await start(t, { flags: ['--log-level', 'trace'] })
  const hostile = '\u001b[2J\u001b]0;owned\u0007\r\nINFO approved\u202e\u009b31m\u2028'
  const { id } = (
    await program.submit({ action: `a${hostile}b`, description: hostile, requester: hostile, session_key: hostile })
  ).body
  await program.call('POST', `/confirm/${id}/deny`, { denier: `bob${hostile}`, reason: hostile })
  await program.call('POST', '/whitelist', { action: `a${hostile}b`, granted_by: hostile, reason: hostile })
  await program.call('POST', '/whitelist', { action: 'wipe_database', granted_by: hostile })
  await program.call('GET', '/\u001b[2J'.replace('\u001b', '%1b'))
  await program.stop()
  const out = program.stdout() + program.stderr()
  t.match(out, /denied/, 'something was said')

  t.notMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
  for (const line of program.logged())
    // Also not to who reads the fields after parsing.

    t.notMatch(Object.values(line).join(' '), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/)
})

t.test('a log that nobody reads any more does not stop the service', async (t) => {
  const program = await start(t)
  program.child.stdout!.destroy()
  program.child.stderr!.destroy()
  for (let i = 0; i < 3; i++) t.equal((await program.submit()).status, 202)
  t.equal((await program.call('GET', '/health')).body.pending_count, 3)
  t.match(await program.stop(), { code: 0, signal: null })
})
