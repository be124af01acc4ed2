// For LangChain: `createMiddleware({ name: 'Holdpoint', wrapToolCall: guardTools(holdpoint) })`.
import type { Holdpoint } from '../holdpoint.js'
import { askOf, sayToModel, type ToolsOptions } from './tool.js'

/** Runs each tool only when a person has approved its arguments. */
export function guardTools(holdpoint: Holdpoint, { passes = [], ...options }: ToolsOptions = {}) {
  return async <Q extends Request, R>(request: Q, handler: (request: Q) => R | Promise<R>): Promise<R> => {
    const { toolCall, tool } = request
    const { name, args: input, id: callId } = toolCall
    if (passes.includes(name)) return handler(request)
    const act = (args: unknown) => handler({ ...request, toolCall: { ...toolCall, args } })
    const description = (tool as { description?: string } | undefined)?.description
    const said = (text: string) => handler({ ...request, tool: { name, invoke: async () => text } })
    const call = { name, input, description, callId, signal: request.runtime?.signal }
    return Promise.resolve()
      .then(() => holdpoint.run(askOf(call, options), act))
      .catch((error: unknown) => said(sayToModel(error)))
  }
}

interface Request {
  toolCall: { name: string; args: Record<string, unknown>; id?: string }
  tool: unknown
  runtime?: { signal?: AbortSignal }
}
