// What Discord sends to us, signed: over a real socket, with every signature that is none.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.js'
import type { Chat, Ears, Hearing, Press, PressAnswer, Words } from '../../src/notify/chat.js'
import { createDiscord } from '../../src/notify/discord.js'
import { problemWithPublicKey } from '../../src/notify/discord-signature.js'
import { manualClock, until } from '../support.js'
import { example } from '../web/examples.js'
import { cardFor, pressOf } from './example-cards.js'
import { type FakeDiscord, type Signed, startDiscord } from './fake-discord.js'

const go = new AbortController().signal
const maria = { id: '123456789012345678' }
const nothing: PressAnswer = { kind: 'whisper', text: 'Approved.', isAlert: false }
const alert = (text: string): PressAnswer => ({ kind: 'whisper', text, isAlert: true })

interface Called {
  server: FakeDiscord
  chat: Chat
  url: string
  presses: Press[]
  words: Words[]
  warned: { fields: any; message: string }[]
  send(request: Signed): Promise<{ status: number; body: any }>
  stop: Hearing['stop']
}

/** A bot that is called, with one message in its channel; `isSet`: Discord knows where. */
async function called(
  t: Test,
  given: { answer?(press: Press): PressAnswer | Promise<PressAnswer>; clock?: Ears['clock']; isSet?: boolean } = {},
): Promise<Called> {
  const { answer = () => nothing, clock = systemClock(), isSet = true } = given
  const server = await startDiscord(t)
  const { discordBotToken: botToken, discordHomeChannel: channelId, discordApiBase: apiBase } = server.config
  const { publicKey } = server
  const chat = createDiscord({ botToken, channelId, apiBase, publicKey, timeoutMs: 5000 }, '1.2.3')
  const presses: Press[] = []
  const words: Words[] = []
  const warned: Called['warned'] = []
  await chat.send(cardFor(chat, example()), '', 'm', go)
  const hearing = chat.hear!({
    async press(press) {
      presses.push(press)
      return answer(press)
    },
    async say(one) {
      words.push(one)
    },
    cursor: async () => null,
    heard: async () => {},
    buttonsChanged() {},
    commands: [],
    log: { info() {}, warn: (fields, message) => void warned.push({ fields, message }) },
    clock,
    random: () => 0,
  })
  t.teardown(() => hearing.stop(0))
  const { url } = await serve(t, hearing)
  if (isSet) await server.setEndpoint(url)
  const send = async ({ headers, body }: Signed) => {
    const response = await fetch(url, { method: 'POST', headers, body })
    const text = await response.text()
    return { status: response.status, body: text === '' ? null : JSON.parse(text) }
  }
  return { server, chat, url, presses, words, warned, send, stop: hearing.stop }
}

