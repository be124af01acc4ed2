// Each host with its plugin, and a service that is not what it should be: no tool call runs.
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { play, type Play, sendJson } from '../client/played-server.js'
import { needs } from '../needs.js'
import { certificate, key as certificateKey } from '../notify/certificate.js'
import { temporaryFolder } from '../support.js'
import { type StartHost, startHermes, startOpenClaw } from './hosts.js'

const hosts: Record<string, StartHost> = { Hermes: startHermes, OpenClaw: startOpenClaw }

const answerOf = (fields: object, event = 'PreToolUse') => ({ hookSpecificOutput: { hookEventName: event, ...fields } })
const allow = answerOf({ permissionDecision: 'allow', permissionDecisionReason: 'approved' })
const sending =
  (body: unknown, status = 200, headers = {}): Play =>
  (_, response) =>
    sendJson(response, body, status, headers)
const saying =
  (text: string, type = 'text/html', status = 200): Play =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type }).end(text)

/** For the first hook; how a call went is always taken. */
const nonsense: Record<string, Play> = {
  'a 500': sending({ error: 'It broke.', code: 'internal' }, 500),
  'an approval with a 500': sending(allow, 500),
  'a 503': sending({ error: 'It stops.', code: 'shutting_down' }, 503),
  'a 404': sending({ error: 'There is nothing.', code: 'not_found' }, 404),
  'a 401': sending({ error: 'The key is none.', code: 'unauthorized' }, 401),
  'a page': saying('<html>allow</html>'),
  'half an approval': saying(JSON.stringify(allow).slice(0, -3), 'application/json'),
  'an empty 200': saying('', 'application/json'),
  'an empty 200 of no kind': (_, response) => response.writeHead(200).end(),
  'a 204': (_, response) => response.writeHead(204).end(),
  'an empty object': sending({}),
  'an array': sending([allow]),
  'a text': sending('allow'),
  null: sending(null),
  'no decision': sending(answerOf({})),
  'no reason for a denial': sending(answerOf({ permissionDecision: 'deny' })),
  'a question': sending(answerOf({ permissionDecision: 'ask', permissionDecisionReason: 'Ask.' })),
  true: sending(answerOf({ permissionDecision: true })),
  'a decision in another case': sending(answerOf({ permissionDecision: 'Allow' })),
  'an approval of something else': sending(answerOf({ permissionDecision: 'allow' }, 'PostToolUse')),
  'an approval of another input': sending(answerOf({ permissionDecision: 'allow', updatedInput: { command: 'rm' } })),
  'an approval in the wrong place': sending({ permissionDecision: 'allow' }),
  'an approval by another host': sending({ decision: 'approve' }),
  'the end of the connection': (request) => request.socket.destroy(),
  'the end of the connection in its answer': (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 })
    response.write(JSON.stringify(allow), () => request.socket.destroy())
  },
}

