// For the Claude Agent SDK: `query({ prompt, options: { hooks: guardTools(holdpoint) } })`.
import { HoldpointError } from '../errors.js'
import type { Claimed, Holdpoint } from '../holdpoint.js'
import { askOf, type ToolsOptions } from './tool.js'

const usualTimeoutSeconds = 300
/** The hook is given up later than the request. */
const marginSeconds = 60

/** Hooks that let each tool run only when a person has approved its input, and tell how it went. Closed where they fail. */
export function guardTools(holdpoint: Holdpoint, { passes = [], ...options }: ToolsOptions = {}) {
  const timeoutSeconds = options.timeoutSeconds ?? usualTimeoutSeconds
  const open = new Map<string, Claimed>()

  const ask: Hook = async (given, _, { signal }) => {
    const { tool_name: name, tool_input: input, tool_use_id: callId, session_id: sessionKey } = given as ToolUse
    if (passes.includes(name)) return {}
    try {
      const usual = { deadlineMs: timeoutSeconds * 1000, sessionKey, ...options, timeoutSeconds }
      const claimed = await holdpoint.obtain(askOf({ name, input, callId, signal }, usual))
      open.set(callId, claimed)
      return decide('allow', 'A person approved it.', claimed.details as Record<string, unknown>)
    } catch (error) {
      return decide('deny', error instanceof HoldpointError ? error.toModel() : 'The approval failed: it was not done.')
    }
  }

  const tell: Hook = async (given) => {
    const { tool_use_id: callId, hook_event_name: event, error } = given as ToolUse
    const claimed = open.get(callId)
    open.delete(callId)
    await claimed?.report(event === 'PostToolUse' ? 'succeeded' : 'failed', error)
    return {}
  }

  const asking = { hooks: [ask], timeout: timeoutSeconds + marginSeconds, onFailure: 'block' as const }
  return { PreToolUse: [asking], PostToolUse: [{ hooks: [tell] }], PostToolUseFailure: [{ hooks: [tell] }] }
}

type Hook = (given: { session_id: string }, id: string | undefined, options: { signal: AbortSignal }) => Promise<Answer>

interface ToolUse {
  hook_event_name: string
  session_id: string
  tool_name: string
  tool_input: unknown
  tool_use_id: string
  error?: string
}

interface Answer {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse'
    permissionDecision: 'allow' | 'deny'
    permissionDecisionReason: string
    updatedInput?: Record<string, unknown>
  }
}

function decide(permissionDecision: 'allow' | 'deny', why: string, updatedInput?: Record<string, unknown>): Answer {
  const input = updatedInput === undefined ? {} : { updatedInput }
  const decision = { permissionDecision, permissionDecisionReason: why, ...input }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}
