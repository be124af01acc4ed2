// Presses, by what all chats have in common: who may press what, once, and what becomes of every copy of the message.
import t from 'tap'
import { giveKeys, settled, until } from '../support.js'
import { locally } from '../actors.js'
import { playChat, type PlayedChat, said, withChat } from './played-chat.js'

const text = (answer: any) => answer.text as string

t.test('approving takes two presses by the same person, and the message says what stands', async (t) => {
  const { chat, ask, status, events } = await withChat(t)
  const { id, message } = await ask()
  t.same(chat.buttons(message), ['Approve', 'Deny'])
  t.match(await chat.press(message, 'Approve', '11'), { kind: 'whisper', isAlert: false })
  await until(() => message.card!.tone === 'asking')
  t.same(chat.buttons(message), ['Yes, approve', 'Back'])
  t.match(message.card!.notes.join(' '), /^Approve send_mail, digest [0-9a-f]{8}\? Only telegram:11 can say yes\.$/)
  t.equal((await status(id)).status, 'pending', 'a slip of the thumb decides nothing')
  t.same(await chat.press(message, 'Yes, approve', '11'), { kind: 'whisper', text: 'Approved.', isAlert: false })
  t.match(await status(id), { status: 'approved', resolved_by: 'telegram:11', resolved_via: 'telegram' })
  await until(() => message.card!.tone === 'approved')
  t.same(chat.buttons(message), [])
  t.match(message.card!.facts[0], { label: 'By', value: 'telegram:11' })
  t.match(
    (await events()).filter(({ type }) => type === 'approved'),
    [{ actor: 'telegram:11', channel: 'telegram' }],
  )
})

t.test('yes counts from whoever pressed Approve, and Back asks no more', async (t) => {
  const { chat, ask, status } = await withChat(t)
  const { id, message } = await ask()
  await chat.press(message, 'Approve', '11')
  await until(() => message.card!.tone === 'asking')
  t.match(text(await chat.press(message, 'Yes, approve', '12')), /Only whoever pressed Approve can say yes/)
  t.equal((await status(id)).status, 'pending')
  const yes = chat.dataOf(message, 'Yes, approve')
  await chat.press(message, 'Back', '12')
  await until(() => message.card!.tone === 'pending')
  t.same(chat.buttons(message), ['Approve', 'Deny'])
  for (const id of ['11', '12']) {
    const answer = text(await chat.pressData(yes, id, message.ref))
    t.match(answer, /no longer good/, `what was there before counts no more, from ${id}`)
  }
  t.equal((await status(id)).status, 'pending')
})

t.test('denying is final at once; the reason comes by a reply, from the same person', async (t) => {
  const { chat, ask, status, call } = await withChat(t)
  const { id, message } = await ask()
  t.match(await chat.press(message, 'Deny', '11'), { text: 'Denied.' })
  t.match(await status(id), { status: 'denied', resolved_by: 'telegram:11', reason: null })
  await until(() => message.card!.tone === 'denied')
  await until(() => chat.messages.some((one) => one.text?.asksReply === true))
  const prompt = chat.messages.find((one) => one.text?.asksReply === true)!
  t.same(prompt.text!.replyTo, message.ref)
  await chat.write('not mine', '12', { replyTo: prompt.ref })
  t.same((await status(id)).comments, [])
  await chat.write('not before the audit', '11', { replyTo: message.ref })
  t.match((await status(id)).comments, [{ by: 'telegram:11', text: 'not before the audit', via: 'telegram' }])
  await until(() =>
    message.card!.facts.some(({ label, value }) => label === 'Comment' && value === 'not before the audit'),
  )
  await chat.write('not before the audit', '11', { replyTo: message.ref })
  t.equal((await status(id)).comments.length, 1, 'said twice, it is said once')
  await chat.write('and not on a Friday', '11', { replyTo: prompt.ref })
  await until(() => message.card!.facts.some(({ value }) => value === 'and not on a Friday'))
  t.equal(prompt.card, null, 'the question stays what it is')
  t.equal((await status(id)).reason, null, 'what was decided stands as it was')
  const { body } = await call('GET', `/audit/events?confirmation_id=${id}`)
  t.match(body.events.at(-1), { type: 'commented', actor: 'telegram:11', data: { comment: 'and not on a Friday' } })
})

const promptIn = (chat: PlayedChat) => chat.messages.find((one) => one.text?.asksReply === true)

