// A stand-in for the adapters of the Agent Approval Protocol's own CLI, which is no npm package: it sends what each of the six
// sends for its runtime, believes an answer as little as they do, and lets a call run as rarely.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

export interface Adapter {
  base: string
  token: string
  /** Approvals that were used up, by their ids: on disk there, here in memory. */
  used: Set<string>
  fetch?: typeof fetch
  /** Called before each pause, in place of it. */
  pause?: (ms: number) => Promise<void>
  now?: () => number
}

export interface Outcome {
  runs: boolean
  /** Null: no decision was obtained. */
  status: string | null
  note?: string
}

interface Call {
  tool: string
  server?: string
  arguments: Record<string, unknown>
  timeout: string
  agent_reasoning?: string
  context: Record<string, unknown> & { call_id: string }
}

const week = '604800s'
const withServer = (name: string, marker: 'mcp__' | ''): Pick<Call, 'tool' | 'server'> => {
  const [, server, tool] = new RegExp(`^${marker}(.+?)__(.+)$`, 's').exec(name) ?? []
  return server === undefined || tool === undefined ? { tool: name } : { tool, server }
}

/** What each runtime's hook is told of a call, as what its adapter sends. */
export const runtimes: Record<string, (name: string, input: Record<string, unknown>, callId: string) => Call> = {
  'claude-code': (name, input, callId) => ({
    ...withServer(name, 'mcp__'),
    arguments: input,
    timeout: week,
    agent_reasoning: 'I will look at the folder.',
    context: { call_id: callId, cwd: '/work', runtime: 'claude-code', session_id: 'session-1' },
  }),
  codex: (name, input, callId) => ({
    ...withServer(name, 'mcp__'),
    arguments: input,
    timeout: week,
    context: {
      call_id: callId,
      cwd: '/work',
      hook_event: 'PreToolUse',
      runtime: 'codex',
      session_id: 's',
      turn_id: 't1',
    },
  }),
  deepseek: (name, input, callId) => ({
    ...withServer(name, 'mcp__'),
    arguments: input,
    timeout: week,
    context: { call_id: callId, cwd: '', runtime: 'deepseek', session_id: '' },
  }),
  hermes: (name, input, callId) => ({
    ...withServer(name, 'mcp__'),
    arguments: input,
    timeout: '270s',
    context: { api_request_id: 'a', call_id: callId, hook_event: 'pre_tool_call', runtime: 'hermes', session_id: 'h' },
  }),
  openclaw: (name, input, callId) => ({
    ...withServer(name, ''),
    arguments: input,
    timeout: week,
    context: { agent_id: 'main', call_id: callId, run_id: 'r', runtime: 'openclaw', session_id: 'o', session_key: 'k' },
  }),
  pi: (name, input, callId) => ({
    tool: name,
    arguments: input,
    timeout: '30s',
    agent_reasoning: 'pi',
    context: { call_id: callId, cwd: '/work', runtime: 'pi', session_id: 'p' },
  }),
}

/** One call: whether it may run. */
export async function decide(adapter: Adapter, call: Call): Promise<Outcome> {
  const { now = Date.now } = adapter
  const body = JSON.stringify(call)
  const key = createHash('sha256').update(`${call.context.call_id}\0${body}`).digest('hex')
  const giveUpAt = now() + Number(call.timeout.slice(0, -1)) * 1000 + 10_000
  let id: string | null = null
  try {
    let request = check(await exchange(adapter, giveUpAt, 'POST', '/v1/requests', body, key), call, null)
    id = String(request.id)
    const pollUntil = Math.min(giveUpAt, Date.parse(String(request.deadline_at)) + 10_000)
    while (request.status === 'pending') {
      if (now() >= pollUntil) throw new Error('no decision in time')
      const wait = Math.max(1, Math.min(25, Math.floor((pollUntil - now()) / 1000)))
      request = check(await exchange(adapter, pollUntil, 'GET', `/v1/requests/${id}?wait=${wait}s`), call, request)
    }
    const pendingId = id
    id = null
    const decision = request.decision as { status: string; note?: string; expires_at: string }
    const { status, note } = decision
    const said = { status, ...(note === undefined ? {} : { note }) }
    if (status !== 'approved') return { runs: false, ...said }
    if (now() >= Date.parse(decision.expires_at)) return { runs: false, status: 'expired' }
    if (adapter.used.has(pendingId)) throw new Error('used before')
    adapter.used.add(pendingId)
    return { runs: true, ...said }
  } catch {
    if (id !== null) await ask(adapter, 'DELETE', `/v1/requests/${id}`).catch(() => null)
    return { runs: false, status: null }
  }
}

