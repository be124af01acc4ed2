// The hosts of the plugins as their documentation has them, each with the built plugin in a folder of its own: how they load
// it, what they give its hooks, and what they make of answers, exceptions and silence.
import { spawn } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { Ajv } from 'ajv'
import type { Test } from 'tap'
import type {
  AfterToolCall,
  Api,
  BeforeToolCall,
  BeforeToolCallResult,
  HookOptions,
} from '../../integrations/openclaw/host.js'
import { root } from '../e2e/program.js'
import { temporaryFolder } from '../support.js'

export interface ToolCall {
  tool?: string
  input?: Record<string, unknown>
  session?: string
  callId?: string
  /** With which words the tool fails, once it runs. */
  fails?: string
  /** Until when it runs. Hermes' tools take no time. */
  takes?: Promise<unknown>
  /** By which it is stopped. */
  signal?: AbortSignal
}

export interface Became {
  /** What the tool was called with; null if it was not. */
  ran: Record<string, unknown> | null
  /** What the model is told of a call that was blocked. */
  said: string
}

export interface Host {
  call(call?: ToolCall): Promise<Became>
  /** What the host's log says. */
  logged(): string
}

export interface Settings {
  url?: string
  /** A file with the agent's key. */
  keyFile?: string
  /** How long the host waits for a hook. */
  seconds?: number
  env?: Record<string, string>
  /** What happens to the installed plugin before it is loaded. */
  spoil?: (folder: string) => void
  /** What another plugin makes of every input, before this one. */
  rewrites?: Record<string, unknown>
  /** How long Hermes waits for a tool call; 420 unless it is said. */
  callSeconds?: number
  /** What else the host's settings have. */
  more?: Record<string, unknown>
}

export type StartHost = (t: Test, settings?: Settings) => Promise<Host>

function install(t: Test, name: string, { spoil }: Settings): string {
  const folder = join(temporaryFolder(t), 'plugins', 'holdpoint')
  cpSync(join(root, 'dist/integrations', name), folder, { recursive: true })
  spoil?.(folder)
  return folder
}

// -- Hermes ------------------------------------------------------------------------------------------------------------

export const startHermes: StartHost = async (t, settings = {}) => {
  const { url, keyFile, seconds, callSeconds, rewrites, env = {}, more = {} } = settings
  const entries = { holdpoint: { settings: { url, key_file: keyFile, ...more } } }
  const config = {
    plugins: { enabled: ['holdpoint'], entries, hook_callback_timeout: seconds },
    timeouts: { tools: { sequential_call: callSeconds, concurrent_batch: callSeconds } },
    rewrites,
  }
  const script = join(root, 'test/integrations/hermes_host.py')
  const child = spawn('python3', [script, install(t, 'hermes', settings), JSON.stringify(config)], {
    env: { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1', ...env },
    cwd: temporaryFolder(t),
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  t.teardown(() => {
    child.kill('SIGKILL')
    return ended
  })
  const waiting = new Map<number, (became: Became) => void>()
  const ready = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      const { number, ...became } = JSON.parse(line)
      if (number === undefined) resolve()
      else waiting.get(number)!(became)
    })
  })
  await Promise.race([ready, ended])
  let count = 0
  return {
    logged: () => said,
    call({ tool = 'terminal', input = {}, session = 'session-1', callId, fails, signal } = {}) {
      const number = count++
      const ids = { session_id: session, task_id: session, tool_call_id: callId ?? `call_${number}` }
      return new Promise((resolve, reject) => {
        waiting.set(number, resolve)
        void ended.then(() => reject(new Error(`the host ended: ${said}`)))
        child.stdin.write(`${JSON.stringify({ number, tool, args: input, fails, ...ids })}\n`)
        signal?.addEventListener('abort', () => child.stdin.write(`${JSON.stringify({ stop: number })}\n`))
      })
    },
  }
}

// -- OpenClaw ----------------------------------------------------------------------------------------------------------

interface Hook<H> {
  handler: H
  options: HookOptions
}

const usualBudgetMs = 15_000

