// What is written to the bot, by what all chats have in common.
import t from 'tap'
import { StoreUnavailable } from '../../src/store/store.js'
import { until } from '../support.js'
import { playChat, said, withChat } from './played-chat.js'

const ids = () => {
  let count = 0
  return () => `019b7765-1c80-7d3f-9a51-${String((count += 1)).padStart(12, 'abcdef')}`
}

t.test('/pending lists what waits, the next to expire first', async (t) => {
  const { chat, ask } = await withChat(t, { newId: ids() })
  await chat.write('/pending', '11')
  t.equal(said(chat.messages.at(-1)!), 'Nothing waits for a decision.')
  await ask({ action: 'later', timeout_seconds: 600 })
  await ask({ action: 'sooner\n/approve', timeout_seconds: 60, requester: 'bot' })
  await chat.write('/pending', '11')
  t.match(
    said(chat.messages.at(-1)!),
    /^Waiting for a decision\n\w{8} sooner\\n\/approve, asked by bot, 60 s left\n\w{8} later/,
  )
})

t.test('what looks like a secret is masked in lists and reasons, too', async (t) => {
  const { chat, ask, status } = await withChat(t, { newId: ids() })
  const { id, message } = await ask({ action: 'run --token hunter2hunter2', requester: 'bot password=hunter2hunter2' })
  await chat.write('/pending', '11')
  t.match(said(chat.messages.at(-1)!), 'run --token [masked], asked by bot password=[masked]')
  await chat.write(`/deny ${id.slice(-6)} the password=hunter2hunter2 is known`, '11')
  t.match(said(chat.messages.at(-1)!), 'Denied. run --token [masked], asked by')
  t.equal((await status(id)).reason, 'the password=hunter2hunter2 is known', 'the record has it whole')
  await until(() => message.card!.tone === 'denied')
  t.match(
    message.card!.facts.find(({ label }) => label === 'Reason'),
    { value: 'the password=[masked] is known' },
  )
})

t.test('/show sends the card with buttons of its own, once for each time it is asked', async (t) => {
  const { chat, ask, status } = await withChat(t, { newId: ids() })
  const { id, message } = await ask()
  await chat.write(`/show ${id.slice(-6)}`, '11', { name: 'update-7' })
  await until(() => chat.messages.length === 2)
  await chat.write(`/show ${id.slice(-6)}`, '11', { name: 'update-7' })
  const shown = chat.messages[1]!
  t.same(chat.buttons(shown), ['Approve', 'Deny'])
  await until(
    async () => (await chat.press(shown, 'Deny', '11')).kind === 'whisper' && (await status(id)).status === 'denied',
  )
  await until(() => message.card!.tone === 'denied' && shown.card!.tone === 'denied')
  t.equal(chat.messages.filter(({ card }) => card !== null).length, 2, 'heard twice, it is shown once')
})

t.test('/approve shows the card and asks once more, whoever asked alone', async (t) => {
  const { chat, ask, status } = await withChat(t, { newId: ids() })
  const { id } = await ask()
  await chat.write(`/approve ${id.slice(-8)}`, '11')
  await until(() => chat.messages.length === 2)
  const shown = chat.messages[1]!
  t.same(chat.buttons(shown), ['Yes, approve', 'Back'])
  t.equal((await status(id)).status, 'pending')
  await until(async () => !/no longer good/.test(((await chat.press(shown, 'Yes, approve', '12')) as any).text))
  t.equal((await status(id)).status, 'pending')
  t.match(await chat.press(shown, 'Yes, approve', '11'), { text: 'Approved.' })
  t.match(await status(id), { status: 'approved', resolved_by: 'telegram:11' })
})

t.test('/deny denies at once, with the reason behind the id', async (t) => {
  const { chat, ask, status } = await withChat(t, { newId: ids() })
  const { id } = await ask()
  await chat.write(`/deny ${id.slice(-6)} not before\nthe audit`, '11')
  t.match(await status(id), { status: 'denied', reason: 'not before\nthe audit', resolved_via: 'telegram' })
  t.match(said(chat.messages.at(-1)!), /^Denied\. send_mail, asked by agent$/)
  await chat.write(`/deny ${id.slice(-6)}`, '12')
  t.match(said(chat.messages.at(-1)!), /denied already, by telegram:11/)
  await chat.write(`/approve ${id.slice(-6)}`, '12')
  t.match(said(chat.messages.at(-1)!), /denied already, by telegram:11/)
})

