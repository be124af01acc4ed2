// What hosts say and are told, in their own forms: purely, without a process.
import fc from 'fast-check'
import t from 'tap'
import { claudeCode } from '../../src/hooks/claude-code-command.js'
import { codex } from '../../src/hooks/codex.js'
import { type Heard, type Host, readVerdict } from '../../src/hooks/command-answer.js'
import { generic } from '../../src/hooks/generic.js'
import { hermes } from '../../src/hooks/hermes.js'
import * as played from './hosts.js'

const input = { command: 'ls' }
const pre = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: input, session_id: 's' }
const preHermes = { ...pre, hook_event_name: 'pre_tool_call' }
const post = { ...pre, hook_event_name: 'PostToolUse', tool_use_id: 'u' }
const postHermes = (extra: unknown) => ({ ...preHermes, hook_event_name: 'post_tool_call', extra })

t.test('a call is heard with what the service takes, and with nothing else', async (t) => {
  const more = { cwd: '/w', permission_mode: 'default', tool_use_id: 'u', agent_id: 'a' }
  const said = { ...pre, ...more, transcript_path: '/secret', updatedInput: {}, error: 'x' }
  const body = { ...pre, ...more }
  t.strictSame(claudeCode.hear(said), { kind: 'call', body })
  t.strictSame(codex.hear({ ...said, turn_id: 't', model: 'm' }), { kind: 'call', body })
  t.strictSame(
    hermes.hear({ ...preHermes, cwd: '/w', profile: 'p', extra: { tool_call_id: 'u', api_request_id: 'r' } }),
    {
      kind: 'call',
      body: { ...pre, cwd: '/w', tool_use_id: 'u' },
    },
  )
  t.strictSame(generic.hear({ action: 'Bash', details: input, session: 's', call_id: 'u', cwd: '/w' }), {
    kind: 'call',
    body: { ...pre, cwd: '/w', tool_use_id: 'u' },
  })
  t.strictSame(generic.hear({ tool_name: 'Bash', tool_input: input, session_id: 's' }), { kind: 'call', body: pre })
  t.match(generic.hear({ action: 'ping' }), { kind: 'call', body: { tool_input: {}, session_id: '' } })
})

t.test('the input of a tool is handed on as it is, names that objects have included', async (t) => {
  const odd = JSON.parse('{"__proto__":{"a":1},"constructor":"x","n":-0,"deep":[[null]]}') as object
  const heard = claudeCode.hear({ ...pre, tool_input: odd })
  if (heard.kind !== 'call') throw new Error(heard.kind)
  t.equal(heard.body.tool_input, odd)
})

t.test('Codex has tools without arguments, and tools that are given a text', async (t) => {
  for (const [given, sent] of [
    [null, {}],
    [undefined, {}],
    ['*** Begin Patch', { input: '*** Begin Patch' }],
    [['a'], { input: ['a'] }],
  ] as const) {
    t.strictSame(codex.hear({ ...pre, tool_input: given }), { kind: 'call', body: { ...pre, tool_input: sent } })
  }
})

t.test('what is no call of a tool is not taken for one', async (t) => {
  const unclear = (host: Host, said: object, why: RegExp) => t.match(host.hear({ ...said }), { kind: 'unclear', why })
  for (const host of [claudeCode, codex]) {
    for (const event of [
      undefined,
      null,
      '',
      'pretooluse',
      'PreToolUse ',
      'PermissionRequest',
      'SessionStart',
      'constructor',
    ]) {
      unclear(host, { ...pre, hook_event_name: event }, /This hook is for PreToolUse/)
    }
    for (const name of [undefined, null, '', '  ', 7, {}]) unclear(host, { ...pre, tool_name: name }, /names no tool/)
    unclear(host, { ...pre, session_id: 7 }, /session_id/)
  }
  for (const given of [undefined, null, 'ls', ['ls']]) unclear(claudeCode, { ...pre, tool_input: given }, /tool_input/)
  for (const event of [undefined, 'PreToolUse', 'pre_llm_call']) {
    unclear(hermes, { ...preHermes, hook_event_name: event }, /pre_tool_call/)
  }
  // Hermes writes null where the arguments are something that it cannot say.
  unclear(hermes, { ...preHermes, tool_input: null }, /tool_input/)
  unclear(hermes, { ...preHermes, tool_name: '' }, /names no tool/)
  unclear(generic, {}, /names no action/)
  unclear(generic, { action: '' }, /names no action/)
  unclear(generic, { action: 'a', detials: {} }, /"detials", which is none of: action, details/)
  unclear(generic, { action: 'a', tool_name: 'b' }, /says action twice/)
  unclear(generic, { action: 'a', details: 'x' }, /details are no object/)
  unclear(generic, { action: 'a', session: 1 }, /session is no text/)
  unclear(generic, { action: 'a', outcome: 'succeeded' }, /"outcome", which is none of/)
  unclear(generic, JSON.parse('{"action":"a","__proto__":1}') as object, /__proto__/)
})

