// The command form of the hooks against a service that is played: whatever it answers or does not, hosts make the call where it
// said yes and nowhere else; but for those that make it when their hook died.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Play, play, sendJson } from '../client/played-server.js'
import {
  type Call,
  claudeCode,
  codex,
  generic,
  hermes,
  type Host,
  isRightForCodex,
  type Ran,
  runHook,
  startHook,
} from '../hooks/hosts.js'
import { temporaryFolder, until } from '../support.js'

const call: Call = { tool: 'Bash', input: { command: 'git push --force', description: 'Publish' } }
// They wait most of the time.
t.jobs = 4

const commands = [claudeCode('block'), codex, hermes(true), generic]

const answer = (response: ServerResponse, permissionDecision: string, permissionDecisionReason: string) =>
  sendJson(response, {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason },
  })

/** For each host what its hook did, all at once. */
async function runAll(t: Test, url: string, timeoutSeconds = 60): Promise<{ host: Host; ran: Ran }[]> {
  const flags = ['--url', url]
  return Promise.all(
    commands.map(async (host) => ({ host, ran: await runHook(t, host, host.before(call), { flags, timeoutSeconds }) })),
  )
}

t.test('approved: every host makes the call, once the service said so', { buffered: true }, async (t) => {
  const { url, requests } = await play(t, (_request, response) => answer(response, 'allow', 'Approved by alice.'))
  for (const { host, ran } of await runAll(t, url)) {
    t.equal(host.rule(ran).isMade, true, `${host.name}: ${JSON.stringify(ran)}`)
    t.equal(ran.code, 0)
    if (host.name === 'codex') t.ok(isRightForCodex(ran))
  }
  t.equal(requests.length, commands.length)
  for (const { method, path, body } of requests) {
    t.equal(method, 'POST')
    // Before the host's own time is up, so that the answer comes in time.
    const [, timeout] = /^\/hooks\/claude-code\?timeout=(\d+)$/.exec(path)!
    t.ok(Number(timeout) > 30 && Number(timeout) < 56, path)
    t.match(JSON.parse(body), {
      hook_event_name: 'PreToolUse',
      session_id: 'session-1',
      tool_name: 'Bash',
      tool_input: call.input,
    })
    t.notMatch(body, 'transcript')
  }
})

const nonsense: [what: string, play: Play][] = [
  ['500', (_request, response) => sendJson(response, { error: 'oops', code: 'internal_error' }, 500)],
  ['500 of something in between', (_request, response) => void response.writeHead(500).end('<h1>oops</h1>')],
  ['a redirect to a yes', (_request, response) => void response.writeHead(307, { location: '/yes' }).end()],
  ['garbage', (_request, response) => void response.writeHead(200).end('allow')],
  ['an empty 200', (_request, response) => void response.writeHead(200).end()],
]
for (const [what, playing] of nonsense) {
  t.test(`${what}: no host makes the call`, { buffered: true }, async (t) => {
    const { url } = await play(t, (request, response, body) =>
      request.url!.startsWith('/yes') ? answer(response, 'allow', 'Approved.') : playing(request, response, body),
    )
    for (const { host, ran } of await runAll(t, url)) refused(t, host, ran, /not approved|no decision/)
  })
}

/** Also by the hosts whose fail-closed switch is not on: it is a clear no. */
function refused(t: Test, host: Host, ran: Ran, told: RegExp): void {
  for (const one of [
    host,
    ...(host.name === 'claude-code' ? [claudeCode()] : host.name === 'hermes' ? [hermes(false)] : []),
  ]) {
    const ruling = one.rule(ran)
    t.equal(ruling.isMade, false, `${host.name}: ${JSON.stringify(ran)}`)
    t.match(ruling.told, told, host.name)
  }
}

for (const [what, reason] of [
  ['denied', 'alice denied this, because: not before the audit.'],
  ['expired', 'Nobody answered in time: the request expired.'],
] as const) {
  t.test(`${what}: no host makes the call, and the agent is told why`, { buffered: true }, async (t) => {
    const { url } = await play(t, (_request, response) => answer(response, 'deny', reason))
    for (const { host, ran } of await runAll(t, url)) {
      refused(t, host, ran, new RegExp(reason))
      if (host.name === 'codex') t.ok(isRightForCodex(ran))
    }
  })
}

t.test('the service is down: no host makes the call', { buffered: true }, async (t) => {
  for (const { host, ran } of await runAll(t, await closedPort())) refused(t, host, ran, /cannot be reached/)
})

/** A busy machine may take all of the time to start the process. */
const late = /has not answered within|time of this hook was up|did not end in time/

t.test('the service is slow: the host is told no before its own time is up', { buffered: true }, async (t) => {
  const { url } = await play(t, () => {})
  for (const { host, ran } of await runAll(t, url, 4)) {
    t.equal(ran.isLate, false, host.name)
    refused(t, host, ran, late)
  }
})

t.test('it hangs in the middle of a yes: no host makes the call', { buffered: true }, async (t) => {
  const { url } = await play(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"')
  })
  for (const { host, ran } of await runAll(t, url, 4)) refused(t, host, ran, late)
})

