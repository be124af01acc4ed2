// A request of the Agent Approval Protocol in the words of a submission, and back; durations; errors.
import fc from 'fast-check'
import t from 'tap'
import { readDuration } from '../../src/aap/duration.js'
import { inProtocol, isAapPath, paramIn } from '../../src/aap/problem.js'
import { describe, findRequest, type Proposed } from '../../src/aap/request.js'
import { hold, resolve } from '../../src/core/confirmation.js'
import { digestOf, fingerprintOf } from '../../src/core/digest.js'
import type { Confirmation, Submission } from '../../src/core/model.js'
import { person } from '../actors.js'
import { submissionOf } from '../submission.js'

const now = Date.UTC(2026, 0, 1)
const proposed = (fields: Partial<Proposed> = {}): Proposed => ({
  tool: 'Bash',
  arguments: { command: 'ls' },
  timeout: '30m',
  ...fields,
})
const submissionFor = (of: Proposed): Submission => {
  const described = describe(of)
  return submissionOf({ ...described, timeoutSeconds: described.timeoutSeconds! })
}
const held = (of: Proposed) => hold(submissionFor(of), 'id', now)

t.test('a duration is a positive whole number with its unit, and nothing else', async (t) => {
  t.equal(readDuration('1s'), 1)
  t.equal(readDuration('30m'), 1800)
  t.equal(readDuration('24h'), 86_400)
  t.equal(readDuration(`${'9'.repeat(400)}h`), Number.MAX_SAFE_INTEGER)
  for (const text of [
    '',
    's',
    '0s',
    '030s',
    '-1s',
    '+1s',
    '1',
    '1.5m',
    '1 s',
    '1d',
    '1S',
    '1ms',
    '١s',
    '1s\n',
    '1s1s',
  ]) {
    t.equal(readDuration(text), null, JSON.stringify(text))
  }
})

t.test('a tool is named as hooks name it, so that one rule is for both', async (t) => {
  t.equal(describe(proposed()).action, 'tool:Bash')
  t.equal(describe(proposed({ tool: 'create_issue', server: 'github' })).action, 'tool:mcp__github__create_issue')
  t.equal(describe(proposed({ context: { mcp_server: '' } })).action, 'tool:Bash')
})

t.test(
  "a tool of somebody's server passes for none of the host's own, wherever an adapter says whose it is",
  async (t) => {
    for (const one of [
      { server: 'evil' },
      { context: { mcp_server: 'evil' } },
      { server: 'evil', context: { mcp_server: 'good' } },
    ]) {
      t.equal(describe(proposed({ tool: 'Read', ...one })).action, 'tool:mcp__evil__Read')
    }
    for (const odd of [7, null, {}, true]) {
      t.equal(describe(proposed({ tool: 'Read', context: { mcp_server: odd } })).action, 'tool:mcp__unknown__Read')
    }
  },
)

t.test('the details are the arguments, and the folder where there is one', async (t) => {
  t.equal(describe(proposed()).details, '{"tool_input":{"command":"ls"}}')
  t.equal(
    describe(proposed({ context: { cwd: '/w', call_id: 'c1' } })).details,
    '{"tool_input":{"command":"ls"},"cwd":"/w"}',
  )
  for (const cwd of ['', 7, null]) t.notMatch(describe(proposed({ context: { cwd } })).details, 'cwd', 'no folder')
})

t.test('what differs with each call is no part of what is approved', async (t) => {
  const one = submissionFor(proposed({ context: { call_id: 'c1' }, agent_reasoning: 'once' }))
  const other = submissionFor(proposed({ context: { call_id: 'c2' }, agent_reasoning: 'again' }))
  t.equal(digestOf(one), digestOf(other))
  t.not(digestOf(one), digestOf(submissionFor(proposed({ arguments: { command: 'ls -a' } }))))
})

t.test('whatever is sent tells one request from another, but for how it is written', async (t) => {
  const of = (fields: Partial<Proposed>) => fingerprintOf(submissionFor(proposed(fields)))
  t.equal(
    of({ context: { a: 1, b: { c: 2, d: 3 } }, arguments: { x: 1, y: 2 } }),
    of({ arguments: { y: 2, x: 1 }, context: { b: { d: 3, c: 2 }, a: 1 } }),
  )
  const all = [
    {},
    { tool: 'bash' },
    { server: 's' },
    { arguments: {} },
    { timeout: '1800s' },
    { timeout: '604800s' },
    { timeout: '604801s' },
    { agent_reasoning: '' },
    { agent_reasoning: 'r' },
    { context: {} },
    { context: { a: 1 } },
    { context: { cwd: '/w' } },
  ].map(of)
  t.equal(new Set(all).size, all.length)
  t.equal(fingerprintOf(submissionOf()), fingerprintOf(submissionOf({ aap: null })))
})

