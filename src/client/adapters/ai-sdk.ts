// For the Vercel AI SDK: `tools: guardTools(holdpoint, tools)`.
import type { Holdpoint } from '../holdpoint.js'
import { askOf, sayToModel, type ToolsOptions } from './tool.js'

/** The same tools, each of which runs only when a person has approved its input. What runs elsewhere is not seen here. */
export function guardTools<T extends Record<string, object>>(
  holdpoint: Holdpoint,
  tools: T,
  options: ToolsOptions = {},
): T {
  const { passes = [], ...rest } = options
  const guarded = Object.entries<Tool>(tools).map(([name, tool]) => {
    const { execute, description } = tool
    if (execute === undefined || passes.includes(name)) return [name, tool]
    const guardedExecute = (input: unknown, call: Executing) => {
      const ask = () => askOf({ name, input, description, callId: call.toolCallId, signal: call.abortSignal }, rest)
      const act = (details: unknown) => execute.call(tool, details, call)
      return Promise.resolve()
        .then(() => holdpoint.run(ask(), act))
        .catch(sayToModel)
    }
    return [name, { ...tool, execute: guardedExecute }]
  })
  return Object.fromEntries(guarded) as T
}

interface Executing {
  toolCallId: string
  abortSignal?: AbortSignal
}

interface Tool {
  description?: string
  execute?: (input: unknown, call: Executing) => unknown
}
