// Hooks of Claude Code: a decision for every call of a tool, never twice for one approval, and a no whenever anything is wrong.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/store/store.js'
import { root } from '../e2e/program.js'
import { type Answer, build, type Built, type BuildOptions, giveKeys, interleaving, until } from '../support.js'

const path = '/hooks/claude-code'

const bash = (fields: Record<string, unknown> = {}, input: Record<string, unknown> = {}) => ({
  hook_event_name: 'PreToolUse',
  session_id: 's1',
  transcript_path: '/home/ann/.claude/projects/x.jsonl',
  cwd: '/home/ann/shop',
  permission_mode: 'default',
  tool_name: 'Bash',
  tool_input: { command: 'git push', description: 'Publish', ...input },
  tool_use_id: 'toolu_1',
  ...fields,
})

/** With room for many calls of one tool. */
function buildHooks(t: Test, options: BuildOptions = {}): Promise<Built> {
  return build(t, { ...options, config: { rateLimit: 1000, openLimit: 0, ...options.config } })
}

type Call = Built['call']
const hook = (call: Call, body: unknown = bash(), timeout = 60) => call('POST', `${path}?timeout=${timeout}`, body)
/** Answers at once, as the time of the hook is up. */
const hookAtOnce = (call: Call, body: unknown = bash()) => hook(call, body, 1)

function decisionOf({ status, body }: Answer): string {
  if (status !== 200) return `status ${status}`
  const { hookEventName, permissionDecision, permissionDecisionReason } = body.hookSpecificOutput
  return hookEventName === 'PreToolUse' ? `${permissionDecision}: ${permissionDecisionReason}` : 'for another event'
}

const isAllowed = (answer: Answer) => decisionOf(answer).startsWith('allow: ')

/** The requests there are, the first first. */
async function requests({ call }: { call: Call }): Promise<any[]> {
  return (await call('GET', '/audit?limit=500')).body.entries.toReversed()
}

async function asked(built: Built, count = 1): Promise<void> {
  await until(() => built.service.countListeners().one === count)
}

t.test('a call is held until a person approves it, and is claimed before it is allowed', async (t) => {
  const built = await buildHooks(t)
  const answer = hook(built.call)
  await asked(built)
  const [request] = await requests(built)
  t.match(request, {
    action: 'tool:Bash',
    description: 'Run in the shell: git push',
    details: { tool_input: { command: 'git push' }, cwd: '/home/ann/shop' },
    requester: 'agent',
    session_key: 's1',
    status: 'pending',
  })
  t.same(Object.keys(request.details.tool_input), ['command'])
  await built.call('POST', `/confirm/${request.id}/approve`, { approver: 'bob' })
  t.equal(decisionOf(await answer), `allow: Approved by bob, for this one call (${request.id}).`)
  t.match(await requests(built), [{ status: 'approved', execution: 'claimed' }])
})

t.test('with a key the requester is its owner, and without a session there is none', async (t) => {
  const built = await buildHooks(t)
  const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'admin' })
  await hookAtOnce(bot, bash({ session_id: null }))
  t.match(await requests({ call: ann }), [{ requester: 'bot', session_key: '' }])
})

t.test('a denial is a denial, with its reason and that it is final', async (t) => {
  const built = await buildHooks(t)
  const answer = hook(built.call)
  await asked(built)
  await built.call('POST', '/confirm/id-0001/deny', { denier: 'bob', reason: 'use a branch' })
  t.match(decisionOf(await answer), /^deny: bob denied this, because: use a branch \(id-0001\)\. .* final/)
})

t.test('one that expires, or is withdrawn, is denied', async (t) => {
  const built = await buildHooks(t, { rules: 'rules: [{ action: "tool:*", timeout: 30 }]' })
  const expiring = hook(built.call)
  await asked(built)
  await built.clock.advance(30_000)
  t.match(decisionOf(await expiring), /^deny: .* expired/)
  const cancelled = hook(built.call)
  await asked(built)
  await built.call('POST', '/confirm/id-0002/cancel')
  t.match(decisionOf(await cancelled), /^deny: .*withdrawn/)
})

t.test('before its time is up a hook is told that it is still pending, and nothing is lost', async (t) => {
  const built = await buildHooks(t)
  const answer = hook(built.call, bash(), 100)
  await asked(built)
  await built.clock.advance(89_000)
  t.same(built.service.countListeners().one, 1)
  await built.clock.advance(1000)
  t.match(decisionOf(await answer), /^deny: Still pending, ID id-0001: .* make exactly this call again/)
  t.match(
    await requests(built),
    [{ status: 'pending', timeout_seconds: 200 }],
    'it is open for longer than the hook waits',
  )
})