export const startOpenClaw: StartHost = async (t, settings = {}) => {
  const { url, keyFile, seconds, rewrites, env = {}, more = {} } = settings
  const folder = install(t, 'openclaw', settings)
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const manifest = read('openclaw.plugin.json')
  const pluginConfig = JSON.parse(JSON.stringify({ url, keyFile, ...more }))
  // The host's own settings are checked before the plugin is loaded; one that does not fit is no plugin of this test.
  if (Object.keys(more).length === 0) t.ok(new Ajv().validate(manifest.configSchema, pluginConfig), 'its settings fit')
  for (const [name, value] of Object.entries(env)) {
    process.env[name] = value
    t.teardown(() => delete process.env[name])
  }
  const log: string[] = []
  const before: Hook<BeforeToolCall>[] = []
  const after: Hook<AfterToolCall>[] = []
  if (rewrites !== undefined) before.push({ handler: async () => ({ params: rewrites }), options: {} })
  const timeouts = seconds === undefined ? {} : { before_tool_call: seconds * 1000 }
  const api: Api = {
    pluginConfig,
    config: { plugins: { entries: { [manifest.id]: { enabled: true, hooks: { timeouts }, config: pluginConfig } } } },
    logger: { warn: (message) => log.push(message) },
    on(hook: string, handler: unknown, options: HookOptions = {}) {
      if (hook === 'before_tool_call') before.push({ handler: handler as BeforeToolCall, options })
      else after.push({ handler: handler as AfterToolCall, options })
    },
  }
  const [entry] = read('package.json').openclaw.extensions
  // Whatever cannot be loaded is left out, and all else goes on.
  const loaded = await import(pathToFileURL(join(folder, entry)).href).then(
    ({ default: plugin }) => {
      t.equal(plugin.id, manifest.id)
      t.equal(plugin.register(api), undefined, 'a promise would not be waited for')
    },
    (error: unknown) => log.push(`the plugin was not loaded: ${String(error)}`),
  )
  void loaded
  before.sort((one, other) => (other.options.priority ?? 0) - (one.options.priority ?? 0))

  async function decide(event: Parameters<BeforeToolCall>[0], context: Parameters<BeforeToolCall>[1]) {
    let decided: BeforeToolCallResult = {}
    for (const { handler, options } of before) {
      const budget = timeouts.before_tool_call ?? options.timeoutMs ?? usualBudgetMs
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`timed out after ${budget} ms`)), budget)
      })
      try {
        const result = await Promise.race([handler(structuredClone(event), context), late])
        if (result?.block === true) return result
        decided = { ...decided, ...(result?.params === undefined ? {} : { params: result.params }) }
      } catch (error) {
        log.push(`before_tool_call failed: ${String(error)}`)
        return { block: true, blockReason: 'Tool call blocked because before_tool_call hook failed' }
      } finally {
        clearTimeout(timer)
      }
    }
    return decided
  }

  let count = 0
  return {
    logged: () => log.join('\n'),
    async call({ tool = 'exec', input = {}, session = 'agent:main:1', callId, fails, takes, signal } = {}) {
      const toolCallId = callId ?? `call_${count++}`
      const event = { toolName: tool, params: input, runId: 'run-1', toolCallId }
      const context = { agentId: 'main', sessionKey: session, sessionId: 'uuid', runId: 'run-1', abortSignal: signal }
      const { block, blockReason, params } = await decide(event, context)
      const told = async (params: Record<string, unknown>, how: { result?: unknown; error?: string }) => {
        const telling = after.map(({ handler }) => handler({ ...event, params, ...how }, context))
        for (const one of await Promise.allSettled(telling)) if (one.status === 'rejected') log.push(String(one.reason))
      }
      if (block === true) {
        const said = blockReason ?? 'Tool call blocked by plugin hook'
        await told(input, { result: { content: [{ type: 'text', text: said }], details: { status: 'blocked' } } })
        return { ran: null, said }
      }
      const ran = { ...input, ...params }
      await takes
      await told(ran, fails === undefined ? { result: { content: [] } } : { error: fails })
      return { ran, said: '' }
    },
  }
}
