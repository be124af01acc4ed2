// The adapters, each against the package that it is for: what a model is told, what runs, and what the record says.
import { tool as openaiTool, RunContext } from '@openai/agents-core'
import { generateText, stepCountIs, tool, type ToolExecuteFunction } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { createAgent, createMiddleware, FakeToolCallingModel, tool as langchainTool } from 'langchain'
import t from 'tap'
import { z } from 'zod'
import * as aiSdk from '../../src/client/adapters/ai-sdk.js'
import * as claude from '../../src/client/adapters/claude-agent-sdk.js'
import * as langchain from '../../src/client/adapters/langchain.js'
import * as openai from '../../src/client/adapters/openai-agents.js'
import { type FakeAnswer, Holdpoint } from '../../src/client/index.js'

const schema = z.object({ order: z.number(), note: z.string().optional() })
const description = 'Refund an order.'
const denial: FakeAnswer = { outcome: 'denied', by: 'bob', reason: 'too much' }
const told = /denied by \\?"bob\\?".*too much.*not done/

t.test('Vercel AI SDK', async (t) => {
  const ran: unknown[] = []
  const once = async (input: { order: number }) => {
    ran.push(input)
    return `refunded ${input.order}`
  }
  const run = async (holdpoint: Holdpoint, passes: string[] = [], execute: ToolExecuteFunction<any, any> = once) => {
    ran.length = 0
    const tools = aiSdk.guardTools(
      holdpoint,
      { refund: tool({ description, inputSchema: schema, execute }) },
      { passes },
    )
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
    let turn = 0
    const model = new MockLanguageModelV3({
      doGenerate: async () =>
        (turn += 1) === 1
          ? {
              content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'refund', input: '{"order":4711}' }],
              finishReason: { unified: 'tool-calls', raw: undefined },
              usage,
              warnings: [],
            }
          : {
              content: [{ type: 'text', text: 'ok' }],
              finishReason: { unified: 'stop', raw: undefined },
              usage,
              warnings: [],
            },
    })
    await generateText({ model, tools, prompt: 'Refund 4711', stopWhen: stepCountIs(3) })
    return { ran: [...ran], seen: JSON.stringify(model.doGenerateCalls.at(-1)!.prompt) }
  }
  const yes = Holdpoint.fake({ answer: 'approved' })
  const approved = await run(yes)
  t.same(approved.ran, [{ order: 4711 }])
  t.match(approved.seen, /refunded 4711/)
  t.match(yes.asked, [{ action: 'refund', description: 'refund: Refund an order.', execution: 'succeeded' }])
  const denied = await run(Holdpoint.fake({ answer: denial }))
  t.same(denied.ran, [])
  t.match(denied.seen.replaceAll('\\', ''), told)
  const passing = Holdpoint.fake({ answer: denial })
  t.same((await run(passing, ['refund'])).ran, [{ order: 4711 }])
  t.same(passing.asked, [])
  const streams = Holdpoint.fake({ answer: 'approved' })
  const streamed = await run(streams, [], async function* (input: { order: number }) {
    yield 'refunding'
    yield await once(input)
  })
  t.same(streamed.ran, [{ order: 4711 }], 'a tool that streams acts before its outcome is told')
  t.match(streamed.seen, /refunded 4711/)
  t.match(streams.asked, [{ execution: 'succeeded' }])
})

t.test('OpenAI Agents SDK', async (t) => {
  const run = async (holdpoint: Holdpoint, execute: (input: z.output<typeof strict>) => unknown) => {
    const options = { name: 'refund', description, parameters: strict, execute }
    const made = openaiTool(
      openai.guardTool(holdpoint, options, { describe: ({ input }) => `Refund ${String(input.order)}` }),
    )
    const toolCall = { type: 'function_call', callId: 'call_1', name: 'refund', arguments: '' } as const
    return made.invoke(new RunContext(), '{"order":4711}', { toolCall })
  }
  const strict = z.object({ order: z.number() })
  const yes = Holdpoint.fake({ answer: 'approved' })
  t.equal(await run(yes, ({ order }) => `refunded ${order}`), 'refunded 4711')
  t.match(yes.asked, [
    { action: 'refund', description: 'Refund 4711', details: { order: 4711 }, execution: 'succeeded' },
  ])
  t.match(await run(Holdpoint.fake({ answer: denial }), () => t.fail()), told)
  const failing = Holdpoint.fake({ answer: 'approved' })
  t.match(await run(failing, () => Promise.reject(new Error('no such order'))), /no such order/, 'as without the gate')
  t.match(failing.asked, [{ execution: 'failed' }])
})

