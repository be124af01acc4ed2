// Codex: its hooks are like Claude Code's, but an allow is said by silence, and a tool that ran may have failed.
import { hearClaudeCode } from './claude-code-command.js'
import { type Heard, type Host, isObject, nothing, refusal, type Said } from './command-answer.js'

export const codex: Host = {
  hear: hearCodex,
  // An allow in words is not supported: Codex takes it for a hook that failed.
  allow: () => nothing,
  // A part of a sentence still blocks, which a part of JSON does not.
  deny: (reason) => [
    refusal(reason),
    { ...nothing, stdout: JSON.stringify({ decision: 'block', reason }), isInWords: true },
  ],
  acknowledge: nothing,
}

function hearCodex(said: Said): Heard {
  const { hook_event_name: event, tool_input: input, tool_response: response } = said
  // An MCP tool without arguments has none; other tools may be given a text.
  const given = isObject(input) ? input : input === null || input === undefined ? {} : { input }
  // Of MCP tools it says which failed; of commands it does not.
  const hasFailed = event === 'PostToolUse' && isObject(response) && response.isError === true
  return hearClaudeCode({ ...said, tool_input: given, ...(hasFailed ? { hook_event_name: 'PostToolUseFailure' } : {}) })
}