t.test('a rule says how long it stays open, and else the hook, within the bounds of the rule', async (t) => {
  for (const [timeout, seconds] of [
    ['{ max: 50 }', 50],
    ['{ min: 500 }', 500],
    ['{ max: 3600 }', 120],
    ['30', 30],
    ['3000', 3000],
  ] as const) {
    const built = await buildHooks(t, { rules: `rules: [{ action: "tool:*", timeout: ${timeout} }]` })
    const answer = hook(built.call)
    await asked(built)
    t.match(await requests(built), [{ timeout_seconds: seconds }], timeout)
    await built.clock.advance(60_000)
    t.match(decisionOf(await answer), seconds < 54 ? /^deny: .* expired/ : /^deny: Still pending/)
  }
})

t.test('the same call again waits for the same request, and asks nobody anew', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  const again = hook(built.call, bash({ tool_use_id: 'toolu_2' }, { description: 'In other words' }))
  await asked(built)
  const [request, ...others] = await requests(built)
  t.same(others, [])
  t.match((await built.call('GET', '/confirm/id-0001')).body.deliveries.length, 1)
  await built.call('POST', `/confirm/${request.id}/approve`)
  t.ok(isAllowed(await again))
})

t.test('approved late, the same call again claims that, once; after it the same is a new request', async (t) => {
  const built = await buildHooks(t)
  t.match(decisionOf(await hookAtOnce(built.call)), /Still pending, ID id-0001/)
  await built.call('POST', '/confirm/id-0001/approve')
  const other = bash({ permission_mode: 'plan', tool_use_id: 'toolu_2' }, { description: 'Again' })
  t.ok(isAllowed(await hookAtOnce(built.call, other)))
  t.match(decisionOf(await hookAtOnce(built.call, other)), /^deny: Still pending, ID id-(?!0001)/)
  t.match(await requests(built), [{ execution: 'claimed' }, { status: 'pending' }])
})

t.test('whatever differs but for the word of the model is another call', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve')
  const others = [
    bash({}, { command: 'git push --force' }),
    bash({}, { command: 'git push ' }),
    bash({}, { run_in_background: true }),
    bash({ cwd: '/' }),
    bash({ session_id: 's2' }),
    bash({ session_id: undefined }),
    bash({ tool_name: 'bash' }),
    bash({ tool_name: 'PowerShell' }),
  ]
  for (const [index, body] of others.entries()) {
    t.match(decisionOf(await hookAtOnce(built.call, body)), `deny: Still pending, ID id-000${index + 2}`)
  }
  t.ok(isAllowed(await hookAtOnce(built.call)), 'and the approval is there for its own')
})

t.test('what another requester was given is not claimed', async (t) => {
  const built = await buildHooks(t)
  const { bot, other, ann } = await giveKeys(built, { bot: 'agent', other: 'agent', ann: 'admin' })
  await hookAtOnce(bot)
  await ann('POST', '/confirm/id-0001/approve')
  t.match(decisionOf(await hookAtOnce(other)), /^deny: Still pending/)
  t.ok(isAllowed(await hookAtOnce(bot)))
})

t.test('what was asked for in other words is not claimed: a hook claims what it has shown', async (t) => {
  const built = await buildHooks(t)
  const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'admin' })
  const details = { tool_input: { command: 'git push' }, cwd: '/home/ann/shop' }
  const lie = { action: 'tool:Bash', description: 'List the files', details, session_key: 's1' }
  await bot('POST', '/confirm', lie)
  await ann('POST', '/confirm/id-0001/approve')
  t.match(decisionOf(await hookAtOnce(bot)), /^deny: Still pending, ID id-0002/)
})

t.test('of twenty equal calls at once one has the approval, and no second is allowed', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve')
  const answers = await Promise.all(Array.from({ length: 20 }, () => hookAtOnce(built.call)))
  t.equal(answers.filter(isAllowed).length, 1)
  const all = await requests(built)
  t.equal(all.filter(({ execution }) => execution === 'claimed').length, 1)
  t.ok(all.length <= 2, 'the others are one request together, or were told')
})

