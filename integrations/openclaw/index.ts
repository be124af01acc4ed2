// For OpenClaw: holds every tool call until a person has approved it, or a rule of the service lets it pass. The service
// decides, joins a retry to what is pending and claims; here its answer is waited for, for as long as the host waits. What
// is not an approval in every respect blocks the call, and so does every error.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { Holdpoint } from './client/index.js'
import type {
  AfterToolCall,
  Api,
  BeforeToolCall,
  BeforeToolCallResult,
  ToolCall,
  ToolContext,
  ToolOutcome,
} from './host.js'

const id = 'holdpoint'
/** The most that OpenClaw's settings can give a hook. */
const longestBudgetMs = 600_000
/** The host must have the answer before its own time is up: what it no longer waits for must not be claimed. */
const marginMs = 2000
const reportMs = 5000
/** Calls whose outcome the host never told are forgotten beyond this. */
const maxOpen = 1000
/** After everybody else's: who blocks anyway needs no person, and the last one to say what the tool is called with is this. */
const last = Number.MIN_SAFE_INTEGER
const stop = 'It was not done. Do not look for another way to do it; tell the person you work for.'

/** As Claude Code's hooks say it, which is what the service takes. */
interface Call {
  session_id: string
  tool_name: string
  tool_input: unknown
  tool_use_id: string
}

/** Its message is for the model. */
class NotSetUp extends Error {}

/** It is loaded when it is needed: a plugin that cannot be loaded would hold nothing. */
let client: Promise<typeof import('./client/index.js')> | undefined
const loadClient = () =>
  (client ??= import('./client/index.js')).catch(() => {
    throw new NotSetUp('The plugin is not whole: install the folder that the npm package holdpoint has for OpenClaw.')
  })

export default {
  id,
  name: 'Holdpoint',
  description: 'Holds every tool call until a person has approved it, or a rule lets it pass.',
  register(api: Api): void {
    const gate = createGate(api)
    api.on('before_tool_call', gate.before, { priority: last, timeoutMs: longestBudgetMs })
    api.on('after_tool_call', gate.after)
  },
}

function createGate(api: Api): { before: BeforeToolCall; after: AfterToolCall } {
  /** What was let through and is not reported yet. */
  const open = new Map<string, Call[]>()
  const ownSession = `openclaw-${randomUUID()}`
  /** On one line: names are the model's. */
  const warn = (message: string) => api.logger?.warn?.(`${id}: ${message.replace(/\s+/g, ' ')}`)

  async function decide(event: ToolCall, context: ToolContext): Promise<BeforeToolCallResult> {
    const budgetMs = budgetOf(api.config) - marginMs
    if (budgetMs < 1000) {
      throw new NotSetUp('The hook has no time to ask anybody: set its timeouts.before_tool_call to 600000.')
    }
    if (typeof event.toolName !== 'string' || event.toolName === '') {
      throw new NotSetUp('The host did not say which tool this is.')
    }
    const holdpoint = await connect(api)
    try {
      // What is shown to a person, and what runs, is what JSON makes of it now.
      const params = JSON.parse(JSON.stringify(event.params)) as Record<string, unknown>
      const call: Call = {
        session_id: context.sessionKey || context.sessionId || ownSession,
        tool_name: event.toolName,
        tool_input: params,
        // The host's own are of the model, and some models count anew in each answer.
        tool_use_id: randomUUID(),
      }
      const signal = context.abortSignal
      let refusal: string | null
      try {
        const { body } = await holdpoint.call('POST', '/hooks/claude-code', {
          query: { timeout: Math.floor(budgetMs / 1000) },
          body: { ...call, hook_event_name: 'PreToolUse' },
          timeoutMs: budgetMs,
          signal,
        })
        refusal = refusalIn(body)
        if (signal?.aborted === true) throw new NotSetUp('This was aborted.')
      } catch (error) {
        // Whether it was claimed is not known. If it was, the record is to say that nothing came of it.
        void tell(call, 'Nothing was done: the answer did not come back.').catch(() => {})
        throw error
      }
      if (refusal !== null) return block(refusal)
      keep(keyOf(event, context), call)
      return { params: structuredClone(params) }
    } finally {
      holdpoint.close()
    }
  }

  async function tell(call: Call, failure: string | null): Promise<void> {
    const holdpoint = await connect(api)
    const how =
      failure === null
        ? { hook_event_name: 'PostToolUse' }
        : { hook_event_name: 'PostToolUseFailure', error: failure.slice(0, 500).toWellFormed() }
    try {
      await holdpoint.call('POST', '/hooks/claude-code', { body: { ...call, ...how }, timeoutMs: reportMs })
    } finally {
      holdpoint.close()
    }
  }

  function keep(key: string, call: Call): void {
    open.set(key, [...(open.get(key) ?? []), call])
    if (open.size > maxOpen) open.delete(open.keys().next().value!)
  }

  /** The call with this input: ids may be the same. One that was blocked may have been so here. */
  function take(key: string, { params, result }: ToolOutcome): Call | undefined {
    const found = open.get(key) ?? []
    const call =
      found.find(({ tool_input: input }) => isDeepStrictEqual(input, params)) ??
      (isBlocked(result) ? undefined : found[0])
    const rest = found.filter((one) => one !== call)
    if (rest.length > 0) open.set(key, rest)
    else open.delete(key)
    return call
  }

  return {
    async before(event, context = {}) {
      try {
        return await decide(event, context)
      } catch (error) {
        warn(`the tool call ${event.toolName} is blocked: ${error instanceof Error ? error.message : String(error)}`)
        return block(await say(error))
      }
    },
    async after(event, context = {}) {
      try {
        const call = take(keyOf(event, context), event)
        const failure = failureIn(event)
        if (call !== undefined && failure !== undefined) await tell(call, failure)
      } catch (error) {
        warn(`the outcome of the tool call ${event.toolName} could not be reported: ${String(error)}`)
      }
    },
  }
}

