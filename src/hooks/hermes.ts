// Hermes: its shell hooks, which say no with a block and yes with nothing.
import { errorOf, type Heard, type Host, isObject, nothing, readTool, refusal, type Said } from './command-answer.js'

export const hermes: Host = {
  // With fail_closed it blocks where it is printed what is no JSON; where it is printed nothing, it lets the call run, whatever
  // the exit code. So whoever is killed while it waits has said something that is no JSON.
  opening: '{',
  hear: hearHermes,
  allow: () => ({ ...nothing, stdout: '}' }),
  deny: (reason) => [
    { ...refusal(reason), stdout: `${JSON.stringify({ decision: 'block', reason }).slice(1)}` },
    refusal(reason),
  ],
  acknowledge: { ...nothing, stdout: '}' },
}

/** How Hermes says that a tool ended; one that was blocked did not begin. */
const ends: Partial<Record<string, 'PostToolUse' | 'PostToolUseFailure'>> = {
  ok: 'PostToolUse',
  error: 'PostToolUseFailure',
}

function hearHermes(said: Said): Heard {
  const { hook_event_name: event, tool_input: input } = said
  const extra = isObject(said.extra) ? said.extra : {}
  if (event !== 'pre_tool_call' && event !== 'post_tool_call') {
    return { kind: 'unclear', why: 'This hook is for pre_tool_call and post_tool_call.' }
  }
  const tool = readTool({ ...said, tool_use_id: extra.tool_call_id })
  if (event === 'pre_tool_call') {
    if ('why' in tool) return { kind: 'unclear', ...tool }
    if (!isObject(input)) {
      return { kind: 'unclear', why: 'It does not say what the tool is given: tool_input is no object.' }
    }
    return { kind: 'call', body: { hook_event_name: 'PreToolUse', ...tool, tool_input: input } }
  }
  const end = typeof extra.status === 'string' && Object.hasOwn(ends, extra.status) ? ends[extra.status] : undefined
  if ('why' in tool || !isObject(input) || end === undefined) return { kind: 'outcome', body: null }
  const error = end === 'PostToolUse' ? {} : errorOf(extra.error_message)
  return { kind: 'outcome', body: { hook_event_name: end, ...tool, tool_input: input, ...error } }
}