t.test('of twenty equal calls that wait for one request one is allowed', async (t) => {
  const built = await buildHooks(t)
  const answers = Array.from({ length: 20 }, () => hook(built.call))
  await asked(built, 20)
  t.equal((await requests(built)).length, 1)
  await built.call('POST', '/confirm/id-0001/approve')
  const said = await Promise.all(answers)
  t.equal(said.filter(isAllowed).length, 1)
  t.match(decisionOf(said.find((one) => !isAllowed(one))!), /was used for another call like this/)
})

t.test('an approval that comes between looking and asking is found', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await buildHooks(t, { wrapStore })
  await hookAtOnce(built.call)
  interfere(() => built.call('POST', '/confirm/id-0001/approve', { approver: 'bob' }))
  // The commit that joins it comes behind the approval.
  const again = await hookAtOnce(built.call)
  const all = await requests(built)
  t.equal(all.length, 1)
  t.equal(isAllowed(again), all[0].execution === 'claimed')
})

t.test('a claim that another was faster with is a denial', async (t) => {
  const { wrapStore, interfere } = interleaving()
  const built = await buildHooks(t, { wrapStore })
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve')
  interfere(() => built.call('POST', '/confirm/id-0001/claim'))
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: The approval id-0001 was used for another call/)
})

t.test('an approval that was not claimed in time is over: the same call asks anew', async (t) => {
  const built = await buildHooks(t, { config: { approvalTtl: 60 } })
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve')
  await built.clock.advance(60_000)
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: Still pending, ID id-0002/)
})

t.test('after a denial the same call is denied for as long as the session goes on', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/deny', { denier: 'bob', reason: 'no' })
  await built.clock.advance(3_600_000)
  for (let i = 0; i < 2; i++) {
    const again = decisionOf(await hookAtOnce(built.call, bash({ tool_use_id: `toolu_${i}` })))
    t.match(again, /^deny: .*\(denied_before\): bob denied exactly this before, because: no\. .*final/)
  }
  t.equal((await requests(built)).length, 1)
  t.match(decisionOf(await hookAtOnce(built.call, bash({ session_id: 's2' }))), /Still pending/, 'another session asks')
  await built.call('POST', '/sessions/s1/reset')
  t.match(decisionOf(await hookAtOnce(built.call)), /Still pending/, 'and so does one that begins anew')
})

t.test('without a session a denial stands for as long as an approval would', async (t) => {
  const built = await buildHooks(t, { config: { approvalTtl: 60 } })
  const call = bash({ session_id: '' })
  await hookAtOnce(built.call, call)
  await built.call('POST', '/confirm/id-0001/deny')
  await built.clock.advance(59_999)
  t.match(decisionOf(await hookAtOnce(built.call, call)), /denied_before/)
  await built.clock.advance(1)
  t.match(decisionOf(await hookAtOnce(built.call, call)), /^deny: Still pending/)
})

t.test('a whitelist entry that is given after a denial lets the call pass', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/deny')
  await built.call('POST', '/whitelist', { action: 'tool:Bash' })
  t.ok(isAllowed(await hookAtOnce(built.call)))
})

t.test('what is whitelisted is allowed at once, and each call is on record as claimed', async (t) => {
  const built = await buildHooks(t)
  await built.call('POST', '/whitelist', { action: 'tool:Read', granted_by: 'bob' })
  const read = bash({ tool_name: 'Read', tool_input: { file_path: '/a' } })
  const answers = await Promise.all(Array.from({ length: 5 }, () => hook(built.call, read)))
  t.ok(answers.every(isAllowed))
  const all = await requests(built)
  t.equal(all.length, 5)
  for (const one of all) t.match(one, { status: 'auto_approved', execution: 'claimed' })
})

t.test('approved and remembered, the same call again claims the approval and not the whitelist entry', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve', { remember: 'session' })
  t.ok(isAllowed(await hookAtOnce(built.call)))
  t.ok(isAllowed(await hookAtOnce(built.call)))
  t.match(await requests(built), [
    { status: 'approved', execution: 'claimed' },
    { status: 'auto_approved', execution: 'claimed' },
  ])
})

t.test('where the rule needs a digest the service has it: high risk can be approved', async (t) => {
  const built = await buildHooks(t, { rules: 'rules: [{ action: "tool:Bash", risk: high }]' })
  const answer = hook(built.call)
  await asked(built)
  await built.call('POST', '/confirm/id-0001/approve', { typed_action: 'tool:Bash' })
  t.ok(isAllowed(await answer))
})

t.test('a session that was suspended between approval and claim gets nothing', async (t) => {
  const built = await buildHooks(t)
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0001/approve')
  await built.call('POST', '/sessions/s1/suspend', { reason: 'odd' })
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: .*\(session_suspended\)/)
  t.match(await requests(built), [{ execution: 'unclaimed' }])
})

