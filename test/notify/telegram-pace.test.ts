// Telegram's pace, a message a second and in a group twenty a minute with edits among them: what is told and what follows keep
// to it, and the last state of each message stands in the end.
import t from 'tap'
import { until } from '../support.js'
import { withTelegram } from './chats.js'

t.test(
  'many requests and all that becomes of them go out as the group takes them, and each message ends right',
  async (t) => {
    const { telegram, clock, submit, call } = await withTelegram(t, { config: { telegramAllowedUsers: ['11'] } })
    telegram.keepPace(clock.now)
    const ids: string[] = []
    for (let n = 0; n < 8; n++) ids.push((await submit({ action: `act_${n}`, timeout_seconds: 3600 })).body.id)
    const minutes = async (count: number) => {
      for (let second = 0; second < count * 60; second++) await clock.advance(1000)
    }
    await minutes(1)
    const messageOf = (id: string) => telegram.messages.find(({ text }) => text.includes(`ID: ${id}`))
    t.ok(ids.every((id) => messageOf(id) !== undefined))
    for (const [n, id] of ids.entries()) {
      const verdict = n % 2 === 0 ? 'approve' : 'deny'
      await call('POST', `/confirm/${id}/${verdict}`, verdict === 'deny' ? { reason: 'no' } : {})
    }
    await minutes(3)
    for (const [n, id] of ids.entries()) {
      const message = messageOf(id)!
      t.match(message.text, n % 2 === 0 ? /^✅ Approved\n/ : /^❌ Denied\n/)
      t.same(message.buttons, [])
      t.equal(message.history.length, 1, 'edited once')
    }
    const refused = telegram.asides.filter(({ path }) => path.endsWith('/editMessageText')).length - ids.length
    t.ok(refused <= 6, `${refused} edits in vain`)
  },
)

t.test('of two states the last is shown, also where the edit to the first was refused for now', async (t) => {
  const { telegram, clock, submit, call } = await withTelegram(t, {
    rules: 'rules: [{ action: deploy, approvals: 2 }]',
  })
  const { body } = await submit({ action: 'deploy' })
  await until(() => telegram.messages.length === 1)
  const [message] = telegram.messages
  telegram.failNextOf('editMessageText', { status: 429, body: { ok: false, parameters: { retry_after: 30 } } })
  await call('POST', `/confirm/${body.id}/approve`, { approver: 'alice' })
  await until(() => telegram.asides.some(({ path }) => path.endsWith('/editMessageText')))
  await call('POST', `/confirm/${body.id}/deny`, { denier: 'bob' })
  await clock.advance(29_000)
  t.same(message!.history, [], 'not before the pause is over')
  await clock.advance(2000)
  await until(() => message!.text.startsWith('❌ Denied'))
  t.equal(message!.history.length, 1, 'what was true in between is not shown any more')
})
