// A long wait as a task of the extension `io.modelcontextprotocol/tasks`. Nothing is kept for one: it is the confirmation that is
// waited for, by whose id it is found, so it outlives connections and restarts.
import { CLIENT_CAPABILITIES_META_KEY, MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server'
import {
  type ClientCapabilities,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type Confirmation, Denied, Expired, HoldpointError, Refused } from '../client/index.js'
import { approved, failed, type Result, resultOf } from './said.js'

/** Its name in the capabilities of clients and servers. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** So often a host should ask. */
const pollMs = 5000

/** On this very request: what was declared before does not count. */
export function declaresTasks({ mcpReq: { envelope } }: ServerContext): boolean {
  const declared = (envelope as Record<string, ClientCapabilities | undefined>)?.[CLIENT_CAPABILITIES_META_KEY]
  return declared?.extensions?.[tasksExtension] !== undefined
}

export function assertDeclared(context: ServerContext): void {
  if (declaresTasks(context)) return
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
}

/** Whatever a person said, it is completed, and the result says what that was. */
const taskStatus = {
  pending: 'working',
  approved: 'completed',
  auto_approved: 'completed',
  denied: 'completed',
  expired: 'completed',
  cancelled: 'cancelled',
} as const satisfies Record<Confirmation['status'], string>

/** As a call is answered with one. */
export function taskOf({ id, status, created_at_iso, resolved_at_iso }: Confirmation) {
  return {
    taskId: id,
    status: taskStatus[status],
    ...(status === 'pending' ? { statusMessage: 'Waiting for a person to answer.' } : {}),
    createdAt: created_at_iso,
    lastUpdatedAt: resolved_at_iso ?? created_at_iso,
    // The record is kept for ever.
    ttlMs: null,
    pollIntervalMs: pollMs,
  }
}

/** As `tasks/get` answers it. */
export function wholeTaskOf(record: Confirmation) {
  const task = taskOf(record)
  return task.status === 'completed' ? { ...task, result: finalResultOf(record) } : task
}

/** What the call would have answered, had it been waited for. */
function finalResultOf(record: Confirmation): Result {
  const { id, status, resolved_by: by, reason = null } = record
  if (status === 'denied') return failed(new Denied({ id, by, reason }), id)
  if (status === 'expired') return failed(new Expired(id), id)
  return resultOf(approved(record))
}

/** What the service says no to is an error of the protocol here. Nothing of it is a yes. */
export async function askedForTask<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error
    const isUnknown = error instanceof Refused && error.status === 404
    const code = isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
    throw new ProtocolError(
      code,
      isUnknown ? 'There is no such task.' : `${error.message} Nothing was approved by that.`,
    )
  }
}

/** To withdraw what is over already is no mistake of the host's. */
export function isOver(error: unknown): boolean {
  return error instanceof Refused && error.code === 'already_resolved'
}