// -- outcomes ----------------------------------------------------------------------------------------------------------

const after = (event: string, fields: Record<string, unknown> = {}) =>
  bash({ hook_event_name: event, tool_response: { stdout: 'done' }, ...fields })

async function allowOne(built: Built, body = bash()): Promise<void> {
  await hookAtOnce(built.call, body)
  const { id } = (await requests(built)).at(-1)
  await built.call('POST', `/confirm/${id}/approve`)
  if (!isAllowed(await hookAtOnce(built.call, body))) throw new Error('it is not allowed')
}

t.test('the outcome of a call is reported for what was claimed for it, and the first stands', async (t) => {
  const built = await buildHooks(t)
  await allowOne(built)
  // Of what the tool has answered nothing is read, so its numbers may be those of a database.
  const text = JSON.stringify(after('PostToolUse')).replace('"done"', '{"id":12345678901234567890}')
  t.same((await built.call('POST', path, text)).body, {})
  t.match(await requests(built), [{ execution: 'succeeded' }])
  t.same((await built.call('POST', path, after('PostToolUseFailure', { error: 'x' }))).body, {})
  t.match(await requests(built), [{ execution: 'succeeded' }])
})

t.test('a failure is reported with the beginning of what the host says', async (t) => {
  const built = await buildHooks(t)
  await allowOne(built)
  const error = `exit 1: ${'x'.repeat(5000)}`
  t.same((await built.call('POST', path, after('PostToolUseFailure', { error }))).body, {})
  t.match(await requests(built), [{ execution: 'failed', report_message: error.slice(0, 1000) }])
})

t.test('a call that nothing was claimed for, of another session or requester, changes nothing', async (t) => {
  const built = await buildHooks(t)
  await allowOne(built)
  const before = (await built.events()).length
  for (const fields of [{ tool_use_id: 'toolu_2' }, { session_id: 's2' }, { tool_use_id: undefined }]) {
    t.same((await built.call('POST', path, after('PostToolUse', fields))).body, {})
  }
  t.equal((await built.events()).length, before)
  const { other, ann } = await giveKeys(built, { other: 'agent', ann: 'admin' })
  t.same((await other('POST', path, after('PostToolUse'))).body, {})
  t.match(await requests({ call: ann }), [{ execution: 'claimed' }])
})

t.test('of two calls that a host gives one id the latest is reported', async (t) => {
  const built = await buildHooks(t)
  await allowOne(built)
  await built.call('POST', path, after('PostToolUse'))
  await allowOne(built)
  await built.call('POST', path, after('PostToolUseFailure', { error: 'second' }))
  t.match(await requests(built), [{ execution: 'succeeded' }, { execution: 'failed', report_message: 'second' }])
})

t.test(
  'a session of ten calls under the preset: reads pass, three wait for a person, and all are on record',
  async (t) => {
    const built = await build(t, { rules: readFileSync(join(root, 'presets/coding-agents.yaml'), 'utf8') })
    const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'operator' })
    const calls: [tool: string, input: Record<string, unknown>, verdict: 'approve' | 'deny' | null][] = [
      ['Read', { file_path: '/srv/shop/README.md' }, null],
      ['Glob', { pattern: '**/*.ts' }, null],
      ['Grep', { pattern: 'TODO' }, null],
      ['Bash', { command: 'npm test', description: 'Run the tests' }, 'approve'],
      ['Read', { file_path: '/srv/shop/src/a.ts' }, null],
      ['Edit', { file_path: '/srv/shop/src/a.ts', old_string: 'a', new_string: 'b' }, 'approve'],
      ['TodoWrite', { todos: [] }, null],
      ['Bash', { command: 'rm -rf ~', description: 'Tidy up' }, 'deny'],
      ['Read', { file_path: '/srv/shop/src/a.ts' }, null],
      ['Grep', { pattern: 'done' }, null],
    ]
    const ran: string[] = []
    for (const [index, [tool_name, tool_input, verdict]] of calls.entries()) {
      const call = bash({ tool_name, tool_input, tool_use_id: `toolu_${index}` })
      const answer = hook(bot, call, 600)
      if (verdict !== null) {
        await asked(built)
        const [{ id }] = (await ann('GET', '/confirm?status=pending')).body.confirmations
        await ann('POST', `/confirm/${id}/${verdict}`, { reason: 'looked at' })
      }
      if (!isAllowed(await answer)) continue
      ran.push(tool_name)
      t.same((await bot('POST', path, { ...call, hook_event_name: 'PostToolUse' })).body, {})
    }
    t.same(ran, ['Read', 'Glob', 'Grep', 'Bash', 'Read', 'Edit', 'TodoWrite', 'Read', 'Grep'])
    const entries = await requests({ call: ann })
    t.same(
      entries.map(({ action, status, resolved_by, execution }) => `${action} ${status} ${resolved_by} ${execution}`),
      calls.map(([tool, , verdict]) => {
        if (verdict === 'deny') return `tool:${tool} denied ann null`
        if (verdict === 'approve') return `tool:${tool} approved ann succeeded`
        return `tool:${tool} auto_approved rule:reading in Claude Code succeeded`
      }),
    )
    for (const { id, status } of entries) {
      const { deliveries } = (await ann('GET', `/confirm/${id}`)).body
      t.equal(deliveries.length, status === 'auto_approved' ? 0 : 1, 'who is not asked is not told')
    }
  },
)