t.test(
  'whoever is asked why can answer once that is sent, also after a restart, and before it is on disk',
  async (t) => {
    const chat = playChat()
    // The chat takes nothing now, not even the question.
    const first = await withChat(t, { chat })
    const { id, message } = await first.ask()
    chat.failSends({ kind: 'busy', retryAfterMs: 60_000, error: '429' })
    await chat.press(message, 'Deny', '11')
    await until(() => chat.messages.length === 1 && message.card!.tone === 'denied')
    await first.stop()
    t.equal(promptIn(chat), undefined)
    const second = await withChat(t, { chat, dbPath: first.dbPath, clock: first.clock, newId: () => 'unused' })
    await second.clock.advance(60_000)
    await until(() => promptIn(chat) !== undefined)
    const prompt = promptIn(chat)!
    t.same(prompt.text!.replyTo, message.ref)
    t.equal(prompt.text!.asked, '11')
    await chat.write('at once', '11', { replyTo: prompt.ref })
    await second.stop()
    const third = await withChat(t, { chat, dbPath: first.dbPath, clock: first.clock, newId: () => 'unused' })
    await chat.write('and after a restart', '11', { replyTo: prompt.ref })
    t.match((await third.status(id)).comments, [{ text: 'at once' }, { text: 'and after a restart' }])
    await chat.write('not theirs', '12', { replyTo: prompt.ref })
    t.match(said(chat.messages.at(-1)!), /Only those who decided say why, and telegram:12 did not/)
    t.equal((await third.status(id)).comments.length, 2)
    t.equal(chat.messages.filter(({ text }) => text?.asksReply === true).length, 1, 'asked once')
  },
)

t.test('a denial that is refused asks nobody why', async (t) => {
  const { chat, ask, status } = await withChat(t, { rules: 'rules: [{ action: send_mail, deciders: [alice] }]' })
  const { id, message } = await ask()
  t.match(text(await chat.press(message, 'Deny', '11')), /lets only certain people decide/)
  t.equal((await status(id)).status, 'pending')
  await settled()
  t.equal(chat.messages.length, 1)
})

t.test('in a chat with forms Deny opens one, and sent it denies, with or without a reason', async (t) => {
  const { chat, ask, status } = await withChat(t, { chat: playChat({ name: 'discord', hasForms: true }) })
  const first = await ask()
  const form = await chat.press(first.message, 'Deny', '11')
  t.match(form, { kind: 'form', isRequired: false })
  t.equal((await status(first.id)).status, 'pending', 'a form that is open decides nothing')
  if (form.kind !== 'form') return
  t.match(await chat.pressData(form.data, '11', first.message.ref, 'no'), { text: 'Denied.' })
  t.match(await status(first.id), { status: 'denied', reason: 'no' })
  const second = await ask()
  t.match(await chat.press(second.message, 'Deny', '11', { reason: '' }), { text: 'Denied.' })
  t.match(await status(second.id), { status: 'denied', reason: null })
})

t.test('a stranger, a bot and a wrong id decide nothing, are told how to mend it, and are on record', async (t) => {
  const { chat, ask, status, call } = await withChat(t)
  const { id, message } = await ask()
  t.match(
    text(await chat.press(message, 'Deny', '99')),
    /nobody has allowed your id, 99.*people set --name NAME --telegram 99/,
  )
  t.match(text(await chat.press(message, 'Deny', '11', { isNobody: true })), /Only a person can decide/)
  t.equal((await status(id)).status, 'pending')
  const { body } = await call('GET', '/audit/events?type=rejected')
  t.match(
    body.events.map(({ actor, channel, confirmation_id, data }: any) => [actor, channel, confirmation_id, data.code]),
    [
      ['telegram:99', 'telegram', id, 'forbidden'],
      ['unknown', 'telegram', id, 'forbidden'],
    ],
  )
})

t.test(
  'what no button sends decides nothing: forged, of another verb, of another message, of another chat',
  async (t) => {
    const { chat, ask, status } = await withChat(t)
    const { id, message } = await ask()
    const other = await ask({ action: 'other' })
    const data = chat.dataOf(message, 'Deny')
    const token = data.slice(data.indexOf(':') + 1)
    const approve = chat.dataOf(message, 'Approve')
    const forged = [
      ['', message.ref],
      ['deny', message.ref],
      [`deny:${'A'.repeat(43)}`, message.ref],
      [`yes:${token}`, message.ref],
      [approve.replace('approve', 'yes'), message.ref],
      [data, other.message.ref],
      [data, { chat: 'elsewhere', id: message.ref.id }],
      [data, null],
      [`${data} `, message.ref],
      ['x'.repeat(100_000), message.ref],
    ] as const
    for (const [sent, ref] of forged) {
      t.match(text(await chat.pressData(sent, '11', ref)), /no longer good/, sent.slice(0, 60))
    }
    t.equal((await status(id)).status, 'pending')
    t.equal((await status(other.id)).status, 'pending')
  },
)

