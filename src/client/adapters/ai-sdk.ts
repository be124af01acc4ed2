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
      const act = (details: unknown) => lastOf(execute.call(tool, details, call))
      return Promise.resolve()
        .then(() => holdpoint.run(ask(), act))
        .catch(sayToModel)
    }
    return [name, { ...tool, execute: guardedExecute }]
  })
  return Object.fromEntries(guarded) as T
}

/** Of a tool that streams what it has so far, all is done and its last word is the result. */
async function lastOf(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown
  for await (const one of result as AsyncIterable<unknown>) last = one
  return last
}

interface Executing {
  toolCallId: string
  abortSignal?: AbortSignal
}

interface Tool {
  description?: string
  execute?: (input: unknown, call: Executing) => unknown
}