// -- whatever is wrong -------------------------------------------------------------------------------------------------

t.test('a bad key, no key and one of the wrong role are denied', async (t) => {
  const built = await buildHooks(t)
  const { ann, op } = await giveKeys(built, { ann: 'admin', op: 'operator' })
  t.match(decisionOf(await built.call('POST', path, bash())), /^deny: .*\(unauthorized\): .*Authorization: Bearer KEY/)
  const wrong = { authorization: 'Bearer hpk_no' }
  t.match(decisionOf(await built.call('POST', path, bash(), wrong)), /\(unauthorized\): This key is not known/)
  t.match(decisionOf(await op('POST', path, bash())), /^deny: .*\(forbidden\)/)
  for (let i = 0; i < 30; i++) await built.call('POST', path, bash(), wrong)
  t.match(decisionOf(await built.call('POST', path, bash(), wrong)), /^deny: .*\(guess_limited\)/)
  t.same(await requests({ call: ann }), [])
})

t.test('a body that is none, or says something that cannot be, is denied and asks nobody', async (t) => {
  const built = await buildHooks(t)
  const text = JSON.stringify(bash())
  for (const [body, code] of [
    ['', 'not_json'],
    ['{', 'not_json'],
    ['null', 'not_json'],
    ['[]', 'not_json'],
    ['"PreToolUse"', 'not_json'],
    ['{}', 'invalid_request'],
    [text.replace('{', '{"tool_name":"Read",'), 'ambiguous_json'],
    [text.replace('"git push"', '1234567890123456789'), 'ambiguous_json'],
    [text.replace('"command"', '"__proto__"'), 'invalid_request'],
    [JSON.stringify({ ...bash(), hook_event_name: 'Stop' }), 'invalid_request'],
    [JSON.stringify({ ...bash(), hook_event_name: undefined }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_name: '' }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_name: ' Bash' }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_name: 'x'.repeat(996) }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_name: ['Bash'] }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_input: 'ls' }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_input: [] }), 'invalid_request'],
    [JSON.stringify({ ...bash(), tool_input: null }), 'invalid_request'],
    [JSON.stringify({ ...bash(), session_id: 5 }), 'invalid_request'],
    [JSON.stringify({ ...bash(), session_id: 'x'.repeat(1001) }), 'invalid_request'],
    [JSON.stringify({ ...bash(), session_id: 'a\0b' }), 'invalid_request'],
    [JSON.stringify({ ...bash(), cwd: 5 }), 'invalid_request'],
    ['x'.repeat(1024 * 1024 + 1), 'body_too_large'],
    [JSON.stringify(bash({ tool_input: { list: Array(10_001).fill(1) } })), 'invalid_request'],
    [`${text.slice(0, -1)},"x":"${'y'.repeat(40_000)}`, 'not_json'],
    [JSON.stringify({ ...bash(), tool_name: '', x: 'y'.repeat(40_000) }), 'invalid_request'],
  ] as const) {
    const answer = await built.call('POST', path, body)
    t.match(decisionOf(answer), `deny: Holdpoint refused this call (${code}): `, body.slice(0, 100))
    t.match(answer.headers['content-type'], /^application\/json/)
  }
  const form = { 'content-type': 'text/plain' }
  t.match(decisionOf(await built.call('POST', path, text, form)), /\(unsupported_media_type\)/)
  for (const timeout of ['0', '-1', 'soon', '1.5', '86401', '', '1&timeout=2']) {
    const answer = await built.call('POST', `${path}?timeout=${timeout}`, bash())
    t.match(decisionOf(answer), /\(invalid_request\): .*\. It may not run/, timeout)
  }
  t.match(decisionOf(await built.call('POST', `${path}?wait=1`, bash())), /\(unknown_parameter\)/)
  t.match(
    decisionOf(await built.call('POST', '/%68ooks/claude-code', '{')),
    /\(not_json\)/,
    'however the path is written',
  )
  t.same(await requests(built), [])
})