t.test('two press at once: one decision stands, and both learn it', async (t) => {
  const { chat, ask, status, events } = await withChat(t)
  for (let round = 0; round < 10; round++) {
    const { id, message } = await ask({ action: `act_${round}` })
    await chat.press(message, 'Approve', '11')
    await until(() => message.card!.tone === 'asking')
    const yes = chat.dataOf(message, 'Yes, approve')
    const deny = message.history[0]!.buttons.flat().find(({ label }) => label === 'Deny') as { data: string }
    const answers = await Promise.all([
      chat.pressData(yes, '11', message.ref),
      chat.pressData(deny.data, '12', message.ref),
      chat.pressData(yes, '11', message.ref),
    ])
    const { status: stands, resolved_by: by } = await status(id)
    t.equal(answers.filter((one) => text(one) === 'Approved.' || text(one) === 'Denied.').length, 1)
    t.equal(answers.filter((one) => text(one).includes(`by ${by as string}`)).length, 2, answers.map(text).join(' | '))
    await until(() => message.card!.tone === stands)
  }
  const decided = (await events()).filter(({ type }) => type === 'approved' || type === 'denied')
  t.equal(decided.length, 10)
})

t.test('the same press twice decides nothing twice', async (t) => {
  const { chat, ask, events } = await withChat(t)
  const { message } = await ask()
  const deny = chat.dataOf(message, 'Deny')
  t.equal(text(await chat.pressData(deny, '11', message.ref)), 'Denied.')
  await until(() => message.card!.tone === 'denied')
  await settled()
  for (const id of ['11', '12']) {
    const late = text(await chat.pressData(deny, id, message.ref))
    t.match(late, /denied already, by telegram:11/, 'its button is gone, and whoever pressed it learns why')
  }
  t.match(text(await chat.pressData(deny, '99', message.ref)), /nobody has allowed your id/)
  t.equal((await events()).filter(({ type }) => type === 'denied').length, 1)
})

t.test('a person on record decides under their name, whatever the settings allow', async (t) => {
  const { chat, ask, status, service } = await withChat(t)
  await service.people.setPerson({ name: 'alice', chatIds: { telegram: '11' } }, locally)
  const { id, message } = await ask()
  await chat.press(message, 'Deny', '11')
  t.match(await status(id), { status: 'denied', resolved_by: 'alice', votes: [{ proven: true }] })
})

const twoPeople = `
groups: { ops: [alice, bob] }
rules:
  - action: deploy
    approvals: 2
    deciders: [group:ops]
`

t.test('where two are needed, ids alone are not enough, and one person has one vote whatever the chat', async (t) => {
  const { chat, ask, status, service } = await withChat(t, { rules: twoPeople })
  const { id, message } = await ask({ action: 'deploy' })
  t.match(text(await chat.press(message, 'Approve', '12')), /people set/)
  await service.people.setPerson({ name: 'alice', chatIds: { telegram: '11' } }, locally)
  await service.people.setPerson({ name: 'bob', chatIds: { telegram: '12' } }, locally)
  await chat.press(message, 'Approve', '11')
  await until(() => message.card!.tone === 'asking')
  t.match(text(await chat.press(message, 'Yes, approve', '11')), /1 of 2\. Somebody else must approve/)
  await until(() => message.card!.tone === 'pending')
  t.match(message.card!.facts.find(({ label }) => label.startsWith('Votes'))?.value, 'alice approved')
  t.same(chat.buttons(message), ['Approve', 'Deny'], 'the second can answer as well')
  t.match(text(await chat.press(message, 'Approve', '11')), /alice has decided this already/)
  await chat.press(message, 'Approve', '12')
  await until(() => message.card!.tone === 'asking')
  await chat.press(message, 'Yes, approve', '12')
  t.match(await status(id), { status: 'approved', approvals_given: 2 })
})

