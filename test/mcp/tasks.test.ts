// Long waits as tasks, for hosts that declare the extension on the request. The official client does not speak it yet, so these
// requests are written by hand.
import t, { type Test } from 'tap'
import { build, type BuildOptions, type Built, counter } from '../support.js'
import { pace } from './hosts.js'

const extension = 'io.modelcontextprotocol/tasks'
const ask = { action: 'refund', description: 'Refund an order', details: { order: 4711 } }
const claim = { action: ask.action, details: ask.details }

interface Speaking extends Built {
  rpc(method: string, params: { [name: string]: unknown }, more?: { isDeclared?: boolean }): Promise<any>
  tool(name: string, given: object, more?: { isDeclared?: boolean }): Promise<any>
}

async function speak(t: Test, options: BuildOptions = {}): Promise<Speaking> {
  const built = await build(t, { mcpPace: pace, ...options })
  let count = 0
  const rpc: Speaking['rpc'] = async (method, params, { isDeclared = true } = {}) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': isDeclared ? { extensions: { [extension]: {} } } : {},
    }
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': (params.taskId ?? params.name ?? '') as string,
    }
    const message = { jsonrpc: '2.0', id: (count += 1), method, params: { ...params, _meta } }
    const { status, body } = await built.call('POST', '/mcp', message, headers)
    if (body.error !== undefined) return { status, ...body.error }
    const { _meta: __, ...result } = body.result
    return result
  }
  return { ...built, rpc, tool: (name, given, more) => rpc('tools/call', { name, arguments: given }, more) }
}

t.test('who declares it is answered with a task at once, and finds the answer there', async (t) => {
  const { rpc, tool, call } = await speak(t)
  const task = await tool('request_approval', ask)
  t.match(task, { resultType: 'task', status: 'working', createdAt: /^2026-/, ttlMs: null, pollIntervalMs: Number })
  const { taskId } = task
  t.match((await call('GET', `/confirm/${taskId}`)).body, { status: 'pending', ...ask }, 'it is the confirmation')
  t.match(await rpc('tasks/get', { taskId }), { resultType: 'complete', taskId, status: 'working' })
  await call('POST', `/confirm/${taskId}/approve`)
  const done = await rpc('tasks/get', { taskId })
  t.match(done, {
    status: 'completed',
    result: { structuredContent: { status: 'approved', may_act: false, id: taskId } },
  })
  t.same(JSON.parse(done.result.content[0].text), done.result.structuredContent)
  t.match(await tool('claim_approval', { id: taskId, ...claim }), { structuredContent: { may_act: true } })
})

t.test('a denial and an expiry are completed tasks whose result says so; what is withdrawn is cancelled', async (t) => {
  const { rpc, tool, call, clock } = await speak(t)
  const [denied, expired, withdrawn] = await Promise.all([1, 2, 3].map(() => tool('request_approval', ask)))
  await call('POST', `/confirm/${denied.taskId}/deny`, { denier: 'bob', reason: 'too much' })
  await call('POST', `/confirm/${withdrawn.taskId}/cancel`)
  await clock.advance(301_000)
  t.match(await rpc('tasks/get', { taskId: denied.taskId }), {
    status: 'completed',
    result: {
      structuredContent: {
        status: 'denied',
        id: denied.taskId,
        resolved_by: 'bob',
        reason: 'too much',
        may_act: false,
      },
    },
  })
  t.match(await rpc('tasks/get', { taskId: expired.taskId }), {
    status: 'completed',
    result: { structuredContent: { status: 'expired', id: expired.taskId, may_act: false } },
  })
  const cancelled = await rpc('tasks/get', { taskId: withdrawn.taskId })
  t.match(cancelled, { status: 'cancelled' })
  t.notOk('result' in cancelled)
})

t.test('to cancel the task withdraws the request; what is over stays as it is', async (t) => {
  const { rpc, tool, call } = await speak(t)
  const { taskId } = await tool('request_approval', ask)
  t.same(await rpc('tasks/cancel', { taskId }), { resultType: 'complete' })
  t.match((await call('GET', `/confirm/${taskId}`)).body, {
    status: 'cancelled',
    reason: 'The host cancelled the task.',
  })
  const other = await tool('request_approval', ask)
  await call('POST', `/confirm/${other.taskId}/approve`)
  t.same(await rpc('tasks/cancel', { taskId: other.taskId }), { resultType: 'complete' })
  t.match(await rpc('tasks/get', { taskId: other.taskId }), { status: 'completed' })
})

t.test('a wait for what is pending is that task; for what is not it is the answer', async (t) => {
  const { tool, call } = await speak(t)
  const { taskId } = await tool('request_approval', ask)
  t.match(await tool('wait_for_decision', { id: taskId }), { resultType: 'task', taskId, status: 'working' })
  await call('POST', `/confirm/${taskId}/approve`)
  t.match(await tool('wait_for_decision', { id: taskId }), {
    resultType: 'complete',
    structuredContent: { status: 'approved' },
  })
})

t.test('whitelisted is answered at once, as no task', async (t) => {
  const { tool, call } = await speak(t)
  await call('POST', '/whitelist', { action: 'refund' })
  t.match(await tool('request_approval', ask), { structuredContent: { status: 'auto_approved', may_act: false } })
})

t.test('who does not declare it on the very request gets none, and may not ask for one', async (t) => {
  const { rpc, tool } = await speak(t)
  const { taskId } = await tool('request_approval', ask)
  const plain = { isDeclared: false }
  t.match(await tool('request_approval', ask, plain), {
    resultType: 'complete',
    structuredContent: { status: 'pending' },
  })
  t.match(await tool('wait_for_decision', { id: taskId }, plain), { structuredContent: { status: 'pending' } })
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    t.match(await rpc(method, { taskId, inputResponses: {} }, plain), {
      status: 400,
      code: -32021,
      data: { requiredCapabilities: { extensions: { [extension]: {} } } },
    })
  }
  t.match(await rpc('tasks/get', { taskId }), { status: 'working' })
})

t.test('what is no task is an error of the protocol', async (t) => {
  const { rpc } = await speak(t)
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    t.match(await rpc(method, { taskId: 'none' }), { code: -32602, message: /There is no such task/ })
  }
  t.match(await rpc('tasks/get', { taskId: 4711 }), { code: -32602 })
  t.match(await rpc('tasks/list', {}), { code: -32601 })
})

t.test('a task is there after a restart, and is its requester’s alone', async (t) => {
  const first = await speak(t)
  const { taskId } = await first.tool('request_approval', ask)
  t.same(await first.rpc('tasks/update', { taskId, inputResponses: {} }), { resultType: 'complete' }, 'it asks nothing')
  await first.stop()
  const { dbPath, clock } = first
  const second = await speak(t, { dbPath, clock, newId: counter('later') })
  t.match(await second.rpc('tasks/get', { taskId }), { status: 'working' })
  await second.call('POST', `/confirm/${taskId}/approve`)
  t.match(await second.rpc('tasks/get', { taskId }), { status: 'completed' })
})

t.test('the server says that it has the extension, and a permission prompt is never a task', async (t) => {
  const { rpc, tool } = await speak(t)
  t.match(await rpc('server/discover', {}), { capabilities: { extensions: { [extension]: {} } } })
  const { content } = await tool('permission_prompt', { tool_name: 'Bash', input: { command: 'ls' } })
  t.match(JSON.parse(content[0].text), { behavior: 'deny' })
})