t.test('a call below a path that does not exist is denied, and other methods are told so', async (t) => {
  const built = await buildHooks(t)
  for (const url of ['/hooks/claude-code/', '/hooks/claude', '/hooks/', '/hooks/%ff']) {
    t.match(decisionOf(await built.call('POST', url, bash())), /^deny: /, url)
  }
  t.match(await built.call('GET', path), { status: 405, headers: { allow: 'POST' } })
  t.match(await built.call('POST', '/hook', {}), { status: 404 })
})

t.test('a page of another site, a name that is not ours, and too many headers are denied', async (t) => {
  const built = await buildHooks(t)
  const from = (headers: Record<string, string>) => built.call('POST', path, bash(), headers)
  t.match(decisionOf(await from({ origin: 'https://evil.example' })), /\(cross_origin\)/)
  t.match(decisionOf(await from({ host: 'evil.example', 'user-agent': 'Mozilla/5.0' })), /\(unknown_host\)/)
  t.same(await requests(built), [])
})

t.test('every limit is a denial that says which', async (t) => {
  const limited = await build(t, { config: { rateLimit: 1 } })
  await hookAtOnce(limited.call)
  t.match(decisionOf(await hookAtOnce(limited.call, bash({}, { command: 'ls' }))), /^deny: .*\(rate_limited\)/)
  t.match(decisionOf(await hookAtOnce(limited.call)), /Still pending/, 'what is asked again takes no slot')

  const flooded = await buildHooks(t, { config: { floodLimit: 2 } })
  await hookAtOnce(flooded.call)
  await hookAtOnce(flooded.call)
  t.match(decisionOf(await hookAtOnce(flooded.call)), /^deny: .*\(flood_limited\): Too many requests/)

  const full = await buildHooks(t, { config: { diskLimit: 1 } })
  const large = (fill: string) => bash({}, { command: fill.repeat(300_000) })
  await hookAtOnce(full.call, large('a'))
  t.match(decisionOf(await hookAtOnce(full.call, large('b'))), /^deny: .*\(disk_limited\)/)

  const open = await buildHooks(t, { rules: 'rules: [{ action: "*", open_limit: 1 }]' })
  await hookAtOnce(open.call)
  t.match(decisionOf(await hookAtOnce(open.call, bash({}, { command: 'ls' }))), /^deny: .*\(too_many_open\)/)
})

t.test('each that waits has a place in the share of its requester; without one it is told at once', async (t) => {
  const built = await buildHooks(t, { shareLimits: { waits: { total: 1, each: 1 } } })
  const first = hook(built.call)
  await asked(built)
  t.match(decisionOf(await hook(built.call, bash({}, { command: 'ls' }))), /^deny: Still pending, ID id-0002/)
  await built.call('POST', '/confirm/id-0001/approve')
  t.ok(isAllowed(await first))
})

t.test('a large call is read elsewhere and judged as a small one', async (t) => {
  const built = await buildHooks(t)
  const write = bash({ tool_name: 'Write', tool_input: { file_path: '/a', content: 'x'.repeat(100_000) } })
  t.match(decisionOf(await hookAtOnce(built.call, write)), /Still pending, ID id-0001/)
  await built.call('POST', '/confirm/id-0001/approve')
  t.ok(isAllowed(await hookAtOnce(built.call, write)))
  const done = { ...write, hook_event_name: 'PostToolUse', tool_response: 'y'.repeat(100_000) }
  t.same((await built.call('POST', path, done)).body, {})
  t.match(await requests(built), [
    {
      description: 'Write the file: /a',
      details: write.tool_input ? { tool_input: write.tool_input } : {},
      execution: 'succeeded',
    },
  ])
})