/** As the route does. */
async function serve(t: Test, { receive }: Hearing): Promise<{ url: string }> {
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void receive!({ headers: request.headers, body: Buffer.concat(chunks) }).then(({ status, body }) =>
        response.writeHead(status).end(body === null ? '' : JSON.stringify(body)),
      )
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    http.closeAllConnections()
    http.close()
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/chat/discord` }
}

/** Somebody who presses Approve in the first message. */
function pressed(server: FakeDiscord, id: string) {
  return {
    id,
    application_id: server.applicationId,
    token: `token-${id}`,
    type: 3,
    member: { user: maria },
    channel_id: server.channel,
    message: { id: server.messages[0]!.id, channel_id: server.channel },
    data: { custom_id: pressOf('approve') },
  }
}

t.test('Discord takes the URL: a ping is answered, and a bad signature refused', async (t) => {
  const { server, url } = await called(t, { isSet: false })
  await server.setEndpoint(url)
  t.equal(server.gateway.guests.length, 0, 'nothing is opened')
})

t.test('a press, a refusal and a form are answered with what the presser is to see', async (t) => {
  const answers: PressAnswer[] = [
    nothing,
    alert('Not yours.'),
    { kind: 'form', title: 'Deny', label: 'Reason', data: 'deny:token', isRequired: true },
    nothing,
  ]
  const { server, presses } = await called(t, { answer: () => answers.shift()! })
  const [message] = server.messages
  t.same(await server.press(message!, 'Approve', maria), { type: 6 })
  t.match(await server.press(message!, 'Approve', maria), { type: 4, data: { content: 'Not yours.', flags: 64 } })
  t.match(await server.press(message!, 'Deny', maria), { type: 9, data: { custom_id: 'deny:token' } })
  t.same(await server.submit('no', maria), { type: 6 })
  t.match(presses.at(-1), { by: { id: maria.id }, data: 'deny:token', reason: 'no' })
})

t.test('a command is taken', async (t) => {
  const { server, words } = await called(t)
  t.match(await server.write('show', { id: 'abc123' }, maria), { type: 4 })
  t.match(words, [{ text: '/show abc123', isHome: true, by: { id: maria.id } }])
})

const minute = 60
const now = () => Math.floor(Date.now() / 1000)
const other = generateKeyPairSync('ed25519').privateKey

/** What becomes of a request that is signed. */
const spoiled: [name: string, spoil: (good: Signed, sign: FakeDiscord['sign']) => Signed][] = [
  [
    'signed by somebody else',
    ({ headers, body }) => {
      const at = headers['x-signature-timestamp']!
      const forged = sign(null, Buffer.from(at + body), other).toString('hex')
      return { headers: { ...headers, 'x-signature-ed25519': forged }, body }
    },
  ],
  ['without headers', ({ body }) => ({ headers: {}, body })],
  [
    'without a signature',
    ({ headers, body }) => ({ headers: { 'x-signature-timestamp': headers['x-signature-timestamp']! }, body }),
  ],
  [
    'without a time',
    ({ headers, body }) => ({ headers: { 'x-signature-ed25519': headers['x-signature-ed25519']! }, body }),
  ],
  [
    'with half a signature',
    ({ headers, body }) => ({
      headers: { ...headers, 'x-signature-ed25519': headers['x-signature-ed25519']!.slice(64) },
      body,
    }),
  ],
  [
    'with a signature that is too long',
    ({ headers, body }) => ({
      headers: { ...headers, 'x-signature-ed25519': `${headers['x-signature-ed25519']!}00` },
      body,
    }),
  ],
  [
    'with a signature of zeros',
    ({ headers, body }) => ({ headers: { ...headers, 'x-signature-ed25519': '0'.repeat(128) }, body }),
  ],
  [
    'with a signature that is no hexadecimal',
    ({ headers, body }) => ({ headers: { ...headers, 'x-signature-ed25519': 'z'.repeat(128) }, body }),
  ],
  ['with another body', ({ headers, body }) => ({ headers, body: body.replace('approve', 'deny') })],
  ['with a space more', ({ headers, body }) => ({ headers, body: `${body} ` })],
  ['with no body', ({ headers }) => ({ headers, body: '' })],
  [
    'with another time',
    ({ headers, body }) => ({ headers: { ...headers, 'x-signature-timestamp': String(now() + 1) }, body }),
  ],
  ['from ten minutes ago', ({ body }, sign) => sign(body, now() - 10 * minute)],
  ['from an hour ahead', ({ body }, sign) => sign(body, now() + 60 * minute)],
  ['with a time that is none', ({ body }, sign) => sign(body, NaN)],
  ['with a time in milliseconds', ({ body }, sign) => sign(body, Date.now())],
  ['with a time before all time', ({ body }, sign) => sign(body, -now())],
]
for (const [name, spoil] of spoiled) {
  t.test(`a request ${name} is 401, and nothing is done`, async (t) => {
    const { server, send, presses } = await called(t)
    const good = server.sign(JSON.stringify(pressed(server, '1')))
    t.same(await send(spoil(good, server.sign)), { status: 401, body: null })
    t.same(presses, [])
    t.equal((await send(good)).status, 200, 'and it was no more than that')
    t.equal(presses.length, 1)
  })
}

t.test('however its JSON is written, a request counts as it was signed', async (t) => {
  const { server, send, presses } = await called(t)
  const texts = [
    JSON.stringify(pressed(server, '1'), null, 4),
    `  \r\n${JSON.stringify(pressed(server, '2'))}\n`,
    JSON.stringify(Object.fromEntries(Object.entries(pressed(server, '3')).reverse())),
    JSON.stringify(pressed(server, '4')).replace('custom_id', '\\u0063ustom_id'),
    JSON.stringify({ ...pressed(server, '5'), locale: 'fr', more: { 漢: '👍'.repeat(100) } }),
  ]
  for (const text of texts) t.same(await send(server.sign(text)), { status: 200, body: { type: 6 } })
  t.same(new Set(presses.map(({ data }) => data)), new Set([pressOf('approve')]))
  t.equal(presses.length, texts.length)
})

t.test('a request that is sent again is handled once', async (t) => {
  const { server, send, presses } = await called(t)
  const good = server.sign(JSON.stringify(pressed(server, '1')))
  for (let times = 0; times < 3; times++) t.equal((await send(good)).status, 200)
  t.equal((await send(server.sign(good.body, now() - 1))).status, 200, 'signed anew, too')
  t.equal(presses.length, 1)
})

t.test('what is signed and makes no sense is 400, and does nothing', async (t) => {
  const { server, send, presses, words } = await called(t)
  const { id, token, ...rest } = pressed(server, '1')
  for (const body of [
    '',
    'no',
    'null',
    '7',
    '"x"',
    '[]',
    '{}',
    '[1]',
    JSON.stringify(rest),
    JSON.stringify({ id, ...rest }),
  ]) {
    t.same(await send(server.sign(body)), { status: 400, body: null }, body)
  }
  for (const type of [0, 4, 6, '3', null]) {
    t.equal((await send(server.sign(JSON.stringify({ id, token, ...rest, type })))).status, 400)
  }
  t.equal((await send(server.sign(JSON.stringify({ ...rest, token, id: '../1' })))).status, 400)
  t.same([...presses, ...words], [])
  t.equal((await send(server.sign(`${'['.repeat(50_000)}`))).status, 400)
})

t.test('a decision that takes long is answered in time, and what must be noticed follows', async (t) => {
  const clock = manualClock(Date.now())
  let decide = (_: PressAnswer): void => {}
  const { server } = await called(t, { clock, answer: () => new Promise((resolve) => (decide = resolve)) })
  let first: object | null = null
  void server.press(server.messages[0]!, 'Approve', maria).then((one) => (first = one))
  await until(async () => {
    await clock.advance(500)
    return first
  })
  t.same(first, { type: 6 })
  decide(alert('Somebody else was faster.'))
  await until(() => server.whispers.length === 1)
  t.same(server.whispers, [{ user: maria.id, text: 'Somebody else was faster.' }])
})

t.test('until Discord knows the URL there are links instead of buttons, and a sentence', async (t) => {
  const clock = manualClock(Date.now())
  const { server, chat, url, warned } = await called(t, { clock, isSet: false })
  await until(() => !chat.hasButtons())
  t.match(warned, [{ fields: { error: /no Interactions Endpoint URL/ }, message: /\/chat\/discord.*links/ }])
  await server.setEndpoint(url)
  await clock.advance(60_000)
  await until(() => chat.hasButtons())
})

t.test('when it stops, what was taken in is finished', async (t) => {
  let decide = (_: PressAnswer): void => {}
  const { server, presses, stop } = await called(t, { answer: () => new Promise((resolve) => (decide = resolve)) })
  const pressing = server.press(server.messages[0]!, 'Approve', maria)
  await until(() => presses.length === 1)
  const stopping = stop(5000)
  decide(alert('Done.'))
  await stopping
  t.match(await pressing, { type: 4, data: { content: 'Done.' } })
})

t.test('a public key by which everybody could sign is none', async (t) => {
  const weak = [
    '0'.repeat(64),
    `01${'0'.repeat(62)}`,
    `${'0'.repeat(62)}80`,
    `ec${'f'.repeat(60)}7f`,
    `ed${'f'.repeat(62)}`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'C7176A703D4DD84FBA3C0B760D10670F2A2053FA2C39CCC64EC7FD7792AC037A',
  ]
  for (const key of weak) t.match(problemWithPublicKey(key), /everybody/, key)
  for (const key of ['', 'x', 'f'.repeat(63), 'f'.repeat(65), 'g'.repeat(64)]) {
    t.equal(problemWithPublicKey(key), 'must be 64 hexadecimal digits')
  }
  for (let times = 0; times < 10; times++) {
    const { publicKey } = generateKeyPairSync('ed25519')
    t.equal(problemWithPublicKey(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex')), null)
  }
})