t.test('outcomes are heard where the host says how it ended, and decide nothing where it does not', async (t) => {
  const outcome = (heard: Heard) => (heard.kind === 'outcome' ? (heard.body?.hook_event_name ?? null) : heard.kind)
  t.equal(outcome(claudeCode.hear(post)), 'PostToolUse')
  t.match(claudeCode.hear({ ...post, hook_event_name: 'PostToolUseFailure', error: 'x'.repeat(9999) }), {
    body: { hook_event_name: 'PostToolUseFailure', error: 'x'.repeat(2000) },
  })
  t.equal(outcome(claudeCode.hear({ ...post, tool_name: '' })), null)
  t.equal(outcome(codex.hear({ ...post, tool_response: 'Exit code: 1' })), 'PostToolUse')
  t.equal(outcome(codex.hear({ ...post, tool_response: { isError: true } })), 'PostToolUseFailure')
  t.equal(outcome(codex.hear({ ...post, tool_response: { isError: 'true' } })), 'PostToolUse')
  t.match(hermes.hear(postHermes({ status: 'ok', tool_call_id: 'u' })), {
    body: { hook_event_name: 'PostToolUse', tool_use_id: 'u' },
  })
  t.match(hermes.hear(postHermes({ status: 'error', error_message: 'boom' })), {
    body: { hook_event_name: 'PostToolUseFailure', error: 'boom' },
  })
  // One that was blocked never began; an older Hermes does not say how it ended.
  for (const extra of [undefined, {}, { status: 'blocked' }, { status: 'constructor' }]) {
    t.equal(outcome(hermes.hear(postHermes(extra))), null)
  }
  t.match(generic.hear({ action: 'a', error: 'boom' }, 'failed'), { body: { error: 'boom' } })
  t.equal(outcome(generic.hear({ action: 'a' }, 'succeeded')), 'PostToolUse')
  for (const how of ['ok', '']) t.equal(outcome(generic.hear({ action: 'a' }, how)), 'unclear')
})

const allow = { hookEventName: 'PreToolUse', permissionDecision: 'allow', permissionDecisionReason: 'yes' }
const yes = { hookSpecificOutput: allow }

t.test('an allow is exactly an allow', async (t) => {
  t.strictSame(readVerdict(200, yes), { isAllowed: true, reason: 'yes', id: null })
  t.strictSame(readVerdict(200, yes, '42'), { isAllowed: true, reason: 'yes', id: '42' })
  t.match(readVerdict(200, { hookSpecificOutput: { ...allow, permissionDecision: 'deny' } }), {
    isAllowed: false,
    reason: 'yes',
  })
  const changed = (change: object) => ({ hookSpecificOutput: { ...allow, ...change } })
  for (const body of [
    ...[
      '',
      undefined,
      null,
      true,
      1,
      'allow',
      [yes],
      {},
      allow,
      { hookSpecificOutput: null },
      { hookSpecificOutput: [allow] },
    ],
    ...[
      'Allow',
      'ALLOW',
      'allow ',
      'allowed',
      'approve',
      'approved',
      'ask',
      'defer',
      '',
      true,
      null,
      ['allow'],
      { allow },
    ].map((permissionDecision) => changed({ permissionDecision })),
    changed({ hookEventName: 'PostToolUse' }),
    changed({ hookEventName: undefined }),
    changed({ permissionDecisionReason: 7 }),
    changed({ updatedInput: { command: 'rm -rf /' } }),
    { ...yes, decision: 'block' },
    { ...yes, continue: false },
    { permissionDecision: 'allow' },
    { decision: 'approve' },
    { status: 'approved' },
  ]) {
    t.equal(readVerdict(200, body).isAllowed, false, JSON.stringify(body))
  }
  for (const status of [100, 201, 202, 204, 299, 302, 400, 500]) t.equal(readVerdict(status, yes).isAllowed, false)
})

t.test('whatever else the service says is no allow', async () => {
  fc.assert(
    fc.property(fc.integer(), fc.jsonValue(), (status, body) => {
      const said = JSON.stringify(body) ?? ''
      return !readVerdict(status, body).isAllowed || said.includes('"permissionDecision":"allow"')
    }),
  )
})

const hosts: [Host, played.Host][] = [
  [claudeCode, played.claudeCode('block')],
  [codex, played.codex],
  [hermes, played.hermes(true)],
  [generic, played.generic],
]

t.test('each way of saying no is a no for the host, whatever the reason is, and a yes is a yes', async (t) => {
  for (const [host, judge] of hosts) {
    const ran = ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({
      stdout: `${host.opening ?? ''}${stdout}`,
      stderr,
      code,
      isLate: false,
    })
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'binary' }).filter((text) => text.trim() !== ''),
        (reason) => host.deny(reason, null).every((spoken) => !judge.rule(ran(spoken)).isMade),
      ),
    )
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (reason) => judge.rule(ran(host.allow({ isAllowed: true, reason, id: null }))).isMade,
      ),
    )
    t.equal(judge.rule(ran(host.acknowledge)).isMade, true)
  }
})

t.test('generic says the id where it is known', async (t) => {
  const { stdout } = generic.allow({ isAllowed: true, reason: 'r', id: '42' })
  t.strictSame(JSON.parse(stdout), { decision: 'allow', reason: 'r', id: '42' })
})