t.test('a database that cannot be written, or nobody knows whether it was, is a denial', async (t) => {
  let fault: Error | null = null
  const wrapStore = (store: Store): Store => ({
    ...store,
    commit: (change) => (fault === null ? store.commit(change) : Promise.reject(fault)),
  })
  const built = await buildHooks(t, { wrapStore })
  fault = new StoreUnavailable('full')
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: .*\(storage_unavailable\)/)
  fault = new OutcomeUnknown('failed')
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: .*\(outcome_unknown\)/)
  fault = null
  await hookAtOnce(built.call)
  await built.call('POST', '/confirm/id-0003/approve')
  fault = new StoreUnavailable('full')
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: .*\(storage_unavailable\)/, 'the claim is not on disk')
  fault = new Error('a bug')
  t.match(decisionOf(await hookAtOnce(built.call)), /^deny: .*\(internal_error\)/)
  fault = null
  t.ok(isAllowed(await hookAtOnce(built.call)))
})

t.test(
  'a database that takes too long is a denial while the host still listens, and allows nothing later',
  async (t) => {
    let letGo: (() => void) | null = null
    let isSlow = false
    const wrapStore = (store: Store): Store => ({
      ...store,
      async commit(change) {
        if (isSlow) await new Promise<void>((resolve) => (letGo = resolve))
        return store.commit(change)
      },
    })
    const built = await buildHooks(t, { wrapStore })
    isSlow = true
    const answer = hook(built.call)
    await until(() => letGo !== null)
    await built.clock.advance(57_000)
    t.match(decisionOf(await answer), /^deny: Holdpoint took too long/)
    isSlow = false
    letGo!()
    await until(async () => (await requests(built)).length === 1)
    t.match(await requests(built), [{ status: 'pending' }], 'what was asked is on record')
  },
)

t.test('a body that takes too long, also below a path that does not exist, is a denial in time', async (t) => {
  const built = await buildHooks(t)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  for (const url of [`${path}?timeout=20`, `${path}?timeout=none`, '/hooks/nothing?timeout=20']) {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => (received += text))
    socket.write(
      `POST ${url} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    )
    await until(async () => {
      await built.clock.advance(20_000)
      return received !== ''
    })
    t.match(received, /^HTTP\/1\.1 200 OK\r\n/, url)
    t.match(received, '"permissionDecision":"deny"', url)
    socket.destroy()
  }
  t.same(await requests(built), [])
})

t.test('bytes that are no HTTP are a denial, where they tell that a hook has sent them', async (t) => {
  const built = await buildHooks(t)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  for (const [code, first, later] of [
    ['invalid_request', `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['headers_too_large', `${head}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['invalid_request', chunked, 'zz\r\n'],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => (received += text))
    socket.write(first)
    if (later !== undefined) {
      // In a packet of its own it says nothing of what it belongs to.
      await once(built.app.server, 'request')
      socket.write(later)
    }
    await once(socket, 'close')
    t.match(received, /^HTTP\/1\.1 200 OK\r\n/, code)
    t.match(received, `"permissionDecision":"deny","permissionDecisionReason":"Holdpoint refused this call (${code})`)
  }
  t.same(await requests(built), [])
})

t.test('whoever hangs up claims nothing: the approval is there for the call that comes again', async (t) => {
  const built = await buildHooks(t)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const body = JSON.stringify(bash())
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await asked(built)
  socket.destroy()
  await once(socket, 'close')
  await asked(built, 0)
  await built.call('POST', '/confirm/id-0001/approve')
  t.match(await requests(built), [{ execution: 'unclaimed' }])
  t.ok(isAllowed(await hookAtOnce(built.call)))
})

t.test('a key that is revoked while its call waits gets nothing', async (t) => {
  const built = await buildHooks(t)
  const { bot, ann } = await giveKeys(built, { bot: 'agent', ann: 'admin' })
  const answer = hook(bot)
  await asked(built)
  await ann('DELETE', `/keys/${bot.keyId}`)
  await ann('POST', '/confirm/id-0001/approve')
  t.match(decisionOf(await answer), /^deny: .*\(unauthorized\)/)
  t.match(await requests({ call: ann }), [{ execution: 'unclaimed' }])
})

t.test('a shutdown answers whoever waits, and denies whoever comes', async (t) => {
  const built = await buildHooks(t)
  await built.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = built.app.server.address() as AddressInfo
  const body = JSON.stringify(bash({}, { command: 'ls' }))
  const request = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => (received += text))
  // Under way while it shuts down: all but its first byte comes later.
  socket.write(request.slice(0, 1))
  const waiting = hook(built.call)
  await asked(built)
  await until(() => built.connections.count() === 1)
  const stopped = built.stop()
  t.match(decisionOf(await waiting), /^deny: Still pending, ID id-0001/)
  socket.write(request.slice(1))
  await until(() => received !== '')
  t.match(received, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(received, '"permissionDecision":"deny"')
  t.match(received, '(shutting_down)')
  socket.destroy()
  await stopped
})

t.test('whatever is sent, the answer is a decision, and none allows what no one approved', async (t) => {
  const built = await buildHooks(t, { config: { floodLimit: 0, rateLimit: 1_000_000, diskLimit: 0 } })
  const anyOf = (...values: unknown[]) => fc.oneof(...values.map((value) => fc.constant(value)), fc.jsonValue())
  const likely = fc.record(
    {
      hook_event_name: anyOf('PreToolUse', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure'),
      session_id: anyOf('s1', null),
      tool_name: anyOf('Bash', 'Write', 'mcp__a__b', 'Bash '),
      tool_input: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), anyOf({ command: 'ls' })),
      cwd: anyOf('/'),
      tool_use_id: anyOf('toolu_1'),
      error: anyOf('x'),
    },
    { requiredKeys: [] },
  )
  const json = fc.oneof({ weight: 3, arbitrary: likely }, fc.jsonValue()).map((value) => JSON.stringify(value))
  const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Buffer.from(all))
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: json }, bytes), async (payload) => {
      const answer = await built.app.inject({
        method: 'POST',
        url: `${path}?timeout=1`,
        headers: { 'content-type': 'application/json' },
        payload,
      })
      if (answer.statusCode !== 200) return false
      const { hookSpecificOutput: said, ...rest } = answer.json()
      if (Object.keys(rest).length > 0) return false
      if (said === undefined) return /"PostToolUse/.test(String(payload))
      return (
        said.hookEventName === 'PreToolUse' &&
        said.permissionDecision === 'deny' &&
        said.permissionDecisionReason !== ''
      )
    }),
    { numRuns: 500 },
  )
})

