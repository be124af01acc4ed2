// ntfy through the port: what a subscriber sees, what replaces it, and what becomes of every answer of a server.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { SendOutcome } from '../../src/notify/chat.js'
import { createNtfy, type NtfySettings } from '../../src/notify/ntfy.js'
import { alarmOf } from '../alarm.js'
import { rounds } from '../rounds.js'
import { manualClock } from '../support.js'
import { denied, example, id, resolved } from '../web/examples.js'
import { anyRequest, cardFor, highRisk, localPage, publicPage } from './example-cards.js'
import { refuse, startNtfy } from './fake-ntfy.js'

const go = new AbortController().signal

async function ntfy(t: Test, settings: Partial<NtfySettings> = {}) {
  const server = await startNtfy(t)
  const { ntfyUrl: url, ntfyTopic: topic, ntfyToken: token } = server.config
  return { server, chat: createNtfy({ url, topic, token, timeoutMs: 5000, ...settings }) }
}

t.test(
  'a message says what is asked for, by whom, how it is called and until when, and leads to the page',
  async (t) => {
    const { server, chat } = await ntfy(t)
    const details = JSON.stringify({ list: 'subscribers', count: 4812 })
    const card = cardFor(chat, example({ details, description: 'Send it.\nNow.' }))
    t.match(await chat.send(card, '', 'one', go), { kind: 'sent', message: { id: 'one' } })
    const [message] = server.messages
    t.equal(message!.title, '🔔 Confirmation needed')
    t.same(message!.message.split('\n'), [
      'Action: “send_newsletter”',
      'Risk: normal',
      'Rule: none is about this action',
      'Requester: “newsletter-agent”',
      'Session: “march-campaign”',
      `ID: “${id}”`,
      `Digest: “${example({ details }).digest.slice(0, 16)}”`,
      'Expires: 2026-03-12T14:17:10.000Z',
      'Details:',
      '│ {',
      '│  "list": "subscribers",',
      '│  "count": 4812',
      '│ }',
      'In the words of whoever asks:',
      '│ Send it.↵',
      '│ Now.',
    ])
    t.equal(message!.click, publicPage.url)
    t.same(message!.actions, [{ action: 'view', label: 'Open', url: publicPage.url }])
  },
)

t.test('a page that is not public is no link to be tapped', async (t) => {
  const { server, chat } = await ntfy(t)
  await chat.send(cardFor(chat, example(), { page: localPage }), '', 'one', go)
  const [message] = server.messages
  t.match(message, { click: null, actions: [] })
  t.match(message!.message, `\nSee and decide it: ${localPage.url}\n`)
})

t.test('the risk is the priority, and a tag to subscribe by', async (t) => {
  const { server, chat } = await ntfy(t)
  for (const risk of ['low', 'normal', 'high'] as const) {
    await chat.send(cardFor(chat, example({}, { ...highRisk, risk })), '', risk, go)
  }
  t.same(
    server.messages.map(({ priority, tags }) => [priority, ...tags]),
    [
      [3, 'risk-low'],
      [4, 'risk-normal'],
      [5, 'risk-high'],
    ],
  )
})

t.test('an edit takes the place of the message, and makes no sound once it is over', async (t) => {
  const { server, chat } = await ntfy(t)
  const sent = (await chat.send(cardFor(chat, example()), '', 'one', go)) as Extract<SendOutcome, { kind: 'sent' }>
  t.match(await chat.edit(sent.message!, cardFor(chat, denied), go), { kind: 'sent' })
  t.equal(server.messages.length, 1)
  t.match(server.messages[0], { title: '❌ Denied', priority: 2, updates: 1 })
  t.match(
    server.messages[0]!.message,
    /^By: “paul\[\.\]weber”\nAt: .*\nReason: “This IBAN is not the one we have on file\.”\n/,
  )
  t.match(await chat.editText(sent.message!, { lines: [[{ ours: 'over' }]], link: null }, go), { kind: 'sent' })
  t.match(server.messages, [{ message: 'over', priority: 2, updates: 2 }])
})

t.test('a message that was sent again after a lost answer is seen once', async (t) => {
  const { server, chat } = await ntfy(t)
  server.failNext('lose answer')
  t.match(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'failed' })
  t.match(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'sent' })
  t.equal(server.messages.length, 1)
})

t.test('where a server knows of no sequences, or the topic is another one, nothing follows', async (t) => {
  const { server, chat } = await ntfy(t)
  server.forgetSequences()
  t.same(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'sent' })
  const message = { chat: 'another', id: 'one' }
  t.match(await chat.edit(message, cardFor(chat, denied), go), { kind: 'refused', fault: 'message' })
  t.equal(server.messages.length, 1)
})

