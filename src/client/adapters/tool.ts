// What the adapters have in common: a tool's call becomes a request, and what is not approved a sentence for the model.
import { createHash } from 'node:crypto'
import { canonical } from '../../core/canonical.js'
import type { Ask, AskOptions, Frozen } from '../ask.js'
import { Aborted, HoldpointError } from '../errors.js'
import { frozenCopy } from '../json.js'

export interface ToolOptions extends Pick<AskOptions, 'sessionKey' | 'onBehalfOf' | 'timeoutSeconds' | 'deadlineMs'> {
  /** What a person reads to decide; the name and the description of the tool, unless it is said. */
  describe?: ((call: { name: string; input: Readonly<Record<string, unknown>> }) => string) | undefined
}

export interface ToolsOptions extends ToolOptions {
  /** The tools that need nobody's approval; all others do. */
  passes?: readonly string[] | undefined
}

/** A call of a tool, as a model made it. */
export interface ToolCall {
  name: string
  input: unknown
  description?: string | undefined
  callId?: string | undefined
  signal?: AbortSignal | undefined
}

export function askOf<D extends object>(call: ToolCall, { describe, ...options }: ToolOptions): Ask<D> {
  const { name, description, callId, signal } = call
  const input = frozenCopy(call.input, 'input')
  const usual = description === undefined || description.trim() === '' ? name : `${name}: ${description}`
  return {
    ...options,
    action: name,
    description: describe?.({ name, input }) ?? usual,
    details: input as Frozen<D> as D,
    idempotencyKey: callId === undefined ? undefined : keyOf(callId, name, canonical(input)),
    signal,
  }
}

/** Some models count their calls anew in each answer, so what is called is in it too. */
function keyOf(callId: string, name: string, input: string): string {
  return `tool-${createHash('sha256')
    .update(JSON.stringify([callId, name, input]))
    .digest('hex')}`
}

/** What was not done is told to the model; what failed while it was done, and an abort, are thrown. */
export function sayToModel(error: unknown): string {
  if (error instanceof HoldpointError && !(error instanceof Aborted)) return error.toModel()
  throw error
}
