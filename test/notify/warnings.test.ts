// What is odd about a request reaches the person who decides: in the chat, or in the log.
import t from 'tap'
import type { Built } from '../support.js'
import { build, until } from '../support.js'
import { warnings, withBoth, withTelegram } from './chats.js'

const session = { session_key: 's-1' }
const denied = 'In this session, 3 requests in a row were denied or expired.'
const insisting = 'The same action was asked for 5 times in a row, each time with other details.'

/** Asks, lets somebody be told, and answers. */
async function decide(
  { submit, call }: Pick<Built, 'submit' | 'call'>,
  verdict: 'approve' | 'deny',
  fields: object,
  isTold: () => boolean = () => true,
): Promise<void> {
  const { body } = await submit({ ...session, ...fields })
  await until(isTold)
  await call('POST', `/confirm/${body.id}/${verdict}`)
}

t.test('after three denials the next message warns, until a person approves; another session has none', async (t) => {
  const { telegram, ...built } = await withTelegram(t)
  const { messages } = telegram
  for (const told of [1, 2, 3]) {
    await decide(built, 'deny', { action: `action_${told}` }, () => messages.length === told)
  }
  await built.submit({ session_key: 's-2' })
  await until(() => messages.length === 4)
  await decide(built, 'approve', {}, () => messages.length === 5)
  await built.submit(session)
  await until(() => messages.length === 6)
  // Once it is decided, a message says that in its place.
  const first = messages.map(({ text, history }) => history[0] ?? text)
  const warned = first.map((text) => text.includes('⚠️'))
  t.same(warned, [false, false, false, false, true, false])
  t.match(first[4], `Confirmation needed\n⚠️ ${denied}\nAction: send_mail\n`)
})

t.test('Discord is told the same', async (t) => {
  const { telegram, discord, ...built } = await withBoth(t)
  telegram.failAlways({ status: 500 })
  for (const number of [1, 2, 3]) await decide(built, 'deny', { action: `action_${number}` })
  await built.submit(session)
  const last = (): string => discord.messages.at(-1)?.embeds[0].description ?? ''
  await until(() => last().includes('send_mail'))
  t.equal(last().split('\n')[0], `⚠️ ${denied}`)
})

t.test('the fifth request for one action with other details warns, also in the log', async (t) => {
  const { submit, logged } = await build(t)
  for (const amount of [1, 2, 3, 4, 5]) await submit({ ...session, details: { amount } })
  const lines = warnings({ logged }, /confirmation needed/)
  t.same(
    lines.map((line) => line.warnings),
    [undefined, undefined, undefined, undefined, insisting],
  )
  t.match(lines[4]!.msg, `: "Send the newsletter" (${insisting}); see and decide it: http`)
  t.notMatch(lines[3]!.msg, 'In this session')
})

t.test('of a session that insists and was denied both are said', async (t) => {
  const built = await build(t)
  await built.submit({ ...session, details: { amount: 1 } })
  for (const amount of [2, 3, 4]) await decide(built, 'deny', { details: { amount } })
  const { body } = await built.submit({ ...session, details: { amount: 5 } })
  t.same((await built.call('GET', `/confirm/${body.id}`)).body.warnings, [denied, insisting])
  t.match(warnings(built, /confirmation needed/).at(-1)!.msg, `(${denied} ${insisting})`)
})