/** Again after a fault, a 429 or a 5xx, as long as there is time; whatever else is no success ends it. */
async function exchange(
  adapter: Adapter,
  until: number,
  method: 'GET' | 'POST',
  path: string,
  body?: string,
  key?: string,
): Promise<string> {
  const { now = Date.now, pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = adapter
  for (let delay = 100; ; delay = Math.min(2 * delay, 2000)) {
    const response = await ask(adapter, method, path, body, key).catch(() => null)
    const isGood = response?.status === 200 || (response?.status === 201 && method === 'POST')
    if (response !== null && isGood) return response.text()
    if (response !== null && response.status !== 429 && response.status < 500)
      throw new Error(`HTTP ${response.status}`)
    const after = response?.headers.get('retry-after') ?? '0'
    if (!/^\d+$/.test(after)) throw new Error('it says no time to come back')
    await response?.body?.cancel()
    const wait = Math.max(delay, Number(after) * 1000)
    if (now() + wait >= until) throw new Error('no time left')
    await pause(wait)
  }
}

function ask({ base, token, fetch: get = fetch }: Adapter, method: string, path: string, body?: string, key?: string) {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (key !== undefined) headers['idempotency-key'] = key
  return get(base + path, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) })
}

const fields = [
  'id',
  'tool',
  'server',
  'arguments',
  'timeout',
  'agent_reasoning',
  'context',
  'status',
  'created_at',
  'deadline_at',
  'decision',
]
const decisionFields = ['status', 'note', 'decided_at', 'expires_at']
const statuses = ['pending', 'approved', 'denied', 'expired', 'cancelled']

/** The same call, the same request as before, in a state that makes sense; anything else is no answer. */
function check(text: string, call: Call, before: Record<string, unknown> | null): Record<string, unknown> {
  const request = JSON.parse(text) as Record<string, unknown>
  const insist = (holds: boolean, what: string) => {
    if (!holds) throw new Error(`the answer has ${what}`)
  }
  const known = (value: object, names: string[]) =>
    Object.entries(value).every(([name, one]) => names.includes(name) && one !== null)
  insist(known(request, fields), 'an unknown field, or null')
  const { id, status, created_at, deadline_at, decision, ...echo } = request
  insist(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(id)), 'an id that is no UUID')
  insist(isDeepStrictEqual(echo, JSON.parse(JSON.stringify(call))), 'another call')
  const timeOf = (value: unknown) => (String(value).endsWith('Z') ? Date.parse(String(value)) : NaN)
  insist(timeOf(deadline_at) > timeOf(created_at), 'no time')
  if (before !== null) {
    const isSame = ['id', 'created_at', 'deadline_at'].every((name) => before[name] === request[name])
    insist(isSame, 'another request')
  }
  insist(statuses.includes(String(status)), 'an unknown status')
  if (status === 'pending') {
    insist(decision === undefined, 'a decision while it is pending')
    return request
  }
  insist(typeof decision === 'object' && decision !== null && known(decision, decisionFields), 'no decision')
  const { decided_at, expires_at, status: outcome } = decision as Record<string, unknown>
  insist(outcome === status && timeOf(decided_at) >= timeOf(created_at), 'another decision')
  if (status === 'approved') insist(timeOf(expires_at) > timeOf(decided_at), 'an approval without end')
  else insist(expires_at === undefined, 'an end that is no approval’s')
  return request
}
