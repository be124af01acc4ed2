// For the OpenAI Agents SDK: `tool(guardTool(holdpoint, { name, description, parameters, execute }))`.
import type { Holdpoint } from '../holdpoint.js'
import { askOf, sayToModel, type ToolOptions } from './tool.js'

/** The same options for `tool`, whose function runs only when a person has approved its input. */
export function guardTool<T extends Executable>(holdpoint: Holdpoint, tool: T, options: ToolOptions = {}): T {
  const { name, description, execute } = tool
  const guarded = (input: unknown, context: unknown, details?: Details) => {
    const call = { name, input, description, callId: details?.toolCall?.callId, signal: details?.signal }
    const act = (approved: unknown) => execute.call(tool, approved as never, context as never, details as never)
    return Promise.resolve()
      .then(() => holdpoint.run(askOf(call, options), act))
      .catch(sayToModel)
  }
  return { ...tool, execute: guarded }
}

interface Details {
  toolCall?: { callId: string }
  signal?: AbortSignal
}

interface Executable {
  name: string
  description?: string
  execute: (...given: never[]) => unknown
}