t.test('a session is what the runtime calls so, and nothing that could not be one', async (t) => {
  const sessionOf = (session_id: unknown) => describe(proposed({ context: { session_id } })).sessionKey
  t.equal(sessionOf('s1'), 's1')
  t.equal(sessionOf('s'.repeat(1000)), 's'.repeat(1000))
  for (const none of ['', 7, null, {}, 's'.repeat(1001), 'a\0b']) t.equal(sessionOf(none), '')
  t.equal(describe(proposed()).sessionKey, '')
})

t.test("a person reads the agent's words as the agent's, whatever they imitate", async (t) => {
  const wordsOf = (fields: Partial<Proposed>) => describe(proposed(fields)).description.replace(/^.*\n\n/, '')
  t.equal(describe(proposed()).description, 'Run in the shell: ls\n\nThe agent gave no reason.')
  t.equal(wordsOf({}), 'The agent gave no reason.')
  t.equal(wordsOf({ agent_reasoning: ' \n' }), 'The agent gave no reason.')
  t.equal(wordsOf({ agent_reasoning: 'Charged twice.' }), 'The agent says:\n> Charged twice.')
  t.equal(
    wordsOf({ agent_reasoning: 'One.\r\nTwo.', context: { b: 1, a: 2 } }),
    'The agent says:\n> One.\n> Two.\n\nIts runtime says: {"a":2,"b":1}',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('a', ' ', '\n', '\r', '\u2028', '\u0085', '\v') }),
      async (text) => {
        const lines = wordsOf({ agent_reasoning: `x${text}` }).split(/[\n\r\v\f\u0085\u2028\u2029]/)
        return lines.shift() === 'The agent says:' && lines.every((line) => line.startsWith('> '))
      },
    ),
  )
})

t.test('whatever was put is answered again, equal in every field', async () => {
  const text = fc.string({ minLength: 1 }).filter((one) => one === one.trim())
  const object = fc.dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    fc.jsonValue() as fc.Arbitrary<unknown>,
  )
  const any = fc.record(
    {
      tool: text,
      server: text,
      arguments: object,
      timeout: fc.constant('5m'),
      agent_reasoning: fc.string(),
      context: object,
    },
    { requiredKeys: ['tool', 'arguments', 'timeout'] },
  )
  await fc.assert(
    fc.asyncProperty(any, async (asked) => {
      const sent = JSON.parse(JSON.stringify(asked)) as Proposed
      const { id, status, created_at, deadline_at, ...answered } = findRequest(held(sent))!
      return (
        fc.stringify(sorted(answered)) === fc.stringify(sorted(sent)) &&
        [id, status, created_at, deadline_at].join() === 'id,pending,2026-01-01T00:00:00.000Z,2026-01-01T00:05:00.000Z'
      )
    }),
  )
})

t.test('what did not come by the protocol is no request of it', async (t) => {
  t.equal(findRequest(hold(submissionOf(), 'id', now)), null)
})

t.test('a decision has a note where there is a reason, and an approval its end', async (t) => {
  const end = (status: 'approved' | 'auto_approved' | 'denied' | 'cancelled', reason: string | null) =>
    findRequest(
      resolve(held(proposed()), status, { by: person('a'), at: now + 5, via: 'http', reason }, 60_000) as Confirmation,
    )!
  t.same(end('approved', 'fine').decision, {
    status: 'approved',
    note: 'fine',
    decided_at: '2026-01-01T00:00:00.005Z',
    expires_at: '2026-01-01T00:01:00.005Z',
  })
  t.equal(end('auto_approved', null).status, 'approved')
  t.same(end('denied', null).decision, { status: 'denied', decided_at: '2026-01-01T00:00:00.005Z' })
  t.equal(end('cancelled', null).status, 'cancelled')
})

t.test('an error has the type that goes with its status, and the words of the protocol', async (t) => {
  t.same(inProtocol('key_reused', 422), { status: 409, type: 'conflict', code: 'idempotency_conflict' })
  t.same(inProtocol('already_resolved', 409), { status: 409, type: 'conflict', code: 'already_terminal' })
  t.same(inProtocol('session_suspended', 423), { status: 403, type: 'authorization', code: 'session_suspended' })
  t.same(inProtocol('already_claimed', 409), { status: 403, type: 'authorization', code: 'already_claimed' })
  t.same(inProtocol('body_too_large', 413), { status: 413, type: 'invalid_request', code: 'body_too_large' })
  t.same(inProtocol('storage_unavailable', 503), { status: 503, type: 'dependency', code: 'storage_unavailable' })
  t.equal(paramIn("Field 'tool' is required"), 'tool')
  t.equal(paramIn("The field 'tool' is required"), null)
  t.ok(isAapPath('/aap/v1/requests'))
  t.notOk(isAapPath('/aapv1'))
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  )
}