t.test(
  'nobody decides in a chat what they asked for themselves, and one vote is one vote wherever it was given',
  async (t) => {
    const built = await withChat(t, { rules: 'rules: [{ action: deploy, approvals: 2 }]' })
    const { chat, service } = built
    await service.people.setPerson({ name: 'alice', chatIds: { telegram: '11' } }, locally)
    await service.people.setPerson({ name: 'bob', chatIds: { telegram: '12' } }, locally)
    const { alice, bot } = await giveKeys(built, { alice: 'admin', bot: 'agent' })
    const own = await alice('POST', '/confirm', { action: 'own', description: 'x' })
    await until(() => chat.messages.length === 1)
    for (const label of ['Approve', 'Deny']) {
      t.match(text(await chat.press(chat.messages[0]!, label, '11')), /Nobody decides what they submitted themselves/)
    }
    t.match(await chat.press(chat.messages[0]!, 'Deny', '12'), { text: 'Denied.' })
    t.equal((await alice('GET', `/confirm/${own.body.id}`)).body.resolved_by, 'bob')

    const { body } = await bot('POST', '/confirm', { action: 'deploy', description: 'x' })
    await until(() => chat.messages.some(({ card }) => card?.id === body.id))
    const message = chat.messages.find(({ card }) => card?.id === body.id)!
    t.equal((await alice('POST', `/confirm/${body.id}/approve`)).status, 200)
    await until(() => message.card!.facts.some(({ value }) => value === 'alice approved'))
    t.match(text(await chat.press(message, 'Approve', '11')), /alice has decided this already/)
    await chat.press(message, 'Approve', '12')
    await until(() => message.card!.tone === 'asking')
    t.match(await chat.press(message, 'Yes, approve', '12'), { text: 'Approved.' })
  },
)

t.test('for this session: what follows of it passes, and only where the rule allows it', async (t) => {
  const { chat, ask, status, submit } = await withChat(t)
  const { id, message } = await ask({ session_key: 's1' })
  t.same(chat.buttons(message), ['Approve', 'Deny', 'Approve for this session'])
  await chat.press(message, 'Approve for this session', '11')
  await until(() => message.card!.tone === 'asking')
  t.match(message.card!.notes.join(), /whatever follows of it in this session/)
  t.match(await chat.press(message, 'Yes, approve', '11'), {
    text: 'Approved, and so is what follows of it in this session.',
  })
  t.equal((await status(id)).status, 'approved')
  t.equal((await submit({ session_key: 's1' })).body.status, 'auto_approved')
  const high = await ask({ action: 'delete_data', session_key: 's1' })
  t.same(chat.buttons(high.message), ['Approve', 'Deny'])
})

t.test('what is not shown whole, or is a secret, or must be typed is not approved from a message', async (t) => {
  const { chat, ask } = await withChat(t, { rules: 'rules: [{ action: typed, typed_confirmation: true }]' })
  for (const [fields, why] of [
    [{ description: 'x'.repeat(5000) }, /too long to be shown whole/],
    [{ details: { url: 'postgres://app:hunter2@db/x' } }, /looks like a secret/],
    [{ details: { password: 'hunter2hunter2' } }, /looks like a secret/],
    [{ action: 'typed' }, /typed out/],
  ] as const) {
    const { message } = await ask(fields)
    t.same(chat.buttons(message), ['Deny'])
    t.match(message.card!.obstacle, why)
    t.notMatch(JSON.stringify(message.card), /hunter2/)
  }
})

t.test('decided elsewhere, cancelled, expired: every copy says so and loses its buttons', async (t) => {
  const { chat, ask, call, clock } = await withChat(t)
  const elsewhere = await ask({ action: 'one' })
  await call('POST', `/confirm/${elsewhere.id}/approve`, { approver: 'bob' })
  await until(() => elsewhere.message.card!.tone === 'approved')
  t.match(elsewhere.message.card!.facts[0], { label: 'By', value: 'bob' })
  const cancelled = await ask({ action: 'two' })
  await call('POST', `/confirm/${cancelled.id}/cancel`)
  await until(() => cancelled.message.card!.title.includes('Cancelled'))
  const expired = await ask({ action: 'three', timeout_seconds: 30 })
  const deny = chat.dataOf(expired.message, 'Deny')
  await clock.advance(30_000)
  await until(() => expired.message.card!.title.includes('Expired'))
  t.match(text(await chat.pressData(deny, '11', expired.message.ref)), /no longer good|has expired/)
  for (const { message } of [elsewhere, cancelled, expired]) t.same(chat.buttons(message), [])
})