// -- the answer --------------------------------------------------------------------------------------------------------

/** Null for an approval; else the sentence for the model. What is neither is thrown. */
function refusalIn(body: unknown): string | null {
  const said = objectIn(objectIn(body).hookSpecificOutput)
  const { permissionDecision: decision, permissionDecisionReason: reason } = said
  if (said.hookEventName === 'PreToolUse') {
    // With another input, what was approved is not what would run.
    if (decision === 'allow' && said.updatedInput === undefined) return null
    if (decision === 'deny' && typeof reason === 'string' && reason.trim() !== '') return reason
  }
  throw new NotSetUp('What answers at the address of the service does not answer as Holdpoint does.')
}

/** Null if it succeeded; undefined where nobody knows. */
function failureIn({ error, result }: { error?: string | undefined; result?: unknown }): string | null | undefined {
  if (error !== undefined) return error || 'It failed.'
  if (result === undefined) return undefined
  if (isBlocked(result)) return 'OpenClaw blocked it.'
  return objectIn(result).isError === true ? 'The tool says that it failed.' : null
}

/** What the model is told in place of a result. */
function isBlocked(result: unknown): boolean {
  return objectIn(objectIn(result).details).status === 'blocked'
}

async function say(error: unknown): Promise<string> {
  if (error instanceof NotSetUp) return `${error.message} ${stop}`
  const { HoldpointError, Unreachable } = await loadClient()
  if (error instanceof Unreachable) {
    return `Holdpoint could not be asked. ${stop} Exactly this call may be made again later.`
  }
  return error instanceof HoldpointError ? error.toModel() : `The plugin failed. ${stop}`
}

const block = (blockReason: string): BeforeToolCallResult => ({ block: true, blockReason })

/** By which the host's second hook is known to be about the call of the first. */
function keyOf({ toolName, toolCallId, runId }: ToolCall, context: ToolContext): string {
  return JSON.stringify([context.sessionKey ?? context.sessionId, runId ?? context.runId, toolName, toolCallId])
}

function objectIn(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

// -- settings ----------------------------------------------------------------------------------------------------------

/** Anew for each call, so that a new key counts at once. */
async function connect({ pluginConfig = {} }: Api): Promise<Holdpoint> {
  const { Holdpoint, HoldpointError } = await loadClient()
  const url = setting(pluginConfig, 'url')
  const keyFile = setting(pluginConfig, 'keyFile')
  const key = keyFile === '' ? undefined : readKey(keyFile)
  const given = [url, key, process.env.HOLDPOINT_URL, process.env.HOLDPOINT_KEY]
  if (!given.some(Boolean)) {
    throw new NotSetUp('The plugin does not know where Holdpoint is: set url and keyFile in its config.')
  }
  try {
    return new Holdpoint({ url: url || undefined, key })
  } catch (error) {
    throw error instanceof HoldpointError ? new NotSetUp(`Holdpoint cannot be asked: ${error.message}`) : error
  }
}

function setting(config: Record<string, unknown>, name: string): string {
  const value = config[name] ?? ''
  if (typeof value !== 'string') throw new NotSetUp(`The setting ${name} of the plugin is no text.`)
  return value.trim()
}

function readKey(file: string): string {
  try {
    const key = readFileSync(file.replace(/^~(?=\/)/, homedir()), 'utf8').trim()
    if (key !== '') return key
  } catch {
    throw new NotSetUp(`The keyFile ${file} cannot be read.`)
  }
  throw new NotSetUp(`The keyFile ${file} is empty.`)
}

/** How long the host waits for this hook: what its settings say, else what was registered. */
function budgetOf(config: unknown): number {
  const entry = objectIn(objectIn(objectIn(objectIn(config).plugins).entries)[id])
  const hooks = objectIn(entry.hooks)
  const budget = objectIn(hooks.timeouts).before_tool_call ?? hooks.timeoutMs
  return typeof budget === 'number' && budget > 0 ? Math.min(budget, longestBudgetMs) : longestBudgetMs
}