for (const [name, start] of Object.entries(hosts)) {
  const ready = (t: Test) => name !== 'Hermes' || needs(t, 'python3')

  t.test(`${name}: what is allowed runs with what was shown, once, and how it went is told`, async (t) => {
    if (!ready(t)) return
    const served = await play(t, sending(allow))
    const host = await start(t, { url: served.url, seconds: 60 })
    const input = { command: 'ls', deep: { list: [1, 'ä', null] } }
    t.same(await host.call({ input }), { ran: input, said: '' })
    t.same((await host.call({ input: {}, fails: 'no such file \ud83d' })).ran, {})
    const bodies = served.requests.map(({ body }) => JSON.parse(body))
    t.same(
      bodies.map(({ hook_event_name: event }) => event),
      ['PreToolUse', 'PostToolUse', 'PreToolUse', 'PostToolUseFailure'],
    )
    t.same(served.requests.map(({ method, path }) => `${method} ${path}`).slice(0, 2), [
      'POST /hooks/claude-code?timeout=58',
      'POST /hooks/claude-code',
    ])
    t.same(bodies[0].tool_input, input)
    t.match(bodies[0], { session_id: String, tool_name: String })
    t.equal(bodies[0].tool_use_id, bodies[1].tool_use_id)
    t.not(bodies[0].tool_use_id, bodies[2].tool_use_id)
    t.match(bodies[3].error, /^no such file .$/)
    t.equal(host.logged(), '')
  })

  t.test(`${name}: a denial is told to the model in the words of the service`, async (t) => {
    if (!ready(t)) return
    const reason = 'A person denied this: not today. That is final.'
    const served = await play(t, sending(answerOf({ permissionDecision: 'deny', permissionDecisionReason: reason })))
    const host = await start(t, { url: served.url })
    t.same(await host.call(), { ran: null, said: reason })
    t.equal(served.requests.length, 1, 'nothing is reported of what did not run')
  })

  t.test(`${name}: what is no approval in every respect runs nothing`, async (t) => {
    if (!ready(t)) return
    let answer: Play = sending({})
    const served = await play(t, (request, response, body) =>
      JSON.parse(body).hook_event_name === 'PreToolUse' ? answer(request, response, body) : sendJson(response, {}),
    )
    const host = await start(t, { url: served.url })
    for (const [what, play] of Object.entries(nonsense)) {
      answer = play
      const { ran, said } = await host.call({ input: { command: what } })
      t.equal(ran, null, what)
      t.match(said, /not done/, what)
    }
    answer = sending(allow)
    t.ok((await host.call()).ran, 'and then the next approval counts')
  })

  t.test(`${name}: no redirect is followed, and the key goes nowhere else`, async (t) => {
    if (!ready(t)) return
    const other = await play(t, sending(allow))
    let status = 0
    const served = await play(t, (request, response) =>
      response.writeHead(status, { location: `${other.url}${request.url}` }).end(),
    )
    const host = await start(t, { url: served.url, env: { HOLDPOINT_KEY: 'hpk_secret' } })
    for (status of [301, 302, 303, 307, 308]) t.equal((await host.call()).ran, null, `${status}`)
    t.match(served.requests[0]!.headers.authorization, 'Bearer hpk_secret')
    t.equal(other.requests.length, 0)
  })

  t.test(`${name}: with nobody there, nothing runs`, async (t) => {
    if (!ready(t)) return
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const host = await start(t, { url: `http://127.0.0.1:${port}` })
    t.match(await host.call(), { ran: null, said: /not done/ })
    t.match(host.logged(), `http://127.0.0.1:${port}`, 'the log says where it was asked')
    t.equal((await host.call({ tool: 'x\nforged' })).ran, null)
    t.notMatch(host.logged(), /^forged/m, 'a name begins no line of it')
  })

  t.test(
    `${name}: who does not answer is left before the host gives up, and is told that nothing was done`,
    async (t) => {
      if (!ready(t)) return
      const told = new Promise<any>((resolve) => {
        void play(t, (_, _response, body) => {
          const said = JSON.parse(body)
          if (said.hook_event_name !== 'PreToolUse') resolve(said)
        }).then(async ({ url }) => {
          const host = await start(t, { url, seconds: 3.2 })
          const { ran, said } = await host.call()
          t.equal(ran, null)
          t.match(said, /not done/)
          t.notMatch(said, /timed out/, 'that is what the host says of a hook that it gave up')
        })
      })
      t.match(await told, { hook_event_name: 'PostToolUseFailure', error: /Nothing was done/ })
      const hasty = await start(t, { url: 'http://127.0.0.1:1', seconds: 2 })
      t.match(await hasty.call(), { ran: null, said: /600/ }, 'without time to ask, what to change is said')
    },
  )

  t.test(`${name}: without settings, or with wrong ones, nothing runs and the model is told why`, async (t) => {
    if (!ready(t)) return
    const served = await play(t, sending(allow))
    const { url } = served
    const folder = temporaryFolder(t)
    const file = (name: string, text: string, mode = 0o600) => {
      writeFileSync(join(folder, name), text)
      chmodSync(join(folder, name), mode)
      return join(folder, name)
    }
    const cases: Record<string, [Parameters<StartHost>[1], RegExp]> = {
      none: [{}, /does not know where Holdpoint is/],
      'an address that is none': [{ url: 'holdpoint' }, /cannot be asked/],
      'an address with a password': [{ url: url.replace('//', '//ann:secret@') }, /cannot be asked/],
      'no such file': [{ url, keyFile: join(folder, 'none') }, /cannot be read/],
      'an empty file': [{ url, keyFile: file('empty', '\n') }, /is empty/],
      'a key that is none': [{ url, keyFile: file('two', 'one\ntwo\n') }, /cannot be asked/],
      'a number': [{ more: { url: 6001 } }, /is no text/],
    }
    for (const [what, [settings, said]] of Object.entries(cases)) {
      const host = await start(t, settings)
      const became = await host.call()
      t.equal(became.ran, null, what)
      t.match(became.said, said, what)
      t.match(became.said, /not done/, what)
    }
    t.equal(served.requests.length, 0, 'nobody was asked')
    const host = await start(t, { url, keyFile: file('good', 'hpk_good\n') })
    t.ok((await host.call()).ran)
    t.equal(served.requests[0]!.headers.authorization, 'Bearer hpk_good')
  })

  t.test(`${name}: half a plugin runs nothing, nor does one that breaks`, async (t) => {
    if (!ready(t)) return
    const url = 'http://127.0.0.1:1'
    const without = await start(t, { url, spoil: (folder) => rmSync(join(folder, 'client'), { recursive: true }) })
    t.match(await without.call(), { ran: null, said: /not whole.*not done/ })
    const broken = [
      ['raise SystemExit', 'throw 1'],
      [
        'def Holdpoint(*_): raise SystemExit',
        'export class Holdpoint { constructor() { process.exitCode.none.none } }',
      ],
    ]
    for (const [python, javascript] of broken) {
      const spoil = (folder: string) => {
        const [file, text] = name === 'Hermes' ? ['client/__init__.py', python] : ['client/index.js', javascript]
        writeFileSync(join(folder, file), text!)
      }
      const host = await start(t, { url, spoil })
      t.equal((await host.call()).ran, null, `${python} ${javascript}`)
    }
  })

  t.test(`${name}: a certificate that nobody trusts is not spoken to`, async (t) => {
    if (!ready(t)) return
    let asked = 0
    const server = createTlsServer({ key: certificateKey, cert: certificate }, (_, response) => {
      asked += 1
      sendJson(response, allow)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', PYTHONHTTPSVERIFY: '0' }
    const host = await start(t, { url, env })
    t.match(await host.call(), { ran: null, said: /not done/ })
    t.equal(asked, 0)
  })

  t.test(`${name}: what JSON cannot carry, or no tool's name, asks nobody for anything else`, async (t) => {
    if (!ready(t)) return
    const served = await play(t, sending(allow))
    const host = await start(t, { url: served.url })
    const { ran } = await host.call({ input: { big: 2 ** 60 } })
    if (ran !== null) t.same(JSON.parse(served.requests[0]!.body).tool_input, ran, 'what ran is what was shown')
    t.equal((await host.call({ tool: '' })).ran, null)
  })

  t.test(`${name}: what another plugin makes of the input does not count`, async (t) => {
    if (!ready(t)) return
    const served = await play(t, sending(allow))
    const host = await start(t, { url: served.url, rewrites: { command: 'rm -rf ~' } })
    t.same((await host.call({ input: { command: 'ls' } })).ran, { command: 'ls' })
    t.same(JSON.parse(served.requests[0]!.body).tool_input, { command: 'ls' })
  })

  t.test(`${name}: calls at the same time are each told about themselves`, async (t) => {
    if (!ready(t)) return
    const served = await play(t, (_, response, body) => {
      const { tool_input: input, hook_event_name: event } = JSON.parse(body)
      const decision =
        input.n % 2 === 0 ? allow : answerOf({ permissionDecision: 'deny', permissionDecisionReason: 'No.' })
      setTimeout(() => sendJson(response, event === 'PreToolUse' ? decision : {}), 50 - input.n * 10)
    })
    const host = await start(t, { url: served.url })
    const numbers = [0, 1, 2, 3, 4]
    // Some models call each of them the same.
    const became = await Promise.all(numbers.map((n) => host.call({ input: { n }, callId: 'call_0' })))
    t.same(
      became.map(({ ran }) => ran),
      [{ n: 0 }, null, { n: 2 }, null, { n: 4 }],
    )
    const said = served.requests.map(({ body }) => JSON.parse(body))
    const of = (wanted: string) => said.filter(({ hook_event_name: event }) => event === wanted)
    t.same(
      of('PostToolUse')
        .map(({ tool_input: { n } }) => n)
        .sort(),
      [0, 2, 4],
    )
    for (const { tool_use_id: id, tool_input: input } of of('PostToolUse')) {
      t.same(of('PreToolUse').find((one) => one.tool_use_id === id).tool_input, input)
    }
    t.notMatch(host.logged(), /could not be reported/)
  })
}

t.test('Hermes: the wait ends before Hermes gives the call up', async (t) => {
  if (!needs(t, 'python3')) return
  const served = await play(t, sending(allow))
  for (const [seconds, callSeconds] of [[600], [600, 100], [600, 1800], [0, 0], [-1, -1]]) {
    const host = await startHermes(t, { url: served.url, seconds, callSeconds })
    t.ok((await host.call()).ran)
  }
  t.same(
    served.requests.flatMap(({ path }) => /timeout=(\d+)/.exec(path)?.[1] ?? []),
    ['418', '98', '598', '598', '28'],
  )
})

t.test('OpenClaw: a run that is aborted runs nothing, whatever is answered then', async (t) => {
  const controller = new AbortController()
  const told: string[] = []
  const served = await play(t, (_, response, body) => {
    const { hook_event_name: event } = JSON.parse(body)
    told.push(event)
    if (event !== 'PreToolUse') return sendJson(response, {})
    controller.abort()
    sendJson(response, allow)
  })
  const host = await startOpenClaw(t, { url: served.url })
  t.match(await host.call({ signal: controller.signal }), { ran: null, said: /abort/ })
  t.match(await host.call({ signal: AbortSignal.abort() }), { ran: null, said: /abort/ })
})

t.test('OpenClaw: what JSON leaves out of the input is left out of the call', async (t) => {
  const served = await play(t, sending(allow))
  const host = await startOpenClaw(t, { url: served.url })
  const at = new Date(0)
  t.same((await host.call({ input: { at, none: NaN } })).ran, { at: at.toISOString(), none: null })
  t.same(JSON.parse(served.requests[0]!.body).tool_input, { at: at.toISOString(), none: null })
})

t.test('OpenClaw: a call that is blocked says nothing of another that runs by the same id', async (t) => {
  const deny = answerOf({ permissionDecision: 'deny', permissionDecisionReason: 'No.' })
  const served = await play(t, (_, response, body) => {
    const { tool_input: input } = JSON.parse(body)
    sendJson(response, input.n === 1 ? allow : deny)
  })
  const host = await startOpenClaw(t, { url: served.url })
  let end = () => {}
  const takes = new Promise<void>((resolve) => (end = resolve))
  const running = host.call({ input: { n: 1 }, callId: 'call_0', fails: 'no such file', takes })
  t.equal((await host.call({ input: { n: 2 }, callId: 'call_0' })).ran, null)
  end()
  t.same((await running).ran, { n: 1 })
  const told = served.requests.map(({ body }) => JSON.parse(body))
  t.match(
    told.filter(({ hook_event_name: event }) => event !== 'PreToolUse'),
    [{ hook_event_name: 'PostToolUseFailure', tool_input: { n: 1 }, error: 'no such file' }],
  )
})
