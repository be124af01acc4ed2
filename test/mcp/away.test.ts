// What a host is told when the service is away, refuses the key or talks nonsense: never anything that reads as a yes.
import t from 'tap'
import { type Play, play, sendJson } from '../client/played-server.js'
import { giveKeys } from '../support.js'
import { connect, eras, patient, serve } from './hosts.js'

const act = { action: 'refund', details: { order: 4711 } }
const away = { ...patient, awayMs: 60 }
/** On this port nobody listens. */
const nobody = 'http://127.0.0.1:1'

const doNotAct = /not done|do not act/
const calls: [name: string, given: object, next: RegExp][] = [
  ['request_approval', { ...act, description: 'Refund an order' }, doNotAct],
  ['wait_for_decision', { id: 'x' }, doNotAct],
  ['claim_approval', { id: 'x', ...act }, doNotAct],
  ['report_outcome', { id: 'x', outcome: 'succeeded' }, /Do not act again.*call report_outcome once more/],
  ['cancel_request', { id: 'x' }, /Call wait_for_decision/],
]
const prompt = { tool_name: 'Bash', input: { command: 'rm -rf ~' }, tool_use_id: 'toolu_1' }

for (const era of eras) {
  const kind = { over: 'stdio', era } as const

  t.test(`where the service is away, each tool says so, and may not act (${era})`, async (t) => {
    const { call } = await connect(t, { kind, url: nobody, pace: away })
    for (const [name, given, next] of calls) {
      t.match(await call(name, given), { said: { status: 'unreachable', may_act: false, next }, isError: true }, name)
    }
    t.match((await call('permission_prompt', prompt)).said, {
      behavior: 'deny',
      message: /ECONNREFUSED.*not done.*this call again later/,
    })
  })

  t.test(`a key that is not good is told, and may not act (${era})`, async (t) => {
    const serving = await serve(t)
    await giveKeys(serving, { bot: 'agent' })
    for (const key of [null, 'hpk_wrong']) {
      const { call } = await connect(t, { kind, url: serving.url, key })
      for (const [name, given] of calls) {
        t.match(await call(name, given), {
          said: { status: 'refused', code: 'unauthorized', may_act: false },
          isError: true,
        })
      }
      t.match((await call('permission_prompt', prompt)).said, { behavior: 'deny' })
      await t.rejects(
        connect(t, { kind: { over: 'http', era }, url: serving.url, key }),
        /401|Unauthorized|unauthorized/,
      )
    }
  })
}

t.test('whatever a service answers that is none of ours, nothing of it is a yes', async (t) => {
  const id = '01a1f5ba-e67b-7160-b251-d80f4b325251'
  const yes = {
    id,
    status: 'approved',
    execution: 'claimed',
    expires_at: 4e9,
    requester: 'agent',
    digest: 'f'.repeat(64),
  }
  const hook = (said: unknown) => ({ hookSpecificOutput: said, permissionDecision: 'allow', behavior: 'allow' })
  const answers: [string, unknown][] = [
    ['a yes to everything', yes],
    ['nothing', {}],
    ['a list', [yes]],
    ['null', null],
    ['a text', 'approved'],
    ['an answer of ours', { may_act: true, status: 'claimed' }],
    ...['ask', 'defer', 'ALLOW', true, ['allow'], null].map((one): [string, unknown] => [
      `a decision ${String(one)}`,
      hook({ permissionDecision: one }),
    ]),
    ['no decision', hook(null)],
  ]
  for (const [name, answer] of answers) {
    const { url } = await play(t, (_request, response) => sendJson(response, answer))
    const { call } = await connect(t, { kind: { over: 'stdio', era: '2025' }, url, pace: away })
    for (const [tool, given] of calls) {
      const { said } = await call(tool, { ...given, ...('id' in given ? { id } : {}) })
      t.not(said.may_act, true, `${tool}, ${name}`)
    }
    t.match((await call('permission_prompt', prompt)).said, { behavior: 'deny' }, name)
  }
  const plays: Record<string, Play> = {
    'an empty 200': (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
    garbage: (_, response) => response.end('<h1>approved</h1>'),
    silence: () => {},
    'the end in the middle': (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 5000 })
      response.write(JSON.stringify({ ...yes, ...hook({ permissionDecision: 'allow' }) }), () =>
        request.socket.destroy(),
      )
    },
  }
  for (const status of [204, 301, 307, 404, 500, 503]) {
    plays[status] = (_, response) => void response.writeHead(status, { location: '/x' }).end()
  }
  await Promise.all(
    Object.entries(plays).map(async ([name, playing]) => {
      const { url } = await play(t, playing)
      const pace = { ...away, promptMs: 500 }
      const { call } = await connect(t, { kind: { over: 'stdio', era: '2025' }, url, pace })
      // The others say after half a minute that nobody answers.
      for (const [tool, given] of name === 'silence' ? [] : calls) {
        const { said } = await call(tool, { ...given, ...('id' in given ? { id } : {}) })
        t.not(said.may_act, true, `${tool}, ${name}`)
      }
      t.match((await call('permission_prompt', prompt)).said, { behavior: 'deny' }, name)
    }),
  )
})
