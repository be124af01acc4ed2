// Any program that can run a command before it acts: exit code 0 is a yes, any other a no.
import { errorOf, type Heard, type Host, isObject, nothing, readTool, refusal, type Said } from './command-answer.js'

export const generic: Host = {
  hear: hearGeneric,
  allow: ({ reason, id }) => ({ ...nothing, stdout: say('allow', reason, id) }),
  deny: (reason, id) => [{ ...refusal(reason), stdout: say('deny', reason, id) }, refusal(reason)],
  acknowledge: nothing,
}

const names = ['action', 'details', 'session', 'cwd', 'call_id', 'error']
/** As other hosts call them. */
const aliases = { tool_name: 'action', tool_input: 'details', session_id: 'session', tool_use_id: 'call_id' } as const

/**
 * That it is an outcome is said on the command line alone: exit code 0 is a yes, and what a program writes into its JSON may
 * hold words of an agent.
 */
function hearGeneric(given: Said, outcome?: string): Heard {
  const said: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const own = Object.hasOwn(aliases, name) ? aliases[name as keyof typeof aliases] : name
    // A name that is misspelt must not hide what a person is to see.
    if (!names.includes(own))
      return unclear(`It has ${JSON.stringify(name.slice(0, 40))}, which is none of: ${names.join(', ')}.`)
    if (Object.hasOwn(said, own)) return unclear(`It says ${own} twice.`)
    said[own] = value
  }
  const { action, details = {}, session, cwd, call_id: callId, error } = said
  const texts = Object.entries({ session, cwd, call_id: callId, error })
  const wrong = texts.find(([, value]) => value !== undefined && typeof value !== 'string')
  if (wrong !== undefined) return unclear(`Its ${wrong[0]} is no text.`)
  if (!isObject(details)) return unclear('Its details are no object.')
  if (outcome !== undefined && outcome !== 'succeeded' && outcome !== 'failed') {
    return unclear('--outcome is neither succeeded nor failed.')
  }
  if (typeof action !== 'string' || action.trim() === '') return unclear('It names no action.')
  const tool = readTool({ tool_name: action, session_id: session, cwd, tool_use_id: callId })
  if ('why' in tool) return { kind: 'unclear', ...tool }
  const body = { ...tool, tool_input: details }
  if (outcome === undefined) return { kind: 'call', body: { ...body, hook_event_name: 'PreToolUse' } }
  if (outcome === 'succeeded') return { kind: 'outcome', body: { ...body, hook_event_name: 'PostToolUse' } }
  return { kind: 'outcome', body: { ...body, hook_event_name: 'PostToolUseFailure', ...errorOf(error) } }
}

function unclear(why: string): Heard {
  return { kind: 'unclear', why }
}

function say(decision: 'allow' | 'deny', reason: string, id: string | null): string {
  return JSON.stringify({ decision, reason, ...(id === null ? {} : { id }) })
}