t.test('an id that is too short, unknown, ambiguous or missing changes nothing and says so', async (t) => {
  let count = 0
  const newId = () => `019b7765-1c80-7d3f-9a5${(count += 1)}-aaaaaaaaaaaa`
  const { chat, ask } = await withChat(t, { newId })
  await ask({ action: 'one' })
  await ask({ action: 'two' })
  for (const [text, answer] of [
    ['/deny', /Say which: \/deny/],
    ['/deny aaaaa', /at least the last 6/],
    ['/deny bbbbbb', /No request of the last week/],
    ['/deny aaaaaa', /2 requests of the last week/],
    ['/shwo aaaaaa', /did you mean \/show\?/],
    ['/help', /\/pending what waits/],
    ['/start', /^\/pending what waits/],
    ['/sessions', /There are no sessions/],
  ] as const) {
    await chat.write(text, '11')
    t.match(said(chat.messages.at(-1)!), answer, text)
  }
})

t.test(
  'strangers get an answer in private alone, and are on record; what is no command is nobody’s business',
  async (t) => {
    const { chat, ask, call } = await withChat(t, { newId: ids() })
    const { id } = await ask()
    await chat.write(`/deny ${id.slice(-6)}`, '99')
    t.equal(chat.messages.length, 1, 'all would read it')
    const whispers: string[] = []
    const whisper = async (text: string) => void whispers.push(text)
    await chat.write('/pending', '99', { whisper })
    await chat.write('/pending', '11', { isHome: false, whisper })
    await chat.write('hello', '99', { whisper })
    t.equal(chat.messages.length, 1)
    t.match(whispers, [/nobody has allowed your id, 99/], 'unless the chat can tell them alone')
    await chat.write('/pending', '99', { isHome: false, isPrivate: true, place: '99' })
    t.match(said(chat.messages[1]!), /nobody has allowed your id, 99/)
    t.equal(chat.messages[1]!.place, '99')
    await chat.write('/pending', '11', { isHome: false, isPrivate: false, place: 'another group' })
    await chat.write('hello', '11')
    await chat.write('no!', '99', { replyTo: chat.messages[0]!.ref })
    t.equal(chat.messages.length, 2)
    const { body } = await call('GET', '/audit/events?type=rejected')
    t.same(
      body.events.map(({ actor }: any) => actor),
      ['telegram:99', 'telegram:99', 'telegram:99'],
    )
  },
)

t.test('who asks for too much is not answered any more', async (t) => {
  const { chat } = await withChat(t)
  for (let n = 0; n < 40; n++) await chat.write('/pending', '99', { isHome: false, isPrivate: true, place: '99' })
  t.equal(chat.messages.length, 30)
})

t.test(
  'an answer that a busy chat does not take comes when it does, and whoever asked can press meanwhile',
  async (t) => {
    const { chat, ask, clock, logged } = await withChat(t, { newId: ids() })
    const { message } = await ask()
    const busy = { kind: 'busy', retryAfterMs: 5000, error: '429' } as const
    chat.failSends(busy, busy)
    await chat.write('/pending', '11')
    t.match(await chat.press(message, 'Approve', '11'), { kind: 'whisper' })
    await clock.advance(4999)
    t.equal(chat.messages.length, 1)
    await clock.advance(5001)
    t.match(said(chat.messages[1]!), /^Waiting for a decision/)
    chat.failSends(busy, busy, busy)
    await chat.write('/pending', '11')
    await clock.advance(60_000)
    t.equal(chat.messages.length, 2)
    t.equal(logged.filter(({ msg }) => msg === 'a command was not answered').length, 1)
    chat.failSends({ ...busy, retryAfterMs: 3_600_000 })
    await chat.write('/pending', '11')
    t.equal(
      logged.filter(({ msg }) => msg === 'a command was not answered').length,
      2,
      'an hour later nobody waits for it',
    )
  },
)

t.test('in private the answer goes to the writer alone', async (t) => {
  const { chat, ask } = await withChat(t, { newId: ids() })
  const { id } = await ask()
  await chat.write(`/show ${id.slice(-6)}`, '12', { isHome: false, isPrivate: true, place: '12' })
  await until(() => chat.messages.length === 2)
  t.equal(chat.messages[1]!.place, '12')
})

t.test('where the database does not answer nothing is decided, and that is said', async (t) => {
  let isAway = false
  const { chat, ask, status } = await withChat(t, {
    chat: playChat(),
    newId: ids(),
    wrapStore: (store) => ({
      ...store,
      commit: (change) => (isAway ? Promise.reject(new StoreUnavailable('away')) : store.commit(change)),
    }),
  })
  const { id, message } = await ask()
  isAway = true
  t.match(await chat.press(message, 'Deny', '11'), {
    text: /Nothing was decided: the database does not answer/,
    isAlert: true,
  })
  await chat.write(`/deny ${id.slice(-6)}`, '11')
  t.match(said(chat.messages.at(-1)!), /Nothing was done/)
  isAway = false
  t.equal((await status(id)).status, 'pending')
})