t.test('the service is away for a moment: the hook asks again, and the yes counts', { buffered: true }, async (t) => {
  let asked = 0
  const { url } = await play(t, (request, response) => {
    asked += 1
    if (asked <= commands.length) request.socket.destroy()
    else answer(response, 'allow', 'Approved.')
  })
  for (const { host, ran } of await runAll(t, url)) t.equal(host.rule(ran).isMade, true, host.name)
})

t.test(
  'approved late: the first call is not made, and the same one again is made once',
  { buffered: true },
  async (t) => {
    const callThrice = async (host: Host) => {
      const reasons = [
        'Still pending, ID 42: make exactly this call again.',
        'Approved.',
        'It was used for another call.',
      ]
      let asked = 0
      const { url, requests } = await play(t, (_request, response) => {
        asked += 1
        answer(response, asked === 2 ? 'allow' : 'deny', reasons[asked - 1]!)
      })
      const rulings = []
      for (let time = 0; time < 3; time++) {
        rulings.push(host.rule(await runHook(t, host, host.before(call), { flags: ['--url', url] })))
      }
      t.match(
        rulings,
        [{ isMade: false, told: /Still pending, ID 42/ }, { isMade: true }, { isMade: false }],
        host.name,
      )
      const bodies = requests.map(({ body }) => body)
      t.equal(new Set(bodies).size, 1, 'the retry is the same for the service')
    }
    await Promise.all(commands.map(callThrice))
  },
)

t.test(
  'killed in the middle: where the host is told to fail closed the call is not made; Codex is not closed',
  async (t) => {
    const { url, requests } = await play(t, () => {})
    const started = commands.map((host) => ({
      host,
      hook: startHook(t, host, host.before(call), { flags: ['--url', url] }),
    }))
    await until(() => requests.length === commands.length)
    for (const { hook } of started) hook.child.kill('SIGKILL')
    const rulings = await Promise.all(
      started.map(async ({ host, hook }) => [host.name, host.rule(await hook.ran).isMade]),
    )
    t.same(Object.fromEntries(rulings), {
      'claude-code': false,
      codex: true,
      hermes: false,
      generic: false,
    })
    const [ran] = await Promise.all(started.map(({ hook }) => hook.ran))
    t.equal(claudeCode().rule(ran!).isMade, true, 'without onFailure Claude Code is not closed')
  },
)

t.test(
  'killed in the middle, behind a shell that says no for it: no host makes the call, Codex neither',
  { buffered: true },
  async (t) => {
    const { url, requests } = await play(t, () => {})
    const hosts = [claudeCode(), codex, hermes(false), generic]
    const folder = temporaryFolder(t)
    const file = (host: Host) => join(folder, host.name)
    const started = hosts.map((host) =>
      startHook(t, host, host.before(call), {
        flags: ['--url', url],
        shell: `sh -c 'echo $$ > ${file(host)}; exec HOOK' || { echo 'Not approved.' >&2; exit 2; }`,
      }),
    )
    await until(() => requests.length === hosts.length)
    for (const host of hosts) process.kill(Number(readFileSync(file(host), 'utf8')), 'SIGKILL')
    const rulings = await Promise.all(started.map(async ({ ran }, index) => hosts[index]!.rule(await ran)))
    for (const [index, ruling] of rulings.entries()) {
      t.match(ruling, { isMade: false, told: /Not approved/ }, hosts[index]!.name)
    }
  },
)

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(`ended by ${signal}: no host makes the call`, { buffered: true }, async (t) => {
    const { url, requests } = await play(t, () => {})
    const started = commands.map((host) => ({
      host,
      hook: startHook(t, host, host.before(call), { flags: ['--url', url] }),
    }))
    await until(() => requests.length === commands.length)
    for (const { hook } of started) hook.child.kill(signal)
    for (const { host, hook } of started) refused(t, host, await hook.ran, new RegExp(`ended by ${signal}|Blocked`))
  })
}

t.test(
  'outcomes are told in one form, and decide nothing, also where nobody takes them',
  { buffered: true },
  async (t) => {
    const { url, requests } = await play(t, (_request, response) => sendJson(response, {}))
    const down = await closedPort()
    await Promise.all(
      commands.flatMap((host) =>
        [false, true].map(async (hasFailed) => {
          const said = host.after(call, hasFailed)
          const flags = host.afterFlags?.(hasFailed) ?? []
          const [ran, lost] = await Promise.all(
            [url, down].map((to) => runHook(t, host, said, { flags: ['--url', to, ...flags] })),
          )
          for (const one of [ran!, lost!])
            t.match(one, { code: 0, stdout: host.name === 'hermes' ? '{}\n' : '' }, host.name)
          t.equal(ran!.stderr, '')
          t.match(lost!.stderr, /The outcome was not recorded: .* cannot be reached/)
        }),
      ),
    )
    const told = requests.map(({ body }) => JSON.parse(body) as { hook_event_name: string; error?: string })
    t.same(told.map(({ hook_event_name: event }) => event).sort(), [
      ...commands.map(() => 'PostToolUse'),
      ...commands.map(() => 'PostToolUseFailure'),
    ])
    t.same(
      told.flatMap(({ error }) => error ?? []),
      ['Exit code 1', 'Exit code 1', 'Exit code 1'],
      'Codex does not say what went wrong',
    )
    for (const { body } of requests) t.match(JSON.parse(body), { tool_use_id: /call|toolu/, session_id: 'session-1' })
  },
)

/** Where nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
