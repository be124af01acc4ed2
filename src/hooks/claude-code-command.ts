// Claude Code, whose hooks the service speaks: what a command of its hooks hears and says.
import {
  errorOf,
  type Heard,
  type HookBody,
  type Host,
  isObject,
  nothing,
  readTool,
  refusal,
  type Said,
  type Spoken,
} from './command-answer.js'

export const claudeCode: Host = {
  hear: hearClaudeCode,
  allow: ({ reason }) => inWords('allow', reason),
  deny: (reason) => [inWords('deny', reason), refusal(reason)],
  acknowledge: nothing,
}

/** What is not known of it is left out: the service gets what the wire has, and no transcript's place. */
export function hearClaudeCode(said: Said): Heard {
  const { hook_event_name: event, tool_input: input } = said
  if (event !== 'PreToolUse' && event !== 'PostToolUse' && event !== 'PostToolUseFailure') {
    return { kind: 'unclear', why: 'This hook is for PreToolUse, PostToolUse and PostToolUseFailure.' }
  }
  const tool = readTool(said)
  if ('why' in tool) return event === 'PreToolUse' ? { kind: 'unclear', ...tool } : { kind: 'outcome', body: null }
  if (!isObject(input)) {
    if (event !== 'PreToolUse') return { kind: 'outcome', body: null }
    return { kind: 'unclear', why: 'It does not say what the tool is given: tool_input is no object.' }
  }
  const body: HookBody = { hook_event_name: event, ...tool, tool_input: input }
  if (event === 'PreToolUse') return { kind: 'call', body }
  return { kind: 'outcome', body: { ...body, ...(event === 'PostToolUse' ? {} : errorOf(said.error)) } }
}

function inWords(decision: 'allow' | 'deny', reason: string): Spoken {
  const said = { hookEventName: 'PreToolUse', permissionDecision: decision, permissionDecisionReason: reason }
  return { ...nothing, stdout: JSON.stringify({ hookSpecificOutput: said }), isInWords: true }
}
