// Calls of tools as actions: what is approved, how it is said, and what counts when a call is made again.
import t from 'tap'
import { hold } from '../../src/core/confirmation.js'
import {
  allow,
  denyBecause,
  denyFor,
  failureOf,
  nameOfCall,
  timesWithin,
  toAction,
} from '../../src/hooks/claude-code.js'
import { submissionOf } from '../submission.js'

t.test('a call is an action that is named after its tool, with the input and the folder as details', async (t) => {
  t.same(toAction({ tool: 'Edit', input: { file_path: '/a', new_string: 'x' }, cwd: '/home/ann' }), {
    action: 'tool:Edit',
    description: 'Edit the file: /a',
    details: { tool_input: { file_path: '/a', new_string: 'x' }, cwd: '/home/ann' },
  })
  t.same(toAction({ tool: 'Edit', input: {}, cwd: null }).details, { tool_input: {} })
})

t.test('what the model says of a command is left out, and every other field of every tool stays', async (t) => {
  const bash = toAction({ tool: 'Bash', input: { command: 'ls', description: 'Harmless', timeout: 5 }, cwd: null })
  t.same(bash, {
    action: 'tool:Bash',
    description: 'Run in the shell: ls',
    details: { tool_input: { command: 'ls', timeout: 5 } },
  })
  const task = toAction({ tool: 'Task', input: { description: 'd' }, cwd: null })
  t.same(task.details, { tool_input: { description: 'd' } })
  t.same(toAction({ tool: 'bash', input: { description: 'd' }, cwd: null }).details, {
    tool_input: { description: 'd' },
  })
})

t.test('it is said in one sentence, whatever the tool and its input are', async (t) => {
  for (const [tool, input, description] of [
    ['Bash', { command: '  git push\n' }, 'Run in the shell: git push'],
    ['Read', { file_path: '/etc/hosts' }, 'Read the file: /etc/hosts'],
    ['WebFetch', { url: 'https://a.example' }, 'Fetch: https://a.example'],
    ['mcp__github__create_issue', { title: 'x' }, 'Use the tool create_issue of the MCP server github'],
    ['mcp__a_b__c__d', {}, 'Use the tool c__d of the MCP server a_b'],
    ['Bash', { command: 5 }, 'Use the tool Bash'],
    ['Bash', { command: ' ' }, 'Use the tool Bash'],
    ['constructor', {}, 'Use the tool constructor'],
    ['Write', Object.create({ file_path: '/inherited' }), 'Use the tool Write'],
    ['Bash', { command: 'a\0b' }, 'Run in the shell: a\ufffdb'],
  ] as [string, Record<string, unknown>, string][]) {
    t.equal(toAction({ tool, input, cwd: null }).description, description)
  }
})

t.test('of a long command the beginning is said, never half a character, and how much is left', async (t) => {
  const { description } = toAction({ tool: 'Bash', input: { command: `${'x'.repeat(999)}🙂y` }, cwd: null })
  t.equal(description, `Run in the shell: ${'x'.repeat(999)}… and 3 more characters, which are in the details`)
  t.ok(description.isWellFormed())
})

t.test('one call is known by its session and its id together', async (t) => {
  t.equal(nameOfCall('s', 'toolu_1'), nameOfCall('s', 'toolu_1'))
  t.not(nameOfCall('s', 'toolu_1'), nameOfCall('s', 'toolu_2'))
  t.not(nameOfCall('s', 'toolu_1'), nameOfCall('other', 'toolu_1'))
  t.not(nameOfCall('a","b', 'c'), nameOfCall('a', 'b","c'), 'ids are hostile')
})

t.test('how a call failed is kept as far as it is text, and short', async (t) => {
  t.equal(failureOf('exit 1'), 'exit 1')
  for (const nothing of [undefined, null, '', '  ', 5, { message: 'x' }]) t.equal(failureOf(nothing), null)
  t.equal(failureOf('x'.repeat(5000))?.length, 1000)
  t.equal(failureOf('a\0\ud800'), 'a\ufffd\ufffd')
  t.ok(failureOf(`${'x'.repeat(999)}🙂`)?.isWellFormed())
})

t.test('a wait ends before the time of the hook is up, and so does whatever else takes long', async (t) => {
  t.same(timesWithin(600), { waitMs: 590_000, answerMs: 595_000 })
  t.same(timesWithin(60), { waitMs: 54_000, answerMs: 57_000 })
  t.same(timesWithin(1), { waitMs: 0, answerMs: 500 })
})

t.test('nothing but an approval is an allow, and each denial says what to do next', async (t) => {
  const pending = hold(submissionOf(), 'c1', 0)
  const resolution = { by: { kind: 'person', name: 'bob' }, at: 1, via: 'http', reason: 'not today' } as const
  const said = (answer: ReturnType<typeof allow>) => {
    const { hookEventName, permissionDecision, permissionDecisionReason } = answer.hookSpecificOutput!
    t.equal(hookEventName, 'PreToolUse')
    return `${permissionDecision}: ${permissionDecisionReason}`
  }
  const execution = { state: 'claimed', claimBy: 9, claimedAt: 1, reportBy: 9 } as const
  t.match(said(allow({ ...pending, status: 'approved', resolution, execution })), /^allow: Approved by bob, .*c1/)
  t.match(said(denyFor(pending)), /^deny: Still pending, ID c1: .* make exactly this call again/)
  for (const status of ['denied', 'expired', 'cancelled'] as const) {
    t.match(
      said(denyFor({ ...pending, status, resolution, execution: null })),
      /^deny: .*c1.*may not run|^deny: .*final/,
    )
  }
  t.match(
    said(denyFor({ ...pending, status: 'denied', resolution, execution: null })),
    /^deny: bob denied this, because: not today/,
  )
  t.match(said(denyFor({ ...pending, status: 'approved', resolution, execution })), /^deny: .* used for another call/)
  t.match(said(denyBecause('rate_limited', 'Too many.')), /^deny: .*\(rate_limited\): Too many\. /)
  t.match(said(denyBecause('denied_before', 'bob denied it.')), /final/)
})
