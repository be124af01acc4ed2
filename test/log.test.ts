import t from 'tap'
import { createLogger } from '../src/log.js'
import { build } from './support.js'

t.test('an event is one line, and a submission is the line about telling a person', async (t) => {
  const { submit, call, logged } = await build(t)
  await submit({ requester: 'bot' })
  await call('POST', '/confirm/id-0001/approve', { approver: 'alice' })
  const lines = logged.filter(({ level }) => Number(level) >= 30)
  t.match(lines, [
    { level: 40, id: 'id-0001', action: 'send_mail', requester: 'bot', msg: /no chat took .*\/confirm\/id-0001/ },
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