t.test('LangChain', async (t) => {
  const run = async (holdpoint: Holdpoint, passes: string[] = []) => {
    const ran: unknown[] = []
    const refund = langchainTool(
      ({ order }) => {
        ran.push(order)
        return `refunded ${order}`
      },
      { name: 'refund', description, schema },
    )
    const model = new FakeToolCallingModel({
      toolCalls: [[{ name: 'refund', args: { order: 4711 }, id: 'call_1' }], []],
    })
    const wrapToolCall = langchain.guardTools(holdpoint, { passes })
    const agent = createAgent({
      model,
      tools: [refund],
      middleware: [createMiddleware({ name: 'Holdpoint', wrapToolCall })],
    })
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Refund 4711' }] })
    return { ran, seen: messages.find(({ type }) => type === 'tool') }
  }
  const yes = Holdpoint.fake({ answer: 'approved' })
  const approved = await run(yes)
  t.same(approved.ran, [4711])
  t.equal(approved.seen?.content, 'refunded 4711')
  t.match(yes.asked, [{ action: 'refund', description: 'refund: Refund an order.', execution: 'succeeded' }])
  const denied = await run(Holdpoint.fake({ answer: denial }))
  t.same(denied.ran, [])
  t.match(denied.seen?.content, told)
  t.equal((denied.seen as { tool_call_id?: string }).tool_call_id, 'call_1')
  t.same((await run(Holdpoint.fake({ answer: denial }), ['refund'])).ran, [4711])
})

t.test('Claude Agent SDK: its hooks, closed unless a person has approved', async (t) => {
  const use = (more: object = {}) => ({
    session_id: 's1',
    transcript_path: '',
    cwd: '/',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'rm -r build' },
    tool_use_id: 'toolu_1',
    ...more,
  })
  const signal = new AbortController().signal
  const yes = Holdpoint.fake({ answer: 'approved' })
  const { PreToolUse, PostToolUse, PostToolUseFailure } = claude.guardTools(yes)
  t.match(
    PreToolUse,
    [{ onFailure: 'block', timeout: 360, matcher: undefined }],
    'every tool, and closed where it fails',
  )
  const ask = PreToolUse[0]!.hooks[0]!
  t.same(await ask(use(), 'toolu_1', { signal }), {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'allow',
      permissionDecisionReason: 'A person approved it.',
      updatedInput: { command: 'rm -r build' },
    },
  })
  t.match(yes.asked, [{ action: 'Bash', session_key: 's1', execution: 'claimed' }])
  const after = use({ hook_event_name: 'PostToolUse', tool_response: 'ok' })
  t.same(await PostToolUse[0]!.hooks[0]!(after, 'toolu_1', { signal }), {})
  t.match(yes.asked, [{ execution: 'succeeded' }])

  const again = await ask(use(), 'toolu_1', { signal })
  t.match(again, { hookSpecificOutput: { permissionDecision: 'deny' } }, 'an approval is good for one call')
  await ask(use({ tool_use_id: 'toolu_2' }), 'toolu_2', { signal })
  const failed = use({ hook_event_name: 'PostToolUseFailure', tool_use_id: 'toolu_2', error: 'no such file' })
  await PostToolUseFailure[0]!.hooks[0]!(failed, 'toolu_2', { signal })
  t.match(yes.asked[1], { execution: 'failed', report_message: 'no such file' })

  const outcomes = [
    'denied',
    'expired',
    'cancelled',
    'claim_refused',
    'claim_uncertain',
    'unreachable',
    'suspended',
  ] as const
  for (const outcome of outcomes) {
    const [no] = claude.guardTools(Holdpoint.fake({ answer: outcome })).PreToolUse
    const answer = await no!.hooks[0]!(use(), 'toolu_1', { signal })
    t.match(answer, { hookSpecificOutput: { permissionDecision: 'deny', updatedInput: undefined } }, outcome)
  }
  const [odd] = claude.guardTools(yes, { describe: () => { throw new Error('mine') } }).PreToolUse // prettier-ignore
  for (const wrong of [use(), use({ tool_input: 'rm' }), use({ tool_input: null }), use({ tool_use_id: undefined })]) {
    const answer = await odd!.hooks[0]!(wrong, undefined, { signal })
    t.match(answer, { hookSpecificOutput: { permissionDecision: 'deny' } })
  }
  const [passing] = claude.guardTools(yes, { passes: ['Bash'] }).PreToolUse
  t.same(await passing!.hooks[0]!(use(), 'toolu_1', { signal }), {}, "the host's own rules go on")
})