t.test('there is no other place than the topic', async (t) => {
  const { server, chat } = await ntfy(t)
  const card = cardFor(chat, example())
  t.match(await chat.send(card, 'maria', 'one', go), { kind: 'refused', fault: 'message' })
  t.match(await chat.sendText({ lines: [], link: null }, 'maria', 'one', go), { kind: 'refused', fault: 'message' })
  t.equal(server.calls.length, 0)
})

t.test('an alarm says what happened and what to do, in words that can be copied', async (t) => {
  const { server, chat } = await ntfy(t)
  const request = 'POST http://127.0.0.1:6000/sessions/s-1/resume'
  const alarm = alarmOf({ reason: 'see https://evil.example', request })
  t.match(await chat.sendAlarm(alarm, go), { kind: 'sent' })
  t.match(server.messages[0], { title: '⛔ Session suspended', priority: 4, click: null })
  t.same(server.messages[0]!.message.split('\n'), [
    'Session: “s-1”',
    'Requester: “bot”',
    'When: 1970-01-01T00:00:00.000Z',
    'To resume it: “holdpoint sessions resume s-1”',
    `Or: “${request}”`,
    'Why:',
    '│ see https[:]//evil[.]example',
  ])
})

t.test('lines of ours go out with what others said in quotes', async (t) => {
  const { server, chat } = await ntfy(t)
  const text = { lines: [[{ bold: '3' }, { ours: ' more: ' }, { theirs: 'a” b' }], [{ ours: 'all' }]], link: null }
  await chat.sendText({ ...text, link: { label: 'Open', url: publicPage.url } }, '', 'one', go)
  t.match(server.messages[0], { title: 'Holdpoint', message: '3 more: “a\\u{201d} b”\nall', click: publicPage.url })
})

/** How it is written where no code keeps an address from being one. */
const inert: [name: string, text: string, written: string][] = [
  ['an address', 'see https://evil.example/a?b=c', 'see https[:]//evil[.]example/a?b=c'],
  ['a host', 'evil.example, www.evil.co.uk', 'evil[.]example, www[.]evil[.]co[.]uk'],
  ['an address in numbers', '192.0.2.7/a 10.0.0.1:80', '192[.]0[.]2[.]7/a 10[.]0[.]0[.]1:80'],
  ['versions and ends of sentences', 'Ship 4.18.0. Then wait...', 'Ship 4.18.0. Then wait...'],
  ['what plays that', 'evil[.]example [:]', 'evil\\[.]example \\[:]'],
  ['a quote and a bar', '“a” │ b', '\\u{201c}a\\u{201d} \\u{2502} b'],
]
for (const [name, text, written] of inert) {
  t.test(`${name} is written so that it is nothing but text`, async (t) => {
    const { server, chat } = await ntfy(t)
    await chat.send(cardFor(chat, example({ action: text, description: text })), '', 'one', go)
    const lines = server.messages[0]!.message.split('\n')
    t.equal(lines[0], `Action: “${written}”`)
    t.equal(lines.at(-1), `│ ${written}`)
  })
}

t.test(
  'whatever an agent writes is within the limits, in quotes or behind bars, and below our own lines',
  async (t) => {
    const { server, chat } = await ntfy(t)
    let count = 0
    await fc.assert(
      fc.asyncProperty(anyRequest, fc.boolean(), async (request, isOver) => {
        const asked = isOver ? resolved(request, 'denied', 'paul.weber', request.description) : request
        count += 1
        const outcome = await chat.send(cardFor(chat, asked), '', `m${count}`, go)
        const message = server.messages.at(-1)!
        const lines = message.message.split('\n')
        const ours = lines.filter((line) => !line.startsWith('│ '))
        const labels = ours.map((line) => /^(?:[A-Z][A-Za-z ]*(?: \([^“”]*\))?:|Not to be approved)/.exec(line)?.[0])
        return (
          outcome.kind === 'sent' &&
          !message.message.includes('received a file') &&
          labels.every((label) => label !== undefined) &&
          new Set(labels).size === labels.length &&
          ours.every((line) => /^[^“”]*(?:“[^“”]*”)?$/.test(line)) &&
          !/:\/\/|evil\.example/.test(message.message)
        )
      }),
      rounds(100),
    )
  },
)

t.test('words in a script of three bytes a character fit as others do', async (t) => {
  const { server, chat } = await ntfy(t)
  const text = '漢'.repeat(5000)
  const asked = {
    action: text,
    description: text,
    details: JSON.stringify({ text }),
    requester: text,
    onBehalfOf: text,
  }
  const over = resolved(example({ ...asked, sessionKey: text }, { rule: text }), 'denied', text, text)
  const more = { ...over, comments: [{ by: { kind: 'person', name: text }, text, at: 0, via: 'ntfy' } as const] }
  t.match(await chat.send(cardFor(chat, more), '', 'one', go), { kind: 'sent' })
  const { message } = server.messages[0]!
  t.ok(Buffer.byteLength(message) <= 4096)
  t.match(message, /\nDetails.*: too long for ntfy\nIn the words of whoever asks.*: too long for ntfy$/)
})

