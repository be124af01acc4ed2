// The protocol: tools listed and called, and tasks. A server keeps nothing between two requests.
import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Confirmation } from '../client/index.js'
import { pathOf } from '../client/operator.js'
import { version } from '../version.js'
import { type Call, createActs, deny, isTask, type Surroundings, type Task } from './acts.js'
import { failed, misused, type Result } from './said.js'
import { askedForTask, assertDeclared, declaresTasks, isOver, taskOf, tasksExtension, wholeTaskOf } from './tasks.js'
import { instructions, isTool, listed, problemWith, type Tool, type ToolName, tools } from './tools.js'

export interface ServerOptions extends Surroundings {
  /** What nobody foresaw. */
  onBug(error: unknown): void
}

const taskParams = { params: z.looseObject({ taskId: z.string().min(1).max(200) }) }

/** It would be for forms, and none is sent. The usual one is made anew for each server. */
const noValidator = {
  getValidator(): never {
    throw new Error('there are no forms')
  },
}

export function createMcpServer({ onBug, ...around }: ServerOptions): Server {
  const { holdpoint } = around
  const acts = createActs(around)
  const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } }
  const server = new Server(
    { name: 'holdpoint', title: 'Holdpoint', version },
    { capabilities, instructions, jsonSchemaValidator: noValidator },
  )

  server.setRequestHandler('tools/list', () => ({ tools: listed }))

  server.setRequestHandler('tools/call', async ({ params: { name, arguments: given = {} } }, context) => {
    if (!isTool(name)) {
      const sentence = `There is no tool ${JSON.stringify(name.slice(0, 100))}; there are ${Object.keys(tools).join(', ')}.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, sentence)
    }
    const answer = await call(name, given, callOf(context))
    if (!isTask(answer)) return answer
    // The package wants content of every result.
    return { resultType: 'task', ...taskOf(answer.task), content: [] }
  })

  async function call(name: ToolName, given: Record<string, unknown>, by: Call): Promise<Result | Task> {
    // A host is told no in the form in which it reads a yes, whatever was wrong.
    const isPrompt = name === 'permission_prompt'
    const read = tools[name].input.safeParse(given)
    if (!read.success) {
      const problem = problemWith(name, read.error)
      return isPrompt ? deny(`${problem} It was not done.`) : misused(problem)
    }
    try {
      return await acts[name](read.data as never, by)
    } catch (error) {
      const { failing }: Tool = tools[name]
      const failure = failed(error, 'id' in read.data ? read.data.id : undefined, failing)
      const { code, message, next } = failure.structuredContent
      if (code === 'internal_error') onBug(error)
      return isPrompt ? deny(`${String(message)} ${next}`) : failure
    }
  }

  server.setRequestHandler('tasks/get', taskParams, async ({ taskId }, context) => {
    assertDeclared(context)
    return wholeTaskOf(await read(taskId))
  })

  server.setRequestHandler('tasks/cancel', taskParams, async ({ taskId }, context) => {
    assertDeclared(context)
    const cancelling = holdpoint.cancel(taskId, { reason: 'The host cancelled the task.' }).catch((error: unknown) => {
      if (!isOver(error)) throw error
    })
    await askedForTask(cancelling)
    return {}
  })

  // It is for answers of the host, and nothing is asked of it.
  server.setRequestHandler('tasks/update', taskParams, async ({ taskId }, context) => {
    assertDeclared(context)
    await read(taskId)
    return {}
  })

  async function read(id: string): Promise<Confirmation> {
    const { body } = await askedForTask(holdpoint.call<Confirmation>('GET', pathOf(id)))
    return body
  }

  return server
}

function callOf(context: ServerContext): Call {
  const { signal, notify, _meta: meta } = context.mcpReq
  const progressToken = meta?.progressToken
  const tell = (seconds: number) => {
    const message = `Waiting for a person, for ${seconds} s so far.`
    // Whoever is gone is not told.
    notify({ method: 'notifications/progress', params: { progressToken, progress: seconds, message } }).catch(() => {})
  }
  const progress = progressToken === undefined ? null : tell
  return { signal, began: performance.now(), progress, asTask: declaresTasks(context) }
}
