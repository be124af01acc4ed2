// The log as the last channel: one line that names what waits for a decision, and that no agent can forge.
import t from 'tap'
import { system } from '../../src/core/actor.js'
import { announceInLog } from '../../src/notify/log-channel.js'
import { StoreUnavailable } from '../../src/store/store.js'
import { build, until } from '../support.js'

t.test('a text that is too long for the line says that it was cut', async (t) => {
  const { submit, logged } = await build(t)
  await submit({ description: `Send ${'x'.repeat(5000)}` })
  const [line] = logged.filter(({ msg }) => /confirmation needed/.test(String(msg)))
  t.match(line, {
    description: /^Send x+… \\\{cut: \d+ more characters\}$/,
    msg: /"Send x+… \\\{cut: \d+ more characters\}"; see/,
  })
  t.ok(String(line!.msg).length < 500)
})

t.test('no text of an agent can pass for more of the sentence', async (t) => {
  const { submit, logged } = await build(t)
  const forged = 'Send", asked by root: "fine'
  await submit({ description: forged, requester: 'bot, asked by root', action: 'mail; see and decide it: http://x' })
  const [line] = logged.filter(({ msg }) => /confirmation needed/.test(String(msg)))
  t.match(
    line!.msg,
    '"mail; see and decide it: http://x", asked by "bot, asked by root": "Send\\", asked by root: \\"fine"; see',
  )
})

t.test('where the description cannot be read any more, the line is still written', async (t) => {
  const { store } = await build(t)
  const lines: string[] = []
  let tell: Parameters<typeof store.onCommit>[0] = () => {}
  announceInLog(
    {
      ...store,
      confirmations: { ...store.confirmations, get: () => Promise.reject(new StoreUnavailable('gone')) },
      onCommit(listener) {
        tell = listener
        return () => {}
      },
    },
    { warn: (_fields, message) => void lines.push(message), error() {} },
    () => 'http://pages',
    true,
  )
  const data = { state: 'sent', attempts: 1, action: 'send_mail', requester: 'bot', digest: 'a'.repeat(64) } as const
  const event = { seq: 1, type: 'notified', at: 1, actor: system('outbox'), via: 'log', confirmationId: 'c1' } as const
  tell({ writes: [], quotas: [], counts: [], events: [{ ...event, data }] })
  await until(() => lines.length > 0)
  t.same(lines, [
    'confirmation needed, and no chat has taken the message: send_mail, asked by bot; see and decide it: http://pages/view/c1',
  ])
})
