// The quick starts of the TypeScript client, as they are written: they compile, they are short, and they do what they say.
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { root, start } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'
import { readDocument } from './markdown.js'

const mail = `export const deliver = async (mail: { to: string; subject: string }) => 'delivered to ' + mail.to\n`
const refunding = `import { z } from 'zod'
export const schema = z.object({ order: z.number() })
export const refunded = ({ order }: { order: number }) => 'refunded ' + order
`
const aiSdkAgent = `import { tool } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { refunded, schema } from './refunding.js'
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never
export const tools = { refund: tool({ description: 'Refund an order.', inputSchema: schema, execute: refunded }) }
export const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const last = JSON.stringify(prompt.at(-1))
    const isDone = last.includes('tool-result')
    return {
      content: isDone
        ? [{ type: 'text', text: last.includes('refunded 4711') ? 'I have refunded 4711' : 'I have not' }]
        : [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'refund', input: '{"order":4711}' }],
      finishReason: { unified: isDone ? 'stop' : 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    }
  },
})
`
const openaiAgent = `import { type Model, setDefaultModelProvider, setTracingDisabled, Usage } from '@openai/agents'
import { refunded, schema } from './refunding.js'
setTracingDisabled(true)
export const refund = { name: 'refund', description: 'Refund an order.', parameters: schema, execute: refunded }
export const model: Model = {
  getResponse: async ({ input }) => {
    const done = JSON.stringify(input).includes('refunded 4711')
    const call = { type: 'function_call', callId: 'call_2', name: 'refund', arguments: '{"order":4711}', status: 'completed' }
    const text = { type: 'output_text', text: 'I have refunded 4711' }
    const message = { type: 'message', role: 'assistant', status: 'completed', content: [text] }
    return { usage: new Usage(), output: [done ? message : call] as never, responseId: 'r' }
  },
  getStreamedResponse: () => { throw new Error('not played') },
}
setDefaultModelProvider({ getModel: () => model })
`
const langchainAgent = `import { FakeToolCallingModel, tool } from 'langchain'
import { refunded, schema } from './refunding.js'
export const tools = [tool(refunded, { name: 'refund', description: 'Refund an order.', schema })]
export const model = new FakeToolCallingModel({ toolCalls: [[{ name: 'refund', args: { order: 4711 }, id: 'call_3' }], []] })
`
/** What a reader has already, beside each other. */
const files: Record<string, string> = {
  'mail.ts': mail,
  'refunding.ts': refunding,
  'ai-sdk-agent.ts': aiSdkAgent,
  'openai-agent.ts': openaiAgent,
  'langchain-agent.ts': langchainAgent,
}

/** Each by a word that is in it alone, with what it prints. The Claude Agent SDK is no program that can be played here. */
const prints: [word: string, printed: RegExp | null][] = [
  ["'./mail.js'", /^delivered to bob@example\.com\n$/],
  ["'drop_table'", /^orders_2019 is dropped\n$/],
  ["'rotate_logs'", /^rotated on db-1\n$/],
  ["'holdpoint/client/ai-sdk'", /^I have refunded 4711\n$/],
  ["'holdpoint/client/openai-agents'", /^I have refunded 4711\n$/],
  ["'holdpoint/client/langchain'", /\nrefunded 4711\n/],
  ["'holdpoint/client/claude-agent-sdk'", null],
  ['Holdpoint.fake', /^5 denied\n\[ 'succeeded', null \]\n$/],
  ['holdpoint.follow', /^Send a mail to bob@example\.com\n$/],
]

const examples = [...readDocument('docs/typescript.md').text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(
  ([, code]) => code!,
)

/** The types that the Claude Agent SDK gives to what is used of it: it brings a program of hundreds of megabytes itself. */
const claude = `declare module '@anthropic-ai/claude-agent-sdk' {
  type Answer = { hookSpecificOutput?: { hookEventName: 'PreToolUse'; permissionDecision?: 'allow' | 'deny' | 'ask' | 'defer';
    permissionDecisionReason?: string; updatedInput?: Record<string, unknown>; additionalContext?: string } }
  type Input = { session_id: string; transcript_path: string; cwd: string } & (
    | { hook_event_name: 'PreToolUse'; tool_name: string; tool_input: unknown; tool_use_id: string }
    | { hook_event_name: 'PostToolUse'; tool_name: string; tool_input: unknown; tool_response: unknown; tool_use_id: string }
    | { hook_event_name: 'Stop'; stop_hook_active: boolean })
  type HookCallback = (input: Input, id: string | undefined, options: { signal: AbortSignal }) => Promise<Answer>
  type Matcher = { matcher?: string; hooks: HookCallback[]; timeout?: number; onFailure?: 'continue' | 'block' }
  type Hooks = Partial<Record<'PreToolUse' | 'PostToolUse' | 'PostToolUseFailure' | 'Stop', Matcher[]>>
  export function query(asked: { prompt: string; options?: { hooks?: Hooks } }): AsyncIterable<{ type: string }>
}
`

/** A project of a reader's: the package and the frameworks are installed. Answers with what does not compile. */
function compileIn(folder: string): string[] {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@openai'), { recursive: true })
  for (const name of ['ai', 'langchain', 'zod', '@langchain']) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  symlinkSync(root, join(modules, 'holdpoint'))
  // The other packages of @openai/agents are for OpenAI's own API, and are not used here.
  symlinkSync(join(root, 'node_modules/@openai/agents-core'), join(modules, '@openai/agents'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const sources = { ...files, ...Object.fromEntries(examples.map((code, index) => [`example-${index}.ts`, code])) }
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'claude.d.ts'), claude)
  const names = [...Object.keys(sources), 'claude.d.ts'].map((name) => join(folder, name))
  const program = ts.createProgram(names, {
    strict: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    skipLibCheck: true,
  })
  program.emit()
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

t.test('each example is known here, and at most five lines are the reader’s own', async (t) => {
  t.equal(examples.length, prints.length)
  for (const [word] of prints) {
    const found = examples.filter((code) => code.includes(word))
    t.equal(found.length, 1, word)
    const own = found[0]!.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('import '))
    t.ok(own.length <= 5, `${word}: ${own.length} lines`)
  }
})

t.test('each example compiles, and does what the document says, once a person approves', async (t) => {
  const folder = temporaryFolder(t)
  t.same(compileIn(folder), [])
  const program = await start(t)
  const stop = approveAll(t, program.call)
  const env = { PATH: process.env.PATH ?? '', HOLDPOINT_URL: `http://127.0.0.1:${program.port}` }
  const run = async ([word, printed]: (typeof prints)[number]) => {
    if (printed === null) return
    const file = `example-${examples.findIndex((code) => code.includes(word))}.js`
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], {
      cwd: folder,
      env,
      timeout: 60_000,
    })
    t.match(stdout, printed, `${word}: ${stderr}`)
  }
  // What the first has asked for is what is followed.
  await run(prints[0]!)
  await Promise.all(prints.slice(1).map(run))
  await stop()
  const { body } = await program.call('GET', '/audit')
  t.ok(body.count >= 6)
  for (const { action, execution } of body.entries) t.equal(execution, 'succeeded', action)
})

function approveAll(t: Test, call: (method: string, path: string, body?: unknown) => Promise<{ body: any }>) {
  let isOver = false
  const approving = (async () => {
    while (!isOver) {
      const { body } = await call('GET', '/confirm?status=pending')
      for (const { id } of body.confirmations) await call('POST', `/confirm/${id}/approve`, { approver: 'alice' })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const stop = () => {
    isOver = true
    return approving
  }
  t.teardown(stop)
  return stop
}