t.test(
  'in whatever order calls, answers and time come, each allow is one approval, and no denial is asked again',
  async (t) => {
    const built = await buildHooks(t, {
      config: { floodLimit: 0, rateLimit: 1_000_000, diskLimit: 0, approvalTtl: 60 },
    })
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('call' as const), times: fc.integer({ min: 1, max: 3 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('cancel' as const, 'claim' as const, 'reset' as const) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1000, 61_000) }) },
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), async (steps) => {
        // So that the streaks of one do not make another wait.
        const session = `model-${(run += 1)}`
        const call = bash({ session_id: session })
        const all = async () =>
          (await built.call('GET', `/audit?limit=500&session_key=${session}`)).body.entries as Record<string, any>[]
        let [approvals, allowed, elsewhere] = [0, 0, 0]
        let [isDenied, isDue] = [false, false]
        for (const step of steps) {
          const before = await all()
          const pending = before.find(({ status }) => status === 'pending')
          if (step.kind === 'wait') await built.clock.advance(step.ms)
          else if (step.kind === 'reset') {
            const { status } = await built.call('POST', `/sessions/${session}/reset`)
            // What is pending keeps the session from beginning anew; it does so afterwards.
            if (status === 200 && pending === undefined) isDenied = false
            else if (status === 200) isDue = true
          } else if (step.kind === 'claim') {
            const open = before.find(({ execution }) => execution === 'unclaimed')
            if (open !== undefined && (await built.call('POST', `/confirm/${open.id}/claim`)).status === 200)
              elsewhere += 1
          } else if (step.kind === 'call') {
            const answers = await Promise.all(Array.from({ length: step.times }, () => hookAtOnce(built.call, call)))
            const now = answers.filter(isAllowed).length
            allowed += now
            const after = await all()
            if (after.filter(({ status }) => status === 'pending').length > 1)
              throw new Error('it is asked twice at a time')
            if (isDenied && (now > 0 || after.length > before.length)) throw new Error('a denial was asked again')
          } else if (pending !== undefined) {
            const { status } = await built.call('POST', `/confirm/${pending.id}/${step.kind}`)
            if (status === 200 && step.kind === 'approve') approvals += 1
            if (status === 200 && step.kind === 'deny') isDenied = !isDue
            isDue = false
          }
          const claimed = (await all()).filter(({ execution }) => ['claimed', 'unreported'].includes(execution)).length
          if (claimed !== allowed + elsewhere)
            throw new Error(`${allowed} allowed, ${elsewhere} elsewhere, ${claimed} claimed`)
          if (claimed > approvals) throw new Error(`${claimed} claimed of ${approvals}`)
        }
        return true
      }),
      { numRuns: 30 },
    )
  },
)