const wrong: [name: string, status: number, body: unknown, outcome: object][] = [
  ['a wrong token', 401, refuse(401, 40101, 'unauthorized').body, { kind: 'refused', fault: 'channel' }],
  ['a topic of others', 403, refuse(403, 40301, 'forbidden').body, { kind: 'refused', fault: 'channel' }],
  ['another server', 404, '<html>', { kind: 'refused', fault: 'channel' }],
  ['a topic that cannot be', 400, refuse(400, 40010, 'disallowed').body, { kind: 'refused', fault: 'channel' }],
  ['a message it cannot read', 400, refuse(400, 40017, 'no').body, { kind: 'refused', fault: 'message' }],
  ['too large a message', 413, refuse(413, 41303, 'JSON body too large').body, { kind: 'refused', fault: 'message' }],
  ['too many requests', 429, refuse(429, 42901, 'too many').body, { kind: 'busy', retryAfterMs: 5000 }],
  ['a used up day', 429, refuse(429, 42908, 'too many messages').body, { kind: 'busy', retryAfterMs: 900_000 }],
  ['a fault of its own', 500, refuse(500, 50001, 'internal server error').body, { kind: 'failed' }],
  ['a redirect', 302, '', { kind: 'failed' }],
  ['a page', 200, '<html>welcome</html>', { kind: 'failed' }],
  ['JSON that says nothing', 200, {}, { kind: 'failed' }],
  ['a list', 200, [], { kind: 'failed' }],
]
for (const [name, status, body, outcome] of wrong) {
  t.test(`an answer that is ${name} is ${JSON.stringify(outcome)}`, async (t) => {
    const { server, chat } = await ntfy(t)
    server.failNext({ status, body })
    t.match(await chat.send(cardFor(chat, example()), '', 'one', go), outcome)
  })
}

t.test('a wish for a pause in a header counts', async (t) => {
  const { server, chat } = await ntfy(t)
  server.failNext({ ...refuse(429, 42901, 'too many'), headers: { 'retry-after': '61' } })
  t.match(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'busy', retryAfterMs: 61_000 })
})

t.test('no answer, a broken and a late one have failed', async (t) => {
  const { server, chat } = await ntfy(t, { timeoutMs: 50 })
  server.failNext('reset', 'hang')
  t.match(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'failed', error: /^network error/ })
  t.match(await chat.send(cardFor(chat, example()), '', 'one', go), { kind: 'failed', error: 'no answer in time' })
})

t.test('neither token nor topic is in an error, whatever the server repeats', async (t) => {
  const { server, chat } = await ntfy(t)
  server.failNext(refuse(400, 40017, `no ${server.token} for ${server.topic}`))
  const outcome = await chat.send(cardFor(chat, example()), '', 'one', go)
  t.match(outcome, { error: '400 no [token] for [token]' })
})

t.test('the pace of the real one is busy, and passes', async (t) => {
  const { server, chat } = await ntfy(t)
  const clock = manualClock()
  server.keepPace(clock.now)
  const send = (name: string) => chat.send(cardFor(chat, example()), '', name, go)
  for (let count = 0; count < 60; count++) t.match(await send(`m${count}`), { kind: 'sent' })
  t.match(await send('late'), { kind: 'busy', retryAfterMs: 5000 })
  await clock.advance(5000)
  t.match(await send('late'), { kind: 'sent' })
})

t.test('the test of a server tells nobody anything, and says what is wrong and how to mend it', async (t) => {
  const { server, chat } = await ntfy(t)
  t.same(await chat.probe(go), { state: 'reachable', as: 'holdpoint' })
  t.same(server.messages, [])
  t.ok(server.calls.every(({ method }) => method === 'GET'))
  const of = (settings: Partial<NtfySettings>) =>
    createNtfy({ url: server.url, topic: server.topic, token: null, timeoutMs: 5000, ...settings })
  t.same(await of({}).probe(go), { state: 'reachable', as: null })
  t.match(await of({ token: 'tk_wrong' }).probe(go), {
    state: 'refused',
    error: 'account: 401 unauthorized',
    mend: /NTFY_TOKEN/,
  })
  t.match(await of({ url: `${server.url}/elsewhere` }).probe(go), { state: 'refused', mend: /NTFY_URL/ })
  server.failNext({ status: 200, body: '<html>' })
  t.match(await chat.probe(go), { state: 'refused', error: 'health: 200 without a reason' })
  server.failNext({ status: 503, body: '' }, 'reset')
  t.match(await chat.probe(go), { state: 'unreachable', error: 'health: 503 without a reason' })
  t.match(await chat.probe(go), { state: 'unreachable', error: /^network error/ })
})