t.test('an edit that fails is made again; a message that was deleted is let go', async (t) => {
  const { chat, ask, call, clock, logged } = await withChat(t)
  const { id, message } = await ask()
  chat.failEdits({ kind: 'failed', error: 'network error' }, { kind: 'busy', retryAfterMs: 5000, error: '429' })
  await call('POST', `/confirm/${id}/deny`)
  await clock.advance(1000)
  t.equal(message.card!.tone, 'pending')
  await clock.advance(5000)
  t.equal(message.card!.tone, 'denied')
  // Edits keep a distance for a minute after a chat was busy.
  await clock.advance(60_000)
  const second = await ask()
  chat.messages.length = 0
  await call('POST', `/confirm/${second.id}/deny`)
  await until(() => logged.some(({ msg }) => /cannot edit a message/.test(String(msg))))
  await until(async () => (await call('GET', '/ready')).status === 200)
  await clock.advance(60_000)
  t.equal(logged.filter(({ msg }) => /cannot edit a message/.test(String(msg))).length, 1)
})

t.test('a restart goes on with what was to be edited, and asks nothing it asked before', async (t) => {
  const chat = playChat()
  const first = await withChat(t, { chat })
  const decided = await first.ask({ action: 'one' })
  const asked = await first.ask({ action: 'two' })
  await first.chat.press(asked.message, 'Approve', '11')
  await until(() => asked.message.card!.tone === 'asking')
  chat.failEdits({ kind: 'failed', error: 'away' })
  await first.call('POST', `/confirm/${decided.id}/deny`)
  await first.stop()
  t.equal(decided.message.card!.tone, 'pending')
  await withChat(t, { chat, dbPath: first.dbPath, clock: first.clock, newId: () => 'unused' })
  await until(async () => {
    await first.clock.advance(1000)
    return decided.message.card!.tone === 'denied' && asked.message.card!.tone === 'pending'
  })
  t.match(text(await chat.press(asked.message, 'Deny', '11')), /Denied/, 'and its buttons work')
})

t.test('of many changes the last one is shown, within the edits that the chat takes', async (t) => {
  const chat = playChat({ editsPerMinute: 3 })
  const { ask, call, clock } = await withChat(t, { chat })
  const asked = []
  for (let n = 0; n < 8; n++) asked.push(await ask({ action: `act_${n}` }))
  for (const { id } of asked) await call('POST', `/confirm/${id}/deny`)
  await clock.advance(1000)
  t.equal(chat.edits.length, 3)
  await clock.advance(60_000)
  t.equal(chat.edits.length, 6)
  await clock.advance(60_000)
  t.ok(asked.every(({ message }) => message.card!.tone === 'denied'))
  t.equal(chat.edits.length, 8, 'each once')
})

t.test('some of the edits that a chat takes are kept for those who wait for one', async (t) => {
  const chat = playChat({ editsPerMinute: 10 })
  const { ask, call, clock } = await withChat(t, { chat })
  const asked: Awaited<ReturnType<typeof ask>>[] = []
  for (let n = 0; n < 9; n++) asked.push(await ask({ action: `act_${n}` }))
  for (const { id } of asked.slice(1)) await call('POST', `/confirm/${id}/deny`)
  await clock.advance(1000)
  t.equal(chat.edits.length, 7)
  await chat.press(asked[0]!.message, 'Approve', '11')
  await until(() => asked[0]!.message.card!.tone === 'asking')
  await clock.advance(60_000)
  t.ok(asked.slice(1).every(({ message }) => message.card!.tone === 'denied'))
})

t.test('where nothing is heard any more no button stays that does nothing', async (t) => {
  const { chat, ask, call, clock } = await withChat(t, { config: { publicUrl: 'https://holdpoint.example.com' } })
  const [one, over] = [await ask({ action: 'one' }), await ask({ action: 'over' })]
  await call('POST', `/confirm/${over.id}/deny`)
  await until(() => over.message.card!.tone === 'denied')
  const edits = chat.edits.length
  chat.loseButtons()
  await until(() => chat.edits.length === edits + 1)
  t.match(one.message.card!.buttons, [[{ kind: 'link', label: 'Open and decide', url: /\/link\// }]])
  await clock.advance(60_000)
  t.equal(chat.edits.length, edits + 1, 'once, and what is over has none anyway')
})

t.test('a press that is faster than the record of its message counts', async (t) => {
  const chat = playChat()
  const { send } = chat
  let answered: Promise<unknown> | undefined
  chat.send = async (...message) => {
    const outcome = await send(...message)
    answered = chat.press(chat.messages.at(-1)!, 'Deny', '11')
    await settled()
    return outcome
  }
  const { status, submit } = await withChat(t, { chat })
  const { body } = await submit()
  await until(() => answered)
  t.match(await answered, { text: 'Denied.' })
  t.equal((await status(body.id)).status, 'denied')
  await until(() => chat.messages[0]!.card!.tone === 'denied')
})
